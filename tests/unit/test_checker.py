"""The independent checker accepts what holds and refuses every change that claims more."""

from __future__ import annotations

import ast
import copy
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import lcm, prod
from pathlib import Path
from typing import Any

import pytest
from bounds_oracles import with_ranges
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import machines, mappings, workloads

import optmap.checker
from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.base.errors import CheckError, InputError
from optmap.bounds import class_proofs, halo_proofs, ranked_proofs
from optmap.bounds.best import best, certified
from optmap.checker import RefusedError, check_document
from optmap.checker.core.nest import TiledNest
from optmap.checker.core.statement import StatedWork
from optmap.checker.core.tools import count, digest, echelon, kernel
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.workloads.amounts import Capacity
from optmap.workloads.halo import distinct_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

FOLDER = Path(optmap.checker.__file__).parent
Path_ = tuple[str | int, ...]

STATEMENTS: dict[str, tuple[str, dict[str, int], int]] = {
    "matmul": ("C[i,j] += A[i,k]*B[k,j]", {"i": 20, "j": 15, "k": 12}, 24),
    "conv1d": ("O[k,x] += I[c,x+r]*F[k,c,r]", {"k": 6, "c": 5, "x": 20, "r": 3}, 20),
    "strided": ("O[k,x] += I[c,2*x+r]*F[k,c,r]", {"k": 6, "c": 5, "x": 20, "r": 5}, 20),
    "created": ("C[i,j] = A[i,k]*B[k,j]", {"i": 30, "j": 2, "k": 25}, 10),
    "flag": ("O[x] += I[x+r]*J[x+q]*K[r,q]", {"x": 20, "r": 5, "q": 4}, 6),
    "twice": ("C[i,j] += A[i,k]*A[j,k]", {"i": 12, "j": 13, "k": 11}, 12),
    "window": ("O[k,x] += I[c,2*x+r]*F[k,c,r]", {"k": 6, "c": 5, "x": 20, "r": 5}, 20),
    "classes": ("O[k,x] += I[c,2*x+r]*F[k,c,r]", {"k": 6, "c": 5, "x": 20, "r": 5}, 20),
    "nothing to gain": ("O[i] += A[i]", {"i": 8}, 2),
}


def certificate(name: str) -> dict[str, Any]:
    """Of the convex program over maps, of a window, or of classes of taps."""
    text, extents, memory = STATEMENTS[name]
    workload = parse_workload(text, extents)
    found = {"window": halo_proofs, "classes": class_proofs}.get(name, ranked_proofs)(workload, memory)
    made = certified("best", workload, memory, found).certificate
    parsed = json.loads(json.dumps(made))
    assert isinstance(parsed, dict)
    return parsed


def signed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a digest that fits it again."""
    document["digest"] = digest({key: value for key, value in document.items() if key != "seconds"})
    return document


def leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def changes(value: Any) -> Iterator[Any]:
    """Every number near a number, every digit of a fraction changed, every flag turned."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (value * (1 + 2**-52), value / 2) if value else (2**-52, -1.0)
    elif isinstance(value, str) and re.fullmatch(r"\d+/\d+", value):
        for place, digit in enumerate(value):
            if digit != "/":
                yield value[:place] + str((int(digit) + 1) % 10) + value[place + 1 :]


