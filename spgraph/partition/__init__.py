"""Who owns a vertex, and under which local number it is stored.

A partition maps global ids (what callers see) to local numbers (where a value
lies). On one device it decides the *order* only: ``natural`` (the identity) or
``degree`` (falling degree, so that the hubs of a power-law graph share cache
lines). Objects carry their partition; the engine aligns operands whose
partitions differ by rewriting one of them in place (``rehome``), which changes
nothing that a caller can see.

On several devices, `assign` first says which part owns each vertex: by name (`names`), by a
function of the user's or as an array. `report` says what that costs, `plot` draws it, and
`lay_out` makes of it the order in which all vertices lie, part by part.

Partitions are compared by identity. The arrays of one lie on one device; `Partition.on`
gives the same one elsewhere, always the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from spgraph.kernels.device import HOST, Device
from spgraph.partition._choice import assign, names
from spgraph.partition._minimised import border, metis
from spgraph.partition._order import lay_out
from spgraph.partition._owners import biased_random, contiguous, random
from spgraph.partition._plot import plot
from spgraph.partition._report import Report, report

__all__ = [
    "NATURAL",
    "Partition",
    "Report",
    "assign",
    "biased_random",
    "border",
    "by_degree",
    "contiguous",
    "lay_out",
    "metis",
    "names",
    "plot",
    "random",
    "report",
]


class Partition:
    """A bijection between global ids and local numbers.

    Parameters
    ----------
    to_global : array of int, shape (n,), optional
        Global id of each local number. None stands for the identity on any n.
    name : str
        What ``Matrix.order`` shows.
    device : Device
        Where the arrays lie. The identity has none and fits every device.
    runs : sequence of int
        Where local numbers begin that lie in the named order among themselves; the first one is 0.

    Attributes
    ----------
    natural : bool
        True for the identity; then both arrays are None.
    to_global, to_local : array or None
        The map and its inverse, both of shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> p = Partition(np.array([2, 0, 1]), "example")
    >>> p.to_local
    array([1, 2, 0])
    """

    __slots__ = ("__weakref__", "_copies", "device", "name", "natural", "runs", "to_global", "to_local")

    def __init__(self, to_global: Any = None, name: str = "natural", *, device: Device = HOST,
                 runs: Sequence[int] = (0,)):
        self.name = name
        self.runs = runs
        self.natural = to_global is None
        self.device = device
        self.to_global = to_global
        self.to_local: Any = None
        self._copies: Any = None
        if to_global is not None:
            self.to_local = device.xp.empty_like(to_global)
            self.to_local[to_global] = device.xp.arange(to_global.size, dtype=to_global.dtype)

    def __repr__(self):
        return f"Partition({self.name})"

    def __reduce__(self):
        if self.natural:
            return _natural, ()
        return _again, (self.device.to_host(self.to_global), self.name, self.runs)

    def on(self, device: Device) -> Partition:
        """The same partition with its arrays on `device`: one object as long as somebody holds it."""
        if self.natural or self.device is device:
            return self
        if self._copies is None:
            self._copies = WeakValueDictionary({self.device: self})
        copy = self._copies.get(device)
        if copy is None:
            ids = device.to_device(self.device.to_host(self.to_global))
            copy = self._copies[device] = Partition(ids, self.name, device=device, runs=self.runs)
            copy._copies = self._copies
        return copy

    def local_of(self, i: int) -> int:
        """Local number of one global id."""
        return i if self.natural else int(self.to_local[i])

    def locals_of(self, ids: Any) -> Any:
        """Local numbers of global ids (a view or `ids` itself when natural)."""
        return ids if self.natural else self.to_local[ids]

    def globals_of(self, numbers: Any) -> Any:
        """Global ids of local numbers."""
        return numbers if self.natural else self.to_global[numbers]


NATURAL = Partition()


def _natural() -> Partition:
    return NATURAL


def _again(to_global: Any, name: str, runs: Sequence[int]) -> Partition:
    return Partition(to_global, name, runs=runs)


def by_degree(degree: Any, index_dtype: np.dtype, device: Device = HOST) -> Partition:
    """The order of falling degree; ties stay in natural order.

    Parameters
    ----------
    degree : array of int, shape (n,), of `device`
    index_dtype : dtype
        Of the partition's arrays.
    device : Device

    Examples
    --------
    >>> import numpy as np
    >>> by_degree(np.array([1, 3, 2, 3]), np.int32).to_global
    array([1, 3, 2, 0], dtype=int32)
    """
    return Partition(device.xp.argsort(-degree, kind="stable").astype(index_dtype), "degree", device=device)
