"""Counting sorts: the transpose, permutations of rows and columns, building from coordinates.

Method: a stable counting sort by key in two steps, since scattering by a large key
misses the cache at every entry. Entries are first dealt into about 1,024 buckets of
neighbouring keys (each thread deals its part of the input, in order), then each
bucket, which fits the cache, is counted and sorted on its own. A small range of keys
needs the first step only. Transposing a CSR is one such sort by column; sorting
coordinates by (row, column) is two, and so is sorting within rows.

Data encoding: CSR (indptr, indices, values), where values None means that there are
none to move (all are equal); results have 32-bit integers where they fit.
Cost: about 10 ns per entry and sort on two threads (31 M entries, 2-core EPYC).

What is too little to be worth compiling is sorted by NumPy instead.
"""

from __future__ import annotations

import functools

import numpy as np

from spgraph.kernels.cpu._pieces import NOTHING, given, narrow, produce_rows, row_offsets
from spgraph.kernels.cpu._specialise import get_kernel
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_for, split_rows, threads

__all__ = [
    "combine_duplicates",
    "coo_to_csr",
    "count_duplicates",
    "gather_rows",
    "own_first",
    "permute_csr",
    "row_numbers",
    "sort_rows",
    "transpose_csr",
]

SINGLE = 4096  # keys up to which one step serves
BUCKETS = 1024


# ---- kernels ------------------------------------------------------------------
def bucket_count(lo, hi, cuts, keys, key_map, shift, counts):
    """counts[part, bucket] of entries cuts[part]..cuts[part + 1]."""
    for part in range(lo, hi):
        for p in range(cuts[part], cuts[part + 1]):
            key = keys[p]
            if MAPPED:
                key = key_map[key]
            counts[part, key >> shift] += 1


def bucket_deal(lo, hi, cuts, indptr, payload, keys, key_map, values, shift, offsets,
                out_keys, out_payload, out_values):
    """Move each entry to the next place of its bucket (of its key, when FINAL).

    The payload of an entry is its row when CSR (parts are ranges of rows then).
    """
    for part in range(lo, hi):
        for i in range(cuts[part], cuts[part + 1]):
            first = i
            last = i + 1
            if CSR:
                first = indptr[i]
                last = indptr[i + 1]
            for p in range(first, last):
                key = keys[p]
                if MAPPED:
                    key = key_map[key]
                bucket = key >> shift
                q = offsets[part, bucket]
                offsets[part, bucket] = q + 1
                if not FINAL:
                    out_keys[q] = key
                if CSR:
                    out_payload[q] = i
                else:
                    out_payload[q] = payload[i]
                if VALUES:
                    out_values[q] = values[p]


def bucket_sort(lo, hi, starts, keys, payload, values, shift, nkeys, indptr, out_payload, out_values):
    """Sort buckets lo..hi by key; indptr[key + 1] counts, then runs, and ends as the end of `key`."""
    for bucket in range(lo, hi):
        first = bucket << shift
        last = min(nkeys, (bucket + 1) << shift)
        for key in range(first, last):
            indptr[key + 1] = 0
        for p in range(starts[bucket], starts[bucket + 1]):
            indptr[keys[p] + 1] += 1
        position = starts[bucket]
        for key in range(first, last):
            count = indptr[key + 1]
            indptr[key + 1] = position
            position += count
        for p in range(starts[bucket], starts[bucket + 1]):
            key = keys[p] + 1
            q = indptr[key]
            indptr[key] = q + 1
            out_payload[q] = payload[p]
            if VALUES:
                out_values[q] = values[p]


def rows_gather(lo, hi, source, indptr, indices, values, out_indptr, out_indices, out_values):
    """Row i of the result is row source[i]."""
    for i in range(lo, hi):
        q = out_indptr[i]
        for p in range(indptr[source[i]], indptr[source[i] + 1]):
            out_indices[q] = indices[p]
            if VALUES:
                out_values[q] = values[p]
            q += 1


def rows_own_first(lo, hi, indptr, indices, values, first, last, target, out_indices, out_values):
    """In each row the columns first..last, then those before, then those after; column j becomes target[j]."""
    for i in range(lo, hi):
        begin = indptr[i]
        end = indptr[i + 1]
        own = begin
        while own < end and indices[own] < first:
            own += 1
        after = own
        while after < end and indices[after] < last:
            after += 1
        for p in range(begin, end):
            q = p
            if p < own:
                q = p + (after - own)
            elif p < after:
                q = p - (own - begin)
            out_indices[q] = target[indices[p]]
            if VALUES:
                out_values[q] = values[p]


def coo_disorder(lo, hi, rows, cols):
    """1 if a position p in lo..hi comes before p - 1 by (row, column), else 0."""
    for p in range(max(lo, 1), hi):
        if rows[p] < rows[p - 1] or (rows[p] == rows[p - 1] and cols[p] < cols[p - 1]):
            return 1
    return 0


def rows_repeats(lo, hi, indptr, indices):
    """How many entries repeat the one before them in their row."""
    count = 0
    for i in range(lo, hi):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            if indices[p] == indices[p - 1]:
                count += 1
    return count


