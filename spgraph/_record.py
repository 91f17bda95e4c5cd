"""Whom the engine tells what it does: nobody, or a trace that records; see `spgraph._trace`.

A listener has ``begins``, ``ends`` (an operation), ``turn`` (a part's turn within it), ``product`` and ``multiplies``
(what a product looks at), ``moved`` (a message), ``exchange_begins``, ``exchange_ends``, and ``aside`` (run what counts
for the trace alone).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["aside", "exchange", "listener"]

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


def aside(function: Callable) -> Any:
    """A function that counts for the listener: its time is nobody's."""

    @functools.wraps(function)
    def counts(*args: Any, **more: Any) -> None:
        if listener is not None:
            listener.aside(lambda: function(*args, **more))

    return counts
