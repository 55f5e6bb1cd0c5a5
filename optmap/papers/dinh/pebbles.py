"""Dinh, section 2.3.1: the red-blue pebble game on graphs of some dozen vertices, played at its least cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations, count

from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed

PEBBLES = Collected()
Set = int
"""Of vertices: a bit for each."""
Move = tuple[str, int]
"""`L`oad, `S`tore, `C`ompute or `D`elete a red pebble, and the vertex."""
State = tuple[Set, Set]
"""Red and blue pebbles."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A computation: a vertex per input, which has no operands, and per operation."""

    operands: tuple[tuple[int, ...], ...]
    """Of each vertex; all of smaller numbers."""

    @cached_property
    def needs(self) -> tuple[Set, ...]:
        """Operands as sets."""
        return tuple(_set(own) for own in self.operands)

    @property
    def size(self) -> int:
        """Vertices."""
        return len(self.operands)

    @cached_property
    def sources(self) -> Set:
        """Inputs."""
        return _set(v for v, own in enumerate(self.operands) if not own)

    @cached_property
    def sinks(self) -> Set:
        """What nothing is computed from."""
        used = _set(v for own in self.operands for v in own)
        return _set(v for v in range(self.size) if not used >> v & 1)

    def minimum(self, part: Set) -> Set:
        """Vertices of a part without children in it."""
        used = 0
        for v in _members(part):
            used |= self.needs[v]
        return part & ~used

    def dominated(self, guard: Set) -> Set:
        """Vertices to which no path from an input leads that does not meet the guard."""
        reached = 0  # from an input, without the guard
        for v, own in enumerate(self.needs):
            if not guard >> v & 1 and (not own or own & reached):
                reached |= 1 << v
        return ~reached & (1 << self.size) - 1


def _set(vertices: Iterator[int] | Sequence[int]) -> Set:
    found = 0
    for v in vertices:
        found |= 1 << v
    return found


def _members(part: Set) -> Iterator[int]:
    return (v for v in range(part.bit_length()) if part >> v & 1)


def best_game(graph: Graph, memory: int) -> list[Move]:
    """Moves of a game with the fewest loads and stores; anything may be computed again.

    Blue pebbles are never deleted, which spares nothing; a red one is deleted where its place is needed.

    Args:
        graph: of some dozen vertices.
        memory: red pebbles.
    """
    begin: State = (0, graph.sources)
    cost, came = {begin: 0}, dict[State, tuple[State, Move]]()
    ties = count()
    queue = [(0, next(ties), begin)]
    while queue:
        spent, _, state = heappop(queue)
        if spent > cost[state]:
            continue
        if state[1] & graph.sinks == graph.sinks:
            return list(_played(state, came))
        for move, after in _moves(graph, memory, state):
            price = spent + (move[0] in "LS")
            if price < cost.get(after, price + 1):
                cost[after], came[after] = price, (state, move)
                heappush(queue, (price, next(ties), after))
    return []


def _moves(graph: Graph, memory: int, state: State) -> Iterator[tuple[Move, State]]:
    red, blue = state
    room = red.bit_count() < memory
    for v in range(graph.size):
        bit = 1 << v
        if red & bit:
            yield ("D", v), (red & ~bit, blue)
            if not blue & bit:
                yield ("S", v), (red, blue | bit)
        elif room and blue & bit:
            yield ("L", v), (red | bit, blue)
        elif room and graph.needs[v] and graph.needs[v] & ~red == 0:
            yield ("C", v), (red | bit, blue)


