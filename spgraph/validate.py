"""Is a BFS or SSSP tree right? Graph500's five rules, on any graph.

Method: every rule is a few passes of NumPy over the vertices or the stored
edges; nothing is searched again. The rules together prove the answer: rules 1
and 5 make every reached vertex reachable by a path of the claimed length, rules
3 and 4 leave no shorter one.

Cost: about 8 gathers per stored edge; 0.2 s for rmat(18), 7.6 M edges, on one
core. Source: Graph500 benchmark specification, "Validation".

Directed graphs: rule 3 asks of an edge u -> v only that v is at most one level
*below* u (on symmetric graphs that is Graph500's rule, from both ends), and
rule 4 that no edge leaves the tree.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound

__all__ = ["Rule", "ValidationReport", "validate_bfs", "validate_sssp"]


@dataclass(frozen=True)
class Rule:
    """One rule and what breaks it first (None: nothing)."""

    number: int
    name: str
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the rule holds."""
        return self.problem is None

    def __str__(self):
        problem = "" if self.ok else f": {self.problem}"
        return f"rule {self.number} {'ok  ' if self.ok else 'FAIL'} {self.name}{problem}"


@dataclass(frozen=True)
class ValidationReport:
    """The rules, true if all hold.

    Attributes
    ----------
    rules : tuple of Rule
    reached : int
        Vertices in the tree.
    edges : int
        Stored entries in their rows: what a search looks at when it looks at
        every edge. Halve it for the edges of an undirected graph.
    """

    rules: tuple[Rule, ...]
    reached: int
    edges: int

    @property
    def ok(self) -> bool:
        """Whether every rule holds."""
        return all(rule.ok for rule in self.rules)

    def __bool__(self):
        return self.ok

    def __str__(self):
        lines = [f"{'valid' if self.ok else 'NOT VALID'}: {self.reached:,} vertices reached"]
        return "\n".join([*lines, *(f"  {rule}" for rule in self.rules)])


NAMES = (
    "the tree has no cycles and hangs from the source",
    "tree edges span exactly {step}",
    "edges span at most {step}",
    "the tree holds all that the source reaches",
    "tree edges are edges of the graph",
)


def validate_bfs(graph, source, parent, level=None) -> ValidationReport:
    """Check BFS parents, and levels if given, by Graph500's rules.

    Parameters
    ----------
    graph : Matrix, SciPy sparse, or (indptr, indices)
        Entry (u, v) is the edge u -> v.
    source : int
    parent : Vector or array of int, shape (n,)
        ``parent[source] == source``; vertices without a value (in an array: a
        negative one) are not reached.
    level : Vector or array of int, optional
        Default: the depth in the tree.

    Returns
    -------
    ValidationReport

    Examples
    --------
    >>> import numpy as np
    >>> path = (np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
    >>> bool(validate_bfs(path, 0, [0, 0, 1]))
    True
    >>> print(validate_bfs(path, 0, [0, 0, -1]).rules[3])
    rule 4 FAIL the tree holds all that the source reaches: edge 1 -> 2 leaves the tree
    """
    indptr, indices, _ = _arrays(graph, "validate_bfs")
    n = indptr.size - 1
    source = _check_source(source, n, "validate_bfs")
    parent = _ids(parent, n, "parent", "validate_bfs")
    cycles, depth, hangs = _check_tree(parent, source)
    spans = None
    if level is None:
        level = depth
    else:
        level = _ids(level, n, "level", "validate_bfs")
        spans = _check_levels(parent, level, source, hangs)
    in_tree = parent >= 0
    far = n + 1  # the level of what is not reached
    level = np.where(in_tree & (level >= 0), np.minimum(level, n), far).astype(indices.dtype)
    degree = np.diff(indptr)
    long = np.repeat(np.minimum(level + 1, far), degree) < level[indices]
    rows = np.repeat(np.arange(n, dtype=indices.dtype), degree)
    on_tree = np.flatnonzero(parent.astype(indices.dtype)[indices] == rows)
    problems = (
        cycles,
        spans,
        _long_edge(rows, indices, long, level, far),
        _leaving_edge(rows, indices, long, in_tree),
        _absent_edges(parent, source, indices[on_tree]),
    )
    return _report(problems, "one level", in_tree, degree)


