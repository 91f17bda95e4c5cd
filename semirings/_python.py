"""Expressions as Python statements, for Numba and for plain Python.

Every result is converted to its type, so that the text means the same under Numba's promotion rules
and under NumPy's. Run it uncompiled inside ``np.errstate(all="ignore")``: NumPy's scalars warn where
arrays and machine code wrap silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from semirings._primitives import texts
from semirings.expr import Call, Cast, Const, Expr, Input, Where, walk

PYTHON_PRELUDE: str = (
    Path(__file__)
    .with_name("_prelude.py")
    .read_text("utf-8")
    .partition("# --- prelude ---\n")[2]
    .lstrip("\n")
)
PRELUDE_NAMES: list[str] = re.findall(r"^def (\w+)", PYTHON_PRELUDE, re.MULTILINE)

INDEX_NAMES = frozenset({"i", "j", "ix", "jx", "iy", "jy"})


def to_python(e: Expr, target: str, rename: Mapping[str, str] | None = None, prefix: str = "t_") -> list[str]:
    """Straight-line Python statements that compute `e` once and assign it to `target`.

    Parameters
    ----------
    e : Expr
    target : str
        Name of the variable that the last statement assigns.
    rename : mapping of str to str, optional
        Variables in which the inputs are; an input that is missing has its own name.
    prefix : str
        Names of further variables begin so.

    Returns
    -------
    list of str
        The text uses `np` and the functions of `PYTHON_PRELUDE`. Indices (inputs i, j, ix, ...) may
        be integers of any type; other inputs must have the dtype that the tree says.

    Examples
    --------
    >>> import numpy as np
    >>> from semirings.expr import Call, Const, Input, to_python
    >>> x = Input("x", np.int64)
    >>> to_python(Call("add", (x, Const(1, np.int64)), np.int64), "z", {"x": "a"})
    ['z = np.int64(a + np.int64(1))']
    """
    return straight_line(e, target, rename or {}, prefix, _node, lambda dtype, name, text: f"{name} = {text}")


def straight_line(
    e: Expr,
    target: str,
    rename: Mapping[str, str],
    prefix: str,
    node_text: Callable[[Expr, list[str]], str],
    assign: Callable[[Any, str, str], str],
) -> list[str]:
    """The part that both printers share: which subtrees become variables, and in which order."""
    uses = _count_uses(e)
    lines: list[str] = []
    text: dict[Expr, str] = {}
    for node in walk(e):
        if isinstance(node, Input):
            name = rename.get(node.name, node.name)
            text[node] = name if node.name not in INDEX_NAMES else node_text(node, [name])
            continue
        current = node_text(node, [text[a] for a in node.args])
        if node is not e and uses[node] > 1 and not isinstance(node, Const):
            name = f"{prefix}{len(lines)}"
            lines.append(assign(node.dtype, name, current))
            current = name
        text[node] = current
    lines.append(assign(None, target, text[e]))
    return lines


def _count_uses(e: Expr) -> dict[Expr, int]:
    """How often the text of each node would be printed if it were put in no variable."""
    uses: dict[Expr, int] = {}
    for node in walk(e):
        templates = texts(node.label, node.args[0].dtype.kind) if isinstance(node, Call) else ()
        for k, arg in enumerate(node.args):
            times = max((template.count(f"{{{k}}}") for template in templates), default=1)
            uses[arg] = uses.get(arg, 0) + times
    return uses


def _node(node: Expr, args: list[str]) -> str:
    kind = f"np.{node.dtype.name if node.dtype != np.bool_ else 'bool_'}"
    if isinstance(node, Input):
        return f"{kind}({args[0]})"
    if isinstance(node, Const):
        return f"{kind}({_literal(node.value)})"
    if isinstance(node, Where):
        return f"({args[1]} if {args[0]} else {args[2]})"
    if isinstance(node, Cast):
        return _cast(node, kind, args[0])
    arg_type = node.args[0].dtype
    arg_kind = f"np.{arg_type.name}"
    template = texts(node.label, arg_type.kind)[0]
    fields = {"zero": f"{arg_kind}(0)", "one": f"{arg_kind}(1)"}
    if "{bits}" in template:
        fields["bits"] = f"{arg_kind}({8 * arg_type.itemsize})"
    return f"{kind}({template.format(*args, **fields)})"


def _cast(node: Cast, kind: str, arg: str) -> str:
    source, dtype = node.args[0].dtype, node.dtype
    if dtype == np.bool_:
        return f"np.bool_({arg} != np.{source.name}(0))"
    if source.kind == "f" and dtype.kind in "iu":
        if dtype.itemsize == 8:
            return f"{kind}(sr_to_{dtype.name}({arg}))"
        info = np.iinfo(dtype)
        return f"{kind}(sr_saturate({arg}, {info.min}, {info.max}))"
    return f"{kind}({arg})"


def _literal(value: Any) -> str:
    if isinstance(value, np.bool_):
        return str(bool(value))
    if isinstance(value, np.integer):
        return str(int(value))
    number = float(value)
    if number != number:
        return "np.nan"
    if number in (np.inf, -np.inf):
        return "np.inf" if number > 0 else "-np.inf"
    return repr(number)
