"""From the edges of a file or generator to a CSR without duplicates, with a report.

Nothing is dropped, merged or added unless the caller (or, for a symmetric
Matrix Market file, the format) says so; what was, is counted.

Cost: one sort of the packed (row, column) keys, none if they come sorted. Where several processes have a share of the
edges each, an edge goes to the one that has its row, in the order of the input; rows are shared out by their entries.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.block.width import index_dtype
from spgraph.io._fold import check_dup_op, checked_cast, fold
from spgraph.io._keys import (
    KEY_BITS,
    bits_for,
    distinct,
    first_of_runs,
    offsets,
    sort_keys,
    sort_with_positions,
    unpack,
)
from spgraph.io._ranks import ALONE, Alone
from spgraph.io._report import Report

__all__ = ["Csr", "Edges", "below_shares", "even_rows", "invalid", "tidy", "to_holders"]

HOW_TO_COMBINE = 'say how to combine them: dup_op="min", "max", "plus", "first", "last" or a binary operator'


def invalid(source: str) -> Callable[[int | None, str], Exception]:
    """What `Edges.fail` is where no file stands behind the edges."""

    def fail(entry, message):
        return InvalidValue(
            f"{source}: {message}" if entry is None else f"{source}: entry {entry}: {message}"
        )

    return fail


@dataclass
class Edges:
    """Edges as they came.

    Parameters
    ----------
    rows, cols : ndarray of int
    values : ndarray or NumPy scalar
        A scalar when all edges have the same value.
    nrows, ncols : int
    source : str
        For the report.
    fail : callable (entry or None, message) -> Exception
        Makes the error that points at an entry.
    mirror : {None, "symmetric", "skew-symmetric"}
        The format stores one entry for two.
    labels : ndarray or None
        Original ids.
    notes : tuple of str
    numbered_from : int
        What the format calls vertex 0.
    ranks : Alone
        The processes that have a share of the edges each; these are those of this one.
    taker : str
        What to call with `dup_op`, where it may not be what the caller has called.
    """

    rows: np.ndarray
    cols: np.ndarray
    values: Any
    nrows: int
    ncols: int
    source: str
    fail: Callable[[int | None, str], Exception]
    mirror: str | None = None
    labels: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    numbered_from: int = 0
    ranks: Alone = ALONE
    taker: str = ""

    @property
    def iso(self) -> bool:
        """Whether one value stands for all."""
        return np.ndim(self.values) == 0

    @property
    def hint(self) -> str:
        """What to do about duplicates."""
        return HOW_TO_COMBINE + (f", in {self.taker}(..., dup_op=...)" if self.taker else "")

    def name_of(self, vertex: int):
        """What the input calls a vertex."""
        return self.labels[vertex] if self.labels is not None else vertex + self.numbered_from


@dataclass
class Csr:
    """A matrix as arrays: rows sorted by column, no duplicates.

    ``values`` is a NumPy scalar when all entries are equal; ``symmetric`` is
    True where that is known, else None. Where several processes share the matrix, process r has the rows
    ``cuts[r]..cuts[r + 1]``, and the report is of all.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: Any
    nrows: int
    ncols: int
    symmetric: bool | None
    report: Report
    labels: np.ndarray | None = None
    cuts: np.ndarray | None = None


def tidy(edges: Edges, *, drop_self_loops=False, symmetrize=False, dup_op=None, dtype=None) -> Csr:
    """Cast, drop, merge and mirror as asked, and sort into a CSR.

    Parameters
    ----------
    edges : Edges
    drop_self_loops : bool
    symmetrize : bool
        Store every edge in both directions. Where the input has both, they must
        agree in value, or `dup_op` combines them (above the diagonal first).
    dup_op : str or binary operator, optional
        Combines duplicates in the order of the input; without one they raise. Those of a skew-symmetric format combine
        below the diagonal, before they are mirrored.
    dtype : optional
        Type of the values; a value that it cannot hold raises.

    Returns
    -------
    Csr
    """
    from spgraph._room import making
    from spgraph.context import HOST

    with making(edges.source, HOST):
        HOST.check_size(8 * (edges.nrows + 1))
        return _tidy(edges, drop_self_loops, symmetrize, check_dup_op(dup_op, edges.source), dtype)


