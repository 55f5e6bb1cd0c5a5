"""The best of a family of mappings in turn against all of its mappings, each counted."""

import json
import random
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import prod

import pytest
import schemas
from cases import cases, some
from signing import signed
from turn_cases import CHAINS, FREE, chain_of, dims_named, store

import optmap
from optmap.checker import RefusedError, check_document
from optmap.checker.chains.chain_document import read_chain
from optmap.checker.turns.stated_turns import StatedTurns
from optmap.checker.turns.turn_counts import runs_of
from optmap.checker.turns.turn_family import StatedFamily
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.in_turn import count_in_turn
from optmap.files import library
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.machines.accelerator import Ports
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest, mapping_of
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.parts import branch_of
from optmap.mappings.tree import MappingTree
from optmap.questions.objective import MERITS
from optmap.questions.options import Merit
from optmap.search import Question
from optmap.search.chains import turn_whole
from optmap.search.chains.turn_members import family_of
from optmap.search.chains.turn_problems import problems_of
from optmap.search.chains.turn_whole import WholeNests
from optmap.search.exact.frame import NOTHING
from optmap.workloads.amounts import Capacity
from optmap.workloads.single import has_nest, product_alone


def small_machine(rng, hop=0):
    """A buffer that feeds two units, and a memory; words cost the same each in half of them."""
    ports = Ports(read=rng.choice((None, 1, 2)), write=rng.choice((None, 1)))
    memory = Ports(read=rng.choice((1, 2)), write=1)
    return Machine(
        name="toy",
        memory="Memory",
        levels=(
            Level(
                name="Buf",
                capacity=Capacity(amount=rng.choice((5, 8, 12, 100)), unit="words"),
                store=replace(
                    store(mesh=(2, 1), keeps=tuple(FREE.items()), prices=(rng.choice((1, 20)), 2, 3), ports=ports),
                    hop_pj=hop,
                ),
            ),
        ),
        outermost=store(prices=(rng.choice((8, 50)), 9, 8), ports=memory, block=rng.choice((1, 4))),
    )


