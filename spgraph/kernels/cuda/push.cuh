// Masked SpMSpV as push: the entries of a list scatter through the rows they select.
//
// Method: every warp takes an equal share of the list's edges. `prefix`, the running sum of the row lengths along
// the list, says which entry an edge belongs to: 32 entries at a time lie in the lanes of a warp, each lane finds
// its edge's entry by five shuffles, but for rows that go on as far: those have one owner for all lanes. A lane has AHEAD edges
// in flight, so that their reads wait together. New entries go through a buffer of the warp in shared memory to the end of the
// output list; one 64-bit atomicAdd per flush of (row lengths << 30 | entries) gives their place and, for the
// next push through the same matrix (NEXT), their prefix: no scan, no further kernel. Hubs are looked at before an
// atomic is spent on them.
//
// Data encoding: row s of A is indices[begin[s]..begin[s + 1]]; u is the list (fidx, fvals), all of it; mask and C as in
// pull.cuh. `seen` has a byte per position, which is `epoch` where the launch was. acc is the identity before it, and
// again after `queue.fetch`. Absent positions of C hold the identity (`queue.pad`), so that nothing has to be claimed.
//
// A long output is better made as a bitmap (BITMAP): `seen` is then its presence, values go to their positions, push_list's acc
// are the values, and nothing is listed, though its edges are counted (NEXT). GROWS: entries that C has stay as they are, so their presence is the mark.
//
// Results: 0: (edges of the output list << 30 | its entries), 1: entries that C has gained. Lists of 2^30 entries or more
// are not pushed (the engine pulls).
//
// IN_LOOP: one of the kernels of a loop that needs no host (after.cuh): the list is one of two in fidx and oidx, prefix and oprefix,
// `seen` is two bitmaps, and u's values are those of C (u holds entries that C has got); READS_U: they are asked for. In parts u is
// the list that has come, and has one value, if any.
//
// Constants as in kernels/cpu/push.py, and BITMAP, NEXT, VALUES (ovals are written), FILTER (emit only what KEEP accepts).

#define ROOM 96
#define AHEAD 4

// Entries on their way to the output list.
struct Buffer {
    E_oidx ids[ROOM];
    E_ovals values[ROOM];
};

// How many edges leave position p of C.
DEVICE i64 length_of(const Args& a, i64 p) {
    const i64 row = row_of(p);
    return (i64)load(a.leaving + row + 1) - (i64)load(a.leaving + row);
}

template <class B> DEVICE void flush(const Args& a, B& buffer, int count) {
    i64 before[ROOM / 32];
    i64 total = 0;
    __syncwarp();
    if constexpr (NEXT) {
#pragma unroll
        for (int r = 0; r < ROOM / 32; r++) {
            const int place = 32 * r + lane();
            i64 length = 0;
            if (place < count) {
                length = length_of(a, buffer.ids[place]);
            }
            const i64 sum = warp_scan(length);
            before[r] = total + sum - length;
            total += from_lane(sum, 31);
        }
    }
    u64 base = 0;
    if (lane() == 0) base = atomicAdd(&a.result->count[0], (u64)total << COUNT_BITS | (u64)count);
    base = from_lane(base, 0);
    const i64 slot = (i64)(base & ((1ull << COUNT_BITS) - 1)), edges = (i64)(base >> COUNT_BITS);
#pragma unroll
    for (int r = 0; r < ROOM / 32; r++) {
        const int place = 32 * r + lane();
        if (place < count) {
            a.oidx[slot + place] = buffer.ids[place];
            if constexpr (VALUES) a.ovals[slot + place] = buffer.values[place];
            if constexpr (NEXT) a.oprefix[slot + place] = edges + before[r];
        }
    }
    __syncwarp();
}

// All lanes of a warp, together; count is the same in all.
DEVICE void emit(const Args& a, Buffer& buffer, int& count, bool wanted, i64 j, E_ovals value) {
    const u32 who = __ballot_sync(FULL_WARP, wanted);
    if (!who) return;
    if (wanted) {
        const int place = count + __popc(who & ((1u << lane()) - 1));
        buffer.ids[place] = (E_oidx)j;
        if constexpr (VALUES) buffer.values[place] = value;
    }
    count += __popc(who);
    if (count > ROOM - 32) {
        flush(a, buffer, count);
        count = 0;
    }
}

