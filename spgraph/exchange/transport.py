"""How bytes get from one part to another: all parts in one process.

A message is a tuple of arrays, of NumPy scalars and of None. Every transport has ``mine``, the parts of this process,
``direct``, whether all devices are GPUs whose kernels can store and add into each other's memory (`exchange.direct`),
`all_to_all` and `gather`; each is called by all processes at the same place of the program. One that is direct also has
``linked``, `order` and `follow_messages`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["InProcess"]


class InProcess:
    """The parts are devices of this process.

    Parameters
    ----------
    devices : list of Device
    """

    def __init__(self, devices: list):
        self.devices = devices
        self.mine = range(len(devices))

    @cached_property
    def direct(self) -> bool:
        """See the module docstring."""
        return not any(one.on_host for one in self.devices) and all(
            one.sees(other) for one in self._gpus for other in self._gpus
        )

    @cached_property
    def _gpus(self) -> list:
        return [one for one in dict.fromkeys(self.devices) if not one.on_host]

    def order(self) -> None:
        """What is started from now on, on any GPU, comes after all that was started before, on all of them."""
        gpus = self._gpus
        if len(gpus) > 1:
            with gpus[0]:  # afterwards the one that is current now is so again
                for device in gpus:
                    device.mark()
                for device in gpus:
                    device.follow(gpus)

    @property
    def linked(self) -> bool:
        """Whether there is more than one GPU, so that messages can be under way while these compute."""
        return len(self._gpus) > 1

    def follow_messages(self) -> None:
        """What is started from now on, on any GPU, comes after the messages that all have started."""
        gpus = self._gpus
        with gpus[0]:
            for device in gpus:
                device.follow_messages(gpus)

    def all_to_all(self, sent: list[list[tuple]]) -> list[list[tuple]]:
        """Deliver ``sent[p][q]``, from part p to part q; returns what came, ``came[q][p]``.

        In circular order, so that with real links between devices no two use the same one. A copy between GPUs is in
        the stream of the one that gets it: it comes after what made its source, and before what may overwrite that.
        """
        parts = len(self.devices)
        self.order()
        came: list = [[()] * parts for _ in range(parts)]
        for distance in range(parts):
            for source in range(parts):
                target = (source + distance) % parts
                came[target][source] = tuple(self._moved(one, source, target) for one in sent[source][target])
        self.order()
        return came

    def _moved(self, one: Any, source: int, target: int) -> Any:
        there = self.devices[target]
        if one is None or self.devices[source] is there or type(one) is np.ndarray or isinstance(one, np.generic):
            return one
        with there:
            return there.to_device(one)

    def gather(self, values: list) -> list:
        """A Python or NumPy scalar, or an array of the host, of each part: those of all parts, everywhere."""
        return values
