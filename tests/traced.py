"""What a call holds at most, as Python's allocators and NumPy tell it."""

import tracemalloc

from spgraph.kernels.cpu._specialise import statistics


def peak(call):
    """Bytes that `call()` holds at most beyond what was held before, and its result.

    Numba holds megabytes while it compiles or loads a kernel, and a kernel's work before may have been nearly enough
    for that: a call during which it happened does not count.
    """
    while True:
        known = statistics()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = call()
            held = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        if statistics() == known:
            return held, result
