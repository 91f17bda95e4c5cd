"""The one place where arrays become a Matrix."""

from __future__ import annotations

from spgraph.io._coo import Csr

__all__ = ["build_matrix"]


def build_matrix(csr: Csr, order: str | None = None):
    """A Matrix that takes over the arrays, with ``.report`` and ``.labels``."""
    from spgraph.matrix import Matrix

    raise NotImplementedError
