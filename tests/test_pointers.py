"""Vectors of positions as indices, pointer jumping, some entries of every row: what they do, and what they refuse.

python-graphblas has none of these; what replaces them there is in `programs.structure`.
"""

import numpy as np
import pytest
from devices import gpus, spread
from graphs import rmat

import spgraph
from spgraph import binary, monoid, select, semiring, unary
from spgraph.exceptions import IndexOutOfBound, InvalidValue
from spgraph.exchange import InProcess, group_of
from spgraph.kernels.cuda.device import SLOTS
from spgraph.kernels.cuda.launch import CudaKernel, Pending


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """python-graphblas takes lists only."""


def vector(sg, dense, dtype="INT64"):
    """None stands for no entry."""
    ids = [i for i, x in enumerate(dense) if x is not None]
    return sg.Vector.from_coo(ids, [dense[i] for i in ids], dtype, size=len(dense))


class TestGather:
    def test_values(self, sg):
        v, p = vector(sg, [5, None, 7, 8]), vector(sg, [3, 1, None, 0, 3, 2])
        found = v[p].new()
        assert found.dtype == "INT64"
        assert found.size == 6
        assert found.to_dict() == {0: 8, 3: 5, 4: 8, 5: 7}

    @pytest.mark.parametrize("dtype", ["INT8", "UINT16", "INT32", "UINT64"])
    def test_types_of_positions(self, sg, dtype):
        v = vector(sg, [1.5, 2.5, 3.5], "FP32")
        assert v[vector(sg, [2, 0, 2], dtype)].new().to_dense().tolist() == [3.5, 1.5, 3.5]

    def test_with_mask_and_accumulator(self, sg):
        v, p, w = vector(sg, [10, 20, 30]), vector(sg, [2, 2, 0]), vector(sg, [1, 1, 1])
        w(vector(sg, [1, None, 1]).S, binary.plus) << v[p]
        assert w.to_dense().tolist() == [31, 1, 11]

    def test_of_expressions(self, sg):
        v, p = vector(sg, [10, 20, 30]), vector(sg, [2, 2, 0])
        assert (v + v)[p.apply(binary.min, right=1)].new().to_dense().tolist() == [40, 40, 20]

    def test_one_value_for_all(self, sg):
        v, p = sg.Vector.from_scalar(4, 3), sg.Vector.from_scalar(1, 5)
        assert v[p].new().to_dense().tolist() == [4] * 5
        assert vector(sg, [1, 2, 3])[p].new().to_dense().tolist() == [2] * 5

    @pytest.mark.parametrize("iso", [False, True])
    @pytest.mark.parametrize("dense", [[4, 3, 7, None, None, 0, 2, 0], [None] * 7 + [3], [4, 3, 7, 1, 1, 0, 2, 0]])
    def test_the_result_is_a_vector_of_its_own(self, sg, dense, iso):
        u, p = sg.Vector.from_scalar(5, 8) if iso else vector(sg, list(range(8))), vector(sg, dense)
        p[7] = 1
        w = sg.Vector(int, 8)
        w << u[p]
        wanted = w.to_dict()
        for i in range(8):
            p[i], u[i] = 0, 9
        assert (w.to_dict(), w.nvals) == (wanted, len(wanted))
        u, p = (sg.Vector.from_scalar(5, 8) if iso else vector(sg, list(range(8)))), vector(sg, dense)
        before = u.to_dict(), p.to_dict()
        w << u[p]
        for i in range(8):
            w[i] = 77
        assert (u.to_dict(), p.to_dict()) == before

    def test_nothing(self, sg):
        v, p = vector(sg, [1, 2, 3]), sg.Vector(int, 4)
        assert v[p].new().nvals == 0
        assert sg.Vector(int, 3)[vector(sg, [0, 1])].new().nvals == 0
        assert sg.Vector(int, 0)[sg.Vector(int, 0)].new().size == 0

    @pytest.mark.parametrize("bad", [-1, 3, 2**40])
    def test_out_of_bounds(self, sg, bad):
        v = vector(sg, [1, 2, 3])
        for p in (vector(sg, [0, bad, 1]), vector(sg, [None, bad, None]), sg.Vector.from_scalar(bad, 3)):
            with pytest.raises(sg.exceptions.IndexOutOfBound, match=r"v\[p\]: \d values of p are no position of v.*3"):
                v[p].new()
            before = v.dup()
            with pytest.raises(sg.exceptions.IndexOutOfBound, match=r"v\(accum\)\[p\] << x: \d values of p"):
                v(binary.min)[p] << 0
            assert v.isequal(before)

    @pytest.mark.parametrize("dtype", ["BOOL", "FP64"])
    def test_other_vectors_are_no_positions(self, sg, dtype):
        with pytest.raises(TypeError, match="mask"):
            vector(sg, [1, 2])[vector(sg, [1, 1], dtype)]


