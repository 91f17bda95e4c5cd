"""SciPy, NetworkX and NumPy in and out.

Arrays are shared, not copied, where layout, dtype and index width allow.
Explicit zeros stay entries, vertices without edges stay vertices.
"""

from __future__ import annotations

import os
import sys
from itertools import chain

import numpy as np

from semirings import dtypes
from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue
from spgraph import context
from spgraph._arrays import given_array
from spgraph.io._build import build_matrix
from spgraph.io._coo import Csr, Edges, invalid, tidy
from spgraph.io._read import read
from spgraph.io._report import Report
from spgraph.io.gpu import from_cupyx, is_cupyx

__all__ = ["as_matrix", "from_networkx", "from_numpy", "from_scipy", "to_networkx", "to_scipy"]


def _checked_dtype(dtype, where: str) -> None:
    try:
        dtypes.lookup_dtype(dtype)
    except (TypeError, ValueError) as error:
        raise DomainMismatch(f"{where}: values of dtype {dtype} are not supported ({error})") from error


def _is_scipy(graph) -> bool:
    sparse = sys.modules.get("scipy.sparse")  # who has a sparse matrix has imported it
    return sparse is not None and sparse.issparse(graph)


# ---- SciPy ------------------------------------------------------------------------
def from_scipy(sparse, *, dup_op=None, order=None):
    """A Matrix from a SciPy sparse matrix or array.

    Parameters
    ----------
    sparse : scipy.sparse matrix or array, two-dimensional
        The arrays of a CSR with sorted, distinct columns are shared, not copied, if the
        context's device is the CPU: they must not be written to as long as the Matrix is in use.
    dup_op : str or binary operator, optional
        Combines duplicate entries; SciPy means ``"plus"``, here they raise
        unless told.
    order : {"natural", "degree"}, optional

    Returns
    -------
    Matrix

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = from_scipy(sp.csr_array([[0, 2], [3, 0]]))
    >>> A.nvals, A.dtype.name
    (2, 'INT64')
    """
    if not _is_scipy(sparse) or len(sparse.shape) != 2:
        raise DomainMismatch(
            f"from_scipy: got {type(sparse).__name__}, wanted a sparse matrix with two dimensions"
        )
    _checked_dtype(sparse.dtype, "from_scipy")
    nrows, ncols = sparse.shape
    if sparse.format == "csr" and sparse.has_canonical_format:
        report = Report("scipy", (nrows, ncols), sparse.nnz, stored=sparse.nnz, verb="given")
        csr = Csr(
            sparse.indptr, sparse.indices[: sparse.nnz], sparse.data[: sparse.nnz], nrows, ncols, None, report
        )
        return build_matrix(csr, order)
    coo = sparse.tocoo()
    edges = Edges(coo.row, coo.col, coo.data, nrows, ncols, "scipy", invalid("from_scipy"), taker="sg.io.from_scipy")
    return build_matrix(tidy(edges, dup_op=dup_op), order)


