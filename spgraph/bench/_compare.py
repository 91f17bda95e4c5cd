"""spgraph against other engines: same graph, same process, same sources.

Method: see `spgraph.bench._contest`. Medians and minima are reported; ratios are of medians over the turns that
both engines took.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from spgraph import _graphspec, context
from spgraph._cli.names import Names
from spgraph.algorithms._inputs import as_source
from spgraph.bench import _spgraph
from spgraph.bench._asked import check_graphs, check_names, graph_name
from spgraph.bench._contest import Contest
from spgraph.bench._measurement import Measurement
from spgraph.bench._peers import PEERS, default_peers, find_peers
from spgraph.bench._problem import ALGORITHMS, USUAL, Problem, choose_dtype, draw_sources
from spgraph.bench._progress import Progress
from spgraph.bench._saved import described
from spgraph.bench._table import comparison_table
from spgraph.exceptions import InvalidValue
from spgraph.kernels.cpu._threads import threads
from spgraph.matrix import Matrix

__all__ = ["Comparison", "compare"]

USUAL_ORDERS = ("natural", "degree")


@dataclass
class Comparison:
    """What `compare` measured; ``print`` shows tables.

    Attributes
    ----------
    graphs : list of dict
        Name, vertices, stored edges, sources and seconds for each other order than the natural one.
    rows : list of Measurement
    notes : list of str
        What was left out, and why.
    wrong : list of str
        Answers that were wrong and engines that broke: they have no rows.
    arguments : dict
    """

    graphs: list[dict]
    rows: list[Measurement]
    notes: list[str]
    wrong: list[str]
    arguments: dict
    kind = "compare"

    def to_dict(self) -> dict:
        """Everything, for JSON; times in seconds."""
        iterations = self.arguments["iterations of pagerank"]
        rows = [{**row.to_dict(iterations), "ratio": self.ratio(row)} for row in self.rows]
        return {
            "arguments": self.arguments,
            "graphs": self.graphs,
            "rows": rows,
            "notes": self.notes,
            "wrong": self.wrong,
        }

    def ratio(self, row: Measurement) -> dict[str, float]:
        """How many times as long as spgraph an engine takes, for each order of spgraph's."""
        ours = (
            other
            for other in self.rows
            if other.engine == _spgraph.NAME and (other.graph, other.algorithm) == (row.graph, row.algorithm)
        )
        found = {}
        for other in ours:
            turns = min(len(row.times), len(other.times))  # the same sources
            found[other.order] = statistics.median(row.times[:turns]) / statistics.median(other.times[:turns])
        return found

    def __str__(self) -> str:
        return comparison_table(self)


def compare(
    graphs: Iterable[str],
    *,
    against: Iterable[str] | None = None,
    algorithms: Iterable[str] = USUAL,
    repeat: int = 16,
    orders: Iterable[str] = USUAL_ORDERS,
    dtype=None,
    seed: int = 0,
    sources: int = 16,
    source: int | str | None = None,
    seconds: float = 20.0,
    in_a_row: int = 1,
    progress: bool | None = None,
    after_each: Callable[[Comparison], None] | None = None,
) -> Comparison:
    """Time spgraph, on the device of the context in force, and its peers.

    Parameters
    ----------
    graphs : iterable of str
        Files, folders of raw CSR arrays, or generators such as "rmat:18".
    against : iterable of {"graphblas", "scipy", "networkx", "cugraph"}, optional
        One that is not installed is left out, and a note says so. Default: the first three on a CPU,
        cuGraph on a GPU.
    algorithms : iterable of {"bfs", "bfs_parents", "sssp", "sssp_parents", "pagerank", "betweenness", "components", \
"triangles"}
        Default: the first five. PageRank does 20 iterations, weights not counted; the time of a further one comes
        from the difference to 40. Betweenness goes out from all sources in every turn.
        Triangles are counted, directed edges as undirected ones.
    repeat : int
        Turns of every engine, 1 or more.
    orders : iterable of {"natural", "degree", "bfs"}
        Orders of spgraph's matrix; "bfs" is `spgraph.algorithms.bfs_order`. Default: the first two.
    dtype : optional
        Of distances, ranks and centralities, for engines that have a choice. Default: int64 distances (the weights'
        own where they are floats); float64 ranks and centralities on a CPU, float32 on a GPU.
    seed : int
        Of the generators, and of the sources drawn among vertices with an edge.
    sources : int
        How many sources the turns go through; a folder names its own.
    source : int or str, optional
        The only one: its number, or its name as the file has it.
    seconds : float
        What an engine's turns may take for one algorithm: slow ones take fewer, at least three.
    in_a_row : int
        Runs of an engine at each turn. With more than one the first, that comes after another engine's, counts apart,
        see `Measurement.after_others`.
    progress : bool, optional
        Show a bar. Default: if stderr is a terminal, else a line for every graph, algorithm and engine.
    after_each : callable, optional
        Called with what there is after each graph, for instance to save it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu"):
    ...     result = compare(["rmat:6"], against=["scipy"], algorithms=["bfs"], repeat=1)
    >>> [(row.engine, row.order) for row in result.rows]
    [('spgraph', 'natural'), ('spgraph', 'degree'), ('scipy', '')]
    """
    device = context.device()
    graphs, algorithms, orders = list(graphs), list(algorithms), list(orders)
    against = default_peers(device) if against is None else list(against)
    _check_arguments(graphs, against, algorithms, orders, repeat, sources, in_a_row)
    notes: list[str] = []
    peers = find_peers(against, notes)
    arguments = {
        "device": described(device),
        "repeat": repeat,
        "seed": seed,
        "seconds": seconds,
        "in a row": in_a_row,
        "threads": threads(),
        "iterations of pagerank": Problem.iterations,
        "versions": {peer.NAME: peer.version() for peer in peers},
    }
    result = Comparison([], [], notes, [], arguments)
    settings = _Settings(peers, algorithms, orders, repeat, dtype, seed, sources, source, seconds, in_a_row)
    with Progress(len(graphs) * len(algorithms), progress) as told:
        for spec in graphs:
            _compare_on(spec, settings, result, told)
            device.release_memory()
            if after_each is not None:
                after_each(result)
    return result


