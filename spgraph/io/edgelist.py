"""Edge lists: ``u v`` or ``u v weight`` on each line (SNAP, GAP, KONECT, CSV).

Blanks, or a comma or semicolon, separate; lines that begin with ``#`` or ``%``
are comments. Ids are whole numbers or text. They are numbered by rank (numbers
by size, text by code point), so no vertices appear that the file does not name. What spgraph
writes says in comments which other vertices there are, and in which order (see `_note`).
"""

from __future__ import annotations

import os
import re

import numpy as np

from semirings.exceptions import DimensionMismatch, InvalidValue
from spgraph.io import _note
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, tidy
from spgraph.io._keys import distinct
from spgraph.io._ranks import ALONE, Alone, is_of_all
from spgraph.io._report import FormatError
from spgraph.io._table import Table
from spgraph.io._text import Text, Words, load, load_share

__all__ = ["edgelist_edges", "edgelist_text", "rank", "read_edgelist"]

MARKS = b"#%"
NUMBER = re.compile(rb"[+-]?[0-9]+\Z")
LABEL = re.compile(r"[^\s,;#%][^\s,;]*")
HINT = "; ids=str reads ids as text"
LISTS = "; lists of neighbours, as LDBC's validation graphs are, are not read: write each edge as a line"


def read_edgelist(
    path,
    *,
    weights=True,
    ids=None,
    relabel=True,
    vertices=None,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
):
    """Read an edge list, plain or compressed.

    Parameters
    ----------
    path : str or path-like
    weights : bool
        Whether a third column holds weights; False ignores all columns after
        the second (time stamps, for instance).
    ids : {int, str}, optional
        What the ids are; default: what the first line suggests. A first line of
        text above lines of numbers is a header.
    relabel : bool
        Number the vertices by the rank of their ids and keep the ids as
        ``.labels``; False takes numeric ids as they are.
    vertices : int, array of ids, or path, optional
        Vertices that may have no edges: their number (ids are 0..n-1), their
        ids, or a file with one id on each line.
    dtype : optional
        Type of the weights; default: INT64 (UINT64, FP64 where the file needs
        it), BOOL without weights.
    symmetrize : bool
        Store every edge in both directions.
    dup_op : str or binary operator, optional
        Combines duplicate edges; without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

    Returns
    -------
    Matrix
        With ``.report`` and, unless the ids are 0..n-1, ``.labels``.

    Raises
    ------
    FormatError
        Names the line and what was expected there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.txt"
    >>> _ = path.write_text("# who knows whom\\n9001 9002\\n9002 9010\\n")
    >>> A = read_edgelist(path)
    >>> A.labels.tolist()
    [9001, 9002, 9010]
    >>> print(A.report)
    friends.txt: 3 vertices; 2 edges read, 2 stored
    """
    text = load_share(path, MARKS, progress)
    with text.ranks.together():
        edges = edgelist_edges(text, weights=weights, ids=ids, relabel=relabel, vertices=vertices)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def edgelist_edges(text: Text, *, weights=True, ids=None, relabel=True, vertices=None) -> Edges:
    """The edges of the file as they stand there."""
    if ids not in (None, int, str):
        raise InvalidValue(f"read_edgelist: ids: got {ids!r}, wanted int, str or None")
    if isinstance(vertices, bool) or (isinstance(vertices, (int, np.integer)) and vertices < 0):
        raise InvalidValue(f"read_edgelist: vertices: got {vertices!r}, wanted their number (0 or more), ids or a path")
    shape = _Shape(text, weights, ids)
    note = _note.find(text, MARKS, shape.data) if vertices is None and relabel else None
    if note is not None and note.ids is not None and ids is None:
        shape.take_ids(str if note.ids == "text" else int)
    if shape.ids is str:
        return _note.apply_dtype(_text_edges(text, shape, relabel, vertices, note), note)
    table = Table(text, shape.start, shape.fields, marks=MARKS, comma=shape.comma, more=shape.more, hint=HINT,
                  longer=LISTS)  # fmt: skip
    rows, cols, *values = table.read("iin"[: shape.fields])
    for column in (rows, cols):
        table.check_range(column, 0, None, "id")
    m = None
    if note is not None and note.labels is not None:
        rows, cols, labels = *_places(table, (rows, cols), note.labels), note.labels
        n = labels.size
    elif note is not None and note.nrows is not None and note.ncols is not None:
        n, m, labels = note.nrows, note.ncols, None
        for column, count in ((rows, n), (cols, m)):
            table.check_range(column, 0, count - 1, "id")
    elif isinstance(vertices, (int, np.integer)) or not relabel:
        n, labels = _number_of_vertices(table, rows, cols, vertices), None
    else:
        rows, cols, labels = rank(rows, cols, _more_ids(vertices, int), text.ranks)
        n = labels.size
        if np.array_equal(labels, np.arange(n)):
            labels = None
    edges = Edges(
        rows,
        cols,
        values[0] if values else np.True_,
        n,
        n if m is None else m,
        text.name,
        table.fail,
        labels=labels,
        notes=shape.notes,
        ranks=text.ranks,
    )
    return _note.apply_dtype(edges, note)


