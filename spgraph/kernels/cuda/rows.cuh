// Kernels over the entries of CSR rows: apply, select, scale, map to other rows and columns, look up, Kronecker.
//
// Method: rows in equal shares (prelude.cuh: Share, make_rows): 32 neighbouring entries a step for each warp, the
// row of each found among the few that the step can touch; reads and writes are coalesced whatever the lengths of
// rows. Kernels whose result has other entries than the operand run twice (FILL false: how many entries each share
// keeps; FILL true: offsets of rows and the entries), see produce.py.
// Data encoding: as kernels/cpu/rows.py; `counts` and `offsets` are per share of the items, `out_indptr` has a place
// for each of the `nrows` rows and one more.
// Launch shape: a warp per share; apply_flat, first_entries and find_in_rows a thread per item.
// Work: one step per entry and row in each pass.

//== apply_flat(values, s, out)
KERNEL {
    for (i64 p = item(1); p < a.n; p += items(1)) a.out[p] = OP(a.values[p], a.s);
}

//== apply_rows(indptr, indices, values, s, rows, cols, out) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        if (share.candidate < 0) continue;
        i64 i = share.row;
        const i64 p = ends(i) + share.candidate;
        i64 j = a.indices[p];
        if constexpr (MAPPED) {
            i = a.rows[i];
            j = a.cols[j];
        }
        a.out[p] = OP(a.values[X_ISO ? 0 : p], a.s, i, j);
    }
}

//== select_rows(indptr, indices, values, s, rows, cols,
//=              nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    i64 p;
    const auto wants = [&](i64 i, i64 k) {
        p = ends(i) + k;
        i64 j = a.indices[p];
        if constexpr (MAPPED) {
            i = a.rows[i];
            j = a.cols[j];
        }
        return KEEP(a.values[X_ISO ? 0 : p], a.s, i, j);
    };
    const auto put = [&](i64 q) {
        a.out_indices[q] = a.indices[p];
        if constexpr (VALUES) a.out_values[q] = a.values[p];
    };
    make_rows<FILL>(a, ends, wants, put);
}

//== scale_rows(indptr, indices, values, dp, dv, rows, cols,
//=             nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    i64 p, i, j, at;
    const auto wants = [&](i64 row, i64 k) {
        p = ends(row) + k;
        i = row;
        j = a.indices[p];
        const i64 of = LEFT ? i : j;
        at = a.dp[of];
        return (i64)a.dp[of + 1] > at;
    };
    const auto put = [&](i64 q) {
        a.out_indices[q] = (E_out_indices)j;
        if constexpr (VALUES) {
            const i64 gi = MAPPED ? (i64)a.rows[i] : i, gj = MAPPED ? (i64)a.cols[j] : j;
            const E_values x = a.values[X_ISO ? 0 : p];
            const E_dv d = a.dv[D_ISO ? 0 : at];
            if constexpr (LEFT) a.out_values[q] = STORE(MULT(d, x, gi, gi, gi, gj));
            else a.out_values[q] = STORE(MULT(x, d, gi, gj, gj, gj));
        }
    };
    make_rows<FILL>(a, ends, wants, put);
}

//== map_rows(source, indptr, indices, values, first, target, s,
//=           costs, nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
// Candidates of row i are the entries of row source[i], of which `costs` is the running sum.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.costs[i]; };
    const auto entry = [&](i64 i, i64 k) { return (i64)a.indptr[a.source[i]] + k; };
    if constexpr (!MULTI) {
        i64 p, j;
        const auto wants = [&](i64 i, i64 k) {
            p = entry(i, k);
            j = a.indices[p];
            if constexpr (DROP) j = a.target[j];
            if constexpr (KEPT) return j >= 0 && KEEP(a.values[X_ISO ? 0 : p], a.s, i, j);
            return j >= 0;
        };
        const auto put = [&](i64 q) {
            a.out_indices[q] = (E_out_indices)j;
            if constexpr (VALUES) a.out_values[q] = a.values[p];
        };
        make_rows<FILL>(a, ends, wants, put);
    } else {
        for (i64 part = item(32); part < a.n; part += items(32)) {
            i64 q = 0;
            if constexpr (FILL) q = a.offsets[part];
            for (Share<decltype(ends)> share(ends, a.nrows, part, a.n); share.next();) {
                i64 p = 0, begin = 0, copies = 0;
                if (share.candidate >= 0) {
                    p = entry(share.row, share.candidate);
                    begin = a.first[a.indices[p]];
                    copies = a.first[a.indices[p] + 1] - begin;
                }
                const i64 upto = warp_scan(copies), all = __shfl_sync(FULL_WARP, upto, 31);
                if constexpr (FILL) {
                    if (share.candidate == -1) a.out_indptr[share.row] = q + upto;
                    begin -= upto - copies;  // so that copy c of the step is target[begin + c]
                    for (i64 step = 0; step < all; step += 32) {
                        const i64 c = step + lane();
                        int from = 0;  // the lane whose copy it is
                        for (int d = 16; d; d >>= 1) {
                            if (__shfl_sync(FULL_WARP, upto, from + d - 1) <= c) from += d;
                        }
                        const i64 t = __shfl_sync(FULL_WARP, begin, from) + c, e = __shfl_sync(FULL_WARP, p, from);
                        if (c < all) {
                            a.out_indices[q + c] = (E_out_indices)a.target[t];
                            if constexpr (VALUES) a.out_values[q + c] = a.values[e];
                        }
                    }
                }
                q += all;
            }
            if constexpr (!FILL) {
                if (lane() == 0) a.counts[part] = q;
            }
        }
    }
}

//== first_entries(indptr, indices, values, out_indptr, out_indices, out_values)
KERNEL {
    for (i64 i = item(1); i < a.n; i += items(1)) {
        i64 p = a.indptr[i];
        for (i64 q = a.out_indptr[i]; q < a.out_indptr[i + 1]; q++, p++) {
            a.out_indices[q] = a.indices[p];
            if constexpr (VALUES) a.out_values[q] = a.values[p];
        }
    }
}

//== find_in_rows(indptr, indices, wanted, found)
KERNEL {
    for (i64 i = item(1); i < a.n; i += items(1)) {
        const i64 end = a.indptr[i + 1], j = a.wanted[i];
        const i64 p = lower_bound(a.indices, a.indptr[i], end, j);
        a.found[i] = p < end && a.indices[p] == j ? p : -1;
    }
}

//== kron_rows(xp, xi, xv, yp, yi, yv, y_rows, y_cols, out_indptr, out_indices, out_values) per=32
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.out_indptr[i]; };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        if (share.candidate < 0) continue;
        const i64 ix = share.row / a.y_rows, iy = share.row - ix * a.y_rows;
        const i64 y_first = a.yp[iy], length = a.yp[iy + 1] - y_first;
        const i64 turn = share.candidate / length;
        const i64 x = a.xp[ix] + turn, y = y_first + (share.candidate - turn * length);
        const i64 jx = a.xi[x], jy = a.yi[y], q = ends(share.row) + share.candidate;
        a.out_indices[q] = (E_out_indices)(jx * a.y_cols + jy);
        if constexpr (VALUES) a.out_values[q] = PAIR(a.xv[X_ISO ? 0 : x], a.yv[Y_ISO ? 0 : y], ix, jx, iy, jy);
    }
}
