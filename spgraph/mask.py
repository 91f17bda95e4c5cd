"""Masks: which entries of an output may be written.

``v.S`` is the structure of v (every entry counts), ``v.V`` its values (entries equal to zero do not
count), ``~`` either's complement. A mask is a view: it shows what v holds when it is used.
``m1 & m2`` and ``m1 | m2`` make a new structural mask of both.

>>> import spgraph as sg
>>> v = sg.Vector.from_coo([0, 1, 2], [5, 0, 7], size=4)
>>> v.V.new().to_dict()
{0: True, 2: True}
>>> (~v.S).new().to_dict()
{3: True}
"""

from __future__ import annotations

from typing import Any

from semirings.dtypes import BOOL
from semirings.exceptions import DimensionMismatch
from spgraph import engine
from spgraph._base import RANK
from spgraph._convert import describe

__all__ = ["ComplementedStructuralMask", "ComplementedValueMask", "Mask", "StructuralMask", "ValueMask"]

# The engine's masks (block, complement, structural) say what the classes here say, about storage.
EngineMask = engine.Mask
_new = tuple.__new__  # half the time of calling a NamedTuple


class Mask:
    """What may be written: made by ``.S``, ``.V`` and ``~``, not directly.

    Attributes
    ----------
    parent : Vector or Matrix
        The object that the mask looks at.
    complement, structure, value : bool
        What kind of mask it is.
    """

    __slots__ = ("__weakref__", "parent")

    complement = False
    structure = False
    value = False
    _text = "{}"

    def __init__(self, parent: Any):
        self.parent = parent

    def __invert__(self) -> Mask:
        return _INVERSE[type(self)](self.parent)

    def __and__(self, other: Any) -> Mask:
        """Where both masks allow writing."""
        other = to_shape(other, self.shape, "&")
        if self.complement and other.complement:
            return ~_either(~self, ~other)
        return _both(other, self) if self.complement else _both(self, other)

    def __or__(self, other: Any) -> Mask:
        """Where either mask allows writing."""
        other = to_shape(other, self.shape, "|")
        if not self.complement and not other.complement:
            return _either(self, other)
        return ~(_both(~self, ~other) if self.complement else _both(~other, ~self))

    __rand__ = __and__
    __ror__ = __or__

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise TypeError("==: masks can't be compared; compare m1.new().isequal(m2.new())")

    def __bool__(self) -> bool:
        raise TypeError("bool: the truth of a mask is not defined; ask m.new().nvals")

    @property
    def name(self) -> str:
        """How the mask is written, such as ``~v.S``."""
        return self._text.format(self.parent.name)

    @property
    def ndim(self) -> int:
        """1 for a mask made of a Vector, 2 for one made of a Matrix."""
        return self.parent.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the object that the mask looks at."""
        return self.parent.shape

    def _formula(self, names) -> str:
        return self._text.format(self.parent._formula(names))

    def _engine(self) -> Any:
        """The same as the engine sees it."""
        raise NotImplementedError

    def new(self, dtype: Any = None, *, complement: bool = False, mask: Any = None, name: str | None = None):
        """A new object that is True wherever the mask allows writing, and empty elsewhere.

        Parameters
        ----------
        dtype : optional
            dtype of the result, BOOL by default.
        complement : bool, default False
            Fill the places that the mask forbids, instead.
        mask : Mask, optional
            A second mask that has to allow writing, too.
        name : str, optional
            Name of the new object.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], 1, size=4)
        >>> v.S.new(complement=True).to_dict()
        {1: True, 3: True}
        """
        chosen = self if mask is None else self & mask
        if complement:
            chosen = ~chosen
        new = self.parent._empty(BOOL if dtype is None else dtype, self.parent.shape, name)
        new._update(True, chosen)
        return new

    def __repr__(self) -> str:
        from spgraph import display

        return display.mask_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.mask_html(self)


class StructuralMask(Mask):
    """``v.S``: where v has an entry."""

    __slots__ = ()
    structure = True
    _text = "{}.S"

    def __invert__(self) -> Mask:
        return ComplementedStructuralMask(self.parent)

    def _engine(self) -> EngineMask:
        return _new(EngineMask, (self.parent._block, False, True))


class ComplementedStructuralMask(Mask):
    """``~v.S``: where v has no entry."""

    __slots__ = ()
    structure = complement = True
    _text = "~{}.S"

    def _engine(self) -> EngineMask:
        return _new(EngineMask, (self.parent._block, True, True))


class ValueMask(Mask):
    """``v.V``: where v has an entry that is not zero."""

    __slots__ = ()
    value = True
    _text = "{}.V"

    def _engine(self) -> EngineMask:
        return _new(EngineMask, (self.parent._block, False, False))


class ComplementedValueMask(Mask):
    """``~v.V``: where v has no entry or a zero."""

    __slots__ = ()
    value = complement = True
    _text = "~{}.V"

    def _engine(self) -> EngineMask:
        return _new(EngineMask, (self.parent._block, True, False))


_INVERSE: dict[type, type] = {
    StructuralMask: ComplementedStructuralMask,
    ComplementedStructuralMask: StructuralMask,
    ValueMask: ComplementedValueMask,
    ComplementedValueMask: ValueMask,
}


def to_mask(mask: Any, function: str) -> Mask:
    """A mask, or a BOOL Vector, Matrix or expression, which stands for its values."""
    if isinstance(mask, Mask):
        return mask
    if RANK.get(type(mask), 0) == 0:
        raise TypeError(f"{function}: mask is {describe(mask)}, but a mask such as v.S, v.V or ~v.S was wanted")
    if mask._is_transposed:
        raise TypeError(f"{function}: mask is a TransposedMatrix; use A.T.new().S")
    if mask.dtype is not BOOL:
        raise TypeError(
            f"{function}: mask has dtype {mask.dtype}; only BOOL objects are masks by themselves, "
            "of others say .S (structure) or .V (values)"
        )
    return mask.V


def to_shape(mask: Any, shape: tuple[int, ...], function: str) -> Mask:
    """A mask that fits an output of `shape`."""
    mask = to_mask(mask, function)
    if mask.parent.shape != shape:
        raise DimensionMismatch(f"{function}: mask has shape {mask.parent.shape}, but the output has shape {shape}")
    return mask


def _both(plain: Mask, other: Mask) -> StructuralMask:
    """Where both allow writing; `plain` is not complemented, so the answer is as sparse as it is."""
    new = plain.new()
    new(other, replace=True) << new
    return StructuralMask(new)


def _either(left: Mask, right: Mask) -> StructuralMask:
    """Where one of two masks, neither complemented, allows writing."""
    new = left.new()
    new(right) << True
    return StructuralMask(new)