class TestCombine:
    @pytest.mark.parametrize(("op", "wanted"), [
        (binary.min, [1, None, -3]), (binary.plus, [7, None, 7]), (monoid.max, [6, None, 10]), ("times", [6, None, -30])
    ])  # fmt: skip
    def test_many_for_one_position(self, sg, op, wanted):
        v, p, x = vector(sg, [1, None, None]), vector(sg, [0, 2, 2, None, 0]), vector(sg, [6, -3, 10, 5, None])
        v(op)[p] << x
        assert v.isequal(vector(sg, wanted))

    @pytest.mark.parametrize("dtype", ["INT8", "INT32", "UINT64", "FP32", "FP64"])
    def test_against_numpy(self, sg, dtype):
        rng = np.random.default_rng(0)
        for share in (0.05, 0.6, 1.0):
            at, values, start = rng.integers(0, 50, 4000), rng.integers(0, 9, 4000), rng.integers(0, 9, 50)
            there = rng.random(4000) < share
            for op, ufunc in ((binary.min, np.minimum), (binary.max, np.maximum)):
                v = sg.Vector.from_dense(start).dup(dtype)
                x = sg.Vector.from_coo(np.flatnonzero(there), values[there], dtype, size=4000)
                v(op)[sg.Vector.from_dense(at)] << x
                wanted = start.copy()
                ufunc.at(wanted, at[there], values[there])
                assert v.dtype == dtype
                assert v.to_dense().tolist() == wanted.tolist()

    def test_other_types_are_cast(self, sg):
        v = vector(sg, [1, 2], "INT8")
        v(binary.plus)[vector(sg, [0, 0])] << vector(sg, [100, 100], "INT64")
        assert v.to_dense().tolist() == [-55, 2]  # 201 of INT8

    def test_a_number(self, sg):
        v = vector(sg, [None, 5, 5])
        v(binary.plus)[vector(sg, [0, 0, 1])] << 2
        assert v.to_dense().tolist() == [4, 7, 5]

    def test_the_vector_is_also_index_and_value(self, sg):
        v = vector(sg, [0, 0, 1, 2])
        v(binary.plus)[v] << v
        assert v.to_dense().tolist() == [0, 1, 3, 2]

    def test_stays_as_it_was_after_an_error(self, sg):
        v, p = vector(sg, [1, 2, 3]), vector(sg, [0, 1])
        before = v.dup()
        with pytest.raises(TypeError, match="none, but the operator of a monoid"):
            v[p] << vector(sg, [1, 2])
        with pytest.raises(TypeError, match=r"minus\[INT64\], but the operator of a monoid"):
            v(binary.minus)[p] << vector(sg, [1, 2])
        with pytest.raises(TypeError, match="takes no mask"):
            v(v.S, binary.min)[p] << vector(sg, [1, 2])
        with pytest.raises(sg.exceptions.DimensionMismatch, match="x has size 3, but p has size 2"):
            v(binary.min)[p] << v
        with pytest.raises(TypeError, match=r"x is .*, but a Vector or a number"):
            v(binary.min)[p] << [1, 2]
        assert v.isequal(before)


