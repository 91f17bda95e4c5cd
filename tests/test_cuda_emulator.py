"""The emulator itself: every primitive of CUDA that kernels use does what CUDA's does, and misuse is named.

Each test is a small CUDA text and what it must give; see emulator/emulator.h.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.kernels import CompileError, EmulationError, compile_kernel, preload

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ compiles the emulated kernels")

FULL = 0xFFFFFFFF
CODES = {
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
    "uint8": "unsigned char",
    "bool": "bool",
    "uint16": "unsigned short",
}


def launch(
    body: str, blocks: int = 1, threads: int = 32, *, functions: str = "", shared_bytes: int = 0, **arrays: Any
) -> None:
    """Run a kernel whose arguments are arrays (pointers) and ints, fields of `a`; `t` is the thread's global number."""
    fields = "".join(
        f"    {CODES[x.dtype.name]}* {name};\n" if isinstance(x, np.ndarray) else f"    long long {name};\n"
        for name, x in arrays.items()
    )
    text = (
        f"struct Args {{\n{fields}}};\n{functions}\n"
        'extern "C" __global__ void probe(const __grid_constant__ Args a) {\n'
        f"    const int t = blockIdx.x * blockDim.x + threadIdx.x;\n{body}\n}}\n"
    )
    function = compile_kernel("probe", text, shared_bytes=shared_bytes)
    values = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arrays.values()]
    packed = np.frombuffer(struct.pack(f"@{len(values)}q", *values), np.uint8)
    function(blocks, threads, packed.ctypes.data)


def lanes(body: str, dtype: Any = np.int64, **arrays: Any) -> np.ndarray:
    """What each lane of a warp stores: ``a.out[t] = ...``."""
    out = np.zeros(32, dtype)
    launch(body, out=out, **arrays)
    return out


LANES = np.arange(32)


# ---- threads and memory ----------------------------------------------------------------
def test_numbers_of_threads():
    out = np.zeros((3, 64, 4), np.uint32)
    launch(
        "unsigned* at = a.out + 4 * t; at[0] = threadIdx.x; at[1] = blockIdx.x; at[2] = blockDim.x; at[3] = gridDim.x;",
        3,
        64,
        out=out,
    )
    assert (out[..., 0] == np.arange(64)).all()
    assert (out[..., 1] == np.arange(3)[:, None]).all()
    assert (out[..., 2:] == [64, 3]).all()


def test_shared_memory_of_a_block_is_its_own():
    out = np.zeros(4 * 96, np.int64)
    launch(
        """
    __shared__ int values[96];
    values[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
    __syncthreads();
    a.out[t] = values[95 - threadIdx.x];
    """,
        4,
        96,
        out=out,
    )
    assert out.reshape(4, 96)[2].tolist() == [2000 + 95 - k for k in range(96)]


def test_shared_memory_in_templates_and_functions():
    out = np.zeros(64, np.int64)
    launch(
        "a.out[t] = block_sum(t) + (int)block_sum(0.5f) + block_sum(1.0);",
        1,
        64,
        out=out,
        functions="""
    template <class T> __device__ __forceinline__ T block_sum(T x) {
        __shared__ T parts[64];
        parts[threadIdx.x] = x;
        __syncthreads();
        T sum = 0;
        for (int k = 0; k < blockDim.x; k++) sum += parts[k];
        __syncthreads();
        return sum;
    }
    """,
    )
    assert (out == 2016 + 32 + 64).all()


def test_dynamic_shared_memory():
    out = np.zeros(128, np.int64)
    launch(
        """
    extern __shared__ __align__(16) long long values[];
    values[threadIdx.x] = t;
    __syncthreads();
    a.out[t] = values[63 - threadIdx.x];
    """,
        2,
        64,
        out=out,
        shared_bytes=64 * 8,
    )
    assert out[:64].tolist() == list(range(63, -1, -1))
    assert out[64] == 127


def test_shared_memory_begins_as_garbage():
    out = np.zeros(2, np.uint32)
    launch("__shared__ unsigned word; a.out[blockIdx.x] = word; word = 7;", 2, 1, out=out)
    assert out.tolist() == [0xA5A5A5A5] * 2


