"""How to multiply matrices: a pure function of counts.

Costs are in units of one step of Gustavson's method. A step is a product, or a look-up where rows are bisected;
making a transpose that is not at hand costs so many steps per entry. CPU: measured on rmat:16 (2-core EPYC,
plus_pair); a step of a dot product is cheaper since it only reads. GPU: estimated, not measured: a step of Gustavson's
method ends in an atomic, a step of a dot product does not, and a transpose is a sort.
"""

from __future__ import annotations

from typing import NamedTuple

from spgraph.kernels.cpu.spgemm import SEARCH

__all__ = ["CPU", "GPU", "Costs", "choose_product", "settled"]


class Costs(NamedTuple):
    """What the methods cost on a device.

    Attributes
    ----------
    dot_step : float
        One step of a dot product.
    transpose_step : float
        One entry of a transpose.
    count_step : float
        One entry looked at to count steps.
    search : int
        A list is bisected where the other one is so many times shorter.
    counted_step : float
        One step of a dot product whose products are only counted.
    """

    dot_step: float
    transpose_step: float
    count_step: float
    search: int
    counted_step: float


CPU = Costs(dot_step=0.45, transpose_step=5.0, count_step=1.0, search=SEARCH, counted_step=0.45)
GPU = Costs(dot_step=0.7, transpose_step=30.0, count_step=3.0, search=1, counted_step=0.07)


def settled(steps: float, entries: int, costs: Costs = CPU) -> bool:
    """Whether the method at hand is cheaper than the other one, whose CSR is lacking, however few steps that has.

    Parameters
    ----------
    steps : float
        Cost of the method whose CSR of B (or of its transpose) is at hand.
    entries : int
        Entries of B, all of which would be looked at to count the other's steps, and to make its CSR.
    costs : Costs
    """
    return steps <= (costs.count_step + costs.transpose_step) * entries


def choose_product(products: float, comparisons: float, b_missing: int, bt_missing: int, costs: Costs = CPU) -> str:
    """Which method computes a product within a mask.

    Parameters
    ----------
    products : float
        Steps of Gustavson's method.
    comparisons : float
        Steps of the dot products of the mask's entries.
    b_missing, bt_missing : int
        Entries of B if its CSR, or that of its transpose, would have to be made first; else 0.
    costs : Costs

    Returns
    -------
    str
        "gustavson" or "dot".

    Examples
    --------
    >>> choose_product(1e6, 1e3, 0, 0), choose_product(1e3, 1e3, 0, 1000)
    ('dot', 'gustavson')
    """
    gustavson = products + costs.transpose_step * b_missing
    dot = costs.dot_step * comparisons + costs.transpose_step * bt_missing
    return "dot" if dot < gustavson else "gustavson"
