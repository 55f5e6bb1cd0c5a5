"""Answers to chains on machines with meshes: found, counted, bounded, written, read, verified, refused if changed."""

import copy
import json
from functools import cache
from pathlib import Path

import pytest
from cases import cases, some
from changed_fields import changed_fields
from signing import signed

import optmap
from optmap.base.errors import InputError, TreeError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.count.meshes.in_turn import count_in_turn
from optmap.files.library import machine as library_machine
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.parts import parts_of
from optmap.mappings.tree import MappingTree
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
EXTENTS = {"m": 16, "l": 12, "k": 8, "n": 6}
SMALL = {"m": 8, "l": 6, "k": 4, "n": 3}
RELU = "S[m,l] = 0.5*A[m,k]*B[k,l]; R[m,l] = relu(S[m,l]); C[m,n] = R[m,l]*D[l,n]"
THREE = "S[m,l] = A[m,k]*B[k,l]; T[m,n] = S[m,l]*D[l,n]; C[m,j] = T[m,n]*E[n,j]"
CONVOLUTIONS = "S[c,y] = In[c,y+r]*F[c,r]; Out[k,y] = S[c,y]*G[k,c]"
GATE = "G[m,f] = X[m,d]*W[d,f]; U[m,f] = X[m,d]*V[d,f]; A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*Z[f,n]"
CASES = (
    (PAIR, EXTENTS, "eyeriss_like", "energy"),
    (PAIR, EXTENTS, "sunstone-conventional", "edp"),
    (PAIR, EXTENTS, "gpu_like", "energy"),
    (RELU, EXTENTS, "simba", "cycles"),
    (THREE, {**EXTENTS, "j": 4}, "eyeriss_like", "energy"),
    (GATE, {"m": 8, "d": 6, "f": 12, "n": 4}, "eyeriss_like", "energy"),
    (CONVOLUTIONS, {"c": 8, "y": 12, "r": 3, "k": 4}, "simba_like", "port-cycles"),
)
GRID = Path(__file__).parent.parent / "goldens" / "inputs" / "grid.yaml"


@cache
def solved(text, extents, machine, objective, method="fused"):
    return optmap.solve(text, extents=dict(extents), machine=machine, objective=objective, method=method)


def answer_of(case, method="fused"):
    text, extents, machine, objective = case
    return solved(text, tuple(extents.items()), machine, objective, method)


def document_of(answer):
    return json.loads(json.dumps(answer.to_dict()))


@pytest.mark.parametrize("case", some([CASES[0], CASES[3]], [(case,) for case in CASES]), ids=str)
def test_an_answer_is_verified_and_no_worse_than_one_after_the_other(case):
    answer, apart = answer_of(case), answer_of(case, "apart")
    assert answer.cost <= apart.cost
    assert answer.bound.value <= answer.cost
    for each in (answer, apart):
        report = check_document(document_of(each))
        assert any("no mapping that does these statements in turn" in line for line in report.verified)
        assert any(line.startswith(each.machine.memory) for line in report.verified)


def test_what_is_handed_on_stays_on_chip_where_that_pays():
    answer = answer_of(CASES[0])
    memory = answer.machine.memory
    assert not [row for row in answer.count.accesses if (row.memory, row.tensor) == (memory, "S")]
    apart = answer_of(CASES[0], "apart")
    assert [row for row in apart.count.accesses if (row.memory, row.tensor) == (memory, "S")]
    assert answer.cost < apart.cost


def test_energy_delay_is_the_product_of_both_sums():
    count = answer_of((PAIR, SMALL, "sunstone-conventional", "edp")).count
    assert count.edp == sum(row.energy_pj for row in count.rows) * sum(row.cycles for row in count.rows)


@pytest.mark.parametrize("case", some([CASES[0], CASES[3]], [(case,) for case in CASES[:4]]), ids=str)
def test_a_file_is_evaluated_as_it_says(case, tmp_path):
    answer = answer_of(case)
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer.to_dict()))
    found = optmap.evaluate(path)
    assert found.disagreements == []
    assert found.count == answer.count
    document = document_of(answer)
    document["energy"]["value"] += 1
    path.write_text(json.dumps(document))
    assert any("energy" in text for text in optmap.evaluate(path).disagreements)


