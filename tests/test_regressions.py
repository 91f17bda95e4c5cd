"""Mistakes that were made once: each test is the smallest program that showed one."""

import copy
import pickle
import threading

import numpy as np
import pytest

import spgraph as sg
from spgraph import binary, monoid, semiring, unary
from spgraph.exceptions import InvalidValue
from spgraph.kernels.cpu import _specialise, _threads

LONG = 1 << 18  # long enough for vectors to be merged as lists
HUGE = 1 << 40


def edges(n, weights, dtype=None):
    """A Matrix of the edges {(i, j): weight}."""
    rows, cols = zip(*weights)
    return sg.Matrix.from_coo(rows, cols, list(weights.values()), dtype, nrows=n, ncols=n)


# ---- objects -------------------------------------------------------------------------
EXPRESSIONS = {"A @ v": lambda A, v: A @ v, "A @ A": lambda A, v: A @ A, "v | v": lambda A, v: v | v,
               "(v & v) & v": lambda A, v: (v & v) & v, "A.T": lambda A, v: A.T, "A.T @ v": lambda A, v: A.T @ v,
               "A.mxv(v)": lambda A, v: A.mxv(v)}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
                         ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("make", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions_and_transposes_can_be_copied(make, copied):
    A = edges(4, {(0, 1): 5, (2, 3): 7, (3, 0): 1})
    v = sg.Vector.from_coo([0, 1, 2], [True, False, True], size=4)
    one = make(A, v)
    other = copied(one)
    assert type(other) is type(one)
    assert other.shape == one.shape
    assert other.new().isequal(one.new(), check_dtype=True)


# ---- storage -------------------------------------------------------------------------
@pytest.mark.parametrize("replace", [False, True])
def test_a_masked_copy_of_a_short_list_owns_its_values(replace):
    v = sg.Vector.from_coo([3, 5], [1, 2], size=LONG)
    w, nothing = sg.Vector("INT64", LONG), sg.Vector(bool, LONG)
    w(~nothing.S, replace=replace) << v
    w[3] = 77
    assert v.to_dict() == {3: 1, 5: 2}


def test_apply_can_make_a_matrix_symmetric():
    A = edges(2, {(0, 1): 5, (1, 0): 6})
    A.T.mxv(sg.Vector.from_coo([0], 1, size=2)).new()
    A._block.oriented(True)
    assert A.symmetric is False
    ones = A.apply(unary.one).new()
    assert ones.symmetric is not False
    assert A.dup(bool).symmetric is not False


def test_minus_zero_is_stored_among_zeros():
    A = sg.Matrix.from_coo([0, 1], [1, 0], 0.0)
    A[0, 1] = -0.0
    assert np.signbit(A.to_dense(0.0)).tolist() == [[False, True], [False, False]]


def test_minus_zero_is_not_zero_in_a_transpose():
    A = edges(2, {(0, 1): 0.0, (1, 0): -0.0})
    B = A.T.mxm(sg.Vector.from_coo([0, 1], [1.0, 1.0]).diag(), semiring.min_first).new()
    assert np.signbit(B.to_dense(0.0)).tolist() == [[False, True], [False, False]]


def test_labels_follow_resize():
    A = edges(2, {(0, 1): 1})
    A.labels = np.array(["a", "b"])
    shorter = A.dup()
    shorter.resize(1, 1)
    assert shorter.labels.tolist() == ["a"]
    A.resize(3, 3)
    assert A.labels is None


# ---- vectors that are too long for bitmaps --------------------------------------------
def test_huge_vectors():
    v = sg.Vector.from_coo([5, 2**39], [1, 2], size=HUGE)
    u = sg.Vector.from_coo([5, 7], [10, 20], size=HUGE)
    w = v.dup()
    w(u.S) << 7
    assert w.to_dict() == {5: 7, 7: 7, 2**39: 2}
    w = v.dup()
    w(u.S, accum=binary.plus) << 7
    assert w.to_dict() == {5: 8, 7: 7, 2**39: 2}
    assert v.inner(u).new().value == 10
    assert v.apply(unary.ainv).new(mask=u.S).to_dict() == {5: -1}
    assert v.apply(unary.ainv).new(mask=~u.S).to_dict() == {2**39: -2}
    assert v.select("valuegt", 0).new(mask=u.S).to_dict() == {5: 1}
    assert v.ewise_mult(u, binary.plus).apply(unary.ainv).new().to_dict() == {5: -11}
    total = v.ewise_add(u, binary.plus).apply(unary.ainv).reduce(monoid.plus).new()
    assert total.value == -33


# ---- NaN ---------------------------------------------------------------------------
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("jit", ["never", "always"])
def test_min_of_nothing_but_nan_is_nan(direction, jit):
    v = sg.Vector.from_coo([0, 1], [np.nan, np.nan], size=3)
    A = sg.Matrix.from_coo([0, 0, 1], [0, 1, 1], 1.0, nrows=3, ncols=3)
    with sg.Context(direction=direction, jit=jit):
        w = A.mxv(v, semiring.min_plus).new()
        assert np.isnan(v.reduce(monoid.min).value)
        assert np.isnan(v.reduce(monoid.max).value)
    assert np.isnan(w.to_dense(0.0)).tolist() == [True, True, False]


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("accum", [binary.plus, binary.min, binary.second])
def test_nan_that_stays_nan_has_not_changed(direction, accum):
    A = sg.Matrix.from_coo([0, 2], [0, 0], 1.0, nrows=3, ncols=3)
    w = sg.Vector.from_coo([0, 1], [np.nan, np.nan], size=3)
    u = sg.Vector.from_coo([0], [np.nan], size=3)
    changed = sg.Vector(float, 3)
    with sg.Context(direction=direction):
        w(accum, changed=changed) << A.mxv(u, semiring.plus_times)
    assert list(changed) == [2]


# ---- algorithms ----------------------------------------------------------------------
@pytest.mark.parametrize("width", [1e-3, 5.0, np.inf])
def test_sssp_ends_whatever_the_bucket(width):
    A = edges(3, {(0, 1): 1e17, (1, 2): 1.0})
    assert sg.algorithms.sssp(A, 0, delta=width).to_dict() == {0: 0, 1: 1e17, 2: 1e17}
    B = edges(3, {(0, 1): 1, (1, 2): 1})
    assert sg.algorithms.sssp(B, 0, delta=width).to_dict() == {0: 0, 1: 1, 2: 2}


def test_sssp_with_infinite_weights():
    A = edges(4, {(0, 1): np.inf, (1, 2): 1.0, (0, 3): 2.0})
    dist, parent = sg.algorithms.sssp_parents(A, 0)
    assert dist.to_dict() == {0: 0, 1: np.inf, 2: np.inf, 3: 2}
    assert parent.to_dict() == {0: 0, 1: 0, 2: 1, 3: 0}


@pytest.mark.parametrize("delta", [np.nan, 0, -1, "wide"])
def test_sssp_refuses_a_delta_that_is_not_positive(delta):
    with pytest.raises(InvalidValue, match="delta"):
        sg.algorithms.sssp(edges(2, {(0, 1): 1}), 0, delta=delta)


def test_sssp_with_distances_near_the_end_of_int64():
    A = edges(3, {(0, 1): 2**62, (1, 2): 2**62 - 5})
    assert sg.algorithms.sssp(A, 0).to_dict() == {0: 0, 1: 2**62, 2: 2**63 - 5}
    with pytest.raises(InvalidValue, match="int64"):
        sg.algorithms.sssp(edges(3, {(0, 1): 2**62, (1, 2): 2**62}), 0)


def test_sssp_with_uint64_weights():
    dist, parent = sg.algorithms.sssp_parents(edges(3, {(0, 1): 1, (1, 2): 2}, "UINT64"), 0)
    assert (dist.to_dict(), parent.to_dict()) == ({0: 0, 1: 1, 2: 3}, {0: 0, 1: 0, 2: 1})
    with pytest.raises(InvalidValue, match="int64"):
        sg.algorithms.sssp(edges(1, {(0, 0): 2**64 - 1}, "UINT64"), 0)


@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.3), (2**24 + 1, 1, 1)])
def test_sssp_parents_with_distances_narrower_than_weights(weights):
    A = edges(4, {(i, i + 1): weight for i, weight in enumerate(weights)})
    _, parent = sg.algorithms.sssp_parents(A, 0, dtype=np.float32)
    assert parent.to_dict() == {0: 0, 1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize("depth", [-1, 1.5, "1"])
def test_bfs_refuses_a_depth_that_is_no_number_of_levels(depth):
    A = sg.generators.path(3)
    for algorithm in (sg.algorithms.bfs, sg.algorithms.bfs_parents):
        with pytest.raises(InvalidValue, match="max_depth"):
            algorithm(A, 0, max_depth=depth)


def test_algorithms_take_transposes_and_expressions():
    A = edges(3, {(0, 1): 1, (1, 2): 1})
    assert sg.algorithms.bfs(A.T, 2).to_dict() == {2: 0, 1: 1, 0: 2}
    assert sg.algorithms.sssp(binary.plus(A | A), 0).to_dict() == {0: 0, 1: 2, 2: 4}


# ---- context -------------------------------------------------------------------------
def test_the_number_of_threads_is_restored_where_nobody_asked_for_it_before():
    seen = []

    def run():
        with sg.Context(threads=97):
            pass
        seen.append(_threads.threads())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [_threads.threads()]


def settings():
    return sg.Vector(int, 3).device, _threads.threads(), _specialise._jit()


def suspended(*args, **kwargs):
    with sg.Context(*args, **kwargs):
        yield


@pytest.mark.parametrize("own", [{}, {"threads": 3}, {"jit": "always"}, {"threads": 3, "jit": "always"}])
def test_a_context_that_ends_within_one_that_lasts_longer(own):
    """As that of a generator which is closed there."""
    before = settings()
    outer = suspended("cpu", threads=2, jit="never")
    next(outer)
    with sg.Context("cpu:3", **own) as inner:
        outer.close()
        assert sg.context.current() is inner
        assert settings() == ("cpu:3", own.get("threads", before[1]), own.get("jit", before[2]))
    assert settings() == before


def test_two_threads_that_forbid_copies():
    device, inside, left = sg.context.find_device("cpu", "test"), threading.Event(), threading.Event()

    def other():
        with sg.Context("cpu", host_copies=False):
            inside.set()
            left.wait(10)

    thread = threading.Thread(target=other)
    with sg.Context("cpu", host_copies=False):
        thread.start()
        inside.wait(10)
    assert not device.host_copies  # the other's
    left.set()
    thread.join()
    assert device.host_copies


def test_a_context_whose_device_is_missing_leaves_nothing_behind(monkeypatch):
    before = settings()
    monkeypatch.setenv(sg.context.VARIABLE, "cuda:977")
    monkeypatch.setattr(sg.context, "_default", None)
    context = sg.Context(threads=7, jit="never", host_copies=False)
    with pytest.raises(sg.exceptions.NoDevice), context:
        pass
    monkeypatch.undo()
    assert settings() == before


def test_the_variable_says_again_when_kernels_are_compiled(monkeypatch):
    monkeypatch.setenv("SPGRAPH_JIT", "no such mode")
    with sg.Context("cpu", jit="never", host_copies=False):
        pass
    assert (_specialise._jit(), sg.context.find_device("cpu", "test").host_copies) == ("no such mode", True)


def test_a_context_ends_once():
    context = sg.Context("cpu")
    with context, context:
        assert sg.context.current() is context
    with pytest.raises(sg.exceptions.InvalidObject, match="ends where it was not entered"):
        context.__exit__(None, None, None)
    with pytest.raises(sg.exceptions.InvalidObject, match="ends where it was not entered"):
        sg.context.DEFAULT.__exit__(None, None, None)
    assert sg.context.current() is sg.context.DEFAULT
    thread_says = []

    def elsewhere():
        try:
            context.__exit__(None, None, None)
        except sg.exceptions.InvalidObject as error:
            thread_says.append(str(error))

    with context:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(thread_says) == 1


def test_one_context_in_two_threads():
    context, entered, left = sg.Context("cpu", threads=7), threading.Event(), threading.Event()
    seen = []

    def other():
        with sg.Context(threads=5):
            with context:
                entered.set()
                left.wait(10)
            seen.append(_threads.threads())

    thread = threading.Thread(target=other)
    thread.start()
    before = _threads.threads()
    entered.wait(10)
    with context:
        pass
    left.set()
    thread.join()
    assert (seen, _threads.threads()) == ([5], before)


def test_when_kernels_are_compiled_belongs_to_the_thread_that_asked():
    seen = []
    with sg.Context(jit="never"):
        thread = threading.Thread(target=lambda: seen.append(_specialise._jit()))
        thread.start()
        thread.join()
    assert seen == [_specialise._jit()] != ["never"]


def test_the_number_of_threads_belongs_to_the_thread_that_asked():
    with sg.Context(threads=5):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(_threads.threads()))
        thread.start()
        thread.join()
        assert _threads.threads() == 5
    assert seen != [5]