class TestPointerJump:
    def test_values(self, sg):
        v = vector(sg, [0, 0, 1, 3, 2, 3], "INT16")
        ends = v.pointer_jump().new()
        assert ends.dtype == "INT16"
        assert ends.to_dense().tolist() == [0, 0, 0, 3, 0, 3]
        v(vector(sg, [None, None, None, None, 1, 1]).S) << v.pointer_jump()
        assert v.to_dense().tolist() == [0, 0, 1, 3, 0, 3]

    @pytest.mark.parametrize("dtype", ["INT32", "UINT32", "INT64"])
    def test_long_ways(self, sg, dtype):
        n = 3000
        for back in (1, 2, 700):
            v = sg.Vector.from_dense(np.maximum(np.arange(n) - back, 0)).dup(dtype)
            assert v.pointer_jump().new().to_dense().tolist() == [0] * n
        v = sg.Vector.from_dense(np.where(np.arange(n) % 1000, np.arange(n) - 1, np.arange(n))).dup(dtype)
        assert v.pointer_jump().new().to_dense().tolist() == (np.arange(n) // 1000 * 1000).tolist()

    def test_in_the_order_of_a_matrix(self, sg):
        A = rmat(9, 4, seed=1).matrix(sg, bool).reorder("degree")
        ids = sg.Vector.from_dense(np.arange(A.nrows))
        low = ids.dup()
        low(binary.min) << A.mxv(ids, semiring.min_second)
        ends = low.to_dense()
        for _ in range(12):
            ends = ends[ends]
        assert low.pointer_jump().new().to_dense().tolist() == ends.tolist()

    @pytest.mark.parametrize("dense", [[0, 2, 2], [0, -1, 0], [1, 0, 0]])
    def test_pointers_upwards(self, sg, dense):
        v = vector(sg, dense)
        with pytest.raises(sg.exceptions.InvalidValue, match=r"pointer_jump: 1 values of v are negative or larger"):
            v << v.pointer_jump()
        assert v.to_dense().tolist() == dense

    def test_wrong_vectors(self, sg):
        with pytest.raises(sg.exceptions.InvalidValue, match=r"pointer_jump: v has 1 entries for 2 positions"):
            vector(sg, [0, None]).pointer_jump().new()
        with pytest.raises(sg.exceptions.DomainMismatch, match=r"pointer_jump: v has dtype FP64"):
            vector(sg, [0.0], "FP64").pointer_jump()

    def test_nothing(self, sg):
        assert sg.Vector(int, 0).pointer_jump().new().size == 0
        assert sg.Vector.from_scalar(0, 4).pointer_jump().new().to_dense().tolist() == [0] * 4


class TestSomeEntries:
    @pytest.mark.parametrize("k", [0, 1, 2, 100])
    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_of_every_row(self, sg, graph, order, k):
        A = graph.matrix(sg).reorder(order)
        for whole in (A, A.T):
            some = whole.selectk("any", k)
            assert (some.dtype, some.shape) == (A.dtype, A.shape)
            degree = whole.reduce_rowwise("count").new()
            wanted = select.valuegt(degree.apply(binary.min, right=k).new(), 0).new()
            assert some.reduce_rowwise("count").new().isequal(wanted)
            assert binary.eq(some & whole).new().reduce_scalar(monoid.plus["INT64"]).get(0) == some.nvals

    @pytest.mark.parametrize("k", [1, 2, 4, 5])
    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_products(self, sg, graph, order, k):
        """A GPU multiplies by them where they lie, any number of times and whatever comes between."""
        A = graph.matrix(sg).reorder(order)
        n = A.nrows
        u = sg.Vector.from_dense(np.arange(n) % 7 + 1)
        part = sg.Vector.from_coo(np.arange(0, n, 3), np.arange(0, n, 3) % 5, size=n)
        made = A.selectk("any", k)
        made.nvals  # noqa: B018
        few = A.selectk("any", k)
        for turn in range(3):
            for x in (u, part):
                for ring in ("min_plus", "plus_second", "any_pair", "max_first"):
                    if ring == "any_pair" or made.nvals:
                        assert few.mxv(x, ring).new().isequal(made.mxv(x, ring).new(), check_dtype=True)
                for mask in (part.S, ~part.S, part.V):
                    got, wanted = u.dup(), u.dup()
                    got(mask, binary.min) << few.mxv(x, "min_plus")
                    wanted(mask, binary.min) << made.mxv(x, "min_plus")
                    assert got.isequal(wanted)
                got, wanted, fell, changed = u.dup(), u.dup(), u.dup(), u.dup()
                got(binary.min, changed=fell) << few.mxv(x, "min_second")
                wanted(binary.min, changed=changed) << made.mxv(x, "min_second")
                assert got.isequal(wanted) and fell.isequal(changed)
            if turn == 1:
                A << A.apply(unary.ainv)  # other values: what was selected stays
        assert u.vxm(few, "min_plus").new().isequal(u.vxm(made, "min_plus").new())
        assert few.isequal(made) and few.nvals == made.nvals

    @pytest.mark.parametrize("order", ["natural", "degree"])
    @pytest.mark.parametrize("where", ["here", "a GPU", "two GPUs"])
    def test_all_uses_of_what_is_not_made(self, sg, cuda, where, order):
        with spgraph.Context({"here": None, "a GPU": cuda, "two GPUs": group_of(tuple(spread(cuda, 2)))}[where]):
            self.use_all(sg, sg.generators.rmat(5, 4).reorder(order))

    def use_all(self, sg, A):
        def written(out, value):
            new = out.dup()
            new << value
            return new

        wanted = A.selectk("any", 2)
        wanted.nvals  # noqa: B018
        uses = [
            lambda few: few.dup(),
            lambda few: few.T.new(),
            lambda few: few.apply(unary.ainv).new(),
            lambda few: few.mxm(A, "plus_times").new(),
            lambda few: A.mxm(few, "plus_times").new(),
            lambda few: few.mxm(few, "plus_times").new(),
            lambda few: A.mxm(A, "plus_times").new(mask=few.S),
            lambda few: few.kronecker(few, "times").new(),
            lambda few: few.power(3).new(),
            lambda few: few.dup(float),
            lambda few: few.diag(),
            lambda few: written(A, few),
            lambda few: few.reduce_columnwise("count").new(),
            lambda few: few[3, :].new(),
            lambda few: (few & A).new(),
            lambda few: sg.Matrix.from_csr(*few.to_csr(), ncols=A.ncols),
            lambda few: few.to("cpu"),
            lambda few: few.reorder("degree"),
        ]
        for use in uses:
            assert use(A.selectk("any", 2)).isequal(use(wanted))
        few = A.selectk("any", 2)
        few << A
        assert few.isequal(A)
        few = A.selectk("any", 2)
        few.clear()
        assert few.nvals == 0 and few.mxv(sg.Vector.from_scalar(1, A.ncols), "plus_times").new().nvals == 0

    def test_no_room_for_them(self, cuda):
        """They may be made when somebody asks for their number: the error says what was to be made."""
        # of a card's pool, which other tests have used, pieces may be free that belong to no limit: larger than these
        with spgraph.Context("cpu"):
            there = spgraph.generators.path(1 << (21 if gpus(cuda) and cuda.name.startswith("cuda") else 12))
        A = there.to(cuda)
        few, wanted = A.selectk("any", 2), A.selectk("any", 2)
        with (
            spgraph.Context(cuda, memory_limit=1000),
            pytest.raises(spgraph.exceptions.OutOfMemory, match=r"selectk: .* has no room"),
        ):
            few.nvals  # noqa: B018
        assert few.isequal(wanted)
        few = A.selectk("any", 2)
        few.clear()
        assert few._block.source is few._block  # nothing is kept for what will never be made

    def test_one_value_for_all(self, sg):
        A = sg.generators.complete(5).apply(unary.one).new()
        assert A.selectk("any", 3).nvals == 15

    def test_errors(self, sg):
        A = sg.Matrix(int, 2, 3)
        with pytest.raises(sg.exceptions.InvalidValue, match='selectk: how is \'last\', wanted "any"'):
            A.selectk("last", 1)
        with pytest.raises((ValueError, TypeError), match="selectk: k"):
            A.selectk("any", -1)
        assert A.selectk("any", 2).shape == (2, 3)


def test_pointers_known_to_lead_downwards_are_not_checked_again(cuda, monkeypatch):
    """Until they are written to, in whatever way."""
    before = spgraph.context.set_default(cuda)
    try:
        v = spgraph.Vector.from_dense(np.array([0, 0, 1, 3, 3, 4], np.int32))
        v << v.pointer_jump()
        x = spgraph.Vector.from_coo([5, 2], [0, 1], np.int32, size=6)
        started = []
        call = CudaKernel.__call__
        monkeypatch.setattr(CudaKernel, "__call__", lambda kernel, *args, **how: started.append(kernel.name) or call(
            kernel, *args, **how))
        w = v.dup()
        w(binary.min)[w] << x
        assert "outside" not in started
        assert w.to_dense().tolist() == [0, 0, 0, 0, 3, 3]
        for write in (lambda v: v(binary.plus)[:] << 9, lambda v: v.__setitem__(1, 9),
                      lambda v: v(binary.second) << x * 9, lambda v: v.__lshift__(v.apply(binary.plus, right=9))):
            w = v.dup()
            write(w)
            started.clear()
            with pytest.raises(IndexOutOfBound, match="no position of v"):
                w(binary.min)[w] << x
            assert "outside" in started
    finally:
        spgraph.context.set_default(before)


@pytest.fixture(params=[1, 2, 3])
def on_gpus(request, cuda, monkeypatch):
    """A GPU, or parts on several, as the default; one GPU stands for several."""
    if cuda.name.startswith("cuda") and gpus(cuda) < 2:
        monkeypatch.setattr(InProcess, "linked", True)
    device = cuda if request.param == 1 else group_of(tuple(spread(cuda, request.param)))
    before = spgraph.context.set_default(device)
    yield device
    spgraph.context.set_default(before)


def hooked(device, order):
    """A graph, and pointers that are known to lead downwards."""
    with spgraph.Context("cpu"):
        A = spgraph.generators.rmat(6, 4, seed=2)
    root = spgraph.Vector.from_dense(np.arange(A.nrows, dtype=np.int32))
    root << root.pointer_jump()
    return A.to(device).reorder(order), root


def jumped(root):
    """The ends of pointers, by NumPy."""
    while not np.array_equal(root, root[root]):
        root = root[root]
    return root


@pytest.mark.one_device("makes parts of its own")
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("few", [False, True])
def test_rounds_of_hooking_wait_for_nothing(on_gpus, order, few, monkeypatch):
    """Terms that are pointers, chosen by ``min``, ``max`` or ``any``, lower others, and are not negative."""
    A, root = hooked(on_gpus, order)
    A = A.selectk("any", 2) if few else A
    waited = []
    get = Pending.get

    def noted(self):  # what is asked for only since its place is used again has come long ago
        waited.append(self._values is None and self._device._sequence - self._sequence < SLOTS)
        return get(self)

    monkeypatch.setattr(Pending, "get", noted)
    for ring in ("max_second", "any_second", "min_second", "min_second"):
        hooks = spgraph.Vector(np.int32, A.nrows)
        for turn in range(2):  # at first the product is planned, then it is run again
            before = root.to_dense()
            waited.clear()
            hooks << A.mxv(root, ring)
            root(binary.min)[root] << hooks
            root << root.pointer_jump()
            assert not any(waited) or not turn
            rows, terms = hooks.to_coo()
            wanted = before.copy()
            np.minimum.at(wanted, before[rows], terms)
            assert root.to_dense().tolist() == jumped(wanted).tolist()
    assert len(set(root.to_dense().tolist())) < A.nrows // 2


@pytest.mark.one_device("makes parts of its own")
@pytest.mark.parametrize("order", ["natural", "degree"])
def test_terms_that_may_be_negative_are_looked_at(on_gpus, order):
    A, root = hooked(on_gpus, order)
    weighted = A.apply(unary.one["INT32"]).new().apply(binary.times, right=-100).new()
    negative = root.apply(binary.minus, right=100).new()
    mask = spgraph.Vector.from_coo([0, 1], True, size=A.nrows).S

    def masked(hooks):
        hooks << negative
        hooks(mask) << A.mxv(root, "min_second")

    def accumulated(hooks):
        hooks << negative
        hooks(binary.min) << A.mxv(root, "min_second")

    ways = {
        "of negative ones": lambda hooks: hooks << A.mxv(negative, "min_second"),
        "sums": lambda hooks: hooks << weighted.mxv(root, "min_plus"),
        "of the matrix": lambda hooks: hooks << weighted.mxv(root, "min_first"),
        "changed": lambda hooks: hooks << hooks.apply(unary.ainv),
        "accumulated": lambda hooks: hooks(binary.minus) << A.mxv(root, "max_second").new() + 100,
        "accumulated by the monoid": lambda hooks: hooks(binary.min) << A.mxv(negative, "min_second"),
        "under a mask": lambda hooks: hooks(mask) << A.mxv(negative, "min_second"),
        "beside a mask": masked,
        "set": lambda hooks: hooks.__setitem__(int(hooks.to_coo()[0][0]), -1),
        "merged": lambda hooks: hooks(binary.second) << negative,
        "copied": lambda hooks: hooks << negative,
        "accumulated over negative ones": accumulated,
    }
    for way, write in ways.items():
        for _ in range(2):
            hooks, v = A.mxv(root, "min_second").new(), root.dup()
            write(hooks)
            assert hooks.reduce(monoid.min).get(0) < 0, way
            v << v.pointer_jump()
            v(binary.min)[v] << hooks
            with pytest.raises(InvalidValue, match="negative or larger than their position"):
                v << v.pointer_jump()
            assert v.to_dense().min() < 0  # it is as it was


@pytest.mark.one_device("makes parts of its own")
def test_terms_of_another_type_are_looked_at(on_gpus):
    """Also where the same product has been run with the type of the pointers before."""
    with spgraph.Context("cpu"):
        there = spgraph.generators.complete(200)
    A = there.to(on_gpus)
    root = spgraph.Vector.from_dense(np.arange(200, dtype=np.int32))
    root << root.pointer_jump()
    for dtype in (np.int32, np.int8, np.int8, np.int32, np.int64, np.int8):
        hooks = spgraph.Vector(dtype, 200)
        hooks << A.mxv(root, "max_second")
        v = spgraph.Vector.from_dense(np.arange(200, dtype=np.uint8).astype(dtype))  # 128 and more become negative
        if dtype == np.int8:
            v << np.int8(0)
        v << v.pointer_jump()
        v(binary.min)[v] << hooks
        if dtype == np.int8:
            assert v.to_dense().min() < 0
            with pytest.raises(InvalidValue, match="negative or larger than their position"):
                v << v.pointer_jump()
        else:
            v << v.pointer_jump()
            assert v.to_dense().tolist() == [*range(199), 198]


@pytest.mark.one_device("makes parts of its own")
def test_another_operator_of_that_name_is_looked_at(on_gpus):
    A, root = hooked(on_gpus, "natural")
    low = monoid.register_anonymous(binary.register_anonymous(lambda x, y: x + y - 100, "min"), 100, "min")
    hooks = A.mxv(root, "min_second").new()
    root(low)[root] << hooks
    assert root.to_dense().min() < 0
    with pytest.raises(InvalidValue, match="negative or larger than their position"):
        root << root.pointer_jump()


@pytest.mark.one_device("about one GPU and the CPU")
@pytest.mark.parametrize("how", ["moved", "exported", "copied after that"])
def test_what_others_may_have_written_is_looked_at(cuda, how):
    """Elsewhere nobody knows that pointers lead downwards, nor what becomes of an array that was given away."""
    n = 64
    with spgraph.Context(cuda):
        root = spgraph.Vector.from_dense(np.arange(n, dtype=np.int32))
        root << root.pointer_jump()
    if how == "moved":
        with spgraph.Context("cpu", direction="push"):
            steps = np.arange(n - 1)
            A = spgraph.Matrix.from_coo(steps, steps + 1, -100, "INT32", nrows=n, ncols=n)
            for _ in range(2):  # the second time the push is one that was kept
                v = root.to("cpu")
                v(binary.min) << spgraph.Vector.from_coo([3], [3], "INT32", size=n).vxm(A, "min_plus")
            with pytest.raises(InvalidValue, match="negative or larger than their position"):
                v.pointer_jump().new()
            with pytest.raises(IndexOutOfBound, match="no position of v"):
                v[v].new()
        w = v.to(cuda)
    else:
        w = root.dup()
        given = w._array("test")
        if how == "copied after that":
            w << root
        given[4:5] = -97
    for jump in (lambda: w.pointer_jump().new(), lambda: w << w.pointer_jump()):
        with pytest.raises(InvalidValue, match="negative or larger than their position"):
            jump()
    with pytest.raises(IndexOutOfBound, match="no position of v"):
        w(binary.min)[w] << w.dup()
    assert w.to_dense()[4] == -97


@pytest.mark.one_device("makes parts of its own")
def test_min_of_another_type_is_looked_at(on_gpus):
    root = spgraph.Vector.from_dense(np.arange(300, dtype=np.int32))
    root << root.pointer_jump()
    root(binary.min["INT8"])[root] << root.dup()  # 128 and more become negative
    assert root.to_dense().min() < 0
    with pytest.raises(IndexOutOfBound, match="no position of v"):
        root[root].new()
    with pytest.raises(InvalidValue, match="negative or larger than their position"):
        root.pointer_jump().new()


@pytest.mark.one_device("makes parts of its own")
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_ids_in_products_by_some_entries(on_gpus, order, k):
    with spgraph.Context("cpu"):
        there = spgraph.generators.rmat(6, 4, seed=2)
    A = there.to(on_gpus).reorder(order)
    made = A.selectk("any", k)
    made.nvals  # noqa: B018
    u = spgraph.Vector.from_dense(np.arange(A.nrows, dtype=np.int32))
    for ring in ("min_secondi", "max_firsti", "min_firstj", "plus_secondj", "max_second"):
        assert A.selectk("any", k).mxv(u, ring).new().isequal(made.mxv(u, ring).new())
    got, wanted = u.dup(), u.dup()
    fell, changed = u.dup(), u.dup()
    got(binary.min, changed=select.rowle(fell, 40)) << A.selectk("any", k).mxv(u, "min_second")
    wanted(binary.min, changed=select.rowle(changed, 40)) << made.mxv(u, "min_second")
    assert got.isequal(wanted) and fell.isequal(changed)


@pytest.mark.one_device("makes parts of its own")
@pytest.mark.parametrize("content", ["empty", "list", "bitmap", "one value", "full"])
def test_a_jump_without_memory_changes_nothing(on_gpus, cuda, content):
    if not hasattr(cuda, "fail_at"):
        pytest.skip("the emulated GPU lets the k-th allocation fail")
    n, told = 64, []
    for allocation in range(1, 9):
        root = spgraph.Vector.from_dense(np.arange(n, dtype=np.int32) // 2)
        if allocation % 2:
            root << root.pointer_jump()
        ids = {"empty": [], "list": [3, 50], "bitmap": np.arange(0, n, 2)}.get(content, np.arange(n))
        w = spgraph.Vector.from_coo(ids, 7 if content == "one value" else np.asarray(ids) * 2, np.int32, size=n)
        before = w.to_dict()
        cuda.fail_at = allocation
        try:
            w << root.pointer_jump()
            assert w.to_dense().tolist() == [0] * n
        except spgraph.exceptions.OutOfMemory as error:
            told.append(str(error))
            assert w.to_dict() == before
        finally:
            cuda.fail_at = None
    left = "nothing was changed" if on_gpus is cuda else "other parts of the output may have been written"
    assert told and all(left in message for message in told)


@pytest.mark.one_device("makes parts of its own")
def test_what_raises_pointers_is_looked_at(on_gpus):
    A, root = hooked(on_gpus, "natural")
    hooks = A.mxv(root, "max_second").new()
    for op in (binary.max, binary.plus):
        v = root.dup()
        v << v.pointer_jump()
        v(op)[v] << hooks
        assert (v.to_dense() > np.arange(A.nrows)).any()
        with pytest.raises(InvalidValue, match="negative or larger than their position"):
            v << v.pointer_jump()


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("dtype", ["INT64", "FP32", "UINT8", "BOOL"])
def test_argsort(sg, dtype, order):
    """As NumPy's, of the entries that there are."""
    rng = np.random.default_rng(2)
    A = sg.Matrix.from_coo(*rng.integers(0, 50, (2, 200)), 1, nrows=50, ncols=50, dup_op=binary.first).reorder(order)
    for ids in (np.arange(50), np.flatnonzero(rng.random(50) < 0.5), np.arange(0)):
        values = rng.integers(0, 5, ids.size)
        if dtype == "FP32":
            values = np.where(values == 4, np.nan, values)
        v = sg.Vector(dtype, 50)
        v << A.reduce_rowwise("plus")  # takes on the order of A
        v << sg.Vector.from_coo(ids, values.astype(v.dtype.np_type), dtype, size=50)
        found = v.argsort()
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, ids[np.argsort(v.to_coo()[1], kind="stable")])
        left = v.argsort(on_device=True)  # an index where v lies
        assert left.dtype == np.int64
        np.testing.assert_array_equal(v[left].new().to_coo()[1], v[found].new().to_coo()[1])
