"""How cuGraph is called: by its C API through ctypes, and by pylibcugraph. Both give the same objects here.

Signatures are those of cuGraph 26.10 (cugraph_c/*.h). Nothing is imported before it is asked for. Its memory
comes from a pool of RMM's that takes half of what is free when first used; the rest is left to CuPy.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np

__all__ = ["apis", "synchronize", "version"]

SHARE = 0.5  # of the free memory that the pool takes
NEVER = 1e-30  # a tolerance that PageRank does not reach (0 stands for the default in some releases)
FARTHEST = 3e38
DEEPEST = 2**31 - 2
TYPES = {2: np.int32, 3: np.int64, 8: np.float32, 9: np.float64}  # cugraph_data_type_id_t
CODES = {np.dtype(dtype): code for code, dtype in TYPES.items()}
OUT = POINTER(c_void_p)
ARRAY = "cugraph_type_erased_device_array_view_"

# name: (result, arguments); pointers to objects are void
SIGNATURES: dict[str, tuple[Any, list]] = {
    "cugraph_create_resource_handle": (c_void_p, [c_void_p]),
    "cugraph_error_message": (c_char_p, [c_void_p]),
    ARRAY + "create": (c_void_p, [c_void_p, c_size_t, c_int]),
    ARRAY + "free": (None, [c_void_p]),
    ARRAY + "pointer": (c_void_p, [c_void_p]),
    ARRAY + "size": (c_size_t, [c_void_p]),
    ARRAY + "type": (c_int, [c_void_p]),
    # handle, properties, vertices, src, dst, weights, edge ids, edge types, store transposed, renumber,
    # drop self loops, drop multi-edges, symmetrize, expensive check, graph, error
    "cugraph_graph_create_sg": (c_int, [c_void_p] * 8 + [c_int] * 6 + [OUT, OUT]),
    "cugraph_graph_free": (None, [c_void_p]),
    # handle, graph, sources, direction optimising, depth limit, predecessors, expensive check, result, error
    "cugraph_bfs": (c_int, [c_void_p] * 3 + [c_int, c_size_t, c_int, c_int, OUT, OUT]),
    # handle, graph, source, cutoff, predecessors, expensive check, result, error
    "cugraph_sssp": (c_int, [c_void_p] * 2 + [c_size_t, c_double, c_int, c_int, OUT, OUT]),
    "cugraph_paths_result_get_vertices": (c_void_p, [c_void_p]),
    "cugraph_paths_result_get_distances": (c_void_p, [c_void_p]),
    "cugraph_paths_result_get_predecessors": (c_void_p, [c_void_p]),
    "cugraph_paths_result_free": (None, [c_void_p]),
    # handle, graph, four optional arrays, alpha, epsilon, iterations, expensive check, result, error
    "cugraph_pagerank_allow_nonconvergence": (c_int, [c_void_p] * 6 + [c_double] * 2 + [c_size_t, c_int, OUT, OUT]),
    # handle, graph, sources, normalized, endpoints, expensive check, result, error
    "cugraph_betweenness_centrality": (c_int, [c_void_p] * 3 + [c_int] * 3 + [OUT, OUT]),
    # handle, graph, expensive check, result, error
    "cugraph_weakly_connected_components": (c_int, [c_void_p] * 2 + [c_int, OUT, OUT]),
    "cugraph_labeling_result_get_vertices": (c_void_p, [c_void_p]),
    "cugraph_labeling_result_get_labels": (c_void_p, [c_void_p]),
    "cugraph_labeling_result_free": (None, [c_void_p]),
    # handle, graph, vertices (none: all), expensive check, result, error
    "cugraph_triangle_count": (c_int, [c_void_p] * 3 + [c_int, OUT, OUT]),
    "cugraph_triangle_count_result_get_vertices": (c_void_p, [c_void_p]),
    "cugraph_triangle_count_result_get_counts": (c_void_p, [c_void_p]),
    "cugraph_triangle_count_result_free": (None, [c_void_p]),
    "cugraph_centrality_result_get_vertices": (c_void_p, [c_void_p]),
    "cugraph_centrality_result_get_values": (c_void_p, [c_void_p]),
    "cugraph_centrality_result_free": (None, [c_void_p]),
}


class Properties(ctypes.Structure):
    """cugraph_graph_properties_t."""

    _fields_ = (("symmetric", c_int), ("multigraph", c_int))


def version() -> str:
    """Version of pylibcugraph; raises ImportError, OSError or CuPy's error if it cannot be used."""
    package = importlib.import_module("pylibcugraph")
    apis()
    return str(package.__version__)