def validate_sssp(graph, source, dist, parent=None, *, rtol=None) -> ValidationReport:
    """Check shortest distances, and the tree of parents if given.

    Without parents the rules are asked of some tree of tight edges (those with
    dist[u] + weight == dist[v]) that hangs from the source.

    Parameters
    ----------
    graph : Matrix, SciPy sparse, or (indptr, indices, values)
        Entry (u, v) is the weight of the edge u -> v.
    source : int
    dist : Vector or array, shape (n,)
        Vertices without a value are not reached; in an array, those that are
        infinite or NaN, or negative if it holds integers.
    parent : Vector or array of int, optional
        As for `validate_bfs`.
    rtol : float, optional
        Relative error that a sum may have; default: none among integers, 8
        units in the last place of the narrower of the float types.

    Returns
    -------
    ValidationReport

    Examples
    --------
    >>> import numpy as np
    >>> graph = (np.array([0, 2, 3, 3]), np.array([1, 2, 2]), np.array([1, 5, 1]))
    >>> bool(validate_sssp(graph, 0, [0, 1, 2]))
    True
    >>> print(validate_sssp(graph, 0, [0, 1, 5]).rules[2])
    rule 3 FAIL edges span at most their weight: edge 1 -> 2 of weight 1 joins distances 1 and 5
    """
    indptr, indices, weights = _arrays(graph, "validate_sssp")
    n = indptr.size - 1
    source = _check_source(source, n, "validate_sssp")
    dist, reached = _distances(dist, n)
    degree = np.diff(indptr)
    rows = np.repeat(np.arange(n, dtype=indices.dtype), degree)
    slack = _Slack(dist, weights, rtol)
    over, tight = slack.of(rows, indices)
    start, end = reached[rows], reached[indices]
    long = start & (~end | over)
    tight &= start & end
    if parent is None:
        parent = _tight_tree(rows, indices, tight, source, n)
    else:
        parent = _ids(parent, n, "parent", "validate_sssp")
    cycles, _, _ = _check_tree(parent, source)
    if cycles is None:
        cycles = _check_distances(dist, reached, parent, source)
    on_tree = np.flatnonzero(parent.astype(indices.dtype)[indices] == rows)
    on_tree = on_tree[indices[on_tree] != source]
    problems = (
        cycles,
        slack.describe(rows, indices, on_tree[~tight[on_tree]]),
        slack.describe(rows, indices, np.flatnonzero(long & end)),
        _leaving_edge(rows, indices, long, reached),
        _absent_edges(parent, source, indices[on_tree]),
    )
    return _report(problems, "their weight", reached, degree)


# ---- input ------------------------------------------------------------------------
def _arrays(graph, where: str):
    parts: Any
    if hasattr(graph, "tocsr"):
        csr = graph.tocsr()
        parts = (csr.indptr, csr.indices, csr.data)
    else:
        parts = graph.to_csr() if hasattr(graph, "to_csr") else tuple(map(np.asarray, graph))
    indptr, indices = parts[:2]
    nrows, ncols = getattr(graph, "shape", (indptr.size - 1, indptr.size - 1))
    if nrows != ncols:
        raise DimensionMismatch(f"{where}: the matrix is {nrows} x {ncols}, wanted a square one")
    narrow = indices.astype(np.int64 if nrows >= 2**31 - 2 else np.int32, copy=False)
    return indptr, narrow, parts[2] if len(parts) == 3 else np.True_


def _check_source(source, n: int, where: str) -> int:
    try:
        number = operator.index(source)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        raise IndexOutOfBound(f"{where}: source: got {source!r}, wanted a vertex of 0..{n - 1}")
    return number


def _dense(vector, n: int, name: str, where: str) -> tuple[np.ndarray, np.ndarray | None]:
    """All values, and for a Vector which of them there are."""
    present = None
    if hasattr(vector, "to_coo"):
        indices, values = vector.to_coo()
        array, present = np.zeros(vector.size, values.dtype), np.zeros(vector.size, bool)
        array[indices], present[indices] = values, True
    else:
        array = np.asarray(vector)
    if array.shape != (n,):
        raise DimensionMismatch(f"{where}: {name} has shape {array.shape}, the graph has {n} vertices")
    return array, present


def _ids(vector, n: int, name: str, where: str) -> np.ndarray:
    array, present = _dense(vector, n, name, where)
    if array.dtype.kind not in "iu" and array.size:
        raise DomainMismatch(f"{where}: {name} has dtype {array.dtype}, wanted integers")
    ids = array.astype(np.int64)
    return ids if present is None else np.where(present, ids, -1)


def _distances(vector, n: int) -> tuple[np.ndarray, np.ndarray]:
    dist, present = _dense(vector, n, "dist", "validate_sssp")
    if present is None:
        present = np.isfinite(dist) if dist.dtype.kind == "f" else dist >= 0
    return dist, present


# ---- the tree ---------------------------------------------------------------------
def _check_tree(parent: np.ndarray, source: int) -> tuple[str | None, np.ndarray, np.ndarray]:
    """What is wrong with the tree, the depths (-1: none), and which vertices hang from the source."""
    n = parent.size
    nothing = np.full(n, -1), np.zeros(n, bool)
    if parent[source] != source:
        return f"the parent of the source {source} is {parent[source]}, not itself", *nothing
    if parent.max() >= n:
        v = int(parent.argmax())
        return f"the parent of {v} is {parent[v]}, there are {n} vertices", *nothing
    in_tree = parent >= 0
    above = np.where(in_tree, parent, np.arange(n))
    depth = (in_tree & (np.arange(n) != source)).astype(np.int64)
    for _ in range(n.bit_length() + 1):  # each round doubles the reach: above is the 2**k-th ancestor
        if bool(np.all((above == source) | ~in_tree)):
            break
        depth += depth[above]
        above = above[above]
    hangs = in_tree & (above == source)
    problem = None
    if not np.array_equal(hangs, in_tree):
        v = int((in_tree & ~hangs).argmax())
        problem = f"from {v} the parents never lead to the source {source}"
    return problem, np.where(hangs, depth, -1), hangs


