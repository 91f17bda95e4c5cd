"""Numbers and lines for people."""

from __future__ import annotations

import json
import math
import textwrap
from typing import Any

import numpy as np

__all__ = ["as_json", "counted", "described", "lines", "rated", "sized", "timed"]

MARGIN = 12
WIDTH = 88 - MARGIN


def as_json(value: Any, *, indent: int) -> str:
    """JSON, which knows neither infinity nor NaN: both are null there; what else it does not know is text."""
    return json.dumps(_finite(value), indent=indent, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, (list, tuple)) else value


def timed(seconds: float) -> str:
    """A duration with three digits: ``3.12 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{_digits(seconds / size)} {unit}"
    raise AssertionError


def sized(count: int) -> str:
    """Bytes: ``1.5 GiB``."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    step = min(max(count.bit_length() - 1, 0) // 10, 4)
    return f"{_digits(count / 1024**step)} {units[step]}" if step else f"{count} B"


def rated(rate: float, what: str) -> str:
    """A rate: ``1.35 GTEPS``."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{_digits(rate / size)} {prefix}{what}"
    return f"{_digits(rate)} {what}"


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 vertex``, ``2,000 vertices``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def described(report: str) -> list[str]:
    """A report in short lines."""
    return [line for part in report.split("; ") for line in textwrap.wrap(part, WIDTH)]


def lines(title: str, *texts: str) -> str:
    """A block of lines with its title in the margin."""
    return "\n".join(f"{title if first == 0 else '':<{MARGIN - 1}} {text}" for first, text in enumerate(texts))
