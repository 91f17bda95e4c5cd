"""Which values a matrix in parts needs of other parts, and the two verbs that move them.

Data encoding: of a part's columns, first come those whose vertices the part owns itself, under their local numbers,
then its *ghosts*, proxies of vertices that others own, by owner and position (duplication of one hop). For each pair
of parts the owner keeps the list of vertices that it *lends*. Lists are made once and used as long as the matrix is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.payload import decode, encode
from spgraph.exchange.vector_parts import VectorParts
from spgraph.partition import Partition

__all__ = ["Border", "border_of"]


class Border:
    """The border of a matrix in parts.

    Parameters
    ----------
    A : MatrixParts

    Attributes
    ----------
    blocks : list of MatrixBlock
        For each part of this process its rows, with own columns and ghosts as columns.
    lent : list of list of array
        ``lent[a][q]``: local numbers that part ``mine[a]`` lends to part q.
    homes : list of MatrixBlock
        For each part a matrix that brings what comes to it to its place: a row for each own vertex and for each one
        lent, the owners' local numbers as columns.
    """

    def __init__(self, A: MatrixParts):
        group, layout = A.device, A.cols
        self.group = group
        self.layout = layout
        self.blocks: list[MatrixBlock] = []
        self.cuts: list[list[int]] = []  # where the ghosts of each owner begin, and the end
        asked = []
        for part, (device, piece) in zip(group.mine, A.on_each()):
            xp = device.xp
            first, last = layout.starts[part : part + 2].tolist()
            own = last - first
            used = xp.zeros(layout.size, np.uint8)
            used[piece.indices] = 1
            used[first:last] = 0
            ghosts = xp.flatnonzero(used)
            del used
            bounds = device.to_host(xp.searchsorted(ghosts, device.to_device(layout.starts))).tolist()
            self.cuts.append([own + at for at in bounds])
            asked.append([(ghosts[a:b] - begin,) for begin, a, b in zip(layout.starts.tolist(), bounds, bounds[1:])])
            self.blocks.append(_renumbered(device, piece, layout, first, own, ghosts))
        came = group.transport.all_to_all(asked)
        self.lent = [[local for (local,) in messages] for messages in came]
        self._homes: list[MatrixBlock] | None = None

    @property
    def pairs(self) -> np.ndarray:
        """How many values part p may get from part q, at [p, q]."""
        rows = [[b - a for a, b in pairwise(cuts)] for cuts in self.cuts]
        return np.array(self.group.transport.gather(rows))

    @property
    def homes(self) -> list[MatrixBlock]:
        """See the class; made at first use."""
        if self._homes is None:
            self._homes = [self._home(a, part) for a, part in enumerate(self.group.mine)]
        return self._homes

    def _home(self, a: int, part: int) -> MatrixBlock:
        device, own = self.group.devices[part], self.layout.count(part)
        with device:
            xp = device.xp
            columns = xp.concatenate([xp.arange(own, dtype=np.int64), *self.lent[a]])
            block = MatrixBlock.__new__(MatrixBlock)
            block.device, block.nrows, block.ncols, block.dtype = device, columns.size, own, np.dtype(np.bool_)
            block.set_csr(
                xp.arange(columns.size + 1),
                columns,
                np.ones(1, np.bool_),
                iso=columns.size > 0,
                rows=Proxies(xp.arange(columns.size), device),
                cols=self.layout.pieces[a],
            )
        return block

    # ---- the two verbs -----------------------------------------------------------
    def share(self, u: VectorParts) -> list[VectorBlock]:
        """Before a pull: u on each part as far as its rows look at it, own entries and ghosts."""
        group = self.group
        single = _single(u)
        sent = []
        for (device, piece), lent in zip(u.on_each(), self.lent):
            piece.to_bitmap()
            sent.append([encode(device, piece, local, single is None) for local in lent])
        came = group.transport.all_to_all(sent)
        found = []
        for (device, piece), block, cuts, messages in zip(u.on_each(), self.blocks, self.cuts, came):
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            parts = [decode(device, message, end - begin) for message, begin, end in zip(messages, cuts, cuts[1:])]
            fill(ext, piece, parts, single)
            found.append(ext)
        return found

    def reduce(self, T: list[VectorBlock]) -> list[VectorBlock]:
        """After a push: each part's own results and those that others have for it, over the rows of its `homes`."""
        group = self.group
        owned, sent = [], []
        for part, block, cuts in zip(group.mine, T, self.cuts):
            with group.devices[part] as device:
                indices, values = _listed(block)
                bounds = device.to_host(device.xp.searchsorted(indices, device.to_device(np.array(cuts)))).tolist()
                owned.append((indices[: bounds[0]], values if block.iso else values[: bounds[0]], block.iso))
                sent.append(
                    [
                        (indices[a:b] - begin, values if block.iso else values[a:b])
                        for begin, a, b in zip(cuts, bounds, bounds[1:])
                    ]
                )
        came = group.transport.all_to_all(sent)
        return [self._joined(a, own, messages) for a, (own, messages) in enumerate(zip(owned, came))]

    def _joined(self, a: int, own: tuple, messages: list[tuple]) -> VectorBlock:
        """One list over the rows of the home matrix."""
        device, home = self.group.devices[self.group.mine[a]], self.homes[a]
        with device:
            xp = device.xp
            at, lists, values = self.homes[a].ncols, [own[0]], [(own[1], own[0].size)]
            for (indices, found), lent in zip(messages, self.lent[a]):
                lists.append(indices + at)
                values.append((found, indices.size))
                at += lent.size
            values = [(found, count) for found, count in values if count]
            m = VectorBlock(home.nrows, own[1].dtype, home.rows, device)
            if not values:
                return m
            indices = xp.concatenate(lists).astype(index_dtype(home.nrows), copy=False)
            isos = {found.tobytes() if type(found) is np.ndarray and found.size == 1 else None for found, _ in values}
            if len(isos) == 1 and None not in isos:
                m.set_sparse(indices, values[0][0].copy(), iso=True, sorted=True)
            else:
                m.set_sparse(
                    indices,
                    xp.concatenate(
                        [
                            device.filled(count, found[0], m.dtype)
                            if type(found) is np.ndarray and found.size == 1 != count
                            else device.to_device(found)
                            for found, count in values
                        ]
                    ),
                    sorted=True,
                )
            return m


