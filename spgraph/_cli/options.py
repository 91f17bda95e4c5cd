"""Types of options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from semirings.dtypes import lookup_dtype

__all__ = ["at_least", "dtype_of"]


def at_least(least: int) -> Callable[[str], int]:
    """A type for integers from `least` on."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"got {value}, wanted {least} or more")
        return value

    return integer


def dtype_of(text: str) -> np.dtype:
    """A type for names of dtypes."""
    try:
        return lookup_dtype(text).np_type
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None
