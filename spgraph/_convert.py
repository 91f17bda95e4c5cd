"""Values and sizes that come from outside: checked, and never changed on the way in.

A number that the wanted dtype cannot hold (300 for INT8, 1.5 for INT64, NaN for UINT8) raises; it is
not wrapped, truncated or rounded to an integer. Rounding to a narrower float is allowed, to infinity
is not. Anything becomes BOOL as in C: zero is False.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from semirings.dtypes import ALL, BOOL, FP64, INT64, UINT64, DataType, lookup_dtype
from semirings.exceptions import DomainMismatch, InvalidValue
from semirings.expr import inputs
from spgraph._arrays import given_array, home_of
from spgraph._base import RANK
from spgraph.context import HOST, Device

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_PYTHON_TYPES = {bool: BOOL, int: INT64, float: FP64}


def infer_dtype(value: Any, function: str, argument: str) -> DataType:
    """dtype of a Python or NumPy number."""
    found = _PYTHON_TYPES.get(type(value))
    if found is INT64 and not INT64_MIN <= value <= INT64_MAX:
        if 0 <= value < 2**64:
            return UINT64
        raise InvalidValue(f"{function}: {argument} is {value}, which no integer dtype can hold")
    if found is not None:
        return found
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return lookup_dtype(value.dtype)
    if isinstance(value, (bool, int, float)):  # subclasses, such as IntEnum
        return infer_dtype(operator.pos(value), function, argument)
    raise TypeError(f"{function}: {argument} is {describe(value)}, but a number was wanted")


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or NumPy number (0-d arrays included)."""
    return (
        type(value) in _PYTHON_TYPES
        or isinstance(value, (bool, int, float, complex, np.generic))
        or (isinstance(value, np.ndarray) and value.ndim == 0)
    )


def fit(value: Any, dtype: DataType, function: str, argument: str) -> np.generic:
    """A Python or NumPy number as a NumPy scalar of `dtype`, or InvalidValue if it can't be held."""
    make, kind, low, high = _RANGES[dtype.name]
    given = type(value)
    if (given is int or (given is float and kind == "f")) and low <= value <= high:
        return make(value)
    if kind == "b":
        infer_dtype(value, function, argument)
        return np.bool_(value != 0)
    plain = value if given in _PYTHON_TYPES else _plain(value, function, argument)
    if kind == "f":
        if not low <= plain <= high and (type(plain) is not float or math.isfinite(plain)):
            raise _does_not_fit(value, dtype, function, argument)
        return make(plain)
    if type(plain) is float:
        if not plain.is_integer():  # NaN and infinities are not, either
            raise _does_not_fit(value, dtype, function, argument)
        plain = int(plain)
    if not low <= plain <= high:
        raise _does_not_fit(value, dtype, function, argument)
    return make(plain)


def fit_operand(value: Any, op: Any, side: str, function: str, argument: str) -> np.generic:
    """A number bound to one side ("x" or "y") of a typed operator, as a NumPy scalar.

    It must fit the type of that side, unless the operator never looks at it: ``pair`` and positional operators
    take any number.
    """
    dtype = op.type if side == "x" else op.type2
    try:
        return fit(value, dtype, function, argument)
    except InvalidValue:
        if {side, "thunk"} & inputs(op.expr):
            raise
        return infer_dtype(value, function, argument).np_type.type(value)


def _plain(value, function, argument):
    infer_dtype(value, function, argument)  # raises for what is no number
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else operator.pos(value)


def _range(dtype: DataType) -> tuple:
    """Scalar type, kind, smallest and largest number of a dtype."""
    np_type = dtype.np_type
    if np_type.kind == "b":
        return np_type.type, "b", -math.inf, math.inf
    info = np.finfo(np_type) if np_type.kind == "f" else np.iinfo(np_type)
    number = float if np_type.kind == "f" else int
    return np_type.type, np_type.kind, number(info.min), number(info.max)


_RANGES = {dtype.name: _range(dtype) for dtype in ALL}


def _does_not_fit(value, dtype, function, argument):
    return InvalidValue(f"{function}: {argument} is {value}, which {dtype} can't hold")


def to_values(
    values: Any, dtype: Any, function: str, argument: str = "values", device: Device = HOST
) -> tuple[Any, DataType]:
    """Values from a caller as an array of a supported dtype, NumPy's or (if they were there) one of `device`.

    A scalar gives a 0-d array. The array is the caller's own where nothing had to change: copy before keeping it.
    """
    if RANK.get(type(values)) == 0:
        if values.is_empty:
            raise InvalidValue(f"{function}: {argument} is an empty Scalar")
        values = np.asarray(values.value, values.dtype.np_type)
    array = given_array(values, device, function, argument)
    if array is None:
        array = _from_sequence(values, function, argument)
    elif array.ndim == 0:
        array = device.to_host(array)
    if array.dtype.kind not in "biuf":
        raise DomainMismatch(
            f"{function}: {argument} have dtype {array.dtype}, which is not supported; "
            "wanted booleans, integers or floats of at most 64 bits"
        )
    source = lookup_dtype(array.dtype)
    target = source if dtype is None else lookup_dtype(dtype)
    return cast_values(array, target, function, argument, home_of(array, device)), target


