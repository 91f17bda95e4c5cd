"""Assign, gather and compact: kernels whose work is the length of a list.

Data encoding: lists are (`tidx`, `tvals`), without repeats; C and the mask are bitmaps or
full as in `pull`. `scatter` returns how many entries it added to C, the others how many
they list: those of items lo..hi from place lo on.

Compile-time: T_ISO, MASKED, COMPLEMENT, VALUED, M_FULL, ACCUM, C_FULL, GLOBAL,
ISO_OUT, PEEK. Operators: STORE(t), ACC(c, t), KEEP(x, i, thunk).
"""


def scatter(lo, hi, tidx, tvals, mpresent, mvals, cpresent, cvals):
    """C<M>(accum) = T for a list T; entries of C outside T stay."""
    added = 0
    for q in range(lo, hi):
        target = tidx[q]
        if MASKED:
            CHECK_MASK(target)
            if not allowed:
                continue
        t = tvals[0] if T_ISO else tvals[q]
        if C_FULL:
            if ACCUM:
                old = cvals[target]
                cvals[target] = ACC(old, t)
            else:
                cvals[target] = STORE(t)
        elif cpresent[target] != 0:
            if ACCUM:
                old = cvals[target]
                cvals[target] = ACC(old, t)
            else:
                cvals[target] = STORE(t)
        else:
            cvals[target] = STORE(t)
            cpresent[target] = 1
            added += 1
    return added


def masked_list(lo, hi, tidx, tvals, mpresent, mvals, oidx, ovals):
    """The entries of the list T that the mask allows; returns their number."""
    count = lo
    for q in range(lo, hi):
        target = tidx[q]
        CHECK_MASK(target)
        if allowed:
            oidx[count] = target
            if not ISO_OUT:
                t = tvals[0] if T_ISO else tvals[q]
                ovals[count] = STORE(t)
            count += 1
    return count - lo


def select_list(lo, hi, tidx, tvals, thunk, gid, mpresent, mvals, oidx, ovals):
    """The entries of the list T that KEEP and the mask accept; returns their number."""
    count = lo
    for q in range(lo, hi):
        target = tidx[q]
        if MASKED:
            CHECK_MASK(target)
            if not allowed:
                continue
        t = tvals[0] if T_ISO else tvals[q]
        i = gid[target] if GLOBAL else target
        keep = KEEP(t, i, thunk)
        if keep:
            oidx[count] = target
            if not ISO_OUT:
                ovals[count] = STORE(t)
            count += 1
    return count - lo


def select_bitmap(lo, hi, tpresent, tvals, thunk, gid, mpresent, mvals, oidx, ovals):
    """The same for a bitmap or full T.

    With PEEK, which is for a cheap KEEP, a block of 64 is first asked whether it has any: without branches, so
    compilers make vector instructions of it, and what is rare is found at the speed of memory.
    """
    count = lo
    first = lo
    while first < hi:
        stop = min(first + 64, hi)
        any_kept = 1
        if PEEK:
            any_kept = 0
            for target in range(first, stop):
                t = tvals[0] if T_ISO else tvals[target]
                i = gid[target] if GLOBAL else target
                keep = KEEP(t, i, thunk)
                if T_FULL:
                    any_kept |= 1 if keep else 0
                else:
                    any_kept |= tpresent[target] if keep else 0
        if any_kept != 0:
            for target in range(first, stop):
                if not T_FULL:
                    if tpresent[target] == 0:
                        continue
                if MASKED:
                    CHECK_MASK(target)
                    if not allowed:
                        continue
                t = tvals[0] if T_ISO else tvals[target]
                i = gid[target] if GLOBAL else target
                keep = KEEP(t, i, thunk)
                if keep:
                    oidx[count] = target
                    if not ISO_OUT:
                        ovals[count] = STORE(t)
                    count += 1
        first = stop
    return count - lo
