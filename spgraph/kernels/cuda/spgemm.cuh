// Sparse matrix times sparse matrix over a semiring, within a mask; what the steps of every method cost.
//
// Both methods intersect pairs of ascending lists: the entries of the shorter one are looked up in the longer one, by
// bisection, so that a hub costs no more than its partner is long.
//   mask_dots   one dot product per entry (i, j) of the mask, row i of A with row j of B^T; a product that has reached the
//               monoid's terminal value stops. Nothing is shared, so nothing is atomic.
//   mask_sums   Gustavson's method: for each entry (i, k) of A, row i of the mask with row k of B; what they share is added
//               to the mask's entry, atomically. Values start from the monoid's neutral one.
// Both leave a flag and a value per entry of the mask; mask_pack keeps what is flagged. (A reduction of all products, as
// in a count of triangles, can take the place of `keep` in mask_dots: it needs no entries.)
//
// Balance: entries in equal shares per warp, 32 at a time; the steps of all 32 pairs are one sequence, dealt to the lanes.
// From LONG steps on a dot product has the whole warp. Pairs of GIANT steps are listed, as far as there is room, and
// a second launch (LISTED) gives each a block.
// Data encoding: CSR, columns ascending; iso operands, and those that the multiplication does not use, have one value.
// Work: per entry the shorter length times the logarithm of the longer one; row_costs counts the former.
//
// Constants and operators: as in kernels/cpu/spgemm.py, and COUNTED (all products are one number, added up by plus),
// GIANT, LISTED.

constexpr int LONG = 64;

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

// Two rows of columns T: where the shorter and the longer one begin, the entries of each. Where the first is the longer
// one its length is negative.
template <class T, class P> struct Pair {
    P shorter, longer;
    T steps, length;

    DEVICE Pair() : shorter(0), longer(0), steps(0), length(0) {}
    template <class P1, class P2> DEVICE Pair(const P1* x_ptr, i64 i, const P2* y_ptr, i64 j) {
        const P x = load(x_ptr + i), y = load(y_ptr + j);
        const T nx = (T)(load(x_ptr + i + 1) - x), ny = (T)(load(y_ptr + j + 1) - y);
        const bool swapped = ny < nx;
        shorter = swapped ? y : x;
        longer = swapped ? x : y;
        steps = swapped ? ny : nx;
        length = swapped ? -nx : ny;
    }
    DEVICE Pair of_lane(int who) const {
        Pair other;
        other.shorter = from_lane(shorter, who);
        other.longer = from_lane(longer, who);
        other.steps = from_lane(steps, who);
        other.length = from_lane(length, who);
        return other;
    }
    // Whether step `at` finds a column that both have, and where it stands in the first and in the second matrix.
    DEVICE bool meet(const T* xs, const T* ys, i64 at, i64& x, i64& y) const {
        const bool swapped = length < 0;
        const T column = load((swapped ? ys : xs) + shorter + at);
        const T place = find((swapped ? xs : ys) + longer, swapped ? (T)-length : length, column);
        x = swapped ? longer + place : shorter + at;
        y = swapped ? shorter + at : longer + place;
        return place >= 0;
    }
};

// The steps of one pair, by threads 0..threads (whole warps) of which this is `thread`: visit(hit, x, y) by all lanes
// together; true ends it for the warp.
template <class T, class P, class Visit>
DEVICE void walk(const Pair<T, P>& pair, const T* xs, const T* ys, int thread, int threads, const Visit& visit) {
    for (i64 base = thread - lane(); base < pair.steps; base += threads) {
        i64 x = 0, y = 0;
        const bool hit = base + lane() < pair.steps && pair.meet(xs, ys, base + lane(), x, y);
        if (visit(hit, x, y)) return;
    }
}

