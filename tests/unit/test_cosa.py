"""CoSA as published: its program against every assignment of tiny problems; mappings that do not fit are told."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log2

import pytest

from optmap import solve as solve_workload
from optmap.answers.over_capacity.network_sums import MappedLayer, MappedNetwork, NetworkSums, Spent
from optmap.answers.side_by_side.comparison import Comparison
from optmap.base.errors import InfeasibleError
from optmap.checker import RefusedError, check_document
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.rules import Overflow, overflows
from optmap.files.library import list_machines, machine
from optmap.files.network import Network
from optmap.machines.accelerator import FactorRule, KeepRule, Mesh, MeshAxis, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Level, Machine
from optmap.machines.relations import Relation
from optmap.programs.cosa import COMPUTE, INNER, PER_MEMORY, REPEATED, UTILISATION, Cosa
from optmap.questions.options import Merit
from optmap.search.allocation.cosa import solve_cosa
from optmap.solvers import Stop, solve
from optmap.symbolic.numbers import prime_factors
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics, Workload


def seen(layer: Workload, name: str) -> Fabric:
    return fabric_of(layer.with_semantics(Semantics.ASSIGN), machine(name))


def small_machine(words: int, ways: int) -> Machine:
    """Registers of one word, a buffer with a mesh."""
    buffer = Store(keeps=(("inputs", KeepRule.KEPT), ("output", KeepRule.KEPT)), mesh=Mesh(x=MeshAxis(size=ways)))
    levels = (Level(name="Buffer", capacity=Capacity(amount=words, unit="words"), store=buffer),)
    return Machine(name="small", levels=levels, outermost=Store())


def by_hand(fabric: Fabric, words: int, ways: int) -> float:
    """CoSA's objective of a matrix product on `small_machine`, over every assignment of its prime factors."""
    factors = [(dim, prime) for dim, extent in enumerate(fabric.extents) for prime in prime_factors(extent)]
    ranks = [f"rank{n}" for n in range(len(factors))]
    best = float("inf")
    for places in product(("x", *ranks, "out"), repeat=len(factors)):
        timed = [place for place in places if place.startswith("rank")]
        spatial = [prime for (_, prime), place in zip(factors, places, strict=True) if place == "x"]
        if len(set(timed)) < len(timed) or sum(map(log2, spatial)) > log2(ways + 0.5):
            continue
        cost, fits = 0.0, True
        logs = dict.fromkeys(("x", "out"), 0.0)
        for (_, prime), place in zip(factors, places, strict=True):
            logs[place] = logs.get(place, 0.0) + log2(prime)
        cost += COMPUTE * sum(value for place, value in logs.items() if place != "x")
        for operand in fabric.operands:
            own = [dim in operand.dims for dim, _ in factors]
            tile = sum(
                log2(prime)
                for (_, prime), place, mine in zip(factors, places, own, strict=True)
                if mine and place != "out"
            )
            fits &= tile <= log2(words / 3) + 1e-9
            cost += REPEATED * sum(
                log2(p) for (_, p), place, mine in zip(factors, places, own, strict=True) if mine and place == "x"
            )
            met = False
            for rank in ranks:
                at = [n for n, place in enumerate(places) if place == rank]
                met |= any(own[n] for n in at)
                cost += sum(log2(factors[n][1]) for n in at) if met else 0.0
            cost += logs["out"]
        if fits:
            best = min(best, cost)
    return best


@pytest.mark.parametrize(("words", "ways", "extents"), [(18, 2, (4, 2, 3)), (48, 4, (2, 4, 2)), (9, 3, (3, 3, 2))])
def test_the_program_is_that_of_the_paper(words: int, ways: int, extents: tuple[int, int, int]) -> None:
    i, j, k = extents
    fabric = fabric_of(matmul(i=i, j=j, k=k).with_semantics(Semantics.ASSIGN), small_machine(words, ways))
    found = solve(Cosa(fabric=fabric).program())
    assert found.objective == pytest.approx(by_hand(fabric, words, ways), abs=1e-6)


def test_weights_are_those_of_the_public_code() -> None:
    assert (COMPUTE, UTILISATION, INNER, PER_MEMORY, REPEATED) == (10, -0.1, 0.8, 0.04, 0.99)


def test_a_pointwise_layer_fits() -> None:
    layer = conv2d(n=1, k=16, c=32, h=7, w=7, r=1, s=1)
    found = solve_cosa(seen(layer, "simba-cosa"))
    assert not found.overflows
    assert not count_nest(found.nest, seen(layer, "simba-cosa"), NEST_EXACT).broken


