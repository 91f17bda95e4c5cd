"""The vector engine against a model of dictionaries: formats, partitions and directions change no answer.

Blocks are on the device that is tested.
"""

import operator
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semirings import binary, indexunary, monoid, select, semiring, unary
from semirings.expr import cast_array, evaluate
from spgraph import context, engine
from spgraph.block import MatrixBlock, VectorBlock, width
from spgraph.engine import Apply, Ewise, Index, Leaf, Mask, vector_sparse
from spgraph.engine.plan import push_limit
from spgraph.kernels.cpu import _threads
from spgraph.partition import NATURAL, Partition

pytestmark = pytest.mark.one_device("is about blocks of one device")

DEVICE = context.device()
FEWER = 1 if DEVICE.on_host else 5  # on an emulated GPU a compiler makes each kernel
DTYPES = [np.dtype(name) for name in ("bool", "int8", "uint16", "int64", "float32", "float64")]
SEMIRINGS = ["plus_times", "min_plus", "any_secondi", "any_pair", "lor_land", "max_firsti", "plus_pair", "min_second",
             "any_first", "min_secondj", "plus_firstj", "max_first"]
COMPARES = {"valuelt": operator.lt, "valuege": operator.ge, "valuene": operator.ne}
ACCUMS = [None, binary.plus, binary.min, binary.second, binary.first, binary.minus, binary.max]


def build(size, ids, values, dtype, dup_op=None):
    return engine.build_vector(size, ids, values, dtype, dup_op, device=DEVICE)


def empty(size, dtype):
    return VectorBlock(size, dtype, device=DEVICE)


@st.composite
def partitions(draw, n):
    if draw(st.booleans()):
        return NATURAL
    return Partition(DEVICE.to_device(np.array(draw(st.permutations(range(n))), np.int32)), "drawn", device=DEVICE)


@st.composite
def vectors(draw, n, dtype=None, partition=None):
    """A block in some format and partition, and its dictionary."""
    dtype = draw(st.sampled_from(DTYPES)) if dtype is None else dtype
    ids = draw(st.lists(st.integers(0, n - 1), unique=True, max_size=n)) if n else []
    if draw(st.integers(0, 4)) == 0:
        ids = list(range(n))
    pick = st.integers(0, 3) if dtype.kind in "ub" else st.integers(-3, 3)
    iso = draw(st.booleans())
    values = [draw(pick)] * len(ids) if iso and ids else [draw(pick) for _ in ids]
    values = np.array(values, np.int64).astype(dtype)
    block = build(n, ids, values[0] if iso and ids else values, dtype)
    if draw(st.booleans()):
        block.to_bitmap()
    if draw(st.integers(0, 3)) == 0:
        block.to_sparse()
    block.rehome(draw(partitions(n)) if partition is None else partition)
    return block, dict(zip(ids, values))


@st.composite
def masks(draw, n):
    if draw(st.integers(0, 2)) == 0:
        return None, None
    block, entries = draw(vectors(n))
    complement, structural = draw(st.booleans()), draw(st.booleans())
    inside = {i for i, value in entries.items() if structural or value}
    allowed = set(range(n)) - inside if complement else inside
    return Mask(block, complement, structural), allowed


def typed(accum, dtype):
    return None if accum is None else accum[dtype]


def model_write(C, T, allowed, accum, replace, dtype):
    """C<M, replace> = accum(C, T) on dictionaries."""
    Z = {}
    for i in set(C) | set(T) if accum is not None else set(T):
        if i in T and i in C and accum is not None:
            x, y = cast_array(C[i], accum.type.np_type), cast_array(T[i], accum.type2.np_type)
            Z[i] = cast_array(accum.numpy(x, y), dtype)[()]
        else:
            Z[i] = cast_array(T[i], dtype)[()] if i in T else C[i]
    if allowed is None:
        return Z
    result = {i: Z[i] for i in Z if i in allowed}
    if not replace:
        result |= {i: C[i] for i in C if i not in allowed}
    return result


def check(block, wanted):
    check_encoding(block)
    ids, values = engine.vector_coo(block)
    assert ids.tolist() == sorted(wanted)
    assert block.nvals == len(wanted)
    assert values.dtype == block.dtype
    np.testing.assert_array_equal(values, np.array([wanted[i] for i in ids.tolist()], block.dtype))