class _Shape:
    """What the first lines say: separator, number of fields, kind of ids, header or not."""

    def __init__(self, text: Text, weights: bool, ids):
        lines = text.lines(MARKS)
        at, first = next(lines, (len(text.data), b""))
        self.start = self.data = at
        self.notes: tuple[str, ...] = ()
        self.comma = next((mark for mark in (b",", b";") if mark in first), b"")
        self.ids = ids or int
        self.fields, self.more = 2, not weights
        if not first:
            return
        if (zero := text.data.find(b"\0")) >= 0:
            raise text.error(zero, "this is not a text file: it holds a zero byte")
        words = self.split(first)
        if ids is None and not _numeric(words):
            second_at, second = next(lines, (0, b""))
            if _numeric(self.split(second)) and len(self.split(second)) == len(words):
                self.start = second_at
                self.notes = (f"line {text.line_number(at)} taken as a header: {text.line_at(at)!r}",)
            else:
                self.ids = str
        if len(words) < 2 or (weights and len(words) > 3):
            hint = f"; weights=False ignores all columns after the second{LISTS}" if len(words) > 3 else ""
            raise text.error(at, f"got {text.line_at(at)!r}, expected 'u v' or 'u v weight'{hint}")
        if weights:
            self.fields = len(words)

    def take_ids(self, ids) -> None:
        """What the ids are by the file's own word: then no line is a header."""
        self.ids, self.start, self.notes = ids, self.data, ()

    def split(self, line: bytes) -> list[bytes]:
        """Fields of a line."""
        return [word.strip() for word in line.split(self.comma)] if self.comma else line.split()


def _numeric(words: list[bytes]) -> bool:
    return len(words) >= 2 and all(NUMBER.match(word) for word in words[:2])


# ---- ids that are numbers ----------------------------------------------------------
def _number_of_vertices(table: Table, rows, cols, vertices) -> int:
    if vertices is None:
        n = max(table.text.ranks.gather(max(int(rows.max(initial=-1)), int(cols.max(initial=-1))))) + 1
        table.text.check_room(None, n)
        return n
    if not isinstance(vertices, (int, np.integer)):
        raise InvalidValue(f"read_edgelist: vertices: got {vertices!r}, with relabel=False wanted their number")
    table.text.check_room(None, int(vertices))
    for column in (rows, cols):
        table.check_range(column, 0, int(vertices) - 1, "id")
    return int(vertices)


