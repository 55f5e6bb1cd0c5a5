"""Proofs of relaxation and integer bound: what they prove is true, and what is changed is refused."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from cases import some
from changed_fields import changed_fields, not_claimed
from proof_attack import attack

from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.answers.proofs.proofs import with_proof
from optmap.base.clock import Clock
from optmap.base.errors import InputError
from optmap.bounds import digest
from optmap.checker import RefusedError, check_document
from optmap.checker.core.nest import TiledNest, traffic
from optmap.checker.core.statement import StatedWork
from optmap.checker.core.units import rate_of
from optmap.checker.cover import rows
from optmap.checker.cover.cover import model_of, walk
from optmap.checker.cover.dataflows import best_flows, contains, flow_of
from optmap.checker.cover.rows import MappingSet, Model
from optmap.machines.machine import Level, Machine
from optmap.workloads.amounts import Capacity

MATMUL = "C[i,j] += A[i,k]*B[k,j]"
CONV = "O[k,x] += I[c,x+r]*F[k,c,r]"
SIZES = {"k": 4, "c": 3, "x": 9, "r": 2}
MORE = {"k": 8, "c": 6, "x": 20, "r": 3}


def level(name: str, words: int, **options: Any) -> Level:
    return Level(name=name, capacity=Capacity(amount=words, unit="words"), **options)


BOX = Machine(name="box", levels=(level("L1", 24, bandwidth=7.5), level("L2", 90, bandwidth=4.25)))


def solved(text: str, extents: dict[str, int], **options: Any) -> dict[str, Any]:
    result = api.solve(text, extents=extents, certificate="full", **options)
    made = json.loads(json.dumps(solution_document(result)))
    assert isinstance(made, dict)
    return made


TRI = Machine(
    name="tri",
    levels=(level("L1", 24, bandwidth=8), level("L2", 70, bandwidth=4), level("L3", 200, bandwidth=2)),
)


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "one level": lambda: solved(MATMUL, {"i": 13, "j": 7, "k": 5}, memory="40w"),
    "created": lambda: solved("C[i,j] = A[i,k]*B[k,j]", {"i": 13, "j": 7, "k": 5}, memory="40w"),
    "divisors": lambda: solved(MATMUL, {"i": 12, "j": 6, "k": 4}, machine=BOX, tiles="divisors"),
    "window": lambda: solved(CONV, MORE, machine=BOX),
    "strided": lambda: solved("O[k,x] += I[c,2*x+r]*F[k,c,r]", {**SIZES, "r": 3}, memory="30w"),
    "dilated": lambda: solved("O[k,x] += I[c,x+2*r]*F[k,c,r]", {**SIZES, "r": 3}, memory="30w"),
    "competing": lambda: solved(CONV, {"k": 9, "c": 7, "x": 23, "r": 3}, machine=TRI),
    "competing divisors": lambda: solved(MATMUL, {"i": 24, "j": 18, "k": 30}, machine=TRI, tiles="divisors"),
    "sum": lambda: solved(MATMUL, {"i": 13, "j": 7, "k": 5}, machine=BOX, objective="sum"),
    "demanded": lambda: solved(MATMUL, {"i": 13, "j": 7, "k": 5}, memory="40w", constraints=["Fast.k=5", "Fast.i<=3"]),
}


@cache
def case(name: str) -> dict[str, Any]:
    return CASES[name]()


def signed(document: dict[str, Any]) -> dict[str, Any]:
    document["digest"] = digest({k: v for k, v in document.items() if k not in ("seconds", "digest")})
    return document


def reason(document: dict[str, Any]) -> str:
    try:
        check_document(signed(document))
    except RefusedError as error:
        return str(error)
    return ""


def refusal(made: dict[str, Any], key: str, number: int, steps: list[str]) -> str:
    """Why the steps of one claim are refused; empty if they are not."""
    work, levels, whole = StatedWork(made["workload"]), made["machine"]["levels"], key == "integers"
    rates = [rate_of(one, work.word_bits) for one in levels]
    claim = made["proof"][key][number]
    about = [i for i, one in enumerate(levels) if one["name"] in claim["levels"]]
    model = model_of(made, TiledNest(work, made["mapping"]["levels"], levels), rates, whole=whole)
    try:
        walk(model, about, Fraction(claim["value"]), steps, whole=whole)
    except RefusedError as error:
        return str(error)
    return ""


def lines(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    report = check_document(document)
    return [x for x in report.verified if x.startswith(("relaxation", "integer bound"))], list(report.not_verified)


@pytest.mark.parametrize("name", some(5, CASES))
def test_relaxation_and_integer_bound_are_proved(name: str) -> None:
    made = case(name)
    proved, told = lines(made)
    assert [line.split(" ")[0] for line in proved] == ["relaxation", "integer"], made["notes"]
    assert not any(line.startswith(("relaxation", "integer bound")) for line in told)
    assert len(json.dumps(made["proof"])) < 200_000


@pytest.mark.parametrize("name", ["yolo9000/Y2", "yolo9000/Y4", "mobilenet/M1d"])
def test_microkernels_that_do_not_divide_tiles_outside_have_short_proofs(name: str) -> None:
    """6 elements in 136: 23 tiles, but 24 in all tiles of at most 68 that divide it."""
    result = api.solve(name, machine="i7-9700k", tiles="divisors", certificate="full")
    made = json.loads(json.dumps(solution_document(result)))
    assert made["integer_bound"]["value"] == made["cost"]["value"]
    assert len(lines(made)[0]) == 2, made["notes"]
    (claim,) = made["proof"]["integers"]
    assert len(claim["steps"]) < 100


@pytest.mark.parametrize("name", [name for name in CASES if name != "sum"])  # which is not cross-checked
def test_a_relaxation_that_is_lowered_by_more_than_a_millionth_says_so(name: str) -> None:
    made = case(name)
    told = next((note for note in made["notes"] if note.startswith("the relaxation is what the file proves")), "")
    checked = made["relaxation"]["cross_check"]  # of the relaxation as solved
    assert (made["relaxation"]["value"] < checked * (1 - 2e-6)) == bool(told), (told, checked)
    assert bool(told) == (name == "dilated")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("key", ["relaxation", "integers"])
def test_a_claim_that_is_a_millionth_higher_is_refused(name: str, key: str) -> None:
    """Of small whole numbers, by the next one that some mapping costs less than."""
    made = copy.deepcopy(case(name))
    said = made["relaxation" if key == "relaxation" else "integer_bound"]
    said["value"] *= 1 + 1e-6
    if key == "relaxation":
        made["integer_gap"] = max(0.0, made["cost"]["value"] / said["value"] - 1)
    else:
        made["status"]["within"] = made["cost"]["value"] / said["value"] - 1
    assert reason(made)
    for claim in made["proof"][key]:
        more = Fraction(claim["value"]) * (1 + Fraction(2 if key == "integers" else 1, 10**6))
        claim["value"] = f"{more.numerator}/{more.denominator}"
    assert reason(made)


@pytest.mark.parametrize("name", ["one level", "window", "strided"])
def test_every_step_is_needed_and_means_what_it_says(name: str) -> None:
    made = case(name)
    tried = 0
    for key in ("relaxation", "integers"):
        for number, claim in enumerate(made["proof"][key]):
            steps = claim["steps"]
            assert not refusal(made, key, number, steps)
            chosen = range(0, len(steps), max(1, len(steps) // 6))
            for changed in itertools.chain.from_iterable(_changes(steps, i) for i in chosen):
                assert refusal(made, key, number, changed), changed
                tried += 1
    assert tried > 20


def _changes(steps: list[str], i: int) -> list[list[str]]:
    """A step left out, taken twice, replaced, or about something else."""
    found = [steps[:i] + steps[i + 1 :], steps[: i + 1] + steps[i:]]
    kind, *words = steps[i].split(" ")
    if kind == "sum":
        none = ",".join("0" for _ in words[0].split(","))
        found += [[*steps[:i], other, *steps[i + 1 :]] for other in (f"sum {none} {words[1]}", "sum 1 1", "row 99")]
    else:
        found.append([*steps[:i], "row -1", *steps[i + 1 :]])
    return found


def test_leaves_that_prove_less_are_refused() -> None:
    made = case("window")
    steps = made["proof"]["relaxation"][0]["steps"]
    tight = max((i for i, step in enumerate(steps) if step.startswith("sum")), key=lambda i: len(steps[i]))
    weights, point = steps[tight].split(" ")[1:]
    numbers = weights.split(",")
    for k, number in enumerate(numbers):
        if int(number) * 100 > max(map(int, numbers)):
            other = ",".join([*numbers[:k], str(int(number) * 9 // 10), *numbers[k + 1 :]])
            changed = [*steps[:tight], f"sum {other} {point}", *steps[tight + 1 :]]
            assert "does not refute" in refusal(made, "relaxation", 0, changed)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: p["fixed"].append("z"), "fixed dim"),
        (lambda p: p.update(given=["L1"]), "microkernel"),
        (lambda p: p["relaxation"][0].update(levels=["L9"]), "no level"),
        (lambda p: p["relaxation"][0].update(levels=["L1", "L1"]), "twice"),
        (lambda p: p["relaxation"][0].update(value="1/2"), "proved is 0.5"),
        (lambda p: p["relaxation"][0].update(value="2/2"), "lowest terms"),
        (lambda p: p.update(relaxation=[]), "proved is 0.0"),
        (lambda p: p["relaxation"][0]["steps"].append("row 0"), "nothing is left"),
        (lambda p: p["relaxation"][0].update(steps=[]), "left"),
        (lambda p: p["relaxation"][0]["steps"].insert(0, "cut 0 x 20"), "nothing is cut"),
        (lambda p: p["relaxation"][0]["steps"].insert(0, "cut 7 x 2"), "no step"),
        (lambda p: p["relaxation"][0]["steps"].insert(0, "flow 0 1"), "no step"),
        (lambda p: p["relaxation"][0]["steps"].insert(0, "flow"), "malformed"),
        (lambda p: p["relaxation"][0]["steps"].insert(0, "sum 1,1,1,1 /9e9,1,1"), "no size"),
        (lambda p: p.update(more=1), "unknown"),
    ],
)
def test_what_a_proof_may_not_say(change: Callable[[dict[str, Any]], Any], why: str) -> None:
    made = copy.deepcopy(case("window"))
    change(made["proof"])
    assert why in reason(made)


def test_what_is_not_claimed_is_not_verified() -> None:
    made = copy.deepcopy(case("window"))
    made["proof"].update(relaxation=None, integers=None)
    proved, told = lines(signed(made))
    assert not proved
    assert any(line.startswith("relaxation") and "integer bound" in line for line in told)


def test_a_claim_about_a_sum_has_each_level_once() -> None:
    made = copy.deepcopy(case("sum"))
    claims = made["proof"]["relaxation"]
    claims.append(claims[0])
    assert "one claim per level" in reason(made)


def test_what_is_proved_is_about_costs_where_exact_counts_are_lower() -> None:
    machine = Machine(name="two", levels=(level("L1", 18, bandwidth=1), level("L2", 43, bandwidth=1)))
    made = solved("O[k,x] += I[x+r]*F[k,r]", {"k": 9, "x": 2, "r": 6}, machine=machine)
    assert made["exact"]["value"] < made["integer_bound"]["value"] == made["cost"]["value"]
    proved, _ = lines(made)
    assert len(proved) == 2
    assert all("by cost" in line and "exact keeps more and may be less" in line for line in proved)


def test_a_level_is_in_one_claim() -> None:
    """Otherwise a short file could ask for any amount of work."""
    made = copy.deepcopy(case("one level"))
    made["proof"]["relaxation"] *= 2
    assert "one claim per level" in reason(made)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("O[x] += I[x+" + "+".join(f"{n}*d{n}" for n in range(2, 32)) + "]", "too many fixed dims"),
        ("O[x] += I[x," + ",".join(f"d{n}+2*e{n}" for n in range(2, 22)) + "]", "too many subscripts of several dims"),
    ],
)
def test_what_doubles_per_dim_is_refused(text: str, why: str) -> None:
    work = StatedWork({"expression": text, "semantics": "accumulate", "bytes": 4, "extents": _extents(text)})
    made = Model(
        work=work,
        rooms=[[([0, 1], 10**9)]],
        rates=[Fraction(1)],
        flows=[[flow_of(work, list(work.extents))]],
        fixed={d for d in work.extents if d != "x" and (d[0] == "e" or "," not in text)},
        snapped=lambda _q, _dim, sizes, _around: sizes,
    )
    node = made.root()
    for dim in made.dims:
        node = node and made.narrowed(node, 0, dim, (2, 5))
    assert node is not None
    with pytest.raises(RefusedError, match=why):
        made.rows(node, [0], [Fraction(1)])


def _extents(text: str) -> dict[str, int]:
    return dict.fromkeys(re.findall(r"[dex][0-9]*", text), 6)


def test_an_integer_bound_that_is_an_unproved_relaxation_is_not_claimed() -> None:
    result = api.solve(MATMUL, extents={"i": 13, "j": 7, "k": 5}, memory="40w")
    least = result.relaxation.value
    assert least is not None
    result = result.claiming(least, late=True)
    found = with_proof(result, Clock(0.0))
    assert found.proof is not None
    assert found.proof["integers"] is None
    assert found.integer_bound == least


def test_no_mapping_costs_less_than_what_is_proved() -> None:
    """All whole tiles and loop orders of a small problem on two levels, counted by the checker's other part."""
    extents = {"i": 4, "j": 3, "k": 2}
    machine = Machine(name="tiny", levels=(level("L1", 7, bandwidth=3), level("L2", 14, bandwidth=1)))
    made = solved(MATMUL, extents, machine=machine)
    work, levels = StatedWork(made["workload"]), made["machine"]["levels"]
    rates = [rate_of(one, work.word_bits) for one in levels]
    least = None
    sizes = [
        dict(zip(extents, t, strict=True)) for t in itertools.product(*(range(1, n + 1) for n in extents.values()))
    ]
    fits = [[t for t in sizes if t["i"] * t["j"] + t["i"] * t["k"] + t["k"] * t["j"] <= room] for room in (7, 14)]
    for inner, outer in itertools.product(*fits):
        if any(inner[d] > outer[d] for d in extents):
            continue
        best = []
        for q in (0, 1):
            costs = []
            for order in itertools.permutations(extents):
                mapped = [
                    {"level": name, "tile": tile, "permutation": list(order), "spatial": {}}
                    for name, tile in (("L1", inner), ("L2", outer))
                ]
                costs.append(sum(a + b for a, b in traffic(TiledNest(work, mapped, levels), q, whole=False)) / rates[q])
            best.append(min(costs))
        least = max(best) if least is None else min(least, max(best))
    assert least is not None
    for key in ("relaxation", "integers"):
        for claim in made["proof"][key]:
            assert Fraction(claim["value"]) <= least
    assert made["integer_bound"]["value"] == float(least) == made["cost"]["value"]


