"""Every operator of python-graphblas's registry for real dtypes, on every dtype, at the extremes.

Left out, because SuiteSparse or python-graphblas leaves the answer open: shifts and bit numbers outside the
width of the type, and integer `floordiv` by zero (a Numba function; with python-graphblas's flags it is
undefined). `ldexp`, `frexpe`, `tgamma` and the like are compared for numbers below 100: of larger ones the
exponent leaves C's int, or the C library decides.
"""

import graphblas
import numpy as np
import pytest
from strategies import DTYPES, FLOATS, INTEGERS, NUMPY, value_pool

SKIPPED = ("numpy", "ss", "register_new", "register_anonymous", "from_string", "get_semiring")
COMPLEX = ("carg", "cimag", "conj", "creal", "cmplx")
COMPILED = ("floordiv", "rfloordiv", "rpow", "binom", "absfirst", "abssecond", "isclose")
BITS = ("bget", "bset", "bclr", "bshift")
POSITIONAL = ("firsti", "firstj", "secondi", "secondj", "positioni", "positionj")
ONCE_EACH = ("INT64", "FP64")
FINITE = ("ldexp", "frexpe", "frexpx", "tgamma", "lgamma")


def names(namespace):
    found = []
    for name in dir(namespace):
        if name.startswith("_") or name in SKIPPED or name in COMPLEX or name == "any":
            continue
        if not name.rstrip("1").endswith(POSITIONAL) and not name.startswith(("erf", "frexp", "lgamma", "tgamma")):
            found.append(name)
    return found


UNARY = (*names(graphblas.unary), "ss.erf", "ss.erfc", "ss.frexpe", "ss.frexpx", "ss.lgamma", "ss.tgamma")
BINARY = [name for name in names(graphblas.binary) if name not in (*BITS, *COMPILED)]


def look_up(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def supports(namespace, name, dtype):
    op = look_up(namespace, name)
    return any(t.name == dtype for t in op.types)


def extremes(dtype, name=""):
    pool = value_pool(dtype)
    if dtype in FLOATS:
        pool = [*pool, 0.25, -0.75, 1e-3, 7.0, 88.0]
    if name.removeprefix("ss.") in FINITE:
        pool = [x for x in pool if abs(x) < 100]
    return np.array(pool, dtype=NUMPY[dtype])


@pytest.mark.parametrize("name", UNARY)
def test_unary(agree, name):
    def apply(gb):
        found = {}
        for dtype in DTYPES:
            if supports(graphblas.unary, name, dtype):
                v = gb.Vector.from_dense(extremes(dtype, name))
                found[dtype] = v.apply(look_up(gb.unary, name)).new()
        return found

    assert agree(apply, rtol=3e-5, atol=1e-37)


def pairs(dtype, name=""):
    values = extremes(dtype, name)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


@pytest.mark.parametrize("name", BINARY)
def test_binary(agree, name):
    """All pairs of extreme values: NaN with `eq` and `min`, division by zero, overflow among them."""

    def ewise(gb):
        found = {}
        for dtype in DTYPES:
            if supports(graphblas.binary, name, dtype):
                x, y = pairs(dtype, name)
                found[dtype] = gb.Vector.from_dense(x).ewise_mult(gb.Vector.from_dense(y), look_up(gb.binary, name))
        return found

    assert agree(ewise, rtol=3e-5)


@pytest.mark.parametrize("name", [n for n in COMPILED if n != "isclose"])
def test_binary_that_the_oracle_compiles(agree, name):
    def ewise(gb):
        found = {}
        for dtype in ("INT64", "FP64"):
            x, y = pairs(dtype)
            keep = np.isfinite(x.astype(float)) & np.isfinite(y.astype(float)) & (x != 0) & (y != 0)
            keep &= (np.abs(x.astype(float)) < 1000) & (np.abs(y.astype(float)) < 1000)
            if name in ("rpow", "binom"):
                keep &= (x > 0) & (y > 0) & (x <= 10) & (y <= 10)
            if name in ("binom",) and dtype == "FP64":
                continue
            u, v = gb.Vector.from_dense(x[keep]), gb.Vector.from_dense(y[keep])
            found[dtype] = u.ewise_mult(v, getattr(gb.binary, name))
        return found

    assert agree(ewise)


@pytest.mark.parametrize("name", BITS)
def test_bits(agree, name):
    def ewise(gb):
        found = {}
        for dtype in INTEGERS:
            x = extremes(dtype)
            first = 0 if name == "bshift" else 1
            bits = np.arange(first, NUMPY[dtype](0).itemsize * 8 - 1 + first)
            x, y = (a.ravel() for a in np.meshgrid(x, bits))
            other = "INT8" if name == "bshift" else dtype
            u, v = gb.Vector.from_dense(x), gb.Vector.from_dense(y.astype(NUMPY[other]))
            found[dtype] = u.ewise_mult(v, getattr(gb.binary, name)[dtype])
        return found

    assert agree(ewise)


MONOIDS = names(graphblas.monoid)


@pytest.mark.parametrize("name", MONOIDS)
def test_monoid_identity_and_pairs(agree, name):
    """The identity of every dtype (a reduction of nothing), and reductions of pairs of extremes."""

    def reduce(gb):
        found = {}
        op = getattr(gb.monoid, name)
        for dtype in DTYPES:
            if not supports(graphblas.monoid, name, dtype):
                continue
            x, y = pairs(dtype)
            rows = np.repeat(np.arange(x.size), 2)
            A = gb.Matrix.from_coo(rows, np.tile([0, 1], x.size), np.stack([x, y], 1).ravel(), ncols=2)
            identity = gb.Vector(dtype, 3).reduce(op, allow_empty=False).new()
            found[dtype] = identity, A.reduce_rowwise(op).new()
        return found

    assert agree(reduce)


@pytest.mark.parametrize("kind", ["unary", "binary", "monoid", "semiring", "indexunary", "select"])
def test_same_names_same_types(gb, kind):
    """Each operator of the registry exists here, for the same real dtypes, and returns the same type."""
    reference, ours = getattr(graphblas, kind), getattr(gb, kind)
    real, differ = set(DTYPES), {}
    for name in dir(reference):
        if name.startswith("_") or name in (*SKIPPED, *COMPLEX, "isclose"):
            continue
        if kind in ("unary", "binary", "semiring") and name.rstrip("1").endswith(POSITIONAL):
            name = f"ss.{name}"
        if kind == "unary" and name.startswith(("erf", "frexp", "lgamma", "tgamma")):
            name = f"ss.{name}"
        expected = look_up(reference, name)
        if hasattr(expected, "types"):
            types = {t.name: r.name for t, r in expected.types.items() if {t.name, r.name} <= real}
            found = {t.name: r.name for t, r in look_up(ours, name).types.items()}
            differ[name] = {t: (found.get(t), wanted) for t, wanted in types.items() if found.get(t) != wanted}
    assert {name: pairs for name, pairs in differ.items() if pairs} == {}
    assert len(differ) > 10
