"""Answers on accelerators: what is asked, what is refused, what is claimed, and how far it is from any schedule."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from accelerator_machines import MESHED, asked, convolution, grid_machine, small_fabric, valid_nests
from spatial_strategies import WALKED

import optmap
from optmap.answers.documents.recount import Evaluation, evaluate_solution
from optmap.answers.documents.solution import SavedSolution, solution_from
from optmap.answers.proofs.floor import even, floor_of, inside_words, with_floor
from optmap.base.errors import CheckError, ContradictionError, InfeasibleError, InputError
from optmap.base.texts import exact_text
from optmap.checker import check_document
from optmap.count.meshes.count import NEST_EXACT, NEST_TIMELOOP, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.files.fields import Fields
from optmap.machines.accelerator import KeepRule, Prices, Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.machine import two_level
from optmap.questions.options import Merit, TileRule
from optmap.search import METHODS, Answer, Found, Method, Question, assemble, refuse
from optmap.search.accelerators.paddings import larger, paddings
from optmap.search.exact import ExactAnswer, search_nest
from optmap.solvers import Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics


@pytest.fixture
def sampling(registry: dict[str, Method]) -> Method:
    """A method that samples, registered for one test."""
    registry["sampled"] = Method(name="sampled", description="random mappings", routes=(MESHED,))
    return registry["sampled"]


def answer(**options: object) -> Answer:
    found = optmap.solve(convolution(), machine=grid_machine(), method="sampled", **options)  # type: ignore[arg-type]
    assert isinstance(found, Answer)
    return found


@pytest.mark.usefixtures("sampling")
@pytest.mark.parametrize("merit", list(Merit))
def test_an_answer_is_counted_again_and_stands_above_its_floor(merit: Merit) -> None:
    found = answer(objective=merit.value)
    assert found.merit is merit
    assert found.cost == count_nest(found.nest, found.fabric).merit(merit)
    assert found.floor is not None
    assert found.floor.merit(merit) <= found.cost
    assert found.gap is None or found.gap >= 0


@pytest.mark.usefixtures("sampling")
def test_timeloops_counting_is_the_cost_and_the_exact_count_has_the_gap() -> None:
    found = answer(counting="timeloop")
    assert found.cost == count_nest(found.nest, found.fabric, NEST_TIMELOOP).edp
    assert found.exact_count == count_nest(found.nest, found.fabric, NEST_EXACT)
    assert found.floor is not None
    assert found.gap == found.exact_count.edp / found.floor.merit(Merit.EDP) - 1


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("ports", [True, False])
def test_no_valid_mapping_is_below_the_floor(free: bool, ports: bool) -> None:
    """The floor is one of every schedule, so of each of the random ones."""
    for extents in ({}, {"k": 16, "c": 1, "r": 1}, {"p": 1, "q": 1, "s": 1, "c": 24}):
        fabric = small_fabric(grid_machine(free=free, ports=ports), **extents)
        floor, notes = floor_of(fabric)
        assert notes == ()
        assert len(floor.certificates) == 2
        least = dict.fromkeys(Merit, Fraction(10**30))
        for nest in valid_nests(fabric, 3, 200):
            count = count_nest(nest, fabric)
            least = {merit: min(value, count.merit(merit)) for merit, value in least.items()}
        for merit, value in least.items():
            assert floor.merit(merit) <= value


def test_the_floor_counts_what_is_inside_together_with_what_is_under_way() -> None:
    fabric = small_fabric()
    # Registers: 12 instances of 24 words; inputs and results may pass them, a word per unit.
    assert inside_words(fabric, 0) == 12 * 24 + 2 * 12
    assert inside_words(fabric, 1) == 12 * 24 + 160  # the buffer must keep both, the registers the weights
    assert even(fabric.workload).word_bits == 8


def test_a_mapping_below_the_floor_is_a_contradiction(sampling: Method) -> None:
    found = answer()
    cheap = replace(found, exact_count=replace(found.exact_count, energy_pj=Fraction(1)))
    with pytest.raises(ContradictionError, match="below the floor"):
        with_floor(cheap)


def test_what_a_search_claims_is_held_against_the_recount(sampling: Method) -> None:
    fabric = small_fabric()
    nest = next(valid_nests(fabric, 1))
    cost = count_nest(nest, fabric).edp
    lies = {
        "the search claims": Found(mapping=nest, claimed=cost * 2),
        "below the proved bound": Found(mapping=nest, bound=cost + 1),
    }
    for reason, lie in lies.items():
        METHODS["sampled"] = replace(sampling, routes=(replace(MESHED, solve=lambda _, lie=lie: lie),))  # type: ignore[misc]
        with pytest.raises(CheckError, match=reason):
            answer()


def test_a_mapping_that_breaks_the_machine_is_no_answer(sampling: Method) -> None:
    fabric = small_fabric()
    nest = next(valid_nests(fabric, 1))
    outer = nest.memories[-1]
    wide = replace(outer, keeps=(True, False, True))
    broken = replace(nest, memories=(*nest.memories[:-1], wide))
    assert count_nest(broken, fabric).broken
    METHODS["sampled"] = replace(sampling, routes=(replace(MESHED, solve=lambda _: Found(mapping=broken)),))
    with pytest.raises(CheckError, match="not valid"):
        answer()


def test_a_mapping_may_be_handed_in_as_tiles_where_there_are_meshes(sampling: Method) -> None:
    fabric = small_fabric()
    nest = next(valid_nests(fabric, 1))
    METHODS["sampled"] = replace(sampling, routes=(replace(MESHED, solve=lambda _: Found(mapping=nest)),))
    as_nest = answer()
    tiles = as_nest.mapping
    METHODS["sampled"] = replace(sampling, routes=(replace(MESHED, solve=lambda _: Found(mapping=tiles)),))
    assert answer().count == as_nest.count
    with pytest.raises(CheckError, match="handed in as a nest; on this machine it is tiles"):
        assemble(
            Question(workload=fabric.workload, machine=two_level(Capacity(amount=4096))), Found(mapping=nest), seconds=0
        )


@pytest.mark.usefixtures("sampling")
def test_a_statement_that_accumulates_is_solved_as_one_that_assigns_and_says_so() -> None:
    accumulating = convolution().with_semantics(Semantics.ACCUMULATE)
    found = optmap.solve(accumulating, machine=grid_machine(), method="sampled")
    assert isinstance(found, Answer)
    assert found.workload.semantics is Semantics.ASSIGN
    assert any("outputs start empty" in note for note in found.notes)
    assert not any("outputs start empty" in note for note in answer().notes)
    with pytest.raises(InputError, match="use --semantics assign"):
        optmap.solve(accumulating, machine=grid_machine(), method="sampled", semantics="accumulate")


@pytest.mark.usefixtures("sampling")
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"cores": 2}, "leave out --cores"),
        ({"capacity": "safe"}, "one tile has to fit"),
        ({"integers": "floor"}, "whole factors"),
        ({"solver": "ipopt"}, "no relaxation"),
        ({"innermost": "Buffer"}, "arithmetic"),
        ({"objective": "bottleneck"}, "edp"),
        ({"counting": "factorflow"}, "does not count as factorflow does; use --counting exact or timeloop"),
        ({"counting": "timelop"}, "timeloop"),
        ({"constraints": ["Buffer.k=2"]}, "leave out --constraint"),
        ({"method": "mopt"}, "without fanouts and prices"),
        ({"confirm": True}, "leave out --confirm"),
    ],
)
def test_what_means_nothing_on_an_accelerator_is_refused_with_a_reason(option: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        optmap.solve(**{"workload": convolution(), "machine": grid_machine(), "method": "sampled", **option})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"counting": "exact"}, "for accelerators"),
        ({"tiles": "padded"}, "use --tiles any"),
        ({"objective": "edp"}, "objective"),
        ({"method": "exact"}, "it is for accelerators"),
        ({"confirm": True}, "leave it out"),
    ],
)
def test_what_only_accelerators_have_is_refused_elsewhere(option: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        optmap.solve("resnet18/R12", memory="8192w", **option)  # type: ignore[arg-type]


def test_a_route_refuses_what_it_does_not_know() -> None:
    route = replace(MESHED, counts=lambda policy: policy.extrapolates, tiles=(TileRule.DIVISORS,))
    mine = Method(name="mine", description="-", routes=(route,))
    question = asked(small_fabric(), tiles=route.rule(TileRule.ANY))
    assert question.tiles is TileRule.DIVISORS
    with pytest.raises(InputError, match="use --counting timeloop"):
        refuse(question, mine)
    with pytest.raises(InputError, match="use --tiles divisors"):
        refuse(replace(question, counting=NEST_TIMELOOP, tiles=TileRule.PADDED), mine)
    assert refuse(replace(question, counting=NEST_TIMELOOP), mine) is route


@pytest.mark.usefixtures("sampling")
def test_methods_are_compared_side_by_side() -> None:
    found = optmap.compare(convolution(), machine=grid_machine(), methods=["sampled", "mopt"], objective="energy")
    assert found.best == "sampled"
    assert "without fanouts" in found.left_out["mopt"]
    text = str(found)
    assert "1.0000x" in text
    assert "left out: mopt" in text


@pytest.mark.usefixtures("sampling")
def test_a_comparison_of_methods_is_read_back(tmp_path: Path) -> None:
    added = convolution().with_semantics("accumulate")
    found = optmap.compare(added, machine=grid_machine(), methods=["sampled", "mopt"], objective="energy")
    document = found.to_dict()
    assert document["notes"] == list(found.notes) != []
    again = optmap.load(found.save(tmp_path / "compared.json"))
    assert again.to_dict() == json.loads(json.dumps(document))
    assert str(again) == str(found)
    with pytest.raises(InputError, match=r"compared.json is a saved comparison, and a solution is needed"):
        optmap.evaluate(tmp_path / "compared.json")
    document["rows"][0]["broken"] = ["too large"]
    assert "does not fit" in str(optmap.load(written(tmp_path, document)))
    del document["rows"][0]["cycles"]
    with pytest.raises(InputError, match=r"other.json: rows\[0\]: cycles is missing"):
        optmap.load(written(tmp_path, document))


def written(folder: Path, document: dict[str, object]) -> Path:
    file = folder / "other.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


@pytest.mark.usefixtures("sampling")
def test_the_table_says_what_is_held_read_and_proved() -> None:
    found = answer()
    text = str(found)
    for part in ("Memories, inner first", "Accesses of all instances", "(Spatial-", "above the floor", "pJ*cycles"):
        assert part in text
    assert f"{found.count.cycles:,} (decided by" in text
    assert found.loop_nest() in text + "\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 8), "0.125"),
        (Fraction(-5, 4), "-1.25"),
        (Fraction(12), "12"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0), "0"),
        (Fraction(7, 10**20), "0.00000000000000000007"),
    ],
)
def test_fractions_are_written_without_loss(value: Fraction, text: str) -> None:
    assert exact_text(value) == text
    assert Fraction(text) == value


@pytest.mark.usefixtures("sampling")
def test_a_saved_answer_is_read_and_recounted_in_both_countings(tmp_path: Path) -> None:
    found = answer(objective="energy")
    file = found.save(tmp_path / "solution.json")
    read = optmap.load(file)
    assert isinstance(read, SavedSolution)
    # The mapping does not say in which order the innermost memory runs its own loops: no count depends on it.
    assert count_nest(read.nest, read.fabric) == found.count
    assert read.mapping == found.mapping
    again = optmap.evaluate(file)
    assert isinstance(again, Evaluation)
    assert again.disagreements == []
    assert again.count == found.count
    other = optmap.evaluate(file, counting="timeloop")
    assert other.count == count_nest(found.nest, found.fabric, NEST_TIMELOOP)
    assert other.disagreements == []
    assert "every count of the file holds" in str(other)
    assert {"levels", "energy", "cycles", "edp", "cost"} <= set(again.to_dict())
    with pytest.raises(InputError, match="no simulation"):
        optmap.evaluate(file, simulate=True)


@pytest.mark.usefixtures("sampling")
def test_of_a_file_without_counts_none_is_said_to_hold(tmp_path: Path) -> None:
    document = answer(objective="energy").to_dict()
    bare = {key: document[key] for key in ("schema", "workload", "machine", "mapping", "bound")}
    text = str(optmap.evaluate(written(tmp_path, bare)))
    assert "the file says no counts to compare" in text
    assert "holds" not in text
    wrong = {**bare, "operations": document["operations"] + 1}
    assert "\n1 claim of the file does not hold" in str(optmap.evaluate(written(tmp_path, wrong)))


@pytest.mark.usefixtures("sampling")
def test_the_document_keeps_the_contract() -> None:
    document = answer().to_dict()
    for entry in document["mapping"]["levels"]:
        assert {"keeps", "spatial", "spatial_axes", "tile", "permutation"} <= set(entry)
    for entry in document["levels"]:
        assert {"instances", "accesses", "energy_pj", "cycles", "utilisation"} <= set(entry)
        for row in entry["accesses"].values():
            assert {"reads", "fills", "updates"} <= set(row)
    assert {"bound", "proved", "evaluations", "seconds"} <= set(document["search"])
    assert Fraction(document["energy"]["exact"]) * document["cycles"]["value"] == Fraction(document["edp"]["exact"])
    assert document["cost"]["value"] == document["edp"]["value"]
    assert document["gap"] == pytest.approx(document["exact"]["value"] / document["bound"]["value"] - 1)


@pytest.mark.usefixtures("sampling")
@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("energy", "value"), 1, "energy.value says 1"),
        (("levels", 1, "accesses", "I", "reads"), 1, r"levels\[1\].accesses.I.reads says 1"),
        (("levels", 0, "instances"), True, "instances says True"),
        (("cost", "exact"), "3", "cost.exact says 3"),
        (("boundaries", 0, "stores_words"), 0, "stores_words says 0"),
    ],
)
def test_claims_that_differ_from_the_recount_are_named(
    place: tuple[str | int, ...], value: object, reason: str
) -> None:
    document = answer().to_dict()
    inside = document
    for key in place[:-1]:
        inside = inside[key]  # type: ignore[index]
    inside[place[-1]] = value  # type: ignore[index]
    wrong = evaluate_solution(solution_from(Fields.of(document, "solution"))).disagreements
    assert any(re.search(reason, sentence) for sentence in wrong)


def test_paddings_are_smooth_and_only_of_ragged_dims() -> None:
    assert [larger(n) for n in (55, 509, 64, 1, 13)] == [(56, 60), (512, 525), (), (), (14, 15)]
    assert list(paddings({"i": 64, "j": 12})) == []
    assert list(paddings({"i": 55, "j": 12})) == [{"i": 56}, {"i": 60}]
    found = list(paddings({"i": 11, "j": 13}))
    assert found == [{"i": 12, "j": 14}, {"i": 12}, {"j": 14}, {"i": 14, "j": 15}, {"i": 14}, {"j": 15}]


def test_a_ragged_dim_is_padded_where_that_is_better_and_the_answer_says_so(tmp_path: Path) -> None:
    workload = parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 23, "j": 29, "k": 6})
    factors = optmap.solve(workload, machine=grid_machine(), tiles="divisors")
    found = optmap.solve(workload, machine=grid_machine())
    assert isinstance(found, Answer)
    assert isinstance(factors, Answer)
    assert found.tiles is TileRule.PADDED
    assert found.proved
    assert found.cost < factors.cost
    assert found.count.operations > workload.operations
    assert any(note.startswith("padded: ") for note in found.notes)
    assert "padded to i=24, j=30 or i=24 or j=30" in found.space
    assert not any("padded" in note for note in factors.notes)
    file = found.save(tmp_path / "padded.json")
    assert optmap.evaluate(file).disagreements == []
    assert "; padded to " in str(optmap.check(file))


def test_no_valid_mapping_is_a_reason_and_no_answer() -> None:
    machine = grid_machine(free=False)
    registers, buffer = machine.levels
    tiny = replace(machine, levels=(replace(registers, capacity=Capacity(amount=2, unit="words")), buffer))
    with pytest.raises(InfeasibleError, match="Registers"):
        optmap.solve(convolution(p=2, q=2, r=1, s=1), machine=tiny)


def test_a_tensor_that_nobody_must_keep_is_refused() -> None:
    machine = grid_machine()
    outermost = Store(keeps=(("output", KeepRule.KEPT), ("input", KeepRule.KEPT)))
    bare = replace(machine, outermost=outermost)
    free = replace(machine.levels[0].store or Store(), keeps=(("inputs", KeepRule.FREE), ("output", KeepRule.FREE)))
    levels = (replace(machine.levels[0], store=free), machine.levels[1])
    with pytest.raises(InputError, match="no memory must keep W"):
        fabric_of(convolution(), replace(bare, levels=levels))
    assert fabric_of(convolution(), bare).memories[0].keeps[2] is KeepRule.KEPT


@pytest.mark.parametrize("method", ["exact", "allocation"])
def test_wires_are_priced_in_the_answer_and_not_in_its_bound(method: str) -> None:
    """No search bounds them: its bound is the one without them, and nothing is proved the best that has some to pay."""
    machine = grid_machine()
    store = replace(machine.stores[-2], hop_pj=3, router_pj=1)
    wired = replace(machine, levels=(*machine.levels[:-1], replace(machine.levels[-1], store=store)))
    product = parse_workload("C[m,n] = A[m,k] * B[k,n]", {"m": 8, "n": 4, "k": 4})
    for merit, proved in ((Merit.ENERGY, False), (Merit.EDP, False), (Merit.CYCLES, True)):
        free = optmap.solve(product, machine=machine, method=method, objective=merit.value)
        found = optmap.solve(product, machine=wired, method=method, objective=merit.value)
        assert isinstance(free, Answer)
        assert isinstance(found, Answer)
        assert found.cost == count_nest(found.nest, found.fabric).merit(merit)
        assert found.proved is proved
        assert found.integer_bound <= free.cost
        assert any("routers" in note for note in found.notes) is not proved


def test_a_tensor_that_every_memory_may_pass_by_comes_from_the_outermost_one() -> None:
    machine = grid_machine()
    outermost = Store(
        keeps=(("output", KeepRule.KEPT), ("inputs", KeepRule.FREE)), energy_pj=Prices(read=200, update=200)
    )
    free = replace(machine.levels[0].store or Store(), keeps=(("inputs", KeepRule.FREE), ("output", KeepRule.FREE)))
    levels = (replace(machine.levels[0], store=free), machine.levels[1])
    loose = replace(machine, levels=levels, outermost=outermost)
    found, bounded = (
        optmap.solve(convolution(k=2, c=2, p=2, q=1), machine=loose, method=method, tiles="divisors")
        for method in ("exact", "allocation")
    )
    assert isinstance(found, Answer)
    assert isinstance(bounded, Answer)
    assert found.proved
    assert found.nest.memories[-1].keeps[2]
    assert bounded.integer_bound <= found.cost <= bounded.cost
    assert found.floor is not None
    assert found.floor.energy_pj >= 200 * found.workload.tensors[2].footprint(found.workload.extents)
    check_document(found.to_dict())


@pytest.mark.parametrize("counting", WALKED, ids=str)
def test_an_answer_that_is_late_has_a_mapping_and_a_bound(counting: NestPolicy) -> None:
    """The time is over before the search has made one pass."""
    best = optmap.solve("resnet18/R11", machine="simba_like", counting=counting.name, tiles="divisors")
    late = optmap.solve("resnet18/R11", machine="simba_like", counting=counting.name, time_limit=1e-6)
    assert isinstance(best, Answer)
    assert isinstance(late, Answer)
    assert best.proved
    assert not late.proved
    assert late.stop is Stop.TIME_LIMIT
    assert not late.count.broken
    assert 0 < late.integer_bound <= best.cost <= late.cost


def test_an_optimum_is_confirmed_by_a_search_without_dominance() -> None:
    found = optmap.solve(convolution(), machine=grid_machine(), confirm=True)
    assert isinstance(found, Answer)
    assert found.proved
    assert "confirmed by a second search, without dominance" in found.found.proof


def test_a_second_search_that_finds_better_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    first = search_nest

    def careless(fabric: Fabric, *, dominance: bool = True, **options: object) -> ExactAnswer:
        found = first(fabric, dominance=dominance, **options)  # type: ignore[arg-type]
        if not dominance:
            return found
        nests = ((count_nest(nest, fabric).edp, nest) for nest in valid_nests(fabric, 40))
        value, worse = next((float(edp), nest) for edp, nest in nests if edp > found.value)
        return replace(found, nest=worse, value=value, bound=value)

    monkeypatch.setattr("optmap.search.exact.solve.search_nest", careless)
    with pytest.raises(CheckError, match="a second one without dominance found"):
        optmap.solve(convolution(), machine=grid_machine(), tiles="divisors", confirm=True)
