// Sorts: building from coordinates, transposes, permutations of rows and columns, duplicates.
//
// Method: count the entries of each row, scan, deal the entries into their rows in any order (a cursor per row, atomic;
// neighbouring lanes with the same row take their places together), then sort each row in place. So nothing but the
// result is held. Rows are sorted by a bitonic network, which needs no room either: short ones by a warp, longer ones by
// a block, in tiles in shared memory; what is longer than a tile is merged in steps through global memory. The network
// is the one whose comparators all put the smaller entry first (K. Batcher 1968, in the form with flips), so that
// entries behind the end of a row stand for infinity and are never looked at: lengths need not be powers of two.
// Where values are to follow, entries carry the position at which they were given, and are sorted by (column,
// position): a network is not stable, but positions differ. Values move once, at the end.
// Data encoding: CSR with rows in any order; `positions` (POSITIONS) beside `keys`.
// Launch shape: see each section.
// Work: about log2(n)^2 / 4 comparisons for each entry of a row of n; through global memory go (k + 1) (k + 2) / 2 passes
// over the rows that are longer than a tile, where k is log2(n / TILE), rounded up.

// ---- counting and dealing ----------------------------------------------------------------
// Lanes of a run have the same key as their neighbour: a run's first lane, and how many it has.
struct Run {
    int first, length;
};
DEVICE Run run_of(i64 key) {
    const i64 before = __shfl_up_sync(FULL_WARP, key, 1);
    const u32 heads = __ballot_sync(FULL_WARP, lane() == 0 || key != before);
    const int first = 31 - __clz(heads & (FULL_WARP >> (31 - lane())));
    const u32 later = lane() == 31 ? 0 : heads >> (lane() + 1);
    return {first, (later ? lane() + __ffs(later) : 32) - first};
}
// Adds `by` to a counter of 32 or 64 bits.
template <class C> DEVICE i64 advance(C* counter, int by) {
    typedef typename Word<sizeof(C)>::type W;
    return (i64)(C)atomicAdd((W*)counter, (W)by);
}
// The next place of `key` for each lane whose key is not negative; all lanes of the warp.
template <class C> DEVICE i64 take_place(C* cursor, i64 key) {
    const Run run = run_of(key);
    i64 place = 0;
    if (key >= 0 && lane() == run.first) place = advance(cursor + key, run.length);
    return __shfl_sync(FULL_WARP, place, run.first) + (lane() - run.first);
}

// ---- sorting -------------------------------------------------------------------------------
// Puts entries low and high in order.
template <class K, class P> DEVICE void compare(K* keys, P* positions, i64 low, i64 high) {
    const K x = keys[low], y = keys[high];
    bool swap = y < x;
    if constexpr (POSITIONS) {
        const P p = positions[low], q = positions[high];
        swap = swap || (x == y && q < p);
        if (swap) {
            positions[low] = q;
            positions[high] = p;
        }
    }
    if (swap) {
        keys[low] = y;
        keys[high] = x;
    }
}

// The network over `length` entries, or the REST of it that stays within a tile after the steps of `sort_step`.
// By threads 0..threads, which `sync` lets meet.
template <bool REST, class K, class P, class Sync>
DEVICE void network(K* keys, P* positions, int length, int thread, int threads, Sync sync) {
    const int size = length <= 2 ? 2 : 1 << (32 - __clz(length - 1));
    for (int block = REST ? size : 2; block <= size; block *= 2) {
        for (int part = block; part >= 2; part /= 2) {
            const int half = part / 2;
            for (int c = thread; c < size / 2; c += threads) {
                const int within = c & (half - 1), low = 2 * c - within;
                const int high = !REST && part == block ? low + part - 1 - 2 * within : low + half;
                if (high < length) compare(keys, positions, low, high);
            }
            sync();
        }
    }
}

