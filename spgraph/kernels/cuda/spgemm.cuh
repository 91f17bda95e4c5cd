// Sparse matrix times sparse matrix over a semiring, within a mask; what the steps of every method cost.
//
// Both methods intersect pairs of ascending lists, the entries of the shorter one looked up in the longer one by
// bisection (N. Bell's and O. Green's set intersections on GPUs, without a merge path):
//   mask_dots   one dot product per entry (i, j) of the mask, row i of A with row j of B^T; a product that has reached the
//               monoid's terminal value stops. Nothing is shared, so nothing is atomic.
//   mask_sums   Gustavson's method: for each entry (i, k) of A, row i of the mask with row k of B; what they share is added
//               to the mask's entry, atomically. Values start from the monoid's neutral one.
// Both leave a flag and a value per entry of the mask; mask_pack keeps what is flagged. (A reduction of all products, a
// count of triangles, needs the values only: it can take the place of `keep` in mask_dots.)
//
// Balance: entries in equal shares per warp, 32 at a time; the steps of all 32 pairs are one sequence, dealt to the lanes.
// From LONG steps on a dot product has the whole warp, from GIANT steps on a pair has the whole block, at the end.
// Data encoding: CSR, columns ascending; iso operands, and those that the multiplication does not use, have one value.
// Work: per entry the shorter length times the logarithm of the longer one; row_costs counts the former.
//
// Constants and operators: as in kernels/cpu/spgemm.py, and COUNTED (all products are one number, added up by plus).

constexpr int LONG = 96;
constexpr i64 GIANT = 4096;
constexpr int GIANTS = 64;  // that a block has room for; a further one stays with its warp

template <class P> struct Ends {
    const P* indptr;
    DEVICE i64 operator()(i64 i) const { return (i64)load(indptr + i); }
};

// Offset of x in an ascending list, or -1.
template <class T> DEVICE T find(const T* list, T length, T x) {
    T at = 0;
    while (length > 1) {
        const T half = length >> 1;
        if (load(list + at + half) <= x) at += half;
        length -= half;
    }
    return length == 1 && load(list + at) == x ? at : (T)-1;
}

// Two ascending lists, rows of CSRs; `swapped`: the first is the longer one.
template <class T> struct Lists {
    const T* shorter;
    const T* longer;
    T steps, length;
    bool swapped;

    DEVICE Lists() : shorter(nullptr), longer(nullptr), steps(0), length(0), swapped(false) {}
    template <class P, class Q> DEVICE Lists(const T* x, const P* x_ptr, i64 i, const T* y, const Q* y_ptr, i64 j) {
        const i64 x_at = load(x_ptr + i), y_at = load(y_ptr + j);
        const T nx = (T)(load(x_ptr + i + 1) - x_at), ny = (T)(load(y_ptr + j + 1) - y_at);
        swapped = ny < nx;
        shorter = swapped ? y + y_at : x + x_at;
        longer = swapped ? x + x_at : y + y_at;
        steps = swapped ? ny : nx;
        length = swapped ? nx : ny;
    }
    DEVICE Lists of_lane(int who) const {
        Lists other;
        other.shorter = from_lane(shorter, who);
        other.longer = from_lane(longer, who);
        other.steps = from_lane(steps, who);
        other.length = from_lane(length, who);
        other.swapped = from_lane(swapped, who);
        return other;
    }
    // Whether the entry at step `at` is in both lists, and where it stands in the first and in the second.
    DEVICE bool meet(i64 at, const T*& x, const T*& y) const {
        const T place = find(longer, length, load(shorter + at));
        x = swapped ? longer + place : shorter + at;
        y = swapped ? shorter + at : longer + place;
        return place >= 0;
    }
};

// The steps of one pair, by the threads `thread` of `threads` (whole warps): visit(hit, x, y) by all lanes together;
// true ends it for the warp.
template <class T, class Visit> DEVICE void walk(const Lists<T>& lists, int thread, int threads, const Visit& visit) {
    for (i64 base = thread - lane(); base < lists.steps; base += threads) {
        const T *x = nullptr, *y = nullptr;
        const bool hit = base + lane() < lists.steps && lists.meet(base + lane(), x, y);
        if (visit(hit, x, y)) return;
    }
}

