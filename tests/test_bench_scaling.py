"""Scaling over devices: answers are checked before they are timed; nothing here depends on how long anything takes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import spgraph as sg
from spgraph import bench, engine
from spgraph.bench import _contest, _scaling, _spgraph
from spgraph.bench._clock import supersteps
from spgraph.bench._problem import ALGORITHMS, Answer, Text
from spgraph.bench._scaling import Scaled, Scaling
from spgraph.cli import main
from spgraph.exceptions import InvalidValue

FEW = ["bfs_push", "pagerank"]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setattr(_contest, "PAUSE", 0.0)
    monkeypatch.setattr(_scaling, "NOTHING", "path:9")
    monkeypatch.setattr(_scaling, "COMPILED", "auto")  # what is measured does not matter here
    with sg.Context("cpu"):
        yield


def test_every_algorithm_on_every_number_of_devices():
    result = bench.scaling(["rmat:5:4"], devices=[3, 2], algorithms=_scaling.SCALED, repeat=2, sources=3,
                           progress=False)  # fmt: skip
    assert (result.notes, result.wrong) == ([], [])
    rows, idle = ([(row.algorithm, row.devices) for row in found] for found in (result.rows, result.idle))
    assert rows == idle == [(algorithm, count) for algorithm in ("bfs_push", *ALGORITHMS) for count in (1, 2, 3)]
    for row in [*result.rows, *result.idle]:
        assert len(row.times) == len(row.supersteps) == 2
        assert min(row.times) > 0 and min(row.supersteps) > 0
    starts = result.graphs[0]["sources"]
    assert len(starts[1]) == 3 and starts[1] == starts[2] == starts[3]
    for row in result.rows:
        assert (result.speed_up(row) == 1) == (row.devices == 1)
        assert (row.sent == 0) == (row.devices == 1)


def test_supersteps_without_the_host_are_counted(emulated):
    with sg.Context(emulated), supersteps() as count:
        sg.algorithms.bfs(sg.generators.path(30), 0)
    assert count == [30]


def test_a_path_is_searched_in_as_many_supersteps_as_it_has_vertices(monkeypatch):
    monkeypatch.setattr(_scaling, "draw_sources", lambda *_: [0])
    result = bench.scaling(["path:20"], devices=[2], algorithms=["bfs", "bfs_push"], repeat=1, progress=False)
    assert [row.supersteps for row in result.rows] == [[20]] * 4
    assert [row.supersteps for row in result.idle] == [[9]] * 4


def test_supersteps_are_counted_while_the_body_runs_only():
    A, v = sg.generators.path(4), sg.Vector.from_coo([0], [1], size=4)
    before = engine.mxv, engine.mxm
    with supersteps() as count:
        v.vxm(A).new()
        A.mxm(A).new()
    assert count == [2]
    assert (engine.mxv, engine.mxm) == before
    v.vxm(A).new()
    assert count == [2]


def test_what_never_pulls_is_pushed(monkeypatch):
    seen = []

    def text(problem, A):
        def run(source):
            seen.append((A.device, sg.context.current().direction))
            return sg.algorithms.bfs(A, source)

        return Text(run, lambda level: Answer(level=level.to("cpu").to_dense(-1)))

    monkeypatch.setattr(_spgraph, "text", text)
    monkeypatch.setattr(_contest.Contest, "check", lambda *_: None)
    with sg.Context("cpu", direction="pull"):
        bench.scaling(["path:5"], devices=[2], algorithms=["bfs_push"], repeat=1, progress=False)
    timed = [one for one in seen if one[1] == "push"]
    assert {device for device, _ in timed} == {"cpu", "cpu:2"}
    seen.clear()
    with sg.Context("cpu", direction="pull"):
        bench.scaling(["path:5"], devices=[2], algorithms=["bfs"], repeat=1, progress=False)
    assert {direction for _, direction in seen} == {"pull"}


@pytest.mark.parametrize(("algorithm", "field"), [("bfs", "level"), ("sssp", "distance"), ("bfs_parents", "parent"),
                                                  ("pagerank", "rank"), ("components", "label")])  # fmt: skip
def test_a_wrong_answer_on_several_devices_has_no_row(monkeypatch, algorithm, field):
    whole = _spgraph.text

    def text(problem, A):
        right = whole(problem, A)
        if A.device == "cpu":
            return right

        def answer(result):
            values = np.array(getattr(right.answer(result), field))
            values[problem.sources[0]] = values[problem.sources[0] - 1] + 1
            return Answer(**{field: values})

        return Text(right.run, answer)

    monkeypatch.setattr(_spgraph, "text", text)
    result = bench.scaling(["grid:5"], devices=[2], algorithms=[algorithm], repeat=1, progress=False)
    assert [row.devices for row in result.rows] == [1]
    assert any(line.startswith(f"grid:5: {algorithm} on cpu:2: ") for line in result.wrong)
    assert result.speed_up(result.rows[0]) == 1
    assert "WRONG: grid:5" in str(result)


def test_what_breaks_is_named_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(_scaling._Run, "run", lambda run, turn: (1.0, 1 / (2 - run.row.devices)))
    monkeypatch.setattr(_scaling._Run, "differs", lambda *_: None)
    monkeypatch.setattr(_spgraph, "text", lambda problem, A: Text(lambda argument: 0, lambda result: Answer(total=0)))
    monkeypatch.setattr(_contest.Contest, "check", lambda *_: None)
    result = bench.scaling(["path:5"], devices=[2], algorithms=["triangles"], repeat=1, progress=False)
    assert [row.devices for row in result.rows] == [1]
    assert "triangles on cpu:2: ZeroDivisionError" in result.wrong[-1]


def test_weak_scaling_grows_the_graph(tmp_path):
    result = bench.scaling(["rmat:4", "grid:3x4"], devices=[2, 4], algorithms=["bfs"], weak=True, repeat=1,
                           progress=False)  # fmt: skip
    assert [graph["names"] for graph in result.graphs] == [
        {1: "rmat:4", 2: "rmat:5", 4: "rmat:6"},
        {1: "grid:3x4", 2: "grid:6x4", 4: "grid:12x4"},
    ]
    assert result.graphs[0]["vertices"] == {1: 16, 2: 32, 4: 64}
    assert [row.graph for row in result.rows[3:]] == ["grid:3x4", "grid:6x4", "grid:12x4"]
    assert "weak scaling, speed-ups of edges per second" in str(result)
    assert "12 vertices, " in str(result) and "48 vertices, " in str(result)


@pytest.mark.parametrize(
    ("spec", "times", "grown"),
    [("rmat:20:8", 4, "rmat:22:8"), ("uniform:3", 2, "uniform:4"), ("grid:5", 3, "grid:15x5"), ("path:7", 1, "path:7"),
     ("cycle:7", 3, "cycle:21")],
)  # fmt: skip
def test_generators_grow(spec, times, grown):
    assert _scaling._grown(spec, times) == grown


def made(weak: bool = False) -> Scaling:
    names = {1: "rmat:4", 2: "rmat:5"} if weak else {1: "rmat:4", 2: "rmat:4"}
    graph = {"name": "rmat:4", "names": names, "vertices": {1: 16, 2: 16}, "stored_edges": {1: 100, 2: 150}}
    rows = [
        Scaled("rmat:4", 100, "bfs", 1, [3.0, 1.0, 2.0], [4, 4, 4]),
        Scaled(names[2], 150 if weak else 100, "bfs", 2, [1.0], [10], 2500.0),
    ]
    idle = [Scaled("path:9", 16, "bfs", 1, [9e-6], [9]), Scaled("path:9", 16, "bfs", 2, [9.0], [9])]
    arguments = {"device": "cpu", "partition": None, "duplicate": None, "exchange": None, "order": "natural",
                 "weak": weak, "repeat": 3, "devices": [1, 2]}  # fmt: skip
    return Scaling([graph], rows, idle, ["a note"], [], arguments)


def test_speed_ups_are_of_medians_and_weak_ones_of_edges_per_second():
    strong, weak = made(), made(weak=True)
    assert [strong.speed_up(row) for row in strong.rows] == [1, 2]
    assert [weak.speed_up(row) for row in weak.rows] == [1, 3]
    assert strong.rows[0].per_superstep == 0.5
    del weak.rows[0]
    assert weak.speed_up(weak.rows[0]) is None
    assert "-" in str(weak)


def test_the_table_says_what_a_superstep_costs():
    lines = [line.split() for line in str(made()).splitlines()]
    assert ["bfs", "1", "2000.0", "1.00", "4", "500000.0", "1.0", "0%", "-"] in lines
    assert ["2", "1000.0", "2.00", "10", "100000.0", "1000000.0", "100%", "2.5"] in lines
    assert ["published,", "multi-GPU", "Gunrock", "66.8", "124"] in lines
    assert ["a", "note"] in lines


def test_the_plot_has_a_line_for_each_algorithm():
    pytest.importorskip("matplotlib")
    first, last = made().plot().axes
    assert first.get_title() == "rmat:4"
    assert [line.get_ydata().tolist() for line in first.lines if line.get_label() == "bfs"] == [[1, 2]]
    assert [np.round(line.get_ydata(), 9).tolist() for line in last.lines if line.get_label() == "bfs"] == [[1, 1e6]]


def test_bytes_are_those_that_cross(monkeypatch):
    monkeypatch.setattr(_scaling, "draw_sources", lambda *_: [0])
    cuts = {}
    for partition in ("contiguous", "random"):
        with sg.Context("cpu", direction="push"):
            result = bench.scaling(["path:40"], devices=[2], algorithms=["bfs"], partition=partition, repeat=1,
                                   progress=False)  # fmt: skip
        assert result.rows[0].sent == 0
        cuts[partition] = result.rows[1].sent
    assert 0 <= cuts["contiguous"] < cuts["random"]


def test_without_work_each_device_has_a_source():
    result = bench.scaling(["path:5"], devices=[3], algorithms=["betweenness"], repeat=1, sources=2, progress=False,
                           exchange="selective")  # fmt: skip
    one, several = (row.supersteps[0] for row in result.idle)
    assert several > 2 * one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": [0]}, "devices are [0, 1]"),
        ({"repeat": 0}, "repeat is 0"),
        ({"algorithms": ["dfs"]}, "got 'dfs', wanted some of bfs_push, "),
        ({"order": "random"}, "order is 'random'"),
        ({"weak": True, "graphs": ["star:5"]}, "star:5: weak scaling needs a graph that grows"),
        ({"weak": True, "devices": [3]}, "rmat:4 on 3 devices: a scale grows with 2, 4, 8"),
        ({"weak": True, "graphs": ["grid:x"]}, "grid:x: wanted grid:SIDE"),
        ({"partition": "best"}, "partition is 'best'"),
        ({"graphs": ["path:9", "path:9"]}, "scaling: graphs: got 'path:9' twice"),
        ({"graphs": ["a/x.el", "b/x.el"]}, "results would call both a/x.el and b/x.el x.el"),
        ({"algorithms": ["bfs", "bfs"]}, "scaling: algorithms: got 'bfs' twice"),
    ],
)
def test_arguments_are_checked_before_anything_runs(monkeypatch, arguments, message):
    monkeypatch.setattr(_scaling, "_measured", None)
    with pytest.raises(InvalidValue, match=message.replace("[", r"\[")):
        bench.scaling(**{"graphs": ["rmat:4"], "progress": False, **arguments})


def test_the_context_has_one_device():
    with sg.Context("cpu:2"), pytest.raises(InvalidValue, match="the context's device is 'cpu:2', wanted one;"):
        bench.scaling(["rmat:4"])


# ---- the command ------------------------------------------------------------------------
def test_the_command_prints_saves_and_draws(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    saved, drawn = tmp_path / "scaling.json", tmp_path / "scaling.svg"
    code = main(["bench", "scaling", "rmat:4", "path:9", "--devices", "1,2,3", "--algorithms", ",".join(FEW),
                 "--partition", "random", "--exchange", "broadcast", "--duplicate", "all",
                 "--direction", "pull", "--order", "bfs", "--repeat", "1", "--sources", "2", "--device", "cpu",
                 "--save", str(saved), "--plot", str(drawn), "--commit", "abc"])  # fmt: skip
    out, err = capsys.readouterr()
    assert code == 0
    assert "strong scaling, random, all, broadcast, bfs order" in out
    assert "A path of 9 vertices, dealt out at random:" in out
    assert "rmat:4, bfs_push: " in err and "ms on 3" in err
    document = json.loads(saved.read_text())
    assert document["benchmark"] == "scaling"
    assert document["machine"]["commit"] == "abc"
    assert document["arguments"]["devices"] == [1, 2, 3]
    assert document["arguments"]["direction"] == "pull"
    assert len(document["rows"]) == 12 and len(document["idle"]) == 6
    assert {"speed_up", "per_superstep", "per_superstep_idle", "median"} <= set(document["rows"][0])
    assert drawn.read_text().startswith("<?xml")


def test_the_command_as_json(capsys):
    assert main(["bench", "scaling", "path:6", "--devices", "2", "--algorithms", "bfs", "--repeat", "1", "--json",
                 "--device", "cpu"]) == 0  # fmt: skip
    assert [row["devices"] for row in json.loads(capsys.readouterr().out)["rows"]] == [1, 2]


def test_the_command_fails_if_an_answer_is_wrong(capsys, monkeypatch):
    monkeypatch.setattr(_scaling._Run, "differs", lambda *_: "it is wrong")
    assert main(["bench", "scaling", "path:6", "--devices", "2", "--algorithms", "bfs", "--repeat", "1",
                 "--device", "cpu"]) == 1  # fmt: skip
    assert "WRONG: path:6: bfs on cpu:2: it is wrong" in capsys.readouterr().out


@pytest.mark.parametrize("given", [["--devices", "0"], ["--algorithms", "dfs"], ["--devices", "two"]])
def test_the_command_refuses(capsys, given):
    with pytest.raises(SystemExit):
        main(["bench", "scaling", "path:6", *given])
    assert "bench scaling: error: argument" in capsys.readouterr().err


def test_the_command_and_the_function_know_the_same_algorithms():
    from spgraph._cli import bench as command

    assert command.SCALED == _scaling.SCALED
    assert command.USUALLY_SCALED == _scaling.USUALLY_SCALED
