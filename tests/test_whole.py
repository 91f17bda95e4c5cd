"""Vectors of positions on several devices: all of a vector on each, partial results to their owners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spgraph as sg
from spgraph import _record, binary, monoid, semiring
from spgraph.exchange.group import Group
from spgraph.exchange.take import wanted_whole
from spgraph.exchange.vector_parts import VectorParts, piece_coo
from spgraph.exchange.whole import devices_of, everywhere, smallest, to_owners
from spgraph.kernels.device import Device

pytestmark = pytest.mark.cpu("devices of which there are several on any machine are CPUs")


class Named(Device):
    """A CPU that is not the same device as another."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name


def group_like(pattern: str) -> Group:
    """A group with a part on a device for each letter."""
    devices = {letter: Named(f"cpu:{letter}") for letter in pattern}
    return Group([devices[letter] for letter in pattern])


PATTERNS = ["aaaa", "ab", "aabab", "abcdefg"]
SIZES = [1, 5, 100]


@pytest.fixture(params=PATTERNS)
def group(request: pytest.FixtureRequest) -> Group:
    return group_like(request.param)


def laid(group: Group, layout: str, size: int) -> Any:
    if layout == "even":
        return group.even_layout(size)
    rng = np.random.default_rng(size)
    starts = np.concatenate([[0], np.sort(rng.integers(0, size + 1, group.parts - 1)), [size]])
    return group.layout(starts, rng.permutation(size), "mixed")


