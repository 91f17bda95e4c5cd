"""Operators between objects: ``A @ v``, ``u | v``, ``u + 1``, ``u < v``.

- ``@`` multiplies; alone it means plus_times, ``semiring.min_plus(A @ v)`` says what else.
- ``|`` (union) and ``&`` (intersection) wait for an operator: ``monoid.plus(u | v)``,
  ``binary.times(u & v)``, ``binary.minus(u | v, left_default=0, right_default=0)``. Only BOOL has a
  default (``|`` is lor, ``&`` is land). Of the same kind they chain: ``monoid.max(u | v | w)``.
- Arithmetic follows the zeros: ``+`` is a union, ``-`` a union that fills in 0, everything else
  (``* / // % **`` and comparisons) an intersection. With a number they apply to the entries there are.
- ``^`` (union), ``~`` are for BOOL.

In place, ``C += x`` is ``C(binary.plus) << x`` and keeps C's dtype; so do the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semirings import binary, unary
from semirings.dtypes import BOOL
from spgraph._base import RANK
from spgraph._chains import make_infix, scalar_first
from spgraph._convert import describe, is_number
from spgraph.mask import Mask

__all__ = ["Arithmetic", "Comparable", "InPlace"]


class Arithmetic:
    """Python's operators in terms of apply, ewise_add, ewise_mult and ewise_union."""

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses have it, as a slot or as a property

        def __getattr__(self, name: str) -> Any: ...

    def __abs__(self):
        return self.apply(unary.abs)

    def __neg__(self):
        return self.apply(unary.ainv)

    def __pos__(self):
        return self.apply(unary.identity)

    def __invert__(self):
        if self.dtype is not BOOL:
            raise TypeError(f"~: not supported for {self.dtype}, only for BOOL")
        return self.apply(unary.lnot)

    def __add__(self, other):
        return _union(self, other, binary.plus, "+")

    def __radd__(self, other):
        return _union(other, self, binary.plus, "+")

    def __sub__(self, other):
        return _filled_union(self, other, binary.minus, "-")

    def __rsub__(self, other):
        return _filled_union(other, self, binary.minus, "-")

    def __mul__(self, other):
        return _intersection(self, other, binary.times, "*")

    def __rmul__(self, other):
        return _intersection(other, self, binary.times, "*")

    def __truediv__(self, other):
        return _intersection(self, other, binary.truediv, "/")

    def __rtruediv__(self, other):
        return _intersection(other, self, binary.truediv, "/")

    def __floordiv__(self, other):
        return _intersection(self, other, binary.floordiv, "//")

    def __rfloordiv__(self, other):
        return _intersection(other, self, binary.floordiv, "//")

    def __mod__(self, other):
        return _intersection(self, other, binary.numpy.mod, "%")

    def __rmod__(self, other):
        return _intersection(other, self, binary.numpy.mod, "%")

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __pow__(self, other):
        return _intersection(self, other, binary.pow, "**")

    def __rpow__(self, other):
        return _intersection(other, self, binary.pow, "**")

    def __xor__(self, other):
        return _xor(self, other)

    def __rxor__(self, other):
        return _xor(other, self)

    def __lt__(self, other):
        return _intersection(self, other, binary.lt, "<")

    def __le__(self, other):
        return _intersection(self, other, binary.le, "<=")

    def __gt__(self, other):
        return _intersection(self, other, binary.gt, ">")

    def __ge__(self, other):
        return _intersection(self, other, binary.ge, ">=")

    # The right side of `x | y` also stands here for scalars.
    def __or__(self, other):
        return NotImplemented if isinstance(other, Mask) else make_infix("add", self, other)

    def __ror__(self, other):
        return make_infix("add", other, self)

    def __and__(self, other):
        return NotImplemented if isinstance(other, Mask) else make_infix("mult", self, other)

    def __rand__(self, other):
        return make_infix("mult", other, self)


class Comparable:
    """``==`` and ``!=`` of vectors and matrices: element by element, like the other comparisons."""

    __slots__ = ()

    def __eq__(self, other):
        return _intersection(self, other, binary.eq, "==")

    def __ne__(self, other):
        return _intersection(self, other, binary.ne, "!=")

    __hash__ = object.__hash__

    def __matmul__(self, other):
        return make_infix("matmul", self, other)

    def __rmatmul__(self, other):
        return make_infix("matmul", other, self)


class InPlace:
    """``C += x`` and its like: write into C, keeping C's dtype."""

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses have it, as a slot or as a property

        def __getattr__(self, name: str) -> Any: ...

    def __iadd__(self, other):
        if RANK.get(type(other)) == self.ndim:
            self(binary.plus) << other
        else:
            self << self + other
        return self

    def __isub__(self, other):
        self << self - other
        return self

    def __imul__(self, other):
        self << self * other
        return self

    def __itruediv__(self, other):
        self << self / other
        return self

    def __ifloordiv__(self, other):
        self << self // other
        return self

    def __imod__(self, other):
        self << self % other
        return self

    def __ipow__(self, other):
        self << self**other
        return self

    def __imatmul__(self, other):
        self << self @ other
        return self

    def __ixor__(self, other):
        self << (self ^ other)
        return self

    def __ior__(self, other):
        self << _boolean(self, other, "|=")
        return self

    def __iand__(self, other):
        self << _boolean(self, other, "&=")
        return self


def _sides(left, right, sign):
    """Which of the two is a number to bind: "left", "right" or None for two objects."""
    a, b = RANK.get(type(left)), RANK.get(type(right))
    if a and b:
        return None
    if a == 0 and b == 0:
        return None
    if a and (b == 0 or is_number(right)):
        return "right"
    if b and (a == 0 or is_number(left)):
        return "left"
    if (a == 0 and is_number(right)) or (b == 0 and is_number(left)):
        return None
    bad = right if a is not None else left
    raise TypeError(f"{sign}: one side is {describe(bad)}, but a number or an object of spgraph was wanted")


def _union(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = scalar_first(left, right)
        return left.ewise_add(right, op)
    return right.apply(op, left=left) if side == "left" else left.apply(op, right=right)


def _filled_union(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = scalar_first(left, right)
        return left.ewise_union(right, op, False, False)
    return right.apply(op, left=left) if side == "left" else left.apply(op, right=right)


def _intersection(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = scalar_first(left, right)
        return left.ewise_mult(right, op)
    return right.apply(op, left=left) if side == "left" else left.apply(op, right=right)


def _xor(left, right):
    expression = _union(left, right, binary.lxor, "^")
    for side in (left, right):
        dtype = getattr(side, "dtype", BOOL)
        if dtype != BOOL or expression.dtype is not BOOL:
            raise TypeError(f"^: not supported for {dtype}, only for BOOL")
    return expression


def _boolean(self, other, sign):
    if self.dtype is not BOOL or getattr(other, "dtype", BOOL) != BOOL:
        raise TypeError(f"{sign}: not supported for {self.dtype} and {getattr(other, 'dtype', '')}, only for BOOL")
    if sign == "|=":
        return _union(self, other, binary.lor, sign)
    return _intersection(self, other, binary.land, sign)
