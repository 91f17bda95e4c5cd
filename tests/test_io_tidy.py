"""Dropping, merging, mirroring: against a dictionary of edges, and the counts that reports promise."""

import operator
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from semirings import binary, monoid
from semirings.exceptions import DomainMismatch, InvalidValue, OutOfMemory
from spgraph.block import width
from spgraph.io import _coo, _keys
from spgraph.io._coo import Edges, invalid, tidy

N = 6
FOLDS = {
    "min": min,
    "max": max,
    "plus": operator.add,
    "times": operator.mul,
    "first": lambda x, y: x,
    "last": lambda x, y: y,
}

pairs = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.integers(-9, 9)), max_size=25)


def edges_of(triples, mirror=None, iso=False, n=N):
    rows, cols, values = (np.array([t[k] for t in triples], np.int64) for k in range(3))
    return Edges(rows, cols, np.True_ if iso else values, n, n, "test", invalid("test"), mirror=mirror)


def as_dict(csr):
    rows = np.repeat(np.arange(csr.nrows), np.diff(csr.indptr))
    values = np.broadcast_to(csr.values, rows.shape)
    assert np.all(np.diff(rows * csr.ncols + csr.indices) > 0), "rows sorted by column, no duplicates"
    return dict(zip(zip(rows.tolist(), csr.indices.tolist()), values.tolist()))


def check_report(csr, given_edges):
    report = csr.report
    assert report.edges == given_edges
    assert report.stored == csr.indices.size == int(csr.indptr[-1])
    balance = report.edges - report.self_loops_dropped - report.duplicates_merged + report.reversed_added
    assert balance == report.stored


def model(triples, fold, *, drop=False, mirror=None, symmetrize=False):
    if drop:
        triples = [t for t in triples if t[0] != t[1]]
    if mirror == "symmetric":
        triples = [t for u, v, w in triples for t in ((u, v, w), (v, u, w))[: 1 + (u != v)]]
    if mirror == "skew-symmetric":  # what stands above the diagonal means its twin
        triples = [(u, v, w) if u >= v else (v, u, -w) for u, v, w in triples]
    result = {}
    for u, v, w in triples:
        result[u, v] = fold(result[u, v], w) if (u, v) in result else w
    if mirror == "skew-symmetric":
        result |= {(v, u): -w for (u, v), w in result.items() if u != v}
    if symmetrize and mirror != "symmetric":
        both = {}
        for u, v in {(min(pair), max(pair)) for pair in result}:
            if (u, v) in result and (v, u) in result and u != v:
                w = fold(result[u, v], result[v, u])
            else:
                w = result.get((u, v), result.get((v, u)))
            both[u, v] = both[v, u] = w
        result = both
    return result


@given(
    pairs,
    st.sampled_from(sorted(FOLDS)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "symmetric", "skew-symmetric"]),
)
def test_like_a_dictionary(triples, name, drop, symmetrize, mirror):
    csr = tidy(edges_of(triples, mirror), drop_self_loops=drop, symmetrize=symmetrize, dup_op=name)
    assert as_dict(csr) == model(triples, FOLDS[name], drop=drop, mirror=mirror, symmetrize=symmetrize)
    check_report(csr, len(triples))
    if csr.symmetric:
        stored = as_dict(csr)
        assert all(stored[v, u] == w for (u, v), w in stored.items())


@given(pairs, st.booleans(), st.booleans(), st.sampled_from([None, "symmetric"]))
def test_patterns_stay_one_value(triples, drop, symmetrize, mirror):
    csr = tidy(
        edges_of(triples, mirror, iso=True), drop_self_loops=drop, symmetrize=symmetrize, dup_op="plus"
    )
    expected = model(triples, FOLDS["first"], drop=drop, mirror=mirror, symmetrize=symmetrize)
    assert np.ndim(csr.values) == 0
    assert as_dict(csr).keys() == expected.keys()
    check_report(csr, len(triples))


@given(pairs)
def test_multiplicities_of_a_pattern(triples):
    csr = tidy(edges_of(triples, iso=True), dup_op="plus", dtype=np.int64)
    ones = [(u, v, 1) for u, v, _ in triples]
    assert as_dict(csr) == model(ones, operator.add)


@given(pairs)
def test_without_dup_op_duplicates_raise(triples):
    distinct = len({t[:2] for t in triples})
    if distinct == len(triples):
        assert as_dict(tidy(edges_of(triples))) == {t[:2]: t[2] for t in triples}
    else:
        with pytest.raises(InvalidValue, match=f"{len(triples) - distinct} duplicate.*dup_op="):
            tidy(edges_of(triples))