@pytest.mark.parametrize("layout", ["even", "mixed"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", [0, 0.02, 0.5, 1])
class TestMoves:
    def vector(self, group: Group, layout: str, size: int, share: float) -> VectorParts:
        rng = np.random.default_rng(int(100 * share) + size)
        ids = np.flatnonzero(rng.random(size) < share)
        v = VectorParts(size, np.float64, group, laid(group, layout, size))
        v.set_entries(ids, rng.random(ids.size))
        return v

    def test_everywhere(self, group: Group, layout: str, size: int, share: float):
        v = self.vector(group, layout, size, share)
        wholes = everywhere(v)
        for part, whole in zip(group.mine, wholes):
            assert whole.device is group.devices[part]
            assert whole is wholes[devices_of(group)[part]]
            assert whole.format == ("full" if v.nvals == size else "bitmap")
            ids, values = whole.copy().coo()
            assert np.array_equal(ids, v.coo()[0])
            assert np.array_equal(values, v.coo()[1])

    def test_to_owners(self, group: Group, layout: str, size: int, share: float):
        v = self.vector(group, layout, size, share)
        given = [whole if devices_of(group)[part] == part else None for part, whole in zip(group.mine, everywhere(v))]
        for part, blocks in zip(group.mine, to_owners(given, v.layout)):
            own = v.pieces[part]
            assert len(blocks) == (len(set(group.devices)) if own.nvals else 0)
            for block in blocks:
                assert block.size == own.size
                block.partition = own.partition
                for found, wanted in zip(piece_coo(block), piece_coo(own.copy().to_bitmap())):
                    assert np.array_equal(found, wanted)


def moved(nbytes: list[int]) -> Any:
    """A listener that adds up bytes."""

    class Listener:
        def moved(self, verb: str, source: int, target: int, values: int, size: int, form: str) -> None:
            assert source != target
            assert values > 0
            assert form in ("list", "bits", "dense")
            nbytes.append(size)

        def aside(self, function: Any) -> None:
            function()

        def __getattr__(self, name: str) -> Any:
            """It is told other things too."""
            return lambda *args, **more: False

    return Listener()


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
@pytest.mark.parametrize("size", [7, 300, 100_000])
class TestPointers:
    """Large ones take other ways than small ones do."""

    def operands(self, size: int, few: bool, dtype: type) -> tuple:
        rng = np.random.default_rng(size)
        ids = np.sort(rng.choice(size, 3 if few else max(size * 2 // 3, 3), replace=False))
        return ids, rng.integers(0, size, ids.size), rng.integers(-9, 9, ids.size).astype(dtype), rng.integers(
            -9, 9, size).astype(dtype)

    def test_gather(self, group: Group, size: int, few: bool, dtype: type):
        ids, named, _, base = self.operands(size, few, dtype)
        with sg.Context("cpu"):
            p, u = sg.Vector.from_coo(ids, named, size=size), sg.Vector.from_dense(base)
        found = u.to(group)[p.to(group)].new()
        assert found.dtype == u.dtype
        assert found.to("cpu").isequal(u[p].new())

    @pytest.mark.parametrize("op", [binary.min, binary.plus])
    def test_combine(self, group: Group, size: int, few: bool, dtype: type, op: Any):
        ids, named, terms, base = self.operands(size, few, dtype)
        with sg.Context("cpu"):
            p, x = sg.Vector.from_coo(ids, named, size=size), sg.Vector.from_coo(ids, terms, size=size)
            empty, holes = sg.Vector(dtype, size), sg.Vector.from_coo(ids, base[: ids.size], size=size)
            full = sg.Vector.from_dense(base)
        for start in (empty, holes, full):
            one, several = start.dup(), start.to(group)
            one(op)[p] << x
            several(op)[p.to(group)] << x.to(group)
            assert several.to("cpu").isequal(one, check_dtype=True)

    def test_result_of_another_type(self, group: Group, size: int, few: bool, dtype: type):
        ids, named, terms, _ = self.operands(size, few, dtype)
        with sg.Context("cpu"):
            p, x = sg.Vector.from_coo(ids, named, size=size), sg.Vector.from_coo(ids, terms.astype(float), size=size)
        for wanted in (bool, np.int16):
            with sg.Context("cpu"):
                one = sg.Vector(wanted, size)
            several = one.to(group)
            one(monoid.max)[p] << x
            several(monoid.max)[p.to(group)] << x.to(group)
            assert several.to("cpu").isequal(one, check_dtype=True)


@pytest.mark.parametrize("size", [1, 9, 5000])
def test_jump(group: Group, size: int):
    rng = np.random.default_rng(1)
    with sg.Context("cpu"):
        u = sg.Vector.from_dense(np.array([rng.integers(0, i + 1) for i in range(size)], np.int32))
    found = u.to(group).pointer_jump().new()
    assert found.dtype == u.dtype
    assert found.to("cpu").isequal(u.pointer_jump().new())


def test_one_vector_in_all_places():
    """As in hooking: pointers, what they point to, and terms are the same vector."""
    group = group_like("abca")
    with sg.Context("cpu"):
        root = sg.Vector.from_dense(np.array([0, 0, 1, 1, 3, 3, 2, 0], np.int32))
    several = root.to(group)
    for r in (root, several):
        r(binary.min)[r] << r
        r << r[r]
    assert several.to("cpu").isequal(root)


def test_what_moves():
    """No more than the smaller of requests and of the whole vector; every position is sent once by each device."""
    size = 40_000
    group = group_like("ab")
    with sg.Context("cpu"):
        v = sg.Vector.from_dense(np.arange(size)).to(group)
        p = sg.Vector.from_coo([3, 4, size - 1], [size - 1, size - 1, 0], size=size).to(group)
        many = sg.Vector.from_dense(np.zeros(size, np.int64)).to(group)
    assert not wanted_whole(v._block, 3)
    assert wanted_whole(v._block, size)
    nbytes: list[int] = []
    before, _record.listener = _record.listener, moved(nbytes)
    try:
        v[p].new()
        few, nbytes[:] = sum(nbytes), []
        v[many].new()
        whole, nbytes[:] = sum(nbytes), []
        v(binary.plus)[many] << v
        combined = sum(nbytes)
    finally:
        _record.listener = before
    assert few <= 3 * 8 + 3 * 9
    assert whole == size * 8
    assert combined == 4 + 8  # of one position that device b has terms for


def test_smallest_form():
    assert smallest(10, 10, 4) == ("dense", 40)
    assert smallest(10, 10_000, 4) == ("list", 80)
    assert smallest(5000, 10_000, 4) == ("bits", 1250 + 20_000)


class TestNear:
    """Parts of one CPU read entries where they lie, unless somebody wants to see or to say how they move."""

    @pytest.mark.parametrize("partition", ["contiguous", "random"])
    @pytest.mark.parametrize("exchange", ["auto", "selective", "broadcast"])
    @pytest.mark.parametrize("duplicate", ["1-hop", "all"])
    def test_ids_of_neighbours(self, partition: str, exchange: str, duplicate: str):
        """A product that names vertices, pushed and pulled."""
        with sg.Context("cpu"):
            A = sg.generators.rmat(7, seed=2)
            wanted = sg.algorithms.bfs(A, 3)
        for direction in ("push", "pull", "auto"):
            with sg.Context("cpu:5", partition=partition, exchange=exchange, duplicate=duplicate, direction=direction):
                B = sg.generators.rmat(7, seed=2)
                parent = sg.algorithms.bfs_parents(B, 3).to("cpu")
            for v, p in parent.to_dict().items():
                assert v == p == 3 or (A.get(p, v) and wanted.get(v) == wanted.get(p) + 1)
            assert parent.nvals == wanted.nvals

    def test_parts_without_edges(self):
        with sg.Context("cpu:3", partition=lambda indptr, indices, parts, seed: np.zeros(indptr.size - 1, int)):
            A = sg.generators.rmat(6, seed=1)
            assert [piece.nvals for piece in A._block.pieces][1:] == [0, 0]
            found = sg.algorithms.connected_components(A).to_dense(), sg.algorithms.bfs(A, 0).to_coo()
        with sg.Context("cpu"):
            A = sg.generators.rmat(6, seed=1)
            wanted = sg.algorithms.connected_components(A).to_dense(), sg.algorithms.bfs(A, 0).to_coo()
        assert np.array_equal(found[0], wanted[0])
        assert all(map(np.array_equal, found[1], wanted[1]))

    def test_a_listener_sees_messages(self):
        nbytes: list[int] = []
        with sg.Context("cpu:2"):
            A = sg.generators.grid(4, 4)
            x = sg.Vector.from_scalar(1.0, 16)
            wanted = A.mxv(x).new()
            assert not nbytes
            before, _record.listener = _record.listener, moved(nbytes)
            try:
                assert A.mxv(x).new().isequal(wanted)
            finally:
                _record.listener = before
        assert nbytes

    @pytest.mark.parametrize("parts", [3, 70])
    @pytest.mark.parametrize("partition", ["contiguous", "random"])
    def test_products_of_matrices(self, partition: str, parts: int):
        """Transposed operands, masks, accumulators, operators that name vertices, the output among the operands."""
        with sg.Context("cpu"):
            A = sg.generators.rmat(6, seed=1, weights="int", symmetrize=False)
            B = sg.generators.rmat(6, seed=2, weights="int", symmetrize=False)
            C = A[:, :40].new()
        with sg.Context(f"cpu:{parts}", partition=partition):
            a, b, c = (M.to(sg.context.device()) for M in (A, B, C))

        def results(A: Any, B: Any, C: Any) -> list:
            found = [
                A.mxm(B, semiring.plus_times).new(),
                A.mxm(B.T, semiring.min_secondi).new(mask=A.S),
                A.T.mxm(B, semiring.plus_pair).new(mask=~A.S),
                A.mxm(C, semiring.max_plus).new(),
                C.T.mxm(A.T, semiring.plus_times).new(),
            ]
            D = A.dup()
            D(binary.plus) << D.mxm(D.T, semiring.plus_times)
            return [*found, D]

        for one, several in zip(results(A, B, C), results(a, b, c)):
            assert several.to("cpu").isequal(one, check_dtype=True)


@pytest.mark.parametrize("add", [monoid.plus, monoid.min, monoid.lor])
@pytest.mark.parametrize("partition", ["contiguous", "random"])
def test_sums_of_columns(group: Group, partition: str, add: Any):
    """Each device sums up its rows; the transpose is not made."""
    rng = np.random.default_rng(0)
    rows, cols, values = rng.integers(0, 50, 300), rng.integers(0, 40, 300), rng.integers(-9, 9, 300)
    with sg.Context("cpu"):
        wide = sg.Matrix.from_coo(rows, cols, values.astype(np.int8), nrows=50, ncols=70, dup_op="plus")
        square = sg.Matrix.from_coo(cols, rows, 1.5, nrows=50, ncols=50, dup_op="first")
        empty = sg.Matrix(int, 50, 50)
    for A in (wide, square, empty):
        with sg.Context(partition=partition):
            several = A.to(group)
        assert several.reduce_columnwise(add).new().to("cpu").isequal(A.reduce_columnwise(add).new(), check_dtype=True)
        assert several.T.reduce_rowwise(add).new().to("cpu").isequal(A.reduce_columnwise(add).new())
        assert not several._block.has_transpose
