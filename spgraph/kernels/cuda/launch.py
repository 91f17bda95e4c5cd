"""Start assembled kernels: describe the arguments, compile once per description, pack, launch.

A launch costs what packing one struct and one driver call cost (4 us with arguments packed once, against
8 to 11 us for a RawKernel call with twelve arguments, H100). Results come through mapped memory that the
host polls; nothing is waited for until they are asked for.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from semirings._cuda import C_TYPES
from spgraph.kernels.cuda.assemble import Section, assemble

__all__ = ["MOST_BYTES", "CudaKernel", "Packed", "Pending", "describe"]

_CODES = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
          "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}
# by dtype: C++ type and struct code of a pointer, of a value that is read like an array, of a value
_POINTER = {np.dtype(name): (f"{c_type}*", "P") for name, c_type in C_TYPES.items()}
_ONE = {np.dtype(name): (f"One<{c_type}>", _CODES[name]) for name, c_type in C_TYPES.items()}
_VALUE = {np.dtype(name): (c_type, _CODES[name]) for name, c_type in C_TYPES.items()}
MOST_BYTES = 512  # of the arguments of a kernel that is packed
_PYTHON = {int: _VALUE[np.dtype(np.int64)], bool: _VALUE[np.dtype(np.bool_)], float: _VALUE[np.dtype(np.float64)]}


class Pending:
    """Results of a kernel that may still run.

    ``get()`` waits for them: a list of one part, as `Device.over` returns it.
    """

    __slots__ = ("_device", "_dtype", "_returns", "_sequence", "_slot", "_values")

    def __init__(self, device: Any, slot: int, sequence: int, returns: int, dtype: Any):
        self._device = device
        self._slot = slot
        self._sequence = sequence
        self._returns = returns
        self._dtype = dtype
        self._values: Any = None

    @property
    def slot(self) -> int:
        """Number of the place."""
        return self._slot

    def places(self) -> tuple[int, ...]:
        """Where the kernel counts, where the host looks, and the number that says it is done."""
        return (*self._device.places[self._slot], self._sequence)

    def ready(self) -> bool:
        """Whether `get` returns at once."""
        return self._values is not None or self._device.has(self._slot, self._sequence)

    def get(self) -> list:
        """The results, one or a tuple: ints, signed 64-bit, but for a section's `value`."""
        if self._values is None:
            with self._device.lock:  # the place is given away when it has been read
                self._read()
        return self._values

    def _read(self) -> None:
        if self._values is None:
            values = self._device.wait(self._slot, self._sequence, self._returns, self._dtype)
            self._values = [values[0] if self._returns == 1 else tuple(values)]


class Packed(NamedTuple):
    """A function of a kernel that finds its arguments in memory, these, and each one's offset and code, places last."""

    function: Any
    arguments: bytes
    fields: list[tuple[int, str]]


