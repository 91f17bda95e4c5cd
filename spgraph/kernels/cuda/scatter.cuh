// Assign, gather and compact: kernels whose work is the length of a list, or of a bitmap.
//
// Method: a thread takes TOGETHER entries of a list at a time, BLOCK apart, so that several chains of dependent reads
// (entry, mask, C) are under way at once. What is kept goes to places that a block reserves with one atomic.
// A bitmap is read 16 bytes per lane; a warp turns its 512 bytes into 16 words of 32 bits and looks at the values of
// a word's positions together, so that zeros cost no more than being read.
//
// Data encoding: as in kernels/cpu/scatter.py; lists come out from place 0 on in any order. A list names no position
// twice, so plain stores suffice. Work: one step per entry of a list; a bitmap's bytes and its entries.

constexpr int TOGETHER = 4;

// C<M>(accum) = T for a list T; entries of C outside T stay. Returns how many entries it added, unless C is full.
//== scatter(tidx, tvals, mpresent, mvals, cpresent, cvals) returns=1 unless=C_FULL blocks_per_sm=4
KERNEL {
    i64 added = 0;
    for (i64 first = thread_number(); first < a.n; first += TOGETHER * thread_count()) {
        i64 n[TOGETHER];
        bool open[TOGETHER], had[TOGETHER];
        E_tvals t[TOGETHER];
        E_cvals old[TOGETHER];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = first + k * thread_count();
            open[k] = q < a.n;
            n[k] = load(a.tidx + (open[k] ? q : first));
            t[k] = look(a.tvals, T_ISO ? 0 : open[k] ? q : first);
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            open[k] = open[k] && allowed(a.mpresent, a.mvals, n[k]);
            had[k] = C_FULL || (open[k] && a.cpresent[n[k]] != 0);
            if constexpr (ACCUM)
                if (open[k] && had[k]) old[k] = a.cvals[n[k]];
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (!open[k]) continue;
            a.cvals[n[k]] = ACCUM && had[k] ? ACC(old[k], t[k]) : STORE(t[k]);
            if (had[k]) continue;
            a.cpresent[n[k]] = 1;
            added++;
        }
    }
    report<!C_FULL>(a, added);
}

// The entries of the list T that the mask allows; returns their number.
//== masked_list(tidx, tvals, mpresent, mvals, oidx, ovals) returns=1
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        i64 n[TOGETHER];
        bool keep[TOGETHER];
        int mine = 0;
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) n[k] = load(a.tidx + min(start + threadIdx.x + BLOCK * k, a.n - 1));
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            keep[k] = start + threadIdx.x + BLOCK * k < a.n && allowed(a.mpresent, a.mvals, n[k]);
            mine += keep[k];
        }
        i64 place = block_append(&a.result->count[0], mine);
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (!keep[k]) continue;
            a.oidx[place] = (E_oidx)n[k];
            if constexpr (!ISO_OUT) a.ovals[place] = STORE(look(a.tvals, T_ISO ? 0 : start + threadIdx.x + BLOCK * k));
            place++;
        }
    }
    publish(a);
}

// The entries of the list T that KEEP and the mask accept; returns their number.
//== select_list(tidx, tvals, thunk, gid, mpresent, mvals, oidx, ovals) returns=1
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        i64 n[TOGETHER];
        E_tvals t[TOGETHER];
        bool keep[TOGETHER];
        int mine = 0;
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = min(start + threadIdx.x + BLOCK * k, a.n - 1);
            n[k] = load(a.tidx + q);
            t[k] = look(a.tvals, T_ISO ? 0 : q);
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 i = GLOBAL ? (i64)load(a.gid + n[k]) : n[k];
            keep[k] = start + threadIdx.x + BLOCK * k < a.n && allowed(a.mpresent, a.mvals, n[k]);
            keep[k] = keep[k] && KEEP(t[k], i, a.thunk);
            mine += keep[k];
        }
        i64 place = block_append(&a.result->count[0], mine);
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (!keep[k]) continue;
            a.oidx[place] = (E_oidx)n[k];
            if constexpr (!ISO_OUT) a.ovals[place] = STORE(t[k]);
            place++;
        }
    }
    publish(a);
}

// The same for a bitmap or full T. Word r of a warp's 16 lies in the bytes of lanes 2r and 2r + 1.
//== select_bitmap(tpresent, tvals, thunk, gid, mpresent, mvals, oidx, ovals) returns=1
// Which of the 16 positions from `first` on are in T, as bits.
DEVICE u32 sixteen(const Args& a, i64 first) {
    const i64 left = a.n - first;
    u32 bits = 0;
    if constexpr (T_FULL) {
        bits = 0xffff;
    } else if (left >= 16 && ((u64)a.tpresent & 15) == 0) {
        const uint4 bytes = load((const uint4*)(a.tpresent + first));
        const u32 words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
        #pragma unroll
        for (int k = 0; k < 4; k++)  // bytes are 0 or 1: gather their lowest bits
            bits |= (words[k] * 0x10204080u >> 28) << 4 * k;
        return bits;
    } else {
        for (int k = 0; k < 16 && k < left; k++) bits |= (u32)(load(a.tpresent + first + k) != 0) << k;
        return bits;
    }
    return left >= 16 ? bits : left > 0 ? bits & ((1u << left) - 1) : 0;
}
KERNEL {
    constexpr i64 SPAN = 16 * BLOCK;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        const i64 base = start + threadIdx.x / 32 * 512;
        const u32 half = sixteen(a, start + 16 * threadIdx.x);
        u32 kept = 0;  // of lane r < 16: word r
        if (__any_sync(FULL_WARP, half)) {
            #pragma unroll 4
            for (int r = 0; r < 16; r++) {
                const u32 word = __shfl_sync(FULL_WARP, half, 2 * r) | __shfl_sync(FULL_WARP, half, 2 * r + 1) << 16;
                const i64 n = base + 32 * r + lane();
                bool keep = word >> lane() & 1;
                if (keep) {
                    const i64 i = GLOBAL ? (i64)load(a.gid + n) : n;
                    keep = allowed(a.mpresent, a.mvals, n) && KEEP(look(a.tvals, T_ISO ? 0 : n), i, a.thunk);
                }
                const u32 found = __ballot_sync(FULL_WARP, keep);
                if (lane() == r) kept = found;
            }
        }
        const i64 place = block_append(&a.result->count[0], __popc(kept));
        if (!__any_sync(FULL_WARP, kept)) continue;
        #pragma unroll 4
        for (int r = 0; r < 16; r++) {
            const u32 word = __shfl_sync(FULL_WARP, kept, r);
            const i64 at = __shfl_sync(FULL_WARP, place, r) + __popc(word & ((1u << lane()) - 1));
            const i64 n = base + 32 * r + lane();
            if (word >> lane() & 1) {
                a.oidx[at] = (E_oidx)n;
                if constexpr (!ISO_OUT) a.ovals[at] = STORE(look(a.tvals, T_ISO ? 0 : n));
            }
        }
    }
    publish(a);
}
