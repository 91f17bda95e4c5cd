// What comes after a kernel's constants, types and operators: masks and atomics.
//
// ATOMIC (a constant of the kernel, 0 if not given) names the instruction that does the monoid's work:
// 1 add, 2 min, 3 max, 4 or, 5 and, 6 xor, 7 and 8 min and max of floats that pass over NaN; 0: compare and swap. GLANCE (likewise, false if not given) says that what changes
// nothing now never will: then the first look may see an old value, such as the nearest cache has.

// A kernel may see COPIES copies of a matrix side by side (`engine.lanes`): position p is copy p % COPIES of row or column
// p / COPIES of the one that is stored.
#ifndef COPIES
#define COPIES 1
#endif
DEVICE i64 row_of(i64 p) { return COPIES == 1 ? p : (i64)((u64)p / COPIES); }
DEVICE int copy_of(i64 p) { return (int)((u64)p % COPIES); }

// May position n be written? For kernels with the constants MASKED, COMPLEMENT, VALUED, M_FULL.
template <class P, class V> DEVICE bool allowed(const P& present, const V& values, i64 n) {
    bool yes = true;
#ifdef HAS_MASK
    if constexpr (MASKED) {
        if constexpr (M_FULL) yes = values[n] != 0;
        else if constexpr (VALUED) yes = present[n] != 0 && values[n] != 0;
        else yes = present[n] != 0;
        if constexpr (COMPLEMENT) yes = !yes;
    }
#endif
    return yes;
}

// min (LEAST) or max of floats, none of which is NaN: bits without a sign rise with the number, bits with one fall.
template <bool LEAST, class T> DEVICE T atomic_order(T* p, T value) {
    typedef typename Word<sizeof(T)>::type W;
    typedef typename Signed<sizeof(T)>::type S;
    const W bits = (W)bits_of(value);
    const bool rising = (S)bits >= 0;
    if (rising) return of_bits<T>((W)(LEAST ? atomicMin((S*)p, (S)bits) : atomicMax((S*)p, (S)bits)));
    return of_bits<T>(LEAST ? atomicMax((W*)p, bits) : atomicMin((W*)p, bits));
}

// *p = op(*p, value) as one step; the new value, and in `old` the one before. `changed` says whether the stored value became
// another one; if not, `old` may be what *p was a while ago.
// Looks first: nothing is written where nothing would change. Not before an addition, which nearly always changes
// something; where the caller needs neither result, it is then a reduction that nothing waits for.
template <class T, class V, class Op> DEVICE T atomic_combine(T* p, V value, Op op, bool& changed, T& old) {
    typedef typename Word<sizeof(T)>::type W;
    const u64 address = (u64)p;
    W* word = (W*)(address & ~(u64)(sizeof(W) - 1));
    const int shift = 8 * (int)(address & (sizeof(W) - 1));
    const W keep = sizeof(T) < sizeof(W) ? ~((((W)1 << (8 * sizeof(T) % (8 * sizeof(W)))) - 1) << shift) : (W)0;
    T now;
    changed = false;
    if constexpr (ATOMIC != 1 || sizeof(T) < 4) {
        old = GLANCE ? glance(p) : peek(p);
        now = op(old, value);
        if (bits_of(now) == bits_of(old)) return now;
    }
    if constexpr (ATOMIC >= 7) {
        if (old == old && value == value) {
            old = atomic_order<ATOMIC == 7>(p, (T)value);
            now = op(old, value);
            changed = now != old;
            return now;
        }
    }
    if constexpr (ATOMIC == 1 && sizeof(T) >= 4) {
        old = atomicAdd((typename Adds<T>::type*)p, (typename Adds<T>::type)value);
        now = op(old, value);
        changed = differs(now, old);
        return now;
    } else if constexpr ((ATOMIC == 2 || ATOMIC == 3) && sizeof(T) >= 4 && Integer<T>::value) {
        typedef typename Orders<T>::type O;
        old = (T)(ATOMIC == 2 ? atomicMin((O*)p, (O)value) : atomicMax((O*)p, (O)value));
        now = op(old, value);
        changed = now != old;
        return now;
    } else if constexpr (ATOMIC >= 4 && ATOMIC <= 6 && sizeof(T) >= 4) {
        const W with = (W)value;
        old = (T)(ATOMIC == 4 ? atomicOr(word, with) : ATOMIC == 5 ? atomicAnd(word, with) : atomicXor(word, with));
        now = op(old, value);
        changed = now != old;
        return now;
    } else {
        W expected = *(volatile W*)word;
        while (true) {
            old = of_bits<T>((u64)(expected >> shift));
            now = op(old, value);
            if (bits_of(now) == bits_of(old)) return now;
            const W wanted = (expected & keep) | ((W)bits_of(now) << shift);
            const W found = atomicCAS(word, expected, wanted);
            if (found == expected) {
                changed = differs(now, old);
                return now;
            }
            expected = found;
        }
    }
}

