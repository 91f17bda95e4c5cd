"""Time a call until a device has finished, and count its supersteps."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spgraph import engine

__all__ = ["clock", "supersteps"]


def clock(run: Callable[[int], Any], argument: int, wait: Callable[[], None], pause: float = 0.0) -> tuple[float, Any]:
    """Seconds until the result is there, and the result; `pause` seconds before it starts."""
    enabled = gc.isenabled()
    gc.disable()
    time.sleep(pause)
    try:
        wait()
        start = time.perf_counter()
        result = run(argument)
        wait()
        return time.perf_counter() - start, result
    finally:
        if enabled:
            gc.enable()


@contextmanager
def supersteps() -> Iterator[list[int]]:
    """Count supersteps (products) while the body runs, on whatever device: a list of one number, which grows."""
    count = [0]
    before = engine.mxv, engine.mxm

    def counted(product: Any) -> Any:
        def run(*args: Any, **more: Any) -> Any:
            count[0] += 1
            return product(*args, **more)

        return run

    engine.mxv, engine.mxm = map(counted, before)
    try:
        yield count
    finally:
        engine.mxv, engine.mxm = before
