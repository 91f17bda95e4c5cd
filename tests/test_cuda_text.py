"""The texts of the CUDA kernels: their headers, and that NVRTC compiles them for every architecture, without a GPU.

The texts are those that `cuda_cases` makes the emulated device run. ``SPGRAPH_CUDA_TEXTS=all`` compiles every one, and
every registered operator and monoid, for every architecture (minutes); else a sample.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import shutil
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from cuda_cases import CASES, FEW_SEEDS, combining, monoids_alike, outcome
from semirings_values import FUNCTION_KINDS, cuda_source, typed

import spgraph as sg
from semirings.dtypes import lookup_dtype
from spgraph import unary
from spgraph.engine import products_cuda
from spgraph.exchange import group_of
from spgraph.kernels.cuda import assemble
from spgraph.kernels.cuda.launch import CudaKernel

ALL = os.environ.get("SPGRAPH_CUDA_TEXTS") == "all"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
FILES = sorted(path.stem for path in assemble.FOLDER.glob("*.cuh") if path.stem not in ("prelude", "after"))
SECTIONS = [f"{file}.{name}" for file in FILES for name in assemble.sections(file)]
gpp = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ runs the cases whose texts are compiled")


# ---- headers ----------------------------------------------------------------------------
def test_a_sections_name_is_its_own():
    names = [name.partition(".")[2] for name in SECTIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("file", FILES)
def test_a_file_begins_with_what_it_does(file):
    text = (assemble.FOLDER / f"{file}.cuh").read_text("utf-8")
    head = text.partition("//==")[0]
    assert head.startswith("// ")
    assert len([line for line in head.splitlines() if line.startswith("//")]) >= 3


@pytest.mark.parametrize("file", [*FILES, "prelude", "after"])
def test_a_file_is_plain_cuda(file):
    text = (assemble.FOLDER / f"{file}.cuh").read_text("utf-8")
    assert "#include" not in text
    assert re.search(r"__CUDA_ARCH__\W*\d|\d\W*__CUDA_ARCH__", text) is None
    assert text.isascii()


# What a row-producing kernel is given besides: kernels/cuda/produce.py.
SHARES = {"nrows", "costs", "offsets", "out_indptr"}
COPIED = {"vertices"}  # how copies of a graph lie on a CPU; on a GPU the constant COPIES says it
PUSHED = {"prefix", "edges", "seen", "oprefix", "leaving"}, {"base", "end", "stamp", "limit", *COPIED}
# Sections with other arguments than the template of kernels/cpu that does the same work: which it is, what is new, what
# is not needed, and why.
DIFFERENT = {
    "pull.pull_until": ("pull.pull", set(), COPIED, "two kernels, by how a row is gathered"),
    "pull.pull_all": (
        "pull.pull",
        {"starts", "shares", "giants", "giant_first", "piece_of", "pieces", "giant", "partials", "founds", "arrived",
         "runs"},
        COPIED,
        "rows in shares of equal work",
    ),
    "push.push_list": ("push.push_list", *PUSHED, "equal shares of the edges by a running sum; one list for all"),
    "push.push_scatter": ("push.push_scatter", *PUSHED, "as push_list"),
    "pointers.combine": ("pointers.combine", set(), {"count"}, "atomics; the CPU's threads have ranges of C"),
    "reduce.reduce_rows": (
        "reduce.reduce_rows",
        {"starts", "shares", "giants", "giant_first", "piece_of", "pieces", "giant", "partials", "arrived"},
        set(),
        "as pull_all",
    ),
    "sort.rows_gather": (
        "sort.rows_gather",
        {"col_target", "out_positions"},
        set(),
        "maps the columns in the same pass",
    ),
}
# Sections whose work the CPU does not have, or does in another way.
OWN = {
    "counted.bit_rows": "bitmaps of rows; dot_masked of the CPU spreads out the rows of A one by one",
    "counted.bit_sizes": "as bit_rows",
    "counted.mask_counts": "as mask_dots, with bitmaps",
    "exchange.arrange": "after direct stores from other GPUs; parts of the CPU send messages",
    "exchange.give_all": "as arrange",
    "exchange.give_list": "as arrange",
    "gustavson.row_sums": "hash tables in shared memory; the CPU has a dense accumulator per thread (gustavson)",
    "gustavson.wide_add": "as row_sums, for rows that share the card",
    "gustavson.wide_rows": "as row_sums, for rows that share the card",
    "pointers.check": "a copy for jump; jump_within of the CPU checks as it goes",
    "pointers.combine_far": "into the memory of other GPUs; parts of the CPU send messages",
    "pointers.jump": "halves paths; the CPU goes upwards, range by range (jump_within, jump_below)",
    "pull.pull_lanes": "copies of a graph side by side; on the CPU they lie one after the other",
    "pull.pull_sums": "what comes of sums over tiles of columns, which a CPU's caches make unnecessary",
    "queue.clear": "of loops without a host, which a CPU does not have",
    "queue.spread": "as clear",
    "queue.gate": "as clear, in parts",
    "queue.fetch": "values of push's list once it is known; the CPU has them at hand",
    "queue.pad": "padding that lets pull skip the bitmap",
    "queue.list": "a bitmap as a list with the running sum that push shares edges by",
    "queue.make": "the running sum that push shares edges by",
    "sort.key_count": "sorting by one deal and short sorts; the CPU deals into buckets",
    "sort.coo_deal": "as key_count",
    "sort.rows_deal": "as key_count",
    "sort.row_numbers": "NumPy's repeat does it on the CPU",
    "sort.sort_short": "as key_count",
    "sort.sort_tiles": "as key_count",
    "sort.sort_step": "as key_count",
    "spgemm.row_bins": "rows in bins by size, so that a warp, a block or the card takes one",
    "spgemm.mask_dots": "results at the mask's places, packed afterwards; dot_masked writes them in order",
    "spgemm.mask_sums": "as mask_dots, for gustavson_masked",
    "spgemm.mask_pack": "as mask_dots",
    "tiles.cut_rows": "as pull_sums",
    "tiles.fill_slices": "as pull_sums",
    "tiles.pull_slices": "as pull_sums",
}


@pytest.mark.parametrize("name", [name for name in SECTIONS if name not in OWN])
def test_arguments_are_those_of_the_cpu(name):
    counterpart, new, unneeded, _ = DIFFERENT.get(name, (name, set(), set(), ""))
    file, function = counterpart.split(".")
    source = inspect.getsource(importlib.import_module(f"spgraph.kernels.cpu.{file}"))
    (template,) = re.findall(rf"def {function}\((.*?)\):", source, re.S)
    wanted = [one.strip() for one in template.split(",")]
    wanted = [one for one in wanted if one not in {"lo", "hi", *unneeded, *SHARES}]
    found = [one for one in assemble.section(name).arguments if one not in {*new, *SHARES}]
    assert found == wanted


def test_the_list_of_exceptions_is_about_sections_that_there_are():
    assert (DIFFERENT.keys() | OWN.keys()) - set(SECTIONS) == set()


# ---- NVRTC --------------------------------------------------------------------------------
def compiled(text: str, architecture: str) -> str:
    """What NVRTC says against a text; nothing if it compiles."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings and nvidia-cuda-nvrtc compile here")
    error, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    assert error == 0
    options = [f"-arch={architecture}".encode(), b"-std=c++17"]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = ""
    if error != 0:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        room = b" " * size
        nvrtc.nvrtcGetProgramLog(program, room)
        log = room.decode()
    nvrtc.nvrtcDestroyProgram(program)
    return log


