"""What several GPUs do at the same time: emulated devices that note which stream touches which bytes.

Kernels of the emulator run one after the other, so that nothing shows if one GPU is not made to wait for another. Here
each stream has a vector clock (C. Fidge, 1988; F. Mattern, 1989), which events and the host's waiting pass on. A kernel
reads the arrays that it is given, and writes what has changed in them and in the memory whose addresses it is given.
Two accesses to the same bytes, one of them a write, must be in order; likewise those of other streams to memory and its
way from and to the pool of its device, whose stream for computing gives and takes it.

Not seen: what CuPy's functions touch (they are in the stream of their device), reads through addresses, and kernels
that find their arguments in memory (loops, see ``looping.in_any_order``).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import emulator.array as arrays
from emulator.array import Counts, Owner, ndarray
from emulator.device import EmulatedDevice
from spgraph.exchange import InProcess
from spgraph.kernels.cuda.launch import CudaKernel

__all__ = ["Watch", "watched"]

ATOMIC = {"combine_far", "give_list"}  # kernels of several GPUs that update the same words, or places they have drawn


def join(clock: dict, other: dict) -> None:
    """Let a clock know what another one knows."""
    for stream, time in other.items():
        if clock.get(stream, 0) < time:
            clock[stream] = time


class Access(NamedTuple):
    """Some bytes that a stream has touched."""

    stream: Any
    time: int
    what: str
    writes: bool
    at: np.ndarray  # whether each byte of the memory


class Memory:
    """One allocation."""

    def __init__(self, array: ndarray):
        self.begin, self.size = array._host.__array_interface__["data"][0], array._host.nbytes
        owner = array._owner
        self.accesses: list[Access] = []
        self.owner: Any = getattr(owner, "stream", None)  # whose pool it comes from
        if self.owner is not None:
            self.accesses.append(Access(self.owner, owner.time, "its making", True, np.ones(self.size, np.bool_)))


class Stream:
    """Work of one device in order."""

    def __init__(self, device: WatchedDevice, name: str):
        self.device, self.name, self.ptr = device, f"{device.name} {name}", 0
        self.clock: dict = {self: 0}

    def __repr__(self) -> str:
        return self.name

    def wait_event(self, event: Event) -> None:
        """What comes is after what the event has recorded."""
        join(self.clock, event.clock)

    def __enter__(self) -> None:
        self.device.streams.append(self)

    def __exit__(self, *_error: Any) -> None:
        self.device.streams.pop()


class Event:
    """A point of a stream."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.clock: dict = {}

    @property
    def done(self) -> bool:
        """Whether the host knows, without asking, that the stream has come so far: a GPU may be late."""
        return all(self.watch.host.get(stream, 0) >= time for stream, time in self.clock.items())

    def record(self, stream: Stream) -> None:
        """Now."""
        self.clock = dict(stream.clock)


class Watch:
    """All that is noted, and what is found to be out of order.

    Attributes
    ----------
    found : list of str
    launches : int
        Kernels that were looked at.
    """

    def __init__(self) -> None:
        self.host: dict = {}
        self.memories: dict[int, Memory] = {}
        self.found: list[str] = []
        self.launches = 0
        self.current: Any = None

    def knows(self, array: ndarray) -> Memory | None:
        """The allocation that an array lies in, from now on noted."""
        root = array if array.base is None else array.base
        if not root._host.nbytes:
            return None
        memory = self.memories.get(id(root))
        if memory is None:
            memory = self.memories[id(root)] = Memory(root)
            weakref.finalize(root, self.returned, id(root))
        return memory

    def at(self, address: int) -> Memory | None:
        """The allocation of an address."""
        for memory in self.memories.values():
            if memory.begin <= address < memory.begin + memory.size:
                return memory
        return None

    def begins(self, stream: Stream) -> None:
        """The host starts something."""
        join(stream.clock, self.host)
        stream.clock[stream] += 1

    def waits(self, clock: dict) -> None:
        """The host has seen the end of something."""
        join(self.host, clock)

    def touches(self, memory: Memory, at: np.ndarray, stream: Stream, what: str, writes: bool) -> None:
        """An access; reports those that it is not in order with."""
        if memory.owner is None:  # made before anything was noted
            memory.owner = stream.device.streams[0]
        for other in memory.accesses:
            if (other.stream is stream or stream.clock.get(other.stream, 0) >= other.time
                    or not (writes or other.writes) or not (other.at & at).any()):
                continue
            if {what.split(".")[-1], other.what.split(".")[-1]} <= ATOMIC and writes and other.writes:
                continue
            self.found.append(f"{what} in {stream} {'writes' if writes else 'reads'} what {other.what} in "
                              f"{other.stream} {'writes' if other.writes else 'reads'}")
        memory.accesses = [one for one in memory.accesses if not (one.stream is stream and one.writes == writes
                                                                  and not (one.at & ~at).any())]
        memory.accesses.append(Access(stream, stream.clock[stream], what, writes, at))

    def returned(self, key: int) -> None:
        """An allocation goes back to the pool."""
        memory = self.memories.pop(key)
        for one in memory.accesses:
            known = max(memory.owner.clock.get(one.stream, 0), self.host.get(one.stream, 0))
            if one.stream is not memory.owner and known < one.time:
                self.found.append(f"{memory.size} bytes of {memory.owner} are free again while {one.what} in "
                                  f"{one.stream} may use them")


def content(memory: Memory) -> np.ndarray:
    """A copy of what the memory holds."""
    return np.frombuffer(ctypes.string_at(memory.begin, memory.size), np.uint8)


