"""Plans whose result is a scalar made of scalars, or one element; see `spgraph._plans`."""

from __future__ import annotations

from spgraph._plans import Plan, apply_text, ewise_text

__all__ = ["Element", "ScalarApply", "ScalarEwise"]


class Element(Plan):
    """v[i] or A[i, j]."""

    __slots__ = ("index", "parent")
    first = "parent"

    def __init__(self, parent, index):
        self.parent = parent
        self.index = index

    def compute(self):
        return self.parent._element(self.index)

    def formula(self, names):
        text = ", ".join(map(str, self.index)) if isinstance(self.index, tuple) else self.index
        return f"{self.parent._formula(names)}[{text}]"


class ScalarApply(Plan):
    """An operator on a scalar."""

    __slots__ = ("left", "op", "operand", "right", "thunk")
    first = "operand"

    def __init__(self, operand, op, left, right, thunk):
        self.operand = operand._eval()
        self.op = op
        self.left = left
        self.right = right
        self.thunk = thunk

    def compute(self):
        number = self.operand._number()
        if number is None:
            return None
        if self.left is not None:
            args = (self.left, number)
        else:
            args = (number,) if self.right is None else (number, self.right)
        places = (0,) * (len(self.op.inputs) - len(args) - (self.thunk is not None))
        thunk = () if self.thunk is None else (self.thunk,)
        return self.op.numpy(*args, *places, *thunk)[()]

    def formula(self, names):
        return apply_text(self, names)


class ScalarEwise(Plan):
    """Two scalars combined."""

    __slots__ = ("kind", "ldefault", "left", "op", "rdefault", "right")
    first = "left"

    def __init__(self, kind, left, right, op, ldefault=None, rdefault=None):
        self.kind = kind
        self.left = left._eval()
        self.right = right._eval()
        self.op = op
        self.ldefault = ldefault
        self.rdefault = rdefault

    def compute(self):
        a, b = self.left._number(), self.right._number()
        if a is None and b is None:
            return None
        if a is None or b is None:
            if self.kind == "mult":
                return None
            if self.kind == "add":
                number = b if a is None else a
                return self.op.return_type.np_type.type(number)
            a = self.ldefault if a is None else a
            b = self.rdefault if b is None else b
        places = (0,) * (len(self.op.inputs) - 2)
        return self.op.numpy(a, b, *places)[()]

    def formula(self, names):
        return ewise_text(self.kind, self.left, self.right, self.op, self.ldefault, self.rdefault, names)
