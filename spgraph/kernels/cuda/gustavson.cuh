// Sparse matrix times sparse matrix over a semiring, all columns or those outside a complemented mask.
//
// Gustavson's method with a hash table per row (as nsparse: Y. Nagasaka et al., ICPP 2017), twice: to count the entries
// of each row, then to compute them. Rows lie in three bins by how many products and how many columns they have:
//   row_sums   small ones have a warp (WIDTH 32) and medium ones a block (WIDTH = BLOCK), each with a table of SLOTS
//              columns per thread in shared memory; the columns are sorted there, too.
//   wide_add   the others come in batches, each with a bitmap over all columns and (for values) an accumulator in global
//              memory; several blocks share a row's products, so that one row fills the card;
//   wide_rows  then reads the bitmap off, in order, and leaves both as they were found.
//
// Balance: products, not entries of A, are dealt to the threads. Everything is added atomically, from the monoid's
// neutral value. A complemented mask is asked when a column comes up for the first time, or erased from the bitmap.
// Data encoding: CSR; `list` names the rows of a bin or batch. Count pass (FILL false): counts[i], and distinct[i] with
// those that the mask forbids (one array without a mask). Fill pass: from offsets[i] on.
// Work: one atomic per product.
//
// Constants and operators: as in kernels/cpu/spgemm.py, and FILL, WIDTH, SLOTS.

DEVICE int member() { return threadIdx.x % WIDTH; }
DEVICE void meet() {
    if constexpr (WIDTH == 32) __syncwarp();
    else __syncthreads();
}

// Running sum over the group's members.
DEVICE i64 group_scan(i64 x, i64* sums) {
    x = warp_scan(x);
    if constexpr (WIDTH > 32) {
        if (lane() == 31) sums[threadIdx.x / 32] = x;
        __syncthreads();
        for (int w = 0; w < threadIdx.x / 32; w++) x += sums[w];
        __syncthreads();
    }
    return x;
}

// All products of a row of A, dealt to `parts` groups: visit(entry of A, entry of B).
struct Row {
    i64 ends[BLOCK], starts[BLOCK], sums[BLOCK / 32];
};
template <class A, class Visit> DEVICE void each_product(const A& a, Row& shared, i64 i, int part, int parts, const Visit& visit) {
    i64* ends = shared.ends + threadIdx.x / WIDTH * WIDTH;
    i64* starts = shared.starts + threadIdx.x / WIDTH * WIDTH;
    const i64 last = load(a.ap + i + 1);
    for (i64 base = load(a.ap + i); base < last; base += WIDTH) {
        i64 first = 0, length = 0;
        if (base + member() < last) {
            const i64 k = load(a.ai + base + member());
            first = load(a.bp + k);
            length = load(a.bp + k + 1) - first;
        }
        const i64 end = group_scan(length, shared.sums);
        ends[member()] = end;
        starts[member()] = first - (end - length);
        meet();
        const i64 total = ends[WIDTH - 1], count = min((i64)WIDTH, last - base);
        for (i64 p = part * WIDTH + member(); p < total; p += parts * WIDTH) {
            const i64 who = upper_bound(ends, 0, count, p);
            visit(base + who, starts[who] + p);
        }
        meet();
    }
}

template <class A> DEVICE R_MULT product(const A& a, i64 gi, i64 e, i64 s) {
    const i64 k = MAPPED ? (i64)look(a.inner, load(a.ai + e)) : (i64)load(a.ai + e);
    const i64 j = MAPPED ? (i64)look(a.cols, load(a.bi + s)) : (i64)load(a.bi + s);
    return MULT(look(a.av, A_ISO ? 0 : e), look(a.bv, B_ISO ? 0 : s), gi, k, k, j);
}

template <class A> DEVICE bool forbidden(const A& a, i64 i, i64 j) {
    const i64 last = load(a.mp + i + 1), m = lower_bound(a.mi, load(a.mp + i), last, j);
    return m < last && load(a.mi + m) == j && (!VALUED || look(a.mv, m) != 0);
}

//== row_sums(ap, ai, av, bp, bi, bv, mp, mi, mv, rows, inner, cols, list, offsets, distinct, counts, out_indices, out_values)
typedef typename Word<sizeof(E_bi)>::type Key;
constexpr int TABLE = SLOTS * WIDTH;

