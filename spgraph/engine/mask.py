"""Masks as kernels see them: a short code and two arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spgraph.block import VectorBlock
from spgraph.block.vector import UNMASKED
from spgraph.kernels.device import Device
from spgraph.partition import Partition

__all__ = ["MASK_CONSTS", "Mask", "MaskView", "view_mask"]

EMPTY_BITS = np.empty(0, np.uint8)
LONG_LIST = 16  # a list that is a mask becomes a bitmap itself if it has more than size / this entries


class Mask(NamedTuple):
    """Where an operation may write: the entries (or true entries) of `block`, or all others."""

    block: Any  # VectorBlock or MatrixBlock
    complement: bool
    structural: bool


class MaskView(NamedTuple):
    """A mask normalised for random access; `code` selects the kernel (see MASK_CONSTS)."""

    code: str
    present: Any
    values: Any
    allowed: int  # how many positions it allows, at most


NO_MASK = MaskView("", EMPTY_BITS, EMPTY_BITS, -1)


def _consts(complement=False, valued=False, full=False):
    return {"MASKED": True, "COMPLEMENT": complement, "VALUED": valued, "M_FULL": full}


MASK_CONSTS = {
    "": UNMASKED,
    "s": _consts(),
    "sc": _consts(complement=True),
    "v": _consts(valued=True),
    "vc": _consts(valued=True, complement=True),
    "f": _consts(valued=True, full=True),
    "fc": _consts(valued=True, full=True, complement=True),
}


def view_mask(mask: Mask | None, size: int, partition: Partition, *, copy: bool = False) -> MaskView:
    """Normalise a vector mask; `copy` protects it from writes to the block it comes from.

    A bitmap whose entries are still being counted is not waited for.
    """
    if mask is None:
        return NO_MASK
    block: VectorBlock = mask.block
    if block.partition is not partition:
        block.rehome(partition)
    structural = mask.structural
    if not structural and block.iso:
        if block.values[0]:
            structural = True
        else:
            return NO_MASK if mask.complement else _nothing(size, block.device)
    least, most = block.bounds()
    if structural and (least == size or most == 0):
        return NO_MASK if (least == size) != mask.complement else _nothing(size, block.device)
    allowed = most
    if mask.complement:
        allowed = size - least if structural else size
    if structural and block.format == "sparse" and block.nvals * LONG_LIST < size:  # a frontier goes on as a list
        return MaskView("sc" if mask.complement else "s", block.presence(), EMPTY_BITS, allowed)
    block.to_bitmap()
    code = ("s" if structural else "v" if block.format == "bitmap" else "f") + ("c" if mask.complement else "")
    present = EMPTY_BITS if block.present is None else block.present
    values = EMPTY_BITS if structural else block.values
    if copy:
        present, values = present.copy(), values.copy()
    return MaskView(code, present, values, allowed)


def _nothing(size: int, device: Device) -> MaskView:
    return MaskView("s", device.xp.zeros(size, np.uint8), EMPTY_BITS, 0)
