"""Memory of a GPU, which CuPy's pool hands out.

The pool keeps what is given back. When a request does not fit, within the card or within the limit, it releases
what is unused and tries once more, before it gives up.
"""

from __future__ import annotations

import gc
from typing import Any

from spgraph.kernels.memory import Memory

__all__ = ["limit_memory", "memory", "release_memory"]


def memory(cupy: Any, number: int) -> Memory:
    """Bytes of GPU `number`; what the pool holds unused counts as free."""
    pool = cupy.get_default_memory_pool()
    with cupy.cuda.Device(number):
        free, total = cupy.cuda.runtime.memGetInfo()
        used, kept, limit = pool.used_bytes(), pool.free_bytes(), pool.get_limit()
    free += kept
    return Memory(total, min(free, max(limit - used, 0)) if limit else free, used, limit or None)


def limit_memory(cupy: Any, number: int, limit: int | float | None) -> int | None:
    """Let the pool use at most so many bytes (a float: such a share) of GPU `number`; returns the limit before."""
    pool = cupy.get_default_memory_pool()
    with cupy.cuda.Device(number):
        before = pool.get_limit()
        if isinstance(limit, float):
            limit = int(cupy.cuda.runtime.memGetInfo()[1] * limit)
        pool.set_limit(size=limit or 0)
        if limit and pool.total_bytes() > limit:  # the pool would hand out what it holds, or gets back, limit or not
            gc.collect()
            pool.free_all_blocks()
    return before or None


def release_memory(cupy: Any, number: int) -> None:
    """Give what the pool holds unused back to GPU `number`."""
    with cupy.cuda.Device(number):
        cupy.get_default_memory_pool().free_all_blocks()
