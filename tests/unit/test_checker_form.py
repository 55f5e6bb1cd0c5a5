"""What the checker takes for a document, and how it prints what a file says."""

from __future__ import annotations

import copy
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cases import cases

from optmap import api
from optmap.answers.documents.solution import solution_document
from optmap.base.errors import InputError
from optmap.bounds.best import best
from optmap.checker import RefusedError, Report, check_document
from optmap.checker.core.statement import StatedWork, read_statement
from optmap.checker.core.tools import digest, plain, spelled
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Level, Machine, Partition
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

Document = dict[str, Any]
PARTS = tuple(
    Partition(name=name, tensors=(tensors,), capacity=Capacity(amount=80, unit="bytes"))
    for name, tensors in (("input", "inputs"), ("output", "output"))
)
MACHINES = (
    (
        Machine(
            name="deep",
            levels=tuple(Level(name=n, capacity=Capacity(amount=w, unit="words")) for n, w in (("L1", 12), ("L2", 40))),
        ),
        "mopt",
    ),
    (
        Machine(
            name="chip", levels=(Level(name="Buffers", capacity=Capacity(amount=160, unit="bytes"), partitions=PARTS),)
        ),
        "gemmini",
    ),
)


def signed(document: Document) -> Document:
    document["digest"] = digest({key: value for key, value in document.items() if key != "seconds"})
    return document


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    """A certificate of a strided convolution, and a solution that holds reuse positions."""
    conv = parse_workload("O[k,x] += I[c,2*x+r]*F[k,c,r]", {"k": 6, "c": 5, "x": 20, "r": 5}, name="conv")
    proof = best(conv, 20).certificate
    found = solution_document(api.solve(conv, memory="90w", method="iooub"))
    return {"certificate": json.loads(json.dumps(proof)), "solution": json.loads(json.dumps(found))}


@pytest.fixture(params=["certificate", "solution"])
def document(request: pytest.FixtureRequest, documents: dict[str, Document]) -> Document:
    return copy.deepcopy(documents[request.param])


def refusal(document: Any) -> str:
    with pytest.raises(RefusedError) as caught:
        check_document(document)
    return str(caught.value)


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


def test_the_lists_name_the_sizes_and_what_nothing_proves(documents: dict[str, Document]) -> None:
    proof, found = (check_document(documents[key]) for key in ("certificate", "solution"))
    for report in (proof, found):
        text = "\n".join(report.verified)
        for part in ("O[k,x] += I[c,2*x+r] * F[k,c,r]", "k=6", "c=5", "x=20", "r=5", "4-byte elements"):
            assert part in text
        assert "conv" not in text
        assert "'conv'" in "\n".join(report.not_verified)
    assert "20 words of fast memory" in str(proof)
    assert "of 90 words" in "\n".join(found.verified)
    assert "loads" in "\n".join(found.verified)
    others = "\n".join(found.not_verified)
    for part in ("iooub", "stop", "'any'", "relaxation", "integer bound", "seconds", "seed", "versions", "notes"):
        assert part in others


def test_only_divisors_may_be_called_divisors() -> None:
    made = json.loads(
        json.dumps(
            solution_document(api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 7, "j": 11, "k": 13}, memory="60w"))
        )
    )
    (level,) = made["mapping"]["levels"]
    divides = all(n % level["tile"][d] == 0 for d, n in {"i": 7, "j": 11, "k": 13}.items())
    assert not divides
    assert "divides" not in str(check_document(made))
    made["tiles"] = "divisors"
    assert "does not divide" in refusal(signed(made))


def test_only_what_divides_is_said_to_divide() -> None:
    """A microkernel excuses its level from divisors; what is verified must not say that its tile divides."""
    made = api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 7, "j": 5, "k": 9}, machine=MACHINES[0][0])
    document = json.loads(json.dumps(solution_document(made)))
    document["tiles"] = "divisors"
    for level in document["machine"]["levels"]:
        level["microkernel"] = {"vector": 8, "broadcast": 6}
    assert "divide" not in "\n".join(check_document(signed(document)).verified)
    even = api.solve(
        "C[i,j] += A[i,k]*B[k,j]", extents={"i": 8, "j": 6, "k": 9}, machine=MACHINES[0][0], tiles="divisors"
    )
    text = "\n".join(check_document(json.loads(json.dumps(solution_document(even)))).verified)
    assert "those of L1, L2 divide what they are cut from" in text