def test_a_statement_without_room_is_in_no_sum(tmp_path):
    document = document_of(answer_of(CASES[0]))
    document["machine"]["levels"][1]["capacity"]["amount"] = 100
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(document))
    found = optmap.evaluate(path)
    assert found.count.uncounted == ("S", "C")
    assert "of the chain unknown: S and C without room" in str(found)
    assert "edp" not in str(found).splitlines()[-1]
    assert found.to_dict()["uncounted"] == ["S", "C"]


UNREAD = (
    "name",
    "count",
    "clock_hz",
    "method",
    "stop",
    "space",
    "formulation",
    "tolerance",
    "proof",
    "evaluations",
    "seconds",
    "seed",
    "optmap",
    "python",
    "bytes",
    "port_cycles",
)
"""Last keys of what is listed as not verified, or may be less and is still a floor."""
STILL_TRUE = ("word_bits", "exact", "energy_exact", "tile")
"""Sizes of entries that hold any element, decimals with one more 0, tiles of another mapping that costs as much."""


@pytest.mark.parametrize("case", some(1, [(CASES[3],), (CASES[0],)]), ids=str)
def test_what_is_changed_is_refused(case):
    document = document_of(answer_of(case))
    said, kept = check_document(document).verified, []
    for path, _, changed in changed_fields(document, cases(40, 150)):
        try:
            report = check_document(signed(changed))
        except RefusedError:
            continue
        if path[0] != "machine" or report.verified == said:  # of another machine the report says so
            kept.append(path)
    claims = [path for path in kept if path[0] not in ("versions", "notes") and path[-1] not in (*UNREAD, *STILL_TRUE)]
    assert claims == []


def changed_tree(document, change):
    found = copy.deepcopy(document)
    change(found["mapping"]["tree"])
    return signed(found)


def test_another_mapping_is_refused():
    document = document_of(answer_of(CASES[0]))

    def without_home(tree):
        tree[:] = [node for node in tree if node.get("tensors") != ["S"]]

    def turned(tree):
        tree[-1]["sequence"].reverse()

    def done_twice(tree):
        tree[-1]["sequence"].append(tree[-1]["sequence"][0])

    for change, reason in ((without_home, "home|keep"), (turned, "incomplete"), (done_twice, "two leaves")):
        with pytest.raises(RefusedError, match=reason):
            check_document(changed_tree(document, change))


def tree_of(nodes, text=PAIR, extents=EXTENTS, machine="eyeriss_like"):
    chain = parse_workload(text, extents, semantics=Semantics.ASSIGN)
    return MappingTree(workload=chain, machine=library_machine(machine), nodes=nodes)


def leaf(name, *tensors):
    return (
        Keep(level="GlobalBuffer", tensors=tensors),
        Keep(level="RegisterFile", tensors=()),
        Compute(statement=name),
    )


BODY = Sequence(branches=(leaf("S", "A"), leaf("C", "D")))


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ((BODY,), "lost: S has no home"),
        ((Loop(dim="l", tile=5), Keep(level="GlobalBuffer", tensors=("S",)), BODY), "of which the last is shorter"),
        (
            (Loop(dim="l", tile=4, first=3), Keep(level="GlobalBuffer", tensors=("S",)), BODY),
            "of which the first is shorter",
        ),
        ((Loop(dim="k", tile=4), Keep(level="GlobalBuffer", tensors=("S",)), BODY), "incomplete"),
        ((Loop(dim="n", tile=3), Keep(level="GlobalBuffer", tensors=("S",)), BODY), "incomplete: the loop over n"),
        ((Keep(level="RegisterFile", tensors=("S",)), BODY), "several instances"),
        ((Keep(level="GlobalBuffer", tensors=("S",), of={"m": range(4)}), BODY), "a pinned Keep"),
    ],
)
def test_trees_that_mean_nothing_or_are_not_counted_are_refused(nodes, reason):
    with pytest.raises((TreeError, InputError), match=reason):
        count_in_turn(tree_of(nodes))


