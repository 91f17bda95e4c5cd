"""Loops that a device may run by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spgraph.block import VectorBlock

__all__ = ["Done", "run_alone", "run_levels"]


class Done(NamedTuple):
    """What a loop did: how often, and how many entries all u had."""

    steps: int
    total: int


def run_alone(out: Any, A: Any, transposed: bool, u: Any, semiring: Any, flipped: bool, accum: Any, changed_if: Any,
              known: bool, most: int | None) -> Any:
    """C<!s(C)> = A u, or C accum= A u (u A, if `flipped`), with u = what changes, until it is empty, or `most` times.

    Parameters
    ----------
    out, A, u
        C, A and u as for `mxv` with ``changed=u``.
    accum : optional
        Without one C grows.
    changed_if : tuple, optional
        As for `mxv`.
    known : bool
        Whether entries of u are known to be entries of C, with the same values.
    most : int, optional

    Returns
    -------
    Done or None
        How often that was done, and how many entries all u together had. None if the next product must be done by
        `mxv`, for whatever reason.
    """
    if not isinstance(out, VectorBlock):
        return _in_parts(out, A, transposed, u, semiring, flipped, accum, changed_if, most)
    from spgraph.engine.product import Filter

    kept = None if changed_if is None else Filter(*changed_if)
    if out.device.on_host:
        from spgraph.engine import loops_cpu

        if accum is None:
            return loops_cpu.grow(out, A, transposed, u, semiring, flipped, kept, most)
        return loops_cpu.relax(out, A, transposed, u, semiring, flipped, accum, kept, most)
    from spgraph.engine import loops_cuda

    if accum is not None:
        return loops_cuda.relax(out, A, transposed, u, semiring, flipped, known, most, accum, kept)
    if changed_if is not None:
        return None
    return loops_cuda.grow(out, A, transposed, u, semiring, flipped, known, most)


def _in_parts(out: Any, A: Any, transposed: bool, u: Any, semiring: Any, flipped: bool, accum: Any, changed_if: Any,
              most: int | None) -> Any:
    if out.device.near:
        return _near(run_alone, out, A, transposed, u, semiring, flipped, accum, changed_if, True, most)
    if accum is None and changed_if is not None:
        return None
    from spgraph.engine.parts import loops
    from spgraph.engine.product import Filter

    with out.device.own[0]:  # afterwards the GPU that is current now is so again
        if accum is None:
            return loops.grow(out, A, transposed, u, semiring, flipped, most)
        kept = None if changed_if is None else Filter(*changed_if)
        return loops.relax(out, A, transposed, u, semiring, flipped, most, accum, kept)


def _near(run: Callable, out: Any, *args: Any) -> Any:
    """In parts of one CPU, if they lie in common arrays."""
    from spgraph.engine.parts.near import over_wholes
    from spgraph.exchange.near import is_near

    return over_wholes(run, out, *args) if is_near(out.device) else None


def run_levels(out: Any, A: Any, transposed: bool, u: Any, semiring: Any, flipped: bool, follow: Any, number: int,
               most: int | None) -> Any:
    """u<!s(C), replace> = A u (u A, if `flipped`), and C<s(u)> = how often: until u is empty, or `most` times.

    Entries of u are in C already, with the number for them; those that u has in the end are not.

    Parameters
    ----------
    out, A, u
        C, A and u.
    semiring
        All that it gives is one value.
    follow
        The semiring over C's values that gives the number of the next level.
    number : int
        That of u's entries.
    most : int, optional

    Returns
    -------
    Done or None
        As from `run_alone`.
    """
    block = isinstance(out, VectorBlock)
    if type(u) is not type(out):
        return None
    if not block and out.device.near:
        return _near(run_levels, out, A, transposed, u, semiring, flipped, follow, number, most)
    from spgraph.engine.product import cast_scalar, term_of

    term = term_of(semiring, flipped, A.dtype, u.dtype)
    if term.constant is None or not semiring.monoid.terminal_any or follow.monoid.type.np_type != out.dtype:
        return None
    value = np.array([cast_scalar(term.constant, u.dtype)])
    if block and out.device.on_host:
        from spgraph.engine import loops_cpu

        return loops_cpu.grow(out, A, transposed, u, follow, flipped, None, most, number, value)
    if block:
        from spgraph.engine import loops_cuda

        return loops_cuda.grow(out, A, transposed, u, follow, flipped, True, most, value)
    from spgraph.engine.parts import loops

    with out.device.own[0]:
        return loops.grow(out, A, transposed, u, follow, flipped, most, value, number)
