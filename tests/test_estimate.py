"""`sg.estimate`: the finished graph exactly, peaks and vectors as bounds that are near what is used."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import spgraph as sg
from spgraph import context, exceptions

N, M = 1 << 12, 400_000


@pytest.fixture(scope="module")
def edges():
    keys = np.random.default_rng(0).choice(N * N, M, replace=False)
    return keys // N, keys % N


class Used:
    """Bytes that a device uses: the emulated one counts them, on the CPU NumPy tells tracemalloc."""

    def __init__(self, device):
        self.device = device

    def peak(self, call):
        """The most that is held while `call()` runs, beyond what was held before; its result."""
        call()  # compiles
        if not self.device.on_host:
            from emulator.array import pool

            before = pool.peak = pool.used
            result = call()
            return pool.peak - before, result
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = call()
            return tracemalloc.get_traced_memory()[1] - before, result
        finally:
            tracemalloc.stop()


@pytest.fixture(params=["cpu", "emulated"])
def used(request):
    device = sg.context.HOST if request.param == "cpu" else request.getfixturevalue("emulated")
    with sg.Context(device, threads=1):
        yield Used(device)


@pytest.mark.parametrize("dtype", [None, "INT8", "FP32", "FP64"])
def test_building(used, edges, dtype):
    values = True
    if dtype is not None:
        values = np.random.default_rng(1).integers(1, 9, M).astype(sg.dtypes.lookup_dtype(dtype).np_type)
    held, A = used.peak(lambda: sg.Matrix.from_coo(*edges, values, nrows=N, ncols=N))
    found = sg.estimate(nvals=M, nrows=N, dtype=dtype)
    assert found.device == used.device.name
    assert found.graph == A._block.nbytes - (dtype is None)  # the one value
    assert 0.85 <= found.peak / held <= 2
    again = sg.estimate(A)
    assert (again.graph, again.peak, again.dtype) == (found.graph, found.peak, found.dtype)


@pytest.mark.parametrize("dtype", ["BOOL", "FP64"])
def test_transposing(used, edges, dtype):
    values = np.random.default_rng(1).integers(0, 2, M).astype(sg.dtypes.lookup_dtype(dtype).np_type)
    A = sg.Matrix.from_coo(*edges, values, nrows=N, ncols=N)
    held, _ = used.peak(lambda: A.dup()._block.oriented(True))
    found = sg.estimate(A, transpose=True)
    assert found.transpose == A._block.nbytes
    assert 0.85 <= found.peak / held <= 2


@pytest.mark.parametrize("weights", ["int", "uniform"])
@pytest.mark.parametrize("name", ["bfs", "bfs_parents", "sssp", "pagerank"])
def test_vectors(used, name, weights):
    n = 1 << 14
    A = sg.generators.uniform(n, 16, weights=weights, seed=1)
    arguments = () if name == "pagerank" else (0,)
    call = getattr(sg.algorithms, name)
    held, _ = used.peak(lambda: call(A, *arguments))
    bound = sg.estimate(A).vectors[name]
    assert bound == sg.estimate("uniform:14").vectors[name]
    assert held <= bound <= 4 * held


@pytest.mark.parametrize(("spec", "make"), [
    ("rmat:6", lambda: sg.generators.rmat(6)), ("rmat:5:8", lambda: sg.generators.rmat(5, 8)),
    ("uniform:6", lambda: sg.generators.uniform(64)), ("uniform:6:4", lambda: sg.generators.uniform(64, 4)),
    ("grid:5", lambda: sg.generators.grid(5, delete=0)), ("grid:5x7", lambda: sg.generators.grid(5, 7, delete=0)),
    ("path:9", lambda: sg.generators.path(9)), ("cycle:9", lambda: sg.generators.cycle(9)),
    ("star:9", lambda: sg.generators.star(9)), ("complete:9", lambda: sg.generators.complete(9)),
])  # fmt: skip
def test_generators(spec, make):
    A, found = make(), sg.estimate(spec)
    assert found.shape == A.shape
    assert A.nvals <= found.nvals <= 3 * A.nvals
    assert found.dtype == (A.dtype if spec.startswith("grid") else None)


def test_does_it_fit(emulated):
    total = emulated.memory().total
    assert sg.estimate(nvals=10**6, nrows=10**5, device=emulated).fits is True
    assert sg.estimate(nvals=total // 4, nrows=10, device=emulated).fits is False  # but when it is built
    assert sg.estimate(nvals=total // 8, nrows=10, device=emulated).fits is True
    assert sg.estimate(nvals=10, nrows=total // 40, device=emulated).fits is False  # for its vectors
    with sg.Context(emulated, memory_limit=emulated.memory().used + 10**6):
        assert sg.estimate(nvals=10**6, nrows=10**5).fits is False


def test_a_matrix_that_is_there_needs_its_vectors_only(emulated):
    with sg.Context(emulated):
        A = sg.generators.uniform(1 << 12, 64)
        found = sg.estimate(A)
        with sg.Context(memory_limit=emulated.memory().used + max(found.vectors.values()) + 1000):
            assert sg.estimate(A).fits is True
            assert sg.estimate("uniform:12:64").fits is False


def test_widths_change_where_they_must():
    narrow, wide = (sg.estimate(nvals=2**31 + k, nrows=10, device="cpu").graph for k in (-2, 0))
    assert wide - narrow == 2 * 4 + 11 * 4
    assert sg.estimate(nvals=100, nrows=1, ncols=2**40, device="cpu").graph == 2 * 4 + 100 * 8


def test_a_gpu_that_is_elsewhere():
    if not context.device().on_host:
        pytest.skip("there is one")
    found = sg.estimate(nvals=100, nrows=10, device="cuda")
    assert (found.device, found.free, found.fits) == ("cuda", None, None)
    assert "fits                ?  (not known here)" in repr(found)


def test_it_prints_as_a_table(emulated):
    text = repr(sg.estimate(nvals=10**9, nrows=5 * 10**7, dtype="FP32", device=emulated, transpose=True)).splitlines()
    assert text[0] == "Estimate  50,000,000 x 50,000,000, 1,000,000,000 entries, FP32, on emulated:0"
    assert [line.split()[0] for line in text[1:]] == [
        "graph", "transpose", "peak", "bfs", "bfs_parents", "sssp", "pagerank", "fits"
    ]  # fmt: skip
    assert text[1] == "graph        7.64 GiB"
    assert text[-1].startswith("fits               no  (") and text[-1].endswith("are free)")


@pytest.mark.parametrize(("arguments", "error", "words"), [
    ({}, TypeError, "wanted a graph, or nvals and nrows"),
    ({"nvals": 5}, TypeError, "wanted a graph, or nvals and nrows"),
    ({"graph": "rmat:5", "nvals": 5}, TypeError, "one of them was wanted"),
    ({"graph": "roads.gr"}, exceptions.InvalidValue, "'roads.gr', but a Matrix or a generator was wanted: rmat:SCALE"),
    ({"graph": "rmat:x"}, exceptions.InvalidValue, "rmat:x: wanted rmat:SCALE"),
    ({"graph": 7}, exceptions.InvalidValue, "graph is 7"),
    ({"nvals": -1, "nrows": 5}, exceptions.InvalidValue, "nvals is -1"),
    ({"nvals": 1, "nrows": 5, "dtype": "complex"}, exceptions.DomainMismatch, "complex"),
    ({"nvals": 1, "nrows": 5, "device": "gpu"}, exceptions.InvalidValue, "estimate: device is 'gpu'"),
])  # fmt: skip
def test_errors(arguments, error, words):
    with pytest.raises(error, match=words):
        sg.estimate(**arguments)
