"""Labels that a file can hold: all integers, or all texts."""

from __future__ import annotations

import numpy as np

from semirings.exceptions import DimensionMismatch, InvalidValue

__all__ = ["checked_labels"]


def checked_labels(labels, shape, low: int = -(2**63)) -> np.ndarray | None:
    """Labels as an array of int64 or of texts (dtype object).

    Parameters
    ----------
    labels : sequence or None
    shape : tuple of (int, int)
        Of the matrix; there is a label for each vertex.
    low : int
        The smallest integer that the file may hold.

    Raises
    ------
    DimensionMismatch, InvalidValue
    """
    if labels is None:
        return None
    found = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if len(found) != max(shape) or getattr(labels, "ndim", 1) != 1:
        got = getattr(labels, "shape", (len(found),))
        raise DimensionMismatch(f"write: labels has shape {got}, the matrix is {shape[0]} x {shape[1]}")
    kinds = {type(label) for label in found}
    if all(_is_id(label, low) for label in found):
        names = np.array(found, np.int64)
    elif kinds == {str}:
        names = np.empty(len(found), object)
        names[:] = found
        if odd := next((label for label in found if "\0" in label or not _encodes(label)), None):
            raise InvalidValue(f"write: label {odd!r} is not a text that a file can hold")
    else:
        fits = [type(label) is type(found[0]) and (type(label) is str or _is_id(label, low)) for label in found]
        odd = found[fits.index(False)]
        least = "" if low < 0 else f" of {low} or more"
        raise InvalidValue(f"write: labels are all texts or all integers{least}, got {odd!r} among them")
    if len(set(found)) != len(found):
        raise InvalidValue(f"write: labels name {len(set(found))} different vertices, there are {len(found)}")
    return names


def _is_id(label, low: int) -> bool:
    return type(label) is int and low <= label < 2**63


def _encodes(label: str) -> bool:
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True
