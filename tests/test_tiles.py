"""Pulls from tiles of columns (`engine.tiles_cuda`) against the CPU's: what a copy by tiles changes is the time.

Runs on the GPU if that is the backend, else on the emulated one.
"""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from devices import spread
from tiling import WIDTH, same_ranks_in_parts, small_tiles

import spgraph as sg
from spgraph import algorithms, binary, expression, semiring, unary
from spgraph.engine import steps_cuda, tiles_cuda
from spgraph.exchange import group_of
from spgraph.kernels.device import HOST


@pytest.fixture
def tiled(cuda):
    """The tiles that pulls have gathered from, which are small."""
    gc.collect()
    cuda.release_memory()
    with small_tiles() as used:
        yield used


def graph(device, *, size=300, seed=1, symmetric=True, dtype=bool, values=None, giants=0):
    """A random graph with hubs, by falling degree, without entries in its last rows."""
    rng = np.random.default_rng(seed)
    rows, cols = (np.minimum(rng.pareto(0.7, 9 * size) * 4, size - 20).astype(int) for _ in range(2))
    if giants:
        rows = np.concatenate([rows, np.repeat(np.arange(giants), size - 20)])
        cols = np.concatenate([cols, np.tile(np.arange(size - 20), giants)])
    if symmetric:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    place = rng.permutation(size)
    given = np.array(1) if values is None else rng.choice(values, rows.size)
    return sg.Matrix.from_coo(place[rows], place[cols], np.asarray(given, dtype) if values is not None else True,
                              nrows=size, ncols=size, dup_op=binary.first).to(device).reorder("degree")


def same(results):
    """Those of the CPU and of the GPU."""
    for x, y in zip(*results, strict=True):
        assert x.nvals == y.nvals
        (i, a), (j, b) = x.to_coo(), y.to_coo()
        i, a, j, b = (np.asarray(array) for array in (i, a, j, b))
        np.testing.assert_array_equal(j, i)
        assert a.dtype == b.dtype
        if a.dtype.kind == "f":
            np.testing.assert_allclose(b, a, 1e-5 if a.dtype == np.float32 else 1e-12)
        else:
            np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("piece", "lane", "window"), [(2048, 64, 4096), (2048, 1, 64), (64, 2, 32), (7, 1, 1000)])
@pytest.mark.parametrize("giants", [0, 3])
def test_statements(cuda, tiled, symmetric, piece, lane, window, giants, monkeypatch):
    """Whatever becomes of the product: new, accumulated by the monoid or by another operator, in another type."""
    for name, value in (("PIECE", piece), ("LANE", lane), ("WINDOW", window)):
        monkeypatch.setattr(tiles_cuda, name, value)
    results = []
    for device in (HOST, cuda):
        found = []
        with sg.Context(device, direction="pull"):
            A = graph(device, symmetric=symmetric, giants=giants)
            for k, dtype in enumerate((np.float32, np.int32)):
                u = sg.Vector.from_dense(((np.arange(A.nrows) * 37 + k) % 101 - 20).astype(dtype))
                for op in (semiring.plus_second, semiring.min_second, semiring.max_plus, semiring.plus_times):
                    for _ in range(3):
                        fresh, full, some = sg.Vector(dtype, A.nrows), u.dup(), sg.Vector(dtype, A.nrows)
                        some[:100] = 3
                        wide = sg.Vector(np.float64, A.nrows)
                        fresh << A.mxv(u, op)
                        full(op.monoid.binaryop) << A.mxv(u, op)
                        some(binary.minus) << A.mxv(u, op)
                        wide << u.vxm(A, op)
                        found += [fresh, full, some, wide]
        results.append(found)
    same(results)
    assert len(tiled) >= 90  # of twelve pulls for each of eight pairs
    assert all(len(tiles.slices) > 2 for tiles in tiled)
    assert any(tiles.split for tiles in tiled) == (piece < 10 or (piece < 100 and giants > 0))


