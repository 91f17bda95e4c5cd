// Masked SpMV as pull: every allowed row of the output gathers from its stored entries.
//
// Two sections for the CPU's one template. `pull_until` is its block gather_until: a thread per row, which stops at the
// monoid's terminal value (Beamer's bottom-up step is the case of an `any` monoid under a complemented mask); a
// row that is not done after SERIAL entries is finished by its whole warp. `pull_all` is gather_all: rows in four
// bins by length, given to 2, 8, 32 or 256 threads each (which blocks serve which bin is an argument), FEW_AHEAD or
// MANY_AHEAD entries in flight per thread. Product, mask, accumulator and write are one pass, in place on C.
//
// Data encoding: A is CSR; u is a bitmap (upresent, uvals), or full; the mask is a bitmap; C is a bitmap (cpresent, cvals) or
// full; chpresent marks changed entries of C, chvals gets their values. `order` lists the rows, longest bin first (null: rows lie so themselves);
// end1..end3 are where the bins of 256, 32 and 8 threads end, block1..block3 the blocks that end with them.
//
// Results: 0: entries of C, 1: changes. Constants and operators as in kernels/cpu/pull.py.

#define SERIAL 24
#define FEW_AHEAD 2
#define MANY_AHEAD 4  // rmat22-64 by degree: 2.54 ms, with 2 2.66 (H100)

DEVICE void changed(const Args& a, i64 row, E_cvals now, i64& changes) {
    a.chpresent[row] = 1;
    if constexpr (CHVALS) a.chvals[row] = now;
    changes++;
}

template <class R> DEVICE void settle(const Args& a, i64 row, bool allowed_row, bool found, R total, i64& count, i64& changes) {
    if (allowed_row && found) {
        count++;
        if constexpr (ACCUM && !FRESH) {
            if (C_FULL || a.cpresent[row]) {
                const E_cvals old = C_ISO ? look(a.before, 0) : a.cvals[row];
                const E_cvals now = ACC(old, total);
                a.cvals[row] = now;
                if constexpr (CHANGED)
                    if (differs(now, old)) changed(a, row, now, changes);
                return;
            }
        }
        const E_cvals now = STORE(total);
        if constexpr (CHANGED)
            if (FRESH || !(C_FULL || a.cpresent[row]) || differs(now, a.cvals[row])) changed(a, row, now, changes);
        a.cvals[row] = now;
        if constexpr (!C_FULL) a.cpresent[row] = 1;
        return;
    }
    if constexpr (C_FULL) {
        if constexpr (C_ISO) a.cvals[row] = look(a.before, 0);
        count++;
    } else if (allowed_row ? FRESH || !ACCUM : FRESH || REPLACE) {
        a.cpresent[row] = 0;
    } else if (a.cpresent[row]) {
        count++;
    }
}

// What entry e, in that column, contributes; false if u has no entry there.
DEVICE bool term_at(const Args& a, i64 i, i64 e, i64 column, R_MULT& term) {
    if constexpr (!U_FULL)
        if (!look(a.upresent, column)) return false;
    const i64 k = GLOBAL ? (i64)look(a.col_gid, column) : column;
    term = MULT(look(a.avals, A_ISO ? 0 : e), look(a.uvals, U_ISO ? 0 : column), i, k);
    return true;
}

DEVICE bool is_final(bool found, R_ADD total) {
    if constexpr (ANY) return found;
    else if constexpr (HAS_TERMINAL) return found && total == (R_ADD)TERMINAL;
    else return false;
}

// Takes entry e in; whether the row is done with it.
DEVICE bool take(const Args& a, i64 i, i64 e, bool& found, R_ADD& total) {
    R_MULT term;
    if (!term_at(a, i, e, load(a.indices + e), term)) return false;
    total = !found || ANY ? (R_ADD)term : ADD(total, term);
    found = true;
    return is_final(found, total);
}

// The sum over neighbouring lanes, WIDTH of them; all lanes of the warp take part.
template <int WIDTH> DEVICE void join(bool& found, R_ADD& total) {
#pragma unroll
    for (int d = WIDTH / 2; d; d >>= 1) {
        const R_ADD other = from_lane_xor(total, d);
        const bool too = from_lane_xor(found, d);
        if (too) total = found ? ADD(total, other) : other;
        found = found || too;
    }
}

