"""Operators as kernels take them, with the casts that the specification asks for; what an accumulator leaves of C."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings import binary
from semirings import expr as ex
from spgraph.kernels.device import Device

__all__ = ["accumulate", "cast_values", "is_fresh", "is_min", "settles", "store", "total_of"]


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


def is_fresh(out, mask, accum, replace: bool) -> bool:
    """Whether C<M, replace> (accum)= T leaves nothing of C; asks for the number of its entries last, to wait seldom."""
    return (accum is None and (mask is None or replace)) or out.nvals == 0


def cast_values(device: Device, values: Any, dtype: np.dtype) -> Any:
    """`values` as the specification casts them; those of an iso block, a NumPy array on every device, stay one."""
    if values.dtype == dtype:
        return values
    if device.on_host or not isinstance(values, device.xp.ndarray):
        return ex.cast_array(values, dtype)
    out = device.xp.empty(values.size, dtype)
    if values.size:
        key = ("rows.apply_flat", values.dtype, dtype)
        kernel = device.kernels.get(key)
        if kernel is None:
            ops = {"OP": (ex.cast(ex.Input("x", values.dtype), dtype), ("x", "s"))}
            kernel = device.kernels[key] = device.kernel("rows.apply_flat", {}, ops)
        device.over(kernel, values.size, values.size, (values, np.int8(0), out))
    return out


def total_of(found: list, monoid):
    """NumPy scalars of a monoid's type as one, None if there are none."""
    if len(found) < 2:
        return found[0] if found else None
    if monoid.terminal_any:
        return found[0]
    dtype, op = monoid.type.np_type, monoid.binaryop
    total, func = found[0], getattr(op.parent, "func", None)
    if isinstance(func, np.ufunc) and total.dtype == dtype:  # what `op.numpy` does with arrays, in a tenth of the time
        with np.errstate(all="ignore"):
            for other in found[1:]:
                total = dtype.type(func(total, other))
        return total
    for other in found[1:]:
        total = dtype.type(op.numpy(total, other))
    return total


def is_min(op) -> bool:
    """Whether an operator is ``min``, whatever it is called."""
    return op.key == binary.min[op.type].key


SETTLING = frozenset(["fmin", "minimum", "fmax", "maximum", "bitwise_or", "bitwise_and"])


def settles(monoid) -> bool:
    """Whether values only go one way: a term that changes nothing now never will, and what has changed stays so."""
    return getattr(monoid.binaryop.expr, "label", "") in SETTLING
