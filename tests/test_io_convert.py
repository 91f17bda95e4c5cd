"""SciPy, NetworkX, NumPy and files: edges in = edges out, zeros, isolated vertices, labels, no copies."""

import re

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue, OutOfMemory
from spgraph.io import as_matrix, from_networkx, from_numpy, from_scipy, to_networkx, to_scipy

ISOLATED = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]])


def entries(A):
    return list(zip(*(array.tolist() for array in A.to_coo())))


# ---- SciPy --------------------------------------------------------------------
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_scipy_and_back(layout, dtype):
    theirs = sp.csr_array(ISOLATED.astype(dtype)).asformat(layout)
    A = from_scipy(theirs)
    assert A.shape == (3, 3)
    assert A.dtype == np.dtype(dtype)
    back = to_scipy(A)
    assert back.dtype == np.dtype(dtype)
    assert np.array_equal(back.toarray(), ISOLATED.astype(dtype))
    assert from_scipy(sp.coo_matrix(theirs)).isequal(A)


@pytest.mark.cpu("SciPy has arrays on the host")
@pytest.mark.one_device("each part has rows of its own")
def test_scipy_shares_the_arrays():
    theirs = sp.csr_array(ISOLATED.astype(np.float64))
    A = from_scipy(theirs)
    assert np.shares_memory(A._block.values, theirs.data)
    assert np.shares_memory(A._block.indices, theirs.indices)
    assert np.shares_memory(A._block.indptr, theirs.indptr)


@pytest.mark.cpu("SciPy has arrays on the host")
@pytest.mark.one_device("parts are put together")
def test_to_scipy_shares_on_request():
    A = from_numpy(ISOLATED.astype(np.float64))
    assert np.shares_memory(to_scipy(A, copy=False).data, A._block.values)
    assert not np.shares_memory(to_scipy(A).data, A._block.values)
    for B in (sg.generators.path(4), sg.generators.star(4, weights="int", order="degree")):
        assert np.array_equal(to_scipy(B, copy=False).toarray(), to_scipy(B).toarray())


def test_writing_does_not_reach_what_was_given():
    theirs = sp.csr_array(ISOLATED.astype(np.float64))
    before = theirs.toarray()
    A = from_scipy(theirs)
    A(sg.binary.plus) << A
    A[0, 1] << 9
    del A[0, 0]
    assert np.array_equal(theirs.toarray(), before)


