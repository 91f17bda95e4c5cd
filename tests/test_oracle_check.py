"""`spgraph.oracle` itself: running one text on both engines, conversions, comparisons and their reports."""

import dataclasses
import functools
import subprocess
import sys

import graphblas
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from strategies import DTYPES, matrices, vectors

import spgraph
import spgraph as sg
from spgraph import Matrix, Vector, binary, monoid, oracle, semiring

STEP = semiring.any_pair
capped = semiring.register_anonymous(monoid.min, lambda x, y: np.where(x + y > 4, 4, x + y), "min_capped_plus")
largest = monoid.register_anonymous(binary.register_anonymous(lambda x, y: np.maximum(x, y), "larger"), 0, "largest")


@pytest.fixture(autouse=True)
def _of_spgraph(sg):
    """These tests are about spgraph's side of the comparison."""


def path_matrix(n=4):
    return Matrix.from_coo(range(n - 1), range(1, n), range(1, n), "INT64", nrows=n, ncols=n)


def levels(A, source):
    level = sg.Vector(int, A.nrows)
    frontier = Vector.from_coo([source], True, size=A.nrows)
    depth = 0
    while frontier.nvals:
        mark(level, frontier, depth)
        frontier(~level.S, replace=True) << frontier.vxm(A, STEP)
        depth += 1
    return level


def mark(level, frontier, depth):
    level(frontier.S) << spgraph.Scalar.from_value(depth)


class TestWhichTextRuns:
    def test_engine_as_a_parameter(self):
        seen = []

        def text(gb, A):
            seen.append((gb.__name__, type(A).__module__.partition(".")[0]))
            return A.T.new()

        assert oracle.check(text, path_matrix()).isequal(path_matrix().T)
        assert seen == [("spgraph", "spgraph"), ("graphblas", "graphblas")]

    def test_globals_of_the_module(self):
        """`sg`, `spgraph`, `Vector`, an operator and a helper function: all mean the other engine."""
        assert oracle.check(levels, path_matrix(), 0).to_dict() == {0: 0, 1: 1, 2: 2, 3: 3}
        answer = oracle.run(levels, "graphblas", path_matrix(), source=0)
        assert type(answer) is graphblas.Vector
        assert type(levels(path_matrix(), 0)) is Vector

    def test_a_text_written_for_graphblas(self):
        def text(A):
            return graphblas.binary.plus(A | A.T).new()

        assert type(oracle.run(text, "spgraph", path_matrix())) is Matrix
        assert oracle.check(text, path_matrix()).nvals == 6

    def test_closures_defaults_partials_and_recursion(self):
        ring, offset = semiring.min_plus, sg.Scalar.from_value(1)

        def power(A, n, op=binary.min):
            return A if n == 1 else op(ring(power(A, n - 1) @ A) | A).new()

        def shifted(A, *, more):
            return power(A, 3).apply(binary.plus, right=offset).new(), more.get("key").dup()

        v = Vector.from_coo([1], [2.5], size=3)
        assert oracle.check(functools.partial(shifted, more={"key": v}), path_matrix())[1].isequal(v)

    def test_operators_of_ones_own(self):
        def text(A):
            return capped(A @ A).new(), A.reduce_rowwise(largest).new()

        assert oracle.check(text, path_matrix())[0].to_coo()[2].max() == 4

    def test_import_inside_the_body_is_refused(self):
        def text(A):
            import spgraph as inner

            return inner.Vector(int, 3)

        with pytest.raises(ValueError, match=r"text imports spgraph inside its body.*named gb"):
            oracle.run(text, "graphblas", path_matrix())

    def test_what_the_other_engine_lacks(self):
        def text(A):
            return spgraph_generators.path(3)

        spgraph_generators = sg.generators
        with pytest.raises(AttributeError, match=r"uses spgraph.generators, which graphblas does not have"):
            oracle.run(text, "graphblas", path_matrix())

    def test_functions_of_an_engine_have_no_counterpart(self):
        """Neither as the text nor as a part of it; `sg.algorithms` is written with more than the shared names."""
        with pytest.raises(AttributeError, match=r"uses spgraph.algorithms.bfs.bfs, which graphblas does not have"):
            oracle.run(sg.algorithms.bfs, "graphblas", path_matrix(), 0)
        bfs = sg.algorithms.bfs

        def text(A):
            return bfs(A, 0)

        with pytest.raises(oracle.OracleMismatch, match=r"python-graphblas raises AttributeError, spgraph answers"):
            oracle.check(text, path_matrix())

    def test_only_functions_run(self):
        with pytest.raises(TypeError, match="algorithm is a builtin_function_or_method"):
            oracle.run(len, "graphblas", [])

    def test_engine_name(self):
        with pytest.raises(ValueError, match="engine is 'suitesparse'"):
            oracle.run(levels, "suitesparse", path_matrix(), 0)

    def test_arguments_are_copies(self):
        def text(gb, A, v, numbers, items):
            A << A.T
            v.clear()
            numbers[:] = 0
            items.append(1)
            return A

        A, v, numbers, items = path_matrix(), Vector.from_coo([0], [1]), np.arange(3), []
        oracle.check(text, A, v, numbers, items)
        assert A.isequal(path_matrix())
        assert v.nvals == 1
        assert numbers.tolist() == [0, 1, 2]
        assert items == []


