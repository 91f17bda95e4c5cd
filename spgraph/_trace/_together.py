"""The records of all processes that ``mpiexec`` has started, in each of them."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np

from spgraph._trace._recorder import Recorder, totals
from spgraph._trace._records import Message, Record, Span, by_superstep

__all__ = ["gather", "merged"]


def gather(recorder: Recorder) -> None:
    """Give every process the records of all; called by all of them."""
    transport = recorder.group.transport
    transport.gather([0])  # all leave it at about the same time, from which clocks are compared
    shift = time.perf_counter() - recorder.began
    own = pickle.dumps((recorder.records, recorder.messages, recorder.spans, shift))
    found = [pickle.loads(one.tobytes()) for one in transport.gather([np.frombuffer(own, np.uint8)])]
    recorder.records, recorder.messages, recorder.spans = merged(found, shift)


def merged(found: list[tuple[list[Record], list[Message], list[Span], float]], shift: float) -> Any:
    """One list of each kind.

    A process that waits for another does so within the exchange. The last to come waits least: the shortest exchange of
    a superstep is taken for that of all, and what is more for waiting.
    """
    messages = sorted((message for _, some, _, _ in found for message in some), key=lambda one: one.superstep)
    sent: dict[int, list[Message]] = {}
    for message in messages:
        sent.setdefault(message.superstep, []).append(message)
    records = []
    for step in by_superstep([one._replace(start=one.start + shift - when) for some, _, _, when in found
                              for one in some]):  # fmt: skip
        exchange, seconds = min(one.exchange for one in step), max(one.seconds for one in step)
        for one in sorted(step, key=lambda one: one.part):
            wait = max(seconds - one.compute - exchange, 0.0)
            moved: dict[str, Any] = totals(sent.get(one.superstep, []), one.part)
            records.append(one._replace(**moved, exchange=exchange, wait=wait, seconds=seconds))
    spans = [one._replace(start=one.start + shift - when) for _, _, some, when in found for one in some]
    return records, messages, spans
