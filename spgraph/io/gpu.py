"""Arrays of other libraries in and out: CuPy, cupyx.scipy.sparse, and by DLPack PyTorch and others.

Memory is shared, not copied, where device, layout, dtype and index width allow, and a dtype never changes. Objects
are made on the context's device, as always: what lies elsewhere is copied there.
"""

from __future__ import annotations

from typing import Any

from semirings.exceptions import DeviceMismatch, DomainMismatch, InvalidValue
from spgraph import context
from spgraph._arrays import given_array
from spgraph._matrix_build import built, csr_block
from spgraph._room import making
from spgraph.io._build import finish
from spgraph.io._report import Report
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["from_cupy", "from_cupyx", "from_dlpack", "is_cupyx", "to_cupy", "to_cupyx"]

SPARSE_TYPES = ("BOOL", "FP32", "FP64")
INT32_MAX = 2**31 - 1


def is_cupyx(graph: Any) -> bool:
    """Whether it is one of CuPy's sparse matrices; CuPy is not imported for it."""
    return type(graph).__module__.startswith("cupyx.scipy.sparse") and hasattr(graph, "format")


# ---- sparse matrices --------------------------------------------------------------
def from_cupyx(sparse: Any, *, dup_op: Any = None, order: str | None = None) -> Matrix:
    """A Matrix from a sparse matrix or array of CuPy.

    Parameters
    ----------
    sparse : cupyx.scipy.sparse matrix or array
        The arrays of a CSR with sorted, distinct columns are shared, not copied, if the
        context's device is theirs: they must not be written to as long as the Matrix is in use.
    dup_op : BinaryOp, Monoid or str, optional
        Combines duplicate entries; without one they raise.
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.

    Returns
    -------
    Matrix
    """
    if not is_cupyx(sparse) or len(sparse.shape) != 2:
        kind = type(sparse).__name__
        raise DomainMismatch(f"from_cupyx: got {kind}, wanted a two-dimensional matrix or array of cupyx.scipy.sparse")
    if sparse.format not in ("csr", "csc", "coo"):
        sparse = sparse.tocoo()
    device = context.device()
    nrows, ncols = sparse.shape
    with making("from_cupyx", device):
        if sparse.format == "coo":
            given = int(sparse.data.size)
            rows, cols, values = (_taken(array, device) for array in (sparse.row, sparse.col, sparse.data))
        else:
            indptr = _taken(sparse.indptr, device)
            given = int(indptr[-1])  # there may be room behind
            indices, values = (_taken(array[:given], device) for array in (sparse.indices, sparse.data))
            if sparse.format == "csr" and dup_op is None:
                names = ("nrows", "ncols")
                block = csr_block(indptr, indices, values, None, nrows, ncols, "from_cupyx", names, device, copy=False)
                return finish(block, _report(block, given), None, order)
            lines = device.sort.row_numbers(indptr, given)
            rows, cols = (lines, indices) if sparse.format == "csr" else (indices, lines)
        block = built(nrows, ncols, rows, cols, values, None, dup_op, "from_cupyx", device)
        return finish(block, _report(block, given), None, order)


def _taken(array: Any, device: context.Device) -> Any:
    return given_array(array, device, "from_cupyx", "the arrays")


def _report(block: Any, given: int) -> Report:
    shape = (block.nrows, block.ncols)
    return Report("cupyx", shape, given, duplicates_merged=given - block.nvals, stored=block.nvals, verb="given")


