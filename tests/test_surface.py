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


class TestChains:
    """Expressions are lazy; a loop that never computes must end all the same, and mean what it says."""

    def setup_method(self):
        self.A = spgraph.Matrix.from_coo([0, 1, 2], [1, 2, 0], 1)

    def test_vectors(self):
        x = y = spgraph.Vector.from_dense([1, 2, 3])
        for _ in range(2000):
            x = self.A @ x
            y = y + 1
        assert x.new().to_dict() == {0: 3, 1: 1, 2: 2}
        assert y.new().to_dict() == {0: 2001, 1: 2002, 2: 2003}

    def test_matrices_and_scalars(self):
        C, s = self.A, spgraph.Scalar.from_value(0)
        for _ in range(500):
            C = C + self.A
            s = s + 2
        assert C.new().to_dicts() == {0: {1: 501}, 1: {2: 501}, 2: {0: 501}}
        assert s.value == 1000

    def test_doubling(self):
        z, s = spgraph.Vector.from_dense([True, False]), spgraph.Scalar.from_value(1)
        for _ in range(200):
            z = z | z
        for _ in range(40):
            s = s + s
        assert z.new().to_dict() == {0: True, 1: False}
        assert s.value == 2**40

    def test_an_operator_reaches_all_of_a_chain(self):
        x = spgraph.Vector.from_dense([5, 6, 7])
        chained = spgraph.semiring.min_plus(self.A @ self.A @ x).new()
        assert chained.to_dict() == {0: 9, 1: 7, 2: 8}
        assert spgraph.binary.minus(x | x | x).new().to_dict() == {0: -5, 1: -6, 2: -7}
        for _ in range(40):
            x = self.A @ x
        with pytest.raises(TypeError, match="computed in part"):
            spgraph.semiring.min_plus(x)

    def test_one_kernel_for_a_chain(self, monkeypatch):
        from spgraph import engine

        trees = []
        for name in ("vector_reduce", "vector_reduce_later"):  # the second on a GPU
            real = getattr(engine, name)
            noted = lambda tree, monoid, real=real: trees.append(tree) or real(tree, monoid)  # noqa: E731
            monkeypatch.setattr(engine, name, noted)
        r, s = spgraph.Vector.from_dense([1.0, 2.0]), spgraph.Vector.from_dense([1.5, 4.0])
        assert (r - s).apply(abs).reduce("+").value == 2.5
        assert type(trees[0]) is engine.Apply
        assert type(trees[0].child) is engine.Ewise

    def test_changed(self):
        A = spgraph.Matrix.from_coo([0, 0, 1], [1, 2, 2], [4, 9, 1], nrows=3, ncols=3)
        near = spgraph.Vector.from_coo([0], [0], size=3)
        dist, steps = near.dup(), []
        while near.nvals:
            dist(spgraph.binary.min, changed=near) << near.vxm(A, spgraph.semiring.min_plus)
            steps.append(near.to_dict())
        assert steps == [{1: 4, 2: 9}, {2: 5}, {}]
        assert dist.to_dict() == {0: 0, 1: 4, 2: 5}
        near, dist, steps = spgraph.Vector.from_coo([0], [0], size=3), spgraph.Vector.from_coo([0], [0], size=3), []
        while near.nvals:
            below = spgraph.select.valuelt(near, 9)
            dist(spgraph.binary.min, changed=below) << near.vxm(A, spgraph.semiring.min_plus)
            steps.append(near.to_dict())
        assert steps == [{1: 4}, {2: 5}, {}]
        for value, words in ((dist, "vxm"), (1, "vxm"), (dist + dist, "vxm")):
            with pytest.raises(TypeError, match=words):
                dist(spgraph.binary.min, changed=near) << value
        for wrong in (5, "near", near + near, spgraph.select.valuelt(near + near, 9)):
            with pytest.raises(TypeError, match="selection such as"):
                dist(spgraph.binary.min, changed=wrong) << near.vxm(A)
        with pytest.raises(TypeError, match="output itself"):
            dist(changed=dist) << near.vxm(A)
        with pytest.raises(spgraph.exceptions.DomainMismatch, match="FP64"):
            dist(changed=spgraph.Vector(float, 3)) << near.vxm(A)
        with pytest.raises(spgraph.exceptions.DimensionMismatch, match="4"):
            dist(changed=spgraph.Vector(int, 4)) << near.vxm(A)


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
