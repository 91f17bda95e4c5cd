"""Aggregators: what they compute, and that running their parts as reductions gives the same."""

from __future__ import annotations

import numpy as np
import pytest
from semirings_values import operators

from semirings import agg
from semirings.dtypes import ALL, BOOL, FP32, FP64, INT64
from semirings.exceptions import DomainMismatch, InvalidValue
from semirings.expr import evaluate

VALUES = np.array([3, 1, 4, 1, 5, 9, 2, 6])

WANT = {
    "sum": np.sum,
    "prod": np.prod,
    "min": np.min,
    "max": np.max,
    "all": np.all,
    "any": np.any,
    "count": len,
    "count_nonzero": np.count_nonzero,
    "count_zero": lambda v: np.sum(v == 0),
    "exists": lambda v: 1,
    "sum_of_squares": lambda v: np.sum(v**2),
    "sum_of_inverses": lambda v: np.sum(1 / v),
    "L1norm": lambda v: np.sum(np.abs(v)),
    "hypot": lambda v: np.sqrt(np.sum(v**2)),
    "Linfnorm": lambda v: np.max(np.abs(v)),
    "logaddexp": lambda v: np.log(np.sum(np.exp(v))),
    "logaddexp2": lambda v: np.log2(np.sum(2.0**v)),
    "peak_to_peak": np.ptp,
    "mean": np.mean,
    "varp": np.var,
    "vars": lambda v: np.var(v, ddof=1),
    "stdp": np.std,
    "stds": lambda v: np.std(v, ddof=1),
    "geometric_mean": lambda v: np.prod(v) ** (1 / len(v)),
    "harmonic_mean": lambda v: len(v) / np.sum(1 / v),
    "root_mean_square": lambda v: np.sqrt(np.mean(v**2)),
    "first": lambda v: v[0],
    "last": lambda v: v[-1],
    "ss.last": lambda v: v[-1],
    "argmin": np.argmin,
    "argmax": np.argmax,
    "first_index": lambda v: 0,
    "last_index": lambda v: len(v) - 1,
    "bitwise_all": np.bitwise_and.reduce,
    "bitwise_any": np.bitwise_or.reduce,
}


@pytest.mark.parametrize("name", WANT)
def test_values(name):
    op = agg.from_string(name)
    dtype = "UINT64" if name.startswith("bitwise") else "FP64"
    got = op[dtype].numpy(VALUES)
    assert got.dtype == op[dtype].return_type.np_type
    np.testing.assert_allclose(got, WANT[name](VALUES.astype(dtype.lower() if dtype == "UINT64" else "f8")), rtol=1e-12)


def test_every_aggregator_is_tested():
    assert {op.name for op in operators(agg)} - {*WANT} == {"any_value"}
    assert agg.any_value["INT8"].numpy([7, 7]) == 7


@pytest.mark.parametrize("op", operators(agg), ids=repr)
def test_parts_as_reductions(op):
    """As an engine does it: map, reduce by rows, finish; each row must be what the reference says."""
    rows = np.array([[3, 1, 4], [1, 1, 0], [2, 6, 5]])
    for dtype in op.types:
        typed = op[dtype]
        if typed.pick is not None:
            assert typed.parts == ()
            assert typed.finish is None
            with pytest.raises(InvalidValue, match="picks an entry"):
                typed.finish_numpy()
            continue
        reduced = []
        for mapped, monoid in typed.parts:
            assert mapped.dtype == monoid.type.np_type
            values = np.broadcast_to(evaluate(mapped, {"x": rows.astype(dtype.np_type)}), rows.shape)
            reduced.append([monoid.reduce(row) for row in values])
        with np.errstate(all="ignore"):
            got = typed.finish_numpy(*reduced)
        want = [typed.numpy(row.astype(dtype.np_type)) for row in rows]
        assert got.dtype == typed.return_type.np_type == want[0].dtype
        if op.name != "any_value":
            np.testing.assert_allclose(got, want)


def test_counts_do_not_wrap():
    ones = np.ones(300, np.uint8)
    assert agg.count["UINT8"].numpy(ones) == agg.count_nonzero["UINT8"].numpy(ones) == 300
    assert agg.count["BOOL"].numpy([True, True, False]) == 3
    assert agg.count_nonzero["BOOL"].numpy([True, True, False]) == 2
    assert agg.sum["UINT8"].numpy(ones) == 300 % 256  # arithmetic of the type, as GraphBLAS says


def test_nothing():
    for name in ("count", "count_nonzero", "count_zero"):
        assert agg.from_string(name)["FP32"].empty == 0
        assert agg.from_string(name)["FP32"].numpy([]) == 0
    assert agg.sum[INT64].numpy([]) is None
    assert agg.mean[INT64].empty is None


def test_sum_of_booleans_is_refused():
    with pytest.raises(DomainMismatch, match=r"plus over BOOL is logical or: use agg\.count_nonzero"):
        agg.sum[BOOL]
    assert BOOL not in agg.L1norm
    assert agg.mean[BOOL].numpy([True, False]) == 0.5


def test_statistics_of_one_value():
    assert np.isnan(agg.vars[FP64].numpy([5.0]))
    assert np.isnan(agg.stds[FP64].numpy([5.0]))
    assert agg.varp[FP64].numpy([5.0]) == 0
    assert agg.stdp[FP64].numpy([0.1, 0.1, 0.1]) == 0  # rounding does not make it NaN


def test_logaddexp_is_stable():
    assert agg.logaddexp[FP64].numpy([1000.0, 1000.0]) == pytest.approx(1000 + np.log(2))


def test_positions():
    values, at = np.array([4, 9, 4, 9]), [3, 5, 7, 11]
    assert agg.argmin[INT64].numpy(values, at) == 3
    assert agg.argmax[INT64].numpy(values, at) == 5
    assert agg.first_index[INT64].numpy(values, at) == 3
    assert agg.last_index[INT64].numpy(values, at) == 11
    assert agg.argmax[FP64].numpy([np.nan, 1, 2]) == 2
    assert agg.argmax[FP64].numpy([np.nan, np.nan]) == 0


def test_keys_and_types():
    keys = {agg.from_string(name)[FP64].key for name in WANT if not name.startswith("bitwise")}
    assert len(keys) == len(WANT) - 3  # ss.last is last
    assert agg.mean[FP32].return_type == FP32
    assert agg.hypot[FP32].return_type == FP64
    assert all(agg.count[dtype].return_type == INT64 for dtype in ALL)
