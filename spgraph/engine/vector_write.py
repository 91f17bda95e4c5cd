"""The masked write of a vector: C<M, replace> = accum(C, T)."""

from __future__ import annotations

import numpy as np

from semirings.expr import cast_array
from spgraph.block import VectorBlock
from spgraph.engine import vector_sparse
from spgraph.engine.mask import EMPTY_BITS, MASK_CONSTS, Mask, MaskView, view_mask
from spgraph.engine.operators import accumulate, store
from spgraph.kernels.cpu import scatter as scatter_kernels
from spgraph.kernels.cpu._specialise import get_kernel
from spgraph.kernels.cpu._threads import parallel_for, split_even
from spgraph.kernels.cpu.elementwise import LeafNode, chain_kernel

__all__ = ["accumulate", "differences", "scatter", "store", "write", "write_chain"]

NO_IDS = np.empty(0, np.int64)
_kernels: dict = {}


def write(out: VectorBlock, mask: Mask | None, accum, replace: bool, T: VectorBlock, *, shared: bool = False) -> None:
    """C<M, replace> = accum(C, T); `out` is C, and T's arrays may become C's unless they are `shared`.

    Cheapest way first: T taken over whole; T's list filtered by the mask;
    scattered into C where nothing else of C changes; else one pass over all
    positions.
    """
    if T.partition is not out.partition:
        if out.nvals == 0 or out.partition.natural:
            out.rehome(T.partition)
        else:
            T.rehome(out.partition)
    fresh = out.nvals == 0 or (accum is None and (mask is None or replace))
    if fresh and mask is None:
        _take(out, T, shared)
        return
    if vector_sparse.applies(out.size, out, T, mask and mask.block):
        vector_sparse.write(out, mask, accum, replace, T.copy() if shared else T)
        return
    view = view_mask(mask, out.size, out.partition, copy=mask is not None and mask.block is out and not fresh)
    if fresh and T.format == "sparse":
        _filter(out, view, T, shared)
    elif not fresh and accum is not None and (mask is None or not replace) and T.format == "sparse":
        scatter(out, view, accum, T)
    else:
        leaf = LeafNode(0, T.dtype, "f" if T.to_bitmap().format == "full" else "b", T.iso)
        write_chain(out, view, mask is None or not replace, accum, fresh, leaf, lambda: leaf, [T], T.dtype)


def _take(out: VectorBlock, T: VectorBlock, shared: bool) -> None:
    if shared:
        if T is out:
            return
        T = T.copy()
    values = cast_array(T.values, out.dtype)
    if T.format == "sparse":
        out.set_sparse(T.indices, values, iso=T.iso, sorted=T.sorted)
    else:
        out.set_bitmap(T.present, values, T.nvals, iso=T.iso)


def _filter(out: VectorBlock, view: MaskView, T: VectorBlock, shared: bool) -> None:
    if not view.code:
        _take(out, T, shared)
        return
    key = ("filter", view.code, view.values.dtype, T.dtype, T.iso, out.dtype)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = get_kernel(
            scatter_kernels.masked_list, {**MASK_CONSTS[view.code], "T_ISO": T.iso, "ISO_OUT": T.iso},
            {"STORE": store(T.dtype, out.dtype)})
    indices = np.empty(T.nvals, T.indices.dtype)
    values = cast_array(T.values, out.dtype) if T.iso else np.empty(T.nvals, out.dtype)
    count = kernel(T.nvals, T.indices, T.values, view.present, view.values, indices, values)
    out.set_sparse(indices[:count], values if T.iso else values[:count], iso=T.iso and count > 0, sorted=T.sorted)


def scatter(out: VectorBlock, view: MaskView, accum, T: VectorBlock) -> None:
    """Entries of the list T that the mask allows go into C; the rest of C stays."""
    out.writable_bitmap(full=True)
    full = out.format == "full"
    key = ("scatter", view.code, view.values.dtype, T.dtype, T.iso, out.dtype, full, accum and accum.key)
    kernel = _kernels.get(key)
    if kernel is None:
        ops = {"STORE": store(T.dtype, out.dtype)}
        if accum is not None:
            ops["ACC"] = accumulate(accum, out.dtype, T.dtype)
        consts = {**MASK_CONSTS[view.code], "T_ISO": T.iso, "ACCUM": accum is not None, "C_FULL": full}
        kernel = _kernels[key] = get_kernel(scatter_kernels.scatter, consts, ops)
    present = EMPTY_BITS if full else out.present
    added = kernel(T.nvals, T.indices, T.values, view.present, view.values, present, out.values)
    if added:
        out.set_bitmap(out.present, out.values, out.nvals + added)


def write_chain(out: VectorBlock, view: MaskView, keep: bool, accum, fresh: bool, signature, make_tree, leaves: list,
                dtype, positional: bool = False) -> None:
    """One pass over all positions: tree, mask, accumulator and write.

    `keep` = not (mask and replace); `signature` identifies the tree that
    `make_tree` prints; `leaves` are bitmaps or full.
    """
    full_tree = all(leaf.format == "full" for leaf in leaves)
    full = out.nvals == out.size and not fresh and accum is not None and keep
    full = full or (fresh and full_tree and not view.code)
    if fresh:
        present = EMPTY_BITS if full else np.empty(out.size, np.uint8)
        values = np.empty(out.size, out.dtype)
    else:
        out.writable_bitmap(full=full)
        present, values = EMPTY_BITS if full else out.present, out.values
    natural = out.partition.natural or not positional
    key = ("chain", signature, view.code, view.values.dtype, keep, accum and accum.key, fresh, full, out.dtype, natural)
    kernel = _kernels.get(key)
    if kernel is None:
        consts = {**MASK_CONSTS[view.code], "REPLACE": not keep, "ACCUM": accum is not None, "FRESH": fresh,
                  "C_FULL": full, "GLOBAL": not natural}
        ops = {} if accum is None else {"ACC": accumulate(accum, out.dtype, dtype)}
        kernel = _kernels[key] = chain_kernel("write", make_tree(), len(leaves), out.dtype, consts, ops)
    args = [NO_IDS if natural else out.partition.to_global, view.present, view.values, present, values]
    for leaf in leaves:
        args += [EMPTY_BITS if leaf.present is None else leaf.present, leaf.values]
    work = out.size * (1 + len(leaves))
    counts = parallel_for(kernel, split_even(out.size, work), work, tuple(args))
    out.set_bitmap(present, values, sum(counts))


def differences(before: VectorBlock, after: VectorBlock) -> VectorBlock:
    """The entries of `after` that `before` lacks or has with another value."""
    before.rehome(after.partition)
    old, new = before.copy().to_bitmap().expand(), after.copy().to_bitmap().expand()
    had = np.ones(old.size, np.uint8) if old.present is None else old.present
    has = np.ones(new.size, np.uint8) if new.present is None else new.present
    differ = (old.values != new.values) & ((old.values == old.values) | (new.values == new.values))  # NaN is NaN
    bits = ((has != 0) & ((had == 0) | differ)).view(np.uint8)
    result = VectorBlock(after.size, after.dtype, after.partition)
    result.set_bitmap(bits, new.values, int(np.count_nonzero(bits)))
    return result