// Slot of a column, which is put there if it is new; there is always room.
DEVICE int slot_of(Key* keys, Key j, bool& is_new) {
    u32 h = (u32)(((u64)(u32)((u32)j * 2654435769u) * TABLE) >> 32);
    is_new = false;
    while (true) {
        const Key there = peek(keys + h);
        if (there == j) return h;
        if (there == (Key)-1) {
            const Key before = atomicCAS(keys + h, (Key)-1, j);
            is_new = before == (Key)-1;
            if (is_new || before == j) return h;
        }
        h = h + 1 == TABLE ? 0 : h + 1;
    }
}

// Puts places 0..n of the list in the order of their keys: Batcher's network in the form with flips, where what lies
// behind the end stands for infinity.
DEVICE void sort(const Key* keys, unsigned short* list, int n) {
    int pairs = 1;
    while (2 * pairs < n) pairs *= 2;
    for (int block = 2; block < 2 * n; block *= 2)
        for (int half = block / 2; half; half /= 2) {
            for (int pair = member(); pair < pairs; pair += WIDTH) {
                const int within = pair & (half - 1), low = 2 * (pair - within) + within;
                const int high = 2 * half == block ? low + block - 1 - 2 * within : low + half;
                if (high < n && keys[list[high]] < keys[list[low]]) {
                    const unsigned short other = list[low];
                    list[low] = list[high];
                    list[high] = other;
                }
            }
            meet();
        }
}

KERNEL {
    constexpr int GROUPS = BLOCK / WIDTH;
    __shared__ Row row;
    __shared__ Key all_keys[BLOCK * SLOTS];
    __shared__ R_ADD all_sums[FILL && VALUES ? BLOCK * SLOTS : 1];
    __shared__ unsigned short all_lists[FILL ? BLOCK * SLOTS : 1];
    __shared__ int found[GROUPS], kept[GROUPS];
    const int group = threadIdx.x / WIDTH;
    Key* keys = all_keys + group * TABLE;
    R_ADD* sums = FILL && VALUES ? all_sums + group * TABLE : all_sums;
    unsigned short* list = FILL ? all_lists + group * TABLE : all_lists;
    for (i64 it = item(WIDTH); it < a.n; it += items(WIDTH)) {
        const i64 i = load(a.list + it), gi = MAPPED ? (i64)look(a.rows, i) : i;
        for (int h = member(); h < TABLE; h += WIDTH) {
            keys[h] = (Key)-1;
            if constexpr (FILL && VALUES) sums[h] = IDENTITY;
        }
        if (member() == 0) found[group] = kept[group] = 0;
        meet();
        int mine = 0, mine_kept = 0;
        each_product(a, row, i, 0, 1, [&](i64 e, i64 s) {
            const i64 j = load(a.bi + s);
            bool is_new, changed;
            const int h = slot_of(keys, (Key)j, is_new);
            if constexpr (FILL && VALUES) {
                if constexpr (!ANY) atomic_combine(sums + h, product(a, gi, e, s), [](R_ADD r, R_ADD t) { return ADD(r, t); }, changed);
                else if (is_new) sums[h] = product(a, gi, e, s);
            }
            if constexpr (!FILL) {
                mine += is_new;
                if constexpr (COMPLEMENT) mine_kept += is_new && !forbidden(a, i, j);
            }
        });
        if constexpr (!FILL) {
            mine = warp_sum(mine);
            mine_kept = COMPLEMENT ? warp_sum(mine_kept) : mine;
            if (lane() == 0) {
                atomicAdd(&found[group], mine);
                atomicAdd(&kept[group], mine_kept);
            }
            meet();
            if (member() == 0) {
                a.distinct[i] = found[group];
                a.counts[i] = kept[group];
            }
        } else {
            for (int h = member(); h < TABLE; h += WIDTH) {
                bool keep = keys[h] != (Key)-1;
                if constexpr (COMPLEMENT) keep = keep && !forbidden(a, i, keys[h]);
                const i64 place = append((u32*)&kept[group], keep);
                if (keep) list[place] = h;
            }
            meet();
            const int n = kept[group];
            sort(keys, list, n);
            const i64 start = a.offsets[i];
            for (int place = member(); place < n; place += WIDTH) {
                a.out_indices[start + place] = keys[list[place]];
                if constexpr (VALUES) a.out_values[start + place] = STORE(sums[list[place]]);
            }
        }
        meet();
    }
}