def synchronize() -> None:
    """Wait for the GPU."""
    importlib.import_module("cupy").cuda.runtime.deviceSynchronize()


@functools.cache
def apis() -> dict[str, Any]:
    """Both ways to call cuGraph, by name."""
    cupy = importlib.import_module("cupy")
    mr = importlib.import_module("rmm.mr")
    free, _ = cupy.cuda.runtime.memGetInfo()
    pool = mr.PoolMemoryResource(mr.CudaMemoryResource(), initial_pool_size=int(free * SHARE) // 256 * 256)
    mr.set_current_device_resource(pool)
    pylibcugraph = importlib.import_module("pylibcugraph")
    folder = os.path.dirname(importlib.import_module("libcugraph").__file__ or "")
    library = ctypes.CDLL(os.path.join(folder, "lib64", "libcugraph_c.so"))
    return {"C API": CApi(cupy, library), "pylibcugraph": PythonApi(cupy, pylibcugraph)}


class Arrays:
    """A result that is made of arrays already."""

    def __init__(self, *arrays: Any):
        self._arrays = arrays

    def arrays(self) -> tuple:
        """Vertices and values: distances and predecessors, or ranks."""
        return self._arrays


class Owned:
    """An object of cuGraph's, freed with this one."""

    def __init__(self, api: CApi, pointer: c_void_p, kind: str, parts: tuple[str, ...] = ()):
        self.api = api
        self.pointer = pointer
        self.kind = kind
        self.parts = parts

    def arrays(self) -> tuple:
        """Copies of the arrays that it holds."""
        return tuple(self.api.array(f"{self.kind}_get_{part}", self.pointer).copy() for part in self.parts)

    def __del__(self) -> None:
        self.api.call(f"{self.kind}_free", self.pointer)


class CApi:
    """libcugraph_c.

    Parameters
    ----------
    xp : module
        CuPy.
    library : ctypes.CDLL
    """

    def __init__(self, xp: Any, library: Any):
        self.xp = xp
        self._functions = {}
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function
        self._handle = c_void_p(self.call("cugraph_create_resource_handle", None))

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function that does not fail."""
        return self._functions[name](*arguments)

    def _made(self, name: str, *arguments: Any) -> c_void_p:
        """Call a function that gives an object or an error."""
        made, error = c_void_p(), c_void_p()
        if self._functions[name](self._handle, *arguments, byref(made), byref(error)):
            message = self.call("cugraph_error_message", error) if error else b"no message"
            raise RuntimeError(f"{name}: {message.decode()}")
        return made

    def array(self, name: str, owner: c_void_p) -> Any:
        """The array that a getter gives, as a view."""
        view = self.call(name, owner)
        dtype = np.dtype(TYPES[self.call(ARRAY + "type", view)])
        size, pointer = self.call(ARRAY + "size", view), self.call(ARRAY + "pointer", view)
        memory = self.xp.cuda.UnownedMemory(pointer, size * dtype.itemsize, None)
        return self.xp.ndarray((size,), dtype, self.xp.cuda.MemoryPointer(memory, 0))

    def view(self, array: Any) -> View:
        """cuGraph's view of a CuPy array."""
        return View(self, array)

    def graph(self, n: int, rows: Any, cols: Any, weights: Any, symmetric: bool, transposed: bool) -> Owned:
        """A graph, renumbered as cuGraph likes it."""
        views = [self.view(array) for array in (self.xp.arange(n, dtype=np.int32), rows, cols)]
        if weights is not None:
            views.append(self.view(weights))
        pointers = [view.pointer for view in views] + [None] * (6 - len(views))
        properties = Properties(int(symmetric), 0)
        made = self._made("cugraph_graph_create_sg", byref(properties), *pointers, transposed, 1, 0, 0, 0, 0)
        return Owned(self, made, "cugraph_graph")

    def vertices(self, sources: list[int]) -> View:
        """What `bfs` and `betweenness` start from."""
        return self.view(self.xp.array(sources, np.int32))

    def bfs(self, graph: Owned, source: View, optimise: bool, parents: bool) -> Owned:
        """Levels, and parents if asked for."""
        made = self._made("cugraph_bfs", graph.pointer, source.pointer, optimise, DEEPEST, parents, 0)
        return self._paths(made, parents)

    def sssp(self, graph: Owned, source: int, parents: bool) -> Owned:
        """Distances, and parents if asked for."""
        made = self._made("cugraph_sssp", graph.pointer, source, FARTHEST, parents, 0)
        return self._paths(made, parents)

    def _paths(self, made: c_void_p, parents: bool) -> Owned:
        parts = ("vertices", "distances", "predecessors") if parents else ("vertices", "distances")
        return Owned(self, made, "cugraph_paths_result", parts)

    def pagerank(self, graph: Owned, alpha: float, iterations: int) -> Owned:
        """Ranks after so many iterations."""
        made = self._made("cugraph_pagerank_allow_nonconvergence", graph.pointer, None, None, None, None, alpha, NEVER,
                          iterations, 0)
        return Owned(self, made, "cugraph_centrality_result", ("vertices", "values"))

    def betweenness(self, graph: Owned, sources: View) -> Owned:
        """Betweenness from some sources."""
        made = self._made("cugraph_betweenness_centrality", graph.pointer, sources.pointer, 0, 0, 0)
        return Owned(self, made, "cugraph_centrality_result", ("vertices", "values"))

    def components(self, graph: Owned) -> Owned:
        """Labels of components."""
        made = self._made("cugraph_weakly_connected_components", graph.pointer, 0)
        return Owned(self, made, "cugraph_labeling_result", ("vertices", "labels"))

    def triangles(self, graph: Owned) -> Owned:
        """Triangles of every vertex."""
        made = self._made("cugraph_triangle_count", graph.pointer, None, 0)
        return Owned(self, made, "cugraph_triangle_count_result", ("vertices", "counts"))


class View:
    """cuGraph's view of a CuPy array, which it keeps alive."""

    def __init__(self, api: CApi, array: Any):
        self.api = api
        self.array = array
        self.pointer = c_void_p()
        self.pointer = c_void_p(api.call(ARRAY + "create", array.data.ptr, array.size, CODES[array.dtype]))

    def __del__(self) -> None:
        if self.pointer:
            self.api.call(ARRAY + "free", self.pointer)


class PythonApi:
    """pylibcugraph, with the interface of `CApi`.

    Parameters
    ----------
    xp : module
        CuPy.
    package : module
        pylibcugraph.
    """

    def __init__(self, xp: Any, package: Any):
        self.xp = xp
        self._package = package
        self._handle = package.ResourceHandle()

    def graph(self, n: int, rows: Any, cols: Any, weights: Any, symmetric: bool, transposed: bool) -> Any:
        """A graph, renumbered as cuGraph likes it."""
        return self._package.SGGraph(
            self._handle,
            self._package.GraphProperties(is_symmetric=symmetric, is_multigraph=False),
            rows,
            cols,
            weight_array=weights,
            store_transposed=transposed,
            renumber=True,
            do_expensive_check=False,
            vertices_array=self.xp.arange(n, dtype=np.int32),
        )

    def vertices(self, sources: list[int]) -> Any:
        """What `bfs` and `betweenness` start from."""
        return self.xp.array(sources, np.int32)

    def bfs(self, graph: Any, source: Any, optimise: bool, parents: bool) -> Arrays:
        """Levels, and parents if asked for."""
        levels, before, vertices = self._package.bfs(self._handle, graph, source, optimise, -1, parents, False)
        return Arrays(vertices, levels, before)

    def sssp(self, graph: Any, source: int, parents: bool) -> Arrays:
        """Distances and parents: pylibcugraph asks for both."""
        return Arrays(*self._package.sssp(self._handle, graph, source, FARTHEST, True, False))

    def pagerank(self, graph: Any, alpha: float, iterations: int) -> Arrays:
        """Ranks after so many iterations."""
        vertices, ranks, *_ = self._package.pagerank(
            self._handle, graph, None, None, None, None, alpha, NEVER, iterations, False, fail_on_nonconvergence=False
        )
        return Arrays(vertices, ranks)

    def betweenness(self, graph: Any, sources: Any) -> Arrays:
        """Betweenness from some sources."""
        return Arrays(
            *self._package.betweenness_centrality(
                self._handle,
                graph,
                k=sources,
                random_state=None,
                normalized=False,
                include_endpoints=False,
                do_expensive_check=False,
            )
        )

    def components(self, graph: Any) -> Arrays:
        """Labels of components."""
        return Arrays(*self._package.weakly_connected_components(self._handle, graph, None, None, None, None, False))

    def triangles(self, graph: Any) -> Arrays:
        """Triangles of every vertex."""
        return Arrays(*self._package.triangle_count(self._handle, graph, None, False))