@pytest.mark.parametrize(
    ("text", "extents"),
    [
        (CONV, SIZES),
        ("O[n,k,h,w] += I[n,c,h+r,w+s]*F[k,c,r,s]", {"n": 2, "k": 2, "c": 2, "h": 2, "w": 2, "r": 2, "s": 2}),
        ("O[n,k,h,w] += I[n,c,2*h+r,w+s]*F[k,c,r,s]", {"n": 1, "k": 2, "c": 2, "h": 2, "w": 2, "r": 2, "s": 1}),
        ("O[i,j] += A[i,k]*B[k,l]*C[l,j]", {"i": 2, "j": 2, "k": 2, "l": 2}),
    ],
)
def test_the_flows_cover_every_loop_order(text: str, extents: dict[str, int]) -> None:
    made = {"expression": text.replace("]*", "] * "), "semantics": "accumulate", "bytes": 4, "extents": extents}
    work = StatedWork(made)
    flows = best_flows(work)
    orders = [flow_of(work, list(order)) for order in itertools.permutations(extents)]
    assert all(any(contains(best, flow) for best in flows) for flow in orders)
    assert all(flow in orders for flow in flows)


@pytest.mark.parametrize("seed", some(4, range(8)))
def test_rows_are_never_above_what_a_mapping_moves_and_holds(seed: int) -> None:
    found = [attack(random.Random(f"{seed} {number}")) for number in range(12)]
    assert sum(exact or 0 for exact in found) > 0


