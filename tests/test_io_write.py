"""What is written is read back, in every format: shape, entries with explicit zeros, values, dtype, labels."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import spgraph as sg
from semirings.exceptions import DimensionMismatch, DomainMismatch, InvalidValue
from spgraph.io import read, read_edgelist, write
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, invalid, tidy

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float32", "float64"]


def matrix(rows, cols, values, shape, labels=None):
    edges = Edges(
        np.array(rows, np.int64), np.array(cols, np.int64), values, *shape, "x", invalid("x"), labels=labels
    )
    return build_matrix(tidy(edges))


@st.composite
def matrices(draw, dtypes=DTYPES, square=False, symmetric=False, labels=None):
    """A Matrix; with `labels`, a strategy of names, half of them have some."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    n, m = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    shape = (n, n) if square or symmetric else (n, m)
    places = [(i, j) for i in range(shape[0]) for j in range(shape[1]) if not symmetric or i <= j]
    chosen = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    if dtype.kind == "f":
        numbers = st.floats(width=8 * dtype.itemsize)
    elif dtype.kind == "b":
        numbers = st.booleans() if draw(st.booleans()) else st.just(True)
    else:
        numbers = st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max) | st.just(0)
    values = [draw(numbers) for _ in chosen]
    if symmetric:
        twins = [k for k, (i, j) in enumerate(chosen) if i != j]
        chosen, values = chosen + [chosen[k][::-1] for k in twins], values + [values[k] for k in twins]
    names = None
    if labels is not None and draw(st.booleans()):
        found = draw(st.lists(draw(st.sampled_from(labels)), min_size=shape[0], max_size=shape[0], unique=True))
        names = np.array(found, np.int64 if found and isinstance(found[0], int) else object)
    return matrix([i for i, _ in chosen], [j for _, j in chosen], np.array(values, dtype), shape, names)


def same(A, B):
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and all(
            np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in zip(A.to_coo(), B.to_coo())
        )
    )


def same_labels(A, B):
    mine, theirs = (None if C.labels is None else C.labels.tolist() for C in (A, B))
    return mine == theirs or (A.nrows == 0 and not mine and not theirs)


def labelled(A):
    """Vertices and {(id, id): value}, whatever the numbers."""
    names = list(range(A.nrows)) if A.labels is None else A.labels.tolist()
    return sorted(names), {(names[u], names[v]): w for u, v, w in zip(*(array.tolist() for array in A.to_coo()))}


ids = st.integers(0, 2**63 - 1)
lines = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and not text[0].isspace() and not text[-1].isspace()
)
words = lines.filter(lambda text: not any(c.isspace() or c in ",;" for c in text) and text[0] not in "#%")
texts = lines | st.sampled_from(['"', 'a"b', "a,b", "a\nb", "a\rb", "a\r\nb", '\r"', "7", "-1", "NA", "nan", "", "#x"])


# ---- formats that keep all ------------------------------------------------------------
@given(matrices(), st.sampled_from(["a.mtx", "a.mtx.gz", "a.npz", "a.npz.gz"]))
def test_rectangles(tmp_path_factory, A, name):
    path = tmp_path_factory.mktemp("any") / name
    write(A, path)
    assert same(A, read(path))


@given(matrices(square=True, labels=[ids, lines]), st.sampled_from(["a.mtx", "a.npz"]))
def test_labels(tmp_path_factory, A, name):
    path = tmp_path_factory.mktemp("any") / name
    write(A, path)
    B = read(path)
    assert same(A, B)
    assert same_labels(A, B)


@given(matrices(square=True, labels=[ids, words]) | matrices(), st.sampled_from(["a.edges", "a.tsv.gz"]))
def test_edge_lists(tmp_path_factory, A, name):
    path = tmp_path_factory.mktemp("el") / name
    write(A, path)
    B = read(path)
    assert same(A, B)
    assert same_labels(A, B)


@given(matrices(["bool", *INTEGERS], square=True, labels=[ids, lines]))
def test_dimacs(tmp_path_factory, A):
    path = tmp_path_factory.mktemp("gr") / "a.gr"
    write(A, path)
    B = read(path)
    assert same(A, B)
    assert same_labels(A, B)


