"""Matrix Market files (``.mtx``): coordinate and array, real, integer and pattern.

Source: R. Boisvert, R. Pozo, K. Remington, The Matrix Market exchange formats,
NISTIR 5935 (1996); the ``%%GraphBLAS type`` comment is SuiteSparse's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from spgraph.io import _note
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, tidy
from spgraph.io._fold import checked_cast
from spgraph.io._report import FormatError
from spgraph.io._table import Table
from spgraph.io._text import Text, load_share

__all__ = ["matrix_market_edges", "read_matrix_market"]

BANNER = b"%%matrixmarket"
FIELDS = ("real", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
TYPES = {"bool": np.bool_, "float": np.float32, "double": np.float64}
TYPES.update(
    {
        f"{sign}int{bits}_t": np.dtype(f"{sign}int{bits}").type
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    }
)
TYPE_LINE = re.compile(rb"^%%GraphBLAS[ \t]+type[ \t]+(.*?)[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
COMPLEX = "complex values are not supported: write the real part, the imaginary part or the modulus instead"


@dataclass(frozen=True)
class _Header:
    layout: str  # "coordinate" or "array"
    field: str
    symmetry: str
    dtype: type | None  # from the %%GraphBLAS line
    nrows: int
    ncols: int
    entries: int
    size_at: int  # offset of the size line
    body: int  # offset behind it


def read_matrix_market(
    path,
    *,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
    banner=None,
):
    """Read a Matrix Market file, plain or compressed.

    Parameters
    ----------
    path : str or path-like
    dtype : optional
        Type of the values; default: INT64 (UINT64 where that is too narrow) for
        integer files, FP64 for real ones, BOOL for patterns, or what a
        ``%%GraphBLAS type`` line says.
    symmetrize : bool
        Store every edge in both directions.
    dup_op : str or binary operator, optional
        Combines duplicate entries; without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.
    banner : str, optional
        What to assume for a file without a first line of its own, such as
        ``"matrix coordinate real general"``.

    Returns
    -------
    Matrix
        With ``.report``.

    Raises
    ------
    FormatError
        Names the line and what was expected there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triangle.mtx"
    >>> _ = path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\\n3 3 3\\n2 1\\n3 1\\n3 2\\n")
    >>> A = read_matrix_market(path)
    >>> print(A.report)
    triangle.mtx: 3 vertices; 3 edges read, 3 reversed edges added, 6 stored
    """
    text = load_share(path, b"%", progress)
    with text.ranks.together():
        edges = matrix_market_edges(text, banner)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def matrix_market_edges(text: Text, banner: str | None = None) -> Edges:
    """The entries of the file as they stand there."""
    header = _read_header(text, banner)
    fields = {"coordinate": 2, "array": 0}[header.layout] + (header.field != "pattern")
    table = Table(text, header.body, fields, marks=b"%")
    columns = table.read(("ii" if header.layout == "coordinate" else "") + _value_kind(header))
    before = _check_count(table, header, columns[0].size)
    if header.layout == "coordinate":
        rows, cols = columns[0], columns[1]
        table.check_range(rows, 1, header.nrows, "row")
        table.check_range(cols, 1, header.ncols, "column")
        rows -= 1
        cols -= 1
    else:
        rows, cols = _positions(header, before + np.arange(columns[0].size))
    if header.field == "pattern":
        values = (header.dtype or np.bool_)(1)
    else:
        values = _typed(columns[-1], header, table)
    if header.symmetry == "skew-symmetric" and (rows == cols).any():
        raise table.fail(
            int((rows == cols).argmax()), "a skew-symmetric matrix has no entries on its diagonal"
        )
    edges = Edges(
        rows,
        cols,
        values,
        header.nrows,
        header.ncols,
        text.name,
        table.fail,
        mirror=None if header.symmetry == "general" else header.symmetry,
        numbered_from=1,
        ranks=text.ranks,
    )
    return _note.apply(edges, _note.find(text, b"%", header.size_at), text)


# ---- header ---------------------------------------------------------------------
def _read_header(text: Text, banner: str | None) -> _Header:
    data = text.data
    end = data.find(b"\n")
    first = data[: end if end >= 0 else len(data)]
    if first[: len(BANNER)].lower() == BANNER:
        words = first[len(BANNER) :].decode("utf-8", "replace").lower().split()
    elif banner is not None:
        words = banner.lower().split()
    else:
        raise text.error(
            0,
            f"got {text.line_at(0)!r}, expected '%%MatrixMarket matrix ...'; for a file without "
            'this line pass banner="matrix coordinate real general", for an edge list format="edgelist"',
        )
    layout, field, symmetry = _check_words(text, words)
    size_at, line = next(text.lines(b"%"), (len(data), b""))
    dtype = _graphblas_type(text, size_at)
    names = ("rows", "columns", "entries") if layout == "coordinate" else ("rows", "columns")
    numbers = line.split()
    if len(numbers) != len(names) or not all(number.isdigit() and len(number) < 19 for number in numbers):
        raise text.error(
            size_at, f"got {text.line_at(size_at)!r}, expected the numbers of {', '.join(names)}"
        )
    nrows, ncols, *rest = (int(number) for number in numbers)
    if symmetry != "general" and nrows != ncols:
        raise text.error(size_at, f"a {symmetry} matrix must be square, this one is {nrows} x {ncols}")
    text.check_room(size_at, nrows)
    entries = rest[0] if rest else _array_entries(nrows, ncols, symmetry)
    end = data.find(b"\n", size_at)
    return _Header(
        layout, field, symmetry, dtype, nrows, ncols, entries, size_at, end + 1 if end >= 0 else len(data)
    )


def _check_words(text: Text, words: list[str]) -> tuple[str, str, str]:
    if len(words) != 4:
        raise text.error(
            0,
            f"got {len(words)} words after %%MatrixMarket, expected "
            "'matrix', the layout, the type of values and the symmetry",
        )
    kind, layout, field, symmetry = words
    if field == "complex" or symmetry == "hermitian":
        raise text.error(0, f"{' '.join(words)}: {COMPLEX}")
    for word, wanted in (
        (kind, ("matrix",)),
        (layout, ("coordinate", "array")),
        (field, FIELDS),
        (symmetry, SYMMETRIES),
    ):
        if word not in wanted:
            raise text.error(0, f"got {word[:60]!r}, expected {' or '.join(wanted)}")
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise text.error(0, f"a pattern cannot be {'an array' if layout == 'array' else symmetry}")
    return layout, field, symmetry


def _graphblas_type(text: Text, end: int) -> type | None:
    match = TYPE_LINE.search(text.data, 0, end)
    if match is None:
        return None
    name = match[1].decode("utf-8", "replace").lower()
    if "complex" in name:
        raise text.error(match.start(), f"{name}: {COMPLEX}")
    if name not in TYPES:
        raise text.error(match.start(), f"got type {name[:60]!r}, expected {', '.join(TYPES)}")
    return TYPES[name]


def _array_entries(nrows: int, ncols: int, symmetry: str) -> int:
    if symmetry == "general":
        return nrows * ncols
    return nrows * (nrows + 1) // 2 if symmetry == "symmetric" else nrows * (nrows - 1) // 2


# ---- body -----------------------------------------------------------------------
def _value_kind(header: _Header) -> str:
    if header.field == "pattern":
        return ""
    if header.dtype is None:
        return "f" if header.field == "real" else "u"
    if np.dtype(header.dtype).kind == "f":
        return "f"
    return "n" if header.field == "real" else "u"


def _typed(values: np.ndarray, header: _Header, table: Table) -> np.ndarray:
    if header.field == "unsigned-integer" and header.dtype is None:
        return checked_cast(values, np.uint64, table.fail)
    if header.dtype is None:
        return values
    if header.dtype is np.bool_:
        wrong = (values != 0) & (values != 1)
        if wrong.any():
            entry = int(wrong.argmax())
            raise table.fail(entry, f"got {values[entry]}, expected 0 or 1 (%%GraphBLAS type bool)")
    return checked_cast(values, header.dtype, table.fail)


def _positions(header: _Header, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of entries of an array file: by columns, the lower triangle if symmetric."""
    n = header.nrows
    if header.symmetry == "general":
        cols, rows = np.divmod(entries, max(n, 1))
        return rows, cols
    first = 0 if header.symmetry == "symmetric" else 1  # of each column, below the diagonal
    ends = np.cumsum(np.arange(n - first, 0, -1))
    cols = np.searchsorted(ends, entries, side="right")
    return n - (np.append(ends, 0)[cols] - entries), cols


def _check_count(table: Table, header: _Header, own: int) -> int:
    """How many entries stand in front of the own ones; raises unless all are as many as promised."""
    text, counts = table.text, table.text.ranks.gather(own)
    before, lines = sum(counts[: text.ranks.rank]), sum(counts)
    promised = f"line {text.line_number(header.size_at)} promises {header.entries:,}"
    if lines > header.entries and before + own > header.entries:
        raise table.fail(
            max(header.entries - before, 0), f"expected the end of the file: {promised} entries, there are {lines:,}"
        )
    last = max((rank for rank, count in enumerate(counts) if count), default=0)
    if lines < header.entries and text.ranks.rank == last:
        number = text.line_number(len(text.data.rstrip()))
        raise FormatError(text.path, number, f"the file ends after {lines:,} entries, {promised}")
    return before