@functools.cache
def recorded(device: Any) -> dict[str, list[str]]:
    """The texts that the cases ran, by section."""
    texts = defaultdict(set)
    for name in CASES:
        for seed in range(6) if ALL else FEW_SEEDS[name]:
            for section, text in outcome(name, seed, device).texts:
                texts[section].add(text)
    return {section: sorted(found) for section, found in texts.items()}


@gpp
def test_the_cases_run_every_section(emulated):
    assert {name.partition(".")[2] for name in SECTIONS} - recorded(emulated).keys() == set()


# Every section, and a third of them for each architecture: no text asks which one it is, see test_a_file_is_plain_cuda.
COMPILED = [
    pytest.param(name.partition(".")[2], architecture, marks=[] if ALL or (k + j) % 3 == 0 else [pytest.mark.whole])
    for j, name in enumerate(SECTIONS)
    for k, architecture in enumerate(ARCHITECTURES)
]


@gpp
@pytest.mark.parametrize(("section", "architecture"), COMPILED)
def test_nvrtc_compiles_what_the_cases_run(emulated, section, architecture):
    texts = recorded(emulated)[section]
    if not ALL:  # another one for each architecture
        texts = [texts[ARCHITECTURES.index(architecture) % len(texts)]]
    for text in texts:
        assert compiled(text, architecture) == ""


