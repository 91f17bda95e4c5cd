"""The CUDA kernels against the CPU's, on operands of several blocks; see `cuda_cases`.

Runs on the GPU if that is the backend, else on the emulated one.
"""

from __future__ import annotations

import functools
import os
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_cases import CASES, CELLS, FEW_SEEDS, combining, monoids_alike, outcome
from devices import spread
from graphs import GRAPHS
from tiling import same_ranks_in_parts

import spgraph as sg
from semirings.dtypes import lookup_dtype
from spgraph import algorithms, binary, context, semiring
from spgraph.block import VectorBlock
from spgraph.engine import products_cuda, queues_cuda, shares_cuda
from spgraph.exchange import group_of
from spgraph.kernels.device import HOST

SEEDS = range(int(os.environ.get("SPGRAPH_CUDA_SEEDS", "4")))
SAMPLE = [
    pytest.param(name, seed, marks=[] if seed in FEW_SEEDS[name] or seed > 3 else [pytest.mark.whole])
    for name in CASES
    for seed in SEEDS
]


@pytest.mark.parametrize(("name", "seed"), SAMPLE)
def test_same_as_on_the_cpu(cuda, name, seed):
    want, got = outcome(name, seed, HOST).results, outcome(name, seed, cuda).results
    assert len(want) == len(got)
    for wanted, found in zip(want, got):
        assert found[:2] == wanted[:2] if len(wanted) > 2 else found[0] == wanted[0]
        for x, y in zip(wanted[2:] or wanted[1:], found[2:] or found[1:], strict=True):
            np.testing.assert_array_equal(y, x)
            assert np.asarray(y).dtype == np.asarray(x).dtype


@pytest.mark.parametrize("seed", [*range(8), *range(8, 3 * len(SEEDS), 3)])
@pytest.mark.parametrize("share", [16, 64, 256])
def test_shares_and_giants_and_hot_values_change_nothing(cuda, seed, share, monkeypatch):
    """Rows longer than a share are gathered in pieces, the first values of u come from shared memory."""
    made = []
    monkeypatch.setattr(shares_cuda, "LEAST_SHARE", share)
    monkeypatch.setattr(shares_cuda, "MOST_SHARE", share)
    monkeypatch.setattr(products_cuda, "HOT_EDGES", 1)
    monkeypatch.setattr(products_cuda, "HOT_READS", 0)
    monkeypatch.setattr(products_cuda, "HOT_SHARE", 0)
    monkeypatch.setattr(products_cuda, "PAIR_READS", 0)
    monkeypatch.setattr(products_cuda, "HOT_BLOCK", 64)
    most = products_cuda._rooms(64, np.dtype(np.int64)) + 320
    monkeypatch.setattr(products_cuda, "CACHE_BYTES", cuda.shared_memory - most)
    hot = products_cuda._hot_values
    monkeypatch.setattr(products_cuda, "_hot_values", lambda *args: made.append(hot(*args)) or made[-1])
    want, got = (outcome.__wrapped__("pull_sums", seed, device).results for device in (HOST, cuda))
    for wanted, found in zip(want, got, strict=True):
        for x, y in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(y, x)
    assert made
    assert any(hot.own for hot in made) == (seed % 3 == 2)
    assert any(hot.halved for hot in made) == (cuda.clusters and any(hot.own for hot in made))


