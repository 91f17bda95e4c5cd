"""Statements that are run again: nothing that was decided for other operands is used for these (`engine.scatters`)."""

import gc
import weakref

import numpy as np
import pytest
from devices import make_bitmap

import spgraph as sg
from spgraph import binary, monoid, select, semiring
from spgraph.engine import vector_products

N = 8
ROWS, COLS = [0, 0, 1, 2, 3, 4, 5, 6, 1], [1, 2, 2, 3, 4, 5, 6, 7, 5]
WEIGHTS = [4, 1, 1, 7, 2, 2, 9, 1, 3]


def graph(dtype="INT64"):
    return sg.Matrix.from_coo(ROWS, COLS, WEIGHTS, dtype, nrows=N, ncols=N)


def lowered(A, w, u, limit=None, transposed=False):
    """w min= u min.+ A by hand, and what has changed (below the limit): dictionaries."""
    new = w.to_dict()
    near = u.to_dict()
    for i, j, weight in zip(*(part.tolist() for part in A.to_coo())):
        if transposed:
            i, j = j, i
        if i in near:
            new[j] = min(new.get(j, np.inf), near[i] + weight)
    old = w.to_dict()
    return new, {i: x for i, x in new.items() if old.get(i) != x and (limit is None or x < limit)}


@pytest.fixture
def again(monkeypatch):
    """Whether each product was run again as decided before."""
    answers = []
    real = vector_products._again

    def noted(*args):
        done, direction = real(*args)
        answers.append(done)
        return done, direction

    monkeypatch.setattr(vector_products, "_again", noted)
    return answers


def run(A, w, u, c, limit=None, transposed=False):
    """w min= u min.+ A (or A min.+ u), compared with what it should be."""
    wanted, wanted_c = lowered(A, w, u, limit, transposed)
    changed = c if limit is None else select.valuelt(c, limit)
    product = A.mxv(u, semiring.min_plus) if transposed else u.vxm(A, semiring.min_plus)
    w(binary.min, changed=changed) << product
    assert (w.to_dict(), c.to_dict()) == (wanted, wanted_c)


def start(A, size=N):
    """Operands for which the statement was run once."""
    w = sg.Vector.from_coo([0, 7], [0, 90], "INT64", size=size)
    u, c = sg.Vector.from_coo([0], [0], "INT64", size=size), sg.Vector("INT64", size)
    u[1] = 100  # values that are not all equal
    run(A, w, u, c)
    return w, u, c


@pytest.mark.one_device("counts one device's products")
def test_the_same_statement_is_run_as_decided_before(again, device):
    A = graph()
    w, u, c = start(A)
    for position in (2, 5, 3):
        u << sg.Vector.from_coo([position, 1], [0, 50], size=N)
        run(A, w, u, c)
    assert again == [True] * 3


