"""Expressions as CUDA C++ statements.

Signed arithmetic is done in unsigned types, so that it wraps as in NumPy; the text also compiles as
plain C++ (the tests run it so).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from semirings._primitives import texts
from semirings._python import INDEX_NAMES, straight_line
from semirings.expr import Cast, Const, Expr, Input, Where

CUDA_PRELUDE: str = Path(__file__).with_name("prelude.cuh").read_text("utf-8")

C_TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{f"{u}int{b}": f"{u}int{b}_t" for u in ("", "u") for b in (8, 16, 32, 64)},
}


def to_cuda(e: Expr, target: str, rename: Mapping[str, str] | None = None, prefix: str = "t_") -> list[str]:
    """Straight-line CUDA C++ statements that compute `e` once and assign it to `target`.

    Parameters are those of `to_python`. The statements declare their own variables but not
    `target`; they use the functions of `CUDA_PRELUDE`.

    Examples
    --------
    >>> import numpy as np
    >>> from semirings.expr import Call, Const, Input, to_cuda
    >>> x = Input("x", np.float32)
    >>> to_cuda(Call("sqrt", (x,), np.float32), "z", {"x": "a"})
    ['z = (float)(sqrtf(a));']
    """

    def assign(dtype: Any, name: str, text: str) -> str:
        declared = "" if dtype is None else f"const {C_TYPES[dtype.name]} "
        return f"{declared}{name} = {text};"

    return straight_line(e, target, rename or {}, prefix, _node, assign)


def _node(node: Expr, args: list[str]) -> str:
    c_type = C_TYPES[node.dtype.name]
    if isinstance(node, Input):
        return f"({c_type}){args[0]}" if node.name in INDEX_NAMES else args[0]
    if isinstance(node, Const):
        return literal(node.value)
    if isinstance(node, Where):
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if isinstance(node, Cast):
        return _cast(node, c_type, args[0])
    arg_type = node.args[0].dtype
    fields = {
        "T": c_type,
        "A": C_TYPES[arg_type.name],
        "W": "uint64_t" if node.dtype.itemsize == 8 else "uint32_t",
        "s": "f" if arg_type == np.float32 else "",
        "bits": str(8 * arg_type.itemsize),
    }
    return f"({c_type})({texts(node.label, arg_type.kind)[1].format(*args, **fields)})"


def _cast(node: Cast, c_type: str, arg: str) -> str:
    source, dtype = node.args[0].dtype, node.dtype
    if dtype == np.bool_:
        return f"({arg} != 0)"
    if source.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = literal(dtype.type(info.min)), literal(dtype.type(info.max))
        return f"sr_saturate<{c_type}>({arg}, {low}, {high})"
    return f"({c_type})({arg})"


def literal(value: Any) -> str:
    """A NumPy scalar as C++ text of its type.

    Examples
    --------
    >>> import numpy as np
    >>> literal(np.float32(0.5)), literal(np.int64(-(2**63))), literal(np.bool_(True))
    ('0.5f', '((int64_t)(-9223372036854775807LL - 1))', 'true')
    """
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.integer):
        c_type, number = C_TYPES[value.dtype.name], int(value)
        if number == -(2**63):
            return f"(({c_type})(-9223372036854775807LL - 1))"
        suffix = {"i": "LL", "u": "ULL"}[value.dtype.kind] if value.dtype.itemsize == 8 else ""
        if value.dtype == np.uint32:
            suffix = "u"
        return f"(({c_type}){number}{suffix})" if number >= 0 else f"(({c_type})({number}{suffix}))"
    suffix = "f" if isinstance(value, np.float32) else ""
    real = float(value)
    if real != real:
        return "((float)SR_NAN)" if suffix else "SR_NAN"
    if real in (np.inf, -np.inf):
        text = "((float)SR_INF)" if suffix else "SR_INF"
        return text if real > 0 else f"(-{text})"
    text = repr(float(np.format_float_scientific(value))) if suffix else repr(real)
    text = text if "e" in text or "." in text else f"{text}.0"
    return f"{text}{suffix}" if real >= 0 and not text.startswith("-") else f"({text}{suffix})"
