"""IOOpt's lower bounds: Figure 6 as printed, scenarios re-derived, soundness."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from optmap.base.errors import InputError
from optmap.bounds import figure6_contraction, figure6_convolution, ioopt, scenarios, theorem15, why_not_ioopt
from optmap.files.library import workload as named
from optmap.workloads.builders import contraction, conv1d, conv2d, matmul
from optmap.workloads.forms import contraction_form
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

DATA = json.loads((Path(__file__).parents[1] / "data" / "closed_form_bounds.json").read_text())
HALF = Fraction(1, 2)


def _yolo(layer):
    sizes = {
        "0": (32, 3, 544, 3),
        "2": (64, 32, 272, 3),
        "4": (128, 64, 136, 3),
        "5": (64, 128, 136, 1),
        "8": (256, 128, 68, 3),
        "9": (128, 256, 68, 1),
        "12": (512, 256, 34, 3),
        "13": (256, 512, 34, 1),
        "18": (1024, 512, 17, 3),
        "19": (512, 1024, 17, 1),
        "23": (28272, 1024, 17, 1),
    }
    f, c, x, w = sizes[layer]
    text = "Out[f,x,y] += Image[c,x+w,y+h] * Filter[f,c,w,h]"
    return parse_workload(text, {"f": f, "c": c, "x": x, "y": x, "w": w, "h": w})


@pytest.mark.parametrize("kernel", sorted({row[0] for row in DATA["tccg"]}))
def test_contraction_rows_of_the_reference(kernel):
    workload = named(f"tccg/{kernel}")
    for _, memory, i, j, k, first, second, smith, sound, attained in (r for r in DATA["tccg"] if r[0] == kernel):
        assert contraction_form(workload).group_sizes(workload) == (i, j, k)
        printed = figure6_contraction(workload, memory)
        assert printed[0] == first
        assert printed[1] == pytest.approx(second, rel=1e-8)
        found = ioopt(workload, memory)
        assert found.loads_words >= sound >= smith
        assert found.loads_words <= attained * (1 + 1e-9)


@pytest.mark.parametrize("layer", ["0", "2", "4", "5", "8", "9", "12", "13", "18", "19", "23"])
def test_convolution_rows_of_the_reference(layer):
    workload = _yolo(layer)
    rows = [r for r in DATA["yolo"] if r[0] == layer]
    assert len(rows) == 9
    for _, memory, printed, dinh, attained in rows:
        assert figure6_convolution(workload, memory) == pytest.approx(printed, rel=1e-8)
        terms = theorem15(workload, memory)
        ours = (terms.compulsory, float(terms.large_loops), terms.small_filter)
        assert ours == pytest.approx(dinh, rel=1e-8)
        found = ioopt(workload, memory)
        assert found.loads_words >= max(dinh)
        assert found.loads_words >= max(printed)
        assert found.loads_words <= attained * (1 + 1e-9)


def test_eight_contraction_scenarios_by_hand():
    workload = contraction("abc-adec-ebd", [6, 5, 4, 3, 2])
    form = contraction_form(workload)
    i, j, k = form.group_sizes(workload)
    assert (form.rows, form.columns, form.reduction, form.batch) == (("a", "c"), ("b",), ("d", "e"), ())
    found = scenarios(workload)
    assert set(found) == {"none", "rows", "columns", "reduction", "rows+columns", "rows+reduction", "columns+reduction"}
    assert {n: u.sigma for n, u in found.items() if n != "none"} == dict.fromkeys(set(found) - {"none"}, 1)
    assert found["none"].sigma == Fraction(3, 2)
    # U(K) = K times the small group: reading the tensor without that group once.
    assert [found[g].segment()(10) for g in ("rows", "columns", "reduction")] == [10 * i, 10 * j, 10 * k]
    assert found["rows+columns"].segment()(10) == 10 * min(i, j)


def test_convolution_scenarios_have_the_printed_exponents():
    workload = conv2d(n=2, c=3, k=4, h=9, w=9, r=3, s=3, stride=2)
    found = scenarios(workload)
    assert {n: u.sigma for n, u in found.items()} == {
        "none": 2,
        "taps": Fraction(3, 2),
        "taps+batch": Fraction(3, 2),
        "taps+batch+positions": 1,
        "taps+batch+channels": 1,
    }
    assert {s for _, _, s in found["none"].tensors} == {Fraction(2, 3)}
    assert {n: z for n, _, z in found["taps"].sizes} == {"L[r]": HALF, "L[s]": HALF}
    k = 1000
    assert found["taps+batch"].segment()(k) >= found["taps"].segment()(k)  # a small batch never helps


def _touched(workload, points):
    dims = workload.dims
    words = 0
    for tensor in workload.tensors:
        cells = {tuple(sum(c * p[dims.index(d)] for d, c in axis.terms) for axis in tensor.axes) for p in points}
        words += workload.weight(tensor) * len(cells)
    return words


def test_tiny_scenarios_bound_every_subset():
    cases = [
        contraction("ab-ac-cb", [2, 2, 3]),
        contraction("gab-gac-gcb", [2, 2, 2, 1]),
        parse_workload("C[i,j] += A[i,k] * B[k,j]", {"i": 1, "j": 3, "k": 4}, bytes={"C": 2, "A": 1, "B": 4}),
        conv1d(f=2, x=3, c=1, w=2),
        conv1d(f=1, x=3, c=1, w=4, stride=2),
        conv2d(c=1, k=1, h=3, w=1, r=2, s=2, padding="same"),
        parse_workload(
            "O[n,x] += I[n,c,x+r] * F[c,r]", {"n": 2, "x": 3, "c": 1, "r": 2}, bytes={"O": 4, "I": 1, "F": 2}
        ),
    ]
    for workload in cases:
        bounds = {name: u.segment() for name, u in scenarios(workload).items()}
        points = list(itertools.product(*(range(n) for _, n in workload.sizes)))
        assert len(points) <= 12
        for bits in range(1, 2 ** len(points)):
            chosen = [p for i, p in enumerate(points) if bits >> i & 1]
            words = _touched(workload, chosen)
            assert all(len(chosen) <= u(words) for u in bounds.values()), (workload.expression, words, chosen)


def test_printed_formulas_can_exceed_nothing_that_is_attained_but_are_not_reported():
    # On random matrix products the report never rests on the printed boundary terms.
    rng = random.Random(6)
    for _ in range(50):
        workload = matmul(i=rng.randint(1, 300), j=rng.randint(1, 300), k=rng.randint(1, 300))
        memory = rng.randint(3, 5000)
        found = ioopt(workload, memory)
        n = workload.extents
        once = n["i"] * n["j"] + n["i"] * n["k"] + n["j"] * n["k"]
        assert found.loads_words >= max(once, 2 * workload.operations / memory**0.5)
        # One element of C at a time reads a row and a column for each.
        assert found.loads_words <= n["i"] * n["j"] * (2 * n["k"] + 1)


def test_assign_and_refusals():
    workload = matmul(i=100, j=100, k=100)
    accumulate, assign = ioopt(workload, 64), ioopt(workload.with_semantics(Semantics.ASSIGN), 64)
    assert assign.loads_words == accumulate.loads_words - 10_000
    assert accumulate.method == "ioopt"
    triple = parse_workload("O[i,j] += A[i,k] * B[k,j] * C[i,j]", {"i": 2, "j": 2, "k": 2})
    assert "no contraction" in why_not_ioopt(triple)
    with pytest.raises(InputError, match="no contraction"):
        ioopt(triple, 10)
    with pytest.raises(InputError, match="one tensor only"):
        contraction_form(parse_workload("O[i] += A[i,k] * B[i]", {"i": 2, "k": 2}))
    with pytest.raises(InputError, match="stride and dilation 1"):
        figure6_convolution(conv2d(c=1, k=1, h=4, w=4, r=3, s=3, stride=2), 10)