def _tidy(edges: Edges, drop_self_loops, symmetrize, dup_op, dtype) -> Csr:
    if symmetrize and edges.nrows != edges.ncols:
        raise edges.fail(None, f"symmetrize needs a square matrix, this one is {edges.nrows} x {edges.ncols}")
    if bits_for(edges.nrows) + bits_for(edges.ncols) > KEY_BITS:
        return _tidy_wide(edges, drop_self_loops, symmetrize, dup_op, dtype)
    read = edges.rows.size
    dropped = added = 0
    if drop_self_loops:
        keep = edges.rows != edges.cols
        dropped = read - int(np.count_nonzero(keep))
        if dropped:
            edges = _take(edges, np.flatnonzero(keep))
    if edges.mirror:
        added = -edges.rows.size
        edges = _unfold(edges)
        added += edges.rows.size
    if dtype is not None:
        edges = replace(edges, values=checked_cast(edges.values, dtype, edges.fail))
    ranks = edges.ranks
    merged_below = 0
    if edges.mirror == "skew-symmetric" and dup_op is not None:
        merged_below = edges.rows.size
        edges = _merge_below(edges, dup_op)
        merged_below -= edges.rows.size
    cuts = even_rows(ranks, edges.rows, edges.nrows)
    edges, merged = _merge(edges, cuts, dup_op)
    merged += merged_below
    symmetric = edges.mirror == "symmetric" or None
    if symmetrize and not symmetric:
        added -= edges.rows.size
        edges = _symmetrize(edges, cuts, dup_op)
        added += edges.rows.size
        symmetric = True
    first, last = cuts[ranks.rank : ranks.rank + 2].tolist()
    indptr = offsets(edges.rows - first if first else edges.rows, last - first)
    indices = edges.cols.astype(index_dtype(edges.ncols), copy=False)
    read, dropped, merged, added, stored = ranks.total(np.array([read, dropped, merged, added, indices.size])).tolist()
    report = Report(
        edges.source,
        (edges.nrows, edges.ncols),
        read,
        dropped,
        merged,
        added,
        stored,
        notes=edges.notes,
        numbered_from=edges.numbered_from,
    )
    shared = cuts if ranks.count > 1 else None
    return Csr(indptr, indices, edges.values, edges.nrows, edges.ncols, symmetric, report, edges.labels, shared)


def even_rows(ranks: Alone, rows: np.ndarray, nrows: int) -> np.ndarray:
    """Where each process's rows begin, and their end, if they are to have about equal entries."""
    if ranks.count == 1:
        return np.array([0, nrows])
    after = np.cumsum(ranks.total(np.bincount(rows, minlength=nrows)))
    return np.concatenate(([0], below_shares(ranks, after, int(after[-1]) if nrows else 0), [nrows]))


def below_shares(ranks: Alone, after: np.ndarray, total: int) -> np.ndarray:
    """How many rows end before each process's equal share of `total` entries begins, but for the first's.

    `after` says for some rows how many entries lie in all rows up to there.
    """
    return np.searchsorted(after, total * np.arange(1, ranks.count) // ranks.count)


def to_holders(ranks: Alone, cuts: np.ndarray, rows: np.ndarray, *columns: np.ndarray) -> tuple[list, np.ndarray]:
    """Send entries to the processes that have their rows.

    Returns
    -------
    list of array
        Rows and columns that came, in the order of their senders, who keep theirs.
    array of int
        How many came from each.
    """
    holder = (np.searchsorted(cuts[1:-1], rows, side="right")).astype(np.min_scalar_type(ranks.count))
    order = np.argsort(holder, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(holder, minlength=ranks.count))))
    sent = [array[order] for array in (rows, *columns)]
    came = ranks.exchange([tuple(array[a:b] for array in sent) for a, b in itertools.pairwise(bounds)])
    return [np.concatenate(arrays) for arrays in zip(*came)], np.array([message[0].size for message in came])