template <class T, class V, class Op> DEVICE T atomic_combine(T* p, V value, Op op, bool& changed) {
    T old;
    return atomic_combine(p, value, op, changed, old);
}

// ---- reductions of everything by any operator ---------------------------------------
// Totals come with the number of values in them: where there is none the total means nothing.

template <class A> DEVICE bool stopped(const A& args) { return peek(&args.result->stop) != 0; }
template <class A> DEVICE void stop(const A& args) { *(volatile u32*)&args.result->stop = 1; }

template <class T, class Op> DEVICE void combine(i64& count, T& total, i64 other_count, T other, Op op) {
    if (other_count) total = count ? op(total, other) : other;
    count += other_count;
}

// Thread 0 gets what all threads of the block have.
template <class T, class Op> DEVICE void block_reduce(i64& count, T& total, Op op) {
    __shared__ i64 counts[BLOCK / 32];
    __shared__ u64 totals[BLOCK / 32];
    for (int d = 16; d; d >>= 1) {
        const i64 other_count = __shfl_down_sync(FULL_WARP, count, d);
        const T other = of_bits<T>(__shfl_down_sync(FULL_WARP, bits_of(total), d));
        if (lane() + d < 32) combine(count, total, other_count, other, op);
    }
    if (lane() == 0) {
        counts[threadIdx.x / 32] = count;
        totals[threadIdx.x / 32] = bits_of(total);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < BLOCK / 32; warp++) combine(count, total, counts[warp], of_bits<T>(totals[warp]), op);
    __syncthreads();
}

// What all threads of the launch have, in an order that the grid alone decides; true in the one thread that gets it,
// which must hand it over. All threads. For sections with the setting `value`.
template <class A, class T, class Op> DEVICE bool grid_reduce(const A& args, i64& count, T& total, Op op) {
    block_reduce(count, total, op);
    if (threadIdx.x == 0) {
        args.partials[2 * blockIdx.x] = count;
        args.partials[2 * blockIdx.x + 1] = bits_of(total);
    }
    if (!last_block(args.result)) return false;
    count = 0;
    for (i64 block = threadIdx.x; block < gridDim.x; block += BLOCK) {
        const u64* partial = args.partials + 2 * block;
        combine(count, total, (i64)peek(partial), of_bits<T>(peek(partial + 1)), op);
    }
    block_reduce(count, total, op);
    return threadIdx.x == 0;
}

// ---- loops that need no host ----------------------------------------------------------------
// A loop is a few kernels that are started again and again; what is next says `turn`, and a kernel whose turn it is not ends at
// once (engine/loops_cuda.py). The last block to finish counts, decides, and so gives the turn to another one. Arguments lie
// in the GPU's memory, so that what starts the kernels stays the same for all loops. A search that grows: u is one of two
// lists, or one of two bitmaps. A relaxation: u is one of two lists, and the bitmaps mark what the one and the other hold.
//
// PARTED: the same in parts on GPUs that see each other (engine/parts/loops.py). Each decides for itself, from what all have
// found: so all decide the same. After a product a part reports to all (`struct Meeting`), and goes on where all have; then
// owners store what others look at of u, say so, and go on where all have (`go_on`). A part whose own list is so short that
// the next product will be a push stores it before it reports, and says so: if all have done that, there is nothing to wait
// for a second time. Whoever has reported waits for a moment only; `queue.gate` tries again. A part has two rooms for lists,
// by whether the superstep that reads them is even: those of superstep s are written after all have reported s - 2, when they
// no longer read what was there. Bits are written when all have reported s - 1. Numbers of supersteps only rise, so one that
// is larger than what is waited for says that, too.
#ifdef IN_LOOP
#define LIST_MASK ((1ull << COUNT_BITS) - 1)
enum { ENDED, LISTING, CLEARING, CLEARING_MARKS, SPREADING, PUSHING, MARKING, PULLING, MAKING,
       BEGINNING, MEETING, GIVING, GIVING_BITS, TAKING, TAKING_BITS, ARRANGING, GIVING_AHEAD };
