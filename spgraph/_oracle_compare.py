"""How the oracle compares two answers: a neutral form for what either engine gives, and readable reports."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse

from spgraph._oracle_text import counterpart, engine_of

RTOL = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}
ROWS_SHOWN = 10


class OracleMismatch(AssertionError):
    """spgraph and python-graphblas differ; the message says where, what came and what was wanted."""


OracleMismatch.__module__ = "spgraph.oracle"


@dataclasses.dataclass(frozen=True)
class Entries:
    """What a Matrix, Vector or Scalar holds, whichever engine it came from.

    Attributes
    ----------
    kind : {"Matrix", "Vector", "Scalar"}
    dtype : str
        Name of the GraphBLAS type, such as "INT64".
    shape : tuple of int
    indices : tuple of numpy.ndarray
        One int64 array for each dimension; entries are in row-major order.
    values : numpy.ndarray

    Examples
    --------
    >>> import spgraph as sg
    >>> entries = sg.oracle.Entries.of(sg.Vector.from_coo([0, 2], [5, 7], size=4))
    >>> print(entries)
    a Vector of INT64, size 4, 2 entries
    """

    kind: str
    dtype: str
    shape: tuple[int, ...]
    indices: tuple[np.ndarray, ...]
    values: np.ndarray

    @classmethod
    def of(cls, x: Any) -> Entries:
        """The entries of a Matrix, Vector, Scalar or expression of either engine."""
        if hasattr(x, "new"):
            x = x.new()
        shape = tuple(int(n) for n in x.shape)
        kind = ("Scalar", "Vector", "Matrix")[len(shape)]
        if not shape:
            values = np.array([] if x.is_empty else [x.value], dtype=x.dtype.np_type)
            return cls(kind, x.dtype.name, shape, (), values)
        *indices, values = x.to_coo()
        columns = tuple(np.asarray(index).astype(np.int64) for index in indices)
        order = np.lexsort(columns[::-1])
        columns = tuple(column[order] for column in columns)
        return cls(kind, x.dtype.name, shape, columns, np.asarray(values)[order])

    def __str__(self) -> str:
        shape = {0: "", 1: ", size "}.get(len(self.shape), ", ") + " x ".join(map(str, self.shape))
        return f"a {self.kind} of {self.dtype}{shape}, {self.values.size} entries"

    def at(self, i: int) -> tuple[int, ...]:
        """Where the i-th entry stands."""
        return tuple(int(index[i]) for index in self.indices)

    def keys(self) -> np.ndarray:
        """One key for each entry, distinct and in the order of the entries."""
        if len(self.shape) < 2:
            return self.indices[0] if self.indices else np.arange(self.values.size)
        if self.shape[0] * self.shape[1] < 2**63:
            return self.indices[0] * self.shape[1] + self.indices[1]
        pairs = np.empty(self.values.size, dtype=[("row", np.int64), ("column", np.int64)])
        pairs["row"], pairs["column"] = self.indices
        return pairs


@dataclasses.dataclass(frozen=True)
class Rule:
    """How values compare; `name` begins every report."""

    exact: bool = False
    rtol: float | None = None
    atol: float = 0.0
    name: str = "compare"

    def same(self, got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        if got.dtype.kind not in "fc" or wanted.dtype.kind not in "fc":
            return got == wanted
        if self.exact:
            return (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        rtol = RTOL.get(wanted.dtype, 1e-9) if self.rtol is None else self.rtol
        return np.isclose(got, wanted, rtol=rtol, atol=self.atol, equal_nan=True)

    def differ(self, where: str, text: str) -> OracleMismatch:
        return OracleMismatch(f"{self.name}: {where} differs: {text}")


def compare_answers(got: Any, wanted: Any, where: str, rule: Rule) -> None:
    """Raise OracleMismatch at the first difference between two answers."""
    got, wanted = _neutral(got), _neutral(wanted)
    if isinstance(got, Entries) and isinstance(wanted, Entries):
        _compare_entries(got, wanted, where, rule)
    elif isinstance(got, np.ndarray) and isinstance(wanted, np.ndarray):
        _compare_arrays(got, wanted, where, rule)
    elif isinstance(got, dict) and isinstance(wanted, dict):
        if got.keys() != wanted.keys():
            raise rule.differ(where, f"keys\n  got {list(got)}\n  wanted {list(wanted)}")
        for key in wanted:
            compare_answers(got[key], wanted[key], f"{where}[{key!r}]", rule)
    elif isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple)):
        if len(got) != len(wanted):
            raise rule.differ(where, f"length\n  got {len(got)}\n  wanted {len(wanted)}")
        for i, (g, w) in enumerate(zip(got, wanted)):
            compare_answers(g, w, f"{where}[{i}]", rule)
    else:
        _compare_plain(got, wanted, where, rule)


def _neutral(x: Any) -> Any:
    """Engine objects and SciPy matrices as Entries, NumPy scalars as Python's, dataclasses as dicts."""
    if scipy.sparse.issparse(x):
        x = counterpart(x, "spgraph")
    if engine_of(x) is not None and hasattr(x, "shape"):
        return Entries.of(x)
    if isinstance(x, np.generic):
        return x.item()
    if dataclasses.is_dataclass(x) and not isinstance(x, (type, Entries)):
        return {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}
    return x


