"""What a long comparison is doing: a bar on a terminal, else a line for everything that is done."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

__all__ = ["Progress"]


class Progress:
    """Shown on stderr while the body of a ``with`` runs.

    Parameters
    ----------
    total : int
        Steps of the bar.
    shown : bool, optional
        True: a bar. False: nothing. Default: a bar if stderr is a terminal, else lines.
    """

    def __init__(self, total: int, shown: bool | None = None):
        there = sys.stderr is not None
        terminal = there and sys.stderr.isatty()
        self._lines = shown is None and there and not terminal
        self._bar = tqdm(total=total, leave=False, disable=not (terminal if shown is None else shown))
        self._start = time.perf_counter()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def doing(self, text: str) -> None:
        """What goes on, on the bar."""
        self._bar.set_description(text)

    def done(self, text: str) -> None:
        """What is finished, as a line after the seconds since the start."""
        if self._lines:
            print(f"{time.perf_counter() - self._start:7.1f} s  {text}", file=sys.stderr, flush=True)

    def step(self) -> None:
        """One step of the bar more."""
        self._bar.update()
