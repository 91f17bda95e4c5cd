"""Loops that a thread of the CPU runs by itself: superstep by superstep they do what their statements do one by one."""

import sys

import numpy as np
import pytest
from looping import level_by_level, steps_alone

import spgraph as sg
from spgraph import binary, monoid, select, semiring, unary
from spgraph.algorithms.bfs import any_next
from spgraph.engine import loops_cpu, products_cpu
from spgraph.exceptions import OutOfMemory
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.near import whole_matrix
from spgraph.kernels.cpu import _specialise
from spgraph.kernels.cpu._specialise import set_jit

SETTINGS = {
    "as they are": {},
    "few edges": {"PARALLEL_WORK": 9},
    "short calls": {"AT_ONCE": 40, "INTERPRETED": 40},
    "one by one": {"PARALLEL_WORK": 0},
}


PLACES = {"one": {"devices": "cpu"}, "three parts": {"devices": "cpu:3", "partition": "random"}}


@pytest.fixture(params=PLACES, autouse=True)
def _on_the_cpu(request):
    with sg.Context(**PLACES[request.param]):
        yield


@pytest.fixture(params=SETTINGS)
def alone(monkeypatch, request):
    """How many iterations each loop did alone, whenever one could have."""
    for name, value in SETTINGS[request.param].items():
        monkeypatch.setattr(loops_cpu, name, value)
    steps = steps_alone(monkeypatch, loops_cpu)
    yield steps
    assert not steps or (sum(steps) > 0) is (request.param != "one by one")


@pytest.fixture(params=["always", "never"], autouse=True)
def _compiled(request, _on_the_cpu):
    before = set_jit(request.param)
    yield
    set_jit(before)


