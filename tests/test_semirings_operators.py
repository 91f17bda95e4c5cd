"""Operators as objects: types, resolution, calling, names, registering, pickling, messages."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import semirings
from semirings import agg, binary, dtypes, exceptions, indexunary, monoid, op, select, semiring, unary
from semirings.dtypes import BOOL, FP32, FP64, INT8, INT32, INT64, UINT64
from semirings.exceptions import DomainMismatch, InvalidValue, UdfParseError

# --- typed operators ---


def test_typed_operators_are_kept():
    assert binary.plus["INT64"] is binary.plus[np.int64] is binary.plus[int]
    assert repr(binary.plus[int]) == "binary.plus[INT64]"
    assert binary.plus["INT8", "FP32"] is binary.plus[FP32]
    typed = binary.plus[int]
    assert (typed.name, typed.parent, typed.type, typed.type2, typed.return_type) == (
        "plus", binary.plus, INT64, INT64, INT64,
    )  # fmt: skip
    assert typed.resolve(FP64) is typed


def test_contains():
    assert np.int8 in binary.plus
    assert "FP64" not in binary.band
    assert complex not in binary.plus
    assert "nonsense" not in binary.plus


def test_coercions():
    assert unary.sqrt[int] is unary.sqrt[FP64]
    assert unary.sqrt["INT8"].type == FP32
    assert binary.truediv[int].type == INT64
    assert binary.truediv[int].return_type == FP64
    assert binary.lt["FP32"].return_type == BOOL
    assert binary.land[int].return_type == INT64
    assert monoid.lor[int] is monoid.lor[BOOL]
    assert semiring.lor_pair[int] is semiring.lor_pair[BOOL]
    assert semiring.lor_land["FP32"].type == BOOL
    assert semiring.band_bor["INT8"].type == dtypes.UINT16


def test_resolution():
    assert binary.plus.resolve("INT8", "INT32") is binary.plus[INT32]
    assert binary.pair.resolve(BOOL, BOOL) is binary.pair[INT64]
    assert semiring.any_pair.resolve(BOOL, BOOL) is semiring.any_pair[INT64]
    assert semiring.plus_times.resolve("INT8", "FP32") is semiring.plus_times[FP32]
    assert semiring.min_firsti.resolve(FP64, BOOL).return_type == INT64
    assert semiring.min_firsti.resolve(INT32, INT32).return_type == INT32
    assert unary.abs.resolve("INT8") is unary.abs["INT8"]
    with pytest.raises(DomainMismatch, match="INT64 and UINT64"):
        binary.plus.resolve(INT64, UINT64)
    with pytest.raises(DomainMismatch, match="INT64 and UINT64"):
        semiring.min_plus.resolve(INT64, UINT64)
    # one operand only is looked at
    assert binary.first.resolve(INT64, UINT64).type == INT64
    assert binary.second.resolve(INT64, UINT64).type == UINT64
    assert semiring.any_second.resolve(INT64, UINT64).return_type == UINT64
    assert semiring.any_firstj.resolve(INT64, UINT64).return_type == INT64
    assert indexunary.tril.resolve(UINT64, INT64).return_type == BOOL


def test_positional():
    first = binary.ss.firsti[FP64]
    assert first.positional
    assert first.inputs == ("x", "y", "ix", "jx", "iy", "jy")
    assert semirings.expr.inputs(first.expr) == {"ix"}
    assert binary.secondj1[int].numpy(0, 0, 1, 2, 3, 4) == 5
    assert not binary.plus[int].positional
    assert semiring.min_secondi[int].positional
    assert not monoid.min[int].positional
    assert unary.ss.positionj[FP64].inputs == ("x", "i", "j")
    assert indexunary.tril[FP64].type2 == indexunary.tril[FP64].thunk_type == INT64
    assert indexunary.valuegt[FP32].thunk_type == FP32
    assert indexunary.tril[FP64].positional
    assert not indexunary.valuegt[FP32].positional


def test_positional_comparisons_do_not_overflow():
    last = np.iinfo(np.int64).max
    assert select.tril[BOOL].numpy(True, 5, 3, last)
    assert not select.triu[BOOL].numpy(True, 5, 3, last)
    assert select.offdiag[BOOL].numpy(True, 5, 3, -last)


def test_keys():
    assert binary.plus[int].key == binary.plus["INT64"].key != binary.plus[FP64].key
    assert binary.plus[int].key != binary.times[int].key
    one = binary.register_anonymous(lambda x, y: x + y + 1, "same")
    other = binary.register_anonymous(lambda x, y: x + y + 2, "same")
    assert one[int].key != other[int].key
    assert semiring.min_plus[int].key == semiring.get_semiring("min", "plus")[int].key
    a, b = (monoid.register_anonymous("max", identity) for identity in (0, 1))
    assert a[int].key != b[int].key
    keys = [op[FP64].key for op in (binary.min, binary.max, monoid.min, semiring.min_plus, unary.abs)]
    assert len({*keys}) == 5


def test_commutative():
    assert binary.plus.commutative
    assert binary.plus[int].commutative
    assert not binary.minus.commutative
    assert binary.minus[int].commutes_to is binary.rminus[int]
    assert binary.atan2.commutes_to is None
    assert monoid.min[int].commutative
    assert semiring.plus_times[int].commutative


def test_monoids_of_binary_operators():
    assert binary.plus.monoid is monoid.plus
    assert binary.plus[int].monoid is monoid.plus[int]
    assert binary.minus.monoid is None
    assert binary.bor["INT8"].monoid is None  # unsigned only
    assert monoid.plus.binaryop is binary.plus
    assert binary.numpy.add.monoid is monoid.plus


# --- calling ---


class Spy:
    """Stands for a matrix: tells what it was called with."""

    def __semiring_call__(self, op, args, kwargs):
        return op, args, kwargs


def test_calls_go_to_the_object():
    A = Spy()
    assert unary.abs(A) == (unary.abs, (A,), {})
    assert binary.plus(A, 1) == (binary.plus, (A, 1), {})
    assert binary.plus(1, A) == (binary.plus, (1, A), {})
    assert binary.plus[int](A, A)[0] is binary.plus[int]
    assert monoid.plus(A) == (monoid.plus, (A,), {})
    assert semiring.min_plus(A) == (semiring.min_plus, (A,), {})
    assert select.tril(A, 1) == (select.tril, (A, 1), {})
    assert indexunary.rowindex(A, 1) == (indexunary.rowindex, (A, 1), {})
    assert agg.sum(A, rowwise=True) == (agg.sum, (A,), {"rowwise": True})
    assert binary.plus(A, left_default=0, right_default=1)[2] == {"left_default": 0, "right_default": 1}
    assert select.value(A) == (select.value, (A,), {})
    assert binary.isclose(A, A) == (binary.isclose, (A, A), {})


def test_calls_with_values_use_the_reference():
    assert binary.plus(1, 2) == 3
    assert binary.plus(np.uint8(250), np.uint8(10)) == 4
    assert binary.plus(np.int8(1), 2.5) == 3.5
    assert binary.plus(np.array([1, 2], "i4"), 1).dtype == np.int32
    assert unary.sqrt(4) == 2
    assert monoid.max(1.5, np.nan) == 1.5
    assert binary.plus["INT8"](100, 100) == -56
    assert binary.isclose(1.0, 1.1, rel_tol=0.2) is not None
    assert agg.mean([1, 2, 3]) == 2
    with pytest.raises(DomainMismatch, match="INT64 and UINT64"):
        binary.plus(np.int64(1), np.uint64(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unary.abs("a"), r"unary\.abs was called with str; write unary\.abs\(A\)"),
        (lambda: binary.plus(1), r"binary\.plus was called with int; write binary\.plus\(A \| B\)"),
        (lambda: binary.plus([], {}, 1), "list, dict, int"),
        (lambda: monoid.plus(object()), "object"),
        (lambda: semiring.min_plus(1, 2), r"write semiring\.min_plus\(A @ B\)"),
        (lambda: select.tril(1), r"write select\.tril\(A, thunk\)"),
        (lambda: agg.sum(3), r"agg\.sum\(A, rowwise=True\)"),
        (lambda: select.row(3), r"select\.row\(A <= 5\)"),
        (lambda: binary.firsti(1, 2), "binary.ss.firsti"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_comparisons_pick_select_operators():
    assert select.value.pick("gt", 3) == (select.valuegt, 3)
    assert select.value.pick("iseq", 3) == (select.valueeq, 3)
    assert select.row.pick("le", 3) == (select.rowle, 3)
    assert select.row.pick("lt", 3) == (select.rowle, 2)
    assert select.column.pick("ge", 3) == (select.colgt, 2)
    assert select.index.pick("gt", 3) == (select.indexgt, 3)
    with pytest.raises(InvalidValue, match=r"select\.row: there is no selection for 'eq', only for gt, le"):
        select.row.pick("eq", 3)


# --- registering ---


def capped_sum(x, y):
    return np.minimum(x + y, 100)


def test_register_new():
    op_ = binary.register_new("test_ops.capped", capped_sum)
    assert binary.test_ops.capped is op_
    assert op.test_ops.capped is op_
    assert repr(op_[int]) == "binary.test_ops.capped[INT64]"
    add = monoid.register_new("test_ops.capped", op_, 0, terminal={"UINT8": 100})
    assert op_.monoid is add
    assert add["UINT8"].terminal == 100
    assert add["INT8"].terminal is None
    s = semiring.register_new("test_ops.min_capped", monoid.min, capped_sum)
    assert semiring.test_ops.min_capped is s
    assert s["UINT8"].binaryop.expr == op_["UINT8"].expr
    assert unary.register_new("test_ops.f", np.sqrt)[int].return_type == FP64
    for again in (lambda: binary.register_new("test_ops.capped", capped_sum),
                  lambda: binary.register_new("plus", capped_sum),
                  lambda: binary.register_new("plus.capped", capped_sum),
                  lambda: monoid.register_new("min", "+", 0),
                  lambda: binary.register_new("not a name", capped_sum)):  # fmt: skip
        with pytest.raises(InvalidValue):
            again()


def test_register_select_and_indexunary_together():
    s = select.register_new("test_ops.band", lambda x, i, j, thunk: np.abs(i - j) <= thunk.astype(np.int64))
    assert indexunary.test_ops.band[int].expr == s[int].expr
    indexunary.register_new("test_ops.upper", lambda x, i, j, thunk: j > i)
    assert select.test_ops.upper[FP32].return_type == BOOL
    indexunary.register_new("test_ops.index_sum", lambda x, i, j, thunk: i + j)
    assert not hasattr(select.test_ops, "index_sum")
    with pytest.raises(InvalidValue, match=r"gives INT64, but a select operator says yes or no \(BOOL\): compare"):
        select.register_anonymous(lambda x, i, j, thunk: i + j)


def test_register_anonymous():
    op_ = binary.register_anonymous(capped_sum)
    assert op_.name == "capped_sum"
    assert not hasattr(binary, "capped_sum")
    m = monoid.register_anonymous(op_, 0, is_idempotent=False)
    assert op_.monoid is m
    assert semiring.register_anonymous(m, "times")[int].monoid is m[int]
    assert repr(semiring.register_anonymous("min", op_)) == "semiring.min_capped_sum"


def test_monoid_types_follow_the_identity():
    m = monoid.register_anonymous("max", -1)
    assert "INT8" in m
    assert "UINT8" not in m
    assert "BOOL" not in m
    with pytest.raises(DomainMismatch, match="no identity of this type"):
        m["UINT8"]
    m = monoid.register_anonymous("min", np.inf, terminal=-np.inf)
    assert set(m.types) == {FP32, FP64}
    assert m[FP32].terminal == -np.inf
    m = monoid.register_anonymous("max", {"INT8": 0, FP64: 0})
    assert set(m.types) == {INT8, FP64}
    assert monoid.max.identities[INT8] == -128


def test_what_does_not_go_together():
    with pytest.raises(InvalidValue, match=r"monoid.less works with no type"):
        monoid.register_anonymous(lambda x, y: (x < y) & (x.astype(np.float64) > 0.5), "none", name="less")
    with pytest.raises(InvalidValue, match=r"binary\.atan2 gives FP32, FP64, but monoid\.band takes UINT8"):
        semiring.register_anonymous("band", "atan2")
    with pytest.raises(TypeError, match=r"an operator for all types is wanted, as binary\.plus"):
        semiring.register_anonymous("min", binary.plus[int])
    with pytest.raises(TypeError, match="a function of NumPy values is wanted"):
        unary.register_new("test_ops.three", 3)
    with pytest.raises(TypeError, match=r"this operator is part of none; monoid\.register_new"):
        semiring.register_new("test_ops.minus_plus", binary.minus, "+")
    with pytest.raises(UdfParseError):
        semiring.register_new("test_ops.branch", "min", lambda x, y: x if x else y)


def test_get_semiring():
    assert semiring.get_semiring(monoid.min, binary.plus) is semiring.min_plus
    assert semiring.get_semiring(monoid.min, binary.plus[int]) is semiring.min_plus[int]
    assert semiring.get_semiring(monoid.any, binary.ss.firsti) is semiring.any_firsti
    own = semiring.get_semiring(monoid.max, binary.atan2, name="angle")
    assert own.name == "angle"
    assert own[FP64].return_type == FP64


# --- copies ---


@pytest.mark.parametrize(
    "thing",
    [
        unary.abs,
        unary.ss.erf,
        binary.plus,
        binary.numpy.gcd,
        monoid.min,
        semiring.min_plus,
        semiring.ss.any_firsti,
        indexunary.tril,
        select.tril,
        agg.mean,
        binary.plus[int],
        monoid.min[FP32],
        semiring.min_plus[int],
        agg.mean[FP64],
        select.value,
        semiring.numpy,
        INT64,
    ],
    ids=repr,
)
def test_pickled_by_name(thing):
    assert pickle.loads(pickle.dumps(thing)) is thing
    assert copy.copy(thing) is copy.deepcopy(thing) is thing


def test_pickled_by_function():
    op_ = binary.register_anonymous(capped_sum)
    assert pickle.loads(pickle.dumps(op_))[int].key == op_[int].key
    close = binary.isclose(rel_tol=0.5)
    assert pickle.loads(pickle.dumps(close))[FP64].key == close[FP64].key
    s = semiring.register_anonymous(monoid.register_anonymous(op_, 0), op_)
    assert pickle.loads(pickle.dumps(s))[int].key == s[int].key
    tree = op_[int].expr
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_unpickling_what_is_not_registered():
    with pytest.raises(InvalidValue, match=r"binary\.test_ops_gone is not registered in this process"):
        pickle.loads(pickle.dumps(binary.plus).replace(b"\x8c\x04plus", b"\x8c\x0dtest_ops_gone"))


# --- the package ---


def test_exceptions():
    for name in exceptions.__all__:
        assert issubclass(getattr(exceptions, name), exceptions.GraphblasException)
        assert name in exceptions.__doc__
    assert issubclass(DomainMismatch, TypeError)
    assert issubclass(exceptions.IndexOutOfBound, IndexError)


def test_imports_only_numpy_and_the_standard_library():
    code = (
        "import sys, numpy; before = set(sys.modules);"
        "from semirings import op, unary, binary, monoid, semiring, indexunary, select, agg, expr, as_binary;"
        "expr.to_python; expr.to_cuda;"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["['numpy',", "'semirings']"] or out.strip() == "['semirings']"


def test_distribution():
    assert semirings.__distribution__ == "spgraph"
    assert set(semirings.__all__) <= {*dir(semirings)}
    for name in semirings.__all__:
        assert getattr(semirings, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        semirings.nothing  # noqa: B018
