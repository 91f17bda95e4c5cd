"""Operations on a scalar (or an expression that gives one), and the expressions they return."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import binary, monoid
from semirings.dtypes import UINT64
from semirings.exceptions import EmptyObject
from semirings.expr import cast_array
from spgraph import _resolve as resolve
from spgraph._base import CLASSES, EMPTY, RANK, Operand
from spgraph._chains import INFIX_CLASSES, Infix
from spgraph._compare import close_values
from spgraph._convert import describe, fit, fit_operand, infer_dtype, is_number
from spgraph._plans import ComputeRecipe, VectorReduce
from spgraph._room import is_about_memory, out_of_memory
from spgraph._scalar_plans import Element, ScalarApply, ScalarEwise
from spgraph.context import HOST, Device
from spgraph.expression import Expression
from spgraph.infix import Arithmetic

__all__ = ["ElementExpression", "ScalarExpression", "ScalarInfix", "ScalarLike", "number_of"]


class ScalarLike(Operand, Arithmetic):
    """Base of Scalar and of all expressions that give one."""

    __slots__ = ()
    ndim = 0
    shape = ()

    @property
    def _device(self) -> Device:  # a value is Python's, wherever it was computed
        return HOST

    @staticmethod
    def _empty(dtype: Any, shape: tuple, name: str | None) -> Any:
        return CLASSES[0](dtype, name=name)

    def _of(self, number: Any) -> Any:
        return _to_scalar(number, "operator", self.dtype)

    # ---- value ------------------------------------------------------------------------
    @property
    def value(self) -> Any:
        """The value as a Python number, or None."""
        number = self._number()
        return None if number is None else number.item()

    @property
    def is_empty(self) -> bool:
        """Whether there is no value."""
        return self._number() is None

    @property
    def nvals(self) -> int:
        """0 or 1."""
        return 0 if self._number() is None else 1

    def get(self, default: Any = None) -> Any:
        """The value as a Python number, or `default` if there is none."""
        number = self._number()
        return default if number is None else number.item()

    def _full(self, function: str) -> np.generic:
        number = self._number()
        if number is None:
            raise EmptyObject(f"{function}: the Scalar is empty; .get(default) reads it without an error")
        return number

    def __bool__(self) -> bool:
        """Whether there is a value and it is not zero."""
        number = self._number()
        return number is not None and bool(number)

    def __int__(self) -> int:
        return int(self._full("int"))

    def __float__(self) -> float:
        return float(self._full("float"))

    def __complex__(self) -> complex:
        return complex(self._full("complex"))

    def __index__(self) -> int:
        if self.dtype.np_type.kind not in "iu":
            raise TypeError(f"a Scalar of dtype {self.dtype} is no index; integers are")
        return int(self._full("index"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._full("asarray"), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's functions see the number: ``np.sqrt(s)``, ``array * s``."""
        numbers = (x._full(ufunc.__name__) if isinstance(x, ScalarLike) else x for x in inputs)
        return getattr(ufunc, method)(*numbers, **kwargs)

    # ---- comparison -------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return self.isequal(other)

    def __ne__(self, other: object) -> bool:
        return not self.isequal(other)

    __hash__ = object.__hash__

    def isequal(self, other: Any, *, check_dtype: bool = False) -> bool:
        """Whether values are equal, or both absent (None counts as absent).

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Scalar.from_value(5).isequal(5.0), sg.Scalar(int).isequal(None)
        (True, True)
        """
        a, b = self._number(), number_of(other, "isequal")
        if check_dtype and isinstance(other, ScalarLike) and other.dtype is not self.dtype:
            return False
        return bool(a == b) if a is not None and b is not None else a is b

    def isclose(
        self,
        other: Any,
        *,
        rel_tol: float = 1e-7,
        abs_tol: float = 0.0,
        check_dtype: bool = False,
        equal_nan: bool = False,
    ) -> bool:
        """Whether ``abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)``, or both are absent."""
        a, b = self._number(), number_of(other, "isclose")
        if check_dtype and isinstance(other, ScalarLike) and other.dtype is not self.dtype:
            return False
        if a is None or b is None:
            return a is b
        return close_values(np, np.atleast_1d(a), np.atleast_1d(b), rel_tol, abs_tol, equal_nan)

    # ---- operations -------------------------------------------------------------------
    def ewise_add(self, other: Any, op: Any = monoid.plus) -> ScalarExpression:
        """Combine with a Scalar or number; where one is empty the other is the result."""
        return _scalar_ewise("add", "ewise_add", self, other, op)

    def ewise_mult(self, other: Any, op: Any = binary.times) -> ScalarExpression:
        """Combine with a Scalar or number; empty if either is."""
        return _scalar_ewise("mult", "ewise_mult", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any) -> ScalarExpression:
        """Combine with a Scalar or number; a default stands in for the one that is empty."""
        other = _to_scalar(other, "ewise_union", self.dtype)
        ltype = infer_dtype(number_of(left_default, "ewise_union"), "ewise_union", "left_default")
        rtype = infer_dtype(number_of(right_default, "ewise_union"), "ewise_union", "right_default")
        op = resolve.union(op, self.dtype, other.dtype, ltype, rtype, "ewise_union")
        left = fit_operand(number_of(left_default, "ewise_union"), op, "x", "ewise_union", "left_default")
        right = fit_operand(number_of(right_default, "ewise_union"), op, "y", "ewise_union", "right_default")
        return ScalarExpression(ScalarEwise("union", self, other, op, left, right), op.return_type)

    def apply(self, op: Any, right: Any = None, *, left: Any = None) -> ScalarExpression:
        """Apply a unary operator, or a binary one with `left` or `right`.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Scalar.from_value(-5).apply("abs").value
        5
        """
        if left is not None and right is not None:
            raise TypeError("apply: left and right were both given, but an operator binds one of them")
        if left is None and right is None:
            op, thunk = resolve.element(op, self.dtype, "apply")
            return ScalarExpression(ScalarApply(self, op, None, None, thunk), op.return_type)
        other = _to_scalar(right if left is None else left, "apply", self.dtype)
        if left is None:
            op = resolve.bound(op, self.dtype, other.dtype, "apply", "right")
            value = fit_operand(other._full("apply"), op, "y", "apply", "right")
            index = resolve.is_indexed(op)
            plan = ScalarApply(self, op, None, None if index else value, value if index else None)
        else:
            op = resolve.bound(op, other.dtype, self.dtype, "apply", "left")
            plan = ScalarApply(self, op, fit_operand(other._full("apply"), op, "x", "apply", "left"), None, None)
        return ScalarExpression(plan, op.return_type)

    def select(self, op: Any, thunk: Any = None) -> ScalarExpression:
        """The Scalar itself if a select operator holds for it, else empty."""
        other = _to_scalar(False if thunk is None else thunk, "select", self.dtype)
        op = resolve.select(op, self.dtype, other.dtype, "select")
        thunk = fit(other._full("select"), op.type2, "select", "thunk")

        def compute():
            number = self._number()
            return number if number is not None and op.numpy(number, 0, 0, thunk)[()] else None

        def text(names):
            return f"{self._formula(names)}.select({op!r}, {thunk})"

        return ScalarExpression(ComputeRecipe(compute, text, (self,)), self.dtype)


