"""semirings: operators as data, defined as NumPy functions and printed for CPU and GPU.

``unary``, ``binary``, ``indexunary``, ``select``, ``monoid``, ``semiring``, ``agg`` hold the operators
(``op`` all of the first kinds together), `dtypes` the types, `exceptions` what can go wrong. An
operator of your own is a NumPy function::

    from semirings import monoid, semiring
    capped = semiring.register_new("min_capped_plus", monoid.min, lambda x, y: np.minimum(x + y, 100))

It is traced into an expression (`expr`), which prints as Python for Numba and as CUDA C++. Nothing here
knows of matrices: an object that takes part in calls such as ``binary.plus(A, 1)`` has a method
``__semiring_call__(op, args, kwargs)``. The package needs NumPy only.

>>> import numpy as np
>>> from semirings import binary, semiring
>>> binary.plus["INT8"].numpy(np.int8([127]), np.int8([1]))
array([-128], dtype=int8)
>>> semiring.min_plus["INT64"].monoid.identity
np.int64(9223372036854775807)
"""

from importlib import import_module as _import_module
from typing import Any as _Any

__distribution__ = "spgraph"

_MODULES = (
    *("agg", "binary", "dtypes", "exceptions", "expr", "functions", "indexunary", "monoid", "op"),
    *("select", "semiring", "trace", "unary"),
)
_CONVERTERS = (
    *("as_agg", "as_binary", "as_indexunary", "as_monoid", "as_select", "as_semiring", "as_unary"),
)

__all__ = [*_MODULES, *_CONVERTERS]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"semirings.{name}")
    if name in _CONVERTERS:
        return getattr(_import_module("semirings._convert"), name)
    raise AttributeError(f"module 'semirings' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