constexpr int LONG_SHARE = 4;  // as in engine/steps_cuda.py
#ifndef FEW_EDGES
#define FEW_EDGES (1 << 16)
#endif

constexpr int MOST_PARTS = 16;
#ifdef __CUDA_ARCH__
constexpr int LOOKS = 1000;  // whether others have come, before it is left to a later kernel
#else
constexpr int LOOKS = 1;
#endif
enum { GIVEN = 1, UNLISTED = 2 };
#ifdef RULE
enum { PUSHES, PULLS, GAP, LAGRAPH, GUNROCK };
#endif
struct Report {
    u64 at;  // the step
    i64 count, edges, entries;
    i64 list;  // GIVEN: it is where others need it; UNLISTED: entries are bits
};
struct Meeting {
    i64 parts, part;
    u64 ends[2];                     // of the lists that others make here: edges << COUNT_BITS | entries
    i64 peers[MOST_PARTS];           // addresses of all parts' meetings
    Report reports[2][MOST_PARTS];   // from each part, of steps in turn
    u64 given[2][MOST_PARTS];        // the step for which each part has given its list, and its bits
};

struct Loop {
    i64 turn, list, bits, as_list;      // whose turn it is; which list and which bitmap; whether u is the list
    i64 count, edges, entries;          // of u, of what leaves u (-1: not known), of C
    i64 steps, most, total, offers;     // done, at most; entries of all u; how often a push was started
    i64 n, stored, occupied, sources;   // positions, entries of A, rows of C and of u that have some
    i64 room, apart;                    // entries of a list; bytes from one bitmap to the other
    i64 few;                            // of a relaxation: it is left if more edges leave u; of a search -1
    i64 host;                           // address of the result's place in the host's memory
    i64 own, own_entries;               // of a part: of u and of C
    i64 meeting, base;                  // address of its `struct Meeting`; the number of step 0
    i64 columns;                        // entries of a list that others make
    i64 unlisted;                       // entries of all u that are bits
    double push, pull, stop, look, listing, give;  // costs, see engine.plan; `look`: of all rows

