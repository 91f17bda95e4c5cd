"""The algorithms that ``spgraph run`` knows: how each is called, described and checked.

To add one, write a class with the members of `Job` and list it in `JOBS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from spgraph import algorithms
from spgraph._cli.centralities import Betweenness, Hits, Katz, PageRank
from spgraph._cli.names import Names
from spgraph._cli.structure import check_components, check_cores, check_independent, check_triangles
from spgraph._cli.text import counted
from spgraph.bench._arrays import csr_of
from spgraph.matrix import Matrix
from spgraph.validate import Rule, validate_bfs, validate_sssp
from spgraph.vector import Vector

__all__ = ["JOBS", "Job"]


class Job(Protocol):
    """One algorithm."""

    needs_source: bool
    weights: str | None
    options: Mapping[str, Any]  # their defaults
    about_edges: bool  # whether edges per second mean something
    fixed_types: str | None  # why there is no --dtype

    def calls(self, A: Matrix, source: int, args: argparse.Namespace) -> dict[str, Callable[[], Any]]:
        """What is to be run and timed, by the name under which it is shown."""

    def columns(self, results: dict[str, Any]) -> dict[str, Vector]:
        """The vectors that were computed, by the name that a written file gives them."""

    def facts(
        self, A: Matrix, columns: dict[str, Vector], args: argparse.Namespace
    ) -> tuple[dict[str, Any], list[str]]:
        """What is said of the results: for programs, and for people."""

    def check(
        self, A: Matrix, source: int, columns: dict[str, Vector], args: argparse.Namespace
    ) -> tuple[Rule, ...]:
        """The rules that a right answer obeys."""


def _reached(vector: Vector) -> tuple[dict[str, Any], str]:
    share = f" ({vector.nvals / vector.size:.1%})" if vector.size else ""
    return {
        "reached": vector.nvals
    }, f"reached {vector.nvals:,} of {counted(vector.size, 'vertex', 'vertices')}{share}"


class Bfs:
    """Levels; with ``--parents`` or ``--validate`` also a tree."""

    needs_source = True
    weights: str | None = None
    options: Mapping[str, Any] = {"parents": False}
    about_edges = True
    fixed_types: str | None = "the levels of bfs are int32, its parents int64"

    def calls(self, A, source, args):
        calls = {"levels": lambda: algorithms.bfs(A, source)}
        if args.parents or args.validate:
            calls["parents"] = lambda: algorithms.bfs_parents(A, source)
        return calls

    def columns(self, results):
        return {name.removesuffix("s"): vector for name, vector in results.items()}

    def facts(self, A, columns, args):
        level = columns["level"]
        numbers, text = _reached(level)
        depth = int(level.to_coo()[1].max(initial=0))
        return {**numbers, "depth": depth}, [f"{text}, the farthest at level {depth:,}"]

    def check(self, A, source, columns, args):
        return validate_bfs(csr_of(A), source, columns["parent"], columns["level"], labels=Names(A).by_number).rules


class Sssp:
    """Distances; with ``--parents`` also a tree of shortest paths."""

    needs_source = True
    weights: str | None = "int"
    options: Mapping[str, Any] = {"parents": False, "delta": None}
    about_edges = True
    fixed_types: str | None = None

    def calls(self, A, source, args):
        options = {"delta": args.delta, "dtype": args.dtype}
        if args.parents:
            return {"distances, parents": lambda: algorithms.sssp_parents(A, source, **options)}
        return {"distances": lambda: algorithms.sssp(A, source, **options)}

    def columns(self, results):
        if "distances" in results:
            return {"distance": results["distances"]}
        distance, parent = results["distances, parents"]
        return {"distance": distance, "parent": parent}

    def facts(self, A, columns, args):
        distance = columns["distance"]
        numbers, text = _reached(distance)
        farthest = distance.to_coo()[1].max(initial=0).item()
        return {**numbers, "farthest": farthest}, [f"{text}, the farthest at distance {farthest:,}"]

    def check(self, A, source, columns, args):
        tree, names = columns.get("parent"), Names(A).by_number
        return validate_sssp(csr_of(A), source, columns["distance"], tree, labels=names).rules


class Components:
    """Connected components, of directed graphs the weakly connected ones, by their smallest members."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {}
    about_edges = False
    fixed_types: str | None = "the labels of cc are int64"

    def calls(self, A, source, args):
        return {"components": lambda: algorithms.connected_components(A)}

    def columns(self, results):
        return {"component": results["components"]}

    def facts(self, A, columns, args):
        _, sizes = np.unique(columns["component"].to_coo()[1], return_counts=True)
        largest = int(sizes.max(initial=0))
        numbers = {"components": sizes.size, "largest": largest}
        what = "component" if A.symmetric else "weakly connected component"
        return numbers, [f"{counted(sizes.size, what)}, the largest of {counted(largest, 'vertex', 'vertices')}"]

    def check(self, A, source, columns, args):
        return check_components(A, columns["component"])


class Triangles:
    """Triangles at each vertex; of directed graphs with ``--symmetrize``."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {}
    about_edges = False
    fixed_types: str | None = "the counts of triangles are int64"

    def calls(self, A, source, args):
        return {"counts": lambda: algorithms.triangles(A)}

    def columns(self, results):
        return {"triangles": results["counts"]}

    def facts(self, A, columns, args):
        counts = columns["triangles"].to_coo()[1]
        total, most = int(counts.sum()) // 3, int(counts.max(initial=0))
        return {"triangles": total, "most": most}, [f"{counted(total, 'triangle')}, at most {most:,} at one vertex"]

    def check(self, A, source, columns, args):
        return check_triangles(A, columns["triangles"])


class Cores:
    """Core numbers; of directed graphs with ``--symmetrize``."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {}
    about_edges = False
    fixed_types: str | None = "core numbers are int64"

    def calls(self, A, source, args):
        return {"cores": lambda: algorithms.core_number(A)}

    def columns(self, results):
        return {"core": results["cores"]}

    def facts(self, A, columns, args):
        core = columns["core"].to_coo()[1]
        highest = int(core.max(initial=0))
        size = int(np.count_nonzero(core == highest))
        return {"highest": highest, "size": size}, [
            f"the highest core is {highest:,}, of {counted(size, 'vertex', 'vertices')}"
        ]

    def check(self, A, source, columns, args):
        return check_cores(A, columns["core"])


class IndependentSet:
    """A maximal independent set, by ``--seed``; of directed graphs with ``--symmetrize``."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {}
    about_edges = False
    fixed_types: str | None = "members are bool"

    def calls(self, A, source, args):
        return {"members": lambda: algorithms.maximal_independent_set(A, seed=args.seed)}

    def columns(self, results):
        return {"member": results["members"]}

    def facts(self, A, columns, args):
        member = columns["member"]
        text = f"{member.nvals:,} of {counted(member.size, 'vertex', 'vertices')} are members"
        return {"members": member.nvals}, [text]

    def check(self, A, source, columns, args):
        return check_independent(A, columns["member"])


JOBS: dict[str, Job] = {
    "bc": Betweenness(),
    "bfs": Bfs(),
    "cc": Components(),
    "hits": Hits(),
    "katz": Katz(),
    "kcore": Cores(),
    "mis": IndependentSet(),
    "pagerank": PageRank(),
    "sssp": Sssp(),
    "triangles": Triangles(),
}
