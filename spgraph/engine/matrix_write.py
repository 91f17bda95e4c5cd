"""The masked write of a matrix: C<M, replace> = accum(C, T), one row-wise merge."""

from __future__ import annotations

from typing import Any, NamedTuple

from semirings.expr import cast_array
from spgraph.block import MatrixBlock
from spgraph.engine.mask import MASK_CONSTS, Mask
from spgraph.engine.matrix_common import constant, home, kernel_for, pair_rooms, same
from spgraph.engine.operators import accumulate, cast_values, store
from spgraph.kernels.cpu._pieces import NOTHING
from spgraph.partition import Partition

__all__ = ["MatrixMask", "Region", "fresh", "view_mask", "write"]


class MatrixMask(NamedTuple):
    """A mask as kernels see it; `code` is a key of `engine.mask.MASK_CONSTS`, "" for no mask."""

    code: str
    indptr: Any
    indices: Any
    values: Any

    @property
    def args(self) -> tuple:
        """What a kernel takes."""
        return self[1:]


class Region(NamedTuple):
    """Rows and columns (flags, uint8) that an assignment addresses; see `kernels.cpu.merge.write_rows`."""

    kind: str  # "assign" or "sub"
    rows: Any
    cols: Any


NO_MASK = MatrixMask("", NOTHING, NOTHING, NOTHING)


def view_mask(mask: Mask | None, rows: Partition, cols: Partition, pinned=()) -> MatrixMask:
    """A matrix mask in the given partitions; value masks that are iso become structural."""
    if mask is None:
        return NO_MASK
    block = home(mask.block, rows, cols, pinned)
    structural, indptr, indices = mask.structural, block.indptr, block.indices
    if not structural and block.iso:
        structural = True
        if not block.values[0]:
            indptr, indices = block.device.xp.zeros_like(indptr), indices[:0]
    everything = indices.size == 0 and mask.complement
    if everything:
        return NO_MASK
    code = ("s" if structural else "v") + ("c" if mask.complement else "")
    return MatrixMask(code, indptr, indices, NOTHING if structural else block.values)


def fresh(out: MatrixBlock, mask: Mask | None, accum, replace: bool) -> bool:
    """Whether nothing of C's old content can stay."""
    return out.nvals == 0 or (accum is None and (mask is None or replace))


def write(
    out: MatrixBlock,
    mask: Mask | None,
    accum,
    replace: bool,
    T: MatrixBlock,
    *,
    masked: bool = False,
    region: Region | None = None,
) -> None:
    """C<M, replace> = accum(C, T); `out` is C.

    Parameters
    ----------
    T : MatrixBlock
        The caller's own block (its arrays may be another's).
    masked : bool
        T has no entries outside the mask.
    region : Region, optional
        T is assigned to a region of C, in natural order.
    """
    afresh = fresh(out, mask, accum, replace) and (region is None or out.nvals == 0)
    if not afresh and (out.rows is not T.rows or out.cols is not T.cols):
        if out.rows.natural and out.cols.natural:
            out.rehome(T.rows, T.cols)
        else:
            T.rehome(out.rows, out.cols)
    if afresh and (mask is None or masked):
        _take(out, T)
        return
    view = view_mask(mask, T.rows, T.cols, (out,))
    if afresh and not view.code:
        _take(out, T)
    elif afresh:
        _filter(out, view, T)
    else:
        _merge(out, view, accum, replace, T, region)


def _take(out: MatrixBlock, T: MatrixBlock) -> None:
    out.set_csr(
        T.indptr,
        T.indices,
        cast_values(T.device, T.values, out.dtype),
        iso=T.iso,
        symmetric=T.symmetric if T.dtype == out.dtype else T.symmetric or None,
        rows=T.rows,
        cols=T.cols,
    )


def _filter(out: MatrixBlock, view: MatrixMask, T: MatrixBlock) -> None:
    kernel = kernel_for(
        T.device,
        "merge.mask_rows",
        (view.code, T.iso, T.dtype, out.dtype),
        lambda: ({**MASK_CONSTS[view.code], "VALUES": not T.iso}, {"STORE": store(T.dtype, out.dtype)}),
    )
    work = T.nvals + view.indices.size + T.nrows
    args = (T.indptr, T.indices, T.values, *view.args)
    csr = T.device.produce_rows(kernel, work, args, T.indptr, T.indices.dtype, None if T.iso else out.dtype)
    put(out, csr, cast_array(T.values, out.dtype) if T.iso else None, T.rows, T.cols)


def put(out: MatrixBlock, csr: tuple, iso, rows: Partition, cols: Partition) -> None:
    """Store (indptr, indices, values) in `out`; values None: all are those of the NumPy array `iso`."""
    indptr, indices, values = csr
    single = values is None and indices.size > 0
    if values is None:
        values = iso if single else out.device.xp.empty(0, out.dtype)
    out.set_csr(indptr, indices, values, iso=single, rows=rows, cols=cols)


def _merge(
    out: MatrixBlock, view: MatrixMask, accum, replace: bool, T: MatrixBlock, region: Region | None
) -> None:
    acc = None if accum is None else accumulate(accum, out.dtype, T.dtype)
    single = _stays_iso(out, T, acc)
    kind = "" if region is None else region.kind
    key = (out.dtype, T.dtype, out.iso, T.iso, single, view.code, bool(replace), accum and accum.key, kind)

    def make():
        consts = {
            **MASK_CONSTS[view.code],
            "C_ISO": out.iso,
            "T_ISO": T.iso,
            "VALUES": not single,
            "REPLACE": bool(replace) and bool(view.code),
            "ACCUM": accum is not None,
            "ASSIGN": kind == "assign",
            "SUB": kind == "sub",
        }
        ops = {"STORE": store(T.dtype, out.dtype)}
        return consts, ops if acc is None else {**ops, "ACC": acc}

    kernel = kernel_for(out.device, "merge.write_rows", key, make)
    work = out.nvals + T.nvals + view.indices.size + out.nrows
    flags = (NOTHING, NOTHING) if region is None else (region.rows, region.cols)
    args = (out.indptr, out.indices, out.values, T.indptr, T.indices, T.values, *view.args, *flags)
    rooms = pair_rooms(out, T)
    csr = out.device.produce_rows(kernel, work, args, rooms, out.indices.dtype, None if single else out.dtype)
    put(out, csr, out.values, out.rows, out.cols)


def _stays_iso(out: MatrixBlock, T: MatrixBlock, acc) -> bool:
    """Whether C, which has entries, keeps one value for all of them."""
    if not out.iso or not (T.iso or T.nvals == 0):
        return False
    if T.nvals == 0:
        return True
    old, new = out.values[0], cast_array(T.values, out.dtype)[0]
    if acc is None:
        return same(old, new)
    return same(old, new, constant(acc[0], {"c": old, "t": T.values[0]}))
