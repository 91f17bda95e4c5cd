"""Read rows of a matrix in parts at any positions: requests to the owners, and their answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.route import by_owner, joined, tell
from spgraph.partition import NATURAL

__all__ = ["take_rows"]


@_record.exchange
def take_rows(B: MatrixParts, wanted: list, rows: list | None = None) -> list[MatrixBlock]:
    """Rows of B at positions.

    Parameters
    ----------
    B : MatrixParts
    wanted : list of array
        For each part of this process, positions of B's rows, any number of times each; arrays of its device.
    rows : list of Partition, optional
        Of the results' rows; default: natural.

    Returns
    -------
    list of MatrixBlock
        For each part, row i is the row of B at ``wanted[i]``; columns are positions, as in B.
    """
    group, layout = B.device, B.rows
    iso = B.iso
    single = B.values if iso else None
    asked, places = [], []
    for part, positions in zip(group.mine, wanted):
        with group.devices[part] as device:
            xp = device.xp
            order, messages = by_owner(device, layout, positions)
            asked.append([(local,) for local, _, _ in messages])
            place = xp.empty(order.size, np.int64)
            place[order] = xp.arange(order.size)
        places.append(place)
    tell("take", group, asked)
    came = group.transport.all_to_all(asked)
    answers = [
        [_answer(device, piece, local, iso) for (local,) in messages]
        for (device, piece), messages in zip(B.on_each(), came)
    ]
    tell("take", group, answers)
    back = group.transport.all_to_all(answers)
    found = []
    for a, (part, place, messages) in enumerate(zip(group.mine, places, back)):
        with group.devices[part] as device:
            lengths, columns, *values = joined(device, messages)
            indptr = device.row_offsets(lengths)
            csr = device.sort.gather_rows(indptr, columns, values[0] if values else None, place)
            block = MatrixBlock.__new__(MatrixBlock)
            block.device, block.nrows, block.ncols, block.dtype = device, place.size, B.ncols, B.dtype
            kept: Any = single.copy() if single is not None else csr[2]
            block.set_csr(
                csr[0],
                csr[1],
                kept,
                iso=iso and csr[1].size > 0,
                rows=NATURAL if rows is None else rows[a],
                cols=B.cols.whole(device),
            )
            found.append(block)
    return found


def _answer(device: Any, piece: MatrixBlock, local: Any, iso: bool) -> tuple:
    """(lengths, columns, values) of some rows; no values if all entries of the matrix are equal."""
    values = None if iso else device.filled(piece.nvals, piece.values[0], piece.dtype) if piece.iso else piece.values
    indptr, columns, values = device.sort.gather_rows(piece.indptr, piece.indices, values, local)
    lengths = device.xp.diff(indptr)
    return (lengths, columns) if values is None else (lengths, columns, values)
