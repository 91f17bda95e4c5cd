"""Matrix: a sparse matrix, the adjacency of a graph; and TransposedMatrix, its view A.T."""

from __future__ import annotations

from typing import Any

from semirings.dtypes import FP64, DataType, lookup_dtype
from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph import context, engine
from spgraph._base import CLASSES
from spgraph._convert import to_dtype, to_int, to_size
from spgraph._matrix_make import MatrixMake
from spgraph._matrix_ops import MatrixExpression, MatrixIndexExpr, MatrixLike
from spgraph._matrix_plans import Outer
from spgraph._matrix_write import MatrixWrite
from spgraph._recording import recorders, refuse
from spgraph._room import making
from spgraph._vector_ops import _PLAIN_MATRIX
from spgraph.block import MatrixBlock
from spgraph.exchange.matrix_parts import matrix_storage
from spgraph.expression import computed
from spgraph.indexing import to_permutation
from spgraph.mask import StructuralMask, ValueMask, to_mask

__all__ = ["Matrix", "MatrixExpression", "MatrixIndexExpr", "TransposedMatrix"]


class Matrix(MatrixWrite, MatrixMake, MatrixLike):
    """A sparse matrix.

    Parameters
    ----------
    dtype : DataType, NumPy dtype or str, default FP64
        Type of the values.
    nrows, ncols : int, default 0
        Shape.
    name : str, optional
        Shown by ``repr`` and in messages.

    Attributes
    ----------
    dtype : DataType
    report : object or None
        What the reader or generator that made the Matrix dropped, merged or added.
    labels : array or None
        The caller's own names of the vertices, where a reader mapped them to 0, 1, ...

    See Also
    --------
    Matrix.from_coo, Matrix.from_edgelist, Matrix.from_csr, Matrix.from_dense, Matrix.from_dicts

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.Matrix.from_coo([0, 0, 2], [1, 2, 0], [5, 6, 7], name="A")
    A  Matrix  INT64, 3 x 3, 3 entries, csr, natural order
       0  1  2
    0     5  6
    1
    2  7
    """

    __slots__ = ("__weakref__", "_block", "_name", "dtype", "labels", "report")

    dtype: DataType

    def __init__(self, dtype: Any = FP64, nrows: int = 0, ncols: int = 0, *, name: str | None = None):
        self.dtype = dtype = to_dtype(dtype, "Matrix(dtype, nrows, ncols)", "Matrix.from_coo, from_dense or from_dicts")
        nrows, ncols = to_size(nrows, "Matrix", "nrows"), to_size(ncols, "Matrix", "ncols")
        device = context.device()
        with making("Matrix", device):
            self._block = matrix_storage(nrows, ncols, dtype.np_type, device)
        self._name = name
        self.report = None
        self.labels = None

    @classmethod
    def _on(cls, device: context.Device, dtype: Any, nrows: int, ncols: int, name: str | None = None) -> Matrix:
        """An empty Matrix on a device."""
        with making("Matrix", device):
            return cls._wrap(matrix_storage(nrows, ncols, lookup_dtype(dtype).np_type, device), name)

    @classmethod
    def _wrap(cls, block: MatrixBlock, name: str | None = None) -> Matrix:
        """A Matrix that holds a block of the engine's."""
        self = object.__new__(cls)
        self.dtype = lookup_dtype(block.dtype)
        self._block = block
        self._name = name
        self.report = None
        self.labels = None
        return self

    @classmethod
    def _from_diagonal(cls, vector: Any, k: int, dtype: Any, name: str | None) -> Matrix:
        np_type = None if dtype is None else lookup_dtype(dtype).np_type
        with making("diag", vector._device):
            return cls._wrap(engine.matrix_diag(vector._block, to_int(k, "diag", "k"), np_type), name)

    @staticmethod
    def _outer(u: Any, v: Any, op: Any) -> MatrixExpression:
        return MatrixExpression(Outer(u, v, op), op.return_type, (u._size, v._size))

    # ---- the protocol of operands (see spgraph._base) -------------------------------
    def _eval(self) -> Matrix:
        return self

    def _run(self, out, mask, accum, replace):
        engine.matrix_apply(out, mask, accum, replace, self._block, False, None)

    def _formula(self, names) -> str:
        return names.of(self)

    @property
    def shape(self) -> tuple[int, int]:
        """``(nrows, ncols)``."""
        block = self._block
        return (block.nrows, block.ncols)

    @property
    def T(self) -> TransposedMatrix:
        """The transpose, as a view."""
        return TransposedMatrix(self)

    @property
    def S(self) -> StructuralMask:
        """Mask: where there is an entry."""
        return StructuralMask(self)

    @property
    def V(self) -> ValueMask:
        """Mask: where there is an entry that is not zero."""
        return ValueMask(self)

    # ---- whole-object operations --------------------------------------------------------
    def setdiag(self, values: Any, k: int = 0, *, mask: Any = None, accum: Any = None) -> None:
        """Set the k-th diagonal in place.

        Parameters
        ----------
        values : Vector, sequence or scalar
            A Vector's absent entries delete (without `accum`).
        k : int, default 0
            Above the main diagonal if positive, below if negative.
        mask : Mask, optional
            Over the diagonal (a Vector), or over the Matrix.
        accum : BinaryOp, Monoid or str, optional
            Combines old and new entries.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0], [1], [5], nrows=2, ncols=2)
        >>> A.setdiag(1)
        >>> A.to_dense(0)
        array([[1, 5],
               [0, 1]])
        """
        from spgraph._setdiag import set_diagonal

        set_diagonal(self, values, k, mask, accum)

    @property
    def name(self) -> str:
        """Name given by the caller, or ``"A"``."""
        return self._name or "A"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def order(self) -> str:
        """Order in which rows and columns are stored: "natural", "degree" or "listed"; results do not depend on it.

        In parts the partition's name stands for "natural"; rows and columns that differ have two names.
        """
        rows, cols = self._block.rows.name, self._block.cols.name
        return rows if rows == cols else f"{rows}, {cols}"

    @property
    def has_transpose(self) -> bool:
        """Whether the transpose is kept beside the Matrix (made when an operation first needs it)."""
        return self._block.has_transpose

    @property
    def symmetric(self) -> bool | None:
        """Whether the Matrix equals its transpose; None if that is not known."""
        return self._block.symmetric

    def reorder(self, order: Any) -> Matrix:
        """Store rows and columns in another order; nothing that can be asked of the Matrix changes.

        In parts each part keeps its vertices, in that order. Copies on other devices lie so, too; pickles do not.

        Parameters
        ----------
        order : {"natural", "degree"}, Vector or array of int
            "degree" puts vertices with many edges first, where they share cache lines: on power-law graphs, products
            are faster. Else all vertices, each once, in the order in which they shall lie, for instance
            `spgraph.algorithms.bfs_order`. Square matrices only.

        Returns
        -------
        Matrix
            Itself.

        Raises
        ------
        InvalidValue
            If `order` is another name, or lacks a vertex.
        IndexOutOfBound
            If it names one that does not exist.
        TypeError, DomainMismatch
            If it is no list, or not of integers.
        DimensionMismatch
            If the Matrix is not square.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1, 2], [2, 2, 0], 1)
        >>> A.reorder("degree").to_dicts() == A.reorder("natural").to_dicts()
        True
        >>> A.reorder([2, 0, 1]).order
        'listed'
        """
        if recorders:
            refuse("reorder", "do it before the loop, or after it")
        named, device = isinstance(order, str), self._block.device
        if named and order not in ("natural", "degree"):
            hint = ", as bfs_order(A) makes" if order == "bfs" else ""
            raise InvalidValue(f'reorder: order is {order!r}, but "natural", "degree" or a list of all vertices{hint} '
                               "was wanted")
        if self.nrows != self.ncols and not (named and order == "natural"):
            raise DimensionMismatch(f"reorder: the Matrix has shape {self.shape}, but a square one was wanted")
        with making("reorder", device):
            self._block.reorder(order if named else to_permutation(order, self.nrows, "reorder", device))
        return self

    def clear(self) -> None:
        """Remove all entries; the shape stays."""
        if recorders:
            refuse("clear", "write an empty object into it with <<")
        with making("clear", self._block.device):
            self._block.clear()

    def resize(self, nrows: int, ncols: int) -> None:
        """Change the shape; entries beyond it are dropped."""
        if recorders:
            refuse("resize", "resize before the loop")
        nrows, ncols = to_size(nrows, "resize", "nrows"), to_size(ncols, "resize", "ncols")
        with making("resize", self._block.device):
            engine.matrix_resize(self._block, nrows, ncols)
        if self.labels is not None:  # new vertices have no names
            n = max(nrows, ncols)
            self.labels = self.labels[:n] if n <= len(self.labels) else None

    def dup(self, dtype: Any = None, *, clear: bool = False, mask: Any = None, name: str | None = None) -> Matrix:
        """A copy of its own.

        Parameters
        ----------
        dtype : optional
            dtype of the copy; values are converted as the GraphBLAS specification says.
        clear : bool, default False
            Leave the copy empty.
        mask : Mask, optional
            Which entries to copy.
        name : str, optional
            Name of the copy.
        """
        if recorders and not clear:
            refuse("dup", "make the object before the loop, and write into it with <<")
        if clear or mask is not None or (dtype is not None and lookup_dtype(dtype) is not self.dtype):
            new = self._empty(self.dtype if dtype is None else dtype, self.shape, name)
            if not clear:
                new(mask=mask) << self
        else:
            with making("dup", self._block.device):
                new = Matrix._wrap(self._block.copy(), name)
        new.labels = self.labels
        return new

    def _moved(self, device: context.Device) -> Matrix:
        with making(f'to("{device.name}")', device):
            new = Matrix._wrap(self._block.to_device(device), self._name)
        new.labels, new.report = self.labels, self.report
        return new

    def __copy__(self) -> Matrix:
        return self.dup(name=self._name)

    def __deepcopy__(self, memo: Any) -> Matrix:
        return self.dup(name=self._name)

    def __reduce__(self):
        indptr, indices, values = self.to_csr()
        if self._block.iso and values.size:
            values = values[0]
        return _unpickle, (
            self.dtype.name,
            self.shape,
            indptr,
            indices,
            values,
            self._name,
            self.labels,
            self.report,
        )

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._block.nbytes

    def __repr__(self) -> str:
        from spgraph import display

        return display.matrix_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.matrix_html(self)


