"""Loops that are recorded and run whole (`spgraph.loops`): results, what they refuse, what a GPU runs alone."""

import asyncio
import threading

import numpy as np
import pytest
from looping import interrupt, level_by_level, steps_alone

import spgraph as sg
from spgraph import binary, context, engine, monoid, select, semiring, unary
from spgraph._recording import recorders
from spgraph.algorithms import _tree
from spgraph.algorithms.bfs import any_next
from spgraph.engine import loops_cuda
from spgraph.exceptions import DimensionMismatch, InvalidValue

N = 12


def ring(n=N):
    return sg.generators.cycle(n)


@pytest.fixture(autouse=True)
def nothing_is_left_recording():
    yield
    assert recorders == set()


# ---- what is recorded, and when it runs --------------------------------------------------
def test_nothing_runs_before_the_block_ends():
    w, inside = sg.Vector.from_coo([0], 1, size=3), []
    with sg.loop() as loop:
        w << w.apply(binary.plus, right=1)
        loop.until(loop.count == 4)
        reader = threading.Thread(target=lambda: inside.append(w.to_dict()))
        reader.start()
        reader.join()
    assert (inside, w.to_dict(), loop.count) == ([{0: 1}], {0: 5}, 4)


def test_a_search_by_two_statements():
    """Levels as the design's example writes them: the number of the iteration is a value."""
    A = sg.generators.grid(3, 4)
    level, frontier = sg.Vector(int, N), sg.Vector.from_coo([0], True, size=N)
    with sg.loop() as loop:
        level(frontier.S) << loop.count
        frontier(~level.S, replace=True) << frontier.vxm(A, semiring.any_pair)
        loop.until(frontier.nvals == 0)
    assert level.isequal(sg.algorithms.bfs(A, 0).apply(unary.identity[sg.dtypes.INT64]).new())
    assert loop.count == 6


def test_scalars_and_reductions():
    """Newton's method for square roots, until the largest change is small."""
    x = sg.Vector.from_coo([0, 1, 2], [2.0, 9.0, 2500.0], size=3)
    root, before, change = x.dup(), x.dup(), sg.Scalar(float)
    with sg.loop() as loop:
        before << root
        root << binary.plus(before | binary.truediv(x & before)).apply(binary.times, right=0.5)
        change << (root - before).apply(unary.abs).reduce(monoid.max)
        loop.until(change.value < 1e-12)
    assert np.allclose(root.to_dense(), [np.sqrt(2), 3, 50])
    assert change.value < 1e-12


def test_parts_and_elements_are_written():
    v = sg.Vector.from_coo([0, 1, 2], [0, 0, 0], size=3)
    with sg.loop() as loop:
        v[1] << loop.count
        v(binary.plus)[[0, 2]] << 10
        v[0] = loop.count * 2 + 1
        loop.until(loop.count >= 3)
    assert v.to_dict() == {0: 5, 1: 2, 2: 30}
    with sg.loop() as loop:
        del v[0]
        loop.until(v.nvals < 3)
    assert v.to_dict() == {1: 2, 2: 30}


def test_a_loop_within_a_loop_runs_to_its_end_each_time():
    inner_total, outer = sg.Vector.from_coo([0], 0, size=1), sg.Vector.from_coo([0], 0, size=1)
    with sg.loop() as loop:
        outer << outer.apply(binary.plus, right=1)
        with sg.loop() as within:
            inner_total << inner_total.apply(binary.plus, right=1)
            within.until(within.count == 3)
        loop.until(loop.count == 4)
    assert (outer.to_dict(), inner_total.to_dict(), loop.count, within.count) == ({0: 4}, {0: 12}, 4, 3)


@pytest.mark.parametrize(
    ("until", "wanted"),
    [
        (lambda loop, v: loop.count == 3, 3),
        (lambda loop, v: loop.count > 3, 4),
        (lambda loop, v: (loop.count >= 9) | (v.nvals == 4), 3),
        (lambda loop, v: (loop.count >= 2) & (v.nvals >= 5), 4),
        (lambda loop, v: ~(v.nvals < 6), 5),
        (lambda loop, v: 2 * v.nvals - loop.count >= 7, 5),
        (lambda loop, v: 10 - loop.count < v.nvals / 2, 7),
        (lambda loop, v: 3 <= v.nvals, 2),  # noqa: SIM300
        (lambda loop, v: v.nvals != loop.count, 1),
        (lambda loop, v: abs(-v.nvals + 1) >= 3, 3),
    ],
)
def test_conditions(until, wanted):
    v = sg.Vector.from_coo([0], 1, size=40)
    after = sg.Matrix.from_coo(range(39), range(1, 40), 1, nrows=40, ncols=40)
    with sg.loop() as loop:
        v(monoid.any) << v.vxm(after, semiring.any_first)  # one entry more
        loop.until(until(loop, v))
    assert (loop.count, v.nvals) == (wanted, wanted + 1)


def test_several_untils_are_any_of_them():
    v = sg.Vector.from_coo([0], 0, size=1)
    with sg.loop() as loop:
        v << v.apply(binary.plus, right=1)
        loop.until(loop.count == 7)
        loop.until(loop.count == 5)
    assert loop.count == 5


def test_another_thread_is_not_recorded():
    w, done = sg.Vector.from_coo([0], 1, size=3), []

    def elsewhere():
        other = sg.Vector.from_coo([1], 5, size=3)
        other << other.apply(binary.plus, right=1)
        done.append((other.nvals, other.to_dict()))

    with sg.loop() as loop:
        w << w.apply(binary.plus, right=1)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        loop.until(loop.count == 1)
    assert done == [(1, {1: 6})]
    assert w.to_dict() == {0: 2}


