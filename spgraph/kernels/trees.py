"""Trees of element-wise operations, and their printing as statements for one position.

Presence is a Boolean expression of the leaves' bits, and a value is computed only where it is
present. The traversal is one for all languages; a `Language` says how a statement looks.

Data encoding: leaf n is given as (`p<n>`, `v<n>`): a bitmap (kind "b"), full
("f", `p<n>` unused) or the list that drives the loop ("l", `v<n>` aligned with it).
An iso leaf reads `v<n>[0]`. The position is `n`, its number in the list `q`, its global id `i`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from semirings import expr as ex

__all__ = ["AppliedNode", "EwiseNode", "Language", "LeafNode", "TreePrinter"]


class LeafNode(NamedTuple):
    """Operand number `number`: its dtype, kind ("b", "f" or "l") and whether it is iso."""

    number: int
    dtype: np.dtype
    kind: str
    iso: bool


class AppliedNode(NamedTuple):
    """`expr` over Inputs "x" (the child) and "i" (the position)."""

    expr: ex.Expr
    child: tuple


class EwiseNode(NamedTuple):
    """`expr` over Inputs "x", "y", "i"; `kind` add, mult or union (`defaults`: two scalar LeafNodes)."""

    kind: str
    expr: ex.Expr
    left: tuple
    right: tuple
    defaults: tuple | None


class Language:
    """How statements look.

    Attributes
    ----------
    both, either : str
        The operators "and" and "or".
    compute : callable
        Statements that assign the value of an expression, see `semirings.expr.to_python`.
    """

    both: str
    either: str
    compute: Callable[..., list[str]]

    def declare(self, name: str, dtype: np.dtype) -> list[str]:
        """Statements before the first assignment to a name."""
        raise NotImplementedError

    def load(self, name: str, dtype: np.dtype, array: str, at: str) -> str:
        """``name = array[at]``."""
        raise NotImplementedError

    def load_bit(self, name: str, array: str, at: str) -> str:
        """``name = array[at] != 0``."""
        raise NotImplementedError

    def keep_bit(self, name: str, text: str) -> str:
        """``name = text`` for a truth value."""
        raise NotImplementedError

    def choose(self, cases: list[tuple[str | None, list[str]]]) -> list[str]:
        """Statements of the first case whose test holds; the test None is "else"."""
        raise NotImplementedError


Operands = dict[str, tuple[str, np.dtype]]  # an expression's inputs: variable and dtype


class TreePrinter:
    """Prints a tree as statements, which `lines` collects.

    ``value(tree)`` gives (presence, variable, dtype); the presence is a test, or None if it is certain.
    """

    def __init__(self, language: Language):
        self.language = language
        self.lines: list[str] = []
        self._names = 0

    def value(self, node: tuple) -> tuple[str | None, str, np.dtype]:
        """Print what computes a node."""
        if isinstance(node, LeafNode):
            return self._leaf(node)
        if isinstance(node, AppliedNode):
            return self._applied(node)
        assert isinstance(node, EwiseNode)
        return self._ewise(node)

    def _leaf(self, node: LeafNode) -> tuple[str | None, str, np.dtype]:
        at = "0" if node.iso else "q" if node.kind == "l" else "n"
        value = self._name("x")
        self.lines.append(self.language.load(value, node.dtype, f"v{node.number}", at))
        if node.kind != "b":
            return None, value, node.dtype
        bit = self._name("h")
        self.lines.append(self.language.load_bit(bit, f"p{node.number}", "n"))
        return bit, value, node.dtype

    def _applied(self, node: AppliedNode) -> tuple[str | None, str, np.dtype]:
        present, child, dtype = self.value(node.child)
        target = self._target(node.expr.dtype)
        operands = {"x": (child, dtype)}
        self._first(target, node.expr.dtype, [(present, lambda: self._assign(target, node.expr, operands))])
        return present, target, node.expr.dtype

    def _ewise(self, node: EwiseNode) -> tuple[str | None, str, np.dtype]:
        in_left, left, left_dtype = self.value(node.left)
        in_right, right, right_dtype = self.value(node.right)
        x, y = (left, left_dtype), (right, right_dtype)
        target, dtype = self._target(node.expr.dtype), node.expr.dtype
        in_both = self._joined(self.language.both, in_left, in_right)
        cases = [(in_both, lambda: self._assign(target, node.expr, {"x": x, "y": y}))]
        if node.kind == "mult":
            self._first(target, dtype, cases)
            if in_both is None or in_both in (in_left, in_right):
                return in_both, target, dtype
            return self._bit(in_both), target, dtype
        cases.append((in_left, lambda: self._only(node, target, "x", x)))
        cases.append((in_right, lambda: self._only(node, target, "y", y)))
        self._first(target, dtype, cases)
        if in_left is None or in_right is None:
            return None, target, dtype
        return self._bit(f"{in_left} {self.language.either} {in_right}"), target, dtype

    def _only(self, node: EwiseNode, target: str, side: str, operand: tuple[str, np.dtype]) -> None:
        """The value where only one side is present."""
        if node.defaults is None:
            self._assign(target, ex.cast(ex.Input("x", operand[1]), node.expr.dtype), {"x": operand})
            return
        other, default = ("y", node.defaults[1]) if side == "x" else ("x", node.defaults[0])
        _, value, dtype = self._leaf(default)
        self._assign(target, node.expr, {side: operand, other: (value, dtype)})

    # ---- statements --------------------------------------------------------------
    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def _target(self, dtype: np.dtype) -> str:
        target = self._name("r")
        self.lines += self.language.declare(target, dtype)
        return target

    def _bit(self, text: str) -> str:
        bit = self._name("h")
        self.lines.append(self.language.keep_bit(bit, text))
        return bit

    @staticmethod
    def _joined(word: str, left: str | None, right: str | None) -> str | None:
        return right if left is None else left if right is None else f"{left} {word} {right}"

    def _assign(self, target: str, expression: ex.Expr, operands: Operands) -> None:
        """``target = expression``."""
        typed = ex.substitute(expression, {name: ex.Input(name, dtype) for name, (_, dtype) in operands.items()})
        rename = {"i": "i"} | {name: variable for name, (variable, _) in operands.items()}
        self.lines += self.language.compute(typed, target, rename, prefix=self._name("e") + "_")

    def _first(self, target: str, dtype: np.dtype, cases: list[tuple[str | None, Callable[[], None]]]) -> None:
        """The first case whose test holds; where none does, 0: a name must be bound on every path."""
        if cases[0][0] is None:
            cases[0][1]()
            return
        outer, bodies = self.lines, []
        zero = ex.Const(dtype.type(0), dtype)
        for test, body in [*cases, (None, lambda: self._assign(target, zero, {}))]:
            self.lines = []
            body()
            bodies.append((test, self.lines))
            if test is None:
                break
        self.lines = outer + self.language.choose(bodies)
