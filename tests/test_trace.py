"""The trace: its counts are those that NumPy finds, on any number of parts; its costs are those that were put in."""

from __future__ import annotations

import builtins
import itertools
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from devices import spread
from test_parts import ALGORITHMS

import spgraph as sg
from spgraph import _record, exceptions, partition, semiring
from spgraph._trace import Trace, _recorder, _together
from spgraph._trace._recorder import Recorder, shared_time
from spgraph._trace._records import Message, Record, Span
from spgraph.cli import main
from spgraph.exchange import group_of
from spgraph.kernels.device import HOST

COUNTS = (1, 2, 3, 7)


def on(count: int, **settings: Any) -> sg.Context:
    """So many parts of the device that is tested."""
    one = sg.context.device()
    devices = one.devices[:1] if one.group is not None else [one]
    return sg.Context(devices[0] if count == 1 else group_of(tuple(devices * count)), **settings)


def graph(name: str) -> Any:
    """A graph where the context is."""
    with sg.Context("cpu"):
        A = {
            "path": lambda: sg.generators.path(9),
            "star": lambda: sg.generators.star(8),
            "grid": lambda: sg.generators.grid(7, seed=2),
            "rmat": lambda: sg.generators.rmat(7, seed=1),
            "large": lambda: sg.generators.rmat(10, seed=1),
            "directed": lambda: sg.generators.rmat(6, seed=3, symmetrize=False),
        }[name]()
        indptr, indices, _ = A.to_csr()
        plain = sp.csr_array((np.ones(A.nvals), indices, indptr), shape=A.shape)
    return A.to(sg.context.device()), plain


def source_of(plain: sp.csr_array) -> int:
    """The first vertex that has a neighbour."""
    return int(np.diff(plain.indptr).argmax()) if plain.indptr[1] == 0 else 0


def owners(A: Any) -> np.ndarray:
    """The part of each vertex."""
    if A._device.group is None:
        return np.zeros(A.nrows, int)
    layout = A._block.rows
    return layout.owners(layout.positions(np.arange(A.nrows)))


def levels(plain: sp.csr_array, source: int) -> list[np.ndarray]:
    """The vertices of each level of a BFS, by the book."""
    seen = np.zeros(plain.shape[0], bool)
    seen[source] = True
    found = [np.array([source])]
    while found[-1].size:
        reached = np.unique(np.concatenate([plain.indices[plain.indptr[v] : plain.indptr[v + 1]] for v in found[-1]]))
        fresh = reached[~seen[reached]] if reached.size else reached
        seen[fresh] = True
        found.append(fresh)
    return found[:-1]


def sums(t: Trace, field: str) -> list[int]:
    """Of the parts, for each superstep."""
    found: dict[int, int] = {}
    for one in t.records:
        if one.operation:
            found[one.superstep] = found.get(one.superstep, 0) + getattr(one, field)
    return [found[number] for number in sorted(found)]


def traced_bfs(count: int, name: str, **settings: Any) -> tuple[Trace, sp.csr_array, Any]:
    with on(count, **settings):
        A, plain = graph(name)
        with sg.trace("bfs") as t:
            sg.algorithms.bfs(A, source_of(plain))
    return t, plain, A


def looked_at(A: Any, plain: sp.csr_array, directions: list[str], scattered: bool = False) -> list[int]:
    """Edges of each superstep of a BFS: a part that has nothing left to find does not look.

    Those of a push are the frontier's into the part's own vertices; `scattered`, all of its own frontier.
    """
    owner, unseen = owners(A), np.ones(plain.shape[0], bool)
    found = []
    for direction, frontier in zip(directions, levels(plain, source_of(plain))):
        unseen[frontier] = False
        if direction == "push" and scattered:
            found.append(int(np.diff(plain.indptr)[frontier].sum()))
            continue
        there = plain[frontier] if direction == "push" else plain[:, unseen]
        targets = there.indices if direction == "push" else np.flatnonzero(unseen)[there.indices]
        found.append(int(np.isin(owner[targets], owner[unseen]).sum()))
    return found


# ---- counts ---------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["path", "star", "grid", "rmat", "directed"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_frontiers_and_edges(name: str, count: int, direction: str):
    t, plain, A = traced_bfs(count, name, direction=direction)
    wanted = levels(plain, source_of(plain))
    assert sums(t, "frontier") == [frontier.size for frontier in wanted]
    scattered = name == "directed" and count > 1 and not A._device.transport.direct  # GPUs make the transpose at once
    assert sums(t, "edges") == looked_at(A, plain, [direction] * len(wanted), scattered)
    assert t.supersteps == len(wanted)
    assert {one.direction for one in t.records if one.edges} <= {direction}
    assert {one.part for one in t.records} == set(range(count))


