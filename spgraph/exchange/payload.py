"""How the values of a list of vertices travel: dense if all are there, else a list or bits, whichever is smaller."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock

__all__ = ["decode", "encode"]


def encode(device: Any, piece: VectorBlock, local: Any, valued: bool) -> tuple:
    """(list, bits, values) for the entries of a bitmap or full block at some local numbers.

    The list has the places in `local` of those that are there, the bits say the same of all; both are None if all are
    there. Values are left out unless `valued`.
    """
    xp = device.xp
    values = None
    if valued:
        values = device.filled(local.size, piece.values[0], piece.dtype) if piece.iso else piece.values[local]
    if piece.format == "full":
        return None, None, values
    there = piece.present[local]
    if not device.on_host:  # a count would have to be waited for
        return None, xp.packbits(there), values
    places = np.flatnonzero(there)
    if values is not None and places.size < local.size:
        values = values[places]
    if 4 * places.size < -(-local.size // 8):
        return places.astype(np.int32), None, values
    return None, np.packbits(there), values


def decode(device: Any, message: tuple, count: int) -> tuple[Any, Any]:
    """(present or None if all are, values): one of each for the `count` vertices of a message."""
    xp = device.xp
    places, bits, values = message
    if places is None and bits is None:
        return None, (values if values is not None else xp.empty(count, np.uint8))
    if places is not None:
        there = xp.zeros(count, np.uint8)
        there[places] = 1
    else:
        there = xp.unpackbits(bits)[:count]
    if values is None:
        return there, xp.empty(count, np.uint8)
    if values.size < count:
        spread = xp.zeros(count, values.dtype)
        spread[xp.flatnonzero(there)] = values
        values = spread
    return there, values
