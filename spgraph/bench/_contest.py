"""All engines on one problem: warm up, check, try, take turns.

Method: every engine's texts are warmed up, their answers checked, and tried; the fastest text of each engine is
kept. Then all engines take turns, run by run, so that a disturbance of the machine hits all of them. At every
turn all search from the same source. Clocks stop when the device has finished; results are dropped after that.
A run that comes after another engine's finds the caches of host and device full of that one's code and data; asked for
several runs in a row, an engine has these at each turn, from several sources, and the first is kept apart.

Answers: trees, levels and distances must pass Graph500's five rules, on the device that holds the graph; those
that come without a tree are checked against spgraph's tree, which must be valid itself. Ranks must be spgraph's
within rounding, and so must centralities after division by their sum over vertices that are not sources (engines
scale those from some sources differently, sources otherwise than the rest). A text that is wrong or breaks is left
out and named. Components are compared by their smallest members, numbers of triangles as they are.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from spgraph.bench import _spgraph
from spgraph.bench._arrays import csr_of, smallest_members, to_host
from spgraph.bench._clock import clock
from spgraph.bench._measurement import Measurement, Steps
from spgraph.bench._problem import Answer, Problem, Text
from spgraph.bench._progress import Progress
from spgraph.matrix import Matrix
from spgraph.validate import validate_bfs, validate_sssp

__all__ = ["Contest"]

HOPELESS = 10.0  # times as slow as the best text so far: not tried again after the warm-up
SLOW = 1.0  # seconds from which a text is tried once
TRIES = 2  # runs of every other text, after the warm-up, from which the best text is chosen
FEWEST = 3
ROUGH, FINE = 1e-4, 1e-9  # relative errors of long sums in float32 and in float64, added up in another order
PAUSE = 0.02  # seconds before a run: threads of an engine on the CPU may still spin for work


class Entry(NamedTuple):
    """An engine that takes part."""

    row: Measurement
    run: Callable[[int], Any]
    counted: bool  # whether the device of spgraph counts what it does


class Contest:
    """All engines on one problem.

    Parameters
    ----------
    problem : Problem
    by_order : dict of str to Matrix
        The graph in each order of spgraph's.
    peers : list of module
    notes, wrong : list of str
        What was left out, and what was wrong, are added.
    told : Progress
    seconds : float
        Time that an engine's turns may take; slow ones take fewer, at least three.
    in_a_row : int
        Runs of an engine at each turn.
    """

    def __init__(self, problem: Problem, by_order: dict[str, Matrix], peers: list[ModuleType], notes: list[str],
                 wrong: list[str], told: Progress, seconds: float, in_a_row: int = 1):  # fmt: skip
        self.problem = problem
        self.by_order = by_order
        self.peers = peers
        self.notes = notes
        self.wrong = wrong
        self.told = told
        self.seconds = seconds
        self.in_a_row = in_a_row
        self.device = problem.graph._device
        waits = [peer.synchronize for peer in peers if hasattr(peer, "synchronize")]
        self.wait = waits[0] if waits else self.device.synchronize  # a GPU peer waits for all of the GPU
        quiet = not self.device.on_host and all(getattr(peer, "ON_GPU", False) for peer in peers)
        self.pause = 0.0 if quiet else PAUSE
        self.values: np.ndarray | None = None

    def run(self, repeat: int) -> list[Measurement]:
        """Measure all engines, `repeat` turns each."""
        entries = []
        for order, A in self.by_order.items():
            entries.append(self.prepare(_spgraph.NAME, order, partial(_spgraph.texts, self.problem, A)))
        for peer in self.peers:
            largest = getattr(peer, "LARGEST", None)
            if largest is not None and self.problem.graph.nvals > largest:
                self.note(f"{peer.NAME}: left out on {self.problem.name}: more than {largest:,} stored edges")
                continue
            entries.append(self.prepare(peer.NAME, "", partial(peer.texts, self.problem)))
        taking_part = [entry for entry in entries if entry is not None]
        self.take_turns(taking_part, repeat)
        self.told.done(f"{self.what()}: all turns taken")
        return [entry.row for entry in taking_part]

    def what(self) -> str:
        """Graph and algorithm."""
        return f"{self.problem.name}, {self.problem.algorithm}"

    def note(self, text: str) -> None:
        """Say it once."""
        if text not in self.notes:
            self.notes.append(text)

    # ---- before the turns ----------------------------------------------------------
    def prepare(self, engine: str, order: str, make: Callable[[], dict[str, Text]]) -> Entry | None:
        """Warm up, check and try every text; keep the fastest. None if no text works."""
        problem = self.problem
        try:
            texts = make()
        except Exception as error:
            self.broken(engine, error)
            return None
        tried: dict[str, float] = {}
        first = 0.0
        for name, text in texts.items():
            self.told.doing(f"{self.what()}, {engine} ({name})")
            try:
                seconds, best = self.try_out(f"{engine} ({name})", text, tried)
            except Exception as error:
                self.broken(f"{engine} ({name})", error)
                continue
            first = first or seconds
            if best is not None:
                tried[name] = best
        called = f"{self.what()}, {engine}{order and f' by {order}'}"
        if not tried:
            self.told.done(f"{called}: left out")
            return None
        name = min(tried, key=lambda name: tried[name])
        self.told.done(f"{called}: {1e3 * tried[name]:.4g} ms ({name})")
        row = Measurement(problem.name, problem.algorithm, engine, order, name, tried, first)
        counted = engine == _spgraph.NAME and not self.device.on_host
        return Entry(row, texts[name].run, counted)

    def try_out(self, name: str, text: Text, tried: dict[str, float]) -> tuple[float, float | None]:
        """Seconds of the first run, and of the best one (None: the answer is wrong)."""
        argument = self.problem.argument(0)
        seconds, result = self.clock(text.run, argument)
        answer = text.answer(result)
        del result
        problem = self.check(answer)
        if problem is not None:
            where = f"{self.problem.algorithm} on {self.problem.name} ({argument})"
            self.wrong.append(f"{where}: {name}: {problem}")
            return seconds, None
        if tried and seconds > max(SLOW, HOPELESS * min(tried.values())):
            return seconds, seconds
        return seconds, min(self.clock(text.run, argument)[0] for _ in range(1 if seconds > SLOW else TRIES))

    def broken(self, name: str, error: Exception) -> None:
        """An engine that raises is no reason to stop."""
        where = f"{self.problem.algorithm} on {self.problem.name}"
        text = " ".join(str(error).split())[:300]
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}, line {last.lineno}"
        self.wrong.append(f"{where}: {name}: {type(error).__name__}: {text} ({place})")

    # ---- answers -------------------------------------------------------------------
    def check(self, answer: Answer) -> str | None:
        """What is wrong with the answer for the first source."""
        problem = self.problem
        if answer.rank is not None:
            return self.check_values("rank", to_host(answer.rank))
        if answer.centrality is not None:
            others = to_host(answer.centrality).astype(np.float64)
            others[problem.sources] = 0
            return self.check_values("centrality", others / max(others.sum(), np.finfo(float).tiny))
        if answer.label is not None:
            return self.check_values("component", smallest_members(to_host(answer.label)))
        if answer.total is not None:
            return None if answer.total == self.total() else f"it says {answer.total} triangles, spgraph {self.total()}"
        graph, source = csr_of(problem.graph), problem.sources[0]
        if problem.algorithm.startswith("bfs"):
            parent = self.bring(answer.parent) if answer.parent is not None else self.witness("bfs_parents").parent
            level = None if answer.level is None else self.bring(answer.level)
            report = validate_bfs(graph[:2], source, parent, level)
        else:
            parent = self.bring(answer.parent) if answer.parent is not None else self.witness("sssp_parents").parent
            distance = self.bring(answer.distance)
            exact = distance.dtype.kind == "i" and graph[2].dtype.kind != "f"
            rough = np.float32 in (distance.dtype, graph[2].dtype, problem.dtype)
            rtol = None if exact else ROUGH if rough else FINE
            report = validate_sssp(graph, source, distance, parent, rtol=rtol)
        return next((str(rule) for rule in report.rules if not rule.ok), None)

    def witness(self, algorithm: str) -> Answer:
        """spgraph's tree, against which answers without one are checked."""
        problem = self.problem

        def make() -> Answer:
            text = _spgraph.text(replace(problem, algorithm=algorithm), problem.graph)
            return text.answer(text.run(problem.sources[0]))

        return problem.kept(f"witness {algorithm} {problem.dtype}", make)

    def total(self) -> int:
        """How many triangles spgraph has counted."""
        text = _spgraph.text(self.problem, self.problem.graph)
        return self.problem.kept("triangles", lambda: text.answer(text.run(0)).total)

    def bring(self, array: Any) -> Any:
        """An array on the device of the graph."""
        return to_host(array) if self.device.on_host else self.device.to_device(array)

    def check_values(self, name: str, values: np.ndarray) -> str | None:
        """spgraph comes first, and the others are compared with it."""
        if self.values is None:
            self.values = values.astype(np.float64)
        if values.dtype.kind in "iu":
            rtol = 0.0
        else:
            rtol = 1e-3 if np.float32 in (values.dtype, self.problem.dtype) else FINE
        least = 0 if name == "rank" else rtol / max(values.size, 1)  # a sum of what cancels has no relative error
        wrong = ~np.isclose(values, self.values, rtol=rtol, atol=least)
        if not wrong.any():
            return None
        v = int(wrong.argmax())
        return f"the {name} of vertex {v} is {values[v]}, spgraph says {self.values[v]}"

    # ---- turns ---------------------------------------------------------------------
    def take_turns(self, entries: list[Entry], repeat: int) -> None:
        """Time all engines, one after the other, again and again."""
        turns = [self.turns_of(entry.row, repeat) for entry in entries]
        for turn in range(repeat):
            self.told.doing(f"{self.what()}, turn {turn + 1}")
            for place in range(len(entries)):
                number = (turn + place) % len(entries)  # who begins changes
                if turn < turns[number]:
                    self.take_turn(entries[number], turn)

    def turns_of(self, row: Measurement, repeat: int) -> int:
        runs = self.in_a_row
        if self.problem.algorithm == "pagerank":
            runs *= 3  # each time a second one that is twice as long
        return max(min(repeat, FEWEST), int(min(repeat, self.seconds / max(runs * row.tried[row.text], 1e-9))))

    def take_turn(self, entry: Entry, turn: int) -> None:
        row = entry.row
        for number in range(self.in_a_row):
            argument = self.problem.argument(turn * self.in_a_row + number)
            if number == 0 and self.in_a_row > 1:
                row.after_others.append(self.clock(entry.run, argument)[0])
                continue
            before = Steps.read(self.device) if entry.counted else None
            row.times.append(self.clock(entry.run, argument)[0])
            if before is not None:
                row.steps.append(Steps.read(self.device) - before)
            if self.problem.algorithm == "pagerank":
                row.longer.append(self.clock(entry.run, 2 * argument)[0])

    def clock(self, run: Callable[[int], Any], argument: int) -> tuple[float, Any]:
        """Seconds until the result is there, and the result."""
        return clock(run, argument, self.wait, self.pause)
