"""How the values of a list of vertices travel: dense if all are there, else a list or bits, whichever is smaller."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spgraph.block import VectorBlock

__all__ = ["Arrived", "decode", "encode", "form", "values_in"]

PLACE = np.dtype(np.int32)  # of a place in a message


class Arrived(NamedTuple):
    """What has come for some vertices, in one of two forms; `values` is None if they are not sent.

    Attributes
    ----------
    places : array or None
        Which of the vertices have an entry, ascending; `values` has one for each.
    there : array of uint8 or None
        If `places` is None: whether there is an entry, for each vertex (None: for all); `values` has one for each.
    values : array or None
    """

    places: Any
    there: Any
    values: Any


def encode(device: Any, piece: VectorBlock, local: Any, valued: bool) -> tuple:
    """The message (whole, places, bits, values) with a block's entries at some local numbers.

    Places are those in `local` of the entries, bits say the same of all; both are None if all are there.

    Parameters
    ----------
    device : Device
    piece : VectorBlock
        A list in ascending order, a bitmap or full.
    local : array or None
        Ascending local numbers; None for all, which makes a message that is `whole`.
    valued : bool
        Whether values are sent, too.
    """
    whole = np.bool_(local is None)
    count = piece.size if local is None else local.size
    if piece.format == "sparse":
        places, values = _listed(device, piece, local)
        return (whole, *_smallest(device, places, values if valued else None, count))
    chosen = slice(None) if local is None else local
    values = None
    if valued:
        values = device.filled(count, piece.values[0], piece.dtype) if piece.iso else piece.values[chosen]
    if piece.format == "full":
        return whole, None, None, values
    there = piece.present[chosen]
    if not device.on_host:  # a count would have to be waited for
        return whole, None, device.xp.packbits(there), values
    places = np.flatnonzero(there)
    return (whole, *_smallest(device, places, None if values is None else values[places], count, there))


def _listed(device: Any, piece: VectorBlock, local: Any) -> tuple[Any, Any]:
    """Places in `local` of a list's entries that are there, and their values."""
    values = device.filled(piece.nvals, piece.values[0], piece.dtype) if piece.iso else piece.values
    if local is None:
        return piece.indices, values
    places, kept = _found(device.xp, local, piece.indices)
    return places, values[kept]


def _found(xp: Any, local: Any, indices: Any) -> tuple[Any, Any]:
    """Places in `local` of those of `indices` that are in it, and which these are; both lists ascend."""
    if not local.size:
        return local, slice(0, 0)
    places = xp.minimum(xp.searchsorted(local, indices), local.size - 1)
    kept = xp.flatnonzero(local[places] == indices)
    return places[kept], kept


def _smallest(device: Any, places: Any, values: Any, count: int, there: Any = None) -> tuple:
    """(places, bits, values) in the form that has the fewest bytes."""
    if places.size == count:
        return None, None, values
    if PLACE.itemsize * places.size < -(-count // 8):
        return places.astype(PLACE), None, values
    if there is None:
        there = device.xp.zeros(count, np.uint8)
        there[places] = 1
    return None, device.xp.packbits(there), values


def decode(device: Any, message: tuple, size: int, wanted: Any, listed: bool) -> Arrived:
    """What a message says of the vertices that are wanted, as a list if `listed`, else as bits.

    Parameters
    ----------
    device : Device
    message : tuple
        See `encode`.
    size : int
        How many vertices the message is about.
    wanted : array or None
        Of a message that is whole: local numbers that are of interest here, ascending; None for all.
    listed : bool
    """
    xp = device.xp
    whole, places, bits, values = message
    pick = wanted if whole else None
    if places is not None:
        if pick is not None:
            places, kept = _found(xp, pick, places)
            values = None if values is None else values[kept]
            size = pick.size
        if listed:
            return Arrived(places, None, values)
        there = xp.zeros(size, np.uint8)
        there[places] = 1
        return Arrived(None, there, _spread(xp, values, places, size))
    there = None if bits is None else xp.unpackbits(bits)[:size]
    if values is not None and there is not None and values.size < size:
        values = _spread(xp, values, xp.flatnonzero(there), size)
    if pick is not None:
        there = None if there is None else there[pick]
        values = None if values is None else values[pick]
        size = pick.size
    if not listed:
        return Arrived(None, there, values)
    places = xp.arange(size) if there is None else xp.flatnonzero(there)
    return Arrived(places, None, values if values is None or there is None else values[places])


def _spread(xp: Any, values: Any, places: Any, size: int) -> Any:
    if values is None:
        return None
    spread = xp.zeros(size, values.dtype)
    spread[places] = values
    return spread


def form(message: tuple) -> str:
    """"list", "bits" or "dense"."""
    _, places, bits, _ = message
    return "list" if places is not None else "dense" if bits is None else "bits"


def values_in(device: Any, message: tuple, size: int) -> int:
    """How many entries a message about `size` vertices tells of."""
    _, places, bits, _ = message
    if places is not None:
        return int(places.size)
    return size if bits is None else int(device.xp.unpackbits(bits)[:size].sum())
