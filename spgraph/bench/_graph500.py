"""The Graph500 benchmark: construction, BFS and SSSP from 64 roots, all validated.

Method: kernel 1 makes the Matrix out of the list of edges (both directions, duplicates merged to their least
weight, self-loops kept), kernel 2 is `bfs_parents`, kernel 3 `sssp_parents` with float32 weights drawn
uniformly from [0, 1). Roots are different vertices with an edge to another. Every tree is checked by the five rules
against the list of edges itself, on the device. TEPS count the edges of the list within the component,
duplicates and self-loops too. As in the reference code, the first root runs once before the clock; before
kernel 1, a smaller graph is made once.
Deviation: edges come from spgraph's R-MAT generator, with the specification's parameters, not from the reference
code's random stream.
Source: Graph500 benchmark specification 2.0, https://graph500.org/?page_id=12, and its reference code
(graph500/graph500, src/main.c), whose lines the output follows.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from spgraph import _graphspec, algorithms, binary, context, generators
from spgraph.bench._arrays import dense
from spgraph.bench._saved import described
from spgraph.bench._statistics import harmonic_statistics, statistics
from spgraph.exceptions import InvalidValue
from spgraph.kernels.device import Device
from spgraph.matrix import Matrix
from spgraph.validate import EdgeList, ValidationReport, validate_bfs, validate_sssp

__all__ = ["Graph500", "graph500"]

WARM_SCALE = 14  # of the graph, at most, that is made before the clock of kernel 1 starts
WIDTH = 32  # of "key: " in the output, as in the reference code


@dataclass
class Runs:
    """A kernel from all roots: seconds of each, and of each validation."""

    times: list[float] = field(default_factory=list)
    validate: list[float] = field(default_factory=list)


@dataclass
class Graph500:
    """What `graph500` measured; ``print`` shows it as the reference code does.

    Attributes
    ----------
    scale, edgefactor : int
    device, order : str
    stored_edges : int
        Entries of the Matrix.
    generation, construction : float
        Seconds.
    roots, nedge : list of int
        Vertices, and edges of the list in the component of each.
    bfs, sssp : Runs
    validation : {"passed", "skipped"} or str
        Else what is wrong, and the benchmark ended there.
    """

    scale: int
    edgefactor: int
    device: str
    order: str
    seed: int
    stored_edges: int = 0
    generation: float = 0.0
    construction: float = 0.0
    roots: list[int] = field(default_factory=list)
    nedge: list[int] = field(default_factory=list)
    bfs: Runs = field(default_factory=Runs)
    sssp: Runs = field(default_factory=Runs)
    validation: str = "passed"
    kind = "graph500"

    @property
    def valid(self) -> bool:
        """Whether no answer was found to be wrong."""
        return self.validation in ("passed", "skipped")

    def statistics(self) -> dict[str, dict[str, float]]:
        """By what is measured: "bfs time", "nedge", "bfs TEPS", "bfs validate", and the same for sssp."""
        kernels = {"bfs": self.bfs, "sssp": self.sssp}
        found = {f"{name} time": statistics(runs.times) for name, runs in kernels.items()}
        found["nedge"] = statistics(self.nedge)
        found |= {f"{name} TEPS": harmonic_statistics(self.nedge, runs.times) for name, runs in kernels.items()}
        if self.validation == "passed":
            found |= {f"{name} validate": statistics(runs.validate) for name, runs in kernels.items()}
        return found

    def to_dict(self) -> dict:
        """Everything, for JSON; times in seconds."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("bfs", "sssp")},
            "bfs": vars(self.bfs),
            "sssp": vars(self.sssp),
            "statistics": self.statistics() if self.valid else None,
        }

    def __str__(self) -> str:
        head = {
            "SCALE": self.scale,
            "edgefactor": self.edgefactor,
            "NBFS": len(self.roots),
            "graph_generation": f"{self.generation:g}",
            "num_mpi_processes": 1,
            "construction_time": f"{self.construction:g}",
        }
        lines = [f"{key + ':':<{WIDTH}}{value}" for key, value in head.items()]
        if self.valid:
            lines += [line for what, numbers in self.statistics().items() for line in _lines(what, numbers)]
        else:
            lines.append("No results printed for invalid run.")
        tail = {"validation": self.validation, "device": self.device, "order": self.order}
        return "\n".join([*lines, *(f"{key + ':':<{WIDTH}}{value}" for key, value in tail.items())])


def _lines(what: str, numbers: dict[str, float]) -> list[str]:
    """"bfs  min_time:     0.1" and so on; of nedge without a kernel's name."""
    kernel, _, quantity = what.rpartition(" ")
    digits = 11 if quantity == "nedge" else 6
    lines = []
    for name, number in numbers.items():
        key = f"{kernel:<4} {name}_{quantity}:" if kernel else f"{name}_{quantity}:"
        mark = "!  " if name == "harmonic_mean" else ""  # the figure that is ranked by
        lines.append(f"{key:<{WIDTH - len(mark)}}{mark}{number:.{digits}g}")
    return lines