def _check_levels(parent, level, source: int, hangs) -> str | None:
    in_tree, has_level = parent >= 0, level >= 0
    if not np.array_equal(in_tree, has_level):
        v = int((in_tree != has_level).argmax())
        return f"{v} has {'a parent but no level' if in_tree[v] else 'a level but no parent'}"
    if level[source] != 0:
        return f"the level of the source {source} is {level[source]}"
    wrong = hangs & (level != level[np.where(hangs, parent, 0)] + 1)
    wrong[source] = False
    if wrong.any():
        v = int(wrong.argmax())
        return f"tree edge {parent[v]} -> {v} joins levels {level[parent[v]]} and {level[v]}"
    return None


def _check_distances(dist, reached, parent, source: int) -> str | None:
    if not reached[source] or dist[source] != 0:
        return f"the distance of the source {source} is {dist[source] if reached[source] else 'missing'}"
    in_tree = parent >= 0
    if np.array_equal(in_tree, reached):
        return None
    v = int((in_tree != reached).argmax())
    return (
        f"{v} has a parent but no distance"
        if in_tree[v]
        else f"{v} has a distance but no path from the source"
    )


def _tight_tree(rows, indices, tight, source: int, n: int) -> np.ndarray:
    import scipy.sparse as sp  # slow to import, and `validate_bfs` does without
    from scipy.sparse.csgraph import breadth_first_order

    tight = tight & (rows != indices)
    graph = sp.csr_array((np.ones(int(tight.sum())), (rows[tight], indices[tight])), (n, n))
    order, before = breadth_first_order(graph, source)
    parent = np.full(n, -1, np.int64)
    parent[order] = before[order]
    parent[source] = source
    return parent


# ---- the edges --------------------------------------------------------------------
def _long_edge(rows, indices, long, level, far: int) -> str | None:
    if not long.any():
        return None
    k = int(long.argmax())
    u, v = int(rows[k]), int(indices[k])
    return f"edge {u} -> {v} joins levels {level[u]} and {'none' if level[v] == far else level[v]}"


def _leaving_edge(rows, indices, long, in_tree) -> str | None:
    leaving = np.flatnonzero(long)
    leaving = leaving[in_tree[rows[leaving]] & ~in_tree[indices[leaving]]]
    if leaving.size == 0:
        return None
    return f"edge {rows[leaving[0]]} -> {indices[leaving[0]]} leaves the tree"


def _absent_edges(parent, source: int, found) -> str | None:
    missing = parent >= 0
    missing[found] = missing[source] = False
    if not missing.any():
        return None
    v = int(missing.argmax())
    return f"there is no edge {parent[v]} -> {v}"


class _Slack:
    """dist[u] + weight against dist[v], exact among integers."""

    def __init__(self, dist, weights, rtol):
        floats = [array.dtype for array in (dist, weights) if array.dtype.kind == "f"]
        self.dist, self.weights = (
            array.astype(np.float64) if floats else _to_int64(array) for array in (dist, weights)
        )
        if rtol is None and "f" in {self.dist.dtype.kind, self.weights.dtype.kind}:
            rtol = 8 * max(float(np.finfo(dtype).eps) for dtype in floats or [np.float64])
        self.rtol = rtol

    def of(self, rows, indices) -> tuple[np.ndarray, np.ndarray]:
        """For every edge: whether it is too long for its ends, and whether it is tight."""
        start, end = self.dist[rows], self.dist[indices]
        with np.errstate(all="ignore"):
            total = start + self.weights
            if self.rtol:
                room = self.rtol * (np.abs(start) + np.abs(self.weights))
                return ~(end <= total + room), np.abs(end - total) <= room
        if total.dtype.kind == "f":
            return ~(end <= total), end == total
        wrapped = ((start ^ total) & (self.weights ^ total)) < 0  # beyond int64, on the side of start
        return np.where(wrapped, start < 0, end > total), (end == total) & ~wrapped

    def describe(self, rows, indices, wrong) -> str | None:
        """The first of the edges numbered in `wrong`."""
        if wrong.size == 0:
            return None
        k = int(wrong[0])
        u, v = int(rows[k]), int(indices[k])
        weight = self.weights if np.ndim(self.weights) == 0 else self.weights[k]
        return f"edge {u} -> {v} of weight {weight} joins distances {self.dist[u]} and {self.dist[v]}"


def _to_int64(array):
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        return array.astype(np.float64)
    return array.astype(np.int64)


def _report(problems, step: str, in_tree, degree) -> ValidationReport:
    rules = tuple(
        Rule(number, name.format(step=step), problem)
        for number, (name, problem) in enumerate(zip(NAMES, problems), start=1)
    )
    return ValidationReport(rules, int(in_tree.sum()), int(degree[in_tree].sum()))
