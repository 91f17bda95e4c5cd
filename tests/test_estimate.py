"""`sg.estimate`: the finished graph exactly, peaks and vectors as bounds that are near what is used."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import traced
from devices import in_use, spread
from tiling import small_tiles

import spgraph as sg
from spgraph import context, exceptions
from spgraph._room import size_text
from spgraph.engine import tiles_cuda
from spgraph.exchange import group_of
from spgraph.exchange.border import border_of

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
        return traced.peak(call)


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


@pytest.mark.parametrize(("weights", "dtype"), [(None, None), ("uniform", "FP32"), ("int", "INT64"), ("int", "INT8")])
def test_building_by_degree(emulated, weights, dtype):
    """What nobody else holds yet lets its old arrays go as it is put in order: less than 2.2 times the graph."""
    with sg.Context(emulated, order="degree"):
        held, A = Used(emulated).peak(lambda: sg.generators.rmat(14, 16, weights=weights, dtype=dtype))
        found = sg.estimate(nvals=A.nvals, nrows=A.nrows, dtype=dtype)
        assert A.order == "degree"
        assert found.graph == A._block.nbytes - (dtype is None)
        assert held <= found.peak <= 1.25 * held
        assert sg.estimate(A).peak == found.peak
    assert held < (2.7 if dtype == "INT8" else 2.2) * found.graph  # the positions of narrow values take more than these
    with sg.Context(emulated):
        assert sg.estimate(nvals=A.nvals, nrows=A.nrows, dtype=dtype).peak <= found.peak


@pytest.mark.parametrize("dtype", ["BOOL", "FP64"])
def test_transposing(used, edges, dtype):
    values = np.random.default_rng(1).integers(0, 2, M).astype(sg.dtypes.lookup_dtype(dtype).np_type)
    A = sg.Matrix.from_coo(*edges, values, nrows=N, ncols=N)
    held, _ = used.peak(lambda: A.dup()._block.oriented(True))
    found = sg.estimate(A, transpose=True)
    assert found.transpose == A._block.nbytes
    assert 0.85 <= found.peak / held <= 2


@pytest.mark.parametrize("direction", ["auto", "push", "pull", "gap"])
@pytest.mark.parametrize("weights", ["int", "uniform"])
@pytest.mark.parametrize("name", ["bfs", "bfs_parents", "sssp", "pagerank", "bfs, limited", "bfs_parents, limited"])
def test_vectors(used, name, weights, direction):
    name, limited, _ = name.partition(",")
    n = 1 << 14
    A = sg.generators.uniform(n, 16, weights=weights, seed=1)
    arguments = () if name == "pagerank" else (0,)
    call = getattr(sg.algorithms, name)
    more = {"max_depth": 3} if limited else {}  # what is left after these takes memory
    with sg.Context(direction=direction):
        held, _ = used.peak(lambda: call(A, *arguments, **more))
        bound = sg.estimate(A).vectors[name]
        assert bound == sg.estimate("uniform:14").vectors[name]
    assert held <= bound
    assert limited or bound <= 4 * held


@pytest.mark.parametrize(("spec", "make"), [
    ("rmat:6", lambda: sg.generators.rmat(6)), ("rmat:5:8", lambda: sg.generators.rmat(5, 8)),
    ("uniform:6", lambda: sg.generators.uniform(64)), ("uniform:6:4", lambda: sg.generators.uniform(64, 4)),
    ("grid:5", lambda: sg.generators.grid(5, delete=0)), ("grid:5x7", lambda: sg.generators.grid(5, 7, delete=0)),
    ("path:9", lambda: sg.generators.path(9)), ("cycle:9", lambda: sg.generators.cycle(9)),
    ("grid:3x0", lambda: sg.generators.grid(3, 0)), ("rmat:5:0", lambda: sg.generators.rmat(5, 0)),
    ("uniform:5:0", lambda: sg.generators.uniform(32, 0)), ("grid:1x5", lambda: sg.generators.grid(1, 5, delete=0)),
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
    with sg.Context(emulated, memory_limit=in_use(emulated) + 10**6):
        assert sg.estimate(nvals=10**6, nrows=10**5).fits is False


def test_a_matrix_that_is_there_needs_its_vectors_only(emulated):
    with sg.Context(emulated):
        A = sg.generators.uniform(1 << 12, 64)
        found = sg.estimate(A)
        with sg.Context(memory_limit=in_use(emulated) + max(found.vectors.values()) + 1000):
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


REAL = {name: getattr(tiles_cuda, name) for name in ("MOST", "MOST_TILES", "LEAST_GAIN", "OF_ROW")}  # of the rule


@pytest.mark.parametrize("symmetrize", [True, False])
def test_copies_by_tiles(cuda, symmetrize):
    with sg.Context(cuda, order="degree", direction="pull"), small_tiles(400, **REAL) as used:
        A = sg.generators.rmat(11, 16, seed=1, symmetrize=symmetrize)
        plain = sg.estimate(A, transpose=not symmetrize)
        sg.algorithms.hits(A)
        copied = {id(one): one.nbytes for one in used}
        assert len(copied) == (1 if symmetrize else 2)
        found = sg.estimate(A, transpose=not symmetrize)
        assert found.tiles == plain.tiles == found.graph + found.transpose
        assert sum(copied.values()) <= found.tiles <= 2 * sum(copied.values())
        values = A._block.values.nbytes * len(copied)  # the one of all entries
        assert A._block.nbytes == found.graph + found.transpose + sum(copied.values()) + values
        assert repr(found).splitlines()[-2] == f"{'tiles':<12}{size_text(found.tiles):>9}"
        with sg.Context(tiles="never"):
            assert sg.estimate(A).tiles == 0


def test_who_has_no_copies_by_tiles(cuda):
    """The host, graphs that are not by degree, small ones, and where the context says so."""
    n, nvals = 1 << 20, tiles_cuda.LEAST
    numbers = {"nvals": nvals, "nrows": n, "device": cuda}
    with sg.Context(cuda):
        natural = sg.estimate(sg.generators.rmat(10, order="natural"))
        assert (natural.tiles, sg.estimate(**numbers).tiles, sg.estimate("rmat:22").tiles) == (0, 0, 0)
    with sg.Context(cuda, order="degree"):
        assert sg.estimate(**numbers).tiles == sg.estimate(**numbers, dtype="FP64").tiles == 4 * (n + 1) + 4 * nvals
        assert sg.estimate(**numbers, transpose=True).tiles == 2 * (4 * (n + 1) + 4 * nvals)
        assert sg.estimate("rmat:22").tiles == 4 * ((1 << 22) + 1) + 4 * (1 << 27)
        assert sg.estimate(**{**numbers, "nvals": nvals - 1}).tiles == 0
        assert sg.estimate(**{**numbers, "device": "cpu"}).tiles == 0
        assert sg.estimate(nvals=nvals, nrows=1 << 32, device=cuda).tiles == 0  # columns of 8 bytes
        assert sg.estimate(nvals=1 << 31, nrows=n, device=cuda).tiles == 8 * (n + 1) + 4 * (1 << 31)
        for duplicate, width in (("1-hop", 4), ("all", 0)):  # proxies have numbers of 4 bytes
            found = sg.estimate(nvals=4 * nvals, nrows=1 << 32, devices=["cuda:0"] * 4, duplicate=duplicate)
            assert found.tiles.tolist() == [width * ((1 << 30) + 1 + nvals)] * 4
        assert sg.estimate(sg.generators.rmat(10)).tiles == 0
        with sg.Context(tiles="never"):
            assert sg.estimate(**numbers).tiles == 0


def test_copies_by_tiles_follow_the_columns(cuda):
    """Whatever the context says, which is about graphs that are not made yet: of a product's result, of a transpose."""
    with sg.Context(cuda, direction="pull"), small_tiles() as used:
        A = sg.generators.rmat(9, 8, seed=1).reorder("degree")
        n = A.nrows
        rows = sg.Matrix.from_coo(np.arange(100), np.arange(100), True, nrows=100, ncols=n).mxm(A, sg.semiring.any_pair)
        wide = rows.new()
        u, v = (sg.Vector.from_dense(np.arange(count, dtype=np.float32)) for count in (n, 100))
        for _ in range(3):
            wide.mxv(u, sg.semiring.plus_second).new()
            wide.T.mxv(v, sg.semiring.plus_second).new()
        assert wide._block.shares.copied > 0
        assert wide._block.oriented(True).shares is None or wide._block.oriented(True).shares.copied == 0
        most = int(tiles_cuda.MOST * (4 * (100 + 1) + 4 * wide.nvals))
        for order in ("natural", "degree"):
            with sg.Context(order=order):
                assert sg.estimate(wide).tiles == sg.estimate(wide, transpose=True).tiles == most
                assert sg.estimate(wide.T.new()).tiles == 0
                assert sg.estimate(wide.T.new(), transpose=True).tiles == most
                assert sg.estimate(A.reorder("natural"), transpose=True).tiles == 0
        assert used
        with sg.Context(order="degree"):  # which rows and columns that differ do not have
            assert sg.estimate(nvals=wide.nvals, nrows=100, ncols=n, transpose=True).tiles == 0


