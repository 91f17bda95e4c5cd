"""Writers: what they write, the readers read back, values and dtype included."""

from __future__ import annotations

import gzip
import io
import os
import re

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, InvalidValue
from spgraph.io._read import NAMES, _by_suffix

__all__ = ["write"]

LABEL = re.compile(r"[^\s,;#%][^\s,;]*")
TYPE_NAMES = {"bool": "bool", "float32": "float", "float64": "double"}


def write(matrix, path, format=None, *, labels=None):
    """Write a matrix to a file; a name that ends with ``.gz`` is compressed.

    Parameters
    ----------
    matrix : Matrix, or anything `as_matrix` takes
    path : str or path-like
    format : {"matrix_market", "edgelist", "dimacs"}, optional
        Default: by the name, see `read`; else Matrix Market. An edge list does
        not tell of vertices without edges, and takes labels instead of numbers;
        DIMACS holds square matrices of integers.
    labels : array, optional
        Ids for an edge list; default: ``matrix.labels``.

    Examples
    --------
    >>> import pathlib, tempfile, spgraph as sg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "path.mtx"
    >>> sg.io.write(sg.generators.path(3), path)
    >>> print(path.read_text())
    %%MatrixMarket matrix coordinate pattern general
    %%GraphBLAS type bool
    3 3 4
    1 2
    2 1
    2 3
    3 2
    <BLANKLINE>
    """
    from spgraph.io.convert import as_matrix

    matrix = as_matrix(matrix)
    name = NAMES.get(format, format) or _by_suffix(path) or "matrix_market"
    if name not in _WRITERS:
        raise InvalidValue(f"write: format: got {format!r}, wanted one of {', '.join(_WRITERS)}")
    rows, cols, values = matrix.to_coo()
    iso = values.dtype == np.bool_ and bool(values.all())
    if labels is None:
        labels = getattr(matrix, "labels", None)
    content = _WRITERS[name](rows, cols, None if iso else values, matrix.shape, labels)
    opener = gzip.open if os.fspath(path).endswith(".gz") else open
    with opener(path, "wb") as file:
        file.write(content)


def _matrix_market(rows, cols, values, shape, labels) -> bytes:
    import scipy.io  # slow to import, and rarely needed
    import scipy.sparse as sp

    dtype = np.dtype(bool) if values is None else values.dtype
    name = TYPE_NAMES.get(dtype.name, f"{dtype.name}_t")
    field = "pattern" if values is None else "real" if dtype.kind == "f" else "integer"
    if dtype == np.uint64:
        field = "unsigned-integer"
    data = np.ones(rows.size, np.int8) if values is None else values
    if data.dtype.kind == "b":
        data = data.astype(np.int8)
    buffer = io.BytesIO()
    scipy.io.mmwrite(
        buffer,
        sp.coo_array((data, (rows, cols)), shape),
        comment=f"%GraphBLAS type {name}",
        field=field,
        symmetry="general",
    )
    return buffer.getvalue()


def _lines(pattern: str, *columns) -> bytes:
    return "".join(map(pattern.__mod__, zip(*(column.tolist() for column in columns)))).encode()


def _edgelist(rows, cols, values, shape, labels) -> bytes:
    if labels is not None:
        labels = np.asarray(labels)
        if labels.shape != (max(shape),):
            raise DimensionMismatch(
                f"write: labels has shape {labels.shape}, the matrix is {shape[0]} x {shape[1]}"
            )
        for label in map(str, labels.tolist()):
            if not LABEL.fullmatch(label):
                raise InvalidValue(
                    f"write: label {label!r} would not be read back: it is empty, holds a blank, a comma "
                    "or a semicolon, or begins like a comment"
                )
        rows, cols = labels[rows], labels[cols]
    if values is None:
        return _lines("%s\t%s\n", rows, cols)
    return _lines("%s\t%s\t%r\n", rows, cols, values.astype(np.int8) if values.dtype == np.bool_ else values)


def _dimacs(rows, cols, values, shape, labels) -> bytes:
    if shape[0] != shape[1]:
        raise DimensionMismatch(f"write: DIMACS needs a square matrix, this one is {shape[0]} x {shape[1]}")
    if values is not None and values.dtype.kind not in "iu":
        raise DomainMismatch(f"write: DIMACS needs integer weights, got {values.dtype}")
    weights = np.ones(rows.size, np.int8) if values is None else values
    head = f"p sp {shape[0]} {rows.size}\n".encode()
    return head + _lines("a %d %d %d\n", rows + 1, cols + 1, weights)


_WRITERS = {"matrix_market": _matrix_market, "edgelist": _edgelist, "dimacs": _dimacs}
