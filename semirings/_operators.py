"""The four kinds of operators that are functions: unary, binary, index-unary and select."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from semirings import _registry
from semirings._function_ops import FunctionOp, TypedFunctionOp
from semirings.dtypes import BOOL, INT64, DataType, lookup_dtype, unify
from semirings.exceptions import DomainMismatch, InvalidValue
from semirings.expr import Expr, inputs


class TypedUnaryOp(TypedFunctionOp):
    """``unary.abs[INT8]``: see `TypedFunctionOp`."""

    __slots__ = ()


class TypedBinaryOp(TypedFunctionOp):
    """``binary.plus[INT8]``: see `TypedFunctionOp`."""

    __slots__ = ()


class TypedIndexUnaryOp(TypedFunctionOp):
    """``indexunary.rowindex[INT64]``: see `TypedFunctionOp`."""

    __slots__ = ()


class TypedSelectOp(TypedFunctionOp):
    """``select.tril[FP64]``: see `TypedFunctionOp`."""

    __slots__ = ()


class UnaryOp(FunctionOp):
    """One value in, one value out: ``unary.abs``.

    See `semirings.unary` for the operators there are and for making new ones.
    """

    kind = "unary"
    typed_class = TypedUnaryOp

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the operands."""
        return ("x", "i", "j") if self.is_positional else ("x",)

    def _usage(self) -> str:
        return f"write {self!r}(A), which is A.apply({self!r})"


def _parameters(func: Callable[..., Any]) -> int:
    """How many parameters a function has; 0 if it does not say."""
    try:
        return len(signature(func).parameters)
    except (TypeError, ValueError):  # a NumPy ufunc, a builtin
        return 0


class BinaryOp(FunctionOp):
    """Two values in, one value out: ``binary.plus``.

    See `semirings.binary` for the operators there are and for making new ones.
    """

    kind = "binary"
    typed_class = TypedBinaryOp
    pair_type: DataType | None = (
        None  # the type for operands of two types, where this is not their common one
    )
    _monoid: Any = None

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the operands."""
        return ("x", "y", "ix", "jx", "iy", "jy") if self.is_positional else ("x", "y")

    @classmethod
    def _from_function(cls, name: str, func: Callable[..., Any], *, anonymous: bool) -> Any:
        if callable(func) and _parameters(func) == 6:
            return cls._checked(cls(name, func, anonymous=anonymous, positional=True))
        return super()._from_function(name, func, anonymous=anonymous)

    @property
    def monoid(self) -> Any:
        """The monoid of this operator, if there is one."""
        if self._monoid is None and not self.anonymous:
            found = _registry.root_of("monoid").find(self.name)
            self._monoid = found if found is not None and found.binaryop is self else None
        return self._monoid

    def _resolve(self, a: DataType, b: DataType) -> Any:
        if self.pair_type is not None:
            return self[self.pair_type]
        try:
            return self[unify(a, b)]
        except DomainMismatch:  # an operator that looks at one operand only needs no common type
            for dtype, other in ((a, "y"), (b, "x")):
                if dtype in self and other not in inputs(self[dtype].expr):
                    return self[dtype]
            raise

    def _usage(self) -> str:
        return f"write {self!r}(A | B), {self!r}(A & B), {self!r}(A, 1) or {self!r}(1, A)"


class IndexUnaryOp(FunctionOp):
    """A value, its row and column, and a further value (the thunk) in, one value out.

    See `semirings.indexunary` for the operators there are and for making new ones.
    """

    kind = "indexunary"
    typed_class: ClassVar[type[TypedFunctionOp]] = TypedIndexUnaryOp
    inputs = ("x", "i", "j", "thunk")

    @property
    def thunk_is_index(self) -> bool:
        """Whether the thunk is an INT64 (positional operators) rather than of the type of x."""
        return self.is_positional

    def input_types(self, dtype: DataType) -> dict[str, np.dtype[Any]]:
        """Name and NumPy dtype of each input for operands of a type."""
        types = super().input_types(dtype)
        if self.thunk_is_index:
            types["thunk"] = INT64.np_type
        return types

    def _resolve(self, a: DataType, b: DataType) -> Any:
        if not self.is_positional:
            return self[unify(a, b)]
        try:
            return self[unify(a, b)]
        except DomainMismatch:
            return self[INT64]

    def _usage(self) -> str:
        return f"write {self!r}(A, thunk)"

    @classmethod
    def register_new(cls, name: str, func: Callable[..., Any]) -> Any:
        """Make an operator of a function and put it in the namespace; also as select if it gives booleans."""
        op = super().register_new(name, func)
        if cls is IndexUnaryOp and set(op.types.values()) == {BOOL}:
            select = _registry.root_of("select")
            if select.find(name) is None:
                select.add(name, SelectOp(name, func))
        return op


class SelectOp(IndexUnaryOp):
    """An index-unary operator that says which entries to keep.

    See `semirings.select` for the operators there are and for making new ones.
    """

    kind = "select"
    typed_class = TypedSelectOp

    def _check(self, expr: Expr) -> None:
        if expr.dtype != np.bool_:
            raise InvalidValue(
                f"{self!r} gives {lookup_dtype(expr.dtype)}, but a select operator says yes or no (BOOL): "
                "compare, as in `x > thunk`"
            )

    @classmethod
    def register_new(cls, name: str, func: Callable[..., Any]) -> Any:
        """Make an operator of a function and put it in the namespaces select and indexunary."""
        op = super().register_new(name, func)
        indexunary = _registry.root_of("indexunary")
        if indexunary.find(name) is None:
            indexunary.add(name, IndexUnaryOp(name, func))
        return op


CLASSES: dict[str, type[FunctionOp]] = {c.kind: c for c in (UnaryOp, BinaryOp, IndexUnaryOp, SelectOp)}
