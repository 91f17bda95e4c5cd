"""Vectors in parts: element-wise work and reductions, part by part; elements, extract and assign, by their owners."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import IndexOutOfBound, InvalidValue
from spgraph.block import VectorBlock
from spgraph.engine import pointers, vector_elementwise, vector_structure
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.parts.align import align, mask_block, mask_pieces
from spgraph.engine.vector_elementwise import Apply, Leaf
from spgraph.exchange.route import route
from spgraph.exchange.take import take
from spgraph.exchange.vector_parts import VectorParts, piece_coo

__all__ = [
    "build_vector",
    "combine_at",
    "gather",
    "inner",
    "pointer_jump",
    "vector_assign",
    "vector_chain",
    "vector_coo",
    "vector_extract",
    "vector_get",
    "vector_reduce",
    "vector_reduce_later",
    "vector_remove",
    "vector_select",
    "vector_set",
]


# ---- part by part -------------------------------------------------------------
def _leaves(tree: Any) -> list[VectorParts]:
    kind = type(tree)
    if kind is Leaf:
        return [tree.block]
    return _leaves(tree.child) if kind is Apply else _leaves(tree.l) + _leaves(tree.r)


def _part(tree: Any, a: int) -> Any:
    """The tree over the a-th pieces of its operands."""
    kind = type(tree)
    if kind is Leaf:
        return Leaf(tree.block.pieces[a])
    if kind is Apply:
        return tree._replace(child=_part(tree.child, a))
    return tree._replace(l=_part(tree.l, a), r=_part(tree.r, a))


def vector_chain(out: VectorParts, mask: Mask | None, accum, replace: bool, tree) -> None:
    align(*_leaves(tree), out, mask_block(mask))
    masks = mask_pieces(mask, len(out.pieces))
    for a, (_, piece) in enumerate(out.on_each()):
        vector_elementwise.vector_chain(piece, masks[a], accum, replace, _part(tree, a))
    out.stay()


def vector_select(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, op, thunk) -> None:
    align(u, out, mask_block(mask))
    masks = mask_pieces(mask, len(out.pieces))
    for a, (_, piece) in enumerate(out.on_each()):
        vector_elementwise.vector_select(piece, masks[a], accum, replace, u.pieces[a], op, thunk)
    out.stay()


class _Total:
    """The totals of the parts, to be one; see `vector_elementwise._Total`."""

    __slots__ = ("_monoid", "_parts", "_transport")

    def __init__(self, parts: list, monoid, transport):
        self._parts = parts
        self._monoid = monoid
        self._transport = transport

    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return all(part.ready() for part in self._parts)

    def get(self):
        """A NumPy scalar of the monoid's type, or None."""
        return combined(self._transport.gather([part.get() for part in self._parts]), self._monoid)


def combined(totals: list, monoid):
    """The totals of all parts as one, None where there is nothing."""
    found = [total for total in totals if total is not None]
    if not found:
        return None
    total, dtype = found[0], monoid.type.np_type
    if not monoid.terminal_any:
        for other in found[1:]:
            total = dtype.type(monoid.binaryop.numpy(total, other))
    return total


def vector_reduce_later(tree, monoid) -> _Total:
    if isinstance(tree, VectorParts):
        tree = Leaf(tree)
    leaves = _leaves(tree)
    align(*leaves)
    parts = [vector_elementwise.vector_reduce_later(_part(tree, a), monoid) for a, _ in enumerate(leaves[0].on_each())]
    return _Total(parts, monoid, leaves[0].device.transport)


def vector_reduce(tree, monoid):
    return vector_reduce_later(tree, monoid).get()


def inner(u: VectorParts, v: VectorParts, semiring):
    align(u, v)
    totals = [vector_elementwise.inner(piece, other, semiring) for (_, piece), other in zip(u.on_each(), v.pieces)]
    return combined(u.device.transport.gather(totals), semiring.monoid)