@given(matrices(["bool", *INTEGERS], symmetric=True, labels=[ids, lines]), st.data())
def test_metis(tmp_path_factory, A, data):
    path = tmp_path_factory.mktemp("metis") / "a.graph"
    n = A.nrows
    numbers = st.lists(st.integers(0, 2**62), min_size=n, max_size=n)
    sizes = data.draw(st.none() | numbers)
    few = st.lists(st.tuples(*[st.integers(0, 9)] * data.draw(st.integers(1, 3))), min_size=n, max_size=n)
    weights = data.draw(st.none() | numbers | few)
    assume(n or weights is None)
    sg.io.write_metis(A, path, sizes=sizes, weights=weights)
    B, new_sizes, new_weights = sg.io.read_metis(path, with_vertices=True)
    assert same(A, B)
    assert same_labels(A, B)
    assert B.symmetric is True
    assert (new_sizes is None) == (sizes is None) and (sizes is None or new_sizes.tolist() == sizes)
    if weights is None:
        assert new_weights is None
    else:
        assert new_weights.tolist() == np.array(weights, np.int64).reshape(n, -1).tolist()


# ---- tables: vertices in the order of their labels ------------------------------------
@given(matrices(square=True, labels=[ids, texts]))
def test_parquet(tmp_path_factory, A):
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("pq") / "a.parquet"
    write(A, path)
    B = read(path)
    assert A.dtype == B.dtype
    assert equal(A, B)


def equal(A, B):
    """The same labelled graph."""
    mine, theirs = labelled(A), labelled(B)
    return mine[0] == theirs[0] and mine[1].keys() == theirs[1].keys() and all(
        w == theirs[1][pair] or (w != w and theirs[1][pair] != theirs[1][pair]) for pair, w in mine[1].items()
    )  # fmt: skip


@given(matrices(["bool", "int64", "uint64", "float64"], square=True, labels=[ids, texts]))
def test_csv(tmp_path_factory, A):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    names = [] if A.labels is None else A.labels.tolist()
    first = next(zip(*A.to_coo()[:2]), (0,))
    if names and isinstance(names[0], str):
        numbers = all(names[place].lstrip("+-").isdigit() and names[place].isascii() for place in first)
        if numbers or any(name != name.strip() or not name for name in names):
            with pytest.raises(InvalidValue, match=r"would (not )?be read back"):
                write(A, path)
            return
    write(A, path)
    B = read(path)
    assert equal(A, B)
    assert A.dtype == B.dtype or A.dtype in ("bool", "uint64") or A.nvals == 0


EVERY = ["a.mtx", "a.edges", "a.tsv", "a.gr", "a.graph", "a.npz", "a.csv", "a.parquet"]


@pytest.fixture(params=EVERY)
def path(request, tmp_path):
    if request.param == "a.parquet":
        pytest.importorskip("pyarrow")
    return tmp_path / request.param


# ---- EDGE_CASES 1, 3, 7 ---------------------------------------------------------------
@pytest.mark.parametrize("names", [None, [9001, 9002, 9003], ["a", "b", "c"]])
def test_isolated_vertices_reach_every_file(path, names):
    A = sg.io.from_numpy(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]]))
    write(A, path, labels=names)
    B = read(path)
    assert (B.shape, B.nvals) == ((3, 3), 3)
    assert (B.labels if names is None else B.labels.tolist()) == names
    assert B.report.edges - B.report.duplicates_merged + B.report.reversed_added == B.report.stored == 3


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float64"])
def test_explicit_zeros_reach_every_file(path, dtype):
    A = matrix([0, 1, 1, 2], [1, 0, 2, 1], np.array([0, 0, 1, 1], dtype), (3, 3))
    if dtype == "float64" and path.suffix in (".gr", ".graph"):
        with pytest.raises(DomainMismatch, match="integer weights"):
            write(A, path)
        return
    write(A, path)
    B = read(path, dtype=dtype)
    assert same(A, B)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("edges", [0, 1])
def test_the_smallest(path, n, edges):
    edges = min(n, edges)
    A = matrix([0] * edges, [0] * edges, np.array([5] * edges, np.int64), (n, n))
    write(A, path)
    assert read(path).to_coo()[2].tolist() == [5] * edges
    assert read(path).shape == (n, n)


