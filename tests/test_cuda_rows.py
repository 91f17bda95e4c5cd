"""Kernels over rows and merges of rows, of the CUDA side against those of the CPU: the same text of a call on both."""

from __future__ import annotations

import numpy as np
import pytest

from semirings import binary, expr
from semirings.expr import Const, Input
from spgraph.engine.mask import MASK_CONSTS
from spgraph.kernels.cpu._pieces import NOTHING, row_offsets
from spgraph.kernels.cuda import produce
from spgraph.kernels.device import HOST

pytestmark = pytest.mark.usefixtures("interpreted")  # on the CPU: a reference, for a call or two of each kernel
INT64, FP64, FP32, BOOL = (np.dtype(name) for name in ("int64", "float64", "float32", "bool"))
PLACES = ("i", "j")


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    """Many shares of few items, so that rows begin, end and lie within them."""
    monkeypatch.setattr(produce, "SHARE", 32)


def lengths_of(kind, rng, nrows):
    lengths = rng.integers(0, 6, nrows)
    if kind == "hubs":
        lengths[rng.integers(0, nrows, 3)] = 150
    if kind == "mostly empty":
        lengths[rng.random(nrows) < 0.97] = 0
    return lengths


def random_csr(rng, kind, nrows=60, ncols=200, dtype=FP64):
    """Sorted rows without duplicates."""
    lengths = lengths_of(kind, rng, nrows)
    indices = [np.sort(rng.choice(ncols, n, replace=False)) for n in lengths]
    indices = np.concatenate([*indices, np.zeros(0, np.int64)]).astype(np.int32)
    return row_offsets(lengths), indices, rng.integers(-9, 9, indices.size).astype(dtype)


SHAPES = {
    "even": {"kind": "even"},
    "hubs": {"kind": "hubs"},
    "mostly empty": {"kind": "mostly empty", "nrows": 700},
    "one row": {"kind": "hubs", "nrows": 1},
    "no rows": {"kind": "even", "nrows": 0},
}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def moved(device, args):
    """Arguments for a device: arrays of several elements move, what stands for all stays."""
    return tuple(device.to_device(x) if isinstance(x, np.ndarray) and x is not NOTHING and x.size != 1 else x
                 for x in args)


