"""Independent pieces of work, spread over devices that each hold the whole graph."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from devices import in_parts as several

import spgraph as sg
from spgraph import context, tasks
from spgraph.exceptions import InvalidValue
from spgraph.exchange import Group
from spgraph.kernels.device import Device
from spgraph.kernels.memory import Memory

GRAPHS = {
    "rmat": lambda: sg.generators.rmat(6, 6, weights="int"),
    "directed": lambda: sg.Matrix.from_coo(*np.divmod(np.arange(0, 900, 7), 30), 1.5, nrows=30, ncols=30),
    "iso": lambda: sg.generators.grid(5).apply(sg.unary.one).new(),
    "edgeless": lambda: sg.Matrix(np.int8, 5, 5),
    "lonely": lambda: sg.Matrix.from_coo([0, 0, 1], [1, 2, 0], [5, 6, 7], nrows=40, ncols=40),
    "few": lambda: sg.generators.path(3),
}


def in_parts(A: sg.Matrix, count: int, partition: str = "random", order: str = "natural") -> sg.Matrix:
    with sg.Context(partition=partition):
        return A.to(several(count)).reorder(order)


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("partition", ["contiguous", "random"])
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("graph", GRAPHS)
def test_copies_are_the_matrix_and_lie_on_one_device(graph, count, partition, order):
    A = GRAPHS[graph]()
    seen = []

    def work(copy, some):
        assert context.device() is copy._device
        seen.append((copy, some))
        return copy.reduce_rowwise(sg.monoid.plus).new()

    found = tasks.spread(in_parts(A, count, partition, order), range(10), work)
    assert [some for _, some in seen] == [list(range(10))[part::count] for part in range(count)]
    wanted = A.reduce_rowwise(sg.monoid.plus).new()
    assert [copy._device for copy, _ in seen] == several(count).devices
    for copy, _ in seen:
        assert copy.to(context.device()).isequal(A, check_dtype=True)
        assert copy.symmetric == A.symmetric
    for vector in found:
        assert vector._device is several(count)
        assert vector.to(context.device()).isequal(wanted, check_dtype=True)


@pytest.mark.parametrize("kind", ["full", "bitmap", "sparse", "empty", "iso", "full iso", "natural"])
def test_vectors_of_any_kind_come_back(kind):
    A = in_parts(GRAPHS["rmat"](), 3)

    def vector(some):
        n = A.nrows
        if kind in ("full", "natural"):
            return sg.Vector.from_dense(np.arange(n) * 1.5 + some)
        if kind == "empty":
            return sg.Vector(np.float64, n)
        made = sg.Vector(np.float64, n)
        if kind == "full iso":
            made << 2.5 + some
            return made
        ids = np.arange(0, n, 3 if kind == "bitmap" else 31)
        made << sg.Vector.from_coo(ids, 1.0 if kind == "iso" else ids + some + 0.5, size=n)
        return made

    def work(copy, some):
        v = vector(some[0])
        return v if kind == "natural" else (copy.T.new(), v)[1]

    found = tasks.spread(A, [4, 5, 6], work)
    for some, got in zip([4, 5, 6], found):
        assert got.to("cpu").isequal(vector(some).to("cpu"), check_dtype=True)


def test_what_comes_back_shares_nothing():
    A = in_parts(GRAPHS["iso"](), 3)
    kept = sg.Vector.from_dense(np.arange(25.0))
    first, second, third = tasks.spread(A, range(3), lambda copy, some: kept)
    first(sg.binary.plus) << 1.0
    second[3] = -1.0
    assert kept.to_dense().tolist() == third.to_dense().tolist() == list(range(25))
    assert first.to_dense().tolist() == list(range(1, 26))


def test_devices_take_turns_where_the_work_yields():
    steps = []

    def work(copy, some):
        for job in some:
            steps.append(job)
            yield
            steps.append(-job)
        return sg.Vector(bool, 3)

    tasks.spread(in_parts(GRAPHS["few"](), 2), [1, 2, 3], work)
    assert steps == [1, 2, -1, 3, -2, -3]
    steps.clear()
    assert len(tasks.spread(GRAPHS["few"]().to(several(1).devices[0]), [1, 2], work)) == 1  # on one device
    assert steps == [1, -1, 2, -2]


def test_copies_are_kept_until_the_matrix_changes():
    A = in_parts(GRAPHS["iso"](), 2)
    blocks = []

    def work(copy, some):
        blocks.append(copy._block)
        return sg.Vector(bool, copy.nrows)

    tasks.spread(A, [], work)
    tasks.spread(A, [], work)
    assert len(set(map(id, blocks))) == len(set(several(2).devices))  # parts on one device share a copy
    A[0, 24] = 1
    before = len(blocks)
    tasks.spread(A, [], work)
    assert len(blocks) == before + 2
    assert blocks[-1] is not blocks[0]
    assert blocks[-1].nvals == blocks[0].nvals + 1
    holders = sys.getrefcount(blocks[-1])
    del A
    gc.collect()
    left = sys.getrefcount(blocks[-1])  # not within the assertion, which pytest rewrites: that holds the block, too
    assert left < holders


def test_the_context_holds_for_the_work_and_not_around_it():
    seen = []

    def work(copy, some):
        seen.append((context.current().direction, context.device()))
        yield
        seen.append((context.current().direction, context.device()))
        return sg.Vector(bool, 3)

    two = several(2)
    with sg.Context(two, direction="pull"):
        A = sg.generators.path(3)
        tasks.spread(A, [1, 2], work)
        assert context.device() is two
    assert seen == [("pull", device) for device in two.devices * 2]


@pytest.mark.parametrize(
    ("result", "message"), [(5, "gave int"), (sg.Vector(bool, 4), "gave a Vector of size 4, but a Vector of size 3")]
)
@pytest.mark.parametrize("count", [1, 2])
def test_work_gives_vectors(result, message, count):
    A = GRAPHS["few"]() if count == 1 else in_parts(GRAPHS["few"](), count)
    with pytest.raises(InvalidValue, match=message):
        tasks.spread(A, [1], lambda copy, some: result)


def test_an_error_of_the_work_is_the_caller_s():
    def work(copy, some):
        yield
        raise KeyError(some[0])

    before = context.current()
    with pytest.raises(KeyError, match="2"):
        tasks.spread(in_parts(GRAPHS["few"](), 2), [2, 3], work)
    assert context.current() is before


class Small(Device):
    """A GPU with little memory, of which nothing but that is asked."""

    on_host = False

    def __init__(self, total: int | None, limit: int | None = None):
        super().__init__()
        self.name = f"small{id(self)}"
        self.memory = lambda: Memory(total, 0, 0, limit)


@pytest.mark.cpu("its arrays are the host's")
def test_a_graph_fits_if_every_device_can_hold_it():
    whole = GRAPHS["rmat"]().to("cpu")
    need = whole._block.nbytes
    for totals, fits in [((3 * need, 3 * need), True), ((3 * need, need), False), ((None, 3 * need), True)]:
        A = whole.to(Group([Small(total) for total in totals]))
        assert tasks.fit(A, 2) is fits
        assert not tasks.fit(A, 1)
        assert not tasks.fit(A, 2, room=2 * need)
    A = whole.to(Group([Small(9 * need, limit=need), Small(9 * need)]))
    assert not tasks.fit(A, 2)
    directed = GRAPHS["directed"]().to("cpu")
    need = directed._block.nbytes
    for total, fits in [(3 * need, False), (6 * need, True)]:  # a transpose will come
        assert tasks.fit(directed.to(Group([Small(total), Small(total)])), 2) is fits
    assert tasks.fit(whole, 1)


# ---- betweenness -----------------------------------------------------------------------
@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("batch", [1, 4, None])
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("graph", GRAPHS)
def test_betweenness_with_shared_out_sources(graph, count, batch, endpoints):
    A = GRAPHS[graph]()
    several_of = in_parts(A, count)
    for sources in (None, [2, 0, 1]):
        if sources is None and batch == 1 and A.nrows > 40:
            continue
        how = {"sources": sources, "batch": batch, "endpoints": endpoints, "normalized": sources is None}
        wanted = sg.algorithms.betweenness_centrality(A, **how).to_dense()
        got = [sg.algorithms.betweenness_centrality(several_of, **how, spread="sources") for _ in range(2)]
        assert np.allclose(got[0].to_dense(), wanted, rtol=1e-12, atol=1e-12)
        if A.device.startswith("cpu"):  # a GPU's atomics add up in any order
            assert np.array_equal(got[0].to_dense(), got[1].to_dense())
        assert got[0]._device is several_of._device


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("graph", ["rmat", "directed"])
def test_betweenness_through_the_graph_in_parts(graph, batch):
    A = GRAPHS[graph]()
    how = {"sources": [2, 0, 1, 7], "batch": batch}
    wanted = sg.algorithms.betweenness_centrality(A, **how).to_dense()
    got = sg.algorithms.betweenness_centrality(in_parts(A, 3), **how, spread="graph")
    assert np.allclose(got.to_dense(), wanted, rtol=1e-12, atol=1e-12)


def test_betweenness_counts_paths_with_wide_exponents_on_the_device_that_needs_them():
    rungs = 1100  # 2^1100 shortest paths along all of them
    first = 3 * np.arange(rungs)
    rows = np.concatenate([first, first, first + 1, first + 2])
    cols = np.concatenate([first + 1, first + 2, first + 3, first + 3])
    A = sg.Matrix.from_coo(rows, cols, True, nrows=3 * rungs + 1, ncols=3 * rungs + 1)
    wanted = sg.algorithms.betweenness_centrality(A, sources=[0, 3 * rungs - 3], batch=1).to_dense()
    with sg.Context("cpu"):
        got = sg.algorithms.betweenness_centrality(A.to("cpu:2"), sources=[0, 3 * rungs - 3], batch=1, spread="sources")
    assert np.allclose(got.to_dense(), wanted, rtol=1e-9)


def test_auto_shares_out_sources_if_each_device_has_one(monkeypatch):
    used = []
    monkeypatch.setattr(tasks, "spread", lambda A, jobs, work: used.append(jobs) or [tasks.finish(work(A, jobs))])
    A = in_parts(GRAPHS["rmat"](), 3)
    with sg.Context(exchange="selective"):  # or parts of the CPU would read each other's entries in place
        sg.algorithms.betweenness_centrality(A, sources=[1, 2])
        assert used == []
        sg.algorithms.betweenness_centrality(A, sources=[1, 2, 3])
        assert used == [[1, 2, 3]]
        sg.algorithms.betweenness_centrality(A, sources=[1, 2, 3], spread="graph")
        assert len(used) == 1
        monkeypatch.setattr(tasks, "fit", lambda A, jobs, room: room < 1)
        sg.algorithms.betweenness_centrality(A, sources=[1, 2, 3])
        assert len(used) == 1


@pytest.mark.one_device("makes parts of its own, and is about what they do unasked")
def test_parts_of_one_cpu_do_not_take_turns_at_sources():
    with sg.Context("cpu"):
        A = GRAPHS["rmat"]().to("cpu:3")
        assert not tasks.fit(A, 9)
        with sg.Context(exchange="selective"):
            assert tasks.fit(A, 9)


def test_spread_is_one_of_three():
    with pytest.raises(InvalidValue, match="spread is 'both', wanted 'auto', 'sources' or 'graph'"):
        sg.algorithms.betweenness_centrality(GRAPHS["few"](), spread="both")


# ---- processes -------------------------------------------------------------------------
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
TEXT = """
import numpy as np
import spgraph as sg
A = sg.generators.rmat(6, seed=1)
directed = sg.Matrix.from_coo(*np.divmod(np.arange(0, 900, 7), 30), 1.5, nrows=30, ncols=30)
assert A.device == directed.device == "mpi:{count}"
for B in (A, directed):
    one = B.to("cpu")
    calls = []
    def work(copy, some):
        assert copy.device == "cpu" and copy.isequal(one)
        calls.append(some)
        v = sg.Vector.from_coo(some, 1.0, size=copy.nrows)
        yield
        return v
    found = sg.tasks.spread(B, range(9), work)
    rank = B._device.mine[0]
    assert calls == [list(range(9))[rank::{count}]]
    assert [v.to_coo()[0].tolist() for v in found] == [list(range(9))[r::{count}] for r in range({count})]
    for spread, batch in (("auto", 1), ("sources", None), ("graph", 1)):
        how = {{"sources": [3, 5, 1, 2], "batch": batch}}
        wanted = sg.algorithms.betweenness_centrality(one, **how).to_dense()
        got = sg.algorithms.betweenness_centrality(B, **how, spread=spread)
        assert np.allclose(got.to_dense(), wanted, rtol=1e-12, atol=1e-12), spread
print("fine")
"""


@pytest.mark.cpu("processes that mpiexec starts compute on the CPU")
@pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not there (pip install mpi4py mpich)")
@pytest.mark.parametrize("count", [2, 3])
def test_processes_share_out_work(count, tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(TEXT.format(count=count))
    done = subprocess.run([MPIEXEC, "-n", str(count), sys.executable, str(program)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, context.VARIABLE: "auto"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == count
