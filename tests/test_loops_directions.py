"""Loops that need no host, in whatever direction the context asks for: results, and whether they go that way."""

import ctypes
from typing import NamedTuple

import numpy as np
import pytest
from looping import devices, directed, interrupt, level_by_level, searched, steps_alone

import spgraph as sg
from spgraph import binary, semiring
from spgraph.algorithms.bfs import any_next
from spgraph.engine import loops_cpu, loops_cuda
from spgraph.engine.parts import loops as parts_loops
from spgraph.engine.plan import preset_limit
from spgraph.exchange import group_of

DIRECTIONS = ["push", "pull", "gap", "lagraph", "gunrock"]
PRESETS = DIRECTIONS[2:]
MOST_SPREAD = ["star", "rmat", "by degree", "uniform"]


GRAPHS = {
    "path": lambda: sg.generators.path(200),
    "grid": lambda: sg.generators.grid(14, 13),
    "star": lambda: sg.generators.star(3000),
    "rmat": lambda: sg.generators.rmat(10, 8, seed=3),
    "by degree": lambda: sg.generators.rmat(10, 8, seed=3).reorder("degree"),
    "uniform": lambda: sg.generators.uniform(3001, 6, seed=7),
    "directed": lambda: directed(9, 4, 5),
}


def on(one, count):
    """The device, or so many, whose parts lie anyhow."""
    return {"devices": one} if count == 1 else {"devices": group_of(devices(one, count)), "partition": "random"}


@pytest.fixture
def alone(monkeypatch):
    """How many iterations each loop did without the host, whenever one could have."""
    steps = steps_alone(monkeypatch, loops_cuda)
    more = steps_alone(monkeypatch, parts_loops)
    return lambda: steps + more


def busiest(A):
    return int(np.argmax(np.bincount(A.to_coo()[0], minlength=A.nrows)))


def both_ways(A):
    A._block.oriented(True)
    return A


def levels_of(graph):
    """The vertex with most edges, and the levels from it, as the CPU has them."""
    with sg.Context("cpu"):
        A = GRAPHS[graph]()
        source = busiest(A)
        return source, sg.algorithms.bfs(A, source).to_dict()


def relaxed(A, source):
    dist = sg.Vector.from_coo([source], 0, np.int64, size=A.nrows)
    near = dist.dup()
    with sg.loop() as loop:
        dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
        loop.until(near.nvals == 0)
    return dist


def weighted(A):
    rows, cols, _ = A.to_coo()
    low, high = np.minimum(rows, cols).astype(np.int64), np.maximum(rows, cols).astype(np.int64)
    weights = 1 + (low * 7919 + high * 104729) % 23
    return sg.Matrix.from_coo(rows, cols, weights.astype(np.int64), nrows=A.nrows, ncols=A.ncols)


# ---- results -----------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_searches(cuda, alone, graph, direction, count):
    source, wanted = levels_of(graph)
    with sg.Context(**on(cuda, count), direction=direction):
        A = both_ways(GRAPHS[graph]())
        for _ in range(2):  # the second one takes what the first one has made
            assert sg.algorithms.bfs(A, source).to_dict() == wanted
            found = sg.algorithms.bfs_parents(A, source).to_dict()
            assert found.keys() == wanted.keys()
            assert all(found[v] == v if v == source else wanted[found[v]] + 1 == level for v, level in wanted.items())
    depth = max(wanted.values())
    levels = depth + 1
    if count == 1:  # the first product is the host's, since u's values must be known to be C's; a star's is the last
        levels = 0 if graph == "star" else depth
    assert sum(alone()) == 2 * (levels + depth + 1)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("graph", MOST_SPREAD)
