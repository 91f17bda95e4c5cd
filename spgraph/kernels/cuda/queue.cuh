// What goes before and after a push: a list made ready, its values fetched, absent positions filled. See push.cuh.
//
// A bitmap becomes a list with its running sum in one go.
//
// Data encoding: a list is (fidx, fvals) or (oidx, ovals), without duplicates; oprefix is the running
// sum of the row lengths along a list. One step per entry of the list (pad: per position).

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

//== make(begin, fidx, fvals, length, oidx, ovals, oprefix) block=128 returns=1
// The list in another order, and its prefix: what a flush of push.cuh writes, for a list that came from elsewhere.
// LATE: how long it is, at most a.n, the device alone knows; the number is 0 afterwards.
KERNEL {
    i64 entries = a.n;
    if constexpr (LATE) entries = (i64)peek(a.length);
    const i64 rounds = (entries + 31) / 32;
    for (i64 round = item(32); round < rounds; round += items(32)) {
        const i64 q = 32 * round + lane();
        const bool there = q < entries;
        const i64 j = there ? (i64)load(a.fidx + q) : 0;
        const i64 length = there ? (i64)load(a.begin + j + 1) - (i64)load(a.begin + j) : 0;
        const i64 sum = warp_scan(length);
        u64 base = 0;
        const u64 total = (u64)from_lane(sum, 31) << COUNT_BITS | (u64)__popc(__ballot_sync(FULL_WARP, there));
        if (lane() == 0) base = atomicAdd(&a.result->count[0], total);
        base = from_lane(base, 0);
        if (there) {
            const i64 slot = (i64)(base & ((1ull << COUNT_BITS) - 1)) + lane();
            a.oidx[slot] = (E_oidx)j;
            if constexpr (VALUES) a.ovals[slot] = look(a.fvals, q);
            a.oprefix[slot] = (i64)(base >> COUNT_BITS) + sum - length;
        }
    }
    if constexpr (LATE) {
        if (last_block(a.result) && threadIdx.x == 0) {
            *a.length = 0;
            hand_over(a.result, a.host, a.sequence);
        }
    } else {
        publish(a);
    }
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
DEVICE i64 length_of(const Args& a, i64 row) { return (i64)load(a.begin + row + 1) - (i64)load(a.begin + row); }

KERNEL {
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
    publish(a);
}
