"""Graph500's statistics, computed and printed as its reference code does.

Source: graph500/graph500, src/main.c, get_statistics; the standard error of a harmonic mean is N. Norris's, Annals of
Mathematical Statistics 11 (4), 1940.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["harmonic_statistics", "statistics"]


def statistics(numbers: Sequence[float]) -> dict[str, float]:
    """Minimum, quartiles, maximum, mean and sample standard deviation (0 for a single number).

    Quartiles are means of the two order statistics next to them.

    Examples
    --------
    >>> list(statistics([1, 5, 3, 2, 4]).values())
    [1, 2.0, 3.0, 4.0, 5, 3.0, 1.5811388300841898]
    """
    ordered, n = sorted(numbers), len(numbers)
    mean = sum(ordered) / n
    variance = sum((number - mean) ** 2 for number in ordered) / (n - 1) if n > 1 else 0.0
    return {
        "min": ordered[0],
        "firstquartile": (ordered[(n - 1) // 4] + ordered[n // 4]) / 2,
        "median": (ordered[(n - 1) // 2] + ordered[n // 2]) / 2,
        "thirdquartile": (ordered[n - 1 - (n - 1) // 4] + ordered[n - 1 - n // 4]) / 2,
        "max": ordered[-1],
        "mean": mean,
        "stddev": math.sqrt(variance),
    }


def harmonic_statistics(amounts: Sequence[float], seconds: Sequence[float]) -> dict[str, float]:
    """Statistics of the rates amount / second: their mean is harmonic, with its standard error.

    Examples
    --------
    >>> rates = harmonic_statistics([12, 12], [3.0, 1.0])
    >>> round(rates["min"]), round(rates["harmonic_mean"]), round(rates["max"])
    (4, 6, 12)
    """
    n = len(seconds)
    each = statistics([time / amount for amount, time in zip(amounts, seconds)])
    turned = {"min": "max", "firstquartile": "thirdquartile", "median": "median", "thirdquartile": "firstquartile",
              "max": "min"}  # fmt: skip
    return {
        **{name: 1 / each[other] for name, other in turned.items()},
        "harmonic_mean": 1 / each["mean"],
        "harmonic_stddev": each["stddev"] / (each["mean"] ** 2 * math.sqrt(n - 1)) if n > 1 else 0.0,
    }
