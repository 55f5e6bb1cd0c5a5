"""IOOpt in symbols: Algorithm 1, costs at reuse levels, and closed forms."""

import json
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import loop_orders, workloads
from sympy import Rational, simplify, symbols

from optmap.errors import InputError
from optmap.evaluate.held import entering_words, held_words
from optmap.problem import library
from optmap.problem.builders import conv1d, matmul
from optmap.problem.parser import parse_workload
from optmap.problem.reuse import reuse_at
from optmap.symbolic.ioopt import (
    MEMORY,
    at_extents,
    contraction_closed_form,
    convolution_closed_form,
    held_traffic,
    reuse_orders,
    reuse_sets,
)
from optmap.symbolic.symbols import extent, tile, tiles

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "iooub_reference.json").read_text())


def alphabetical(workload_text, dims):
    return parse_workload(workload_text, dict.fromkeys(dims, 5), name="w")


CONV1D = alphabetical("Out[f,x] += Image[c,x+w] * Filter[f,c,w]", "cfxw")
CONV1D_SORTED = alphabetical("Out[f,x] += Image[c,x+w] * Filter[f,c,w]", "cfwx")
MATMUL = alphabetical("C[i,j] += A[i,k] * B[k,j]", "ijk")
CONV2D = alphabetical("Out[b,f,x,y] += Image[b,c,x+w,y+h] * Filter[f,c,w,h]", "bcfhwxy")


@pytest.mark.parametrize(
    ("key", "workload", "small"),
    [
        ("conv1d (w small: reuse for Image along w)", CONV1D_SORTED, "w"),
        ("conv1d (no oracle for w)", CONV1D_SORTED, ""),
        ("matmul", MATMUL, ""),
        ("conv2d (h,w small)", CONV2D, "hw"),
    ],
)
def test_algorithm_1(key, workload, small):
    reference = REFERENCE["algorithm1"][key]
    assert {d: sorted(s) for d, s in reuse_sets(workload, small).items()} == {
        d: sorted(s) for d, s in reference["reuse"].items()
    }
    found = reuse_orders(workload, small)
    assert len(found) == len(reference["perms_outer_to_inner"])
    if key == "conv1d (no oracle for w)":
        # Reuse that ends leaves an arbitrary order; both choices agree from the last reused dim inwards.
        assert {order[2:] for order in found} == {tuple(p[2:]) for p in reference["perms_outer_to_inner"]}
    else:
        assert {"".join(order) for order in found} == set(reference["perms_outer_to_inner"])


def test_unknown_small_dims_are_refused():
    with pytest.raises(InputError, match="no dim z"):
        reuse_orders(MATMUL, "z")


def test_matmul_of_section_6():
    assert REFERENCE["matmul"]["footprint"] == "T_i*T_j + T_i + T_j"
    rows = {row.name: row for row in held_traffic(MATMUL, ("i", "j", "k"), {"C": 1, "A": 1, "B": 1})}
    at = {tile("k"): 1}
    N_i, N_j, N_k, T_i, T_j = (extent("i"), extent("j"), extent("k"), tile("i"), tile("j"))
    expected = {"C": N_i * N_j, "A": N_i * N_j * N_k / T_j, "B": N_i * N_j * N_k / T_i}
    for name, value in expected.items():
        assert simplify(rows[name].entering - value) == 0
    assert simplify(sum(row.held for row in rows.values()).subs(at) - (T_i * T_j + T_i + T_j)) == 0


def test_conv1d_of_section_4():
    order = ("w", "c", "f", "x")
    fixed = {tile("x"): 1, tile("w"): extent("w")}
    rows = {row.name: row for row in held_traffic(CONV1D, order, {"Out": 1, "Image": 1, "Filter": 2})}
    f, x, c, w = (extent(d) for d in "fxcw")
    expected = {
        "Out": c * f * x / tile("c"),
        "Image": c * f * (w + x - 1) / tile("f"),
        "Filter": c * f * w,
    }
    assert REFERENCE["conv1d"]["Image"] == "Nc*Nf*(Nw + Nx - 1)/Tf"
    for name, value in expected.items():
        assert simplify(rows[name].entering.subs(fixed) - value) == 0
    level1 = {"Out": tile("f"), "Image": w * tile("c"), "Filter": w * tile("c") * tile("f")}
    for name, value in level1.items():
        first = {row.name: row for row in held_traffic(CONV1D, order, dict.fromkeys(level1, 1))}[name]
        assert simplify(first.held.subs(fixed) - value) == 0
    second = {row.name: row for row in held_traffic(CONV1D, order, dict.fromkeys(level1, 2))}
    assert simplify(second["Image"].held.subs(fixed) - tile("c") * (w + x - 1)) == 0
    assert simplify(second["Filter"].held.subs(fixed) - w * tile("c") * tile("f")) == 0


