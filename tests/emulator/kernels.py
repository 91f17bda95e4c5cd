"""Assembled kernel texts as functions of the host: compiled by g++ with emulator.h, run by emulator.cpp.

A text becomes one shared object in the cache folder, named by a hash of everything that goes into it. Under a sanitizer
("address" or "thread"), whose library must be loaded before Python (see `preload`), what it finds is an error of the
launch.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from spgraph.kernels.cpu._specialise import cache_dir

__all__ = ["CompileError", "EmulationError", "Function", "compile_kernel", "preload", "sanitizer"]

FOLDER = Path(__file__).parent
HEADER, RUNTIME = FOLDER / "emulator.h", FOLDER / "emulator.cpp"
FLAGS = ["-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing"]
HIDDEN = "-fvisibility=hidden"
QUICKLY = ["-O0", HIDDEN]  # most kernels run for less than a millisecond, and are compiled for more than a hundred
SANITIZED = {
    "address": ["-g", "-DEMULATE_COPIES", "-fsanitize=address", "-fsanitize-recover=address"],
    "thread": ["-g", "-DEMULATE_COPIES", "-fsanitize=thread", "--param=tsan-distinguish-volatile=1"],
}


class EmulationError(RuntimeError):
    """A kernel did what no kernel may do."""


class CompileError(RuntimeError):
    """g++ refuses a text."""


def sanitizer() -> str | None:
    """The sanitizer that this process runs under ("address" or "thread")."""
    return os.environ.get("SPGRAPH_EMULATOR_SANITIZE") or None


def preload(name: str) -> dict[str, str]:
    """The environment in which Python can load sanitized kernels."""
    library = subprocess.run(
        ["g++", f"-print-file-name=lib{name[0]}san.so"], check=True, capture_output=True, text=True
    )
    log = Path(tempfile.gettempdir()) / f"spgraph-sanitizer-{os.getuid()}"
    return {
        "SPGRAPH_EMULATOR_SANITIZE": name,
        "SPGRAPH_EMULATOR_LOG": str(log),
        "LD_PRELOAD": os.path.realpath(library.stdout.strip()),
        "ASAN_OPTIONS": f"detect_leaks=0:handle_segv=0:halt_on_error=0:log_path={log}",
        "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:exitcode=0:history_size=0:suppress_equal_addresses=0"
        f":log_path={log}",
    }


def compile_kernel(name: str, text: str, *, shared_bytes: int = 0) -> Function:
    """The function of an assembled text whose kernel is called `name` and takes a ``struct Args``."""
    return Function(name, text, shared_bytes)


class Function:
    """A compiled kernel.

    ``function(blocks, threads, arguments)`` runs it; `arguments` is the address of the packed ``struct Args``.
    """

    def __init__(self, name: str, text: str, shared_bytes: int = 0):
        self.name = name
        self.shared_bytes = shared_bytes
        self._path = _kernel_object(name, text, sanitizer())
        self._copies: list[int] = []
        self._pointers: Any = None

    def __call__(self, blocks: int, threads: int, arguments: int) -> None:
        mode = sanitizer()
        copies = blocks if mode else 1
        if mode:
            _Log.begin()
        if len(self._copies) < copies:
            self._load(copies)
        message = ctypes.create_string_buffer(1000)
        failed = _runtime(mode).emu_launch(
            self._pointers,
            copies,
            blocks,
            threads,
            self.shared_bytes,
            ctypes.c_void_p(arguments),
            message,
            len(message),
        )
        if failed:
            raise EmulationError(message.value.decode())
        if mode and (found := _Log.news()):
            raise EmulationError(f"kernel {self.name}: {found}")

    def _load(self, copies: int) -> None:
        """Under a sanitizer each block runs a copy of the library, so that its static shared memory is its own."""
        while len(self._copies) < copies:
            path = self._path
            if self._copies:
                path = Path(tempfile.mkdtemp(dir=_scratch())) / path.name
                shutil.copy(self._path, path)
            library = ctypes.CDLL(str(path))
            self._copies.append(ctypes.addressof(ctypes.c_char.in_dll(library, "emu_kernel")))
        self._pointers = (ctypes.c_void_p * copies)(*self._copies)


class _Log:
    """What the sanitizer has written."""

    read = 0
    begun = False

    @classmethod
    def begin(cls) -> None:
        """Before the first launch: what an earlier process of this number has left is not ours."""
        if not cls.begun:
            cls.path().unlink(missing_ok=True)
            cls.begun = True

    @staticmethod
    def path() -> Path:
        return Path(f"{os.environ['SPGRAPH_EMULATOR_LOG']}.{os.getpid()}")

    @classmethod
    def news(cls) -> str:
        """What it has written since the last time."""
        path = cls.path()
        if not path.exists():
            return ""
        text = path.read_text("utf-8", "replace")
        new, cls.read = text[cls.read :], len(text)
        return new[:4000]


@functools.cache
def _scratch() -> str:
    import atexit

    folder = tempfile.mkdtemp(prefix="spgraph-emulator-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _runtime(mode: str | None) -> ctypes.CDLL:
    flags = [*FLAGS, "-shared", "-O2", "-pthread", f"-I{FOLDER}"]
    if mode:
        flags.append(f"-DEMULATE_{mode.upper()}")
    path = _compiled("emulator", RUNTIME.read_text("utf-8"), flags)
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _kernel_object(name: str, text: str, mode: str | None) -> Path:
    _runtime(mode)  # before the kernel, which names its functions
    text = re.sub(
        r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:<> ]+?)\s*\b(\w+)\s*\[\s*\]\s*;",
        r"\1* \2 = (\1*)emu_shared_memory();",
        text,
    )
    header = HEADER if mode else _precompiled_header()
    text = f'#include "{header}"\nnamespace {{\n#line 1 "{name}.cuh"\n{text}\n}}\nEMU_EXPORT({name})\n'
    flags = [*FLAGS, "-shared", "-w", *(["-O1", HIDDEN, *SANITIZED[mode]] if mode else [*QUICKLY, "-nostdlib"])]
    return _compiled(name, text, flags)


@functools.cache
def _precompiled_header() -> Path:
    """A copy of the header with what g++ made of it beside; should that not fit, g++ reads the copy."""
    key = hashlib.sha256("\0".join([_header_text(), *FLAGS, *QUICKLY]).encode()).hexdigest()[:24]
    path = _folder() / f"emulator_{key}.h"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=_folder()) as scratch:
            header = Path(scratch) / path.name
            header.write_text(_header_text(), "utf-8")
            subprocess.run(["g++", *FLAGS, *QUICKLY, "-x", "c++-header", str(header)], check=True)
            os.replace(f"{header}.gch", f"{path}.gch")
            os.replace(header, path)
    return path


@functools.cache
def _header_text() -> str:
    return HEADER.read_text("utf-8")


def _compiled(name: str, text: str, flags: list[str]) -> Path:
    """The shared object of a text, from the cache if it is there."""
    key = hashlib.sha256("\0".join([text, _header_text(), *flags]).encode()).hexdigest()[:24]
    path = _folder() / f"emulated_{name}_{key}.so"
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(dir=_folder()) as scratch:
        source, product = Path(scratch) / f"{name}.cpp", Path(scratch) / "product.so"
        source.write_text(text, "utf-8")
        command = ["g++", *flags, "-o", str(product), str(source)]
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise CompileError(_explained(name, text, done.stderr))
        os.replace(product, path)
    return path


@functools.cache
def _folder() -> Path:
    return cache_dir()


def _explained(name: str, text: str, errors: str) -> str:
    """g++'s messages with the lines that they are about."""
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.startswith("#line 1")), -1)
    shown = []
    for found in re.finditer(rf"^{name}\.\w+:(\d+):.*error.*$", errors, re.M):
        number = int(found[1])
        about = range(max(number - 2, 1), number + 3)
        shown += [found[0], *(f"  {n:5} {lines[start + n]}" for n in about if start + n < len(lines))]
    return f"kernel {name}:\n" + "\n".join(shown[:60] or errors.splitlines()[:60])
