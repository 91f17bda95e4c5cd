"""Centralities that ``spgraph run`` knows; for their members see `Job`."""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from spgraph import algorithms
from spgraph._cli.names import Names
from spgraph._cli.paths_through import check_betweenness
from spgraph._cli.ranks import check_hits, check_katz, check_ranks
from spgraph._cli.text import counted
from spgraph.exceptions import InvalidValue
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["SAMPLES", "Betweenness", "Hits", "Katz", "PageRank"]

SAMPLES = 16  # of bc, unless the graph has fewer vertices
ROUGH = 1e-3  # what a last step of PageRank may change in all before it is worth a word


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Arguments of what is iterated."""
    dtype = np.float64 if args.dtype is None else args.dtype
    return {"tol": args.tol, "max_iter": args.max_iter, "dtype": dtype, "fail_on_nonconvergence": False}


def _iterations(vector: Any, what: str) -> tuple[dict[str, Any], str]:
    """How often was iterated, and what the last time changed."""
    numbers = {"iterations": vector.iterations, "residual": vector.residual, "converged": vector.converged}
    state = "converged" if vector.converged else "NOT CONVERGED (see --max-iter, --tol)"
    text = f"{state} after {counted(vector.iterations, 'iteration')}"
    return numbers, f"{text}, the last changed {what} by {vector.residual:.2e} in all" if vector.iterations else text


def _highest(A: Matrix, vector: Vector, what: str = "") -> tuple[dict[str, Any], str]:
    """The largest value, and the vertex that has it."""
    values = vector.to_dense()
    if not values.size:
        return {"highest": None}, "no vertices"
    first = int(values.argmax())
    highest, name = values[first].item(), Names(A).of(first)
    return {"highest": highest, "at": name}, f"the highest{what} is {highest:.6g}, of vertex {name}"


class PageRank:
    """Ranks, with ``--personalization`` those of a surfer who always comes back to these vertices."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {"alpha": 0.85, "tol": 1e-6, "max_iter": 100, "personalization": None}
    about_edges = False
    fixed_types: str | None = None

    def jumps(self, A: Matrix, args: argparse.Namespace) -> dict[int, float] | None:
        """Where jumps go: how often a vertex was named."""
        if args.personalization is None:
            return None
        names = Names(A)
        jumps: dict[int, float] = {}
        for name in args.personalization:
            vertex = names.find(name, "--personalization")
            jumps[vertex] = jumps.get(vertex, 0.0) + 1
        return jumps

    def calls(self, A, source, args):
        jumps, settings = self.jumps(A, args), _settings(args)
        return {"ranks": lambda: algorithms.pagerank(A, args.alpha, personalization=jumps, **settings)}

    def columns(self, results):
        return {"rank": results["ranks"]}

    def facts(self, A, columns, args):
        numbers, text = _iterations(columns["rank"], "ranks")
        highest, place = _highest(A, columns["rank"])
        texts = [text, place]
        if numbers["converged"] and numbers["residual"] > ROUGH:
            texts.insert(1, f"ranks sum to 1, so these are rough: a smaller --tol than {args.tol:g} iterates longer")
        if args.personalization is None:
            return {**numbers, **highest}, texts
        names = args.personalization
        return {"personalization": names, **numbers, **highest}, [f"jumps to {', '.join(names)}", *texts]

    def check(self, A, source, columns, args):
        return check_ranks(A, columns["rank"], args.alpha, args.tol, self.jumps(A, args))


class Hits:
    """Hubs and authorities, with the weights that there are."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {"tol": 1e-8, "max_iter": 1000}
    about_edges = False
    fixed_types: str | None = None

    def calls(self, A, source, args):
        settings = _settings(args)
        return {"hubs, authorities": lambda: algorithms.hits(A, **settings)}

    def columns(self, results):
        hubs, authorities = results["hubs, authorities"]
        return {"hub": hubs, "authority": authorities}

    def facts(self, A, columns, args):
        numbers, text = _iterations(columns["hub"], "hubs")
        texts = [text]
        for kind, what in (("hub", " hub"), ("authority", " authority")):
            numbers[kind], text = _highest(A, columns[kind], what)
            texts.append(text)
        return numbers, texts

    def check(self, A, source, columns, args):
        return check_hits(A, columns["hub"], columns["authority"], args.tol)


class Katz:
    """Katz centrality; weights do not count."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {"alpha": None, "tol": 1e-6, "max_iter": 1000}
    about_edges = False
    fixed_types: str | None = None

    def alpha(self, A: Matrix, args: argparse.Namespace) -> float:
        """What was asked for, or what converges on every graph."""
        if args.alpha is not None:
            return args.alpha
        return 1 / (1 + int(np.diff(A.to_csr()[0]).max(initial=0)))

    def calls(self, A, source, args):
        alpha, settings = self.alpha(A, args), _settings(args)
        return {"centrality": lambda: algorithms.katz_centrality(A, alpha, **settings)}

    def columns(self, results):
        return {"katz": results["centrality"]}

    def facts(self, A, columns, args):
        alpha = self.alpha(A, args)
        numbers, text = _iterations(columns["katz"], "walks")
        highest, place = _highest(A, columns["katz"])
        return {"alpha": alpha, **numbers, **highest}, [f"alpha {alpha:.6g}, {text}", place]

    def check(self, A, source, columns, args):
        return check_katz(A, columns["katz"], self.alpha(A, args), args.tol)


class Betweenness:
    """Betweenness centrality, estimated from ``--samples`` sources."""

    needs_source = False
    weights: str | None = None
    options: Mapping[str, Any] = {"samples": None}
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
        numbers, text = _highest(A, columns["betweenness"])
        number = len(self.sources(A, args))
        if number == A.nrows:
            return numbers, [text]
        numbers["estimated"] = {"sources": number, "of": A.nrows}
        return numbers, [f"{text}, estimated from {number:,} of {counted(A.nrows, 'source')}"]

    def check(self, A, source, columns, args):
        return check_betweenness(A, columns["betweenness"], self.sources(A, args))
