"""`read`: which reader a file needs."""

from __future__ import annotations

import os
import re

from semirings.exceptions import InvalidValue
from spgraph.io._columns import has_names
from spgraph.io._text import Text, load_share
from spgraph.io.csv_edges import read_csv
from spgraph.io.dimacs import read_dimacs
from spgraph.io.edgelist import read_edgelist
from spgraph.io.matrix_market import read_matrix_market
from spgraph.io.metis import read_metis
from spgraph.io.npz import read_npz
from spgraph.io.parquet import read_parquet

__all__ = ["FORMATS", "checked_format", "format_of", "read"]

FORMATS = {
    "matrix_market": read_matrix_market,
    "edgelist": read_edgelist,
    "dimacs": read_dimacs,
    "metis": read_metis,
    "npz": read_npz,
    "csv": read_csv,
    "parquet": read_parquet,
}
NAMES = {"mtx": "matrix_market", "mm": "matrix_market", "gr": "dimacs", "snap": "edgelist", "graph": "metis"}
SUFFIXES = {
    ".mtx": "matrix_market",
    ".gr": "dimacs",
    ".graph": "metis",
    ".metis": "metis",
    ".npz": "npz",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tsv": "edgelist",
    ".el": "edgelist",
    ".wel": "edgelist",
    ".edges": "edgelist",
    ".edgelist": "edgelist",
}
OTHERS = {
    ".gml": "networkx.read_gml and from_networkx",
    ".graphml": "networkx.read_graphml and from_networkx",
    ".net": "networkx.read_pajek and from_networkx",
    ".mat": "scipy.io.loadmat and from_scipy",
}
PACKED = (".gz", ".xz", ".bz2")
MAGIC = {re.compile(rb"PK(\x03\x04|\x05\x06)"): "npz", re.compile(rb"PAR1[\0-\x08\x0e-\x1f]"): "parquet"}
BINARY = ("npz", "parquet")  # which lines of text do not cut into shares
DIMACS_LINE = re.compile(rb"(p[ \t]+(sp|tw|edge|col)[ \t]+\d+[ \t]+\d+|a[ \t]+\d+[ \t]+\d+[ \t]+\S+)\s*\Z")
METIS_HEADER = re.compile(rb"\d{1,18}([ \t]+\d{1,18}){1,3}\s*\Z")
COMMENT = re.compile(rb"^[ \t]*%", re.MULTILINE)
LOOKED_AT = 100  # lines that tell METIS files from edge lists


def read(
    path,
    format=None,
    *,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
):
    """Read a graph from a file.

    Parameters
    ----------
    path : str or path-like
        gzip, xz and bzip2 are unpacked.
    format : {"matrix_market", "edgelist", "dimacs", "metis", "npz", "csv", "parquet"}, optional
        Default: by the name (``.mtx``, ``.gr``, ``.graph``, ``.metis``, ``.npz``, ``.csv``, ``.parquet``,
        ``.pq``, ``.tsv``, ``.el``, ``.wel``, ``.edges``, ``.edgelist``), else by what the file begins with.
    dtype : optional
        Type of the values; default: what the file holds.
    symmetrize : bool
        Store every edge in both directions.
    dup_op : str or binary operator, optional
        Combines duplicate edges ("min", "max", "plus", "first", "last" ...);
        without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

    Returns
    -------
    Matrix
        ``.report`` says what was read, dropped, merged and added; ``.labels``
        are the original ids, or None where they are 0..n-1.

    Notes
    -----
    Under ``mpiexec`` each process reads and parses a share of the lines (of the entries of a ``.npz`` file, of the row
    groups of a Parquet file) and sends edges to the owners of their rows: none ever holds more than that. Packed files
    are unpacked by every process. A CSV file whose quoted cells go over several lines is parsed by the first process.

    Raises
    ------
    FormatError
        Names the file, the line and what was expected there.

    See Also
    --------
    read_matrix_market, read_edgelist, read_dimacs, read_metis, read_npz, read_csv, read_parquet : the
        same with the options of each format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "roads.gr"
    >>> _ = path.write_text("p sp 3 2\\na 1 2 7\\na 2 3 1\\n")
    >>> print(read(path).report)
    roads.gr: 3 vertices; 2 edges read, 2 stored
    """
    if format is None:
        name = _by_suffix(path)
        if name in (None, "csv"):  # .csv files are often separated by blanks
            given, path = path, load_share(path, b"c#%", progress)
            with path.ranks.together():
                name = format_of(path) if name is None or _blanks_separate(path) else name
                name = path.ranks.gather(name)[0]  # which has seen most lines
            path = given if name in BINARY and path.ranks.count > 1 else path
    else:
        name = checked_format(format, "read")
    return FORMATS[name](
        path,
        dtype=dtype,
        symmetrize=symmetrize,
        dup_op=dup_op,
        drop_self_loops=drop_self_loops,
        order=order,
        progress=progress,
    )


def checked_format(format, where: str) -> str:
    """The format that is called so."""
    name = NAMES.get(format, format) if isinstance(format, str) else None
    if name not in FORMATS:
        raise InvalidValue(f"{where}: format: got {format!r}, wanted one of {', '.join(FORMATS)}")
    return name


def _by_suffix(path) -> str | None:
    stem, suffix = os.path.splitext(os.fspath(path).lower())
    if suffix in PACKED:
        suffix = os.path.splitext(stem)[1]
    if suffix in OTHERS:
        raise InvalidValue(f"{os.fspath(path)}: {suffix} is not among the formats here, which are "
                           f"{', '.join(SUFFIXES)}: use {OTHERS[suffix]}")
    return SUFFIXES.get(suffix)


def _blanks_separate(text: Text) -> bool:
    """Whether the first line has neither comma nor semicolon, nor a quote."""
    _, line = next(text.lines(b"#%"), (0, b""))
    return bool(line) and not any(mark in line for mark in (b",", b";", b'"'))


def format_of(text: Text) -> str:
    """What the text looks like."""
    data = text.data
    if (name := next((name for magic, name in MAGIC.items() if magic.match(data)), None)) is not None:
        return name
    if data[:14].lower() == b"%%matrixmarket":
        return "matrix_market"
    _, line = next(text.lines(b"c"), (0, b""))
    if DIMACS_LINE.match(line):
        return "dimacs"
    at, line = next(text.lines(b"#%"), (0, b""))
    if METIS_HEADER.match(line) and _lists_follow(text, at, line.split()):
        return "metis"
    for mark in (b",", b";"):
        if mark in line:
            cells = line.decode("utf-8", "replace").split(mark.decode())
            return "csv" if '"' in cells[0] + cells[-1] or has_names(cells) else "edgelist"
    return "edgelist"


def _lists_follow(text: Text, at: int, header: list[bytes]) -> bool:
    """Whether as many lines follow as the header has vertices, not all of the header's length."""
    body = text.data.find(b"\n", at) + 1 or len(text.data)
    lengths = {len(line.split()) for _, (_, line) in zip(range(LOOKED_AT), text.lines(b"%", body))}
    own = text.begin(body)
    lines = sum(text.ranks.gather(text.data.count(b"\n", own) - len(COMMENT.findall(text.data, own))))
    n = int(header[0])
    return bool(lengths - {len(header)}) and lines in (n, n - 1)
