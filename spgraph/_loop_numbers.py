"""Numbers that a recorded loop will know when it runs, and conditions made of them; see `spgraph.loops`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spgraph import _recording
from spgraph.exceptions import InvalidValue

__all__ = ["Comparison", "Condition", "Number", "nvals_later", "value_later", "value_now"]


class Number:
    """A number that a loop will know when it runs.

    Comparisons give a `Condition`; sums, differences, products and quotients another Number.
    """

    __slots__ = ("_get", "_text", "of")
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __init__(self, get: Callable[[], Any], text: str, of: Any = None):
        self._get = get
        self._text = text
        self.of = of  # the vector whose entries it counts, or the loop

    def __repr__(self) -> str:
        return f"<{self._text}, known when the loop runs>"

    def _now(self, what: str) -> Any:
        if _recording.recorder() is None:
            return self._get()
        raise TypeError(
            f"{what}: {self._text} is known only when the loop runs; compare it in loop.until(...), or write it with <<"
        )

    def __bool__(self) -> bool:
        return bool(self._now("bool"))

    def __int__(self) -> int:
        return int(self._now("int"))

    def __index__(self) -> int:
        return operator.index(self._now("int"))

    def __float__(self) -> float:
        return float(self._now("float"))

    def _with(self, other: Any, function: Callable, sign: str, swapped: bool = False) -> Any:
        if not _is_number(other):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        return Number(lambda: function(value_now(left), value_now(right)), f"({_text(left)} {sign} {_text(right)})")

    def _compared(self, other: Any, function: Callable, sign: str) -> Any:
        if not _is_number(other):
            raise TypeError(f"{self._text} {sign} ...: got {other!r}, wanted a number")
        return Condition((Comparison(self, function, other, sign),))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq, "==")

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne, "!=")

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt, "<")

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le, "<=")

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt, ">")

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge, ">=")

    __hash__ = None  # type: ignore[assignment]  # equality is a condition

    def __neg__(self) -> Number:
        return Number(lambda: -self._get(), f"-{self._text}")

    def __abs__(self) -> Number:
        return Number(lambda: abs(self._get()), f"abs({self._text})")

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add, "+")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, "+", swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, "-", swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, "*", swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, "/", swapped=True)


def nvals_later(counted: Any) -> Number:
    """How many entries a Vector or a Matrix has, as the loop that is recorded will know it."""
    if hasattr(counted, "_plan"):
        _recording.refuse("nvals", "write the expression into an object, and compare that one's nvals")
    return Number(lambda: counted._block.nvals, f"{counted.name}.nvals", getattr(counted, "_matrix", counted))


def value_later(scalar: Any) -> Number:
    """The same for a Scalar's value."""
    return Number(lambda: scalar.value, f"{scalar.name}.value", scalar)


def _is_number(x: Any) -> bool:
    return type(x) is Number or isinstance(x, (int, float, np.integer, np.floating))


def value_now(x: Any) -> Any:
    """What a Number is now, and anything else itself."""
    return x._get() if type(x) is Number else x


def _text(x: Any) -> str:
    return x._text if type(x) is Number else str(x)


class Comparison(NamedTuple):
    """Two numbers and how they are compared; without an order it is any function of no arguments."""

    left: Any
    function: Callable
    right: Any
    sign: str

    def holds(self) -> bool:
        """Whether it does, now."""
        left = self.left._get() if type(self.left) is Number else self.left
        right = self.right._get() if type(self.right) is Number else self.right
        if left is None or right is None:
            raise InvalidValue(f"loop.until: {self} compares a Scalar without a value")
        return bool(self.function(left, right))  # NaN compares as in Python

    def __str__(self) -> str:
        return f"{_text(self.left)} {self.sign} {_text(self.right)}"


class Condition:
    """When a loop ends: any of some comparisons. ``|``, ``&`` and ``~`` combine conditions."""

    __slots__ = ("any_of",)

    def __init__(self, any_of: tuple):
        self.any_of = any_of

    def holds(self) -> bool:
        """Whether it does, now."""
        for one in self.any_of:  # noqa: SIM110  # a generator costs as much as a small superstep's share
            if one.holds():
                return True
        return False

    def __or__(self, other: Any) -> Any:
        return Condition((*self.any_of, *other.any_of)) if type(other) is Condition else NotImplemented

    def __and__(self, other: Any) -> Any:
        if type(other) is not Condition:
            return NotImplemented
        return Condition((_Told(lambda: self.holds() and other.holds(), f"({self._text()} and {other._text()})"),))

    def __invert__(self) -> Condition:
        return Condition((_Told(lambda: not self.holds(), f"not ({self._text()})"),))

    def __bool__(self) -> bool:
        if _recording.recorder() is None:
            return self.holds()
        raise TypeError(f"bool: {self._text()} is not known before the loop runs; give it to loop.until(...)")

    def __eq__(self, other: object) -> Any:
        raise TypeError(f"==: {self._text()} is compared with {other!r}; conditions are combined by |, & and ~")

    __hash__ = None  # type: ignore[assignment]

    def _text(self) -> str:
        return " or ".join(map(str, self.any_of))

    def __repr__(self) -> str:
        return f"<{self._text()}, known when the loop runs>"


class _Told(NamedTuple):
    """A condition that is made of others."""

    function: Callable[[], bool]
    text: str

    def holds(self) -> bool:
        return self.function()

    def __str__(self) -> str:
        return self.text
