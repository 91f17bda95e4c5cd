"""Index-unary operators: a value, its row, its column and a further value (the thunk) in, one value out.

Positions, with an INT64 thunk: rowindex (index), colindex, diagindex; tril, triu, diag, offdiag,
rowle (indexle), rowgt (indexgt), colle, colgt. Values, compared with the thunk: valueeq, valuene,
valuelt, valuele, valuegt, valuege. For a vector the index is the row, and the column is 0.

>>> from semirings import indexunary
>>> indexunary.tril["FP64"].expr
less_equal(subtract(j, i), thunk)
>>> indexunary.rowindex["FP64"].return_type, indexunary.rowindex["INT32"].return_type
(INT64, INT32)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semirings import _indexunary, _registry
from semirings._operators import IndexUnaryOp

__all__ = ["from_string", "register_anonymous", "register_new"]

_root = _registry.make_root("indexunary", _indexunary.operators, globals())


def register_new(name: str, func: Callable[..., Any]) -> IndexUnaryOp:
    """Make an index-unary operator of a NumPy function and put it in ``indexunary``.

    One that gives booleans is put in ``select`` too.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces.
    func : callable
        A function of x, i, j and thunk, NumPy values: i and j are int64, thunk has the type of x.

    Examples
    --------
    >>> shifted = register_new("docs.shifted", lambda x, i, j, thunk: x + (i * 10 + j).astype(x.dtype))
    >>> shifted["FP32"].numpy([0.5, 0.5], [0, 1], [2, 3], 0)
    array([ 2.5, 13.5], dtype=float32)
    """
    return IndexUnaryOp.register_new(name, func)  # type: ignore[no-any-return]


def register_anonymous(func: Callable[..., Any], name: str | None = None) -> IndexUnaryOp:
    """Make an index-unary operator of a NumPy function without putting it anywhere.

    Examples
    --------
    >>> register_anonymous(lambda x, i, j, thunk: i + j, "sum_of_indices")["BOOL"].return_type
    INT64
    """
    return IndexUnaryOp.register_anonymous(func, name)  # type: ignore[no-any-return]


def from_string(string: str) -> Any:
    """The operator of a name or symbol, such as ``"row<="``, ``">"`` or ``"tril"``.

    Examples
    --------
    >>> from_string("rowindex"), from_string("col>"), from_string(">=[FP64]")
    (indexunary.rowindex, indexunary.colgt, indexunary.valuege[FP64])
    """
    return _registry.from_string("indexunary", string, _indexunary.SYMBOLS, "row<=")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
