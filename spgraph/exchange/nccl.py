"""NCCL between processes that have a GPU each: arrays go from GPU to GPU, on the stream that the engine computes on."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

__all__ = ["Nccl", "nccl_of"]


class Nccl:
    """What moves arrays between the GPUs of several processes.

    Parameters
    ----------
    nccl : module
        ``cupy.cuda.nccl``.
    comm : cupy.cuda.nccl.NcclCommunicator
    rank, count : int
        Of this process, and of all.
    stream : callable
        Gives the stream, as a number, on which the arrays are made and used.
    """

    def __init__(self, nccl: Any, comm: Any, rank: int, count: int, stream: Any):
        self.nccl = nccl
        self.comm = comm
        self.rank = rank
        self.count = count
        self.stream = stream

    def exchange(self, sent: list[list], came: list[list]) -> None:
        """Fill the arrays of ``came[p]`` with those that process p sends here; ``sent[q]`` go to process q.

        All as one group of calls, in circular order. Nobody waits: what is started on the stream later comes later.
        """
        bytes_, stream = self.nccl.NCCL_INT8, self.stream()
        self.nccl.groupStart()
        try:
            for distance in range(1, self.count):
                target, source = (self.rank + distance) % self.count, (self.rank - distance) % self.count
                for array in sent[target]:
                    self.comm.send(array.data.ptr, array.nbytes, bytes_, target, stream)
                for array in came[source]:
                    self.comm.recv(array.data.ptr, array.nbytes, bytes_, source, stream)
        finally:
            self.nccl.groupEnd()


def nccl_of(comm: Any, device: Any) -> Nccl | None:
    """NCCL for all processes; None if one of them has no GPU of its own, or no NCCL, of which the first one warns.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    device : Device
        Of this process.
    """
    here: Any = None
    nccl: Any = None
    if not device.on_host:
        import cupy

        try:
            nccl = importlib.import_module("cupy.cuda.nccl")
        except ImportError:
            nccl = None
        here = cupy.cuda.runtime.deviceGetPCIBusId(int(device.name.partition(":")[2] or 0))
    there = nccl is not None and nccl.available
    found = comm.allgather((None if here is None else (_machine(), here), there))
    places = [place for place, _ in found]
    if None in places or len(set(places)) < len(places):
        return None
    missing = [rank for rank, (_, there) in enumerate(found) if not there]
    if missing:
        if comm.Get_rank() == 0:
            numbers = ", ".join(map(str, missing))
            who = "all processes" if len(missing) == len(found) else f"process{'es' * (len(missing) > 1)} {numbers}"
            toolkit = cupy.cuda.runtime.runtimeGetVersion() // 1000
            warnings.warn(f"NCCL is missing in {who}, so that arrays between GPUs go by way of the host's memory: "
                          f'pip install "nvidia-nccl-cu{toolkit}"', RuntimeWarning, stacklevel=2)  # fmt: skip
        return None
    assert nccl is not None
    name = comm.bcast(nccl.get_unique_id() if comm.Get_rank() == 0 else None)
    rank, count = comm.Get_rank(), comm.Get_size()
    with device:
        joined = nccl.NcclCommunicator(count, name, rank)
    return Nccl(nccl, joined, rank, count, lambda: cupy.cuda.get_current_stream().ptr)


def _machine() -> str:
    import socket

    return socket.gethostname()
