"""The specialiser: folding, inlining, the interpreted and the compiled tier, threads."""

import ast
import inspect
import random
import signal
import time
from itertools import pairwise

import numpy as np
import pytest

import spgraph as sg
from semirings import binary, unary
from spgraph.kernels.cpu import _specialise, _threads, pull, push, scatter
from spgraph.kernels.cpu.elementwise import AppliedNode, EwiseNode, LeafNode, chain_kernel

pytestmark = [pytest.mark.cpu("templates, Numba and threads"), pytest.mark.one_device("kernels know no parts")]


def total(values, out):
    if DOUBLED:  # noqa: F821
        factor = 2
    else:
        factor = 1
    for n in range(values.size):
        v = values[n]
        r = OP(v, n)  # noqa: F821
        out[n] = r
        if LIMITED and r == LIMIT:  # noqa: F821
            break
    return factor


def specialised(op, **consts):
    consts = {"DOUBLED": False, "LIMITED": False, "LIMIT": 0} | consts
    return _specialise.get_kernel(total, consts, {"OP": (op, ("x", "n"))})


def test_branches_on_constants_disappear():
    op = unary.ainv[np.int8].expr
    text = specialised(op, DOUBLED=True).text
    assert "factor = 2" in text
    assert "factor = 1" not in text
    assert "LIMIT" not in text
    assert "if" not in text.replace("np.", "")
    assert "LIMITED" not in text


def test_one_text_is_one_kernel():
    op = unary.ainv[np.int16].expr
    assert specialised(op) is specialised(op)
    assert specialised(op) is not specialised(op, DOUBLED=True)


def test_a_typed_constant_keeps_its_type():
    text = specialised(unary.identity[np.int8].expr, LIMITED=True, LIMIT=np.int8(-3)).text
    assert "np.int8(-3)" in text


def test_a_missing_constant_is_named():
    with pytest.raises(NameError, match=r"kernel total: LIMITED is not given"):
        _specialise.get_kernel(total, {"DOUBLED": True}, {"OP": (unary.ainv[np.int8].expr, ("x", "n"))})


def test_an_operand_that_the_placeholder_lacks_is_named():
    with pytest.raises(NameError, match=r"OP needs \['y'\]"):
        specialised(binary.plus[np.int8].expr)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.bool_])
def test_interpreted_and_compiled_agree(dtype):
    kernel = specialised(unary.ainv[dtype].expr)
    values = np.array([0, 1, 1, 0], dtype)
    slow, fast = np.empty(4, dtype), np.empty(4, dtype)
    before = _specialise.set_jit("never")
    try:
        assert kernel(4, values, slow) == 1
        _specialise.set_jit("always")
        assert kernel(4, values, fast) == 1
    finally:
        _specialise.set_jit(before)
    np.testing.assert_array_equal(slow, unary.ainv[dtype].numpy(values))
    np.testing.assert_array_equal(slow, fast)


@pytest.mark.compiled
@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:20], lambda content: b"x" * 300],
                         ids=["empty", "cut off", "garbage"])
@pytest.mark.parametrize("ending", ["py", "nbi", "nbc"])
def test_a_damaged_file_of_the_cache_is_made_again(monkeypatch, tmp_path, ending, damage):
    """As a power failure or a full disk leaves it."""
    monkeypatch.setattr(_specialise, "cache_dir", lambda: tmp_path)
    before = _specialise.set_jit("always")
    try:
        for again in (False, True):
            monkeypatch.setattr(_specialise, "_kernels", {})
            kernel = specialised(unary.ainv[np.int32].expr)
            found = np.empty(3, np.int32)
            kernel(3, np.arange(3, dtype=np.int32), found)
            assert found.tolist() == [0, -1, -2]
            files = list(tmp_path.rglob(f"*.{ending}"))
            assert len(files) == 1
            if again:
                assert files[0].stat().st_size > 20
            else:
                files[0].write_bytes(damage(files[0].read_bytes()))
    finally:
        _specialise.set_jit(before)