// An edge: its entry of the list, its place in `indices`, the position that it leads to.
struct Edge {
    i64 q, at;
    E_indices j;
    bool allowed;  // it exists, and so does the position within the mask
#ifdef IN_LOOP
    E_cvals value;  // of u there
#endif
};

#ifdef IN_LOOP
// The value of u's entry q, at `source`: C's. In a relaxation it may be lowered meanwhile: then it is in the next list, too. In parts
// it has come with the entry.
DEVICE E_cvals value_of(const Args& a, i64 q, i64 source) {
    if constexpr (!READS_U) return E_cvals();
    else if constexpr (U_ISO) return look(a.fvals, 0);
#ifdef PARTED
    else return look(a.fvals, q);
#else
    else if constexpr (GROWS) return look(a.fvals, source);
    else return peek(a.fvals + source);
#endif
}
#endif

// body(some) for 32 * AHEAD edges at a time, AHEAD of each lane, all lanes together.
template <class Body> DEVICE void for_edges(const Args& a, i64 edges, Body body) {
    const i64 warps = items(32);
    const i64 share = ((edges + warps - 1) / warps + 31) / 32 * 32;
    i64 e = item(32) * share;
    const i64 last = e + share < edges ? e + share : edges;
    if (e >= last) return;
    i64 q = upper_bound(a.prefix, 0, a.n, e) - 1;
    while (e < last) {
        const i64 mine = q + lane();
        const bool there = mine < a.n;
        const i64 start = there ? (i64)load(a.prefix + mine) : edges;
        const i64 source = there ? (i64)load(a.fidx + mine) : 0;
        const i64 offset = there ? (i64)load(a.begin + row_of(source)) - start : 0;
        const int copy = copy_of(source);
#ifdef IN_LOOP
        const E_cvals value = there ? value_of(a, mine, source) : E_cvals();
#endif
        const i64 next = q + 32 < a.n ? (i64)load(a.prefix + q + 32) : edges;
        const i64 stop = next < last ? next : last;
        const i64 far = start - e;  // of the entry's first edge, from the chunk's
        const int from = far < -1 ? -1 : far > 0x7fffffff ? 0x7fffffff : (int)far;
        const int all = stop - e > 1 << 30 ? 1 << 30 : (int)(stop - e);
        const auto owner_of = [&](int x) {
            int owner = 0;
#pragma unroll
            for (int d = 16; d; d >>= 1)
                if (__shfl_sync(FULL_WARP, from, owner + d) <= x) owner += d;
            return owner;
        };
        for (int x = 0; x < all; x += 32 * AHEAD) {
            int owner = owner_of(x + lane());
            const int first = __shfl_sync(FULL_WARP, owner, 0), behind = __shfl_sync(FULL_WARP, from, (first + 1) & 31);
            const int end = first < 31 && behind < all ? behind : all;  // of the first edge's row
            const bool alone = end - x >= 32 * AHEAD;
            i64 at = from_lane(offset, owner) + e + x + lane();
            Edge some[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const int y = x + 32 * k + lane();
                if (k && alone) {
                    at += 32;
                } else if (k && x + 32 * k < all) {
                    owner = owner_of(y);
                    at = from_lane(offset, owner) + e + y;
                }
                some[k] = {q + owner, at, 0, y < all};
                const int of = COPIES > 1 ? from_lane(copy, owner) : 0;
#ifdef IN_LOOP
                if constexpr (READS_U) some[k].value = from_lane(value, owner);
#endif
                if (y < all) some[k].j = (E_indices)(stream(a.indices + at) * COPIES + of);
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (some[k].allowed) some[k].allowed = allowed(a.mpresent, a.mvals, some[k].j);
            body(some);
        }
        e += all;
        if (e == stop) q += 32;
    }
}

// What an edge contributes.
DEVICE R_MULT term_of(const Args& a, const Edge& edge) {
    const i64 source = load(a.fidx + edge.q);
    const i64 i = GLOBAL ? (i64)look(a.row_gid, edge.j) : edge.j, k = GLOBAL ? (i64)look(a.col_gid, source) : source;
    const auto value = stream(a.avals, A_ISO ? 0 : edge.at);
#ifdef IN_LOOP
    return MULT(value, edge.value, i, k);
#else
    return MULT(value, look(a.fvals, U_ISO ? 0 : edge.q), i, k);
#endif
}

// Takes position j, as the first one.
DEVICE bool claim(const Args& a, i64 j) {
    if constexpr (BITMAP) return set_byte((unsigned char*)a.seen, j);
    else return set_mark((unsigned char*)a.seen, j, (u32)a.epoch);
}
// Whether it is, as far as a look can tell. Most edges lead to few positions, which were taken long ago: their marks lie in few
// sectors of the L2, where all would wait for each other.
DEVICE bool is_claimed(const Args& a, i64 j) { return glance(a.seen + j) == (BITMAP ? 1 : a.epoch); }

//== push_list(prefix, edges, begin, fidx, fvals, indices, avals, mpresent, mvals, seen, epoch, acc, oidx, ovals, oprefix,
//=            leaving, row_gid, col_gid) per=32 block=256 returns=1 blocks_per_sm=4
KERNEL {
    __shared__ Buffer buffers[BLOCK / 32];
    Buffer& buffer = buffers[threadIdx.x / 32];
    int count = 0;
    i64 added = 0;
    for_edges(a, a.edges, [&](const Edge (&some)[AHEAD]) {
        bool fresh[AHEAD], wanted[AHEAD];
        R_MULT terms[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) fresh[k] = some[k].allowed && !is_claimed(a, some[k].j);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            wanted[k] = ISO_OUT || ANY ? fresh[k] : some[k].allowed;
            if (!ISO_OUT && wanted[k]) terms[k] = term_of(a, some[k]);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const i64 j = some[k].j;
            const bool won = fresh[k] && claim(a, j);
            E_ovals value = E_ovals();
            if constexpr (ANY && !ISO_OUT) {
                if (won) value = STORE(terms[k]);
            } else if constexpr (!ISO_OUT) {
                bool changed;
                if (wanted[k]) atomic_combine(a.acc + j, terms[k], [](R_ADD s, R_MULT t) { return ADD(s, t); }, changed);
            }
            if constexpr (BITMAP) {
                if (VALUES && won) a.ovals[j] = value;
                added += won;
            } else {
                emit(a, buffer, count, won, j, value);
            }
        }
    });
    if (count) flush(a, buffer, count);
    if constexpr (BITMAP) tally(a.result, 0, added);
    publish(a);
}

