// Entries for other devices, stored by the owner's kernel straight into their arrays (see exchange/direct.py).
//
// Contract: `to_...` hold addresses, one per device, in circular order from this one on (give_list) or from the next one
// (give_all); what they point to is not read or written by anybody else before the host has the results (give_list), or
// all devices have come to the next point where they wait for each other (give_all). In a loop that needs no host (after.cuh) an
// owner says to all that it has given; who gets something reads it when all have said so.
// Traffic: neighbouring lanes write neighbouring places of one device.

//== give_list(fidx, fvals, cvals, numbers, begin, at, others, first, to_idx, to_vals, to_prefix, to_length) returns=6
// Entries of a list, appended to the list of each device whose rows look at the vertex, with the running sum of what they
// have there (rows by columns), which a push shares edges by. Of vertex v at the d-th other device numbers[v, d] has the
// column there (-1: none) and its length; with a proxy for every vertex (ALL) the length alone: the column is at + v, as it
// is at home, where `begin` says where columns begin. A launch serves SIDES devices, from `first` on. A block asks each of
// them once for room for AHEAD entries per thread: an atomic on another GPU takes 2 us. Results: what each device got
// (edges << COUNT_BITS | entries).
#ifdef IN_LOOP
constexpr int SIDES = MOST_PARTS;
DEVICE bool has_turn(Loop& loop) {
    const i64 turn = peek(&loop.turn);
    return turn == GIVING || turn == GIVING_AHEAD;
}
#else
constexpr int SIDES = 6;
#endif
constexpr int AHEAD = 4, WARPS = BLOCK / 32;

// A column of a device, -1 for none, and what it adds to a list: its length and one entry.
struct Column {
    i64 number;
    u64 adds;
};
DEVICE Column column_at(const Args& a, i64 v, i64 d) {
    if (v < 0) return {-1, 0};
    i64 number = a.at + v, length;
    if (d == 0) {
        length = (i64)load(a.begin + number + 1) - (i64)load(a.begin + number);
    } else if constexpr (ALL) {
        length = (i64)load(a.numbers + v * a.others + d - 1);
    } else {
        const auto* pair = a.numbers + 2 * (v * a.others + d - 1);
        number = (i64)load(pair);
        length = (i64)load(pair + 1);
    }
    if (number < 0 || length == 0) return {-1, 0};
    return {number, (u64)length << COUNT_BITS | 1};
}

KERNEL {
#ifdef IN_LOOP
    if (threadIdx.x == 0) {
        Args& now = const_cast<Args&>(a);
        const i64 room = (loop.giving() & 1) * (a.others + 1);
        now.n = loop.mine();
        now.fidx += loop.list * loop.room;
        now.to_idx += room;
        now.to_prefix += room;
        now.to_length += room;
        if constexpr (VALUES) now.to_vals += room;
    }
    __syncthreads();
#endif
    __shared__ u64 before[SIDES][WARPS];
    __shared__ u64 base[SIDES];
    const int warp = threadIdx.x / 32;
    const int sides = a.others + 1 - a.first < SIDES ? (int)(a.others + 1 - a.first) : SIDES;
    u64 given = 0;  // by this thread, to the device of its number
    for (i64 start = (i64)blockIdx.x * BLOCK * AHEAD; start < a.n; start += (i64)gridDim.x * BLOCK * AHEAD) {
        i64 vertex[AHEAD];
        for (int k = 0; k < AHEAD; k++) {
            const i64 q = start + k * BLOCK + threadIdx.x;
            vertex[k] = q < a.n ? (i64)load(a.fidx + q) : -1;
        }
        for (int side = 0; side < sides; side++) {
            u64 sum = 0;
            for (int k = 0; k < AHEAD; k++) sum += column_at(a, vertex[k], a.first + side).adds;
            sum = warp_sum(sum);
            if (lane() == 0) before[side][warp] = sum;
        }
        __syncthreads();
        if ((int)threadIdx.x < sides) {
            u64 sum = 0;
            for (int w = 0; w < WARPS; w++) {
                const u64 own = before[threadIdx.x][w];
                before[threadIdx.x][w] = sum;
                sum += own;
            }
            base[threadIdx.x] = sum ? atomicAdd_system((u64*)load(a.to_length + a.first + threadIdx.x), sum) : 0;
            given += sum;
        }
        __syncthreads();
        for (int side = 0; side < sides; side++) {
            const i64 d = a.first + side;
            E_numbers* const indices = (E_numbers*)load(a.to_idx + d);
            SUMS* const prefix = (SUMS*)load(a.to_prefix + d);
            u64 place = base[side] + before[side][warp];
            for (int k = 0; k < AHEAD; k++) {
                const Column column = column_at(a, vertex[k], d);
                const u64 upto = warp_scan(column.adds);
                if (column.number >= 0) {
                    const u64 mine = place + upto - column.adds;
                    const i64 slot = (i64)(mine & ((1ull << COUNT_BITS) - 1));
                    indices[slot] = (E_numbers)column.number;
                    prefix[slot] = (SUMS)(mine >> COUNT_BITS);
                    if constexpr (VALUES) {
                        const i64 q = start + k * BLOCK + threadIdx.x;
#ifdef IN_LOOP  // the first list has values of its own, then they are C's
                        const E_fvals value = loop.giving() ? look(a.cvals, vertex[k]) : look(a.fvals, q);
#else
                        const E_fvals value = look(a.fvals, q);
#endif
                        ((E_fvals*)load(a.to_vals + d))[slot] = value;
                    }
                }
                place += from_lane(upto, 31);
            }
        }
        __syncthreads();  // before the next ones are counted
    }
#ifdef IN_LOOP
    turn_over(a, loop, [](Loop& loop, u64, i64) { loop.given(TAKING); });
#else
    if (given) atomicAdd(&a.result->count[threadIdx.x], given);
    publish(a);
#endif
}

