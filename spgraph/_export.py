"""A Vector as an array of its device, without a copy: CuPy, DLPack, ``__cuda_array_interface__``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semirings.dtypes import unify
from spgraph._convert import fit
from spgraph._elementwise import bound_scalar
from spgraph._room import making
from spgraph.partition import NATURAL

__all__ = ["VectorExport"]


class VectorExport:
    """What makes a Vector with an entry at every position readable by other libraries.

    They see the memory in which the entries lie, and must not write to it. What they see is what the Vector held
    then: writing to the Vector may change it or not.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # Vector has them
        _block: Any
        _device: Any
        dtype: Any

    def _array(self, function: str, fill_value: Any = None, copy: bool | None = None) -> Any:
        """One value per position, as an array of the device; the Vector's own memory where `copy` allows and it can be.

        Raises
        ------
        BufferError
            If positions have no entry and there is no `fill_value`, or without `copy` if the array must be made.
        """
        block = self._block
        missing = block.size - block.nvals
        if missing and fill_value is None:
            raise BufferError(f"{function}: {missing} positions have no entry; give fill_value, or assign to them")
        if not missing and not copy and not block.iso and block.format != "sparse" and block.partition.natural:
            block.downward = block.nonnegative = False  # who has the array may write all the same
            return block.values
        if copy is False:
            raise BufferError(f"{function}: the entries are not stored as one array, so that copy=False cannot be")
        with making(function, block.device):
            ids, values = block.coo()
            return self._filled(function, ids, values, fill_value) if missing else values

    def _filled(self, function, ids, values, fill_value):
        dtype = unify(bound_scalar(fill_value, function, "fill_value", self.dtype)[1], self.dtype)
        fill = fit(bound_scalar(fill_value, function, "fill_value")[0], dtype, function, "fill_value")
        array = self._device.filled(self._block.size, fill, dtype.np_type)
        array[ids] = values.astype(dtype.np_type, copy=False)
        return array

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """For ``numpy.from_dlpack(v)``, ``cupy.from_dlpack(v)``, ``torch.from_dlpack(v)``.

        Raises
        ------
        BufferError
            If positions have no entry.

        Examples
        --------
        >>> import numpy as np
        >>> import spgraph as sg
        >>> np.from_dlpack(sg.Vector.from_dense([1.5, 2.5]).to("cpu"))
        array([1.5, 2.5])
        """
        array = self._array("__dlpack__", copy=copy)
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's name of the device: (1, 0) for the CPU, (2, n) for GPU n."""
        return self._device.xp.empty(0, self.dtype.np_type).__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For ``cupy.asarray(v)``, ``torch.as_tensor(v)``, Numba; only on a GPU, and with an entry at every position.

        It tells an address and keeps nothing alive: it holds until the Vector is written to. DLPack has no such limit.
        """
        block = self._block
        if block.device.on_host or block.nvals != block.size:
            why = "it is on the CPU" if block.device.on_host else "not every position has an entry"
            raise AttributeError(f"a Vector has no __cuda_array_interface__ while {why}")
        with making("__cuda_array_interface__", block.device):
            block.to_bitmap().rehome(NATURAL).expand()
        block.downward = block.nonnegative = False
        return block.values.__cuda_array_interface__
