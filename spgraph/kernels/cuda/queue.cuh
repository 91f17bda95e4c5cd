// What goes before and after a push: a list made ready, its values fetched, absent positions filled. See push.cuh.
//
// A bitmap becomes a list with its running sum in one go.
//
// Data encoding: a list is (fidx, fvals) or (oidx, ovals), without duplicates; oprefix is the running
// sum of the row lengths along a list. One step per entry of the list (pad: per position).

#ifdef IN_LOOP
// u is the first list now, besides what it was; `wrong` of its values are not C's, which nothing begins with.
DEVICE void listed_now(Loop& loop, u64 packed, i64 wrong) {
    if (wrong) {
        loop.turn = ENDED;
        return;
    }
    loop.list = 0;
#ifdef PARTED
    loop.as_list = 1;
    loop.turn = GIVING;
#else
    loop.edges = (i64)(packed >> COUNT_BITS);
    loop.choose(true);
#endif
}
#endif

template <class A> DEVICE i64 length_of(const A& args, i64 p) {
    const i64 row = row_of(p);
    return (i64)load(args.begin + row + 1) - (i64)load(args.begin + row);
}

//== fetch(at, oidx, source, ovals)
// Values of the list that the push before has made, whose result lies at address `at`; RESET puts the identity back.
KERNEL {
    const i64 entries = ((const Result*)a.at)->last;
    for (i64 q = thread_number(); q < entries; q += thread_count()) {
        const i64 j = a.oidx[q];
        a.ovals[q] = STORE(a.source[j]);
        if constexpr (RESET) a.source[j] = IDENTITY;
    }
}

//== pad(cpresent, cvals)
// Absent positions get the identity.
KERNEL {
    for (i64 j = thread_number(); j < a.n; j += thread_count())
        if (!a.cpresent[j]) a.cvals[j] = IDENTITY;
}

//== make(begin, fidx, fvals, oidx, ovals, oprefix, thunk) block=128 returns=1
// The list in another order, and its prefix: what a flush of push.cuh writes, for a list that came from elsewhere. One
// atomic for AHEAD entries per thread of a block. CHECKED (in loops): whether fvals are the values that C, ovals, has there,
// and pass its selection (FILTER).
constexpr int AHEAD = 4;
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == MAKING; }
#endif
KERNEL {
    __shared__ u64 before[BLOCK / 32];
    __shared__ u64 base;
    const int warp = threadIdx.x / 32;
#ifdef CHECKED
    i64 wrong = 0;
#endif
    for (i64 first = (i64)blockIdx.x * BLOCK * AHEAD; first < a.n; first += (i64)gridDim.x * BLOCK * AHEAD) {
        i64 row[AHEAD], length[AHEAD], upto[AHEAD];
        u64 total = 0;
        for (int k = 0; k < AHEAD; k++) {
            const i64 q = first + k * BLOCK + threadIdx.x;
            row[k] = q < a.n ? (i64)load(a.fidx + q) : -1;
            length[k] = q < a.n ? length_of(a, row[k]) : 0;
            upto[k] = warp_scan(length[k]);
            total += (u64)from_lane(upto[k], 31) << COUNT_BITS | (u64)__popc(__ballot_sync(FULL_WARP, row[k] >= 0));
#ifdef CHECKED
            if (row[k] >= 0) {
                const E_fvals value = load(a.fvals + q);
                wrong += bits_of(value) != bits_of(load(a.ovals + row[k])) || (FILTER && !KEEP(value, (i64)0, a.thunk));
            }
#endif
        }
        if (lane() == 0) before[warp] = total;
        __syncthreads();
        if (threadIdx.x == 0) {
            u64 sum = 0;
            for (int w = 0; w < BLOCK / 32; w++) {
                const u64 own = before[w];
                before[w] = sum;
                sum += own;
            }
            base = atomicAdd(&a.result->count[0], sum);
        }
        __syncthreads();
        const u64 place = base + before[warp];
        i64 slot = (i64)(place & ((1ull << COUNT_BITS) - 1)), edges = (i64)(place >> COUNT_BITS);
        for (int k = 0; k < AHEAD; k++) {
            if (row[k] >= 0) {
                a.oidx[slot + lane()] = (E_oidx)row[k];
                if constexpr (VALUES) a.ovals[slot + lane()] = look(a.fvals, first + k * BLOCK + threadIdx.x);
                a.oprefix[slot + lane()] = edges + upto[k] - length[k];
            }
            slot += __popc(__ballot_sync(FULL_WARP, row[k] >= 0));
            edges += from_lane(upto[k], 31);
        }
        __syncthreads();  // before the next ones are counted
    }
#ifdef CHECKED
    tally(a.result, 1, wrong);
#endif
#ifdef IN_LOOP
    turn_over(a, loop, listed_now);
#else
    publish(a);
#endif
}

