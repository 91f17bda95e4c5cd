"""The same algorithms on one device and on several: times, speed-ups, and what a superstep costs besides its work.

Method: all numbers of devices take turns, run by run, from the same sources, after their answers were checked against
those of one device. What a superstep costs besides its work (l in the BSP cost W + H g + S l) is the time of one on
a path of 256 vertices, dealt out at random so that its edges cross: there is nothing to compute, and everything is
decided, started, sent and waited for. A graph stays the same (strong scaling) or grows with the devices (weak).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spgraph import _graphspec, context
from spgraph._trace import trace
from spgraph.bench import _spgraph
from spgraph.bench._arrays import to_host
from spgraph.bench._asked import check_graphs, check_names, graph_name
from spgraph.bench._clock import clock, supersteps
from spgraph.bench._contest import FEWEST, Contest
from spgraph.bench._problem import ALGORITHMS, PUSHED, Answer, Problem, choose_dtype, directed, draw_sources
from spgraph.bench._progress import Progress
from spgraph.bench._saved import described
from spgraph.bench._table import scaling_table
from spgraph.context import Context
from spgraph.exceptions import InvalidValue
from spgraph.exchange import group_of
from spgraph.kernels.cpu._threads import threads
from spgraph.kernels.device import Device
from spgraph.matrix import Matrix

__all__ = ["SCALED", "USUALLY_SCALED", "Scaled", "Scaling", "scaling"]

SCALED = (PUSHED, *ALGORITHMS)
USUALLY_SCALED = (PUSHED, "bfs", "sssp", "components", "pagerank", "betweenness")
GROWING = ("rmat", "uniform", "grid", "path", "cycle")
NOTHING = "path:256"  # a graph on which a superstep has nothing to compute
COMPILED = "always"  # there, too: nothing is interpreted


@dataclass
class Scaled:
    """Times of one algorithm on one graph and so many devices.

    Attributes
    ----------
    graph : str
    stored_edges : int
    algorithm : str
        "bfs_push" is a BFS that never pulls.
    devices : int
    times : list of float
        Seconds, one for each turn.
    supersteps : list of int
        Products of each turn.
    sent : float
        Bytes that went from one device to another per superstep, in a run that was traced and does not count.
    """

    graph: str
    stored_edges: int
    algorithm: str
    devices: int
    times: list[float] = field(default_factory=list)
    supersteps: list[int] = field(default_factory=list)
    sent: float = 0.0

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.times)

    @property
    def per_superstep(self) -> float:
        """Seconds, the median over the turns."""
        return statistics.median(seconds / max(count, 1) for seconds, count in zip(self.times, self.supersteps))


@dataclass
class Scaling:
    """What `scaling` measured; ``print`` shows tables, `plot` draws.

    Attributes
    ----------
    graphs : list of dict
        Name as asked for; by number of devices: name, vertices, stored edges, sources.
    rows : list of Scaled
    idle : list of Scaled
        On a path, where a superstep has nothing to compute.
    notes : list of str
    wrong : list of str
        Answers that were wrong and runs that broke: they have no rows.
    arguments : dict
    """

    graphs: list[dict]
    rows: list[Scaled]
    idle: list[Scaled]
    notes: list[str]
    wrong: list[str]
    arguments: dict
    kind = "scaling"

    def speed_up(self, row: Scaled) -> float | None:
        """Stored edges per second over those of one device; None if that one has no row."""
        for one in self.rows:
            if (one.devices, one.algorithm) == (1, row.algorithm) and self.place(one) == self.place(row):
                return one.median / row.median * row.stored_edges / max(one.stored_edges, 1)
        return None

    def place(self, row: Scaled) -> int | None:
        """The number of a row's graph among `graphs`."""
        names = (graph["names"].get(row.devices) for graph in self.graphs)
        return next((k for k, name in enumerate(names) if name == row.graph), None)

    def latency(self, algorithm: str, devices: int) -> float | None:
        """Seconds of a superstep that has nothing to compute; None if that was not measured."""
        found = (row for row in self.idle if (row.algorithm, row.devices) == (algorithm, devices))
        return next((row.per_superstep for row in found), None)

    def to_dict(self) -> dict:
        """Everything, for JSON; times in seconds."""
        rows = [
            {
                **asdict(row),
                "median": row.median,
                "min": min(row.times),
                "speed_up": self.speed_up(row),
                "per_superstep": row.per_superstep,
                "per_superstep_idle": self.latency(row.algorithm, row.devices),
            }
            for row in self.rows
        ]
        return {
            "arguments": self.arguments,
            "graphs": self.graphs,
            "rows": rows,
            "idle": [{**asdict(row), "per_superstep": row.per_superstep} for row in self.idle],
            "notes": self.notes,
            "wrong": self.wrong,
        }

    def plot(self) -> Any:
        """Speed-ups over devices for each graph, and what a superstep costs besides its work; matplotlib's figure."""
        from spgraph.bench._plot import plot_scaling

        return plot_scaling(self)

    def __str__(self) -> str:
        return scaling_table(self)


