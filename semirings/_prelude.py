"""Helper functions that the printed Python text calls, and the reference for what NumPy lacks.

Everything below the marker is handed to code generators as text (``expr.PYTHON_PRELUDE``), so it
keeps to what Numba compiles, uses only `np` and `math`, and calls nothing else defined here. The
functions are total: they raise nothing for any argument, whatever Numba's error model.
"""

import math

import numpy as np

# --- prelude ---


def sr_saturate(x, low, high):
    if x != x:
        return np.int64(0)
    if x <= low:
        return np.int64(low)
    if x >= high:
        return np.int64(high)
    return np.int64(x)


def sr_to_int64(x):
    if x != x:
        return np.int64(0)
    if x <= -9223372036854775808.0:
        return np.int64(-9223372036854775808)
    if x >= 9223372036854775808.0:
        return np.int64(9223372036854775807)
    return np.int64(x)


def sr_to_uint64(x):
    if x != x or x <= 0.0:
        return np.uint64(0)
    if x >= 18446744073709551616.0:
        return np.uint64(18446744073709551615)
    if x >= 9223372036854775808.0:
        return np.uint64(np.int64(x - 9223372036854775808.0)) + np.uint64(9223372036854775808)
    return np.uint64(np.int64(x))


def sr_floordiv(x, y):
    if y == 0:
        return y
    if y == -1:
        return -x
    return x // y


def sr_udiv(x, y):
    if y == 0:
        return y
    return x // y


def sr_mod(x, y):
    if y == 0 or y == -1:
        return x - x
    return x % y


def sr_umod(x, y):
    if y == 0:
        return y
    return x % y


def sr_cmod(x, y):
    if y == 0 or y == -1:
        return x - x
    r = x % y
    if r != 0 and (x < 0) != (y < 0):
        r = r - y
    return r


def sr_ffloordiv(x, y):
    if y == 0:
        return np.true_divide(x, y)
    mod = np.fmod(x, y)
    div = np.true_divide(x - mod, y)
    if mod != 0 and (y < 0) != (mod < 0):
        div = div - np.float32(1)
    if div == 0:
        return np.copysign(div, np.true_divide(x, y))
    floor = np.floor(div)
    if div - floor > np.float32(0.5):
        floor = floor + np.float32(1)
    return floor


def sr_pymod(x, y):
    mod = np.fmod(x, y)
    if y == 0:
        return mod
    if mod == 0:
        return np.copysign(mod, y)
    if (y < 0) != (mod < 0):
        mod = mod + y
    return mod


def sr_ipow(x, n):
    base = np.int64(x)
    left = np.int64(n)
    result = np.int64(1)
    if left < 0:
        if base == 1 or (base == -1 and left % 2 == 0):
            return result
        return -result if base == -1 else result - result
    while left > 0:
        if left & 1:
            result = result * base
        base = base * base
        left = left >> 1
    return result


def sr_upow(x, n):
    base = np.uint64(x)
    left = np.uint64(n)
    result = np.uint64(1)
    while left > np.uint64(0):
        if left & np.uint64(1):
            result = result * base
        base = base * base
        left = left >> np.uint64(1)
    return result


def sr_ugcd(x, y):
    a = np.uint64(x)
    b = np.uint64(y)
    while b != np.uint64(0):
        a, b = b, a % b
    return a


def sr_gcd(x, y):
    a = np.uint64(abs(np.int64(x)))
    b = np.uint64(abs(np.int64(y)))
    while b != np.uint64(0):
        a, b = b, a % b
    return np.int64(a)


def sr_ulcm(x, y):
    p = np.uint64(x)
    q = np.uint64(y)
    a = p
    b = q
    while b != np.uint64(0):
        a, b = b, a % b
    if a == np.uint64(0):
        return a
    return p // a * q


def sr_lcm(x, y):
    p = np.uint64(abs(np.int64(x)))
    q = np.uint64(abs(np.int64(y)))
    a = p
    b = q
    while b != np.uint64(0):
        a, b = b, a % b
    if a == np.uint64(0):
        return np.int64(0)
    return np.int64(p // a * q)


def sr_binom(n, k):
    # 0 outside 0 <= k <= n and where the result passes the largest integer
    if k < 0 or k > n:
        return np.int64(0)
    result = np.int64(1)
    smaller = min(np.int64(k), np.int64(n) - np.int64(k))
    for done in range(smaller):
        factor = np.int64(n) - np.int64(done)
        if result > np.int64(9223372036854775807) // factor:
            return np.int64(0)
        result = result * factor // np.int64(done + 1)
    return result


def sr_erf(x):
    return math.erf(x)


def sr_erfc(x):
    return math.erfc(x)


def sr_lgamma(x):
    v = np.float64(x)
    if v != v:
        return v
    if np.isinf(v) or v > 2.55e305 or (v <= 0 and v == np.floor(v)):
        return np.float64(np.inf)
    return np.float64(math.lgamma(v))


def sr_tgamma(x):
    v = np.float64(x)
    if abs(v) < 5.6e-309:
        return np.copysign(np.float64(np.inf), v)
    if v != v or (v < 0 and (np.isinf(v) or v == np.floor(v))):
        return np.float64(np.nan)
    if v > 171.7:
        return np.float64(np.inf)
    return np.float64(math.gamma(v))


def sr_frexp_mantissa(x):
    return math.frexp(x)[0]


def sr_frexp_exponent(x):
    return np.float64(math.frexp(x)[1])
