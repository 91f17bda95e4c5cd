"""Operations on a vector (or an expression that gives one), and the expressions they return."""

from __future__ import annotations

from typing import Any

from semirings import binary, monoid, semiring
from semirings.exceptions import DomainMismatch
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph import engine
from spgraph._base import CLASSES, RANK
from spgraph._chains import INFIX_CLASSES, Infix
from spgraph._convert import to_int, to_size
from spgraph._plans import (
    Gather,
    Inner,
    MxV,
    PointerJump,
    Recipe,
    VectorApply,
    VectorEwise,
    VectorExtract,
    VectorReduce,
    VectorSelect,
)
from spgraph._room import making
from spgraph._vector_reads import VectorReads
from spgraph.expression import Assigner, Expression, Updater
from spgraph.scalar import ElementExpression, ScalarExpression

__all__ = ["VectorExpression", "VectorIndexExpr", "VectorInfix", "VectorLike"]


class VectorLike(VectorReads):
    """Base of Vector and of all expressions that give a vector."""

    __slots__ = ()

    _apply_plan = VectorApply
    _ewise_plan = VectorEwise
    _select_plan = VectorSelect

    def _lazy(self, plan: Any, dtype: Any) -> VectorExpression:
        return VectorExpression(plan, dtype, self._size)

    def _empty(self, dtype: Any, shape: tuple, name: str | None):
        return CLASSES[1]._on(self._device, dtype, shape[0], name)

    def _coo(self):
        return self._block.coo()

    def _element(self, index: int):
        with making("get", self._device):
            return engine.vector_get(self._block, index)

    def _indexed(self, index: Any):
        if isinstance(index, int):
            return ElementExpression(self, index)
        if RANK.get(type(index)) == 1:
            return VectorIndexExpr(self, index, Gather(self, index), index._size)
        return VectorIndexExpr(self, index, VectorExtract(self, index), index.size)

    def vxm(self, other: Any, op: Any = semiring.plus_times) -> VectorExpression:
        """Row vector times matrix: ``w(j) = sum over i of v(i) * A(i, j)`` over a semiring.

        Parameters
        ----------
        other : Matrix
            With as many rows as the vector has positions.
        op : Semiring or str, default semiring.plus_times

        Returns
        -------
        VectorExpression
            Also written ``op(v @ A)``.

        Raises
        ------
        DimensionMismatch
            If sizes don't fit.

        Examples
        --------
        >>> import spgraph as sg
        >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 2], [4, 9, 1], nrows=3, ncols=3)
        >>> v = sg.Vector.from_coo([0, 1], [0, 4], size=3)
        >>> v.vxm(A, sg.semiring.min_plus).new().to_dict()
        {1: 4, 2: 5}
        """
        if other.__class__ not in _PLAIN_MATRIX:
            check.operand("vxm", "other", other, 2)
        op = resolve.semiring(op, self.dtype, other.dtype, "vxm")
        rows, columns = other.shape
        if rows != self._size:
            check.vxm(self, other)
        check.same_device("vxm", self, other)
        return VectorExpression(MxV(other, self, op, not other._is_transposed, True), op.return_type, columns)

    def inner(self, other: Any, op: Any = semiring.plus_times) -> ScalarExpression:
        """Inner (dot) product over a semiring; empty if no index is in both.

        Parameters
        ----------
        other : Vector
        op : Semiring or str, default semiring.plus_times

        Returns
        -------
        ScalarExpression
            Also written ``op(u @ v)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2], size=3)
        >>> (u @ u).value
        5
        """
        check.operand("inner", "other", other, 1)
        check.inner("inner", self, other)
        check.same_device("inner", self, other)
        op = resolve.semiring(op, self.dtype, other.dtype, "inner")
        return ScalarExpression(Inner(self, other, op), op.return_type)

    def outer(self, other: Any, op: Any = binary.times):
        """Outer product: ``C(i, j) = op(u(i), v(j))``.

        Parameters
        ----------
        other : Vector
        op : BinaryOp, Monoid or str, default binary.times

        Returns
        -------
        MatrixExpression

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2])
        >>> u.outer(u, "+").new().to_dense()
        array([[2, 3],
               [3, 4]])
        """
        check.operand("outer", "other", other, 1)
        check.same_device("outer", self, other)
        op = resolve.binary(op, self.dtype, other.dtype, "outer")
        return CLASSES[2]._outer(self, other, op)

    def reduce(self, op: Any = monoid.plus, *, allow_empty: bool = True) -> ScalarExpression:
        """Combine all entries into one value.

        An element-wise expression is reduced as it is computed: ``(u - v).apply(abs).reduce("+")``
        is one pass.

        Parameters
        ----------
        op : Monoid, Aggregator or str, default monoid.plus
        allow_empty : bool, default True
            What no entries give: an empty Scalar, or if False the monoid's identity.

        Returns
        -------
        ScalarExpression

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], [5, 7])
        >>> v.reduce().value, v.reduce(sg.monoid.max).value, v.reduce(sg.agg.mean).value
        (12, 7, 6.0)
        """
        found = resolve.monoid(op, self.dtype, "reduce")
        if found.kind == "agg":
            from spgraph import _aggregate

            return _aggregate.reduce_vector(self, found, allow_empty)
        identity = None if allow_empty else found.identity
        return ScalarExpression(VectorReduce(self, found, identity), found.return_type)

    def pointer_jump(self) -> VectorExpression:
        """Follow pointers to their ends: w(i) is the last of v(i), v(v(i)), ..., which points to itself.

        The same as ``v << v[v]`` until nothing changes, in one pass: the trees that v stands for become stars.

        Returns
        -------
        VectorExpression

        Raises
        ------
        InvalidValue
            If a position has no entry, or its value is negative or larger than the position (pointers downwards
            always come to an end).

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_dense([0, 0, 1, 3, 2]).pointer_jump().new().to_dense()
        array([0, 0, 0, 3, 0])
        """
        if self.dtype.np_type.kind not in "iu":
            raise DomainMismatch(f"pointer_jump: v has dtype {self.dtype}, but positions are integers")
        return VectorExpression(PointerJump(self), self.dtype, self._size)

    def reposition(self, offset: int, *, size: int | None = None) -> VectorExpression:
        """Move all entries by `offset` positions; those that leave the vector are dropped.

        Parameters
        ----------
        offset : int
        size : int, optional
            Size of the result; by default that of the vector.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Vector.from_coo([0, 2], [5, 7]).reposition(1).new().to_dict()
        {1: 5}
        """
        size = self._size if size is None else to_size(size, "reposition", "size")
        offset = to_int(offset, "reposition", "offset")

        def make():
            start, stop = max(0, -offset), max(0, min(self._size, size - offset))
            part = self[start : max(start, stop)].new()
            moved = self._empty(self.dtype, (size,), None)
            if part.size:
                moved[start + offset : start + offset + part.size] << part
            return moved

        def text(names):
            return f"{self._formula(names)}.reposition({offset})"

        return VectorExpression(Recipe(make, text, (self,)), self.dtype, size)


