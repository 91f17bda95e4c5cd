"""Lines of numbers as columns: scanned in blocks on all threads.

Of a text that several processes share, each scans its own lines; they agree on the kinds of the columns.

Memory: arrays for the lines that are there, never for what a header promises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from spgraph.io import _scan
from spgraph.io._report import FormatError
from spgraph.io._text import Text, progress_bar
from spgraph.kernels.cpu._specialise import get_kernel
from spgraph.kernels.cpu._threads import threads

__all__ = ["Table"]

BLOCK = 1 << 22  # bytes that one task scans
CONSTS = {name: getattr(_scan, name) for name in _scan.__all__ if name.isupper()}
ODD, WIDE, SIGNED = range(3)  # why a number is unfit: not whole, too big, negative; who has several tells the first
MAX_POWER = 22  # the largest power of ten that a double holds exactly
POWERS = np.array([float(10**k) for k in range(MAX_POWER + 1)])


@functools.cache
def _kernels():
    return tuple(
        get_kernel(template, CONSTS, {}) for template in (_scan.split, _scan.integers, _scan.decimals)
    )


class _Unfit(Exception):
    """A number of a column is not of the kind that was tried."""

    def __init__(self, column: int, offset: int, why: int):
        self.column = column
        self.offset = offset
        self.why = why


class Table:
    """The lines of a text below its header, each with the same number of fields.

    Parameters
    ----------
    text : Text
    start : int
        Offset of the first line.
    fields : int
        Fields that count in a line.
    marks : bytes
        Characters (one or two) that begin a comment.
    letter, comma : bytes
        What begins each line, and what separates fields beside blanks; b"" for nothing.
    more : bool
        Whether further fields in a line are ignored.
    hint : str
        What to say where an "i" column holds something else.
    longer : str
        What to say of a line with more fields than that.
    """

    def __init__(
        self, text: Text, start: int, fields: int, *, marks: bytes, letter=b"", comma=b"", more=False, hint="",
        longer="",
    ):  # fmt: skip
        self.text = text
        self.start = text.begin(start)
        self.fields = fields
        self.letter = letter
        self.comma = comma
        self.hint = hint
        self.longer = longer
        self._flags = (ord(letter or b"\0"), marks[0], marks[-1], ord(comma or b"\0"), fields, int(more))
        self._work = len(text.data) - self.start
        self._split, self._integers, self._decimals = _kernels()
        self._counts: list[int] = []

    @property
    def lines(self) -> int:
        """Data lines that were read, in all shares."""
        return sum(self.text.ranks.gather(sum(self._counts)))

    @property
    def before(self) -> int:
        """Data lines in the shares before this one."""
        return self.text.ranks.before(sum(self._counts))

    def read(self, kinds: str) -> list[np.ndarray]:
        """The columns, as the letters say.

        "i" int64; "u" int64, or uint64 where that is too narrow; "f" float64;
        "n" like "u" if all are integers, else float64; "-" nothing: the array is empty.

        Raises
        ------
        FormatError
        """
        tried = kinds.replace("u", "i").replace("n", "i")
        ranks = self.text.ranks
        wide = ""
        while True:
            parts, trouble = self._try(tried)
            told = None if trouble is None else (trouble.column, trouble.why, self._shown(trouble))
            found = [one for one in ranks.gather(told) if one is not None]
            if not found:
                break
            column, why, shown = found[0]
            if tried[column] == "o":
                column, why, shown = min(found, key=lambda one: one[:2])
            kind = kinds[column]
            if why == WIDE and tried[column] == "i" and kind in "un":
                next_kind, wide = "o", shown
            elif why == ODD and kind == "n" and tried[column] != "f":
                next_kind = "f"
            elif trouble is not None and (trouble.column, trouble.why) == (column, why):
                raise self._bad_number(trouble, tried[column], kind, wide) from None
            else:
                ranks.gather(None)  # raises what the other says
                continue
            tried = tried[:column] + next_kind + tried[column + 1 :]
        kept = next(k for k, kind in enumerate(tried) if kind != "-")
        self._counts = [part[kept].size for part in parts]
        return [
            np.concatenate([part[k] for part in parts]) if parts else np.empty(0, _DTYPES[kind])
            for k, kind in enumerate(tried)
        ]

    def offset_of(self, entry: int) -> int:
        """Offset in the text of the first field of a data line."""
        for block, count in zip(self._blocks(), self._counts):
            if entry < count:
                _, starts = self._fields(block)
                return int(starts[entry * self.fields])
            entry -= count
        return len(self.text.data)

    def fail(self, entry: int | None, message: str) -> FormatError:
        """The error that points at a data line."""
        return self.text.error(None if entry is None else self.offset_of(entry), message)

    def check_range(self, ids: np.ndarray, low: int, high: int | None, what: str) -> None:
        """Raise at the first line whose id lies outside low..high (None: no upper end)."""
        if ids.size == 0 or (ids.min() >= low and (high is None or ids.max() <= high)):
            return
        wrong = ids < low if high is None else (ids < low) | (ids > high)
        entry = int(wrong.argmax())
        if high is not None and high < low:
            raise self.fail(entry, f"got {what} {ids[entry]}, wanted none: there are 0")
        wanted = f"{low}..{high}" if high is not None else f"{low} or more"
        raise self.fail(entry, f"{what} {ids[entry]} is outside {wanted}")

    # ---- scanning --------------------------------------------------------------
    def _try(self, kinds: str) -> tuple[list, _Unfit | None]:
        try:
            return self._read(kinds), None
        except _Unfit as trouble:
            return [], trouble

    def _blocks(self) -> list[tuple[int, int]]:
        data = self.text.data
        result, lo = [], self.start
        while lo < len(data):
            end = data.find(b"\n", min(lo + BLOCK, len(data)))
            hi = len(data) if end < 0 else end + 1
            result.append((lo, hi))
            lo = hi
        return result

    def _read(self, kinds: str) -> list[list[np.ndarray]]:
        blocks = self._blocks()
        with ExitStack() as stack:
            bar = stack.enter_context(
                progress_bar(self._work, f"parsing {self.text.name}", self.text.progress)
            )
            run: Callable = map
            if len(blocks) > 1 and threads() > 1 and self._split.ready(self._work):
                pool = ThreadPoolExecutor(threads())
                stack.callback(pool.shutdown, cancel_futures=True)
                run = pool.map
            parts, unfit = [], []
            for block, part in zip(blocks, run(lambda block: self._columns_or_unfit(block, kinds), blocks)):
                if isinstance(part, _Unfit):
                    unfit.append(part)
                    if part.why == ODD or "o" not in kinds:
                        break
                parts.append(part)
                bar.update(block[1] - block[0])
        if unfit:
            raise min(unfit, key=lambda one: (one.column, one.why))
        return parts

    def _columns_or_unfit(self, block, kinds: str) -> list[np.ndarray] | _Unfit:
        """With "o", a later block may have what counts more."""
        try:
            return self._columns(block, kinds)
        except _Unfit as unfit:
            return unfit

    def _fields(self, block):
        """Number of data lines in a block and the offsets of their fields."""
        lo, hi = block
        starts = np.empty((self.text.data.count(b"\n", lo, hi) + 1) * self.fields, np.int64)
        status, lines, where = self._split(self._work, lo, hi, self.text.data, *self._flags, starts)
        if status != _scan.FINE:
            raise self._bad_line(status, where)
        return lines, starts

    def _columns(self, block, kinds: str) -> list[np.ndarray]:
        lines, starts = self._fields(block)
        data, comma = self.text.data, self._flags[3]
        place = (data, len(data), starts, self.fields)
        columns = []
        for k, kind in enumerate(kinds):
            out = np.empty(0 if kind == "-" else lines, _DTYPES[kind])
            columns.append(out)
            if kind == "-":
                continue
            if kind == "i":
                status, line = self._integers(self._work, 0, lines, *place, k, comma, out)
                if status != _scan.FINE:
                    raise _Unfit(k, int(starts[line * self.fields + k]), WIDE if status == _scan.TOO_BIG else ODD)
                continue
            odd = np.arange(lines)
            if kind == "f":
                mantissa, scale = np.empty(lines, np.int64), np.empty(lines, np.int64)
                self._decimals(self._work, 0, lines, *place, k, comma, mantissa, scale, out)
                odd = np.flatnonzero(~_to_floats(mantissa, scale, out))
            unfit: _Unfit | None = None
            for line in odd.tolist():
                try:
                    out[line] = self._exact(int(starts[line * self.fields + k]), kind, k)
                except _Unfit as one:
                    unfit = one if unfit is None or one.why < unfit.why else unfit
                    if one.why == ODD or kind == "f":
                        break
            if unfit is not None:
                raise unfit
        return columns

    def _exact(self, offset: int, kind: str, column: int):
        token = self._token(offset)
        if kind == "o" and len(token) > 400:  # Python refuses to convert thousands of digits
            raise _Unfit(column, offset, WIDE if token.lstrip(b"+-").isdigit() else ODD)
        try:
            if b"_" in token:
                raise ValueError
            value = float(token) if kind == "f" else int(token)
        except ValueError:
            raise _Unfit(column, offset, ODD) from None
        if (kind == "o" and not -(2**63) <= value < 2**64) or (math.isinf(value) and b"i" not in token.lower()):
            raise _Unfit(column, offset, WIDE)
        if kind == "o" and value < 0:
            raise _Unfit(column, offset, SIGNED)
        return value

    def _token(self, offset: int) -> bytes:
        for reach in (64, len(self.text.data)):
            piece = self.text.data[offset : offset + reach]
            token = piece.split(None, 1)[0]
            if self.comma:
                token = token.split(self.comma, 1)[0]
            if len(token) < len(piece):
                break
        return token

    # ---- errors ----------------------------------------------------------------
    def _bad_line(self, status: int, offset: int) -> FormatError:
        line = self.text.line_at(offset)
        wanted = f"{self.fields} number{'s' * (self.fields > 1)}"
        if self.comma:
            wanted += f" separated by {self.comma.decode()!r}"
        if self.letter:
            wanted = f"{self.letter.decode()!r} and {wanted}"
        longer = len(line.split(self.comma.decode() or None)) > self.fields
        return self.text.error(offset, f"got {line!r}, expected {wanted}{self.longer if longer else ''}")

    def _shown(self, trouble: _Unfit) -> str:
        return self._token(trouble.offset)[:60].decode("utf-8", "replace")

    def _bad_number(self, trouble: _Unfit, tried: str, kind: str, wide: str) -> FormatError:
        """The error of a number; `wide` is one of the same column that INT64 does not hold, if there is one."""
        token = self._shown(trouble)
        if trouble.why == SIGNED:
            message = f"{wide} does not fit in 64 bits beside {token}, which needs a sign"
        elif trouble.why == WIDE:
            message = f"{token} does not fit in 64 bits"
        else:
            message = f"got {token!r}, expected {'a number' if tried == 'f' else 'an integer'}"
            message += self.hint if kind == "i" else ""
        return self.text.error(trouble.offset, message)


def _to_floats(mantissa: np.ndarray, scale: np.ndarray, out: np.ndarray) -> np.ndarray:
    """out *= mantissa * 10**scale, correctly rounded; returns where that is certain.

    Product or quotient and its error make a double-double (Dekker 1971), good to
    about 100 bits. Where a change in the last of these would round differently,
    the text must be looked at again.
    """
    known = np.abs(scale) <= MAX_POWER
    power = POWERS[np.abs(np.where(known, scale, 0))]
    high = mantissa.astype(np.float64)
    low = (mantissa - high.astype(np.int64)).astype(np.float64)
    down = scale < 0
    near = np.where(down, high / power, high * power)
    product, error = _two_product(np.where(down, near, high), power)
    rest = np.where(down, (high - product - error + low) / power, error + low * power)
    slack = np.abs(rest) * 2.0**-45 + near * 2.0**-100
    known &= near + (rest - slack) == near + (rest + slack)
    out *= near + rest
    return known


def _two_product(a, b):
    """a * b and its rounding error."""
    product = a * b
    a_high, b_high = a * 134217729.0, b * 134217729.0
    a_high -= a_high - a
    b_high -= b_high - b
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low)


_DTYPES = {"-": np.int64, "i": np.int64, "o": np.uint64, "f": np.float64}
