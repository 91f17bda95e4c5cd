"""All of a matrix on each device, and vectors that were computed there, in parts again.

Data encoding: a copy has its rows and columns in the order of positions, so that it is the parts' rows one after the
other, and what an owner gets of a vector is a slice. Border values: the matrix once to each device, n values back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.near import is_near, whole_matrix
from spgraph.exchange.vector_parts import VectorParts
from spgraph.exchange.whole import devices_of
from spgraph.partition.layout import Layout

__all__ = ["dealt", "whole_copies", "whole_nbytes"]

KEPT = "copies"  # their name in a matrix's `border`


def whole_nbytes(A: MatrixParts) -> int:
    """Bytes that a copy adds to each device: none if it is kept already, twice the graph's if it will be transposed."""
    return 0 if KEPT in A.border else A.nbytes * (1 if A.symmetric else 2)


@_record.exchange
def whole_copies(A: MatrixParts) -> list[MatrixBlock]:
    """All of A for each part of this process, one block for parts on the same device; made once, and kept with A."""
    found = A.border.get(KEPT)
    if found is None:
        found = A.border[KEPT] = _made(A)
    return found


def _made(A: MatrixParts) -> list[MatrixBlock]:
    group, single = A.device, A.values if A.iso else None
    if is_near(group):
        copy = MatrixBlock.__new__(MatrixBlock)
        copy.assume(whole_matrix(A))
        return [copy] * group.parts
    leaders = devices_of(group)
    sent = []
    for device, piece in A.on_each():
        values = piece.values
        if single is not None:
            values = None
        elif piece.iso:
            values = device.filled(piece.nvals, values[0], A.dtype)
        else:
            values = device.to_device(values)  # of no rows they may be the host's
        rows = device.xp.diff(piece.indptr), piece.indices, values
        sent.append([rows if leader == part else () for part, leader in enumerate(leaders)])
    came = _delivered(group, sent)
    there: dict = {}
    for part, messages in zip(group.mine, came):
        if leaders[part] == part:
            with group.devices[part] as device:
                there[part] = _joined(A, device, messages, single)
    return [there[leaders[part]] for part in group.mine]


def _joined(A: MatrixParts, device: Any, messages: list[tuple], single: Any) -> MatrixBlock:
    """The parts' rows, one after the other."""
    xp = device.xp
    lengths, columns, values = zip(*messages)
    indptr = xp.zeros(A.nrows + 1, np.int64)
    xp.cumsum(xp.concatenate(lengths).astype(np.int64, copy=False), out=indptr[1:])
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = device, A.nrows, A.ncols, A.dtype
    block.set_csr(indptr, xp.concatenate(columns), xp.concatenate(values) if single is None else single,
                  iso=single is not None, symmetric=A.symmetric, rows=A.rows.whole(device),
                  cols=A.cols.whole(device))  # fmt: skip
    return block


@_record.exchange
def dealt(layout: Layout, vectors: list[VectorBlock]) -> list[VectorParts]:
    """Of the vector that each part of this process has, each owner gets its own: a vector in parts from every part.

    The vectors are all of one dtype, and may be the same one; what comes back shares nothing with them.
    """
    group, starts = layout.group, layout.starts.tolist()
    sent = []
    for part, block in zip(group.mine, vectors):
        with group.devices[part] as device:
            block.rehome(layout.whole(device)).to_bitmap()
            present, values = block.present, block.values
            slices = [slice(begin, end) for begin, end in pairwise(starts)]
            sent.append([(np.bool_(block.iso), None if present is None else present[own],
                          values if block.iso else values[own]) for own in slices])  # fmt: skip
    came = _delivered(group, sent)
    found = [VectorParts(layout.size, vectors[0].dtype, group, layout) for _ in range(group.parts)]
    for place, (part, messages) in enumerate(zip(group.mine, came)):
        with group.devices[part] as device:
            for vector, (iso, present, values) in zip(found, messages):
                _take(vector.pieces[place], bool(iso), present, values, device.xp)
    return found


def _take(piece: VectorBlock, iso: bool, present: Any, values: Any, xp: Any) -> None:
    """A slice becomes the content of a piece."""
    if not piece.size:
        return
    if present is None:
        piece.set_full(values.copy(), iso=iso)
    else:
        piece.set_bitmap(present.copy(), values.copy(), int(xp.count_nonzero(present)), iso=iso)


def _delivered(group: Any, sent: list[list[tuple]]) -> list[list[tuple]]:
    if _record.listener is not None:
        for part, messages in zip(group.mine, sent):
            for target, message in enumerate(messages):
                if message and target != part:
                    arrays = [array for array in message if array is not None]
                    most, nbytes = max(array.size for array in arrays), sum(array.nbytes for array in arrays)
                    _record.listener.moved("gather", part, target, most, nbytes, "dense")
    return group.transport.all_to_all(sent)
