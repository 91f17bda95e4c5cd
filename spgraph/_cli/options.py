"""Types of options that several commands have."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy as np

from semirings.dtypes import lookup_dtype

__all__ = ["above", "add_device", "at_least", "dtype_of", "file_name", "no_place", "picture_name"]


def at_least(least: int) -> Callable[[str], int]:
    """A type for integers from `least` on."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"got {value}, wanted {least} or more")
        return value

    return integer


def above(least: float) -> Callable[[str], float]:
    """A type for numbers greater than `least`."""

    def number(text: str) -> float:
        value = float(text)
        if not value > least:
            raise argparse.ArgumentTypeError(f"got {text}, wanted more than {least:g}")
        return value

    return number


def add_device(parser) -> None:
    """The option ``--device``."""
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        help="cpu, cuda, cuda:1 (the second GPU), cpu:4 (the CPU in four parts), 4 (so many GPUs, or parts of the CPU "
        "where there is none) or auto: a GPU if one can be used (default: $SPGRAPH_DEVICE, or auto)",
    )


def no_place(path: str) -> str | None:
    """Why no file can be written there, as far as that can be told before."""
    if not path:
        return "got '', wanted the name of a file"
    if os.path.isdir(path):
        return f"{path} is a folder, wanted the name of a file"
    folder = os.path.dirname(path) or "."
    return None if os.path.isdir(folder) else f"{path}: there is no folder {folder}"


def file_name(text: str) -> str:
    """A type for names of files that are written."""
    problem = no_place(text)
    if problem:
        raise argparse.ArgumentTypeError(problem)
    return text


def picture_name(text: str) -> str:
    """A type for names of pictures that matplotlib draws; it adds ``.png`` to those without a suffix."""
    path = file_name(text)
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise argparse.ArgumentTypeError("it needs matplotlib: pip install matplotlib") from None
    suffix, known = os.path.splitext(path)[1][1:].lower(), FigureCanvasBase.get_supported_filetypes()
    if suffix and suffix not in known:
        wanted = ", ".join(f".{name}" for name in sorted(known))
        raise argparse.ArgumentTypeError(f"{path}: wanted a name that ends with {wanted}")
    return path


def dtype_of(text: str) -> np.dtype:
    """A type for names of dtypes."""
    try:
        return lookup_dtype(text).np_type
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
