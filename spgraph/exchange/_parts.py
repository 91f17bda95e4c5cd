"""What vectors and matrices in parts have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spgraph import _record

__all__ = ["Parts"]


class Parts:
    """What both have in common."""

    __slots__ = ()
    device: Any
    pieces: list
    dtype: np.dtype

    @property
    def nvals(self) -> int:
        """Number of entries in all parts."""
        return sum(self.device.transport.gather([piece.nvals for piece in self.pieces]))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in all parts."""
        return sum(self.device.transport.gather([piece.nbytes for piece in self.pieces]))

    def on_each(self) -> Iterator[tuple[Any, Any]]:
        """(device, piece) of the parts of this process, while the device is CUDA's current one."""
        group = self.device
        listener = _record.listener
        with group.own[0]:  # what was current is so again in the end
            if listener is None:
                for device, piece in zip(group.own, self.pieces):
                    device.use()
                    yield device, piece
                return
            try:
                for part, device, piece in zip(group.mine, group.own, self.pieces):
                    device.use()
                    listener.turn(part, device)
                    yield device, piece
            finally:
                listener.turn(None, None)
