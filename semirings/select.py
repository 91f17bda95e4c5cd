"""Select operators: which entries to keep, by value, row, column and a further value (the thunk).

tril, triu, diag, offdiag, rowle (indexle), rowgt (indexgt), colle, colgt; valueeq, valuene, valuelt,
valuele, valuegt, valuege. `value`, `row`, `column` and `index` take a comparison: ``select.value(A > 0)``.

>>> from semirings import select
>>> select.valuegt["INT64"].numpy([3, 5], [0, 1], [0, 0], 4)
array([False,  True])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semirings import _indexunary, _registry
from semirings._base import dispatch
from semirings._operators import SelectOp
from semirings.exceptions import InvalidValue

__all__ = [
    "Comparison",
    "column",
    "from_string",
    "index",
    "register_anonymous",
    "register_new",
    "row",
    "value",
]

_root = _registry.make_root("select", _indexunary.select_operators, globals())


class Comparison:
    """``select.value`` and its like: turns a comparison (an expression such as ``A > 0``) into a selection.

    Called with an expression, it is handed over to its ``__semiring_call__`` as an operator is; the
    expression then asks `pick` which select operator its comparison means.

    Examples
    --------
    >>> from semirings import select
    >>> select.row
    select.row
    >>> select.row.pick("lt", 5)
    (select.rowle, 4)
    """

    kind = "comparison"

    def __init__(self, name: str, prefix: str) -> None:
        self.name, self._prefix = name, prefix

    def __repr__(self) -> str:
        return f"select.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, expression: Any) -> Any:
        result = dispatch(self, (expression,), {})
        if result is NotImplemented:
            got = type(expression).__name__
            raise TypeError(f"{self!r} was called with {got}; write a comparison, as in {self!r}(A <= 5)")
        return result

    def pick(self, comparison: str, thunk: Any) -> tuple[SelectOp, Any]:
        """The select operator and thunk of a comparison with a scalar.

        Parameters
        ----------
        comparison : str
            Name of a binary operator: ``"lt"``, ``"isge"`` ...
        thunk : scalar
        """
        name = comparison.removeprefix("is")
        if _root.find(self._prefix + name) is None and name in ("lt", "ge"):  # i < 5 is i <= 4
            name, thunk = {"lt": "le", "ge": "gt"}[name], int(thunk) - 1
        found = _root.find(self._prefix + name)
        if found is None:
            known = [n.removeprefix(self._prefix) for n in dir(_root) if n.startswith(self._prefix)]
            raise InvalidValue(
                f"{self!r}: there is no selection for {comparison!r}, only for {', '.join(known)}"
            )
        return found, thunk


value = Comparison("value", "value")
row = Comparison("row", "row")
column = Comparison("column", "col")
index = Comparison("index", "index")


def register_new(name: str, func: Callable[..., Any]) -> SelectOp:
    """Make a select operator of a NumPy function and put it in ``select`` and ``indexunary``.

    Parameters
    ----------
    name : str
        Where it will be found; dots make namespaces.
    func : callable
        A function of x, i, j and thunk that gives a boolean: i and j are int64, thunk has the type of x.

    Raises
    ------
    InvalidValue
        If the function gives something else.

    Examples
    --------
    >>> corner = register_new("docs.corner", lambda x, i, j, thunk: (i + j) <= thunk)
    >>> corner["INT64"].numpy([1, 1], [0, 4], [2, 5], 3)
    array([ True, False])
    """
    return SelectOp.register_new(name, func)  # type: ignore[no-any-return]


def register_anonymous(func: Callable[..., Any], name: str | None = None) -> SelectOp:
    """Make a select operator of a NumPy function without putting it anywhere.

    Examples
    --------
    >>> register_anonymous(lambda x, i, j, thunk: i == j, "on_diagonal")
    select.on_diagonal
    """
    return SelectOp.register_anonymous(func, name)  # type: ignore[no-any-return]


def from_string(string: str) -> Any:
    """The operator of a name or symbol, such as ``">="``, ``"col<="`` or ``"tril"``.

    Examples
    --------
    >>> from_string(">="), from_string("row<="), from_string("tril")
    (select.valuege, select.rowle, select.tril)
    """
    return _registry.from_string("select", string, _indexunary.SYMBOLS, "tril")


def __getattr__(name: str) -> Any:
    return getattr(_root, name)


def __dir__() -> list[str]:
    return sorted({*_root.__dir__(), *__all__})
