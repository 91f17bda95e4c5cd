"""Ctrl-C waits while what it must not cut in two is done: a product's step and its books, a loop's block, its end.

Only where Python's own handler of SIGINT is in force, in the main thread: there a first interrupt is noted, and raised
at the end; a second one is raised at once.
"""

from __future__ import annotations

import _signal as signal  # what `signal` wraps in enums, which takes ten times as long
import threading
from typing import Any

__all__ = ["held", "hold", "raise_noted", "release"]

_depth = 0  # holds that have not been released
_noted = False  # whether there was an interrupt meanwhile


def hold() -> bool:
    """Let interrupts wait for `release`, which must follow if this returns True."""
    global _depth, _noted
    if threading.current_thread() is not threading.main_thread():
        return False
    if not _depth:
        if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, _note):
            return False
        _noted = False
        signal.signal(signal.SIGINT, _note)  # from here on nothing is raised
    _depth += 1
    return True


def release() -> None:
    """The end of a hold; of the outermost one raises KeyboardInterrupt if there was one."""
    global _depth, _noted
    _depth -= 1
    if _depth or threading.current_thread() is not threading.main_thread():
        return  # from another thread, as where a generator is closed there, the next interrupt ends it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if _noted:
        _noted = False
        raise KeyboardInterrupt


def raise_noted() -> None:
    """Raise what waits, at a place within the main thread's hold where that can be dealt with."""
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _note(number: int, frame: Any) -> None:
    global _noted
    if not _depth:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _noted or not _depth:
        raise KeyboardInterrupt
    _noted = True


class held:
    """``with held():``, a hold and its release."""

    __slots__ = ("_on",)

    def __enter__(self) -> None:
        self._on = hold()

    def __exit__(self, *how: Any) -> None:
        if self._on:
            release()
