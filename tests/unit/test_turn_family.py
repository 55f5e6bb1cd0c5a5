"""The best of a family of mappings in turn: nothing that is drawn from it is better, and its files are verified."""

import json
import random
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
import schemas
from cases import cases, some
from signing import signed
from turn_cases import CHAINS, chain_of, dims_named, random_nest, store, toy_machine

import optmap
from optmap.base.errors import InfeasibleError, TreeError
from optmap.checker import RefusedError, check_document
from optmap.checker.chains.chain_document import read_chain
from optmap.checker.turns.stated_turns import StatedTurns
from optmap.checker.turns.turn_counts import turn_totals
from optmap.count.meshes.in_turn import count_in_turn
from optmap.files.library import machine as library_machine
from optmap.files.machines import machine_document
from optmap.files.trees import tree_document
from optmap.files.workloads import workload_document
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import mapping_of
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.parts import branch_of
from optmap.mappings.tree import MappingTree
from optmap.questions.objective import MERITS
from optmap.questions.options import Merit
from optmap.search import METHODS, Question
from optmap.search.chains.turn_members import family_of
from optmap.search.chains.turn_problems import problems_of
from optmap.workloads.amounts import Capacity
from optmap.workloads.inner_box import inner_box
from optmap.workloads.parser import parse_workload
from optmap.workloads.single import has_nest, product_alone
from optmap.workloads.workload import Semantics

OBJECTIVES = ("energy", "cycles", "port-cycles", "edp")
PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
ROWS = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]"
EXTENTS = {"m": 8, "l": 6, "k": 4, "n": 4}


def asked(name, seed, objective="energy"):
    rng = random.Random(seed)
    chain = chain_of(name, {d: rng.choice((1, 2, 2, 4)) for d in dims_named(CHAINS[name][0])})
    machine = toy_machine(rng, room=rng.choice((8, 16, 24, 10**6)))
    return Question(workload=chain, machine=machine, objective=MERITS[objective], time_limit=60.0)


def drawn(question, member, rng):
    """A mapping of a member, its nests drawn; None where something finds no room."""
    chain, machine = question.workload, question.machine
    stored, branches = chain.stored_as, []
    nodes, inner = [], {}
    for group, block in member.segments:
        inner = dict(group.inner)
        homes = inner | {t: next(iter(inner.values())) for t, _ in block.stays} if inner else {}
        for problem in problems_of(chain, machine, group, block):
            alone = problem.alone
            given = {a.name for a in alone.tensors if stored[a.name] in homes}
            plain = fabric_of(alone, machine)
            ruled = problem.machine(machine)
            if ruled is None:
                return None
            places = {n for n, a in enumerate(alone.tensors) if a.name in given}
            nest = random_nest(rng, plain, places)
            branches.append(branch_of(mapping_of(nest, plain), alone, ruled, tuple(given)))
            tails = [each.name for each in chain.statements if stored[each.name] == stored[problem.name]]
            branches += [(Compute(statement=t),) for t in tails if not has_nest(chain, t)]
        for depth in range(len(block.loops) + 1):
            if depth:
                nodes.append(Loop(dim=block.loops[depth - 1][0], tile=block.loops[depth - 1][1]))
            nodes += [Keep(level=homes[t], tensors=(t,)) for t, around in block.stays if around == depth]
    handed = stored["S"]
    nodes.append(Keep(level=inner.get(handed, machine.memory), tensors=(handed,)))
    return MappingTree(workload=chain, machine=machine, nodes=(*nodes, Sequence(branches=tuple(branches))))


@pytest.mark.parametrize("name", some(["window"], ["product", "rows", "shared", "window"]))
@pytest.mark.parametrize("seed", range(cases(1, 20)))
def test_nothing_that_is_drawn_is_better(name, seed):
    rng = random.Random(seed)
    question = asked(name, seed, rng.choice(OBJECTIVES))
    found = METHODS["fused"].run(question)
    count = count_in_turn(found.mapping)
    assert not count.broken
    cost = count.merit(question.merit)
    assert found.integer_bound <= cost
    assert not found.proved or found.integer_bound == cost
    fabrics = {
        each.name: fabric_of(product_alone(question.workload, each.name), question.machine)
        for each in question.workload.statements
        if has_nest(question.workload, each.name)
    }
    members = list(family_of(question.workload, fabrics, together=True))
    assert len(members) == found.found.family.members
    for _ in range(cases(25, 1000)):
        tree = drawn(question, rng.choice(members), rng)
        if tree is None:
            continue
        other = count_in_turn(tree)
        assert other.broken or other.merit(question.merit) >= Fraction(found.integer_bound) * (1 - Fraction(1, 10**9))


@cache
def document(text, objective="energy", machine="eyeriss_like", **options):
    """Tests that change one take a copy."""
    answer = optmap.solve(text, extents=EXTENTS, machine=machine, objective=objective, **options)
    found = json.loads(json.dumps(answer.to_dict()))
    schemas.hold(found)
    return answer, found


