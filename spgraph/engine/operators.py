"""Operators as kernels take them: expressions over the stored types, with the casts that the specification asks for."""

from __future__ import annotations

import numpy as np

from semirings import expr as ex

__all__ = ["accumulate", "neutral", "store"]

_neutral: dict = {}


def accumulate(accum, out_dtype, t_dtype) -> tuple:
    """ACC(c, t) with the casts that the specification asks for."""
    mapping = {
        "x": ex.cast(ex.Input("c", out_dtype), accum.type.np_type),
        "y": ex.cast(ex.Input("t", t_dtype), accum.type2.np_type),
    }
    return ex.cast(ex.substitute(accum.expr, mapping), out_dtype), ("c", "t")


def store(t_dtype, out_dtype) -> tuple:
    """STORE(t): the cast of a result to C's dtype."""
    return ex.cast(ex.Input("t", t_dtype), out_dtype), ("t",)


def neutral(monoid) -> np.generic:
    """What a kernel's running total starts from.

    The monoid's identity, except where that changes a value: for floats min(inf, NaN) is inf
    and 0.0 + -0.0 is 0.0, but NaN and -0.0 leave everything as it is.
    """
    dtype = monoid.type.np_type
    if monoid.terminal_any:
        return dtype.type(0)
    if dtype.kind != "f":
        return monoid.identity
    found = _neutral.get(monoid.key)
    if found is None:
        probes = np.array([np.nan, 0.0, -0.0, 1.5, -1.5, np.inf, -np.inf], dtype)
        found = monoid.identity
        for candidate in (found, dtype.type(-0.0), dtype.type(np.nan)):
            with np.errstate(all="ignore"):
                after = monoid.binaryop.numpy(np.full_like(probes, candidate), probes)
            if np.array_equal(after, probes, equal_nan=True) and (np.signbit(after) == np.signbit(probes))[1:].all():
                found = candidate
                break
        _neutral[monoid.key] = found
    return found
