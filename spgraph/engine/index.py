"""Index selections of extract and assign, already checked: global ids within range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spgraph.kernels.device import HOST, Device

__all__ = ["Index"]


class Index(NamedTuple):
    """Which positions: all, a range, or a list of global ids.

    Examples
    --------
    >>> Index.of_range(1, 8, 3).to_array()
    array([1, 4, 7])
    """

    kind: str  # "all", "range" or "list"
    array: Any  # of int64 for a list, else None
    start: int
    stop: int
    step: int
    size: int

    @classmethod
    def of_all(cls, size: int) -> Index:
        """Every position of a dimension."""
        return cls("all", None, 0, size, 1, size)

    @classmethod
    def of_range(cls, start: int, stop: int, step: int) -> Index:
        """The positions of ``range(start, stop, step)``."""
        return cls("range", None, start, stop, step, len(range(start, stop, step)))

    @classmethod
    def of_list(cls, array: Any) -> Index:
        """Listed positions, in order (array_like, or a device's array); the operation says whether they may repeat."""
        array = array.astype(np.int64, copy=False) if hasattr(array, "astype") else np.asarray(array, np.int64)
        return cls("list", array, 0, 0, 1, array.size)

    def to_array(self, device: Device = HOST) -> Any:
        """The positions as int64, on `device`."""
        if self.array is not None:
            return device.to_device(self.array)
        return device.xp.arange(self.start, self.stop, self.step, dtype=np.int64)

    def last_places(self, size: int, device: Device) -> Any:
        """For every position of 0..size the last place at which this selection names it, or -1.

        Examples
        --------
        >>> Index.of_list([2, 0, 2]).last_places(4, HOST)
        array([ 1, -1,  2, -1])
        """
        xp, ids = device.xp, self.to_array(device)
        last = last_named(ids, device) if self.kind == "list" else None
        found = xp.full(size, -1, np.int64)
        found[ids if last is None else ids[last]] = xp.arange(ids.size) if last is None else last
        return found


def last_named(ids: Any, device: Device) -> Any:
    """Which of `ids` are the last to name their position; None where writing through `ids` keeps to that by itself.

    Of writes to one position the last one counts in NumPy, any of them on a GPU.
    """
    if device.on_host:
        return None
    xp = device.xp
    places = xp.argsort(ids, kind="stable")
    ids = ids[places]
    last = xp.ones(ids.size, np.bool_)
    last[:-1] = ids[1:] != ids[:-1]
    return places[last]