//== coo_disorder(rows, cols) returns=1
// Whether a pair of neighbouring entries is out of order by (row, column): how many are.
KERNEL {
    i64 count = 0;
    for (i64 p = item(1) + 1; p < a.n; p += items(1)) {
        const i64 before = a.rows[p - 1], row = a.rows[p];
        count += row < before || (row == before && a.cols[p] < a.cols[p - 1]);
    }
    tally(a.result, 0, count);
    publish(a);
}

//== key_count(keys, key_map, counts)
// counts[key] += how many entries have it.
KERNEL {
    for (i64 base = item(1) - lane(); base < a.n; base += items(1)) {
        const i64 p = base + lane();
        i64 key = p < a.n ? (i64)a.keys[p] : -1;
        if constexpr (MAPPED) key = key < 0 ? key : (i64)a.key_map[key];
        const Run run = run_of(key);
        if (key >= 0 && lane() == run.first) advance(a.counts + key, run.length);
    }
}

//== coo_deal(rows, cols, base, cursor, out_keys, out_positions)
// Coordinates, the first of which was given at position `base`, into their rows.
KERNEL {
    for (i64 first = item(1) - lane(); first < a.n; first += items(1)) {
        const i64 p = first + lane();
        const i64 q = take_place(a.cursor, p < a.n ? (i64)a.rows[p] : -1);
        if (p < a.n) {
            a.out_keys[q] = (E_out_keys)a.cols[p];
            if constexpr (POSITIONS) a.out_positions[q] = (E_out_positions)(a.base + p);
        }
    }
}

//== rows_deal(indptr, indices, key_map, cursor, out_keys, out_positions) per=32
// Entries of a CSR into the rows of its transpose; items are its rows.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        const bool entry = share.candidate >= 0;
        const i64 p = entry ? ends(share.row) + share.candidate : 0;
        i64 key = entry ? (i64)a.indices[p] : -1;
        if constexpr (MAPPED) key = entry ? (i64)a.key_map[key] : -1;
        const i64 q = take_place(a.cursor, key);
        if (entry) {
            a.out_keys[q] = (E_out_keys)share.row;
            if constexpr (POSITIONS) a.out_positions[q] = (E_out_positions)p;
        }
    }
}

//== rows_gather(source, indptr, indices, values, col_target, out_indptr, out_indices, out_values, out_positions) per=32
// Row i of the result is row source[i], its columns mapped; items are rows of the result.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.out_indptr[i]; };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        if (share.candidate < 0) continue;
        const i64 q = ends(share.row) + share.candidate, p = a.indptr[a.source[share.row]] + share.candidate;
        i64 j = a.indices[p];
        if constexpr (MAPPED) j = a.col_target[j];
        a.out_indices[q] = (E_out_indices)j;
        if constexpr (VALUES) a.out_values[q] = a.values[p];
        if constexpr (POSITIONS) a.out_positions[q] = (E_out_positions)p;
    }
}

//== row_numbers(indptr, out) per=32
// The row of each entry.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    for (Share<decltype(ends)> share(ends, a.n, item(32), items(32)); share.next();) {
        if (share.candidate >= 0) a.out[ends(share.row) + share.candidate] = (E_out)share.row;
    }
}

//== sort_short(indptr, keys, positions) per=32
// Sorts rows of 2..SHORT entries; a warp each.
KERNEL {
    __shared__ E_keys keys[BLOCK / 32][SHORT];
    __shared__ E_positions positions[BLOCK / 32][POSITIONS ? SHORT : 1];
    E_keys* own = keys[threadIdx.x / 32];
    E_positions* own_positions = positions[threadIdx.x / 32];
    for (i64 i = item(32); i < a.n; i += items(32)) {
        const i64 first = a.indptr[i], length = a.indptr[i + 1] - first;
        if (length < 2 || length > SHORT) continue;
        for (int k = lane(); k < length; k += 32) {
            own[k] = a.keys[first + k];
            if constexpr (POSITIONS) own_positions[k] = a.positions[first + k];
        }
        __syncwarp();
        const auto sync = [] { __syncwarp(); };
        network<false>(own, own_positions, (int)length, lane(), 32, sync);
        for (int k = lane(); k < length; k += 32) {
            a.keys[first + k] = own[k];
            if constexpr (POSITIONS) a.positions[first + k] = own_positions[k];
        }
        __syncwarp();
    }
}

