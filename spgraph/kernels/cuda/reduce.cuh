// Reductions by a monoid: rows, columns, everything.
//
// Method: `gather` adds up what one thread sees of a run of entries, four reads under way at once. Totals of threads
// are combined in a tree, lower entries left, without the monoid's identity: a thread without entries stands aside.
// Rows: 4 neighbouring threads take a row of at most 64 entries, so that a row of usual length is read in one go. A
// longer one is left to its warp, one of more than 4096 to its block, at the end: hubs then do not hold up a warp.
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

// out[i] = the sum of row i, where it has entries; returns how many have.
//== reduce_rows(indptr, values, present, out) per=4 returns=1 blocks_per_sm=5
constexpr int LANES = 4;        // threads that share a short row
constexpr i64 SHORT = 64;       // entries of a row that they take
constexpr i64 MIDDLING = 4096;  // entries of a row that a warp takes
constexpr int ROOM = 256;       // rows that a block can put off

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

KERNEL {
    __shared__ i64 late[ROOM];  // rows that the block takes at the end
    __shared__ int late_count;
    if (threadIdx.x == 0) late_count = 0;
    __syncthreads();
    const int part = lane() % LANES;
    i64 filled = 0;
    for (i64 base = item(32) * (32 / LANES); base < a.n; base += items(32) * (32 / LANES)) {
        const i64 row = base + lane() / LANES;
        const i64 first = row < a.n ? (i64)load(a.indptr + row) : 0;
        i64 last = row < a.n ? (i64)load(a.indptr + row + 1) : 0;
        if (ANY && last > first) last = first + 1;
        const bool longer = last - first > SHORT;
        i64 count = 0;
        R_ADD total = 0;
        if (!longer) gather(a, first + part, last, LANES, count, total);
        combine_lanes<LANES>(count, total);
        if (part == 0 && row < a.n) {
            filled += last > first;
            if (!longer) put(a, row, last > first, total);
        }
        for (u32 who = __ballot_sync(FULL_WARP, longer && part == 0); who; who &= who - 1) {
            const int leader = __ffs(who) - 1;
            const i64 begin = __shfl_sync(FULL_WARP, first, leader), end = __shfl_sync(FULL_WARP, last, leader);
            if (end - begin > MIDDLING) {
                int place = lane() == 0 ? atomicAdd(&late_count, 1) : 0;
                place = __shfl_sync(FULL_WARP, place, 0);
                if (place < ROOM) {
                    if (lane() == 0) late[place] = base + leader / LANES;
                    continue;
                }
            }
            count = 0;
            gather(a, begin + lane(), end, 32, count, total);
            combine_lanes<32>(count, total);
            if (lane() == 0) put(a, base + leader / LANES, true, total);
        }
    }
    __syncthreads();
    for (int k = 0; k < late_count && k < ROOM; k++) {
        const i64 row = late[k];
        i64 count = 0;
        R_ADD total = 0;
        gather(a, load(a.indptr + row) + threadIdx.x, load(a.indptr + row + 1), BLOCK, count, total);
        block_reduce(count, total, [](R_ADD s, R_ADD t) { return ADD(s, t); });
        if (threadIdx.x == 0) put(a, row, true, total);
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
