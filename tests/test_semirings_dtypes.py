"""The types: looking them up, comparing, and the common type of two."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from semirings import dtypes
from semirings.dtypes import BOOL, FP32, FP64, INT32, INT64, UINT8
from semirings.exceptions import DomainMismatch


def test_lookup_dtype():
    for key in (INT64, "INT64", "int64", "i8", "int64_t", "GrB_INT64", int, np.int64, np.dtype("i8"), ">i8"):
        assert dtypes.lookup_dtype(key) is INT64
    assert dtypes.lookup_dtype(float) is dtypes.lookup_dtype("float") is FP64
    assert dtypes.lookup_dtype(bool) is BOOL
    for key in (complex, "c16", "O", "M8[s]", "U3", "f2", "nonsense", None, [("a", int)]):
        with pytest.raises(DomainMismatch):
            dtypes.lookup_dtype(key)
    with pytest.raises(DomainMismatch, match="complex128 is not supported"):
        dtypes.lookup_dtype(complex)


def test_dtype_equality():
    assert np.int64 == INT64
    assert INT64 == "INT64"
    assert int == INT64  # noqa: E721
    assert INT64 != FP64
    assert np.int32 != INT64
    assert INT64 is not None
    assert (INT64 == None) is False  # noqa: E711
    assert (INT64 == 3) is False
    with pytest.raises(TypeError, match="INT46"):
        assert INT64 == "INT46"
    assert {INT64: 1}[INT64] == 1
    assert sorted([FP32, UINT8, BOOL, INT32]) == [BOOL, INT32, UINT8, FP32]
    assert pickle.loads(pickle.dumps(INT64)) is copy.deepcopy(INT64) is INT64
    with pytest.raises(AttributeError):
        INT64.name = "other"


def test_unify():
    for a in dtypes.ALL:
        for b in dtypes.ALL:
            promoted = np.promote_types(a.np_type, b.np_type)
            if promoted == np.float64 and FP64 not in (a, b) and "f" not in a.np_type.kind + b.np_type.kind:
                with pytest.raises(DomainMismatch, match=f"{a.name} and {b.name}"):
                    dtypes.unify(a, b)
            else:
                assert dtypes.unify(a, b) == promoted
