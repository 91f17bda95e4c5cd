"""A strict imitation of CuPy on host memory: the names that spgraph uses, with the parameters that CuPy has.

What is here exists in CuPy (a test compares); what CuPy refuses is refused (see `emulator.array`). `counts` counts what
waits for the device: ``.get()``, ``int()``, ``bool()``, and functions that must know a size first.
"""

from __future__ import annotations

from builtins import any as _any
from typing import Any

import numpy as np

from emulator.array import CUDA as _CUDA
from emulator.array import Foreign as _Foreign
from emulator.array import Undefined as _Undefined
from emulator.array import allocate as _allocate
from emulator.array import apply as _apply
from emulator.array import array_of as _array_of
from emulator.array import check_kind as _check_kind
from emulator.array import check_range as _check_range
from emulator.array import counts as _counts
from emulator.array import into as _into
from emulator.array import ndarray
from emulator.array import operand as _operand
from emulator.array import own as _own
from emulator.array import wrap as _wrap


# ---- to and from the host -------------------------------------------------------------
def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    """A copy in host memory."""
    return a.get(stream, order, out) if type(a) is ndarray else np.asarray(a, order=order)


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    """A new array from host values, or a copy."""
    if hasattr(obj, "__cuda_array_interface__"):
        obj = obj if type(obj) is ndarray else _wrap(np.asarray(_Foreign(obj)))
        host = obj._host
        if not copy and (dtype is None or np.dtype(dtype) == host.dtype) and host.ndim >= ndmin:
            return obj
    else:
        if isinstance(obj, (list, tuple)) and _any(type(item) is ndarray for item in obj):
            raise _Undefined("array([...]) of arrays of the device: stack or concatenate")
        _counts.to_device += 1
        host = np.asarray(obj)
    with np.errstate(all="ignore"):
        return _own(np.array(host, dtype, ndmin=ndmin))


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    """The array itself if it is on the device, else a copy there."""
    return array(a, dtype, copy=bool(copy))


def from_dlpack(array, *, device=None, copy=None):
    """The memory of another library's array on a GPU."""
    if array.__dlpack_device__()[0] != _CUDA:
        raise BufferError("CPU arrays are not directly supported by CuPy")
    host = np.from_dlpack(_Foreign(array))
    return _own(host) if copy else _wrap(host)


def asanyarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    """As `asarray`."""
    return array(a, dtype, copy=bool(copy))


def ascontiguousarray(a, dtype=None):
    """The array itself if it is contiguous, else a copy."""
    host = _array_of(a)
    if host.flags.c_contiguous and (dtype is None or np.dtype(dtype) == host.dtype):
        return a
    return _own(np.ascontiguousarray(host, dtype))


# ---- making arrays ------------------------------------------------------------------------
def empty(shape, dtype=float, order="C"):
    """An array of garbage."""
    return ndarray(shape, dtype)


def zeros(shape, dtype=float, order="C"):
    """An array of zeros."""
    return full(shape, 0, dtype)


def ones(shape, dtype=float, order="C"):
    """An array of ones."""
    return full(shape, 1, dtype)


def full(shape, fill_value, dtype=None, order="C"):
    """An array of one value, a scalar or an array of the device."""
    if isinstance(fill_value, np.ndarray):
        if fill_value.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
        value = fill_value.reshape(())
    else:
        value = _operand(fill_value)
    if dtype is None:
        dtype = np.asarray(value).dtype
    new = _allocate(shape, dtype)
    with np.errstate(all="ignore"):
        new[...] = value
    if new.dtype.kind == "f" and new.size and new.flat[0] == 0:
        new[...] = 0  # CuPy clears the memory, so that -0.0 becomes 0.0
    return _wrap(new)


def empty_like(prototype, dtype=None, order="K", subok=None, shape=None):
    """An array of garbage with the shape and type of another."""
    host = _array_of(prototype)
    return ndarray(host.shape if shape is None else shape, host.dtype if dtype is None else dtype)


def zeros_like(a, dtype=None, order="K", subok=None, shape=None):
    """Zeros with the shape and type of another array."""
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(a, dtype=None, order="K", subok=None, shape=None):
    """Ones with the shape and type of another array."""
    return full_like(a, 1, dtype, order, subok, shape)


def full_like(a, fill_value, dtype=None, order="K", subok=None, shape=None):
    """One value with the shape and type of another array."""
    host = _array_of(a)
    return full(host.shape if shape is None else shape, fill_value, host.dtype if dtype is None else dtype)


def arange(start, stop=None, step=1, dtype=None):
    """The numbers of a range; its ends are numbers of the host."""
    for end in (start, stop, step):
        if type(end) is ndarray:
            raise _Undefined("arange: an array of the device as an end waits for the device")
    return _own(np.arange(start, stop, step, dtype) if stop is not None else np.arange(0, start, step, dtype))


