"""``spgraph info``: what is installed, on what machine, and what is in the caches."""

from __future__ import annotations

import argparse
import json
from typing import Any

from spgraph import _machine
from spgraph._cli.text import counted, lines, sized
from spgraph.kernels.cpu import _threads

__all__ = ["add_parser"]

CUDA_NAMES = {"driver": "driver", "cuda": "for CUDA", "cupy": "CuPy", "runtime": "with CUDA", "nvrtc": "NVRTC"}


def add_parser(commands) -> None:
    """Declare the command and its options."""
    text = "versions, devices, memory, the caches of kernels, optional packages"
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
        "devices": [
            {"device": "cpu", "name": _machine.cpu_model(), "threads": _threads.threads()},
            *_machine.gpus(),
        ],
        "gpu_problem": _machine.gpu_problem(),
        "cuda": _machine.cuda(),
        "memory": _machine.memory(),
        "caches": _machine.caches(),
        "optional": _machine.optional_packages(),
    }


def describe(found: dict[str, Any]) -> str:
    """The same for people."""
    commit = f" (commit {found['commit']})" if found["commit"] else ""
    cpu, *gpus = found["devices"]
    memory = found["memory"]
    blocks = [
        lines("spgraph", f"{found['spgraph']}{commit}"),
        lines("with", ", ".join(f"{name} {version}" for name, version in found["versions"].items())),
        lines("devices", f"{cpu['device']}: {cpu['name']}, {counted(cpu['threads'], 'thread')}", *map(_gpu, gpus)),
    ]
    if not gpus:
        blocks.append(lines("", f"no GPU is used: {found['gpu_problem']}"))
    if found["cuda"]:
        blocks.append(lines("cuda", ", ".join(f"{CUDA_NAMES[what]} {text}" for what, text in found["cuda"].items())))
    blocks.append(
        lines("memory", f"{sized(memory['available'])} free of {sized(memory['total'])}" if memory else "unknown")
    )
    blocks.append(lines("caches", *map(_cache, found["caches"])))
    blocks.append(lines("optional", *map(_package, found["optional"])))
    return "\n".join(blocks)


def _gpu(gpu: dict[str, Any]) -> str:
    memory = gpu["memory"]
    free = f"{sized(memory['free'])} free of " if memory.get("free") is not None else ""
    text = f"{gpu['device']}: {gpu['name']}, compute capability {gpu['capability']}, {free}{sized(memory['total'])}"
    return text if gpu["problem"] is None else f"{text}; cannot be used: {gpu['problem']}"


def _cache(cache: dict[str, Any]) -> str:
    return f"{cache['name']}: {counted(cache['kernels'], 'kernel')}, {sized(cache['bytes'])} in {cache['folder']}"


def _package(package: dict[str, Any]) -> str:
    return f"{package['package']:<18}{package['version'] or 'absent: ' + package['install']}"
