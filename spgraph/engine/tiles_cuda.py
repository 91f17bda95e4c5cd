"""A matrix in tiles of columns, for pulls on a GPU that gather all rows whole, again and again (PageRank and its like).

Such gathers are bound by the sectors that the L2 hands out, and by adding up rows that lie in a warp as they come. So
the matrix is copied in another form. What is read most should lie in shared memory, which holds the values of some
57,600 columns: by falling degree the first ones have most entries, and the next ones again most of those that are left.
They become tiles, as far as this pays, whose columns take 2 bytes; the rest stays one piece. In each, rows of like
length lie side by side in slices, so that a lane has a row (of a long one, several lanes a share) and adds up without
asking others: SELL-C-sigma (M. Kreutzer et al., SIAM J. Sci. Comput. 36, 2014) with shapes that follow the rows. A pull
gathers one tile after the other into sums, then the rest, and writes what comes of them (`pull_slices` of tiles.cuh,
`pull_sums` of pull.cuh).

A copy takes half to nearly all of what the matrix's indptr and indices do. One that would take more is not kept: a
square matrix and its copy are no more than a matrix and its transpose. There is one at a time. It is made after so many
pulls that others are to be expected, only where memory is ample (and the context does not say "never"), and dropped
when memory is asked back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from spgraph import context
from spgraph.block import MatrixBlock
from spgraph.block.width import index_dtype
from spgraph.engine.shares_cuda import row_shares

__all__ = ["NONE", "Section", "Slices", "Tiles", "Tiling", "most_bytes", "sections_of", "tile_width"]

MOST_TILES = 12
RUNS_BEFORE = 32  # pulls, before the copy is made, which takes as long as forty to seventy save
ROOM = 16  # so many times the bytes of the matrix and of making the copy must be free
MOST = 1.0  # bytes of a copy, against those of the matrix's indptr and indices
LEAST_GAIN = 0.05  # of the time of a pull
LEAST = 1 << 22  # entries
# picoseconds of an H200, fitted to PageRank and bench/results/2026-12-01-h200-tiles.json. Without tiles: an entry whose
# value comes from the L2, from shared memory, a row; with them: an entry of the rest, of a tile, a row of a tile,
# a tile, a row of all
FAR, KEPT, ROW = 6.5, 2.0, 10.0
REST, IN_TILE, OF_ROW, OF_TILE, OF_ALL = 7.2, 1.3, 6.0, 18e6, 20.0
PIECE = 2048  # entries of a row that are one place, at most: a slice's 32 lanes have so many
LANE = PIECE // 32  # of a lane
# rows among which those of like length are put side by side, and whose sums are near each other; with 4,096 the
# trial's PageRank took 2.13 ms an iteration on rmat:24:16, so 2.05
WINDOW = 1 << 16
SPARE_BYTES = 2 << 10  # of shared memory: nothing that a tile needs is left to the cache
WARP = 32
MOST_RUNS = 8  # of columns
SAMPLE, FEW = 1 << 16, 16  # entries of which the columns are counted; elements that are read at a time
WORD = np.dtype(np.uint32)
NONE = {2: 0xFFFF, 1: 0xFFFFFFFF}  # no column, by how many a word has


def tile_width(device: Any, size: int) -> int:
    """Columns of a tile, if a value has so many bytes."""
    return min((device.shared_memory - SPARE_BYTES) // max(size, WORD.itemsize), NONE[2])


def most_bytes(nrows: int, ncols: int, nvals: int) -> int:
    """What a copy takes at most; 0 if there is none, whatever the entries are."""
    if nvals < LEAST or index_dtype(ncols).itemsize != WORD.itemsize:
        return 0
    return int(MOST * ((nrows + 1) * index_dtype(nvals).itemsize + nvals * WORD.itemsize))


class Slices(NamedTuple):
    """The entries of some columns as `pull_slices` reads them."""

    base: int  # what columns are less by: the first one of a tile, else 0
    kept: int  # how many columns there are, if their values are to be kept; else 0
    begins: Any
    slots: Any
    shapes: Any
    rows: Any  # the sum that each place belongs to
    words: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in (self.begins, self.slots, self.shapes, self.rows, self.words))

    @property
    def args(self) -> tuple:
        """What `pull_slices` takes first."""
        return self.begins, self.slots, self.shapes, self.rows.size, self.rows, self.base, self.words


class Section(NamedTuple):
    """Some columns, all of one run."""

    begin: int
    end: int
    reach: int  # so many rows, from the first on; what later ones have there is in the run's last section
    kept: bool  # a tile, not what is left of the run


class Tiles:
    """The copy of a matrix by sections of its columns.

    Parameters
    ----------
    A : MatrixBlock
    sections : list of Section
        All columns, in order.

    Attributes
    ----------
    slices : list of Slices
        The sections.
    splits : array
        Where the sums of the first rows begin, some of which have several, and where those of the others do.
    split : int
        How many rows these are.
    sums : int
        How many sums there are.
    nbytes : int
    """

    __slots__ = ("_numbers", "_pieces", "_rows", "nbytes", "slices", "split", "splits", "sums")

    def __init__(self, A: MatrixBlock, sections: list[Section]):
        device: Any = A.device
        xp, count = device.xp, len(sections)
        ends, reach = (device.to_device(np.array(one, np.int64)) for one in zip(*((s.end, s.reach) for s in sections)))
        cuts = xp.empty((count + 1) * A.nrows, A.indptr.dtype)
        _kernel(device, "cut_rows")(A.nrows, (A.indptr, A.indices, count, ends, reach, cuts))
        cuts = cuts.reshape(count + 1, A.nrows)
        longest = cuts[1] - cuts[0]
        for t in range(1, count):
            longest = xp.maximum(longest, cuts[t + 1] - cuts[t])
        self._split(device, longest)
        self.slices = [
            self._slices(A, one, cuts[t + 1, :one.reach] - cuts[t, :one.reach],
                         A.indptr[:one.reach] + cuts[t, :one.reach])
            for t, one in enumerate(sections)
        ]
        self.nbytes = self.splits.nbytes + sum(one.nbytes for one in self.slices)
        del self._rows, self._numbers, self._pieces

    def _split(self, device: Any, longest: Any) -> None:
        """Cut rows that have more than PIECE entries somewhere."""
        xp = device.xp
        pieces = xp.maximum(-(-longest // PIECE), 1)
        cut = xp.flatnonzero(pieces > 1)
        self.split = int(device.to_host(cut[-1:])[0]) + 1 if cut.size else 0
        pieces = pieces[:self.split].astype(np.int64)
        splits = xp.zeros(self.split + 1, np.int64)
        xp.cumsum(pieces, out=splits[1:])
        more = int(device.to_host(splits[-1:])[0])
        numbers = xp.arange(more, dtype=np.int64)
        self._rows = xp.searchsorted(splits, numbers, side="right") - 1
        self._numbers, self._pieces = numbers - splits[self._rows], pieces[self._rows]
        self.splits, self.sums = splits, longest.size - self.split + more

    def _cut(self, device: Any, lengths: Any, begins: Any) -> tuple[Any, Any]:
        """Lengths and beginnings of what each sum has of the first rows, whose are given."""
        xp, split = device.xp, min(self.split, lengths.size)
        count = int(device.to_host(self.splits[split:split + 1])[0])
        rows, numbers, pieces = self._rows[:count], self._numbers[:count], self._pieces[:count]
        of = lengths[rows].astype(np.int64)
        first, last = of * numbers // pieces, of * (numbers + 1) // pieces
        return (xp.concatenate([(last - first).astype(lengths.dtype), lengths[split:]]),
                xp.concatenate([(begins[rows] + first).astype(begins.dtype), begins[split:]]))

    def _slices(self, A: MatrixBlock, section: Section, lengths: Any, begins: Any) -> Slices:
        device: Any = A.device
        xp = device.xp
        base, kept = (section.begin, section.end - section.begin) if section.kept else (0, 0)
        lengths, begins = self._cut(device, lengths, begins)
        places = xp.flatnonzero(lengths > 0)
        size = lengths[places]
        order = xp.argsort(places // WINDOW * (PIECE + 1) + (PIECE - size))
        rows, size = places[order].astype(index_dtype(self.sums)), size[order]
        blocks = -(-rows.size // WARP)
        padded = xp.zeros(blocks * WARP, size.dtype)
        padded[:size.size] = size
        most = padded.reshape(blocks, WARP).max(axis=1).astype(np.int64)
        lanes, logs = xp.ones(blocks, np.int64), xp.zeros(blocks, np.int64)
        for log in range(1, 6):
            more = most > LANE << log - 1
            lanes[more], logs[more] = 1 << log, log
        per_word = 2 if kept else 1
        width = -(-most // (lanes * per_word))
        ends = xp.cumsum(lanes)
        count = int(device.to_host(ends[-1:])[0]) if blocks else 0
        block = xp.searchsorted(ends, xp.arange(count, dtype=np.int64), side="right")
        number = xp.arange(count, dtype=np.int64) - (ends[block] - lanes[block])
        slots = block * WARP + number * (WARP // lanes[block])
        starts = xp.zeros(count + 1, np.int64)
        xp.cumsum(width[block] * WARP, out=starts[1:])
        words = int(device.to_host(starts[-1:])[0])
        made = Slices(base, kept, starts[:-1].astype(index_dtype(words)), slots.astype(index_dtype(rows.size + WARP)),
                      (width[block] * 8 + logs[block]).astype(np.int32), rows, xp.empty(words, WORD))
        _kernel(device, "fill_slices", PER_WORD=per_word, NONE=f"{NONE[per_word]}u")(
            count, (made.begins, made.slots, made.shapes, begins[rows], size, rows.size, A.indices, base, made.words))
        return made


class Tiling:
    """Whether and when a matrix is cut into tiles of `width` columns, and the copy while there is one.

    Attributes
    ----------
    runs : int
        Pulls that a copy would have been for, since one was last made or there was no room for it.
    """

    __slots__ = ("__weakref__", "_copies", "_fails", "_sections", "_wait", "runs")

    def __init__(self, A: MatrixBlock, width: int, near: list[tuple[int, int]]):
        device: Any = A.device
        self.runs, self._wait, self._fails = 0, RUNS_BEFORE, False
        self._copies = device.kept
        try:
            self._sections = sections_of(A, width, near)
        except MemoryError:
            self._sections = []

    @property
    def made(self) -> Tiles | None:
        """The copy, if it is there."""
        return self._kept.get(self)

    @property
    def _kept(self) -> Any:
        """The device's copies, which go when it releases memory."""
        found = self._copies.get("tiles")
        return self._copies.setdefault("tiles", WeakKeyDictionary()) if found is None else found

    @property
    def usable(self) -> Tiles | None:
        """The copy, if it is there and the context lets pulls use it."""
        made = self.made
        return made if made is not None and context.in_force("tiles") == "auto" else None

    @property
    def due(self) -> bool:
        """Whether the copy is to be made."""
        return (self.runs >= self._wait and bool(self._sections) and not self._fails and self.made is None
                and context.in_force("tiles") == "auto")

    def tiles(self, A: MatrixBlock) -> Tiles:
        """The copy, which was there; one for this pull alone if another thread has dropped it since then."""
        return self.made or Tiles(A, self._sections)

    def make(self, A: MatrixBlock) -> None:
        """Make the copy, instead of one for values of another size, if memory is ample.

        Else not for as many runs again; never if memory ran out meanwhile, or if the copy takes too much of it.
        """
        device: Any = A.device
        self.runs = 0
        nbytes = A.indices.nbytes + (len(self._sections) + 4) * A.indptr.nbytes  # about, with what making it takes
        if ROOM * nbytes > (device.memory().free or 0):
            return
        replaced = self._drop_others(A)
        try:
            tiles = Tiles(A, self._sections)
        except MemoryError:
            self._fails = True
            return
        self._fails = tiles.nbytes > MOST * (A.indptr.nbytes + A.indices.nbytes)
        if self._fails:
            return
        for other in replaced:
            other._wait *= 2  # before it replaces this one
        self._kept[self] = tiles
        self._drop_others(A)  # which another thread may have made

    def _drop_others(self, A: MatrixBlock) -> list[Tiling]:
        """Forget copies for values of other sizes; who had one."""
        return [other for other in list(row_shares(A).tilings.values())
                if other is not self and other._kept.pop(other, None) is not None]


