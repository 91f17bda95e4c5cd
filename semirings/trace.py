"""Turning a NumPy function into an expression: it is called once, with symbolic operands.

A `Symbol` stands for one value of a known dtype. NumPy hands every ufunc and every function that it
is passed to over to `Symbol.__array_ufunc__` and `__array_function__`, which record what would be
computed, with NumPy's own result types (a Python number adapts to its neighbour). A function may look
at ``x.dtype`` but not at the value: what asks for the value raises UdfParseError with the way out.

Two rules differ from NumPy's: where it would compute in float16 (``np.sqrt`` of int8) float32 is used,
and uint64 does not meet int64 in float64 (an error says so).

>>> import numpy as np
>>> trace(lambda x, y: np.minimum(x + y, 100), {"x": np.int8, "y": np.int8})
minimum(add(x, y), 100)
"""

from __future__ import annotations

import linecache
import os
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from semirings import _lower
from semirings._composed import COMPOSED
from semirings._lower import Untraceable
from semirings.exceptions import DomainMismatch, UdfParseError
from semirings.expr import Const, Expr, Input, cast, substitute

__all__ = ["Symbol", "trace"]


_BRANCH = (
    "it asks whether a value is true (by `if`, `and`, `or`, `not`, a chained comparison, or Python's "
    "min() or max()), but the function is run once, for all values",
    "use np.where(condition, a, b) instead of `if`; &, |, ~ instead of and, or, not; "
    "np.minimum and np.maximum instead of min and max",
)