// The steps of the pairs of all lanes that take part as one sequence: visit(who, mine, hit, x, y), where the step belongs
// to lane `who`, and the lanes `mine` do steps of this one.
template <class T, class P, class Visit>
DEVICE void walk_all(const Pair<T, P>& pair, const T* xs, const T* ys, bool takes_part, const Visit& visit) {
    const int steps = takes_part ? (int)pair.steps : 0;
    const int end = warp_scan(steps), start = end - steps;
    const int total = __shfl_sync(FULL_WARP, end, 31);
    for (int base = 0; base < total; base += 32) {
        const int at = base + lane();
        int who = 0;  // the first lane whose steps end behind this one
        for (int d = 16; d; d >>= 1)
            if (__shfl_sync(FULL_WARP, end, who + d - 1) <= at) who += d;
        const Pair<T, P> theirs = pair.of_lane(who);
        const int step = at - __shfl_sync(FULL_WARP, start, who);
        i64 x = 0, y = 0;
        const bool hit = at < total && theirs.meet(xs, ys, step, x, y);
        const int from = max(start - base, 0), upto = min(end - base, 32);
        const u32 mine = from < upto ? (FULL_WARP >> (32 - upto + from)) << from : 0;
        visit(who, mine, hit, x, y);
    }
}

// Whether a pair that is a giant is put on the list; a full list takes no more. All lanes.
template <class A> DEVICE bool postpone(const A& args, bool giant, i64 entry) {
    if (!__any_sync(FULL_WARP, giant)) return false;
    const i64 place = append(args.waiting, giant);
    if (!giant || place >= args.room) return false;
    args.giants[place] = entry;
    return true;
}
template <class A> DEVICE i64 postponed(const A& args) { return min((i64)*args.waiting, args.room); }

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
//== mask_dots(ap, ai, av, tp, ti, tv, mp, mi, mv, rows, inner, cols, nrows, found, values, giants, waiting, room) per=32
typedef Pair<E_ai, decltype(E_ap() + E_tp())> Lists;
constexpr bool ADDS = VALUES && !COUNTED;  // else products are only counted

struct Sum {
    R_ADD total;
    i64 count;  // of products that are in it

    DEVICE Sum() : total(IDENTITY), count(0) {}
    DEVICE void add(R_ADD x, i64 number) {
        if (!number) return;
        if constexpr (ADDS) total = count && !ANY ? ADD(total, x) : x;
        count += number;
    }
    DEVICE bool is_final() const {
        if constexpr (ANY || !VALUES) return count != 0;
        else if constexpr (HAS_TERMINAL) return count && total == (R_ADD)TERMINAL;
        else return false;
    }
};

// Entry m = (i, j) of the mask, and its lists.
struct Dot {
    const Args& a;
    i64 m, gi, gj;
    Lists lists;

    DEVICE Dot(const Args& args, bool open, i64 i, i64 entry) : a(args), m(entry), gi(i), gj(0) {
        if (!open) return;
        gj = load(a.mi + m);
        lists = Lists(a.ap, i, a.tp, gj);
        if constexpr (MAPPED) {
            gi = look(a.rows, gi);
            gj = look(a.cols, gj);
        }
    }
    DEVICE R_ADD product(i64 ri, i64 rj, i64 x, i64 y) const {
        const i64 k = MAPPED ? (i64)look(a.inner, load(a.ai + x)) : (i64)load(a.ai + x);
        return MULT(look(a.av, A_ISO ? 0 : x), look(a.tv, B_ISO ? 0 : y), ri, k, k, rj);
    }
    // The sum over the steps of pair (ri, rj) that threads thread, thread + threads, ... do, complete in lane 0.
    DEVICE Sum walked(const Lists& pair, i64 ri, i64 rj, int thread, int threads, volatile bool* stop) const {
        Sum sum;
        walk(pair, a.ai, a.ti, thread, threads, [&](bool hit, i64 x, i64 y) {
            if constexpr (!ADDS) sum.count += __popc(__ballot_sync(FULL_WARP, hit));
            else if (hit && !sum.is_final()) sum.add(product(ri, rj, x, y), 1);
            if constexpr (!(ANY || !VALUES || HAS_TERMINAL)) return false;
            const bool done = __any_sync(FULL_WARP, sum.is_final() || (stop && *stop));
            if (stop && done) *stop = true;
            return done;
        });
        if constexpr (ADDS)
            for (int d = 16; d; d >>= 1) sum.add(from_lane_xor(sum.total, d), from_lane_xor(sum.count != 0, d));
        return sum;
    }
    DEVICE void keep(const Sum& sum) const {
        a.found[m] = sum.count != 0;
        if constexpr (VALUES)
            if (sum.count) a.values[m] = COUNTED ? times(product(0, 0, 0, 0), sum.count) : sum.total;
    }
    static DEVICE R_ADD times(R_ADD one, i64 count) {
        if constexpr (Integer<R_ADD>::value) return (R_ADD)((u64)one * (u64)count);
        else return one * (R_ADD)count;
    }
};

