"""What matrix operations share: binding operators, aligning operands, making results.

The arrays of a matrix block are never written once they are in it: results may share
them with operands, and nothing has to be copied to be safe. Operands and result of an
operation are on one device.
"""

from __future__ import annotations

import numpy as np

from semirings import expr as ex
from spgraph.block import MatrixBlock
from spgraph.kernels.cpu._pieces import NOTHING
from spgraph.kernels.device import HOST, Device
from spgraph.partition import NATURAL, Partition

__all__ = [
    "align_matrices",
    "all_equal",
    "bind",
    "constant",
    "global_ids",
    "home",
    "kernel_for",
    "make_block",
    "natural",
    "pair_rooms",
    "value_dtype",
]

INT64 = np.dtype(np.int64)
_bound: dict = {}


def kernel_for(device: Device, name: str, key: tuple, make):
    """The device's kernel "file.function" for a hashable `key`; make() gives (consts, ops) when it is new."""
    kernel = device.kernels.get((name, key))
    if kernel is None:
        kernel = device.kernels[name, key] = device.kernel(name, *make())
    return kernel


def bind(expr, dtypes: dict, out_dtype, names: dict | None = None):
    """An operator's tree over stored values of `dtypes`, cast to `out_dtype`.

    `names` renames inputs (the kernel's names for index symbols, or which operand is x).
    """
    names = names or {}
    key = (expr, tuple(dtypes.items()), out_dtype, tuple(names.items()))
    bound = _bound.get(key)
    if bound is None:
        values = {}
        for name in ex.inputs(expr):
            new = names.get(name, name)
            values[name] = ex.Input(new, dtypes.get(new, INT64))
        bound = _bound[key] = ex.cast(ex.substitute(expr, values), out_dtype)
    return bound


def constant(expr, values: dict):
    """The value of a tree all of whose inputs are known, else None."""
    if ex.inputs(expr) <= values.keys():
        return expr.dtype.type(ex.evaluate(expr, values))
    return None


def iso_values(**blocks: MatrixBlock) -> dict:
    """Values of those of the blocks that are iso."""
    return {name: block.values[0] for name, block in blocks.items() if block.iso}


def all_equal(values) -> bool:
    """Whether there are values and all have the same bits as the first (so that one can stand for all)."""
    if not values.size:
        return False
    bits = values.view(f"u{values.itemsize}") if values.flags.c_contiguous else values
    return bool(bits[-1] == bits[0] and (bits[:64] == bits[0]).all() and (bits == bits[0]).all())


def same(*values) -> bool:
    """Whether NumPy scalars (or None, which equals nothing) have the same bits."""
    return all(value is not None for value in values) and all_equal(np.array(values))


def value_dtype(out: MatrixBlock, accum, dtype) -> np.dtype:
    """dtype in which T is made: C's own unless an accumulator has to see the operator's type."""
    return out.dtype if accum is None else np.dtype(dtype)


# ---- order ----------------------------------------------------------------------
def home(
    block: MatrixBlock, rows: Partition, cols: Partition, pinned=(), transposed: bool = False
) -> MatrixBlock:
    """`block` in the given partitions: rewritten in place, or a copy if it is among `pinned`."""
    if transposed:
        rows, cols = cols, rows
    if block.rows is rows and block.cols is cols:
        return block
    if any(block is other for other in pinned):
        block = shallow(block)
    return block.rehome(rows, cols)


def shallow(block: MatrixBlock) -> MatrixBlock:
    """Another block with the same arrays."""
    new = MatrixBlock.__new__(MatrixBlock)
    new.assume(block)
    new._transpose = None
    return new


def natural(block: MatrixBlock, transposed: bool = False) -> MatrixBlock:
    """`block` (or its transpose) in natural order; a copy if it is in another."""
    if not (block.rows.natural and block.cols.natural):
        block = shallow(block).rehome(NATURAL, NATURAL)
    return block.oriented(transposed)


def align_matrices(A: MatrixBlock, B: MatrixBlock, a_t: bool = False, b_t: bool = False, pinned=()) -> tuple:
    """A (or A^T) and B (or B^T), of one shape, in the same partitions.

    What is natural moves into the order of the other, in place where it is safe.
    """
    a_rows, a_cols = (A.cols, A.rows) if a_t else (A.rows, A.cols)
    b_rows, b_cols = (B.cols, B.rows) if b_t else (B.rows, B.cols)
    rows = b_rows if a_rows.natural else a_rows
    cols = b_cols if a_cols.natural else a_cols
    left = home(A, rows, cols, (B, *pinned), a_t)
    right = home(B, rows, cols, (A, *pinned), b_t)
    return left.oriented(a_t), right.oriented(b_t)


def global_ids(device: Device, positional: bool, *partitions) -> tuple | None:
    """Global ids for each (partition, size), or None where local numbers are global ids or nobody asks."""
    if not positional or all(partition.natural for partition, _ in partitions):
        return None
    return tuple(
        device.xp.arange(size) if partition.natural else partition.to_global for partition, size in partitions
    )


NO_IDS = (NOTHING, NOTHING, NOTHING)


# ---- results --------------------------------------------------------------------
def pair_rooms(A: MatrixBlock, B: MatrixBlock):
    """For `produce_rows`: running sum of the entries of each row of A and B.

    A device that counts first has no use for bounds, only for how many rows there are.
    """
    return A.indptr.astype(np.int64) + B.indptr if A.device.on_host else A.indptr


def make_block(
    nrows: int,
    ncols: int,
    dtype,
    csr: tuple,
    iso=None,
    rows=NATURAL,
    cols=NATURAL,
    *,
    device: Device = HOST,
) -> MatrixBlock:
    """A block of (indptr, indices, values) of the device; values None means that all are `iso`, a NumPy scalar."""
    indptr, indices, values = csr
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = device, nrows, ncols, np.dtype(dtype)
    single = values is None and indices.size > 0
    if values is None:
        values = np.array([iso], block.dtype) if single else device.xp.empty(0, block.dtype)
    block.set_csr(indptr, indices, values, iso=single, rows=rows, cols=cols)
    return block
