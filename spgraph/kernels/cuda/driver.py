"""Is there a GPU that can be used? The driver is asked itself, and CuPy only where a driver has found a card.

Every way in which CUDA can be missing or wrong is one sentence here, with the line for pip where pip helps.
`find` picks the device of programs that name none and does not raise; `check` raises for one that was named.

Cost: without a driver library one failed load (50 us). With one, its initialisation (about 0.2 s, which CUDA would
cost anyway); CuPy's import (0.3 s) and one small kernel (10 ms from CuPy's cache) come when a device is checked.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
import warnings
from typing import Any, NamedTuple

from semirings.exceptions import NoDevice

__all__ = ["CUPY_PACKAGES", "Card", "Driver", "Machine", "atomics_between", "check", "find", "open_driver", "pip_line"]

CUPY_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")  # names under which the module is installed
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OLDEST = (8, 0)  # compute capability that the kernels are written for
CUPY_MAJOR = 14
NO_CARD = 100
CODES = {
    34: "its library is a stub, made for building programs, not for running them",
    46: "the card is in use by another process",
    802: "the card is not ready yet",
    803: "its library and its kernel module differ in version, a restart helps",
    804: "the card does not work with a library newer than its kernel module",
}
NATIVE_ATOMICS = 3  # of two cards: whether kernels of one can update the memory of the other in one step
MAJOR, MINOR = 75, 76  # attributes: the two numbers of the compute capability


class Machine:
    """What this module asks of its surroundings. A test plugs in another one."""

    def library(self, name: str) -> Any:
        """A shared library."""
        return ctypes.CDLL(name)

    def module(self, name: str) -> Any:
        """A Python module, imported."""
        return importlib.import_module(name)

    def has_module(self, name: str) -> bool:
        """Whether a module is installed; it is not imported."""
        return importlib.util.find_spec(name) is not None

    def version(self, package: str) -> str | None:
        """Version of an installed package."""
        from importlib import metadata  # 20 ms

        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    def variable(self, name: str) -> str | None:
        """An environment variable."""
        return os.environ.get(name)


HERE = Machine()


class Card(NamedTuple):
    """A GPU as the driver describes it."""

    number: int
    name: str
    capability: tuple[int, int]
    memory: int


class Driver(NamedTuple):
    """The driver's CUDA version, such as (13, 0), and its cards."""

    version: tuple[int, int]
    cards: list[Card]


def pip_line(version: tuple[int, int] | None) -> str:
    """What installs CuPy and its libraries for a driver."""
    major = 12 if version is not None and version < (13, 0) else 13
    return f'pip install "cupy-cuda{major}x[ctk]>={CUPY_MAJOR}"'


