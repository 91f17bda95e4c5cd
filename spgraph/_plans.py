"""Plans: what a lazy expression does when its result is wanted. This file: vectors and scalars.

A plan holds its operands and typed operators. ``run(out, mask, accum, replace)`` is one call of the
engine; shapes were checked when the plan was made and are looked at again, since an operand may have
been resized. ``node()`` gives element-wise plans as a branch of a tree, so that a chain of them is one
kernel; ``weight`` counts the nodes of the tree. Other operands are evaluated when the plan is made, so that
a loop such as ``x = x @ A`` does not nest without end. A scalar's plan has ``compute()`` instead, which gives
a NumPy scalar, or None for no value. ``formula(names)`` is how the caller could have written it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from semirings.exceptions import DimensionMismatch
from spgraph import engine

Apply, Ewise = engine.Apply, engine.Ewise
_new = tuple.__new__  # half the time of calling a NamedTuple

# Longer chains are cut: a kernel per shape of tree must not become a kernel per statement of a program.
MAX_FUSED = 16


class Plan:
    """Base of all plans."""

    __slots__ = ()
    weight: Any = 1
    method: ClassVar[str] = ""
    first: ClassVar[str]  # the slot of an operand that is a vector or a matrix: all are on one device

    @property
    def device(self) -> Any:
        """Where the operands lie."""
        return getattr(self, self.first)._device

    def run(self, out, mask, accum, replace):
        raise NotImplementedError

    def formula(self, names) -> str:
        raise NotImplementedError


def resized(method: str) -> DimensionMismatch:
    """The error for operands that fitted when the expression was made and do no more."""
    return DimensionMismatch(f"{method}: an operand was resized after the expression was made; make it anew")


def shorten(operand: Any, other_weight: int = 0) -> Any:
    """The operand of an element-wise plan, evaluated if the chain would become too long."""
    return operand._eval() if operand._weight + other_weight >= MAX_FUSED else operand


class MxV(Plan):
    """A u, or with `flipped` (and A transposed once more) u A."""

    __slots__ = ("A", "flipped", "op", "transposed", "u")
    first = "A"

    def __init__(self, A, u, op, transposed, flipped):
        self.A = A._eval()
        self.u = u._eval()
        self.op = op
        self.transposed = transposed
        self.flipped = flipped

    def run(self, out, mask, accum, replace, changed=None, changed_if=None):
        A = self.A._block
        u = self.u._block
        if (A.nrows if self.transposed else A.ncols) != u.size:
            raise resized("vxm" if self.flipped else "mxv")
        engine.mxv(out, mask, accum, replace, A, self.transposed, u, self.op, flipped=self.flipped, changed=changed,
                   changed_if=changed_if)

    def formula(self, names):
        A, u = self.A._formula(names), self.u._formula(names)
        if self.flipped:
            return f"{u}.vxm({A}, {op_text(self.op)})"
        return f"{A}.mxv({u}, {op_text(self.op)})"


class VectorApply(Plan):
    """op(u), op(left, u), op(u, right), or an index-unary op(u, i, 0, thunk)."""

    __slots__ = ("left", "op", "operand", "right", "thunk", "weight")
    first = "operand"

    def __init__(self, u, op, left, right, thunk):
        self.operand = u = shorten(u)
        self.op = op
        self.left = left
        self.right = right
        self.thunk = thunk
        self.weight = u._weight + 1

    def node(self):
        return _new(Apply, (self.op, self.operand._node(), self.left, self.right, self.thunk))

    def run(self, out, mask, accum, replace):
        engine.vector_chain(out, mask, accum, replace, self.node())

    def formula(self, names):
        return apply_text(self, names)


class VectorEwise(Plan):
    """Union ("add"), intersection ("mult") or union with defaults ("union") of two vectors."""

    __slots__ = ("kind", "ldefault", "left", "op", "rdefault", "right", "weight")
    first = "left"

    def __init__(self, kind, left, right, op, ldefault=None, rdefault=None):
        self.kind = kind
        self.left = left = shorten(left)
        self.right = right = shorten(right, left._weight)
        self.op = op
        self.ldefault = ldefault
        self.rdefault = rdefault
        self.weight = left._weight + right._weight + 1

    def node(self):
        left, right = self.left, self.right
        if left._size != right._size:
            raise resized(f"ewise_{self.kind}")
        return _new(Ewise, (self.kind, self.op, left._node(), right._node(), self.ldefault, self.rdefault))

    def run(self, out, mask, accum, replace):
        engine.vector_chain(out, mask, accum, replace, self.node())

    def formula(self, names):
        return ewise_text(self.kind, self.left, self.right, self.op, self.ldefault, self.rdefault, names)


class VectorSelect(Plan):
    """The entries of u for which op(u, i, 0, thunk) holds."""

    __slots__ = ("of_vector", "op", "thunk", "u")
    first = "u"

    def __init__(self, u, op, thunk):
        self.u = u._eval()
        self.of_vector = self.u is u  # not of an expression's value
        self.op = op
        self.thunk = thunk

    def run(self, out, mask, accum, replace):
        engine.vector_select(out, mask, accum, replace, self.u._block, self.op, self.thunk)

    def formula(self, names):
        return f"{self.u._formula(names)}.select({op_text(self.op)}, {self.thunk})"


class MaskSelect(Plan):
    """The entries of an object (vector or matrix) that a mask allows."""

    __slots__ = ("mask", "source")
    first = "source"

    def __init__(self, source, mask):
        self.source = source._eval()
        self.mask = mask

    def run(self, out, mask, accum, replace):
        own = self.mask._engine()
        if self.mask.parent.shape != self.source.shape:
            raise resized("select")
        if mask is None:
            self.source._run(out, own, accum, accum is None)
        else:
            self.source.dup(mask=self.mask)._run(out, mask, accum, replace)

    def formula(self, names):
        return f"{self.source._formula(names)}.select({self.mask._formula(names)})"


class VectorExtract(Plan):
    """u[index]."""

    __slots__ = ("index", "u")
    first = "u"

    def __init__(self, u, index):
        self.u = u._eval()
        self.index = index

    def run(self, out, mask, accum, replace):
        engine.vector_extract(out, mask, accum, replace, self.u._block, self.index)

    def formula(self, names):
        from spgraph.indexing import index_text

        return f"{self.u._formula(names)}[{index_text(self.index)}]"


class Gather(Plan):
    """u[p] for a vector of positions."""

    __slots__ = ("p", "u")
    first = "u"

    def __init__(self, u, p):
        self.u = u._eval()
        self.p = p

    def run(self, out, mask, accum, replace):
        engine.gather(out, mask, accum, replace, self.u._block, self.p._block)

    def formula(self, names):
        return f"{self.u._formula(names)}[{self.p._formula(names)}]"


class PointerJump(Plan):
    """Where the values of v lead in the end."""

    __slots__ = ("u",)
    first = "u"

    def __init__(self, u):
        self.u = u._eval()

    def run(self, out, mask, accum, replace):
        engine.pointer_jump(out, mask, accum, replace, self.u._block)

    def formula(self, names):
        return f"{self.u._formula(names)}.pointer_jump()"


class ExtractLine(Plan):
    """A[i, J] (row) or A[I, j]: a line of a matrix as a vector."""

    __slots__ = ("A", "index", "line", "row")
    first = "A"

    def __init__(self, A, index, line, row):
        self.A = A._eval()
        self.index = index
        self.line = line
        self.row = row

    def run(self, out, mask, accum, replace):
        transposed = self.A._is_transposed != self.row
        engine.matrix_extract_column(out, mask, accum, replace, self.A._block, transposed, self.index, self.line)

    def formula(self, names):
        from spgraph.indexing import index_text

        pair = (self.line, self.index) if self.row else (self.index, self.line)
        return f"{self.A._formula(names)}[{', '.join(map(index_text, pair))}]"


class ReduceRows(Plan):
    """Each row (or with `columns` each column) of A reduced by a monoid."""

    __slots__ = ("A", "columns", "monoid")
    first = "A"

    def __init__(self, A, monoid, columns):
        self.A = A._eval()
        self.monoid = monoid
        self.columns = columns

    def run(self, out, mask, accum, replace):
        transposed = self.A._is_transposed != self.columns
        engine.matrix_reduce_rows(out, mask, accum, replace, self.A._block, transposed, self.monoid)

    def formula(self, names):
        way = "columnwise" if self.columns else "rowwise"
        return f"{self.A._formula(names)}.reduce_{way}({op_text(self.monoid)})"


class Recipe(Plan):
    """Several steps: `make()` gives the result as an object, which is then written (any rank)."""

    __slots__ = ("make", "operands", "text")

    @property
    def device(self):
        return self.operands[0]._device

    def __init__(self, make, text, operands):
        self.make = make
        self.text = text
        self.operands = operands

    def run(self, out, mask, accum, replace):
        self.make()._run(out, mask, accum, replace)

    def formula(self, names):
        return self.text(names)


class VectorReduce(Plan):
    """All entries of u reduced to one value; an element-wise u is not computed by itself."""

    __slots__ = ("identity", "monoid", "u")
    first = "u"

    def __init__(self, u, monoid, identity):
        self.u = u
        self.monoid = monoid
        self.identity = identity

    def compute(self):
        value = engine.vector_reduce(self.u._node(), self.monoid)
        return self.identity if value is None else value

    def start(self):
        """Begin to compute; the value comes from the result's ``get()``."""
        return _Started(engine.vector_reduce_later(self.u._node(), self.monoid), self.identity)

    def formula(self, names):
        return f"{self.u._formula(names)}.reduce({op_text(self.monoid)})"


