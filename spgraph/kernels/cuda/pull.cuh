// Masked SpMV as pull: every allowed row of the output gathers from its stored entries.
//
// Several sections for the CPU's one template (`pull_sums` writes what pull_slices of tiles.cuh has gathered). `pull_until` is its block gather_until: a thread per open row of a tile, which stops
// at the monoid's terminal value (Beamer's bottom-up step is the case of an `any` monoid under a complemented mask); a
// row that is not done after SERIAL entries is finished by its whole warp. Where rows come by falling length, the long ones at the
// beginning are dealt out to all warps: a tile of them would be one warp's work. `pull_all` is gather_all: a warp takes CHUNK
// entries of consecutive rows at a time, AHEAD per lane in flight, and adds them up by a segmented scan; a row that is cut goes on
// in the next chunk, so that all are full. What a step costs does not depend on how long the rows are. Whole chunks of one row
// need no scan; giants (rows of more than `giant` entries) are gathered in pieces by several warps. `pull_lanes` is for copies of a matrix side by side (COPIES): the lanes of a warp are the copies of a row,
// so that an entry's column is read once for all and the values there lie together. Product, mask, accumulator and write are one pass, in place on C.
//
// Data encoding: A is CSR; u is a bitmap (upresent, uvals), or full; the mask is a bitmap; C is a bitmap (cpresent, cvals) or
// full; chpresent says which entries of C have changed, chvals gets their values. Share s of the rows is starts[s]..starts[s + 1]; piece p
// belongs to giants[piece_of[p]], whose pieces begin at giant_first; `arrived` counts those that are done, and is zero again afterwards.
//
// Results: 0: entries of C, 1: changes; for a push from them through rows of the same length (NEXT) with their edges, as push.cuh has it.
// Constants and operators as in kernels/cpu/pull.py, and HOT: so many of u's values are kept in shared memory from the
// beginning of each of RUNS runs of columns by falling degree (these are the ones that are read most), which begin at
// runs[..], the first one at 0; HALVED: of the next CLUSTER * HALVED values each of the CLUSTER blocks that run side by side
// keeps every CLUSTER-th one; BY_ROW: MULT takes the row; MOST: only so many entries of each row count (0: all).
// PAIRED: u's values, of the 4-byte type U, and their global ids lie side by side in uvals, so that both cost one read.

#define SERIAL 24
#define LONG_ROW 1024
#ifndef PAIRED
#define PAIRED 0
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif

// C(row) becomes what the product says; whether it is another one than before, and what it is.
template <class R> DEVICE void write(const Args& a, i64 row, bool allowed_row, bool found, R total, i64& count, bool& is_changed, E_cvals& now) {
    if (allowed_row && found) {
        count++;
        if constexpr (ACCUM && !FRESH) {
            if (C_FULL || a.cpresent[row]) {
                const E_cvals old = C_ISO ? look(a.before, 0) : a.cvals[row];
                now = ACC(old, total);
                a.cvals[row] = now;
                if constexpr (CHANGED) is_changed = differs(now, old);
                return;
            }
        }
        now = STORE(total);
        if constexpr (CHANGED) is_changed = FRESH || !(C_FULL || a.cpresent[row]) || differs(now, a.cvals[row]);
        a.cvals[row] = now;
        if constexpr (!C_FULL) a.cpresent[row] = 1;
        return;
    }
    if constexpr (C_FULL) {
        if constexpr (C_ISO) a.cvals[row] = look(a.before, 0);
        count++;
    } else if (allowed_row ? FRESH || !ACCUM : FRESH || REPLACE) {
        a.cpresent[row] = 0;
    } else if (a.cpresent[row]) {
        count++;
    }
}

// The row is done, with what is noted of it.
template <class R> DEVICE void settle(const Args& a, i64 row, bool allowed_row, bool found, R total, i64& count, i64& changes) {
    bool is_changed = false;
    E_cvals now = E_cvals();
    write(a, row, allowed_row, found, total, count, is_changed, now);
    if constexpr (CHANGED) {
        a.chpresent[row] = is_changed;
        if (!is_changed) return;
        if constexpr (CHVALS) a.chvals[row] = now;
        const i64 of = row_of(row);
        changes += 1 + (NEXT ? ((i64)load(a.indptr + of + 1) - (i64)load(a.indptr + of)) << COUNT_BITS : 0);
    }
}

// The values that are kept in shared memory, and where their columns begin: of each run HOT by every block, and after those
// HALVED by each block of a cluster, in turns.
struct Hot {
    static constexpr int KEPT = HOT + HALVED;
    const E_uvals* values = nullptr;       // what this block keeps
    const unsigned char* first = nullptr;  // what the first of two blocks keeps
    u32 apart = 0, own = 0;                // bytes from there to what the second one keeps, and to what this one keeps
    i64 begins[RUNS] = {};

    // The column whose value block `rank` keeps at place k of run r.
    DEVICE i64 column(int r, int k, int rank) const { return begins[r] + (k < HOT ? k : HOT + (i64)(k - HOT) * CLUSTER + rank); }

