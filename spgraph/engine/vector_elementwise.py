"""Element-wise expressions over vectors, however nested, as one kernel.

The face hands over a tree of Leaf, Apply and Ewise nodes. Bound scalars travel
as values, not as text, so a changing factor does not compile anything. A sparse
operand that bounds the result (an operand of an intersection) drives the loop;
otherwise one pass over all positions includes mask, accumulator and write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from semirings import expr as ex
from spgraph.block import VectorBlock
from spgraph.block.width import index_dtype
from spgraph.engine import vector_sparse
from spgraph.engine.mask import EMPTY_BITS, MASK_CONSTS, NO_MASK, Mask, MaskView, view_mask
from spgraph.engine.operators import cast_values, is_fresh, store, total_of
from spgraph.engine.vector_write import NO_IDS, chain_of, scatter, take_list, write, write_chain
from spgraph.engine.workspace import workspace
from spgraph.kernels.cpu._threads import waiting
from spgraph.kernels.device import Device
from spgraph.kernels.trees import AppliedNode, EwiseNode, LeafNode
from spgraph.partition import NATURAL

__all__ = ["Apply", "Everywhere", "Ewise", "Leaf", "Plan", "dtype_of", "inner", "planned_chain", "planned_reduce",
           "vector_chain", "vector_reduce", "vector_reduce_later", "vector_select"]

INT64 = np.dtype(np.int64)
ZERO = ex.Const(np.int64(0), INT64)
POSITION = ex.Input("i", INT64)
CHEAP = 4  # nodes of an expression that may be evaluated twice: a comparison
BOUND = ("left", "right", "thunk")  # what an Apply may hold besides its child
SPARSE_SHARE = 4  # a list drives the loop if it is shorter than size / this


class Leaf(NamedTuple):
    """A vector operand."""

    block: Any  # VectorBlock, or VectorParts


class Apply(NamedTuple):
    """A unary, bound binary (`left` or `right`) or index-unary (`thunk`) operator over `child`."""

    op: Any
    child: Any
    left: Any = None
    right: Any = None
    thunk: Any = None


class Ewise(NamedTuple):
    """An element-wise union ("add"), intersection ("mult") or union with defaults ("union")."""

    kind: str
    op: Any
    l: Any  # noqa: E741
    r: Any
    ldefault: Any = None
    rdefault: Any = None


NODES = frozenset({Leaf, Apply, Ewise})


class Plan:
    """A tree made ready: its operands, what tells it from others, and how to print it.

    `marks` says in few hashable objects what the tree computes: leaves by number, operators themselves and how
    they are used, children first. With how the leaves are stored (`key`) that is all its kernel depends on; a
    statement that is run again finds its kernel by it, without the operators' own keys being made and hashed.
    """

    __slots__ = ("_like", "_numbers", "_shape", "_tree", "blocks", "device", "driver", "marks", "positional", "scalars",
                 "size")

    def __init__(self, tree):
        self._tree = tree
        self._like: Any = None  # the plan that this one was made of, which knows its shape; not itself: a cycle stays
        self._shape: Any = None
        self.blocks: list[Any] = []  # VectorBlock, or VectorParts
        self.scalars: list[np.generic] = []
        self.marks: list = []
        self.driver = None
        self.positional = _collect(tree, self.blocks, self.scalars, self.marks)
        first = self.blocks[0]
        self.size = first.size
        self.device = first.device

    def over(self, blocks: list, tree: Callable[[], Any]) -> Plan:
        """The same for other blocks, in the order of `blocks`; the tree over these is made when it is asked for."""
        new = Plan.__new__(Plan)
        new.blocks, new._tree, new._like, new.driver = blocks, tree, self._like or self, None
        new.scalars, new.marks, new.positional = self.scalars, self.marks, self.positional
        new.size, new.device = blocks[0].size, blocks[0].device
        return new

    @property
    def tree(self) -> Any:
        """The tree over the blocks."""
        if type(self._tree) not in NODES:
            self._tree = self._tree()
        return self._tree

    def key(self) -> tuple:
        """Equal only for trees of one signature."""
        marks = self.marks.copy()
        for block in self.blocks:  # a driver alone is "sparse"
            marks += (block.dtype, block.format, block.iso)
        return tuple(marks)

    def has_list(self) -> bool:
        """Whether an operand is sparse."""
        return "sparse" in [block.format for block in self.blocks]

    def align(self, out: VectorBlock | None) -> None:
        """Bring all operands (and a non-empty `out`) into one partition: the first that is not natural."""
        candidates = [*self.blocks, out] if out is not None else self.blocks
        first = candidates[0].partition
        for block in candidates:
            if block.partition is not first:
                break
        else:
            return
        partition = next((b.partition for b in candidates if not b.partition.natural and b.nvals), NATURAL)
        for block in candidates:
            if block.partition is not partition:
                block.rehome(partition)

    def bound(self) -> Any:
        """The shortest sparse operand outside which nothing is present, or None."""
        like = self._like or self
        if like._shape is None:
            like._shape = _shape(like.tree, like.blocks)
        return self._bound(like._shape)

    def _bound(self, shape):
        if shape.__class__ is int:
            block = self.blocks[shape]
            return block if block.format == "sparse" else None
        kind, left, right = shape
        left, right = self._bound(left), self._bound(right)
        if kind == "mult":
            if left is None or right is None:
                return left if right is None else right
            return left if left.nvals <= right.nvals else right
        return left if left is not None and left is right else None

    def signature(self, tree):
        """Identifies the kernel's text, whoever made the operators."""
        self._numbers = len(self.blocks)
        return self._signature(tree)

    def _signature(self, node):
        kind = type(node)
        if kind is Leaf:
            block = node.block
            number = next(n for n, other in enumerate(self.blocks) if other is block)
            how = "l" if block is self.driver else "f" if block.format == "full" else "b"
            return LeafNode(number, block.dtype, how, block.iso)
        if kind is Apply:
            child = self._signature(node.child)
            for name in BOUND:
                value = getattr(node, name)
                if value is not None:
                    return ("bound", node.op.key, name, child, self._scalar(value))
            return ("apply", node.op.key, child)
        left, right = self._signature(node.l), self._signature(node.r)
        if node.kind == "union":
            return (node.kind, node.op.key, left, right, self._scalar(node.ldefault), self._scalar(node.rdefault))
        return (node.kind, node.op.key, left, right)

    def _scalar(self, value):
        self._numbers += 1
        return LeafNode(self._numbers - 1, value.dtype, "f", True)

    def printable(self, node, signature):
        """The tree that `chain_kernel` prints; mirrors `signature`."""
        if type(node) is Leaf:
            return signature
        expr = _place(node.op)
        if type(node) is Apply:
            if signature[0] == "apply":
                return AppliedNode(expr, self.printable(node.child, signature[2]))
            child, scalar = self.printable(node.child, signature[3]), signature[4]
            pair = (scalar, child) if signature[2] == "left" else (child, scalar)
            return EwiseNode("mult", expr, *pair, None)
        left, right = self.printable(node.l, signature[2]), self.printable(node.r, signature[3])
        return EwiseNode(node.kind, expr, left, right, signature[4:] or None)

    def operands(self) -> list:
        """(present, values) of every leaf, as the kernels take them."""
        args = []
        for block in self.blocks:
            args += [EMPTY_BITS if block.present is None else block.present, block.values]
        for value in self.scalars:
            args += [EMPTY_BITS, np.array([value])]
        return args


