"""Matrix: a sparse matrix, the adjacency of a graph; and TransposedMatrix, its view A.T."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.dtypes import FP64, DataType, lookup_dtype
from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph import engine
from spgraph._base import CLASSES, EMPTY, RANK
from spgraph._convert import describe, is_number, to_int, to_size
from spgraph._matrix_make import MatrixMake
from spgraph._matrix_ops import MatrixExpression, MatrixIndexExpr, MatrixLike
from spgraph._matrix_plans import Outer
from spgraph._output import Output, mask_mismatch
from spgraph._vector_ops import _PLAIN_MATRIX, input_mask_of
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.indexing import all_of, single
from spgraph.mask import StructuralMask, ValueMask
from spgraph.vector import listed, scalar_for

__all__ = ["Matrix", "MatrixExpression", "MatrixIndexExpr", "TransposedMatrix"]


class Matrix(Output, MatrixMake, MatrixLike):
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
    A  Matrix  nvals 3  shape 3 x 3  INT64  csr
       0  1  2
    0     5  6
    1
    2  7
    """

    __slots__ = ("__weakref__", "_block", "_name", "dtype", "labels", "report")

    dtype: DataType

    def __init__(self, dtype: Any = FP64, nrows: int = 0, ncols: int = 0, *, name: str | None = None):
        self.dtype = dtype = lookup_dtype(dtype)
        nrows, ncols = to_size(nrows, "Matrix", "nrows"), to_size(ncols, "Matrix", "ncols")
        self._block = MatrixBlock(nrows, ncols, dtype.np_type)
        self._name = name
        self.report = None
        self.labels = None

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

    # ---- writing ----------------------------------------------------------------------
    def _update(self, value, mask=None, accum=None, replace=False, changed=None, input_mask=None) -> None:
        rank = RANK.get(type(value))
        if changed is not None:
            raise TypeError("changed: it goes with vectors, as in w(accum, changed=c) << u.vxm(A)")
        if input_mask is not None:
            if not isinstance(value, MatrixIndexExpr):
                raise TypeError("input_mask: it goes with an extraction, as in C(input_mask=m) << A[I, J]")
            mask = input_mask_of(value._parent, value._index, input_mask, mask)
        shape = self.shape
        if rank != 2:
            if rank == 1 or (rank is None and not is_number(value)):
                raise TypeError(
                    f"<<: the right side is {describe(value)}, but a Matrix, an expression or a number was wanted"
                )
            self._assign(tuple(map(all_of, shape)), value, mask, accum, replace, False)
            return
        if value.shape != shape:
            raise DimensionMismatch(f"<<: the output has shape {shape}, but the result has shape {value.shape}")
        if mask is not None:
            mask = self._whole_mask(mask)
        value._run(self._block, mask, accum, replace)

    def _assign(self, index, value, mask, accum, replace, sub) -> None:
        block = self._block
        i, j = index
        part = tuple(axis.size for axis in index if not isinstance(axis, int))
        line_mask = False
        if mask is not None:
            line_mask = mask.ndim == 1
            self._check_mask(mask, index, part, sub)
            mask = mask._engine()
        value = self._assigned(part, value, accum)
        if not part and mask is None and (accum is None or value is None):
            if value is not None:
                engine.matrix_set(block, i, j, value)
            elif accum is None:
                engine.matrix_remove(block, i, j)
            return
        if len(part) == 1 and (line_mask or isinstance(value, VectorBlock)):
            row = isinstance(i, int)
            self._assign_line(index, value, mask, line_mask, accum, replace, sub, row)
            return
        i, j = (single(axis) if isinstance(axis, int) else axis for axis in index)
        if value is None:
            value = MatrixBlock(i.size, j.size, block.dtype)
        if isinstance(value, MatrixBlock):
            value = (value, False)
        engine.matrix_assign(block, mask, accum, replace, value, i, j, sub=sub)

    def _assign_line(self, index, value, mask, line_mask, accum, replace, sub, row) -> None:
        """``C[i, J] << v`` or ``C[I, j] << v``, with a mask over the line, or one over the whole of C."""
        block = self._block
        line, along = index if row else index[::-1]
        if not isinstance(value, VectorBlock):
            u = VectorBlock(along.size, block.dtype if value is None else value.dtype)
            if value is not None and along.size:
                u.set_full(np.array([value]), iso=True)
            value = u
        if mask is None or line_mask:
            engine.matrix_assign_line(block, mask, accum, replace, value, along, line, row=row, sub=sub)
            return
        ids, values = engine.vector_coo(value)
        zeros = np.zeros(ids.size, np.int64)
        shape, pair = ((1, value.size), (zeros, ids)) if row else ((value.size, 1), (ids, zeros))
        upcast = engine.build_matrix(*shape, *pair, values, value.dtype)
        i, j = (single(axis) if isinstance(axis, int) else axis for axis in index)
        engine.matrix_assign(block, mask, accum, replace, (upcast, False), i, j, sub=sub)

    def _check_mask(self, mask, index, part, sub) -> None:
        if sub:
            if not part:
                raise TypeError("C[i, j](mask): one element takes no mask of its own; write C(mask)[i, j] << x")
            wanted = part
        elif mask.ndim == 1:
            if len(part) != 1:
                raise mask_mismatch(mask, self.shape)
            wanted = (self.shape[1 if isinstance(index[0], int) else 0],)
        else:
            wanted = self.shape
        if mask.parent.shape != wanted:
            raise mask_mismatch(mask, wanted)

    def _assigned(self, part, value, accum) -> Any:
        """What is to be assigned: a block, (block, transposed), a NumPy scalar, or None to delete."""
        rank = RANK.get(type(value))
        if rank and rank == len(part):
            if value.shape != part:
                raise DimensionMismatch(f"C[...] << x: x has shape {value.shape}, but the index selects shape {part}")
            if rank == 1:
                return value._block
            value = value._eval()
            return value._block, value._is_transposed
        if value is EMPTY:
            return None
        if rank == 0 or is_number(value):
            return scalar_for(value, self.dtype, accum)
        if rank is not None or not part or isinstance(value, (str, bytes)) or value is None:
            wanted = ("a number", "a Vector, a number or a list", "a Matrix, a number or an array")[len(part)]
            raise TypeError(f"C[...] << x: x is {describe(value)}, but {wanted} was wanted")
        return listed(value, part, self.dtype, accum)

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

    # ---- whole-object operations --------------------------------------------------------
    @property
    def name(self) -> str:
        """Name given by the caller, or ``"A"``."""
        return self._name or "A"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def order(self) -> str:
        """Order in which rows and columns are stored, "natural" or "degree"; results do not depend on it."""
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

    def reorder(self, order: str) -> Matrix:
        """Store rows and columns in another order; nothing that can be asked of the Matrix changes.

        Parameters
        ----------
        order : {"natural", "degree"}
            "degree" puts vertices with many edges first, where they share cache lines: on
            power-law graphs, products are faster. Square matrices only.

        Returns
        -------
        Matrix
            Itself.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1, 2], [2, 2, 0], 1)
        >>> A.reorder("degree").to_dicts() == A.reorder("natural").to_dicts()
        True
        """
        if order not in ("natural", "degree"):
            raise InvalidValue(f'reorder: order is {order!r}, but "natural" or "degree" was wanted')
        if order == "degree" and self.nrows != self.ncols:
            raise DimensionMismatch(f"reorder: the Matrix has shape {self.shape}, but a square one was wanted")
        self._block.reorder(order)
        return self

    def clear(self) -> None:
        """Remove all entries; the shape stays."""
        self._block.clear()

    def resize(self, nrows: int, ncols: int) -> None:
        """Change the shape; entries beyond it are dropped."""
        engine.matrix_resize(self._block, to_size(nrows, "resize", "nrows"), to_size(ncols, "resize", "ncols"))

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
        if clear or mask is not None or (dtype is not None and lookup_dtype(dtype) is not self.dtype):
            new = Matrix(self.dtype if dtype is None else dtype, *self.shape, name=name)
            if not clear:
                new(mask=mask) << self
        else:
            new = Matrix._wrap(self._block.copy(), name)
        new.labels = self.labels
        return new

    def __copy__(self) -> Matrix:
        return self.dup(name=self._name)

    def __deepcopy__(self, memo: Any) -> Matrix:
        return self.dup(name=self._name)

    def __reduce__(self):
        indptr, indices, values = self.to_csr()
        if self._block.iso and values.size:
            values = values[0]
        return _unpickle, (self.dtype.name, self.shape, indptr, indices, values, self._name, self.labels, self.report)

    def __sizeof__(self) -> int:
        block = self._block
        return object.__sizeof__(self) + block.indptr.nbytes + block.indices.nbytes + block.values.nbytes

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

    def new(self, dtype: Any = None, *, mask: Any = None, name: str | None = None) -> Matrix:
        """The transpose as a Matrix of its own."""
        new = Matrix(self.dtype if dtype is None else dtype, *self.shape, name=name)
        new(mask=mask) << self
        return new

    def dup(self, dtype: Any = None, *, clear: bool = False, mask: Any = None, name: str | None = None) -> Matrix:
        """The transpose as a Matrix of its own, or with `clear` an empty one of the same shape."""
        if clear:
            return Matrix(self.dtype if dtype is None else dtype, *self.shape, name=name)
        return self.new(dtype, mask=mask, name=name)

    def __repr__(self) -> str:
        from spgraph import display

        return display.matrix_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.matrix_html(self)


CLASSES[2] = Matrix
_PLAIN_MATRIX.update((Matrix, TransposedMatrix))
