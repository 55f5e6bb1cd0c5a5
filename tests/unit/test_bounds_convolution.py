"""Convolutions: recognition, Theorem 15, the lifted tiling LP and the five values."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction
from math import log, prod, sqrt
from pathlib import Path

import pytest
from cases import cases

from optmap.base.errors import InputError
from optmap.bounds import (
    bounds,
    compulsory_loads,
    large_loops_volume,
    loads_of_semantics,
    output_words,
    precision_constant,
    small_filter_volume,
    theorem15,
)
from optmap.bounds.best import best
from optmap.bounds.convolution import convolution
from optmap.bounds.exponents.proof import _looked_at
from optmap.files import library
from optmap.programs import (
    export_program,
    lifted_face,
    lifted_lp,
    lifted_tiling_program,
    real_tile,
    round_tile,
    tile_words,
)
from optmap.solvers import solve_model
from optmap.workloads.builders import conv1d, conv2d, matmul
from optmap.workloads.forms import convolution_form, why_no_convolution
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

DATA = json.loads((Path(__file__).parents[1] / "data" / "closed_form_bounds.json").read_text())


def _convolution(args, p=(1, 1, 1)):
    b, c, k, w, h, r, s, sw, sh = args
    text = f"Out[b,k,w,h] += In[b,c,{sw}*w+r,{sh}*h+s] * Ker[k,c,r,s]"
    extents = {"b": b, "c": c, "k": k, "w": w, "h": h, "r": r, "s": s}
    return parse_workload(text, extents, bytes={"In": p[0], "Ker": p[1], "Out": p[2]})


def _five_values(args, memory, *, cut):
    """The values that the tiled communication G·M/tile takes (precisions 1), and M where all fits.

    As printed the two windows have L_r/stride and L_s/stride slices; `cut` limits them to the image.
    """
    b, c, k, w, h, r, s, sw, sh = args
    g = prod(args[:7])
    slices = [max(1.0, r / sw), max(1.0, s / sh)]
    if cut:
        slices = [min(slices[0], w), min(slices[1], h)]
    low = min(r, sw) * min(s, sh)
    image = max(b * c * x * y * low for x in (w, max(1, r / sw)) for y in (h, max(1, s / sh)))
    return g / memory, g / sqrt(prod(slices) * memory), image, c * k * r * s, b * k * w * h, memory


@pytest.mark.parametrize("row", DATA["convolution"], ids=lambda r: f"{r['name']}-{r['batch']}-{r['M']}-{r['p'][2]}")
def test_reference_terms_of_theorem_15_and_lifted_volumes(row):
    b, c, _, w, h, r, s, sw, sh = row["args"]
    workload = _convolution(row["args"], row["p"])
    printed = theorem15(workload, row["M"], exact_quotients=True)
    # The reference counts sigma*L + L_r input columns as printed; one of sigma*(L-1) + L_r is never touched.
    unread = (sw * w + r) * (sh * h + s) - (sw * (w - 1) + r) * (sh * (h - 1) + s)
    assert printed.compulsory == row["terms"][0] - row["p"][0] * b * c * unread
    assert float(printed.large_loops) == pytest.approx(row["terms"][1], rel=1e-8)
    assert printed.small_filter == pytest.approx(row["terms"][2], rel=1e-8)
    sound = theorem15(workload, row["M"])
    assert sound.small_filter_words - 1 < sound.small_filter * (1 + 1e-12) + 1
    assert convolution(workload, row["M"]).loads_words >= sound.words
    found = lifted_face(workload, row["M"], limit=1)
    assert log(found.volume, row["M"]) == pytest.approx(row["value"], rel=1e-8)


@pytest.mark.parametrize("row", [r for r in DATA["convolution"] if r["M"] in (8192, 1048576)], ids=lambda r: r["name"])
def test_highs_solves_the_lifted_program_to_the_same_volume_and_a_tile_of_the_nest(row):
    workload = _convolution(row["args"], row["p"])
    program = lifted_tiling_program(workload, capacity=row["M"])
    solution = solve_model(program.pyomo())
    assert solution.objective == pytest.approx(row["value"] * log(row["M"]), rel=1e-7)
    digits, tile = program.read_back(solution.values), dict.fromkeys(workload.dims, 1.0)
    for digit in lifted_lp(workload, capacity=row["M"]).digits:
        tile[digit.dim] *= digits[f"T[{digit.name}]"]
    assert all(size <= workload.extents[dim] * (1 + 1e-9) for dim, size in tile.items())
    assert prod(tile.values()) == pytest.approx(program.objective_value(solution.objective), rel=1e-6)
    whole = round_tile(workload, tile, capacity_words=row["M"])
    assert all(1 <= whole[dim] <= extent for dim, extent in workload.sizes)
    assert tile_words(workload, whole) <= row["M"]


def test_the_lifted_program_exports_and_names_its_digits():
    program = lifted_tiling_program(conv2d(c=3, k=8, h=16, w=16, r=7, s=7, stride=2), capacity=1024)
    text = export_program(program, "lp")
    assert "r_high" in text
    assert "r_low" in text
    assert {v.quantity for v in program.variables} >= {"T[r_high]", "T[r_low]", "T[h]"}


def test_ratio_to_the_five_values_of_the_reference():
    for row in DATA["convolution"]:
        if row["p"] != [1, 1, 1]:
            continue
        volume = lifted_face(_convolution(row["args"]), row["M"], limit=1).volume
        communication = prod(row["args"][:7]) * row["M"] / volume
        assert communication / max(row["five"]) == pytest.approx(row["ratio"], rel=1e-8)


@pytest.mark.parametrize("row", DATA["five_values_counterexamples"], ids=lambda r: str(r["ratio"]))
def test_five_values_fail_where_the_filter_exceeds_the_image_and_hold_with_cut_slices(row):
    g = prod(row["args"][:7])
    communication = g * row["M"] / lifted_face(_convolution(row["args"]), row["M"], limit=1).volume
    assert communication / max(_five_values(row["args"], row["M"], cut=False)) == pytest.approx(row["ratio"], rel=1e-9)
    assert communication == pytest.approx(max(_five_values(row["args"], row["M"], cut=True)), rel=1e-9)


def test_five_values_hold_on_random_convolutions_with_cut_slices():
    rng = random.Random(8)
    sizes = [1, 2, 3, 4, 7, 16, 64, 128, 256, 1000]
    off = 0
    for _ in range(cases(25, 120)):
        args = (*tuple(rng.choice(sizes) for _ in range(7)), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2, 4]))
        memory = rng.choice([64, 256, 1024, 8192])
        communication = prod(args[:7]) * memory / lifted_face(_convolution(args), memory, limit=1).volume
        assert communication == pytest.approx(max(_five_values(args, memory, cut=True)), rel=1e-9), (args, memory)
        off += communication > 1.001 * max(_five_values(args, memory, cut=False))
    assert off > 0  # as printed they do not


def test_precision_constants():
    assert precision_constant(1, 1, 1) == Fraction(9, 4)
    assert precision_constant(1, 1, 2) == 4  # both cases meet: (1+1+2)^2/4 = 2*(1+1)
    assert precision_constant(1, 1, 4) == 8  # Lemma 19: 4*(1+1)
    assert precision_constant(3, 1, 1) == 6
    assert precision_constant(2, 2, 3) == Fraction(49, 4)


def test_lemma_19_and_18_exponents_give_the_constant():
    for p in ((1, 1, 1), (1, 2, 2), (1, 1, 4), (5, 1, 2)):
        workload = _convolution((2, 3, 4, 5, 5, 3, 3, 1, 1), p)
        u = large_loops_volume(workload, convolution_form(workload))
        assert u.sigma == 2
        assert u.segment().constant == 1 / (4 * precision_constant(*p)) ** u.segment().root


def test_roles_are_found_without_names_and_reasons_are_given():
    form = convolution_form(parse_workload("Z[a,b] += F[g,b,u] * Q[g,3*a+2*u]", {"a": 4, "b": 2, "g": 3, "u": 5}))
    assert (form.image.name, form.kernel.name, form.output.name) == ("Q", "F", "Z")
    assert (form.batch, form.channels, form.features, form.groups) == ((), ("g",), ("b",), ())
    (window,) = form.windows
    assert (window.position, window.tap, window.stride, window.dilation) == ("a", "u", 3, 2)
    assert convolution_form(conv2d(c=6, h=8, w=8, r=3, s=3, depthwise=True)).groups == ("c",)
    halved = convolution_form(parse_workload("O[x] += I[2*x+4*r] * F[r]", {"x": 4, "r": 3})).windows[0]
    assert (halved.stride, halved.dilation) == (1, 2)
    for text, extents, reason in [
        ("C[i,j] += A[i,k] * B[k,j]", {"i": 2, "j": 2, "k": 2}, "subscripts with two dims"),
        ("O[x] += I[x+r+t] * F[r,t]", {"x": 2, "r": 2, "t": 2}, "one dim of the output plus one"),
        ("O[x] += I[x+r] * I[r]", {"x": 2, "r": 2}, "three different tensors"),
        ("O[x] += I[x+r,c] * F[r]", {"x": 2, "r": 2, "c": 2}, "one tensor only"),
        ("O[x] += I[x+r,x] * F[r]", {"x": 2, "r": 2}, "two subscripts"),
    ]:
        assert reason in why_no_convolution(parse_workload(text, extents))
    with pytest.raises(InputError, match="does not apply"):
        bounds(matmul(i=2, j=2, k=2), 10, ["convolution"])


def test_slices_take_the_cheaper_digit_and_round_up():
    window = convolution_form(conv2d(c=1, k=1, h=8, w=8, r=7, s=7, stride=2)).windows[0]
    assert window.slices(4, 7) == 4  # 7/2 rounded up, not 3.5
    assert window.slices(3, 7) == 3  # an image smaller than the filter
    dilated = convolution_form(conv1d(f=1, x=9, c=1, w=5, dilation=3)).windows[0]
    assert dilated.slices(9, 5) == 3  # ceil(9/3) high digits of the position


def test_lemma_20_fails_with_the_quotient_that_limits_tiles():
    workload = parse_workload("O[x] += I[2*x+r] * F[r]", {"x": 100, "r": 7})
    operations = [(x, r) for x in range(100) for r in (0, 2, 4, 6)]  # one value of the low digit
    touched = 100 * len({2 * x + r for x, r in operations}) * 4
    high = next(digit for digit in lifted_lp(workload, capacity=64).digits if digit.factor == 2 and not digit.low)
    assert high.limit == Fraction(7, 2)
    assert high.limit * touched < len(operations) ** 2 <= high.values(7) * touched


def _touched(workload, points):
    dims = workload.dims
    total = 0
    for tensor in workload.tensors:
        elements = {tuple(sum(c * p[dims.index(d)] for d, c in axis.terms) for axis in tensor.axes) for p in points}
        total += workload.weight(tensor) * len(elements)
    return total


def _random_workload(rng):
    stride, dilation = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2), (2, 3), (3, 2)])
    groups = rng.random() < 0.3
    bytes_ = {n: rng.choice([1, 1, 2, 4]) for n in ("O", "I", "F")}
    if groups:
        text = f"O[g,k,x] += I[g,{stride}*x+{dilation}*r] * F[g,k,r]"
        extents = {"g": rng.randint(1, 2), "k": rng.randint(1, 2), "x": rng.randint(1, 4), "r": rng.randint(1, 4)}
    else:
        text = f"O[k,x] += I[c,{stride}*x+{dilation}*r] * F[k,c,r]"
        extents = {"k": rng.randint(1, 2), "c": rng.randint(1, 2), "x": rng.randint(1, 4), "r": rng.randint(1, 4)}
    return parse_workload(text, extents, bytes=bytes_)


def test_tiny_volume_inequalities_hold_on_every_subset():
    rng = random.Random(20)
    tried = 0
    while tried < 25:
        workload = _random_workload(rng)
        if not 4 <= workload.operations <= 12:
            continue
        tried += 1
        form = convolution_form(workload)
        volumes = [v(workload, form).segment() for v in (large_loops_volume, small_filter_volume)]
        points = list(itertools.product(*(range(n) for _, n in workload.sizes)))
        largest = [0] * (_touched(workload, points) + 1)
        for bits in range(1, 2 ** len(points)):
            chosen = [p for i, p in enumerate(points) if bits >> i & 1]
            words = _touched(workload, chosen)
            largest[words] = max(largest[words], len(chosen))
        for words, operations in enumerate(largest):
            assert all(operations <= u(words) for u in volumes), (workload.expression, words)


def _belady_loads(workload, memory, order):
    """Loads of the untiled nest in a loop order under furthest-next-use replacement, word by word."""
    stream = []
    for point in itertools.product(*(range(workload.extents[d]) for d in order)):
        at = dict(zip(order, point, strict=True))
        operands = []
        for tensor in workload.tensors:
            element = tuple(sum(c * at[d] for d, c in axis.terms) for axis in tensor.axes)
            operands += [(tensor.name, element, i) for i in range(workload.weight(tensor))]
        stream.append(operands)
    uses = {}
    for time, operands in enumerate(stream):
        for word in operands:
            uses.setdefault(word, []).append(time)
    held, loads, created = set(), 0, 0
    output = workload.output.name
    seen = set()
    for operands in stream:
        for word in operands:
            uses[word].pop(0)
        missing = [w for w in operands if w not in held]
        while len(held) + len(missing) > memory:
            victim = max((w for w in held if w not in operands), key=lambda w: uses[w][0] if uses[w] else 1 << 60)
            held.remove(victim)
        held.update(missing)
        fresh = [w for w in missing if w[0] == output and w not in seen]
        seen.update(operands)
        loads += len(missing)
        created += len(fresh)
    return loads - (created if workload.semantics is Semantics.ASSIGN else 0)


def test_no_schedule_loads_less_than_any_closed_form_bound():
    rng = random.Random(15)
    for _ in range(cases(15, 60)):
        stride, dilation = rng.choice([(1, 1), (2, 1), (1, 2), (2, 3)])
        text = f"O[k,x] += I[c,{stride}*x+{dilation}*r] * F[k,c,r]"
        extents = {"k": rng.randint(1, 5), "c": rng.randint(1, 5), "x": rng.randint(1, 6), "r": rng.randint(1, 4)}
        workload = parse_workload(text, extents, bytes={n: rng.choice([1, 1, 2]) for n in "OIF"})
        workload = workload.with_semantics(rng.choice(list(Semantics)))
        memory = rng.randint(sum(workload.weight(t) for t in workload.tensors), 24)
        found = bounds(workload, memory, ["convolution", "ioopt"])
        for _ in range(4):
            order = rng.sample(workload.dims, 4)
            loads = _belady_loads(workload, memory, order)
            assert all(b.loads_words <= loads for b in found), (workload, memory, order)


def test_assign_subtracts_created_outputs_but_never_goes_below_the_inputs():
    workload = conv2d(n=1, k=64, c=64, h=56, w=56, r=3, s=3)
    accumulate = convolution(workload, 1024)
    assign = convolution(workload.with_semantics(Semantics.ASSIGN), 1024)
    assert assign.loads_words == accumulate.loads_words - output_words(workload)
    assert accumulate.loads_words > 2_400_000
    assigned = workload.with_semantics(Semantics.ASSIGN)
    assert loads_of_semantics(assigned, 0) == compulsory_loads(assigned)


def test_yolo_y4_reaches_the_printed_theorem():
    workload = parse_workload(
        "O[f,x,y] += I[c,x+w,y+h] * K[f,c,w,h]", {"f": 128, "c": 64, "x": 136, "y": 136, "w": 3, "h": 3}
    )
    assert theorem15(workload, 65536).small_filter_words == 3_420_160
    assert theorem15(workload, 65536).compulsory == 3_660_032
    assert convolution(workload, 65536).loads_words == 3_660_032
    u = small_filter_volume(workload, convolution_form(workload))
    assert u.exponents() == {
        "I": Fraction(1, 2),
        "K": Fraction(1, 2),
        "O": Fraction(1, 2),
        "slices[x,w]": Fraction(1, 2),
        "slices[y,h]": Fraction(1, 2),
    }


def test_vertices_of_the_lifted_face_fit_and_are_optimal():
    workload = conv2d(n=4, k=32, c=16, h=40, w=40, r=5, s=5, stride=2, dilation=(1, 3))
    found = lifted_face(workload, 2000)
    assert found.complete
    for vertex in found.vertices:
        assert prod(real_tile(vertex).values()) == pytest.approx(found.volume)
    with pytest.raises(InputError, match="at least 1"):
        lifted_face(workload, 0)


def test_a_mapping_of_one_tile_needs_no_loop():
    workload = conv1d(f=2, x=4, c=2, w=3)
    assert round_tile(workload, dict.fromkeys(workload.dims, 1.0), capacity_words=10_000) == workload.extents


@pytest.mark.parametrize("name", ["resnet18/R1", "resnet18/R6", "yolo9000/Y4", "mobilenet/M3"])
def test_certificates_do_not_depend_on_bounds_that_were_sought_before(name: str) -> None:
    """What the least volume is found from for one memory serves the next: it may save work, and change nothing."""
    workload, memories = library.workload(name), (1024, 8192, 65536)
    alone = []
    for memory in memories:
        _looked_at.cache_clear()
        alone.append(best(workload, memory).certificate)
    for order in ((0, 1, 2), (2, 1, 0)):
        _looked_at.cache_clear()
        together = {k: best(workload, memories[k]).certificate for k in order}
        assert [together[k] for k in range(3)] == alone
