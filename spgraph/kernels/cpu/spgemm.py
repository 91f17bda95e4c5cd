"""Sparse matrix times sparse matrix over a semiring, row by row.

Three methods, all for rows lo..hi of the result; which one serves is for
`engine.matrix_plan` to say:

``gustavson``         adds up the rows of B that row i of A selects in a dense
                      accumulator with marks (Gustavson, ACM TOMS 4(3), 1978); a
                      complemented mask is marked as forbidden beforehand. Where a row
                      has many products, every one is added without looking and the
                      marks are scanned, which needs no branch and no sort; else the
                      columns are listed and sorted (by radix, or insertion if few).
``gustavson_masked``  the same within a mask: only marked columns are added up, and
                      the result comes out in the order of the mask.
``dot_masked``        one dot product per entry (i, j) of the mask: row j of B^T is looked up
                      in row i of A, which is spread out, and stops at the
                      monoid's terminal value.

The masked methods bisect the longer list for the entries of the shorter one where that
is cheaper: at SEARCH times as long.

Data encoding: CSR; iso operands, and those whose values the multiplication does not
use, have one value that stands for all. Scratch: `acc` and `mark` (uint8) have one place
per column, padded to a multiple of 8; `words` is the memory of `mark` as uint64. Before
and after, `acc` is the identity (``gustavson_masked``: anything) and `mark` zero. The
result is written from 0 on, see `_pieces.produce_rows`.
Work: one step per product, or per comparison.

Compile-time: A_ISO, B_ISO, VALUES (False: only the pattern is wanted), ANY (any one
product will do), HAS_TERMINAL, TERMINAL, IDENTITY, MAPPED (rows, inner, cols give global ids),
COMPLEMENT, VALUED. Operators: MULT(a, b, ix, jx, iy, jy), ADD(s, t), STORE(s).
"""

SEARCH = 16
DENSE = 128  # all columns are scanned for marks if a row has more products than 1/DENSE of them
SHORT = 32  # up to so many entries insertion sort serves


def row_costs(lo, hi, indptr, indices, weights, mask_indptr, costs):
    """costs[i + 1]: sum over row i of the weights it selects, bisection allowed for where LIMITED by a mask.

    LIMITED: as many searches as the mask's row has entries can replace a longer list.
    """
    for i in range(lo, hi):
        total = 0
        if LIMITED:
            limit = (mask_indptr[i + 1] - mask_indptr[i]) * SEARCH
        for p in range(indptr[i], indptr[i + 1]):
            weight = weights[indices[p]]
            if LIMITED and weight > limit:
                total += limit
            else:
                total += weight
        costs[i + 1] = total


def gustavson(lo, hi, ap, ai, av, bp, bi, bv, mp, mi, mv, rows, inner, cols, costs,
              acc, mark, words, digits, spare, counts, out_indices, out_values):
    """Rows of A B, all columns or (COMPLEMENT) those that the mask does not have."""
    q = 0
    for i in range(lo, hi):
        start = q
        gi = rows[i] if MAPPED else i
        if COMPLEMENT:
            for p in range(mp[i], mp[i + 1]):
                if not VALUED or mv[p] != 0:
                    mark[mi[p]] = 2
        if (costs[i + 1] - costs[i]) * DENSE > spare.size:  # add up without looking, then scan
            for p in range(ap[i], ap[i + 1]):
                k = ai[p]
                a = av[0] if A_ISO else av[p]
                gk = inner[k] if MAPPED else k
                for s in range(bp[k], bp[k + 1]):
                    j = bi[s]
                    if VALUES:
                        b = bv[0] if B_ISO else bv[s]
                        gj = cols[j] if MAPPED else j
                        t = MULT(a, b, gi, gk, gk, gj)
                        if not ANY:
                            r = acc[j]
                            t = ADD(r, t)
                        acc[j] = t
                    if COMPLEMENT:
                        mark[j] |= 1
                    else:
                        mark[j] = 1
            for w in range(words.size):
                if words[w] != 0:
                    for j in range(8 * w, 8 * w + 8):
                        out_indices[q] = j
                        if VALUES:
                            r = acc[j]
                            z = STORE(r)
                            out_values[q] = z
                            acc[j] = IDENTITY
                        if mark[j] == 1:
                            q += 1
                    words[w] = 0
            counts[i] = q - start
            continue
        for p in range(ap[i], ap[i + 1]):
            k = ai[p]
            a = av[0] if A_ISO else av[p]
            gk = inner[k] if MAPPED else k
            for s in range(bp[k], bp[k + 1]):
                j = bi[s]
                state = mark[j]
                if state == 0:
                    mark[j] = 1
                    out_indices[q] = j
                    q += 1
                if VALUES and not ((ANY and state == 1) or (COMPLEMENT and state == 2)):
                    b = bv[0] if B_ISO else bv[s]
                    gj = cols[j] if MAPPED else j
                    t = MULT(a, b, gi, gk, gk, gj)
                    if not ANY:
                        r = acc[j]
                        t = ADD(r, t)
                    acc[j] = t
        count = q - start
        if count > SHORT:
            shift = 0
            while (spare.size - 1) >> shift > 0:
                for d in range(256):
                    digits[d] = 0
                for p in range(start, q):
                    digits[(out_indices[p] >> shift) & 255] += 1
                at = 0
                for d in range(256):
                    size = digits[d]
                    digits[d] = at
                    at += size
                for p in range(start, q):
                    d = (out_indices[p] >> shift) & 255
                    spare[digits[d]] = out_indices[p]
                    digits[d] += 1
                for p in range(count):
                    out_indices[start + p] = spare[p]
                shift += 8
        else:
            for p in range(start + 1, q):
                j = out_indices[p]
                at = p
                while at > start and out_indices[at - 1] > j:
                    out_indices[at] = out_indices[at - 1]
                    at -= 1
                out_indices[at] = j
        for p in range(start, q):
            j = out_indices[p]
            mark[j] = 0
            if VALUES:
                r = acc[j]
                z = STORE(r)
                out_values[p] = z
                acc[j] = IDENTITY
        if COMPLEMENT:
            for p in range(mp[i], mp[i + 1]):
                mark[mi[p]] = 0
        counts[i] = count
    return q