def rank(rows, cols, more, ranks: Alone = ALONE) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks among the distinct ids of all processes, and those ids."""
    top = max(int(rows.max(initial=-1)), int(cols.max(initial=-1)), int(more.max(initial=-1))) + 1
    if ranks.count == 1 and top <= 4 * rows.size + 1024:
        seen = np.zeros(top, bool)
        seen[rows] = seen[cols] = seen[more] = True
        labels = np.flatnonzero(seen)
        place = np.cumsum(seen) - 1
        return place[rows], place[cols], labels
    labels = distinct(np.concatenate((rows, cols, more)))
    if ranks.count > 1:
        labels = ranks.distinct(labels)
    return np.searchsorted(labels, rows), np.searchsorted(labels, cols), labels


def _places(table: Table, columns, labels: np.ndarray) -> list[np.ndarray]:
    """Positions of ids among the labels."""
    order = np.argsort(labels)
    result = []
    for ids in columns:
        at = np.searchsorted(labels, ids, sorter=order)
        places = order[np.minimum(at, labels.size - 1)]
        known = labels[places] == ids
        if not known.all():
            entry = int(known.argmin())
            raise table.fail(entry, f"id {ids[entry]} is not among the vertices that the file's comments name")
        result.append(places)
    return result


def _more_ids(vertices, kind):
    """Ids that the caller names: an array, or a path to a file of them."""
    if vertices is None:
        return np.empty(0, np.int64) if kind is int else []
    if isinstance(vertices, (str, os.PathLike)):
        text = load(vertices)
        if kind is str:
            return [_decode(text, at, line.split()[0]) for at, line in text.lines(MARKS)]
        at, _ = next(text.lines(MARKS), (len(text.data), b""))
        table = Table(text, at, 1, marks=MARKS, more=True, hint=HINT)
        (ids,) = table.read("i")
        table.check_range(ids, 0, None, "id")
        return ids
    if kind is str and hasattr(vertices, "__iter__"):
        return [str(name) for name in vertices]
    ids = np.asarray(vertices)
    if ids.dtype == np.uint64 and ids.size and ids.max() >= 2**63:
        raise InvalidValue(f"read_edgelist: vertices: got id {ids.max()}, but ids are below 2**63")
    if kind is str or ids.ndim != 1 or (ids.size and (ids.dtype.kind not in "iu" or ids.min() < 0)):
        raise InvalidValue(f"read_edgelist: vertices: got {vertices!r}, wanted their number, ids (0 or more) or a path")
    return ids.astype(np.int64)


# ---- ids that are text -------------------------------------------------------------
def _text_edges(text: Text, shape: _Shape, relabel: bool, vertices, note=None) -> Edges:
    if not relabel or isinstance(vertices, (int, np.integer)):
        raise text.error(shape.start, "ids are text: relabel=False and vertices=<number> need ids 0..n-1")
    sources: list[str] = []
    targets: list[str] = []
    places: list[int] = []
    numbers: list[bytes] = []
    for at, line in text.lines(MARKS, text.begin(shape.start)):
        words = shape.split(line)
        excess = len(words) > shape.fields and not shape.more
        if len(words) < shape.fields or excess or not words[0] or not words[1]:
            longer = LISTS if len(words) > shape.fields else ""
            raise text.error(at, f"got {text.line_at(at)!r}, expected {shape.fields} fields{longer}")
        sources.append(_decode(text, at, words[0]))
        targets.append(_decode(text, at, words[1]))
        numbers.extend(words[2:3] if shape.fields == 3 else ())
        places.append(at)

    def fail(entry, message):
        return text.error(None if entry is None else places[entry], message)

    if note is not None and note.labels is not None:
        names = note.labels.tolist()
        known = set(names)
        for entry, ends in enumerate(zip(sources, targets)):
            if not known.issuperset(ends):
                raise fail(entry, f"ids {ends} are not among the vertices that the file's comments name")
    else:
        names = text.ranks.distinct_texts({*sources, *targets, *_more_ids(vertices, str)})
    number = {name: place for place, name in enumerate(names)}
    labels = np.empty(len(names), object)
    labels[:] = names
    rows = np.fromiter(map(number.__getitem__, sources), np.int64, len(sources))
    cols = np.fromiter(map(number.__getitem__, targets), np.int64, len(targets))
    values = _weights(numbers, fail, text.ranks) if shape.fields == 3 else np.True_
    return Edges(
        rows, cols, values, len(names), len(names), text.name, fail, labels=labels, notes=shape.notes, ranks=text.ranks
    )


def _decode(text: Text, at: int, word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise text.error(at, f"got {text.line_at(at)!r}, expected UTF-8 text") from None


def _weights(words: list[bytes], fail, ranks: Alone) -> np.ndarray:
    """Weights beside text ids: the words as a file of their own."""
    table = Table(Words(b"\n".join(words), ranks), 0, 1, marks=b"\n")
    for entry, word in enumerate(words):
        if not word:
            raise fail(entry, "the weight is missing")
    try:
        return table.read("n")[0]
    except FormatError as error:
        if is_of_all(error):
            raise
        raise fail((error.line or 1) - 1, str(error).split(": ", 1)[1]) from None


# ---- writing --------------------------------------------------------------------
def edgelist_text(rows, cols, values, shape, labels) -> bytes:
    """The file of a matrix that is given as entries."""
    iso = values.dtype == np.bool_ and bool(values.all())
    names = _note.names_of(labels, shape)
    facts = {} if names is not None else {"nrows": shape[0], "ncols": shape[1]}
    if names is not None:
        if shape[0] != shape[1]:
            raise DimensionMismatch(
                f"write: an edge list with labels needs a square matrix, this one is {shape[0]} x {shape[1]}"
            )
        for label in names.tolist():
            if isinstance(label, str) and not LABEL.fullmatch(label):
                raise InvalidValue(
                    f"write: label {label!r} would not be read back: it holds a blank, a comma or a semicolon, or "
                    "begins like a comment"
                )
            if not isinstance(label, str) and label < 0:
                raise InvalidValue(f"write: label {label} would not be read back: ids are 0 or more")
        rows, cols = names[rows], names[cols]
    head = "\n".join(_note.lines("#", names, **facts, dtype=values.dtype.name)) + "\n"
    columns = [rows.tolist(), cols.tolist()]
    if not iso:
        columns.append((values.astype(np.int8) if values.dtype == np.bool_ else values).tolist())
    pattern = "%s\t%s\n" if iso else "%s\t%s\t%r\n"
    return (head + "".join(map(pattern.__mod__, zip(*columns)))).encode()
