"""Are these a PageRank, hubs and authorities, a Katz centrality? One more step by SciPy must not move them."""

from __future__ import annotations

import numpy as np

from spgraph import io
from spgraph._cli.names import Names
from spgraph.validate import Rule

__all__ = ["check_hits", "check_katz", "check_ranks"]

ROOM = 10  # times `tol` that one more step of HITS may change: nothing says that changes shrink at every step


def check_ranks(A, rank, alpha: float, tol: float, jumps: dict[int, float] | None = None) -> tuple[Rule, ...]:
    """Three rules: ranks are probabilities, sum to 1, and stay where they are.

    The iteration stops when a step changes less than ``n * tol`` in all, and a
    step shrinks every change by `alpha`, so one more changes no more than that,
    rounding aside. Jumps go anywhere, or in proportion to `jumps`.
    """
    n = rank.size
    r, rounding = _dense(rank)
    jump = np.full(n, 1 / max(n, 1))
    if jumps is not None:
        jump[:] = 0
        jump[list(jumps)] = np.array(list(jumps.values())) / sum(jumps.values())
    total, still = None, None
    if n and not abs(r.sum() - 1) <= rounding * max(np.sqrt(n), 16):
        total = f"the sum is {r.sum():.17g}"
    change = float(np.abs(_step(A, r, alpha, jump) - r).sum())
    if not change <= n * tol + rounding * 16:
        still = f"one more step changes them by {change:.3g}, more than n * tol = {n * tol:.3g}"
    return _rules(
        ("every rank is a number in [0, 1]", _wrong(A, r, "rank", (r >= 0) & (r <= 1 + rounding))),
        ("the ranks sum to 1", total),
        (f"one more step changes them by {change:.2g} in all, at most n * tol = {n * tol:.2g}", still),
    )


def check_hits(A, hub, authority, tol: float) -> tuple[Rule, ...]:
    """Four rules: numbers that sum to 1 (without weights: 0), authorities those of the hubs, and hubs that stay."""
    weights = io.to_scipy(A).astype(np.float64)
    (h, rounding), (a, _) = _dense(hub), _dense(authority)
    full = 1 if weights.sum() else 0
    wrong = _wrong(A, h, "hub", h >= 0) or _wrong(A, a, "authority", a >= 0)
    sums = [float(values.sum()) for values in (h, a)]
    total = max(abs(value - full) for value in sums) if h.size else 0.0
    pointed = _to_largest(weights.T @ h)
    apart = float(np.abs(_to_largest(a) - pointed).sum())
    moved = float(np.abs(_to_largest(weights @ pointed) - _to_largest(h)).sum())
    room = rounding * max(float(_to_largest(h).sum()), float(pointed.sum()), 1)
    return _rules(
        ("every hub and authority is a number of 0 or more", wrong),
        (f"both sum to {full}", None if total <= rounding * 16 else f"the sums are {sums[0]:.17g} and {sums[1]:.17g}"),
        ("the authorities are those of the hubs", None if apart <= room else f"they differ by {apart:.3g} in all"),
        ("one more step leaves the hubs where they are",
         None if moved <= ROOM * tol + room else f"it changes them by {moved:.3g}, where tol = {tol:.3g}"),
    )  # fmt: skip


def check_katz(A, katz, alpha: float, tol: float) -> tuple[Rule, ...]:
    """Three rules: positive numbers, of the Euclidean norm 1, and what does not come over edges is the same everywhere.

    The iteration stops when a step changes less than ``n * tol`` in all, before everything is scaled; a further one
    changes at most `alpha` times the largest degree as much.
    """
    n = katz.size
    r, rounding = _dense(katz)
    pattern = io.to_scipy(A).astype(bool).astype(np.float64)
    pattern.data[:] = 1
    own = r - alpha * (pattern.T @ r)
    norm, start = float(np.linalg.norm(r)), float(np.median(own)) if n else 0.0
    apart = float(np.abs(own - start).sum())
    growth = max(1.0, abs(alpha) * float(np.diff(pattern.indptr).max(initial=0)))
    room = n * tol * abs(start) * growth + rounding * float(np.abs(r).sum())
    return _rules(
        ("every centrality is a finite number", _wrong(A, r, "centrality", np.isfinite(r))),
        ("their Euclidean norm is 1", f"it is {norm:.17g}" if n and not abs(norm - 1) <= rounding * 16 else None),
        ("less what comes over edges, all are the same",
         None if apart <= room else f"they differ by {apart:.3g} in all"),
    )  # fmt: skip


def _dense(vector) -> tuple[np.ndarray, float]:
    """Its values in float64, NaN where there is none, and a relative error that their type may have."""
    r = np.full(vector.size, np.nan)
    ids, values = vector.to_coo()
    r[ids] = values
    return r, float(np.finfo(values.dtype).eps) * 64


def _wrong(A, r: np.ndarray, what: str, right: np.ndarray) -> str | None:
    """What is said of the first vertex that is not right."""
    places = np.flatnonzero(~right)
    return f"vertex {Names(A).of(places[0])} has the {what} {r[places[0]]}" if places.size else None


def _to_largest(values: np.ndarray) -> np.ndarray:
    """Scaled so that the largest is 1."""
    return values / (values.max(initial=0) or 1)


def _rules(*found: tuple[str, str | None]) -> tuple[Rule, ...]:
    return tuple(Rule(number, name, problem) for number, (name, problem) in enumerate(found, start=1))


def _step(A, r: np.ndarray, alpha: float, jump: np.ndarray) -> np.ndarray:
    weights = io.to_scipy(A).astype(np.float64)
    out = weights.sum(axis=1)
    share = np.divide(r, out, out=np.zeros_like(r), where=out > 0)
    lost = r[out == 0].sum()
    return alpha * (weights.T @ share) + (1 - alpha + alpha * lost) * jump
