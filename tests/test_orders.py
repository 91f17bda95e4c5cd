"""Matrices whose rows and columns lie in different orders: results are those of natural order, and operands stay."""

import numpy as np
import pytest
from devices import make_bitmap

import spgraph as sg
from spgraph import binary

N = 9


def graph():
    random = np.random.default_rng(0)
    dense = (random.random((N, N)) < 0.35) * random.integers(1, 5, (N, N))
    rows, cols = np.nonzero(dense)
    return sg.Matrix.from_coo(rows, cols, dense[rows, cols], nrows=N, ncols=N)


def unit():
    return sg.Matrix.from_coo(range(N), range(N), 1, nrows=N, ncols=N)


MATRICES = {
    "rows by degree": lambda: graph().reorder("degree").mxm(unit(), "plus_times").new(),
    "columns by degree": lambda: unit().mxm(graph().reorder("degree"), "plus_times").new(),
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
}


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("which", MATRICES)
@pytest.mark.parametrize("use", USES)
def test_orders_change_nothing(use, which, listed):
    C, natural, u = MATRICES[which](), graph(), vector(listed)
    wanted = USES[use](natural, vector(listed))
    found = USES[use](C, u)
    assert found.isequal(wanted, check_dtype=True)
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
