"""A picture of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph._cli.text import sized
from spgraph._trace._records import Record, by_superstep

__all__ = ["plot"]

COLOURS = {"push": "C0", "pull": "C1", "": "C7"}
TIMES = {"compute": "C2", "exchange": "C3", "wait": "0.8"}


def plot(records: list[Record], pairs: np.ndarray, title: str, axes: Any) -> Any:
    """See `Trace.plot`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install matplotlib", name="matplotlib") from error
    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    sizes, matrix, times = _three(axes)
    steps = by_superstep([one for one in records if one.operation])
    numbers = np.array([step[0].superstep for step in steps])
    frontier = np.array([sum(one.frontier for one in step) for step in steps])
    directions = np.array([step[0].direction for step in steps], "U4")
    sizes.plot(numbers, frontier, color="0.6", linewidth=0.8)
    for direction, colour in COLOURS.items():
        here = directions == direction
        if here.any():
            sizes.plot(numbers[here], frontier[here], "o", color=colour, markersize=4, label=direction or "product")
    sizes.set_yscale("symlog", linthresh=1)
    sizes.set(title=title, xlabel="superstep", ylabel="frontier")
    sizes.margins(y=0.2)
    for place in (sizes, times):
        place.xaxis.get_major_locator().set_params(integer=True)
    if steps:
        sizes.legend(loc="best")
    _draw_pairs(matrix, pairs)
    width, base = 1.0, np.zeros(len(steps))
    for name, colour in TIMES.items():
        mean = np.array([np.mean([getattr(one, name) for one in step]) for step in steps]) * 1e3
        times.bar(numbers, mean, width, base, color=colour, label=name)
        base = base + mean
    times.set(title=f"{base.sum():.3g} ms", xlabel="superstep", ylabel="ms, mean of the parts")
    times.legend(loc="best")
    return sizes.figure


def _three(axes: Any) -> list[Any]:
    """Where to draw, from a list or an array."""
    found = list(np.ravel(np.asarray(axes, object)))
    if len(found) != 3 or not all(hasattr(one, "imshow") for one in found):
        raise InvalidValue(f"plot: axes is {axes!r}, wanted three of matplotlib's axes")
    return found


def _draw_pairs(matrix: Any, pairs: np.ndarray) -> None:
    parts = np.arange(len(pairs))
    matrix.set(title=f"sent: {sized(int(pairs.sum()))}", xlabel="to part", ylabel="from part")
    shown = matrix.imshow(np.ma.masked_array(pairs, np.eye(len(pairs), dtype=bool)), cmap="viridis", vmin=0)
    if len(pairs) > 8:
        matrix.figure.colorbar(shown, ax=matrix, label="bytes")
        return
    matrix.set(xticks=parts, yticks=parts)
    for p, d in zip(*np.nonzero(~np.eye(len(pairs), dtype=bool))):
        value = int(pairs[p, d])
        colour = "w" if value <= pairs.max() / 2 else "k"
        matrix.text(d, p, sized(value), ha="center", va="center", fontsize=8, color=colour)
