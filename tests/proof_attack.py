"""Random statements, nodes and mappings, against the rows with which the checker refutes.

No row may exceed what a mapping of the node moves or holds, and rows whose limits a mapping attains must not
refute the node, whatever weights and sizes are tried.
"""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

from optmap.checker import RefusedError
from optmap.checker.core.nest import TiledNest, footprint, traffic
from optmap.checker.core.statement import StatedWork
from optmap.checker.cover.cover import divisors
from optmap.checker.cover.dataflows import Flow, best_flows, contains, flow_of
from optmap.checker.cover.every import nothing_left
from optmap.checker.cover.refute import broken_alone, broken_together
from optmap.checker.cover.rows import Key, MappingSet, Model, Range, RefutedRow

WIDE = Fraction(10**9)
MOST = 5_000
"""Sets of tiles that are looked at in one case."""


def statement(rng: random.Random) -> dict[str, Any]:
    """A statement of one to three inputs with strides, dilations and subscripts of up to three dims."""
    names = "abcdefg"[: rng.randint(2, 6)]

    def access(name: str) -> str:
        dims = rng.sample(names, rng.randint(1, min(4, len(names))))
        axes = []
        while dims:
            part = [dims.pop() for _ in range(min(len(dims), rng.choice((1, 1, 2, 3))))]
            steps = [(rng.choice((1, 1, 1, 2, 3)), d) for d in part]
            axes.append("+".join(f"{c}*{d}" if c > 1 else d for c, d in steps))
        return f"{name}[{','.join(axes)}]"

    made = [access(name) for name in ("O", "P", "Q", "R")[: rng.randint(2, 4)]]
    assigns = rng.random() < 0.5
    text = f"{made[0]} {'=' if assigns else '+='} {' * '.join(made[1:])}"
    used = [d for d in names if d in text]
    return {
        "expression": text,
        "semantics": "assign" if assigns else "accumulate",
        "bytes": {each[0]: rng.choice((1, 2, 4)) for each in made},
        "extents": {d: rng.choice((1, 2, 2, 3, 4, 5, 6, 7)) for d in used},
    }


