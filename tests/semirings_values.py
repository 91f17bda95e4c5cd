"""Values that operators are tried on, and running an operator in every way that there is.

The ways: the NumPy function itself, the expression evaluated, its Python text interpreted and compiled
by Numba, its CUDA text compiled by g++.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semirings import binary, dtypes, expr, indexunary, select, unary

FUNCTION_KINDS = (unary, binary, indexunary, select)


def operators(*modules: Any) -> list[Any]:
    """Every untyped operator of namespaces, once."""
    return [op for module in modules for _, op in module._root.operators()]


def typed(*modules: Any) -> list[Any]:
    """Every typed operator of namespaces, once for each meaning."""
    found = {op[t].key: op[t] for op in operators(*modules) for t in op.types if "docs." not in op.name}
    return list(found.values())


def extremes(dtype: Any) -> np.ndarray:
    """Zero, small values, and the ends of a type."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        values = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, 2.5, -2.5, 3, 7.25, -7.25, 100, -300.5, 1e5, 1e-3]
        ends = [info.max, info.min, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan]
        return np.array([*values, 2.0**31, -(2.0**63), 2.0**64, *ends], dtype)
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, info.max // 2 + 1, info.max - 1, info.max]
    if dtype.kind == "i":
        values += [-1, -2, -3, -7, -8, -64, -100, info.min, info.min + 1]
    return np.array([v for v in values if v <= info.max], dtype)


POSITIONS = np.array([0, 1, 2, 5, 1000, 2**40])


def operands(op: Any) -> list[np.ndarray]:
    """Arrays for the inputs of a typed operator: all pairs of extremes (and some positions)."""
    types = op.parent.input_types(op.type)
    values = extremes(op.type.np_type)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    arrays = {"x": values if op.inputs == ("x",) else x, "y": y, "thunk": y}
    n = len(arrays["x"])
    for k, name in enumerate(types):
        if name not in arrays:
            arrays[name] = np.resize(np.roll(POSITIONS, k), n)
    if "thunk" in types and types["thunk"] == np.int64:
        arrays["thunk"] = np.resize([0, -1, 1, 3, 2**62, -(2**62)], n)
    return [arrays[name].astype(t) for name, t in types.items()]


def interpreted(op: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The Python text, run as it is."""
    scope: dict[str, Any] = {}
    exec(compile(python_module([op]), f"<{op!r}>", "exec"), scope)
    with np.errstate(all="ignore"):
        rows = [scope["op_0"](*row) for row in zip(*arrays)]
    assert {type(value) for value in rows} == {op.return_type.np_type.type}, (op, {type(v) for v in rows})
    return np.array(rows, op.return_type.np_type)


def python_module(ops: Iterable[Any]) -> str:
    """Source with a function ``op_k(inputs)`` for each operator."""
    parts = ["import math", "import numpy as np", expr.PYTHON_PRELUDE]
    for k, op in enumerate(ops):
        body = expr.to_python(op.expr, "z")
        parts.append(f"def op_{k}({', '.join(op.inputs)}):\n    " + "\n    ".join([*body, "return z"]))
    return "\n\n".join(parts) + "\n"


def compiled(ops: Sequence[Any], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The Python texts of operators with the same inputs, compiled by Numba into one function."""
    import numba

    names, lines = ops[0].inputs, []
    for k, op in enumerate(ops):
        lines += [*expr.to_python(op.expr, "z", prefix=f"t{k}_"), f"out_{k}[n] = z"]
    outs = [np.zeros(len(arrays[0]), op.return_type.np_type) for op in ops]
    source = (
        f"def kernel({', '.join([*(f'a_{n}' for n in names), *(f'out_{k}' for k in range(len(ops)))])}):\n"
        "    for n in range(len(out_0)):\n        "
        + "\n        ".join([*(f"{n} = a_{n}[n]" for n in names), *_own_targets(lines)])
    )
    scope: dict[str, Any] = {"np": np, "math": __import__("math")}
    exec(compile(expr.PYTHON_PRELUDE, "<prelude>", "exec"), scope)
    for name in expr.PRELUDE_NAMES:
        scope[name] = numba.njit(scope[name])
    exec(compile(source, "<kernel>", "exec"), scope)
    numba.njit(scope["kernel"])(*arrays, *outs)
    return outs


def _own_targets(lines: list[str]) -> list[str]:
    """Each operator's `z` gets a name of its own: Numba gives a variable one type."""
    result, k = [], 0
    for line in lines:
        if line.startswith("z = "):
            result.append(f"z_{k}{line[1:]}")
        elif line.startswith("out_"):
            result.append(line.replace("= z", f"= z_{k}"))
            k += 1
        else:
            result.append(line)
    return result


def cuda_source(ops: Sequence[Any], entry: str) -> str:
    """CUDA text with a function for each operator over arrays; `entry` stands before each."""
    from semirings._cuda import C_TYPES

    parts = [expr.CUDA_PRELUDE]
    for k, op in enumerate(ops):
        types = op.parent.input_types(op.type)
        params = [f"const {C_TYPES[t.name]} *a_{n}" for n, t in types.items()]
        used = expr.inputs(op.expr)
        loads = [f"const {C_TYPES[t.name]} {n} = a_{n}[n_];" for n, t in types.items() if n in used]
        out = C_TYPES[op.return_type.np_type.name]
        body = "\n    ".join([*loads, f"{out} z;", *expr.to_cuda(op.expr, "z"), "out[n_] = z;"])
        parts.append(
            f"{entry} void op_{k}({', '.join(params)}, {out} *out, int size) {{\n"
            f"  for (int n_ = 0; n_ < size; ++n_) {{\n    {body}\n  }}\n}}"
        )
    return "\n".join(parts) + "\n"


class HostCuda:
    """CUDA text of operators, compiled by g++."""

    def __init__(self, ops: Sequence[Any], folder: Path) -> None:
        source, library = folder / "ops.cpp", folder / "ops.so"
        head = "#define __device__\n#define __forceinline__ inline\n"
        source.write_text(head + cuda_source(ops, 'extern "C"'))
        flags = ["-O0", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-fsanitize=undefined"]
        flags += ["-fno-sanitize=float-divide-by-zero,float-cast-overflow", "-fno-sanitize-recover=all"]
        subprocess.run(["g++", *flags, "-o", library, source], check=True)
        self.library = ctypes.CDLL(str(library))

    def run(self, k: int, op: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Operator number `k`."""
        out = np.zeros(len(arrays[0]), op.return_type.np_type)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, out)]
        self.library[f"op_{k}"](*pointers, ctypes.c_int(len(out)))
        return out


def same(got: np.ndarray, want: np.ndarray, *, ulps: int = 0) -> np.ndarray:
    """Where two results agree: exactly, or floats within some units in the last place."""
    if want.dtype.kind != "f":
        return got == want
    equal = (got == want) | (np.isnan(got) & np.isnan(want))
    if ulps:
        with np.errstate(all="ignore"):
            equal |= np.abs(got.astype("f8") - want) <= ulps * np.spacing(np.abs(want)).astype("f8")
    return equal


ALL_TYPES = dtypes.ALL
