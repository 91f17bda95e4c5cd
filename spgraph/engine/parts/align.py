"""Bring the operands of an operation into one layout."""

from __future__ import annotations

from typing import Any

from spgraph.engine.mask import Mask

__all__ = ["align", "mask_block", "mask_pieces"]


def align(*operands: Any) -> None:
    """All vectors (of one size; None is left out) into the layout of the first that has entries in one of its own."""
    vectors = [operand for operand in operands if operand is not None]
    layouts = {id(vector.layout): vector.layout for vector in vectors}
    if len(layouts) == 1:
        return
    even = vectors[0].device.even_layout(vectors[0].size)
    layout = next((vector.layout for vector in vectors if vector.layout is not even and vector.nvals), None)
    if layout is None:
        layout = next((vector.layout for vector in vectors if vector.layout is not even), even)
    for vector in vectors:
        vector.rehome(layout)


def mask_pieces(mask: Mask | None, count: int) -> list[Any]:
    """The mask of each part."""
    if mask is None:
        return [None] * count
    return [mask._replace(block=piece) for piece in mask.block.pieces]


def mask_block(mask: Mask | None) -> Any:
    """The vector or matrix of a mask, or None."""
    return None if mask is None else mask.block