def test_copies_by_tiles_need_not_fit(cuda):
    with sg.Context(cuda, order="degree"), small_tiles():
        A = sg.generators.rmat(10, 64)
        found = sg.estimate(A)
        assert found.tiles > 10_000
        with sg.Context(memory_limit=in_use(cuda) + max(found.vectors.values()) + 10_000):
            assert sg.estimate(A).fits is True


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_copies_by_tiles_in_parts(cuda, duplicate):
    """One for the rows of each part, and one for those of the transpose."""
    group = group_of(tuple(spread(cuda, 3)))
    with sg.Context(group, order="degree", partition="random", duplicate=duplicate, direction="pull"):
        A = sg.generators.rmat(12, 64, seed=1)
        assert sg.estimate(A).tiles.tolist() == [0] * 3
        with small_tiles(400, **REAL) as used:
            sg.algorithms.pagerank(A)
            found = sg.estimate(A)
            blocks = border_of(A._block, duplicate).blocks
            copied = np.array([block.shares.copied for block in blocks])
            assert sum({id(one): one.nbytes for one in used}.values()) == copied.sum()
            assert found.tiles.tolist() == [block.indptr.nbytes + block.indices.nbytes for block in blocks]
            assert (copied > 0).all() and (copied <= found.tiles).all()
            assert repr(found).splitlines()[-2].startswith("tiles ")
            with sg.Context(tiles="never"):
                assert sg.estimate(A).tiles.tolist() == [0] * 3
                assert sg.estimate(A).total.tolist() == found.total.tolist()
            with sg.Context(order="natural"):
                assert sg.estimate(A).tiles.tolist() == found.tiles.tolist()
                one = sg.estimate(A, device=cuda).tiles
                assert one == sg.estimate(A.to(cuda)).tiles > found.tiles.max()
                assert sg.estimate(A.to(cuda), devices=group).tiles.tolist() == found.tiles.tolist()
            assert sg.estimate(A, devices="cpu:3").tiles.tolist() == [0] * 3


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_copies_by_tiles_in_parts_of_a_transpose(cuda, duplicate):
    group = group_of(tuple(spread(cuda, 3)))
    with sg.Context(group, order="degree", partition="random", duplicate=duplicate, direction="pull"):
        A = sg.generators.rmat(12, 64, seed=1, symmetrize=False)
        with small_tiles(400, **REAL):
            sg.algorithms.hits(A)
            found = sg.estimate(A, transpose=True)
            both = [border_of(block, duplicate).blocks for block in (A._block, A._block.oriented(True))]
            copied = np.sum([[block.shares.copied for block in blocks] for blocks in both], axis=0)
            most = np.sum([[block.indptr.nbytes + block.indices.nbytes for block in blocks] for blocks in both], axis=0)
            assert found.tiles.tolist() == most.tolist()
            assert (copied <= found.tiles).all() and (copied > found.tiles / 3).any()


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
    ({"nvals": 1, "nrows": 5, "duplicate": "x"}, exceptions.InvalidValue, "duplicate is 'x'"),
    ({"graph": sg.Matrix(float, 3, 3), "dtype": "nonsense"}, TypeError, "a Matrix of FP64 and dtype were given"),
    ({"graph": sg.Matrix(float, 3, 3), "dtype": "FP32"}, TypeError, r"A\.dup\(dtype\) makes one of another"),
    ({"nvals": 1, "nrows": 5, "device": "gpu"}, exceptions.InvalidValue, "estimate: device is 'gpu'"),
])  # fmt: skip
def test_errors(arguments, error, words):
    with pytest.raises(error, match=words):
        sg.estimate(**arguments)


