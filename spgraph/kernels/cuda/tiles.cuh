// A matrix cut into tiles of columns, so that the values of a tile's columns fit a multiprocessor's shared memory.
//
// Method: cut_rows finds by binary search where the tiles of a row end, and what is in none; fill_slices lays the entries of a tile, or of the rest,
// out as pull_slices reads them: 32 neighbouring places, by falling length, are a block; a lane takes a row of
// it, or, where rows are long, G lanes take each, in G slices; a slice has as many words for each lane as its longest row needs, word q of
// all lanes side by side. A word has two columns of a tile (16 bits, less the first column) or one of the rest; NONE fills up.
// Data encoding: A is CSR with sorted rows. Section t of a row ends before column ends[t]; rows from reach[t] on have nothing there,
// and what they would have in the next section that has them. cuts has a run of a.n places for each section, and one more: run t
// says how many of a row's entries lie before section t. Slice s begins at word begins[s], its rows at
// place slots[s], and shapes[s] is 8 * words of a lane + log2 G; place p has lengths[p] entries from firsts[p] on.
// Launch shape: cut_rows, a thread per row; fill_slices and pull_slices, a warp per slice.
// Work: cut_rows, the logarithm of a row's length for each section; fill_slices, one read and one write of each entry; pull_slices, a read of
// each, and of a value.

//== cut_rows(indptr, indices, sections, ends, reach, cuts)
KERNEL {
    for (i64 i = item(1); i < a.n; i += items(1)) {
        const i64 begin = load(a.indptr + i), end = load(a.indptr + i + 1);
        i64 at = begin;
        a.cuts[i] = 0;
        for (i64 t = 0; t < a.sections; t++) {
            if (i < (i64)load(a.reach + t)) at = lower_bound(a.indices, at, end, (i64)load(a.ends + t));
            a.cuts[(t + 1) * a.n + i] = (E_cuts)(at - begin);
        }
    }
}

//== fill_slices(begins, slots, shapes, firsts, lengths, places, indices, less, words) per=32
KERNEL {
    for (i64 s = item(32); s < a.n; s += items(32)) {
        const int shape = (int)load(a.shapes + s), lanes = 1 << (shape & 7), width = shape >> 3;
        const i64 place = (i64)load(a.slots + s) + lane() / lanes;
        const i64 first = place < a.places ? (i64)load(a.firsts + place) : 0;
        const i64 length = place < a.places ? (i64)load(a.lengths + place) : 0;
        E_words* const words = a.words + (i64)load(a.begins + s) + lane();
        for (int q = 0; q < width; q++) {
            u32 word = 0;
            for (int x = 0; x < PER_WORD; x++) {
                const i64 e = ((i64)q * PER_WORD + x) * lanes + lane() % lanes;
                const u32 column = e < length ? (u32)(load(a.indices + first + e) - a.less) : (u32)NONE;
                word |= column << (32 / PER_WORD * x);
            }
            words[32 * (i64)q] = word;
        }
    }
}

//== pull_slices(begins, slots, shapes, places, rows, base, words, sums, avals, uvals) per=32
constexpr int AHEAD = 8, BITS = 32 / PER_WORD;
constexpr u32 COLUMN = ~0u >> (32 - BITS);

// What each place's row has in a tile, whose columns' values are kept, KEPT of them from `base` on, or in the rest (KEPT is 0) is
// added to its sum, rows[place]. MULT takes no column and no row, and the one value of A.
KERNEL {
    extern __shared__ __align__(16) unsigned char memory[];
    E_uvals* const kept = (E_uvals*)memory;
    if constexpr (KEPT > 0) {
#pragma unroll 16
        for (int k = threadIdx.x; k < KEPT; k += BLOCK) kept[k] = look(a.uvals, a.base + k);
        __syncthreads();
    }
    for (i64 s = item(32); s < a.n; s += items(32)) {
        const int shape = (int)load(a.shapes + s), lanes = 1 << (shape & 7), width = shape >> 3;
        const i64 place = (i64)load(a.slots + s) + lane() / lanes;
        const bool writes = lane() % lanes == 0 && place < a.places;
        const i64 row = writes ? (i64)load(a.rows + place) : 0;
        const R_ADD before = writes ? a.sums[row] : (R_ADD)IDENTITY;
        const E_words* const words = a.words + (i64)load(a.begins + s) + lane();
        R_ADD total = IDENTITY;
        for (int q = 0; q < width; q += AHEAD) {
            u32 some[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) some[k] = q + k < width ? stream(words + 32 * (q + k)) : ~0u;
            E_uvals values[AHEAD * PER_WORD];
            bool there[AHEAD * PER_WORD];
#pragma unroll
            for (int k = 0; k < AHEAD * PER_WORD; k++) {
                const u32 column = some[k / PER_WORD] >> BITS * (k % PER_WORD) & COLUMN;
                there[k] = column != (u32)NONE;
                values[k] = !there[k] ? E_uvals() : KEPT > 0 ? kept[column] : look(a.uvals, column);
            }
#pragma unroll
            for (int k = 0; k < AHEAD * PER_WORD; k++)
                if (there[k]) total = ADD(total, (R_ADD)MULT(look(a.avals, 0), values[k], (i64)0, (i64)0));
        }
        for (int d = lanes >> 1; d; d >>= 1) total = ADD(total, from_lane_xor(total, d));
        if (writes) a.sums[row] = ADD(before, total);
    }
}