class _Settings(NamedTuple):
    """What `scaling` was asked for, see there."""

    devices: dict[int, Device]
    algorithms: list[str]
    parts: dict[str, Any]  # as a context says it
    order: str
    weak: bool
    repeat: int
    seconds: float
    dtype: Any
    seed: int
    sources: int | None  # None: one for each device


class _Case(NamedTuple):
    """A graph on so many devices."""

    devices: int
    device: Device
    name: str
    whole: Matrix  # on one device
    parts: Matrix
    starts: list[int]


def scaling(
    graphs: Iterable[str],
    *,
    devices: Iterable[int] = (1, 2, 4),
    algorithms: Iterable[str] = USUALLY_SCALED,
    partition: Any = None,
    duplicate: str | None = None,
    exchange: str | None = None,
    order: str = "natural",
    weak: bool = False,
    repeat: int = 16,
    seconds: float = 20.0,
    dtype=None,
    seed: int = 0,
    sources: int = 16,
    progress: bool | None = None,
    after_each: Callable[[Scaling], None] | None = None,
) -> Scaling:
    """Time algorithms on one and on several devices: GPUs where the context's device is one, else parts of the CPU.

    Parameters
    ----------
    graphs : iterable of str
        Files, folders of raw CSR arrays, or generators such as "rmat:18".
    devices : iterable of int
        How many; one is always measured, since the others are compared with it.
    algorithms : iterable of str
        "bfs_push" (a BFS that never pulls), or what `compare` knows; PageRank does 20 iterations.
        Default: bfs_push, bfs, sssp, components, pagerank, betweenness.
    partition, duplicate, exchange : optional
        As for `Context`.
    order : {"natural", "degree", "bfs"}
        Of the vertices of each part.
    weak : bool
        The graph grows with the devices: a generator's scale by one, or its side by two, whenever they double.
        Speed-ups are then of stored edges per second.
    repeat : int
        Turns of every number of devices, 1 or more.
    seconds : float
        What the turns of one number of devices may take for one algorithm: slow ones take fewer, at least three.
    dtype, seed, sources, progress, after_each
        As for `compare`.

    Returns
    -------
    Scaling

    Raises
    ------
    InvalidValue
        If an argument is none of these, a graph cannot grow, or the context has several devices already.
    NoDevice
        If there are not so many GPUs.

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu"):
    ...     result = scaling(["rmat:6"], devices=[2], algorithms=["bfs"], repeat=1)
    >>> [(row.algorithm, row.devices) for row in result.rows]
    [('bfs', 1), ('bfs', 2)]
    """
    graphs, algorithms, counts = list(graphs), list(algorithms), sorted({1, *devices})
    base = context.device()
    _check_arguments(base, graphs, counts, algorithms, order, weak, repeat, sources)
    parts = {"partition": partition, "duplicate": duplicate, "exchange": exchange}
    Context(**parts)
    there = {count: _devices(base, count) for count in counts}
    arguments = {
        "device": described(base),
        "devices": counts,
        **{name: said if said is None or isinstance(said, str) else repr(said) for name, said in parts.items()},
        "direction": context.current().direction,
        "order": order,
        "weak": weak,
        "repeat": repeat,
        "seconds": seconds,
        "seed": seed,
        "threads": threads(),
        "iterations of pagerank": Problem.iterations,
    }
    result = Scaling([], [], [], [], [], arguments)
    settings = _Settings(there, algorithms, parts, order, weak, repeat, seconds, dtype, seed, sources)
    with Progress((1 + len(graphs)) * len(algorithms), progress) as told:
        with Context(base, jit=COMPILED, direction=context.current().direction):
            nothing = settings._replace(parts={**parts, "partition": "random"}, weak=False, sources=None)
            cases = _cases(NOTHING, nothing, told)
            result.idle += _measured(cases, nothing, result, told)
        for spec in graphs:
            cases = _cases(spec, settings, told)
            result.graphs.append(_summary(spec, cases))
            result.rows += _measured(cases, settings, result, told)
            for device in there.values():
                device.release_memory()
            if after_each is not None:
                after_each(result)
    return result


