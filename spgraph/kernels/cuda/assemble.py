"""One text per kernel: prelude, constants, types, operators and the section of a `.cuh` file.

A section begins with a line ``//== name(argument, ...) per=32 block=256 returns=1`` (continued on lines
that begin with ``//=``) and goes on to the next one. Two settings are names: ``value=ADD`` says that the
last result is a value of that operator's type, ``unless=C_FULL`` that nothing is returned where that
constant is true. Text before the first section of a file is common to all. The whole text is the cache key
of the compiled kernel, so nothing may hide behind an ``#include``.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from semirings import expr as ex
from semirings._cuda import C_TYPES, literal

__all__ = ["Section", "assemble", "hardware_atomic", "section"]

FOLDER = Path(__file__).parent
_HEADER = re.compile(r"(\w+)\((.*?)\)(.*)", re.S)
_SETTINGS = {"per": 1, "block": 256, "returns": 0, "blocks_per_sm": 8, "value": "", "unless": ""}


class Section(NamedTuple):
    """One kernel of a file.

    `per` threads share an item, `block` threads make a block, `returns` 64-bit numbers come back, none if the
    constant `unless` is true, the last one as a value of the type of the operator `value`.
    """

    name: str
    arguments: tuple[str, ...]
    per: int
    block: int
    returns: int
    blocks_per_sm: int
    value: str
    unless: str
    head: str
    body: str


@functools.cache
def _read(file: str) -> str:
    return (FOLDER / f"{file}.cuh").read_text("utf-8")


@functools.cache
def sections(file: str) -> dict[str, Section]:
    """The sections of a file by name.

    Examples
    --------
    >>> "pull_all" in sections("pull")
    True
    """
    head, *rest = re.split(r"^//==", _read(file), flags=re.M)
    found = [parse_section(text, head) for text in rest]
    return {one.name: one for one in found}


def section(name: str) -> Section:
    """The section "file.function"."""
    file, function = name.split(".")
    return sections(file)[function]


def parse_section(text: str, head: str = "") -> Section:
    """A section from its text, which begins behind the ``//==`` of its first line."""
    lines = text.split("\n")
    count = 1
    while lines[count].startswith("//="):
        count += 1
    match = _HEADER.match(" ".join(line.removeprefix("//=").strip() for line in lines[:count]).strip())
    if match is None:
        raise ValueError(f"a .cuh file's section begins with {lines[0]!r}, wanted name(arguments) settings")
    name, arguments, settings = match.groups()
    given = dict(setting.split("=") for setting in settings.split())
    unknown = given.keys() - _SETTINGS.keys()
    if unknown:
        raise ValueError(f"section {name}: unknown settings {sorted(unknown)}")
    values: dict = {key: int(given.get(key, default)) if type(default) is int else given.get(key, default)
                    for key, default in _SETTINGS.items()}
    names = tuple(argument.strip() for argument in arguments.split(",") if argument.strip())
    return Section(name, names, **values, head=head, body="\n".join(lines[count:]))


def assemble(kernel: Section, signature: tuple[str, ...], consts: dict, ops: dict) -> str:
    """The whole text of a kernel.

    Parameters
    ----------
    kernel : Section
    signature : tuple of str
        For each argument the C++ type that the launch passes, see `launch.describe`.
    consts : dict of str to bool, int, str or NumPy scalar
        A str is source text; a NumPy scalar keeps its type.
    ops : dict of str to (Expr, tuple of str)
        As for `kernels.cpu._specialise.get_kernel`.

    Returns
    -------
    str
    """
    fields = "".join(f"    {kind} {name};\n" for name, kind in zip(kernel.arguments, signature, strict=True))
    if kernel.returns:
        fields += "    Result* result;\n    u64* host;\n    u64 sequence;\n"
    if kernel.value:
        fields += "    u64* partials;\n"
    parts = [
        f"#define NAME {kernel.name}\n#define BLOCK {kernel.block}\n"
        f"#define BLOCKS_PER_SM {kernel.blocks_per_sm}\n",
        _read("prelude"),
        ex.CUDA_PRELUDE,
        *(_constant(name, value) for name, value in {"ATOMIC": 0, "GLANCE": False, **consts}.items()),
        "#define HAS_MASK\n" if "MASKED" in consts else "",
        *(f"typedef {_element(kind)} E_{name};\n" for name, kind in zip(kernel.arguments, signature)),
        f"struct Args {{\n    i64 n;\n{fields}}};\n",
        _read("after"),
        *(_operator(name, *op) for name, op in ops.items()),
        *(_STUB.format(name) for name in _lacking(kernel, ops)),
        kernel.head,
        kernel.body,
    ]
    return "".join(parts)


# A discarded branch of a kernel is still compiled as far as its names go: operators that this use lacks get a stub.
_OPERATORS = frozenset(["ACC", "ADD", "BOTH", "DUP", "KEEP", "LEFT", "MULT", "OP", "PAIR", "RIGHT", "STORE", "TAKE"])
_CALLED = re.compile(r"\b([A-Z]+)\(")
_STUB = "typedef int R_{0};\ntemplate <class... X> DEVICE int {0}(const X&...) {{ return 0; }}\n"


def _lacking(kernel: Section, ops: dict) -> list[str]:
    called = _CALLED.findall(kernel.head + kernel.body)
    return sorted(_OPERATORS.intersection(called) - ops.keys())


def _element(kind: str) -> str:
    return kind.removesuffix("*").removeprefix("One<").removesuffix(">")


def _constant(name: str, value) -> str:
    if isinstance(value, np.generic):
        return f"#define {name} {literal(value)}\n"
    if isinstance(value, bool):
        return f"constexpr bool {name} = {str(value).lower()};\n"
    if isinstance(value, int):
        return f"constexpr i64 {name} = {value};\n"
    return f"#define {name} {value}\n"


def _operator(name: str, expr: ex.Expr, operands: tuple[str, ...]) -> str:
    """A device function; operands that the expression does not use are accepted and ignored."""
    types = {node.name: C_TYPES[node.dtype.name] for node in ex.walk(expr) if isinstance(node, ex.Input)}
    parameters = ", ".join(f"{types[x]} {x}" if x in types else "Ignored" for x in operands)
    result = C_TYPES[expr.dtype.name]
    body = "\n".join(f"    {line}" for line in ex.to_cuda(expr, "z"))
    function = f"DEVICE {result} {name}({parameters}) {{\n    {result} z;\n{body}\n    return z;\n}}\n"
    return f"typedef {result} R_{name};\n{function}"


ATOMICS = {"add": 1, "fmin": 2, "minimum": 2, "fmax": 3, "maximum": 3, "bitwise_or": 4, "bitwise_and": 5,
           "bitwise_xor": 6}
FLOAT_ATOMICS = {"fmin": 7, "fmax": 8}  # those that NaN ends have no such instruction


def hardware_atomic(monoid) -> int:
    """The constant ATOMIC for a typed monoid: which instruction does its work, 0 if none.

    Examples
    --------
    >>> from semirings import monoid
    >>> hardware_atomic(monoid.plus["FP32"]), hardware_atomic(monoid.min["INT8"])
    (1, 0)
    """
    expr, dtype = monoid.binaryop.expr, monoid.type.np_type
    plain = isinstance(expr, ex.Call) and all(isinstance(arg, ex.Input) for arg in expr.args)
    code = ATOMICS.get(expr.label, 0) if plain else 0
    if dtype.itemsize < 4:
        return 0
    if code > 1 and dtype.kind == "f":
        return FLOAT_ATOMICS.get(expr.label, 0)
    return code
