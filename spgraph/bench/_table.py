"""Comparisons as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spgraph.bench._compare import Comparison, Measurement

__all__ = ["comparison_table"]


def comparison_table(comparison: Comparison) -> str:
    """One block for each graph: algorithms down, engines across, ratios to spgraph beside the times."""
    blocks = [_graph_block(comparison, graph) for graph in comparison.graphs]
    arguments = comparison.arguments
    foot = [
        f"Medians of {arguments['repeat']} turns, {arguments['threads']} threads.",
        "In brackets: how many times as long as spgraph (order natural / degree).",
        "The text of each peer is its fastest:",
    ]
    foot += [
        f"  {row.graph} {row.algorithm}: {row.engine}, {row.text}"
        for row in comparison.rows
        if row.engine != "spgraph"
    ]
    return "\n\n".join([*blocks, "\n".join([*foot, *comparison.notes])])


def _graph_block(comparison: Comparison, graph: dict) -> str:
    rows = [row for row in comparison.rows if row.graph == graph["name"]]
    engines = list(dict.fromkeys((row.engine, row.order) for row in rows))
    head = ["ms", *(f"{engine}, {order}" if order else engine for engine, order in engines)]
    lines = [head]
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        cells = {(row.engine, row.order): row for row in rows if row.algorithm == algorithm}
        lines.append(
            [algorithm, *(_cell(comparison, cells[key]) if key in cells else "-" for key in engines)]
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    table = "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )
    title = (
        f"{graph['name']}: {graph['vertices']:,} vertices, {graph['stored_edges']:,} stored edges, "
        f"source {graph['source']}"
    )
    if graph["reorder_seconds"] is not None:
        title += f"; to order by degree took {graph['reorder_seconds'] * 1e3:.1f} ms"
    return f"{title}\n{table}"


def _cell(comparison: Comparison, row: Measurement) -> str:
    text = f"{row.median * 1e3:.2f}"
    if row.engine == "spgraph":
        return text
    ratios = " / ".join(f"{ratio:.2f}x" for ratio in comparison.ratio(row).values())
    return f"{text} ({ratios})"