    // A column's value: kept, or one of all. Neighbours' memory and all memory have addresses of one kind: a computed address and
    // one load, without branches, are what keeps AHEAD loads in flight.
    template <class I> DEVICE E_uvals value(I column, const E_uvals* all) const {
        int place = -1;
        u32 bytes = 0;
        bool near = false;
#pragma unroll
        for (int r = 0; r < RUNS; r++) {
            const auto at = unsigned_of(r ? (I)(column - (I)begins[r]) : column);
            if constexpr (HALVED) {
                const u32 next = (u32)at - (u32)HOT;
                const u32 other = (next & 1) * apart + (r * KEPT + HOT + (next >> 1)) * (u32)sizeof(E_uvals);
                const u32 mine = own + (r * KEPT + (u32)at) * (u32)sizeof(E_uvals);
                const bool kept = at < (u32)(HOT + CLUSTER * HALVED);
                bytes = kept ? (at < (u32)HOT ? mine : other) : bytes;
                near |= kept;
            }
            if (at < (u32)HOT) place = r * KEPT + (int)at;
        }
        if constexpr (HALVED) {
            const unsigned char* base = near ? first : (const unsigned char*)all;
            const i64 offset = near ? (i64)bytes : (i64)column * (i64)sizeof(E_uvals);
            return *(const E_uvals*)(base + offset);
        }
        return place >= 0 ? values[place] : look(all, column);
    }
};

// Whether u has an entry in that column. Who looks at several asks for all at once, wanted or not, as long as the columns exist:
// branches would have each wait for the one before.
template <class I> DEVICE bool in_u(const Args& a, I column) {
    if constexpr (U_FULL) return true;
    else return look(a.upresent, column);
}

// What entry e contributes, in a column where u has an entry. True: who asks for several writes ``there && term_at(...)``, which
// compiles to loads without branches.
template <class I> DEVICE bool term_at(const Args& a, i64 i, i64 e, I column, R_MULT& term, const Hot& hot = Hot()) {
    E_uvals found;
    if constexpr (HOT > 0) found = hot.value(column, a.uvals);
    else found = look(a.uvals, U_ISO ? 0 : column);
    i64 k = (i64)column;
    if constexpr (GLOBAL && !PAIRED) k = look(a.col_gid, column);
#if PAIRED
    k = (i64)(found >> 32);
    const U value = of_bits<U>((u32)found);
#else
    const E_uvals value = found;
#endif
    term = MULT(stream(a.avals, A_ISO ? 0 : e), value, i, k);
    return true;
}

DEVICE bool is_final(bool found, R_ADD total) {
    if constexpr (ANY) return found;
    else if constexpr (HAS_TERMINAL) return found && total == (R_ADD)TERMINAL;
    else return false;
}

// Takes COUNT entries of row i in, 32 apart from e on, as far as they come before `end`: their columns, and whether u has entries
// there, are asked for together. Whether the row is done with them.
template <int COUNT> DEVICE bool take(const Args& a, i64 i, i64 e, i64 end, bool& found, R_ADD& total) {
    E_indices columns[COUNT];
    bool there[COUNT], done = false;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        there[k] = e + 32 * k < end;
        columns[k] = there[k] ? load(a.indices + e + 32 * k) : 0;
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) there[k] = there[k] && in_u(a, columns[k]);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        R_MULT term;
        if (done || !there[k] || !term_at(a, i, e + 32 * k, columns[k], term)) continue;
        total = !found || ANY ? (R_ADD)term : ADD(total, term);
        found = true;
        done = is_final(found, total);
    }
    return done;
}

// The sum over the lanes, in all of them.
DEVICE void join(bool& found, R_ADD& total) {
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        const R_ADD other = from_lane_xor(total, d);
        const bool too = from_lane_xor(found, d);
        if (too) total = found ? ADD(total, other) : other;
        found = found || too;
    }
}

//== pull_until(indptr, indices, avals, upresent, uvals, mpresent, mvals, cpresent, cvals, before, chpresent, chvals, row_gid, col_gid)
//=             returns=2 blocks_per_sm=6
#undef BOUNDS
#define BOUNDS __launch_bounds__(BLOCK, BLOCKS_PER_SM)  // all at once: of eight, two wait for six (rmat24-16 371 us, so 296; H200)
constexpr int AT_ONCE = 2;  // of a long row, by each lane; with more, registers are kept in memory