@pytest.mark.parametrize(
    ("text", "objective"),
    some([(PAIR, "energy"), (ROWS, "energy"), (ROWS, "cycles")], product([PAIR, ROWS], ["energy", "cycles"])),
)
def test_the_best_of_a_pair_is_proved_and_its_file_verified(text, objective):
    answer, doc = document(text, objective)
    assert answer.proved
    assert answer.integer_bound == answer.cost
    report = check_document(doc)
    assert any("no mapping of the family" in line for line in report.verified) or answer.gap == 0


@pytest.mark.parametrize("function", ["relu(C[m,n])", "softmax(C[m,n], n)"])
@pytest.mark.parametrize("method", ["apart", "fused"])
def test_a_function_behind_the_last_product_is_solved_and_verified(function, method):
    chain = parse_workload(f"{PAIR}; P[m,n] = {function}", dict(zip("mlkn", (4, 4, 2, 2), strict=True)))
    answer = optmap.solve(chain, machine="eyeriss_like", objective="energy", method=method, time_limit=30)
    assert answer.proved
    report = check_document(json.loads(json.dumps(answer.to_dict())))
    assert any("no mapping of the family" in line for line in report.verified)


def test_the_space_of_an_answer_does_not_have_functions_of_rows_of_outputs_on_chip(tmp_path):
    (tmp_path / "one.yaml").write_text(
        "levels: [{name: Buffer, capacity: 60w, energy_pj: 1}]\noutermost: {energy_pj: 9}"
    )
    single, pair = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l)", f"{PAIR}; P[m,n] = softmax(C[m,n], n)"
    for text, said in (
        (single, "one after the other, what they hand on in the outermost"),
        (pair, "rows of an output"),
    ):
        chain = parse_workload(text, {d: 1 for d in "mlkn" if d in text})
        answer = optmap.solve(chain, machine=tmp_path / "one.yaml", objective="energy")
        assert answer.proved
        assert said in answer.found.space


def test_a_word_that_is_left_of_bytes_is_room():
    size = dict.fromkeys("BSCD", 2) | {"A": 1}
    chain = parse_workload(PAIR, {"m": 2, "l": 2, "k": 1, "n": 1}, semantics=Semantics.ASSIGN, bytes=size)
    free = ("inputs", KeepRule.FREE), ("output", KeepRule.FREE)
    levels = (Level(name="Buf", capacity=Capacity(amount=5, unit="bytes"), store=store(keeps=free)),)
    machine = Machine(name="toy", memory="Memory", levels=levels, outermost=store(prices=(100, 90, 80)))
    around = (Loop(dim="m", tile=1), Keep(level="Buf", tensors=("A",)), Loop(dim="l", tile=1))
    leaves = [(Keep(level="Buf", tensors=kept), Compute(statement=name)) for name, kept in (("S", ()), ("C", ("D",)))]
    nodes = (*around, Keep(level="Buf", tensors=("S",)), Sequence(branches=tuple(leaves)))
    tree = MappingTree(workload=chain, machine=machine, nodes=nodes)
    count = count_in_turn(tree)
    assert not count.broken
    turns = StatedTurns(read_chain(workload_document(chain)), machine_document(machine), tree_document(tree)["tree"])
    for nest in turns.nests:
        nest.loops.check(hulls=False)
    assert turn_totals(turns, timeloop=False).energy == count.energy_pj


def test_what_is_changed_of_a_family_is_refused():
    _, doc = document(PAIR)
    family = doc["family"]
    assert family["nests"]

    def less(family):
        for nest in family["nests"]:
            half = Fraction(nest["least"]["exact"]) / 2
            nest["least"] = {"value": float(half), "unit": "pJ", "exact": str(half)}

    def more(family):
        for nest in family["nests"]:
            twice = Fraction(nest["least"]["exact"]) * 2
            nest["least"] = {"value": float(twice), "unit": "pJ", "exact": str(twice)}

    def fewer(family):
        family["nests"] = family["nests"][1:]

    def one_more(family):
        family["members"] += 1

    def alone(family):
        family["together"] = False

    def again(family):
        family["nests"].append(family["nests"][0])

    larger = json.loads(json.dumps(doc))
    larger["status"]["space"] = "all mappings"
    assert any(
        "not verified is that it is 'all mappings'" in line for line in check_document(signed(larger)).not_verified
    )

    for change in (less, more, one_more, alone, again):
        changed = json.loads(json.dumps(doc))
        change(changed["family"])
        with pytest.raises(RefusedError):
            check_document(signed(changed))


@pytest.mark.longer
def test_a_time_limit_holds_and_nothing_is_said_to_be_proved():
    big = {"m": 512, "l": 512, "k": 64, "n": 64}
    answer = optmap.solve(PAIR, extents=big, machine="eyeriss", objective="energy", time_limit=4)
    assert answer.seconds < 12
    assert not answer.proved
    check_document(json.loads(json.dumps(answer.to_dict())))


