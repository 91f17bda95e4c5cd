"""What vector operations cost on a GPU: launches, and what is waited for.

They run on a GPU, or on the emulated one. Blocks whose number of entries is still being counted behave as any other.
"""

import gc
import pickle
import weakref

import numpy as np
import pytest

import spgraph as sg
from semirings import binary, monoid, select
from spgraph import engine
from spgraph._room import spare
from spgraph.block import VectorBlock
from spgraph.engine import Apply, Ewise, Index, Leaf, Mask, queues_cuda
from spgraph.engine.mask import view_mask
from spgraph.exchange import group_of
from spgraph.kernels.cuda.launch import Pending
from spgraph.kernels.device import HOST
from spgraph.partition import Partition

N = 200  # positions; every second one has an entry in `bitmap`, five in `few`
PLUS, TIMES, GREATER = binary.plus[np.float64], binary.times[np.float64], select.valuegt[np.float64]
FEW = [3, 70, 71, 150, 199]


class Vectors:
    """Operands of one kind each."""

    def __init__(self, device):
        def build(ids, dtype=np.float64, single=False):
            values = dtype(1) if single else np.asarray(ids).astype(dtype)
            return engine.build_vector(N, ids, values, dtype, device=device)

        self.few, self.frontier = build(FEW), build(FEW, np.bool_, single=True)
        self.bitmap = build(range(0, N, 2)).to_bitmap()
        self.mask = build(range(0, N, 3), np.bool_, single=True).to_bitmap()
        self.full, self.other = build(range(N)), build(range(N))
        self.empty = VectorBlock(N, np.float64, device=device)


@pytest.fixture
def vectors(cuda):
    return Vectors(cuda)


@pytest.fixture
def cost(cuda, monkeypatch):
    """Launches of our kernels, and results that were asked for, since the last call."""
    asked = []
    get, start = Pending.get, cuda._sequence

    def counting(self):
        if self._values is None and self._sequence > start:  # older ones are read when their place is used again
            asked.append(self)
        return get(self)

    monkeypatch.setattr(Pending, "get", counting)

    def since():
        launches, waits = cuda.counters.launches - since.launches, len(asked)
        since.launches = cuda.counters.launches
        asked.clear()
        return launches, waits

    since.launches = cuda.counters.launches
    return since


def structural(block, complement=False):
    return Mask(block, complement, True)


