"""Comparisons as text."""

from __future__ import annotations

import statistics
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spgraph.bench._compare import Comparison
    from spgraph.bench._measurement import Measurement
    from spgraph.bench._memory import Memory
    from spgraph.bench._scaling import Scaled, Scaling

__all__ = ["aligned", "comparison_table", "memory_table", "scaling_table"]

OURS = "spgraph"
WIDTH = 120
PUBLISHED = {1: 66.8, 2: 124, 3: 142, 4: 188}  # us per superstep without work: multi-GPU Gunrock (Pan et al., 2017)


def comparison_table(comparison: Comparison) -> str:
    """A block for each graph, notes, and last a summary: one row for each graph, its best against the best peer."""
    arguments = comparison.arguments
    foot = [
        f"On {arguments['device']}: medians of {arguments['repeat']} turns, fewer where an engine is slow"
        + (f", of {arguments['in a row']} runs each without the first" if arguments["in a row"] > 1 else "")
        + f"; peers on the CPU have {arguments['threads']} threads.",
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
    for order, seconds in graph["reorder_seconds"].items():
        title += f"; to order by {order} took {seconds * 1e3:.1f} ms"
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


def scaling_table(scaling: Scaling) -> str:
    """A block for each graph, then a superstep's cost without work, and notes."""
    arguments = scaling.arguments
    how = "weak scaling, speed-ups of edges per second" if arguments["weak"] else "strong scaling"
    said = ", ".join(arguments[name] for name in ("partition", "duplicate", "exchange") if arguments[name])
    blocks = [
        f"On {arguments['device']}: {how}, {said or 'the usual partition'}, {arguments['order']} order; medians of "
        f"{arguments['repeat']} turns, fewer where it is slow"
    ]
    blocks += [_scaling_block(scaling, number) for number in range(len(scaling.graphs))]
    blocks.append(_idle_block(scaling))
    blocks.append("\n".join([*scaling.notes, *(f"WRONG: {text}" for text in scaling.wrong)]))
    return "\n\n".join(block for block in blocks if block)


def _scaling_block(scaling: Scaling, number: int) -> str:
    """A row for each algorithm and number of devices."""
    graph = scaling.graphs[number]
    counted = zip(graph["vertices"].values(), graph["stored_edges"].values())
    sizes = dict.fromkeys(f"{vertices:,} vertices, {edges:,} stored edges" for vertices, edges in counted)
    lines = [["", "devices", "ms", "speed-up", "supersteps", "us each", "without work", "share", "KB sent each"]]
    before = ""
    for row in scaling.rows:
        if scaling.place(row) == number:
            lines.append([row.algorithm if row.algorithm != before else "", *_scaling_cells(scaling, row)])
            before = row.algorithm
    return f"{graph['name']}: {'; '.join(sizes)}\n{aligned(lines)}"


def _scaling_cells(scaling: Scaling, row: Scaled) -> list[str]:
    each, idle, faster = row.per_superstep, scaling.latency(row.algorithm, row.devices), scaling.speed_up(row)
    return [
        str(row.devices),
        _milliseconds(row.median),
        "-" if faster is None else f"{faster:.2f}",
        f"{statistics.median(row.supersteps):.0f}",
        f"{1e6 * each:.1f}",
        "-" if idle is None else f"{1e6 * idle:.1f}",
        "-" if idle is None else f"{min(1, idle / each):.0%}",
        "-" if row.devices == 1 else f"{row.sent / 1e3:.4g}",
    ]


def _idle_block(scaling: Scaling) -> str:
    """What a superstep costs without work, for each algorithm and number of devices."""
    if not scaling.idle:
        return ""
    counts = scaling.arguments["devices"]
    lines = [["us per superstep without work", *(f"{count} device{'s' * (count > 1)}" for count in counts)]]
    for algorithm in dict.fromkeys(row.algorithm for row in scaling.idle):
        found = (scaling.latency(algorithm, count) for count in counts)
        lines.append([algorithm, *("-" if idle is None else f"{1e6 * idle:.1f}" for idle in found)])
    lines.append(["published, multi-GPU Gunrock", *(str(PUBLISHED.get(count, "-")) for count in counts)])
    return f"A path of {scaling.idle[0].stored_edges // 2 + 1} vertices, dealt out at random:\n{aligned(lines)}"


def memory_table(memory: Memory) -> str:
    """A block for each graph: each algorithm under each policy, compared with just enough."""
    blocks = [f"On {memory.arguments['device']}, {memory.arguments['order']} order; peaks are beyond the graph"]
    for graph in memory.graphs:
        lines = [["", "room", "peak, MB", "x", "ms", "x"]]
        rows = [row for row in memory.rows if row.graph == graph["name"]]
        for algorithm in dict.fromkeys(row.algorithm for row in rows):
            several = [row for row in rows if row.algorithm == algorithm]
            for row in several:
                name = algorithm if row is several[0] else ""
                size = ["does not fit", "-"] if row.peak is None else _compared(row.peak / 1e6, several[0].peak, 1e6)
                time = _compared(1e3 * row.median, several[0].median, 1e-3) if row.median else ["-", "-"]
                lines.append([name, row.policy, *size, *time])
        blocks.append(f"{graph['name']}: {graph['vertices']:,} vertices, {graph['stored_edges']:,} stored edges\n"
                      f"{aligned(lines)}")  # fmt: skip
    blocks.append("\n".join(f"WRONG: {text}" for text in memory.wrong))
    return "\n\n".join(block for block in blocks if block)


def _compared(number: float, first: float | None, unit: float) -> list[str]:
    """A number, and how many times the first one."""
    return [f"{number:.4g}", f"{number * unit / first:.2f}" if first else "-"]


def aligned(lines: list[list[str]]) -> str:
    """Columns side by side, the first to the left, the others to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )
