"""Where objects lie: the context's device, `.to`, `.device`, and one device per expression (EDGE_CASES.md 24).

The GPU is the one where the tests run, else the emulated one.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import spgraph as sg
from spgraph import binary, context, exceptions, monoid, semiring
from spgraph.kernels.device import HOST

CPU = "cpu"


@pytest.fixture
def there(cuda):
    """A context on the GPU."""
    return sg.Context(cuda)


@pytest.fixture
def here():
    return sg.Context(CPU)


class TestOption:
    """``pytest --devices``."""

    def test_objects_are_in_so_many_parts(self, device, request):
        count = request.node.callspec.params["in_parts"] if hasattr(request.node, "callspec") else 1
        assert context.device() is device is sg.Vector(int, 3)._device
        assert (1 if device.group is None else device.group.parts) == count

    @pytest.mark.one_device("is about this mark")
    def test_or_on_one_device_if_a_test_is_about_one(self, device):
        assert context.device() is device is sg.Vector(int, 3)._device
        assert device.group is None
        assert context.current().exchange in (None, "auto")


class TestContext:
    def test_objects_are_made_on_its_device(self, cuda, there, here):
        makers = [
            lambda: sg.Vector(int, 3),
            lambda: sg.Matrix(int, 3, 3),
            lambda: sg.Vector.from_coo([0, 2], [1, 2]),
            lambda: sg.Vector.from_dense([1, 2]),
            lambda: sg.Vector.from_scalar(1, 3),
            lambda: sg.Vector.from_dict({1: 5}),
            lambda: sg.Vector.from_pairs([(1, 5)]),
            lambda: sg.Matrix.from_coo([0], [1], [2]),
            lambda: sg.Matrix.from_csr([0, 1], [0], [5]),
            lambda: sg.Matrix.from_csc([0, 1], [0], [5]),
            lambda: sg.Matrix.from_dcsr([0], [0, 1], [0], [5]),
            lambda: sg.Matrix.from_dcsc([0], [0, 1], [0], [5]),
            lambda: sg.Matrix.from_dense([[1, 2], [3, 4]]),
            lambda: sg.Matrix.from_dicts({0: {1: 2}}),
            lambda: sg.Matrix.from_edgelist([(0, 1)]),
            lambda: sg.Matrix.from_scalar(1, 2, 2),
            lambda: sg.generators.path(4),
            lambda: sg.io.from_numpy(np.eye(2)),
        ]
        for settings, device in ((there, cuda), (here, HOST), (there, cuda)):
            with settings:
                assert [make()._device is device for make in makers] == [True] * len(makers)
                assert sg.Vector(int, 1).device == device.name

    def test_without_one_the_default_holds(self, device):
        assert sg.Vector(int, 1)._device is device
        assert sg.Context().device is device

    def test_a_context_that_names_no_device_keeps_that_around(self, cuda, there, here):
        with there, sg.Context(direction="push"):
            assert context.device() is cuda
            with here, sg.Context(order="degree"):
                assert context.device() is HOST
            assert context.device() is cuda

    def test_leaving_restores_also_after_an_error(self, device, there):
        with pytest.raises(RuntimeError, match="inside"), there:
            raise RuntimeError("inside")
        assert context.device() is device

    def test_threads_have_their_own(self, cuda, there, device):
        found = []
        with there:
            thread = threading.Thread(target=lambda: found.append(context.device()))
            thread.start()
            thread.join()
            assert context.device() is cuda
        assert found == [device]

    def test_repr_names_the_device(self, cuda, there):
        assert f"devices='{cuda.name}'" in repr(there)
        with there:
            assert f"devices='{cuda.name}'" in repr(sg.Context())

    @pytest.mark.parametrize("wrong", ["gpu", "cuda:", "cuda:-1", "cuda:x", "CPU", "", "cpu:0", 0, [0], [], 1.5, True])
    def test_names_that_are_none(self, wrong):
        with pytest.raises(exceptions.InvalidValue, match=r"'cuda:1' \(the second GPU\), 'auto', or several"):
            sg.Context(wrong)

    def test_on(self, there, here):
        with there:
            A = sg.Matrix(int, 2, 2)
        with here, sg.Context(direction="pull"), context.on(A) as inside:
            assert sg.Vector(int, 2)._device is A._device
            assert inside.direction == "pull"

    def test_closed(self, there):
        there.close()
        there.close()
        with pytest.raises(exceptions.InvalidObject, match="entered after close"), there:
            pass


class TestMemoryLimit:
    def test_holds_inside(self, cuda):
        before = cuda.memory().limit
        with sg.Context(cuda, memory_limit=1 << 20) as settings:
            assert cuda.memory().limit == 1 << 20
            assert "memory_limit=1048576" in repr(settings)
        assert cuda.memory().limit == before

    def test_a_share(self, cuda):
        with sg.Context(cuda, memory_limit="50%"):
            assert cuda.memory().limit == pytest.approx(cuda.memory().total / 2, rel=0.01)

    @pytest.mark.parametrize("wrong", [0, -1, "50", "150%", "0%", "much", 1.5, True])
    def test_nonsense(self, cuda, wrong):
        with pytest.raises(exceptions.InvalidValue, match="memory_limit is"):
            sg.Context(cuda, memory_limit=wrong)

    def test_on_the_cpu(self):
        with pytest.raises(exceptions.InvalidValue, match="limits a GPU's memory, but devices is 'cpu'"):
            sg.Context(CPU, memory_limit="50%")


@pytest.fixture
def objects(here):
    with here:
        A = sg.Matrix.from_coo([0, 0, 1, 2], [1, 2, 2, 0], [1.5, 2, 3, 4], nrows=3, ncols=3, name="A")
        A.labels = np.array(["a", "b", "c"])
        v = sg.Vector.from_coo([0, 2], [5, 7], size=4, name="v")
        return A, v


class TestTo:
    @pytest.mark.parametrize("order", ["natural", "degree"])
    def test_there_and_back(self, cuda, objects, order):
        A, v = objects
        A.reorder(order)
        for x in (A, v, A.T, A.apply("abs"), sg.Vector.from_scalar(True, 5).to(CPU), sg.Vector(int, 0).to(CPU)):
            moved = x.to(cuda)
            assert (moved.device, moved._device) == (cuda.name, cuda)
            back = moved.to(CPU)
            assert back.device == "cpu"
            assert back.isequal(x, check_dtype=True)
        assert (A.to(cuda).order, A.to(cuda).name, v.to(cuda).name) == (order, "A", "v")
        assert A.to(cuda).labels.tolist() == ["a", "b", "c"]

    def test_what_is_there_is_itself(self, cuda, objects):
        for x in objects:
            assert x.to(CPU) is x
            moved = x.to(cuda)
            assert moved.to(cuda) is moved

    def test_a_copy_is_on_its_own(self, cuda, objects):
        v = objects[1]
        moved = v.to(cuda)
        moved << 1
        assert v.to_dict() == {0: 5, 2: 7}
        assert moved.to_dict() == dict.fromkeys(range(4), 1)

    def test_one_partition_moves_to_one_partition(self, cuda, objects):
        A = objects[0].reorder("degree")
        v = A.reduce_rowwise().new()
        A, v = A.to(cuda), v.to(cuda)
        assert (v._block.partition is A._block.rows) == (v.order == "degree")
        assert (A @ v).new().isclose((objects[0] @ objects[0].reduce_rowwise()).new().to(cuda))

    def test_unknown(self, objects):
        with pytest.raises(exceptions.InvalidValue, match="to: device is 'tpu'"):
            objects[0].to("tpu")


def on_two(cuda, objects):
    """Everything that takes two objects, with one on each device."""
    A = objects[0]
    with sg.Context(CPU):
        w, B, flags = sg.Vector(float, 3), sg.Matrix(float, 3, 3), sg.Vector.from_dense([True, False, True])
    G, g, m = A.to(cuda), w.to(cuda), flags.to(cuda)
    return {
        "mxv": lambda: A.mxv(g),
        "mxv of an expression": lambda: A.mxv(g.apply("abs")),
        "vxm": lambda: g.vxm(A),
        "mxm": lambda: A.mxm(G),
        "mxm of a transpose": lambda: A.mxm(G.T),
        "@": lambda: (A @ G).new(),
        "kronecker": lambda: A.kronecker(G),
        "outer": lambda: w.outer(g),
        "inner": lambda: w.inner(g),
        "ewise_add": lambda: A.ewise_add(G),
        "ewise_mult": lambda: w * g,
        "ewise_union": lambda: w - g,
        "ewise of matrix and vector": lambda: A.ewise_mult(g),
        "|": lambda: monoid.max(w | g).new(),
        "select by a mask": lambda: w.select(m.V),
        "select by a Vector": lambda: w.select(m),
        "write": lambda: w << g,
        "write an expression": lambda: w << g.apply("abs"),
        "write a Matrix": lambda: B << G,
        "mask": lambda: w(m.V) << 1,
        "mask of a Matrix": lambda: B(G.S) << A,
        "mask for a number": lambda: B(G.S) << 1,
        "assign": lambda: w[:2] << m.apply(binary.plus, right=1.0)[:2].new(),
        "assign a Matrix": lambda: B[:, :] << G,
        "assign a row": lambda: B[0, :] << g,
        "assign within a mask": lambda: w(m.V)[[0, 1]] << 1,
        "assign a line within a mask": lambda: B[0, :](m.V) << 1,
        "changed": lambda: w(binary.min, changed=g) << w.vxm(A),
        "combined masks": lambda: flags.S & m.S,
        "input_mask": lambda: w[:2].new(input_mask=m.S),
        "isequal": lambda: w.isequal(g),
        "isclose": lambda: A.isclose(G),
        "setdiag": lambda: B.setdiag(g),
    }


def test_one_device_per_expression(cuda, objects):
    """The error names both devices and says what to write; nothing is changed."""
    A = objects[0]
    before = A.to_dicts()
    for what, call in on_two(cuda, objects).items():
        with pytest.raises(exceptions.DeviceMismatch) as caught:
            call()
        text = str(caught.value)
        assert "is on cpu" in text and f"is on {cuda.name}" in text, what
        assert '.to("' in text, what
    assert A.to_dicts() == before


def test_the_message(cuda, objects):
    A = objects[0]
    with sg.Context(cuda):
        x = sg.Vector(float, 3, name="x")
    message = f'^mxv: A is on cpu, but x is on {cuda.name}; write x.to."cpu".$'
    with pytest.raises(exceptions.DeviceMismatch, match=message):
        A.mxv(x)


def test_results_lie_where_operands_lie(cuda, objects):
    """Whatever the context: its device is where objects are made from nothing."""
    A, v = (x.to(cuda) for x in objects)
    u = A.reduce_rowwise().new()
    made = [
        u, A @ u, u @ A, A @ A, A.T, A.T.new(), A.dup(), A.dup(float), A.dup(clear=True), A.dup(mask=A.S), u.dup(),
        u.dup(int), A[0, :], A[:, [0, 1]], A[:, :].new(), u[:2], u.S.new(), (~A.S).new(), u.S & u.V, u.apply("abs"),
        u + 1, u + u, u | u, A.select(">", 2), u.diag(), A.diag(), A.diag(5), A.power(2), A.power(0),
        A.reposition(1, 0), u.reposition(1), A.reduce_columnwise(sg.agg.mean), A.reduce_rowwise(sg.agg.vars),
        A.reduce_rowwise(sg.agg.argmax), A.kronecker(A), u.outer(u), u.ewise_add(A), A.ewise_mult(u),
        semiring.min_plus(A @ A), A.ewise_union(A, "+", 0, 0), copy.copy(A), copy.deepcopy(v), A.T.dup(clear=True),
    ]  # fmt: skip
    assert [x for x in made if getattr(x, "parent", x)._device is not cuda] == []
    for x in (u.reduce(), u @ u, A.reduce_scalar(sg.agg.mean), u[0]):
        assert type(x.value) is float
        assert type(x.new()) is sg.Scalar


def test_data_leaves_to_the_host(cuda, objects):
    """Exports give NumPy arrays and Python numbers; iteration, ``in`` and single elements work."""
    A, v = (x.to(cuda) for x in objects)
    w = sg.Vector.from_dense([1.5, 2.5]).to(cuda)
    exported = [*A.to_coo(), *A.to_csr(), *A.to_csc(), *A.to_dcsr(), *A.to_edgelist(), A.to_dense(0), *A.T.to_csr()]
    exported += [*v.to_coo(), v.to_dense(0), w.to_dense(), *w.to_coo()]
    assert {type(x) for x in exported} == {np.ndarray}
    assert A.to_dicts() == objects[0].to_dicts() == dict(objects[0].to_dicts())
    assert list(A) == list(objects[0])
    assert list(v) == [0, 2] and v.to_dict() == {0: 5, 2: 7}
    assert (2 in v, 1 in v, (0, 1) in A, (1, 1) in A) == (True, False, True, False)
    assert (v.get(2), v.get(1), A.get(0, 2), A[1, 2].value) == (7, None, 2.0, 3.0)
    assert sg.io.to_scipy(A, copy=False).toarray().tolist() == objects[0].to_dense(0).tolist()
    assert sorted(sg.io.to_networkx(A).edges) == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")]
    assert "on " + cuda.name in repr(A) and "on " + cuda.name in A._repr_html_() and "on " + cuda.name in repr(v)
    assert "on cpu" not in repr(objects[0])


def test_pickles_are_of_no_device(cuda, objects, there, here):
    for x in (*objects, sg.Vector.from_scalar(2, 4)):
        data = pickle.dumps(x.to(cuda))
        with here:
            y = pickle.loads(data)
            assert y.device == "cpu"
            assert y.isequal(x.to(CPU), check_dtype=True)
        with there:
            z = pickle.loads(data)
            assert z.device == cuda.name
            assert z.isequal(x.to(cuda), check_dtype=True)


def test_reading_and_generating(cuda, there, here, tmp_path):
    """Files and generators end on the context's device, in either order, reports and labels as on the CPU."""
    path = tmp_path / "edges.csv"
    path.write_text("a,b,2\nb,c,3\nc,a,4\n")
    for order in ("natural", "degree"):
        with here:
            wanted = sg.io.read(path, order=order), sg.generators.rmat(5, seed=1, weights="int", order=order)
        with there:
            got = sg.io.read(path, order=order), sg.generators.rmat(5, seed=1, weights="int", order=order)
        for x, y in zip(wanted, got):
            assert (y.device, y.order, y.symmetric) == (cuda.name, order, x.symmetric)
            assert y.to(CPU).isequal(x, check_dtype=True)
            assert str(y.report) == str(x.report)
    assert got[0].labels.tolist() == ["a", "b", "c"]
    sg.io.write(got[0], tmp_path / "again.csv")
    with here:
        assert sg.io.read(tmp_path / "again.csv").isequal(sg.io.read(path))