# ---- barriers --------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "want"), [("or", 1), ("and", 0), ("count", 9)])
def test_barriers_with_a_question(name, want):
    out = np.zeros(96, np.int64)
    launch(f"a.out[t] = __syncthreads_{name}(t % 11 == 3);", 1, 96, out=out)
    assert (out == want).all()


def test_all_threads_reach_a_barrier_before_any_goes_on():
    out = np.zeros(256, np.int64)
    launch(
        """
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int round = 1; round <= 5; round++) {
        atomicAdd(&count, 1);
        __syncthreads();
        if (count != 256 * round) a.out[t] = 1;
        __syncthreads();
    }
    """,
        1,
        256,
        out=out,
    )
    assert not out.any()


GRID_BARRIER = """
__device__ void grid_barrier(unsigned* arrived, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        for (int k = 0; k < 100000 && *(volatile unsigned*)arrived < round * gridDim.x; k++) __nanosleep(20);
    }
    __syncthreads();
}
"""


def test_a_grid_barrier_by_spinning():
    data, arrived, wrong = np.zeros(5 * 64, np.int64), np.zeros(1, np.uint32), np.zeros(1, np.int64)
    launch(
        """
    __shared__ int mine;
    mine = blockIdx.x;
    for (int round = 1; round <= 4; round++) {
        a.data[t] += 1;
        grid_barrier(a.arrived, round);
        if (a.data[(t + 64) % 320] < round || mine != blockIdx.x) a.wrong[0] = 1;
    }
    """,
        5,
        64,
        functions=GRID_BARRIER,
        data=data,
        arrived=arrived,
        wrong=wrong,
    )
    assert (data == 4).all()
    assert not wrong.any()


CLUSTER_FUNCTIONS = """
inline int cluster_rank() { return emu_cluster_rank(); }
inline void cluster_sync() { emu_cluster_sync(); }
inline int from_block(const int* p, int rank) { return *(const int*)emu_cluster_shared(p, rank); }
"""
CLUSTER = """
    extern __shared__ int room[];
    for (int round = 0; round < 3; round++) {
        room[threadIdx.x] = 1000 * round + 100 * blockIdx.x + threadIdx.x;
        cluster_sync();
        a.out[t] += from_block(room + 63 - threadIdx.x, 1 - cluster_rank()) + from_block(room, cluster_rank());
        cluster_sync();
    }
"""


def test_clusters_of_two_blocks():
    out = np.zeros(4 * 64, np.int64)
    launch(CLUSTER, 4, 64, functions=CLUSTER_FUNCTIONS, shared_bytes=4 * 64, out=out)
    other = np.array([1, 0, 3, 2])[:, None]
    wanted = 3 * (100 * other + 63 - np.arange(64) + 100 * np.arange(4)[:, None]) + 2 * 3000
    assert (out.reshape(4, 64) == wanted).all()


def test_clusters_that_are_none():
    out = np.zeros(3 * 64, np.int64)
    with pytest.raises(EmulationError, match="3 blocks are no clusters of two"):
        launch(CLUSTER, 3, 64, functions=CLUSTER_FUNCTIONS, shared_bytes=4 * 64, out=out)
    body = "extern __shared__ int room[];\nif (blockIdx.x) { emu_yield(); room[0] = from_block(room, 0); }"
    with pytest.raises(EmulationError, match="the other block of the cluster has ended"):
        launch(body, 2, 1, functions=CLUSTER_FUNCTIONS, shared_bytes=64)


def test_a_look_back_at_the_block_before():
    sums, ready = np.zeros(8, np.int64), np.zeros(8, np.uint32)
    launch(
        """
    long long before = 0;
    if (blockIdx.x) {
        while (!*(volatile unsigned*)(a.ready + blockIdx.x - 1)) __nanosleep(20);
        before = a.sums[blockIdx.x - 1];
    }
    a.sums[blockIdx.x] = before + blockIdx.x;
    __threadfence();
    atomicExch(a.ready + blockIdx.x, 1u);
    """,
        8,
        1,
        sums=sums,
        ready=ready,
    )
    assert sums.tolist() == np.cumsum(np.arange(8)).tolist()


