"""Who owns a vertex: every partition on every graph, what it promises, what it costs, and what it refuses."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest
from graphs import GRAPHS, directed, from_pairs, grid, rmat
from hypothesis import given
from hypothesis import strategies as st

from spgraph import exceptions, partition
from spgraph.kernels.cpu import _specialise
from spgraph.partition import Partition
from spgraph.partition._owners import VERTEX_COST

NAMES = partition.names()
PACKAGES = {"metis": "pymetis", "border": "mtkahypar"}
PARTS = (1, 2, 3, 7)
SOME = [*GRAPHS.values(), from_pairs("loops", 6, [(i, i) for i in range(6)]), directed(200, 900, seed=2)]


def csr(graph, dtype=np.int32):
    """The pattern of a graph of `graphs`."""
    order = np.lexsort((graph.cols, graph.rows))
    indptr = np.zeros(graph.n + 1, dtype)
    np.cumsum(np.bincount(graph.rows, minlength=graph.n), out=indptr[1:])
    return indptr, graph.cols[order].astype(dtype)


@functools.cache
def sample(name):
    return csr({"grid": grid(24, seed=1), "rmat": rmat(9, 8, seed=1)}[name])


@functools.cache
def reported(name, graph, parts, seed=0):
    return partition.report(name, *sample(graph), parts, seed=seed)


def degrees(indptr):
    return np.diff(indptr).astype(np.int64)


def loads(owner, indptr, parts):
    """Edges and vertices of each part, as the edge-balanced partitions count them; and the heaviest vertex."""
    weights = degrees(indptr) + VERTEX_COST
    return np.bincount(owner, weights, parts), weights.sum() / parts, weights.max(initial=0)


# ---- every partition -------------------------------------------------------------------
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("graph", SOME, ids=lambda graph: graph.name)
def test_every_vertex_has_an_owner(graph, name, parts):
    indptr, indices = csr(graph)
    owner = partition.assign(name, indptr, indices, parts, seed=1)
    assert owner.dtype == np.uint8
    assert owner.shape == (graph.n,)
    assert not graph.n or owner.max() < parts
    if graph.n <= parts and name in ("contiguous", "random", "metis", "border"):
        assert np.bincount(owner, minlength=parts).max(initial=0) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_types_of_the_pattern_do_not_matter(name):
    graph = grid(8, seed=1)
    found = [partition.assign(name, *csr(graph, dtype), 3, seed=4).tolist() for dtype in (np.int32, np.int64)]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PACKAGES])
def test_many_parts_take_a_wider_type(name):
    indptr, indices = sample("rmat")
    for parts, dtype in ((255, np.uint8), (256, np.uint8), (257, np.uint16)):
        owner = partition.assign(name, indptr, indices, parts)
        assert owner.dtype == dtype
        assert owner.max() < parts
    assert np.unique(owner).size > 200


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides(name):
    indptr, indices = sample("rmat")
    first, again, other = (partition.assign(name, indptr, indices, 3, seed=seed) for seed in (5, 5, 6))
    assert first.tolist() == again.tolist()
    assert (first.tolist() == other.tolist()) == (name in ("contiguous", "contiguous_edges", "border"))


@pytest.mark.parametrize("name", ["random_edges", "biased_random"])
def test_interpreted_and_compiled_agree(name):
    before = _specialise.set_jit("always")
    try:
        compiled = partition.report(name, *sample("grid"), 3, seed=2)
        _specialise.set_jit("never")
        plain = partition.report(name, *sample("grid"), 3, seed=2)
    finally:
        _specialise.set_jit(before)
    assert compiled.owner.tolist() == plain.owner.tolist()
    assert (compiled.cut, compiled.pairs.tolist()) == (plain.cut, plain.pairs.tolist())


# ---- what each promises ----------------------------------------------------------------
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("graph", SOME, ids=lambda graph: graph.name)
class TestBalance:
    @pytest.mark.parametrize("name", ["contiguous", "random"])
    def test_vertices_to_one(self, graph, name, parts):
        owner = partition.assign(name, *csr(graph), parts)
        assert np.ptp(np.bincount(owner, minlength=parts)) <= 1

    def test_contiguous_edges_to_a_vertex(self, graph, parts):
        indptr, indices = csr(graph)
        owner = partition.assign("contiguous_edges", indptr, indices, parts)
        load, mean, heaviest = loads(owner, indptr, parts)
        assert (np.diff(owner.astype(int)) >= 0).all()
        assert load.max() <= np.ceil(mean) + heaviest

    def test_random_edges_to_a_vertex(self, graph, parts):
        indptr, indices = csr(graph)
        load, _, heaviest = loads(partition.assign("random_edges", indptr, indices, parts), indptr, parts)
        assert np.ptp(load) <= heaviest

    @pytest.mark.parametrize("bias", [0, 0.5, 1])
    @pytest.mark.parametrize("balance", ["vertices", "edges"])
    def test_biased_random_to_slack_or_a_vertex(self, graph, parts, bias, balance):
        indptr, indices = csr(graph)
        owner = partition.biased_random(indptr, indices, parts, bias=bias, balance=balance, slack=0.1)
        load, mean, heaviest = loads(owner, indptr, parts)
        if balance == "vertices":
            load, mean, heaviest = np.bincount(owner, minlength=parts), graph.n / parts, 1
        assert load.max() <= max(np.ceil(1.1 * mean), mean + heaviest)


@pytest.mark.parametrize(
    ("edges", "parts", "owner"), [((1, 8, 1), 2, [0, 1, 1]), ((1, 8, 2), 2, [0, 0, 1]), ((2, 8, 1), 2, [0, 1, 1]),
                                  ((9, 0, 0, 0), 3, [1, 2, 2, 2]), ((0, 0, 0, 0), 3, [0, 1, 2, 2])]
)  # fmt: skip
def test_contiguous_edges_cuts_at_the_nearest_vertex(edges, parts, owner):
    indptr = np.concatenate([[0], np.cumsum(edges)])
    assert partition.contiguous(indptr, np.zeros(indptr[-1], int), parts, balance="edges").tolist() == owner


@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("graph", ["grid", "rmat"])
@pytest.mark.parametrize("name", PACKAGES)
def test_minimised_parts_are_nearly_even(name, graph, parts):
    indptr, _ = sample(graph)
    load, mean, _ = loads(reported(name, graph, parts).owner, indptr, parts)
    assert load.max() <= 1.06 * mean
    assert load.min() > 0


def test_unit_weights_leave_metis_with_uneven_edges():
    by_vertices = partition.report(functools.partial(partition.metis, balance="vertices"), *sample("rmat"), 4)
    assert by_vertices.edge_balance > 1.5 > 1.05 > reported("metis", "rmat", 4).edge_balance


# ---- what each costs: FACTS.md's table, smaller ----------------------------------------
@pytest.mark.parametrize("parts", [2, 4])
class TestCosts:
    def test_a_grid(self, parts):
        cut = {name: reported(name, "grid", parts).cut for name in NAMES}
        edges = sample("grid")[1].size
        assert cut["random"] == pytest.approx(edges * (1 - 1 / parts), rel=0.1)
        assert cut["contiguous"] <= 2 * 24 * (parts - 1)
        assert cut["metis"] < cut["random"] / 8
        assert cut["border"] < cut["random"] / 8
        assert cut["biased_random"] < 0.9 * cut["random"]

    def test_a_grid_has_the_smallest_border_by_border(self, parts):
        found = {name: reported(name, "grid", parts).border for name in NAMES}
        assert found["border"] <= min(found.values()) * 1.1
        assert found["border"] < found["random"] / 8
        assert found["biased_random"] < found["random"]

    def test_a_power_law_graph_can_hardly_be_cut(self, parts):
        found = {name: reported(name, "rmat", parts).border for name in NAMES}
        assert found["border"] == min(found.values())
        assert 0.3 * found["random"] < found["border"] < 0.9 * found["random"]
        assert found["metis"] < found["random"]
        assert found["biased_random"] < found["random"]


def test_metis_by_volume_has_a_smaller_border():
    by_volume = partition.report(functools.partial(partition.metis, objective="volume"), *sample("rmat"), 4)
    assert by_volume.border < reported("metis", "rmat", 4).border


def test_metis_takes_a_directed_graph_as_undirected():
    arrows = from_pairs("line", 40, [(i, i + 1) for i in range(39)])
    both = from_pairs("path", 40, [(i, i + 1) for i in range(39)], both_ways=True)
    assert partition.report("metis", *csr(arrows), 2).cut <= 2
    assert partition.report("metis", *csr(both), 2).cut <= 4


# ---- the report ------------------------------------------------------------------------
@st.composite
def owned(draw):
    """A graph, directed and with self-loops, and owners of its vertices; some parts own nothing."""
    n, parts = draw(st.integers(0, 9)), draw(st.integers(1, 5))
    ends = st.integers(0, n - 1)
    pairs = sorted(draw(st.sets(st.tuples(ends, ends), max_size=30))) if n else []
    owner = draw(st.lists(st.integers(0, parts - 1), min_size=n, max_size=n))
    return from_pairs("drawn", n, pairs), owner, parts


@given(owned())
def test_report_counts_what_a_loop_counts(case):
    graph, owner, parts = case
    found = partition.report(owner, *csr(graph), parts)
    crossing = [(i, j) for i, j in zip(graph.rows.tolist(), graph.cols.tolist()) if owner[i] != owner[j]]
    needs = {(j, owner[i]) for i, j in crossing}
    pairs = np.zeros((parts, parts), int)
    for j, part in needs:
        pairs[owner[j], part] += 1
    assert found.vertices.tolist() == [owner.count(p) for p in range(parts)]
    assert found.edges.tolist() == [sum(owner[i] == p for i in graph.rows.tolist()) for p in range(parts)]
    assert found.cut == len(crossing)
    assert found.border == len(needs)
    assert found.pairs.tolist() == pairs.tolist()
    assert found.owner.tolist() == owner
    for balance, counts in ((found.vertex_balance, found.vertices), (found.edge_balance, found.edges)):
        assert balance == (pytest.approx(max(counts) * parts / sum(counts)) if sum(counts) else 1)


def test_report_of_a_star():
    star = from_pairs("star", 9, [(0, i) for i in range(1, 9)], both_ways=True)
    found = partition.report([0, 0, 0, 1, 1, 1, 2, 2, 2], *csr(star), 3)
    assert (found.cut, found.border) == (12, 8)  # parts 1 and 2 need the centre, part 0 needs three leaves of each
    assert found.pairs.tolist() == [[0, 1, 1], [3, 0, 0], [3, 0, 0]]
    assert found.edges.tolist() == [10, 3, 3]
    assert str(found).splitlines() == [
        "array: 9 vertices and 16 stored edges in 3 parts, 0.00 s",
        "  balance  1.000 of vertices, 1.875 of edges (largest / mean)",
        "  cut      12 edges (75.0%)",
        "  border   8 values, 0.89 per vertex",
        "  part vertices    edges     to 0     to 1     to 2",
        "     0        3       10                 1        1",
        "     1        3        3        3                 0",
        "     2        3        3        3        0",
    ]


def test_report_names_its_partition_and_takes_its_time():
    def halves(indptr, indices, parts, seed):
        return np.arange(indptr.size - 1) % parts

    named = [partition.report(p, *sample("grid"), 2) for p in ("random", halves, functools.partial(halves, seed=1))]
    assert [found.name for found in named[:2]] == ["random", "halves"]
    assert all(found.seconds > 0 for found in named[:2])
    assert partition.report(named[0].owner, *sample("grid"), 2).seconds == 0


def test_report_of_many_parts_leaves_the_matrix_out():
    assert len(str(reported("contiguous", "grid", 20)).splitlines()) == 4


def test_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    found = reported("metis", "grid", 4)
    figure = partition.plot(found)
    matrix, bars = figure.axes[:2]
    assert matrix.get_title() == f"metis: border of {found.border:,}"
    assert np.array_equal(matrix.images[0].get_array().filled(0), found.pairs)
    assert {text.get_text() for text in matrix.texts} >= {str(found.pairs[0, 1])}
    assert [bar.get_height() for bar in bars.patches[:4]] == pytest.approx(found.vertices / found.vertices.sum())
    plt.close(figure)
    given, axes = plt.subplots(1, 2)
    assert partition.plot(reported("contiguous", "grid", 20), axes) is given
    plt.close(given)


# ---- order -----------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("name", ["contiguous", "random", "random_edges"])
def test_lay_out(name, order):
    indptr, indices = sample("rmat")
    degree = degrees(indptr)
    owner = partition.assign(name, indptr, indices, 5)
    starts, places = partition.lay_out(owner, 5, order=order, degree=degree)
    if name == "contiguous" and order == "natural":
        assert places is None
        places = np.arange(owner.size)
    assert np.diff(starts).tolist() == np.bincount(owner, minlength=5).tolist()
    inverse = Partition(places).to_local
    assert inverse[places].tolist() == list(range(owner.size))
    for p in range(5):
        own = places[starts[p] : starts[p + 1]]
        assert (owner[own] == p).all()
        key = -degree[own] if order == "degree" else np.zeros(own.size, int)
        assert np.lexsort((own, key)).tolist() == list(range(own.size))


def test_lay_out_of_nothing():
    starts, places = partition.lay_out(np.empty(0, np.uint8), 3)
    assert starts.tolist() == [0, 0, 0, 0]
    assert places is None


# ---- what is refused -------------------------------------------------------------------
GRID = csr(grid(3, seed=1))


def too_many(indptr, indices, parts, seed):
    return np.full(indptr.size - 1, parts)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("meits", exceptions.InvalidValue, "partition: got 'meits', wanted one of contiguous, contiguous_edges, "),
        ([0, 1], exceptions.DimensionMismatch, "partition: the array has shape (2,), wanted (9,): one part per vertex"),
        ([[0] * 9], exceptions.DimensionMismatch, "partition: the array has shape (1, 9), wanted (9,)"),
        ([0.0] * 9, exceptions.DomainMismatch, "partition: the array has dtype float64, wanted integers of 0..1"),
        ([True] * 9, exceptions.DomainMismatch, "partition: the array has dtype bool, wanted integers of 0..1"),
        ([0, 0, -1] * 3, exceptions.IndexOutOfBound, "partition: the array has -1 for vertex 2, wanted numbers of "),
        ([0] * 8 + [2], exceptions.IndexOutOfBound, "partition: the array has 2 for vertex 8, wanted numbers of 0..1"),
        (too_many, exceptions.IndexOutOfBound, "partition: the array of too_many has 2 for vertex 0"),
        (None, exceptions.DimensionMismatch, "partition: the array has shape (), wanted (9,)"),
    ],
)  # fmt: skip
def test_partitions_that_are_none(given, error, message):
    with pytest.raises(error) as caught:
        partition.assign(given, *GRID, 2)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("parts", [0, -1, 1.5, True, "2"])
def test_numbers_of_parts_that_are_none(parts):
    with pytest.raises(exceptions.InvalidValue, match=r"partition: parts is .*, wanted a positive integer"):
        partition.assign("random", *GRID, parts)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (functools.partial(partition.random, balance="edge"), "partition: balance is 'edge', wanted 'vertices' or "),
        (functools.partial(partition.biased_random, bias=1.5), "biased_random: bias is 1.5, wanted a number from 0 "),
        (functools.partial(partition.biased_random, slack=-1), "biased_random: slack is -1"),
        (functools.partial(partition.metis, objective="vol"), "metis: objective is 'vol', wanted 'cut' or 'volume'"),
        (functools.partial(partition.border, slack=-0.1), "border: slack is -0.1"),
        (functools.partial(partition.border, preset="best"), "border: preset is 'best', wanted one of deterministic, "),
    ],
)  # fmt: skip
def test_options_that_are_none(call, message):
    with pytest.raises(exceptions.InvalidValue) as caught:
        call(*GRID, 2)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("indptr", "indices", "error", "message"),
    [
        ([], [], exceptions.DimensionMismatch, "indptr is empty"),
        ([[0, 1]], [0], exceptions.DimensionMismatch, "indptr has shape (1, 2), wanted one dimension"),
        ([0.0, 1.0], [0], exceptions.DomainMismatch, "indptr has dtype float64, wanted integers"),
        ([1, 1], [], exceptions.InvalidValue, "indptr begins with another number than 0 or falls"),
        ([0, 2, 1], [0], exceptions.InvalidValue, "indptr begins with another number than 0 or falls"),
        ([0, 1, 3], [0, 1], exceptions.DimensionMismatch, "indices has 2 entries, but indptr ends with 3"),
        ([0, 1, 2], [0.0, 1.0], exceptions.DomainMismatch, "indices has dtype float64"),
        ([0, 1, 2], [0, 2], exceptions.IndexOutOfBound, "indices has the column 2, wanted columns of 0..1"),
        ([0, 1, 2], [0, -5], exceptions.IndexOutOfBound, "indices has the column -5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [*partition.names(), [0, 1]])
def test_patterns_that_are_none(name, indptr, indices, error, message):
    """They would be read, and written to, out of bounds by compiled kernels and other people's packages."""
    calls = [partition.report]
    if isinstance(name, str) and name not in ("contiguous", "contiguous_edges", "random", "random_edges"):
        calls.append(partition.assign)
    for call in calls:
        with pytest.raises(error) as caught:
            call(name, np.array(indptr), np.array(indices), 2)
        assert str(caught.value).startswith(f"partition: {message}")


