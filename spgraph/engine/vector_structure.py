"""Vectors: build, export, single elements, extract and assign."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import InvalidValue
from semirings.expr import cast_array
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine import vector_sparse
from spgraph.engine.index import Index
from spgraph.engine.mask import NO_MASK, Mask, view_mask
from spgraph.engine.vector_elementwise import Leaf, vector_chain
from spgraph.engine.vector_write import scatter, write, write_chain
from spgraph.kernels.cpu.elementwise import LeafNode
from spgraph.partition import NATURAL

__all__ = ["build_vector", "vector_assign", "vector_coo", "vector_extract", "vector_get", "vector_remove", "vector_set"]

# Below this size, or when so many entries are there, single elements are kept in a bitmap.
BITMAP_SIZE = 1 << 16
BITMAP_SHARE = 32


def build_vector(size: int, indices, values, dtype, dup_op=None) -> VectorBlock:
    """A block from checked global ids and values (an array, or a scalar for an iso vector).

    Raises
    ------
    InvalidValue
        If an index stands twice and `dup_op` is None.
    """
    indices = np.asarray(indices, np.int64)
    dtype = np.dtype(dtype)
    iso = np.ndim(values) == 0
    values = cast_array(np.atleast_1d(np.asarray(values)), dtype)
    ascending = indices.size < 2 or bool((indices[1:] > indices[:-1]).all())
    if not ascending:
        order = np.argsort(indices, kind="stable")
        indices = indices[order]
        if not iso:
            values = values[order]
        repeated = indices[1:] == indices[:-1]
        if repeated.any():
            if dup_op is None:
                where = int(indices[1:][repeated][0])
                raise InvalidValue(
                    f"build: index {where} stands {int((indices == where).sum())} times; give dup_op, for instance "
                    "binary.plus, to say how duplicates combine")
            values = values if not iso else np.full(indices.size, values[0], dtype)
            indices, values = _merge_duplicates(indices, values, dup_op)
            iso = False
    block = VectorBlock(size, dtype)
    values = values.copy() if values.base is not None else values
    block.set_sparse(indices.astype(index_dtype(size)), values, iso=iso and indices.size > 0)
    if block.nvals == size and size:
        block.to_bitmap()
    return block


def _merge_duplicates(indices, values, dup_op):
    """Combine runs of equal (sorted) indices from left to right."""
    first = np.flatnonzero(np.concatenate(([True], indices[1:] != indices[:-1])))
    lengths = np.diff(np.append(first, indices.size))
    merged = values[first]
    for step in range(1, int(lengths.max())):
        more = lengths > step
        combined = dup_op.numpy(cast_array(merged[more], dup_op.type.np_type),
                                cast_array(values[first[more] + step], dup_op.type2.np_type))
        merged[more] = cast_array(combined, merged.dtype)
    return indices[first], merged


def vector_coo(block: VectorBlock) -> tuple[np.ndarray, np.ndarray]:
    """Global ids (int64, ascending) and values."""
    return block.coo()


def _local(block: VectorBlock, i: int) -> int:
    return i if block.partition.natural else int(block.partition.to_local[i])


def _find(block: VectorBlock, local: int) -> int:
    """Where the entry lies in a sparse block's list, or -1."""
    block.sort()
    at = int(np.searchsorted(block.indices, local))
    return at if at < block.nvals and block.indices[at] == local else -1


def vector_get(block: VectorBlock, i: int):
    """The value at global id i, or None."""
    local = _local(block, i)
    if block.format == "sparse":
        local = _find(block, local)
        if local < 0:
            return None
    elif block.format == "bitmap" and not block.present[local]:
        return None
    return block.values[0 if block.iso else local]


def vector_set(block: VectorBlock, i: int, value) -> None:
    """Store a value at global id i."""
    local = _local(block, i)
    if block.format == "sparse" and block.size > BITMAP_SIZE and block.nvals * BITMAP_SHARE < block.size:
        at = _find(block, local)
        block.expand()
        if at >= 0:
            block.values[at] = value
            return
        at = int(np.searchsorted(block.indices, local))
        block.set_sparse(np.insert(block.indices, at, local), np.insert(block.values, at, value))
        return
    block.writable_bitmap(full=True)
    block.values[local] = value
    if block.format == "bitmap" and not block.present[local]:
        block.present[local] = 1
        block.set_bitmap(block.present, block.values, block.nvals + 1)


def vector_remove(block: VectorBlock, i: int) -> None:
    """Delete the entry at global id i, if there is one."""
    local = _local(block, i)
    if block.format == "sparse":
        at = _find(block, local)
        if at >= 0:
            values = block.values if block.iso else np.delete(block.values, at)
            block.set_sparse(np.delete(block.indices, at), values, iso=block.iso)
        return
    block.writable_bitmap()
    if block.present[local]:
        block.present[local] = 0
        block.set_bitmap(block.present, block.values, block.nvals - 1)


# ---- extract ----------------------------------------------------------------------
def vector_extract(out: VectorBlock, mask: Mask | None, accum, replace: bool, u: VectorBlock, index: Index) -> None:
    """C<M, replace> (accum)= u(I); C has one position for each selected one."""
    write(out, mask, accum, replace, u.copy() if index.kind == "all" else _extracted(u, index))


