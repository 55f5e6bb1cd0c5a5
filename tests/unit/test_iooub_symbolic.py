"""IOOpt in symbols: Algorithm 1, costs at reuse levels, and closed forms."""

import itertools
import json
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import loop_orders, workloads
from sympy import Rational, simplify, symbols

from optmap.base.errors import InputError
from optmap.count.levels.held import entering_words, held_words
from optmap.files import library
from optmap.mappings.reuse import reuse_at
from optmap.symbolic import (
    MEMORY,
    SIDE,
    at_extents,
    closed_form_value,
    contraction_closed_form,
    convolution_closed_form,
    extent,
    held_traffic,
    parts,
    reuse_orders,
    reuse_sets,
    tile,
)
from optmap.symbolic.closed_form import closed_form
from optmap.workloads.builders import conv1d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

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
    assert simplify(form.in_memory - printed) == 0
    assert int(at_extents(form.in_memory, workload, 1023)) == 293_322_580
    assert closed_form_value(form, workload, 1023).loads_words == 293_322_581  # rounded up
    assert form.cut == (("i",), ("j",))
    assert "square tiles" in form.assumptions[0]


@pytest.mark.parametrize("row", REFERENCE["contractions"])
def test_closed_forms_of_the_eight_contraction_classes(row):
    workload = library.workload(f"tccg/{row['kernel']}")
    form = contraction_closed_form(workload)
    loads = float(at_extents(form.in_memory, workload, row["S"]))
    assert loads == pytest.approx(row["UB_corrected"], rel=1e-12)
    found = closed_form_value(form, workload, row["S"])
    assert found.side == pytest.approx(row["T"], rel=1e-12)
    assert loads <= found.loads_words < loads + 1
    assert not (found.broken and row["UB_formula_valid"])
    sides = [prod(workload.extents[d] for d in group) for group in form.cut]
    assert bool(found.broken) == (max(row["T"] / side for side in sides) > 1)


def test_closed_forms_need_a_contraction():
    with pytest.raises(InputError, match="has several dims"):
        contraction_closed_form(conv1d(f=2, x=3, c=4, w=2))
    with pytest.raises(InputError, match="dim b occurs in 3 tensors"):
        contraction_closed_form(parse_workload("C[b,i,j] += A[b,i,k] * B[b,k,j]", dict.fromkeys("bijk", 4)))
    with pytest.raises(InputError, match="unknown tensor 'D'"):
        contraction_closed_form(matmul(i=2, j=2, k=2), "D")
    with pytest.raises(InputError, match="share a dim"):
        contraction_closed_form(parse_workload("C[i,j] += A[i] * B[j]", {"i": 3, "j": 3}))


@pytest.mark.parametrize("row", REFERENCE["convolutions"][::7])
def test_printed_convolution_formula(row):
    layer = library.workload(f"yolo9000/Y{row['layer']}")
    layer = layer.with_extents(k=28272) if row["layer"] == "23" else layer
    form = convolution_closed_form(layer)
    assert float(at_extents(form.side, layer, row["S"])) == pytest.approx(row["Delta"], rel=1e-12)
    assert float(at_extents(form.in_memory, layer, row["S"])) == pytest.approx(row["UB_printed"], rel=1e-9)


def test_the_printed_side_fills_the_memory():
    form = convolution_closed_form(library.workload("yolo9000/Y4"))
    h, w = extent("s"), extent("r")
    assert simplify((h * w + w + 1) * form.side**2 + (h * w - w) * form.side - MEMORY) == 0
    assert symbols("S", positive=True) == MEMORY


@pytest.mark.parametrize(
    "workload",
    [
        matmul(i=7, j=8, k=9),
        library.workload("tccg/abc-adec-ebd"),
        parse_workload("O[b,f,x,y] += I[b,c,g,x+w,y+h] * F[f,c,g,w,h]", dict.fromkeys("bfcgxywh", 3)),
    ],
    ids=lambda w: w.title,
)
def test_closed_forms_are_the_cost_of_their_own_tiling(workload):
    form = closed_form(workload)
    rows = parts(form, workload)
    first = {dims[0]: SIDE for dims in form.cut}
    put = {tile(d): first.get(d, 1) for d in workload.dims}
    assert simplify(sum(row.entering for row in rows).subs(put) - form.expression) == 0
    held = sum(row.held for row in rows).subs(put)
    assert simplify(held.subs(SIDE, form.side) - MEMORY) == 0