// A row from which the lane gathers, if it is `mine`.
DEVICE void gather_row(const Args& a, i64 row, bool mine, i64& count, i64& changes) {
    const i64 i = GLOBAL && mine ? (i64)look(a.row_gid, row) : row;
    i64 e = mine ? (i64)load(a.indptr + row) : 0;
    i64 end = mine ? (i64)load(a.indptr + row + 1) : 0;
    if (MOST && end - e > MOST) end = e + MOST;
    const i64 stop = end - e > SERIAL ? e + SERIAL : end;
    bool found = false, done = false;
    R_ADD total = IDENTITY;
    while (e < stop && !done) done = take<1>(a, i, e++, end, found, total);
    u32 left = __ballot_sync(FULL_WARP, !done && e < end);
    while (left) {
        const int owner = __ffs(left) - 1;
        left &= left - 1;
        const i64 from = from_lane(e, owner), to = from_lane(end, owner), of = from_lane(i, owner);
        bool any = lane() == owner && found, finished = false;
        R_ADD sum = total;
        finished = take<1>(a, of, from + lane(), to, any, sum);
        for (i64 base = from + 32; base < to && !__any_sync(FULL_WARP, finished); base += 32 * AT_ONCE)
            finished = take<AT_ONCE>(a, of, base + lane(), to, any, sum);
        join(any, sum);
        if (lane() == owner) {
            found = any;
            total = sum;
        }
    }
    if (mine) settle(a, row, true, found, total, count, changes);
}

// A warp takes tiles of rows, a lane `span` neighbours of each, and TILES tiles at a time, whose masks it asks for at once.
// For a search TOGETHER rows are a word of C's presence, which is the mask, and one of the changes.
constexpr int TOGETHER = 4, TILES = 4;

// How many rows lie before the first tile: whole tiles, twice as many as long as the last one's last row is a long one.
DEVICE i64 long_rows(const Args& a) {
    constexpr i64 TILE = 32 * TOGETHER;
    const i64 row = lane() ? (TILE << (lane() - 1)) - 1 : 0;  // not a power of two, which means something in some ids
    const bool is_long = row < a.n && (i64)load(a.indptr + row + 1) - (i64)load(a.indptr + row) > LONG_ROW;
    const u32 votes = ~__ballot_sync(FULL_WARP, is_long);
    const int count = votes ? __ffs(votes) - 1 : 32;
    const i64 rows = count ? TILE << (count - 1) : 0;
    return rows < a.n ? rows : a.n;
}

// Rows up to `last`, neighbours to different multiprocessors.
DEVICE void gather_long(const Args& a, i64 last, i64& count, i64& changes) {
    for (i64 row = (i64)(threadIdx.x / 32) * gridDim.x + blockIdx.x + lane() * items(32); row - lane() * items(32) < last;
         row += 32 * items(32)) {
        const bool there = row < last, open = there && allowed(a.mpresent, a.mvals, row);
        if (there && !open) settle(a, row, false, false, (R_ADD)IDENTITY, count, changes);
        if (__any_sync(FULL_WARP, open)) gather_row(a, row, open, count, changes);
    }
}

// Which of a lane's rows from `own` on the mask lets be written (bit k: row own + k). The others are done.
DEVICE u32 open_rows(const Args& a, i64 own, int span, i64& count, i64& changes) {
    u32 open = 0;
    for (int k = 0; k < span; k++) {
        const i64 row = own + k;
        if (row >= a.n) continue;
        if (allowed(a.mpresent, a.mvals, row)) open |= 1u << k;
        else settle(a, row, false, false, (R_ADD)IDENTITY, count, changes);
    }
    return open;
}

// The same for the words of TILES tiles, `apart` from each other (bit TOGETHER * k + j: row j of tile k), of those that are whole.
// At the end of an order by degree come rows without entries, up to which there are `entries`: where C has none nothing will
// change.
DEVICE u32 open_words(const Args& a, i64 first, i64 apart, i64 entries, i64& count) {
    const bool same = a.cpresent == a.mpresent;
    u32 marks[TILES], open = 0;
    bool whole[TILES], bare[TILES];
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        const i64 at = first + k * apart, own = at + TOGETHER * lane();
        whole[k] = at + 32 * TOGETHER <= a.n;
        marks[k] = whole[k] ? *(const u32*)(a.mpresent + own) : 0;  // bytes of 0 and 1
        bare[k] = COMPLEMENT && same && whole[k] && (i64)load(a.indptr + at) == entries;
    }
#pragma unroll
    for (int k = 0; k < TILES; k++) {
        if (!whole[k]) continue;
        const i64 own = first + k * apart + TOGETHER * lane();
        const u32 there = same ? marks[k] : *(const u32*)(a.cpresent + own);
        const u32 shut = COMPLEMENT ? marks[k] : marks[k] ^ 0x01010101u;
        count += __popc(there & shut);
        if constexpr (CHANGED) *(u32*)(a.chpresent + own) = 0;
        const u32 bits = bare[k] ? 0 : shut ^ 0x01010101u;
        open |= ((bits | bits >> 7 | bits >> 14 | bits >> 21) & 15) << TOGETHER * k;
    }
    return open;
}

