"""Plans whose result is a matrix; see `spgraph._plans`.

Operands are passed to the engine as (block, transposed): ``A.T`` costs nothing.
"""

from __future__ import annotations

from spgraph import engine
from spgraph._plans import Plan, apply_text, ewise_text, op_text, resized


class MxM(Plan):
    """A B over a semiring."""

    __slots__ = ("A", "B", "op")
    first = "A"

    def __init__(self, A, B, op):
        self.A = A._eval()
        self.B = B._eval()
        self.op = op

    def run(self, out, mask, accum, replace):
        if self.A.shape[1] != self.B.shape[0]:
            raise resized("mxm")
        A, B = self.A, self.B
        engine.mxm(out, mask, accum, replace, A._block, A._is_transposed, B._block, B._is_transposed, self.op)

    def formula(self, names):
        return f"{self.A._formula(names)}.mxm({self.B._formula(names)}, {op_text(self.op)})"


class Kronecker(Plan):
    """The Kronecker product."""

    __slots__ = ("A", "B", "op")
    first = "A"

    def __init__(self, A, B, op):
        self.A = A._eval()
        self.B = B._eval()
        self.op = op

    def run(self, out, mask, accum, replace):
        A, B = self.A, self.B
        engine.kronecker(out, mask, accum, replace, A._block, A._is_transposed, B._block, B._is_transposed, self.op)

    def formula(self, names):
        return f"{self.A._formula(names)}.kronecker({self.B._formula(names)}, {op_text(self.op)})"


class Outer(Plan):
    """The outer product of two vectors."""

    __slots__ = ("op", "u", "v")
    first = "u"

    def __init__(self, u, v, op):
        self.u = u._eval()
        self.v = v._eval()
        self.op = op

    def run(self, out, mask, accum, replace):
        engine.outer(out, mask, accum, replace, self.u._block, self.v._block, self.op)

    def formula(self, names):
        return f"{self.u._formula(names)}.outer({self.v._formula(names)}, {op_text(self.op)})"


class MatrixApply(Plan):
    """op(A), op(left, A), op(A, right), or an index-unary op(A, i, j, thunk)."""

    __slots__ = ("left", "op", "operand", "right", "thunk")
    first = "operand"

    def __init__(self, A, op, left, right, thunk):
        self.operand = A._eval()
        self.op = op
        self.left = left
        self.right = right
        self.thunk = thunk

    def run(self, out, mask, accum, replace):
        A = self.operand
        engine.matrix_apply(
            out,
            mask,
            accum,
            replace,
            A._block,
            A._is_transposed,
            self.op,
            left=self.left,
            right=self.right,
            thunk=self.thunk,
        )

    def formula(self, names):
        return apply_text(self, names)


class MatrixEwise(Plan):
    """Union ("add"), intersection ("mult") or union with defaults ("union") of two matrices."""

    __slots__ = ("kind", "ldefault", "left", "op", "rdefault", "right")
    first = "left"

    def __init__(self, kind, left, right, op, ldefault=None, rdefault=None):
        self.kind = kind
        self.left = left._eval()
        self.right = right._eval()
        self.op = op
        self.ldefault = ldefault
        self.rdefault = rdefault

    def run(self, out, mask, accum, replace):
        A, B = self.left, self.right
        if A.shape != B.shape:
            raise resized(f"ewise_{self.kind}")
        engine.matrix_ewise(
            out,
            mask,
            accum,
            replace,
            self.kind,
            self.op,
            A._block,
            A._is_transposed,
            B._block,
            B._is_transposed,
            self.ldefault,
            self.rdefault,
        )

    def formula(self, names):
        return ewise_text(self.kind, self.left, self.right, self.op, self.ldefault, self.rdefault, names)


class MatrixSelect(Plan):
    """The entries of A for which op(A, i, j, thunk) holds."""

    __slots__ = ("A", "op", "thunk")
    first = "A"

    def __init__(self, A, op, thunk):
        self.A = A if type(getattr(A, "_plan", None)) is MatrixExtract else A._eval()  # A[I, J]: in one pass
        self.op = op
        self.thunk = thunk

    def run(self, out, mask, accum, replace):
        A = self.A
        extract = getattr(A, "_plan", None)
        if extract is not None and A._value is None:
            extract.run(out, mask, accum, replace, (self.op, self.thunk))
            return
        A = A._eval()
        engine.matrix_select(out, mask, accum, replace, A._block, A._is_transposed, self.op, self.thunk)

    def formula(self, names):
        return f"{self.A._formula(names)}.select({op_text(self.op)}, {self.thunk})"


class MatrixExtract(Plan):
    """A[I, J]."""

    __slots__ = ("A", "I", "J")
    first = "A"

    def __init__(self, A, I, J):  # noqa: E741
        self.A = A._eval()
        self.I = I
        self.J = J

    def run(self, out, mask, accum, replace, keep=None):
        A = self.A
        engine.matrix_extract(out, mask, accum, replace, A._block, A._is_transposed, self.I, self.J, keep)

    def formula(self, names):
        from spgraph.indexing import index_text

        return f"{self.A._formula(names)}[{index_text(self.I)}, {index_text(self.J)}]"