def test_who_can_gather_from_tiles(cuda, tiled):
    """Masks, values of A, ids and what has changed: not; u in a bitmap, of one value: not."""
    with sg.Context(cuda, direction="pull"):
        A, W = graph(cuda), graph(cuda, dtype=np.int64, values=[1, 2, 5])
        n = A.nrows
        u = sg.Vector.from_dense(np.arange(n, dtype=np.float32))
        for _ in range(3):
            A.mxv(u, semiring.plus_second).new()
        assert len(tiled) == 2
        mask, one, part = sg.Vector.from_coo([1, 5], True, size=n), sg.Vector.from_scalar(2.0, n), u.dup()
        del part[5]
        changed = sg.Vector(np.float32, n)
        for _ in range(3):
            A.mxv(u, semiring.plus_second).new(mask=mask.S)
            W.mxv(u, semiring.plus_times).new()
            A.mxv(u, semiring.plus_secondi).new()
            A.mxv(one, semiring.plus_second).new()
            A.mxv(part, semiring.plus_second).new()
            low = u.dup()
            low(binary.plus, changed=changed) << A.mxv(u, semiring.plus_second)
        assert len(tiled) == 2
        for _ in range(3):
            W.mxv(u, semiring.plus_second).new()  # its values do not matter
        assert len(tiled) == 4


@pytest.mark.parametrize("run", [
    lambda A: algorithms.pagerank(A, tol=1e-10),
    lambda A: algorithms.hits(A, tol=1e-10)[0],
    lambda A: algorithms.eigenvector_centrality(A, tol=1e-9, max_iter=1000),
    lambda A: algorithms.katz_centrality(A, alpha=1e-3),
], ids=["pagerank", "hits", "eigenvector", "katz"])  # fmt: skip
def test_algorithms(cuda, tiled, run):
    found = []
    for device in (HOST, cuda):
        with sg.Context(device):
            found.append(run(graph(device)).to_dense())
    np.testing.assert_allclose(found[1], found[0], 1e-6)
    assert tiled


@pytest.mark.parametrize("duplicate", ["1-hop", "all"])
def test_parts(cuda, tiled, duplicate):
    """Columns of other parts are runs of their own, with tiles of their own."""
    same_ranks_in_parts(cuda, duplicate)
    assert len({id(tiles) for tiles in tiled}) == 3
    assert all(sum(one.kept > 0 for one in tiles.slices) > 3 for tiles in tiled)


def test_tiles_pay_where_rows_are_long(cuda, monkeypatch):
    """The rule: most entries lie in few columns, and in rows that have many."""
    monkeypatch.setattr(tiles_cuda, "LEAST", 1)
    monkeypatch.setattr(tiles_cuda, "OF_TILE", 0)
    monkeypatch.setattr(tiles_cuda, "OF_ALL", tiles_cuda.ROW)
    sections = tiles_cuda.sections_of
    with sg.Context(cuda):
        A = graph(cuda, size=2000)._block
        *long, rest = sections(A, 100, [])
        assert all(one.kept for one in long)
        assert [one.begin for one in long] == [100 * k for k in range(len(long))]
        assert [one.reach for one in long] == sorted((one.reach for one in long), reverse=True)
        assert 1 < len(long) <= tiles_cuda.MOST_TILES
        assert long[0].reach < A.nrows  # rows without entries are in none
        assert rest == (long[-1].end, A.ncols, A.nrows, False)
        assert sections(A, 100, [(0, A.ncols)]) == []  # all values are kept without them
        assert sections(A, A.ncols + 1, []) == []
        path = sg.generators.path(4000).to(cuda).reorder("degree")._block
        assert sections(path, 100, [(0, 100)]) == []
        assert sections(sg.Matrix(bool, 500, 500).to(cuda).reorder("degree")._block, 100, []) == []
        monkeypatch.setattr(tiles_cuda, "OF_TILE", 1e15)
        assert sections(A, 100, []) == []


