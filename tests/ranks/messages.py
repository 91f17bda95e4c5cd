"""Whatever a message holds arrives: small and large arrays, none, scalars, objects; those of a GPU by NCCL or staged.

The GPU and NCCL are imitated: arrays are NumPy's under another type, and the calls of a group move bytes by MPI.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
from mpi4py import MPI

from spgraph.exchange import mpi
from spgraph.exchange.mpi import Mpi
from spgraph.exchange.nccl import Nccl, nccl_of
from spgraph.kernels.device import HOST, Device

comm = MPI.COMM_WORLD
rank, count = comm.Get_rank(), comm.Get_size()


class Far(np.ndarray):
    """An array of a GPU that is none."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


def far(array: Any) -> Any:
    return np.array(array).view(Far)


class FarDevice(Device):
    name = "cuda:0"
    on_host = False
    array_type = Far
    xp = SimpleNamespace(
        empty=lambda shape, dtype: np.empty(shape, dtype).view(Far),
        ascontiguousarray=lambda array: np.ascontiguousarray(array).view(Far),
    )

    def to_host(self, array: Any) -> np.ndarray:
        return np.array(array).view(np.ndarray)

    def to_device(self, array: Any) -> Any:
        return far(array)


class FakeNccl:
    """The calls of ``cupy.cuda.nccl`` that `Nccl` makes; they take effect when a group ends."""

    NCCL_INT8 = 0

    def __init__(self) -> None:
        self.calls: list[tuple] = []
        self.groups = 0
        self.inside = False

    def groupStart(self) -> None:
        assert not self.inside
        self.inside = True

    def groupEnd(self) -> None:
        self.inside = False
        self.groups += 1
        tags: dict = {}
        requests = []
        for kind, pointer, size, peer in self.calls:
            tag = tags[kind, peer] = tags.get((kind, peer), -1) + 1
            memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pointer))
            requests.append((comm.Isend if kind == "send" else comm.Irecv)(memory, peer, 1000 + tag))
        self.calls = []
        for request in requests:
            request.Wait()

    def send(self, pointer: int, size: int, dtype: int, peer: int, stream: int) -> None:
        assert self.inside and dtype == self.NCCL_INT8 and stream == 7 and peer != rank and size
        self.calls.append(("send", pointer, size, peer))

    def recv(self, pointer: int, size: int, dtype: int, peer: int, stream: int) -> None:
        assert self.inside and dtype == self.NCCL_INT8 and stream == 7 and peer != rank and size
        self.calls.append(("recv", pointer, size, peer))


def made(random: np.random.Generator, on_gpu: bool) -> Any:
    """Something that a message may hold."""
    kind = random.integers(8)
    size = int(random.choice([0, 1, 3, 600, 5000]))
    dtype = random.choice(["u1", "?", "i4", "i8", "f4", "f8"])
    array = random.integers(0, 2, size).astype(dtype)
    return [None, np.float32(2.5), np.int64(-3), array, array[::2], array.reshape(-1, 1), ["a", size],
            far(array) if on_gpu else array][kind]  # fmt: skip


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return type(one) is type(other) and one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


fake = FakeNccl()
cases = {
    "host": (Mpi(comm, HOST), False),
    "staged": (Mpi(comm, FarDevice()), True),
    "nccl": (Mpi(comm, FarDevice(), Nccl(fake, fake, rank, count, lambda: 7)), True),
}
for name, (transport, on_gpu) in cases.items():
    for turn in range(60):
        mpi.SMALL = [0, 100, 4096][turn % 3]
        random = np.random.default_rng(turn)
        messages = [[tuple(made(random, on_gpu) for _ in range(random.integers(4))) for _ in range(count)]
                    for _ in range(count)]  # fmt: skip
        (came,) = transport.all_to_all([messages[rank]])
        for source in range(count):
            wanted = messages[source][rank]
            assert len(wanted) == len(came[source]), (name, turn)
            assert all(map(equal, wanted, came[source])), (name, turn, wanted, came[source])
        assert transport.gather([rank]) == list(range(count))
assert fake.groups == 60
assert nccl_of(comm, HOST) is None
comm.Barrier()
print("delivered")
