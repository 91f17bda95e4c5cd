"""How to multiply matrices: a pure function of counts.

Costs are in units of one step of Gustavson's method, measured on rmat:16 (2-core
EPYC, plus_pair): a step of a dot product is cheaper since it only reads, and making
a transpose that is not at hand costs about five steps per entry.
"""

from __future__ import annotations

__all__ = ["choose_product", "settled"]

DOT_STEP = 0.45
TRANSPOSE_STEP = 5.0


def settled(steps: float, entries: int) -> bool:
    """Whether the method at hand is cheaper than counting what the other one, without its CSR, would cost.

    Parameters
    ----------
    steps : float
        Steps of the method whose CSR of B (or of its transpose) is at hand.
    entries : int
        Entries of B, all of which the count would look at.
    """
    return steps <= entries


def choose_product(products: float, comparisons: float, b_missing: int, bt_missing: int) -> str:
    """Which method computes a product within a mask.

    Parameters
    ----------
    products : float
        Steps of Gustavson's method.
    comparisons : float
        Steps of the dot products of the mask's entries.
    b_missing, bt_missing : int
        Entries of B if its CSR, or that of its transpose, would have to be made first; else 0.

    Returns
    -------
    str
        "gustavson" or "dot".

    Examples
    --------
    >>> choose_product(1e6, 1e3, 0, 0), choose_product(1e3, 1e3, 0, 1000)
    ('dot', 'gustavson')
    """
    gustavson = products + TRANSPOSE_STEP * b_missing
    dot = DOT_STEP * comparisons + TRANSPOSE_STEP * bt_missing
    return "dot" if dot < gustavson else "gustavson"
