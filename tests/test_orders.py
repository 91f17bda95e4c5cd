"""Matrices whose rows and columns lie in different orders: results are those of natural order, and operands stay."""

import pickle

import numpy as np
import pytest
from devices import make_bitmap
from hypothesis import given, settings
from hypothesis import strategies as st

import spgraph as sg
from spgraph import binary, context, select
from spgraph.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue

N = 9
LISTED = [3, 8, 0, 5, 7, 1, 2, 6, 4]


def graph():
    random = np.random.default_rng(0)
    dense = (random.random((N, N)) < 0.35) * random.integers(1, 5, (N, N))
    rows, cols = np.nonzero(dense)
    return sg.Matrix.from_coo(rows, cols, dense[rows, cols], nrows=N, ncols=N)


def turn(by):
    """Not diagonal, which would take the other factor's order; with its inverse it leaves a matrix as it is."""
    return sg.Matrix.from_coo(range(N), [(i + by) % N for i in range(N)], 1, nrows=N, ncols=N)


def rows_in(order):
    """The graph whose rows alone lie so."""
    return graph().reorder(order).mxm(turn(1), "plus_times").new().mxm(turn(-1), "plus_times").new()


def columns_in(order):
    return turn(-1).mxm(turn(1).mxm(graph().reorder(order), "plus_times").new(), "plus_times").new()


MATRICES = {
    "rows by degree": lambda: rows_in("degree"),
    "columns by degree": lambda: columns_in("degree"),
    "as listed": lambda: graph().reorder(LISTED),
    "rows as listed": lambda: rows_in(LISTED),
    "columns as listed": lambda: columns_in(sg.Vector.from_dense(LISTED)),
}


def vector(listed):
    u = sg.Vector.from_coo([0, 1, 4, 7], [1, 10, 0, 3], size=N)
    if not listed:
        make_bitmap(u)
    return u


def hundred():
    return sg.Vector.from_scalar(100, N)


def written(w, value, *how, **more):
    for _ in range(3):  # what was run is run again
        w(*how, **more) << value()
    return w


def chased(C, u):
    w, frontier = hundred(), u.dup()
    w(binary.plus, changed=frontier) << C.mxv(frontier, "plus_times")
    return (w + frontier).new()


def placed(name, way):
    """Ids of rows and columns of the entries that are met; of any of them the one that is there alone."""
    def use(C, u):
        with sg.Context(direction=way):
            x = u if not name.startswith("any") else sg.Vector.from_coo([4], 1, size=N)
            return [written(sg.Vector(np.int64, N), lambda: C.mxv(x, name)), x.vxm(C, name).new(mask=~u.S)]
    return use


def filtered(way):
    """What has changed, by its place and then all of it: the same statement, but for what it looks at."""
    def use(C, u):
        results = []
        with sg.Context(direction=way):
            for accum in (binary.min, binary.max):
                for chosen in (lambda c: select.rowle(c, 3), lambda c: c, lambda c: select.rowgt(c, 2)):
                    w, c = sg.Vector.from_coo([0, 1], [9, 100], "INT64", size=N), sg.Vector("INT64", N)
                    w(accum, changed=chosen(c)) << C.mxv(u, "min_plus")
                    results += [w, c]
        return results
    return use


def same(found, wanted):
    if type(found) is list:
        return all(map(same, found, wanted))
    return found.isequal(wanted, check_dtype=True)


USES = {
    "squared": lambda C, u: C.mxm(C, "plus_times").new(),
    "by its transpose": lambda C, u: C.mxm(C.T, "plus_times").new(),
    "its transpose by it": lambda C, u: C.T.mxm(C, "plus_times").new(mask=C.S),
    "with its transpose": lambda C, u: binary.plus(C | C.T).new(mask=C.S),
    "plus its transpose": lambda C, u: written(C.dup(), lambda: C.T, binary.plus),
    "kronecker": lambda C, u: C.kronecker(C, binary.times).new(),
    "extracted": lambda C, u: C[[3, 1, 4], [1, 5, 8]].new(),
    "diagonal": lambda C, u: C.diag(),
    "a column": lambda C, u: C[:, 4].new(),
    "a row": lambda C, u: C[4, :].new(),
    "rows": lambda C, u: C.reduce_rowwise("plus").new(),
    "the mask is u": lambda C, u: written(hundred(), lambda: C.mxv(u, "plus_times"), u.S),
    "the mask is not u": lambda C, u: written(hundred(), lambda: u.vxm(C, "plus_times"), ~u.S, binary.plus),
    "the mask is u's values": lambda C, u: written(hundred(), lambda: C.mxv(u, "min_plus"), u.V, binary.min),
    "the mask is without u's values": lambda C, u: C.mxv(u, "plus_times").new(mask=~u.V),
    "the mask and u are the output": lambda C, u: (lambda w: written(w, lambda: C.mxv(w, "plus_times"), w.S))(u.dup()),
    "changed is u": chased,
    **{f"{name}, {way}": placed(name, way)
       for name in ("min_firsti", "max_firstj", "max_secondi", "min_secondj", "any_secondi1")
       for way in ("push", "pull")},
    "changed, by places, push": filtered("push"),
    "changed, by places, pull": filtered("pull"),
    "squared, by places": lambda C, u: C.mxm(C, "min_firstj").new(),
    "what u selects by places": lambda C, u: select.rowle((C.mxv(u, "plus_times").new(mask=~u.S)), 5).new(),
}


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("which", MATRICES)
@pytest.mark.parametrize("use", USES)
def test_orders_change_nothing(use, which, listed):
    C, natural, u = MATRICES[which](), graph(), vector(listed)
    wanted = USES[use](natural, vector(listed))
    found = USES[use](C, u)
    assert same(found, wanted)
    assert C.isequal(natural)
    assert u.isequal(vector(listed))


