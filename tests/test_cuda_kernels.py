"""The CUDA kernels against the CPU's, on operands of several blocks; see `cuda_cases`.

Runs on the GPU if that is the backend, else on the emulated one.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from cuda_cases import CASES, outcome

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
