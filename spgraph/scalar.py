"""Scalar: one value, or none.

A Python number serves wherever a Scalar does. Scalars come out of reductions, inner products and single
elements as lazy expressions that turn into numbers by themselves: ``if v.reduce() > 3``, ``float(s)``.
"""

from __future__ import annotations

from typing import Any

from semirings.dtypes import FP64, DataType, lookup_dtype
from semirings.expr import cast_array
from spgraph import _resolve as resolve
from spgraph._base import CLASSES, RANK
from spgraph._convert import fit, infer_dtype
from spgraph._recording import noted, recorder, recorders, refuse
from spgraph._scalar_ops import ElementExpression, ScalarExpression, ScalarLike, number_of
from spgraph.expression import Updater
from spgraph.infix import InPlace

__all__ = ["SCALARS", "ElementExpression", "Scalar", "ScalarExpression"]


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
    Scalar  INT64, 7
    >>> s + 1
    ScalarExpression  s.ewise_add(1, binary.plus[INT64])  INT64, 8
    >>> "more" if s + 1 > 7 else "less"
    'more'
    """

    __slots__ = ("__weakref__", "_name", "_value", "dtype", "is_cscalar")

    dtype: DataType
    _value: Any

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
        """The value as a Python number, or None; assign to it to change it. Within `loop` it is known later."""
        if recorders and recorder() is not None:
            from spgraph._loop_numbers import value_later

            return value_later(self)
        return None if self._value is None else self._value.item()

    @value.setter
    def value(self, value: Any) -> None:
        self._update(value)

    def _number(self):
        if recorders:
            refuse("a Scalar's value", "compare it in loop.until(...); to operate with it write y(y.S, accum=op) << s")
        return self._value

    def _eval(self) -> Scalar:
        return self

    def _formula(self, names) -> str:
        return names.of(self)

    def clear(self) -> None:
        """Remove the value."""
        if recorders:
            refuse("clear", "write another Scalar into it with <<")
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
        if recorders and not clear:
            refuse("dup", "make the Scalar before the loop, and write into it with <<")
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

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        self._update(expr)

    def _update(self, value, mask=None, accum=None, replace=False, changed=None, input_mask=None) -> None:
        if mask is not None:
            raise TypeError("mask: a Scalar takes none")
        if recorders and noted(self, self._update, (value, mask, accum)):
            return
        if accum is None and type(value) is ScalarExpression:
            started = value._started()
            if started is not None:
                self._await(started)
                return
        number = number_of(value, "<<")
        plain = RANK.get(type(value)) is None  # a plain number must fit, a Scalar is cast
        if accum is not None and self._value is not None:
            if number is None:
                return
            if plain:
                number = fit(number, accum.type2, "<<", "value")
            number, plain = accum.numpy(self._value, number)[()], False
        if number is not None:
            number = fit(number, self.dtype, "<<", "value") if plain else cast_array(number, self.dtype.np_type)[()]
        self._value = number

    @property
    def ready(self) -> bool:
        """Whether the value is there. On a GPU ``s << v.reduce()`` only begins to compute it; reading it waits.

        Examples
        --------
        >>> import spgraph as sg
        >>> sg.Scalar.from_value(3).ready
        True
        """
        return True

    def _await(self, started) -> None:
        """The value is what ``started.get()`` will give; whoever asks for it first waits."""
        if type(self) is not Scalar and type(self) is not _PendingScalar:  # of a user's class, which keeps it
            self._value = _cast(started.get(), self.dtype)
            return
        _slot.__set__(self, started)
        self.__class__ = _PendingScalar

    def _parse_key(self, key: Any):
        raise TypeError("s[...]: a Scalar has no index")

    def __repr__(self) -> str:
        from spgraph import display

        return display.scalar_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.scalar_html(self)


def _cast(number: Any, dtype: DataType) -> Any:
    return None if number is None else cast_array(number, dtype.np_type)[()]


_slot = Scalar.__dict__["_value"]


class _PendingScalar(Scalar):
    """A Scalar whose value a GPU still computes; it becomes a plain one when it is read or written."""

    __slots__ = ()

    @property
    def ready(self) -> bool:
        started = _slot.__get__(self)
        return not hasattr(started, "ready") or started.ready()

    @property
    def _value(self) -> Any:  # type: ignore[override]
        started = _slot.__get__(self)
        if hasattr(started, "ready"):  # else another thread has been here
            number = _cast(started.get(), self.dtype)
            _slot.__set__(self, number)
            self.__class__ = Scalar  # type: ignore[assignment]
            return number
        return started

    @_value.setter
    def _value(self, value: Any) -> None:
        self.__class__ = Scalar  # type: ignore[assignment]
        self._value = value


_PendingScalar.__name__ = _PendingScalar.__qualname__ = "Scalar"


def _unpickle(value, dtype, is_cscalar, name):
    scalar = Scalar(dtype, is_cscalar=is_cscalar, name=name)
    scalar.value = value
    return scalar


CLASSES[0] = Scalar
SCALARS = frozenset({Scalar, _PendingScalar})