def test_pair_takes_any_number():
    v = sg.Vector.from_coo([0], [1], dtype="INT8", size=2)
    w = sg.Vector.from_coo([1], [1.0], size=2)
    for number in (2.5, np.inf, np.nan):
        assert v.apply(sg.binary.pair, right=number).new().to_dict() == {0: 1}
        assert v.apply(sg.binary.pair, left=number).new().to_dict() == {0: 1}
        assert v.ewise_union(w, sg.binary.pair, number, number).new().to_dict() == {0: 1, 1: 1}
    with pytest.raises(sg.exceptions.InvalidValue, match=r"thunk|right is 2\.5"):
        v.apply(sg.indexunary.rowindex, 2.5)


# ---- changed sets, positions ------------------------------------------------------------
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize(("accum", "op", "u", "stays"), [
    (binary.plus, semiring.plus_times, [1, -1], 3),
    (binary.times, semiring.times_times, [-1, -1], 3),
])
def test_what_changes_and_changes_back_has_not_changed(direction, accum, op, u, stays):
    w, c = sg.Vector.from_coo([0], [stays], "INT64", size=4), sg.Vector("INT64", 4)
    A = sg.Matrix.from_coo([0, 1], [0, 0], [1, 1], "INT64", nrows=4, ncols=4)
    with sg.Context(direction=direction):
        w(accum, changed=c) << sg.Vector.from_coo([0, 1], u, "INT64", size=4).vxm(A, op)
    assert w.to_dict() == {0: stays}
    assert c.nvals == 0


