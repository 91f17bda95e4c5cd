"""Where python-graphblas is at fault or awkward, and spgraph is not: what the differential tests leave out.

Each test says what the other does. The authority is the specification, or EDGE_CASES.md by its line.
"""

import numpy as np
import pytest


def test_minus_zero_is_false_in_a_mask(sg):
    """SuiteSparse looks at the bits of a value."""
    mask = sg.Vector.from_dense([-0.0, 0.0, 1.0, float("nan")])
    v = sg.Vector(int, 4)
    v(mask.V) << 7
    assert v.to_dict() == {2: 7, 3: 7}
    v(~mask.V, replace=True) << 8
    assert v.to_dict() == {0: 8, 1: 8}


def test_combined_masks_of_floats(sg):
    """There 0.5 and NaN are true in a mask, and false in `~a.V & ~b.S`."""
    a, b = sg.Vector.from_dense([float("nan"), 0.0, 0.5]), sg.Vector.from_dense([1, 1, 1])
    assert (~a.V & b.S).new().to_dict() == {1: True}
    assert (a.V & b.S).new().to_dict() == {0: True, 2: True}
    assert (a.V | ~b.S).new().to_dict() == {0: True, 2: True}


def test_a_python_number_takes_the_type_of_the_object(sg):
    """INT64 with UINT64 becomes FP64 there, and loses digits."""
    v = sg.Vector.from_coo([0, 1], [2**64 - 2, 5], dtype="UINT64", size=3)
    assert (v + 1).new().dtype == "UINT64"
    assert (v + 1).new().to_dict() == {0: 2**64 - 1, 1: 6}
    assert v.select(">", 5).new().to_dict() == {0: 2**64 - 2}
    assert v.apply(sg.binary.minus, left=6).new()[1].new().value == 1


@pytest.mark.parametrize("dtype", ["FP32", "FP64", "INT8", "INT64", "UINT64"])
def test_thunks_of_other_dtypes(sg, dtype):
    """A thunk whose dtype is not the object's is misread there."""
    v = sg.Vector.from_coo([0, 1, 2], [0, 1, 2], dtype=dtype)
    signed = [] if dtype == "UINT64" else [sg.Scalar.from_value(1, "INT8")]
    for thunk in (1, 1.0, np.float32(1), sg.Scalar.from_value(1.0), *signed):
        assert v.select(">=", thunk).new().to_coo()[0].tolist() == [1, 2]
    assert sg.select.value(v > 0.5).new().to_coo()[0].tolist() == [1, 2]
    assert sg.Vector.from_dense(np.arange(3).astype(v.dtype.np_type), missing_value=1).to_coo()[0].tolist() == [0, 2]


def test_nan_stands_for_no_entry(sg):
    """There NaN is never missing: it does not equal itself."""
    values = np.array([[1.0, np.nan], [np.nan, 4.0]])
    assert sg.Vector.from_dense(values[0], missing_value=np.nan).to_dict() == {0: 1.0}
    assert sg.Matrix.from_dense(values, missing_value=float("nan")).to_coo()[2].tolist() == [1.0, 4.0]
    assert sg.Vector.from_dense(values[0]).nvals == 2


def test_values_that_do_not_fit_raise(sg):
    """Numbers wrap there. DESIGN.md: nothing is silently truncated or wrapped."""
    v = sg.Vector.from_coo([0], [1], dtype="INT8", size=3)
    for number in (300, -129, 1.5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"INT8"):
            v[0] = number
        with pytest.raises(ValueError, match=r"INT8"):
            v << number
        with pytest.raises(ValueError, match=r"INT8"):
            sg.Vector.from_coo([0], [number], dtype="INT8")
        with pytest.raises(ValueError, match=r"INT8"):
            sg.Scalar.from_value(number, "INT8")
    with pytest.raises(ValueError, match=r"UINT8"):
        sg.Vector.from_coo([0], [-1], dtype="UINT8")
    assert v.to_dict() == {0: 1}


def test_typed_values_are_cast_as_the_specification_says(sg):
    """Objects have a type, and a write casts it: integers wrap, floats are cut, as in C; beyond it they saturate."""
    v = sg.Vector("INT8", 4)
    v << sg.Vector.from_coo([0, 1, 2], [300, -1, 127], size=4)
    assert v.to_dict() == {0: 44, 1: -1, 2: 127}
    v << sg.Vector.from_coo([0, 1, 2, 3], [1.9, -1.9, 1e9, float("nan")])
    assert v.to_dict() == {0: 1, 1: -1, 2: 127, 3: 0}
    wide = sg.Vector.from_coo([0], [300])
    assert wide.dup("INT8").to_coo()[1].tolist() == wide.to_coo(dtype="INT8")[1].tolist() == [44]
    b = sg.Vector(bool, 4)
    b << sg.Vector.from_coo([0, 1, 2, 3], [0.0, -0.0, 0.1, float("nan")])
    assert b.to_dict() == {0: False, 1: False, 2: True, 3: True}