@pytest.mark.parametrize("giants", [0, 2])
@pytest.mark.parametrize(("piece", "lane"), [(2048, 64), (64, 2), (5, 1)])
def test_every_entry_is_in_one_section(cuda, piece, lane, giants, monkeypatch):
    monkeypatch.setattr(tiles_cuda, "PIECE", piece)
    monkeypatch.setattr(tiles_cuda, "LANE", lane)
    get = cuda.to_host
    for symmetric in (True, False):
        A = graph(cuda, symmetric=symmetric, giants=giants)._block
        of = np.repeat(np.arange(A.nrows), np.diff(get(A.indptr)))
        for reach in ([280], [150, 150, 30], [300, 40, 1], [1]):
            last = len(reach) * WIDTH
            sections = [tiles_cuda.Section(t * WIDTH, (t + 1) * WIDTH, rows, True) for t, rows in enumerate(reach)]
            if giants:  # as of two runs
                sections += [tiles_cuda.Section(last, 200, 300, False), tiles_cuda.Section(200, 200 + WIDTH, 250, True)]
                last = 200 + WIDTH
            sections.append(tiles_cuda.Section(last, 300, 300, False))
            tiles = tiles_cuda.Tiles(A, sections)
            splits = get(tiles.splits)
            starts = np.concatenate([splits, splits[-1] + 1 + np.arange(A.nrows - tiles.split)])
            row_of = np.repeat(np.arange(A.nrows), np.diff(starts))
            assert row_of.size == tiles.sums
            found = []
            for section, one in zip(sections, tiles.slices, strict=True):
                begins, slots, shapes, places, words = map(get, one[2:])
                bits = 16 if one.kept else 32
                for begin, slot, shape in zip(begins, slots, shapes):
                    lanes, width = 1 << (shape & 7), shape >> 3
                    block = words[begin:begin + 32 * width].reshape(width, 32)
                    assert slot % (32 // lanes) == 0
                    for lane_number in range(32):
                        cols = [word >> shift & (1 << bits) - 1 for word in block[:, lane_number].tolist()
                                for shift in range(0, 32, bits)]
                        cols = [col + one.base for col in cols if col != tiles_cuda.NONE[32 // bits]]
                        place = slot + lane_number // lanes
                        assert not cols or place < places.size
                        found += [(row_of[places[place]], col) for col in cols]
                        if section.kept:
                            assert all(section.begin <= col < section.end for col in cols)
                        assert not cols or row_of[places[place]] < section.reach
            assert sorted(found) == list(zip(of, get(A.indices)))


@pytest.mark.parametrize("n", [59, 60, 61, 80])
@pytest.mark.parametrize("directed", [False, True])
def test_sections_have_all_columns(cuda, n, directed):
    """Also where tiles of some rows cover them exactly: the other rows' entries are in what is left, then."""
    rng = np.random.default_rng(n)
    rows, cols = np.nonzero(~np.eye(n - 3, dtype=bool))
    rows, cols = np.append(rows, [n - 3, n - 2, n - 2, n - 1]), np.append(cols, [n - 2, n - 3, n - 1, n - 2])
    if directed:
        some = rng.random(rows.size) < rng.random(n)[rows]
        rows, cols = rows[some], cols[some]
    found = []
    with small_tiles(OF_ROW=6.0, MOST_TILES=12) as used:
        for device in (HOST, cuda):
            with sg.Context(device, direction="pull"):
                A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n).to(device).reorder("degree")
                u = sg.Vector.from_dense(np.arange(1, n + 1, dtype=np.int32))
                found.append([B.mxv(u, semiring.plus_second).new() for B in (A, A.T) for _ in range(3)])
        sections = tiles_cuda.sections_of(A._block, WIDTH, [])
    same(found)
    assert len(used) >= 4
    assert [one.begin for one in sections] == [0, *(one.end for one in sections[:-1])]
    assert sections[-1][1:] == (n, n, False)
    reach = [one.reach for one in sections if one.kept]
    assert reach == sorted(reach, reverse=True)


def test_the_first_columns_may_be_read_less(cuda):
    """By falling degree of both directions the first ones may be those that read most."""
    n, rng = 200, np.random.default_rng(1)
    rows = np.concatenate([np.repeat(np.arange(20), 150), rng.integers(20, n, 900)])
    cols = np.concatenate([rng.integers(20, n, 3000), rng.integers(20, 40, 880), np.arange(20)])
    with small_tiles(OF_ROW=20.0), sg.Context(cuda):
        A = sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=binary.first).to(cuda).reorder("degree")
        reach = [one.reach for one in tiles_cuda.sections_of(A._block, WIDTH, []) if one.kept]
    assert len(reach) > 1
    assert reach == sorted(reach, reverse=True)


def test_values_of_other_sizes_have_other_tiles(cuda, tiled):
    """One copy at a time; who changes the size again and again waits ever longer for another."""
    found = []
    for device in (HOST, cuda):
        with sg.Context(device, direction="pull"):
            A = graph(device)
            found.append([
                A.mxv(sg.Vector.from_dense(np.arange(A.nrows).astype(dtype)), semiring.plus_second).new()
                for dtype in (np.int8, np.float32, np.float64, np.int64, np.float32, np.float64) for _ in range(4)
            ])  # fmt: skip
    same(found)
    # the first product of int8 and of float64 goes without, and when a size comes back, its first two
    assert [tiles.slices[0].kept for tiles in tiled] == [20] * 7 + [10] * 7 + [20] * 2 + [10] * 2
    assert len({id(tiles) for tiles in tiled}) == 4
    assert len(cuda.kept["tiles"]) == 1
    A._block.expand()
    plain = sum(x.nbytes for x in (A._block.indptr, A._block.indices))
    assert sys.getsizeof(A) - object.__sizeof__(A) >= plain + A._block.shares.copied
    assert A._block.shares.copied == tiled[-1].nbytes


def test_one_copy_at_a_time_whatever_others_do(cuda, tiled, monkeypatch):
    """Another thread's products with another size, between the choice of a step and its run."""
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u, wide = (sg.Vector.from_dense(np.arange(A.nrows).astype(dtype)) for dtype in (np.float32, np.float64))
        results = [A.mxv(u, semiring.plus_second).new() for _ in range(2)]
        gather, others = steps_cuda.PullStep._tile_sums, []

        def interrupted(step, *args):
            if not others:
                others.append(None)
                others[:] = [A.mxv(wide, semiring.plus_second).new() for _ in range(3)]
            return gather(step, *args)

        monkeypatch.setattr(steps_cuda.PullStep, "_tile_sums", interrupted)
        results.append(A.mxv(u, semiring.plus_second).new())
        assert [one.made is not None for one in A._block.shares.tilings.values()] == [False, True]
        results += [A.mxv(u, semiring.plus_second).new() for _ in range(3)]
        assert [one.made is not None for one in A._block.shares.tilings.values()] == [True, False]
    same([results[:1] * 9, [*results, *(one.apply(unary.identity).new(np.float32) for one in others)]])


def test_one_copy_at_a_time_while_others_make_one(cuda, tiled, monkeypatch):
    """Another thread's products with another size, while the copy is made."""
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u, wide = (sg.Vector.from_dense(np.arange(A.nrows).astype(dtype)) for dtype in (np.float32, np.float64))
        tiles, others = tiles_cuda.Tiles, []

        def interrupted(*args):
            if not others:
                others.append(None)
                others[:] = [A.mxv(wide, semiring.plus_second).new() for _ in range(2)]
            return tiles(*args)

        monkeypatch.setattr(tiles_cuda, "Tiles", interrupted)
        results = [A.mxv(u, semiring.plus_second).new() for _ in range(3)]
    assert [tiles.slices[0].kept for tiles in tiled] == [10, 20, 20]
    assert len(cuda.kept["tiles"]) == 1
    same([results[:1] * 5, [*results, *(one.apply(unary.identity).new(np.float32) for one in others)]])


def test_a_size_whose_copy_is_too_large_costs_others_no_wait(cuda, tiled, monkeypatch):
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u, wide = (sg.Vector.from_dense(np.arange(A.nrows).astype(dtype)) for dtype in (np.float32, np.float64))
        first, _ = (A.mxv(u, semiring.plus_second).new() for _ in range(2))
        most = 0.999 * tiled.pop().nbytes / (A._block.indptr.nbytes + A._block.indices.nbytes)
        monkeypatch.setattr(tiles_cuda, "MOST", most)
        for _ in range(3):
            A.mxv(wide, semiring.plus_second).new()
        monkeypatch.setattr(tiles_cuda, "MOST", 99)
        assert not tiled
        same([[first] * 2, [A.mxv(u, semiring.plus_second).new() for _ in range(2)]])
        assert len(tiled) == 1


def test_the_context_says_never(cuda, tiled):
    """Then no copy is made, and none that is there is used; contexts inside say the same unless they say otherwise."""
    with sg.Context(cuda, direction="pull", tiles="never"):
        A = graph(cuda)
        u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))

        def products(count):
            return [A.mxv(u, semiring.plus_second).new() for _ in range(count)]

        found = products(3)
        with sg.Context(direction="pull"):
            found += products(2)
        assert not tiled
        assert A._block.shares.copied == 0
        with sg.Context(direction="pull", tiles="auto"):
            found += products(2)
            assert len(tiled) == 2
            with sg.Context(direction="pull", tiles="never"):
                found += products(2)
            found += products(1)
        assert len(tiled) == 3
        found += products(1)
    assert len(tiled) == 3
    assert len({id(tiles) for tiles in tiled}) == 1
    same([found[:1] * len(found), found])