// The steps of the pairs of all lanes as one sequence, up to `steps` of each (0: none of them):
// visit(who, mine, hit, x, y): the step belongs to lane `who`; the lanes `mine` now work for this one.
template <class T, class Visit> DEVICE void walk_all(const Lists<T>& lists, bool take_part, const Visit& visit) {
    const int steps = take_part ? (int)lists.steps : 0;
    const int end = warp_scan(steps), start = end - steps;
    const int total = __shfl_sync(FULL_WARP, end, 31);
    for (int base = 0; base < total; base += 32) {
        const int at = base + lane();
        int who = 0;  // the first lane whose steps end behind this one
        for (int d = 16; d; d >>= 1)
            if (__shfl_sync(FULL_WARP, end, who + d - 1) <= at) who += d;
        const Lists<T> theirs = lists.of_lane(who);
        const int step = at - __shfl_sync(FULL_WARP, start, who);
        const T *x = nullptr, *y = nullptr;
        const bool hit = at < total && theirs.meet(step, x, y);
        const int from = max(start - base, 0), upto = min(end - base, 32);
        const u32 mine = from < upto ? (FULL_WARP >> (32 - upto + from)) << from : 0;
        visit(who, mine, hit, x, y);
    }
}

// Entries that wait for the whole block.
struct Waiting {
    i64 entry[GIANTS];
    int count;
};
DEVICE bool wait_for_block(Waiting& waiting, bool giant, i64 entry) {
    if (!giant) return false;
    const int place = atomicAdd(&waiting.count, 1);
    if (place < GIANTS) waiting.entry[place] = entry;
    return place < GIANTS;
}

// Row of entry e.
template <class P> DEVICE i64 row_of(const P* indptr, i64 rows, i64 e) { return upper_bound(indptr, 0, rows + 1, e) - 1; }

// costs[i + 1] += what row i's entries weigh; with a mask, none weighs more than its row of the mask is long.
//== row_costs(indptr, indices, weights, mask_indptr, costs) per=8
KERNEL {
    const Ends<E_indptr> ends = {a.indptr};
    for (Share<Ends<E_indptr>> share(ends, a.n, item(32), items(32)); share.next();) {
        const i64 row = share.row;
        i64 cost = 0;
        if (share.candidate >= 0) {
            cost = load(a.weights + load(a.indices + load(a.indptr + row) + share.candidate));
            if constexpr (LIMITED) cost = min(cost, (i64)(load(a.mask_indptr + row + 1) - load(a.mask_indptr + row)) * SEARCH);
        }
        for (int d = 1; d < 32; d <<= 1) {  // the last lane of each row gets the row's sum
            const i64 before = __shfl_up_sync(FULL_WARP, cost, d), other = __shfl_up_sync(FULL_WARP, row, d);
            if (lane() >= d && other == row) cost += before;
        }
        const i64 next = __shfl_down_sync(FULL_WARP, row, 1);
        if (cost && (lane() == 31 || next != row)) atomicAdd((u64*)(a.costs + row + 1), (u64)cost);
    }
}

// Rows in bins, for gustavson.cuh, by how many products and how many columns they have: 0 for a warp, 1 for a block, 2 for
// the card. Counts the rows of each bin or (FILL) lists them, where the others begin at `second` and `third`.
//== row_bins(costs, sizes, width, second, third, ends, list) returns=3 unless=FILL
DEVICE int bin_of(const Args& a, i64 i) {
    const i64 products = load(a.costs + i + 1) - load(a.costs + i);
    const i64 size = SIZED ? (i64)load(a.sizes + i) : min(products, a.width);
    if (size == 0) return -1;
    if (size <= SMALL && products <= SMALL_WORK) return 0;
    return size <= MEDIUM && products <= MEDIUM_WORK ? 1 : 2;
}
template <class A> DEVICE void hand_in(const A& args, const i64* counts) {
    for (int b = 0; b < 3; b++) tally(args.result, b, counts[b]);
    publish(args);
}

