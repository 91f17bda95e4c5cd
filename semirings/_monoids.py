"""Monoids and semirings: binary operators that go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semirings import _convert, _registry
from semirings._base import OpBase, TypedOp
from semirings._operators import BinaryOp, TypedBinaryOp
from semirings.dtypes import DataType, lookup_dtype
from semirings.exceptions import DomainMismatch, InvalidValue
from semirings.expr import cast_array


class TypedMonoid(TypedOp):
    """``monoid.min[INT64]``: an associative, commutative operator with an identity.

    Attributes
    ----------
    binaryop : TypedBinaryOp
    identity : NumPy scalar
        ``binaryop(identity, x) == x``; of `any`, a value that is never seen.
    start : NumPy scalar
        What a running total starts from. The identity, but where that changes a value: for
        floats min(inf, NaN) is inf and 0.0 + -0.0 is 0.0, while NaN and -0.0 leave all as it is.
    terminal : NumPy scalar or None
        ``binaryop(terminal, x) == terminal``: a reduction may stop here.
    terminal_any : bool
        True for `any`: a reduction may stop at every value.
    """

    __slots__ = ("binaryop", "identity", "start", "terminal", "terminal_any")

    def __init__(self, parent: Monoid, binaryop: TypedBinaryOp, identity: Any, terminal: Any, start: Any) -> None:
        ends = tuple(None if v is None else v.tobytes() for v in (identity, terminal))
        key = ("monoid", binaryop.key, *ends, parent.terminal_any)
        super().__init__(parent, binaryop.type, binaryop.type, binaryop.return_type, key)
        self.binaryop, self.identity, self.terminal = binaryop, identity, terminal
        self.start = identity if start is None else start
        self.terminal_any = parent.terminal_any

    @property
    def idempotent(self) -> bool:
        """Whether ``binaryop(x, x) == x``."""
        return bool(self.parent.idempotent)

    is_idempotent = idempotent
    commutative = is_commutative = True
    positional = is_positional = False

    def numpy(self, x: Any, y: Any) -> np.ndarray[Any, Any]:
        """The NumPy reference of the binary operator."""
        return self.binaryop.numpy(x, y)

    def reduce(self, values: Any) -> Any:
        """The NumPy reference of a reduction; the identity for no values.

        Examples
        --------
        >>> from semirings import monoid
        >>> monoid.max["INT8"].reduce([-5, -3]), monoid.land["BOOL"].reduce([])
        (np.int8(-3), np.True_)
        """
        array = cast_array(values, self.type.np_type)
        if not array.size:
            return self.identity
        while array.size > 1:
            half = array.size // 2
            pairs = self.binaryop.numpy(array[:half], array[half : 2 * half])
            array = np.concatenate([pairs, array[2 * half :]])
        return array[0]


class Monoid(OpBase):
    """An associative, commutative binary operator with an identity: ``monoid.min``.

    See `semirings.monoid` for the monoids there are and for making new ones.

    Attributes
    ----------
    binaryop : BinaryOp
    idempotent : bool
        Whether ``op(x, x) == x``.
    """

    kind = "monoid"

    def __init__(
        self,
        name: str,
        binaryop: BinaryOp,
        identity: Any,
        *,
        is_idempotent: bool = False,
        terminal: Any = None,
        terminal_any: bool = False,
        start: Any = None,
        domain: Any = None,
        coerce: Mapping[DataType, DataType] | None = None,
        semiring_coerce: Mapping[DataType, DataType] | None = None,
        anonymous: bool = False,
    ) -> None:
        super().__init__(name, anonymous=anonymous)
        self.binaryop = binaryop
        self.idempotent = is_idempotent
        self.terminal_any = terminal_any
        self._identity, self._terminal, self._start = identity, terminal, start
        self._domain = None if domain is None else frozenset(domain)
        self.coercions = dict(coerce or {})
        self.semiring_coercions = {**self.coercions, **(semiring_coerce or {})}

    commutative = is_commutative = True
    is_positional = False

    @property
    def is_idempotent(self) -> bool:
        """The same as `idempotent`, by python-graphblas's name."""
        return self.idempotent

    @property
    def identities(self) -> dict[DataType, Any]:
        """The identity of each type.

        Examples
        --------
        >>> from semirings import monoid
        >>> monoid.max.identities["INT8"]
        np.int8(-128)
        """
        return _Identities((dtype, self[dtype].identity) for dtype in self.types)

    def _make(self, dtype: DataType) -> Any:
        if dtype in self.coercions:
            return self._same_as(self.coercions[dtype])
        if self._domain is not None and dtype not in self._domain:
            raise DomainMismatch
        op = self.binaryop[dtype]
        if op.type != dtype or op.return_type != dtype:
            raise DomainMismatch(f"{op!r} takes {op.type} and gives {op.return_type}")
        identity = _value_for(self._identity, dtype)
        if identity is None:
            raise DomainMismatch("no identity of this type")
        return TypedMonoid(self, op, identity, _value_for(self._terminal, dtype), _value_for(self._start, dtype))

    def _call_values(self, *args: Any, typed: Any = None, **kwargs: Any) -> Any:
        return self.binaryop._call_values(*args, typed=typed and typed.binaryop, **kwargs)

    def _usage(self) -> str:
        return f"write {self!r}(A | B)"

    def _rebuild_args(self) -> Any:
        return _rebuild_monoid, (self.binaryop, self._identity, self.name, self.idempotent, self._terminal)

    @classmethod
    def register_new(
        cls, name: str, binaryop: Any, identity: Any, *, is_idempotent: bool = False, terminal: Any = None
    ) -> Monoid:
        """Make a monoid and put it in the namespace; see `semirings.monoid`."""
        new = cls._from_binary(name, binaryop, identity, is_idempotent, terminal, anonymous=False)
        _registry.root_of("monoid").add(name, new)
        if new.binaryop._monoid is None:
            new.binaryop._monoid = new
        return new

    @classmethod
    def register_anonymous(
        cls,
        binaryop: Any,
        identity: Any,
        name: str | None = None,
        *,
        is_idempotent: bool = False,
        terminal: Any = None,
    ) -> Monoid:
        """Make a monoid without putting it anywhere; see `semirings.monoid`."""
        new = cls._from_binary(name, binaryop, identity, is_idempotent, terminal, anonymous=True)
        if new.binaryop.anonymous and new.binaryop._monoid is None:
            new.binaryop._monoid = new
        return new

    @classmethod
    def _from_binary(
        cls, name: str | None, binaryop: Any, identity: Any, idempotent: bool, terminal: Any, anonymous: bool
    ) -> Monoid:
        op = _convert.as_binary(binaryop, untyped=True)
        if op.is_positional:
            raise InvalidValue(f"monoid: {op!r} asks for positions, which partial results do not have")
        identity, terminal = (
            {lookup_dtype(dtype): v for dtype, v in value.items()} if isinstance(value, Mapping) else value
            for value in (identity, terminal)
        )
        new = cls(
            name or op.name, op, identity, is_idempotent=idempotent, terminal=terminal, anonymous=anonymous
        )
        if not new.types:
            raise InvalidValue(
                f"{new!r} works with no type: {op!r} must give the type of its operands and the identity "
                f"{identity!r} must be a value of it; types of {op!r}: {op.types}"
            )
        return new


