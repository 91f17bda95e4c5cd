// What goes before and after a push: a list made ready, its values fetched, absent positions filled. See push.cuh.
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

//== make(begin, fidx, fvals, oidx, ovals, oprefix) block=128 returns=1
// The list in another order, and its prefix: what a flush of push.cuh writes, for a list that came from elsewhere.
KERNEL {
    const i64 rounds = (a.n + 31) / 32;
    for (i64 round = item(32); round < rounds; round += items(32)) {
        const i64 q = 32 * round + lane();
        const bool there = q < a.n;
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
    publish(a);
}
