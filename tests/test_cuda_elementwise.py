"""Element-wise chains of the CUDA side against those of the CPU: random trees, masks, accumulators, types."""

from __future__ import annotations

import numpy as np
import pytest

from semirings import binary, monoid, unary
from semirings import expr as ex
from semirings.dtypes import lookup_dtype
from spgraph.engine.mask import MASK_CONSTS
from spgraph.engine.operators import accumulate
from spgraph.kernels.device import HOST
from spgraph.kernels.trees import AppliedNode, EwiseNode, LeafNode

pytestmark = pytest.mark.usefixtures("interpreted")  # on the CPU: a reference, for a call or two of each kernel
DTYPES = [np.dtype(name) for name in ("?", "i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8")]
SIZES = [0, 1, 31, 129, 1000, 4500]
NOTHING = np.empty(0, np.uint8)


def values_of(rng, dtype, size):
    return (rng.integers(0, 100, size) % (2 if dtype.kind == "b" else 100)).astype(dtype)


def bits_of(rng, size, share=0.5):
    return (rng.random(size) < share).astype(np.uint8)


class Leaves:
    """Operands and the tree over them."""

    def __init__(self, rng, size, kinds, driver=None):
        self.rng, self.size, self.kinds, self.driver = rng, size, kinds, driver
        self.arrays: list = []

    def leaf(self, kind=None, dtype=None, iso=None):
        rng = self.rng
        kind = kind or rng.choice(list(self.kinds))
        dtype = dtype or DTYPES[rng.integers(len(DTYPES))]
        iso = bool(rng.random() < 0.2) if iso is None else iso
        length = 1 if iso else self.driver.size if kind == "l" else self.size
        self.arrays += [bits_of(rng, self.size) if kind == "b" else NOTHING, values_of(rng, dtype, length)]
        return LeafNode(len(self.arrays) // 2 - 1, dtype, str(kind), iso)

    def tree(self, depth):
        if depth == 0 or self.rng.random() < 0.2:
            return self.leaf()
        if self.rng.random() < 0.3:
            return self.applied(self.tree(depth - 1))
        left, right = self.tree(depth - 1), self.tree(depth - 1)
        kind = str(self.rng.choice(["add", "mult", "union"]))
        defaults = None
        if kind == "union":
            defaults = tuple(self.leaf("f", dtype_of(side), True) for side in (left, right))
        op = self.rng.choice([binary.plus, binary.minus, binary.min, binary.second])
        dtype = np.result_type(dtype_of(left), dtype_of(right))
        typed = op[lookup_dtype(dtype)]
        operands = {name: ex.cast(ex.Input(name, dtype_of(side)), dtype) for name, side in (("x", left), ("y", right))}
        return EwiseNode(kind, ex.substitute(typed.expr, operands), left, right, defaults)

    def applied(self, child):
        x = ex.Input("x", dtype_of(child))
        if self.rng.random() < 0.3:  # positional
            position = ex.cast(ex.Input("i", np.int64), np.float64)
            return AppliedNode(ex.Call("add", (ex.cast(x, np.float64), position), np.float64), child)
        typed = unary.ainv[lookup_dtype(x.dtype)]
        return AppliedNode(ex.substitute(typed.expr, {"x": ex.cast(x, typed.type.np_type)}), child)


def dtype_of(node):
    return node.dtype if isinstance(node, LeafNode) else node.expr.dtype


def mask_of(rng, code, size):
    present = bits_of(rng, size) if code and code[0] != "f" else NOTHING
    return present, values_of(rng, np.dtype(np.int8), size) % 2 if code and code[0] != "s" else NOTHING


@pytest.fixture
def run(cuda):
    """Runs one kernel on both devices; the results of each, and the arrays that it may have written."""

    def both(make, count, args):
        out = []
        for device in (HOST, cuda):
            there = [device.to_device(x.copy()) if type(x) is np.ndarray and x.size != 1 else x for x in args]
            results = device.over(make(device), count, count, tuple(there))
            out.append((results, [device.to_host(x) if hasattr(x, "dtype") else x for x in there]))
        return out

    return both


@pytest.mark.parametrize("seed", range(40))
def test_write(run, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([n for n in SIZES if n != 1]))
    leaves = Leaves(rng, size, "bf")
    tree = leaves.tree(int(rng.integers(0, 4)))
    code = str(rng.choice(list(MASK_CONSTS)))
    dtype = DTYPES[rng.integers(len(DTYPES))]
    fresh, accum = bool(rng.random() < 0.4), rng.random() < 0.5
    replace = bool(code and rng.random() < 0.5)
    stays = accum and not fresh and not replace
    certain = all(not p.size for p in leaves.arrays[::2])
    full = bool(stays and rng.random() < 0.5) or (fresh and not code and certain)
    consts = {**MASK_CONSTS[code], "REPLACE": replace, "ACCUM": bool(accum), "FRESH": fresh, "C_FULL": full,
              "GLOBAL": bool(rng.random() < 0.3)}
    ops = {"ACC": accumulate(binary.plus["FP64"], dtype, dtype_of(tree))} if accum else {}
    gid = rng.permutation(size).astype(np.int64) if consts["GLOBAL"] else NOTHING
    present = NOTHING if full else bits_of(rng, size)
    args = (gid, *mask_of(rng, code, size), present, values_of(rng, dtype, size), *leaves.arrays)
    number = len(leaves.arrays) // 2
    want, got = run(lambda device: device.chain("write", tree, number, dtype, consts, ops), size, args)
    if not full:
        assert sum(got[0]) == sum(want[0])
        np.testing.assert_array_equal(got[1][3], want[1][3])
    entries = np.ones(size, bool) if full else want[1][3] != 0
    np.testing.assert_array_equal(got[1][4][entries], want[1][4][entries])


def test_write_in_place_on_a_leaf(cuda):
    """C is a leaf of its own tree."""
    size = 3000
    tree = EwiseNode("mult", binary.plus["INT32"].expr, LeafNode(0, np.dtype(np.int32), "f", False),
                     LeafNode(1, np.dtype(np.int32), "f", True), None)
    consts = {**MASK_CONSTS[""], "REPLACE": False, "ACCUM": False, "FRESH": True, "C_FULL": True, "GLOBAL": False}
    C = cuda.to_device(np.arange(size, dtype=np.int32))
    kernel = cuda.chain("write", tree, 2, np.int32, consts, {})
    assert cuda.over(kernel, size, size, (NOTHING, NOTHING, NOTHING, NOTHING, C, NOTHING, C, NOTHING,
                                          np.array([5], np.int32))) == []
    np.testing.assert_array_equal(cuda.to_host(C), np.arange(size) + 5)


@pytest.mark.parametrize("seed", range(20))
def test_list(run, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([50, 1000, 9000]))
    driver = rng.permutation(size)[:int(rng.choice([0, size // 7, size]))]
    driver = driver.astype(rng.choice([np.uint32, np.int64]))
    if driver.size == 1:
        driver = driver[:0]
    leaves = Leaves(rng, size, "bf", driver)
    first = leaves.leaf("l")
    rest = leaves.tree(int(rng.integers(0, 3)))
    op = binary.minus["FP64"].expr
    operands = {name: ex.cast(ex.Input(name, dtype_of(side)), np.float64) for name, side in (("x", first), ("y", rest))}
    tree = EwiseNode("mult", ex.substitute(op, operands), first, rest, None)
    code = str(rng.choice(list(MASK_CONSTS)))
    dtype = DTYPES[rng.integers(len(DTYPES))]
    consts = {**MASK_CONSTS[code], "GLOBAL": bool(rng.random() < 0.3)}
    gid = rng.permutation(size).astype(np.int64) if consts["GLOBAL"] else NOTHING
    args = (driver, gid, *mask_of(rng, code, size), np.zeros(driver.size, driver.dtype), np.zeros(driver.size, dtype),
            *leaves.arrays)
    number = len(leaves.arrays) // 2
    want, got = run(lambda device: device.chain("list", tree, number, dtype, consts, {}), driver.size, args)
    count = sum(want[0])
    assert sum(got[0]) == count
    (want_at, want_is), (got_at, got_is) = (in_order(results[1][4:6], count) for results in (want, got))
    np.testing.assert_array_equal(got_at, want_at)
    np.testing.assert_array_equal(got_is, want_is)


@pytest.mark.parametrize("seed", range(10))
def test_each(run, seed):
    """Every entry of the list has a value, which comes at its place."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([50, 1000, 9000]))
    driver = rng.permutation(size)[:int(rng.choice([0, size // 7, size]))].astype(rng.choice([np.uint32, np.int64]))
    leaves = Leaves(rng, size, "f", driver)
    tree = EwiseNode("mult", binary.minus["FP64"].expr, *(
        AppliedNode(ex.cast(ex.Input("x", dtype_of(side)), np.dtype(np.float64)), side)
        for side in (leaves.leaf("l"), leaves.tree(int(rng.integers(0, 3))))), None)  # fmt: skip
    dtype = DTYPES[rng.integers(len(DTYPES))]
    consts = {"GLOBAL": bool(rng.random() < 0.3)}
    gid = rng.permutation(size).astype(np.int64) if consts["GLOBAL"] else NOTHING
    args = (driver, gid, np.zeros(driver.size, dtype), *leaves.arrays)
    number = len(leaves.arrays) // 2
    want, got = run(lambda device: device.chain("each", tree, number, dtype, consts, {}), driver.size, args)
    np.testing.assert_array_equal(got[1][2], want[1][2])


def in_order(arrays, count):
    """The first `count` entries of a list, by position."""
    order = np.argsort(arrays[0][:count])
    return [array[:count][order] for array in arrays]


MONOIDS = ["plus", "times", "min", "max", "any", "lor", "land", "lxor", "lxnor", "bor", "band", "bxor"]


def typed_monoid(rng):
    chosen = getattr(monoid, str(rng.choice(MONOIDS)))
    types = [dtype for dtype in chosen.types if dtype.np_type in DTYPES]
    return chosen[types[rng.integers(len(types))]]


def add_of(monoid):
    dtype = monoid.type.np_type
    combined = ex.substitute(monoid.binaryop.expr, {"x": ex.Input("s", dtype), "y": ex.Input("t", dtype)})
    return ex.cast(combined, dtype), ("s", "t")


@pytest.mark.parametrize("seed", range(30))
def test_reduce(run, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([n for n in SIZES if n != 1]))
    listed = bool(size and rng.random() < 0.4)
    driver = rng.permutation(size)[:max(size // 5, 2)].astype(np.uint32) if listed else None
    leaves = Leaves(rng, size, "bf", driver)
    tree = leaves.tree(int(rng.integers(0, 3)))
    if listed:
        tree = EwiseNode("mult", binary.first["INT32"].expr, leaves.leaf("l", np.dtype(np.int32)), tree, None)
    typed = typed_monoid(rng)
    dtype, terminal = typed.type.np_type, typed.terminal
    consts = {"GLOBAL": False, "LISTED": listed, "ANY": bool(typed.terminal_any), "IDENTITY": typed.start,
              "HAS_TERMINAL": terminal is not None, "TERMINAL": False if terminal is None else terminal}
    args = (driver if listed else NOTHING, NOTHING, *leaves.arrays)
    number, items = len(leaves.arrays) // 2, driver.size if listed else size
    make = lambda device: device.chain("reduce", tree, number, dtype, consts, {"ADD": add_of(typed)})  # noqa: E731
    want, got = run(make, items, args)
    ((count, total),) = got[0]
    expected = [total for found, total in want[0] if found]
    assert bool(count) == bool(expected)
    if not expected:
        return
    assert total.dtype == dtype
    if typed.terminal_any:
        return
    assert terminal is not None or count == want[0][0][0]
    if dtype.kind == "f":
        np.testing.assert_allclose(total, expected[0], rtol=1e-4)
    else:
        assert total == expected[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_any_takes_one_that_is_there(cuda, dtype):
    size = 5000
    present, values = np.zeros(size, np.uint8), np.zeros(size, dtype)
    present[3333], values[3333] = 1, 1
    typed = monoid.any[lookup_dtype(dtype)]
    consts = {"GLOBAL": False, "LISTED": False, "ANY": True, "IDENTITY": typed.start, "HAS_TERMINAL": False,
              "TERMINAL": False}
    kernel = cuda.chain("reduce", LeafNode(0, np.dtype(dtype), "b", False), 1, dtype, consts, {"ADD": add_of(typed)})
    for _ in range(3):  # what one launch leaves behind the next must not see
        ((count, total),) = cuda.over(kernel, size, size, (NOTHING, NOTHING, cuda.to_device(present),
                                                           cuda.to_device(values)))
        assert (count, total) == (1, 1)


def test_float_sums_are_the_same_every_time(cuda):
    values = np.random.default_rng(0).random(5000).astype(np.float32)
    typed = monoid.plus["FP32"]
    consts = {"GLOBAL": False, "LISTED": False, "ANY": False, "IDENTITY": typed.start, "HAS_TERMINAL": False,
              "TERMINAL": False}
    leaf = LeafNode(0, values.dtype, "f", False)
    kernel = cuda.chain("reduce", leaf, 1, values.dtype, consts, {"ADD": add_of(typed)})
    there = cuda.to_device(values)
    totals = {cuda.over(kernel, values.size, 1, (NOTHING, NOTHING, NOTHING, there))[0] for _ in range(4)}
    assert len(totals) == 1
