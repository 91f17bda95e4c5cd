"""The built-in aggregators, one row each.

Where python-graphblas's recipe wraps or overflows, this one does not: counts are INT64 whatever the
values, means and variances add up in FP64, logaddexp is stable. The types of results are
python-graphblas's, but for count_nonzero and count_zero (the values' type there).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from semirings._aggregators import Aggregator
from semirings.dtypes import ALL, FLOATS, FP32, FP64, INT64, UINT64, UNSIGNED, DataType


def _one(x: Any) -> Any:
    return np.ones_like(x, dtype=np.int64)


def _real(x: Any) -> Any:
    return x.astype(np.float64)


def _square_real(x: Any) -> Any:
    return np.square(x.astype(np.float64))


def _square(x: Any) -> Any:
    exact = x.dtype.kind in "iu" and x.dtype != np.uint64
    return np.square(x.astype(np.int64 if exact else np.float64))


def _moments(function: Callable[[Any, Any, Any], Any]) -> tuple[Any, ...]:
    return ((_one, "plus"), (_real, "plus"), (_square_real, "plus")), function


def _varp(n: Any, total: Any, squares: Any) -> Any:
    mean = total / n
    return np.maximum(squares / n - mean * mean, 0)  # rounding does not make it negative


def _vars(n: Any, total: Any, squares: Any) -> Any:
    return np.maximum((squares - total * (total / n)) / (n - 1), 0)


def _like_division(dtype: DataType) -> DataType:
    return FP32 if dtype == FP32 else FP64


def _square_type(dtype: DataType) -> DataType:
    return FP64 if dtype in FLOATS or dtype == UINT64 else INT64


NUMBERS = ALL[1:]
_NO_SUM = "plus over BOOL is logical or: use agg.count_nonzero to count, agg.any to ask"

ROWS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    # name: parts, finish, flags
    "sum": ([(None, "plus")], None, {"domain": NUMBERS, "instead": _NO_SUM}),
    "prod": ([(None, "times")], None, {}),
    "min": ([(None, "min")], None, {}),
    "max": ([(None, "max")], None, {}),
    "any_value": ([(None, "any")], None, {}),
    "all": ([(lambda x: x != 0, "land")], None, {}),
    "any": ([(lambda x: x != 0, "lor")], None, {}),
    "bitwise_all": ([(None, "band")], None, {"domain": UNSIGNED}),
    "bitwise_any": ([(None, "bor")], None, {"domain": UNSIGNED}),
    "count": ([(_one, "plus")], None, {"empty": 0}),
    "count_nonzero": ([(lambda x: (x != 0).astype(np.int64), "plus")], None, {"empty": 0}),
    "count_zero": ([(lambda x: (x == 0).astype(np.int64), "plus")], None, {"empty": 0}),
    "exists": ([(_one, "any")], None, {}),
    "sum_of_squares": ([(_square, "plus")], None, {"domain": NUMBERS, "returns": _square_type}),
    "sum_of_inverses": ([(lambda x: 1 / _real(x), "plus")], None, {"domain": NUMBERS}),
    "L1norm": ([(np.abs, "plus")], None, {"domain": NUMBERS, "instead": _NO_SUM}),
    "hypot": ([(_square_real, "plus")], np.sqrt, {"domain": NUMBERS}),
    "Linfnorm": ([(np.abs, "max")], None, {}),
    "logaddexp": ([(_real, "numpy.logaddexp")], None, {"domain": NUMBERS}),
    "logaddexp2": ([(_real, "numpy.logaddexp2")], None, {"domain": NUMBERS}),
    "peak_to_peak": (
        [(None, "max"), (None, "min")],
        lambda high, low: high ^ low if high.dtype.kind == "b" else high - low,
        {},
    ),
    "mean": ([(_one, "plus"), (_real, "plus")], lambda n, total: total / n, {"returns": _like_division}),
    "varp": (*_moments(_varp), {"returns": _like_division}),
    "vars": (*_moments(_vars), {"returns": _like_division}),
    "stdp": (*_moments(lambda *r: np.sqrt(_varp(*r))), {"returns": _like_division}),
    "stds": (*_moments(lambda *r: np.sqrt(_vars(*r))), {"returns": _like_division}),
    "geometric_mean": (
        [(_one, "plus"), (_real, "times")],
        lambda n, product: np.power(product, 1 / n),
        {"returns": _like_division},
    ),
    "harmonic_mean": (
        [(_one, "plus"), (lambda x: 1 / _real(x), "plus")],
        lambda n, inverses: n / inverses,
        {"domain": NUMBERS},
    ),
    "root_mean_square": (
        [(_one, "plus"), (_square_real, "plus")],
        lambda n, squares: np.sqrt(squares / n),
        {"returns": _like_division},
    ),
}

PICKS = {
    # name: which entry, what of it
    "first": ("first", "value"),
    "last": ("last", "value"),
    "first_index": ("first", "index"),
    "last_index": ("last", "index"),
    "argmin": ("min", "index"),
    "argmax": ("max", "index"),
}

ALIASES = {"L0norm": "count_nonzero", "L2norm": "hypot"}

SYMBOLS = {"+": "sum", "*": "prod", "&": "all", "|": "any"}


def operators() -> Iterator[tuple[str, Aggregator]]:
    """Every aggregator, with every name that it has."""
    made: dict[str, Aggregator] = {}
    for name, (parts, finish, flags) in ROWS.items():
        made[name] = Aggregator(name, parts, finish, **{"domain": ALL, **flags})
    for name, (pick, gives) in PICKS.items():
        made[name] = made[f"ss.{name}"] = Aggregator(name, (), domain=ALL, pick=pick, gives=gives)
    for alias, name in ALIASES.items():
        made[alias] = made[name]
    return iter(made.items())
