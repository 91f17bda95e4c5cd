"""What an operator computes, as a tree of typed nodes.

A tree is made by tracing a NumPy function (``semirings.trace``) and is read by three
interpreters: `evaluate` (NumPy arrays, the reference), `to_python` (text that Numba compiles and
that plain Python runs) and `to_cuda` (CUDA C++). Nodes are immutable, hash and compare by
structure, and carry the NumPy dtype of their value. The names that a `Call` may have are the rows
of ``semirings._primitives``.

Encoding: every `Call` has arguments of exactly the types that its primitive works on; all
conversions stand in the tree as `Cast`. Arithmetic on integers is modular.

>>> import numpy as np
>>> x, y = Input("x", np.int8), Input("y", np.int8)
>>> e = Call("minimum", (Call("add", (x, y), np.int8), Const(100, np.int8)), np.int8)
>>> e
minimum(add(x, y), 100)
>>> evaluate(e, {"x": np.array([1, 90], "i1"), "y": np.array([2, 20], "i1")})
array([  3, 100], dtype=int8)
>>> from semirings.expr import to_python
>>> print(*to_python(e, "z"), sep="\\n")
t_0 = np.int8(x + y)
z = np.int8(t_0 if t_0 < np.int8(100) else np.int8(100))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

__all__ = [
    "CUDA_PRELUDE",  # noqa: F822
    "PRELUDE_NAMES",  # noqa: F822
    "PYTHON_PRELUDE",  # noqa: F822
    "Call",
    "Cast",
    "Const",
    "Expr",
    "Input",
    "Where",
    "cast",
    "cast_array",
    "evaluate",
    "inputs",
    "substitute",
    "to_cuda",  # noqa: F822
    "to_python",  # noqa: F822
]


class Expr:
    """A node; see `Input`, `Const`, `Call`, `Where` and `Cast`.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the value.
    args : tuple of Expr
        The operands.
    """

    __slots__ = ("_hash", "args", "dtype", "label")

    _hash: int
    dtype: np.dtype[Any]
    args: tuple[Expr, ...]
    label: Any  # what tells nodes of one class apart: a name, a value

    def __init__(self, label: Any, args: tuple[Expr, ...], dtype: Any) -> None:
        set_ = object.__setattr__
        set_(self, "label", label)
        set_(self, "args", args)
        set_(self, "dtype", np.dtype(dtype))
        set_(self, "_hash", hash((type(self).__name__, label, args, self.dtype.char)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}: a node cannot be changed")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Expr)
            and type(self) is type(other)
            and self._hash == other._hash
            and self.dtype == other.dtype
            and self.label == other.label
            and self.args == other.args
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.label, self.args, self.dtype)

    def with_args(self, args: tuple[Expr, ...]) -> Expr:
        """The same node over other operands."""
        return _rebuild(type(self), self.label, args, self.dtype)


class Input(Expr):
    """A value that comes from outside, by name."""

    __slots__ = ()

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name, (), dtype)

    @property
    def name(self) -> str:
        """Name of the value."""
        return str(self.label)

    def __repr__(self) -> str:
        return self.name


class Const(Expr):
    """A value that is known; one that does not fit `dtype` raises OverflowError."""

    __slots__ = ()

    def __init__(self, value: Any, dtype: Any) -> None:
        dtype = np.dtype(dtype)
        scalar = cast_array(value, dtype)[()] if isinstance(value, np.generic) else dtype.type(value)
        # bytes tell nan from nan and 0.0 from -0.0
        super().__init__(scalar.tobytes(), (), dtype)

    @property
    def value(self) -> Any:
        """The value, as a NumPy scalar of `dtype`."""
        return np.frombuffer(self.label, self.dtype)[0]

    def __repr__(self) -> str:
        return str(self.value)


class Call(Expr):
    """A primitive applied to operands."""

    __slots__ = ()

    def __init__(self, name: str, args: tuple[Expr, ...], dtype: Any) -> None:
        super().__init__(name, tuple(args), dtype)

    @property
    def name(self) -> str:
        """Name of the primitive."""
        return str(self.label)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


class Where(Expr):
    """``a if cond else b``; `a` and `b` have one type."""

    __slots__ = ()

    def __init__(self, cond: Expr, a: Expr, b: Expr) -> None:
        if a.dtype != b.dtype or cond.dtype != np.bool_:
            raise TypeError(f"Where({cond.dtype}, {a.dtype}, {b.dtype})")
        super().__init__("", (cond, a, b), a.dtype)

    def __repr__(self) -> str:
        return f"where({', '.join(map(repr, self.args))})"


class Cast(Expr):
    """A value converted to another type, as GraphBLAS does (see `cast`)."""

    __slots__ = ()

    def __init__(self, arg: Expr, dtype: Any) -> None:
        super().__init__("", (arg,), dtype)

    def __repr__(self) -> str:
        return f"{self.dtype.name}({self.args[0]!r})"


def _rebuild(cls: type[Expr], label: Any, args: tuple[Expr, ...], dtype: Any) -> Expr:
    node = cls.__new__(cls)
    Expr.__init__(node, label, args, dtype)
    return node


def cast(e: Expr, dtype: Any) -> Expr:
    """`e` converted to `dtype`; `e` itself if it has this type.

    Floats saturate at the ends of an integer type and NaN becomes 0, as in SuiteSparse; integers
    wrap; anything becomes a boolean by ``!= 0``.

    Examples
    --------
    >>> import numpy as np
    >>> cast(Input("x", np.float64), np.int8)
    int8(x)
    >>> cast(Const(300.5, np.float64), np.int8)
    127
    """
    dtype = np.dtype(dtype)
    if e.dtype == dtype:
        return e
    if isinstance(e, Const):
        return Const(cast_array(e.value, dtype)[()], dtype)
    return Cast(e, dtype)


def cast_array(values: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """`cast` for arrays.

    Examples
    --------
    >>> import numpy as np
    >>> cast_array([1.9, -1e9, np.nan], np.int16)
    array([     1, -32768,      0], dtype=int16)
    """
    array, dtype = np.asarray(values), np.dtype(dtype)
    if array.dtype == dtype:
        return array
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    info = np.iinfo(dtype)
    low, high = array <= info.min, array >= float(info.max)
    inside = np.where(low | high | np.isnan(array), 0, array).astype(dtype)
    return np.where(high, info.max, np.where(low, info.min, inside)).astype(dtype)


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """`e` with inputs replaced by trees, converted to the types of the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> x = Input("x", np.int64)
    >>> substitute(Call("negative", (x,), np.int64), {"x": Input("v", np.int8)})
    negative(int64(v))
    """
    done: dict[Expr, Expr] = {}
    for node in walk(e):
        if isinstance(node, Input):
            new = values.get(node.name)
            done[node] = node if new is None else cast(new, node.dtype)
            continue
        args = tuple(done[a] for a in node.args)
        if args == node.args:
            done[node] = node
        elif isinstance(node, Cast):
            done[node] = cast(args[0], node.dtype)
        else:
            done[node] = node.with_args(args)
    return done[e]


def inputs(e: Expr) -> frozenset[str]:
    """Names of the inputs that `e` uses.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(inputs(Call("add", (Input("y", np.int8), Input("x", np.int8)), np.int8)))
    ['x', 'y']
    """
    return frozenset(node.name for node in walk(e) if isinstance(node, Input))


def walk(e: Expr) -> Iterator[Expr]:
    """Every different node of `e` once, operands before what uses them."""
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if node in seen:
            continue
        if ready or not node.args:
            seen.add(node)
            yield node
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))


def evaluate(e: Expr, env: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """The value of `e` for arrays (or scalars) `env`, computed by NumPy.

    Warnings for overflow and the like are silenced: all arithmetic is defined.

    Examples
    --------
    >>> import numpy as np
    >>> x = Input("x", np.uint8)
    >>> evaluate(Call("add", (x, Const(10, np.uint8)), np.uint8), {"x": np.array([250, 1])})
    array([ 4, 11], dtype=uint8)
    """
    done: list[np.ndarray[Any, Any]] = []
    with np.errstate(all="ignore"):
        for function, name, places, dtype in _steps(e):
            args = [env[name]] if name else [done[place] for place in places]
            result = cast_array(args[0], dtype) if function is None else np.asarray(function(*args))
            done.append(result if result.dtype == dtype else result.astype(dtype))
    return done[-1]


@lru_cache(maxsize=4096)
def _steps(e: Expr) -> tuple[tuple[Callable[..., Any] | None, str, tuple[int, ...], Any], ...]:
    """For each node of `e`: a function (None: a cast), an input's name, the steps whose results it takes, its dtype."""
    from semirings._primitives import reference

    place: dict[Expr, int] = {}
    steps: list[tuple[Any, ...]] = []
    for node in walk(e):
        function: Callable[..., Any] | None = None
        if isinstance(node, Const):
            function = partial(np.asarray, node.value)
        elif isinstance(node, Where):
            function = np.where
        elif not isinstance(node, (Input, Cast)):
            function = reference(node.label)
        place[node] = len(steps)
        name = node.name if isinstance(node, Input) else ""
        steps.append((function, name, tuple(place[a] for a in node.args), node.dtype))
    return tuple(steps)


def __getattr__(name: str) -> Any:
    # the printers and their preludes are loaded when first used
    if name in ("to_python", "PYTHON_PRELUDE", "PRELUDE_NAMES"):
        from semirings import _python as module
    elif name in ("to_cuda", "CUDA_PRELUDE"):
        from semirings import _cuda as module  # type: ignore[no-redef]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(module, name)
    return value
