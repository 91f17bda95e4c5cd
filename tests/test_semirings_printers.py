"""One meaning, five ways: NumPy, the expression, its Python text run and compiled, its CUDA text compiled.

Every built-in operator, every type, at the ends of the types.
"""

from __future__ import annotations

import shutil
from collections import defaultdict

import numpy as np
import pytest
from semirings_values import (
    FUNCTION_KINDS,
    HostCuda,
    compiled,
    cuda_source,
    interpreted,
    operands,
    same,
    typed,
)

from semirings import binary, expr, unary
from semirings.dtypes import BOOL, FP32, FP64, INT8, INT64, UINT64
from semirings.trace import trace

OPERATORS = typed(*FUNCTION_KINDS)
ULPS = 4  # of the functions of different mathematical libraries
NEAR_ZERO = {"ss.lgamma": 1e-15}  # where the function crosses 0, units in the last place mean little


def disagreement(op, got, want, arrays, ulps=ULPS):
    assert got.dtype == want.dtype
    right = same(got, want, ulps=ulps)
    if op.name in NEAR_ZERO:
        right |= np.isclose(got, want, rtol=0, atol=NEAR_ZERO[op.name])
    wrong = np.flatnonzero(~right)[:3]
    return [(repr(op), [a[k] for a in arrays], got[k], want[k]) for k in wrong]


def by_inputs(ops):
    groups = defaultdict(list)
    for op in ops:
        groups[op.inputs, op.type.name, op.type2.name].append(op)
    return list(groups.values())


@pytest.fixture(scope="module")
def reference():
    return {op.key: op.numpy(*operands(op)) for op in OPERATORS}


def test_expression_is_the_function(reference):
    wrong = []
    for op in OPERATORS:
        arrays = operands(op)
        got = expr.evaluate(op.expr, dict(zip(op.inputs, arrays)))
        got = np.broadcast_to(got, arrays[0].shape)
        wrong += disagreement(op, got, reference[op.key], arrays, ulps=0)
    assert not wrong