class ScalarExpression(Expression, ScalarLike):
    """A value that is not computed yet; see `spgraph.expression`. Ask ``.value``, or use it as a number."""

    __slots__ = ("__weakref__", "_plan", "_value", "dtype")
    _device = ScalarLike._device

    def __init__(self, plan: Any, dtype: Any):
        self._plan = plan
        self.dtype = dtype
        self._value = None

    def new(  # type: ignore[override]
        self, dtype: Any = None, *, is_cscalar: bool | None = None, name: str | None = None
    ) -> Any:
        """Compute into a new Scalar."""
        new = CLASSES[0](self.dtype if dtype is None else dtype, is_cscalar=is_cscalar, name=name)
        started = self._started()
        if started is not None:
            new._await(started)
            return new
        number = self._computed() if self._value is None else self._value._value
        if number is not None:
            new._value = cast_array(number, new.dtype.np_type)[()]
        return new

    def _started(self) -> Any:
        """The value to come, whose computation has begun; None if it is not a reduction on a GPU."""
        if self._value is not None or type(self._plan) is not VectorReduce:
            return None
        device = self._plan.device
        return self._on_device(device, self._plan.start) if device.begins else None

    def _computed(self):
        return self._on_device(self._plan.device, self._plan.compute)

    def _on_device(self, device, compute):
        try:
            if device.on_host:
                return compute()
            with device:
                return compute()
        except (MemoryError, RuntimeError, ValueError) as error:
            if not is_about_memory(error):
                raise
            raise out_of_memory(error, self.name, device) from error

    def dup(  # type: ignore[override]
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        is_cscalar: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Compute into a new Scalar, or with `clear` make an empty one."""
        if clear:
            return CLASSES[0](self.dtype if dtype is None else dtype, is_cscalar=is_cscalar, name=name)
        return self.new(dtype, is_cscalar=is_cscalar, name=name)

    def _number(self):
        return self._eval()._value

    is_cscalar = False
    is_grbscalar = True


class ScalarInfix(Infix, ScalarExpression):  # type: ignore[misc]
    """``s | t``, ``s & t`` or ``u @ v``; see `spgraph.infix`."""

    __slots__ = ("_cut", "_expression", "_kind", "_parts", "left", "right")

    def __init__(self, kind: str, left: Any, right: Any, shape: tuple):
        self._kind = kind
        self.left = left
        self.right = right if RANK.get(type(right)) is not None else CLASSES[0].from_value(right)
        self._value = None
        self._expression = None


INFIX_CLASSES[0] = ScalarInfix


class ElementExpression(ScalarExpression):
    """``v[i]`` or ``A[i, j]``: read it as a scalar, or write to it with ``<<``."""

    __slots__ = ()

    def __init__(self, parent: Any, index: Any):
        ScalarExpression.__init__(self, Element(parent, index), parent.dtype)

    def __call__(self, *args: Any, **kwargs: Any):
        """``v[i](accum)``: an output."""
        from spgraph._vector_ops import make_assigner

        return make_assigner(self._plan.parent, self._plan.index, args, kwargs)

    def __lshift__(self, value: Any) -> None:
        self.update(value)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        from spgraph._vector_ops import assign

        assign(self._plan.parent, self._plan.index, expr)


def _scalar_ewise(kind, function, left, right, op):
    right = _to_scalar(right, function, left.dtype)
    op = resolve.binary(op, left.dtype, right.dtype, function)
    return ScalarExpression(ScalarEwise(kind, left, right, op), op.return_type)


def _to_scalar(value: Any, function: str, partner: Any = None) -> Any:
    if RANK.get(type(value)) == 0:
        return value
    if partner is UINT64 and type(value) is int and value >= 0:
        return CLASSES[0].from_value(value, UINT64)
    if not is_number(value):
        raise TypeError(f"{function}: {describe(value)} is no scalar, but a number or a Scalar was wanted")
    return CLASSES[0].from_value(value)


def number_of(value: Any, function: str) -> Any:
    """A number, the number in a Scalar, or None for an empty Scalar or None."""
    if value is None or value is EMPTY:
        return None
    if RANK.get(type(value)) == 0:
        return value._number()
    if not is_number(value):
        raise TypeError(f"{function}: {describe(value)} is no scalar, but a number or a Scalar was wanted")
    return value
