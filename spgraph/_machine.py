"""What machine and which versions a run had: for ``spgraph info`` and for saved benchmarks."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
from datetime import datetime
from pathlib import Path

__all__ = ["commit", "cpu_model", "machine", "memory", "optional_packages", "version_of", "versions"]

# package on the index, module, extra of ours that brings it
OPTIONAL = (
    ("python-graphblas", "graphblas", "test"),
    ("networkx", "networkx", "notebooks"),
    ("matplotlib", "matplotlib", "notebooks"),
    ("jupyterlab", "jupyterlab", "notebooks"),
    ("cupy", "cupy", "cuda13"),
)
BROUGHT_BY = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy")}  # names under which a module is installed


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
        rows.append({"package": package, "version": version, "install": f'pip install "spgraph[{extra}]"'})
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
        "system": platform.platform(),
        "versions": versions(*packages),
    }
