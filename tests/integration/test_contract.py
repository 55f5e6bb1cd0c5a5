"""Commands, documents and exit codes that scripts rely on."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from cases import Run, some

from optmap.cli import console
from optmap.files import library
from optmap.files.library import models_path
from optmap.search import METHODS

MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=40,j=30,k=20")
COMMANDS = (
    "list",
    "show",
    "derive",
    "closed-form",
    "solve",
    "evaluate",
    "export",
    "doctor",
    "detect",
    "emit",
    "run",
    "bench",
    "validate",
    "bound",
    "compare",
    "curve",
    "race",
    "sensitivity",
    "check",
    "conformance",
    "algorithms",
    "randomized",
    "sweep",
    "plot",
    "network",
    "import",
    "score",
    "reproduce",
)


@pytest.fixture(scope="module")
def solved(optmap) -> dict[str, Any]:
    return optmap("solve", "resnet18/R9", "--machine", "i7-9700k", "--json").document()


def test_help_lists_the_commands_and_only_those(optmap) -> None:
    run = optmap("--help")
    text = run.out.split("Commands:")[1].split("\n\n")[0]
    listed = [line.split()[0] for line in text.splitlines() if re.match(r"  \w", line)]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples_and_json(optmap, command: str) -> None:
    run = optmap(command, "--help")
    assert f"  optmap {command}" in run.out
    assert "--json" in run.out
    assert "\x1b" not in run.out


def test_version(optmap) -> None:
    assert optmap("--version").out.startswith("optmap 0.")


def test_list(optmap) -> None:
    everything = optmap("list", "--json").document()
    kinds = {"workloads", "machines", "methods", "networks", "sweeps", "bounds", "objectives"}
    assert set(everything) == {"schema", *kinds}
    names = optmap("list", "workloads").out.split()
    assert names == everything["workloads"]
    assert {"resnet18/R9", "yolo9000/Y0", "mobilenet/M1d", "quickflow/XX"} <= set(names)
    assert {"i7-9700k", "i9-10980xe", "balanced"} <= set(optmap("list", "machines").out.split())
    assert "mopt" in {row["name"] for row in everything["methods"]}


def test_show(optmap) -> None:
    workload = optmap("show", "resnet18/R9", "--json").document()
    assert workload["expression"] in optmap("show", "resnet18/R9").out
    assert workload["extents"]["k"] == 256
    machine = optmap("show", "i7-9700k", "--json").document()
    assert [level["name"] for level in machine["levels"]] == ["Reg", "L1", "L2", "L3"]
    assert machine["cores"] == 8
    assert "12,582,912 bytes" in optmap("show", "i7-9700k").out


def test_derive_classes(optmap) -> None:
    document = optmap("derive", *MATMUL, "--classes", "--json").document()
    assert document["permutations"] == 6
    assert len(document["classes"]) == 3
    for entry in document["classes"]:
        assert sorted(entry["representative"]) == ["i", "j", "k"]
        assert set(entry["traffic"]) == {"A", "B", "C"}
    for entry in document["dominated"]:
        assert {"class", "by", "proof"} <= set(entry)
    text = optmap("derive", *MATMUL, "--classes").out
    assert "3 classes" in text


def test_derive_permutation(optmap) -> None:
    document = optmap("derive", *MATMUL, "--permutation", "i,j,k", "--levels", "2", "--json").document()
    assert document["permutation"] == ["i", "j", "k"]
    assert document["text"] == optmap("derive", *MATMUL, "--permutation", "i,j,k", "--levels", "2").out
    assert document["latex"] == optmap("derive", *MATMUL, "--permutation", "i,j,k", "--levels", "2", "--latex").out


def test_solve_document_has_the_fixed_keys(solved: dict[str, Any]) -> None:
    assert (solved["schema"], solved["word_bits"]) == ("optmap.solution/2", 32)
    assert {"name", "expression", "extents", "bytes", "semantics"} <= set(solved["workload"])
    assert set(solved["status"]) == {"stop", "point", "proved", "within", "space"}
    for level in solved["mapping"]["levels"]:
        assert set(level) == {"level", "tile", "permutation", "spatial"}
    for boundary in solved["boundaries"]:
        assert set(boundary) == {"between", "tensor", "loads_words", "stores_words"}
    keys = {"level", "occupancy_words", "capacity_words", "traffic_words", "bandwidth_words_per_cycle", "cycles"}
    for level in solved["levels"]:
        assert set(level) == keys
        assert level["occupancy_words"] <= level["capacity_words"]
    assert set(solved["cost"]) == set(solved["exact"]) == {"value", "unit"}
    assert {"value", "proved", "formulation", "tolerance"} <= set(solved["relaxation"])
    assert {"integer_gap", "seconds", "seed", "versions", "capacity_rule", "bottleneck", "notes"} <= set(solved)
    assert [level["level"] for level in solved["mapping"]["levels"]] == ["Reg", "L1", "L2", "L3"]


def test_solve_numbers_agree_with_each_other(solved: dict[str, Any]) -> None:
    slowest = max(solved["levels"], key=lambda level: level["cycles"])
    assert solved["cost"]["value"] == pytest.approx(slowest["cycles"], rel=1e-12)
    assert solved["relaxation"]["proved"] is True
    assert solved["relaxation"]["value"] <= solved["cost"]["value"] * (1 + 1e-9)
    gap = solved["cost"]["value"] / solved["relaxation"]["value"] - 1
    assert solved["integer_gap"] == pytest.approx(gap, abs=1e-9)
    for level in solved["levels"]:
        assert level["cycles"] == pytest.approx(level["traffic_words"] / level["bandwidth_words_per_cycle"])


def test_two_level_machine_costs_words(optmap) -> None:
    document = optmap("solve", *MATMUL, "--memory", "300w", "--json").document()
    assert document["cost"]["unit"] == "words"
    assert document["machine"]["levels"][0]["capacity"] == {"amount": 300, "unit": "words"}
    assert [row["between"] for row in document["boundaries"]] == [["Fast", "Memory"]] * 3


def test_same_seed_same_answer_in_any_process(optmap, optmap_process) -> None:
    args = ("solve", *MATMUL, "--machine", "balanced", "--seed", "3", "--json")
    first, second = (run(*args).document() for run in (optmap, optmap_process))
    for document in (first, second):
        del document["seconds"]
    assert first == second


def test_time_limit_keeps_the_incumbent(optmap) -> None:
    run = optmap("solve", "yolo9000/Y23", "--machine", "balanced", "--time-limit", "0.001", "--json", code=4)
    document = run.document()
    assert document["status"]["stop"] == "time_limit"
    assert all(level["occupancy_words"] <= level["capacity_words"] for level in document["levels"])
    assert "limit" in run.err


def test_table_is_plain_and_complete(optmap, solved: dict[str, Any]) -> None:
    text = optmap("solve", "resnet18/R9", "--machine", "i7-9700k").out
    assert "\x1b" not in text
    for word in ("Reg", "L1", "L2", "L3", "<- bottleneck", "relaxation", "integer gap", "loads (words)", "exact"):
        assert word in text
    for row in solved["boundaries"]:
        assert f"{row['loads_words']:,}" in text


CORE = """name: small
core: {vector_bytes: 32, registers: 16, fma_ports: 2, fma_latency: 4, load_ports: 2}
levels: [{name: Reg, capacity: 512B, bandwidth: 64B}, {name: L1, capacity: 32KiB, bandwidth: 32B, kind: cache}]
"""


def test_every_method_in_the_list_solves(optmap, tmp_path: Path) -> None:
    """A layer so small, below one memory, that no method comes near a limit on a busy machine."""
    host = tmp_path / "small.yaml"  # the one that counts time needs to know what a core computes with
    host.write_text(CORE)
    statement, usual = "Out[n,k,h,w] += In[n,c,h+r,w+s]*Ker[k,c,r,s]", "n=1,k=8,c=4,h=6,w=6,r=3,s=3"
    few = "n=1,k=4,c=2,h=2,w=2,r=3,s=1"  # for the one that looks at every mapping, and the one that takes seconds
    tiny = {"exhaustive"} if Run.longer else {"exhaustive", "allocation"}
    for row in optmap("list", "methods", "--json").document()["methods"]:
        where = ("--machine", "gemmini-buffers") if row["name"].startswith("gemmini") else ("--memory", "1KiB")
        where = ("--machine", "eyeriss") if METHODS[row["name"]].suits(library.machine("eyeriss")) else where
        where = ("--machine", host) if row["name"] == "timed" else where
        layer = (statement, "--extents", few if row["name"] in tiny else usual)
        if METHODS[row["name"]].routes[0].chains:
            layer = ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", "--extents", "m=4,l=4,k=4,n=4")
        args = ("solve", *layer, *where, "--method", row["name"], "--time-limit", "600", "--json")
        document = optmap(*args).document()
        assert document["method"] == row["name"]
        assert document["status"]["stop"] in ("optimal", "search_ended")


def test_output_file_is_the_json_document_and_evaluates(optmap, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    printed = optmap("solve", *MATMUL, "--memory", "300w", "--json", "-o", file).document()
    assert json.loads(file.read_text()) == printed
    document = optmap("evaluate", file, "--json").document()
    assert document["cost"] == printed["cost"]
    assert document["exact"] == printed["exact"]
    assert document["boundaries"] == printed["boundaries"]
    assert document["levels"] == printed["levels"]
    assert "<- bottleneck" in optmap("evaluate", file).out


@pytest.mark.parametrize("semantics", ["accumulate", "assign"])
@pytest.mark.parametrize("machine", ["balanced", "i9-10980xe"])
def test_evaluate_agrees_with_solve(optmap, tmp_path: Path, machine: str, semantics: str) -> None:
    file = tmp_path / "s.json"
    args = ("solve", "resnet18/R9", "--machine", machine, "--semantics", semantics, "--json", "-o", file)
    printed = optmap(*args).document()
    document = optmap("evaluate", file, "--json").document()
    assert document["boundaries"] == printed["boundaries"]
    assert document["exact"] == printed["exact"]


def test_simulate_counts_what_the_closed_form_counts(optmap, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    args = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=9,j=7,k=5")
    optmap("solve", *args, "--memory", "40w", "-o", file)
    document = optmap("evaluate", file, "--simulate", "--json").document()
    assert {row["policy"] for row in document["simulation"]} == {"tile", "lru", "belady"}
    walked = [row for row in document["simulation"] if row["policy"] == "tile"]
    assert sum(row["loads_words"] + row["stores_words"] for row in walked) == document["exact"]["value"]
    counted = optmap("evaluate", file, "--counting", "per-level", "--json").document()
    both = optmap("evaluate", file, "--counting", "per-level", "--simulate", "--json").document()
    assert both["boundaries"] == counted["boundaries"]
    assert both["simulation"] == document["simulation"]
    for counting in ("per-level", "exact"):
        said = optmap("evaluate", file, "--counting", counting, "--simulate").out
        assert f"Traffic, counting {counting}\n" in said
        assert f"Levels, counting {counting}: " in said
    assert "Traffic of the whole nest, exact\n" in optmap("evaluate", file).out


def edited(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    made = copy.deepcopy(document)
    place: Any = made
    *parts, last = path.split(".")
    for part in parts:
        place = place[int(part)] if part.isdigit() else place[part]
    place[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "code", "words"),
    [
        ("cost.value", 1.0, 5, ["cost"]),
        ("exact.value", 1.0, 5, ["exact"]),
        ("boundaries.0.loads_words", 1, 5, ["loads"]),
        ("machine.levels.1.capacity.amount", 512, 5, ["L1", "short"]),
        ("schema", "optmap.solution/3", 2, ["schema", "optmap.solution/2"]),
        ("schema", "optmap.solution/1", 2, ["schema", "older optmap; solve again"]),
        ("mapping.levels.0.tile", {"n": 1}, 2, ["Reg", "tile"]),
        ("mapping.levels.0.permutation", ["n"], 2, ["Reg", "permutation"]),
        ("mapping.levels.1.level", "L7", 2, ["L7"]),
        ("machine.levels.0.bandwidth.amount", 0, 2, ["bandwidth"]),
        ("machine.levels.0.bandwidth.amount", "1/0", 2, ["bandwidth"]),
        ("machine.levels.0.bandwidth.unit", "bits", 2, ["bandwidth", "words"]),
        (
            "machine.levels.3.bandwidth",
            {"amount": 64, "unit": "words"},
            5,
            ["checker refuses", "L3 moves 64 words per cycle"],
        ),
        ("machine.levels.0.kind", "drum", 2, ["kind", "drum"]),
        ("machine.cores", 3, 2, ["cores"]),
        ("workload.extents.k", 0, 2, ["workload", "k"]),
        ("workload.expression", "Out[n", 2, ["workload", "^"]),
        ("workload.semantics", "maybe", 2, ["semantics", "maybe"]),
        ("capacity_rule", "loose", 2, ["capacity_rule", "loose"]),
        ("maping", {}, 2, ["maping", "mapping"]),
    ],
)
def test_edited_documents_are_caught(
    *, optmap, solved: dict[str, Any], tmp_path: Path, path: str, value: object, code: int, words: list[str]
) -> None:
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(edited(solved, path, value)))
    run = optmap("evaluate", file, code=code)
    assert "edited.json" in run.err
    for word in words:
        assert word in run.err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "\udcff"])
def test_files_that_are_no_documents(optmap, tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "broken.json" in optmap("evaluate", file, code=2).err


def test_hand_written_mapping_is_evaluated(optmap, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    document = {
        "schema": "optmap.solution/2",
        "workload": {
            "name": "",
            "expression": "C[i,j] += A[i,k] * B[k,j]",
            "extents": {"i": 8, "j": 8, "k": 8},
            "bytes": 4,
            "semantics": "accumulate",
        },
        "machine": {
            "name": "mine",
            "memory": "Memory",
            "levels": [
                {
                    "name": "Fast",
                    "capacity": {"amount": 64, "unit": "words"},
                    "bandwidth": {"amount": 1, "unit": "words"},
                }
            ],
        },
        "mapping": {
            "levels": [{"level": "Fast", "tile": {"i": 4, "j": 4, "k": 1}, "permutation": ["i", "j", "k"]}],
        },
    }
    file.write_text(json.dumps(document))
    # C stays while k runs: 64 loads and stores; A and B are streamed once per tile of C: 8*8*8/4 each.
    found = optmap("evaluate", file, "--json").document()
    assert found["exact"] == {"value": 2 * 64 + 2 * 128, "unit": "words"}


@pytest.mark.parametrize("form", some(["text", "nl"], ["text", "latex", "nl", "lp", "mps"]))
def test_export_is_the_same_text_in_any_process(optmap, optmap_process, form: str) -> None:
    first = optmap("export", *MATMUL, "--memory", "300w", "--format", form).out
    assert first
    assert first == optmap_process("export", *MATMUL, "--memory", "300w", "--format", form).out
    document = optmap("export", *MATMUL, "--memory", "300w", "--format", form, "--json").document()
    assert document["content"].rstrip("\n") == first.rstrip("\n")


def test_export_writes_a_file_and_takes_one_order_per_level(optmap, tmp_path: Path) -> None:
    file = tmp_path / "program.txt"
    args = ("export", *MATMUL, "--machine", "balanced", "--format", "text", "-o", file)
    orders = [("--permutation", order) for order in ("i,j,k", "j,k,i", "k,i,j")]
    assert optmap(*args, *orders[0], *orders[1], *orders[2]).out == ""
    mixed = file.read_text()
    optmap(*args, *orders[0])
    assert mixed != file.read_text()
    assert "2 loop orders for 3 levels" in optmap(*args, *orders[0], *orders[1], code=2).err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*MATMUL, "--machine", "balanced"), ["--memory", "--format lp"]),
        ((*MATMUL, "--memory", "300w", "--permutation", "i,j,k"), ["--permutation"]),
        (
            ("O[x] += A[x+y]*B[x+z]*C[y+z]", "--extents", "x=9,y=9,z=9", "--memory", "300w"),
            ["projective", "convolution"],
        ),
    ],
)
def test_export_says_what_a_linear_format_cannot_hold(optmap, args: tuple[str, ...], words: list[str]) -> None:
    run = optmap("export", *args, "--format", "lp", code=2)
    for word in words:
        assert word in run.err


def test_the_linear_program_of_a_convolution_is_the_lifted_one(optmap) -> None:
    written = optmap("export", "resnet50/conv2", "--memory", "8192w", "--format", "lp").out
    assert written.strip() == (models_path() / "programs" / "resnet50_conv2_lifted_tiling.lp").read_text().strip()
    assert "r_high" in optmap("export", "resnet18/R1", "--memory", "8192w", "--format", "mps").out


def test_export_of_what_does_not_fit_is_infeasible(optmap) -> None:
    assert optmap("export", *MATMUL, "--memory", "2w", "--format", "text", code=3).out == ""


def test_doctor(optmap) -> None:
    document = optmap("doctor", "--json").document()
    assert document["compiler"]["passed"]
    assert document["compiler"]["version"] in optmap("doctor").out
    by_name = {row["solver"]: row for row in document["solvers"]}
    assert {"ipopt", "highs"} <= set(by_name)
    assert by_name["ipopt"]["available"] is True
    assert by_name["ipopt"]["version"] in optmap("doctor").out


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (("bound", "resnet18/R99", "--memory", "8KiB"), 2, "UnknownNameError"),
        (("bound", "resnet18/R9", "--memory", "8"), 2, "InputError"),
        (("solve", "resnet18/R9", "--memory", "2w"), 3, "InfeasibleError"),
        (("check", "none.json"), 2, "InputError"),
        (("show", "nosuch"), 2, "UnknownNameError"),
        (("bound", "resnet18/R9", "--nosuch"), 2, "InputError"),
        (("bound",), 2, "InputError"),
        (("list", "workload"), 2, "UnknownNameError"),
    ],
)
def test_errors_are_one_document_under_json(optmap, args, code, kind) -> None:
    run = optmap(*args, "--json", code=code)
    document = run.document()
    assert document["schema"] == "optmap.error/1"
    assert document["error"]["kind"] == kind
    assert document["error"]["exit"] == code
    assert document["error"]["message"].splitlines()[0] in run.err


def test_a_refused_check_is_still_one_document(optmap, tmp_path) -> None:
    path = tmp_path / "forged.json"
    path.write_text('{"schema": "optmap.certificate/1"}')
    assert optmap("check", path, "--json", code=5).document()["refused"]


def test_show_prints_files_and_loop_nests(optmap, tmp_path) -> None:
    (tmp_path / "mine.yaml").write_text(optmap("show", "resnet18/R9", "--yaml").out)
    mine = optmap("show", tmp_path / "mine.yaml", "--json").document()
    assert mine["extents"] == optmap("show", "resnet18/R9", "--json").document()["extents"]
    assert "capacities:" in optmap("show", "yolo_caches").out
    assert "21 layers" in optmap("show", "resnet18").out
    optmap("solve", *MATMUL, "--memory", "100w", "-o", tmp_path / "s.json")
    nest = optmap("show", tmp_path / "s.json", "--nest").out
    assert nest.startswith("/* ")
    assert nest.rstrip().endswith("C[i][j] += A[i][k] * B[k][j];")
    assert "--nest needs a solution" in optmap("show", "resnet18/R9", "--nest", code=2).err


def test_what_was_said_before_does_not_silence_an_error(optmap, capsys) -> None:
    console.say("said by the program that calls")
    assert optmap("bound", "--json", code=2).document()["schema"] == "optmap.error/1"
