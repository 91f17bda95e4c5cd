"""Objects in parts on several devices: whatever the partition and the number of parts, the answers of one device.

``pytest --devices 2,3,7`` runs any other test so; the tests here are about what only parts have.
"""

from __future__ import annotations

import inspect
import itertools
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices import gpus, in_parts
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from spgraph import _record, binary, engine, exceptions, monoid, semiring
from spgraph.engine import dispatch
from spgraph.exchange import Group, InProcess, direct
from spgraph.exchange.border import Border, border_of
from spgraph.exchange.payload import decode, encode, form, values_in
from spgraph.exchange.route import route
from spgraph.exchange.take import take
from spgraph.kernels.device import HOST, Device
from spgraph.kernels.memory import Memory
from spgraph.partition.layout import Layout

COUNTS = (2, 3, 7)
PARTITIONS = ("contiguous", "contiguous_edges", "random", "random_edges", "biased_random", "metis")


def graphs() -> dict[str, Any]:
    with sg.Context("cpu"):
        return {
            "empty": sg.Matrix(float, 5, 5),
            "nothing": sg.Matrix(float, 0, 0),
            "vertex": sg.Matrix.from_coo([0], [0], [1.0], nrows=1, ncols=1),
            "path": sg.generators.path(9),
            "star": sg.generators.star(8),
            "rmat": sg.generators.rmat(7, seed=1, weights="int"),
            "grid": sg.generators.grid(7, seed=2, weights="int"),
            "directed": sg.generators.rmat(6, seed=3, weights="int", symmetrize=False),
        }


GRAPHS = graphs()


def dealt(name: str, partition: Any, count: int) -> tuple[Any, Any]:
    """A graph on one device, and in parts."""
    A = GRAPHS[name]
    with sg.Context(partition=partition):
        several = A.to(in_parts(count))
        return A.to(several._device.devices[0]), several


ALGORITHMS = {
    "bfs": lambda A: sg.algorithms.bfs(A, 0),
    "sssp": lambda A: sg.algorithms.sssp(A, 0),
    "components": sg.algorithms.connected_components,
    "core": lambda A: sg.algorithms.core_number(A, symmetrize=True),
    "triangles": lambda A: sg.algorithms.triangles(A, symmetrize=True),
    "pagerank": lambda A: sg.algorithms.pagerank(A),
    "betweenness": lambda A: sg.algorithms.betweenness_centrality(A),
    "betweenness by vectors": lambda A: sg.algorithms.betweenness_centrality(A, batch=1),
}
ROUNDED = {"pagerank", "betweenness", "betweenness by vectors"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "nothing"])
@pytest.mark.parametrize("count", COUNTS)
def test_algorithms(name: str, count: int, algorithm: str):
    for partition in ("contiguous_edges", "random"):
        one, several = dealt(name, partition, count)
        wanted, got = ALGORITHMS[algorithm](one), ALGORITHMS[algorithm](several)
        assert got.device == several.device != one.device
        assert got.dtype is wanted.dtype
        ids, values = got.to_coo()
        wanted_ids, wanted_values = wanted.to_coo()
        assert np.array_equal(ids, wanted_ids)
        if algorithm in ROUNDED:
            np.testing.assert_allclose(values, wanted_values, rtol=1e-9, atol=1e-12)
        else:
            assert np.array_equal(values, wanted_values)


def test_the_order_by_degree_goes_with_a_matrix():
    """From one device to parts, to other parts, and back; a part has its vertices by falling degree."""
    A = sg.generators.rmat(7, 4, seed=3).to("cpu").reorder("degree")
    there = A.to("cpu:3")
    again, back = there.to("cpu:2"), there.to("cpu")
    assert [one.order for one in (there, again, back)] == ["degree"] * 3
    wanted = A.to("cpu").dup().reorder("natural")
    for one in (there, again, back):
        assert one.to("cpu").isequal(wanted)
        layout = one._block.rows
        degree = wanted.reduce_rowwise("count").new().to_dense(fill_value=0)
        starts = getattr(layout, "starts", [0, A.nrows])
        ids = layout.ids(np.arange(A.nrows)) if one is not back else layout.globals_of(np.arange(A.nrows))
        for begin, end in itertools.pairwise(starts):
            assert (np.diff(degree[ids[begin:end]]) <= 0).all()
    assert wanted.to("cpu:3").order == "contiguous_edges"
    assert wanted.to("cpu:3").to("cpu").order == "natural"


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("direction", ["auto", "push", "pull", "gap", "lagraph", "gunrock"])
def test_partitions_and_directions(partition: str, direction: str):
    for name in ("rmat", "directed"):
        one, several = dealt(name, partition, 3)
        assert several.order == partition
        with sg.Context(direction=direction):
            for algorithm in ("bfs", "sssp", "components"):
                assert ALGORITHMS[algorithm](several).to("cpu").isequal(ALGORITHMS[algorithm](one).to("cpu"))
            parents = sg.algorithms.bfs_parents(several, 0)
            sg.validate.validate_bfs(one.to("cpu"), 0, parents.to("cpu"))


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("exchange", ["auto", "selective", "broadcast"])
def test_duplication_and_exchange(exchange: str, duplicate: str, partition: str):
    for name, direction in (("grid", "auto"), ("rmat", "push"), ("directed", "pull"), ("directed", "auto")):
        one, several = dealt(name, partition, 3)
        with sg.Context(direction=direction, duplicate=duplicate, exchange=exchange):
            for algorithm in ("bfs", "sssp", "components"):
                assert ALGORITHMS[algorithm](several).to("cpu").isequal(ALGORITHMS[algorithm](one).to("cpu"))
            assert sg.algorithms.pagerank(several).to("cpu").isclose(sg.algorithms.pagerank(one).to("cpu"))
        if (exchange, duplicate) != ("auto", "1-hop") or several.device != "cpu:3":  # or there are no messages
            assert duplicate in several._block.border or duplicate in several._block.oriented(True).border


