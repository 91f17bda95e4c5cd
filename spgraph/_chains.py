"""``x | y``, ``x & y`` and ``x @ y``: expressions that wait for an operator, and chains of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semirings import monoid, semiring
from semirings.dtypes import BOOL
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph._base import RANK
from spgraph._convert import describe, is_number

__all__ = ["INFIX_CLASSES", "Infix", "apply_infix", "make_infix", "scalar_first"]

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

    def __reduce__(self):
        return make_infix, (self._kind, self.left, self.right)

    @property
    def _device(self):
        return self.left._device

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
    if a and b and kind != "matmul" and not isinstance(left, Infix) and not isinstance(right, Infix):
        shape = check.ewise_shape(left, right, sign)  # most are no chains
        infix = INFIX_CLASSES[len(shape)](kind, left, right, shape)
        infix._parts, infix._cut = 1, False
        return infix
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
        left, right = scalar_first(left, right)
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
    return x._parts if isinstance(x, Infix) and x._kind == kind else 0


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
    if infix._parts == 1 and infix.ndim:  # no chain
        left, right = infix.left, infix.right
        return left._ewise(kind, right, resolve.binary(op, left.dtype, right.dtype, _SIGNS[kind]))
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


def scalar_first(left, right):
    """For two scalars, of which one may be a plain number: the objects to combine."""
    if RANK.get(type(left)) is None:
        return right._of(left), right
    return left, right
