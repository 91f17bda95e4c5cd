"""``spgraph info``: what is installed, on what machine, and what is in the cache."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spgraph import _machine
from spgraph._cli.text import counted, lines, sized
from spgraph.kernels.cpu import _specialise, _threads

__all__ = ["add_parser"]


def add_parser(commands) -> None:
    """Declare the command and its options."""
    text = "versions, devices, memory, the cache of kernels, optional packages"
    parser = commands.add_parser("info", help=text, description=f"Show {text}.")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    parser.set_defaults(command=info)


def info(args: argparse.Namespace) -> int:
    """Print what there is; returns the exit code."""
    found = gather()
    print(json.dumps(found, indent=2) if args.json else describe(found))
    return 0


def gather() -> dict[str, Any]:
    """Everything that the command shows."""
    versions = _machine.versions()
    return {
        "spgraph": versions.pop("spgraph", None),
        "commit": _machine.commit(),
        "versions": versions,
        "devices": [{"device": "cpu", "name": _machine.cpu_model(), "threads": _threads.threads()}],
        "memory": _machine.memory(),
        "cache": _cache(),
        "optional": _machine.optional_packages(),
    }


def _cache() -> dict[str, Any]:
    folder = _specialise.cache_dir()
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {
        "folder": str(folder),
        "kernels": sum(1 for file in files if file.suffix == ".py"),
        "bytes": sum(file.stat().st_size for file in files),
    }


def describe(found: dict[str, Any]) -> str:
    """The same for people."""
    commit = f" (commit {found['commit']})" if found["commit"] else ""
    cache, memory = found["cache"], found["memory"]
    devices = [
        f"{device['device']}: {device['name']}, {counted(device['threads'], 'thread')}"
        for device in found["devices"]
    ]
    optional = [
        f"{row['package']:<18}{row['version'] or 'absent: ' + row['install']}" for row in found["optional"]
    ]
    return "\n".join(
        [
            lines("spgraph", f"{found['spgraph']}{commit}"),
            lines("with", ", ".join(f"{name} {version}" for name, version in found["versions"].items())),
            lines("devices", *devices, "(no GPU is used: this version computes on the CPU)"),
            lines(
                "memory",
                f"{sized(memory['available'])} free of {sized(memory['total'])}" if memory else "unknown",
            ),
            lines(
                "cache",
                f"{counted(cache['kernels'], 'kernel')}, {sized(cache['bytes'])} in {cache['folder']}",
            ),
            lines("optional", *optional),
        ]
    )
