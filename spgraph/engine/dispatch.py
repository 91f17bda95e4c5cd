"""The same functions for objects on one device and for objects in parts."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from spgraph import _record
from spgraph._recording import recorders, refuse
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.near import is_near
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["for_parts"]

PARTS = frozenset({VectorParts, MatrixParts})
MODULES = ("products", "vectors", "pointers", "matrices", "structure")  # of `engine.parts`
NEAR = ("near", *MODULES)  # the same where all parts are at hand
_found: dict[tuple[str, bool], Callable] = {}


def for_parts(*functions: Callable, where: Callable | None = None) -> list[Any]:
    """Each function, or its namesake of `engine.parts` if the first operand is in parts.

    `where` finds what to look at among the arguments, if it is not the first one.
    """
    return [_either(function, where) for function in functions]


def _either(function: Callable, where: Callable | None) -> Callable:
    name = function.__name__

    @functools.wraps(function)
    def either(*args: Any, **more: Any) -> Any:
        if recorders:
            refuse(f"a value or a new object ({name})", "make objects before the loop, and read them after it")
        looked_at = args[0] if where is None else where(*args, **more)
        if _record.listener is not None:
            listener = _record.listener
            if listener.begins(name, getattr(looked_at, "device", looked_at), args):
                try:
                    return either(*args, **more)
                finally:
                    listener.ends()
        if type(looked_at) in PARTS:
            group: Any = looked_at.device
            if is_near(group):
                return _of_parts(name, True)(*args, **more)
            with group.own[0]:  # afterwards the GPU that is current now is so again
                return _of_parts(name, False)(*args, **more)
        return function(*args, **more)

    return either


def _of_parts(name: str, near: bool) -> Callable:
    found = _found.get((name, near))
    if found is None:
        modules = [importlib.import_module(f"spgraph.engine.parts.{module}") for module in (NEAR if near else MODULES)]
        found = next(getattr(module, name) for module in modules if name in module.__all__)
        _found[name, near] = found
    return found
