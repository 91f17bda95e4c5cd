"""Monoids: associative and commutative operators with an identity, for reducing and accumulating.

plus, times, min, max, any; lor, land, lxor, lxnor, eq on BOOL (lor ... convert other types);
band, bor, bxor, bxnor on unsigned integers. ``monoid.numpy`` has NumPy's names, and gcd, hypot,
logaddexp, maximum, minimum. min and max ignore NaN, maximum and minimum do not.

>>> from semirings import monoid
>>> monoid.max["INT8"].identity, monoid.max["INT8"].terminal
(np.int8(-128), np.int8(127))
>>> monoid.max.binaryop
binary.max
"""

from __future__ import annotations

from typing import Any

from semirings import _monoid_table, _registry
from semirings._monoids import Monoid

__all__ = ["from_string", "register_anonymous", "register_new"]

_root = _registry.make_root("monoid", _monoid_table.operators, globals())


def register_new(
    name: str, binaryop: Any, identity: Any, *, is_idempotent: bool = False, terminal: Any = None
) -> Monoid:
    """Make a monoid and put it in ``monoid``.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces.
    binaryop : BinaryOp, str or function
        Associative and commutative, giving the type of its operands. A plain NumPy function works.
    identity : scalar or mapping of types to scalars
        ``binaryop(identity, x) == x``. The monoid exists for the types of which it is a value.
    is_idempotent : bool
        Whether ``binaryop(x, x) == x``; engines then may combine a value twice.
    terminal : scalar or mapping of types to scalars, optional
        ``binaryop(terminal, x) == terminal``; a reduction stops where it meets it.

    Examples
    --------
    >>> import numpy as np
    >>> capped = register_new("docs.capped", lambda x, y: np.minimum(x + y, 9), 0)
    >>> capped["UINT8"].identity, capped(np.array([3, 7]), np.array([4, 5]))
    (np.uint8(0), array([7, 9]))
    """
    return Monoid.register_new(name, binaryop, identity, is_idempotent=is_idempotent, terminal=terminal)


def register_anonymous(
    binaryop: Any,
    identity: Any,
    name: str | None = None,
    *,
    is_idempotent: bool = False,
    terminal: Any = None,
) -> Monoid:
    """Make a monoid without putting it in ``monoid``; parameters as in `register_new`.

    Examples
    --------
    >>> from semirings import binary
    >>> register_anonymous(binary.bor, 0, "bits", is_idempotent=True)["INT16"].identity
    np.int16(0)
    """
    return Monoid.register_anonymous(binaryop, identity, name, is_idempotent=is_idempotent, terminal=terminal)


def from_string(string: str) -> Any:
    """The monoid of a name or symbol, such as ``"+"`` or ``"min[INT64]"``.

    Examples
    --------
    >>> from_string("+"), from_string("min[INT64]")
    (monoid.plus, monoid.min[INT64])
    """
    return _registry.from_string("monoid", string, _monoid_table.SYMBOLS, "+[INT64]")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