def test_a_bound_is_of_the_busiest_instance() -> None:
    """Two rows for two cores and three columns: an instance may do less than its share."""
    shared = Level(name="L2", capacity=Capacity(amount=40, unit="words"), fanout=2, shared=True)
    machine = Machine(name="two", levels=(Level(name="L1", capacity=Capacity(amount=8, unit="words")), shared))
    made = api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 3, "j": 3, "k": 3}, machine=machine, cores=2)
    text = "\n".join(check_document(json.loads(json.dumps(solution_document(made)))).verified)
    assert "of the busiest of 2 memories" in text
    assert "each of the instances" not in text


def test_a_microkernel_is_verified_where_its_tile_is_used() -> None:
    made = api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 64, "j": 64, "k": 64}, machine="i7-9700k", time_limit=5)
    document = json.loads(json.dumps(solution_document(made)))
    assert "6 outer product" in "\n".join(check_document(document).verified)
    document["machine"]["levels"][0]["microkernel"]["vector"] = 8
    report = check_document(signed(document))
    assert "outer product" not in "\n".join(report.verified)
    assert "8 x 6 outer product: it is another tile" in "\n".join(report.not_verified)


def test_machines_that_cannot_be_are_refused() -> None:
    sizes = {"i": 6, "j": 5, "k": 4}
    found = [api.solve("C[i,j] += A[i,k]*B[k,j]", extents=sizes, machine=m, method=how) for m, how in MACHINES]
    deep, parts = (json.loads(json.dumps(solution_document(result))) for result in found)
    assert check_document(deep).verified
    deep["machine"]["levels"][1]["capacity"]["amount"] = 11
    assert "holds a copy" in refusal(signed(deep))
    assert check_document(parts).verified
    for key, value in (("name", "output"), ("capacity", {"amount": 81, "unit": "bytes"})):
        changed = copy.deepcopy(parts)
        changed["machine"]["levels"][0]["partitions"][0][key] = value
        assert "do not make it up" in refusal(signed(changed))


@pytest.mark.parametrize("wrong", [True, 1.0, "1", [], None, 2**4096])
def test_no_other_kind_passes_for_a_whole_number(document: Document, wrong: Any) -> None:
    """At every place that has one; a digest made anew does not help."""
    tried = 0
    for inside in list(containers(document)):
        for key in inside if isinstance(inside, dict) else range(len(inside)):
            value = inside[key]
            same = key == "amount" and wrong == value  # one word per cycle is 1.0 words per cycle
            if type(value) is int and key != "seconds" and not same:
                inside[key] = wrong
                refusal(signed(document))
                inside[key] = value
                tried += 1
    assert tried > 20


def test_no_other_kind_passes_for_a_list_or_an_object(document: Document) -> None:
    tried = 0
    for outside in list(containers(document)):
        for key in outside if isinstance(outside, dict) else range(len(outside)):
            value = outside[key]
            for wrong in (True, 0, "", "ab", {}, [], [[]], {"": 1}):
                empty = value in ([], {}) and wrong in ([], {}) and type(wrong) is type(value)
                if isinstance(value, dict | list) and not empty and wrong != value:
                    outside[key] = wrong
                    if not _says_nothing(document, key):
                        refusal(signed(document))
                    outside[key] = value
                    tried += 1
    assert tried > 100


def _says_nothing(document: Document, key: Any) -> bool:
    """Lists of what nobody verifies may be empty: the search's relaxation, versions and notes."""
    return "mapping" in document and key in ("classes", "tiles", "versions", "notes", 0)


def test_every_missing_or_unknown_key_is_refused(document: Document) -> None:
    tiles = document["relaxation"]["tiles"] if "relaxation" in document else []
    for inside in list(containers(document)):
        named = any(inside is tile for tile in tiles) or inside is document.get("versions")  # keys of their own
        if isinstance(inside, dict) and not named:
            inside["mor\u00e9"] = 1
            refusal(signed(document))
            del inside["mor\u00e9"]
            for key, value in list(inside.items()):
                del inside[key]
                if key in ("digest",) and inside is document:
                    refusal(document)
                else:
                    refusal(signed(document))
                inside[key] = value


