"""Vectors of positions on GPUs that see each other: all of a vector stored on each, terms combined where values lie.

Runs on the GPUs that there are, else on the emulated one, which stands for several.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from devices import gpus, spread

import spgraph as sg
from spgraph import _record, binary, monoid
from spgraph.exchange import Group, InProcess, far, group_of, whole
from spgraph.partition.layout import Layout

DTYPES = [np.int32, np.int64, np.float32, np.float64]


@pytest.fixture(params=[2, 3])
def group(request: pytest.FixtureRequest, cuda: Any, monkeypatch: pytest.MonkeyPatch) -> Group:
    if gpus(cuda) < 2:
        monkeypatch.setattr(InProcess, "linked", True)
    return group_of(tuple(spread(cuda, request.param)))


def laid(group: Group, array: np.ndarray, layout: str) -> sg.Vector:
    """A full vector on the group, in natural order or a mixed one."""
    n = array.size
    with sg.Context("cpu"):
        v = sg.Vector.from_dense(array)
    there = v.to(group)
    if layout == "mixed":
        rng = np.random.default_rng(n)
        starts = np.concatenate([[0], np.sort(rng.integers(0, n + 1, group.parts - 1)), [n]])
        there._block.rehome(group.layout(starts, rng.permutation(n), "mixed"))
    return there


def used(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    """Notes each call of a function."""
    calls: list[str] = []
    usual = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args: calls.append(name) or usual(*args))
    return calls


@pytest.mark.parametrize("layout", ["even", "mixed"])
@pytest.mark.parametrize("size", [1, 2, 700])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [binary.min, binary.max, binary.plus])
def test_terms_are_combined_where_values_lie(group: Group, op: Any, dtype: type, size: int, layout: str, monkeypatch):
    from spgraph.engine.parts import pointers

    rng = np.random.default_rng(size)
    base, terms = (rng.integers(-50, 50, size).astype(dtype) for _ in range(2))
    named = rng.integers(0, max(size // 3, 1), size)  # by many, and the first one by most
    named[rng.random(size) < 0.4] = 0
    ids = np.flatnonzero(rng.random(size) < 0.6)
    calls = used(monkeypatch, pointers, "combine_far")
    with sg.Context("cpu"):
        full = sg.Vector.from_dense(terms), sg.Vector.from_dense(named)
        some = (sg.Vector.from_coo(ids, terms[ids], size=size, dtype=dtype),
                sg.Vector.from_coo(ids, named[ids], size=size, dtype=np.int64))
        one_value = sg.Vector.from_coo(ids, dtype(3), size=size, dtype=dtype)
        v = sg.Vector.from_dense(base)
    for x, p in ((full[0], full[1]), (some[0], full[1]), (full[0], some[1]), (one_value, full[1])):
        wanted, found = v.dup(), laid(group, base, layout)
        wanted(op)[p] << x
        found(op)[p.to(group)] << x.to(group)
        assert found.to("cpu").isequal(wanted, check_dtype=True)
    assert len(calls) == (4 if ids.size else 2)  # without terms there is nothing to do


@pytest.mark.parametrize("layout", ["even", "mixed"])
def test_a_vector_combined_into_itself(group: Group, layout: str):
    rng = np.random.default_rng(3)
    root = np.array([rng.integers(0, i + 1) for i in range(300)])
    with sg.Context("cpu"):
        wanted = sg.Vector.from_dense(root)
    found = laid(group, root, layout)
    for v in (wanted, found):
        v(binary.min)[v] << v
    assert found.to("cpu").isequal(wanted)


def test_what_atomics_do_not_do_goes_another_way(group: Group, monkeypatch):
    """Small types, results of another type, targets with gaps."""
    from spgraph.engine.parts import pointers

    calls = used(monkeypatch, pointers, "combine_far")
    p, terms = np.array([3, 1, 3, 0]), np.array([5, 6, 7, 1])
    for start in (np.zeros(4, np.int8), np.zeros(4, np.int16), np.zeros(4, np.float64)):
        with sg.Context("cpu"):
            v, x = sg.Vector.from_dense(start), sg.Vector.from_dense(terms.astype(np.int32))
            gaps = sg.Vector.from_coo([3], [2], size=4, dtype=np.int32)
        for target in (v, gaps):
            found = target.to(group)
            target(monoid.max)[sg.Vector.from_dense(p).to("cpu")] << x
            found(monoid.max)[sg.Vector.from_dense(p).to(group)] << x.to(group)
            assert found.to("cpu").isequal(target, check_dtype=True)
    assert calls == []


@pytest.mark.parametrize("layout", ["even", "mixed"])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_all_of_a_vector_on_each(group: Group, share: float, layout: str):
    rng = np.random.default_rng(5)
    n = 1000
    ids, values = np.flatnonzero(rng.random(n) < share), rng.random(n)
    found = laid(group, values, layout)
    v = sg.Vector.from_coo(ids, values[ids], size=n, dtype=float).to(group)._block.rehome(found._block.layout)
    with group.devices[0]:
        for _ in range(3):  # two rooms in turn
            for device, block in zip(group.devices, whole.everywhere(v)):
                assert block.device is device
                with device:
                    at, got = map(device.to_host, block.coo())
                order = np.argsort(at)
                assert np.array_equal(at[order], ids)
                assert np.array_equal(got[order], values[ids])
    assert isinstance(v.layout, Layout)


@pytest.mark.parametrize("partition", ["contiguous", "random"])
@pytest.mark.parametrize("graph", ["rmat:9", "grid:20", "star:50", "path:90"])
def test_components(group: Group, graph: str, partition: str, monkeypatch):
    from spgraph._graphspec import load
    from spgraph.engine.parts import pointers

    calls = used(monkeypatch, pointers, "combine_far")
    with sg.Context("cpu"):
        A = load(graph)
        wanted = sg.algorithms.connected_components(A)
    with sg.Context(partition=partition):
        several = A.to(group)
    for _ in range(2):
        assert sg.algorithms.connected_components(several).to("cpu").isequal(wanted)
    assert calls


def test_terms_that_leave_are_told(group: Group):
    moved: list[tuple] = []

    class Told:
        def moved(self, *args: Any) -> None:
            moved.append(args)

        def aside(self, function: Any) -> None:
            function()

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **more: None

    v, p = laid(group, np.zeros(12, np.int64), "even"), laid(group, np.full(12, 11), "even")
    x = laid(group, np.arange(12), "even")
    before, _record.listener = _record.listener, Told()
    try:
        with group.devices[0]:
            far.combine_far(v._block, monoid.max[np.int64].binaryop, p._block, x._block)
    finally:
        _record.listener = before
    last, own = group.parts - 1, 12 // group.parts
    assert moved == [("reduce", part, last, own, 8 * own, "list") for part in range(last)]
    assert v.to("cpu").to_dense().tolist() == [0] * 11 + [11]


@pytest.mark.parametrize("starts", [[0, 1, 2, 2], [0, 0, 1, 2], [0, 0, 0, 2], [0, 2, 2, 2], [0, 1, 1, 2]])
def test_gaps_and_parts_without_vertices(cuda: Any, starts: list[int], monkeypatch):
    if gpus(cuda) < 2:
        monkeypatch.setattr(InProcess, "linked", True)
    group = group_of(tuple(spread(cuda, 3)))
    layout = group.layout(np.array(starts), None, "mixed")
    for ids in ([0], [1], [0, 1]):
        with sg.Context("cpu"):
            u, p = sg.Vector.from_coo(ids, [7] * len(ids), size=2), sg.Vector.from_dense(np.array([1, 1]))
        there = u.to(group)
        there._block.rehome(layout)
        assert there[p.to(group)].new().to("cpu").isequal(u[p].new())


def test_threads_have_rooms_of_their_own(group: Group):
    n, wrong = 3000, []

    def work(value: int) -> None:
        with sg.Context(group):
            v = sg.Vector.from_dense(np.full(n, value))
            v << v.apply(binary.plus, right=0)
            p = sg.Vector.from_dense(np.arange(n)[::-1].copy())
            wrong.extend(value for _ in range(40) if not (v[p].new().to_dense() == value).all())

    threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []



def test_a_stream_for_messages_is_that_of_one_thread(emulated: Any, monkeypatch: pytest.MonkeyPatch):
    """Kernels go to it within `messages`, after what was started before; what another thread starts does not."""
    done: list[str] = []
    now = threading.local()

    class Stream:
        def __init__(self, name: str):
            self.ptr = name

        def wait_event(self, event: Any) -> None:
            done.append(f"{self.ptr} waits for {event.name}")

        def __enter__(self) -> None:
            now.stream = self

        def __exit__(self, *_error: Any) -> None:
            del now.stream

    class Event:
        def __init__(self, name: str):
            self.name = name

        def record(self, stream: Stream) -> None:
            done.append(f"{self.name} on {stream.ptr}")

    usual, beside = Stream("usual"), (Stream("messages"), Event("sent"))
    monkeypatch.setattr(emulated, "_stream", lambda: getattr(now, "stream", usual), raising=False)
    monkeypatch.setitem(emulated.__dict__, "_event", Event("begun"))
    monkeypatch.setitem(emulated.__dict__, "_beside", beside)
    with emulated.messages():
        done.append(emulated._stream().ptr)
        other = threading.Thread(target=emulated.mark)
        other.start()
        other.join()
    emulated.follow_messages([emulated])
    assert done == ["begun on usual", "messages waits for begun", "messages", "begun on usual", "sent on messages",
                    "usual waits for sent"]