def bodies():
    """Bodies of loops, of w, v, s, A and B: each run four times."""
    plus, times = binary.plus, binary.times
    return {
        "apply of a product": lambda w, v, s, A, B: v << v.vxm(A).apply(times, right=2),
        "apply of a selection": lambda w, v, s, A, B: v(plus) << v.select(">", 3).apply(plus, right=1),
        "apply of an extraction": lambda w, v, s, A, B: v << v[::-1].apply(plus, right=1),
        "sum of products": lambda w, v, s, A, B: v << (v.vxm(A) + A.mxv(v)),
        "part": lambda w, v, s, A, B: v[:].update(v.apply(plus, right=1)),
        "part with accumulator": lambda w, v, s, A, B: v(plus)[[0, 2]] << v[[1, 2]],
        "part of a product": lambda w, v, s, A, B: v[:].update(v.vxm(A)),
        "reduction": lambda w, v, s, A, B: (s << v.reduce(), v(plus)[0] << s.value),
        "reduction of a selection": lambda w, v, s, A, B: (s << v.select(">", 1).reduce(), v[1] << s.value),
        "reduction into a vector": lambda w, v, s, A, B: v(v.S, plus) << v.reduce(),
        "reduction into an element": lambda w, v, s, A, B: v(plus)[0] << v.reduce(),
        "element": lambda w, v, s, A, B: (v << v.apply(plus, right=1), s(plus) << v[1]),
        "element into an element": lambda w, v, s, A, B: (v(plus)[1] << v[0], v(plus)[0] << v[1]),
        "inner product": lambda w, v, s, A, B: (v << v.apply(plus, right=1), s(plus) << v @ v),
        "inner product into a part": lambda w, v, s, A, B: v(plus)[0] << v @ v,
        "scalars": lambda w, v, s, A, B: (s << v.reduce(), s(plus) << v.reduce(monoid.max), v(plus)[0] << s.value),
        "matrix part": lambda w, v, s, A, B: B[:, :].update(B.mxm(A)),
        "matrix row": lambda w, v, s, A, B: (B[0, :] << v.vxm(A), v << B[0, :].apply(plus, right=1)),
        "matrix reduction": lambda w, v, s, A, B: (B << B.apply(plus, right=1), v(plus)[0] << B.reduce_scalar()),
        "rows": lambda w, v, s, A, B: (B << B.apply(plus, right=1), v << B.reduce_rowwise().apply(times, right=2)),
        "selection within a mask": lambda w, v, s, A, B: w(v.S, plus) << v.select(">", 2).apply(plus, right=1),
        "positions": lambda w, v, s, A, B: v(plus)[w] << v.apply(plus, right=1),
    }


@pytest.mark.parametrize("body", bodies().values(), ids=bodies())
def test_expressions_are_computed_anew_in_every_iteration(body):
    results = []
    for recorded in (True, False):
        v = sg.Vector.from_coo([0, 1, 2, 3], [1, 2, 3, 4], size=4)
        w, s = sg.Vector.from_coo([0, 1, 2, 3], [1, 0, 3, 3], size=4), sg.Scalar.from_value(1)
        A = sg.Matrix.from_coo([0, 1, 2, 3, 0], [1, 2, 3, 0, 3], [1, 2, 1, 1, 1], nrows=4, ncols=4)
        B = A.dup()
        if recorded:
            with sg.loop() as loop:
                body(w, v, s, A, B)
                loop.until(loop.count == 4)
        else:
            for _ in range(4):
                body(w, v, s, A, B)
        results.append((w.to_dict(), v.to_dict(), s.value, B.to_dicts()))
    assert results[0] == results[1]


def test_the_count_of_a_loop_within_is_known_later():
    v, t = sg.Vector.from_coo([0], 0, size=1), sg.Vector.from_coo([0], 0, size=1)
    with sg.loop() as outer:
        with sg.loop() as inner:
            v << v.apply(binary.plus, right=1)
            inner.until(inner.count == 3)
        t(binary.plus)[0] << inner.count
        outer.until(outer.count == 4)
    assert (v.to_dict(), t.to_dict()) == ({0: 12}, {0: 12})


def test_tasks_have_loops_of_their_own():
    async def bump(w, times):
        with sg.loop() as loop:
            w << w.apply(binary.plus, right=1)
            await asyncio.sleep(0)
            loop.until(loop.count == times)

    async def both(one, other):
        await asyncio.gather(bump(one, 2), bump(other, 5))

    one, other = sg.Vector.from_coo([0], 0, size=1), sg.Vector.from_coo([0], 0, size=1)
    asyncio.run(both(one, other))
    assert (one.to_dict(), other.to_dict()) == ({0: 2}, {0: 5})


def test_blocks_that_do_not_nest_are_an_error():
    def block(w):
        with sg.loop() as loop:
            w << w.apply(binary.plus, right=1)
            loop.until(loop.count == 1)
            yield

    w = sg.Vector.from_coo([0], 0, size=1)
    one, other = block(w), block(w)
    next(one), next(other)
    with pytest.raises(RuntimeError, match="its block ends before that of a loop within it"):
        next(one)
    with pytest.raises(StopIteration):
        next(other)
    suspended = block(w)
    next(suspended)
    thread = threading.Thread(target=suspended.close)
    thread.start()
    thread.join()
    w[0] << 7
    assert w.to_dict() == {0: 7}


def test_numbers_are_known_afterwards():
    v = sg.Vector.from_coo([0], 0, size=3)
    with sg.loop() as loop:
        v[loop_number := 1] << loop.count
        entries, ends = v.nvals * 10, v.nvals == 2
        loop.until(loop.count == 2)
    assert loop_number == 1
    assert (int(entries), float(entries), bool(ends)) == (20, 20.0, True)


def test_arrays_are_taken_as_they_are():
    v, values = sg.Vector.from_coo([0, 1], 0, size=2), np.array([3, 4])
    with sg.loop() as loop:
        v[[0, 1]] << values
        values[:] = 9
        loop.until(loop.count == 1)
    assert v.to_dict() == {0: 3, 1: 4}


@pytest.mark.parametrize("limit", [2.0, np.float64(2), np.float32(2), np.int8(2), 1.5, np.inf, -np.inf, np.nan])
def test_limits_of_any_kind(cuda, limit):
    with sg.Context(cuda):
        A = GRAPHS["path"]()
        parent = sg.Vector.from_coo([0], 0, size=A.nrows)
        near = parent.dup()
        with sg.loop() as loop:
            parent(~parent.S, changed=near) << near.vxm(A, semiring.any_secondi)
            loop.until((near.nvals == 0) | (loop.count >= limit))
        assert loop.count == (1 if limit < 1 else 2 if limit <= 2 else A.nrows)
        assert parent.nvals == min(loop.count + 1, A.nrows)


