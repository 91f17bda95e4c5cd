"""Operations on a matrix (or A.T, or an expression that gives one), and the expressions they return."""

from __future__ import annotations

from typing import Any

from semirings import binary, monoid, semiring
from semirings.exceptions import DimensionMismatch, InvalidValue
from semirings.expr import cast_array
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph import engine
from spgraph._base import CLASSES
from spgraph._chains import INFIX_CLASSES, Infix
from spgraph._convert import to_int, to_size
from spgraph._matrix_plans import Kronecker, MatrixApply, MatrixEwise, MatrixExtract, MatrixSelect, MxM
from spgraph._matrix_reads import MatrixReads
from spgraph._plans import ExtractLine, MatrixReduce, MxV, Recipe, ReduceRows, op_text
from spgraph._room import making
from spgraph._vector_ops import VectorExpression, VectorIndexExpr, assign, input_mask_of, make_assigner
from spgraph.expression import Assigner, Expression
from spgraph.scalar import ElementExpression, ScalarExpression

__all__ = ["MatrixExpression", "MatrixIndexExpr", "MatrixInfix", "MatrixLike"]


class MatrixLike(MatrixReads):
    """Base of Matrix, TransposedMatrix and of all expressions that give a matrix."""

    __slots__ = ()

    _apply_plan = MatrixApply
    _ewise_plan = MatrixEwise
    _select_plan = MatrixSelect

    def _lazy(self, plan: Any, dtype: Any, shape: tuple | None = None) -> MatrixExpression:
        return MatrixExpression(plan, dtype, self.shape if shape is None else shape)

    def _empty(self, dtype: Any, shape: tuple, name: str | None):
        return CLASSES[2]._on(self._device, dtype, *shape, name=name)

    def _indexed(self, index: tuple):
        i, j = index
        if isinstance(i, int):
            if isinstance(j, int):
                return ElementExpression(self, index)
            return VectorIndexExpr(self, index, ExtractLine(self, j, i, True), j.size)
        if isinstance(j, int):
            return VectorIndexExpr(self, index, ExtractLine(self, i, j, False), i.size)
        return MatrixIndexExpr(self, index, MatrixExtract(self, i, j), (i.size, j.size))

    def mxv(self, other: Any, op: Any = semiring.plus_times) -> VectorExpression:
        """Matrix times column vector: ``w(i) = sum over j of A(i, j) * v(j)`` over a semiring.

        Parameters
        ----------
        other : Vector
            With as many positions as the matrix has columns.
        op : Semiring or str, default semiring.plus_times

        Returns
        -------
        VectorExpression
            Also written ``op(A @ v)``.

        Raises
        ------
        DimensionMismatch
            If sizes don't fit.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_dense([[1, 2], [3, 4]])
        >>> v = sg.Vector.from_dense([10, 20])
        >>> A.mxv(v).new().to_dict()
        {0: 50, 1: 110}
        """
        check.operand("mxv", "other", other, 1)
        op = resolve.semiring(op, self.dtype, other.dtype, "mxv")
        rows, columns = self.shape
        if columns != other._size:
            check.mxv(self, other)
        check.same_device("mxv", self, other)
        return VectorExpression(MxV(self, other, op, self._is_transposed, False), op.return_type, rows)

    def mxm(self, other: Any, op: Any = semiring.plus_times) -> MatrixExpression:
        """Matrix times matrix over a semiring.

        A mask given to ``C(mask) << A.mxm(B)`` limits the work, not only the result.

        Parameters
        ----------
        other : Matrix
            With as many rows as this matrix has columns.
        op : Semiring or str, default semiring.plus_times

        Returns
        -------
        MatrixExpression
            Also written ``op(A @ B)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1], [1, 2], [3, 4], nrows=3, ncols=3)
        >>> A.mxm(A, sg.semiring.min_plus).new().to_dicts()
        {0: {2: 7}}
        """
        check.operand("mxm", "other", other, 2)
        check.mxm(self, other)
        check.same_device("mxm", self, other)
        op = resolve.semiring(op, self.dtype, other.dtype, "mxm")
        return MatrixExpression(MxM(self, other, op), op.return_type, (self.shape[0], other.shape[1]))

    def kronecker(self, other: Any, op: Any = binary.times) -> MatrixExpression:
        """Kronecker product: every entry of this matrix combined with all of `other`.

        Parameters
        ----------
        other : Matrix
        op : BinaryOp, Monoid or str, default binary.times

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1], [0, 1], [2, 3])
        >>> A.kronecker(A).new().to_dicts()
        {0: {0: 4}, 1: {1: 6}, 2: {2: 6}, 3: {3: 9}}
        """
        check.operand("kronecker", "other", other, 2)
        check.same_device("kronecker", self, other)
        op = resolve.binary(op, self.dtype, other.dtype, "kronecker")
        rows, columns = self.shape[0] * other.shape[0], self.shape[1] * other.shape[1]
        shape = to_size(rows, "kronecker", "nrows"), to_size(columns, "kronecker", "ncols")
        return MatrixExpression(Kronecker(self, other, op), op.return_type, shape)

    # ---- reduce -----------------------------------------------------------------------
    def reduce_rowwise(self, op: Any = monoid.plus) -> VectorExpression:
        """Combine the entries of each row; an empty row gives no entry.

        Parameters
        ----------
        op : Monoid, Aggregator or str, default monoid.plus

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 0, 2], [0, 1, 1], [5, 6, 7])
        >>> A.reduce_rowwise().new().to_dict()
        {0: 11, 2: 7}
        >>> A.reduce_rowwise(sg.agg.count).new().to_dict()
        {0: 2, 2: 1}
        """
        return self._reduce(op, False, "reduce_rowwise")

    def reduce_columnwise(self, op: Any = monoid.plus) -> VectorExpression:
        """Combine the entries of each column; an empty column gives no entry.

        Parameters
        ----------
        op : Monoid, Aggregator or str, default monoid.plus
        """
        return self._reduce(op, True, "reduce_columnwise")

    def _reduce(self, op, columns, function):
        found = resolve.monoid(op, self.dtype, function)
        if found.kind == "agg":
            from spgraph import _aggregate

            return _aggregate.reduce_lines(self, found, columns)
        size = self.shape[1] if columns else self.shape[0]
        return VectorExpression(ReduceRows(self, found, columns), found.return_type, size)

    def reduce_scalar(self, op: Any = monoid.plus, *, allow_empty: bool = True) -> ScalarExpression:
        """Combine all entries into one value.

        Parameters
        ----------
        op : Monoid, Aggregator or str, default monoid.plus
        allow_empty : bool, default True
            What no entries give: an empty Scalar, or if False the monoid's identity.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_dense([[1, 2], [3, 4]]).reduce_scalar(sg.monoid.max).value
        4
        """
        found = resolve.monoid(op, self.dtype, "reduce_scalar")
        if found.kind == "agg":
            from spgraph import _aggregate

            return _aggregate.reduce_matrix(self, found, allow_empty)
        identity = None if allow_empty else found.identity
        return ScalarExpression(MatrixReduce(self, found, identity), found.return_type)

    # ---- recipes ----------------------------------------------------------------------
    def selectk(self, how: str, k: int, *, name: str | None = None):
        """At most `k` entries of every row.

        Parameters
        ----------
        how : {"any"}
            Which ones: those that come first in memory, so that it costs no look at the others. The order of a matrix
            decides, and results may differ with it, as with the monoid `any`.
        k : int
        name : str, optional

        Returns
        -------
        Matrix
            On a GPU up to four entries of a row are taken from this matrix when they are needed (in a product, where
            they lie): until then its arrays are kept, also if it changes or is deleted.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.generators.complete(4)
        >>> A.selectk("any", 2).reduce_rowwise(sg.agg.count).new().to_dense()
        array([2, 2, 2, 2])
        """
        if how != "any":
            raise InvalidValue(f'selectk: how is {how!r}, wanted "any"')
        k = to_size(k, "selectk", "k")
        A, device = self._eval(), self._device
        room = making("selectk", device)
        with room:
            return CLASSES[2]._wrap(engine.some_entries(A._block, A._is_transposed, k, room), name)

    def power(self, n: int, op: Any = semiring.plus_times) -> MatrixExpression:
        """The matrix multiplied by itself, n times, by repeated squaring.

        Parameters
        ----------
        n : int
            0 gives a diagonal of the identity of the semiring's multiplication.
        op : Semiring or str, default semiring.plus_times

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 1, 2], [1, 2, 0], 1)
        >>> A.power(2).new().to_dicts()
        {0: {2: 1}, 1: {0: 1}, 2: {1: 1}}
        """
        if self.nrows != self.ncols:
            raise DimensionMismatch(f"power: the Matrix has shape {self.shape}, but a square one was wanted")
        n = to_int(n, "power", "n")
        if n < 0:
            raise InvalidValue(f"power: n is {n}, but 0 or more was wanted")
        op = resolve.semiring(op, self.dtype, self.dtype, "power")
        if n == 0 and op.binaryop.monoid is None:
            raise InvalidValue(f"power: {op.binaryop!r} has no identity, which n=0 asks for")
        plan = Recipe(
            lambda: _power(self._eval(), n, op),
            lambda names: f"{self._formula(names)}.power({n}, {op_text(op)})",
            (self,),
        )
        return self._lazy(plan, self.dtype)

    def reposition(
        self, row_offset: int, column_offset: int, *, nrows: int | None = None, ncols: int | None = None
    ) -> MatrixExpression:
        """Move all entries; those that leave the matrix are dropped.

        Parameters
        ----------
        row_offset, column_offset : int
        nrows, ncols : int, optional
            Shape of the result; by default that of the matrix.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_dense([[1, 2], [3, 4]]).reposition(0, 1).new().to_dicts()
        {0: {1: 1}, 1: {1: 3}}
        """
        nrows = self.nrows if nrows is None else to_size(nrows, "reposition", "nrows")
        ncols = self.ncols if ncols is None else to_size(ncols, "reposition", "ncols")
        down = to_int(row_offset, "reposition", "row_offset")
        right = to_int(column_offset, "reposition", "column_offset")

        def make():
            new = self._empty(self.dtype, (nrows, ncols), None)
            rows, columns, values = self._coo()
            rows, columns = rows + down, columns + right
            kept = (rows >= 0) & (rows < nrows) & (columns >= 0) & (columns < ncols)
            new.build(rows[kept], columns[kept], values[kept])
            return new

        plan = Recipe(make, lambda names: f"{self._formula(names)}.reposition({down}, {right})", (self,))
        return self._lazy(plan, self.dtype, (nrows, ncols))

    def diag(self, k: int = 0, dtype: Any = None, *, name: str | None = None):
        """The k-th diagonal as a Vector.

        Parameters
        ----------
        k : int, default 0
            Above the main diagonal if positive, below if negative.
        dtype, name : optional
            Of the Vector.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Matrix.from_dense([[1, 2], [3, 4]]).diag(1).to_dict()
        {0: 2}
        """
        operand = self._eval()
        k = to_int(k, "diag", "k")
        nrows, ncols = self.shape
        size = max(0, min(nrows + k, ncols) if k < 0 else min(ncols - k, nrows))
        if not size:
            return CLASSES[1]._on(self._device, self.dtype if dtype is None else dtype, 0, name)
        with making("diag", operand._device):
            block = engine.vector_diag(operand._block, operand._is_transposed, k)
        vector = CLASSES[1]._wrap(block, name)
        return vector if dtype is None else vector.dup(dtype, name=name)


