"""Rules 3 to 5, and among distances rule 2: what must hold of every edge.

One pass over the edges in pieces. A duplicate edge may be longer than the one that the
tree uses, so tree edges are judged by vertex: some edge from the parent must be there,
and be tight, and none be shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spgraph.validate._edges import each_piece, narrow
from spgraph.validate._slack import Slack

__all__ = ["edge_rules", "weighted_edge_rules"]


def edge_rules(edges: Any, source: int, parent: Any, level: Any, in_tree: Any) -> tuple:
    """Problems with rules 3, 4 and 5 of BFS."""
    xp, n, name = edges.xp, edges.n, edges.name
    far = n + 1  # the level of what is not reached
    level = xp.where(in_tree & (level >= 0), xp.minimum(level, n), far).astype(narrow(n))
    parent = parent.astype(narrow(n))
    found = xp.zeros(n, bool)

    def look(rows: Any, cols: Any, _: Any) -> tuple[str | None, str | None]:
        found[cols[parent[cols] == rows]] = True
        long = xp.minimum(level[rows] + 1, far) < level[cols]
        if not bool(long.any()):
            return None, None
        u, v = _first(rows, cols, long)
        end = "none" if int(level[v]) == far else level[v]
        problem = f"edge {name(u)} -> {name(v)} joins levels {level[u]} and {end}"
        return problem, _leaving(rows, cols, long, in_tree, name)

    return *_first_problems(each_piece(edges, look)), _absent(parent, source, found, name)


def weighted_edge_rules(edges: Any, source: int, parent: Any, reached: Any, slack: Slack) -> tuple:
    """Problems with rules 2, 3, 4 and 5 of SSSP."""
    xp, n = edges.xp, edges.n
    parent = parent.astype(narrow(n))
    found, fits, shorter = (xp.zeros(n, bool) for _ in range(3))

    def look(rows: Any, cols: Any, weights: Any) -> tuple[str | None, str | None]:
        over, tight = slack.of(rows, cols, weights)
        start, end = reached[rows], reached[cols]
        on_tree = parent[cols] == rows
        found[cols[on_tree]] = True
        fits[cols[on_tree & tight & start & end]] = True
        shorter[cols[on_tree & over & start & end]] = True
        long = start & (~end | over)
        if not bool(long.any()):
            return None, None
        return _described(rows, cols, weights, long & end, slack), _leaving(rows, cols, long, reached, edges.name)

    long_edge, leaving = _first_problems(each_piece(edges, look))
    fits &= ~shorter
    fits[source] = True
    loose = found & ~fits
    spans = _loose(edges, parent, loose, reached, slack) if bool(loose.any()) else None
    return spans, long_edge, leaving, _absent(parent, source, found, edges.name)


def _first_problems(pieces: list[tuple[str | None, str | None]]) -> tuple[str | None, str | None]:
    """The first problem of either kind that a piece has."""
    first, second = (next(filter(None, problems), None) for problems in (list(zip(*pieces)) or ((), ())))
    return first, second


def _first(rows: Any, cols: Any, wrong: Any) -> tuple[int, int]:
    k = int(wrong.argmax())
    return int(rows[k]), int(cols[k])


def _leaving(rows: Any, cols: Any, long: Any, in_tree: Any, name: Callable[[int], Any]) -> str | None:
    out = long & in_tree[rows] & ~in_tree[cols]
    if not bool(out.any()):
        return None
    u, v = _first(rows, cols, out)
    return f"edge {name(u)} -> {name(v)} leaves the tree"


def _described(rows: Any, cols: Any, weights: Any, wrong: Any, slack: Slack) -> str | None:
    """The first of the wrong edges, if there is one."""
    if not bool(wrong.any()):
        return None
    k = int(wrong.argmax())
    return slack.describe(int(rows[k]), int(cols[k]), weights if weights.ndim == 0 else weights[k])


def _loose(edges: Any, parent: Any, loose: Any, reached: Any, slack: Slack) -> str | None:
    """The first tree edge that is not as long as its ends are apart."""
    for key in edges.pieces():
        rows, cols, weights = edges.load(key)
        _, tight = slack.of(rows, cols, weights)
        on_tree = loose[cols] & (parent[cols] == rows)
        problem = _described(rows, cols, weights, on_tree & ~(tight & reached[rows] & reached[cols]), slack)
        if problem:
            return problem
    return None


def _absent(parent: Any, source: int, found: Any, name: Callable[[int], Any]) -> str | None:
    missing = (parent >= 0) & ~found
    missing[source] = False
    if not bool(missing.any()):
        return None
    v = int(missing.argmax())
    return f"there is no edge {name(int(parent[v]))} -> {name(v)}"