@pytest.mark.parametrize("name", [name for name in list_machines() if machine(name).stores])
def test_every_accelerator_gets_a_mapping_with_all_factors(name: str) -> None:
    for layer in (matmul(i=8, j=4, k=8), conv2d(n=1, k=4, c=2, h=4, w=3, r=3, s=1)):
        fabric = seen(layer, name)
        found = solve_cosa(fabric)
        assert found.nest.tiles()[-1] == fabric.extents
        broken = count_nest(found.nest, fabric, NEST_EXACT).broken
        assert len(broken) == len(found.overflows), broken


def test_a_three_by_three_layer_overflows_the_input_buffer_of_its_own_machine() -> None:
    result = solve_workload("resnet18/R12", machine="simba-cosa", method="cosa")
    (overflow,) = overflows(result.nest, result.fabric)
    assert overflow == Overflow(
        memory="InputBuffer", tiles=(("In", 64 * 9 * 9),), capacity=4096
    )  # 64 * 7 * 7 without halo
    (reason,) = result.count.broken
    assert "InputBuffer" in reason
    assert result.stop is Stop.INFEASIBLE
    assert not result.fits
    document = result.to_dict()
    assert document["status"]["point"] == "none"
    assert document["broken"] == [reason]
    with pytest.raises(RefusedError, match="InputBuffer"):
        check_document(json.loads(json.dumps(document)))
    assert "does not fit" in str(result)
    assert any("1.27 times" in note for note in result.notes)
    smaller = solve_workload(conv2d(n=1, k=8, c=4, h=4, w=4, r=1, s=1), machine="simba-cosa", method="cosa")
    beside = Comparison(
        workload=result.workload,
        machine=result.machine,
        asked=result.question,
        methods=("cosa", "other"),
        results={"cosa": replace(result, count=replace(smaller.count, broken=(reason,))), "other": smaller},
        left_out={},
    )
    assert beside.best == "other"
    assert "does not fit" in str(beside)


def test_overflows_say_by_how_much() -> None:
    each = Overflow(memory="M", tiles=(("A", 5), ("B", 10)), capacity=10)
    assert each.text == "M is asked to hold 15 of 10: 1.50 times"
    fabric = fabric_of(matmul(i=4, j=4, k=4).with_semantics(Semantics.ASSIGN), small_machine(12, 4))
    found = solve_cosa(fabric)
    assert overflows(found.nest, fabric) == found.overflows


def test_rules_that_leave_nothing_are_an_error() -> None:
    never = FactorRule(dim="batch", relation=Relation.EQUAL, value=5)
    level = Level(name="Buffer", capacity=Capacity(amount=9, unit="words"), store=Store(factors=(never,)))
    fabric = fabric_of(
        matmul(i=4, j=4, k=4).with_semantics(Semantics.ASSIGN),
        Machine(name="odd", levels=(level,), outermost=Store()),
    )
    with pytest.raises(InfeasibleError, match="no point"):
        solve_cosa(fabric)


def test_a_network_counts_the_mappings_that_do_not_fit() -> None:
    layers = tuple(
        MappedLayer(
            workload=conv2d(n=1, k=2, c=2, h=2, w=2, r=1, s=1, name=name),
            spent=Spent(energy_pj=Fraction(10), cycles=4, port_cycles=3),
            bound=Fraction(0),
            proved=False,
            floor=Spent(cycles=2, port_cycles=1),
            seconds=0.1,
            broken=broken,
        )
        for name, broken in (("one", ()), ("two", ("Buffer: the tiles need 9, it holds 4",)))
    )
    view = MappedNetwork(
        network=Network(name="both", layers=tuple(layer.workload for layer in layers)),
        machine=machine("gemmini"),
        method="cosa",
        objective="edp",
        counting="exact",
        layers=layers,
    )
    sums = NetworkSums(view=view, limited=False)
    assert "1 of 2 mappings do not fit gemmini" in str(sums)
    assert "does not fit" in str(sums)
    assert sums.to_dict()["unfit"] == {"two": ["Buffer: the tiles need 9, it holds 4"]}
    objectives = {Merit.ENERGY: (20, 0), Merit.CYCLES: (8, 4), Merit.EDP: (160, 0), Merit.PORT_CYCLES: (6, 2)}
    for merit, found in objectives.items():
        asked = replace(view, objective=merit.value)
        assert (asked.cost, asked.floor.merit(merit)) == found