@pytest.mark.cpu("what a step costs there decides")
@pytest.mark.parametrize("count", COUNTS)
def test_auto_says_which_direction(count: int):
    """Whatever the engine chose, edges are those of that direction."""
    t, plain, A = traced_bfs(count, "large")
    directions = list({one.superstep: one.direction for one in t.records if one.operation}.values())
    assert {"push", "pull"} <= set(directions)
    assert sums(t, "edges") == looked_at(A, plain, directions)


@pytest.mark.parametrize("count", COUNTS)
def test_the_same_again(count: int):
    """A matrix keeps its statements, and runs them by another way: the counts are the same."""
    with on(count):
        A, plain = graph("rmat")
        found = []
        for _ in range(3):
            with sg.trace() as t:
                sg.algorithms.bfs(A, source_of(plain))
            found.append([one[:14] for one in t.records])
    assert found[1] == found[2]
    assert [one[6] for one in found[0]] == [one[6] for one in found[1]]  # a direction may have become cheaper


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", ["none", "structure", "complement", "value", "not value"])
def test_masks(count: int, kind: str):
    with on(count):
        A, plain = graph("rmat")
        n = A.nrows
        ids = np.arange(0, n, 3)
        v = sg.Vector.from_coo(ids, ids % 2 == 0, size=n)
        masks = {"none": None, "structure": v.S, "complement": ~v.S, "value": v.V, "not value": ~v.V}
        there, true = np.isin(np.arange(n), ids), np.isin(np.arange(n), ids[ids % 2 == 0])
        allowed = {"none": there | True, "structure": there, "complement": ~there, "value": true, "not value": ~true}
        u = sg.Vector.from_scalar(1.0, n)
        w = sg.Vector(float, n)
    with on(count, direction="pull"), sg.trace() as t:
        (w if kind == "none" else w(masks[kind])) << A.mxv(u, semiring.plus_times)
    assert sums(t, "edges") == [np.diff(plain.indptr)[allowed[kind]].sum()]
    assert sums(t, "frontier") == [n]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("b_t", [False, True])
def test_products_of_matrices(count: int, b_t: bool):
    with on(count):
        A, plain = graph("directed")
        with sg.trace() as t:
            C = A.mxm(A.T if b_t else A, semiring.plus_pair).new()
    right = plain.T.tocsr() if b_t else plain
    assert sums(t, "edges") == [np.diff(right.indptr)[plain.indices].sum()]
    assert sums(t, "frontier") == [plain.nnz]
    assert t.records[0].operation == "mxm" and t.records[0].direction == ""
    assert C.nvals == (plain @ right).nnz


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(algorithm: str, count: int):
    """Each is recorded, and does not notice."""
    with on(count):
        A, _ = graph("grid")
        wanted = ALGORITHMS[algorithm](A)
        with sg.trace(algorithm) as t:
            got = ALGORITHMS[algorithm](A)
    assert got.isclose(wanted)
    assert t.supersteps > 0
    assert sum(sums(t, "edges")) > 0
    for one in t.records:
        assert min(one.compute, one.exchange, one.wait) >= 0
        assert one.compute + one.exchange + one.wait == pytest.approx(one.seconds, rel=1e-6, abs=1e-9)
    assert {one.superstep for one in t.records if one.operation} == set(range(1, t.supersteps + 1))
    assert (count > 1) == (sum(one.values for one in t.messages) > 0)


def test_what_comes_after():
    with on(2):
        A, _ = graph("path")
        with sg.trace() as t:
            v = sg.Vector.from_coo([0], [1.0], size=A.nrows)
            w = v.vxm(A, semiring.plus_times).new()
            w << w.apply(sg.unary.sqrt)
            w << w.apply(sg.unary.sqrt)
    last = t.records[-1]
    assert t.supersteps == 1
    assert (last.superstep, last.operation, last.others) == (2, "", "vector_chain x2")
    assert t.records[0].others == "build_vector"
    assert str(t.table()).splitlines()[2].split()[:2] == ["2", "after"]