@pytest.mark.parametrize(("long", "size"), [
    *((long, size) for long in (1, 127, 128, 129, 300) for size in (1500, 20_011)), (3200, 3300),  # more than lanes
])  # fmt: skip
def test_long_rows_at_the_beginning(cuda, long, size):
    """They are dealt out to all warps, whatever the mask, wherever in them something is found, if at all."""
    rng = np.random.default_rng(long)
    rows = np.concatenate([np.repeat(np.arange(long), 1100), rng.integers(long, size, 3 * size)])
    cols = np.concatenate([np.tile(np.arange(1100), long), rng.integers(0, size, 3 * size)])
    found, ids = [], rng.integers(0, size, size // 3)
    for device in (HOST, cuda):
        with sg.Context(device, direction="pull"):
            A = sg.Matrix.from_coo(rows, cols, 1, nrows=size, ncols=size, dup_op=binary.first)
            assert int(A[long - 1, :].new().nvals) >= 1100
            for places in ([1099], [500], [30, 700], [size - 1]):
                u = sg.Vector.from_coo(places, True, size=size)
                w = sg.Vector.from_coo(np.unique(ids), True, size=size)
                changed, kept = sg.Vector(bool, size), w.dup()
                w(~w.S, changed=changed) << A.mxv(u, semiring.any_pair)
                kept(w.S, binary.lor) << A.mxv(u, semiring.lor_land)
                low = A.mxv(u, semiring.min_secondi).new()
                results = (w, changed, kept, low, A.mxv(u, semiring.any_pair).new())
                found.append([(x.nvals, *(np.asarray(y) for y in x.to_coo())) for x in results])
    half = len(found) // 2
    for wanted, got in zip(found[:half], found[half:], strict=True):
        for x, y in zip(wanted, got, strict=True):
            for a, b in zip(x, y, strict=True):
                np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_hot_values_of_every_owner(cuda, duplicate, monkeypatch):
    """A part keeps the first values of each owner's columns at hand."""
    settings = {"HOT_SHARE": 0, "HOT_EDGES": 1, "HOT_READS": 0, "HOT_BLOCK": 64, "PAIR_READS": 1 << 30}
    for name, value in settings.items():
        monkeypatch.setattr(products_cuda, name, value)
    most = products_cuda._rooms(64, np.dtype(float)) + 320
    monkeypatch.setattr(products_cuda, "CACHE_BYTES", cuda.shared_memory - most)
    made, hot = [], products_cuda._hot_values
    monkeypatch.setattr(products_cuda, "_hot_values", lambda *args: made.append(hot(*args)) or made[-1])
    same_ranks_in_parts(cuda, duplicate)
    assert {(hot.own + hot.halved, hot.halved > 0, len(hot.runs)) for hot in made} == {(13, cuda.clusters, 3)}


def test_a_part_has_fewer_rows_than_hot_values(cuda, monkeypatch):
    settings = {"HOT_SHARE": 0, "HOT_EDGES": 1, "HOT_READS": 0, "HOT_BLOCK": 64, "PAIR_READS": 1 << 30}
    for name, value in settings.items():
        monkeypatch.setattr(products_cuda, name, value)
    most = products_cuda._rooms(64, np.dtype(float)) + 320
    monkeypatch.setattr(products_cuda, "CACHE_BYTES", cuda.shared_memory - most)
    with sg.Context("cpu"):
        A = sg.generators.rmat(8, 8, seed=4)
        wanted = algorithms.pagerank(A, tol=1e-12).to_dense()
    owner = np.zeros(A.nrows, int)
    owner[::50] = 1  # 6 rows, which look at more than 40 columns of the other part
    with sg.Context(group_of(tuple(spread(cuda, 2))), direction="pull", partition=owner):
        found = algorithms.pagerank(A.to(context.device()).reorder("degree"), tol=1e-12).to_dense()
    np.testing.assert_allclose(found, wanted, 1e-9)


@pytest.mark.parametrize(("dtype", "code"), monoids_alike())
def test_atomics_of_every_monoid(cuda, dtype, code):
    """Many values for few cells: what comes out is a sum in some order."""
    ops = monoids_alike()[dtype, code]
    np_type = lookup_dtype(dtype).np_type
    rng = np.random.default_rng(1)
    places = rng.integers(0, CELLS, 600).astype(np.int32)
    values = rng.choice([1, 2, 1, 1] if np_type.kind in "bu" else [1, -1, 2, 1, -3], 600).astype(np_type)
    start = rng.choice([0, 1, 3], (len(ops), CELLS)).astype(np_type)
    cells = cuda.to_device(start)
    combining(cuda, ops, code)(600, (cells, cuda.to_device(values), cuda.to_device(places)))
    for op, before, after in zip(ops, start, cuda.to_host(cells)):
        for cell in range(CELLS):
            want = functools.reduce(op.binaryop.numpy, values[places == cell], before[cell])
            if op.name == "any":
                assert after[cell] in (before[cell], *values)
            elif np_type.kind == "f":
                np.testing.assert_allclose(after[cell], want, rtol=1e-4, err_msg=op.name)
            else:
                assert after[cell] == want, op


@pytest.mark.parametrize("hot", [False, True])
def test_values_and_ids_side_by_side_change_nothing(cuda, hot, monkeypatch):
    """SSSP's parents need the distance and the global id of each neighbour."""
    calls = []
    paired = products_cuda._paired
    monkeypatch.setattr(products_cuda, "_paired", lambda *args: calls.append(1) or paired(*args))
    for name, value in (("PAIR_READS", 0), ("HOT_SHARE", 0), ("HOT_EDGES", 1 if hot else 1 << 60), ("HOT_READS", 0)):
        monkeypatch.setattr(products_cuda, name, value)
    most = products_cuda._rooms(products_cuda.HOT_BLOCK, np.dtype(np.float64)) + 8 * 20
    monkeypatch.setattr(products_cuda, "CACHE_BYTES", cuda.shared_memory - most)
    rows, cols, _ = sg.generators.rmat(8, 8, seed=4).to_coo()
    weights = np.random.default_rng(3).integers(1, 9, rows.size).astype(np.float32)
    before, answers = context.set_default(HOST), []
    try:
        for device in (HOST, cuda):
            context.set_default(device)
            A = sg.Matrix.from_coo(rows, cols, weights, nrows=256, ncols=256)
            with sg.Context(direction="pull"):
                answers.append([x.to_dense(fill_value=-1) for x in algorithms.sssp_parents(A.reorder("degree"), 1)])
    finally:
        context.set_default(before)
    assert calls
    for x, y in zip(*answers, strict=True):
        np.testing.assert_array_equal(y, x)


def test_small_floats_are_no_zeros(cuda):
    """Numbers below 1.2e-38 have fewer bits, and are numbers still."""
    small = np.array([3e-45, -3e-45, 1e-40, 0, 1], np.float32)
    before = context.set_default(cuda)
    try:
        v = sg.Vector.from_dense(small)
        np.testing.assert_array_equal((v + v).new().to_dense(), small + small)
        halves = v.apply(binary.times, right=np.float32(0.5)).new().to_dense()
        np.testing.assert_array_equal(halves, small * np.float32(0.5))
        A = sg.Matrix.from_coo([0, 0, 1], [0, 2, 1], np.array([1, 2, 3], np.float32), nrows=5, ncols=5)
        for direction in ("push", "pull"):
            with sg.Context(direction=direction):
                found = A.mxv(v, semiring.max_times).new().to_dict()
                assert found == {0: small[2] * np.float32(2), 1: small[1] * np.float32(3)}
    finally:
        context.set_default(before)


FLOATS = [key for key in monoids_alike() if key[0].startswith("FP") and key[1] in (0, 7, 8)]


@pytest.mark.parametrize(("dtype", "code"), FLOATS)
def test_atomics_of_floats_with_signs_infinities_and_nan(cuda, dtype, code):
    """The numbers' bits are what is ordered: those of negative numbers fall, and NaN may have either sign."""
    np_type = lookup_dtype(dtype).np_type
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 3e-45, -3e-45, 7.0, -7.0], np_type)
    ops = [op for op in monoids_alike()[dtype, code] if op.name in ("min", "max", "minimum", "maximum")]
    rng = np.random.default_rng(5)
    for _ in range(3):
        places = rng.integers(0, CELLS, 5 * CELLS).astype(np.int32)
        values = rng.choice(special, places.size)
        start = rng.choice(special, (len(ops), CELLS))
        cells = cuda.to_device(start)
        combining(cuda, ops, code)(places.size, (cells, cuda.to_device(values), cuda.to_device(places)))
        for op, before, after in zip(ops, start, cuda.to_host(cells), strict=True):
            want = [functools.reduce(op.binaryop.numpy, values[places == cell], before[cell]) for cell in range(CELLS)]
            np.testing.assert_array_equal(after, want, err_msg=op.name)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("options", [{}, {"personalization": {3: 1.0, 5: 2.0}}, {"dangling": {0: 1.0}}])