DEVICE void dots(const Args& a, const Share<Ends<E_mp>>& share) {
    const i64 i = share.row, m = share.candidate < 0 ? 0 : load(a.mp + i) + share.candidate;
    const Dot dot(a, share.candidate >= 0 && (!VALUED || look(a.mv, m) != 0), i, m);
    const bool later = postpone(a, dot.lists.steps >= GIANT, m);
    Sum sum;
    u32 alone = __ballot_sync(FULL_WARP, dot.lists.steps >= LONG && !later);
    for (; alone; alone &= alone - 1) {
        const int who = __ffs(alone) - 1;
        const i64 gi = from_lane(dot.gi, who), gj = from_lane(dot.gj, who);
        const Sum one = dot.walked(dot.lists.of_lane(who), gi, gj, lane(), 32, nullptr);
        if (lane() == who) sum = one;
    }
    walk_all(dot.lists, a.ai, a.ti, dot.lists.steps < LONG, [&](int who, u32 mine, bool hit, i64 x, i64 y) {
        mine &= __ballot_sync(FULL_WARP, hit);
        if constexpr (!ADDS) {
            sum.count += __popc(mine);
        } else {
            const i64 gi = from_lane(dot.gi, who), gj = from_lane(dot.gj, who);
            const R_ADD term = hit ? dot.product(gi, gj, x, y) : (R_ADD)IDENTITY;
            while (__any_sync(FULL_WARP, mine != 0)) {
                const R_ADD next = from_lane(term, mine ? __ffs(mine) - 1 : lane());
                sum.add(next, mine != 0);
                mine = ANY ? 0 : mine & (mine - 1);
            }
        }
    });
    if (share.candidate >= 0 && !later) dot.keep(sum);
}

KERNEL {
    if constexpr (!LISTED) {
        const Ends<E_mp> ends = {a.mp};
        for (i64 part = item(32); part < a.n; part += items(32))
            for (Share<Ends<E_mp>> share(ends, a.nrows, part, a.n); share.next();) dots(a, share);
    } else {
        __shared__ R_ADD totals[BLOCK / 32];
        __shared__ i64 counts[BLOCK / 32];
        __shared__ bool stop;
        const i64 giants = postponed(a);
        for (i64 g = blockIdx.x; g < giants; g += gridDim.x) {
            if (threadIdx.x == 0) stop = false;
            __syncthreads();
            const i64 m = a.giants[g];
            const Dot dot(a, true, upper_bound(a.mp, 0, a.nrows + 1, m) - 1, m);
            Sum sum = dot.walked(dot.lists, dot.gi, dot.gj, threadIdx.x, BLOCK, &stop);
            if (lane() == 0) {
                totals[threadIdx.x / 32] = sum.total;
                counts[threadIdx.x / 32] = sum.count;
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                for (int w = 1; w < BLOCK / 32; w++) sum.add(totals[w], counts[w]);
                dot.keep(sum);
            }
        }
    }
}

// found[m], values[m]: the sum of the products at entry m of the mask; found was 0, values the neutral value.
//== mask_sums(ap, ai, av, bp, bi, bv, mp, mi, mv, rows, inner, cols, nrows, found, values, giants, waiting, room) per=32
typedef Pair<E_bi, decltype(E_mp() + E_bp())> Lists;

