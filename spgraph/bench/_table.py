"""Comparisons as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spgraph.bench._compare import Comparison
    from spgraph.bench._measurement import Measurement

__all__ = ["aligned", "comparison_table"]

OURS = "spgraph"
WIDTH = 120


def comparison_table(comparison: Comparison) -> str:
    """A block for each graph, notes, and last a summary: one row for each graph, its best against the best peer."""
    arguments = comparison.arguments
    foot = [
        f"On {arguments['device']}: medians of {arguments['repeat']} turns, fewer where an engine is slow; "
        f"peers on the CPU have {arguments['threads']} threads.",
        "In brackets: how many times as long as spgraph (in each of its orders).",
        "The text of each peer is its fastest:",
    ]
    foot += _texts(comparison)
    blocks = [_graph_block(comparison, graph) for graph in comparison.graphs]
    blocks.append("\n".join([*foot, *comparison.notes, *(f"WRONG: {text}" for text in comparison.wrong)]))
    if len(comparison.graphs) > 1:
        blocks.append(_summary(comparison))
    return "\n\n".join(blocks)


def _texts(comparison: Comparison) -> list[str]:
    """What each peer ran, a paragraph for each."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in comparison.rows:
        if row.engine != OURS:
            found.setdefault(row.engine, {}).setdefault(row.text, []).append(f"{row.algorithm} on {row.graph}")
    return [
        line
        for engine, texts in found.items()
        for line in textwrap.wrap(
            f"{engine}: " + "; ".join(f"{text} ({', '.join(where)})" for text, where in texts.items()),
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
        )
    ]


def _graph_block(comparison: Comparison, graph: dict) -> str:
    """Algorithms down, engines across, ratios to spgraph beside the times."""
    rows = [row for row in comparison.rows if row.graph == graph["name"]]
    iterations = comparison.arguments["iterations of pagerank"]
    engines = list(dict.fromkeys((row.engine, row.order) for row in rows))
    lines = [["ms", *(f"{engine}, {order}" if order else engine for engine, order in engines)]]
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        cells = {(row.engine, row.order): row for row in rows if row.algorithm == algorithm}
        lines.append([algorithm, *(_cell(comparison, cells.get(key)) for key in engines)])
        if any(row.longer for row in cells.values()):
            each = {key: row.per_iteration(iterations) for key, row in cells.items()}
            lines.append(["  an iteration more", *(_milliseconds(each.get(key)) for key in engines)])
    blocks = [_title(graph), aligned(lines)]
    steps = _steps(rows)
    if steps:
        blocks.append(aligned(steps))
    return "\n".join(blocks)


def _title(graph: dict) -> str:
    sources = graph["sources"]
    origin = f"searched from vertex {sources[0]}" if len(sources) == 1 else f"searched from {len(sources)} vertices"
    title = f"{graph['name']}: {graph['vertices']:,} vertices, {graph['stored_edges']:,} stored edges, {origin}"
    if graph["reorder_seconds"] is not None:
        title += f"; to order by degree took {graph['reorder_seconds'] * 1e3:.1f} ms"
    return title


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3f}" if seconds < 0.01 else f"{seconds * 1e3:.1f}"


def _cell(comparison: Comparison, row: Measurement | None) -> str:
    if row is None:
        return "-"
    text = _milliseconds(row.median)
    if row.engine == OURS:
        return text
    ratios = " / ".join(f"{ratio:.2f}x" for ratio in comparison.ratio(row).values())
    return f"{text} ({ratios})" if ratios else text


def _steps(rows: list[Measurement]) -> list[list[str]]:
    """What a superstep of spgraph costs on a GPU."""
    lines = []
    for row in rows:
        step = row.per_step()
        if step is not None:
            numbers = (f"{step['supersteps']:.0f}", *(f"{step[k]:.1f}" for k in ("microseconds", "launches", "waits")))
            lines.append([f"{row.algorithm}, {row.order}", *numbers])
    head = ["supersteps of spgraph", "number", "us each", "launches each", "waits each"]
    return [head, *lines] if lines else []


def _summary(comparison: Comparison) -> str:
    """One row for each graph: spgraph's better order, and the best peer as a multiple of it."""
    algorithms = list(dict.fromkeys(row.algorithm for row in comparison.rows))
    lines = [["summary, ms", *algorithms]]
    for graph in comparison.graphs:
        cells = []
        for algorithm in algorithms:
            rows = [row for row in comparison.rows if (row.graph, row.algorithm) == (graph["name"], algorithm)]
            cells.append(_best(comparison, rows))
        lines.append([graph["name"], *cells])
    return aligned(lines)


def _best(comparison: Comparison, rows: list[Measurement]) -> str:
    ours = min((row for row in rows if row.engine == OURS), key=lambda row: row.median, default=None)
    peer = min((row for row in rows if row.engine != OURS), key=lambda row: row.median, default=None)
    if ours is None:
        return "-"
    text = _milliseconds(ours.median)
    return text if peer is None else f"{text} ({peer.engine} {comparison.ratio(peer)[ours.order]:.2f}x)"


def aligned(lines: list[list[str]]) -> str:
    """Columns side by side, the first to the left, the others to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )
