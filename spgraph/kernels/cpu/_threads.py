"""Run one kernel on many ranges with a pool of threads.

Kernels release the GIL, so plain threads serve: no second, parallel version of
a kernel has to be compiled, and the number of threads is a run-time matter.
Ranges are handed out one at a time, so uneven rows balance by themselves. The
calling thread works too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from semirings.exceptions import InvalidValue

__all__ = ["parallel_calls", "parallel_for", "set_threads", "split_even", "split_rows", "threads", "together",
           "waiting"]

CHUNKS_PER_THREAD = 8
PARALLEL_WORK = 60_000  # entries below which a second thread costs more than it saves (wake-up: about 40 us)

_workers: list = []
_busy = threading.Lock()
_setting = threading.local()  # of the calling thread. count: as the context is; absent: not asked for yet; together


def _default() -> int:
    named = os.environ.get("SPGRAPH_NUM_THREADS")
    if named:
        if not named.isdigit() or int(named) < 1:
            raise InvalidValue(f"SPGRAPH_NUM_THREADS: got {named!r}, wanted a positive integer")
        return int(named)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Number of threads that kernels use."""
    return getattr(_setting, "count", 0) or set_threads(None)


def set_threads(count: int | None) -> int:
    """Set the number of threads (None: all cores of this process); returns the number before."""
    before = getattr(_setting, "count", 0) or _default()
    _setting.count = count or _default()
    return before


def _after_fork() -> None:
    global _busy
    _workers.clear()  # threads do not survive a fork
    _busy = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def parallel_for(kernel, bounds, work: int, args: tuple) -> list:
    """``[kernel(work, lo, hi, *args) for lo, hi in bounds]``, on several threads.

    Parameters
    ----------
    kernel : Kernel
        Takes (lo, hi, *args) and writes only what belongs to its range.
    bounds : list of (int, int)
    work : int
        Entries that all ranges look at together.
    args : tuple

    Returns
    -------
    list
        Results in the order of `bounds`.
    """
    if threads() == 1 or len(bounds) == 1 or not kernel.ready(work):
        return [kernel(work, lo, hi, *args) for lo, hi in bounds]
    return _spread(kernel.fn, [(lo, hi, *args) for lo, hi in bounds])


def parallel_calls(kernel, work: int, calls: list[tuple]) -> list:
    """``[kernel(work, *args) for args in calls]``, on several threads."""
    if threads() == 1 or len(calls) == 1 or not kernel.ready(work):
        return [kernel(work, *args) for args in calls]
    return _spread(kernel.fn, calls)


class _Together:
    """Calls of kernels over ranges that wait, to be spread over the threads at once.

    Several parts of one CPU run the same kernel one after the other, each on little work: waking the threads for each
    of them would cost as much as the work.
    """

    def __init__(self) -> None:
        self._calls: list = []  # (kernel, bounds, work, args, result)

    def add(self, kernel, bounds, work: int, args: tuple) -> _Result:
        """Let a call wait."""
        result = _Result(self)
        self._calls.append((kernel, bounds, work, args, result))
        return result

    def run(self) -> None:
        """Run what waits."""
        calls, self._calls = self._calls, []
        for kernel in dict.fromkeys(call[0] for call in calls):
            same = [call for call in calls if call[0] is kernel]
            work = sum(call[2] for call in same)
            ranges = [(lo, hi, *args) for _, bounds, _, args, _ in same for lo, hi in bounds]
            run = parallel_calls if work >= PARALLEL_WORK else _one_by_one
            results = iter(run(kernel, work, ranges))
            for _, bounds, _, _, result in same:
                result.results = [next(results) for _ in bounds]


class _Result:
    """What a call that waits will have returned; see `kernels.device.Done`."""

    __slots__ = ("_together", "results")

    def __init__(self, calls: _Together):
        self._together = calls
        self.results: list | None = None

    def get(self) -> list:
        """The results, one per range."""
        if self.results is None:
            self._together.run()
        return self.results  # type: ignore[return-value]

    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return self.results is not None


def _one_by_one(kernel, work: int, calls: list[tuple]) -> list:
    return [kernel(work, *args) for args in calls]


def waiting() -> _Together | None:
    """Where calls of this thread wait at the moment, if they do."""
    return getattr(_setting, "together", None)


@contextmanager
def _until_the_end() -> Iterator[None]:
    calls = _setting.together = _Together()
    try:
        yield
    finally:
        _setting.together = None
        calls.run()


