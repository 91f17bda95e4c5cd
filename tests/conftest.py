"""Options, fixtures and the hypothesis profile of every test.

``--backend`` says where spgraph computes: on the CPU, on a GPU, or on a GPU that is emulated (see `emulator`), with
the same kernels and a strict imitation of CuPy. The same tests run everywhere; those that are about the CPU's kernels
are skipped elsewhere. ``--sanitize address|thread`` runs emulated kernels under that sanitizer.

``--devices 2,3`` runs every test with its objects in so many parts, once for each number. Tests that are about one
device, or make parts of their own, are marked ``one_device`` and run on one.

``--engine graphblas`` runs the texts that are meant for spgraph under python-graphblas itself, on both sides:
it checks the tests, whose expectations then come from an implementation that we did not write.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from devices import spread
from graphs import GRAPHS, Graph
from hypothesis import HealthCheck, Phase, settings
from interpreting import interpreting

from semirings.exceptions import NoDevice
from spgraph import context
from spgraph import oracle as oracle_module
from spgraph.exchange import group_of
from spgraph.kernels.device import Device

pytest_plugins = ["pytester"]

# python-graphblas's threads spin for work by default, which takes minutes where a neighbour computes.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    max_examples=40,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.differing_executors,  # each number of devices has an object of the test's class
    ],
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile(
    "triage",  # fails fast: examples are not made smaller
    settings.get_profile("default"),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    report_multiple_bugs=False,
)
settings.register_profile("long", settings.get_profile("triage"), max_examples=1000)
USUAL = "ci" if os.environ.get("CI") else "default"
settings.register_profile("few", settings.get_profile(USUAL), max_examples=6)
settings.load_profile(USUAL)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spgraph")
    group.addoption(
        "--backend",
        choices=("cpu", "cuda", "emulated"),
        help="where spgraph computes (default: cuda if there is a GPU, else cpu)",
    )
    group.addoption("--sanitize", choices=("address", "thread"), help="run emulated kernels under this sanitizer")
    group.addoption(
        "--devices",
        default="1",
        help="into how many parts objects are cut, each number in turn, such as 1,2,3,7 (default: 1)",
    )
    group.addoption("--whole", action="store_true", help="all combinations where tests take a sample, see sampling.py")
    group.addoption(
        "--engine",
        choices=("spgraph", "graphblas"),
        default="spgraph",
        help="what is tested; graphblas: the tests themselves, against python-graphblas",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cpu(reason): is about the CPU alone, and skipped on other backends")
    config.addinivalue_line("markers", "one_device(reason): runs on one device, whatever --devices says")
    config.addinivalue_line("markers", "whole: outside the sample that is run without --whole, see tests/sampling.py")
    if config.getoption("--sanitize"):
        _sanitize(config)
    backend = config.getoption("--backend")
    try:
        device = _device(backend or os.environ.get(context.VARIABLE) or "auto")
    except NoDevice as error:
        raise pytest.UsageError(f"--backend {backend}: {error}") from error
    config.option.backend = backend or device.name.partition(":")[0]
    if backend == "emulated" and not config.getoption("hypothesis_profile"):
        settings.load_profile("few")  # a compiler makes each kernel
    context.set_default(device)
    os.environ[context.VARIABLE] = "cuda" if config.option.backend == "cuda" else "cpu"  # of processes that tests start
    try:
        counts = _device_counts(config)
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        given = config.getoption("--devices")
        raise pytest.UsageError(f"--devices is {given!r}, but a list such as 1,2,3 was wanted")


def _device(backend: str) -> Device:
    if backend != "emulated":
        return context.find_device(backend, "--backend")
    if shutil.which("g++") is None:
        raise pytest.UsageError("--backend emulated: g++ compiles the kernels, and is not there")
    from emulator.device import emulated_device

    return emulated_device()


def _sanitize(config: pytest.Config) -> None:
    """Start again with the sanitizer's library loaded first."""
    from emulator import kernels

    wanted = config.getoption("--sanitize")
    if kernels.sanitizer() == wanted:
        return
    command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
    if wanted == "thread":
        command = ["setarch", "-R", *command]  # its shadow memory needs fixed addresses
    sys.stdout.flush()
    os.execvpe(command[0], command, os.environ | kernels.preload(wanted))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--whole"):
        _deselect_what_is_outside_the_sample(config, items)
    backend = config.getoption("--backend")
    if backend == "cpu":
        return
    for item in items:
        about = item.get_closest_marker("cpu")
        if about or item.get_closest_marker("compiled"):
            reason = about.args[0] if about else "compiling the CPU's kernels"
            item.add_marker(pytest.mark.skip(reason=f"about the CPU alone ({reason}); the backend is {backend}"))