def walked(workload, form, side):
    """(loads, most words held) of the tiling, element by element: every tensor keeps the tile in use and no other."""
    extents = workload.extents
    part = dict.fromkeys(workload.dims, 1) | {d: extents[d] for d, size in form.fixed.items() if size != 1}
    part |= {dims[0]: side for dims in form.cut}
    held, seen, loads, most = [set() for _ in workload.tensors], set(), 0, 0
    for corner in itertools.product(*(range(0, extents[d], part[d]) for d in form.order)):
        low = dict(zip(form.order, corner, strict=True))
        for place, tensor in enumerate(workload.tensors):
            needed = {
                index
                for point in itertools.product(
                    *(range(low[d], low[d] + (part[d] if d in tensor.dims else 1)) for d in workload.dims)
                )
                for at in [dict(zip(workload.dims, point, strict=True))]
                for index in [tuple(sum(c * at[d] for d, c in axis.terms) for axis in tensor.axes)]
            }
            fresh = needed - held[place]
            if place == 0 and workload.semantics is Semantics.ASSIGN:
                fresh &= seen
            seen |= needed if place == 0 else set()
            loads += len(fresh)
            held[place] = needed
        most = max(most, sum(map(len, held)))
    return loads, most


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize("stationary", ["C", "A", "B"])
def test_a_walk_of_the_contraction_moves_what_the_closed_form_says(stationary, semantics):
    workload = matmul(i=6, j=9, k=3).with_semantics(semantics)
    form = closed_form(workload, stationary)
    loads, most = walked(workload, form, 3)
    assert most == 3 * 3 + 2 * 3
    found = closed_form_value(form, workload, most)
    assert (found.side, found.loads_words, found.broken) == (3, loads, ())


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize("batch", [1, 2])
def test_a_walk_of_the_convolution_moves_what_the_closed_form_says(batch, semantics):
    extents = {"n": batch, "k": 4, "c": 4, "h": 5, "w": 6, "r": 2, "s": 3}
    workload = parse_workload("O[n,k,h,w] += I[n,c,h+r,w+s] * F[k,c,r,s]", extents).with_semantics(semantics)
    form = closed_form(workload)
    loads, most = walked(workload, form, 2)
    assert most == (2 * 3 + 2 + 1) * 4 + (2 * 3 - 2) * 2
    found = closed_form_value(form, workload, most)
    assert (found.side, found.loads_words, found.broken) == (2, loads, ())


def test_workloads_without_a_closed_form_are_told_why():
    strided = parse_workload("O[k,h,w] += I[c,2*h+r,w+s] * F[k,c,r,s]", dict.fromkeys("khwcrs", 3))
    with pytest.raises(InputError, match=r"as a contraction: .*has several dims; as a convolution: .*stride"):
        closed_form(strided)
    square = parse_workload("C[i,j] += A[i,k] * A[k,j]", dict.fromkeys("ijk", 4))
    with pytest.raises(InputError, match="different tensors"):
        closed_form(square)
    layer = library.workload("yolo9000/Y4")
    with pytest.raises(InputError, match="keeps the filter Ker, not Out"):
        closed_form(layer, "Out")
    with pytest.raises(InputError, match="2 words holds no tile"):
        closed_form_value(closed_form(MATMUL), MATMUL, 2)
    mixed = parse_workload("C[i,j] += A[i,k] * B[k,j]", dict.fromkeys("ijk", 4), bytes={"C": 4, "A": 1, "B": 1})
    with pytest.raises(InputError, match="one element size"):
        closed_form(mixed)


def test_the_number_of_orders_is_limited():
    wide = parse_workload("O[a] += A[a,b,c,d,e,f,g,h,i,j,k]", dict.fromkeys("abcdefghijk", 2))
    assert len(reuse_orders(wide, limit=50)) == 50


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
