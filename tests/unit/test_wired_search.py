"""Searches of machines whose wires have a price: bounds, proofs and splits among axes against all mappings."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from math import prod

import pytest
from accelerator_machines import asked, convolution, grid_machine, valid_nests, wired_machine
from cases import some
from spatial_brute_force import best_of_all, tiny_fabric
from spatial_strategies import WALKED

import optmap
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError
from optmap.count.meshes import hops
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.rules import broken_rules
from optmap.machines.accelerator import KeepRule, Mesh, MeshAxis, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import Machine
from optmap.mappings.nest import Nest
from optmap.questions.options import Merit, TileRule
from optmap.search import METHODS
from optmap.search.accelerators import arrange
from optmap.search.accelerators.arrange import arranged
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

solve = METHODS["exact"].routes[0].solve


def wired(fabric: Fabric, generator: random.Random) -> Fabric:
    """The same with wires that cost something at most levels."""

    def priced(store: Store | None) -> Store:
        hop, router = Fraction(generator.randint(0, 3), 2), Fraction(generator.randint(0, 2), 3)
        return replace(store or Store(), hop_pj=hop, router_pj=router)

    machine = fabric.machine
    assert machine.outermost is not None
    levels = tuple(replace(level, store=priced(level.store)) for level in machine.levels)
    return fabric_of(fabric.workload, replace(machine, levels=levels, outermost=priced(machine.outermost)))


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_bounds_and_proofs_hold_with_wires(seed: int) -> None:
    """Against every mapping, wires priced: none is below the bound, and none below what is proved the best."""
    generator = random.Random(seed)
    fabric, counting = wired(tiny_fabric(seed, most=400), generator), WALKED[seed % 2]
    best = best_of_all(fabric, counting)
    for merit in (Merit.ENERGY, Merit.EDP, Merit.CYCLES):
        question = asked(fabric, merit, counting=counting, tiles=TileRule.DIVISORS)
        if not best:
            with pytest.raises(InfeasibleError):
                solve(question)
            continue
        found, least = solve(question), best[merit].value
        cost = count_nest(found.nest, fabric, counting)
        assert not cost.broken
        assert Fraction(found.bound) <= least * (1 + Fraction(1, 10**9))
        assert cost.merit(merit) >= least
        if found.proved:
            assert float(cost.merit(merit)) == pytest.approx(float(least), rel=1e-9)


@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_no_other_split_among_the_axes_has_shorter_wires(counting: NestPolicy) -> None:
    machine, fewer = wired_machine(), 0
    registers, buffer = machine.levels
    mesh = Mesh(x=MeshAxis(size=4), y=MeshAxis(size=6))
    machine = replace(machine, levels=(registers, replace(buffer, store=replace(buffer.store or Store(), mesh=mesh))))
    fabric = fabric_of(convolution(), machine)
    for nest in islice(valid_nests(fabric, 7), 60):
        energies = [
            count_nest(other, fabric, counting).energy_pj
            for other in resplit(nest)
            if not broken_rules(other, fabric, counting.room)
        ]
        found = arranged(nest, fabric, counting, NO_LIMIT)
        assert not broken_rules(found, fabric, counting.room)
        assert count_nest(found, fabric, counting).energy_pj == min(energies)
        fewer += min(energies) < count_nest(nest, fabric, counting).energy_pj
    assert fewer > 5


def resplit(nest: Nest) -> list[Nest]:
    """Every split of the ways of all meshes among x and y."""
    choices = []
    for own in nest.memories:
        ways = [x * y for x, y in zip(own.x, own.y, strict=True)]
        parts = product(*([d for d in range(1, n + 1) if n % d == 0] for n in ways))
        choices.append([replace(own, x=x, y=tuple(n // d for n, d in zip(ways, x, strict=True))) for x in parts])
    return [Nest(memories=memories) for memories in product(*choices)]


def broad_machine(side: int) -> Machine:
    """Registers under a large mesh whose wires have a price."""
    machine = grid_machine(free=False, ports=False)
    registers, buffer = machine.levels
    mesh = Mesh(x=MeshAxis(size=side), y=MeshAxis(size=side))
    store = replace(
        buffer.store or Store(),
        mesh=mesh,
        keeps=(("output", KeepRule.KEPT), ("inputs", KeepRule.KEPT)),
        hop_pj=Fraction(1, 4),
        router_pj=Fraction(1, 8),
    )
    return replace(
        machine, levels=(registers, replace(buffer, store=store, capacity=Capacity(amount=1 << 26, unit="words")))
    )


def test_a_mesh_of_a_million_children_is_searched_and_priced_without_following_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    codes = hops._codes
    monkeypatch.setattr(hops, "_codes", lambda digits: looked.append(prod(n for _, n in digits)) or codes(digits))
    hops.served.cache_clear()
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 1024, "j": 1024, "k": 256})
    found = optmap.solve(workload, machine=broad_machine(1024), method="exact", tiles="divisors")
    assert found.nest.instances(0) == 1 << 20
    assert looked
    assert max(looked) <= 1024


def test_splits_are_tried_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limit a mesh is left as it is; the mapping has been priced once."""
    priced: list[int] = []
    price = arrange.wire_energy
    monkeypatch.setattr(arrange, "wire_energy", lambda layout, number: priced.append(number) or price(layout, number))
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 8, "j": 8, "k": 4})
    fabric = fabric_of(workload, broad_machine(16))
    plain, kept = (1, 1, 1), (True, True, True)
    inner, outer = (optmap.mappings.nest.MemoryNest(x=plain, y=plain, temporal=(), keeps=kept) for _ in range(2))
    mesh = replace(inner, x=(8, 1, 2), y=(1, 8, 2))
    nest = Nest(memories=(inner, mesh, outer))
    assert arranged(nest, fabric, NEST_EXACT, Clock(deadline=0)) == nest
    assert priced == [1]
    arranged(nest, fabric, NEST_EXACT, NO_LIMIT)
    assert len(priced) > 10
