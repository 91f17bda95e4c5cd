"""Semirings: a monoid that adds and a binary operator that multiplies, for products of matrices.

They are named monoid_binary: plus_times, min_plus, any_pair, lor_land, min_secondi ... The positional
ones are also in ``semiring.ss``; ``semiring.numpy`` has NumPy's names. `get_semiring` puts any two
together.

>>> import numpy as np
>>> from semirings import monoid, semiring
>>> semiring.min_plus["INT32"].monoid, semiring.min_plus["INT32"].binaryop
(monoid.min[INT32], binary.plus[INT32])
>>> semiring.get_semiring("plus", "first")
semiring.plus_first
>>> s = semiring.register_new("docs.min_capped", monoid.min, lambda x, y: np.minimum(x + y, 100))
>>> s["UINT8"].binaryop.expr
minimum(add(x, y), 100)
"""

from __future__ import annotations

from typing import Any

from semirings import _registry, _semiring_table
from semirings._monoids import Semiring, get_semiring

__all__ = ["from_string", "get_semiring", "register_anonymous", "register_new"]

_root = _registry.make_root("semiring", _semiring_table.operators, globals())


def register_new(name: str, monoid: Any, binaryop: Any) -> Semiring:
    """Make a semiring and put it in ``semiring``.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces.
    monoid : Monoid, str, or BinaryOp that is part of a monoid
        What adds up.
    binaryop : BinaryOp, Monoid, str or function
        What multiplies. A plain NumPy function works.

    Raises
    ------
    InvalidValue
        If the name is taken or the two go together for no type.
    UdfParseError
        If a function cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> widest = register_new("docs.widest_path", "max", np.minimum)
    >>> widest["FP64"].return_type
    FP64
    """
    return Semiring.register_new(name, monoid, binaryop)


def register_anonymous(monoid: Any, binaryop: Any, name: str | None = None) -> Semiring:
    """Make a semiring without putting it in ``semiring``; parameters as in `register_new`.

    Examples
    --------
    >>> import numpy as np
    >>> register_anonymous("plus", lambda x, y: np.abs(x - y))
    semiring.plus_<lambda>
    """
    return Semiring.register_anonymous(monoid, binaryop, name)


def from_string(string: str) -> Any:
    """The semiring of a string: ``"min.+"`` (monoid and product), ``"min_plus"``, ``"min.+[INT64]"``.

    Examples
    --------
    >>> from_string("min.+"), from_string("any_pair[BOOL]")
    (semiring.min_plus, semiring.any_pair[BOOL])
    """
    from semirings import binary, monoid
    from semirings.exceptions import InvalidValue

    text = string.strip()
    if text.count(".") == 1 and _root.find(text.partition("[")[0]) is None:
        add, _, multiply = text.partition(".")
        return get_semiring(monoid.from_string(add), binary.from_string(multiply))
    try:
        return _registry.from_string("semiring", text, {}, "min.+[INT64]")
    except InvalidValue:
        raise InvalidValue(
            f"unknown semiring string {string!r}: it is monoid.binaryop or the name of a semiring, "
            "as in 'min.+', 'min_plus' or 'min.+[INT64]'"
        ) from None


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