def _deselect_what_is_outside_the_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    outside = [item for item in items if item.get_closest_marker("whole")]
    if outside:
        config.hook.pytest_deselected(items=outside)
        items[:] = [item for item in items if not item.get_closest_marker("whole")]


def _device_counts(config: pytest.Config) -> list[int]:
    return [int(count) for count in config.getoption("--devices").split(",")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    counts = _device_counts(metafunc.config)
    if metafunc.definition.get_closest_marker("one_device"):
        return
    if counts != [1] and "in_parts" in metafunc.fixturenames:
        metafunc.parametrize("in_parts", counts, indirect=True, scope="session", ids=lambda count: f"{count}devices")


@pytest.fixture(scope="session", autouse=True)
def in_parts(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Any:
    """Objects lie on so many devices: GPUs, with several parts on each if there are fewer, or parts of the CPU.

    Parts of the CPU send messages, as devices and processes do: unasked they would read each other's entries in place.
    """
    count = getattr(request, "param", 1)
    if count == 1:
        yield
        return
    one = context.device()
    before = context.set_default(group_of(tuple(spread(one, count))))
    with context.Context(exchange="selective" if one.on_host else None):
        yield
    context.set_default(before)


@pytest.fixture(scope="session")
def backend(pytestconfig: pytest.Config) -> str:
    return pytestconfig.getoption("--backend")


@pytest.fixture(scope="session")
def device(in_parts: None) -> Device:
    """Where spgraph computes."""
    return context.device()


@pytest.fixture
def emulated() -> Any:
    """The emulated GPU, whatever the backend is."""
    if shutil.which("g++") is None:
        pytest.skip("g++ compiles the emulated kernels, and is not there")
    from emulator.device import emulated_device

    return emulated_device()


@pytest.fixture
def cuda(device: Device, request: pytest.FixtureRequest) -> Any:
    """A GPU: the one where spgraph computes, else the emulated one."""
    one: Any = device if device.group is None else device.devices[0]  # type: ignore[attr-defined]
    return request.getfixturevalue("emulated") if one.on_host else one


@pytest.fixture
def interpreted() -> Any:
    """Kernels of the CPU run as plain Python, see `interpreting`."""
    with interpreting():
        yield


@pytest.fixture(scope="session")
def gb(pytestconfig: pytest.Config) -> ModuleType:
    """The engine under test, by the name that program texts give it."""
    return importlib.import_module(pytestconfig.getoption("--engine"))


@pytest.fixture
def sg(pytestconfig: pytest.Config) -> ModuleType:
    """spgraph, for tests of what python-graphblas does otherwise or does not have."""
    if pytestconfig.getoption("--engine") != "spgraph":
        pytest.skip("about spgraph alone")
    return importlib.import_module("spgraph")


@pytest.fixture(scope="session")
def agree(gb: ModuleType) -> Any:
    """``agree(text)`` runs ``text(gb)`` on the engine under test and on python-graphblas, and compares."""
    reference = importlib.import_module("graphblas")
    reference.ss.config["nthreads"] = 1  # its threads cost more than they gain on small objects

    def run_both(text: Any, **rule: Any) -> Any:
        got = text(gb)
        oracle_module.compare(got, text(reference), name=text.__name__, **rule)
        return got

    return run_both


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> Graph:
    """Each of the small graphs: empty, one vertex, self-loop, isolated vertices, path, star, ..."""
    return GRAPHS[request.param]


@pytest.fixture(scope="session")
def karate() -> Graph:
    return GRAPHS["karate"]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real graphs with recorded answers."""
    folder = os.environ.get("SPGRAPH_DATA")
    if not folder:
        pytest.skip("SPGRAPH_DATA is not set: it names the folder of real graphs and their answers")
    return Path(folder)
