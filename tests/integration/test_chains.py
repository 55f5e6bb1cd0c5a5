"""Chains of statements at the shell: shown in full, and refused by name where one statement is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import optmap
from optmap.base.errors import InputError, OneStatementError
from optmap.cli.app import COMMANDS, app
from optmap.files.workloads import workload_document

CHAIN = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
EXTENTS = "m=8,l=8,k=4,n=4"
REFUSED = "has 2 statements (S, C); this takes one: give one by itself, as 'S[m,l] = A[m,k] * B[k,l]'"
FILE = """
name: pair
statements:
  - S[m,l] = A[m,k]*B[k,l]
  - C[m,n] = S[m,l]*D[l,n]
extents: {m: 8, l: 8, k: 4, n: 4}
"""


def run(*args: str | Path) -> Result:
    """`optmap ARGS…`, in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_a_chain_is_shown_in_full() -> None:
    shown = run("show", CHAIN, "--extents", EXTENTS)
    assert shown.exit_code == 0
    assert "statements  S[m,l] = A[m,k] * B[k,l]\n            C[m,n] = S[m,l] * D[l,n]\n" in shown.stdout
    assert "outputs     C\noperations  512\n" in shown.stdout
    cells = [line.split() for line in shown.stdout.splitlines()]
    assert ["S", "sum", "of", "products", "k", "256"] in cells
    assert ["S", "S[m,l]", "intermediate", "4", "64", "64"] in cells
    assert ["C", "D[l,n]", "input", "4", "32", "32"] in cells
    assert ["C", "C[m,n]", "output", "4", "32", "32"] in cells


def test_a_chain_as_a_document_says_who_writes_and_reads() -> None:
    document = json.loads(run("show", CHAIN, "--extents", EXTENTS, "--json").stdout)
    assert document["statements"] == [
        {"expression": "S[m,l] = A[m,k] * B[k,l]", "output": "S", "inputs": ["A", "B"]},
        {"expression": "C[m,n] = S[m,l] * D[l,n]", "output": "C", "inputs": ["S", "D"]},
    ]
    assert document["expression"] == "S[m,l] = A[m,k] * B[k,l]; C[m,n] = S[m,l] * D[l,n]"
    assert document["semantics"] == "assign"
    assert "outputs" not in document


def test_outputs_can_be_named() -> None:
    shown = run("show", CHAIN, "--extents", EXTENTS, "--output", "S")
    assert "outputs     S C\n" in shown.stdout
    assert json.loads(run("show", CHAIN, "--extents", EXTENTS, "--output", "S,C", "--json").stdout)["outputs"] == ["S"]
    wrong = run("show", CHAIN, "--extents", EXTENTS, "--output", "A")
    assert wrong.exit_code == 2
    assert "outputs: A is an input by itself; name what is written and read" in wrong.stderr
    assert run("show", "i7-9700k", "--output", "S").exit_code == 2
    assert optmap.workload(CHAIN, EXTENTS, outputs=["S"]).outputs == ("S",)
    assert optmap.show("chains/mlp", outputs="H").value.outputs == ("H",)


def test_masks_and_rows_are_shown() -> None:
    text = run("show", "chains/attention-causal").stdout
    assert "O[h,m,e] = P[h,m,l] * V[h,l,e] if l <= m" in text
    assert "softmax along l, online  none          6,297,600\n" in text  # 12 * 1024 * 1025 / 2
    assert "in place    S is P\n" in text
    too_many = run(
        "show", "S[m,l] = Q[m,d]*K[l,d] if l <= m; O[m] = S[m,l] if l <= m", "--extents", "m=1000000,l=1000000,d=2"
    )
    assert too_many.exit_code == 0
    assert "operations  too many to count" in too_many.stdout