def test_what_is_left_over(cuda, alone, graph, direction, most, count):
    """C and u are what a plain loop leaves, in whatever form, and that goes on from there."""
    with sg.Context(**on(cuda, count), direction=direction):
        A = both_ways(GRAPHS[graph]())
        start = sg.Vector.from_coo([int(np.flatnonzero(A.reduce_rowwise("count").new().to_dense(0))[-1])], 1, np.int32,
                                   size=A.nrows)  # fmt: skip
        w, near, wanted, last = start.dup(), start.dup(), start.dup(), start.dup()
        assert searched(A, w, near, any_next, most) == level_by_level(A, wanted, last, any_next, most)
        assert w.isequal(wanted, check_dtype=True)
        assert near.isequal(last, check_dtype=True)
        if near.nvals:
            searched(A, w, near, any_next)
            level_by_level(A, wanted, last, any_next)
            assert w.isequal(wanted)
    assert sum(alone()) > 0 or (count, most) == (1, 1)  # the first product is the host's on one GPU


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("graph", MOST_SPREAD)
def test_levels_as_graphblas_has_them(cuda, alone, graph, direction, count):
    source, wanted = levels_of(graph)
    with sg.Context(**on(cuda, count), direction=direction):
        A = both_ways(GRAPHS[graph]())
        level, near = sg.Vector("INT64", A.nrows), sg.Vector.from_coo([source], True, size=A.nrows)
        with sg.loop() as loop:
            level(near.S) << loop.count
            near(~level.S, replace=True) << near.vxm(A, semiring.any_pair)
            loop.until(near.nvals == 0)
        assert level.to_dict() == wanted
    assert alone() == [loop.count]


