"""The validator accepts every right tree and names what is wrong with a wrong one."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import spgraph as sg
from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound
from spgraph.validate import EdgeList, _edges, validate_bfs, validate_sssp

N = 7
triples = st.dictionaries(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), st.integers(0, 4), max_size=20
)


def csr(edges, n=N, dtype=np.int64):
    order = sorted(edges)
    rows = np.array([u for u, _ in order], np.int64)
    indptr = (
        np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
        if order
        else np.zeros(n + 1, np.int64)
    )
    return indptr, np.array([v for _, v in order], np.int64), np.array([edges[pair] for pair in order], dtype)


def undirected(edges):
    return {pair: w for (u, v), w in edges.items() for pair in ((u, v), (v, u))}


def bfs(edges, source, n=N):
    parent, level, queue = [-1] * n, [-1] * n, [source]
    parent[source], level[source] = source, 0
    for u in queue:
        for v in sorted(v for w, v in edges if w == u):
            if level[v] < 0:
                parent[v], level[v] = u, level[u] + 1
                queue.append(v)
    return parent, level


def bellman_ford(edges, source, n=N):
    dist, parent = {source: 0}, [-1] * n
    parent[source] = source
    changed = True
    while changed:
        changed = False
        for (u, v), w in edges.items():
            if u in dist and dist[u] + w < dist.get(v, 10**9):
                dist[v], parent[v], changed = dist[u] + w, u, True
    return [dist.get(v, -1) for v in range(n)], parent


def broken(report):
    return [rule.number for rule in report.rules if not rule.ok]


# ---- BFS ----------------------------------------------------------------------------
@given(triples, st.integers(0, N - 1), st.booleans())
def test_right_bfs_trees(edges, source, directed):
    edges = edges if directed else undirected(edges)
    parent, level = bfs(edges, source)
    for levels in (None, level):
        report = validate_bfs(csr(edges)[:2], source, parent, levels)
        assert report, str(report)
        assert report.reached == sum(p >= 0 for p in parent)
        assert report.edges == sum(parent[u] >= 0 for u, _ in edges)


@given(triples, st.integers(0, N - 1), st.booleans(), st.data())
def test_wrong_bfs_answers(edges, source, directed, data):
    """Accepted exactly when the levels of the claimed tree are the levels."""
    edges = edges if directed else undirected(edges)
    parent, level = bfs(edges, source)
    for _ in range(data.draw(st.integers(1, 2))):
        parent[data.draw(st.integers(0, N - 1))] = data.draw(st.integers(-1, N - 1))
    report = validate_bfs(csr(edges)[:2], source, parent, level)
    depth_ok = all(
        p == v
        if v == source
        else (p < 0) == (level[v] < 0) and (p < 0 or ((p, v) in edges and level[p] == level[v] - 1))
        for v, p in enumerate(parent)
    )
    assert report.ok == depth_ok, str(report)


PATH = undirected({(0, 1): 1, (1, 2): 1, (2, 3): 1, (4, 5): 1})


@pytest.mark.parametrize(
    ("parent", "level", "rules", "message"),
    [
        ([0, 0, 1, 2, -1, -1, -1], None, [], ""),
        ([1, 0, 1, 2, -1, -1, -1], None, [1], "the parent of the source 0 is 1, not itself"),
        ([-1, 0, 1, 2, -1, -1, -1], None, [1], "the parent of the source 0 is -1, not itself"),
        ([0, 0, 3, 2, -1, -1, -1], None, [1], "from 2 the parents never lead to the source 0"),
        ([0, 0, 1, 2, 5, 4, -1], None, [1], "from 4 the parents never lead to the source 0"),
        ([0, 0, 1, 9, -1, -1, -1], None, [1], "the parent of 3 is 9, there are 7 vertices"),
        ([0, 0, 1, 2, -1, -1, -1], [0, 1, 2, 2, -1, -1, -1], [2], "tree edge 2 -> 3 joins levels 2 and 2"),
        ([0, 0, 1, 2, -1, -1, -1], [1, 2, 3, 4, -1, -1, -1], [2], "the level of the source 0 is 1"),
        ([0, 0, 1, 2, -1, -1, -1], [0, 1, 2, 3, 0, -1, -1], [2], "4 has a level but no parent"),
        ([0, 0, 1, 2, -1, -1, -1], [0, 1, 2, -1, -1, -1, -1], [2], "3 has a parent but no level"),
        ([0, 0, 1, -1, -1, -1, -1], None, [3, 4], "edge 2 -> 3 leaves the tree"),
        ([0, 0, 1, 2, 3, 4, -1], None, [5], "there is no edge 3 -> 4"),
        ([0, 0, 0, 2, -1, -1, -1], None, [5], "there is no edge 0 -> 2"),
    ],
)
def test_each_bfs_rule(parent, level, rules, message):
    report = validate_bfs(csr(PATH)[:2], 0, parent, level)
    assert set(rules) <= set(broken(report))
    assert report.ok == (not rules)
    assert message in str(report)


def test_long_edges():
    """A tree that goes the long way round a cycle of four."""
    square = csr(undirected({(0, 1): 1, (1, 2): 1, (2, 3): 1, (3, 0): 1}), 4)[:2]
    report = validate_bfs(square, 0, [0, 0, 1, 2])
    assert broken(report) == [3]
    assert "edge 0 -> 3 joins levels 0 and 3" in str(report)
    directed = csr({(0, 1): 1, (1, 2): 1, (2, 3): 1, (3, 0): 1}, 4)[:2]
    assert validate_bfs(directed, 0, [0, 0, 1, 2])  # an edge back from level 3 to level 0 is no shortcut


def test_kinds_of_input():
    A = sg.generators.path(4)
    parent = sg.Vector.from_coo([0, 1, 2, 3], [0, 0, 1, 2], size=4)
    level = sg.Vector.from_coo([0, 1, 2, 3], [0, 1, 2, 3], size=4)
    assert validate_bfs(A, 0, parent, level)
    assert validate_bfs(sp.csc_array(nx.to_scipy_sparse_array(nx.path_graph(4))), np.int32(0), [0, 0, 1, 2])
    assert validate_sssp(A, 0, level, parent)
    assert validate_bfs(sg.generators.path(1), 0, [0])
    assert validate_bfs(A, 0, sg.Vector.from_coo([0, 1, 2, 3], [0, 0, 1, 2], "UINT64", size=4), level)
    isolated = sg.Vector.from_coo([2], [2], size=3)
    assert validate_bfs(sg.Matrix(bool, 3, 3), 2, isolated)
    for source in (4, -1, 1.5, None):
        with pytest.raises(IndexOutOfBound, match=r"source: got .*, wanted a vertex of 0\.\.3"):
            validate_bfs(A, source, parent)
    with pytest.raises(DimensionMismatch, match=r"parent has shape \(3,\), the graph has 4 vertices"):
        validate_bfs(A, 0, [0, 0, 1])
    with pytest.raises(DimensionMismatch, match="2 x 3"):
        validate_bfs(sg.Matrix(bool, 2, 3), 0, [0, 0])
    with pytest.raises(DomainMismatch, match="parent has dtype float64"):
        validate_bfs(A, 0, [0.0, 0, 1, 2])


# ---- SSSP ---------------------------------------------------------------------------
@given(triples, st.integers(0, N - 1), st.booleans())
def test_right_distances(edges, source, directed):
    edges = edges if directed else undirected(edges)
    dist, parent = bellman_ford(edges, source)
    graph = csr(edges)
    floats = np.where(np.array(dist) < 0, np.inf, dist)
    for answer, tree in ((dist, parent), (dist, None), (floats, parent), (floats.astype(np.float32), None)):
        report = validate_sssp(graph, source, answer, tree)
        assert report, str(report)
    assert validate_sssp((*graph[:2], graph[2] * 0.1), source, floats * 0.1)


@given(triples, st.integers(0, N - 1), st.data())
def test_wrong_distances(edges, source, data):
    dist, parent = bellman_ford(edges, source)
    wrong = list(dist)
    wrong[data.draw(st.integers(0, N - 1))] += data.draw(st.sampled_from([-1, 1, 2]))
    wrong = [max(d, -1) for d in wrong]
    for tree in (None, parent):
        assert validate_sssp(csr(edges), source, wrong, tree).ok == (wrong == dist)


LINE = {(0, 1): 2, (1, 2): 3, (0, 2): 9, (4, 5): 0, (5, 4): 0}


@pytest.mark.parametrize(
    ("dist", "parent", "rules", "message"),
    [
        ([0, 2, 5, -1, -1, -1, -1], [0, 0, 1, -1, -1, -1, -1], [], ""),
        ([1, 3, 6, -1, -1, -1, -1], [0, 0, 1, -1, -1, -1, -1], [1], "the distance of the source 0 is 1"),
        (
            [-1, 2, 5, -1, -1, -1, -1],
            [0, 0, 1, -1, -1, -1, -1],
            [1, 2],
            "the distance of the source 0 is missing",
        ),
        ([0, 2, 5, -1, 0, 0, -1], [0, 0, 1, -1, 5, 4, -1], [1], "from 4 the parents never lead"),
        ([0, 2, 5, -1, 0, 0, -1], None, [1], "4 has a distance but no path from the source"),
        ([0, 2, 5, -1, -1, -1, -1], [0, 0, -1, -1, -1, -1, -1], [1], "2 has a distance but no path"),
        (
            [0, 2, 5, -1, -1, -1, -1],
            [0, 0, 0, -1, -1, -1, -1],
            [2],
            "edge 0 -> 2 of weight 9 joins distances 0 and 5",
        ),
        (
            [0, 2, 9, -1, -1, -1, -1],
            [0, 0, 0, -1, -1, -1, -1],
            [3],
            "edge 1 -> 2 of weight 3 joins distances 2 and 9",
        ),
        ([0, 2, -1, -1, -1, -1, -1], [0, 0, -1, -1, -1, -1, -1], [4], "edge 0 -> 2 leaves the tree"),
        ([0, 2, 5, 7, -1, -1, -1], [0, 0, 1, 2, -1, -1, -1], [5], "there is no edge 2 -> 3"),
    ],
)
def test_each_sssp_rule(dist, parent, rules, message):
    report = validate_sssp(csr(LINE), 0, dist, parent)
    assert broken(report) == rules
    assert message in str(report)


def test_numbers_at_the_edge():
    far = csr({(0, 1): 2**62, (1, 2): 2**62}, 3)
    assert broken(validate_sssp(far, 0, [0, 2**62, -(2**63)], [0, 0, 1])) != []  # wrapped
    vector = sg.Vector.from_coo([0, 1], [0, 2**62], size=3)
    assert broken(validate_sssp(far, 0, vector)) == [4]
    assert validate_sssp(far, 0, np.array([0, 2.0**62, 2.0**63]))
    unsigned = sg.Vector.from_coo([0, 1, 2], np.array([0, 2**62, 2**63], np.uint64), size=3)
    assert validate_sssp(far, 0, unsigned)
    nan = csr({(0, 1): np.nan}, 2, float)
    assert "of weight nan" in str(validate_sssp(nan, 0, [0.0, 1.0], [0, 0]))
    negative = csr({(0, 1): 2, (0, 2): 5, (2, 1): -10}, 3)
    assert validate_sssp(negative, 0, sg.Vector.from_coo([0, 1, 2], [0, -5, 5], size=3))


def test_infinite_distances():
    reach = [0, 1, 2]
    far = csr({(0, 1): np.inf, (1, 2): 1}, 3, float)
    huge = csr({(0, 1): 1e308, (1, 2): 1e308}, 3, float)
    for graph, dist in ((far, [0, np.inf, np.inf]), (huge, [0, 1e308, np.inf])):
        vector = sg.Vector.from_coo(reach, dist, size=3)
        assert validate_sssp(graph, 0, vector)
        assert validate_sssp(graph, 0, vector, [0, 0, 1])
    single = sg.Vector.from_coo(reach, np.array([0, 3e38, np.inf], np.float32), size=3)
    assert validate_sssp(csr({(0, 1): 3e38, (1, 2): 3e38}, 3, np.float32), 0, single, [0, 0, 1])
    near = sg.Vector.from_coo(reach, [0, np.inf, 7], size=3)
    assert broken(validate_sssp(far, 0, near, [0, 0, 1])) == [2]  # no finite distance is as far as an infinite one
    assert broken(validate_sssp(csr({(0, 1): np.inf}, 2, float), 0, np.array([0, 5.0]), [0, 0])) == [2]
    short = csr({(0, 1): 1, (1, 2): 1}, 3, float)
    assert broken(validate_sssp(short, 0, sg.Vector.from_coo(reach, [0, 1, np.inf], size=3), [0, 0, 1])) == [2, 3]


def test_float_sums_in_another_order():
    A = sg.generators.rmat(9, weights="uniform", dtype="FP32")
    graph = sg.io.to_scipy(A)
    source = int(np.diff(graph.indptr).argmax())
    dist = dijkstra(graph.astype(np.float64), indices=source)
    assert validate_sssp(A, source, dist)
    assert validate_sssp(A, source, dist.astype(np.float32))
    assert not validate_sssp(A, source, dist * (1 + 1e-4))
    assert validate_sssp(A, source, dist * (1 + 1e-4), rtol=1e-3)


# ---- lists of edges -------------------------------------------------------------------
drawn = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.integers(0, 4)), max_size=15)


def listed(edges):
    rows, cols, weights = (np.array([edge[k] for edge in edges], np.int32) for k in range(3))
    return EdgeList(N, rows, cols, weights)


def lightest(edges):
    """The graph that a list describes, as `csr` takes it."""
    found: dict = {}
    for u, v, w in edges:
        for pair in ((u, v), (v, u)):
            found[pair] = min(w, found.get(pair, w))
    return found


@given(drawn, st.integers(0, N - 1), st.data())
def test_a_list_of_edges_is_judged_as_its_graph(edges, source, data):
    """Parallel edges, self-loops, one direction: rules and verdicts are those of the merged graph."""
    graph = lightest(edges)
    parent, level = bfs(graph, source)
    dist, tree = bellman_ford(graph, source)
    for answer in (parent, dist, tree):
        if data.draw(st.booleans()):
            answer[data.draw(st.integers(0, N - 1))] = data.draw(st.integers(-1, N - 1))
    for mine, merged in (
        (validate_bfs(listed(edges), source, parent, level), validate_bfs(csr(graph)[:2], source, parent, level)),
        (validate_sssp(listed(edges), source, dist, tree), validate_sssp(csr(graph), source, dist, tree)),
        (validate_sssp(listed(edges), source, dist), validate_sssp(csr(graph), source, dist)),
    ):
        assert broken(mine) == broken(merged)
        assert mine.reached == merged.reached
    assert validate_bfs(listed(edges), source, parent, level).edges == sum(parent[u] >= 0 for u, _, _ in edges)


def test_a_duplicate_that_is_too_heavy_hides_no_lighter_one():
    """Of parallel edges the lightest counts: that the distance fits another one breaks both rules, as without that."""
    edges = [(0, 1, 1), (0, 1, 0), (1, 2, 4)]
    dist, tree = [0, 1, 5, *[-1] * (N - 3)], [0, 0, 1, *[-1] * (N - 3)]
    for parent in ((tree,), ()):
        mine = validate_sssp(listed(edges), 0, dist, *parent)
        merged = validate_sssp(csr(lightest(edges)), 0, dist, *parent)
        assert broken(mine) == broken(merged)
        assert 3 in broken(mine)
    problem = validate_sssp(listed(edges), 0, dist, tree).rules[1].problem
    assert problem == "edge 0 -> 1 of weight 0 joins distances 0 and 1"
    assert validate_sssp(listed(edges), 0, [0, 0, 4, *[-1] * (N - 3)], tree).ok


@given(triples, st.integers(0, N - 1), st.integers(1, 3), st.data())
def test_pieces_change_nothing(edges, source, size, data):
    parent, level = bfs(edges, source)
    dist, tree = bellman_ford(edges, source)
    wrong = data.draw(st.integers(0, N - 1))
    parent[wrong], dist[wrong] = data.draw(st.integers(-1, N - 1)), data.draw(st.integers(-1, 9))

    def reports():
        return [
            str(validate_bfs(csr(edges)[:2], source, parent, level)),
            str(validate_sssp(csr(edges), source, dist, tree)),
            str(validate_sssp(csr(edges), source, dist)),
        ]

    whole = reports()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_edges, "PIECE", {True: size, False: size})
        assert reports() == whole


def test_problems_name_labels():
    names = ["ann", "bob", "carl", "dora", "eve", "fay", "guy"]
    report = validate_bfs(csr(PATH)[:2], 0, [0, 0, 1, -1, -1, -1, -1], labels=names)
    assert report.rules[3].problem == "edge carl -> dora leaves the tree"
    report = validate_sssp(csr(PATH), 1, [1, 0, 1, 2, -1, -1, -1], [9, 1, 1, 2, -1, -1, -1], labels=names)
    assert report.rules[0].problem == "the parent of ann is 9, there are 7 vertices"
    assert report.rules[4].problem == "there is no edge 9 -> ann"
    listing = EdgeList(7, *np.array(list(PATH)).T)
    assert validate_sssp(listing, 0, [0, 3, 2, 3, -1, -1, -1]).rules[2].problem.startswith("edge 0 -> 1 of")
    report = validate_sssp(listing, 0, [0, 3, 2, 3, -1, -1, -1], labels=names)
    assert report.rules[2].problem == "edge ann -> bob of weight 1 joins distances 0 and 3"
    A = sg.generators.path(3)
    assert validate_bfs(A, 0, [0, 0, -1]).rules[3].problem == "edge 1 -> 2 leaves the tree"
    A.labels = np.array(["Oslo", "Rome", "Turku"])
    assert validate_bfs(A, 0, [0, 0, -1]).rules[3].problem == "edge Rome -> Turku leaves the tree"
    assert validate_bfs(A, 0, [0, 0, -1], labels=range(1, 4)).rules[3].problem == "edge 2 -> 3 leaves the tree"
    with pytest.raises(DimensionMismatch, match="validate_bfs: there are 7 labels, but the graph has 3 vertices"):
        validate_bfs(A, 0, [0, 0, 1], labels=names)


def test_report():
    report = validate_bfs(csr(PATH)[:2], 0, [0, 0, 1, -1, -1, -1, -1])
    assert str(report).splitlines()[0] == "NOT VALID: 3 vertices reached"
    assert str(report).splitlines()[1] == "  rule 1 ok   the tree has no cycles and hangs from the source"
    assert not report
    assert report.edges == 5