def graph(seed, dtype, shape=None, n=60):
    """A directed graph with self-loops, a long path among its edges, in natural or another order."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, 2 * n))
    names = rng.permutation(n)
    rows, cols = np.r_[rows[: n // 2], names[:-1]], np.r_[cols[: n // 2], names[1:]]
    values = rng.integers(1, 9, rows.size)
    A = sg.Matrix.from_coo(rows, cols, values, dtype, nrows=n, ncols=n, dup_op="any")
    if shape == "undirected":
        A = binary.any(A | A.T).new()
    return A.reorder("degree") if shape == "by degree" else A.reorder(names) if shape == "listed" else A


def product(A, u, way, op):
    """u A by rows of A, or A u by a transpose that is kept."""
    if way == "vxm":
        return u.vxm(A, op)
    block = A._block
    (whole_matrix(block) if isinstance(block, MatrixParts) else block).oriented(True)
    return A.mxv(u, op)


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("way", ["vxm", "mxv"])
@pytest.mark.parametrize("shape", [None, "undirected", "by degree", "listed"])
@pytest.mark.parametrize("op", [any_next, semiring.any_pair, semiring.any_secondi, semiring.any_plus])
def test_searches(alone, op, shape, way, most):
    if op is any_next and way == "mxv":
        op = semiring.any_second
    A = graph(3, "INT64", shape)
    w = sg.Vector.from_coo([5, 7], [2, 2], size=A.nrows)
    wanted, near = w.dup(), w.dup()
    last, count, total = w.dup(), 0, 0
    while last.nvals and count != most:
        total += last.nvals
        wanted(~wanted.S, changed=last) << product(A, last, way, op)
        count += 1
    seen = sg.Scalar.from_value(0)
    with sg.loop() as loop:
        seen(binary.plus) << near.nvals
        w(~w.S, changed=near) << product(A, near, way, op)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    assert (loop.count, seen.value) == (count, total)
    assert w.apply(unary.one).isequal(wanted.apply(unary.one), check_dtype=True)
    assert near.isequal(w.dup(mask=near.S)) and near.nvals == last.nvals
    if op in (any_next, semiring.any_pair, semiring.any_second):
        assert w.isequal(wanted) and near.isequal(last, check_dtype=True)
    if op is semiring.any_secondi:  # parents, which are reached, too
        edges = set(zip(*[ends.tolist() for ends in (A if way == "vxm" else A.T).to_coo()[:2]]))
        assert all((p, v) in edges and p in w for v, p in w.to_dict().items() if v not in (5, 7))
    w(w.S) << 1  # nothing is shared
    assert near.nvals == last.nvals


@pytest.mark.parametrize("most", [None, 4])
@pytest.mark.parametrize("limit", [None, 12])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [None, "undirected", "listed"])
@pytest.mark.parametrize("dtype", ["INT64", "FP32", "UINT16", "INT8"])
def test_relaxations(alone, dtype, shape, full, limit, most):
    A = graph(4, dtype, shape)
    start = sg.Vector.from_scalar(99, A.nrows, dtype) if full else sg.Vector(dtype, A.nrows)
    start[5] << 0
    first = sg.Vector.from_coo([5], 0, dtype, size=A.nrows)

    def changed(c):
        return c if limit is None else select.valuelt(c, limit)

    wanted, last, count, total = start.dup(), first.dup(), 0, 0
    while last.nvals and count != most:
        total += last.nvals
        wanted(binary.min, changed=changed(last)) << last.vxm(A, semiring.min_plus)
        count += 1
    dist, near, seen = start.dup(), first.dup(), sg.Scalar.from_value(0)
    with sg.loop() as loop:
        seen(binary.plus) << near.nvals
        dist(binary.min, changed=changed(near)) << near.vxm(A, semiring.min_plus)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count >= most)
    assert (loop.count, seen.value) == (count, total)
    assert dist.isequal(wanted, check_dtype=True)
    assert near.isequal(last, check_dtype=True)


@pytest.mark.parametrize(
    ("accum", "op", "dtype"),
    [
        ("max", "max_min", "INT32"),
        ("min", "min_max", "FP64"),
        ("lor", "lor_land", "BOOL"),
        ("min", "min_first", "INT64"),
        ("max", "max_plus", "UINT8"),  # wraps
        ("min", "min_secondi", "INT64"),
    ],
)
def test_other_monoids(alone, accum, op, dtype):
    A = graph(6, dtype)
    start = sg.Vector.from_coo([0, 7], [1, 1], dtype, size=A.nrows)
    wanted, last, count = start.dup(), start.dup(), 0
    while last.nvals and count < 300:
        wanted(getattr(binary, accum), changed=last) << last.vxm(A, op)
        count += 1
    got, near = start.dup(), start.dup()
    with sg.loop() as loop:
        got(getattr(binary, accum), changed=near) << near.vxm(A, op)
        loop.until((near.nvals == 0) | (loop.count == 300))
    assert loop.count == count
    assert got.isequal(wanted, check_dtype=True)
    assert near.isequal(last, check_dtype=True)


def test_nan_is_no_end(alone):
    A = sg.Matrix.from_coo([0, 1, 2, 3], [1, 2, 3, 1], [1.0, np.nan, 2.0, -1.0], nrows=5, ncols=5)
    start = sg.Vector.from_coo([0], 0.0, size=5)
    wanted, last = start.dup(), start.dup()
    while last.nvals:
        wanted(binary.min, changed=last) << last.vxm(A, semiring.min_plus)
    got, near = start.dup(), start.dup()
    with sg.loop() as loop:
        got(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
        loop.until(near.nvals == 0)
    assert np.array_equal(got.to_dense(7), wanted.to_dense(7), equal_nan=True)


@pytest.mark.parametrize("most", [None, 1, 4])
@pytest.mark.parametrize("way", ["vxm", "mxv"])
@pytest.mark.parametrize("dtype", ["INT64", "UINT8", "FP32"])
@pytest.mark.parametrize("shape", [None, "undirected", "listed"])
def test_levels(alone, shape, dtype, way, most):
    A = graph(8, "FP64", shape)
    first = sg.Vector.from_coo([9, 3], True, size=A.nrows)
    wanted, last, count = sg.Vector(dtype, A.nrows), first.dup(), 0
    while last.nvals and count != most:
        wanted(last.S) << count
        last(~wanted.S, replace=True) << product(A, last, way, semiring.any_pair)
        count += 1
    level, near = sg.Vector(dtype, A.nrows), first.dup()
    with sg.loop() as loop:
        level(near.S) << loop.count
        near(~level.S, replace=True) << product(A, near, way, semiring.any_pair)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    assert loop.count == count
    assert level.isequal(wanted, check_dtype=True)
    assert near.isequal(last, check_dtype=True)
    assert len(alone) > 0 or most == 1  # one level is two statements


def test_roads_take_few_calls(monkeypatch):
    steps = steps_alone(monkeypatch, loops_cpu)
    A = sg.generators.grid(40, 30)
    w = sg.Vector.from_coo([0], 0, np.int32, size=A.nrows)
    near = w.dup()
    with sg.loop() as loop:
        w(~w.S, changed=near) << near.vxm(A, any_next)
        loop.until(near.nvals == 0)
    assert loop.count == 69 == sum(steps)
    assert len(steps) <= 4
    wanted, last = w.dup(clear=True), w.dup(clear=True)
    wanted[0], last[0] = 0, 0
    assert level_by_level(A, wanted, last, any_next) == 69
    assert w.isequal(wanted)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_changes_meanwhile_is_looked_at(count):
    """The matrix, its transpose and vectors may be others the next time."""
    A = sg.generators.path(50)
    for size in (50, 30, 80)[:count]:
        A.resize(size, size)
        w = sg.Vector.from_coo([0], 0, np.int32, size=size)
        near = w.dup()
        with sg.loop() as loop:
            w(~w.S, changed=near) << near.vxm(A, any_next)
            loop.until(near.nvals == 0)
        reached = min(size, 50 if count < 2 or size == 50 else 30)
        assert w.to_dict() == {v: v for v in range(reached)}


def programs():
    """Loops that can be gone on with, each with what it computes: (run, objects, results wanted)."""
    A = graph(2, "INT64", "undirected")

    def search():
        w = sg.Vector.from_coo([5], [0], size=A.nrows)
        near = w.dup()

        def run():
            with sg.loop() as loop:
                w(~w.S, changed=near) << near.vxm(A, any_next)
                loop.until(near.nvals == 0)

        return run, w, near

    def relaxation():
        dist = sg.Vector.from_coo([5], [0], size=A.nrows)
        near = dist.dup()

        def run():
            with sg.loop() as loop:
                dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
                loop.until(near.nvals == 0)

        return run, dist, near

    def levels():
        level, near = sg.Vector("INT64", A.nrows), sg.Vector.from_coo([5], True, size=A.nrows)

        def run():
            with sg.loop() as loop:
                level(near.S) << loop.count
                near(~level.S, replace=True) << near.vxm(A, semiring.any_pair)
                loop.until(near.nvals == 0)

        return run, level, near

    return {"search": search, "relaxation": relaxation, "levels": levels}


def consistent(v):
    return v.nvals == len(v.to_dict()) == int(v.dup().apply(unary.one["INT64"]).reduce(monoid.plus).value)


@pytest.mark.parametrize("kind", ["search", "relaxation", "levels"])
def test_an_interrupt_after_a_call_loses_nothing(monkeypatch, kind):
    make = programs()[kind]
    run, wanted, _ = make()
    run()
    take = loops_cpu._Result.take
    calls = []

    def interrupted(result):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        take(result)

    run, w, near = make()
    monkeypatch.setattr(loops_cpu._Result, "take", interrupted)
    monkeypatch.setattr(loops_cpu, "AT_ONCE", 40)
    monkeypatch.setattr(loops_cpu, "INTERPRETED", 40)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert consistent(w) and 1 < w.nvals < wanted.nvals
    if kind != "levels":
        assert near.nvals and near.isequal(w.dup(mask=near.S))
        run()
        assert w.isequal(wanted)


@pytest.mark.parametrize("kind", ["search", "relaxation", "levels"])
@pytest.mark.parametrize("line", [1, 5, 40, 133, 300, 555, 801, 1200])
def test_an_interrupt_within_an_interpreted_call_loses_nothing(monkeypatch, kind, line):
    for module in (products_cpu, _specialise):  # others may have compiled the kernel
        monkeypatch.setattr(module, "_kernels", {})
    make, before = programs()[kind], set_jit("never")
    run, wanted, _ = make()
    run()
    run, w, _ = make()
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code.co_name != "push_on":
            return None
        lines.append(1)
        if len(lines) == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return tracer

    sys.settrace(tracer)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        sys.settrace(None)
    assert consistent(w)
    if kind != "levels":
        run()
        assert w.isequal(wanted)
    set_jit(before)


def test_memory_that_runs_out_after_a_call_loses_nothing(monkeypatch):
    for make in programs().values():
        with monkeypatch.context() as patched:
            run, wanted, _ = make()
            run()
            fails = []

            def gathered(array, pieces, fails=fails):
                fails.append(1)
                raise MemoryError

            patched.setattr(loops_cpu, "gathered", gathered)
            run, w, near = make()
            run()
            assert fails
        assert w.isequal(wanted) and near.nvals == 0


def test_limits_of_any_size(alone):
    for limit in (2**63 - 1, 2**63, 2**64, 10**20, 1e300):
        w = sg.Vector.from_coo([0], [0], size=40)
        near = w.dup()
        with sg.loop() as loop:
            w(~w.S, changed=near) << near.vxm(sg.generators.path(40), any_next)
            loop.until((near.nvals == 0) | (loop.count >= limit))
        assert loop.count == 40


@pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16", "INT64", "UINT64", "FP32"])
def test_counters_wrap_as_sums_one_by_one_do(dtype):
    A = sg.generators.path(400)
    seen, single = sg.Scalar(dtype), sg.Scalar(dtype)
    w = sg.Vector.from_coo([0], [0], size=400)
    near = w.dup()
    with sg.loop() as loop:
        seen(binary.plus) << near.nvals
        w(~w.S, changed=near) << near.vxm(A, any_next)
        loop.until(near.nvals == 0)
    for _ in range(400):
        single(binary.plus) << 1
    assert seen.isequal(single, check_dtype=True)


def test_what_has_one_value_stays_so(alone):
    for op, iso in ((any_next, True), (semiring.any_pair, True), (semiring.any_secondi, False)):
        w = sg.Vector.from_coo([0], 0, np.int64, size=30)
        near = w.dup()
        with sg.loop() as loop:
            w(~w.S, changed=near) << near.vxm(sg.generators.path(30), op)
            loop.until((near.nvals == 0) | (loop.count == 9))
        block = near._block
        assert getattr(block, "whole", block).iso is iso
        assert near.isequal(w.dup(mask=near.S))


def test_errors_name_the_statement(monkeypatch):
    def fails(size):
        raise MemoryError

    A = sg.generators.path(30)
    monkeypatch.setattr(loops_cpu, "workspace", fails)
    w = sg.Vector.from_coo([0], 0, np.int64, size=30)
    near = w.dup()

    def search():
        with sg.loop() as loop:
            w(~w.S, changed=near) << near.vxm(A, any_next)
            loop.until(near.nvals == 0)

    with pytest.raises(OutOfMemory, match=r"^v << w\.vxm\(A, "):
        search()
    level, front = sg.Vector("INT64", 30, name="level"), sg.Vector.from_coo([0], True, size=30, name="front")

    def levels():
        with sg.loop() as loop:
            level(front.S) << loop.count
            front(~level.S, replace=True) << front.vxm(A, semiring.any_pair)
            loop.until(front.nvals == 0)

    with pytest.raises(OutOfMemory, match=r"^front.* << front\.vxm\(A, "):
        levels()


def test_a_full_result_grows_no_more():
    w = sg.Vector.from_scalar(1, 4, np.int64)
    near = sg.Vector.from_coo([0], 1, size=4)
    with sg.loop() as loop:
        w(~w.S, changed=near) << near.vxm(sg.generators.path(4), semiring.any_pair)
        loop.until(near.nvals == 0)
    assert loop.count == 1
    assert w.reduce(monoid.plus).value == 4