def test_the_message_names_the_first_repeated_entry():
    with pytest.raises(InvalidValue, match=r"entry 3: the pair \(1, 2\) was there before"):
        tidy(edges_of([(1, 2, 0), (0, 1, 0), (5, 5, 0), (1, 2, 0), (0, 1, 0)]))
    with pytest.raises(
        InvalidValue, match=r"entry 4: the pair \(0, 1\)"
    ):  # numbers of the input, not of what is left
        tidy(edges_of([(2, 2, 0), (0, 1, 0), (5, 5, 0), (4, 4, 0), (0, 1, 0)]), drop_self_loops=True)


def test_symmetrize_needs_agreement_or_an_operator():
    assert as_dict(tidy(edges_of([(0, 1, 3), (1, 0, 3), (2, 3, 4)]), symmetrize=True)) == {
        (0, 1): 3,
        (1, 0): 3,
        (2, 3): 4,
        (3, 2): 4,
    }
    with pytest.raises(InvalidValue, match=r"\(0, 1\) is 3 but \(1, 0\) is 5"):
        tidy(edges_of([(0, 1, 3), (1, 0, 5)]), symmetrize=True)
    both_nan = Edges(np.array([0, 1]), np.array([1, 0]), np.array([np.nan, np.nan]), 2, 2, "x", invalid("x"))
    assert tidy(both_nan, symmetrize=True).report.stored == 2
    with pytest.raises(InvalidValue, match="square"):
        tidy(Edges(np.array([0]), np.array([1]), np.True_, 1, 2, "x", invalid("x")), symmetrize=True)


def test_operators_as_dup_op():
    twice = [(0, 1, 3), (0, 1, 5), (0, 1, 6)]
    assert as_dict(tidy(edges_of(twice), dup_op=binary.minus))[0, 1] == 3 - 5 - 6
    assert as_dict(tidy(edges_of(twice), dup_op=monoid.max))[0, 1] == 6
    own = binary.register_anonymous(lambda x, y: 10 * x + y)
    assert as_dict(tidy(edges_of(twice), dup_op=own))[0, 1] == 356
    with pytest.raises(DomainMismatch, match="must keep their type"):
        tidy(edges_of(twice), dup_op=binary.truediv)
    with pytest.raises(InvalidValue, match=r"dup_op: got 'sun'"):
        tidy(edges_of(twice), dup_op="sun")
    with pytest.raises(InvalidValue, match="dup_op: got int"):
        tidy(edges_of(twice), dup_op=3)


def test_sums_do_not_wrap():
    big = [(0, 1, 2**62), (0, 1, 2**62)]
    with pytest.raises(InvalidValue, match="does not fit int64"):
        tidy(edges_of(big), dup_op="plus")
    assert as_dict(tidy(edges_of(big), dup_op="plus", dtype=np.uint64))[0, 1] == 2**63
    small = Edges(np.array([0, 0]), np.array([1, 1]), np.array([200, 100], np.uint8), 2, 2, "x", invalid("x"))
    with pytest.raises(InvalidValue, match="does not fit uint8"):
        tidy(small, dup_op="plus")


@pytest.mark.parametrize(
    ("values", "dtype", "ok"),
    [
        ([1, 127], np.int8, True),
        ([128], np.int8, False),
        ([-1], np.uint8, False),
        ([-1], np.uint64, False),
        ([2**62], np.float32, True),
        ([1.0, -3.0], np.int64, True),
        ([1.5], np.int64, False),
        ([np.nan], np.int64, False),
        ([1e300], np.float32, False),
        ([np.inf], np.float32, True),
        ([2.0**63], np.int64, False),
        ([2.0**63], np.uint64, True),
        ([2.0**64], np.uint64, False),
        ([0, 7], np.bool_, True),
    ],
)
def test_casts_lose_nothing_unseen(values, dtype, ok):
    edges = Edges(np.arange(len(values)), np.arange(len(values)), np.array(values), 9, 9, "x", invalid("x"))
    if ok:
        assert tidy(edges, dtype=dtype).values.tolist() == np.array(values).astype(dtype).tolist()
        assert tidy(edges, dtype=dtype).values.dtype == dtype
    else:
        with pytest.raises(InvalidValue, match=r"entry 0: .* does not fit dtype"):
            tidy(edges, dtype=dtype)


