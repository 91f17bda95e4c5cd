"""Element-wise operations of vectors and matrices: ewise_add, ewise_mult, ewise_union, apply, select."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import binary, monoid
from semirings import select as selectops
from semirings.dtypes import UINT64
from semirings.exceptions import EmptyObject
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph._base import CLASSES, RANK, Collection
from spgraph._convert import fit, fit_operand, infer_dtype
from spgraph._plans import MaskSelect, Recipe, ewise_text
from spgraph.infix import Arithmetic, Comparable
from spgraph.mask import Mask, to_shape

__all__ = ["Elementwise", "bound_scalar"]

_COMPARISONS = {
    binary.eq: selectops.valueeq,
    binary.ne: selectops.valuene,
    binary.lt: selectops.valuelt,
    binary.le: selectops.valuele,
    binary.gt: selectops.valuegt,
    binary.ge: selectops.valuege,
}


class Elementwise(Collection, Comparable, Arithmetic):
    """The element-wise methods. A subclass gives ``_lazy(plan, dtype)`` and its plan classes."""

    __slots__ = ()

    def ewise_add(self, other: Any, op: Any = monoid.plus):
        """Combine where both have an entry, keep what only one has (union of the structures).

        Parameters
        ----------
        other : Vector or Matrix
            Of the same shape. With a Matrix, a Vector on its left stands for that column at every
            column, on its right for that row at every row.
        op : Monoid, BinaryOp or str, default monoid.plus
            How two entries combine. It is not applied to an entry that stands alone: for
            differences see `ewise_union`.

        Returns
        -------
        expression
            Also written ``op(u | v)``.

        Raises
        ------
        DimensionMismatch
            If the shapes differ.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2], size=3)
        >>> v = sg.Vector.from_coo([1, 2], [10, 20], size=3)
        >>> u.ewise_add(v).new().to_dict()
        {0: 1, 1: 12, 2: 20}
        """
        check.operand("ewise_add", "other", other, 1, 2)
        return self._ewise("add", other, resolve.binary(op, self.dtype, other.dtype, "ewise_add"))

    def ewise_mult(self, other: Any, op: Any = binary.times):
        """Combine where both have an entry (intersection of the structures).

        Parameters
        ----------
        other : Vector or Matrix
            As for `ewise_add`.
        op : BinaryOp, Monoid or str, default binary.times
            How two entries combine.

        Returns
        -------
        expression
            Also written ``op(u & v)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2], size=3)
        >>> v = sg.Vector.from_coo([1, 2], [10, 20], size=3)
        >>> u.ewise_mult(v, "<").new().to_dict()
        {1: True}
        """
        check.operand("ewise_mult", "other", other, 1, 2)
        return self._ewise("mult", other, resolve.binary(op, self.dtype, other.dtype, "ewise_mult"))

    def _ewise(self, kind: str, other: Any, op: Any):
        """The same with a typed operator; `kind` is "add" or "mult"."""
        return _combined(kind, f"ewise_{kind}", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any):
        """Combine where either has an entry; defaults stand in for what is absent.

        Parameters
        ----------
        other : Vector or Matrix
            As for `ewise_add`.
        op : BinaryOp, Monoid or str
            How two values combine.
        left_default, right_default : scalar
            Value of an absent entry on the left, and on the right.

        Returns
        -------
        expression
            Also written ``op(u | v, left_default=..., right_default=...)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> u = sg.Vector.from_coo([0, 1], [1, 2], size=3)
        >>> v = sg.Vector.from_coo([1, 2], [10, 20], size=3)
        >>> u.ewise_union(v, "-", 0, 0).new().to_dict()
        {0: 1, 1: -8, 2: -20}
        """
        check.operand("ewise_union", "other", other, 1, 2)
        if left_default is False and right_default is False:  # u - v
            op, left, right = resolve.filled(op, self.dtype, other.dtype, "ewise_union")
            return _combined("union", "ewise_union", self, other, op, left, right)
        unsigned = UINT64 if UINT64 in (self.dtype, other.dtype) else None
        left, ltype = bound_scalar(left_default, "ewise_union", "left_default", unsigned)
        right, rtype = bound_scalar(right_default, "ewise_union", "right_default", unsigned)
        op = resolve.union(op, self.dtype, other.dtype, ltype, rtype, "ewise_union")
        left = fit_operand(left, op, "x", "ewise_union", "left_default")
        right = fit_operand(right, op, "y", "ewise_union", "right_default")
        return _combined("union", "ewise_union", self, other, op, left, right)

    def apply(self, op: Any, right: Any = None, *, left: Any = None):
        """Apply an operator to each entry.

        Parameters
        ----------
        op : UnaryOp, BinaryOp, IndexUnaryOp, str or function
            A binary operator needs `left` or `right`. A Python function is traced, see
            `semirings.unary.register_anonymous`.
        right : scalar, optional
            Second argument of a binary operator, or the thunk of an index-unary one (default 0).
        left : scalar, optional
            First argument of a binary operator.

        Returns
        -------
        expression
            Also written ``op(v)``, ``op(v, right)`` and ``op(left, v)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 3], [1, -4])
        >>> v.apply("abs").new().to_dict()
        {0: 1, 3: 4}
        >>> v.apply(sg.binary.minus, left=10).new().to_dict()
        {0: 9, 3: 14}
        >>> v.apply(sg.indexunary.index).new().to_dict()
        {0: 0, 3: 3}
        """
        dtype = self.dtype
        if right is None and left is None:
            op, thunk = resolve.element(op, dtype, "apply")
            return self._lazy(self._apply_plan(self, op, None, None, thunk), op.return_type)
        if right is None:
            value, other = bound_scalar(left, "apply", "left", dtype)
            op = resolve.bound(op, other, dtype, "apply", "left")
            value = fit_operand(value, op, "x", "apply", "left")
            return self._lazy(self._apply_plan(self, op, value, None, None), op.return_type)
        if left is not None:
            raise TypeError("apply: left and right were both given, but an operator binds one of them")
        value, other = bound_scalar(right, "apply", "right", dtype)
        op = resolve.bound(op, dtype, other, "apply", "right")
        value = fit_operand(value, op, "y", "apply", "right")
        if resolve.is_indexed(op):
            return self._lazy(self._apply_plan(self, op, None, None, value), op.return_type)
        return self._lazy(self._apply_plan(self, op, None, value, None), op.return_type)

    def select(self, op: Any, thunk: Any = None):
        """Keep the entries for which something holds.

        Parameters
        ----------
        op : SelectOp, IndexUnaryOp, str, Mask or BOOL object
            An operator of value, row, column and thunk; or a mask (``w.S``, ``~w.V``), or a BOOL
            object or comparison, whose true entries say what to keep.
        thunk : scalar, optional
            What the operator compares with (default 0).

        Returns
        -------
        expression
            Also written ``op(v, thunk)``; ``select.value(v > 2)``.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 1, 2], [1, 2, 3])
        >>> v.select(">=", 2).new().to_dict()
        {1: 2, 2: 3}
        >>> v.select(v != 2).new().to_dict()
        {0: 1, 2: 3}
        """
        if isinstance(op, Mask) or RANK.get(type(op)):
            if thunk is not None:
                raise TypeError("select: thunk was given, but a mask takes none")
            matched = None if isinstance(op, Mask) else _as_comparison(self, op)
            if matched is None:
                check.same_device("select: mask", self, op.parent if isinstance(op, Mask) else op)
                return self._lazy(MaskSelect(self, to_shape(op, self.shape, "select")), self.dtype)
            op, thunk = matched
        value, other = (0, None) if thunk is None else bound_scalar(thunk, "select", "thunk", self.dtype)
        op = resolve.select(op, self.dtype, other, "select")
        value = fit(value, op.type2, "select", "thunk")
        return self._lazy(self._select_plan(self, op, value), self.dtype)


def bound_scalar(value: Any, function: str, argument: str, partner: Any = None) -> tuple:
    """A number or Scalar that meets values of dtype `partner`: its value and dtype.

    A Python int counts as INT64, but beside UINT64 as UINT64, if it can: the two have no common type.
    """
    if partner is UINT64 and type(value) is int and value >= 0:
        return value, UINT64
    if RANK.get(type(value)) == 0:
        number = value._number()
        if number is None:
            raise EmptyObject(f"{function}: {argument} is an empty Scalar, but a value was wanted")
        return number, value.dtype
    return value, infer_dtype(value, function, argument)


def _as_comparison(source: Any, expression: Any) -> tuple | None:
    """For ``v.select(v < 5)``: the select operator and thunk that need no BOOL object in between."""
    plan = getattr(expression, "_plan", None)
    if isinstance(plan, source._apply_plan) and plan.right is not None and plan.operand is source:
        op = _COMPARISONS.get(plan.op.parent)
        if op is not None:
            return op, plan.right
    return None


def _combined(kind, function, left, right, op, ldefault=None, rdefault=None):
    both = left.ndim == 1 == right.ndim and left._size == right._size
    shape = None if both else check.ewise_shape(left, right, function)
    check.same_device(function, left, right)
    if both:
        plan = left._ewise_plan(kind, left, right, op, ldefault, rdefault)
        return left._lazy(plan, op.return_type)
    if left.ndim != right.ndim:
        plan = Recipe(
            lambda: _broadcast(kind, left, right, op, ldefault, rdefault),
            lambda names: ewise_text(kind, left, right, op, ldefault, rdefault, names),
            (left, right),
        )
        matrix = right if left.ndim == 1 else left
        return matrix._lazy(plan, op.return_type, shape)
    return left._lazy(left._ewise_plan(kind, left, right, op, ldefault, rdefault), op.return_type)


def _broadcast(kind, left, right, op, ldefault, rdefault):
    """A vector and a matrix: the vector spread to a matrix, for an intersection only where it counts."""
    column = left.ndim == 1
    vector, matrix = (left, right) if column else (right, left)
    matrix = matrix._eval()
    if matrix._is_transposed:
        matrix = matrix.new()
    ones = CLASSES[1]._full(matrix._device, np.True_, matrix.ncols if column else matrix.nrows)
    dtype = vector.dtype
    spread = vector.outer(ones, binary.first[dtype]) if column else ones.outer(vector, binary.second[dtype])
    spread = spread.new(mask=matrix.S if kind == "mult" else None)
    left, right = (spread, matrix) if column else (matrix, spread)
    return matrix._lazy(left._ewise_plan(kind, left, right, op, ldefault, rdefault), op.return_type)
