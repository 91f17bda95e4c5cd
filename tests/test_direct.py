"""Values and bits that owners store into the memory of GPUs that see each other (`exchange.direct`).

Runs on the GPUs that there are, else on emulated ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from devices import gpus, spread

import spgraph as sg
from spgraph import binary, semiring
from spgraph.exchange import Group, InProcess, direct, group_of
from spgraph.exchange.border import sharing_of

pytestmark = pytest.mark.one_device("makes parts of its own")


@pytest.fixture(params=[2, 3, 5])
def group(request: pytest.FixtureRequest, cuda: Any, monkeypatch: pytest.MonkeyPatch) -> Group:
    if gpus(cuda) < 2:
        monkeypatch.setattr(InProcess, "linked", True)
    return group_of(tuple(spread(cuda, request.param)))


def graph(n: int) -> sg.Matrix:
    """Few edges, so that parts know some of each other's vertices; its transpose is at hand."""
    rng = np.random.default_rng(n)
    rows, cols = rng.integers(0, n, (2, 2 * n))
    with sg.Context("cpu"):
        return sg.Matrix.from_coo(rows, cols, rng.integers(1, 9, 2 * n), nrows=n, ncols=n, dup_op=binary.first)


def operand(kind: str, n: int) -> sg.Vector:
    rng = np.random.default_rng(n + 1)
    ids = np.arange(n) if kind.startswith("full") else np.flatnonzero(rng.random(n) < 0.6)
    values: Any = rng.integers(-50, 50, ids.size).astype(np.float32)
    with sg.Context("cpu"):
        return sg.Vector.from_coo(ids, 7 if kind.endswith("same") else values, dtype=np.float32, size=n)


SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 161, 255, 257, 300, 331, 499]


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("kind", ["full", "full, the same", "bitmap", "bitmap, the same"])
def test_pulls_of_any_size(group: Group, kind: str, duplicate: str) -> None:
    """Lists and words of bits begin and end anywhere; two rooms are used in turns."""
    for n in SIZES:
        A, u = graph(n), operand(kind, n)
        with sg.Context("cpu"):
            wanted = [semiring.plus_times(A @ u).new(), semiring.any_second(A @ u).new().nvals]
        with sg.Context(group, duplicate=duplicate, direction="pull"):
            B, v = A.to(group), u.to(group)
            for _ in range(3):
                found = semiring.plus_times(B @ v).new()
                assert found.to("cpu").isequal(wanted[0]), n
            assert semiring.any_second(B @ v).new().nvals == wanted[1]


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_a_warp_stores_whole_lines(group: Group, duplicate: str, dtype: type) -> None:
    with sg.Context(group, duplicate=duplicate, partition="random"):
        border = sharing_of(graph(331).to(group)._block)
        ways = border.direct
        assert ways is not None
        _, tables = ways._rooms_for_all(np.dtype(dtype))
        for (_, device), (lists, firsts), table in zip(ways._parts, ways.given, tables):
            with device:
                assert not (device.to_host(table) % (direct.WARP * np.dtype(dtype).itemsize)).any()
                assert not (device.to_host(firsts) % direct.WARP).any() and not lists.size % direct.WARP