# ---- what moves ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["path", "star", "rmat", "directed"])
@pytest.mark.parametrize("count", COUNTS)
def test_bytes_are_those_of_the_messages(name: str, count: int):
    t, _, _ = traced_bfs(count, name)
    assert (sum(sums(t, "sent")) > 0) == (count > 1)  # values; one that all know takes no bytes
    assert (np.diag(t.bytes) == 0).all()
    for one in t.records:
        out = [m for m in t.messages if m.superstep == one.superstep and m.source == one.part]
        come = [m for m in t.messages if m.superstep == one.superstep and m.target == one.part]
        assert (one.sent, one.sent_bytes) == (sum(m.values for m in out), sum(m.nbytes for m in out))
        assert (one.received, one.received_bytes) == (sum(m.values for m in come), sum(m.nbytes for m in come))


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_full_pull_moves_the_border(count: int):
    """As many values as `partition.report` counts, of 8 bytes each."""
    with on(count, direction="pull", partition="random"):
        A, plain = graph("rmat")
        found = partition.report("random", plain.indptr, plain.indices, count)
        u = sg.Vector.from_dense(np.arange(A.nrows) + 1.0)
        A.mxv(u, semiring.plus_times).new()  # from now on u lies as A does
        with sg.trace() as t:
            A.mxv(u, semiring.plus_times).new()
    assert sums(t, "sent") == sums(t, "received") == [found.border]
    assert np.array_equal(t.bytes, 8 * found.pairs)
    assert {m.form for m in t.messages} == {"dense"}


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_star_by_hand(count: int):
    """The hub's value goes to every part that has a leaf, then the leaves' values to the hub's part."""
    with on(count, direction="pull", partition="contiguous"):
        A, plain = graph("star")
        owner = partition.assign("contiguous", plain.indptr, plain.indices, count)
        with sg.trace() as t:
            sg.algorithms.bfs(A, 0)
    away = owner[1:] != owner[0]
    assert sums(t, "sent") == [np.unique(owner[1:][away]).size, away.sum()]
    assert all(m.target == owner[0] for m in t.messages if m.superstep == 2 and m.values)


# ---- on and off --------------------------------------------------------------------------
def test_off():
    assert _record.listener is None
    t = sg.trace()
    assert _record.listener is None
    with t:
        assert _record.listener is not None
        with pytest.raises(exceptions.InvalidObject, match=r"^trace: another trace is on; one can be on at a time$"):
            sg.trace().__enter__()
        assert _record.listener is not None
    assert _record.listener is None
    with pytest.raises(exceptions.InvalidObject, match="trace: it has recorded already"), t:
        pass
    assert _record.listener is None
    with sg.trace():
        on, another = _record.listener, sg.trace()
        with pytest.raises(exceptions.InvalidObject, match=r"^trace: it is not on, so it cannot be left"):
            another.__exit__(None, None, None)
        assert _record.listener is on
    with pytest.raises(TypeError, match=r"^trace: name is 3, but a text was wanted$"):
        sg.trace(3)


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_inside(count: int):
    with on(count):
        A, _ = graph("path")
        t = sg.trace()
        with pytest.raises(ZeroDivisionError):
            fail(t, A)
        assert _record.listener is None
        assert t.supersteps == 1
        with sg.trace() as t:
            with pytest.raises(exceptions.IndexOutOfBound):
                sg.Vector.from_coo([0], [9], size=1)[sg.Vector.from_coo([0], [5], size=1)].new()
            A.mxv(sg.Vector.from_scalar(1.0, A.ncols), semiring.plus_times).new()
        assert t.supersteps == 1


def fail(t: Trace, A: Any) -> None:
    with t:
        A.mxv(sg.Vector.from_scalar(1.0, A.ncols), semiring.plus_times).new()
        raise ZeroDivisionError


def test_other_threads_are_not_recorded():
    with sg.Context("cpu"):
        A, _ = graph("path")
    with sg.trace() as t:
        thread = threading.Thread(target=lambda: sg.algorithms.bfs(A, 0))
        thread.start()
        thread.join()
    assert t.records == []
    assert repr(t) == "<trace: 0 supersteps on nothing, 0 edges, 0 B sent, 0.00 us>"
    assert str(t.fit()).splitlines()[-1] == "too little data: no superstep took any time"


# ---- time ------------------------------------------------------------------------------------
def test_turns_on_one_device():
    """Two parts of 3 and 1 seconds on one device, 5 in all: one second belongs to neither, and the slower takes 3."""
    assert shared_time(5.0, {0: 3.0, 1: 1.0}, {0: HOST, 1: HOST}) == 4.0
    other = object()
    assert shared_time(5.0, {0: 3.0, 1: 1.0}, {0: HOST, 1: other}) == 5.0
    assert shared_time(1.0, {0: 3.0}, {0: HOST}) == 3.0
    assert shared_time(1.0, {}, {}) == 1.0


