"""Are these components, triangles, cores, independent sets? Computed again with SciPy, or judged edge by edge."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from spgraph import io
from spgraph._cli.names import Names
from spgraph.matrix import Matrix
from spgraph.validate import Rule
from spgraph.vector import Vector

__all__ = ["check_components", "check_cores", "check_independent", "check_triangles"]


def _simple(A: Matrix) -> sp.csr_array:
    """Ones at the edges, in both directions, without self-loops."""
    indptr, indices, _ = A.to_csr()
    S = sp.csr_array((np.ones(indices.size, np.int64), indices, indptr), shape=A.shape)
    S = S + S.T
    S.setdiag(0)
    S.eliminate_zeros()
    return S.sign()


def _rules(*found: tuple[str, str | None]) -> tuple[Rule, ...]:
    return tuple(Rule(number, name, problem) for number, (name, problem) in enumerate(found, start=1))


def _first(A: Matrix, wrong: np.ndarray, what: str, values: np.ndarray) -> str | None:
    """What is said of the first vertex that is wrong."""
    places = np.flatnonzero(wrong)
    return f"vertex {Names(A).of(places[0])}: {what} is {values[places[0]]}" if places.size else None


def check_components(A: Matrix, component: Vector) -> tuple[Rule, ...]:
    """Three rules: names are smallest members, edges do not leave components, none of these falls apart."""
    label = component.to_dense(fill_value=-1)
    n = label.size
    rows, cols, _ = A.to_coo()
    named = (label >= 0) & (label <= np.arange(n))
    named[named] = label[label[named]] == label[named]
    across = np.flatnonzero(label[rows] != label[cols])
    parts = sp.csgraph.connected_components(io.to_scipy(A), connection="weak")[0] if n else 0
    count, names = np.unique(label).size, Names(A)
    unnamed = joined = None
    if not named.all():
        v = int(named.argmin())
        called = names.of(label[v]) if 0 <= label[v] < n else "none"
        unnamed = f"vertex {names.of(v)}: the label is {called}"
    if across.size:
        u, v = rows[across[0]], cols[across[0]]
        joined = f"edge {names.of(u)} -> {names.of(v)} joins two"
    return _rules(
        ("every component has the name of a member, none of them smaller", unnamed),
        ("edges join vertices of one component", joined),
        ("there are as many as there must be", f"{count}, not {parts}" if count != parts else None),
    )  # fmt: skip


def check_triangles(A: Matrix, triangles: Vector) -> tuple[Rule, ...]:
    """One rule: the counts are those of SciPy's product."""
    S, count = _simple(A), triangles.to_dense(fill_value=-1)
    wanted = np.asarray((S @ S).multiply(S).sum(axis=1)).ravel() // 2
    return _rules(("every vertex has its triangles", _first(A, count != wanted, "the count", count)))


def check_cores(A: Matrix, core: Vector) -> tuple[Rule, ...]:
    """One rule: the numbers are those of peeling by SciPy."""
    S, found = _simple(A), core.to_dense(fill_value=-1)
    degree = np.diff(S.indptr).astype(np.int64)
    left, wanted, k = np.ones(degree.size, bool), np.zeros(degree.size, np.int64), 0
    while left.any():
        leaving = left & (degree <= k)
        if not leaving.any():
            k = int(degree[left].min())
            continue
        wanted[leaving] = k
        left &= ~leaving
        degree -= S @ leaving.astype(np.int64)
    return _rules(("every vertex has its core number", _first(A, found != wanted, "the number", found)))


def check_independent(A: Matrix, member: Vector) -> tuple[Rule, ...]:
    """Two rules: no two members are neighbours, all others have a member for a neighbour."""
    inside = member.to_dense(fill_value=False)
    beside = _simple(A) @ inside.astype(np.int64)
    return _rules(
        ("no member has a member beside it", _first(A, inside & (beside > 0), "members beside it", beside)),
        ("every other vertex has one beside it", _first(A, ~inside & (beside == 0), "members beside it", beside)),
    )
