"""Row-wise merges of sorted CSR rows: union, intersection, and the masked write.

Data encoding: operands are CSR (`xp`, `xi`, `xv`); an iso operand has one value. A
sparse vector is a matrix of one row (or of several, cut at the same columns); what an
operator's index symbols mean is settled by whoever binds it, the kernels give the
row `gi` and the column `gj`, both global. Every kernel writes from 0 on and
returns how many entries it wrote, see `_pieces.produce_rows`.
Work: one step per entry of each operand.

Compile-time: UNION, X_ISO, Y_ISO, C_ISO, T_ISO, VALUES (whether the result has values
to write), MAPPED (rows and cols give global ids), MASKED, COMPLEMENT, VALUED,
REPLACE, ACCUM, ASSIGN, SUB. Operators: BOTH(x, y, i, j), LEFT(x, i, j), RIGHT(y, i, j),
STORE(t), ACC(c, t).
"""


def ewise_rows(lo, hi, xp, xi, xv, yp, yi, yv, x0, y0, rows, cols, counts, out_indices, out_values):
    """Union (LEFT and RIGHT where one operand lacks an entry, given the defaults x0, y0) or intersection."""
    q = 0
    for i in range(lo, hi):
        start = q
        a = xp[i]
        b = yp[i]
        a_end = xp[i + 1]
        b_end = yp[i + 1]
        gi = rows[i] if MAPPED else i
        while a < a_end or b < b_end:
            if not UNION and (a == a_end or b == b_end):
                break
            # the next column of each, or one beyond all
            ja = xi[a] if a < a_end else yi[b] + 1
            jb = yi[b] if b < b_end else xi[a] + 1
            j = min(ja, jb)
            gj = cols[j] if MAPPED else j
            if ja == jb:
                if VALUES:
                    x = xv[0] if X_ISO else xv[a]
                    y = yv[0] if Y_ISO else yv[b]
                    t = BOTH(x, y, gi, gj)
                    out_values[q] = t
                a += 1
                b += 1
            elif ja < jb:
                if UNION and VALUES:
                    x = xv[0] if X_ISO else xv[a]
                    t = LEFT(x, y0, gi, gj)
                    out_values[q] = t
                a += 1
            else:
                if UNION and VALUES:
                    y = yv[0] if Y_ISO else yv[b]
                    t = RIGHT(x0, y, gi, gj)
                    out_values[q] = t
                b += 1
            if UNION or ja == jb:
                out_indices[q] = j
                q += 1
        counts[i] = q - start
    return q


def write_rows(lo, hi, cp, ci, cv, tp, ti, tv, mp, mi, mv, row_in, col_in, counts, out_indices, out_values):
    """C<M, replace> = accum(C, T), or an assignment of T to the region row_in x col_in of C.

    ASSIGN: entries of C in the region that T lacks go, those outside stay; the mask is
    over all of C. SUB: the same, but nothing outside the region changes at all.
    """
    q = 0
    for i in range(lo, hi):
        start = q
        a = cp[i]
        b = tp[i]
        a_end = cp[i + 1]
        b_end = tp[i + 1]
        if MASKED:
            m = mp[i]
            m_end = mp[i + 1]
        while a < a_end or b < b_end:
            ja = ci[a] if a < a_end else ti[b] + 1
            jb = ti[b] if b < b_end else ci[a] + 1
            j = min(ja, jb)
            inside = True
            if MASKED:
                while m < m_end and mi[m] < j:
                    m += 1
                inside = m < m_end and mi[m] == j
                if VALUED:
                    inside = inside and mv[m] != 0
                if COMPLEMENT:
                    inside = not inside
            region = True
            if ASSIGN or SUB:
                region = row_in[i] != 0 and col_in[j] != 0
            old = ja <= jb  # C has an entry here
            new = jb <= ja  # T has one
            if not inside:
                new = False
                if REPLACE:
                    old = SUB and old and not region
            elif old and not new and not ACCUM:
                old = not region
            if old or new:
                if VALUES:
                    if new:
                        t = tv[0] if T_ISO else tv[b]
                        if ACCUM and old:
                            c = cv[0] if C_ISO else cv[a]
                            c = ACC(c, t)
                        else:
                            c = STORE(t)
                    else:
                        c = cv[0] if C_ISO else cv[a]
                    out_values[q] = c
                out_indices[q] = j
                q += 1
            if ja <= jb:
                a += 1
            if jb <= ja:
                b += 1
        counts[i] = q - start
    return q


def mask_rows(lo, hi, tp, ti, tv, mp, mi, mv, counts, out_indices, out_values):
    """The entries of T that the mask allows."""
    q = 0
    for i in range(lo, hi):
        start = q
        m = mp[i]
        m_end = mp[i + 1]
        for b in range(tp[i], tp[i + 1]):
            j = ti[b]
            while m < m_end and mi[m] < j:
                m += 1
            inside = m < m_end and mi[m] == j
            if VALUED:
                inside = inside and mv[m] != 0
            if COMPLEMENT:
                inside = not inside
            if inside:
                if VALUES:
                    t = tv[b]
                    t = STORE(t)
                    out_values[q] = t
                out_indices[q] = j
                q += 1
        counts[i] = q - start
    return q