def _compare_plain(got: Any, wanted: Any, where: str, rule: Rule) -> None:
    if type(got) is not type(wanted):
        raise rule.differ(where, f"kind\n  got {_said(got)}\n  wanted {_said(wanted)}")
    if isinstance(wanted, (bool, int, float, complex)):
        same = bool(rule.same(np.asarray(got), np.asarray(wanted)))
    else:
        same = bool(got == wanted)
    if not same:
        raise rule.differ(where, f"a {type(wanted).__name__}\n  got {got!r}\n  wanted {wanted!r}")


def _said(x: Any) -> str:
    return str(x) if isinstance(x, Entries) else f"{type(x).__name__}: {x!r}"


def _compare_arrays(got: np.ndarray, wanted: np.ndarray, where: str, rule: Rule) -> None:
    indices = got.dtype == np.int64 and wanted.dtype == np.uint64
    if got.shape != wanted.shape or not (got.dtype == wanted.dtype or indices):
        came, should = (f"{a.dtype}, shape {a.shape}" for a in (got, wanted))
        raise rule.differ(where, f"an array\n  got {came}\n  wanted {should}")
    bad = np.argwhere(~rule.same(got, wanted.astype(np.int64) if indices else wanted))
    if bad.size:
        places = [tuple(map(int, place)) for place in bad[:ROWS_SHOWN]]
        rows = [f"  at {place}: got {got[place]}, wanted {wanted[place]}" for place in places]
        raise rule.differ(where, "\n".join([f"{len(bad)} of {wanted.size} numbers of an array", *rows]))


def _compare_entries(got: Entries, wanted: Entries, where: str, rule: Rule) -> None:
    if (got.kind, got.dtype, got.shape) != (wanted.kind, wanted.dtype, wanted.shape):
        raise rule.differ(where, f"type or shape\n  got {got}\n  wanted {wanted}")
    keys, wanted_keys = got.keys(), wanted.keys()
    _, both, wanted_both = np.intersect1d(keys, wanted_keys, assume_unique=True, return_indices=True)
    bad = ~rule.same(got.values[both], wanted.values[wanted_both])
    extra = np.setdiff1d(np.arange(keys.size), both)
    missing = np.setdiff1d(np.arange(wanted_keys.size), wanted_both)
    if not (bad.any() or extra.size or missing.size):
        return
    lines = [
        f"{where} differs: {wanted}",
        f"  {bad.sum()} of {bad.size} common entries differ; {extra.size} only in got, {missing.size} only in wanted",
    ]
    for i, j in zip(both[bad][:ROWS_SHOWN], wanted_both[bad]):
        lines.append(f"  at {got.at(i)}: got {got.values[i]}, wanted {wanted.values[j]}")
    lines += [f"  at {got.at(i)}: got {got.values[i]}, wanted no entry" for i in extra[:ROWS_SHOWN]]
    lines += [f"  at {wanted.at(j)}: got no entry, wanted {wanted.values[j]}" for j in missing[:ROWS_SHOWN]]
    raise OracleMismatch(f"{rule.name}: " + "\n".join(lines))
