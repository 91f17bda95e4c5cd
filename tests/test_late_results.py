"""Results that a GPU still computes when the next statement runs: read late, by threads, after operands changed."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import spgraph as sg
from spgraph import binary, monoid, select, semiring

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
