"""The names of the forms in which mappings are handed in."""

from __future__ import annotations

from enum import StrEnum


class FormName(StrEnum):
    """The forms; `Machine.form` is the one place that decides between them, tables say what each means."""

    TILES = "tiles"
    """Nested tiles of caches behind links, whose words are counted boundary by boundary."""
    NEST = "nest"
    """Loops of memories that feed meshes of children at a price per access."""