# ---- building and single elements -------------------------------------------------
def build_vector(size: int, indices, values, dtype, dup_op=None, device: Any = None) -> VectorParts:
    built = vector_structure.build_vector(size, np.asarray(indices), values, dtype, dup_op)
    new = VectorParts(size, dtype, device)
    if built.format == "full":
        new.set_full(built.values, iso=built.iso)
    else:
        new.set_entries(built.indices, built.values)
    return new


def vector_coo(v: VectorParts, on_device: bool = False) -> tuple[Any, Any]:
    return v.coo()


def _owner(v: VectorParts, i: int) -> tuple[int, int]:
    """The part that owns a vertex, and its place among those of this process (-1 if it is another's)."""
    part = int(v.layout.owners(v.layout.positions(np.array([i])))[0])
    mine = list(v.device.mine)
    return part, mine.index(part) if part in mine else -1


def vector_get(v: VectorParts, i: int):
    part, a = _owner(v, i)
    found: list = [None] * len(v.pieces)
    if a >= 0:
        with v.device.devices[part]:
            found[a] = vector_structure.vector_get(v.pieces[a], i)
    return next((value for value in v.device.transport.gather(found) if value is not None), None)


def vector_set(v: VectorParts, i: int, value) -> None:
    part, a = _owner(v, i)
    if a >= 0:
        with v.device.devices[part]:
            vector_structure.vector_set(v.pieces[a], i, value)


def vector_remove(v: VectorParts, i: int) -> None:
    part, a = _owner(v, i)
    if a >= 0:
        with v.device.devices[part]:
            vector_structure.vector_remove(v.pieces[a], i)


# ---- extract and assign ---------------------------------------------------------------
def vector_extract(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, index: Index) -> None:
    if index.kind == "all":
        vector_chain(out, mask, accum, replace, Leaf(u.copy()))
        return
    align(out, mask_block(mask))
    layout, ids = out.layout, index.to_array()
    wanted = []
    for part, (device, _) in zip(out.device.mine, out.on_each()):
        first, last = layout.starts[part : part + 2]
        wanted.append(device.to_device(u.layout.positions(ids[layout.ids(np.arange(first, last))])))
    vector_chain(out, mask, accum, replace, Leaf(_as_parts(out, u.dtype, take(u, wanted))))


def _as_parts(like: VectorParts, dtype, blocks: list[VectorBlock]) -> VectorParts:
    """Blocks that lie as the pieces of `like`, as a vector."""
    T = VectorParts(like.size, dtype, like.device, like.layout)
    for block, piece in zip(blocks, T.layout.pieces):
        block.partition = piece
    T.pieces = blocks
    return T


def vector_assign(
    out: VectorParts, mask: Mask | None, accum, replace: bool, value, index: Index, *, sub: bool = False
) -> None:
    scalar = not isinstance(value, VectorParts)
    if index.kind == "all":
        if not scalar:
            vector_chain(out, mask, accum, replace, Leaf(value))
            return
        align(out, mask_block(mask))
        for piece_mask, (_, piece) in zip(mask_pieces(mask, len(out.pieces)), out.on_each()):
            vector_structure.vector_assign(piece, piece_mask, accum, replace, value, Index.of_all(piece.size))
        out.stay()
        return
    if sub:
        mask = None if mask is None else mask._replace(block=mask.block.copy())
    else:
        align(out, mask_block(mask))
    ids = index.to_array()
    owned = out.layout.split(ids)
    values = [value] * len(owned) if scalar else _at(value, [own for own, _ in owned])
    if sub and mask is not None:
        masks = [mask._replace(block=block) for block in _at(mask.block, [own for own, _ in owned])]
    else:
        masks = mask_pieces(mask, len(out.pieces))
    for (own, _), one, piece_mask, (device, piece) in zip(owned, values, masks, out.on_each()):
        chosen = Index.of_list(device.to_device(ids[own]))
        vector_structure.vector_assign(piece, piece_mask, accum, replace, one, chosen, sub=sub)
    out.stay()


def _at(v: VectorParts, places: list) -> list[VectorBlock]:
    """Entries of v at some of its positions, given as arrays of the host, for each part."""
    return take(v, v.device.dealt([v.layout.positions(own) for own in places]))