KERNEL {
    const i64 starts[3] = {0, a.second, a.third};
    i64 counts[3] = {0, 0, 0};
    for (i64 base = item(1) - lane(); base < a.n; base += items(1)) {
        const i64 i = base + lane();
        const int bin = i < a.n ? bin_of(a, i) : -1;
        for (int b = 0; b < 3; b++) {
            if constexpr (FILL) {
                const i64 place = starts[b] + append(a.ends + b, bin == b);
                if (bin == b) a.list[place] = i;
            } else {
                counts[b] += bin == b;
            }
        }
    }
    if constexpr (!FILL) hand_in(a, counts);
}

// found[m], values[m]: the dot product of entry m of the mask, if there is one.
//== mask_dots(ap, ai, av, tp, ti, tv, mp, mi, mv, rows, inner, cols, nrows, found, values) per=32
struct Sum {
    R_ADD total;
    i64 count;  // of products that are in it

    DEVICE Sum() : total(IDENTITY), count(0) {}
    DEVICE void add(R_ADD x, i64 number) {
        if (!number) return;
        if constexpr (VALUES && !COUNTED) total = count && !ANY ? ADD(total, x) : x;
        count += number;
    }
    DEVICE bool is_final() const {
        if constexpr (ANY || !VALUES) return count != 0;
        else if constexpr (HAS_TERMINAL) return count && total == (R_ADD)TERMINAL;
        else return false;
    }
    DEVICE void join_lanes() {
        for (int d = 16; d; d >>= 1) add(from_lane_xor(total, d), from_lane_xor(count, d));
    }
};

// What a pair's matching entries multiply to.
struct Factors {
    const Args& a;
    DEVICE R_ADD operator()(i64 gi, i64 gj, const E_ai* x, const E_ai* y) const {
        const i64 p = x - a.ai, s = y - a.ti;
        const i64 k = MAPPED ? (i64)look(a.inner, load(x)) : (i64)load(x);
        return MULT(look(a.av, A_ISO ? 0 : p), look(a.tv, B_ISO ? 0 : s), gi, k, k, gj);
    }
};

DEVICE void keep(const Args& a, i64 m, const Sum& sum) {
    a.found[m] = sum.count != 0;
    if constexpr (VALUES)
        if (sum.count) {
            R_ADD total = sum.total;
            if constexpr (COUNTED) {
                const R_ADD one = MULT(look(a.av, 0), look(a.tv, 0), 0, 0, 0, 0);
                if constexpr (Integer<R_ADD>::value) total = (R_ADD)((u64)one * (u64)sum.count);
                else total = one * (R_ADD)sum.count;
            }
            a.values[m] = total;
        }
}

