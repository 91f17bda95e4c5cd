"""DIMACS graphs (``.gr``): shortest-path, PACE and colouring files, and bare arc lines.

====================  ======================  ==========  =====================
problem line          each edge               numbered    meaning
====================  ======================  ==========  =====================
``p sp n m``          ``a u v weight``        from 1      directed
``p tw n m`` (PACE)   ``u v``                 from 1      undirected
``p edge``, ``p col`` ``e u v``               from 1      undirected
none                  ``a u v weight``        from 0      directed, n = max + 1
====================  ======================  ==========  =====================

Lines that begin with ``c`` are comments. Source: 9th DIMACS Implementation
Challenge (2006); PACE 2016; files without a problem line are fast_paths'.
"""

from __future__ import annotations

import numpy as np

from spgraph.io import _note
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, tidy
from spgraph.io._table import Table
from spgraph.io._text import Text, load_share

__all__ = ["dimacs_edges", "read_dimacs"]

PROBLEMS = {b"sp": (b"a", 3), b"tw": (b"", 2), b"edge": (b"e", 2), b"col": (b"e", 2)}


def read_dimacs(
    path, *, dtype=None, symmetrize=False, dup_op=None, drop_self_loops=False, order=None, progress=None
):
    """Read a DIMACS graph, plain or compressed; see the module for the variants.

    Parallel arcs are usual in road files: ``dup_op="min"`` keeps the shortest.
    Weights of zero are entries like any other.

    Parameters
    ----------
    path : str or path-like
    dtype : optional
        Type of the weights; default: INT64 (UINT64, FP64 where the file needs
        it), BOOL without weights.
    symmetrize : bool
        Store every edge in both directions.
    dup_op : str or binary operator, optional
        Combines duplicate arcs; without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

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
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "roads.gr"
    >>> _ = path.write_text("c two parallel roads\\np sp 3 3\\na 1 2 7\\na 1 2 5\\na 2 3 1\\n")
    >>> print(read_dimacs(path, dup_op="min").report)
    roads.gr: 3 vertices; 3 edges read, 1 duplicate merged, 2 stored
    """
    text = load_share(path, b"c", progress)
    with text.ranks.together():
        edges = dimacs_edges(text)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def dimacs_edges(text: Text) -> Edges:
    """The arcs of the file as they stand there."""
    at, line = next(text.lines(b"c"), (len(text.data), b""))
    words = line.split()
    if not words or words[0] not in (b"p", b"a"):
        raise text.error(at, f"got {text.line_at(at)!r}, expected 'p sp <vertices> <arcs>'")
    declared = words[0] == b"p"
    letter, fields, n, count = _problem(text, at, words) if declared else (b"a", 3, 0, 0)
    body = (text.data.find(b"\n", at) + 1 or len(text.data)) if declared else at
    table = Table(text, body, fields, marks=b"c", letter=letter)
    rows, cols, *weights = table.read("iin"[:fields])
    first = 1 if declared else 0
    for ids in (rows, cols):
        table.check_range(ids, first, n if declared else None, "vertex")
    lines = table.lines
    if declared and lines != count:
        raise text.error(at, f"the problem line promises {count:,} edges, the file has {lines:,}")
    if not declared:
        n = max(text.ranks.gather(int(max(rows.max(initial=-1), cols.max(initial=-1))))) + 1
        text.check_room(None, n)
    rows -= first
    cols -= first
    notes = () if declared else ("no problem line: vertices numbered from 0",)
    edges = Edges(
        rows,
        cols,
        weights[0] if weights else np.True_,
        n,
        n,
        text.name,
        table.fail,
        mirror="symmetric" if fields == 2 else None,
        notes=notes,
        numbered_from=first,
        ranks=text.ranks,
    )
    return _note.apply(edges, _note.find(text, b"c", at), text)


def _problem(text: Text, at: int, words: list[bytes]) -> tuple[bytes, int, int, int]:
    if (
        len(words) != 4
        or words[1] not in PROBLEMS
        or not all(word.isdigit() and len(word) < 19 for word in words[2:])
    ):
        kinds = ", ".join(kind.decode() for kind in PROBLEMS)
        raise text.error(
            at, f"got {text.line_at(at)!r}, expected 'p <kind> <vertices> <edges>' with one of {kinds}"
        )
    n, count = int(words[2]), int(words[3])
    text.check_room(at, n)
    return (*PROBLEMS[words[1]], n, count)