# ---- what takes a real card ---------------------------------------------------------------
@pytest.fixture
def card(device):
    if not device.name.startswith("cuda"):
        pytest.skip("there is no GPU here")
    return device


def test_a_forked_child_is_told(card):
    """CUDA does not outlive a fork; the CPU does."""
    program = (
        "import os, sys, warnings; warnings.simplefilter('ignore')\n"
        "import spgraph as sg\n"
        "v = sg.Vector.from_dense([1, 2]).to('cuda')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    told = []\n"
        "    for call in (lambda: sg.Vector(int, 3).to('cuda'), lambda: v.to_dict(), lambda: (v + v).new()):\n"
        "        try:\n"
        "            call()\n"
        "        except sg.exceptions.NoDevice as error:\n"
        "            told.append('forked' in str(error))\n"
        "    with sg.Context('cpu'):\n"
        "        told.append(sg.Vector.from_dense([1, 2]).reduce().value == 3)\n"
        "    os._exit(0 if told == [True] * 4 else 1)\n"
        "sys.exit(os.waitpid(child, 0)[1] != 0 or v.to_dict() != {0: 1, 1: 2})\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0


@pytest.mark.one_device("is about which GPU is CUDA's current one")
def test_the_second_card(card):
    """Objects of another GPU than CUDA's current one, which stays what it was."""
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("there is one GPU here")
    with sg.Context("cuda:1"):
        A = sg.generators.rmat(8, seed=1, weights="int")
        assert A.device == "cuda:1"
        assert A._block.indices.device.id == 1
    assert cupy.cuda.Device().id == card.number
    B, v = A.to(CPU), sg.Vector.from_scalar(1, A.nrows).to("cuda:1")
    assert (A @ v).new().to(CPU).isequal((B @ v.to(CPU)).new())
    assert A.mxm(A).new().to(CPU).isequal(B.mxm(B).new())
    assert A.reduce_scalar().value == B.reduce_scalar().value
    with context.on(A):
        assert sg.algorithms.bfs(A, 0).to(CPU).isequal(sg.algorithms.bfs(B, 0))
    with pytest.raises(exceptions.DeviceMismatch, match=r"cuda:0.*cuda:1|cuda:1.*cuda:0"):
        A.to("cuda:0").mxv(v)
    moved = A.to("cuda:0")
    assert moved._block.indices.device.id == 0
    assert moved.to("cuda:1").isequal(A)
    assert cupy.cuda.Device().id == card.number
