"""Bad input raises at the call, names what came and what was wanted, and leaves every object as it was."""

import re

import graphblas
import numpy as np
import pytest


class Objects:
    """A of 3 x 4, B of 4 x 3, S of 3 x 3; u, v, w of sizes 3, 5, 4; FP64 x, UINT64 y of size 3."""

    def __init__(self, sg):
        self.A = sg.Matrix.from_coo([0, 1, 2], [1, 3, 0], [1, 2, 3], nrows=3, ncols=4)
        self.B = sg.Matrix.from_coo([0, 3], [1, 2], [4, 5], nrows=4, ncols=3)
        self.S = sg.Matrix.from_coo([0, 1], [1, 2], [6, 7], nrows=3, ncols=3)
        self.u = sg.Vector.from_coo([0, 2], [1, 2], size=3)
        self.v = sg.Vector.from_coo([0, 4], [3, 4], size=5)
        self.w = sg.Vector.from_coo([1, 3], [5, 6], size=4)
        self.x = sg.Vector.from_coo([0, 1], [1.5, 2.5], size=3)
        self.y = sg.Vector.from_coo([0, 1], [1, 2], dtype="UINT64", size=3)
        self.s = sg.Scalar.from_value(5)

    def copies(self):
        return {name: x.dup() for name, x in vars(self).items()}


def write(output, expr):
    output << expr


def assign(output, index, value):
    output[index] = value


def delete(output, index):
    del output[index]


DIMENSIONS = {
    "mxv": (lambda o, sg: o.A.mxv(o.v), "mxv", "5", "4"),
    "vxm": (lambda o, sg: o.v.vxm(o.A), "vxm", "5", "3"),
    "mxm": (lambda o, sg: o.A.mxm(o.A), "mxm", "4", "3"),
    "matmul": (lambda o, sg: o.A @ o.u, "4", "3"),
    "matmul of an expression": (lambda o, sg: sg.semiring.min_plus(o.A @ o.S), "4", "3"),
    "transposed": (lambda o, sg: o.A.T.mxv(o.w), "4", "3"),
    "ewise_add": (lambda o, sg: o.A.ewise_add(o.B), "ewise_add", "3", "4"),
    "ewise_mult": (lambda o, sg: o.w.ewise_mult(o.v), "ewise_mult", "4", "5"),
    "ewise_union": (lambda o, sg: o.w.ewise_union(o.v, sg.binary.plus, 0, 0), "ewise_union", "4", "5"),
    "infix plus": (lambda o, sg: o.w + o.v, "4", "5"),
    "infix or": (lambda o, sg: sg.binary.plus(o.w | o.v), "4", "5"),
    "inner": (lambda o, sg: o.w.inner(o.v), "inner", "4", "5"),
    "power of what is not square": (lambda o, sg: o.A.power(2), "power", "3", "4"),
    "output": (lambda o, sg: write(o.w, o.v), "4", "5"),
    "output matrix": (lambda o, sg: write(o.A, o.B), "3", "4"),
    "output of a product": (lambda o, sg: write(o.v, o.A.mxv(o.w)), "5", "3"),
    "mask": (lambda o, sg: write(o.w(o.v.S), o.w), "mask", "5", "4"),
    "mask matrix": (lambda o, sg: write(o.A(o.B.S), o.A), "mask", "3", "4"),
    "complemented mask with replace": (lambda o, sg: write(o.w(~o.v.V, replace=True), o.w), "mask", "5", "4"),
    "new with a mask": (lambda o, sg: o.A.mxv(o.w).new(mask=o.v.S), "mask", "5", "3"),
    "assign": (lambda o, sg: assign(o.w, [0, 1], o.v), "5", "2"),
    "assign a matrix": (lambda o, sg: assign(o.A, ([0, 1], slice(None)), o.B), "4", "2"),
    "assign a row": (lambda o, sg: assign(o.A, (0, slice(None)), o.v), "5", "4"),
    "assign a list": (lambda o, sg: assign(o.w, slice(None), [1, 2, 3]), "3", "4"),
    "subassign mask": (lambda o, sg: write(o.w[:2](o.v.S), 1), "mask", "5", "2"),
    "setdiag": (lambda o, sg: o.S.setdiag(o.v), "setdiag", "5", "3"),
    "from_coo": (lambda o, sg: sg.Vector.from_coo([0, 1], [1, 2, 3], size=5), "from_coo", "2", "3"),
    "from_coo matrix": (lambda o, sg: sg.Matrix.from_coo([0, 1], [1], [1, 2]), "from_coo", "2", "1"),
    "build": (lambda o, sg: sg.Vector(int, 5).build([0, 1, 2], [1, 2]), "build", "3", "2"),
}

