"""Small graphs for tests, as NumPy edge lists: no engine is imported here.

Every graph has n vertices, arcs (rows[k], cols[k]) without duplicates, and integer weights made from the
vertex numbers by the formula of the recorded answers, so that both directions of an edge weigh the same.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

KARATE = """
0-1 0-2 0-3 0-4 0-5 0-6 0-7 0-8 0-10 0-11 0-12 0-13 0-17 0-19 0-21 0-31 1-2 1-3 1-7 1-13 1-17 1-19 1-21
1-30 2-3 2-7 2-8 2-9 2-13 2-27 2-28 2-32 3-7 3-12 3-13 4-6 4-10 5-6 5-10 5-16 6-16 8-30 8-32 8-33 9-33
13-33 14-32 14-33 15-32 15-33 18-32 18-33 19-33 20-32 20-33 22-32 22-33 23-25 23-27 23-29 23-32 23-33
24-25 24-27 24-31 25-31 26-29 26-33 27-33 28-31 28-33 29-32 29-33 30-32 30-33 31-32 31-33 32-33
"""


def formula_weights(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """The weights of `answers.json`: ((min * 31 + max * 17) % 64) + 1 of the two vertex numbers."""
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    return ((low * 31 + high * 17) % 64 + 1).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Graph:
    name: str
    n: int
    rows: np.ndarray
    cols: np.ndarray

    @property
    def symmetric(self) -> bool:
        there, back = self.rows * self.n + self.cols, self.cols * self.n + self.rows
        return bool(np.array_equal(np.sort(there), np.sort(back)))

    @property
    def weights(self) -> np.ndarray:
        return formula_weights(self.rows, self.cols)

    @property
    def simple(self) -> bool:
        """Undirected and without self-loops."""
        return self.symmetric and not np.any(self.rows == self.cols)

    def matrix(self, gb: Any, dtype: Any = np.int64) -> Any:
        """The weighted adjacency matrix of an engine; with dtype bool every arc is True."""
        values = self.weights.astype(dtype)
        return gb.Matrix.from_coo(self.rows, self.cols, values, dtype, nrows=self.n, ncols=self.n)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.n} vertices, {self.rows.size} arcs>"


def from_pairs(name: str, n: int, pairs: list[tuple[int, int]], *, both_ways: bool = False) -> Graph:
    arcs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if both_ways:
        arcs = np.concatenate([arcs, arcs[:, ::-1]])
    arcs = np.unique(arcs, axis=0)
    return Graph(name, n, arcs[:, 0], arcs[:, 1])


def rmat(scale: int, edge_factor: int, seed: int) -> Graph:
    """A symmetrised R-MAT graph (Graph500's a, b, c, d) without self-loops and duplicates, in NumPy alone."""
    rng = np.random.default_rng(seed)
    m = edge_factor << scale
    rows, cols = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        draw = rng.random(m)
        rows = 2 * rows + (draw >= 0.76)
        cols = 2 * cols + (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
    label = rng.permutation(1 << scale)
    rows, cols = label[rows], label[cols]
    keep = rows != cols
    pairs = list(zip(rows[keep].tolist(), cols[keep].tolist()))
    return from_pairs(f"rmat{scale}-{edge_factor}", 1 << scale, pairs, both_ways=True)


def grid(side: int, seed: int) -> Graph:
    """A road-like grid: a tenth of its edges is deleted."""
    at = np.arange(side * side).reshape(side, side)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], 1)
    edges = np.concatenate([across, down])
    keep = np.random.default_rng(seed).random(len(edges)) >= 0.1
    return from_pairs(f"grid{side}", side * side, [tuple(e) for e in edges[keep].tolist()], both_ways=True)


def directed(n: int, m: int, seed: int) -> Graph:
    """Random arcs, self-loops among them, and a vertex that nothing leaves."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n - 1, m), rng.integers(0, n, m)
    return from_pairs(f"directed{n}", n, list(zip(rows.tolist(), cols.tolist())))


def _karate() -> Graph:
    pairs = [tuple(map(int, edge.split("-"))) for edge in KARATE.split()]
    return from_pairs("karate", 34, pairs, both_ways=True)


GRAPHS = {
    graph.name: graph
    for graph in (
        from_pairs("empty", 0, []),
        from_pairs("one_vertex", 1, []),
        from_pairs("self_loop", 1, [(0, 0)]),
        from_pairs("isolated", 5, []),
        from_pairs("path", 9, [(i, i + 1) for i in range(8)], both_ways=True),
        from_pairs("star", 8, [(0, i) for i in range(1, 8)], both_ways=True),
        from_pairs("disconnected", 9, [(0, 1), (1, 2), (2, 0), (4, 5), (6, 7), (7, 8)], both_ways=True),
        from_pairs("line_1_5_2_4_3", 5, [(0, 4), (4, 1), (1, 3), (3, 2)]),
        directed(12, 30, seed=5),
        _karate(),
        grid(7, seed=3),
        rmat(6, 5, seed=1),
    )
}
