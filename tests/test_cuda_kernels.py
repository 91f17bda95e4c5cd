"""The CUDA kernels against the CPU's, on operands of several blocks; see `cuda_cases`.

Runs on the GPU if that is the backend, else on the emulated one.
"""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
from cuda_cases import CASES, CELLS, combining, monoids_alike, outcome
from graphs import GRAPHS

import spgraph as sg
from semirings.dtypes import lookup_dtype
from spgraph import algorithms, context
from spgraph.kernels.device import HOST

SEEDS = range(int(os.environ.get("SPGRAPH_CUDA_SEEDS", "4")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_same_as_on_the_cpu(cuda, name, seed):
    want, got = outcome(name, seed, HOST).results, outcome(name, seed, cuda).results
    assert len(want) == len(got)
    for wanted, found in zip(want, got):
        assert found[:2] == wanted[:2] if len(wanted) > 2 else found[0] == wanted[0]
        for x, y in zip(wanted[2:] or wanted[1:], found[2:] or found[1:], strict=True):
            np.testing.assert_array_equal(y, x)
            assert np.asarray(y).dtype == np.asarray(x).dtype


@pytest.mark.parametrize(("dtype", "code"), monoids_alike())
def test_atomics_of_every_monoid(cuda, dtype, code):
    """Many values for few cells: what comes out is a sum in some order."""
    ops = monoids_alike()[dtype, code]
    np_type = lookup_dtype(dtype).np_type
    rng = np.random.default_rng(1)
    places = rng.integers(0, CELLS, 600).astype(np.int32)
    values = rng.choice([1, 2, 1, 1] if np_type.kind in "bu" else [1, -1, 2, 1, -3], 600).astype(np_type)
    start = rng.choice([0, 1, 3], (len(ops), CELLS)).astype(np_type)
    cells = cuda.to_device(start)
    combining(cuda, ops, code)(600, (cells, cuda.to_device(values), cuda.to_device(places)))
    for op, before, after in zip(ops, start, cuda.to_host(cells)):
        for cell in range(CELLS):
            want = functools.reduce(op.binaryop.numpy, values[places == cell], before[cell])
            if op.name == "any":
                assert after[cell] in (before[cell], *values)
            elif np_type.kind == "f":
                np.testing.assert_allclose(after[cell], want, rtol=1e-4, err_msg=op.name)
            else:
                assert after[cell] == want, op


def test_pagerank_that_does_not_wait(cuda, monkeypatch):
    """Results are never there yet when they are asked for: the next product begins before they are known."""
    graph = GRAPHS["karate"]
    before = context.set_default(HOST)
    try:
        want = algorithms.pagerank(graph.matrix(sg)).to_coo()
        context.set_default(cuda)
        monkeypatch.setattr(cuda, "has", lambda slot, sequence: False)
        got = algorithms.pagerank(graph.matrix(sg)).to_coo()
    finally:
        context.set_default(before)
    for x, y in zip(want, got):
        np.testing.assert_allclose(x, y, rtol=1e-9)