//== push_scatter(prefix, edges, begin, fidx, fvals, indices, avals, mpresent, mvals, cpresent, cvals, seen, epoch, oidx, ovals,
//=               oprefix, thunk, leaving, row_gid, col_gid) per=32 block=256 returns=2 blocks_per_sm=4
// Combines an entry of C with a term; whether the entry is new or another one now, and its value.
DEVICE bool combine(const Args& a, i64 j, R_MULT term, E_cvals& now, i64& added) {
    bool fresh = false;
    if constexpr (GROWS) {
        fresh = set_byte((unsigned char*)a.cpresent, j);
        if (fresh) a.cvals[j] = now = STORE(term);
        added += fresh;
        return fresh;
    }
    bool moved;
    E_cvals old;
    now = atomic_combine(a.cvals + j, term, [](E_cvals c, R_MULT t) { return ACC(c, t); }, moved, old);
    if constexpr (!C_FULL) {
        const bool was_there = GLANCE && moved && differs((E_cvals)IDENTITY, old);  // GLANCE: values never come back
        if (!was_there && (moved || !differs((R_MULT)IDENTITY, term))) fresh = set_byte((unsigned char*)a.cpresent, j);
    }
    added += fresh;
    return moved || fresh;
}

// Whether a term may change something, as far as a look can tell; what changes nothing now never will (GLANCE).
DEVICE bool may_change(const Args& a, i64 j, R_MULT term) {
    if constexpr (GROWS || !GLANCE) return true;
    const E_cvals old = glance(a.cvals + j);
    return bits_of(ACC(old, term)) != bits_of(old) || !(C_FULL || differs((R_MULT)IDENTITY, term));
}

