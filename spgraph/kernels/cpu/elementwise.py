"""Element-wise chains: any tree of unions, intersections and applied operators as one kernel.

The kernel is printed for the tree at hand, as straight-line statements per
element: presence is a Boolean expression of the leaves' bits, a value is
computed only where it is present. Three loops share that body:

* ``chain_write``: over all positions, with mask, accumulator and write, in place on C;
* ``chain_list``: over a list that bounds the result (a sparse operand of an
  intersection), giving a list;
* ``chain_reduce``: over all positions (or a list), combining what is present by a monoid.

Data encoding: leaf n is given as (`p<n>`, `v<n>`): a bitmap (kind "b"), full
("f", `p<n>` unused) or the driving list itself ("l", `v<n>` aligned with it).
An iso leaf reads `v<n>[0]`. Work: one step per position or list entry.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np

from semirings import expr as ex
from spgraph.kernels.cpu._specialise import Kernel, get_kernel_from_ast

__all__ = ["AppliedNode", "EwiseNode", "LeafNode", "chain_kernel"]


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


class _Printer:
    """Prints a tree as statements; `value` gives (presence text or "True", value name, dtype)."""

    def __init__(self):
        self.lines: list[str] = []
        self.count = 0
        self.depth = 0

    def say(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def assign(self, target, expression, operands):
        """``target = expression``; operands maps input names to (variable, dtype)."""
        operands = {name: operand for name, operand in operands.items() if operand is not None}
        typed = ex.substitute(expression, {name: ex.Input(name, dtype) for name, (_, dtype) in operands.items()})
        rename = {"i": "i"} | {name: variable for name, (variable, _) in operands.items()}
        for line in ex.to_python(typed, target, rename, prefix=self.name("e") + "_"):
            self.say(line)

    def branch(self, test, target, expression, operands):
        """The same under a condition ("else:" for the rest)."""
        self.say(test)
        self.depth += 1
        self.assign(target, expression, operands)
        self.depth -= 1

    def zero(self, target, dtype):
        # Numba wants a name bound on every path
        self.branch("else:", target, ex.Const(dtype.type(0), dtype), {})

    def value(self, node):
        if isinstance(node, LeafNode):
            return self._leaf(node)
        if isinstance(node, AppliedNode):
            present, child, dtype = self.value(node.child)
            target = self.name("r")
            if present == "True":
                self.assign(target, node.expr, {"x": (child, dtype)})
            else:
                self.branch(f"if {present}:", target, node.expr, {"x": (child, dtype)})
                self.zero(target, node.expr.dtype)
            return present, target, node.expr.dtype
        return self._ewise(node)

    def _leaf(self, node):
        at = "0" if node.iso else "q" if node.kind == "l" else "n"
        value = self.name("x")
        self.say(f"{value} = v{node.number}[{at}]")
        if node.kind != "b":
            return "True", value, node.dtype
        bit = self.name("h")
        self.say(f"{bit} = p{node.number}[n] != 0")
        return bit, value, node.dtype

    def _ewise(self, node):
        hl, left, dl = self.value(node.left)
        hr, right, dr = self.value(node.right)
        target, dtype = self.name("r"), node.expr.dtype
        pair = {"x": (left, dl), "y": (right, dr)}
        if hl == hr == "True":
            self.assign(target, node.expr, pair)
            return "True", target, dtype
        both = hr if hl == "True" else hl if hr == "True" else f"{hl} and {hr}"
        self.branch(f"if {both}:", target, node.expr, pair)
        if node.kind == "mult":
            self.zero(target, dtype)
            if both in (hl, hr):
                return both, target, dtype
            bit = self.name("h")
            self.say(f"{bit} = {both}")
            return bit, target, dtype
        self._only(node, f"elif {hl}:" if hl != "True" else "else:", target, "x", (left, dl))
        if hl == "True":
            return "True", target, dtype
        self._only(node, f"elif {hr}:" if hr != "True" else "else:", target, "y", (right, dr))
        if hr == "True":
            return "True", target, dtype
        self.zero(target, dtype)
        bit = self.name("h")
        self.say(f"{bit} = {hl} or {hr}")
        return bit, target, dtype

    def _only(self, node, test, target, side, operand):
        """The branch where only one side is present."""
        if node.kind == "add":
            self.branch(test, target, ex.cast(ex.Input("x", operand[1]), node.expr.dtype), {"x": operand})
            return
        self.say(test)
        self.depth += 1
        other = "y" if side == "x" else "x"
        _, default, dtype = self._leaf(node.defaults[1 if side == "x" else 0])
        self.assign(target, node.expr, {side: operand, other: (default, dtype)})
        self.depth -= 1


_MASK = """
allowed = True
if MASKED:
    CHECK_MASK(n)
