"""``spgraph bench compare`` and ``spgraph bench overhead``."""

from __future__ import annotations

import argparse
import json

from spgraph._cli.options import at_least, dtype_of
from spgraph._graphspec import FORMS

__all__ = ["add_parser"]

ENGINES = ("graphblas", "scipy", "networkx")
ALGORITHMS = ("bfs", "sssp", "pagerank")
ORDERS = ("natural", "degree")


def add_parser(commands) -> None:
    """Declare the commands and their options."""
    parser = commands.add_parser("bench", help="measure spgraph and its peers", description="Benchmarks.")
    kinds = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    _add_compare(kinds)
    _add_overhead(kinds)
    for each in kinds.choices.values():
        each.add_argument("--json", action="store_true", help="print JSON, and nothing else")
        each.add_argument("--save", metavar="FILE", help="write JSON, with machine, commit and versions")
        each.add_argument("--threads", type=at_least(1), metavar="N", help="default: all cores")


def _add_compare(kinds) -> None:
    text = "time spgraph and other engines on the same graphs"
    parser = kinds.add_parser(
        "compare", help=text, description=text.capitalize() + ", after checking their answers."
    )
    parser.set_defaults(command=compare)
    add = parser.add_argument
    add("graphs", nargs="+", metavar="GRAPH", help="a file, or " + ", ".join(FORMS.values()))
    add(
        "--against",
        type=_some_of(ENGINES),
        default=list(ENGINES),
        metavar="LIST",
        help=f"of {','.join(ENGINES)} (default: all; one that is not installed is left out)",
    )
    add(
        "--algorithms",
        type=_some_of(ALGORITHMS),
        default=list(ALGORITHMS),
        metavar="LIST",
        help=f"of {','.join(ALGORITHMS)} (default: all)",
    )
    add(
        "--orders",
        type=_some_of(ORDERS),
        default=list(ORDERS),
        metavar="LIST",
        help="orders of vertices in spgraph's memory, of natural,degree (default: both)",
    )
    add("--repeat", type=at_least(1), default=10, metavar="N", help="turns of every engine (default 10)")
    add("--dtype", type=dtype_of, help="type of distances and ranks (default: int64 or float64)")
    add(
        "--source", type=at_least(0), metavar="VERTEX", help="default: a vertex with an edge, drawn by --seed"
    )
    add("--seed", type=at_least(0), default=0, metavar="N", help="of generators and the source (default 0)")


def _add_overhead(kinds) -> None:
    text = "microseconds per expression on a path, and the time to import spgraph"
    parser = kinds.add_parser("overhead", help=text, description=text.capitalize() + ".")
    parser.set_defaults(command=overhead)
    add = parser.add_argument
    add("--vertices", type=at_least(1), default=1000, metavar="N", help="length of the path (default 1000)")
    add(
        "--repeat",
        type=at_least(1),
        default=5,
        metavar="N",
        help="runs, of which the median counts (default 5)",
    )
    add(
        "--imports",
        type=at_least(0),
        default=5,
        metavar="N",
        help="new processes for each import (default 5)",
    )


def _some_of(known: tuple[str, ...]):
    def split(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"got {name!r}, wanted some of {','.join(known)}")
        return names

    return split


def compare(args: argparse.Namespace) -> int:
    """Print the comparison; returns the exit code."""
    from spgraph import bench
    from spgraph.context import Context

    with Context(threads=args.threads):
        measured = bench.compare(
            args.graphs,
            against=args.against,
            algorithms=args.algorithms,
            repeat=args.repeat,
            orders=args.orders,
            dtype=args.dtype,
            seed=args.seed,
            source=args.source,
        )
        return _show(measured, args)


def overhead(args: argparse.Namespace) -> int:
    """Print the costs; returns the exit code."""
    from spgraph import bench
    from spgraph._cli.watch import watch
    from spgraph.context import Context

    with Context(threads=args.threads):
        with watch("measuring"):
            measured = bench.overhead(args.vertices, repeat=args.repeat, imports=args.imports)
        return _show(measured, args)


def _show(measured, args: argparse.Namespace) -> int:
    from spgraph.bench import _saved

    if args.save:
        _saved.save(args.save, measured)
    print(json.dumps(_saved.document(measured.kind, measured.to_dict()), indent=1) if args.json else measured)
    return 0