class Proxies(Partition):
    """The order of a part's own vertices and ghosts: global ids of their local numbers."""

    __slots__ = ()

    def __init__(self, ids: Any, device: Any):
        self.name = "proxies"
        self.natural = False
        self.device = device
        self.to_global = ids
        self.to_local = None
        self._copies = None


def _renumbered(device: Any, piece: MatrixBlock, layout: Any, first: int, own: int, ghosts: Any) -> MatrixBlock:
    """The rows of a part with its own columns first, then its ghosts."""
    xp = device.xp
    width = own + ghosts.size
    small = index_dtype(width)
    target = xp.zeros(layout.size, small)
    target[first : first + own] = xp.arange(own, dtype=small)
    target[ghosts] = xp.arange(own, width, dtype=small)
    whole = layout.whole(device)
    ids = xp.concatenate([xp.arange(first, first + own, dtype=np.int64), ghosts])
    block = MatrixBlock.__new__(MatrixBlock)
    block.device, block.nrows, block.ncols, block.dtype = device, piece.nrows, width, piece.dtype
    csr = piece.indptr, piece.indices, None if piece.iso else piece.values
    indptr, indices, values = device.sort.permute_csr(piece.nrows, layout.size, *csr, None, target)
    block.set_csr(
        indptr,
        indices,
        piece.values if piece.iso else values,
        iso=piece.iso,
        rows=piece.rows,
        cols=Proxies(whole.globals_of(ids), device),
    )
    return block


def _single(u: VectorParts) -> np.ndarray | None:
    """The one value of all entries of u, on all parts, if that is known."""
    facts = [b"" if not piece.nvals else piece.values.tobytes() if piece.iso else None for piece in u.pieces]
    found = {fact for fact in u.device.transport.gather(facts) if fact != b""}
    if len(found) != 1 or None in found:
        return None
    return np.frombuffer(found.pop(), u.dtype)


def fill(ext: VectorBlock, piece: VectorBlock, parts: list[tuple], single: np.ndarray | None) -> None:
    """Own entries and ghosts as one bitmap."""
    device, xp = ext.device, ext.device.xp
    whole = piece.format == "full" and all(present is None for present, _ in parts)
    present = None
    if not whole:
        bits = [xp.ones(piece.size, np.uint8) if piece.present is None else piece.present]
        present = xp.concatenate(
            bits + [xp.ones(values.size, np.uint8) if there is None else there for there, values in parts]
        )
    if single is not None:
        values = single.copy()
    else:
        own = device.filled(piece.size, piece.values[0], piece.dtype) if piece.iso else piece.values
        values = xp.concatenate([own, *(values for _, values in parts)])
    count = ext.size if present is None else int(xp.count_nonzero(present))
    if count == 0:
        return
    ext.set_bitmap(present, values, count, iso=single is not None)


def _listed(block: VectorBlock) -> tuple[Any, Any]:
    """Ascending indices and values (one if iso) of a block's entries."""
    if block.nvals == 0:
        return block.device.xp.empty(0, np.int64), block.device.xp.empty(0, block.dtype)
    block.to_sparse().sort()
    return block.indices.astype(np.int64, copy=False), block.values


def border_of(A: MatrixParts) -> Border:
    """The border of a matrix, made at first use and kept with it."""
    found = A.border.get("1-hop")
    if found is None:
        found = A.border["1-hop"] = Border(A)
    return found
