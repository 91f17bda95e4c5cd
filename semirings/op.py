"""All unary, binary, monoid and semiring operators under one roof.

Where a name is an operator and a monoid (plus), it is the operator.

>>> from semirings import op
>>> op.sqrt, op.plus, op.min_plus, op.numpy.hypot
(unary.sqrt, binary.plus, semiring.min_plus, binary.numpy.hypot)
>>> op.from_string("min.+")
semiring.min_plus
"""

from __future__ import annotations

from typing import Any

from semirings import _registry, agg, binary, indexunary, monoid, select, semiring, unary
from semirings.exceptions import GraphblasException

__all__ = ["from_string"]

_KINDS = ("unary", "binary", "monoid", "semiring")


class _Union:
    """The namespaces of one path of several kinds, as one."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        full = f"{self._path}.{name}" if self._path else name
        for kind in _KINDS:
            found = _registry.root_of(kind).find(full)
            if isinstance(found, _registry.Namespace):
                return _Union(full)
            if found is not None:
                return found
        raise AttributeError(f"op.{full} is not registered")

    def __dir__(self) -> list[str]:
        parts = (
            _registry.root_of(kind).find(self._path) if self._path else _registry.root_of(kind)
            for kind in _KINDS
        )
        return sorted({name for part in parts if part is not None for name in dir(part)})

    def __repr__(self) -> str:
        return f"<namespace op.{self._path}>"


_all = _Union("")


def from_string(string: str) -> Any:
    """The operator that a string names in the first namespace that has it.

    The order is unary, binary, monoid, semiring, indexunary, select, agg.

    Examples
    --------
    >>> from_string("abs[INT8]"), from_string("+"), from_string("tril"), from_string("mean")
    (unary.abs[INT8], binary.plus, indexunary.tril, agg.mean)
    """
    for module in (unary, binary, monoid, semiring, indexunary, select, agg):
        try:
            return module.from_string(string)
        except GraphblasException:
            continue
    raise ValueError(f"unknown operator string: {string!r}; for example 'abs[INT64]', '+', 'min.plus'")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_all, name)


def __dir__() -> list[str]:
    return sorted({*_all.__dir__(), *__all__})
