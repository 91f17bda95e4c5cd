// CUDA C++ for g++: what a kernel text uses of the language, its built-in variables and its intrinsics.
//
// Method: every CUDA thread is a fiber that runs until it waits for others: at a barrier or a warp intrinsic. This file
// is what a kernel includes; it declares what emulator.cpp, loaded once per process, does. No headers of the host: texts see CUDA's names and types only, as
// NVRTC would have it, and compile quickly.
//
// What is stricter than a GPU: all lanes that a mask names must call the same intrinsic from the same line; a lane that
// has left the kernel, or does not exist, must not be named; all threads of a block must meet at the same barrier;
// shuffles must not read from lanes outside the mask. Shared memory begins as garbage.
// What is not shown: weak memory (but the thread sanitizer takes atomics for relaxed, see emulator.cpp), timing.
#ifndef SPG_EMULATOR
#define SPG_EMULATOR

// ---- what emulator.cpp does ---------------------------------------------------------------------------------------
struct dim3 {
    unsigned x, y, z;
};

enum EmuKind : int {
    EMU_SYNCWARP, EMU_BALLOT, EMU_ANY, EMU_ALL, EMU_SHFL, EMU_SHFL_UP, EMU_SHFL_DOWN, EMU_SHFL_XOR, EMU_MATCH_ANY,
    EMU_MATCH_ALL, EMU_ADD, EMU_MIN, EMU_MAX, EMU_UMIN, EMU_UMAX, EMU_AND, EMU_OR, EMU_XOR,
    EMU_SYNC, EMU_SYNC_OR, EMU_SYNC_AND, EMU_SYNC_COUNT,
};

struct EmuSelf {  // the CUDA thread that runs
    dim3 thread, block, block_dim, grid_dim;
};

struct EmuKernel {  // what a compiled text exports
    const char* name;
    void (*run)(const void* args);
    char *shared, *shared_end;  // its static shared memory
};

extern "C" {
extern EmuSelf* emu_self;
// Waits until the lanes of `mask` have come here; what this lane gets.
unsigned long long emu_warp(EmuKind kind, unsigned mask, unsigned long long value, int argument, int width, int line);
int emu_block(EmuKind kind, int predicate, int line);  // the same for the block
void emu_fence();
void emu_yield();                                      // lets others run; a loop that only does so ends with an error
void emu_trap(const char* what, int line);             // ends the launch with an error
void* emu_shared_memory();                             // what `extern __shared__` names
// Blocks 2k and 2k + 1 run side by side and see each other's dynamic shared memory between two of these barriers.
unsigned emu_cluster_rank();
void emu_cluster_sync();
const void* emu_cluster_shared(const void* own, int rank);  // what the block of that rank has in place of *own
long long emu_clock();
}

// ---- the language: for kernels only -------------------------------------------------------------------------------
#ifndef EMULATOR_RUNTIME
#define __CUDACC_RTC__ 1
#define __CUDA_EMULATED__ 1

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)  // two blocks, see emu_cluster_rank
#define __constant__ static
#ifdef EMULATE_COPIES
#define __shared__ static  // each block runs a copy of the library, see kernels.py
#else
#define __shared__ static __attribute__((section("emu_shared")))
#endif

#define threadIdx (emu_self->thread)
#define blockIdx (emu_self->block)
#define blockDim (emu_self->block_dim)
#define gridDim (emu_self->grid_dim)
constexpr int warpSize = 32;

#define EMU_LINE int line = __builtin_LINE()

// ---- memory and barriers ----------------------------------------------------------------------------------------
extern "C" void* memcpy(void*, const void*, unsigned long);
extern "C" void* memset(void*, int, unsigned long);