// The open rows of a tile are listed, so that all lanes gather, however few there are.
DEVICE void gather_tile(const Args& a, i64 first, int span, u32 open, i64& count, i64& changes) {
    __shared__ unsigned char lists[BLOCK / 32][32 * TOGETHER];
    unsigned char* const list = lists[threadIdx.x / 32];
    int before = 0, all = 0;
    for (int k = 0; k < TOGETHER; k++) {
        const u32 votes = __ballot_sync(FULL_WARP, open >> k & 1);
        before += __popc(votes & ((1u << lane()) - 1));
        all += __popc(votes);
    }
    for (; open; open &= open - 1) list[before++] = (unsigned char)(span * lane() + __ffs(open) - 1);
    __syncwarp();
    for (int base = lane(); base - lane() < all; base += 32) {
        const bool mine = base < all;
        gather_row(a, first + (mine ? list[base] : 0), mine, count, changes);
    }
    __syncwarp();  // before the list is another one
}

// What there is to do: how many entries C has then, and how many changes. Where there are few rows for each warp a lane takes one.
DEVICE void gather_rows(const Args& a, i64& count, i64& changes) {
    constexpr bool BY_WORD = MASKED && !VALUED && !C_FULL && !FRESH && !REPLACE;
    const int span = a.n >= 32 * TOGETHER * items(32) ? TOGETHER : 1;
    const i64 apart = 32 * span * items(32), entries = a.n ? (i64)load(a.indptr + a.n) : 0, from = MOST ? 0 : long_rows(a);
    gather_long(a, from, count, changes);
    bool words = false;
    if constexpr (BY_WORD)
        words = span == TOGETHER && !(((u64)a.mpresent | (u64)a.cpresent | (CHANGED ? (u64)a.chpresent : 0)) & 3);
    for (i64 first = from + 32 * span * item(32); first < a.n; first += TILES * apart) {
        u32 open = 0;
        if constexpr (BY_WORD)
            if (words) open = open_words(a, first, apart, entries, count);
#pragma unroll 1
        for (int k = 0; k < TILES && first + k * apart < a.n; k++, open >>= TOGETHER) {
            const i64 at = first + k * apart;
            u32 now = open & 15;
            if (!words || at + 32 * TOGETHER > a.n) now = open_rows(a, at + span * lane(), span, count, changes);
            if (__any_sync(FULL_WARP, now)) gather_tile(a, at, span, now, count, changes);
        }
    }
}

#ifdef PARTED
// All that was found has one value, and so has u then.
template <class P> DEVICE void next_value(P* value) {
    if constexpr (READS_U && U_ISO) poke(value, STORE(MULT(E_avals(), peek(value), (i64)0, (i64)0)));
}
#endif
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == PULLING; }
#endif
KERNEL {
    i64 count = 0, changes = 0;
#ifdef IN_LOOP
    if (threadIdx.x == 0) {
        Args& now = const_cast<Args&>(a);
#ifndef PARTED
        now.upresent += loop.bits * loop.apart;
#endif
        now.chpresent += (1 - loop.bits) * loop.apart;
    }
    __syncthreads();
#endif
    gather_rows(a, count, changes);
    tally(a.result, 0, count);
    if constexpr (CHANGED) tally(a.result, 1, changes);
#ifdef IN_LOOP
    turn_over(a, loop, [&](Loop& loop, u64 entries, i64 packed) {
        loop.bits = 1 - loop.bits;
#ifdef PARTED
        next_value(a.uvals);
#endif
        const i64 count = NEXT ? (i64)((u64)packed & LIST_MASK) : packed;
        loop.next(count, NEXT ? (i64)((u64)packed >> COUNT_BITS) : -1, (i64)entries, false);
    });
#else
    publish(a);
#endif
}

//== pull_all(starts, shares, giants, giant_first, piece_of, pieces, giant, partials, founds, arrived, runs, indptr, indices, avals, upresent, uvals,
//=           mpresent, mvals, cpresent, cvals, before, chpresent, chvals, row_gid, col_gid) per=32 returns=2
constexpr int AHEAD = 8, CHUNK = 32 * AHEAD, PART = HOT ? AHEAD / 2 : AHEAD;  // in halves terms leave more room for what is hot

// PART of a warp's terms per lane, which a column of padding every 32 keeps apart, where rows begin, and who they are.
struct Room {
    R_ADD terms[32 * PART + PART];
    u32 heads[AHEAD], founds[AHEAD];
    unsigned char owners[32];
};
DEVICE int padded(int x) { return x + x / 32; }

// CHUNK of the entries from place `at` of row i on, of which there are `left` (WHOLE: enough), a sum per lane.
template <bool WHOLE> DEVICE void gather_some(const Args& a, const Hot& hot, i64 i, i64 at, int left, bool& found, R_ADD& total) {
    E_indices columns[AHEAD];
    R_MULT terms[AHEAD];
    bool there[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        there[k] = WHOLE || lane() + 32 * k < left;
        columns[k] = there[k] ? stream(a.indices + at + 32 * k) : 0;
    }
    if constexpr (!U_FULL) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) there[k] &= in_u(a, columns[k]);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) there[k] = there[k] && term_at(a, i, at + 32 * k, columns[k], terms[k], hot);
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (there[k]) {
            total = ADD(total, terms[k]);
            found = true;
        }
}

