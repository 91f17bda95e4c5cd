"""What was measured: times of an engine, and what spgraph's device did meanwhile."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from spgraph.kernels.device import Device

__all__ = ["Measurement", "Steps"]


class Steps(NamedTuple):
    """What a device did: supersteps (matrix-vector products), kernels started, results waited for."""

    products: int
    launches: int
    waits: int

    @classmethod
    def read(cls, device: Device) -> Steps:
        """The device's counters now."""
        counters: Any = device.counters  # type: ignore[attr-defined]  # GPUs have them
        return cls(counters.products, counters.launches, counters.waits)

    def __sub__(self, before: Steps) -> Steps:
        return Steps(*(now - then for now, then in zip(self, before)))


@dataclass
class Measurement:
    """Times of one engine for one algorithm on one graph.

    Attributes
    ----------
    engine : str
        "spgraph", or a peer's package.
    order : str
        spgraph: "natural", "degree" or "bfs"; else "".
    text : str
        Name of the fastest text, and in `tried` the best time of each.
    first : float
        Seconds of the very first call, compilation included.
    times : list of float
        Seconds, one for each turn; of several runs in a row, one for each run but the first.
    after_others : list of float
        Seconds of the first of several runs in a row, one for each turn.
    longer : list of float
        PageRank: seconds with twice as many iterations.
    steps : list of Steps
        spgraph on a GPU: what the device did, turn by turn.
    """

    graph: str
    algorithm: str
    engine: str
    order: str
    text: str
    tried: dict[str, float]
    first: float
    times: list[float] = field(default_factory=list)
    after_others: list[float] = field(default_factory=list)
    longer: list[float] = field(default_factory=list)
    steps: list[Steps] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.times)

    def per_iteration(self, iterations: int) -> float | None:
        """Seconds of one more iteration of PageRank; None for other algorithms."""
        if not self.longer:
            return None
        return (statistics.median(self.longer) - self.median) / iterations

    def per_step(self) -> dict[str, float] | None:
        """Medians over the turns: supersteps, and for each of them microseconds, launches and waits."""
        counted = [(seconds, step) for seconds, step in zip(self.times, self.steps) if step.products]
        if not counted:
            return None
        return {
            "supersteps": statistics.median(step.products for _, step in counted),
            "microseconds": statistics.median(1e6 * seconds / step.products for seconds, step in counted),
            "launches": statistics.median(step.launches / step.products for _, step in counted),
            "waits": statistics.median(step.waits / step.products for _, step in counted),
        }

    def to_dict(self, iterations: int) -> dict:
        """Everything, for JSON; times in seconds."""
        found = asdict(self)
        del found["steps"]
        return {
            **found,
            "median": self.median,
            "min": min(self.times),
            "per_iteration": self.per_iteration(iterations),
            "per_superstep": self.per_step(),
        }