def test_skew_of_the_smallest_integer():
    edges = edges_of([(1, 0, -(2**63))], "skew-symmetric")
    with pytest.raises(InvalidValue, match="does not fit in 64 bits"):
        tidy(edges)


@given(pairs, st.booleans(), st.booleans())
def test_ids_too_wide_for_one_key(triples, symmetrize, drop):
    """Beyond 2**31.5 vertices a pair does not fit 63 bits: the ids in use are ranked first."""
    options = {"symmetrize": symmetrize, "drop_self_loops": drop, "dup_op": "min"}
    far = [(700 * u, 700 * v, w) for u, v, w in triples]
    normal = tidy(edges_of(far, n=4096), **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coo, "KEY_BITS", 20)
        wide = tidy(edges_of(far, n=4096), **options)
    assert as_dict(wide) == as_dict(normal)
    assert wide.report == normal.report
    assert wide.indptr.size == 4097


def test_indices_widen_by_themselves(monkeypatch):
    narrow = tidy(edges_of([(0, 1, 3), (5, 2, 4)]), symmetrize=True)
    monkeypatch.setattr(width, "LIMIT", 4)
    wide = tidy(edges_of([(0, 1, 3), (5, 2, 4)]), symmetrize=True)
    assert narrow.indptr.dtype == narrow.indices.dtype == np.int32
    assert wide.indptr.dtype == wide.indices.dtype == np.int64
    assert as_dict(narrow) == as_dict(wide)


@given(st.lists(st.integers(-1, 50), min_size=1, max_size=300), st.integers(1, 4))
def test_sorting_in_threads(keys, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_keys, "PARALLEL_SORT", 1)
        patch.setattr(_keys, "threads", lambda: count)
        array = np.array(keys * 9)
        _keys.sort_keys(array)
    assert array.tolist() == sorted(keys * 9)


@given(st.lists(st.integers(0, 50), max_size=100), st.sampled_from([10, 63]))
def test_positions_are_stable(keys, bits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_keys, "KEY_BITS", bits)
        ordered, positions = _keys.sort_with_positions(np.array(keys, np.int64), 6)
    expected = sorted(range(len(keys)), key=keys.__getitem__)
    assert ordered.tolist() == sorted(keys)
    assert (expected if positions is None else positions.tolist()) == expected


# ---- values that combine and mirror ----------------------------------------------------
def typed(values, mirror=None):
    """Parallel edges from 1 to 0."""
    ends = np.ones(len(values), np.int64), np.zeros(len(values), np.int64)
    return Edges(*ends, np.array(values), 2, 2, "test", invalid("test"), mirror=mirror)