@st.composite
def divided(draw):
    workload = draw(workloads(max_extent=4, max_operations=10**6))
    counts = {d: draw(st.integers(1, 4)) for d in workload.dims}
    whole = {d: n * counts[d] for d, n in workload.extents.items()}
    order = draw(loop_orders(workload))
    names = {t.name for t in workload.tensors}
    return (
        workload.with_extents(**whole),
        workload.extents,
        order,
        {n: draw(st.integers(1, len(order) + 1)) for n in names},
    )


@given(divided())
def test_symbols_count_what_the_integers_count_where_tiles_divide(case):
    workload, part, order, positions = case
    values = {tile(d): n for d, n in part.items()} | {extent(d): n for d, n in workload.extents.items()}
    for row, tensor in zip(held_traffic(workload, order, positions), workload.tensors, strict=True):
        how = reuse_at(tensor, order, positions[tensor.name])
        assert row.held.subs(values) == held_words(workload, tensor, part, how)
        assert row.entering.subs(values) == entering_words(workload, tensor, part, how)


def test_positions_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="reuse position of C is 5"):
        held_traffic(MATMUL, ("i", "j", "k"), {"C": 5, "A": 1, "B": 1})
    with pytest.raises(InputError, match="reuse position of B is missing"):
        held_traffic(MATMUL, ("i", "j", "k"), {"C": 1, "A": 1})


def test_closed_form_of_matmul():
    workload = matmul(i=2000, j=1500, k=1500)
    form = contraction_closed_form(workload, "C")
    N_i, N_j, N_k = (extent(d) for d in "ijk")
    printed = N_i * N_j * (2 * N_k / ((MEMORY + 1) ** Rational(1, 2) - 1) + 1)
    assert simplify(form.expression - printed) == 0
    assert int(at_extents(form.expression, workload, 1023)) == 293_322_580
    assert form.streamed == (("i",), ("j",))
    assert "square tiles" in form.assumptions[0]


@pytest.mark.parametrize("row", REFERENCE["contractions"])
def test_closed_forms_of_the_eight_contraction_classes(row):
    workload = library.workload(f"tccg/{row['kernel']}")
    form = contraction_closed_form(workload)
    value = float(at_extents(form.expression, workload, row["S"]))
    assert value == pytest.approx(row["UB_corrected"], rel=1e-12)
    assert float(at_extents(form.tile, workload, row["S"])) == pytest.approx(row["T"], rel=1e-12)
    sides = [prod(workload.extents[d] for d in group) for group in form.streamed]
    assert (max(row["T"] / side for side in sides) <= 1) or not row["UB_formula_valid"]


def test_closed_forms_need_a_contraction():
    with pytest.raises(InputError, match="one dim per subscript"):
        contraction_closed_form(conv1d(f=2, x=3, c=4, w=2))
    with pytest.raises(InputError, match="dim b occurs in 3 tensors"):
        contraction_closed_form(parse_workload("C[b,i,j] += A[b,i,k] * B[b,k,j]", dict.fromkeys("bijk", 4)))
    with pytest.raises(InputError, match="no tensor 'D'"):
        contraction_closed_form(matmul(i=2, j=2, k=2), "D")
    with pytest.raises(InputError, match="share a dim"):
        contraction_closed_form(parse_workload("C[i,j] += A[i] * B[j]", {"i": 3, "j": 3}))


