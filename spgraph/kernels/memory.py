"""How much memory a device has."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

__all__ = ["Memory", "host_memory", "parse_limit"]


class Memory(NamedTuple):
    """Bytes of a device; None where it does not tell.

    Attributes
    ----------
    total : int or None
        What the device has.
    free : int or None
        What may still be asked for, within the limit.
    used : int or None
        By arrays of this process.
    limit : int or None
        What this process may use, if that was limited.
    """

    total: int | None
    free: int | None
    used: int | None
    limit: int | None


def host_memory() -> Memory:
    """Memory of this machine's host."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return Memory(page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES"), None, None)
    except (AttributeError, ValueError, OSError):
        return Memory(None, None, None, None)


def parse_limit(given: Any) -> int | float:
    """A limit as bytes (int) or as a share of the device's memory (float up to 1).

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> parse_limit(8 * 2**30), parse_limit("80%")
    (8589934592, 0.8)
    """
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    if isinstance(given, str):
        number, sign, rest = given.strip().partition("%")
        share = float(number) / 100
        if sign and not rest and 0 < share <= 1:
            return share
    raise ValueError(given)
