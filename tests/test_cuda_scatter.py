"""Scatter, filter and selection of the CUDA side against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from semirings import binary, select
from semirings import expr as ex
from semirings.dtypes import lookup_dtype
from spgraph.engine.mask import MASK_CONSTS
from spgraph.engine.operators import accumulate, store
from spgraph.kernels.device import HOST

pytestmark = pytest.mark.usefixtures("interpreted")  # on the CPU: a reference, for a call or two of each kernel
DTYPES = [np.dtype(name) for name in ("?", "i1", "u2", "i4", "u8", "f4", "f8")]
NOTHING = np.empty(0, np.uint8)
INDEX = [np.uint32, np.int32, np.int64]


class Case:
    """Drawn operands of a kernel over a list or a bitmap."""

    def __init__(self, seed, size, share):
        rng = self.rng = np.random.default_rng(seed)
        self.size = size
        self.index = INDEX[rng.integers(3)]
        self.dtype, self.out = (DTYPES[rng.integers(len(DTYPES))] for _ in range(2))
        self.iso = bool(rng.random() < 0.3)
        self.code = str(rng.choice(list(MASK_CONSTS)))
        self.list = rng.permutation(size)[:int(share * size)].astype(self.index)
        if self.list.size == 1:
            self.list = self.list[:0]

    def values(self, dtype, length):
        return (self.rng.integers(0, 100, length) % (2 if dtype.kind == "b" else 100)).astype(dtype)

    def bits(self, share=0.5):
        return (self.rng.random(self.size) < share).astype(np.uint8)

    def mask(self):
        present = self.bits() if self.code and self.code[0] != "f" else NOTHING
        return present, self.bits() if self.code and self.code[0] != "s" else NOTHING

    def room(self, length):
        """Where a list goes."""
        return np.zeros(length, self.index), NOTHING if self.iso else np.zeros(length, self.out)

    def keep(self):
        """An operator that looks at the value, or at the place."""
        position = {"j": ex.Const(np.int64(0), np.dtype(np.int64))}
        if self.rng.random() < 0.4:
            op, thunk = select.rowle[lookup_dtype(self.dtype)], np.int64(self.size // 2)
        else:
            op, thunk = select.valuegt[lookup_dtype(self.dtype)], self.dtype.type(0 if self.dtype.kind == "b" else 40)
        return ex.cast(ex.substitute(op.expr, position), np.bool_), ("x", "i", "thunk"), thunk


def run(cuda, name, consts, ops, count, args):
    """The kernel on both devices: results and what is in the arrays then."""
    out = []
    for device in (HOST, cuda):
        there = [device.to_device(x.copy()) if type(x) is np.ndarray and x.size > 1 else x for x in args]
        results = device.over(device.kernel(name, consts, ops), count, count, tuple(there))
        out.append((sum(results), [x if isinstance(x, np.generic) else device.to_host(x) for x in there]))
    return out


def check_lists(want, got, iso):
    """The same entries, in any order."""
    count = want[0]
    assert got[0] == count
    lists = [(arrays[-2][:count], arrays[-1][:count]) for _, arrays in (want, got)]
    orders = [np.argsort(places) for places, _ in lists]
    np.testing.assert_array_equal(lists[1][0][orders[1]], lists[0][0][orders[0]])
    if not iso:
        np.testing.assert_array_equal(lists[1][1][orders[1]], lists[0][1][orders[0]])


SHAPES = [(0, 1.0), (40, 1.0), (1500, 0.3), (9000, 1.0), (9000, 0.01)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", SHAPES)
def test_scatter(cuda, seed, shape):
    case = Case(seed, *shape)
    accum, full = (bool(case.rng.random() < 0.5) for _ in range(2))
    consts = {**MASK_CONSTS[case.code], "T_ISO": case.iso, "ACCUM": accum, "C_FULL": full}
    ops = {"STORE": store(case.dtype, case.out)}
    if accum:
        ops["ACC"] = accumulate(binary.minus["FP64"], case.out, case.dtype)
    present = NOTHING if full else case.bits()
    args = (case.list, case.values(case.dtype, 1 if case.iso else case.list.size), *case.mask(), present,
            case.values(case.out, case.size))
    want, got = run(cuda, "scatter.scatter", consts, ops, case.list.size, args)
    assert got[0] == want[0]
    for ours, theirs in zip(got[1], want[1], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES)
def test_masked_list(cuda, seed, shape):
    case = Case(seed, *shape)
    case.code = case.code or "sc"
    consts = {**MASK_CONSTS[case.code], "T_ISO": case.iso, "ISO_OUT": case.iso}
    length = case.list.size
    args = (case.list, case.values(case.dtype, 1 if case.iso else length), *case.mask(), *case.room(length))
    ops = {"STORE": store(case.dtype, case.out)}
    check_lists(*run(cuda, "scatter.masked_list", consts, ops, case.list.size, args), case.iso)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES)
def test_select_list(cuda, seed, shape):
    case = Case(seed, *shape)
    *keep, thunk = case.keep()
    permuted = bool(case.rng.random() < 0.3)
    consts = {**MASK_CONSTS[case.code], "T_ISO": case.iso, "ISO_OUT": case.iso, "GLOBAL": permuted}
    gid = case.rng.permutation(case.size) if permuted else NOTHING
    args = (case.list, case.values(case.dtype, 1 if case.iso else case.list.size), thunk, gid, *case.mask(),
            *case.room(case.list.size))
    ops = {"STORE": store(case.dtype, case.out), "KEEP": tuple(keep)}
    check_lists(*run(cuda, "scatter.select_list", consts, ops, case.list.size, args), case.iso)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("full", [False, True], ids=["bitmap", "full"])
@pytest.mark.parametrize("shape", [(0, 0.5), (17, 0.5), (1000, 0.9), (9000, 0.002), (9001, 0.5)])
def test_select_bitmap(cuda, seed, full, shape):
    size, share = shape
    case = Case(seed, size, 1.0)
    *keep, thunk = case.keep()
    permuted = bool(case.rng.random() < 0.3)
    consts = {**MASK_CONSTS[case.code], "T_ISO": case.iso, "ISO_OUT": case.iso, "GLOBAL": permuted, "T_FULL": full,
              "PEEK": bool(case.rng.random() < 0.5)}
    gid = case.rng.permutation(size) if permuted else NOTHING
    args = (NOTHING if full else case.bits(share), case.values(case.dtype, 1 if case.iso else size), thunk, gid,
            *case.mask(), *case.room(size))
    ops = {"STORE": store(case.dtype, case.out), "KEEP": tuple(keep)}
    check_lists(*run(cuda, "scatter.select_bitmap", consts, ops, size, args), case.iso)


def test_select_from_a_bitmap_that_begins_anywhere(cuda):
    """Sixteen bytes at a time only where they are aligned."""
    size = 3000
    rng = np.random.default_rng(1)
    bits = (rng.random(size) < 0.3).astype(np.uint8)
    consts = {**MASK_CONSTS[""], "T_ISO": True, "ISO_OUT": True, "GLOBAL": False, "T_FULL": False}
    always = ex.Const(np.True_, np.dtype(np.bool_)), ("x", "i", "thunk")
    kernel = cuda.kernel("scatter.select_bitmap", consts, {"STORE": store(np.bool_, np.bool_), "KEEP": always})
    one, none = np.array([True]), np.int64(0)
    for start in range(0, 18, 5):
        there = cuda.to_device(bits)[start:]
        places = cuda.xp.zeros(size, np.uint32)
        (count,) = cuda.over(kernel, size - start, size, (there, one, none, NOTHING, NOTHING, NOTHING, places, NOTHING))
        np.testing.assert_array_equal(np.sort(cuda.to_host(places)[:count]), np.flatnonzero(bits[start:]))