def _unpickle(dtype, shape, indptr, indices, values, name, labels, report):
    matrix = Matrix.from_csr(indptr, indices, values, dtype, ncols=shape[1], name=name)
    matrix.labels = labels
    matrix.report = report
    return matrix


class TransposedMatrix(MatrixLike):
    """``A.T``: a view of A with rows and columns exchanged. It can be read wherever a Matrix can."""

    __slots__ = ("__weakref__", "_block", "_matrix")

    _is_transposed = True

    def __init__(self, matrix: Matrix):
        self._matrix = matrix
        self._block = matrix._block

    @property
    def T(self) -> Matrix:
        """The Matrix itself."""
        return self._matrix

    @property
    def dtype(self) -> DataType:
        """dtype of the values."""
        return self._matrix.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """``(nrows, ncols)``."""
        block = self._block
        return (block.ncols, block.nrows)

    @property
    def name(self) -> str:
        """How it is written, such as ``A.T``."""
        return f"{self._matrix.name}.T"

    def _eval(self) -> TransposedMatrix:
        return self

    def _run(self, out, mask, accum, replace):
        engine.matrix_apply(out, mask, accum, replace, self._block, True, None)

    def _formula(self, names) -> str:
        return f"{self._matrix._formula(names)}.T"

    def _read_only(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("A.T is a view of the transpose and can't be written to; write to A")

    __call__ = __lshift__ = update = __setitem__ = __delitem__ = _read_only

    def new(self, dtype: Any = None, *, mask: Any = None, name: str | None = None) -> Matrix:
        """The transpose as a Matrix of its own."""
        return computed(self, dtype, None if mask is None else to_mask(mask, "new"), name)

    def dup(self, dtype: Any = None, *, clear: bool = False, mask: Any = None, name: str | None = None) -> Matrix:
        """The transpose as a Matrix of its own, or with `clear` an empty one of the same shape."""
        if clear:
            return self._empty(self.dtype if dtype is None else dtype, self.shape, name)
        return self.new(dtype, mask=mask, name=name)

    def _moved(self, device: context.Device) -> TransposedMatrix:
        return self._matrix._moved(device).T

    def __reduce__(self):
        return _transposed, (self._matrix,)

    def __repr__(self) -> str:
        from spgraph import display

        return display.matrix_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.matrix_html(self)


def _transposed(matrix: Matrix) -> TransposedMatrix:
    return matrix.T


CLASSES[2] = Matrix
_PLAIN_MATRIX.update((Matrix, TransposedMatrix))
