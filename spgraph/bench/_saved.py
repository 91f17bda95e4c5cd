"""Save measurements as JSON, with what is needed to understand them later."""

from __future__ import annotations

import os

from spgraph import _machine
from spgraph._cli.text import as_json
from spgraph.kernels.device import Device

__all__ = ["described", "document", "save"]

PEERS = ("python-graphblas", "suitesparse-graphblas", "networkx", "cupy")


def described(device: Device) -> str:
    """A device's name and what it is, of several what the first is: "cuda:0, NVIDIA H100 80GB HBM3"."""
    one = device if device.group is None else device.group.own[0]
    found = _machine.cpu_model() if one.on_host else None
    for gpu in [] if one.on_host else _machine.gpus():
        if gpu["device"] == one.name:
            found = gpu["name"]
    return f"{device.name}, {found}" if found else device.name


def document(measured, commit: str | None = None) -> dict:
    """What was measured together with the machine, its GPUs, date, commit and versions."""
    machine = _machine.machine(*PEERS)
    if commit is not None:
        machine["commit"] = commit
    return {"benchmark": measured.kind, "machine": machine, **measured.to_dict()}


def save(path: str | os.PathLike, measured, *, commit: str | None = None) -> None:
    """Write a `Comparison`, a `Scaling`, a `Graph500` or an `Overhead` to a file.

    Parameters
    ----------
    path : path
    measured
    commit : str, optional
        What to call the commit; default: what git says, if spgraph runs from a repository.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from spgraph import bench
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> save(path, bench.overhead(vertices=5, repeat=1, imports=0))
    >>> "machine" in path.read_text()
    True
    """
    text = as_json(document(measured, commit), indent=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")
