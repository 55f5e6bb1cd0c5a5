"""What a mapping holds, read from its document (`Held.document` writes it)."""

from __future__ import annotations

from optmap.problem.held import Corner, Held
from optmap.problem.io.fields import Fields
from optmap.problem.mapping import LevelMapping, Mapping


def read_held(fields: Fields, level: str) -> Held:
    """What a document holds of every access; whether it belongs to its mapping is for `Held.check`.

    Args:
        fields: the document.
        level: name of the memory.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("positions", "streams", "inner", "corner")
    return _held(fields, _corner(fields.fields("corner"), level) if fields.has("corner") else None)


def _held(fields: Fields, corner: Corner | None) -> Held:
    positions, streams = fields.fields("positions"), fields.fields("streams")
    return Held(
        positions={name: positions.integer(name, least=0) for name in positions.values},
        streams={name: streams.texts(name) for name in streams.values},
        inner=fields.texts("inner"),
        corner=corner,
    )


def _corner(fields: Fields, level: str) -> Corner:
    fields.allow("sizes", "tile", "permutation", "held")
    loops = LevelMapping(level=level, tile=fields.integers("tile"), permutation=fields.texts("permutation"), spatial={})
    inside = fields.fields("held")
    inside.allow("positions", "streams", "inner")
    return Corner(sizes=fields.integers("sizes"), mapping=Mapping(levels=(loops,)), held=_held(inside, None))
