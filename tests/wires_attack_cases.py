"""Random mappings on accelerators with prices of wires: the product and its checker against `wires_oracle`."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isclose, prod
from typing import Any

from accelerator_machines import asked
from signing import signed
from sized_machines import random_bits, sized_machine
from spatial_strategies import STATEMENTS, WALKED, dims_of, statement
from wires_oracle import Level as Loops
from wires_oracle import Problem, Tensor, exact, timeloop

from optmap.answers.documents.recount import evaluate_solution
from optmap.answers.documents.solution import solution_from
from optmap.base.errors import OptmapError
from optmap.base.texts import exact_text
from optmap.checker import RefusedError, check_document
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, NEST_TIMELOOP
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import SpatialCost
from optmap.count.meshes.wires import is_quirk
from optmap.files.fields import Fields
from optmap.machines.accelerator import Arithmetic, KeepRule, Mesh, MeshAxis, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest
from optmap.mappings.nest_batch import batch_of
from optmap.questions.options import TileRule
from optmap.search import Answer, Found, assemble
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload, access_names

Served = tuple[dict[int, int], dict[int, Fraction]]
"""Words that levels serve to their meshes, and what their wires cost: of one tensor, by level."""
PRICES = (Fraction(0), Fraction(1), Fraction(1, 3), Fraction("0.7"), Fraction("0.02"), Fraction(5, 2), Fraction(10**6))
"""Of a hop, and of a router."""
SHARE = 0.25
"""Of cases whose documents are changed and read again."""
ROOM = 10**7
"""Words, or bytes, of a bounded memory: every tile fits."""


@dataclass(frozen=True)
class Case:
    """A mapping, for the product and for the oracle."""

    problem: Problem
    fabric: Fabric
    nest: Nest
    kinds: frozenset[str]
    """What it has, in words."""


def attacked(cases: int, seed: int) -> Iterator[tuple[Counter[str], str]]:
    """So many valid mappings: what was compared of each, by kind, and what is not as the oracle has it."""
    draw = random.Random(seed)
    for _ in range(cases):
        state = draw.getrandbits(64)
        own = random.Random(state)
        case = drawn(own)
        try:
            yield attack(case, own), ""
        except (AssertionError, OptmapError, RefusedError) as error:
            yield Counter(case.kinds, cases=1), f"case {state} of seed {seed}: {error!r}"


def attack(case: Case, draw: random.Random) -> Counter[str]:
    """Count a mapping on all roads: by itself in both countings, and as an answer's document that the checker accepts.

    The document counts as Timeloop does, and says the product of energy and cycles by exact counting, too. Of one case
    in four also one that counts exactly; one of both is read and counted again, its nest counted in a batch, and
    refused where it says something else of wires.

    Raises:
        AssertionError: for what is not as the oracle has it.
        CheckError: if the product takes the mapping for one that is not valid.
        RefusedError: for a true document that the checker does not accept.
    """
    found = Counter(case.kinds, cases=1)
    answer = _answer(case, NEST_TIMELOOP)
    served: dict[NestPolicy, dict[str, Served]] = {}
    counts = (NEST_EXACT, exact, answer.exact_count), (NEST_TIMELOOP, timeloop, answer.count)
    for counting, oracle, cost in counts:
        served[counting] = {tensor.name: oracle(case.problem, tensor) for tensor in case.problem.tensors}
        found.update(_same(case, cost, served[counting], counting))
    found["wires that only Timeloop counts so"] += _quirks(case, served)
    if any(a.energy_pj != b.energy_pj for a, b in zip(answer.exact_count.memories, answer.count.memories, strict=True)):
        found["energies that the countings have otherwise"] += 1
    documents = {NEST_TIMELOOP: _accepted(answer)}
    if draw.random() < SHARE:
        documents[NEST_EXACT] = _accepted(_answer(case, NEST_EXACT))
        counting, other = draw.sample(sorted(documents, key=str), 2)
        document = documents[counting]
        assert not evaluate_solution(solution_from(Fields.of(document, "document"))).disagreements
        found[f"{counting}: documents read and counted again"] += 1
        if not any(memory.x_order or memory.y_order for memory in case.nest.memories):  # which a batch does not hold
            (many,) = evaluate_batch(batch_of([case.nest], case.fabric), case.fabric, counting).energy_pj
            assert isclose(many, document["energy"]["value"], rel_tol=1e-12), (counting, "batch", many)
            found[f"{counting}: energies of a batch"] += 1
        for name, lie in _lies(case, document, documents[other], draw):
            _refused(lie, f"{counting}: {name}")
            found[f"{counting}: {name} refused"] += 1
    found.update(f"{counting}: documents accepted" for counting in documents)
    return found


def _answer(case: Case, counting: NestPolicy) -> Answer:
    answer = assemble(
        asked(case.fabric, counting=counting, tiles=TileRule.PADDED, method="random"),
        Found(mapping=case.nest),
        seconds=0,
    )
    assert isinstance(answer, Answer)
    return answer


def _accepted(answer: Answer) -> dict[str, Any]:
    """An answer as a file would have it, which the checker accepts."""
    found: dict[str, Any] = json.loads(json.dumps(answer.to_dict()))
    check_document(found)
    return found


def _refused(lie: dict[str, Any], name: str) -> None:
    """Hold that the checker refuses a document, and for the energy that is not true."""
    try:
        check_document(lie)
    except RefusedError as error:
        said = str(error)
    else:
        said = "accepted"
    assert "energy (in its wires" in said, (name, said)


def _same(
    case: Case,
    cost: SpatialCost,
    served: dict[str, Served],
    counting: NestPolicy,
) -> Counter[str]:
    """Hold counts and energies of all memories against those of the oracle."""
    found: Counter[str] = Counter()
    for number, (memory, level) in enumerate(zip(cost.memories, case.problem.levels, strict=True)):
        for row in memory.accesses:
            own = row.updates if row.operand == case.fabric.operands[0].name else row.reads
            words = served[row.operand][0][number]
            assert own == words, (counting, memory.name, row.operand, "words", own, words)
            found[f"{counting}: words of a memory and tensor"] += 1
        if not (level.hop or level.router):
            assert not memory.wires_pj
            continue
        for name, (_, energy) in served.items():
            own, wires = memory.wires_pj.get(name, Fraction(0)), energy.get(number, Fraction(0))
            assert own == wires, (counting, memory.name, name, "wires", own, wires)
            found[f"{counting}: wires of a mesh and tensor"] += 1
            found[f"{counting}: such with a price to pay"] += wires > 0
        paid = sum((row.energy_pj for row in memory.accesses), sum(memory.wires_pj.values(), Fraction(0)))
        assert memory.energy_pj == paid, (counting, memory.name, memory.energy_pj, paid)
    return found


def _quirks(case: Case, served: dict[NestPolicy, dict[str, Served]]) -> int:
    """Of as many words the countings' wires differ only where the product says that Timeloop has a quirk."""
    found = 0
    for place, operand in enumerate(case.fabric.operands):
        (words, energy), (others, other) = (served[counting][operand.name] for counting in WALKED)
        for number in words:
            if words[number] == others[number] and energy[number] != other[number]:
                assert is_quirk(case.nest, number, place, output=operand.output), (number, operand.name)
                found += 1
    return found


