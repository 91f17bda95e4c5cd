"""Combining duplicates, and casts that lose nothing unseen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semirings import binary, dtypes
from semirings.exceptions import DomainMismatch, InvalidValue

__all__ = ["DupOp", "check_dup_op", "checked_cast", "fold"]

UFUNCS = {
    "min": np.fmin,  # which pass over NaN, as the engine does
    "max": np.fmax,
    "plus": np.add,
    "times": np.multiply,
    "lor": np.logical_or,
    "land": np.logical_and,
}
LOGICAL = ("lor", "land")
IDEMPOTENT = {"min", "max", "first", "second", "any"}
WRAPPING = ("plus", "times", "minus", "rminus", "pow", "rpow")  # whose integers may leave their type
ALIASES = {"last": "second", "sum": "plus"}


@dataclass(frozen=True)
class DupOp:
    """A binary operator that combines duplicates, in the order in which they came."""

    name: str
    op: object
    builtin: bool

    @property
    def ufunc(self):
        """The NumPy function that reduces runs at once, where there is one."""
        return UFUNCS.get(self.name) if self.builtin else None

    def keeps_equal(self, value) -> bool:
        """Whether two of this value combine to the same."""
        return self.builtin and (
            self.name in IDEMPOTENT
            or (self.name in LOGICAL and value in (0, 1))
            or (value.dtype.kind == "b" and self.name in ("plus", "times"))
        )


def check_dup_op(dup_op, where: str) -> DupOp | None:
    """Resolve a name or an operator (monoids too)."""
    if dup_op is None or isinstance(dup_op, DupOp):
        return dup_op
    wanted = 'wanted "min", "max", "plus", "first", "last" or a binary operator'
    if isinstance(dup_op, str):
        try:
            op = binary.from_string(ALIASES.get(dup_op, dup_op))
        except (ValueError, KeyError, AttributeError) as error:
            raise InvalidValue(f"{where}: dup_op: got {dup_op!r}, {wanted}") from error
    else:
        op = getattr(dup_op, "binaryop", dup_op)
        if not hasattr(op, "resolve") and not hasattr(op, "numpy"):
            raise InvalidValue(f"{where}: dup_op: got {type(dup_op).__name__}, {wanted}")
    untyped = getattr(op, "parent", None) or op
    return DupOp(untyped.name, op, getattr(binary, untyped.name, None) is untyped)


def fold(values, starts: np.ndarray, count: int, dup_op: DupOp, fail):
    """Combine each run of entries; runs begin at `starts` and end at the next or at `count`.

    `values` may be one scalar for all entries; it stays one where the operator
    keeps equal values.
    """
    dtype = values.dtype
    if np.ndim(values) == 0:
        if dup_op.keeps_equal(values):
            return values
        values = np.broadcast_to(values, (count,))
    if starts.size == 0:
        return values
    if dup_op.builtin and dup_op.name in ("first", "any"):
        return values[starts]
    if dup_op.builtin and dup_op.name == "second":
        return values[np.append(starts[1:], count) - 1]
    if dup_op.ufunc is not None and dup_op.name in LOGICAL and dtype.kind != "b":
        alone = np.diff(np.append(starts, count)) == 1  # keep their value
        return np.where(alone, values[starts], dup_op.ufunc.reduceat(values != 0, starts).astype(dtype))
    if dup_op.ufunc is not None:
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN, as in the engine
            result = dup_op.ufunc.reduceat(values, starts, dtype=dtype)
        if dup_op.name in WRAPPING and dtype.kind in "iu":
            _check_overflow(dup_op, dup_op.ufunc.reduceat(values.astype(np.float64), starts), result, fail)
        return result
    return _fold_steps(values, starts, count, dup_op, fail)


def _check_overflow(dup_op, exact, result, fail):
    """Raise where a result is not about the one that floats have."""
    slack = 0.5 if result.dtype.itemsize < 8 else float(np.iinfo(result.dtype).max) * 1e-9
    if (np.abs(exact - result.astype(np.float64)) > slack).any():
        at = int(np.abs(exact - result.astype(np.float64)).argmax())
        raise fail(
            None, f'dup_op="{dup_op.name}": {exact[at]:.6g} does not fit {result.dtype}; pass a wider dtype'
        )


def _fold_steps(values, starts, count, dup_op, fail):
    """One step combines the k-th entry of every run that has one."""
    op = dup_op.op
    dtype = dtypes.lookup_dtype(values.dtype)
    typed = op.resolve(dtype, dtype) if hasattr(op, "resolve") else op
    if getattr(typed, "positional", False):
        raise DomainMismatch(f"dup_op={dup_op.name}: it asks for positions, which values to be combined do not have")
    wraps = dup_op.builtin and dup_op.name in WRAPPING and values.dtype.kind in "iu"
    exact = getattr(binary, dup_op.name).resolve(dtypes.FP64, dtypes.FP64) if wraps else None
    length = np.diff(np.append(starts, count))
    result = values[starts]
    longer = np.flatnonzero(length > 1)
    step = 1
    while longer.size:
        pair = result[longer], values[starts[longer] + step]
        combined = typed.numpy(*pair)
        if combined.dtype.kind == "b" and typed.type.np_type == result.dtype:
            combined = combined.astype(result.dtype)  # a comparison's truth is 0 or 1, as in the engine
        if combined.dtype != result.dtype:
            change = f"{result.dtype} becomes {combined.dtype}"
            raise DomainMismatch(f"dup_op={dup_op.name}: {change}, but duplicates must keep their type")
        if exact is not None:
            _check_overflow(dup_op, exact.numpy(*(one.astype(np.float64) for one in pair)), combined, fail)
        result[longer] = combined
        step += 1
        longer = longer[length[longer] > step]
    return result


def checked_cast(values, dtype, fail):
    """Cast to `dtype`; a number that it cannot hold raises, a NaN among integers too.

    Floats become narrower floats by rounding, anything becomes bool by ``!= 0``.
    """
    target = dtypes.lookup_dtype(dtype).np_type
    if target == values.dtype:
        return values
    if target.kind == "b":
        return values != 0 if np.ndim(values) else target.type(values != 0)
    with np.errstate(all="ignore"):
        cast = values.astype(target)
        if target.kind in "iu":
            same = cast.astype(values.dtype) == values
            if values.dtype.kind in "iu":
                same &= (cast < 0) == (values < 0)
            else:
                same &= np.abs(values) < 2.0**63 if target == np.int64 else np.abs(values) < 2.0**64
        else:
            same = np.isfinite(cast) | ~np.isfinite(values)
    if not np.all(same):
        at = int(np.argmin(same))
        value = values[at] if np.ndim(values) else values
        raise fail(at if np.ndim(values) else None, f"{value} does not fit dtype {target}")
    return cast
