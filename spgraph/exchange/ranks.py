"""The processes that ``mpiexec`` has started, where each does its share of one piece of work, as loading a graph.

What one of them does wrong all of them raise: an error that is made inside `together` goes to the others when they next
call something here, so none of them waits for one that has failed. All must call the same things in the same order.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from spgraph.partition.layout import even

__all__ = ["ALONE", "Alone", "Ranks", "is_of_all", "ranks_of"]

OF_ALL = "_spgraph_of_all"  # attribute of an error that all processes know


class Alone:
    """One process, which does all of it.

    Attributes
    ----------
    rank, count : int
        Number of this process, and how many there are.
    """

    rank = 0
    count = 1

    @property
    def first(self) -> bool:
        """Whether this is the process with the first share."""
        return self.rank == 0

    @property
    def last(self) -> bool:
        """Whether this is the process with the last share."""
        return self.rank == self.count - 1

    def share(self, items: int) -> tuple[int, int]:
        """The range of 0..items that this process does.

        Examples
        --------
        >>> ALONE.share(7)
        (0, 7)
        """
        first, last = even(items, self.count)[self.rank : self.rank + 2].tolist()
        return first, last

    def together(self) -> Any:
        """``with ranks.together():`` an error inside is raised by all."""
        return contextlib.nullcontext()

    def gather(self, value: Any) -> list:
        """What each process has, in their order, everywhere."""
        return [value]

    def exchange(self, messages: list[tuple]) -> list[tuple]:
        """Send a tuple of arrays (or of whatever can be pickled) to each process; what came from each."""
        return messages

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """The sum of the arrays, which have one shape, of all processes."""
        return numbers

    def to_first(self, array: np.ndarray) -> np.ndarray:
        """What all have, one after the other, in the first process; nothing in the others."""
        nothing = array[:0]
        came = self.exchange([(array if rank == 0 else nothing,) for rank in range(self.count)])
        return np.concatenate([some for (some,) in came])

    def before(self, count: int) -> int:
        """How many the processes before this one have."""
        return sum(self.gather(count)[: self.rank])

    def distinct(self, ids: np.ndarray) -> np.ndarray:
        """The distinct numbers of 0 or more that any process has, ascending, as `ids` are."""
        owner = ids % self.count
        came = self.exchange([(ids[owner == rank],) for rank in range(self.count)])
        mine = np.sort(np.concatenate([some for (some,) in came]))
        mine = mine[np.append(True, mine[1:] != mine[:-1])[: mine.size]]
        return np.sort(np.concatenate(self.gather(mine)))

    def distinct_texts(self, texts: set[str]) -> list[str]:
        """The distinct texts that any process has, sorted."""
        if self.count == 1:
            return sorted(texts)
        shares: list[list[str]] = [[] for _ in range(self.count)]
        for text in texts:
            shares[zlib.crc32(text.encode()) % self.count].append(text)
        mine = set().union(*(some for (some,) in self.exchange([(share,) for share in shares])))
        return sorted(text for some in self.gather(mine) for text in some)


class Ranks(Alone):
    """Several processes, which a transport joins.

    Parameters
    ----------
    transport : object with ``mine``, `gather` and `all_to_all`
        See `exchange.transport`; each process has one part.
    count : int
    """

    def __init__(self, transport: Any, count: int):
        self.transport = transport
        self.rank = transport.mine[0]
        self.count = count

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """See `Alone`."""
        try:
            yield
        except Exception as error:
            if not is_of_all(error):
                self._agree(error)
            raise
        self._agree(None)

    def _agree(self, error: Exception | None) -> None:
        """Raise the error of the first process that has one."""
        self._checked([error], self.transport.gather([(_sent(error), None)]))

    def _checked(self, own: list, found: list) -> list:
        """The values that came with no error, or the first error."""
        for rank, (error, _) in enumerate(found):
            if error is not None:
                error = own[0] if rank == self.rank else pickle.loads(error)
                setattr(error, OF_ALL, True)
                raise error
        return [value for _, value in found]

    def gather(self, value: Any) -> list:
        """See `Alone`."""
        return self._checked([None], self.transport.gather([(None, value)]))

    def exchange(self, messages: list[tuple]) -> list[tuple]:
        """See `Alone`."""
        self._agree(None)
        return self.transport.all_to_all([messages])[0]

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """See `Alone`. Each process adds up a share of the places: no more than three arrays are held."""
        cuts = even(numbers.shape[0], self.count)
        came = self.exchange([(numbers[a:b],) for a, b in itertools.pairwise(cuts)])
        mine = came[0][0].copy()
        for (some,) in came[1:]:
            mine += some
        return np.concatenate(self.gather(mine))


def is_of_all(error: Exception) -> bool:
    """Whether all processes raise it already."""
    return getattr(error, OF_ALL, False)


def _sent(error: Exception | None) -> bytes | None:
    """An error as it travels; one that cannot, as a RuntimeError with its words."""
    if error is None:
        return None
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


ALONE = Alone()


def ranks_of(device: Any) -> Alone:
    """The processes that a device stands for: `ALONE` unless it is the group of several.

    Examples
    --------
    >>> from spgraph.kernels.device import HOST
    >>> ranks_of(HOST).count
    1
    """
    group = device.group
    if group is None or None not in group.devices:
        return ALONE
    return Ranks(group.transport, group.parts)