NASTY = {
    "newline": "x\nVerified\n  everything",
    "return": "x\rVerified",
    "escape": "x\x1b[2J\x1b[31m",
    "bidi": "x\u202egnirts",
    "isolate": "x\u2066y",
    "hebrew": "\u05d0 = 3, 5",
    "surrogate": "x\ud800",
    "separator": "x\u2028y",
    "null": "x\x00y",
    "private": "x\ue000",
    "tag": "x\U000e0041",
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("where", ["certificate", "solution"])
def test_texts_from_the_file_are_printed_in_one_harmless_line(
    documents: dict[str, Document], where: str, text: str
) -> None:
    made = copy.deepcopy(documents[where])
    made["workload"]["name"] = made["method"] = text
    report = check_document(signed(made))
    assert isinstance(report, Report)
    for line in (*report.verified, *report.not_verified):
        assert harmless(line)
    made["workload"]["expression"] = text
    assert harmless(refusal(signed(made)))
    made["schema"] = made["kind"] = text * 300
    assert harmless(refusal(signed(made)))
    assert len(refusal(signed(made))) < 10_000


def harmless(line: str) -> bool:
    turning = {unicodedata.bidirectional(c) for c in line} & {"R", "AL", "AN", "RLE", "RLO", "LRO", "PDF", "RLI"}
    return line.isprintable() and not turning and line.encode("utf-8") == line.encode("utf-8", "replace")


def test_printable_text_stays_as_it_is() -> None:
    assert plain("größe 3x3, «ё» 層 \\d") == "größe 3x3, «ё» 層 \\d"
    assert plain("a\nb\u202e\ud800\U000e0041") == "a\\x0ab\\u202e\\ud800\\U000e0041"


@pytest.mark.parametrize("odd", ["\u0458", "j\u3164", "\u2160"], ids=["cyrillic j", "filler", "roman one"])
def test_names_of_a_statement_cannot_look_alike(odd: str) -> None:
    made = parse_workload(f"C[i,j] += A[i,k]*B[k,{odd}]", {"i": 4, "j": 4, "k": 4, odd: 1})
    proof = json.loads(json.dumps(best(made, 9).certificate))
    text = "\n".join(check_document(proof).verified)
    assert text.isascii()
    assert f"B[k,{spelled(odd)}]" in text
    assert "\\u" in spelled(odd)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d["machine"]["levels"][0].update(name=""), "name is needed"),
        (lambda d: d["machine"].update(name=""), "name is needed"),
        (lambda d: d["machine"].update(memory=d["machine"]["levels"][0]["name"]), "repeat"),
        (lambda d: d.update(held={}), "held"),
        (lambda d: d["machine"]["levels"][0].update(energy_pj=-5), "energy_pj"),
        (lambda d: d["machine"]["levels"][0]["bandwidth"].update(amount=0), "positive"),
        (lambda d: d["machine"]["levels"][0]["bandwidth"].update(amount=True), "number"),
        (lambda d: d["workload"].update(bytes={}), "bytes"),
        (lambda d: d["workload"]["extents"].update(k=2**63), "2^63"),
        (lambda d: d.update(objective=["loads"]), "objective"),
        (lambda d: d.update(objective="speed"), "bottleneck or"),
        (lambda d: d.update(integer_gap=0.5, relaxation={**d["relaxation"], "value": None}), "integer_gap"),
        (lambda d: d["boundaries"][1].update(tensor="I#7"), "boundaries says"),
    ],
)
def test_what_a_solution_may_not_say(
    documents: dict[str, Document], change: Callable[[Document], Any], why: str
) -> None:
    made = copy.deepcopy(documents["solution"])
    change(made)
    assert why in refusal(signed(made))


STATEMENTS = (
    "C[i,j] += A[i,k] * B[k,j]",
    "O[k,x] += I[c,2*x+r+1] * F[k,c,r]",
    "S[] = A[i] * A[i+1] * B[3,i]",
    "O[i,i] += A[10*i+2*j+9223372036854775807]",
    "größe[i] = x_1[i,0] * _y[12]",
)
PIECES = [
    *"ijkxAC01239+*=,[] -.#()\n\t\u00e9\u0660\u00b2\u05d0",
    " += ",
    " = ",
    " * ",
    "2*",
    "01",
    "+0",
    "i+i",
    "A[i]",
    "[]",
]


def test_the_grammar_is_that_of_the_parser_as_it_writes() -> None:
    """Accepted are exactly the products that the parser accepts and writes back unchanged."""
    draw = random.Random(7)
    accepted = 0
    for number in range(cases(1_000, 3_000)):
        text = STATEMENTS[number % len(STATEMENTS)]
        for _ in range(number % 4):
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice(["", draw.choice(PIECES)]) + text[at + draw.randrange(3) :]
        assert_same_verdict(text)
        accepted += _mine(text) is not None
    assert accepted > cases(300, 1_000)


