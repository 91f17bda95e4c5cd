"""Values and bits that owners store into the memory of GPUs that see each other (`exchange.direct`).

Runs on the GPUs that there are, else on emulated ones.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from devices import blocks, gpus, spread

import spgraph as sg
from spgraph import binary, semiring
from spgraph.exchange import Group, InProcess, direct, group_of
from spgraph.exchange.border import sharing_of

pytestmark = pytest.mark.one_device("makes parts of its own")


@pytest.fixture(params=[2, 3, 5])
def group(request: pytest.FixtureRequest, cuda: Any, monkeypatch: pytest.MonkeyPatch) -> Group:
    if gpus(cuda) < 2:
        monkeypatch.setattr(InProcess, "linked", True)
    return group_of(tuple(spread(cuda, request.param)))


def graph(n: int) -> sg.Matrix:
    """Few edges, so that parts know some of each other's vertices; its transpose is at hand."""
    rng = np.random.default_rng(n)
    rows, cols = rng.integers(0, n, (2, 2 * n))
    with sg.Context("cpu"):
        return sg.Matrix.from_coo(rows, cols, rng.integers(1, 9, 2 * n), nrows=n, ncols=n, dup_op=binary.first)


def operand(kind: str, n: int, group: Group) -> sg.Vector:
    rng = np.random.default_rng(n + 1)
    ids = np.arange(n) if kind.startswith("full") else np.flatnonzero(rng.random(n) < 0.6)
    values: Any = rng.integers(-50, 50, ids.size).astype(np.float32)
    with sg.Context("cpu"):
        v = sg.Vector.from_coo(ids, 7 if kind.endswith("same") else values, dtype=np.float32, size=n).to(group)
    for block in blocks(v):
        block.to_bitmap()
        if kind.endswith("same") and block.nvals:  # known to be so
            block.set_bitmap(block.present, np.array([7], np.float32), block.nvals, iso=True)
    return v


SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 161, 255, 257, 300, 331, 499]


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("kind", ["full", "full, the same", "bitmap", "bitmap, the same"])
def test_pulls_of_any_size(group: Group, kind: str, duplicate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists and words of bits begin and end anywhere; two rooms are used in turns."""
    started: set = set()
    usual = direct.Direct._kernel
    monkeypatch.setattr(direct.Direct, "_kernel", lambda self, device, name, **consts: (
        started.add((name, consts["VALUES"])) or usual(self, device, name, **consts)))  # fmt: skip
    for n in SIZES:
        A = graph(n)
        with sg.Context(group, duplicate=duplicate, direction="pull"):
            B = A.to(group)
            u = operand(kind, n, group)  # lies as the last graph
        with sg.Context("cpu"):
            v = u.to("cpu")
            wanted = [semiring.plus_times(A @ v).new(), semiring.any_second(A @ v).new().nvals]
        with sg.Context(group, duplicate=duplicate, direction="pull"):
            for _ in range(3):
                found = semiring.plus_times(B @ u).new()
                assert found.to("cpu").isequal(wanted[0]), n
            assert semiring.any_second(B @ u).new().nvals == wanted[1]
    single = kind.endswith("same")
    if kind.startswith("bitmap"):
        assert {("exchange.give_all", not single), ("exchange.arrange", not single)} <= started
    else:
        assert started == (set() if single else {("exchange.give_all", True)})


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_a_warp_stores_whole_lines(group: Group, duplicate: str, dtype: type) -> None:
    with sg.Context(group, duplicate=duplicate, partition="random"):
        border = sharing_of(graph(331).to(group)._block)
        ways = border.direct
        assert ways is not None
        _, tables = ways._rooms_for_all(np.dtype(dtype))
        for (_, device), (lists, firsts), table in zip(ways._parts, ways.given, tables):
            with device:
                assert not (device.to_host(table) % (direct.WARP * np.dtype(dtype).itemsize)).any()
                assert not (device.to_host(firsts) % direct.WARP).any() and not lists.size % direct.WARP


def test_single_elements_go_by_places_in_turn() -> None:
    """To their place in an array, strided or not; places are used again when all that went by them has arrived."""
    import ctypes
    from types import SimpleNamespace

    from spgraph.kernels.cuda.device import ONES, TO_DEVICE, CudaDevice

    under_way: list[tuple] = []
    waits: list[int] = []

    def arrive() -> None:
        waits.append(len(under_way))
        for to, where, size in under_way:
            ctypes.memmove(to, where, size)
        under_way.clear()

    def begin(to: int, where: int, size: int, kind: int, _stream: int) -> None:
        assert kind == TO_DEVICE
        under_way.append((to, where, size))

    gpu: Any = SimpleNamespace(lock=threading.RLock(), _next_one=0, _ones=np.zeros(8 * ONES, np.uint8), _memcpy=begin,
                               check=arrive, _stream=lambda: SimpleNamespace(ptr=0))
    for dtype in (np.int8, np.float32, np.int64):
        for memory, step in ((np.zeros(3000, dtype), 1), (np.zeros(3000, dtype), 3)):
            target: Any = SimpleNamespace(data=SimpleNamespace(ptr=memory.ctypes.data), strides=memory[::step].strides)
            count = memory[::step].size
            values = np.arange(1, count + 1).astype(dtype)
            for at in range(count):
                CudaDevice.put_one(gpu, target, at, values[at:at + 1])
            arrive()
            assert np.array_equal(memory[::step], values)
            assert step == 1 or not memory.reshape(-1, step)[:, 1:].any()
    assert max(waits) <= ONES and len(waits) > 6


def test_current_gpus_are_those_of_a_thread() -> None:
    """``with device:`` within another one, also left by an error, and in two threads at a time."""
    from types import SimpleNamespace

    from spgraph.kernels.cuda.device import CudaDevice, _Current

    now = threading.local()

    def gpu(number: int) -> Any:
        fake: Any = SimpleNamespace(number=number, _several=True, _current=_Current())
        fake._get_current, fake._set_current = lambda: now.gpu, lambda gpu: setattr(now, "gpu", gpu)
        return fake

    one, other = gpu(1), gpu(2)
    both = threading.Barrier(2)
    seen: dict[int, list[int]] = {}

    def work(first: int) -> None:
        now.gpu = first
        CudaDevice.__enter__(one)
        both.wait()
        CudaDevice.__enter__(other)
        CudaDevice.__enter__(one)
        seen[first] = [now.gpu]
        both.wait()
        for device in (one, other, one):
            CudaDevice.__exit__(device)
            seen[first].append(now.gpu)
        CudaDevice.use(other)
        seen[first].append(now.gpu)

    threads = [threading.Thread(target=work, args=(first,)) for first in (5, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {first: [1, 2, 1, first, 2] for first in (5, 6)}
