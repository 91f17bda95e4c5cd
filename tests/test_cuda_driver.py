"""Every way in which CUDA can be missing or wrong is one sentence that helps, and the CPU works all the same.

The driver library, CuPy and the environment are played by fakes, which are plugged in where the real ones are asked
for (`driver.Machine`); two of the failures are real on a machine without a GPU and are looked at in processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import types
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from semirings.exceptions import GraphblasException, NoDevice
from spgraph import _machine
from spgraph.kernels.cpu import _specialise
from spgraph.kernels.cuda import compile, driver, memory
from spgraph.kernels.cuda.driver import Card, check, find, open_driver

H100 = Card(0, "NVIDIA H100 80GB HBM3", (9, 0), 85_000_000_000)
V100 = Card(0, "Tesla V100-SXM2-16GB", (7, 0), 16_000_000_000)
PIP13, PIP12 = 'pip install "cupy-cuda13x[ctk]>=14"', 'pip install "cupy-cuda12x[ctk]>=14"'


class FakeLibrary:
    """The driver's library, as far as it is asked."""

    def __init__(self, cards=(H100,), version=13000, init=0, broken=0):
        self.cards, self.version, self.init, self.broken = cards, version, init, broken

    def cuInit(self, flags):
        assert flags == 0
        return self.init

    def cuDriverGetVersion(self, out):
        out._obj.value = self.version
        return self.broken

    def cuDeviceGetCount(self, out):
        out._obj.value = len(self.cards)
        return 0

    def cuDeviceGet(self, out, number):
        out._obj.value = number + 40  # a handle is not a number
        return 0

    def cuDeviceGetName(self, out, size, device):
        out.value = self.cards[device - 40].name.encode()
        return 0

    def cuDeviceTotalMem_v2(self, out, device):
        out._obj.value = self.cards[device - 40].memory
        return 0

    def cuDeviceGetAttribute(self, out, attribute, device):
        out._obj.value = self.cards[device - 40].capability[{75: 0, 76: 1}[attribute]]
        return 0


class FakeCupy:
    """CuPy, as far as it is asked."""

    def __init__(self, version="14.2.0", cuda=13000, hip=False, nvrtc=None, kernel=None):
        self.__version__ = version
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                is_hip=hip, runtimeGetVersion=lambda: cuda, memGetInfo=lambda: (70_000, H100.memory)
            ),
            nvrtc=SimpleNamespace(getVersion=lambda: fail(nvrtc) or (13, 0)),
            Device=lambda number: nullcontext(self.used.append(number)),
        )
        self.arange = lambda count, dtype: SimpleNamespace(get=lambda: fail(kernel))
        self.used: list[int] = []

    def get_default_memory_pool(self):
        """A pool that holds 10,000 bytes, of which 6,000 are in use."""
        return SimpleNamespace(used_bytes=lambda: 6_000, free_bytes=lambda: 4_000, get_limit=lambda: self.limit)

    limit = 0


def fail(error):
    if error is not None:
        raise error


class FakeMachine(driver.Machine):
    """A machine with a driver library (or none), packages and variables."""

    def __init__(self, library=None, cupy=None, package="cupy-cuda13x", **variables):
        self._library, self._cupy, self._package, self._variables = library, cupy, package, variables
        self.imported: list[str] = []

    def library(self, name):
        if self._library is None:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")
        return self._library

    def module(self, name):
        self.imported.append(name)
        if isinstance(self._cupy, Exception):
            raise self._cupy
        return self._cupy

    def has_module(self, name):
        return self._cupy is not None

    def version(self, package):
        return "14.2.0" if self._cupy is not None and package == self._package else None

    def variable(self, name):
        return self._variables.get(name)


