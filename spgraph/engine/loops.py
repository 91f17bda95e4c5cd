"""Loops that a device may run by itself."""

from __future__ import annotations

from typing import Any

from spgraph.block import VectorBlock

__all__ = ["grow"]


def grow(out: Any, A: Any, transposed: bool, u: Any, semiring: Any, flipped: bool, known: bool,
         most: int | None) -> int:
    """C<!s(C)> = A u (u A, if `flipped`) with u = the entries that are new, until there are none, or `most` times.

    Parameters
    ----------
    out, A, u
        C, A and u as for `mxv` with ``changed=u``.
    known : bool
        Whether entries of u are entries of C, with the same values.
    most : int, optional

    Returns
    -------
    int
        How often; 0 if nothing was done, since the next product must be done by `mxv`.
    """
    if out.device.on_host or not isinstance(out, VectorBlock):
        return 0
    from spgraph.engine import loops_cuda

    return loops_cuda.grow(out, A, transposed, u, semiring, flipped, known, most)