def _tidy_wide(edges: Edges, drop_self_loops, symmetrize, dup_op, dtype) -> Csr:
    """`tidy` where (row, column) does not fit a key: on the ids in use, numbered by rank."""
    ranks = edges.ranks
    used = ranks.distinct(distinct(np.concatenate((edges.rows, edges.cols))))
    rows, cols = np.searchsorted(used, edges.rows), np.searchsorted(used, edges.cols)
    names = used + edges.numbered_from if edges.labels is None else edges.labels[used]
    compact = replace(edges, rows=rows, cols=cols, nrows=used.size, ncols=used.size, labels=names)
    csr = _tidy(compact, drop_self_loops, symmetrize, dup_op, dtype)
    first, last, own = 0, edges.nrows, used
    cuts = None
    if csr.cuts is not None:
        inner = np.append(used, edges.nrows)[csr.cuts[1:-1]]
        cuts = np.concatenate(([0], np.minimum(inner, edges.nrows), [edges.nrows]))
        first, last = cuts[ranks.rank : ranks.rank + 2].tolist()
        own = used[csr.cuts[ranks.rank] : csr.cuts[ranks.rank + 1]]
    indptr = np.zeros(last - first + 1, csr.indptr.dtype)
    own = own[own < edges.nrows]
    indptr[own - first + 1] = np.diff(csr.indptr)[: own.size]
    np.cumsum(indptr, out=indptr)
    shape = (edges.nrows, edges.ncols)
    return replace(
        csr,
        indptr=indptr,
        indices=used[csr.indices].astype(index_dtype(edges.ncols), copy=False),
        nrows=edges.nrows,
        ncols=edges.ncols,
        labels=edges.labels,
        report=replace(csr.report, vertices=shape),
        cuts=cuts,
    )


def _take(edges: Edges, kept: np.ndarray) -> Edges:
    """The edges with these numbers; errors still name the numbers of the input."""
    fail = edges.fail
    return replace(
        edges,
        rows=edges.rows[kept],
        cols=edges.cols[kept],
        values=edges.values if edges.iso else edges.values[kept],
        fail=lambda entry, message: fail(entry if entry is None else int(kept[entry]), message),
    )


def _unfold(edges: Edges) -> Edges:
    """Write out the entries that a symmetric format leaves out, each behind its twin.

    So (u, v) and (v, u) meet their duplicates in the same order, and stay equal
    whatever operator combines them.
    """
    numbers = np.repeat(np.arange(edges.rows.size), 1 + (edges.rows != edges.cols))
    twin = np.flatnonzero(numbers[1:] == numbers[:-1]) + 1
    both = _take(edges, numbers)
    both.rows[twin], both.cols[twin] = both.cols[twin], both.rows[twin]
    if edges.mirror == "skew-symmetric":
        _check_negatives(edges)
        both.values[twin] = _negative(both.values[twin])
    return both


def _negative(values: np.ndarray) -> np.ndarray:
    """Of the other ends of skew-symmetric entries; of truth values, which have no sign, only False comes here."""
    return values if values.dtype.kind == "b" else -values


def _check_negatives(edges: Edges) -> None:
    """Raise where the type of the values does not hold the negative of one."""
    values, kind = edges.values, edges.values.dtype.kind
    if kind == "f" or not (values == np.iinfo(values.dtype).min if kind == "i" else values != 0).any():
        return
    at = int(values.argmin() if kind == "i" else values.argmax())
    bits, unsigned = 8 * values.dtype.itemsize, "" if kind == "i" else f" of {values.dtype}, which has no sign"
    raise edges.fail(at, f"skew-symmetric: -({values[at]}) does not fit in {bits} bits{unsigned}")


def _merge_below(edges: Edges, dup_op) -> Edges:
    """What `_unfold` made of skew-symmetric entries, combined below the diagonal and then mirrored.

    So an operator that does not commute with the sign, such as the minimum, leaves the matrix skew-symmetric.
    """
    below = _take(edges, np.flatnonzero(edges.rows >= edges.cols))
    below, _ = _merge(below, even_rows(edges.ranks, below.rows, edges.nrows), dup_op)
    mirror = "symmetric" if below.values.dtype.kind == "b" else below.mirror
    both = _unfold(replace(below, mirror=mirror, fail=lambda _, message: edges.fail(None, message)))
    return replace(both, mirror=edges.mirror)


def _keys(rows, cols, ncols: int) -> np.ndarray:
    keys = rows.astype(np.int64)
    keys <<= bits_for(ncols)
    keys |= cols
    return keys


