"""Send entries to the owners of the positions that they are for."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import _record

__all__ = ["by_owner", "joined", "route", "tell"]


@_record.exchange
def route(layout: Any, keyed: list[tuple]) -> list[tuple]:
    """Deliver entries to the owners of their positions.

    Parameters
    ----------
    layout : Layout
        Who owns which positions.
    keyed : list of (positions, array, ...)
        For each part of this process, arrays of its device of one length.

    Returns
    -------
    list of (local numbers, array, ...)
        For each part of this process what came for it, in the order of the senders; entries of one sender keep their
        order.
    """
    group = layout.group
    sent = []
    for part, (positions, *more) in zip(group.mine, keyed):
        with group.devices[part] as device:
            order, messages = by_owner(device, layout, positions)
            more = [array[order] for array in more]
            sent.append([(local, *(array[a:b] for array in more)) for local, a, b in messages])
    tell("route", group, sent)
    came = group.transport.all_to_all(sent)
    return [joined(group.devices[part], messages) for part, messages in zip(group.mine, came)]


def by_owner(device: Any, layout: Any, positions: Any) -> tuple[Any, list[tuple]]:
    """Group positions by the parts that own them, keeping their order.

    Returns
    -------
    order : array
        Which entry stands at each place, the entries of part 0 first.
    messages : list of (local numbers, begin, end)
        For each part: its entries are ``order[begin:end]``.
    """
    xp, starts = device.xp, layout.starts
    parts = starts.size - 1
    owner = xp.searchsorted(device.to_device(starts[1:-1]), positions, side="right")
    owner = owner.astype(np.uint8 if parts <= 256 else np.int32)  # small numbers are sorted in linear time
    order = xp.argsort(owner, kind="stable")
    counts = device.to_host(xp.bincount(owner, minlength=parts)).tolist()
    positions = positions[order].astype(np.int64, copy=False)
    messages, begin = [], 0
    for first, count in zip(starts.tolist(), counts):
        messages.append((positions[begin : begin + count] - first, begin, begin + count))
        begin += count
    return order, messages


def joined(device: Any, messages: list[tuple]) -> tuple:
    """The arrays of several messages, one after the other."""
    with device:
        return tuple(device.xp.concatenate(arrays) for arrays in zip(*messages))


@_record.aside
def tell(verb: str, group: Any, sent: list[list[tuple]]) -> None:
    """Let the listener know of lists that are sent to other parts, ``sent[a][q]`` from part ``mine[a]`` to part q."""
    for part, messages in zip(group.mine, sent):
        for q, message in enumerate(messages):
            if q != part and message[0].size:
                nbytes = sum(array.nbytes for array in message)
                _record.listener.moved(verb, part, q, message[0].size, nbytes, "list")