# ---- several devices ----------------------------------------------------------------
def parts_of(A, count, partition):
    with sg.Context(partition=partition):
        return A.to(sg.Context(f"cpu:{count}").device)


def array_bytes(block):
    """Without the one value of all entries, which is not counted."""
    return block.indptr.nbytes + block.indices.nbytes + (0 if block.iso else block.values.nbytes)


@pytest.mark.cpu("the parts are the CPU's")
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("partition", ["contiguous_edges", "random", "metis"])
@pytest.mark.parametrize(("count", "weights", "symmetrize"), [(2, "int", True), (3, None, True), (7, "int", False)])
def test_parts_exactly(count, weights, symmetrize, partition, duplicate):
    with sg.Context("cpu"):
        A = sg.generators.rmat(8, seed=1, weights=weights, symmetrize=symmetrize)
    several = parts_of(A, count, partition)
    how = {"duplicate": duplicate, "transpose": not symmetrize}
    before = sg.estimate(A, devices=f"cpu:{count}", partition=partition, **how)
    block = several._block
    if not symmetrize:
        block.oriented(True)
    for found in (before, sg.estimate(several, **how)):
        assert found.devices == ("cpu",) * count and found.nvals == A.nvals
        assert found.graph.tolist() == [array_bytes(piece) for piece in block.pieces]
        used = block if symmetrize else block.oriented(True)
        assert found.transpose.tolist() == [0 if symmetrize else array_bytes(piece) for piece in used.pieces]
        border = border_of(used, duplicate)
        pairs = zip(border.blocks, used.pieces)
        proxies = [0 if block.indices is piece.indices else array_bytes(block) for block, piece in pairs]
        assert found.proxies.tolist() == proxies
        assert found.pushed.tolist() == [array_bytes(block.oriented(True)) for block in border.blocks]
        assert found.ghosts.tolist() == [block.ncols - used.cols.count(p) for p, block in enumerate(border.blocks)]
        lists = [0] * count
        if duplicate == "1-hop":
            lists = [sum(local.nbytes for local in (*border.lent[p], *border.wanted[p])) + block.cols.to_global.nbytes
                     for p, block in enumerate(border.blocks)]  # fmt: skip
        assert found.border.tolist() == lists
        assert (found.total > found.graph).all()


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_lists_between_gpus_exactly(cuda, duplicate):
    with sg.Context(group_of(tuple(spread(cuda, 3))), partition="random", duplicate=duplicate, direction="push"):
        A = sg.generators.rmat(7, seed=1)
        sg.algorithms.bfs(A, 0)
        found = sg.estimate(A)
        border = border_of(A._block, duplicate)
    assert border.direct is not None
    assert found.lists.tolist() == [numbers.nbytes for numbers in border.direct.lists.numbers]


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("weights", ["int", "uniform"])
def test_loops_between_gpus(emulated, duplicate, weights):
    """What the first loops keep, and what a loop needs besides."""
    from emulator.array import pool

    with sg.Context(group_of(tuple(spread(emulated, 2))), partition="random", duplicate=duplicate):
        A = sg.generators.uniform(1 << 14, 16, weights=weights, seed=1)
        for direction in ("push", "pull"):  # makes what single products need, of which a traced loop consists
            with sg.Context(direction=direction), sg.trace():
                sg.algorithms.bfs(A, 0)
                sg.algorithms.sssp(A, 0)
        gc.collect()  # what other tests have left
        before = pool.used
        for name in ("bfs", "bfs_parents", "sssp"):
            getattr(sg.algorithms, name)(A, 0)
        gc.collect()
        kept = pool.used - before
        found = sg.estimate(A)
        for name in ("bfs", "bfs_parents", "sssp"):
            before = pool.peak = pool.used
            result = getattr(sg.algorithms, name)(A, 0)
            held, bound = pool.peak - before, int(found.vectors[name].sum())
            assert result.nvals
            assert held <= bound <= 4 * held, (name, held, bound)
    programs = 1 << 16  # arguments of some kernels, whatever the graph's size
    assert 0.6 * found.loops.sum() <= kept <= found.loops.sum() + programs


