"""Read a vector in parts at any positions: requests to the owners, and their answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import VectorBlock
from spgraph.exchange.route import joined
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["take"]


def take(v: VectorParts, wanted: list) -> list[VectorBlock]:
    """Entries of v at positions.

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
    group, layout = v.device, v.layout
    asked, orders = [], []
    for part, positions in zip(group.mine, wanted):
        device = group.devices[part]
        with device:
            xp = device.xp
            order = xp.argsort(positions, kind="stable")
            positions = positions[order].astype(np.int64, copy=False)
            bounds = device.to_host(xp.searchsorted(positions, device.to_device(layout.starts))).tolist()
        orders.append(order)
        asked.append([(positions[a:b] - first,) for first, a, b in zip(layout.starts.tolist(), bounds, bounds[1:])])
    came = group.transport.all_to_all(asked)
    answers = [[_answer(piece, local) for (local,) in messages] for (_, piece), messages in zip(v.on_each(), came)]
    back = group.transport.all_to_all(answers)
    found = []
    for part, order, messages in zip(group.mine, orders, back):
        device = group.devices[part]
        with device:
            present, values = joined(device, messages)
            block = VectorBlock(order.size, v.dtype, device=device)
            if order.size:
                placed, bits = device.xp.empty_like(values), device.xp.empty_like(present)
                placed[order], bits[order] = values, present
                block.set_bitmap(bits, placed, int(device.xp.count_nonzero(bits)))
            found.append(block)
    return found


def _answer(piece: VectorBlock, local: Any) -> tuple:
    """Whether there is an entry at each of some local numbers, and which value."""
    xp = piece.device.xp
    piece.to_bitmap()
    present = xp.ones(local.size, np.uint8) if piece.format == "full" else piece.present[local]
    values = piece.device.filled(local.size, piece.values[0], piece.dtype) if piece.iso else piece.values[local]
    return present, values