def check_encoding(block):
    """What `spgraph.block.vector` promises."""
    array = DEVICE.xp.ndarray
    assert type(block.values) is (np.ndarray if block.iso else array)
    assert block.values.dtype == block.dtype
    assert block.values.size == (1 if block.iso else block.nvals if block.format == "sparse" else block.size)
    if block.format == "sparse":
        assert type(block.indices) is array
        assert block.present is None
        found = DEVICE.to_host(block.indices).tolist()
        assert len(set(found)) == len(found) == block.nvals
        assert not block.sorted or found == sorted(found)
        return
    assert block.indices is None
    if block.format == "full":
        assert block.present is None
        assert block.nvals == block.size
    else:
        present = DEVICE.to_host(block.present)
        assert present.dtype == np.uint8
        assert present.sum() == block.nvals
        if block.padding is not None:
            assert not block.iso
            absent = DEVICE.to_host(block.values)[present == 0]
            assert np.array_equal(absent, np.full_like(absent, block.padding), equal_nan=True)  # min's is NaN


def matrix(draw, n, m, dtype):
    count = draw(st.integers(0, 2 * max(n, m)))
    cells = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), unique=True, max_size=count))
    cells.sort()
    iso = draw(st.booleans())
    values = np.array([draw(st.integers(0, 3)) for _ in (cells[:1] if iso else cells)], np.int64).astype(dtype)
    A = MatrixBlock(n, m, dtype, device=DEVICE)
    indptr = np.zeros(n + 1, np.int64)
    np.add.at(indptr, [i + 1 for i, _ in cells], 1)
    ids = np.array([j for _, j in cells], np.int64)
    iso = iso and bool(cells)
    A.set_csr(DEVICE.to_device(np.cumsum(indptr)), DEVICE.to_device(ids), values if iso else DEVICE.to_device(values),
              iso=iso)
    return A, {cell: values[0 if iso else k] for k, cell in enumerate(cells)}


def model_product(A, u, op, transposed, flipped, shape):
    """All terms of every output position."""
    terms = {}
    for (i, j), a in A.items():
        out, k = (j, i) if transposed else (i, j)
        if k not in u:
            continue
        x, y = (u[k], a) if flipped else (a, u[k])
        env = dict(zip(("ix", "jx", "iy", "jy"), (0, k, k, out) if flipped else (out, k, k, 0)))
        value = evaluate(op.binaryop.expr, env | {"x": cast_array(x, op.binaryop.type.np_type),
                                                  "y": cast_array(y, op.binaryop.type2.np_type)})
        terms.setdefault(out, []).append(cast_array(value, op.monoid.type.np_type)[()])
    return terms


@pytest.fixture(params=["bitmaps", "lists"], autouse=True)
def preference(request, monkeypatch):
    """Short vectors are merged as lists, too."""
    if request.param == "lists":
        monkeypatch.setattr(vector_sparse, "LONG", 0)
        monkeypatch.setattr(vector_sparse, "LONG_ON_DEVICE", 0)
        monkeypatch.setattr(vector_sparse, "SHARE", 1e-9)


LISTS = [HealthCheck.function_scoped_fixture]


