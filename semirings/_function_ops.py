"""Operators that are NumPy functions with flags, traced once for each type that they are used with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from semirings import _registry
from semirings._base import OpBase, TypedOp
from semirings.dtypes import (
    BOOL,
    FP32,
    FP64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DataType,
    lookup_dtype,
    unify,
)
from semirings.exceptions import DomainMismatch, UdfParseError
from semirings.expr import Expr, cast, cast_array, evaluate, inputs
from semirings.trace import trace


def same_type(dtype: DataType) -> DataType:
    """`returns` of an operator whose result has the type of the operands."""
    return dtype


POSITIONS = frozenset({"i", "j", "ix", "jx", "iy", "jy"})


class TypedFunctionOp(TypedOp):
    """A typed unary, binary, index-unary or select operator.

    Attributes
    ----------
    expr : Expr
        What it computes, over the names in `inputs`.
    inputs : tuple of str
        unary ``x``; binary ``x, y`` and, if positional, ``ix, jx, iy, jy`` (int64: row and column of
        x and of y); unary positional ``x, i, j``; index-unary and select ``x, i, j, thunk``.
    positional : bool
        Whether it looks at positions.
    commutative : bool
        Whether ``op(x, y) == op(y, x)`` is known.
    """

    __slots__ = ("_halves", "expr", "inputs", "positional")

    def __init__(self, parent: FunctionOp, type_: DataType, expr: Expr, halves: bool) -> None:
        type2 = INT64 if parent.thunk_is_index else type_
        super().__init__(parent, type_, type2, lookup_dtype(expr.dtype), None)
        self.expr = expr
        self.inputs = parent.inputs
        self.positional = bool(inputs(expr) & POSITIONS)
        self._key = (parent.kind, expr, type_.name, type2.name)
        self._halves = halves

    @property
    def commutative(self) -> bool:
        """Whether ``op(x, y) == op(y, x)`` is known."""
        return bool(self.parent.commutative)

    is_commutative = commutative

    @property
    def is_positional(self) -> bool:
        """The same as `positional`, by python-graphblas's name."""
        return self.positional

    @property
    def commutes_to(self) -> TypedFunctionOp | None:
        """The operator with the operands exchanged, if there is one (`plus` itself, `rminus` of `minus`)."""
        other = self.parent.commutes_to
        return None if other is None else other[self.type]

    @property
    def monoid(self) -> Any:
        """The monoid of a binary operator, if it has one for this type."""
        found = self.parent.monoid
        return found[self.type] if found is not None and self.type in found else None

    @property
    def thunk_type(self) -> DataType:
        """Type of the thunk of an index-unary or select operator."""
        return self.type2

    def numpy(self, *arrays: Any) -> np.ndarray[Any, Any]:
        """The NumPy reference: the function itself, applied to arrays in the order of `inputs`.

        Arrays are converted to the types of the inputs, and broadcast.

        Examples
        --------
        >>> import numpy as np
        >>> from semirings import binary
        >>> binary.plus["UINT8"].numpy(np.array([250], "u1"), np.array([10], "u1"))
        array([4], dtype=uint8)
        """
        types = self.parent.input_types(self.type)
        if len(arrays) != len(types):
            raise TypeError(f"{self!r}.numpy takes {', '.join(types)}, not {len(arrays)} arrays")
        values = np.broadcast_arrays(*(cast_array(a, t) for a, t in zip(arrays, types.values())))
        if self._halves:  # where NumPy would compute in float16
            result = evaluate(self.expr, dict(zip(types, values)))
        else:
            with np.errstate(all="ignore"):
                result = np.asarray(self.parent.func(*values))
        result = cast_array(result, self.return_type.np_type)
        return np.array(np.broadcast_to(result, values[0].shape))


