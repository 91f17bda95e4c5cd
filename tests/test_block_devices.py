"""Blocks and partitions that move between devices: content, order and identity stay."""

import gc
import weakref

import matrix_cases as mc
import numpy as np
import pytest

from spgraph.block import MatrixBlock
from spgraph.engine.matrix_build import matrix_coo
from spgraph.kernels.device import HOST, Device
from spgraph.partition import NATURAL, Partition

pytestmark = pytest.mark.one_device("is about blocks of one device")


@pytest.fixture
def elsewhere():
    """A second device; its arrays are NumPy's."""
    return Device()


@pytest.mark.parametrize("iso", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_matrix_moves_there_and_back(elsewhere, iso, ordered):
    A = mc.draw_matrix(np.random.default_rng(1), 6, 6, "INT64", density=0.5, iso=iso, ordered=ordered)
    A.ours.oriented(True)
    there = A.ours.to_device(elsewhere)
    assert there.device is elsewhere
    assert (there.iso, there.symmetric) == (A.ours.iso, A.ours.symmetric)
    assert there.rows is there.cols
    back = there.to_device(A.ours.device)
    assert back.rows is A.ours.rows
    mc.assert_same(back, A.theirs)
    mc.assert_same(A.ours, A.theirs)
    assert A.ours.to_device(A.ours.device) is A.ours


def test_no_entries_have_no_value_on_the_host(cuda):
    with cuda:
        A = MatrixBlock(3, 3, np.int64, device=cuda)
        indptr, indices = A.indptr, A.indices
        A.set_csr(indptr, indices, np.array([5]), iso=True)
    mc.assert_valid(A)
    assert not A.iso


def test_nbytes_counts_a_kept_transpose():
    A = mc.draw_matrix(np.random.default_rng(2), 5, 8, "FP64", density=0.5, iso=False).ours
    own = A.indptr.nbytes + A.indices.nbytes + A.values.nbytes
    assert A.nbytes == own
    turned = A.oriented(True)
    assert A.nbytes == turned.nbytes == own + 4 * (A.ncols - A.nrows) + own
    assert A.copy().nbytes == own


def test_a_partition_is_one_object_per_device(elsewhere):
    p = Partition(np.array([2, 0, 1], np.int32), "example")
    there = p.on(elsewhere)
    assert (there.name, there.device) == ("example", elsewhere)
    assert there.to_local.tolist() == p.to_local.tolist()
    assert there is p.on(elsewhere)
    assert there.on(HOST) is p
    assert p.on(HOST) is p
    assert NATURAL.on(elsewhere) is NATURAL


def test_a_partition_keeps_no_copy_alive(elsewhere):
    p = Partition(np.array([2, 0, 1], np.int32), "example")
    there = weakref.ref(p.on(elsewhere))
    assert there() is None
    there, here = p.on(elsewhere), weakref.ref(p)
    gc.disable()
    try:
        del p
        assert here() is None
    finally:
        gc.enable()
    assert there.on(HOST).to_local.tolist() == [1, 2, 0]


def test_coordinates_of_the_device_are_its_own():
    A = mc.draw_matrix(np.random.default_rng(3), 4, 4, "INT64", density=0.5, ordered=True).ours
    arrays = matrix_coo(A, on_device=True)
    assert all(type(array) is A.device.xp.ndarray for array in arrays)
    for array, wanted in zip(arrays, matrix_coo(A)):
        assert np.array_equal(A.device.to_host(array), wanted)
