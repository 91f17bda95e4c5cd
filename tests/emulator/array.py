"""The array type of the imitation of CuPy (`emulator.xp`): an ndarray that refuses what `cupy.ndarray` refuses.

It holds a NumPy array and is none, so that every use that nobody thought of fails as it would with CuPy:
``np.asarray(x)``, ``np.add(x, y)``, ``isinstance(x, np.ndarray)``, mixing with NumPy arrays. Where CuPy does something
that is surely a mistake (a copy to the device in secret, an index out of range that wraps, a result that depends
on the order of threads), this raises `Undefined`.

Data encoding: `_host` is the memory of the "device". New memory holds garbage and begins at a multiple of 256 bytes,
with room up to the next multiple of 8, as kernels may count on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Counts", "OutOfMemoryError", "Undefined", "counts", "ndarray", "pool"]

GARBAGE = 0xA5
HOST, CUDA = 1, 2  # DLPack's numbers


class Undefined(AssertionError):
    """What CuPy would do without an error, and nobody wants."""


class Counts:
    """What waits for the device or crosses the bus."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self.synchronizations = 0
        self.to_host = 0
        self.to_device = 0


counts = Counts()


class OutOfMemoryError(MemoryError):
    """What CuPy's pool raises."""

    def __init__(self, size: int, total: int, limit: int):
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes, limit set to: "
            f"{limit:,} bytes)."
        )


class Pool:
    """Counts the memory in use, and refuses more on request.

    Attributes
    ----------
    used, peak : int
        Bytes now, and at most since `peak` was set.
    limit : int
    fail_at : int or None
        Which allocation from now on fails, for tests of what is left behind.
    """

    TOTAL = 1 << 33

    def __init__(self) -> None:
        self.used = self.peak = self.allocations = 0
        self.limit = self.TOTAL
        self.fail_at: int | None = None

    def take(self, size: int) -> None:
        """Memory for an array."""
        if not size:
            return  # nothing is asked of CUDA
        self.allocations += 1
        fails = self.used + size > self.limit
        if self.fail_at is not None:
            self.fail_at -= 1
            if self.fail_at <= 0:
                fails, self.fail_at = True, None
        if fails:
            raise OutOfMemoryError(size, self.used, self.limit)
        self.used += size
        self.peak = max(self.peak, self.used)


pool = Pool()


class Owner:
    """What an array and its views hold on to: so many bytes of the pool."""

    __slots__ = ("size",)

    def __init__(self, size: int):
        self.size = 0
        pool.take(size)
        self.size = size

    def __del__(self) -> None:
        pool.used -= self.size


def allocate(shape: Any, dtype: Any) -> np.ndarray:
    """New memory of the device: garbage, aligned, padded."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise ValueError(f"Unsupported dtype {dtype}")
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    size = 1
    for length in shape:
        if length < 0:
            raise ValueError("negative dimensions are not allowed")
        size *= int(length)
    nbytes = size * dtype.itemsize
    if pool.used + nbytes > pool.limit:
        raise OutOfMemoryError(nbytes, pool.used, pool.limit)
    memory = np.empty(-(-nbytes // 8) * 8 + 256, np.uint8)
    memory.fill(GARBAGE)
    offset = -memory.ctypes.data % 256
    return memory[offset : offset + nbytes].view(dtype).reshape(shape)


def own(host: np.ndarray) -> ndarray:
    """A copy of host values as an array of the device."""
    memory = allocate(host.shape, host.dtype)
    memory[...] = host
    return wrap(memory)


def wrap(result: Any, parent: ndarray | None = None) -> Any:
    """NumPy's result as CuPy would return it: arrays of the device, of no dimension where NumPy has scalars.

    The result is new memory, or a view of the array `parent`.
    """
    if isinstance(result, np.ndarray):
        new = object.__new__(ndarray)
        new._host = result
        new._owner = Owner(result.nbytes) if parent is None else parent._owner
        new.base = None if parent is None else parent if parent.base is None else parent.base
        return new
    if isinstance(result, np.generic):
        return wrap(np.array(result))
    if isinstance(result, (tuple, list)):
        return type(result)(wrap(item) for item in result)
    return result


class Foreign:
    """Memory of another library, as NumPy takes it."""

    def __init__(self, owner: Any):
        self.owner = owner

    @property
    def __array_interface__(self) -> dict:
        given = self.owner.__cuda_array_interface__
        return {name: given.get(name) for name in ("shape", "typestr", "data", "strides", "version")}

    def __dlpack__(self, *, max_version: Any = None, **_keywords: Any) -> Any:
        return self.owner.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST, 0


def array_of(x: Any, what: str = "argument") -> np.ndarray:
    """The memory of an argument that must be an array of the device."""
    if type(x) is not ndarray:
        raise TypeError(f"Unsupported type {type(x)} for {what}: wanted an array of the device")
    return x._host


def operand(x: Any) -> Any:
    """The memory of an array, or a scalar: what CuPy's functions take element by element."""
    if type(x) is ndarray:
        return x._host
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return x
    raise TypeError(f"Unsupported type {type(x)}")