def every_nest(fabric, given):
    """All nests of a statement that a tree can say, in perfect factors."""
    splits = []
    for size in fabric.extents:
        parts = [(a, x, size // a // x) for a in range(1, size + 1) for x in (1, 2) if size % (a * x) == 0]
        splits.append(parts)
    names = [operand.name.partition("#")[0] for operand in fabric.operands]
    free = sorted({n for place, n in enumerate(names) if place not in given})
    sets = [dict(zip(free, each, strict=True)) for each in product((False, True), repeat=len(free))]
    ones = (1,) * len(fabric.dims)
    for parts in product(*splits):
        x = tuple(ways for _, ways, _ in parts)
        if prod(x) > 2:
            continue
        inner = [(d, n) for d, (n, _, _) in enumerate(parts) if n > 1]
        outer = [(d, n) for d, (_, _, n) in enumerate(parts) if n > 1]
        for loops in product(permutations(inner), permutations(outer)):
            for kept in sets:
                keeps = tuple(place in given or kept[name] for place, name in enumerate(names))
                far = tuple(place not in given for place in range(len(names)))
                yield Nest(
                    memories=(
                        MemoryNest(x=x, y=ones, temporal=tuple(loops[0]), keeps=keeps),
                        MemoryNest(x=ones, y=ones, temporal=tuple(loops[1]), keeps=far),
                    )
                )


def undominated(rows):
    """Of (energy, cycles, ports, anything) those of which no other one has less of each."""
    best = []
    for row in sorted(rows, key=lambda row: row[:3]):
        if not any(all(a <= b for a, b in zip(other[:3], row[:3], strict=True)) for other in best):
            best.append(row)
    return best


class WholeFamily:
    """Every member with every nest, those left out that cannot be part of a best one."""

    def __init__(self, chain, machine):
        self.chain, self.machine = chain, machine
        fabrics = {
            each.name: fabric_of(product_alone(chain, each.name), machine)
            for each in chain.statements
            if has_nest(chain, each.name)
        }
        self.members = list(family_of(chain, fabrics, together=True))
        self.fronts = {}

    def costs(self):
        """(energy, cycles, cycles of ports) of mappings."""
        for member in self.members:
            fronts = []
            for group, block in member.segments:
                fronts += [self.front(each) for each in problems_of(self.chain, self.machine, group, block)]
            for nests in product(*fronts):
                count = count_in_turn(self.tree(member, [branch for *_, branch in nests]))
                assert not count.broken
                yield count.energy_pj, count.cycles, count.port_cycles

    def front(self, problem):
        key = problem.key, problem.times, problem.begun
        if key not in self.fronts:
            plain, ruled = fabric_of(problem.alone, self.machine), problem.machine(self.machine)
            rows = []
            if ruled is not None:
                fabric, given = fabric_of(problem.alone, ruled), dict(problem.homes)
                places = {n for n, a in enumerate(problem.alone.tensors) if a.name in given}
                for nest in every_nest(plain, places):
                    first = count_nest(nest, fabric)
                    if first.broken:
                        continue
                    again = count_nest(nest, fabric, bias=True)
                    runs = (problem.begun, first), (problem.times - problem.begun, again)
                    ends = [
                        sum(n * each.merit(merit) for n, each in runs)
                        for merit in (Merit.ENERGY, Merit.CYCLES, Merit.PORT_CYCLES)
                    ]
                    rows.append((*ends, branch_of(mapping_of(nest, plain), problem.alone, ruled, tuple(given))))
            self.fronts[key] = undominated(rows)
        return self.fronts[key]

    def tree(self, member, branches):
        stored, nodes, inner = self.chain.stored_as, [], {}
        for group, block in member.segments:
            inner = dict(group.inner)
            for depth in range(len(block.loops) + 1):
                if depth:
                    nodes.append(Loop(dim=block.loops[depth - 1][0], tile=block.loops[depth - 1][1]))
                nodes += [
                    Keep(level=next(iter(inner.values())), tensors=(t,)) for t, around in block.stays if around == depth
                ]
        tails = [(Compute(statement=e.name),) for e in self.chain.statements if not has_nest(self.chain, e.name)]
        nodes.append(Keep(level=inner.get(stored["S"], self.machine.memory), tensors=(stored["S"],)))
        branches = (branches[0], *tails, *branches[1:])
        return MappingTree(workload=self.chain, machine=self.machine, nodes=(*nodes, Sequence(branches=branches)))


def asked(name, seed, hop=0):
    """A chain of a few points, and a machine."""
    rng = random.Random(seed)
    extents = {d: rng.choice((1, 2, 2, 4)) for d in dims_named(CHAINS[name][0])}
    while prod(extents.values()) > cases(4, 8):
        extents[rng.choice([d for d, n in extents.items() if n > 1])] //= 2
    return chain_of(name, extents), small_machine(rng, hop)


@pytest.mark.parametrize("name", some(["square"], ["product", "square", "rows"]))
@pytest.mark.parametrize("seed", range(cases(1, 25)))
def test_no_mapping_of_the_whole_family_is_better(name, seed):
    chain, machine = asked(name, seed)
    costs = undominated((*cost, None) for cost in WholeFamily(chain, machine).costs())
    for objective in ("edp", "energy", "cycles", "port-cycles")[: cases(1, 4)]:
        answer = optmap.solve(chain, machine=machine, objective=objective, time_limit=60)
        assert answer.proved
        assert answer.cost == min(MERITS[objective].mesh_merit.of(*cost[:3]) for cost in costs)
        check_document(json.loads(json.dumps(answer.to_dict())))


@pytest.mark.parametrize("seed", some(1, range(12)))
def test_bounds_of_a_family_hold_where_wires_have_prices(seed):
    chain, machine = asked("product", seed, hop=2)
    costs = undominated((*cost, None) for cost in WholeFamily(chain, machine).costs())
    for objective in ("edp", "energy"):
        answer = optmap.solve(chain, machine=machine, objective=objective, time_limit=60)
        least = min(MERITS[objective].mesh_merit.of(*cost[:3]) for cost in costs)
        assert 0 < answer.integer_bound <= least <= answer.cost
        assert answer.proved == (answer.integer_bound == answer.cost)
        assert answer.proved or any("wires have prices" in note for note in answer.notes)
        check_document(json.loads(json.dumps(answer.to_dict())))


def raised(doc, place, part):
    """A document whose family has another least of a nest."""
    changed = json.loads(json.dumps(doc))
    nest = changed["family"]["nests"][place]
    least = Fraction(nest["least"]["exact"]) * part
    nest["least"] |= {"value": float(least), "exact": str(least)}
    return signed(changed)


def refusal(doc):
    """Why a document is refused; empty for one that is not."""
    try:
        check_document(doc)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("seed", range(cases(1, 8)))
def test_leasts_of_nests_are_what_is_needed_and_not_above_what_the_mappings_own_cost(objective, seed):
    chain, machine = asked("product", seed)
    answer = optmap.solve(chain, machine=machine, objective=objective, time_limit=60)
    assert answer.proved
    doc = json.loads(json.dumps(answer.to_dict()))
    schemas.hold(doc)
    assert refusal(doc) == ""
    every = range(len(doc.get("family", {"nests": ()})["nests"]))
    below = [refusal(raised(doc, place, Fraction(1, 2))) for place in every]
    above = [refusal(raised(doc, place, Fraction(101, 100))) for place in every]
    assert all("may cost" in text for text in below if text)
    assert all("the mapping's own costs" in text for text in above if text)
    assert not every or (any(below) and any(above))
    for price in (None, "-1", "1000000"):
        changed = json.loads(json.dumps(doc))
        for place in every:
            changed["family"]["nests"][place].pop("cycle_pj", None)
            if price is not None:
                changed["family"]["nests"][place]["cycle_pj"] = price
        assert not every or (refusal(signed(changed)) == "") == (objective != "edp" and price is None)


def test_the_least_of_a_nest_beside_less_that_stays_is_not_above_what_the_mappings_own_costs():
    chain, machine = asked("product", 0)
    nests = [[{"keep": "Buf", "tensors": []}, {"compute": name}] for name in ("S", "C")]
    nodes = [{"keep": "Buf", "tensors": ["S", "B"]}, {"sequence": nests}]
    described = {"machine": machine_document(machine), "workload": workload_document(chain), "objective": "energy"}
    doc = json.loads(json.dumps(described))
    doc["machine"]["levels"][0]["capacity"]["amount"] = 1000
    turns = StatedTurns(read_chain(doc["workload"]), doc["machine"], nodes)
    cost = runs_of(turns.nests[1], timeloop=False)[0][1].energy
    sizes = {d: chain.extents[d] for d in "mln"}
    kept = [{"level": "Buf", "tensor": "S", "elements": sizes["m"] * sizes["l"]}]
    for least, refused in ((cost, False), (cost + 1, True)):
        said = {"value": float(least), "unit": "pJ", "exact": str(least)}
        nest = {"statement": "C", "extents": sizes, "homes": {"S": "Buf"}, "kept": kept, "begun": "1", "least": said}
        family = StatedFamily({**doc, "family": {"together": True, "members": 1, "nests": [nest]}}, turns.chain)
        with pytest.raises(RefusedError, match="the mapping's own costs") if refused else nullcontext():
            family.check_own(turns, turns.nests[1], timeloop=False)


def test_the_least_of_a_nest_holds_beside_more_that_stays():
    chain, machine = chain_of("product", dict.fromkeys("mlkn", 4)), small_machine(random.Random(0))
    doc = json.loads(json.dumps({"machine": machine_document(machine), "objective": "energy"}))
    doc["machine"]["levels"][0]["capacity"]["amount"] = 1000
    stated = read_chain(json.loads(json.dumps(workload_document(chain))))
    kept = [{"level": "Buf", "tensor": "S", "elements": chain.extents["m"] // 2 * chain.extents["l"]}]
    sizes = {d: chain.extents[d] // (2 if d == "m" else 1) for d in "mln"}
    least = {"value": 1e9, "unit": "pJ", "exact": str(10**9)}
    nest = {"statement": "C", "extents": sizes, "homes": {"S": "Buf"}, "kept": kept, "begun": "1", "least": least}
    found = []
    for nests in ([], [nest]):
        family = StatedFamily({**doc, "family": {"together": True, "members": 1, "nests": nests}}, stated)
        found.append([least for least in family.leasts() if least is not None])
    raised = [after for before, after in zip(*found, strict=True) if before != after]
    fabrics = {each.name: fabric_of(product_alone(chain, each.name), machine) for each in chain.statements}
    cut = [m.segments[0][1] for m in family_of(chain, fabrics, together=True)]
    beside = [each.stays for each in cut if each.loops == (("m", sizes["m"]),) and "D" not in dict(each.stays)]
    assert len(raised) == len(beside) > 1
    assert all(both >= 10**9 > floor for both, floor in raised)


@pytest.mark.parametrize("name", ["eyeriss", "simba", "gemmini"])
def test_a_machine_as_a_resized_workload_sees_it(name):
    chain, machine = library.workload("chains/mlp"), library.machine(name)
    for each in ("H", "Y"):
        whole = product_alone(chain, each)
        less = whole.with_extents(m=16, f=48)
        assert fabric_of(whole, machine).resized(less) == fabric_of(less, machine)


PLACES = {Merit.ENERGY: 0, Merit.CYCLES: 1, Merit.PORT_CYCLES: 2}


@pytest.mark.parametrize("name", ["product", "square"])
@pytest.mark.parametrize("seed", range(cases(2, 25)))
def test_all_runs_of_a_nest_cost_no_less_than_the_whole(name, seed, monkeypatch):
    monkeypatch.setattr(turn_whole, "WAITING", 0)
    chain, machine = asked(name, seed)
    family = WholeFamily(chain, machine)
    searches = {
        merit: WholeNests(Question(workload=chain, machine=machine, objective=MERITS["energy"], time_limit=60), merit)
        for merit in PLACES
    }
    said, loops = 0, False
    for member in family.members:
        for group, block in member.segments:
            for problem in problems_of(chain, machine, group, block):
                rows, loops = family.front(problem), loops or problem.times > 1
                for merit, search in searches.items():
                    limit = Fraction(min((row[PLACES[merit]] for row in rows), default=10**6), problem.times) + 1
                    least = search.least(problem, NOTHING, limit) * problem.times
                    said += least > 0
                    assert all(row[PLACES[merit]] >= least * (1 - 1e-9) for row in rows)
    assert said or not loops


@pytest.mark.parametrize("seed", range(cases(1, 12)))
def test_what_is_proved_with_wholes_is_the_best_of_all(seed, monkeypatch):
    monkeypatch.setattr(turn_whole, "WAITING", 0)
    chain, machine = asked("product", seed)
    costs = undominated((*cost, None) for cost in WholeFamily(chain, machine).costs())
    for objective in ("energy", "cycles", "port-cycles", "edp")[: cases(2, 4)]:
        answer = optmap.solve(chain, machine=machine, objective=objective, time_limit=60)
        assert answer.proved
        assert answer.cost == min(MERITS[objective].mesh_merit.of(*cost[:3]) for cost in costs)
        check_document(json.loads(json.dumps(answer.to_dict())))


def test_a_statement_with_windows_and_one_that_is_done_at_once_have_no_whole(monkeypatch):
    monkeypatch.setattr(turn_whole, "WAITING", 0)
    for name in ("window", "product"):
        chain, machine = chain_of(name, dict.fromkeys(dims_named(CHAINS[name][0]), 2)), small_machine(random.Random(0))
        question = Question(workload=chain, machine=machine, objective=MERITS["energy"], time_limit=60)
        search = WholeNests(question, Merit.ENERGY)
        for member in WholeFamily(chain, machine).members:
            for problem in (p for each in member.segments for p in problems_of(chain, machine, *each)):
                slides = any(len(axis.terms) > 1 for access in problem.alone.tensors for axis in access.axes)
                none = slides or problem.times == 1
                assert not (none and search.least(problem, NOTHING, Fraction(10**9)))
