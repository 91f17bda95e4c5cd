// Helper functions that the printed CUDA text calls.
//
// Contract: included (or pasted) once before any operator text. Device functions only, no state.
// Also compiles as plain C++ where `__device__` and `__forceinline__` are defined by the includer.
// Assumptions: two's complement, IEEE floats, no -use_fast_math.
#ifndef SR_PRELUDE
#define SR_PRELUDE

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#endif

#ifdef __CUDA_ARCH__
#define SR_INF __longlong_as_double(0x7ff0000000000000LL)
#define SR_NAN __longlong_as_double(0x7ff8000000000000LL)
#else
#define SR_INF __builtin_huge_val()
#define SR_NAN __builtin_nan("")
#endif

#define SR_INLINE __device__ __forceinline__

// A float as an integer: saturated, NaN is 0.
template <typename T, typename F> SR_INLINE T sr_saturate(F x, T low, T high) {
    const double v = (double)x;
    return v != v ? (T)0 : v <= (double)low ? low : v >= (double)high ? high : (T)v;
}

// Division that rounds down; 0 for a zero divisor. Negation wraps.
template <typename T> SR_INLINE T sr_floordiv(T x, T y) {
    if (y == 0) return 0;
    if (y == -1) return (T)(0 - (uint64_t)x);
    const T q = x / y;
    return (T)(q - (x % y != 0 && (x < 0) != (y < 0)));
}
template <typename T> SR_INLINE T sr_udiv(T x, T y) { return y == 0 ? 0 : x / y; }
template <typename T> SR_INLINE T sr_umod(T x, T y) { return y == 0 ? 0 : x % y; }
template <typename T> SR_INLINE T sr_cmod(T x, T y) { return y == 0 || y == -1 ? 0 : x % y; }
template <typename T> SR_INLINE T sr_mod(T x, T y) {
    const T r = sr_cmod(x, y);
    return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r);
}

SR_INLINE double sr_pymod(double x, double y) {
    const double m = fmod(x, y);
    if (y == 0) return m;
    if (m == 0) return copysign(m, y);
    return (y < 0) != (m < 0) ? m + y : m;
}
SR_INLINE float sr_pymod(float x, float y) {
    const float m = fmodf(x, y);
    if (y == 0) return m;
    if (m == 0) return copysignf(m, y);
    return (y < 0) != (m < 0) ? m + y : m;
}
template <typename T> SR_INLINE T sr_ffloordiv(T x, T y) {
    if (y == 0) return x / y;
    const T m = (T)fmod((double)x, (double)y);
    T div = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0)) div -= 1;
    if (div == 0) return (T)copysign((double)div, (double)(x / y));
    T whole = (T)floor((double)div);
    if (div - whole > (T)0.5) whole += 1;
    return whole;
}

// A power of whole numbers is a whole number, which CUDA's pow, good to 2 units in the last place, may miss.
SR_INLINE double sr_pow(double x, double y) {
    const double r = pow(x, y);
    const bool whole = y >= 0 && x == floor(x) && y == floor(y) && fabs(r) < 1125899906842624.0;  // 2**50
    return whole ? rint(r) : r;
}
SR_INLINE float sr_pow(float x, float y) {
    const float r = powf(x, y);
    const bool whole = y >= 0 && x == floorf(x) && y == floorf(y) && fabsf(r) < 1048576.0f;  // 2**20
    return whole ? rintf(r) : r;
}

template <typename T> SR_INLINE uint64_t sr_upow(T x, T n) {
    uint64_t base = (uint64_t)x, left = (uint64_t)n, result = 1;
    for (; left; left >>= 1, base *= base)
        if (left & 1) result *= base;
    return result;
}
template <typename T> SR_INLINE int64_t sr_ipow(T x, T n) {
    if (n >= 0) return (int64_t)sr_upow((uint64_t)(int64_t)x, (uint64_t)n);
    return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
}

SR_INLINE uint64_t sr_ugcd(uint64_t a, uint64_t b) {
    while (b) {
        const uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}
SR_INLINE uint64_t sr_magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }
SR_INLINE int64_t sr_gcd(int64_t x, int64_t y) { return (int64_t)sr_ugcd(sr_magnitude(x), sr_magnitude(y)); }
SR_INLINE uint64_t sr_ulcm(uint64_t x, uint64_t y) {
    const uint64_t g = sr_ugcd(x, y);
    return g ? x / g * y : 0;
}
SR_INLINE int64_t sr_lcm(int64_t x, int64_t y) { return (int64_t)sr_ulcm(sr_magnitude(x), sr_magnitude(y)); }

// 0 outside 0 <= k <= n and where the result passes the largest integer.
SR_INLINE int64_t sr_binom(int64_t n, int64_t k) {
    if (k < 0 || k > n) return 0;
    const int64_t smaller = k < n - k ? k : n - k;
    int64_t result = 1;
    for (int64_t done = 0; done < smaller; ++done) {
        if (result > 9223372036854775807LL / (n - done)) return 0;
        result = result * (n - done) / (done + 1);
    }
    return result;
}

SR_INLINE double sr_spacing(double x) {
    if (x - x != 0) return SR_NAN;
    return x < 0 ? nextafter(x, -SR_INF) - x : nextafter(x, SR_INF) - x;
}
SR_INLINE float sr_spacing(float x) {
    if (x - x != 0) return (float)SR_NAN;
    return x < 0 ? nextafterf(x, (float)-SR_INF) - x : nextafterf(x, (float)SR_INF) - x;
}

SR_INLINE double sr_logaddexp(double x, double y) {
    if (x == y) return x + 0.693147180559945309417232121458176568;
    const double d = x - y;
    return d > 0 ? x + log1p(exp(-d)) : d <= 0 ? y + log1p(exp(d)) : d;
}
SR_INLINE double sr_logaddexp2(double x, double y) {
    if (x == y) return x + 1;
    const double d = x - y, per_ln2 = 1.442695040888963407359924681001892137;
    return d > 0 ? x + per_ln2 * log1p(exp2(-d)) : d <= 0 ? y + per_ln2 * log1p(exp2(d)) : d;
}

SR_INLINE double sr_frexp_mantissa(double x) {
    int e;
    return frexp(x, &e);
}
SR_INLINE double sr_frexp_exponent(double x) {
    int e = 0;
    frexp(x, &e);
    return x - x == 0 ? e : 0;
}

#endif