def _collect(node, blocks: list, scalars: list, marks: list) -> bool:
    """Take notes of a tree in printing order (see `Plan`); returns whether it looks at positions."""
    kind = node.__class__
    if kind is Leaf:
        block = node.block
        number = 0
        for other in blocks:
            if other is block:
                break
            number += 1
        else:
            blocks.append(block)
        marks.append(number)
        return False
    if kind is Apply:
        op, child, *bound = node
        positional = _collect(child, blocks, scalars, marks)
        marks.append(op)
        for name, value in zip(BOUND, bound):
            if value is not None:
                scalars.append(value)
                marks += (name, value.__class__)
                break
        else:
            marks.append("apply")
        return positional or op.positional
    how, op, left, right, ldefault, rdefault = node
    positional = _collect(left, blocks, scalars, marks) | _collect(right, blocks, scalars, marks)
    marks += (op, how)
    if how == "union":
        scalars += (ldefault, rdefault)
        marks += (ldefault.__class__, rdefault.__class__)
    return positional or op.positional


def _shape(node, blocks: list) -> Any:
    """What `Plan.bound` looks at: the numbers of leaves, and how they are combined."""
    kind = node.__class__
    if kind is Leaf:
        return next(number for number, block in enumerate(blocks) if block is node.block)
    if kind is Apply:
        return _shape(node.child, blocks)
    return node.kind, _shape(node.l, blocks), _shape(node.r, blocks)


def _place(op) -> ex.Expr:
    """The operator's expression over x, y (or the thunk) and the position i in a column vector."""
    mapping = {"ix": POSITION, "iy": POSITION, "jx": ZERO, "jy": ZERO, "j": ZERO}
    for node in ex.walk(op.expr):
        if isinstance(node, ex.Input) and node.name == "thunk":
            mapping["thunk"] = ex.Input("y", node.dtype)
    return ex.substitute(op.expr, mapping)


