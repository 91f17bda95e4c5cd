"""The built-in index-unary and select operators, one row each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semirings._operators import IndexUnaryOp, SelectOp
from semirings.dtypes import ALL


def _position(func: Any) -> Any:
    def position(x: Any, i: Any, j: Any, thunk: Any) -> Any:
        where = func(i, j, thunk)
        return where.astype(np.int32) if x.dtype == np.int32 else where

    return position


# name: function of value, row, column and thunk. Comparisons are written so that no sum overflows.
POSITIONAL = {
    "rowindex": _position(lambda i, j, thunk: i + thunk),
    "colindex": _position(lambda i, j, thunk: j + thunk),
    "diagindex": _position(lambda i, j, thunk: j - i - thunk),  # SuiteSparse's sign: 0 where diag is true
    "tril": lambda x, i, j, thunk: j - i <= thunk,
    "triu": lambda x, i, j, thunk: j - i >= thunk,
    "diag": lambda x, i, j, thunk: j - i == thunk,
    "offdiag": lambda x, i, j, thunk: j - i != thunk,
    "rowle": lambda x, i, j, thunk: i <= thunk,
    "rowgt": lambda x, i, j, thunk: i > thunk,
    "colle": lambda x, i, j, thunk: j <= thunk,
    "colgt": lambda x, i, j, thunk: j > thunk,
}

VALUE = {
    "valueeq": lambda x, i, j, thunk: x == thunk,
    "valuene": lambda x, i, j, thunk: x != thunk,
    "valuelt": lambda x, i, j, thunk: x < thunk,
    "valuele": lambda x, i, j, thunk: x <= thunk,
    "valuegt": lambda x, i, j, thunk: x > thunk,
    "valuege": lambda x, i, j, thunk: x >= thunk,
}

# for vectors, whose index is the row
ALIASES = {"index": "rowindex", "indexle": "rowle", "indexgt": "rowgt"}

NOT_SELECT = frozenset({"rowindex", "colindex", "diagindex", "index"})

SYMBOLS = {
    "<": "valuelt",
    ">": "valuegt",
    "<=": "valuele",
    ">=": "valuege",
    "!=": "valuene",
    "==": "valueeq",
    "col<=": "colle",
    "col>": "colgt",
    "row<=": "rowle",
    "row>": "rowgt",
    "index<=": "indexle",
    "index>": "indexgt",
}


def _make(cls: type[IndexUnaryOp]) -> dict[str, Any]:
    made = {name: cls(name, func, ALL, positional=True) for name, func in POSITIONAL.items()}
    made.update((name, cls(name, func, ALL)) for name, func in VALUE.items())
    made.update((alias, made[name]) for alias, name in ALIASES.items())
    return made


def operators() -> Iterator[tuple[str, IndexUnaryOp]]:
    """Every built-in index-unary operator, with every name that it has."""
    return iter(_make(IndexUnaryOp).items())


def select_operators() -> Iterator[tuple[str, SelectOp]]:
    """Every built-in select operator, with every name that it has."""
    return ((name, op) for name, op in _make(SelectOp).items() if name not in NOT_SELECT)
