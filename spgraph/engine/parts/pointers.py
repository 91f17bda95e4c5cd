"""Vectors of positions in parts: what they name may lie anywhere.

Method: all of a vector is brought to every device where that moves fewer bytes than requests do, as it does if pointers
are many; then each device looks up, or follows pointers to their ends, on its own. Terms combined into positions are
combined on each device first, so that a position is named once at most in what goes to its owner; GPUs that see each
other combine them where the values lie (`exchange.far`).
Border values: of `gather` and `pointer_jump` n for each device; of `combine_at` the positions named on each.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.block import VectorBlock
from spgraph.engine import pointers
from spgraph.engine.mask import Mask
from spgraph.engine.operators import settles
from spgraph.engine.parts.align import align, mask_block, mask_pieces
from spgraph.engine.vector_write import write
from spgraph.exchange.far import combine_far
from spgraph.exchange.route import route
from spgraph.exchange.take import take, wanted_whole
from spgraph.exchange.vector_parts import VectorParts
from spgraph.exchange.whole import devices_of, everywhere, to_owners
from spgraph.kernels.cpu._threads import together
from spgraph.kernels.device import Done

__all__ = ["combine_at", "gather", "pointer_jump"]

FEW = 64  # terms that are fewer than size / this go to the owners as they are
ATOMIC = 4  # bytes that GPUs update in one step, at least
SMALL = 1 << 16  # positions that take less time to go through than messages of another length take to make


def gather(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, p: VectorParts) -> None:
    _check_pointers("v[p]", p, u.size)
    align(p, out, mask_block(mask))
    found = _from_whole(u, p) if wanted_whole(u, p.nvals) else _from_owners(u, p)
    _write(out, mask, accum, replace, found)


def _from_whole(u: VectorParts, p: VectorParts) -> list[VectorBlock]:
    """u(p(i)) for the entries of p, as p lies: out of all of u."""
    return [pointers.gathered(whole, piece) for whole, (_, piece) in zip(everywhere(u), p.on_each())]


def _from_owners(u: VectorParts, p: VectorParts) -> list[VectorBlock]:
    """The same: each is asked for."""
    lists, wanted = [], []
    for device, piece in p.on_each():
        listed = piece.copy().to_sparse().expand()
        lists.append(listed)
        wanted.append(u.layout.whole(device).locals_of(listed.values.astype(np.int64)))
    found = []
    for (device, piece), listed, values in zip(p.on_each(), lists, take(u, wanted)):
        T = VectorBlock(piece.size, u.dtype, piece.partition, device)
        if values.nvals:
            kept = slice(None) if values.format == "full" else device.xp.flatnonzero(values.present)
            T.set_sparse(listed.indices[kept], values.values[kept], sorted=listed.sorted)
            if T.nvals == T.size:
                T.to_bitmap()
        found.append(T)
    return found


def _write(out: VectorParts, mask: Mask | None, accum, replace: bool, T: list[Any]) -> None:
    """C<M, replace> (accum)= T, given as blocks that lie as `out` does (None: nothing changes)."""
    with together(out.device.begins):
        for block, piece_mask, (_, piece) in zip(T, mask_pieces(mask, len(T)), out.on_each()):
            if block is None:
                continue
            block.partition = piece.partition
            write(piece, piece_mask, accum, replace, block)
    out.stay()


# ---- combine -------------------------------------------------------------------------
def combine_at(out: VectorParts, accum, p: VectorParts, x: VectorParts) -> None:
    _check_pointers("v(accum)[p] << x", p, out.size)
    align(p, x)
    terms = sum(x.device.transport.gather([piece.bounds()[1] for piece in x.pieces]))
    if not terms:
        return
    if _within_reach(out, accum, x):
        lowered = all(pointers.lowers(accum, piece, other) for piece, other in zip(out.pieces, x.pieces) if other.size)
        downward = [piece.downward and lowered for piece in out.pieces]
        combine_far(out, accum, p, x, settles(accum.monoid))
        for piece, known in zip(out.pieces, downward):
            piece.downward = known
        return
    whole = out.size <= SMALL or terms * FEW >= out.size
    if whole and out.dtype == accum.type.np_type:  # else an intermediate result would be of another type than C
        _combine_whole(out, accum, p, x)
    else:
        _combine_each(out, accum, p, x)


def _within_reach(out: VectorParts, accum, x: VectorParts) -> bool:
    """Whether GPUs can combine terms into each other's values by themselves."""
    transport, dtype = out.device.transport, out.dtype
    return (
        transport.direct
        and transport.linked
        and dtype.itemsize >= ATOMIC
        and dtype == x.dtype == accum.type.np_type
        and all(piece.bounds()[0] == piece.size for piece in out.pieces)
    )