@pytest.mark.parametrize("given_values", [[np.nan, 3.0], [3.0, np.nan], [np.nan, 3.0, 7.0], [np.nan, np.nan]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", ["min", "max", "minimum", "maximum", "fmin", monoid.min, binary.max])
def test_nan_as_the_engine_has_it(given_values, dtype, op):
    values = np.array(given_values, dtype)
    (found,) = tidy(typed(values), dup_op=op).values
    op = binary.from_string(op) if isinstance(op, str) else op
    same = [1] * values.size, [0] * values.size
    (wanted,) = sg.Matrix.from_coo(*same, values, nrows=2, ncols=2, dup_op=op).to_coo()[2]
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize(
    "values", [[5, 0], [0, 0], [0, 5], [3, 4], [5, 0, 0], [0.5, 0.0], [np.nan, 0.0], [True, False]]
)
@pytest.mark.parametrize("op", ["lor", "land", "lxor", "eq", "ne", "lt", "iseq"])
def test_truth_values_are_numbers_as_in_the_engine(values, op):
    edges = typed(values)
    extra = Edges(np.append(edges.rows, 0), np.append(edges.cols, 1), np.append(edges.values, edges.values[:1]), 2, 2,
                  "test", invalid("test"))  # fmt: skip
    found = tidy(extra, dup_op=op).values
    wanted = sg.Matrix.from_coo(extra.rows, extra.cols, extra.values, nrows=2, ncols=2, dup_op=op).to_coo()[2]
    assert found.dtype == wanted.dtype == edges.values.dtype
    assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f")  # one stays as it was


@pytest.mark.parametrize("op", ["lxnor", "pair"])
def test_operators_of_another_type_are_refused(op):
    """The engine casts all values to it, those of no duplicates too."""
    with pytest.raises(DomainMismatch, match=f"dup_op={op}: float64 becomes .*, but duplicates must keep their type"):
        tidy(typed([0.5, 2.0]), dup_op=op)


@pytest.mark.parametrize("op", ["firsti", "secondj", binary.firstj])
def test_operators_that_ask_for_positions_are_refused(op):
    with pytest.raises(DomainMismatch, match=r"dup_op=[\w.]+: it asks for positions"):
        tidy(typed([1, 2]), dup_op=op)


def test_truth_of_one_value_for_all():
    ends = np.ones(2, np.int64), np.zeros(2, np.int64)
    for value, wanted in ((np.int64(5), 1), (np.int64(1), 1), (np.True_, True)):
        csr = tidy(Edges(*ends, value, 2, 2, "test", invalid("test")), dup_op="lor")
        assert np.broadcast_to(csr.values, 1).tolist() == [wanted]


@pytest.mark.parametrize(
    ("op", "values", "told"),
    [
        ("minus", np.array([0, 1], np.uint8), "-1 does not fit uint8"),
        ("minus", np.array([-(2**63), 1]), "-9.22337e+18 does not fit int64"),
        ("minus", np.array([2**63, 2**63, 1], np.uint64), "-1 does not fit uint64"),
        ("rminus", np.array([1, 0], np.uint8), "-1 does not fit uint8"),
        ("rminus", np.array([-128, 0], np.int8), "128 does not fit int8"),
        ("pow", np.array([2, 8], np.uint8), "256 does not fit uint8"),
    ],
)
def test_differences_and_powers_do_not_wrap(op, values, told):
    with pytest.raises(InvalidValue, match=re.escape(told)):
        tidy(typed(values), dup_op=op)


def test_differences_that_fit():
    assert tidy(typed(np.array([200, 100, 99], np.uint8)), dup_op="minus").values.tolist() == [1]
    assert tidy(typed(np.array([100, 200], np.uint8)), dup_op="rminus").values.tolist() == [100]
    assert tidy(typed(np.array([0.0, 1.5])), dup_op="minus").values.tolist() == [-1.5]
    assert tidy(typed([True, True]), dup_op="minus").values.tolist() == [False]


@pytest.mark.parametrize(("op", "wanted"), [("min", 3), ("max", 4), ("times", 12), ("plus", 7), ("minus", -1)])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_skew_symmetric_duplicates_combine_before_they_are_mirrored(op, wanted, dtype):
    csr = tidy(typed(np.array([3, 4], dtype), "skew-symmetric"), dup_op=op)
    assert as_dict(csr) == {(1, 0): wanted, (0, 1): -wanted}
    assert csr.values.dtype == dtype
    check_report(csr, 2)
    as_bool = tidy(typed(np.array([3, 0], dtype), "skew-symmetric"), dup_op="lor", dtype=bool)
    assert as_dict(as_bool) == {(1, 0): True, (0, 1): True}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (np.array([0, 5], np.uint8), r"entry 1: .*-\(5\) does not fit in 8 bits of uint8, which has no sign"),
        (np.array([0, 2**63], np.uint64), r"entry 1: .*-\(9223372036854775808\) does not fit in 64 bits"),
        (np.array([False, True]), r"entry 1: .*-\(True\) does not fit .*of bool, which has no sign"),
        (np.array([0, -128], np.int8), r"entry 1: .*-\(-128\) does not fit in 8 bits$"),
    ],
)
def test_skew_symmetric_values_without_a_negative(values, told):
    rows, cols = np.array([1, 2]), np.array([0, 0])
    edges = Edges(rows, cols, values, 3, 3, "test", invalid("test"), mirror="skew-symmetric")
    with pytest.raises(InvalidValue, match=told):
        tidy(edges)
    values = values & values.dtype.type(0)
    csr = tidy(Edges(rows, cols, values, 3, 3, "test", invalid("test"), mirror="skew-symmetric"))
    assert (csr.values.dtype, csr.values.tolist()) == (values.dtype, [0] * 4)


def test_skew_symmetric_results_without_a_negative():
    with pytest.raises(InvalidValue, match=r"-\(-128\) does not fit in 8 bits"):
        tidy(typed(np.array([-64, -64], np.int8), "skew-symmetric"), dup_op="plus")


@pytest.mark.parametrize("nrows", [10**13, 2**59, 2**62, 2**63 - 1, 2**63])
def test_more_rows_than_memory(nrows):
    edges = Edges(np.array([1]), np.array([0]), np.True_, nrows, nrows, "test", invalid("test"))
    with pytest.raises(OutOfMemory, match="test: cpu has no room for"):
        tidy(edges)