@pytest.mark.cpu("the parts are the CPU's")
@pytest.mark.parametrize("count", [2, 4])
def test_parts_without_a_matrix_are_even_and_ghosts_are_many(count):
    found = sg.estimate("uniform:12", devices=f"cpu:{count}")
    with sg.Context(f"cpu:{count}", partition="random"):
        exact = sg.estimate(sg.generators.uniform(1 << 12))
    for name in ("graph", "proxies", "pushed", "border"):
        assert (getattr(found, name) <= 1.1 * getattr(exact, name)).all(), name
        assert (getattr(found, name) >= 0.9 * getattr(exact, name)).all(), name
    numbers = sg.estimate(nvals=found.nvals, nrows=1 << 12, devices=f"cpu:{count}")
    assert numbers.total.tolist() == found.total.tolist()


@pytest.mark.cpu("tracemalloc sees the CPU's memory")
@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
@pytest.mark.parametrize("name", ["bfs", "bfs_parents", "sssp", "pagerank"])
def test_vectors_in_parts(name, duplicate):
    # parts that read each other's entries in place hold less
    with sg.Context("cpu:3", threads=1, partition="random", duplicate=duplicate, exchange="selective"):
        A = sg.generators.uniform(1 << 14, 16, weights="int", seed=1)
        arguments = () if name == "pagerank" else (0,)
        call = getattr(sg.algorithms, name)
        held, _ = Used(sg.context.HOST).peak(lambda: call(A, *arguments))
        bound = int(sg.estimate(A).vectors[name].sum())
    assert held <= bound <= 4 * held


