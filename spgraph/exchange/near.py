"""Share between parts on one CPU: there is no message, since every part reads entries where they lie.

Method: all entries are put together once, a list for pushes or a bitmap for pulls, and every part multiplies its own
rows, whose columns are positions, by that. Between other devices, and where a trace listens or the user has chosen how
values travel, `Border` moves what is wanted.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.matrix_parts import MatrixParts, can_turn
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.device import HOST
from spgraph.partition import Partition

__all__ = ["NearBorder", "is_near", "whole_matrix", "with_columns"]


def is_near(group: Any) -> bool:
    """Whether entries need not be moved, and nobody wants to see them move."""
    return (
        group.devices.count(HOST) == group.parts
        and _record.listener is None
        and group.exchange() == "auto"
        and group.duplicate() == "1-hop"
    )


class NearBorder:
    """What `Border` is to other devices.

    Parameters
    ----------
    A : MatrixParts
    """

    def __init__(self, A: MatrixParts):
        self.group = A.device
        columns = A.cols.listed(HOST)
        self.blocks = [with_columns(piece, columns) for piece in A.pieces]

    @cached_property
    def can_push(self) -> bool:
        """See `Border`."""
        return can_turn(self.group, self.blocks)

    @cached_property
    def _degree(self) -> np.ndarray:
        """How many entries each column has, in all parts."""
        columns = [block.oriented(True).indptr for block in self.blocks]
        return np.asarray(sum(np.diff(indptr).astype(np.int64) for indptr in columns))

    def share(self, u: VectorParts, listed: bool) -> list[VectorBlock]:
        """All of u, a list if `listed`, else a bitmap; the same block for every part that has edges."""
        parts, size = [piece for piece in u.pieces if piece.nvals], u.size
        whole = VectorBlock(size, u.dtype, self.blocks[0].cols, HOST)
        if parts:
            (_list if listed else _bitmap)(whole, u, _single(parts))
        nothing = VectorBlock(size, u.dtype, whole.partition, HOST)
        return [whole if block.nvals else nothing for block in self.blocks]

    def edges(self, shared: list[VectorBlock]) -> int:
        """Entries in all parts' rows that meet those of what was shared as a list."""
        found = next((ext for ext, block in zip(shared, self.blocks) if block.nvals), None)
        return 0 if found is None else int(self._degree[found.indices].sum())


def whole_matrix(A: MatrixParts) -> MatrixBlock:
    """All rows of a matrix as one block over positions."""
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = HOST, A.nrows, A.ncols, A.dtype
    iso = A.iso
    offsets, before = [np.zeros(1, np.int64)], 0
    for piece in A.pieces:
        offsets.append(piece.indptr[1:].astype(np.int64) + before)
        before += piece.nvals
    values = A.values if iso else np.concatenate([_values(piece, piece.nvals) for piece in A.pieces])
    block.set_csr(
        np.concatenate(offsets),
        np.concatenate([piece.indices for piece in A.pieces]),
        values,
        iso=iso,
        symmetric=A.symmetric,
        rows=A.rows.whole(HOST),
        cols=A.cols.whole(HOST),
    )
    return block


def with_columns(piece: MatrixBlock, columns: Partition) -> MatrixBlock:
    """The same rows under the same numbers of columns, with other global ids."""
    if piece.cols is columns:
        return piece
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = piece.device, piece.nrows, piece.ncols, piece.dtype
    block.set_csr(piece.indptr, piece.indices, piece.values, iso=piece.iso, rows=piece.rows, cols=columns)
    return block


def _single(parts: list[VectorBlock]) -> np.ndarray | None:
    """The one value of all entries, if that is known."""
    first = parts[0]
    if not first.iso:
        return None
    value = first.values.tobytes()
    alike = all(piece.iso and piece.values.tobytes() == value for piece in parts)
    return first.values.copy() if alike else None


def _list(whole: VectorBlock, u: VectorParts, single: np.ndarray | None) -> None:
    lists, values, ascending = [], [], True
    for piece, first in zip(u.pieces, u.layout.starts.tolist()):
        if piece.nvals:
            piece.to_sparse()
            lists.append(piece.indices.astype(index_dtype(u.size), copy=False) + first)
            values.append(_values(piece, piece.nvals))
            ascending = ascending and piece.sorted
    whole.set_sparse(np.concatenate(lists), np.concatenate(values) if single is None else single,
                     iso=single is not None, sorted=ascending)


def _bitmap(whole: VectorBlock, u: VectorParts, single: np.ndarray | None) -> None:
    for piece in u.pieces:
        piece.to_bitmap()
    nvals, present = sum(piece.nvals for piece in u.pieces), None
    if nvals < u.size:
        ones = (np.ones(piece.size, np.uint8) if piece.present is None else piece.present for piece in u.pieces)
        present = np.concatenate(list(ones))
    values = single
    if values is None:
        values = np.concatenate([_values(piece, piece.size) for piece in u.pieces])
    whole.set_bitmap(present, values, nvals, iso=single is not None)


def _values(piece: VectorBlock | MatrixBlock, count: int) -> np.ndarray:
    return np.full(count, piece.values[0], piece.dtype) if piece.iso else piece.values
