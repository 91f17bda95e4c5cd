"""Read a vector in parts at any positions: requests to the owners and their answers, or all of it to everybody."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.exchange.route import by_owner, joined
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["take"]

REQUEST = 8  # bytes of a position that is asked for


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
    item = v.dtype.itemsize + 1
    found = _spread if count * (REQUEST + item) > group.parts * v.size * item else _asked
    blocks = []
    for part, (present, values) in zip(group.mine, found(v, wanted)):
        with group.devices[part] as device:
            block = VectorBlock(values.size, v.dtype, device=device)
            if values.size:
                block.set_bitmap(present, values, int(device.xp.count_nonzero(present)))
            blocks.append(block)
    return blocks


def _spread(v: VectorParts, wanted: list) -> list[tuple]:
    """All of v to everybody."""
    group = v.device
    whole = [_answer(piece, None) for _, piece in v.on_each()]
    came = group.transport.all_to_all([[own] * group.parts for own in whole])
    found = []
    for part, messages, positions in zip(group.mine, came, wanted):
        present, values = joined(group.devices[part], messages)
        with group.devices[part]:
            found.append((present[positions], values[positions]))
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
    piece.to_bitmap()
    count = piece.size if local is None else local.size
    places = slice(None) if local is None else local
    present = xp.ones(count, np.uint8) if piece.format == "full" else piece.present[places]
    return present, device.filled(count, piece.values[0], piece.dtype) if piece.iso else piece.values[places]
