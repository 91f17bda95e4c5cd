"""Vectors whose values are positions: combine into the positions named, follow them to their ends.

Method: `combine` goes through all entries in every thread, each of which writes the positions of its own range: nothing
is atomic, results do not depend on the number of threads. Following pointers that never point upwards takes one pass in
ascending order, as the end of every lower position is known; a range first follows those within it
(`jump_within`), and once all lower ranges have their ends, looks up the rest (`jump_below`).
Work: one step per entry.

Data encoding: p (the pointers, global ids) is a bitmap (`ppresent`, `pvals`) or full; x, of p's size and partition,
is a list (`xidx`, `xvals`), a bitmap or full; C as in `pull`. `local` gives local numbers of global ids, `gid` the
other way.

Compile-time: X_LIST, X_FULL, X_ISO, P_FULL, P_ISO, C_FULL, GLOBAL (ids differ from numbers).
Operators: STORE(t), ACC(c, t).
"""

import numpy as np


def outside(lo, hi, ppresent, pvals, size):
    """How many entries name no position of 0..size."""
    found = 0
    for i in range(lo, hi):
        if not P_FULL:
            if ppresent[i] == 0:
                continue
        target = np.int64(pvals[i])
        if target < 0 or target >= size:
            found += 1
    return found


def combine(lo, hi, count, xidx, xpresent, xvals, ppresent, pvals, local, cpresent, cvals):
    """C(p(i)) = ACC(C(p(i)), x(i)) for those of x's `count` entries (or positions) that name one of lo..hi.

    Returns how many entries C got.
    """
    added = 0
    for q in range(count):
        if X_LIST:
            i = xidx[q]
        else:
            i = q
            if not X_FULL:
                if xpresent[q] == 0:
                    continue
        if not P_FULL:
            if ppresent[i] == 0:
                continue
        target = np.int64(pvals[0]) if P_ISO else np.int64(pvals[i])
        if GLOBAL:
            target = np.int64(local[target])
        if target < lo or target >= hi:
            continue
        t = xvals[0] if X_ISO else xvals[q]
        if C_FULL or cpresent[target] != 0:
            old = cvals[target]
            cvals[target] = ACC(old, t)
        else:
            cvals[target] = STORE(t)
            cpresent[target] = 1
            added += 1
    return added


def jump_within(lo, hi, pvals, local, out):
    """Where the pointers of global ids lo..hi lead, as far as that is in the range; returns how many point upwards."""
    wrong = 0
    for i in range(lo, hi):
        at = np.int64(local[i]) if GLOBAL else i
        to = np.int64(pvals[at])
        if to < 0 or to > i:
            wrong += 1
        elif to >= lo and to < i:
            out[at] = out[local[to]] if GLOBAL else out[to]
        else:
            out[at] = pvals[at]
    return wrong


def jump_below(lo, hi, first, local, out):
    """Those that lead below `first` have the ends of where they lead."""
    for i in range(lo, hi):
        at = np.int64(local[i]) if GLOBAL else i
        to = np.int64(out[at])
        if to < first:
            out[at] = out[local[to]] if GLOBAL else out[to]