class FunctionOp(OpBase):
    """A unary, binary, index-unary or select operator, made of a NumPy function.

    Parameters
    ----------
    name : str
    func : callable
        Called with NumPy arrays (the reference) and, once per type, with symbolic values.
    domain : iterable of DataType, optional
        The types it works on; None: those for which NumPy has the loops.
    coerce : mapping of DataType to DataType, optional
        Types that are converted before.
    returns : function of DataType, optional
        Type of the result for a type of operands; None: what the function gives.
    commutes_to : str, optional
        Name of the operator with the operands exchanged.
    """

    inputs: tuple[str, ...]
    typed_class: ClassVar[type[TypedFunctionOp]] = TypedFunctionOp

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        domain: Iterable[DataType] | None = None,
        coerce: Mapping[DataType, DataType] | None = None,
        *,
        returns: Callable[[DataType], DataType] | None = None,
        commutes_to: str | None = None,
        positional: bool = False,
        anonymous: bool = False,
    ) -> None:
        super().__init__(name, anonymous=anonymous)
        self.func = func
        self.domain = None if domain is None else frozenset(domain)
        self.coercions = dict(coerce or {})
        self.returns = returns
        self.is_positional = positional
        self._commutes_to = commutes_to

    @property
    def thunk_is_index(self) -> bool:
        """Whether the thunk is an INT64 (positional operators) rather than of the type of x."""
        return False

    @property
    def commutative(self) -> bool:
        """Whether ``op(x, y) == op(y, x)`` is known."""
        return self._commutes_to is not None and self._commutes_to == self.name

    @property
    def is_commutative(self) -> bool:
        """The same as `commutative`, by python-graphblas's name."""
        return self.commutative

    @property
    def commutes_to(self) -> FunctionOp | None:
        """The operator with the operands exchanged, if there is one."""
        return None if self._commutes_to is None else _registry.find(self.kind, self._commutes_to)

    @property
    def monoid(self) -> Any:
        """The monoid of a binary operator, if it has one."""
        return None

    def input_types(self, dtype: DataType) -> dict[str, np.dtype[Any]]:
        """Name and NumPy dtype of each input for operands of a type."""
        value = dtype.np_type
        return {n: value if n in ("x", "y", "thunk") else INT64.np_type for n in self.inputs}

    def _make(self, dtype: DataType) -> Any:
        target = self.coercions.get(dtype)
        if target is not None:
            return self._same_as(target)
        if self.domain is not None and dtype not in self.domain:
            raise DomainMismatch
        expr = trace(self.func, self.input_types(dtype))
        halves = dtype.np_type.itemsize == 1 and expr.dtype.kind == "f"
        if self.returns is not None:
            expr = cast(expr, self.returns(dtype).np_type)
        self._check(expr)
        return self.typed_class(self, dtype, expr, halves)

    def _check(self, expr: Expr) -> None:
        """Whether an operator of this kind may compute this."""

    def _call_values(self, *args: Any, typed: Any = None, **kwargs: Any) -> Any:
        """NumPy arrays and Python scalars: the NumPy reference."""
        n = 1 if self.kind == "unary" else 2
        if kwargs or len(args) != n or not all(_is_value(a) for a in args) or self.is_positional:
            super()._call_values(*args)
        arrays = [np.asarray(a) for a in args]
        if n == 2 and typed is None:  # a Python number adapts to the other operand
            dtype = np.result_type(*(a if type(a) in (int, float) else np.asarray(a).dtype for a in args))
            typed = self[unify(*(a.dtype for a in arrays))] if _no_numbers(args) else self[dtype]
        elif typed is None:
            typed = self[arrays[0].dtype]
        return typed.numpy(*arrays)[()]

    def _rebuild_args(self) -> Any:
        return type(self).register_anonymous, (self.func, self.name)

    @classmethod
    def register_new(cls, name: str, func: Callable[..., Any]) -> Any:
        """Make an operator of a function and put it in the namespace of its kind."""
        op = cls._from_function(name, func, anonymous=False)
        _registry.root_of(cls.kind).add(name, op)
        return op

    @classmethod
    def register_anonymous(cls, func: Callable[..., Any], name: str | None = None) -> Any:
        """Make an operator of a function without putting it anywhere."""
        return cls._from_function(name or str(getattr(func, "__name__", "anonymous")), func, anonymous=True)

    @classmethod
    def _from_function(cls, name: str, func: Callable[..., Any], *, anonymous: bool) -> Any:
        if not callable(func):
            raise TypeError(f"{cls.kind}: a function of NumPy values is wanted, not {func!r}")
        return cls._checked(cls(name, func, anonymous=anonymous))

    @staticmethod
    def _checked(op: Any) -> Any:
        """The operator, if it works with any type; it is traced for every type, so that errors show now."""
        if not op.types:
            why = "; ".join(sorted(set(op._reasons.values())))
            raise UdfParseError(f"{op!r} works with no type: {why}")
        return op


def _is_value(a: Any) -> bool:
    return isinstance(a, (bool, int, float, np.generic, np.ndarray, list))


def _no_numbers(args: Iterable[Any]) -> bool:
    return not any(type(a) in (int, float) for a in args)


FLOAT_COERCIONS = {
    **dict.fromkeys((BOOL, INT8, UINT8, INT16, UINT16), FP32),
    **dict.fromkeys((INT32, INT64, UINT32, UINT64), FP64),
}
