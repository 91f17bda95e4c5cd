"""Copies of a graph: stored once on a GPU, or made, they give the same answers, which are those of each copy alone."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from graphs import GRAPHS

import spgraph as sg
from spgraph import binary, context, monoid, select, semiring
from spgraph.copies import Copies, most
from spgraph.engine import shares_cuda

NAMES = [name for name in ("karate", "star", "grid", "two", "directed", "loops", "rmat") if name in GRAPHS]
SEMIRINGS = [("plus_times", "INT64"), ("min_plus", "INT64"), ("any_pair", "BOOL"), ("lor_land", "BOOL"),
             ("plus_first", "FP32"), ("max_second", "INT16"), ("plus_pair", "UINT8"), ("times_first", "INT32"),
             ("min_firsti", "INT64"), ("bxor_bor", "UINT32")]  # fmt: skip


def random_graph(seed, n=60, directed=True, hub=True):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, 4 * n))
    if hub:
        rows[: 2 * n], cols[n : 3 * n] = 3, 5
    if not directed:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    keys = np.unique(rows * n + cols)
    return sg.Matrix.from_coo(keys // n, keys % n, rng.integers(1, 5, keys.size), "INT64", nrows=n, ncols=n)


def random_vector(rng, size, dtype, kind):
    """Of that many positions: a list, a bitmap, full, or with one value for all."""
    count = {"list": size // 20 + 1, "bitmap": size // 2, "full": size, "iso": size // 3}[kind]
    places = rng.choice(size, count, replace=False)
    values = 1 if kind == "iso" else rng.integers(0, 4, count)
    v = sg.Vector.from_coo(places, values, dtype, size=size)
    if kind == "bitmap":
        v(binary.first)[0] << 1  # what lies as a bitmap
    return v


def on(device, make):
    with sg.Context(device):
        return make()


@pytest.mark.parametrize("seed", range(24))
def test_products_are_those_of_the_copies_made(cuda, seed, monkeypatch):
    """Any semiring, mask and accumulator, pushed and pulled, from vectors in any format; rows in pieces, too."""
    if seed % 2:
        monkeypatch.setattr(shares_cuda, "LEAST_SHARE", 16)
        monkeypatch.setattr(shares_cuda, "MOST_SHARE", 16)
    width = (2, 4, 8, 16, 32)[seed % 5]
    name, dtype = SEMIRINGS[seed % len(SEMIRINGS)]

    def run(device):
        rng = np.random.default_rng(seed)
        with sg.Context(device):
            A = on("cpu", lambda: random_graph(seed, directed=seed % 3 > 0)).to(device)
            if seed % 4 == 1:
                A = A.dup(bool) if dtype == "BOOL" else A.apply(binary.second, right=1).new()
            copies, found = Copies(A, width), []
            op = getattr(semiring, name)[dtype]
            for kind in ("list", "bitmap", "full", "iso"):
                u = random_vector(rng, copies.size, dtype, kind)
                m = random_vector(rng, copies.size, "INT8", "bitmap")
                w = random_vector(rng, copies.size, dtype, "list" if seed % 2 else "bitmap")
                whole = random_vector(rng, copies.size, dtype, "full")
                writes = (m.S, binary.plus, False), (~m.S, None, True), (m.V, None, False)
                for direction in ("push", "pull", "auto"):
                    with sg.Context(device, direction=direction):
                        for back in (False, True):
                            product = copies.vxm(u, op, transposed=back)
                            found += [product.new(), product.new(mask=m.S), product.new(mask=~m.V)]
                            for mask, accum, replace in writes:
                                found.append(w.dup())
                                found[-1](mask=mask, accum=accum, replace=replace) << copies.vxm(u, op, transposed=back)
                            found += [whole.dup(), sg.Vector(dtype, copies.size)]
                            found[-2](accum=binary.min, changed=found[-1]) << copies.vxm(u, op, transposed=back)
            return [(v.to_coo(), v.nvals) for v in found]

    for k, ((want, count), (got, other)) in enumerate(zip(run("cpu"), run(cuda), strict=True)):
        assert count == other, k
        np.testing.assert_array_equal(got[0], want[0], str(k))
        if not name.startswith("any"):
            np.testing.assert_array_equal(got[1], want[1], str(k))
