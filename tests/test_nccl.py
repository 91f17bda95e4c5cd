"""NCCL between the GPUs of processes, as far as it can be told without them: who has it, and what is said if not."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from spgraph.exchange.nccl import nccl_of
from spgraph.kernels.device import HOST


class Comm:
    """One of several processes; `others` is what the others say of themselves."""

    def __init__(self, rank, *others):
        self.rank, self.others = rank, others

    def allgather(self, mine):
        self.all = [*self.others[:self.rank], mine, *self.others[self.rank:]]
        return self.all

    def Get_rank(self):
        return self.rank


@pytest.fixture
def gpu(monkeypatch):
    """A GPU, where CuPy finds no NCCL."""
    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(runtime=SimpleNamespace(deviceGetPCIBusId=lambda number: f"0000:0{number}:00.0",
                                                        runtimeGetVersion=lambda: 13020))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", None)  # to import it is an error
    return SimpleNamespace(on_host=False, name="cuda:1")


ELSEWHERE = ("another machine", "0000:01:00.0")


@pytest.mark.parametrize(("others", "who"), [
    ([(ELSEWHERE, False)], "all processes"), ([(ELSEWHERE, True)], "process 0"),
    ([(ELSEWHERE, False), (("a third", "0000:01:00.0"), True)], "processes 0, 1"),
])  # fmt: skip
def test_the_first_process_warns_of_what_is_missing(gpu, others, who):
    message = (f"NCCL is missing in {who}, so that arrays between GPUs go by way of the host's memory: "
               'pip install "nvidia-nccl-cu13"')  # fmt: skip
    with pytest.warns(RuntimeWarning) as caught:
        assert nccl_of(Comm(0, *others), gpu) is None
    assert [str(one.message) for one in caught] == [message]


@pytest.mark.parametrize(("rank", "others"), [
    (1, [(ELSEWHERE, False)]),  # the first process says so
    (0, [(None, False)]),  # the other has no GPU
])  # fmt: skip
def test_nobody_else_warns(gpu, rank, others):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nccl_of(Comm(rank, *others), gpu) is None


def test_processes_that_share_a_gpu_have_none(gpu):
    comm = Comm(0, (None, False))
    nccl_of(comm, gpu)
    comm = Comm(0, comm.all[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nccl_of(comm, gpu) is None


def test_the_host_needs_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comm = Comm(0, (None, False))
        assert nccl_of(comm, HOST) is None
    assert comm.all[0] == (None, False)