# ---- warps --------------------------------------------------------------------------------------
def test_votes():
    odd = sum(1 << k for k in range(1, 32, 2))
    assert (lanes(f"a.out[t] = __ballot_sync({FULL}u, t & 1);") == odd).all()
    assert (lanes(f"a.out[t] = __any_sync({FULL}u, t == 31) * 2 + __all_sync({FULL}u, t == 31);") == 2).all()
    assert (lanes(f"a.out[t] = __all_sync({FULL}u, t < 32);") == 1).all()


def test_votes_of_a_part_of_the_warp():
    got = lanes("if (t < 8) a.out[t] = __ballot_sync(0xffu, t & 1); else a.out[t] = __ballot_sync(0xffffff00u, t & 1);")
    assert (got[:8] == 0xAA).all()
    assert (got[8:] == 0xAAAAAA00).all()


SHUFFLES = {
    "__shfl_sync(m, x, 5)": [5] * 32,
    "__shfl_sync(m, x, t + 1)": [*range(1, 32), 0],
    "__shfl_sync(m, x, 3, 8)": [k // 8 * 8 + 3 for k in range(32)],
    "__shfl_up_sync(m, x, 3)": [k if k < 3 else k - 3 for k in range(32)],
    "__shfl_up_sync(m, x, 1, 4)": [k if k % 4 == 0 else k - 1 for k in range(32)],
    "__shfl_down_sync(m, x, 4)": [k if k > 27 else k + 4 for k in range(32)],
    "__shfl_down_sync(m, x, 2, 16)": [k if k % 16 > 13 else k + 2 for k in range(32)],
    "__shfl_xor_sync(m, x, 16)": [k ^ 16 for k in range(32)],
    "__shfl_xor_sync(m, x, 1, 2)": [k ^ 1 for k in range(32)],
}


@pytest.mark.parametrize(
    "c_type", ["int", "unsigned", "long long", "float", "double", "short", "bool", "unsigned char"]
)
def test_shuffles(c_type):
    out = np.zeros((len(SHUFFLES), 32), np.int64)
    value = "t & 1" if c_type == "bool" else "t * 3"
    launch(
        f"const unsigned m = {FULL}u; const {c_type} x = ({c_type})({value});\n"
        + "\n".join(f"a.out[{32 * k} + t] = (long long){call};" for k, call in enumerate(SHUFFLES)),
        out=out,
    )
    for got, (call, source) in zip(out, SHUFFLES.items()):
        want = np.array(source) % 2 if c_type == "bool" else np.array(source) * 3
        assert got.tolist() == want.tolist(), call


def test_reductions_of_a_warp():
    values = np.random.default_rng(1).integers(-100, 100, 32)
    bits = values.astype(np.uint32)
    calls = {
        "__reduce_add_sync(m, x)": values.sum(),
        "__reduce_min_sync(m, x)": values.min(),
        "__reduce_max_sync(m, x)": values.max(),
        "__reduce_min_sync(m, (unsigned)x)": bits.min(),
        "__reduce_max_sync(m, (unsigned)x)": bits.max(),
        "__reduce_or_sync(m, (unsigned)x)": np.bitwise_or.reduce(bits),
        "__reduce_and_sync(m, (unsigned)x)": np.bitwise_and.reduce(bits),
        "__reduce_xor_sync(m, (unsigned)x)": np.bitwise_xor.reduce(bits),
    }
    out = np.zeros((len(calls), 32), np.int64)
    launch(
        f"const unsigned m = {FULL}u; const int x = (int)a.values[t];\n"
        + "\n".join(f"a.out[{32 * k} + t] = {call};" for k, call in enumerate(calls)),
        out=out,
        values=values,
    )
    for got, (call, want) in zip(out, calls.items()):
        assert (got == want).all(), call


def test_matches():
    got = lanes(f"a.out[t] = __match_any_sync({FULL}u, t % 3);", np.uint32)
    assert got[4] == sum(1 << k for k in range(1, 32, 3))
    got = lanes(f"int all; unsigned m = __match_all_sync({FULL}u, 7ull, &all); a.out[t] = m + (long long)all;")
    assert (got == FULL + 1).all()
    assert (lanes(f"int all; a.out[t] = __match_all_sync({FULL}u, t, &all) + all;") == 0).all()


def test_the_active_mask_names_at_least_the_lane_itself():
    got = lanes("if (t % 5 == 0) { const unsigned m = __activemask(); __syncwarp(m); a.out[t] = m >> t & 1; }")
    assert (got == (LANES % 5 == 0)).all()


def test_a_last_warp_that_is_not_full():
    out = np.zeros(40, np.int64)
    launch("a.out[t] = t < 32 ? 0 : __ballot_sync(0xffu, 1);", 1, 40, out=out)
    assert (out[32:] == 0xFF).all()


# ---- atomics ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64", "float32", "float64"])
def test_atomic_add(dtype):
    total, before = np.zeros(1, dtype), np.zeros(512, dtype)
    launch(f"a.before[t] = atomicAdd(a.total, ({CODES[dtype]})1);", 2, 256, total=total, before=before)
    assert total[0] == 512
    assert sorted(before.tolist()) == list(range(512))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_atomic_min_and_max(dtype):
    values = np.random.default_rng(2).integers(0, 10**6, 512).astype(dtype)
    if dtype.startswith("i"):
        values -= 500_000
    small, large = np.full(1, 7, dtype), np.full(1, 7, dtype)
    launch(
        "atomicMin(a.small, a.values[t]); atomicMax(a.large, a.values[t]);",
        2,
        256,
        small=small,
        large=large,
        values=values,
    )
    assert small[0] == min(values.min(), 7)
    assert large[0] == max(values.max(), 7)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64"])
def test_atomic_bits(dtype):
    words = np.array([0, -1, 0]).astype(dtype)
    launch(
        f"typedef {CODES[dtype]} T; const T bit = (T)1 << (t % 31); atomicOr(a.words, bit);"
        "atomicAnd(a.words + 1, (T)~bit); atomicXor(a.words + 2, bit);",
        1,
        62,
        words=words,
    )
    low = (1 << 31) - 1
    assert int(words[0]) == low
    assert int(words[1]) & low == 0
    assert words[2] == 0


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64", "uint16"])
def test_compare_and_swap(dtype):
    word = np.zeros(1, dtype)
    launch(
        f"""
    typedef {CODES[dtype]} T;
    T seen = *(volatile T*)a.word;
    while (true) {{
        const T found = atomicCAS(a.word, seen, (T)(seen + 3));
        if (found == seen) break;
        seen = found;
    }}
    """,
        2,
        256,
        word=word,
    )
    assert word[0] == 1536


def test_exchange_inc_dec_and_sub():
    words = np.array([5, 0, 2, 100], np.uint32)
    old = np.zeros(32, np.uint32)
    launch(
        "a.old[t] = atomicExch(a.words, (unsigned)t); atomicInc(a.words + 1, 9u); atomicDec(a.words + 2, 9u);"
        "atomicSub(a.words + 3, 2u);",
        1,
        32,
        words=words,
        old=old,
    )
    assert sorted([*old.tolist(), int(words[0])]) == sorted([5, *range(32)])
    assert words[1:].tolist() == [32 % 10, (2 - 32) % 10, 36]


def test_atomics_that_cuda_lacks_do_not_compile():
    with pytest.raises(CompileError, match=r"atomicAdd"):
        launch("atomicAdd(a.x, (long long)1);", x=np.zeros(1, np.int64))
    with pytest.raises(CompileError, match=r"atomicMax"):
        launch("atomicMax(a.x, 1.0);", x=np.zeros(1))
    with pytest.raises(CompileError, match=r"atomicOr"):
        launch("atomicOr(a.x, (unsigned char)1);", x=np.zeros(1, np.uint8))


# ---- bits and numbers ------------------------------------------------------------------------------------
BITS_AND_NUMBERS = {
    "__popc(0xf0f0u)": 8,
    "__popcll(~0ull)": 64,
    "__ffs(0)": 0,
    "__ffs(8)": 4,
    "__ffsll(1ll << 40)": 41,
    "__clz(1)": 31,
    "__clz(0)": 32,
    "__clzll(1)": 63,
    "__clzll(0)": 64,
    "(long long)__brev(1u)": 1 << 31,
    "(long long)__brevll(2ull)": 1 << 62,
    "__float_as_int(1.0f)": 0x3F800000,
    "(long long)__int_as_float(0x40000000)": 2,
    "__double_as_longlong(2.0)": 1 << 62,
    "(long long)__longlong_as_double(1ll << 62)": 2,
    "__umulhi(1u << 31, 6u)": 3,
    "(long long)__umul64hi(1ull << 63, 6ull)": 3,
    "__mulhi(-1, 5)": -1,
    "(long long)__funnelshift_l(1u << 31, 0, 1)": 1,
    "min(3, 4) + max(3u, 4u)": 7,
    "min(-1ll, 1ll)": -1,
    "(long long)max(1.5f, 2.5f)": 2,
    "sizeof(int64_like)": 8,
    "(long long)(sqrt(2.0f) == sqrtf(2.0f)) + isnan(0.0 / 0.0)": 2,
    "sizeof(int4) + sizeof(double2)": 32,
    "__ldg(&a.out[0])": 8,
    "warpSize": 32,
    "__builtin_expect(1, 1)": 1,
}


def test_bits_and_numbers():
    out = np.zeros(len(BITS_AND_NUMBERS), np.int64)
    launch(
        "typedef long long int64_like;\n"
        + "\n".join(f"a.out[{k}] = {text};" for k, text in enumerate(BITS_AND_NUMBERS)),
        1,
        1,
        out=out,
    )
    assert dict(zip(BITS_AND_NUMBERS, out.tolist())) == BITS_AND_NUMBERS


# ---- misuse is named --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "if (t < 31) __ballot_sync(0xffffffffu, 1);",
            r"kernel probe, block 0, thread \d+: waits at __ballot_sync \(line \d+, "
            r"mask ffffffff\), but thread 31 has left the kernel",
        ),
        (
            "if (t) __ballot_sync(0xffffffffu, 1);",
            r"thread 1: waits at __ballot_sync .*, but thread 0 has left the kernel",
        ),
        (
            "if (t & 1) __shfl_sync(0xffffffffu, t, 0);\nelse __any_sync(0xffffffffu, 1);",
            r"waits at __\w+_sync .*, but thread \d+ waits at __\w+",
        ),
        (
            "if (t & 1) __syncwarp();\nelse __syncwarp();",
            r"waits at __syncwarp \(line (6|7).*waits at __syncwarp \(line (6|7)",
        ),
        (
            "if (t == 3) return;\n__syncthreads();",
            r"waits at __syncthreads \(line \d+\), but thread 3 has left the kernel",
        ),
        (
            "if (t < 16) __syncthreads();\nelse __syncthreads();",
            r"waits at __syncthreads \(line \d\), but thread \d+ waits at "
            r"__syncthreads \(line \d\)",
        ),
        (
            "if (t == 9) __syncwarp();\nelse __syncthreads();",
            r"thread \d+: waits at \w+ .*, but thread \d+ waits at \w+",
        ),
        (
            "__shfl_sync(0xffff0000u, t, 0);",
            r"thread 0: __shfl_sync \(line \d+\): mask ffff0000 leaves out the calling lane",
        ),
        ("if (t >= 16) __shfl_xor_sync(0xffff0000u, t, 16);", r"reads from lane 0, which is not in the mask"),
        ("__shfl_sync(0xffffffffu, t, 0, 12);", r"width 12"),
        ("if (t == 5) __trap();", r"thread 5: __trap \(line \d+\)"),
        ("assert(t < 7);", r"thread 7: assert\(t < 7\) \(line \d+\)"),
        ("while (true) __nanosleep(1);", r"thread 0: spins without end"),
    ],
)
def test_misuse(body, message):
    with pytest.raises(EmulationError, match=message):
        launch(body)


