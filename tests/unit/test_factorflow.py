"""Counting `factorflow`: against a walk of what it says, exact counting where both must agree, and its fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from accelerator_machines import MESHED
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from spatial_strategies import COUNTINGS, dims_of, machine, spatial_cases, statement

import optmap
from optmap.base.errors import InputError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.fabric import StatedFabric as CheckedFabric
from optmap.checker.nests.flows import FlowCounts
from optmap.checker.nests.loops import Loops
from optmap.count.meshes.batch_axes import axis_sizes
from optmap.count.meshes.count import NEST_FACTORFLOW, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.rules import broken_rules
from optmap.count.meshes.words import tile_words
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.operands import Operand
from optmap.mappings.nest import MemoryNest, Nest, mapping_of
from optmap.questions.policy import Footprint
from optmap.search import Answer, Found, Method
from optmap.solvers import Stop
from optmap.workloads.amounts import Capacity

PLAIN = ("gemm", "batched", "mttkrp")
"""Workloads whose subscripts are single dims."""
APART = (*PLAIN, "conv1d", "depthwise", "conv2d", "outer window", "three")
"""Workloads without a dim in two subscripts of one tensor."""
Word = tuple[int, ...]


def counted(nest: Nest, fabric: Fabric, **options: Any) -> dict[tuple[int, int], tuple[int, int, int]]:
    """(reads, fills, updates) per memory and operand, by number."""
    cost = count_nest(nest, fabric, **options)
    names = [operand.name for operand in fabric.operands]
    return {
        (number, names.index(row.operand)): (row.reads, row.fills, row.updates)
        for number, memory in enumerate(cost.memories)
        for row in memory.accesses
    }


class Walk:
    """One operand's words between a keeper and the next keeper inside, step by step, as the model has them."""

    def __init__(self, fabric: Fabric, nest: Nest, place: int, inside: int, keeper: int) -> None:
        self.operand: Operand = fabric.operands[place]
        self.inside, self.keeper = inside, keeper
        self.together = [memory.together(self.operand) for memory in fabric.memories]
        self.loops: list[tuple[int, str, int, int, int]] = []  # memory, x y or t, dim, trips, stride; inner first
        covered = [1] * len(fabric.dims)
        for number, memory in enumerate(nest.memories):
            own = [("x", dim, n) for dim, n in enumerate(memory.x)] + [("y", dim, n) for dim, n in enumerate(memory.y)]
            for kind, dim, trips in [*own, *(("t", dim, n) for dim, n in reversed(memory.temporal))]:
                self.loops.append((number, kind, dim, trips, covered[dim]))
                covered[dim] *= trips

    def turns(self, loops: list[tuple[int, str, int, int, int]]) -> Iterator[list[int]]:
        """The index of every dim, over all turns of some loops, the last loop fastest."""
        for at in product(*(range(trips) for _, _, _, trips, _ in loops)):
            index = [0] * len(self.operand_dims())
            for turn, (_, _, dim, _, stride) in zip(at, loops, strict=True):
                index[dim] += turn * stride
            yield index

    def operand_dims(self) -> range:
        return range(1 + max(dim for _, _, dim, _, _ in self.loops))

    def words(self, index: list[int]) -> frozenset[Word]:
        """The tile of the receiver that starts at some index."""
        box = [loop for loop in self.loops if loop[0] <= self.inside]
        return frozenset(
            tuple(sum(c * (index[dim] + at[dim]) for dim, c in axis) for axis in self.operand.axes)
            for at in self.turns(box)
        )

    def messages(self) -> Iterator[tuple[Word, ...]]:
        """Words that enter one receiver while the keeper holds one tile, a message per loop over time that begins."""
        time = [loop for loop in reversed(self.loops) if self.inside < loop[0] <= self.keeper and loop[1] == "t"]
        bare = [loop for loop in time if loop[0] == 0]
        if any(loop[2] in self.operand.dims for loop in bare):
            for index in self.turns(time):
                yield tuple(self.words(index))
            return
        rest = [loop for loop in time if loop[0] > 0]
        while rest and rest[-1][2] not in self.operand.dims:
            rest.pop()
        slides = bool(rest) and self.slides(rest[-1])
        for start in self.turns(rest[:-1]):
            held: set[Word] = set()
            for step in self.turns(rest[-1:]):
                tile = self.words([a + b for a, b in zip(start, step, strict=True)])
                new = tile - held if slides else tile
                held |= new
                for _ in self.turns(bare):
                    yield tuple(new)

    def slides(self, loop: tuple[int, str, int, int, int]) -> bool:
        """Whether tiles of a loop overlap along a subscript of several dims that its memory's mesh does not split."""
        axis = next(dict(axis) for axis in self.operand.axes if loop[2] in dict(axis))
        split = [o for o in self.loops if o[0] == loop[0] and o[1] != "t" and o[2] in axis and o[3] > 1]
        return len(axis) > 1 and not split

    def ways(self, *, alike: bool) -> int:
        """Receivers per keeper: those that one message serves, or the messages."""
        found = 1
        for number, kind, dim, n, _ in self.loops:
            if self.inside < number <= self.keeper and kind != "t":
                found *= n if (dim not in self.operand.dims and self.together[number]) == alike else 1
        return found

    def residences(self) -> int:
        """How often a tile comes to a keeper, over all keepers and all loops outside."""
        return prod(trips for number, _, _, trips, _ in self.loops if number > self.keeper)


