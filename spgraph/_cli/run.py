"""``spgraph run ALGORITHM GRAPH``."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np
from tqdm import tqdm

from spgraph import agg
from spgraph._cli import output
from spgraph._cli.centralities import SAMPLES
from spgraph._cli.jobs import JOBS, Job
from spgraph._cli.names import Names
from spgraph._cli.options import add_device, at_least, dtype_of
from spgraph._cli.text import as_json, counted, described, lines, rated, timed
from spgraph._cli.watch import Compiled, watch
from spgraph._graphspec import FOLDERS, FORMS, ORDERS, is_generator, load
from spgraph._trace import trace
from spgraph.context import Context
from spgraph.exceptions import InvalidValue
from spgraph.exchange.launch import rank
from spgraph.exchange.ranks import ranks_of
from spgraph.io._build import whole_at_first
from spgraph.matrix import Matrix

__all__ = ["add_parser"]

DIRECTIONS = {True: "undirected", False: "directed", None: "directions not checked"}
WARM_UPS = 5  # runs after the first that compile more, and do not count; kernels are compiled when they have much to do
PATIENCE = 10.0  # seconds: a first call that took longer, and compiled nothing, is not repeated unasked
ABOUT_GRAPHS = (
    "a file (.mtx, .gr, .graph, .npz, .csv, .parquet, edge list; also packed: .gz, .xz, .bz2), "
    f"{FOLDERS}, or " + ", ".join(FORMS.values())
)


def add_parser(commands) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "run",
        help="run an algorithm on a graph",
        description="Run an algorithm on a graph.",
        epilog="examples:\n  spgraph run bfs rmat:18 --validate\n"
        "  spgraph run sssp roads.gr --dup-op min --output distances.csv",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run)
    parser.add_argument("algorithm", choices=JOBS, metavar="ALGORITHM", help=", ".join(JOBS))
    parser.add_argument("graph", metavar="GRAPH", help=ABOUT_GRAPHS)
    add = parser.add_argument
    add(
        "--source",
        metavar="VERTEX",
        help="where to start, as the file calls it (default: a vertex with an edge, "
        "drawn at random by --seed)",
    )
    add("--output", metavar="FILE", help="write the result, one row a vertex: " + ", ".join(output.SUFFIXES))
    add(
        "--validate",
        action="store_true",
        help="check the answer (bfs, sssp: Graph500's five rules); exit code 1 if it is wrong",
    )
    add("--json", action="store_true", help="print JSON, and nothing else")
    add(
        "--trace",
        nargs="?",
        const=True,
        metavar="FILE",
        help="run twice more and tell what each superstep did the second time; FILE: also write it in Chrome's trace "
        "format, for ui.perfetto.dev",
    )
    add("--repeat", type=at_least(0), metavar="N", help="runs that count, after those that compile (default 3)")
    add("--dtype", type=dtype_of, help="type of distances or ranks, such as float32")
    group = parser.add_argument_group("the graph")
    add = group.add_argument
    add("--order", choices=ORDERS, help="order of vertices in memory; results are the same")
    add(
        "--seed",
        type=at_least(0),
        default=0,
        metavar="N",
        help="of generators, of the drawn source and of mis (default 0)",
    )
    add("--symmetrize", action="store_true", help="store every edge of a file in both directions")
    add("--dup-op", metavar="OP", help="combine duplicate edges of a file: min, max, plus, first, last, ...")
    group = parser.add_argument_group("the algorithm")
    add = group.add_argument
    add("--parents", action="store_true", help="bfs, sssp: also a tree of parents")
    add("--delta", type=float, help="sssp: width of a bucket (default: from weights and degrees)")
    add(
        "--alpha",
        type=float,
        help="pagerank: probability of following an edge (default 0.85); katz: factor of an edge (default: 1 / (1 + "
        "the largest degree), which always converges)",
    )
    add(
        "--personalization",
        action="append",
        metavar="VERTEX",
        help="pagerank: jump to this vertex, as the file calls it, not anywhere; several times for several",
    )
    add(
        "--tol",
        type=float,
        help="pagerank, katz: stop when a step changes less than N * TOL (default 1e-6); hits: than TOL (1e-8)",
    )
    add(
        "--max-iter",
        type=at_least(0),
        metavar="N",
        help="pagerank, hits, katz: iterations at most (default 100, 1000, 1000)",
    )
    add(
        "--samples",
        type=at_least(0),
        metavar="N",
        help=f"bc: sources that it is estimated from, drawn by --seed (default {SAMPLES}; 0: from all, exact)",
    )
    group = parser.add_argument_group("the machine")
    add_device(group)
    group.add_argument("--threads", type=at_least(1), metavar="N", help="for the CPU (default: all cores)")


def run(args: argparse.Namespace) -> int:
    """Load, compute, describe, validate, write; returns the exit code."""
    job = JOBS[args.algorithm]
    _check_options(job, args)
    if args.output is not None:
        output.check_path(args.output)
    if isinstance(args.trace, str):
        output.check_folder("--trace", args.trace)
    with Context(args.device, threads=args.threads):
        return _Run(job, args).go()


def _check_options(job: Job, args: argparse.Namespace) -> None:
    """Options of other algorithms are refused, not ignored; those of this one that were not given get its defaults."""
    for name in ("parents", "delta", "alpha", "personalization", "tol", "max_iter", "samples"):
        given = getattr(args, name)
        if given is None or given is False:
            setattr(args, name, job.options.get(name))
        elif name not in job.options:
            raise InvalidValue(f"--{name.replace('_', '-')}: {args.algorithm} has no such option")
    if args.dtype is not None and job.fixed_types:
        raise InvalidValue(f"--dtype: {job.fixed_types}")
    if args.source is not None and not job.needs_source:
        raise InvalidValue(f"--source: {args.algorithm} has no source")
    if is_generator(args.graph) or os.path.isdir(args.graph):
        kind = "generator" if is_generator(args.graph) else "folder"
        for name, given in (("--symmetrize", args.symmetrize), ("--dup-op", args.dup_op)):
            if given:
                raise InvalidValue(f"{name}: it is about files, and {args.graph} is a {kind}")


class _Run:
    """One call of the command: says what it does as it goes, collects the same for JSON."""

    def __init__(self, job: Job, args: argparse.Namespace):
        self.job = job
        self.args = args
        self.facts: dict[str, Any] = {"algorithm": args.algorithm}

    def say(self, title: str, *texts: str) -> None:
        if not self.args.json:
            print(lines(title, *texts), flush=True)

    def go(self) -> int:
        started = time.perf_counter()
        compiled = Compiled()
        A = self.load()
        names = Names(A)
        if self.args.output is not None:
            output.check_names(self.args.output, names)
        source = self.source(A, names) if self.job.needs_source else 0
        results = self.compute(A, source)
        columns = self.job.columns(results)
        numbers, texts = self.job.facts(A, columns, self.args)
        self.facts.update(numbers)
        self.say("", *texts)
        if self.job.about_edges:
            self.rate(A, columns)
        if self.args.trace is not None:
            self.trace(A, source)
        valid = self.validate(A, source, columns) if self.args.validate else True
        if self.args.output:
            rows = output.write(self.args.output, columns, names)
            self.facts["output"] = self.args.output
            self.say("wrote", f"{counted(rows, 'row')} of vertex, {', '.join(columns)} to {self.args.output}")
        self.facts["kernels"] = compiled.since()
        self.facts["seconds"] = time.perf_counter() - started
        if self.args.json:
            print(as_json(self.facts, indent=2))
        return 0 if valid else 1

    def load(self) -> Matrix:
        args = self.args
        generated = is_generator(args.graph)
        compiled = Compiled()
        start = time.perf_counter()
        with watch(f"generating {args.graph}", enabled=None if generated else False):
            A = load(
                args.graph,
                weights=self.job.weights,
                order=args.order,
                seed=args.seed,
                symmetrize=args.symmetrize,
                dup_op=args.dup_op,
            )
            A._device.synchronize()
        seconds = time.perf_counter() - start
        self.facts["graph"] = {
            "name": args.graph,
            "vertices": A.nrows,
            "stored_edges": A.nvals,
            "symmetric": A.symmetric,
            "dtype": A.dtype.name,
            "order": A.order,
            "device": A.device,
            "seconds": seconds,
            "report": str(A.report),
        }
        kind = f"{DIRECTIONS[A.symmetric]}, {A.dtype.name} weights"
        made = _kernels(compiled.since())
        self.say("graph", *described(str(A.report)), f"{kind}, on {A.device}, in {timed(seconds)}{made}")
        return A

    def source(self, A: Matrix, names: Names) -> int:
        args = self.args
        if args.source is not None:
            source, how = names.find(args.source), ""
        else:
            source, how = _draw_source(A, args.seed), f", drawn at random (--seed {args.seed})"
        self.facts["source"] = names.of(source)
        self.say(args.algorithm, f"from vertex {names.of(source)}{how}")
        return source

    def compute(self, A: Matrix, source: int) -> dict[str, Any]:
        results, times = {}, {}
        for name, call in self.job.calls(A, source, self.args).items():
            compiled = Compiled()
            start = time.perf_counter()
            with watch(f"{self.args.algorithm}: {name}"):
                results[name] = call()
                A._device.synchronize()
            first = time.perf_counter() - start
            made = compiled.since()
            repeat = self.args.repeat
            if repeat is None:
                repeat = agreed(A, 3 if first < PATIENCE or made["compiled"] else 0)
            runs: list[float] = []
            warm_ups: list[float] = []
            with tqdm(total=repeat, desc=name, leave=False, disable=None, delay=1) as bar:
                while len(runs) < repeat:
                    compiled = Compiled()
                    start = time.perf_counter()
                    results[name] = call()
                    A._device.synchronize()
                    seconds, more = time.perf_counter() - start, compiled.since()
                    if agreed(A, bool(more["compiled"] or more["loaded"]) and len(warm_ups) < WARM_UPS):
                        warm_ups.append(seconds)
                        continue
                    runs.append(seconds)
                    bar.update()
            times[name] = {
                "first": first,
                "compile": made["seconds"],
                "warm_ups": warm_ups,
                "runs": runs,
                "median": statistics.median(runs or [first]),
            }
            self.say(name, _time_text(first, made, warm_ups, runs))
        self.facts["times"] = times
        return results

    def rate(self, A: Matrix, columns: dict[str, Any]) -> None:
        edges, how = _component_edges(A, next(iter(columns.values())), self.args)
        *_, last = self.facts["times"].values()  # of the tree, if there is one
        median = last["median"]
        self.facts.update(component_edges=edges, teps=edges / median)
        self.say("", f"{edges:,} {how} edges in what was reached: {rated(edges / median, 'TEPS')}")

    def trace(self, A: Matrix, source: int) -> None:
        *_, call = self.job.calls(A, source, self.args).values()  # of the tree, if there is one
        with trace(self.args.algorithm):
            call()  # what only traced parts do is loaded
        with trace(self.args.algorithm) as found:
            call()
        fitted = found.fit()
        self.facts["trace"] = {"supersteps": [one._asdict() for one in found.records], "fit": asdict(fitted)}
        self.say("trace", *str(found.table()).splitlines(), *str(fitted).splitlines())
        if isinstance(self.args.trace, str):
            if not rank():
                found.save_chrome(self.args.trace)
            self.facts["trace"]["output"] = self.args.trace
            self.say("wrote", f"the trace to {self.args.trace}")

    def check(self, A: Matrix, source: int, columns: dict[str, Any]) -> tuple:
        """The rules; of several processes the first gets the whole graph, and looks."""
        ranks = ranks_of(A._device)
        if ranks.count == 1:
            return self.job.check(A, source, columns, self.args)
        rules = None
        with ranks.together():
            whole = whole_at_first(A)
            found = {name: vector.to("cpu") for name, vector in columns.items()}
            if whole is not None:
                with Context("cpu"):
                    rules = self.job.check(whole, source, found, self.args)
        return ranks.gather(rules)[0]

    def validate(self, A: Matrix, source: int, columns: dict[str, Any]) -> bool:
        with watch("validating"):
            rules = self.check(A, source, columns)
        valid = all(rule.ok for rule in rules)
        self.facts["valid"] = valid
        self.facts["rules"] = [
            {"number": rule.number, "name": rule.name, "ok": rule.ok, "problem": rule.problem}
            for rule in rules
        ]
        self.say("valid" if valid else "NOT VALID", *map(str, rules))
        if not valid and self.args.json and not rank():
            print('spgraph: the answer is not valid, see "rules"', file=sys.stderr)
        return valid


def agreed(A: Matrix, choice: Any) -> Any:
    """A choice that depends on the clock, made once for all processes: by the first of them."""
    group = A._device.group
    return choice if group is None else group.transport.gather([choice] * len(group.mine))[0]


def _kernels(made: dict[str, float]) -> str:
    """What of a time was compiling and loading."""
    how = []
    if made["compiled"]:
        how.append(f"{counted(int(made['compiled']), 'kernel')} compiled in {timed(made['seconds'])}")
    if made["loaded"]:
        how.append(f"{counted(int(made['loaded']), 'kernel')} loaded")
    return f" ({', '.join(how)})" if how else ""


def _time_text(first: float, made: dict[str, float], warm_ups: list[float], runs: list[float]) -> str:
    if not runs:
        return f"{timed(first)}{_kernels(made)}"
    before = f"the first call {timed(first)}{_kernels(made)}"
    if warm_ups:
        before += f", then {timed(sum(warm_ups))} to compile more"
    return f"{timed(statistics.median(runs))} (median of {len(runs)}); {before}"


def _draw_source(A: Matrix, seed: int) -> int:
    """A vertex that an edge leaves, as Graph500 draws its search keys."""
    candidates = np.flatnonzero(_degrees(A))
    if candidates.size == 0:
        if A.nrows == 0:
            raise InvalidValue("the graph has no vertices, so there is no source")
        return 0
    return int(np.random.default_rng(seed).choice(candidates))


def _degrees(A: Matrix) -> np.ndarray:
    """How many edges leave each vertex."""
    return A.reduce_rowwise(agg.count).new().to_dense(0)


def _component_edges(A: Matrix, reached, args: argparse.Namespace) -> tuple[int, str]:
    """Edges in the searched component by Graph500's rule, and how they were counted.

    Graph500 counts the edges as they were generated, parallel ones and
    self-loops included, each once. Files do not tell: there stored edges count,
    undirected ones once.
    """
    inside = np.zeros(A.nrows, bool)
    inside[reached.to_coo()[0]] = True
    if args.graph.startswith("rmat:") and is_generator(args.graph):
        from spgraph.generators._random import count_from

        scale, *factor = map(int, args.graph.split(":")[1:])
        return count_from(inside, scale, *factor, seed=args.seed), "generated"
    stored = int(_degrees(A)[inside].sum())
    if A.symmetric is not True:
        return stored, "stored"
    loops = int(np.count_nonzero(inside[A.diag().to_coo()[0]]))
    return (stored + loops) // 2, "undirected"
