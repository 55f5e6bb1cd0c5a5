"""Numbers: reference bounds, the papers' exponents, the integer segment argument, certificates."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from cases import cases, thinned

from optmap.base.errors import CheckError, InputError, UnknownNameError
from optmap.bounds import (
    BOUNDS,
    SegmentBound,
    Segments,
    best_segments,
    bounds,
    brascamp_lieb,
    canonical,
    compulsory_loads,
    digest,
    image_rank,
    intersection,
    map_system,
    ranked_proofs,
    smallest_sigma,
    space_sum,
)
from optmap.bounds.best import best
from optmap.bounds.explain import explain
from optmap.bounds.exponents import proof
from optmap.checker import RefusedError
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

DATA = Path(__file__).parent.parent / "data"
REFERENCE = json.loads((DATA / "bounds_reference.json").read_text())["entries"]
FIGURE_3 = json.loads((DATA / "ioopt_figure3.json").read_text())
CONVOLUTION = "O[b,f,x,y] += I[b,c,x+w,y+h] * K[f,c,w,h]"


def _workload(entry) -> Workload:
    workload = parse_workload(entry["workload"], entry["extents"])
    sizes = entry.get("word_sizes", {})
    return workload.with_accesses([replace(t, bits=8 * sizes.get(t.name, 1)) for t in workload.tensors])


def test_no_reference_bound_is_missed_by_more_than_a_thousandth():
    assert len(REFERENCE) == 104
    for entry in thinned(REFERENCE, 3):
        found = best(_workload(entry), entry["capacity"]).loads_words
        assert found >= 0.999 * entry["loads_bound"], entry


def test_yolo_y4():
    y4 = parse_workload(
        "O[f,x,y] += I[c,x+w,y+h] * K[f,c,w,h]", {"f": 128, "c": 64, "x": 136, "y": 136, "w": 3, "h": 3}
    )
    assert compulsory_loads(y4) == 3_660_032
    assert best(y4, 65536).loads_words >= 3_763_800


def test_large_matrix_product():
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 2000, "j": 1500, "k": 1500})
    bound = best(product, 1024)
    assert 281_200_000 <= bound.loads_words <= 293_322_580  # the mapping with 31 x 31 tiles
    assert bound.stores_words == 3_000_000
    assert set(bound.exponents.values()) == {Fraction(1, 2)}


def test_sum_of_a_vector_and_a_repeated_tensor():
    assert best(parse_workload("O[i] += A[i]", {"i": 8}), 2).loads_words == 16
    gram = parse_workload("C[i,j] += A[i,k] * A[j,k]", {"i": 2, "j": 3, "k": 2})
    assert best(gram, 8).loads_words <= 12


def test_everything_fits_leaves_compulsory_traffic():
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 5, "j": 4, "k": 3})
    bound = best(product, 100)
    assert bound.loads_words == 20 + 15 + 12
    assert bound.total_words == bound.loads_words + 20
    assert bound.certificate["segment"] is None
    one = parse_workload("C[i] += A[i]", {"i": 1})
    assert best(one, 3).loads_words == 2
    assert brascamp_lieb(one, 3).loads_words == 0


def test_assign_subtracts_what_may_be_created():
    text = "C[i,j] {} A[i,k] * B[k,j]"
    extents = {"i": 64, "j": 64, "k": 64}
    added, assigned = (parse_workload(text.format(op), extents) for op in ("+=", "="))
    assert compulsory_loads(assigned) == compulsory_loads(added) - 64 * 64
    low, high = (ranked_proofs(workload, 300)[0].loads_words for workload in (assigned, added))
    assert high - 64 * 64 <= low < high
    assert low <= best(assigned, 300).loads_words < best(added, 300).loads_words
    outer = parse_workload("O[i,j] = A[i] * B[j]", {"i": 64, "j": 64})
    assert best(outer, 20).loads_words >= 128


def test_bound_falls_with_memory_and_rises_with_extents():
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 96, "j": 80, "k": 72})
    values = [best(product, m).loads_words for m in (64, 128, 256, 1024, 4096)]
    assert values == sorted(values, reverse=True)
    assert best(product.with_extents(k=144), 256).loads_words > values[2]


def test_exponents_of_the_convolution_with_and_without_small_dims():
    workload = parse_workload(CONVOLUTION, dict(zip("bfxycwh", (4, 64, 56, 56, 64, 3, 3), strict=True)))
    assert smallest_sigma(workload).sigma == 2
    assert smallest_sigma(workload, ("w", "h")).sigma == Fraction(3, 2)
    assert [round(FIGURE_3["fig3_lp"][key][0], 6) for key in ("no_small", "small")] == [2.0, 1.5]
    bound = brascamp_lieb(workload, 4096)
    assert "small dims: w, h" in bound.assumptions
    assert bound.expression == "Omega(b*f*x*y*c*w*h / (M^(1/2) * |w|^(1/2) * |h|^(1/2)))"
    with pytest.raises(UnknownNameError, match="unknown dim 'q'"):
        smallest_sigma(workload, ("q",))


def test_exponents_of_sizes_alone_are_found():
    text = "T[c+2*a,b+c,b+c] += A[2*b+2*a+3*c,c+3*a] * B[2*a+b+2*c,b+1] * C[3*b+3*a]"
    bound = brascamp_lieb(parse_workload(text, dict.fromkeys("abc", 4)), 57)
    assert bound.expression == "Omega(a*b*c / M)"


def test_strides_add_digits_to_the_exponents():
    workload = parse_workload("O[k,x] += I[c,2*x+r] * F[k,c,r]", {"k": 64, "x": 28, "c": 64, "r": 7})
    assert smallest_sigma(workload).sigma == 2
    assert smallest_sigma(workload, ("r",)).sigma == Fraction(3, 2)


def test_vertices_that_are_not_recognised_come_from_the_certified_program(monkeypatch):
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 200, "j": 150, "k": 150})
    usual = best(product, 256)
    monkeypatch.setattr("optmap.bounds.exponents.convex.VERTEX_DENOMINATOR", 1)
    again = best(product, 256)
    assert (again.loads_words, again.exponents) == (usual.loads_words, usual.exponents)


def test_constraint_table_of_ioopt_figure_3():
    # Figure 3a and b print the subscripts as x+h and y+w; their rows are right for those.
    workload = parse_workload("O[b,f,x,y] += I[b,c,x+h,y+w] * K[f,c,w,h]", dict.fromkeys("bfxycwh", 8))
    explained = explain(workload, 64)
    rows = {frozenset(row.generators): row for row in explained.rows}
    keys = {d: [d] for d in "bfcxywh"}
    keys |= {"h-x": ["x - h"], "(h,x)": ["x", "h"], "w-y": ["y - w"], "(w,y)": ["y", "w"]}
    assert len(rows) == len(keys)
    for name, generators in keys.items():
        row, expected = rows[frozenset(generators)], FIGURE_3["fig3_ranks"][name]
        assert row.rank == expected["rank"]
        for tensor, column in (("s:O#0", "1"), ("s:I#1", "2"), ("s:K#2", "3")):
            assert row.image_ranks.get(tensor, 0) == expected[column], name
    assert rows[frozenset(["x", "h"])].text.startswith("2 <= s[O#0] + s[I#1] + s[K#2] + z[dim")
    assert any(row.tight for row in explained.rows)


def test_explanation_of_a_flag_has_one_row_per_step():
    explained = explain(parse_workload("O[x] += I[x+r+t] * F[r,t]", {"x": 5, "r": 3, "t": 3}), 7)
    assert [set(family) for family in explained.families] == [{"x", "r", "t"}]
    assert all(row.rank >= 1 and " <= " in row.text for row in explained.rows)
    lifted = explain(parse_workload("O[x] += I[2*x+r] * F[r]", {"x": 5, "r": 3}), 7)
    assert lifted.lifts == ("r = 2*r' + r''",)


def _random_bound(rng: random.Random) -> SegmentBound:
    def fraction():
        return Fraction(rng.randint(1, 12), rng.choice([2, 3, 4, 6, 12, 30]))

    return SegmentBound(
        sums=tuple((fraction(), rng.randint(1, 4)) for _ in range(rng.randint(1, 3))),
        sizes=tuple((fraction(), rng.randint(2, 9)) for _ in range(rng.randint(0, 3))),
    )


def test_integer_roots_are_exact():
    rng = random.Random(8)
    for _ in range(200):
        bound = _random_bound(rng)
        K = rng.choice([rng.randint(1, 50), rng.randint(50, 10**6)])
        u = bound(K)
        level = bound.constant * K**bound.power
        assert u**bound.root <= level < (u + 1) ** bound.root
        assert bound.at_most(K, u)
        assert u == 0 or not bound.at_most(K, u - 1)
        operations = rng.randint(0, 10**6)
        longest = bound.largest_units(operations)
        assert longest == 0 or bound(longest) <= operations
        assert bound(longest + 1) > operations


def test_perfect_powers_are_not_rounded():
    product = SegmentBound(sums=((Fraction(1, 2), 1),) * 3)
    assert product(12288) == 262144
    assert product(12287) == 262112
    assert product.largest_units(262143) == 12287


def _holds(bound: SegmentBound, memory: int, operations: int, found: Segments) -> None:
    assert 0 <= found.t <= found.T
    assert found.n >= 0
    assert found.U_full == bound(memory + found.T)
    assert found.U_last == bound(memory + found.t)
    assert found.n * found.U_full + found.U_last < operations
    assert found.cost_units == memory + found.n * found.T + found.t + 1


def test_segments_against_every_choice():
    rng = random.Random(9)
    for _ in range(150):
        bound = SegmentBound(
            sums=tuple((Fraction(rng.randint(1, 4), rng.choice([2, 3, 4])), rng.randint(1, 2)) for _ in range(3))
        )
        memory, operations = rng.randint(1, 9), rng.randint(20, 400)
        everything = [0]
        for T in range(1, 200):
            full = bound(memory + T)
            n = (operations - 1) // full if full else 0
            for count in (n, n - 1):
                if full and count >= 0:
                    t = min(T, bound.largest_units(operations - 1 - count * full) - memory)
                    if t >= 0:
                        everything.append(memory + count * T + t + 1)
        found = best_segments(bound, memory, operations)
        if found is not None:
            _holds(bound, memory, operations, found)
        got = found.cost_units if found else 0
        assert got == max(everything)


def _subspaces(bases):
    return [tuple(tuple(v) for v in basis) for basis in bases]


def _check_family(family, certificate):
    columns = [certificate["dims"].index(d) for d in family["dims"]]
    maps = [
        (Fraction(m["exponent"]), tuple(tuple(row[c] for c in columns) for row in m["matrix"]))
        for m in certificate["maps"]
    ]
    width = len(columns)
    if "flag" in family:
        ranks = [[0] * len(maps)]
        for i in range(1, width + 1):
            space = canonical(family["flag"][:i])
            assert len(space) == i
            ranks.append([image_rank(m, space) for _, m in maps])
            assert sum(x * (a - b) for (x, _), a, b in zip(maps, ranks[i], ranks[i - 1], strict=True)) >= 1
        return
    members = _subspaces(family["lattice"]["subspaces"])
    assert len(set(members)) == len(members)
    assert all(canonical(space) == space for space in members)
    for a, b in itertools.combinations(members, 2):
        assert space_sum(a, b) in members
        assert intersection(a, b, width) in members
    assert max(len(space) for space in members) == width
    assert set(_subspaces(family["lattice"]["generators"])) <= set(members)
    for space in members:
        assert sum(x * image_rank(m, space) for x, m in maps) >= len(space)


@pytest.mark.parametrize("entry", REFERENCE[::9] + REFERENCE[-30::3], ids=lambda e: f"{e['workload']}@{e['capacity']}")
def test_certificates_hold_what_they_say(entry):
    workload = _workload(entry)
    for semantics in Semantics:
        bound = best(workload.with_semantics(semantics), entry["capacity"])
        certificate = json.loads(json.dumps(bound.certificate))
        assert certificate["digest"] == digest(certificate)
        assert certificate["claims"]["loads_words"] == bound.loads_words
        assert certificate["claims"]["total_words"] == bound.total_words
        assert certificate["workload"]["expression"] == workload.with_semantics(semantics).expression
        segment = certificate["segment"]
        if instead := {"visits", "passes"} & set(certificate):
            assert certificate[instead.pop()]["loads_words"] == bound.loads_words
            continue
        if segment is None:
            assert certificate["claims"]["loads_words"] == certificate["claims"]["compulsory_loads_words"]
            continue
        if "classes" in certificate:
            powers = [Fraction(c[key]) for c in certificate["classes"] for key in ("outputs", "taps", "inputs")]
            assert sorted(powers) == sorted(bound.exponents.values())
            continue
        if "window" in certificate:
            powers = [Fraction(certificate["window"][key]) for key in ("outputs", "taps", "inputs")]
            assert sorted(powers) == sorted(bound.exponents.values())
            continue
        assert {m["name"]: Fraction(m["exponent"]) for m in certificate["maps"]} == bound.exponents
        assert sorted(d for f in certificate["families"] for d in f["dims"]) == sorted(certificate["dims"])
        for family in certificate["families"]:
            _check_family(family, certificate)
        sums: dict[str, Fraction] = {}
        for m in certificate["maps"]:
            if m["kind"] == "tensor":
                name = certificate["accesses"][m["access"]]["tensor"]
                sums[name] = sums.get(name, Fraction(0)) + Fraction(m["exponent"])
        U = SegmentBound(
            sums=tuple((s, segment["weights"][name]) for name, s in sums.items()),
            sizes=tuple((Fraction(m["exponent"]), m["size"]) for m in certificate["maps"] if m["kind"] == "size"),
        )
        kept = {key: segment[key] for key in ("n", "T", "t", "U_full", "U_last", "cost_units")}
        _holds(U, segment["memory_units"], workload.operations, Segments(**kept))
        mu = Fraction(certificate["mu"])
        assert segment["memory_units"] == entry["capacity"] * mu.denominator
        created = 0 if semantics is Semantics.ACCUMULATE else certificate["claims"]["output_words_at_most"]
        assert segment["loads_words"] <= Fraction(segment["cost_units"], mu.denominator) - mu * created + 1
        assert segment["loads_words"] == bound.loads_words


@pytest.mark.parametrize("dims", ["ijk", "abcdefghijklm", "abcdefghijklmnopqrs"])
def test_huge_extents_are_bounded_without_overflow(dims):
    third = len(dims) // 3
    left, right, inner = ",".join(dims[:third]), ",".join(dims[third : 2 * third]), ",".join(dims[2 * third :])
    text = f"C[{left},{right}] += A[{left},{inner}] * B[{inner},{right}]"
    workload = parse_workload(text, dict.fromkeys(dims, 2**63 - 1))
    for bound in bounds(workload, 10**6, ["compulsory", "brascamp_lieb", "best"]):
        assert bound.loads_words >= (0 if bound.method == "brascamp_lieb" else compulsory_loads(workload))


def test_the_flag_reaches_a_certificate():
    workload = parse_workload("O[x] += A[x+y] * B[x+z] * C[y+z]", {"x": 9, "y": 9, "z": 9})
    kinds = set()
    for memory in (4, 8, 16, 30):
        for family in best(workload, memory).certificate["families"]:
            kinds |= set(family)
    assert kinds & {"flag", "lattice"}
    system = map_system(workload)
    assert system.families == ((0, 1, 2),)


def test_a_certificate_that_the_checker_refuses_is_never_a_bound(monkeypatch, caplog):
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 40, "j": 40, "k": 40})
    sound = best(product, 64)
    real = proof.best_segments

    def inflated(bound, memory, operations):
        found = real(bound, memory, operations)
        return found and replace(found, cost_units=found.cost_units + 1)

    monkeypatch.setattr(proof, "best_segments", inflated)
    fallen = best(product, 64)
    assert compulsory_loads(product) < fallen.loads_words < sound.loads_words
    assert fallen.certificate["segment"] is None
    assert "passes" in fallen.certificate
    assert "the checker refuses its certificate" in caplog.text
    monkeypatch.setattr("optmap.bounds.proved.check_document", _refuse)
    with pytest.raises(CheckError, match="no bound is proved"):
        best(product, 64)


def _refuse(document):
    raise RefusedError("nothing pleases me")


STATEMENTS = (
    ("C[i,j] += A[i,k] * B[k,j]", "i j k"),
    ("C[b,i,j] += A[b,i,k] * B[b,k,j]", "b i j k"),
    ("C[i,j] = A[i,k] * B[k,j]", "i j k"),
    ("C[i] += A[i,j,k] * B[j] * D[k]", "i j k"),
    (CONVOLUTION, "b f c x y w h"),
    ("O[f,x,y] += I[c,2*x+w,2*y+h] * K[f,c,w,h]", "f c x y w h"),
    ("O[c,x,y] += I[c,x+w,y+h] * K[c,w,h]", "c x y w h"),
    ("C[i,j] += A[i,k] * A[j,k]", "i j k"),
)


@pytest.mark.parametrize(("text", "dims"), STATEMENTS)
def test_exponents_are_sought_only_where_they_may_prove_enough(text, dims, monkeypatch):
    rng, sought, real = random.Random(text), [], proof.candidates
    monkeypatch.setattr(proof, "candidates", lambda *given: sought.append(1) or real(*given))
    proved = 0
    for _ in range(6):
        extents = {d: rng.choice([1, 2, 3, 5]) if d in "bwh" else rng.randint(2, 150) for d in dims.split()}
        workload, memory = parse_workload(text, extents), rng.choice([3, 8, 40, 300, 3000])
        every = ranked_proofs(workload, memory, beat=0)
        least = compulsory_loads(workload)
        for strong in (p for p in every[:1] if p.loads_words > least):
            proved += 1
            assert ranked_proofs(workload, memory, beat=strong.loads_words - 1)[0] == strong
        most = max([least, *(p.loads_words for p in every)])
        sought.clear()
        assert not ranked_proofs(workload, memory, beat=2 * most)
        assert not sought or memory < 10
    assert proved


def test_registry_lists_applies_and_refuses():
    product = parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 40, "j": 40, "k": 40})
    everything = bounds(product, 64)
    assert {"compulsory", "brascamp_lieb", "best"} <= {b.method for b in everything}
    strongest = next(b for b in everything if b.method == "best")
    assert all(b.loads_words <= strongest.loads_words for b in everything)
    assert [b.method for b in bounds(product, 64, ["best", "compulsory"])] == ["best", "compulsory"]
    with pytest.raises(UnknownNameError, match="nown are compulsory"):
        bounds(product, 64, ["worst"])
    with pytest.raises(InputError, match="at least one word"):
        bounds(product, 0)
    refused = [name for name, method in BOUNDS.items() if method.applies(product) is not None]
    for name in refused:
        with pytest.raises(InputError, match=f"method {name} does not apply"):
            bounds(product, 64, [name])


def test_best_is_never_below_another_method():
    rng = random.Random(12)
    texts = ["C[i,j] += A[i,k] * B[k,j]", "O[k,x] += I[c,2*x+r] * F[k,c,r]", "O[i,r] = A[i,j,k] * B[j,r] * C[k,r]"]
    for text in [*texts, "O[x] += I[x+r+t] * F[r,t]", "O[f,x,y] += I[c,x+w,y+h] * K[f,c,w,h]"]:
        dims = sorted({c for c in text if c.islower()})
        for _ in range(cases(5, 12)):
            workload = parse_workload(text, {d: rng.choice([1, 2, 3, 7, 16, 100, 513]) for d in dims})
            values = {b.method: b.loads_words for b in bounds(workload, rng.choice([8, 50, 333, 4096, 65536]))}
            assert max(values.values()) == values["best"], (text, workload.extents, values)
