"""Dataclasses of arrays with a row per thing: some of their rows, and several of them in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing import Self


class Rows:
    """Base of a dataclass whose fields are arrays, or `Rows` themselves, of as many rows."""

    __slots__ = ()

    def __getitem__(self, rows: Any) -> Self:
        """Some rows, as the index of an array says them."""
        return type(self)(**{name: getattr(self, name)[rows] for name in _names(type(self))})


R = TypeVar("R", bound=Rows)


def concatenated(parts: Sequence[R]) -> R:
    """All rows, one part after the other; one part at least."""
    kind = type(parts[0])
    columns = {name: [getattr(part, name) for part in parts] for name in _names(kind)}
    return kind(
        **{name: (concatenated if isinstance(own[0], Rows) else np.concatenate)(own) for name, own in columns.items()}
    )


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]
