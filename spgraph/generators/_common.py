"""What all generators share: checked arguments, drawn weights, the last steps.

Under ``mpiexec`` each process makes a share of the edges and sends them to those that have their rows. Random streams
belong to chunks of edges, and weights to pairs of vertices, so that the graph is that of one process, bit by bit.
"""

from __future__ import annotations

import operator
import os
from itertools import pairwise

import numpy as np

from semirings import dtypes
from semirings.exceptions import DomainMismatch, InvalidValue, OutOfMemory
from spgraph.io._coo import Csr, even_rows
from spgraph.io._keys import PIECE, bits_for, first_of_runs, in_threads, offsets, sort_keys, unpack
from spgraph.io._ranks import Alone, loading_ranks, on_this_machine
from spgraph.io._report import Report

__all__ = ["Weights", "check_count", "check_memory", "from_keys", "stream"]

BYTES_PER_EDGE = 24  # keys of 8 bytes, sorted out of place, and the columns; weights come on top
BYTES_PER_VERTEX = 12
WEIGHTS = 1 << 32  # spawn keys below number the chunks of edges


def check_count(value, name: str, where: str, low: int = 0, high: int = 2**31) -> int:
    """An integer argument within low..high."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidValue(f"{where}: {name}: got {value!r}, wanted an integer") from None
    if not low <= number <= high:
        raise InvalidValue(f"{where}: {name}: got {number}, wanted {low}..{high}")
    return number


def check_memory(where: str, vertices: int, edges: int) -> None:
    """Refuse a graph that can't be built in this machine's memory, before anything is drawn."""
    count = loading_ranks().count
    here = min(on_this_machine(), count)
    need = BYTES_PER_EDGE * edges * here // count + BYTES_PER_VERTEX * vertices * here
    try:
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if need > have:
        error = OutOfMemory(
            f"{where}: {vertices:,} vertices and {edges:,} edges need at least {need / 2**30:,.1f} GiB while they are "
            f"built, but this machine has {have / 2**30:,.1f} GiB; ask for fewer"
        )
        error.is_told = True  # type: ignore[attr-defined]  # nothing is to be added
        raise error


def stream(seed: int, number: int) -> np.random.Generator:
    """Random numbers of their own for each (seed, number)."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(number,))))


class Weights:
    """How the values of the edges are chosen.

    Parameters
    ----------
    spec : None, "int", "uniform" or (lo, hi)
        None: True for every edge; "int": integers 1..64; (lo, hi): integers
        lo..hi, both included; "uniform": floats in [0, 1).
    dtype : optional
        Default: BOOL, INT64 and FP64.
    seed : int
    where : str
    """

    def __init__(self, spec, dtype, seed: int, where: str):
        self.salt = stream(seed, WEIGHTS).integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True)
        self.where = where
        if isinstance(spec, str) and spec == "int":
            spec = (1, 64)
        self.range = None
        if isinstance(spec, (tuple, list)) and len(spec) == 2:
            self.range = tuple(check_count(end, "weights", where, -(2**63), 2**63 - 1) for end in spec)
            if self.range[0] > self.range[1]:
                raise InvalidValue(f"{where}: weights: got {spec!r}, wanted (lo, hi) with lo <= hi")
        elif spec is not None and not (isinstance(spec, str) and spec == "uniform"):
            raise InvalidValue(f'{where}: weights: got {spec!r}, wanted None, "int", "uniform" or (lo, hi)')
        self.spec = spec
        default = np.bool_ if spec is None else np.int64 if self.range else np.float64
        self.dtype = np.dtype(default) if dtype is None else dtypes.lookup_dtype(dtype).np_type
        self._check_dtype()

    def _check_dtype(self):
        kind = self.dtype.kind
        if self.spec is not None and not self.range and kind != "f":
            raise DomainMismatch(f'{self.where}: weights="uniform" needs a float dtype, got {self.dtype}')
        if self.range and kind == "b":
            raise DomainMismatch(f"{self.where}: integer weights need a number dtype, got {self.dtype}")
        if self.range and kind in "iu":
            info = np.iinfo(self.dtype)
            if self.range[0] < info.min or self.range[1] > info.max:
                raise InvalidValue(f"{self.where}: weights: {self.range} does not fit {self.dtype}")

    def draw(self, rows: np.ndarray, cols: np.ndarray):
        """Values for edges; one scalar where all are equal. (u, v) and (v, u) get the same.

        Each is a hash of the seed and the pair (the finaliser of splitmix64), so
        that it does not matter in which order or by how many threads they are made.
        """
        if self.spec is None:
            return self.dtype.type(1)
        values = np.empty(rows.size, self.dtype)

        def some(lo):
            piece = slice(lo, lo + PIECE)
            bits = np.minimum(rows[piece], cols[piece]).astype(np.uint64)
            bits <<= np.uint64(32)
            bits |= np.maximum(rows[piece], cols[piece]).astype(np.uint64)
            values[piece] = self._scaled(_hash(bits, self.salt))

        in_threads(some, range(0, rows.size, PIECE))
        return values

    def _scaled(self, bits: np.ndarray) -> np.ndarray:
        if not self.range:
            digits = 24 if self.dtype == np.float32 else 53
            bits >>= np.uint64(64 - digits)
            return np.ldexp(bits.astype(self.dtype), -digits)
        lo, hi = self.range
        if hi - lo < 2**32:
            bits >>= np.uint64(32)
            bits *= np.uint64(hi - lo + 1)
            bits >>= np.uint64(32)
        elif hi - lo < 2**64 - 1:
            bits %= np.uint64(hi - lo + 1)
        bits += np.uint64(lo % 2**64)  # modulo 2**64: two's complement where lo is negative
        return bits.view(np.int64)


