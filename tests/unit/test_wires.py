"""Energy of wires: hops by hand, against a literal walk over children, and by two roads on random mappings."""

from __future__ import annotations

import copy
import json
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor, prod
from pathlib import Path

import pytest
from accelerator_machines import grid_machine, random_nest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from signing import signed
from spatial_strategies import WALKED

import optmap
from optmap.base.errors import LimitError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.fabric import StatedFabric as CheckedFabric
from optmap.checker.nests.accesses import Counts
from optmap.checker.nests.loops import Loops
from optmap.checker.nests.rectangles import rectangles
from optmap.count.meshes import hops
from optmap.count.meshes.count import NEST_EXACT, NEST_TIMELOOP, count_nest
from optmap.count.meshes.hops import Board, Digit, Served, served
from optmap.count.meshes.layout import NestLayout, layout_of
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.wires import NO_WIRES, OWN_RULE
from optmap.files.fields import Fields
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document, read_mapping
from optmap.files.workloads import workload_document
from optmap.interchange import read_records
from optmap.machines.accelerator import KeepRule, Mesh, MeshAxis, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.mappings.nest import MemoryNest, Nest, mapping_of, nest_of, split_order
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

RECORDS = Path(__file__).parents[1] / "data" / "wires_conformance.json"
WORKLOADS = (
    parse_workload("O[k,p] = I[c,p+r] * W[k,c,r]", {"k": 4, "c": 4, "p": 6, "r": 4}),
    parse_workload("O[k,p,q] = I[c,2*p+r,q+2*s] * W[k,c,r,s]", {"k": 4, "c": 2, "p": 4, "q": 3, "r": 2, "s": 3}),
    parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 8, "j": 6, "k": 6}),
    parse_workload("A[i] = B[i+j,j] * C[j]", {"i": 6, "j": 12}),
    parse_workload("A[i,j] = B[i,k,l] * C[k,j] * D[l,j]", {"i": 4, "j": 6, "k": 4, "l": 3}),
)


