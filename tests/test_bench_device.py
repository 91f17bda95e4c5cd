"""Comparisons on whatever device the tests run on: answers stay there, and what it does is counted."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from devices import spread

import spgraph as sg
from spgraph import _machine, bench, context
from spgraph.bench import _arrays, _peers, _saved, _spgraph
from spgraph.bench._problem import ALGORITHMS, Answer, Text
from spgraph.exchange import group_of
from spgraph.kernels.device import HOST

MATRIX_PRODUCTS = ("triangles",)  # on a small graph: supersteps are products with vectors


class HostPeer:
    """An engine that computes on the CPU: its answers are NumPy's, whatever the graph lies on."""

    NAME = "hostpeer"

    @staticmethod
    def version() -> str:
        return "1"

    @staticmethod
    def texts(problem):
        ours = _spgraph.text(problem, problem.graph)

        def answer(result) -> Answer:
            return Answer(*(part if part is None else _arrays.to_host(part) for part in ours.answer(result)))

        return {"host": Text(ours.run, answer)}


@pytest.fixture
def host_peer(monkeypatch):
    monkeypatch.setitem(_peers.PEERS, "hostpeer", ("hostpeer", ""))
    monkeypatch.setitem(sys.modules, "spgraph.bench._hostpeer", HostPeer())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compare_on_the_device_in_force(host_peer, algorithm):
    device = context.device()
    result = bench.compare(["rmat:6:4"], against=["hostpeer"], algorithms=[algorithm], repeat=2, progress=False)
    assert (result.notes, result.wrong) == ([], [])
    assert [(row.engine, row.order) for row in result.rows] == [
        ("spgraph", "natural"), ("spgraph", "degree"), ("hostpeer", ""),
    ]  # fmt: skip
    assert f"{result.arguments['device']}, ".startswith(f"{device.name}, ")
    counted = not device.on_host and algorithm not in MATRIX_PRODUCTS
    for row in result.rows[:2]:
        step = row.per_step()
        assert (step is not None) == counted
        if step is not None:
            assert step["supersteps"] >= 2
            assert step["microseconds"] > 0
            assert step["launches"] >= 1
    assert ("supersteps of spgraph" in str(result)) == counted
    assert result.rows[-1].per_step() is None


def test_several_devices_are_described_by_the_first(emulated, monkeypatch):
    monkeypatch.setattr(_machine, "cpu_model", lambda: "a CPU")
    monkeypatch.setattr(_machine, "gpus", lambda: [{"device": emulated.name, "name": "a GPU"}])
    for one, what in ((HOST, "a CPU"), (emulated, "a GPU")):
        for device in (one, group_of(tuple(spread(one, 2)))):
            assert _saved.described(device) == f"{device.name}, {what}"


@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("fill", [-1, np.inf])
def test_results_become_arrays_where_they_are(order, fill):
    A = sg.generators.grid(4, order=order)
    distance = sg.algorithms.sssp(A, 3)
    distance[5] = sg.Scalar(distance.dtype)  # an entry less
    full = sg.Vector.from_dense(np.arange(16))
    iso = sg.Vector.from_coo([2, 3], 7, size=4)
    for vector in (distance, full, iso):
        array = _arrays.dense(vector, fill)
        assert isinstance(array, context.device().xp.ndarray)
        indices, values = vector.to_coo()
        wanted = np.full(vector.size, fill, np.float64)
        wanted[indices] = values
        assert np.array_equal(_arrays.to_host(array), wanted)


def test_graphs_become_arrays_where_they_are():
    A = sg.generators.rmat(5, weights="int", order="degree")
    arrays = _arrays.csr_of(A)
    assert all(isinstance(array, context.device().xp.ndarray) for array in arrays)
    for mine, wanted in zip(arrays, A.to_csr()):
        assert np.array_equal(_arrays.to_host(mine), wanted)