def test_what_a_context_says_of_parts_holds_inside_others():
    said = {"duplicate": "all", "exchange": "broadcast", "tiles": "never"}
    with sg.Context("cpu:2", **said), sg.Context(direction="push") as inner:
        assert {name: sg.context.in_force(name) for name in said} == said
        assert inner.device.duplicate() == "all"
    assert "duplicate='all', exchange='broadcast', tiles='never'" in repr(sg.Context("cpu:2", **said))
    for wrong in ({"duplicate": "2-hop"}, {"exchange": "all"}, {"tiles": False}):
        with pytest.raises(exceptions.InvalidValue, match=f"{next(iter(wrong))} is .*, wanted one of"):
            sg.Context(**wrong)


@pytest.mark.parametrize("order", ["natural", "degree"])
def test_order_within_the_parts(order: str):
    one, several = dealt("rmat", "random", 3)
    before = several.to_coo()
    several.reorder(order)
    assert all(map(np.array_equal, several.to_coo(), before))
    layout = several._block.rows
    degree = np.bincount(one.to_coo()[0], minlength=one.nrows)
    for first, last in itertools.pairwise(layout.starts):
        ids = layout.ids(np.arange(first, last))
        assert (np.diff(ids if order == "natural" else -degree[ids]) >= 0).all()
    assert ALGORITHMS["sssp"](several).to("cpu").isequal(ALGORITHMS["sssp"](one).to("cpu"))


def test_an_own_partition():
    n = GRAPHS["rmat"].nrows
    owner = np.arange(n) % 3
    _, several = dealt("rmat", owner, 3)
    assert [piece.nrows for piece in several._block.pieces] == np.bincount(owner).tolist()
    with pytest.raises(exceptions.IndexOutOfBound, match="partition: the array has 3 for vertex 2"):
        dealt("rmat", owner + 1, 3)
    with pytest.raises(exceptions.InvalidValue, match="partition is 'best', wanted one of"):
        sg.Context(partition="best")


def test_operands_of_other_layouts_are_aligned():
    one, random = dealt("rmat", "random", 3)
    with sg.Context(partition="contiguous"):
        other = GRAPHS["rmat"].to(random._device)
    assert random._block.rows is not other._block.rows
    both = random.ewise_add(other, binary.plus).new().to("cpu")
    assert both.isequal(one.ewise_add(one, binary.plus).new().to("cpu"))
    u = sg.Vector.from_coo([1, 5], [2.0, 3.0], size=one.nrows).to(random._device)
    u << u.vxm(random, semiring.plus_times)
    u << u.vxm(other, semiring.plus_times)
    v = sg.Vector.from_coo([1, 5], [2.0, 3.0], size=one.nrows).to(one._device)
    v << v.vxm(one, semiring.plus_times)
    v << v.vxm(one, semiring.plus_times)
    assert u.to("cpu").isclose(v.to("cpu"))


NAMESAKES = [name for name in engine.__all__ if hasattr(getattr(engine, name), "__wrapped__")]


@pytest.mark.parametrize("name", NAMESAKES)
def test_every_operation_has_a_namesake_on_parts(name: str):
    one = getattr(engine, name).__wrapped__
    both = [one, *(dispatch._of_parts(name, near) for near in (False, True))]
    kinds = [[(p.kind, p.default is p.empty) for p in inspect.signature(f).parameters.values()] for f in both]
    if name.startswith("build_"):  # which device is said there
        kinds = [one[:-1] for one in kinds]
    assert kinds[0] == kinds[1] == kinds[2]


