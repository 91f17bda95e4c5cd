"""What buffers cost: only the room of lists changes, never an answer."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest

import spgraph as sg
from spgraph import bench
from spgraph.bench import _memory
from spgraph.cli import main
from spgraph.engine import loops_cpu, loops_cuda, products_cpu, queues_cuda, scatters
from spgraph.engine.parts import loops as parts_loops
from spgraph.exceptions import InvalidValue, OutOfMemory
from spgraph.exchange import group_of


@pytest.fixture(autouse=True)
def on_the_cpu():
    with sg.Context("cpu"):
        yield


def hooks():
    found = scatters.found, products_cpu.found
    alone = [run for module in (loops_cpu, loops_cuda, parts_loops) for run in (module.grow, module.relax)]
    return queues_cuda.room, *found, scatters.gathered, products_cpu.gathered, *alone


@pytest.mark.one_device("makes parts of its own; what they send would hide what lists take")
@pytest.mark.parametrize("devices", ["cpu", "cpu:2"])
def test_more_room_takes_more_memory_and_changes_no_answer(devices):
    before = hooks()
    with sg.Context(devices, threads=1):  # more of them have room of their own, when they first take part
        result = bench.memory(["grid:150"], algorithms=["bfs_push", "sssp"], repeat=2, progress=False)
    assert result.wrong == []
    assert [(row.algorithm, row.policy) for row in result.rows] == [
        (algorithm, policy) for algorithm in ("bfs_push", "sssp") for policy in _memory.POLICIES
    ]
    for k in (0, 3):
        just_enough, fixed, maximum = (row.peak for row in result.rows[k:k + 3])
        assert 0 < just_enough < fixed < maximum
    assert all(len(row.times) == 2 and row.median > 0 for row in result.rows)
    assert hooks() == before


@pytest.mark.parametrize("algorithm", ["bfs_push", "bfs", "sssp"])
@pytest.mark.parametrize("count", [1, 2])
def test_loops_of_gpus_have_the_room_that_is_asked_for(emulated, monkeypatch, algorithm, count):
    """Product by product, so that there is a list for each."""
    from emulator.device import emulated_device

    device = emulated if count == 1 else group_of(tuple(emulated_device(number) for number in range(count)))
    rooms, real = {policy: [] for policy in _memory.POLICIES}, _memory._room_for

    @contextlib.contextmanager
    def noted(policy, A):
        with real(policy, A):
            made = queues_cuda.room
            with monkeypatch.context() as patch:
                patch.setattr(queues_cuda, "room", lambda *args: rooms[policy].append(made(*args)) or rooms[policy][-1])
                yield

    monkeypatch.setattr(_memory, "_room_for", noted)
    with sg.Context(device):
        before = hooks()
        assert bench.memory(["grid:6"], algorithms=[algorithm], repeat=1, progress=False).wrong == []
        assert hooks() == before
    just_enough, fixed, maximum = (sum(rooms[policy]) for policy in _memory.POLICIES)
    assert 0 < just_enough < fixed < maximum


@pytest.mark.parametrize("policy", _memory.POLICIES)
@pytest.mark.parametrize("spec", ["rmat:7:4", "grid:12", "star:30", "path:1"])
def test_answers_are_the_same_with_any_room(policy, spec):
    from spgraph._graphspec import load

    A = load(spec, weights="int")
    with sg.Context("cpu", direction="push"):
        wanted = sg.algorithms.bfs(A, 0), sg.algorithms.sssp(A, 0), sg.algorithms.bfs_parents(A, 0)
        with _memory._room_for(policy, A):
            got = sg.algorithms.bfs(A, 0), sg.algorithms.sssp(A, 0), sg.algorithms.bfs_parents(A, 0)
    for one, other in zip(wanted, got):
        assert one.isequal(other, check_dtype=True)


def test_lists_on_a_gpu_have_the_room_that_is_asked_for(emulated, monkeypatch):
    rooms = []
    made = queues_cuda.Found.__init__

    def init(found, A, size, edges, *more):
        made(found, A, size, edges, *more)
        if edges:
            rooms.append((found.indices.size, min(size, edges), size, A.nvals))

    monkeypatch.setattr(queues_cuda.Found, "__init__", init)
    with sg.Context(emulated, direction="push"), _memory._product_by_product():
        A = sg.generators.grid(5)
        wanted = sg.algorithms.bfs(A, 0)
        for place, policy in enumerate(_memory.POLICIES, 1):
            rooms.clear()
            with _memory._room_for(policy, A):
                assert sg.algorithms.bfs(A, 0).isequal(wanted)
            assert rooms and all(row[0] == row[place] for row in rooms)


def test_what_does_not_fit_is_said_and_the_rest_goes_on(monkeypatch):
    peak = _memory._peak

    def full(run, device):
        if queues_cuda.room.__name__ == "on_gpu":
            raise OutOfMemory("full")
        return peak(run, device)

    monkeypatch.setattr(_memory, "_peak", full)
    result = bench.memory(["path:9"], algorithms=["bfs_push"], repeat=1, progress=False)
    assert [row.peak is None for row in result.rows] == [False, True, True]
    assert [len(row.times) for row in result.rows] == [1, 0, 0]
    lines = [line.split() for line in str(result).splitlines()]
    assert ["fixed", "does", "not", "fit", "-", "-", "-"] in lines
    assert result.to_dict()["rows"][1]["median"] is None


def test_another_answer_is_wrong(monkeypatch):
    def shifted(array, pieces):
        return np.concatenate([array[piece] for piece in pieces])[:-1] if pieces else array[:0]

    room_for = _memory._room_for

    def spoiled(policy, A):
        if policy == "fixed":
            monkeypatch.setattr(scatters, "gathered", shifted)
            monkeypatch.setattr(products_cpu, "gathered", shifted)
            return room_for("just enough", A)
        return room_for(policy, A)

    monkeypatch.setattr(_memory, "_room_for", spoiled)
    result = bench.memory(["path:200"], algorithms=["bfs_push"], repeat=1, progress=False)
    assert result.wrong[0] == "bfs_push on path:200: another answer with fixed room"
    assert "WRONG: bfs_push on path:200" in str(result)


@pytest.mark.parametrize(
    ("graphs", "arguments", "message"),
    [
        (["path:4", "path:4"], {}, "graphs: got 'path:4' twice"),
        (["a/x.el", "b/x.el"], {}, "results would call both a/x.el and b/x.el x.el"),
        (["path:4"], {"algorithms": ["bfs", "bfs"]}, "algorithms: got 'bfs' twice"),
    ],
)
def test_nothing_is_measured_twice(graphs, arguments, message):
    with pytest.raises(InvalidValue, match=f"^memory: .*{message}"):
        bench.memory(graphs, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"repeat": 0}, "repeat is 0"), ({"algorithms": ["dfs"]}, "got 'dfs'"), ({"order": "random"}, "order 'random'")],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(InvalidValue, match=message):
        bench.memory(["path:9"], **arguments)


def test_the_command(capsys, tmp_path):
    saved = tmp_path / "memory.json"
    assert main(["bench", "memory", "grid:30", "--algorithms", "bfs_push", "--repeat", "1", "--device", "cpu",
                 "--save", str(saved)]) == 0  # fmt: skip
    out = capsys.readouterr().out
    assert [line.split()[-5] for line in out.splitlines()[-3:]] == ["enough", "fixed", "maximum"]
    document = json.loads(saved.read_text())
    assert document["benchmark"] == "memory"
    assert [row["policy"] for row in document["rows"]] == list(_memory.POLICIES)


def test_the_command_and_the_function_know_the_same_algorithms():
    from spgraph._cli import bench as command

    assert command.USUALLY_PUSHED == _memory.USUALLY_PUSHED