def vector_chain(out: VectorBlock, mask: Mask | None, accum, replace: bool, tree) -> None:
    """C<M, replace> (accum)= the tree's value."""
    if type(tree) is Leaf:
        _chain_leaf(out, mask, accum, replace, tree.block)
        return
    if out.size > vector_sparse.BITMAP_LIMIT:
        tree = _in_steps(tree)
    planned_chain(out, mask, accum, replace, Plan(tree), dtype_of(tree))


def planned_chain(out: VectorBlock, mask: Mask | None, accum, replace: bool, plan: Plan, dtype) -> None:
    """C<M, replace> (accum)= the value, of that dtype, of a tree that is no Leaf."""
    plan.align(out)
    if plan.has_list():
        if not plan.positional and vector_sparse.applies(*plan.blocks) and type(plan.tree) is Ewise:
            T = _merged(plan.tree)
            write(out, mask, accum, replace, T)
            return
        driver = plan.bound()
        if driver is not None and (driver.nvals * SPARSE_SHARE <= driver.size or len(plan.blocks) == 1):
            _chain_list(out, mask, accum, replace, plan, dtype, driver)
            return
        for block in plan.blocks:
            block.to_bitmap()
    view = NO_MASK if mask is None else view_mask(mask, out.size, out.partition, copy=mask.block is out)
    fresh = is_fresh(out, mask, accum, replace)
    if not fresh and any(block is out for block in plan.blocks):
        out.expand()  # it is updated while it is read, position by position

    def describe():
        tree = plan.tree
        signature = plan.signature(tree)
        return signature, lambda: plan.printable(tree, signature)

    leaves = plan.blocks + [Everywhere(value) for value in plan.scalars] if plan.scalars else plan.blocks
    write_chain(out, view, mask is None or not replace, accum, fresh, plan.key(), describe, leaves, dtype,
                plan.positional)


def _merged(tree: Ewise) -> VectorBlock:
    """The value of an element-wise node over short lists."""
    left, right = _evaluated(tree.l), _evaluated(tree.r)
    T = VectorBlock(left.size, dtype_of(tree), device=left.device)
    vector_sparse.ewise(T, tree.kind, tree.op, left, right, tree.ldefault, tree.rdefault)
    return T


def _in_steps(tree):
    """The same with its operands evaluated, for vectors that are too long for bitmaps: lists merge pairwise."""
    names = ("child",) if type(tree) is Apply else ("l", "r")
    return tree._replace(**{name: Leaf(_evaluated(getattr(tree, name))) for name in names})


def _evaluated(node) -> VectorBlock:
    if type(node) is Leaf:
        return node.block
    plan = Plan(node)
    block = VectorBlock(plan.size, dtype_of(node), device=plan.device)
    vector_chain(block, None, None, False, node)
    calls = waiting()
    if calls is not None:  # what is made of it does not wait
        calls.run()
    return block


def _chain_leaf(out: VectorBlock, mask: Mask | None, accum, replace: bool, T: VectorBlock) -> None:
    """C<M, replace> (accum)= T. A vector under its own structural mask needs no mask: q(q.S) << q."""
    own = mask is not None and mask.block is T and mask.structural and not mask.complement
    if own and T is not out and T.format == "sparse" and not replace and out.nvals:
        if T.partition is not out.partition:
            T.rehome(out.partition) if T.partition.natural else out.rehome(T.partition)
        scatter(out, NO_MASK, accum, T)
        return
    if own and not replace and out.nvals == 0:
        mask = None
    if T is out and not (mask is None and accum is None):
        T = T.copy()
    write(out, mask, accum, replace, T, shared=True)


def dtype_of(tree) -> np.dtype:
    """dtype that a tree yields."""
    return tree.block.dtype if type(tree) is Leaf else tree.op.return_type.np_type


class Everywhere:
    """A scalar as a leaf of a chain: what of a full, iso block its kernel asks for."""

    __slots__ = ("values",)
    format, present = "full", None

    def __init__(self, value: np.generic):
        self.values = np.array([value])


def uniform(size: int, value, device: Device) -> VectorBlock:
    """A full block of one value."""
    block = VectorBlock(size, value.dtype, device=device)
    if size:
        block.set_full(np.array([value]), iso=True)
    return block


