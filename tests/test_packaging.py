"""What is in the built wheel, and in README.md's commands."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("semirings", "spgraph")


def in_source() -> set[str]:
    """Files of the packages that are not made by Python."""
    return {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """The wheel, built from a copy of the sources (setuptools leaves files beside them)."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


def info(wheel: zipfile.ZipFile, name: str) -> str:
    (found,) = (entry for entry in wheel.namelist() if entry.endswith(f".dist-info/{name}"))
    return wheel.read(found).decode()


def test_wheel_holds_both_packages_and_nothing_else(wheel):
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == in_source()
    assert {"spgraph/ARCHITECTURE.md", "semirings/prelude.cuh", "spgraph/py.typed"} <= packed
    assert not any("test" in Path(name).parts or name.endswith((".pyc", ".ipynb")) for name in packed)


def test_wheel_is_pure_python_and_licensed(wheel):
    assert "Tag: py3-none-any" in info(wheel, "WHEEL")
    assert "Apache License" in info(wheel, "licenses/LICENSE")


def test_metadata(wheel):
    metadata = Parser().parsestr(info(wheel, "METADATA"))
    assert metadata["Name"] == "spgraph"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    required = {line.split(">")[0].split("=")[0].strip() for line in metadata.get_all("Requires-Dist")
                if "extra ==" not in line}  # fmt: skip
    assert required == {"numpy", "scipy", "numba", "tqdm"}
    assert set(metadata.get_all("Provides-Extra")) == {
        "test", "notebooks", "parquet", "mpi", "partition", "cuda12", "cuda13", "all",
    }  # fmt: skip
    assert "spgraph run bfs rmat:18 --validate" in metadata.get_payload()


def test_entry_points(wheel):
    parsed = configparser.ConfigParser()
    parsed.read_string(info(wheel, "entry_points.txt"))
    assert parsed["console_scripts"]["spgraph"] == "spgraph.cli:main"
    assert parsed["pytest11"]["spgraph"] == "spgraph.oracle_plugin"
    assert parsed["networkx.backends"]["spgraph"] == "spgraph.nx"
    assert parsed["networkx.backend_info"]["spgraph"] == "spgraph._nx_info:get_info"


def test_version_is_the_one_that_the_code_says(wheel):
    import spgraph

    assert Parser().parsestr(info(wheel, "METADATA"))["Version"] == spgraph.__version__