@pytest.mark.parametrize("k", [0, 1, -2])
def test_diagonals_where_vectors_lie_by_degree(k):
    """In parts a new vector lies as the last graph of its size, in whatever order."""
    A = graph()
    wanted = A.diag(k).to_dict()
    kept = A.dup().reorder("degree")
    assert A.diag(k).to_dict() == kept.diag(k).to_dict() == wanted
    assert A.T.diag(k).to_dict() == A.diag(-k).to_dict()


@pytest.mark.parametrize("which", MATRICES)
def test_entries_are_counted_wherever_they_come_to_lie(which):
    C = MATRICES[which]()
    assert (C.nvals, C.T.nvals, C.T.new().nvals) == (graph().nvals,) * 3
    A = graph().reorder("degree")
    assert A.nvals == A.reorder("natural").nvals == graph().nvals


def test_an_order_may_be_listed():
    A = graph()
    natural = A.order
    for listed in (LISTED, np.array(LISTED, np.uint8), sg.Vector.from_dense(LISTED), range(N - 1, -1, -1)):
        assert A.reorder(listed) is A
        assert A.order == "listed"
        assert A.isequal(graph(), check_dtype=True)
        assert A.reorder("degree").isequal(graph()) and A.order == "degree"
        assert A.reorder("natural").isequal(graph()) and A.order == natural
    assert sg.Matrix(bool, 0, 0).reorder([]).shape == (0, 0)


def test_a_listed_order_goes_along():
    A, u = graph().reorder(LISTED), vector(listed=True)
    wanted = u.vxm(graph(), "plus_times").new().to_dict()
    for B in (A.dup(), A.T.new(), A.to("cpu:3"), A.to("cpu:2").to("cpu:3"), A.to("cpu:2").to("cpu")):
        assert B.order == "listed"
    for B in (A.dup(), A.T.new().T.new(), A.to("cpu:3"), A.to("cpu:2").to("cpu"), pickle.loads(pickle.dumps(A))):
        assert B.to_dicts() == A.to_dicts()
        with context.on(B):
            there = u if B.device == u.device else u.to(B.device)
            assert there.vxm(B, "plus_times").new().to_dict() == wanted


@pytest.mark.parametrize(
    ("order", "error", "words"),
    [
        ("bfs", InvalidValue, "order is 'bfs', but"),
        ([0, 1], InvalidValue, "order names 2 vertices, but the Matrix has 9"),
        ([0] * 9, InvalidValue, "order lacks vertex 1, and another one comes again"),
        ([*range(8), 9], IndexOutOfBound, "order names vertex 9, but the Matrix has 9"),
        ([*range(8), -1], IndexOutOfBound, "order names vertex -1"),
        (np.arange(9.0), TypeError, "vertices of order have dtype float64, but integers"),
        (np.zeros((3, 3), int), TypeError, "vertices of order have 2 dimensions"),
        (sg.Vector.from_coo([0, 4], [1, 0], size=9), InvalidValue, "order names 2 vertices"),
        (sg.Vector.from_coo(range(9), range(9), size=20), InvalidValue, "order has size 20, but the Matrix has 9"),
        (sg.Vector.from_dense(np.arange(9.0)), DomainMismatch, "order has dtype FP64"),
        (sg.Vector.from_dense(np.full(9, 2**64 - 1, np.uint64)), IndexOutOfBound, f"order names vertex {2**64 - 1}"),
        (None, TypeError, "reorder: order is None .*, but a Vector, array or list"),
        (5, TypeError, "reorder: order is 5 .*, but a Vector, array or list"),
        (slice(None), TypeError, "reorder: order is .*slice.*, but a Vector, array or list"),
        (set(range(9)), TypeError, "reorder: order is .*, but a Vector, array or list"),
        (dict.fromkeys(range(9)), TypeError, "reorder: order is .*, but a Vector, array or list"),
        (sg.Matrix(int, 9, 9), TypeError, "reorder: order is .*Matrix.*, but a Vector, array or list"),
    ],
    ids=str,
)
def test_orders_that_are_none(order, error, words):
    A = graph().reorder(LISTED)
    with pytest.raises(error, match=words):
        A.reorder(order)
    assert A.order == "listed" and A.isequal(graph())