def _from_sequence(values, function, argument):
    if not isinstance(values, (list, tuple, range, bool, int, float, np.generic)) and not hasattr(values, "__array__"):
        try:
            values = list(values)
        except TypeError:
            raise TypeError(
                f"{function}: {argument} is {describe(values)}, but a number, a list or an array was wanted"
            ) from None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{function}: {argument} don't make an array: {error}") from None
    if array.dtype.kind in "fO" and array.size and _first_leaf(values) is int:
        return _exact_integers(values, array, function, argument)
    return array


def _first_leaf(values):
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return type(values)


def _exact_integers(values, array, function, argument):
    """A list of integers of which some exceed INT64: NumPy makes floats or objects of it."""
    objects = np.asarray(values, dtype=object)
    if not all(type(v) is int for v in objects.flat):
        return array
    low, high = min(objects.flat), max(objects.flat)
    if low < INT64_MIN or high >= 2**64 or (low < 0 and high > INT64_MAX):
        wide = low if low < INT64_MIN else high
        raise InvalidValue(f"{function}: {argument} hold {wide}, which no integer dtype can hold beside the others")
    return objects.astype(np.uint64)


def cast_values(array: Any, dtype: DataType, function: str, argument: str, home: Device) -> Any:
    """An array of `home` as `dtype`, or InvalidValue naming the first value that can't be held."""
    xp = home.xp
    target = dtype.np_type
    source = array.dtype
    if source == target:
        return array.astype(target, copy=False)  # to native byte order
    if target.kind == "b" or np.can_cast(source, target, "safe") or not array.size:
        return array.astype(target)
    if array.ndim == 0 and target.kind in "iu" and source.kind in "iu":  # a number, as it is given most often
        low, high = _RANGES[dtype.name][2:]
        if low <= int(array) <= high:
            return array.astype(target)
    with np.errstate(invalid="ignore", over="ignore"):
        result = array.astype(target)
        if target.kind == "f":
            bad = xp.isinf(result) & xp.isfinite(array) if source.kind == "f" else xp.isinf(result)
        elif source.kind == "f":
            # 2.0**63 is the first float beyond INT64; comparing with float limits is exact at both ends
            low, high = _RANGES[dtype.name][2:]
            bad = ~((array >= low) & (array < float(high + 1)) & (array == xp.trunc(array)))
        else:
            low, high = _RANGES[dtype.name][2:]
            bad = (array < low) | (array > high)
    if bad.any():
        where = int(xp.argmax(bad.ravel()))
        value = home.to_host(array.ravel()[where : where + 1])[0]
        raise InvalidValue(f"{function}: {argument} hold {value} (position {where}), which {dtype} can't hold")
    return result


def to_dtype(key: Any, call: str, makers: str) -> DataType:
    """A dtype; who passes values in its place is told the arguments and what takes values."""
    try:
        return lookup_dtype(key)
    except DomainMismatch as error:
        if key is None or isinstance(key, (str, type, np.dtype)):
            raise
        raise DomainMismatch(f"{call}: {error}; values are taken by {makers}") from None


def to_size(value: Any, function: str, argument: str, least: int = 0) -> int:
    """A dimension: a non-negative integer."""
    if type(value) is int and least <= value <= INT64_MAX:
        return value
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {argument} is {value!r}, but an integer was wanted") from None
    if number < least:
        raise InvalidValue(f"{function}: {argument} is {number}, but {least} or more was wanted")
    if number > INT64_MAX:
        raise InvalidValue(f"{function}: {argument} is {number}, but at most 2**63 - 1 was wanted")
    return number


def to_int(value: Any, function: str, argument: str) -> int:
    """Any integer; a float with an integral value is taken, too."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {argument} is {value!r}, but an integer was wanted") from None


def to_order(order: str, function: str) -> bool:
    """True for ``"rowwise"``, False for ``"columnwise"`` (also "C", "F", "rows", "columns")."""
    name = order.lower()
    if name in ("c", "row", "rows", "rowwise"):
        return True
    if name in ("f", "col", "cols", "column", "columns", "colwise", "columnwise"):
        return False
    raise InvalidValue(f'{function}: order is {order!r}, but "rowwise" or "columnwise" was wanted')


def describe(value: Any) -> str:
    """What a message says of an argument that is of a wrong type."""
    name = type(value).__name__
    if type(value) in RANK:
        return f"a {name}"
    if type(value).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return f"of type {type(value).__module__}.{name}"
    text = repr(value)
    return f"of type {name}" if len(text) > 40 or "\n" in text or " at 0x" in text else f"{text} ({name})"