// `length` entries of row i from `first` on by the whole warp.
DEVICE void gather(const Args& a, const Hot& hot, i64 i, i64 first, int length, bool& found, R_ADD& total) {
    int x = 0;
    for (; x + CHUNK <= length; x += CHUNK) gather_some<true>(a, hot, i, first + lane() + x, CHUNK, found, total);
    if (x < length) gather_some<false>(a, hot, i, first + lane() + x, length - x, found, total);
}

// The terms of a part, from position `begin` of the chunk on, become the sums from the beginning of their row on, in place.
// `before` is the sum at the end of the part before; returned is the one at the end.
DEVICE R_ADD add_up(Room& room, int begin, R_ADD before) {
    const int first = lane() * PART;
    const u32 heads = room.heads[(begin + first) / 32] >> (first % 32) & ((1u << PART) - 1);
    R_ADD sums[PART];
#pragma unroll
    for (int j = 0; j < PART; j++) {
        sums[j] = room.terms[padded(first + j)];
        if (j && !(heads >> j & 1)) sums[j] = ADD(sums[j - 1], sums[j]);
    }
    // over the lanes: back to the nearest one in which a row begins
    const u32 begun = __ballot_sync(FULL_WARP, heads != 0) & (FULL_WARP >> (31 - lane()));
    const int nearest = begun ? 31 - __clz(begun) : 0;
    R_ADD carry = sums[PART - 1];
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const R_ADD other = from_lane(carry, lane() - d);
        if (lane() - d >= nearest) carry = ADD(other, carry);
    }
    if (!begun && begin) carry = ADD(before, carry);
    const R_ADD last = from_lane(carry, 31);
    carry = from_lane(carry, lane() - 1);
    if (lane() == 0) carry = before;
    const int own = heads ? __ffs(heads) - 1 : PART;
#pragma unroll
    for (int j = 0; j < PART; j++) room.terms[padded(first + j)] = j < own ? ADD(carry, sums[j]) : sums[j];
    return last;
}

// Whether one of positions first..last was found.
DEVICE bool any_found(const Room& room, int first, int last) {
    for (int word = first / 32; 32 * word < last; word++) {
        u32 bits = room.founds[word];
        if (first > 32 * word) bits &= FULL_WARP << (first % 32);
        if (last < 32 * word + 32) bits &= (1u << (last % 32)) - 1;
        if (bits) return true;
    }
    return false;
}

// The first `edges` entries of rows, one row per lane, are added up; those of a lane's row lie at begin and are positions
// upto - length..upto of all.
DEVICE void chunk(const Args& a, const Hot& hot, Room& room, i64 i, i64 begin, int length, int upto, int edges, bool& found, R_ADD& total) {
    const int start = upto - length;
    if (lane() < AHEAD) room.heads[lane()] = 0;
    __syncwarp();
    if (length) atomicOr(&room.heads[start / 32], 1u << (start % 32));
    const u32 filled = __ballot_sync(FULL_WARP, length > 0);
    if constexpr (MASKED || BY_ROW) {
        if (length) room.owners[__popc(filled & ((1u << lane()) - 1))] = (unsigned char)lane();
    }
    __syncwarp();
    const i64 offset = begin - start, offset0 = from_lane(offset, __ffs(filled) - 1) + lane();
    E_indices columns[AHEAD];
    i64 places[AHEAD], of[AHEAD];
    bool there[AHEAD];
    int before = 0;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        there[k] = lane() < edges - 32 * k;
        places[k] = offset0 + 32 * k;
        of[k] = i;
        if constexpr (MASKED || BY_ROW) {
            const u32 heads = room.heads[k];
            const int rank = before + __popc(heads & (FULL_WARP >> (31 - lane()))) - 1;
            before += __popc(heads);
            const int owner = room.owners[rank];
            places[k] = from_lane(offset, owner) + 32 * k + lane();
            of[k] = from_lane(i, owner);
        }
        columns[k] = there[k] ? stream(a.indices + places[k]) : 0;
    }
    R_MULT terms[AHEAD];
    if constexpr (!U_FULL) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) there[k] &= in_u(a, columns[k]);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) there[k] = there[k] && term_at(a, of[k], places[k], columns[k], terms[k], hot);
    R_ADD last = IDENTITY;
#pragma unroll
    for (int part = 0; part < AHEAD; part += PART) {
        if (32 * part >= edges) break;
#pragma unroll
        for (int k = 0; k < PART; k++) {
            room.terms[33 * k + lane()] = there[part + k] ? (R_ADD)terms[part + k] : (R_ADD)IDENTITY;
            if constexpr (!U_FULL) {
                const u32 word = __ballot_sync(FULL_WARP, there[part + k]);
                if (lane() == 0) room.founds[part + k] = word;
            }
        }
        __syncwarp();
        last = add_up(room, 32 * part, last);
        __syncwarp();
        const int at = upto - 1 - 32 * part;
        if (length && at >= 0 && at < 32 * PART) total = room.terms[padded(at)];
        __syncwarp();  // before the room is used again
    }
    found = length > 0;
    if constexpr (!U_FULL) {
        found = found && any_found(room, start, upto);
        __syncwarp();
    }
}