def _extracted(u: VectorBlock, index: Index) -> VectorBlock:
    T = VectorBlock(index.size, u.dtype)
    if u.format == "sparse" and (u.size > vector_sparse.BITMAP_LIMIT or index.kind == "range"):
        ids, values = u.coo()
        where, found = _positions(ids, index)
        order = np.argsort(where, kind="stable")
        T.set_sparse(where[order].astype(index_dtype(index.size)), values[found][order])
        return T
    u.to_bitmap()
    local = u.partition.locals_of(index.to_array())
    values = u.values if u.iso else u.values[local]
    if u.format == "full":
        T.set_full(values, iso=u.iso)
    else:
        present = u.present[local]
        T.set_bitmap(present, values, int(np.count_nonzero(present)), iso=u.iso)
    return T


def _positions(ids, index: Index):
    """For sorted `ids`: at which places of `index` they stand, and which of `ids` that are."""
    if index.kind != "list":
        offset = ids - index.start
        place = offset // index.step
        found = np.flatnonzero((offset % index.step == 0) & (place >= 0) & (place < index.size))
        return place[found], found
    lo, hi = np.searchsorted(ids, index.array), np.searchsorted(ids, index.array, "right")
    where = np.flatnonzero(hi > lo)
    return where, lo[where]


# ---- assign -----------------------------------------------------------------------
def vector_assign(out: VectorBlock, mask: Mask | None, accum, replace: bool, value, index: Index, *,
                  sub: bool = False) -> None:
    """C<M, replace>(I) (accum)= value, a block or a NumPy scalar.

    With `sub`, mask and replace act on the region C(I) only, else on all of C.
    """
    scalar = not isinstance(value, VectorBlock)
    if index.kind == "all":
        if scalar:
            _assign_scalar(out, mask, accum, replace, value)
        else:
            vector_chain(out, mask, accum, replace, Leaf(value))
        return
    u = _filled(index.size, value) if scalar else value.copy()
    region = _extracted(out, index)
    write(region, mask if sub else None, accum, replace and sub, u)
    region.rehome(NATURAL)
    if sub or mask is None:
        _put_back(out, index, region)
    else:
        Z = out.copy()
        _put_back(Z, index, region)
        write(out, mask, None, replace, Z)


def _filled(size: int, value) -> VectorBlock:
    block = VectorBlock(size, value.dtype)
    if size:
        block.set_full(np.array([value]), iso=True)
    return block


def _assign_scalar(out: VectorBlock, mask: Mask | None, accum, replace: bool, value) -> None:
    fresh = out.nvals == 0 or (accum is None and (mask is None or replace))
    if mask is not None and not mask.complement and (fresh or not replace):
        block = mask.block
        if block.format == "sparse" and (mask.structural or (block.iso and block.values[0])):
            _assign_listed(out, accum, fresh, value, block)
            return
    T = _filled(out.size, value)
    if mask is None and (fresh or out.size == 0):
        write(out, None, None, False, T)
        return
    T.partition = out.partition
    if fresh and mask is not None and not mask.block.partition.natural:
        out.rehome(mask.block.partition)
    view = view_mask(mask, out.size, out.partition, copy=mask is not None and mask.block is out)
    leaf = LeafNode(0, T.dtype, "f", True)
    write_chain(out, view, mask is None or not replace, accum, fresh, leaf, lambda: leaf, [T], T.dtype)


def _assign_listed(out, accum, fresh, value, listed: VectorBlock) -> None:
    """The mask is a list: its entries are all that changes."""
    if fresh:
        out.set_sparse(listed.indices.copy(), cast_array(np.array([value]), out.dtype), iso=listed.nvals > 0,
                       sorted=listed.sorted, partition=listed.partition)
        return
    if listed.partition is not out.partition:
        listed.rehome(out.partition) if listed.partition.natural else out.rehome(listed.partition)
    T = VectorBlock(out.size, value.dtype, out.partition)
    T.set_sparse(listed.indices, np.array([value]), iso=True, sorted=listed.sorted)
    if out.size > vector_sparse.BITMAP_LIMIT and out.format == "sparse":
        vector_sparse.write(out, Mask(T, False, True), accum, False, T)
        return
    scatter(out, NO_MASK, accum, T)


def _put_back(out: VectorBlock, index: Index, region: VectorBlock) -> None:
    """C(I) becomes the region: its entries stored, the others of I deleted."""
    ids = index.to_array()
    if out.format == "sparse" and out.size > vector_sparse.BITMAP_LIMIT:
        _put_back_sparse(out, ids, region)
        return
    out.writable_bitmap()
    region.to_bitmap().expand()
    local = out.partition.locals_of(ids)
    out.present[local] = 1 if region.present is None else region.present
    if region.present is None:
        out.values[local] = region.values
    else:
        has = region.present.view(np.bool_)
        out.values[local[has]] = region.values[has]
    out.set_bitmap(out.present, out.values, int(np.count_nonzero(out.present)))


def _put_back_sparse(out, ids, region):
    old_ids, old_values = out.coo()
    where, values = region.coo()
    kept = ~np.isin(old_ids, ids)
    joined = np.concatenate([old_ids[kept], ids[where]])
    order = np.argsort(joined, kind="stable")
    out.set_sparse(joined[order].astype(index_dtype(out.size)), np.concatenate([old_values[kept], values])[order],
                   partition=NATURAL)