_NONE_WAITS: Any = nullcontext()


def together(begins: bool) -> Any:
    """Within it, calls whose results are asked for later wait until one is, or until the end.

    Not those of devices that begin a call and do not wait for it anyhow.
    """
    return _NONE_WAITS if begins or waiting() is not None else _until_the_end()


class _Worker:
    """A daemon thread that runs one job at a time; two locks hand the job over and back.

    An executor's queue, future and condition variable cost several times as much per job,
    which shows in kernels of a millisecond.
    """

    __slots__ = ("_done", "_go", "_job", "_problem")

    def __init__(self):
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._job = self._problem = None
        threading.Thread(target=self._run, name="spgraph", daemon=True).start()

    def _run(self):
        while True:
            self._go.acquire()
            job = self._job
            if job is None:
                return
            try:
                job()
            except BaseException as problem:
                self._problem = problem
            self._job = None
            self._done.release()

    def start(self, job) -> None:
        self._job = job
        self._go.release()

    def wait(self):
        """Wait until the job is done; the exception that ended it, or None."""
        self._done.acquire()
        problem, self._problem = self._problem, None
        return problem

    def retire(self) -> None:
        """Let the thread end, now or when its job does."""
        self._job = None
        with suppress(RuntimeError):  # it has not taken its last job yet
            self._go.release()


class _Spread:
    """Calls of a kernel, for whoever takes the next one."""

    def __init__(self, fn, calls: list[tuple], parts: int):
        self.fn = fn
        self.results = [None] * len(calls)
        self._tasks = iter(enumerate(calls))
        self._inside = [False] * parts  # a kernel
        self._stopped = False

    def drain(self, part: int) -> None:
        try:
            for number, args in self._tasks:  # advancing the iterator is atomic under the GIL
                self._inside[part] = True
                if self._stopped:
                    break
                self.results[number] = self.fn(*args)
                self._inside[part] = False
        finally:  # also where a kernel raises
            self._inside[part] = False

    def stop(self) -> None:
        """No call begins any more, and none is under way: kernels write into workspaces that others use next."""
        self._stopped = True
        while True:
            try:
                while any(self._inside[1:]):
                    time.sleep(0.0005)
                return
            except KeyboardInterrupt:  # one more; the first one is on its way
                continue


def _spread(fn, calls: list[tuple]) -> list:
    count = min(threads(), len(calls))
    spread = _Spread(fn, calls, count)
    if not _busy.acquire(blocking=False):  # another thread of the caller's has the workers
        spread.drain(0)
        return spread.results
    try:
        while len(_workers) < count - 1:
            _workers.append(_Worker())
        for part, worker in enumerate(_workers[:count - 1], 1):
            worker.start(partial(spread.drain, part))
        spread.drain(0)
        problems = [worker.wait() for worker in _workers[:count - 1]]
    except BaseException:  # an interrupt, anywhere: nobody knows what the workers have been told
        spread.stop()
        retired, _workers[:] = _workers[:], []
        for worker in retired:
            worker.retire()
        raise
    finally:
        _busy.release()
    for problem in problems:
        if problem is not None:
            raise problem
    return spread.results


def split_even(count: int, work: int) -> list[tuple[int, int]]:
    """Ranges of equal length; one when `work` is too little to share."""
    if threads() == 1 or work < PARALLEL_WORK:
        return [(0, count)]
    parts = threads() * 2
    cuts = [count * part // parts for part in range(parts + 1)]
    return list(pairwise(cuts))


def split_rows(indptr: np.ndarray, work: int) -> list[tuple[int, int]]:
    """Ranges of rows with about equal numbers of entries plus rows."""
    count = indptr.size - 1
    if threads() == 1 or work < PARALLEL_WORK:
        return [(0, count)]
    chunks = threads() * CHUNKS_PER_THREAD
    # weight of the first r rows is indptr[r] + r: find where it passes each share
    total = int(indptr[-1]) + count
    cuts = [0]
    for share in range(1, chunks):
        target = total * share // chunks
        lo, hi = cuts[-1], count
        while lo < hi:
            middle = (lo + hi) // 2
            if int(indptr[middle]) + middle < target:
                lo = middle + 1
            else:
                hi = middle
        cuts.append(lo)
    cuts.append(count)
    return [(lo, hi) for lo, hi in pairwise(cuts) if lo < hi]
