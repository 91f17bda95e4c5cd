"""Element-wise chains: any tree of unions, intersections and applied operators as one kernel.

The kernel is printed for the tree at hand, as straight-line statements per
element: presence is a Boolean expression of the leaves' bits, a value is
computed only where it is present. Three loops share that body:

* ``chain_write``: over all positions, with mask, accumulator and write, in place on C;
* ``chain_list``: over a list that bounds the result (a sparse operand of an
  intersection), giving a list that starts at ``oidx[lo]``;
* ``chain_each``: the same where every entry of the list has a value, which comes at its place in ``ovals``;
* ``chain_reduce``: over all positions (or a list), combining what is present by a monoid.

Data encoding: leaves and the statements for one position as in `kernels.trees`.
Work: one step per position or list entry.
"""

from __future__ import annotations

import ast

import numpy as np

from semirings import expr as ex
from spgraph.kernels.cpu._specialise import Kernel, get_kernel_from_ast
from spgraph.kernels.trees import AppliedNode, EwiseNode, Language, LeafNode, TreePrinter

__all__ = ["AppliedNode", "EwiseNode", "LeafNode", "chain_kernel"]


class _Python(Language):
    both, either = "and", "or"
    compute = staticmethod(ex.to_python)

    def declare(self, name, dtype):
        return []

    def load(self, name, dtype, array, at):
        return f"{name} = {array}[{at}]"

    def load_bit(self, name, array, at):
        return f"{name} = {array}[{at}] != 0"

    def keep_bit(self, name, text):
        return f"{name} = {text}"

    def choose(self, cases):
        lines = []
        for number, (test, body) in enumerate(cases):
            lines.append("else:" if test is None else f"{'elif' if number else 'if'} {test}:")
            lines += ["    " + line for line in body]
        return lines


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
def chain_list(lo, hi, tidx, gid, mpresent, mvals, oidx, ovals, LEAVES):
    count = lo
    for q in range(lo, hi):
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
    return count - lo
"""

_EACH = """
def chain_each(lo, hi, tidx, gid, ovals, LEAVES):
    for q in range(lo, hi):
        n = tidx[q]
        if GLOBAL:
            i = gid[n]
        else:
            i = n
        BODY
        ovals[q] = STORE(RESULT)
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

_LOOPS = {"write": _WRITE, "list": _LIST, "each": _EACH, "reduce": _REDUCE}


def chain_kernel(loop: str, tree, leaves: int, result_dtype, consts: dict, ops: dict) -> Kernel:
    """The kernel of a tree.

    Parameters
    ----------
    loop : {"write", "list", "each", "reduce"}
    tree : LeafNode, AppliedNode or EwiseNode
    leaves : int
        Number of operands.
    result_dtype : dtype
        What "STORE" yields (C's dtype; the monoid's type for "reduce").
    consts, ops : dict
        As for `get_kernel`; "STORE" is added here, "ACC"'s and "ADD"'s second
        operand is what the tree yields (for "ADD": what STORE yields).
    """
    printer = TreePrinter(_Python())
    present, result, dtype = printer.value(tree)
    ops = dict(ops, STORE=(ex.cast(ex.Input("t", dtype), np.dtype(result_dtype)), ("t",)))
    text = _LOOPS[loop]
    text = text.replace("LEAVES", ", ".join(f"p{j}, v{j}" for j in range(leaves)))
    text = text.replace("PRESENT", present or "ALWAYS").replace("RESULT", result)
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