def test_a_copy_takes_no_more_than_the_matrix(cuda, tiled, monkeypatch):
    """Else it is not kept, nor tried again."""
    made, kept = [], tiles_cuda.Tiles

    def noted(*args):
        made.append(kept(*args))
        return made[-1]

    monkeypatch.setattr(tiles_cuda, "Tiles", noted)
    for most, count in ((1.0, 0), (99, 3)):
        monkeypatch.setattr(tiles_cuda, "MOST", most)
        with sg.Context(cuda, direction="pull"):
            A = graph(cuda)
            u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))
            results = [A.mxv(u, semiring.plus_second).new() for _ in range(4)]
        assert made.pop().nbytes > A._block.indptr.nbytes + A._block.indices.nbytes
        assert not made
        assert len(tiled) == count
        same([results[:1] * 4, results])
        assert (A._block.shares.copied > 0) == (count > 0)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("where", ["sums", "result"])
def test_the_copy_makes_room_for_a_new_result(cuda, tiled, where, parts, monkeypatch):
    """A new result that finds no room is tried again when the copy's memory is free, also if its pull was under way."""
    device = cuda if parts == 1 else group_of(tuple(spread(cuda, parts)))
    with sg.Context(device, direction="pull"):
        A = graph(cuda).to(device).reorder("degree")
        u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))
        first, *_ = (A.mxv(u, semiring.plus_second).new() for _ in range(3))
        words, alive = [weakref.ref(one.slices[-1].words) for one in tiled], []
        tiled.clear()
        assert len(words) >= parts and all(one() is not None for one in words)

        def fails(*_):
            room.undo()
            tiled.clear()
            raise MemoryError

        def spares(device):
            spare(device)
            alive.append(sum(one() is not None for one in words))

        spare, room = expression.spare, pytest.MonkeyPatch()
        monkeypatch.setattr(expression, "spare", spares)
        room.setattr(*{"sums": (type(cuda), "filled"), "result": (cuda.xp, "empty")}[where], fails)
        same([[first], [A.mxv(u, semiring.plus_second).new()]])
        assert alive == [0]