class _Started:
    """A reduction under way."""

    __slots__ = ("_identity", "_total", "ready")

    def __init__(self, total, identity):
        self._total = total
        self._identity = identity
        self.ready = total.ready

    def get(self):
        """The value, or None; waits for it."""
        value = self._total.get()
        return self._identity if value is None else value


class MatrixReduce(Plan):
    """All entries of A reduced to one value."""

    __slots__ = ("A", "identity", "monoid")
    first = "A"

    def __init__(self, A, monoid, identity):
        self.A = A._eval()
        self.monoid = monoid
        self.identity = identity

    def compute(self):
        value = engine.matrix_reduce_scalar(self.A._block, self.monoid)
        return self.identity if value is None else value

    def formula(self, names):
        return f"{self.A._formula(names)}.reduce_scalar({op_text(self.monoid)})"


class Inner(Plan):
    """The inner product of two vectors."""

    __slots__ = ("op", "u", "v")
    first = "u"

    def __init__(self, u, v, op):
        self.u = u._eval()
        self.v = v._eval()
        self.op = op

    def compute(self):
        if self.u._size != self.v._size:
            raise resized("inner")
        return engine.inner(self.u._block, self.v._block, self.op)

    def formula(self, names):
        return f"{self.u._formula(names)}.inner({self.v._formula(names)}, {op_text(self.op)})"