class Case:
    """A model with random fixed dims, and random nodes that hold a random mapping."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.document = statement(rng)
        self.work = StatedWork(self.document)
        self.depth = rng.randint(1, 3)
        self.even = rng.random() < 0.3
        self.flows: list[Flow] = best_flows(self.work)
        fixed: set[str] = {d for d in self.work.extents if rng.random() < 0.2}
        for _, axes in self.work.tensors:
            for terms, _ in axes:
                left = [d for d, _ in terms if d not in fixed and self.work.extents[d] > 1]
                fixed |= set(left) - {rng.choice(left)} if left else set()
        everything = list(range(len(self.work.tensors)))
        self.model = Model(
            work=self.work,
            rooms=[[(everything, int(WIDE))]] * self.depth,
            rates=[Fraction(1)] * self.depth,
            flows=[self.flows] * self.depth,
            fixed=fixed,
            snapped=self.snapped,
        )
        self.tiles = self._tiles()
        self.orders = [rng.sample(list(self.work.extents), len(self.work.extents)) for _ in range(self.depth)]
        levels = [
            {"level": str(q), "tile": self.tiles[q], "permutation": self.orders[q], "spatial": {}}
            for q in range(self.depth)
        ]
        self.nest = TiledNest(self.work, levels, [{"name": str(q), "fanout": 1} for q in range(self.depth)])
        self.node = self._node()

    def snapped(self, level: int, dim: str, sizes: Range, around: int) -> Range | None:
        """All sizes, or divisors only."""
        del level, dim
        left = [n for n in divisors(around) if sizes[0] <= n <= sizes[1]] if self.even else list(sizes)
        return (left[0], left[-1]) if left else None

    def _tiles(self) -> list[dict[str, int]]:
        tiles: list[dict[str, int]] = []
        outer = dict(self.work.extents)
        for _ in range(self.depth):
            outer = {
                d: self.rng.choice([t for t in range(1, n + 1) if not self.even or n % t == 0])
                for d, n in outer.items()
            }
            tiles.insert(0, outer)
        return tiles

    def _node(self) -> MappingSet:
        """The mapping's flows, or a better one, and ranges around its tiles."""
        node = self.model.root()
        assert node is not None
        for q in range(self.depth):
            mine = flow_of(self.work, self.orders[q])
            known = [i for i, flow in enumerate(self.flows) if contains(flow, mine)]
            assert known, (self.document, self.orders[q])
            if self.rng.random() < 0.8:
                node = node._replace(flows=(*node.flows[:q], self.rng.choice(known), *node.flows[q + 1 :]))
        for _ in range(self.rng.randint(0, 14) if self.model.dims else 0):
            q, d = self.rng.randrange(self.depth), self.rng.choice(self.model.dims)
            low, high = self.model.range(node, q, d)
            if low < high:
                at = self.rng.randint(low, high - 1)
                part = self.model.narrowed(node, q, d, (low, at) if self.tiles[q][d] <= at else (at + 1, high))
                assert part is not None, (self.document, self.tiles, node)
                node = part
        return node

    def value(self, terms: tuple[tuple[Fraction, tuple[Key, ...]], ...]) -> Fraction:
        """A row at the mapping."""
        total = Fraction(0)
        for coefficient, keys in terms:
            assert coefficient > 0
            term = coefficient
            for kind, q, d in keys:
                size = Fraction(self.tiles[q][d])
                number = sum(self.nest.tiles_of(d, q).values())
                term *= {"size": size, "inverse": 1 / size, "number": Fraction(number)}[kind]
            total += term
        return total

    def rows_hold(self) -> int:
        """Rows against the mapping; returns how many are exact."""
        rows = self.model.rows(self.node, list(range(self.depth)), [WIDE] * self.depth)
        exact = 0
        for q in range(self.depth):
            moved = sum(a + b for a, b in traffic(self.nest, q, whole=False)) + self.model.created
            held = sum(footprint(axes, self.tiles[q]) * self.work.weights[name] for name, axes in self.work.tensors)
            found = self.value(rows[q].terms), self.value(rows[self.depth + q].terms)
            assert found[0] <= moved, (self.document, self.tiles, self.orders, self.node, q, found[0], moved)
            assert found[1] <= held, (self.document, self.tiles, self.node, q, found[1], held)
            exact += found[0] == moved
        return exact

    def nothing_refutes(self) -> None:
        """Limits that the mapping attains, random weights and sizes."""
        rng = self.rng
        rows = self.model.rows(self.node, list(range(self.depth)), [WIDE] * self.depth)
        rows = [RefutedRow(row.terms, self.value(row.terms)) for row in rows if row.terms]
        assert not any(broken_alone(self.model, self.node, row) for row in rows)
        for _ in range(2):
            weights = [rng.choice((0, 0, 1, rng.randint(1, 1000))) for _ in rows]
            near, point = rng.random(), {}
            for q in range(self.depth):
                for d in self.model.dims if rng.random() < 0.8 else ():
                    low, high = self.model.range(self.node, q, d)
                    size = float(self.tiles[q][d]) if near < 0.5 else rng.uniform(low, high)
                    point[q, d] = Decimal(str(round(size if near < 0.9 else rng.uniform(0.1, 20), 4)))
            refuted = broken_together(self.model, self.node, rows, weights, point)
            assert not refuted, (self.document, self.tiles, self.node, weights, point)

    def every_tile_is_looked_at(self) -> bool:
        """Limits and room that the mapping attains; whether one word less in all of them leaves nothing."""
        moved, held = [], []
        for q in range(self.depth):
            moved.append(sum(a + b for a, b in traffic(self.nest, q, whole=False)) + self.model.created)
            tile = self.tiles[q]
            held.append(sum(footprint(axes, tile) * self.work.weights[name] for name, axes in self.work.tensors))
        self.model.rooms = [[(list(range(len(self.work.tensors))), words)] for words in held]
        some = {q: Fraction(moved[q]) for q in range(self.depth) if self.rng.random() < 0.9}
        assert not nothing_left(self.model, self.node, some, MOST), (self.document, self.tiles, self.orders, self.node)
        return nothing_left(self.model, self.node, {q: limit - 1 for q, limit in some.items()}, MOST)


def look_at_every_tile(rng: random.Random) -> bool | None:
    """One case; whether some limits leave nothing, None where the statement is refused.

    Raises:
        AssertionError: with the case, if a mapping is said not to be there.
    """
    try:
        case = Case(rng)
    except RefusedError:
        return None
    try:
        return case.every_tile_is_looked_at()
    except RefusedError:  # too many tiles
        return None


def attack(rng: random.Random) -> int | None:
    """One case; how many rows are exact, None where the statement is refused.

    Raises:
        AssertionError: with the case, if a row is too high or something true is refuted.
    """
    try:
        case = Case(rng)
    except RefusedError:
        return None
    exact = case.rows_hold()
    case.nothing_refutes()
    return exact
