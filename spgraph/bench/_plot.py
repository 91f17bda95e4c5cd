"""Pictures of measurements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from spgraph.bench._table import PUBLISHED

if TYPE_CHECKING:
    from spgraph.bench._scaling import Scaled, Scaling

__all__ = ["plot_scaling"]


def plot_scaling(scaling: Scaling) -> Any:
    """Speed-ups over devices for each graph, and what a superstep costs without work.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install matplotlib", name="matplotlib") from error
    counts, graphs = scaling.arguments["devices"], scaling.graphs
    figure = Figure(figsize=(4 * (len(graphs) + 1), 3.6), layout="constrained")
    *places, last = figure.subplots(1, len(graphs) + 1, squeeze=False)[0]
    for number, (axes, graph) in enumerate(zip(places, graphs)):
        axes.plot(counts, counts, color="0.6", linestyle=":", label="ideal")
        _lines(axes, [row for row in scaling.rows if scaling.place(row) == number], scaling.speed_up)
        axes.set(title=os.path.basename(graph["name"]), ylabel="speed-up" + ", edges/s" * scaling.arguments["weak"])
    _lines(last, scaling.idle, lambda row: 1e6 * row.per_superstep)
    known = [count for count in counts if count in PUBLISHED]
    last.plot(known, [PUBLISHED[count] for count in known], "x:", color="0.6", label="multi-GPU Gunrock")
    last.set(title="a superstep without work", ylabel="us", yscale="log")
    for axes in (*places, last):
        axes.set(xlabel="devices", xticks=counts)
        axes.legend(fontsize=7)
    return figure


def _lines(axes: Any, rows: list[Scaled], height: Any) -> None:
    """A line for each algorithm."""
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        found = [(row.devices, height(row)) for row in rows if row.algorithm == algorithm]
        points = [(count, value) for count, value in found if value is not None]
        axes.plot(*zip(*points), marker="o", label=algorithm)
