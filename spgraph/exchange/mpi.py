"""How bytes get from one part to another: a part in each process that ``mpiexec`` has started.

All processes run the same program text and call every operation at the same place. Messages go through host memory
(mpi4py). A process that fails, by an exception or `sys.exit` with a code, ends them all; one that leaves early with
code 0 leaves the others waiting.
"""

from __future__ import annotations

import functools
import importlib
import sys
import time
from typing import Any

from semirings.exceptions import NoDevice
from spgraph.exchange.group import Group
from spgraph.exchange.launch import APART
from spgraph.kernels.device import Device

__all__ = ["Mpi", "mpi_group"]


class Mpi:
    """The parts are processes.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    device : Device
        Of this process.
    """

    direct = False

    def __init__(self, comm: Any, device: Device):
        self.comm = comm
        self.device: Any = device
        self.mine = [comm.Get_rank()]

    def all_to_all(self, sent: list[list[tuple]]) -> list[list[tuple]]:
        """Deliver ``sent[0][q]`` to part q; returns what came, ``came[0][p]``."""
        came = self.comm.alltoall([[self._packed(one) for one in message] for message in sent[0]])
        return [[tuple(self._own(*one) for one in message) for message in came]]

    def _packed(self, one: Any) -> tuple[Any, bool]:
        """What travels, and whether it is an array of the device where it comes from, and is to be one there."""
        there = not self.device.on_host and type(one) is self.device.array_type
        return (self.device.to_host(one) if there else one), there

    def _own(self, one: Any, there: bool) -> Any:
        if not there:
            return one
        with self.device:
            return self.device.to_device(one)

    def gather(self, values: list) -> list:
        """A Python or NumPy scalar, or an array of the host, of each part: those of all parts, everywhere."""
        return [value for some in self.comm.allgather(values) for value in some]


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
    comm = MPI.COMM_WORLD
    device = _device(comm, MPI)
    devices: list[Any] = [None] * comm.Get_size()
    devices[comm.Get_rank()] = device
    group = Group(devices, Mpi(comm, device))
    before = sys.excepthook

    def end_all(*error: Any) -> None:
        time.sleep(APART * comm.Get_rank())
        before(*error)
        sys.stderr.flush()
        comm.Abort(1)

    sys.excepthook = end_all
    leave = sys.exit

    def leave_all(code: Any = None) -> Any:
        if code not in (None, 0):
            if not isinstance(code, int):
                print(code, file=sys.stderr, flush=True)
            time.sleep(APART * comm.Get_rank())
            comm.Abort(code if isinstance(code, int) else 1)
        leave(code)

    sys.exit = leave_all
    return group


def _device(comm: Any, MPI: Any) -> Device:
    """The GPU that is this process's turn on its machine, or the CPU."""
    from spgraph.kernels.cuda.driver import find
    from spgraph.kernels.device import HOST, get_device

    if find() is None:
        return HOST
    import cupy

    local = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    return get_device(f"cuda:{local % cupy.cuda.runtime.getDeviceCount()}")
