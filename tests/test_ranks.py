"""Several processes that ``mpiexec`` starts: what they load, send and write together, and how they end.

Programs that are longer than some lines stand in `tests/ranks`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spgraph as sg

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
PROGRAMS = Path(__file__).parent / "ranks"
pytestmark = [
    pytest.mark.cpu("each process has the CPU"),
    pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is not there (pip install mpi4py mpich)"),
]


def start(count: int, *command: str, seconds: int = 300) -> subprocess.CompletedProcess:
    assert MPIEXEC is not None
    env = {name: value for name, value in os.environ.items() if name != sg.context.VARIABLE}
    return subprocess.run([MPIEXEC, "-n", str(count), sys.executable, *command], capture_output=True, text=True,
                          timeout=seconds, check=False, env=env)  # fmt: skip


def all_say(count: int, word: str, program: str, *arguments: str) -> None:
    done = start(count, str(PROGRAMS / program), *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(word) == count, done.stdout + done.stderr


@pytest.mark.parametrize("count", [2, 4])
class TestLoading:
    def test_files(self, count: int, tmp_path: Path):
        all_say(count, "all the same", "loading.py", str(tmp_path))

    def test_generators(self, count: int):
        all_say(count, "generated", "generating.py")

    def test_memory_is_a_share(self, count: int, tmp_path: Path):
        """Peak below 2.3 shares of one process's peak (measured: 1.2 to 1.9), where all of it would be 2 or 4."""
        room = {2: "1.9", 4: "2.3"}[count]
        done = start(count, str(PROGRAMS / "memory.py"), str(tmp_path), room)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_messages(self, count: int):
        all_say(count, "delivered", "messages.py")

    def test_writing(self, count: int, tmp_path: Path):
        all_say(count, "written", "writing.py", str(tmp_path))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_folders_of_raw_arrays(count: int, tmp_path: Path):
    all_say(count, "read by rows", "folders.py", str(tmp_path))


class TestErrors:
    def test_a_bad_line_in_the_share_of_one(self, tmp_path: Path):
        path = tmp_path / "bad.gr"
        lines = [f"a {k % 900 + 1} {k % 899 + 2} 3" for k in range(40000)]
        lines[31000] = "a 5 six 7"
        path.write_text("\n".join(["p sp 1000 40000", *lines, ""]))
        done = start(4, "-c", f"import spgraph as sg\nsg.io.read({str(path)!r}, dup_op='min')")
        assert done.returncode != 0
        assert done.stderr.count("bad.gr, line 31002: got 'six', expected an integer") == 1, done.stderr
        assert done.stderr.count("Traceback") == 1, done.stderr

    def test_a_bad_column_in_the_rows_of_one(self, tmp_path: Path):
        for name, numbers in (("rowptr.i32", range(0, 65, 2)), ("col.i32", [*range(32), *range(31), 32])):
            np.array(numbers, "<i4").tofile(tmp_path / name)
        np.ones(64, "<f4").tofile(tmp_path / "w.f32")
        done = start(3, "-m", "spgraph", "run", "bfs", str(tmp_path))
        assert done.returncode != 0
        assert done.stderr.count("col.i32: columns are not all in 0..31") == 1, done.stderr

    def test_an_error_that_is_caught_is_caught_by_all(self):
        text = ("import spgraph as sg\ntry:\n    sg.io.read('/no/such.mtx')\nexcept FileNotFoundError as error:\n"
                "    assert error.filename == '/no/such.mtx'\nprint('still here', sg.generators.path(5).nvals)")
        done = start(3, "-c", text)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("still here") == done.stdout.count("8") == 3  # the lines of all may be mixed


HEAD = "import os, sys, time, spgraph as sg\nfrom spgraph.exchange.launch import rank\nA = sg.generators.path(9)\n"


