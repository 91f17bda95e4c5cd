"""Ctrl-C leaves objects as some superstep made them, and nothing is recorded afterwards."""

import signal
import sys
import threading

import numpy as np
import pytest
from devices import spread

import spgraph as sg
from spgraph import _interrupts, _recording, binary, semiring
from spgraph.algorithms.bfs import any_next
from spgraph.block import VectorBlock
from spgraph.engine import scatters
from spgraph.engine.products_cpu import CpuProduct
from spgraph.exchange import group_of
from spgraph.kernels.cpu import _specialise


@pytest.fixture(autouse=True)
def _as_python_has_it():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def interrupting(real, calls):
    """The function, before which an interrupt comes the third time."""

    def interrupted(*args, **more):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(*args, **more)

    return interrupted


@pytest.mark.parametrize("devices", ["cpu", "cpu:3"])
@pytest.mark.parametrize("kind", ["search", "relaxation"])
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_step_of_a_product_is_done_whole(monkeypatch, devices, kind, direction):
    calls = []
    with sg.Context(devices, direction=direction):
        A = sg.generators.grid(9)
        w = sg.Vector.from_coo([0], [0], size=A.nrows)
        near = w.dup()

        def step(w, near):
            if kind == "search":
                w(~w.S, changed=near) << near.vxm(A, any_next)
            else:
                w(binary.min, changed=near) << near.vxm(A, semiring.min_plus)

        def steps(w, near):
            while near.nvals:
                step(w, near)

        wanted = w.dup()
        steps(wanted, near.dup())
        if direction == "push":
            monkeypatch.setattr(scatters, "found", interrupting(scatters.found, calls))  # C is written, not its books
        else:
            monkeypatch.setattr(CpuProduct, "changed_value", interrupting(CpuProduct.changed_value, calls))
        with pytest.raises(KeyboardInterrupt):
            steps(w, near)
        assert len(calls) == 3
        assert 1 < w.nvals == len(w.to_dict()) < A.nrows
        assert near.nvals and near.isequal(w.dup(mask=near.S))
        steps(w, near)
        assert w.isequal(wanted)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", ["search", "relaxation"])
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("when", [2, 3, 4, 5])
def test_a_step_of_gpus_has_its_books_done(cuda, monkeypatch, count, kind, direction, when):
    """Between a kernel that writes into C and the note that it does."""
    calls, real = [], VectorBlock.set_bitmap_later

    def interrupted(*args, **more):
        calls.append(1)
        if len(calls) == when:
            signal.raise_signal(signal.SIGINT)
        return real(*args, **more)

    with sg.Context(cuda if count == 1 else group_of(tuple(spread(cuda, 2))), direction=direction):
        A = sg.generators.grid(6)
        w = sg.Vector.from_coo([0], [0], size=A.nrows)
        near = w.dup()

        def steps(w, near):
            while near.nvals:
                if kind == "search":
                    w(~w.S, changed=near) << near.vxm(A, any_next)
                else:
                    w(binary.min, changed=near) << near.vxm(A, semiring.min_plus)

        wanted = w.dup()
        steps(wanted, near.dup())
        monkeypatch.setattr(VectorBlock, "set_bitmap_later", interrupted)
        with pytest.raises(KeyboardInterrupt):
            steps(w, near)
        assert 0 < w.nvals == len(w.to_dict()) < A.nrows
        assert near.nvals and near.isequal(w.dup(mask=near.S))
        steps(w, near)
        assert w.isequal(wanted)