@pytest.mark.parametrize("machine", some(["eyeriss", "gemmini"], ["eyeriss", "simba", "gemmini"]))
def test_functions_of_rows_are_solved_bounded_and_verified(machine):
    answer, doc = document(ROWS, machine=machine, time_limit=20)
    count = answer.count
    rows = next(row for row in count.statements if row.name == "P")
    assert (rows.operations, rows.energy_pj > 0) == (0, True)
    check_document(doc)
    report = optmap.bound(ROWS, extents=EXTENTS, machine=machine, objective="energy")
    assert report.merit.floor == answer.floor


def test_a_loop_along_rows_around_their_function_is_refused():
    def leaf(name, *tensors):
        keeps = [Keep(level="GlobalBuffer", tensors=tensors), Keep(level="RegisterFile", tensors=())]
        return (*keeps, Compute(statement=name))

    chain = parse_workload(ROWS, EXTENTS, semantics=Semantics.ASSIGN)
    branches = (leaf("S", "A"), (Compute(statement="P"),), leaf("C", "D"))
    for dim, refused in (("m", False), ("l", True)):
        around = (Loop(dim=dim, tile=2), Keep(level="GlobalBuffer", tensors=("S",)))
        machine = library_machine("eyeriss_like")
        tree = MappingTree(workload=chain, machine=machine, nodes=(*around, Sequence(branches=branches)))
        document = read_chain(workload_document(chain)), machine_document(machine), tree_document(tree)["tree"]
        if refused:
            with pytest.raises(TreeError, match="incomplete: the loop over l"):
                count_in_turn(tree)
            with pytest.raises(RefusedError, match="incomplete: a loop over l"):
                StatedTurns(*document)
        else:
            count = count_in_turn(tree)
            totals = turn_totals(StatedTurns(*document), timeloop=False)
            assert (totals.energy, totals.cycles) == (count.energy_pj, count.cycles)


def test_a_tensor_read_twice_is_mapped_and_verified():
    text = "S[m,l] = A[m,k]*A[l,k]; C[m,n] = S[m,l]*D[l,n]"
    _, doc = document(text, time_limit=20)
    check_document(doc)


@pytest.mark.parametrize("machine", ["eyeriss", "gemmini"])
def test_a_tensor_read_twice_is_refused_where_levels_must_keep_it_for_one_read(machine):
    """By its role in the first read it must not be where it has to be by that in the second one."""
    text = "S[m,l] = A[m,k]*A[l,k]; C[m,n] = S[m,l]*D[l,n]"
    with pytest.raises(InfeasibleError, match="keep A for both reads at a level, or for none"):
        optmap.solve(text, extents=dict.fromkeys("mlkn", 2), machine=machine, objective="energy")


CAUSAL = "S[m,l] = A[m,k]*B[k,l] if l <= m; P[m,l] = softmax(S[m,l], l) if l <= m; C[m,n] = P[m,l]*D[l,n] if l <= m"


def test_conditions_are_masks_and_their_floor_is_of_a_box():
    answer, doc = document(CAUSAL)
    assert answer.count.operations == 2 * 8 * 6 * 4
    report = check_document(doc)
    assert any("every iteration is done" in line for line in report.verified)
    whole, _ = document(ROWS)
    assert answer.cost == whole.cost
    assert answer.floor.merit(Merit.ENERGY) < whole.floor.merit(Merit.ENERGY)
    for statement in doc["floor"]["statements"]:
        assert statement["box"]["l"][1] <= statement["box"]["m"][0] + 1
        changed = json.loads(json.dumps(doc))
        mine = next(each for each in changed["floor"]["statements"] if each["name"] == statement["name"])
        mine["box"]["l"] = [0, 6]
        with pytest.raises(RefusedError):
            check_document(signed(changed))


CONDITIONS = {
    "l <= m": lambda row, column: column <= row,
    "m + l < 5": lambda row, column: row + column < 5,
    "2*l >= m": lambda row, column: 2 * column >= row,
    "l == m": lambda row, column: column == row,
    "l <= m and m <= l + 2": lambda row, column: column <= row <= column + 2,
    "l < 3": lambda _, column: column < 3,
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("sizes", [(8, 6), (3, 9), (1, 4)])
def test_all_points_of_an_inner_box_meet_the_conditions(condition, sizes):
    extents = dict(zip("ml", sizes, strict=True)) | {"k": 2}
    chain = parse_workload(f"S[m,l] = A[m,k]*B[k,l] if {condition}", extents, semantics=Semantics.ASSIGN)
    box = inner_box(chain.statements[0], extents)
    assert all(len(values) and 0 <= values[0] <= values[-1] < extents[dim] for dim, values in box.items())
    assert all(CONDITIONS[condition](*point) for point in product(box["m"], box["l"]))


def test_the_inner_box_of_a_causal_mask_is_a_quarter():
    chain = parse_workload("S[m,l] = A[m,k]*B[k,l] if l <= m", {"m": 64, "l": 64, "k": 2}, semantics=Semantics.ASSIGN)
    box = inner_box(chain.statements[0], chain.extents)
    assert len(box["m"]) * len(box["l"]) == 32 * 33
