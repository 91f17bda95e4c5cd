// Element-wise chains: any tree of unions, intersections and applied operators as one kernel.
//
// Method: `evaluate(a, n, q, i, result)`, which chain.py prints for the tree at hand, says whether position n (entry q
// of a list, global id i) is present and computes its value. A thread takes TOGETHER positions at a time, a warp or
// block apart, so that neighbouring threads read neighbouring memory: it loads all, then computes, then writes. So
// many loads are under way at once, which is what fills the memory's pipeline. C may be a leaf of its own tree.
// Positions beyond the end repeat another one and write nothing.
//
// Data encoding: as in kernels/trees.py: leaf k is (pk, vk), a bitmap, full, or the list that drives the loop.
// Work: one step per position or list entry. Bytes: every leaf, mask and C once.
// Assumes: no two entries of a list are the same position; leaves are C itself or do not overlap it.

constexpr int TOGETHER = 4;

// The global id of a position.
DEVICE i64 global_id(const Args& a, i64 n) { return GLOBAL ? (i64)a.gid[n] : n; }

// All positions, in place on C, with mask, accumulator and write; returns how many entries C has, unless it is full.
//== chain_write(gid, mpresent, mvals, cpresent, cvals, LEAVES) returns=1 unless=C_FULL blocks_per_sm=4
KERNEL {
    constexpr bool UPDATE = ACCUM && !FRESH;         // C's values are read
    constexpr bool KEEP_ABSENT = UPDATE;             // entries of C where the tree has none stay
    constexpr bool KEEP_MASKED = !FRESH && !REPLACE; // those that the mask protects
    constexpr i64 SPAN = 32 * TOGETHER;
    i64 count = 0;
    for (i64 first = item(32) * SPAN + lane(); first < a.n; first += items(32) * SPAN) {
        bool open[TOGETHER], had[TOGETHER], has[TOGETHER];
        E_cvals old[TOGETHER];
        TREE value[TOGETHER];
        bool some = false;
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 at = first + 32 * k < a.n ? first + 32 * k : first;
            open[k] = first + 32 * k < a.n && allowed(a.mpresent, a.mvals, at);
            had[k] = !FRESH && (C_FULL || a.cpresent[at] != 0);
            if constexpr (UPDATE) old[k] = a.cvals[at];
            has[k] = false;
            some |= open[k];
        }
        if (!MASKED || some) {
            #pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                const i64 at = first + 32 * k < a.n ? first + 32 * k : first;
                has[k] = evaluate(a, at, at, global_id(a, at), value[k]) && open[k];
            }
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 n = first + 32 * k;
            if (n >= a.n) continue;
            const bool after = has[k] || (had[k] && (open[k] ? KEEP_ABSENT : KEEP_MASKED));
            if (has[k]) a.cvals[n] = UPDATE && had[k] ? ACC(old[k], value[k]) : STORE(value[k]);
            if (!C_FULL && (FRESH || after != had[k])) a.cpresent[n] = after;
            count += after;
        }
    }
    report<!C_FULL>(a, count);
}

// The entries of the list `tidx` where the tree has one and the mask allows it, in any order; returns how many.
//== chain_list(tidx, gid, mpresent, mvals, oidx, ovals, LEAVES) returns=1 blocks_per_sm=4
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        i64 n[TOGETHER];
        bool has[TOGETHER];
        TREE value[TOGETHER];
        int mine = 0;
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) n[k] = a.tidx[min(start + threadIdx.x + BLOCK * k, a.n - 1)];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = start + threadIdx.x + BLOCK * k;
            has[k] = q < a.n && allowed(a.mpresent, a.mvals, n[k]);
            has[k] = evaluate(a, n[k], min(q, a.n - 1), global_id(a, n[k]), value[k]) && has[k];
            mine += has[k];
        }
        i64 place = block_append(&a.result->count[0], mine);
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (!has[k]) continue;
            a.oidx[place] = (E_oidx)n[k];
            a.ovals[place++] = STORE(value[k]);
        }
    }
    publish(a);
}

// The value at every entry of the list `tidx`, where the tree has one everywhere: in the list's order.
//== chain_each(tidx, gid, ovals, LEAVES) blocks_per_sm=4
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        i64 n[TOGETHER];
        TREE value[TOGETHER];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) n[k] = a.tidx[min(start + threadIdx.x + BLOCK * k, a.n - 1)];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = min(start + threadIdx.x + BLOCK * k, a.n - 1);
            evaluate(a, n[k], q, global_id(a, n[k]), value[k]);
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = start + threadIdx.x + BLOCK * k;
            if (q < a.n) a.ovals[q] = STORE(value[k]);
        }
    }
}

// Everything that is present combined by a monoid; returns how many there are (where a terminal value stopped it: at
// least one, if any) and the total's bits. For a given grid the order is always the same.
//== chain_reduce(tidx, gid, LEAVES) returns=2 value=ADD blocks_per_sm=4
KERNEL {
    constexpr i64 SPAN = BLOCK * TOGETHER;
    i64 count = 0;
    R_ADD total = IDENTITY;
    for (i64 start = blockIdx.x * SPAN; start < a.n; start += gridDim.x * SPAN) {
        if ((ANY || HAS_TERMINAL) && stopped(a)) break;
        bool has[TOGETHER];
        TREE value[TOGETHER];
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 q = min(start + threadIdx.x + BLOCK * k, a.n - 1);
            const i64 n = LISTED ? (i64)a.tidx[q] : q;
            has[k] = evaluate(a, n, q, global_id(a, n), value[k]) && start + threadIdx.x + BLOCK * k < a.n;
        }
        #pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            if (!has[k]) continue;
            const R_ADD term = STORE(value[k]);
            total = ANY ? term : ADD(total, term);
            count++;
        }
        if (count && (ANY || (HAS_TERMINAL && total == TERMINAL))) {
            stop(a);
            break;
        }
    }
    if (grid_reduce(a, count, total, [](R_ADD s, R_ADD t) { return ADD(s, t); })) {
        a.result->count[0] = count;
        a.result->count[1] = bits_of(total);
        hand_over(a.result, a.host, a.sequence);
    }
}