def test_spans_lie_within_their_supersteps():
    t, _, _ = traced_bfs(3, "rmat")
    starts = {one.superstep: one.start for one in t.records}
    assert list(starts.values()) == sorted(starts.values())
    for one in t.spans:
        assert one.start >= starts[one.superstep] - 1e-6
        assert one.start + one.seconds <= starts.get(one.superstep + 1, math.inf) + 1e-3
    assert {one.kind for one in t.spans} == {"compute", "exchange"}
    for record in t.records:
        of_it = [s.seconds for s in t.spans if (s.superstep, s.part, s.kind) == (*record[:2], "compute")]
        assert record.compute == pytest.approx(sum(of_it))


def test_processes_together():
    """The one that comes last has waited least: its exchange is that of all."""
    def of(part: int, exchange: float, seconds: float) -> tuple:
        record = Record(1, part, "cpu", "mxv", compute=1.0, exchange=exchange, wait=0.5, seconds=seconds, start=2.0)
        sent = [Message(1, "share", part, 1 - part, 4 + part, 32, "dense")]
        return [record], sent, [Span(1, part, "compute", "mxv", 2.0, 1.0)], 10.0 + part

    records, messages, spans = _together.merged([of(0, 3.0, 4.5), of(1, 1.0, 4.0)], 10.0)
    assert [one[:2] for one in records] == [(1, 0), (1, 1)]
    assert [(one.exchange, one.wait, one.seconds) for one in records] == [(1.0, 2.5, 4.5)] * 2
    assert [(one.sent, one.received, one.sent_bytes) for one in records] == [(4, 5, 32), (5, 4, 32)]
    assert [one.start for one in records] == [one.start for one in spans] == [2.0, 1.0]
    assert len(messages) == 2


def test_counting_is_nobodys_time(monkeypatch: pytest.MonkeyPatch):
    """Neither what counts edges nor what counts messages shows."""
    def slow(*args: Any) -> int:
        time.sleep(0.05)
        return 1

    with on(2):
        A, _ = graph("star")
        sg.algorithms.bfs(A, 0)
        monkeypatch.setattr(_recorder, "_pushed", slow)
        monkeypatch.setattr(_recorder, "_pulled", slow)
        monkeypatch.setattr("spgraph.exchange.border.values_in", slow)
        with sg.trace() as t:
            sg.algorithms.bfs(A, 0)
    assert sum(sums(t, "edges")) > 0 and sum(sums(t, "sent")) > 0
    assert t.seconds < 0.05
    assert sum(one.exchange + one.compute for one in t.records) < 0.05


# ---- the model -----------------------------------------------------------------------------------
def synthetic(w: float, g: float, l: float, parts: int = 4, steps: int = 12) -> Trace:  # noqa: E741
    """A trace whose supersteps cost exactly w, g and l."""
    rng = np.random.default_rng(5)
    t = Trace("made up")
    for step in range(1, steps + 1):
        edges, nbytes = rng.integers(1, 10**6, parts), rng.integers(1, 10**5, parts) * (parts > 1)
        seconds = w * edges.max() + g * nbytes.max() + l
        for part in range(parts):
            t.records.append(Record(
                step, part, "cpu", "mxv", edges=int(edges[part]), sent=int(nbytes[part]) // 8, vertices=1000,
                stored=16000, sent_bytes=int(nbytes[part]), received=7 if parts > 1 else 0, compute=w * edges[part],
                exchange=g * nbytes.max(), wait=l + w * (edges.max() - edges[part]), seconds=seconds))  # fmt: skip
    return t


def test_the_fit_finds_the_costs():
    found = synthetic(2e-9, 5e-9, 3e-5).fit()
    assert (found.w, found.g, found.l) == pytest.approx((2e-9, 5e-9, 3e-5), rel=1e-6)
    assert found.error < 1e-6 and found.note == ""
    assert found.S == 12 and found.C == 12 * 7
    t = synthetic(2e-9, 5e-9, 3e-5)
    assert max(sum(one.edges for one in t.records if one.part == part) for part in range(4)) == found.W
    text = str(found).splitlines()
    assert text[0].split("  ")[0] == "" and "Communication volume H" in text[0]
    assert text[1].startswith("made up") and f"{found.W:,} = {found.W / 16000:.2f} |E_i|" in text[1]
    assert text[2].startswith("time = W * 2 ns/edge + H * 5 ns/byte + S * 30.0 us/superstep; measured")