# ---- what is refused ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda v, s, A: bool(v.nvals), "v.nvals is known only when the loop runs"),
        (lambda v, s, A: int(v.nvals), "v.nvals is known only"),
        (lambda v, s, A: float(A.nvals), "A.nvals is known only"),
        (lambda v, s, A: range(v.nvals), "v.nvals is known only"),
        (lambda v, s, A: bool(v.nvals == 0), r"v.nvals == 0 is not known before the loop runs"),
        (lambda v, s, A: bool((v.nvals == 0) | (s.value > 1)), r"v.nvals == 0 or s.value > 1 is not known"),
    ],
)
def test_what_is_not_known_yet_is_no_number(read, message):
    v, s, A = named()
    with pytest.raises(TypeError, match=message), sg.loop():
        read(v, s, A)


@pytest.mark.parametrize("other", [None, "2", 1j, np.array([1, 2]), np.array(4)], ids=str)
def test_conditions_compare_numbers(other):
    v = named()[0]
    for compare in (lambda x: x == other, lambda x: x != other, lambda x: x < other, lambda x: other == x):
        with pytest.raises(TypeError, match=r"got .*, wanted a number"), sg.loop():
            compare(v.nvals)
    with pytest.raises(TypeError, match="conditions are combined by"), sg.loop():
        (v.nvals == 0) == True  # noqa: B015, E712


READS = {
    "new": lambda v, s, A: v.apply(unary.abs).new(),
    "new of a product": lambda v, s, A: v.vxm(A).new(),
    "nvals of an expression": lambda v, s, A: (v + v).nvals,
    "to_coo": lambda v, s, A: v.to_coo(),
    "to_dense": lambda v, s, A: v.to_dense(),
    "dict": lambda v, s, A: v.to_dict(),
    "get": lambda v, s, A: v.get(0),
    "in": lambda v, s, A: 0 in v,
    "element": lambda v, s, A: v[0].value,
    "iteration": lambda v, s, A: list(v),
    "isequal": lambda v, s, A: v.isequal(v),
    "reduction": lambda v, s, A: v.reduce().value,
    "matrix": lambda v, s, A: A.to_csr(),
    "rows": lambda v, s, A: A.reduce_rowwise().new(),
    "float": lambda v, s, A: float(s),
    "get of a scalar": lambda v, s, A: s.get(),
    "scalar as an operand": lambda v, s, A: v.apply(binary.plus, right=s),
    "clear": lambda v, s, A: v.clear(),
    "clear of a matrix": lambda v, s, A: A.clear(),
    "dup": lambda v, s, A: v.dup(),
    "resize": lambda v, s, A: v.resize(3),
    "argsort": lambda v, s, A: v.argsort(),
    "to": lambda v, s, A: v.to("cpu"),
    "reorder": lambda v, s, A: A.reorder("degree"),
    "clear of a scalar": lambda v, s, A: s.clear(),
    "dup of a scalar": lambda v, s, A: s.dup(),
}


def named():
    v = sg.Vector.from_coo([0, 2], [1, 2], size=N, name="v")
    return v, sg.Scalar.from_value(3, name="s"), ring()


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_not_computed_yet_cannot_be_read(read):
    v, s, A = named()
    with pytest.raises(RuntimeError, match=r"within sg.loop\(\) statements are only written down"), sg.loop():
        read(v, s, A)
    assert v.to_dict() == {0: 1, 2: 2}
    assert A.nvals == ring().nvals


def test_a_loop_must_end_and_do_something():
    w = sg.Vector.from_coo([0], 1, size=3)
    with pytest.raises(InvalidValue, match=r"nothing says when to stop; call loop.until"), sg.loop():
        w << w.apply(unary.abs)
    with pytest.raises(InvalidValue, match="no statement"), sg.loop() as loop:
        loop.until(loop.count == 1)
    with pytest.raises(TypeError, match="wanted a condition such as"), sg.loop() as loop:
        loop.until(True)
    with pytest.raises(RuntimeError, match="outside the loop's block"):
        loop.until(loop.count == 1)
    assert w.to_dict() == {0: 1}


def test_a_loop_is_recorded_once():
    w = sg.Vector.from_coo([0], 1, size=3)
    with sg.loop() as loop:
        w << w.apply(unary.abs)
        loop.until(loop.count == 1)
    with pytest.raises(RuntimeError, match="recorded once"), loop:
        pass


@pytest.mark.parametrize(
    "until",
    [
        lambda loop, v, s, A: A.nvals == 0,
        lambda loop, v, s, A: s.value > 4,
        lambda loop, v, s, A: (s.value > 4) | (A.nvals == 0),
    ],
)
def test_conditions_that_nothing_changes_are_an_error(until):
    v, s, A = named()

    def run():
        with sg.loop() as loop:
            v << v.apply(unary.abs)
            loop.until(until(loop, v, s, A))

    with pytest.raises(InvalidValue, match="but nothing in the block changes that"):
        run()


@pytest.mark.parametrize("until", [lambda n: n == 0, lambda n: n == 1.5, lambda n: n < 1, lambda n: n <= 0.5,
                                   lambda n: (n < -3) | (n == 0), lambda n: n <= -10**400, lambda n: n == float("inf")])
def test_counts_that_come_too_early_are_refused(until):
    v = sg.Vector.from_scalar(1, 3)

    def run():
        with sg.loop() as loop:
            v << v + 1
            loop.until(until(loop.count))

    with pytest.raises(InvalidValue, match="but nothing in the block changes that"):
        run()
    assert v.to_dense().tolist() == [1, 1, 1]


@pytest.mark.parametrize(("until", "times"), [(lambda n: n == 1, 1), (lambda n: n < 2, 1), (lambda n: n <= 1, 1),
                                              (lambda n: n != 1, 2), (lambda n: (n == 0) | (n == 3), 3),
                                              (lambda n: n < 10**400, 1)])
def test_counts_that_come(until, times):
    v = sg.Vector.from_scalar(1, 3)
    with sg.loop() as loop:
        v << v + 1
        loop.until(until(loop.count))
    assert v.to_dense().tolist() == [1 + times] * 3


@pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16", "FP32", "FP64"])
def test_a_counter_is_that_of_a_plain_loop(dtype):
    """Also where a number of entries is too large for it, in whatever way the loop is run."""
    A = sg.generators.complete(300)
    said = []
    for plain in (True, False):
        v = sg.Vector.from_coo([0], 0, "INT64", size=300)
        near, other, counter = v.dup(), v.dup(), sg.Scalar(dtype)
        counter << 0
        try:
            with sg.loop() as loop:
                counter(binary.plus) << near.nvals
                if plain:  # which no device runs by itself
                    other << near
                v(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
                loop.until(near.nvals == 0)
            said.append(counter.value)
        except InvalidValue as error:
            said.append(str(error).rpartition(": ")[2])
    assert said[0] == said[1]


def test_conditions_that_hold_already_end_after_one_iteration():
    v, s, A = named()
    with sg.loop() as loop:
        v << v.apply(binary.plus, right=1)
        loop.until(A.nvals > 0)
    assert (loop.count, v.to_dict(), s.value) == (1, {0: 2, 2: 3}, 3)
    B = A.dup()
    with sg.loop() as loop:
        B << B.select(select.triu)
        loop.until(B.T.nvals < A.nvals)
    assert loop.count == 1


@pytest.mark.parametrize("show", [repr, lambda x: x._repr_html_()])
def test_what_is_shown_within_a_block(show):
    v, s, A = named()
    with sg.loop() as loop:
        v << v.apply(unary.abs)
        shown = [show(x) for x in (v, s, A, A.T, v.S, ~v.V, v + v, v.vxm(A), A @ A, v.reduce(), v[0], v[[0, 1]])]
        loop.until(loop.count == 1)
    assert all("known when the loop runs" in text for text in shown)


def test_errors_say_which_statement():
    w, long = sg.Vector.from_coo([0], 1, size=3), sg.Vector.from_coo([0], 1, size=4)

    def run():
        with sg.loop() as loop:
            w << w.apply(unary.abs)
            w << long.apply(unary.abs)
            loop.until(loop.count == 1)

    with pytest.raises(DimensionMismatch) as caught:
        run()
    assert "test_loops.py, line" in caught.value.__notes__[0]


def test_an_error_within_the_block_runs_nothing():
    w = sg.Vector.from_coo([0], 1, size=3)

    def run():
        with sg.loop() as loop:
            w << w.apply(binary.plus, right=1)
            loop.until(loop.count == 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert w.to_dict() == {0: 1}


def test_an_empty_scalar_is_compared_with_nothing():
    w, s = sg.Vector(float, size=3), sg.Scalar(float, name="s")

    def run():
        with sg.loop() as loop:
            s << w.reduce(monoid.min, allow_empty=True)
            loop.until(s.value < 1)

    with pytest.raises(InvalidValue, match=r"s.value < 1 compares a Scalar without a value"):
        run()


# ---- searches that grow, which a GPU runs alone ------------------------------------------
def directed(*size, seed):
    rows, cols = sg.generators.rmat_edges(*size, seed=seed)[:2]
    n = 1 << size[0]
    return sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=binary.lor)


GRAPHS = {
    "path": lambda: sg.generators.path(60),
    "long path": lambda: sg.generators.path(1500),
    "grid": lambda: sg.generators.grid(30, 40),
    "star": lambda: sg.generators.star(3000),
    "rmat": lambda: sg.generators.rmat(10, 8, seed=3),
    "by degree": lambda: sg.generators.rmat(10, 8, seed=3).reorder("degree"),
    "weighted": lambda: sg.generators.rmat(9, 16, seed=4).apply(unary.identity["FP32"]).new(),
    "directed": lambda: directed(10, 4, seed=5),
    "many rows": lambda: sg.generators.uniform(20_011, 6, seed=7),  # more than threads of a small GPU
    "many alone": lambda: sg.generators.rmat(15, 2, seed=8).reorder("degree"),
}
COSTS = {"as they are": {}, "of pulls low": {"start": 0.0, "look": 0.0, "bits": 0.0}, "of pulls high": {"start": 1e9}}


@pytest.fixture
def alone(monkeypatch):
    """How many iterations each loop did without the host, whenever one could have."""
    return steps_alone(monkeypatch, loops_cuda)


def priced(monkeypatch, prices):
    monkeypatch.setattr(loops_cuda, "GPU_COSTS", loops_cuda.GPU_COSTS._replace(**prices))


@pytest.mark.parametrize("prices", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("most", [None, 1, 2, 5])
@pytest.mark.parametrize("graph", GRAPHS)
def test_searches_are_those_of_a_plain_loop(cuda, monkeypatch, alone, graph, most, prices):
    priced(monkeypatch, prices)
    with sg.Context(cuda):
        A = GRAPHS[graph]()
        A._block.oriented(True)
        source = int(np.argmax(np.bincount(A.to_coo()[0], minlength=A.nrows)))
        w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
        near, wanted = w.dup(), w.dup()
        last = wanted.dup()
        count = level_by_level(A, wanted, last, any_next, most)
        for again in range(2):
            if again:
                w, near = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows), w.dup(clear=True)
                near << w
            with sg.loop() as loop:
                w(~w.S, changed=near) << near.vxm(A, any_next)
                loop.until(near.nvals == 0)
                if most is not None:
                    loop.until(loop.count == most)
            assert loop.count == count
            assert w.isequal(wanted, check_dtype=True)
            assert near.isequal(last, check_dtype=True)
            w(w.S) << 1  # nothing is shared
            assert near.isequal(last)
    by_itself = 0 if graph == "star" else count - 1  # from the second one on: then values are known to be those of w
    assert sum(alone) == 2 * by_itself


@pytest.mark.parametrize("op", [semiring.any_pair, semiring.any_secondi, semiring.any_firstj, semiring.any_second])
@pytest.mark.parametrize("dtype", ["BOOL", "UINT8", "INT64", "FP64"])
@pytest.mark.parametrize("way", ["vxm", "mxv", "transposed"])
def test_any_semiring_type_and_way(cuda, monkeypatch, alone, op, dtype, way):
    priced(monkeypatch, COSTS["of pulls low"])
    with sg.Context(cuda):
        A = directed(9, 4, seed=6).apply(unary.one["INT32"]).new()
        A._block.oriented(True)
        sources = np.argsort(np.bincount(np.concatenate(A.to_coo()[:2]), minlength=A.nrows))[-3:]
        w = sg.Vector.from_coo(sources, True, dtype, size=A.nrows)
        near = w.dup()
        reached, frontier = w.dup(), w.dup()
        B = A.T if way == "transposed" else A

        def product(u):
            return B.mxv(u, op) if way == "mxv" else u.vxm(B, op)

        count = 0
        while frontier.nvals:
            reached(~reached.S, changed=frontier) << product(frontier)
            count += 1
        with sg.loop() as loop:
            w(~w.S, changed=near) << product(near)
            loop.until(near.nvals == 0)
        assert loop.count == count
        assert near.nvals == 0
        assert (w.apply(unary.one) == reached.apply(unary.one)).new().reduce(monoid.land).value
        if op is semiring.any_pair:
            assert w.isequal(reached, check_dtype=True)
        if op in (semiring.any_secondi, semiring.any_firstj) and dtype == "INT64":
            ids, parents = (part.tolist() for part in w.to_coo())
            rows, cols, _ = (B.T if way == "mxv" else B).to_coo()
            edges = set(zip(rows.tolist(), cols.tolist()))
            found = [(p, v) for v, p in zip(ids, parents) if v not in sources]
            if op is (semiring.any_firstj if way == "mxv" else semiring.any_secondi):
                assert found
                assert all(pair in edges and pair[0] in ids for pair in found)
    assert sum(alone) >= count - 1


@pytest.mark.parametrize("prices", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("most", [None, 1, 4])
@pytest.mark.parametrize("dtype", ["INT64", "UINT8", "FP32"])
@pytest.mark.parametrize("graph", [name for name in GRAPHS if name != "long path"])
def test_levels_as_graphblas_has_them(cuda, monkeypatch, alone, graph, dtype, most, prices):
    """Without ``changed=``: two statements, the number of the iteration is what is written."""
    priced(monkeypatch, prices)
    with sg.Context(cuda):
        A = GRAPHS[graph]()
        A._block.oriented(True)
        source = int(np.argmax(np.bincount(A.to_coo()[0], minlength=A.nrows)))
        wanted, last, count = sg.Vector(dtype, A.nrows), sg.Vector.from_coo([source], True, size=A.nrows), 0
        while last.nvals and count != most:
            wanted(last.S) << count
            last(~wanted.S, replace=True) << last.vxm(A, semiring.any_pair)
            count += 1
        for by_rows in (True, False):
            level, frontier = sg.Vector(dtype, A.nrows), sg.Vector.from_coo([source], True, size=A.nrows)
            with sg.loop() as loop:
                level(frontier.S) << loop.count
                frontier(~level.S, replace=True) << (
                    frontier.vxm(A, semiring.any_pair) if by_rows else A.T.mxv(frontier, semiring.any_pair)
                )
                loop.until(frontier.nvals == 0)
                if most is not None:
                    loop.until(loop.count == most)
            assert loop.count == count
            assert level.isequal(wanted, check_dtype=True)
            assert frontier.isequal(last, check_dtype=True)
    assert sum(alone) == 2 * count


def test_levels_that_a_type_cannot_hold_are_an_error(cuda, alone):
    with sg.Context(cuda):
        A = GRAPHS["long path"]()
        level, frontier = sg.Vector("INT8", A.nrows), sg.Vector.from_coo([0], True, size=A.nrows)

        def run():
            with sg.loop() as loop:
                level(frontier.S) << loop.count
                frontier(~level.S, replace=True) << frontier.vxm(A, semiring.any_pair)
                loop.until(frontier.nvals == 0)

        with pytest.raises(Exception, match="128"):
            run()
        assert level.to_dict() == {k: k for k in range(128)}
    assert sum(alone) == 127


@pytest.mark.parametrize(
    "change",
    [
        lambda loop, level, frontier, A: (loop.count + 1, frontier.vxm(A, semiring.any_pair)),
        lambda loop, level, frontier, A: (loop.count, frontier.vxm(A, semiring.any_second)),
        lambda loop, level, frontier, A: (loop.count, level.vxm(A, semiring.any_pair)),
        lambda loop, level, frontier, A: (7, frontier.vxm(A, semiring.any_pair)),
    ],
)
def test_what_only_looks_like_levels(cuda, alone, change):
    with sg.Context(cuda):
        A = weighted(GRAPHS["grid"](), "INT64")
        results = []
        for recorded in (True, False):
            level, frontier = sg.Vector(int, A.nrows), sg.Vector.from_coo([0], 1, size=A.nrows)
            if recorded:
                with sg.loop() as loop:
                    value, product = change(loop, level, frontier, A)
                    level(frontier.S) << value
                    frontier(~level.S, replace=True) << product
                    loop.until((frontier.nvals == 0) | (loop.count == 9))
            else:

                class Now:
                    count = 0

                while True:
                    value, product = change(Now, level, frontier, A)
                    level(frontier.S) << value
                    frontier(~level.S, replace=True) << product
                    Now.count += 1
                    if frontier.nvals == 0 or Now.count == 9:
                        break
            results.append((level, frontier))
        assert all(one.isequal(other) for one, other in zip(*results))
    assert sum(alone) == 0


def test_what_is_not_such_a_search_runs_statement_by_statement(cuda, alone):
    with sg.Context(cuda):
        A = GRAPHS["rmat"]()
        w = sg.Vector.from_coo([0], 0, np.int32, size=A.nrows)
        near = w.dup()
        with sg.loop() as loop:
            w(~w.S, changed=select.valuelt(near, 3)) << near.vxm(A, any_next)
            loop.until(near.nvals == 0)
        assert w.nvals == sg.algorithms.bfs(A, 0, max_depth=3).nvals
        mean = sg.Vector.from_coo([0], 0.0, size=A.nrows)
        near = mean.dup()
        with sg.loop() as loop:  # a sum may change and change back
            mean(binary.plus, changed=near) << near.vxm(A, semiring.plus_first)
            loop.until((near.nvals == 0) | (loop.count == 3))
        other = sg.Vector.from_coo([0], 0, np.int32, size=A.nrows)
        near = other.dup()
        with sg.loop() as loop:
            other(binary.max, changed=near) << near.vxm(A, semiring.min_plus)
            loop.until((near.nvals == 0) | (loop.count == 3))
    assert sum(alone[:1]) == 0
    assert set(alone) <= {0}


# ---- relaxations --------------------------------------------------------------------------
ROADS = {
    "grid": lambda: sg.generators.grid(20, 30),
    "weighted grid": lambda: weighted(sg.generators.grid(20, 30), "INT64"),
    "floats": lambda: weighted(sg.generators.grid(9, 70), "FP32"),
    "path": lambda: weighted(sg.generators.path(900), "INT64"),
    "rmat": lambda: weighted(sg.generators.rmat(9, 4, seed=3), "INT64"),
    "by degree": lambda: weighted(sg.generators.rmat(9, 4, seed=3), "FP64").reorder("degree"),
    "directed": lambda: weighted(directed(9, 3, seed=5), "UINT16"),
}


def weighted(A, dtype):
    """Weights of 1 to 9, by where an edge goes."""
    rows, cols, _ = A.to_coo()
    return sg.Matrix.from_coo(rows, cols, 1 + (rows * cols) % 9, dtype, nrows=A.nrows, ncols=A.ncols)


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("limit", [None, 12])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("graph", ROADS)
def test_relaxations_are_those_of_a_plain_loop(cuda, alone, graph, full, limit, most):
    with sg.Context(cuda):
        A = ROADS[graph]()
        A._block.oriented(True)
        dtype = "INT32" if A.dtype == "BOOL" else A.dtype
        start = sg.Vector.from_scalar(99, A.nrows, dtype) if full else sg.Vector(dtype, A.nrows)
        start[0] << 0
        first = sg.Vector.from_coo([0], 0, dtype, size=A.nrows)
        op = semiring.min_plus

        def changed(c):
            return c if limit is None else select.valuelt(c, limit)

        wanted, last, count, total = start.dup(), first.dup(), 0, 0
        while True:
            total += last.nvals
            wanted(binary.min, changed=changed(last)) << last.vxm(A, op)
            count += 1
            if last.nvals == 0 or (most is not None and count == most):
                break
        dist, near, seen = start.dup(), first.dup(), sg.Scalar.from_value(0, int)
        with sg.loop() as loop:
            seen(binary.plus) << near.nvals
            dist(binary.min, changed=changed(near)) << near.vxm(A, op)
            loop.until(near.nvals == 0)
            if most is not None:
                loop.until(loop.count == most)
        if most is None:
            assert dist.isequal(wanted, check_dtype=True)
            assert near.nvals == 0
        if graph in ("grid", "path"):  # no vertex is lowered twice in a level
            assert (loop.count, seen.value) == (count, total)
            assert dist.isequal(wanted)
            assert near.isequal(last)
        assert near.select(select.valuelt, 99).new().isequal(dist.dup(mask=near.S).select(select.valuelt, 99).new())
        dist(dist.S) << 1
        assert near.nvals == 0 or near.reduce(monoid.max).value > 1
    assert sum(alone) == (loop.count - 1 if most is None else 0)


@pytest.mark.parametrize(
    ("monoid_", "op"), [("max", "max_min"), ("min", "min_max"), ("lor", "lor_land"), ("min", "min_first")]
)
def test_relaxations_of_other_monoids(cuda, alone, monoid_, op):
    with sg.Context(cuda):
        A = weighted(sg.generators.grid(15, 16), "BOOL" if monoid_ == "lor" else "INT32")
        accum = getattr(binary, monoid_)
        start = sg.Vector.from_coo([0, 7], [5, 3] if monoid_ != "lor" else [True, True], A.dtype, size=A.nrows)
        wanted, last = start.dup(), start.dup()
        while last.nvals:
            wanted(accum, changed=last) << last.vxm(A, op)
        got, near = start.dup(), start.dup()
        with sg.loop() as loop:
            got(accum, changed=near) << near.vxm(A, op)
            loop.until(near.nvals == 0)
        assert got.isequal(wanted, check_dtype=True)
    assert sum(alone) == loop.count


@pytest.mark.parametrize("dtype", ["INT64", "INT32", "UINT8", "FP32"])
def test_roads_are_relaxed_without_the_host(cuda, alone, dtype):
    """Whatever type their weights are of: sums are of 64 bits there, which are taken for such that do not wrap."""
    with sg.Context("cpu"):
        wanted = sg.algorithms.sssp(weighted(sg.generators.grid(15, 16), dtype), 3)
    with sg.Context(cuda):
        found = sg.algorithms.sssp(weighted(sg.generators.grid(15, 16), dtype), 3)
        assert found.to("cpu").isequal(wanted, check_dtype=True)
    assert sum(alone) > 10


@pytest.mark.parametrize("dtype", ["INT64", "FP64", "UINT8"])
def test_weights_of_another_type_than_the_distances(cuda, alone, monkeypatch, dtype):
    """They are added as such, so that a GPU is alone, and a tree needs no product of matrices."""
    found = []
    for device in ("cpu", cuda):
        with sg.Context(device):
            A = weighted(sg.generators.grid(15, 16), dtype)
            wanted = sg.algorithms.sssp(A.apply("identity").new(np.float32), 3)
            alone.clear()
            dist = sg.algorithms.sssp(A, 3, dtype=np.float32)
            assert sum(alone) > 10 or device == "cpu"
            assert dist.isequal(wanted, check_dtype=True)
            with monkeypatch.context() as patch:
                patch.setattr(_tree, "_tree_of_tight_edges", lambda *_: pytest.fail("the slow way"))
                _, parent = sg.algorithms.sssp_parents(A, 3, dtype=np.float32)
            at, edges = dist.to_dict(), {(i, j): w for i, j, w in zip(*A.to_coo())}
            assert all(at[v] == at[p] + edges[p, v] for v, p in parent.to_dict().items() if v != p)
            found.append(dist.to("cpu"))
    assert found[0].isequal(found[1])


@pytest.mark.parametrize("rejected", [50, 4])
def test_relaxations_begin_with_what_their_selection_accepts(cuda, alone, rejected):
    """Else a value that is lowered on the way would be used, though nothing lists it again."""
    m = 3000
    with sg.Context(cuda):
        A = sg.Matrix.from_coo([*range(m), m], [m] * m + [m + 1], 1, "INT64", nrows=m + 2, ncols=m + 2)
        A._block.oriented(True)
        results = []
        for looped in (False, True):
            dist = sg.Vector.from_coo(range(m + 1), [3] * m + [rejected], "INT64", size=m + 2)
            near = dist.dup()
            if looped:
                with sg.loop() as loop:
                    dist(binary.min, changed=select.valuelt(near, 4)) << near.vxm(A, semiring.min_plus)
                    loop.until(near.nvals == 0)
            else:
                while near.nvals:
                    dist(binary.min, changed=select.valuelt(near, 4)) << near.vxm(A, semiring.min_plus)
            results.append(dist.to_dict())
        assert results[0] == results[1]
    assert alone[0] == 0


@pytest.mark.parametrize("values", [[0, 4, 9], [0, 3, 9], [7, 7, 7], [0, 4, np.iinfo(np.int64).max // 2]])
def test_relaxations_from_other_values_than_those_of_the_result(cuda, alone, values):
    """Their first superstep is a product: C's values are not what it adds to."""
    with sg.Context(cuda):
        A = weighted(sg.generators.grid(15, 16), "INT64")
        at, results = [3, 70, 200], []
        for looped in (False, True):
            dist = sg.Vector.from_coo(at, [0, 4, 9], size=A.nrows)
            near = sg.Vector.from_coo(at, values, size=A.nrows)
            if looped:
                with sg.loop() as loop:
                    dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
                    loop.until(near.nvals == 0)
            else:
                while near.nvals:
                    dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
            results.append(dist.to_dict())
        assert results[0] == results[1]
    assert sum(alone) == loop.count - (values != [0, 4, 9])


@pytest.mark.parametrize("name", ["limited", "falling", "capped", "of 32 bits"])
def test_relaxations_whose_end_depends_on_the_order_are_not_run_alone(cuda, alone, name):
    with sg.Context(cuda):
        A = weighted(sg.generators.rmat(9, seed=1), "INT32" if name == "of 32 bits" else "INT64")
        op = {
            "falling": semiring.register_anonymous(monoid.min, lambda x, y: 100 - x),
            "capped": semiring.register_anonymous(monoid.min, lambda x, y: np.minimum(x + y, 100)),
        }.get(name, semiring.min_plus)
        results = []
        for recorded in (True, False):
            dist = sg.Vector.from_coo([0], 0, A.dtype, size=A.nrows)
            near, count = dist.dup(), 0
            if recorded:
                with sg.loop() as loop:
                    dist(binary.min, changed=near) << near.vxm(A, op)
                    loop.until(near.nvals == 0)
                    if name == "limited":
                        loop.until(loop.count == 4)
                count = loop.count
            else:
                while near.nvals and not (name == "limited" and count == 4):
                    dist(binary.min, changed=near) << near.vxm(A, op)
                    count += 1
            results.append((dist.to_dict(), near.to_dict(), count))
        assert results[0] == results[1]
    assert set(alone) == {0}


def test_a_relaxation_that_widens_is_left(cuda, monkeypatch, alone):
    """Where many edges leave what has changed, single products choose; few again, and the GPU is alone again."""
    monkeypatch.setattr(loops_cuda, "MOST_LISTED", 60)
    monkeypatch.setattr(loops_cuda, "ROOM_SHARE", 1 << 40)
    with sg.Context(cuda):
        A = weighted(sg.generators.grid(40, 40), "INT64")
        dist = sg.Vector.from_coo([0], 0, "INT64", size=A.nrows)
        near = dist.dup()
        with sg.loop() as loop:
            dist(binary.min, changed=near) << near.vxm(A, semiring.min_plus)
            loop.until(near.nvals == 0)
        assert dist.isequal(sg.algorithms.sssp(A, 0))
    assert 0 < sum(step > 0 for step in alone) < len(alone)


def test_traces_see_every_superstep(cuda, alone):
    with sg.Context(cuda):
        A = GRAPHS["grid"]()
        with sg.trace() as t:
            level = sg.algorithms.bfs(A, 0)
    assert len([row for row in t.to_pandas().to_dict("records") if row["operation"].startswith("mxv")]) == (
        level.reduce(monoid.max).value + 1
    )
    assert set(alone) == {0}


def test_a_matrix_that_changes_is_looked_at_again(cuda, alone):
    with sg.Context(cuda):
        A = sg.Matrix.from_coo(range(99), range(1, 100), True, nrows=100, ncols=100)
        A << binary.lor(A | A.T)
        A._block.oriented(True)
        assert sg.algorithms.bfs(A, 0).reduce(monoid.max).value == 99
        A[0, 50] << True
        A[50, 0] << True
        A._block.oriented(True)
        assert sg.algorithms.bfs(A, 0).reduce(monoid.max).value == 50
        B = A.dup()
        B << A.select(select.offdiag)
        B._block.oriented(True)
        assert sg.algorithms.bfs_parents(B, 99).nvals == 100
    assert any(alone)


def test_full_and_finished_searches(cuda, alone):
    with sg.Context(cuda):
        A = ring()
        w = sg.Vector.from_dense(np.zeros(N, np.int32))
        near = w.dup()
        with sg.loop() as loop:
            w(~w.S, changed=near) << near.vxm(A, any_next)
            loop.until(near.nvals == 0)
        assert (loop.count, w.nvals, near.nvals) == (1, N, 0)
        empty, nothing = sg.Vector(np.int32, N), sg.Vector(np.int32, N)
        with sg.loop() as loop:
            empty(~empty.S, changed=nothing) << nothing.vxm(A, any_next)
            loop.until(nothing.nvals == 0)
        assert (loop.count, empty.nvals) == (1, 0)


@pytest.mark.parametrize(("size", "message"), [(40, "the output has size 40"), (60, "the output has size 60")])
def test_sizes_are_checked(cuda, size, message):
    with sg.Context(cuda):
        A = sg.generators.path(50)
        w, f = sg.Vector.from_coo([0], 0, size=size), sg.Vector.from_coo([0], 0, size=50)

        def run():
            with sg.loop() as loop:
                w(~w.S, changed=f) << f.vxm(A, semiring.any_secondi)
                loop.until(f.nvals == 0)

        with pytest.raises(DimensionMismatch, match=message):
            run()
        assert (w.to_dict(), f.to_dict()) == ({0: 0}, {0: 0})


@pytest.mark.parametrize("prices", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("op", [semiring.any_secondi, any_next])
def test_out_of_memory_changes_nothing(emulated, monkeypatch, op, most, prices):
    priced(monkeypatch, prices)
    with sg.Context(emulated):
        A = sg.generators.grid(20, 20)

        def search(fail_at):
            w = sg.Vector.from_coo([0], 0, np.int64, size=A.nrows)
            f = w.dup()

            def run():
                with sg.loop() as loop:
                    w(~w.S, changed=f) << f.vxm(A, op)
                    loop.until(f.nvals == 0)
                    if most is not None:
                        loop.until(loop.count == most)

            emulated.fail_at = fail_at
            try:
                run()
            except sg.exceptions.OutOfMemory:
                return w, f, run
            finally:
                emulated.fail_at = None
            return w, f, None

        wanted = search(None)[0]
        tried = 0
        for fail_at in range(1, 60):
            w, f, again = search(fail_at)
            if again is None:
                break
            tried += 1
            assert w.nvals == len(w.to_dict())
            assert set(f.to_dict()) <= set(w.to_dict())
            while f.nvals and w.nvals < wanted.nvals:
                w(~w.S, changed=f) << f.vxm(A, op)
            if op is any_next:
                assert w.isequal(wanted)
            assert w.nvals == wanted.nvals
        assert tried >= 4


@pytest.mark.parametrize("after", [1, 3, 6])
@pytest.mark.parametrize("graph", ["path", "rmat"])
def test_a_search_that_is_interrupted_can_go_on(cuda, monkeypatch, graph, after):
    with sg.Context(cuda):
        A = GRAPHS[graph]()
        source = int(np.argmax(np.bincount(A.to_coo()[0], minlength=A.nrows)))
        wanted = sg.algorithms.bfs(A, source)
        w = sg.Vector.from_coo([source], 0, np.int32, size=A.nrows)
        near = w.dup()

        def run():
            with sg.loop() as loop:
                w(~w.S, changed=near) << near.vxm(A, any_next)
                loop.until(near.nvals == 0)

        calls = interrupt(monkeypatch, after)
        try:
            run()
        except KeyboardInterrupt:
            assert len(calls) == after
        monkeypatch.undo()
        assert w.nvals == len(w.to_dict())
        if near.nvals:
            run()
        assert w.isequal(wanted)


@pytest.mark.parametrize("kind", ["search", "relaxation"])
def test_places_of_any_type_are_taken(cuda, alone, kind):
    """Kernels are packed once: a list whose places are of another type than before is converted."""
    with sg.Context(cuda):
        A = weighted(sg.generators.grid(12, 12), "INT64")
        A._block.oriented(True)
        results = []
        for dtype in (np.int32, np.int64, np.int32):
            w = sg.Vector.from_coo([5], 0, "INT64", size=A.nrows)
            near = w.dup()
            product = near.vxm(A, any_next if kind == "search" else semiring.min_plus)
            how = {"changed": near, "mask": ~w.S} if kind == "search" else {"changed": near, "accum": binary.min}
            w(**how) << product  # so that values are known
            block = near._block
            with cuda:
                block.set_sparse(block.indices.astype(dtype), block.values, iso=block.iso, partition=block.partition)
            op, known = product._plan.op, True
            accum = None if kind == "search" else binary.min["INT64"]
            with cuda:
                done = engine.run_alone(w._block, A._block, True, block, op, True, accum, None, known, None)
            results.append((w.to_dict(), done.steps))
        assert results[0] == results[1] == results[2]
    assert len(alone) == 3
    assert min(alone) > 5


def test_two_streams_do_not_meet(cuda, alone):
    """Kernels that are left over from a search end at once, whatever the next search on another stream does."""
    if cuda.name.startswith("emulated"):
        pytest.skip("the emulated GPU has one stream")
    with sg.Context(cuda):
        A = sg.generators.grid(100, 100)
        wanted = sg.algorithms.bfs(A, 5)
        for _ in range(20):
            with cuda.xp.cuda.Stream(non_blocking=True):
                one = sg.algorithms.bfs(A, 5)
                cuda.synchronize()
            assert one.isequal(wanted)
            assert sg.algorithms.bfs(A, 5).isequal(wanted)
    assert any(alone)


def test_a_loop_that_does_not_go_on_is_an_error(cuda, monkeypatch):
    monkeypatch.setattr(loops_cuda.Search, "begin", lambda search: 77)
    monkeypatch.setattr(loops_cuda, "UNHEARD", 20)
    with sg.Context(cuda), pytest.raises(RuntimeError, match="a loop does not go on after 0 steps"):
        sg.algorithms.bfs_parents(sg.generators.grid(8, 8), 0)
    with sg.Context(cuda):
        monkeypatch.undo()
        assert sg.algorithms.bfs_parents(sg.generators.grid(8, 8), 0).nvals == 64


def test_supersteps_are_counted(cuda):
    with sg.Context(cuda):
        A = GRAPHS["grid"]()
        before = cuda.counters.products
        level = sg.algorithms.bfs(A, 0)
        assert cuda.counters.products - before == level.reduce(monoid.max).value + 1


def test_a_loop_in_parts(in_parts):
    A = GRAPHS["grid"]()
    wanted = sg.algorithms.bfs(A.to("cpu") if not context.device().on_host else A, 0)
    assert sg.algorithms.bfs(A, 0).to_dense(-1).tolist() == wanted.to_dense(-1).tolist()