def to_cupyx(matrix: Matrix, *, copy: bool = True) -> Any:
    """A ``cupyx.scipy.sparse.csr_matrix`` with the entries of a Matrix that is on a GPU, explicit zeros included.

    Parameters
    ----------
    matrix : Matrix
        BOOL, FP32 or FP64, which are the types that cupyx.scipy.sparse has.
    copy : bool, default True
        False shares the arrays where the Matrix has them in this layout (natural order, a
        value for each entry): they must not be written to then.

    Raises
    ------
    DomainMismatch
        For other dtypes.
    DeviceMismatch
        If the Matrix is on the CPU.
    InvalidValue
        If it has too many entries for the indices of this version of CuPy.
    """
    _check_on_gpu("to_cupyx", "the Matrix", matrix)
    if matrix.dtype.name not in SPARSE_TYPES:
        raise DomainMismatch(
            f"to_cupyx: the Matrix has dtype {matrix.dtype}, but cupyx.scipy.sparse holds only "
            f'{", ".join(SPARSE_TYPES)}: A.dup("FP64") converts'
        )
    import cupyx.scipy.sparse as sparse

    with making("to_cupyx", matrix._device):
        indptr, indices, values = matrix._csr()
        result = sparse.csr_matrix((values, indices, indptr), shape=matrix.shape, copy=copy)
    if result.indptr.dtype.itemsize < 8 and max(matrix.nvals, *matrix.shape) > INT32_MAX:
        raise InvalidValue(
            f"to_cupyx: {matrix.nvals:,} entries in {matrix.nrows:,} x {matrix.ncols:,} need 64-bit indices, which the "
            "sparse matrices of this version of CuPy do not have"
        )
    return result


# ---- dense arrays -----------------------------------------------------------------
def from_cupy(array: Any, missing_value: Any = None, *, copy: bool = True, name: str | None = None) -> Vector | Matrix:
    """A Vector from an array of one dimension, a Matrix from one of two; see `from_dlpack` for the arguments."""
    if not type(array).__module__.startswith("cupy"):
        raise DomainMismatch(f"from_cupy: got {type(array).__name__}, wanted an array of CuPy")
    return _from_array(array, missing_value, copy, name, "from_cupy")


def from_dlpack(
    array: Any, missing_value: Any = None, *, copy: bool = True, name: str | None = None
) -> Vector | Matrix:
    """A Vector from an array of one dimension, a Matrix from one of two.

    Parameters
    ----------
    array : object with ``__dlpack__``
        An array of NumPy, CuPy, PyTorch and others.
    missing_value : scalar, optional
        Values equal to it (NaN: those that are NaN) become absent.
    copy : bool, default True
        False lets a Vector use the array itself where it can; see `Vector.from_dense`.
    name : str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from_dlpack(np.array([5, 0, 7]), missing_value=0).to_dict()
    {0: 5, 2: 7}
    """
    if not hasattr(array, "__dlpack__"):
        raise DomainMismatch(f"from_dlpack: got {type(array).__name__}, wanted an array that has __dlpack__")
    return _from_array(array, missing_value, copy, name, "from_dlpack")


def _from_array(array, missing_value, copy, name, function):
    array = given_array(array, context.device(), function, "the array")
    if array is None or array.ndim not in (1, 2):
        dimensions = "no" if array is None else array.ndim
        raise DomainMismatch(f"{function}: the array has {dimensions} dimensions, but 1 or 2 were wanted")
    if array.ndim == 1:
        return Vector.from_dense(array, missing_value, name=name, copy=copy)
    return Matrix.from_dense(array, missing_value, name=name)


def to_cupy(vector: Vector, fill_value: Any = None, *, copy: bool = True) -> Any:
    """A CuPy array of all positions of a Vector that is on a GPU.

    Parameters
    ----------
    vector : Vector
    fill_value : scalar, optional
        What stands where there is no entry; needed unless all are there.
    copy : bool, default True
        False gives the Vector's own memory where it holds one value for each position: it must not be written to.

    Raises
    ------
    DeviceMismatch
        If the Vector is on the CPU.
    """
    _check_on_gpu("to_cupy", "the Vector", vector)
    operand = vector._eval()
    if fill_value is None and operand.nvals != operand.size:
        raise TypeError(f"to_cupy: {operand.size - operand.nvals} positions have no entry; give fill_value")
    array = operand._array("to_cupy", fill_value)
    return array.copy() if copy and array is operand._block.values else array


def _check_on_gpu(function: str, what: str, operand: Any) -> None:
    if operand._device.on_host:
        raise DeviceMismatch(f'{function}: {what} is on the CPU, and CuPy has arrays on GPUs only; write .to("cuda")')
