"""What buffers for frontiers cost: just enough, of fixed size, or for all edges.

Method: the engine counts the edges of a frontier before it pushes, and gives the list that comes out room for so many
entries, on the CPU exactly as many as there are ("just enough"). This benchmark lets it give each list room for all
vertices instead ("fixed") or for all stored edges ("maximum"), which need no counting, and measures the most that is
held beyond the graph (a hook on CuPy's pool, of several GPUs the largest; tracemalloc on the CPU) and the time. Only
lists that a push makes are different. Loops that a device runs by itself have lists for all vertices, or a share of
them, whatever they come to hold, so that here all run product by product. On the CPU its scratch has the size of the
vertices anyhow, and betweenness keeps lists (one a level) where it goes source by source, on graphs of more than 2^16
vertices.
"""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from spgraph import _graphspec, context
from spgraph.bench import _spgraph
from spgraph.bench._arrays import to_host
from spgraph.bench._asked import check_graphs, check_names, graph_name
from spgraph.bench._clock import clock
from spgraph.bench._contest import FEWEST
from spgraph.bench._problem import ALGORITHMS, PUSHED, Problem, choose_dtype, directed, draw_sources
from spgraph.bench._progress import Progress
from spgraph.bench._saved import described
from spgraph.bench._table import memory_table
from spgraph.context import Context
from spgraph.engine import loops_cpu, loops_cuda, products_cpu, queues_cuda, scatters
from spgraph.engine.parts import loops as parts_loops
from spgraph.exceptions import InvalidValue, OutOfMemory
from spgraph.kernels.cpu._threads import threads
from spgraph.kernels.device import Device
from spgraph.matrix import Matrix

__all__ = ["Allocation", "Memory", "memory"]

POLICIES = ("just enough", "fixed", "maximum")
USUALLY_PUSHED = (PUSHED, "sssp", "betweenness")
TRACED_RUNS = 3  # of which the least peak counts, where other threads may allocate meanwhile


