"""Finding operators by name: namespaces, strings, and what may stand for an operator."""

from __future__ import annotations

import numpy as np
import pytest

import semirings
from semirings import agg, binary, indexunary, monoid, op, select, semiring, unary
from semirings.dtypes import FP32, FP64, INT64
from semirings.exceptions import DomainMismatch


def test_namespaces():
    assert unary.ss.erf is unary.erf
    assert binary.numpy.add is binary.plus
    assert semiring.ss.min_firsti is semiring.min_firsti
    assert semiring.numpy.add_multiply is semiring.plus_times
    assert indexunary.index is indexunary.rowindex
    assert agg.L2norm is agg.hypot
    assert op.plus is binary.plus
    assert op.any_pair is semiring.any_pair
    assert op.ss.erf is unary.ss.erf
    assert op.ss.firsti is binary.ss.firsti
    assert "min_plus" in dir(semiring)
    assert {"plus", "register_new", "from_string", "ss", "numpy"} <= {*dir(binary)}
    assert {"sqrt", "plus", "eq", "min_plus", "from_string"} <= {*dir(op)}
    assert repr(unary.ss) == "<namespace unary.ss>"
    with pytest.raises(AttributeError, match=r"semiring\.min_plos is not registered; did you mean min_plus"):
        semiring.min_plos  # noqa: B018
    with pytest.raises(AttributeError, match=r"op\.nothing"):
        op.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "text", "wanted"),
    [
        (unary, "-", unary.ainv),
        (unary, "abs[int]", unary.abs[int]),
        (unary, "ss.erf", unary.ss.erf),
        (unary, "arccos", unary.acos),
        (binary, "+", binary.plus),
        (binary, " + ", binary.plus),
        (binary, "PLUS", binary.plus),
        (binary, "+[INT64]", binary.plus[int]),
        (binary, "//", binary.floordiv),
        (binary, "%", binary.numpy.mod),
        (binary, "firsti", binary.ss.firsti),
        (monoid, "&", monoid.land),
        (monoid, "min[FP32]", monoid.min[FP32]),
        (semiring, "min.+", semiring.min_plus),
        (semiring, "min_plus", semiring.min_plus),
        (semiring, "min.+[int]", semiring.min_plus[int]),
        (semiring, "any.firstj1", semiring.ss.any_firstj1),
        (indexunary, "row<=", indexunary.rowle),
        (select, ">=", select.valuege),
        (select, "tril", select.tril),
        (agg, "+", agg.sum),
        (agg, "count", agg.count),
        (op, "+", binary.plus),
        (op, "tril", indexunary.tril),
        (op, "stds[FP32]", agg.stds[FP32]),
    ],
)
def test_from_string(module, text, wanted):
    assert module.from_string(text) is wanted


@pytest.mark.parametrize("module", [unary, binary, monoid, semiring, indexunary, select, agg, op])
def test_from_string_refuses(module):
    for text in ("nonsense", "plus]", "abs[", "abs[int][int]", "", "ss"):
        with pytest.raises(ValueError):
            module.from_string(text)
    name = next(iter(module._root))[INT64].name if module is not op else "abs"
    with pytest.raises(DomainMismatch if module is not op else ValueError, match="nonsense"):
        module.from_string(f"{name}[nonsense]")


def test_conversion():
    assert semirings.as_binary("+") is semirings.as_binary(monoid.plus) is binary.plus
    assert semirings.as_binary(semiring.min_plus) is binary.plus
    assert semirings.as_binary(monoid.plus[int]) is binary.plus[int]
    assert semirings.as_binary(max) is binary.max
    assert semirings.as_binary(np.hypot)[FP64].expr == binary.hypot[FP64].expr
    assert semirings.as_monoid(binary.plus) is semirings.as_monoid("+") is monoid.plus
    assert semirings.as_monoid(min) is monoid.min
    assert semirings.as_monoid(semiring.min_plus) is monoid.min
    assert semirings.as_unary(abs) is unary.abs
    assert semirings.as_unary(lambda x: x + 1)[int].expr == unary.register_anonymous(lambda x: x + 1)[int].expr
    assert semirings.as_semiring("min.+") is semiring.min_plus
    assert semirings.as_select(">") is select.valuegt
    assert semirings.as_indexunary("rowindex") is indexunary.rowindex
    assert semirings.as_agg("mean") is agg.mean
    assert semirings.as_agg("+") is semirings.as_agg(binary.plus) is monoid.plus
    assert semirings.as_agg(agg.stds[FP64]) is agg.stds[FP64]
    for convert, wrong in (
        (semirings.as_binary, unary.abs),
        (semirings.as_monoid, binary.minus),
        (semirings.as_semiring, binary.plus),
        (semirings.as_unary, 3),
        (semirings.as_unary, binary.plus),
        (semirings.as_select, indexunary.rowindex),
        (semirings.as_agg, None),
    ):
        with pytest.raises(TypeError, match=r"is wanted, but got .* of type"):
            convert(wrong)
