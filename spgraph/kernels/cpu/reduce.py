"""Reductions by a monoid: rows, columns, everything.

Data encoding: CSR; an iso operand has one value. `present` is uint8. Work: one step per
entry, fewer where the monoid's terminal value is met.

Compile-time: X_ISO, HAS_TERMINAL, TERMINAL, ANY (the first value is final). Operators: TAKE(x), a
value as the monoid's type; ADD(s, t).
"""


def reduce_rows(lo, hi, indptr, values, present, out):
    """out[i] = the sum of row i, where it has entries; returns how many have."""
    count = 0
    for i in range(lo, hi):
        p = indptr[i]
        end = indptr[i + 1]
        present[i] = 0
        if p < end:
            x = values[0] if X_ISO else values[p]
            s = TAKE(x)
            if not ANY:
                for q in range(p + 1, end):
                    if HAS_TERMINAL:
                        if s == TERMINAL:
                            break
                    x = values[0] if X_ISO else values[q]
                    t = TAKE(x)
                    s = ADD(s, t)
            out[i] = s
            present[i] = 1
            count += 1
    return count


def reduce_columns(lo, hi, cuts, indptr, indices, values, present, out):
    """out[part, j] = the sum of column j over rows cuts[part]..cuts[part + 1], where it has entries."""
    for part in range(lo, hi):
        for p in range(indptr[cuts[part]], indptr[cuts[part + 1]]):
            j = indices[p]
            if present[part, j] == 0:
                x = values[0] if X_ISO else values[p]
                s = TAKE(x)
                out[part, j] = s
                present[part, j] = 1
            elif not ANY:
                x = values[0] if X_ISO else values[p]
                t = TAKE(x)
                s = out[part, j]
                s = ADD(s, t)
                out[part, j] = s


def reduce_all(lo, hi, values):
    """The sum of values[lo..hi], at least one; made of four, since adding takes longer than loading."""
    quarter = (hi - lo) // 4
    x = values[lo]
    s0 = TAKE(x)
    if quarter < 2:
        for p in range(lo + 1, hi):
            x = values[p]
            t = TAKE(x)
            s0 = ADD(s0, t)
        return s0
    x = values[lo + quarter]
    s1 = TAKE(x)
    x = values[lo + 2 * quarter]
    s2 = TAKE(x)
    x = values[lo + 3 * quarter]
    s3 = TAKE(x)
    for p in range(lo + 1, lo + quarter):
        x = values[p]
        t = TAKE(x)
        s0 = ADD(s0, t)
        x = values[p + quarter]
        t = TAKE(x)
        s1 = ADD(s1, t)
        x = values[p + 2 * quarter]
        t = TAKE(x)
        s2 = ADD(s2, t)
        x = values[p + 3 * quarter]
        t = TAKE(x)
        s3 = ADD(s3, t)
        if HAS_TERMINAL:
            if s0 == TERMINAL:
                break
    for p in range(lo + 4 * quarter, hi):
        x = values[p]
        t = TAKE(x)
        s0 = ADD(s0, t)
    s0 = ADD(s0, s1)
    s2 = ADD(s2, s3)
    s0 = ADD(s0, s2)
    return s0
