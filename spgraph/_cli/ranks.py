"""Are these ranks a PageRank? One more step, computed by SciPy, must not move them."""

from __future__ import annotations

import numpy as np

from spgraph import io
from spgraph.validate import Rule

__all__ = ["check_ranks"]


def check_ranks(A, rank, alpha: float, tol: float) -> tuple[Rule, ...]:
    """Three rules: ranks are probabilities, sum to 1, and stay where they are.

    The iteration stops when a step changes less than ``n * tol`` in all, and a
    step shrinks every change by `alpha`, so one more changes no more than that,
    rounding aside.
    """
    n = rank.size
    r = np.full(n, np.nan)
    ids, values = rank.to_coo()
    r[ids] = values
    rounding = float(np.finfo(values.dtype).eps) * 64
    problems: list[str | None] = [None, None, None]
    wrong = np.flatnonzero(~((r >= 0) & (r <= 1 + rounding)))
    if wrong.size:
        problems[0] = f"vertex {wrong[0]} has the rank {r[wrong[0]]}"
    if n and not abs(r.sum() - 1) <= rounding * max(np.sqrt(n), 16):
        problems[1] = f"the sum is {r.sum():.17g}"
    change = float(np.abs(_step(A, r, alpha) - r).sum())
    if not change <= n * tol + rounding * 16:
        problems[2] = f"one more step changes them by {change:.3g}, more than n * tol = {n * tol:.3g}"
    names = (
        "every rank is a number in [0, 1]",
        "the ranks sum to 1",
        "one more step leaves them where they are",
    )
    return tuple(
        Rule(number, name, problem) for number, (name, problem) in enumerate(zip(names, problems), start=1)
    )


def _step(A, r: np.ndarray, alpha: float) -> np.ndarray:
    weights = io.to_scipy(A).astype(np.float64)
    out = weights.sum(axis=1)
    share = np.divide(r, out, out=np.zeros_like(r), where=out > 0)
    lost = r[out == 0].sum()
    return alpha * (weights.T @ share) + (1 - alpha + alpha * lost) / max(r.size, 1)
