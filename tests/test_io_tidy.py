"""Dropping, merging, mirroring: against a dictionary of edges, and the counts that reports promise."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semirings import binary, monoid
from semirings.exceptions import DomainMismatch, InvalidValue
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
    if mirror:
        sign = -1 if mirror == "skew-symmetric" else 1
        triples = [t for u, v, w in triples for t in ((u, v, w), (v, u, sign * w))[: 1 + (u != v)]]
    result = {}
    for u, v, w in triples:
        result[u, v] = fold(result[u, v], w) if (u, v) in result else w
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
