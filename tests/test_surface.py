"""What a program may use: the names, their shapes, what an import loads, and how another `semirings` is told."""

import inspect
import subprocess
import sys

import graphblas
import numpy as np
import pytest

import spgraph
from spgraph.matrix import MatrixExpression, MatrixIndexExpr, TransposedMatrix
from spgraph.scalar import ScalarExpression
from spgraph.vector import VectorExpression, VectorIndexExpr

# SuiteSparse's own handles, which have no counterpart.
FOREIGN = {"gb_obj", "ss"}
CLASSES = {
    "Scalar": spgraph.Scalar,
    "Vector": spgraph.Vector,
    "Matrix": spgraph.Matrix,
}


def run(code, *options):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120)


class TestNames:
    def test_all_is_there(self):
        assert sorted(spgraph.__all__) == spgraph.__all__
        for name in set(spgraph.__all__) - {"bench"}:
            assert getattr(spgraph, name) is not None
        assert set(spgraph.__all__) <= set(dir(spgraph))

    def test_nothing_else_is_public(self):
        modules = {name for name, value in vars(spgraph).items() if inspect.ismodule(value)}
        public = {name for name in vars(spgraph) if not name.startswith("_")} - modules
        assert public <= set(spgraph.__all__)

    def test_unknown_name(self):
        with pytest.raises(AttributeError, match="no attribute 'matrix_of_things'"):
            spgraph.matrix_of_things  # noqa: B018

    @pytest.mark.parametrize("name", CLASSES)
    def test_python_graphblas_has_nothing_that_we_lack(self, name):
        reference = {n for n in dir(getattr(graphblas, name)) if not n.startswith("_")} - FOREIGN
        assert reference <= set(dir(CLASSES[name]))

    @pytest.mark.parametrize("name", CLASSES)
    def test_operators_between_objects(self, name):
        reference = getattr(graphblas, name)
        special = [n for n in dir(reference) if n.startswith("__") and callable(getattr(reference, n))]
        ours = CLASSES[name]
        foreign = {"__del__", *(("__matmul__", "__rmatmul__", "__imatmul__") if name == "Scalar" else ())}
        assert [n for n in special if not hasattr(ours, n) and n not in foreign] == []

    @pytest.mark.parametrize(
        ("ours", "path"),
        [
            (TransposedMatrix, "core.matrix.TransposedMatrix"),
            (VectorExpression, "core.vector.VectorExpression"),
            (VectorIndexExpr, "core.vector.VectorIndexExpr"),
            (MatrixExpression, "core.matrix.MatrixExpression"),
            (MatrixIndexExpr, "core.matrix.MatrixIndexExpr"),
            (ScalarExpression, "core.scalar.ScalarExpression"),
        ],
    )
    def test_expressions_have_what_objects_have(self, ours, path):
        module, _, name = path.rpartition(".")
        reference = getattr(__import__(f"graphblas.{module}", fromlist=[name]), name)
        internals = {"args", "at", "bt", "cfunc_name", "construct_output", "expr_repr", "method_name", "op"}
        internals |= {"output_type", "parent", "resolved_indexes"}
        wanted = {n for n in dir(reference) if not n.startswith("_")} - FOREIGN - internals
        assert wanted <= set(dir(ours))

    @pytest.mark.parametrize("name", CLASSES)
    def test_call_shapes(self, name):
        """Every parameter that python-graphblas has is there, in the same place."""
        ours, reference = CLASSES[name], getattr(graphblas, name)
        for method in (n for n in dir(reference) if not n.startswith("_")):
            theirs = inspect.getattr_static(reference, method)
            if method in FOREIGN or isinstance(theirs, property) or not callable(getattr(reference, method)):
                continue
            wanted = list(inspect.signature(getattr(reference, method)).parameters.values())
            got = inspect.signature(getattr(ours, method)).parameters
            positional = [p.name for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD]
            given = [p.name for p in got.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert given[: len(positional)] == positional, method
            keywords = {p.name for p in wanted if p.kind is p.KEYWORD_ONLY}
            assert keywords <= set(got), method

    @pytest.mark.parametrize("name", CLASSES)
    def test_documentation(self, name):
        silent = [
            n
            for n, value in inspect.getmembers(CLASSES[name])
            if not n.startswith("_") and (callable(value) or isinstance(value, property)) and not value.__doc__
        ]
        assert silent == []


class TestImport:
    def test_light(self):
        heavy = "numba", "scipy", "graphblas", "cupy", "networkx", "pandas", "matplotlib"
        code = f"import spgraph, sys; print([m for m in {heavy} if m in sys.modules])"
        done = run(code, "-W", "error")
        assert done.stdout.strip() == "[]", done.stderr

    def test_a_product_needs_no_compiler_at_import(self):
        code = (
            "import spgraph as sg, sys; A = sg.Matrix.from_coo([0], [1], [2], nrows=2, ncols=2);"
            "v = sg.Vector.from_coo([0], [3], size=2); print(v.vxm(A).new().to_dict(), 'scipy' in sys.modules)"
        )
        assert run(code).stdout.strip() == "{1: 6} False"

    def test_another_semirings(self, tmp_path):
        package = tmp_path / "semirings"
        package.mkdir()
        (package / "__init__.py").write_text("plus = 1\n")
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import spgraph"
        done = run(code)
        assert done.returncode != 0
        message = done.stderr.strip().splitlines()[-1]
        assert message.startswith("ImportError: spgraph comes with a package named semirings, but another")
        assert str(package) in message
        assert "pip uninstall semirings" in message


class TestNumPy:
    """Objects in NumPy's functions either work or say what to write."""

    def test_arrays_do_not_swallow_vectors(self):
        v = spgraph.Vector.from_coo([0, 1], [1, 2])
        for function in (np.asarray, np.array, np.sum, np.sqrt, np.mean, np.where):
            with pytest.raises(TypeError):
                function(v)
        with pytest.raises(TypeError, match="array"):
            np.arange(2) + v

    def test_numpy_numbers(self):
        v = spgraph.Vector.from_coo([0, 1], [1, 2])
        assert (np.int64(2) * v).new().to_dict() == {0: 2, 1: 4}
        assert (np.float32(2) - v).new().dtype == "FP64"
        assert (np.int64(2) > v).new().to_dict() == {0: True, 1: False}
        v[np.int32(0)] = np.int8(7)
        assert v.to_dict() == {0: 7, 1: 2}

    def test_scalars_are_numbers(self):
        s = spgraph.Scalar.from_value(4)
        assert np.sqrt(s) == 2.0
        assert (np.arange(3) * s).tolist() == [0, 4, 8]
        assert list(range(5))[s] == 4
        assert f"{float(s):.1f}" == "4.0"
        with pytest.raises(ValueError, match="empty"):
            np.sqrt(spgraph.Scalar(int))


class TestSlots:
    def test_nothing_can_be_added(self):
        """Without a dictionary objects are small and fast, and a misspelt attribute raises."""
        v, A, s = spgraph.Vector(int, 2), spgraph.Matrix(int, 2, 2), spgraph.Scalar(int)
        for x in (v, A, s, A.T, v.S, v + v, A @ v, A @ A, v[0], v[:], A[:, :], v(), v.reduce()):
            assert not hasattr(x, "__dict__"), type(x)
            with pytest.raises(AttributeError):
                x.colour = "red"

    def test_no_cycles(self):
        """Memory comes back when the last name goes, without the garbage collector."""
        import weakref

        v = spgraph.Vector.from_coo([0, 1], [1, 2])
        v(v.S) << v + v
        v.apply("abs").reduce().new()
        dead = weakref.ref(v)
        del v
        assert dead() is None
