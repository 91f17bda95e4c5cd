"""Unary operators: one value in, one value out.

Arithmetic: identity, ainv, abs, minv, one, lnot, bnot, signum, round, floor, ceil, trunc. Functions:
sqrt, cbrt, exp, exp2, expm1, log, log2, log10, log1p, sin ... atanh. Tests: isnan, isinf, isfinite.
In ``unary.ss``: erf, erfc, lgamma, tgamma, frexpx, frexpe, positioni, positionj. ``unary.numpy``
has NumPy's names.

>>> import numpy as np
>>> from semirings import unary
>>> unary.sqrt[int].return_type
FP64
>>> unary.abs[int].expr
absolute(x)
>>> cube = unary.register_new("docs.cube", lambda x: x * x * x)
>>> cube(np.array([1, 2, 3])), unary.docs.cube is cube
(array([ 1,  8, 27]), True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semirings import _registry, _unary
from semirings._operators import UnaryOp

__all__ = ["from_string", "register_anonymous", "register_new"]

_root = _registry.make_root("unary", _unary.operators, globals())


def register_new(name: str, func: Callable[..., Any]) -> UnaryOp:
    """Make a unary operator of a NumPy function and put it in ``unary``.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces (``"my.cube"`` is ``unary.my.cube``).
    func : callable
        A function or lambda of one NumPy value. It is traced: it may use NumPy's ufuncs, np.where,
        np.clip and the like, and look at ``x.dtype``, but not branch on the value.

    Raises
    ------
    UdfParseError
        If the function cannot be traced; the message shows the line and the way out.
    InvalidValue
        If the name is taken.

    Examples
    --------
    >>> import numpy as np
    >>> relu = register_new("docs.relu", lambda x: np.maximum(x, 0))
    >>> relu(np.array([-1.5, 2.5]))
    array([0. , 2.5])
    """
    return UnaryOp.register_new(name, func)  # type: ignore[no-any-return]


def register_anonymous(func: Callable[..., Any], name: str | None = None) -> UnaryOp:
    """Make a unary operator of a NumPy function without putting it in ``unary``.

    Examples
    --------
    >>> import numpy as np
    >>> register_anonymous(lambda x: x + 1)(np.array([1, 2]))
    array([2, 3])
    """
    return UnaryOp.register_anonymous(func, name)  # type: ignore[no-any-return]


def from_string(string: str) -> Any:
    """The operator of a name or symbol, such as ``"-"``, ``"abs"`` or ``"sqrt[FP32]"``.

    Examples
    --------
    >>> from_string("-"), from_string("abs[INT8]")
    (unary.ainv, unary.abs[INT8])
    """
    return _registry.from_string("unary", string, _unary.SYMBOLS, "abs[INT64]")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
