"""A trace in Chrome's trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing show."""

from __future__ import annotations

from typing import Any

from spgraph._trace._records import Record, Span, by_superstep

__all__ = ["chrome"]


def chrome(records: list[Record], spans: list[Span], name: str) -> dict[str, Any]:
    """The JSON object: a line for each part, one for supersteps, and counters for frontier and bytes."""
    names = {one.part: one.device for one in records}
    steps = max(names, default=-1) + 1  # the line of the supersteps
    events: list[dict[str, Any]] = [_named("process_name", 0, name or "spgraph")]
    events += [_named("thread_name", part, f"part {part} ({device})") for part, device in sorted(names.items())]
    events.append(_named("thread_name", steps, "supersteps"))
    for one in spans:
        args = {"superstep": one.superstep, "kind": one.kind}
        label = one.operation if one.kind == "compute" else f"exchange ({one.operation})" if one.operation else one.kind
        events.append(_interval(label or "read", one.kind, one.part, one.start, one.seconds, args))
    found = by_superstep(records)
    last = max((one.start + one.seconds for one in spans), default=0.0)
    for step, after in zip(found, [*found[1:], None]):
        first = step[0]
        frontier, nbytes = sum(one.frontier for one in step), sum(one.sent_bytes for one in step)
        args = {"direction": first.direction, "others": first.others, "frontier": frontier, "sent_bytes": nbytes,
                "edges": sum(one.edges for one in step)}  # fmt: skip
        end = after[0].start if after else last
        label = f"{first.superstep} {first.operation}" if first.operation else "after"
        events.append(_interval(label, "superstep", steps, first.start, max(end - first.start, 0.0), args))
        for what, count in (("frontier", frontier), ("bytes sent", nbytes)):
            events.append({"name": what, "ph": "C", "pid": 0, "ts": first.start * 1e6, "args": {what: count}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _named(kind: str, line: int, text: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": 0, "tid": line, "args": {"name": text}}


def _interval(name: str, kind: str, line: int, start: float, seconds: float, args: dict) -> dict[str, Any]:
    return {"name": name, "cat": kind, "ph": "X", "pid": 0, "tid": line, "ts": start * 1e6, "dur": seconds * 1e6,
            "args": args}  # fmt: skip
