"""Searches in parts on GPUs that see each other, without the host: those of a plain loop, however parts lie."""

import numpy as np
import pytest
from devices import gpus

import spgraph as sg
from spgraph import context, semiring
from spgraph.algorithms.bfs import any_next
from spgraph.engine import loops_cuda
from spgraph.engine.parts import loops as parts_loops
from spgraph.exchange import group_of
from spgraph.kernels.cuda.launch import Pending


def directed(scale, degree, seed):
    rng = np.random.default_rng(seed)
    n = 1 << scale
    rows, cols = rng.integers(0, n, (2, n * degree))
    return sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=sg.binary.any)


GRAPHS = {
    "path": lambda: sg.generators.path(60),
    "grid": lambda: sg.generators.grid(14, 13),
    "rmat": lambda: sg.generators.rmat(9, 8, seed=3),
    "directed": lambda: directed(8, 3, 5),
    "star": lambda: sg.generators.star(70),
}
COSTS = {"as they are": {}, "of pulls low": {"start": 0.0, "look": 0.0}, "of pulls high": {"start": 1e9}}
OPERATORS = {"secondi": semiring.any_secondi, "firstj": semiring.any_firstj, "next": any_next,
             "pair": semiring.any_pair}


def devices(one, count):
    if one.name.startswith("emulated"):
        from emulator.device import emulated_device

        return tuple(emulated_device(number) for number in range(count))
    if gpus(one) < count:
        pytest.skip(f"there are {gpus(one)} GPUs, not {count}")
    return tuple(context.find_device(f"cuda:{number}", "--devices") for number in range(count))


@pytest.fixture
def alone(monkeypatch):
    """How many iterations each loop did without the host, whenever one could have."""
    steps, grow = [], parts_loops.grow

    def noted(*args):
        done = grow(*args)
        steps.append(0 if done is None else done.steps)
        return done

    monkeypatch.setattr(parts_loops, "grow", noted)
    return steps


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


def searched(A, w, near, op, most=None):
    with sg.loop() as loop:
        w(~w.S, changed=near) << near.vxm(A, op)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    return loop.count


def level_by_level(A, w, near, op, most=None):
    count = 0
    while True:
        w(~w.S, changed=near) << near.vxm(A, op)
        count += 1
        if near.nvals == 0 or count == most:
            return count


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
    monkeypatch.setattr(loops_cuda, "IN_LOOP", {**loops_cuda.IN_LOOP, "FEW_EDGES": "1"})
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


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("graph", ["path", "grid", "rmat"])
def test_a_search_that_is_interrupted_can_go_on(cuda, monkeypatch, graph, after):
    """C and u are those of one level on all parts."""
    with sg.Context(group_of(devices(cuda, 3))):
        A, source = made(graph)
        wanted = sg.algorithms.bfs(A, source)
        w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
        near = w.dup()
        calls, ready = [], Pending.ready

        def interrupted(pending):
            calls.append(1)
            if len(calls) == 3 * after - 1:
                raise KeyboardInterrupt
            return ready(pending)

        monkeypatch.setattr(Pending, "ready", interrupted)
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
