"""Show on a terminal that something long goes on, and for how long already."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from spgraph.kernels.cpu import _specialise

__all__ = ["Compiled", "watch"]

DELAY = 0.5  # seconds before anything is shown
TICK = 0.1


@contextmanager
def watch(what: str, *, enabled: bool | None = None) -> Iterator[None]:
    """While the body runs, a line on stderr says `what`, the time, and how many kernels were compiled.

    Parameters
    ----------
    enabled : bool, optional
        Default: if stderr is a terminal.
    """
    if not (sys.stderr.isatty() if enabled is None else enabled):
        yield
        return
    stop = threading.Event()
    ticker = threading.Thread(target=_tick, args=(what, stop), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        stop.set()
        ticker.join()


def _tick(what: str, stop: threading.Event) -> None:
    if stop.wait(DELAY):
        return
    before = _specialise.statistics()["compiled"]
    with tqdm(bar_format="{desc}  {elapsed}", leave=False, file=sys.stderr) as bar:
        while True:
            count = int(_specialise.statistics()["compiled"] - before)
            text = f"{what}: compiling kernel {count}, once for this machine" if count else what
            bar.set_description_str(text)
            if stop.wait(TICK):
                return


class Compiled:
    """Kernels that were compiled or loaded since this object was made."""

    def __init__(self) -> None:
        self._start = _specialise.statistics()

    def since(self) -> dict[str, float]:
        """Counts "compiled" and "loaded", and the "seconds" of compiling."""
        now = _specialise.statistics()
        return {name: now[name] - self._start[name] for name in ("compiled", "loaded", "seconds")}