def to_scipy(matrix, *, copy=True):
    """A ``scipy.sparse.csr_array`` with the entries of a Matrix, explicit zeros included.

    Parameters
    ----------
    matrix : Matrix
    copy : bool
        False shares the arrays where the Matrix has them in this layout (on the CPU,
        natural order, a value for each entry): they must not be written to then.

    Examples
    --------
    >>> import spgraph as sg
    >>> to_scipy(sg.generators.path(3)).toarray().astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    import scipy.sparse as sp

    indptr, indices, values = matrix.to_csr() if copy else map(matrix._device.to_host, matrix._csr())
    result = sp.csr_array((values, indices, indptr), shape=matrix.shape)
    result.has_canonical_format = True
    return result


# ---- NetworkX ---------------------------------------------------------------------
def from_networkx(graph, weight="weight", *, dup_op=None, dtype=None, order=None):
    """A Matrix from a NetworkX graph; vertices are numbered in its node order.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        An undirected edge becomes two entries, a self-loop one.
    weight : str or None
        Edge attribute for the values; an edge without it counts as 1, as in
        NetworkX. None, or no edge with the attribute: BOOL, all True.
    dup_op : str or binary operator, optional
        Combines parallel edges; without one they raise.
    dtype : optional
        Type of the values; a weight that it cannot hold raises.
    order : {"natural", "degree"}, optional

    Returns
    -------
    Matrix
        ``.labels`` are the nodes, or None where they are 0..n-1.

    Examples
    --------
    >>> import networkx as nx
    >>> A = from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
    >>> A.labels.tolist(), A.nvals
    (['a', 'b', 'c'], 4)
    """
    nodes = list(graph)
    n = len(nodes)
    number = dict(zip(nodes, range(n)))
    if graph.is_multigraph():
        ends = list(graph.edges())
        rows, cols = (np.fromiter((number[edge[k]] for edge in ends), np.int64, len(ends)) for k in (0, 1))
        found = [] if weight is None else [data for _, _, data in graph.edges(data=weight)]
    else:  # lists of neighbours are read several times faster than edges
        lists = [neighbours for _, neighbours in graph.adjacency()]
        rows = np.repeat(np.arange(n), np.fromiter(map(len, lists), np.int64, n))
        cols = np.fromiter(map(number.__getitem__, chain.from_iterable(lists)), np.int64, rows.size)
        found = [] if weight is None else [data.get(weight) for others in lists for data in others.values()]
        if not graph.is_directed():  # each edge stands in two lists
            once = np.flatnonzero(rows <= cols)
            rows, cols = rows[once], cols[once]
            found = [found[place] for place in once.tolist()] if found else []
    values = np.True_
    if any(value is not None for value in found):
        values = _weights([1 if value is None else value for value in found], rows, cols, nodes)
    labels = None
    if nodes != list(range(n)):
        labels = np.empty(n, object)
        labels[:] = nodes
    edges = Edges(
        rows,
        cols,
        values,
        n,
        n,
        "networkx",
        invalid("from_networkx"),
        labels=labels,
        mirror=None if graph.is_directed() else "symmetric",
        taker="sg.io.from_networkx",
    )
    return build_matrix(tidy(edges, dup_op=dup_op, dtype=dtype), order)


def _weights(values: list, rows, cols, nodes: list) -> np.ndarray:
    try:
        array = np.array(values)
    except ValueError:  # some are lists
        array = np.array(None)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = next((k for k, value in enumerate(values) if not _is_real(value)), 0)
        edge = f"({nodes[rows[odd]]!r}, {nodes[cols[odd]]!r})"
        raise DomainMismatch(f"from_networkx: edge {edge} has weight {values[odd]!r}, wanted a number")
    if array.dtype.kind == "f" and any(_is_wide(value) for value in values):
        raise DomainMismatch("from_networkx: weights mix floats with integers that FP64 cannot hold")
    return array


def _is_real(value) -> bool:
    try:
        array = np.array(value)
    except ValueError:
        return False
    return array.ndim == 0 and array.dtype.kind in "biuf"


def _is_wide(value) -> bool:
    return isinstance(value, (int, np.integer)) and abs(int(value)) > 2**53


def to_networkx(matrix, labels=None, *, directed=True, weight="weight"):
    """A NetworkX graph of a square Matrix; every vertex is a node.

    Parameters
    ----------
    matrix : Matrix
    labels : sequence, optional
        Nodes; default: ``matrix.labels``, else 0..n-1.
    directed : bool
        True: a DiGraph, one edge for each entry. False: a Graph, one edge for
        each pair of entries; the matrix must be symmetric.
    weight : str or None
        Attribute for the values. None, or a BOOL matrix that is True
        everywhere: no attribute.

    Returns
    -------
    networkx.DiGraph or networkx.Graph

    Examples
    --------
    >>> import spgraph as sg
    >>> sorted(to_networkx(sg.generators.path(3), labels="abc", directed=False).edges)
    [('a', 'b'), ('b', 'c')]
    """
    import networkx as nx

    if matrix.nrows != matrix.ncols:
        raise DimensionMismatch(
            f"to_networkx: the matrix is {matrix.nrows} x {matrix.ncols}, wanted a square one"
        )
    if labels is None:
        labels = getattr(matrix, "labels", None)
    nodes = list(range(matrix.nrows))
    if labels is not None:
        nodes = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(nodes) != matrix.nrows or len(set(nodes)) != len(nodes):
        raise DimensionMismatch(f"to_networkx: got {len(set(nodes))} distinct labels for {matrix.nrows} rows")
    rows, cols, values = matrix.to_coo()
    if not directed:
        rows, cols, values = _upper(rows, cols, values)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(nodes)
    ends = zip(map(nodes.__getitem__, rows.tolist()), map(nodes.__getitem__, cols.tolist()))
    if weight is None or (values.dtype == np.bool_ and values.all()):
        graph.add_edges_from(ends)
    else:
        graph.add_weighted_edges_from(((u, v, w) for (u, v), w in zip(ends, values.tolist())), weight=weight)
    return graph


def _upper(rows, cols, values):
    """Entries on and above the diagonal of a symmetric matrix given in CSR order."""
    back = np.lexsort((rows, cols))
    same = np.array_equal(rows, cols[back]) and np.array_equal(cols, rows[back])
    if not same or not np.array_equal(values, values[back], equal_nan=values.dtype.kind == "f"):
        raise InvalidValue("to_networkx: directed=False needs a symmetric matrix, and this one is not")
    keep = rows <= cols
    return rows[keep], cols[keep], values[keep]


# ---- NumPy ------------------------------------------------------------------------
def from_numpy(array, missing_value=0, *, order=None):
    """A Matrix from a two-dimensional array.

    Parameters
    ----------
    array : ndarray, shape (nrows, ncols)
    missing_value : number or None
        What stands for "no entry"; NaN works, None makes every element an entry.
    order : {"natural", "degree"}, optional

    Returns
    -------
    Matrix

    Examples
    --------
    >>> import numpy as np
    >>> from_numpy(np.array([[0, 2], [0, 0]])).to_coo()
    (array([0]), array([1]), array([2]))
    """
    array = np.asarray(array)
    if array.ndim != 2:
        raise DimensionMismatch(f"from_numpy: the array has {array.ndim} dimensions, wanted two")
    _checked_dtype(array.dtype, "from_numpy")
    if missing_value is None:
        present = np.ones(array.shape, bool)
    elif missing_value != missing_value:
        present = ~np.isnan(array)
    else:
        present = array != missing_value
    rows, cols = np.nonzero(present)
    edges = Edges(rows, cols, array[present], *array.shape, "numpy", invalid("from_numpy"))
    return build_matrix(tidy(edges), order)


def _from_arrays(arrays):
    if any(hasattr(array, "__cuda_array_interface__") for array in arrays):
        return _from_gpu_arrays(*arrays)
    rows, cols = (np.asarray(ids) for ids in arrays[:2])
    values = np.asarray(arrays[2]) if len(arrays) == 3 else np.True_
    for ids, name in ((rows, "rows"), (cols, "cols")):
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise DomainMismatch(
                f"as_matrix: {name} has dtype {ids.dtype} and {ids.ndim} dimensions, wanted integers"
            )
    if rows.size != cols.size or np.ndim(values) > 1 or (np.ndim(values) and values.size != rows.size):
        raise DimensionMismatch(
            f"as_matrix: {rows.size} rows, {cols.size} columns and {np.size(values)} values"
        )
    if rows.size and min(rows.min(), cols.min()) < 0:
        raise IndexOutOfBound(f"as_matrix: index {min(rows.min(), cols.min())} is negative")
    if rows.size and max(int(rows.max()), int(cols.max())) >= 2**63:
        raise IndexOutOfBound(f"as_matrix: index {max(int(rows.max()), int(cols.max()))} is not below 2**63")
    _checked_dtype(values.dtype, "as_matrix")
    n = int(max(rows.max(), cols.max())) + 1 if rows.size else 0
    values = values[()] if np.ndim(values) == 0 else values
    edges = Edges(rows.astype(np.int64), cols.astype(np.int64), values, n, n, "arrays", invalid("as_matrix"),
                  taker="sg.Matrix.from_coo")  # fmt: skip
    return build_matrix(tidy(edges))


def _from_gpu_arrays(rows, cols, values=True):
    from spgraph.matrix import Matrix

    device = context.device()
    rows, cols = (given_array(ids, device, "as_matrix", name) for ids, name in ((rows, "rows"), (cols, "cols")))
    n = max((int(ids.max()) + 1 for ids in (rows, cols) if ids.size), default=0)
    return Matrix.from_coo(rows, cols, values, nrows=n, ncols=n)


def as_matrix(graph):
    """Whatever describes a graph, as a Matrix.

    Parameters
    ----------
    graph : Matrix, SciPy or CuPy sparse, NetworkX graph, 2-D array, (rows, cols[, values]) or path
        A Matrix is returned as it is. In arrays (NumPy's, CuPy's, PyTorch's ...), zero
        means no edge; a tuple of arrays makes a square matrix just large enough for its ids.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> as_matrix(([0, 1], [1, 2])).shape
    (3, 3)
    """
    from spgraph.matrix import Matrix

    if isinstance(graph, Matrix):
        return graph
    if _is_scipy(graph):
        return from_scipy(graph)
    if isinstance(graph, np.ndarray) and not hasattr(graph, "__cuda_array_interface__"):
        return from_numpy(graph)
    if is_cupyx(graph):
        return from_cupyx(graph)
    if hasattr(graph, "__dlpack__") or hasattr(graph, "__cuda_array_interface__"):
        return Matrix.from_dense(graph, missing_value=0)
    if isinstance(graph, (str, os.PathLike)):
        return read(graph)
    if isinstance(graph, (tuple, list)) and len(graph) in (2, 3):
        return _from_arrays(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return from_networkx(graph)
    raise DomainMismatch(
        f"got {type(graph).__name__}, wanted a Matrix, a SciPy sparse matrix, a NetworkX graph, a 2-D array, "
        "(rows, cols[, values]) or the path of a file"
    )
