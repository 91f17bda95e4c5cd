"""Vectors of positions: gather, combine into what they name, follow them to their ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from semirings.exceptions import IndexOutOfBound, InvalidValue
from spgraph.block import VectorBlock
from spgraph.engine.mask import EMPTY_BITS, Mask
from spgraph.engine.operators import accumulate, is_min, settles, store
from spgraph.engine.vector_write import write
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_calls, threads
from spgraph.kernels.device import Done

__all__ = ["combine_at", "combine_into", "ends_of", "follow", "gather", "gathered", "lowers", "no_position", "outside",
           "pointer_jump", "pointing_up"]

NO_IDS = np.empty(0, np.int64)
MOST_RANGES = 4  # of targets; each goes through all entries


def gather(out: VectorBlock, mask: Mask | None, accum, replace: bool, u: VectorBlock, p: VectorBlock) -> None:
    """C<M, replace> (accum)= T with T(i) = u(p(i)), for the entries p(i) where u has one."""
    _check_pointers("v[p]", p, u.size)
    write(out, mask, accum, replace, gathered(u.to_bitmap(), p))


def gathered(u: VectorBlock, p: VectorBlock) -> VectorBlock:
    """u(p(i)) for the entries of p, as p lies; u is a bitmap or full."""
    xp = u.device.xp
    T = VectorBlock(p.size, u.dtype, p.partition, u.device)
    if not p.nvals or not u.nvals:
        return T
    if p.iso:
        p = p.copy().expand()
    listed = p.format == "sparse"
    ids = p.values if p.format != "bitmap" else xp.where(p.present.view(np.bool_), p.values, 0)
    at = u.partition.locals_of(ids)
    present = None if u.format == "full" else u.present[at]
    if listed:
        if present is None:
            indices, values = p.indices.copy(), u.values.copy() if u.iso else u.values[at]
        else:
            keep = xp.flatnonzero(present)
            indices, values = p.indices[keep], u.values.copy() if u.iso else u.values[at][keep]
        T.set_sparse(indices, values, iso=u.iso, sorted=p.sorted)
        return T
    if p.format == "bitmap":
        present = p.present.copy() if present is None else present & p.present
    nvals = p.size if present is None else int(xp.count_nonzero(present))
    T.set_bitmap(present, u.values.copy() if u.iso else u.values[at], nvals, iso=u.iso)
    return T


def combine_at(out: VectorBlock, accum, p: VectorBlock, x: VectorBlock) -> None:
    """C(p(i)) accum= x(i) for all i where both have an entry; `accum` is the operator of a monoid.

    p(i) may name a position any number of times.
    """
    _check_pointers("v(accum)[p] << x", p, out.size)
    combine_into(out, accum, p, x)


def combine_into(out: VectorBlock, accum, p: VectorBlock, x: VectorBlock) -> None:
    """The same, where p is known to hold global ids that `out` has."""
    device = out.device
    p = p.copy() if p is out else p
    x = x.copy() if x is out or x is p else x
    downward = out.downward and lowers(accum, out, x)
    p.to_bitmap()
    if x.partition is not p.partition:
        x.rehome(p.partition)
    if not x.bounds()[1] or not p.bounds()[1]:  # a count that is still to come is not waited for
        return
    out.writable_bitmap(full=True)
    full, listed = out.format == "full", x.format == "sparse"
    natural = out.partition.natural
    key = ("pointers.combine", accum.key, x.format, x.dtype, x.iso, p.format, p.dtype, p.iso, out.dtype, full, natural)
    kernel = device.kernels.get(key)
    if kernel is None:
        consts: dict = {"X_LIST": listed, "X_FULL": x.format == "full", "X_ISO": x.iso, "P_FULL": p.format == "full",
                        "P_ISO": p.iso, "C_FULL": full, "GLOBAL": not natural}
        if not device.on_host:
            own = x.dtype == out.dtype == accum.type.np_type
            consts["SETTLES"] = own and settles(accum.monoid)
            if own:
                from spgraph.kernels.cuda.assemble import hardware_atomic

                consts["ATOMIC"] = hardware_atomic(accum.monoid)
        ops = {"ACC": accumulate(accum, out.dtype, x.dtype), "STORE": store(x.dtype, out.dtype)}
        kernel = device.kernels[key] = device.kernel("pointers.combine", consts, ops)
    count = x.nvals if listed else x.size
    args = (x.indices if listed else NO_IDS, x.present if x.format == "bitmap" else EMPTY_BITS, x.values,
            EMPTY_BITS if p.format == "full" else p.present, p.values, NO_IDS if natural else out.partition.to_local)
    if device.on_host:
        added = sum(_over_targets(kernel, out, count, args))
        if added:
            out.set_bitmap(out.present, out.values, out.nvals + added)
        return
    if not full:  # a place without entry starts with what changes nothing
        start = accum.monoid.start
        start = out.dtype.type(start) if out.dtype == accum.type.np_type else start
        device.xp.copyto(out.values, start, where=out.present == 0)
    later = device.over_later(kernel, count, count, (*args, EMPTY_BITS if full else out.present, out.values))
    out.downward = downward
    if not full:
        before = out.nvals
        out.set_bitmap_later(out.present, out.values, lambda: before + later.get()[0], least=before)


def lowers(accum, out: VectorBlock, x: VectorBlock) -> bool:
    """Whether pointers downwards stay such where terms are combined into them: they get smaller, but not negative."""
    known = bool(x.downward or x.nonnegative) and x.dtype == out.dtype == accum.type.np_type
    return known and is_min(accum)


def _over_targets(kernel, out: VectorBlock, count: int, args: tuple) -> list:
    parts = min(threads(), MOST_RANGES) if count >= PARALLEL_WORK else 1
    cuts = pairwise(out.size * part // parts for part in range(parts + 1))
    args = (count, *args, EMPTY_BITS if out.format == "full" else out.present, out.values)
    return parallel_calls(kernel, count, [(lo, hi, *args) for lo, hi in cuts])


def pointer_jump(out: VectorBlock, mask: Mask | None, accum, replace: bool, u: VectorBlock) -> None:
    """C<M, replace> (accum)= T with T(i) = the end of i, u(i), u(u(i)), ...: the first that points to itself."""
    device = u.device
    if u.nvals < u.size:
        raise InvalidValue(f"pointer_jump: v has {u.nvals} entries for {u.size} positions, wanted one for each")
    if u.downward and out is u and mask is None and accum is None and not u.iso:
        follow(u)  # what is known to lead downwards needs no look before, and no copy
        u.set_full(u.values)
        u.downward = True
        return
    u.to_bitmap()
    if u.iso:
        u = u.copy().expand()
    ends = device.xp.empty(u.size, u.dtype)
    found = ends_of(u, ends)
    wrong = 0 if u.downward else sum(found.get())  # what is known is not waited for
    if wrong:
        raise pointing_up(wrong)
    T = VectorBlock(u.size, u.dtype, u.partition, device)
    T.set_full(ends)
    T.downward = not device.on_host
    write(out, mask, accum, replace, T)


def pointing_up(wrong: int) -> InvalidValue:
    """What is raised where pointers do not lead downwards."""
    return InvalidValue(f"pointer_jump: {wrong} values of v are negative or larger than their position; wanted v(i) in "
                        "[0, i], which leads to an end")


def ends_of(u: VectorBlock, ends, first: int = 0, last: int | None = None):
    """Write the end of each position of a full vector into `ends`, which may be the vector's own values.

    A GPU leaves out those that are not in first..last. Returns numbers of pointers that lead upwards, to be asked for
    with ``get()``; if there are any, the ends are of no use.
    """
    device, size, natural = u.device, u.size, u.partition.natural
    if device.on_host:
        return Done([_ends_on_host(u, ends, NO_IDS if natural else u.partition.to_local)])
    check = _kernel(device, "check", u.dtype, natural)
    wrong = device.over_later(check, size, size, (u.values, NO_IDS if natural else u.partition.to_global, ends))
    _jump(u, ends, first, last)
    return wrong


def follow(u: VectorBlock, first: int = 0, last: int | None = None) -> None:
    """On a GPU: make positions first..last of a full vector, whose pointers are known to lead downwards, their ends."""
    _jump(u, u.values, first, last)


def _jump(u: VectorBlock, ends, first: int, last: int | None) -> None:
    natural = u.partition.natural
    count = (u.size if last is None else last) - first
    u.device.over_later(_kernel(u.device, "jump", u.dtype, natural), count, count,
                        (first, NO_IDS if natural else u.partition.to_local, ends))


def _ends_on_host(u: VectorBlock, ends, local) -> int:
    device, size, natural = u.device, u.size, u.partition.natural
    within, below = (_kernel(device, name, u.dtype, natural) for name in ("jump_within", "jump_below"))
    parts = threads() if size >= PARALLEL_WORK else 1
    ranges = list(pairwise(size * part // parts for part in range(parts + 1)))
    wrong = sum(parallel_calls(within, size, [(lo, hi, u.values, local, ends) for lo, hi in ranges]))
    if wrong:
        return wrong
    for first, last in ranges[1:]:
        length = last - first
        cuts = pairwise(first + length * part // parts for part in range(parts + 1))
        parallel_calls(below, length, [(lo, hi, first, local, ends) for lo, hi in cuts])
    return 0


def _kernel(device, name: str, dtype, natural: bool):
    key = (f"pointers.{name}", dtype, natural)
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel(key[0], {"GLOBAL": not natural}, {})
    return kernel


def _check_pointers(function: str, p: VectorBlock, size: int) -> None:
    """Raise IndexOutOfBound unless all entries of p are in [0, size)."""
    if p.downward and p.size <= size:
        return
    found = sum(outside(p, size).get())
    if found:
        raise no_position(function, found, size)


def no_position(function: str, found: int, size: int) -> IndexOutOfBound:
    """What is raised where values are no positions."""
    return IndexOutOfBound(f"{function}: {found} values of p are no position of v, which has size {size}")


def outside(p: VectorBlock, size: int):
    """Numbers of entries that are not in [0, size), to be asked for with ``get()``."""
    if not p.nvals:
        return Done([])
    if p.iso:
        return Done([int(not 0 <= int(p.values[0]) < size) * p.nvals])
    device, full = p.device, p.format != "bitmap"
    key = ("pointers.outside", p.dtype, full)
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel("pointers.outside", {"P_FULL": full}, {})
    count = p.values.size
    return device.over_later(kernel, count, count, (EMPTY_BITS if full else p.present, p.values, np.int64(size)))
