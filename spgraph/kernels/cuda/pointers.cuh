// Vectors whose values are positions: combine into the positions named, follow them to their ends.
//
// Method: `combine` is one atomic per entry that changes something. `jump` follows a pointer two steps at a time and
// writes down how far it came, so that paths get shorter under all who walk them (path halving; the writes of others only
// help, for each leads further down the same path). Most paths end in few places, which all threads read: a
// cached value will do, since an old pointer leads down the same path, and an end stays one.
// Data encoding: as in kernels/cpu/pointers.py, but `combine` only takes a C that has a value at every position; where
// not C_FULL it also notes the entries in `cpresent`; SETTLES: what changes nothing now never will (the nearest cache may answer). Launch
// shape: a thread per entry.
// Work: one step per entry; jump: about the logarithm of the length of its path.

//== outside(ppresent, pvals, size) returns=1
KERNEL {
    i64 found = 0;
    for (i64 i = item(1); i < a.n; i += items(1)) {
        if constexpr (!P_FULL)
            if (load(a.ppresent + i) == 0) continue;
        const i64 target = (i64)load(a.pvals + i);
        found += target < 0 || target >= a.size;
    }
    report<true>(a, found);
}

// Returns how many entries C got, unless it is full.
//== combine(xidx, xpresent, xvals, ppresent, pvals, local, cpresent, cvals) returns=1 unless=C_FULL
KERNEL {
    i64 added = 0;
    for (i64 q = item(1); q < a.n; q += items(1)) {
        i64 i = q;
        if constexpr (X_LIST) i = (i64)load(a.xidx + q);
        else if constexpr (!X_FULL)
            if (load(a.xpresent + q) == 0) continue;
        if constexpr (!P_FULL)
            if (load(a.ppresent + i) == 0) continue;
        i64 target = (i64)look(a.pvals, P_ISO ? 0 : i);
        if constexpr (GLOBAL) target = (i64)load(a.local + target);
        bool changed;
        if constexpr (C_FULL && SETTLES) {  // most terms change nothing, and many have the same target
            const E_cvals old = glance(a.cvals + target);
            if (bits_of(ACC(old, look(a.xvals, X_ISO ? 0 : q))) == bits_of(old)) continue;
        }
        atomic_combine(a.cvals + target, look(a.xvals, X_ISO ? 0 : q),
                       [](E_cvals c, E_xvals t) { return ACC(c, t); }, changed);
        if constexpr (!C_FULL) added += set_byte((unsigned char*)a.cpresent, target);
    }
    report<!C_FULL>(a, added);
}

// The same into a full C of several devices: the part of positions starts[q]..starts[q + 1] lies at address to_vals[q].
//== combine_far(xidx, xpresent, xvals, ppresent, pvals, local, starts, to_vals)
KERNEL {
    typedef typename Word<sizeof(E_xvals)>::type W;
    for (i64 q = item(1); q < a.n; q += items(1)) {
        i64 i = q;
        if constexpr (X_LIST) i = (i64)load(a.xidx + q);
        else if constexpr (!X_FULL)
            if (load(a.xpresent + q) == 0) continue;
        if constexpr (!P_FULL)
            if (load(a.ppresent + i) == 0) continue;
        i64 target = (i64)look(a.pvals, P_ISO ? 0 : i);
        if constexpr (GLOBAL) target = (i64)load(a.local + target);
        i64 owner = 0;
        while (target >= load(a.starts + owner + 1)) owner++;
        E_xvals* const cell = (E_xvals*)load(a.to_vals + owner) + (target - load(a.starts + owner));
        const E_xvals term = look(a.xvals, X_ISO ? 0 : q);
        E_xvals old = SETTLES ? glance(cell) : peek(cell), now = ACC(old, term);
        while (bits_of(now) != bits_of(old)) {  // looks first: most terms change nothing
            const E_xvals found = of_bits<E_xvals>(atomicCAS_system((W*)cell, (W)bits_of(old), (W)bits_of(now)));
            if (bits_of(found) == bits_of(old)) break;
            old = found;
            now = ACC(old, term);
        }
    }
}

// A copy of the pointers for `jump`; returns how many point upwards (their copies point to themselves).
//== check(pvals, gid, out) returns=1
KERNEL {
    i64 wrong = 0;
    for (i64 at = item(1); at < a.n; at += items(1)) {
        const i64 i = GLOBAL ? (i64)load(a.gid + at) : at, to = (i64)load(a.pvals + at);
        const bool is_wrong = to < 0 || to > i;
        wrong += is_wrong;
        a.out[at] = (E_out)(is_wrong ? i : to);
    }
    report<true>(a, wrong);
}

// Positions from `first` on; those before may be read.
//== jump(first, local, out)
DEVICE i64 next(const Args& a, i64 id) {
    i64 at = id;
    if constexpr (GLOBAL) at = (i64)load(a.local + id);
    return (i64)glance(a.out + at);
}
KERNEL {
    constexpr int TOGETHER = 4;  // paths
    for (i64 begin = a.first + item(1); begin < a.first + a.n; begin += TOGETHER * items(1)) {
        i64 to[TOGETHER], then[TOGETHER];  // -1: at its end
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const i64 at = begin + k * items(1);
            to[k] = at < a.first + a.n ? (i64)peek(a.out + at) : -1;
        }
        for (bool going = true; going;) {
            going = false;
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) then[k] = to[k] < 0 ? -1 : next(a, to[k]);
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                const bool on = then[k] != to[k];
                if (on) poke(a.out + begin + k * items(1), then[k]);
                to[k] = on ? then[k] : -1;
                going |= on;
            }
        }
    }
}
