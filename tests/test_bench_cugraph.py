"""cuGraph's adapter, against a small cuGraph of the tests' own: the same C functions on host memory."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import spgraph as sg
from spgraph import bench
from spgraph.bench import _cugraph, _cugraph_api, _peers
from spgraph.bench._problem import ALGORITHMS, Problem
from spgraph.validate import _edges

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


class Array(np.ndarray):
    """A NumPy array with CuPy's way to say where it lies."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def fake_cupy():
    """NumPy, as far as the adapter uses CuPy, whose memory cuGraph can read."""

    def from_pointer(shape, dtype, pointer):
        size = int(np.prod(shape)) * dtype.itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype).view(Array)

    names = ("where", "full", "zeros")
    return SimpleNamespace(
        **{name: getattr(np, name) for name in names},
        searchsorted=lambda array, values, side: np.searchsorted(array, values, side).view(Array),
        asarray=lambda array: np.asarray(array).view(Array),
        arange=lambda *sizes, dtype: np.arange(*sizes, dtype=dtype).view(Array),
        array=lambda values, dtype: np.array(values, dtype).view(Array),
        ndarray=from_pointer,
        cuda=SimpleNamespace(
            UnownedMemory=lambda pointer, size, owner: pointer, MemoryPointer=lambda memory, offset: memory + offset
        ),
    )


class FakePackage:
    """pylibcugraph, made of the fake C API."""

    def __init__(self, api):
        self.api = api

    def ResourceHandle(self):
        return "handle"

    def GraphProperties(self, *, is_symmetric, is_multigraph):
        assert not is_multigraph
        return is_symmetric

    def SGGraph(self, handle, symmetric, rows, cols, *, weight_array, store_transposed, renumber, do_expensive_check,
                vertices_array):  # fmt: skip
        assert handle == "handle"
        assert renumber
        assert not do_expensive_check
        return self.api.graph(vertices_array.size, rows, cols, weight_array, symmetric, store_transposed)

    def bfs(self, handle, graph, sources, optimise, depth, parents, check):
        assert (handle, depth, check) == ("handle", -1, False)
        vertices, levels, *before = self.api.bfs(graph, self.api.view(sources), optimise, parents).arrays()
        return levels, before[0] if parents else None, vertices

    def sssp(self, handle, graph, source, cutoff, parents, check):
        assert (handle, parents, check) == ("handle", True, False)
        return self.api.sssp(graph, source, parents).arrays()

    def pagerank(self, handle, graph, a, b, c, d, alpha, epsilon, iterations, check, *, fail_on_nonconvergence):
        assert (handle, a, b, c, d, check, fail_on_nonconvergence) == ("handle", None, None, None, None, False, False)
        return *self.api.pagerank(graph, alpha, iterations).arrays(), False

    def betweenness_centrality(self, handle, graph, *, k, random_state, normalized, include_endpoints,
                               do_expensive_check):  # fmt: skip
        assert (handle, random_state, normalized, include_endpoints) == ("handle", None, False, False)
        assert not do_expensive_check
        return self.api.betweenness(graph, self.api.view(k)).arrays()


    def weakly_connected_components(self, handle, graph, offsets, indices, weights, labels, check):
        assert (handle, offsets, indices, weights, labels, check) == ("handle", None, None, None, None, False)
        return self.api.components(graph).arrays()

    def triangle_count(self, handle, graph, vertices, check):
        assert (handle, vertices, check) == ("handle", None, False)
        return self.api.triangles(graph).arrays()


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("cugraph") / "libcugraph_c.so"
    source = Path(__file__).parent / "fake_cugraph.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture
def cugraph(library, monkeypatch):
    """The adapter with the fake behind it."""
    xp = fake_cupy()
    api = _cugraph_api.CApi(xp, library)
    apis = {"C API": api, "pylibcugraph": _cugraph_api.PythonApi(xp, FakePackage(api))}
    monkeypatch.setattr(_cugraph_api, "apis", lambda: apis)
    monkeypatch.setattr(_cugraph_api, "version", lambda: "1.0")
    monkeypatch.setattr(_cugraph_api, "synchronize", lambda: None)
    monkeypatch.setattr(_cugraph, "library", lambda array: np)
    with sg.Context("cpu"):  # where the fake's memory is
        yield library


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compare_runs_every_text(cugraph, algorithm):
    result = bench.compare(
        ["rmat:6:4"], against=["cugraph"], algorithms=[algorithm], repeat=2, dtype=np.float32, progress=False
    )
    assert result.wrong == []
    row = result.rows[-1]
    assert (row.engine, len(row.times)) == ("cugraph", 2)
    searches = {f"{api}, {way}" for api in ("C API", "pylibcugraph") for way in ("direction-optimising", "top-down")}
    assert set(row.tried) == (searches if algorithm.startswith("bfs") else {"C API", "pylibcugraph"})
    assert result.arguments["versions"] == {"cugraph": "1.0"}


def test_directed_graphs_are_searched_top_down(cugraph):
    A = sg.Matrix.from_coo([0, 1, 2, 0], [1, 2, 3, 3], [1, 1, 1, 9], nrows=5, ncols=5)
    problem = Problem("directed", "bfs_parents", A, [0], np.dtype(np.float32), 1)
    texts = _cugraph.texts(problem)
    assert set(texts) == {"C API, top-down", "pylibcugraph, top-down"}
    for text in texts.values():
        answer = text.answer(text.run(0))
        assert answer.level.tolist() == [0, 1, 2, 1, -1]
        assert answer.parent.tolist() == [0, 0, 1, 0, -1]
    problem = Problem("directed", "sssp_parents", A, [0], np.dtype(np.float32), 1)
    answer = (text := _cugraph.texts(problem)["C API"]).answer(text.run(0))
    assert answer.distance.tolist() == [0, 1, 2, 3, np.inf]
    assert answer.parent.tolist() == [0, 0, 1, 2, -1]


@pytest.mark.parametrize("algorithm", ["components", "triangles"])
def test_directed_graphs_have_no_text(cugraph, algorithm):
    A = sg.Matrix.from_coo([0, 1], [1, 2], True, nrows=3, ncols=3)
    assert _cugraph.texts(Problem("directed", algorithm, A, [0], np.dtype(np.float32), 1)) == {}


def test_what_cugraph_makes_is_freed(cugraph):
    alive = ctypes.c_int.in_dll(cugraph, "alive")
    gc.collect()
    before = alive.value
    problem = Problem("path", "sssp_parents", sg.generators.path(5, weights="int"), [0], np.dtype(np.float32), 1)
    text = _cugraph.texts(problem)["C API"]
    assert alive.value > before
    result = text.run(0)
    distance = text.answer(result).distance
    kept = distance.copy()
    del result, text, problem
    gc.collect()
    assert alive.value == before
    assert (distance == kept).all()


def test_its_errors_are_told(cugraph):
    api = _cugraph_api.apis()["C API"]
    one = api.xp.arange(1, dtype=np.int32)
    directed = api.graph(1, one, one, None, False, False)
    with pytest.raises(RuntimeError, match="cugraph_bfs: bfs: direction optimisation needs an undirected graph"):
        api.bfs(directed, api.vertices([0]), True, False)


def test_without_cugraph_it_is_left_out():
    notes: list[str] = []
    assert _peers.find_peers(["cugraph"], notes) == []
    assert notes[0].startswith(("cuGraph is not installed: left out (pip install", "cuGraph cannot be used: left out"))


def test_the_library_of_arrays_is_found():
    assert _edges.library(np.arange(3)) is np
