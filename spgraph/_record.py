"""Whom the engine tells what it does: nobody, or a trace that records; see `spgraph._trace`.

A listener has ``begins``, ``ends`` (an operation), ``turn`` (a part's turn within it), ``product`` and ``multiplies``
(what a product looks at), ``moved`` (a message) and ``exchange_begins``, ``exchange_ends``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["exchange", "listener"]

listener: Any = None


def exchange(function: Callable) -> Any:
    """A function that moves values between parts: its time is not that of the computation."""

    @functools.wraps(function)
    def moves(*args: Any, **more: Any) -> Any:
        told = listener
        if told is None:
            return function(*args, **more)
        told.exchange_begins()
        try:
            return function(*args, **more)
        finally:
            told.exchange_ends()

    return moves
