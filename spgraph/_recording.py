"""Which loop is recorded, if any: what is written then goes there, and what would be read is not known yet.

Loops are recorded by the context of `contextvars`: each thread, and each task of asyncio, has its own.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

__all__ = ["begin", "end", "noted", "recorder", "recorders", "refuse"]

recorders: set[int] = set()  # of all contexts, by id; nothing else is looked at while there is none
_stack: ContextVar[tuple[Any, ...]] = ContextVar("spgraph loops", default=())


def begin(loop: Any) -> Any:
    """From now on this context's statements go to `loop`; returns where they went before: a loop or None."""
    before = recorder()
    _stack.set((*_stack.get(), loop))
    recorders.add(id(loop))
    return before


def end(loop: Any) -> bool:
    """They go there no more; whether it was the innermost one."""
    recorders.discard(id(loop))
    innermost = recorder() is loop
    _stack.set(tuple(one for one in _stack.get() if one is not loop))
    return innermost


def recorder() -> Any:
    """The innermost loop that is recorded here, or None."""
    for loop in reversed(_stack.get()):
        if loop.recording:  # else it has ended elsewhere, as a generator does that another thread closes
            return loop
    return None


def noted(target: Any, write: Any, args: tuple) -> bool:
    """Whether a loop is recorded here, and has written down ``write(*args)``."""
    loop = recorder()
    if loop is not None:
        loop.note(target, write, args)
    return loop is not None


def refuse(what: str, instead: str = "read it after the loop") -> None:
    """Raise if a loop is recorded here: what is asked for is known while it runs, but not now."""
    if recorders and recorder() is not None:
        raise RuntimeError(
            f"{what}: within sg.loop() statements are only written down, nothing is computed yet; {instead}"
        )