def test_pagerank_that_does_not_wait(cuda, monkeypatch, parts, options):
    """Results are never there yet when they are asked for: the next product begins before they are known."""
    graph = GRAPHS["karate"]
    before = context.set_default(HOST)
    asked: list[int] = []
    try:
        want = algorithms.pagerank(graph.matrix(sg), **options)
        context.set_default(cuda if parts == 1 else group_of(tuple(spread(cuda, parts))))
        for device in spread(cuda, parts):
            monkeypatch.setattr(device, "has", lambda slot, sequence: asked.append(slot))
        got = algorithms.pagerank(graph.matrix(sg), **options)
    finally:
        context.set_default(before)
    assert asked
    assert got.iterations == want.iterations
    for x, y in zip(want.to_coo(), got.to_coo()):
        np.testing.assert_allclose(x, y, rtol=1e-9)


@pytest.mark.parametrize("iso", [False, True])
@pytest.mark.parametrize("size", [1, 16, 511, 1300])
def test_a_bitmap_becomes_a_list_to_push_from(cuda, size, iso):
    """Every entry once, with the running sum of the lengths of its row."""
    rng = np.random.default_rng(size)
    present = rng.random(size) < 0.4
    lengths = rng.integers(0, 5, size)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    A = SimpleNamespace(width=1, indptr=cuda.to_device(indptr), nvals=int(indptr[-1]), ncols=size)
    u = VectorBlock(size, np.int64, device=cuda)
    values = np.array([7]) if iso else cuda.to_device(np.arange(size) * 3)
    u.set_bitmap(cuda.to_device(present.astype(np.uint8)), values, int(present.sum()), iso=iso)
    prefix, edges = queues_cuda.queue(u, A, np.inf)
    found, prefix = cuda.to_host(u.indices), cuda.to_host(prefix)
    assert sorted(found) == np.flatnonzero(present).tolist()
    assert edges == lengths[present].sum()
    np.testing.assert_array_equal(prefix, np.cumsum(lengths[found]) - lengths[found])
    if not iso:
        np.testing.assert_array_equal(cuda.to_host(u.values), found * 3)
    if edges:
        u.set_bitmap(cuda.to_device(present.astype(np.uint8)), values, int(present.sum()), iso=iso)
        assert queues_cuda.queue(u, A, edges - 1) is None
        assert u.format != "sparse"