def test_a_tree_is_read_as_nests():
    tree = tree_of((Loop(dim="m", tile=4), Keep(level="GlobalBuffer", tensors=("S",)), BODY))
    first, second = parts_of(tree).parts
    assert (first.times, second.times) == (4, 4)
    assert dict(first.workload.sizes)["m"] == 4
    assert [entry.keeps for entry in first.mapping.levels] == [(), ("S", "A"), ("A", "B")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("S[m,l] = A[m,k]*B[k,l]; R[m,n] max= S[m,l] + D[l,n]; C[m,n] = R[m,n]*E[m,n]", "R .* is neither a sum"),
    ],
)
def test_what_is_not_counted_is_refused_by_name(text, reason):
    with pytest.raises(InputError, match=reason):
        optmap.solve(text, extents=EXTENTS, machine="eyeriss")
    with pytest.raises(InputError, match=reason):
        optmap.bound(text, extents=EXTENTS, machine="eyeriss", objective="energy")


def test_a_machine_without_a_level_for_both_says_so():
    answer = optmap.solve(PAIR, extents=EXTENTS, machine="gemmini", objective="energy")
    assert any("nothing is kept on chip" in note and "S" in note for note in answer.notes)
    check_document(document_of(answer))


def test_wires_are_counted_and_verified():
    answer = optmap.solve(PAIR, extents=SMALL, machine=str(GRID), objective="energy")
    check_document(document_of(answer))


def test_methods_are_compared():
    found = optmap.compare(PAIR, extents=SMALL, machine="eyeriss_like", objective="energy")
    assert "fused" in str(found)
    assert "apart" in str(found)


@pytest.mark.parametrize("objective", ["energy", "cycles", "edp", "port-cycles"])
def test_bounds_are_what_answers_have_and_are_verified(objective):
    report = optmap.bound(PAIR, extents=EXTENTS, machine="eyeriss_like", objective=objective)
    answer = answer_of(CASES[0])
    assert report.merit.floor == answer.floor
    check = json.loads(json.dumps(report.certificate))
    assert any(objective in line for line in check_document(check).verified)
    for path, _, changed in changed_fields(check, 150):
        if path[0] in ("bound", "floor") and path[-1] not in ("exact", "port_cycles"):
            changed["digest"] = digest({key: value for key, value in changed.items() if key != "digest"})
            with pytest.raises(RefusedError):
                check_document(changed)


def test_a_bound_of_one_statement_is_the_floor_of_its_answers():
    text, extents = "C[m,n] = A[m,k]*B[k,n]", {"m": 8, "n": 6, "k": 12}
    report = optmap.bound(text, extents=extents, machine="simba", objective="energy")
    answer = optmap.solve(text, extents=extents, machine="simba", objective="energy")
    assert report.merit.value == answer.floor.energy_pj
    with pytest.raises(InputError, match="cores and caches belong to a bound in time"):
        optmap.bound(text, extents=extents, machine="simba", objective="energy", cores=2)


def test_what_reaches_the_floor_is_proved():
    extents = {"m": 32, "l": 32, "k": 32, "n": 32}
    answer = optmap.solve(PAIR, extents=extents, machine="sunstone-conventional", objective="cycles")
    assert (answer.proved, answer.gap) == (True, 0)
    assert answer.cost == answer.bound.value
    assert any("as good as any" in line for line in check_document(document_of(answer)).verified)


def test_an_answer_that_costs_nothing_is_proved_and_verified(tmp_path):
    document = (
        "levels: [{name: Buffer, capacity: 60w, energy_pj: 0}]\noutermost: {energy_pj: 0}\narithmetic: {energy_pj: 0}"
    )
    (tmp_path / "free.yaml").write_text(document)
    answer = optmap.solve(PAIR, extents=dict.fromkeys("mlkn", 1), machine=tmp_path / "free.yaml", method="apart")
    assert (answer.proved, answer.cost) == (True, 0)
    assert check_document(document_of(answer)).verified