INDICES = {
    "element": (lambda o, sg: o.v[10].new(), "10", "5"),
    "negative element": (lambda o, sg: o.v[-6].new(), "-6", "5"),
    "row": (lambda o, sg: o.A[3, 0].new(), "3"),
    "column": (lambda o, sg: o.A[0, 4].new(), "4"),
    "list": (lambda o, sg: o.A[[0, 7], :].new(), "7", "3"),
    "array": (lambda o, sg: o.v[np.array([1, -9])].new(), "-9", "5"),
    "get": (lambda o, sg: o.v.get(5), "5"),
    "in": (lambda o, sg: 5 in o.v, "5"),
    "assign an element": (lambda o, sg: assign(o.v, 5, 1), "5"),
    "assign by a list": (lambda o, sg: assign(o.A, ([0, 3], 1), 9), "3"),
    "delete": (lambda o, sg: delete(o.v, 5), "5"),
    "from_coo": (lambda o, sg: sg.Vector.from_coo([1, 7], [1, 1], size=5), "from_coo", "7", "5"),
    "from_coo negative": (lambda o, sg: sg.Vector.from_coo([-1], [1], size=5), "from_coo", "-1"),
    "from_coo matrix": (lambda o, sg: sg.Matrix.from_coo([0], [4], [1], nrows=3, ncols=4), "from_coo", "4"),
    "build": (lambda o, sg: o.v.build([9], [1], clear=True), "build", "9", "5"),
    "build matrix": (lambda o, sg: o.A.build([0], [9], [1], clear=True), "build", "9", "4"),
    "from_csr": (lambda o, sg: sg.Matrix.from_csr([0, 1], [5], [1], ncols=3), "from_csr", "5", "3"),
    "setdiag": (lambda o, sg: o.S.setdiag(1, 3), "3"),
}

TYPES = {
    "a complex vector": (lambda o, sg: sg.Vector.from_coo([0], [1j]), "complex128"),
    "strings": (lambda o, sg: sg.Vector.from_coo([0], ["a"]), "from_coo"),
    "objects": (lambda o, sg: sg.Vector.from_coo([0], np.array([None])), "object"),
    "dates": (lambda o, sg: sg.Vector.from_coo([0], np.array(["2026-01-01"], "M8[D]")), "datetime64"),
    "no such dtype": (lambda o, sg: sg.Vector("COMPLEX", 3), "COMPLEX"),
    "bits of floats": (lambda o, sg: o.x.ewise_mult(o.x, sg.binary.band), "band", "FP64"),
    "signed with unsigned": (lambda o, sg: o.u.ewise_add(o.y), "INT64", "UINT64"),
    "signed with unsigned product": (lambda o, sg: o.y.vxm(o.S), "INT64", "UINT64"),
    "signed with unsigned infix": (lambda o, sg: o.u * o.y, "INT64", "UINT64"),
    "a mask of numbers": (lambda o, sg: write(o.u(o.u), 1), "mask", "INT64"),
    "binary for a semiring": (lambda o, sg: o.A.mxm(o.B, sg.binary.plus), "mxm", "semiring", "plus"),
    "monoid for a unary": (lambda o, sg: o.u.apply(sg.agg.sum), "apply", "sum"),
    "binary that has no monoid": (lambda o, sg: o.u.reduce(sg.binary.minus), "reduce", "minus"),
    "semiring for an accumulator": (lambda o, sg: write(o.u(sg.semiring.min_plus), o.u), "accum", "min_plus"),
    "unary for a binary": (lambda o, sg: o.u.ewise_add(o.u, sg.unary.abs), "ewise_add", "abs"),
    "truth of a vector": (lambda o, sg: bool(o.u), "nvals"),
    "truth of a comparison": (lambda o, sg: bool(o.u == o.u), "isequal|nvals|reduce"),
    "a number for a matrix": (lambda o, sg: o.A.mxm(5), "mxm", "int"),
    "a vector for a matrix": (lambda o, sg: o.A.mxm(o.w), "mxm", "Vector"),
    "a matrix for a vector": (lambda o, sg: o.A.mxv(o.B), "mxv", "Matrix"),
    "a string": (lambda o, sg: write(o.u, "text"), "str"),
    "a float as an index": (lambda o, sg: o.v[1.5], "1.5|float"),
    "a vector as an index of a matrix": (lambda o, sg: o.A[o.v, 0], "Vector"),
    "one index of a matrix": (lambda o, sg: o.A[0].new(), "2|two|row"),
    "a size that is not whole": (lambda o, sg: sg.Vector(int, 2.5), "2.5"),
    "replace without a mask": (lambda o, sg: write(o.u(replace=True), o.u), "replace", "mask"),
    "two masks": (lambda o, sg: o.u(o.u.S, mask=o.u.S), "mask"),
    "a mask of a scalar": (lambda o, sg: o.s(o.u.S), "[Mm]ask|Scalar"),
    "an assignment to a transpose": (lambda o, sg: assign(o.S.T, (0, 0), 1), "[Tt]ranspos"),
    "an object of python-graphblas": (lambda o, sg: o.S.mxv(graphblas.Vector(int, 3)), "mxv", "graphblas"),
    "an operator of python-graphblas": (
        lambda o, sg: o.u.apply(graphblas.unary.abs),
        "apply",
        "graphblas|abs",
    ),
}