"""

_WRITE = """
def chain_write(lo, hi, gid, mpresent, mvals, cpresent, cvals, LEAVES):
    count = 0
    for n in range(lo, hi):
        if GLOBAL:
            i = gid[n]
        else:
            i = n
        MASK
        if allowed:
            BODY
            if PRESENT:
                if ACCUM and not FRESH:
                    if C_FULL or cpresent[n] != 0:
                        old = cvals[n]
                        cvals[n] = ACC(old, RESULT)
                    else:
                        cvals[n] = STORE(RESULT)
                else:
                    cvals[n] = STORE(RESULT)
                if not C_FULL:
                    cpresent[n] = 1
                count += 1
            elif FRESH or not ACCUM:
                if not C_FULL:
                    cpresent[n] = 0
            elif C_FULL:
                count += 1
            elif cpresent[n] != 0:
                count += 1
        elif FRESH or REPLACE:
            if not C_FULL:
                cpresent[n] = 0
        elif C_FULL:
            count += 1
        elif cpresent[n] != 0:
            count += 1
    return count
"""

_LIST = """
def chain_list(tidx, gid, mpresent, mvals, oidx, ovals, LEAVES):
    count = 0
    for q in range(tidx.size):
        n = tidx[q]
        if GLOBAL:
            i = gid[n]
        else:
            i = n
        MASK
        if allowed:
            BODY
            if PRESENT:
                oidx[count] = n
                ovals[count] = STORE(RESULT)
                count += 1
    return count
"""

_REDUCE = """
def chain_reduce(lo, hi, tidx, gid, LEAVES):
    count = 0
    total = IDENTITY
    for q in range(lo, hi):
        if LISTED:
            n = tidx[q]
        else:
            n = q
        if GLOBAL:
            i = gid[n]
        else:
            i = n
        BODY
        if PRESENT:
            term = STORE(RESULT)
            count += 1
            if ANY:
                total = term
                break
            total = ADD(total, term)
            if HAS_TERMINAL:
                if total == TERMINAL:
                    break
    return count, total
"""

_LOOPS = {"write": _WRITE, "list": _LIST, "reduce": _REDUCE}


def chain_kernel(loop: str, tree, leaves: int, result_dtype, consts: dict, ops: dict) -> Kernel:
    """The kernel of a tree.

    Parameters
    ----------
    loop : {"write", "list", "reduce"}
    tree : LeafNode, AppliedNode or EwiseNode
    leaves : int
        Number of operands.
    result_dtype : dtype
        What "STORE" yields (C's dtype; the monoid's type for "reduce").
    consts, ops : dict
        As for `get_kernel`; "STORE" is added here, "ACC"'s and "ADD"'s second
        operand is what the tree yields (for "ADD": what STORE yields).
    """
    printer = _Printer()
    present, result, dtype = printer.value(tree)
    ops = dict(ops, STORE=(ex.cast(ex.Input("t", dtype), np.dtype(result_dtype)), ("t",)))
    text = _LOOPS[loop]
    text = text.replace("LEAVES", ", ".join(f"p{j}, v{j}" for j in range(leaves)))
    text = text.replace("PRESENT", present if present != "True" else "ALWAYS").replace("RESULT", result)
    text = _indent_block(text, "MASK\n", _MASK.strip().splitlines())
    text = _indent_block(text, "BODY\n", printer.lines)
    function = ast.parse(text).body[0]
    return get_kernel_from_ast(function, dict(consts, ALWAYS=True), ops)


def _indent_block(text, marker, lines):
    out = []
    for line in text.splitlines():
        if line.strip() == marker.strip():
            pad = line[: len(line) - len(line.lstrip())]
            out.extend(pad + inner for inner in lines)
        else:
            out.append(line)
    return "\n".join(out)
