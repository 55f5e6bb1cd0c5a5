"""Toys of what one can add to optmap; nothing is registered here, `plugin_toys` registers them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any

import optmap
from optmap.base.values import whole_number
from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.traffic import accesses_of
from optmap.interchange import FileFormat
from optmap.machines.traits import Trait
from optmap.mappings.levels import LevelMapping
from optmap.mappings.levels import Mapping as TileMapping
from optmap.questions.objective import TIME, Combination, Objective, Term
from optmap.search import Found, Method, Question, Route, explorer, random_nests
from optmap.workloads.workload import Workload


def points(question: Question, **sizes: int) -> TileMapping:
    """Tiles of one point, but for some dims."""
    dims = question.workload.dims
    tile = {d: sizes.get(d, 1) for d in dims}
    return TileMapping(
        levels=tuple(
            LevelMapping(level=level.name, tile=dict(tile), permutation=dims, spatial={})
            for level in question.machine.levels
        )
    )


def one_point(question: Question) -> Found:
    """A method of caches: every level has tiles of one point."""
    return Found(mapping=points(question))


def shuffled(brief: Any) -> Iterator[Any]:
    """A method of accelerators: random nests, 32 at a time."""
    while True:
        yield random_nests(brief.fabric, 32, brief.rng)


POINTS = Method(
    name="points",
    description="one point",
    routes=(Route(solve=one_point, objectives=("bottleneck",)), explorer(shuffled)),
)
BANKS = Trait(name="banks", description="words that are read at once", check=whole_number)


def one_row(question: Question) -> Found:
    """A method that needs a trait: along the last dim every level has a tile as long as the innermost has banks."""
    last = question.workload.dims[-1]
    banks = min(int(question.machine.levels[0].trait("banks")), question.workload.extents[last])
    return Found(mapping=points(question, **{last: banks}))


BANKED = Method(
    name="banked",
    description="a row of banks",
    routes=(Route(solve=one_row, objectives=("bottleneck",), traits=("banks",)),),
)
SQUARED = Objective(
    name="squared", description="times multiplied", terms=(Term(quantity=TIME, combination=Combination.SUM),) * 2
)


class Anew(NestLayout):
    """Tiles that nothing stays of."""

    def entering(self, operand: Any, number: int) -> int:
        """Words that all instances of a memory receive."""
        if number < 0:
            return self.operations
        return self.instances[number] * self.tile_words(operand, number) * prod(n for _, _, n in self.turns[number])


class AnewPolicy(NestPolicy):
    """A counting without reuse, nest by nest: a scalar road is all that a policy has to have."""

    def accesses(self, layout: Any, place: Any, *, charge_drains: Any, bias: Any) -> Any:
        """Those of a walk, of tiles that nothing stays of."""
        anew = Anew(**{field.name: getattr(layout, field.name) for field in fields(layout)})
        return accesses_of(anew, place, charge_drains=charge_drains, bias=bias)

    def missing(self, fabric: Any) -> str | None:
        """It is for subscripts without strides, to have something that it refuses."""
        if any(factor > 2 for operand in fabric.operands for axis in operand.axes for _, factor in axis):
            return "knows strides of 1 and 2 only"
        return None


ANEW = AnewPolicy(name="anew", description="no reuse: tiles are fetched anew whenever a loop outside moves")


def read_line(files: Sequence[Path], sizes: Mapping[str, int]) -> Workload:
    """A workload from a line, `C[i,j] += A[i,k]*B[k,j] | i=4,j=n`; sizes say what a letter stands for."""
    statement, _, extents = files[0].read_text(encoding="utf-8").partition("|")
    pairs = [pair.strip().split("=") for pair in extents.split(",")]
    return optmap.workload(statement.strip(), {dim: int(sizes.get(size, size)) for dim, size in pairs})


def write_line(solution: Any) -> dict[str, str]:
    """A line with the tile of each level."""
    tiles = (f"{level.level} {dict(level.tile)}" for level in solution.mapping.levels)
    return {"tiles.line": f"{solution.workload.expression} | {', '.join(tiles)}\n"}


LINE = FileFormat(name="line", suffixes=(".line",), read=read_line, write=write_line)
