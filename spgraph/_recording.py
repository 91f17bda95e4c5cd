"""Which loop a thread records, if any: what is written then goes there, and what would be read is not known yet."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["begin", "end", "noted", "recorder", "recorders", "refuse"]

recorders: dict[int, list[Any]] = {}  # by thread, the innermost one last; nothing else is looked at while it is empty


def begin(loop: Any) -> None:
    """From now on this thread's statements go to `loop`."""
    recorders.setdefault(threading.get_ident(), []).append(loop)


def end() -> None:
    """They go where they went before."""
    thread = threading.get_ident()
    recorders[thread].pop()
    if not recorders[thread]:
        del recorders[thread]


def recorder() -> Any:
    """This thread's innermost loop, or None."""
    stack = recorders.get(threading.get_ident())
    return stack[-1] if stack else None


def noted(target: Any, write: Any, args: tuple) -> bool:
    """Whether this thread records, and has written down ``write(*args)``."""
    loop = recorder()
    if loop is not None:
        loop.note(target, write, args)
    return loop is not None


def refuse(what: str, instead: str = "read it after the loop") -> None:
    """Raise if this thread records: what it asks for is known while the loop runs, but not here."""
    if recorders and recorder() is not None:
        raise RuntimeError(
            f"{what}: within sg.loop() statements are only written down, nothing is computed yet; {instead}"
        )