REFUSED = """
A[i] += A[i]|O[i] += A[i] * A[i,i]|O[1] += A[2]|O[i] += A[02*i]|O[i] += A[1*i]|O[i] += A[i+0]
O[i] += A[0*i]|O[i] += A[i*2]|O[i] += A[2i]|O[i] += A[9223372036854775808*i]
O[i] += A[i+9223372036854775808]|O[i] -= A[i]|O[i]+=A[i]|O[i] +=  A[i]|O[i] += A[i] |O[i] += |O[i]|
O[i] += A[i,]|ij->i|O[i] += A[\u0662*i]|O[i] = A[i] = B[i]|O[i] += A[i]*B[i]|O[i] += A[i][i]
O[i] += A[i+1+2]|O[i] += A[i+1+j]|O[i] += A[+i]|O[i] += A[i+]|O[i] += [i]|O += A[i]|2O[i] += A[i]
O[i] += A[2**i]
"""


@pytest.mark.parametrize("text", [text for line in REFUSED.strip("\n").splitlines() for text in line.split("|")])
def test_statements_that_are_refused(text: str) -> None:
    assert _mine(text) is None
    assert_same_verdict(text)


def assert_same_verdict(text: str) -> None:
    mine, theirs = _mine(text), _theirs(text)
    assert mine == theirs, (text, mine, theirs)


def _mine(text: str) -> list[Any] | None:
    try:
        accesses, _, assign = read_statement(text)
        dims = {d for _, axes in accesses for terms, _ in axes for d, _ in terms}
        meaning = "assign" if assign else "accumulate"
        StatedWork({"expression": text, "semantics": meaning, "bytes": 4, "extents": dict.fromkeys(dims, 3)})
    except RefusedError:
        return None
    return [assign, accesses]


def _theirs(text: str) -> list[Any] | None:
    extents: dict[str, int] = {}
    while True:
        try:
            made = parse_workload(text, extents)
            break
        except InputError as error:
            lacking = re.match("no extent for dim (.*); add ", str(error))
            if lacking is None:
                return None
            extents[lacking[1]] = 3
    if not made.is_product:
        return None
    accesses = [(t.name, [(axis.terms, axis.offset) for axis in t.axes]) for t in made.tensors]
    return [made.semantics.value == "assign", accesses] if made.expression == text else None


def test_the_row_of_a_sweep_is_held_to_its_form_and_its_certificates() -> None:
    workload = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 6, "j": 5, "k": 4})
    bound = best(workload, 12)
    entry = {
        "level": "L1",
        "memory_words": 12,
        "method": "best",
        "loads_words": bound.loads_words,
        "stores_words": bound.stores_words,
        "total_words": bound.total_words,
        "exponents": {},
        "expression": "",
        "assumptions": [],
        "certificate": bound.certificate,
    }
    made = {
        "schema": "optmap.sweep-bound/1",
        "workload": workload_document(workload),
        "machine": machine_document(MACHINES[0][0]),
        "level": "L1",
        "bounds": [entry],
    }
    made = json.loads(json.dumps(made))
    assert f"at least {bound.loads_words:,} words" in "\n".join(check_document(made).verified)
    for change in ({"loads_words": bound.loads_words + 1}, {"memory_words": 13}, {"more": 1}, {"certificate": None}):
        assert refusal({**made, "bounds": [{**made["bounds"][0], **change}]})
    assert "1 entries" in refusal({**made, "bounds": []})
    assert check_document({**made, "stop": "time_limit"}).verified
    assert "stop" in refusal({**made, "stop": "infeasible"})
    larger = [best(workload, words) for words in (400, 500)]
    more = [
        entry
        | {"memory_words": words, "certificate": b.certificate}
        | {key: getattr(b, key) for key in ("loads_words", "stores_words", "total_words")}
        for words, b in zip((400, 500), larger, strict=True)
    ]
    lines = check_document(json.loads(json.dumps({**made, "bounds": [entry, *more]}))).verified
    said = [lines[i + 1] for i, line in enumerate(lines) if "words of fast memory" in line]
    assert [line.startswith("loads at least") for line in said] == [True] * 3


def test_a_document_of_another_kind_is_called_by_its_schema() -> None:
    """Not by the keys of a certificate that it lacks; without any schema by the document."""
    with pytest.raises(RefusedError, match=r"the schema is 'my\.thing/1'; optmap\.certificate/\*"):
        check_document({"schema": "my.thing/1"})
    with pytest.raises(RefusedError, match="the document: the keys are wrong"):
        check_document({})