def _power(A: Any, n: int, op: Any):
    """A multiplied by itself: the binary digits of n say which squares take part."""
    if n == 0:
        identity = cast_array(op.binaryop.monoid.identity, A.dtype.np_type)[()]
        return CLASSES[1]._full(A._device, identity, A.nrows).diag()
    square, result = A, None
    while True:
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else result.mxm(square, op)._eval()
        if not n:
            return result
        square = square.mxm(square, op)._eval()


class MatrixExpression(Expression, MatrixLike):
    """A matrix that is not computed yet; see `spgraph.expression`.

    It can be used wherever a Matrix can. ``<<`` and `new` say where the result goes.
    """

    __slots__ = ("__weakref__", "_plan", "_shape", "_value", "dtype")

    def __init__(self, plan: Any, dtype: Any, shape: tuple[int, int]):
        self._plan = plan
        self.dtype = dtype
        self._shape = shape
        self._value = None

    @property
    def shape(self) -> tuple[int, int]:
        """``(nrows, ncols)``."""
        return self._shape

    @property
    def T(self):
        """The transpose."""
        return self._eval().T

    @property
    def S(self):
        """Mask: where there is an entry."""
        return self._eval().S

    @property
    def V(self):
        """Mask: where there is an entry that is not zero."""
        return self._eval().V