class TestReports:
    def differing(self, mine, theirs, **options):
        def text(gb):
            return mine if gb is spgraph else oracle.to_graphblas(theirs)

        with pytest.raises(oracle.OracleMismatch) as caught:
            oracle.check(text, **options)
        assert isinstance(caught.value, AssertionError)
        return str(caught.value)

    def test_values_and_structure(self):
        u = Vector.from_coo([0, 1, 2], [1, 2, 3], size=5)
        v = Vector.from_coo([1, 2, 4], [2, 9, 7], size=5)
        assert self.differing(u, v) == (
            "text: result differs: a Vector of INT64, size 5, 3 entries\n"
            "  1 of 2 common entries differ; 1 only in got, 1 only in wanted\n"
            "  at (2,): got 3, wanted 9\n"
            "  at (0,): got 1, wanted no entry\n"
            "  at (4,): got no entry, wanted 7"
        )

    def test_matrices_name_row_and_column(self):
        A, B = path_matrix(), path_matrix()
        B[1, 2] = 50
        assert "  at (1, 2): got 2, wanted 50" in self.differing((1, {"key": A}), (1, {"key": B}))
        assert "result[1]['key'] differs: a Matrix of INT64, 4 x 4, 3 entries" in self.differing(
            (1, {"key": A}), (1, {"key": B})
        )

    def test_dtype_and_shape(self):
        v = Vector.from_coo([0], [1], size=2)
        assert "got a Vector of INT64, size 2, 1 entries\n  wanted a Vector of FP64" in self.differing(v, v.dup("FP64"))
        assert "size 3" in self.differing(v, Vector.from_coo([0], [1], size=3))

    def test_long_differences_are_cut(self):
        u, v = Vector.from_scalar(1, 1000), Vector.from_scalar(2, 1000)
        report = self.differing(u, v)
        assert "1000 of 1000 common entries differ" in report
        assert len(report.splitlines()) == 12

    @pytest.mark.parametrize(
        ("mine", "theirs", "said"),
        [
            (1, 2, "got 1\n  wanted 2"),
            (1, 1.0, "got int: 1\n  wanted float: 1.0"),
            (True, 1, "got bool: True\n  wanted int: 1"),
            (None, 3, "got NoneType: None"),
            ("a", "b", "got 'a'\n  wanted 'b'"),
            ([1, 2], [1, 2, 3], "length\n  got 2\n  wanted 3"),
            ({"a": 1}, {"b": 1}, "keys\n  got ['a']"),
            (np.arange(3), np.array([0, 5, 2]), "1 of 3 numbers of an array\n  at (1,): got 1, wanted 5"),
            (np.arange(3), np.arange(3.0), "got int64, shape (3,)\n  wanted float64, shape (3,)"),
        ],
    )
    def test_plain_results(self, mine, theirs, said):
        assert said in self.differing(mine, theirs)

    def test_tolerances(self):
        v = Vector.from_coo([0, 1], [1.0, np.nan], size=3)
        near = Vector.from_coo([0, 1], [1.0 + 1e-12, np.nan], size=3)
        oracle.compare(v, near)
        oracle.compare(v, Vector.from_coo([0, 1], [1.1, np.nan], size=3), rtol=0.2)
        oracle.compare(v, Vector.from_coo([0, 1], [1.1, np.nan], size=3), atol=0.2, rtol=0)
        assert "1 of 2 common entries" in self.differing(v, near, equal="exact")
        oracle.compare(v, v.dup(), equal="exact")
        with pytest.raises(ValueError, match='"close" or "exact"'):
            oracle.compare(v, v, equal="same")

    def test_integers_are_never_close(self):
        big = Vector.from_coo([0], [2**62], size=1)
        with pytest.raises(oracle.OracleMismatch):
            oracle.compare(big, Vector.from_coo([0], [2**62 + 1], size=1), rtol=0.5)

    def test_own_comparison(self):
        def text(gb, v):
            return v if gb is spgraph else v.apply(gb.unary.ainv).new()

        v = Vector.from_coo([0], [3])
        same_size = lambda got, wanted: abs(got).isequal(abs(wanted))  # noqa: E731
        assert oracle.check(text, v, equal=same_size).isequal(v)
        with pytest.raises(oracle.OracleMismatch, match="is not true of"):
            oracle.check(text, v, equal=lambda got, wanted: got.isequal(wanted))

    def test_valid_answers(self):
        def any_neighbour(gb, A):
            return A.reduce_rowwise(gb.monoid.any).new()

        def is_neighbour(answer, A):
            assert isinstance(answer, Vector)
            return all(answer.get(i) in A[i, :].new().to_dict().values() for i in answer)

        A = Matrix.from_coo([0, 0, 1], [1, 2, 0], [5, 6, 7])
        assert oracle.check(any_neighbour, A, valid=is_neighbour).nvals == 2
        with pytest.raises(oracle.OracleMismatch, match="the answer of spgraph is not valid"):
            oracle.check(any_neighbour, A, valid=lambda answer, A: False)

        def says_why(answer, A):
            assert answer.nvals == 3, "three rows were wanted"

        with pytest.raises(oracle.OracleMismatch, match="not valid: three rows were wanted"):
            oracle.check(any_neighbour, A, valid=says_why)

    def test_one_engine_raises(self):
        def text(gb, refuses):
            if gb.__name__ == refuses:
                raise KeyError("no")
            return 1

        with pytest.raises(oracle.OracleMismatch, match=r"spgraph raises KeyError, python-graphblas answers") as caught:
            oracle.check(text, "spgraph")
        assert isinstance(caught.value.__cause__, KeyError)
        with pytest.raises(oracle.OracleMismatch, match=r"python-graphblas raises KeyError, spgraph answers"):
            oracle.check(text, "graphblas")

    def test_both_raise(self):
        def text(gb, A, v):
            return A.mxv(v)

        with pytest.raises(sg.exceptions.DimensionMismatch) as caught:
            oracle.check(text, path_matrix(4), Vector(int, 3))
        assert any("python-graphblas raises too: DimensionMismatch" in note for note in caught.value.__notes__)

    def test_results_of_every_kind(self):
        @dataclasses.dataclass
        class Result:
            ranks: object
            iterations: int

        def text(gb, A):
            total = A.reduce_scalar()
            arrays = A.to_coo(), np.float32(1.5), A.nvals
            return (
                Result(A.reduce_rowwise(), 3),
                [total, total.new(), gb.Scalar(int), None, "text"],
                arrays,
                A @ A,
            )

        result = oracle.check(text, path_matrix())
        assert result[0].iterations == 3
        assert isinstance(result[3], Matrix)