//== give_all(lent, firsts, others, present, vals, to_vals, to_bits) unless=UNTOLD returns=1
// Entries of a bitmap or a full vector at lists of local numbers, one after the other; the d-th, from firsts[d] on, a
// multiple of 32, goes to the d-th other device: its values and, unless all devices' entries are there (U_FULL), bits that
// say which of them mean something; LACKS: some of these are not. Lists are filled up with -1, also at their heads, so that
// a warp's places are whole lines of the other device's memory: over NVLink stores that do not begin at a multiple of 32
// bytes take up to a quarter longer (two H200s, FP32, 17.8 MB at once in both directions: 66 to 69 us, else 75 to 88).
// Items are places.
constexpr int WORDS = 8;
DEVICE i64 receiver(const Args& a, i64 at) {
    i64 d = 0;
    while (d + 1 < a.others && at >= load(a.firsts + d + 1)) d++;
    return d;
}
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == GIVING_BITS; }
#endif
KERNEL {
#ifdef IN_LOOP
    if (threadIdx.x == 0) const_cast<Args&>(a).present += loop.bits * loop.apart;
    __syncthreads();
#endif
    for (i64 first = 32 * WORDS * item(32); first < a.n; first += 32 * WORDS * items(32)) {
        u32 word = 0;  // a lane's of the words that go together
        i64 vertices[WORDS];
        bool there[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const i64 at = first + 32 * w;
            vertices[w] = at < a.n ? (i64)load(a.lent + at + lane()) : -1;
        }
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            there[w] = vertices[w] >= 0;
            if constexpr (!U_FULL && LACKS) there[w] = there[w] && load(a.present + vertices[w]) != 0;
        }
        if constexpr (!U_FULL) {
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                const u32 bits = __ballot_sync(FULL_WARP, there[w]);
                if (lane() == w) word = bits;
            }
        }
        if constexpr (VALUES) {
            E_vals values[WORDS];  // all are on their way before the first is stored
#pragma unroll
            for (int w = 0; w < WORDS; w++)
                if (there[w]) values[w] = look(a.vals, vertices[w]);
#pragma unroll
            for (int w = 0; w < WORDS; w++) {
                const i64 at = first + 32 * w;
                if (!there[w]) continue;
                const i64 d = receiver(a, at);
                ((E_vals*)load(a.to_vals + d))[at - load(a.firsts + d) + lane()] = values[w];
            }
        }
        if constexpr (!U_FULL) {
            const i64 at = first + 32 * lane();
            if (lane() < WORDS && at < a.n) {
                const i64 d = receiver(a, at);
                ((u32*)load(a.to_bits + d))[(at - load(a.firsts + d)) >> 5] = word;
            }
        }
    }