KERNEL {
    __shared__ Waiting waiting;
    __shared__ R_ADD totals[BLOCK / 32];
    __shared__ i64 counts[BLOCK / 32];
    __shared__ bool stop;
    if (threadIdx.x == 0) waiting.count = 0;
    __syncthreads();
    const Ends<E_mp> ends = {a.mp};
    const Factors product = {a};
    for (i64 part = item(32); part < a.n; part += items(32))
        for (Share<Ends<E_mp>> share(ends, a.nrows, part, a.n); share.next();) {
            const i64 i = share.row, m = share.candidate < 0 ? 0 : load(a.mp + i) + share.candidate;
            const bool open = share.candidate >= 0 && (!VALUED || look(a.mv, m) != 0);
            const i64 j = open ? (i64)load(a.mi + m) : 0;
            const Lists<E_ai> lists = open ? Lists<E_ai>(a.ai, a.ap, i, a.ti, a.tp, j) : Lists<E_ai>();
            const i64 gi = MAPPED ? (i64)look(a.rows, i) : i, gj = MAPPED ? (i64)look(a.cols, j) : j;
            const bool waits = wait_for_block(waiting, lists.steps >= GIANT, m);
            Sum sum;
            u32 alone = __ballot_sync(FULL_WARP, lists.steps >= LONG && !waits);
            while (alone) {
                const int who = __ffs(alone) - 1;
                alone &= alone - 1;
                const i64 ri = from_lane(gi, who), rj = from_lane(gj, who);
                Sum one;
                walk(lists.of_lane(who), lane(), 32, [&](bool hit, const E_ai* x, const E_ai* y) {
                    if (hit && !one.is_final()) one.add(VALUES && !COUNTED ? product(ri, rj, x, y) : (R_ADD)IDENTITY, 1);
                    return __any_sync(FULL_WARP, one.is_final()) != 0;
                });
                one.join_lanes();
                if (lane() == who) sum = one;
            }
            walk_all(lists, lists.steps < LONG, [&](int who, u32 mine, bool hit, const E_ai* x, const E_ai* y) {
                mine &= __ballot_sync(FULL_WARP, hit);
                if constexpr (!VALUES || COUNTED) {
                    sum.count += __popc(mine);
                } else {
                    const i64 ri = from_lane(gi, who), rj = from_lane(gj, who);
                    const R_ADD term = hit ? product(ri, rj, x, y) : (R_ADD)IDENTITY;
                    while (__any_sync(FULL_WARP, mine != 0)) {
                        const R_ADD next = from_lane(term, mine ? __ffs(mine) - 1 : lane());
                        sum.add(next, mine != 0);
                        mine = ANY ? 0 : mine & (mine - 1);
                    }
                }
            });
            if (share.candidate >= 0 && !waits) keep(a, m, sum);
        }
    __syncthreads();
    const int giants = min(waiting.count, GIANTS);
    for (int g = 0; g < giants; g++) {
        if (threadIdx.x == 0) stop = false;
        __syncthreads();
        const i64 m = waiting.entry[g], i = row_of(a.mp, a.nrows, m), j = load(a.mi + m);
        const i64 gi = MAPPED ? (i64)look(a.rows, i) : i, gj = MAPPED ? (i64)look(a.cols, j) : j;
        Sum sum;
        walk(Lists<E_ai>(a.ai, a.ap, i, a.ti, a.tp, j), threadIdx.x, BLOCK, [&](bool hit, const E_ai* x, const E_ai* y) {
            if (hit && !sum.is_final()) sum.add(VALUES && !COUNTED ? product(gi, gj, x, y) : (R_ADD)IDENTITY, 1);
            if (sum.is_final()) *(volatile bool*)&stop = true;
            return __any_sync(FULL_WARP, peek(&stop)) != 0;
        });
        sum.join_lanes();
        if (lane() == 0) {
            totals[threadIdx.x / 32] = sum.total;
            counts[threadIdx.x / 32] = sum.count;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < BLOCK / 32; w++) sum.add(totals[w], counts[w]);
            keep(a, m, sum);
        }
    }
}

