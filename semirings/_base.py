"""What all operators share.

An untyped operator (``binary.plus``) is cheap: a name and a definition. Indexing it by a type gives a
typed operator (``binary.plus[INT64]``), which is made when first asked for and kept.
"""

from __future__ import annotations

from operator import getitem
from typing import Any, ClassVar

from semirings import _registry
from semirings.dtypes import ALL, DataType, lookup_dtype, unify
from semirings.exceptions import DomainMismatch


def dispatch(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call over to the first argument that knows what to do (``__semiring_call__``)."""
    for arg in args[:2]:
        method = getattr(type(arg), "__semiring_call__", None)
        if method is not None:
            result = method(arg, op, args, kwargs)
            if result is not NotImplemented:
                return result
    return NotImplemented


class OpBase:
    """What all untyped operators share; see the kinds.

    Attributes
    ----------
    name : str
        Dotted name within the kind's namespace.
    kind : str
        ``"unary"``, ``"binary"``, ``"indexunary"``, ``"select"``, ``"monoid"``, ``"semiring"``, ``"agg"``.
    """

    kind: ClassVar[str]
    name: str
    anonymous: bool
    _typed: dict[DataType, Any]

    def __init__(self, name: str, *, anonymous: bool = False) -> None:
        self.name, self.anonymous = name, anonymous
        self._typed = {}
        self._resolved: dict[Any, Any] = {}  # typed operators for pairs of types
        self._reasons: dict[DataType, str] = {}  # why there is no typed operator

    def _make(self, dtype: DataType) -> Any:
        """The typed operator; raises DomainMismatch with the reason (or "") where there is none."""
        raise NotImplementedError

    def _find_typed(self, dtype: DataType) -> Any:
        """The typed operator, or None."""
        typed = self._typed.get(dtype)
        if typed is None and dtype not in self._reasons:
            try:
                typed = self._typed[dtype] = self._make(dtype)
            except DomainMismatch as error:
                self._reasons[dtype] = str(error)
        return typed

    def _same_as(self, dtype: DataType) -> Any:
        """The typed operator of another type, for use in `_make`."""
        typed = self._find_typed(dtype)
        if typed is None:
            raise DomainMismatch(self._reasons[dtype])
        return typed

    def __getitem__(self, key: Any) -> Any:
        if type(key) is tuple:
            return self.resolve(*key)
        dtype = lookup_dtype(key)
        typed = self._find_typed(dtype)
        if typed is None:
            why = f" ({self._reasons[dtype]})" if self._reasons[dtype] else ""
            works = ", ".join(dt.name for dt in self.types)
            raise DomainMismatch(f"{self!r} does not work with {dtype}{why}; it works with {works}")
        return typed

    def __contains__(self, key: Any) -> bool:
        try:
            return self._find_typed(lookup_dtype(key)) is not None
        except DomainMismatch:
            return False

    @property
    def types(self) -> dict[DataType, DataType]:
        """Type of the result for each type of the input.

        Examples
        --------
        >>> from semirings import binary
        >>> from semirings.dtypes import INT64
        >>> binary.truediv.types[INT64]
        FP64
        """
        found = {dtype: self._find_typed(dtype) for dtype in ALL}
        return {dtype: typed.return_type for dtype, typed in found.items() if typed is not None}

    def resolve(self, type1: Any, type2: Any = None) -> Any:
        """The typed operator for operands of these types (their common type, if there are two).

        Raises
        ------
        DomainMismatch
            If the operator does not work with the type, or the types have none in common.

        Examples
        --------
        >>> from semirings import binary, unary
        >>> binary.plus.resolve("INT8", "FP32")
        binary.plus[FP32]
        >>> unary.sqrt.resolve(int)
        unary.sqrt[FP64]
        """
        if type2 is None:
            return self[type1]
        typed = self._resolved.get((type1, type2))
        if typed is None:
            typed = self._resolve(lookup_dtype(type1), lookup_dtype(type2))
            self._resolved[type1, type2] = typed
        return typed

    def _resolve(self, a: DataType, b: DataType) -> Any:
        return self[unify(a, b)]

    def __repr__(self) -> str:
        return f"{self.kind}.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = dispatch(self, args, kwargs)
        if result is NotImplemented:
            return self._call_values(*args, **kwargs)
        return result

    def _call_values(self, *args: Any, **kwargs: Any) -> Any:
        got = ", ".join(type(a).__name__ for a in args) or "nothing"
        raise TypeError(f"{self!r} was called with {got}; {self._usage()}")

    def _usage(self) -> str:
        return f"write for example {self!r}(A)"

    def __copy__(self) -> OpBase:
        return self

    def __deepcopy__(self, memo: object) -> OpBase:
        return self

    def __reduce__(self) -> Any:
        if self.anonymous:
            return self._rebuild_args()
        return _registry.find, (self.kind, self.name)

    def _rebuild_args(self) -> Any:
        raise NotImplementedError


class TypedOp:
    """What all typed operators share: an operator for one type of operands.

    Attributes
    ----------
    name : str
    parent : OpBase
        The untyped operator.
    type, type2, return_type : DataType
        Of the first operand (or the only one), the second, the result. Operands of other types are
        converted to these first.
    key : hashable
        Equal exactly for operators of one kind that mean the same.
    """

    __slots__ = ("_key", "name", "parent", "return_type", "type", "type2")

    def __init__(
        self, parent: Any, type_: DataType, type2: DataType, return_type: DataType, key: Any
    ) -> None:
        self.name, self.parent = parent.name, parent
        self.type, self.type2, self.return_type = type_, type2, return_type
        self._key = key

    @property
    def kind(self) -> str:
        """Kind of the operator, as in `OpBase`."""
        return str(self.parent.kind)

    @property
    def key(self) -> Any:
        """Identity: equal exactly for operators of one kind that mean the same."""
        return self._key

    def resolve(self, type1: Any = None, type2: Any = None) -> TypedOp:
        """Itself: a typed operator keeps its type."""
        return self

    def __repr__(self) -> str:
        return f"{self.parent!r}[{self.type}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = dispatch(self, args, kwargs)
        if result is NotImplemented:
            return self.parent._call_values(*args, typed=self, **kwargs)
        return result

    def __copy__(self) -> TypedOp:
        return self

    def __deepcopy__(self, memo: object) -> TypedOp:
        return self

    def __reduce__(self) -> Any:
        return getitem, (self.parent, self.type)