def same_rows(cuda, name, consts, ops, args, rooms, value_dtype, **more):
    """Runs a row-producing kernel on both devices and compares."""
    results = []
    for device in (HOST, cuda):
        kernel = device.kernel(name, consts, ops)
        costs = {key: device.to_device(x) for key, x in more.items()}
        csr = device.produce_rows(kernel, 10 * int(rooms[-1]) + rooms.size, moved(device, args),
                                  device.to_device(rooms), np.int32, value_dtype, **costs)
        results.append([None if x is None else device.to_host(x) for x in csr])
    for ours, theirs in zip(*reversed(results), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    return results[1]


def same_over(cuda, name, consts, ops, args, out, rows=None):
    """Runs a kernel on both devices over the rows of a CSR, or over the elements of out; compares what it writes."""
    results = []
    for device in (HOST, cuda):
        kernel = device.kernel(name, consts, ops)
        target = device.to_device(out.copy())
        arguments = (*moved(device, args), target)
        if rows is None:
            device.over(kernel, out.size, out.size, arguments)
        else:
            device.over_rows(kernel, device.to_device(rows), out.size + rows.size, arguments)
        results.append(device.to_host(target))
    assert results[0].dtype == results[1].dtype
    np.testing.assert_array_equal(results[1], results[0])
    return results[1]


def by_place(op, x="x", y="y", dtypes=(FP64, FP64)):
    """op(x, y) + 1000 i + j, so that a wrong place shows."""
    value = expr.substitute(binary.__getattr__(op)["FP64"].expr, {"x": Input(x, dtypes[0]), "y": Input(y, dtypes[1])})
    place = expr.Call("add", (expr.Call("multiply", (Const(np.int64(1000), INT64), Input("i", INT64)), INT64),
                              Input("j", INT64)), INT64)
    return expr.Call("add", (value, expr.cast(place, FP64)), FP64)


# ---- merges ---------------------------------------------------------------------------
@shapes
@pytest.mark.parametrize(("union", "isos"), [(True, (False, False)), (True, (True, True)), (False, (False, False)),
                                             (False, (True, False))], ids=str)
def test_ewise_rows(cuda, rng, shape, union, isos):
    xp, xi, xv = random_csr(rng, **shape)
    yp, yi, yv = random_csr(rng, **shape)
    nrows, mapped = xp.size - 1, isos[0]
    xv, yv = (np.array([3.0]) if iso else values for iso, values in zip(isos, (xv, yv)))
    ids = (1000 - np.arange(nrows), 500 - np.arange(200)) if mapped else (NOTHING, NOTHING)
    consts = {"UNION": union, "X_ISO": isos[0], "Y_ISO": isos[1], "VALUES": True, "MAPPED": mapped}
    ops = {
        "BOTH": (by_place("minus"), ("x", "y", *PLACES)),
        "LEFT": (by_place("minus", y="y0"), ("x", "y0", *PLACES)),
        "RIGHT": (by_place("minus", x="x0"), ("x0", "y", *PLACES)),
    }
    weights = xp.astype(np.int64) + yp
    rooms = weights if union else min(xp, yp, key=lambda p: p[-1])
    args = (xp, xi, xv, yp, yi, yv, np.float64(7), np.float64(8), *ids)
    same_rows(cuda, "merge.ewise_rows", consts, ops, args, rooms, FP64, costs=weights)


# every mask, each with another accumulator, replace and region; then those where old entries matter most
WRITES = [
    ("", False, False, ""),
    ("", True, False, "assign"),
    ("s", True, True, ""),
    ("sc", False, False, ""),
    ("v", False, True, "sub"),
    ("vc", True, False, "sub"),
    ("s", False, True, "assign"),
    ("vc", False, True, "assign"),
]


@shapes
@pytest.mark.parametrize(("code", "accum", "replace", "region"), WRITES, ids=str)
def test_write_rows(cuda, rng, shape, code, accum, replace, region):
    c, t, m = (random_csr(rng, **shape) for _ in range(3))
    nrows = c[0].size - 1
    mask = m if code else (NOTHING,) * 3
    flags = (NOTHING, NOTHING)
    if region:
        flags = tuple((rng.random(n) < 0.6).astype(np.uint8) for n in (nrows, 200))
    consts = {**MASK_CONSTS[code], "C_ISO": False, "T_ISO": False, "VALUES": True, "REPLACE": replace and bool(code),
              "ACCUM": accum, "ASSIGN": region == "assign", "SUB": region == "sub"}
    ops = {"STORE": (Input("t", FP64), ("t",))}
    if accum:
        minus = expr.substitute(binary.minus["FP64"].expr, {"x": Input("c", FP64), "y": Input("t", FP64)})
        ops["ACC"] = (minus, ("c", "t"))
    if nrows == 1:
        flags = tuple(x if x is NOTHING else np.concatenate((x, x)) for x in flags)  # one element goes by value
    same_rows(cuda, "merge.write_rows", consts, ops, (*c, *t, *mask, *flags), c[0].astype(np.int64) + t[0], FP64)


@pytest.mark.parametrize(("c_iso", "t_iso"), [(True, False), (False, True), (True, True)], ids=str)
def test_write_rows_of_equal_values(cuda, rng, c_iso, t_iso):
    c, t = random_csr(rng, "hubs"), random_csr(rng, "even", dtype=FP32)
    values = (np.array([2.0]) if c_iso else c[2]), (np.array([5], FP32) if t_iso else t[2])
    consts = {**MASK_CONSTS[""], "C_ISO": c_iso, "T_ISO": t_iso, "VALUES": True, "REPLACE": False, "ACCUM": False,
              "ASSIGN": True, "SUB": False}
    ops = {"STORE": (expr.cast(Input("t", FP32), FP64), ("t",))}
    flags = tuple((rng.random(n) < 0.6).astype(np.uint8) for n in (60, 200))
    args = (*c[:2], values[0], *t[:2], values[1], *(NOTHING,) * 3, *flags)
    same_rows(cuda, "merge.write_rows", consts, ops, args, c[0].astype(np.int64) + t[0], FP64)


@shapes
@pytest.mark.parametrize(("code", "valued"), [("s", True), ("sc", False), ("v", False), ("vc", True)], ids=str)
def test_mask_rows(cuda, rng, shape, code, valued):
    t, m = random_csr(rng, **shape), random_csr(rng, **shape)
    consts = {**MASK_CONSTS[code], "VALUES": valued}
    ops = {"STORE": (expr.cast(Input("t", FP64), INT64), ("t",))}
    values = t[2] if valued else np.array([1.0])
    same_rows(cuda, "merge.mask_rows", consts, ops, (*t[:2], values, *m), t[0], INT64 if valued else None)


# ---- rows -------------------------------------------------------------------------------
@shapes
@pytest.mark.parametrize(("mapped", "iso"), [(False, False), (True, False), (True, True)], ids=str)
def test_select_and_apply_with_places(cuda, rng, shape, mapped, iso):
    indptr, indices, values = random_csr(rng, **shape)
    nrows = indptr.size - 1
    ids = (3 * np.arange(nrows), 200 - np.arange(200)) if mapped else (NOTHING, NOTHING)
    values = np.array([3.0]) if iso else values
    args = (indptr, indices, values, np.int64(50), *ids)
    tree = by_place("plus", y="s", dtypes=(FP64, INT64))
    keep = expr.Call("less", (expr.Call("remainder", (tree, Const(np.float64(3), FP64)), FP64),
                              Const(np.float64(1), FP64)), np.dtype(np.bool_))
    consts = {"X_ISO": iso, "VALUES": not iso, "MAPPED": mapped}
    if nrows != 1:
        same_rows(cuda, "rows.select_rows", consts, {"KEEP": (keep, ("x", "s", *PLACES))}, args, indptr,
                  None if iso else FP64)
        same_over(cuda, "rows.apply_rows", {"X_ISO": iso, "MAPPED": mapped}, {"OP": (tree, ("x", "s", *PLACES))}, args,
                  np.zeros(indices.size), indptr)


@shapes
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize(("mapped", "x_iso", "d_iso", "valued"), [
    (False, False, False, True), (True, False, True, True), (True, True, False, True), (False, True, True, False)],
    ids=str)
def test_scaling_by_a_diagonal_with_gaps(cuda, rng, shape, left, mapped, x_iso, d_iso, valued):
    indptr, indices, values = random_csr(rng, **shape)
    nrows, ncols = indptr.size - 1, 200
    dp = row_offsets(rng.integers(0, 2, nrows if left else ncols))
    dv = np.array([2.0]) if d_iso else rng.integers(1, 9, dp[-1]).astype(np.float64)
    ids = (3 * np.arange(nrows), ncols - np.arange(ncols)) if mapped else (NOTHING, NOTHING)
    tree = expr.substitute(binary.minus["FP64"].expr, {"x": Input("a", FP64), "y": Input("b", FP64)})
    for place in ("ix", "jx", "iy", "jy"):
        tree = expr.Call("add", (expr.Call("multiply", (tree, Const(np.float64(7), FP64)), FP64),
                                 expr.cast(Input(place, INT64), FP64)), FP64)
    consts = {"LEFT": left, "D_ISO": d_iso, "X_ISO": x_iso, "VALUES": valued, "MAPPED": mapped}
    ops = {"MULT": (tree, ("a", "b", "ix", "jx", "iy", "jy")), "STORE": (expr.cast(Input("t", FP64), FP32), ("t",))}
    args = (indptr, indices, np.array([3.0]) if x_iso else values, dp, dv, *ids)
    found, columns, numbers = same_rows(cuda, "rows.scale_rows", consts, ops, args, indptr, FP32 if valued else None)
    rows = np.repeat(np.arange(nrows), np.diff(indptr))
    kept = np.diff(dp)[rows if left else indices] > 0
    assert np.array_equal(columns, indices[kept])
    assert np.array_equal(found, row_offsets(np.bincount(rows[kept], minlength=nrows)))
    assert valued == (numbers is not None)


def test_one_row_is_spread_over_many_warps(cuda, rng):
    indices = np.arange(10_000, dtype=np.int32)
    args = (np.array([0, 10_000], np.int32), indices, rng.random(10_000), np.int64(0), NOTHING, NOTHING)
    tree = by_place("plus", y="s", dtypes=(FP64, INT64))
    same_over(cuda, "rows.apply_rows", {"X_ISO": False, "MAPPED": False}, {"OP": (tree, ("x", "s", *PLACES))}, args,
              np.zeros(10_000), args[0])


def test_apply_flat(cuda, rng):
    tree = expr.cast(expr.substitute(binary.plus["FP64"].expr, {"x": Input("x", FP32), "y": Input("s", FP64)}), INT64)
    values = (100 * rng.random(777)).astype(np.float32)
    args = (values, np.float64(0.5))
    same_over(cuda, "rows.apply_flat", {}, {"OP": (tree, ("x", "s"))}, args, np.zeros(777, np.int64))


def above_diagonal():
    """j > i + s, and that the value is not negative."""
    i, j, s = (Input(name, INT64) for name in "ijs")
    above = expr.Call("greater", (j, expr.Call("add", (i, s), INT64)), BOOL)
    return expr.Call("bitwise_and", (above, expr.Call("greater_equal", (Input("x", FP64), Const(np.float64(0), FP64)),
                                                      BOOL)), BOOL)


@shapes
@pytest.mark.parametrize(("how", "valued"), [("rows", True), ("drop", False), ("several", True), ("several", False),
                                             ("kept", True), ("kept", False)], ids=str)
def test_map_rows(cuda, rng, shape, how, valued):
    indptr, indices, values = random_csr(rng, **shape)
    nrows = indptr.size - 1
    source = rng.integers(-1, nrows, 45 if nrows else 0)
    costs = row_offsets(np.where(source < 0, 0, np.diff(indptr)[source]) if nrows else np.zeros(0, np.int64))
    first = target = NOTHING
    rooms = costs
    if how in ("drop", "kept"):
        target = np.where(rng.random(200) < 0.5, np.arange(200), -1)
    elif how == "several":
        copies = rng.integers(0, 3, 200)
        copies[7] = 90
        first = np.concatenate(([0], np.cumsum(copies)))
        target = rng.integers(0, 1000, first[-1])
        upto = np.concatenate(([0], np.cumsum(copies[indices])))[indptr]
        rooms = row_offsets(np.where(source < 0, 0, np.diff(upto)[source]) if nrows else np.zeros(0, np.int64))
    consts = {"PARTIAL": True, "DROP": target is not NOTHING, "MULTI": how == "several", "VALUES": valued,
              "X_ISO": not valued, "KEPT": how == "kept"}
    ops = {"KEEP": (above_diagonal(), ("x", "s", "i", "j"))} if how == "kept" else {}
    args = (source, indptr, indices, values if valued else np.array([0.5]), first, target, np.int64(3))
    same_rows(cuda, "rows.map_rows", consts, ops, args, rooms, FP64 if valued else None, costs=costs)


@shapes
def test_find_in_rows(cuda, rng, shape):
    indptr, indices, _ = random_csr(rng, **shape)
    wanted = rng.integers(0, 200, indptr.size - 1)
    starts = indptr[:-1][np.diff(indptr) > 0]
    wanted[np.diff(indptr) > 0] = np.where(rng.random(starts.size) < 0.5, indices[starts], wanted[np.diff(indptr) > 0])
    if wanted.size != 1:
        same_over(cuda, "rows.find_in_rows", {}, {}, (indptr, indices, wanted), np.zeros(wanted.size, np.int64), indptr)


@pytest.mark.parametrize("isos", [(False, False), (True, False), (True, True)], ids=str)
def test_kron_rows(cuda, rng, isos):
    (xp, xi, xv), (yp, yi, yv) = random_csr(rng, "even", 9, 30), random_csr(rng, "hubs", 7)
    xv, yv = (np.array([3.0]) if iso else values for iso, values in zip(isos, (xv, yv)))
    tree = expr.substitute(binary.minus["FP64"].expr, {"x": Input("x", FP64), "y": Input("y", FP64)})
    for name in ("ix", "jx", "iy", "jy"):
        tree = expr.Call("add", (expr.Call("multiply", (tree, Const(np.float64(3), FP64)), FP64),
                                 expr.cast(Input(name, INT64), FP64)), FP64)
    indptr = row_offsets(np.outer(np.diff(xp), np.diff(yp)).ravel())
    consts = {"X_ISO": isos[0], "Y_ISO": isos[1], "VALUES": True}
    ops = {"PAIR": (tree, ("x", "y", "ix", "jx", "iy", "jy"))}
    args = (xp, xi, xv, yp, yi, yv, 7, 200, indptr)
    results = []
    for device in (HOST, cuda):
        kernel = device.kernel("rows.kron_rows", consts, ops)
        out = device.xp.zeros(int(indptr[-1]), np.int32), device.xp.zeros(int(indptr[-1]), np.float64)
        device.over_rows(kernel, device.to_device(indptr), indptr[-1] + indptr.size, (*moved(device, args), *out))
        results.append([device.to_host(x) for x in out])
    np.testing.assert_array_equal(results[1][0], results[0][0])
    np.testing.assert_array_equal(results[1][1], results[0][1])