class Memory:
    """What ``array.data`` is."""

    def __init__(self, ptr: int):
        self.ptr = ptr


class Flags:
    """What ``array.flags`` is."""

    def __init__(self, flags: Any):
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())


class ndarray:
    """An array in the memory of the emulated device."""

    __slots__ = ("__weakref__", "_host", "_owner", "base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    _host: np.ndarray
    _owner: Owner
    base: ndarray | None

    def __init__(self, shape: Any, dtype: Any = float):
        self._host = allocate(shape, dtype)
        self._owner = Owner(self._host.nbytes)
        self.base = None

    # ---- attributes ----------------------------------------------------------------
    dtype = property(lambda self: self._host.dtype)
    size = property(lambda self: self._host.size)
    ndim = property(lambda self: self._host.ndim)
    strides = property(lambda self: self._host.strides)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    flags = property(lambda self: Flags(self._host.flags))
    data = property(lambda self: Memory(self._host.__array_interface__["data"][0]))
    T = property(lambda self: self._view(self._host.T))

    def _view(self, host: np.ndarray) -> ndarray:
        return wrap(host, self if np.may_share_memory(host, self._host) else None)

    @property
    def shape(self) -> tuple:
        return self._host.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._host = self._host.reshape(shape, copy=False)

    # ---- what crosses to the host -----------------------------------------------------
    def get(self, stream: Any = None, order: str = "C", out: Any = None) -> np.ndarray:
        counts.to_host += 1
        counts.synchronizations += 1
        if out is not None:
            out[...] = self._host
            return out
        return self._host.copy(order)

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        if type(arr) is not np.ndarray or arr.dtype != self.dtype or arr.shape != self.shape:
            raise TypeError("set: wanted a NumPy array of the same type and shape")
        counts.to_device += 1
        self._host[...] = arr

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.get().item()

    def tolist(self) -> list:
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self.get().tobytes(order)

    def __bool__(self) -> bool:
        return bool(self.get()) if self.size == 1 else bool(self._host)  # the latter raises

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, spec: str) -> str:
        return format(self.get(), spec)

    def __reduce__(self) -> tuple:
        return own, (self.get(),)

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        raise Undefined("iterating over an array of the device: each element is a kernel of its own")

    def __array_namespace__(self, api_version: Any = None) -> Any:
        from emulator import xp

        return xp

    # ---- what other libraries see -----------------------------------------------------------
    @property
    def __cuda_array_interface__(self) -> dict:
        strides = None if self._host.flags.c_contiguous else self._host.strides
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (self.data.ptr, False),
            "strides": strides,
            "stream": 1,
            "version": 3,
        }

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return self._host.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    # ---- what CuPy refuses ----------------------------------------------------------------
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy "
            "array explicitly."
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"np.{function.__name__} of an array of the device: say xp.{function.__name__}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Only ``numpy_scalar + array``, which Python hands to NumPy first."""
        if method != "__call__" or kwargs or not isinstance(inputs[0], np.generic):
            raise TypeError(f"np.{ufunc.__name__} of an array of the device: say xp.{ufunc.__name__}")
        return apply(ufunc, *inputs)

    # ---- indexing ------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> ndarray:
        index, kind = prepared(key, self._host)
        if kind == "mask":
            counts.synchronizations += 1
        return wrap(self._host[index], None if kind else self)

    def __setitem__(self, key: Any, value: Any) -> None:
        index, kind = prepared(key, self._host)
        if isinstance(value, (np.ndarray, list, tuple)):
            raise Undefined(f"x[...] = {type(value).__name__}: a copy to the device in secret")
        value = operand(value)
        if kind == "mask":
            counts.synchronizations += 1
        if kind == "list" and isinstance(value, np.ndarray) and value.size > 1:
            check_duplicates(self._host.shape, index, value)
        with np.errstate(all="ignore"):
            self._host[index] = value

    # ---- methods ------------------------------------------------------------------------------
    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        if casting is not None or subok is not None:
            raise TypeError("casting and subok are not supported yet")
        with np.errstate(all="ignore"):
            if not copy and np.dtype(dtype) == self.dtype:
                return self
            return own(self._host.astype(dtype, order))

    def copy(self, order: str = "C") -> ndarray:
        return own(self._host)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def view(self, dtype: Any = None) -> ndarray:
        return self._view(self._host.view() if dtype is None else self._host.view(dtype))

    def fill(self, value: Any) -> None:
        self._host.fill(operand(value))

    def reshape(self, *shape: Any, order: str = "C") -> ndarray:
        return self._view(self._host.reshape(*shape, order=order))

    def ravel(self, order: str = "C") -> ndarray:
        return self._view(self._host.ravel(order))

    def flatten(self, order: str = "C") -> ndarray:
        return own(self._host.flatten(order))

    def transpose(self, *axes: Any) -> ndarray:
        return self._view(self._host.transpose(*axes))

    def squeeze(self, axis: Any = None) -> ndarray:
        return self._view(self._host.squeeze(axis))

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
        indices = operand(indices)
        check_range(indices, self.size if axis is None else self.shape[axis])
        return into(out, self._host.take(indices, axis))

    def repeat(self, repeats: Any, axis: Any = None) -> ndarray:
        if type(repeats) is ndarray:
            counts.synchronizations += 1
            repeats = repeats._host
        elif isinstance(repeats, np.ndarray):
            raise Undefined("repeat: counts in host memory are copied to the device in secret")
        return own(self._host.repeat(repeats, axis))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        check_kind(kind)
        self._host.sort(axis, kind="stable")

    def argsort(self, axis: int = -1, kind: Any = None) -> ndarray:
        check_kind(kind)
        return own(self._host.argsort(axis, kind="stable"))

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
        from emulator import xp

        return xp.searchsorted(self, v, side, sorter)

    def nonzero(self) -> tuple:
        counts.synchronizations += 1
        return wrap(self._host.nonzero())

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> ndarray:
        counts.synchronizations += 1
        return into(out, self._host.compress(array_of(condition), axis))

    def dot(self, b: ndarray, out: Any = None) -> ndarray:
        return into(out, self._host.dot(array_of(b)))


