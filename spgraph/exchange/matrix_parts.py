"""Matrices in parts: each is a `MatrixBlock` of the rows that one device owns.

Data encoding: columns are positions of the columns' layout, the same numbers on all devices, so that what works row by
row works on each part alone. What a product needs of other parts, `Border` knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spgraph.block import MatrixBlock
from spgraph.exchange._parts import Parts
from spgraph.exchange.route import route
from spgraph.kernels.device import HOST, Device
from spgraph.partition import NATURAL, Partition
from spgraph.partition.layout import Layout

__all__ = ["MatrixParts", "can_turn", "dealt_matrix", "fill_rows", "matrix_storage", "over_positions",
           "with_columns"]


def matrix_storage(nrows: int, ncols: int, dtype: Any, device: Any) -> Any:
    """An empty matrix on a device: a block, or parts if it is a group of devices."""
    return (
        MatrixBlock(nrows, ncols, dtype, device=device)
        if device.group is None
        else (MatrixParts(nrows, ncols, dtype, device))
    )


TRANSPOSE_ROOM = 3  # times the bytes of some rows: their transpose, and what is needed while that is made


class MatrixParts(Parts):
    """A matrix in parts of rows.

    Parameters
    ----------
    nrows, ncols : int
    dtype : dtype
    group : Group
    rows, cols : Layout, optional
        Default: equal parts.

    Attributes
    ----------
    symmetric : bool or None
        As of a `MatrixBlock`.
    border : dict
        What products need of other parts; see `exchange.Border`.
    brief : bool
        Whether it was made to be used a few times: a border would cost more to make than it saves.
    pieces : list of MatrixBlock
        For each part of this process, the rows that it owns.
    """

    width = 1  # no copies, see `engine.lanes`
    __slots__ = (
        "_occupied",
        "_pieces",
        "_transpose",
        "_whole",  # of parts of one CPU: all rows as one block, see `exchange.near`
        "border",
        "brief",
        "cols",
        "device",
        "dtype",
        "missed",
        "ncols",
        "nrows",
        "rows",
        "symmetric",
    )

    def __init__(
        self, nrows: int, ncols: int, dtype: Any, group: Any, rows: Layout | None = None, cols: Layout | None = None
    ):
        self.device = group
        self.nrows, self.ncols = nrows, ncols
        self.dtype = np.dtype(dtype)
        self.rows = group.even_layout(nrows) if rows is None else rows
        self.cols = group.even_layout(ncols) if cols is None else cols
        self.clear()

    def clear(self) -> None:
        """Remove all entries."""
        group, rows = self.device, self.rows
        if group.near:
            cols = self.cols.whole(HOST)
            self.take_whole(MatrixBlock(self.nrows, self.ncols, self.dtype, rows=rows.whole(HOST), cols=cols))
            return
        pieces = []
        for part, piece in zip(group.mine, rows.pieces):
            with group.devices[part] as device:
                pieces.append(
                    MatrixBlock(
                        rows.count(part),
                        self.ncols,
                        self.dtype,
                        rows=piece,
                        cols=self.cols.whole(device),
                        device=device,
                    )
                )
        self.take(pieces)

    def take(self, pieces: list[MatrixBlock], symmetric: bool | None = None) -> None:
        """Take over blocks of the rows that each part owns."""
        self._pieces: Any = pieces
        self._whole: Any = None
        self._forget(symmetric)

    def take_whole(self, whole: MatrixBlock, symmetric: bool | None = None) -> None:
        """Take over a block over positions, whose arrays the parts then share."""
        self._pieces, self._whole = None, whole
        self._forget(symmetric)

    def _forget(self, symmetric: bool | None) -> None:
        self.symmetric = symmetric
        self._transpose: Any = None
        self.border: dict = {}
        self.missed = 0
        self.brief = False
        self._occupied: int | None = None

    @property
    def pieces(self) -> list[MatrixBlock]:  # type: ignore[override]
        if self._pieces is None:
            from spgraph.exchange.near import cut_rows

            self._pieces = cut_rows(self)
        return self._pieces

    @property
    def nvals(self) -> int:
        """Number of entries in all parts."""
        return super().nvals if self._whole is None else self._whole.nvals

    @property
    def occupied(self) -> int:
        """Number of rows that have entries, in all parts; counted at first use."""
        if self._occupied is None:
            self._occupied = sum(self.device.transport.gather([piece.occupied for _, piece in self.on_each()]))
        return self._occupied

    @property
    def iso(self) -> bool:
        """Whether all entries are known to have one value."""
        kept = [(piece.nvals, piece.iso, piece.values[:1].tobytes() if piece.iso else b"") for piece in self.pieces]
        found = {(iso, value) for count, iso, value in self.device.transport.gather(kept) if count}
        return len(found) == 1 and all(iso for iso, _ in found)

    @property
    def values(self) -> np.ndarray:
        """The one value of an `iso` matrix."""
        found = self.device.transport.gather([piece.values[0] if piece.nvals else None for piece in self.pieces])
        return np.array([next(value for value in found if value is not None)], self.dtype)

    def set_csr(
        self, indptr: Any, indices: Any, values: Any, *, iso: bool = False, symmetric: bool | None = None
    ) -> None:
        """Take the whole content, in natural order, from arrays of the host; decides who owns which rows."""
        group = self.device
        self.rows, self.cols = group.layouts(indptr, indices, self.nrows, self.ncols)
        if group.near:
            csr = indptr, indices, values
            if self.rows.order is not None or self.cols.order is not None:
                csr = rows_of(indptr, indices, values, self.rows, self.cols, 0, self.nrows, iso)
            self.take_whole(over_positions(self, *csr[:2], values if iso else csr[2], iso), symmetric)
            return
        pieces, starts = [], self.rows.starts.tolist()
        for part, piece in zip(group.mine, self.rows.pieces):
            first, last = starts[part : part + 2]
            offsets, columns, kept = rows_of(indptr, indices, values, self.rows, self.cols, first, last, iso)
            with group.devices[part] as device:
                block = MatrixBlock.__new__(MatrixBlock)
                block.device, block.nrows, block.ncols = device, self.rows.count(part), self.ncols
                block.dtype = self.dtype
                block.set_csr(
                    device.to_device(offsets), device.to_device(columns), values if iso else device.to_device(kept),
                    iso=iso, rows=piece, cols=self.cols.whole(device))
                pieces.append(block)
        self.take(pieces, symmetric)

    def assume(self, other: MatrixParts) -> None:
        """Become what `other` is; arrays are shared, not copied."""
        for name in MatrixParts.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> MatrixParts:
        """A deep copy (the cached transpose is left behind)."""
        new = MatrixParts.__new__(MatrixParts)
        new.assume(self)
        if self._pieces is None:
            new.take_whole(self._whole.copy(), self.symmetric)
        else:
            new.take([piece.copy() for _, piece in self.on_each()], self.symmetric)
        return new

    def expand(self) -> MatrixParts:
        """Undo iso: one stored value per entry; returns self."""
        for _, piece in self.on_each():
            piece.expand()
        self._transpose, self.border, self._whole = None, {}, None
        return self

    @property
    def can_transpose(self) -> bool:
        """Whether all parts have room for their rows of the transpose."""
        return self.device.can_hold([TRANSPOSE_ROOM * piece.nbytes for piece in self.pieces])

    @property
    def has_transpose(self) -> bool:
        """Whether the transpose is at hand."""
        if self.symmetric is True or self._transpose is not None:
            return True
        return self._whole is not None and self._whole.has_transpose

    def oriented(self, transposed: bool) -> MatrixParts:
        """This matrix, or (made at first use, then kept) its transpose."""
        if not transposed or self.symmetric is True:
            return self
        if self._transpose is None:
            self._transpose = self._make_transpose()
            if self.symmetric is None and self.rows is self.cols:
                self._note_symmetry()
                if self.symmetric:
                    return self
        return self._transpose

    def _make_transpose(self) -> MatrixParts:
        from spgraph.exchange.near import dealt_rows, is_near, whole_matrix

        if is_near(self.device):
            turned = dealt_rows(whole_matrix(self).oriented(True), self.device, self.cols, self.rows)
            turned._transpose = self
            return turned
        new = MatrixParts(self.ncols, self.nrows, self.dtype, self.device, self.cols, self.rows)
        single = self.values if self.iso else None
        keyed: list[tuple] = []
        for part, (device, piece) in zip(self.device.mine, self.on_each()):
            rows = device.sort.row_numbers(piece.indptr, piece.nvals) + int(self.rows.starts[part])
            if single is not None:
                keyed.append((piece.indices, rows))
            elif piece.iso:
                keyed.append((piece.indices, rows, device.filled(piece.nvals, piece.values[0], self.dtype)))
            else:
                keyed.append((piece.indices, rows, device.to_device(piece.values)))  # of no rows they may be the host's
        for (device, piece), (local, rows, *values) in zip(new.on_each(), route(self.cols, keyed)):
            fill_rows(device, piece, local, rows, values[0] if values else single)
        new.take(new.pieces, self.symmetric)
        new._transpose = self
        return new

    def _note_symmetry(self) -> None:
        equal = [same_block(piece, other) for (_, piece), other in zip(self.on_each(), self._transpose.pieces)]
        self.symmetric = self._transpose.symmetric = all(self.device.transport.gather(equal))
        if self.symmetric:
            self._transpose = None

    def rehome(self, rows: Layout, cols: Layout) -> MatrixParts:
        """Give rows to their owners under another layout, and renumber columns; returns self."""
        if rows is self.rows and cols is self.cols:
            return self
        from spgraph.exchange.near import is_near, moved_whole

        symmetric = self.symmetric if rows is cols else None
        new = MatrixParts(self.nrows, self.ncols, self.dtype, self.device, rows, cols)
        if not self.nvals:
            new.symmetric = symmetric
            self.assume(new)
            return self
        if is_near(self.device):
            new.take_whole(moved_whole(self, rows, cols), symmetric)
            self.assume(new)
            return self
        keyed = []
        for device, piece in self.on_each():
            ids = piece.rows.globals_of(device.sort.row_numbers(piece.indptr, piece.nvals).astype(np.int64))
            columns = piece.cols.globals_of(piece.indices)
            if piece.iso:
                values = device.filled(piece.nvals, piece.values[0], self.dtype)
            else:
                values = device.to_device(piece.values)  # of no rows they may be the host's
            keyed.append((rows.whole(device).locals_of(ids), cols.whole(device).locals_of(columns), values))
        single = self.values if self.iso else None
        for (device, piece), (local, columns, values) in zip(new.on_each(), route(rows, keyed)):
            fill_rows(device, piece, local, columns, values if single is None else single)
        new.take(new.pieces, symmetric)
        self.assume(new)  # now that all memory was there
        return self

    def reorder(self, order: Any, *, own: bool = False) -> MatrixParts:
        """Within each part by falling degree, as listed (an array of the host), or back; returns self."""
        if self.nrows != self.ncols:
            return self
        if self.rows is not self.cols:
            self.rehome(self.rows, self.rows)
        layout = self.device.reordered(self, order)
        return self.rehome(layout, layout)

    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """(indptr, indices, values, iso) of the whole in natural order, in arrays of the host, new ones."""
        from spgraph.exchange.near import is_near, whole_in_natural_order

        if is_near(self.device):
            whole = whole_in_natural_order(self)
            return whole.indptr.astype(np.int64), whole.indices.copy(), whole.values.copy(), whole.iso
        iso = self.iso
        single = self.values if iso else None
        found = []
        for device, piece in self.on_each():
            rows = piece.rows.globals_of(device.sort.row_numbers(piece.indptr, piece.nvals).astype(np.int64))
            values = piece.values if iso or not piece.iso else device.filled(piece.nvals, piece.values[0], self.dtype)
            found.append([device.to_host(array) for array in (rows, piece.cols.globals_of(piece.indices), values)])
        gather = self.device.transport.gather
        rows, columns, values = (np.concatenate(gather(list(arrays))) for arrays in zip(*found))
        order = np.lexsort((columns, rows))
        indptr = np.zeros(self.nrows + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.nrows), out=indptr[1:])
        return indptr, columns[order], values[order] if single is None else single, iso

    def to_device(self, device: Device) -> Any:
        """The same content on another device, in its order if it has one; itself if it is there."""
        if device is self.device:
            return self
        home: Any = device if device.group is not None else HOST
        new = matrix_storage(self.nrows, self.ncols, self.dtype, home)
        indptr, indices, values, iso = self.csr()
        new.set_csr(indptr, indices, values, iso=iso, symmetric=self.symmetric)
        new = new if device.group is not None else new.to_device(device)
        return _reordered_as(self.rows, self.cols, new, self.rows.order)


def over_positions(A: MatrixParts, indptr: Any, indices: Any, values: Any, iso: bool) -> MatrixBlock:
    """All rows of a matrix as one block of the host, given as they lie."""
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = HOST, A.nrows, A.ncols, A.dtype
    block.set_csr(indptr, indices, values, iso=iso, rows=A.rows.whole(HOST), cols=A.cols.whole(HOST))
    return block


def can_turn(group: Any, blocks: list[MatrixBlock]) -> bool:
    """Whether every device has room for the transposes of its blocks that are not there yet."""
    return group.can_hold([0 if block.has_transpose else TRANSPOSE_ROOM * block.nbytes for block in blocks])


def dealt_matrix(block: MatrixBlock, group: Any) -> MatrixParts:
    """A matrix of one device in parts; its order becomes that of each part."""
    to_host, rows, cols = block.device.to_host, block.rows, block.cols
    if not (block.rows.natural and block.cols.natural):
        block = block.copy().rehome(NATURAL, NATURAL)
    new = MatrixParts(block.nrows, block.ncols, block.dtype, group)
    new.set_csr(
        to_host(block.indptr),
        to_host(block.indices),
        block.values if block.iso else to_host(block.values),
        iso=block.iso,
        symmetric=block.symmetric,
    )
    return _reordered_as(rows, cols, new, None if rows.natural else to_host(rows.to_global))


def _reordered_as(rows: Any, cols: Any, new: Any, listed: Any) -> Any:
    """`new` by falling degree or as listed, if a matrix with these rows and columns lies so; itself."""
    by = getattr(rows, "listed_by", rows.name)
    if rows is not cols:
        return new
    if by == "degree":
        return new.reorder("degree")
    if by == "listed" and listed is not None:
        return new.reorder(listed if new.device.group is not None else new.device.to_device(listed))
    return new


def rows_of(
    indptr: Any, indices: Any, values: Any, rows: Layout, cols: Layout, first: int, last: int, iso: bool
) -> tuple:
    """(indptr, columns as positions, values) of rows, by position, of the arrays of a whole CSR of the host."""
    values = None if iso else values
    if rows.order is None:
        own = slice(int(indptr[first]), int(indptr[last]))
        csr = indptr[first : last + 1] - indptr[first], np.array(indices[own]), None if values is None else values[own]
    else:
        csr = HOST.sort.gather_rows(indptr, indices, values, rows.order[first:last])
    if cols.places is not None:
        csr = HOST.sort.sort_rows(last - first, cols.size, *csr, cols.places)
    return csr


def fill_rows(device: Device, piece: MatrixBlock, local: Any, columns: Any, values: Any) -> None:
    """A part's rows from coordinates, each once; `values` are a NumPy array of length 1 if all are equal."""
    xp = device.xp
    if not local.size:
        piece.clear()
        return
    iso = type(values) is np.ndarray and values.size == 1
    order = xp.argsort(local.astype(np.int64) * piece.ncols + columns, kind="stable")
    indptr = xp.zeros(piece.nrows + 1, np.int64)
    xp.cumsum(xp.bincount(local, minlength=piece.nrows), out=indptr[1:])
    piece.set_csr(indptr, columns[order], values if iso else values[order], iso=iso, rows=piece.rows, cols=piece.cols)


def same_block(one: MatrixBlock, other: MatrixBlock) -> bool:
    """Whether two blocks store the same, bit by bit."""
    equal = one.device.xp.array_equal
    if one.indices.size != other.indices.size or one.iso is not other.iso:
        return False
    if not one.indices.size:  # then values may be the host's
        return bool(equal(one.indptr, other.indptr))
    values = (one.values.view(f"u{one.values.itemsize}"), other.values.view(f"u{other.values.itemsize}"))
    return bool(
        equal(one.indptr, other.indptr)
        and equal(one.indices, other.indices)
        and (np.array_equal(*values) if one.iso else equal(*values))
    )


def with_columns(piece: MatrixBlock, columns: Partition) -> MatrixBlock:
    """The same rows under the same numbers of columns, with other global ids."""
    if piece.cols is columns:
        return piece
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = piece.device, piece.nrows, piece.ncols, piece.dtype
    block.set_csr(piece.indptr, piece.indices, piece.values, iso=piece.iso, rows=piece.rows, cols=columns)
    return block
