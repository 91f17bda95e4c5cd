"""spgraph against other engines: same graph, same process, same number of threads.

Method: every engine's texts are warmed up, checked against spgraph's answer and
tried; the fastest text of each engine is kept. Then all engines take turns, run
by run, so that a disturbance of the machine hits all of them. Medians and
minima are reported, ratios are of medians.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

import numpy as np
from tqdm import tqdm

from spgraph import _graphspec
from spgraph.bench import _spgraph
from spgraph.bench._problem import ALGORITHMS, Problem, Text
from spgraph.bench._table import comparison_table
from spgraph.exceptions import InvalidValue
from spgraph.kernels.cpu._threads import threads
from spgraph.matrix import Matrix
from spgraph.validate import validate_bfs

__all__ = ["PEERS", "Comparison", "Disagreement", "Measurement", "compare"]

PEERS = {"graphblas": "python-graphblas", "scipy": "scipy", "networkx": "networkx"}
HOPELESS = 10.0  # times as slow as the best text so far: not tried again after the warm-up
TRIES = 2  # runs of every text, after the warm-up, from which the best text is chosen
ENOUGH = 20.0  # seconds in which an engine runs one algorithm; slow ones take fewer turns
FEWEST = 3
PAUSE = 0.02  # seconds before a run: threads of the engine before it may still spin for work


class Disagreement(AssertionError):
    """Two engines gave different answers; the message names them, the graph and the first difference."""


@dataclass
class Measurement:
    """Times of one engine for one algorithm on one graph.

    Attributes
    ----------
    engine : str
        "spgraph", or a peer's package.
    order : str
        spgraph: "natural" or "degree"; else "".
    text : str
        Name of the fastest text, and in `tried` the best time of each.
    times : list of float
        Seconds, one for each turn.
    first : float
        Seconds of the very first call, compilation included.
    """

    graph: str
    algorithm: str
    engine: str
    order: str
    text: str
    tried: dict[str, float]
    first: float
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.times)


@dataclass
class Comparison:
    """What `compare` measured; ``print`` shows a table.

    Attributes
    ----------
    graphs : list of dict
        Name, vertices, stored edges, source and seconds for reordering by degree.
    rows : list of Measurement
    notes : list of str
        What was left out, and why.
    """

    graphs: list[dict]
    rows: list[Measurement]
    notes: list[str]
    arguments: dict
    kind = "compare"

    def to_dict(self) -> dict:
        """Everything, for JSON; times in seconds."""
        rows = [
            {**asdict(row), "median": row.median, "min": min(row.times), "ratio": self.ratio(row)}
            for row in self.rows
        ]
        return {"arguments": self.arguments, "graphs": self.graphs, "rows": rows, "notes": self.notes}

    def ratio(self, row: Measurement) -> dict[str, float]:
        """How many times as long as spgraph an engine takes, for each order of spgraph's."""
        ours = (
            other
            for other in self.rows
            if other.engine == _spgraph.NAME and (other.graph, other.algorithm) == (row.graph, row.algorithm)
        )
        return {other.order: row.median / other.median for other in ours}

    def __str__(self) -> str:
        return comparison_table(self)


