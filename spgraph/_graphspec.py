"""Graphs by name: a file, a folder of raw CSR arrays, or a generator with its numbers, as in ``rmat:18``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from semirings.exceptions import InvalidValue

__all__ = ["FOLDERS", "FORMS", "ORDERS", "in_order", "is_generator", "load", "parse"]

FORMS = {
    "rmat": "rmat:SCALE[:EDGE_FACTOR]",
    "uniform": "uniform:SCALE[:DEGREE]",
    "grid": "grid:SIDE or grid:ROWSxCOLUMNS",
    "path": "path:N",
    "cycle": "cycle:N",
    "star": "star:N",
    "complete": "complete:N",
}
ORDERS = ("natural", "degree", "bfs")
FOLDERS = "a folder with rowptr.i32, col.i32 and w.f32"
SHAPE = re.compile(r"(\d+)(?:x(\d+))?")


def is_generator(spec: str) -> bool:
    """Whether `spec` names a generator; an existing file of that name comes first."""
    return spec.partition(":")[0] in FORMS and not os.path.exists(spec)


def load(
    spec: str,
    *,
    weights: str | None = None,
    order: str | None = None,
    seed: int = 0,
    symmetrize: bool = False,
    dup_op: str | None = None,
):
    """The graph that `spec` names, as a Matrix.

    Parameters
    ----------
    spec : str
        A file that `spgraph.io.read` reads, a folder (see `spgraph.bench._folder`), or one of `FORMS`.
    weights : {None, "int"}
        What generators that have a choice give to edges.
    order : {"natural", "degree", "bfs"}, optional
        See `in_order`.
    seed : int
        For generators.
    symmetrize, dup_op
        For files, see `spgraph.io.read`. Folders and generators have undirected graphs without duplicates.

    Raises
    ------
    InvalidValue
        If the numbers do not fit the generator.
    FileNotFoundError
        If `spec` is neither a generator nor a file.

    Examples
    --------
    >>> load("grid:3x2").shape
    (6, 6)
    """
    if order == "bfs":
        A = load(spec, weights=weights, order="natural", seed=seed, symmetrize=symmetrize, dup_op=dup_op)
        return in_order(A, order)
    if is_generator(spec):
        call, numbers = parse(spec)
        if call.__name__ != "grid":  # a grid has weights anyhow
            return call(*numbers, weights=weights, seed=seed, order=order)
        return call(*numbers, seed=seed, order=order)
    if not os.path.exists(spec):
        forms = ", ".join(form.split(" or ")[0] for form in FORMS.values())
        raise FileNotFoundError(f"{spec}: no such file, and no generator either ({forms})")
    if os.path.isdir(spec):
        return _read_folder(spec, order)
    from spgraph import io

    return io.read(spec, symmetrize=symmetrize, dup_op=dup_op, order=order)


def in_order(A: Any, order: str) -> Any:
    """`A` itself, its vertices in one of `ORDERS`: "bfs" is `algorithms.bfs_order`."""
    if order != "bfs":
        return A.reorder(order)
    from spgraph import algorithms

    return A.reorder(algorithms.bfs_order(A))


def _read_folder(spec: str, order: str | None):
    from spgraph.bench import _folder

    if not _folder.is_folder(spec):
        raise FileNotFoundError(f"{spec}: wanted a file, or {FOLDERS}")
    return _folder.read_folder(spec, order)


def parse(spec: str) -> tuple[Callable[..., Any], list[int]]:
    """The generator that `spec` names, and its numbers."""
    from spgraph import generators

    name, *words = spec.split(":")
    numbers = [SHAPE.fullmatch(word) for word in words]
    most = 2 if name in ("rmat", "uniform") else 1
    if not 1 <= len(words) <= most or not all(numbers) or (name != "grid" and "x" in spec.removeprefix(name)):
        raise InvalidValue(f"{spec}: wanted {FORMS[name]}, with numbers such as {name}:18")
    found = [int(number) for match in numbers if match for number in match.groups() if number]
    if name == "uniform":
        if found[0] > 31:
            raise InvalidValue(f"{spec}: SCALE is the logarithm of the number of vertices, 0 to 31")
        found[0] = 1 << found[0]
    return getattr(generators, name), found
