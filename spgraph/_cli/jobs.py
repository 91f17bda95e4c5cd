"""The algorithms that ``spgraph run`` knows: how each is called, described and checked.

To add one, write a class with the members of `Job` and list it in `JOBS`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from spgraph import algorithms
from spgraph._cli.names import Names
from spgraph._cli.paths_through import check_betweenness
from spgraph._cli.ranks import check_ranks
from spgraph._cli.structure import check_components, check_cores, check_independent, check_triangles
from spgraph._cli.text import counted
from spgraph.bench._arrays import csr_of
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.validate import Rule, validate_bfs, validate_sssp
from spgraph.vector import Vector

__all__ = ["JOBS", "SAMPLES", "Job"]

SAMPLES = 16  # of bc, unless the graph has fewer vertices


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

    def facts(self, A, columns, args):
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

    def facts(self, A, columns, args):
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

    def facts(self, A, columns, args):
        rank = columns["rank"]
        numbers = {"iterations": rank.iterations, "residual": rank.residual, "converged": rank.converged}
        state = "converged" if rank.converged else "NOT CONVERGED (see --max-iter, --tol)"
        return numbers, [
            f"{state} after {counted(rank.iterations, 'iteration')}, the last changed ranks by "
            f"{rank.residual:.2e} in all"
        ]

    def check(self, A, source, columns, args):
        return check_ranks(A, columns["rank"], args.alpha, args.tol)


class Betweenness:
    """Betweenness centrality, estimated from ``--samples`` sources."""

    needs_source = False
    weights: str | None = None
    options: tuple[str, ...] = ("samples",)
    about_edges = False
    fixed_types: str | None = None

    def sources(self, A: Matrix, args: argparse.Namespace) -> list[int]:
        """Those that ``--seed`` draws, or all."""
        number = min(SAMPLES, A.nrows) if args.samples is None else args.samples or A.nrows
        if number > A.nrows:
            there = counted(A.nrows, "vertex", "vertices")
            raise InvalidValue(f"--samples: got {number:,}, the graph has {there} (0: from all, exact)")
        return random.Random(args.seed).sample(range(A.nrows), number)

    def calls(self, A, source, args):
        sources, dtype = self.sources(A, args), np.float64 if args.dtype is None else args.dtype
        if not sources:
            return {"centrality": lambda: Vector(dtype, 0)}
        return {"centrality": lambda: algorithms.betweenness_centrality(A, sources=sources, dtype=dtype)}

    def columns(self, results):
        return {"betweenness": results["centrality"]}

    def facts(self, A, columns, args):
        values = columns["betweenness"].to_dense()
        if not values.size:
            return {"highest": None}, ["no vertices"]
        first = int(values.argmax())
        highest, name = values[first].item(), Names(A).of(first)
        numbers, text = {"highest": highest, "at": name}, f"the highest is {highest:.6g}, of vertex {name}"
        number = len(self.sources(A, args))
        if number == A.nrows:
            return numbers, [text]
        numbers["estimated"] = {"sources": number, "of": A.nrows}
        return numbers, [f"{text}, estimated from {number:,} of {counted(A.nrows, 'source')}"]

    def check(self, A, source, columns, args):
        return check_betweenness(A, columns["betweenness"], self.sources(A, args))


class Components:
    """Connected components, of directed graphs the weakly connected ones, by their smallest members."""

    needs_source = False
    weights: str | None = None
    options: tuple[str, ...] = ()
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
    options: tuple[str, ...] = ()
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
    options: tuple[str, ...] = ()
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
    options: tuple[str, ...] = ()
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
    "kcore": Cores(),
    "mis": IndependentSet(),
    "pagerank": PageRank(),
    "sssp": Sssp(),
    "triangles": Triangles(),
}