def compare(
    graphs: Iterable[str],
    *,
    against: Iterable[str] = tuple(PEERS),
    algorithms: Iterable[str] = ALGORITHMS,
    repeat: int = 10,
    orders: Iterable[str] = ("natural", "degree"),
    dtype=None,
    seed: int = 0,
    source: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Time spgraph and its peers.

    Parameters
    ----------
    graphs : iterable of str
        Files, or generators such as "rmat:18".
    against : iterable of {"graphblas", "scipy", "networkx"}
        One that is not installed is left out, and a note says so.
    algorithms : iterable of {"bfs", "sssp", "pagerank"}
        BFS with parents; SSSP without; PageRank with 20 iterations, weights not counted.
    repeat : int
        Turns of every engine, 1 or more.
    orders : iterable of {"natural", "degree"}
        Orders of spgraph's matrix.
    dtype : optional
        Of distances and ranks, for all engines. Default: int64 distances (float64 where
        weights are floats), float64 ranks.
    seed : int
        Of the generators, and of the source drawn among vertices with an edge.
    source : int, optional
    progress : bool, optional
        Show a bar; default: if stderr is a terminal.

    Returns
    -------
    Comparison

    Raises
    ------
    Disagreement
        If an engine's answer differs from spgraph's.

    Examples
    --------
    >>> result = compare(["rmat:6"], against=["scipy"], algorithms=["bfs"], repeat=1)
    >>> [(row.engine, row.order) for row in result.rows]
    [('spgraph', 'natural'), ('spgraph', 'degree'), ('scipy', '')]
    """
    graphs, against, algorithms, orders = list(graphs), list(against), list(algorithms), list(orders)
    _check_arguments(against, algorithms, orders, repeat)
    notes: list[str] = []
    peers = [module for name in against if (module := _import_peer(name, notes))]
    described, rows = [], []
    with tqdm(
        total=len(graphs) * len(algorithms), leave=False, disable=None if progress is None else not progress
    ) as bar:
        for name in graphs:
            bar.set_description(
                f"{name}: reading" if not _graphspec.is_generator(name) else f"{name}: generating"
            )
            A = _graphspec.load(name, weights="int", order="natural", seed=seed, dup_op="min")
            where = _draw_source(A, seed) if source is None else source
            by_order, seconds = _orders(A, orders)
            described.append(
                {
                    "name": name,
                    "vertices": A.nrows,
                    "stored_edges": A.nvals,
                    "source": where,
                    "reorder_seconds": seconds,
                }
            )
            shared: dict = {}
            for algorithm in algorithms:
                problem = Problem(
                    name, algorithm, A, where, _dtype(algorithm, A, dtype), threads(), shared=shared
                )
                rows += _Contest(problem, by_order, peers, notes, bar).run(repeat)
                bar.update()
    arguments = {
        "repeat": repeat,
        "seed": seed,
        "threads": threads(),
        "iterations of pagerank": Problem.iterations,
    }
    return Comparison(described, rows, notes, arguments)


def _check_arguments(against, algorithms, orders, repeat) -> None:
    for what, given, known in (
        ("against", against, PEERS),
        ("algorithms", algorithms, ALGORITHMS),
        ("orders", orders, ("natural", "degree")),
    ):
        for name in given:
            if name not in known:
                raise InvalidValue(f"compare: {what}: got {name!r}, wanted some of {', '.join(known)}")
    if repeat < 1 or not orders:
        raise InvalidValue(f"compare: repeat is {repeat} and orders {orders}; wanted at least one of each")


def _import_peer(name: str, notes: list[str]):
    try:
        return importlib.import_module(f"spgraph.bench._{name}")
    except ImportError:
        notes.append(f'{PEERS[name]} is not installed: left out (pip install "spgraph[test]")')
        return None


def _dtype(algorithm: str, A: Matrix, dtype) -> np.dtype:
    if dtype is not None:
        if algorithm == "pagerank" and np.dtype(dtype).kind != "f":
            return np.dtype(np.float64)
        return np.dtype(dtype)
    if algorithm == "pagerank":
        return np.dtype(np.float64)
    return A.dtype.np_type if A.dtype.np_type.kind == "f" else np.dtype(np.int64)


def _orders(A: Matrix, orders: list[str]) -> tuple[dict[str, Matrix], float | None]:
    """The matrix in each order, and what reordering by degree took (kernels are compiled by then)."""
    found, seconds = {}, None
    for order in orders:
        if order == "natural":
            found[order] = A
            continue
        for _ in range(2):
            found[order] = A.dup()
            start = time.perf_counter()
            found[order].reorder(order)
            seconds = time.perf_counter() - start
    return found, seconds


def _draw_source(A: Matrix, seed: int) -> int:
    candidates = np.flatnonzero(np.diff(A.to_csr()[0]))
    return int(np.random.default_rng(seed).choice(candidates)) if candidates.size else 0


class _Contest:
    """All engines on one problem."""

    def __init__(
        self, problem: Problem, by_order: dict[str, Matrix], peers: list, notes: list[str], bar: tqdm
    ):
        self.problem = problem
        self.by_order = by_order
        self.peers = peers
        self.notes = notes
        self.bar = bar
        self.answer: np.ndarray | None = None

    def run(self, repeat: int) -> list[Measurement]:
        entries: list[tuple[Measurement, Callable]] = []
        for order, A in self.by_order.items():
            entries.append(self.prepare(_spgraph.NAME, order, {"algorithms": _spgraph.text(self.problem, A)}))
        for peer in self.peers:
            largest = getattr(peer, "LARGEST", None)
            if largest is not None and self.problem.graph.nvals > largest:
                note = f"{peer.NAME}: left out on {self.problem.name}: more than {largest:,} stored edges"
                if note not in self.notes:
                    self.notes.append(note)
                continue
            entries.append(self.prepare(peer.NAME, "", peer.texts(self.problem)))
        self.take_turns(entries, repeat)
        return [row for row, _ in entries]

    def prepare(self, engine: str, order: str, texts: dict[str, Text]) -> tuple[Measurement, Callable]:
        """Warm up, check and try every text; keep the fastest."""
        problem = self.problem
        tried: dict[str, float] = {}
        first = None
        for name, text in texts.items():
            self.bar.set_description(f"{problem.name}: {problem.algorithm}, {engine} ({name})")
            start = time.perf_counter()
            result = text.run()
            seconds = time.perf_counter() - start
            first = seconds if first is None else first
            self.check(f"{engine} ({name})", text.answer(result))
            hopeless = tried and seconds > max(1.0, HOPELESS * min(tried.values()))
            tried[name] = seconds if hopeless else min(_time(text.run) for _ in range(TRIES))
        best = min(tried, key=lambda name: tried[name])
        row = Measurement(problem.name, problem.algorithm, engine, order, best, tried, first or 0.0)
        return row, texts[best].run

    def check(self, engine: str, answer: np.ndarray) -> None:
        """Same answer as the first engine's, or, for trees, a valid one."""
        problem = self.problem
        where = f"{problem.algorithm} on {problem.name}, source {problem.source}"
        if problem.algorithm == "bfs":
            report = validate_bfs(problem.csr, problem.source, answer)
            if not report.ok:
                broken = next(str(rule) for rule in report.rules if not rule.ok)
                raise Disagreement(f"{where}: the tree of {engine} is not valid: {broken}")
            return
        if self.answer is None:
            self.answer = answer
        rtol = 0.0 if problem.dtype.kind == "i" else 1e-3 if problem.dtype == np.float32 else 1e-9
        wrong = ~np.isclose(answer, self.answer, rtol=rtol, atol=0)
        if wrong.any():
            v = int(wrong.argmax())
            raise Disagreement(f"{where}: {engine} has {answer[v]} at vertex {v}, spgraph {self.answer[v]}")

    def take_turns(self, entries: list[tuple[Measurement, Callable]], repeat: int) -> None:
        turns = [
            max(min(repeat, FEWEST), min(repeat, int(ENOUGH / max(row.tried[row.text], 1e-9))))
            for row, _ in entries
        ]
        for turn in range(repeat):
            for place in range(len(entries)):
                number = (turn + place) % len(entries)  # who begins changes
                row, call = entries[number]
                if turn < turns[number]:
                    self.bar.set_description(
                        f"{self.problem.name}: {self.problem.algorithm}, turn {turn + 1}"
                    )
                    row.times.append(_time(call))


def _time(call: Callable) -> float:
    enabled = gc.isenabled()
    gc.disable()
    time.sleep(PAUSE)
    try:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    finally:
        if enabled:
            gc.enable()
