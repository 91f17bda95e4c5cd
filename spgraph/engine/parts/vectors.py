"""Vectors in parts: element-wise work and reductions, part by part; elements, extract and assign, by their owners."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.engine import vector_elementwise, vector_sparse, vector_structure
from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.operators import total_of
from spgraph.engine.parts.align import align, mask_block, mask_pieces
from spgraph.engine.vector_elementwise import Apply, Leaf, Plan, dtype_of, planned_chain, planned_reduce
from spgraph.exchange.take import picked, take
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.cpu._threads import together

__all__ = [
    "build_vector",
    "inner",
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


FEW = 1 << 10  # entries that the host can hand on


# ---- part by part -------------------------------------------------------------
def _part(tree: Any, a: int) -> Any:
    """The tree over the a-th pieces of its operands."""
    kind = type(tree)
    if kind is Leaf:
        return Leaf(tree.block.pieces[a])
    if kind is Apply:
        return tree._replace(child=_part(tree.child, a))
    return tree._replace(l=_part(tree.l, a), r=_part(tree.r, a))


def _of_part(plan: Plan, a: int) -> Plan:
    """The plan over the a-th pieces."""
    return plan.over([block.pieces[a] for block in plan.blocks], lambda: _part(plan.tree, a))


def vector_chain(out: VectorParts, mask: Mask | None, accum, replace: bool, tree) -> None:
    plan = Plan(tree)
    align(*plan.blocks, out, mask_block(mask))
    masks = mask_pieces(mask, len(out.pieces))
    # a Leaf may be taken over; longer vectors than bitmaps are for are evaluated step by step
    simple = type(tree) is Leaf or out.size > vector_sparse.BITMAP_LIMIT
    dtype = dtype_of(tree)
    with together(out.device.begins):
        for a, (_, piece) in enumerate(out.on_each()):
            if simple:
                vector_elementwise.vector_chain(piece, masks[a], accum, replace, _part(tree, a))
            else:
                planned_chain(piece, masks[a], accum, replace, _of_part(plan, a), dtype)
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
        gathered = self._transport.gather([part.each() for part in self._parts])
        return total_of([total for totals in gathered for total in totals], self._monoid)


def combined(totals: list, monoid):
    """The totals of all parts as one, None where there is nothing."""
    return total_of([total for total in totals if total is not None], monoid)


def vector_reduce_later(tree, monoid) -> _Total:
    if isinstance(tree, VectorParts):
        tree = Leaf(tree)
    plan = Plan(tree)
    first = plan.blocks[0]
    align(*plan.blocks)
    parts: list[Any] = []
    with together(first.device.begins):
        for a, (_, piece) in enumerate(first.on_each()):
            if piece.size > vector_sparse.BITMAP_LIMIT:
                parts.append(vector_elementwise.vector_reduce_later(_part(tree, a), monoid))
            else:
                parts.append(planned_reduce(_of_part(plan, a), monoid))
    return _Total(parts, monoid, first.device.transport)


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


def _owner(v: VectorParts, i: int) -> tuple[int, int, int]:
    """The part that owns a vertex, its place among those of this process (-1 if it is another's), the local number."""
    position = v.layout.positions(np.array([i]))
    part = int(v.layout.owners(position)[0])
    mine = list(v.device.mine)
    return part, mine.index(part) if part in mine else -1, int(position[0] - v.layout.starts[part])


def vector_get(v: VectorParts, i: int):
    part, a, local = _owner(v, i)
    found: list = [None] * len(v.pieces)
    if a >= 0:
        piece = v.pieces[a]
        with v.device.devices[part] as device:
            if piece.format == "full" and not piece.iso:  # the host knows where it lies
                found[a] = device.to_host(piece.values[local:local + 1])[0]
            else:
                found[a] = vector_structure.vector_get(piece, i)
    return next((value for value in v.device.transport.gather(found) if value is not None), None)


def vector_set(v: VectorParts, i: int, value) -> None:
    part, a, _ = _owner(v, i)
    if a >= 0:
        with v.device.devices[part]:
            vector_structure.vector_set(v.pieces[a], i, value)


def vector_remove(v: VectorParts, i: int) -> None:
    part, a, _ = _owner(v, i)
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
    group = u.device
    if ids.size <= FEW and group.host_copies and all(group.devices[part].host_copies for part in group.mine):
        there, values = picked(u, ids)
        T = VectorParts(out.size, u.dtype, out.device, layout)
        T.set_entries(np.flatnonzero(there), values[there])
        if mask is None and accum is None and out.dtype == T.dtype:
            out.pieces = T.pieces
        else:
            vector_chain(out, mask, accum, replace, Leaf(T))
        return
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
        with together(out.device.begins):
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
