"""What a mapping holds, read from its document (`Held.document` writes it)."""

from __future__ import annotations

from dataclasses import replace

from optmap.files.fields import Fields
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.pieces import Piece


def read_held(fields: Fields, level: str) -> Held:
    """What a document holds of every access; whether it belongs to its mapping is for `Held.check`.

    Args:
        fields: the document.
        level: name of the memory.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("positions", "streams", "inner", "corner", "of", "pieces")
    corner = _corner(fields.fields("corner"), level) if fields.has("corner") else None
    if not (fields.has("of") or fields.has("pieces")):
        return _held(fields, corner)
    pieces = tuple(_piece(each, level) for each in fields.items("pieces"))
    return replace(_held(fields, corner), of=_ranges(fields.fields("of")), pieces=pieces)


def _piece(fields: Fields, level: str) -> Piece:
    fields.allow("of", "tile", "permutation", "held")
    return Piece(of=_ranges(fields.fields("of")), mapping=_loops(fields, level), held=_inside(fields))


def _ranges(fields: Fields) -> dict[str, range]:
    """Some iterations per dim."""
    found = {}
    for dim in fields.values:
        each = fields.fields(dim)
        each.allow("first", "step", "size")
        first, step = each.integer("first", least=0), each.integer("step")
        found[dim] = range(first, first + step * each.integer("size"), step)
    return found


def _loops(fields: Fields, level: str) -> Mapping:
    loops = LevelMapping(level=level, tile=fields.integers("tile"), permutation=fields.texts("permutation"), spatial={})
    return Mapping(levels=(loops,))


def _inside(fields: Fields) -> Held:
    """What is held in a run of its own."""
    inside = fields.fields("held")
    inside.allow("positions", "streams", "inner")
    return _held(inside, None)


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
    return Corner(sizes=fields.integers("sizes"), mapping=_loops(fields, level), held=_inside(fields))