def test_what_both_take_besides_is_the_supersteps():
    t = synthetic(2e-9, 5e-9, 3e-5)
    t.records[:] = [one._replace(compute=one.compute + 1e-5, exchange=one.exchange + 2e-5, seconds=one.seconds + 3e-5)
                    for one in t.records]  # fmt: skip
    found = t.fit()
    assert (found.w, found.g, found.l) == pytest.approx((2e-9, 5e-9, 6e-5), rel=1e-6)
    assert found.error < 1e-6


def test_costs_are_not_negative():
    t = synthetic(2e-9, 5e-9, 3e-5)
    t.records[:] = [one._replace(exchange=1e-4 - 1e-10 * one.sent_bytes) for one in t.records]  # less for more bytes
    found = t.fit()
    assert found.g == 0
    assert min(found.w, found.l, found.error) > 0


def test_one_device_sends_nothing():
    found = synthetic(2e-9, 5e-9, 3e-5, parts=1).fit()
    assert (found.w, found.l) == pytest.approx((2e-9, 3e-5), rel=1e-6)
    assert math.isnan(found.g)
    assert found.note == "nothing was sent: g is unknown"


def test_too_little_data():
    few = synthetic(2e-9, 5e-9, 3e-5, steps=2).fit()
    assert few.note == ("too little data to tell W from S (2 supersteps); "
                        "too little data to tell H from S (2 supersteps)")  # fmt: skip
    assert (few.w, few.g) == pytest.approx((2e-9, 5e-9))  # all computing is W's
    t = synthetic(2e-9, 5e-9, 3e-5)
    alike = [one for one in t.records if one.superstep == 1]
    t.records[:] = [one._replace(superstep=number) for number in range(1, 9) for one in alike]
    found = t.fit()
    assert found.note.startswith("too little data to tell W from S (8 supersteps, all alike); ")
    assert found.w == pytest.approx(2e-9)
    assert sg.trace().fit().S == 0


def test_predict():
    w, g, l = 2e-9, 5e-9, 3e-5  # noqa: E741
    t = synthetic(w, g, l)
    same = t.predict(4)
    assert same.seconds == pytest.approx(t.seconds) and same.speedup == pytest.approx(1)
    W = sum(max(one.edges for one in t.records if one.superstep == step) for step in range(1, 13))
    H = sum(max(one.sent_bytes for one in t.records if one.superstep == step) for step in range(1, 13))

    def share(P: int) -> float:
        return (P - 1) / P * (1 - (1 - 1 / P) ** 16)

    found = t.predict(64)
    assert (found.compute, found.exchange, found.latency) == pytest.approx(
        (w * W * 4 / 64, g * H * share(64) / share(4), 12 * l))
    assert found.seconds == pytest.approx(found.compute + found.exchange + found.latency)
    given = t.predict(64, bandwidth=1e9, latency=1e-6, rate=1e10)
    assert (given.compute, given.exchange, given.latency) == pytest.approx(
        (W * 4 / 64 / 1e10, H * share(64) / share(4) / 1e9, 12e-6))
    assert t.predict(1).exchange == 0
    assert str(found).startswith("64 devices: ") and "(4 traced: " in str(found)
    assert str(t.predict(1)).startswith("1 device: ") and "exchange" not in str(t.predict(1))


def test_what_cannot_be_predicted():
    for wrong in ({"devices": 0}, {"devices": 2, "bandwidth": -1.0}, {"devices": 2, "rate": 0.0}):
        with pytest.raises(exceptions.InvalidValue, match=rf"^predict: {list(wrong)[-1]} is "):
            synthetic(1e-9, 1e-9, 1e-5).predict(**wrong)
    with pytest.raises(exceptions.InvalidValue, match="predict: latency is -1"):
        synthetic(1e-9, 1e-9, 1e-5).predict(2, latency=-1)
    with pytest.raises(exceptions.InvalidValue, match="predict: one device was traced, which sends nothing"):
        synthetic(1e-9, 0.0, 1e-5, parts=1).predict(2)
    assert synthetic(1e-9, 0.0, 1e-5, parts=1).predict(1, latency=0.0).seconds > 0
    with pytest.raises(exceptions.InvalidValue, match="predict: no superstep was traced"):
        sg.trace().predict(2)
    for wrong in (1.5, True, "4", None):
        with pytest.raises(TypeError, match=rf"^predict: devices is {wrong!r}, but an integer was wanted$"):
            synthetic(1e-9, 1e-9, 1e-5).predict(wrong)
    for name, wanted in (("bandwidth", "more than 0"), ("rate", "more than 0"), ("latency", "seconds, 0 or more")):
        with pytest.raises(exceptions.InvalidValue, match=rf"^predict: {name} is '1', wanted {wanted}$"):
            synthetic(1e-9, 1e-9, 1e-5).predict(2, **{name: "1"})
    assert synthetic(1e-9, 1e-9, 1e-5).predict(np.int64(2)).devices == 2