CHANGES = {
    "u is a bitmap": lambda A, w, u, c: u(u.S) << u,
    "u is full": lambda A, w, u, c: u(~u.S) << 77,
    "u is a list of one value": lambda A, w, u, c: u << sg.Vector.from_coo([0, 1], 3, size=N),
    "u is a bitmap of one value": lambda A, w, u, c: u(u.S) << 3,
    "u is empty": lambda A, w, u, c: u.clear(),
    "w is full": lambda A, w, u, c: w(~w.S) << 1000,
    "w is full of one value": lambda A, w, u, c: w << 5,
    "w is a bitmap of one value": lambda A, w, u, c: (
        w << sg.Vector.from_coo([0, 5], 50, size=N), make_bitmap(w)),
    "w has lost its entries": lambda A, w, u, c: (w.__delitem__(0), [w.__delitem__(i) for i in w.to_dict()]),
    "w is empty": lambda A, w, u, c: w.clear(),
    "w has one entry": lambda A, w, u, c: (w.clear(), w.__setitem__(3, 2)),
    "c has entries": lambda A, w, u, c: c << 4,
    "A has another value": lambda A, w, u, c: A.__setitem__((0, 2), 0),
    "A has another entry": lambda A, w, u, c: A.__setitem__((0, 7), 1),
    "A is iso": lambda A, w, u, c: A(A.S) << 2,
    "A is empty": lambda A, w, u, c: A.clear(),
    "A in another order": lambda A, w, u, c: A.reorder("degree"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_operands_that_have_changed_since(change):
    A = graph()
    w, u, c = start(A)
    change(A, w, u, c)
    run(A, w, u, c)
    u << c  # and on from there
    run(A, w, u, c)
    run(A, w, u, u)


@pytest.mark.parametrize("natural", ["uw", "u", "w", ""])
def test_operands_in_the_order_of_another_matrix(natural):
    A, B = graph(), graph().reorder("degree")
    assert B.order == "degree"
    for matrix in (A, B, A, B):
        w, u, c = start(B)
        u << c
        if "u" in natural:
            u << sg.Vector.from_coo([1, 4], [0, 5], size=N)
        if "w" in natural:
            w = sg.Vector.from_coo([0, 5, 7], [0, 70, 90], size=N)
            make_bitmap(w)
        run(matrix, w, u, c)
        run(matrix, w, u, c)


def test_a_matrix_of_one_value_that_is_written_out():
    A = graph("BOOL")
    w, u, c = start(A)
    u << sg.Vector.from_coo([1, 4], [0, 5], size=N)
    A._block.expand()
    w[5] = 99
    run(A, w, u, c)


def test_a_semiring_of_one_type_for_operands_of_others():
    """Values are cast to the semiring's type first."""
    A, op = graph(), semiring.max_times["INT64"]
    for dtype, value in (("INT64", 2), ("FP64", 2.7), ("INT64", 2)):
        for _ in range(2):
            w, u = sg.Vector.from_coo([1], [1], size=N), sg.Vector.from_coo([0, 1], [value, 0], dtype=dtype, size=N)
            make_bitmap(w)
            w(binary.max) << u.vxm(A, op)
            assert w.to_dict() == {1: 8, 2: 2, 5: 0}


def test_growth_of_vectors_of_several_types():
    A = graph()
    u = sg.Vector.from_coo([0, 1], [5, 6], size=N)
    for dtype, wanted in (("BOOL", True), ("INT64", 18), ("BOOL", True)):
        for _ in range(2):
            w = sg.Vector.from_coo([0, 1, 2], [1, 0, 1], dtype=dtype, size=N)
            make_bitmap(w)
            w(~w.S) << u.vxm(A, semiring.any_times["INT64"])
            assert w[5].value == wanted


def test_growth_under_other_masks():
    """Only under the complement of its own structure w keeps what it has."""
    A = graph()
    w, u = sg.Vector.from_coo([0, 2], [7, 0], size=N), sg.Vector.from_coo([1, 7], [6, 3], size=N)  # u reaches 2 and 5
    other = sg.Vector.from_coo([5], [1], size=N)
    grown = (lambda w: ~w.S, {0: 7, 2: 0, 5: 6})
    masks = [(lambda w: w.S, {2: 6}), (lambda w: ~w.V, {0: 7, 2: 6, 5: 6}), (lambda w: ~other.S, {2: 6})]
    for mask, wanted in (grown, masks[0], grown, masks[1], grown, masks[2], grown):
        v = w.dup()
        make_bitmap(v)
        v(mask(v)) << u.vxm(A, semiring.any_first)
        assert v.to_dict() == wanted


def test_other_operands_of_other_types():
    A = graph()
    for dtype in ("INT64", "INT32", "FP64", "INT64", "UINT8"):
        w, u, c = (sg.Vector(dtype, N) for _ in range(3))
        w[0], u[0], u[1] = 0, 0, 9
        for _ in range(3):
            run(A, w, u, c)
            w[5] = 99


def test_a_limit_of_another_type_and_none():
    A = graph()
    w, u, c = start(A)
    for limit in (50, 50.5, None, 8, np.int8(7), 50):
        w[2], w[5] = 60, 61
        u << sg.Vector.from_coo([0, 1], [0, 2], size=N)
        run(A, w, u, c, limit)


def test_operands_of_another_size():
    A = graph()
    w, u, c = start(A)
    for size in (N + 3, N - 1, N):
        A.resize(size, size)
        for v in (w, u, c):
            v.resize(size)
        w[5] = 99
        run(A, w, u, c)


def test_w_is_u():
    A = graph()
    w, u, c = start(A)
    for _ in range(4):
        run(A, w, w, c)
        w[3] = 80
    run(A, w, u, c)


@pytest.mark.one_device("counts one device's products")
def test_both_ways_through_one_matrix(again, device):
    A = graph()
    A.T.new()
    w, u, c = start(A)
    for transposed in (True, False, True, False):
        w[2], w[5] = 60, 61
        with sg.Context(direction="push"):
            run(A, w, u, c, transposed=transposed)
    assert again.count(True) == 3


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_another_direction(direction):
    A = graph()
    w, u, c = start(A)
    with sg.Context(direction=direction):
        for _ in range(3):
            w[2] = 60
            run(A, w, u, c)


def test_more_edges_than_push_may_look_at(again, monkeypatch, device):
    A = graph()
    A = sg.Matrix.from_coo(*A.to_coo(), nrows=N, ncols=N)
    A.T.isequal(A)
    w, u, c = start(A)
    monkeypatch.setattr(vector_products, "push_limit", lambda *args: 0)
    u(~u.S) << 7
    with sg.Context(direction="push"):
        run(A, w, u, c)
    missed = A._block.missed
    run(A, w, u, c)
    assert A._block.missed >= missed
    run(A, w, u, c)


def test_another_mask_under_the_same_words():
    """A mask that allows everything is no mask; the next one may forbid."""
    A = graph()
    w, u, _ = start(A)
    everywhere = sg.Vector.from_scalar(1, N, "INT64")
    w(everywhere.S, binary.min) << u.vxm(A, semiring.min_plus)
    w[1] = 99
    before = w.to_dict()
    w(~w.S, binary.min) << u.vxm(A, semiring.min_plus)
    assert w.to_dict() == before
    w(w.S, binary.min) << u.vxm(A, semiring.min_plus)
    assert w.to_dict() == before | {1: 4}


def levels_by_growth():
    """The frontier is iso, and its value another one at every step."""
    next_level = semiring.register_anonymous(monoid.any, binary.register_anonymous(lambda x, y: x + 1, "next"))
    A = graph("BOOL")
    level = sg.Vector.from_coo([0], 0, np.int32, size=N)
    frontier = level.dup()
    while frontier.nvals:
        level(~level.S, changed=frontier) << frontier.vxm(A, next_level)
    return level.to_dict()


def test_growth_with_one_value_that_changes():
    assert levels_by_growth() == {0: 0, 1: 1, 2: 1, 3: 2, 5: 2, 4: 3, 6: 3, 7: 4}


@pytest.mark.one_device("counts one device's products")
def test_growth_with_one_value_that_changes_is_run_as_decided_before(again, device):
    levels_by_growth()
    assert True in again


def test_an_accumulator_after_growth():
    """The same monoid and operands, but C's entries do not stay."""
    A = graph()
    for _ in range(2):
        w, u = sg.Vector.from_coo([0, 1], [0, 9], size=N), sg.Vector.from_coo([0, 1], [5, 6], size=N)
        w(~w.S) << u.vxm(A, semiring.any_second)
        assert w.to_dict().keys() == {0, 1, 2, 5}
        assert w[1].value == 9
        w(binary.max) << u.vxm(A, semiring.max_second)
        assert w[1].value == 9
        assert w[5].value == 3
        w(~w.S, replace=True) << u.vxm(A, semiring.any_second)
        assert w.nvals == 0


def many_statements():
    A = graph()
    w, u, c = start(A)
    for k in range(40):
        op = semiring.register_anonymous(monoid.min, binary.register_anonymous(lambda x, y, k=k: x + y + k, f"plus{k}"))
        w[2] = 100 + k
        w(binary.min, changed=c) << u.vxm(A, op)
        assert w[2].value == 1 + k
    return A


def test_many_statements():
    many_statements()


@pytest.mark.one_device("is about what one block keeps")
def test_many_statements_are_forgotten():
    assert len(many_statements()._block.steps) <= vector_products.KEPT


@pytest.mark.one_device("parts of GPUs make the transpose, and a matrix and its transpose hold each other")
def test_a_matrix_is_freed_at_once():
    """What it keeps of products does not hold it."""
    A = graph()
    start(A)
    values = weakref.ref(A._block.values)
    gc.disable()
    try:
        del A
        assert values() is None
    finally:
        gc.enable()


def test_a_copy_decides_for_itself():
    A = graph()
    w, u, c = start(A)
    B = A.dup()
    B[0, 2] = 0
    w[2] = 60
    run(B, w, u, c)
    w[2] = 60
    run(A, w, u, c)


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("op", [semiring.min_plus, semiring.max_times, semiring.min_second, semiring.max_firstj])
@pytest.mark.parametrize("way", ["plain", "mask", "complement", "below"])
def test_what_changed_where_the_output_is_the_operand(direction, op, way):
    """All values equal: what is written has one value, which is not to be computed from what has been written."""
    A = sg.Matrix.from_coo([0, 1, 2], [1, 2, 0], 4, "INT64", nrows=3, ncols=3)
    u = sg.Vector.from_coo([0], 1, "INT64", size=3)
    wanted = u.vxm(A, op).new(dtype="INT64")
    for _ in range(2):
        v, c, mask = u.dup(), sg.Vector("INT64", 3), sg.Vector.from_coo([1, 2], 1, size=3)
        with sg.Context(direction=direction):
            if way == "plain":
                v(changed=c) << v.vxm(A, op)
            elif way == "below":
                v(changed=select.valuelt(c, 7)) << v.vxm(A, op)
            else:
                chosen = mask.S if way == "mask" else ~sg.Vector("INT64", 3).S
                v(chosen, changed=c, replace=True) << v.vxm(A, op)
        assert v.isequal(wanted)
        assert c.isequal(wanted)
