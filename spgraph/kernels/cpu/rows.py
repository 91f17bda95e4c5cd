"""Kernels over the entries of CSR rows: apply, select, scale, map to other rows and columns, look up, Kronecker.

Data encoding: CSR; an iso operand has one value. `rows` and `cols` give global ids where
MAPPED, else the numbers themselves are global. Kernels whose result has other entries
than the operand write from 0 on, see `_pieces.produce_rows`. Work: one step per entry.

Compile-time: X_ISO, Y_ISO, VALUES (whether there are values to write), MAPPED, PARTIAL, DROP,
MULTI, KEPT, LEFT, D_ISO. Operators: OP(x, s, i, j) with a scalar s, KEEP(x, s, i, j), PAIR(x, y, ix, jx, iy, jy),
MULT(a, b, ix, jx, iy, jy), STORE(t).
"""

import numpy as np


def apply_flat(lo, hi, values, s, out):
    """out = OP(values), for an operator that does not look at positions."""
    for p in range(lo, hi):
        x = values[p]
        t = OP(x, s)
        out[p] = t


def apply_rows(lo, hi, indptr, indices, values, s, rows, cols, out):
    """out = OP(values) with positions."""
    for i in range(lo, hi):
        gi = rows[i] if MAPPED else i
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            gj = cols[j] if MAPPED else j
            x = values[0] if X_ISO else values[p]
            t = OP(x, s, gi, gj)
            out[p] = t


def select_rows(lo, hi, indptr, indices, values, s, rows, cols, counts, out_indices, out_values):
    """The entries that KEEP wants."""
    q = 0
    for i in range(lo, hi):
        start = q
        gi = rows[i] if MAPPED else i
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            gj = cols[j] if MAPPED else j
            x = values[0] if X_ISO else values[p]
            keep = KEEP(x, s, gi, gj)
            out_indices[q] = j  # whether or not it is kept: a store costs less than a branch that is hard to foresee
            if VALUES:
                out_values[q] = x
            if keep:
                q += 1
        counts[i] = q - start
    return q


def scale_rows(lo, hi, indptr, indices, values, dp, dv, rows, cols, counts, out_indices, out_values):
    """Every entry times that of a diagonal matrix (dp, dv) in its row (LEFT: which stands before it), or its column."""
    q = 0
    for i in range(lo, hi):
        start = q
        gi = rows[i] if MAPPED else i
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            of = i if LEFT else j
            at = dp[of]
            there = dp[of + 1] > at
            if there:
                out_indices[q] = j
                if VALUES:
                    gj = cols[j] if MAPPED else j
                    x = values[0] if X_ISO else values[p]
                    d = dv[0] if D_ISO else dv[at]
                    if LEFT:
                        t = MULT(d, x, gi, gi, gi, gj)
                    else:
                        t = MULT(x, d, gi, gj, gj, gj)
                    out_values[q] = STORE(t)
                q += 1
        counts[i] = q - start
    return q


def map_rows(lo, hi, source, indptr, indices, values, first, target, s, counts, out_indices, out_values):
    """Row i of the result is row source[i], each column j replaced by its targets.

    PARTIAL: source[i] < 0 stands for an empty row. MULTI: the targets of j are
    target[first[j]..first[j + 1]]; DROP: only target[j], and a negative one drops
    the entry; with neither, columns stay. KEPT: of what is there then, what KEEP wants (not with MULTI).
    """
    q = 0
    for i in range(lo, hi):
        start = q
        row = source[i]
        if PARTIAL and row < 0:
            continue
        for p in range(indptr[row], indptr[row + 1]):
            j = indices[p]
            if MULTI:
                for t in range(first[j], first[j + 1]):
                    out_indices[q] = target[t]
                    if VALUES:
                        out_values[q] = values[p]
                    q += 1
            else:
                if DROP:
                    j = target[j]
                there = not DROP or j >= 0
                if KEPT:
                    x = values[0] if X_ISO else values[p]
                    keep = KEEP(x, s, i, j)
                    there = there and keep
                if there:
                    out_indices[q] = j
                    if VALUES:
                        out_values[q] = values[p]
                    q += 1
        counts[i] = q - start
    return q


def first_entries(lo, hi, indptr, indices, values, out_indptr, out_indices, out_values):
    """As many entries of every row as the result has room for, the first ones."""
    for i in range(lo, hi):
        p = indptr[i]
        for q in range(out_indptr[i], out_indptr[i + 1]):
            out_indices[q] = indices[p]
            if VALUES:
                out_values[q] = values[p]
            p += 1


def find_in_rows(lo, hi, indptr, indices, wanted, found):
    """found[i]: where in row i the column wanted[i] stands, or -1."""
    for i in range(lo, hi):
        j = wanted[i]
        p = indptr[i]
        end = indptr[i + 1]
        last = end
        while p < last:
            middle = (p + last) >> 1
            if indices[middle] < j:
                p = middle + 1
            else:
                last = middle
        found[i] = -1
        if p < end and indices[p] == j:
            found[i] = p


def kron_rows(lo, hi, xp, xi, xv, yp, yi, yv, y_rows, y_cols, out_indptr, out_indices, out_values):
    """Rows of the Kronecker product; row i is made of row i // y_rows of X and i % y_rows of Y."""
    for i in range(lo, hi):
        ix = i // y_rows
        iy = i - ix * y_rows
        q = out_indptr[i]
        for a in range(xp[ix], xp[ix + 1]):
            jx = np.int64(xi[a])  # the product may not fit the width of the operands
            x = xv[0] if X_ISO else xv[a]
            for b in range(yp[iy], yp[iy + 1]):
                jy = yi[b]
                out_indices[q] = jx * y_cols + jy
                if VALUES:
                    y = yv[0] if Y_ISO else yv[b]
                    t = PAIR(x, y, ix, jx, iy, jy)
                    out_values[q] = t
                q += 1
