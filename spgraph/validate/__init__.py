"""Is a BFS or SSSP tree right? Graph500's five rules, on any graph, on the device that holds it.

Method: every rule is a few passes over the vertices or the edges, with functions of
whatever library the graph's arrays belong to (NumPy, CuPy); nothing is searched again. The rules together prove the
answer: rules 1 and 5 make every reached vertex reachable by a path of the claimed
length, rules 3 and 4 leave no shorter one.

Cost: about 8 gathers per edge, in pieces, so that temporary arrays stay small; 0.2 s for
rmat(18), 7.6 M stored edges, on one core. Source: Graph500 benchmark specification 2.0,
section 8, https://graph500.org/?page_id=12.

Directed graphs: rule 3 asks of an edge u -> v only that v is at most one level
*below* u (on symmetric graphs that is Graph500's rule, from both ends), and
rule 4 that no edge leaves the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from spgraph.validate._edges import EdgeList, as_edges, as_ids, as_values, check_source
from spgraph.validate._rules import edge_rules, weighted_edge_rules
from spgraph.validate._slack import Slack
from spgraph.validate._tree import check_distances, check_levels, check_tree, tight_tree

__all__ = ["EdgeList", "Rule", "ValidationReport", "validate_bfs", "validate_sssp"]


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
        every edge. Halve it for the edges of an undirected graph. Of an
        `EdgeList`: its edges that start there, each once, duplicates and
        self-loops too, which is how Graph500 counts.
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


def validate_bfs(graph, source, parent, level=None, *, labels=None) -> ValidationReport:
    """Check BFS parents, and levels if given, by Graph500's rules.

    Parameters
    ----------
    graph : Matrix, SciPy sparse, (indptr, indices), or EdgeList
        Entry (u, v) is the edge u -> v. Arrays may be CuPy's; all work is done where they are.
    source : int
    parent : Vector or array of int, shape (n,)
        ``parent[source] == source``; vertices without a value (in an array: a
        negative one) are not reached.
    level : Vector or array of int, optional
        Default: the depth in the tree.
    labels : sequence, optional
        What problems call the vertices, by number. Default: the Matrix's own labels, else their numbers.

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
    edges = as_edges(graph, "validate_bfs", labels)
    source = check_source(source, edges.n, "validate_bfs")
    parent = as_ids(parent, edges, "parent", "validate_bfs")
    cycles, depth, hangs = check_tree(edges, parent, source)
    spans = None
    if level is None:
        level = depth
    else:
        level = as_ids(level, edges, "level", "validate_bfs")
        spans = check_levels(edges, parent, level, source, hangs)
    in_tree = parent >= 0
    long, leaving, absent = edge_rules(edges, source, parent, level, in_tree)
    return _report((cycles, spans, long, leaving, absent), "one level", in_tree, edges)


def validate_sssp(graph, source, dist, parent=None, *, rtol=None, labels=None) -> ValidationReport:
    """Check shortest distances, and the tree of parents if given.

    Without parents the rules are asked of some tree of tight edges (those with
    dist[u] + weight == dist[v]) that hangs from the source.

    Parameters
    ----------
    graph : Matrix, SciPy sparse, (indptr, indices, values), or EdgeList
        Entry (u, v) is the weight of the edge u -> v. Arrays may be CuPy's.
    source : int
    dist : Vector or array, shape (n,)
        Vertices without a value are not reached; in an array, those that are
        infinite or NaN, or negative if it holds integers.
    parent : Vector or array of int, optional
        As for `validate_bfs`.
    rtol : float, optional
        Relative error that a sum may have; default: none among integers, 8
        units in the last place of the narrower of the float types.
    labels : sequence, optional
        As for `validate_bfs`.

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
    edges = as_edges(graph, "validate_sssp", labels)
    source = check_source(source, edges.n, "validate_sssp")
    dist, reached = as_values(dist, edges, "dist", "validate_sssp")
    slack = Slack(edges, dist, rtol)
    if parent is None:
        parent = tight_tree(edges, slack, reached, source)
    else:
        parent = as_ids(parent, edges, "parent", "validate_sssp")
    cycles, _, _ = check_tree(edges, parent, source)
    if cycles is None:
        cycles = check_distances(edges, dist, reached, parent, source)
    problems = weighted_edge_rules(edges, source, parent, reached, slack)
    return _report((cycles, *problems), "their weight", reached, edges)


def _report(problems, step: str, in_tree, edges) -> ValidationReport:
    rules = tuple(
        Rule(number, name.format(step=step), problem)
        for number, (name, problem) in enumerate(zip(NAMES, problems), start=1)
    )
    return ValidationReport(rules, int(in_tree.sum()), edges.count(in_tree))
