"""A picture of a partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.partition._report import Report

__all__ = ["plot"]


def plot(report: Report, axes: Any = None) -> Any:
    """Draw who needs how much of whom, and what each part has.

    Parameters
    ----------
    report : Report
    axes : two of matplotlib's axes, optional
        Where to draw; without, a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.grid(30).to_csr()
    >>> figure = partition.plot(partition.report("contiguous", indptr, indices, 4))
    >>> [place.get_title() for place in figure.axes[:2]]
    ['contiguous: border of 167', 'vertices 1.00, edges 1.03']
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install matplotlib", name="matplotlib") from error
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    matrix, bars = axes
    parts = np.arange(report.parts)
    own = np.eye(report.parts, dtype=bool)
    shown = matrix.imshow(np.ma.masked_array(report.pairs, own), cmap="viridis", vmin=0)
    matrix.set(title=f"{report.name}: border of {report.border:,}", xlabel="needed by part", ylabel="owned by part")
    if report.parts <= 8:
        matrix.set(xticks=parts, yticks=parts)
        bars.set(xticks=parts)
        middle = report.pairs.max() / 2
        for p, d in zip(*np.nonzero(~own)):
            value = report.pairs[p, d]
            matrix.text(d, p, f"{value:,}", ha="center", va="center", fontsize=8, color="w" if value <= middle else "k")
    matrix.figure.colorbar(shown, ax=matrix, label="values to share")
    for shift, name, counts in ((-0.2, "vertices", report.vertices), (0.2, "edges", report.edges)):
        bars.bar(parts + shift, counts / max(counts.sum(), 1), width=0.4, label=name)
    bars.margins(y=0.2)
    bars.axhline(1 / report.parts, color="0.25", linewidth=0.8)
    bars.set(title=f"vertices {report.vertex_balance:.2f}, edges {report.edge_balance:.2f}", xlabel="part",
             ylabel="share")  # fmt: skip
    bars.legend(loc="upper right", ncols=2)
    return matrix.figure