def graph500(
    scale: int,
    edgefactor: int = 16,
    *,
    roots: int = 64,
    order: str = "natural",
    seed: int = 0,
    validate: bool = True,
    progress: bool | None = None,
) -> Graph500:
    """Run the benchmark on the device of the context in force.

    Parameters
    ----------
    scale : int
        Logarithm of the number of vertices.
    edgefactor : int
        Edges per vertex.
    roots : int
        Searches of each kernel; fewer if not so many vertices have an edge to another.
    order : {"natural", "degree", "bfs"}
        Order of the Matrix; making it is part of kernel 1.
    seed : int
        Of edges, weights and roots.
    validate : bool
        False: skip the validation, and say so in the output.
    progress : bool, optional
        Show a bar; default: if stderr is a terminal.

    Returns
    -------
    Graph500

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu"):
    ...     result = graph500(6, roots=4)
    >>> result.validation, len(result.bfs.times)
    ('passed', 4)
    """
    roots = _at_least(roots, 1, "roots")
    _at_least(edgefactor, 1, "edgefactor")
    device = context.device()
    result = Graph500(scale, edgefactor, described(device), order, seed, validation="passed" if validate else "skipped")
    with tqdm(total=2 * roots, leave=False, disable=None if progress is None else not progress) as bar:
        bar.set_description("generating")
        edges, result.generation = _clock(device, partial(_edges, device, scale, edgefactor, seed))
        bar.set_description("kernel 1: construction")
        _construct(_edges(device, min(scale, WARM_SCALE), edgefactor, seed), order)
        A, result.construction = _clock(device, partial(_construct, edges, order))
        result.stored_edges = A.nvals
        result.roots = _draw_roots(edges, roots, seed)
        bar.total = 2 * len(result.roots)
        for name, kernel in (("bfs", _Bfs(A, edges)), ("sssp", _Sssp(A, edges))):
            bar.set_description(f"kernel {2 if name == 'bfs' else 3}: {name}")
            if not _run(device, kernel, result, getattr(result, name), bar):
                break
    return result


def _at_least(number: int, least: int, name: str) -> int:
    if operator.index(number) < least:
        raise InvalidValue(f"graph500: {name} is {number}, wanted {least} or more")
    return number


def _clock(device: Device, call: Callable[[], Any]) -> tuple[Any, float]:
    device.synchronize()
    start = time.perf_counter()
    result = call()
    device.synchronize()
    return result, time.perf_counter() - start


def _edges(device: Device, scale: int, edgefactor: int, seed: int) -> EdgeList:
    """The list that kernel 1 gets, on the device: int32 ends and float32 weights."""
    rows, cols = generators.rmat_edges(scale, edgefactor, seed=seed)
    weights = np.random.default_rng((seed, scale)).random(rows.size, np.float32)
    return EdgeList(1 << scale, *(device.to_device(array) for array in (rows, cols, weights)))


def _construct(edges: EdgeList, order: str) -> Matrix:
    """Kernel 1."""
    both = [
        edges.xp.concatenate(pair)
        for pair in ((edges.rows, edges.cols), (edges.cols, edges.rows), (edges.weights, edges.weights))
    ]
    A = Matrix.from_coo(*both, nrows=edges.n, ncols=edges.n, dup_op=binary.min)
    A._block.symmetric = True  # both directions came with the same weights
    return _graphspec.in_order(A, order)


def _draw_roots(edges: EdgeList, count: int, seed: int) -> list[int]:
    """Different vertices that have an edge to another vertex."""
    linked = edges.xp.zeros(edges.n, bool)
    apart = edges.rows != edges.cols
    linked[edges.rows[apart]] = True
    linked[edges.cols[apart]] = True
    candidates = edges.xp.flatnonzero(linked)
    if not candidates.size:
        raise InvalidValue(f"graph500: no vertex has an edge to another, so there is no root (seed {seed})")
    places = np.random.default_rng((seed, 500)).choice(candidates.size, min(count, candidates.size), replace=False)
    return [int(candidates[int(place)]) for place in places]


class _Bfs:
    """Kernel 2."""

    def __init__(self, A: Matrix, edges: EdgeList):
        self.A = A
        self.edges = edges

    def run(self, root: int) -> Any:
        """What is timed."""
        return algorithms.bfs_parents(self.A, root)

    def parents(self, result: Any) -> Any:
        """As an array, -1 where not reached."""
        return dense(result, -1)

    def validate(self, root: int, result: Any) -> ValidationReport:
        """The five rules."""
        return validate_bfs(self.edges, root, self.parents(result))


class _Sssp(_Bfs):
    """Kernel 3."""

    def run(self, root: int) -> Any:
        """What is timed."""
        return algorithms.sssp_parents(self.A, root)

    def parents(self, result: Any) -> Any:
        """As an array, -1 where not reached."""
        return dense(result[1], -1)

    def validate(self, root: int, result: Any) -> ValidationReport:
        """The five rules."""
        return validate_sssp(self.edges, root, dense(result[0], np.inf), self.parents(result))


def _run(device: Device, kernel: _Bfs, result: Graph500, runs: Runs, bar: tqdm) -> bool:
    """A kernel from all roots; False if an answer is wrong."""
    kernel.run(result.roots[0])
    for number, root in enumerate(result.roots):
        found, seconds = _clock(device, partial(kernel.run, root))
        runs.times.append(seconds)
        if result.validation == "passed":
            report, seconds = _clock(device, partial(kernel.validate, root, found))
            runs.validate.append(seconds)
            if not report.ok:
                problem = next(str(rule) for rule in report.rules if not rule.ok)
                result.validation = f"FAILED: {type(kernel).__name__[1:].lower()} from root {root}: {problem}"
                return False
        if number == len(result.nedge):
            result.nedge.append(kernel.edges.count(kernel.parents(found) >= 0))
        bar.update()
    return True
