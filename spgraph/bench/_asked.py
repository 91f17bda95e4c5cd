"""What benchmarks are asked for: checked before anything is measured."""

from __future__ import annotations

import os
from collections.abc import Collection

from spgraph import _graphspec
from spgraph.exceptions import InvalidValue

__all__ = ["check_graphs", "check_names", "graph_name"]


def graph_name(spec: str) -> str:
    """What results call a graph: a generator as it is, a file or folder without the folders above it."""
    return spec if _graphspec.is_generator(spec) else os.path.basename(os.path.normpath(spec))


def check_graphs(where: str, graphs: list[str]) -> None:
    """Refuse graphs that results could not tell apart."""
    _check_once(where, "graphs", graphs)
    known: dict[str, str] = {}
    for spec in graphs:
        name = graph_name(spec)
        other = known.setdefault(name, spec)
        if other != spec:
            raise InvalidValue(f"{where}: graphs: results would call both {other} and {spec} {name}; wanted names that "
                               "differ")  # fmt: skip


def check_names(where: str, argument: str, given: list[str], known: Collection[str]) -> None:
    """Refuse names that are not among the known ones, or come twice."""
    for name in given:
        if name not in known:
            raise InvalidValue(f"{where}: {argument}: got {name!r}, wanted some of {', '.join(known)}")
    _check_once(where, argument, given)


def _check_once(where: str, argument: str, given: list[str]) -> None:
    for number, name in enumerate(given):
        if name in given[:number]:
            raise InvalidValue(f"{where}: {argument}: got {name!r} twice, wanted each once")
