"""Matrix times vector: choose push or pull, and let the device's product run it.

``mxv`` computes C<M, replace> (accum)= A u over a semiring, or with the operands
of the multiplication exchanged (`flipped`: u A, a row vector). Both directions
see the same matrix: pull reads the CSR whose rows are the output, push the CSR
whose rows are u. Which of the two is at hand, and what the counts in
`engine.plan` say, decides; a caller can force it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semirings import binary
from spgraph import _record, context
from spgraph._interrupts import held
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.engine.mask import EMPTY_BITS, NO_MASK, Mask, MaskView, view_mask
from spgraph.engine.plan import CPU_COSTS, GPU_COSTS, of_copies, preset_limit, push_limit
from spgraph.engine.product import Filter, Product, cast_scalar, expected_edges, occupied_rows
from spgraph.engine.products_cpu import CpuProduct
from spgraph.engine.vector_elementwise import vector_select
from spgraph.engine.vector_write import differences
from spgraph.kernels.cpu._threads import threads

__all__ = ["edges_limit", "mxv"]

# Making the CSR of the transpose costs about this many gathers per entry; it is
# made once the work that it would have saved adds up to that.
TRANSPOSE_COST = 6
KEPT = 16  # statements that a matrix keeps


def mxv(out: VectorBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, transposed: bool,
        u: VectorBlock, semiring, *, flipped: bool = False, changed: VectorBlock | None = None,
        changed_if: tuple | None = None, direction: str | None = None) -> None:
    """C<M, replace> (accum)= A u; see the module docstring and `spgraph.engine`.

    `changed`, if given, becomes the entries of C that are new or differ from before; of those, with
    `changed_if` = (a typed select operator, its thunk), the ones that it accepts.
    `direction` forces "push" or "pull" (default: what the context says). An interrupt waits until all is written, or
    on a GPU started.
    """
    with held():
        _mxv(out, mask, accum, replace, A, transposed, u, semiring, flipped, changed, changed_if, direction)


def _mxv(out: VectorBlock, mask: Mask | None, accum, replace: bool, A: MatrixBlock, transposed: bool, u: VectorBlock,
         semiring, flipped: bool, changed: VectorBlock | None, changed_if: tuple | None, direction: str | None) -> None:
    if mask is not None and mask.block is u and A.rows is not A.cols:
        u = u.copy()  # one lies in the order of the rows then, the other in that of the columns
    most = A.most
    if most:
        few: Any = A
        if transposed or (direction or context.current().direction) == "push" or _record.listener is not None:
            few.make()
            most = 0
        else:
            A = few.source
    statement = (semiring, accum, replace, transposed, flipped, None if mask is None else mask.block is out,
                 changed is None, None if changed_if is None else changed_if[0], most)
    known = A.steps.get(statement)
    if known is not None:
        done, direction = _again(known, out, mask, A, transposed, u, changed, changed_if, direction, most)
        if done:
            return
    inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
    fresh = (accum is None and (mask is None or replace)) or (out.bounds()[0] == 0 and out.nvals == 0)
    if out is u and (not fresh or inner is not outer):
        u = u.copy()
    if u.partition is not inner:
        u.rehome(inner)
    if out.partition is not outer:
        out.rehome(outer)
    overwritten = out.copy() if changed is not None and fresh and out.nvals else None
    own = mask is not None and mask.block is out and not fresh
    grows = bool(mask is not None and own and accum is None and mask.complement and mask.structural
                 and semiring.monoid.terminal_any)
    if grows:  # C<!s(C)> = any product: the same as keeping what is there
        allowed = out.size - out.nvals
        if not allowed:
            if changed is not None:
                changed.become(out.size, out.dtype)
            return
        accum = binary.first[out.dtype]
        view = MaskView("sc", out.writable_bitmap().present, EMPTY_BITS, allowed)
    else:
        view = view_mask(mask, out.size, outer, copy=own)
    kept = None if changed_if is None else Filter(*changed_if)
    kind = _product_of(out)
    product = kind(out, mask, view, accum, replace, A, transposed, u, semiring, flipped, changed, kept, fresh, grows)
    allowed = view.allowed if view.code else out.size
    unvisited = own and view.code == "sc"
    product.most = most
    single = product.iso_value() if fresh and changed is not None else None  # before: u may be C, or what has changed
    limit = None if most else edges_limit(A, transposed, allowed, product.term.stops, u, out.device.on_host, direction,
                                          unvisited)
    pushed = False
    if limit is not None and expected_edges(u, A, not transposed) <= limit:
        if _record.listener is not None:
            _record.listener.product("push", A, not transposed, u)
        pushed = product.push(limit)
    if not pushed:
        if _record.listener is not None:
            _record.listener.product("pull", A, transposed, u, view)
        product.pull()
    if product.step is not None:
        _keep(A, statement, product)
    if (u.nonnegative or u.downward) and product.chooses():
        out.nonnegative = True
    if changed is not None:
        if fresh:
            changed.assume(out.copy() if overwritten is None else differences(overwritten, out))
            if single is not None and changed.nvals:  # a part says so to others, in a bit for each entry
                changed.values, changed.iso = np.array([cast_scalar(single, changed.dtype)]), True
                changed.padding = None
        if product.filter is not None and changed_if is not None:
            vector_select(changed, None, None, False, changed, *changed_if)


def _keep(A: MatrixBlock, statement: tuple, product: Product) -> None:
    """What was run may be run again."""
    if len(A.steps) >= KEPT and statement not in A.steps:
        A.steps.clear()
    if product.out.device.on_host:
        A.steps[statement] = product.step
        return
    from spgraph.engine.steps_cuda import Steps

    A.steps.setdefault(statement, Steps(product)).add(product.step)


def _again(known: Any, out: VectorBlock, mask: Mask | None, A: MatrixBlock, transposed: bool, u: VectorBlock,
           changed: VectorBlock | None, changed_if: tuple | None, direction: str | None,
           most: int) -> tuple[bool, str | None]:
    """Run what was run before, if operands are stored as they were; whether it was, and in which direction to go on."""
    thunk = None if changed_if is None else changed_if[1]
    missed = A.missed
    device: Any = out.device
    if device.on_host:
        rows_of_u = A.oriented(not transposed)
        if not known.fits(rows_of_u, out, mask, u):
            return False, direction
        allowed = out.size if mask is None else out.size - out.nvals
        limit = edges_limit(A, transposed, allowed, known.term.stops, u, True, direction, mask is not None)
        if limit is not None and u.nvals <= limit:
            if _record.listener is not None:
                _record.listener.product("push", A, not transposed, u)
            if known.run(rows_of_u, out, NO_MASK, u, changed, thunk, limit):
                return True, direction
    elif out is not u:
        inner, outer = (A.rows, A.cols) if transposed else (A.cols, A.rows)
        if u.partition is not inner:
            u.rehome(inner)
        if out.partition is not outer:
            out.rehome(outer)
        view, own = None, mask is not None and mask.block is out
        if mask is None or own:
            allowed = out.size - (out.nvals if own else 0)
            runs = allowed and (known.fresh or allowed < out.size or out.nvals)
        else:
            view = view_mask(mask, out.size, outer)
            allowed, runs = view.allowed, view.code and out.bounds()[0]
        if runs:
            limit = None if most else edges_limit(A, transposed, allowed, known.stops, u, False, direction, own)
            step, decided = known.run(A, transposed, out, mask, view, u, changed, thunk, limit)
            if step is not None:
                device.counters.products += 1
                if step.chooses and (u.nonnegative or u.downward):
                    out.nonnegative = True
                if changed is not None and changed_if is not None and not step.early:
                    vector_select(changed, None, None, False, changed, *changed_if)
                return True, decided
            if decided is not None:
                return False, decided
    A.missed = missed  # it will be counted yet
    return False, direction


def _product_of(out: VectorBlock) -> type[Product]:
    device: Any = out.device
    if device.on_host:
        return CpuProduct
    from spgraph.engine.products_cuda import CudaProduct

    device.counters.products += 1
    return CudaProduct


def edges_limit(A: Any, transposed: bool, allowed: int, stops: bool, u: Any, on_host: bool, direction: str | None,
                unvisited: bool, workers: int | None = None) -> float | None:
    """Edges that push may look at, where `allowed` rows may be written; None to pull at once.

    A full u is pulled if both directions are at hand and most rows may have entries: an edge costs no more than
    pushed, and no list has to be made.
    `unvisited`: the others have been reached, so that rows without entries are among those that are allowed.
    `workers`: threads of a CPU, if not those of the caller.
    """
    direction = direction or context.current().direction
    if direction in ("push", "pull"):
        return math.inf if direction == "push" else None
    rows = A.ncols if transposed else A.nrows
    if direction != "auto" and stops and allowed < rows:
        return preset_limit(direction, rows, A.nvals, allowed, u.nvals, u.listed)
    occupied = occupied_rows(A, transposed)
    pulled = max(allowed - (rows - occupied), 0) if unvisited else allowed * occupied // max(rows, 1)
    workers, costs = (workers or threads(), CPU_COSTS) if on_host else (1, of_copies(GPU_COSTS, A.width))
    entries, unlisted = u.counts
    whole = entries == u.size and A.nvals >= rows
    limit = 0.0 if whole else push_limit(rows, A.nvals, pulled, stops, workers, costs, occupied)
    limit -= unlisted * costs.listing / costs.push  # what making a list costs, as edges
    if A.has_transpose:
        return limit
    # Only one direction is at hand. Keep to it until what the other would have saved pays for it.
    edges = entries * (A.nvals / max(occupied_rows(A, not transposed), 1))
    if transposed:
        A.missed += max(edges - limit, 0)
        return math.inf if A.missed < TRANSPOSE_COST * A.nvals else limit
    A.missed += max(limit - edges, 0)
    return None if A.missed < TRANSPOSE_COST * A.nvals else limit