@settings(max_examples=200 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_product(data):
    draw = data.draw
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    square = draw(st.booleans())
    m = n if square else m
    A, entries = matrix(draw, n, m, draw(st.sampled_from(DTYPES)))
    if square and draw(st.booleans()):
        p = draw(partitions(n))
        A.rehome(p, p)
    transposed, flipped = draw(st.booleans()), draw(st.booleans())
    size, inner = (m, n) if transposed else (n, m)
    u, u_entries = draw(vectors(inner))
    C, C_entries = draw(vectors(size))
    mask, allowed = draw(masks(size))
    replace = draw(st.booleans()) and mask is not None
    accum = typed(draw(st.sampled_from(ACCUMS)), C.dtype)
    types = (u.dtype, A.dtype) if flipped else (A.dtype, u.dtype)
    op = getattr(semiring, draw(st.sampled_from(SEMIRINGS))).resolve(*types)
    changed = empty(size, C.dtype) if draw(st.booleans()) else None
    kept = None
    if changed is not None and draw(st.booleans()):
        kept = draw(st.sampled_from([select.valuelt, select.valuege, select.valuene]))[C.dtype], C.dtype.type(1)
    engine.mxv(C, mask, accum, replace, A, transposed, u, op, flipped=flipped, changed=changed, changed_if=kept,
               direction=draw(st.sampled_from(["push", "pull", None])))
    terms = model_product(entries, u_entries, op, transposed, flipped, (n, m))
    if op.monoid.terminal_any:
        # any of the terms is right: take the one that came back, if it is one of them
        got = dict(zip(*(a.tolist() for a in engine.vector_coo(C))))
        choices = {i: [model_write(C_entries, {i: t}, allowed, accum, replace, C.dtype).get(i) for t in ts]
                   for i, ts in terms.items()}
        wanted = model_write(C_entries, {i: ts[0] for i, ts in terms.items()}, allowed, accum, replace, C.dtype)
        assert sorted(got) == sorted(wanted)
        assert all(got[i] in choices.get(i, [wanted[i]]) for i in got)
    else:
        T = {}
        for i, ts in terms.items():
            total = ts[0]
            for t in ts[1:]:
                total = op.monoid.binaryop.numpy(total, t)[()]
            T[i] = total
        wanted = model_write(C_entries, T, allowed, accum, replace, C.dtype)
        check(C, wanted)
    if changed is not None:
        now = dict(zip(*(a.tolist() for a in engine.vector_coo(C))))
        differ = {i: v for i, v in now.items() if i not in C_entries or C_entries[i] != v}
        if kept is not None:
            differ = {i: v for i, v in differ.items() if COMPARES[kept[0].name](v, 1)}
        check(changed, differ)
    check(u, u_entries)
    if mask is not None:
        assert mask.block.nvals == mask.block.coo()[0].size


def model_tree(tree, models):
    """(entries, dtype) of a tree."""
    if type(tree) is Leaf:
        return next(entries for block, entries in models if block is tree.block)
    op = tree.op
    first, second = op.type.np_type, getattr(op, "type2", op.type).np_type
    if type(tree) is Apply:
        child = model_tree(tree.child, models)
        if tree.left is not None:
            return {i: op.numpy(cast_array(tree.left, first), cast_array(v, second))[()] for i, v in child.items()}
        if tree.right is not None:
            return {i: op.numpy(cast_array(v, first), cast_array(tree.right, second))[()] for i, v in child.items()}
        if tree.thunk is not None:
            return {i: op.numpy(cast_array(v, first), np.int64(i), np.int64(0), tree.thunk)[()]
                    for i, v in child.items()}
        return {i: op.numpy(cast_array(v, first))[()] for i, v in child.items()}
    left, right = model_tree(tree.l, models), model_tree(tree.r, models)
    both = set(left) & set(right) if tree.kind == "mult" else set(left) | set(right)
    result = {}
    for i in both:
        if tree.kind == "add" and not (i in left and i in right):
            result[i] = cast_array(left[i] if i in left else right[i], op.return_type.np_type)[()]
            continue
        x, y = left.get(i, tree.ldefault), right.get(i, tree.rdefault)
        result[i] = op.numpy(cast_array(x, first), cast_array(y, second))[()]
    return result


@st.composite
def trees(draw, n, models, depth=0):
    if depth == 3 or (depth and draw(st.booleans())):
        if models and draw(st.integers(0, 3)) == 0:
            return Leaf(models[0][0])
        models.append(draw(vectors(n)))
        return Leaf(models[-1][0])

    def dtype(node):
        return node.block.dtype if type(node) is Leaf else node.op.return_type.np_type

    child = draw(trees(n, models, depth + 1))
    kind = draw(st.sampled_from(["unary", "left", "right", "thunk", "add", "mult", "union"]))
    if kind == "unary":
        return Apply(draw(st.sampled_from([unary.abs, unary.ainv, unary.lnot])).resolve(dtype(child)), child)
    if kind == "thunk":
        return Apply(indexunary.rowindex.resolve(dtype(child)), child, thunk=np.int64(draw(st.integers(-2, 2))))
    op = draw(st.sampled_from([binary.plus, binary.times, binary.min, binary.first, binary.lt, binary.second]))
    if kind in ("left", "right"):
        value = np.int8(draw(st.integers(0, 3)))
        types = (value.dtype, dtype(child)) if kind == "left" else (dtype(child), value.dtype)
        return Apply(op.resolve(*types), child, **{kind: value})
    other = draw(trees(n, models, depth + 1))
    op = op.resolve(dtype(child), dtype(other))
    if kind == "union":
        return Ewise(kind, op, child, other, op.type.np_type.type(1), op.type2.np_type.type(0))
    return Ewise(kind, op, child, other)


@settings(max_examples=200 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_chain_and_reduce(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    models = []
    tree = draw(trees(n, models))
    C, C_entries = draw(vectors(n))
    if draw(st.integers(0, 3)) == 0:
        C, C_entries = models[0]
    mask, allowed = draw(masks(n))
    replace = draw(st.booleans()) and mask is not None
    accum = typed(draw(st.sampled_from(ACCUMS)), C.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T = model_tree(tree, models)
        dtype = engine.vector_elementwise.dtype_of(tree)
        total = engine.vector_reduce(tree, monoid.max[dtype] if dtype.kind != "b" else monoid.lor[dtype])
        assert total == (max(T.values()) if T else None)
        engine.vector_chain(C, mask, accum, replace, tree)
    check(C, model_write(C_entries, T, allowed, accum, replace, C.dtype))
    for block, entries in models:
        if block is not C:
            check(block, entries)


@settings(max_examples=100 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_select(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    u, u_entries = draw(vectors(n))
    C, C_entries = (u, u_entries) if draw(st.integers(0, 3)) == 0 else draw(vectors(n))
    mask, allowed = draw(masks(n))
    replace = draw(st.booleans()) and mask is not None
    accum = typed(draw(st.sampled_from(ACCUMS)), C.dtype)
    if draw(st.booleans()):
        thunk = u.dtype.type(1)
        op, keep = select.valuegt.resolve(u.dtype), {i: v for i, v in u_entries.items() if v > thunk}
    else:
        thunk = np.int64(draw(st.integers(0, n)))
        op, keep = select.rowle.resolve(u.dtype), {i: v for i, v in u_entries.items() if i <= thunk}
    engine.vector_select(C, mask, accum, replace, u, op, thunk)
    check(C, model_write(C_entries, keep, allowed, accum, replace, C.dtype))


@st.composite
def indices(draw, n, *, repeats):
    kind = draw(st.sampled_from(["all", "range", "list"]))
    if kind == "all":
        return Index.of_all(n)
    if kind == "range":
        step = draw(st.sampled_from([1, 2, -1]))
        start, stop = sorted([draw(st.integers(0, n - 1)), draw(st.integers(0, n))])
        return Index.of_range(start, stop, step) if step > 0 else Index.of_range(stop - 1, start - 1, -1) \
            if stop else Index.of_range(0, 0, 1)
    return Index.of_list(np.array(draw(st.lists(st.integers(0, n - 1), unique=not repeats, max_size=n)), np.int64))


@settings(max_examples=100 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_extract(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    u, entries = draw(vectors(n))
    index = draw(indices(n, repeats=True))
    C, C_entries = draw(vectors(index.size))
    mask, allowed = draw(masks(index.size))
    replace = draw(st.booleans()) and mask is not None
    accum = typed(draw(st.sampled_from(ACCUMS)), C.dtype)
    T = {q: entries[i] for q, i in enumerate(index.to_array().tolist()) if i in entries}
    engine.vector_extract(C, mask, accum, replace, u, index)
    check(C, model_write(C_entries, T, allowed, accum, replace, C.dtype))


@settings(max_examples=200 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_assign(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    C, C_entries = draw(vectors(n))
    index = draw(indices(n, repeats=False))
    sub = draw(st.booleans())
    mask, allowed = draw(masks(index.size if sub else n))
    replace = draw(st.booleans()) and mask is not None
    accum = typed(draw(st.sampled_from(ACCUMS)), C.dtype)
    ids = index.to_array().tolist()
    if draw(st.booleans()):
        value = draw(st.sampled_from(DTYPES)).type(draw(st.integers(0, 3)))
        u = dict.fromkeys(range(len(ids)), value)
    else:
        value, u = draw(vectors(index.size))
    region = {q: C_entries[i] for q, i in enumerate(ids) if i in C_entries}
    region = model_write(region, u, allowed if sub else None, accum, replace and sub, C.dtype)
    Z = {i: v for i, v in C_entries.items() if i not in ids} | {ids[q]: v for q, v in region.items()}
    wanted = Z if sub else model_write(C_entries, Z, allowed, None, replace, C.dtype)
    engine.vector_assign(C, mask, accum, replace, value, index, sub=sub)
    check(C, wanted)


@settings(max_examples=60 // FEWER, suppress_health_check=LISTS)
@given(st.data())
def test_elements_and_resize(data):
    draw = data.draw
    n = draw(st.integers(1, 6))
    C, entries = draw(vectors(n))
    for _ in range(5):
        i = draw(st.integers(0, n - 1))
        if draw(st.booleans()):
            engine.vector_set(C, i, C.dtype.type(1))
            entries[i] = C.dtype.type(1)
        else:
            engine.vector_remove(C, i)
            entries.pop(i, None)
        assert engine.vector_get(C, i) == entries.get(i)
        check(C, entries)
    size = draw(st.integers(0, 8))
    C.resize(size)
    check(C, {i: v for i, v in entries.items() if i < size})


def test_build_merges_duplicates_in_order():
    block = build(4, [2, 0, 2, 2], [1, 5, 2, 4], np.int64, binary.minus[int])
    check(block, {0: 5, 2: 1 - 2 - 4})


def test_wide_indices(monkeypatch):
    monkeypatch.setattr(width, "LIMIT", 3)
    A = MatrixBlock(4, 4, np.int64, device=DEVICE)
    A.set_csr(*map(DEVICE.to_device, (np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 0]), np.array([1, 2, 3, 4]))))
    assert A.indices.dtype == A.indptr.dtype == np.int64
    u = build(4, [1], [10], np.int64)
    assert u.indices.dtype == np.int64
    for direction in ("push", "pull"):
        C = empty(4, np.int64)
        engine.mxv(C, None, None, False, A, True, u, semiring.plus_times[int], flipped=True, direction=direction)
        check(C, {2: 20})


@pytest.mark.parametrize("early", [True, False])
def test_more_allowed_rows_make_pulling_dearer(early):
    limits = [push_limit(1000, 16_000, allowed, early, 2) for allowed in (0, 10, 100, 1000)]
    assert limits == sorted(limits)
    assert limits[0] < limits[-1]
    assert push_limit(0, 0, 0, early, 2) == float("inf")


def test_counts_do_not_wrap_when_interpreted():
    n = 1000
    u = build(n, range(n - 1), np.ones(n - 1), np.int8).to_bitmap()
    C = u.copy()
    few = build(n, [0, n - 1], [1, 1], np.int8)
    engine.vector_chain(C, Mask(few, False, True), binary.plus[np.int8], False, Ewise("mult", binary.plus[np.int8],
                                                                                      Leaf(u), Leaf(u)))
    assert C.nvals == n - 1
    A = MatrixBlock(n, n, np.int8, device=DEVICE)
    engine.mxv(C, None, binary.plus[np.int8], False, A, False, u, semiring.plus_times[np.int8], direction="pull")
    assert C.nvals == n - 1


def test_a_vector_may_be_longer_than_memory():
    n = 1 << 45
    u = build(n, [3, n - 1], [1, 2], np.int64)
    v = build(n, [3, 7], [10, 20], np.int64)
    C = empty(n, np.int64)
    engine.vector_chain(C, None, None, False, Ewise("add", binary.plus[int], Leaf(u), Leaf(v)))
    check(C, {3: 11, 7: 20, n - 1: 2})
    engine.vector_chain(C, Mask(v, True, True), None, True, Leaf(C))
    check(C, {n - 1: 2})
    engine.vector_assign(C, None, None, False, np.int64(5), Index.of_list(np.array([1, n - 2])))
    check(C, {1: 5, n - 2: 5, n - 1: 2})
    assert engine.vector_reduce(C, monoid.plus[int]) == 12


@pytest.mark.cpu("threads")
def test_long_lists_come_out_the_same_from_several_threads():
    n = 1 << 19
    rng = np.random.default_rng(4)
    ids = np.sort(rng.choice(n, 100_000, replace=False))
    mask = Mask(build(n, np.flatnonzero(rng.random(n) < 0.5), np.True_, np.bool_), True, True)
    full = build(n, np.arange(n), rng.integers(0, 9, n), np.int64)

    def run(threads):
        long = build(n, ids, np.arange(ids.size), np.int64)
        filtered, selected, product, total = (empty(n, np.int64) for _ in range(4))
        before = _threads.set_threads(threads)
        try:
            engine.vector_chain(filtered, mask, None, True, Leaf(long))
            engine.vector_select(selected, None, None, False, long, select.valuegt[int], np.int64(50_000))
            engine.vector_chain(product, None, None, False, Ewise("mult", binary.times[int], Leaf(long), Leaf(full)))
            engine.vector_chain(total, None, None, False, Leaf(full))
            engine.vector_chain(total, None, binary.plus[int], False, Leaf(long))
        finally:
            _threads.set_threads(before)
        assert long.format == filtered.format == selected.format == product.format == "sparse"
        return [block.coo() for block in (filtered, selected, product, total)]

    for one, several in zip(run(1), run(3)):
        np.testing.assert_array_equal(one, several)