@pytest.mark.parametrize("form", ["list", "bitmap"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_searches_from_many_vertices(cuda, alone, direction, count, form):
    """More than lists of a search have room for whose direction costs choose."""
    with sg.Context(**on(cuda, count), direction=direction):
        A = both_ways(GRAPHS["uniform"]())
        at = np.arange(0, A.nrows, 2)
        results = []
        for run in (searched, level_by_level):
            w = sg.Vector.from_coo(at, 4, np.int32, size=A.nrows)
            near = w.dup()
            if form == "bitmap" and count == 1:
                near._block.to_bitmap()
            elif form == "bitmap":
                for _, piece in near._block.on_each():  # while its GPU is the current one
                    piece.to_bitmap()
            run(A, w, near, any_next)
            results.append(w.to_dict())
        assert results[0] == results[1]
    assert sum(alone())


# ---- which direction it is -----------------------------------------------------------------
def test_pushes_need_no_transpose(cuda, alone):
    with sg.Context("cpu"):
        wanted = sg.algorithms.bfs(GRAPHS["directed"](), 3).to_dict()
    with sg.Context(cuda, direction="push"):
        A = GRAPHS["directed"]()
        for _ in range(2):
            assert sg.algorithms.bfs(A, 3).to_dict() == wanted
        assert not A._block.has_transpose
        assert sum(alone()) == 2 * max(wanted.values())
        with sg.Context(direction="auto"):  # which keeps to what is at hand as long as that pays
            assert sg.algorithms.bfs(A, 3).to_dict() == wanted
        both_ways(A)
        for direction in ("auto", "pull", "push"):
            with sg.Context(direction=direction):
                assert sg.algorithms.bfs(A, 3).to_dict() == wanted


class Choice(NamedTuple):
    """A step of a loop, and what is next."""

    steps: int
    pushes: bool
    count: int
    edges: float
    allowed: int
    listed: bool
    n: int
    stored: int


PUSHES, PULLS, BEGINS = {1, 3, 5, 6, 11, 13, 16}, {2, 4, 7, 12, 14, 15}, {8, 9}  # turns, as in after.cuh


@pytest.fixture
def choices(emulated, monkeypatch):
    """What loops on emulated GPUs choose at the beginning and after each product, by the words of their state."""
    from emulator.device import EmulatedDevice

    found, start = [], EmulatedDevice.start_graph

    def started(device, graph):
        for launch in graph:
            state = (ctypes.c_int64 * 25).from_address(launch[3][1])
            began, before = state[0] not in BEGINS, state[7]
            launches = device.counters.launches
            start(device, [launch])
            device.counters.launches = launches
            turn, as_list, count, edges, entries, steps = (state[k] for k in (0, 3, 4, 5, 6, 7))
            if (steps != before and turn) or (not began and turn not in BEGINS):
                n, stored, sources = state[11], state[12], state[14]
                listed = not state[24] if state[21] else bool(as_list)
                leaving = edges if edges >= 0 else count * stored / sources
                assert turn in PUSHES | PULLS
                found.append(Choice(steps, turn in PUSHES, count, leaving, n - entries, listed, n, stored))
        device.counters.launches += 1

    monkeypatch.setattr(EmulatedDevice, "start_graph", started)
    return found


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_one_direction(emulated, choices, direction, count):
    with sg.Context(**on(emulated, count), direction=direction):
        for graph in MOST_SPREAD:
            A = both_ways(GRAPHS[graph]())
            sg.algorithms.bfs(A, 1)
            sg.algorithms.bfs_parents(A, 1)
    assert {choice.pushes for choice in choices} == {direction == "push"}
    assert len(choices) > 10


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("direction", PRESETS)
def test_rules_are_those_of_the_host(emulated, choices, direction, count):
    with sg.Context(**on(emulated, count), direction=direction):
        for graph in GRAPHS:
            A = both_ways(GRAPHS[graph]())
            for source in range(0, A.nrows, A.nrows // 5):
                if A[source, :].new().nvals:
                    sg.algorithms.bfs(A, source)
    for choice in choices:
        limit = preset_limit(direction, choice.n, choice.stored, choice.allowed, choice.count, choice.listed)
        assert choice.pushes == (limit is not None and choice.edges <= limit), choice
    found = {(choice.pushes, choice.listed) for choice in choices}
    assert found == {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.parametrize("direction", ["push", "pull", *PRESETS])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_host_goes_the_same_way(emulated, monkeypatch, choices, graph, direction):
    """Statement by statement, as a trace sees it, also where kernels of a direction have not run before."""
    begin, first = loops_cuda.Search.begin, []

    def noted(search):
        turn = begin(search)
        first[:] = {loops_cuda.LISTING: [True], loops_cuda.PULLING: [False]}.get(turn, [])  # else a kernel chooses
        return turn

    monkeypatch.setattr(loops_cuda.Search, "begin", noted)
    with sg.Context(emulated, direction=direction):
        A = both_ways(GRAPHS[graph]())
        for source in range(0, A.nrows, A.nrows // 5):
            choices.clear()
            level = sg.algorithms.bfs(A, source)
            with sg.trace() as t:
                sg.algorithms.bfs(A, source)
            ways = [way == "push" for way in t.to_pandas()["direction"] if way]
            loop = [*first, *(choice.pushes for choice in choices)]
            all_reached = level.nvals == A.nrows  # then the host need not look for more
            assert ways[1:] == loop[:len(loop) - all_reached], source


def test_exactly_as_many_edges_as_a_rule_allows_are_pushed(emulated, choices):
    """100 of 130 vertices are left, and 1,196 edges: 115 is an eighth of theirs, if that is not rounded on the way."""
    degrees = [12] * 5 + [11] * 5 + [100] * 10 + [81]
    rows = np.repeat(np.arange(len(degrees)), degrees)
    cols = np.concatenate([np.arange(130 - degree, 130) for degree in degrees])
    with sg.Context(emulated, direction="lagraph"):
        A = both_ways(sg.Matrix.from_coo(rows, cols, True, nrows=130, ncols=130))
        w, near = sg.Vector.from_coo(np.arange(30), 1, size=130), sg.Vector.from_coo(np.arange(10), 1, size=130)
        assert searched(A, w, near, semiring.any_pair, 1) == 1
    first = choices[0]
    assert (first.n, first.stored, first.allowed, first.count, first.listed) == (130, 1196, 100, 10, True)
    assert preset_limit("lagraph", 130, 1196, 100, 10, True) == 115
    assert first.pushes


def test_a_bitmap_without_entries_is_no_reason_to_pull(emulated):
    """Entries of all parts are in lists, whatever a part without any has."""
    with sg.Context(**on(emulated, 2) | {"partition": "contiguous"}):
        u = sg.Vector.from_coo([1, 2], 1, size=100)
        pieces = u._block.pieces  # emulated ones may be looked at from any
        pieces[1].to_bitmap()
        assert [piece.format for piece in pieces] == ["sparse", "bitmap"]
        assert u._block.listed
        pieces[0].to_bitmap()
        assert not u._block.listed


# ---- relaxations ------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("graph", ["grid", *MOST_SPREAD])
def test_relaxations_that_are_pushed_are_not_left(cuda, monkeypatch, alone, graph, count):
    """However cheap pulls are, and however many edges leave what has changed."""
    cheap = loops_cuda.GPU_COSTS._replace(pull=1e-9, look=0.0, start=0.0)
    monkeypatch.setattr(loops_cuda, "GPU_COSTS", cheap)
    monkeypatch.setattr(parts_loops, "GPU_COSTS", cheap)
    monkeypatch.setattr(loops_cuda, "MOST_LISTED", 16)
    monkeypatch.setattr(loops_cuda, "ROOM_SHARE", 1 << 40)
    with sg.Context("cpu"):
        A = weighted(GRAPHS[graph]())
        source = busiest(A)
        wanted = relaxed(A, source).to_dict()
    with sg.Context(**on(cuda, count)):
        A = both_ways(weighted(GRAPHS[graph]()))
        assert relaxed(A, source).to_dict() == wanted
        assert 0 in alone()  # costs choose: it is left, or does not begin
        before = len(alone())
        with sg.Context(direction="push"):
            for _ in range(2):
                assert relaxed(A, source).to_dict() == wanted
    assert len(alone()) == before + (2 if count > 1 else 4)  # once, if not what the first product does is to be known
    assert all(alone()[-1:])


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("direction", ["pull", *PRESETS])
def test_relaxations_in_other_directions(cuda, alone, direction, count):
    """Rules are for rows that stop early, so that relaxations do not know them; pulls are the host's."""
    with sg.Context("cpu"):
        A = weighted(GRAPHS["grid"]())
        wanted = relaxed(A, 5).to_dict()
    with sg.Context(**on(cuda, count), direction=direction):
        assert relaxed(both_ways(weighted(GRAPHS["grid"]())), 5).to_dict() == wanted
    assert (sum(alone()) == 0) == (direction == "pull")


# ---- interrupts, memory, the CPU -------------------------------------------------------------
@pytest.mark.parametrize(("count", "look"), [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (2, 5)])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_searches_that_are_interrupted_can_go_on(cuda, monkeypatch, direction, look, count):
    source, wanted = levels_of("by degree")
    with sg.Context(**on(cuda, count), direction=direction):
        A = both_ways(GRAPHS["by degree"]())
        sg.algorithms.bfs(A, source)
        w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
        near = w.dup()
        with monkeypatch.context() as patch:
            interrupt(patch, look)
            with pytest.raises(KeyboardInterrupt):
                searched(A, w, near, any_next)
        reached, last = w.to_dict(), near.to_dict()
        assert reached == {v: level for v, level in wanted.items() if level <= max(reached.values())}
        assert last.keys() == {v for v, level in reached.items() if level == max(reached.values())} or not last
        if near.nvals:
            searched(A, w, near, any_next)
        assert w.to_dict() == wanted


def test_pushes_alone_on_a_cpu(monkeypatch):
    """One thread runs small supersteps by itself there; rules of other systems are asked at each superstep."""
    steps = steps_alone(monkeypatch, loops_cpu)
    for device in ("cpu", "cpu:3"):
        for direction in ("auto", "push", "pull", "gap"):
            before = len(steps)
            with sg.Context(device, direction=direction):
                A = both_ways(GRAPHS["grid"]())
                level = sg.algorithms.bfs(A, 0)
                assert level.reduce("max").value == 25
            assert bool(sum(steps[before:])) == (direction in ("auto", "push")), (device, direction)
