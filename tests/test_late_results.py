"""Results that a GPU still computes when the next statement runs: read late, by threads, after operands changed."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pytest
from devices import in_parts

import spgraph as sg
from spgraph import binary, monoid, select, semiring
from spgraph.engine.vector_elementwise import Plan

N = 5


@pytest.fixture(autouse=True)
def on_gpu(emulated):
    with sg.Context(emulated, direction="push"):
        yield


@pytest.mark.parametrize("change", ["set", "write", "row", "delete", "clear"])
def test_a_list_read_after_the_matrix_has_changed(change):
    A = sg.Matrix.from_coo([0, 1], [1, 2], [1, 1], "INT64", nrows=N, ncols=N)
    q = sg.Vector("INT64", N)
    q << sg.Vector.from_coo([0], [0], "INT64", size=N).vxm(A, semiring.min_plus)
    if change == "set":
        A[1, 3] = 4
    elif change == "write":
        A << sg.Matrix.from_coo([1, 1], [2, 3], [1, 4], nrows=N, ncols=N)
    elif change == "row":
        A[1, :] << sg.Vector.from_coo([2, 3], [1, 4], size=N)
    elif change == "delete":
        del A[1, 2]
    else:
        A.clear()
        A[1, 4] = 1
    wanted = {"delete": {}, "clear": {4: 2}}.get(change, {2: 2, 3: 5})
    assert q.vxm(A, semiring.min_plus).new().to_dict() == wanted


def _in_threads(read):
    out, barrier = [], threading.Barrier(4)

    def go():
        barrier.wait()
        out.append(read())

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def test_several_threads_read_what_is_pending():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        v = sg.Vector.from_coo([0, 1], [1, 2], size=N)
        A = sg.Matrix.from_coo([0, 1], [1, 2], [1, 1], "INT64", nrows=N, ncols=N)
        for _ in range(60):
            s, w, c = sg.Scalar(int), sg.Vector.from_coo([0], [0], size=N), sg.Vector(int, N)
            s << v.reduce()
            assert _in_threads(lambda s=s: s.value) == [3] * 4
            w(binary.min, changed=c) << v.vxm(A, semiring.min_plus)
            assert _in_threads(lambda c=c: c.nvals) == [2] * 4
            assert w.to_dict() == {0: 0, 1: 2, 2: 3}
    finally:
        sys.setswitchinterval(before)


def test_an_interrupt_does_not_lose_a_scalar(monkeypatch):
    from spgraph.kernels.cuda.launch import Pending

    s = sg.Scalar(int)
    s << sg.Vector.from_coo([0, 1], [1, 2], size=N).reduce()

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Pending, "get", interrupted)
        with pytest.raises(KeyboardInterrupt):
            s.value  # noqa: B018
    assert s.value == 3


def test_a_scalar_of_the_users_own_class():
    class Own(sg.Scalar):
        pass

    s = Own(int)
    s << sg.Vector.from_coo([0, 1], [1, 2], size=N).reduce()
    assert type(s) is Own
    assert s.value == 3


def test_a_minimum_that_passes_nan_on_is_not_filtered_early():
    least = semiring.register_anonymous(monoid.register_anonymous(np.minimum, np.inf), binary.plus)
    w, c = sg.Vector.from_coo(range(4), [9.0] * 4, size=4), sg.Vector(float, 4)
    u = sg.Vector.from_coo([0, 1], [3.0, np.nan], size=4)
    A = sg.Matrix.from_coo([0, 1], [2, 2], [0.0, 0.0], nrows=4, ncols=4)
    w(least.monoid.binaryop, changed=select.valuelt(c, 5)) << u.vxm(A, least)
    assert c.nvals == 0


def test_a_superstep_of_a_search_is_one_launch_and_one_of_sssp_two(emulated):
    """What costs time on a road: ARCHITECTURE.md, "On a GPU"."""
    size = 60
    rows = np.arange(size - 1)
    A = sg.Matrix.from_coo(rows, rows + 1, np.ones(size - 1, int), nrows=size, ncols=size)
    for algorithm, per_step, more in ((sg.algorithms.bfs, 1, 20), (sg.algorithms.bfs_parents, 1, 20),
                                      (lambda A, s: sg.algorithms.sssp(A, s, delta=1000), 2, 30)):
        algorithm(A, 0)
        launches, products = emulated.counters.launches, emulated.counters.products
        algorithm(A, 0)
        products = emulated.counters.products - products
        assert products >= size - 1
        assert emulated.counters.launches - launches <= per_step * products + more


@pytest.mark.parametrize(("limit", "value"), [("COUNT_MASK", 3), ("MOST_EDGES", 5)])
def test_what_no_packed_result_holds_is_pulled(limit, value, monkeypatch):
    """More entries than 30 bits, or edges than 34, would wrap: the same answers come from a pull."""
    from spgraph.engine import products_cuda, queues_cuda

    rows, cols = np.arange(9), np.arange(9)[::-1]
    A = sg.Matrix.from_coo(np.r_[rows, rows[:4]], np.r_[cols, rows[:4]], 1, nrows=9, ncols=9)
    u = sg.Vector.from_coo([0, 1, 2], [3, 1, 2], size=9)
    wanted = u.vxm(A, semiring.min_plus).new()
    w = sg.Vector.from_coo([0], [0], size=9)
    wanted_w, c, d = w.dup(), sg.Vector(int, 9), sg.Vector(int, 9)
    wanted_w(binary.min, changed=c) << u.vxm(A, semiring.min_plus)
    wanted_c = c.to_dict()
    monkeypatch.setattr(queues_cuda, limit, value)
    calls = []
    pull = products_cuda.CudaProduct.pull
    monkeypatch.setattr(products_cuda.CudaProduct, "pull", lambda self: calls.append(1) or pull(self))
    assert u.vxm(A, semiring.min_plus).new().isequal(wanted)
    w(binary.min, changed=d) << u.vxm(A, semiring.min_plus)
    assert w.isequal(wanted_w)
    assert d.to_dict() == wanted_c
    assert len(calls) == 2


@pytest.mark.parametrize("parts", [1, 3])
def test_statements_leave_no_plan_to_the_garbage_collector(parts):
    """What a plan holds, vectors of the size of the graph, is given back at once."""
    with sg.Context(in_parts(parts) if parts > 1 else sg.context.device()):
        v, w = sg.Vector.from_dense(np.arange(50.0)), sg.Vector.from_coo([3, 7], [1.0, 2.0], size=50)
        gc.collect()
        gc.disable()
        try:
            v << binary.plus(v.apply("abs") & v)
            v(binary.max) << binary.times(w.apply("abs") & v)
            total = binary.first(v & w).reduce("+").new().value
            left = [one for one in gc.get_objects() if type(one) is Plan]
        finally:
            gc.enable()
    assert total == 6.0 + max(14.0, 2 * 14.0)
    assert not left
