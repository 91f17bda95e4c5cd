"""What a recorded loop does in an iteration; see `spgraph.loops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from spgraph._loop_numbers import Number, value_now
from spgraph._plans import Plan
from spgraph.expression import Expression
from spgraph.mask import Mask

__all__ = ["Statement", "kept_in"]

KEPT = ("_value", "_expression")  # of an expression: what it has computed, and what it has made of itself
WALKED = (tuple, list, Expression, Plan, Mask)
_names: dict[type, list[str]] = {}  # of the attributes of a class


class Statement(NamedTuple):
    """A write, where it stands in the program, and what its expressions keep of themselves, which is made anew."""

    target: Any
    write: Callable
    args: tuple
    place: tuple[str, int]
    kept: list[tuple[Any, str]]

    def run(self) -> None:
        """Do it."""
        try:
            for part, name in self.kept:
                setattr(part, name, None)
            if Number in map(type, self.args):
                self.write(*map(value_now, self.args))
            else:
                self.write(*self.args)
        except BaseException as error:
            self.note(error)
            raise

    def note(self, error: BaseException) -> None:
        """Say in an error where it happened."""
        error.add_note("in a statement of a loop: {}, line {}".format(*self.place))


def kept_in(thing: Any, found: list[tuple[Any, str]], seen: set[int]) -> None:
    """Adds what expressions below `thing` will have computed and kept: (expression, attribute)."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, (tuple, list)):
        for part in thing:
            if isinstance(part, WALKED):
                kept_in(part, found, seen)
        return
    names = _names.get(type(thing))
    if names is None:
        names = _names[type(thing)] = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    for name in names:
        part = getattr(thing, name, None)
        if part is None:
            if name in KEPT and isinstance(thing, Expression):
                found.append((thing, name))
        elif isinstance(part, WALKED):
            kept_in(part, found, seen)