GOOD = FakeLibrary()
HEADERS = "/tmp/k.cu(3): catastrophic error: cannot open source file \"vector_types.h\""
# what is wrong, the machine, the number asked for, what the sentence says
PROBLEMS = {
    "no driver": (FakeMachine(), 0, ["no NVIDIA driver is installed", PIP13, 'Context("cpu")']),
    "stub": (FakeMachine(FakeLibrary(init=34)), 0, ["does not start", "stub", "CUDA error 34"]),
    "other error": (FakeMachine(FakeLibrary(init=999)), 0, ["does not start: CUDA error 999"]),
    "mismatch": (FakeMachine(FakeLibrary(init=803)), 0, ["differ in version", "restart"]),
    "broken answer": (FakeMachine(FakeLibrary(broken=46)), 0, ["does not answer", "in use by another process"]),
    "no card": (FakeMachine(FakeLibrary(init=100)), 0, ["finds no GPU"]),
    "no card, no error": (FakeMachine(FakeLibrary(cards=())), 0, ["finds no GPU"]),
    "all hidden": (FakeMachine(FakeLibrary(init=100), CUDA_VISIBLE_DEVICES=""), 0,
                   ["$CUDA_VISIBLE_DEVICES is ''", "hides every GPU", "unset it"]),
    "wrong number shown": (FakeMachine(FakeLibrary(init=100), CUDA_VISIBLE_DEVICES="7"), 0,
                           ["$CUDA_VISIBLE_DEVICES is '7'", "names no GPU", "nvidia-smi"]),
    "one card": (FakeMachine(GOOD, FakeCupy()), 1, ["cuda:1: there is only cuda:0"]),
    "two cards": (FakeMachine(FakeLibrary((H100, H100._replace(number=1)))), 5, ["cuda:5: there is cuda:0 to cuda:1"]),
    "one card shown": (FakeMachine(GOOD, CUDA_VISIBLE_DEVICES="2"), 2,
                       ["cuda:2: there is only cuda:0 ($CUDA_VISIBLE_DEVICES is '2')"]),
    "old card": (FakeMachine(FakeLibrary((V100,)), FakeCupy()), 0,
                 ["Tesla V100-SXM2-16GB has compute capability 7.0, but 8.0", 'Context("cpu")']),
    "old driver": (FakeMachine(FakeLibrary(version=11080), FakeCupy()), 0, ["for CUDA 11.8", "update it", PIP13]),
    "no CuPy": (FakeMachine(GOOD), 0, ["CuPy is not installed: " + PIP13]),
    "no CuPy, CUDA 12": (FakeMachine(FakeLibrary(version=12040)), 0, ["CuPy is not installed: " + PIP12]),
    "CuPy does not import": (
        FakeMachine(GOOD, ImportError("\n====\nFailed to import CuPy.\n\nmore\n====")), 0,
        ["cannot be imported (Failed to import CuPy.)", "pip uninstall cupy-cuda13x, then " + PIP13]),
    "CuPy for ROCm": (FakeMachine(GOOD, FakeCupy(hip=True), "cupy"), 0, ["ROCm", "pip uninstall cupy, then " + PIP13]),
    "CuPy too old": (FakeMachine(GOOD, FakeCupy("13.6.0"), "cupy-cuda12x"), 0,
                     ["CuPy 13.6.0", "14 or newer", "pip uninstall cupy-cuda12x, then " + PIP13]),
    "CuPy for CUDA 13, driver for 12": (
        FakeMachine(FakeLibrary(version=12040), FakeCupy(cuda=13020)), 0,
        ["is for CUDA 13", "driver for CUDA 12.4", "pip uninstall cupy-cuda13x, then " + PIP12, "update the driver"]),
    "no NVRTC": (FakeMachine(GOOD, FakeCupy(nvrtc=RuntimeError("CuPy failed to load libnvrtc.so.13"))), 0,
                 ["NVRTC", "not installed: " + PIP13]),
    "no headers": (FakeMachine(GOOD, FakeCupy(kernel=RuntimeError(HEADERS))), 0,
                   ["header files are not installed: " + PIP13]),
    "old libraries": (
        FakeMachine(GOOD, FakeCupy(kernel=RuntimeError("nvrtc: error: invalid value for --gpu-architecture"))), 0,
        ["too old for this card: " + PIP13]),
    "kernels do not run": (
        FakeMachine(GOOD, FakeCupy(kernel=RuntimeError("cudaErrorDevicesUnavailable: busy or unavailable\nframes"))), 0,
        ["cannot run a kernel here: cudaErrorDevicesUnavailable: busy or unavailable"]),
}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS)
def test_one_sentence_that_helps(problem):
    machine, number, words = PROBLEMS[problem]
    with pytest.raises(NoDevice) as caught:
        check(number, machine)
    text = str(caught.value)
    assert text.startswith(f"cuda:{number}: ")
    assert [word for word in words if word not in text] == []
    assert "\n" not in text