def _chain_list(out, mask, accum, replace, plan, dtype, driver):
    """The entries of the list `driver` bound the result."""
    device = out.device
    for block in plan.blocks:
        if block is not driver:
            block.to_bitmap()
    plan.driver = driver
    fresh = is_fresh(out, mask, accum, replace)
    if mask is not None and out.size > vector_sparse.BITMAP_LIMIT:
        fresh = False  # no bitmap of the mask: `write` merges lists
    dtype = out.dtype if fresh else dtype
    view = view_mask(mask if fresh else None, out.size, driver.partition)
    if driver.format != "sparse":  # it was the mask too, and became a bitmap
        driver.to_sparse()
    natural = not plan.positional or driver.partition.natural
    complete = not view.code and all(block is driver or block.format == "full" for block in plan.blocks)
    loop = "each" if complete else "list"
    key = (loop, plan.key(), view.code, view.values.dtype, dtype, natural)
    kernel = device.chains.get(key)
    if kernel is None:
        tree = plan.tree
        signature = plan.signature(tree)

        def make():
            leaves = len(plan.blocks) + len(plan.scalars)
            consts = {"GLOBAL": not natural} if complete else {**MASK_CONSTS[view.code], "GLOBAL": not natural}
            return device.chain(loop, plan.printable(tree, signature), leaves, dtype, consts, {})

        kernel = chain_of(device, key, (loop, signature, view.code, view.values.dtype, dtype, natural), make)
    count = driver.nvals
    values = device.xp.empty(count, dtype)
    T = out if fresh else VectorBlock(out.size, dtype, device=device)
    entries = driver.indices, NO_IDS if natural else driver.partition.to_global
    if complete:  # its entries are the driver's, and so is what a push made of them
        listed, known = driver.indices, (driver.sorted, driver.queue)
        device.over(kernel, count, count, (*entries, values, *plan.operands()))
        T.set_sparse(listed, values, sorted=known[0], partition=driver.partition)
        T.queue = known[1]
    else:
        indices = device.xp.empty(count, index_dtype(out.size))
        take_list(T, kernel, count, (*entries, view.present, view.values), indices, values, plan.operands(),
                  sorted=driver.sorted, partition=driver.partition)
    if not fresh:
        write(out, mask, accum, replace, T)


def vector_reduce(tree, monoid):
    """All entries of a block or tree combined by `monoid`: a NumPy scalar, or None if there is no entry."""
    return vector_reduce_later(tree, monoid).get()


class _Total:
    """The total of a reduction that was started; ``get()`` waits for it."""

    __slots__ = ("_later", "_monoid")

    def __init__(self, later, monoid):
        self._later = later
        self._monoid = monoid

    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return self._later.ready()

    def each(self) -> list:
        """What each part of the work has found, as NumPy scalars of the monoid's type."""
        dtype = self._monoid.type.np_type
        return [
            total if total.__class__ is dtype.type else np.asarray(total, dtype)[()]
            for count, total in self._later.get() if count
        ]  # fmt: skip

    def get(self):
        """A NumPy scalar of the monoid's type, or None."""
        return total_of(self.each(), self._monoid)


def vector_reduce_later(tree, monoid) -> _Total:
    """The same, started: a GPU is not waited for until ``get()``."""
    if isinstance(tree, VectorBlock):
        tree = Leaf(tree)
    plan = Plan(tree)
    if plan.size > vector_sparse.BITMAP_LIMIT and type(tree) is not Leaf:
        plan = Plan(Leaf(_evaluated(tree)))
    return planned_reduce(plan, monoid)


def planned_reduce(plan: Plan, monoid) -> _Total:
    """All entries of the value of a tree combined, started."""
    plan.align(None)
    driver = None
    if plan.has_list():
        driver = plan.bound()
        if driver is not None and driver.nvals * SPARSE_SHARE > driver.size and len(plan.blocks) > 1:
            driver = None
        for block in plan.blocks:
            if block is not driver:
                block.to_bitmap()
        plan.driver = driver
    partition = plan.blocks[0].partition
    natural = not plan.positional or partition.natural
    device = plan.device
    key = ("reduce", plan.key(), monoid, natural)
    kernel = device.chains.get(key)
    if kernel is None:
        tree = plan.tree
        signature = plan.signature(tree)
        kernel = chain_of(device, key, ("chain.reduce", signature, monoid.key, natural, driver is not None),
                          lambda: _reduce_kernel(plan, tree, signature, monoid, natural, driver is not None))
    size = plan.size if driver is None else driver.nvals
    work = size * len(plan.blocks)
    listed = NO_IDS if driver is None else driver.indices
    args = (listed, NO_IDS if natural else partition.to_global, *plan.operands())
    return _Total(device.over_later(kernel, size, work, args), monoid)