_PLAIN_MATRIX: set[type] = set()  # Matrix and TransposedMatrix, once defined


class VectorExpression(Expression, VectorLike):
    """A vector that is not computed yet; see `spgraph.expression`.

    It can be used wherever a Vector can. ``<<`` and `new` say where the result goes.
    """

    __slots__ = ("__weakref__", "_plan", "_size", "_value", "dtype")

    def __init__(self, plan: Any, dtype: Any, size: int):
        self._plan = plan
        self.dtype = dtype
        self._size = size
        self._value = None

    @property
    def _weight(self) -> int:
        return 1 if self._value is not None else self._plan.weight

    def _node(self):
        if self._value is None:
            plan = self._plan
            if plan.weight > 1:
                return plan.node()
        return engine.Leaf(self._block)


class VectorInfix(Infix, VectorExpression):
    """``u | v``, ``u & v``, ``A @ v`` or ``v @ A``; see `spgraph.infix`."""

    __slots__ = ("_cut", "_expression", "_kind", "_parts", "left", "right")

    def __init__(self, kind: str, left: Any, right: Any, shape: tuple):
        self._kind = kind
        self.left = left
        self.right = right
        self._size = shape[0]
        self._value = None
        self._expression = None


INFIX_CLASSES[1] = VectorInfix


class VectorIndexExpr(VectorExpression):
    """``v[I]``, ``A[i, J]`` or ``A[I, j]``: read it as a vector, or write to it with ``<<``."""

    __slots__ = ("_index", "_parent")

    def __init__(self, parent: Any, index: Any, plan: Any, size: int):
        VectorExpression.__init__(self, plan, parent.dtype, size)
        self._parent = parent
        self._index = index

    def __call__(self, *args: Any, **kwargs: Any) -> Assigner:
        """``v[I](mask, accum, replace)``: an output whose mask counts within the part."""
        return make_assigner(self._parent, self._index, args, kwargs)

    def __lshift__(self, value: Any) -> None:
        assign(self._parent, self._index, value)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        assign(self._parent, self._index, expr)

    def new(self, dtype: Any = None, *, mask: Any = None, input_mask: Any = None, name: str | None = None):
        """Extract into a new Vector.

        Parameters
        ----------
        dtype, name : optional
            Of the new Vector.
        mask : Mask, optional
            Which positions of the result to fill.
        input_mask : Mask, optional
            Which entries of the source to read, instead.
        """
        if input_mask is not None:
            mask = input_mask_of(self._parent, self._index, input_mask, mask)
        return Expression.new(self, dtype, mask=mask, name=name)


def make_assigner(parent: Any, index: Any, args: tuple, kwargs: dict) -> Assigner:
    """``parent[index](mask, accum, replace)``."""
    if parent._is_transposed:
        raise TypeError("A.T[...] can't be written to; write to A")
    updater: Updater = parent(*args, **kwargs)
    return Assigner(parent, index, updater, sub=updater._mask is not None)


def assign(parent: Any, index: Any, value: Any) -> None:
    """``parent[index] << value``."""
    if parent._is_transposed:
        raise TypeError("A.T[...] can't be written to; write to A")
    if isinstance(parent, Expression):
        raise TypeError("an expression can't be written to; make an object of it with .new()")
    parent._assign(index, value, None, None, False, False)


def input_mask_of(parent: Any, index: Any, input_mask: Any, mask: Any) -> Any:
    """A mask over the source of an extraction as one over its result."""
    from spgraph.mask import to_mask, to_shape

    if mask is not None:
        raise TypeError("mask and input_mask were both given, but one of them was wanted")
    input_mask = to_mask(input_mask, "input_mask")
    if parent.ndim == 2 and input_mask.ndim == 1:
        line = next((axis for axis in (0, 1) if isinstance(index[axis], int)), None)
        if line is None:
            raise TypeError("input_mask: a Vector mask goes with one row or one column, as in A[i, :] or A[:, j]")
        to_shape(input_mask, (parent.shape[1 - line],), "input_mask")
        index = index[1 - line]
    else:
        to_shape(input_mask, parent.shape, "input_mask")
    check.same_device("input_mask", parent, input_mask.parent)
    part = input_mask.parent._indexed(index).new()
    return type(input_mask)(part)