@settings(max_examples=cases(13, 40), deadline=None)
@given(spatial_cases(max_operations=150, kinds=APART))
def test_inputs_are_handed_down_as_a_walk_has_it(case: tuple[Fabric, Nest]) -> None:
    fabric, nest = case
    found = counted(nest, fabric, counting=NEST_FACTORFLOW)
    for place in range(1, len(fabric.operands)):
        keepers = [number for number, memory in enumerate(nest.memories) if memory.keeps[place]]
        filled = dict.fromkeys(keepers, 0)
        for inside, keeper in zip((-1, *keepers), keepers, strict=False):
            walk = Walk(fabric, nest, place, inside, keeper)
            reads = sum(map(len, walk.messages())) * walk.ways(alike=False) * walk.residences()
            assert found[keeper, place][0] == reads
            if inside >= 0:
                filled[inside] = reads * walk.ways(alike=True)
        assert all(found[keeper, place][1:] == (filled[keeper], 0) for keeper in keepers)


@settings(max_examples=cases(13, 40), deadline=None)
@given(spatial_cases(max_operations=150, kinds=APART[:-2]))
def test_outputs_are_read_but_for_their_first_updates(case: tuple[Fabric, Nest]) -> None:
    """Updates of a keeper are what a walk hands to it; a word's first one in each instance reads nothing."""
    fabric, nest = case
    free = counted(nest, fabric, counting=NEST_FACTORFLOW, charge_drains=False)
    charged = counted(nest, fabric, counting=NEST_FACTORFLOW)
    biased = counted(nest, fabric, counting=NEST_FACTORFLOW, charge_drains=False, bias=True)
    keepers = [number for number, memory in enumerate(nest.memories) if memory.keeps[0]]
    arriving = leaving = 0
    for inside, keeper in reversed(list(zip((-1, *keepers), keepers, strict=False))):
        walk = Walk(fabric, nest, 0, inside, keeper)
        updates = sum(map(len, walk.messages())) * walk.ways(alike=False) * walk.residences()
        words = prod(nest.tiles()[-1][dim] for dim in fabric.operands[0].dims)
        outside = [own for own in walk.loops if own[0] > keeper and own[1] != "t"]
        apart = prod(n for _, _, dim, n, _ in outside if dim in fabric.operands[0].dims)
        together = prod(n for _, _, dim, n, _ in outside if dim not in fabric.operands[0].dims)
        mesh = [own for own in walk.loops if inside < own[0] <= keeper and own[1] != "t"]
        one_by_one = prod(
            n for number, _, dim, n, _ in mesh if dim not in fabric.operands[0].dims and not walk.together[number]
        )
        first = words // apart * prod(n for _, _, _, n, _ in outside) * one_by_one
        assert together * apart == prod(n for _, _, _, n, _ in outside)
        assert free[keeper, 0] == (updates - first, arriving, updates)
        assert biased[keeper, 0][0] == updates
        assert charged[keeper, 0] == (updates - first + leaving, arriving, updates)
        leaving = (arriving + updates) * walk.ways(alike=True)
        arriving = (updates - first) * walk.ways(alike=True)


def agrees(fabric: Fabric, nest: Nest, operand: Operand, inside: int, keeper: int) -> bool:
    """Whether both models must hand down the same: reuse ends within the loops that factorflow looks at.

    Exact counting goes on to the innermost loop that moves the operand, wherever it is. So one of the loops in between
    must move it, or the next loop outside (if any); and past the innermost memory, whose loops count all in factorflow,
    units must find no reuse, which exact counting never gives them.
    """

    def loops(first: int, last: int) -> list[int]:
        """Dims of loops over time, outermost first."""
        return [dim for m in reversed(nest.memories[first : last + 1]) for dim, _ in m.temporal]

    between, outside = loops(inside + 1, keeper), loops(keeper + 1, len(nest.memories))
    if inside < 0:
        if keeper == 0 or any(dim in operand.dims for dim in loops(0, 0)):
            return True
        rest = loops(1, keeper)
        return not rest or rest[-1] in operand.dims
    if any(dim in operand.dims for dim in between):
        return True
    return not outside or outside[-1] in operand.dims