def groups_by_hand(digits: tuple[Digit, ...], board: Board, *, together: bool) -> list[list[tuple[int, int]]]:
    """(column, row) of the children of every group, child after child."""
    found: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for child, turns in enumerate(product(*(range(ways) for _, ways in digits))):
        moves = zip(*([n * move for move in moves] for n, (moves, _) in zip(turns, digits, strict=True)), strict=True)
        needs = tuple(map(sum, moves)) if together else child
        found[needs].append((child % board.wide, child // board.wide))
    return list(found.values())


def hops_by_hand(children: list[tuple[int, int]], board: Board) -> Fraction:
    """To the farthest column, and in every column from the middle to the highest and the lowest child."""
    middle, nothing = Fraction(board.high - 1, 2), Fraction(0)
    found = Fraction(max(column for column, _ in children))
    for column in {column for column, _ in children}:
        rows = [row for own, row in children if own == column]
        found += max(nothing, middle - min(rows)) + max(nothing, max(rows) - middle)
    return found


def summed(groups: list[list[tuple[int, int]]], board: Board) -> tuple[Served, ...]:
    sizes: dict[int, list[Fraction]] = defaultdict(list)
    for children in groups:
        sizes[len(children)].append(hops_by_hand(children, board))
    return tuple(Served(size, len(found), int(2 * sum(found))) for size, found in sorted(sizes.items()))


@st.composite
def meshes(draw: st.DrawFn) -> tuple[tuple[Digit, ...], Board]:
    subscripts = draw(st.integers(1, 3))
    digits = tuple(
        draw(
            st.lists(
                st.tuples(st.tuples(*[st.integers(0, 4)] * subscripts), st.integers(2, 6)), min_size=1, max_size=4
            ).filter(lambda loops: prod(ways for _, ways in loops) <= 160)
        )
    )
    split = draw(st.integers(0, len(digits)))
    x, y = prod(ways for _, ways in digits[split:]), prod(ways for _, ways in digits[:split])
    wide, high = x + draw(st.sampled_from((0, 0, 1, 3, x))), y + draw(st.integers(0, 3))
    return digits, Board(wide, high)


@settings(max_examples=cases(100, 300))
@given(mesh=meshes(), together=st.booleans())
def test_closed_forms_are_the_walk_over_children(mesh: tuple[tuple[Digit, ...], Board], together: bool) -> None:
    digits, board = mesh
    groups = groups_by_hand(digits, board, together=together)
    assert served(digits, board, len(groups) if together else None) == summed(groups, board)


def test_hops_by_hand() -> None:
    """A mesh of 4 columns and 2 rows; words enter between its rows, half a hop from each."""
    board = Board(4, 2)
    everyone: tuple[Digit, ...] = (((0,), 2), ((0,), 4))
    assert served(everyone, board, 1) == (Served(8, 1, 2 * (3 + 4 * 1)),)  # 3 right, a trunk of 1 in 4 columns
    rows: tuple[Digit, ...] = (((1,), 2), ((0,), 4))
    assert served(rows, board, 2) == (Served(4, 2, 2 * 2 * (3 + 2)),)  # each row: 3 right, 4 times half a hop
    columns: tuple[Digit, ...] = (((0,), 2), ((1,), 4))
    assert served(columns, board, 4) == (Served(2, 4, 2 * (0 + 1 + 2 + 3 + 4 * 1)),)
    each: tuple[Digit, ...] = (((4,), 2), ((1,), 4))
    assert served(each, board, 8) == served(each, board, None) == (Served(1, 8, 2 * (2 * 6 + 8) - 8),)
    # Six children in reading order: four in the first row, two in the second, whatever is unrolled along x.
    packed: tuple[Digit, ...] = (((1,), 3), ((0,), 2))
    assert served(packed, board, 3) == (Served(2, 3, 2 * (1 + 3 + 1 + 3 * 1)),)
    # A halo: children 0..2 + 0..1 need 0, 1 (twice), 2 (twice), 3; along x and y, so that groups are diagonals.
    diagonal: tuple[Digit, ...] = (((1,), 2), ((1,), 3))
    assert served(diagonal, Board(3, 2), 4) == (Served(1, 2, 2 * (0 + 2) + 2), Served(2, 2, 2 * (1 + 2) + 2 * 2))


def test_above_and_below_the_middle_are_two_ways_of_one_trunk() -> None:
    """Five rows of one column: of rows 0 and 1 the way up is 2 hops, not 2 and 1; of rows 2 and 3 it is 1 down."""
    digits: tuple[Digit, ...] = (((1,), 2), ((0,), 2))
    assert served(digits, Board(1, 5), 2) == (Served(2, 2, 2 * (2 + 1)),)


def test_a_thousand_columns_and_rows_are_not_followed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows, a part of them, and several to a row: what is looked at grows with columns and rows, not children."""
    looked: list[int] = []
    codes = hops._codes
    monkeypatch.setattr(hops, "_codes", lambda digits: looked.append(prod(n for _, n in digits)) or codes(digits))
    served.cache_clear()
    side, board = 1024, Board(1024, 1024)
    assert served((((1,), side), ((0,), side)), board, side)[0].groups == side
    assert served((((side,), side), ((1,), side)), board, side * side)[0].groups == side * side
    assert served((((side,), side), ((1,), side)), board, None)[0].groups == side * side
    assert served((((0,), side), ((1,), side // 4)), board, side // 4)[0].children == side
    assert max(looked) <= side
    tall = 1 << 40
    assert served((((1,), tall),), Board(1, tall), None) == (Served(1, tall, tall * tall // 2),)
    with pytest.raises(LimitError, match="whole rows"):
        served((((1,), 2**14), ((0,), 2**14 - 1)), Board(2**14, 2**14), 2**14)


def test_places_too_far_apart_for_machine_numbers_are_still_told_apart() -> None:
    far = 2**61
    digits: tuple[Digit, ...] = (((far, 1), 3), ((1, far), 3))
    groups = groups_by_hand(digits, Board(4, 3), together=True)
    assert served(digits, Board(4, 3), len(groups)) == summed(groups, Board(4, 3))
    wide: tuple[Digit, ...] = (((5 * far,), 3), ((far,), 2), ((0,), 2))
    groups = groups_by_hand(wide, Board(5, 3), together=True)
    assert served(wide, Board(5, 3), len(groups)) == summed(groups, Board(5, 3))


def energy_by_hand(layout: NestLayout, number: int, place: int) -> Fraction:
    """The rule literally: children one by one, A and W per size of a group, then routers."""
    memory, operand = layout.fabric.memories[number], layout.fabric.operands[place]
    nests, last = layout.nest.memories, len(layout.nest.memories) - 1
    if not any(own.keeps[place] for own in nests[number:]):
        return Fraction(0)
    # Outwards from the arithmetic: what an instance asks for, and what it would if its memory kept the tensor.
    asked, own = Fraction(layout.operations, layout.units), Fraction(layout.operations, layout.units)
    for level in range(number + 1):
        groups = groups_of(layout, level, place)
        if level:
            used = layout.instances[level - 1]
            own = Fraction(layout.entering(operand, level - 1), used)
            asked = own if nests[level - 1].keeps[place] else asked
        below, asked = asked, asked * len(groups)
    board = board_of(layout, number)
    wires = routers = Fraction(0)
    for size in {len(children) for children in groups}:
        mine = [children for children in groups if len(children) == size]
        words = below * len(mine)
        mean = sum((hops_by_hand(children, board) for children in mine), Fraction(0)) / len(mine)
        timeloop = layout.extrapolate
        way = (own if timeloop else below) * len(mine) * mean * (prod(layout.ways[number]) > 1)
        if timeloop and operand.output and number == last:
            words = 2 * words - layout.touched(operand, number)
        if words > 0:
            wires += way
            routers = Fraction(floor(routers + (1 + floor(way / words)) * words))
    return layout.instances[number] * (wires * memory.hop_pj + routers * memory.router_pj)


def board_of(layout: NestLayout, number: int) -> Board:
    memory, own = layout.fabric.memories[number], layout.nest.memories[number]
    return Board(max(memory.x.size, prod(own.x)), max(memory.y.size, prod(own.y)))


def groups_of(layout: NestLayout, number: int, place: int) -> list[list[tuple[int, int]]]:
    operand, own = layout.fabric.operands[place], layout.nest.memories[number]
    digits = tuple(
        (tuple(sum(c for d, c in axis if d == dim) * layout.inners[number][dim] * step for axis in operand.axes), ways)
        for dim, step, ways in own.numbering
    )
    return (
        groups_by_hand(digits, board_of(layout, number), together=layout.fabric.memories[number].together(operand))
        if digits
        else [[(0, 0)]]
    )


def priced_everywhere(generator: random.Random) -> Machine:
    """Three memories with meshes of random sizes, prices, sharing and bypass."""
    machine = grid_machine(ports=False)
    assert machine.outermost is not None

    def store(old: Store) -> Store:
        keep = (KeepRule.FREE, KeepRule.KEPT)
        return replace(
            old,
            keeps=tuple((name, generator.choice(keep)) for name in ("output", "inputs")),
            mesh=Mesh(
                x=MeshAxis(size=generator.choice((1, 3, 4, 5))),
                y=MeshAxis(size=generator.choice((1, 2, 4))),
                multicast=generator.random() < 0.8,
                reduction=generator.random() < 0.8,
            ),
            hop_pj=Fraction(generator.choice((0, 1, 7)), 4),
            router_pj=Fraction(generator.choice((0, 1, 3)), 8),
        )

    levels = tuple(replace(level, store=store(level.store or Store())) for level in machine.levels)
    outermost = replace(store(machine.outermost), keeps=())
    return replace(machine, levels=levels, outermost=outermost)


def shuffled(nest: Nest, generator: random.Random) -> Nest:
    """The same with children numbered in random orders."""

    def order(ways: tuple[int, ...]) -> tuple[int, ...]:
        return split_order(generator.sample(range(len(ways)), len(ways)), ways)

    return Nest(memories=tuple(replace(m, x_order=order(m.x), y_order=order(m.y)) for m in nest.memories))


def checked(nest: Nest, fabric: Fabric, counting: NestPolicy) -> Counts:
    """Counted by the checker, from documents."""
    own = CheckedFabric(workload_document(fabric.workload), machine_document(fabric.machine))
    loops = Loops(own, mapping_document(mapping_of(nest, fabric))["levels"])
    return Counts(loops, timeloop=counting is NEST_TIMELOOP)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.expression)
@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_three_roads_price_wires_alike(workload: Workload, counting: NestPolicy) -> None:
    """Product, checker and literal walk, over random meshes, splits, orders, bypass and sharing."""
    generator = random.Random(11)
    paid = 0
    for _ in range(cases(15, 40)):
        fabric = fabric_of(workload, priced_everywhere(generator))
        nest = shuffled(random_nest(fabric, generator), generator)
        layout, found = layout_of(nest, fabric, counting), count_nest(nest, fabric, counting)
        own = checked(nest, fabric, counting)
        for number, memory in enumerate(found.memories):
            for place, operand in enumerate(fabric.operands):
                energy = memory.wires_pj.get(operand.name, Fraction(0))
                assert energy == energy_by_hand(layout, number, place) == own._wires(number, place)
                paid += energy > 0
        assert own.energy == found.energy_pj
    assert paid > cases(40, 100)


def test_both_roads_price_wires_as_timeloop_does() -> None:
    """Every network of every record, to 1e-9, and the energy altogether."""
    compared = 0
    for record in read_records(RECORDS):
        found = count_nest(record.nest, record.fabric, NEST_TIMELOOP)
        own = checked(record.nest, record.fabric, NEST_TIMELOOP)
        for number, memory in enumerate(found.memories):
            for place, (name, energy) in enumerate(memory.wires_pj.items()):
                expected = float(record.wires[memory.name][name])
                assert float(energy) == pytest.approx(expected, rel=1e-9), (record.name, memory.name, name)
                assert own._wires(number, place) == energy
                compared += 1
        assert float(own.energy) == pytest.approx(float(record.energy_pj), rel=1e-9)
    assert compared == 120


def test_exact_counting_differs_from_timeloop_only_where_that_has_quirks() -> None:
    """To a level that passes a tensor by wires carry what passes, and sums of the outermost memory go one way."""
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 4, "j": 8, "k": 8})
    machine = grid_machine(ports=False)
    assert machine.outermost is not None
    mesh = Mesh(x=MeshAxis(size=4), y=MeshAxis(size=1))
    outermost = replace(machine.outermost, mesh=mesh, hop_pj=Fraction(1), router_pj=Fraction(10))
    free = tuple(
        replace(
            level, store=replace(level.store or Store(), keeps=(("output", KeepRule.FREE), ("inputs", KeepRule.FREE)))
        )
        for level in machine.levels
    )
    machine = replace(machine, levels=free, outermost=outermost)
    fabric = fabric_of(workload, machine)
    plain, one = (1, 1, 1), (True, True, True)
    assert fabric.dims == ("i", "j", "k")

    def nest(buffer: tuple[bool, bool, bool]) -> Nest:
        return Nest(
            memories=(
                MemoryNest(x=plain, y=plain, temporal=((0, 2),), keeps=one),
                MemoryNest(x=plain, y=plain, temporal=((1, 2), (2, 4)), keeps=buffer),
                MemoryNest(x=(1, 4, 1), y=plain, temporal=((2, 2), (0, 2)), keeps=one),
            )
        )

    exact, timeloop = (count_nest(nest(one), fabric, counting).memories[2].wires_pj for counting in WALKED)
    # Of A 32 words go to all four children, 3 hops; of B and C 64 to one child each, 0 to 3 hops: 1 1/2 on average.
    each = 64 * Fraction(3, 2) + 64 * (1 + 1) * 10
    assert exact == {"C": each, "A": 32 * 3 + 32 * (1 + 3) * 10, "B": each}
    # The 32 words of C come back once: 96 pass the routers, and 96 hops are 1 each.
    assert timeloop == {**exact, "C": 64 * Fraction(3, 2) + 96 * (1 + 1) * 10}
    # Past the buffer go 64 words of A, since it is needed anew for each of two j; the buffer would have taken in 32.
    exact, timeloop = (
        count_nest(nest((True, False, True)), fabric, counting).memories[2].wires_pj for counting in WALKED
    )
    assert exact["A"] == 64 * 3 + 64 * (1 + 3) * 10
    assert timeloop["A"] == 32 * 3 + 64 * (1 + 1) * 10  # 96 hops of 64 words


@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_a_tensor_that_no_memory_keeps_has_no_wires(counting: NestPolicy) -> None:
    """The mapping is not valid, and counted all the same."""
    generator = random.Random(5)
    priced = 0
    for _ in range(10):
        fabric = fabric_of(WORKLOADS[2], priced_everywhere(generator))
        nest = random_nest(fabric, generator)
        nest = Nest(memories=tuple(replace(own, keeps=(False, *own.keeps[1:])) for own in nest.memories))
        found, own = count_nest(nest, fabric, counting), checked(nest, fabric, counting)
        assert any("is kept by no memory" in text for text in found.broken)
        for number, memory in enumerate(found.memories):
            assert memory.wires_pj.get(fabric.operands[0].name, 0) == own._wires(number, 0) == 0
            priced += bool(memory.wires_pj)
        assert own.energy == found.energy_pj
    assert priced > 10


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.expression)
@pytest.mark.parametrize("counting", WALKED)
def test_the_checker_has_rectangles_of_the_children_that_it_sets_down(workload: Workload, counting: NestPolicy) -> None:
    """Or refuses them: rows that end inside a loop, or different rows and columns that give the same words."""
    generator = random.Random(7)
    alike = refused = 0
    for _ in range(cases(25, 60)):
        fabric = fabric_of(workload, priced_everywhere(generator))
        nest = shuffled(random_nest(fabric, generator), generator)
        own = checked(nest, fabric, counting)
        for number, place in product(range(len(fabric.memories)), range(len(fabric.operands))):
            turns, different = own._turns(number, place)
            if prod(n for _, n in turns) == 1:
                continue
            memory = nest.memories[number]
            x, y = fabric.memories[number].x.size, fabric.memories[number].y.size
            board = (max(x, prod(memory.x)), max(y, prod(memory.y)))
            try:
                found = rectangles(turns, board, different, "mesh")
            except RefusedError:
                refused += 1
                continue
            assert found == own._trunks(number, place)
            alike += 1
    assert alike > cases(20, 50)
    assert refused


def wide_nest(wide: int, used: int) -> tuple[Nest, Fabric]:
    """A square mesh in use but for some of its columns."""
    workload, machine = parse_workload("C[i] = A[i] * B[j]", {"i": used << 20, "j": 1}), grid_machine(ports=False)
    mesh = Mesh(x=MeshAxis(size=wide), y=MeshAxis(size=1 << 20))
    store = replace(machine.levels[1].store or Store(), mesh=mesh, hop_pj=Fraction(1), keeps=())
    fabric = fabric_of(workload, replace(machine, levels=(machine.levels[0], replace(machine.levels[1], store=store))))
    still, kept = (1, 1), (True, True, True)
    inner, outer = (MemoryNest(x=still, y=still, temporal=(), keeps=kept) for _ in range(2))
    return Nest(memories=(inner, replace(inner, x=(used, 1), y=(1 << 20, 1)), outer)), fabric


@pytest.mark.longer
def test_more_children_than_the_checker_can_set_down_are_rectangles() -> None:
    nest, fabric = wide_nest(1 << 12, 1 << 12)
    own, found = checked(nest, fabric, NEST_EXACT), count_nest(nest, fabric)
    for place, operand in enumerate(fabric.operands):
        assert found.memories[1].wires_pj[operand.name] == own._wires(1, place) > 0
    assert own.energy == found.energy_pj


def test_more_children_than_the_checker_can_set_down_in_broken_rows_are_refused() -> None:
    nest, fabric = wide_nest(1 << 12, (1 << 12) - 1)
    with pytest.raises(RefusedError, match="their rows end inside a loop"):
        checked(nest, fabric, NEST_EXACT)


@pytest.mark.parametrize("board", [(1, 10**10), (10**10, 1)])
def test_a_line_of_children_that_nobody_could_list_is_refused(board: tuple[int, int]) -> None:
    with pytest.raises(RefusedError, match="L1: 10,000,000,000 children in a line of a mesh are too many"):
        rectangles([(1, 10**10)], board, 10**10, "L1")


def test_orders_of_children_survive_documents_and_are_checked() -> None:
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 4, "j": 4, "k": 8})
    fabric = fabric_of(workload, grid_machine(ports=False))
    generator = random.Random(3)
    seen = 0
    for _ in range(200):
        nest = shuffled(random_nest(fabric, generator), generator)
        document = json.loads(json.dumps(mapping_document(mapping_of(nest, fabric))))
        if any(max(prod(m.x) - 4, prod(m.y) - 3) > 0 for m in nest.memories):
            continue  # more children than there are
        fields = Fields(values=document, where="mapping")
        again = nest_of(read_mapping(fields, workload, fabric.machine), fabric)
        assert [(m.x, m.y, m.numbering) for m in again.memories] == [(m.x, m.y, m.numbering) for m in nest.memories]
        said = [entry for entry in document["levels"] if "spatial_order" in entry]
        seen += bool(said)
        for entry in said:
            entry["spatial_order"] = {"x": ["i", "i"], "y": []}
            with pytest.raises(optmap.base.errors.InputError, match="order along x"):
                read_mapping(fields, workload, fabric.machine)
    assert seen > 5


def test_an_answer_says_where_its_wires_are_not_timeloops() -> None:
    machine = grid_machine()
    wired = replace(machine.levels[1].store or Store(), hop_pj=Fraction(1, 4))
    machine = replace(machine, levels=(machine.levels[0], replace(machine.levels[1], store=wired)))
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 4, "j": 2, "k": 2})
    for counting, said in ((NEST_EXACT, True), (NEST_TIMELOOP, False)):
        found = optmap.solve(workload, machine=machine, counting=counting.name, objective="energy")
        assert (OWN_RULE in found.notes) is said
        again = optmap.evaluate(found)
        assert (OWN_RULE in again.to_dict()["notes"]) is (f"note: {OWN_RULE}" in str(again)) is said
    without = NO_WIRES.format("factorflow")
    assert without in optmap.evaluate(found, counting="factorflow").to_dict()["notes"]
    flows = optmap.solve(workload, machine=machine, method="random", counting="factorflow", evaluations=50)
    assert [note for note in flows.notes if note in (OWN_RULE, without)] == [without]
    plain = optmap.solve(workload, machine=grid_machine(), objective="energy")
    assert not {OWN_RULE, without} & {*plain.notes, *optmap.evaluate(plain).to_dict()["notes"]}


def test_a_network_says_where_its_wires_are_not_timeloops(tmp_path: Path) -> None:
    machine, path = tmp_path / "m.yaml", tmp_path / "net.yaml"
    machine.write_text(
        "{memory: DRAM, arithmetic: {energy_pj: 1}, outermost: {energy_pj: 100, fanout: {x: 2, hop_pj: 1}}, "
        "levels: [{name: L1, capacity: 64w, energy_pj: 1}]}",
        encoding="utf-8",
    )
    path.write_text("workloads:\n  a: {matmul: {i: 4, j: 2, k: 2}}\n  b: {matmul: {i: 2, j: 2, k: 2}}\n", "utf-8")
    assert optmap.network(path, machine=machine, jobs=1).to_dict()["notes"].count(OWN_RULE) == 1
    sums = optmap.network(path, machine=machine, jobs=1, counting="timeloop")
    assert OWN_RULE not in sums.to_dict()["notes"]


def test_files_with_wires_are_checked_and_old_ones_refused_with_the_reason() -> None:
    """Child by child a word for all nine children went further; the numbering of children may be said, and must fit."""
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 2, "j": 2, "k": 2})
    machine = grid_machine()
    wired = replace(machine.levels[1].store or Store(), hop_pj=Fraction(1, 4))
    machine = replace(machine, levels=(machine.levels[0], replace(machine.levels[1], store=wired)))
    document = json.loads(json.dumps(optmap.solve(workload, machine=machine, objective="edp").to_dict()))
    assert check_document(document).verified
    (mesh,) = [number for number, level in enumerate(document["mapping"]["levels"]) if level["spatial"]]
    axes = document["mapping"]["levels"][mesh]["spatial_axes"]
    said = copy.deepcopy(document)
    said["mapping"]["levels"][mesh]["spatial_order"] = {axis: sorted(axes[axis]) for axis in "xy"}
    assert check_document(signed(said)).verified
    said["mapping"]["levels"][mesh]["spatial_order"]["x"].append("i")
    with pytest.raises(RefusedError, match="spatial_order does not name what is split"):
        check_document(signed(said))
    old = copy.deepcopy(document)
    row = old["levels"][mesh]
    row["energy_pj"], row["energy_exact"] = row["energy_pj"] + 1, str(Fraction(row["energy_exact"]) + 1)
    with pytest.raises(RefusedError, match=r"one trunk per column; files from before that must be solved again"):
        check_document(signed(old))