// Products of the rows list[first...] into the batch's bitmaps and accumulators; `parts` blocks for each of a.n / parts rows.
//== wide_add(ap, ai, av, bp, bi, bv, rows, inner, cols, list, first, parts, words, width, bits, sums) per=256
KERNEL {
    __shared__ Row row;
    for (i64 it = blockIdx.x; it < a.n; it += gridDim.x) {
        const i64 place = it / a.parts, i = load(a.list + a.first + place), gi = MAPPED ? (i64)look(a.rows, i) : i;
        u32* bits = a.bits + place * a.words;
        each_product(a, row, i, it - place * a.parts, a.parts, [&](i64 e, i64 s) {
            const i64 j = load(a.bi + s);
            const bool is_new = set_bit(bits, j);
            if constexpr (FILL && VALUES) {
                bool changed;
                E_sums* sum = a.sums + place * a.width + j;
                if constexpr (!ANY) atomic_combine(sum, product(a, gi, e, s), [](R_ADD r, R_ADD t) { return ADD(r, t); }, changed);
                else if (is_new) *sum = product(a, gi, e, s);
            }
        });
    }
}

// Counts (FILL: writes and clears) the columns of each row of the batch, less those of a complemented mask.
//== wide_rows(mp, mi, mv, list, first, words, width, bits, sums, offsets, distinct, counts, out_indices, out_values) per=1024
//=            block=1024 blocks_per_sm=2
constexpr int TILE = 4;  // words of a thread at a time

KERNEL {
    __shared__ i64 sums[BLOCK / 32];
    __shared__ i64 total;
    for (i64 place = blockIdx.x; place < a.n; place += gridDim.x) {
        const i64 i = load(a.list + a.first + place);
        u32* bits = a.bits + place * a.words;
        E_sums* values = a.sums + place * a.width;
        i64 erased = 0;
        if constexpr (COMPLEMENT) {
            const i64 last = load(a.mp + i + 1);
            for (i64 m = load(a.mp + i) + threadIdx.x; m < last; m += BLOCK) {
                const i64 j = load(a.mi + m);
                const u32 bit = 1u << (j & 31);
                if ((!VALUED || look(a.mv, m) != 0) && (atomicAnd(bits + (j >> 5), ~bit) & bit)) {
                    erased++;
                    if constexpr (FILL && VALUES) values[j] = IDENTITY;
                }
            }
            __syncthreads();
        }
        i64 q = FILL ? a.offsets[i] : 0;
        for (i64 base = 0; base < a.words; base += BLOCK * TILE) {
            const i64 word = base + threadIdx.x * TILE;
            u32 mine[TILE];
            i64 count = 0;
            for (int w = 0; w < TILE; w++) {
                mine[w] = word + w < a.words ? bits[word + w] : 0;
                count += __popc(mine[w]);
            }
            if constexpr (!FILL) {
                q += count;
                for (int w = 0; w < TILE; w++)
                    if (mine[w]) bits[word + w] = 0;
            } else {
                const i64 end = group_scan(count, sums);
                if (threadIdx.x == BLOCK - 1) total = end;
                __syncthreads();
                i64 at = q + end - count;
                q += total;
                for (int w = 0; w < TILE; w++) {
                    if (mine[w]) bits[word + w] = 0;
                    for (u32 left = mine[w]; left; left &= left - 1) {
                        const i64 j = 32 * (word + w) + __ffs(left) - 1;
                        a.out_indices[at] = j;
                        if constexpr (VALUES) {
                            a.out_values[at] = STORE(values[j]);
                            values[j] = IDENTITY;
                        }
                        at++;
                    }
                }
                __syncthreads();
            }
        }
        if constexpr (!FILL) {
            const i64 kept = group_scan(q, sums), all = group_scan(q + erased, sums);
            if (threadIdx.x == BLOCK - 1) {
                a.counts[i] = kept;
                a.distinct[i] = all;
            }
        }
    }
}