@pytest.mark.parametrize("make", ["from_dict", "from_dicts", "from_pairs", "from_edgelist", "from_coo"])
def test_large_unsigned_values_stay_exact(sg, make):
    """EDGE_CASES 15: never through float64."""
    top = 2**64 - 1
    if make == "from_dict":
        got = sg.Vector.from_dict({0: 1, 1: top}, dtype="UINT64")
    elif make == "from_dicts":
        got = sg.Matrix.from_dicts({0: {0: 1, 1: top}}, dtype="UINT64")
    elif make == "from_pairs":
        got = sg.Vector.from_pairs([(0, 1), (1, top)], dtype="UINT64")
    elif make == "from_edgelist":
        got = sg.Matrix.from_edgelist([(0, 0), (0, 1)], [1, top], dtype="UINT64")
    else:
        got = sg.Vector.from_coo([0, 1], [1, top], dtype="UINT64")
    assert got.dtype == "UINT64"
    assert got.to_coo()[-1].tolist() == [1, top]
    assert sg.Scalar.from_value(top, "UINT64").value == top


def test_duplicates_with_one_value_raise(sg):
    """EDGE_CASES 3; there they are dropped."""
    with pytest.raises(ValueError, match=r"[Dd]uplicate"):
        sg.Vector.from_coo([1, 1], 7, size=3)
    with pytest.raises(ValueError, match=r"[Dd]uplicate"):
        sg.Matrix.from_coo([0, 0], [1, 1], True, nrows=2, ncols=2)
    v = sg.Vector.from_coo([1, 1], 7, size=3, dup_op=sg.binary.plus)
    assert v.to_dict() == {1: 14}


def test_masks_of_other_diagonals(sg):
    """A mask of setdiag belongs to the diagonal that is set; there it is taken for the main one's."""
    A = sg.Matrix.from_coo([0, 1], [0, 1], [2, 2], nrows=3, ncols=3)
    A.setdiag([5, 6], -1, mask=sg.Vector.from_coo([1], [True], size=2).S)
    assert A.to_edgelist()[0].tolist() == [[0, 0], [1, 1], [2, 1]]
    A.setdiag(9, 1, mask=~sg.Matrix.from_coo([0], [1], True, nrows=3, ncols=3).S)
    assert A.to_dense(fill_value=0).tolist() == [[2, 0, 0], [0, 2, 9], [0, 6, 0]]


def test_counts_never_wrap(sg):
    """A count is INT64, whatever is counted; there it is of the dtype of what is counted."""
    A = sg.Matrix.from_scalar(1, 2, 300, dtype="INT8")
    for name in ("count", "count_nonzero"):
        assert A.reduce_rowwise(getattr(sg.agg, name)).new().to_dict() == {0: 300, 1: 300}
        assert A.reduce_scalar(getattr(sg.agg, name)).new().value == 600
    assert sg.Vector(bool, 0).reduce(sg.agg.count).new().value == 0


def test_products_over_nothing_accumulate(sg):
    """SuiteSparse raises DimensionMismatch for some accumulators when the inner dimension is 0."""
    w = sg.Vector.from_coo([0], [True], size=2)
    w(sg.binary.eq) << sg.Matrix(bool, 2, 0).mxv(sg.Vector(bool, 0), sg.semiring.lor_land)
    assert w.to_dict() == {0: True}


def test_dense_unsigned_values_stay_exact(sg):
    """They become float64 there."""
    v = sg.Vector.from_coo([1], [2**64 - 1], dtype="UINT64", size=2)
    assert v.to_dense(fill_value=1).dtype == np.uint64
    assert v.to_dense(fill_value=1).tolist() == [1, 2**64 - 1]


def test_dicts_of_an_empty_matrix(sg):
    """to_dicts fails there."""
    assert sg.Matrix(int, 3, 2).to_dicts() == {}
    assert sg.Matrix.from_dicts({}, int, nrows=3, ncols=2).isequal(sg.Matrix(int, 3, 2))


def test_transposed_entries_come_in_order_of_rows(sg):
    A = sg.Matrix.from_coo([0, 1, 1], [2, 0, 2], [5, 6, 7], nrows=2, ncols=3)
    rows, cols, values = A.T.to_coo()
    assert list(zip(rows.tolist(), cols.tolist(), values.tolist())) == [(0, 1, 6), (2, 0, 5), (2, 1, 7)]
    assert [(int(i), int(j)) for i, j in A.T] == [(0, 1), (2, 0), (2, 1)]


def test_conditions_in_operators_of_ones_own(sg):
    """`np.where` works, which Numba refuses of scalars."""
    op = sg.binary.register_anonymous(lambda x, y: np.where(x > y, x - y, y), "difference_or_second")
    u, v = sg.Vector.from_dense([5, 1]), sg.Vector.from_dense([2, 3])
    assert op(u & v).new().to_coo()[1].tolist() == [3, 3]
