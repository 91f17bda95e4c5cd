"""What all processes make together, against what one makes alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import spgraph as sg
from spgraph.exchange.ranks import ranks_of


def outcome(call: Any) -> Any:
    """A matrix, or what went wrong."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def compare(what: str, call: Any) -> Any:
    """The same in all processes together, and in this one alone."""
    got = outcome(call)
    with sg.Context("cpu"):
        wanted = outcome(call)
    if isinstance(wanted, tuple):
        assert got == wanted, f"{what}: {got}, wanted {wanted}"
        return None
    assert not isinstance(got, tuple), f"{what}: {got}"
    assert got.shape == wanted.shape, what
    for one, other in zip(got.to_coo(), wanted.to_coo()):
        assert one.dtype == other.dtype and np.array_equal(one, other), what
    assert str(got.report) == str(wanted.report), f"{what}: {got.report}, wanted {wanted.report}"
    assert (got.labels is None) == (wanted.labels is None), what
    assert wanted.labels is None or got.labels.tolist() == wanted.labels.tolist(), what
    assert got.symmetric == wanted.symmetric, what
    return got


def wait() -> None:
    """Until all processes have come here."""
    ranks_of(sg.context.device()).gather(None)
