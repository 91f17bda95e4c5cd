"""METIS and Chaco graphs (``.graph``): line i below the header lists the neighbours of vertex i, counted from 1.

Header: ``n m [fmt [ncon]]``. The digits of ``fmt``, from the right: edge weights (each
neighbour is followed by one), vertex weights (each line begins with `ncon` of them, 1 if
left out), vertex sizes (one number in front of all). An undirected edge stands in the lines of both its
ends and counts once in ``m``, a self-loop stands once. Lines that begin with ``%`` are comments;
an empty line is a vertex without neighbours.

Method: the numbers are read as one long column; which line each stands in is counted from the bytes.
Work: three passes over the bytes, one sort of the edges. Source: the METIS 5 manual (2013), section 4.1.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, InvalidValue
from spgraph.io import _note
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, tidy, to_holders
from spgraph.io._keys import bits_for, sort_with_positions
from spgraph.io._ranks import Alone
from spgraph.io._report import FormatError
from spgraph.io._table import Table
from spgraph.io._text import Text, load_share, write_bytes

__all__ = ["metis_edges", "metis_text", "read_metis", "write_metis"]

COMMENT = re.compile(rb"^[ \t]*%[^\n]*", re.MULTILINE)
BLANKS = bytes.maketrans(b" \t\r", b"\n\n\n")
FMT = re.compile(r"[01]{1,3}")


@dataclass(frozen=True)
class _Header:
    n: int
    m: int
    sizes: bool
    weights: int  # of each vertex
    weighted: bool  # whether edges are
    at: int
    body: int

    @property
    def before(self) -> int:
        """Numbers in front of a vertex's neighbours."""
        return self.sizes + self.weights


def read_metis(
    path,
    *,
    directed=False,
    fmt=None,
    with_vertices=False,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
):
    """Read a METIS graph, plain or compressed.

    Parameters
    ----------
    path : str or path-like
    directed : bool
        True: the lists need not be symmetric, and the header counts each entry (GAP's files). False:
        an edge that stands in one list only, or with two weights, raises.
    fmt : str, optional
        Three binary digits that count instead of the header's, such as ``"001"``.
    with_vertices : bool
        Also return the sizes and weights of the vertices.
    dtype : optional
        Type of the edge weights; default: INT64 (UINT64, FP64 where the file needs it),
        BOOL without weights.
    symmetrize : bool
        Store every edge in both directions (of a directed graph).
    dup_op : str or binary operator, optional
        Combines duplicate edges; without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

    Returns
    -------
    Matrix, or (Matrix, sizes, weights)
        With ``.report``. `sizes` is an array of n numbers, or None; `weights` one of n x ncon, or None.

    Raises
    ------
    FormatError
        Names the line and what was expected there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triangle.graph"
    >>> _ = path.write_text("% a triangle, weighted, and a vertex alone\\n4 3 1\\n2 5 3 7\\n1 5 3 1\\n1 7 2 1\\n\\n")
    >>> A = read_metis(path)
    >>> print(A.report)
    triangle.graph: 4 vertices; 6 edges read, 6 stored
    """
    text = load_share(path, b"%", progress)
    with text.ranks.together():
        edges, sizes, weights = metis_edges(text, directed=directed, fmt=fmt)
        if not with_vertices:
            edges = replace(edges, notes=edges.notes + _left_out(sizes, weights))
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    matrix = build_matrix(csr if directed else replace(csr, symmetric=True), order)
    return (matrix, sizes, weights) if with_vertices else matrix


def _left_out(sizes, weights) -> tuple[str, ...]:
    names = [name for name, found in (("sizes", sizes), ("weights", weights)) if found is not None]
    return (f"{' and '.join(names)} of vertices left out (with_vertices=True returns them)",) if names else ()


