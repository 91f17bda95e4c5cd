"""Parquet edge lists: a row for each edge, columns by name; needs pyarrow.

Ids are integers or texts, and are numbered by rank. A row whose target (and weight) is null names
a vertex alone. Weights keep their type: what is written is read back as it was.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np

from spgraph.io._build import build_matrix
from spgraph.io._columns import WRITTEN, choose, edge_columns, left_out, number, number_texts
from spgraph.io._coo import Edges, tidy
from spgraph.io._text import Packed, Text, load_packed

__all__ = ["parquet_edges", "parquet_file", "read_parquet"]


def read_parquet(
    path,
    source=None,
    target=None,
    weight=None,
    *,
    dtype=None,
    symmetrize=False,
    dup_op=None,
    drop_self_loops=False,
    order=None,
    progress=None,
):
    """Read a Parquet edge list.

    Parameters
    ----------
    path : str or path-like
    source, target : str or int, optional
        Names or positions (from 0) of the columns; default: a usual pair of names (source and target, src and dst,
        from and to, ...), else the first two.
    weight : str, int or False, optional
        Default: the column called weight, else the third of three. False: no weights.
    dtype : optional
        Type of the weights; default: the column's, BOOL without weights.
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
        Names the file, and the column or row.
    ImportError
        If pyarrow is not installed.
    """
    text = load_packed(path, progress)
    with text.ranks.together():
        edges = parquet_edges(text, source, target, weight)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{what}: Parquet files need pyarrow: pip install pyarrow") from error
    return pyarrow


def parquet_edges(text: Text, source=None, target=None, weight=None) -> Edges:
    """The edges of the file as they stand there."""
    pa = _pyarrow(f"read {text.name}")
    try:
        file = pa.parquet.ParquetFile(text.path if isinstance(text, Packed) else pa.BufferReader(text.data))
        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]  # pandas's
        chosen = choose(names, len(names), source, target, weight, lambda message: text.error(None, message))
        if not text.fits(file.metadata.num_rows * 16 * len(chosen)):
            raise text.error(None, f"{file.metadata.num_rows:,} rows are more than the memory can hold")
        groups = range(*text.ranks.share(file.num_row_groups))
        before = sum(file.metadata.row_group(k).num_rows for k in range(groups.start))
        table = file.read_row_groups(list(groups), columns=[names[k] for k in chosen if k is not None])
        columns = [None if k is None else table.column(names[k]).combine_chunks() for k in chosen]
    except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
        raise text.error(None, f"this is not a Parquet file, or a damaged one ({str(error)[:100]})") from error
    edges = _edges(pa, text, before, columns, [None if k is None else names[k] for k in chosen])
    return replace(edges, notes=edges.notes + left_out(names, len(names), chosen))


def _edges(pa, text: Text, before: int, columns, names) -> Edges:
    first, second = (_plain(pa, column) for column in columns[:2])
    third: Any = None if columns[2] is None else _plain(pa, columns[2])
    u, v = (~np.asarray(column.is_null()) for column in (first, second))
    w = v if third is None else ~np.asarray(third.is_null())
    wrong = ~u | (v != w)
    if wrong.any():
        row = int(wrong.argmax())
        empty = [name for name, there in zip(names, (u, v, w)) if name is not None and not there[row]]
        raise text.error(None, f"row {before + row + 1}: {' and '.join(map(repr, empty))} null, expected a value")
    places = np.flatnonzero(v)
    alone = np.flatnonzero(~v)
    ends = [first.take(pa.array(places)), second.take(pa.array(places)), first.take(pa.array(alone))]

    def fail(entry, message):
        return text.error(None, message if entry is None else f"row {before + places[entry] + 1}: {message}")

    kinds = [_kind(pa, text, column, name) for column, name in ((first, names[0]), (second, names[1]))]
    if kinds[0] != kinds[1]:
        raise text.error(None, f"columns {names[0]!r} and {names[1]!r} hold {kinds[0]} and {kinds[1]}, wanted the same")
    if kinds[0] == "text":
        u_texts, v_texts, more = (
            _texts(pa, text, ids, name, before + 1 + numbers)
            for ids, name, numbers in zip(ends, (names[0], names[1], names[0]), (places, places, alone))
        )
        rows, cols, labels, n = number_texts(u_texts, v_texts, more, text.ranks)
    else:
        for ids, name in zip(ends, (names[0], names[1], names[0])):
            bad = np.flatnonzero(~((ids.to_numpy() >= 0) & (ids.to_numpy() < 2**63)))
            if bad.size:
                raise text.error(None, f"column {name!r}: id {ids[int(bad[0])]} is outside 0..2**63-1")
        u_ids, v_ids, others = (ids.to_numpy().astype(np.int64) for ids in ends)
        rows, cols, labels, n = number(u_ids, v_ids, others, text.ranks)
    values = np.True_ if third is None else _values(pa, text, third, places, names[2])
    count = sum(text.ranks.gather(alone.size))
    notes = (f"{count:,} row{'s' * (count > 1)} with a null target: a vertex, no edge",) if count else ()
    return Edges(rows, cols, values, n, n, text.name, fail, labels=labels, notes=notes, ranks=text.ranks)


def _plain(pa, column):
    """One array without a dictionary, and of a type that everything can be done with."""
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.large_binary()).view(pa.large_string()) if _is_view(pa, column) else column


def _is_view(pa, column) -> bool:
    return getattr(pa.types, "is_string_view", bool)(column.type) is True


def _kind(pa, text: Text, column, name: str) -> str:
    kind = column.type
    if pa.types.is_integer(kind):
        return "integers"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    raise text.error(None, f"column {name!r} holds {kind}, wanted ids that are integers or texts")


def _texts(pa, text: Text, ids, name: str, numbers: np.ndarray) -> list[str]:
    """Ids of rows with these numbers; Parquet does not check that texts are UTF-8."""
    found = []
    for row, one in zip(numbers.tolist(), ids.cast(pa.large_binary()).to_pylist()):
        try:
            found.append(one.decode())
        except UnicodeDecodeError as error:
            raise text.error(None, f"row {row}: {name!r} is not UTF-8: {one[:20]!r}") from error
    return found


def _values(pa, text: Text, column, places, name: str) -> np.ndarray:
    kind = column.type
    floats = pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not (pa.types.is_integer(kind) or floats or pa.types.is_boolean(kind)):
        raise text.error(None, f"column {name!r} holds {kind}, wanted weights that are numbers")
    return column.take(pa.array(places)).to_numpy(zero_copy_only=False).astype(kind.to_pandas_dtype(), copy=False)


# ---- writing --------------------------------------------------------------------
def parquet_file(rows, cols, values, shape, labels) -> bytes:
    """The file of a matrix that is given as sorted entries."""
    pa = _pyarrow("write")
    sources, targets, alone, weights = edge_columns(rows, cols, values, shape, labels)
    kind = pa.string() if sources.dtype.kind in "OU" else pa.int64()
    table = {
        WRITTEN[0]: pa.array([*sources.tolist(), *alone.tolist()], kind),
        WRITTEN[1]: pa.array([*targets.tolist(), *[None] * alone.size], kind),
    }
    if weights is not None:
        filled = np.concatenate((weights, np.zeros(alone.size, weights.dtype)))
        missing = np.arange(filled.size) >= weights.size
        table[WRITTEN[2]] = pa.array(filled, mask=missing, from_pandas=False)
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(table), buffer)
    return buffer.getvalue()
