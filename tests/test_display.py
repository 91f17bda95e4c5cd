"""How objects look: texts that people read and doctests compare, and HTML for notebooks."""

import html.parser

import numpy as np
import pytest
from devices import blocks

import spgraph as sg
from spgraph import binary, display, engine, monoid, semiring, unary
from spgraph.display import Names

how_it_is_stored = pytest.mark.one_device("the text says how one block is stored, and in which order")


def shown(x):
    """What `repr` shows, but for the name of a device that is not the CPU."""
    return repr(x).replace(f", on {getattr(x, 'device', 'cpu')}", "")


def block(text):
    """A text without the indentation of the test around it."""
    import textwrap

    return textwrap.dedent(text).strip("\n")


@pytest.fixture
def v():
    return sg.Vector.from_coo([0, 2], [7, -5], size=4, name="v")


@pytest.fixture
def A():
    return sg.Matrix.from_coo([0, 0, 2], [1, 2, 0], [5, 6, 7], name="A")


class TestVectors:
    @how_it_is_stored
    def test_small(self, v):
        assert shown(v) == block("""
            v  Vector  INT64, size 4, 2 entries, sparse, natural order
            index  0  1   2  3
            value  7     -5
        """)

    @how_it_is_stored
    def test_one_value(self):
        assert shown(sg.Vector.from_scalar(0.5, 3)) == block("""
            Vector  FP64, size 3, 3 entries, full (one value), natural order
            index    0    1    2
            value  0.5  0.5  0.5
        """)

    def test_booleans_and_floats(self):
        b = sg.Vector.from_dense([True, False])
        assert shown(b).splitlines()[-1] == "value  1  0"
        f = sg.Vector.from_dense([1 / 3, 1e300, np.inf, np.nan, -0.0])
        assert shown(f).splitlines()[-1] == "value  0.333333  1e+300  inf  nan  -0"

    @how_it_is_stored
    def test_empty(self):
        assert shown(sg.Vector(int, 0)) == "Vector  INT64, size 0, 0 entries, sparse, natural order"
        assert shown(sg.Vector(int, 10**6)) == ("Vector  INT64, size 1,000,000, 0 entries, sparse, natural order")

    @how_it_is_stored
    def test_large_ones_show_their_first_and_last_entries(self):
        v = sg.Vector.from_coo(np.arange(0, 10**6, 1000), 1, size=10**6)
        assert shown(v) == block("""
            Vector  INT64, size 1,000,000, 1,000 entries, sparse (one value), natural order
            index  0  1000  2000  3000  4000  5000  …  997000  998000  999000
            value  1     1     1     1     1     1  …       1       1       1
        """)
        full = sg.Vector.from_dense(np.arange(1000))
        assert shown(full).splitlines()[1:] == [
            "index  0  1  2  3  4  5  6  7  8  …  996  997  998  999",
            "value  0  1  2  3  4  5  6  7  8  …  996  997  998  999",
        ]

    def test_a_stored_zero_is_not_blank(self):
        v = sg.Vector.from_coo([1], [0], size=3)
        assert shown(v).splitlines()[-1] == "value     0"

    @pytest.mark.parametrize("size", [1, 20, 24, 25, 100, 10**9])
    @pytest.mark.parametrize("value", [1, 2**62, -1.23456789e-300])
    def test_fits_the_line(self, size, value):
        count = min(size, 60)
        v = sg.Vector.from_coo(np.arange(count) * (size // count), np.full(count, value), size=size)
        assert max(map(len, shown(v).splitlines()[1:])) <= 88

    def test_nothing_changes(self):
        v = sg.Vector.from_coo([5, 3], [1, 2], size=10)
        before = [block.format for block in blocks(v)], v.nvals
        shown(v), v._repr_html_()
        assert ([block.format for block in blocks(v)], v.nvals) == before


class TestMatrices:
    @how_it_is_stored
    def test_small(self, A):
        assert shown(A) == block("""
            A  Matrix  INT64, 3 x 3, 3 entries, csr, natural order
               0  1  2
            0     5  6
            1
            2  7
        """)

    @how_it_is_stored
    def test_transposed(self, A):
        assert shown(A.T) == block("""
            A.T  TransposedMatrix  INT64, 3 x 3, 3 entries, csr, natural order
               0  1  2
            0        7
            1  5
            2  6
        """)

    def test_corners(self):
        A = sg.Matrix.from_dense(np.arange(400).reshape(20, 20))
        lines = shown(A).splitlines()
        assert lines[1] == "      0    1    2    3    4    5    6    7    8  …   16   17   18   19"
        assert lines[2] == " 0    0    1    2    3    4    5    6    7    8  …   16   17   18   19"
        assert lines[11] == "…"
        assert lines[-1].startswith("19  380")
        assert len(lines) == 16

    @how_it_is_stored
    def test_order_is_shown_and_changes_no_entry(self):
        A = sg.Matrix.from_coo([0, 3, 3, 3], [3, 0, 1, 2], [1, 2, 3, 4], nrows=4, ncols=4)
        natural = shown(A).splitlines()
        degree = shown(A.reorder("degree")).splitlines()
        assert natural[0].endswith("natural order")
        assert "degree order" in degree[0]
        assert natural[1:] == degree[1:]

    @how_it_is_stored
    def test_empty_corners_show_entries(self):
        A = sg.Matrix.from_coo([500_000, 20], [9, 700_000], [3, 4], nrows=10**6, ncols=10**6)
        assert shown(A) == block("""
            Matrix  INT64, 1,000,000 x 1,000,000, 2 entries, csr, natural order
            row     column  value
                20  700000      4
            500000       9      3
        """)

    @how_it_is_stored
    def test_flat_shapes(self):
        assert shown(sg.Matrix(int, 0, 5)) == "Matrix  INT64, 0 x 5, 0 entries, csr, natural order"
        assert len(shown(sg.Matrix.from_scalar(1, 1, 100)).splitlines()) == 3
        assert len(shown(sg.Matrix.from_scalar(1, 100, 1)).splitlines()) == 16

    @pytest.mark.parametrize("shape", [(2, 13), (2, 14), (2, 15), (40, 2), (7, 1000)])
    @pytest.mark.parametrize("value", [1, -1.23456789e-300])
    def test_fits_the_line(self, shape, value):
        lines = shown(sg.Matrix.from_scalar(value, *shape)).splitlines()[1:]
        assert max(map(len, lines)) <= 88


class TestScalars:
    def test_scalars(self):
        assert shown(sg.Scalar.from_value(5)) == "Scalar  INT64, 5"
        assert shown(sg.Scalar(float, name="total")) == "total  Scalar  FP64, no value"

    def test_expressions(self, v):
        assert shown(v.reduce()) == "ScalarExpression  v.reduce(monoid.plus[INT64])  INT64, 2"
        assert shown(v[2]) == "ScalarExpression  v[2]  INT64, -5"
        assert shown(v[1]) == "ScalarExpression  v[1]  INT64, no value"
        assert shown(sg.Scalar.from_value(5, name="s") + 1) == (
            "ScalarExpression  s.ewise_add(1, binary.plus[INT64])  INT64, 6"
        )


class TestMasks:
    def test_all_four(self, v):
        assert shown(v.S) == block("""
            v.S  structural mask, size 4, allows 2 of 4 positions
            index  0  1  2  3
            value  1     1
        """)
        assert shown(~v.S).splitlines()[0] == ("~v.S  complemented structural mask, size 4, allows 2 of 4 positions")
        assert shown(v.V).splitlines()[0].startswith("v.V  value mask")
        assert shown(~v.V).splitlines()[0].startswith("~v.V  complemented value mask")

    def test_large_ones_are_not_computed(self):
        v = sg.Vector.from_coo([5], [1], size=10**12)
        assert shown(~v.S) == "~v.S  complemented structural mask, size 1,000,000,000,000"

    def test_matrices(self, A):
        assert shown(A.S).splitlines()[0] == "A.S  structural mask, 3 x 3, allows 3 of 9 positions"


class TestExpressions:
    def test_formula_and_value(self, v):
        assert shown(v.apply(unary.abs)) == block("""
            VectorExpression  v.apply(unary.abs[INT64])  INT64, size 4, 2 entries
            index  0  1  2  3
            value  7     5
        """)

    def test_formulas(self, v, A):
        u, w = sg.Vector(int, 3, name="u"), sg.Vector(float, 3)
        s = semiring.min_plus
        formulas = {
            s(A @ u): "A.mxv(u, semiring.min_plus[INT64])",
            s(u @ A): "u.vxm(A, semiring.min_plus[INT64])",
            A @ A.T: "A @ A.T",
            u | w: "u | v",
            binary.minus(u | w, left_default=0, right_default=1): ("u.ewise_union(v, binary.minus[FP64], 0.0, 1.0)"),
            (u + w).apply(binary.times, 2): ("u.ewise_add(v, binary.plus[FP64]).apply(binary.times[FP64], right=2.0)"),
            10 - u: "u.apply(binary.minus[INT64], left=10)",
            u.select(">", 3): "u.select(select.valuegt[INT64], 3)",
            u.select(~w.S): "u.select(~v.S)",
            A[0, :]: "A[0, :]",
            A[[0, 2], 1:]: "A[[0, 2], 1:3]",
            A[::-1, 2]: "A[2::-1, 2]",
            u[[0, 1, 2, 0, 1]]: "u[[0, 1, 2, 0, …]]",
            A.reduce_rowwise(monoid.max): "A.reduce_rowwise(monoid.max[INT64])",
            A.reduce_columnwise("count"): "A.reduce_columnwise(agg.count[INT64])",
            A.kronecker(A): "A.kronecker(A, binary.times[INT64])",
            A.power(3): "A.power(3, semiring.plus_times[INT64])",
            u.outer(w): "u.outer(v, binary.times[FP64])",
            u.inner(w): "u.inner(v, semiring.plus_times[FP64])",
            A.reposition(1, 0): "A.reposition(1, 0)",
        }
        assert {expression: expression._formula(Names()) for expression in formulas} == formulas

    def test_two_without_names_are_told_apart(self):
        a, b = sg.Vector(int, 2), sg.Vector(int, 2)
        assert (a + b - a).name == ("v.ewise_add(w, binary.plus[INT64]).ewise_union(v, binary.minus[INT64], 0, 0)")

    def test_missing_operator(self, v):
        text = shown(v | v)
        assert text.startswith("VectorExpression  v | v  size 4\n")
        assert "which operator?" in text

    def test_heavy_work_is_not_started(self, monkeypatch):
        A = sg.Matrix.from_coo(np.arange(2000), np.arange(2000), 1)
        v = sg.Vector.from_scalar(1, 2000)
        called = []
        monkeypatch.setattr(engine, "mxm", lambda *a, **k: called.append(1))
        monkeypatch.setattr(engine, "mxv", lambda *a, **k: called.append(1))
        for expression in (A @ A, A @ v, semiring.min_plus(A.T @ A)):
            assert shown(expression).splitlines()[1] == "not computed yet: call .new() or write w << expression"
        assert called == []

    def test_value_is_not_kept(self, v):
        expression = v + v
        shown(expression)
        v[0] << 100
        assert expression.new().to_dict() == {0: 200, 2: -10}

    def test_a_value_that_is_there_is_shown(self):
        v = sg.Vector.from_scalar(1, 5000)
        expression = v + v
        assert expression.nvals == 5000
        assert "5,000 entries" in shown(expression)


class _Checker(html.parser.HTMLParser):
    """Tags that close, and texts."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


class TestHtml:
    def test_well_formed(self, v, A):
        objects = [v, A, A.T, v.S, ~A.V, v + v, A @ A, v | v, v.reduce(), sg.Scalar(int), v[0], A[0, :]]
        for x in objects:
            checker = _Checker()
            checker.feed(x._repr_html_())
            assert checker.open == []

    @how_it_is_stored
    def test_cells(self, A):
        checker = _Checker()
        checker.feed(A._repr_html_().replace(f", on {A.device}", ""))
        assert [t for t in checker.texts if t][1:] == [
            "INT64, 3 x 3, 3 entries, csr, natural order",
            *"012",
            *"056",
            "1",
            *"27",
        ]

    def test_names_are_escaped(self):
        v = sg.Vector(int, 2, name="<b>&")
        assert "<b>&" not in v._repr_html_().replace("<b>&lt;b&gt;&amp;", "")
        assert "&lt;b&gt;&amp;" in v._repr_html_()


def test_public_names():
    assert set(display.__all__) <= set(dir(display))
