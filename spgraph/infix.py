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

from semirings import binary, monoid, semiring, unary
from semirings.dtypes import BOOL
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph._base import RANK
from spgraph._convert import describe, is_number
from spgraph.mask import Mask

__all__ = ["Arithmetic", "InPlace", "Infix"]


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


def _scalar_first(left, right):
    """For two scalars, of which one may be a plain number: the objects to combine."""
    if RANK.get(type(left)) is None:
        return right._of(left), right
    return left, right


def _union(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = _scalar_first(left, right)
        return left.ewise_add(right, op)
    return right.apply(op, left=left) if side == "left" else left.apply(op, right=right)


def _filled_union(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = _scalar_first(left, right)
        return left.ewise_union(right, op, False, False)
    return right.apply(op, left=left) if side == "left" else left.apply(op, right=right)


def _intersection(left, right, op, sign):
    side = _sides(left, right, sign)
    if side is None:
        left, right = _scalar_first(left, right)
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


# ---- x | y, x & y, x @ y ----------------------------------------------------------
_SIGNS = {"add": "|", "mult": "&", "matmul": "@"}
# A longer chain of one sign was made by a loop (`x = A @ x`): its inner part is computed with the default.
_LONGEST = 32


class Infix:
    """``x | y``, ``x & y`` or ``x @ y``: an expression that an operator may still be given to.

    ``dtype`` and ``_plan`` come from the default operator; without one they say what is missing.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses have it, as a slot or as a property

        def __getattr__(self, name: str) -> Any: ...

    @property
    def dtype(self):
        return self._default().dtype

    @property
    def _plan(self):
        return self._default()._plan

    def _default(self):
        if self._expression is None:
            kind, left, right = self._kind, self.left, self.right
            if kind == "matmul":
                op = semiring.plus_times
            elif left.dtype is BOOL and right.dtype is BOOL:
                op = monoid.lor if kind == "add" else monoid.land
            else:
                sign = _SIGNS[kind]
                example = "monoid.plus(u | v)" if kind == "add" else "binary.times(u & v)"
                raise TypeError(
                    f"u {sign} v: which operator? Only BOOL has a default, these are {left.dtype} and "
                    f"{right.dtype}; write for instance {example}"
                )
            self._expression = _apply(op, self, None, None)
        return self._expression

    def _formula(self, names):
        return f"{self.left._formula(names)} {_SIGNS[self._kind]} {self.right._formula(names)}"


INFIX_CLASSES: dict[int, type] = {}  # by rank of the result; filled by the modules of the classes


def make_infix(kind: str, left: Any, right: Any) -> Any:
    """``left | right``, ``left & right`` or ``left @ right``, with shapes checked."""
    sign = _SIGNS[kind]
    a, b = RANK.get(type(left)), RANK.get(type(right))
    for side, rank in ((left, a), (right, b)):
        if (not rank and kind == "matmul") or (rank is None and not (is_number(side) and (a == 0 or b == 0))):
            wanted = "a Vector or a Matrix" if kind == "matmul" or a or b else "a Scalar or a number"
            raise TypeError(f"{sign}: one side is {describe(side)}, but {wanted} was wanted")
        if kind != "matmul" and isinstance(side, Infix) and side._kind not in (kind, "matmul"):
            raise TypeError(
                f"{sign}: x {_SIGNS[side._kind]} y {sign} z mixes two kinds; apply an operator first, "
                f"as in binary.plus(x {_SIGNS[side._kind]} y) {sign} z"
            )
    if kind == "matmul":
        shape = _product_shape(left, right)
    elif not a and not b:
        left, right = _scalar_first(left, right)
        shape = ()
    elif not a or not b:
        bad = left if not a else right
        raise TypeError(f"{sign}: one side is {describe(bad)}, but a Vector or a Matrix was wanted")
    else:
        shape = check.ewise_shape(left, right, sign)
    parts = 1 + _parts(left, kind) + _parts(right, kind)
    cut = parts > _LONGEST
    if cut:
        left, right = (x._eval() if _parts(x, kind) else x for x in (left, right))
    infix = INFIX_CLASSES[len(shape)](kind, left, right, shape)
    infix._parts = 1 if cut else parts
    infix._cut = cut or any(_parts(x, kind) and x._cut for x in (left, right))
    return infix


def _parts(x, kind):
    return x._depth if isinstance(x, Infix) and x._kind == kind else 0


def _product_shape(left, right):
    if left.ndim == 1:
        if right.ndim == 1:
            check.inner("inner", left, right)
            return ()
        check.vxm(left, right)
        return (right.shape[1],)
    if right.ndim == 1:
        check.mxv(left, right)
        return (left.shape[0],)
    check.mxm(left, right)
    return (left.shape[0], right.shape[1])


def apply_infix(op: Any, infix: Infix, left_default: Any = None, right_default: Any = None) -> Any:
    """The expression that `op` makes of ``x | y``, ``x & y`` or ``x @ y``."""
    if infix._cut:
        raise TypeError(
            f"{op!r}: a chain of more than {_LONGEST} times {_SIGNS[infix._kind]} was computed in part; "
            "apply the operator in the loop that makes the chain"
        )
    return _apply(op, infix, left_default, right_default)


def _apply(op, infix, left_default, right_default):
    kind = infix._kind
    if kind == "matmul":
        typed = _chain_type(op, infix, resolve.semiring)
        left, right = _applied(typed, infix.left, kind), _applied(typed, infix.right, kind)
        if left.ndim == 1:
            return left.inner(right, typed) if right.ndim == 1 else left.vxm(right, typed)
        return left.mxv(right, typed) if right.ndim == 1 else left.mxm(right, typed)
    if left_default is not None or right_default is not None:
        if kind != "add" or left_default is None or right_default is None:
            raise TypeError(
                f"{op}: left_default and right_default go together and with a union, as in "
                "binary.minus(u | v, left_default=0, right_default=0)"
            )
        left = _filled(op, infix.left, left_default, right_default)
        return left.ewise_union(_filled(op, infix.right, left_default, right_default), op, left_default, right_default)
    typed = _chain_type(op, infix, resolve.binary)
    left, right = _applied(typed, infix.left, kind), _applied(typed, infix.right, kind)
    return left.ewise_add(right, typed) if kind == "add" else left.ewise_mult(right, typed)


def _applied(op, operand, kind):
    """The same operator for a part of a chain, as in ``op(x | y | z)``."""
    return _apply(op, operand, None, None) if _parts(operand, kind) else operand


def _filled(op, operand, left_default, right_default):
    nested = isinstance(operand, Infix) and operand._kind == "add"
    return _apply(op, operand, left_default, right_default) if nested else operand


def _chain_type(op, infix, find):
    """The typed operator that serves all of a chain."""
    left, right = infix.left, infix.right
    kind = infix._kind
    first = _chain_type(op, left, find).type if isinstance(left, Infix) and left._kind == kind else left.dtype
    second = _chain_type(op, right, find).type2 if isinstance(right, Infix) and right._kind == kind else right.dtype
    return find(op, first, second, {"matmul": "@", "add": "|", "mult": "&"}[kind])
