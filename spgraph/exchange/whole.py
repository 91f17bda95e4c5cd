"""Vectors over all positions: all of one brought to every device, or what devices have for all positions to its owners.

Method: a block moves between each two devices, not entry by entry, so that either is a few operations on whole arrays.
Parts on one device share what is there. Between devices a block travels as a list, bits or dense; GPUs that see each
other store all of a vector into each other's memory.
Border values: `everywhere` all entries to every other device; `to_owners` those that a device has.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spgraph import _record
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.direct import Direct
from spgraph.exchange.payload import decode, encode
from spgraph.exchange.vector_parts import VectorParts
from spgraph.partition import Partition
from spgraph.partition.layout import Layout

__all__ = ["devices_of", "everywhere", "to_owners"]

FEW = 8  # a block with fewer entries than size / this is cut as a list


def devices_of(group: Any) -> list[int]:
    """For each part the first one on the same device; a part of another process is on one of its own."""
    first: dict = {}
    return [part if device is None else first.setdefault(device, part) for part, device in enumerate(group.devices)]


@_record.exchange
def everywhere(v: VectorParts) -> list[VectorBlock]:
    """All of a vector on every device.

    Returns
    -------
    list of VectorBlock
        For each part of this process a bitmap or full block over v's positions; parts on one device may have the same
        one. To be read at once: where GPUs store, the next but one overwrites its values.
    """
    group, layout = v.device, v.layout
    if group.transport.direct and group.transport.linked:
        return _stored(v)
    leaders = devices_of(group)
    pieces = []
    for part, (_, piece) in zip(group.mine, v.on_each()):
        piece.to_bitmap()
        pieces.append([piece if leader == q else None for q, leader in enumerate(leaders)])
        _tell("gather", part, [piece] * group.parts)
    found: dict = {}
    for part, arrived in zip(group.mine, _exchanged(group, layout, pieces)):
        if leaders[part] == part:
            with group.devices[part] as device:
                found[part] = _joined(device, layout, v.dtype, arrived)
    return [found[leaders[part]] for part in group.mine]


class _Everything:
    """To `Direct` a border whose columns are all positions."""

    duplicate = "all"

    def __init__(self, layout: Layout):
        group, starts = layout.group, layout.starts.tolist()
        self.group, self.layout = group, layout
        self.blocks = [_Columns(layout.size, layout.whole(group.devices[part])) for part in group.mine]
        self.begins = [starts[:-1] for _ in group.mine]
        self.sizes = [[end - begin for begin, end in pairwise(starts)] for _ in group.mine]
        self.lent = [[None] * group.parts for _ in group.mine]


class _Columns(NamedTuple):
    ncols: int
    cols: Partition


def _stored(v: VectorParts) -> list[VectorBlock]:
    """The same by direct stores; values lie there until this thread stores the next vector but one of the layout.

    Memory: for each thread on each device twice n values of one type, until the layout or the thread goes.
    """
    layout = v.layout
    direct = layout.kept.get("everything")
    if direct is None:
        direct = layout.kept.setdefault("everything", Direct(_Everything(layout)))
    direct.forget_others(v.dtype)
    found = direct.share(v, False, None)
    for _, block in zip(v.on_each(), found):
        block.to_bitmap()
    return found


@_record.exchange
def to_owners(blocks: list[VectorBlock | None], layout: Any) -> list[list[VectorBlock]]:
    """What devices have for all positions, to those who own these.

    Parameters
    ----------
    blocks : list of VectorBlock or None
        For each part of this process a bitmap or full block over all positions, not iso; None where a part before it
        on the same device has given one.
    layout : Layout

    Returns
    -------
    list of list of VectorBlock
        For each part of this process a block over its local numbers from each device that has something for it; arrays
        may be views of the sender's.
    """
    group = layout.group
    pieces: list[list] = []
    for part, block in zip(group.mine, blocks):
        if block is None or not block.nvals:
            pieces.append([None] * group.parts)
            continue
        with group.devices[part]:
            pieces.append([piece if piece.nvals else None for piece in _cut(block, layout.starts)])
        _tell("reduce", part, pieces[-1])
    came = _exchanged(group, layout, pieces, own=True)
    return [[block for block in arrived if block is not None] for arrived in came]


def _exchanged(group: Any, layout: Any, pieces: list[list], *, own: bool = False) -> list[list]:
    """``pieces[a][q]`` goes from part ``mine[a]`` to part q (None: nothing); what has come, likewise.

    They are over the vertices of the receiver (`own`) or of the sender.
    """
    sent, mine = [], list(group.mine)
    alone = group.devices.count(group.devices[mine[0]]) == group.parts
    for part, given in zip(mine, pieces):
        encoded: dict = {}
        messages: list[tuple] = [()] * group.parts
        with group.devices[part] as device:
            for q, piece in enumerate(given):
                if piece is None or group.devices[q] is device:  # it lies there
                    continue
                if id(piece) not in encoded:
                    encoded[id(piece)] = encode(device, piece, None, True)
                messages[q] = encoded[id(piece)]
        sent.append(messages)
    came = sent if alone else group.transport.all_to_all(sent)
    found = []
    for part, arrived in zip(mine, came):
        blocks: list = []
        with group.devices[part] as device:
            for p, message in enumerate(arrived):
                if group.devices[p] is device:
                    blocks.append(pieces[mine.index(p)][part])
                else:
                    blocks.append(_decoded(device, layout.count(part if own else p), message) if message else None)
        found.append(blocks)
    return found


def _decoded(device: Any, size: int, message: tuple) -> VectorBlock:
    """The block of a message."""
    places, there, values = decode(device, message, size, None, message[1] is not None)
    block = VectorBlock(size, values.dtype, device=device)
    if places is not None:
        block.set_sparse(places.astype(index_dtype(size), copy=False), values)
    elif there is None:
        block.set_full(values)
    else:
        block.set_bitmap(there, values, int(device.xp.count_nonzero(there)))
    return block


def _joined(device: Any, layout: Any, dtype: Any, pieces: list[VectorBlock]) -> VectorBlock:
    """Blocks of all parts as one."""
    xp, count = device.xp, sum(piece.nvals for piece in pieces)
    block = VectorBlock(layout.size, dtype, layout.whole(device), device)
    if not count:
        return block.to_bitmap()
    present: Any = None
    values = xp.empty(layout.size, dtype)
    if count < layout.size:
        present = xp.zeros(layout.size, np.uint8)
    for begin, piece in zip(layout.starts.tolist(), pieces):
        if not piece.nvals:
            continue
        here = slice(begin, begin + piece.size)
        if piece.format == "sparse":
            present[here][piece.indices], values[here][piece.indices] = 1, piece.values
            continue
        if present is not None:
            present[here] = 1 if piece.present is None else piece.present
        values[here] = device.filled(piece.size, piece.values[0], dtype) if piece.iso else piece.values
    block.set_bitmap(present, values, count)
    return block


def _cut(block: VectorBlock, starts: Any) -> list[VectorBlock]:
    """A block over all positions as one for each part."""
    device, xp, cuts = block.device, block.device.xp, starts.tolist()
    pieces = [VectorBlock(end - begin, block.dtype, device=device) for begin, end in pairwise(cuts)]
    if block.format == "full":
        for piece, begin in zip(pieces, cuts):
            piece.set_full(block.values[begin:begin + piece.size])
        return pieces
    if block.nvals * FEW < block.size or not device.on_host:
        positions = xp.flatnonzero(block.present)
        values = block.values[positions]
        bounds = device.to_host(xp.searchsorted(positions, device.to_device(starts))).tolist()
        for piece, begin, a, b in zip(pieces, cuts, bounds, bounds[1:]):
            piece.set_sparse((positions[a:b] - begin).astype(index_dtype(piece.size)), values[a:b])
        return pieces
    for piece, begin in zip(pieces, cuts):
        present = block.present[begin:begin + piece.size]
        piece.set_bitmap(present, block.values[begin:begin + piece.size], int(np.count_nonzero(present)))
    return pieces


@_record.aside
def _tell(verb: str, part: int, pieces: list) -> None:
    """Let the listener know what goes to each other part, whether or not that is on the same device."""
    for q, piece in enumerate(pieces):
        if q != part and piece is not None and piece.nvals:
            form, nbytes = smallest(piece.nvals, piece.size, piece.dtype.itemsize)
            _record.listener.moved(verb, part, q, piece.nvals, nbytes, form)


def smallest(nvals: int, size: int, itemsize: int) -> tuple[str, int]:
    """The form in which so many entries of a block have the fewest bytes, and how many.

    Examples
    --------
    >>> smallest(100, 100, 8), smallest(50, 100, 8), smallest(1, 100, 8)
    (('dense', 800), ('bits', 413), ('list', 12))
    """
    if nvals == size:
        return "dense", nvals * itemsize
    if 4 * nvals < -(-size // 8):
        return "list", nvals * (4 + itemsize)
    return "bits", -(-size // 8) + nvals * itemsize
