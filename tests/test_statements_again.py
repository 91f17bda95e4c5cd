"""Element-wise statements that run again find their kernel by a short key: it must tell apart all that differs."""

import itertools

import numpy as np
import pytest

import spgraph as sg
from spgraph import binary, indexunary, monoid, unary
from spgraph.engine import vector_write

N = 6


def stored(way, dtype):
    """A Vector kept in one of the ways, and its dictionary."""
    full = way in ("full", "iso and full")
    ids = np.arange(N) if full else np.array([0, 2, 3, 5])
    values = np.full(ids.size, 3, dtype) if way.startswith("iso") else (np.arange(ids.size) + 2).astype(dtype)
    v = sg.Vector.from_coo(ids, values[0] if way.startswith("iso") else values, size=N, dtype=dtype)
    if way not in ("list", "iso list"):
        for block in getattr(v._block, "pieces", [v._block]):  # on several devices
            block.to_bitmap()
    return v, dict(zip(ids.tolist(), values.tolist()))


WAYS = ["list", "bitmap", "full", "iso list", "iso bitmap", "iso and full"]
PAIRS = list(itertools.product(WAYS, WAYS, ["int64", "float32"]))


@pytest.fixture
def chains(device):
    """The kernels that are found by the short key; none to begin with."""
    if device.group is not None:
        pytest.skip("about one device")
    device.chains.clear()
    return device.chains


@pytest.mark.parametrize("turn", [1, 2])
def test_one_operator_over_operands_stored_in_every_way(device, turn):
    for first, second, dtype in PAIRS if device.on_host else PAIRS[::5]:
        (u, a), (v, b) = stored(first, "int64"), stored(second, dtype)
        w = sg.Vector("float64", N)
        w << binary.minus(u & v)
        assert w.to_dict() == {i: a[i] - b[i] for i in a.keys() & b.keys()}
        w << binary.minus(v & u)
        assert w.to_dict() == {i: b[i] - a[i] for i in a.keys() & b.keys()}
        total = binary.minus(u | v, left_default=0, right_default=0).reduce(monoid.plus).value
        assert total == sum(a.values()) - sum(b.values())


def test_trees_that_differ_in_one_place():
    u, v = sg.Vector.from_dense([1, 2, 3]), sg.Vector.from_dense([10, 20, 40])
    x = sg.Vector.from_dense([1.7, 2.7, 3.7])
    for _ in range(2):
        assert binary.plus["INT64"](u & u).new().to_dense().tolist() == [2, 4, 6]
        assert binary.plus["INT64"](x & x).new().to_dense().tolist() == [2, 4, 6]  # operands are cast first
        assert binary.minus(u | u).new().to_dense().tolist() == [0, 0, 0]
        assert binary.minus(u | v).new().to_dense().tolist() == [-9, -18, -37]
        assert u.apply(binary.minus, 1).new().to_dense().tolist() == [0, 1, 2]
        assert u.apply(binary.minus, left=1).new().to_dense().tolist() == [0, -1, -2]
        assert u.apply(binary.minus, 2.5).new().to_dense().tolist() == [-1.5, -0.5, 0.5]
        assert u.apply(indexunary.rowindex, 1).new().to_dense().tolist() == [1, 2, 3]
        assert binary.times((u + v) & u).new().to_dense().tolist() == [11, 44, 129]
        assert binary.times(u & (u + v)).new().to_dense().tolist() == [11, 44, 129]
        assert (u - (v - u)).new().to_dense().tolist() == [-8, -16, -34]
        assert ((u - v) - u).new().to_dense().tolist() == [-10, -20, -40]
        assert (u - v).apply(unary.abs).reduce(monoid.plus).value == 64
        assert (u - v).apply(unary.ainv).reduce(monoid.max).value == 37
        assert u.inner(v, "plus_times").value == 170
        assert u.inner(v, "plus_firsti").value == 0


