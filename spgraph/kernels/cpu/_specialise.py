"""Specialise a kernel template: operators inlined, constants folded, text cached.

A template is a plain Python function over arrays. Names in UPPER CASE are
compile-time: *constants* (``MASKED``; a branch on one disappears when it is
folded), *operators*, which stand alone as ``target = MULT(a, b)`` and are
replaced by the statements that `semirings.expr.to_python` prints, and *blocks*,
which stand alone as ``CHECK_MASK(n)`` and are replaced by the body of the
function `check_mask` of `_blocks` (or of the one that a constant names).

The specialised text is the cache key. It is written to a generated file, since
Numba's disk cache works only for functions of a file, so a second process loads
machine code in milliseconds. The same text also runs as plain Python: a kernel
that has seen little work is interpreted, so that small examples never wait for
a compiler (``SPGRAPH_JIT=auto``, the default; ``always`` and ``never`` force it).

Subscripts are made unsigned on the way: Numba then leaves out the handling of
negative indices, which is worth 10 to 30 % in gather loops.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import math
import os
import pickle
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from semirings import expr as ex
from semirings.exceptions import InvalidValue
from spgraph._interrupts import held
from spgraph.kernels.cpu import _blocks

__all__ = ["Block", "Kernel", "cache_dir", "get_kernel", "get_kernel_from_ast", "set_jit", "statistics"]

# Interpreting costs about 1 us per entry, compiling about 0.5 s per kernel, loading one from the disk cache 5 ms.
WORK_AT_ONCE, WORK_IN_ALL = 5_000, 50_000  # a kernel with more work than this, in one call or in all, is compiled
LOAD_AT_ONCE, LOAD_IN_ALL = 1_000, 5_000  # the same for one that was compiled before and lies in the disk cache
CALL_COST = 10  # entries' worth of a call itself
MOST_OVERLOADS = 100  # of one kernel, whose files are looked at

_MODES = ("auto", "always", "never")
_setting = threading.local()  # mode: of the calling thread; absent: as the variable says
_lock = threading.RLock()
_kernels: dict[str, Kernel] = {}


def set_jit(mode: str | None) -> str | None:
    """When kernels are compiled: "auto", "always", "never", None: as the variable says; returns what was set before."""
    if mode is not None and mode not in _MODES:
        raise ValueError(f"jit: got {mode!r}, wanted one of {', '.join(_MODES)}")
    before = getattr(_setting, "mode", None)
    _setting.mode = mode
    return before


def _jit() -> str:
    return getattr(_setting, "mode", None) or os.environ.get("SPGRAPH_JIT", "auto")


@functools.cache
def cache_dir() -> Path:
    """Folder of generated kernels: $SPGRAPH_CACHE_DIR, else the user's cache, else a temporary one."""
    named = os.environ.get("SPGRAPH_CACHE_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for path in [Path(named)] if named else [base / "spgraph", Path(tempfile.gettempdir()) / f"spgraph-{os.getuid()}"]:
        folder = path / "kernels"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError as error:
            if named:
                raise OSError(f"SPGRAPH_CACHE_DIR={named}: cannot write there ({error})") from error
    return Path(tempfile.mkdtemp(prefix="spgraph-"))


class Kernel:
    """A specialised kernel; ``kernel(work, *args)`` runs it.

    Parameters
    ----------
    name : str
        The template's name.
    text : str
        Source of the specialised function, as plain Python.

    Attributes
    ----------
    fn : callable or None
        The compiled function, once there is one.
    """

    __slots__ = ("_interpreted", "_limits", "_path", "_seen", "fn", "name", "text")

    def __init__(self, name: str, text: str):
        self.name = name
        self.text = text
        self.fn: Any = None
        self._interpreted: Any = None
        self._limits: Any = None  # (work at once, work in all), once known
        self._path: Any = None
        self._seen = 0

    def __repr__(self):
        return f"<kernel {self.name} ({'compiled' if self.fn else 'interpreted'})>"

    def __call__(self, work: int, *args):
        fn = self.fn
        if fn is not None:
            return fn(*args)
        return self._first_calls(work, args)

    def ready(self, work: int) -> bool:
        """Whether a call with so much work runs compiled (compiles now if it must)."""
        if self.fn is not None:
            return True
        mode = _jit()
        if mode == "never":
            return False
        if mode not in _MODES:
            raise InvalidValue(f"SPGRAPH_JIT: got {mode!r}, wanted one of {', '.join(_MODES)}")
        if self._limits is None:
            digest = hashlib.sha256((_printer_version() + self.text).encode()).hexdigest()[:20]
            self._path = cache_dir() / f"{self.name}_{digest}.py"
            known = self._path.exists()
            self._limits = (LOAD_AT_ONCE, LOAD_IN_ALL) if known else (WORK_AT_ONCE, WORK_IN_ALL)
        if mode == "always" or work > self._limits[0] or self._seen > self._limits[1]:
            self.compile()
        return self.fn is not None

    def note(self, work: int) -> None:
        """A call has done so much, which was not known before."""
        self._seen += work

    def _first_calls(self, work, args):
        if self.ready(work):
            return self.fn(*args)
        self._seen += work + CALL_COST
        if self._interpreted is None:
            namespace = dict(_prelude())
            exec(compile(self.text, f"<spgraph kernel {self.name}>", "exec"), namespace)
            self._interpreted = namespace[self.name]
        with np.errstate(all="ignore"):
            return self._interpreted(*args)

    def compile(self) -> None:
        """Write the generated file, import it; Numba compiles at the first call or loads from its cache."""
        with held(), _lock:  # Numba cannot be imported again after half an import
            if self.fn is None:
                text = _jit_text(self.text)
                if not self._path.exists() or self._path.read_text(errors="replace") != text:  # a write was cut off
                    _write(self._path, text)
                fn = getattr(_import(self._path), self.name)
                _drop_damaged(self._path, fn)
                self.fn = fn


def statistics() -> dict[str, float]:
    """Kernels: how many are known, compiled in this process (in how many seconds), loaded from the disk cache."""
    loaded = compiled = 0
    for kernel in list(_kernels.values()):
        if kernel.fn is not None:
            loaded += sum(kernel.fn.stats.cache_hits.values())
            compiled += sum(kernel.fn.stats.cache_misses.values())
    timer = _compile_timer() if compiled else None
    seconds = timer.duration if timer and timer.done else 0.0
    return {"kernels": len(_kernels), "compiled": compiled, "loaded": loaded, "seconds": seconds}


@functools.cache
def _compile_timer():
    """Numba's account of the time that it compiles, from the first call of this function on."""
    from numba.core import event

    timer = event.TimingListener()
    event.register("numba:compile", timer)
    return timer


# ---- text ---------------------------------------------------------------------
def _jit_text(text: str) -> str:
    tree = ast.parse(text)
    tree = ast.fix_missing_locations(_UnsignedSubscripts().visit(tree))
    body = ast.unparse(tree)
    used = [name for name in ex.PRELUDE_NAMES if name in body]
    prelude = ""
    if used:
        functions = ast.parse(ex.PYTHON_PRELUDE)
        for node in functions.body:
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = [ast.parse("njit(nogil=True, inline='always')", mode="eval").body]
        prelude = ast.unparse(ast.fix_missing_locations(functions)) + "\n\n"
    return (
        "import math\nimport numpy as np\nfrom numba import njit\n\n"
        f"{prelude}@njit(nogil=True, cache=True, error_model='numpy')\n{body}\n"
    )


@functools.cache
def _printer_version() -> str:
    """Changes with everything, but a kernel's own text, that a generated file depends on."""
    return hashlib.sha256((Path(__file__).read_text() + ex.PYTHON_PRELUDE).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def _drop_damaged(path: Path, fn: Any) -> None:
    """Remove what Numba keeps of a function unless it begins and ends as pickles do: it would raise at each call."""
    code = fn.py_func.__code__
    version = f"{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    stem = Path(fn.stats.cache_path) / f"{path.stem}.{code.co_name}-{code.co_firstlineno}.py{version}"
    for ending in (".nbi", *(f".{number}.nbc" for number in range(1, MOST_OVERLOADS))):
        kept = Path(f"{stem}{ending}")
        try:
            content = kept.read_bytes()
        except FileNotFoundError:  # there are no more, or another process has removed it
            break
        if content[:1] != pickle.PROTO or content[-1:] != pickle.STOP:
            kept.unlink(missing_ok=True)


def _import(path: Path):
    module_name = f"_spgraph_kernels.{path.stem}"
    _compile_timer()
    spec: Any = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # Numba unpickles cached code by module name
    spec.loader.exec_module(module)
    return module


class _UnsignedSubscripts(ast.NodeTransformer):
    def visit_Subscript(self, node):
        self.generic_visit(node)
        index = node.slice
        if isinstance(index, ast.Tuple):
            index.elts = [self._unsigned(element) for element in index.elts]
        elif not isinstance(index, ast.Slice):
            node.slice = self._unsigned(index)
        return node

    @staticmethod
    def _unsigned(index):
        if isinstance(index, ast.Constant):
            return index
        return ast.Call(func=ast.parse("np.uint64", mode="eval").body, args=[index], keywords=[])


# ---- specialisation -------------------------------------------------------------
@functools.cache
def _parsed(template) -> bytes:
    # pickled: unpickling gives a fresh tree ten times faster than deepcopy
    return pickle.dumps(ast.parse(textwrap.dedent(inspect.getsource(template))).body[0], pickle.HIGHEST_PROTOCOL)


@functools.cache
def _prelude() -> dict:
    namespace = {"np": np, "math": math}
    exec(compile(ex.PYTHON_PRELUDE, "<semirings prelude>", "exec"), namespace)
    return namespace


def get_kernel(template, consts: dict, ops: dict) -> Kernel:
    """The kernel made of `template` with compile-time constants and operators filled in.

    Parameters
    ----------
    template : function
        Plain Python, see the module docstring.
    consts : dict of str to bool, int, str, NumPy scalar or Block
        A str is source text; a NumPy scalar keeps its type.
    ops : dict of str to (Expr, tuple of str)
        The expression and the names of its inputs in the order of the
        placeholder's arguments. Arguments that the expression does not use are
        dropped.

    Returns
    -------
    Kernel
        The same object for the same text.
    """
    return get_kernel_from_ast(pickle.loads(_parsed(template)), consts, ops)


def get_kernel_from_ast(function: ast.FunctionDef, consts: dict, ops: dict) -> Kernel:
    """As `get_kernel`, for a template that was printed (and may be changed here)."""
    function.body = [node for node in function.body
                     if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]  # docstring
    specialiser = _Specialiser(function.name, consts, ops)
    function.body = specialiser._block(function.body)
    text = ast.unparse(ast.fix_missing_locations(function)) + "\n"
    with _lock:
        kernel = _kernels.get(text)
        if kernel is None:
            kernel = _kernels[text] = Kernel(function.name, text)
    return kernel


def literal(value) -> str:
    """Source text of a constant; a NumPy scalar keeps its type."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.generic):
        return ex.to_python(ex.Const(value, value.dtype), "c")[-1].split("=", 1)[1].strip()
    return repr(value)


class Block(NamedTuple):
    """As a constant: the block of `_blocks` that stands for the constant's name."""

    name: str


class _Renamer(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node


class _Specialiser(ast.NodeTransformer):
    def __init__(self, name, consts, ops):
        self.name = name
        self.blocks = {key: value.name for key, value in consts.items() if isinstance(value, Block)}
        self.consts = {key: ast.parse(literal(value), mode="eval").body for key, value in consts.items()
                       if key not in self.blocks}
        self.ops = ops
        self.counter = 0

    # constants
    def visit_Name(self, node):
        if node.id in self.consts and isinstance(node.ctx, ast.Load):
            return self.consts[node.id]
        if node.id.isupper() and len(node.id) > 1:
            raise NameError(f"kernel {self.name}: {node.id} is not given")
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        stops = isinstance(node.op, ast.Or)  # the value that decides
        kept = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                if bool(value.value) == stops:
                    kept.append(value)
                    break
            else:
                kept.append(value)
        if not kept:
            return ast.Constant(not stops)
        if len(kept) == 1 or isinstance(kept[0], ast.Constant):
            return kept[0]
        node.values = kept
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        if all(isinstance(operand, ast.Constant) for operand in operands):
            return ast.Constant(eval(compile(ast.Expression(ast.fix_missing_locations(node)), "", "eval")))
        return node

    def visit_If(self, node):
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self._block(node.body if test.value else node.orelse)
        node.test = test
        node.body = self._block(node.body) or [ast.Pass()]
        node.orelse = self._block(node.orelse)
        return node

    def visit_IfExp(self, node):
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        node.test, node.body, node.orelse = test, self.visit(node.body), self.visit(node.orelse)
        return node

    # blocks
    def visit_Expr(self, node):
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.isupper():
            return self._paste(call)
        return self.generic_visit(node)

    def _paste(self, call):
        name = self.blocks.get(call.func.id, call.func.id.lower())
        function = pickle.loads(_parsed(getattr(_blocks, name)))
        renamed = _Renamer({arg.arg: value.id for arg, value in zip(function.args.args, call.args, strict=True)})
        body = function.body[1:] if ast.get_docstring(function) else function.body
        return self._block([renamed.visit(statement) for statement in body])

    def _block(self, statements):
        result = []
        for statement in statements:
            new = self.visit(statement)
            result.extend(new if isinstance(new, list) else [new] if new is not None else [])
        return result

    def visit_While(self, node):
        node.test = self.visit(node.test)
        node.body = self._block(node.body) or [ast.Pass()]
        return node

    def visit_For(self, node):
        node.iter = self.visit(node.iter)
        node.body = self._block(node.body) or [ast.Pass()]
        return node

    # operators
    def visit_Assign(self, node):
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self.ops:
            return self._inline(node.targets[0], call)
        node.value = self.visit(node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def _inline(self, target, call):
        expression, names = self.ops[call.func.id]
        used = ex.inputs(expression)
        before, rename = [], {}
        for name, argument in zip(names, call.args, strict=True):
            if name not in used:
                continue
            argument = self.visit(argument)
            if not isinstance(argument, ast.Name):
                self.counter += 1
                variable = f"a_{self.counter}"
                before.append(ast.Assign([ast.Name(variable, ast.Store())], argument))
                argument = ast.Name(variable)
            rename[name] = argument.id
        missing = used - set(names)
        if missing:
            raise NameError(f"kernel {self.name}: {call.func.id} needs {sorted(missing)}")
        self.counter += 1
        lines = ex.to_python(expression, "__target__", rename, prefix=f"t{self.counter}_")
        statements = ast.parse("\n".join(lines)).body
        statements[-1].targets = [self.visit(target)]
        return before + statements
