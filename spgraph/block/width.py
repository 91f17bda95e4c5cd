"""Index widths: 32 bits wherever they suffice, else 64.

``LIMIT`` is the first number that no longer fits a narrow index. Tests lower it
to drive the widening with small objects.
"""

from __future__ import annotations

import numpy as np

LIMIT = 2**31 - 1
NARROW = np.dtype(np.int32)
WIDE = np.dtype(np.int64)


def index_dtype(count: int) -> np.dtype:
    """dtype that holds indices and offsets 0..count."""
    return NARROW if count < LIMIT else WIDE
