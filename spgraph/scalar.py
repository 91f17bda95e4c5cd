"""Scalar: one value, or none.

A Python number serves wherever a Scalar does. Scalars come out of reductions, inner products and single
elements as lazy expressions that turn into numbers by themselves: ``if v.reduce() > 3``, ``float(s)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import binary, monoid
from semirings.dtypes import FP64, DataType, lookup_dtype
from semirings.exceptions import EmptyObject
from semirings.expr import cast_array
from spgraph import _resolve as resolve
from spgraph._base import CLASSES, EMPTY, RANK, Operand
from spgraph._compare import close_values
from spgraph._convert import describe, fit, infer_dtype, is_number
from spgraph._plans import ComputeRecipe, Plan, apply_text, ewise_text
from spgraph.expression import Expression, Updater
from spgraph.infix import INFIX_CLASSES, Arithmetic, Infix, InPlace

__all__ = ["Scalar", "ScalarExpression"]


class ScalarLike(Operand, Arithmetic):
    """Base of Scalar and of all expressions that give one."""

    __slots__ = ()
    ndim = 0
    shape = ()

    @staticmethod
    def _empty(dtype: Any, shape: tuple, name: str | None) -> Scalar:
        return Scalar(dtype, name=name)

    @staticmethod
    def _of(number: Any) -> Scalar:
        return Scalar.from_value(number)

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
            raise EmptyObject(f"{function}: the Scalar is empty")
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
        a, b = self._number(), _number_of(other, "isequal")
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
        a, b = self._number(), _number_of(other, "isclose")
        if check_dtype and isinstance(other, ScalarLike) and other.dtype is not self.dtype:
            return False
        if a is None or b is None:
            return a is b
        return close_values(np.atleast_1d(a), np.atleast_1d(b), rel_tol, abs_tol, equal_nan)

    # ---- operations -------------------------------------------------------------------
    def ewise_add(self, other: Any, op: Any = monoid.plus) -> ScalarExpression:
        """Combine with a Scalar or number; where one is empty the other is the result."""
        return _scalar_ewise("add", "ewise_add", self, other, op)

    def ewise_mult(self, other: Any, op: Any = binary.times) -> ScalarExpression:
        """Combine with a Scalar or number; empty if either is."""
        return _scalar_ewise("mult", "ewise_mult", self, other, op)

    def ewise_union(self, other: Any, op: Any, left_default: Any, right_default: Any) -> ScalarExpression:
        """Combine with a Scalar or number; a default stands in for the one that is empty."""
        other = _to_scalar(other, "ewise_union")
        ltype = infer_dtype(_number_of(left_default, "ewise_union"), "ewise_union", "left_default")
        rtype = infer_dtype(_number_of(right_default, "ewise_union"), "ewise_union", "right_default")
        op = resolve.union(op, self.dtype, other.dtype, ltype, rtype, "ewise_union")
        left = fit(_number_of(left_default, "ewise_union"), op.type, "ewise_union", "left_default")
        right = fit(_number_of(right_default, "ewise_union"), op.type2, "ewise_union", "right_default")
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
        other = _to_scalar(right if left is None else left, "apply")
        if left is None:
            op = resolve.bound(op, self.dtype, other.dtype, "apply", "right")
            value = fit(other._full("apply"), op.type2, "apply", "right")
            index = resolve.is_indexed(op)
            plan = ScalarApply(self, op, None, None if index else value, value if index else None)
        else:
            op = resolve.bound(op, other.dtype, self.dtype, "apply", "left")
            plan = ScalarApply(self, op, fit(other._full("apply"), op.type, "apply", "left"), None, None)
        return ScalarExpression(plan, op.return_type)

    def select(self, op: Any, thunk: Any = None) -> ScalarExpression:
        """The Scalar itself if a select operator holds for it, else empty."""
        other = _to_scalar(False if thunk is None else thunk, "select")
        op = resolve.select(op, self.dtype, other.dtype, "select")
        thunk = fit(other._full("select"), op.type2, "select", "thunk")

        def compute():
            number = self._number()
            return number if number is not None and op.numpy(number, 0, 0, thunk)[()] else None

        def text(names):
            return f"{self._formula(names)}.select({op!r}, {thunk})"

        return ScalarExpression(ComputeRecipe(compute, text, (self,)), self.dtype)


class Scalar(InPlace, ScalarLike):
    """One value of a dtype, or none.

    Parameters
    ----------
    dtype : DataType, NumPy dtype or str, default FP64
    is_cscalar : bool, default False
        Accepted for programs written for python-graphblas; it changes nothing.
    name : str, optional

    Attributes
    ----------
    dtype : DataType

    Examples
    --------
    >>> import spgraph as sg
    >>> s = sg.Scalar(int)
    >>> s << sg.Vector.from_coo([0, 1], [3, 4]).reduce()
    >>> s
    Scalar  INT64  7
    >>> s + 1 > 7
    ScalarExpression  (s.ewise_add(8 ... BOOL
    """

    __slots__ = ("__weakref__", "_name", "_value", "dtype", "is_cscalar")

    dtype: DataType

    def __init__(self, dtype: Any = FP64, *, is_cscalar: bool | None = False, name: str | None = None):
        self.dtype = lookup_dtype(dtype)
        self.is_cscalar = bool(is_cscalar)
        self._value = None
        self._name = name

    @classmethod
    def from_value(
        cls, value: Any, dtype: Any = None, *, is_cscalar: bool | None = False, name: str | None = None
    ) -> Scalar:
        """A Scalar that holds `value` (a number, a Scalar or an expression of one).

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Scalar.from_value(5, "INT8").dtype
        INT8
        """
        if RANK.get(type(value)) == 0:
            found, number = value.dtype, value._number()
        else:
            found, number = infer_dtype(value, "from_value", "value"), value
        self = cls(found if dtype is None else dtype, is_cscalar=is_cscalar, name=name)
        if number is not None:
            self._value = fit(number, self.dtype, "from_value", "value")
        return self

    @property
    def is_grbscalar(self) -> bool:
        """The opposite of `is_cscalar`."""
        return not self.is_cscalar

    @property
    def name(self) -> str:
        """Name given by the caller, or ``"s"``."""
        return self._name or "s"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def value(self) -> Any:
        """The value as a Python number, or None; assign to it to change it."""
        return None if self._value is None else self._value.item()

    @value.setter
    def value(self, value: Any) -> None:
        self._update(value)

    def _number(self):
        return self._value

    def _eval(self) -> Scalar:
        return self

    def _formula(self, names) -> str:
        return names.of(self)

    def clear(self) -> None:
        """Remove the value."""
        self._value = None

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        is_cscalar: bool | None = None,
        name: str | None = None,
    ) -> Scalar:
        """A copy, of another `dtype` if wanted, or with `clear` an empty one."""
        cscalar = self.is_cscalar if is_cscalar is None else is_cscalar
        new = Scalar(self.dtype if dtype is None else dtype, is_cscalar=cscalar, name=name)
        if not clear and self._value is not None:
            new._value = cast_array(self._value, new.dtype.np_type)[()]
        return new

    __copy__ = __deepcopy__ = lambda self, memo=None: self.dup(name=self._name)

    def __reduce__(self):
        return _unpickle, (self.value, self.dtype.name, self.is_cscalar, self._name)

    # ---- writing ----------------------------------------------------------------------
    def __call__(self, accum: Any = None) -> Updater:
        """``s(accum) << x``: combine the old value with the new one."""
        if accum is not None:
            accum = resolve.accum(accum, self.dtype)
        return Updater(self, None, accum, False, None, None)

    def __lshift__(self, value: Any) -> None:
        self._update(value)

    def update(self, value: Any) -> None:
        """The same as ``<<``."""
        self._update(value)

    def _update(self, value, mask=None, accum=None, replace=False, changed=None, input_mask=None) -> None:
        if mask is not None:
            raise TypeError("mask: a Scalar takes none")
        number = _number_of(value, "<<")
        if accum is not None and self._value is not None:
            if number is None:
                return
            number = accum.numpy(self._value, fit(number, accum.type2, "<<", "value"))[()]
        self._value = None if number is None else fit(number, self.dtype, "<<", "value")

    def _parse_key(self, key: Any):
        raise TypeError("s[...]: a Scalar has no index")

    def __repr__(self) -> str:
        from spgraph import display

        return display.scalar_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.scalar_html(self)


def _unpickle(value, dtype, is_cscalar, name):
    scalar = Scalar(dtype, is_cscalar=is_cscalar, name=name)
    scalar.value = value
    return scalar


CLASSES[0] = Scalar


class ScalarExpression(Expression, ScalarLike):
    """A value that is not computed yet; see `spgraph.expression`. Ask ``.value``, or use it as a number."""

    __slots__ = ("__weakref__", "_plan", "_value", "dtype")

    def __init__(self, plan: Any, dtype: DataType):
        self._plan = plan
        self.dtype = dtype
        self._value = None

    def new(self, dtype: Any = None, *, is_cscalar: bool | None = None, name: str | None = None) -> Scalar:
        """Compute into a new Scalar."""
        value, self._value = self._value, None
        if value is None or name is not None or is_cscalar or (dtype and lookup_dtype(dtype) is not value.dtype):
            number = self._plan.compute() if value is None else value._value
            value = Scalar(self.dtype if dtype is None else dtype, is_cscalar=is_cscalar, name=name)
            value._value = None if number is None else cast_array(number, value.dtype.np_type)[()]
        return value

    def dup(
        self,
        dtype: Any = None,
        *,
        clear: bool = False,
        is_cscalar: bool | None = None,
        name: str | None = None,
    ) -> Scalar:
        """Compute into a new Scalar, or with `clear` make an empty one."""
        if clear:
            return Scalar(self.dtype if dtype is None else dtype, is_cscalar=is_cscalar, name=name)
        return self.new(dtype, is_cscalar=is_cscalar, name=name)

    def _number(self):
        return self._eval()._value

    is_cscalar = False
    is_grbscalar = True


class ScalarInfix(Infix, ScalarExpression):
    """``s | t``, ``s & t`` or ``u @ v``; see `spgraph.infix`."""

    __slots__ = ("_expression", "_kind", "left", "right")

    def __init__(self, kind: str, left: Any, right: Any, shape: tuple):
        self._kind = kind
        self.left = left
        self.right = right if RANK.get(type(right)) is not None else Scalar.from_value(right)
        self._value = None
        self._expression = None


INFIX_CLASSES[0] = ScalarInfix


class Element(Plan):
    """v[i] or A[i, j]."""

    __slots__ = ("index", "parent")

    def __init__(self, parent, index):
        self.parent = parent
        self.index = index

    def compute(self):
        return self.parent._element(self.index)

    def formula(self, names):
        text = ", ".join(map(str, self.index)) if isinstance(self.index, tuple) else self.index
        return f"{self.parent._formula(names)}[{text}]"


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

    def update(self, value: Any) -> None:
        """The same as ``<<``."""
        from spgraph._vector_ops import assign

        assign(self._plan.parent, self._plan.index, value)


class ScalarApply(Plan):
    """An operator on a scalar."""

    __slots__ = ("left", "op", "operand", "right", "thunk")

    def __init__(self, operand, op, left, right, thunk):
        self.operand = operand
        self.op = op
        self.left = left
        self.right = right
        self.thunk = thunk

    def compute(self):
        number = self.operand._number()
        if number is None:
            return None
        if self.left is not None:
            args = (self.left, number)
        else:
            args = (number,) if self.right is None else (number, self.right)
        places = (0,) * (len(self.op.inputs) - len(args) - (self.thunk is not None))
        thunk = () if self.thunk is None else (self.thunk,)
        return self.op.numpy(*args, *places, *thunk)[()]

    def formula(self, names):
        return apply_text(self, names)


class ScalarEwise(Plan):
    """Two scalars combined."""

    __slots__ = ("kind", "ldefault", "left", "op", "rdefault", "right")

    def __init__(self, kind, left, right, op, ldefault=None, rdefault=None):
        self.kind = kind
        self.left = left
        self.right = right
        self.op = op
        self.ldefault = ldefault
        self.rdefault = rdefault

    def compute(self):
        a, b = self.left._number(), self.right._number()
        if a is None and b is None:
            return None
        if a is None or b is None:
            if self.kind == "mult":
                return None
            if self.kind == "add":
                number = b if a is None else a
                return self.op.return_type.np_type.type(number)
            a = self.ldefault if a is None else a
            b = self.rdefault if b is None else b
        places = (0,) * (len(self.op.inputs) - 2)
        return self.op.numpy(a, b, *places)[()]

    def formula(self, names):
        return ewise_text(self.kind, self.left, self.right, self.op, self.ldefault, self.rdefault, names)


def _scalar_ewise(kind, function, left, right, op):
    right = _to_scalar(right, function)
    op = resolve.binary(op, left.dtype, right.dtype, function)
    return ScalarExpression(ScalarEwise(kind, left, right, op), op.return_type)


def _to_scalar(value: Any, function: str) -> Any:
    if RANK.get(type(value)) == 0:
        return value
    if not is_number(value):
        raise TypeError(f"{function}: {describe(value)} is no scalar, but a number or a Scalar was wanted")
    return Scalar.from_value(value)


def _number_of(value: Any, function: str) -> Any:
    """A number, the number in a Scalar, or None for an empty Scalar or None."""
    if value is None or value is EMPTY:
        return None
    if RANK.get(type(value)) == 0:
        return value._number()
    if not is_number(value):
        raise TypeError(f"{function}: {describe(value)} is no scalar, but a number or a Scalar was wanted")
    return value


