"""Operators as kernels take them: expressions over the stored types, with the casts that the specification asks for."""

from __future__ import annotations

from semirings import expr as ex

__all__ = ["accumulate", "store"]


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
