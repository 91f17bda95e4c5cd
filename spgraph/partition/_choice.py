"""A partition by name, by function or as an array: one call, and its checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch, DomainMismatch, IndexOutOfBound, InvalidValue
from spgraph.partition._minimised import border, metis
from spgraph.partition._owners import biased_random, contiguous, owner_type, random
from spgraph.partition._pattern import check_parts, check_rows

__all__ = ["assign", "looks_at_edges", "names"]

_NAMED: dict[str, Callable[..., np.ndarray]] = {
    "contiguous": contiguous,
    "contiguous_edges": functools.partial(contiguous, balance="edges"),
    "random": random,
    "random_edges": functools.partial(random, balance="edges"),
    "biased_random": biased_random,
    "metis": metis,
    "border": border,
}
_BY_DEGREE = ("contiguous", "contiguous_edges", "random", "random_edges")


def names() -> tuple[str, ...]:
    """The partitions that have a name.

    Examples
    --------
    >>> names()
    ('contiguous', 'contiguous_edges', 'random', 'random_edges', 'biased_random', 'metis', 'border')
    """
    return tuple(_NAMED)


def looks_at_edges(partition: Any) -> bool:
    """Whether a partition, as `assign` takes it, needs to know the edges, not only how many each vertex has.

    Examples
    --------
    >>> looks_at_edges("random_edges"), looks_at_edges("metis"), looks_at_edges([0, 1, 1])
    (False, True, False)
    """
    return callable(partition) or (isinstance(partition, str) and partition not in _BY_DEGREE)


def assign(partition: Any, indptr: Any, indices: Any, parts: int, *, seed: int = 0) -> np.ndarray:
    """Say which part owns each vertex.

    Parameters
    ----------
    partition : str, callable or array of int, shape (n,)
        One of `names`; or a function that is called as ``partition(indptr, indices, parts, seed=seed)`` and gives an
        array; or that array.
    indptr, indices : array of int
        Pattern of a square matrix, as CSR arrays of NumPy; a part owns a vertex with its row.
    parts : int
    seed : int
        Of whatever is left to chance.

    Returns
    -------
    array of unsigned int, shape (n,)
        Numbers of 0..parts - 1, of the smallest type that has room; a part may be empty.

    Raises
    ------
    InvalidValue
        If there is no such name, `parts` is not positive, or `indptr` are no offsets.
    DimensionMismatch, DomainMismatch, IndexOutOfBound
        If an array, a function's too, has not n entries, is not of integers, or names a part that there is not; or if
        the pattern is not that of a square matrix.
    ImportError
        If the partition needs a package that is not installed.

    Examples
    --------
    >>> import functools
    >>> import numpy as np
    >>> import spgraph as sg
    >>> from spgraph import partition
    >>> indptr, indices, _ = sg.generators.path(6).to_csr()
    >>> partition.assign("contiguous", indptr, indices, 3)
    array([0, 0, 1, 1, 2, 2], dtype=uint8)
    >>> partition.assign([0, 1, 0, 1, 0, 1], indptr, indices, 2)
    array([0, 1, 0, 1, 0, 1], dtype=uint8)
    >>> every_third = lambda indptr, indices, parts, seed: np.arange(indptr.size - 1) // 3 % parts
    >>> partition.assign(every_third, indptr, indices, 2)
    array([0, 0, 0, 1, 1, 1], dtype=uint8)
    >>> eager = functools.partial(partition.biased_random, bias=0.9)        # any of the functions, with options
    >>> np.bincount(partition.assign(eager, indptr, indices, 2))
    array([3, 3])
    """
    parts, indptr = check_parts(parts), check_rows(indptr)
    n = indptr.size - 1
    if isinstance(partition, str):
        if partition not in _NAMED:
            raise InvalidValue(
                f"partition: got {partition!r}, wanted one of {', '.join(_NAMED)}, a function or an array of owners"
            )
        return _NAMED[partition](indptr, indices, parts, seed=seed)
    if callable(partition):
        what = f"partition: the array of {getattr(partition, '__name__', repr(partition))}"
        return _checked(partition(indptr, indices, parts, seed=seed), n, parts, what)
    return _checked(partition, n, parts, "partition: the array")


def _checked(owner: Any, n: int, parts: int, what: str) -> np.ndarray:
    owner = np.asarray(owner)
    if owner.shape != (n,):
        raise DimensionMismatch(f"{what} has shape {owner.shape}, wanted ({n},): one part per vertex")
    if n == 0:
        return np.empty(0, owner_type(parts))
    if owner.dtype.kind not in "iu":
        raise DomainMismatch(f"{what} has dtype {owner.dtype}, wanted integers of 0..{parts - 1}")
    low, high = int(owner.argmin()), int(owner.argmax())
    for v in (low, high):
        if not 0 <= owner[v] < parts:
            raise IndexOutOfBound(f"{what} has {owner[v]} for vertex {v}, wanted numbers of 0..{parts - 1}")
    return owner.astype(owner_type(parts))