def _asks_for_value(what: str, way_out: str) -> Callable[..., NoReturn]:
    def method(self: Symbol, *args: object) -> NoReturn:
        raise Untraceable(f"it asks for the value itself, by {what}", way_out)

    return method


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """One value of a known type, whose computation is recorded.

    Attributes
    ----------
    dtype : numpy.dtype
    shape : tuple
        Always empty.
    """

    __slots__ = ("expr",)
    __array_priority__ = 1000
    shape = ()
    ndim = 0
    size = 1

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the value."""
        return self.expr.dtype

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Symbol:
        """The value converted to another type (floats saturate in integers)."""
        return Symbol(cast(self.expr, _lower.supported(np.dtype(dtype))))

    def __repr__(self) -> str:
        return f"Symbol({self.expr!r}, {self.dtype})"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__":
            raise Untraceable(
                f"np.{name}.{method} works on whole arrays",
                "an operator works on one value (or pair); reduce with a monoid instead",
            )
        if any(value is not None for value in kwargs.values()):
            raise Untraceable(
                f"np.{name} has the argument {next(iter(kwargs))}=, which has no meaning for one value",
                "use np.where for a condition, .astype for a type",
            )
        return _wrap(_lower.ufunc(ufunc, [_operand(a, name) for a in args]))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        lower = FUNCTIONS.get(func.__name__)
        if lower is None or getattr(np, func.__name__, None) is not func:
            name = f"{func.__module__}.{func.__name__}".replace("numpy", "np")
            raise Untraceable(
                f"{name} cannot be traced",
                f"use ufuncs, or one of np.{', np.'.join(sorted(FUNCTIONS))}",
            )
        return lower(*args, **kwargs)

    def __semiring_call__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        op = op.binaryop if op.kind == "monoid" else op
        if op.kind not in ("unary", "binary") or op.is_positional or kwargs:
            raise Untraceable(f"it calls {op!r}", "it can call unary and binary operators")
        values = [_operand(a, op.name) for a in args]
        types = [v.dtype if isinstance(v, Expr) else np.result_type(self.dtype, v) for v in values]
        typed = op.resolve(*types)
        trees = [_lower.full(v, typed.type.np_type) for v in values]
        return Symbol(substitute(typed.expr, dict(zip(typed.inputs, trees))))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise Untraceable(
            f"it uses .{name}, which a symbolic value has not", "use NumPy's functions, .dtype and .astype"
        )

    def __bool__(self) -> NoReturn:
        raise Untraceable(*_BRANCH)

    def __pow__(self, exponent: Any) -> Any:
        # as arrays do: x**2 is np.square(x)
        return np.square(self) if type(exponent) is int and exponent == 2 else np.power(self, exponent)

    def __round__(self, ndigits: int | None = None) -> Any:
        return np.round(self, ndigits or 0)

    def __floor__(self) -> Any:
        return np.floor(self)

    def __ceil__(self) -> Any:
        return np.ceil(self)

    def __trunc__(self) -> Any:
        return np.trunc(self)

    __float__ = _asks_for_value(
        "float(), or a function of the module math",
        "use NumPy's functions (np.sqrt instead of math.sqrt), and x.astype(np.float64) instead of float(x)",
    )
    __int__ = _asks_for_value("int()", "use x.astype(np.int64)")
    __complex__ = _asks_for_value("complex()", "complex numbers are not supported")
    __index__ = _asks_for_value(
        "using it as an index, in range() or in a function of integers of the module math",
        "use NumPy's functions; for a choice among values np.where or np.select",
    )
    __iter__ = _asks_for_value("iterating over it", "an operator works on one value")
    __len__ = _asks_for_value("len()", "an operator works on one value")
    __getitem__ = _asks_for_value("indexing it", "an operator works on one value")
    __array__ = _asks_for_value("turning it into an array", "use NumPy's functions on the value itself")
    __hash__ = _asks_for_value("hashing it", "use np.where instead of a dict or set")  # type: ignore[assignment]


def _where(condition: Any, *choices: Any) -> Symbol:
    if len(choices) != 2:
        raise Untraceable("np.where with one argument gives indices", "write np.where(condition, a, b)")
    return Symbol(_lower.where(*(_operand(v, "where") for v in (condition, *choices))))


def _full_like(x: Symbol, fill_value: Any, dtype: Any = None) -> Symbol:
    dtype = x.dtype if dtype is None else _lower.supported(np.dtype(dtype))
    return Symbol(_lower.full(_operand(fill_value, "full_like"), dtype))


FUNCTIONS: dict[str, Callable[..., Any]] = {"where": _where, "full_like": _full_like, **COMPOSED}


def _wrap(result: Any) -> Any:
    return tuple(map(Symbol, result)) if isinstance(result, tuple) else Symbol(result)


def _operand(value: Any, name: str) -> Any:
    """A tree, a NumPy scalar as tree, or a Python number (which adapts to the others)."""
    if isinstance(value, Symbol):
        return value.expr
    if isinstance(value, (np.bool_, bool)):
        return Const(bool(value), np.bool_)
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        if value.ndim:
            raise Untraceable(
                f"np.{name} gets an array of shape {value.shape}", "an operator works on single values"
            )
        return Const(np.asarray(value)[()], _lower.supported(value.dtype))
    raise Untraceable(
        f"np.{name} gets {value!r} of type {type(value).__name__}", "use numbers and the function's arguments"
    )


def trace(func: Callable[..., Any], operands: Mapping[str, Any]) -> Expr:
    """The tree that `func` computes.

    Parameters
    ----------
    func : callable
        A ufunc, function or lambda on NumPy values.
    operands : mapping of str to dtype
        Name and type of each positional argument.

    Raises
    ------
    DomainMismatch
        If NumPy has no loop for operands of these types (``x & y`` of floats).
    UdfParseError
        If the function cannot be traced whatever the types.

    Examples
    --------
    >>> import numpy as np
    >>> trace(lambda x: np.where(x > 0, x, 0), {"x": np.float32})
    where(greater(x, 0.0), x, 0.0)
    """
    symbols = [Symbol(Input(name, dtype)) for name, dtype in operands.items()]
    try:
        result = func(*symbols)
    except DomainMismatch:
        raise
    except Untraceable as error:
        raise UdfParseError(_message(func, error, error.reason, error.way_out)) from None
    except Exception as error:
        inner = error.__cause__ or error.__context__ or error
        if isinstance(inner, Untraceable):  # NumPy wraps what __index__ and __float__ raise
            raise UdfParseError(_message(func, inner, inner.reason, inner.way_out)) from None
        reason = f"it raises {type(error).__name__}: {error}"
        raise UdfParseError(_message(func, error, reason, _signature_hint(operands))) from error
    return _result(func, result, symbols)


def _result(func: Callable[..., Any], result: Any, symbols: list[Symbol]) -> Expr:
    if isinstance(result, Symbol):
        return result.expr
    if isinstance(result, (np.generic, np.ndarray)) and result.ndim == 0:
        return Const(np.asarray(result)[()], _lower.supported(result.dtype))
    if isinstance(result, bool):
        return Const(result, np.bool_)
    if isinstance(result, (int, float)):  # a Python number takes the type of the first operand
        return Const(result, np.result_type(symbols[0].dtype, result))
    what = "nothing (is there a `return`?)" if result is None else f"a {type(result).__name__}: {result!r}"
    raise UdfParseError(_message(func, None, f"it returns {what}", "return one value"))


def _signature_hint(operands: Mapping[str, Any]) -> str:
    names = ", ".join(operands)
    return f"it is called with {len(operands)} symbolic values, ({names}); try it on NumPy arrays"


def _message(func: Callable[..., Any], error: BaseException | None, reason: str, way_out: str) -> str:
    """What the user sees: the function, the line, why, and the way out."""
    code = getattr(func, "__code__", None)
    name = getattr(func, "__name__", repr(func))
    name = "a lambda" if name == "<lambda>" else f"function {name!r}"
    if code is None:
        return f"{name} cannot be traced: {reason}.\nThe way out: {way_out}."
    line = code.co_firstlineno
    filename = code.co_filename
    tb: types.TracebackType | None = error.__traceback__ if error is not None else None
    while tb is not None:
        if not _is_ours(tb.tb_frame.f_code.co_filename):
            filename, line = tb.tb_frame.f_code.co_filename, tb.tb_lineno
        tb = tb.tb_next
    source = linecache.getline(filename, line).strip() or "(source not available)"
    return f"{name} cannot be traced ({filename}:{line}):\n    {source}\n{reason}.\nThe way out: {way_out}."


_OURS = tuple(os.path.dirname(path) + os.sep for path in (__file__, np.__file__))


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS)