#ifdef IN_LOOP
    turn_over(a, loop, [](Loop& loop, u64, i64) { loop.given(TAKING_BITS); });
#endif
}

//== arrange(present, vals, own, at, ends, words, bits, opresent, ovals) returns=1
// What has come put in order: own entries copied to columns from `at` on, the bits of proxies made bytes. Columns up to
// ends[q] are those of the q-th owner, whose words of bits begin at words[q] (own ones: -1) with the last column before
// them that is a multiple of 32. Returns the number of entries. Without values a lane does SPAN columns at once where they
// are of one owner.
constexpr int SPAN = 16;
// The q-th owner has column: which, and the number of the column's bit there.
struct Place {
    i64 q, k;
};
DEVICE Place place_of(const Args& a, i64 column) {
    i64 q = 0;
    while (column >= load(a.ends + q)) q++;
    return {q, column - (q ? (i64)load(a.ends + q - 1) & ~(i64)31 : 0)};
}
DEVICE bool is_there(const Args& a, i64 column) {
    const i64 v = column - a.at;
    if (v >= 0 && v < a.own) return !LACKS || load(a.present + v) != 0;
    const Place place = place_of(a, column);
    return load(a.bits + load(a.words + place.q) + (place.k >> 5)) >> (place.k & 31) & 1u;
}
// Columns first.. as bytes of 0 and 1, where they are of one owner.
DEVICE bool bytes_of(const Args& a, i64 first, u32 (&bytes)[SPAN / 4]) {
    const i64 v = first - a.at;
    if (v >= 3 && v + SPAN + 3 <= a.own) {  // words lie within the array
        if constexpr (LACKS) {
            const u64 address = (u64)(a.present + v);
            const u32* words = (const u32*)(address & ~(u64)3);
            const u32 shift = 8 * (u32)(address & 3);
            u32 low = load(words);
#pragma unroll
            for (int k = 0; k < SPAN / 4; k++) {
                const u32 high = shift || k + 1 < SPAN / 4 ? load(words + k + 1) : 0;
                bytes[k] = __funnelshift_r(low, high, shift);
                low = high;
            }
        } else {
            for (int k = 0; k < SPAN / 4; k++) bytes[k] = 0x01010101u;
        }
        return true;
    }
    if (v + SPAN > 0 && v < a.own) return false;
    const Place place = place_of(a, first);
    if (first + SPAN > load(a.ends + place.q)) return false;
    const u32 bits = load(a.bits + load(a.words + place.q) + (place.k >> 5)) >> (place.k & 31);  // all in one word
#pragma unroll
    for (int k = 0; k < SPAN / 4; k++) bytes[k] = (bits >> 4 * k & 15) * 0x00204081u & 0x01010101u;
    return true;
}
DEVICE i64 arrange_bytes(const Args& a) {
    const i64 spans = (a.n + SPAN - 1) / SPAN;
    i64 count = 0;
    for (i64 span = thread_number(); span < spans; span += thread_count()) {
        const i64 first = SPAN * span;
        u32 bytes[SPAN / 4];
        if (first + SPAN <= a.n && bytes_of(a, first, bytes)) {
            *(uint4*)(a.opresent + first) = {bytes[0], bytes[1], bytes[2], bytes[3]};
#pragma unroll
            for (int k = 0; k < SPAN / 4; k++) count += __popc(bytes[k]);
            continue;
        }
        for (i64 column = first; column < a.n && column < first + SPAN; column++) {
            const bool there = is_there(a, column);
            a.opresent[column] = there;
            count += there;
        }
    }
    return count;
}
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == ARRANGING; }
#endif
KERNEL {
#ifdef IN_LOOP
    if (threadIdx.x == 0) const_cast<Args&>(a).present += loop.bits * loop.apart;
    __syncthreads();
#endif
    i64 count = 0;
    if constexpr (!VALUES) {
        count = arrange_bytes(a);
    } else {
        for (i64 column = thread_number(); column < a.n; column += thread_count()) {
            const bool there = is_there(a, column);
            const i64 v = column - a.at;
            if (there && v >= 0 && v < a.own) a.ovals[column] = look(a.vals, v);
            a.opresent[column] = there;
            count += there;
        }
    }
#ifdef IN_LOOP
    turn_over(a, loop, [](Loop& loop, u64, i64) { loop.turn = PULLING; });
#else
    report<true>(a, count);
#endif
}