class TestConversions:
    @given(spec=vectors())
    def test_vectors_there_and_back(self, spec):
        v = spec.on(sg)
        there = oracle.to_graphblas(v)
        assert type(there) is graphblas.Vector
        oracle.compare(there, spec.on(graphblas), equal="exact")
        oracle.compare(oracle.from_graphblas(there), v, equal="exact")

    @given(spec=matrices())
    def test_matrices_there_and_back(self, spec):
        A = spec.on(sg)
        there = oracle.to_graphblas(A)
        assert type(there) is graphblas.Matrix
        oracle.compare(there, spec.on(graphblas), equal="exact")
        oracle.compare(oracle.from_graphblas(there), A, equal="exact")
        oracle.compare(oracle.to_graphblas(A.T), there.T, equal="exact")

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_scalars(self, dtype):
        top = {"B": True, "F": 2.5}.get(dtype[0]) or np.iinfo(dtype.lower()).max
        full, empty = sg.Scalar.from_value(top, dtype), sg.Scalar(dtype)
        there = oracle.to_graphblas((full, empty))
        assert there[0].value == top
        assert there[1].is_empty
        oracle.compare(oracle.from_graphblas(there), (full, empty), equal="exact")

    def test_scipy(self):
        S = scipy.sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))

        def text(gb, A):
            return A.T.new()

        A = oracle.check(text, S)
        assert A.shape == (3, 2)
        assert A.to_dense(fill_value=0).tolist() == S.toarray().T.tolist()
        oracle.compare(S, A.T)

    def test_operators_and_dtypes(self):
        ours = [binary.plus, monoid.min, semiring.min_plus, semiring.ss.any_secondi, sg.agg.sum, sg.unary.abs]
        ours += [binary.plus["INT8"], semiring.plus_times["FP32"], sg.indexunary.rowindex, sg.select.tril]
        theirs = oracle.to_graphblas(ours)
        assert [repr(op) for op in theirs] == [repr(op) for op in ours]
        assert theirs[2] is graphblas.semiring.min_plus
        assert oracle.from_graphblas(theirs)[3] is semiring.ss.any_secondi
        assert oracle.to_graphblas(sg.dtypes.INT8) is graphblas.dtypes.INT8
        assert oracle.to_graphblas({"a": (sg.replace, [np.int8])}) == {"a": (graphblas.replace, [np.int8])}

    def test_what_is_not_an_engine_s_is_left(self):
        array = np.arange(3)
        assert oracle.to_graphblas(array) is array
        assert oracle.to_graphblas("text") == "text"

    def test_entries(self):
        entries = oracle.Entries.of(path_matrix())
        assert str(entries) == "a Matrix of INT64, 4 x 4, 3 entries"
        assert [entries.at(i) for i in range(3)] == [(0, 1), (1, 2), (2, 3)]

    def test_entries_of_a_huge_matrix(self):
        """Row times columns beyond 2^63, as python-graphblas has it."""
        sides = {"nrows": 2**60, "ncols": 2**60}
        A = graphblas.Matrix.from_coo([0, 2**60 - 1], [2**59, 3], [1, 2], **sides)
        B = graphblas.Matrix.from_coo([0, 2**60 - 1], [2**59, 4], [1, 2], **sides)
        oracle.compare(A, A.dup())
        with pytest.raises(oracle.OracleMismatch, match=rf"at \({2**60 - 1}, 3\): got 2, wanted no entry"):
            oracle.compare(A, B)


class TestInstallation:
    def test_missing_python_graphblas(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert not oracle.available()
        with pytest.raises(
            ImportError, match=r"python-graphblas, which is not installed: pip install python-graphblas"
        ):
            oracle.check(levels, path_matrix(), 0)

    def test_imported_when_needed(self):
        code = "import sys, spgraph.oracle; assert not {'graphblas', 'suitesparse_graphblas'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    def test_fixture(self, pytester, monkeypatch):
        pytester.makepyfile(
            """
            import spgraph as sg

            def test_transpose(oracle):
                A = sg.Matrix.from_coo([0], [1], [5], nrows=2, ncols=2)
                assert oracle.check(lambda gb, A: A.T.new(), A)[1, 0].value == 5
            """
        )
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # an installed spgraph offers the same plugin
        result = pytester.runpytest_subprocess("-p", "spgraph.oracle_plugin", "-q")
        result.assert_outcomes(passed=1)
