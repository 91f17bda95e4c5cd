"""The CPU's kernels as plain Python, where they are a reference: for a call with each type none is worth compiling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spgraph.kernels.cpu._specialise import Kernel

__all__ = ["interpreting"]


@contextmanager
def interpreting() -> Iterator[None]:
    """No kernel runs compiled; ``jit="never"`` leaves those that have been, and Numba compiles them for other types."""
    before = Kernel.__call__, Kernel.ready
    Kernel.__call__, Kernel.ready = _interpreted, _never  # type: ignore[method-assign]
    try:
        yield
    finally:
        Kernel.__call__, Kernel.ready = before  # type: ignore[method-assign]


def _interpreted(kernel: Kernel, work: int, *args: Any) -> Any:
    return kernel._first_calls(work, args)


def _never(kernel: Kernel, work: int) -> bool:
    return False
