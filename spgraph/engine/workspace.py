"""Scratch memory of the CPU that outlives a call: sparse accumulators and output lists.

A stamp array makes clearing unnecessary: a position counts as set only if it
carries the current epoch. Epochs are bytes (an array of words costs four times
the cache lines and pages, which is what scattering on a road network pays for),
so every 255th call clears. One workspace per size and thread; the sizes used
last are kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from spgraph.block.width import index_dtype

__all__ = ["Workspace", "forget_workspaces", "workspace"]

KEPT = 4
ONE, LAST = np.uint8(1), np.uint8(255)


class Workspace:
    """Scratch arrays for vectors of one size; pages that are never touched cost nothing."""

    __slots__ = ("_arrays", "epoch", "indices", "size", "stamp")

    def __init__(self, size: int):
        self.size = size
        self.stamp = np.zeros(size, np.uint8)
        self.epoch = np.uint8(0)
        self.indices = np.empty(size, index_dtype(size))
        self._arrays: dict = {}

    def next_epoch(self) -> np.uint8:
        """A number that no position of `stamp` carries."""
        if self.epoch == LAST:
            self.stamp.fill(0)
            self.epoch = np.uint8(0)
        self.epoch += ONE
        return self.epoch

    def array(self, role: str, dtype) -> np.ndarray:
        """An uninitialised array of `size` elements, the same for each (role, dtype)."""
        found = self._arrays.get((role, dtype))
        if found is None:
            found = self._arrays[role, dtype] = np.empty(self.size, dtype)
        return found


_local = threading.local()


def workspace(size: int) -> Workspace:
    """This thread's workspace for vectors of `size` elements."""
    kept = getattr(_local, "kept", None)
    if kept is None:
        kept = _local.kept = OrderedDict()
    found = kept.get(size)
    if found is None:
        found = kept[size] = Workspace(size)
        if len(kept) > KEPT:
            kept.popitem(last=False)
    return found


def forget_workspaces() -> None:
    """Give this thread's scratch memory back."""
    getattr(_local, "kept", {}).clear()
