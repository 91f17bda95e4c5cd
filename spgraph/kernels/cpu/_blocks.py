"""Blocks of statements that several templates share; a template pastes one by calling it in upper case.

``CHECK_MASK(target)`` stands for the body of `check_mask` with its parameter
renamed. See `_specialise`.
"""


def check_mask(n):
    """Sets `allowed`: may position n be written? For code that stands under ``if MASKED``."""
    if M_FULL:
        allowed = mvals[n] != 0
    elif VALUED:
        allowed = mpresent[n] != 0 and mvals[n] != 0
    else:
        allowed = mpresent[n] != 0
    if COMPLEMENT:
        allowed = not allowed


def find_line(n):
    """Sets `line`, the row that is stored for position n, and `shift`, where its copy of the matrix begins."""
    if COPIES:
        if n < shift or n - shift >= vertices:
            shift = n // vertices * vertices
        line = n - shift
    else:
        line = n


def load_a(e):
    """Sets `a`: the value of entry e of A."""
    if A_ISO:
        a = avals[0]
    else:
        a = avals[e]


def gather_until(first, last):
    """Sets `found` and `total`: entries one by one, stopping at a terminal value."""
    found = False
    total = IDENTITY
    for e in range(first, last):
        column = indices[e] + shift if COPIES else indices[e]
        if U_FULL or upresent[column] != 0:
            LOAD_A(e)
            u = uvals[0] if U_ISO else uvals[column]
            k = col_gid[column] if GLOBAL else column
            term = MULT(a, u, i, k)
            found = True
            if ANY:
                total = term
                break
            total = ADD(total, term)
            if HAS_TERMINAL:
                if total == TERMINAL:
                    break


def gather_term(e):
    """Sets `term`: what entry e contributes, the identity if u has no entry there."""
    column = indices[e] + shift if COPIES else indices[e]
    LOAD_A(e)
    u = uvals[0] if U_ISO else uvals[column]
    k = col_gid[column] if GLOBAL else column
    term = MULT(a, u, i, k)
    if not U_FULL:
        here = upresent[column] != 0
        found = found or here
        term = term if here else IDENTITY


def gather_all(first, last):
    """The same for a dense u, without branches and in four independent lanes.

    A single running sum waits for each addition (4 cycles for floats), a branch on a
    half-full bitmap is mispredicted every other time.
    """
    found = U_FULL and first < last
    total = IDENTITY
    lane1 = IDENTITY
    lane2 = IDENTITY
    lane3 = IDENTITY
    e = first
    while e + 3 < last:
        GATHER_TERM(e)
        total = ADD(total, term)
        f = e + 1
        GATHER_TERM(f)
        lane1 = ADD(lane1, term)
        f = e + 2
        GATHER_TERM(f)
        lane2 = ADD(lane2, term)
        f = e + 3
        GATHER_TERM(f)
        lane3 = ADD(lane3, term)
        e += 4
    while e < last:
        GATHER_TERM(e)
        total = ADD(total, term)
        e += 1
    total = ADD(total, lane1)
    lane2 = ADD(lane2, lane3)
    total = ADD(total, lane2)


def scatter_rows(n):
    """Sets `added` and `kept`: the first n entries of u scatter through their rows into C.

    So many entries of C are new; what has changed is listed from `base` on, up to `kept`.
    """
    added = 0
    changes = base
    for q in range(n):
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
            if GROWS:
                if cpresent[target] != 0:
                    continue
            LOAD_A(e)
            i = row_gid[target] if GLOBAL else target
            term = MULT(a, u, i, k)
            if not GROWS and (C_FULL or cpresent[target] != 0):
                old = cvals[target]
                new = ACC(old, term)
                if new != old:
                    cvals[target] = new
                    if CHANGED:
                        if stamp[target] != epoch and (new == new or old == old):  # NaN is NaN
                            stamp[target] = epoch
                            oidx[changes] = target
                            changes += 1
            else:
                new = STORE(term)
                cvals[target] = new
                cpresent[target] = 1
                added += 1
                if CHANGED:
                    stamp[target] = epoch
                    oidx[changes] = target
                    changes += 1
    kept = base
    if CHANGED:
        for q in range(base, changes):
            target = oidx[q]
            t = cvals[target]
            if FILTER:
                i = row_gid[target] if GLOBAL else target
                keep = KEEP(t, i, thunk)
                if not keep:
                    stamp[target] = 0  # no epoch
                    continue
                oidx[kept] = target
            ovals[kept] = t
            kept += 1
