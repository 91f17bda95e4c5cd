"""Vectors: build, export, single elements, extract and assign."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from semirings.expr import cast_array
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine import vector_sparse
from spgraph.engine.index import Index, last_named
from spgraph.engine.mask import NO_MASK, Mask, view_mask
from spgraph.engine.operators import accumulate, cast_values, is_fresh
from spgraph.engine.vector_elementwise import Everywhere, Leaf, uniform, vector_chain
from spgraph.engine.vector_write import scatter, write, write_chain
from spgraph.kernels.device import HOST, Device
from spgraph.kernels.trees import LeafNode
from spgraph.partition import NATURAL, Partition

__all__ = ["build_vector", "vector_assign", "vector_coo", "vector_extract", "vector_get", "vector_remove", "vector_set"]

# Below this size, or when so many entries are there, single elements are kept in a bitmap.
BITMAP_SIZE = 1 << 16
BITMAP_SHARE = 32


def build_vector(size: int, indices, values, dtype, dup_op=None, device: Device = HOST) -> VectorBlock:
    """A block of `device` from checked global ids and values (an array, or a scalar for an iso vector).

    Both may be array_like or arrays of that device; what is not copied on the way becomes the block's.

    Raises
    ------
    InvalidValue
        If an index stands twice and `dup_op` is None.
    """
    xp, dtype = device.xp, np.dtype(dtype)
    indices = _array(indices)
    if indices.size == 1 and type(indices) is np.ndarray:
        indices = device.to_device(indices.reshape(1).astype(index_dtype(size)))
    else:
        indices = device.to_device(indices).astype(np.int64, copy=False)
    iso = (values.ndim if hasattr(values, "ndim") else np.ndim(values)) == 0
    if iso:
        values = cast_array(np.atleast_1d(np.asarray(values)), dtype)
    else:
        values = cast_values(device, device.to_device(_array(values)), dtype)
        values = values.copy() if values.base is not None else values
    if indices.size > 1 and not bool((indices[1:] > indices[:-1]).all()):
        order = xp.argsort(indices, kind="stable")
        indices = indices[order]
        if not iso:
            values = values[order]
        repeated = indices[1:] == indices[:-1]
        if bool(repeated.any()):
            if dup_op is None:
                where = int(indices[1:][repeated][0])
                raise InvalidValue(
                    f"build: index {where} stands {int((indices == where).sum())} times; give dup_op, for instance "
                    "binary.plus, to say how duplicates combine")
            values = device.filled(indices.size, values[0], dtype) if iso else values
            iso = False
            row = device.to_device(np.array([0, indices.size], np.int64))
            _, indices, values = device.sort.combine_duplicates(row, indices, values, accumulate(dup_op, dtype, dtype))
    block = VectorBlock(size, dtype, device=device)
    block.set_sparse(indices.astype(index_dtype(size), copy=False), values, iso=iso)
    if block.nvals == size and size:
        block.to_bitmap()
    return block


def _array(values) -> Any:
    """array_like as an array; one of a device stays what it is."""
    return values if hasattr(values, "astype") else np.asarray(values)


def vector_coo(block: VectorBlock, on_device: bool = False) -> tuple[Any, Any]:
    """Global ids (int64, ascending) and values: NumPy arrays, or arrays of the block's device."""
    if on_device:
        return block.coo()
    to_host = block.device.to_host
    ids, values = block.coo()
    return to_host(ids), to_host(values)


# ---- single elements --------------------------------------------------------------
def _place(block: VectorBlock, local: int) -> tuple[int, bool]:
    """Where a sparse block's list has an entry or would take it, and whether it has it."""
    if block.device.on_host:
        block.sort()
        at = int(np.searchsorted(block.indices, local))
        return at, at < block.nvals and bool(block.indices[at] == local)
    found = block.device.to_host(block.device.xp.flatnonzero(block.indices == local))
    return (int(found[0]), True) if found.size else (block.nvals, False)


