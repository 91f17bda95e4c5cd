"""Every real file: read as its answers say, or refused with its name and line (SPGRAPH_DATA)."""

import hashlib
import json
import os

import numpy as np
import pytest
import scipy.io
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

from semirings.exceptions import InvalidValue
from spgraph.io import FormatError, read, read_edgelist, read_matrix_market, read_metis, to_scipy, write

FORMATS = (
    "METIS .graph",
    "Matrix Market",
    "edge list",
    "DIMACS/PACE .gr",
    "'a u v w' lines",
    "'i j x' triples, 0-based, no header",
)
WITHOUT_BANNER = {"lagraph/west0067_noheader"}
TIMES_NOT_WEIGHTS = {"CollegeMsg"}
BOTH_TRIANGLES = {"graphblast/test_mesh", "graphblast/test_mis"}  # "symmetric", yet every edge stands twice
DIRECTED_LISTS = {"gap/4.graph": "0", "gap/4w.graph": None}  # not METIS: directed, one with a wrong fmt
REFUSED = {  # formats that are not read
    "adjacency lines (LDBC validation)": (
        FormatError,
        r"-input, line \d+: got '.*', expected ([23] numbers|'u v').*LDBC.* not read: write each edge as a line",
    ),
    "GML": (InvalidValue, r"celegansneural\.gml: .*the formats here, which are \.mtx, .*: use networkx\.read_gml"),
    "MATLAB v5": (InvalidValue, r"minnesota\.mat: .*the formats here, which are \.mtx, .*: use scipy\.io\.loadmat"),
    "BVGraph": (FormatError, r"cnr-2000\.graph\.gz, line \d+: .* BVGraph, are not read; .* edge lists, which are"),
}
LONE_IDS = {"cugraph/karate_mod"}  # lines with one id: named vertices without edges


def load_json(name):
    folder = os.environ.get("SPGRAPH_DATA")
    if not folder:
        return None
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


MANIFEST = load_json("manifest.json") or []
GRAPHS = [pytest.param(entry, id=entry["name"]) for entry in MANIFEST if entry["format"] in FORMATS]
FIXTURES = [
    pytest.param(entry, id=entry["name"]) for entry in MANIFEST if "parser fixture" in entry["format"]
]
GRAPHS = GRAPHS or [pytest.param(None, id="SPGRAPH_DATA not set")]
OTHERS = [pytest.param(entry, id=entry["name"]) for entry in MANIFEST if entry["format"] in REFUSED]
OTHERS = OTHERS or [pytest.param(None, id="SPGRAPH_DATA not set")]
FIXTURES = FIXTURES or [pytest.param(None, id="SPGRAPH_DATA not set")]


@pytest.fixture(scope="module")
def answers(data_dir):
    return load_json("answers.json")["graphs"]


def read_entry(entry, data_dir, **options):
    path = data_dir / entry["files"][0]["file"]
    name = entry["name"]
    if name in WITHOUT_BANNER:
        return read_matrix_market(path, banner="matrix coordinate real general", **options)
    if name in TIMES_NOT_WEIGHTS:
        return read_edgelist(path, weights=False, **options)
    if name in DIRECTED_LISTS:
        return read_metis(path, directed=True, fmt=DIRECTED_LISTS[name], **options)
    if len(entry["files"]) == 2:
        return read_edgelist(path, vertices=data_dir / entry["files"][1]["file"], **options)
    return read(path, "edgelist" if entry["format"] == "edge list" else None, **options)


def ends(A):
    names = np.arange(A.nrows) if A.labels is None else A.labels
    return names[0], names[-1]


@pytest.mark.parametrize("entry", GRAPHS)
def test_raw_counts(entry, data_dir, answers):
    raw = answers[entry["name"]]["raw"]
    if entry["name"] in LONE_IDS:
        with pytest.raises(FormatError, match=r"line 79: got '35', expected 2 numbers"):
            read_entry(entry, data_dir)
        return
    repeated = raw["duplicate_entries"] > 0 or entry["name"] in BOTH_TRIANGLES
    if repeated:
        with pytest.raises(FormatError, match=r"line \d+: the pair .* dup_op="):
            read_entry(entry, data_dir)
    A = read_entry(entry, data_dir, dup_op="min" if repeated else None)
    report = A.report
    assert report.edges == raw["entries"]
    assert A.shape == (raw["n"], raw["n"])
    merged = report.duplicates_merged if entry["name"] not in BOTH_TRIANGLES else 0
    assert merged == raw["duplicate_entries"]
    assert A.nvals == report.stored == report.edges - report.duplicates_merged + report.reversed_added
    without = read_entry(entry, data_dir, dup_op="min" if repeated else None, drop_self_loops=True)
    assert without.report.self_loops_dropped == raw["self_loops"]
    if raw["n_declared"] is None and entry["format"] == "edge list":
        assert ends(A) == (raw["min_id"], raw["max_id"])
    values = A.to_coo()[2]
    if raw["weighted"] and not repeated and values.dtype != np.bool_ and "w_min" in raw:
        assert np.isclose(np.nanmax(values), raw["w_max"], rtol=1e-6)
        assert int((values == 0).sum()) >= raw["w_zero"]
        assert int((~np.isfinite(values)).sum()) == raw["w_nonfinite"]