def test_a_mistake_in_a_chain_is_shown_at_its_character() -> None:
    wrong = run("show", CHAIN.replace("D[l,n]", "S[l]"), "--extents", EXTENTS)
    assert wrong.exit_code == 2
    assert wrong.stderr.splitlines()[0] == "error: S has 2 subscripts before and 1 here"
    assert wrong.stderr.splitlines()[2].index("^") == 2 + CHAIN.index("D[l,n]")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workload file, a network and a sweep of the chain, and a solution of it."""
    folder = tmp_path_factory.mktemp("chains")
    (folder / "chain.yaml").write_text(FILE)
    (folder / "network.yaml").write_text("workloads:\n  pair:" + FILE.replace("\n", "\n    "))
    (folder / "sweep.yaml").write_text("workloads: [chain.yaml]\nmachines: [balanced]\nmethods: [mopt]\n")
    one, sizes = "S[m,l] = A[m,k]*B[k,l]", "m=8,l=8,k=4"
    chain = workload_document(optmap.workload(CHAIN, EXTENTS))
    for name, solution in (
        ("solution", optmap.solve(one, extents=sizes, memory="64w")),
        ("nest", optmap.solve(one, extents=sizes, machine="eyeriss_like", method="quickflow")),
    ):
        (folder / f"{name}.json").write_text(json.dumps({**solution.to_dict(), "workload": chain}))
    return folder


WORDS = (CHAIN, "--extents", EXTENTS)
CASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "derive": (WORDS, (*WORDS, "--classes")),
    "closed-form": (WORDS,),
    "solve": ((*WORDS, "--machine", "eyeriss_like", "--method", "exact"),),
    "race": ((*WORDS, "--machine", "eyeriss_like"), ("{files}/chain.yaml", "--machine", "eyeriss_like")),
    "algorithms": ((*WORDS, "--memory", "64w:640w"),),
    "evaluate": (("{files}/solution.json",), ("{files}/nest.json",)),
    "export": ((*WORDS, "--memory", "64w", "--format", "text"), ("{files}/nest.json", "--format", "timeloop")),
    "emit": ((*WORDS, "--machine", "i7-9700k", "-o", "{files}/code"),),
    "run": ((*WORDS, "--machine", "i7-9700k"),),
    "bench": ((*WORDS, "--machine", "i7-9700k"),),
    "validate": ((*WORDS, "--machine", "i7-9700k"),),
    "sweep": (("{files}/sweep.yaml", "--plan"), ("{files}/sweep.yaml", "-o", "{files}/rows")),
    "network": (
        ("{files}/network.yaml", "--machine", "balanced"),
        ("{files}/network.yaml", "--memory", "64w:640w", "--curve"),
    ),
    "sensitivity": ((*WORDS, "--machine", "eyeriss_like"),),
}
"""Per command what it is given of a chain."""
OTHERS = {
    "bound",
    "compare",
    "curve",
    "list",
    "show",
    "randomized",
    "check",
    "conformance",
    "doctor",
    "detect",
    "plot",
    "import",
    "score",
    "reproduce",
}
"""Commands that describe or bound a chain, or to which none can be given: they take no workload, or another file."""


def test_every_command_is_tried() -> None:
    assert {*CASES, *OTHERS} == set(COMMANDS)
    assert not OTHERS & set(CASES)


@pytest.mark.parametrize(
    ("command", "args"), [(command, args) for command, several in CASES.items() for args in several], ids=str
)
def test_what_takes_one_statement_refuses_a_chain_by_name(command: str, args: tuple[str, ...], files: Path) -> None:
    found = run(command, *(arg.replace("{files}", str(files)) for arg in args))
    assert found.exit_code == 2
    assert f"error: optmap {command}: " in found.stderr
    assert REFUSED in found.stderr


def test_solutions_of_a_chain_are_not_shown_as_those_of_one_statement(files: Path) -> None:
    for args in (("solution.json",), ("solution.json", "--nest"), ("nest.json",), ("nest.json", "--nest")):
        found = run("show", files / args[0], *args[1:])
        assert found.exit_code == 2
        assert REFUSED in found.stderr


def test_one_statement_that_is_no_product_is_refused_as_well() -> None:
    for text in ("P[m,l] = softmax(S[m,l], l)", "P[m,l] = S[m,l] if l <= m", "P[m] max= S[m,l]", "P[m,l] = 2*S[m,l]"):
        found = run("solve", text, "--extents", "m=8,l=8", "--memory", "64w")
        assert found.exit_code == 2
        assert "is no plain sum of products; this takes one statement such as" in found.stderr
        assert run("show", text, "--extents", "m=8,l=8").exit_code == 0


def test_verbs_in_python_refuse_a_chain() -> None:
    chain = optmap.workload("chains/attention")
    for ask in (
        lambda: optmap.solve(chain, machine="eyeriss", method="exact"),
        lambda: optmap.derive(chain),
    ):
        with pytest.raises(OneStatementError, match=r"chains/attention has 2 statements \(S, O\); this takes one"):
            ask()
    alone = chain.alone("S")
    assert optmap.bound(alone, memory="64KiB").to_dict()["workload"]["name"] == "chains/attention: S"


def test_methods_of_chains_are_compared_and_read_back(tmp_path: Path) -> None:
    extents, file = {"m": 64, "l": 64, "k": 16, "n": 16}, tmp_path / "it.json"
    found = optmap.compare(CHAIN, extents=extents, memory="64w:2435w")
    assert (found.methods, found.left_out) == (("fused", "apart"), {})
    for row in found.rows:
        assert row.bound_words <= row.found["fused"].words <= row.found["apart"].words
        assert row.found["fused"].words == optmap.solve(CHAIN, extents=extents, memory=f"{row.memory_words}w").cost
    found.save(file)
    assert str(optmap.load(file)) == str(found)
    assert len(optmap.compare(CHAIN, extents=extents, machine="balanced").rows) == 3


@pytest.mark.parametrize("verb", ["solve", "bound"])
def test_a_chain_of_the_library_is_known_by_its_name(verb: str, tmp_path: Path) -> None:
    for extents, known in (((), True), (("--extents", "h=2"), False)):
        file = tmp_path / f"{known}.json"
        assert run(verb, "chains/attention", *extents, "--memory", "64KiB", "-o", file).exit_code == 0
        assert ("NOT chains/attention of the library" in run("check", file).stdout) is not known


def test_floors_of_a_chain(tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    found = run("bound", *WORDS, "--memory", "64w", "-o", file)
    assert found.exit_code == 0
    assert "no floor of the chain" in found.stdout
    document = json.loads(run("bound", *WORDS, "--memory", "64w", "--json").stdout)
    rows = {row["method"]: row for row in document["bounds"]}
    assert all(row["certified"] and row["expression"] and row["assumptions"] for row in rows.values())
    assert (rows["compulsory"]["loads_words"], rows["compulsory"]["stores_words"]) == (96, 32)
    assert document["best"]["total_words"] == max(row["total_words"] for row in rows.values())
    alone = document["statements_alone"]
    assert alone["note"] == "no floor of the chain"
    assert alone["total_words"] == sum(alone["statements"].values())
    checked = run("check", file)
    assert "for S[m,l] = A[m,k] * B[k,l]; C[m,n] = S[m,l] * D[l,n] (assign" in checked.stdout
    assert f"moves {document['best']['total_words']} words in all" in checked.stdout
    assert "brascamp_lieb" in run("bound", *WORDS, "--memory", "64w", "--methods", "brascamp_lieb").stderr


def test_files_of_chains(tmp_path: Path) -> None:
    path = tmp_path / "pair.yaml"
    path.write_text(FILE + "outputs: [S]\nbytes: {S: 4, A: 1, B: 1, C: 4, D: 2}\n")
    made = optmap.workload(path)
    assert made.name == "pair"
    assert made.outputs == ("S",)
    assert [access.bits for access in made.accesses] == [32, 8, 8, 32, 32, 16]
    again = tmp_path / "again.yaml"
    again.write_text(optmap.show(path).yaml)
    assert optmap.workload(again) == made
    made.save(tmp_path / "saved.yaml")
    assert optmap.load(tmp_path / "saved.yaml") == made
    assert run("show", path, "--yaml").stdout == again.read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("statements: []\nextents: {m: 1}", "statements is an empty list; a list with at least one text is needed"),
        ("statements: S[m] = A[m]\nextents: {m: 1}", "a list with at least one text is needed"),
        ("statements: [3]\nextents: {m: 1}", "statements[0]: a mapping (key: value) is needed"),
        ("statements: ['S[m] = A[m]']", "extents"),
        ("statements: ['S[m] = A[m]']\nexpression: S[m] = A[m]\nextents: {m: 1}", "expression and statements exclude"),
        ("statements: ['S[m] = ']\nextents: {m: 1}", "expected a tensor, as in A[i,k], found the end"),
        ("statements: ['S[m] = A[m]']\noutputs: S\nextents: {m: 1}", "outputs is 'S'; a list of texts is needed"),
        ("statements: ['S[m] = A[m]']\noutputs: [T]\nextents: {m: 1}", "outputs: no tensor T"),
        ("matmul: {i: 1, j: 1, k: 1}\noutputs: [C]", "outputs go with statements"),
    ],
)
def test_files_of_chains_are_read_strictly(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        optmap.workload(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_certificate_of_a_chain_of_the_library_is_checked_from_its_file(optmap, tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    optmap("bound", "chains/mlp", "--memory", "65536w", "-o", file)
    said = optmap("check", file).out
    assert "what is listed as verified holds" in said
    assert "NOT chains/mlp" not in said


def test_what_is_explained_is_one_statement(optmap) -> None:
    chain = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
    run = optmap("bound", chain, "--extents", "m=8,l=8,k=4,n=4", "--memory", "100w", "--explain", code=2)
    assert "leave out --explain" in run.err
