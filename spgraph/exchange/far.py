"""Combine terms into positions that other GPUs own: each by one atomic, where the value lies.

Method: a kernel of the device that has the terms looks at the owner's value, and updates it if that changes anything;
where many terms name few positions, as hooks of connected components do, most do not. No list is made, no message sent.
Border values: the terms that name positions of others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["combine_far"]

NOTHING = np.empty(0, np.uint8)
TABLES = 16  # of addresses that are kept


@_record.exchange
def combine_far(out: VectorParts, accum: Any, p: VectorParts, x: VectorParts, settles: bool = False) -> None:
    """C(p(i)) accum= x(i), where C is full, of one dtype with x, and lies on GPUs of this process that see each other.

    p holds global ids of C and lies as x does. `settles`: a term that changes nothing now never will.
    """
    group, layout = out.device, out.layout
    named = [piece.copy() if p is out else piece for _, piece in p.on_each()]
    terms = [piece.copy() if x is out or x is p else piece for _, piece in x.on_each()]
    for _, piece in out.on_each():
        if piece.size:
            piece.writable_bitmap(full=True)
    tables = _addresses(out)
    if _record.listener is not None:
        _tell(layout, named, terms)
    group.transport.order()
    for (device, _), one, other, (starts, addresses) in zip(out.on_each(), named, terms, tables):
        if not other.bounds()[1] or not one.bounds()[1]:
            continue
        one.to_bitmap()
        whole = layout.whole(device)
        listed = other.format == "sparse"
        key = ("pointers.combine_far", accum.key, other.format, other.dtype, other.iso, one.format, one.dtype, one.iso,
               whole.natural, settles)
        kernel = device.kernels.get(key)
        if kernel is None:
            consts = {"X_LIST": listed, "X_FULL": other.format == "full", "X_ISO": other.iso,
                      "P_FULL": one.format == "full", "P_ISO": one.iso, "GLOBAL": not whole.natural,
                      "SETTLES": settles}
            ops = {"ACC": (accum.expr, ("x", "y"))}
            kernel = device.kernels[key] = device.kernel(key[0], consts, ops)
        kernel(other.nvals if listed else other.size,
               (other.indices if listed else NOTHING, other.present if other.format == "bitmap" else NOTHING,
                other.values, NOTHING if one.format == "full" else one.present, one.values,
                NOTHING if whole.natural else whole.to_local, starts, addresses))
    group.transport.order()
    out.stay()


def _addresses(out: VectorParts) -> list[tuple[Any, Any]]:
    """For each part where parts begin, and the addresses of all parts' values."""
    group, layout = out.device, out.layout
    at = tuple(group.devices[part].pointer(piece.values) if piece.size else 0
               for part, piece in zip(group.mine, out.pieces))
    tables = layout.kept.setdefault("addresses", {})
    found = tables.get(at)
    if found is None:
        starts = layout.kept.get("starts")
        if starts is None:
            starts = layout.kept["starts"] = [device.to_device(layout.starts) for device, _ in out.on_each()]
        if len(tables) >= TABLES:
            tables.clear()
        addresses = np.array(at, np.uint64)
        found = tables[at] = [(start, device.to_device(addresses)) for start, (device, _) in zip(starts, out.on_each())]
    return found


@_record.aside
def _tell(layout: Any, named: list[VectorBlock], terms: list[VectorBlock]) -> None:
    group = layout.group
    for part, one, other in zip(group.mine, named, terms):
        with group.devices[part] as device:
            ids = one.copy().expand().to_bitmap()
            places = other.copy().to_sparse().indices
            kept = places if ids.present is None else places[ids.present[places] != 0]
            positions = layout.positions(device.to_host(ids.values[kept]))
        counts = np.bincount(layout.owners(positions), minlength=group.parts)
        for q, count in enumerate(counts.tolist()):
            if count and q != part:
                _record.listener.moved("reduce", part, q, count, count * other.dtype.itemsize, "list")