def _kernel(device: Any, name: str, **consts: Any) -> Any:
    key = "tiles", name, *consts.values()
    found = device.kernels.get(key)
    if found is None:
        found = device.kernels[key] = device.kernel(f"tiles.{name}", consts, {})
    return found


def _read(device: Any, array: Any) -> np.ndarray:
    """A short array on the host, by few elements, which a device lets be copied; see `Context(host_copies=)`."""
    return np.concatenate([device.to_host(array[at:at + FEW]) for at in range(0, array.size, FEW)])


def sections_of(A: MatrixBlock, width: int, near: list[tuple[int, int]]) -> list[Section]:
    """The tiles that pay, and what they leave of each run of columns by falling degree; none if they do not.

    A pull without them keeps the values of the columns that are `near` (begins and ends) in shared memory.
    """
    device: Any = A.device
    xp = device.xp
    runs = list(pairwise([*A.cols.runs, A.ncols]))
    tiles = [range(begin, end - width + 1, width)[:MOST_TILES] for begin, end in runs]
    if A.nvals < LEAST or len(runs) > MOST_RUNS or not any(tiles) or A.indices.itemsize != WORD.itemsize:
        return []
    sample = xp.sort(A.indices[::A.nvals // SAMPLE | 1])  # odd: rows of one length would show the same place of each
    begins = [begin for found in tiles for begin in found]
    at = np.array([*begins, *(begin + width for begin in begins), *(begin for begin, _ in near),
                   *(end for _, end in near)], A.indices.dtype)
    before, after, *kept = np.split(_read(device, xp.searchsorted(sample, device.to_device(at))) / sample.size,
                                    np.cumsum([len(begins), len(begins), len(near)]))
    kept = (kept[1] - kept[0]).sum() * A.nvals
    shares = np.maximum(after - before, 1 / sample.size)
    lengths = A.indptr[1:] - A.indptr[:-1]
    needed = np.ceil(OF_ROW / (REST - IN_TILE) / shares).astype(np.int64)
    reach = _read(device, xp.stack([(lengths >= int(one)).sum() for one in needed]))
    last = np.cumsum([len(found) for found in tiles])
    for mine in np.split(reach, last[:-1]):  # no tile has more rows than the one before
        mine[:] = np.maximum.accumulate(mine[::-1])[::-1]
    entries = shares * _read(device, A.indptr[device.to_device(reach)])
    gains = np.split(entries * (REST - IN_TILE) - reach * OF_ROW - OF_TILE, last[:-1])
    made, gain = [], 0.0
    for (begin, end), found, rows, of in zip(runs, tiles, np.split(reach, last[:-1]), gains):
        sums = np.cumsum(of)
        count = int(sums.argmax()) + 1 if len(found) and sums.max() > 0 else 0
        count = min(count, int(np.count_nonzero(rows)))
        gain += sums[count - 1] if count else 0.0
        made += [Section(at, at + width, int(one), True) for at, one in zip(found[:count], rows)]
        made.append(Section(begin + width * count, end, A.nrows, False))  # also what later rows have in tiles
    alone = FAR * (A.nvals - kept) + KEPT * kept + ROW * A.nrows
    tiled = REST * A.nvals - gain + OF_ALL * A.nrows
    return made if any(one.kept for one in made) and alone - tiled > LEAST_GAIN * alone else []
