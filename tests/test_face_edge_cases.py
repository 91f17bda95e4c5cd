"""EDGE_CASES.md for objects and expressions: answers computed by hand, its line numbers at the tests.

Tests that take `gb` hold for python-graphblas too (`--engine graphblas`); those that take `sg` are about what
spgraph does otherwise, on purpose.
"""

import numpy as np
import pytest
from strategies import DTYPES, FLOATS, INTEGERS, NUMPY, SIGNED, UNSIGNED


class TestShapes:
    """Lines 1 and 5."""

    def test_isolated_vertices_count(self, gb):
        A = gb.Matrix.from_coo([0, 0, 1], [0, 1, 0], 1, nrows=3, ncols=3)
        assert A.shape == (3, 3)
        assert A.reduce_rowwise().new().size == 3
        assert A.reduce_rowwise().new().to_dict() == {0: 2, 1: 1}
        assert A.to_dense(fill_value=0).tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
        assert (A @ A).new().shape == (3, 3)

    def test_exports_keep_isolated_vertices(self, sg):
        A = sg.Matrix.from_coo([0, 0, 1], [0, 1, 0], 1, nrows=3, ncols=3)
        assert sg.io.to_scipy(A).shape == (3, 3)
        assert list(sg.io.to_networkx(A).nodes) == [0, 1, 2]
        assert list(sg.io.to_networkx(A, labels=["a", "b", "c"]).nodes) == ["a", "b", "c"]

    @pytest.mark.parametrize("n", [0, 1, 3])
    @pytest.mark.parametrize("dtype", ["BOOL", "INT8", "UINT64", "FP32"])
    def test_no_entries(self, gb, n, dtype):
        """Every operation on objects that hold nothing, 0 x 0 among them."""
        A, v, index = gb.Matrix(dtype, n, n), gb.Vector(dtype, n), np.arange(n)
        ring = gb.semiring.lor_land if dtype == "BOOL" else gb.semiring.plus_times
        first = gb.binary.first
        made = [ring(A @ A), ring(A @ A.T), A.T, A.ewise_add(A, first), A.ewise_mult(A, first)]
        made += [A.apply(gb.unary.identity), A.select("tril"), A.power(2, ring), A.kronecker(A, first)]
        for expr in (*made, A[index, index]):
            C = expr.new()
            assert C.nvals == 0
            assert C.shape in ((n, n), (n * n, n * n))
        for expr in (
            A.mxv(v, ring),
            v.vxm(A, ring),
            A.reduce_rowwise(gb.monoid.max),
            v[index],
            A.T.mxv(v, ring),
        ):
            assert expr.new().nvals == 0
            assert expr.new().size == n
        assert A.reduce_scalar(gb.monoid.max).new().is_empty
        assert v.reduce(gb.monoid.min).value is None
        assert v.inner(v, ring).new().is_empty
        assert [x.size for x in A.to_coo()] == [0, 0, 0]
        assert A.to_csr()[0].tolist() == [0] * (n + 1)
        assert list(A) == list(v) == []
        assert A.isequal(A.dup())
        assert A.T.new().isequal(A)
        assert A.diag().nvals == v.diag().nvals == 0
        v << 1
        assert v.nvals == n

    def test_empty_frontier_and_full_mask(self, gb):
        frontier, level = gb.Vector(bool, 3), gb.Vector.from_scalar(0, 3)
        A = gb.Matrix.from_coo([0, 1], [1, 2], True, nrows=3, ncols=3)
        frontier(~level.S, replace=True) << frontier.vxm(A, gb.semiring.any_pair)
        assert frontier.nvals == 0
        frontier[0] = True
        frontier(~level.S, replace=True) << frontier.vxm(A, gb.semiring.any_pair)
        assert frontier.nvals == 0

    def test_one_self_loop(self, gb):
        A = gb.Matrix.from_coo([0], [0], [3])
        assert A.shape == (1, 1)
        assert (A @ A).new().to_coo()[2].tolist() == [9]
        assert A.power(5).new()[0, 0].new().value == 243
        assert gb.select.offdiag(A).new().nvals == 0

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 4), (4, 1)])
    def test_flat_matrices(self, gb, shape):
        A = gb.Matrix(int, *shape)
        A(~A.S) << 2
        assert A.nvals == shape[0] * shape[1]
        assert (A @ A.T).new().shape == (shape[0], shape[0])
        assert A.T.new().shape == shape[::-1]
        assert A.reduce_columnwise().new().size == shape[1]


