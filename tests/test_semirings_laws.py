"""The laws that every monoid claims, per type, at the ends of the types."""

from __future__ import annotations

import numpy as np
import pytest
from semirings_values import extremes, operators, same, typed

from semirings import agg, binary, monoid, semiring
from semirings.dtypes import FLOATS

MONOIDS = typed(monoid)
EXACT = ("min", "max", "numpy.minimum", "numpy.maximum")


def values_of(m):
    """Values for which the laws are claimed: no NaN where it is ignored, no negative norms."""
    values = extremes(m.type.np_type)
    if m.name in ("min", "max"):
        values = values[~np.isnan(values)] if m.type in FLOATS else values
    if m.name in ("numpy.gcd", "numpy.hypot"):
        values = values[(values >= 0) | (values != values)]
    return values


def monoids_that(claim):
    return pytest.mark.parametrize("m", [m for m in MONOIDS if claim(m)], ids=repr)


every_monoid = monoids_that(lambda m: True)
not_any = monoids_that(lambda m: not m.terminal_any)  # any gives either operand


@every_monoid
def test_types(m):
    assert m.binaryop.type == m.binaryop.return_type == m.type == m.return_type
    assert m.identity.dtype == m.type.np_type
    assert m.terminal is None or m.terminal.dtype == m.type.np_type


@not_any
def test_identity_is_neutral(m):
    x = values_of(m)
    identity = np.full_like(x, m.identity)
    assert same(m.numpy(identity, x), x).all()
    assert same(m.numpy(x, identity), x).all()


@monoids_that(lambda m: m.terminal is not None)
def test_terminal_absorbs(m):
    x = values_of(m)
    terminal = np.full_like(x, m.terminal)
    assert same(m.numpy(terminal, x), terminal).all()
    assert same(m.numpy(x, terminal), terminal).all()


@not_any
def test_commutes(m):
    values = values_of(m)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    assert same(m.numpy(x, y), m.numpy(y, x)).all()


@monoids_that(lambda m: m.type not in FLOATS or m.name in EXACT)  # sums of floats are rounded
def test_associates(m):
    values = values_of(m)
    x, y, z = (a.ravel() for a in np.meshgrid(values, values, values))
    assert same(m.numpy(m.numpy(x, y), z), m.numpy(x, m.numpy(y, z))).all()


@monoids_that(lambda m: m.idempotent)
def test_idempotent(m):
    x = values_of(m)
    assert same(m.numpy(x, x), x).all()


@every_monoid
def test_reduce(m):
    x = values_of(m)[:7]
    want = x[0]
    for value in x[1:]:
        want = m.numpy(np.array([want]), np.array([value]))[0]
    got = m.reduce(x)
    assert got.dtype == m.type.np_type
    if m.terminal_any:
        assert got in x
    else:
        assert same(np.array([got]), np.array([want]), ulps=16).all()
    assert m.reduce(x[:0]) == m.identity


@pytest.mark.parametrize("op", [o for o in operators(binary) if o.commutes_to is not None], ids=repr)
def test_exchanging_the_operands(op):
    other = op.commutes_to
    assert other.commutes_to is op
    for dtype in op.types:
        values = extremes(dtype.np_type)
        x, y = (a.ravel() for a in np.meshgrid(values, values))
        if op.is_positional:
            places = [np.full(len(x), k) for k in range(4)]
            swapped = [places[k] for k in (2, 3, 0, 1)]
            assert (op[dtype].numpy(x, y, *places) == other[dtype].numpy(y, x, *swapped)).all()
        elif op.name != "any" and dtype in other:
            assert same(op[dtype].numpy(x, y), other[dtype].numpy(y, x)).all(), dtype


@pytest.mark.parametrize("op", operators(semiring), ids=repr)
def test_semirings_fit_together(op):
    assert op.types
    for dtype in op.types:
        s = op[dtype]
        assert s.binaryop.return_type == s.monoid.type == s.return_type
        assert s.type == s.binaryop.type
        assert s.monoid.parent is op.monoid
        assert s.binaryop.parent is op.binaryop


def test_identities_of_the_edge_cases():
    assert monoid.max["INT8"].reduce([-5, -3]) == -3
    assert monoid.min["BOOL"].reduce([True, False]) == False  # noqa: E712
    assert monoid.land["BOOL"].reduce([]) == True  # noqa: E712
    assert monoid.min["UINT64"].identity == 2**64 - 1
    assert monoid.max["FP32"].identity == -np.inf
    assert np.isnan(monoid.numpy.maximum["FP64"].reduce([1, np.nan]))
    assert monoid.max["FP64"].reduce([1, np.nan]) == 1
    assert monoid.min["FP64"].reduce([np.inf, np.inf]) == np.inf


def test_arithmetic_is_that_of_the_type():
    assert binary.plus["UINT8"].numpy([250], [10])[0] == 4
    assert monoid.plus["BOOL"].reduce([True, True, False]) == True  # noqa: E712
    assert monoid.times["BOOL"].reduce([True, False]) == False  # noqa: E712
    assert agg.count["BOOL"].numpy([True, True, False]) == 3
    assert agg.count["BOOL"].numpy([]) == 0