def vector_get(block: VectorBlock, i: int):
    """The value at global id i (a NumPy scalar), or None."""
    if block.format == "full" and not block.iso and not block.partition.natural:  # one transfer
        return block.device.to_host(block.values[block.partition.to_local[i:i + 1]])[0]
    at = block.partition.local_of(i)
    if block.format == "sparse":
        at, found = _place(block, at)
        if not found:
            return None
    elif block.format == "bitmap" and not block.present[at]:
        return None
    return block.values[0] if block.iso else block.device.to_host(block.values[at:at + 1])[0]


def vector_set(block: VectorBlock, i: int, value) -> None:
    """Store a value at global id i."""
    if block.format == "sparse" and block.size > BITMAP_SIZE and not block.nvals and not block.device.on_host:
        _set_first(block, i, value)
        return
    local = block.partition.local_of(i)
    if block.format == "sparse" and block.size > BITMAP_SIZE and block.nvals * BITMAP_SHARE < block.size:
        at, found = _place(block, local)
        block.expand()
        if found:
            block.nonnegative = False
            block.device.put(block.values, at, value)
        else:
            block.set_sparse(_inserted(block, block.indices, at, local), _inserted(block, block.values, at, value),
                             sorted=block.device.on_host or not at)
        return
    block.writable_bitmap(full=True)
    block.device.put(block.values, local, value)
    if block.format == "bitmap" and not block.present[local]:
        block.present[local] = 1
        block.set_bitmap(block.present, block.values, block.nvals + 1, padding=block.padding)


def _set_first(block: VectorBlock, i: int, value) -> None:
    """Store the only value of a block on a GPU, without waiting to hear where it lies."""
    dtype = index_dtype(block.size)
    partition = block.partition
    # a piece of a layout subtracts, and makes an array only where it must
    listed = type(partition) is Partition and not partition.natural
    local = partition.to_local[i:i + 1].astype(dtype) if listed else np.array([partition.local_of(i)], dtype)
    put = block.device.to_device
    block.set_sparse(put(local), put(np.array([value]).astype(block.dtype)))


def _inserted(block, array, at, item):
    one = block.device.to_device(np.array([item]).astype(array.dtype))
    return block.device.xp.concatenate([array[:at], one, array[at:]])


def _without(block, array, at):
    return block.device.xp.concatenate([array[:at], array[at + 1:]])


def vector_remove(block: VectorBlock, i: int) -> None:
    """Delete the entry at global id i, if there is one."""
    local = block.partition.local_of(i)
    if block.format == "sparse":
        at, found = _place(block, local)
        if found:
            indices = _without(block, block.indices, at)
            values = block.values if block.iso else _without(block, block.values, at)
            block.set_sparse(indices, values, iso=block.iso, sorted=block.sorted)
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
    device = u.device
    xp = device.xp
    T = VectorBlock(index.size, u.dtype, device=device)
    if u.format == "sparse" and (u.size > vector_sparse.BITMAP_LIMIT or index.kind == "range"):
        ids, values = u.coo()
        where, found = _positions(ids, index, device)
        order = xp.argsort(where, kind="stable")
        T.set_sparse(where[order].astype(index_dtype(index.size)), values[found][order])
        return T
    u.to_bitmap()
    if u.partition.natural and index.kind == "range" and index.step > 0:
        local: Any = slice(index.start, index.start + index.step * index.size, index.step)
    else:
        local = u.partition.locals_of(index.to_array(device))
    values = u.values if u.iso else _taken(u.values, local)
    if u.format == "full":
        T.set_full(values, iso=u.iso)
    else:
        present = _taken(u.present, local)
        T.set_bitmap(present, values, int(xp.count_nonzero(present)), iso=u.iso)
    return T


def _taken(array, local):
    """A copy of some elements."""
    return array[local].copy() if type(local) is slice else array[local]


