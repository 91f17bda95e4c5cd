"""Which values a matrix in parts needs of other parts, and the two verbs that move them.

Data encoding: of a part's columns, the ones whose vertices it owns itself come first, under their local numbers, then
its *ghosts*, proxies of vertices that others own, by owner and position (duplication of one hop). With duplication
"all" every vertex has a proxy, under its position. Columns of one owner are neighbours in both. For each pair of parts
the owner keeps the list of vertices that it *lends*. Lists are made once and used as long as the matrix is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from spgraph import _record
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.block.width import index_dtype
from spgraph.exchange.direct import Direct, in_columns
from spgraph.exchange.matrix_parts import MatrixParts, can_turn, with_columns
from spgraph.exchange.payload import decode, encode, form, values_in
from spgraph.exchange.vector_parts import VectorParts
from spgraph.partition import Partition

__all__ = ["Border", "border_of", "sharing_of", "single_value"]


class Border:
    """The border of a matrix in parts.

    Parameters
    ----------
    A : MatrixParts
    duplicate : {"1-hop", "all"}

    Attributes
    ----------
    blocks : list of MatrixBlock
        For each part of this process its rows, with proxies as columns.
    begins : list of list of int
        ``begins[a][q]``: the first column of ``mine[a]`` whose vertex part q owns.
    sizes : list of list of int
        How many there are.
    lent : list of list of array
        ``lent[a][q]``: local numbers that part ``mine[a]`` lends to part q, ascending; None for all.
    wanted : list of list of array
        ``wanted[a][q]``: the same of what part q lends to part ``mine[a]``.
    """

    def __init__(self, A: MatrixParts, duplicate: str = "1-hop"):
        group, layout = A.device, A.cols
        self.group = group
        self.layout = layout
        self.duplicate = duplicate
        self.blocks: list[MatrixBlock] = []
        self.begins: list[list[int]] = []
        self.sizes: list[list[int]] = []
        self.wanted: list[list[Any]] = []
        if duplicate == "all":
            self._all(A)
        else:
            self._one_hop(A)
        self._homes: list[MatrixBlock] | None = None
        self.loops: dict = {}  # programs of loops that need no host, see engine.parts.loops
        self.rooms: dict = {}  # and what their parts write into for each other, see engine.parts.loop_rooms

    def _all(self, A: MatrixParts) -> None:
        starts = self.layout.starts.tolist()
        for device, piece in A.on_each():
            self.blocks.append(with_columns(piece, self.layout.listed(device)))
            self.begins.append(starts[:-1])
            self.sizes.append([end - begin for begin, end in pairwise(starts)])
            self.wanted.append([None] * self.group.parts)
        self.lent = self.wanted

    def _one_hop(self, A: MatrixParts) -> None:
        group, layout = self.group, self.layout
        for part, (device, piece) in zip(group.mine, A.on_each()):
            xp = device.xp
            first, last = layout.starts[part : part + 2].tolist()
            own = last - first
            used = xp.zeros(layout.size, np.bool_)
            used[piece.indices] = True
            used[first:last] = False
            ghosts = xp.flatnonzero(used)
            del used
            bounds = device.to_host(xp.searchsorted(ghosts, device.to_device(layout.starts))).tolist()
            self.begins.append([0 if q == part else own + at for q, at in enumerate(bounds[:-1])])
            self.sizes.append([own if q == part else b - a for q, (a, b) in enumerate(pairwise(bounds))])
            self.wanted.append(
                [ghosts[a:b] - begin for begin, a, b in zip(layout.starts.tolist(), bounds, bounds[1:])]
            )
            runs = sorted({0, *(own + at for at, end in pairwise(bounds) if at < end)})
            self.blocks.append(_renumbered(device, piece, layout, first, own, ghosts, runs))
        came = group.transport.all_to_all([[(local,) for local in lists] for lists in self.wanted])
        self.lent = [[local for (local,) in messages] for messages in came]

    @property
    def pairs(self) -> np.ndarray:
        """How many values part p may get from part q, at [p, q]."""
        rows = [[0 if q == part else size for q, size in enumerate(sizes)]
                for part, sizes in zip(self.group.mine, self.sizes)]
        return np.array(self.group.transport.gather(rows))

    @cached_property
    def everywhere(self) -> list[bool]:
        """For each part of this process, whether all its vertices are wanted by all other parts."""
        return [
            all(local is None or q == part or local.size == self.layout.count(part) for q, local in enumerate(lists))
            for part, lists in zip(self.group.mine, self.lent)
        ]

    @cached_property
    def direct(self) -> Direct | None:
        """What stores into the other devices' arrays, if they are GPUs that see each other."""
        return Direct(self) if self.group.transport.direct else None

    @cached_property
    def can_push(self) -> bool:
        """Whether all parts have room for their rows once more, by columns, for which a push looks."""
        return can_turn(self.group, self.blocks)

    # ---- the two verbs -----------------------------------------------------------
    @_record.exchange
    def share(self, u: VectorParts, listed: bool) -> list[VectorBlock]:
        """u on each part as far as its rows look at it: a list for a push if `listed`, else a bitmap for a pull."""
        group = self.group
        strategy, single = group.exchange(), single_value(u)
        if self.direct is not None and strategy != "broadcast" and (not listed or self.direct.lists.fit):
            return self.direct.share(u, listed, single)
        sent: list[list[tuple]] = []
        for a, (part, (device, piece)) in enumerate(zip(group.mine, u.on_each())):
            (piece.to_sparse().sort() if listed else piece.to_bitmap())
            # all that is wanted never is more than all there is
            whole = strategy == "broadcast" or (strategy == "auto" and self.everywhere[a])
            same = encode(device, piece, None, single is None) if whole else ()
            sent.append(
                [
                    () if q == part else same if whole else encode(device, piece, local, single is None)
                    for q, local in enumerate(self.lent[a])
                ]
            )
        if _record.listener is not None:
            self._tell(sent)
        came = group.transport.all_to_all(sent)
        found = []
        for a, (part, (device, piece)) in enumerate(zip(group.mine, u.on_each())):
            block = self.blocks[a]
            ext = VectorBlock(block.ncols, u.dtype, block.cols, device)
            arrived: list[Any] = []
            for q, (message, wanted, size) in enumerate(zip(came[a], self.wanted[a], self.sizes[a])):
                if q == part:
                    arrived.append(None)
                    continue
                about = self.layout.count(q) if message[0] else size
                arrived.append(decode(device, message, about, wanted, listed))
            order = in_columns(self.begins[a], self.sizes[a], part)
            (fill_list if listed else fill)(ext, piece, part, self.begins[a], order, arrived, single)
            found.append(ext)
        return found

    @_record.aside
    def _tell(self, sent: list[list[tuple]]) -> None:
        for part, lists, messages in zip(self.group.mine, self.lent, sent):
            device = self.group.devices[part]
            for q, (local, message) in enumerate(zip(lists, messages)):
                if message:
                    size = self.layout.count(part) if message[0] or local is None else local.size
                    nbytes = sum(one.nbytes for one in message[1:] if one is not None)
                    with device:
                        count = values_in(device, message, size)
                    _record.listener.moved("share", part, q, count, nbytes, form(message))

    def edges(self, shared: list[VectorBlock]) -> int:
        """Entries in all parts' rows that meet those of what was shared as lists."""
        found = []
        for part, block, ext in zip(self.group.mine, self.blocks, shared):
            if not ext.nvals:
                found.append(0)
                continue
            with self.group.devices[part]:
                rows = block.oriented(True)
                if ext.queue is not None and ext.queue[0] is rows.indptr:
                    found.append(ext.queue[2])
                else:
                    lengths = rows.indptr[ext.indices + 1] - rows.indptr[ext.indices]
                    found.append(int(lengths.sum(dtype=np.int64)))
        return sum(self.group.transport.gather(found))

    @property
    def homes(self) -> list[MatrixBlock]:
        """For each part a matrix that brings what comes to it to its place; made at first use.

        It has a row for each own vertex and for each one lent, and the owners' local numbers as columns.
        """
        if self._homes is None:
            self._homes = [self._home(a, part) for a, part in enumerate(self.group.mine)]
        return self._homes

    def _lent(self, a: int, part: int) -> list[Any]:
        """Local numbers that a part lends to each of the others."""
        xp, own = self.group.devices[part].xp, self.layout.count(part)
        return [
            xp.arange(0 if q == part else own) if local is None else local for q, local in enumerate(self.lent[a])
        ]

    def _home(self, a: int, part: int) -> MatrixBlock:
        device, own = self.group.devices[part], self.layout.count(part)
        with device:
            xp = device.xp
            columns = xp.concatenate([xp.arange(own, dtype=np.int64), *self._lent(a, part)])
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

    @_record.exchange
    def reduce(self, T: list[VectorBlock]) -> list[VectorBlock]:
        """After a push: each part's own results and those that others have for it, over the rows of its `homes`."""
        group = self.group
        owned, sent = [], []
        for part, block, begins, sizes in zip(group.mine, T, self.begins, self.sizes):
            with group.devices[part] as device:
                indices, values = _listed(block)
                edges = np.array([edge for begin, size in zip(begins, sizes) for edge in (begin, begin + size)])
                bounds = device.to_host(device.xp.searchsorted(indices, device.to_device(edges))).tolist()
                cut = [
                    (indices[a:b] - begin, values if block.iso else values[a:b])
                    for begin, a, b in zip(begins, bounds[::2], bounds[1::2])
                ]
                owned.append(cut[part])
                sent.append([() if q == part else message for q, message in enumerate(cut)])
        if _record.listener is not None:
            for part, messages in zip(group.mine, sent):
                for q, message in enumerate(messages):
                    if message:
                        nbytes = sum(one.nbytes for one in message)
                        _record.listener.moved("reduce", part, q, message[0].size, nbytes, "list")
        came = group.transport.all_to_all(sent)
        return [self._joined(a, own, messages) for a, (own, messages) in enumerate(zip(owned, came))]

    def _joined(self, a: int, own: tuple, messages: list[tuple]) -> VectorBlock:
        """One list over the rows of the home matrix."""
        part = self.group.mine[a]
        device, home = self.group.devices[part], self.homes[a]
        with device:
            xp = device.xp
            at, lists, values = home.ncols, [own[0]], [(own[1], own[0].size)]
            for message, lent in zip(messages, self._lent(a, part)):
                if message:
                    lists.append(message[0] + at)
                    values.append((message[1], message[0].size))
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

    def __init__(self, ids: Any, device: Any, name: str = "proxies", runs: Sequence[int] = (0,)):
        self.name = name
        self.runs = runs
        self.natural = False
        self.device = device
        self.to_global = ids
        self.to_local = None
        self._copies = None