def rows_combine(lo, hi, indptr, indices, values, counts, out_indices, out_values):
    """Merge equal neighbours of each row by DUP, left to right."""
    q = 0
    for i in range(lo, hi):
        start = q
        p = indptr[i]
        end = indptr[i + 1]
        while p < end:
            j = indices[p]
            if VALUES:
                s = values[p]
            p += 1
            while p < end and indices[p] == j:
                if VALUES:
                    t = values[p]
                    s = DUP(s, t)
                p += 1
            out_indices[q] = j
            if VALUES:
                out_values[q] = s
            q += 1
        counts[i] = q - start
    return q


# ---- the sort -----------------------------------------------------------------
@functools.cache
def _kernel(template, dup=None, **flags):
    return get_kernel(template, flags, {} if dup is None else {"DUP": dup})


def _stable_order(keys, nkeys):
    return np.argsort(keys.astype(np.uint16) if nkeys <= 2**16 else keys, kind="stable")


def _offsets(counts):
    """Where each (part, key) begins, keys first, and the totals' running sum."""
    ends = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=ends[1:])
    before = np.cumsum(counts, axis=0) - counts
    return before + ends[:-1], ends


def _parts(indptr, nvals):
    """Cuts of the rows (or of the entries, without indptr) into parts of equal work."""
    parts = threads() if nvals >= PARALLEL_WORK else 1
    shares = np.arange(parts + 1) * nvals // parts
    if indptr is None:
        return shares, shares
    cuts = np.searchsorted(indptr, shares)
    cuts[0], cuts[-1] = 0, indptr.size - 1
    return cuts, indptr[cuts]


def _counting_sort(nkeys, keys, key_map, payload, npayload, indptr, values):
    """Sort entries by key, stably: (offsets of keys, payload, values).

    With `indptr` the entries are those of a CSR and the payload is their row.
    """
    nvals = keys.size
    shift = 0
    while nkeys > SINGLE and (nkeys >> shift) > BUCKETS:
        shift += 1
    mapped, valued = key_map is not None, values is not None
    deal = _kernel(bucket_deal, MAPPED=mapped, VALUES=valued, CSR=indptr is not None, FINAL=shift == 0)
    if not deal.ready(2 * nvals):
        return _numpy_sort(nkeys, keys, key_map, payload, npayload, indptr, values)
    key_map = given(key_map)
    cuts, entry_cuts = _parts(indptr, nvals)
    parts = [(part, part + 1) for part in range(cuts.size - 1)]
    buckets = ((nkeys - 1) >> shift) + 1 if nkeys else 0
    counts = np.zeros((len(parts), buckets), np.int64)
    count = _kernel(bucket_count, MAPPED=mapped)
    parallel_for(count, parts, nvals, (entry_cuts, keys, key_map, shift, counts))
    offsets, ends = _offsets(counts)
    dealt_payload = np.empty(nvals, narrow(npayload))
    dealt_values = np.empty_like(values) if values is not None else NOTHING
    dealt_keys = np.empty(nvals if shift else 0, narrow(nkeys))
    parallel_for(deal, parts, nvals, (
        cuts, given(indptr), given(payload), keys, key_map, given(values), shift, offsets,
        dealt_keys, dealt_payload, dealt_values))
    if not shift:
        return ends.astype(narrow(nvals)), dealt_payload, None if values is None else dealt_values
    out_indptr = np.zeros(nkeys + 1, narrow(nvals))
    out_payload = np.empty_like(dealt_payload)
    out_values = np.empty_like(dealt_values)
    finish = _kernel(bucket_sort, VALUES=valued)
    parallel_for(finish, split_rows(ends, nvals), nvals, (
        ends, dealt_keys, dealt_payload, dealt_values, shift, nkeys, out_indptr, out_payload, out_values))
    return out_indptr, out_payload, None if values is None else out_values


def _numpy_sort(nkeys, keys, key_map, payload, npayload, indptr, values):
    if key_map is not None:
        keys = key_map[keys]
    order = _stable_order(keys, nkeys)
    if indptr is not None:
        payload = np.repeat(np.arange(indptr.size - 1, dtype=narrow(npayload)), np.diff(indptr))
    ends = np.zeros(nkeys + 1, narrow(keys.size))
    np.cumsum(np.bincount(keys, minlength=nkeys), out=ends[1:])
    payload = payload[order].astype(narrow(npayload), copy=False)
    return ends, payload, None if values is None else values[order]


# ---- on CSR -------------------------------------------------------------------
def row_numbers(indptr, nvals):
    """The row of each of the `nvals` entries, int64."""
    return np.repeat(np.arange(indptr.size - 1, dtype=np.int64), np.diff(indptr))


def transpose_csr(nrows, ncols, indptr, indices, values, col_target=None):
    """The CSR of the transpose, rows sorted, whether or not those of the input are.

    Parameters
    ----------
    nrows, ncols : int
        Shape of the input.
    indptr, indices, values
        The input's CSR; values may be None.
    col_target : ndarray, optional
        New number of each column, a permutation.

    Returns
    -------
    indptr, indices, values
        Equal entries stay in the order of their rows; values is None if it was.
    """
    return _counting_sort(ncols, indices, col_target, None, nrows, indptr, values)


