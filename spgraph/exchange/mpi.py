"""How bytes get from one part to another: a part in each process that ``mpiexec`` has started.

All processes run the same program text and call every operation at the same place. What a message consists of goes by
MPI (mpi4py), small arrays with it; large ones follow as they lie in memory: those of GPUs by NCCL where each process
has a GPU of its own and NCCL is there, else through the host's memory.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import zlib
from typing import Any

import numpy as np

from semirings.exceptions import InvalidObject, NoDevice
from spgraph.exchange.ending import Progress, end_together
from spgraph.exchange.group import Group
from spgraph.kernels.cpu._threads import threads
from spgraph.kernels.device import Device

__all__ = ["Mpi", "mpi_group"]

DEPTH = 3  # calls by which exchanges are told apart
RANKS, WRAPPERS = "spgraph.exchange.ranks", "spgraph.algorithms._inputs"
SMALL = 4096  # bytes of an array of the host below which it is part of the message


class Mpi:
    """The parts are processes.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    device : Device
        Of this process.
    nccl : Nccl, optional
        What moves arrays of GPUs; without it they go through the host's memory.
    progress : Progress, optional
        Who is told of every exchange.
    """

    direct = False

    def __init__(self, comm: Any, device: Device, nccl: Any = None, progress: Progress | None = None):
        self.comm = comm
        self.device: Any = device
        self.nccl = nccl
        self.progress = progress
        self.rank = comm.Get_rank()
        self.mine = [self.rank]
        self._thread: threading.Thread | None = None
        self._mark, self._marks = np.zeros(1, np.uint32), np.zeros(comm.Get_size(), np.uint32)

    def all_to_all(self, sent: list[list[tuple]]) -> list[list[tuple]]:
        """Deliver ``sent[0][q]`` to part q; returns what came, ``came[0][p]``. What stays here is not copied."""
        self._begin("all_to_all")
        others = [message if q != self.rank else () for q, message in enumerate(sent[0])]
        with self.device:
            packed = [[self._packed(one) for one in message] for message in others]
            heads = self.comm.alltoall([[head for head, _ in message] for message in packed])
            rooms = [[self._room(head) for head in message] for message in heads]
            self._move([[array for _, array in message if array is not None] for message in packed],
                       [[room for head, room in zip(message, own) if head[0] != "object"]
                        for message, own in zip(heads, rooms)])  # fmt: skip
            came = [tuple(map(self._own, message, own)) for message, own in zip(heads, rooms)]
        came[self.rank] = sent[0][self.rank]
        return [came]

    def gather(self, values: list) -> list:
        """A Python or NumPy scalar, or an array of the host, of each part: those of all parts, everywhere."""
        self._begin("gather")
        return [value for some in self.comm.allgather(values) for value in some]

    def _begin(self, exchange: str) -> None:
        """An exchange begins, if all processes come to the same one."""
        thread = threading.current_thread()
        if self._thread is not thread:
            if self._thread is not None and self._thread.is_alive():
                both = f"{thread.name} and {self._thread.name}"
                raise InvalidObject(f"process {self.rank}: operations of threads {both} could meet each other's "
                                    "messages; processes work in one thread each")  # fmt: skip
            self._thread = thread
        if self.progress is not None:
            self.progress.begin()
        frame: Any = sys._getframe(2)
        called, depth = "", 0
        while frame is not None and (module := frame.f_globals.get("__name__", "")).startswith("spgraph"):
            if depth < DEPTH:
                exchange += f" {frame.f_code.co_name}:{frame.f_lineno}"
            if module == RANKS:  # an error of one process meets what others do next
                exchange, depth = f"{exchange.split()[0]} {module}", DEPTH
            called = called if module == WRAPPERS else frame.f_code.co_name
            frame, depth = frame.f_back, depth + 1
        self._mark[0] = zlib.crc32(exchange.encode())
        self.comm.Allgather(self._mark, self._marks)
        if (self._marks == self._mark).all():
            return
        if frame is not None:
            called += f" ({os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno})"
        names = self.comm.allgather(called)
        other = int((self._marks != self._marks[0]).argmax())
        raise InvalidObject(f"process 0 is in {names[0]} and process {other} in {names[other]}: all processes must "
                            "call the same operations, also those that print or count")  # fmt: skip

    # ---- arrays --------------------------------------------------------------------
    def _packed(self, one: Any) -> tuple[tuple, Any]:
        """What is told of a thing (kind, and itself or dtype and shape), and the array that follows."""
        if not self.device.on_host and type(one) is self.device.array_type:
            if self.nccl is not None:
                return ("device", one.dtype, one.shape), self.device.xp.ascontiguousarray(one)
            one = self.device.to_host(one)
            kind = "staged"
        elif type(one) is np.ndarray and one.dtype != object and one.nbytes >= SMALL:
            kind = "host"
        else:
            return ("object", one), None
        return (kind, one.dtype, one.shape), np.ascontiguousarray(one)

    def _room(self, head: tuple) -> Any:
        """Where what is told of will come to lie."""
        if head[0] == "object":
            return head[1]
        return (self.device.xp if head[0] == "device" else np).empty(head[2], head[1])

    def _own(self, head: tuple, room: Any) -> Any:
        return self.device.to_device(room) if head[0] == "staged" else room

    def _move(self, sent: list[list], came: list[list]) -> None:
        """Arrays to the processes that expect them, in circular order."""
        count, requests = len(sent), []
        for distance in range(1, count):
            source, target = (self.rank - distance) % count, (self.rank + distance) % count
            for arrays, start, other in ((came, self.comm.Irecv, source), (sent, self.comm.Isend, target)):
                for place, array in enumerate(arrays[other]):
                    if type(array) is np.ndarray and array.nbytes:
                        requests.append(start(_bytes(array), other, place))
        if self.nccl is not None:
            on_gpus = [[[array for array in arrays if type(array) is not np.ndarray and array.nbytes]
                        for arrays in one] for one in (sent, came)]  # fmt: skip
            self.nccl.exchange(*on_gpus)
        for request in requests:
            request.Wait()


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


@functools.cache
def mpi_group() -> Any:
    """The group of all processes, each with the CPU, or with a GPU if there are any."""
    try:
        MPI = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise NoDevice(
            "this process was started by mpiexec, but mpi4py is not there: pip install mpi4py; or run it "
            "with SPGRAPH_DEVICE=cpu to compute on its own"
        ) from error
    from spgraph.exchange.nccl import nccl_of

    comm = MPI.COMM_WORLD
    device = _device(comm, MPI)
    devices: list[Any] = [None] * comm.Get_size()
    devices[comm.Get_rank()] = device
    progress = Progress(MPI, comm)
    group = Group(devices, Mpi(comm, device, nccl_of(comm, device), progress), _least_threads(comm, device))
    end_together(comm, progress)
    return group


def _least_threads(comm: Any, device: Device) -> int:
    """Threads that every process has; raises in all of them if some have GPUs and others have none."""
    counts, on_host = zip(*comm.allgather((threads(), device.on_host)))
    if any(on_host) and not all(on_host):
        raise NoDevice(f"process {on_host.index(False)} has a GPU, but process {on_host.index(True)} has none; let all "
                       "have one, or none (CUDA_VISIBLE_DEVICES= hides them)")  # fmt: skip
    return min(counts)


def _device(comm: Any, MPI: Any) -> Device:
    """The GPU that is this process's turn on its machine, or the CPU."""
    from spgraph.kernels.cuda.driver import find
    from spgraph.kernels.device import HOST, get_device

    if find() is None:
        return HOST
    import cupy

    local = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    return get_device(f"cuda:{local % cupy.cuda.runtime.getDeviceCount()}")