def _renumbered(device: Any, piece: MatrixBlock, layout: Any, first: int, own: int, ghosts: Any,
                runs: list[int]) -> MatrixBlock:  # fmt: skip
    """The rows of a part with its own columns first, then its ghosts; those of each owner are one of the `runs`."""
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
    indptr, indices, values = device.sort.own_first(piece.nrows, layout.size, *csr, first, first + own, target)
    block.set_csr(
        indptr,
        indices,
        piece.values if piece.iso else values,
        iso=piece.iso,
        rows=piece.rows,
        # each owner's vertices by falling degree: the hubs come first, whose values a GPU's kernel keeps at hand
        cols=Proxies(whole.globals_of(ids), device, *(("degree", runs) if layout.listed_by == "degree" else ())),
    )
    return block


def single_value(u: VectorParts) -> np.ndarray | None:
    """The one value of all entries of u, on all parts, if that is known."""
    facts = [b"" if not piece.nvals else piece.values.tobytes() if piece.iso else None for piece in u.pieces]
    found = {fact for fact in u.device.transport.gather(facts) if fact != b""}
    if len(found) != 1 or None in found:
        return None
    return np.frombuffer(found.pop(), u.dtype)


def fill(ext: VectorBlock, piece: VectorBlock, part: int, begins: list[int], order: list[int], arrived: list,
         single: Any) -> None:  # fmt: skip
    """A part's own entries and those of its proxies as one bitmap."""
    device, xp = ext.device, ext.device.xp
    own = piece.values
    if single is None and piece.iso:
        own = device.filled(piece.size, piece.values[0], piece.dtype)
    present = None
    if piece.format != "full" or any(one is not None and one.there is not None for one in arrived):
        ends = [*(begins[q] for q in order[1:]), ext.size]
        bits = []
        for q, end in zip(order, ends):
            there = piece.present if q == part else arrived[q].there
            bits.append(xp.ones(end - begins[q], np.uint8) if there is None else there)
        present = xp.concatenate(bits)
    values = single.copy() if single is not None else xp.concatenate(
        [own if q == part else arrived[q].values for q in order]
    )
    count = ext.size if present is None else int(xp.count_nonzero(present))
    if count:
        ext.set_bitmap(present, values, count, iso=single is not None)


