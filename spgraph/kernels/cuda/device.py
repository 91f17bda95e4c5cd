"""A CUDA device: CuPy's memory, our kernels."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from spgraph.kernels.cuda import memory
from spgraph.kernels.cuda.assemble import section
from spgraph.kernels.cuda.compile import machine_code
from spgraph.kernels.cuda.driver import atomics_between
from spgraph.kernels.cuda.launch import CudaKernel, Pending
from spgraph.kernels.device import Device, Done

__all__ = ["Counters", "CudaDevice", "cuda_device"]

SLOTS = 256  # results that may be under way at once
RESULT_WORDS = 8  # 64-bit words of `struct Result`, and of its place in mapped memory
ALREADY_ENABLED = 704  # CUDA's number of that error
PLACES = struct.Struct("@PP")
TO_DEVICE, ON_DEVICE = 1, 3  # its numbers of copies from the host and within the device
STAGED = 16384  # bytes that `put_bytes` takes at most
ONES = 512  # single elements that may be on their way to the device
FEW = 16  # elements that steer a choice, or are single ones of the caller's


class Counters:
    """How often kernels, or graphs of them, were started, results waited for, and products (supersteps) done."""

    __slots__ = ("launches", "products", "waits")

    def __init__(self) -> None:
        self.launches = 0
        self.waits = 0
        self.products = 0


class _Current(threading.local):
    """GPUs that were current before this thread's ``with device:``."""

    def __init__(self) -> None:
        self.before: list[int] = []


