"""EDGE_CASES.md 21: what does not fit says so, names what helps, and leaves every object as it was.

On the emulated GPU any allocation can be told to fail: each operation runs with its first allocation failing, then
with its second, and so on, until none fails any more.
"""

from __future__ import annotations

import numpy as np
import pytest
from devices import in_use, spread

import spgraph as sg
from spgraph import binary, exceptions, expression, monoid, semiring
from spgraph.exchange import group_of

N = 40


def make_objects():
    rng = np.random.default_rng(1)
    rows, cols = np.divmod(rng.choice(N * N, 200, replace=False), N)
    A = sg.Matrix.from_coo(rows, cols, rng.integers(1, 9, 200), nrows=N, ncols=N, name="A")
    B = sg.Matrix.from_coo(cols[:150], rows[:150], rng.random(150), nrows=N, ncols=N, name="B")
    u = sg.Vector.from_coo(np.arange(0, N, 3), rng.integers(1, 9, -(-N // 3)), size=N, name="u")
    w = sg.Vector.from_dense(rng.integers(1, 9, N), name="w")
    m = sg.Vector.from_coo(np.arange(0, N, 2), rng.integers(0, 2, N // 2) > 0, size=N, name="m")
    return {"A": A, "B": B, "u": u, "w": w, "m": m}


# What is written where: every kind of operation, mask and accumulator.
WRITES = {
    "mxv": lambda o: o["w"] << o["A"].mxv(o["u"]),
    "vxm": lambda o: o["u"](~o["m"].V, replace=True) << o["u"].vxm(o["A"], semiring.min_plus),
    "vxm accumulated": lambda o: o["w"](binary.min) << o["u"].vxm(o["A"], semiring.min_plus),
    "changed": lambda o: o["w"](binary.min, changed=o["u"]) << o["u"].vxm(o["A"], semiring.min_plus),
    "pull": lambda o: o["w"](o["m"].S, binary.plus) << o["A"].T.mxv(o["w"]),
    "chain": lambda o: o["w"](o["m"].V) << (o["w"] + o["u"]).apply(binary.times, right=3),
    "select": lambda o: o["u"] << o["w"].select(">", 4),
    "a number": lambda o: o["u"](o["m"].V, binary.plus) << 7,
    "extract": lambda o: o["u"](binary.plus) << o["w"][::-1],
    "gather": lambda o: o["u"](binary.plus) << o["w"][o["u"]],
    "combine": lambda o: o["u"](binary.max)[o["w"]] << o["w"],
    "combine into all": lambda o: o["w"](binary.plus)[o["u"]] << o["u"],
    "follow": lambda o: o["w"](binary.max) << o["w"].apply(binary.times, right=0).pointer_jump(),
    "assign a list": lambda o: o["u"].__setitem__([1, 2, 30], [5, 6, 7]),
    "assign": lambda o: o["w"](o["m"].V)[5:20] << o["u"][:15].new(),
    "one element": lambda o: o["u"].__setitem__(1, 5),
    "delete": lambda o: o["u"].__delitem__(3),
    "rows": lambda o: o["w"](binary.plus) << o["A"].reduce_rowwise(),
    "columns": lambda o: o["w"] << o["A"].reduce_columnwise(monoid.max),
    "mean": lambda o: o["w"] << o["A"].reduce_rowwise(sg.agg.mean),
    "first": lambda o: o["w"] << o["A"].reduce_rowwise(sg.agg.first),
    "a row": lambda o: o["w"] << o["A"][3, :],
    "mxm": lambda o: o["A"](o["B"].S) << o["A"].mxm(o["A"]),
    "mxm accumulated": lambda o: o["B"](binary.plus) << o["A"].mxm(o["B"]),
    "union": lambda o: o["B"](o["A"].V, replace=True) << o["A"].ewise_add(o["B"]),
    "intersection": lambda o: o["A"] << o["A"].ewise_mult(o["B"].T, binary.first),
    "apply": lambda o: o["A"] << o["A"].T.apply("abs"),
    "select a Matrix": lambda o: o["A"](binary.plus) << o["A"].select("tril"),
    "extract a Matrix": lambda o: o["A"] << o["A"][::-1, :],
    "assign a Matrix": lambda o: o["A"][:5, 3:8] << o["B"][:5, :5].new(),
    "assign a row": lambda o: o["A"][2, :] << o["w"],
    "one element of a Matrix": lambda o: o["A"].__setitem__((1, 1), 5),
    "setdiag": lambda o: o["A"].setdiag(o["w"]),
    "reorder": lambda o: o["A"].reorder("degree"),
    "resize": lambda o: o["A"].resize(N + 3, N - 5),
    "resize a Vector": lambda o: o["w"].resize(N - 5),
    "build": lambda o: o["A"].build([1, 2], [3, 4], [5, 6], clear=True),
    "build a Vector": lambda o: o["w"].build([1, 2], [3, 4], clear=True),
}
# What makes something new, which is tried once more by itself.
READS = {
    "mxv": lambda o: o["A"].mxv(o["u"]).new().to_dict(),
    "chain": lambda o: (o["w"] - o["u"]).apply("abs").new().to_dict(),
    "mxm": lambda o: o["A"].mxm(o["B"]).new().to_dicts(),
    "transpose": lambda o: o["A"].T.new().to_dicts(),
    "kronecker": lambda o: o["A"].kronecker(o["A"][:2, :2]).new().nvals,
}
# What makes something new and is not.
MAKES = {
    "dup": lambda o: o["A"].dup(),
    "from_coo": lambda o: sg.Matrix.from_coo([3, 1], [2, 1], [5, 6], nrows=N, ncols=N),
    "from_dense": lambda o: sg.Vector.from_dense(np.arange(10)),
    "generator": lambda o: sg.generators.path(20),
    "reduce": lambda o: o["w"].reduce(monoid.max).value,
    "inner": lambda o: o["w"].inner(o["u"]).value,
    "to_coo": lambda o: o["A"].T.to_coo(),
    "isequal": lambda o: o["A"].isequal(o["A"].T),
    "diag": lambda o: o["A"].diag(1),
    "diag of a Vector": lambda o: o["w"].diag(),
    "get": lambda o: o["A"].get(1, 1),
    "contains": lambda o: 3 in o["u"],
    "print": lambda o: repr(o["A"]),
    "print a Vector": lambda o: repr(o["u"]),
    "clear": lambda o: o["A"].dup().clear(),
    "an array as index": lambda o: o["w"][o["w"]._block.values],
    "arrays as indices": lambda o: o["A"][o["w"]._block.values, :],
}


@pytest.fixture
def gpu(emulated):
    with sg.Context(emulated):
        yield emulated
    emulated.fail_at = None


def contents(objects):
    """What the objects hold, as the CPU has it, with dtypes and sizes."""
    return {name: (x.shape, x.dtype, *map(np.ndarray.tolist, x.to_coo())) for name, x in objects.items()}


def failures(gpu, call, make=make_objects, step=1):
    """Run `call` on fresh objects with ever later allocations failing; yields (objects, error or None, result)."""
    for k in range(1, 1600, step):
        objects = make()
        gpu.fail_at = k
        try:
            result, error = call(objects), None
        except exceptions.OutOfMemory as caught:
            result, error = None, caught
        done, gpu.fail_at = gpu.fail_at is not None, None
        if done:
            return
        yield objects, error, result
    pytest.fail("there is no end")


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_copied_to_the_host(name, emulated):
    """The host steers by counts; the data stays on the GPU."""
    with sg.Context(emulated):
        objects = make_objects()
        with sg.Context(emulated, host_copies=False):
            WRITES[name](objects)
            for x in objects.values():
                assert x.nvals >= 0
            with pytest.raises(RuntimeError, match="40 elements would be copied to the host"):
                sg.Vector.from_dense(np.arange(N)).to_dense()
        assert sg.Vector.from_dense(np.arange(N)).to_dense()[3] == 3


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_changed(gpu, name):
    call, before = WRITES[name], contents(make_objects())
    wanted = make_objects()
    call(wanted)
    after = contents(wanted)
    count = 0
    for objects, error, _ in failures(gpu, call):
        if error is None:  # an intermediate result, which was tried once more
            assert contents(objects) == after
            continue
        count += 1
        assert contents(objects) == before
        assert gpu.name in str(error) and "no room for " in str(error)
        call(objects)  # and all of them can still be used
        assert contents(objects) == after
    assert count > 0


@pytest.mark.parametrize("name", READS)
def test_what_makes_something_new_is_tried_once_more(gpu, name):
    wanted = READS[name](make_objects())
    results = [(error, result) for _, error, result in failures(gpu, READS[name])]
    assert results
    assert [error for error, result in results if error is None and result != wanted] == []
    assert sum(error is None for error, _ in results) > 0


# ---- in parts -----------------------------------------------------------------------
@pytest.fixture
def gpus(emulated):
    """Three parts on GPUs."""
    with sg.Context(group_of(tuple(spread(emulated, 3)))):
        yield emulated
    emulated.fail_at = None


def dealt_objects():
    """The same objects, A, B and u each in a layout of its own, which operations have to bring together."""
    objects = make_objects()
    layouts = {"A": "random", "B": "contiguous", "u": "biased_random"}
    for name, partition in layouts.items():
        with sg.Context(partition=partition):
            x = objects[name].to("cpu")
            if name == "u":  # vectors lie as the graph that came last
                graph = sg.Matrix.from_coo(np.arange(N), np.arange(N)[::-1], True, nrows=N, ncols=N).to("cpu")
                graph.to(sg.context.device())
            objects[name] = x.to(sg.context.device())
    return objects


@pytest.mark.parametrize("name", WRITES)
def test_operands_in_parts_stay_as_they_are(gpus, name, request):
    """An output may be written in part, but what is only read keeps its content, also if it has to move."""
    call, before = WRITES[name], contents(dealt_objects())
    wanted = dealt_objects()
    call(wanted)
    after = contents(wanted)
    read = [one for one, content in before.items() if after[one] == content]
    count, step = 0, 1 if request.config.getoption("--whole") else 3
    for objects, error, _ in failures(gpus, call, dealt_objects, step):
        found = contents(objects)
        assert [one for one in read if found[one] != before[one]] == []
        if error is None:
            assert found == after
        count += error is not None
    assert count > 0


@pytest.mark.parametrize("name", READS)
def test_what_is_new_in_parts_is_tried_once_more(gpus, name):
    wanted, before = READS[name](dealt_objects()), contents(dealt_objects())
    found = []
    for objects, error, result in failures(gpus, READS[name], dealt_objects):
        assert contents(objects) == before
        found += [result == wanted] if error is None else []
    assert found and all(found)


@pytest.mark.parametrize("name", MAKES)
def test_what_makes_something_new_tells(gpu, name):
    before = contents(make_objects())
    told = [(objects, error) for objects, error, _ in failures(gpu, MAKES[name])]
    assert told
    for objects, error in told:
        assert contents(objects) == before
        assert error is None or gpu.name in str(error)
    assert any(error for _, error in told)


def test_the_message(gpu):
    """Operation, object, bytes wanted, device, what is free, the limit and what helps."""
    w = sg.Vector(float, 10**6, name="w")
    x = sg.Vector.from_scalar(0.5, 10**6, name="x")
    y = sg.Vector.from_dense(np.zeros(10**6), name="y")
    with sg.Context(gpu, memory_limit=in_use(gpu) + 2**20), pytest.raises(exceptions.OutOfMemory) as caught:
        w << x + y
    text = str(caught.value)
    assert text.startswith(
        "w << x.ewise_add(y, binary.plus[FP64]) (w is a Vector FP64, size 1,000,000): emulated:0 has no room for "
        "7.63 MiB (8,000,000 bytes): 1 MiB are free of 8 GiB, "
    )
    for words in (
        "in use by this process", "memory_limit is ", "larger memory_limit", "Delete what is not needed", '.to("cpu")',
        "spgraph.estimate()", "nothing was changed",
    ):  # fmt: skip
        assert words in text
    assert isinstance(caught.value, MemoryError)
    assert type(caught.value.__cause__).__name__ == "OutOfMemoryError"


def test_moving(gpu):
    with sg.Context("cpu"):
        A = sg.generators.path(10**5)
    with sg.Context(gpu, memory_limit=in_use(gpu) + 1000), pytest.raises(exceptions.OutOfMemory) as caught:
        A.to(gpu)
    assert str(caught.value).startswith('to("emulated:0"): emulated:0 has no room for ')
    assert A.device == "cpu" and A.nvals == 2 * (10**5 - 1)


def test_nested_expressions_try_again_once(gpu, monkeypatch):
    """Not the inner one, and then each one around it with the inner one again."""
    spared, spare = [], expression.spare
    monkeypatch.setattr(expression, "spare", lambda device: spared.append(spare(device)))
    A = sg.generators.path(10**5)
    w = sg.Vector.from_dense(np.arange(10**5))
    A.mxv(w).new()
    for nested in (A.mxv(w).apply("abs").apply("ainv"), (A.mxv(w) + w).apply("abs"), A.mxm(A).T.apply("abs")):
        spared.clear()
        with sg.Context(gpu, memory_limit=in_use(gpu) + 10**5), pytest.raises(exceptions.OutOfMemory):
            nested.new()
        assert len(spared) == 1


@pytest.mark.parametrize("make", [
    lambda: sg.generators.rmat(5), lambda: sg.generators.uniform(32), lambda: sg.generators.grid(5),
    lambda: sg.generators.path(5), lambda: sg.generators.cycle(5), lambda: sg.generators.star(5),
    lambda: sg.generators.complete(5),
], ids=["rmat", "uniform", "grid", "path", "cycle", "star", "complete"])  # fmt: skip
def test_generators_on_a_host_without_room(make, request, monkeypatch):
    def fails(*_, **__):
        raise MemoryError("Unable to allocate 1.00 GiB for an array")

    for module in ("_random", "_regular"):
        monkeypatch.setattr(f"spgraph.generators.{module}.from_keys", fails)
    with pytest.raises(exceptions.OutOfMemory, match=f"{request.node.callspec.id}: cpu has no room"):
        make()


def test_a_graph_that_does_not_fit(gpu):
    with sg.Context(gpu, memory_limit=in_use(gpu) + 1000), pytest.raises(exceptions.OutOfMemory) as caught:
        sg.generators.path(10**5)
    assert str(caught.value).startswith("path(100000): emulated:0 has no room for ")


@pytest.mark.parametrize("make", [
    lambda: sg.Vector.from_scalar(1, 10**14).to_dense(),
    lambda: (sg.Vector.from_scalar(1, 10**14) + sg.Vector.from_scalar(2, 10**14)).new(),
    lambda: sg.Matrix(float, 10**14, 3),
    lambda: sg.Vector.from_dense(np.broadcast_to(1.0, 10**14)),
    lambda: sg.Matrix.from_scalar(1, 10**7, 10**7),
])  # fmt: skip
def test_the_host(make):
    message = r"cpu has no room for .* TiB .*; nothing was changed\."
    with sg.Context("cpu"), pytest.raises(exceptions.OutOfMemory, match=message):
        make()


@pytest.mark.parametrize("n", [10**13, 2**59, 2**60, 2**62, 2**63 - 1])
def test_sizes_beyond_all_memory(n):
    """NumPy has errors of three kinds for them, or none where the machine promises what it does not have."""
    with sg.Context("cpu"):
        makes = [lambda: sg.Matrix("INT64", n, n), lambda: sg.Matrix.from_coo([n - 1], [0]),
                 lambda: sg.Matrix.from_coo([0], [0], nrows=n, ncols=n)]
        if n >= 2**59:  # more than any machine promises
            makes.append(lambda: sg.Vector.from_scalar(1, n, "INT64").apply(sg.indexunary.index).new())
        for make in makes:
            with pytest.raises(exceptions.OutOfMemory, match="has no room"):
                make()