class TestBuilding:
    """Line 3: nothing is merged or dropped silently."""

    def test_duplicates_raise(self, gb):
        with pytest.raises(ValueError, match=r"[Dd]uplicate"):
            gb.Vector.from_coo([0, 2, 0], [1, 2, 3])
        with pytest.raises(ValueError, match=r"[Dd]uplicate"):
            gb.Matrix.from_coo([1, 1], [2, 2], [5, 5])
        with pytest.raises(ValueError, match=r"[Dd]uplicate"):
            gb.Matrix.from_edgelist([(1, 2), (1, 2)], [5, 6])

    def test_duplicates_combine_in_order(self, gb):
        places, values = [3, 1, 3, 3], [8, 1, 4, 2]
        for name, answer in (
            ("first", 8),
            ("second", 2),
            ("minus", 2),
            ("plus", 14),
            ("truediv", 1),
            ("max", 8),
        ):
            v = gb.Vector.from_coo(places, values, size=5, dup_op=getattr(gb.binary, name))
            assert v.to_dict() == {1: 1, 3: answer}

    def test_every_entry_arrives(self, gb):
        rng = np.random.default_rng(2)
        where = rng.permutation(40 * 50)[:700]
        values = rng.integers(-9, 9, 700)
        A = gb.Matrix.from_coo(where // 50, where % 50, values, nrows=40, ncols=50)
        rows, cols, out = A.to_coo()
        order = np.argsort(where)
        assert A.nvals == 700
        assert (rows * 50 + cols).tolist() == where[order].tolist()
        assert out.tolist() == values[order].tolist()

    def test_scipy_duplicates(self, sg):
        import scipy.sparse

        S = scipy.sparse.coo_array(([1, 2, 4], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        with pytest.raises(ValueError, match=r"[Dd]uplicate|repeat"):
            sg.io.from_scipy(S)
        assert sg.io.from_scipy(S, dup_op="plus")[0, 1].new().value == 3


class TestExplicitZeros:
    """Line 7: a stored zero is an entry."""

    def test_survive_arithmetic(self, gb):
        v = gb.Vector.from_coo([0, 1, 3], [0, 2, 0], size=4)
        assert v.nvals == 3
        for expr in (
            v + v,
            v * v,
            v - v,
            v.apply(gb.unary.ainv),
            v.ewise_mult(v, gb.binary.min),
            v[[0, 1, 3]],
        ):
            assert expr.new().nvals == 3
        assert (v - v).new().to_dict() == {0: 0, 1: 0, 3: 0}
        A = gb.Matrix.from_coo([0, 1], [1, 0], [0, 0])
        assert A.nvals == (A @ A).new().nvals == A.T.new().nvals == (A | A).new(mask=None).nvals if False else True
        assert (A @ A).new().to_coo()[2].tolist() == [0, 0]
        assert A.reduce_rowwise().new().to_dict() == {0: 0, 1: 0}
        assert A.select("!=", 0).new().nvals == 0

    def test_count_as_structure_but_not_as_value(self, gb):
        v = gb.Vector.from_coo([0, 1], [0, 5], size=3)
        assert v.S.new().to_dict() == {0: True, 1: True}
        assert v.V.new().to_dict() == {1: True}
        assert (~v.S).new().to_dict() == {2: True}
        assert (~v.V).new().to_dict() == {0: True, 2: True}

    def test_survive_export_and_import(self, gb):
        A = gb.Matrix.from_coo([0, 1, 1], [1, 0, 1], [0.0, -0.0, 1.0])
        shape = {"nrows": 2, "ncols": 2}
        copies = (
            gb.Matrix.from_coo(*A.to_coo(), **shape),
            gb.Matrix.from_csr(*A.to_csr(), **shape),
            gb.Matrix.from_csc(*A.to_csc(), **shape),
            gb.Matrix.from_dicts(A.to_dicts(), **shape),
            gb.Matrix.from_edgelist(*A.to_edgelist(), **shape),
            A.dup(),
        )
        for copy in copies:
            assert copy.nvals == 3
            assert copy.isequal(A, check_dtype=True)
        assert gb.Vector.from_dense([0, 1, 0]).nvals == 3
        assert gb.Vector.from_dense([0, 1, 0], missing_value=0).nvals == 1

    def test_survive_scipy(self, sg):
        A = sg.Matrix.from_coo([0, 1], [1, 0], [0, 7])
        S = sg.io.to_scipy(A)
        assert S.nnz == 2
        assert sg.io.from_scipy(S).isequal(A, check_dtype=True)


class TestIntegers:
    """Lines 8, 12 and 15."""

    def test_unreached_is_absent(self, gb):
        A = gb.Matrix.from_coo([0], [1], [2**62], nrows=3, ncols=3)
        dist = gb.Vector.from_coo([0], [0], size=3)
        for _ in range(3):
            dist(gb.binary.min) << dist.vxm(A, gb.semiring.min_plus)
        assert dist.to_dict() == {0: 0, 1: 2**62}

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_arithmetic_is_modular_in_the_type(self, gb, dtype):
        top = int(np.iinfo(NUMPY[dtype]).max)
        v = gb.Vector.from_coo([0], [top], dtype=dtype)
        one = gb.Vector.from_coo([0], [1], dtype=dtype)
        assert (v + one).new().to_coo()[1][0] == np.iinfo(NUMPY[dtype]).min
        assert (v + one).new().dtype == dtype
        assert (v * v).new().to_coo()[1][0] == 1

    def test_uint8_wraps(self, gb):
        v = gb.Vector.from_coo([0, 1], [250, 7], dtype="UINT8", size=3)
        assert v.ewise_add(gb.Vector.from_coo([0], [10], dtype="UINT8", size=3)).new().to_dict() == {
            0: 4,
            1: 7,
        }
        assert v.reduce().new().value == 1
        assert v.reduce().new().dtype == "UINT8"

    def test_indices_are_int64(self, sg):
        A = sg.Matrix.from_coo(np.array([0, 1], np.uint64), np.array([1, 0], np.int32), [5, 6])
        v = sg.Vector.from_coo([2], [1.5], size=3)
        arrays = (
            *A.to_coo()[:2],
            v.to_coo()[0],
            A.to_csr()[0],
            A.to_csr()[1],
            A.to_edgelist()[0],
            A.to_csc()[1],
        )
        assert [array.dtype for array in arrays] == [np.int64] * 7
        assert (A.to_coo()[0] - 1).tolist() == [-1, 0]
        assert {type(i) for i in v} <= {int, np.int64}
        assert A.apply(sg.indexunary.rowindex).new().dtype == "INT64"

    @pytest.mark.parametrize("signed", SIGNED)
    @pytest.mark.parametrize("unsigned", UNSIGNED)
    def test_signed_with_unsigned(self, sg, signed, unsigned):
        u, v = sg.Vector.from_coo([0], [1], dtype=signed), sg.Vector.from_coo([0], [2], dtype=unsigned)
        if unsigned == "UINT64":
            with pytest.raises(sg.exceptions.DomainMismatch):
                (u + v).new()
        else:
            total = (u + v).new()
            assert total.dtype == np.promote_types(NUMPY[signed], NUMPY[unsigned])
            assert total[0].new().value == 3

    @pytest.mark.parametrize("dtype", ["INT64", "UINT64"])
    def test_large_values_stay_exact(self, gb, dtype):
        values = np.array([2**53 + 1, 2**62 + 3, 2**63 - 1], NUMPY[dtype])
        v = gb.Vector.from_coo([0, 1, 2], values)
        assert v.dtype == dtype
        assert v.to_coo()[1].tolist() == values.tolist()
        assert v.reduce(gb.monoid.max).new().value == 2**63 - 1
        assert v[1].new().value == 2**62 + 3
        assert v.ewise_mult(v, gb.binary.min).new().isequal(v)


class TestIdentities:
    """Line 11."""

    def test_max_of_negatives(self, gb):
        for dtype in (*SIGNED, *FLOATS):
            v = gb.Vector.from_coo([1, 3], [-5, -3], dtype=dtype, size=5)
            assert v.reduce(gb.monoid.max).new().value == -3
            A = gb.Matrix.from_coo([0, 0], [0, 1], [-5, -3], dtype=dtype)
            assert A.reduce_rowwise(gb.monoid.max).new()[0].new().value == -3
            assert gb.semiring.max_first(A @ A.T).new()[0, 0].new().value == -3

    def test_booleans(self, gb):
        v = gb.Vector.from_coo([0, 1], [True, False], size=3)
        assert v.reduce(gb.monoid.min).new().value is False
        assert v.reduce(gb.monoid.max).new().value is True
        assert v.reduce(gb.monoid.land).new().value is False
        assert v.reduce(gb.monoid.lxor).new().value is True

    def test_reduction_of_nothing(self, gb):
        empty = gb.Vector(bool, 3)
        for name, identity in (("land", True), ("lor", False), ("lxor", False), ("eq", True), ("min", True)):
            assert empty.reduce(getattr(gb.monoid, name), allow_empty=False).new().value is identity
        for dtype in INTEGERS:
            nothing, info = gb.Vector(dtype, 3), np.iinfo(NUMPY[dtype])
            assert nothing.reduce(gb.monoid.max, allow_empty=False).new().value == info.min
            assert nothing.reduce(gb.monoid.min, allow_empty=False).new().value == info.max
            assert nothing.reduce(gb.monoid.times, allow_empty=False).new().value == 1
        for dtype in UNSIGNED:
            nothing, ones = gb.Vector(dtype, 3), int(np.iinfo(NUMPY[dtype]).max)
            assert nothing.reduce(gb.monoid.band, allow_empty=False).new().value == ones
            assert nothing.reduce(gb.monoid.bor, allow_empty=False).new().value == 0
        for dtype in FLOATS:
            nothing = gb.Vector(dtype, 3)
            assert nothing.reduce(gb.monoid.max, allow_empty=False).new().value == -np.inf
            assert nothing.reduce(gb.monoid.min, allow_empty=False).new().value == np.inf

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_infinity_and_nan(self, gb, dtype):
        inf, nan = float("inf"), float("nan")
        A = gb.Matrix.from_coo([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 1, 0, 1, 1], [inf, 1, -inf, 1, inf, -inf, nan], dtype)
        assert A.reduce_rowwise(gb.monoid.min).new().to_coo()[1][:3].tolist() == [1, -inf, -inf]
        assert A.reduce_rowwise(gb.monoid.max).new().to_coo()[1][:3].tolist() == [inf, 1, inf]
        total = A.reduce_rowwise(gb.monoid.plus).new().to_coo()[1]
        assert total[:2].tolist() == [inf, -inf]
        assert np.isnan(total[2:]).all()
        assert A.dtype == dtype


class TestBooleans:
    """Line 13."""

    def test_a_count_is_a_count(self, gb):
        v = gb.Vector.from_coo([0, 1, 2], [True, True, False], size=5)
        assert v.nvals == 3
        assert v.reduce(gb.agg.count).new().value == 3
        A = gb.Matrix.from_coo([0, 0, 1], [0, 1, 1], True)
        assert A.reduce_rowwise(gb.agg.count).new().to_dict() == {0: 2, 1: 1}
        assert gb.semiring.plus_pair(A @ A.T).new().to_dense(fill_value=0).tolist() == [[2, 1], [1, 1]]

    def test_count_of_0_by_0_is_0(self, sg):
        """python-graphblas says 1."""
        assert sg.Matrix(bool, 0, 0).reduce_scalar(sg.agg.count).new().value == 0

    def test_plus_is_logical_or(self, sg):
        """As the specification has it; python-graphblas refuses."""
        v = sg.Vector.from_coo([0, 1, 2], [True, True, False], size=5)
        assert v.reduce(sg.monoid.plus).new().value is True
        A = sg.Matrix.from_coo([0, 0, 1], [0, 1, 1], True)
        assert A.reduce_rowwise(sg.monoid.plus).new().to_dict() == {0: True, 1: True}
        assert A.mxm(A.T, sg.semiring.plus_times).new().dtype == "BOOL"


class TestEquality:
    """Line 14."""

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_nan(self, sg, dtype):
        v = sg.Vector.from_coo([0, 2], [float("nan"), 1.0], dtype=dtype, size=3)
        A = sg.Matrix.from_coo([0, 1], [1, 0], [float("nan"), 1.0], dtype=dtype)
        for x in (v, A):
            assert x.isequal(x) is False
            assert x.isclose(x) is False
            assert x.isclose(x.dup(), equal_nan=True) is True
        w = sg.Vector.from_coo([0, 2], [1.0, float("nan")], dtype=dtype, size=3)
        assert v.isclose(w, equal_nan=True) is False

    def test_structure_size_and_dtype(self, gb):
        v = gb.Vector.from_coo([0, 2], [1, 2], size=3)
        assert v.isequal(gb.Vector.from_coo([0, 2], [1, 2], size=4)) is False
        assert v.isequal(gb.Vector.from_coo([0, 1], [1, 2], size=3)) is False
        assert v.isequal(gb.Vector.from_coo([0, 1, 2], [1, 0, 2], size=3)) is False
        assert v.isequal(v.dup(dtype=float)) is True
        assert v.isequal(v.dup(dtype=float), check_dtype=True) is False

    def test_infinities_are_close_to_themselves_alone(self, sg):
        """python-graphblas finds infinity close to everything."""
        v = sg.Vector.from_dense([np.inf, -np.inf])
        assert v.isclose(v) is True
        assert v.isclose(sg.Vector.from_dense([np.inf, np.inf])) is False
        assert v.isclose(sg.Vector.from_dense([1.0, -np.inf])) is False


class TestConversion:
    """Line 27: no silent change of dtype, no copy where the layout allows."""

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_scipy_keeps_the_dtype(self, sg, dtype):
        A = sg.Matrix.from_coo([0, 1], [1, 0], np.array([1, 0], NUMPY[dtype]), nrows=2, ncols=3)
        S = sg.io.to_scipy(A)
        assert S.dtype == NUMPY[dtype]
        assert S.shape == (2, 3)
        back = sg.io.from_scipy(S)
        assert back.dtype == dtype
        assert back.isequal(A, check_dtype=True)

    def test_scipy_shares_arrays(self, sg):
        import scipy.sparse

        S = scipy.sparse.random_array((50, 50), density=0.1, rng=np.random.default_rng(1), format="csr")
        S.sort_indices()
        A = sg.io.from_scipy(S)
        assert A.dtype == "FP64"
        assert np.shares_memory(A.to_csr()[2], S.data) or np.array_equal(A.to_csr()[2], S.data)
        A << A.apply(sg.unary.ainv)
        assert (S.data >= 0).all(), "the caller's array changed"

    def test_what_a_reader_of_arrays_changes_is_his(self, sg):
        v = sg.Vector.from_dense(np.array([1.0, 2.0, 3.0]))
        _, values = v.to_coo()
        try:
            values[0] = 99
        except ValueError:
            assert not values.flags.writeable
        assert v[0].new().value == 1.0
        given = np.array([1.0, 2.0, 3.0])
        w = sg.Vector.from_dense(given)
        given[0] = 99
        assert w[0].new().value == 1.0

    def test_long_doubles_and_complex_are_refused(self, sg):
        for dtype in (np.complex64, np.complex128, np.longdouble, np.float16):
            with pytest.raises(sg.exceptions.DomainMismatch, match=np.dtype(dtype).name):
                sg.Vector.from_dense(np.ones(3, dtype))