def test_scipy_explicit_zeros_and_order():
    theirs = sp.csr_array((np.array([0, 5, 0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    A = from_scipy(theirs)
    assert entries(A) == [(0, 0, 5), (0, 2, 0), (1, 1, 0)]
    assert to_scipy(A).nnz == 3


def test_scipy_duplicates():
    theirs = sp.coo_array((np.array([1, 2]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    for given_matrix in (
        theirs,
        sp.csr_array((np.array([1, 2]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2)),
    ):
        with pytest.raises(InvalidValue, match="from_scipy: entry 1: the pair"):
            from_scipy(given_matrix)
        assert entries(from_scipy(given_matrix, dup_op="plus")) == [(0, 1, 3)]


def test_scipy_refusals():
    with pytest.raises(DomainMismatch, match="complex128"):
        from_scipy(sp.csr_array(np.array([[1j]])))
    with pytest.raises(DomainMismatch, match="from_scipy: got ndarray"):
        from_scipy(ISOLATED)


# ---- NetworkX -------------------------------------------------------------------
def test_isolated_vertices_reach_networkx():
    A = from_numpy(ISOLATED)
    graph = to_networkx(A, directed=False, labels=["a", "b", "c"])
    assert list(graph) == ["a", "b", "c"]
    assert sorted(graph.edges) == [("a", "a"), ("a", "b")]
    assert to_networkx(A).number_of_edges() == 3


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_networkx_there_and_back(kind):
    graph = kind()
    graph.add_nodes_from(["z", 5, (1, 2), "lonely"])
    graph.add_weighted_edges_from([("z", 5, 2), (5, (1, 2), 0), ("z", "z", 7)])
    A = from_networkx(graph)
    assert A.labels.tolist() == ["z", 5, (1, 2), "lonely"]
    assert A.dtype == np.int64
    assert A.nvals == (3 if kind is nx.DiGraph else 5)
    back = to_networkx(A, directed=graph.is_directed())
    assert nx.utils.graphs_equal(graph, back)
    assert type(back) is kind


def test_networkx_weights():
    graph = nx.Graph([(0, 1), (1, 2)])
    A = from_networkx(graph)
    assert A.dtype == np.bool_
    assert A.labels is None
    assert to_networkx(A, directed=False).edges[0, 1] == {}
    graph.edges[0, 1]["cost"] = 2.5
    A = from_networkx(graph, weight="cost")
    assert entries(A) == [(0, 1, 2.5), (1, 0, 2.5), (1, 2, 1.0), (2, 1, 1.0)]
    assert to_networkx(A, directed=False, weight="cost").edges[1, 2] == {"cost": 1.0}
    assert from_networkx(graph, weight=None).dtype == np.bool_
    graph.edges[0, 1]["cost"] = "far"
    with pytest.raises(DomainMismatch, match=r"edge \(0, 1\) has weight 'far'"):
        from_networkx(graph, weight="cost")
    graph.edges[0, 1]["cost"] = 2**53 + 1
    graph.edges[1, 2]["cost"] = 0.5
    with pytest.raises(DomainMismatch, match="FP64 cannot hold"):
        from_networkx(graph, weight="cost")


def test_networkx_parallel_edges():
    graph = nx.MultiGraph([(0, 1), (1, 0), (1, 1)])
    with pytest.raises(InvalidValue, match="from_networkx: entry 1: the pair"):
        from_networkx(graph)
    A = from_networkx(graph, dup_op="any")
    assert (A.nvals, A.report.duplicates_merged) == (3, 2)
    assert from_networkx(nx.Graph()).shape == (0, 0)


def test_networkx_refusals():
    with pytest.raises(InvalidValue, match="needs a symmetric matrix"):
        to_networkx(from_numpy(np.array([[0, 1], [2, 0]])), directed=False)
    with pytest.raises(DimensionMismatch, match="2 x 3"):
        to_networkx(from_numpy(np.ones((2, 3))))
    for labels in ("ab", "aab"):
        with pytest.raises(DimensionMismatch, match="2 distinct labels for 3 rows"):
            to_networkx(from_numpy(ISOLATED), labels=labels)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), max_size=15), st.booleans()
)
def test_networkx_random(triples, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_weighted_edges_from(triples)
    A = from_networkx(graph)
    expected = nx.to_numpy_array(graph, nonedge=-1)
    assert np.array_equal(A.to_dense(-1).astype(float), expected)
    assert nx.utils.graphs_equal(graph, to_networkx(A, directed=directed))


# ---- NumPy and the rest -----------------------------------------------------------
def test_numpy():
    array = np.array([[0, 2.5], [np.nan, 0]])
    assert from_numpy(array).nvals == 2
    assert entries(from_numpy(array, missing_value=np.nan)) == [(0, 0, 0.0), (0, 1, 2.5), (1, 1, 0.0)]
    assert from_numpy(array, missing_value=None).nvals == 4
    assert from_numpy(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(DimensionMismatch, match="1 dimensions"):
        from_numpy(np.zeros(3))
    with pytest.raises(DomainMismatch, match="complex"):
        from_numpy(np.zeros((2, 2), complex))


def test_as_matrix(tmp_path):
    A = from_numpy(ISOLATED)
    assert as_matrix(A) is A
    path = tmp_path / "a.mtx"
    sg.io.write(A, path)
    for graph in (sp.csc_matrix(ISOLATED), ISOLATED, path, str(path)):
        assert as_matrix(graph).isequal(A, check_dtype=True)
    assert as_matrix(nx.path_graph(3)).nvals == 4
    assert entries(as_matrix(([0, 3], [1, 2]))) == [(0, 1, True), (3, 2, True)]
    assert entries(as_matrix((np.array([0], np.int32), [2], [1.5]))) == [(0, 2, 1.5)]
    assert entries(as_matrix(([0], [2], 7))) == [(0, 2, 7)]
    assert as_matrix(([], [])).shape == (0, 0)
    for wrong, error in (
        (7, DomainMismatch),
        (([0.5], [1]), DomainMismatch),
        (([-1], [1]), IndexOutOfBound),
        (([0], [1, 2]), DimensionMismatch),
        (([0], [1], [1, 2]), DimensionMismatch),
        (([0, 0], [1, 1]), InvalidValue),
        (([0], [1], ["x"]), DomainMismatch),
    ):
        with pytest.raises(error):
            as_matrix(wrong)


def test_duplicates_are_told_what_takes_dup_op():
    for graph, advice in (
        (nx.MultiGraph([(0, 1), (0, 1)]), "sg.io.from_networkx"),
        (nx.MultiDiGraph([(0, 1), (0, 1)]), "sg.io.from_networkx"),
        (sp.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2)), "sg.io.from_scipy"),
        (([0, 0], [1, 1]), "sg.Matrix.from_coo"),
    ):
        for call in (as_matrix, sg.algorithms.connected_components):
            with pytest.raises(InvalidValue, match=f"in {re.escape(advice)}\\(..., dup_op=...\\)"):
                call(graph)


def test_networkx_weights_that_are_no_numbers():
    for odd in ([1, 2], [[1], [1, 2]], (3,), None, "far", 2**70, 1j):
        for more in ({}, {"weight": 1}, {"weight": 0.5}):
            graph = nx.Graph()
            graph.add_edge("a", "b", **more)
            graph.add_edge("b", "c", weight=odd)
            if odd is None:  # counts as 1
                assert from_networkx(graph).nvals == 4
                continue
            told = re.escape(f"edge ('b', 'c') has weight {odd!r}, wanted a number")
            with pytest.raises(DomainMismatch, match=told):
                from_networkx(graph)
    graph.edges["a", "b"]["weight"] = graph.edges["b", "c"]["weight"] = [1, 2]
    with pytest.raises(DomainMismatch, match=r"edge \('a', 'b'\) has weight \[1, 2\], wanted a number"):
        from_networkx(graph)


@pytest.mark.parametrize("wide", [2**53 + 1, np.int64(2**53 + 1), np.uint64(2**53 + 1), np.int64(-(2**63))])
@pytest.mark.parametrize("other", [0.5, np.float32(0.5), np.float64(0.5)])
def test_networkx_integers_beside_floats(wide, other):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, wide), (1, 2, other)])
    with pytest.raises(DomainMismatch, match="FP64 cannot hold"):
        from_networkx(graph)
    graph.edges[0, 1]["weight"] = type(wide)(2**53)
    assert from_networkx(graph).to_coo()[2].tolist() == [2.0**53, 0.5]


def test_more_vertices_than_memory():
    huge = 10**13
    for graph, error, told in (
        (([huge], [0]), OutOfMemory, "cpu has no room for"),
        (([0], [huge]), OutOfMemory, "cpu has no room for"),
        (([2**62], [0]), OutOfMemory, "cpu has no room for"),
        (([2**63 - 1], [0]), OutOfMemory, "cpu has no room for"),
        (([2**63], [0]), IndexOutOfBound, "as_matrix: index 9223372036854775808 is not below"),
        (([0], np.array([2**64 - 1], np.uint64)), IndexOutOfBound, "index 18446744073709551615 is not below"),
        (sp.coo_array(([1], ([0], [0])), shape=(huge, huge)), OutOfMemory, "cpu has no room for"),
    ):
        with pytest.raises(error, match=told):
            as_matrix(graph)
