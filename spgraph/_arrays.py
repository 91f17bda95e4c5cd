"""Arrays of other libraries: CuPy, PyTorch and whatever speaks DLPack or ``__cuda_array_interface__``.

They are taken as they lie: without a copy where they are on the wanted device, else copied there once. A dtype
never changes on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue, NoDevice
from spgraph._base import RANK
from spgraph.context import HOST, Device

__all__ = ["given_array", "home_of", "together"]

CUDA = 2  # DLPack's numbers of devices
HOST_MEMORY = (1, 3, 11, 13)  # the CPU, pinned for CUDA, pinned for ROCm, managed by CUDA: NumPy reads them all


def given_array(value: Any, device: Device, function: str, argument: str) -> Any:
    """An array that a caller gave: NumPy's, or one of `device`; None if it is no array of another library.

    What lies on a GPU is brought to `device`. NumPy's arrays are not: the engine moves them when they are checked.
    """
    kind = type(value)
    if kind is np.ndarray or kind is list:
        return value if kind is np.ndarray else None
    if RANK.get(kind) is not None:
        return None
    if hasattr(value, "__cuda_array_interface__"):
        return _of_gpu(value, device, function, argument)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _of_dlpack(value, device, function, argument)
    return None


def home_of(array: Any, device: Device) -> Device:
    """`device` if an array from `given_array` lies there, HOST if it is NumPy's."""
    return HOST if device.on_host or type(array) is np.ndarray else device


def together(device: Device, *arrays: Any) -> tuple[Device, list]:
    """Arrays from `given_array` in one place: on `device` as soon as one lies there, else on the host."""
    if all(home_of(array, device).on_host for array in arrays):
        return HOST, list(arrays)
    return device, [array if array.ndim == 0 else device.to_device(array) for array in arrays]


def _of_gpu(value: Any, device: Device, function: str, argument: str) -> Any:
    if not hasattr(value, "get"):  # not CuPy's own, nor one that imitates it
        value = _cupy(device, function, argument).asarray(value)
    if device.on_host:
        return value.get()
    return device.xp.ascontiguousarray(device.to_device(value))  # kernels know no strides


def _of_dlpack(value: Any, device: Device, function: str, argument: str) -> Any:
    where, _ = value.__dlpack_device__()
    if where == CUDA:
        take = _cupy(device, function, argument).from_dlpack
    elif where in HOST_MEMORY:
        take = np.from_dlpack
    else:
        raise InvalidValue(f"{function}: {argument} are on a device of DLPack's kind {where}, wanted the CPU or CUDA")
    try:
        array = take(value)
    except (BufferError, RuntimeError, ValueError) as error:
        raise InvalidValue(f"{function}: {argument} can't be exported by DLPack: {error}") from None
    return _of_gpu(array, device, function, argument) if where == CUDA else array


def _cupy(device: Device, function: str, argument: str) -> Any:
    if not device.on_host:
        return device.xp
    try:
        import cupy
    except ImportError:
        raise NoDevice(
            f'{function}: {argument} are on a GPU, and CuPy, which could copy them, is not installed: pip install '
            '"cupy-cuda13x[ctk]", or give a copy in host memory'
        ) from None
    return cupy
