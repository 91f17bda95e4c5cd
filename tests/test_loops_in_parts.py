"""Loops in parts on GPUs that see each other, without the host: those of a plain loop, however parts lie."""

import contextlib

import numpy as np
import pytest
from looping import devices, directed, in_any_order, interrupt, level_by_level, searched, steps_alone

import spgraph as sg
from spgraph import binary, select, semiring
from spgraph.algorithms.bfs import any_next
from spgraph.engine import loop_programs_cuda, loops_cuda
from spgraph.engine.parts import loops as parts_loops
from spgraph.engine.vector_products import KEPT
from spgraph.exchange import group_of
from spgraph.exchange.border import sharing_of
from spgraph.kernels.cuda.launch import Pending

GRAPHS = {
    "path": lambda: sg.generators.path(60),
    "long path": lambda: sg.generators.path(400),
    "grid": lambda: sg.generators.grid(14, 13),
    "rmat": lambda: sg.generators.rmat(9, 8, seed=3),
    "directed": lambda: directed(8, 3, 5),
    "star": lambda: sg.generators.star(70),
}
COSTS = {"as they are": {}, "of pulls low": {"start": 0.0, "look": 0.0, "bits": 0.0}, "of pulls high": {"start": 1e9}}
OPERATORS = {"secondi": semiring.any_secondi, "firstj": semiring.any_firstj, "next": any_next,
             "pair": semiring.any_pair}


@pytest.fixture
def alone(monkeypatch):
    """How many iterations each loop did without the host, whenever one could have."""
    return steps_alone(monkeypatch, parts_loops)


def priced(monkeypatch, prices):
    monkeypatch.setattr(parts_loops, "GPU_COSTS", loops_cuda.GPU_COSTS._replace(**prices))


def made(graph, order="natural"):
    """A graph in parts whose rows by columns are at hand; a vertex with the most edges."""
    A = GRAPHS[graph]()
    source = int(np.argmax(np.bincount(A.to_coo()[0], minlength=A.nrows)))
    if order != "natural":
        A.reorder(order)
    if A.symmetric is not True:
        A._block.oriented(True)
    return A, source


def levelled(A, level, near, most=None, by_rows=True):
    with sg.loop() as loop:
        level(near.S) << loop.count
        near(~level.S, replace=True) << (
            near.vxm(A, semiring.any_pair) if by_rows else A.T.mxv(near, semiring.any_pair)
        )
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    return loop.count


