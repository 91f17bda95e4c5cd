"""Who owns a vertex, and under which local number it is stored.

A partition maps global ids (what callers see) to local numbers (where a value
lies). On one device it decides the *order* only: ``natural`` (the identity) or
``degree`` (falling degree, so that the hubs of a power-law graph share cache
lines). Objects carry their partition; the engine aligns operands whose
partitions differ by rewriting one of them in place (``rehome``), which changes
nothing that a caller can see.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["NATURAL", "Partition", "by_degree"]


class Partition:
    """A bijection between global ids and local numbers.

    Parameters
    ----------
    to_global : ndarray of int, shape (n,), optional
        Global id of each local number. None stands for the identity on any n.
    name : str
        What ``Matrix.order`` shows.

    Attributes
    ----------
    natural : bool
        True for the identity; then both arrays are None.
    to_global, to_local : ndarray or None
        The map and its inverse, both of shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> p = Partition(np.array([2, 0, 1]), "example")
    >>> p.to_local
    array([1, 2, 0])
    """

    __slots__ = ("name", "natural", "to_global", "to_local")

    def __init__(self, to_global: np.ndarray | None = None, name: str = "natural"):
        self.name = name
        self.natural = to_global is None
        self.to_global: Any = to_global
        self.to_local: Any = None
        if to_global is not None:
            self.to_local = np.empty_like(to_global)
            self.to_local[to_global] = np.arange(to_global.size, dtype=to_global.dtype)

    def __repr__(self):
        return f"Partition({self.name})"

    def __reduce__(self):
        return (_natural, ()) if self.natural else (Partition, (self.to_global, self.name))

    def locals_of(self, ids: np.ndarray) -> np.ndarray:
        """Local numbers of global ids (a view or `ids` itself when natural)."""
        return ids if self.to_local is None else self.to_local[ids]

    def globals_of(self, numbers: np.ndarray) -> np.ndarray:
        """Global ids of local numbers."""
        return numbers if self.to_global is None else self.to_global[numbers]


NATURAL = Partition()


def _natural() -> Partition:
    return NATURAL


def by_degree(degree: np.ndarray, index_dtype: np.dtype) -> Partition:
    """The order of falling degree; ties stay in natural order.

    Examples
    --------
    >>> import numpy as np
    >>> by_degree(np.array([1, 3, 2, 3]), np.int32).to_global
    array([1, 3, 2, 0], dtype=int32)
    """
    return Partition(np.argsort(-degree, kind="stable").astype(index_dtype), "degree")