class _Identities(dict[DataType, Any]):
    """A dict that also finds types by name."""

    def __missing__(self, key: Any) -> Any:
        return dict.__getitem__(self, lookup_dtype(key))


def _rebuild_monoid(binaryop: Any, identity: Any, name: str, idempotent: bool, terminal: Any) -> Monoid:
    return Monoid.register_anonymous(binaryop, identity, name, is_idempotent=idempotent, terminal=terminal)


def _value_for(value: Any, dtype: DataType) -> Any:
    """A scalar, mapping or function of the dtype as NumPy scalar; None if it is no value of the type."""
    if callable(value):
        value = value(dtype.np_type)
    elif isinstance(value, Mapping):
        value = value.get(dtype)
    if value is None:
        return None
    try:
        with np.errstate(invalid="ignore"):
            scalar = np.asarray(value).astype(dtype.np_type)[()]
    except (OverflowError, ValueError, TypeError):
        return None
    same = scalar == value or (value != value and dtype.np_type.kind == "f")
    return scalar if same else None


class TypedSemiring(TypedOp):
    """``semiring.min_plus[INT64]``: how to multiply, and how to add up.

    Attributes
    ----------
    monoid : TypedMonoid
    binaryop : TypedBinaryOp
        Its `return_type` is the type of the monoid.
    """

    __slots__ = ("binaryop", "monoid")

    def __init__(self, parent: Semiring, monoid: TypedMonoid, binaryop: TypedBinaryOp) -> None:
        key = ("semiring", monoid.key, binaryop.key)
        super().__init__(parent, binaryop.type, binaryop.type2, monoid.return_type, key)
        self.monoid, self.binaryop = monoid, binaryop

    @property
    def positional(self) -> bool:
        """Whether the product looks at positions."""
        return bool(self.binaryop.positional)

    is_positional = positional

    @property
    def commutative(self) -> bool:
        """Whether the product commutes."""
        return bool(self.binaryop.commutative)

    is_commutative = commutative