def metis_edges(text: Text, *, directed=False, fmt=None) -> tuple[Edges, Any, Any]:
    """The entries of the file as they stand there, sizes and weights of the vertices."""
    header = _read_header(text, fmt)
    data = COMMENT.sub(lambda comment: b"\n" * len(comment[0]), text.data)
    lines, counts, v = _tokens(text, header)
    numbers = Table(_Column(text, data.translate(BLANKS)), header.body, 1, marks=b"\n")
    (values,) = numbers.read("n" if header.weighted else "i")

    def fail_number(token, message):
        return text.error(None if token is None else numbers.offset_of(token), message)

    lines, counts = _check_lists(text, header, lines, counts, v)
    first = np.cumsum(counts) - counts
    vertices = v + np.repeat(np.arange(counts.size), counts)
    place = np.arange(values.size) - np.repeat(first, counts) - header.before
    tokens = np.flatnonzero((place >= 0) & (place % (1 + header.weighted) == 0))
    if values.dtype != np.int64:
        _check_whole(data[text.begin(header.body) :], (place < 0) | (place % 2 == 0), fail_number)
    with np.errstate(invalid="ignore"):
        ends = values[tokens].astype(np.int64)
    wrong = (ends < 1) | (ends > header.n)
    if wrong.any():
        at = int(wrong.argmax())
        raise fail_number(int(tokens[at]), f"vertex {values[tokens[at]]} is outside 1..{header.n}")
    edges = Edges(
        vertices[tokens],
        ends - 1,
        values[tokens + 1] if header.weighted else np.True_,
        header.n,
        header.n,
        text.name,
        lambda entry, message: fail_number(entry if entry is None else int(tokens[entry]), message),
        numbered_from=1,
        ranks=text.ranks,
    )
    _check_number_of_edges(text, header, edges, directed)
    if not directed:
        edges = _checked_symmetry(edges, v)
    table = values[first[:, None] + np.arange(header.before)]
    wrong = (table < 0) | (table >= 2.0**63)
    if wrong.any():
        vertex, column = np.argwhere(wrong)[0].tolist()
        token = int(first[vertex]) + column
        raise fail_number(token, f"got {values[token]}, expected a size or weight of a vertex, 0 or more")
    table = np.concatenate(text.ranks.gather(table.astype(np.int64)))
    sizes = table[:, 0] if header.sizes else None
    weights = table[:, int(header.sizes) :] if header.weights else None
    return _note.apply(edges, _note.find(text, b"%", header.at), text), sizes, weights


class _Column(Text):
    """The numbers of a text with a line for each; what it says of lines is about the text itself."""

    def __init__(self, text: Text, data: bytes):
        super().__init__(text.path, data, text.progress)
        self.original = text
        self.ranks = text.ranks

    def begin(self, start: int) -> int:
        """Where this share of the lines from `start` begins."""
        return self.original.begin(start)

    def line_number(self, offset: int) -> int:
        """1-based number of the line at an offset."""
        return self.original.line_number(offset)


# ---- header ---------------------------------------------------------------------
def _read_header(text: Text, fmt) -> _Header:
    if (zero := text.data.find(b"\0")) >= 0:
        hint = "WebGraph's files, BVGraph, are not read; its ArcListASCIIGraph writes edge lists, which are"
        raise text.error(zero, f"this is not a text file: it holds a zero byte ({hint})")
    at, line = next(text.lines(b"%"), (len(text.data), b""))
    words = [word.decode("utf-8", "replace") for word in line.split()]
    fits = 2 <= len(words) <= 4 and all(word.isascii() and word.isdigit() and len(word) < 19 for word in words)
    if not fits:
        raise text.error(at, f"got {text.line_at(at)!r}, expected '<vertices> <edges> [fmt [ncon]]'")
    code = words[2] if len(words) > 2 else "0"
    if fmt is not None:
        if not FMT.fullmatch(str(fmt)):
            raise InvalidValue(f"read_metis: fmt: got {fmt!r}, wanted three digits 0 or 1, such as '011'")
        code = str(fmt)
    elif not FMT.fullmatch(code):
        raise text.error(at, f"got fmt {code[:20]!r}, expected at most three digits 0 or 1")
    sizes, weights, weighted = (digit == "1" for digit in code.zfill(3))
    ncon = int(words[3]) if len(words) > 3 else 1
    n = int(words[0])
    text.check_room(at, n)
    if ncon > len(text.data):
        raise text.error(at, f"{ncon:,} weights a vertex are more than the file has numbers")
    body = text.data.find(b"\n", at) + 1 or len(text.data)
    return _Header(n, int(words[1]), sizes, ncon if weights else 0, weighted, at, body)


# ---- body -----------------------------------------------------------------------
def _tokens(text: Text, header: _Header) -> tuple[np.ndarray, np.ndarray, int]:
    """Offsets of the lines that are no comments, how many numbers stand in each, and how many lines come before."""
    data, body = text.data, text.begin(header.body)
    letters = np.frombuffer(data, np.uint8)[body:]
    solid = (letters != 32) & ((letters < 9) | (letters > 10)) & (letters != 13)
    begins = np.concatenate(([0], np.flatnonzero(letters == 10) + 1))
    starts = solid.copy()
    starts[1:] &= ~solid[:-1]
    total = np.concatenate(([0], np.cumsum(starts)))
    counts = total[np.append(begins[1:], letters.size)] - total[begins]
    comments = [match.start() - body for match in COMMENT.finditer(data, body)]
    told = np.ones(begins.size, bool)
    told[np.searchsorted(begins, comments, "right") - 1] = False
    if text.ranks.count > 1:  # what stands behind the last line end is a line of the last share that has any
        ends = text.ranks.gather(letters.size)
        last = max((rank for rank, size in enumerate(ends) if size), default=0)
        told[-1] &= text.ranks.rank == last
    lines = begins[told] + body
    return lines, counts[told], text.ranks.before(lines.size)