def _combine_whole(out: VectorParts, accum, p: VectorParts, x: VectorParts) -> None:
    """What all terms of a device make, for all positions, then to the owners of these."""
    group, layout = out.device, out.layout
    leaders, partial = devices_of(group), {}
    for part, (device, one), other in zip(group.mine, p.on_each(), x.pieces):
        leader = leaders[part]
        if leader not in partial:
            partial[leader] = VectorBlock(out.size, out.dtype, layout.whole(device), device)
        pointers.combine_into(partial[leader], accum, one, other)
    came = to_owners([partial.get(part) for part in group.mine], layout)
    for turn in zip_longest(*came):  # one that has come from each device; a position has terms of several
        _write(out, None, accum, False, list(turn))


def _combine_each(out: VectorParts, accum, p: VectorParts, x: VectorParts) -> None:
    """Each term to the owner of its position."""
    keyed = []
    for (device, one), other in zip(p.on_each(), x.pieces):
        positions, values = _terms(one, other)
        keyed.append((out.layout.whole(device).locals_of(positions.astype(np.int64, copy=False)), values))
    for (device, piece), (local, values) in zip(out.on_each(), route(out.layout, keyed)):
        if local.size:
            targets = VectorBlock(local.size, np.int64, device=device)
            terms = VectorBlock(local.size, x.dtype, device=device)
            targets.set_full(piece.partition.globals_of(local).astype(np.int64, copy=False))
            terms.set_full(values)
            pointers.combine_into(piece, accum, targets, terms)
    out.stay()


def _terms(p: VectorBlock, x: VectorBlock) -> tuple[Any, Any]:
    """p(i) and x(i) for the i where both have an entry."""
    device, xp = x.device, x.device.xp
    p.to_bitmap()
    if x.format == "sparse":
        places = x.indices
        if p.present is not None:
            kept = xp.flatnonzero(p.present[places])
            places, values = places[kept], x.values if x.iso else x.values[kept]
        else:
            values = x.values
    else:
        there = [present for present in (p.present, x.present) if present is not None]
        places = xp.flatnonzero(there[0] & there[-1]) if there else xp.arange(x.size)
        values = x.values if x.iso else x.values[places]
    named = device.filled(places.size, p.values[0], p.dtype) if p.iso else p.values[places]
    return named, device.filled(places.size, x.values[0], x.dtype) if x.iso else values


# ---- jump --------------------------------------------------------------------------------
def pointer_jump(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts) -> None:
    nvals = u.nvals
    if nvals < u.size:
        raise InvalidValue(f"pointer_jump: v has {nvals} entries for {u.size} positions, wanted one for each")
    align(u, out, mask_block(mask))
    group, layout = u.device, u.layout
    leaders = [devices_of(group)[part] for part in group.mine]
    # what one process knows of its own pointers is nothing to others
    known = group.transport.direct and all(piece.downward or not piece.size for piece in u.pieces)
    wholes, found = everywhere(u), {}
    for part, leader, (device, _), whole in zip(group.mine, leaders, u.on_each(), wholes):
        if leader not in found:
            own = layout.starts[part : part + 2].tolist() if leaders.count(leader) == 1 else (0, u.size)
            if known:
                pointers.follow(whole, *own)
                found[leader] = whole.values, Done([0])
            else:
                ends = whole.values if device.on_host else device.xp.empty_like(whole.values)
                found[leader] = ends, pointers.ends_of(whole, ends, *own)
    wrong = sum(found[leaders[0]][1].get())  # all devices have looked at all pointers
    if wrong:
        raise pointers.pointing_up(wrong)
    parts = [found[leader][0][slice(*layout.starts[part : part + 2].tolist())]
             for part, leader in zip(group.mine, leaders)]  # fmt: skip
    if mask is None and accum is None and group.transport.direct and _can_take(out, u.dtype):
        for (device, piece), values in zip(out.on_each(), parts):
            if piece.size:
                device.copy_into(piece.values, 0, values)
                piece.set_full(piece.values)
                piece.downward = True
        return
    pieces = []
    for (device, _), values in zip(u.on_each(), parts):
        T = VectorBlock(values.size, u.dtype, device=device)
        if T.size:
            T.set_full(values if device.on_host else values.copy())  # else all of the ends would be kept
        T.downward = not device.on_host
        pieces.append(T)
    _write(out, mask, accum, replace, pieces)


def _can_take(out: VectorParts, dtype: Any) -> bool:
    """Whether values for all positions fit where those of the pieces lie, so that no memory is asked for."""
    return out.dtype == dtype and all(
        not piece.size or (type(piece) is VectorBlock and piece.format == "full" and not piece.iso)
        for piece in out.pieces
    )


def _check_pointers(function: str, p: VectorParts, size: int) -> None:
    """Raise IndexOutOfBound unless all entries of p are in [0, size)."""
    with together(p.device.begins):
        later = [
            None if piece.downward and p.size <= size else pointers.outside(piece, size) for _, piece in p.on_each()
        ]
    found = sum(p.device.transport.gather([0 if one is None else int(sum(one.get())) for one in later]))
    if found:
        raise pointers.no_position(function, found, size)