// Entry e = (i, k) of A, row i of the mask and row k of B.
struct Row {
    const Args& a;
    i64 e, gi, gk;
    Lists lists;

    DEVICE Row(const Args& args, bool there, i64 i, i64 entry) : a(args), e(entry), gi(i), gk(0) {
        if (!there) return;
        gk = load(a.ai + e);
        lists = Lists(a.mp, i, a.bp, gk);
        if constexpr (MAPPED) {
            gi = look(a.rows, gi);
            gk = look(a.inner, gk);
        }
    }
};

DEVICE R_ADD product(const Args& a, i64 e, i64 gi, i64 gk, i64 s) {
    const i64 j = MAPPED ? (i64)look(a.cols, load(a.bi + s)) : (i64)load(a.bi + s);
    return MULT(look(a.av, A_ISO ? 0 : e), look(a.bv, B_ISO ? 0 : s), gi, gk, gk, j);
}

// Adds entry e of A, in row gi and column gk, times entry s of B to the mask's entry m; all lanes.
DEVICE void deliver(const Args& a, bool hit, i64 e, i64 gi, i64 gk, i64 m, i64 s) {
    if constexpr (VALUED) hit = hit && look(a.mv, m) != 0;
    if constexpr (!VALUES || ANY) {
        if (hit && set_byte(a.found, m)) {
            if constexpr (VALUES) a.values[m] = product(a, e, gi, gk, s);
        }
        return;
    }
    const u32 hits = __ballot_sync(FULL_WARP, hit);
    if (!hits) return;
    R_ADD term = hit ? product(a, e, gi, gk, s) : (R_ADD)IDENTITY;
    const int first = __ffs(hits) - 1;
    const i64 there = from_lane(m, first);
    bool same = hit && m == there;
    if (__popc(__ballot_sync(FULL_WARP, same)) > 4) {  // many meet at one entry: they go there together
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
        if (!peek(a.found + m)) poke(a.found + m, (E_found)1);
        atomic_combine(a.values + m, term, [](R_ADD r, R_ADD t) { return ADD(r, t); }, changed);
    }
}

KERNEL {
    if constexpr (!LISTED) {
        const Ends<E_ap> ends = {a.ap};
        for (i64 part = item(32); part < a.n; part += items(32))
            for (Share<Ends<E_ap>> share(ends, a.nrows, part, a.n); share.next();) {
                const bool there = share.candidate >= 0;
                const Row row(a, there, share.row, there ? load(a.ap + share.row) + share.candidate : 0);
                const bool later = postpone(a, row.lists.steps >= GIANT, row.e);
                u32 alone = __ballot_sync(FULL_WARP, row.lists.steps >= GIANT && !later);
                for (; alone; alone &= alone - 1) {
                    const int who = __ffs(alone) - 1;
                    const i64 e = from_lane(row.e, who), gi = from_lane(row.gi, who), gk = from_lane(row.gk, who);
                    walk(row.lists.of_lane(who), a.mi, a.bi, lane(), 32, [&](bool hit, i64 m, i64 s) {
                        deliver(a, hit, e, gi, gk, m, s);
                        return false;
                    });
                }
                walk_all(row.lists, a.mi, a.bi, row.lists.steps < GIANT, [&](int who, u32, bool hit, i64 m, i64 s) {
                    deliver(a, hit, from_lane(row.e, who), from_lane(row.gi, who), from_lane(row.gk, who), m, s);
                });
            }
    } else {
        const i64 giants = postponed(a);
        for (i64 g = blockIdx.x; g < giants; g += gridDim.x) {
            const i64 e = a.giants[g];
            const Row row(a, true, upper_bound(a.ap, 0, a.nrows + 1, e) - 1, e);
            walk(row.lists, a.mi, a.bi, threadIdx.x, BLOCK, [&](bool hit, i64 m, i64 s) {
                deliver(a, hit, e, row.gi, row.gk, m, s);
                return false;
            });
        }
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