def test_accumulators_and_masks_that_differ():
    u, m = sg.Vector.from_dense([1, 2, 3]), sg.Vector.from_coo([0, 2], [True, False], size=3)
    cases = [  # how to write to 100, 100, 100; what u + u leaves there, and what 2 does
        ({}, [2, 4, 6], [2, 2, 2]),
        ({"accum": binary.plus}, [102, 104, 106], [102, 102, 102]),
        ({"accum": binary.minus}, [98, 96, 94], [98, 98, 98]),
        ({"mask": m.S}, [2, 100, 6], [2, 100, 2]),
        ({"mask": m.V}, [2, 100, 100], [2, 100, 100]),
        ({"mask": ~m.S}, [100, 4, 100], [100, 2, 100]),
        ({"mask": m.V, "accum": binary.plus}, [102, 100, 100], [102, 100, 100]),
    ]
    for (how, doubled, two), dtype in itertools.product(cases * 2, ["int64", "float64"]):
        w = sg.Vector.from_dense(np.full(3, 100, dtype))
        w(**how) << (u + u)
        assert w.to_dense().tolist() == doubled
        w = sg.Vector.from_dense(np.full(3, 100, dtype))
        w(**how) << w.apply(binary.times, 0) + u + u  # the output is an operand
        assert w.to_dense().tolist() == doubled
        w = sg.Vector.from_dense(np.full(3, 100, dtype))
        w(**how) << 2
        assert w.to_dense().tolist() == two


def test_a_number_that_changes_makes_no_kernel(chains):
    u = sg.Vector.from_dense([1.0, 2, 3])
    for number in (0.5, -0.0, np.float64(7)):
        assert u.apply(binary.times, number).new().to_dense().tolist() == [number, 2 * number, 3 * number]
        assert u.ewise_union(u, "+", number, number).reduce(monoid.plus).value == 12
    assert len(chains) == 2


def test_operators_made_without_end_are_forgotten(chains, monkeypatch):
    monkeypatch.setattr(vector_write, "KEPT", 4)
    u = sg.Vector.from_dense([1, 2, 3])
    for _ in range(10):
        assert u.apply(unary.register_anonymous(lambda x: x + 1)).new().to_dense().tolist() == [2, 3, 4]
        assert len(chains) <= 4
    assert (u.apply(unary.ainv).new()).to_dense().tolist() == [-1, -2, -3]


@pytest.mark.parametrize("direction", ["auto", "pull"])
@pytest.mark.parametrize("seed", range(4))
def test_products_under_masks_of_other_vectors(direction, seed):
    """A matrix keeps what it ran, by statement; one that has run nothing gives the same."""
    random = np.random.default_rng(seed)
    A = sg.generators.rmat(6, 6)
    n = A.nrows

    def drawn(share):
        ids = np.flatnonzero(random.random(n) < share)
        return sg.Vector.from_coo(ids, random.integers(0, 4, ids.size), size=n)

    masks = [lambda m: m.S, lambda m: ~m.S, lambda m: m.V, lambda m: ~m.V]
    accums = [None, binary.min, binary.plus]
    with sg.Context(direction=direction):
        for turn in range(60):
            share = random.choice([0.0, 0.1, 0.6, 1.0], 3)
            u, m, w = drawn(share[0]), drawn(share[1]), drawn(share[2])
            m = u if turn % 7 == 0 else m
            how = {"accum": accums[random.integers(3)], "replace": bool(random.integers(2))}
            mask, changed = masks[random.integers(4)](m), sg.Vector("int64", n)
            ring = random.choice(["min_second", "plus_times", "any_pair"])
            got, wanted, again = w.dup(), w.dup(), sg.Vector("int64", n)
            got(mask, changed=changed, **how) << A.mxv(u, str(ring))
            wanted(mask, changed=again, **how) << A.dup().mxv(u, str(ring))
            assert got.isequal(wanted, check_dtype=True), (turn, how, ring)
            assert changed.isequal(again), (turn, how, ring)
            got(mask, **how) << A.mxv(u, str(ring))
            wanted(mask, **how) << A.dup().mxv(u, str(ring))
            assert got.isequal(wanted), (turn, how, ring)


def test_vectors_that_take_another_ones_values_do_not_share_them():
    u, w = sg.Vector.from_dense([5, 6, 7]), sg.Vector.from_dense([1, 2, 3])
    for _ in range(2):
        w << u
        w(binary.min) << sg.Vector.from_dense([6, 4, 9])
        assert w.to_dense().tolist() == [5, 4, 7]
        assert u.to_dense().tolist() == [5, 6, 7]
        w[1] = 8
        assert w.to_dense().tolist() == [5, 8, 7]
        assert u.to_dense().tolist() == [5, 6, 7]
    x = sg.Vector.from_dense([0.5, 1.5, 2.5])
    w << x
    assert w.to_dense().tolist() == [0, 1, 2]
    assert w[0:3:2].new().to_dense().tolist() == [0, 2]
    part = w[1:].new()
    part[0] = 9
    assert w.to_dense().tolist() == [0, 1, 2]