@pytest.mark.parametrize("kept_as", ["list", "bitmap"])
@pytest.mark.parametrize("listed", [True, False])
@given(data=st.data())
def test_payload_is_what_was_sent(listed: bool, kept_as: str, data):
    device = in_parts(2).devices[0]
    size = data.draw(st.integers(1, 300))
    share = data.draw(st.sampled_from([0.0, 0.01, 0.3, 1.0]))
    there = np.random.default_rng(data.draw(st.integers(0, 99))).random(size) < share
    ids = np.flatnonzero(there)
    piece = sg.Vector.from_coo(ids, ids * 1.5, size=size, dtype=float).to(device)._block.copy()
    (piece.to_bitmap() if kept_as == "bitmap" else piece.to_sparse().sort())
    some = st.lists(st.integers(0, size - 1), max_size=20, unique=True).map(sorted)
    local = np.array(data.draw(some | st.just(range(size))), np.int64)
    whole = data.draw(st.booleans())
    with device:
        message = encode(device, piece, None if whole else device.to_device(local), True)
        arrived = decode(device, message, size if whole else local.size, device.to_device(local), listed)
        values = device.to_host(arrived.values)
        if listed:
            places = device.to_host(arrived.places)
            assert np.array_equal(places, np.flatnonzero(there[local]))
            assert np.array_equal(values, local[places] * 1.5)
        else:
            there_now = np.ones(local.size, bool) if arrived.there is None else device.to_host(arrived.there)
            bits = there_now.astype(bool)
            assert np.array_equal(bits, there[local])
            assert np.array_equal(values[bits], local[bits] * 1.5)


@pytest.mark.parametrize("exchange", ["auto", "selective", "broadcast"])
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("listed", [True, False])
@given(data=st.data())
def test_share_gives_each_part_what_it_looks_at(listed: bool, duplicate: str, exchange: str, data):
    name = data.draw(st.sampled_from(["rmat", "grid", "star", "directed"]))
    partition, count = data.draw(st.sampled_from(["random", "contiguous"])), data.draw(st.sampled_from(COUNTS))
    several = dealt(name, partition, count)[1]
    n = several.nrows
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    ids = np.flatnonzero(random.random(n) < data.draw(st.sampled_from([0.02, 0.5, 1.0])))
    values = np.ones(ids.size) if data.draw(st.booleans()) else random.random(ids.size)
    u = sg.Vector.from_coo(ids, values, size=n, dtype=float).to(several._device)._block.rehome(several._block.cols)
    border = border_of(several._block, duplicate)
    with sg.Context(exchange=exchange), several._device.devices[0]:
        check_shared(several, border.share(u, listed), ids, values, listed, duplicate)


@pytest.mark.parametrize("owner", [0, 1, 2])
@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("exchange", ["auto", "selective", "broadcast"])
def test_parts_that_own_no_vertex(exchange: str, duplicate: str, direction: str, owner: int):
    """One part owns all, or all but a few that another one has."""
    A = GRAPHS["rmat"]
    few = np.full(A.nrows, owner)
    few[::7] = 1
    for owners in (np.full(A.nrows, owner), few):
        with sg.Context(partition=owners, exchange=exchange, duplicate=duplicate, direction=direction):
            several = A.to(in_parts(3))
            one = A.to(several._device.devices[0])
            for name in ("bfs", "sssp", "components"):
                assert ALGORITHMS[name](several).to("cpu").isequal(ALGORITHMS[name](one).to("cpu"))
            found, wanted = ALGORITHMS["pagerank"](several), ALGORITHMS["pagerank"](one)
            assert np.allclose(found.to_dense(), wanted.to_dense(), rtol=1e-9)


@pytest.mark.parametrize("exchange", ["auto", "broadcast"])
def test_long_lists_to_many_parts(exchange: str):
    n, random = 9000, np.random.default_rng(3)
    rows, cols = random.integers(0, n, (2, 40_000))
    with sg.Context("cpu", partition="random"):
        A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=binary.any).to(in_parts(11))
    ids = np.flatnonzero(random.random(n) < 0.9)
    values = random.random(ids.size)
    u = sg.Vector.from_coo(ids, values, size=n, dtype=float).to(A._device)._block.rehome(A._block.cols)
    with sg.Context(exchange=exchange), A._device.devices[0]:
        for _ in range(3):  # lists go to two rooms in turn
            check_shared(A, border_of(A._block).share(u, True), ids, values, True, "1-hop")


def test_kernels_of_lists_are_those_of_the_device(monkeypatch):
    """Another matrix needs no other kernels: what is loaded stays loaded."""
    group = in_parts(2)
    if not group.transport.direct:
        pytest.skip("wants GPUs")
    loaded: list[str] = []
    kind = type(group.devices[0])
    usual = kind.load
    monkeypatch.setattr(kind, "load", lambda device, name, *how: loaded.append(name) or usual(device, name, *how))
    for turn in range(3):
        with sg.Context(group, partition="random", direction="push"):
            sg.algorithms.bfs(sg.generators.grid(9), 0)
        if not turn:
            loaded.clear()
    assert loaded == []


