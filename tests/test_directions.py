"""Push or pull: the rules of other systems, by counts worked out by hand, and what they make of a search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from devices import in_parts

import spgraph as sg
from spgraph.engine.plan import preset_limit
from spgraph.engine.vector_products import edges_limit

PRESETS = ("gap", "lagraph", "gunrock")

# rows 1000, edges 20,000; unvisited 400: their edges 8,000; Gunrock's estimate of backward edges 400 * 1000 / 600 = 667
LIMITS = [
    ("gap", 30, True, 8000 / 15),
    ("gap", 55, False, math.inf),  # 1000 / 18 = 55.6
    ("gap", 56, False, None),
    ("lagraph", 125, True, 1000.0),
    ("lagraph", 126, True, None),
    ("lagraph", 1, False, math.inf),  # 1000 / 512 = 1.95
    ("lagraph", 2, False, None),
    ("gunrock", 0, True, math.inf),
    ("gunrock", 1, True, None),  # forward 20 > 6.67
    ("gunrock", 3, False, math.inf),  # forward 60 < 66.7
    ("gunrock", 4, False, None),
]


@pytest.mark.parametrize(("preset", "frontier", "pushed", "wanted"), LIMITS)
def test_limits(preset: str, frontier: int, pushed: bool, wanted: float | None):
    assert preset_limit(preset, 1000, 20_000, 400, frontier, pushed) == pytest.approx(wanted)


def test_a_matrix_without_rows_is_pushed():
    assert [preset_limit(preset, 0, 0, 0, 0, True) for preset in PRESETS] == [math.inf] * 3


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("parts", [1, 3])
def test_a_search_turns_to_pulling_and_stays_right(preset: str, parts: int, monkeypatch):
    ways: list[str] = []
    A = sg.generators.rmat(10, seed=1)
    device = A._device if A._device.group is None else A._device.devices[0]
    wanted = sg.algorithms.bfs(A.to(device), int(A.to_coo()[0][0]))
    if parts > 1:
        A = A.to(in_parts(parts))

    class Told:
        def product(self, direction, *args, **more):
            ways.append(direction)

        def begins(self, *args):
            return False

        def __getattr__(self, name):
            return lambda *args, **more: None

    monkeypatch.setattr("spgraph._record.listener", Told())
    with sg.Context(direction=preset):
        found = sg.algorithms.bfs(A, int(A.to_coo()[0][0]))
    monkeypatch.setattr("spgraph._record.listener", None)
    assert np.array_equal(found.to_dense(fill_value=-1), wanted.to_dense(fill_value=-1))
    assert {"push", "pull"} <= set(ways) if preset != "gunrock" else "pull" in ways


def test_an_unknown_direction_names_those_that_there_are():
    with pytest.raises(sg.exceptions.InvalidValue, match="direction is 'beamer', wanted one of auto, push, pull, gap"):
        sg.Context(direction="beamer")


@pytest.mark.parametrize("parts", [1, 3])
def test_rows_without_entries_are_not_waited_for(parts: int):
    """They stay unvisited for ever, and cost a pull hardly anything."""
    n, empty = 500, 4500
    edges = np.random.default_rng(1).integers(0, n, (2, 4000))
    A = sg.Matrix.from_coo(*edges, True, nrows=n + empty, ncols=n + empty, dup_op=sg.binary.any)
    device = A._device if A._device.group is None else A._device.devices[0]
    A = A.to(in_parts(parts) if parts > 1 else device)
    rows, cols = A.to_coo()[:2]
    block = A._block
    assert block.occupied == np.unique(rows).size
    assert block.oriented(True).occupied == np.unique(cols).size
    u = sg.Vector.from_coo([0], [True], size=n + empty).to(A._device)._block
    count = np.unique(cols).size

    def limit(reached: int, unvisited: bool) -> float:
        found = edges_limit(block, True, n + empty - reached, True, u, True, "auto", unvisited)
        assert found is not None
        return found

    # one after the other is reached; nothing is left to look at when all that have entries are
    limits = [limit(reached, True) for reached in (0, count // 2, count - 1, count)]
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] == limit(n + empty, True) < limits[0]
    assert limit(count, False) > limits[-1]  # of a mask that says nothing of the kind

    A[int(rows[0]), n + empty - 1] = True
    assert A._block.oriented(True).occupied == count + 1


def test_full_vectors_are_pulled_where_that_costs_no_list():
    """Whole vectors through a matrix with more entries than rows; neither where entries are few, nor lists."""
    with sg.Context("cpu"):
        dense, few = sg.generators.rmat(9, 8, seed=1), sg.Matrix.from_coo([1, 2], [2, 1], 1, nrows=512, ncols=512)
        for A in (dense, few):
            A._block.oriented(True)  # both directions are at hand
        full = sg.Vector.from_scalar(1, 512)
        some = sg.Vector.from_coo(range(500), 1, size=512)
        limits = [
            edges_limit(A._block, transposed, 512, False, u._block, True, "auto", False)
            for A, u in ((dense, full), (dense, some), (few, full))
            for transposed in (False, True)
        ]
        assert limits[:2] == [0.0, 0.0]
        assert min(limits[2:]) > 500
        for u in (full, some):
            with sg.Context(direction="push"):
                want = u.vxm(dense, sg.semiring.plus_times).new()
            assert u.vxm(dense, sg.semiring.plus_times).new().isequal(want)