class TestAllDoTheSame:
    """What differs between processes, their collectors, chance, threads and jobs, does not make them part ways."""

    @staticmethod
    def all_print(word: str, text: str, count: int = 2) -> None:
        done = start(count, "-c", "import gc\nimport numpy as np\n" + HEAD + text, seconds=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(word) == count, done.stdout + done.stderr

    @pytest.mark.parametrize("who", [0, 1])
    @pytest.mark.parametrize("partition", ["random", "contiguous_edges"])
    def test_where_vectors_lie_does_not_depend_on_the_collector(self, who: int, partition: str):
        self.all_print("fine", f"""
with sg.Context(partition={partition!r}): B = sg.generators.star(10)
level = sg.algorithms.bfs(B, 0)
del B, level
if rank() == {who}: gc.collect()
u = sg.Vector.from_coo([0, 3, 7], [1, 2, 3], size=10)
w = u.ewise_add(sg.Vector.from_coo([0, 4, 7], [1, 2, 3], size=10)).new()
assert w.to_dict() == {{0: 2, 3: 2, 4: 2, 7: 6}} and w.nvals == 4
print("fine")
""")

    def test_layouts_that_are_remembered_are_few(self):
        self.all_print("fine", """
for n in range(2, 40): sg.generators.path(n)
assert 0 < len(A._device._recent) <= 8
with sg.Context(partition="random"):
    for n in range(40, 60): sg.generators.path(n)
assert sum(one.order is not None for one in A._device._recent.values()) == 1  # these have an entry for each vertex
print("fine")
""")

    @pytest.mark.parametrize("given", ["chance", "chance(A.to_csr()[0], None, 2)"])
    @pytest.mark.parametrize("make", ["Matrix.from_coo(r, c, 1, nrows=9, ncols=9)", "Matrix.from_csr(p, c, 1, ncols=9)",
                                      "generators.path(9)"])  # fmt: skip
    def test_partitions_that_differ_are_those_of_the_first(self, given: str, make: str):
        self.all_print("fine", f"""
def chance(indptr, indices, parts, seed=0):
    return np.random.default_rng().integers(0, parts, indptr.size - 1)
r, c, _ = A.to_coo()
p, c, _ = A.to_csr()
for _ in range(4):
    with sg.Context(partition={given}):
        B = sg.{make}
    assert B.nvals == 16 and sg.algorithms.bfs(B, 0).to_dense().tolist() == list(range(9))
print("fine")
""")

    def test_a_partition_that_fails_in_one_fails_in_all(self):
        self.all_print("fine", """
def fails(indptr, indices, parts, seed=0):
    if rank() == 0: raise ValueError("cannot divide")
    return np.zeros(indptr.size - 1, int)
r, c, _ = A.to_coo()
try:
    with sg.Context(partition=fails): sg.Matrix.from_coo(r, c, 1, nrows=9, ncols=9)
except ValueError as error: assert "cannot divide" in str(error)
else: raise AssertionError
assert A.nvals == 16
print("fine")
""")

    def test_jobs_of_several_types_are_refused_in_all(self):
        self.all_print("fine", """
def work(copy, jobs): return sg.Vector.from_coo([0], [1.5 if rank() else 1], size=copy.nrows)
try: sg.tasks.spread(A, range(4), work)
except sg.exceptions.InvalidValue as error: assert "gave Vectors of INT64, FP64" in str(error)
else: raise AssertionError
assert A.nvals == 16
print("fine")
""")

    def test_what_cannot_be_agreed_on_is_an_error_of_all(self):
        self.all_print("fine", """
try: sg.tasks.agreed(A, (lambda: 1) if rank() == 0 else 2)
except Exception as error: assert "pickle" in str(error).lower(), error
else: raise AssertionError
assert sg.tasks.agreed(A, rank() + 5) == 5 and A.nvals == 16
print("fine")
""")

    @pytest.mark.parametrize("seed", ["None", "random.Random()"])
    @pytest.mark.parametrize("spread", ["graph", "sources"])
    def test_sources_that_chance_chooses(self, spread: str, seed: str):
        self.all_print("fine", f"""
import random
B = sg.generators.grid(6, 6)
exact = sg.algorithms.betweenness_centrality(B).to_dense()
some = sg.algorithms.betweenness_centrality(B, k=35, seed={seed}, spread={spread!r}).to_dense()
assert abs(some - exact).max() < 0.05 < exact.max()
print("fine")
""")

    def test_numbers_of_threads(self):
        own = "import os; os.environ['SPGRAPH_NUM_THREADS'] = str(1 + 3 * int(os.environ['PMI_RANK']))\n"
        done = start(2, "-c", own + HEAD + "B = sg.generators.rmat(12, 8, seed=1)\n"
                     "for s in range(20): sg.algorithms.bfs(B, s)\nprint('fine')", seconds=120)  # fmt: skip
        assert (done.returncode, done.stdout.count("fine")) == (0, 2), done.stderr

    def test_a_job_that_fails_fails_for_all(self):
        self.all_print("caught job 1 cannot be done, and on: 16", """
def work(copy, jobs):
    if 1 in jobs: raise ValueError("job 1 cannot be done")
    return sg.Vector.from_scalar(1, copy.nrows)
try: sg.tasks.spread(A, [0, 1], work)
except ValueError as error: print(f"caught {error}, and on: {A.nvals}\\n", end="")
""")

    def test_the_device_has_a_name(self):
        self.all_print("fine", """
with sg.Context("cpu"): B = sg.generators.grid(5, 5)
assert B.to(A.device).device == A.device == "mpi:2"
with sg.Context(A.device): assert sg.Vector(int, 3).device == "mpi:2"
try: B.to("mpi:3")
except sg.exceptions.NoDevice as error: assert str(error).endswith("that mpiexec has started: 2")
else: raise AssertionError
print("fine")
""")

    @pytest.mark.parametrize(("text", "one", "other"), [
        ("if rank() == 0: print(A)\nv.nvals", "__repr__", "nvals"),
        ("v.nvals if rank() else v[3].new()", "new", "nvals"),
        ("A.mxv(v).new() if rank() else A.nvals", "nvals", "new"),
        ("sg.algorithms.bfs(A, 0) if rank() else sg.algorithms.pagerank(A)", "pagerank", "bfs"),
    ])  # fmt: skip
    def test_calls_that_only_one_makes_are_named(self, text: str, one: str, other: str):
        done = start(2, "-c", HEAD + f"v = sg.Vector.from_scalar(1, 9)\n{text}", seconds=60)
        assert done.returncode == 1
        words = re.search(r"process 0 is in (.*) \(<string>, line \d\) and process 1 in (.*) \(<string>, line \d\): "
                          "all processes must call the same operations", done.stderr)  # fmt: skip
        assert words is not None, done.stderr
        assert words.groups() == (one, other), done.stderr

    def test_two_threads(self):
        self.all_print("fine", """
import threading
found, errors = [], []
def work(source, begun, wait):
    begun.set(); wait.wait()
    try: found.append(sg.algorithms.bfs(A, source).to_dense().tolist())
    except sg.exceptions.InvalidObject as error: errors.append(str(error))
begun = threading.Event(); go = threading.Event()
other = threading.Thread(target=work, args=(8, begun, go), name="other")
other.start(); begun.wait(); go.set(); other.join()
assert not found and "operations of threads other and MainThread" in errors[0]
work(0, begun, go)
assert found == [list(range(9))]
print("fine")
""")


class TestTheEnd:
    """A process that fails, or leaves, ends all with one message."""

    @pytest.mark.parametrize(("text", "code", "words"), [
        ("if rank() == 1: raise ValueError('this one fails')", 1, "ValueError: this one fails"),
        ("if rank() == 1: sys.exit(3)", 3, ""),
        ("if rank() == 1: sys.exit('no more')", 1, "no more"),
        ("if rank() == 1: raise SystemExit(0)", 1, "process 1 has come to the end of its program, but process 0 waits"),
        ("if rank() == 1: sys.exit()", 1, "process 1 has come to the end of its program, but process 0 waits"),
        ("if rank(): sys.exit(0)", 1, "has come to the end of its program, but process 0 waits for it in an operation"),
        ("if rank() == 0: A.nvals", 1, "process 1 has come to the end of its program, but process 0 waits"),
    ])  # fmt: skip
    def test_of_one_is_that_of_all(self, text: str, code: int, words: str):
        done = start(2, "-c", HEAD + text + "\nif rank() == 0: A.nvals\nprint('on')", seconds=60)
        assert done.returncode == code, done.stderr
        assert not words or done.stderr.count(words) == 1, done.stderr

    @pytest.mark.parametrize("who", ["True", "rank() == 1"])
    def test_what_is_open_is_closed_before(self, tmp_path: Path, who: str):
        text = (f"file = open({str(tmp_path)!r} + f'/{{rank()}}', 'w'); file.write('long computed')\n"
                f"try:\n    if {who}: sys.exit(3)\n    A.nvals\nfinally:\n    file.close()\n")
        done = start(2, "-c", HEAD + text, seconds=60)
        assert done.returncode == 3, done.stderr
        assert (tmp_path / "1").read_text() == "long computed"

    @pytest.mark.parametrize("after", ["print(f'on {A.nvals}\\n', end='')", "print('on 16\\n', end='')",
                                       "print('on 16\\n', end=''); sys.exit(0)"])
    def test_an_exit_that_is_caught_is_none(self, after: str):
        text = "try:\n    sys.exit(3)\nexcept SystemExit as error:\n    assert error.code == 3\n" + after
        done = start(2, "-c", HEAD + text, seconds=60)
        assert (done.returncode, done.stdout.count("on 16")) == (0, 2), done.stderr

    def test_an_exit_of_a_thread_is_that_of_the_thread(self):
        text = ("import threading\nother = threading.Thread(target=lambda: sys.exit(3)); other.start(); other.join()\n"
                "print(f'on {A.nvals}\\n', end='')")
        done = start(2, "-c", HEAD + text, seconds=60)
        assert (done.returncode, done.stdout.count("on 16")) == (0, 2), done.stderr

    @pytest.mark.parametrize("code", ["3", "'no more'", "0"])
    def test_what_is_left_for_the_end_is_done(self, tmp_path: Path, code: str):
        text = (f"import atexit, pathlib\npath = pathlib.Path({str(tmp_path)!r}, str(rank()))\n"
                f"atexit.register(lambda: path.write_text('done'))\nsys.exit({code})")
        done = start(2, "-c", HEAD + text, seconds=60)
        assert done.returncode == {"3": 3, "0": 0}.get(code, 1), done.stderr
        assert (tmp_path / "0").read_text() == "done"

    def test_words_of_all_are_said_once(self):
        done = start(3, "-c", HEAD + "sys.exit('no more')", seconds=60)
        assert (done.returncode, done.stderr.count("no more")) == (1, 1), done.stderr

    def test_of_one_that_is_killed(self):
        done = start(2, "-c", HEAD + "if rank() == 1: os.kill(os.getpid(), 9)\nprint(A.nvals)", seconds=60)
        assert done.returncode != 0
        assert "KILLED" in (done.stdout + done.stderr).upper()

    def test_who_is_slow_is_waited_for(self):
        done = start(3, "-c", HEAD + "if rank() == 1: time.sleep(1.5)\nprint('ended', A.nvals)", seconds=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("ended") == done.stdout.count("16") == 3
        done = start(3, "-c", HEAD + "A.nvals\nif rank() == 1: time.sleep(1.5)\nprint('ended')", seconds=60)
        assert (done.returncode, done.stdout.count("ended")) == (0, 3), done.stderr

    def test_of_the_command(self, tmp_path: Path):
        path = tmp_path / "levels.csv"
        command = ("-m", "spgraph", "run", "bfs", "grid:5x4", "--source", "0", "--output", str(path))
        done = start(2, *command)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"vertex,level\n(\d+,\d+\n){1,20}", path.read_text())
        done = start(3, "-m", "spgraph", "run", "cc", "rmat:8", "--validate", "--json", "--repeat", "0")
        assert json.loads(done.stdout)["valid"] is True, done.stderr
        done = start(2, "-m", "spgraph", "run", "bfs", str(tmp_path / "missing.mtx"))
        assert done.returncode != 0
        assert done.stderr.count("missing.mtx: no such file") == 1