class Semiring(OpBase):
    """A monoid to add and a binary operator to multiply: ``semiring.min_plus``.

    See `semirings.semiring` for the semirings there are and for making new ones.

    Attributes
    ----------
    monoid : Monoid
    binaryop : BinaryOp
    """

    kind = "semiring"

    def __init__(self, name: str, monoid: Monoid, binaryop: BinaryOp, *, anonymous: bool = False) -> None:
        super().__init__(name, anonymous=anonymous)
        self.monoid, self.binaryop = monoid, binaryop

    @property
    def is_positional(self) -> bool:
        """Whether the product looks at positions."""
        return self.binaryop.is_positional

    @property
    def is_commutative(self) -> bool:
        """Whether the product commutes."""
        return self.binaryop.is_commutative

    commutative = is_commutative

    def _make(self, dtype: DataType) -> Any:
        product = self.binaryop[dtype]
        if product.type != dtype:
            return self._same_as(product.type)
        result = product.return_type
        coerced = self.monoid.semiring_coercions.get(result)
        if coerced is not None:  # lor_plus of INT64 is lor_plus of BOOL, if plus of BOOL is BOOL
            product = self.binaryop._find_typed(coerced)
            if product is not None and product.type is coerced and product.return_type is coerced:
                return self._same_as(coerced)
            raise DomainMismatch(f"{self.binaryop!r} gives {result}, which {self.monoid!r} does not take")
        if result not in self.monoid:
            raise DomainMismatch(f"{product!r} gives {result}, which {self.monoid!r} does not take")
        return TypedSemiring(self, self.monoid[result], product)

    def _resolve(self, a: DataType, b: DataType) -> Any:
        return self[self.binaryop._resolve(a, b).type]

    def _usage(self) -> str:
        return f"write {self!r}(A @ B)"

    def _rebuild_args(self) -> Any:
        return Semiring.register_anonymous, (self.monoid, self.binaryop, self.name)

    @classmethod
    def register_new(cls, name: str, monoid: Any, binaryop: Any) -> Semiring:
        """Make a semiring and put it in the namespace; see `semirings.semiring`."""
        new = cls._from_parts(name, monoid, binaryop, anonymous=False)
        _registry.root_of("semiring").add(name, new)
        return new

    @classmethod
    def register_anonymous(cls, monoid: Any, binaryop: Any, name: str | None = None) -> Semiring:
        """Make a semiring without putting it anywhere; see `semirings.semiring`."""
        return cls._from_parts(name, monoid, binaryop, anonymous=True)

    @classmethod
    def _from_parts(cls, name: str | None, monoid: Any, binaryop: Any, *, anonymous: bool) -> Semiring:
        add = _convert.as_monoid(monoid, untyped=True)
        multiply = _convert.as_binary(binaryop, untyped=True)
        new = cls(name or f"{add.name}_{multiply.name}".replace(".", "_"), add, multiply, anonymous=anonymous)
        if not new.types:
            raise InvalidValue(
                f"{new!r} works with no type: {multiply!r} gives "
                f"{', '.join(sorted({t.name for t in multiply.types.values()}))}, but {add!r} takes "
                f"{', '.join(t.name for t in add.types)}"
            )
        return new


def get_semiring(monoid: Any, binaryop: Any, name: str | None = None) -> Any:
    """The semiring of a monoid and a binary operator: a registered one, or a new anonymous one.

    Parameters
    ----------
    monoid, binaryop
        Operators or strings; if one is typed, the semiring is.

    Examples
    --------
    >>> from semirings import binary, monoid, semiring
    >>> semiring.get_semiring(monoid.min, binary.plus)
    semiring.min_plus
    """
    add, multiply = _convert.as_monoid(monoid), _convert.as_binary(binaryop)
    dtype = multiply.type if isinstance(multiply, TypedOp) else add.type if isinstance(add, TypedOp) else None
    add, multiply = getattr(add, "parent", add), getattr(multiply, "parent", multiply)
    last = multiply.name.rpartition(".")[2]
    found = _registry.root_of("semiring").find(f"{add.name}_{last}")
    if found is None or found.monoid is not add or found.binaryop is not multiply:
        found = Semiring.register_anonymous(add, multiply, name)
    return found if dtype is None else found[dtype]