# ---- by example -----------------------------------------------------------------------
def test_edge_list(tmp_path):
    labels = np.array([7, 2**40, 9])
    A = matrix([0, 2, 1], [1, 0, 2], np.array([0.1, 1e-300, 0.0]), (3, 3), labels)
    path = tmp_path / "a.tsv"
    write(A, path)
    assert path.read_text().splitlines()[:3] == [
        "# spgraph: dtype=float64 ids=int", "# spgraph vertex: 7", f"# spgraph vertex: {2**40}",
    ]  # fmt: skip
    B = read(path)
    assert same(A, B)
    assert B.labels.tolist() == labels.tolist()
    write(A, path, labels=["x", "y", "1"])
    assert read(path).labels.tolist() == ["x", "y", "1"]
    pattern = sg.generators.path(4)
    write(pattern, tmp_path / "b.edges")
    assert (tmp_path / "b.edges").read_text().startswith("# spgraph: nrows=4 ncols=4 dtype=bool\n0\t1\n")
    assert same(pattern, read(tmp_path / "b.edges"))
    isolated = matrix([0], [1], np.array([3]), (5, 5))
    write(isolated, path)
    assert same(isolated, read(path))
    assert same(isolated, read_edgelist(path, vertices=5))
    assert read_edgelist(path, vertices=7).shape == (7, 7)
    assert read_edgelist(path, relabel=False).shape == (2, 2)
    with pytest.raises(DimensionMismatch, match="labels"):
        write(A, path, labels=["x"])
    for bad in ("a b", "", "#a", "a,b", "a\nb", -1, 0.5, ("a", 1)):
        with pytest.raises(InvalidValue, match="label"):
            write(A, path, labels=[1, bad, 2] if bad == -1 else [*"xz", bad])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# spgraph: nrows=3 ncols=3\n0 1\n1 3\n", 3, r"id 3 is outside 0\.\.2"),
        ("# spgraph: dtype=int8\n0 1 200\n", 2, "200 does not fit dtype int8"),
        ("# spgraph: dtype=bool\n0 1 2\n", 2, "expected 0 or 1"),
        ("# spgraph: dtype=complex\n0 1\n", 1, "dtype=complex, expected a comment as spgraph writes it"),
        ("#c\n# spgraph: nrows=999999999999999999 ncols=1\n0 1\n", 2, "bytes for row offsets"),
        ("# spgraph: ids=int\n# spgraph vertex: 5\n5 6\n", 3, "id 6 is not among the vertices"),
        ("# spgraph: ids=text\n# spgraph vertex: a\na b\n", 3, "not among the vertices"),
        ("# spgraph: ids=int\n# spgraph vertex: a\n5 6\n", 2, "expected a vertex's id"),
        ("# spgraph: ids=int\n# spgraph vertex: 5\n# spgraph vertex: 5\n5 5\n", 2, "the same id"),
    ],
)
def test_comments_that_cannot_be(tmp_path, text, line, message):
    path = tmp_path / "a.edges"
    path.write_text(text)
    with pytest.raises(sg.io.FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line


def test_other_comments_are_only_comments(tmp_path):
    path = tmp_path / "a.edges"
    path.write_text("# spgraph: is nice\n# spgraph vertex: 7\n0 1\n# spgraph: nrows=5 ncols=5\n")
    assert read(path).shape == (2, 2)
    path.write_text("% spgraph: nrows=3 ncols=2\n0 1\n")
    assert read(path).shape == (3, 2)


def test_refusals(tmp_path):
    for name in ("a.gr", "a.graph"):
        with pytest.raises(DomainMismatch, match="integer weights, got float64"):
            write(matrix([0], [0], np.array([0.5]), (2, 2)), tmp_path / name)
    for name in ("a.gr", "a.graph", "a.csv", "a.parquet"):
        if name == "a.parquet":
            pytest.importorskip("pyarrow")
        with pytest.raises(DimensionMismatch, match="1 x 2"):
            write(matrix([0], [1], np.array([5]), (1, 2)), tmp_path / name)
    with pytest.raises(InvalidValue, match="METIS needs a symmetric matrix"):
        write(matrix([0], [1], np.array([5]), (2, 2)), tmp_path / "a.graph")
    with pytest.raises(InvalidValue, match="format: got 'xml'"):
        write(sg.generators.path(2), tmp_path / "a", "xml")
    assert list(tmp_path.iterdir()) == []


def test_symmetry_is_kept(tmp_path):
    A = sg.generators.star(4, weights="int")
    for name in ("a.mtx", "a.graph"):
        write(A, tmp_path / name)
        B = read(tmp_path / name)
        assert same(A, B)
        assert B.symmetric is True
