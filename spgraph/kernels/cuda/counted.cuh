// Masked dot products whose products are only counted (or asked for whether there is one): rows as bitmaps.
//
// Method: a row whose columns lie close together, as those of hubs do once vertices are in order of degree, is kept as a
// bitmap, too, from its first column to its last. A pair of rows then is met in the way that takes fewest steps: both
// bitmaps word by word (WORDS), one list looked up in the other's bitmap (BITS), or, without a bitmap, the shorter list in
// the longer one by bisection (SEARCH).
// Balance: entries of the mask in equal shares per warp, 32 at a time; the steps of short pairs are one sequence, dealt to
// the lanes, the others have the whole warp. Pairs of GIANT steps are listed for mask_dots (spgemm.cuh).
// Data encoding: CSR, columns ascending, 32 bits wide; `words` is the running sum of the words that rows have in `bits`.
// Work: per entry of the mask the fewest steps; a bitmap has at most DENSE words per entry of its row.
//
// Constants: VALUES, VALUED as in kernels/cpu/spgemm.py; DENSE, GIANT; BOTH (the rows of A have bitmaps, too, since A is
// B^T: ap, ai are tp, ti).

constexpr int LONG = 64;
enum { SEARCH_X, SEARCH_Y, BITS, WORDS };

DEVICE int word_of(int column) { return column >> 5; }

// Whether a pair that is a giant is put on the list; a full list takes no more. All lanes.
template <class A> DEVICE bool postpone(const A& args, bool giant, i64 entry) {
    if (!__any_sync(FULL_WARP, giant)) return false;
    const i64 place = append(args.waiting, giant);
    if (!giant || place >= args.room) return false;
    args.giants[place] = entry;
    return true;
}

//== bit_sizes(indptr, indices, sizes)
// How many words the bitmap of each row has; 0: none.
KERNEL {
    for (i64 i = item(1); i < a.n; i += items(1)) {
        const i64 first = load(a.indptr + i), end = load(a.indptr + i + 1);
        i64 words = 0;
        if (first < end) words = word_of(load(a.indices + end - 1)) - word_of(load(a.indices + first)) + 1;
        a.sizes[i] = words > DENSE * (end - first) ? 0 : (E_sizes)words;
    }
}

//== bit_rows(indptr, indices, words, bits) per=32
// The bitmaps, whose bits were 0; items are rows.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)load(a.indptr + i); };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        if (share.candidate < 0) continue;
        const i64 begin = load(a.words + share.row), first = ends(share.row);
        if (begin == load(a.words + share.row + 1)) continue;
        const int j = load(a.indices + first + share.candidate);
        atomicOr(a.bits + begin + (word_of(j) - word_of(load(a.indices + first))), 1u << (j & 31));
    }
}

//== mask_counts(ap, ai, av, tp, ti, tv, mp, mi, mv, words, bits, nrows, found, values, giants, waiting, room) per=32
// found[m], values[m]: how many columns row i of A and row j of B^T share, times one product, for entry m = (i, j) of the
// mask.
struct Line {  // a row: where its list and its bitmap begin, how many entries and words they have
    i64 list, bitmap;
    int entries, words;

    template <class P> DEVICE Line(const P* indptr, const E_words* bounds, i64 i, bool mapped) : bitmap(0), words(0) {
        list = load(indptr + i);
        entries = (int)(load(indptr + i + 1) - list);
        if (mapped) {
            bitmap = load(bounds + i);
            words = (int)(load(bounds + i + 1) - bitmap);
        }
    }
};

struct Meeting {
    i64 x, y;                       // what is gone through begins at x, what it is looked up in at y
    int kind, steps, length, base;  // steps through x, length of y; the word of the first column of y's bitmap