def test_threads_share_lists_of_one_matrix():
    """What one thread is about to push is not what another one has shared in between."""
    group = in_parts(2)
    if not group.transport.direct:
        pytest.skip("wants GPUs")
    A = dealt("grid", "random", 2)[1]
    border = border_of(A._block)
    us = [sg.Vector.from_coo([k], [1.0 + k], size=A.nrows).to(A._device)._block.rehome(A._block.cols) for k in (0, 5)]
    with A._device.devices[0]:
        first = border.share(us[0], True)
        kept = [(ext.indices.copy(), ext.values.copy()) for ext in first]
        other = threading.Thread(target=lambda: [border.share(us[1], True) for _ in range(3)])
        other.start()
        other.join()
        for ext, (indices, values) in zip(first, kept):
            device = ext.device
            with device:
                assert np.array_equal(device.to_host(ext.indices), device.to_host(indices))
                assert np.array_equal(device.to_host(ext.values), device.to_host(values))


@pytest.mark.parametrize("exchange", ["auto", "selective"])
def test_samples_are_sent_everywhere_only_if_nobody_says_otherwise(exchange: str):
    A = dealt("grid", "random", 3)[1]
    few = A.selectk("any", 2)
    u = sg.Vector.from_dense(np.arange(A.nrows)).to(A._device)
    with sg.Context(direction="pull", exchange=exchange if exchange == "selective" else None):
        wanted = semiring.min_second(few.to(A._device.devices[0]) @ u.to(A._device.devices[0])).new()
        assert few.mxv(u, semiring.min_second).new().to(A._device.devices[0]).isequal(wanted)
    direct = A._device.transport.direct
    assert ("all" in few._block.border) is (direct and exchange == "auto")


def test_searches_on_several_gpus_copy_nothing_to_the_host():
    group = in_parts(3)
    if not group.transport.direct:
        pytest.skip("wants GPUs")
    with sg.Context(group, partition="random"):
        A = sg.generators.rmat(7, weights="int", seed=2)
        v = sg.Vector.from_dense(np.arange(A.nrows))
        calls = [lambda: sg.algorithms.bfs(A, 0), lambda: sg.algorithms.sssp(A, 0), lambda: sg.algorithms.pagerank(A),
                 lambda: v[list(range(40))].new()]  # fmt: skip
        wanted = [call() for call in calls]  # borders are made
        with sg.Context(group, host_copies=False):
            found = [call() for call in calls]
            with pytest.raises(RuntimeError, match="elements would be copied to the host"):
                v.to_dense()
        assert all(device.host_copies for device in (group, *group.devices))
        for one, other in zip(found, wanted):
            assert one.isclose(other, check_dtype=True)


def test_values_are_sent_beside_the_computation(monkeypatch):
    """Between GPUs a full vector's values go in a stream of their own, and nothing overtakes them."""
    one = in_parts(1).devices[0]
    if gpus(one) < 2:
        pytest.skip("wants two GPUs")
    n, random = 200_000, np.random.default_rng(3)
    rows, cols = random.integers(0, n, (2, 2_000_000))
    start = random.integers(0, 99, n)
    streams: list[str] = []
    usual = type(one).messages
    monkeypatch.setattr(type(one), "messages", lambda device: streams.append(device.name) or usual(device))
    found = []
    for device, least in ((one, 0), (in_parts(2), -1), (in_parts(5), -1), (in_parts(2), 1 << 30)):
        monkeypatch.setattr(direct, "BESIDE", least)
        with sg.Context(device, direction="pull"):
            A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=binary.any)
            v = sg.Vector.from_dense(start)
            for _ in range(10):
                v(binary.plus) << semiring.plus_second(A @ v)
                v << v.apply(binary.remainder, right=1_000_003)
            found.append(v.to_dense())
    assert len(streams) == 10 * (2 + 5)
    assert all(np.array_equal(one, found[0]) for one in found)