# ---- vectors of positions ----------------------------------------------------------------
def gather(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts, p: VectorParts) -> None:
    _check_pointers("v[p]", p, u.size)
    align(p, out, mask_block(mask))
    vector_chain(out, mask, accum, replace, Leaf(_gathered(u, p)))


def _gathered(u: VectorParts, p: VectorParts) -> VectorParts:
    """u(p(i)) for the entries of p, as p lies."""
    lists = []
    for device, piece in p.on_each():
        listed = piece.copy().to_sparse().expand()
        lists.append((listed, u.layout.whole(device).locals_of(listed.values.astype(np.int64))))
    found = take(u, [positions for _, positions in lists])
    T = VectorParts(p.size, u.dtype, p.device, p.layout)
    for (device, piece), (listed, _), values in zip(T.on_each(), lists, found):
        if not values.nvals:
            continue
        if values.format == "full":
            piece.set_sparse(listed.indices, values.values, sorted=listed.sorted)
        else:
            kept = device.xp.flatnonzero(values.present)
            piece.set_sparse(listed.indices[kept], values.values[kept], sorted=listed.sorted)
        if piece.nvals == piece.size:
            piece.to_bitmap()
    return T


def combine_at(out: VectorParts, accum, p: VectorParts, x: VectorParts) -> None:
    _check_pointers("v(accum)[p] << x", p, out.size)
    p = p.copy() if p is out else p
    x = x.copy() if x is out or x is p else x
    align(p, x)
    keyed = []
    for (device, one), other in zip(p.on_each(), x.pieces):
        xp = device.xp
        one, other = one.copy().to_bitmap().expand(), other.copy().to_bitmap().expand()
        there = xp.ones(one.size, np.uint8) if one.format == "full" else one.present
        there = there if other.format == "full" else there & other.present
        kept = xp.flatnonzero(there)
        keyed.append((out.layout.whole(device).locals_of(one.values[kept].astype(np.int64)), other.values[kept]))
    for (device, piece), (local, values) in zip(out.on_each(), route(out.layout, keyed)):
        targets, terms = (
            VectorBlock(local.size, np.int64, device=device),
            VectorBlock(local.size, x.dtype, device=device),
        )
        if local.size:
            targets.set_full(piece.partition.globals_of(local).astype(np.int64, copy=False))
            terms.set_full(values)
            pointers.combine_into(piece, accum, targets, terms)
    out.stay()


def pointer_jump(out: VectorParts, mask: Mask | None, accum, replace: bool, u: VectorParts) -> None:
    gather_ = u.device.transport.gather
    if u.nvals < u.size:
        raise InvalidValue(f"pointer_jump: v has {u.nvals} entries for {u.size} positions, wanted one for each")
    wrong = []
    for device, piece in u.on_each():
        ids, values = piece_coo(piece)
        wrong.append(int(device.xp.count_nonzero((values < 0) | (values > ids))))
    found = sum(gather_(wrong))
    if found:
        raise InvalidValue(f"pointer_jump: {found} values of v are negative or larger than their position; wanted "
                           "v(i) in [0, i], which leads to an end")
    ends = u.copy()
    while True:
        further = _gathered(ends, ends)
        same = [
            bool((one.to_bitmap().expand().values == other.to_bitmap().expand().values).all())
            for (_, one), other in zip(ends.on_each(), further.pieces)
        ]
        if all(gather_(same)):
            break
        ends = further
    vector_chain(out, mask, accum, replace, Leaf(ends))


def _check_pointers(function: str, p: VectorParts, size: int) -> None:
    """Raise IndexOutOfBound unless all entries of p are in [0, size)."""
    outside = []
    for device, piece in p.on_each():
        values = (
            piece.values
            if piece.format != "bitmap" or piece.iso
            else piece.values[device.xp.flatnonzero(piece.present)]
        )
        bad = (values < 0) | (values >= size)
        found = (int(bad[0]) * piece.nvals if piece.iso else int(device.xp.count_nonzero(bad))) if piece.nvals else 0
        outside.append(found)
    found = sum(p.device.transport.gather(outside))
    if found:
        raise IndexOutOfBound(f"{function}: {found} values of p are no position of v, which has size {size}")
