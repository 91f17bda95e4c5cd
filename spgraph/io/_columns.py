"""Which columns of a table are the ends of an edge and its weight, and ids as numbers of vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph.io._labels import checked_labels
from spgraph.io._ranks import ALONE, Alone

__all__ = ["WRITTEN", "choose", "edge_columns", "has_names", "left_out", "number", "number_texts"]

PAIRS = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("node1", "node2"),
    ("source", "destination"), ("fromnodeid", "tonodeid"), ("start", "end"), ("i", "j"), ("row", "col"),
)  # fmt: skip
WRITTEN = ("source", "target", "weight")


def has_names(cells: Sequence[str]) -> bool:
    """Whether a first row is one of names, by its first two."""
    return tuple(cell.strip().lower() for cell in cells[:2]) in PAIRS


def choose(names: Sequence[str], width: int, source, target, weight, fail: Callable[[str], Exception]):
    """Positions of the columns: (source, target, weight or None).

    Parameters
    ----------
    names : sequence of str
        Names of the columns; empty where they have none.
    width : int
        Number of columns.
    source, target : str, int or None
        Name or position; None: by a usual pair of names, else the first two.
    weight : str, int, None or False
        None: the column called weight, else the third of three; False: none.
    fail : callable (message) -> Exception
    """
    lower = [name.strip().lower() for name in names]
    shown = ", ".join(map(repr, names[:12])) if names else f"{width} columns without names"

    def find(column, what: str) -> int:
        if isinstance(column, str):
            if names.count(column) != 1:
                raise fail(f"{what}: got {column!r}, which names {names.count(column)} columns; there are {shown}")
            return names.index(column)
        if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
            raise InvalidValue(f"{what}: got {column!r}, wanted the name or the position of a column")
        if not 0 <= column < width:
            raise fail(f"{what}: got position {column}, there are {shown}")
        return int(column)

    if (source is None) != (target is None):
        raise InvalidValue("source and target: wanted both, or neither")
    if source is None:
        pair = next((pair for pair in PAIRS if all(lower.count(name) == 1 for name in pair)), None)
        first, second = (lower.index(name) for name in pair) if pair else (0, 1)
        if width < 2:
            raise fail(f"expected two columns or more, there are {shown}")
    else:
        first, second = find(source, "source"), find(target, "target")
    if weight is False:
        return first, second, None
    if weight is not None:
        return first, second, find(weight, "weight")
    if lower.count("weight") == 1:
        return first, second, lower.index("weight")
    if width > 3:
        raise fail(f"which column is the weight? There are {shown}; say weight=, or weight=False for none")
    return first, second, next((k for k in range(width) if k not in (first, second)), None)


def left_out(names: Sequence[str], width: int, chosen) -> tuple[str, ...]:
    """What to tell of the columns that are not chosen."""
    others = [k for k in range(width) if k not in chosen]
    if not others:
        return ()
    if not names:
        return (f"left out: {len(others)} column{'s' * (len(others) > 1)}",)
    return (f"left out: column{'s' * (len(others) > 1)} {', '.join(repr(names[k]) for k in others[:5])}",)


def number(rows: np.ndarray, cols: np.ndarray, alone: np.ndarray, ranks: Alone = ALONE):
    """Vertices by the rank of their ids, which are numbers: rows, columns and ids (None: they are 0..n-1)."""
    from spgraph.io.edgelist import rank

    rows, cols, labels = rank(rows, cols, alone, ranks)
    return rows, cols, None if np.array_equal(labels, np.arange(labels.size)) else labels, labels.size


def number_texts(rows: list[str], cols: list[str], alone: list[str], ranks: Alone = ALONE):
    """The same for ids that are texts."""
    names = ranks.distinct_texts({*rows, *cols, *alone})
    numbers = {name: place for place, name in enumerate(names)}
    labels = np.empty(len(names), object)
    labels[:] = names
    ends = [np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids)) for ids in (rows, cols)]
    return *ends, labels, len(names)


def edge_columns(rows, cols, values, shape, labels):
    """What to write: sources, targets, ids of vertices without edges, and weights (None: there are none)."""
    if shape[0] != shape[1]:
        raise DimensionMismatch(f"write: a table of edges needs a square matrix, this one is {shape[0]} x {shape[1]}")
    n = shape[0]
    names = np.arange(n) if labels is None else checked_labels(labels, shape, low=0)
    lonely = np.ones(n, bool)
    lonely[rows] = lonely[cols] = False
    iso = values.dtype == np.bool_ and bool(values.all())
    return names[rows], names[cols], names[lonely], None if iso else values