def _reduce_kernel(plan, tree, signature, monoid, natural, listed):
    dtype = monoid.type.np_type
    combined = ex.substitute(monoid.binaryop.expr, {"x": ex.Input("s", dtype), "y": ex.Input("t", dtype)})
    terminal = monoid.terminal
    consts = {
        "GLOBAL": not natural, "LISTED": listed, "ANY": bool(monoid.terminal_any),
        "IDENTITY": monoid.start,
        "HAS_TERMINAL": terminal is not None, "TERMINAL": terminal if terminal is not None else False,
    }
    leaves = len(plan.blocks) + len(plan.scalars)
    return plan.device.chain("reduce", plan.printable(tree, signature), leaves, dtype, consts,
                             {"ADD": (ex.cast(combined, dtype), ("s", "t"))})


@functools.lru_cache(maxsize=256)
class _RowTimesColumn:
    """The product of a semiring where x is entry (0, k) of a row and y entry (k, 0) of a column."""

    __slots__ = ("expr", "key", "positional", "return_type", "type", "type2")

    def __init__(self, op):
        self.expr = ex.substitute(op.expr, {"ix": ZERO, "jx": POSITION, "iy": POSITION, "jy": ZERO})
        self.key = ("row times column", op.key)
        self.positional = op.positional
        self.return_type, self.type, self.type2 = op.return_type, op.type, op.type2


def inner(u: VectorBlock, v: VectorBlock, semiring):
    """The product of a row and a column vector: a NumPy scalar, or None."""
    return vector_reduce(Ewise("mult", _RowTimesColumn(semiring.binaryop), Leaf(u), Leaf(v)), semiring.monoid)


def vector_select(out: VectorBlock, mask: Mask | None, accum, replace: bool, u: VectorBlock, op, thunk) -> None:
    """C<M, replace> (accum)= the entries of u that `op` keeps."""
    fresh = is_fresh(out, mask, accum, replace)
    if mask is not None and out.size > vector_sparse.BITMAP_LIMIT:
        fresh = False
    partition = u.partition
    if fresh and mask is not None and not mask.block.partition.natural:
        partition = mask.block.partition
        u.rehome(partition)
    view = view_mask(mask if fresh else None, u.size, partition)
    T = out if fresh else VectorBlock(u.size, u.dtype, device=u.device)
    _select(T, u, view, op, thunk)
    if not fresh:
        write(out, mask, accum, replace, T)


def _select(T: VectorBlock, u: VectorBlock, view: MaskView, op, thunk) -> None:
    """T = the entries of u that `op` and the mask keep."""
    device, dtype = u.device, T.dtype
    sparse = u.format == "sparse"
    natural = u.partition.natural or not op.positional
    thunk = np.int64(0) if thunk is None else thunk
    name = "scatter.select_list" if sparse else "scatter.select_bitmap"
    key = (name, op.key, u.format, u.dtype, u.iso, thunk.dtype, view.code, view.values.dtype, dtype, natural)
    kernel = device.kernels.get(key)
    if kernel is None:
        mapping = {"x": ex.Input("x", u.dtype), "thunk": ex.Input("thunk", thunk.dtype), "j": ZERO}
        ops = {"KEEP": (ex.cast(ex.substitute(op.expr, mapping), np.bool_), ("x", "i", "thunk")),
               "STORE": store(u.dtype, dtype)}
        consts = {**MASK_CONSTS[view.code], "T_ISO": u.iso, "ISO_OUT": u.iso, "GLOBAL": not natural}
        if not sparse:
            consts["T_FULL"] = u.format == "full"
            if device.on_host:
                consts["PEEK"] = len(list(ex.walk(op.expr))) <= CHEAP
        kernel = device.kernels[key] = device.kernel(name, consts, ops)
    leading = u.indices if sparse else EMPTY_BITS if u.present is None else u.present
    args = (leading, u.values, thunk, NO_IDS if natural else u.partition.to_global, view.present, view.values)
    count = u.nvals if sparse else u.size
    kept = device.on_host and not sparse
    if kept:  # fresh memory of this size costs more than the selection
        space = workspace(count)
        indices, values = space.indices, EMPTY_BITS if u.iso else space.array("values", dtype)
    else:
        xp, room = device.xp, u.bounds()[1]
        indices, values = xp.empty(room, index_dtype(u.size)), EMPTY_BITS if u.iso else xp.empty(room, dtype)
    if u.iso:
        values = cast_values(device, u.values, dtype)
    take_list(T, kernel, count, args, indices, values, iso=u.iso, sorted=u.sorted, partition=u.partition, kept=kept)
