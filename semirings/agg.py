"""Aggregators: reductions of many values to one.

Monoids: sum, prod, min, max, all, any, any_value, bitwise_all, bitwise_any. Counts: count, count_nonzero
(L0norm), count_zero, exists. Sums: sum_of_squares, sum_of_inverses, L1norm, L2norm (hypot),
Linfnorm, logaddexp, logaddexp2. Statistics: mean, varp, vars, stdp, stds (p of the population, s of a
sample), geometric_mean, harmonic_mean, root_mean_square, peak_to_peak. Entries: first, last,
first_index, last_index, argmin, argmax (also in ``agg.ss``).

How an aggregator runs is described by `TypedAggregator`.

>>> import numpy as np
>>> from semirings import agg
>>> agg.count["BOOL"].return_type, agg.mean["FP32"].return_type
(INT64, FP32)
>>> agg.stds(np.array([1.0, 2.0, 3.0, 4.0]))
np.float64(1.2909944487358056)
"""

from __future__ import annotations

from typing import Any

from semirings import _agg, _registry
from semirings._aggregators import Aggregator, Part, TypedAggregator

__all__ = ["Aggregator", "Part", "TypedAggregator", "from_string"]

_root = _registry.make_root("agg", _agg.operators, globals())


def from_string(string: str) -> Any:
    """The aggregator of a name or symbol, such as ``"+"``, ``"mean"`` or ``"count[INT64]"``.

    Examples
    --------
    >>> from_string("+"), from_string("mean[FP32]")
    (agg.sum, agg.mean[FP32])
    """
    return _registry.from_string("agg", string, _agg.SYMBOLS, "sum[INT64]")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