//== pull_until(indptr, indices, avals, upresent, uvals, mpresent, mvals, cpresent, cvals, before, chpresent, chvals, row_gid, col_gid)
//=             returns=2
KERNEL {
    i64 count = 0, changes = 0;
    for (i64 first_row = 32 * item(32); first_row < a.n; first_row += 32 * items(32)) {
        const i64 row = first_row + lane();
        const bool open = row < a.n && allowed(a.mpresent, a.mvals, row);
        const i64 i = GLOBAL && open ? (i64)look(a.row_gid, row) : row;
        i64 e = open ? (i64)load(a.indptr + row) : 0;
        const i64 end = open ? (i64)load(a.indptr + row + 1) : 0;
        const i64 stop = end - e > SERIAL ? e + SERIAL : end;
        bool found = false, done = false;
        R_ADD total = IDENTITY;
        while (e < stop && !done) done = take(a, i, e++, found, total);
        u32 left = __ballot_sync(FULL_WARP, !done && e < end);
        while (left) {
            const int owner = __ffs(left) - 1;
            left &= left - 1;
            const i64 from = from_lane(e, owner), to = from_lane(end, owner), of = from_lane(i, owner);
            bool mine = lane() == owner && found, finished = false;
            R_ADD sum = total;
            for (i64 base = from; base < to && !__any_sync(FULL_WARP, finished); base += 32)
                if (base + lane() < to) finished = take(a, of, base + lane(), mine, sum);
            join<32>(mine, sum);
            if (lane() == owner) {
                found = mine;
                total = sum;
            }
        }
        if (row < a.n) settle(a, row, open, found, total, count, changes);
    }
    tally(a.result, 0, count);
    if constexpr (CHANGED) tally(a.result, 1, changes);
    publish(a);
}

//== pull_all(order, end1, end2, end3, block1, block2, block3, indptr, indices, avals, upresent, uvals, mpresent, mvals, cpresent,
//=           cvals, before, chpresent, chvals, row_gid, col_gid) returns=2
template <int WIDTH, int AHEAD> DEVICE void gather(const Args& a, i64 i, i64 first, i64 last, int sub, bool& found, R_ADD& total) {
    const E_indices length = (E_indices)(last - first);
    const E_indices* ids = a.indices + first;
    for (E_indices x = (E_indices)sub; x < length; x += AHEAD * WIDTH) {
        E_indices columns[AHEAD];
        R_MULT terms[AHEAD];
        bool there[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            there[k] = length - x > k * WIDTH;
            columns[k] = there[k] ? stream(ids + x + k * WIDTH) : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (there[k]) there[k] = term_at(a, i, first + x + k * WIDTH, columns[k], terms[k]);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (there[k]) {
                total = ADD(total, terms[k]);
                found = true;
            }
    }
}

// Rows at places lo..hi of the order, WIDTH threads each, by blocks 0..blocks of which this is number `block`.
template <int WIDTH> DEVICE void rows(const Args& a, i64 lo, i64 hi, i64 block, i64 blocks, i64& count, i64& changes) {
    constexpr int GROUPS = BLOCK / WIDTH;
    const int sub = threadIdx.x % WIDTH;
    for (i64 base = lo + block * GROUPS; base < hi; base += blocks * GROUPS) {
        const i64 place = base + threadIdx.x / WIDTH;
        const bool there = place < hi;
        const i64 row = !there ? 0 : a.order ? (i64)load(a.order + place) : place;
        const bool open = there && allowed(a.mpresent, a.mvals, row);
        bool found = false;
        R_ADD total = IDENTITY;
        if (open) {
            const i64 i = GLOBAL ? (i64)look(a.row_gid, row) : row;
            gather<WIDTH, (WIDTH < 32 ? FEW_AHEAD : MANY_AHEAD)>(a, i, load(a.indptr + row), load(a.indptr + row + 1), sub, found, total);
        }
        join<(WIDTH < 32 ? WIDTH : 32)>(found, total);
        if constexpr (WIDTH > 32) {
            __shared__ R_ADD totals[BLOCK / 32];
            __shared__ bool founds[BLOCK / 32];
            if (lane() == 0) {
                totals[threadIdx.x / 32] = total;
                founds[threadIdx.x / 32] = found;
            }
            __syncthreads();
            if (threadIdx.x < 32) {
                const bool mine = lane() < BLOCK / 32;
                total = mine ? totals[lane() % (BLOCK / 32)] : (R_ADD)IDENTITY;
                found = mine && founds[lane() % (BLOCK / 32)];
                join<32>(found, total);
            }
            __syncthreads();
        }
        if (sub == 0 && there) settle(a, row, open, found, total, count, changes);
    }
}

KERNEL {
    i64 count = 0, changes = 0;
    const i64 block = blockIdx.x, end = gridDim.x;
    if (block < a.block1) rows<256>(a, 0, a.end1, block, a.block1, count, changes);
    else if (block < a.block2) rows<32>(a, a.end1, a.end2, block - a.block1, a.block2 - a.block1, count, changes);
    else if (block < a.block3) rows<8>(a, a.end2, a.end3, block - a.block2, a.block3 - a.block2, count, changes);
    else rows<2>(a, a.end3, a.n, block - a.block3, end - a.block3, count, changes);
    tally(a.result, 0, count);
    if constexpr (CHANGED) tally(a.result, 1, changes);
    publish(a);
}