// What there is to do, from C's entries and terms: how many entries C has gained, how many a bitmap.
DEVICE void scatter(const Args& a, Buffer& buffer, i64& added, i64& listed) {
    int count = 0;
    for_edges(a, a.edges, [&](const Edge (&some)[AHEAD]) {
        bool wanted[AHEAD];
        R_MULT terms[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) wanted[k] = some[k].allowed && !(GROWS && glance(a.cpresent + some[k].j));
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (wanted[k]) terms[k] = term_of(a, some[k]);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) wanted[k] = wanted[k] && may_change(a, some[k].j, terms[k]);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const i64 j = some[k].j;
            bool won = false;
            E_cvals now = E_cvals();
            if (wanted[k]) {
                won = combine(a, j, terms[k], now, added);
                if constexpr (FILTER) won = won && KEEP(now, GLOBAL ? (i64)look(a.row_gid, j) : j, a.thunk);
                if constexpr (CHANGED && !GROWS) won = won && claim(a, j);
            }
            if constexpr (CHANGED && BITMAP) {
                if (won) {
                    if constexpr (GROWS) a.seen[j] = 1;
                    if constexpr (VALUES) a.ovals[j] = now;
                    listed += 1 + (NEXT ? length_of(a, j) << COUNT_BITS : 0);
                }
            } else if constexpr (CHANGED) {
                emit(a, buffer, count, won, j, now);
            }
        }
    });
    if (count) flush(a, buffer, count);
}

#ifdef PARTED
// All that was found has one value, and so has u then.
template <class P> DEVICE void next_value(P* value) {
    if constexpr (READS_U && U_ISO) poke(value, STORE(MULT(E_avals(), peek(value), (i64)0, (i64)0)));
}
#endif
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) {
#ifndef PARTED
    if (first_thread() && !BITMAP) loop.heard();
#endif
    return peek(&loop.turn) == (BITMAP ? MARKING : PUSHING);
}
#endif
KERNEL {
    __shared__ Buffer buffers[BLOCK / 32];
    Buffer& buffer = buffers[threadIdx.x / 32];
    i64 added = 0, listed = 0;
#ifdef IN_LOOP
    if (threadIdx.x == 0) {
        Args& now = const_cast<Args&>(a);
#ifdef PARTED
        const i64 room = loop.steps & 1;
        const u64 came = peek(&loop.at().ends[room]);
        now.n = (i64)(came & LIST_MASK);
        now.edges = (i64)(came >> COUNT_BITS);
        now.fidx += room * loop.columns;
        now.prefix += room * loop.columns;
        if constexpr (READS_U && !U_ISO) now.fvals += room * loop.columns;
#else
        now.n = loop.count;
        now.edges = loop.edges;
        now.fidx += loop.list * loop.room;
        now.prefix += loop.list * loop.room;
#endif
        now.oidx += (1 - loop.list) * loop.room;
        now.oprefix += (1 - loop.list) * loop.room;
        if (!GROWS) now.seen += loop.bits * loop.apart;
    }
    __syncthreads();
    if constexpr (!GROWS) {  // u's own marks are those of the next list but one
        unsigned char* const marks = (unsigned char*)a.seen + (loop.bits ? -loop.apart : loop.apart);
#ifdef PARTED
        const E_oidx* const own = a.oidx + (2 * loop.list - 1) * loop.room;
        for (i64 q = thread_number(); q < loop.mine(); q += thread_count()) marks[own[q]] = 0;
#else
        for (i64 q = thread_number(); q < a.n; q += thread_count()) marks[a.fidx[q]] = 0;
#endif
    }
    scatter(a, buffer, added, listed);
#else
    scatter(a, buffer, added, listed);
#endif
    if constexpr (BITMAP) tally(a.result, 0, listed);
    if constexpr (!C_FULL) tally(a.result, 1, added);
#ifdef IN_LOOP
    turn_over(a, loop, [&](Loop& loop, u64 packed, i64 gained) {
        if constexpr (BITMAP) loop.bits = 0;
        else loop.list = 1 - loop.list;
        if constexpr (!GROWS) loop.bits = 1 - loop.bits;
#ifdef PARTED
        next_value(a.fvals);
        const i64 entries = loop.own_entries + gained;
#else
        const i64 entries = loop.entries + gained;
#endif
        loop.next((i64)(packed & LIST_MASK), (i64)(packed >> COUNT_BITS), entries, !BITMAP);
    });
#else
    publish(a);
#endif
}