def sort_rows(nrows, ncols, indptr, indices, values, col_target=None):
    """The same rows, each sorted by (mapped) column; equal columns stay in order."""
    turned = transpose_csr(nrows, ncols, indptr, indices, values, col_target)
    return transpose_csr(ncols, nrows, *turned)


def gather_rows(indptr, indices, values, source):
    """The CSR whose row i is row source[i] of the input; rows may repeat."""
    lengths = np.diff(indptr)[source]
    out_indptr = row_offsets(lengths)
    nvals = int(out_indptr[-1])
    kernel = _kernel(rows_gather, VALUES=values is not None)
    if not kernel.ready(nvals):
        take = np.repeat(indptr[source] - out_indptr[:-1], lengths) + np.arange(nvals)
        return out_indptr, indices[take], None if values is None else values[take]
    out_indices = np.empty(nvals, indices.dtype)
    out_values = NOTHING if values is None else np.empty(nvals, values.dtype)
    parallel_for(kernel, split_rows(out_indptr, nvals), nvals, (
        source, indptr, indices, given(values), out_indptr, out_indices, out_values))
    return out_indptr, out_indices, None if values is None else out_values


def permute_csr(nrows, ncols, indptr, indices, values, row_source, col_target):
    """Row i of the result is row row_source[i] with columns mapped by col_target, sorted.

    Either may be None (nothing moves); both are permutations.
    """
    if row_source is not None:
        indptr, indices, values = gather_rows(indptr, indices, values, row_source)
    if col_target is not None:
        indptr, indices, values = sort_rows(nrows, ncols, indptr, indices, values, col_target)
    return indptr, indices, values


def own_first(nrows, ncols, indptr, indices, values, first, last, target):
    """Columns mapped by `target`, which keeps their order but for first..last, which become 0, 1, ...

    Rows stay sorted.
    """
    kernel = _kernel(rows_own_first, VALUES=values is not None)
    out_indices = np.empty(indices.size, target.dtype)
    out_values = NOTHING if values is None else np.empty(indices.size, values.dtype)
    parallel_for(kernel, split_rows(indptr, indices.size), indices.size, (
        indptr, indices, given(values), first, last, target, out_indices, out_values))
    return indptr, out_indices, None if values is None else out_values


# ---- from coordinates ---------------------------------------------------------
def coo_to_csr(nrows, ncols, rows, cols, values):
    """CSR of coordinates in any order; duplicates stay, side by side in the order given.

    Parameters
    ----------
    nrows, ncols : int
    rows, cols : ndarray of int, shape (n,)
        Within range; not checked.
    values : ndarray or None

    Returns
    -------
    indptr, indices, values
        Of already sorted input, `values` itself; see also `count_duplicates` and
        `combine_duplicates`.
    """
    if _in_order(rows, cols):
        indptr = np.zeros(nrows + 1, narrow(rows.size))
        np.cumsum(np.bincount(rows, minlength=nrows), out=indptr[1:])
        return indptr, cols.astype(narrow(ncols), copy=False), values
    if rows.size < min(nrows, ncols) // 8:  # mostly empty rows and columns: compare instead of counting
        order = np.lexsort((cols, rows))
        return coo_to_csr(nrows, ncols, rows[order], cols[order], None if values is None else values[order])
    turned = _counting_sort(ncols, cols, None, rows, nrows, None, values)
    return transpose_csr(ncols, nrows, *turned)


def _in_order(rows, cols):
    kernel = _kernel(coo_disorder)
    if not kernel.ready(rows.size):
        later = rows[1:] > rows[:-1]
        return bool(np.all(later | ((rows[1:] == rows[:-1]) & (cols[1:] >= cols[:-1]))))
    return not kernel(rows.size, 0, rows.size, rows, cols)


def count_duplicates(indptr, indices) -> int:
    """How many entries of sorted rows repeat the one before them."""
    kernel = _kernel(rows_repeats)
    if not kernel.ready(indices.size):
        same = indices[1:] == indices[:-1]
        starts = indptr[1:-1]
        same[starts[(starts > 0) & (starts < indices.size)] - 1] = False
        return int(np.count_nonzero(same))
    return sum(parallel_for(kernel, split_rows(indptr, indices.size), indices.size, (indptr, indices)))


def combine_duplicates(indptr, indices, values, dup):
    """Merge neighbours of equal column, left to right.

    Parameters
    ----------
    indptr, indices, values
        Sorted rows; values may be None.
    dup : tuple (Expr, ("x", "y")) or None
        The operator over values of their dtype; None when there are no values.
    """
    kernel = _kernel(rows_combine, dup, VALUES=values is not None)
    return produce_rows(kernel, indices.size, (indptr, indices, given(values)), indptr, indices.dtype,
                        None if values is None else values.dtype)
