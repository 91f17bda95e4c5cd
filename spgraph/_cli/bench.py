"""``spgraph bench compare``, ``scaling``, ``memory``, ``graph500`` and ``overhead``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from spgraph._cli.options import above, add_device, at_least, dtype_of, file_name, picture_name
from spgraph._cli.text import as_json
from spgraph._graphspec import FOLDERS, FORMS, ORDERS

__all__ = ["add_parser"]

ENGINES = ("graphblas", "scipy", "networkx", "cugraph")
USUAL = ("bfs", "bfs_parents", "sssp", "sssp_parents", "pagerank")
ALGORITHMS = (*USUAL, "betweenness", "components", "triangles")
SCALED = ("bfs_push", *ALGORITHMS)
USUALLY_PUSHED = ("bfs_push", "sssp", "betweenness")
USUALLY_SCALED = ("bfs_push", "bfs", "sssp", "components", "pagerank", "betweenness")


def add_parser(commands) -> None:
    """Declare the commands and their options."""
    parser = commands.add_parser("bench", help="measure spgraph and its peers", description="Benchmarks.")
    kinds = parser.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    _add_compare(kinds)
    _add_scaling(kinds)
    _add_memory(kinds)
    _add_graph500(kinds)
    _add_overhead(kinds)
    for each in kinds.choices.values():
        each.add_argument("--json", action="store_true", help="print JSON, and nothing else")
        each.add_argument(
            "--save", metavar="FILE", type=file_name, help="write JSON, with machine, GPU, commit and versions"
        )
        each.add_argument("--commit", metavar="NAME", help="what the JSON calls the commit (default: what git says)")
        each.add_argument("--threads", type=at_least(1), metavar="N", help="for the CPU (default: all cores)")
        add_device(each)


def _add_compare(kinds) -> None:
    text = "time spgraph and other engines on the same graphs"
    parser = kinds.add_parser(
        "compare",
        help=text,
        description=text.capitalize() + ", after checking their answers. An engine that is wrong or breaks is left "
        "out and named; the exit code is 1 then.",
    )
    parser.set_defaults(command=compare)
    add = parser.add_argument
    _add_graphs(parser)
    add(
        "--against",
        type=_some_of(ENGINES),
        metavar="LIST",
        help=f"of {','.join(ENGINES)} (default: those of the same kind of device; one not installed is left out)",
    )
    add(
        "--algorithms",
        type=_some_of(ALGORITHMS),
        default=list(USUAL),
        metavar="LIST",
        help=f"of {','.join(ALGORITHMS)} (default: the first five)",
    )
    add(
        "--order",
        type=_some_of(ORDERS),
        default=["natural", "degree"],
        metavar="LIST",
        help=f"orders of vertices in spgraph's memory, of {','.join(ORDERS)} (default: the first two)",
    )
    add("--dtype", type=dtype_of, help="type of distances and ranks (default: by weights and device)")
    _add_turns(parser)
    add("--source", metavar="VERTEX", help="search from this one only, as the file calls it")
    add(
        "--in-a-row",
        type=at_least(1),
        default=1,
        metavar="N",
        help="runs of an engine at each turn (default 1); of several the first, which comes after another engine's and "
        "finds its data in all caches, is saved apart",
    )


def _add_graphs(parser) -> None:
    parser.add_argument(
        "graphs", nargs="+", metavar="GRAPH", help=f"a file, {FOLDERS}, or " + ", ".join(FORMS.values())
    )


def _add_turns(parser) -> None:
    add = parser.add_argument
    add("--repeat", type=at_least(1), default=16, metavar="N", help="turns of each (default 16)")
    add(
        "--seconds",
        type=above(0),
        default=20.0,
        metavar="S",
        help="what the turns of each may take for one algorithm; slow ones take fewer, at least 3 (default 20)",
    )
    add(
        "--sources",
        type=at_least(1),
        default=16,
        metavar="N",
        help="vertices that the turns go through, a folder's own or drawn by --seed (default 16)",
    )
    add("--seed", type=at_least(0), default=0, metavar="N", help="of generators and sources (default 0)")


def _add_scaling(kinds) -> None:
    text = "time algorithms on one and on several devices"
    parser = kinds.add_parser(
        "scaling",
        help=text,
        description=text.capitalize() + ": GPUs, or parts of the CPU where there is none, after checking the answers "
        "against those of one. Speed-ups, and what a superstep costs without work. Exit code 1: an answer is wrong.",
    )
    parser.set_defaults(command=scaling)
    add = parser.add_argument
    _add_graphs(parser)
    add(
        "--devices",
        type=_counts,
        default=[1, 2, 4],
        metavar="LIST",
        help="how many devices (default 1,2,4); one is always measured",
    )
    add(
        "--algorithms",
        type=_some_of(SCALED),
        default=list(USUALLY_SCALED),
        metavar="LIST",
        help=f"of {','.join(SCALED)} (default: {','.join(USUALLY_SCALED)})",
    )
    add("--partition", metavar="NAME", help="which device owns which vertex, as of sg.Context: random, metis, ...")
    add("--direction", default="auto", metavar="NAME", help="of all but bfs_push, as of sg.Context (default auto)")
    add("--duplicate", choices=("1-hop", "all"), help="which vertices have proxies, as of sg.Context")
    add("--exchange", choices=("auto", "selective", "broadcast"), help="how values are sent, as of sg.Context")
    add("--order", choices=ORDERS, default="natural", help="order of the vertices of each part (default natural)")
    add("--weak", action="store_true", help="graphs grow with the devices: rmat:20 is rmat:21 on two, rmat:22 on four")
    add("--dtype", type=dtype_of, help="type of distances and ranks (default: by weights and device)")
    add(
        "--plot",
        metavar="FILE",
        type=picture_name,
        help="draw speed-ups and costs of a superstep into a file, such as scaling.png",
    )
    _add_turns(parser)


def _add_memory(kinds) -> None:
    text = "compare just-enough, fixed and maximum buffers: peak bytes and time"
    parser = kinds.add_parser(
        "memory",
        help=text,
        description="What lists that pushes make cost: with just enough room (what single products do), room for all "
        "vertices, and for all edges. Loops run product by product here. Exit code 1: an answer is another one.",
    )
    parser.set_defaults(command=memory)
    add = parser.add_argument
    _add_graphs(parser)
    add(
        "--algorithms",
        type=_some_of(SCALED),
        default=list(USUALLY_PUSHED),
        metavar="LIST",
        help=f"of {','.join(SCALED)} (default: {','.join(USUALLY_PUSHED)})",
    )
    add("--order", choices=ORDERS, default="natural", help="order of vertices in memory (default natural)")
    add("--dtype", type=dtype_of, help="type of distances and centralities (default: by weights and device)")
    _add_turns(parser)


def _add_graph500(kinds) -> None:
    text = "run Graph500: construction, BFS and SSSP from 64 roots, validated"
    parser = kinds.add_parser(
        "graph500",
        help=text,
        description=text.capitalize() + ". The output is that of the reference code. Exit code 1: an answer is wrong.",
    )
    parser.set_defaults(command=graph500)
    add = parser.add_argument
    add("--scale", type=at_least(1), required=True, metavar="S", help="logarithm of the number of vertices")
    add("--edgefactor", type=at_least(1), default=16, metavar="N", help="edges per vertex (default 16)")
    add("--roots", type=at_least(1), default=64, metavar="N", help="searches of each kernel (default 64)")
    add("--order", choices=ORDERS, default="natural", help="order of vertices in memory; making it is in kernel 1")
    add("--seed", type=at_least(0), default=0, metavar="N", help="of edges, weights and roots (default 0)")
    add("--skip-validation", action="store_true", help="do not check the answers; the output says so")


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
        for number, name in enumerate(names):
            if name not in known:
                raise argparse.ArgumentTypeError(f"got {name!r}, wanted some of {','.join(known)}")
            if name in names[:number]:
                raise argparse.ArgumentTypeError(f"got {name!r} twice, wanted each once")
        return names

    return split


def _counts(text: str) -> list[int]:
    count = at_least(1)
    return [count(number) for number in text.split(",")]


def _usual(args: argparse.Namespace) -> dict[str, Any]:
    """What all of these take."""
    from spgraph import bench

    return {
        "repeat": args.repeat,
        "seconds": args.seconds,
        "dtype": args.dtype,
        "seed": args.seed,
        "sources": args.sources,
        "progress": False if args.json and not sys.stderr.isatty() else None,
        "after_each": (lambda so_far: bench.save(args.save, so_far, commit=args.commit)) if args.save else None,
    }


def _judged(measured: Any, args: argparse.Namespace) -> int:
    """The exit code; says that answers were wrong where the output is for machines."""
    if measured.wrong and args.json:
        print('spgraph: some answers were wrong, see "wrong"', file=sys.stderr)
    return 1 if measured.wrong else 0


def compare(args: argparse.Namespace) -> int:
    """Print the comparison; returns the exit code. What is saved grows with every graph."""
    from spgraph import bench
    from spgraph.context import Context

    with Context(args.device, threads=args.threads):
        measured = bench.compare(
            args.graphs,
            against=args.against,
            algorithms=args.algorithms,
            orders=args.order,
            source=args.source,
            in_a_row=args.in_a_row,
            **_usual(args),
        )
        _show(measured, args)
    return _judged(measured, args)


def scaling(args: argparse.Namespace) -> int:
    """Print the times; returns the exit code. What is saved grows with every graph."""
    from spgraph import bench
    from spgraph.context import Context

    with Context(args.device, threads=args.threads, direction=args.direction):
        measured = bench.scaling(
            args.graphs,
            devices=args.devices,
            algorithms=args.algorithms,
            partition=args.partition,
            duplicate=args.duplicate,
            exchange=args.exchange,
            order=args.order,
            weak=args.weak,
            **_usual(args),
        )
        _show(measured, args)
        if args.plot:
            measured.plot().savefig(args.plot, dpi=150)
    return _judged(measured, args)


def memory(args: argparse.Namespace) -> int:
    """Print peaks and times; returns the exit code. What is saved grows with every graph."""
    from spgraph import bench
    from spgraph.context import Context

    with Context(args.device, threads=args.threads):
        measured = bench.memory(
            args.graphs,
            algorithms=args.algorithms,
            order=args.order,
            **_usual(args),
        )
        _show(measured, args)
    return _judged(measured, args)


def graph500(args: argparse.Namespace) -> int:
    """Print the statistics; returns the exit code."""
    from spgraph import bench
    from spgraph.context import Context

    with Context(args.device, threads=args.threads):
        measured = bench.graph500(
            args.scale,
            args.edgefactor,
            roots=args.roots,
            order=args.order,
            seed=args.seed,
            validate=not args.skip_validation,
        )
        _show(measured, args)
    if not measured.valid and args.json:
        print(f"spgraph: {measured.validation}", file=sys.stderr)
    return 0 if measured.valid else 1


def overhead(args: argparse.Namespace) -> int:
    """Print the costs; returns the exit code."""
    from spgraph import bench
    from spgraph._cli.watch import watch
    from spgraph.context import Context

    with Context(args.device, threads=args.threads):
        with watch("measuring"):
            measured = bench.overhead(args.vertices, repeat=args.repeat, imports=args.imports)
        _show(measured, args)
    return 0


def _show(measured, args: argparse.Namespace) -> None:
    from spgraph.bench import _saved

    if args.save:
        _saved.save(args.save, measured, commit=args.commit)
    print(as_json(_saved.document(measured, args.commit), indent=1) if args.json else measured)
