"""Grids of values: which entries of a vector or matrix are shown, and how they are laid out."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Grid", "matrix_grid", "number_text", "vector_grid"]

WIDTH = 88  # characters of a line of text
WHOLE = 24  # a vector of so many positions is shown whole if it fits
FETCHED = 100_000  # entries of a matrix on several devices that are fetched to be shown
FIRST, LAST = 9, 4  # entries, rows or columns shown of what is too large
GAP = "…"


class Grid(NamedTuple):
    """Rows of text cells under a line of heads; the first column holds the rows' own heads."""

    heads: list[str]
    rows: list[list[str]]

    def width(self) -> int:
        """Characters of a line."""
        return sum(self._widths()) + 2 * (len(self.heads) - 1)

    def _widths(self) -> list[int]:
        columns = zip(self.heads, *self.rows)
        return [max(map(len, column)) for column in columns]

    def lines(self) -> list[str]:
        """The grid as lines of text."""
        widths = self._widths()
        lines = []
        for row in (self.heads, *self.rows):
            first = row[0].ljust(widths[0]) if row[0] and not row[0][0].isdigit() else row[0].rjust(widths[0])
            cells = [first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
            lines.append("  ".join(cells).rstrip())
        return lines

    def html(self) -> str:
        """The grid as an HTML table."""
        style = "text-align:right;padding:.1em .5em"
        head = "".join(f'<th style="{style};opacity:.6">{escape(cell)}</th>' for cell in self.heads)
        body = "".join(
            f'<tr><th style="{style};opacity:.6">{escape(row[0])}</th>'
            + "".join(f'<td style="{style}">{escape(cell)}</td>' for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def number_text(value: Any) -> str:
    """A value as it is shown: six digits of a float, 1 and 0 for booleans."""
    kind = value.dtype.kind
    if kind == "f":
        return f"{value:.6g}"
    return str(int(value))


# ---- vectors ----------------------------------------------------------------------------
def vector_grid(v: Any) -> Grid | None:
    """Positions of a small vector, entries of a large one; None if there is nothing to show."""
    block = v._block
    size = block.size
    if not size:
        return None
    if size <= WHOLE:
        ids, values = _all_entries(block)
        found = dict(zip(ids.tolist(), map(number_text, values)))
        grid = _vector_lines(list(range(size)), [found.get(i, "") for i in range(size)])
        if grid.width() <= WIDTH:
            return grid
    if not block.nvals:
        return None
    ids, values = _ends(block)
    for last in range(LAST, 0, -1):
        first = last * FIRST // LAST
        grid = _vector_lines(*_shortened(ids.tolist(), [number_text(x) for x in values], block.nvals, first, last))
        if grid.width() <= WIDTH:
            break
    return grid


def _vector_lines(ids: list, cells: list[str]) -> Grid:
    return Grid(["index", *map(str, ids)], [["value", *cells]])


def _shortened(ids: list, cells: list[str], total: int, first: int, last: int) -> tuple[list, list[str]]:
    if total <= first + last:
        return ids, cells
    return [*ids[:first], GAP, *ids[-last:]], [*cells[:first], GAP, *cells[-last:]]


def _ends(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """The first and last entries of a block, by global id; at least as many as are shown."""
    count = FIRST + LAST + 1
    if block.partition.natural and block.format == "full":
        if block.size <= 2 * count:
            return _all_entries(block)
        ids = np.r_[:count, block.size - count : block.size]
        return ids, np.full(ids.size, block.values[0]) if block.iso else _both_ends(block, block.values, count)
    ids, values = block.coo()
    if ids.size <= 2 * count:
        return block.device.to_host(ids), block.device.to_host(values)
    return _both_ends(block, ids, count), _both_ends(block, values, count)


def _all_entries(block: Any) -> tuple[np.ndarray, np.ndarray]:
    ids, values = block.coo()
    return block.device.to_host(ids), block.device.to_host(values)


def _both_ends(block: Any, array: Any, count: int) -> np.ndarray:
    """The first and the last `count` items of an array of the block's device."""
    return np.concatenate([block.device.to_host(part) for part in (array[:count], array[-count:])])


# ---- matrices ---------------------------------------------------------------------------
def matrix_grid(A: Any) -> Grid | None:
    """A small matrix whole, the corners of a large one, or some entries if its corners are empty."""
    if A._device.group is not None:  # on several devices: small ones are fetched
        return matrix_grid(A.T.to("cpu").T if A._is_transposed else A.to("cpu")) if A.nvals <= FETCHED else None
    nrows, ncols = A.shape
    if not nrows or not ncols:
        return None
    rows, columns = _shown(nrows), _shown(ncols)
    entries = corner_entries(A, rows, columns)
    if A._block.nvals and not entries and (len(rows) < nrows or len(columns) < ncols):
        return _entry_list(A)
    grid = _matrix_lines(rows, columns, entries, nrows, ncols)
    while grid.width() > WIDTH and len(columns) > 4:
        keep = (len(columns) - 1) * 2 // 3
        columns = columns[:keep] + columns[keep + 1 :] if len(columns) == ncols else _fewer(columns)
        grid = _matrix_lines(rows, columns, entries, nrows, ncols)
    return grid


def _shown(size: int) -> list[int]:
    """Rows or columns that are shown: all of a few, else the first and the last."""
    if size <= FIRST + LAST + 1:
        return list(range(size))
    return [*range(FIRST), *range(size - LAST, size)]


def _fewer(columns: list[int]) -> list[int]:
    """One column less, on the side that shows more."""
    gap = next(k for k in range(1, len(columns)) if columns[k] != columns[k - 1] + 1)
    cut = gap - 1 if gap > len(columns) - gap else gap
    return columns[:cut] + columns[cut + 1 :]


def _matrix_lines(rows, columns, entries, nrows, ncols) -> Grid:
    def with_gap(cells: list[str], shown: list[int], size: int, gap: str) -> list[str]:
        if len(shown) == size:
            return cells
        at = next((k for k in range(1, len(shown)) if shown[k] != shown[k - 1] + 1), len(shown))
        return [*cells[:at], gap, *cells[at:]]

    heads = ["", *with_gap([str(j) for j in columns], columns, ncols, GAP)]
    body = [[str(i), *with_gap([entries.get((i, j), "") for j in columns], columns, ncols, GAP)] for i in rows]
    blank = [GAP, *[""] * (len(heads) - 1)]
    if len(rows) < nrows:
        body = [*body[:FIRST], blank, *body[FIRST:]]
    return Grid(heads, body)


def corner_entries(A: Any, rows: list[int], columns: list[int]) -> dict[tuple[int, int], str]:
    """Texts of the entries at the given rows and columns, found without going through the whole matrix."""
    if A._is_transposed:
        return {(i, j): cell for (j, i), cell in corner_entries(A.T, columns, rows).items()}
    block = A._block
    wanted = np.zeros(0, np.int64) if not columns else np.asarray(columns)
    found = {}
    for i in rows:
        ids, values = _row(block, block.rows.local_of(i))
        for k in np.flatnonzero(np.isin(ids, wanted)).tolist():
            found[i, int(ids[k])] = number_text(values[0 if block.iso else k])
    return found


def _row(block: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values (one, if iso) of a stored row."""
    to_host = block.device.to_host
    start, stop = to_host(block.indptr[row : row + 2]).tolist()
    ids = to_host(block.cols.globals_of(block.indices[start:stop]).astype(np.int64))
    return ids, block.values if block.iso else to_host(block.values[start:stop])


def _entry_list(A: Any) -> Grid:
    """The first entries that are stored, one per line."""
    operand = A.T if A._is_transposed else A
    block = operand._block
    xp, to_host = block.device.xp, block.device.to_host
    rows = xp.flatnonzero(xp.diff(block.indptr))[:FIRST]
    lines = []
    for row, i in zip(to_host(rows).tolist(), to_host(block.rows.globals_of(rows)).tolist()):
        ids, values = _row(block, row)
        for k, j in enumerate(ids[:2].tolist()):
            pair = (j, i) if A._is_transposed else (i, j)
            lines.append([*map(str, pair), number_text(values[0 if block.iso else k])])
    lines = sorted(lines[:FIRST], key=lambda line: (int(line[0]), int(line[1])))
    if block.nvals > len(lines):
        lines.append([GAP, GAP, GAP])
    return Grid(["row", "column", "value"], lines)