class CudaDevice(Device):
    """One GPU.

    Parameters
    ----------
    number : int
        As CUDA counts devices.

    Attributes
    ----------
    array_type : type
        Of this device's arrays.
    multiprocessors : int
    shared_memory : int
        Bytes that a block can have.
    clusters : bool
        Whether blocks that run side by side can read each other's.
    counters : Counters
    """

    on_host = False
    begins = True
    _several = False  # GPUs, of which one is current

    def __init__(self, number: int = 0):
        super().__init__()
        self.number = number
        self.name = f"cuda:{number}"
        self.counters = Counters()
        self.lock = threading.RLock()
        self._current = _Current()
        self._open()
        self.buffer = ctypes.create_string_buffer(4096)  # the one argument, and where CUDA finds it
        self.packed = memoryview(self.buffer).cast("B")
        self._argument = ctypes.c_void_p(ctypes.addressof(self.buffer))
        self._arguments = ctypes.addressof(self._argument)
        self._results, self._host = self._memory_for_results(SLOTS * RESULT_WORDS)
        results_at, host_at = self._pointer_of(self._results), self._host.ctypes.data
        # addresses of each result's counters and of its place in mapped memory
        offsets = range(0, 8 * SLOTS * RESULT_WORDS, 8 * RESULT_WORDS)
        self.places = [(results_at + offset, host_at + offset) for offset in offsets]
        self.words = memoryview(cast(Any, self._host.view(np.int64)))  # indexing gives an int, in a third of the time
        self._typed: dict[Any, np.ndarray] = {}  # the same memory as values of other types
        self._owners: list[Any] = [None] * SLOTS
        self._sequence = 0
        self._next_one = 0  # of the places of `_ones`
        self._seen: dict[CudaDevice, bool] = {}
        self._modules: list = []  # with their functions, whose addresses are in use

    # ---- what depends on CuPy ------------------------------------------------------
    def _open(self) -> None:
        import cupy

        self.xp = cupy
        self.array_type = cupy.ndarray
        device = cupy.cuda.Device(self.number)
        self.multiprocessors = device.attributes["MultiProcessorCount"]
        self.shared_memory = device.attributes["MaxSharedMemoryPerBlockOptin"]
        self._capability = device.compute_capability
        self.clusters = int(self._capability) >= 90
        self._several = cupy.cuda.runtime.getDeviceCount() > 1
        self._get_current, self._set_current = cupy.cuda.runtime.getDevice, cupy.cuda.runtime.setDevice
        self._launch = cupy.cuda.driver.launchKernel
        self._memset = cupy.cuda.runtime.memsetAsync
        self._memcpy = cupy.cuda.runtime.memcpyAsync
        self._stream = cupy.cuda.get_current_stream

    def _memory_for_results(self, words: int) -> tuple[Any, np.ndarray]:
        """Zeros on the device, and on the host where the device writes."""
        cupy = self.xp
        with cupy.cuda.Device(self.number):
            pinned = cupy.cuda.alloc_pinned_memory(8 * words)  # mapped at the same address
            host = np.frombuffer(pinned, np.uint64, words)
            host[:] = 0
            return cupy.zeros(words, np.uint64), host

    def _pinned(self, size: int, dtype: Any) -> np.ndarray:
        """An array of the host that the device can write by itself."""
        memory = self.xp.cuda.alloc_pinned_memory(size * dtype.itemsize)
        return np.frombuffer(memory, dtype, size)

    def sees(self, other: CudaDevice) -> bool:
        """Whether kernels of this GPU can store and add into another one's memory; from then on they can."""
        if other is self:
            return True
        found = self._seen.get(other)
        if found is None:
            found = self._seen[other] = self._reaches(other.number)
        return found

    def _reaches(self, number: int) -> bool:
        runtime = self.xp.cuda.runtime
        if not (runtime.deviceCanAccessPeer(self.number, number) and atomics_between(self.number, number)):
            return False
        with self:
            try:
                runtime.deviceEnablePeerAccess(number)
            except runtime.CUDARuntimeError as error:  # CuPy has done it, for a copy
                return error.status == ALREADY_ENABLED
        return True

    def event(self) -> Any:
        """What `mark` can record; ``done`` says whether this GPU has come so far."""
        with self:
            return self.xp.cuda.Event(disable_timing=True)

    _event = functools.cached_property(event)

    def mark(self, event: Any = None) -> None:
        """Make this GPU the current one, and note what was started on it, for `follow` of others or in an event."""
        event = event or self._event
        self.use()
        event.record(self._stream())

    def follow_event(self, event: Any) -> None:
        """What is started from now on, on this GPU, which is the current one, comes after what the event recorded."""
        self._stream().wait_event(event)

    def follow(self, others: Iterable[CudaDevice]) -> None:
        """Make this GPU the current one; what is started on it from now on comes after what others have marked."""
        self.use()
        stream = self._stream()
        for other in others:
            if other is not self:
                stream.wait_event(other._event)

    @functools.cached_property
    def _beside(self) -> tuple[Any, Any]:
        """The stream for messages, and the event that says they are sent."""
        with self:
            return self.xp.cuda.Stream(non_blocking=True), self.xp.cuda.Event(disable_timing=True)

    @contextmanager
    def messages(self) -> Iterator[None]:
        """Make this GPU the current one; kernels started within come after what was started before, beside what comes.

        What they read must not change before `follow_messages`. Nothing is allocated within.
        """
        stream, sent = self._beside
        self.mark()
        stream.wait_event(self._event)
        try:
            with stream:  # of this thread alone
                yield
        finally:
            sent.record(stream)

    def follow_messages(self, others: Iterable[CudaDevice]) -> None:
        """As `follow`, after the messages that others, and this GPU, have started."""
        self.use()
        stream = self._stream()
        for other in others:
            stream.wait_event(other._beside[1])

    def load(self, name: str, text: str, shared: int = 0) -> Any:
        """The compiled function of a text; `shared` bytes of ``extern __shared__`` memory are allowed."""
        cuda = self.xp.cuda
        module = cuda.function.Module()
        with cuda.Device(self.number):
            module.load(machine_code(self.xp, name, text, self._capability))
            function = module.get_function(name)
            if shared:
                most = cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                cuda.driver.funcSetAttribute(function.ptr, most, shared)
        self._modules.append((module, function))
        return function.ptr

    pointer_text = "{}.data.ptr"  # `pointer` written out, for packers

    @staticmethod
    def pointer(array: Any) -> int:
        """Address of an array's first element."""
        return array.data.ptr

    def _pointer_of(self, array: Any) -> int:
        return self.pointer(array)

    def _start(self, function: Any, blocks: int, threads: int, shared: int) -> None:
        self._launch(function, blocks, 1, 1, threads, 1, 1, shared, self._stream().ptr, self._arguments, 0)

    def stream_number(self) -> int:
        """Which stream is current."""
        return self._stream().ptr

    def graph(self, launches: list[tuple]) -> Any:
        """Kernels of a loop for `start_graph`: function, blocks, threads and `struct Where` of each, in this order."""
        stream = self.xp.cuda.Stream(non_blocking=True)
        with self, self.lock, stream:
            stream.begin_capture()
            try:
                for function, blocks, threads, places in launches:
                    PLACES.pack_into(self.buffer, 0, *places)
                    self._launch(function, blocks, 1, 1, threads, 1, 1, 0, stream.ptr, self._arguments, 0)
            finally:
                graph = stream.end_capture()
        return graph

    def start_graph(self, graph: Any) -> None:
        """Start what `graph` has made: one launch."""
        self.counters.launches += 1
        graph.launch(self._stream())

    def synchronize(self) -> None:
        """Wait for all that was started; CUDA's errors surface here."""
        self._stream().synchronize()

    def stamp(self) -> Any:
        """A point in time, for `between`: when all that was started so far is done."""
        event = self.xp.cuda.Event()
        event.record(self._stream())
        return event

    def between(self, begin: Any, end: Any) -> float:
        """Seconds from one `stamp` to another; both have been waited for."""
        return self.xp.cuda.get_elapsed_time(begin, end) / 1e3

    def clear(self, array: Any) -> None:
        """Zeros, by the stream's turn."""
        self._memset(array.data.ptr, 0, array.nbytes, self._stream().ptr)

    def put_bytes(self, target: Any, content: bytes) -> None:
        """Write up to `STAGED` bytes into an array, by the stream's turn.

        The caller holds the lock until a kernel after it has been waited for: they go through one place of the host.
        """
        staged = self._staged
        staged[:len(content)] = np.frombuffer(content, np.uint8)
        self._memcpy(target.data.ptr, staged.ctypes.data, len(content), TO_DEVICE, self._stream().ptr)

    @functools.cached_property
    def _staged(self) -> np.ndarray:
        return self._pinned(STAGED, np.dtype(np.uint8))

    def copy_into(self, target: Any, at: int, source: Any) -> None:
        """Elements of one array of this device into another one of the same type, from place `at` on."""
        self._memcpy(target.data.ptr + at * target.itemsize, source.data.ptr, source.nbytes, ON_DEVICE,
                     self._stream().ptr)

    def copy(self, array: Any) -> Any:
        """An array with the same elements; CuPy's `copy` takes 5 us longer to start."""
        if type(array) is not self.array_type or array.ndim != 1 or not array.flags.c_contiguous:
            return array.copy()
        new = self.xp.empty(array.size, array.dtype)
        if array.size:
            self.copy_into(new, 0, array)
        return new

    def to_host(self, array: Any) -> np.ndarray:
        """A copy in host memory (a NumPy array is itself)."""
        if type(array) is np.ndarray:
            return array
        if array.size > FEW and not self.host_copies:
            raise RuntimeError(f"{self.name}: an array of {array.size} elements would be copied to the host, "
                               "which host_copies=False forbids")
        return self.xp.asnumpy(array)

    def begin_copy(self, array: Any) -> np.ndarray:
        """The same without waiting: what comes means nothing before `synchronize`."""
        if type(array) is np.ndarray or array.size <= FEW or not self.host_copies:
            return self.to_host(array)
        there = self._pinned(array.size, array.dtype)
        array.get(out=there, blocking=False)
        return there

    def to_device(self, array: Any) -> Any:
        """A copy in device memory (this device's array is itself; another GPU's is copied within ``with device:``)."""
        if type(array) is self.array_type:
            return array.copy() if self._several and array.device.id != self.number else array
        return self._put_one(array) if array.size == 1 else self.xp.asarray(array)

    def _put_one(self, array: np.ndarray) -> Any:
        """A copy of one element that is not waited for."""
        new = self.xp.empty(array.shape, array.dtype)
        self.put_one(new, 0, array)
        return new

    def put_one(self, target: Any, at: int, one: np.ndarray) -> None:
        """Write one element into an array of its type, by the stream's turn.

        It goes by way of a place of the host that others do not take soon.
        """
        size = one.itemsize
        with self.lock:
            place = self._next_one
            if place == ONES:
                self.check()  # all have arrived
                place = 0
            self._next_one = place + 1
            self._ones[8 * place:8 * place + size] = np.ascontiguousarray(one).reshape(1).view(np.uint8)
            offset = at and at * target.strides[0]
            self._memcpy(target.data.ptr + offset, self._ones.ctypes.data + 8 * place, size, TO_DEVICE,
                         self._stream().ptr)

    @functools.cached_property
    def _ones(self) -> np.ndarray:
        return self._pinned(8 * ONES, np.dtype(np.uint8))

    def put(self, array: Any, at: int, value: Any) -> None:
        """Write one element, bit by bit."""
        self.put_one(array, at, np.array([value], array.dtype))

    def filled(self, count: int, value: Any, dtype: Any) -> Any:
        """An array of `count` times the same value, bit by bit."""
        one = np.array([value], dtype)
        if count == 1:
            return self._put_one(one)
        bits = one.view(f"u{one.itemsize}")
        return self.xp.full(count, bits[0], bits.dtype).view(one.dtype)

    def __enter__(self) -> CudaDevice:
        if self._several:
            self._current.before.append(self._get_current())
            self._set_current(self.number)
        return self

    def __exit__(self, *_error: Any) -> None:
        if self._several:
            self._set_current(self._current.before.pop())

    def use(self) -> None:
        """Make this GPU CUDA's current one until another is."""
        if self._several:
            self._set_current(self.number)

    def memory(self) -> Any:
        """Bytes that there are, are free and used, and the limit."""
        return memory.memory(self.xp, self.number)

    def limit_memory(self, limit: int | float | None) -> int | None:
        """Let CuPy's pool use at most so many bytes (a float: such a share of the card's); returns the limit before."""
        return memory.limit_memory(self.xp, self.number, limit)

    def release_memory(self) -> None:
        """Give what is kept, and what CuPy's pool holds unused, back to the card."""
        self.kept.clear()
        memory.release_memory(self.xp, self.number)

    # ---- starting and waiting --------------------------------------------------------
    def start(self, function: Any, blocks: int, threads: int, shared: int) -> None:
        """Launch with what is packed in the buffer; the caller holds the lock."""
        self.counters.launches += 1
        self._start(function, blocks, threads, shared)

    def expect(self, returns: int, dtype: Any) -> Pending:
        """A place for a kernel's results, the last one a value of `dtype` if given; the caller holds the lock."""
        self._sequence += 1
        slot = self._sequence % SLOTS
        owner = self._owners[slot]
        if owner is not None:
            owner.get()  # its place is used again
        pending = self._owners[slot] = Pending(self, slot, self._sequence, returns, dtype)
        return pending

    def expect_no_more(self, pending: Pending) -> None:
        """The kernel was not started after all."""
        self._owners[pending.slot] = None

    def has(self, slot: int, sequence: int) -> bool:
        """Whether a result's place carries the sequence number."""
        return self.words[(slot + 1) * RESULT_WORDS - 1] == sequence

    def wait(self, slot: int, sequence: int, returns: int, dtype: Any = None) -> list:
        """Poll a result's place until it carries the sequence number; the last result is of `dtype`, if given."""
        words, first = self.words, slot * RESULT_WORDS
        last = first + RESULT_WORDS - 1
        if words[last] != sequence:
            self.counters.waits += 1
            for _ in range(4000):  # about 0.2 ms
                if words[last] == sequence:
                    break
            else:
                self._wait_long(last, sequence)
        self._owners[slot] = None
        values = words[first:first + returns].tolist()
        if dtype is not None:  # its bits are the first of the word
            typed = self._typed.get(dtype)
            if typed is None:
                typed = self._typed[dtype] = self._host.view(dtype)
            values[-1] = typed[(first + returns - 1) * (8 // dtype.itemsize)]
        return values

    def _wait_long(self, last: int, sequence: int) -> None:
        stop = time.monotonic() + 0.05
        while self.words[last] != sequence and time.monotonic() < stop:
            pass
        if self.words[last] != sequence:
            with self:
                self.synchronize()  # raises what went wrong
            if self.words[last] != sequence:
                raise RuntimeError(f"{self.name}: a kernel ended without its results")

    def check(self) -> None:
        """Wait for all that was started, on all streams, and raise what has gone wrong."""
        with self:
            self.xp.cuda.runtime.deviceSynchronize()

    # ---- kernels -----------------------------------------------------------------------
    def kernel(self, name: str, consts: dict, ops: dict, *, block: int | None = None, shared: int = 0) -> CudaKernel:
        """The section "file.function" with constants and operators filled in.

        `block` threads make a block if not as many as the section says; `shared` bytes are its ``extern __shared__``
        memory.
        """
        found = section(name)
        return CudaKernel(self, found if block is None else found._replace(block=block), consts, ops, shared)

    def chain(self, loop: str, tree: Any, leaves: int, result_dtype: Any, consts: dict, ops: dict) -> CudaKernel:
        """The kernel of an element-wise tree; see `kernels.cuda.chain`."""
        from spgraph.kernels.cuda.chain import chain_section

        one, consts, ops = chain_section(loop, tree, leaves, result_dtype, consts, ops)
        return CudaKernel(self, one, consts, ops)

    # ---- loops ---------------------------------------------------------------------------
    def over(self, kernel: CudaKernel, count: int, work: int, args: tuple) -> list:
        """Run a kernel over items 0..count; waits only for one that returns something."""
        pending = kernel(count, args)
        return [] if pending is None else pending.get()

    def over_later(self, kernel: CudaKernel, count: int, work: int, args: tuple) -> Any:
        """The same without waiting: ``.get()`` waits."""
        return kernel(count, args) or Done([])

    def over_rows(self, kernel: CudaKernel, indptr: Any, work: int, args: tuple) -> list:
        """The same over the rows of a CSR; few rows that have much work still get many threads."""
        count, section = indptr.size - 1, kernel.section
        blocks = min(-(-max(count * section.per, work) // section.block), self.multiprocessors * section.blocks_per_sm)
        pending = kernel(count, args, blocks=blocks)
        return [] if pending is None else pending.get()

    def produce_rows(self, kernel: CudaKernel, work: int, args: tuple, rooms: Any, index_dtype: Any,
                     value_dtype: Any, *, costs: Any = None, scratch: Any = tuple, idle: Any = None) -> tuple:
        """Count, scan, fill; see `kernels.cuda.produce`."""
        from spgraph.kernels.cuda.produce import produce_rows

        return produce_rows(self, kernel, work, args, rooms, index_dtype, value_dtype, costs)

    def multiply(self, product: Any) -> tuple:
        """(indptr, indices, values) of a `kernels.cpu.products.MatrixProduct`; see `kernels.cuda.products`."""
        from spgraph.kernels.cuda.products import multiply

        return multiply(self, product)

    def row_offsets(self, counts: Any) -> Any:
        """indptr of rows with so many entries, 32-bit if it fits."""
        from spgraph.kernels.cuda.produce import row_offsets

        return row_offsets(self, counts)

    @functools.cached_property
    def sort(self) -> Any:
        """Sorts, transposes and permutations of CSR arrays; see `kernels.cuda.sorting`."""
        from spgraph.kernels.cuda.sorting import Sorting

        return Sorting(self)


@functools.cache
def cuda_device(number: int) -> CudaDevice:
    """The device of that number; one object each."""
    return CudaDevice(number)