def _check_lists(text: Text, header: _Header, lines, counts, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays for the vertices from `v`: one list for each, with a weight for each neighbour if there are any."""
    there = sum(text.ranks.gather(lines.size))
    if there < header.n:
        if text.ranks.last:
            raise FormatError(
                text.path,
                text.line_number(len(text.data)),
                f"the file ends after the lists of {there:,} vertices, line {text.line_number(header.at)} promises "
                f"{header.n:,}",
            )
        text.ranks.gather(None)  # raises what the last says
    own = min(max(header.n - v, 0), lines.size)
    beyond = np.flatnonzero(counts[own:])
    if beyond.size:
        at = int(lines[own + beyond[0]])
        raise text.error(at, f"got {text.line_at(at)!r}, expected the end of the file after {header.n:,} lists")
    lines, counts = lines[:own], counts[:own]
    short = counts < header.before
    if header.weighted:
        short |= (counts - header.before) % 2 != 0
    if short.any():
        at = int(lines[int(short.argmax())])
        numbers = f"{header.before} number{'s' * (header.before > 1)}"
        front = [f"{numbers} about the vertex"] * (header.before > 0)
        wanted = " and then ".join([*front, "pairs of neighbour and weight" if header.weighted else "neighbours"])
        raise text.error(at, f"got {text.line_at(at)!r}, expected {wanted}")
    return lines, counts


def _check_whole(body: bytes, ids: np.ndarray, fail) -> None:
    """Where a weight is a fraction, all numbers were read as floats: those of vertices must be whole."""
    for token, (word, is_id) in enumerate(zip(body.split(), ids.tolist())):
        if is_id and not word.lstrip(b"+-").isdigit():
            raise fail(token, f"got {word[:60].decode('utf-8', 'replace')!r}, expected an integer")


def _check_number_of_edges(text: Text, header: _Header, edges: Edges, directed: bool) -> None:
    own = np.array([edges.rows.size, np.count_nonzero(edges.rows == edges.cols)])
    count, loops = edges.ranks.total(own).tolist()
    found = count if directed else (count - loops) / 2 + loops
    if found == header.m:
        return
    hint = ""
    if not directed and count == header.m:
        hint = "; if it counts each entry, the graph is directed: read_metis(path, directed=True)"
    raise text.error(header.at, f"promises {header.m:,} edges, the lists have {found:,.16g}{hint}")


def _checked_symmetry(edges: Edges, v: int) -> Edges:
    """Every entry has a twin in the list of its other end, with the same weight. Own lists begin at vertex `v`.

    The weights of parallel edges may stand in another order there: that of the smaller end counts for both, so that
    the matrix is symmetric whatever combines them.
    """
    bits, ranks = bits_for(edges.nrows), edges.ranks
    mine = (edges.rows << bits) | edges.cols
    keys, order = sort_with_positions(mine, 2 * bits)
    ends, others = edges.cols, [edges.rows] if edges.iso else [edges.rows, edges.values]
    if ranks.count > 1:  # the twins of what is in the lists here
        cuts = np.append(np.minimum(ranks.gather(v), edges.nrows), edges.nrows)
        (ends, *others), _ = to_holders(ranks, cuts, ends, *others)
    twins, back = sort_with_positions((ends << bits) | others[0], 2 * bits)
    order = np.arange(keys.size) if order is None else order
    if any(ranks.gather(not np.array_equal(keys, twins))):
        at = _without_twin(ranks, mine, keys, order, twins)
        a, b = int(edges.rows[at]) + 1, int(edges.cols[at]) + 1
        raise edges.fail(
            at, f"{b} is in the list of {a} and {a} not as often in that of {b}; directed=True reads a directed graph"
        )
    if edges.iso:
        return edges
    one, other = edges.values[order], others[1] if back is None else others[1][back]
    differ = _differ(one, other)
    if not differ.any():
        return edges
    apart = _differ(one[np.lexsort((one, keys))], other[np.lexsort((other, keys))])
    if apart.any():
        where = int(order[differ & np.isin(keys, keys[apart])].min())
        weight = other[int(np.flatnonzero(order == where)[0])]
        a, b = int(edges.rows[where]) + 1, int(edges.cols[where]) + 1
        raise edges.fail(where, f"({a}, {b}) has weight {edges.values[where]}, ({b}, {a}) has {weight}")
    values = edges.values.copy()
    values[order] = np.where(edges.rows[order] > edges.cols[order], other, one)
    return replace(edges, values=values)


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two weights are not the same; NaN is the same as NaN."""
    return (one != other) & ((one == one) | (other == other))


def _without_twin(ranks: Alone, mine, keys, order, twins) -> int:
    """The first entry that has none, else one that has too few or too many; raises where another process has one."""
    alone = np.flatnonzero(~np.isin(mine, twins))
    if not any(ranks.gather(alone.size)):
        both = min(keys.size, twins.size)
        apart = np.append(np.flatnonzero(keys[:both] != twins[:both]), both)[:1]
        alone = order[np.minimum(apart, keys.size - 1)] if keys.size != twins.size or apart[0] < both else alone
    if not alone.size:
        ranks.gather(None)
    return int(alone[0])


# ---- writing --------------------------------------------------------------------
def write_metis(matrix, path, *, sizes=None, weights=None):
    """Write a symmetric matrix of booleans or integers as a METIS graph; ``.gz`` is compressed.

    Parameters
    ----------
    matrix : Matrix, or anything `as_matrix` takes
    path : str or path-like
    sizes : array of n integers, optional
        Sizes of the vertices (METIS: for the volume of communication).
    weights : array of n or n x ncon integers, optional
        Weights of the vertices.

    Examples
    --------
    >>> import pathlib, tempfile, spgraph as sg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "path.graph"
    >>> write_metis(sg.generators.path(3), path, weights=[4, 5, 6])
    >>> print(path.read_text())
    3 2 010
    4 2
    5 1 3
    6 2
    <BLANKLINE>
    """
    from spgraph.io.convert import as_matrix

    matrix = as_matrix(matrix)
    rows, cols, values = matrix.to_coo()
    text = metis_text(rows, cols, values, matrix.shape, matrix.labels, sizes=sizes, weights=weights)
    write_bytes(path, text)


def metis_text(rows, cols, values, shape, labels, *, sizes=None, weights=None) -> bytes:
    """The file of a matrix that is given as sorted entries."""
    n = shape[0]
    if n != shape[1]:
        raise DimensionMismatch(f"write: METIS needs a square matrix, this one is {n} x {shape[1]}")
    if values.dtype.kind not in "iub":
        raise DomainMismatch(f"write: METIS needs integer weights, got {values.dtype}")
    back = np.lexsort((rows, cols))
    if not all(np.array_equal(one, other[back]) for one, other in ((rows, cols), (cols, rows), (values, values))):
        raise InvalidValue("write: METIS needs a symmetric matrix, and this one is not")
    weighted = not (values.dtype == np.bool_ and bool(values.all()))
    front = [_numbers("sizes", sizes, n, 1), _numbers("weights", weights, n, 2)]
    loops = int(np.count_nonzero(rows == cols))
    fmt = f"{int(sizes is not None)}{int(weights is not None)}{int(weighted)}"
    ncon = front[1].shape[1]
    head = f"{n} {(rows.size - loops) // 2 + loops}" + (f" {fmt}" if fmt != "000" else "")
    head += f" {ncon}" if weights is not None and ncon != 1 else ""
    fields = (cols + 1).tolist()
    if weighted:
        numbers = values.astype(np.int8) if values.dtype == np.bool_ else values
        fields = list(map("%d %d".__mod__, zip(fields, numbers.tolist())))
    begin = np.searchsorted(rows, np.arange(n + 1)).tolist()
    before = np.concatenate(front, axis=1).tolist()
    facts = {} if not weighted or values.dtype == np.int64 else {"dtype": values.dtype.name}
    text = [*_note.lines("%", _note.names_of(labels, shape), **facts), head]
    text += [" ".join(map(str, before[v] + fields[begin[v] : begin[v + 1]])) for v in range(n)]
    return ("\n".join(text) + "\n").encode()


def _numbers(name: str, numbers, n: int, most: int) -> np.ndarray:
    """Numbers of vertices as a table of n rows."""
    if numbers is None:
        return np.empty((n, 0), np.int64)
    table = np.asarray(numbers)
    if table.shape[:1] != (n,) or table.ndim > most or table.size == 0 < n:
        raise DimensionMismatch(f"write_metis: {name} has shape {table.shape}, the graph has {n} vertices")
    if table.size and (table.dtype.kind not in "iu" or table.min() < 0):
        raise DomainMismatch(f"write_metis: {name}: wanted integers, 0 or more")
    return table.reshape(n, -1 if n else 1).astype(np.int64)
