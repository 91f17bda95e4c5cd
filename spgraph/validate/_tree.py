"""Rules about the vertices of a tree: cycles, levels, distances.

Method: pointer doubling finds the depth of every vertex in log2(n) passes over the
vertices, and whether it hangs from the source.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.validate._edges import each_piece

__all__ = ["check_distances", "check_levels", "check_tree", "tight_tree"]


def check_tree(edges: Any, parent: Any, source: int) -> tuple[str | None, Any, Any]:
    """What is wrong with the tree, the depths (-1: none), and which vertices hang from the source."""
    xp, n, name = edges.xp, edges.n, edges.name
    nothing = xp.full(n, -1), xp.zeros(n, bool)
    if int(parent[source]) != source:
        return f"the parent of the source {name(source)} is {name(parent[source])}, not itself", *nothing
    if int(parent.max()) >= n:
        v = int(parent.argmax())
        return f"the parent of {name(v)} is {parent[v]}, there are {n} vertices", *nothing
    in_tree = parent >= 0
    above = xp.where(in_tree, parent, xp.arange(n))
    depth = (in_tree & (xp.arange(n) != source)).astype(np.int64)
    for _ in range(n.bit_length() + 1):  # each round doubles the reach: above is the 2**k-th ancestor
        if bool(xp.all((above == source) | ~in_tree)):
            break
        depth += depth[above]
        above = above[above]
    hangs = in_tree & (above == source)
    problem = None
    lost = in_tree & ~hangs
    if bool(lost.any()):
        problem = f"from {name(int(lost.argmax()))} the parents never lead to the source {name(source)}"
    return problem, xp.where(hangs, depth, -1), hangs


def check_levels(edges: Any, parent: Any, level: Any, source: int, hangs: Any) -> str | None:
    """What is wrong with the levels along tree edges."""
    xp, name = edges.xp, edges.name
    in_tree, differ = parent >= 0, (parent >= 0) != (level >= 0)
    if bool(differ.any()):
        v = int(differ.argmax())
        return f"{name(v)} has {'a parent but no level' if bool(in_tree[v]) else 'a level but no parent'}"
    if int(level[source]) != 0:
        return f"the level of the source {name(source)} is {level[source]}"
    wrong = hangs & (level != level[xp.where(hangs, parent, 0)] + 1)
    wrong[source] = False
    if bool(wrong.any()):
        v = int(wrong.argmax())
        u = int(parent[v])
        return f"tree edge {name(u)} -> {name(v)} joins levels {level[u]} and {level[v]}"
    return None


def check_distances(edges: Any, dist: Any, reached: Any, parent: Any, source: int) -> str | None:
    """Whether the source is at distance 0, and the vertices with a distance are those of the tree."""
    if not bool(reached[source]) or float(dist[source]) != 0:
        found = dist[source] if bool(reached[source]) else "missing"
        return f"the distance of the source {edges.name(source)} is {found}"
    differ = (parent >= 0) != reached
    if not bool(differ.any()):
        return None
    v = int(differ.argmax())
    if bool(reached[v]):
        return f"{edges.name(v)} has a distance but no path from the source"
    return f"{edges.name(v)} has a parent but no distance"


def tight_tree(edges: Any, slack: Any, reached: Any, source: int) -> Any:
    """Parents in some tree of tight edges from the source, of duplicates the shortest (found on the host)."""
    import scipy.sparse as sp  # slow to import, and `validate_bfs` does without
    from scipy.sparse.csgraph import breadth_first_order

    def tight_ends(rows: Any, cols: Any, weights: Any) -> tuple[np.ndarray, ...]:
        over, tight = slack.of(rows, cols, weights)
        there = reached[rows] & reached[cols] & (rows != cols)
        tight, over = tight & there, over & there
        return tuple(_to_host(part) for part in (rows[tight], cols[tight], rows[over], cols[over]))

    n = edges.n
    found = each_piece(edges, tight_ends)
    starts, ends, *shorter = (np.concatenate(part) for part in zip(*found)) if found else (np.empty(0, np.int32),) * 4
    graph, barred = (sp.csr_array((np.ones(one.size, bool), (one, other)), (n, n))
                     for one, other in ((starts, ends), shorter))
    graph = graph > barred
    order, before = breadth_first_order(graph, source)
    parent = np.full(n, -1, np.int64)
    parent[order] = before[order]
    parent[source] = source
    return edges.xp.asarray(parent)


def _to_host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else array
