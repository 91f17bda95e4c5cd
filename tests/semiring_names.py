"""Which semirings the differential tests draw, by the dtype that they compute in.

Names come from python-graphblas's registry, so that a semiring that we lack shows as a failure. Left out:
`any` (its answer is not unique; it has tests of its own) and those that python-graphblas compiles with
Numba, for a second per dtype (the registry test has their operators).
"""

from __future__ import annotations

import functools

import graphblas
import numpy as np
from hypothesis import strategies as st
from strategies import DTYPES, INTEGERS

INEXACT = ("cdiv", "rdiv", "truediv", "rtruediv", "pow")
SLOW = ("floordiv", "rfloordiv", "rpow", "absfirst", "abssecond")
POSITIONAL = tuple(
    f"ss.{m}_{op}{one}"
    for m in ("min", "max", "plus", "times")
    for op in ("firsti", "firstj", "secondi", "secondj")
    for one in ("", "1")
)


@functools.cache
def _all_names() -> tuple[str, ...]:
    found = []
    for name in dir(graphblas.semiring):
        monoid, _, binary = name.partition("_")
        if not binary or monoid in ("", "any", "get", "from", "register") or binary in SLOW:
            continue
        if not binary.rstrip("1").endswith(("firsti", "firstj", "secondi", "secondj")):
            found.append(name)
    return tuple(found)


@functools.cache
def semirings_of(dtype: str, *, exact: bool = True) -> tuple[str, ...]:
    """Names of the semirings over a dtype: those whose answers are exact in any order, or the others."""
    names = []
    for name in _all_names():
        inexact = name.partition("_")[2] in INEXACT
        is_slow_pow = name.endswith("pow") and dtype in (*INTEGERS, "BOOL")
        if inexact is exact or is_slow_pow:
            continue
        if dtype in {t.name for t in getattr(graphblas.semiring, name).types}:
            names.append(name)
    return (*names, *POSITIONAL) if exact else tuple(names)


def unify(d1: str, d2: str) -> str | None:
    """The dtype two operands are computed in; None where spgraph refuses: INT64 with UINT64."""
    joined = graphblas.dtypes.lookup_dtype(np.promote_types(_numpy(d1), _numpy(d2))).name
    lost = joined == "FP64" and d1 in INTEGERS and d2 in INTEGERS
    return None if lost else joined


def _numpy(dtype: str) -> np.dtype:
    return graphblas.dtypes.lookup_dtype(dtype).np_type


@st.composite
def typed_semirings(draw: st.DrawFn, *, exact: bool = True) -> tuple[str, str, str]:
    """Two dtypes of operands and the name of a semiring that is defined for them."""
    d1 = draw(st.sampled_from(DTYPES))
    partners = [d for d in DTYPES if unify(d1, d) is not None]
    d2 = draw(st.sampled_from(partners)) if draw(st.booleans()) else d1
    return d1, d2, draw(st.sampled_from(semirings_of(unify(d1, d2), exact=exact)))


def lookup(namespace: object, name: str) -> object:
    """``gb.semiring`` and "ss.min_secondi" -> the operator."""
    return functools.reduce(getattr, name.split("."), namespace)
