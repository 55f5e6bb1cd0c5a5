"""Whatever a user types is answered with a typed message or a correct answer, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

MATMUL = "C[i,j] += A[i,k]*B[k,j]"
MACHINE = (
    "name: toy\nlevels:\n  - {name: L1, capacity: 64w, bandwidth: 4}\n  - {name: L2, capacity: 512w, bandwidth: 2}\n"
)
WORKLOAD = f'name: toy\nexpression: "{MATMUL}"\nextents: {{i: 8, j: 8, k: 8}}\n'


def matmul(i: object = 8, j: object = 8, k: object = 8) -> tuple[str, ...]:
    return ("solve", MATMUL, "--extents", f"i={i},j={j},k={k}")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("solve", "nosuch", "--memory", "64w"), ["nosuch"]),
        (("solve", "resnet18/R99", "--memory", "64w"), ["resnet18/R9"]),
        (("solve", "resnet18/R9", "--machine", "i7-9700"), ["i7-9700k"]),
        (("show", "i7-9700"), ["i7-9700k"]),
        ((*matmul(), "--memory", "8192"), ["8192", "KiB"]),
        ((*matmul(), "--memory", "0w"), ["0w"]),
        ((*matmul(), "--memory", "-4w"), ["-4w"]),
        ((*matmul(), "--memory", "nan"), ["nan"]),
        (matmul(), ["--machine", "--memory"]),
        ((*matmul(), "--machine", "i7-9700k", "--memory", "64w"), ["--machine", "--memory"]),
        ((*matmul(i=0), "--memory", "64w"), ["i=0"]),
        ((*matmul(i=-3), "--memory", "64w"), ["i=-3"]),
        ((*matmul(i=2**63), "--memory", "64w"), [str(2**63), "2^63"]),
        ((*matmul(i="1.5"), "--memory", "64w"), ["1.5"]),
        ((*matmul(i="nan"), "--memory", "64w"), ["nan"]),
        (("solve", MATMUL, "--memory", "64w"), ["--extents"]),
        (("solve", MATMUL, "--extents", "i=8,j=8", "--memory", "64w"), ["k"]),
        (("solve", MATMUL, "--extents", "i=8,j=8,k=8,z=8", "--memory", "64w"), ["z"]),
        (("solve", MATMUL, "--extents", "i=8,j=8,k=8,i=9", "--memory", "64w"), ["i"]),
        (("solve", "C[i,j] += A[i,k", "--extents", "i=8,j=8,k=8", "--memory", "64w"), ["C[i,j] += A[i,k", "^"]),
        (("solve", "C[i,j] += A[i,-k]*B[k,j]", "--extents", "i=8,j=8,k=8", "--memory", "64w"), ["^"]),
        (("solve", "C[] += A[]", "--extents", "", "--memory", "64w"), []),
        (("solve", "ik,kj", "--extents", "i=8,j=8,k=8", "--memory", "64w"), []),
        ((*matmul(), "--memory", "64w", "--method", "mopts"), ["mopts", "mopt"]),
        ((*matmul(), "--memory", "64w", "--objective", "speed"), ["speed", "bottleneck"]),
        ((*matmul(), "--memory", "64w", "--tiles", "some"), ["some"]),
        ((*matmul(), "--memory", "64w", "--capacity", "loose"), ["loose"]),
        ((*matmul(), "--memory", "64w", "--integers", "round"), ["round"]),
        ((*matmul(), "--memory", "64w", "--cores", "0"), ["cores"]),
        ((*matmul(), "--memory", "64w", "--time-limit", "0"), ["--time-limit"]),
        ((*matmul(), "--memory", "64w", "--time-limit", "nan"), ["--time-limit"]),
        ((*matmul(), "--machine", "i7-9700k", "--innermost", "L9"), ["L9", "L1"]),
        ((*matmul(), "--memory", "64w", "-o", "no/such/folder/x.json"), ["no/such/folder/x.json"]),
        (("derive", "resnet18/R9", "--permutation", "n,k"), ["n,k"]),
        (("derive", "resnet18/R9", "--permutation", "n,k,c,r,s,h,h"), ["n,k,c,r,s,h,h"]),
        (("derive", "resnet18/R9", "--classes", "--latex"), ["--latex"]),
        (("evaluate", "missing.json"), ["missing.json"]),
        (("export", "resnet18/R9", "--memory", "8192w", "--format", "word"), ["word"]),
        (("frobnicate",), ["frobnicate"]),
        (("solve",), ["WORKLOAD"]),
    ],
)
def test_message_names_what_is_wrong(optmap, args: tuple[str, ...], words: list[str]) -> None:
    run = optmap(*args, code=2)
    assert run.out == ""
    assert run.err.strip()
    for word in words:
        assert word in run.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [unclosed\n", ["layer.yaml:2:1", "not valid YAML"]),
        (WORKLOAD + "extent: {i: 8}\n", ["extent", "extents"]),
        (WORKLOAD.replace("i: 8", "i: 0"), ["i", "0"]),
        (WORKLOAD.replace("i: 8", "i: eight"), ["i", "eight"]),
        (WORKLOAD.replace("i: 8", "i: 8.5"), ["i", "8.5"]),
        (WORKLOAD.replace("i: 8", "i: true"), ["i"]),
        (WORKLOAD.replace("i: 8", f"i: {2**63}"), ["2^63"]),
        (WORKLOAD.replace("i: 8", "i: 8, q: 8"), ["q"]),
        (WORKLOAD.replace("i: 8, ", ""), ["i"]),
        (WORKLOAD + "name: again\n", ["name"]),
        ("name: toy\nextents: {i: 8}\n", ["expression"]),
        ("- 1\n- 2\n", []),
        ("", []),
        ("name: toy\nconv2d: {k: 8, c: 8, h: 8, w: 8, r: 3, s: 3, strid: 2}\n", ["strid", "stride"]),
    ],
)
def test_workload_files(optmap, tmp_path: Path, text: str, words: list[str]) -> None:
    file = tmp_path / "layer.yaml"
    file.write_text(text)
    run = optmap("solve", file, "--memory", "64w", code=2)
    assert "layer.yaml" in run.err
    for word in words:
        assert word in run.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MACHINE.replace("bandwidth: 4", "bandwidth: .nan"), ["box.yaml", "levels[0].bandwidth", "positive"]),
        (MACHINE.replace("bandwidth: 4", "bandwidth: .inf"), ["box.yaml", "levels[0].bandwidth", "positive"]),
        (MACHINE.replace("bandwidth: 4", "bandwidth: -1"), ["box.yaml", "levels[0].bandwidth", "positive"]),
        (MACHINE.replace("bandwidth: 4", "bandwith: 4"), ["bandwith", "bandwidth"]),
        (MACHINE.replace("64w", "64"), ["64", "KiB"]),
        (MACHINE.replace("64w", "0w"), ["0"]),
        (MACHINE.replace("L2", "L1"), ["L1"]),
        ("name: toy\nlevels: []\n", ["level"]),
        ("name: toy\n", ["levels"]),
        (MACHINE + "cores: 0\n", ["cores"]),
    ],
)
def test_machine_files(optmap, tmp_path: Path, text: str, words: list[str]) -> None:
    file = tmp_path / "box.yaml"
    file.write_text(text)
    run = optmap(*matmul(), "--machine", file, code=2)
    for word in words:
        assert word in run.err


@pytest.mark.parametrize("capacity", ["1w", "2w", "8B"])
def test_capacity_below_one_word_per_tensor_names_the_smallest_fix(optmap, capacity: str) -> None:
    run = optmap(*matmul(), "--memory", capacity, code=3)
    assert "3" in run.err  # three tensors of one word each
    assert "short" in run.err
    assert run.out == ""


def test_one_word_per_tensor_is_enough(optmap) -> None:
    document = optmap(*matmul(), "--memory", "3w", "--json").document()
    (level,) = document["mapping"]["levels"]
    assert set(level["tile"].values()) == {1}
    assert document["levels"][0]["occupancy_words"] == 3


def test_prime_extents_get_an_exact_answer(optmap) -> None:
    document = optmap(*matmul(i=7, j=11, k=13), "--memory", "200w", "--json").document()
    (level,) = document["levels"]
    assert level["occupancy_words"] <= 200
    # k innermost: C is loaded and stored once, A once per column strip, B once per row strip.
    compulsory = 2 * 7 * 11 + 7 * 13 + 13 * 11
    assert document["exact"]["value"] >= compulsory
    everything = optmap(*matmul(i=7, j=11, k=13), "--memory", "400w", "--json").document()
    assert everything["exact"]["value"] == everything["cost"]["value"] == compulsory


def test_scalar_tensor_is_answered(optmap) -> None:
    document = optmap("solve", "S[] += X[i]*Y[i]", "--extents", "i=64", "--memory", "3w", "--json").document()
    assert document["exact"]["value"] == 64 + 64 + 2


def test_largest_extent_is_answered(optmap) -> None:
    largest = 2**63 - 1
    args = ("solve", "Y[i] += X[i]", "--extents", f"i={largest}", "--memory", "16w", "--json")
    document = optmap(*args).document()
    assert document["workload"]["extents"] == {"i": largest}
    (loads, stores) = (
        {row["tensor"]: row[key] for row in document["boundaries"]} for key in ("loads_words", "stores_words")
    )
    assert loads == {"Y": largest, "X": largest}
    assert stores == {"Y": largest, "X": 0}
