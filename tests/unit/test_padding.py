"""Implicit padding: what is counted, bounded, written and checked is the image without its rim."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from bounds_oracles import element, found_loads, least_memory, points, random_workload, template_workload, with_ranges
from cases import cases, some
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import machines, mappings, workloads

from optmap.base.errors import InputError, OptmapError, ParseError
from optmap.bounds import BOUNDS, compulsory_loads, ranked_proofs, tensor_counts
from optmap.bounds.best import best, certified
from optmap.checker import RefusedError, check_document
from optmap.checker.core.shared_elements import first_values
from optmap.checker.core.tools import digest
from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.reference.simulate import simulate, walk_nest
from optmap.files.fields import Fields
from optmap.files.library import list_workloads, workload
from optmap.files.workloads import read_workload, read_workloads, workload_document
from optmap.machines.machine import two_level
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.builders import conv1d, conv2d, matmul
from optmap.workloads.padding import real_operations, real_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_capacity
from optmap.workloads.workload import Padding, Semantics

SIZES = st.integers(1, 6)


def touched(image: int, taps: int, stride: int, dilation: int) -> dict[str, set[int]]:
    """Rows of image, filter and output that a convolution with ONNX's SAME_UPPER needs along one axis."""
    outputs = -(-image // stride)
    pad = max(0, (outputs - 1) * stride + (taps - 1) * dilation + 1 - image) // 2
    found: dict[str, set[int]] = {"In": set(), "Ker": set(), "Out": set()}
    for h, r in product(range(outputs), range(taps)):
        row = stride * h + dilation * r - pad
        if 0 <= row < image:
            found["In"].add(row)
            found["Ker"].add(r)
            found["Out"].add(h)
    return found


@given(st.tuples(SIZES, SIZES, SIZES, SIZES), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_compulsory_traffic_is_what_a_padded_convolution_touches(sizes, stride, dilation, depthwise):
    h, w, r, s = sizes
    made = conv2d(
        k=3 if not depthwise else None, c=3, h=h, w=w, r=r, s=s, stride=stride, dilation=dilation, depthwise=depthwise
    ).with_padding("implicit")
    rows, columns = touched(h, r, stride, dilation), touched(w, s, stride, dilation)
    channels = {"In": 3, "Ker": 3 if depthwise else 9, "Out": 3}
    wanted = {name: channels[name] * len(rows[name]) * len(columns[name]) for name in channels}
    assert {name: count.elements for name, count in tensor_counts(made).items()} == wanted


def test_the_odd_element_of_padding_is_at_the_end():
    made = conv2d(k=1, c=1, h=6, w=7, r=3, s=4, stride=(2, 1)).with_padding("implicit")
    assert str(made.inputs[0]) == "In[n,c,2*h+r in 0..5,w+s in 1..7]"


@pytest.mark.parametrize("seed", some(2, range(4)))
def test_counts_are_those_of_an_enumeration(seed):
    rng = random.Random(seed)
    done = 0
    while done < 150:
        made = with_ranges(random_workload(rng) if rng.random() < 0.5 else template_workload(rng), rng)
        if made is None:
            continue
        done += 1
        real = points(made)
        assert real_operations(made) == len(real)
        for name, count in tensor_counts(made).items():
            seen = {element(t, p) for t in made.tensors if t.name == name for p in real}
            assert count.elements == len(seen), made.expression
        for axis in (axis for tensor in made.tensors for axis in tensor.axes):
            values = {axis.offset + sum(c * p[d] for d, c in axis.terms) for p in real}
            assert real_values(made, axis) == len(values)


def test_wide_subscripts_are_counted_without_their_points():
    """A second of sound at 16 MHz, a filter of 400 with stride 160: 40 million points, never enumerated."""
    made = conv1d(f=1, c=1, x=100_000, w=400, stride=160, padding="same").with_padding("implicit")
    assert made.inputs[0].axes[1].real == (120, 16_000_119)
    assert tensor_counts(made)["Image"].elements == 16_000_000
    assert real_operations(made) == 100_000 * 400 - 240


def test_too_many_tied_points_are_an_error():
    made = parse_workload("O[x] += I[x+y+z in 1..900] * K[y,z]", {"x": 300, "y": 300, "z": 300})
    with pytest.raises(OptmapError, match="use padding stored"):
        real_operations(made)


@pytest.mark.parametrize(
    ("text", "extents"),
    [
        ("O[i] += A[i]*B[2*k in 1..1]", {"i": 5, "k": 2}),
        ("O[i] += A[i]*B[k+j in 0..0]*D[2*k+j in 3..3]", {"i": 5, "k": 2, "j": 2}),
        ("O[i in 0..0] += A[i in 2..2]*B[k]", {"i": 3, "k": 4}),
    ],
)
def test_where_nothing_is_done_nothing_is_proved(text, extents):
    """Each range alone meets its subscript; together they leave no operation, and no word has to move."""
    made = parse_workload(text, extents)
    assert real_operations(made) == 0
    assert {count.elements for count in tensor_counts(made).values()} == {0}
    for method in BOUNDS.values():
        if method.applies(made) is None:
            assert method.run(made, 4).total_words == 0
    proof = json.loads(json.dumps(best(made, 4).certificate))
    assert "moves 0 words in all" in "\n".join(check_document(proof).verified)
    for part in proof["compulsory"].values():
        part["elements"] = 1
    with pytest.raises(RefusedError, match="elements"):
        check_document(_signed(proof))


def test_mobilenet_m9_moves_its_image_once():
    layer = workload("mobilenet/M9")
    assert best(layer, 2**18).total_words == 192_512
    bound = best(layer.with_padding("implicit"), 2**18)
    assert bound.total_words == 1024 * (7 * 7 + 9) + 2 * 1024 * 7 * 7 == 159_744
    assert "in 1..7" in check_document(json.loads(json.dumps(bound.certificate))).verified[0]


@pytest.mark.parametrize("name", ["mobilenet/M9", "resnet18/R1", "quickflow/XV", "resnet18/R11"])
@pytest.mark.parametrize("semantics", list(Semantics))
def test_implicit_padding_lowers_every_bound(name, semantics):
    layer = workload(name).with_semantics(semantics)
    implicit = layer.with_padding("implicit")
    for memory in (300, 4096):
        for key, method in BOUNDS.items():
            if method.applies(layer) is None:
                assert method.run(implicit, memory).total_words <= method.run(layer, memory).total_words, key
        check_document(json.loads(json.dumps(best(implicit, memory).certificate)))


@pytest.mark.parametrize("seed", some(1, range(2)))
def test_no_schedule_that_never_loads_padding_beats_the_bound(seed):
    rng = random.Random(seed)
    done = argued = 0
    while done < 30:
        made = with_ranges(template_workload(rng), rng, share=0.3)
        if made is None or made.padding is Padding.STORED:
            continue
        least = least_memory(made)
        for memory in (least, least + rng.randint(1, 12)):
            proved = max((proof.loads_words for proof in ranked_proofs(made, memory, beat=0)), default=0)
            claimed = max(compulsory_loads(made), proved)
            argued += proved > compulsory_loads(made)
            assert claimed <= found_loads(made, memory, rng, tries=3, steps=10), (made.expression, made.extents, memory)
            done += 1
    assert argued


@pytest.mark.parametrize("seed", range(2))
def test_every_certificate_with_ranges_is_accepted(seed):
    rng = random.Random(seed)
    for _ in range(15):
        make = random_workload if rng.random() < 0.5 else template_workload
        made = with_ranges(make(rng), rng)
        if made is not None:
            check_document(json.loads(json.dumps(best(made, rng.randint(2, 20)).certificate)))


# mappings


@settings(max_examples=cases(33, 100))
@given(st.data())
def test_traffic_of_a_mapping_is_that_of_its_walk_over_real_elements(data: st.DataObject) -> None:
    stored = data.draw(workloads(max_extent=7, max_operations=600))
    made = with_ranges(stored, random.Random(data.draw(st.integers(0, 99))))
    machine = data.draw(machines(max_levels=3, max_fanout=data.draw(st.sampled_from([1, 3]))))
    mapping = data.draw(mappings(stored, machine))
    if made is None:
        return
    try:
        exact = exact_traffic(made, machine, mapping)
    except InputError:  # first touches are not defined
        return
    walked = walk_nest(made, machine, mapping)
    assert [(e.loads_words, e.stores_words) for e in exact] == [(m.loads_words, m.stores_words) for m in walked]
    assert evaluate_cost(made, machine, mapping) == evaluate_cost(stored, machine, mapping)
    whole = exact_traffic(stored, machine, mapping)
    created = made.semantics is Semantics.ASSIGN  # less is created where less is stored
    assert created or all(e.words <= w.words for e, w in zip(exact, whole, strict=True))
    if not any(n > 1 for level in mapping.levels for n in level.spatial.values()):
        loads = sum(e.loads_words for e in exact if e.between == machine.boundaries[-1])
        assert loads >= compulsory_loads(made)


def test_one_tile_that_holds_all_moves_the_image_alone():
    layer = workload("mobilenet/M9").with_padding("implicit")
    machine = two_level(parse_capacity("1MiB"))
    level = LevelMapping(level=machine.levels[0].name, tile=layer.extents, permutation=layer.dims, spatial={})
    moved = exact_traffic(layer, machine, Mapping(levels=(level,)))
    assert sum(entry.words for entry in moved) == 159_744


def test_operations_on_padding_are_not_simulated():
    made = conv1d(f=2, c=2, x=6, w=3, padding="same").with_padding("implicit")
    machine = two_level(parse_capacity("500w"))
    level = LevelMapping(level=machine.levels[0].name, tile=made.extents, permutation=made.dims, spatial={})
    for policy in ("lru", "belady"):
        moved = simulate(made, machine, Mapping(levels=(level,)), policy=policy)
        assert sum(entry.loads_words for entry in moved) == compulsory_loads(made)


# notation, files, builders


@pytest.mark.parametrize(
    "text", ["I[x+r in 1..7]", "I[x+r+2 in 3..9]", "I[2*x+r in 0..3,r in 1..1]", "I[in+r in 1..2,x]", "I[2 in+r,x]"]
)
def test_ranges_are_read_and_written_back(text):
    extents = {"x": 5, "r": 3} | ({"in": 2} if "in+" in text else {})
    made = parse_workload(f"O[x] += {text} * K[r]", extents)
    again = parse_workload(made.expression, extents)
    assert again == made
    assert again.inputs[0].axes == made.inputs[0].axes
    assert (made.padding is Padding.IMPLICIT) == (".." in text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I[x+r in 1]", "'..'"),
        ("I[x+r in 1..]", "the last real value"),
        ("I[x+r in 4..2]", "no range"),
        ("I[x+r in 20..30]", "no value of the subscript"),
        ("I[x+r,3 in 1..4]", "no value of the subscript"),
    ],
)
def test_ranges_that_mean_nothing_are_refused(text, problem):
    with pytest.raises((InputError, ParseError)) as caught:
        parse_workload(f"O[x] += {text} * K[r]", {"x": 5, "r": 3})
    assert problem in str(caught.value)


def test_workloads_of_the_library_store_their_padding():
    for name in list_workloads():
        assert workload(name).padding is Padding.STORED


def test_padding_goes_and_comes_back():
    layer = workload("resnet18/R2")
    implicit = layer.with_padding(Padding.IMPLICIT)
    assert implicit.inputs[0].axes[2].real == (1, 56)
    assert implicit != layer
    assert implicit.with_padding("stored") == layer
    assert implicit.with_padding("stored").with_padding("implicit") == implicit
    pointwise = workload("resnet18/R3")
    assert pointwise.with_padding("implicit") == pointwise
    assert matmul(i=2, j=3, k=4).with_padding("implicit").padding is Padding.STORED


def test_padding_that_is_not_known_is_not_guessed():
    made = parse_workload("O[x] += I[x+r] * K[r]", {"x": 5, "r": 3})
    with pytest.raises(InputError, match=r"in 1\.\.7"):
        made.with_padding("implicit")
    with pytest.raises(InputError, match="stored or implicit"):
        made.with_padding("zero")
    layer = workload("resnet18/R2")
    with pytest.raises(InputError, match="belong to the extents"):
        layer.with_padding("implicit").with_extents(h=28)
    with pytest.raises(InputError, match="not known"):
        layer.with_extents(h=28).with_padding("implicit")
    assert layer.with_padding("implicit").with_extents(k=3) == layer.with_extents(k=3).with_padding("implicit")


def test_a_valid_convolution_has_no_padding():
    made = conv2d(k=1, c=1, h=9, w=9, r=3, s=3, padding="valid")
    assert made.with_padding("implicit") == made
    assert real_operations(made) == made.operations


def test_json_documents_keep_the_ranges():
    for name in ("mobilenet/M9", "resnet18/R1", "tccg/ab-ac-cb"):
        for padding in Padding:
            made = workload(name).with_padding(padding)
            document = json.loads(json.dumps(workload_document(made)))
            assert document["padding"] == made.padding
            assert read_workload(Fields.of(document, "x.json")) == made
    document["padding"] = "implicit"
    with pytest.raises(InputError, match="by its expression stored"):
        read_workload(Fields.of(document, "x.json"))


def test_yaml_says_which_padding(tmp_path: Path):
    path = tmp_path / "w.yaml"
    path.write_text(
        "workloads:\n"
        "  a: {conv2d: {k: 2, c: 2, h: 8, w: 8, r: 3, s: 3}, padding: implicit}\n"
        "  b: {conv2d: {k: 2, c: 2, h: 8, w: 8, r: 3, s: 3}}\n"
        "  c: {expression: 'O[x] += I[x+r in 1..4] * K[r]', extents: {x: 4, r: 3}}\n",
        encoding="utf-8",
    )
    found = read_workloads(path)
    assert [found[key].padding for key in "abc"] == ["implicit", "stored", "implicit"]
    path.write_text("conv2d: {k: 2, c: 2, h: 8, w: 8, r: 3, s: 3}\npadding: zero\n", encoding="utf-8")
    with pytest.raises(InputError, match="unknown padding 'zero'"):
        read_workloads(path)


# forged certificates


def certificate() -> dict[str, Any]:
    made = conv2d(k=4, c=3, h=8, w=6, r=3, s=3, stride=(2, 1)).with_padding("implicit")
    document = json.loads(json.dumps(certified("best", made, 12, ranked_proofs(made, 12)).certificate))
    assert document["segment"] is not None
    return document  # type: ignore[no-any-return]


def _signed(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"digest": digest(document)}


def _window(document: dict[str, Any]) -> Any:
    return document["accesses"][1]["axes"][3]


def _wider(document: dict[str, Any]) -> None:
    _window(document)["real"] = [0, 7]


def _gone(document: dict[str, Any]) -> None:
    del _window(document)["real"]


def _words_too(document: dict[str, Any]) -> None:
    """The range and the statement both changed, the counts left as they were."""
    _window(document)["real"] = [2, 5]
    work = document["workload"]
    work["expression"] = work["expression"].replace("w+s in 1..6", "w+s in 2..5")


def _all_operations(document: dict[str, Any]) -> None:
    document["segment"]["operations"] = prod(document["workload"]["extents"].values())


def _more_compulsory(document: dict[str, Any]) -> None:
    document["compulsory"]["In"]["elements"] += 3


def _malformed(document: dict[str, Any]) -> None:
    _window(document)["real"] = [True, 6]


def _smaller_map(document: dict[str, Any]) -> None:
    sizes = [entry for entry in document["maps"] if entry["kind"] == "size"]
    sizes[0]["size"] -= 1


@pytest.mark.parametrize(
    "forge", [_wider, _gone, _words_too, _all_operations, _more_compulsory, _malformed, _smaller_map]
)
def test_forged_ranges_are_refused(forge: Callable[[dict[str, Any]], None]):
    honest = certificate()
    assert check_document(honest)
    forged = copy.deepcopy(honest)
    forge(forged)
    assert json.dumps(forged) != json.dumps(honest)
    with pytest.raises(RefusedError):
        check_document(_signed(forged))


@pytest.mark.parametrize("order", ["IJK", "KJI", "JKI"])
def test_bounds_with_ranges_do_not_depend_on_the_order_of_inputs(order):
    inputs = {"I": "I[c,x+r in 1..9]", "J": "J[x+q in 0..7]", "K": "K[c,r,q]"}
    text = f"O[x] += {' * '.join(inputs[name] for name in order)}"
    extents = {"x": 10, "r": 3, "q": 2, "c": 4}
    sizes = {d: extents[d] for d in (reversed(extents) if order == "KJI" else extents)}
    assert [best(parse_workload(text, sizes), memory).loads_words for memory in (8, 20, 60)] == [
        best(parse_workload(f"O[x] += {' * '.join(inputs.values())}", extents), memory).loads_words
        for memory in (8, 20, 60)
    ]


@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(-3, 3), st.booleans()), min_size=1, max_size=2
    ),
)
def test_the_checker_counts_first_values_as_an_enumeration_does(moves, subscripts):
    starts: dict[str, Counter[int]] = {}
    for dim, start, times in moves:
        starts.setdefault(dim, Counter())[start] += times
    first, last = min(starts), max(starts)
    group = [((tuple({first: a, last: b}.items()), o), (0, 9) if real else None) for a, b, o, real in subscripts]
    expected: Counter[tuple[int, ...]] = Counter()
    for choice in product(*(places.items() for places in starts.values())):
        at = dict(zip(starts, (start for start, _ in choice), strict=True))
        values = tuple(o + sum(c * at[d] for d, c in terms) if real else 0 for (terms, o), real in group)
        expected[values] += prod(times for _, times in choice)
    assert first_values(group, starts) == expected


def test_semantics_are_taken_as_words_and_other_words_are_refused():
    """What is compared by identity later must not stay a plain word: code would add to what is there."""
    layer = conv1d(f=1, c=1, x=5, w=3)
    for word in Semantics:
        assert layer.with_semantics(str(word.value)).semantics is word
    with pytest.raises(InputError, match="semantics"):
        layer.with_semantics("asign")
