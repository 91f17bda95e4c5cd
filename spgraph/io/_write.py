"""Writers: what they write, the readers read back, values and dtype included."""

from __future__ import annotations

import io

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch
from spgraph.exchange.ranks import ranks_of
from spgraph.io import _note
from spgraph.io._build import whole_at_first
from spgraph.io._read import _by_suffix, checked_format
from spgraph.io._text import write_bytes
from spgraph.io.csv_edges import csv_text
from spgraph.io.edgelist import edgelist_text
from spgraph.io.metis import metis_text
from spgraph.io.npz import npz_file
from spgraph.io.parquet import parquet_file

__all__ = ["write"]

TYPE_NAMES = {"bool": "bool", "float32": "float", "float64": "double"}


def write(matrix, path, format=None, *, labels=None):
    """Write a matrix to a file; a name that ends with ``.gz`` is compressed.

    Parameters
    ----------
    matrix : Matrix, or anything `as_matrix` takes
    path : str or path-like
    format : {"matrix_market", "edgelist", "dimacs", "metis", "npz", "csv", "parquet"}, optional
        Default: by the name, see `read`; else Matrix Market.
    labels : array, optional
        Names of the vertices, all integers or all texts; default: ``matrix.labels``.

    Raises
    ------
    InvalidValue, DomainMismatch, DimensionMismatch
        If the format cannot hold the matrix, or would not give it back.

    Notes
    -----
    What is written is read back: shape, entries with explicit zeros, values, dtype and labels. Matrix
    Market files, edge lists, DIMACS and METIS files say in comments what they have no other place for. The
    exceptions:

    - DIMACS and METIS hold integers and booleans, METIS symmetric matrices only; both, CSV and Parquet
      square ones only.
    - CSV does not tell types: values come back as INT64, FP64, or BOOL if all are true.
    - CSV and Parquet are read with vertices in the order of their labels.

    Under ``mpiexec`` the first process gets the whole matrix and writes it; the others wait.

    Examples
    --------
    >>> import pathlib, tempfile, spgraph as sg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "path.mtx"
    >>> sg.io.write(sg.generators.path(3), path)
    >>> print(path.read_text())
    %%MatrixMarket matrix coordinate pattern symmetric
    %%GraphBLAS type bool
    3 3 2
    2 1
    3 2
    <BLANKLINE>
    """
    from spgraph.io.convert import as_matrix

    matrix = as_matrix(matrix)
    ranks = ranks_of(matrix._device)
    if ranks.count > 1:
        with ranks.together():
            whole = whole_at_first(matrix)
            if whole is not None:
                write(whole, path, format, labels=labels)
        return
    name = (_by_suffix(path) or "matrix_market") if format is None else checked_format(format, "write")
    if labels is None:
        labels = matrix.labels
    write_bytes(path, _WRITERS[name](matrix, labels))


def _matrix_market(matrix, labels) -> bytes:
    import scipy.io  # slow to import, and rarely needed
    import scipy.sparse as sp

    rows, cols, values = matrix.to_coo()
    symmetric = matrix.symmetric is True
    if symmetric:
        below = rows >= cols
        rows, cols, values = rows[below], cols[below], values[below]
    iso = values.dtype == np.bool_ and bool(values.all())
    dtype = values.dtype
    name = TYPE_NAMES.get(dtype.name, f"{dtype.name}_t")
    field = "pattern" if iso else "real" if dtype.kind == "f" else "integer"
    if dtype == np.uint64:
        field = "unsigned-integer"
    data = values.astype(np.int8) if dtype.kind == "b" else values
    buffer = io.BytesIO()
    comment = [f"%GraphBLAS type {name}", *_note.lines("", _note.names_of(labels, matrix.shape))]
    scipy.io.mmwrite(
        buffer,
        sp.coo_array((data, (rows, cols)), matrix.shape),
        comment="\n".join(comment),
        field=field,
        symmetry="symmetric" if symmetric else "general",
    )
    return buffer.getvalue()


def _of_entries(text):
    """A writer that takes entries, a shape and labels."""
    return lambda matrix, labels: text(*matrix.to_coo(), matrix.shape, labels)


def _npz(matrix, labels) -> bytes:
    indptr, indices, values = matrix.to_csr()
    return npz_file(indptr, indices, values, matrix.shape, labels)


def _dimacs(matrix, labels) -> bytes:
    rows, cols, values = matrix.to_coo()
    shape = matrix.shape
    if shape[0] != shape[1]:
        raise DimensionMismatch(f"write: DIMACS needs a square matrix, this one is {shape[0]} x {shape[1]}")
    if values.dtype.kind not in "iub":
        raise DomainMismatch(f"write: DIMACS needs integer weights, got {values.dtype}")
    facts = {} if values.dtype == np.int64 else {"dtype": values.dtype.name}
    weights = values.astype(np.int8) if values.dtype == np.bool_ else values
    head = [*_note.lines("c", _note.names_of(labels, shape), **facts), f"p sp {shape[0]} {rows.size}"]
    arcs = map("a %d %d %d".__mod__, zip((rows + 1).tolist(), (cols + 1).tolist(), weights.tolist()))
    return ("\n".join([*head, *arcs]) + "\n").encode()


_WRITERS = {
    "matrix_market": _matrix_market,
    "edgelist": _of_entries(edgelist_text),
    "dimacs": _dimacs,
    "metis": _of_entries(metis_text),
    "npz": _npz,
    "csv": _of_entries(csv_text),
    "parquet": _of_entries(parquet_file),
}