# ---- views -------------------------------------------------------------------------------------------
def test_table():
    t, _, _ = traced_bfs(3, "path")
    lines = str(t.table()).splitlines()
    assert lines[0].split()[:6] == ["step", "operation", "direction", "frontier", "edges", "W"]
    assert lines[0].split()[-4:] == ["compute", "exchange", "wait", "time"]
    assert len(lines) == 1 + 9 + 1 + 1 and lines[-1].startswith("Parts take turns on one device")
    assert lines[-2].split()[:3] == ["sum", "9", str(sum(sums(t, "edges")))]
    assert repr(t.table()) == str(t.table())
    assert len(str(t.table(parts=True)).splitlines()) == 1 + 27 + 1 + 1
    short = str(t.table(rows=4)).splitlines()
    assert short[3].split() == ["...", "5", "more"] and len(short) == 1 + 5 + 1 + 1
    html = t._repr_html_()
    assert html.count("<tr>") == 11 and html.count("<td") == 10 * 12 and "<th" in html
    assert repr(t).startswith("<trace of bfs: 9 supersteps on 3 parts (")
    one, _, _ = traced_bfs(1, "path")
    assert "take turns" not in str(one.table())
    assert "take turns" not in str(sg.trace().table())


def test_how_many_rows_a_table_has():
    t, _, _ = traced_bfs(1, "path")
    for rows in (1, 2, 3, 8):
        lines = str(t.table(rows=rows)).splitlines()
        assert len(lines) == 1 + rows + 1 + 1
        assert lines[1 + (rows + 1) // 2].split() == ["...", str(9 - rows), "more"]
    assert len(str(t.table(rows=9)).splitlines()) == len(str(t.table(rows=None)).splitlines()) == 1 + 9 + 1
    for wrong in (0, -1):
        with pytest.raises(exceptions.InvalidValue, match=f"^table: rows is {wrong}, but 1 or more was wanted$"):
            t.table(rows=wrong)
    with pytest.raises(TypeError, match=r"^table: rows is 'all', but an integer was wanted$"):
        t.table(rows="all")


def test_pandas():
    pd = pytest.importorskip("pandas")
    t, _, _ = traced_bfs(3, "rmat")
    frame = t.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == Record._fields
    assert len(frame) == len(t.records)
    assert frame.groupby("superstep")["edges"].sum().tolist()[: t.supersteps] == sums(t, "edges")
    assert frame["seconds"].dtype == float


@pytest.mark.cpu("what a step costs there decides in which directions it goes")
def test_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    t, _, _ = traced_bfs(3, "large")
    figure = t.plot()
    assert [place.get_xlabel() for place in figure.axes] == ["superstep", "to part", "superstep"]
    assert figure.axes[0].get_title() == "bfs"
    sizes, matrix, times = figure.axes
    assert sizes.lines[0].get_ydata().tolist() == sums(t, "frontier")
    assert {line.get_label() for line in sizes.lines[1:]} == {"push", "pull"}
    assert len(matrix.texts) == 6
    heights = np.array([bar.get_height() for bar in times.patches]).reshape(3, -1).sum(axis=0)
    assert heights == pytest.approx([1e3 * s for s in sorted_seconds(t)], rel=1e-6)
    given, axes = plt.subplots(1, 3)
    assert t.plot(axes) is given
    assert t.plot(list(axes)) is given
    for wrong in (axes[:2], axes[0], [*axes, *axes], [1, 2, 3], "abc"):
        with pytest.raises(exceptions.InvalidValue, match=r"(?s)^plot: axes is .*, wanted three of matplotlib's axes$"):
            t.plot(wrong)
    many, _, _ = traced_bfs(9, "rmat")
    assert len(many.plot().axes) == 4  # a bar of colours instead of numbers
    empty = sg.trace().plot()
    assert empty.axes[1].get_title() == "sent: 0 B"
    for one in (figure, given, empty):
        plt.close(one)
    plt.close("all")


def sorted_seconds(t: Trace) -> list[float]:
    return list({one.superstep: one.seconds for one in t.records if one.operation}.values())


@pytest.mark.parametrize(("module", "call"), [("matplotlib.pyplot", "plot"), ("pandas", "to_pandas")])
def test_without_it(monkeypatch: pytest.MonkeyPatch, module: str, call: str):
    name = module.partition(".")[0]
    for one in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, one)
    real = builtins.__import__

    def missing(wanted: str, *more: Any) -> Any:
        if wanted.partition(".")[0] == name:
            raise ImportError(wanted)
        return real(wanted, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=rf"^{call} needs {name}: pip install {name}$"):
        getattr(sg.trace(), call)()