def test_python_text_interpreted(reference):
    wrong = []
    for op in OPERATORS:
        arrays = operands(op)
        step = max(1, len(arrays[0]) // 40)
        arrays = [a[::step] for a in arrays]
        wrong += disagreement(op, interpreted(op, arrays), reference[op.key][::step], arrays)
    assert not wrong


# one integer type of each kind and size that Numba treats in its own way; positions once
COMPILED_TYPES = (BOOL, INT8, INT64, UINT64, FP32, FP64)
COMPILED = [
    op
    for op in OPERATORS
    if op.type in COMPILED_TYPES and op.kind != "select" and (not op.positional or op.type == INT64)
]


@pytest.mark.parametrize("ops", by_inputs(COMPILED), ids=lambda ops: f"{ops[0].kind}-{ops[0].type}-{len(ops)}")
def test_python_text_compiled_by_numba(ops, reference):
    arrays = operands(ops[0])
    wrong = []
    for op, got in zip(ops, compiled(ops, arrays)):
        wrong += disagreement(op, got, reference[op.key], arrays)
    assert not wrong


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ runs the CUDA text here")
def test_cuda_text_compiled_for_the_host(reference, tmp_path):
    """Undefined behaviour (signed overflow, wide shifts) ends the process: UBSan is on."""
    library = HostCuda(OPERATORS, tmp_path)
    wrong = []
    for k, op in enumerate(OPERATORS):
        arrays = operands(op)
        wrong += disagreement(op, library.run(k, op, arrays), reference[op.key], arrays)
    assert not wrong


def each_with_another_type():
    """Every operator once, with the types taken in turn; all types of all would take a minute."""
    typed_ops = defaultdict(list)
    for op in OPERATORS:
        if op.kind != "select":
            typed_ops[op.parent].append(op)
    return [ops[k % len(ops)] for k, ops in enumerate(typed_ops.values())]


def test_cuda_text_compiles_for_sm_90():
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings and nvidia-cuda-nvrtc compile here")
    text = cuda_source(each_with_another_type(), 'extern "C" __global__').encode()
    error, program = nvrtc.nvrtcCreateProgram(text, b"ops.cu", 0, [], [])
    assert error == 0
    options = [b"-arch=sm_90", b"-std=c++17"]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if error != 0:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        pytest.fail(log.decode()[:4000])
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    assert size > 1000


# --- the texts ---


def texts(func, **types):
    tree = trace(func, types)
    return expr.to_python(tree, "z"), expr.to_cuda(tree, "z")


def test_results_have_their_type():
    python, cuda = texts(lambda x, y: x + y, x="i1", y="i1")
    assert python == ["z = np.int8(x + y)"]
    assert cuda == ["z = (int8_t)((uint32_t)x + (uint32_t)y);"]


def test_shared_subtrees_become_variables():
    python, cuda = texts(lambda x: (x + 1) * (x + 1), x="f8")
    assert python == ["t_0 = np.float64(x + np.float64(1.0))", "z = np.float64(t_0 * t_0)"]
    assert cuda == ["const double t_0 = (double)(x + 1.0);", "z = (double)(t_0 * t_0);"]


def test_where_is_a_conditional_expression():
    python, cuda = texts(lambda x: np.where(x > 0, 1 / x, 0), x="f8")
    assert python == ["z = (np.float64(np.true_divide(np.float64(1.0), x)) if np.bool_(x > np.float64(0.0)) "
                      "else np.float64(0.0))"]  # fmt: skip
    assert cuda == ["z = ((bool)(x > 0.0) ? (double)(1.0 / x) : 0.0);"]


def test_rename_and_prefix():
    tree = trace(lambda x, y: (x - y) * (x - y), {"x": "i8", "y": "i8"})
    lines = expr.to_python(tree, "acc", {"x": "a", "y": "b"}, prefix="u")
    assert lines == ["u0 = np.int64(a - b)", "acc = np.int64(u0 * u0)"]


def test_indices_may_have_any_integer_type():
    tree = binary.ss.firsti["INT64"].expr
    assert expr.to_python(tree, "z", {"ix": "row"}) == ["z = np.int64(row)"]
    assert expr.to_cuda(tree, "z", {"ix": "row"}) == ["z = (int64_t)row;"]


@pytest.mark.parametrize(
    ("value", "python", "cuda"),
    [
        (np.float64(np.nan), "np.float64(np.nan)", "SR_NAN"),
        (np.float32(-np.inf), "np.float32(-np.inf)", "(-((float)SR_INF))"),
        (np.float64(-0.0), "np.float64(-0.0)", "(-0.0)"),
        (np.int64(-(2**63)), "np.int64(-9223372036854775808)", "((int64_t)(-9223372036854775807LL - 1))"),
        (np.uint64(2**64 - 1), "np.uint64(18446744073709551615)", "((uint64_t)18446744073709551615ULL)"),
        (np.bool_(True), "np.bool_(True)", "true"),
    ],
)
def test_constants(value, python, cuda):
    constant = expr.Const(value, value.dtype)
    assert expr.to_python(constant, "z") == [f"z = {python}"]
    assert expr.to_cuda(constant, "z") == [f"z = {cuda};"]


def test_prelude_names_are_the_functions_of_the_prelude():
    scope = {"np": np, "math": __import__("math")}
    exec(expr.PYTHON_PRELUDE, scope)
    assert set(expr.PRELUDE_NAMES) == {n for n in scope if n.startswith("sr_")}
    assert "import" not in expr.PYTHON_PRELUDE


# --- conversions ---


CAST_TYPES = (BOOL, INT8, INT64, UINT64, FP32, FP64)


@pytest.mark.parametrize("source", CAST_TYPES, ids=repr)
def test_casts(source):
    """Floats saturate, NaN is 0, integers wrap, booleans are != 0; the same in every text."""
    ops = [unary.register_anonymous(lambda x, t=t: x.astype(t.np_type))[source] for t in CAST_TYPES]
    arrays = operands(ops[0])
    for target, op, got in zip(CAST_TYPES, ops, compiled(ops, arrays)):
        want = expr.cast_array(arrays[0], target.np_type)
        assert got.dtype == want.dtype
        assert (same(got, want)).all(), (source, target)
        assert (same(interpreted(op, arrays), want)).all(), (source, target)


def test_float_to_integer_saturates():
    cast = expr.cast_array
    assert cast([np.nan, 1e30, -1e30, 2.9, -2.9], np.int64).tolist() == [0, 2**63 - 1, -(2**63), 2, -2]
    assert cast([np.nan, 1e30, -5.0, 255.5], np.uint8).tolist() == [0, 255, 0, 255]
    assert cast(np.float32([2**31, 3e9]), np.int32).tolist() == [2**31 - 1] * 2
    assert cast([0.0, -0.0, 0.1, np.nan], np.bool_).tolist() == [False, False, True, True]
    assert cast(np.array([-1, 300]), np.uint8).tolist() == [255, 44]
