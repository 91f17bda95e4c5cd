// What every kernel text begins with: types, items of a launch, warp helpers, results.
//
// Contract: pasted once before everything else; plain CUDA C++17, no headers, so that a text compiles in 50 ms.
// Launch shape: a kernel works on items 0..a.n with `per` neighbouring threads each, in a grid-stride loop.
// Results: `tally` adds into device memory, `publish` lets the last block hand the sums to the host, which polls
// mapped memory (9 to 14 us from launch to value, against 21 to 29 for a copy after a kernel).
#ifndef SPG_PRELUDE
#define SPG_PRELUDE

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
#define FULL_WARP 0xffffffffu
#define COUNT_BITS 30  // a result or an atomic that holds two sums: the lower one
#define BOUNDS __launch_bounds__(BLOCK)  // a section that needs its registers few says how many blocks run side by side
#define KERNEL_OF(attributes) extern "C" __global__ void attributes BOUNDS NAME(const __grid_constant__ ARGUMENTS a)
#define ARGUMENTS Args
#define KERNEL KERNEL_OF()
#define DEVICE __device__ __forceinline__

template <class T> DEVICE u64 bits_of(T x) {
    u64 bits = 0;
    memcpy(&bits, &x, sizeof(T));
    return bits;
}
template <class T> DEVICE T of_bits(u64 bits) {
    T x;
    memcpy(&x, &bits, sizeof(T));
    return x;
}

DEVICE u32 unsigned_of(int x) { return (u32)x; }
DEVICE u64 unsigned_of(i64 x) { return (u64)x; }

// A value that stands for all: read like an array, passed by value.
template <class T> struct One {
    T value;
    DEVICE T operator[](i64) const { return value; }
};

// A read that no thread of the launch writes.
template <class T> DEVICE T load(const T* p) { return __ldg(p); }
DEVICE bool load(const bool* p) { return __ldg((const unsigned char*)p) != 0; }
template <class T> DEVICE T look(const T* array, i64 at) { return load(array + at); }
template <class T> DEVICE T look(One<T> one, i64) { return one.value; }

// A read of what is used once: it does not push what is used again out of the caches.
template <class T> DEVICE T stream(const T* p) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4) {
        u32 bits;
        u64 once;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
        asm("ld.global.nc.L1::no_allocate.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(bits) : "l"(p), "l"(once));
        return of_bits<T>(bits);
    }
    if constexpr (sizeof(T) == 8) {
        u64 bits, once;
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
        asm("ld.global.nc.L1::no_allocate.L2::cache_hint.b64 %0, [%1], %2;" : "=l"(bits) : "l"(p), "l"(once));
        return of_bits<T>(bits);
    }
#endif
    return load(p);
}
template <class T> DEVICE T stream(const T* array, i64 at) { return stream(array + at); }
template <class T> DEVICE T stream(One<T> one, i64) { return one.value; }

// A read of what other threads of the launch may be writing.
template <class T> DEVICE T peek(const T* p) { return *(const volatile T*)p; }
// A write of the same kind: others may write the place, too, all the same value or before this one.
template <class T, class V> DEVICE void poke(T* p, V value) { *(volatile T*)p = (T)value; }

// The same where an old value will do: the nearest cache may answer.
template <class T> DEVICE T glance(const T* p) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) >= 4) return __ldca(p);
    else if constexpr (sizeof(T) == 2) return of_bits<T>(__ldca((const unsigned short*)p));
    else return of_bits<T>(__ldca((const unsigned char*)p));
#else
    return peek(p);
#endif
}

// An argument that an operator does not use.
struct Ignored {
    template <class T> DEVICE Ignored(const T&) {}
};

// Types by what they are for: the word that holds a value, what atomicAdd, atomicMin and atomicMax take.
template <int size> struct Word { typedef u32 type; };
template <> struct Word<8> { typedef u64 type; };
template <int size> struct Signed { typedef int type; };
template <> struct Signed<8> { typedef i64 type; };
template <class T> struct Integer { static constexpr bool value = true; };
template <> struct Integer<float> { static constexpr bool value = false; };
template <> struct Integer<double> { static constexpr bool value = false; };
template <class T> struct Adds { typedef typename Word<sizeof(T)>::type type; };
template <> struct Adds<float> { typedef float type; };
template <> struct Adds<double> { typedef double type; };
template <class T> struct Orders { typedef T type; };
template <> struct Orders<long> { typedef i64 type; };
template <> struct Orders<unsigned long> { typedef u64 type; };

// ---- items of a launch ----------------------------------------------------------
DEVICE i64 thread_number() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE i64 thread_count() { return (i64)gridDim.x * blockDim.x; }
DEVICE i64 item(int per) { return thread_number() / per; }
DEVICE i64 items(int per) { return thread_count() / per; }
DEVICE int lane() { return threadIdx.x & 31; }

// NaN is NaN: whether a value is another one than before.
template <class T> DEVICE bool differs(T x, T y) { return x != y && (x == x || y == y); }