//== sort_tiles(listed, tiles, nlisted, indptr, keys, positions) per=512 block=512 blocks_per_sm=4
// Sorts tiles of TILE entries of the listed rows, `tiles` being the running sum of their numbers of tiles; a block each.
// REST: what is left to do after steps of `sort_step`.
KERNEL {
    __shared__ E_keys keys[TILE];
    __shared__ E_positions positions[POSITIONS ? TILE : 1];
    for (i64 tile = blockIdx.x; tile < a.n; tile += gridDim.x) {
        const i64 r = upper_bound(a.tiles, 0, a.nlisted + 1, tile) - 1, row = a.listed[r];
        const i64 first = a.indptr[row] + (tile - a.tiles[r]) * TILE, rest = a.indptr[row + 1] - first;
        const int length = rest < TILE ? (int)rest : (int)TILE;
        for (int k = threadIdx.x; k < length; k += BLOCK) {
            keys[k] = a.keys[first + k];
            if constexpr (POSITIONS) positions[k] = a.positions[first + k];
        }
        __syncthreads();
        const auto sync = [] { __syncthreads(); };
        network<REST>(keys, positions, length, threadIdx.x, BLOCK, sync);
        for (int k = threadIdx.x; k < length; k += BLOCK) {
            a.keys[first + k] = keys[k];
            if constexpr (POSITIONS) a.positions[first + k] = positions[k];
        }
        __syncthreads();
    }
}

//== sort_step(listed, tiles, nlisted, indptr, keys, positions, part) per=256
// One step of the network with comparators of distance `part` / 2 >= TILE (of a flip: up to part - 1) in the listed
// rows; a block for each tile of entries, which is all low or all high ends.
KERNEL {
    for (i64 tile = blockIdx.x; tile < a.n; tile += gridDim.x) {
        const i64 r = upper_bound(a.tiles, 0, a.nlisted + 1, tile) - 1, row = a.listed[r];
        const i64 first = a.indptr[row], length = a.indptr[row + 1] - first, start = (tile - a.tiles[r]) * TILE;
        if (start & (a.part / 2)) continue;
        for (i64 low = start + threadIdx.x; low < start + TILE; low += BLOCK) {
            const i64 high = FLIP ? low ^ (a.part - 1) : low + a.part / 2;
            if (high < length) compare(a.keys, a.positions, first + low, first + high);
        }
    }
}

//== rows_repeats(indptr, indices) returns=1
// How many entries of sorted rows repeat the one before them; items are rows.
KERNEL {
    i64 count = 0;
    const i64 nvals = a.indptr[a.n];
    for (i64 p = item(1) + 1; p < nvals; p += items(1)) count += a.indices[p] == a.indices[p - 1];
    for (i64 i = item(1); i < a.n; i += items(1)) {  // neighbours of different rows
        const i64 first = a.indptr[i];
        if (first > 0 && first < a.indptr[i + 1]) count -= a.indices[first] == a.indices[first - 1];
    }
    tally(a.result, 0, count);
    publish(a);
}

//== rows_combine(indptr, indices, values,
//=               nrows, offsets, counts, out_indptr, out_indices, out_values) per=32
// Merges equal neighbours of each row by DUP, left to right.
KERNEL {
    const auto ends = [&](i64 i) { return (i64)a.indptr[i]; };
    i64 p, end;
    const auto wants = [&](i64 i, i64 k) {
        p = ends(i) + k;
        end = ends(i + 1);
        return k == 0 || a.indices[p] != a.indices[p - 1];
    };
    const auto put = [&](i64 q) {
        const i64 j = a.indices[p];
        a.out_indices[q] = a.indices[p];
        if constexpr (VALUES) {
            E_values s = a.values[p];
            while (++p < end && a.indices[p] == j) s = DUP(s, a.values[p]);
            a.out_values[q] = s;
        }
    };
    make_rows<FILL>(a, ends, wants, put);
}
