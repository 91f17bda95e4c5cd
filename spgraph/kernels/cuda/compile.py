"""Machine code of assembled texts: by NVRTC through CuPy, kept beside the CPU's kernels in `cache_dir`.

CuPy's own cache is not used, since CuPy compiles what goes into it with ``-ftz=true``: 32-bit floats below 1.2e-38
would be zeros on a GPU and numbers on a CPU.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from spgraph.kernels.cpu._specialise import cache_dir

__all__ = ["machine_code"]

OPTIONS = ("-std=c++17",)
DIGEST = 32  # bytes behind the code


def machine_code(cupy: Any, name: str, text: str, capability: str) -> bytes:
    """The cubin of a text, for a GPU of that compute capability ("90")."""
    versions = f"{cupy.__version__} {cupy.cuda.nvrtc.getVersion()} {capability} {OPTIONS}"
    key = hashlib.sha256(f"{versions}\0{text}".encode()).hexdigest()[:24]
    folder = cache_dir()
    path = folder / f"{name}_{key}.cubin"
    try:
        kept = path.read_bytes()
    except FileNotFoundError:
        kept = b""
    code, digest = kept[:-DIGEST], kept[-DIGEST:]
    if code and hashlib.sha256(code).digest() == digest:  # else a write was cut off
        return code
    code, _ = cupy.cuda.compiler.compile_using_nvrtc(text, OPTIONS, filename=f"{name}.cu")
    handle, scratch = tempfile.mkstemp(dir=folder, prefix=path.stem)  # other processes never see half of it
    with os.fdopen(handle, "wb") as file:
        file.write(code + hashlib.sha256(code).digest())
    Path(scratch).replace(path)
    return code
