// Row-wise merges of sorted CSR rows: union, intersection, and the masked write.
//
// Method: rows in equal shares (prelude.cuh: Share, make_rows). The candidates of a row of a union are the columns of
// both operands in merged order; which one is the d-th is found by a binary search on the merge path (how many of the
// first d come from X), one for each lane, so no lane waits for another and hubs are spread over many warps. An
// intersection goes through the entries of the operand that has fewer and looks them up in the other's row, as a mask
// is looked up. Each kernel runs twice (FILL false: how many entries each share keeps; FILL true: offsets of rows and
// the entries), see produce.py.
// Data encoding: as kernels/cpu/merge.py; `counts` and `offsets` are per share, `out_indptr` has nrows + 1 places.
// Launch shape: a warp per share.
// Work: for each entry of an operand and each row, in each pass, a search in the row's entries of each operand.
// Source: O. Green, R. McColl, D. Bader, GPU Merge Path, 2012 (the search).

// Where a row has a column: the entry or, if it has none, -1.
template <class I> DEVICE i64 find(const I& indices, i64 first, i64 last, i64 j) {
    const i64 p = lower_bound(indices, first, last, j);
    return p < last && indices[p] == j ? p : -1;
}

#ifdef HAS_MASK
// May (i, j) be written?
template <class P, class I, class V> DEVICE bool mask_allows(const P& mp, const I& mi, const V& mv, i64 i, i64 j) {
    const i64 m = find(mi, mp[i], mp[i + 1], j);
    bool yes = m >= 0;
    if constexpr (VALUED) yes = yes && mv[m] != 0;
    return yes != COMPLEMENT;
}
#endif

// One column of the union of two rows: the entries that have it (-1: none), or neither where the column was
// the candidate before.
struct Pair {
    i64 j, x, y;
};
// Candidate d of the merge of entries x..x_end and y..y_end; of equal columns X's comes first and stands for both.
template <class X, class Y> DEVICE Pair merged(const X& xi, i64 x, i64 x_end, const Y& yi, i64 y, i64 y_end, i64 d) {
    i64 low = d > y_end - y ? d - (y_end - y) : 0, high = d < x_end - x ? d : x_end - x;
    while (low < high) {  // how many of the first d are X's
        const i64 middle = (low + high) >> 1;
        if (xi[x + middle] <= yi[y + d - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    const i64 first = x;
    x += low;
    y += d - low;
    const bool in_x = x < x_end, in_y = y < y_end;
    if (in_x && in_y && xi[x] == yi[y]) return {(i64)xi[x], x, y};
    if (in_x && (!in_y || xi[x] < yi[y])) return {(i64)xi[x], x, -1};
    if (x > first && xi[x - 1] == yi[y]) return {(i64)yi[y], -1, -1};
    return {(i64)yi[y], -1, y};
}

//== ewise_rows(xp, xi, xv, yp, yi, yv, x0, y0, rows, cols,
//=             nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
KERNEL {
    const bool x_leads = UNION || a.xp[a.nrows] <= a.yp[a.nrows], y_leads = UNION || !x_leads;
    const auto ends = [&](i64 i) { return (x_leads ? (i64)a.xp[i] : 0) + (y_leads ? (i64)a.yp[i] : 0); };
    Pair pair;
    i64 row;
    const auto wants = [&](i64 i, i64 k) {
        row = i;
        const i64 x = a.xp[i], x_end = a.xp[i + 1], y = a.yp[i], y_end = a.yp[i + 1];
        if constexpr (UNION) {
            pair = merged(a.xi, x, x_end, a.yi, y, y_end, k);
            return pair.x >= 0 || pair.y >= 0;
        }
        pair.x = x_leads ? x + k : find(a.xi, x, x_end, a.yi[y + k]);
        pair.y = x_leads ? find(a.yi, y, y_end, a.xi[x + k]) : y + k;
        pair.j = x_leads ? a.xi[x + k] : a.yi[y + k];
        return pair.x >= 0 && pair.y >= 0;
    };
    const auto put = [&](i64 q) {
        i64 i = row, j = pair.j;
        a.out_indices[q] = (E_out_indices)j;
        if constexpr (VALUES) {
            if constexpr (MAPPED) {
                i = a.rows[i];
                j = a.cols[j];
            }
            const i64 x = X_ISO ? 0 : pair.x, y = Y_ISO ? 0 : pair.y;
            if (!UNION || (pair.x >= 0 && pair.y >= 0)) a.out_values[q] = BOTH(a.xv[x], a.yv[y], i, j);
            else if (pair.x >= 0) a.out_values[q] = LEFT(a.xv[x], a.y0, i, j);
            else a.out_values[q] = RIGHT(a.x0, a.yv[y], i, j);
        }
    };
    make_rows<FILL>(a, ends, wants, put);
}

//== write_rows(cp, ci, cv, tp, ti, tv, mp, mi, mv, row_in, col_in,
//=             nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.cp[i] + (i64)a.tp[i]; };
    Pair pair;
    const auto wants = [&](i64 i, i64 k) {
        pair = merged(a.ci, a.cp[i], a.cp[i + 1], a.ti, a.tp[i], a.tp[i + 1], k);
        if (pair.x < 0 && pair.y < 0) return false;
        bool inside = true, region = true;
        if constexpr (MASKED) inside = mask_allows(a.mp, a.mi, a.mv, i, pair.j);
        if constexpr (ASSIGN || SUB) region = a.row_in[i] != 0 && a.col_in[pair.j] != 0;
        bool stays = pair.x >= 0;
        if (!inside) {
            pair.y = -1;
            if constexpr (REPLACE) stays = SUB && stays && !region;
        } else if (stays && pair.y < 0 && !ACCUM) {
            stays = !region;
        }
        if (!stays) pair.x = -1;
        return pair.x >= 0 || pair.y >= 0;
    };
    const auto put = [&](i64 q) {
        a.out_indices[q] = (E_out_indices)pair.j;
        if constexpr (VALUES) {
            const i64 c = C_ISO ? 0 : pair.x, t = T_ISO ? 0 : pair.y;
            if (pair.y < 0) a.out_values[q] = a.cv[c];
            else if (!ACCUM || pair.x < 0) a.out_values[q] = STORE(a.tv[t]);
            else a.out_values[q] = ACC(a.cv[c], a.tv[t]);
        }
    };
    make_rows<FILL>(a, ends, wants, put);
}

//== mask_rows(tp, ti, tv, mp, mi, mv,
//=            nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.tp[i]; };
    i64 t, j;
    const auto wants = [&](i64 i, i64 k) {
        t = ends(i) + k;
        j = a.ti[t];
        return mask_allows(a.mp, a.mi, a.mv, i, j);
    };
    const auto put = [&](i64 q) {
        a.out_indices[q] = (E_out_indices)j;
        if constexpr (VALUES) a.out_values[q] = STORE(a.tv[t]);
    };
    make_rows<FILL>(a, ends, wants, put);
}