def _positions(ids, index: Index, device: Device):
    """For sorted `ids`: at which places of `index` they stand, and which of `ids` that are."""
    xp = device.xp
    if index.kind != "list":
        offset = ids - index.start
        place = offset // index.step
        found = xp.flatnonzero((offset % index.step == 0) & (place >= 0) & (place < index.size))
        return place[found], found
    wanted = index.to_array(device)
    lo, hi = xp.searchsorted(ids, wanted), xp.searchsorted(ids, wanted, "right")
    where = xp.flatnonzero(hi > lo)
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
    u = uniform(index.size, value, out.device) if scalar else value.copy()
    region = _extracted(out, index)
    write(region, mask if sub else None, accum, replace and sub, u)
    region.rehome(NATURAL)
    if sub or mask is None:
        _put_back(out, index, region)
    else:
        Z = out.copy()
        _put_back(Z, index, region)
        write(out, mask, None, replace, Z)


def _assign_scalar(out: VectorBlock, mask: Mask | None, accum, replace: bool, value) -> None:
    fresh = is_fresh(out, mask, accum, replace)
    if mask is not None and not mask.complement and (fresh or not replace):
        block = mask.block
        if block.format == "sparse" and (mask.structural or (block.iso and block.values[0])):
            _assign_listed(out, accum, fresh, value, block)
            return
    if mask is None and (fresh or out.size == 0):
        if out.size:
            out.set_full(cast_array(np.array([value]), out.dtype), iso=True)
        return
    if fresh and mask is not None and not mask.block.partition.natural:
        out.rehome(mask.block.partition)
    view = view_mask(mask, out.size, out.partition, copy=mask is not None and mask.block is out)
    dtype = value.dtype
    leaf = LeafNode(0, dtype, "f", True)
    write_chain(out, view, mask is None or not replace, accum, fresh, leaf, lambda: (leaf, lambda: leaf),
                [Everywhere(value)], dtype)


def _assign_listed(out, accum, fresh, value, listed: VectorBlock) -> None:
    """The mask is a list: its entries are all that changes."""
    if fresh:
        out.set_sparse(listed.indices.copy(), cast_array(np.array([value]), out.dtype), iso=listed.nvals > 0,
                       sorted=listed.sorted, partition=listed.partition)
        return
    if listed.partition is not out.partition:
        listed.rehome(out.partition) if listed.partition.natural else out.rehome(listed.partition)
    T = VectorBlock(out.size, value.dtype, out.partition, out.device)
    T.set_sparse(listed.indices, np.array([value]), iso=True, sorted=listed.sorted)
    if out.size > vector_sparse.BITMAP_LIMIT and out.format == "sparse":
        vector_sparse.write(out, Mask(T, False, True), accum, False, T)
        return
    scatter(out, NO_MASK, accum, T)


def _put_back(out: VectorBlock, index: Index, region: VectorBlock) -> None:
    """C(I) becomes the region: its entries stored, the others of I deleted."""
    device = out.device
    ids = index.to_array(device)
    if out.format == "sparse" and out.size > vector_sparse.BITMAP_LIMIT:
        _put_back_sparse(out, ids, region)
        return
    out.writable_bitmap()
    region.to_bitmap().expand()
    present, values = region.present, region.values
    last = last_named(ids, device) if index.kind == "list" else None
    if last is not None:
        ids, values = ids[last], values[last]
        present = None if present is None else present[last]
    local = out.partition.locals_of(ids)
    nvals = None
    if not device.on_host:  # what needs memory comes first: nothing is to be half done
        added = local.size if present is None else int(device.xp.count_nonzero(present))
        nvals = out.nvals + added - int(device.xp.count_nonzero(out.present[local]))
    out.present[local] = 1 if present is None else present
    out.values[local] = values  # where nothing is present, any value will do
    out.set_bitmap(out.present, out.values, int(np.count_nonzero(out.present)) if nvals is None else nvals)


def _put_back_sparse(out, ids, region):
    xp = out.device.xp
    old_ids, old_values = out.coo()
    where, values = region.coo()
    kept = ~xp.isin(old_ids, ids)
    joined = xp.concatenate([old_ids[kept], ids[where]])
    order = xp.argsort(joined, kind="stable")
    out.set_sparse(joined[order].astype(index_dtype(out.size)), xp.concatenate([old_values[kept], values])[order],
                   partition=NATURAL)
