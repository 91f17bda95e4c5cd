"""Where blocks live and kernels run: one interface for the CPU and for a GPU.

The engine is one text for every device. It takes arrays from ``device.xp`` (NumPy or
CuPy), kernels by name from ``device.kernel``, and loops from ``device.over``,
``device.over_rows`` and ``device.produce_rows``. Only this module and
`spgraph.kernels.cuda.device` know which kind a device is.

Two rules keep transfers out of it. One value that stands for many (iso) is a NumPy
array of length 1 on every device, and so is an empty placeholder; a kernel gets the
first by value and the second as a null pointer.
"""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any

import numpy as np

from spgraph.kernels.cpu import _pieces
from spgraph.kernels.cpu._threads import PARALLEL_WORK, parallel_for, split_even, split_rows, waiting

__all__ = ["HOST", "Device", "Done", "get_device"]


class Done:
    """Results that are there already; see `Device.over_later`."""

    __slots__ = ("results",)

    def __init__(self, results: list):
        self.results = results

    def get(self) -> list:
        """The results, one per part."""
        return self.results

    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return True


_counting = threading.Lock()


class Device:
    """What the engine asks of a device; this class is the CPU.

    Attributes
    ----------
    name : str
        "cpu" or "cuda:0".
    on_host : bool
        Whether arrays are NumPy's.
    begins : bool
        Whether a reduction may be begun, and waited for later.
    xp : module
        NumPy, or CuPy.
    kernels : dict
        Kernels by whatever key the engine made for them, so that finding one again costs a look-up.
    chains : dict
        Those of element-wise trees by a cheaper key, which holds operators themselves; forgotten at times.
    kept : dict
        Arrays, and matrices' copies by tiles, that the engine finds again as it left them; `release_memory` gives them
        back.
    """

    name = "cpu"
    on_host = True
    begins = False
    xp: Any = np
    group: Any = None  # itself, if it is several devices: an `exchange.Group`

    def __init__(self) -> None:
        self.kernels: dict = {}
        self.chains: dict = {}
        self.kept: dict = {}
        self._forbidden = 0
        self._nothing: dict = {}

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    def __reduce__(self) -> tuple:
        return get_device, (self.name,)

    @property
    def host_copies(self) -> bool:
        """Whether arrays may be copied to the host; see `Context`."""
        return not self._forbidden

    def forbid_host_copies(self, change: int) -> None:
        """One context more (1) or fewer (-1), of any thread, forbids them."""
        with _counting:
            self._forbidden += change

    # ---- arrays ----------------------------------------------------------------
    def to_host(self, array: Any) -> np.ndarray:
        """`array` as a NumPy array (itself if it is one)."""
        return array

    def begin_copy(self, array: Any) -> np.ndarray:
        """The same, perhaps without waiting: what comes means nothing before `synchronize`."""
        return array

    def to_device(self, array: Any) -> Any:
        """A NumPy array as one of this device (itself if that is the same)."""
        return array

    def synchronize(self) -> None:
        """Wait for all that was started."""

    # ---- time ------------------------------------------------------------------
    def stamp(self) -> Any:
        """A point in time, for `between`: when all that was started so far is done."""
        return time.perf_counter()

    def between(self, begin: Any, end: Any) -> float:
        """Seconds from one `stamp` to another; both have been waited for."""
        return end - begin

    # ---- several GPUs ----------------------------------------------------------
    def __enter__(self) -> Device:
        """``with device:`` CUDA's current device is this one, so that arrays are made and kernels started there."""
        return self

    def __exit__(self, *_error: Any) -> None:
        """The device that was current before is so again."""

    def use(self) -> None:
        """Make this device CUDA's current one until another is."""

    # ---- memory ----------------------------------------------------------------
    def memory(self) -> Any:
        """Bytes that there are, are free and used, and the limit; see `kernels.memory.Memory`."""
        from spgraph.kernels.memory import host_memory

        return host_memory()

    def check_size(self, nbytes: int) -> None:
        """Raise for an array larger than all memory: some machines promise that, and end who writes into it."""
        if nbytes >> 34 and nbytes > (self.memory().total or nbytes):
            raise MemoryError(f"allocating {nbytes:,} bytes")

    def limit_memory(self, limit: int | float | None) -> int | None:
        """Use at most so many bytes (a float: such a share of the device's); returns the limit before.

        The host's memory is not limited.
        """
        return None

    def release_memory(self) -> None:
        """Give back what is held in reserve."""

    def filled(self, count: int, value: Any, dtype: Any) -> Any:
        """An array of `count` times the same value, bit by bit (CuPy's `full` makes 0.0 of -0.0)."""
        return np.full(count, value, dtype)

    def copy(self, array: Any) -> Any:
        """An array with the same elements."""
        return array.copy()

    def put(self, array: Any, at: int, value: Any) -> None:
        """Write one element, bit by bit."""
        array[at] = value

    def nothing(self, dtype: Any) -> Any:
        """An array of no elements, the same for each dtype."""
        found = self._nothing.get(dtype)
        if found is None:
            with self:
                found = self._nothing[dtype] = self.xp.empty(0, dtype)
        return found

    # ---- kernels ---------------------------------------------------------------
    def kernel(self, name: str, consts: dict, ops: dict) -> Any:
        """The kernel "file.function" with constants and operators; see `kernels.cpu._specialise.get_kernel`."""
        from spgraph.kernels.cpu._specialise import get_kernel

        file, function = name.split(".")
        template = getattr(importlib.import_module(f"spgraph.kernels.cpu.{file}"), function)
        return get_kernel(template, consts, ops)

    def chain(self, loop: str, tree: Any, leaves: int, result_dtype: Any, consts: dict, ops: dict) -> Any:
        """The kernel of an element-wise tree; see `kernels.cpu.elementwise.chain_kernel`."""
        from spgraph.kernels.cpu.elementwise import chain_kernel

        return chain_kernel(loop, tree, leaves, result_dtype, consts, ops)

    # ---- loops -----------------------------------------------------------------
    def over(self, kernel: Any, count: int, work: int, args: tuple) -> list:
        """Run a kernel over items 0..count, `work` entries in all.

        Returns
        -------
        list
            What the kernel returns, for each of the parts that the work was cut into.
        """
        if work < PARALLEL_WORK:
            return [kernel(work, 0, count, *args)]
        return parallel_for(kernel, split_even(count, work), work, args)

    def over_later(self, kernel: Any, count: int, work: int, args: tuple) -> Any:
        """The same, but the results are asked for later, with ``.get()``: a GPU is not waited for until then."""
        calls = waiting()
        if calls is not None:
            return calls.add(kernel, split_even(count, work), work, args)
        return Done(self.over(kernel, count, work, args))

    def over_rows(self, kernel: Any, indptr: Any, work: int, args: tuple) -> list:
        """The same over the rows of a CSR, in parts of about equal entries."""
        return parallel_for(kernel, split_rows(indptr, work), work, args)

    def produce_rows(self, kernel: Any, work: int, args: tuple, rooms: Any, index_dtype: Any, value_dtype: Any, *,
                     costs: Any = None, scratch: Any = tuple, idle: Any = None) -> tuple:
        """Run a kernel that makes rows of unknown length; see `kernels.cpu._pieces.produce_rows`."""
        return _pieces.produce_rows(kernel, work, args, rooms, index_dtype, value_dtype, costs=costs, scratch=scratch,
                                    idle=idle)

    def multiply(self, product: Any) -> tuple:
        """(indptr, indices, values) of a `kernels.cpu.products.MatrixProduct`."""
        from spgraph.kernels.cpu.products import multiply

        return multiply(product)

    def row_offsets(self, counts: Any) -> Any:
        """indptr of rows with so many entries, 32-bit if it fits."""
        return _pieces.row_offsets(counts)

    @property
    def sort(self) -> Any:
        """Counting sorts, transposes and permutations of CSR arrays; see `kernels.cpu.sort`."""
        from spgraph.kernels.cpu import sort

        return sort


HOST = Device()


def get_device(name: str) -> Device:
    """The device of that name ("cpu", "cuda", "cuda:1"), made at first use.

    Raises
    ------
    RuntimeError or ImportError
        What CUDA or CuPy says, if the device cannot be used.
    """
    if name == "cpu":
        return HOST
    from spgraph.kernels.cuda.device import cuda_device

    return cuda_device(int(name.partition(":")[2] or 0))
