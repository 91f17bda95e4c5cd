"""Index selections of extract and assign, already checked: global ids within range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Index"]


class Index(NamedTuple):
    """Which positions: all, a range, or a list of global ids.

    Examples
    --------
    >>> Index.of_range(1, 8, 3).to_array()
    array([1, 4, 7])
    """

    kind: str  # "all", "range" or "list"
    array: Any  # ndarray of int64 for a list, else None
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
    def of_list(cls, array: np.ndarray) -> Index:
        """Listed positions, in this order; repeats are allowed where the operation allows them."""
        array = np.asarray(array, np.int64)
        return cls("list", array, 0, 0, 1, array.size)

    def to_array(self) -> np.ndarray:
        """The positions as int64."""
        return self.array if self.array is not None else np.arange(self.start, self.stop, self.step, dtype=np.int64)
