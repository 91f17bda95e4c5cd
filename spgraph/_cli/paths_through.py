"""Is this a betweenness centrality? SciPy's distances say what it must add up to."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from spgraph import io
from spgraph._cli.names import Names
from spgraph.validate import Rule

__all__ = ["check_betweenness"]

AT_ONCE = 64  # sources


def check_betweenness(A, centrality, sources: list[int]) -> tuple[Rule, ...]:
    """Three rules: shares of pairs, none where no path passes, and the sum of inner vertices over all paths."""
    n, k = A.nrows, len(sources)
    values = centrality.to_dense()
    rounding = float(np.finfo(values.dtype).eps) * 1024
    graph = io.to_scipy(A).astype(bool)
    problems: list[str | None] = [None, None, None]
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1 + rounding)))
    if wrong.size:
        problems[0] = f"vertex {Names(A).of(wrong[0])} has the centrality {values[wrong[0]]}"
    ends = (np.diff(graph.indptr) == 0) | (np.bincount(graph.indices, minlength=n) == 0)
    wrong = np.flatnonzero(ends & (values != 0))
    if wrong.size:
        problems[1] = f"vertex {Names(A).of(wrong[0])} has the centrality {values[wrong[0]]}"
    if n > 2:
        pairs = np.full(n, k * (n - 2.0))
        pairs[sources] = (k - 1) * (n - 2.0)  # that a path through the vertex may join
        if k == n:
            pairs[:] = (n - 1) * (n - 2.0)
        total, expected = float(values.astype(float) @ pairs), _inner_vertices(graph, sources)
        if not abs(total - expected) <= rounding * max(expected, 1):
            problems[2] = f"the sum is {total:.17g}, but the paths have {expected:.17g}"
    names = (
        "every centrality is a share of the pairs, in [0, 1]",
        "no path passes a vertex without an edge in and an edge out",
        "all together count the inner vertices of the paths",
    )
    return tuple(
        Rule(number, name, problem) for number, (name, problem) in enumerate(zip(names, problems), start=1)
    )


def _inner_vertices(graph, sources: list[int]) -> float:
    """The sum of distance - 1 over all pairs of a source and another vertex that it reaches."""
    total = 0.0
    for begin in range(0, len(sources), AT_ONCE):
        distance = csgraph.dijkstra(graph, indices=sources[begin : begin + AT_ONCE], unweighted=True)
        inner = distance[np.isfinite(distance) & (distance > 0)] - 1
        total += float(inner.sum())
    return total
