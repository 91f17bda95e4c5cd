"""CSV edge lists: a row for each edge, columns by name or position, RFC 4180's quotes.

Comma, semicolon or tab separate. Lines that begin with ``#`` or ``%`` above the first row are comments. A row
whose target (and weight) is empty names a vertex alone. Vertices are numbered by the rank of their
ids: numbers by size, texts by code point.

Method: rows of plain numbers are scanned as edge lists are; those with quotes, texts or empty cells go through
Python's csv module, which takes a microsecond or two a row.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import islice

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.io._build import build_matrix
from spgraph.io._columns import WRITTEN, choose, edge_columns, has_names, left_out, number, number_texts
from spgraph.io._coo import Edges, tidy
from spgraph.io._ranks import Alone, is_of_all
from spgraph.io._report import FormatError
from spgraph.io._table import Table
from spgraph.io._text import Text, Words, load_share

__all__ = ["csv_edges", "csv_text", "read_csv"]

MARKS = b"#%"
INTEGER = re.compile(r"[+-]?[0-9]+")
CHUNK = 512  # rows that are looked at together; many more keep the garbage collector busy
HINT = "; ids=str reads ids as text"


def read_csv(
    path,
    source=None,
    target=None,
    weight=None,
    *,
    header=None,
    delimiter=None,
    ids=None,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
):
    """Read a CSV edge list, plain or compressed.

    Parameters
    ----------
    path : str or path-like
    source, target : str or int, optional
        Names or positions (from 0) of the columns; default: a usual pair of names (source and target, src and dst,
        from and to, ...), else the first two.
    weight : str, int or False, optional
        Default: the column called weight, else the third of three. False: no weights.
    header : bool, optional
        Whether the first row holds names; default: if columns are given by name, if it begins with a usual
        pair of names, or if it is text above a row of numbers.
    delimiter : str, optional
        Default: the comma, semicolon or tab that the first row has.
    ids : {int, str}, optional
        What the ids are; default: what the first row of data suggests.
    dtype : optional
        Type of the weights; default: INT64 (UINT64, FP64 where the file needs it), BOOL without weights.
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
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flights.csv"
    >>> _ = path.write_text('day,from,to,km\\n1,"Rome, Fiumicino",Oslo,2003\\n2,Oslo,Turku,683\\n')
    >>> A = read_csv(path, "from", "to", "km")
    >>> A.labels.tolist(), A.to_coo()[2].tolist()
    (['Oslo', 'Rome, Fiumicino', 'Turku'], [683, 2003])
    """
    text = load_share(path, MARKS, progress)
    with text.ranks.together():
        edges = csv_edges(text, source, target, weight, header=header, delimiter=delimiter, ids=ids)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def csv_edges(text: Text, source=None, target=None, weight=None, *, header=None, delimiter=None, ids=None) -> Edges:
    """The edges of the file as they stand there."""
    if ids not in (None, int, str):
        raise InvalidValue(f"read_csv: ids: got {ids!r}, wanted int, str or None")
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InvalidValue(f"read_csv: delimiter: got {delimiter!r}, wanted one character")
    if header is not None and not isinstance(header, (bool, np.bool_)):
        raise InvalidValue(f"read_csv: header: got {header!r}, wanted True, False or None")
    if any(text.ranks.gather(text.ranks.count > 1 and _rows_span_lines(text))):
        text = text.to_first()
    if (zero := text.data.find(b"\0")) >= 0:
        raise text.error(zero, "this is not a text file: it holds a zero byte")
    found = _Head(text, source, target, weight, header, delimiter, ids) if text.ranks.first else None
    head = text.ranks.gather(found)[0]
    if head.ids is int and all(text.ranks.gather(_is_plain(text, head.delimiter))):
        try:
            with text.ranks.together():
                return _scanned(text, head)
        except FormatError:
            pass  # empty cells, or an error, which the rows show better
    return _from_rows(text, head)


def _rows_span_lines(text: Text) -> bool:
    """Whether a quoted cell may go over several lines: a line has an odd number of quotes."""
    letters = np.frombuffer(text.data, np.uint8)
    quotes = np.flatnonzero(letters == 34)
    ends = np.append(np.flatnonzero(letters == 10), letters.size)
    return bool((np.searchsorted(quotes, ends) % 2).any())


class _Head:
    """What the first rows say: separator, names, which columns, kind of ids."""

    def __init__(self, text: Text, source, target, weight, header, delimiter, ids):
        at, line = next(text.lines(MARKS), (len(text.data), b""))
        self.delimiter = delimiter or next((mark for mark in ",;\t" if mark.encode() in line), ",")
        self.at = at
        rows = _Rows(text, at, self.delimiter)
        (first_line, first), (second_line, second) = rows.first_two()
        guessed = False
        if header is None:
            named = any(isinstance(column, str) for column in (source, target, weight))
            guessed = not named
            header = named or has_names(first) or (not _whole(first[:2]) and _whole(second[:2]))
        self.skip = int(header)  # rows that are no data
        self.width = len(first) or 2
        names = [name.strip() for name in first] if header else []
        self.notes: tuple[str, ...] = ()
        if header and guessed:
            self.notes = (f"line {first_line} taken as a header: {text.line_at(at)!r}",)
        self.columns: tuple[int, int, int | None] = (0, 1, None)
        if first:
            fail = lambda message: FormatError(text.path, first_line, message)  # noqa: E731
            self.columns = choose(names, self.width, source, target, weight, fail)
            self.notes += left_out(names, self.width, self.columns)
        row = second if header else first
        ends = [row[k] for k in self.columns[:2] if k < len(row) and row[k].strip()]
        self.ids = ids or (int if _whole(ends) or not row else str)
        self.start = at  # of the rows of numbers, if it is plain
        for _ in range(second_line - first_line if header else 0):
            self.start = text.data.find(b"\n", self.start) + 1 or len(text.data)


def _is_plain(text: Text, delimiter: str) -> bool:
    """Whether cells are separated as the columns of an edge list are."""
    data = text.data
    plain = delimiter in ",;" or (delimiter == "\t" and b" " not in data and b"\t\t" not in data)
    return plain and b'"' not in data


def _whole(cells) -> bool:
    return bool(cells) and all(INTEGER.fullmatch(cell.strip()) for cell in cells)


class _Rows:
    """The rows of a text from an offset that are not blank, by Python's csv module.

    Which line a row begins in is found by reading again, since only errors ask.
    """

    def __init__(self, text: Text, start: int, delimiter: str):
        self.text = text
        self.start = start = text.begin(start)
        self.delimiter = delimiter
        try:
            self.content = text.data[start:].decode()
        except UnicodeDecodeError as error:
            at = start + error.start
            begin = text.data.rfind(b"\n", 0, at) + 1
            raise text.error(at, f"got {text.line_at(begin)!r}, expected UTF-8 text") from None

    @property
    def before(self) -> int:
        """Lines above."""
        return self.text.line_number(self.start) - 1

    def numbered(self):
        """(line, cells) of every row."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.delimiter, strict=True)
        before = self.before
        line = before + 1
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FormatError(self.text.path, line, f"a row begins here that is not CSV ({error})") from None
            if not _blank(row):
                yield line, row
            line = before + reader.line_num + 1

    def chunks(self):
        """Lists of rows."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.delimiter, strict=True)
        while True:
            try:
                rows = list(islice(reader, CHUNK))
            except csv.Error:
                for _ in self.numbered():  # it raises, and knows the line
                    pass
                raise
            if not rows:
                return
            shortest = min(rows, key=len)
            yield rows if len(shortest) > 1 else [row for row in rows if not _blank(row)]

    def first_two(self) -> tuple[tuple[int, list[str]], tuple[int, list[str]]]:
        """(line, cells) of the first and second row; none: no cells."""
        rows = self.numbered()
        first: tuple[int, list[str]] = next(rows, None) or (self.before + 1, [])
        return first, next(rows, None) or (self.text.line_number(len(self.text.data)), [])

    def error(self, number: int, message: str) -> FormatError:
        """The error that points at a row."""
        line, row = next(islice(self.numbered(), number, None))
        shown = self.delimiter.join(row)
        return FormatError(self.text.path, line, message.replace("{row}", repr(shown[:60] + "..." * (len(shown) > 60))))


def _blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


# ---- rows of numbers ---------------------------------------------------------------
def _scanned(text: Text, head: _Head) -> Edges:
    first, second, third = head.columns
    kinds = ["-"] * head.width
    kinds[first] = kinds[second] = "i"
    if third is not None:
        kinds[third] = "n"
    table = Table(text, head.start, head.width, marks=b"\n", comma=head.delimiter.strip().encode(), hint=HINT)
    columns = table.read("".join(kinds))
    rows, cols = columns[first], columns[second]
    for column in (rows, cols):
        table.check_range(column, 0, None, "id")
    rows, cols, labels, n = number(rows, cols, np.empty(0, np.int64), text.ranks)
    values = np.True_ if third is None else columns[third]
    return Edges(
        rows, cols, values, n, n, text.name, table.fail, labels=labels, notes=head.notes, ranks=text.ranks
    )


# ---- rows of anything --------------------------------------------------------------
def _from_rows(text: Text, head: _Head) -> Edges:
    rows = _Rows(text, head.at, head.delimiter)
    sources: list[str] = []
    targets: list[str] = []
    numbers: list[str] = []
    alone: list[int] = []  # rows that name a vertex only
    skip = head.skip if text.ranks.first else 0
    seen = 0
    for chunk in rows.chunks():
        if seen == 0:
            chunk = chunk[skip:]
            seen = skip
        if set(map(len, chunk)) - {head.width}:
            bad = next(k for k, row in enumerate(chunk) if len(row) != head.width)
            cells = len(chunk[bad])
            raise rows.error(seen + bad, f"got {{row}}, expected {head.width} cells, there are {cells}")
        columns = list(zip(*chunk)) or [()] * head.width
        u, v, w = (None if k is None else list(map(str.strip, columns[k])) for k in head.columns)
        sources += u or ()
        targets += v or ()
        numbers += w or ()
        alone += _check_cells(rows, seen, u, v, w)
        seen += len(chunk)
    return _edges(text, head, skip, rows, sources, targets, numbers, np.array(alone, np.int64) - skip)


def _check_cells(rows: _Rows, seen: int, u, v, w) -> list[int]:
    """Numbers of the rows whose target and weight are empty; raises where another cell is."""
    if "" not in u and "" not in v and (w is None or "" not in w):
        return []
    alone = []
    for k, (one, other) in enumerate(zip(u, v)):
        weight = None if w is None else w[k]
        if not one or (not other and weight):
            empty = ("source" if not one else "target") + (" and target are" if not (one or other) else " is")
            raise rows.error(seen + k, f"got {{row}}, where the {empty} empty")
        if not other:
            alone.append(seen + k)
        elif weight == "":
            raise rows.error(seen + k, "got {row}, where the weight is empty")
    return alone


def _edges(text: Text, head: _Head, skip: int, rows: _Rows, sources, targets, numbers, alone: np.ndarray) -> Edges:
    places = np.delete(np.arange(len(sources)), alone)
    lonely = [sources[k] for k in alone.tolist()]
    if alone.size:
        sources, targets, numbers = (
            [column[k] for k in places.tolist()] if column else column for column in (sources, targets, numbers)
        )

    def fail(entry, message, among=places) -> Exception:
        if entry is None:
            return text.error(None, message)
        return rows.error(int(among[entry]) + skip, message)

    if head.ids is int:
        u, v, others = (_numbers(words, "i", fail, among, text.ranks) for words, among in (
            (sources, places), (targets, places), (lonely, alone)))  # fmt: skip
        first, second, labels, n = number(u, v, others, text.ranks)
    else:
        first, second, labels, n = number_texts(sources, targets, lonely, text.ranks)
    values = np.True_ if head.columns[2] is None else _numbers(numbers, "n", fail, places, text.ranks)
    notes = head.notes
    if count := sum(text.ranks.gather(alone.size)):
        notes += (f"{count:,} row{'s' * (count > 1)} with an empty target: a vertex, no edge",)
    return Edges(first, second, values, n, n, text.name, fail, labels=labels, notes=notes, ranks=text.ranks)


def _numbers(words: list[str], kind: str, fail, among: np.ndarray, ranks: Alone) -> np.ndarray:
    """Cells as numbers ("i": ids, 0 or more), scanned as a file of their own."""
    joined = "\n".join(words)
    if len(joined.split()) != len(words):
        bad = next(k for k, word in enumerate(words) if len(word.split()) != 1)
        raise fail(bad, f"got {words[bad][:60]!r}, expected a number{HINT if kind == 'i' else ''}", among)
    table = Table(Words(joined.encode(), ranks), 0, 1, marks=b"\n", hint=HINT)
    try:
        (numbers,) = table.read(kind)
    except FormatError as error:
        if is_of_all(error):
            raise
        raise fail((error.line or 1) - 1, str(error).split(": ", 1)[1], among) from None
    if kind == "i" and numbers.size and numbers.min() < 0:
        bad = int((numbers < 0).argmax())
        raise fail(bad, f"id {numbers[bad]} is outside 0 or more{HINT}", among)
    return numbers


# ---- writing --------------------------------------------------------------------
def csv_text(rows, cols, values, shape, labels) -> bytes:
    """The file of a matrix that is given as sorted entries."""
    sources, targets, alone, weights = edge_columns(rows, cols, values, shape, labels)
    ids = [*zip(sources[:1].tolist(), targets[:1].tolist())] or [tuple(alone[:1].tolist())]
    if all(isinstance(name, str) for name in ids[0]) and _whole(ids[0]):
        raise InvalidValue(
            f"write: label {ids[0][0]!r} is a text that would be read back as a number: write a .tsv or .parquet file"
        )
    texts = {*map(str, sources.tolist()), *map(str, targets.tolist()), *map(str, alone.tolist())}
    odd = [name for name in texts
           if name != name.strip() or not name or "\0" in name]  # fmt: skip
    if odd:
        raise InvalidValue(f"write: label {odd[0]!r} would not be read back: it is empty, or blanks are around it")
    buffer = io.StringIO()
    returns = any("\r" in name for name in texts)  # which csv does not quote by itself, but for a reader end a line
    writer = csv.writer(
        buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    )
    columns = [sources.tolist(), targets.tolist()]
    if weights is not None:
        columns.append((weights.astype(np.int8) if weights.dtype == np.bool_ else weights).tolist())
    writer.writerow(WRITTEN[: len(columns)])
    writer.writerows(zip(*columns))
    writer.writerows([name, *[""] * (len(columns) - 1)] for name in alone.tolist())
    return buffer.getvalue().encode()
