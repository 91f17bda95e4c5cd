"""Element-wise trees as CUDA C++: the function `evaluate` that the loops of elementwise.cuh call."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import expr as ex
from semirings._cuda import C_TYPES
from spgraph.kernels.cuda.assemble import Section, section
from spgraph.kernels.trees import Language, TreePrinter

__all__ = ["chain_section"]


class _Cuda(Language):
    both, either = "&&", "||"
    compute = staticmethod(ex.to_cuda)

    def declare(self, name, dtype):
        return [f"{C_TYPES[dtype.name]} {name};"]

    def load(self, name, dtype, array, at):
        return f"const {C_TYPES[dtype.name]} {name} = a.{array}[{at}];"

    def load_bit(self, name, array, at):
        return f"const bool {name} = a.{array}[{at}] != 0;"

    def keep_bit(self, name, text):
        return f"const bool {name} = {text};"

    def choose(self, cases):
        lines = []
        for number, (test, body) in enumerate(cases):
            head = "else {" if test is None else f"{'else if' if number else 'if'} ({test}) {{"
            lines += [head, *("    " + line for line in body), "}"]
        return lines


def chain_section(
    loop: str, tree: Any, leaves: int, result_dtype: Any, consts: dict, ops: dict
) -> tuple[Section, dict, dict]:
    """The section "chain_<loop>" of elementwise.cuh with a tree and its leaves filled in.

    Parameters
    ----------
    loop, tree, leaves, result_dtype, consts, ops
        As for `kernels.cpu.elementwise.chain_kernel`.

    Returns
    -------
    tuple
        The section, and the constants and operators that it is to be assembled with.
    """
    printer = TreePrinter(_Cuda())
    present, result, dtype = printer.value(tree)
    lines = [*printer.lines, f"result = {result};", f"return {present or 'true'};"]
    evaluate = (
        f"typedef {C_TYPES[dtype.name]} TREE;\n"
        "DEVICE bool evaluate(const Args& a, i64 n, i64 q, i64 i, TREE& result) {\n"
        + "".join(f"    {line}\n" for line in lines)
        + "}\n"
    )
    template = section(f"elementwise.chain_{loop}")
    arguments = (*template.arguments[:-1], *(f"{kind}{number}" for number in range(leaves) for kind in "pv"))
    store = ex.cast(ex.Input("t", dtype), np.dtype(result_dtype)), ("t",)
    return template._replace(arguments=arguments, body=evaluate + template.body), consts, dict(ops, STORE=store)