def test_parts_that_are_elsewhere_and_how_they_print():
    found = sg.estimate("rmat:20", devices=["cuda:0", "cuda:1", "cuda:2", "cuda:3"])
    assert len(found.devices) == 4
    text = repr(found).splitlines()
    assert text[0] == ("Estimate  1,048,576 x 1,048,576, 33,554,432 entries, unweighted, in 4 parts on cuda:0, cuda:1, "
                       "cuda:2, cuda:3, duplicate 1-hop")  # fmt: skip
    assert "in 4 parts on cpu, " in repr(sg.estimate("rmat:10", devices="cpu:4"))
    assert [line.split()[0] for line in text[2:]] == [
        "graph", "proxies", "pushed", "border", "lists", "loops", "bfs", "bfs_parents", "sssp", "pagerank", "total",
        "fits",
    ]  # fmt: skip
    if not context.find_device("auto", "").on_host:
        return
    assert found.free is None and found.fits is None
    assert sg.estimate("rmat:20", device="cuda:0,1").devices == ("cuda:0", "cuda:1")


@pytest.mark.cpu("one memory for all parts")
def test_do_the_parts_fit():
    free = context.HOST.memory().free
    assert sg.estimate("rmat:10", devices="cpu:4").fits is True
    assert sg.estimate(nvals=free // 4, nrows=10, devices="cpu:4").fits is False


@pytest.mark.parametrize(("arguments", "words"), [
    ({"device": "cpu", "devices": "cpu:2"}, "device and devices were given"),
    ({"devices": "cpu:2", "duplicate": "2-hop"}, "duplicate is '2-hop'"),
    ({"devices": "cpu:2", "partition": "best"}, "estimate: partition is 'best', wanted one of contiguous"),
    ({"devices": "cpu:2", "partition": 5}, "estimate: partition is 5, wanted a name"),
    ({"devices": "cpu:2", "partition": [[1], [1, 2]]}, "estimate: partition is .*, wanted a name"),
])  # fmt: skip
def test_errors_in_parts(arguments, words):
    with pytest.raises((TypeError, exceptions.InvalidValue), match=words):
        sg.estimate("rmat:5", **arguments)