@pytest.mark.parametrize("count", [1, 3])
def test_chrome(count: int, tmp_path: Path):
    t, _, _ = traced_bfs(count, "rmat")
    t.save_chrome(tmp_path / "t.json")
    found = json.loads((tmp_path / "t.json").read_text())
    events = found["traceEvents"]
    assert found["displayTimeUnit"] == "ms"
    assert {one["ph"] for one in events} == {"M", "X", "C"}
    named = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert named[count] == "supersteps" and all(named[part].startswith(f"part {part} (") for part in range(count))
    spans = [one for one in events if one["ph"] == "X"]
    assert {one["tid"] for one in spans} <= set(named)
    assert all(one["dur"] >= 0 and one["ts"] >= 0 for one in spans)
    steps = [one for one in spans if one["cat"] == "superstep" and "mxv" in one["name"]]
    assert [one["args"]["edges"] for one in steps] == sums(t, "edges")
    for before, after in itertools.pairwise(steps):
        assert before["ts"] + before["dur"] <= after["ts"] + 1e-3
    assert sum(one["dur"] for one in spans if one["cat"] == "compute") == pytest.approx(
        1e6 * sum(one.compute for one in t.records))
    frontiers = [one["args"]["frontier"] for one in events if one["name"] == "frontier"]
    assert frontiers[: t.supersteps] == sums(t, "frontier")