VALUES = {
    "duplicates": (
        lambda o, sg: sg.Vector.from_coo([1, 1], [1, 2], size=3),
        "from_coo",
        "[Dd]uplicate",
        "dup_op",
    ),
    "duplicate pairs": (
        lambda o, sg: sg.Matrix.from_coo([2, 2], [1, 1], [1, 2]),
        "[Dd]uplicate",
        "2",
        "1",
        "dup_op",
    ),
    "duplicates in build": (lambda o, sg: sg.Vector(int, 3).build([1, 1], [1, 2]), "[Dd]uplicate", "dup_op"),
    "size unknown": (lambda o, sg: sg.Vector.from_coo([], []), "size"),
    "building into entries": (lambda o, sg: o.u.build([1], [1]), "build", "clear|empty|entries"),
    "a negative size": (lambda o, sg: sg.Vector(int, -1), "-1"),
    "resize": (lambda o, sg: o.A.resize(-1, 2), "resize", "-1"),
    "a negative power": (lambda o, sg: o.S.power(-1), "power", "-1"),
    "holes in to_dense": (lambda o, sg: o.u.to_dense(), "to_dense", "fill_value"),
    "no such operator": (lambda o, sg: o.u.apply("nosuch"), "nosuch"),
    "no such semiring": (lambda o, sg: o.A.mxm(o.B, "min_nosuch"), "min_nosuch"),
    "indptr that falls": (lambda o, sg: sg.Matrix.from_csr([0, 2, 1], [0, 1], [1, 1]), "from_csr", "indptr"),
    "indptr of another length": (lambda o, sg: sg.Matrix.from_csr([0, 1, 2], [0], [1]), "from_csr", "2", "1"),
    "columns of a row twice": (
        lambda o, sg: sg.Matrix.from_csr([0, 2], [1, 1], [1, 1]),
        "from_csr",
        "[Dd]uplicate",
    ),
    "ragged dense": (lambda o, sg: sg.Matrix.from_dense([[1, 2], [3]]), "from_dense"),
}

KINDS = {
    "dimension": (DIMENSIONS, "DimensionMismatch", ValueError),
    "index": (INDICES, "GraphblasException", IndexError),
    "type": (TYPES, None, TypeError),
    "value": (VALUES, None, (ValueError, TypeError)),
}
CASES = [(kind, name) for kind, (table, _, _) in KINDS.items() for name in table]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}: {name}" for kind, name in CASES])
def test_error(sg, kind, name):
    table, exception, builtin = KINDS[kind]
    act, *words = table[name]
    objects = Objects(sg)
    before = objects.copies()
    with pytest.raises(builtin) as caught:
        act(objects, sg).new()  # some faults show only when an expression is computed
    message = str(caught.value)
    if exception is not None:
        assert isinstance(caught.value, getattr(sg.exceptions, exception)), message
    for word in words:
        pattern = rf"(?<![\w.-]){word}(?!\d)" if re.fullmatch(r"-?\d+", word) else word
        assert re.search(pattern, message), f"{word!r} is not in: {message}"
    for field, copy in before.items():
        now = getattr(objects, field)
        assert now.dtype == copy.dtype
        assert now.isequal(copy, check_dtype=True), f"{field} changed"


def test_dimension_errors_come_at_the_call(sg):
    """Not only when the expression is computed: the line at fault is the one that Python shows."""
    o = Objects(sg)
    for call in (lambda: o.A.mxv(o.v), lambda: o.A.mxm(o.A), lambda: o.w.ewise_add(o.v), lambda: o.A @ o.u):
        with pytest.raises(sg.exceptions.DimensionMismatch):
            call()


def test_domain_errors_name_the_way_out(sg):
    o = Objects(sg)
    with pytest.raises(sg.exceptions.DomainMismatch, match=r"dup|dtype|cast") as caught:
        o.u.ewise_add(o.y).new()
    assert isinstance(caught.value, TypeError)


def test_names_of_exceptions(sg):
    base = graphblas.exceptions.GraphblasException
    found = [x.__name__ for x in vars(graphblas.exceptions).values() if isinstance(x, type) and issubclass(x, base)]
    left_out = {"JitError"}  # of SuiteSparse's own compiler
    assert len(found) > 10
    for name in set(found) - left_out:
        assert issubclass(getattr(sg.exceptions, name), sg.exceptions.GraphblasException)


def test_a_failed_step_leaves_the_loop_usable(sg):
    o = Objects(sg)
    level = sg.Vector(int, 3)
    with pytest.raises(sg.exceptions.DimensionMismatch):
        level(o.u.S) << o.v
    level(o.u.S) << o.u
    assert level.isequal(o.u)
