"""The built-in semirings: which monoids go with which products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from semirings import _binary, _monoid_table, _registry
from semirings._monoids import Semiring

ARITHMETIC = ("any", "max", "min", "plus", "times")
LOGIC = ("eq", "land", "lor", "lxor", "lxnor")
BITS = ("band", "bor", "bxor", "bxnor")

_COMMON = ("first", "second", "pair", "land", "lor", "lxor")
_COMPARE = ("eq", "ne", "gt", "lt", "ge", "le")
_NUMBERS = (
    *("plus", "minus", "rminus", "times", "max", "min", "cdiv", "rdiv"),
    *("truediv", "rtruediv", "floordiv", "rfloordiv"),
    *("iseq", "isne", "isgt", "islt", "isge", "isle"),
)
_ABS = ("absfirst", "abssecond")

# monoids, products
FAMILIES = (
    (ARITHMETIC, (*_COMMON, *_NUMBERS)),
    (("any", *LOGIC), _COMPARE),
    (LOGIC, _COMMON),
    (BITS, BITS),
    (("plus",), ("pow", "rpow", *_ABS)),
    (("max",), _ABS),
)

# NumPy's monoids and products go together unless one gives what the other cannot take
_INT_ONLY = {"gcd", "lcm", "left_shift", "right_shift"}
_FLOAT_ONLY = {
    *("arctan2", "copysign", "divide", "float_power", "hypot", "ldexp", "logaddexp", "logaddexp2"),
    *("nextafter", "true_divide"),
}
_BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor"}
_GIVE_BOOL = {"equal", "not_equal", "greater", "greater_equal", "less", "less_equal"}
_NEVER_BOOL = {"floor_divide", "fmod", "mod", "remainder"}
REFUSED = {
    **dict.fromkeys(("hypot", "logaddexp", "logaddexp2"), _INT_ONLY | _BITWISE | _GIVE_BOOL),
    **dict.fromkeys((*_BITWISE, "gcd"), _FLOAT_ONLY | _GIVE_BOOL),
    **dict.fromkeys(
        ("equal", "logical_and", "logical_or", "logical_xor"),
        _INT_ONLY | _FLOAT_ONLY | _BITWISE | _NEVER_BOOL,
    ),
}


def _numpy_names(tables: Iterable[Iterable[str]]) -> list[str]:
    return [name.removeprefix("numpy.") for table in tables for name in table if name.startswith("numpy.")]


def operators() -> Iterator[tuple[str, Semiring]]:
    """Every built-in semiring, with every name that it has."""
    monoids, binaries = _registry.root_of("monoid"), _registry.root_of("binary")
    made: dict[str, Semiring] = {}
    for add_names, multiply_names in FAMILIES:
        for add, multiply in product(add_names, multiply_names):
            name = f"{add}_{multiply}"
            made.setdefault(name, Semiring(name, monoids.find(add), binaries.find(multiply)))
    for add, multiply in product(ARITHMETIC, _binary.POSITIONAL):
        short = f"{add}_{multiply.removeprefix('ss.')}"
        made[f"ss.{short}"] = made[short] = Semiring(
            f"ss.{short}", monoids.find(add), binaries.find(multiply)
        )
    for add, multiply in product(
        _numpy_names((_monoid_table.MONOIDS, _monoid_table.ALIASES)),
        _numpy_names((_binary.FUNCTIONS, _binary.ALIASES)),
    ):
        if multiply not in REFUSED.get(add, ()):
            name = f"numpy.{add}_{multiply}"
            m, b = monoids.find(f"numpy.{add}"), binaries.find(f"numpy.{multiply}")
            same = made.get(f"{m.name}_{b.name}")  # both have names of GraphBLAS
            made[name] = same if same is not None else Semiring(name, m, b)
    return iter(made.items())
