"""What all generators share: checked arguments, drawn weights, the last steps."""

from __future__ import annotations

import operator

import numpy as np

from semirings import dtypes
from semirings.exceptions import DomainMismatch, InvalidValue
from spgraph.io._coo import Csr
from spgraph.io._keys import bits_for, group, mirror_upper, offsets, sort_keys
from spgraph.io._report import Report

__all__ = ["Weights", "check_count", "from_keys", "stream"]

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
        self.seed = seed
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

    def draw(self, count: int):
        """Values for so many edges; one scalar where all are equal."""
        if self.spec is None:
            return self.dtype.type(1)
        random = stream(self.seed, WEIGHTS)
        if not self.range:
            wide = self.dtype if self.dtype.itemsize in (4, 8) else np.dtype(np.float64)
            return random.random(count, dtype=wide).astype(self.dtype, copy=False)
        lo, hi = self.range
        narrow = np.uint8 if hi - lo < 256 else np.int64
        if narrow is np.uint8 and 0 <= lo and hi < 256:
            return random.integers(lo, hi, count, dtype=np.uint8, endpoint=True).astype(self.dtype)
        return random.integers(lo, hi, count, endpoint=True).astype(self.dtype)


def from_keys(keys: np.ndarray, n: int, weights: Weights, *, source: str, generated: int, loops: int,
              undirected: bool, multiplicities: bool = False) -> Csr:
    """Sort, merge and (if undirected) mirror edges given as keys.

    Parameters
    ----------
    keys : ndarray of int64
        ``row << bits | column``, with row <= column when undirected. Taken over.
    generated : int
        For the report: edges made.
    loops : int
        How many keys are negative: self-loops to drop.
    multiplicities : bool
        Parallel edges are counted in the values instead of being dropped.
    """
    bits = bits_for(n)
    keys = sort_keys(keys)[loops:]
    starts = group(keys)
    merged = keys.size - starts.size
    if multiplicities:
        values = np.diff(np.append(starts, keys.size)).astype(weights.dtype)
    else:
        values = weights.draw(starts.size)
    if merged:
        keys = keys[starts]
    rows = (keys >> bits).astype(np.int32)
    keys &= (1 << bits) - 1
    cols = keys.astype(np.int32)
    if undirected:
        indptr, indices, values = mirror_upper(rows, cols, values, n)
    else:
        indptr, indices = offsets(rows, n), cols
    report = Report(source, (n, n), generated, loops, merged, indices.size - rows.size, indices.size, "generated")
    return Csr(indptr, indices, values, n, n, True if undirected else None, report)
