"""What CI takes of many combinations; ``pytest --whole`` runs them all.

Parameters outside the sample carry the mark `whole`: without the option they are deselected, and pytest says how many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["only_whole"]


def only_whole(params: Iterable[Any], names: set[str]) -> list[Any]:
    """The parameters, made by `pytest.param`, those whose ids are among `names` marked `whole`."""
    return [
        pytest.param(*one.values, id=one.id, marks=[*one.marks, pytest.mark.whole]) if one.id in names else one
        for one in params
    ]
