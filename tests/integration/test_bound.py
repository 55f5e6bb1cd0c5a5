"""`bound` through the command line and the Python interface."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from math import floor, inf, sqrt
from pathlib import Path

import pytest
from host_machines import AVX512

import optmap as package
from optmap import api
from optmap.answers.proofs.beside import certified_bound, with_bound
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import ContradictionError, LimitError, UnknownNameError
from optmap.bounds import (
    BOUNDS,
    INCLUSIVE,
    INSTANCES,
    SUMMED,
    TOTAL,
    fast_side_words,
    instance_words,
    separating_dims,
)
from optmap.checker import check_document
from optmap.files.library import machine, workload
from optmap.files.machines import machine_document
from optmap.machines.machine import Level, Machine
from optmap.report import bound_document, bound_table
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload

MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=2000,j=1500,k=1500", "--memory", "1024w")


def test_text_says_which_argument_is_the_strongest_and_what_best_consists_of(optmap) -> None:
    said = optmap("bound", "--help").out
    assert all(kind in said for kind in ("convex program", "halo", "classes of taps", "visits", "passes"))
    for layer, size, source in (
        ("resnet18/R4", "4096w", "windows/tap_classes"),
        ("yolo9000/Y19", "65536w", "passing/passes"),
    ):
        found = optmap("bound", layer, "--memory", size, "--methods", "best", "--explain").out
        assert f"(proof: optmap/bounds/{source}.py)" in found
        assert "exponents of the strongest bound by maps alone" in found


def test_document(optmap) -> None:
    found = optmap("bound", "yolo9000/Y4", "--memory", "65536w", "--json").document()
    rows = {row["method"]: row for row in found["bounds"]}
    assert set(rows) == set(BOUNDS) - set(found["left_out"])
    assert "projective" in found["left_out"]
    assert rows["compulsory"]["loads_words"] == 3_660_032
    assert rows["best"]["loads_words"] >= 3_763_800
    assert found["best"]["method"] == "best"
    assert found["best"]["total_words"] == max(row["total_words"] for row in rows.values())
    for row in rows.values():
        assert row["total_words"] == row["loads_words"] + row["stores_words"]
        assert row["expression"]
        assert all(0 < Fraction(value) <= 1 for value in row["exponents"].values())
    assert rows["brascamp_lieb"]["exponents"]
    assert found["boundaries"][0]["bounds"] == found["bounds"]


def test_certificate_is_written_and_verified(optmap, tmp_path: Path) -> None:
    file = tmp_path / "gemm.json"
    table = optmap("bound", *MATMUL, "-o", file).out
    assert "281,250,863" in table
    made = json.loads(file.read_text(encoding="utf-8"))
    assert made["claims"]["loads_words"] >= 281_200_000
    assert "what is listed as verified holds" in optmap("check", file).out
    assert check_document(made).verified


def test_machine_has_one_block_per_boundary(optmap) -> None:
    found = optmap("bound", "resnet18/R9", "--machine", "i7-9700k", "--methods", "compulsory,best", "--json").document()
    assert [row["memory_words"] for row in found["boundaries"]] == [128, 8192, 65536, 3_145_728]
    assert [[b["method"] for b in row["bounds"]] for row in found["boundaries"]] == [["compulsory", "best"]] * 4
    totals = [row["best"]["total_words"] for row in found["boundaries"]]
    assert totals == sorted(totals, reverse=True)
    assert found["best"] == found["boundaries"][-1]["best"]


def test_explain(optmap) -> None:
    run = optmap("bound", *MATMUL, "--explain")
    assert "1 <= s[C#0] + s[A#1]" in run.out
    assert "tight" in run.out
    document = optmap("bound", *MATMUL, "--explain", "--json").document()["explanation"]
    assert {Fraction(value) for value in document["exponents"].values()} == {Fraction(1, 2)}
    assert len(document["constraints"]) == 3


def printed(document: dict[str, object]) -> dict[str, list[tuple[int, bool]]]:
    return {p["source"]: [(t["words"], t["proved"]) for t in p["terms"]] for p in document["explanation"]["printed"]}


def test_explain_has_the_printed_terms_of_a_contraction(optmap) -> None:
    run = ("bound", "O[p,q,s] += B[u,q]*A[p,u,s]", "--extents", "p=40,q=30,u=20,s=50", "--memory", "256w", "--explain")
    document = optmap(*run, "--json").document()
    i, j, k, memory = 30, 2000, 20, 256
    edges = k + 2 * i + 2 * j - 2 - memory
    expected = [(i * j + i * k + j * k, True), (edges + 2 * i * j * (k - 1) // 16, False)]
    assert printed(document)["IOOpt, Figure 6"] == expected
    assert not printed(document)["Dinh, Theorems 13 and 14"]
    text = optmap(*run).out
    assert "operations per tile <= M^(3/2)" in text
    assert "I = q, J = p*s, K = u" in text
    assert f"{expected[1][0]:,}" in text
    assigned = printed(optmap(*run, "--semantics", "assign", "--json").document())
    assert [proved for _, proved in assigned["IOOpt, Figure 6"]] == [False, False]
    assert document["best"]["method"] == "best"


def test_explain_names_the_dims_that_are_given(optmap) -> None:
    run = ("bound", "Z[y,b] += X[y,q]*W[q,b]", "--extents", "y=4096,q=4096,b=64", "--memory", "65536w", "--explain")
    assert "operations per tile <= M * L[b] (small loop bounds b; exponents X#1^(1))" in optmap(*run).out


def test_explain_has_the_printed_terms_of_convolutions(optmap) -> None:
    sizes = {"n": 2, "c": 8, "k": 16, "h": 10, "w": 12, "r": 7, "s": 3}
    extents = ",".join(f"{d}={n}" for d, n in sizes.items())
    b, c, f, x, y, r, s = sizes.values()
    memory, g = 1024, 2 * 8 * 16 * 10 * 12 * 7 * 3
    for stride in (1, 2):
        text = f"Out[n,k,h,w] += In[n,c,{stride}*h+r,{stride}*w+s] * Ker[k,c,r,s]"
        run = ("bound", text, "--extents", extents, "--memory", f"{memory}w", "--methods", "best", "--explain")
        found = printed(optmap(*run, "--json").document())
        image = b * c * len({stride * i + j for i in range(x) for j in range(r)})
        image *= len({stride * i + j for i in range(y) for j in range(s)})
        once = image + f * c * r * s + b * f * x * y
        rows = [(once, True), (floor(9 / 4 * g / memory - memory), True)]
        rows.append((floor(2 * g / sqrt(r * s / stride**2 * memory) - 2 * memory), stride == 1))
        if stride == 2:  # 7 and 3 taps in steps of 2: 4 and 2 slices
            rows.append((floor(2 * g / sqrt(4 * 2 * memory) - 2 * memory), True))
        assert found["Dinh, Theorem 15"] == rows
        if stride == 2:
            assert "IOOpt, Figure 6" not in found
            continue
        edges = -2 - memory + c + 4 * f + b * y + b * x + 2 * b * x * y - 2 * b * x * y * f
        terms = [
            edges + b * f * x * y * (r * s * c - 1) / memory,
            edges + 2 * b * x * y * c * f * sqrt(r * s / memory) - 2 * b * x * y * f / sqrt(r * s * memory),
            edges + 2 * x * y * c * f * sqrt(b * r * s / memory) - 2 * x * y * f * sqrt(b) / sqrt(r * s * memory),
        ]
        assert found["IOOpt, Figure 6"] == [(once, True), *((floor(term), False) for term in terms)]


def test_explain_knows_no_number_that_is_too_large(optmap) -> None:
    sizes = "n={0},k={0},c={0},r=3,s=3,h={0},w={0}".format(2**63 - 1)
    words = printed(
        optmap("bound", "resnet18/R9", "--extents", sizes, "--memory", "9w", "--explain", "--json").document()
    )
    assert len(str(words["Dinh, Theorem 15"][2][0])) == 96
    dims = "abcdefghijklmnopq"
    many = ",".join(f"{d}={2**63 - 1}" for d in dims)
    text = f"C[{','.join(dims[:10])}] += A[{','.join(dims[:5] + dims[10:])}]*B[{','.join(dims[5:])}]"
    found = optmap(
        "bound", text, "--extents", many, "--memory", "100w", "--methods", "compulsory", "--explain", "--json"
    )
    assert printed(found.document())["IOOpt, Figure 6"][1][0] > 10**308


def test_an_explained_bound_in_python_is_that_of_the_shell(optmap) -> None:
    report = package.bound("tccg/ab-ac-cb", memory="8KiB", explain=True)
    assert report.to_dict() == optmap("bound", "tccg/ab-ac-cb", "--memory", "8KiB", "--explain", "--json").document()
    assert str(report) == optmap("bound", "tccg/ab-ac-cb", "--memory", "8KiB", "--explain").out.rstrip("\n")
    assert package.bound("tccg/ab-ac-cb", memory="8KiB").explanation is None


def test_bad_input(optmap, tmp_path: Path) -> None:
    assert "nown are compulsory" in optmap("bound", "resnet18/R9", "--memory", "8KiB", "--methods", "no", code=2).err
    assert "does not apply" in optmap("bound", "yolo9000/Y4", "--memory", "8KiB", "--methods", "projective", code=2).err
    assert "separated by commas" in optmap("bound", "resnet18/R9", "--memory", "8KiB", "--methods", ",", code=2).err
    without = ("bound", "resnet18/R9", "--memory", "8KiB", "--methods", "compulsory", "-o", tmp_path / "c.json")
    assert "add best" in optmap(*without, code=2).err
    assert "less than one word" in optmap("bound", "resnet18/R9", "--memory", "3B", code=2).err
    assert "not both" in optmap("bound", "resnet18/R9", code=2).err
    assert "no folder" in optmap("bound", "resnet18/R9", "--memory", "8KiB", "-o", "none/c.json", code=2).err


def level(name: str, words: int, **options: object) -> Level:
    return Level(name=name, capacity=Capacity(amount=words, unit="words"), **options)  # type: ignore[arg-type]


def test_fast_side_counts_what_an_outer_level_does_not_copy() -> None:
    chain = (level("L1", 10, inclusive=False), level("L2", 100, fanout=4, inclusive=False), level("L3", 1000))
    made = Machine(name="m", levels=chain)
    assert [fast_side_words(made, i, 32) for i in range(3)] == [10, 100 + 4 * 10, 1000]


def test_private_memories_share_the_work() -> None:
    found = api.bound("resnet18/R9", memory="128w", methods=["best", "compulsory"])
    best, _ = found.outermost.bounds
    assert instance_words(best, 1) == best.total_words
    assert instance_words(best, 1, loads_only=True) == best.loads_words
    product = api.bound("C[i,j] += A[i,k]*B[k,j]", extents=dict.fromkeys("ijk", 64), memory="1024w", methods=["best"])
    assert instance_words(product.outermost.best, 8) >= 2_688  # one memory moves at least 21,500 words


def test_boundaries_say_what_their_bounds_assume() -> None:
    chain = (level("L1", 64), level("L2", 1024, fanout=2, inclusive=False), level("L3", 8192, fanout=4))
    made = Machine(name="m", levels=chain)
    report = api.bound("C[i,j] += A[i,k]*B[k,j]", extents=dict.fromkeys("ijk", 64), machine=made, methods=["best"])
    assert [row.instances for row in report.boundaries] == [8, 4, 1]
    assert [row.assumptions for row in report.boundaries] == [
        (SUMMED, INSTANCES),
        (TOTAL, SUMMED, INSTANCES),
        (INCLUSIVE,),
    ]
    for row, written in zip(report.boundaries, bound_document(report)["boundaries"], strict=True):
        assert (written["instances"], written["assumptions"]) == (row.instances, list(row.assumptions))
        assert written["best"]["busiest_instance_words"] == -(-row.best.total_words // row.instances)
    table = bound_table(report)
    assert "in each of 8 instances" in table
    assert all(f"  {text} (all methods)" in table for text in (SUMMED, INSTANCES, TOTAL, INCLUSIVE))


def test_no_bound_where_instances_share_output_elements() -> None:
    workload = parse_workload("O[x+y] += A[x,y]*B[y]", {"x": 8, "y": 8})
    assert separating_dims(workload) == set()
    assert separating_dims(parse_workload("O[x,2*k,x+y] += A[x,y]*B[y,k]", {"x": 8, "y": 8, "k": 2})) == {"x", "k"}


def test_solutions_carry_bound_and_gap() -> None:
    result = api.solve("resnet18/R9", memory="8192w")
    best = api.bound("resnet18/R9", memory="8192w", methods=["best"]).outermost.best
    assert result.bound is not None
    assert result.bound.value == best.total_words
    assert result.gap == pytest.approx(result.exact / best.total_words - 1)
    assert result.gap >= 0


def test_cores_leave_a_bound_that_holds() -> None:
    for cores in (2, 4, 8):
        result = api.solve("resnet18/R9", machine="i7-9700k", cores=cores)
        assert result.gap is not None
        assert result.gap >= 0
        assert [proof.instances for proof in result.certificates] == [cores] * 3 + [1]


def test_a_mapping_below_the_bound_is_a_contradiction() -> None:
    result = api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 40, "j": 30, "k": 20}, memory="64w")
    fewer = tuple(
        type(row)(between=row.between, tensor=row.tensor, loads_words=row.loads_words // 3, stores_words=0)
        for row in result.boundaries
    )
    with pytest.raises(ContradictionError, match="one of the two is wrong"):
        with_bound(dataclasses.replace(result, exact_count=dataclasses.replace(result.exact_count, boundaries=fewer)))


def test_out_of_time_the_bound_is_compulsory_traffic() -> None:
    extents = {"i": 40, "j": 30, "k": 20}
    result = api.solve("C[i,j] += A[i,k]*B[k,j]", extents=extents, memory="64w")
    certified_bound.cache_clear()
    again = with_bound(dataclasses.replace(result, floor=None), Clock(-inf))
    assert sum("is compulsory traffic: the time was over" in note for note in again.notes) == 1
    assert [proof.words for proof in again.certificates] == [2 * 40 * 30 + 40 * 20 + 20 * 30]
    assert result.bound is not None
    assert again.bound is not None
    assert again.bound.value < result.bound.value


def test_a_bound_stops_at_the_clock_and_what_it_found_holds_under_every_clock() -> None:
    problem = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 41, "j": 31, "k": 21})
    with pytest.raises(LimitError, match="time limit"):
        certified_bound(problem, 64, Clock(-inf))
    found = certified_bound(problem, 64, NO_LIMIT)
    assert certified_bound(problem, 64, Clock(-inf)) is found


def test_verbs_are_in_the_package() -> None:
    assert {"bound", "check", "compare"} <= set(dir(package))
    assert package.bound is api.bound
    report = package.bound(workload("resnet18/R9"), machine=machine("balanced"), methods=["best"])
    assert len(report.boundaries) == 3
    assert bound_table(report).count("At least so many words") == 3
    with pytest.raises(UnknownNameError):
        package.bound("resnet18/R9", memory="1KiB", methods=["none"])


def test_a_bound_in_time_is_written_and_verified(optmap, tmp_path: Path) -> None:
    host, file = tmp_path / "host.yaml", tmp_path / "floor.json"
    host.write_text(json.dumps(machine_document(AVX512)), encoding="utf-8")
    asked = ("bound", "resnet18/R12", "--machine", host, "--methods", "best", "--cores", "2")
    found = optmap(*asked, "--objective", "time", "-o", file, "--json").document()
    assert found["objective"] == "time"
    assert found["bounds"]
    assert found["best"]
    assert found["time"]["threads"] == 2
    assert "no code takes fewer" in optmap("check", file).out
    document = json.loads(file.read_text(encoding="utf-8"))
    document["bound"]["value"] += 1
    file.write_text(json.dumps(document), encoding="utf-8")
    assert "refused" in optmap("check", file, code=5).err
    assert "add objective time" in optmap(*asked, code=2).err
