"""Where operators live: one tree of names per kind, and names such as ``"my.op"`` make branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from semirings import dtypes
from semirings.exceptions import InvalidValue

KINDS = ("unary", "binary", "monoid", "semiring", "indexunary", "select", "agg")


class Namespace:
    """Operators of one kind under a dotted path, such as ``unary.ss``.

    Examples
    --------
    >>> from semirings import unary
    >>> unary.ss
    <namespace unary.ss>
    >>> "erf" in dir(unary.ss)
    True
    """

    def __init__(self, kind: str, path: str = "", module: dict[str, Any] | None = None) -> None:
        self._kind, self._path = kind, path
        self._entries: dict[str, Any] = {}
        # what finds a name at once: the module's variables, or this object's
        self._fast = self.__dict__ if module is None else module

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_entries"][name]
        except KeyError:
            raise AttributeError(f"{self._full(name)} is not registered{self._hint(name)}") from None

    def __dir__(self) -> list[str]:
        return sorted(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries.values())

    def __repr__(self) -> str:
        return f"<namespace {self._full('')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self._kind, self._path)

    def _full(self, name: str) -> str:
        return ".".join(part for part in (self._kind, self._path, name) if part)

    def _hint(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self._entries, 3)
        return f"; did you mean {', '.join(near)}?" if near else ""

    def find(self, name: str) -> Any:
        """The entry of a dotted name, or None."""
        current: Any = self
        for part in name.split("."):
            if not isinstance(current, Namespace):
                return None
            current = current._entries.get(part)
        return current

    def add(self, name: str, entry: Any) -> None:
        """Put an entry under a dotted name; a name that is taken raises InvalidValue."""
        *path, last = name.split(".")
        if not all(part.isidentifier() for part in (*path, last)):
            raise InvalidValue(f"{self._kind}: {name!r} is not a name (identifiers joined by dots)")
        current = self
        for depth, part in enumerate(path, 1):
            below = current._entries.get(part)
            if below is None:
                below = Namespace(self._kind, ".".join(path[:depth]))
                current._entries[part] = current._fast[part] = below
            if not isinstance(below, Namespace):
                raise InvalidValue(f"{self._kind}.{name}: {below!r} is an operator, not a namespace")
            current = below
        if last in current._entries:
            raise InvalidValue(
                f"{self._kind}.{name} is already registered; choose another name or use register_anonymous"
            )
        current._entries[last] = current._fast[last] = entry

    def operators(self) -> Iterator[tuple[str, Any]]:
        """Every operator once, with a dotted name under which it is found."""
        seen: set[int] = set()
        for name, entry in list(self._entries.items()):
            found = entry.operators() if isinstance(entry, Namespace) else [("", entry)]
            for below, op in found:
                if id(op) not in seen:
                    seen.add(id(op))
                    yield f"{name}.{below}" if below else name, op


_roots: dict[str, Namespace] = {}


def make_root(kind: str, operators: Callable[[], Any], module: dict[str, Any]) -> Namespace:
    """The tree of a kind, filled with ``(name, operator)`` pairs; its first level is the module."""
    root = _roots[kind] = Namespace(kind, module=module)
    for name, op in operators():
        root.add(name, op)
    return root


def root_of(kind: str) -> Namespace:
    """The tree of a kind; its module is imported if need be."""
    if kind not in _roots:
        import_module(f"semirings.{kind}")
    return _roots[kind]


def find(kind: str, name: str) -> Any:
    """The operator of a dotted name; used to unpickle."""
    found = root_of(kind).find(name) if name else root_of(kind)
    if found is None:
        raise InvalidValue(f"{kind}.{name} is not registered in this process; register it first")
    return found


def from_string(kind: str, string: str, symbols: dict[str, str], example: str) -> Any:
    """The operator that a string names: ``"+"``, ``"plus"``, ``"plus[INT64]"``, ``"ss.erf"``."""
    text = string.strip()
    base, bracket, dtype = text.partition("[")
    if bracket and (not dtype.endswith("]") or "[" in dtype):
        raise InvalidValue(f"bad {kind} string {string!r}: the type stands in [], as in {example!r}")
    root = root_of(kind)
    name = symbols.get(base, base)
    found = root.find(name) or root.find(name.lower()) or root.find(f"numpy.{name.lower()}")
    if found is None and "." not in name:
        found = root.find(f"ss.{name.lower()}")
    if found is None or isinstance(found, Namespace):
        known = ", ".join(map(repr, symbols))
        hint = f" or one of {known}" if known else ""
        raise InvalidValue(
            f"unknown {kind} string {string!r}: it is the name of an operator{hint}, as in {example!r}"
            f"{root._hint(name.lower())}"
        )
    return found[dtypes.lookup_dtype(dtype[:-1])] if bracket else found