    DEVICE Meeting() : x(0), y(0), kind(SEARCH_X), steps(0), length(0), base(0) {}
    DEVICE void meet(const Args& a, i64 i, i64 j) {
        const Line r(a.ap, a.words, i, BOTH), t(a.tp, a.words, j, true);
        if (!r.entries || !t.entries) return;
        if (r.words && t.words && meet_words(a, r, t)) return;
        if (t.words && (!r.words || r.entries <= t.entries)) return meet_bits(a, r, t);
        if (r.words) return meet_bits(a, t, r);
        const bool swapped = t.entries < r.entries;
        kind = swapped ? SEARCH_Y : SEARCH_X;
        x = swapped ? t.list : r.list;
        y = swapped ? r.list : t.list;
        steps = swapped ? t.entries : r.entries;
        length = swapped ? r.entries : t.entries;
    }
    DEVICE bool meet_words(const Args& a, const Line& r, const Line& t) {
        const int from_r = word_of(load(a.ai + r.list)), from_t = word_of(load(a.ti + t.list));
        const int from = max(from_r, from_t), shared = min(from_r + r.words, from_t + t.words) - from;
        if (shared > 2 * min(r.entries, t.entries)) return false;
        kind = WORDS;
        x = r.bitmap + (from - from_r);
        y = t.bitmap + (from - from_t);
        steps = max(shared, 0);
        return true;
    }
    // The list of r in the bitmap of t; where r is a row of B^T, A is the same matrix.
    DEVICE void meet_bits(const Args& a, const Line& r, const Line& t) {
        const int first = load(a.ti + t.list);
        kind = BITS;
        x = lower_bound(a.ai, r.list, r.list + r.entries, first);
        y = t.bitmap;
        steps = (int)(r.list + r.entries - x);
        length = t.words;
        base = word_of(first);
    }
    DEVICE Meeting of_lane(int who) const {
        Meeting other;
        other.x = from_lane(x, who);
        other.y = from_lane(y, who);
        other.kind = from_lane(kind, who);
        other.length = from_lane(length, who);
        other.base = from_lane(base, who);
        return other;
    }
    DEVICE int hits(const Args& a, int step) const {
        if (kind == WORDS) return __popc(load(a.bits + x + step) & load(a.bits + y + step));
        const int column = load((kind == SEARCH_Y ? a.ti : a.ai) + x + step);
        if (kind != BITS) return holds((kind == SEARCH_Y ? a.ai : a.ti) + y, length, column);
        const int word = word_of(column) - base;
        return word < length ? load(a.bits + y + word) >> (column & 31) & 1u : 0;
    }
    static DEVICE bool holds(const E_ai* list, int size, int column) {
        int at = 0;
        while (size > 1) {
            const int half = size >> 1;
            if (load(list + at + half) <= column) at += half;
            size -= half;
        }
        return load(list + at) == column;
    }
};

// The steps of one pair; all lanes.
DEVICE i64 alone(const Args& a, const Meeting& pair, int steps) {
    u32 count = 0;
    for (int base = 0; base < steps; base += 32) {
        if (base + lane() < steps) count += pair.hits(a, base + lane());
        if constexpr (!VALUES)
            if (__any_sync(FULL_WARP, count != 0)) break;
    }
    return __reduce_add_sync(FULL_WARP, count);
}
// The steps of the pairs of all lanes as one sequence; what each pair has.
DEVICE i64 together(const Args& a, const Meeting& pair, int steps) {
    const int end = warp_scan(steps), start = end - steps;
    const int total = __shfl_sync(FULL_WARP, end, 31);
    i64 count = 0;
    for (int base = 0; base < total; base += 32) {
        const int at = base + lane();
        int who = 0;  // the first lane whose steps end behind this one
        for (int d = 16; d; d >>= 1)
            if (__shfl_sync(FULL_WARP, end, who + d - 1) <= at) who += d;
        const Meeting theirs = pair.of_lane(who);
        const int step = at - __shfl_sync(FULL_WARP, start, who);
        const u32 hits = __ballot_sync(FULL_WARP, at < total && theirs.hits(a, step) != 0);
        const int from = max(start - base, 0), upto = min(end - base, 32);
        if (from < upto) count += __popc(hits & (FULL_WARP >> (32 - upto + from)) << from);
    }
    return count;
}

DEVICE void keep(const Args& a, i64 m, i64 count) {
    a.found[m] = count != 0;
    if constexpr (VALUES) {
        const R_ADD one = MULT(look(a.av, 0), look(a.tv, 0), 0, 0, 0, 0);
        if (count) a.values[m] = Integer<R_ADD>::value ? (R_ADD)((u64)one * (u64)count) : one * (R_ADD)count;
    }
}

KERNEL {
    const auto ends = [&](i64 i) { return (i64)load(a.mp + i); };
    for (i64 part = item(32); part < a.n; part += items(32))
        for (Share<decltype(ends)> share(ends, a.nrows, part, a.n); share.next();) {
            const bool entry = share.candidate >= 0;
            const i64 m = entry ? ends(share.row) + share.candidate : 0;
            Meeting pair;
            if (entry && (!VALUED || look(a.mv, m) != 0)) pair.meet(a, share.row, load(a.mi + m));
            const bool later = postpone(a, pair.kind <= SEARCH_Y && pair.steps >= GIANT, m);
            const bool own = !later && (pair.steps >= LONG || (pair.kind == WORDS && pair.steps > 0));
            i64 count = together(a, pair, own || later ? 0 : pair.steps);
            for (u32 left = __ballot_sync(FULL_WARP, own); left; left &= left - 1) {
                const int who = __ffs(left) - 1;
                const i64 sum = alone(a, pair.of_lane(who), __shfl_sync(FULL_WARP, pair.steps, who));
                if (lane() == who) count = sum;
            }
            if (entry && !later) keep(a, m, count);
        }
}