def check_parents(parent, level):
    found, levels = parent.to_dict(), level.to_dict()
    assert found.keys() == levels.keys()
    assert all(found[v] == v or levels[found[v]] + 1 == level for v, level in levels.items())


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("prices", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_searches_are_those_of_a_plain_loop(cuda, monkeypatch, alone, graph, prices, count):
    priced(monkeypatch, prices)
    with sg.Context("cpu"):
        A, source = made(graph)
        wanted = sg.algorithms.bfs(A, source)
    with sg.Context(group_of(devices(cuda, count)), partition="random"):
        A, source = made(graph, ("natural", "degree")[count % 2])
        for _ in range(2):  # the second one takes what the first one has made
            level = sg.algorithms.bfs(A, source)
            assert level.to_dict() == wanted.to_dict()
            check_parents(sg.algorithms.bfs_parents(A, source), level)
    assert alone
    assert all(alone)


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("graph", ["grid", "rmat", "directed"])
@pytest.mark.parametrize("op", OPERATORS)
def test_searches_that_end_early(cuda, alone, op, graph, most, duplicate):
    """What is left over, C and u, is what a plain loop leaves, and that goes on from there."""
    with sg.Context(group_of(devices(cuda, 2)), duplicate=duplicate):
        A, source = made(graph)
        w = sg.Vector.from_coo([source], 1, np.int64, size=A.nrows)
        near, wanted = w.dup(), w.dup()
        last = wanted.dup()
        count = searched(A, w, near, OPERATORS[op], most)
        assert count == level_by_level(A, wanted, last, OPERATORS[op], most)
        assert set(w.to_dict()) == set(wanted.to_dict())
        assert set(near.to_dict()) == set(last.to_dict())
        assert near.to_dict() == {v: value for v, value in w.to_dict().items() if v in near.to_dict()}
        if op in ("next", "pair"):
            assert w.to_dict() == wanted.to_dict()
        if near.nvals:
            searched(A, w, near, OPERATORS[op])
            level_by_level(A, wanted, last, OPERATORS[op])
            assert set(w.to_dict()) == set(wanted.to_dict())
    assert alone[0] == count


@pytest.mark.parametrize("prices", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("most", [None, 1, 2, 4])
@pytest.mark.parametrize("graph", ["path", "grid", "rmat", "directed"])
@pytest.mark.parametrize("dtype", ["INT64", "FP32"])
def test_levels_as_graphblas_has_them(cuda, monkeypatch, alone, dtype, graph, most, prices):
    """Two statements, of which the first writes the number of the iteration."""
    priced(monkeypatch, prices)
    with sg.Context("cpu"):
        A, source = made(graph)
        wanted, last, count = sg.Vector(dtype, A.nrows), sg.Vector.from_coo([source], True, size=A.nrows), 0
        while last.nvals and count != most:
            wanted(last.S) << count
            last(~wanted.S, replace=True) << last.vxm(A, semiring.any_pair)
            count += 1
        wanted, last = wanted.to_dict(), last.to_dict()
    with sg.Context(group_of(devices(cuda, 3)), partition="random"):
        A, source = made(graph)
        for by_rows in (True, False):
            level, near = sg.Vector(dtype, A.nrows), sg.Vector.from_coo([source], True, size=A.nrows)
            done = levelled(A, level, near, most, by_rows)
            assert (done, level.to_dict(), near.to_dict()) == (count, wanted, last)
            assert (level.dtype, near.dtype) == (dtype, "BOOL")
    assert sum(alone) == 2 * count


def test_levels_begin_at_any_number(cuda, alone):
    """A loop within a loop, whose level is not empty when it begins."""
    with sg.Context(group_of(devices(cuda, 2))):
        A, _ = made("grid")
        results = []
        for run in (True, False):
            level, near = sg.Vector.from_coo([5], 70, size=A.nrows), sg.Vector.from_coo([0, 100], True, size=A.nrows)
            if run:
                levelled(A, level, near)
            else:
                count = 0
                while near.nvals:
                    level(near.S) << count
                    near(~level.S, replace=True) << near.vxm(A, semiring.any_pair)
                    count += 1
            results.append(level.to_dict())
        assert results[0] == results[1]
    assert sum(alone)


@pytest.mark.parametrize("form", ["list", "bitmap"])
def test_searches_from_many_vertices(cuda, alone, form):
    """Entries on all parts, in either form, with one value."""
    with sg.Context(group_of(devices(cuda, 3))):
        A, _ = made("grid")
        at = np.arange(0, A.nrows, 7 if form == "list" else 2)
        results = []
        for run in (searched, level_by_level):
            w = sg.Vector.from_coo(at, 4, np.int32, size=A.nrows)
            near = w.dup()
            if form == "bitmap":
                for _, piece in near._block.on_each():
                    piece.to_bitmap()
            run(A, w, near, any_next)
            results.append(w.to_dict())
        assert results[0] == results[1]
    assert alone[0] > 0


def test_values_of_their_own_are_not_taken_alone(cuda, alone):
    with sg.Context(group_of(devices(cuda, 2))):
        A, _ = made("grid")
        results = []
        for run in (searched, level_by_level):
            w = sg.Vector.from_coo([3, 100], [5, 50], np.int32, size=A.nrows)
            run(A, w, w.dup(), any_next)
            results.append(set(w.to_dict()))
        assert results[0] == results[1]
    assert set(alone) == {0}


@pytest.mark.parametrize("graph", ["rmat", "star"])
def test_long_results_are_marked(cuda, monkeypatch, alone, graph):
    """Pushes whose result may be long make bitmaps, as where many edges leave u."""
    monkeypatch.setattr(loop_programs_cuda, "IN_LOOP", {**loop_programs_cuda.IN_LOOP, "FEW_EDGES": "1"})
    priced(monkeypatch, COSTS["of pulls high"])
    group = group_of(devices(cuda, 2))
    kept = [dict(device.kernels) for device in group.devices]
    try:
        for device in group.devices:
            device.kernels.clear()
        with sg.Context("cpu"):
            A, source = made(graph)
            wanted = sg.algorithms.bfs(A, source).to_dict()
        with sg.Context(group):
            A, source = made(graph)
            assert sg.algorithms.bfs(A, source).to_dict() == wanted
    finally:
        for device, kernels in zip(group.devices, kept):
            device.kernels.clear()
            device.kernels.update(kernels)
    assert all(alone)


@pytest.mark.parametrize("seed", [*range(8), 14, 26, 32])
@pytest.mark.parametrize("graph", ["grid", "rmat", "directed"])
def test_gpus_may_run_ahead_of_each_other(emulated, monkeypatch, alone, graph, seed):
    """Whatever a GPU has done when another one has not: also where some have given lists and all are to give bits."""
    rng = np.random.default_rng(seed)
    priced(monkeypatch, {"start": 0.0, "look": 0.0, "push": 10.0 ** rng.uniform(-2, 1)} if seed else {})
    with sg.Context("cpu"):
        A, source = made(graph)
        B = weighted(A, "INT64")
        wanted = sg.algorithms.bfs(A, source).to_dict(), sg.algorithms.sssp(B, source).to_dict()
    with sg.Context(group_of(devices(emulated, 2 + seed % 3)), partition=("random", "contiguous")[seed % 2]):
        A, source = made(graph)
        B = weighted(A, "INT64")
        turns = in_any_order(monkeypatch, parts_loops, seed)
        level = sg.algorithms.bfs(A, source)
        check_parents(sg.algorithms.bfs_parents(A, source), level)
        priced(monkeypatch, {})
        assert (level.to_dict(), sg.algorithms.sssp(B, source).to_dict()) == wanted
        monkeypatch.undo()
    assert all(alone)
    assert len(set(turns)) == 2 + seed % 3


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("graph", ["path", "long path", "grid", "rmat"])
def test_a_search_that_is_interrupted_can_go_on(cuda, monkeypatch, graph, after):
    """C and u are those of one level on all parts."""
    with sg.Context(group_of(devices(cuda, 3))):
        A, source = made(graph)
        wanted = sg.algorithms.bfs(A, source)
        w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
        near = w.dup()
        calls = interrupt(monkeypatch, 3 * after - 1)
        try:
            searched(A, w, near, any_next)
        except KeyboardInterrupt:
            assert len(calls) == 3 * after - 1
        monkeypatch.undo()
        levels = wanted.to_dict()
        found, new = w.to_dict(), near.to_dict()
        deepest = max(found.values())
        assert found == {v: level for v, level in levels.items() if level <= deepest}
        assert new in ({}, {v: level for v, level in levels.items() if level == deepest})
        if new:
            level_by_level(A, w, near, any_next)
        assert w.isequal(wanted)


@pytest.mark.parametrize("after", [1, 2, 4, 7])
def test_levels_that_are_interrupted_can_go_on(cuda, monkeypatch, after):
    with sg.Context(group_of(devices(cuda, 2))):
        A, source = made("grid")
        wanted = sg.algorithms.bfs(A, source).to_dict()
        level, near = sg.Vector(int, A.nrows), sg.Vector.from_coo([source], True, size=A.nrows)
        interrupt(monkeypatch, 3 * after)
        with pytest.raises(KeyboardInterrupt):
            levelled(A, level, near)
        monkeypatch.undo()
        deepest = max(level.to_dict().values())
        assert level.to_dict() == {v: number for v, number in wanted.items() if number <= deepest}
        assert near.to_dict() in (
            {v: True for v, number in wanted.items() if number == deepest},  # nothing was done after these
            {v: True for v, number in wanted.items() if number == deepest + 1},
        )


def test_out_of_memory_changes_nothing(emulated, alone):
    with sg.Context(group_of(devices(emulated, 2))):
        A, source = made("grid")
        wanted = sg.algorithms.bfs(A, source)
        tried = 0
        for fail_at in range(1, 200):
            A._block.border.clear()
            w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
            near = w.dup()
            emulated.fail_at = fail_at
            try:
                searched(A, w, near, any_next)
            except sg.exceptions.OutOfMemory:
                tried += 1
                assert (w.to_dict(), near.to_dict()) == ({source: 0}, {source: 0})
            finally:
                emulated.fail_at = None
            searched(A, w, near, any_next) if near.nvals else None
            assert w.isequal(wanted)
            if emulated.fail_at is None and tried and fail_at > tried + 3:
                break
        assert tried > 5


# ---- relaxations ---------------------------------------------------------------------------
def weighted(A, dtype, seed=1):
    rng = np.random.default_rng(seed)
    rows, cols, _ = A.to_coo()
    low, high = np.minimum(rows, cols).astype(int), np.maximum(rows, cols).astype(int)
    drawn = rng.integers(1, 40, (A.nrows, A.nrows))[low, high]
    weights = drawn.astype(np.float32) / 8 if dtype.startswith("FP") else drawn
    return sg.Matrix.from_coo(rows, cols, weights, dtype, nrows=A.nrows, ncols=A.ncols)


def relaxed(A, dist, near, op, accum, most=None, below=None):
    with sg.loop() as loop:
        dist(accum, changed=near if below is None else select.valuelt(near, below)) << near.vxm(A, op)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    return loop.count


def relaxed_plainly(A, dist, near, op, accum, most=None, below=None):
    count = 0
    while True:
        dist(accum, changed=near if below is None else select.valuelt(near, below)) << near.vxm(A, op)
        count += 1
        if near.nvals == 0 or count == most:
            return count


@pytest.mark.parametrize("dtype", ["INT64", "FP32", "INT32"])
@pytest.mark.parametrize("graph", ["grid", "rmat", "directed", "path"])
@pytest.mark.parametrize(("count", "duplicate"), [(2, "1-hop"), (3, "all"), (5, "1-hop")])
def test_relaxations_are_those_of_a_plain_loop(cuda, alone, graph, dtype, count, duplicate):
    """The same distances after the same number of supersteps, and what is left over is the same, too."""
    with sg.Context(group_of(devices(cuda, count)), partition="random", duplicate=duplicate):
        A, source = made(graph)
        A = weighted(A, dtype)
        if A.symmetric is not True:
            A._block.oriented(True)
        for most, below in ((None, None), (3, None), (None, 60), (2, 60)):
            results = []
            for run in (relaxed, relaxed_plainly):
                dist = sg.Vector.from_coo([source], 0, dtype, size=A.nrows)
                near = dist.dup()
                taken = run(A, dist, near, semiring.min_plus, binary.min, most, below)
                results.append((taken, dist.to_dict(), near.to_dict()))
            assert results[0] == results[1], (most, below)
    assert all(alone)


@pytest.mark.parametrize(("op", "accum"), [("max_min", "max"), ("min_max", "min"), ("min_first", "min"),
                                           ("max_second", "max"), ("min_minus", "min")])  # fmt: skip
def test_relaxations_of_other_monoids(cuda, alone, op, accum):
    """Values that come are those of the superstep before, so that operators may fall."""
    with sg.Context(group_of(devices(cuda, 2))):
        A = weighted(made("grid")[0], "INT64")
        results = []
        for run in (relaxed, relaxed_plainly):
            values = sg.Vector.from_coo([0, 90, 181], [5, 3, 9], "INT64", size=A.nrows)
            near = values.dup()
            taken = run(A, values, near, getattr(semiring, op), getattr(binary, accum), 6)
            results.append((taken, values.to_dict(), near.to_dict()))
        assert results[0] == results[1]
    assert alone[0] > 0


@pytest.mark.parametrize("start", ["other values", "one value", "bitmap", "full result", "one part"])
def test_relaxations_from_anything(cuda, alone, start):
    with sg.Context(group_of(devices(cuda, 3))):
        A = weighted(made("grid")[0], "INT64")
        n = A.nrows
        at = [3, 70, 180] if start != "one part" else [1, 2, 3]
        results = []
        for run in (relaxed, relaxed_plainly):
            dist = sg.Vector.from_coo(at, [0, 40, 9], size=n)
            near = dist.dup()
            if start == "other values":
                near = sg.Vector.from_coo([3, 71, 180], [7, 0, 9], size=n)
            elif start == "one value":
                near = sg.Vector.from_coo(at, 4, np.int64, size=n)
            elif start == "bitmap":
                for _, piece in near._block.on_each():
                    piece.to_bitmap()
            elif start == "full result":
                dist = sg.Vector.from_dense(np.where(np.isin(np.arange(n), at), 0, 200))
            run(A, dist, near, semiring.min_plus, binary.min)
            results.append((dist.to_dict(), near.to_dict()))
        assert results[0] == results[1]
    assert alone[0] > 0


def test_relaxations_that_many_edges_leave_go_on_by_pulls(cuda, monkeypatch, alone):
    monkeypatch.setattr(loops_cuda, "push_limit", lambda *_: 40.0)
    with sg.Context("cpu"):
        A = weighted(sg.generators.grid(20, 20), "INT64")
        wanted = sg.algorithms.sssp(A, 0).to_dict()
    with sg.Context(group_of(devices(cuda, 2))):
        A = weighted(sg.generators.grid(20, 20), "INT64")
        dist = sg.Vector.from_coo([0], 0, "INT64", size=A.nrows)
        relaxed(A, dist, dist.dup(), semiring.min_plus, binary.min)
        assert dist.to_dict() == wanted
    assert 0 < sum(step > 0 for step in alone) < len(alone)


@pytest.mark.parametrize("graph", ["grid", "rmat"])
@pytest.mark.parametrize("algorithm", ["sssp", "sssp_parents", "bfs", "bfs_parents"])
def test_algorithms(cuda, alone, algorithm, graph):
    answers = []
    for device in ("cpu", group_of(devices(cuda, 2))):
        with sg.Context(device):
            A, source = made(graph)
            found = getattr(sg.algorithms, algorithm)(weighted(A, "FP32"), source)
            answers.append([v.to_dict() for v in (found if isinstance(found, tuple) else (found,))])
    if algorithm != "bfs_parents":
        assert answers[0] == answers[1]
    assert [set(found) for found in answers[0]] == [set(found) for found in answers[1]]
    assert any(alone)


@pytest.mark.parametrize("graph", ["grid", "long path"])
@pytest.mark.parametrize("after", [1, 2, 4, 7])
def test_a_relaxation_that_is_interrupted_can_go_on(cuda, monkeypatch, after, graph):
    with sg.Context(group_of(devices(cuda, 2))):
        A = weighted(made(graph)[0], "INT64")
        wanted = sg.algorithms.sssp(A, 0)
        dist = sg.Vector.from_coo([0], 0, "INT64", size=A.nrows)
        near = dist.dup()
        interrupt(monkeypatch, 3 * after)
        with pytest.raises(KeyboardInterrupt):
            relaxed(A, dist, near, semiring.min_plus, binary.min)
        monkeypatch.undo()
        assert near.to_dict() == {v: value for v, value in dist.to_dict().items() if v in near.to_dict()}
        while near.nvals:
            dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
        assert dist.isequal(wanted)


@pytest.mark.parametrize("kind", ["search", "relaxation"])
def test_what_an_interrupted_loop_leaves_is_not_taken_for_the_next_one(cuda, monkeypatch, alone, kind):
    """A part may have given for a superstep that others have not begun."""
    with sg.Context(group_of(devices(cuda, 2))):
        A = weighted(made("grid")[0], "INT64")
        op = {"search": any_next, "relaxation": semiring.min_plus}[kind]

        def run(source):
            w = sg.Vector.from_coo([source], 0, "INT64", size=A.nrows)
            near = w.dup()
            if kind == "search":
                searched(A, w, near, op)
            else:
                relaxed(A, w, near, op, binary.min)
            return w

        wanted = run(A.nrows - 1)
        ready = Pending.ready
        for after in range(1, 45):
            calls = []

            def interrupted(pending, after=after, calls=calls):
                calls.append(1)
                if len(calls) == after:
                    raise KeyboardInterrupt
                return ready(pending)

            monkeypatch.setattr(Pending, "ready", interrupted)
            with contextlib.suppress(KeyboardInterrupt):
                run(0)
            monkeypatch.setattr(Pending, "ready", ready)
            assert run(A.nrows - 1).isequal(wanted), after
    assert any(alone)


def test_few_programs_are_kept(cuda, alone):
    with sg.Context(group_of(devices(cuda, 2))):
        A, source = made("grid")
        border = None
        for _ in range(20):
            op = semiring.register_anonymous("any", binary.register_anonymous(lambda x, y: x + 1, "one_more"))
            w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
            searched(A, w, w.dup(), op)
            border = sharing_of(A._block)
            assert 0 < len(border.loops) <= KEPT
    assert all(alone)


def test_rooms_of_one_type_of_values_are_kept(cuda, alone):
    with sg.Context(group_of(devices(cuda, 2))):
        A, source = made("rmat")  # an edge counts 1
        wanted = sg.algorithms.bfs(A, source).to_dict()
        for dtype in ["INT64", "FP32", "INT32", "FP64", "INT64"]:
            dist = sg.Vector.from_coo([source], 0, dtype, size=A.nrows)
            relaxed(A, dist, dist.dup(), semiring.min_plus, binary.min)
            assert dist.to_dict() == wanted
            border = sharing_of(A._block)
            assert set(border.rooms) == {"searches", np.dtype(dist.dtype.np_type).name}
            assert {id(kept.rooms) for kept in border.loops.values()} <= {id(rooms) for rooms in border.rooms.values()}
    assert all(alone)


def test_parts_on_one_device_and_without_rows_are_left_to_the_host(cuda, alone):
    one, two = devices(cuda, 2)
    with sg.Context(group_of((one, two, one))):
        A, source = made("grid")
        level = sg.algorithms.bfs(A, source)
    with sg.Context(group_of((one, two)), partition=np.zeros(182, int)):
        A, source = made("grid")
        assert sg.algorithms.bfs(A, source).to_dict() == level.to_dict()
    assert set(alone) == {0}


def test_a_matrix_that_changes_is_looked_at_again(cuda, alone):
    with sg.Context(group_of(devices(cuda, 2))):
        A = sg.generators.path(100)
        assert max(sg.algorithms.bfs(A, 0).to_dict().values()) == 99
        A[0, 50] << True
        A[50, 0] << True
        assert max(sg.algorithms.bfs(A, 0).to_dict().values()) == 50
    assert any(alone)