# ---- shape and place ------------------------------------------------------------------------
def _arrays(arrays: Any) -> list:
    return [_array_of(one, "concatenate") for one in arrays]


def concatenate(tup, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays one after another."""
    hosts = _arrays(tup)
    if _any(host.ndim == 0 for host in hosts):
        raise TypeError("zero-dimensional arrays cannot be concatenated")
    result = np.concatenate(hosts, axis, dtype=dtype, casting=casting)
    return _own(result) if out is None else _into(out, result)


def stack(tup, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays along a new axis."""
    return _into(out, np.stack(_arrays(tup), axis, dtype=dtype, casting=casting))


def hstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays side by side."""
    return _wrap(np.hstack(_arrays(tup), dtype=dtype, casting=casting))


def vstack(tup, *, dtype=None, casting="same_kind"):
    """Arrays one above another."""
    return _wrap(np.vstack(_arrays(tup), dtype=dtype, casting=casting))


def column_stack(tup):
    """Arrays as columns."""
    return _wrap(np.column_stack(_arrays(tup)))


def tile(A, reps):
    """An array again and again."""
    return _own(np.tile(_array_of(A), reps))


def repeat(a, repeats, axis=None):
    """Each element again and again."""
    _array_of(a)
    return a.repeat(repeats, axis)


def append(arr, values, axis=None):
    """An array and what follows it."""
    return _wrap(np.append(asarray(arr)._host, asarray(values)._host, axis))


def delete(arr, indices, axis=None):
    """An array without some elements."""
    host = _array_of(arr)
    if isinstance(indices, np.ndarray):
        raise _Undefined("delete: indices in host memory are copied to the device in secret")
    if type(indices) is ndarray:
        indices = indices._host
    _counts.synchronizations += 1
    return _own(np.delete(host, indices, axis))


def flip(a, axis=None):
    """The elements in opposite order."""
    return _wrap(np.flip(_array_of(a), axis), a)


def roll(a, shift, axis=None):
    """The elements moved on, the last ones to the front."""
    return _own(np.roll(_array_of(a), shift, axis))


def broadcast_to(array, shape):
    """A view of another shape."""
    return _wrap(np.broadcast_to(_array_of(array), shape), array)


def atleast_1d(*arys):
    """Arrays of one dimension at least."""
    return _wrap(np.atleast_1d(*(_array_of(one) for one in arys)))


def ravel(a, order="C"):
    """One dimension."""
    _array_of(a)
    return a.ravel(order)


def reshape(a, newshape, order="C", *, copy=None):
    """Another shape."""
    _array_of(a)
    return a.reshape(newshape, order=order)


def squeeze(a, axis=None):
    """Without axes of length 1."""
    _array_of(a)
    return a.squeeze(axis)


def transpose(a, axes=None):
    """Axes in another order."""
    _array_of(a)
    return a.transpose(axes)


def copyto(dst, src, casting="same_kind", where=None):
    """dst[...] = src."""
    np.copyto(_array_of(dst), _operand(src), casting, True if where is None else _array_of(where))


def shape(a):
    """The lengths of the axes."""
    return a.shape


def ndim(a):
    """The number of axes."""
    return a.ndim


def size(a, axis=None):
    """The number of elements."""
    return _array_of(a).size if axis is None else a.shape[axis]


# ---- sorting and searching ------------------------------------------------------------------
def sort(a, axis=-1, kind=None):
    """A sorted copy."""
    _check_kind(kind)
    return _own(np.sort(_array_of(a), axis, kind="stable"))


def argsort(a, axis=-1, kind=None):
    """The order that sorts, stable."""
    _array_of(a)
    return a.argsort(axis, kind)


def lexsort(keys):
    """The order that sorts by several keys, the rows of one array; the last row counts most."""
    host = _array_of(keys, "keys (one array of two dimensions)")
    if host.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    return _own(np.lexsort(host))


def searchsorted(a, v, side="left", sorter=None):
    """Where values would be inserted."""
    if type(a) is not ndarray:
        raise NotImplementedError("Only int or ndarray are supported for a")
    if type(v) is not ndarray and type(v) not in (int, float, complex, bool):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    values = v._host if type(v) is ndarray else np.asarray(v)
    if {a.dtype.kind, values.dtype.kind} == {"i", "u"}:
        raise _Undefined(f"searchsorted of {values.dtype} in {a.dtype}: C++ compares them as unsigned")
    return _own(np.asarray(np.searchsorted(a._host, values, side, None if sorter is None else _array_of(sorter))))


def nonzero(a):
    """Where an array is not zero; waits for the device."""
    _array_of(a)
    return a.nonzero()


def flatnonzero(a):
    """The same for all axes as one."""
    _counts.synchronizations += 1
    return _own(np.flatnonzero(_array_of(a)))


def argwhere(a):
    """The same as rows."""
    _counts.synchronizations += 1
    return _own(np.argwhere(_array_of(a)))


def count_nonzero(a, axis=None):
    """How many are not zero, as an array."""
    return _wrap(np.asarray(np.count_nonzero(_array_of(a), axis)))


def where(condition, x=None, y=None):
    """x where the condition holds, else y; with the condition alone, `nonzero`."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return nonzero(condition)
    return _own(np.where(_array_of(condition), _operand(x), _operand(y)))


def take(a, indices, axis=None, out=None):
    """Elements by index."""
    _array_of(a)
    return a.take(indices, axis, out)


def compress(condition, a, axis=None, out=None):
    """Elements where a condition holds."""
    _array_of(a)
    return a.compress(condition, axis, out)


def put(a, ind, v, mode="wrap"):
    """a[ind] = v on the flattened array."""
    _check_range(_array_of(ind), a.size)
    a.ravel()[ind] = v


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    """The different elements, ascending; waits for the device."""
    _counts.synchronizations += 1
    return _wrap(np.unique(_array_of(ar), return_index, return_inverse, return_counts, axis, equal_nan=equal_nan))


def isin(element, test_elements, assume_unique=False, invert=False):
    """Which elements are among others."""
    return _own(np.isin(_array_of(element), _array_of(test_elements), invert=invert))


def packbits(a, axis=None, bitorder="big"):
    """Eight Booleans to a byte."""
    if axis is not None or _array_of(a).dtype.kind not in "biu":
        raise NotImplementedError("packbits: Booleans or integers, no axis")
    return _own(np.packbits(_array_of(a), bitorder=bitorder))


def unpackbits(a, axis=None, bitorder="big"):
    """The bits of bytes."""
    if axis is not None or _array_of(a).dtype != np.uint8:
        raise NotImplementedError("unpackbits: uint8, no axis")
    return _own(np.unpackbits(_array_of(a), bitorder=bitorder))


def setdiff1d(ar1, ar2, assume_unique=False):
    """The elements of one array that another lacks; waits for the device."""
    _counts.synchronizations += 1
    return _own(np.setdiff1d(_array_of(ar1), _array_of(ar2), assume_unique))


def intersect1d(arr1, arr2, assume_unique=False, return_indices=False):
    """The elements that both have; waits for the device."""
    _counts.synchronizations += 1
    return _wrap(np.intersect1d(_array_of(arr1), _array_of(arr2), assume_unique, return_indices))


def union1d(arr1, arr2):
    """The elements that either has; waits for the device."""
    _counts.synchronizations += 1
    return _own(np.union1d(_array_of(arr1), _array_of(arr2)))


def bincount(x, weights=None, minlength=None):
    """How often each number stands; waits for the device."""
    host = _array_of(x)
    if host.dtype.kind == "f":
        raise TypeError("x must be int array")
    _counts.synchronizations += 2
    weights = None if weights is None else _array_of(weights)
    return _own(np.bincount(host.astype(np.int64), weights, minlength or 0))


# ---- reducing ------------------------------------------------------------------------------------
def all(a, axis=None, out=None, keepdims=False):
    """Whether all hold, as an array."""
    _array_of(a)
    return a.all(axis, out, keepdims)


def any(a, axis=None, out=None, keepdims=False):
    """Whether any holds, as an array."""
    _array_of(a)
    return a.any(axis, out, keepdims)


def sum(a, axis=None, dtype=None, out=None, keepdims=False):
    """The sum, as an array."""
    _array_of(a)
    return a.sum(axis, dtype, out, keepdims)


def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """The product, as an array."""
    _array_of(a)
    return a.prod(axis, dtype, out, keepdims)


def mean(a, axis=None, dtype=None, out=None, keepdims=False):
    """The mean, as an array."""
    _array_of(a)
    return a.mean(axis, dtype, out, keepdims)


def max(a, axis=None, out=None, keepdims=False):
    """The largest, as an array."""
    _array_of(a)
    return a.max(axis, out, keepdims)


def min(a, axis=None, out=None, keepdims=False):
    """The smallest, as an array."""
    _array_of(a)
    return a.min(axis, out, keepdims)


amax, amin = max, min


def argmax(a, axis=None, dtype=None, out=None, keepdims=False):
    """Where the largest stands, as an array."""
    _array_of(a)
    return a.argmax(axis, out=out, keepdims=keepdims)


def nanargmax(a, axis=None, dtype=None, out=None, keepdims=False):
    """Where the largest that is a number stands, as an array."""
    return _wrap(np.asarray(np.nanargmax(_array_of(a), axis, out, keepdims=keepdims)))


def nanargmin(a, axis=None, dtype=None, out=None, keepdims=False):
    """Where the smallest that is a number stands, as an array."""
    return _wrap(np.asarray(np.nanargmin(_array_of(a), axis, out, keepdims=keepdims)))


def argmin(a, axis=None, dtype=None, out=None, keepdims=False):
    """Where the smallest stands, as an array."""
    _array_of(a)
    return a.argmin(axis, out=out, keepdims=keepdims)


def cumsum(a, axis=None, dtype=None, out=None):
    """Running sums."""
    _array_of(a)
    return a.cumsum(axis, dtype, out)


def cumprod(a, axis=None, dtype=None, out=None):
    """Running products."""
    _array_of(a)
    return a.cumprod(axis, dtype, out)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours."""
    given = {name: _operand(x) for name, x in (("prepend", prepend), ("append", append)) if x is not None}
    return _own(np.diff(_array_of(a), n, axis, **given))


def clip(a, a_min, a_max, out=None):
    """Values within limits."""
    limits = [None if limit is None else _operand(limit) for limit in (a_min, a_max)]
    return _into(out, np.clip(_array_of(a), *limits))


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays are equal, as an array."""
    return _wrap(np.array(np.array_equal(_array_of(a1), _array_of(a2), equal_nan)))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements are about equal."""
    return _wrap(np.asarray(np.isclose(_operand(a), _operand(b), rtol, atol, equal_nan)))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are about equal, as an array."""
    return _wrap(np.array(np.allclose(_operand(a), _operand(b), rtol, atol, equal_nan)))


def outer(a, b, out=None):
    """All products of two vectors."""
    return _into(out, np.outer(_array_of(a), _array_of(b)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Numbers for what is none."""
    return _wrap(np.nan_to_num(_array_of(x), copy, nan, posinf, neginf))


def result_type(*arrays_and_dtypes):
    """The type that all fit into."""
    return np.result_type(*(x._host if type(x) is ndarray else x for x in arrays_and_dtypes))


def may_share_memory(a, b, max_work=None):
    """Whether two arrays may overlap."""
    return np.may_share_memory(_array_of(a), _array_of(b))


def shares_memory(a, b, max_work=None):
    """Whether two arrays overlap."""
    return np.shares_memory(_array_of(a), _array_of(b))


# ---- element by element ------------------------------------------------------------------------------
class ufunc:
    """A function that works element by element, on arrays of the device and scalars."""

    _SCATTER_ADD = ("int32", "float16", "float32", "float64", "uint32", "uint64")
    _SCATTER_MAX = ("int32", "float32", "float64", "uint32", "uint64")

    def __init__(self, function: Any):
        self._function = function
        self.name, self.nin, self.nout = function.__name__, function.nin, function.nout
        self.__name__ = function.__name__

    def __call__(self, *args: Any, out: Any = None, casting: str = "same_kind", dtype: Any = None) -> Any:
        args, after = args[: self.nin], args[self.nin :]
        return _apply(self._function, *args, out=after[0] if after else out, casting=casting, dtype=dtype)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        """All pairs."""
        return _wrap(self._function.outer(_operand(A), _operand(B), **kwargs))

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Only sums and products, as in CuPy."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        return _into(out, self._function.reduce(_array_of(array), axis, dtype, keepdims=keepdims))

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Only running sums and products, as in CuPy."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        return _into(out, self._function.accumulate(_array_of(array), axis, dtype))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """a[indices] = f(a[indices], b), one after another; some functions and types only, as in CuPy."""
        types = {"add": self._SCATTER_ADD, "maximum": self._SCATTER_MAX, "minimum": self._SCATTER_MAX}.get(self.name)
        if types is None:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        host, places = _array_of(a), _array_of(indices)
        if host.dtype.name not in types:
            raise TypeError(f"{self.name}.at only supports {', '.join(types)} as data type")
        _check_range(places, host.size)
        self._function.at(host, places, _operand(b))


_UFUNCS = (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod power negative positive absolute sign "
    "maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal logical_and logical_or "
    "logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert bitwise_not left_shift right_shift isnan isinf "
    "isfinite signbit copysign nextafter rint floor ceil trunc sqrt cbrt square reciprocal exp exp2 expm1 log log2 "
    "log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh "
    "hypot degrees radians deg2rad rad2deg gcd lcm ldexp conjugate conj float_power divmod fabs abs"
)
_OF_NUMPY = (  # what CuPy takes from NumPy as it is
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp float32 float64 complex64 complex128 generic number "
    "integer signedinteger unsignedinteger inexact floating dtype iinfo finfo can_cast promote_types isscalar newaxis "
    "inf nan pi e euler_gamma"
)
for _name in _UFUNCS.split():
    globals()[_name] = ufunc(getattr(np, _name))
for _name in _OF_NUMPY.split():
    globals()[_name] = getattr(np, _name)