@pytest.mark.compiled
def test_a_kernel_is_loaded_whole(monkeypatch, tmp_path):
    """Numba, which is imported then, cannot be imported again after half an import."""
    real = _specialise._import

    def interrupted(path):
        signal.raise_signal(signal.SIGINT)
        return real(path)

    monkeypatch.setattr(_specialise, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(_specialise, "_import", interrupted)
    kernel = _specialise.Kernel("twice", "def twice(x):\n    return 2 * x\n")
    with sg.Context(jit="always"), pytest.raises(KeyboardInterrupt):
        kernel(1, 3)
    assert kernel.fn is not None
    assert kernel(1, 3) == 6


def recorded(v):
    with sg.loop() as loop:
        v << v.apply(binary.plus, right=1)
        loop.until(loop.count == 2)


def test_a_block_that_is_interrupted_anywhere_records_no_longer():
    """At each line of what begins and ends it."""
    files = ("loops.py", "_recording.py", "_interrupts.py")
    heard = 0
    for line in range(1, 80):
        v, seen = sg.Vector.from_dense(np.arange(3)), []

        def tracer(frame, event, arg, seen=seen, line=line):
            if frame.f_code.co_filename.rpartition("/")[2] not in files and frame.f_code is not recorded.__code__:
                return None
            seen.append(1)
            if len(seen) == line:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            return tracer

        try:
            sys.settrace(tracer)
            recorded(v)
        except KeyboardInterrupt:
            heard += 1
        finally:
            sys.settrace(None)
        assert _recording.recorder() is None and not _recording.recorders
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        v << 7
        assert v.to_dense().tolist() == [7, 7, 7]
    assert heard > 20


def test_the_second_interrupt_is_raised_at_once():
    reached = []

    def twice():
        with _interrupts.held():
            for number in range(2):
                signal.raise_signal(signal.SIGINT)
                reached.append(number)

    with pytest.raises(KeyboardInterrupt):
        twice()
    assert reached == [0]


def test_holds_are_nested():
    reached = []

    def nested():
        with _interrupts.held():
            with _interrupts.held():
                signal.raise_signal(signal.SIGINT)
            reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        nested()
    assert reached == [1]
    with _interrupts.held():
        pass


def test_what_waits_is_not_raised_in_another_thread():
    """As where that thread looks whether a GPU's loop has ended."""
    raised = []

    def look():
        try:
            _interrupts.raise_noted()
        except KeyboardInterrupt:
            raised.append(1)

    def hold_and_look():
        with _interrupts.held():
            signal.raise_signal(signal.SIGINT)
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            look()

    with pytest.raises(KeyboardInterrupt):
        hold_and_look()
    assert raised == [1]  # by the last look


def test_other_handlers_and_threads_are_left_alone():
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    assert not _interrupts.hold()
    signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = []
    thread = threading.Thread(target=lambda: found.append(_interrupts.hold()))
    thread.start()
    thread.join()
    assert found == [False]


def test_a_block_that_another_thread_leaves():
    """As a generator does that is closed there: the next interrupt is raised as ever."""

    def blocks():
        with sg.loop() as loop:
            loop.until(loop.count == 1)
            yield

    generator = blocks()
    next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("where", ["_write_all", "_drive"])
@pytest.mark.parametrize("kind", ["search", "relaxation"])
def test_loops_of_a_gpu_end_whole(cuda, monkeypatch, kind, where):
    """An interrupt when the loop has ended, and when the host looks for its end."""
    from spgraph.engine import loops_cuda

    real, calls = getattr(loops_cuda.Loop, where), []

    def interrupted(loop, *args):
        if not calls:
            calls.append(1)
            signal.raise_signal(signal.SIGINT)
        return real(loop, *args)

    with sg.Context(cuda):
        A = sg.generators.grid(30)
        w = sg.Vector.from_coo([0], [0], size=A.nrows)
        near, wanted = w.dup(), w.dup()

        def run(w, near):
            with sg.loop() as loop:
                if kind == "search":
                    w(~w.S, changed=near) << near.vxm(A, any_next)
                else:
                    w(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
                loop.until(near.nvals == 0)

        run(wanted, near.dup())
        monkeypatch.setattr(loops_cuda.Loop, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(w, near)
        monkeypatch.undo()
        assert w.nvals == len(w.to_dict())
        assert near.isequal(w.dup(mask=near.S))
        if near.nvals:
            run(w, near)
        assert w.isequal(wanted)