def replaced(document: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(document)
    inside: Any = made
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return made


def reason(document: Any) -> str:
    """Why a document is refused; empty if it is not."""
    try:
        check_document(document)
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", STATEMENTS)
def test_certificates_hold(name: str) -> None:
    made = certificate(name)
    assert f"loads at least {made['claims']['loads_words']:,} words" in str(check_document(made))
    text, extents, memory = STATEMENTS[name]
    assert best(parse_workload(text, extents), memory).loads_words >= made["claims"]["loads_words"]
    assert (made["segment"] is None) == (name == "nothing to gain")
    assert any("flag" in family for family in made["families"]) == (name == "flag")
    assert bool(made["lifts"]) == (name in ("strided", "window", "classes"))


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_changed_number_is_refused(name: str) -> None:
    """The digest refuses every change; with a digest that fits, the mathematics do."""
    made = certificate(name)
    tried = 0
    for path, value in leaves(made):
        for other in changes(value):
            changed = replaced(made, path, other)
            assert "digest" in reason(changed), path
            # Compulsory traffic does not depend on the memory, so its size changes nothing there.
            harmless = path == ("memory_words",) and made["segment"] is None and other > 0
            # Another vector of a flag may well span another valid flag: a proof of the same claims.
            # So may another power of a window, or another kappa where U stays the same integer.
            same = bool({"flag", "window", "classes"} & {*path})
            assert bool(reason(signed(changed))) != harmless or same, (path, value, other)
            tried += 1
    assert tried > 10


def test_every_changed_text_is_refused() -> None:
    made = certificate("strided")
    for path, value in leaves(made):
        if isinstance(value, str):
            changed = replaced(made, path, value + "x")
            assert reason(changed), path
            only_a_name = path in (("method",), ("workload", "name"), ("digest",)) or path[::2] == ("maps", "name")
            assert only_a_name or reason(signed(changed)), path


def test_every_missing_or_added_key_is_refused() -> None:
    made = certificate("conv1d")

    def objects(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            yield value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from objects(inner)

    for index, each in enumerate(objects(made)):
        for key in each:
            changed = copy.deepcopy(made)
            del list(objects(changed))[index][key]
            assert reason(changed if key == "digest" else signed(changed)), (index, key)
        changed = copy.deepcopy(made)
        list(objects(changed))[index]["more"] = 1
        assert reason(signed(changed)), index


def conv1d_lattice(made: dict[str, Any]) -> dict[str, Any]:
    (family,) = [family for family in made["families"] if len(family["dims"]) == 2]
    lattice = family["lattice"]
    assert isinstance(lattice, dict)
    return lattice


def test_conv1d_without_the_whole_space_is_refused() -> None:
    made = certificate("conv1d")
    lattice = conv1d_lattice(made)
    lattice["subspaces"] = [space for space in lattice["subspaces"] if len(space) < 2]
    assert "whole space" in reason(signed(made))


def test_each_subspace_and_generator_is_needed() -> None:
    made = certificate("conv1d")
    for key in ("subspaces", "generators"):
        for place in range(len(conv1d_lattice(made)[key])):
            changed = copy.deepcopy(made)
            del conv1d_lattice(changed)[key][place]
            assert reason(signed(changed)), (key, place)


def with_exponents(made: dict[str, Any], scale: Fraction) -> dict[str, Any]:
    """Scaled exponents with everything that follows from them computed anew, as a forger would."""
    made = copy.deepcopy(made)
    for entry in made["maps"]:
        scaled = Fraction(entry["exponent"]) * scale
        entry["exponent"] = f"{scaled.numerator}/{scaled.denominator}"
    segment = made["segment"]
    sums = [
        (Fraction(entry["exponent"]), segment["weights"][made["accesses"][entry["access"]]["tensor"]])
        for entry in made["maps"]
        if entry["kind"] == "tensor"
    ]
    sizes = [(Fraction(e["exponent"]), e["size"]) for e in made["maps"] if e["kind"] == "size"]
    sigma = sum(s for s, _ in sums)

    def most(units: int) -> int:
        root = lcm(*(s.denominator for s, _ in [*sums, *sizes]))
        value = prod((s * units / (sigma * weight)) ** int(s * root) for s, weight in sums)
        value *= prod(Fraction(size) ** int(z * root) for z, size in sizes)
        low, high = 0, 10**9
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**root <= value else (low, middle)
        return low

    segment["U_full"], segment["U_last"] = most(segment["K"]), most(segment["memory_units"] + segment["t"])
    segment["n"] = (segment["operations"] - 1 - segment["U_last"]) // segment["U_full"]
    cost = segment["memory_units"] + segment["n"] * segment["T"] + segment["t"] + 1
    segment["cost_units"] = segment["loads_words"] = cost
    made["claims"]["loads_words"] = max(cost, made["claims"]["compulsory_loads_words"])
    made["claims"]["total_words"] = made["claims"]["loads_words"] + made["claims"]["stores_words"]
    return signed(made)


@pytest.mark.parametrize("name", ["matmul", "conv1d", "strided"])
def test_a_consistent_forgery_fails_at_the_inequality(name: str) -> None:
    made = certificate(name)
    honest = with_exponents(made, Fraction(1))
    assert reason(honest) == ""
    assert honest["claims"]["loads_words"] == made["claims"]["loads_words"]
    forged = with_exponents(made, Fraction(9, 10))
    assert forged["claims"]["loads_words"] > made["claims"]["loads_words"]
    assert "fails for" in reason(forged)
    assert reason(with_exponents(made, Fraction(11, 10))) == ""  # larger exponents are weaker, not wrong


def test_one_more_segment_is_refused() -> None:
    made = certificate("matmul")
    segment, claims = made["segment"], made["claims"]
    segment["n"] += 1
    for entry, key in ((segment, "cost_units"), (segment, "loads_words"), (claims, "loads_words")):
        entry[key] += segment["T"]
    claims["total_words"] += segment["T"]
    assert "all operations" in reason(signed(made))


def test_segments_without_an_operation_prove_nothing() -> None:
    """In two words no product is formed: as many segments as one likes hold all none of them."""
    made = certificate("matmul")
    segment = made["segment"]
    made["memory_words"] = segment["memory_units"] = segment["T"] = 1
    segment.update(K=2, t=0, U_full=0, U_last=0, n=10**50)
    cost = 1 + 10**50 + 1
    segment["cost_units"] = segment["loads_words"] = made["claims"]["loads_words"] = cost
    made["claims"]["total_words"] = cost + made["claims"]["stores_words"]
    assert "no operation fits into a segment" in reason(signed(made))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d["workload"].update(expression="C[i,j] += A[i,k] * B[j,k]"), "expression"),
        (lambda d: d["workload"].update(semantics="assign"), "semantics and statement"),
        (lambda d: d["families"].pop(), "partition"),
        (lambda d: d["maps"].append(d["maps"][0]), "repeat"),
        (lambda d: d["dims"].reverse(), "not the matrix"),
        (lambda d: d["claims"].update(loads_words=10**400), "claims"),
        (lambda d: d["segment"].update(U_full=2**4000), "U("),
        (lambda d: d.update(memory_words=True), "whole number"),
        (lambda d: d.update(accesses=5), "accesses must be a list"),
        (lambda d: d.update(mu="2/2"), "lowest terms"),
        (lambda d: d.update(schema="optmap.certificate/2"), "must be optmap.certificate/1"),
    ],
)
def test_reasons(change: Callable[[dict[str, Any]], Any], why: str) -> None:
    made = certificate("matmul")
    change(made)
    assert why in reason(signed(made))


