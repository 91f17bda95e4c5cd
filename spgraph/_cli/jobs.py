"""The algorithms that ``spgraph run`` knows: how each is called, described and checked.

To add one, write a class with the members of `Job` and list it in `JOBS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from spgraph import algorithms
from spgraph._cli.ranks import check_ranks
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
    options: tuple[str, ...]
    about_edges: bool  # whether edges per second mean something
    fixed_types: str | None  # why there is no --dtype

    def calls(self, A: Matrix, source: int, args: argparse.Namespace) -> dict[str, Callable[[], Any]]:
        """What is to be run and timed, by the name under which it is shown."""

    def columns(self, results: dict[str, Any]) -> dict[str, Vector]:
        """The vectors that were computed, by the name that a written file gives them."""

    def facts(self, columns: dict[str, Vector]) -> tuple[dict[str, Any], list[str]]:
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
    options: tuple[str, ...] = ("parents",)
    about_edges = True
    fixed_types: str | None = "the levels of bfs are int32, its parents int64"

    def calls(self, A, source, args):
        calls = {"levels": lambda: algorithms.bfs(A, source)}
        if args.parents or args.validate:
            calls["parents"] = lambda: algorithms.bfs_parents(A, source)
        return calls

    def columns(self, results):
        return {name.removesuffix("s"): vector for name, vector in results.items()}

    def facts(self, columns):
        level = columns["level"]
        numbers, text = _reached(level)
        depth = int(level.to_coo()[1].max(initial=0))
        return {**numbers, "depth": depth}, [f"{text}, the farthest at level {depth:,}"]

    def check(self, A, source, columns, args):
        return validate_bfs(csr_of(A), source, columns["parent"], columns["level"]).rules


class Sssp:
    """Distances; with ``--parents`` also a tree of shortest paths."""

    needs_source = True
    weights: str | None = "int"
    options: tuple[str, ...] = ("parents", "delta")
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

    def facts(self, columns):
        distance = columns["distance"]
        numbers, text = _reached(distance)
        farthest = distance.to_coo()[1].max(initial=0).item()
        return {**numbers, "farthest": farthest}, [f"{text}, the farthest at distance {farthest:,}"]

    def check(self, A, source, columns, args):
        return validate_sssp(csr_of(A), source, columns["distance"], columns.get("parent")).rules


class PageRank:
    """Ranks."""

    needs_source = False
    weights: str | None = None
    options: tuple[str, ...] = ("alpha", "tol", "max_iter")
    about_edges = False
    fixed_types: str | None = None

    def calls(self, A, source, args):
        dtype = np.float64 if args.dtype is None else args.dtype
        return {
            "ranks": lambda: algorithms.pagerank(
                A, args.alpha, tol=args.tol, max_iter=args.max_iter, dtype=dtype, fail_on_nonconvergence=False
            )
        }

    def columns(self, results):
        return {"rank": results["ranks"]}

    def facts(self, columns):
        rank = columns["rank"]
        numbers = {"iterations": rank.iterations, "residual": rank.residual, "converged": rank.converged}
        state = "converged" if rank.converged else "NOT CONVERGED (see --max-iter, --tol)"
        return numbers, [
            f"{state} after {counted(rank.iterations, 'iteration')}, the last changed ranks by "
            f"{rank.residual:.2e} in all"
        ]

    def check(self, A, source, columns, args):
        return check_ranks(A, columns["rank"], args.alpha, args.tol)


JOBS: dict[str, Job] = {"bfs": Bfs(), "pagerank": PageRank(), "sssp": Sssp()}
