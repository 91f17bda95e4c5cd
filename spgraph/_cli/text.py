"""Numbers and lines for people."""

from __future__ import annotations

__all__ = ["counted", "lines", "sized", "table", "timed"]

MARGIN = 12


def timed(seconds: float) -> str:
    """A duration with three digits: ``3.12 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{_digits(seconds / size)} {unit}"
    raise AssertionError


def sized(count: int) -> str:
    """Bytes: ``1.5 GiB``."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{count} B" if unit == "B" else f"{_digits(size)} {unit}"


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


def lines(title: str, *texts: str) -> str:
    """A block of lines with its title in the margin."""
    return "\n".join(f"{title if first == 0 else '':<{MARGIN}}{text}" for first, text in enumerate(texts))


def table(rows: list[list[str]], left: int = 1) -> str:
    """Columns of equal width, two blanks apart; the first `left` are flush left, the others flush right."""
    widths = [max(len(row[k]) if k < len(row) else 0 for row in rows) for k in range(max(map(len, rows)))]
    return "\n".join(
        "  ".join(cell.ljust(width) if k < left else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths)))
        .rstrip() for row in rows)