def test_little_work_is_interpreted_and_much_is_compiled(monkeypatch, tmp_path):
    compiled = []
    monkeypatch.setattr(_specialise, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(_specialise.Kernel, "compile", lambda self: compiled.append(self))
    before = _specialise.set_jit("auto")
    try:
        kernel = specialised(unary.ainv[np.int32].expr, DOUBLED=True)
        kernel(10, np.arange(3, dtype=np.int32), np.empty(3, np.int32))
        assert compiled == []
        assert kernel._limits == (_specialise.WORK_AT_ONCE, _specialise.WORK_IN_ALL)
        kernel.ready(_specialise.WORK_AT_ONCE + 1)
        assert compiled == [kernel]
        kernel._seen = _specialise.WORK_IN_ALL + 1
        kernel.ready(1)
        assert compiled == [kernel, kernel]
    finally:
        _specialise.set_jit(before)


def test_an_unknown_jit_mode_is_refused():
    with pytest.raises(ValueError, match="jit: got 'sometimes', wanted one of auto, always, never"):
        _specialise.set_jit("sometimes")


@pytest.mark.parametrize("module", [pull, push, scatter])
def test_templates_use_only_what_both_tiers_know(module):
    allowed = (
        ast.For,
        ast.If,
        ast.While,
        ast.Assign,
        ast.AugAssign,
        ast.Return,
        ast.Continue,
        ast.Break,
        ast.Expr,
    )
    for _, function in inspect.getmembers(module, inspect.isfunction):
        for node in ast.walk(ast.parse(inspect.getsource(function)).body[0]):
            if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
                assert isinstance(node, allowed), ast.unparse(node)


def test_a_chain_prints_one_loop_without_branches_when_all_is_full():
    x = LeafNode(0, np.dtype("f8"), "f", False)
    y = LeafNode(1, np.dtype("f8"), "f", True)
    tree = AppliedNode(unary.abs[float].expr, EwiseNode("add", binary.minus[float].expr, x, y, None))
    consts = {
        "MASKED": False,
        "REPLACE": False,
        "ACCUM": False,
        "FRESH": True,
        "C_FULL": True,
        "GLOBAL": False,
        "M_FULL": False,
        "VALUED": False,
        "COMPLEMENT": False,
    }
    kernel = chain_kernel("write", tree, 2, np.float64, consts, {})
    body = ast.parse(kernel.text).body[0]
    tests = [ast.unparse(node.test) for node in ast.walk(body) if isinstance(node, ast.If)]
    assert tests in ([], ["allowed"])
    out, nothing = np.empty(3), np.empty(0, np.uint8)
    count = kernel(
        3,
        0,
        3,
        np.empty(0, np.int64),
        nothing,
        nothing,
        nothing,
        out,
        nothing,
        np.array([1.0, 2.0, 3.0]),
        nothing,
        np.array([2.0]),
    )
    assert count == 3
    assert out.tolist() == [1.0, 0.0, 1.0]


def test_ranges_cover_all_rows_once():
    indptr = np.concatenate([[0], np.cumsum([100_000, 0, 0, 5, 7] * 20)])
    before = _threads.set_threads(3)
    try:
        bounds = _threads.split_rows(indptr, int(indptr[-1]))
        even = _threads.split_even(1000, 10**9)
    finally:
        _threads.set_threads(before)
    for cuts, count in ((bounds, 100), (even, 1000)):
        assert cuts[0][0] == 0
        assert cuts[-1][1] == count
        assert all(a[1] == b[0] for a, b in pairwise(cuts))
    assert len(bounds) > 3


def test_parallel_for_returns_results_in_order_and_raises():
    class Ranges:
        def ready(self, work):
            return True

        def __init__(self, fn):
            self.fn = fn

    before = _threads.set_threads(4)
    try:
        bounds = [(k, k + 1) for k in range(50)]
        assert _threads.parallel_for(Ranges(lambda lo, hi, a: lo + a), bounds, 1, (5,)) == list(range(5, 55))
        with pytest.raises(ZeroDivisionError):
            _threads.parallel_for(Ranges(lambda lo, hi, a: lo // a), bounds, 1, (0,))
    finally:
        _threads.set_threads(before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_an_interrupt_leaves_the_threads_usable(monkeypatch):
    """At whatever moment it comes: the next call has its answer, and no thread goes on with the last one."""
    monkeypatch.setattr(_threads, "PARALLEL_WORK", 1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    rng = random.Random(7)
    interrupts = 0
    try:
        with sg.Context("cpu", threads=3):
            A = sg.generators.rmat(10, seed=1)
            want = sg.algorithms.triangle_count(A, method="burkhardt", symmetrize=True)
            start = time.perf_counter()
            sg.algorithms.triangle_count(A, method="burkhardt", symmetrize=True)
            length = time.perf_counter() - start
            for _ in range(60):
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.random() * length + 1e-5)
                    sg.algorithms.triangle_count(A, method="burkhardt", symmetrize=True)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupts += 1
                assert sg.algorithms.triangle_count(A, method="burkhardt", symmetrize=True) == want
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupts


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_kernel_that_raises_in_every_thread(count):
    """All threads come back, and serve again."""
    def kernel(k):
        time.sleep(0.01)
        raise MemoryError(f"no room for {k}")

    with sg.Context("cpu", threads=count):
        for _ in range(3):
            with pytest.raises(MemoryError, match="no room for"):
                _threads._spread(kernel, [(k,) for k in range(8)])
        assert _threads._spread(abs, [(-k,) for k in range(8)]) == list(range(8))