# ---- the command ---------------------------------------------------------------------------------------
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture):
    file = tmp_path / "t.json"
    command = ["run", "bfs", "path:6", "--source", "0", "--repeat", "0"]
    assert main([*command, "--device", "cpu:2", "--trace", str(file)]) == 0
    said = capsys.readouterr().out
    assert "Communication volume H" in said and f"the trace to {file}" in said
    assert json.loads(file.read_text())["traceEvents"]
    assert main([*command, "--device", "cpu", "--json", "--trace"]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert [one["frontier"] for one in facts["trace"]["supersteps"]][:6] == [1] * 6
    assert facts["trace"]["fit"]["S"] == 6 and facts["trace"]["fit"]["g"] is None
    assert main(["run", "bfs", "path:6", "--trace", str(tmp_path / "no" / "t.json")]) == 2
    assert "--trace" in capsys.readouterr().err


# ---- on a GPU --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_on_a_gpu(cuda: Any, count: int, direction: str):
    with sg.Context(cuda if count == 1 else group_of(tuple(spread(cuda, count))), direction=direction):
        A, plain = graph("rmat")
        for _ in range(2):  # the second one runs steps that the matrix keeps
            with sg.trace() as t:
                sg.algorithms.bfs(A, source_of(plain))
            ways = list({one.superstep: one.direction for one in t.records if one.operation}.values())
            assert sums(t, "edges") == looked_at(A, plain, ways)
            assert sums(t, "frontier") == [frontier.size for frontier in levels(plain, source_of(plain))]
            assert {one.device for one in t.records} == {one.name for one in spread(cuda, count)}
            assert all(type(one.edges) is int for one in t.records)
            assert sum(one.compute for one in t.records) > 0


def test_one_device_of_several():
    """What is done on one device of a group counts for the first part there."""
    recorder = Recorder()
    assert recorder._alone(HOST) == 0
    first, second = SimpleNamespace(name="first"), SimpleNamespace(name="second")
    recorder.group = SimpleNamespace(devices=[first, second, second])
    assert [recorder._alone(device) for device in (first, second, HOST)] == [0, 1, 0]


def test_nvtx(cuda: Any, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    nvtx = SimpleNamespace(RangePush=said.append, RangePop=lambda: said.append("pop"))
    if not hasattr(cuda.xp, "cuda"):
        monkeypatch.setattr(cuda.xp, "cuda", SimpleNamespace(), raising=False)
    monkeypatch.setattr(cuda.xp.cuda, "nvtx", nvtx, raising=False)
    with sg.Context(cuda):
        A, _ = graph("path")
        v = sg.Vector.from_coo([0], [1.0], size=A.nrows)
        with sg.trace(nvtx=True):
            v << v.vxm(A, semiring.plus_times)
            v << v.apply(sg.unary.sqrt)
        assert said == ["mxv", "pop", "vector_chain", "pop"]
        with sg.trace():
            v << v.vxm(A, semiring.plus_times)
    with sg.Context("cpu"), sg.trace(nvtx=True):
        sg.Vector.from_coo([0], [1.0], size=3)
    assert len(said) == 4


# ---- processes ---------------------------------------------------------------------------------------------
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
TEXT = """
import json, sys, spgraph as sg
A = sg.generators.rmat(7, seed=1)
with sg.trace("bfs") as t:
    sg.algorithms.bfs(A, 1)
t.table(), t.fit(), t.to_pandas()
with sg.trace("bc") as alone:  # each process has searches of its own
    sg.algorithms.betweenness_centrality(A)
rank = A._device.mine[0]
with open(sys.argv[1] + f"/{rank}.json", "w") as file:
    json.dump({"parts": [r.part for r in alone.records if r.edges], "records": t.records,
               "bytes": t.bytes.tolist(), "note": str(t.table()), "spans": t.spans}, file)
"""


@pytest.mark.cpu("each process has the CPU")
@pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not there (pip install mpi4py mpich)")
@pytest.mark.parametrize("count", [2, 3])
def test_ranks(count: int, tmp_path: Path):
    """Each has the records of all afterwards, and they count what parts of one process count."""
    env = {name: value for name, value in os.environ.items() if name != sg.context.VARIABLE}
    command = [str(MPIEXEC), "-n", str(count), sys.executable, "-c", TEXT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stderr
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(count)]
    with sg.Context(f"cpu:{count}"):
        A, _ = graph("rmat")
        with sg.trace("bfs") as t:
            sg.algorithms.bfs(A, 1)
    counts = slice(5, 14)
    for one in found:
        got = [Record(*record) for record in one["records"]]
        assert [record[:2] for record in got] == [record[:2] for record in t.records]
        assert [record[counts] for record in got] == [record[counts] for record in t.records]
        assert one["bytes"] == t.bytes.tolist()
        assert "take turns" not in one["note"]
        assert {span[1] for span in one["spans"]} == set(range(count))
        assert set(one["parts"]) == set(range(count))
    assert [record[:17] for record in found[0]["records"]] == [record[:17] for record in found[1]["records"]]


def test_records_travel():
    t, _, _ = traced_bfs(2, "path")
    assert pickle.loads(pickle.dumps(t.records)) == t.records


# ---- what the exchange promises ----------------------------------------------------------------------------
@pytest.mark.parametrize("partition", ["contiguous_edges", "random"])
@pytest.mark.parametrize("name", ["grid", "large", "directed"])
def test_auto_moves_no_more_than_either(name: str, partition: str):
    moved = {}
    iterations = {"max_iter": 10, "tol": 0, "fail_on_nonconvergence": False}  # as many whatever the last bits are
    for exchange in ("auto", "selective", "broadcast"):
        for algorithm in ("bfs", "pagerank"):
            with on(3, exchange=exchange, partition=partition):
                A, plain = graph(name)
                with sg.trace() as t:
                    if algorithm == "bfs":
                        sg.algorithms.bfs(A, source_of(plain))
                    else:
                        sg.algorithms.pagerank(A, **iterations)
            # between GPUs that see each other a push gets a list, though bits may have fewer bytes
            direct = A._device.transport.direct
            moved[exchange, algorithm] = sum(one.values for one in t.messages) if direct else t.bytes.sum()
    for algorithm in ("bfs", "pagerank"):
        assert moved["auto", algorithm] <= min(moved["selective", algorithm], moved["broadcast", algorithm])


@pytest.mark.parametrize("count", [2, 4])
def test_a_pulled_frontier_is_bits(count: int):
    """A superstep of BFS that pulls sends no more than a bit for each vertex of the owner, to each part."""
    for exchange in ("auto", "broadcast"):
        t, _, A = traced_bfs(count, "large", direction="pull", exchange=exchange, partition="random")
        owned = np.bincount(owners(A), minlength=count)
        assert len(t.messages) > 0
        for one in t.messages:
            assert one.nbytes <= -(-owned[one.source] // 8)