def test_a_mask_must_not_name_lanes_that_do_not_exist():
    with pytest.raises(EmulationError, match=r"mask ffffffff names lanes that a block of 8 threads does not have"):
        launch("__syncwarp();", 1, 8)


@pytest.mark.parametrize(("blocks", "threads"), [(0, 32), (1, 0), (1, 1025)])
def test_a_launch_of_no_or_too_many_threads(blocks, threads):
    with pytest.raises(EmulationError, match=r"wanted at least 1, and at most 1024 threads"):
        launch("", blocks, threads)


def test_a_launch_after_a_failed_one_works():
    with pytest.raises(EmulationError):
        launch("if (t == 3) return;\n__syncthreads();")
    assert (lanes("__syncthreads(); a.out[t] = 1;") == 1).all()


def test_compile_errors_show_the_text():
    with pytest.raises(CompileError, match=r"probe.cuh:8.*'nonsense'.*\n(.*\n)* +8 a.out\[t\] = nonsense"):
        launch("int fine;\na.out[t] = nonsense;", out=np.zeros(1, np.int64))


# ---- sanitizers ----------------------------------------------------------------------------------------------
PLANTED = {  # a body that is right, one that is not, and what is said against it
    ("address", "a global array"): ("a.out[t] = 1;", "a.out[t + 1] = 1;", "heap-buffer-overflow"),
    ("address", "shared memory"): (
        "__shared__ int x[64]; x[threadIdx.x] = t; a.out[t] = x[threadIdx.x];",
        "__shared__ int x[64]; x[t] = t; a.out[t] = x[threadIdx.x];",
        "global-buffer-overflow",
    ),
    ("thread", "atomics"): ("atomicAdd(a.out, 1ull);", "a.out[0] += t;", "data race"),
    ("thread", "blocks"): ("a.out[t] = 1;", "a.out[threadIdx.x] = blockIdx.x;", "data race"),
    ("thread", "barrier"): (
        "__shared__ int x; if (!threadIdx.x) x = 3; __syncthreads(); a.out[t] = x;",
        "__shared__ int x; if (!threadIdx.x) x = 3; a.out[t] = x;",
        "data race",
    ),
    ("thread", "two barriers"): (
        "__shared__ int x; for (int k = 0; k < 3; k++) { if (!threadIdx.x) x = k; __syncthreads(); a.out[t] = x;"
        "__syncthreads(); }",
        "__shared__ int x; for (int k = 0; k < 3; k++) { if (!threadIdx.x) x = k; __syncthreads(); a.out[t] = x; }",
        "data race",
    ),
    ("thread", "syncwarp"): (
        "__shared__ int x[64]; x[threadIdx.x] = t; __syncwarp(); a.out[t] = x[threadIdx.x ^ 1];",
        "__shared__ int x[64]; x[threadIdx.x] = t; __ballot_sync(0xffffffffu, 1); a.out[t] = x[threadIdx.x ^ 1];",
        "data race",
    ),
    ("thread", "part of a warp"): (
        "__shared__ int x[64]; x[threadIdx.x] = t; __syncwarp(3u << (t & 30)); a.out[t] = x[threadIdx.x ^ 1];",
        "__shared__ int x[64]; x[threadIdx.x] = t; __syncwarp(3u << (t & 30)); a.out[t] = x[threadIdx.x ^ 2];",
        "data race",
    ),
    ("thread", "fence"): (
        "__shared__ bool last; a.out[t] = 1; __threadfence(); __syncthreads();"
        "if (!threadIdx.x) last = atomicAdd(a.out + 128, 1ull) == 1; __syncthreads();"
        "if (last) { __threadfence(); a.out[129 + threadIdx.x] = a.out[127 - t]; }",
        "__shared__ bool last; a.out[t] = 1; __syncthreads();"
        "if (!threadIdx.x) last = atomicAdd(a.out + 128, 1ull) == 1; __syncthreads();"
        "if (last) a.out[129 + threadIdx.x] = a.out[127 - t];",
        "data race",
    ),
    ("thread", "volatile"): (
        "volatile unsigned long long* out = (volatile unsigned long long*)a.out;"
        "if (!t) out[0] = 1; else out[t] = out[0];",
        "if (!t) a.out[0] = 1; else a.out[t] = a.out[0];",
        "data race",
    ),
}


@pytest.mark.parametrize("name", ["address", "thread"])
def test_sanitizers_find_planted_errors(name):
    cases = {what: texts for (which, what), texts in PLANTED.items() if which == name}
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np
        from emulator.kernels import EmulationError
        from test_cuda_emulator import launch
        for what, (right, wrong, message) in {cases!r}.items():
            size = 64 * 2 + (0 if message == "heap-buffer-overflow" else 200)
            launch(right, 2, 64, out=np.zeros(size, np.uint64))
            try:
                launch(wrong, 2, 64, out=np.zeros(size, np.uint64))
                print(what, "not found")
            except EmulationError as error:
                print(what, "found" if message in str(error) else error)
    """)
    command = ["setarch", "-R", sys.executable] if name == "thread" else [sys.executable]
    done = subprocess.run([*command, "-c", script], env=os.environ | preload(name), capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{what} found" for what in cases], done.stdout + done.stderr