// ---- warps: all 32 lanes must take part -------------------------------------------
// Values of any type from another lane.
template <class T> DEVICE T from_lane(T x, int source) {
    if constexpr (sizeof(T) == 8) return of_bits<T>(__shfl_sync(FULL_WARP, bits_of(x), source));
    else return of_bits<T>(__shfl_sync(FULL_WARP, (u32)bits_of(x), source));
}
template <class T> DEVICE T from_lane_xor(T x, int distance) {
    if constexpr (sizeof(T) == 8) return of_bits<T>(__shfl_xor_sync(FULL_WARP, bits_of(x), distance));
    else return of_bits<T>(__shfl_xor_sync(FULL_WARP, (u32)bits_of(x), distance));
}
template <class T> DEVICE T warp_sum(T x) {
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(FULL_WARP, x, d);
    return x;
}
// Inclusive running sum over the lanes.
template <class T> DEVICE T warp_scan(T x) {
    for (int d = 1; d < 32; d <<= 1) {
        const T y = __shfl_up_sync(FULL_WARP, x, d);
        if (lane() >= d) x += y;
    }
    return x;
}
// A place for each lane that wants one, in a list that *end counts; others get a place that means nothing.
template <class C> DEVICE i64 append(C* end, bool wanted) {
    const u32 who = __ballot_sync(FULL_WARP, wanted);
    i64 base = 0;
    if (who && lane() == __ffs(who) - 1) base = (i64)atomicAdd(end, (C)__popc(who));
    if (who) base = __shfl_sync(FULL_WARP, base, __ffs(who) - 1);
    return base + __popc(who & ((1u << lane()) - 1));
}
// First position in first..last of an ascending array whose value is not below x.
template <class A, class X> DEVICE i64 lower_bound(const A& array, i64 first, i64 last, X x) {
    while (first < last) {
        const i64 middle = (first + last) >> 1;
        if (array[middle] < x) first = middle + 1;
        else last = middle;
    }
    return first;
}
// The same for the last position whose value is not above x, plus one.
template <class A, class X> DEVICE i64 upper_bound(const A& array, i64 first, i64 last, X x) {
    while (first < last) {
        const i64 middle = (first + last) >> 1;
        if (x < array[middle]) last = middle;
        else first = middle + 1;
    }
    return first;
}

// ---- rows in equal shares -------------------------------------------------------------
// Rows 0..rows, where ends(i) candidates come before row i, are one sequence of items: a head for each row, then its
// candidates, and one more head behind the last row. Each warp of `parts` goes through a share of it, 32 items a step,
// so that a row with a million candidates is spread over many warps and one without costs one item.
// In each lane: the item's `row`, and which `candidate` of the row it is (-1: the head; -2: no item).
template <class Ends> struct Share {
    const Ends& ends;
    const i64 rows;
    i64 at, end;             // items that are left
    i64 first, begin, stop;  // the row of the last item seen, its items
    i64 row, candidate;

    DEVICE Share(const Ends& e, i64 count, i64 part, i64 parts) : ends(e), rows(count) {
        const i64 all = rows + 1 + ends(rows);
        const i64 size = ((all + parts - 1) / parts + 31) & ~31ll;
        at = part * size;
        end = at + size < all ? at + size : all;
        first = 0;
        if (at < end) search(first, rows, at);
        begin = first + ends(first);
        stop = begin;  // so that the first step searches
    }
    // The last row in low..high whose head is not behind the item.
    DEVICE void search(i64& low, i64 high, i64 item) const {
        while (low < high) {
            const i64 middle = (low + high + 1) >> 1;
            if (middle + ends(middle) <= item) low = middle;
            else high = middle - 1;
        }
    }
    // Goes one step on, if there is one; all lanes.
    DEVICE bool next() {
        if (at >= end) return false;
        const i64 item = at + lane();
        i64 start = begin;
        row = first;
        if (at + 31 >= stop) {
            const i64 last = first + 1 + lane();  // every row has a head
            search(row, last < rows ? last : rows, item);
            start = row + ends(row);
            first = __shfl_sync(FULL_WARP, row, 31);
            begin = __shfl_sync(FULL_WARP, start, 31);
            stop = first < rows ? first + 1 + ends(first + 1) : end;
        }
        candidate = item < end ? item - start - 1 : -2;
        at += 32;
        return true;
    }
};

// Makes rows out of candidates: `wants(i, k)` says whether candidate k of row i stays, `put(q)` stores the one that
// the same thread has just wanted at place q. FILL false: only counts, per share. Shares are the launch's items, 32
// threads each (per=32), whatever their number.
template <bool FILL, class A, class Ends, class Wants, class Put>
DEVICE void make_rows(const A& args, const Ends& ends, const Wants& wants, const Put& put) {
    for (i64 part = item(32); part < args.n; part += items(32)) {
        i64 q = 0;
        if constexpr (FILL) q = args.offsets[part];
        for (Share<Ends> share(ends, args.nrows, part, args.n); share.next();) {
            const bool wanted = share.candidate >= 0 && wants(share.row, share.candidate);
            const u32 who = __ballot_sync(FULL_WARP, wanted);
            if constexpr (FILL) {
                const i64 place = q + __popc(who & ((1u << lane()) - 1));
                if (share.candidate == -1) args.out_indptr[share.row] = place;
                if (wanted) put(place);
            }
            q += __popc(who);
        }
        if constexpr (!FILL) {
            if (lane() == 0) args.counts[part] = q;
        }
    }
}

