"""Send entries to the owners of the positions that they are for."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["joined", "route"]


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
        For each part of this process what came for it, in the order of the senders and within one by position; entries
        of one sender for one position keep their order.
    """
    group, starts = layout.group, layout.starts
    sent = []
    for part, (positions, *more) in zip(group.mine, keyed):
        device = group.devices[part]
        with device:
            xp = device.xp
            order = xp.argsort(positions, kind="stable")
            positions = positions[order].astype(np.int64, copy=False)
            bounds = device.to_host(xp.searchsorted(positions, device.to_device(starts))).tolist()
            more = [array[order] for array in more]
            sent.append(
                [
                    (positions[a:b] - first, *(array[a:b] for array in more))
                    for first, a, b in zip(starts.tolist(), bounds, bounds[1:])
                ]
            )
    came = group.transport.all_to_all(sent)
    return [joined(group.devices[part], messages) for part, messages in zip(group.mine, came)]


def joined(device: Any, messages: list[tuple]) -> tuple:
    """The arrays of several messages, one after the other."""
    with device:
        return tuple(device.xp.concatenate(arrays) for arrays in zip(*messages))
