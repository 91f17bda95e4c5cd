"""The shape of the code: who imports whom, what an import costs, what is public, what is compiled again."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import semirings
import spgraph

ROOT = Path(spgraph.__file__).parent.parent

# Each part of the code and the parts it may import; everything in spgraph/ that has no row is the face.
FACE = "face"
ALLOWED = {
    "semirings": set(),
    "record": set(),
    "interrupts": set(),
    "partition": {"semirings", "kernels"},
    "kernels": {"semirings", "interrupts"},
    "block": {"semirings", "partition", "kernels"},
    "exchange": {"semirings", "record", "partition", "kernels", "block"},
    "context": {"semirings", "partition", "kernels", "exchange"},
    "engine": {"semirings", "record", "interrupts", "partition", "kernels", "block", "exchange", "context"},
    FACE: {"semirings", "record", "interrupts", "partition", "block", "exchange", "engine", "context"},
    "io": {"semirings", "kernels", "block", "exchange", "context", FACE},
    "generators": {"semirings", "io"},
    "validate": {"semirings"},
    "algorithms": {FACE, "io", "context"},
    "oracle": {FACE},
    "top": {
        "semirings", "record", "partition", "kernels", "exchange", "context", "engine", FACE, "io", "generators",
        "validate", "algorithms", "oracle",
    },
}
PARTS = {
    "_cli": "top", "cli": "top", "bench": "top", "_estimate": "top", "_estimate_parts": "top",
    "_estimate_sizes": "top", "_graphspec": "top", "_machine": "top", "__main__": "top", "nx": "top",
    "_nx_info": "top", "_record": "record", "_recording": "record", "_interrupts": "interrupts", "_trace": "top",
    "_oracle_compare": "oracle", "_oracle_text": "oracle", "oracle_plugin": "oracle",
}  # fmt: skip
# What an algorithm may use: names that a user has too.
PUBLIC = {
    "spgraph", "spgraph.loops", "spgraph.matrix", "spgraph.vector", "spgraph.scalar", "spgraph.tasks", "spgraph.copies",
    "spgraph.io", "spgraph.exceptions",
}
HEAVY = {"numba", "scipy", "tqdm", "cupy", "graphblas", "networkx", "matplotlib", "pytest"}


def part_of(module: str) -> str | None:
    """The part of the code that a module belongs to; None if it is not ours."""
    top, _, rest = module.partition(".")
    if top != "spgraph":
        return top if top == "semirings" else None
    name = rest.partition(".")[0]
    return PARTS.get(name) or (name if name in ALLOWED else FACE)


def files() -> Iterator[tuple[str, Path]]:
    for package in ("semirings", "spgraph"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield (
                    module
                    if (ROOT / Path(*module.split("."))).with_suffix(".py").exists()
                    or (ROOT / Path(*module.split("."))).is_dir()
                    else node.module
                )


MODULES = dict(files())


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    part = part_of(module)
    for imported in imports(MODULES[module]):
        other = part_of(imported)
        assert other in {None, part, *ALLOWED[part]}, f"{module} ({part}) imports {imported} ({other})"


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) == "semirings"])
def test_semirings_needs_numpy_only(module):
    for imported in imports(MODULES[module]):
        top = imported.partition(".")[0]
        assert top in {"numpy", "semirings"} or top in sys.stdlib_module_names, f"{module} imports {imported}"


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) == "algorithms"])
def test_algorithms_use_what_a_user_has(module):
    for imported in imports(MODULES[module]):
        if part_of(imported) in (FACE, "io"):
            assert imported in PUBLIC, f"{module} imports {imported}"


@pytest.mark.parametrize(
    "module", [name for name in MODULES if part_of(name) == "algorithms" and "._" not in name]
)
def test_an_algorithm_fits_on_two_pages(module):
    """Public files read as their algorithm; what is shared or secondary is in private ones."""
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= 120


def test_every_file_says_what_it_is():
    silent = [
        name for name, path in MODULES.items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


# ---- what an import loads ---------------------------------------------------------------
def python(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["semirings", "spgraph"])
def test_import_loads_nothing_heavy(package):
    loaded = json.loads(python(f"import sys, json, {package}; print(json.dumps(sorted(sys.modules)))"))
    tops = {name.partition(".")[0] for name in loaded}
    assert tops & HEAVY == set()
    if package == "semirings":
        assert "spgraph" not in tops


def test_small_work_needs_no_compiler():
    code = """