    // Edges of u beyond which pulling is cheaper; an entry of C is done at the first that is found.
    DEVICE double limit() const {
        const double left = (double)(occupied - entries > 0 ? occupied - entries : 0);
        const double whole = look + (double)stored * (left / (double)(occupied > 1 ? occupied : 1)) * pull;
        if (whole <= (double)n * push) return whole / push;
        const double balanced = (look + sqrt(look * look + 4 * push * left * (double)stored * stop)) / (2 * push);
        return balanced < whole / push ? balanced : whole / push;
    }
    // Whether a push is cheaper, which looks at so many edges of so many entries, some of which are to be listed.
    DEVICE bool pays(double leaving, double of, double bits) const {
        return leaving * push + of * give + bits * listing <= limit() * push;
    }
#ifdef RULE
    // The same by RULE, whatever that costs: one direction, or what another system does (`preset_limit` in engine/plan.py).
    DEVICE bool rules(double leaving, double of, bool listed) const {
        constexpr double factors[3] = {FACTORS};
        if (RULE == PUSHES || RULE == PULLS) return RULE == PUSHES;
        const double all = (double)stored, rows = (double)n, allowed = (double)(n - entries);
        if (RULE == GUNROCK) {
            const double forward = of * all / rows, backward = allowed * rows / (double)(entries > 1 ? entries : 1);
            return listed ? forward <= backward * factors[0] : forward < backward * factors[1];
        }
        const bool early = leaving <= allowed * all / rows / factors[0];
        if (RULE == GAP) return listed ? early : of <= rows / factors[1];
        return listed ? early && of <= rows / factors[1] : of < rows / factors[2];
    }
#endif
    DEVICE double expected() const {
        return edges >= 0 ? (double)edges : (double)count * ((double)stored / (double)(sources > 1 ? sources : 1));
    }
#ifdef PARTED
    DEVICE Meeting& at() const { return *(Meeting*)meeting; }
    DEVICE u64 now() const { return (u64)(base + steps); }
    // This part has done a product. `edges` is of its own list until all meet.
    DEVICE void next(i64 found, i64 leaving, i64 entries_now, bool listed) {
        own = found;
        own_entries = entries_now;
        as_list = listed;
        edges = leaving;
        poke(&at().ends[steps & 1], 0);
        const bool ahead = listed && steps + 1 != most
#ifdef RULE
            && rules((double)(leaving * at().parts), (double)(found * at().parts), true);
#else
            && (few >= 0 ? leaving <= few : pays((double)(leaving * at().parts), (double)(found * at().parts), 0));
#endif
        if (ahead && found) turn = GIVING_AHEAD;
        else announce(ahead);
    }
    // All hear what it has found.
    DEVICE void announce(bool gave) {
        const Meeting& here = at();
        for (int q = 0; q < here.parts; q++) {
            Meeting& there = *(Meeting*)here.peers[q];
            volatile Report& report = there.reports[steps & 1][here.part];
            report.count = own;
            report.edges = edges;
            report.entries = own_entries;
            report.list = (gave ? GIVEN : 0) | (as_list ? 0 : UNLISTED);
            if (gave) poke(&there.given[0][here.part], now() + 1);
        }
        __threadfence_system();
        for (int q = 0; q < here.parts; q++) poke(&((Meeting*)here.peers[q])->reports[steps & 1][here.part].at, now());
        turn = MEETING;
    }
    // The superstep whose list is given now.
    DEVICE i64 giving() const { return steps + (turn == GIVING_AHEAD); }
    // This part has stored what others look at.
    DEVICE void given(i64 then) {
        __threadfence_system();
        if (turn == GIVING_AHEAD) {
            announce(true);
            return;
        }
        const Meeting& here = at();
        for (int q = 0; q < here.parts; q++) poke(&((Meeting*)here.peers[q])->given[then == TAKING_BITS][here.part], now());
        turn = then;
    }
    // All parts have done the product. Whether all lists are where they are needed.
    DEVICE bool meet() {
        const Meeting& here = at();
        const volatile Report* const reports = here.reports[steps & 1];
        total += count;
        count = edges = entries = unlisted = 0;
        bool all = true;
        for (int q = 0; q < here.parts; q++) {
            count += reports[q].count;
            edges = edges < 0 || reports[q].edges < 0 ? -1 : edges + reports[q].edges;
            entries += reports[q].entries;
            all = all && (reports[q].list & GIVEN);
            if (reports[q].list & UNLISTED) unlisted += reports[q].count;
        }
        steps++;
        if (count == 0 || steps == most) turn = ENDED;
        else choose(as_list);
        if (turn == GIVING && (reports[here.part].list & GIVEN)) turn = TAKING;
        return all && turn == TAKING;
    }
    // Whether all parts have come to where this one waits, by one thread.
    DEVICE bool all_there() const {
        const Meeting& here = at();
        const u64 wanted = now();
        bool all = false;
        for (int k = 0; k < LOOKS && !all; k++) {
            all = true;
            for (int q = 0; q < here.parts; q++) {
                const u64* place = turn == MEETING ? &here.reports[steps & 1][q].at : &here.given[turn == TAKING_BITS][q];
                all &= peek(place) >= wanted;
            }
        }
        __threadfence_system();
        return all;
    }
    // The host need not tell apart how far a list is on its way.
    DEVICE i64 kind() const { return turn == GIVING || turn == TAKING ? PUSHING : turn; }
    DEVICE i64 mine() const { return own; }
#else
    DEVICE i64 kind() const { return turn; }
    DEVICE i64 mine() const { return count; }
#endif
    // Whose turn it is, after u's edges or their number have changed. A bitmap that was `listed` is there in both forms.
    DEVICE void choose(bool listed) {
#ifdef PARTED
        if (few >= 0) turn = edges <= few ? GIVING : ENDED;
#ifdef RULE
        else if (rules(expected(), (double)count, unlisted == 0)) turn = as_list ? GIVING : LISTING;
#else
        else if (pays(expected(), (double)count, (double)unlisted)) turn = as_list ? GIVING : LISTING;
#endif
        else turn = as_list ? CLEARING : GIVING_BITS;
        return;
#endif
        if (few >= 0) {
            as_list = 1;
            turn = edges <= few ? PUSHING : ENDED;
            return;
        }
#ifdef RULE
        const bool pushes = rules(expected(), (double)count, as_list);
#else
        const bool pushes = pays(expected(), 0, listed ? 0 : (double)count) && (listed || count <= room);
#endif
        if (!pushes) turn = as_list ? CLEARING : PULLING;
        else if (!listed) turn = LISTING;
        else turn = edges * LONG_SHARE >= n ? CLEARING_MARKS : PUSHING;
        if (listed && pushes) as_list = 1;
    }
#ifndef PARTED
    // A product is done: so much has been found.
    DEVICE void next(i64 found, i64 leaving, i64 now, bool listed) {
        total += count;
        count = found;
        edges = leaving;
        entries = now;
        as_list = listed;
        steps++;
        if (found == 0 || steps == most) turn = ENDED;
        else choose(listed);
    }
#endif
    // Whether rows of pushes are worth their while, which the host starts then.
    DEVICE bool leads_on() const { return edges >= 0 && edges < FEW_EDGES; }
    // By one thread, whenever a push is started (in parts: a gate).
    DEVICE void heard() { ((volatile u64*)host)[6] = (u64)++offers; }
};

