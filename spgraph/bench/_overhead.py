"""What a call costs when there is nothing to compute: tiny supersteps, and importing spgraph.

Method: BFS along a path of 1,000 vertices is 1,000 supersteps of two
expressions each (`level(frontier.S) << depth` and the masked product), so the
time divided by 2,000 is the cost of an expression, kernels included. The same
text runs on python-graphblas where it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import ModuleType

import numpy as np

from spgraph.exceptions import InvalidValue

__all__ = ["Overhead", "overhead"]

EXPRESSIONS = 2  # in a superstep
IMPORTS = {
    "python alone": "pass",
    "numpy": "import numpy",
    "semirings": "import semirings",
    "spgraph": "import spgraph",
}


@dataclass
class Overhead:
    """What `overhead` measured; ``print`` shows it.

    Attributes
    ----------
    vertices : int
        Length of the path.
    device : str
        Of spgraph's objects.
    expression : dict of str to float
        Microseconds per expression, by engine (median).
    imports : dict of str to float
        Seconds of a new process that imports what the key says (median).
    """

    vertices: int
    device: str
    expression: dict[str, float]
    imports: dict[str, float]
    kind = "overhead"

    def to_dict(self) -> dict:
        """Everything, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        what = f"{EXPRESSIONS * self.vertices:,} expressions of a BFS along {self.vertices:,} vertices"
        rows = [f"{what}, on {self.device}:"]
        rows += [f"  {engine:<18}{cost:8.1f} us per expression" for engine, cost in self.expression.items()]
        if self.imports:
            rows.append("a new process:")
            rows += [f"  {what:<18}{seconds * 1e3:8.0f} ms" for what, seconds in self.imports.items()]
        return "\n".join(rows)


def overhead(vertices: int = 1000, *, repeat: int = 5, imports: int = 5) -> Overhead:
    """Measure.

    Parameters
    ----------
    vertices : int
        Length of the path, 1 or more.
    repeat : int
        Runs of which the median counts, 1 or more.
    imports : int
        New processes for each import; 0 leaves imports out.

    Returns
    -------
    Overhead

    Examples
    --------
    >>> list(overhead(vertices=10, repeat=1, imports=0).expression)[0]
    'spgraph'
    """
    if vertices < 1 or repeat < 1 or imports < 0:
        raise InvalidValue(
            f"overhead: vertices is {vertices}, repeat {repeat} and imports {imports}; wanted 1 or more, "
            "1 or more, 0 or more"
        )
    import spgraph

    engines: dict[str, ModuleType] = {"spgraph": spgraph}
    if importlib.util.find_spec("graphblas"):
        engines["python-graphblas"] = importlib.import_module("graphblas")
    calls = {name: _along_path(engine, vertices) for name, engine in engines.items()}
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    expression = {
        name: statistics.median(found) / (EXPRESSIONS * vertices) * 1e6 for name, found in times.items()
    }
    return Overhead(vertices, spgraph.context.device().name, expression, _imports(imports))


def _along_path(gb: ModuleType, n: int) -> Callable[[], None]:
    A = gb.Matrix.from_coo(np.arange(n - 1), np.arange(1, n), True, nrows=n, ncols=n)
    any_pair = gb.semiring.any_pair

    def bfs() -> None:
        level = gb.Vector(np.int32, n)
        frontier = gb.Vector.from_coo([0], True, size=n)
        depth = 0
        while frontier.nvals:
            level(frontier.S) << depth
            frontier(~level.S, replace=True) << frontier.vxm(A, any_pair)
            depth += 1

    return bfs


def _imports(count: int) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(count):
        for name, statement in IMPORTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            found[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in found.items() if times}
