"""Kernels that read numbers out of text: split into fields, then convert fields.

Written as kernel templates (`spgraph.kernels.cpu`): small files are scanned by
the plain Python function, large ones by its compiled form, in blocks, on all
threads.

Data encoding: ``buf`` is the text, as bytes when interpreted and as a uint8
array when compiled. ``starts[line * fields + k]`` is the offset of field k of
a data line. Cost: two passes over the bytes, about 4 ns a byte on one core.
"""

from __future__ import annotations

__all__ = [
    "FINE",
    "NOT_A_NUMBER",
    "ODD",
    "TOO_BIG",
    "WRONG_COUNT",
    "WRONG_LETTER",
    "WRONG_SEPARATOR",
    "decimals",
    "integers",
    "split",
]

FINE = 0
WRONG_COUNT = 1  # another number of fields than wanted
WRONG_LETTER = 2  # the line does not begin with the letter
WRONG_SEPARATOR = 3  # a comma is missing, or nothing stands between two
NOT_A_NUMBER = 4
TOO_BIG = 5  # for int64
ODD = 1 << 20  # a scale that no number has


def split(lo, hi, buf, letter, mark, mark2, comma, fields, more, starts):
    """Offsets of the fields of the data lines in buf[lo:hi]: (status, lines, offset of the trouble).

    Blank lines and lines that begin with `mark` or `mark2` do not count. `letter`
    (0: none) must begin each line; `comma` (0: none) separates fields beside
    blanks. `more` fields than wanted are an error when it is 0.
    """
    pos = lo
    lines = 0
    while pos < hi:
        ch = buf[pos]
        if ch == 32 or ch == 9 or ch == 13 or ch == 10:
            pos += 1
            continue
        begin = pos
        if ch in (mark, mark2):
            while pos < hi and buf[pos] != 10:
                pos += 1
            continue
        if letter != 0:
            if ch != letter or pos + 1 >= hi or (buf[pos + 1] != 32 and buf[pos + 1] != 9):
                return WRONG_LETTER, lines, begin
            pos += 1
        found = 0
        ready = 1  # a field may begin here
        while pos < hi and buf[pos] != 10:
            ch = buf[pos]
            if ch == 32 or ch == 9 or ch == 13:
                pos += 1
            elif comma != 0 and ch == comma:
                if ready == 1:
                    return WRONG_SEPARATOR, lines, begin
                ready = 1
                pos += 1
            else:
                if ready == 0:
                    return WRONG_SEPARATOR, lines, begin
                if found < fields:
                    starts[lines * fields + found] = pos
                found += 1
                if comma != 0:
                    ready = 0
                while pos < hi:
                    ch = buf[pos]
                    if ch == 32 or ch == 9 or ch == 13 or ch == 10 or (comma != 0 and ch == comma):
                        break
                    pos += 1
        if comma != 0 and ready == 1:
            return WRONG_SEPARATOR, lines, begin
        if found < fields or (found > fields and more == 0):
            return WRONG_COUNT, lines, begin
        lines += 1
    return FINE, lines, hi


def integers(lo, hi, buf, size, starts, step, field, comma, out):
    """out[i] = the integer in the field, for lines lo..hi: (status, line of the trouble)."""
    for i in range(lo, hi):
        pos = starts[i * step + field]
        negative = buf[pos] == 45
        if negative or buf[pos] == 43:
            pos += 1
        begin = pos
        value = 0  # minus the number: the range of int64 reaches one further down
        while pos < size:
            digit = buf[pos] - 48
            if digit < 0 or digit > 9:
                break
            if value < -922337203685477580 or (value == -922337203685477580 and digit > 8):
                return TOO_BIG, i
            value = value * 10 - digit
            pos += 1
        if pos == begin:
            return NOT_A_NUMBER, i
        if pos < size:
            ch = buf[pos]
            if ch != 32 and ch != 9 and ch != 13 and ch != 10 and (comma == 0 or ch != comma):
                return NOT_A_NUMBER, i
        if not negative:
            if value < -9223372036854775807:
                return TOO_BIG, i
            value = -value
        out[i] = value
    return FINE, hi


def decimals(lo, hi, buf, size, starts, step, field, comma, mantissa, scale, sign):
    """The number in the field is sign[i] * mantissa[i] * 10**scale[i], for lines lo..hi.

    scale[i] is ODD where it is not so simple: more than 18 digits, inf, NaN, or
    no number at all.
    """
    for i in range(lo, hi):
        pos = starts[i * step + field]
        sign[i] = 1.0
        if buf[pos] == 45:
            sign[i] = -1.0
            pos += 1
        elif buf[pos] == 43:
            pos += 1
        value = 0
        power = 0
        point = 0
        digits = 0
        while pos < size:
            digit = buf[pos] - 48
            if digit >= 0 and digit <= 9 and value < 900719925474099200:
                value = value * 10 + digit
                power -= point
                digits += 1
            elif digit == -2 and point == 0:
                point = 1
            else:
                break
            pos += 1
        if pos < size and digits > 0 and (buf[pos] == 101 or buf[pos] == 69):
            pos += 1
            down = pos < size and buf[pos] == 45
            if down or (pos < size and buf[pos] == 43):
                pos += 1
            shift = 0
            digits = 0
            while pos < size and digits < 4 and buf[pos] >= 48 and buf[pos] <= 57:
                shift = shift * 10 + (buf[pos] - 48)
                digits += 1
                pos += 1
            power += -shift if down else shift
        plain = digits > 0
        if plain and pos < size:
            ch = buf[pos]
            plain = ch == 32 or ch == 9 or ch == 13 or ch == 10 or (comma != 0 and ch == comma)
        mantissa[i] = value
        scale[i] = power if plain else ODD
    return hi
