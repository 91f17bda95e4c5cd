"""Tracing: which types come out, what is refused, and what the message says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semirings import binary, functions, monoid, unary
from semirings.exceptions import DomainMismatch, UdfParseError
from semirings.expr import evaluate
from semirings.trace import trace

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
X = np.array([0, 1, 2, 3, 5, 100])
Y = np.array([1, 3, 2, 0, 5, 90])

FUNCTIONS = {
    "python operators": lambda x, y: (x + y) * 2 - x,
    "reversed operators": lambda x, y: 2 + (3 * x),
    "comparison": lambda x, y: (x < y) | (x == y),
    "out of range": lambda x, y: (x < 1000) & (y < 300),
    "where": lambda x, y: np.where(x > y, x, y),
    "where with numbers": lambda x, y: np.where(x > y, 1, 0),
    "nested where": lambda x, y: np.where(x > 2, np.where(y > 2, x, y), 7),
    "clip": lambda x, y: np.clip(x, 1, 50),
    "clip one side": lambda x, y: np.clip(x, None, 50),
    "select": lambda x, y: np.select([x < 2, x < 4], [x, y], 9),
    "minimum": lambda x, y: np.minimum(x + y, 100),
    "divide": lambda x, y: x / (y + 1),
    "floor_divide": lambda x, y: x // (y + 1),
    "remainder": lambda x, y: x % (y + 1),
    "divmod": lambda x, y: divmod(x, y + 1)[1],
    "power": lambda x, y: x**2,
    "sqrt": lambda x, y: np.sqrt(x),
    "abs": lambda x, y: abs(x),
    "round": lambda x, y: np.round(x / 3 + y),
    "modf": lambda x, y: np.modf(x / 3)[0],
    "frexp": lambda x, y: np.frexp(x * 1.0)[1],
    "heaviside": lambda x, y: np.heaviside(x * 1.0, 0.5),
    "astype": lambda x, y: x.astype(np.float32) + y.astype(np.float32),
    "numpy scalars": lambda x, y: x * np.float32(0.5),
    "constants": lambda x, y: np.full_like(x, 3) + np.zeros_like(y),
    "isclose": lambda x, y: np.isclose(x * 1.0, y * 1.0),
    "nan_to_num": lambda x, y: np.nan_to_num(np.log(x * 1.0)),
    "logical": lambda x, y: np.logical_and(x, y) ^ np.logical_not(x),
    "sign": lambda x, y: np.sign(x * 1.0),
    "looks at the dtype": lambda x, y: x ^ y if x.dtype.kind == "b" else x - y,
    "erf": lambda x, y: functions.erf(x * 1.0),
    "first": lambda x, y: x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_types_and_values_are_numpys(name, dtype):
    func = FUNCTIONS[name]
    x, y = X.astype(dtype), Y.astype(dtype)
    try:
        with np.errstate(all="ignore"):
            want = np.asarray(func(x, y))
    except TypeError:
        with pytest.raises(DomainMismatch):
            trace(func, {"x": dtype, "y": dtype})
        return
    tree = trace(func, {"x": dtype, "y": dtype})
    got = evaluate(tree, {"x": x, "y": y})
    if want.dtype == np.float16:  # float32 is used instead
        assert tree.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-2)
    else:
        assert tree.dtype == want.dtype
        np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=1e-6)


def test_float16_becomes_float32():
    assert trace(np.sqrt, {"x": "i1"}).dtype == np.float32


def test_uint64_with_int64_never_becomes_float64():
    with pytest.raises(DomainMismatch, match=r"int64 and uint64 would be computed in float64.*\.astype"):
        trace(lambda x, i: x + i, {"x": "u8", "i": "i8"})
    with pytest.raises(DomainMismatch, match="float64"):
        trace(lambda x, i: np.where(x > 0, x, i), {"x": "u8", "i": "i8"})


def test_uint64_compares_with_int64_exactly():
    x = np.array([2**63, 2**63 + 1, 5, 0], "u8")
    y = np.array([2**63 - 1, -1, 5, -1], "i8")
    for compare in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        for a, b in ((x, y), (y, x)):
            tree = trace(compare, {"x": a.dtype, "y": b.dtype})
            assert (evaluate(tree, {"x": a, "y": b}) == compare(a, b)).all()


def test_a_number_that_does_not_fit():
    with pytest.raises(DomainMismatch, match="1000 does not fit in int8"):
        trace(lambda x: np.minimum(x, 1000), {"x": "i1"})
    op = unary.register_anonymous(lambda x: np.minimum(x, 1000))
    assert "INT8" not in op
    assert "INT16" in op
    with pytest.raises(DomainMismatch, match=r"does not work with INT8 \(the number 1000 does not fit"):
        op["INT8"]


def test_operators_within_functions():
    tree = trace(lambda x, y: binary.min(binary.plus(x, y), 100), {"x": "i1", "y": "i1"})
    assert repr(tree) == "fmin(add(x, y), 100)"
    assert repr(trace(lambda x: unary.abs(monoid.max(x, 3)), {"x": "f8"})) == "absolute(fmax(x, 3.0))"


def test_constants():
    assert trace(lambda x: 1, {"x": "i1"}).dtype == np.int8
    assert trace(lambda x: 1, {"x": "f4"}).dtype == np.float32
    assert trace(lambda x: 1.5, {"x": "i8"}).dtype == np.float64
    assert trace(lambda x: True, {"x": "i8"}).dtype == np.bool_
    assert trace(lambda x: np.int16(1), {"x": "i8"}).dtype == np.int16


def branches(x, y):
    if x > y:
        return x
    return y


def uses_math(x, y):
    z = x + y
    return math.sqrt(z)


def returns_nothing(x, y):
    np.add(x, y)


def fails(x, y):
    return x + undefined_name  # noqa: F821


CANNOT = {
    # function: what the message has
    branches: ["function 'branches'", "if x > y:", "whether a value is true", "np.where(condition, a, b)"],
    uses_math: ["return math.sqrt(z)", "module math", "np.sqrt instead of math.sqrt"],
    returns_nothing: ["it returns nothing", "`return`"],
    fails: ["return x + undefined_name", "NameError"],
    (lambda x, y: x if x > y else y): ["a lambda", "x if x > y else y", "np.where"],
    (lambda x, y: min(x, y)): ["min(x, y)", "np.minimum"],
    (lambda x, y: x and y): ["x and y", "&"],
    (lambda x, y: not x): ["not x", "~"],
    (lambda x, y: 0 < x < y): ["0 < x < y", "chained comparison"],
    (lambda x, y: float(x)): ["float()", "x.astype(np.float64)"],
    (lambda x, y: int(x)): ["int()", "x.astype(np.int64)"],
    (lambda x, y: complex(x)): ["complex"],
    (lambda x, y: math.gcd(x, y)): ["module math"],
    (lambda x, y: [1, 2, 3][x]): ["as an index", "np.select"],
    (lambda x, y: {1: 2}[x]): ["hashing"],
    (lambda x, y: np.array([1, 2])[x]): ["array"],
    (lambda x, y: sum(x)): ["iterating"],
    (lambda x, y: x[0]): ["indexing"],
    (lambda x, y: len(x)): ["len()"],
    (lambda x, y: x.sum()): [".sum", ".astype"],
    (lambda x, y: np.sum(x)): ["np.sum cannot be traced", "np.where"],
    (lambda x, y: np.linalg.norm(x)): ["np.linalg.norm"],
    (lambda x, y: np.add.reduce(x)): ["np.add.reduce", "monoid"],
    (lambda x, y: np.add(x, y, where=x > 0)): ["where=", "np.where"],
    (lambda x, y: np.add(x, [1, 2])): ["[1, 2]", "list"],
    (lambda x, y: np.add(x, np.ones(3))): ["shape (3,)"],
    (lambda x, y: np.where(x > 0)): ["one argument", "np.where(condition, a, b)"],
    (lambda x, y: np.round(x, 2)): ["2 decimals"],
    (lambda x, y: np.matmul(x, y)): ["np.matmul"],
    (lambda x, y: np.bitwise_count(x)): ["np.bitwise_count cannot be traced", "np.where"],
    (lambda x, y: [x, y]): ["returns a list"],
    (lambda x: x): ["2 symbolic values", "(x, y)"],
    (lambda x, y: binary.firsti(x, y)): ["binary.ss.firsti"],
}


@pytest.mark.parametrize("func", CANNOT, ids=lambda f: CANNOT[f][0])
def test_what_cannot_be_traced(func):
    with pytest.raises(UdfParseError) as caught:
        binary.register_anonymous(func)
    message = str(caught.value)
    assert "cannot be traced" in message
    assert "The way out: " in message
    assert __file__ in message
    for part in CANNOT[func]:
        assert part in message, message


def test_function_that_works_with_no_type():
    with pytest.raises(UdfParseError, match="works with no type"):
        unary.register_anonymous(lambda x: x.astype(np.float64) & 1)


def test_nothing_is_registered_when_tracing_fails():
    with pytest.raises(UdfParseError):
        binary.register_new("test_trace.failed", branches)
    assert not hasattr(binary, "test_trace")
