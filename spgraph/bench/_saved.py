"""Save measurements as JSON, with what is needed to understand them later."""

from __future__ import annotations

import json
import os

from spgraph import _machine

__all__ = ["document", "save"]

PEERS = ("python-graphblas", "suitesparse-graphblas", "networkx")


def document(kind: str, results: dict) -> dict:
    """`results` together with the machine, date, commit and versions."""
    return {"benchmark": kind, "machine": _machine.machine(*PEERS), **results}


def save(path: str | os.PathLike, measured) -> None:
    """Write a `Comparison` or an `Overhead` to a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from spgraph import bench
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> save(path, bench.overhead(vertices=5, repeat=1, imports=0))
    >>> "machine" in path.read_text()
    True
    """
    text = json.dumps(document(measured.kind, measured.to_dict()), indent=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")
