"""Matrix times vector in parts: push or pull, decided once for all parts.

The owners *share* what the rows of others look at: as a list for a push, as a bitmap for a pull. Then every part
multiplies its own rows, by the product of one device. So masks, accumulators, ``replace`` and ``changed=`` mean the
same as on one device.

Where the rows by columns are not at hand, and not worth making yet or too large, a push goes the other way: every part
scatters from its own entries into its columns, those of others included; the partial results go to their owners
(*reduce*), where a product with the `homes` of the border combines them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from semirings import binary
from semirings._monoids import TypedSemiring
from spgraph import _record, context
from spgraph._interrupts import held
from spgraph.block import VectorBlock
from spgraph.engine import vector_products
from spgraph.engine.mask import Mask
from spgraph.engine.parts.align import mask_pieces
from spgraph.engine.product import occupied_rows
from spgraph.exchange.border import Border, border_of, sharing_of
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.exchange.vector_parts import VectorParts
from spgraph.exchange.whole import everywhere

__all__ = ["mxv", "scattered_by"]


def _started_on_all(product: Callable) -> Callable:
    """An interrupt waits until all GPUs of this process have started the same."""

    @functools.wraps(product)
    def run(out: VectorParts, *args: Any, **how: Any) -> None:
        with held() if out.device.transport.direct else nullcontext():
            product(out, *args, **how)

    return run


@_started_on_all
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
    brief = _few_where_they_lie(A, transposed, u, semiring, changed_if, direction)
    limit = None if brief else _limit(out, mask, A, transposed, u, semiring, direction)
    border = None if limit is None else scattered_by(A, transposed)
    if border is not None:
        _scatter(border, out, mask, masks, accum, replace, u, semiring, notes, how)
    else:
        if brief:
            pushed, blocks, shared = False, A.pieces, everywhere(u)
        else:
            whole = limit is None and all(piece.format == "full" for piece in u.pieces)
            sharing = sharing_of(A.oriented(transposed), whole)
            blocks = sharing.blocks
            pushed, shared = _shared(sharing, u, limit)
        way = "push" if pushed else "pull"
        stays = pushed and _stays(out, mask, accum, replace)
        for (_, piece), block, ext, piece_mask, note in zip(out.on_each(), blocks, shared, masks, notes):
            if stays and not ext.nvals:  # nothing comes of nothing
                if _record.listener is not None:
                    _record.listener.product(way, block, True, ext)
                continue
            vector_products.mxv(
                piece, piece_mask, accum, replace, block, False, ext, semiring, changed=note, direction=way, **how
            )
    out.stay()
    if changed is not None:
        changed.size, changed.dtype, changed.layout, changed.pieces = out.size, out.dtype, outer, notes
        changed.stay()


def _few_where_they_lie(
    A: MatrixParts, transposed: bool, u: VectorParts, semiring, changed_if: tuple | None, direction: str | None
) -> bool:
    """Whether a full u is pulled by the first entries of rows (`engine.first_entries`), which then need no arrays.

    All of u goes everywhere as it is: to find out who looks at what takes longer. Where ids are asked for, rows and
    columns need them as arrays, which a border's blocks have.
    """
    group = A.device
    return bool(
        A.brief
        and not transposed
        and not semiring.binaryop.positional
        and (changed_if is None or not changed_if[0].positional)
        and group.transport.direct
        and group.may_send_all()
        and _record.listener is None
        and (direction or context.current().direction) != "push"
        and all(piece.most or not piece.nvals for piece in A.pieces)
        and all(piece.format == "full" or not piece.size for piece in u.pieces)
    )


def _limit(
    out: VectorParts,
    mask: Mask | None,
    A: MatrixParts,
    transposed: bool,
    u: VectorParts,
    semiring,
    direction: str | None,
) -> float | None:
    """Edges that a push may look at, None for a pull: the same answer on all parts."""
    allowed = out.size
    if mask is not None and mask.structural:
        allowed = out.size - mask.block.nvals if mask.complement else mask.block.nvals
    monoid = semiring.monoid
    stops = bool(monoid.terminal_any or (monoid.type.np_type.kind == "b" and monoid.terminal is not None))
    on_host = A.device.devices[A.device.mine[0]].on_host
    unvisited = mask is not None and mask.block is out and mask.complement and mask.structural
    limit = vector_products.edges_limit(A, transposed, allowed, stops, u, on_host, direction, unvisited,
                                        A.device.threads)
    if limit is None or limit == math.inf:
        return limit
    sources = max(occupied_rows(A, not transposed), 1)
    return None if u.nvals * (A.nvals / sources) > limit else limit


def scattered_by(A: MatrixParts, transposed: bool) -> Border | None:
    """The border of the rows that u selects, if a push should use these; None if those of the output."""
    group = A.device
    duplicate = group.duplicate()
    # between GPUs a superstep of messages costs what making the transpose does within few of them
    if transposed and not A.has_transpose and not (group.transport.direct and A.can_transpose):
        return border_of(A, duplicate)
    if sharing_of(A.oriented(transposed)).can_push:
        return None
    return border_of(A.oriented(not transposed), duplicate)


def _shared(border: Border, u: VectorParts, limit: float | None) -> tuple[bool, list[VectorBlock]]:
    """Whether to push, and what each part has of u. Only when a list is there its edges are known."""
    if limit is None:
        return False, border.share(u, False)
    shared = border.share(u, True)
    if limit == math.inf or border.edges(shared) <= limit:
        return True, shared
    for part, ext in zip(border.group.mine, shared):
        with border.group.devices[part]:
            ext.to_bitmap()
    return False, shared


def _scatter(
    border: Border,
    out: VectorParts,
    mask: Mask | None,
    masks: list,
    accum,
    replace: bool,
    u: VectorParts,
    semiring,
    notes: list,
    how: dict,
) -> None:
    """Push into columns, own ones and those of others, and combine at the owners."""
    partial = []
    for (device, piece), block in zip(u.on_each(), border.blocks):
        T = VectorBlock(block.ncols, semiring.monoid.type.np_type, block.cols, device)
        if piece.nvals:
            vector_products.mxv(
                T, None, None, False, block, True, piece, semiring, flipped=how["flipped"], direction="push"
            )
        partial.append(T)
    arrived = border.reduce(partial)
    combine = TypedSemiring(semiring.parent, semiring.monoid, binary.first[semiring.monoid.type])
    stays = _stays(out, mask, accum, replace)
    for (_, piece), home, m, piece_mask, note in zip(out.on_each(), border.homes, arrived, masks, notes):
        if m.nvals or not stays:
            vector_products.mxv(
                piece, piece_mask, accum, replace, home, True, m, combine, changed=note, direction="push",
                flipped=True, changed_if=how["changed_if"],
            )


def _stays(out: VectorParts, mask: Mask | None, accum, replace: bool) -> bool:
    """Whether nothing changes where nothing arrives."""
    if accum is not None:
        return mask is None or not replace
    return mask is not None and mask.block is out and mask.complement and mask.structural and not replace
