"""Graphs that several processes generate together are those of one process, bit by bit, as they are stored as well."""

from __future__ import annotations

import numpy as np

import spgraph as sg

g = sg.generators
GRAPHS = {
    "rmat": lambda: g.rmat(10, seed=1, weights="int"),
    "directed": lambda: g.rmat(9, 8, seed=2, symmetrize=False),
    "not clean": lambda: g.rmat(8, seed=2, clean=False, permute=False),
    "several chunks": lambda: g.rmat(13, 33, seed=1, weights="uniform"),
    "uniform": lambda: g.uniform(1000, 8, seed=3, weights="uniform"),
    "grid": lambda: g.grid(30, 20, seed=3),
    "diagonal": lambda: g.grid(7, diagonal=True, seed=3),
    "path": lambda: g.path(9),
    "vertex": lambda: g.path(1),
    "nothing": lambda: g.path(0),
    "cycle": lambda: g.cycle(5, directed=True),
    "star": lambda: g.star(8),
    "complete": lambda: g.complete(9),
    "even": lambda: g.complete(8),
    "ordered": lambda: g.rmat(8, order="degree"),
}
USUAL = ("contiguous_edges", "random", "metis")
SOME = ("rmat", "directed", "vertex", "nothing", "star")


def by_hand(indptr, indices, parts, seed):
    """A partition that looks at the edges."""
    return (np.add.reduceat(np.append(indices, 0), indptr[:-1]) * (np.diff(indptr) > 0)) % parts


for partition in ("contiguous_edges", "random", "random_edges", "contiguous", "metis", "biased_random", by_hand):
    with sg.Context(partition=partition):
        for name, make in GRAPHS.items():
            if (name == "nothing" and partition is by_hand) or (partition not in USUAL and name not in SOME):
                continue
            A = make()
            with sg.Context("cpu"):
                one = make()
            for found, wanted in zip(A.to_coo(), one.to_coo()):
                assert found.dtype == wanted.dtype and np.array_equal(found, wanted), name
            assert str(A.report) == str(one.report), (A.report, one.report)
            assert A.symmetric == one.symmetric
            if name == "ordered":
                continue
            B = one.to(A._device)  # dealt by one process
            assert A.order == B.order
            assert np.array_equal(A._block.rows.starts, B._block.rows.starts), name
            assert np.array_equal(A._block.rows.ids(np.arange(A.nrows)), B._block.rows.ids(np.arange(A.nrows))), name
            for piece, other in zip(A._block.pieces, B._block.pieces):
                assert piece.iso == other.iso and piece.dtype == other.dtype, name
                for array in ("indptr", "indices", "values"):
                    assert getattr(piece, array).dtype == getattr(other, array).dtype, (name, array)
                    assert np.array_equal(getattr(piece, array), getattr(other, array)), (name, array)
sg.context.device().group.transport.comm.Barrier()
print("generated")