// found[m], values[m]: the sum of the products at entry m of the mask; found was 0, values the neutral value.
//== mask_sums(ap, ai, av, bp, bi, bv, mp, mi, mv, rows, inner, cols, nrows, found, values) per=32
struct Deliver {
    const Args& a;
    // The product of entry e of A, in row gi and column gk, with B's entry at y, for the mask's entry at x; all lanes.
    DEVICE void operator()(bool hit, i64 e, i64 gi, i64 gk, const E_bi* x, const E_bi* y) const {
        const i64 m = x - a.mi, s = y - a.bi;
        if constexpr (VALUED) hit = hit && look(a.mv, m) != 0;
        if constexpr (!VALUES || ANY) {
            if (hit && set_byte(a.found, m)) {
                if constexpr (VALUES) a.values[m] = product(e, gi, gk, s);
            }
        } else {
            u32 hits = __ballot_sync(FULL_WARP, hit);
            if (!hits) return;
            R_ADD term = hit ? product(e, gi, gk, s) : (R_ADD)IDENTITY;
            const int first = __ffs(hits) - 1;
            const i64 there = from_lane(m, first);  // where many meet at one entry, they go there together
            bool same = hit && m == there;
            if (__popc(__ballot_sync(FULL_WARP, same)) > 4) {
                hit = hit && !same;
                R_ADD total = term;
                for (int d = 16; d; d >>= 1) {
                    const R_ADD other = from_lane_xor(total, d);
                    const bool too = from_lane_xor(same, d);
                    if (too) total = same ? ADD(total, other) : other;
                    same = same || too;
                }
                if (lane() == first) {
                    hit = true;
                    term = total;
                }
            }
            if (hit) {
                bool changed;
                if (!peek(a.found + m)) a.found[m] = 1;
                atomic_combine(a.values + m, term, [](R_ADD r, R_ADD t) { return ADD(r, t); }, changed);
            }
        }
    }
    DEVICE R_ADD product(i64 e, i64 gi, i64 gk, i64 s) const {
        const i64 j = MAPPED ? (i64)look(a.cols, load(a.bi + s)) : (i64)load(a.bi + s);
        return MULT(look(a.av, A_ISO ? 0 : e), look(a.bv, B_ISO ? 0 : s), gi, gk, gk, j);
    }
};

KERNEL {
    __shared__ Waiting waiting;
    if (threadIdx.x == 0) waiting.count = 0;
    __syncthreads();
    const Ends<E_ap> ends = {a.ap};
    const Deliver deliver = {a};
    for (i64 part = item(32); part < a.n; part += items(32))
        for (Share<Ends<E_ap>> share(ends, a.nrows, part, a.n); share.next();) {
            const bool there = share.candidate >= 0;
            const i64 i = share.row, e = there ? load(a.ap + i) + share.candidate : 0;
            const i64 k = there ? (i64)load(a.ai + e) : 0;
            const Lists<E_bi> lists = there ? Lists<E_bi>(a.mi, a.mp, i, a.bi, a.bp, k) : Lists<E_bi>();
            const i64 gi = MAPPED ? (i64)look(a.rows, i) : i, gk = MAPPED ? (i64)look(a.inner, k) : k;
            const bool waits = wait_for_block(waiting, lists.steps >= GIANT, e);
            u32 alone = __ballot_sync(FULL_WARP, lists.steps >= GIANT && !waits);
            while (alone) {
                const int who = __ffs(alone) - 1;
                alone &= alone - 1;
                const i64 re = from_lane(e, who), ri = from_lane(gi, who), rk = from_lane(gk, who);
                walk(lists.of_lane(who), lane(), 32, [&](bool hit, const E_bi* x, const E_bi* y) {
                    deliver(hit, re, ri, rk, x, y);
                    return false;
                });
            }
            walk_all(lists, lists.steps < GIANT, [&](int who, u32, bool hit, const E_bi* x, const E_bi* y) {
                deliver(hit, from_lane(e, who), from_lane(gi, who), from_lane(gk, who), x, y);
            });
        }
    __syncthreads();
    const int giants = min(waiting.count, GIANTS);
    for (int g = 0; g < giants; g++) {
        const i64 e = waiting.entry[g], i = row_of(a.ap, a.nrows, e), k = load(a.ai + e);
        const i64 gi = MAPPED ? (i64)look(a.rows, i) : i, gk = MAPPED ? (i64)look(a.inner, k) : k;
        walk(Lists<E_bi>(a.mi, a.mp, i, a.bi, a.bp, k), threadIdx.x, BLOCK, [&](bool hit, const E_bi* x, const E_bi* y) {
            deliver(hit, e, gi, gk, x, y);
            return false;
        });
    }
}

// The entries of the mask that were found, at their offsets.
//== mask_pack(indices, found, values, offsets, out_indices, out_values)
KERNEL {
    for (i64 m = item(1); m < a.n; m += items(1))
        if (a.found[m]) {
            const i64 q = a.offsets[m];
            a.out_indices[q] = a.indices[m];
            if constexpr (VALUES) a.out_values[q] = STORE(a.values[m]);
        }
}