class MatrixInfix(Infix, MatrixExpression):
    """``A | B``, ``A & B`` or ``A @ B``; see `spgraph.infix`."""

    __slots__ = ("_cut", "_expression", "_kind", "_parts", "left", "right")

    def __init__(self, kind: str, left: Any, right: Any, shape: tuple):
        self._kind = kind
        self.left = left
        self.right = right
        self._shape = shape
        self._value = None
        self._expression = None


INFIX_CLASSES[2] = MatrixInfix


class MatrixIndexExpr(MatrixExpression):
    """``A[I, J]``: read it as a matrix, or write to it with ``<<``."""

    __slots__ = ("_index", "_parent")

    def __init__(self, parent: Any, index: tuple, plan: Any, shape: tuple[int, int]):
        MatrixExpression.__init__(self, plan, parent.dtype, shape)
        self._parent = parent
        self._index = index

    def __call__(self, *args: Any, **kwargs: Any) -> Assigner:
        """``A[I, J](mask, accum, replace)``: an output whose mask counts within the part."""
        return make_assigner(self._parent, self._index, args, kwargs)

    def __lshift__(self, value: Any) -> None:
        assign(self._parent, self._index, value)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        assign(self._parent, self._index, expr)

    def new(self, dtype: Any = None, *, mask: Any = None, input_mask: Any = None, name: str | None = None):
        """Extract into a new Matrix; the arguments are those of `VectorIndexExpr.new`."""
        if input_mask is not None:
            mask = input_mask_of(self._parent, self._index, input_mask, mask)
        return Expression.new(self, dtype, mask=mask, name=name)