def _hash(bits: np.ndarray, salt: np.uint64) -> np.ndarray:
    bits += salt
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def from_keys(
    keys: np.ndarray,
    n: int,
    weights: Weights,
    *,
    source: str,
    generated: int,
    loops: int = 0,
    undirected: bool,
    multiplicities: bool = False,
) -> Csr:
    """Sort and merge edges given as keys, and weigh them.

    Parameters
    ----------
    keys : ndarray of int64
        ``row << bits | column``, in both directions if undirected (a self-loop
        once). Taken over. Negative ones are to be dropped. Of several processes, the share of this one.
    generated, loops : int
        For the report: edges made, self-loops dropped, by this process.
    multiplicities : bool
        Parallel edges are counted in the values instead of being dropped.
    """
    ranks = loading_ranks()
    sort_keys(keys)
    keys = keys[np.searchsorted(keys, 0) :]
    start, end, cuts = 0, n, None
    if ranks.count > 1:
        keys, cuts = _to_holders(ranks, keys, n, multiplicities)
        start, end = cuts[ranks.rank : ranks.rank + 2].tolist()
    first = first_of_runs(keys)
    rows, cols = unpack(keys, bits_for(n), first, np.int32)
    if multiplicities:
        values = np.diff(np.append(np.flatnonzero(first), keys.size)).astype(weights.dtype)
    else:
        values = weights.draw(rows, cols)
    counts = np.array([generated, loops, rows.size, np.count_nonzero(rows == cols)])
    generated, loops, stored, diagonal = ranks.total(counts).tolist()
    edges = (stored + diagonal) // 2 if undirected else stored
    report = Report(
        source,
        (n, n),
        generated,
        self_loops_dropped=loops,
        duplicates_merged=generated - loops - edges,
        reversed_added=stored - edges,
        stored=stored,
        verb="generated",
    )
    indptr = offsets(rows - start if start else rows, end - start)
    return Csr(indptr, cols, values, n, n, True if undirected else None, report, cuts=cuts)


def _to_holders(ranks: Alone, keys: np.ndarray, n: int, multiplicities: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys to the processes that have their rows; what came, sorted, and where the rows of each begin."""
    bits = bits_for(n)
    if not multiplicities:
        keys = keys[first_of_runs(keys)]
    cuts = even_rows(ranks, keys >> bits, n)
    bounds = np.searchsorted(keys, cuts << bits)
    came = ranks.exchange([(keys[a:b],) for a, b in pairwise(bounds)])
    keys = np.concatenate([some for (some,) in came])
    sort_keys(keys)
    return keys, cuts