def _merge(edges: Edges, cuts: np.ndarray, dup_op, agree: bool = False) -> tuple[Edges, int]:
    """The edges of the own rows, sorted and without duplicates, and how many had one.

    These must `agree` in value if so said.
    """
    ranks = edges.ranks
    rows, cols, values = edges.rows, edges.cols, edges.values
    came = np.array([rows.size])
    if ranks.count > 1:
        (rows, cols, *more), came = to_holders(ranks, cuts, rows, cols, *(() if edges.iso else (values,)))
        values = more[0] if more else values
    bits = bits_for(edges.ncols)
    keys = _keys(rows, cols, edges.ncols)
    order = None
    if edges.iso:
        sort_keys(keys)
    else:
        keys, order = sort_with_positions(keys, bits + bits_for(edges.nrows))
        values = values if order is None else values[order]
    first = first_of_runs(keys)
    if dup_op is None and any(ranks.gather(not first.all())):
        raise _duplicate_error(edges, cuts, rows, cols, came)
    if agree:
        _check_agreement(keys, values, bits, edges)
    if not first.all():
        values = fold(values, np.flatnonzero(first), keys.size, dup_op, edges.fail)
    kept = int(np.count_nonzero(first))
    if edges.iso and not all(ranks.gather(np.ndim(values) == 0)):
        values = np.broadcast_to(values, (kept,))  # it was combined by some, and is not one for all any more
    rows, cols = unpack(keys, bits, first, index_dtype(max(edges.nrows, edges.ncols)))
    return replace(edges, rows=rows, cols=cols, values=values), keys.size - kept


def _duplicate_error(edges: Edges, cuts: np.ndarray, rows, cols, came: np.ndarray) -> Exception:
    """What all processes raise: about the first pair of the input that was there before."""
    ranks = edges.ranks
    keys = _keys(rows, cols, edges.ncols)
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    places = order[again + 1]  # of what came
    sender = np.searchsorted(np.cumsum(came), places, side="right")
    place = places - (np.cumsum(came) - came)[sender]
    # for each sender the first, as the place among what it sent here
    firsts = {rank: int(place[sender == rank].min()) for rank in np.unique(sender).tolist()}
    told = ranks.gather((firsts, again.size))
    count = sum(number for _, number in told)
    holder = np.searchsorted(cuts[1:-1], edges.rows, side="right")
    mine = [
        int(np.flatnonzero(holder == rank)[found[ranks.rank]])
        for rank, (found, _) in enumerate(told)
        if ranks.rank in found
    ]
    if not mine:
        ranks.gather(None)  # raises what another says
    second = min(mine)
    pair = f"({edges.name_of(edges.rows[second])}, {edges.name_of(edges.cols[second])})"
    shown = f"{count:,} duplicate{'s' * (count > 1)} in all"
    says = "the graph is undirected" if edges.taker else f"the file says {edges.mirror}"
    mirrored = f"; {says}, so an entry stands for two" if edges.mirror else ""
    return edges.fail(second, f"the pair {pair} was there before ({shown}); {edges.hint}{mirrored}")


def _symmetrize(edges: Edges, cuts: np.ndarray, dup_op) -> Edges:
    """A united with its transpose; where both have an entry, that above the diagonal comes first."""
    above_first = _take(edges, np.argsort(edges.rows > edges.cols, kind="stable"))
    both = _unfold(replace(above_first, mirror="symmetric"))
    # a process with earlier rows has the edges above the diagonal of those with later ones
    return _merge(both, cuts, dup_op or check_dup_op("first", edges.source), agree=dup_op is None)[0]


def _check_agreement(keys, values, bits: int, edges: Edges) -> None:
    if np.ndim(values) == 0:
        return
    one, other = values[:-1], values[1:]
    differ = (keys[1:] == keys[:-1]) & (one != other) & ((one == one) | (other == other))
    if not differ.any():
        return
    at = int(differ.argmax())
    row, col = (
        edges.name_of(number) for number in (int(keys[at]) >> bits, int(keys[at]) & ((1 << bits) - 1))
    )
    conflict = f"({row}, {col}) is {values[at]} but ({col}, {row}) is {values[at + 1]}"
    raise edges.fail(None, f"symmetrize: {conflict}; {edges.hint}")