@pytest.mark.parametrize("entry", OTHERS)
def test_other_formats_are_refused(entry, data_dir):
    error, message = REFUSED[entry["format"]]
    with pytest.raises(error, match=message):
        read(data_dir / entry["files"][0]["file"])


@pytest.mark.parametrize(("name", "line"), [("4", 3), ("4w", 1)])
def test_directed_lists_are_not_metis(name, line, data_dir):
    with pytest.raises(FormatError, match=rf"{name}\.graph, line {line}: "):
        read(data_dir / f"gap/{name}.graph")


def test_every_file_is_looked_at(data_dir):
    fixtures = "Matrix Market (parser fixture, no graph answers)"
    assert {entry["format"] for entry in MANIFEST} == {*FORMATS, *REFUSED, fixtures}


def sha256(array, dtype):
    return hashlib.sha256(np.asarray(array, dtype).tobytes()).hexdigest()


@pytest.mark.parametrize("entry", GRAPHS)
def test_simple_graph(entry, data_dir, answers):
    """Symmetrised, without loops, smallest weights: structure and distances as recorded."""
    if entry["name"] in LONE_IDS:
        pytest.skip("refused, see test_raw_counts")
    und = answers[entry["name"]]["und"]
    A = read_entry(entry, data_dir, dup_op="min", symmetrize=True, drop_self_loops=True)
    assert (A.nrows, A.nvals) == (und["V"], 2 * und["E"])
    graph = to_scipy(A)
    degree = np.diff(graph.indptr)
    assert (int(degree.max(initial=0)), int((degree == 0).sum())) == (und["max_degree"], und["isolated"])
    pattern = graph.astype(bool).astype(np.int8)
    pattern.data[:] = 1
    assert connected_components(pattern, directed=False)[0] == und["wcc"]
    for key in ("bfs_s0", "bfs_s1"):
        if key in und:
            assert sha256(levels(pattern, und[key]["source"]), "<i4") == und[key]["sha256"]


@pytest.mark.parametrize("entry", GRAPHS)
def test_weights(entry, data_dir, answers):
    """Distances with the file's own weights, along directed edges and along all."""
    found = answers[entry["name"]]
    for part, symmetrize in (("und", True), ("dir", False)):
        recorded = [
            found[part][key]
            for key in ("sssp_file_s0", "sssp_file_s1", "sssp_file_s2")
            if key in found.get(part, {})
        ]
        if not recorded:
            continue
        A = read_entry(entry, data_dir, dup_op="min", symmetrize=symmetrize, drop_self_loops=True)
        weights = to_scipy(A).astype(np.float64)
        weights.data += 1e-8  # SciPy takes zero for "no edge"
        for expected in recorded:
            dist = dijkstra(weights, indices=expected["source"])
            reached = np.isfinite(dist)
            assert int(reached.sum()) == expected["reached"]
            if "sha256" in expected:
                assert (
                    sha256(np.where(reached, np.floor(np.where(reached, dist, 0)), -1), "<i8")
                    == expected["sha256"]
                )
            else:
                assert np.isclose(dist[reached].sum(), expected["sum"], rtol=1e-4)
                assert np.isclose(dist[reached].max(), expected["max"], rtol=1e-4)


def levels(pattern, source):
    order, before = breadth_first_order(pattern, source)
    level = np.full(pattern.shape[0], -1)
    level[source] = 0
    for v in order[1:].tolist():
        level[v] = level[before[v]] + 1
    return level


@pytest.mark.parametrize("entry", FIXTURES)
def test_parser_fixtures(entry, data_dir):
    path = data_dir / entry["files"][0]["file"]
    name = entry["name"].split("/")[1]
    if name.startswith("mangled") or name in ("complex", "full_noheader"):
        with pytest.raises(FormatError, match=rf"{name}\.mtx, line \d+: "):
            read(path)
        return
    A = read(path)
    expected = entry["answers"]["scipy_mmread"]
    assert list(A.shape) == expected["shape"]
    assert A.nvals == expected["stored"]
    theirs = scipy.io.mmread(path, spmatrix=False)
    theirs = theirs if isinstance(theirs, np.ndarray) else theirs.toarray()
    assert np.array_equal(
        A.to_dense(0).astype(theirs.dtype), theirs.astype(A.dtype.np_type).astype(theirs.dtype)
    )


COPIED = {
    "rome99": ["a.gr", "a.npz", "a.csv", "a.parquet", "a.edges", "a.mtx.gz"],
    "networkit-PGPgiantcompo": ["a.graph", "a.graph.gz", "a.npz", "a.csv.gz", "a.parquet", "a.tsv"],
    "musae_github": ["a.npz", "a.csv", "a.parquet"],
}


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, files in COPIED.items() for file in files])
def test_copies_in_other_formats(name, file, data_dir, tmp_path):
    if file == "a.parquet":
        pytest.importorskip("pyarrow")
    (entry,) = (entry for entry in MANIFEST if entry["name"] == name)
    A = read_entry(entry, data_dir, dup_op="min")
    write(A, tmp_path / file)
    B = read(tmp_path / file)
    assert A.isequal(B, check_dtype=True)
    assert np.array_equal(A.labels, B.labels)