def test_positions_have_no_place_where_values_are_combined():
    own = binary.register_anonymous(lambda x, y, ix, jx, iy, jy: x + y + ix)
    v = sg.Vector.from_coo([0, 2], [5, 6], size=4)
    w = v.dup()
    for op in (own, binary.firsti):
        with pytest.raises(sg.exceptions.DomainMismatch, match=r"accum.*asks for positions"):
            w(op) << v
        with pytest.raises(sg.exceptions.DomainMismatch, match=r"dup_op.*asks for positions"):
            sg.Vector.from_coo([0, 0], [1, 2], dup_op=op)
        with pytest.raises(sg.exceptions.InvalidValue, match="asks for positions"):
            monoid.register_anonymous(op, 0)
    assert own(v & v).new().to_dict() == {0: 10, 2: 14}
    A = sg.Matrix.from_coo([0, 1], [1, 2], [1, 1], nrows=3, ncols=3)
    across = sg.semiring.register_anonymous(monoid.plus, binary.register_anonymous(
        lambda x, y, ix, jx, iy, jy: 100 * ix + 10 * jx + jy))
    assert across(A @ A).new().to_dicts() == {0: {2: 12}}


@pytest.mark.parametrize(("op", "wanted"), [("min_plus", {1: 4}), ("any_second", {1: 1})])
def test_changed_is_u_and_the_output_was_empty(op, wanted):
    """The one value of the result was computed from u after u had become the result."""
    A = sg.Matrix.from_coo(range(3), range(1, 4), 1, nrows=4, ncols=4)
    w, f = sg.Vector("INT64", 4), sg.Vector.from_coo([0], 3, "INT64", size=4)
    w(changed=f) << f.vxm(A, op)
    assert (w.to_dict(), f.to_dict()) == (wanted, wanted)