// Whether none of the next 32 STRIDE rows has anything to gather; then they are done. Where a mask leaves few rows, most
// are such, and a step that only waits for what it reads costs as much as a chunk: so these wait together.
constexpr int STRIDE = 4;
DEVICE bool idle(const Args& a, i64 row, i64 last, i64& count, i64& changes) {
    bool open[STRIDE], mine[STRIDE], some = false;
#pragma unroll
    for (int k = 0; k < STRIDE; k++) {
        const i64 at = row + 32 * k + lane();
        const bool there = at < last;
        open[k] = there && allowed(a.mpresent, a.mvals, at);
        const i64 length = there ? (i64)load(a.indptr + at + 1) - (i64)load(a.indptr + at) : 0;
        mine[k] = there && length <= a.giant;
        some |= open[k] && length;
    }
    if (__any_sync(FULL_WARP, some)) return false;
#pragma unroll
    for (int k = 0; k < STRIDE; k++)
        if (mine[k]) settle(a, row + 32 * k + lane(), open[k], false, (R_ADD)IDENTITY, count, changes);
    return true;
}

// A share of the rows. A row goes on in the next chunk where the one before is full.
DEVICE void rows(const Args& a, const Hot& hot, Room& room, i64 row, i64 last, i64& count, i64& changes) {
    i64 looked = row;
    int skip = 0;  // so many entries of the first row are done; `carry` is their sum if `carried`
    bool carried = false;
    R_ADD carry = IDENTITY;
    while (row < last) {
        if constexpr (MASKED) {
            if (row >= looked && !skip) {
                looked = row + 32 * STRIDE;
                if (idle(a, row, last, count, changes)) {
                    row = looked;
                    continue;
                }
            }
        }
        const i64 mine = row + lane();
        const bool there = mine < last;
        i64 begin = there ? (i64)load(a.indptr + mine) : 0;
        const i64 end = there ? (i64)load(a.indptr + mine + 1) : 0;
        const bool open = there && allowed(a.mpresent, a.mvals, mine), giant = end - begin > a.giant;
        if (lane() == 0) begin += skip;
        const int length = open && !giant ? (int)(end - begin) : 0, first = from_lane(length, 0);
        const i64 i = GLOBAL && there ? (i64)look(a.row_gid, mine) : mine;
        bool found = false;
        R_ADD total = IDENTITY;
        int done = 1, cut = 0;
        if (first >= CHUNK) {
            const int whole = first - first % CHUNK;
            gather(a, hot, from_lane(i, 0), from_lane(begin, 0), whole, found, total);
            join(found, total);
            if (whole < first) done = 0, cut = skip + whole;
        } else {
            const int upto = warp_scan(length), start = upto - length, to = upto < CHUNK ? upto : CHUNK;
            const int edges = from_lane(to, 31), part = start < CHUNK ? to - start : 0;
            if (edges) chunk(a, hot, room, i, begin, part, start < CHUNK ? to : edges, edges, found, total);
            const u32 beyond = __ballot_sync(FULL_WARP, upto > CHUNK);
            done = beyond ? __ffs(beyond) - 1 : 32;
            if (beyond) cut = from_lane(part, done);
        }
        if (lane() == 0 && carried) {
            total = found ? ADD(carry, total) : carry;
            found = true;
        }
        if (there && !giant && lane() < done) settle(a, mine, open, found, total, count, changes);
        carried = cut && from_lane(found, done % 32);
        carry = from_lane(total, done % 32);
        skip = cut;
        row += done;
    }
}

// A piece of a giant; the warp that comes last adds the pieces up, in their order.
DEVICE void piece(const Args& a, const Hot& hot, i64 p, i64& count, i64& changes) {
    const i64 which = load(a.piece_of + p), row = load(a.giants + which);
    const i64 first_piece = load(a.giant_first + which), pieces = load(a.giant_first + which + 1) - first_piece;
    const bool open = allowed(a.mpresent, a.mvals, row);
    bool found = false;
    R_ADD total = IDENTITY;
    if (!open) {
        if (p == first_piece && lane() == 0) settle(a, row, false, false, total, count, changes);
        return;
    }
    const i64 first = (i64)load(a.indptr + row) + (p - first_piece) * a.giant, left = (i64)load(a.indptr + row + 1) - first;
    gather(a, hot, GLOBAL ? (i64)look(a.row_gid, row) : row, first, (int)(left < a.giant ? left : a.giant), found, total);
    join(found, total);
    bool complete = false;
    if (lane() == 0) {
        poke(a.partials + p, total);
        poke(a.founds + p, found);
        __threadfence();
        complete = atomicAdd(a.arrived + which, 1u) == (u32)(pieces - 1);
        if (complete) poke(a.arrived + which, 0);
        __threadfence();
    }
    if (!__shfl_sync(FULL_WARP, complete, 0)) return;
    found = false;
    total = IDENTITY;
    for (i64 q = lane(); q < pieces; q += 32)
        if (peek(a.founds + first_piece + q)) {
            const R_ADD other = peek(a.partials + first_piece + q);
            total = found ? ADD(total, other) : other;
            found = true;
        }
    join(found, total);
    if (lane() == 0) settle(a, row, true, found, total, count, changes);
}