def gustavson_masked(lo, hi, ap, ai, av, bp, bi, bv, mp, mi, mv, rows, inner, cols,
                     acc, mark, counts, out_indices, out_values):
    """Rows of A B within the mask (marks: 1 allowed, 2 has a product)."""
    q = 0
    for i in range(lo, hi):
        start = q
        m_start = mp[i]
        m_end = mp[i + 1]
        gi = rows[i] if MAPPED else i
        if m_start < m_end and ap[i] < ap[i + 1]:
            for m in range(m_start, m_end):
                if not VALUED or mv[m] != 0:
                    mark[mi[m]] = 1
            limit = (m_end - m_start) * SEARCH
            for p in range(ap[i], ap[i + 1]):
                k = ai[p]
                a = av[0] if A_ISO else av[p]
                gk = inner[k] if MAPPED else k
                s = bp[k]
                s_end = bp[k + 1]
                m = m_start
                search = limit < s_end - s
                while s < s_end:
                    if search:  # the next column of the mask that row k of B has, or none
                        if m == m_end:
                            break
                        j = mi[m]
                        m += 1
                        last = s_end
                        while s < last:
                            middle = (s + last) >> 1
                            if bi[middle] < j:
                                s = middle + 1
                            else:
                                last = middle
                        if s == s_end:
                            break
                        if bi[s] != j:
                            continue
                    j = bi[s]
                    state = mark[j]
                    if state != 0:
                        if VALUES and not (ANY and state == 2):
                            b = bv[0] if B_ISO else bv[s]
                            gj = cols[j] if MAPPED else j
                            t = MULT(a, b, gi, gk, gk, gj)
                            if state == 2:
                                r = acc[j]
                                r = ADD(r, t)
                                acc[j] = r
                            else:
                                acc[j] = t
                        mark[j] = 2
                    s += 1
            for m in range(m_start, m_end):
                j = mi[m]
                if mark[j] == 2:
                    if VALUES:
                        r = acc[j]
                        z = STORE(r)
                        out_values[q] = z
                    out_indices[q] = j
                    q += 1
                mark[j] = 0
        counts[i] = q - start
    return q


def dot_masked(lo, hi, ap, ai, av, tp, ti, tv, mp, mi, mv, rows, inner, cols,
               where, counts, out_indices, out_values):
    """Rows of A B within the mask, given the CSR (tp, ti, tv) of B's transpose.

    where[k] is 1 + the offset within row i of A of the entry in column k, or 0.
    """
    q = 0
    for i in range(lo, hi):
        start = q
        a_start = ap[i]
        a_end = ap[i + 1]
        gi = rows[i] if MAPPED else i
        if mp[i] < mp[i + 1] and a_start < a_end:
            for p in range(a_start, a_end):
                where[ai[p]] = p - a_start + 1
            limit = (a_end - a_start) * SEARCH
            for m in range(mp[i], mp[i + 1]):
                j = mi[m]
                gj = cols[j] if MAPPED else j
                s = tp[j]
                s_end = tp[j + 1]
                if VALUED and mv[m] == 0:
                    s = s_end
                p = a_start
                search = limit < s_end - s
                found = False
                if VALUES:
                    r = IDENTITY
                while s < s_end:
                    if search:  # the next column of row i of A that row j of B^T has, or none
                        if p == a_end:
                            break
                        k = ai[p]
                        p += 1
                        last = s_end
                        while s < last:
                            middle = (s + last) >> 1
                            if ti[middle] < k:
                                s = middle + 1
                            else:
                                last = middle
                        if s == s_end:
                            break
                        if ti[s] != k:
                            continue
                    k = ti[s]
                    at = where[k]
                    if at != 0:
                        if VALUES:
                            a = av[0] if A_ISO else av[a_start + at - 1]
                            b = tv[0] if B_ISO else tv[s]
                            gk = inner[k] if MAPPED else k
                            t = MULT(a, b, gi, gk, gk, gj)
                            if found:
                                r = ADD(r, t)
                            else:
                                r = t
                        found = True
                        if ANY or not VALUES:
                            break
                        if HAS_TERMINAL:
                            if r == TERMINAL:
                                break
                    s += 1
                if found:
                    if VALUES:
                        z = STORE(r)
                        out_values[q] = z
                    out_indices[q] = j
                    q += 1
            for p in range(a_start, a_end):
                where[ai[p]] = 0
        counts[i] = q - start
    return q