def test_tiles_fill_shared_memory():
    """Of values of any size, as far as 16 bits can number the columns."""
    wide, small = SimpleNamespace(shared_memory=227 << 10), SimpleNamespace(shared_memory=48 << 10)
    assert [tiles_cuda.tile_width(wide, size) for size in (1, 2, 4, 8)] == [57_600, 57_600, 57_600, 28_800]
    assert tiles_cuda.tile_width(small, 4) == (46 << 10) // 4
    assert tiles_cuda.tile_width(SimpleNamespace(shared_memory=1 << 20), 4) == 0xFFFF


@pytest.mark.parametrize("what", ["Tiles", "sections_of"])
def test_no_memory_for_the_copy(cuda, tiled, what, monkeypatch):
    """Then there is none, and it is not tried again and again."""
    tries = []

    def fails(*_):
        tries.append(1)
        raise MemoryError

    monkeypatch.setattr(tiles_cuda, what, fails)
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))
        results = [A.mxv(u, semiring.plus_second).new() for _ in range(5)]
    same([results[:1] * 4, results[1:]])
    assert len(tries) == 1
    assert not tiled


def test_memory_released_while_others_pull(cuda, tiled, monkeypatch):
    """The copy that was there when a step was chosen is made for this pull alone, and then as for a new matrix."""
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))
        first, second = (A.mxv(u, semiring.plus_second).new() for _ in range(2))
        run = steps_cuda.PullStep.run
        monkeypatch.setattr(steps_cuda.PullStep, "run", lambda *args: cuda.release_memory() or run(*args))
        assert len(tiled) == 1
        results = [A.mxv(u, semiring.plus_second).new()]
        assert len(tiled) == 2
        assert len(cuda.kept.get("tiles", ())) == 0
        results += [A.mxv(u, semiring.plus_second).new() for _ in range(3)]
        assert len(tiled) == 3  # of these three the second, after whose copy there is none again
    same([[first, second] * 2, results])


def test_memory_comes_back(cuda, tiled, monkeypatch):
    """The copy is dropped when memory is released, and with its matrix; it is not made where memory is scarce."""
    with sg.Context(cuda, direction="pull"):
        A = graph(cuda)
        u = sg.Vector.from_dense(np.arange(A.nrows, dtype=np.float32))
        wanted = [A.mxv(u, semiring.plus_second).new().to_dense(-1) for _ in range(3)]
        assert len(tiled) == 2
        assert len(cuda.kept["tiles"]) == 1
        before = A._block.nbytes
        cuda.release_memory()
        assert A._block.nbytes < before
        for k in (2, 3):  # as for a new one
            np.testing.assert_array_equal(A.mxv(u, semiring.plus_second).new().to_dense(-1), wanted[0])
            assert len(tiled) == k
        tiled.clear()
        del A
        gc.collect()
        assert len(cuda.kept["tiles"]) == 0
        monkeypatch.setattr(tiles_cuda, "ROOM", 1 << 60)
        A = graph(cuda)
        for _ in range(5):
            np.testing.assert_array_equal(A.mxv(u, semiring.plus_second).new().to_dense(-1), wanted[0])
        assert not tiled
