"""Read a vector in parts at any positions: requests to the owners and their answers, or all of it on every device."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.exchange.route import by_owner, joined, tell
from spgraph.exchange.vector_parts import VectorParts
from spgraph.exchange.whole import devices_of, everywhere

__all__ = ["picked", "take", "wanted_whole"]

REQUEST = 8  # bytes of a position that is asked for
LONG = 1 << 31  # positions: a list over more is searched, and makes no bitmap
SMALL = 1 << 16  # bytes of a vector that take less time on their way than a list of requests takes to make


def wanted_whole(v: VectorParts, count: int) -> bool:
    """Whether reading v in so many places, in all parts together, moves fewer bytes if every device gets all of it."""
    item = v.dtype.itemsize
    devices = len(set(devices_of(v.device)))
    return v.size * item <= SMALL or count * (REQUEST + item) >= devices * v.size * item


@_record.exchange
def take(v: VectorParts, wanted: list) -> list[VectorBlock]:
    """Entries of v at positions.

    Whichever moves fewer bytes: each position that is wanted goes to its owner and a value comes back, or every part
    gets all of v.

    Parameters
    ----------
    v : VectorParts
    wanted : list of array
        For each part of this process, positions of v's layout, any number of times each; arrays of its device.

    Returns
    -------
    list of VectorBlock
        For each part one of the size of `wanted`, with an entry where v has one.
    """
    group = v.device
    count = sum(group.transport.gather([positions.size for positions in wanted]))
    found = _looked_up if wanted_whole(v, count) else _asked
    blocks = []
    for part, (present, values) in zip(group.mine, found(v, wanted)):
        with group.devices[part] as device:
            block = VectorBlock(values.size, v.dtype, device=device)
            if values.size:
                block.set_bitmap(present, values, int(device.xp.count_nonzero(present)))
            blocks.append(block)
    return blocks


@_record.exchange
def picked(v: VectorParts, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of v at few global ids, as arrays of the host on every process: whether they are there, and values."""
    group = v.device
    there, values = np.zeros(ids.size, np.bool_), np.zeros(ids.size, v.dtype)
    begun, found = [], []
    for (own, local), (device, piece) in zip(v.layout.split(ids), v.on_each()):
        answer: list = []
        if own.size and piece.format == "full":
            answer = [np.ones(own.size, np.uint8), piece.values if piece.iso else piece.values[device.to_device(local)]]
        elif own.size:
            answer = list(_answer(piece, device.to_device(local)))
        begun.append((device, own, [device.begin_copy(array) for array in answer]))
    for device, own, answer in begun:
        if answer:
            with device:
                device.synchronize()
        found.append((own, *answer))
    if _record.listener is not None:
        tell("take", group, [[answer] * group.parts for answer in found])
    for own, *answer in group.transport.gather(found):
        if own.size:
            there[own], values[own] = answer
    return there, values


def _looked_up(v: VectorParts, wanted: list) -> list[tuple]:
    """What is wanted, out of all of v."""
    found = []
    for part, whole, positions in zip(v.device.mine, everywhere(v), wanted):
        with v.device.devices[part] as device:
            full = whole.format == "full"
            present = device.xp.ones(positions.size, np.uint8) if full else whole.present[positions]
            found.append((present, whole.values[positions]))
    return found


def _asked(v: VectorParts, wanted: list) -> list[tuple]:
    """What is wanted, of its owners."""
    group, layout = v.device, v.layout
    asked, orders = [], []
    for part, positions in zip(group.mine, wanted):
        with group.devices[part] as device:
            order, messages = by_owner(device, layout, positions)
            asked.append([(local,) for local, _, _ in messages])
        orders.append(order)
    came = group.transport.all_to_all(asked)
    answers = [[_answer(piece, local) for (local,) in messages] for (_, piece), messages in zip(v.on_each(), came)]
    tell("take", group, asked)
    tell("take", group, answers)
    back = group.transport.all_to_all(answers)
    found = []
    for part, order, messages in zip(group.mine, orders, back):
        present, values = joined(group.devices[part], messages)
        with group.devices[part] as device:
            placed, bits = device.xp.empty_like(values), device.xp.empty_like(present)
            placed[order], bits[order] = values, present
            found.append((bits, placed))
    return found


def _answer(piece: VectorBlock, local: Any) -> tuple:
    """Whether there is an entry at each of some local numbers (None: at all), and which value."""
    device, xp = piece.device, piece.device.xp
    if local is not None and piece.format == "sparse" and piece.size > LONG:
        if not piece.nvals:
            return xp.zeros(local.size, np.uint8), xp.zeros(local.size, piece.dtype)
        piece.sort()
        at = xp.minimum(xp.searchsorted(piece.indices, local), piece.nvals - 1)
        present = (piece.indices[at] == local).astype(np.uint8)
        return present, device.filled(at.size, piece.values[0], piece.dtype) if piece.iso else piece.values[at]
    piece.to_bitmap()
    count = piece.size if local is None else local.size
    places = slice(None) if local is None else local
    present = xp.ones(count, np.uint8) if piece.format == "full" else piece.present[places]
    return present, device.filled(count, piece.values[0], piece.dtype) if piece.iso else piece.values[places]