ALL = Index.of_all(N)
# by name: the operation, and whether the number of the result's entries is known
WRITES = {
    "level(frontier.S) << depth": (
        lambda v: engine.vector_assign(v.bitmap, structural(v.frontier), None, False, np.float64(1), ALL), False),
    "the first of these": (
        lambda v: engine.vector_assign(v.empty, structural(v.frontier), None, False, np.float64(1), ALL), True),
    "level(bitmap.S) << depth": (
        lambda v: engine.vector_assign(v.bitmap, structural(v.mask), None, False, np.float64(1), ALL), False),
    "parent(q.S) << q": (lambda v: engine.vector_chain(v.bitmap, structural(v.few), None, False, Leaf(v.few)), False),
    "parent(q.S) << q, a bitmap": (
        lambda v: engine.vector_chain(v.other, structural(v.bitmap), None, False, Leaf(v.bitmap)), False),
    "dist(min) << list": (
        lambda v: engine.vector_chain(v.full, None, binary.min[np.float64], False, Leaf(v.few)), True),
    "list within a mask": (
        lambda v: engine.vector_chain(v.empty, structural(v.mask, True), None, True, Leaf(v.few)), False),
    "full op full": (
        lambda v: engine.vector_chain(v.empty, None, None, False,
                                      Ewise("add", PLUS, Leaf(v.full), Leaf(v.other))), True),
    "a chain with accumulator": (
        lambda v: engine.vector_chain(
            v.full, None, PLUS, False,
            Ewise("mult", TIMES, Apply(PLUS, Leaf(v.bitmap), right=np.float64(2)), Leaf(v.other))), True),
    "a chain within a mask": (
        lambda v: engine.vector_chain(v.bitmap, structural(v.mask), None, False,
                                      Ewise("mult", TIMES, Leaf(v.full), Leaf(v.other))), False),
    "list op full": (
        lambda v: engine.vector_chain(v.empty, None, None, False,
                                      Ewise("mult", TIMES, Leaf(v.few), Leaf(v.full))), True),
    "list op bitmap": (
        lambda v: engine.vector_chain(v.empty, None, None, False,
                                      Ewise("mult", TIMES, Leaf(v.few), Leaf(v.bitmap))), False),
    "select of a list": (
        lambda v: engine.vector_select(v.empty, None, None, False, v.few, GREATER, np.float64(70)), False),
    "select of a bitmap": (
        lambda v: engine.vector_select(v.empty, structural(v.mask), None, False, v.bitmap, GREATER, np.float64(70)),
        False),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_one_launch_and_waits_for_nothing(vectors, cost, name):
    operation, known = WRITES[name]
    on_host = Vectors(HOST)
    cost()
    operation(vectors)
    launches, waits = cost()
    assert launches == (0 if name == "the first of these" else 1)
    assert waits == 0
    operation(on_host)
    for attribute in ("few", "bitmap", "full", "other", "empty"):
        block, wanted = getattr(vectors, attribute), getattr(on_host, attribute)
        assert block.nvals == wanted.nvals
        for got, right in zip(engine.vector_coo(block), wanted.coo()):
            np.testing.assert_array_equal(got, right)
    assert cost() == (0, 0 if known else 1)


def test_what_a_push_has_counted_holds_for_values_computed_from_its_list(cuda):
    with sg.Context(cuda, direction="push"):
        A = sg.generators.grid(20)
        full = sg.Vector.from_dense(np.arange(400.0))
        u = sg.Vector.from_coo([21, 5], [1.0, 2.0], size=400).vxm(A, sg.semiring.plus_times).new()
        assert u.nvals == 7
        w = u.ewise_mult(full, sg.binary.plus).new()
        launches, waits = cuda.counters.launches, cuda.counters.waits
        found = w.vxm(A, sg.semiring.plus_times).new()
        assert (cuda.counters.launches - launches, cuda.counters.waits - waits) == (2, 0)
        with sg.Context("cpu"):
            wanted = w.to("cpu").vxm(A.to("cpu"), sg.semiring.plus_times).new()
        assert found.to("cpu").isclose(wanted)


def test_changing_the_format_waits_for_nothing(vectors, cost):
    cost()
    vectors.few.to_bitmap()
    vectors.frontier.to_bitmap()
    assert cost() == (2, 0)
    vectors.bitmap.to_sparse()
    vectors.frontier.to_sparse()
    assert cost() == (2, 0)
    assert sorted(vectors.few.to_sparse().indices.tolist()) == FEW


def test_a_mask_that_is_being_counted_is_not_waited_for(vectors, cost):
    level = vectors.bitmap
    engine.vector_assign(level, structural(vectors.frontier), None, False, np.float64(1), ALL)
    cost()
    view = view_mask(structural(level, True), N, level.partition)
    assert cost() == (0, 0)
    assert view.code == "sc"
    assert N - 100 - len(FEW) <= view.allowed <= N - 100
    assert level.bounds() == (100, 105)
    assert level.format == "bitmap"
    assert cost() == (0, 0)
    assert level.nvals == 100 + sum(i % 2 for i in FEW)
    assert cost() == (0, 1)
    assert level.bounds() == (level.nvals, level.nvals)


def test_a_reduction_is_one_launch_and_one_wait(vectors, cost):
    cost()
    assert engine.vector_reduce(vectors.few, monoid.plus[np.float64]) == sum(FEW)
    assert cost() == (1, 1)


def pending_list(v):
    engine.vector_select(v.empty, None, None, False, v.few, GREATER, np.float64(70))
    assert type(v.empty) is not VectorBlock
    return v.empty, FEW[2:]


def pending_bitmap(v):
    engine.vector_assign(v.bitmap, structural(v.frontier), None, False, np.float64(1), ALL)
    assert type(v.bitmap) is not VectorBlock
    return v.bitmap, sorted({*range(0, N, 2), *FEW})


PENDING = pytest.mark.parametrize("make", [pending_list, pending_bitmap])


@PENDING
@pytest.mark.parametrize("how", ["copy", "to_sparse", "to_bitmap", "writable_bitmap", "expand", "sort"])
def test_a_pending_block_can_be_copied_and_changed(vectors, make, how):
    block, ids = make(vectors)
    if how == "sort" and make is pending_bitmap:
        block.to_sparse()
    changed = getattr(block, how)()
    assert changed.nvals == len(ids)
    assert type(changed) is VectorBlock
    assert engine.vector_coo(changed)[0].tolist() == ids


@PENDING
def test_a_pending_block_can_be_overwritten(vectors, make):
    block, _ = make(vectors)
    block.clear()
    assert type(block) is VectorBlock
    assert block.nvals == 0


@PENDING
def test_a_pending_block_may_be_removed_from(vectors, make):
    block, ids = make(vectors)
    engine.vector_remove(block, 71)
    engine.vector_set(block, 5, np.float64(1))
    assert engine.vector_coo(block)[0].tolist() == sorted({*ids, 5} - {71})


@PENDING
def test_what_is_dropped_unread_frees_its_memory(vectors, make):
    block, _ = make(vectors)
    gone = weakref.ref(block._awaited[0])
    vectors.empty = vectors.bitmap = None
    gc.disable()
    try:
        del block
        assert gone() is None
    finally:
        gc.enable()


def test_the_partition_of_a_pending_block_is_known(vectors, cuda):
    p = Partition(cuda.to_device(np.arange(N, dtype=np.int32)[::-1].copy()), "turned", device=cuda)
    vectors.few.rehome(p)
    block, ids = pending_list(vectors)
    assert block.partition is p
    assert type(block) is not VectorBlock
    assert engine.vector_coo(block)[0].tolist() == ids


def test_padding_says_what_absent_positions_hold(vectors, cuda):
    block = vectors.bitmap
    present, values = block.present, cuda.xp.where(block.present == 1, block.values, np.float64(7))
    block.set_bitmap(present, values, block.nvals, padding=np.float64(7))
    engine.vector_assign(block, structural(vectors.frontier), None, False, np.float64(1), ALL)
    engine.vector_set(block, 9, np.float64(4))
    tree = Apply(PLUS, Leaf(vectors.full), right=np.float64(1))
    engine.vector_chain(block, structural(vectors.mask), PLUS, False, tree)
    assert block.padding == 7
    absent = cuda.to_host(block.present) == 0
    assert absent.any()
    assert (cuda.to_host(block.values)[absent] == 7).all()
    engine.vector_remove(block, 9)
    assert block.padding is None


def test_a_vector_moves_there_and_back(cuda):
    for make in (lambda v: v.few, lambda v: v.bitmap, lambda v: v.frontier, lambda v: v.full):
        block = make(Vectors(HOST))
        p = Partition(np.arange(N, dtype=np.int32)[::-1].copy(), "turned")
        block.rehome(p)
        there = block.to_device(cuda)
        assert there.device is cuda
        assert there.partition is p.on(cuda)
        assert there.nbytes == block.nbytes
        back = there.to_device(HOST)
        assert back.partition is p
        for got, right in zip(back.coo(), block.coo()):
            np.testing.assert_array_equal(got, right)
            assert got.dtype == right.dtype


@PENDING
def test_a_pending_block_can_be_pickled(vectors, cuda, make):
    if not cuda.name.startswith("cuda"):
        pytest.skip("the emulated device's arrays are not pickled")
    block, ids = make(vectors)
    assert engine.vector_coo(pickle.loads(pickle.dumps(block)))[0].tolist() == ids


@pytest.mark.parametrize("most", [1, 1 << 28])
def test_what_pushes_keep_on_a_device_is_bounded(cuda, monkeypatch, most):
    """Marks and accumulators of sizes that nobody uses any more go, and the answers stay."""
    monkeypatch.setattr(queues_cuda, "KEPT_BYTES", most)
    with sg.Context(cuda, direction="push"):
        for size in [*range(10, 40), 10]:
            A = sg.Matrix.from_coo(range(size - 1), range(1, size), 2, nrows=size, ncols=size)
            u = sg.Vector.from_coo([0, 3], [5, 7], size=size)
            assert u.vxm(A, sg.semiring.plus_times).new().to_dict() == {1: 10, 4: 14}
        for kind in ("marks", "accumulators"):
            kept = len(cuda.kept[kind])
            assert kept == 1 if most == 1 else 2 <= kept <= queues_cuda.MOST_KEPT
        spare(group_of((cuda, cuda)))
        assert not cuda.kept