def _lies(
    case: Case, document: dict[str, Any], other: dict[str, Any], draw: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Documents that say something else of what wires cost, in every number that follows from it."""
    priced = [number for number, level in enumerate(case.problem.levels) if level.hop or level.router]
    number = draw.choice(priced)
    level = case.problem.levels[number]
    price, paid = max(level.hop, level.router), Fraction(document["levels"][number]["energy_exact"])
    less = paid >= price and draw.random() < 0.5
    yield "a price of wires changed", _dearer(document, number, -price if less else price)
    if any(document["levels"][n]["accesses"] != other["levels"][n]["accesses"] for n in range(len(other["levels"]))):
        return
    for place in priced:
        more = Fraction(other["levels"][place]["energy_exact"]) - Fraction(document["levels"][place]["energy_exact"])
        if more:
            yield "the other counting's wires", _dearer(document, place, more)
            return


def _dearer(document: dict[str, Any], number: int, more: Fraction) -> dict[str, Any]:
    """The document with so much more energy at a level, signed anew."""
    found = copy.deepcopy(document)

    def amount(value: Fraction) -> dict[str, Any]:
        return {"value": int(value) if value.denominator == 1 else float(value), "exact": exact_text(value)}

    level = found["levels"][number]
    own = amount(Fraction(level["energy_exact"]) + more)
    level["energy_pj"], level["energy_exact"] = own["value"], own["exact"]
    energy = Fraction(found["energy"]["exact"]) + more
    found["energy"].update(amount(energy))
    for key in ("edp", "cost"):
        found[key].update(amount(energy * found["cycles"]["value"]))
    if found["counting"] == "exact":
        found["exact"].update(found["cost"])
    found["search"]["curve"] = [[*point[:2], found["cost"]["value"]] for point in found["search"]["curve"]]
    return signed(found)


def drawn(draw: random.Random) -> Case:
    """A random case: loops first, then a machine on which they are valid."""
    kind = draw.choice(sorted(STATEMENTS))
    dims = dims_of(kind)
    count = draw.choice((2, 2, 3, 3, 4))
    meshed = draw.sample(range(count), k=min(count, draw.choice((1, 1, 2, 2, 3))))
    budget = draw.choice((100, 200, 400, 1200))
    shapes = {number: draw.choice(("1xN", "Nx1", "NxM")) for number in meshed}
    trips: dict[tuple[int, str], dict[str, int]] = {(n, part): {} for n in range(count) for part in "XYT"}
    parts = [(n, axis) for n in meshed for axis in "XY" if shapes[n] == "NxM" or (axis == "X") is (shapes[n] == "Nx1")]
    parts = [part for part in parts for _ in range(draw.choice((1, 1, 2)))]
    draw.shuffle(parts)
    parts += [(draw.randrange(count), "T") for _ in range(draw.randint(2, 7))]
    for part in parts:
        dim = draw.choice(dims)
        size = draw.choice([n for n in (2, 2, 2, 3, 3, 4, 5, 7) if n <= budget] or [1])
        if size > 1 and dim not in trips[part]:
            trips[part][dim] = size
            budget //= size
    extents = {dim: prod(own.get(dim, 1) for own in trips.values()) for dim in dims}
    less = {dim: n - 1 for dim, n in extents.items() if n > 2 and draw.random() < 0.05}
    workload = statement(kind, extents | less, stride=draw.randint(1, 3), dilation=draw.randint(1, 3))
    workload = random_bits(workload, draw) if draw.random() < 0.4 else workload
    kept = _kept(draw, count, access_names(workload))
    levels = tuple(_level(draw, trips, number, kept[number]) for number in range(count))
    if not any(level.children > 1 and (level.hop or level.router) for level in levels):
        return drawn(draw)
    tensors = tuple(
        Tensor(name, number == 0, tuple(axis.terms for axis in access.axes))
        for number, (name, access) in enumerate(zip(access_names(workload), workload.tensors, strict=True))
    )
    problem = Problem(tensors, levels)
    machine = _machine(draw, workload, levels)
    sized = draw.random() < 0.3
    fabric = fabric_of(workload, sized_machine(machine, draw) if sized else machine)
    nest = _nest(problem, fabric)
    return Case(problem, fabric, nest, frozenset(_kinds(problem, fabric, nest, f"statement {kind}")))


def _kept(draw: random.Random, count: int, names: tuple[str, ...]) -> list[frozenset[str]]:
    """Who is held where: everything somewhere, mostly in the outermost memory."""
    keepers = {name: {number for number in range(count - 1) if draw.random() < 0.6} for name in names}
    for own in keepers.values():
        if not own or draw.random() < 0.9:
            own.add(count - 1)
    return [frozenset(name for name, own in keepers.items() if number in own) for number in range(count)]


def _level(
    draw: random.Random, trips: dict[tuple[int, str], dict[str, int]], number: int, kept: frozenset[str]
) -> Loops:
    """A level with its loops in random orders, as large a mesh as they need or a larger one, and prices."""

    def ordered(part: str) -> list[tuple[str, int]]:
        own = sorted(trips[number, part].items())
        return draw.sample(own, len(own)) if draw.random() < 0.5 else own

    along = {axis: ordered(axis) for axis in "YX"}
    sizes = {axis: prod(ways for _, ways in loops) for axis, loops in along.items()}
    if draw.random() < 0.5:
        sizes = {
            axis: draw.choice((size, size, size + 1, size + 2, size + 5, 2 * size)) for axis, size in sizes.items()
        }
    hop, router = draw.choice(((1, 1), (1, 1), (1, 0), (0, 1), (0, 0)))
    return Loops(
        temporal=tuple(ordered("T")),
        spatial=tuple((dim, ways, axis) for axis, loops in along.items() for dim, ways in loops),
        keeps=kept,
        columns=sizes["X"],
        rows=sizes["Y"],
        multicast=draw.random() < 0.8,
        reduction=draw.random() < 0.8,
        hop=hop * draw.choice(PRICES),
        router=router * draw.choice(PRICES),
    )


def _machine(draw: random.Random, workload: Workload, levels: tuple[Loops, ...]) -> Machine:
    """A machine that lets the loops be as they are; what it leaves open is drawn."""
    names, stores = access_names(workload), []
    for number, level in enumerate(levels):
        outermost = number == len(levels) - 1
        keeps = []
        for name in names:
            held = name in level.keeps
            sure = held and not outermost and name not in levels[-1].keeps
            free = not sure and draw.random() < 0.5
            keeps.append((name, KeepRule.FREE if free else KeepRule.KEPT if held else KeepRule.REFUSED))
        stores.append(
            Store(
                keeps=tuple(keeps),
                energy_pj=Prices(read=draw.randint(0, 9), fill=draw.randint(0, 9), update=draw.randint(0, 9)),
                mesh=Mesh(
                    x=MeshAxis(size=level.columns),
                    y=MeshAxis(size=level.rows),
                    multicast=level.multicast,
                    reduction=level.reduction,
                ),
                hop_pj=level.hop,
                router_pj=level.router,
            )
        )
    room = Capacity(amount=ROOM, unit=draw.choice(("words", "bytes")))
    return Machine(
        name="wired",
        levels=tuple(
            Level(name=f"L{number}", capacity=room, store=store, inclusive=False)
            for number, store in enumerate(stores[:-1])
        ),
        memory="Outside",
        outermost=stores[-1],
        arithmetic=Arithmetic(energy_pj=draw.randint(0, 3)),
    )


def _nest(problem: Problem, fabric: Fabric) -> Nest:
    """The loops as the product has them."""
    place, memories = {dim: number for number, dim in enumerate(fabric.dims)}, []
    for level in problem.levels:
        ways = {axis: {place[dim]: n for dim, n, own in level.spatial if own == axis} for axis in "XY"}
        memories.append(
            MemoryNest(
                x=tuple(ways["X"].get(dim, 1) for dim in range(len(fabric.dims))),
                y=tuple(ways["Y"].get(dim, 1) for dim in range(len(fabric.dims))),
                temporal=tuple((place[dim], trips) for dim, trips in level.temporal),
                keeps=tuple(operand.name in level.keeps for operand in fabric.operands),
                x_order=() if list(ways["X"]) == sorted(ways["X"]) else tuple(ways["X"]),
                y_order=() if list(ways["Y"]) == sorted(ways["Y"]) else tuple(ways["Y"]),
            )
        )
    return Nest(memories=tuple(memories))


def _kinds(problem: Problem, fabric: Fabric, nest: Nest, kind: str) -> Iterator[str]:
    """What a case has."""
    yield kind
    meshes = [level for level in problem.levels if level.children > 1]
    yield f"{len(meshes)} levels with several children"
    for level in meshes:
        ways = {axis: prod(n for _, n, own in level.spatial if own == axis) for axis in "XY"}
        used = ways["X"] > 1, ways["Y"] > 1
        shape = {(True, False): "Nx1", (False, True): "1xN"}.get(used, "NxN" if ways["X"] == ways["Y"] else "NxM")
        yield f"children {shape}"
        if (level.columns, level.rows) != (ways["X"], ways["Y"]):
            yield "a larger mesh than is used"
        if level.children > ways["X"] and level.columns > ways["X"]:
            yield "rows that pack"
        if any(len([1 for _, _, own in level.spatial if own == axis]) > 1 for axis in "XY"):
            yield "several dims along an axis"
        if any(len({own for name, _, own in level.spatial if name == dim}) > 1 for dim in problem.dims):
            yield "a dim along both axes"
        priced = [name for name, price in (("hops", level.hop), ("routers", level.router)) if price]
        yield f"{' and '.join(priced) or 'no wires'} priced"
        yield "multicast" if level.multicast else "no multicast"
        yield "reduction" if level.reduction else "no reduction"
    for level in problem.levels:
        if level.children == 1 and (level.hop or level.router):
            yield f"one child{' of several' if level.columns * level.rows > 1 else ''} in use, priced"
    for tensor in problem.tensors:
        keepers = problem.keepers(tensor)
        if any(n not in keepers and problem.levels[n + 1].children > 1 for n in range(keepers[-1])):
            yield "a bypass under a mesh in use"
        if any(n not in keepers and problem.levels[n].children > 1 for n in range(keepers[-1])):
            yield "a mesh in use under a bypass"
        if keepers[-1] < len(problem.levels) - 1:
            yield "a tensor that the outermost memory does not keep"
    if len({tensor.bits for tensor in fabric.workload.tensors}) > 1:
        yield "elements of several sizes"
    if any(store.pack for store in stores_of(fabric)):
        yield "packed entries"
    if any(store.energy_pj_per_bit != Prices() for store in stores_of(fabric)):
        yield "prices per bit"
    if any(memory.x_order or memory.y_order for memory in nest.memories):
        yield "children numbered in another order"
    if nest.tiles()[-1] != fabric.extents:
        yield "padded dims"


def stores_of(fabric: Fabric) -> list[Store]:
    """Of all memories."""
    return list(fabric.machine.stores)
