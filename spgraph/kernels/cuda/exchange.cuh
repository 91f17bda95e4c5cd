// Entries for other devices, stored by the owner's kernel straight into their arrays (see exchange/direct.py).
//
// Contract: `to_...` hold addresses, one per device, this one first and the others in circular order; what they point to
// is not read or written by anybody else before all devices have come to the next point where they wait for each other.
// Traffic: neighbouring lanes write neighbouring places of one device.

//== give_list(fidx, fvals, numbers, at, others, to_idx, to_vals, to_length)
// Entries of a list, appended to the list of each device that has a proxy of the vertex: column numbers[v, d] there (-1:
// none). At home a vertex is column at + v; with a proxy for every vertex (ALL) it is so everywhere.
KERNEL {
    const i64 rounds = (a.n + 31) / 32;
    for (i64 round = item(32); round < rounds; round += items(32)) {
        const i64 q = 32 * round + lane();
        const bool there = q < a.n;
        const i64 v = there ? (i64)load(a.fidx + q) : 0;
        for (i64 d = 0; d <= a.others; d++) {
            i64 number = a.at + v;
            if constexpr (!ALL)
                if (d) number = (i64)load(a.numbers + v * a.others + d - 1);
            const bool goes = there && number >= 0;
            const u32 who = __ballot_sync(FULL_WARP, goes);
            if (!who) continue;
            u64 base = 0;
            if (lane() == 0) base = atomicAdd_system((u64*)load(a.to_length + d), (u64)__popc(who));
            base = from_lane(base, 0);
            const i64 slot = (i64)base + __popc(who & ((1u << lane()) - 1));
            if (goes) {
                ((E_numbers*)load(a.to_idx + d))[slot] = (E_numbers)number;
                if constexpr (VALUES) ((E_fvals*)load(a.to_vals + d))[slot] = look(a.fvals, q);
            }
        }
    }
}

//== give_all(lent, firsts, others, present, vals, to_vals, to_bits)
// Entries of a bitmap or a full vector at lists of local numbers, one after the other; the d-th, from firsts[d] on, a
// multiple of 32, goes to the d-th other device: its values and, unless all devices' entries are there (U_FULL), bits that
// say which of them mean something; LACKS: some of these are not. Lists are filled up with -1. Items are their places.
KERNEL {
    for (i64 first = 32 * item(32); first < a.n; first += 32 * items(32)) {
        i64 d = 0;
        while (d + 1 < a.others && first >= load(a.firsts + d + 1)) d++;
        const i64 k = first - load(a.firsts + d) + lane();
        const i64 v = (i64)load(a.lent + first + lane());
        bool there = v >= 0;
        if constexpr (!U_FULL) {
            if constexpr (LACKS) there = there && load(a.present + v) != 0;
            const u32 word = __ballot_sync(FULL_WARP, there);
            if (lane() == 0) ((u32*)load(a.to_bits + d))[k >> 5] = word;
        }
        if constexpr (VALUES)
            if (there) ((E_vals*)load(a.to_vals + d))[k] = look(a.vals, v);
    }
}

//== arrange(present, vals, own, at, ends, words, bits, opresent, ovals) returns=1 unless=U_FULL
// What has come put in order: own entries copied to columns from `at` on, the bits of proxies made bytes. Columns up to
// ends[q] are those of the q-th owner, whose bits begin at words[q] (own ones: -1). Returns the number of entries.
KERNEL {
    const i64 rounds = (a.n + 31) / 32;
    i64 count = 0, q = 0;
    for (i64 round = item(32); round < rounds; round += items(32)) {
        const i64 column = 32 * round + lane(), v = column - a.at;
        if (column >= a.n) continue;
        bool there = true;
        if (v >= 0 && v < a.own) {
            if constexpr (LACKS) there = load(a.present + v) != 0;
            if constexpr (VALUES)
                if (there) a.ovals[column] = look(a.vals, v);
        } else if constexpr (!U_FULL) {
            while (column >= load(a.ends + q)) q++;
            const i64 k = column - (q ? load(a.ends + q - 1) : 0);
            there = load(a.bits + load(a.words + q) + (k >> 5)) >> (k & 31) & 1u;
        }
        if constexpr (!U_FULL) a.opresent[column] = there;
        count += there;
    }
    report<!U_FULL>(a, count);
}