def _check_arguments(base, graphs, counts, algorithms, order, weak, repeat, sources) -> None:
    if base.group is not None:
        raise InvalidValue(f"scaling: the context's device is {base.name!r}, wanted one; `devices` says how many")
    check_graphs("scaling", graphs)
    check_names("scaling", "algorithms", algorithms, SCALED)
    if order not in _graphspec.ORDERS:
        raise InvalidValue(f"scaling: order is {order!r}, wanted one of {', '.join(_graphspec.ORDERS)}")
    if counts[0] < 1 or repeat < 1 or sources < 1:
        raise InvalidValue(f"scaling: devices are {counts}, repeat is {repeat} and sources {sources}; wanted 1 or more")
    for spec in graphs if weak else ():
        for count in counts:
            _grown(spec, count)


def _devices(base: Device, count: int) -> Device:
    """So many GPUs, the first ones, or parts of whatever else there is."""
    if count == 1:
        return base
    if base.name.startswith("cuda:"):
        return context.find_device([f"cuda:{number}" for number in range(count)], "scaling: devices")
    return group_of((base,) * count)


def _grown(spec: str, times: int) -> str:
    """The generator with so many times the vertices."""
    name, _, rest = spec.partition(":")
    first, *more = rest.split(":")
    if not _graphspec.is_generator(spec) or name not in GROWING:
        raise InvalidValue(f"scaling: {spec}: weak scaling needs a graph that grows: {', '.join(GROWING)}")
    _graphspec.parse(spec)
    if times == 1:
        return spec
    if name == "grid":
        rows, _, columns = first.partition("x")
        return f"grid:{int(rows) * times}x{columns or rows}"
    if name in ("path", "cycle"):
        return f"{name}:{int(first) * times}"
    if times & (times - 1):
        raise InvalidValue(f"scaling: {spec} on {times} devices: a scale grows with 2, 4, 8, ... devices")
    return ":".join([name, str(int(first) + times.bit_length() - 1), *more])


def _cases(spec: str, settings: _Settings, told: Progress) -> list[_Case]:
    """The graph on each number of devices."""
    found: list[_Case] = []
    for count, device in settings.devices.items():
        if found and not settings.weak:
            name, whole = found[0].name, found[0].whole
        else:
            name = _grown(spec, count) if settings.weak else spec
            told.doing(f"{name}: {'generating' if _graphspec.is_generator(name) else 'reading'}")
            whole = _graphspec.load(name, weights="int", order="natural", seed=settings.seed, dup_op="min")
            starts = draw_sources(whole, name, settings.sources or max(settings.devices), settings.seed)
        told.doing(f"{name}: to {device.name}")
        with Context(device, **settings.parts):
            parts = whole if device is whole._device else whole._moved(device)
            if settings.order != parts.order:
                parts = _graphspec.in_order(parts.dup() if parts is whole else parts, settings.order)
        own = starts if settings.sources else starts[:count]
        found.append(_Case(count, device, name, whole, parts, own))
    told.done(f"{spec}: {found[0].whole.nvals:,} stored edges, on {', '.join(case.device.name for case in found)}")
    return found


