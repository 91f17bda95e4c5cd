"""Where the vertices of a graph lie that is spread over several parts, one per device.

Data encoding: *positions* 0..n number the vertices part by part; part p owns the positions ``starts[p]:starts[p + 1]``,
and its local number is the position less ``starts[p]``. ``order`` is the global id at each position, None where
positions are global ids. A `Layout` is to several devices what a `Partition` is to one: it is compared by identity, and
operands with different ones are aligned by the engine.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from spgraph.kernels.device import Device
from spgraph.partition import NATURAL, Partition

__all__ = ["Layout", "Piece", "even"]

NONE = np.empty(0, np.int64)


class Layout:
    """Which part owns each of n vertices, and in which order they lie there.

    Parameters
    ----------
    group : Device
        The devices, ``group.devices[p]`` for part p (None for a part of another process), and ``group.mine``, the
        parts of this process.
    starts : array of int64, shape (parts + 1,)
        First position of each part, and n.
    order : array of int64, shape (n,), optional
        Global id at each position.
    name : str
        As it is shown: of the order, else of the partition.
    partition : str, optional
        Name of the partition, if `name` is that of an order.

    Attributes
    ----------
    listed_by : str or None
        Name of the order, if it is not that of ids or of the partition.
    pieces : list of Partition
        For each part of this process, the global ids of its local numbers.
    """

    natural = False

    def __init__(self, group: Any, starts: Any, order: Any = None, name: str = "contiguous",
                 partition: str | None = None):
        self.group = group
        self.starts = np.asarray(starts, np.int64)
        self.order = order
        self.name = name
        self.partition = name if partition is None else partition
        self.listed_by = None if partition is None else name
        self.size = int(self.starts[-1])
        self._ends = self.starts[1:].tolist()
        self.places = None
        if order is not None:
            self.places = np.empty(self.size, np.int64)
            self.places[order] = np.arange(self.size)
        self.pieces = [Piece(self, part, group.devices[part]) for part in group.mine]
        self._wholes: dict = {}
        self.kept: dict = {}  # by the exchange of whole vectors

    def __repr__(self) -> str:
        return f"Layout({self.name}, {self.size} in {self.starts.size - 1} parts)"

    def count(self, part: int) -> int:
        """How many vertices a part owns."""
        return int(self.starts[part + 1] - self.starts[part])

    def positions(self, ids: Any) -> Any:
        """Positions of global ids (arrays of the host)."""
        return ids if self.places is None else self.places[ids]

    def ids(self, positions: Any) -> Any:
        """Global ids of positions (arrays of the host)."""
        return positions if self.order is None else self.order[positions]

    def owners(self, positions: Any) -> Any:
        """The parts that own positions."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def split(self, ids: Any) -> list[tuple[Any, Any]]:
        """For each part of this process: which of `ids` it owns (in order), and their local numbers."""
        positions = self.positions(np.asarray(ids))
        if positions.size == 1:  # the source of a search
            place = int(positions[0])
            owner = bisect_right(self._ends, place)
            there = np.zeros(1, np.int64), positions - self._ends[owner - 1] if owner else positions
            return [there if part == owner else (NONE, NONE) for part in self.group.mine]
        found = []
        for part in self.group.mine:
            first, last = self.starts[part], self.starts[part + 1]
            own = np.flatnonzero((positions >= first) & (positions < last))
            found.append((own, positions[own] - first))
        return found

    def whole(self, device: Device) -> Partition:
        """All positions as the order of one device."""
        if self.order is None:
            return NATURAL
        found = self._wholes.get(device)
        if found is None:
            with device:
                found = self._wholes[device] = self._ordered(device.to_device(self.order), device)
        return found

    def listed(self, device: Device) -> Partition:
        """The same with ids at hand, also where they are the positions: kernels take those of all operands or none."""
        if self.order is not None:
            return self.whole(device)
        found = self._wholes.get(device)
        if found is None:
            with device:
                ids = device.xp.arange(self.size, dtype=np.int64)
                found = self._wholes[device] = self._ordered(ids, device)
        return found

    def _ordered(self, ids: Any, device: Device) -> Partition:
        return Partition(ids, self.name, device=device, runs=sorted({0, *self.starts[:-1].tolist()} - {self.size}))


class Piece(Partition):
    """The vertices that one part owns: global ids of local numbers 0..count, some of the n that there are.

    Where positions are global ids, both maps are a subtraction, and their arrays are made for kernels that ask for
    them: a vector may have more positions than memory has bytes.
    """

    __slots__ = ("_first", "_ids", "_last", "_layout", "_places")

    def __init__(self, layout: Layout, part: int, device: Device):
        self._first, self._last = layout.starts[part : part + 2].tolist()
        self.name = layout.name
        self.runs = (0,)
        self.device = device
        self.natural = False
        self._ids: Any = None
        if layout.order is not None:
            with device:
                self._ids = device.to_device(layout.order[self._first : self._last])
        self._copies = None
        self._layout = layout
        self._places: Any = None

    def __reduce__(self) -> Any:
        raise TypeError("a piece of a layout cannot be pickled: pickle the Vector or Matrix")

    @property
    def to_global(self) -> Any:  # type: ignore[override]
        """Global id of each local number."""
        if self._ids is None:
            with self.device:
                self._ids = self.device.xp.arange(self._first, self._last, dtype=np.int64)
        return self._ids

    @property
    def to_local(self) -> Any:  # type: ignore[override]
        """Local number of each of the n global ids; without meaning for those that other parts own."""
        if self._places is None:
            layout = self._layout
            places = np.arange(layout.size) if layout.places is None else layout.places
            with self.device:
                self._places = self.device.to_device(places - self._first)
        return self._places

    def local_of(self, i: int) -> int:
        return int(i) - self._first if self._layout.order is None else super().local_of(i)

    def locals_of(self, ids: Any) -> Any:
        return _moved(ids, -self._first) if self._layout.order is None else super().locals_of(ids)

    def globals_of(self, numbers: Any) -> Any:
        return _moved(numbers, self._first) if self._layout.order is None else super().globals_of(numbers)


def _moved(numbers: Any, by: int) -> Any:
    return numbers.astype(np.int64, copy=False) + by


def even(size: int, parts: int) -> np.ndarray:
    """Starts of parts with equal numbers of vertices, as far as that goes.

    Examples
    --------
    >>> even(10, 4)
    array([ 0,  2,  5,  7, 10])
    """
    return np.arange(parts + 1) * size // parts
