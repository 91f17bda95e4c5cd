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
    """Count supersteps (products) while the body runs, on whatever device: a list of one number, which grows.

    What loops do without the host counts, too.
    """
    count = [0]
    names = "mxv", "mxm", "run_alone", "run_levels"
    before = [getattr(engine, name) for name in names]

    def counted(product: Any) -> Any:
        def run(*args: Any, **more: Any) -> Any:
            result = product(*args, **more)
            alone = product in before[2:]
            count[0] += 1 if not alone else 0 if result is None else result.steps
            return result

        return run

    for name, product in zip(names, before):
        setattr(engine, name, counted(product))
    try:
        yield count
    finally:
        for name, product in zip(names, before):
            setattr(engine, name, product)