def _summary(spec: str, cases: list[_Case]) -> dict:
    return {
        "name": graph_name(spec),
        "names": {case.devices: case.name for case in cases},
        "vertices": {case.devices: case.whole.nrows for case in cases},
        "stored_edges": {case.devices: case.whole.nvals for case in cases},
        "weights": cases[0].whole.dtype.name,
        "sources": {case.devices: case.starts for case in cases},
    }


def _measured(cases: list[_Case], settings: _Settings, result: Scaling, told: Progress) -> list[Scaled]:
    """All algorithms on one graph."""
    rows = []
    for algorithm in settings.algorithms:
        runs = [_Run(case, algorithm, settings, result, told) for case in cases]
        runs = [run for run in runs if run.prepare()]
        for turn in range(settings.repeat):
            told.doing(f"{cases[0].name}, {algorithm}, turn {turn + 1}")
            for place in range(len(runs)):
                runs[(turn + place) % len(runs)].turn(turn)
        rows += [run.row for run in runs]
        shown = ", ".join(f"{1e3 * run.row.median:.4g} ms on {run.row.devices}" for run in runs)
        told.done(f"{cases[0].name}, {algorithm}: {shown or 'left out'}")
        told.step()
    return rows


class _Run:
    """An algorithm on a graph on so many devices."""

    def __init__(self, case: _Case, algorithm: str, settings: _Settings, result: Scaling, told: Progress):
        self.case = case
        self.settings = settings
        plain, self.direction = directed(algorithm)
        dtype = choose_dtype(plain, case.whole, settings.dtype)
        self.problem = Problem(case.name, plain, case.whole, case.starts, dtype, threads())
        self.judge = Contest(self.problem, {}, [], result.notes, result.wrong, told, settings.seconds)
        self.text = _spgraph.text(self.problem, case.parts)
        self.row = Scaled(case.name, case.whole.nvals, algorithm, case.devices)
        self.turns = 0

    def prepare(self) -> bool:
        """Warm up and check; whether it takes part."""
        name = f"{self.row.algorithm} on {self.case.device.name}"
        try:
            one = _spgraph.text(self.problem, self.case.whole)
            wanted = one.answer(one.run(self.problem.argument(0)))
            found = self.judge.check(wanted) or self.differs(wanted, self.text.answer(self.run(0)[1]))
        except Exception as error:
            self.judge.broken(name, error)
            return False
        if found is not None:
            self.judge.wrong.append(f"{self.case.name}: {name}: {found}")
            return False
        if self.case.devices > 1:
            with trace() as t:
                self.run(0)
            self.row.sent = float(t.bytes.sum()) / max(t.supersteps, 1)
        seconds = self.run(0)[0]
        fewest = min(FEWEST, self.settings.repeat)
        self.turns = max(fewest, int(min(self.settings.repeat, self.settings.seconds / max(seconds, 1e-9))))
        for turn in range(1, min(self.turns, len(self.case.starts))):
            self.run(turn)  # another source may need other kernels, which take tens of milliseconds to load
        return True

    def differs(self, wanted: Answer, answer: Answer) -> str | None:
        """What is wrong with an answer: it must be right, and that of one device where that is the only right one."""
        for name in ("level", "distance"):
            one, other = getattr(wanted, name), getattr(answer, name)
            if one is not None and not np.array_equal(to_host(one), to_host(other)):
                return f"it has not the {name}s that one device finds"
        return self.judge.check(answer)

    def run(self, turn: int) -> tuple[float, Any]:
        """Seconds, and the result."""
        with Context(self.case.device, direction=self.direction, **self.settings.parts):
            return clock(self.text.run, self.problem.argument(turn), self.case.device.synchronize, self.judge.pause)

    def turn(self, turn: int) -> None:
        """Time it, if it is not too slow for so many turns."""
        if turn >= self.turns:
            return
        with supersteps() as count:
            self.row.times.append(self.run(turn)[0])
        self.row.supersteps.append(count[0])
