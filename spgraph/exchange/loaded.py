"""Rows that processes have loaded, each some, as a matrix in parts; and all rows to one of them, which writes them.

The partition in force decides who owns which rows, as it does for one process. Where a function, METIS or another that
looks at the edges decides, the first process gets the pattern of the whole (not the values) while it does; for the
others the lengths of all rows are enough, and no process gets more than its share of the entries.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from spgraph.block import MatrixBlock
from spgraph.exchange.group import Group
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.ranks import Alone, ranks_of
from spgraph.kernels.device import HOST
from spgraph.partition._choice import looks_at_edges
from spgraph.partition.layout import Layout

__all__ = ["block_at_first", "deal_rows"]


def deal_rows(
    A: MatrixParts, cuts: Any, indptr: Any, indices: Any, values: Any, *, iso: bool, symmetric: bool | None
) -> None:
    """Take the whole content from arrays of the host.

    Parameters
    ----------
    A : MatrixParts
        In several processes.
    cuts : array of int64, shape (processes + 1,)
        Process r has the rows cuts[r]..cuts[r + 1].
    indptr, indices, values : array
        Of those rows as CSR, with global columns; one value if `iso`.
    iso, symmetric
        As of `MatrixBlock.set_csr`.
    """
    group = A.device
    ranks = ranks_of(group)
    rows, cols = _layouts(ranks, group, indptr, indices, A.nrows, A.ncols)
    single = _single(ranks, values, iso, indices.size)
    values = None if single is not None else np.full(indices.size, values[0]) if iso else values
    numbers = rows.positions(np.arange(*cuts[ranks.rank : ranks.rank + 2]))
    if rows.order is not None:
        order = np.argsort(numbers)
        numbers = numbers[order]
        indptr, indices, values = HOST.sort.gather_rows(indptr, indices, values, order)
    if cols.places is not None:
        indptr, indices, values = HOST.sort.sort_rows(numbers.size, A.ncols, indptr, indices, values, cols.places)
    sent = []
    bounds = np.searchsorted(numbers, rows.starts).tolist()
    for start, (a, b) in zip(rows.starts.tolist(), itertools.pairwise(bounds)):
        own = slice(int(indptr[a]), int(indptr[b]))
        message = numbers[a:b] - start, np.diff(indptr[a : b + 1]), indices[own]
        sent.append(message if values is None else (*message, values[own]))
    numbers, lengths, indices, *more = (np.concatenate(arrays) for arrays in zip(*ranks.exchange(sent)))
    values = more[0] if more else None
    indptr = HOST.row_offsets(lengths)
    if rows.order is not None:
        indptr, indices, values = HOST.sort.gather_rows(indptr, indices, values, np.argsort(numbers))
    A.rows, A.cols = rows, cols
    (part,) = group.mine
    with group.devices[part] as device:
        block = MatrixBlock.__new__(MatrixBlock)
        block.device, block.nrows, block.ncols, block.dtype = device, indptr.size - 1, A.ncols, A.dtype
        kept: Any = single if values is None else device.to_device(values)
        block.set_csr(device.to_device(indptr), device.to_device(indices), kept, iso=values is None,
                      rows=rows.pieces[0], cols=cols.whole(device))  # fmt: skip
    A.take([block], symmetric)


def _single(ranks: Alone, values: Any, iso: bool, count: int) -> np.ndarray | None:
    """The one value of all entries, if there is one."""
    found = [one for one, count in ranks.gather((values if iso else None, count)) if count]
    return found[0] if found and all(one is not None and one == found[0] for one in found) else None


def _layouts(ranks: Alone, group: Any, indptr: Any, indices: Any, nrows: int, ncols: int) -> tuple[Layout, Layout]:
    if nrows != ncols:
        return group.even_layout(nrows), group.even_layout(ncols)
    lengths = np.concatenate(ranks.gather(np.diff(indptr)))
    whole = np.zeros(nrows + 1, np.int64)
    np.cumsum(lengths, out=whole[1:])
    wanted = Group.choice()
    pattern = ranks.to_first(indices) if looks_at_edges(wanted) else None
    layout = group.laid_out(group.owners(wanted, whole, pattern), wanted)
    return layout, layout


def block_at_first(A: MatrixParts) -> MatrixBlock | None:
    """All rows as one block of the host, in natural order, in the first process; None in the others."""
    ranks = ranks_of(A.device)
    iso = A.iso
    single = A.values if iso else None
    found: list[Any] = []
    for device, piece in A.on_each():
        rows = piece.rows.globals_of(device.sort.row_numbers(piece.indptr, piece.nvals).astype(np.int64))
        values = device.filled(piece.nvals, piece.values[0], A.dtype) if piece.iso and not iso else piece.values
        found = [device.to_host(one) for one in (rows, piece.cols.globals_of(piece.indices), values)]
    rows, columns, values = (ranks.to_first(array) for array in found)
    if not ranks.first:
        return None
    block = MatrixBlock(A.nrows, A.ncols, A.dtype)
    order = np.lexsort((columns, rows))
    indptr = HOST.row_offsets(np.bincount(rows, minlength=A.nrows))
    block.set_csr(indptr, columns[order], values[order] if single is None else single, iso=iso, symmetric=A.symmetric)
    return block
