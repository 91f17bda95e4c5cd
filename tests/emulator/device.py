"""A CUDA device without a card: the real `CudaDevice`, arrays of `emulator.xp`, kernels run by `emulator.kernels`."""

from __future__ import annotations

import ctypes
import functools
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from emulator import xp
from emulator.array import Counts, counts, pool
from emulator.kernels import compile_kernel
from spgraph.kernels.cuda.device import PLACES, CudaDevice
from spgraph.kernels.memory import Memory

__all__ = ["EmulatedDevice", "emulated_device"]


class _Stream:
    """Where everything is done as soon as it is started."""

    ptr = 0

    def wait_event(self, event: Any) -> None:
        """It has happened."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: Any) -> None:
        pass


STREAM = _Stream()


class EmulatedDevice(CudaDevice):
    """A GPU of two small multiprocessors, one of several.

    Attributes
    ----------
    counts : Counts
        Synchronisations and transfers of its arrays.
    fail_at : int or None
        Which allocation from now on raises `OutOfMemoryError`.
    """

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self.name = f"emulated:{number}"
        self.counts: Counts = counts

    def __reduce__(self) -> tuple:
        return emulated_device, (self.number,)

    def _reaches(self, number: int) -> bool:
        return True

    def _open(self) -> None:
        self.xp = xp
        self.array_type = xp.ndarray
        self.multiprocessors = 2
        self.shared_memory = 48 << 10
        self.clusters = True

    def _memory_for_results(self, words: int) -> tuple[Any, np.ndarray]:
        return xp.zeros(words, np.uint64), np.zeros(words, np.uint64)

    def load(self, name: str, text: str, shared: int = 0) -> Any:
        """The function that g++ makes of a text."""
        return compile_kernel(name, text, shared_bytes=shared)

    pointer_text = "pointer({})"

    @staticmethod
    def pointer(array: Any) -> int:
        """Address of an array's first element."""
        return array._host.__array_interface__["data"][0]

    def _start(self, function: Any, blocks: int, threads: int, shared: int) -> None:
        function(blocks, threads, ctypes.addressof(self.buffer))

    def begin_copy(self, array: Any) -> np.ndarray:
        """A copy in host memory; nothing is ever under way."""
        return self.to_host(array)

    def clear(self, array: Any) -> None:
        """Zeros."""
        array.fill(0)

    def event(self) -> Any:
        """What is done as soon as it is recorded."""
        return SimpleNamespace(done=True, record=lambda stream: None)

    def _stream(self) -> Any:
        return STREAM

    _event = functools.cached_property(event)

    @functools.cached_property
    def _beside(self) -> tuple[Any, Any]:
        return STREAM, self.event()

    def graph(self, launches: list[tuple]) -> list[tuple]:
        """The launches themselves."""
        return launches

    def start_graph(self, graph: list[tuple]) -> None:
        """Run them."""
        self.counters.launches += 1
        for function, blocks, threads, places in graph:
            PLACES.pack_into(self.buffer, 0, *places)
            function(blocks, threads, ctypes.addressof(self.buffer))

    def put_bytes(self, target: Any, content: bytes) -> None:
        """Write into an array."""
        target[:] = xp.asarray(np.frombuffer(content, target.dtype))

    def put_one(self, target: Any, at: int, one: np.ndarray) -> None:
        """Write one element into an array of its type."""
        target._host.reshape(-1)[at] = one.reshape(-1)[0]

    def copy_into(self, target: Any, at: int, source: Any) -> None:
        """Elements of one array into another."""
        target[at : at + source.size] = source

    def synchronize(self) -> None:
        """Nothing is ever under way."""
        counts.synchronizations += 1

    def check(self) -> None:
        """Nothing is ever under way."""

    def stamp(self) -> float:
        """The host's time: all that was started is done."""
        return time.perf_counter()

    def between(self, begin: float, end: float) -> float:
        """Seconds from one to another."""
        return end - begin

    # ---- memory ------------------------------------------------------------------------
    @property
    def fail_at(self) -> int | None:
        return pool.fail_at

    @fail_at.setter
    def fail_at(self, number: int | None) -> None:
        pool.fail_at = number

    def memory(self) -> Memory:
        """Bytes that there are, are free and used, and the limit."""
        limited = pool.limit < pool.TOTAL
        return Memory(pool.TOTAL, max(pool.limit - pool.used, 0), pool.used, pool.limit if limited else None)

    def limit_memory(self, limit: int | float | None) -> int | None:
        """Use at most so many bytes (a float: such a share); returns the limit before."""
        before = pool.limit
        pool.limit = int(limit * pool.TOTAL) if isinstance(limit, float) else limit or pool.TOTAL
        return None if before == pool.TOTAL else before

    def release_memory(self) -> None:
        """Nothing is held in reserve but what is kept."""
        self.kept.clear()


def emulated_device(number: int = 0) -> EmulatedDevice:
    """An emulated device of a process; their memory is one, but each has kernels, marks and counters of its own."""
    return _made(number)


_made = functools.cache(EmulatedDevice)