def check_shared(several, shared, ids, values, listed: bool, duplicate: str) -> None:
    """What was shared of a vector with these entries is there, and nothing else."""
    n = several.nrows
    rows, cols, _ = several.to_coo()
    owner = several._block.rows.owners(several._block.rows.positions(np.arange(n)))
    by_kernels = several._device.transport.direct and several._device.exchange() != "broadcast"
    assert not (by_kernels and listed) or all(ext.queue is not None for ext in shared if ext.nvals)
    for part, ext in enumerate(shared):
        looked_at = cols[owner[rows] == part]
        seen = np.union1d(looked_at, np.flatnonzero(owner == part))
        wanted = np.isin(ids, seen if duplicate == "1-hop" else np.arange(n))
        assert ext.nvals == 0 or (ext.format == "sparse") is listed
        if listed and by_kernels:
            wanted = np.isin(ids, looked_at)
        with ext.device as device:
            if ext.queue is not None:
                starts, sums, edges = (device.to_host(one) for one in (*ext.queue[:2], np.array(ext.queue[2])))
                at = device.to_host(ext.indices)
                lengths, order = starts[at + 1] - starts[at], np.argsort(sums[: at.size])
                assert np.array_equal(sums[order], np.cumsum(lengths[order]) - lengths[order])
                assert edges == lengths.sum()
            ext.expand().to_sparse()
            local, got = device.to_host(ext.indices), device.to_host(ext.values)
            found = device.to_host(ext.partition.globals_of(device.xp.asarray(local)))
        order = np.argsort(found)
        found, got = found[order], got[order]
        assert np.array_equal(found, ids[wanted])
        assert np.array_equal(got, values[wanted])


class TestExchange:
    @given(data=st.data())
    def test_border_against_a_count_by_hand(self, data):
        n = data.draw(st.integers(1, 12))
        pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30, unique=True))
        owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
        rows, cols = np.array(pairs, np.int64).reshape(-1, 2).T
        with sg.Context("cpu"):
            A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n)
        with sg.Context(partition=owner):
            border = Border(A.to(in_parts(3))._block)
        wanted = np.zeros((3, 3), int)
        for part, vertex in {(int(owner[i]), j) for i, j in pairs if owner[i] != owner[j]}:
            wanted[part, owner[vertex]] += 1
        assert np.array_equal(border.pairs, wanted)

    def test_borders_are_made_once(self):
        _, several = dealt("rmat", "random", 3)
        sg.algorithms.bfs(several, 0)
        first = border_of(several._block)
        sg.algorithms.pagerank(several)
        assert border_of(several._block) is first

    @pytest.mark.parametrize(("count", "wanted"), [(0, "list"), (3, "list"), (40, "bits"), (800, "dense")])
    def test_payload_is_the_smallest(self, count: int, wanted: str):
        device = HOST
        piece = sg.Vector.from_coo(np.arange(count), 1.0, size=800, dtype=float).to(device)._block
        for block in (piece.copy().to_sparse(), piece.copy().to_bitmap()):
            _, places, bits, values = message = encode(device, block, None, True)
            assert form(message) == wanted
            assert values_in(device, message, 800) == values.size == count
            sizes = {"list": 4 * count, "bits": 100, "dense": 0 if count == 800 else 801}
            assert (0 if places is None else places.nbytes) + (0 if bits is None else bits.nbytes) == sizes[wanted]
            assert sizes[wanted] == min(sizes.values())

    def test_selective_never_moves_more_than_broadcast(self, monkeypatch):
        moved: dict[str, dict] = {}
        for exchange in ("selective", "broadcast", "auto"):
            several = dealt("rmat", "random", 3)[1]
            told = moved[exchange] = {}

            class Told:
                def moved(self, verb, source, target, values, nbytes, form, told=told):
                    if verb == "share":
                        told[source, target] = told.get((source, target), 0) + nbytes

                def aside(self, function):
                    function()

                def __getattr__(self, name):
                    return lambda *args, **more: None

            with sg.Context(exchange=exchange):
                monkeypatch.setattr(_record, "listener", Told())
                sg.algorithms.bfs(several, 0)
                monkeypatch.setattr(_record, "listener", None)
        pairs = {(p, q) for p in range(3) for q in range(3) if p != q}
        assert moved["selective"].keys() == moved["broadcast"].keys() == pairs
        for pair, nbytes in moved["selective"].items():
            assert nbytes <= moved["broadcast"][pair]
            assert moved["auto"][pair] <= min(nbytes, moved["broadcast"][pair])

    @pytest.mark.parametrize("name", ["rmat", "directed"])
    def test_a_push_where_rows_by_columns_do_not_fit(self, name: str, monkeypatch):
        wanted = {algorithm: ALGORITHMS[algorithm](dealt(name, "random", 3)[0]) for algorithm in ("bfs", "sssp")}
        monkeypatch.setattr(Device, "memory", lambda self: Memory(None, 0, None, None))
        monkeypatch.setattr(type(in_parts(3).devices[0]), "memory", lambda self: Memory(None, 0, None, None))
        for direction in ("push", "auto"):
            several = dealt(name, "random", 3)[1]
            with sg.Context(direction=direction, exchange="selective"):  # or parts of the CPU would send nothing
                for algorithm, right in wanted.items():
                    assert ALGORITHMS[algorithm](several).to("cpu").isequal(right.to("cpu"))
            borders = [*several._block.border.values(), *several._block.oriented(True).border.values()]
            assert borders
            assert not any(block.has_transpose for border in borders for block in border.blocks)

    def test_route_keeps_the_order_of_equal_positions(self):
        group = in_parts(2)
        layout = Layout(group, [0, 2, 5])
        keyed = []
        for device, ids, values in zip(group.devices, ([4, 0, 4], [4]), ([1, 2, 3], [9])):
            with device:
                keyed.append((device.xp.array(ids), device.xp.array(values)))
        first, second = route(layout, keyed)
        assert [group.devices[0].to_host(array).tolist() for array in first] == [[0], [2]]
        assert [group.devices[1].to_host(array).tolist() for array in second] == [[2, 2, 2], [1, 3, 9]]

    def test_take_repeats_and_misses(self):
        v = sg.Vector.from_coo([0, 3], [5, 7], size=6).to(in_parts(3))
        wanted = v._device.dealt(
            [v._block.layout.positions(np.array(ids, np.int64)) for ids in ([3, 3, 1], [], [0])]
        )
        found = take(v._block, wanted)
        got = []
        for device, one in zip(v._device.devices, found):
            with device:
                got.append([device.to_host(array).tolist() for array in one.coo()])
        assert got == [[[0, 1], [7, 7]], [[], []], [[0], [5]]]