// ---- blocks that run side by side and see each other's shared memory (KERNEL_OF(__cluster_dims__(...)), sm_90) ----------
DEVICE int cluster_rank() {
    u32 rank = 0;
#ifdef __CUDA_ARCH__
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#else
    rank = emu_cluster_rank();
#endif
    return (int)rank;
}
// All threads of all of them wait for each other.
DEVICE void cluster_sync() {
#ifdef __CUDA_ARCH__
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
    emu_cluster_sync();
#endif
}
// Where block `rank` has what this block has at p, in shared memory.
template <class T> DEVICE const T* of_block(const T* p, int rank) {
#ifdef __CUDA_ARCH__
    const T* there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"((u32)rank));
    return there;
#else
    return (const T*)emu_cluster_shared(p, rank);
#endif
}

// ---- marks ------------------------------------------------------------------------
// Makes byte n the mark; whether it was not. Looks before it writes.
DEVICE bool set_mark(unsigned char* bytes, i64 n, u32 mark) {
    if (peek(bytes + n) == mark) return false;
    const u64 address = (u64)(bytes + n);
    u32* word = (u32*)(address & ~3ull);
    const int shift = 8 * (int)(address & 3);
    u32 old = peek(word);
    while ((old >> shift & 255u) != mark) {
        const u32 found = atomicCAS(word, old, (old & ~(255u << shift)) | mark << shift);
        if (found == old) return true;
        old = found;
    }
    return false;
}
// The same for one bit.
DEVICE bool set_bit(u32* words, i64 n) {
    const u32 bit = 1u << (n & 31);
    if (peek(words + (n >> 5)) & bit) return false;
    return !(atomicOr(words + (n >> 5), bit) & bit);
}
// The same for a byte that is 0 or 1.
DEVICE bool set_byte(unsigned char* bytes, i64 n) {
    if (peek(bytes + n)) return false;
    const u64 address = (u64)(bytes + n);
    const u32 bit = 1u << (8 * (address & 3));
    return !(atomicOr((u32*)(address & ~3ull), bit) & bit);
}

// ---- results ------------------------------------------------------------------------
struct Result {
    u64 count[6];
    u32 ticket;
    u32 stop;  // set when nothing that is still to come can change the result
    u32 last;  // the lower sum of count[0], for the next kernel of the stream
    u32 unused;
};

// Adds x to a result; all threads of the block call it once, together.
DEVICE void tally(Result* result, int which, i64 x) {
    const i64 sum = warp_sum(x);
    if (lane() == 0 && sum) atomicAdd(&result->count[which], (u64)sum);
}

// True in every thread of the block that finishes last, whose view of memory includes all the others' writes.
DEVICE bool last_block(Result* result) {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&result->ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (is_last) __threadfence();
    return is_last;
}

// By one thread: hands the results to the host and makes them ready for the next launch.
DEVICE void hand_over(Result* result, volatile u64* host, u64 sequence) {
    result->last = (u32)(peek(&result->count[0]) & ((1u << COUNT_BITS) - 1));
    for (int k = 0; k < 6; k++) {
        host[k] = peek(&result->count[k]);
        poke(&result->count[k], 0);
    }
    poke(&result->ticket, 0);
    poke(&result->stop, 0);
    __threadfence_system();
    host[7] = sequence;
}

template <class A> DEVICE void publish(const A& args) {
    if (last_block(args.result) && threadIdx.x == 0) hand_over(args.result, args.host, args.sequence);
}

// The end of a kernel that counts: the only result, in variants that return it.
template <bool returned, class A> DEVICE void report(const A& args, i64 count) {
    if constexpr (returned) {
        tally(args.result, 0, count);
        publish(args);
    }
}

// Places for k entries of each thread in a list that *end counts: one atomic per block. All threads of the block;
// entries keep their order within it.
DEVICE i64 block_append(u64* end, int k) {
    __shared__ u32 before[BLOCK / 32];
    __shared__ i64 base;
    const u32 upto = warp_scan((u32)k);
    if (lane() == 31) before[threadIdx.x / 32] = upto;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 sum = 0;
        for (int warp = 0; warp < BLOCK / 32; warp++) {
            const u32 own = before[warp];
            before[warp] = sum;
            sum += own;
        }
        base = sum ? (i64)atomicAdd(end, (u64)sum) : 0;
    }
    __syncthreads();
    const i64 place = base + before[threadIdx.x / 32] + upto - k;
    __syncthreads();  // before the next call
    return place;
}

#endif
