"""Loops that a device may run by itself."""

from __future__ import annotations

from typing import Any

from spgraph.block import VectorBlock

__all__ = ["run_alone"]


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
        Whether entries of u are entries of C, with the same values.
    most : int, optional

    Returns
    -------
    loops_cuda.Done or None
        How often that was done, and how many entries all u together had. None if the next product must be done by
        `mxv`, for whatever reason.
    """
    if out.device.on_host or not isinstance(out, VectorBlock):
        return None
    from spgraph.engine import loops_cuda
    from spgraph.engine.product import Filter

    if accum is not None:
        kept = None if changed_if is None else Filter(*changed_if)
        return loops_cuda.relax(out, A, transposed, u, semiring, flipped, known, most, accum, kept)
    if changed_if is not None:
        return None
    return loops_cuda.grow(out, A, transposed, u, semiring, flipped, known, most)
