"""Matrix times vector in parts: push or pull, decided once for all parts.

Pull: the owners *share* what the rows of others look at, then every part gathers its rows. Push: every part scatters
from its own entries into its columns, ghosts included; the partial results go to their owners (*reduce*), where they
are combined under mask and accumulator by a product with the `homes` of the border. So masks, accumulators,
``replace`` and ``changed=`` mean the same as on one device, since it is the one-device product that does the last step.
"""

from __future__ import annotations

import math
from typing import Any

from semirings import binary
from semirings._monoids import TypedSemiring
from spgraph.block import VectorBlock
from spgraph.engine import vector_products
from spgraph.engine.mask import Mask
from spgraph.engine.parts.align import mask_pieces
from spgraph.exchange.border import border_of
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.vector_parts import VectorParts

__all__ = ["mxv"]


def mxv(
    out: VectorParts,
    mask: Mask | None,
    accum,
    replace: bool,
    A: MatrixParts,
    transposed: bool,
    u: VectorParts,
    semiring,
    *,
    flipped: bool = False,
    changed: VectorParts | None = None,
    changed_if: tuple | None = None,
    direction: str | None = None,
) -> None:
    inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
    if u is out and inner is not outer:
        u = u.copy()
    u.rehome(inner)
    out.rehome(outer)
    if mask is not None:
        if mask.block is u and inner is not outer:
            mask = mask._replace(block=mask.block.copy())
        mask.block.rehome(outer)
    masks = mask_pieces(mask, len(out.pieces))
    notes: list[Any] = [None] * len(out.pieces)
    if changed is not None:
        notes = out.empty_pieces(out.dtype)
    how: dict[str, Any] = {"flipped": flipped, "changed_if": changed_if}
    if _pushes(out, mask, A, transposed, u, semiring, direction):
        border = border_of(A.oriented(not transposed))
        partial = []
        for (device, piece), block in zip(u.on_each(), border.blocks):
            T = VectorBlock(block.ncols, semiring.monoid.type.np_type, block.cols, device)
            if piece.nvals:
                vector_products.mxv(
                    T, None, None, False, block, True, piece, semiring, flipped=flipped, direction="push"
                )
            partial.append(T)
        arrived = border.reduce(partial)
        combine = TypedSemiring(semiring.parent, semiring.monoid, binary.first[semiring.monoid.type])
        how["flipped"] = True
        stays = _stays(out, mask, accum, replace)
        for (_, piece), home, m, piece_mask, note in zip(out.on_each(), border.homes, arrived, masks, notes):
            if m.nvals or not stays:
                vector_products.mxv(piece, piece_mask, accum, replace, home, True, m, combine, changed=note,
                                    direction="push", **how)
    else:
        border = border_of(A.oriented(transposed))
        looked_at = border.share(u)
        for (_, piece), block, ext, piece_mask, note in zip(out.on_each(), border.blocks, looked_at, masks, notes):
            vector_products.mxv(
                piece, piece_mask, accum, replace, block, False, ext, semiring, changed=note, direction="pull", **how
            )
    out.stay()
    if changed is not None:
        changed.become(out.size, out.dtype)
        changed.layout = outer
        changed.pieces = notes
        changed.stay()


def _stays(out: VectorParts, mask: Mask | None, accum, replace: bool) -> bool:
    """Whether nothing changes where nothing arrives."""
    if accum is not None:
        return mask is None or not replace
    return mask is not None and mask.block is out and mask.complement and mask.structural and not replace


def _pushes(
    out: VectorParts,
    mask: Mask | None,
    A: MatrixParts,
    transposed: bool,
    u: VectorParts,
    semiring,
    direction: str | None,
) -> bool:
    """Whether this product is pushed: the same answer on all parts."""
    allowed = out.size
    if mask is not None and mask.structural:
        allowed = out.size - mask.block.nvals if mask.complement else mask.block.nvals
    monoid = semiring.monoid
    stops = bool(monoid.terminal_any or (monoid.type.np_type.kind == "b" and monoid.terminal is not None))
    on_host = A.device.devices[A.device.mine[0]].on_host
    limit = vector_products.edges_limit(A, transposed, allowed, stops, u, on_host, direction)
    if limit is None:
        return False
    if limit == math.inf:
        return True
    edges = u.nvals * (A.nvals / max(u.size, 1))
    return edges <= limit