def test_gcd_of_equal_negative_numbers():
    A = sg.Matrix.from_coo([0, 0, 2, 2, 2], [0, 1, 0, 1, 2], -4, "INT32", nrows=4, ncols=3)
    assert A.reduce_rowwise(sg.monoid.numpy.gcd).new().to_dict() == {0: 4, 2: 4}
    assert A.reduce_scalar(sg.monoid.numpy.gcd).value == 4


def test_a_group_of_groups_is_refused():
    with pytest.raises(InvalidValue, match="devices is \\['cpu:2', 'cpu'\\], wanted 'cpu', "):
        sg.Context(["cpu:2", "cpu"])


@pytest.mark.parametrize(("call", "name"), [
    (lambda A, B: A.isclose(B), "isclose"),
    (lambda A, B: A.isequal(B), "isequal"),
    (lambda A, B: A.setdiag(B.diag()), "setdiag"),
    (lambda A, B: sg.algorithms.pagerank(A, personalization=B.diag()), "pagerank: A is on cpu, but personalization"),
    (lambda A, B: sg.algorithms.hits(A, nstart=B.diag()), "hits: A is on cpu, but nstart is on cpu:3"),
    (lambda A, B: sg.algorithms.katz_centrality(A, beta=B.diag()), "katz_centrality: A is on cpu, but beta"),
])
def test_operands_on_other_devices_are_named_by_what_was_called(call, name):
    with sg.Context("cpu"):
        A = sg.generators.grid(3)
    with sg.Context("cpu:3"):
        B = sg.generators.grid(3)
    with pytest.raises(sg.exceptions.DeviceMismatch, match=f"^{name}"):
        call(A, B)