class CudaKernel:
    """A section with its constants and operators, compiled per description of the arguments at first use.

    Parameters
    ----------
    device : CudaDevice
    section : Section
    consts, ops : dict
        See `assemble.assemble`.
    shared : int, optional
        Bytes of ``extern __shared__`` memory that a block has.
    """

    __slots__ = ("_functions", "_last", "_most", "_value", "_variants", "consts", "device", "ops", "section", "shared")

    def __init__(self, device: Any, section: Section, consts: dict, ops: dict, shared: int = 0):
        self.device = device
        self.section = section._replace(returns=0) if consts.get(section.unless) else section
        self.consts = consts
        self.ops = ops
        self.shared = shared
        self._functions: dict = {}
        self._last: Any = None  # packer and function of the last launch
        self._most = device.multiprocessors * section.blocks_per_sm
        self._value = ops[self.section.value][0].dtype if self.section.value else None
        self._variants: dict = {}

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.device.name}>"

    @property
    def name(self) -> str:
        """The section's name."""
        return self.section.name

    def variant(self, **consts: Any) -> CudaKernel:
        """The same kernel with further constants."""
        key = tuple(consts.items())
        found = self._variants.get(key)
        if found is None:
            found = self._variants[key] = CudaKernel(self.device, self.section, {**self.consts, **consts}, self.ops,
                                                          self.shared)
        return found

    def __call__(self, count: int, args: tuple, *, blocks: int | None = None) -> Any:
        """Start the kernel on items 0..count.

        Parameters
        ----------
        count : int
        args : tuple
            In the order of the section's header: device arrays, NumPy arrays of at most one element,
            NumPy scalars, int, bool, float.
        blocks : int, optional
            Number of blocks, if not what `count` asks for.

        Returns
        -------
        Pending or None
            None if the section returns nothing.
        """
        device, section = self.device, self.section
        if blocks is None:
            blocks = min(-(-count * section.per // section.block), self._most)
        if blocks < 1:
            blocks = 1
        value, returns = self._value, section.returns
        with device.lock:
            last = self._last
            if returns:
                pending = device.expect(returns, value)
                places = pending.places()
                try:
                    if value is not None:  # what each block has to say
                        partials = device.xp.empty(2 * blocks, np.uint64)
                        places += (device.pointer(partials),)
                    if last is None or not last[0](device.buffer, count, args, *places):
                        last = self._find(count, args, places)
                    device.start(last[1], blocks, section.block, self.shared)
                except BaseException:
                    device.expect_no_more(pending)
                    raise
                return pending
            if count:
                if last is None or not last[0](device.buffer, count, args):
                    last = self._find(count, args, ())
                device.start(last[1], blocks, section.block, self.shared)
        return None

    def pack(self, count: int, args: tuple, pending: Pending) -> Packed:
        """The same for a kernel of a loop (after.cuh), with results in the place of `pending`."""
        device = self.device
        with device.lock:
            last, places = self._last, pending.places()
            if last is None or not last[0](device.buffer, count, args, *places):
                last = self._find(count, args, places)
            codes = [describe(self.section, *pair, device)[1] for pair in zip(self.section.arguments, args)]
            layout = "@q" + "".join(codes) + "PPQ"
            fields = [(struct.calcsize(layout[:end]) - struct.calcsize(layout[end - 1]), layout[end - 1])
                      for end in range(3, len(layout) + 1)]
            return Packed(last[1], device.packed[:MOST_BYTES].tobytes(), fields)

    def _find(self, count: int, args: tuple, places: tuple) -> tuple:
        """The packer and the function for such arguments, which are packed."""
        signature = tuple(_signature(arg) for arg in args)
        found = self._functions.get(signature)
        if found is None:
            if len(args) != len(self.section.arguments):
                raise TypeError(f"kernel {self.name}: got {len(args)} arguments, "
                                f"wanted {', '.join(self.section.arguments)}")
            described = [describe(self.section, *pair, self.device) for pair in zip(self.section.arguments, args)]
            codes = [code for _, code in described]
            found = self._functions[signature] = (_packer(args, codes, len(places), self.device),
                                                  self.device.load(self.name, self.text(args), self.shared))
        self._last = found
        if not found[0](self.device.buffer, count, args, *places):
            raise TypeError(f"kernel {self.name}: arguments of one signature differ in kind")
        return found

    def text(self, args: tuple) -> str:
        """The assembled text for such arguments."""
        kinds = tuple(describe(self.section, name, arg, self.device)[0]
                      for name, arg in zip(self.section.arguments, args, strict=True))
        return assemble(self.section, kinds, self.consts, self.ops)


def _signature(arg: Any) -> Any:
    """What of an argument the compiled text depends on."""
    kind = type(arg)
    if kind is np.ndarray:
        return "host", arg.dtype, arg.size
    dtype = getattr(arg, "dtype", None)
    return kind if dtype is None else (kind, dtype)


def _packer(args: tuple, codes: list[str], places: int, device: Any) -> Any:
    """A function ``pack(buffer, count, args, *places)`` for arguments of these kinds; False if they are of others.

    It is made as text, a test and a value per argument, since a launch is too short for a loop over them.
    """
    names = [f"a{n}" for n in range(len(args))]
    more = [f"p{n}" for n in range(places)]
    known = {"array": device.array_type, "host": np.ndarray, "pointer": device.pointer,
             "pack": struct.Struct("@q" + "".join(codes) + "PPQP"[:places]).pack_into}
    tests, values = [], []
    for name, arg in zip(names, args):
        kind = type(arg)
        known[f"d_{name}"] = getattr(arg, "dtype", kind)
        if kind is device.array_type:
            tests.append(f"{name}.__class__ is array and ({name}.dtype is d_{name} or {name}.dtype == d_{name})")
            values.append(device.pointer_text.format(name))
        elif kind is np.ndarray:
            tests.append(f"{name}.__class__ is host and {name}.size == {arg.size} and {name}.dtype == d_{name}")
            values.append(f"{name}.item()" if arg.size else "0")
        else:
            own = isinstance(arg, np.generic)
            tests.append(f"{name}.dtype == d_{name}" if own else f"{name}.__class__ is d_{name}")
            values.append(name)
    unpack = f"    {', '.join(names)}, = args\n" if names else ""
    text = (f"def pack_args(buffer, count, args{''.join(f', {name}' for name in more)}):\n{unpack}"
            f"    try:\n        if not ({' and '.join(tests) or 'True'}):\n            return False\n"
            f"    except AttributeError:\n        return False\n"
            f"    pack(buffer, 0, count, {', '.join([*values, *more])})\n    return True\n")
    exec(compile(text, "<spgraph arguments>", "exec"), known)
    return known["pack_args"]


def describe(section: Section, name: str, arg: Any, device: Any) -> tuple[str, str]:
    """C++ type of an argument and how the launch packs it."""
    kind = type(arg)
    if kind is device.array_type:
        if not arg.flags.c_contiguous:
            raise TypeError(f"kernel {section.name}: {name} is not contiguous")
        return _POINTER[arg.dtype]
    if kind is np.ndarray:
        if arg.size > 1:
            raise TypeError(f"kernel {section.name}: {name} is a NumPy array of {arg.size} elements, "
                            f"but {device.name} reads its own memory only")
        return _ONE[arg.dtype] if arg.size else _POINTER[arg.dtype]
    if isinstance(arg, np.generic):
        return _VALUE[arg.dtype]
    if kind not in _PYTHON:
        raise TypeError(f"kernel {section.name}: {name} is a {kind.__name__}, which no kernel takes")
    return _PYTHON[kind]
