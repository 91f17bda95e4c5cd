"""Parts of one CPU as views of common arrays: whatever runs over all of them, and what part by part, in any order."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from spgraph import binary, monoid, select, semiring, unary
from spgraph.block import VectorBlock
from spgraph.exchange.near import cut, is_near, join, whole_matrix
from spgraph.partition.layout import Layout

SIZE = 40
pytestmark = pytest.mark.one_device("makes parts of its own, and is about what they do unasked")


def graph(dtype: str = "int64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, SIZE, 160), rng.integers(0, SIZE, 160)
    values = rng.integers(-5, 6, 160).astype(dtype)
    with sg.Context("cpu"):
        return sg.Matrix.from_coo(rows, cols, values, nrows=SIZE, ncols=SIZE, dup_op=binary.first)


def vector(dtype: str, share: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    ids = np.flatnonzero(rng.random(SIZE) < share)
    with sg.Context("cpu"):
        return sg.Vector.from_coo(ids, rng.integers(-5, 6, ids.size).astype(dtype), size=SIZE, dtype=dtype)


PLACES = np.random.default_rng(5).permutation(SIZE).tolist()


# what a statement does with vectors u, v, w and a matrix A; w is the output
STATEMENTS = {
    "push and accumulate": lambda A, u, v, w: w(binary.min) << u.vxm(A, semiring.min_plus),
    "pull within a mask": lambda A, u, v, w: w(v.S, replace=True) << A.mxv(u, semiring.max_first),
    "grow": lambda A, u, v, w: w(~w.S, changed=u) << u.vxm(A, semiring.any_pair),
    "changed": lambda A, u, v, w: w(binary.min, changed=select.valuelt(u, 3)) << u.vxm(A, semiring.min_plus),
    "values as a mask": lambda A, u, v, w: w(~v.V, binary.plus) << A.mxv(u, semiring.plus_times),
    "by itself": lambda A, u, v, w: w << w.vxm(A, semiring.plus_second),
    "the transpose": lambda A, u, v, w: w << A.T.mxv(u, semiring.min_plus),
    "element by element": lambda A, u, v, w: w << unary.abs(binary.plus(u | v)),
    "a product of vectors": lambda A, u, v, w: w(u.S) << binary.times(u & v).apply(binary.plus, right=1),
    "select": lambda A, u, v, w: w << select.valuegt(u, 0),
    "assign": lambda A, u, v, w: w(v.S)[:] << 7,
    "assign a list": lambda A, u, v, w: w(binary.plus)[[3, 17, 30, 1]] << u[[9, 1, 2, 39]].new(),
    "extract": lambda A, u, v, w: w << u[list(range(SIZE))[::-1]],
    "an element": lambda A, u, v, w: w.__setitem__(11, 3),
    "no element": lambda A, u, v, w: w.__delitem__(20),
    "the other": lambda A, u, v, w: u << w,
    "rows": lambda A, u, v, w: w << A.reduce_rowwise(monoid.plus),
    "columns": lambda A, u, v, w: w(binary.max) << A.reduce_columnwise(monoid.min),
    "a column": lambda A, u, v, w: w << A[:, 5],
    "a row": lambda A, u, v, w: A.__setitem__((3, slice(None)), u),
    "an edge": lambda A, u, v, w: A.__setitem__((5, 30), 4),
    "pattern": lambda A, u, v, w: A << A.apply(unary.one),
    "the lower half": lambda A, u, v, w: A << select.tril(A),
    "a product": lambda A, u, v, w: A << A.mxm(A, semiring.min_plus),
    "a masked product": lambda A, u, v, w: A(A.S, binary.max) << A.mxm(A.T, semiring.max_first),
    "both directions": lambda A, u, v, w: A << binary.min(A | A.T),
    "without an edge": lambda A, u, v, w: A(~A.T.new().S, replace=True) << A.apply(binary.plus, right=1),
    "renumbered": lambda A, u, v, w: A << A[PLACES, PLACES],
    "renumbered and transposed": lambda A, u, v, w: A(binary.plus) << A.T.new()[PLACES, :],
    "no weights": lambda A, u, v, w: A(A.S)[:, :] << 2,
    "clear": lambda A, u, v, w: u.clear(),
    "size": lambda A, u, v, w: (v.resize(25), v.resize(SIZE)),
    "jump": lambda A, u, v, w: w << _downwards(w).pointer_jump(),
    "gather": lambda A, u, v, w: w << v[_downwards(u)],
    "combine": lambda A, u, v, w: w(binary.min)[_downwards(v)] << u,
    "copy": lambda A, u, v, w: w << u.dup(),
}
WAYS = {
    "near": nullcontext,
    "messages": lambda: sg.Context(exchange="selective"),
    "everywhere": lambda: sg.Context(duplicate="all"),
    "traced": sg.trace,
    "push": lambda: sg.Context(direction="push"),
    "pull": lambda: sg.Context(direction="pull"),
}


def _downwards(w: Any) -> Any:
    """A full vector of positions, none above its own, out of any one."""
    full = sg.Vector.from_scalar(0, SIZE, dtype="int64").to(w._device)
    full(binary.second) << w.apply(unary.abs).new("int64")
    at = full.apply(sg.indexunary.index).new("int64")
    return binary.min(full & at).new("int64")


def same(one: Any, other: Any) -> bool:
    return all(map(np.array_equal, one.to_coo(), other.to_coo())) and one.dtype == other.dtype


@pytest.mark.parametrize("partition", ["contiguous_edges", "random"])
@pytest.mark.parametrize("count", [2, 3, 7])
@given(data=st.data())
def test_statements_in_any_order_and_any_way(count: int, partition: str, data: Any):
    dtype = data.draw(st.sampled_from(["int64", "float64", "int8"]))  # small numbers: sums are exact
    shares = st.sampled_from([0.0, 0.05, 0.5, 1.0])
    one = [graph(dtype, data.draw(st.integers(0, 3)))]
    one += [vector(dtype, data.draw(shares), seed) for seed in range(3)]
    with sg.Context("cpu", partition=partition):
        several = [x.to(f"cpu:{count}") for x in one]
        one = [x.dup() for x in one]
        steps = st.tuples(st.sampled_from(sorted(STATEMENTS)), st.sampled_from(sorted(WAYS)))
        for name, way in data.draw(st.lists(steps, min_size=1, max_size=6)):
            STATEMENTS[name](*one)
            with WAYS[way]():
                STATEMENTS[name](*several)
            assert all(map(same, one, several)), name
            assert several[1].nvals == one[1].nvals
            total = several[3].reduce(monoid.plus).value
            assert total == one[3].reduce(monoid.plus).value


def test_a_matrix_is_parts_and_a_whole_of_the_same_arrays():
    with sg.Context("cpu"):
        one = graph()
        A = one.to("cpu:3")
        parts, whole = A._block, whole_matrix(A._block)
        for piece, (first, last) in zip(parts.pieces, pairwise(parts.rows.starts.tolist())):
            assert np.shares_memory(piece.indices, whole.indices) and np.shares_memory(piece.values, whole.values)
            assert piece.nrows == last - first and piece.indptr[0] == 0
        assert np.shares_memory(one._block.indices, whole.indices)  # natural order needs no copy
        kept = one.dup()
        A[0, 1] = 99
        assert one.isequal(kept) and A[0, 1].value == 99
        with sg.Context(exchange="selective"):
            made = A.apply(unary.abs).new()  # piece by piece
        pieces = made._block.pieces
        whole = whole_matrix(made._block)
        assert made._block.pieces is pieces
        assert all(np.shares_memory(piece.indices, whole.indices) for piece in pieces)
        assert made.to("cpu").isequal(A.to("cpu").apply(unary.abs).new())


def test_a_transpose_is_in_parts_too():
    with sg.Context("cpu"):
        one = sg.generators.rmat(6, seed=3, weights="int", symmetrize=False)
        A = one.to("cpu:3")
        u = sg.Vector.from_scalar(1, one.nrows, dtype="int64").to("cpu:3")
        with sg.Context(direction="pull"):
            u << u.vxm(A, semiring.plus_times)
        assert A.has_transpose
        T = A._block.oriented(True)
        assert all(np.shares_memory(piece.indices, whole_matrix(T).indices) for piece in T.pieces)
        assert A.T.new().to("cpu").isequal(one.T.new())


def test_what_was_known_of_the_old_content_is_forgotten():
    with sg.Context("cpu"):
        A = sg.generators.path(4).to("cpu:2")
        A << A.apply(unary.one)
        assert A.symmetric and whole_matrix(A._block).symmetric
        B = sg.Matrix.from_coo([0, 1], [1, 2], [True, True], nrows=4, ncols=4)
        A._block.set_csr(B._block.indptr, B._block.indices, B._block.values, iso=B._block.iso)
        assert whole_matrix(A._block).symmetric is None and A.symmetric is None


@pytest.mark.parametrize("iso", [True, False])
@pytest.mark.parametrize("form", ["list", "unsorted", "bitmap", "full", "nothing"])
@pytest.mark.parametrize("natural", [True, False])
def test_cut_and_join_are_inverse(natural: bool, form: str, iso: bool):
    with sg.Context("cpu:3"):
        group = sg.context.device()
    order = None if natural else np.random.default_rng(1).permutation(20)
    layout = Layout(group, np.array([0, 0, 12, 20]), order)  # the first part owns nothing
    block = VectorBlock(20, np.float64, layout.whole(group.devices[0]))
    values = np.array([2.5]) if iso else np.arange(20.0)
    if form in ("list", "unsorted"):
        indices = np.array([3, 5, 11, 19] if form == "list" else [19, 3, 11, 5], np.int32)
        block.set_sparse(indices, values if iso else values[:4], iso=iso, sorted=form == "list")
    elif form == "bitmap":
        block.set_bitmap((np.arange(20) % 3 == 0).astype(np.uint8), values, 7, iso=iso)
    elif form == "full":
        block.set_full(values, iso=iso)
    wanted = block.copy().coo()
    pieces = cut(block, layout)
    assert [piece.size for piece in pieces] == [0, 12, 8]
    ids = [piece.partition.globals_of(piece.copy().to_sparse().indices) for piece in pieces]
    assert np.array_equal(np.sort(np.concatenate(ids)), wanted[0])
    again = join(pieces, layout, block.dtype)
    assert all(map(np.array_equal, again.coo(), wanted))
    assert again.iso is (iso and form != "nothing")


def test_who_wants_to_see_messages_sees_them():
    with sg.Context("cpu"):
        A = graph().to("cpu:3")
        u = vector("int64", 0.5, 1).to("cpu:3")
        group = A._device
        assert is_near(group)
        with sg.trace() as t:
            assert not is_near(group)
            w = u.vxm(A, semiring.min_plus).new()
        assert t.bytes.sum() > 0
        assert same(w, u.vxm(A, semiring.min_plus).new())
        for more in ({"exchange": "broadcast"}, {"duplicate": "all"}):
            with sg.Context(**more):
                assert not is_near(group)
