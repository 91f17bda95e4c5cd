"""Masked SpMSpV as push: the stored entries of u scatter through the rows they select.

`push_list` makes a new sparse result; an entry found before is combined in a
sparse accumulator (`acc`, valid where `stamp` equals `epoch`, so nothing is
cleared between calls), which also prunes duplicates. `push_scatter` combines
into C itself, for an accumulator that is the monoid's own operator, and can
emit the *changed set*: no temporary vector. `push_on` does that again and again, with the changed set as u, as
long as it has entries, at most `most` times: a superstep of a road network takes less time than a call.
Work: entries of the selected rows. The first two first add up these entries; if there are
more than `limit` they return -1 - edges and have done nothing (then pull, or
more threads, are cheaper). `push_on` stops before such a step, and before it has looked at more than WORK entries.

Threads: each takes a range of *columns*, the rows being cut at its borders
(`kernels.cpu.cuts`), so no two write to one place, nothing is atomic and results are
the same for any number of threads. A thread's list starts at `base`.

Data encoding: row s of A is `indices[begin[s]:end[s]]`; u and the output are
lists (`fidx`, `fvals`), (`oidx`, `ovals`); mask and C as in `pull`. Both lists of `push_on` have room for all
positions; `told` has the steps done, u's entries in all of them, those of the list now (the second one after an odd
number of steps), those that C has more, the WORK that is left, and whether a step is WITHIN: begun, but not done. In
copies of a matrix (`engine.lanes`) position p is row p % vertices; ranges of columns are of what is stored.

Compile-time: COPIES (there are copies), A_ISO, U_ISO, MASKED, COMPLEMENT, VALUED, M_FULL, GLOBAL, ANY,
ISO_OUT (values are not written), CHANGED, C_FULL, GROWS (entries that C has stay as they
are), STEPS, ENTRIES, COUNT, ADDED, WORK, WITHIN (places in `told`), FILTER (the changed set keeps what KEEP accepts).
Operators: MULT(a, u, i, k), ADD(s, t), STORE(s), ACC(c, s), KEEP(x, i, thunk).
"""


def push_list(base, begin, end, fidx, fvals, indices, avals, mpresent, mvals, stamp, epoch, acc, oidx, ovals, limit,
              row_gid, col_gid, vertices):
    size = fidx.size
    edges = 0
    shift = 0
    for q in range(size):
        source = fidx[q]
        FIND_LINE(source)
        edges += end[line] - begin[line]
    if edges > limit:
        return -1 - edges
    count = base
    for q in range(size):
        source = fidx[q]
        u = fvals[0] if U_ISO else fvals[q]
        k = col_gid[source] if GLOBAL else source
        FIND_LINE(source)
        for e in range(begin[line], end[line]):
            target = indices[e] + shift if COPIES else indices[e]
            if MASKED:
                CHECK_MASK(target)
                if not allowed:
                    continue
            if ANY or ISO_OUT:
                if stamp[target] != epoch:
                    stamp[target] = epoch
                    oidx[count] = target
                    if not ISO_OUT:
                        LOAD_A(e)
                        i = row_gid[target] if GLOBAL else target
                        term = MULT(a, u, i, k)
                        ovals[count] = STORE(term)
                    count += 1
            else:
                LOAD_A(e)
                i = row_gid[target] if GLOBAL else target
                term = MULT(a, u, i, k)
                if stamp[target] == epoch:
                    before = acc[target]
                    total = ADD(before, term)
                    acc[target] = total
                else:
                    stamp[target] = epoch
                    acc[target] = term
                    oidx[count] = target
                    count += 1
    if not ANY and not ISO_OUT:
        for q in range(base, count):
            total = acc[oidx[q]]
            ovals[q] = STORE(total)
    return count - base


def push_scatter(base, begin, end, fidx, fvals, indices, avals, mpresent, mvals, cpresent, cvals, stamp, epoch, oidx,
                 ovals, thunk, limit, row_gid, col_gid, vertices):
    size = fidx.size
    edges = 0
    shift = 0
    for q in range(size):
        source = fidx[q]
        FIND_LINE(source)
        edges += end[line] - begin[line]
    if edges > limit:
        return -1 - edges, 0
    SCATTER_ROWS(size)
    return added, kept - base


def push_on(begin, end, fidx, fvals, indices, avals, cpresent, cvals, stamp, epoch, oidx, ovals, thunk, limit, most,
            told, row_gid, col_gid, vertices):
    base = 0
    shift = 0
    count = told[COUNT]
    while count > 0 and told[STEPS] < most:
        edges = 0
        for q in range(count):
            source = fidx[q]
            edges += end[source] - begin[source]
        if edges > limit or edges > told[WORK]:
            break
        for q in range(count):
            stamp[fidx[q]] = 0  # it has the epoch if it is from the step before
        told[WITHIN] = 1
        SCATTER_ROWS(count)
        fidx, oidx = oidx, fidx
        fvals, ovals = ovals, fvals
        told[ENTRIES] += count
        told[ADDED] += added
        told[WORK] -= edges
        count = kept
        told[COUNT] = count
        told[STEPS] += 1
        told[WITHIN] = 0
