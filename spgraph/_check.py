"""Do shapes fit? The messages say which operand has what, and what was wanted."""

from __future__ import annotations

from typing import Any

from semirings.exceptions import DeviceMismatch, DimensionMismatch
from spgraph._base import RANK
from spgraph._convert import describe

_PLURAL = {"row": "rows", "column": "columns", "entry": "entries"}


def operand(function: str, argument: str, value: Any, *ranks: int) -> Any:
    """`value` if it is a Vector (rank 1) or Matrix (rank 2) as wanted, or an expression of one."""
    if RANK.get(type(value)) in ranks:
        return value
    names = {1: "a Vector", 2: "a Matrix"}
    wanted = " or ".join(names[rank] for rank in ranks)
    raise TypeError(f"{function}: {argument} is {describe(value)}, but {wanted} was wanted")


def letters(*operands: Any) -> list[str]:
    """Names for a message: those given by the caller, else u, v for vectors and A, B for matrices."""
    free = {1: list("uv") if sum(x.ndim == 1 for x in operands) > 1 else ["v"], 2: ["A", "B"]}
    return [given_name(x) or free[x.ndim].pop(0) for x in operands]


def given_name(x: Any) -> str | None:
    """The name that the caller gave to an object, or None."""
    if x._is_transposed:
        name = x.T._name
        return name and f"{name}.T"
    return getattr(x, "_name", None)


def count(number: int, what: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {what if number == 1 else _PLURAL[what]}"


def same_device(function: str, left: Any, right: Any) -> None:
    """Operands of one expression lie on one device."""
    if left._device is not right._device:
        a, b = letters(left, right)
        raise elsewhere(function, a, left.device, b, right.device)


def elsewhere(function: str, a: str, device: str, b: str, other: str) -> DeviceMismatch:
    """The error for two operands on two devices."""
    return DeviceMismatch(f'{function}: {a} is on {device}, but {b} is on {other}; write {b}.to("{device}")')


def mxv(A: Any, v: Any) -> None:
    if A.shape[1] != v.shape[0]:
        a, b = letters(A, v)
        raise DimensionMismatch(f"mxv: {b} has size {v.shape[0]}, but {a} has {count(A.shape[1], 'column')}")


def vxm(v: Any, A: Any) -> None:
    if A.shape[0] != v.shape[0]:
        a, b = letters(A, v)
        raise DimensionMismatch(f"vxm: {b} has size {v.shape[0]}, but {a} has {count(A.shape[0], 'row')}")


def mxm(A: Any, B: Any) -> None:
    if A.shape[1] != B.shape[0]:
        a, b = letters(A, B)
        raise DimensionMismatch(f"mxm: {a} has {count(A.shape[1], 'column')}, but {b} has {count(B.shape[0], 'row')}")


def inner(function: str, u: Any, v: Any) -> None:
    if u.shape[0] != v.shape[0]:
        a, b = letters(u, v)
        raise DimensionMismatch(f"{function}: {a} has size {u.shape[0]}, but {b} has size {v.shape[0]}")


def ewise_shape(left: Any, right: Any, function: str) -> tuple[int, ...]:
    """Shape of an element-wise result; a vector left of a matrix counts as a column, right of it as a row."""
    a, b = left.shape, right.shape
    if a == b:
        return a
    if len(a) == len(b):
        if len(a) == 1:
            inner(function, left, right)
        x, y = letters(left, right)
        raise DimensionMismatch(f"{function}: {x} has shape {a}, but {y} has shape {b}")
    x, y = letters(left, right)
    if len(a) == 1:
        if a[0] != b[0]:
            raise DimensionMismatch(f"{function}: {x} has size {a[0]}, but {y} has {count(b[0], 'row')}")
        return b
    if a[1] != b[0]:
        raise DimensionMismatch(f"{function}: {x} has {count(a[1], 'column')}, but {y} has size {b[0]}")
    return a


def output(function: str, out_shape: tuple[int, ...], value: Any) -> None:
    """An expression must have the shape of the object that it is written to."""
    if value.shape != out_shape:
        raise DimensionMismatch(f"{function}: the output has shape {out_shape}, but the result has shape {value.shape}")
