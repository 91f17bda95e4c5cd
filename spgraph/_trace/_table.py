"""A trace as a table, for terminals and notebooks."""

from __future__ import annotations

import html

from spgraph._cli.text import sized, timed
from spgraph._convert import to_size
from spgraph._trace._records import Record, by_superstep

__all__ = ["Table", "table_of"]

HEAD = ("step", "operation", "direction", "frontier", "edges W", "values sent", "bytes H", "combined C", "compute",
        "exchange", "wait", "time")  # fmt: skip
TEXTS = {"operation", "direction", "part", ""}  # columns that are left-aligned


class Table:
    """Rows of texts; ``print`` shows them, and so does a notebook.

    Parameters
    ----------
    head : sequence of str
    rows : list of list of str
    notes : list of str
        Lines below.
    """

    def __init__(self, head: tuple, rows: list[list[str]], notes: list[str]):
        self.head = head
        self.rows = rows
        self.notes = notes

    def __str__(self) -> str:
        lines = [list(self.head), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines)]
        left = [name in TEXTS for name in self.head]
        text = [
            "  ".join(f"{one:{'<' if to_left else '>'}{width}}" for one, width, to_left in zip(row, widths, left))
            for row in lines
        ]
        return "\n".join(line.rstrip() for line in [*text, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = [name in TEXTS for name in self.head]

        def line(cells: list[str], tag: str) -> str:
            styled = (f'<{tag} style="text-align: {"left" if to_left else "right"}">{html.escape(cell)}</{tag}>'
                      for cell, to_left in zip(cells, left))  # fmt: skip
            return f"<tr>{''.join(styled)}</tr>"

        body = "".join(line(row, "td") for row in self.rows)
        below = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes)
        return f"<table><thead>{line(list(self.head), 'th')}</thead><tbody>{body}</tbody></table>{below}"


def table_of(records: list[Record], parts: bool, rows: int | None, notes: list[str]) -> Table:
    """A row for each superstep, or for each part of each; of more than `rows` those in the middle are left out."""
    rows = None if rows is None else to_size(rows, "table", "rows", least=1)
    steps = by_superstep(records)
    head: tuple[str, ...] = HEAD
    if parts:
        head = (HEAD[0], "part", *HEAD[1:])
        lines = [[*_row([one])[:1], f"{one.part} {one.device}", *_row([one])[1:]] for step in steps for one in step]
        total = ["sum", "", *_total(steps)[1:]]
    else:
        lines, total = [_row(step) for step in steps], _total(steps)
    if rows is not None and len(lines) > rows:
        first, last = (rows + 1) // 2, len(lines) - rows // 2
        lines = [*lines[:first], ["...", f"{last - first:,} more", *[""] * (len(head) - 2)], *lines[last:]]
    return Table(head, [*lines, total], notes)


def _row(step: list[Record]) -> list[str]:
    first = step[0]
    others = sum(int(name.partition(" x")[2] or 1) for name in first.others.split(", ")) if first.others else 0
    name = first.operation + (f" +{others}" if others else "") if first.operation else "after"
    return [str(first.superstep), name, first.direction, *_numbers(step)]


def _total(steps: list[list[Record]]) -> list[str]:
    summed = _numbers([one for step in steps for one in step], len(steps[0]) if steps else 1)
    return ["sum", "", "", *summed]


def _numbers(records: list[Record], parts: int | None = None) -> list[str]:
    """Counts of all parts; times as the mean of the parts, so that they add up to the superstep's."""
    count = parts or len(records)
    sums = [sum(getattr(one, name) for one in records) for name in COUNTS]
    times = [sum(getattr(one, name) for one in records) / max(count, 1) for name in TIMES]
    frontier, edges, sent, nbytes, combined = sums
    shown = (timed(one) if one else "0" for one in times)
    return [f"{frontier:,}", f"{edges:,}", f"{sent:,}", sized(nbytes), f"{combined:,}", *shown]


COUNTS = ("frontier", "edges", "sent", "sent_bytes", "received")
TIMES = ("compute", "exchange", "wait", "seconds")
