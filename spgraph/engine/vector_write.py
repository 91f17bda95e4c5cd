"""The masked write of a vector: C<M, replace> = accum(C, T)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine import vector_sparse
from spgraph.engine.mask import EMPTY_BITS, MASK_CONSTS, Mask, MaskView, view_mask
from spgraph.engine.operators import accumulate, cast_values, is_fresh, store
from spgraph.kernels.trees import LeafNode

__all__ = ["chain_of", "differences", "scatter", "take_list", "write", "write_chain"]

NO_IDS = np.empty(0, np.int64)
KEPT = 4096  # kernels by operators and storage: a program that makes operators without end must not fill the memory


def write(out: VectorBlock, mask: Mask | None, accum, replace: bool, T: VectorBlock, *, shared: bool = False) -> None:
    """C<M, replace> = accum(C, T); `out` is C, and T's arrays may become C's unless they are `shared`.

    Cheapest way first: T taken over whole; T's list filtered by the mask;
    scattered into C where nothing else of C changes; else one pass over all
    positions.
    """
    if T.partition is not out.partition:
        if out.partition.natural or out.nvals == 0:
            out.rehome(T.partition)
        else:
            T.rehome(out.partition)
    fresh = is_fresh(out, mask, accum, replace)
    if fresh and mask is None:
        _take(out, T, shared)
        return
    if vector_sparse.applies(out, T, mask and mask.block):
        vector_sparse.write(out, mask, accum, replace, T.copy() if shared else T)
        return
    view = view_mask(mask, out.size, out.partition, copy=mask is not None and mask.block is out and not fresh)
    if fresh and T.format == "sparse":
        _filter(out, view, T, shared)
    elif not fresh and accum is not None and (mask is None or not replace) and T.format == "sparse":
        scatter(out, view, accum, T)
    else:
        leaf = LeafNode(0, T.dtype, "f" if T.to_bitmap().format == "full" else "b", T.iso)
        write_chain(out, view, mask is None or not replace, accum, fresh, leaf, lambda: (leaf, lambda: leaf), [T],
                    T.dtype)


def _take(out: VectorBlock, T: VectorBlock, shared: bool) -> None:
    if shared and T is out:
        return
    if shared and _copied_in_place(out, T):
        return
    values = cast_values(out.device, T.values, out.dtype)
    indices, present = T.indices, T.present
    if shared:
        values = values.copy() if values is T.values else values
        indices, present = (None if array is None else array.copy() for array in (indices, present))
    if T.format == "sparse":
        out.set_sparse(indices, values, iso=T.iso, sorted=T.sorted)
    else:
        out.set_bitmap(present, values, T.nvals, iso=T.iso)
        out.downward = T.downward and out.dtype == T.dtype


def _copied_in_place(out: VectorBlock, T: VectorBlock) -> bool:
    """A full vector that another one's values fit takes them on a GPU where its own are: no memory is asked for."""
    if (out.device.on_host or type(out) is not VectorBlock or out.format != "full" or out.iso or T.format != "full"
            or T.iso or out.dtype != T.dtype or out.values is T.values):
        return False
    device: Any = out.device
    device.copy_into(out.values, 0, T.values)
    out.set_full(out.values)  # nothing is known of its values: somebody else may have been given their array
    return True


def _filter(out: VectorBlock, view: MaskView, T: VectorBlock, shared: bool) -> None:
    if not view.code:
        _take(out, T, shared)
        return
    device = out.device
    key = ("scatter.masked_list", view.code, view.values.dtype, T.dtype, T.iso, out.dtype)
    kernel = device.kernels.get(key)
    if kernel is None:
        kernel = device.kernels[key] = device.kernel(
            "scatter.masked_list", {**MASK_CONSTS[view.code], "T_ISO": T.iso, "ISO_OUT": T.iso},
            {"STORE": store(T.dtype, out.dtype)})
    xp = device.xp
    indices = xp.empty(T.nvals, index_dtype(out.size))
    values = cast_values(device, T.values, out.dtype) if T.iso else xp.empty(T.nvals, out.dtype)
    args = (T.indices, T.values, view.present, view.values)
    take_list(out, kernel, T.nvals, args, indices, values, iso=T.iso, sorted=T.sorted)


def take_list(out: VectorBlock, kernel, count: int, args: tuple, indices, values, more=(), *, sorted: bool,
              iso: bool = False, partition=None, kept: bool = False) -> None:
    """Run a kernel that lists what it keeps of items 0..count, and make the list the content of `out`.

    The kernel writes into `indices` and `values` (which are the one value if `iso`): a part of the items from
    the place of its first one on, in order on the CPU. They stay somebody else's if `kept`. A GPU is not waited for.
    """
    device = out.device
    args = (*args, indices, EMPTY_BITS if iso else values, *more)
    if device.on_host:
        counts = device.over(kernel, count, count, args)
        if len(counts) > 1:
            starts = [count * part // len(counts) for part in range(len(counts))]
            pieces = [slice(start, start + found) for start, found in zip(starts, counts)]
            indices = np.concatenate([indices[piece] for piece in pieces])
            values = values if iso else np.concatenate([values[piece] for piece in pieces])
        else:
            indices, values = indices[:counts[0]], values if iso else values[:counts[0]]
            if kept:
                indices, values = indices.copy(), values.copy()
        out.set_sparse(indices, values, iso=iso, sorted=sorted, partition=partition)
        return
    later = device.over_later(kernel, count, count, args)

    def resolve(block):
        found, = later.get()
        block.set_sparse(indices[:found], values if iso else values[:found], iso=iso, sorted=found < 2)

    out.set_pending(resolve, partition=partition)


def scatter(out: VectorBlock, view: MaskView, accum, T: VectorBlock) -> None:
    """Entries of the list T that the mask allows go into C; the rest of C stays."""
    out.writable_bitmap(full=True)
    device, full = out.device, out.format == "full"
    key = ("scatter.scatter", view.code, view.values.dtype, T.dtype, T.iso, out.dtype, full, accum and accum.key)
    kernel = device.kernels.get(key)
    if kernel is None:
        ops = {"STORE": store(T.dtype, out.dtype)}
        if accum is not None:
            ops["ACC"] = accumulate(accum, out.dtype, T.dtype)
        consts = {**MASK_CONSTS[view.code], "T_ISO": T.iso, "ACCUM": accum is not None, "C_FULL": full}
        kernel = device.kernels[key] = device.kernel("scatter.scatter", consts, ops)
    present = EMPTY_BITS if full else out.present
    args = (T.indices, T.values, view.present, view.values, present, out.values)
    if device.on_host:
        added = sum(device.over(kernel, T.nvals, T.nvals, args))
        if added:
            out.set_bitmap(present, out.values, out.nvals + added)
        return
    later = device.over_later(kernel, T.nvals, T.nvals, args)
    if not full:
        before = out.nvals
        out.set_bitmap_later(present, out.values, lambda: before + later.get()[0], least=before,
                             most=min(before + T.nvals, out.size), padding=out.padding)


def chain_of(device, key: tuple, signature: tuple, make: Callable[[], Any]) -> Any:
    """The kernel of a tree that `device.chains` does not have under `key`: by its signature, or made. It is kept."""
    kernel = device.kernels.get(signature)
    if kernel is None:
        kernel = device.kernels[signature] = make()
    if len(device.chains) >= KEPT:
        device.chains.clear()
    device.chains[key] = kernel
    return kernel


def write_chain(out: VectorBlock, view: MaskView, keep: bool, accum, fresh: bool, key, describe: Callable[[], tuple],
                leaves: list, dtype, positional: bool = False) -> None:
    """One pass over all positions: tree, mask, accumulator and write.

    `keep` = not (mask and replace); `key` tells the tree and how its leaves are stored from others, cheaply;
    ``describe()`` gives its signature and a function that makes the tree to be printed; `leaves` are bitmaps or full.
    """
    device = out.device
    stays = not fresh and accum is not None and keep  # C loses no entry
    if stays:
        full = out.to_bitmap().format == "full"
    else:
        full = fresh and not view.code
        if full:
            for leaf in leaves:
                if leaf.format != "full":
                    full = False
                    break
    natural = not positional or out.partition.natural
    key = ("write", key, view.code, view.values.dtype, keep, accum, fresh, full, out.dtype, natural)
    kernel = device.chains.get(key)
    if kernel is None:
        signature, make_tree = describe()

        def make():
            consts = {**MASK_CONSTS[view.code], "REPLACE": not keep, "ACCUM": accum is not None, "FRESH": fresh,
                      "C_FULL": full, "GLOBAL": not natural}
            ops = {} if accum is None else {"ACC": accumulate(accum, out.dtype, dtype)}
            return device.chain("write", make_tree(), len(leaves), out.dtype, consts, ops)

        kernel = chain_of(device, key, ("chain.write", signature, view.code, view.values.dtype, keep,
                                        accum and accum.key, fresh, full, out.dtype, natural), make)
    if fresh:
        present = EMPTY_BITS if full else device.xp.empty(out.size, np.uint8)
        values = device.xp.empty(out.size, out.dtype)
    else:
        out.writable_bitmap(full=full)
        present, values = EMPTY_BITS if full else out.present, out.values
    args = [NO_IDS if natural else out.partition.to_global, view.present, view.values, present, values]
    for leaf in leaves:
        args += [EMPTY_BITS if leaf.present is None else leaf.present, leaf.values]
    later = device.over_later(kernel, out.size, out.size * (1 + len(leaves)), tuple(args))
    if full:
        out.set_full(values)
    elif device.on_host:
        out.set_bitmap(present, values, sum(later.get()))
    else:
        out.set_bitmap_later(present, values, lambda: later.get()[0], padding=out.padding if stays else None)


def differences(before: VectorBlock, after: VectorBlock) -> VectorBlock:
    """The entries of `after` that `before` lacks or has with another value."""
    xp = after.device.xp
    before.rehome(after.partition)
    old, new = before.copy().to_bitmap().expand(), after.copy().to_bitmap().expand()
    had = xp.ones(old.size, np.uint8) if old.present is None else old.present
    has = xp.ones(new.size, np.uint8) if new.present is None else new.present
    differ = (old.values != new.values) & ((old.values == old.values) | (new.values == new.values))  # NaN is NaN
    bits = ((has != 0) & ((had == 0) | differ)).view(np.uint8)
    result = VectorBlock(after.size, after.dtype, after.partition, after.device)
    result.set_bitmap(bits, new.values, int(xp.count_nonzero(bits)))
    return result
