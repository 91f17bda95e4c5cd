"""Copies of a graph, which is stored once, give the answers of copies that were made, and of each copy alone."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
from devices import in_use, spread
from graphs import GRAPHS

import spgraph as sg
from spgraph import binary, monoid, semiring
from spgraph.algorithms import _fronts, _sources
from spgraph.algorithms.bfs import any_next
from spgraph.copies import Copies, most
from spgraph.engine import lanes, shares_cuda
from spgraph.exchange import group_of
from spgraph.kernels.cpu._threads import PARALLEL_WORK

SEMIRINGS = [("plus_times", "INT64"), ("min_plus", "INT64"), ("any_pair", "BOOL"), ("lor_land", "BOOL"),
             ("plus_first", "FP32"), ("max_second", "INT16"), ("plus_pair", "UINT8"), ("times_first", "INT32"),
             ("max_plus", "INT64"), ("bxor_bor", "UINT32")]  # fmt: skip


def random_graph(seed, n=60, directed=True, hub=True):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, 4 * n))
    if hub:
        rows[: 2 * n], cols[n : 3 * n] = 3, 5
    if not directed:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    keys = np.unique(rows * n + cols)
    return sg.Matrix.from_coo(keys // n, keys % n, rng.integers(1, 5, keys.size), "INT64", nrows=n, ncols=n)


class Made:
    """Copies that are made: one after the other on the diagonal of a matrix."""

    def __init__(self, A, width):
        rows, cols, values = A.to_coo()
        each = np.arange(width).repeat(rows.size) * A.nrows
        self.size = A.nrows * width
        entries = np.tile(rows, width) + each, np.tile(cols, width) + each, np.tile(values, width)
        self.matrix = sg.Matrix.from_coo(*entries, A.dtype, nrows=self.size, ncols=self.size)
        self.order = np.arange(self.size)

    def vxm(self, v, op, transposed):
        return v.vxm(self.matrix.T if transposed else self.matrix, op)


class Seen(Copies):
    """Copies, and where the positions lie that `Made` has one copy after the other."""

    def __init__(self, A, width):
        super().__init__(A, width)
        self.order = self._copies.position(*np.divmod(np.arange(self.size), A.nrows))


def random_vector(rng, order, dtype, kind):
    """Of positions in that order: a list, a bitmap, full, or with one value for all."""
    size = len(order)
    count = {"list": size // 20 + 1, "bitmap": size // 2, "full": size, "iso": size // 3}[kind]
    places = rng.choice(size, count, replace=False)
    values = 1 if kind == "iso" else rng.integers(0, 4, count)
    v = sg.Vector.from_coo(order[places], values, dtype, size=size)
    if kind == "bitmap":
        v(binary.first)[0] << 1  # what lies as a bitmap
    return v


def on(device, make):
    with sg.Context(device):
        return make()


SEEDS = [seed if seed == 1 else pytest.param(seed, marks=pytest.mark.whole) for seed in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_products_are_those_of_the_copies_made(cuda, seed, monkeypatch):
    """Any semiring, mask and accumulator, pushed and pulled, from vectors in any format; rows in pieces, too."""
    if seed % 2:
        monkeypatch.setattr(shares_cuda, "LEAST_SHARE", 16)
        monkeypatch.setattr(shares_cuda, "MOST_SHARE", 16)
    width = (2, 4, 8, 16, 32)[seed % 5]
    name, dtype = SEMIRINGS[seed % len(SEMIRINGS)]

    def run(device, kind_of_copies):
        rng = np.random.default_rng(seed)
        with sg.Context(device):
            A = on("cpu", lambda: random_graph(seed, directed=seed % 3 > 0)).to(device)
            if seed % 4 == 1:
                A = A.dup(bool) if dtype == "BOOL" else A.apply(binary.second, right=1).new()
            copies, found = kind_of_copies(A, width), []
            op = getattr(semiring, name)[dtype]
            for kind in ("list", "bitmap", "full", "iso"):
                u = random_vector(rng, copies.order, dtype, kind)
                m = random_vector(rng, copies.order, "INT8", "bitmap")
                w = random_vector(rng, copies.order, dtype, "list" if seed % 2 else "bitmap")
                whole = random_vector(rng, copies.order, dtype, "full")
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
            back = np.argsort(copies.order)
            return [(back[v.to_coo()[0]], v.to_coo()[1], v.nvals) for v in found]

    wanted = run("cpu", Made)
    for device in ("cpu", cuda):
        for k, (want, got) in enumerate(zip(wanted, run(device, Seen), strict=True)):
            assert got[2] == want[2], k
            order = np.argsort(got[0])
            np.testing.assert_array_equal(got[0][order], want[0], str(k))
            if not name.startswith("any"):
                np.testing.assert_array_equal(got[1][order], want[1], str(k))


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("width", [3, 16])
def test_products_by_several_threads(width, direction):
    """Enough edges that threads of a CPU share them: ranges of columns, and of rows in each copy."""
    with sg.Context("cpu", threads=3, direction=direction):
        A = random_graph(4, 25_000 if width == 3 else 2000)
        copies, made, rng = Seen(A, width), Made(A, width), np.random.default_rng(7)
        assert A.nvals * width > PARALLEL_WORK
        assert (len(copies._copies.row_ranges()) > width) is (width == 3)  # where a copy is enough for several
        places = rng.permutation(made.size)[:-5]
        values = rng.integers(0, 9, places.size)
        u, want_u = (sg.Vector.from_coo(one.order[places], values, size=made.size) for one in (copies, made))
        for back in (False, True):
            new = copies.vxm(u, semiring.min_plus, transposed=back).new()
            want = made.vxm(want_u, semiring.min_plus, back).new()
            assert new.isequal(want)
            assert new.nvals > made.size // 2
            kept, want_kept = u.dup(), want_u.dup()
            changed = sg.Vector(int, made.size)
            kept(binary.min, changed=changed) << copies.vxm(u, semiring.min_plus, transposed=back)
            want_kept(binary.min) << made.vxm(want_u, semiring.min_plus, back)
            assert kept.isequal(want_kept)
            assert changed.nvals > 100


def test_how_many_sources_a_cpu_does_at_once(monkeypatch):
    """All where a search is short, as many as fit where levels are small, else one by one."""
    several, real = [], _fronts.fronts_of

    def noted(A, starts, one, dtype):
        several.append(len(starts))
        return real(A, starts, one, dtype)

    monkeypatch.setattr(sys.modules["spgraph.algorithms.betweenness"], "fronts_of", noted)
    with sg.Context("cpu"):

        def ran(A, sources):
            several.clear()
            sg.algorithms.betweenness_centrality(A, sources=range(sources))
            return several

        path = sg.generators.path(200)
        assert ran(path, 200) == [200]
        monkeypatch.setattr(_sources, "FEW_EDGES", 100)
        assert ran(path, 12) == [1, 11]  # 398 edges, but 200 levels
        star = sg.generators.star(200)
        assert ran(star, 5) == [1, 1, 1, 1, 1]  # as many, but at most three levels
        monkeypatch.setattr(_sources, "POSITIONS", 999)
        assert ran(path, 12) == [1, 4, 4, 3]
        monkeypatch.setattr(_sources, "POSITIONS", 9)
        assert ran(path, 3) == [1, 1, 1]


def test_how_many_sources_gpus_do_at_once(cuda, monkeypatch):
    """As many as a given memory holds; where GPUs share them out as many as half of theirs does, if each has a few."""
    with sg.Context(cuda):
        A = random_graph(5, 40)
    parts = A.to(group_of(tuple(spread(cuda, 2))))
    with sg.Context("cpu"):
        wanted = [sg.algorithms.betweenness_centrality(A.to("cpu"), sources=range(k)).to_dense() for k in (7, 9)]
    several, real = [], _fronts.fronts_of

    def noted(A, starts, one, dtype):
        several.append(len(starts))
        return real(A, starts, one, dtype)

    monkeypatch.setattr(sys.modules["spgraph.algorithms.betweenness"], "fronts_of", noted)
    monkeypatch.setattr(_sources, "TOGETHER", 1)  # no matrices of frontiers

    def ran(A, count, **how):
        several.clear()
        found = sg.algorithms.betweenness_centrality(A, sources=range(count), **how).to_dense()
        np.testing.assert_allclose(found, wanted[count == 9], 1e-12, 1e-14)
        return sorted(several, reverse=True)

    assert ran(A, 9) == [9]
    assert ran(parts, 9) == [5, 4]
    monkeypatch.setattr(_sources, "SCRATCH", 0)
    assert ran(A, 9) == [1] * 9
    assert ran(parts, 9) == [5, 4]
    assert ran(parts, 7) == [4, 1, 1, 1]  # the second has three, too few for copies
    assert ran(parts, 9, batch=2) == [2, 2, 2, 2, 1]
    monkeypatch.setattr(_sources, "most", lambda A, room: 2)  # that is all that fits
    assert ran(parts, 9) == [1] * 9


@pytest.mark.parametrize(("device", "asked"), [("cpu", [9, 4, 4, 1]), ("cpu:3", [9])])
def test_only_who_works_alone_tries_fewer_sources(monkeypatch, device, asked):
    """Parts must all do the same, and only one of them may have no memory."""
    several = []

    def add(copy, some, total, numbers):
        several.append(len(some))
        yield
        if len(several) == 1:
            raise sg.exceptions.OutOfMemory("no room")
        return True

    monkeypatch.setattr(_sources, "_at_once", lambda *_: 32)
    with sg.Context(device, exchange="selective"):
        A = random_graph(2, 20)

        def run():
            return _sources.sum_over(A, list(range(9)), None, "graph", np.dtype(float), add)

        if len(asked) == 1:
            with pytest.raises(sg.exceptions.OutOfMemory, match="no room"):
                run()
        else:
            assert run().size == 20
    assert several == asked


def test_gpus_do_fewer_sources_at_once_where_levels_need_more_memory(cuda, monkeypatch):
    """Many levels of many edges each: what is kept of them is more than was reckoned with."""
    several, real = [], _fronts.fronts_of

    def noted(A, starts, one, dtype):
        several.append(len(starts))
        return real(A, starts, one, dtype)

    monkeypatch.setattr(sys.modules["spgraph.algorithms.betweenness"], "fronts_of", noted)
    monkeypatch.setattr(_sources, "TOGETHER", 1)
    n, layers, degree, rng = 4096, 64, 12, np.random.default_rng(0)
    wide = n // layers
    rows = np.repeat(np.arange(n - wide), degree)
    cols = (rows // wide + 1) * wide + rng.integers(0, wide, rows.size)
    keys = np.unique(np.concatenate([rows * n + cols, cols * n + rows]))
    with sg.Context("cpu"):
        A = sg.Matrix.from_coo(keys // n, keys % n, True, nrows=n, ncols=n)
        wanted = sg.algorithms.betweenness_centrality(A, sources=range(24), endpoints=True).to_dense()
    parts = A.to(group_of(tuple(spread(cuda, 2))))
    sg.algorithms.betweenness_centrality(parts, sources=[0, 1], batch=1)  # makes the copies, which are in use then
    several.clear()
    monkeypatch.setattr(_sources, "most", lambda A, room: 16)
    with sg.Context(parts._device, memory_limit=in_use(cuda) + (3 << 20)):
        got = sg.algorithms.betweenness_centrality(parts, sources=range(24), endpoints=True).to_dense()
    assert several[:2] == [12, 12]
    assert min(several) < 12
    np.testing.assert_allclose(got, wanted, 1e-12, 1e-14)


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_searches_are_those_of_single_copies(cuda, name, order):
    """Levels from three sources, of which each has an order of its own in memory; an empty graph has none."""
    graph = GRAPHS[name]
    sources = sorted({0, graph.n // 2, graph.n - 1}) if graph.n else []
    for device in ("cpu", "cpu:3", cuda):
        with sg.Context(device, partition=None if device is cuda else "random"):
            A = graph.matrix(sg).reorder(order)
            if most(A) == 1:  # parts that are to send messages, see conftest.py
                continue
            copies = Copies(A, 3)
            assert copies.width == (4 if device is cuda else 3)
            assert copies.size == copies.width * graph.n
            level = copies.vector(sources, 0, "INT32")
            front = level.dup()
            while front.nvals:
                level(~level.S, changed=front) << copies.vxm(front, any_next)
            alone = [sg.algorithms.bfs(A, source) for source in sources]
            want = sum((one.to_dense(fill_value=0) for one in alone), np.zeros(graph.n, np.int64))
            np.testing.assert_array_equal(copies.sums(level).to_dense(), want)
            np.testing.assert_array_equal(copies.counts(level)[: len(sources)], [one.nvals for one in alone])
            assert not copies.counts(level)[len(sources) :].any()
            rows, each = copies.rows(level, len(sources)), sg.algorithms.bfs_from_each(A, sources)
            assert rows.device == each.device == copies.sums(level).device == A.device
            assert rows.isequal(each)
            assert rows.shape == (len(sources), graph.n)
            assert all(rows[c, :].new().isequal(one) for c, one in enumerate(alone))
            if device == "cpu:3":
                with sg.Context(exchange="selective"):  # as between other devices: a matrix of frontiers
                    assert sg.algorithms.bfs_from_each(A, sources).isequal(each)
            assert copies.rows(level).nvals == level.nvals


@pytest.mark.parametrize("batch", [2, 3, 16, 32, 40])
@pytest.mark.parametrize("endpoints", [False, True])
def test_betweenness_from_many_sources_at_once(cuda, batch, endpoints):
    with sg.Context("cpu"):
        A = random_graph(3, 50)
        want = sg.algorithms.betweenness_centrality(A, batch=1, endpoints=endpoints).to_dense()
    with sg.Context(cuda):
        found = sg.algorithms.betweenness_centrality(A.to(cuda).reorder("degree"), batch=batch, endpoints=endpoints)
        np.testing.assert_allclose(found.to_dense(), want, 1e-12, 1e-14)


def test_how_many_copies_there_may_be(cuda, monkeypatch):
    with sg.Context(cuda):
        A, free = random_graph(1, 20), cuda.memory().free
        assert [most(A, room) for room in (0, 33, free // 80, free // 79, free // 20)] == [32, 32, 2, 1, 1]
        assert most(random_graph(1, 20)) == 32
        monkeypatch.setattr(lanes, "COUNT_MASK", 99)  # so many positions at most
        assert [most(sg.Matrix(bool, n, n)) for n in (3, 20, 24, 25, 49, 50, 99, 100)] == [32, 4, 4, 2, 2, 1, 1, 1]
    assert most(on("cpu", lambda: random_graph(1, 20))) == 256
    assert 1 <= most(on("cpu", lambda: random_graph(1, 20)), 2**30) < 256


@pytest.mark.one_device("makes parts of its own, and is about what they do unasked")
def test_parts_of_one_cpu_have_as_many_copies_as_one():
    parts = on("cpu", lambda: random_graph(1, 20)).to("cpu:3")
    assert most(parts) == 256  # they read each other's entries in place
    with sg.Context(exchange="selective"):
        assert most(parts) == 1


def test_what_is_wrong_is_named(cuda):
    A = on("cpu", lambda: random_graph(1, 20))
    for device in ("cpu", cuda):
        B = A.to(device)
        for count in (0, -1, 2.5, None, 2**62, 10**30):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"Copies: count is .*, wanted 1"):
                Copies(B, count)
        copies = Copies(B, 2)
        with pytest.raises(sg.exceptions.IndexOutOfBound, match=r"Copies.vector: vertex 20 of 20"):
            copies.vector([3, 20], 1, "INT8")
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"Copies.vector: 3 vertices for 2 copies"):
            copies.vector([3, 1, 2], 1, "INT8")
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"Copies.sums: v has size 20 on .*, wanted .* 40 "):
            copies.sums(on(device, lambda: sg.Vector(int, 20)))
        with pytest.raises(sg.exceptions.InvalidValue, match=r"Copies: A is 2 x 3, wanted a square matrix"):
            Copies(on(device, lambda: sg.Matrix(int, 2, 3)), 2)
    with pytest.raises(sg.exceptions.InvalidValue, match=r"count is 33, wanted 1 to 32 copies of 20 vertices"):
        Copies(A.to(cuda), 33)
    with sg.Context(exchange="selective"), \
            pytest.raises(sg.exceptions.InvalidValue, match=r"Copies: A lies in 3 parts, wanted one device"):
        Copies(A.to("cpu:3"), 2)


def test_copies_are_of_the_graph_as_it_was(cuda):
    for device in ("cpu", cuda):
        with sg.Context(device):
            A = on("cpu", lambda: random_graph(2, 30)).to(device)
            copies, other = Copies(A, 2), sg.Vector.from_coo(range(30), 1, size=30)
            u = copies.vector([4, 7], 1, "INT64")
            want = copies.vxm(u, semiring.plus_times).new().to_dense(fill_value=0)
            A.reorder("degree")
            A[4, 5] = 100
            other(binary.plus) << other.vxm(A)
            np.testing.assert_array_equal(copies.vxm(u, semiring.plus_times).new().to_dense(fill_value=0), want)
            later = Copies(A, 2)
            total = later.sums(later.vxm(later.vector([4, 7], 1, "INT64"), semiring.plus_times).new())
            both = A.reduce_rowwise(monoid.plus).new()
            assert total.reduce(monoid.plus).new().value == both[4].new().value + both[7].new().value


def test_a_graph_with_copies_is_freed(cuda):
    def used():
        A = on("cpu", lambda: sg.generators.grid(5, weights=None)).to(cuda)  # a kept transpose would be a cycle
        copies = Copies(A, 4)
        copies.vxm(copies.vector([1, 2], 1, "INT64"), semiring.plus_times).new()
        return weakref.ref(A)

    with sg.Context(cuda):
        used()  # loads kernels, in which CuPy's compiler may keep a frame until the next collection
        gc.collect()
        gc.disable()
        try:
            before = cuda.memory().used
            assert used()() is None
            assert cuda.memory().used == before
        finally:
            gc.enable()


@pytest.mark.parametrize("order", ["natural", "degree"])
def test_vectors_in_another_order(cuda, order):
    """What comes out of a product with another matrix may lie by its order."""
    for device in ("cpu", cuda):
        with sg.Context(device):
            copies = Copies(on("cpu", lambda: random_graph(2, 30)).to(device).reorder(order), 4)
            with sg.Context("cpu"):
                other = random_graph(5, copies.size)
            B = other.to(device).reorder("degree")
            u = sg.Vector.from_coo(np.arange(0, copies.size, 3), 1, "INT64", size=copies.size)
            for ask in (copies.counts, copies.sums, copies.rows):
                v = u.vxm(B, semiring.plus_times).new()
                plain = sg.Vector.from_coo(*v.to_coo(), size=copies.size)
                got, want = ask(v), ask(plain)
                assert np.array_equal(got, want) if ask == copies.counts else got.isequal(want)


def test_a_transpose_is_a_graph_of_its_own(cuda):
    for device in ("cpu", cuda):
        with sg.Context(device):
            A = on("cpu", lambda: random_graph(1, 20)).to(device)
            for given in (A.T, A + A):
                found, want = Copies(given, 2), Copies(given.new(), 2)
                u = found.vector([4, 7], 1, "INT64")
                assert found.vxm(u, semiring.plus_times).new().isequal(want.vxm(u, semiring.plus_times).new())


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_trace_counts_the_edges_of_all_copies(cuda, direction):
    A = on("cpu", lambda: random_graph(1, 20))
    edges = []
    for device in ("cpu", cuda):
        with sg.Context(device, direction=direction):
            copies = Copies(A.to(device), 4)
            u, v = copies.vector([4, 7, 3, 5], 1, "INT64"), sg.Vector("INT64", copies.size)
            with sg.trace() as t:
                v(~u.S) << copies.vxm(u, semiring.plus_times)
            edges.append(t.to_pandas().edges.tolist())
    assert edges[0] == edges[1]
    with sg.Context(cuda):
        with sg.trace() as t:
            sg.algorithms.betweenness_centrality(A.to(cuda), batch=8)
            sg.algorithms.bfs_from_each(A.to(cuda), range(5))
        assert t.to_pandas().edges.sum() > 0


def test_no_memory_is_said_as_everywhere(emulated):
    A = on("cpu", lambda: random_graph(1, 40)).to(emulated)
    with sg.Context(emulated):
        copies = Copies(A, 4)
        v = copies.vector([1, 2, 3], 1.0, "FP64")
        calls = {"Copies": lambda: Copies(A.dup(), 2), "Copies.sums": lambda: copies.sums(v.dup()),
                 "Copies.rows": lambda: copies.rows(v.dup())}  # fmt: skip
        for name, call in calls.items():
            told = []
            for fails in range(1, 60):
                emulated.fail_at = fails
                try:
                    call()
                except sg.exceptions.OutOfMemory as error:
                    told.append(str(error).partition(":")[0])
                finally:
                    reached, emulated.fail_at = emulated.fail_at is None, None
                if not reached:
                    break
            assert name in told


def test_arguments_that_are_none(cuda):
    with sg.Context(cuda):
        A = on("cpu", lambda: random_graph(1, 20)).to(cuda)
        copies = Copies(A, 4)
        v = copies.vector([1], 1, "INT8")
        for count in (-1, 5, 2.5, "x"):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"Copies.rows: count is .*, wanted 0 to 4"):
                copies.rows(v, count)
        for vertices in ([1.7], [float("nan")], ["a"], None, 3):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"Copies.vector: vertices is .*, wanted a list"):
                copies.vector(vertices, 1, "INT8")
        with pytest.raises(sg.exceptions.IndexOutOfBound, match="vertex 9223372036854775808 of 20"):
            copies.vector([2**63], 1, "INT8")
        for op in (semiring.any_secondi, "min_firstj"):
            with pytest.raises(sg.exceptions.InvalidValue, match=r"Copies.vxm: .* multiplies by positions"):
                copies.vxm(v, op)
        with pytest.raises(TypeError, match="Copies are not pickled"):
            pickle.dumps(copies)
        for name, call in (("most", most), ("Copies", lambda x: Copies(x, 2))):
            with pytest.raises(sg.exceptions.InvalidValue, match=f"{name}: A is of type int, wanted a Matrix"):
                call(3)
        with pytest.raises(sg.exceptions.DimensionMismatch, match=r"Copies.sums: v is of type int, wanted a Vector of"):
            copies.sums(3)
        A.resize(10, 10)
        assert copies.counts(copies.vector([15], 1, "INT8")).tolist() == [1, 0, 0, 0]


def test_one_copy_shares_the_graph(cuda):
    with sg.Context(cuda):
        A = on("cpu", lambda: random_graph(1, 20)).to(cuda)
        one = Copies(A, 1)
        assert one._matrix._block.indices is A._block.indices
        u = one.vector([3], 1, "INT64")
        for back in (False, True):
            want = sg.Vector.from_coo([3], 1, size=20).vxm(A.T if back else A, semiring.plus_times).new()
            assert one.sums(one.vxm(u, semiring.plus_times, transposed=back).new()).to_dense().tolist() == (
                want.to_dense(fill_value=0).tolist()
            )
