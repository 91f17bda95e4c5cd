"""Binary operators: two values in, one value out.

Arithmetic: plus, minus, rminus, times, truediv, cdiv (as in C), floordiv, pow and their reversed
forms (rtruediv, rdiv, rfloordiv, rpow), min, max, first, second, any, pair (always 1). Comparisons:
eq, ne, gt, lt, ge, le; iseq ... isle give the type of the operands. Logic: land, lor, lxor, lxnor.
Bits: band, bor, bxor, bxnor, bget, bset, bclr, bshift. Floats: atan2, hypot, fmod, remainder,
copysign, ldexp, isclose. Positions, in ``binary.ss`` and here: firsti, firstj, secondi, secondj and
firsti1 ... which count from 1. ``binary.numpy`` has NumPy's names.

Arithmetic on integers is that of the type: UINT8 250 + 10 is 4. Over BOOL plus is logical or, times
is logical and, minus is exclusive or.

>>> import numpy as np
>>> from semirings import binary
>>> binary.plus(np.uint8(250), np.uint8(10)), binary.plus["BOOL"](True, True)
(np.uint8(4), np.True_)
>>> capped = binary.register_new("docs.capped_plus", lambda x, y: np.minimum(x + y, 100))
>>> capped["INT8"].expr
minimum(add(x, y), 100)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semirings import _binary, _registry
from semirings._operators import BinaryOp

__all__ = ["from_string", "register_anonymous", "register_new"]

_root = _registry.make_root("binary", _binary.operators, globals())


def register_new(name: str, func: Callable[..., Any]) -> BinaryOp:
    """Make a binary operator of a NumPy function and put it in ``binary``.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces (``"my.op"`` is ``binary.my.op``).
    func : callable
        A function or lambda of two NumPy values. It is traced: it may use NumPy's ufuncs, np.where,
        np.clip and the like, and look at ``x.dtype``, but not branch on the value. With six parameters
        ``(x, y, ix, jx, iy, jy)`` it also gets row and column of both (INT64), as an index-binary operator.

    Raises
    ------
    UdfParseError
        If the function cannot be traced; the message shows the line and the way out.
    InvalidValue
        If the name is taken.

    Examples
    --------
    >>> import numpy as np
    >>> gap = register_new("docs.gap", lambda x, y: np.where(x > y, x - y, y - x))
    >>> gap(np.array([1, 5], "u1"), np.array([3, 2], "u1"))
    array([2, 3], dtype=uint8)
    """
    return BinaryOp.register_new(name, func)  # type: ignore[no-any-return]


def register_anonymous(func: Callable[..., Any], name: str | None = None) -> BinaryOp:
    """Make a binary operator of a NumPy function without putting it in ``binary``.

    Examples
    --------
    >>> register_anonymous(lambda x, y: 2 * x + y)(1, 3)
    np.int64(5)
    """
    return BinaryOp.register_anonymous(func, name)  # type: ignore[no-any-return]


def from_string(string: str) -> Any:
    """The operator of a name or symbol, such as ``"+"``, ``"min"`` or ``"+[INT64]"``.

    Examples
    --------
    >>> from_string("+"), from_string("//"), from_string("min[FP32]")
    (binary.plus, binary.floordiv, binary.min[FP32])
    """
    return _registry.from_string("binary", string, _binary.SYMBOLS, "+[INT64]")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
