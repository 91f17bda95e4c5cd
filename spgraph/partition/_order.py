"""From owners to positions: where each part begins, and which vertex lies where."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue

__all__ = ["lay_out"]


def lay_out(
    owner: Any, parts: int, *, order: str = "natural", degree: Any = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Number the vertices part by part.

    Parameters
    ----------
    owner : array of unsigned int, shape (n,)
        As `assign` gives it.
    parts : int
    order : {"natural", "degree"}
        Of the vertices within a part; by falling degree, equal ones in natural order.
    degree : array of int, shape (n,), optional
        For ``order="degree"``.

    Returns
    -------
    starts : array of int64, shape (parts + 1,)
        Part p owns the positions starts[p]..starts[p + 1].
    order : array of int64, shape (n,), or None
        The vertex at each position, as `layout.Layout` takes it; None where these are the same.

    Raises
    ------
    InvalidValue
        If `order` is neither, or degrees are needed and not given.

    Examples
    --------
    >>> import numpy as np
    >>> lay_out(np.array([1, 0, 1, 0]), 2)
    (array([0, 2, 4]), array([1, 3, 0, 2]))
    >>> lay_out(np.array([1, 0, 1, 0]), 2, order="degree", degree=np.array([1, 1, 2, 3]))[1]
    array([3, 1, 2, 0])
    >>> lay_out(np.array([0, 0, 1, 1]), 2)
    (array([0, 2, 4]), None)
    """
    if order not in ("natural", "degree"):
        raise InvalidValue(f"lay_out: order is {order!r}, wanted 'natural' or 'degree'")
    starts = np.zeros(parts + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=parts), out=starts[1:])
    if order == "natural":
        return starts, None if (owner[1:] >= owner[:-1]).all() else np.argsort(owner, kind="stable")
    if degree is None:
        raise InvalidValue("lay_out: order is 'degree', but no degree is given")
    falling = np.argsort(-np.asarray(degree, np.int64), kind="stable")
    return starts, falling[np.argsort(owner[falling], kind="stable")]
