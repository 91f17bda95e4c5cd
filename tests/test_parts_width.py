"""Indices in parts are as wide as they must be: artificially small limits drive them from 32 to 64 bits.

Positions of all vertices, local numbers with proxies and offsets of rows are each of their own width, per part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from spgraph import binary, semiring
from spgraph.block import width
from spgraph.exchange import group_of
from spgraph.exchange.border import border_of

PARTS = 4
SIDE = 20  # of a grid: 400 vertices, 100 and their ghosts on each part, some 380 entries
NARROW, WIDE = np.dtype(np.int32), np.dtype(np.int64)


def parts() -> Any:
    one = sg.context.device()
    return group_of(tuple((one.devices[:1] if one.group is not None else [one]) * PARTS))


def grid(**how: Any) -> Any:
    with sg.Context("cpu"):
        return sg.generators.grid(SIDE, seed=1, **how)


def dealt(A: Any, duplicate: str = "1-hop") -> Any:
    with sg.Context(partition="contiguous", duplicate=duplicate):
        return A.to(parts())


@pytest.mark.parametrize(("limit", "positions", "local", "offsets"), [
    (1000, NARROW, NARROW, NARROW),  # everything fits
    (398, WIDE, NARROW, NARROW),  # but the positions of 400 vertices
    (200, WIDE, NARROW, WIDE),  # nor the entries of a part
    (50, WIDE, WIDE, WIDE),  # nor the vertices of one
])  # fmt: skip
def test_each_width_is_chosen_by_itself(monkeypatch, limit, positions, local, offsets):
    A = grid()
    monkeypatch.setattr(width, "LIMIT", limit)
    several = dealt(A)
    border = border_of(several._block)
    for piece, block in zip(several._block.pieces, border.blocks):
        assert 200 < piece.nvals < 398 and block.ncols < 200
        assert (piece.indices.dtype, piece.indptr.dtype) == (positions, offsets)
        assert (block.indices.dtype, block.indptr.dtype) == (local, offsets)
        turned = block.oriented(True)
        assert (turned.indices.dtype, turned.indptr.dtype) == (local, offsets)
    everywhere = border_of(several._block, "all")
    assert all(block.indices.dtype == positions for block in everywhere.blocks)


ALGORITHMS = {
    "bfs": lambda A: sg.algorithms.bfs(A, 7),
    "sssp": lambda A: sg.algorithms.sssp(A, 7),
    "components": sg.algorithms.connected_components,
    "pagerank": sg.algorithms.pagerank,
    "core": sg.algorithms.core_number,
    "triangles": lambda A: sg.algorithms.triangles(A, symmetrize=True),
}


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
@pytest.mark.parametrize("limit", [1000, 398, 200, 50, 3])
def test_answers_do_not_depend_on_it(monkeypatch, limit, direction, duplicate):
    A = grid()
    wanted = {name: call(A).to_coo() for name, call in ALGORITHMS.items()}
    monkeypatch.setattr(width, "LIMIT", limit)
    several = dealt(A, duplicate)
    with sg.Context(direction=direction, duplicate=duplicate):
        for name, (ids, values) in wanted.items():
            found_ids, found = ALGORITHMS[name](several).to_coo()
            assert found.dtype == values.dtype
            assert np.array_equal(found_ids, ids), name
            if name == "pagerank":
                np.testing.assert_allclose(found, values, rtol=1e-9)
            else:
                assert np.array_equal(found, values), name


@given(limit=st.integers(1, 60), seed=st.integers(0, 9), symmetrize=st.booleans())
def test_operations_on_any_side_of_the_limit(limit, seed, symmetrize):
    with sg.Context("cpu"):
        A = sg.generators.rmat(5, 4, seed=seed, weights="int", symmetrize=symmetrize)
        u = sg.Vector.from_coo([1, 5, 30], [2, 3, 4], size=32)
        wanted = [u.vxm(A, semiring.min_plus).new(), A.mxm(A, semiring.plus_times).new(), A.T.new(),
                  A[[3, 1, 1, 30], :].new(), (A + A.T).new(), A.mxv(u, semiring.plus_first).new()]  # fmt: skip
    before, width.LIMIT = width.LIMIT, limit
    try:
        with sg.Context(partition="random"):
            B, v = A.to(parts()), u.to(parts())
        found = [v.vxm(B, semiring.min_plus).new(), B.mxm(B, semiring.plus_times).new(), B.T.new(),
                 B[[3, 1, 1, 30], :].new(), (B + B.T).new(), B.mxv(v, semiring.plus_first).new()]  # fmt: skip
        B << B.apply(binary.plus, right=1)
        assert B.reduce_scalar().value == A.reduce_scalar().value + A.nvals
        for one, other in zip(found, wanted):
            assert one.to("cpu").isequal(other, check_dtype=True)
    finally:
        width.LIMIT = before