def _played(state: State, came: Mapping[State, tuple[State, Move]]) -> Iterator[Move]:
    moves = []
    while state in came:
        state, move = came[state]
        moves.append(move)
    return reversed(moves)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a game with M loads and stores, the last one with M or fewer."""

    part: Set
    """What is first computed in it; of inputs, what is first loaded."""
    guard: Set
    """What has a red pebble when it begins or is loaded: the dominator of the proof."""
    kept: Set
    """What has a red pebble when it ends, or was stored."""


def segments(game: Sequence[Move], memory: int) -> list[Segment]:
    """The segments of the proof of Theorem 1."""
    found, seen, red = list[Segment](), 0, 0
    moved, part, guard, stored = 0, 0, 0, 0
    for kind, v in game:
        bit = 1 << v
        if kind in "LS" and moved == memory:
            found.append(Segment(part=part, guard=guard, kept=red | stored))
            moved, part, guard, stored = 0, 0, red, 0
        moved += kind in "LS"
        if kind == "D":
            red &= ~bit
        elif kind == "S":
            stored |= bit
        else:
            red |= bit
            guard |= bit if kind == "L" else 0
            part |= bit & ~seen
            seen |= bit
    return [*found, Segment(part=part, guard=guard, kept=red | stored)]


def fewest_parts(graph: Graph, words: int) -> int:
    """Parts of the smallest S-partition, S = `words`, whose parts can be computed one after the other."""
    everything = (1 << graph.size) - 1
    guards = combinations(range(graph.size), min(words, graph.size))
    ruled = {graph.dominated(_set(guard)) for guard in guards}

    def meets(part: Set) -> bool:
        """Whether a part has a dominator and a minimum set of so many vertices."""
        return graph.minimum(part).bit_count() <= words and any(part & ~own == 0 for own in ruled)

    reached, parts = {0}, 1
    while not any(meets(everything & ~done) for done in reached):
        reached = {done | part for done in reached for part in _next_parts(graph, done) if meets(part)}
        parts += 1
    return parts


def _next_parts(graph: Graph, done: Set) -> Iterator[Set]:
    """Parts that need nothing but each other and what is done."""
    seen, left = {0}, [0]
    while left:
        part = left.pop()
        for v in range(graph.size):
            grown = part | 1 << v
            if not (done | part) >> v & 1 and graph.needs[v] & ~(done | part) == 0 and grown not in seen:
                seen.add(grown)
                left.append(grown)
                yield grown


def outer(rows: int, columns: int) -> Graph:
    """Products of every element of one vector with every one of another."""
    pairs = tuple((i, rows + j) for i in range(rows) for j in range(columns))
    return Graph(operands=((),) * (rows + columns) + pairs)


def tree(leaves: int) -> Graph:
    """Sums of two, of sums of two, of inputs."""
    operands: list[tuple[int, ...]] = [()] * leaves
    layer = list(range(leaves))
    while len(layer) > 1:
        pairs = list(zip(layer[::2], layer[1::2], strict=True))
        layer = list(range(len(operands), len(operands) + len(pairs)))
        operands += pairs
    return Graph(operands=tuple(operands))


def butterfly(points: int) -> Graph:
    """A Fourier transform of a power of two of points."""
    operands: list[tuple[int, ...]] = [()] * points
    step = 1
    while step < points:
        first = len(operands) - points
        operands += [(first + (i & ~step), first + (i | step)) for i in range(points)]
        step *= 2
    return Graph(operands=tuple(operands))


GRAPHS = {
    "outer product 2 x 4": (outer(2, 4), 3),
    "tree of 8 inputs": (tree(8), 3),
    "Fourier transform of 4": (butterfly(4), 3),
}


@PEBBLES.item("Theorem 1", "S-partitions and pebbles", where="section 2.3.1", points=tuple(GRAPHS))
def theorem_1(point: str) -> Rows:
    """The game at its least cost, cut into segments of M loads and stores, as in the proof."""
    graph, memory = GRAPHS[point]
    game = best_game(graph, memory)
    moved = sum(kind in "LS" for kind, _ in game)
    cut = segments(game, memory)
    name = f"{point}, M = {memory}"
    yield claimed(
        f"{name}: least loads and stores of any game, in {len(cut)} segments",
        f"{memory * (len(cut) - 1)} to {memory * len(cut)}",
        moved,
        holds=memory * (len(cut) - 1) <= moved <= memory * len(cut),
    )
    wrong = sum(
        own.part & ~graph.dominated(own.guard) != 0
        or own.guard.bit_count() > 2 * memory
        or graph.minimum(own.part) & ~own.kept != 0
        or own.kept.bit_count() > 2 * memory
        for own in cut
    )
    whole = sum(own.part for own in cut) == (1 << graph.size) - 1
    yield claimed(
        f"{name}: segments that are no part of a 2M-partition",
        0,
        wrong if whole else len(cut),
        holds=whole and not wrong,
    )
    parts = fewest_parts(graph, 2 * memory)
    yield claimed(
        f"{name}: M(h - 1) of the 2M-partition with fewest subsets, h = {parts}",
        f"<= {moved}",
        memory * (parts - 1),
        holds=parts <= len(cut) and memory * (parts - 1) <= moved,
    )