// A section says before KERNEL whose turn it has: ``bool has_turn(Loop&)``.
struct Where {
    const Args* arguments;
    Loop* loop;
};
#undef ARGUMENTS
#define ARGUMENTS Where
#undef KERNEL
#define KERNEL                                                                                                      \
    DEVICE void run(const Args& a, Loop& loop);                                                                     \
    extern "C" __global__ void BOUNDS NAME(const __grid_constant__ Where where) {                                   \
        __shared__ Args arguments;                                                                                  \
        if (!has_turn(*where.loop)) return;                                                                         \
        static_assert(sizeof(Args) <= 8 * BLOCK, "a word for each thread");                                         \
        if (threadIdx.x < sizeof(Args) / 8) ((u64*)&arguments)[threadIdx.x] = ((const u64*)where.arguments)[threadIdx.x]; \
        __syncthreads();                                                                                            \
        run(arguments, *where.loop);                                                                                \
    }                                                                                                               \
    DEVICE void run(const Args& a, Loop& loop)

DEVICE bool first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }

// By one thread: the host sees how far the loop is, and in the end what there is.
template <class A> DEVICE void tell(const A& a, const Loop& loop) {
    volatile u64* host = a.host;
    if (loop.turn != ENDED) {
        host[5] = (u64)(loop.steps << 8 | (i64)loop.leads_on() << 7 | loop.kind());
        return;
    }
#ifdef PARTED
    const i64 entries = loop.own_entries;
#else
    const i64 entries = loop.entries;
#endif
    const i64 told[6] = {loop.mine(), entries, loop.steps, loop.total, loop.as_list, loop.as_list ? loop.list : loop.bits};
    for (int k = 0; k < 6; k++) host[k] = (u64)told[k];
    __threadfence_system();
    host[7] = a.sequence;
}

#ifdef PARTED
DEVICE bool waits(i64 turn) { return turn == BEGINNING || turn == MEETING || turn == TAKING || turn == TAKING_BITS; }

// By one thread: this part goes on as far as it can with what others have done.
template <class A> DEVICE void go_on(const A& a, Loop& loop) {
    while (waits(loop.turn)) {
        const i64 turn = loop.turn;
        if (turn != BEGINNING && !loop.all_there()) return;
        bool lists = turn == TAKING;
        if (turn == BEGINNING) loop.choose(loop.as_list);
        else if (turn == MEETING) lists = loop.meet();
        else if (turn == TAKING_BITS) loop.turn = ARRANGING;
        if (turn == BEGINNING || turn == MEETING) tell(a, loop);
        if (!lists) continue;
        const i64 edges = (i64)(peek(&loop.at().ends[loop.steps & 1]) >> COUNT_BITS);
        loop.turn = edges * LONG_SHARE >= loop.room && loop.few < 0 && !loop.leads_on() ? CLEARING_MARKS : PUSHING;
    }
}
#endif

// The end of a kernel of a loop, by all threads: `next(loop, two counts)` gives the turn to another one; the host sees how
// far it is, and in the end what there is.
template <class A, class Next> DEVICE void turn_over(const A& a, Loop& loop, Next next) {
    if (!last_block(a.result) || threadIdx.x) return;
    next(loop, peek(&a.result->count[0]), (i64)peek(&a.result->count[1]));
    poke(&a.result->count[0], 0);
    poke(&a.result->count[1], 0);
    poke(&a.result->ticket, 0);
#ifdef PARTED
    go_on(a, loop);
#else
    tell(a, loop);
#endif
}
#endif
