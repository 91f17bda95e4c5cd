"""Aggregators: reductions that are more than one monoid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from semirings import _registry
from semirings._base import OpBase, TypedOp
from semirings._monoids import TypedMonoid
from semirings.dtypes import INT64, DataType, lookup_dtype
from semirings.exceptions import DomainMismatch, InvalidValue
from semirings.expr import Expr, cast, cast_array, evaluate
from semirings.trace import trace


class Part(NamedTuple):
    """One reduction of an aggregator: every value x becomes `map`, and `monoid` adds these up.

    Attributes
    ----------
    map : Expr
        Over the input ``x``, of the aggregator's type; its dtype is that of the monoid.
    monoid : TypedMonoid
    """

    map: Expr
    monoid: TypedMonoid


class TypedAggregator(TypedOp):
    """An aggregator for one type of values.

    There are two sorts. If `pick` is None, the result is ``finish(r0, r1, ...)`` where ``rk`` is the
    reduction of ``parts[k].map(x)`` over all entries x by ``parts[k].monoid``. Each of them may run as an
    ordinary reduction (rows, columns, all), in one pass or several; `finish` is element-wise over
    the reduced vectors, which have the same entries. Else there are no parts, and the result is the
    value or the index (`gives`) of one entry.

    Attributes
    ----------
    type, return_type : DataType
        Of the values and of the result.
    parts : tuple of Part
    finish : Expr
        Over the inputs ``r0``, ``r1``, ...
    pick : {None, "first", "last", "min", "max"}
        Which entry: that of smallest or largest index, or of smallest or largest value (the first of
        them; NaN only if there is nothing else).
    gives : {"value", "index"}
        What of it. An index has no meaning where a whole matrix is reduced to a scalar.
    empty : NumPy scalar or None
        The result for no entries at all, if it is not "no value": counts are 0.

    Examples
    --------
    >>> from semirings import agg
    >>> mean = agg.mean["INT32"]
    >>> mean.parts
    (Part(map=1, monoid=monoid.plus[INT64]), Part(map=float64(x), monoid=monoid.plus[FP64]))
    >>> mean.finish, mean.return_type
    (divide(r1, float64(r0)), FP64)
    >>> agg.argmin["FP32"].pick, agg.argmin["FP32"].gives, agg.argmin["FP32"].return_type
    ('min', 'index', INT64)
    """

    __slots__ = ("empty", "finish", "gives", "parts", "pick")

    def __init__(
        self,
        parent: Aggregator,
        dtype: DataType,
        parts: tuple[Part, ...],
        finish: Expr | None,
        result: DataType,
    ) -> None:
        marks = tuple((part.map, part.monoid.key) for part in parts)
        key = ("agg", dtype.name, marks, finish, parent.pick, parent.gives)
        super().__init__(parent, dtype, dtype, result, key)
        self.parts, self.finish = parts, finish
        self.pick, self.gives = parent.pick, parent.gives
        self.empty = None if parent.empty is None else result.np_type.type(parent.empty)

    def finish_numpy(self, *reduced: Any) -> np.ndarray[Any, Any]:
        """`finish` applied to arrays of reduced values.

        Examples
        --------
        >>> from semirings import agg
        >>> agg.mean["FP64"].finish_numpy([2, 4], [3.0, 10.0])
        array([1.5, 2.5])
        """
        if self.finish is None:
            raise InvalidValue(f"{self!r} picks an entry; it has nothing to finish")
        return evaluate(self.finish, {f"r{k}": value for k, value in enumerate(reduced)})

    def numpy(self, values: Any, indices: Any = None) -> Any:
        """The NumPy reference: aggregate one array of values (at increasing `indices`).

        Returns None for no values, unless `empty` says otherwise.

        Examples
        --------
        >>> from semirings import agg
        >>> agg.varp["INT64"].numpy([1, 2, 3, 4])
        np.float64(1.25)
        >>> agg.argmax["INT64"].numpy([3, 9, 9], indices=[10, 20, 30])
        np.int64(20)
        """
        array = cast_array(values, self.type.np_type)
        if not array.size:
            return self.empty
        if self.pick is None:
            reduced = [
                m.reduce(np.broadcast_to(evaluate(e, {"x": array}), array.shape)) for e, m in self.parts
            ]
            return self.finish_numpy(*reduced)[()]
        where = _where(array, self.pick)
        if self.gives == "value":
            return array[where]
        return np.int64(where if indices is None else np.asarray(indices)[where])


def _where(array: np.ndarray[Any, Any], pick: str) -> int:
    if pick in ("first", "last"):
        return 0 if pick == "first" else array.size - 1
    if array.dtype.kind == "f" and not np.isnan(array).all():
        return int(np.nanargmin(array) if pick == "min" else np.nanargmax(array))
    return int(array.argmin() if pick == "min" else array.argmax())


class Aggregator(OpBase):
    """A reduction of many values to one: ``agg.mean``.

    See `semirings.agg` for the aggregators there are.

    Parameters
    ----------
    name : str
    parts : iterable of (function or None, str)
        What is made of a value x (None: x itself), and the name of the monoid that adds it up.
    finish : function, optional
        Of the reduced values; default: the only one.
    domain : iterable of DataType
    returns : function of DataType, optional
        Type of the result; default: what `finish` gives.
    """

    kind = "agg"

    def __init__(
        self,
        name: str,
        parts: Iterable[tuple[Callable[[Any], Any] | None, str]],
        finish: Callable[..., Any] | None = None,
        *,
        domain: Iterable[DataType],
        returns: Callable[[DataType], DataType] | None = None,
        pick: str | None = None,
        gives: str = "value",
        empty: Any = None,
        instead: str = "",
    ) -> None:
        super().__init__(name)
        self._parts, self._finish = tuple(parts), finish
        self._domain, self._returns, self._instead = frozenset(domain), returns, instead
        self.pick, self.gives, self.empty = pick, gives, empty

    is_positional = False

    def _make(self, dtype: DataType) -> TypedAggregator:
        if dtype not in self._domain:
            raise DomainMismatch(self._instead)
        if self.pick is not None:
            return TypedAggregator(self, dtype, (), None, dtype if self.gives == "value" else INT64)
        parts = tuple(self._part(dtype, *part) for part in self._parts)
        reduced = {f"r{k}": part.monoid.return_type.np_type for k, part in enumerate(parts)}
        finish = trace(self._finish or (lambda r0: r0), reduced)
        result = lookup_dtype(finish.dtype) if self._returns is None else self._returns(dtype)
        return TypedAggregator(self, dtype, parts, cast(finish, result.np_type), result)

    def _part(self, dtype: DataType, function: Callable[[Any], Any] | None, name: str) -> Part:
        mapped = trace(function or (lambda x: x), {"x": dtype.np_type})
        monoid = _registry.find("monoid", name)._find_typed(lookup_dtype(mapped.dtype))
        if monoid is None:
            raise DomainMismatch(f"monoid.{name} does not work with {lookup_dtype(mapped.dtype)}")
        return Part(cast(mapped, monoid.type.np_type), monoid)

    def _call_values(self, *args: Any, typed: Any = None, **kwargs: Any) -> Any:
        if kwargs or len(args) != 1 or not isinstance(args[0], (np.ndarray, list)):
            return super()._call_values(*args)
        array = np.asarray(args[0]).ravel()
        return (typed or self[array.dtype]).numpy(array)

    def _usage(self) -> str:
        return f"write {self!r}(v), {self!r}(A) or {self!r}(A, rowwise=True)"
