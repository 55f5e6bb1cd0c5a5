"""A method of one's own: the smallest tiles there are."""

import optmap
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.options import TileRule
from optmap.search import Found, Method, Question, Route


def ones(question: Question) -> Found:
    """Tiles of one iteration in every level."""
    dims = question.workload.dims
    tile = dict.fromkeys(dims, 1)
    levels = (
        LevelMapping(level=level.name, tile=tile, permutation=dims, spatial={}) for level in question.machine.levels
    )
    return Found(mapping=Mapping(levels=tuple(levels)), space="one mapping")


optmap.register_method(
    Method(
        name="ones",
        description="tiles of one iteration",
        routes=(Route(solve=ones, objectives=("bottleneck",), tiles=(TileRule.ANY,)),),
    )
)