class TestObjects:
    def test_from_each_device(self):
        group = in_parts(2)
        v = sg.Vector.from_coo([1, 3, 4], [5, 7, 9], size=6)
        A = GRAPHS["rmat"]
        for device in group.devices:  # whatever GPU is the current one
            for kind in ("sparse", "bitmap"):
                there = v.to(device)
                with device:
                    there._block.to_sparse() if kind == "sparse" else there._block.to_bitmap()
                assert there.to(group).isequal(v.to(group))
                assert there.to("cpu").isequal(v.to("cpu"))
            assert A.to(device).dup().reorder("degree").to(group).isequal(A.to(group))  # A may be there already

    def test_there_and_back(self):
        for A in GRAPHS.values():
            several = A.to(in_parts(3))
            assert several.shape == A.shape
            assert several.nvals == A.nvals
            assert several.to("cpu").isequal(A, check_dtype=True)
            assert several.T.new().to("cpu").isequal(A.T.new())

    @pytest.mark.parametrize("exchange", ["auto", "selective"])
    def test_vectors_with_more_positions_than_there_is_memory(self, exchange: str):
        with sg.Context(in_parts(3), exchange=exchange):
            v = sg.Vector.from_coo([5, 1 << 44], [1, 2], size=(1 << 44) + 9)
            u = sg.Vector.from_coo([5, 1 << 20], [10, 20], size=v.size)
            assert (v + u).new().to_dict() == {5: 11, 1 << 20: 20, 1 << 44: 2}
            assert v.reduce(monoid.plus).value == 3
            v[(1 << 44) + 1] = 7
            alone = sg.Vector("INT64", 1 << 44)
            alone[1 << 43] = 3
            assert alone.to_dict() == {1 << 43: 3}
            v(u.S, binary.plus) << 4
            assert v.to_dict() == {5: 5, 1 << 20: 4, 1 << 44: 2, (1 << 44) + 1: 7}
            assert v[[1 << 44, 6, 5, 1 << 43]].new().to_dict() == {0: 2, 2: 5}
            assert v.nvals == v.to(in_parts(2)).nvals == v.dup().nvals == 4

    def test_parts_without_entries_of_a_matrix_of_one_value(self):
        A = sg.Matrix.from_coo([0, 1], [1, 2], 5, nrows=7, ncols=7).to(in_parts(3))
        assert A.diag(1).to_dict() == {0: 5, 1: 5}
        A.resize(6, 2)
        assert A.to_dicts() == {0: {1: 5}}

    def test_display_and_pickle(self):
        v = sg.Vector.from_coo([1], [2.5], size=4).to(in_parts(3))
        assert f"on {v.device}" in repr(v)
        assert pickle.loads(pickle.dumps(v._device)) is v._device
        A = GRAPHS["path"].to(in_parts(2))
        assert f"on {A.device}" in repr(A)
        assert "1" in repr(A).splitlines()[2]

    def test_other_devices_are_refused(self):
        v = sg.Vector.from_coo([1], [2.5], size=4)
        names = f"u is on {in_parts(2).name}, but v is on {in_parts(3).name}"
        with pytest.raises(exceptions.GraphblasException, match=names):
            (v.to(in_parts(2)) + v.to(in_parts(3))).new()

    def test_a_sole_part_is_a_device(self):
        assert sg.Context("cpu:1").device.name == "cpu"
        assert sg.Context(["cpu", "cpu"]).device is sg.Context("cpu:2").device

    @pytest.mark.parametrize("name", ["cpu:0", "cpu:x", [], ["gpu"], 0, -1, [4]])
    def test_names_of_no_devices(self, name: Any):
        with pytest.raises(exceptions.InvalidValue, match="devices"):
            sg.Context(name)