//== list(begin, present, vals, oidx, ovals, oprefix) returns=1
// The entries of a bitmap as such a list. A lane looks at 16 positions, a warp has one atomic for its 512.
DEVICE u32 sixteen(const Args& a, i64 first) {
    u32 bits = 0;
    if (first + 16 <= a.n && ((u64)a.present & 15) == 0) {
        const uint4 bytes = load((const uint4*)(a.present + first));
        const u32 words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
        #pragma unroll
        for (int k = 0; k < 4; k++) bits |= (words[k] * 0x10204080u >> 28) << 4 * k;  // bytes are 0 or 1
        return bits;
    }
    for (int k = 0; k < 16 && first + k < a.n; k++) bits |= (u32)(load(a.present + first + k) != 0) << k;
    return bits;
}
DEVICE void list_entries(const Args& a) {
    const i64 steps = (a.n + 511) / 512;
    for (i64 step = item(32); step < steps; step += items(32)) {
        const i64 first = 512 * step + 16 * lane();
        const u32 bits = sixteen(a, first);
        if (!__any_sync(FULL_WARP, bits != 0)) continue;
        i64 mine = 0;
        for (u32 left = bits; left; left &= left - 1) mine += length_of(a, first + __ffs(left) - 1);
        const i64 packed = mine << COUNT_BITS | (i64)__popc(bits);  // both sums in one
        const i64 upto = warp_scan(packed);
        u64 base = 0;
        if (lane() == 31) base = atomicAdd(&a.result->count[0], (u64)upto);
        base = from_lane(base, 31) + (u64)(upto - packed);
        i64 slot = (i64)(base & ((1ull << COUNT_BITS) - 1)), edges = (i64)(base >> COUNT_BITS);
        for (u32 left = bits; left; left &= left - 1) {
            const i64 row = first + __ffs(left) - 1;
            a.oidx[slot] = (E_oidx)row;
            if constexpr (VALUES) a.ovals[slot] = look(a.vals, row);
            a.oprefix[slot++] = edges;
            edges += length_of(a, row);
        }
    }
}
#ifdef IN_LOOP
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == LISTING; }
#endif
KERNEL {
#ifdef IN_LOOP
    if (threadIdx.x == 0) const_cast<Args&>(a).present += loop.bits * loop.apart;
    __syncthreads();
    list_entries(a);
    turn_over(a, loop, listed_now);
#else
    list_entries(a);
    publish(a);
#endif
}

//== clear(bits) returns=1
// Of a loop (after.cuh): the first of two bitmaps becomes empty.
DEVICE bool has_turn(Loop& loop) {
    const i64 turn = peek(&loop.turn);
    return turn == CLEARING || turn == CLEARING_MARKS;
}
KERNEL {
    uint4* words = (uint4*)a.bits;
    for (i64 k = thread_number(); k < a.n; k += thread_count()) words[k] = {0, 0, 0, 0};
    turn_over(a, loop, [](Loop& loop, u64, i64) { loop.turn = loop.turn == CLEARING ? SPREADING : MARKING; });
}

//== spread(fidx, bits) returns=1
// Of a loop: and then what the list says, for a pull.
DEVICE bool has_turn(Loop& loop) { return peek(&loop.turn) == SPREADING; }
KERNEL {
    const auto* list = a.fidx + loop.list * loop.room;
    for (i64 q = thread_number(); q < loop.mine(); q += thread_count()) a.bits[list[q]] = 1;
    turn_over(a, loop, [](Loop& loop, u64, i64) {
        loop.bits = 0;
#ifdef PARTED
        loop.as_list = 0;
        loop.turn = GIVING_BITS;
#else
        loop.turn = PULLING;
#endif
    });
}

//== gate() block=32 returns=1
// Of a loop in parts: goes on if all parts have come as far, where the kernel before could not.
DEVICE bool has_turn(Loop& loop) {
    if (first_thread()) loop.heard();
    return waits(peek(&loop.turn));
}
KERNEL {
    if (threadIdx.x == 0) go_on(a, loop);
}