@gpp
@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
@pytest.mark.parametrize("dtype", ["FP32", "FP64"])
def test_nvrtc_compiles_clusters(emulated, monkeypatch, dtype, architecture):
    """Which no case runs, since they are for large graphs and for architectures that have them."""
    for name in ("HOT_EDGES", "HOT_READS", "HOT_SHARE"):
        monkeypatch.setattr(products_cuda, name, 0)
    monkeypatch.setattr(products_cuda, "CACHE_BYTES", 0)
    texts, make = [], CudaKernel.text
    monkeypatch.setattr(CudaKernel, "text", lambda kernel, args: texts.append(make(kernel, args)) or texts[-1])
    monkeypatch.setattr(emulated, "shared_memory", 48 << 10)
    A = sg.generators.rmat(14, 2).apply(unary.one[dtype]).new().reorder("degree").to(emulated)
    u = sg.Vector.from_dense(np.arange(A.ncols)).apply(unary.identity[dtype]).new().to(emulated)
    emulated.kernels.clear()
    A.mxv(u, "plus_times").new()
    of_clusters = [text for text in texts if "#define CLUSTER 2\n" in text]
    assert [compiled(text, architecture) for text in of_clusters] == [""]


@gpp
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("direction", ["push", "pull", "gap", "lagraph", "gunrock"])
def test_nvrtc_compiles_loops_in_any_direction(emulated, monkeypatch, direction, count):
    """As they are on one GPU, and in parts."""
    from emulator.device import emulated_device

    devices = tuple(emulated_device(number) for number in range(count))
    for device in devices:
        device.kernels.clear()
    texts, make = [], CudaKernel.text

    def noted(kernel, args):
        texts.append(make(kernel, args))
        return texts[-1]

    monkeypatch.setattr(CudaKernel, "text", noted)
    with sg.Context(group_of(devices) if count > 1 else emulated, direction=direction):
        A = sg.generators.grid(20)
        for _ in range(2):
            assert sg.algorithms.bfs(A, 0).nvals == 400
    ruled = [text for text in texts if "#define RULE " in text]
    assert len(ruled) >= 5
    for text in ruled:
        assert compiled(text, "sm_90") == ""


OPERATORS = typed(*FUNCTION_KINDS)
CHUNK = 150


@pytest.mark.skipif(not ALL, reason="SPGRAPH_CUDA_TEXTS=all compiles every operator; a sample is in the other tests")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("start", range(0, len(OPERATORS), CHUNK))
def test_nvrtc_compiles_every_operator(start, architecture):
    text = cuda_source(OPERATORS[start : start + CHUNK], 'extern "C" __global__')
    assert compiled(text, architecture) == ""


@pytest.mark.parametrize("architecture", ARCHITECTURES if ALL else ["sm_80"])
@pytest.mark.parametrize(("dtype", "code"), monoids_alike())
def test_nvrtc_compiles_the_atomics_of_every_monoid(emulated, dtype, code, architecture):
    np_type = lookup_dtype(dtype).np_type
    some = [emulated.xp.empty(2, one) for one in (np_type, np_type, np.int32)]
    kernel = combining(emulated, monoids_alike()[dtype, code], code)
    assert compiled(kernel.text(tuple(some)), architecture) == ""


def test_an_architecture_that_nvrtc_does_not_know_is_not_taken_for_one():
    assert compiled("__global__ void k() {}", "sm_90") == ""
    assert "invalid" in compiled("__global__ void k() {}", "sm_11") or compiled("int x = y;", "sm_90")


def test_a_numpy_scalar_is_a_literal_of_its_type():
    text = assemble.assemble(assemble.parse_section(" probe(x)\n"), ("int*",), {"LIMIT": np.uint8(3), "FLAG": True}, {})
    assert "#define LIMIT ((uint8_t)3)\n" in text
    assert "constexpr bool FLAG = true;\n" in text