def test_the_error_is_in_the_tree():
    assert issubclass(NoDevice, GraphblasException)
    assert issubclass(NoDevice, RuntimeError)


def test_what_is_good_passes():
    cupy = FakeCupy()
    check(0, FakeMachine(GOOD, cupy))
    assert cupy.used == [0]
    check(0, FakeMachine(GOOD, FakeCupy(cuda=12090)))  # a newer driver serves older libraries


def test_cards_as_the_driver_tells():
    found = open_driver(FakeMachine(FakeLibrary((H100, V100._replace(number=1)), version=12020)))
    assert found.version == (12, 2)
    assert found.cards == [H100, V100._replace(number=1)]


class TestFind:
    """What programs get that name no device."""

    def test_the_first_card(self):
        assert find(FakeMachine(GOOD, FakeCupy())) == 0

    def test_the_first_that_is_new_enough(self):
        assert find(FakeMachine(FakeLibrary((V100, H100._replace(number=1))), FakeCupy())) == 1

    @pytest.mark.parametrize("problem", ["no driver", "stub", "no card", "all hidden", "old card"])
    def test_without_a_card_cupy_is_not_imported(self, problem):
        machine = PROBLEMS[problem][0]
        machine.imported.clear()
        assert find(machine) is None
        assert machine.imported == []

    def test_without_cupy_nobody_asked(self):
        assert find(FakeMachine(GOOD)) is None

    @pytest.mark.parametrize("problem", ["no NVRTC", "no headers", "CuPy does not import", "old driver"])
    def test_a_broken_installation_is_told(self, problem):
        with pytest.warns(UserWarning, match="computing on the CPU, since the GPU cannot be used: cuda:0: "):
            assert find(PROBLEMS[problem][0]) is None


# ---- what `spgraph info` shows ----------------------------------------------------------
class TestMachine:
    def test_a_card_that_can_be_used(self):
        machine = FakeMachine(GOOD, FakeCupy())
        assert _machine.gpus(machine) == [{
            "device": "cuda:0", "name": H100.name, "capability": "9.0",
            "memory": {"total": H100.memory, "free": 74_000}, "problem": None,
        }]  # fmt: skip
        assert _machine.gpu_problem(machine) is None
        found = _machine.cuda(machine)
        assert (found["cuda"], found["cupy"], found["runtime"], found["nvrtc"]) == ("13.0", "14.2.0", "13.0", "13.0")

    def test_one_that_cannot(self):
        machine = FakeMachine(FakeLibrary((V100, H100._replace(number=1))), FakeCupy())
        old, new = _machine.gpus(machine)
        assert old["problem"].startswith("cuda:0: Tesla V100-SXM2-16GB has compute capability 7.0")
        assert old["memory"] == {"total": V100.memory}
        assert new["problem"] is None
        assert _machine.gpu_problem(machine) is None

    @pytest.mark.parametrize("problem", [name for name in PROBLEMS if PROBLEMS[name][1] == 0])
    def test_one_sentence_why_there_is_none(self, problem):
        machine, _, words = PROBLEMS[problem]
        text = _machine.gpu_problem(machine)
        assert [word for word in words if word not in text] == []
        _machine.cuda(machine)  # whatever can be told

    def test_no_driver(self):
        assert _machine.gpus(FakeMachine()) == []
        assert _machine.cuda(FakeMachine()) == {}

    def test_caches(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "cupy"))
        (tmp_path / "cupy").mkdir()
        monkeypatch.setattr(_specialise, "cache_dir", lambda: tmp_path / "own")
        (tmp_path / "own").mkdir()
        (tmp_path / "cupy" / "one.cubin").write_bytes(b"12345")
        (tmp_path / "own" / "a.cubin").write_bytes(b"123")
        own, cupy = _machine.caches()
        assert cupy == {"name": "cupy", "folder": str(tmp_path / "cupy"), "kernels": 1, "bytes": 5}
        assert own == {"name": "spgraph", "folder": str(tmp_path / "own"), "kernels": 1, "bytes": 3}


