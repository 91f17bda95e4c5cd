"""spgraph: graph algorithms as semiring expressions over sparse matrices and vectors.

>>> import spgraph as sg
>>> from spgraph import semiring
>>> A = sg.Matrix.from_coo([0, 0, 1, 2], [1, 2, 3, 3], True, nrows=4, ncols=4)
>>> level = sg.Vector(int, 4)
>>> frontier = sg.Vector.from_coo([0], True, size=4)
>>> depth = 0
>>> while frontier.nvals:
...     level(frontier.S) << depth
...     frontier(~level.S, replace=True) << frontier.vxm(A, semiring.any_pair)
...     depth += 1
>>> level.to_dict()
{0: 0, 1: 1, 2: 1, 3: 2}

The names are python-graphblas's. Operators come from the package ``semirings``, which comes with spgraph.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

import semirings as _semirings

if getattr(_semirings, "__distribution__", None) != "spgraph":
    raise ImportError(
        "spgraph comes with a package named semirings, but another of that name is imported instead, from "
        f"{getattr(_semirings, '__file__', None) or 'an unknown place'}: uninstall that one "
        "(pip uninstall semirings) and reinstall spgraph"
    )

from semirings import agg, binary, dtypes, indexunary, monoid, op, select, semiring, unary
from spgraph import exceptions
from spgraph._output import replace
from spgraph.matrix import Matrix
from spgraph.scalar import Scalar
from spgraph.vector import Vector

__version__ = "0.1.0"

# Imported when first used: they need more than NumPy, or more time than an import should take.
_LAZY_MODULES = ("algorithms", "bench", "copies", "generators", "io", "oracle", "partition", "tasks", "validate")
_LAZY_NAMES = {
    "Context": "spgraph.context",
    "estimate": "spgraph._estimate",
    "loop": "spgraph.loops",
    "trace": "spgraph._trace",
}

__all__ = [
    "Context",
    "Matrix",
    "Scalar",
    "Vector",
    "agg",
    "algorithms",
    "bench",
    "binary",
    "copies",
    "dtypes",
    "estimate",
    "exceptions",
    "generators",
    "indexunary",
    "io",
    "loop",
    "monoid",
    "op",
    "oracle",
    "partition",
    "replace",
    "select",
    "semiring",
    "tasks",
    "trace",
    "unary",
    "validate",
]


def __getattr__(name: str) -> _Any:
    if name in _LAZY_MODULES:
        return _import_module(f"spgraph.{name}")
    if name in _LAZY_NAMES:
        value = globals()[name] = getattr(_import_module(_LAZY_NAMES[name]), name)
        return value
    raise AttributeError(f"module 'spgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