@settings(max_examples=cases(13, 40), deadline=None)
@given(spatial_cases(max_operations=300, kinds=PLAIN))
def test_without_halos_it_is_exact_counting_where_reuse_ends_at_one_memory(case: tuple[Fabric, Nest]) -> None:
    fabric, nest = case
    if not all(m.multicast and m.reduction for m in fabric.memories):
        fabric = replace(fabric, memories=tuple(replace(m, multicast=True, reduction=True) for m in fabric.memories))
    model, exact = counted(nest, fabric, counting=NEST_FACTORFLOW, charge_drains=False), counted(nest, fabric)
    for place, operand in enumerate(fabric.operands):
        keepers = [number for number, memory in enumerate(nest.memories) if memory.keeps[place]]
        for inside, keeper in zip((-1, *keepers), keepers, strict=False):
            if not agrees(fabric, nest, operand, inside, keeper):
                continue
            assert (model[keeper, place][0], model[keeper, place][2]) == (
                exact[keeper, place][0],
                exact[keeper, place][2],
            )
            if inside >= 0:
                assert model[inside, place][1] == exact[inside, place][1]


@settings(max_examples=cases(13, 40), deadline=None)
@given(spatial_cases(kinds=APART))
def test_the_checker_counts_the_same_by_its_own_road(case: tuple[Fabric, Nest]) -> None:
    fabric, nest = case
    cost = count_nest(nest, fabric, NEST_FACTORFLOW)
    loops = Loops(
        CheckedFabric(workload_document(fabric.workload), machine_document(fabric.machine)),
        mapping_document(mapping_of(nest, fabric))["levels"],
    )
    found = FlowCounts(loops)
    names = [operand.name for operand in fabric.operands]
    for memory, row, energy, cycles in zip(cost.memories, found.rows, found.energies, found.port_cycles, strict=True):
        mine = {
            names.index(a.operand): (a.reads, a.fills, a.updates, a.tile_words, a.multicast) for a in memory.accesses
        }
        assert row == mine
        assert (energy, cycles) == (memory.energy_pj, memory.cycles)
    assert (found.energy, found.cycles) == (cost.energy_pj, cost.cycles)


@pytest.mark.parametrize("kind", ["diagonal", "skewed", "turned", "twice"])
def test_a_dim_in_two_subscripts_is_refused(kind: str) -> None:
    fabric = fabric_of(statement(kind, dict.fromkeys(dims_of(kind), 2)), machine([(1, 1), (1, 1)]))
    alone, keeps = (1,) * len(fabric.dims), (True,) * len(fabric.operands)
    loops = tuple((dim, 2) for dim in range(len(fabric.dims)))
    nest = Nest(
        memories=(
            MemoryNest(x=alone, y=alone, temporal=(), keeps=keeps),
            MemoryNest(x=alone, y=alone, temporal=loops, keeps=keeps),
        )
    )
    with pytest.raises(InputError, match="in two of A; use --counting exact"):
        count_nest(nest, fabric, NEST_FACTORFLOW)


def strided(capacity: int) -> tuple[Fabric, Nest]:
    """Two positions and two taps of a window with stride 2 in a small memory: four values, three with a stride of 1."""
    target = machine([(1, 1), (1, 1)])
    level = replace(target.levels[0], capacity=Capacity(amount=capacity, unit="words"))
    workload = statement("conv1d", {"k": 1, "c": 1, "p": 4, "r": 2}, stride=2)
    fabric = fabric_of(workload, replace(target, levels=(level,)))
    place, alone = fabric.dims.index, (1,) * len(fabric.dims)
    inner = ((place("p"), 2), (place("r"), 2))
    keeps = (True,) * len(fabric.operands)
    return fabric, Nest(
        memories=(
            MemoryNest(x=alone, y=alone, temporal=inner, keeps=keeps),
            MemoryNest(x=alone, y=alone, temporal=((place("p"), 2),), keeps=keeps),
        )
    )


def test_capacities_take_strides_as_one() -> None:
    """Outputs 2, weights 2, inputs 4 in truth and 3 as the model has them."""
    fabric, nest = strided(7)
    assert broken_rules(nest, fabric, Footprint.UNIT_STRIDES) == ()
    assert broken_rules(nest, fabric) == ("L0: the tiles need 8 (O 2 + A 4 + B 2), it holds 7",)
    assert broken_rules(*reversed(strided(6)), Footprint.UNIT_STRIDES) != ()
    assert broken_rules(*reversed(strided(8))) == ()