def test_a_text_is_compiled_once_for_a_capability_and_flushes_no_small_numbers(tmp_path, monkeypatch):
    calls = []

    class Compiler:
        @staticmethod
        def compile_using_nvrtc(text, options, *, filename):
            calls.append((text, options, filename))
            return b"code of " + text.encode(), None

    class Nvrtc:
        @staticmethod
        def getVersion():
            return 13, 0

    cupy = types.SimpleNamespace(__version__="14", cuda=types.SimpleNamespace(compiler=Compiler, nvrtc=Nvrtc))
    monkeypatch.setattr(compile, "cache_dir", lambda: tmp_path)
    for capability in ("90", "90", "100"):
        assert compile.machine_code(cupy, "push", "text", capability) == b"code of text"
    assert calls == [("text", ("-std=c++17",), "push.cu")] * 2
    assert len(list(tmp_path.iterdir())) == 2
    for damage in (b"", b"code of tex", b"x" * 200):  # as when a disk was full
        next(tmp_path.glob("*.cubin")).write_bytes(damage)
        assert {compile.machine_code(cupy, "push", "text", one) for one in ("90", "100")} == {b"code of text"}
    assert len(calls) == 5


def test_memory_within_a_limit():
    cupy = FakeCupy()
    assert memory.memory(cupy, 0) == (H100.memory, 74_000, 6_000, None)
    cupy.limit = 8_000
    assert memory.memory(cupy, 0) == (H100.memory, 2_000, 6_000, 8_000)


# ---- real processes ---------------------------------------------------------------------
def python(code, *options, **environment):
    environment = {k: v for k, v in os.environ.items() if k != "SPGRAPH_DEVICE"} | environment
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120,
                          env=environment)  # fmt: skip


WITHOUT_DRIVER = """
import ctypes, sys
real = ctypes.CDLL
class CDLL(real):
    def __init__(self, name, *args, **kwargs):
        if name and "libcuda.so" in str(name):
            raise OSError(f"{name}: cannot open shared object file")
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = CDLL
"""


def test_no_driver_means_the_cpu_and_no_cupy():
    code = WITHOUT_DRIVER + (
        "import spgraph as sg\n"
        "assert 'spgraph.kernels.cuda.driver' not in sys.modules\n"
        "print(sg.Vector(int, 3).device, 'cupy' in sys.modules)"
    )
    done = python(code, "-W", "error")
    assert done.stdout.split() == ["cpu", "False"], done.stderr


def test_a_gpu_that_is_asked_for_and_is_not_there():
    code = WITHOUT_DRIVER + "import spgraph as sg\nsg.Context('cuda')"
    done = python(code)
    assert done.stderr.strip().splitlines()[-1].startswith(
        "semirings.exceptions.NoDevice: cuda:0: no NVIDIA driver is installed"
    )


@pytest.mark.parametrize(("name", "words"), [
    ("cuda", "NoDevice: cuda:0: no NVIDIA driver is installed"),
    ("gpu", "InvalidValue: $SPGRAPH_DEVICE is 'gpu', wanted 'cpu', 'cuda'"),
])  # fmt: skip
def test_the_variable_decides(name, words):
    code = WITHOUT_DRIVER + "import spgraph as sg\nprint(sg.__version__)\nsg.Vector(int, 3)"
    done = python(code, SPGRAPH_DEVICE=name)
    assert done.stdout  # the import works whatever it says
    assert words in done.stderr
    assert python(code, SPGRAPH_DEVICE="cpu").returncode == 0


@pytest.mark.parametrize(("status", "value", "wanted"), [(0, 1, True), (0, 0, False), (101, 1, False)])
def test_atomics_between_cards_are_asked_of_the_driver(status, value, wanted):
    asked = []

    class Library:
        def cuDeviceGetP2PAttribute(self, found, attribute, one, other):
            asked.append((attribute, one, other))
            found._obj.value = value
            return status

    class Machine(driver.Machine):
        def library(self, name):
            return Library()

    assert driver.atomics_between(0, 3, Machine()) is wanted
    assert asked == [(3, 0, 3)]