@dataclass
class Allocation:
    """An algorithm under one policy.

    Attributes
    ----------
    graph : str
    algorithm : str
    policy : {"just enough", "fixed", "maximum"}
    peak : int or None
        Bytes that the run held at most beyond the graph; None if it ran out of memory.
    times : list of float
        Seconds.
    """

    graph: str
    algorithm: str
    policy: str
    peak: int | None = None
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Seconds; None if it ran out of memory."""
        return statistics.median(self.times) if self.times else None


@dataclass
class Memory:
    """What `memory` measured; ``print`` shows a table.

    Attributes
    ----------
    graphs : list of dict
    rows : list of Allocation
    wrong : list of str
        Answers that differed; there must be none.
    arguments : dict
    """

    graphs: list[dict]
    rows: list[Allocation]
    wrong: list[str]
    arguments: dict
    kind = "memory"

    def to_dict(self) -> dict:
        """Everything, for JSON; bytes and seconds."""
        rows = [{**asdict(row), "median": row.median} for row in self.rows]
        return {"arguments": self.arguments, "graphs": self.graphs, "rows": rows, "wrong": self.wrong}

    def __str__(self) -> str:
        return memory_table(self)


def memory(
    graphs: Iterable[str],
    *,
    algorithms: Iterable[str] = USUALLY_PUSHED,
    order: str = "natural",
    repeat: int = 5,
    seconds: float = 20.0,
    dtype=None,
    seed: int = 0,
    sources: int = 16,
    progress: bool | None = None,
    after_each: Callable[[Memory], None] | None = None,
) -> Memory:
    """Measure memory and time with lists that have just enough room, room for all vertices, and for all edges.

    Parameters
    ----------
    graphs : iterable of str
        Files, folders of raw CSR arrays, or generators such as "rmat:18".
    algorithms : iterable of str
        As for `scaling`. Default: bfs_push, sssp, betweenness.
    order, repeat, seconds, dtype, seed, sources, progress, after_each
        As for `scaling`; searches go out from the first source, betweenness from all.

    Returns
    -------
    Memory

    Raises
    ------
    InvalidValue
        If an argument is none of these.

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu"):
    ...     result = memory(["grid:40"], algorithms=["bfs_push"], repeat=1)
    >>> just_enough, fixed, maximum = (row.peak for row in result.rows)
    >>> just_enough < fixed < maximum
    True
    """
    graphs, algorithms = list(graphs), list(algorithms)
    check_graphs("memory", graphs)
    check_names("memory", "algorithms", algorithms, (PUSHED, *ALGORITHMS))
    if repeat < 1 or sources < 1 or order not in _graphspec.ORDERS:
        raise InvalidValue(f"memory: repeat is {repeat}, sources {sources} and order {order!r}; wanted 1 or more of "
                           f"each, and one of {', '.join(_graphspec.ORDERS)}")  # fmt: skip
    device = context.device()
    arguments = {"device": described(device), "order": order, "repeat": repeat, "seconds": seconds, "seed": seed,
                 "threads": threads()}  # fmt: skip
    result = Memory([], [], [], arguments)
    with Progress(len(graphs) * len(algorithms), progress) as told:
        for spec in graphs:
            told.doing(f"{spec}: {'generating' if _graphspec.is_generator(spec) else 'reading'}")
            A = _graphspec.load(spec, weights="int", order=order, seed=seed, dup_op="min")
            starts = draw_sources(A, spec, sources, seed)
            name = graph_name(spec)
            result.graphs.append({"name": name, "vertices": A.nrows, "stored_edges": A.nvals, "sources": starts})
            for algorithm in algorithms:
                plain, direction = directed(algorithm)
                problem = Problem(name, plain, A, starts, choose_dtype(plain, A, dtype), threads())
                # a compiler's memory is not the lists'
                with Context(device, direction=direction, jit="always"), _product_by_product():
                    rows = _measured(problem, algorithm, repeat, seconds, result.wrong, told)
                result.rows += rows
                shown = ", ".join(f"{row.policy} {_megabytes(row.peak)}" for row in rows)
                told.done(f"{name}, {algorithm}: {shown}")
                told.step()
            if after_each is not None:
                after_each(result)
    return result


def _megabytes(peak: int | None) -> str:
    return "does not fit" if peak is None else f"{peak / 1e6:.4g} MB"


def _measured(problem: Problem, algorithm: str, repeat: int, seconds: float, wrong: list[str],
              told: Progress) -> list[Allocation]:  # fmt: skip
    """Each policy: warm up, compare answers, find the peak, then take turns."""
    text, device = _spgraph.text(problem, problem.graph), problem.graph._device
    argument, turns = problem.argument(0), {}
    rows = [Allocation(problem.name, algorithm, policy) for policy in POLICIES]
    wanted = None
    for row in rows:
        told.doing(f"{problem.name}, {algorithm}, {row.policy}")
        with _room_for(row.policy, problem.graph):
            try:
                answer = text.answer(text.run(argument))
                wanted = wanted or answer
                if not all(one is other is None or np.array_equal(to_host(one), to_host(other), equal_nan=True)
                           for one, other in zip(wanted, answer)):  # fmt: skip
                    wrong.append(f"{algorithm} on {problem.name}: another answer with {row.policy} room")
                del answer
                row.peak = _peak(lambda: text.run(argument), device)
                once = clock(text.run, argument, device.synchronize)[0]
            except (OutOfMemory, MemoryError):
                row.peak = None
                device.release_memory()
                continue
        turns[row.policy] = max(min(FEWEST, repeat), int(min(repeat, seconds / max(once, 1e-9))))
    for turn in range(repeat):
        for place in range(len(rows)):
            row = rows[(turn + place) % len(rows)]
            if turn < turns.get(row.policy, 0):
                with _room_for(row.policy, problem.graph):
                    row.times.append(clock(text.run, argument, device.synchronize)[0])
    return rows


@contextmanager
def _product_by_product() -> Iterator[None]:
    """No device runs loops by itself."""
    names = [(module, name) for module in (loops_cpu, loops_cuda, parts_loops) for name in ("grow", "relax")]
    before = [getattr(module, name) for module, name in names]
    for module, name in names:
        setattr(module, name, lambda *_: None)
    try:
        yield
    finally:
        for (module, name), real in zip(names, before):
            setattr(module, name, real)


@contextmanager
def _room_for(policy: str, A: Matrix) -> Iterator[None]:
    """Let pushes make lists with so much room."""
    if policy == "just enough":
        yield
        return
    group = A._device.group
    most = A.nvals // (group.parts if group is not None else 1)

    def on_gpu(block: Any, size: int, edges: int) -> int:
        return (size if policy == "fixed" else block.nvals) if edges else 0

    def gathered(array: np.ndarray, pieces: list[slice]) -> np.ndarray:
        kept, count = np.empty(array.size if policy == "fixed" else max(most, array.size), array.dtype), 0
        for piece in pieces:
            more = count + piece.stop - piece.start
            kept[count:more] = array[piece]
            count = more
        return kept[:count]

    def found(space: Any, pieces: list[slice]) -> tuple[np.ndarray, bool]:
        indices, ascending = before[2](space, pieces)
        return (gathered(indices, [slice(0, indices.size)]) if ascending else indices), ascending

    before: tuple[Any, ...] = queues_cuda.room, scatters.gathered, scatters.found
    queues_cuda.room = on_gpu  # type: ignore[assignment]
    scatters.gathered = products_cpu.gathered = gathered
    scatters.found = products_cpu.found = found
    try:
        yield
    finally:
        queues_cuda.room = before[0]
        scatters.gathered = products_cpu.gathered = before[1]
        scatters.found = products_cpu.found = before[2]


def _traced(run: Callable[[], Any]) -> int:
    """Most bytes at once as Python's allocators count them, those of anything else that happens meanwhile included."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = run()
        peak = tracemalloc.get_traced_memory()[1] - before
        del result
    finally:
        tracemalloc.stop()
    return peak


def _peak(run: Callable[[], Any], device: Device) -> int:
    """The most bytes that are held at once beyond what is held now, on the device where that is most."""
    if not device.name.startswith("cuda:"):
        return min(_traced(run) for _ in range(TRACED_RUNS))
    import cupy

    held: dict[int, int] = {}
    most: dict[int, int] = {}

    class Held(cupy.cuda.MemoryHook):
        name = "spgraph bench memory"

        def malloc_postprocess(self, **of: Any) -> None:
            number = of["device_id"]
            held[number] = held.get(number, 0) + of["mem_size"]
            most[number] = max(most.get(number, 0), held[number])

        def free_postprocess(self, **of: Any) -> None:
            held[of["device_id"]] = held.get(of["device_id"], 0) - of["mem_size"]

    with Held():
        result = run()
        device.synchronize()
        del result
    return max(most.values(), default=0)
