"""What machine and which versions a run had: for ``spgraph info`` and for saved benchmarks."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

from semirings.exceptions import NoDevice
from spgraph.kernels.cuda import driver
from spgraph.kernels.cuda.memory import memory as gpu_memory

__all__ = [
    "caches", "commit", "cpu_model", "cuda", "gpu_problem", "gpus", "machine", "memory", "optional_packages",
    "version_of", "versions",
]  # fmt: skip

# package on the index, module, extra of ours that brings it
OPTIONAL = (
    ("python-graphblas", "graphblas", "test"),
    ("networkx", "networkx", "notebooks"),
    ("matplotlib", "matplotlib", "notebooks"),
    ("jupyterlab", "jupyterlab", "notebooks"),
    ("cupy", "cupy", "cuda13"),
)
BROUGHT_BY = {"cupy": driver.CUPY_PACKAGES}  # names under which a module is installed


def version_of(package: str) -> str | None:
    """Version of an installed package, without importing it."""
    for name in BROUGHT_BY.get(package, (package,)):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, spgraph, what it needs, and `packages`, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in ("spgraph", "numpy", "scipy", "numba", "llvmlite", *packages):
        version = version_of(package)
        if version:
            found[package] = version
    return found


def optional_packages() -> list[dict[str, str | None]]:
    """What is not needed but used where present: package, version (None: absent), how to install it."""
    rows: list[dict[str, str | None]] = []
    for package, module, extra in OPTIONAL:
        version = version_of(package) if importlib.util.find_spec(module) else None
        install = f'pip install ".[{extra}]" in a copy of the repository'
        rows.append({"package": package, "version": version, "install": install})
    return rows


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.lower().startswith("model name"):
            return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()


def memory() -> dict[str, int]:
    """Bytes of memory: total and available; empty where the system does not tell."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return {
            "total": page * os.sysconf("SC_PHYS_PAGES"),
            "available": page * os.sysconf("SC_AVPHYS_PAGES"),
        }
    except (AttributeError, ValueError, OSError):
        return {}


# ---- GPUs ------------------------------------------------------------------------------
def gpus(machine: driver.Machine = driver.HERE) -> list[dict[str, Any]]:
    """The cards that the driver lists; none without a driver.

    Returns
    -------
    list of dict
        ``device`` ("cuda:0"), ``name``, ``capability`` ("9.0"), ``memory`` (bytes: total, and free where CuPy can
        tell), ``problem`` (why it cannot be used; None if it can).
    """
    try:
        cards = driver.open_driver(machine).cards
    except NoDevice:
        return []
    found = []
    for card in cards:
        problem = _problem(card.number, machine)
        memory: dict[str, int | None] = {"total": card.memory}
        if problem is None:
            memory["free"] = gpu_memory(machine.module("cupy"), card.number).free
        capability = "{}.{}".format(*card.capability)
        found.append({"device": f"cuda:{card.number}", "name": card.name, "capability": capability, "memory": memory,
                      "problem": problem})  # fmt: skip
    return found


def gpu_problem(machine: driver.Machine = driver.HERE) -> str | None:
    """Why programs that name no device compute on the CPU, in one sentence; None if they have a GPU."""
    problems = [gpu["problem"] for gpu in gpus(machine)] or [_problem(0, machine)]
    return None if None in problems else problems[0]


def _problem(number: int, machine: driver.Machine) -> str | None:
    try:
        driver.check(number, machine)
    except NoDevice as error:
        return str(error)
    return None


def cuda(machine: driver.Machine = driver.HERE) -> dict[str, str]:
    """Versions of what a GPU takes, as far as they can be told: driver, its CUDA, CuPy, its CUDA, NVRTC."""
    found: dict[str, str] = {}
    with contextlib.suppress(Exception):  # `gpu_problem` says what is wrong
        cuda = driver.open_driver(machine).version
        found |= {"driver": _driver_version() or "unknown", "cuda": "{}.{}".format(*cuda)}
        if machine.has_module("cupy"):
            cupy = machine.module("cupy")
            found["cupy"] = cupy.__version__
            runtime = cupy.cuda.runtime.runtimeGetVersion()
            found["runtime"] = f"{runtime // 1000}.{runtime % 1000 // 10}"
            found["nvrtc"] = "{}.{}".format(*cupy.cuda.nvrtc.getVersion())
    return found


def _driver_version() -> str | None:
    """The driver's own version, such as 580.65.06."""
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        return None
    return next((word for word in words if "." in word and word.replace(".", "").isdecimal()), None)


def caches() -> list[dict[str, Any]]:
    """Folders in which compiled kernels are kept: name, folder, number of kernels, bytes."""
    from spgraph.kernels.cpu import _specialise

    cupy = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    return [
        _cache("spgraph", _specialise.cache_dir(), ".py", ".cubin"),
        *([_cache("cupy", cupy, ".cubin")] if cupy.is_dir() else []),
    ]


def _cache(name: str, folder: Path, *suffixes: str) -> dict[str, Any]:
    kernels = size = 0
    for parent, _, files in os.walk(folder):  # other processes may take files away meanwhile
        for file in files:
            kernels += file.endswith(suffixes)
            with contextlib.suppress(OSError):
                size += os.path.getsize(os.path.join(parent, file))
    return {"name": name, "folder": str(folder), "kernels": kernels, "bytes": size}


def commit() -> str | None:
    """The git commit that spgraph runs from, with a + if files differ from it; None outside a repository."""
    folder = Path(__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        head = _git(folder, "rev-parse", "--short=12", "HEAD")
        return head + "+" * bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, timeout=10
    ).stdout.strip()


def machine(*packages: str) -> dict:
    """Everything that a saved measurement should say about where it was made."""
    from spgraph.kernels.cpu import _threads

    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "threads": _threads.threads(),
        "memory": memory().get("total"),
        "gpus": gpus(),
        "cuda": cuda(),
        "system": platform.platform(),
        "versions": versions(*packages),
    }