def test_copies_between_gpus_wait_for_their_source_and_are_waited_for():
    """Each GPU has a stream of its own, and a copy is in that of the receiver."""
    done: list[str] = []

    class Gpu(Device):
        on_host = False

        def __init__(self, name: str):
            super().__init__()
            self.name = name

        def __enter__(self) -> Device:
            return self

        def __exit__(self, *_error: Any) -> None:
            pass

        def mark(self) -> None:
            done.append(f"{self.name} marks")

        def follow(self, others: list) -> None:
            done.append(f"{self.name} follows {''.join(one.name for one in others)}")

        def to_device(self, array: Any) -> Any:
            done.append(f"{self.name} copies")
            return array

    class Array:
        """On a GPU."""

    a, b = Gpu("a"), Gpu("b")
    order = ["a marks", "b marks", "a follows ab", "b follows ab"]
    sent = [[(), (Array(),)], [(Array(),), ()], [(), ()]]
    came = InProcess([a, b]).all_to_all([row[:2] for row in sent[:2]])
    assert came[0][1] == sent[1][0]
    assert came[1][0] == sent[0][1]
    assert done == [*order, "b copies", "a copies", *order]
    done.clear()
    InProcess([a, a]).all_to_all([[(), (Array(),)], [(), ()]])  # one stream, nothing is copied
    InProcess([HOST, HOST]).all_to_all([[(), (np.arange(3),)], [(), ()]])
    assert done == []


class Jealous(Device):
    """A CPU that works only while it is the current device, as one GPU among several must be."""

    current: Any = None

    def __init__(self, name: str):
        super().__init__()
        self.name = name
        self.befores: list[Any] = []

    def use(self) -> None:
        Jealous.current = self

    def __enter__(self) -> Device:
        self.befores.append(Jealous.current)
        Jealous.current = self
        return self

    def __exit__(self, *_error: Any) -> None:
        Jealous.current = self.befores.pop()

    def __getattribute__(self, name: str) -> Any:
        if name in ("xp", "sort", "over", "over_later", "over_rows", "produce_rows", "multiply", "filled", "to_device"):
            assert Jealous.current is self, f"{self.name}.{name} while another device is current"
        return super().__getattribute__(name)


@pytest.mark.cpu("devices that watch are CPUs")
@pytest.mark.parametrize("partition", ["contiguous_edges", "random"])
def test_each_works_while_it_is_current(partition: str):
    Jealous.current = None
    group = Group([Jealous("cpu:a"), Jealous("cpu:b"), Jealous("cpu:c")])
    with sg.Context(partition=partition):
        A, D = GRAPHS["rmat"].to(group), GRAPHS["directed"].to(group)
    for algorithm in ALGORITHMS.values():
        algorithm(A)
        algorithm(D)
        assert Jealous.current is None
    for work in (
        lambda: A.reorder("degree"),
        lambda: A.to_csr(),
        lambda: A.isequal(A.T),
        lambda: D[[1, 2, 2], [3, 1]].new().to_coo(),
        lambda: D.__setitem__((slice(0, 3), slice(0, 3)), 7),
        lambda: D.__setitem__((1, 1), 5),
        lambda: D[3, :].new().to_coo(),
        lambda: (D + D.T).new().diag().to_coo(),
        lambda: A[:3, :3].new().kronecker(A[:2, :2].new()).new().to_coo(),
        lambda: A[1, :].new().outer(A[2, :].new()).new().to_coo(),
        lambda: D.reduce_columnwise().new().to_coo(),
        lambda: D.dup().resize(70, 50),
        lambda: repr(D),
    ):
        work()
        assert Jealous.current is None


MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
TEXT = """
import numpy as np
import spgraph as sg
from spgraph.exchange.launch import rank
A = sg.generators.rmat(7, seed=1, weights="int")
assert A.device == "mpi:{count}", A.device
with sg.Context("cpu"):
    one = sg.generators.rmat(7, seed=1, weights="int")
    wanted = sg.algorithms.bfs(one, 3).to_coo(), sg.algorithms.sssp(one, 3).to_coo(), sg.algorithms.triangle_count(one)
for found, right in zip((sg.algorithms.bfs(A, 3), sg.algorithms.sssp(A, 3)), wanted):
    assert all(map(np.array_equal, found.to_coo(), right))
assert sg.algorithms.triangle_count(A) == wanted[2]
if rank() == {fails}:
    raise ValueError("this one fails")
print("nvals", A.nvals)
"""


