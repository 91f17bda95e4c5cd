"""Tiles of few columns, so that small matrices are cut into several; see `engine.tiles_cuda`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from devices import spread

import spgraph as sg
from spgraph import algorithms
from spgraph.engine import products_cuda, steps_cuda, tiles_cuda
from spgraph.exchange import group_of

__all__ = ["WIDTH", "same_ranks_in_parts", "small_tiles"]

WIDTH = 20
HOT = products_cuda.Hot(13, 0, [0])


@contextmanager
def small_tiles(width: int = WIDTH, **settings: Any) -> Iterator[list]:
    """Within, matrices by degree are cut after one pull, into `MOST_TILES` tiles of as many rows as have entries.

    A tile has `width` columns, or half as many if values have 8 bytes.

    Yields the list of the `Tiles` that pulls have gathered from.
    """
    used: list = []
    gather = steps_cuda.PullStep._tile_sums

    def noted(step: Any, *args: Any) -> tuple:
        used.append(step._tiling.made)
        return gather(step, *args)

    def hot(A: Any, u: Any, *_: Any) -> Any:
        return HOT if A.cols.name == "degree" and not u.iso and A.ncols > 2 * WIDTH else products_cuda.NOT_HOT

    paying = {"LEAST": 1, "RUNS_BEFORE": 1, "ROOM": 0, "MOST": 99, "LEAST_GAIN": -1e9, "OF_TILE": 0, "OF_ROW": 1e-9,
              "MOST_TILES": 4}
    with (mock.patch.multiple(tiles_cuda, **{**paying, **settings}),
          mock.patch.multiple(products_cuda, HOT_BLOCK=64, _hot_values=hot,
                              tile_width=lambda device, size: 4 * width // max(size, 4)),
          mock.patch.object(steps_cuda.PullStep, "_tile_sums", noted)):
        yield used


def same_ranks_in_parts(cuda: Any, duplicate: str) -> None:
    """PageRank of a graph in three parts, by degree, is that of the CPU."""
    with sg.Context("cpu"):
        A = sg.generators.rmat(9, 8, seed=4)
        wanted = algorithms.pagerank(A, tol=1e-12).to_dense()
    group = group_of(tuple(spread(cuda, 3)))
    with sg.Context(group, direction="pull", duplicate=duplicate, partition="random"):
        found = algorithms.pagerank(A.to(group).reorder("degree"), tol=1e-12).to_dense()
    np.testing.assert_allclose(found, wanted, 1e-9)
