"""Several GPUs wait for each other where they must: no two touch the same bytes out of order (`emulator.ordering`)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator.ordering import Watch, watched

import spgraph as sg
from spgraph import algorithms, binary, monoid, select, semiring, unary
from spgraph.exchange import Group, InProcess

pytestmark = [
    pytest.mark.one_device("makes GPUs of its own"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ compiles the emulated kernels"),
]


def products(A: sg.Matrix) -> None:
    n = A.nrows
    u = sg.Vector.from_dense(np.arange(n, dtype=np.float32))
    for _ in range(3):
        u << u.vxm(A, semiring.max_plus)
        w = sg.Vector.from_coo([1, n // 2, n - 1], [1, 2, 3], size=n)
        changed = sg.Vector(w.dtype, n)
        w(~w.S, changed=changed) << w.vxm(A, semiring.any_secondi)
        w(binary.min, changed=changed) << changed.vxm(A, semiring.min_plus)
        (A @ w).new()
        u(w.S) << binary.plus(u & 1.0 * w)


def pointers(A: sg.Matrix) -> None:
    n = A.nrows
    root = sg.Vector.from_dense(np.arange(n, dtype=np.int32))
    few = A.selectk("any", 2)
    for _ in range(3):
        hooks = few.mxv(root, semiring.min_second).new()
        root(binary.min)[root] << hooks
        root << root.pointer_jump()
        hooks << A.mxv(root, semiring.min_second)
        root(binary.min)[root] << hooks
        hooks << root[root]
        root << root.pointer_jump()
    assert root[:: n // 9].new().nvals >= 9


def matrices(A: sg.Matrix) -> None:
    B = select.tril(A).new()
    B(B.S) << B.mxm(B.T, semiring.plus_pair)
    B.reduce_columnwise(monoid.plus).new()
    A.T.new()
    A.dup().reorder("degree" if A.order == "natural" else "natural")
    A[:5, :].new()
    A.apply(unary.ainv).new().reduce_rowwise(monoid.min).new()


PROGRAMS: dict[str, Callable[[sg.Matrix], Any]] = {
    "products": products,
    "pointers": pointers,
    "matrices": matrices,
    "PageRank": lambda A: algorithms.pagerank(A, max_iter=5, tol=0, fail_on_nonconvergence=False),
    "components": algorithms.connected_components,
    "parents": lambda A: algorithms.bfs_parents(A, 3),
    "paths": lambda A: algorithms.sssp(A, 3),
    "betweenness": lambda A: algorithms.betweenness_centrality(A, sources=[1, 2, 5]),
    "triangles": algorithms.triangle_count,
}


def run(number: int, name: str, order: str = "natural", **choices: str) -> Watch:
    """What is noted of a program that runs twice, so that all that is kept of the first time is used again."""
    with sg.Context("cpu"):
        there = sg.generators.rmat(7, 4, seed=2)
    with watched(number) as (watch, devices):
        group = Group(devices)
        with sg.Context(group, **choices):  # type: ignore[arg-type]
            A = there.to(group).reorder(order)
            for _ in range(2):
                PROGRAMS[name](A)
            del A
    assert watch.launches > 5  # loops that run alone are a few
    return watch


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("number", [2, 3])
def test_nothing_is_touched_out_of_order(number: int, name: str, order: str, direction: str) -> None:
    assert not sorted(set(run(number, name, order, direction=direction).found))


@pytest.mark.parametrize("choices", [{"exchange": "broadcast"}, {"exchange": "selective"}, {"duplicate": "all"}])
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_other_ways_to_exchange(name: str, choices: dict) -> None:
    assert not sorted(set(run(3, name, **choices).found))


@pytest.mark.parametrize("name", ["products", "pointers", "PageRank"])
def test_large_messages_in_a_stream_of_their_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from spgraph.exchange import direct

    monkeypatch.setattr(direct, "BESIDE", 0)
    assert not sorted(set(run(3, name).found))


@pytest.mark.parametrize(
    ("broken", "name"),
    [("order", "pointers"), ("order", "PageRank"), ("follow_messages", "PageRank"), ("follow_messages", "pointers")],
)
def test_what_is_not_ordered_is_found(broken: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from spgraph.exchange import direct

    if broken == "follow_messages":
        monkeypatch.setattr(direct, "BESIDE", 0)
    monkeypatch.setattr(InProcess, broken, lambda self: None)
    assert run(2, name).found


def lent_to_who_gives_nothing() -> list[str]:
    """Pushes of a part whose results nobody asks for, and that gives nothing itself, so that the host is not told."""
    half = 40
    with sg.Context("cpu"):
        rows, cols = np.divmod(np.arange(half * half), half)
        there = sg.Matrix.from_coo(rows, cols + half, 1.0, nrows=2 * half, ncols=2 * half)
    with watched(2) as (watch, devices), sg.Context(Group(devices), partition="contiguous", direction="push"):
        A = there.to(sg.context.current().device)
        u = sg.Vector.from_coo(np.arange(half), np.arange(half, dtype=np.float64), size=2 * half)
        results = [u.vxm(A, semiring.min_plus).new() for _ in range(6)]
        assert len({tuple(w.to_dense(-1)) for w in results}) == 1 and results[0].nvals == half
        del A, u, results
    return watch.found


def test_rooms_for_lists_are_not_written_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from emulator.ordering import WatchedDevice

    assert not lent_to_who_gives_nothing()
    monkeypatch.setattr(WatchedDevice, "follow_event", lambda self, event: None)
    assert any("give_list" in found for found in lent_to_who_gives_nothing())