class _Settings(NamedTuple):
    """What `compare` was asked for, see there."""

    peers: list
    algorithms: list[str]
    orders: list[str]
    repeat: int
    dtype: Any
    seed: int
    sources: int
    source: int | str | None
    seconds: float
    in_a_row: int


def _compare_on(spec: str, settings: _Settings, result: Comparison, told: Progress) -> None:
    """All algorithms on one graph; on return nothing of the graph is left on the device."""
    generated = _graphspec.is_generator(spec)
    told.doing(f"{spec}: {'generating' if generated else 'reading'}")
    A = _graphspec.load(spec, weights="int", order="natural", seed=settings.seed, dup_op="min")
    starts = _starts(A, spec, settings)
    by_order, reordering = _orders(A, settings.orders)
    name = graph_name(spec)
    result.graphs.append(
        {
            "name": name,
            "vertices": A.nrows,
            "stored_edges": A.nvals,
            "weights": A.dtype.name,
            "sources": starts,
            "reorder_seconds": reordering,
        }
    )
    told.done(f"{name}: {'generated' if generated else 'read'}, {A.nvals:,} stored edges")
    shared: dict = {}
    for algorithm in settings.algorithms:
        kind = choose_dtype(algorithm, A, settings.dtype)
        problem = Problem(name, algorithm, A, starts, kind, threads(), shared=shared)
        contest = Contest(problem, by_order, settings.peers, result.notes, result.wrong, told, settings.seconds,
                          settings.in_a_row)  # fmt: skip
        result.rows += contest.run(settings.repeat)
        told.step()


def _starts(A: Matrix, spec: str, settings: _Settings) -> list[int]:
    """Where searches begin: at the source that was asked for, or at some that are drawn."""
    source, where = settings.source, f"compare: {spec}"
    if source is None:
        return draw_sources(A, spec, settings.sources, settings.seed)
    if isinstance(source, str):
        return [Names(A).find(source, f"{where}: source")]
    return [as_source(where, A, source)]


def _check_arguments(graphs, against, algorithms, orders, repeat, sources, in_a_row) -> None:
    check_graphs("compare", graphs)
    check_names("compare", "against", against, PEERS)
    check_names("compare", "algorithms", algorithms, ALGORITHMS)
    check_names("compare", "orders", orders, _graphspec.ORDERS)
    if repeat < 1 or sources < 1 or in_a_row < 1 or not orders:
        raise InvalidValue(
            f"compare: repeat is {repeat}, in_a_row {in_a_row}, sources {sources} and orders {orders}; wanted at least "
            "one of each"
        )


def _orders(A: Matrix, orders: list[str]) -> tuple[dict[str, Matrix], dict[str, float]]:
    """The matrix in each order, and what reordering took (kernels are compiled by then)."""
    found, seconds = {}, {}
    for order in orders:
        if order == "natural":
            found[order] = A
            continue
        for _ in range(2):
            found.pop(order, None)
            again = found[order] = A.dup()
            A._device.synchronize()
            start = time.perf_counter()
            _graphspec.in_order(again, order)
            A._device.synchronize()
            seconds[order] = time.perf_counter() - start
    return found, seconds