#if CLUSTER > 1
KERNEL_OF(__cluster_dims__(CLUSTER, 1, 1)) {
    const int rank = cluster_rank();
#else
KERNEL {
    constexpr int rank = 0;
#endif
    extern __shared__ __align__(16) unsigned char memory[];
    Room& room = ((Room*)memory)[threadIdx.x / 32];
    Hot hot;
    if constexpr (HOT) {
        E_uvals* const kept = (E_uvals*)((Room*)memory + BLOCK / 32);
        hot.values = kept;
        for (int r = 0; r < RUNS; r++) {
            if (r) hot.begins[r] = (i64)load(a.runs + r);
#pragma unroll 16
            for (int k = threadIdx.x; k < Hot::KEPT; k += BLOCK) kept[r * Hot::KEPT + k] = look(a.uvals, hot.column(r, k, rank));
        }
        if constexpr (CLUSTER > 1) {
            cluster_sync();
            hot.first = (const unsigned char*)of_block(kept, 0);
            hot.apart = (u32)((const unsigned char*)of_block(kept, 1) - hot.first);
            hot.own = rank * hot.apart;
        } else {
            __syncthreads();
        }
    }
    i64 count = 0, changes = 0;
    for (i64 p = item(32); p < a.pieces; p += items(32)) piece(a, hot, p, count, changes);
    if constexpr (MASKED) {  // where rows are passed over, the next share's bounds are read ahead
        i64 s = item(32), row = 0, last = 0;
        if (s < a.shares) row = load(a.starts + s), last = load(a.starts + s + 1);
        while (s < a.shares) {
            i64 next_row = 0, next_last = 0;
            s += items(32);
            if (s < a.shares) next_row = load(a.starts + s), next_last = load(a.starts + s + 1);
            rows(a, hot, room, row, last, count, changes);
            row = next_row;
            last = next_last;
        }
    } else {
        for (i64 s = item(32); s < a.shares; s += items(32))
            rows(a, hot, room, load(a.starts + s), load(a.starts + s + 1), count, changes);
    }
    if constexpr (CLUSTER > 1) cluster_sync();  // others may still read what this block keeps
    tally(a.result, 0, count);
    if constexpr (CHANGED) tally(a.result, 1, changes);
    publish(a);
}

//== pull_lanes(starts, shares, giants, giant_first, piece_of, pieces, giant, partials, founds, arrived, indptr, indices, avals, upresent, uvals,
//=             mpresent, mvals, cpresent, cvals, before, chpresent, chvals, row_gid, col_gid) per=32 returns=2
// GROUPS of a warp's lanes have a copy each and share the row's entries. Shares and giants are of the matrix that is stored.
constexpr int GROUPS = 32 / COPIES, AHEAD = 4;
static_assert(COPIES > 1 && COPIES <= 32 && 32 % COPIES == 0, "the lanes of a warp");

// Takes another sum in.
DEVICE void combine(bool& found, R_ADD& total, bool there, R_ADD other) {
    if (!there) return;
    total = !found || ANY ? other : ADD(total, other);
    found = true;
}

// The sums of the groups, in all of them.
DEVICE void join_groups(bool& found, R_ADD& total) {
#pragma unroll
    for (int d = 16; d >= COPIES; d >>= 1) {
        const R_ADD other = from_lane_xor(total, d);
        combine(found, total, from_lane_xor(found, d), other);
    }
}

// Whether every copy is done, in one group or another.
DEVICE bool all_done(bool done) {
    u32 who = __ballot_sync(FULL_WARP, done);
#pragma unroll
    for (int d = 16; d >= COPIES; d >>= 1) who |= who >> d;
    return (who | ~(FULL_WARP >> (32 - COPIES))) == FULL_WARP;
}

// `length` entries from `first` on, of the copy whose position is p, if that is open.
DEVICE void gather_copies(const Args& a, i64 p, bool open, i64 first, i64 length, bool& found, R_ADD& total) {
    for (i64 base = 0; base < length; base += 32) {
        const int count = length - base < 32 ? (int)(length - base) : 32;
        const E_indices mine = lane() < count ? stream(a.indices + first + base + lane()) : 0;
        for (int x = 0; x < count; x += GROUPS * AHEAD) {
            R_MULT terms[AHEAD];
            i64 columns[AHEAD];
            bool there[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const int y = x + GROUPS * k + lane() / COPIES;
                columns[k] = (i64)from_lane(mine, y & 31) * COPIES + copy_of(lane());
                there[k] = (open && y < count) & in_u(a, columns[k]);
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                there[k] = there[k] && term_at(a, p, first + base + x + GROUPS * k + lane() / COPIES, columns[k], terms[k]);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) combine(found, total, there[k], (R_ADD)terms[k]);
        }
        if constexpr (ANY || HAS_TERMINAL)
            if (all_done(!open || is_final(found, total))) break;
    }
    join_groups(found, total);
}

DEVICE void rows(const Args& a, i64 row, i64 last, i64& count, i64& changes) {
    for (; row < last; row += 32) {
        const i64 mine = row + lane();
        const i64 begin = mine < last ? (i64)load(a.indptr + mine) : 0;
        const i64 length = mine < last ? (i64)load(a.indptr + mine + 1) - begin : 0;
        const int some = last - row < 32 ? (int)(last - row) : 32;
        i64 p = row * COPIES + copy_of(lane());
        bool next = allowed(a.mpresent, a.mvals, p);
        for (int r = 0; r < some; r++, p += COPIES) {
            const bool open = next;
            if (r + 1 < some) next = allowed(a.mpresent, a.mvals, p + COPIES);
            const i64 first = from_lane(begin, r), entries = from_lane(length, r);
            if (entries > a.giant) continue;
            bool found = false;
            R_ADD total = IDENTITY;
            if (entries && __any_sync(FULL_WARP, open)) gather_copies(a, p, open, first, entries, found, total);
            if (lane() < COPIES) settle(a, p, open, found, total, count, changes);
        }
    }
}

// A piece of a giant, as in pull_all.
DEVICE void piece(const Args& a, i64 number, i64& count, i64& changes) {
    const i64 which = load(a.piece_of + number), row = load(a.giants + which);
    const i64 first_piece = load(a.giant_first + which), pieces = load(a.giant_first + which + 1) - first_piece;
    const i64 p = row * COPIES + copy_of(lane());
    const bool open = allowed(a.mpresent, a.mvals, p);
    bool found = false;
    R_ADD total = IDENTITY;
    if (__any_sync(FULL_WARP, open)) {
        const i64 first = (i64)load(a.indptr + row) + (number - first_piece) * a.giant, left = (i64)load(a.indptr + row + 1) - first;
        gather_copies(a, p, open, first, left < a.giant ? left : a.giant, found, total);
    }
    if (lane() < COPIES) {
        poke(a.partials + number * COPIES + lane(), total);
        poke(a.founds + number * COPIES + lane(), found);
        __threadfence();
    }
    __syncwarp();
    bool complete = false;
    if (lane() == 0) {
        complete = atomicAdd(a.arrived + which, 1u) == (u32)(pieces - 1);
        if (complete) poke(a.arrived + which, 0);
        __threadfence();
    }
    if (!__shfl_sync(FULL_WARP, complete, 0)) return;
    found = false;
    total = IDENTITY;
    for (i64 q = lane() / COPIES; q < pieces; q += GROUPS) {
        const i64 at = (first_piece + q) * COPIES + copy_of(lane());
        const bool there = peek(a.founds + at);
        combine(found, total, there, there ? peek(a.partials + at) : total);
    }
    join_groups(found, total);
    if (lane() < COPIES) settle(a, p, open, found, total, count, changes);
}

KERNEL {
    i64 count = 0, changes = 0;
    for (i64 number = item(32); number < a.pieces; number += items(32)) piece(a, number, count, changes);
    for (i64 s = item(32); s < a.shares; s += items(32)) rows(a, load(a.starts + s), load(a.starts + s + 1), count, changes);
    tally(a.result, 0, count);
    if constexpr (CHANGED) tally(a.result, 1, changes);
    publish(a);
}

//== pull_sums(sums, splits, split, indptr, indices, avals, upresent, uvals, mpresent, mvals, cpresent, cvals, before, chpresent, chvals, row_gid,
//=            col_gid) returns=2
// What comes of the sums: those of the first `split` rows are in pieces, which begin at splits[row]; a warp adds them up.
KERNEL {
    i64 count = 0, changes = 0;
    const auto found = [&](i64 row) { return load(a.indptr + row + 1) > load(a.indptr + row); };
    for (i64 row = item(32); row < a.split; row += items(32)) {
        const i64 end = load(a.splits + row + 1);
        R_ADD total = IDENTITY;
        for (i64 at = (i64)load(a.splits + row) + lane(); at < end; at += 32) total = ADD(total, load(a.sums + at));
        for (int d = 16; d; d >>= 1) total = ADD(total, from_lane_xor(total, d));
        if (lane() == 0) settle(a, row, true, found(row), total, count, changes);
    }
    const R_ADD* const others = a.sums + ((i64)load(a.splits + a.split) - a.split);
    for (i64 row = a.split + item(1); row < a.n; row += items(1))
        settle(a, row, true, found(row), (R_ADD)load(others + row), count, changes);
    tally(a.result, 0, count);
    publish(a);
}