def into(out: Any, result: Any) -> ndarray:
    """The result, written into `out` if there is one."""
    if out is None:
        return wrap(result)
    memory = array_of(out, "out")
    if memory.shape != np.shape(result):
        raise ValueError("Out shape is mismatched")
    memory[...] = result
    return out


def apply(ufunc: Any, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
    """A ufunc on arrays of the device and scalars."""
    if out is not None:
        kwargs["out"] = array_of(out[0] if isinstance(out, tuple) else out, "out")
    with np.errstate(all="ignore"):
        result = ufunc(*(operand(x) for x in inputs), **kwargs)
    return wrap(result) if out is None else out


def check_kind(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")


def check_range(indices: Any, size: int) -> None:
    """CuPy wraps indices out of range."""
    if np.size(indices) and (np.min(indices) < -size or np.max(indices) >= size):
        raise Undefined(f"an index of {np.min(indices)}..{np.max(indices)} in an axis of {size}: CuPy wraps it")


def prepared(key: Any, host: np.ndarray) -> tuple[Any, str]:
    """An index for NumPy, with an ellipsis, so that it gives arrays only; its kind: "" (a view), "list" or "mask"."""
    parts, kind, axis, ellipsis = [], "", 0, False
    for part in key if isinstance(key, tuple) else (key,):
        if type(part) is ndarray:
            memory = part._host
            if memory.dtype.kind == "b":
                kind = "mask"
            elif memory.dtype.kind in "iu":
                kind = kind or "list"
                if not ellipsis:
                    check_range(memory, host.shape[axis])
            else:
                raise IndexError(f"arrays used as indices must be of integer or boolean type, not {memory.dtype}")
            axis += memory.ndim if memory.dtype.kind == "b" else 1
            parts.append(memory)
            continue
        if isinstance(part, (np.ndarray, list)):
            raise Undefined(f"x[{type(part).__name__}]: a copy to the device in secret")
        if isinstance(part, slice) and any(type(end) is ndarray for end in (part.start, part.stop, part.step)):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        axis += part is not None
        ellipsis = ellipsis or part is Ellipsis
        parts.append(part)
    return tuple(parts) if ellipsis else (*parts, Ellipsis), kind


def check_duplicates(shape: tuple, index: Any, value: np.ndarray) -> None:
    """Which of several values for one place is stored last is for the threads to say."""
    places = np.arange(int(np.prod(shape))).reshape(shape)[index]
    values = np.broadcast_to(value, places.shape).ravel()
    order = np.argsort(places.ravel(), kind="stable")
    places, values = places.ravel()[order], values[order]
    differ = (places[1:] == places[:-1]) & (values[1:] != values[:-1])
    if differ.any():
        raise Undefined("x[indices] = values: several values for one place, and CuPy does not say which stays")


def _binary(name: str, ufunc: Any, reflected: bool = True) -> None:
    """Defines ``x + y``, ``y + x`` and ``x += y``."""

    def plain(self: ndarray, other: Any) -> Any:
        return apply(ufunc, self, other)

    def swapped(self: ndarray, other: Any) -> Any:
        return apply(ufunc, other, self)

    def in_place(self: ndarray, other: Any) -> Any:
        return apply(ufunc, self, other, out=self, casting="same_kind")

    setattr(ndarray, f"__{name}__", plain)
    if reflected:
        setattr(ndarray, f"__r{name}__", swapped)
        setattr(ndarray, f"__i{name}__", in_place)


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}.items():
    _binary(_name, _ufunc)
for _name, _ufunc in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    _binary(_name, _ufunc, reflected=False)
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(ndarray, f"__{_name}__", lambda self, ufunc=_ufunc: apply(ufunc, self))


def _reduction(name: str, *parameters: str) -> None:
    """Defines a method that reduces, with the parameters that CuPy's has."""

    def method(self: ndarray, axis: Any = None, *positional: Any, **keywords: Any) -> Any:
        keywords |= dict(zip(parameters, positional, strict=False))
        unknown = keywords.keys() - set(parameters)
        if unknown or len(positional) > len(parameters):
            raise TypeError(f"{name}() got an unexpected argument {sorted(unknown)}")
        out = keywords.pop("out", None)
        if name in ("argmax", "argmin") and keywords.pop("dtype", None) is not None:  # NumPy's has none
            raise TypeError(f"{name}(dtype=...) is not imitated")
        with np.errstate(all="ignore"):
            return into(out, getattr(self._host, name)(axis, **keywords))

    setattr(ndarray, name, method)


for _name in ("sum", "prod", "mean"):
    _reduction(_name, "dtype", "out", "keepdims")
for _name in ("max", "min", "all", "any"):
    _reduction(_name, "out", "keepdims")
for _name in ("argmax", "argmin"):
    _reduction(_name, "dtype", "out", "keepdims")
for _name in ("cumsum", "cumprod"):
    _reduction(_name, "dtype", "out")