class ComputeRecipe(Plan):
    """Several steps that end in one value."""

    __slots__ = ("compute", "operands", "text")

    @property
    def device(self):
        return self.operands[0]._device

    def __init__(self, compute, text, operands):
        self.compute = compute
        self.text = text
        self.operands = operands

    def formula(self, names):
        return self.text(names)


def op_text(op: Any) -> str:
    """An operator as a caller would write it, such as ``binary.plus[INT64]``."""
    return repr(op)


def apply_text(plan: Any, names: Any) -> str:
    """The formula of an apply."""
    operand = plan.operand._formula(names)
    if plan.left is not None:
        return f"{operand}.apply({op_text(plan.op)}, left={plan.left})"
    value = plan.right if plan.right is not None else plan.thunk
    return f"{operand}.apply({op_text(plan.op)}{'' if value is None else f', right={value}'})"


def ewise_text(kind, left, right, op, ldefault, rdefault, names) -> str:
    """The formula of an element-wise operation."""
    defaults = f", {ldefault}, {rdefault}" if kind == "union" else ""
    literal = right.ndim == 0 and getattr(right, "_name", "") is None and right._value is not None
    second = str(right._value) if literal else right._formula(names)
    return f"{left._formula(names)}.ewise_{kind}({second}, {op_text(op)}{defaults})"
