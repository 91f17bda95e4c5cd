"""The eleven types of values: BOOL, INT8 to INT64, UINT8 to UINT64, FP32, FP64.

>>> import numpy as np
>>> from semirings import dtypes
>>> dtypes.lookup_dtype("int32")
INT32
>>> dtypes.INT64 == int, dtypes.FP32 == np.float32
(True, True)
>>> dtypes.unify(dtypes.INT32, dtypes.FP32)
FP64
"""

from __future__ import annotations

import reprlib
from typing import Any, Final

import numpy as np

from semirings.exceptions import DomainMismatch

__all__ = [
    "BOOL",
    "FP32",
    "FP64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "DataType",
    "lookup_dtype",
    "unify",
]


class DataType:
    """A type of values, compared by what it means.

    Attributes
    ----------
    name : str
        GraphBLAS's name, such as ``"INT64"``.
    np_type : numpy.dtype
        NumPy's dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from semirings.dtypes import INT64
    >>> INT64.name, INT64.np_type
    ('INT64', dtype('int64'))
    >>> INT64 == "INT64", INT64 == np.int64, INT64 == np.int32
    (True, True, False)
    """

    __slots__ = ("_hash", "name", "np_type")

    name: str
    np_type: np.dtype[Any]
    _hash: int

    def __init__(self, name: str, np_type: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "np_type", np.dtype(np_type))
        object.__setattr__(self, "_hash", hash(self.np_type))

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"{self.name}: a DataType cannot be changed")

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        try:
            return self is lookup_dtype(other)
        except DomainMismatch:
            if isinstance(other, str):
                raise TypeError(f"{self.name} == {other!r}: {other!r} is no type") from None
            return False

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Any) -> bool:
        return _ORDER[self.name] < _ORDER[lookup_dtype(other).name]

    def __reduce__(self) -> str:
        return self.name


BOOL: Final = DataType("BOOL", np.bool_)
INT8: Final = DataType("INT8", np.int8)
INT16: Final = DataType("INT16", np.int16)
INT32: Final = DataType("INT32", np.int32)
INT64: Final = DataType("INT64", np.int64)
UINT8: Final = DataType("UINT8", np.uint8)
UINT16: Final = DataType("UINT16", np.uint16)
UINT32: Final = DataType("UINT32", np.uint32)
UINT64: Final = DataType("UINT64", np.uint64)
FP32: Final = DataType("FP32", np.float32)
FP64: Final = DataType("FP64", np.float64)

SIGNED: Final = (INT8, INT16, INT32, INT64)
UNSIGNED: Final = (UINT8, UINT16, UINT32, UINT64)
INTEGERS: Final = SIGNED + UNSIGNED
FLOATS: Final = (FP32, FP64)
ALL: Final = (BOOL, *INTEGERS, *FLOATS)

_ORDER = {dt.name: k for k, dt in enumerate(ALL)}


def _make_registry() -> dict[Any, DataType]:
    known: dict[Any, DataType] = {bool: BOOL, int: INT64, float: FP64}
    known.update({"bool": BOOL, "int": INT64, "float": FP64, "double": FP64})
    for dt in ALL:
        known[dt.np_type] = known[dt.np_type.type] = dt
        for name in (dt.name, f"GrB_{dt.name}", dt.np_type.name, f"{dt.np_type.name}_t"):
            known[name] = known[name.lower()] = dt
    return known


_registry = _make_registry()


def lookup_dtype(key: Any) -> DataType:
    """The DataType that `key` means.

    Parameters
    ----------
    key : DataType, numpy.dtype, NumPy scalar type, str, bool, int or float (the types)
        Strings are GraphBLAS's (``"INT64"``, in any case), C's (``"int64_t"``) or NumPy's (``"i8"``).

    Raises
    ------
    DomainMismatch
        If there is no such type, or it is one that spgraph has not (complex, objects, dates).

    Examples
    --------
    >>> import numpy as np
    >>> lookup_dtype(np.dtype("u2")), lookup_dtype(float), lookup_dtype("uint64_t")
    (UINT16, FP64, UINT64)
    """
    if type(key) is DataType:
        return key
    try:
        return _registry[key]
    except (KeyError, TypeError):
        pass
    if key is None:
        raise DomainMismatch("no dtype was given (None)")
    try:
        np_type = np.dtype(key)
    except (TypeError, ValueError):
        raise DomainMismatch(f"{reprlib.repr(key)} is no dtype; the types are {_names(ALL)}") from None
    found = _registry.get(np_type.newbyteorder("="))
    if found is None:
        raise DomainMismatch(f"dtype {np_type} is not supported; the types are {_names(ALL)}")
    return found


def unify(type1: Any, type2: Any) -> DataType:
    """The smallest type that holds the values of both (NumPy's promotion).

    INT64 with UINT64 has none: NumPy would take FP64, which loses integers above 2**53.

    Raises
    ------
    DomainMismatch
        For INT64 (or a smaller signed type) with UINT64.

    Examples
    --------
    >>> unify(INT8, UINT8), unify(BOOL, UINT16), unify(FP32, INT16)
    (INT16, UINT16, FP32)
    >>> unify(INT64, UINT64)
    Traceback (most recent call last):
    semirings.exceptions.DomainMismatch: INT64 and UINT64 have no common integer type ...
    """
    a, b = lookup_dtype(type1), lookup_dtype(type2)
    if a is b:
        return a
    result = _registry[np.promote_types(a.np_type, b.np_type)]
    if result is FP64 and a not in FLOATS and b not in FLOATS:
        raise DomainMismatch(
            f"{a} and {b} have no common integer type (FP64 would lose integers above 2**53); "
            f"convert one of them first, for example with .dup({a if b is UINT64 else b}), "
            f"or name the operator's type, as in binary.plus[{FP64}]"
        )
    return result


def _names(types: Any) -> str:
    return ", ".join(dt.name for dt in types)
