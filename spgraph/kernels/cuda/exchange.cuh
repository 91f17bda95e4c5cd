// Entries for other devices, stored by the owner's kernel straight into their arrays (see exchange/direct.py).
//
// Contract: `to_...` hold addresses, one per device, this one first and the others in circular order; what they point to
// is not read or written by anybody else before all devices have come to the next point where they wait for each other.
// Traffic: neighbouring lanes write neighbouring places of one device.

//== give_list(fidx, fvals, numbers, at, others, to_idx, to_vals, to_length)
// Entries of a list, appended to the list of each device that has a proxy of the vertex: column numbers[v, d] there (-1:
// none). At home a vertex is column at + v; with a proxy for every vertex (ALL) it is so everywhere. A block asks each
// device once for room for AHEAD entries per thread, SIDES devices at a time: an atomic on another GPU takes 2 us.
constexpr int AHEAD = 4, SIDES = 8, WARPS = BLOCK / 32;
DEVICE i64 number_at(const Args& a, i64 v, i64 d) {
    if (v < 0 || ALL || d == 0) return v < 0 ? -1 : a.at + v;
    return (i64)load(a.numbers + v * a.others + d - 1);
}

KERNEL {
    __shared__ u32 before[SIDES][WARPS];
    __shared__ i64 base[SIDES];
    const int warp = threadIdx.x / 32;
    for (i64 first = (i64)blockIdx.x * BLOCK * AHEAD; first < a.n; first += (i64)gridDim.x * BLOCK * AHEAD) {
        i64 vertex[AHEAD];
        for (int k = 0; k < AHEAD; k++) {
            const i64 q = first + k * BLOCK + threadIdx.x;
            vertex[k] = q < a.n ? (i64)load(a.fidx + q) : -1;
        }
        for (i64 d = 0; d <= a.others; d += SIDES) {
            const int sides = a.others + 1 - d < SIDES ? (int)(a.others + 1 - d) : SIDES;
            for (int side = 0; side < sides; side++) {
                u32 count = 0;
                for (int k = 0; k < AHEAD; k++)
                    count += __popc(__ballot_sync(FULL_WARP, number_at(a, vertex[k], d + side) >= 0));
                if (lane() == 0) before[side][warp] = count;
            }
            __syncthreads();
            if ((int)threadIdx.x < sides) {
                u32 sum = 0;
                for (int w = 0; w < WARPS; w++) {
                    const u32 own = before[threadIdx.x][w];
                    before[threadIdx.x][w] = sum;
                    sum += own;
                }
                base[threadIdx.x] = sum ? (i64)atomicAdd_system((u64*)load(a.to_length + d + threadIdx.x), (u64)sum) : 0;
            }
            __syncthreads();
            for (int side = 0; side < sides; side++) {
                E_numbers* const indices = (E_numbers*)load(a.to_idx + d + side);
                i64 slot = base[side] + before[side][warp];
                for (int k = 0; k < AHEAD; k++) {
                    const i64 number = number_at(a, vertex[k], d + side);
                    const u32 who = __ballot_sync(FULL_WARP, number >= 0);
                    if (number >= 0) {
                        const i64 place = slot + __popc(who & ((1u << lane()) - 1));
                        indices[place] = (E_numbers)number;
                        if constexpr (VALUES)
                            ((E_fvals*)load(a.to_vals + d + side))[place] = look(a.fvals, first + k * BLOCK + threadIdx.x);
                    }
                    slot += __popc(who);
                }
            }
            __syncthreads();  // before the next ones are counted
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
