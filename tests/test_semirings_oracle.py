"""The operators against python-graphblas: names, types, and values at the ends of the types.

What is otherwise on purpose stands in `OTHERWISE`, each with its reason.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
from semirings_values import extremes, same

from semirings import _registry, _semiring_table, agg, binary, dtypes, indexunary, monoid, semiring, unary

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import graphblas as gb

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

KINDS = ("unary", "binary", "indexunary", "select", "monoid", "semiring")
REAL = {dt.name for dt in dtypes.ALL}
COMPLEX_ONLY = {"carg", "cimag", "conj", "creal", "cmplx", "numpy.conj", "numpy.conjugate"}
# python-graphblas compiles these with Numba when first used, 1 to 5 seconds each
USER_DEFINED = {"absfirst", "abssecond", "floordiv", "rfloordiv", "rpow", "isclose"}


NOT_OPERATORS = {"ss", "numpy", "conj", "conjugate", "register_new", "get_semiring"}
# combinations of NumPy's monoids and products that work with no type, there neither
NO_TYPE = {f"{monoid}_{binary}" for monoid, refused in _semiring_table.REFUSED.items() for binary in refused}


def theirs(kind):
    """Dotted name and operator of what python-graphblas has, without what Numba would compile."""
    module = getattr(gb, kind)
    for prefix, namespace in (("", module), ("ss.", module.ss)):
        for name in sorted(dir(namespace)):
            if name in getattr(namespace, "_deprecated", ()) or name in getattr(namespace, "_delayed", ()):
                continue
            op = getattr(namespace, name)
            if hasattr(op, "types") and prefix + name not in COMPLEX_ONLY:
                yield prefix + name, op


def real_types(op):
    return {a.name: b.name for a, b in op.types.items() if a.name in REAL}


@pytest.mark.parametrize("kind", [*KINDS, "agg", "op"])
def test_every_name_is_there(kind):
    ours = importlib.import_module(f"semirings.{kind}")
    for sub in ("", ".ss", ".numpy"):
        try:
            module = importlib.import_module(f"graphblas.{kind}{sub}")
        except ModuleNotFoundError:
            continue
        wanted = {n for n in dir(module) if n[0] != "_"} - COMPLEX_ONLY - NOT_OPERATORS
        there = {*dir(getattr(ours, sub[1:]) if sub and hasattr(ours, sub[1:]) else ours)}
        assert wanted - there - (NO_TYPE if sub == ".numpy" else set()) == set(), (kind, sub)


@pytest.mark.parametrize("kind", KINDS)
def test_types(kind):
    """Ours work with the same types (and some more) and give the same types."""
    for name, op in theirs(kind):
        ours = {a.name: b.name for a, b in _registry.find(kind, name).types.items()}
        assert real_types(op).items() <= ours.items(), (kind, name)


RESULTS = {
    # by NumPy's names, which python-graphblas compiles: recorded from 2025.2.0
    "unary": {
        "deg2rad degrees fabs rad2deg radians spacing": "FLOAT",
        "reciprocal sign square": "INT8 FOR BOOL",
        "signbit": "BOOL",
    },
    "binary": {
        "hypot logaddexp logaddexp2 nextafter": "FLOAT",
        "maximum minimum": "SAME",
        "float_power": "DIVISION",
        "floor_divide fmod mod remainder gcd lcm left_shift right_shift": "INT8 FOR BOOL",
    },
}


def expected_result(rule, dtype):
    small = dtype.np_type.itemsize <= 2 and dtype not in dtypes.FLOATS
    return {
        "SAME": dtype,
        "BOOL": dtypes.BOOL,
        "INT8 FOR BOOL": dtypes.INT8 if dtype == dtypes.BOOL else dtype,
        "FLOAT": dtype if dtype in dtypes.FLOATS else dtypes.FP32 if small else dtypes.FP64,
        "DIVISION": dtype if dtype == dtypes.FP32 else dtypes.FP64,
    }[rule]


@pytest.mark.parametrize("kind", RESULTS)
def test_types_by_numpy_names(kind):
    for names, rule in RESULTS[kind].items():
        for name in names.split():
            op = getattr({"unary": unary, "binary": binary}[kind].numpy, name)
            for dtype, result in op.types.items():
                assert result == expected_result(rule, dtype), (name, dtype)


# --- values ---

OTHERWISE = {
    "ldexp": lambda x, y: np.abs(y.astype("f8")) >= 2**31,  # C converts such an exponent to any int
    "ss.lgamma": lambda x: np.abs(x - 2) < 5,  # the last digits near its zeros
}


def agree(op, gb_op, got, want, arrays):
    assert got.dtype.name == op.return_type.name
    right = same(got.to_dense(), want, ulps=8)
    if op.name in OTHERWISE:
        right |= OTHERWISE[op.name](*arrays)
    wrong = np.flatnonzero(~right)[:3]
    assert not len(wrong), (gb_op, [a[wrong] for a in arrays], got.to_dense()[wrong], want[wrong])


@pytest.mark.parametrize("name", [n for n, op in theirs("unary") if not op.is_positional])
def test_unary(name):
    op, gb_op = _registry.find("unary", name), dict(theirs("unary"))[name]
    for dtype in real_types(gb_op):
        x = extremes(getattr(dtypes, dtype).np_type)
        got = gb.Vector.from_dense(x).apply(gb_op[dtype]).new()
        agree(op[dtype], gb_op[dtype], got, op[dtype].numpy(x), (x,))


@pytest.mark.parametrize("name", [n for n, op in theirs("binary") if not op.is_positional])
def test_binary(name):
    op, gb_op = _registry.find("binary", name), dict(theirs("binary"))[name]
    for dtype in real_types(gb_op):
        values = extremes(getattr(dtypes, dtype).np_type)
        x, y = (a.ravel() for a in np.meshgrid(values, values))
        got = gb.Vector.from_dense(x).ewise_mult(gb.Vector.from_dense(y), gb_op[dtype]).new()
        agree(op[dtype], gb_op[dtype], got, op[dtype].numpy(x, y), (x, y))


def grid(dtype):
    return np.resize(extremes(dtype)[::-1], (5, 7)).astype(dtype)


def indices(shape):
    return (a.ravel() for a in np.indices(shape))


@pytest.mark.parametrize("name", [n for n, _ in theirs("indexunary")])
@pytest.mark.parametrize("dtype", ["BOOL", "INT8", "INT32", "INT64", "FP64"])
def test_indexunary(name, dtype):
    op, gb_op = _registry.find("indexunary", name), dict(theirs("indexunary"))[name]
    A = grid(getattr(dtypes, dtype).np_type)
    if name == "diagindex" and dtype not in ("INT32", "INT64"):  # python-graphblas has it for these only
        return
    for thunk in (-1, 0, 2):
        if op.is_positional:
            scalar = gb.Scalar.from_value(thunk, "INT32" if dtype == "INT32" else "INT64")
            typed = op.resolve(dtype, scalar.dtype.name)
        else:
            scalar = gb.Scalar.from_value(A[2, thunk], dtype)
            typed = op[dtype]
        got = gb.Matrix.from_dense(A).apply(gb_op, scalar).new()
        i, j = indices(A.shape)
        want = typed.numpy(A.ravel(), i, j, np.full(A.size, scalar.value))
        assert got.dtype.name == typed.return_type.name
        assert same(got.to_dense().ravel(), want).all(), (name, dtype, thunk)


def products(s, A, B):
    """Every A(i,k)*B(k,j), as an array of that shape."""
    n = len(A)
    i, k, j = (a.ravel() for a in np.indices((n, n, n)))
    arrays = [A[i, k], B[k, j], i, k, k, j][: len(s.binaryop.inputs)]
    return s.binaryop.numpy(*arrays).reshape(n, n, n)


SEMIRINGS = [n for n, op in theirs("semiring") if n.rpartition("_")[2] not in USER_DEFINED]


@pytest.mark.parametrize("dtype", ["BOOL", "INT8", "UINT64", "FP64"])
def test_semirings(dtype):
    """Small dense products; every semiring, positional ones too."""
    np_type = getattr(dtypes, dtype).np_type
    rng = np.random.default_rng(1)
    A, B = (rng.integers(0, 5, (4, 4)).astype(np_type) for _ in range(2))
    a, b = gb.Matrix.from_dense(A), gb.Matrix.from_dense(B)
    for name in SEMIRINGS:
        gb_op = _gb_semiring(name)
        if dtype not in real_types(gb_op):
            continue
        s = _registry.find("semiring", name)[dtype]
        got = a.mxm(b, gb_op[dtype]).new()
        assert got.dtype.name == s.return_type.name, name
        every = products(s, A, B)
        if s.monoid.terminal_any:
            assert (got.to_dense()[:, None, :] == every).any(axis=1).all(), name
            continue
        want = every[:, 0, :]
        for k in range(1, every.shape[1]):
            want = s.monoid.numpy(want.ravel(), every[:, k, :].ravel()).reshape(want.shape)
        assert same(got.to_dense(), want, ulps=8).all(), name


def _gb_semiring(name):
    namespace = gb.semiring.ss if name.startswith("ss.") else gb.semiring
    return getattr(namespace, name.removeprefix("ss."))


@pytest.mark.parametrize("name", [n for n, _ in theirs("monoid")])
def test_monoids(name):
    op, gb_op = _registry.find("monoid", name), getattr(gb.monoid, name)
    assert op.is_idempotent == gb_op.is_idempotent
    for dtype in real_types(gb_op):
        m = op[dtype]
        if name != "any":
            assert m.identity == gb_op[dtype].identity, dtype
        values = extremes(getattr(dtypes, dtype).np_type)
        if values.dtype.kind == "f":  # sums of these would depend on the order
            values = values[np.abs(values) < 100]
        got = gb.Vector.from_dense(values).reduce(gb_op[dtype]).new().value
        if m.terminal_any:
            assert got in values
        else:
            assert np.isclose(got, m.reduce(values), rtol=1e-5), (name, dtype)


# --- aggregators ---

COUNTS = {"count", "count_nonzero", "count_zero", "exists"}  # INT64 here, the type of the values there


def aggregators():
    for name in sorted(dir(gb.agg)):
        if name in gb.agg._deprecated:
            continue
        op = getattr(gb.agg, name)
        if isinstance(op, gb.agg.Aggregator):
            yield name, op
    for name in sorted(gb.agg._deprecated):
        yield f"ss.{name}", gb.agg._deprecated[name]


@pytest.mark.parametrize(("name", "gb_op"), [*aggregators()], ids=lambda v: v if isinstance(v, str) else "")
def test_aggregator_types(name, gb_op):
    ours = {a.name: b.name for a, b in _registry.find("agg", name).types.items()}
    for dtype, result in real_types(gb_op).items():
        want = (
            "INT64"
            if name in {*COUNTS, "L0norm", "ss.argmin", "ss.argmax", "ss.first_index", "ss.last_index"}
            else result
        )
        assert ours[dtype] == want, dtype


@pytest.mark.parametrize("dtype", ["INT64", "FP64", "UINT8", "FP32"])
@pytest.mark.parametrize(("name", "gb_op"), [*aggregators()], ids=lambda v: v if isinstance(v, str) else "")
def test_aggregator_values(name, gb_op, dtype):
    if dtype not in real_types(gb_op) or name in ("L1norm", "Linfnorm"):  # not there, or compiled by Numba
        return
    np_type = getattr(dtypes, dtype).np_type
    op = _registry.find("agg", name)[dtype]
    for values in ([3, 1, 4, 1, 5], [2], [4, 4, 2]):
        array, at = np.array(values, np_type), np.array([1, 4, 5, 8, 11])[: len(values)]
        v = gb.Vector.from_coo(at, array, size=20)
        got = v.reduce(gb_op).new()
        want = op.numpy(array, at)
        if name == "any_value":
            assert got.value in array
        elif np.isnan(want):
            assert np.isnan(got.value)
        else:
            assert np.isclose(got.value, want, rtol=1e-5), (name, values)


def test_there_is_more():
    """What python-graphblas has not: plus over BOOL, counts that do not wrap, squares that do not."""
    assert "BOOL" in monoid.plus
    assert "BOOL" in semiring.plus_times
    assert semiring.plus_times["BOOL"].monoid.reduce([True, True]) == True  # noqa: E712
    assert agg.count_nonzero["UINT8"].numpy(np.ones(300, "u1")) == 300
    assert agg.mean["INT8"].numpy(np.full(4, 100, "i1")) == 100
    assert "FP64" in indexunary.diagindex