@pytest.fixture
def handing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that hands in the mapping of `strided`."""
    route = replace(MESHED, solve=lambda _: Found(mapping=strided(7)[1]), counts=lambda _: True)
    monkeypatch.setitem(optmap.search.METHODS, "given", Method(name="given", description="-", routes=(route,)))


@pytest.mark.usefixtures("handing_in")
def test_a_mapping_that_only_this_counting_has_fit_is_named() -> None:
    fabric, _ = strided(7)
    found = optmap.solve(fabric.workload, machine=fabric.machine, method="given", counting="factorflow")
    assert isinstance(found, Answer)
    assert not found.fits
    assert found.floor is None
    assert "does not fit the machine but as factorflow takes capacities, with strides of 1: L0: the tiles" in str(found)
    document = found.to_dict()
    assert document["status"]["point"] == "none"
    assert document["broken"] == list(broken_rules(strided(7)[1], fabric))
    with pytest.raises(RefusedError, match="needs 8 and has 7"):
        check_document(document)


def test_the_best_that_only_this_counting_has_fit_is_no_optimum() -> None:
    """A window with stride 3 in 40 words: the best as factorflow counts takes 66, and the answer says infeasible."""
    level = replace(machine([(1, 1), (1, 1)]).levels[0], capacity=Capacity(amount=40, unit="words"))
    target = replace(machine([(1, 1), (1, 1)]), levels=(level,))
    workload = statement("conv1d", {"k": 4, "c": 4, "p": 16, "r": 4}, stride=3)
    found = optmap.solve(workload, machine=target, method="exhaustive", counting="factorflow")
    assert isinstance(found, Answer)
    assert not found.fits
    assert found.stop is Stop.INFEASIBLE
    assert optmap.solve(workload, machine=target, method="exhaustive").stop is Stop.OPTIMAL


@pytest.mark.usefixtures("handing_in")
def test_an_answer_that_fits_is_proved_by_the_checker() -> None:
    fabric, _ = strided(8)
    found = optmap.solve(fabric.workload, machine=fabric.machine, method="given", counting="factorflow")
    assert isinstance(found, Answer)
    assert found.fits
    assert any("counted as factorflow" in line for line in check_document(found.to_dict()).verified)


@pytest.mark.parametrize("method", ["exact", "allocation", "cosa"])
def test_methods_with_bounds_refuse_it(method: str) -> None:
    with pytest.raises(InputError, match=f"method {method} does not count as factorflow does"):
        optmap.solve(
            "C[i,j] = A[i,k]*B[k,j]",
            extents={"i": 4, "j": 4, "k": 4},
            machine="gemmini",
            method=method,
            counting="factorflow",
        )


def test_a_search_by_chance_counts_so() -> None:
    found = optmap.solve(
        "C[i,j] = A[i,k]*B[k,j]",
        extents={"i": 16, "j": 16, "k": 16},
        machine="eyeriss",
        method="random",
        counting="factorflow",
        evaluations=600,
    )
    assert isinstance(found, Answer)
    assert found.count == count_nest(found.nest, found.fabric, NEST_FACTORFLOW)
    assert found.fits
    assert found.gap is not None
    check_document(found.to_dict())


@pytest.mark.parametrize(
    ("layer", "machine", "published"),
    [("IV", "gemmini", 66.5), ("IV", "tpuv1", 36.5), ("V", "gemmini", 65.1), ("V", "tpuv1", 14.0)],
)
def test_quickflow_reaches_what_was_published_in_its_own_model(layer: str, machine: str, published: float) -> None:
    """EDP in J*cycles of two convolutions, by an implementation of others of QuickFlow with FactorFlow's model."""
    found = optmap.solve(f"quickflow/{layer}", machine=machine, method="quickflow", counting="factorflow")
    assert isinstance(found, Answer)
    assert found.fits
    assert float(found.count.edp) * 1e-12 == pytest.approx(published, abs=0.05)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=3), st.sampled_from(COUNTINGS))
def test_columns_of_searches_take_capacities_as_the_counting_does(
    terms: list[tuple[int, int]], counting: NestPolicy
) -> None:
    axis = tuple((dim, factor) for dim, (factor, _) in enumerate(terms))
    box = tuple(extent for _, extent in terms)
    found = axis_sizes([factor for factor, _ in terms], [np.array([float(extent)]) for extent in box], counting.room)
    assert found[0] == tile_words(Operand(name="A", axes=(axis,), output=False), box, counting.room)