@pytest.mark.parametrize("order", [list(range(N)), [5, 6, 7, 8, 0, 1, 2, 3, 4], [*range(1, N), 0]])
@pytest.mark.parametrize("home", ["cpu", "cpu:2", "cpu:7"])
def test_lists_that_are_natural_on_each_part(home, order):
    with sg.Context(home):
        A = graph().reorder(order)
        shown = repr(A), repr(A.T)
        assert all(map(graph().isequal, (A, A.dup(), pickle.loads(pickle.dumps(A)))))
    assert shown[0].count("\n") == N + 1
    for other in ("cpu", "cpu:2", "cpu:5"):
        assert A.to(other).to_dicts() == A.to(other).to("cpu:3").to("cpu").to_dicts() == A.to_dicts()
    for n in (0, 1):
        assert sg.Matrix(int, n, n).to("cpu:3").reorder(range(n)).to("cpu").shape == (n, n)


@pytest.mark.parametrize("name", ["listed", "degree"])
def test_a_partition_may_have_any_name(name):
    def halves(indptr, indices, parts, seed=0):
        return np.arange(len(indptr) - 1) * parts // (len(indptr) - 1)

    halves.__name__ = name
    with sg.Context("cpu:3", partition=halves):
        A = graph()
    assert A.order == name
    there = A.to("cpu")
    assert there.order == "natural" and there.to_dicts() == A.to_dicts()
    assert A.reorder(LISTED).to("cpu").order == "listed"
    assert A.reorder("natural").order == name


def test_rows_and_columns_that_differ_are_brought_together():
    A = graph()
    C = rows_in("degree")
    assert C.order.startswith("degree, ")
    for order, name in ((LISTED, "listed"), ("degree", "degree"), ("natural", A.order)):
        assert C.dup().reorder(order).order == name
        assert C.dup().reorder(order).isequal(A)


def test_rectangles_have_no_order():
    with pytest.raises(DimensionMismatch, match="shape \\(2, 3\\), but a square"):
        sg.Matrix(int, 2, 3).reorder([0, 1])


def found_in_order(n, rows, cols, order):
    """Whether a queue could find the vertices of an undirected graph in this order, from each component's smallest."""
    near = [[] for _ in range(n)]
    for i, j in zip(rows.tolist(), cols.tolist()):
        near[i].append(j)
        near[j].append(i)
    place = {int(v): at for at, v in enumerate(order)}
    level, earliest, first = {}, 0, -1
    for v in order.tolist():
        parents = sorted(place[w] for w in near[v] if w in level)
        if not parents:
            if v < first or _smallest(near, v) != v:
                return False
            level[v], earliest, first = 0, place[v], v
            continue
        later = [at for at in parents if at >= earliest]
        if not later or level[int(order[later[0]])] != min(level[int(order[at])] for at in parents):
            return False
        earliest = later[0]
        level[v] = level[int(order[earliest])] + 1
    return len(place) == n == order.size


def _smallest(near, start):
    seen, front = {start}, [start]
    while front:
        front = [w for v in front for w in near[v] if w not in seen and not seen.add(w)]
    return min(seen)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 24), st.integers(0, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_bfs_order_is_that_of_a_queue(n, m, seed, directed):
    rows, cols = np.random.default_rng(seed).integers(0, n, (2, m))
    ends = (rows, cols) if directed else (np.r_[rows, cols], np.r_[cols, rows])
    A = sg.Matrix.from_coo(*ends, 1, nrows=n, ncols=n, dup_op="any")
    order = sg.algorithms.bfs_order(A)
    assert order.dtype == "INT64"
    assert found_in_order(n, rows, cols, order.to_dense())
    assert A.dup().reorder(order).isequal(A)


def test_the_check_of_orders_finds_wrong_ones():
    rows, cols = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 4])
    assert found_in_order(5, rows, cols, np.array([0, 2, 1, 4, 3]))
    for wrong in ([0, 1, 2, 4, 3], [0, 1, 3, 2, 4], [1, 0, 3, 2, 4], [0, 1, 2, 3]):
        assert not found_in_order(5, rows, cols, np.array(wrong))


@pytest.mark.parametrize(("n", "rows"), [(1, []), (6, []), (40, range(39))])
def test_bfs_order_of_paths_and_of_nothing(n, rows):
    A = sg.Matrix.from_coo(list(rows), [row + 1 for row in rows], True, dtype=bool, nrows=n, ncols=n)
    assert (sg.algorithms.bfs_order(A).to_dense() == np.arange(n)).all()
    assert sg.algorithms.bfs_order(sg.Matrix(bool, 0, 0)).size == 0


def test_bfs_order_brings_neighbours_near_each_other():
    side = 24
    grid = sg.generators.grid(side)
    rows, cols, _ = grid.to_coo()
    name = np.random.default_rng(0).permutation(side**2)
    order = sg.algorithms.bfs_order(sg.Matrix.from_coo(name[rows], name[cols], 1, nrows=side**2, ncols=side**2))
    place = np.empty(side**2, int)
    place[order.to_dense()] = np.arange(side**2)
    assert abs(place[name[rows]] - place[name[cols]]).max() <= 4 * side
    assert abs(name[rows] - name[cols]).max() > side**2 / 2