@pytest.mark.cpu("each process has the CPU")
@pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not there (pip install mpi4py mpich)")
class TestProcesses:
    def run(self, count: int, *command: str) -> subprocess.CompletedProcess:
        assert MPIEXEC is not None
        env = {name: value for name, value in os.environ.items() if name != sg.context.VARIABLE}
        return subprocess.run([MPIEXEC, "-n", str(count), *command], capture_output=True, text=True, timeout=300,
                              check=False, env=env)

    @pytest.mark.parametrize("count", [2, 4])
    def test_the_same_text(self, count: int):
        done = self.run(count, sys.executable, "-c", TEXT.format(count=count, fails=-1))
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("nvals") == count

    def test_one_fails(self):
        done = self.run(2, sys.executable, "-c", TEXT.format(count=2, fails=1))
        assert done.returncode != 0
        assert done.stderr.count("ValueError: this one fails") == 1

    def test_the_command(self):
        done = self.run(2, sys.executable, "-m", "spgraph", "run", "bfs", "rmat:8", "--validate")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("rule 5 ok") == 1
        assert "on mpi:2" in done.stdout

    @pytest.mark.parametrize("job", ["hits", "bc", "triangles", "kcore"])
    def test_other_jobs(self, job: str):
        done = self.run(2, sys.executable, "-m", "spgraph", "run", job, "rmat:7", "--validate")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\nvalid ") == 1

    def test_one_leaves_with_a_code(self):
        text = "import sys, spgraph as sg\nfrom spgraph.exchange.launch import rank\nA = sg.generators.path(9)\n"
        done = self.run(2, sys.executable, "-c", text + "if rank(): sys.exit(3)\nprint(A.nvals)")
        assert done.returncode != 0

    def test_all_fail_alike(self):
        done = self.run(2, sys.executable, "-m", "spgraph", "run", "bfs", "missing.mtx")
        assert done.returncode != 0
        assert done.stderr.count("missing.mtx: no such file") == 1


def test_monoids_meet_at_the_owner():
    """Each monoid combines what comes from several parts, as on one device."""
    one, several = dealt("rmat", "random", 3)
    ids = np.arange(0, one.nrows, 2)
    u = sg.Vector.from_coo(ids, ids + 1, dtype=int, size=one.nrows)
    for add in (monoid.plus, monoid.min, monoid.max, monoid.times, monoid.bxor):
        op = semiring.register_anonymous(add, binary.first)
        with sg.Context(direction="push"):
            got = u.to(several._device).vxm(several, op).new().to("cpu")
            assert got.isequal(u.to(one._device).vxm(one, op).new().to("cpu"), check_dtype=True)


@pytest.mark.parametrize("partition", ["contiguous", "random"])
def test_products_of_all_with_all_by_ids(partition: str):
    """Outer and Kronecker products, with operators that look at positions."""
    one, several = dealt("directed", partition, 3)
    ids = np.array([3, 8, 40])
    u = sg.Vector.from_coo(ids, [2, 3, 5], size=one.nrows).to("cpu")
    v = u.to(several._device)
    v << v.vxm(several, semiring.plus_first)  # into the layout of the graph
    u << u.to(one._device).vxm(one, semiring.plus_first).new().to("cpu")
    for op in (binary.times, binary.firsti, binary.secondi, binary.firstj):
        got = v.outer(v, op).new().to("cpu")
        assert got.isequal(u.outer(u, op).new(), check_dtype=True)
    small, K = one[:4, :3].new().to("cpu"), several[:4, :3].new()
    for op in (binary.times, binary.firsti, binary.secondj):
        got = K.kronecker(K, op).new().to("cpu")
        assert got.isequal(small.kronecker(small, op).new(), check_dtype=True)


def test_one_value_and_parts_without_rows():
    """What has no entries has no value either."""
    A = sg.Matrix.from_coo([0, 1, 2, 3], [1, 2, 3, 0], 5, nrows=4, ncols=4).to(in_parts(7))
    B = A[[0, 1], :].new()
    B[0, 0] = 7
    assert B.to_dense(0).tolist() == [[7, 5, 0, 0], [0, 0, 5, 0]]
    assert A[::-1, :].new().to_coo()[1].tolist() == [0, 3, 2, 1]


@pytest.mark.parametrize("name", ["cpu:2,3", "2,3", "cuda:0,x"])
def test_lists_that_name_no_devices(name: str):
    with pytest.raises(exceptions.InvalidValue, match="devices"):
        sg.Context(name)


@pytest.mark.parametrize("partition", [5, 2.5, [[0, 1]]])
def test_partitions_that_are_none(partition: Any):
    with pytest.raises(exceptions.InvalidValue, match="partition is"):
        sg.Context(partition=partition)


def test_repr_names_the_partition():
    assert "partition='random'" in repr(sg.Context("cpu:2", partition="random"))
    assert "partition" not in repr(sg.Context("cpu:2"))


def test_a_number_as_text_is_a_number():
    assert sg.Context("1").device is sg.Context(1).device
