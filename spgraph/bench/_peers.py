"""Who spgraph is compared with: which engines there are, and which can be used here.

A peer is a module ``spgraph.bench._NAME`` with ``NAME``, ``version()`` (raises where the engine cannot be used)
and ``texts(problem)``; it may have ``LARGEST`` (stored edges that are tried at most), ``ON_GPU`` and
``synchronize()``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from spgraph.kernels.device import Device

__all__ = ["PEERS", "default_peers", "find_peers"]

# name: what must be installed, and how
PEERS = {
    "graphblas": ("python-graphblas", 'pip install ".[test]" in a copy of the repository'),
    "scipy": ("scipy", "pip install scipy"),
    "networkx": ("networkx", "pip install networkx"),
    "cugraph": ("cuGraph", "pip install pylibcugraph-cu13"),
}


def default_peers(device: Device) -> list[str]:
    """Those that compute on the same kind of device."""
    return ["graphblas", "scipy", "networkx"] if device.on_host else ["cugraph"]


def find_peers(names: list[str], notes: list[str]) -> list[ModuleType]:
    """The modules of those that can be used; `notes` say why others are left out."""
    found = []
    for name in names:
        package, install = PEERS[name]
        try:
            peer = importlib.import_module(f"spgraph.bench._{name}")
            peer.version()
        except ModuleNotFoundError:
            notes.append(f"{package} is not installed: left out ({install})")
        except Exception as error:  # whatever a library does that does not find its GPU
            notes.append(f"{package} cannot be used: left out ({type(error).__name__}: {error})")
        else:
            found.append(peer)
    return found
