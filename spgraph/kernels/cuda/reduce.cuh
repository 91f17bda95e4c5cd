// Reductions by a monoid: rows, columns, everything.
//
// Method: `gather` adds up what one thread sees of a run of entries, four reads under way at once. Totals of threads
// are combined in a tree, lower entries left, without the monoid's identity: a thread without entries stands aside.
// Rows: warps take shares of them, of equal work; 4 neighbouring threads a row of at most 64 entries, so that a row of usual
// length is read in one go, the whole warp a longer one. Giants are taken in pieces by several warps.
// Columns: every entry goes to its column with an atomic, since the transpose costs a sort and the matrix's size again.
// Sums of floats come in any order there and may differ in the last bits from run to run; the engine takes the rows of
// a transpose that is there already.
//
// Data encoding: CSR; an iso operand has one value; present is one byte per row or column.
// Work: one step per entry, fewer where the monoid's terminal value is met.

constexpr int TOGETHER = 4;

DEVICE R_ADD take(const Args& a, i64 p) { return TAKE(look(a.values, X_ISO ? 0 : p)); }

// Adds entries first, first + step, ... below last to `total`, `count` says how many it has.
DEVICE void gather(const Args& a, i64 first, i64 last, i64 step, i64& count, R_ADD& total) {
    for (i64 p = first; p < last; p += TOGETHER * step) {
        R_ADD t[TOGETHER];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++)
            if (p + k * step < last) t[k] = take(a, p + k * step);
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++)
            if (p + k * step < last) {
                total = count ? ADD(total, t[k]) : t[k];
                count++;
            }
        if (ANY || (HAS_TERMINAL && total == TERMINAL)) break;
    }
}

// out[i] = the sum of row i, where it has entries; returns how many have. Shares, giants and pieces as in pull.cuh.
//== reduce_rows(starts, shares, giants, giant_first, piece_of, pieces, giant, partials, arrived, indptr, values, present, out)
//=              per=32 returns=1 blocks_per_sm=5
constexpr int LANES = 4;   // threads that share a short row
constexpr i64 SHORT = 64;  // entries of a row that they take

// The first of WIDTH neighbouring lanes gets what they have together.
template <int WIDTH> DEVICE void combine_lanes(i64& count, R_ADD& total) {
    #pragma unroll
    for (int d = WIDTH / 2; d; d >>= 1) {
        const bool there = __shfl_down_sync(FULL_WARP, (int)(count != 0), d, WIDTH);
        const R_ADD other = of_bits<R_ADD>(__shfl_down_sync(FULL_WARP, bits_of(total), d, WIDTH));
        combine(count, total, (i64)there, other, [](R_ADD s, R_ADD t) { return ADD(s, t); });
    }
}

DEVICE void put(const Args& a, i64 row, bool there, R_ADD total) {
    a.present[row] = there;
    if (there) a.out[row] = total;
}

// A piece of a giant; the warp that comes last adds the pieces up.
DEVICE void piece(const Args& a, i64 p) {
    const i64 which = load(a.piece_of + p), row = load(a.giants + which);
    const i64 first_piece = load(a.giant_first + which), pieces = load(a.giant_first + which + 1) - first_piece;
    const i64 first = (i64)load(a.indptr + row) + (p - first_piece) * a.giant;
    const i64 last = ANY ? first + 1 : min(first + a.giant, (i64)load(a.indptr + row + 1));
    i64 count = 0;
    R_ADD total = 0;
    gather(a, first + lane(), last, 32, count, total);
    combine_lanes<32>(count, total);
    bool complete = false;
    if (lane() == 0) {
        poke(a.partials + p, total);
        __threadfence();
        complete = atomicAdd(a.arrived + which, 1u) == (u32)(pieces - 1);
        if (complete) poke(a.arrived + which, 0);
        __threadfence();
    }
    if (!__shfl_sync(FULL_WARP, complete, 0)) return;
    count = 0;
    for (i64 q = lane(); q < (ANY ? 1 : pieces); q += 32)
        combine(count, total, (i64)1, peek(a.partials + first_piece + q), [](R_ADD s, R_ADD t) { return ADD(s, t); });
    combine_lanes<32>(count, total);
    if (lane() == 0) put(a, row, true, total);
}

KERNEL {
    for (i64 p = item(32); p < a.pieces; p += items(32)) piece(a, p);
    const int part = lane() % LANES;
    i64 filled = 0;
    for (i64 s = item(32); s < a.shares; s += items(32)) {
        const i64 stop = load(a.starts + s + 1);
        for (i64 base = load(a.starts + s); base < stop; base += 32 / LANES) {
            const i64 row = base + lane() / LANES;
            const i64 first = row < stop ? (i64)load(a.indptr + row) : 0, end = row < stop ? (i64)load(a.indptr + row + 1) : 0;
            const bool giant = end - first > a.giant, longer = !ANY && end - first > SHORT && !giant;
            i64 count = 0;
            R_ADD total = 0;
            if (!longer && !giant) gather(a, first + part, ANY && end > first ? first + 1 : end, LANES, count, total);
            combine_lanes<LANES>(count, total);
            if (part == 0 && row < stop) {
                filled += end > first;
                if (!longer && !giant) put(a, row, end > first, total);
            }
            for (u32 who = __ballot_sync(FULL_WARP, longer && part == 0); who; who &= who - 1) {
                const int leader = __ffs(who) - 1;
                const i64 begin = __shfl_sync(FULL_WARP, first, leader), behind = __shfl_sync(FULL_WARP, end, leader);
                count = 0;
                gather(a, begin + lane(), behind, 32, count, total);
                combine_lanes<32>(count, total);
                if (lane() == 0) put(a, base + leader / LANES, true, total);
            }
        }
    }
    report<true>(a, filled);
}

// out[j] = out[j] and all entries of column j combined, present[j] = 1. `out` begins as a value that changes nothing.
// Items are entries; `cuts` and `indptr` are not read.
//== reduce_columns(cuts, indptr, indices, values, present, out)
KERNEL {
    for (i64 first = thread_number(); first < a.n; first += TOGETHER * thread_count()) {
        i64 column[TOGETHER];
        R_ADD t[TOGETHER];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 p = min(first + k * thread_count(), a.n - 1);
            column[k] = load(a.indices + p);
            t[k] = take(a, p);
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (first + k * thread_count() >= a.n) continue;
            R_ADD* sum = a.out + column[k];
            const bool fresh = set_byte(a.present, column[k]);
            bool changed;
            if constexpr (!ANY) atomic_combine(sum, t[k], [](R_ADD x, R_ADD y) { return ADD(x, y); }, changed);
            else if (fresh) *sum = t[k];
        }
    }
}

// All values combined, at least one. For a given grid the order is always the same.
//== reduce_all(values) returns=1 value=ADD blocks_per_sm=4
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    i64 count = 0;
    R_ADD total = 0;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        if (HAS_TERMINAL && stopped(a)) break;
        gather(a, start + threadIdx.x, min(start + SPAN, a.n), BLOCK, count, total);
        if (HAS_TERMINAL && count && total == TERMINAL) {
            stop(a);
            break;
        }
    }
    if (grid_reduce(a, count, total, [](R_ADD s, R_ADD t) { return ADD(s, t); })) {
        a.result->count[0] = bits_of(total);
        hand_over(a.result, a.host, a.sequence);
    }
}