inline void __syncthreads(EMU_LINE) { emu_block(EMU_SYNC, 0, line); }
inline int __syncthreads_or(int p, EMU_LINE) { return emu_block(EMU_SYNC_OR, p, line); }
inline int __syncthreads_and(int p, EMU_LINE) { return emu_block(EMU_SYNC_AND, p, line); }
inline int __syncthreads_count(int p, EMU_LINE) { return emu_block(EMU_SYNC_COUNT, p, line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, EMU_LINE) { emu_warp(EMU_SYNCWARP, mask, 0, 0, 32, line); }
inline void __threadfence() { emu_fence(); }
inline void __threadfence_block() { emu_fence(); }
inline void __threadfence_system() { emu_fence(); }
inline void __nanosleep(unsigned) { emu_yield(); }
inline long long clock64() { return emu_clock(); }
inline long long clock() { return emu_clock(); }
inline void __trap(EMU_LINE) { emu_trap("__trap", line); }
#define assert(condition) ((condition) ? (void)0 : emu_trap("assert(" #condition ")", __builtin_LINE()))
inline void __builtin_assume(bool) {}

template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldca(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldlu(const T* p) { return *p; }
template <class T> inline T __ldcv(const T* p) { return *(const volatile T*)p; }
template <class T> inline void __stcg(T* p, T x) { *p = x; }
template <class T> inline void __stcs(T* p, T x) { *p = x; }
template <class T> inline void __stwb(T* p, T x) { *p = x; }
template <class T> inline void __stwt(T* p, T x) { *(volatile T*)p = x; }

// ---- warps --------------------------------------------------------------------------------------------------------
template <class T> inline unsigned long long emu_bits(T x) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles and matches 4- and 8-byte types");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &x, sizeof(T));
    return bits;
}
template <class T> inline T emu_value(unsigned long long bits) {
    T x;
    __builtin_memcpy(&x, &bits, sizeof(T));
    return x;
}
// Shuffles take the types that CUDA has them for; narrower integers become int, as there.
template <class T> struct EmuShuffled { typedef int type; };
template <> struct EmuShuffled<unsigned> { typedef unsigned type; };
template <> struct EmuShuffled<long> { typedef long type; };
template <> struct EmuShuffled<unsigned long> { typedef unsigned long type; };
template <> struct EmuShuffled<long long> { typedef long long type; };
template <> struct EmuShuffled<unsigned long long> { typedef unsigned long long type; };
template <> struct EmuShuffled<float> { typedef float type; };
template <> struct EmuShuffled<double> { typedef double type; };
#define EMU_SHUFFLE(name, kind)                                                                                       \
    template <class T>                                                                                                \
    inline typename EmuShuffled<T>::type name(unsigned mask, T x, int argument, int width = 32, EMU_LINE) {            \
        typedef typename EmuShuffled<T>::type S;                                                                      \
        static_assert(sizeof(T) <= sizeof(S), "CUDA has no shuffle of this type");                                    \
        return emu_value<S>(emu_warp(kind, mask, emu_bits((S)x), argument, width, line));                             \
    }
EMU_SHUFFLE(__shfl_sync, EMU_SHFL)
EMU_SHUFFLE(__shfl_up_sync, EMU_SHFL_UP)
EMU_SHUFFLE(__shfl_down_sync, EMU_SHFL_DOWN)
EMU_SHUFFLE(__shfl_xor_sync, EMU_SHFL_XOR)

inline unsigned __ballot_sync(unsigned mask, int p, EMU_LINE) { return emu_warp(EMU_BALLOT, mask, p != 0, 0, 32, line); }
inline int __any_sync(unsigned mask, int p, EMU_LINE) { return emu_warp(EMU_ANY, mask, p != 0, 0, 32, line); }
inline int __all_sync(unsigned mask, int p, EMU_LINE) { return emu_warp(EMU_ALL, mask, p != 0, 0, 32, line); }
// Lanes that happen to run together: this one is a right answer, and the one that assumes least.
inline unsigned __activemask() { return 1u << (threadIdx.x & 31); }
template <class T> inline unsigned __match_any_sync(unsigned mask, T x, EMU_LINE) {
    return emu_warp(EMU_MATCH_ANY, mask, emu_bits(x), 0, 32, line);
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T x, int* p, EMU_LINE) {
    const unsigned all = emu_warp(EMU_MATCH_ALL, mask, emu_bits(x), 0, 32, line);
    *p = all != 0;
    return all;
}
#define EMU_REDUCE(name, T, kind)                                                                                     \
    inline T name(unsigned mask, T x, EMU_LINE) {                                                                     \
        return (T)emu_warp(kind, mask, (unsigned long long)(long long)x, 0, 32, line);                                \
    }
EMU_REDUCE(__reduce_add_sync, int, EMU_ADD)
EMU_REDUCE(__reduce_add_sync, unsigned, EMU_ADD)
EMU_REDUCE(__reduce_min_sync, int, EMU_MIN)
EMU_REDUCE(__reduce_min_sync, unsigned, EMU_UMIN)
EMU_REDUCE(__reduce_max_sync, int, EMU_MAX)
EMU_REDUCE(__reduce_max_sync, unsigned, EMU_UMAX)
EMU_REDUCE(__reduce_and_sync, unsigned, EMU_AND)
EMU_REDUCE(__reduce_or_sync, unsigned, EMU_OR)
EMU_REDUCE(__reduce_xor_sync, unsigned, EMU_XOR)

// ---- atomics: for the types that CUDA has them for ----------------------------------------------------------------
// The rest of an atomic by compare and swap; returns the old value.
template <class W, class T, class F> inline T emu_update(T* p, F change) {
    W old = __atomic_load_n((W*)p, __ATOMIC_RELAXED);
    while (true) {
        T before;
        __builtin_memcpy(&before, &old, sizeof(T));
        const T after = change(before);
        W wanted;
        __builtin_memcpy(&wanted, &after, sizeof(T));
        if (__atomic_compare_exchange_n((W*)p, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return before;
    }
}
#define EMU_ATOMIC(name, T, ...)                                                                                      \
    inline T name(T* p, T x) { return __VA_ARGS__; }                                                                  \
    inline T name##_block(T* p, T x) { return name(p, x); }                                                           \
    inline T name##_system(T* p, T x) { return name(p, x); }
typedef unsigned long long emu_ull;
EMU_ATOMIC(atomicAdd, int, (int)__atomic_fetch_add((unsigned*)p, (unsigned)x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicAdd, unsigned, __atomic_fetch_add(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicAdd, emu_ull, __atomic_fetch_add(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicAdd, float, emu_update<unsigned>(p, [x](float old) { return old + x; }))
EMU_ATOMIC(atomicAdd, double, emu_update<emu_ull>(p, [x](double old) { return old + x; }))
EMU_ATOMIC(atomicSub, int, (int)__atomic_fetch_sub((unsigned*)p, (unsigned)x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicSub, unsigned, __atomic_fetch_sub(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicExch, int, __atomic_exchange_n(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicExch, unsigned, __atomic_exchange_n(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicExch, emu_ull, __atomic_exchange_n(p, x, __ATOMIC_RELAXED))
EMU_ATOMIC(atomicExch, float, emu_update<unsigned>(p, [x](float) { return x; }))
#define EMU_ORDERED(T, W)                                                                                             \
    EMU_ATOMIC(atomicMin, T, emu_update<W>(p, [x](T old) { return x < old ? x : old; }))                              \
    EMU_ATOMIC(atomicMax, T, emu_update<W>(p, [x](T old) { return x > old ? x : old; }))
EMU_ORDERED(int, unsigned)
EMU_ORDERED(unsigned, unsigned)
EMU_ORDERED(long long, emu_ull)
EMU_ORDERED(emu_ull, emu_ull)
#define EMU_BITWISE(T)                                                                                                \
    EMU_ATOMIC(atomicAnd, T, __atomic_fetch_and(p, x, __ATOMIC_RELAXED))                                                        \
    EMU_ATOMIC(atomicOr, T, __atomic_fetch_or(p, x, __ATOMIC_RELAXED))                                                          \
    EMU_ATOMIC(atomicXor, T, __atomic_fetch_xor(p, x, __ATOMIC_RELAXED))
EMU_BITWISE(int)
EMU_BITWISE(unsigned)
EMU_BITWISE(emu_ull)
EMU_ATOMIC(atomicInc, unsigned, emu_update<unsigned>(p, [x](unsigned old) { return old >= x ? 0u : old + 1; }))
EMU_ATOMIC(atomicDec, unsigned, emu_update<unsigned>(p, [x](unsigned old) { return old == 0 || old > x ? x : old - 1; }))
#define EMU_CAS(T)                                                                                                    \
    inline T atomicCAS(T* p, T expected, T wanted) {                                                                  \
        __atomic_compare_exchange_n(p, &expected, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                                     \
        return expected;                                                                                              \
    }                                                                                                                 \
    inline T atomicCAS_block(T* p, T expected, T wanted) { return atomicCAS(p, expected, wanted); }                   \
    inline T atomicCAS_system(T* p, T expected, T wanted) { return atomicCAS(p, expected, wanted); }
EMU_CAS(int)
EMU_CAS(unsigned)
EMU_CAS(emu_ull)
EMU_CAS(unsigned short)

// ---- bits -----------------------------------------------------------------------------------------------------------
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(emu_ull x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((emu_ull)x) : 64; }
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int k = 0; k < 32; k++) r |= (x >> k & 1u) << (31 - k);
    return r;
}
inline emu_ull __brevll(emu_ull x) { return (emu_ull)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32)); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return (unsigned)((((emu_ull)high << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((emu_ull)high << 32 | low) >> (by & 31));
}
inline int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)(((emu_ull)x * y) >> 32); }
inline long long __mul64hi(long long x, long long y) { return (long long)(((__int128)x * y) >> 64); }
inline emu_ull __umul64hi(emu_ull x, emu_ull y) { return (emu_ull)(((unsigned __int128)x * y) >> 64); }
inline int __float_as_int(float x) { return emu_value<int>(emu_bits(x)); }
inline unsigned __float_as_uint(float x) { return emu_value<unsigned>(emu_bits(x)); }
inline float __int_as_float(int x) { return emu_value<float>(emu_bits(x)); }
inline float __uint_as_float(unsigned x) { return emu_value<float>(emu_bits(x)); }
inline long long __double_as_longlong(double x) { return emu_value<long long>(emu_bits(x)); }
inline double __longlong_as_double(long long x) { return emu_value<double>(emu_bits(x)); }

// ---- mathematics ------------------------------------------------------------------------------------------------------
#define EMU_MATH1(name)                                                                                               \
    extern "C" double name(double);                                                                                   \
    extern "C" float name##f(float);                                                                                  \
    inline float name(float x) { return name##f(x); }
#define EMU_MATH2(name)                                                                                               \
    extern "C" double name(double, double);                                                                           \
    extern "C" float name##f(float, float);                                                                           \
    inline float name(float x, float y) { return name##f(x, y); }
EMU_MATH1(sqrt) EMU_MATH1(cbrt) EMU_MATH1(fabs) EMU_MATH1(floor) EMU_MATH1(ceil) EMU_MATH1(trunc) EMU_MATH1(rint)
EMU_MATH1(round) EMU_MATH1(nearbyint) EMU_MATH1(logb) EMU_MATH1(exp) EMU_MATH1(exp2) EMU_MATH1(expm1) EMU_MATH1(log)
EMU_MATH1(log2) EMU_MATH1(log10) EMU_MATH1(log1p) EMU_MATH1(sin) EMU_MATH1(cos) EMU_MATH1(tan) EMU_MATH1(asin)
EMU_MATH1(acos) EMU_MATH1(atan) EMU_MATH1(sinh) EMU_MATH1(cosh) EMU_MATH1(tanh) EMU_MATH1(asinh) EMU_MATH1(acosh)
EMU_MATH1(atanh) EMU_MATH1(erf) EMU_MATH1(erfc) EMU_MATH1(tgamma) EMU_MATH1(lgamma)
EMU_MATH2(pow) EMU_MATH2(atan2) EMU_MATH2(hypot) EMU_MATH2(fmod) EMU_MATH2(remainder) EMU_MATH2(copysign)
EMU_MATH2(nextafter) EMU_MATH2(fmin) EMU_MATH2(fmax) EMU_MATH2(fdim)
extern "C" double frexp(double, int*);
extern "C" float frexpf(float, int*);
inline float frexp(float x, int* e) { return frexpf(x, e); }
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
inline float ldexp(float x, int e) { return ldexpf(x, e); }
extern "C" double fma(double, double, double);
extern "C" float fmaf(float, float, float);
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double exp10(double x) { return pow(10.0, x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
#define EMU_FLOAT_TEST(name)                                                                                          \
    inline bool name(double x) { return __builtin_##name(x); }                                                        \
    inline bool name(float x) { return __builtin_##name(x); }
EMU_FLOAT_TEST(isnan) EMU_FLOAT_TEST(isinf) EMU_FLOAT_TEST(isfinite) EMU_FLOAT_TEST(signbit)

#define EMU_MINMAX(A, B, T)                                                                                           \
    inline T min(A x, B y) { return (T)x < (T)y ? (T)x : (T)y; }                                                      \
    inline T max(A x, B y) { return (T)x > (T)y ? (T)x : (T)y; }
#define EMU_MINMAX_BOTH(A, B, T) EMU_MINMAX(A, B, T) EMU_MINMAX(B, A, T)
EMU_MINMAX(int, int, int) EMU_MINMAX(unsigned, unsigned, unsigned) EMU_MINMAX_BOTH(int, unsigned, unsigned)
EMU_MINMAX(long, long, long) EMU_MINMAX(unsigned long, unsigned long, unsigned long)
EMU_MINMAX(long long, long long, long long) EMU_MINMAX(emu_ull, emu_ull, emu_ull)
EMU_MINMAX_BOTH(long long, emu_ull, emu_ull) EMU_MINMAX_BOTH(long, unsigned long, unsigned long)
inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline double min(float x, double y) { return fmin((double)x, y); }
inline double max(float x, double y) { return fmax((double)x, y); }
inline double min(double x, float y) { return fmin(x, (double)y); }
inline double max(double x, float y) { return fmax(x, (double)y); }

// ---- vectors ------------------------------------------------------------------------------------------------------------
#define EMU_VECTOR(T, name)                                                                                           \
    struct __align__(2 * sizeof(T)) name##2 { T x, y; };                                                              \
    struct __align__(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; };                              \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                        \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTOR(signed char, char) EMU_VECTOR(unsigned char, uchar) EMU_VECTOR(short, short) EMU_VECTOR(unsigned short, ushort)
EMU_VECTOR(int, int) EMU_VECTOR(unsigned, uint) EMU_VECTOR(long long, longlong) EMU_VECTOR(emu_ull, ulonglong)
EMU_VECTOR(float, float) EMU_VECTOR(double, double)

// ---- what stands behind the text of kernel `name` -----------------------------------------------------------------------
#define EMU_STRING(name) #name
#define ARGUMENTS Args  // a text may say otherwise
#define EMU_EXPORT(name)                                                                                              \
    extern "C" __attribute__((weak, visibility("hidden"))) char __start_emu_shared[], __stop_emu_shared[];            \
    static void emu_run(const void* args) { name(*(const ARGUMENTS*)args); }                                          \
    extern "C" __attribute__((visibility("default"))) const EmuKernel emu_kernel = {EMU_STRING(name), emu_run,        \
                                                                                    __start_emu_shared,               \
                                                                                    __stop_emu_shared};

#endif  // EMULATOR_RUNTIME
#endif