class WatchedDevice(EmulatedDevice):
    """An emulated GPU with streams."""

    def __init__(self, watch: Watch, number: int):
        self.watch = watch
        super().__init__(number)
        self.streams = [Stream(self, "computes")]
        self.told: dict[int, dict] = {}

    def event(self) -> Any:
        return Event(self.watch)

    @property
    def _event(self) -> Any:  # type: ignore[override]
        return self.__dict__.setdefault("kept_event", Event(self.watch))

    @property
    def _beside(self) -> Any:  # type: ignore[override]
        return self.__dict__.setdefault("kept_beside", (Stream(self, "sends"), Event(self.watch)))

    def _stream(self) -> Any:
        return self.streams[-1]

    def __enter__(self) -> WatchedDevice:
        self._current.before.append(self.watch.current)
        self.watch.current = self
        return self

    def __exit__(self, *_error: Any) -> None:
        self.watch.current = self._current.before.pop()

    def use(self) -> None:
        self.watch.current = self

    def pointer(self, array: Any) -> int:  # type: ignore[override]
        self.watch.knows(array)
        return EmulatedDevice.pointer(array)

    def wait(self, slot: int, sequence: int, returns: int, dtype: Any = None) -> list:
        self.watch.waits(self.told.pop(sequence, {}))
        return super().wait(slot, sequence, returns, dtype)

    def to_host(self, array: Any) -> np.ndarray:
        if type(array) is not np.ndarray:
            self.watch.begins(self._stream())
            self._touches(array, "to_host")
            self.watch.waits(self._stream().clock)
        return super().to_host(array)

    def synchronize(self) -> None:
        self.watch.waits(self._stream().clock)
        super().synchronize()

    def check(self) -> None:
        for stream in (self.streams[0], self._beside[0]):
            self.watch.waits(stream.clock)

    def copy_into(self, target: Any, at: int, source: Any) -> None:
        self.watch.begins(self._stream())
        self._touches(source, "copy")
        super().copy_into(target, at, source)
        self._touches(target[at : at + source.size], "copy", writes=True)

    def put_one(self, target: Any, at: int, one: np.ndarray) -> None:
        self.watch.begins(self._stream())
        super().put_one(target, at, one)
        self._touches(target.reshape(-1)[at : at + 1], "put", writes=True)

    def clear(self, array: Any) -> None:
        self.watch.begins(self._stream())
        super().clear(array)
        self._touches(array, "clear", writes=True)

    def _touches(self, array: Any, what: str, *, writes: bool = False) -> None:
        memory = self.watch.knows(array)
        if memory is not None and array.size:
            self.watch.touches(memory, extent(memory, array), self._stream(), what, writes)


def extent(memory: Memory, array: ndarray) -> np.ndarray:
    """Which bytes of the memory an array may have."""
    low, high = np.lib.array_utils.byte_bounds(array._host)
    at = np.zeros(memory.size, np.bool_)
    at[low - memory.begin : high - memory.begin] = True
    return at


def observed(call: Any) -> Any:
    """`CudaKernel.__call__`, noted."""

    def start(kernel: CudaKernel, count: int, args: tuple, *, blocks: int | None = None) -> Any:
        device: Any = kernel.device
        if not isinstance(device, WatchedDevice):
            return call(kernel, count, args, blocks=blocks)
        watch, stream = device.watch, device._stream()
        given = [array for array in args if type(array) is ndarray and array.size]
        reached = {}
        for array in given:
            memory = watch.knows(array)
            reached[id(memory)] = memory
            if array.dtype == np.uint64 and array.ndim == 1:
                for address in array._host.tolist():
                    other = watch.at(address)
                    if other is not None:
                        reached[id(other)] = other
        before = {key: content(memory) for key, memory in reached.items() if memory is not None}
        launches = device.counters.launches
        result = call(kernel, count, args, blocks=blocks)
        if device.counters.launches == launches:
            return result
        watch.launches += 1
        watch.begins(stream)
        for array in given:
            memory = watch.knows(array)
            if memory is not None:
                watch.touches(memory, extent(memory, array), stream, kernel.name, False)
        for key, was in before.items():
            changed = was != content(reached[key])
            if changed.any():
                watch.touches(reached[key], changed, stream, kernel.name, True)
        if result is not None:
            device.told[result._sequence] = dict(stream.clock)
        return result

    return start


@contextmanager
def watched(number: int) -> Iterator[tuple[Watch, list[WatchedDevice]]]:
    """So many GPUs, and what is noted of them within."""
    watch = Watch()
    devices = [WatchedDevice(watch, one) for one in range(number)]
    watch.current = devices[0]
    call, plain, moved = CudaKernel.__call__, Counts.__setattr__, InProcess._moved

    def noted(self: Counts, name: str, value: int) -> None:
        if name == "synchronizations" and value > self.__dict__.get(name, 0) and watch.current is not None:
            watch.waits(watch.current._stream().clock)
        plain(self, name, value)

    class Made(Owner):
        """Memory of the device that is current."""

        __slots__ = ("stream", "time")

        def __init__(self, size: int):
            super().__init__(size)
            self.stream = watch.current.streams[0]
            watch.begins(self.stream)
            self.time = self.stream.clock[self.stream]

    def copied(self: InProcess, one: Any, source: int, target: int) -> Any:
        there = self.devices[target]
        if type(one) is not ndarray or self.devices[source] is there:
            return moved(self, one, source, target)
        watch.begins(there._stream())
        with there:
            there._touches(one, "message")
            return one.copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CudaKernel, "__call__", observed(call))
        patch.setattr(Counts, "__setattr__", noted)
        patch.setattr(InProcess, "_moved", copied)
        patch.setattr(arrays, "Owner", Made)
        yield watch, devices
