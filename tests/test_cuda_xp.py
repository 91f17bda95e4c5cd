"""The imitation of CuPy: that it has nothing which CuPy lacks, and refuses what CuPy refuses.

What both must do runs on CuPy itself where the backend is a GPU.
"""

from __future__ import annotations

import inspect
import operator
import pickle

import numpy as np
import pytest
from emulator import array as emulated_array
from emulator import xp as imitation
from emulator.array import OutOfMemoryError, Undefined, counts, pool

NAMES = [name for name in dir(imitation) if not name.startswith("_") and name not in ("Any", "annotations", "np")]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(imitation, name))]


@pytest.fixture
def xp(backend, device):
    """CuPy where there is a GPU, else the imitation."""
    return device.xp if backend == "cuda" else imitation


# ---- what CuPy has ---------------------------------------------------------------------
@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy", reason="the imitation is compared with CuPy where that is installed")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_cupys(cupy, name):
    assert hasattr(cupy, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_cupys(cupy, name):
    try:
        theirs = inspect.signature(getattr(cupy, name)).parameters
    except (TypeError, ValueError):
        pytest.skip("CuPy's is compiled, and does not tell its parameters")
    ours = inspect.signature(getattr(imitation, name)).parameters
    assert list(ours) == list(theirs)
    for ours_one, theirs_one in zip(ours.values(), theirs.values()):
        assert ours_one.kind == theirs_one.kind
        assert (ours_one.default is inspect.Parameter.empty) == (theirs_one.default is inspect.Parameter.empty)


def test_attributes_of_an_array_are_cupys(cupy):
    ours = {name for name in dir(imitation.ndarray) if not name.startswith("_")}
    assert ours <= set(dir(cupy.ndarray))


def expressions(text):
    """What stands between semicolons."""
    return [one.strip() for one in text.split(";")]


# ---- what both refuse ----------------------------------------------------------------------
REFUSED = {
    "np.asarray(x)": TypeError,
    "np.array(x)": (TypeError, DeprecationWarning),  # CuPy has no `copy` there, of which NumPy warns first
    "x + host": TypeError,
    "host + x": TypeError,
    "x == host": TypeError,
    "xp.add(x, host)": TypeError,
    "xp.maximum(host, x)": TypeError,
    "xp.where(x > 1, host, x)": TypeError,
    "xp.concatenate([x, host])": TypeError,
    "xp.searchsorted(x, host)": NotImplementedError,
    "xp.searchsorted(x, np.int64(2))": NotImplementedError,
    "xp.searchsorted(host, x)": NotImplementedError,
    "xp.lexsort((x, x))": (TypeError, AttributeError),
    "xp.sort(x, kind='quicksort')": ValueError,
    "x.argsort(kind='heapsort')": ValueError,
    "xp.insert(x, 1, 2)": AttributeError,
    "xp.bincount(x.astype(np.float64))": TypeError,
    "range(x[2])": TypeError,
    "operator.index(x[2])": TypeError,
    "x[x.astype(np.float32)]": IndexError,
    "x[7]": IndexError,
    "x.astype(np.int8, casting='safe')": TypeError,
    "bool(x)": ValueError,
    "x.item()": ValueError,
    "hash(x)": TypeError,
    "xp.maximum.reduce(x)": NotImplementedError,
    "xp.empty(3, object)": ValueError,
    "x.resize(7)": AttributeError,
    "x + [1, 2, 3, 4, 5]": TypeError,
}


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(xp, expression):
    scope = {"np": np, "xp": xp, "x": xp.asarray(np.arange(5)), "host": np.arange(5), "operator": operator}
    with pytest.raises(REFUSED[expression]):
        eval(expression, scope)


# ---- what the imitation refuses, though CuPy does something ------------------------------------
UNDEFINED = expressions("""
    x[np.arange(2)]; x[[1, 2]]; x[xp.asarray(np.array([1, 5]))]; x[xp.asarray(np.array([-6]))]; list(x);
    xp.take(x, xp.asarray(np.array([9]))); x.__setitem__(slice(None), np.arange(5));
    x.__setitem__(xp.asarray(np.array([1, 1])), xp.asarray(np.array([1, 2]))); xp.arange(x[2]);
    xp.repeat(x, np.arange(5)); xp.delete(x, np.arange(2)); xp.array([x, x]);
    xp.searchsorted(x, x.astype(np.uint32))
""")


@pytest.mark.parametrize("expression", UNDEFINED)
def test_undefined(expression):
    xp = imitation
    with pytest.raises(Undefined):
        eval(expression, {"np": np, "xp": xp, "x": xp.asarray(np.arange(5))})


@pytest.mark.parametrize("name", ["add", "sum", "where", "cumsum", "flatnonzero", "argsort", "isnan", "diff"])
def test_numpys_functions_take_no_array_of_the_device(name):
    x = imitation.asarray(np.arange(5))
    with pytest.raises(TypeError, match=f"say xp.{name}"):
        getattr(np, name)(*([x, x] if name in ("add", "where") else [x]))


# ---- what both do ---------------------------------------------------------------------------------
SAME = expressions("""
    xp.nanargmax(x.astype(np.float64)); xp.nanargmin(x.astype(np.float32));
    x + 1; 2 - x; np.int8(3) * x; x // 2; -x; x % 3 == 1; x & 3; ~(x > 2); x.astype(np.float32) / 2; xp.cumsum(x);
    xp.cumsum(x.astype(np.int32)); xp.cumsum(x.astype(np.int8)); xp.diff(x); xp.repeat(x, 2);
    xp.repeat(x, xp.asarray(np.array([0, 2, 1, 0, 3]))); xp.tile(x, 3); xp.sort(x[::-1]); xp.argsort(x[::-1]);
    xp.where(x > 2, x, 0); xp.where(x > 2, np.int8(1), np.int8(0)); xp.flatnonzero(x % 2); xp.nonzero(x)[0];
    xp.count_nonzero(x); x.sum(); x.astype(np.int8).sum(); (x > 1).sum(dtype=np.int64); x.max(); xp.any(x > 3);
    xp.array_equal(x, x); xp.isin(x, x[1:3]); xp.bincount(x, minlength=9); xp.bincount(x // 2);
    xp.searchsorted(x, x + 1, 'right'); xp.searchsorted(x, 2); xp.unique(x // 2); xp.setdiff1d(x, x[2:]);
    xp.concatenate([x, x.astype(np.int32)]); xp.full(3, 7, np.uint8); xp.zeros(2, bool); xp.arange(2, 9, 3);
    xp.minimum(x, 2); xp.fmax(x.astype(np.float64), np.nan); x[x > 2]; x[xp.asarray(np.array([4, 0]))]; x[1:4];
    x[-1]; x[None, :]; x.reshape(1, 5); x.view(np.uint64); x.view(np.uint8)[:8]; xp.broadcast_to(x[0], (3,));
    xp.delete(x, 2); xp.append(x, x); xp.flip(x); xp.lexsort(xp.stack([x % 2, x % 3])); x.argmax();
    xp.multiply.outer(x, x); xp.add.reduce(x); xp.isnan(x.astype(np.float32)); x.copy(); x.take(x // 2);
    xp.clip(x, 1, 3); xp.prod(x[1:]); xp.empty_like(x).shape[0]; len(x); int(x[3]); float(x[3]); bool(x[3]); x.size;
    x.nbytes; x.flags.c_contiguous; x[::2].flags.c_contiguous; (x == 2).tolist(); x[1].ndim;
    type(x.sum()) is type(x); x[2:].base is not None; x.astype(np.int64, copy=False) is x
""")


@pytest.mark.parametrize("expression", SAME)
def test_same_as_numpy(xp, expression):
    """Values and types, but that CuPy has arrays of no dimension where NumPy has scalars."""
    got = eval(expression, {"np": np, "xp": xp, "x": xp.asarray(np.arange(5))})
    of_numpy = (
        expression.replace("type(x.sum()) is type(x)", "True")
        .replace("xp.", "np.")
        .replace("lexsort(np.stack(", "lexsort((")
    )
    want = eval(of_numpy, {"np": np, "x": np.arange(5)})
    if isinstance(got, xp.ndarray):
        assert got.dtype == np.asarray(want).dtype
        got = xp.asnumpy(got)
    np.testing.assert_array_equal(got, want)


def test_assignment(xp):
    x = xp.asarray(np.arange(6))
    x[xp.asarray(np.array([0, 2]))] = xp.asarray(np.array([10, 20]))
    x[x == 3] = 30
    x[4:] = np.int64(7)
    x[1] += 5
    assert x.get().tolist() == [10, 6, 20, 30, 7, 7]
    x[x > 9] = xp.asarray(np.array([1, 2, 3]))
    x[xp.asarray(np.array([5, 5]))] = 4
    assert x.get().tolist() == [1, 6, 2, 3, 7, 4]


def test_a_view_shares_memory(xp):
    x = xp.zeros(6, np.int32)
    x[2:4].fill(3)
    x.reshape(2, 3)[1, 2] = 9
    x.view(np.uint32)[0] = 1
    assert x.get().tolist() == [1, 0, 3, 3, 0, 9]
    assert x[2:].data.ptr == x.data.ptr + 8


# ---- what is counted, and memory ---------------------------------------------------------------------
def test_transfers_are_counted():
    counts.reset()
    x = imitation.asarray(np.arange(5))
    imitation.cumsum(x + 1)
    assert (counts.to_device, counts.to_host, counts.synchronizations) == (1, 0, 0)
    int(x[2])
    bool(x[1] > 0)
    imitation.flatnonzero(x)
    assert (counts.to_device, counts.to_host, counts.synchronizations) == (1, 2, 3)


def test_memory_is_counted_and_limited():
    before = pool.used
    x = imitation.empty(1000, np.int64)
    y = x[10:]
    assert pool.used == before + 8000
    del x
    assert pool.used == before + 8000
    del y
    assert pool.used == before
    pool.limit = before + 100
    try:
        with pytest.raises(OutOfMemoryError, match=r"Out of memory allocating 8,000 bytes \(allocated so far: "):
            imitation.zeros(1000, np.int64)
    finally:
        pool.limit = pool.TOTAL
    assert pool.used == before


def test_an_allocation_fails_on_request(emulated):
    emulated.fail_at = 2
    x = imitation.zeros(5)
    with pytest.raises(OutOfMemoryError):
        x + 1
    assert emulated.fail_at is None
    assert (x + 1).get().tolist() == [1] * 5


def test_new_memory_is_garbage_aligned_and_padded():
    x = imitation.empty(5, np.uint8)
    assert x.get().tolist() == [emulated_array.GARBAGE] * 5
    assert x.data.ptr % 256 == 0


def test_pickle(xp):
    x = xp.asarray(np.arange(3))
    assert pickle.loads(pickle.dumps(x)).get().tolist() == [0, 1, 2]