def fill_list(ext: VectorBlock, piece: VectorBlock, part: int, begins: list[int], order: list[int], arrived: list,
              single: Any) -> None:  # fmt: skip
    """The same as one list."""
    device, xp = ext.device, ext.device.xp
    lists = [(piece.indices if q == part else arrived[q].places) + begins[q] for q in order]
    indices = xp.concatenate(lists).astype(index_dtype(ext.size), copy=False)
    if not indices.size:
        return
    if single is not None:
        ext.set_sparse(indices, single.copy(), iso=True)
        return
    own = device.filled(piece.nvals, piece.values[0], piece.dtype) if piece.iso else piece.values
    ext.set_sparse(indices, xp.concatenate([own if q == part else arrived[q].values for q in order]))


def _listed(block: VectorBlock) -> tuple[Any, Any]:
    """Ascending indices and values (one if iso) of a block's entries."""
    if block.nvals == 0:
        return block.device.xp.empty(0, np.int64), block.device.xp.empty(0, block.dtype)
    block.to_sparse().sort()
    return block.indices.astype(np.int64, copy=False), block.values


def border_of(A: MatrixParts, duplicate: str = "1-hop") -> Border:
    """The border of a matrix, made at first use and kept with it."""
    found = A.border.get(duplicate)
    if found is None:
        found = A.border[duplicate] = Border(A, duplicate)
    return found


def sharing_of(A: MatrixParts, whole: bool = False) -> Border:
    """What gives the parts the entries that their rows look at; made at first use and kept with the matrix.

    `whole`: a full vector is to be pulled. If A is not to be used often, it goes everywhere as it is, between GPUs that
    see each other: to find out who looks at what costs as much as sending all of it many times.
    """
    group = A.device
    duplicate = group.duplicate()
    if whole and A.brief and group.transport.direct and group.may_send_all():
        duplicate = "all"
    return border_of(A, duplicate)