def test_tiles_of_a_stage_between_unknown_ones_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 cut by 5, 3 and 2 are 6 tiles; by 3 and 2 they would be 7, as by 4 or 6, 3 and 2."""
    work = StatedWork({"expression": "O[x] += I[x]", "semantics": "accumulate", "bytes": 4, "extents": {"x": 10}})
    made = Model(
        work=work,
        rooms=[[], [], []],
        rates=[Fraction(1)] * 3,
        flows=[best_flows(work)] * 3,
        fixed=set(),
        snapped=lambda _q, _dim, sizes, _around: sizes,
    )
    node = made.root()
    for q, sizes in ((0, (2, 2)), (1, (3, 3)), (2, (4, 6))):
        assert node is not None
        node = made.narrowed(node, q, "x", sizes)
    assert node is not None
    assert made.fewest(node, 0, "x") == 6
    monkeypatch.setattr(rows, "MOST_WAYS", 2)
    made.parted.cache_clear()
    assert made.fewest(node, 0, "x") == 5
    node = made.narrowed(node, 2, "x", (5, 5))
    assert node is not None
    assert made.fewest(node, 0, "x") == 6


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("most", [1, 5, 64])
def test_no_tiles_are_fewer_than_those_of_the_ways_that_are_left(
    even: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every chain of sizes in random ranges is cut one by one; of all ways one has no more tiles."""
    monkeypatch.setattr(rows, "MOST_WAYS", most)
    rng, above, exact = random.Random(7), 0, 0
    for _ in range(100):
        made, node = _ranges(rng, even)
        extent = made.extents["x"]
        if node is None:
            continue
        chains = [(extent,)]
        for q in (2, 1, 0):
            low, high = made.range(node, q, "x")
            chains = [
                (*sizes, n)
                for sizes in chains
                for n in range(low, min(high, sizes[-1]) + 1)
                if q == 0 or not even or sizes[-1] % n == 0
            ]
        found = made.fewest(node, 0, "x")
        least = min((_tiles(extent, sizes) for sizes in chains), default=extent)
        assert found <= least
        exact += found == least
        above += found > -(-extent // made.range(node, 0, "x")[1])
    assert exact > 30
    assert above > (4 if most == 64 else 1)


def _ranges(rng: random.Random, even: bool) -> tuple[Model, MappingSet | None]:
    """Three levels of one dim with random ranges; tiles outside the first divide what they are cut from, or any."""

    def snapped(q: int, _dim: str, sizes: tuple[int, int], around: int) -> tuple[int, int] | None:
        left = [n for n in range(sizes[0], sizes[1] + 1) if q == 0 or not even or around % n == 0]
        return (left[0], left[-1]) if left else None

    sizes = {"bytes": 4, "extents": {"x": rng.choice((34, 36, 40, 45))}}
    work = StatedWork({"expression": "O[x] += I[x]", "semantics": "accumulate", **sizes})
    flows = [best_flows(work)] * 3
    made = Model(work=work, rooms=[[], [], []], rates=[Fraction(1)] * 3, flows=flows, fixed=set(), snapped=snapped)
    node = made.root()
    for q in rng.sample(range(3), rng.randint(1, 3)):
        low = rng.randint(3, 14)
        node = node and made.narrowed(node, q, "x", (low, rng.randint(low, 20) if q else low))
    return made, node


def _tiles(extent: int, sizes: tuple[int, ...]) -> int:
    """Tiles of an extent that is cut at some sizes, one after the other."""
    parts = [extent]
    for size in sizes:
        parts = [min(size, part - start) for part in parts for start in range(0, part, size)]
    return len(parts)


@pytest.mark.parametrize("name", some(1, ["one level", "competing"]))
def test_every_changed_field_is_refused_or_not_claimed(name: str) -> None:
    """Names and how the search went are listed as not verified; of the rest any other value is refused.

    Of the inner levels that decide nothing, other numbers are another machine, which is said, and the proofs hold.
    """
    made = case(name)
    proved = check_document(signed(made)).verified
    told = " ".join(lines(made)[1])
    tried = 0
    for path, value, changed in changed_fields(made, 110):
        why = reason(changed)
        other = not why and path[:2] == ("machine", "levels") and check_document(changed).verified != proved
        assert why or not_claimed(path, value) or (other and name != "one level"), (path, value)
        tried += 1
    assert tried > 80
    assert all(
        text in told
        for text in ("called", "how the relaxation was solved", "how the search went", "seed", "are shared")
    )


def test_accelerators_have_proofs_of_their_own() -> None:
    with pytest.raises(InputError, match="--certificate full"):
        api.solve(MATMUL, extents={"i": 4, "j": 4, "k": 4}, machine="eyeriss", certificate="full")
    with pytest.raises(InputError, match="certificate"):
        api.solve(MATMUL, extents={"i": 4, "j": 4, "k": 4}, memory="40w", certificate="most")