@pytest.mark.parametrize("document", [5, None, [], {}, {"schema": "optmap.solution/2"}, {"schema": 1}])
def test_no_document_is_refused(document: Any) -> None:
    assert reason(document)


def solution(method: str, machine: Machine, text: str, extents: dict[str, int], **options: Any) -> dict[str, Any]:
    result = api.solve(text, extents=extents, machine=machine, method=method, **options)
    parsed = json.loads(json.dumps(solution_document(result)))
    assert isinstance(parsed, dict)
    return parsed


def level(name: str, words: int, **options: Any) -> Level:
    return Level(name=name, capacity=Capacity(amount=words, unit="words"), **options)


BOX = Machine(name="box", levels=(level("L1", 40, bandwidth=7.5), level("L2", 300, bandwidth=2.25, inclusive=False)))
ONE = Machine(name="one", levels=(level("L1", 90),))
CORES = Machine(
    name="cores",
    levels=(level("L1", 40, kind=LevelKind.CACHE), level("L2", 400, bandwidth=3, shared=True, fanout=4)),
)
CONV = "O[k,x] += I[c,2*x+r]*F[k,c,r]"
SIZES = {"k": 6, "c": 5, "x": 21, "r": 3}
SOLUTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "two levels": lambda: solution("mopt", BOX, CONV, SIZES),
    "created": lambda: solution("mopt", BOX, "C[i,j] = A[i,k]*B[k,j]", {"i": 21, "j": 14, "k": 10}),
    "cores": lambda: solution("mopt", CORES, CONV, SIZES, cores=4, capacity="safe"),
    "positions": lambda: solution("iooub", ONE, CONV, SIZES),
    "sum": lambda: solution("iooub", BOX, CONV, SIZES),
}
UNPROVED = {"relaxation", "integer_bound", "seconds", "seed", "notes", "versions", "status", "method", "tiles"}
IRRELEVANT = {("workload", "count"), ("machine", "levels", 0, "inclusive")}
"""What no claim depends on: nothing is inside the innermost level."""


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions_hold_and_every_changed_number_is_refused(name: str) -> None:
    made = SOLUTIONS[name]()
    assert "counted again" in str(check_document(made))
    assert made["bound"]["value"] > 0
    assert made["gap"] >= 0
    tried = 0
    for path, value in leaves(made):
        if "certificate" in path or path[0] in UNPROVED or path in IRRELEVANT or path[-1] == "shared":
            continue  # certificates have tests of their own; what the search said is not verified
        for other in changes(value):
            changed = replaced(made, path, other)
            assert "digest" in reason(changed), path
            # Other reuse positions may cost the same: they are counted, like everything else.
            assert reason(signed(changed)) or path[0] == "held", (path, value, other)
            tried += 1
    assert tried > 40


def test_a_changed_certificate_inside_a_solution_is_refused() -> None:
    made = SOLUTIONS["two levels"]()
    inside = made["certificates"][0]["certificate"]
    inside["claims"]["loads_words"] += 1
    assert "digest" in reason(signed(made))
    signed(inside)
    assert "claims" in reason(signed(made))