def test_lists_are_patterns():
    assert partition.report("random", [0, 1, 2], [1, 0], 2).cut == 2


@pytest.mark.parametrize("seed", [-1, 1.5, True, "x"])
@pytest.mark.parametrize("name", ["random", "random_edges", "biased_random", "metis", "border"])
def test_seeds_that_are_none(name, seed):
    with pytest.raises(exceptions.InvalidValue, match=r"partition: seed is .*, wanted an integer that is not negative"):
        partition.assign(name, *GRID, 2, seed=seed)


@pytest.mark.parametrize("name", partition.names())
def test_seeds_may_be_large(name):
    assert partition.assign(name, *GRID, 2, seed=2**70).size == 9


def test_lay_out_refuses():
    with pytest.raises(exceptions.InvalidValue, match="order is 'random', wanted 'natural' or 'degree'"):
        partition.lay_out(np.zeros(3, np.uint8), 1, order="random")
    with pytest.raises(exceptions.InvalidValue, match="no degree is given"):
        partition.lay_out(np.zeros(3, np.uint8), 1, order="degree")


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_packages_that_are_missing_are_named(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"^partition '{name}' needs {package}: pip install {package}$"):
        partition.assign(name, *GRID, 2)


def test_plot_without_matplotlib(monkeypatch):
    found = partition.report("contiguous", *GRID, 2)
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"^plot needs matplotlib: pip install matplotlib$"):
        partition.plot(found)
