"""Random constraints on tiny accelerators, and the best mapping that meets them found by trying every mapping.

Whether a mapping meets a constraint is read from its text and the numbers of the mapping: nothing here comes from how
constraints become rules of a machine.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from spatial_brute_force import all_mappings, tiny_fabric

from optmap.base.errors import InfeasibleError, InputError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.fabric import Fabric
from optmap.mappings.constraint_texts import constraints_of
from optmap.mappings.demanded import demanded
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit

SIGNS = ("<=", ">=", "%", "=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A machine with a workload, and constraints."""

    fabric: Fabric
    """Without constraints."""
    texts: list[str]
    bound: Fabric | None
    """With constraints; None where they contradict the machine or one another."""


def constrained_problem(seed: int, most: int) -> Problem:
    """A random small problem of at most so many mappings; the same seed gives the same one."""
    fabric, draw = tiny_fabric(seed, most), random.Random(seed)
    while True:
        texts = random_texts(draw, fabric)
        try:
            return Problem(fabric=fabric, texts=texts, bound=demanded(fabric, constraints_of(texts)))
        except InfeasibleError:
            return Problem(fabric=fabric, texts=texts, bound=None)
        except InputError:  # the machine has an order of its own there
            continue


def random_texts(draw: random.Random, fabric: Fabric) -> list[str]:
    """One to three constraints, about one another's levels and dims now and then; of orders one per level."""
    found: dict[str, str] = {}
    for _ in range(draw.choice((1, 1, 2, 2, 3))):
        text = _text(draw, fabric)
        found.setdefault(text.partition("=")[0] if ".order" in text else text, text)
    return list(found.values())


def _text(draw: random.Random, fabric: Fabric) -> str:
    names = [memory.name for memory in fabric.memories]
    kind = draw.choice(("tile", "tile", "order", "split", "split", "keeps"))
    if kind == "order":
        return f"{draw.choice(names[:-1])}.order={','.join(_pattern(draw, fabric.dims))}"
    if kind == "keeps":
        tensors = [operand.name for operand in fabric.operands]
        some = draw.sample(tensors, draw.randint(1, len(tensors)))
        word, more = draw.choice((("keeps", []), ("keeps", ["..."]), ("bypass", [])))
        return f"{draw.choice(names)}.{word}={','.join([*some, *more])}"
    dim = draw.randrange(len(fabric.dims))
    value = draw.randint(1, fabric.extents[dim])
    if draw.random() < 0.7:
        value = draw.choice([n for n in range(1, value + 1) if fabric.extents[dim] % n == 0])
    sign = draw.choice(SIGNS)
    head = draw.choice(names[:-1]) if kind == "tile" else f"{draw.choice(names)}.{draw.choice(('spatial', 'x', 'y'))}"
    return f"{head}.{fabric.dims[dim]}{sign}{value}" + "=0" * (sign == "%")


def _pattern(draw: random.Random, dims: tuple[str, ...]) -> list[str]:
    some = draw.sample(dims, draw.randint(1, len(dims)))
    parts = [part for dim in some for part in (("...", dim) if draw.random() < 0.5 else (dim,))]
    parts += ["..."] * (draw.random() < 0.5)
    return parts if len(some) == len(dims) or "..." in parts else [*parts, "..."]


def rows_that_meet(batch: NestBatch, fabric: Fabric, texts: list[str]) -> np.ndarray:
    """Which mappings of a batch meet all constraints."""
    found = np.ones(len(batch), bool)
    for text in texts:
        found &= _meets(batch, fabric, text)
    return found


def _meets(batch: NestBatch, fabric: Fabric, text: str) -> np.ndarray:
    names = [memory.name for memory in fabric.memories]
    level, _, rest = text.partition(".")
    place = names.index(level)
    if rest.startswith("order="):
        return _ordered(batch, fabric, place + 1, rest.removeprefix("order=").split(","))
    if rest.startswith(("keeps=", "bypass=")):
        word, _, listed = rest.partition("=")
        named = [n for n, operand in enumerate(fabric.operands) if operand.name in listed.split(",")]
        held = batch.keeps[:, place]
        if word == "bypass":
            return ~held[:, named].any(axis=1)
        others = [n for n in range(len(fabric.operands)) if n not in named]
        kept = held[:, named].all(axis=1)
        return kept if "..." in listed else kept & ~held[:, others].any(axis=1)
    sign = next(sign for sign in SIGNS if sign in rest)
    subject, value = rest.split(sign)[0], int(rest.split(sign)[1].removesuffix("=0").removesuffix("="))
    axis, _, dim = subject.rpartition(".")
    column = fabric.dims.index(dim)
    if axis:
        ways = {"x": batch.x, "y": batch.y, "spatial": batch.x * batch.y}[axis]
        numbers = ways[:, place, column]
    else:
        numbers = (batch.x * batch.y * batch.temporal)[:, : place + 1, column].prod(axis=1)
    return {"<=": numbers <= value, ">=": numbers >= value, "%": numbers % value == 0, "=": numbers == value}[sign]


def _ordered(batch: NestBatch, fabric: Fabric, place: int, pattern: list[str]) -> np.ndarray:
    """Loops of two trips or more come as the pattern has them; any other stands wherever that helps."""
    order, several = batch.order[:, place], batch.temporal[:, place] > 1
    moving = np.take_along_axis(several, order, axis=1)
    kinds, kind = np.unique(np.where(moving, order, -1), axis=0, return_inverse=True)
    letters = {dim: chr(97 + number) for number, dim in enumerate(fabric.dims)}
    met = []
    for row in kinds.tolist():
        loops = [fabric.dims[dim] for dim in row if dim >= 0]
        text = "".join(letters[dim] if dim in pattern else "#" for dim in loops)
        wanted = "".join("#*" if part == "..." else letters[part] if part in loops else "" for part in pattern)
        met.append(re.fullmatch(wanted, text) is not None)
    return np.array(met, bool)[kind.reshape(-1)]


def best_that_meet(fabric: Fabric, texts: list[str], counting: NestPolicy, merit: Merit) -> Fraction | None:
    """The least merit of all valid mappings that meet constraints; None if there is none.

    Args:
        fabric: machine and workload, without constraints.
        texts: the constraints.
        counting: how words are counted.
        merit: what is minimised.
    """
    least, best = float("inf"), None
    for batch in all_mappings(fabric):
        cost = evaluate_batch(batch, fabric, counting)
        rows = np.flatnonzero(cost.valid & rows_that_meet(batch, fabric, texts))
        if len(rows):
            values = cost.merit(merit)[rows]
            row = int(values.argmin())
            if values[row] < least:
                least, best = float(values[row]), batch.nest(int(rows[row]))
    return None if best is None else count_nest(best, fabric, counting).merit(merit)