@pytest.mark.parametrize("row", REFERENCE["convolutions"][::7])
def test_printed_convolution_formula(row):
    bound, delta = convolution_closed_form()
    layer = library.workload(f"yolo9000/Y{row['layer']}")
    e = layer.extents
    values = {
        "c": e["c"],
        "f": 28272 if row["layer"] == "23" else e["k"],
        "h": e["r"],
        "w": e["s"],
        "x": e["h"],
        "y": e["w"],
    }
    put = {symbol: values[d] for d, symbol in tiles(tuple(values), 2).items()} | {MEMORY: row["S"]}
    assert float(delta.subs(put)) == pytest.approx(row["Delta"], rel=1e-12)
    assert float(bound.subs(put)) == pytest.approx(row["UB_printed"], rel=1e-9)


def test_the_printed_side_fills_the_memory():
    _, delta = convolution_closed_form()
    h, w = extent("h"), extent("w")
    assert simplify((h * w + w + 1) * delta**2 + (h * w - w) * delta - MEMORY) == 0
    assert symbols("S", positive=True) == MEMORY


YOLO = parse_workload("Out[f,x,y] += Image[c,x+w,y+h] * Filter[f,c,w,h]", dict.fromkeys("fcxywh", 5), name="yolo")
CONVOLUTION_TILINGS = {  # loop order, reuse positions, tile of h and w (0: whole)
    "Filter-stationary": [("fchwyx", {"Out": 1, "Image": 1, "Filter": 3}, 0)],
    "Image-stationary": [
        ("ycxhwf", {"Out": 1, "Image": 2, "Filter": 1}, 0),
        ("ychwxf", {"Out": 1, "Image": 2, "Filter": 1}, 0),
    ],
    "Out-stationary(hw kept)": [("fyxchw", {"Out": 4, "Image": 3, "Filter": 1}, 1)],
    "Out-stationary(w slide)": [("fyxhcw", {"Out": 3, "Image": 1, "Filter": 1}, 0)],
}


@pytest.mark.parametrize("layer", sorted({row["layer"] for row in REFERENCE["convolutions"]}, key=int))
def test_real_optima_of_the_yolo_layers_are_values_of_the_symbolic_cost(layer):
    extents = library.workload(f"yolo9000/Y{layer}").extents
    sizes = {"f": 28272 if layer == "23" else extents["k"], "c": extents["c"], "x": extents["h"], "y": extents["w"]}
    sizes |= {"h": extents["r"], "w": extents["s"]}
    for row in (r for r in REFERENCE["convolutions"] if r["layer"] == layer):
        name, real = row["UB_conf"]
        values = {extent(d): n for d, n in sizes.items()}
        values |= dict(zip((tile(d) for d in "fcxy"), real, strict=True))
        found = []
        for order, positions, window in CONVOLUTION_TILINGS[name]:
            values |= {tile(d): window or sizes[d] for d in "hw"}
            rows = held_traffic(YOLO, tuple(order), positions)
            if float(sum(r.held for r in rows).subs(values)) <= row["S"] * (1 + 1e-9):
                found.append(float(sum(r.entering for r in rows).subs(values)))
        assert min(abs(value / row["UB_num"] - 1) for value in found) < 1e-9


@pytest.mark.parametrize("kernel", sorted({row["kernel"] for row in REFERENCE["contractions"]}))
def test_real_optima_of_the_contractions_are_values_of_the_symbolic_cost(kernel):
    orders = {
        "i": ("jki", {"C": 1, "A": 1, "B": 2}),
        "j": ("ikj", {"C": 1, "A": 2, "B": 1}),
        "k": ("ijk", {"C": 2, "A": 1, "B": 1}),
    }
    for row in (r for r in REFERENCE["contractions"] if r["kernel"] == kernel):
        name, real = row["UB_conf"]
        order, positions = orders[name]
        rows = held_traffic(MATMUL, tuple(order), positions)
        values = {extent("i"): row["I"], extent("j"): row["J"], extent("k"): row["K"]}
        values |= dict(zip((tile(d) for d in "ijk"), real, strict=True))
        assert float(sum(r.entering for r in rows).subs(values)) == pytest.approx(row["UB_numeric"], rel=1e-9)
        assert float(sum(r.held for r in rows).subs(values)) <= row["S"] * (1 + 1e-9)
