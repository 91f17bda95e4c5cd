"""`read`: which reader a file needs."""

from __future__ import annotations

import os
import re

from semirings.exceptions import InvalidValue
from spgraph.io._text import Text, load
from spgraph.io.dimacs import read_dimacs
from spgraph.io.edgelist import read_edgelist
from spgraph.io.matrix_market import read_matrix_market

__all__ = ["FORMATS", "format_of", "read"]

FORMATS = {"matrix_market": read_matrix_market, "edgelist": read_edgelist, "dimacs": read_dimacs}
NAMES = {"mtx": "matrix_market", "mm": "matrix_market", "gr": "dimacs", "snap": "edgelist", "csv": "edgelist"}
SUFFIXES = {
    ".mtx": "matrix_market",
    ".gr": "dimacs",
    ".csv": "edgelist",
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
    ".npz": "scipy.sparse.load_npz and from_scipy",
    ".graph": "another format (METIS and WebGraph files are not read)",
    ".metis": "another format (METIS files are not read)",
}
PACKED = (".gz", ".xz", ".bz2")
DIMACS_LINE = re.compile(rb"(p[ \t]+(sp|tw|edge|col)[ \t]+\d+[ \t]+\d+|a[ \t]+\d+[ \t]+\d+[ \t]+\S+)\s*\Z")


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
    format : {"matrix_market", "edgelist", "dimacs"}, optional
        Default: by the name (``.mtx``, ``.gr``, ``.csv``, ``.tsv``, ``.el``,
        ``.wel``, ``.edges``, ``.edgelist``), else by what the file begins with.
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

    Raises
    ------
    FormatError
        Names the file, the line and what was expected there.

    See Also
    --------
    read_matrix_market, read_edgelist, read_dimacs : the same with the options of each format.

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
        if name is None:
            path = load(path, progress)
            name = format_of(path)
    else:
        name = NAMES.get(format, format)
        if name not in FORMATS:
            raise InvalidValue(f"read: format: got {format!r}, wanted one of {', '.join(FORMATS)}")
    return FORMATS[name](
        path,
        dtype=dtype,
        symmetrize=symmetrize,
        dup_op=dup_op,
        drop_self_loops=drop_self_loops,
        order=order,
        progress=progress,
    )


def _by_suffix(path) -> str | None:
    stem, suffix = os.path.splitext(os.fspath(path).lower())
    if suffix in PACKED:
        suffix = os.path.splitext(stem)[1]
    if suffix in OTHERS:
        raise InvalidValue(f"{os.fspath(path)}: {suffix} is not among the formats here: use {OTHERS[suffix]}")
    return SUFFIXES.get(suffix)


def format_of(text: Text) -> str:
    """What the text looks like."""
    if text.data[:14].lower() == b"%%matrixmarket":
        return "matrix_market"
    _, line = next(text.lines(b"c"), (0, b""))
    return "dimacs" if DIMACS_LINE.match(line) else "edgelist"
