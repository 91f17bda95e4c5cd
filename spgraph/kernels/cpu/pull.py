"""Masked SpMV as pull: every allowed row of the output gathers from its stored entries.

Method: one row at a time over CSR; a row stops at the monoid's terminal value
(Beamer's bottom-up step is the case of an `any` monoid under a complemented
mask). Product, mask, accumulator and write are one pass, in place on C.
Work: entries of the allowed rows, less what early exit saves, plus n lookups.

Data encoding: A is CSR; u is a bitmap (`upresent`, `uvals`), or full; the mask is
a bitmap; C is a bitmap (`cpresent`, `cvals`) or full. `row_gid`, `col_gid` are
global ids for positional operators. Copies of a matrix are as in `push`. `chpresent`
marks changed entries of C, `chvals` gets their values.

Compile-time: COPIES, A_ISO, U_ISO, U_FULL, MASKED, COMPLEMENT, VALUED, M_FULL, REPLACE,
ACCUM, C_FULL, C_ISO (C is full of the value `before[0]`, `cvals` is new), FRESH (C has no content yet), CHANGED,
CHVALS (`chvals` is written), GLOBAL (ids differ from numbers), GATHER (the block that reduces a row: `gather_until`
or `gather_all`), IDENTITY, ANY (every value is terminal), HAS_TERMINAL, TERMINAL.
Operators: MULT(a, u, i, k), ADD(s, t), STORE(s), ACC(c, s).
"""


def pull(lo, hi, indptr, indices, avals, upresent, uvals, mpresent, mvals, cpresent, cvals, before, chpresent,
         chvals, row_gid, col_gid, vertices):
    count = 0
    shift = 0
    changes = 0
    for row in range(lo, hi):
        allowed = True
        if MASKED:
            CHECK_MASK(row)
        if not allowed:
            if C_FULL:
                if C_ISO:
                    cvals[row] = before[0]
                count += 1
            elif FRESH or REPLACE:
                cpresent[row] = 0
            elif cpresent[row] != 0:
                count += 1
            continue
        i = row_gid[row] if GLOBAL else row
        FIND_LINE(row)
        first = indptr[line]
        last = indptr[line + 1]
        GATHER(first, last)
        if found:
            if ACCUM and not FRESH:
                if C_FULL or cpresent[row] != 0:
                    old = before[0] if C_ISO else cvals[row]
                    new = ACC(old, total)
                    cvals[row] = new
                    if CHANGED:
                        if new != old and (new == new or old == old):  # NaN is NaN
                            chpresent[row] = 1
                            if CHVALS:
                                chvals[row] = new
                            changes += 1
                else:
                    new = STORE(total)
                    cvals[row] = new
                    cpresent[row] = 1
                    if CHANGED:
                        chpresent[row] = 1
                        if CHVALS:
                            chvals[row] = new
                        changes += 1
            else:
                new = STORE(total)
                if CHANGED:
                    old = cvals[row]
                    if FRESH or cpresent[row] == 0 or (old != new and (new == new or old == old)):
                        chpresent[row] = 1
                        if CHVALS:
                            chvals[row] = new
                        changes += 1
                cvals[row] = new
                cpresent[row] = 1
            count += 1
        elif C_FULL:
            if C_ISO:
                cvals[row] = before[0]
            count += 1
        elif FRESH or not ACCUM:
            cpresent[row] = 0
        elif cpresent[row] != 0:
            count += 1
    return count, changes