import sys, spgraph as sg
level = sg.algorithms.bfs(sg.generators.path(5), 0)
assert level.nvals == 5
print("numba" in sys.modules)
"""
    assert python(code, SPGRAPH_JIT="auto").strip() == "False"


def test_another_package_called_semirings_is_named(tmp_path):
    (tmp_path / "semirings.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import spgraph"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: spgraph comes with a package named semirings")
    assert str(tmp_path) in last


# ---- what is public ---------------------------------------------------------------------
SURFACE = {
    "spgraph": {
        "Context", "Matrix", "Scalar", "Vector", "agg", "algorithms", "bench", "binary", "dtypes", "estimate",
        "exceptions", "generators", "indexunary", "io", "loop", "monoid", "op", "oracle", "partition", "replace",
        "select",
        "semiring", "tasks", "trace", "unary", "validate", "copies",
    },
    "spgraph.algorithms": {
        "IteratedVector", "PageRank", "average_clustering", "bellman_ford", "betweenness_centrality", "bfs",
        "bfs_from_any", "bfs_from_each", "bfs_order", "bfs_parents", "clustering", "connected_components",
        "core_number", "eigenvector_centrality", "hits", "katz_centrality", "maximal_independent_set",
        "minimum_spanning_forest", "negative_cycle", "pagerank", "sssp", "sssp_parents", "transitivity",
        "triangle_count", "triangles",
    },
    "spgraph.bench": {
        "Allocation", "Comparison", "Graph500", "Measurement", "Memory", "Overhead", "Scaled", "Scaling", "Steps",
        "compare", "graph500", "memory", "overhead", "save", "scaling",
    },
    "spgraph.partition": {
        "NATURAL", "Partition", "Report", "assign", "biased_random", "border", "by_degree", "contiguous", "lay_out",
        "metis", "names", "plot", "random", "report",
    },
    "spgraph.generators": {"complete", "cycle", "grid", "path", "rmat", "rmat_edges", "star", "uniform"},
    "spgraph.io": {
        "FormatError", "Report", "as_matrix", "from_cupy", "from_cupyx", "from_dlpack", "from_networkx", "from_numpy",
        "from_scipy", "read", "read_csv", "read_dimacs", "read_edgelist", "read_matrix_market", "read_metis",
        "read_npz", "read_parquet", "to_cupy", "to_cupyx", "to_networkx", "to_scipy", "write", "write_metis",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", SURFACE)
def test_public_names_are_those_intended(module):
    found = importlib.import_module(module)
    assert set(found.__all__) == SURFACE[module]


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_all_names_exist(module):
    found = importlib.import_module(module)
    names = getattr(found, "__all__", ())
    missing = [name for name in names if not hasattr(found, name)]
    assert missing == []


@pytest.mark.parametrize("module", SURFACE)
def test_public_names_are_documented(module):
    found = importlib.import_module(module)
    assert [name for name in found.__all__ if not (getattr(found, name).__doc__ or "").strip()] == []


def test_semirings_is_ours():
    assert semirings.__distribution__ == "spgraph"


# ---- kernels on disk --------------------------------------------------------------------
WORK = """
import json, numpy as np, spgraph as sg
from spgraph.kernels.cpu import _specialise
A = sg.generators.rmat(13, seed=1, weights="int")
sg.algorithms.bfs(A, 1), sg.algorithms.sssp(A, 1)
capped = sg.semiring.register_new("min_capped_plus", sg.monoid.min, lambda x, y: np.minimum(x + y, 100))
sg.Vector.from_dense(np.arange(A.nrows)).vxm(A, capped).new()
print(json.dumps(_specialise.statistics()))
"""


def test_a_second_process_recompiles_nothing(tmp_path):
    first = json.loads(python(WORK, SPGRAPH_CACHE_DIR=str(tmp_path), SPGRAPH_JIT="auto"))
    assert first["compiled"] > 0
    assert first["loaded"] == 0
    assert first["seconds"] > 0
    second = json.loads(python(WORK, SPGRAPH_CACHE_DIR=str(tmp_path), SPGRAPH_JIT="auto"))
    assert (second["compiled"], second["seconds"]) == (0, 0)
    assert second["loaded"] == first["compiled"]


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    done = subprocess.run([sys.executable, "-m", "spgraph", "info"], capture_output=True, text=True,
                          env={**os.environ, "SPGRAPH_CACHE_DIR": str(file)})  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"spgraph: SPGRAPH_CACHE_DIR={file}: cannot write there")


def test_a_foreign_package_called_semirings_is_named(tmp_path):
    (tmp_path / "semirings").mkdir()
    (tmp_path / "semirings" / "__init__.py").write_text("")
    found = subprocess.run([sys.executable, "-c", "import spgraph"], capture_output=True, text=True,
                           cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert str(tmp_path) in last
    assert "semirings" in last