def test_a_certificate_of_something_else_is_refused() -> None:
    made, other = SOLUTIONS["two levels"](), SOLUTIONS["created"]()
    first, second = made["certificates"]
    first["certificate"], second["certificate"] = second["certificate"], first["certificate"]
    assert "another capacity" in reason(signed(made))
    made["certificates"] = other["certificates"]
    assert "another workload" in reason(signed(made))


def test_a_solution_without_a_bound_holds_but_claims_none() -> None:
    made = SOLUTIONS["two levels"]()
    made.update(bound=None, gap=None, certificates=[])
    assert "no bound is claimed" in check_document(signed(made)).verified
    made["gap"] = 0.0
    assert "without a bound" in reason(signed(made))


def test_a_smaller_set_of_certificates_proves_a_smaller_bound() -> None:
    made = SOLUTIONS["sum"]()
    made["certificates"].pop()
    assert "the bound is" in reason(signed(made))
    made["certificates"] = []
    assert "no certificate proves it" in reason(signed(made))


@settings(max_examples=cases(30, 150))
@given(st.data())
def test_recount_agrees_with_the_evaluation(data: st.DataObject) -> None:
    """Two implementations of both forms of traffic, ragged tiles and splits included."""
    workload = data.draw(workloads(max_extent=7))
    machine = data.draw(machines(max_levels=3, max_fanout=3))
    mapping = data.draw(mappings(workload, machine))
    workload = with_ranges(workload, random.Random(data.draw(st.integers(0, 2**32)))) or workload
    try:
        cost, exact = evaluate_cost(workload, machine, mapping), exact_traffic(workload, machine, mapping)
    except InputError:
        return  # first touches are not defined; the checker refuses it as well
    work = StatedWork(workload_document(workload))
    nest = TiledNest(work, mapping_document(mapping)["levels"], machine_document(machine)["levels"])
    rows = iter(zip(exact, cost.boundaries, strict=True))
    for base in range(len(machine.levels)):
        for place, tensor in enumerate(workload.tensors):
            whole, single = next(rows)
            weight = workload.weight(tensor)
            made = [nest.created(base, padded=padded) if place == 0 else 0 for padded in (False, True)]
            assert weight * (nest.whole_nest(place, base) - made[0]) == whole.loads_words
            assert weight * (nest.per_level(place, base) - made[1]) == single.loads_words


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 9)), max_size=4))
def test_counts_of_subscripts(terms: list[tuple[int, int]]) -> None:
    row = {f"d{i}": c for i, (c, _) in enumerate(terms)}
    extents = {f"d{i}": n for i, (_, n) in enumerate(terms)}
    assert count(row, extents) == distinct_values(tuple(c for c, _ in terms), tuple(n for _, n in terms))


@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 4), max_size=5))
def test_kernel_is_orthogonal_and_complete(rows: list[tuple[int, ...]]) -> None:
    basis, null = echelon(rows), kernel(rows, 4)
    assert len(basis) + len(null) == 4
    assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in rows for vector in null)
    assert echelon([*rows, *basis]) == basis


def test_the_checker_needs_the_standard_library_only(tmp_path: Path) -> None:
    """Copied elsewhere it runs in an interpreter without any package, and its imports are the standard library's."""
    names = set()
    for file in FOLDER.glob("*.py"):
        assert len(file.read_text(encoding="utf-8").splitlines()) < 300
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(str(node.module).partition(".")[0])
            assert not (isinstance(node, ast.ImportFrom) and node.level > 1)
    assert names <= sys.stdlib_module_names
    shutil.copytree(FOLDER, tmp_path / "alone", ignore=shutil.ignore_patterns("__pycache__"))
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    made = certificate("matmul")
    good.write_text(json.dumps(made), encoding="utf-8")
    made["claims"]["loads_words"] += 1
    bad.write_text(json.dumps(made), encoding="utf-8")

    def run(file: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", str(tmp_path / "alone"), str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert run(good).returncode == 0
    assert "listed as verified holds" in run(good).stdout
    assert run(bad).returncode == 5
    assert "digest" in run(bad).stderr
    assert run(tmp_path / "none.json").returncode == 2


def test_the_verb_raises_the_projects_errors(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps(certificate("conv1d")), encoding="utf-8")
    assert api.check(file).verified
    file.write_text('{"schema": "optmap.certificate/1"}', encoding="utf-8")
    with pytest.raises(CheckError, match="keys"):
        api.check(file)
    for text in ("{", '{"a": 1, "a": 2}', '{"a": NaN}'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="cannot be read"):
            api.check(file)
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        api.check(tmp_path / "none.json")


def test_semantics_reach_the_certificates() -> None:
    made = SOLUTIONS["created"]()
    assert {entry["certificate"]["workload"]["semantics"] for entry in made["certificates"]} == {Semantics.ASSIGN.value}