# ---- the driver -----------------------------------------------------------------------
def open_driver(machine: Machine = HERE) -> Driver:
    """Ask the driver for its version and cards.

    Raises
    ------
    NoDevice
        If there is no driver, it does not start, or it has no card.
    """
    try:
        library = machine.library(LIBRARY)
    except OSError:
        raise NoDevice(
            f"no NVIDIA driver is installed ({LIBRARY} is not there): install it, then {pip_line(None)}, "
            'or use Context("cpu")'
        ) from None
    code = library.cuInit(0)
    if code and code != NO_CARD:
        raise NoDevice(f"the NVIDIA driver does not start: {_code_text(code)}")
    number = _int(library.cuDeviceGetCount) if not code else 0
    if not number:
        raise NoDevice(_no_card(machine))
    version = _int(library.cuDriverGetVersion)
    return Driver((version // 1000, version % 1000 // 10), [_card(library, i) for i in range(number)])


def _int(function: Any, *args: Any) -> int:
    value = ctypes.c_int()
    code = function(ctypes.byref(value), *args)
    if code:
        raise NoDevice(f"the NVIDIA driver does not answer: {_code_text(code)}")
    return value.value


def _code_text(code: int) -> str:
    return f"{CODES[code]} (CUDA error {code})" if code in CODES else f"CUDA error {code}"


def _card(library: Any, number: int) -> Card:
    device = _int(library.cuDeviceGet, number)
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, 256, device)
    memory = ctypes.c_size_t()
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    capability = tuple(_int(library.cuDeviceGetAttribute, attribute, device) for attribute in (MAJOR, MINOR))
    return Card(number, name.value.decode(errors="replace"), capability, memory.value)  # type: ignore[arg-type]


def _no_card(machine: Machine) -> str:
    shown = machine.variable("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return "the NVIDIA driver finds no GPU, or none that this process (or container) may use"
    if not shown.strip() or shown.strip() == "-1":
        return f"$CUDA_VISIBLE_DEVICES is {shown!r}, which hides every GPU: unset it, or name one that nvidia-smi lists"
    return f"$CUDA_VISIBLE_DEVICES is {shown!r}, which names no GPU of this machine: nvidia-smi lists what there is"


# ---- what a device takes --------------------------------------------------------------
def check(number: int, machine: Machine = HERE) -> None:
    """Raise NoDevice, in one sentence, unless GPU `number` can be used through CuPy."""
    try:
        driver = open_driver(machine)
        _check_card(number, driver, machine)
        cupy = _import_cupy(driver.version, machine)
        _check_libraries(cupy, driver.version, machine)
        _check_kernel(number, cupy, driver.version)
    except NoDevice as error:
        raise NoDevice(f"cuda:{number}: {error}") from error.__cause__


def find(machine: Machine = HERE) -> int | None:
    """The GPU for programs that name none: the first that can be used; None means the CPU.

    Where CuPy is not installed nobody asked for a GPU, and nothing is said. Where it is, and a card is there that
    cannot be used all the same, a warning says why.
    """
    try:
        driver = open_driver(machine)
    except NoDevice:
        return None
    modern = [card.number for card in driver.cards if card.capability >= OLDEST]
    if not modern or not machine.has_module("cupy"):
        return None
    try:
        check(modern[0], machine)
    except NoDevice as error:
        warnings.warn(f"computing on the CPU, since the GPU cannot be used: {error}", stacklevel=2)
        return None
    return modern[0]


def _check_card(number: int, driver: Driver, machine: Machine) -> None:
    count = len(driver.cards)
    if number >= count:
        shown = machine.variable("CUDA_VISIBLE_DEVICES")
        names = "only cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise NoDevice(f"there is {names}" + (f" ($CUDA_VISIBLE_DEVICES is {shown!r})" if shown is not None else ""))
    card = driver.cards[number]
    if card.capability < OLDEST:
        raise NoDevice(
            f"{card.name} has compute capability {_dotted(card.capability)}, but {_dotted(OLDEST)} (Ampere, 2020) or "
            'newer is needed: use Context("cpu")'
        )
    if driver.version < (12, 0):
        raise NoDevice(
            f"the NVIDIA driver is for CUDA {_dotted(driver.version)}, but CUDA 12 or newer is needed: update it, "
            f"then {pip_line(None)}"
        )


def _import_cupy(version: tuple[int, int], machine: Machine) -> Any:
    if not machine.has_module("cupy"):
        raise NoDevice(f"CuPy is not installed: {pip_line(version)}")
    try:
        return machine.module("cupy")
    except ImportError as error:
        raise NoDevice(
            f"CuPy is installed, but cannot be imported ({_first_line(error)}): pip uninstall {_package(machine)}, "
            f"then {pip_line(version)}"
        ) from error


def _check_libraries(cupy: Any, version: tuple[int, int], machine: Machine) -> None:
    again = f"pip uninstall {_package(machine)}, then {pip_line(version)}"
    runtime = cupy.cuda.runtime
    if runtime.is_hip:
        raise NoDevice(f"the CuPy that is installed is for AMD's ROCm: {again}")
    if int(cupy.__version__.partition(".")[0]) < CUPY_MAJOR:
        raise NoDevice(f"CuPy {cupy.__version__} is installed, but {CUPY_MAJOR} or newer is needed: {again}")
    needs = runtime.runtimeGetVersion()
    if needs // 1000 > version[0]:
        raise NoDevice(
            f"the CuPy that is installed is for CUDA {needs // 1000}, but the NVIDIA driver for CUDA {_dotted(version)}"
            f": {again}, or update the driver"
        )
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        raise NoDevice(f"NVRTC, CUDA's compiler, is not installed: {pip_line(version)}") from error


def _check_kernel(number: int, cupy: Any, version: tuple[int, int]) -> None:
    """Compile and run the smallest of CuPy's own kernels, which include CUDA's headers (ours don't)."""
    try:
        with cupy.cuda.Device(number):
            cupy.arange(2, dtype="int32").get()
    except Exception as error:
        text = str(error)
        if "cannot open source file" in text or "header" in text.lower():
            raise NoDevice(f"CUDA's header files are not installed: {pip_line(version)}") from error
        if "gpu-architecture" in text or "no kernel image" in text:
            raise NoDevice(f"the CUDA libraries installed are too old for this card: {pip_line(version)}") from error
        raise NoDevice(f"CuPy cannot run a kernel here: {_first_line(error)}") from error


def _package(machine: Machine) -> str:
    """The package that brought CuPy."""
    return next((name for name in CUPY_PACKAGES if machine.version(name)), "cupy")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _first_line(error: BaseException) -> str:
    """What an error says, without the frames that some draw around it."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line.strip("=")), type(error).__name__)


def atomics_between(one: int, other: int, machine: Machine | None = None) -> bool:
    """Whether atomics of a GPU's kernels work in another one's memory: over NVLink they do, over PCIe mostly not."""
    found = ctypes.c_int(0)
    library = (machine or Machine()).library(LIBRARY)
    return library.cuDeviceGetP2PAttribute(ctypes.byref(found), NATIVE_ATOMICS, one, other) == 0 and found.value != 0
