"""Copies of keys and values are looked through: a product reads what was copied, every word once."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_models import integers, model, tensor, weights

from optmap.onnx_import import ImportedModel, import_model
from optmap.onnx_import.graph import GraphTensor, IndexDigit, read_graph
from optmap.onnx_import.repeats import refined, with_repeats
from optmap.onnx_import.skipped import COPIES
from optmap.workloads.workload import Workload

BATCH, HEADS, GROUPS, TOKENS, DEPTH = 2, 8, 4, 16, 32
node = helper.make_node


def unsqueezed(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """As exporters of grouped-query attention write it: a new axis, expanded, folded into the heads."""
    full = [BATCH, HEADS, GROUPS, TOKENS, DEPTH]
    nodes = [
        node("Unsqueeze", [name, f"{name}_axis"], [f"{name}_5"]),
        node("Expand", [f"{name}_5", f"{name}_full"], [f"{name}_e"]),
        node("Reshape", [f"{name}_e", f"{name}_heads"], [f"{name}_r"]),
    ]
    heads = [BATCH, HEADS * GROUPS, TOKENS, DEPTH]
    return nodes, [
        integers(f"{name}_axis", [2]),
        integers(f"{name}_full", full),
        integers(f"{name}_heads", heads),
    ]


def tiled(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    nodes = [
        node("Unsqueeze", [name, f"{name}_axis"], [f"{name}_5"]),
        node("Tile", [f"{name}_5", f"{name}_times"], [f"{name}_e"]),
        node("Flatten", [f"{name}_e"], [f"{name}_f"], axis=4),
        node("Reshape", [f"{name}_f", f"{name}_heads"], [f"{name}_r"]),
    ]
    return nodes, [
        integers(f"{name}_axis", [2]),
        integers(f"{name}_times", [1, 1, GROUPS, 1, 1]),
        integers(f"{name}_heads", [BATCH, HEADS * GROUPS, TOKENS, DEPTH]),
    ]


def gathered(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    places = [head for head in range(HEADS) for _ in range(GROUPS)]
    return [node("Gather", [name, f"{name}_at"], [f"{name}_r"], axis=1)], [integers(f"{name}_at", places)]


def put_together(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Head by head, as exporters without a repeat of their own write one: cut, copied, put side by side."""
    pieces = [f"{name}_{head}" for head in range(HEADS)]
    nodes = [node("Split", [name], pieces, axis=1)]
    nodes += [node("Expand", [piece, f"{name}_full"], [f"{piece}_e"]) for piece in pieces]
    nodes.append(node("Concat", [f"{piece}_e" for piece in pieces], [f"{name}_r"], axis=1))
    return nodes, [integers(f"{name}_full", [BATCH, GROUPS, TOKENS, DEPTH])]


def listed(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Each head several times in a list of heads."""
    pieces = [f"{name}_{head}" for head in range(HEADS)]
    names = [piece for piece in pieces for _ in range(GROUPS)]
    return [node("Split", [name], pieces, axis=1), node("Concat", names, [f"{name}_r"], axis=1)], []


def stacked(name: str) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """All heads, and all heads again: another assignment of queries to keys, the same words."""
    return [node("Concat", [name] * GROUPS, [f"{name}_r"], axis=1)], []


def llama_attention(copies: object = unsqueezed, *, equation: bool = False) -> onnx.ModelProto:
    """Rotary keys, copied to as many heads as the queries have, scaled products, softmax, and the values."""
    nodes: list[onnx.NodeProto] = [
        node("MatMul", ["x", "wk"], ["k_flat"], name="k_proj"),
        node("Reshape", ["k_flat", "k_split"], ["k_tokens"]),
        node("Transpose", ["k_tokens"], ["k_by_head"], perm=[0, 2, 1, 3]),
        node("Slice", ["k_by_head", "zero", "half", "last"], ["k_low"]),
        node("Slice", ["k_by_head", "half", "end", "last"], ["k_high"]),
        node("Neg", ["k_high"], ["k_negative"]),
        node("Concat", ["k_negative", "k_low"], ["k_turned"], axis=-1),
        node("Mul", ["k_by_head", "cos"], ["k_cos"]),
        node("Mul", ["k_turned", "sin"], ["k_sin"]),
        node("Add", ["k_cos", "k_sin"], ["k"]),
    ]
    constants = [
        integers("k_split", [BATCH, TOKENS, HEADS, DEPTH]),
        *(integers(name, [value]) for name, value in (("zero", 0), ("half", DEPTH // 2), ("end", DEPTH), ("last", 3))),
        weights("wk", (64, HEADS * DEPTH)),
        weights("cos", (1, 1, TOKENS, DEPTH)),
        weights("sin", (1, 1, TOKENS, DEPTH)),
        weights("scale", ()),
    ]
    for name in ("k", "v"):
        more, numbers = copies(name)  # type: ignore[operator]
        nodes += more
        constants += numbers
    if equation:
        nodes.append(node("Einsum", ["q", "k_r"], ["s"], name="scores", equation="bhqd,bhkd->bhqk"))
    else:
        nodes.append(node("Transpose", ["k_r"], ["k_t"], perm=[0, 1, 3, 2]))
        nodes.append(node("Mul", ["k_t", "scale"], ["k_s"]))
        nodes.append(node("MatMul", ["q", "k_s"], ["s"], name="scores"))
    nodes.append(node("Softmax", ["s"], ["p"]))
    nodes.append(node("MatMul", ["p", "v_r"], ["o"], name="values"))
    heads = (BATCH, HEADS * GROUPS, TOKENS, DEPTH)
    inputs = [tensor("x", (BATCH, TOKENS, 64)), tensor("q", heads), tensor("v", (BATCH, HEADS, TOKENS, DEPTH))]
    return model(nodes, inputs, constants)


def read(made: onnx.ModelProto, folder: Path) -> ImportedModel:
    path = folder / "net.onnx"
    onnx.save(made, str(path))
    return import_model(path)


def words(workload: Workload) -> list[int]:
    return [each.footprint(workload.extents) for each in workload.tensors]


@pytest.mark.parametrize("copies", [unsqueezed, tiled, gathered, put_together, listed, stacked])
def test_keys_and_values_of_grouped_queries_have_their_own_heads(copies: object, tmp_path: Path) -> None:
    found = read(llama_attention(copies), tmp_path)
    layers = {workload.names[0]: workload for workload in found.workloads}
    queries, keys, scores = (
        BATCH * heads * TOKENS for heads in (HEADS * GROUPS * DEPTH, HEADS * DEPTH, HEADS * GROUPS * TOKENS)
    )
    assert words(layers["scores"]) == [scores, queries, keys]
    assert words(layers["values"]) == [queries, scores, keys]
    assert layers["scores"].extents == {"b": BATCH * HEADS, "i": GROUPS * TOKENS, "j": TOKENS, "k": DEPTH}
    assert layers["scores"].expression == "C[b,i,j] = A[b,i,k] * B[b,k,j]"
    assert {entry.reason for entry in found.skipped if entry.operator in ("Expand", "Tile", "Gather")} <= {COPIES}


def test_an_einsum_cuts_its_letter(tmp_path: Path) -> None:
    scores = read(llama_attention(equation=True), tmp_path).workloads[1]
    assert scores.expression == "Out[b,h_0,h_1,q,k] = A[b,h_0,h_1,q,d] * B[b,h_0,k,d]"
    assert (scores.extents["h_0"], scores.extents["h_1"]) == (HEADS, GROUPS)


def test_copies_that_fit_no_digits_are_read_as_they_are(tmp_path: Path) -> None:
    """Six rows of which two are one, cut into 4 x 3 among queries of two halves: no common digits."""
    nodes = [
        node("Expand", ["k", "to"], ["e"]),
        node("Reshape", ["e", "flat"], ["r"]),
        node("MatMul", ["q", "r"], ["s"]),
    ]
    constants = [integers("to", [2, 3, 5]), integers("flat", [3, 2, 5])]
    made = model(nodes, [tensor("k", (2, 1, 5)), tensor("q", (3, 4, 2))], constants)
    (found,) = read(made, tmp_path).workloads
    assert words(found) == [3 * 4 * 5, 3 * 4 * 2, 3 * 2 * 5]


@pytest.mark.parametrize("product", ["MatMul", "Einsum"])
def test_copies_that_are_multiplied_with_themselves_are_one_tensor(product: str, tmp_path: Path) -> None:
    """Which of its elements are copies is another question on either side, so it is read as it is."""
    nodes = [
        node("Expand", ["k", "to"], ["e"]),
        node("Reshape", ["e", "flat"], ["r"]),
        node(product, ["r", "r"], ["s"], **({"equation": "ij,jk->ik"} if product == "Einsum" else {})),
    ]
    made = model(nodes, [tensor("k", (2, 1, 3))], [integers("to", [2, 3, 3]), integers("flat", [6, 3])])
    made.graph.node[1].output[0] = "t"
    made.graph.node.insert(2, node("Concat", ["t", "t"], ["r"], axis=1))
    (found,) = read(made, tmp_path).workloads
    assert words(found) == [6 * 6, 6 * 6, 6 * 6]
    assert found.expression.partition(" = ")[2] in ("A[i,k] * A[k,j]", "A[i,j] * A[j,k]")


def test_random_values_are_no_copies(tmp_path: Path) -> None:
    nodes = [
        node("Expand", ["k", "to"], ["e"]),
        node("Dropout", ["e", "ratio", "train"], ["d"]),
        node("MatMul", ["q", "d"], ["s"]),
    ]
    flag = onnx.numpy_helper.from_array(np.array(True), "train")
    made = model(
        nodes, [tensor("k", (1, 5, 6)), tensor("q", (3, 4, 5))], [integers("to", [3, 5, 6]), weights("ratio", ()), flag]
    )
    assert words(read(made, tmp_path).workloads[0])[2] == 3 * 5 * 6


def test_an_operand_that_old_operators_put_elsewhere_is_not_taken_for_one_at_the_right(tmp_path: Path) -> None:
    """Before operator set 7 `axis` says which axis the first one of a shorter operand is: here rows differ by it."""
    nodes = [
        node("Tile", ["k", "times"], ["e"]),
        node("Add", ["e", "rows"], ["r"], broadcast=1, axis=0),
        node("MatMul", ["q", "r"], ["s"]),
    ]
    made = model(
        nodes,
        [tensor("q", (3, 4)), tensor("k", (1, 4))],
        [integers("times", [4, 1]), weights("rows", (4,))],
        outputs=[tensor("s", (3, 4))],
        opsets={"": 6},
    )
    made.graph.value_info.extend(tensor(name, (4, 4)) for name in ("e", "r"))
    assert words(read(made, tmp_path).workloads[0]) == [3 * 4, 3 * 4, 4 * 4]


SIZES = st.sampled_from([1, 1, 2, 3, 4, 6])


@st.composite
def places_of(draw: st.DrawFn, size: int) -> list[int]:
    """Each of so many several times, all of them several times, one alone, or any."""
    inner, outer = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    regular = [place for _ in range(outer) for place in range(size) for _ in range(inner)]
    some = st.lists(st.integers(0, size - 1), min_size=1, max_size=4)
    return draw(st.one_of(st.just(regular), st.just([0] * inner), some))


def random_copies(draw: st.DrawFn | st.DataObject, steps: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Some operators on a tensor whose elements are all different, and what each of them computes."""
    pick = draw.draw if isinstance(draw, st.DataObject) else draw
    shape = pick(st.lists(SIZES, min_size=1, max_size=3))
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []
    value = np.arange(1, prod(shape) + 1, dtype=np.float32).reshape(shape) ** 0.5
    inputs = {"x0": value}
    name = "x0"
    for step in range(steps):
        kind = pick(
            st.sampled_from(
                ["Expand", "Tile", "Reshape", "Transpose", "Gather", "Concat", "Mul", "Slice", "Split", "Unsqueeze"]
            )
        )
        out, axis = f"x{step + 1}", pick(st.integers(0, value.ndim - 1))
        if value.size > 600 and kind in ("Expand", "Tile", "Gather", "Concat"):
            kind = "Transpose"
        if kind == "Expand":
            full = [pick(SIZES) if size == 1 else size for size in value.shape]
            full = [pick(st.integers(1, 3)) for _ in range(pick(st.integers(0, 1)))] + full
            constants.append(integers(f"c{step}", full))
            nodes.append(node("Expand", [name, f"c{step}"], [out]))
        elif kind == "Tile":
            constants.append(integers(f"c{step}", [pick(st.integers(1, 3)) for _ in value.shape]))
            nodes.append(node("Tile", [name, f"c{step}"], [out]))
        elif kind == "Reshape":
            rest, cut = value.size, []
            while rest > 1 and len(cut) < 4:
                cut.append(pick(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0])))
                rest //= cut[-1]
            constants.append(integers(f"c{step}", [*cut, rest]))
            nodes.append(node("Reshape", [name, f"c{step}"], [out]))
        elif kind == "Transpose":
            nodes.append(node("Transpose", [name], [out], perm=pick(st.permutations(range(value.ndim)))))
        elif kind == "Gather":
            constants.append(integers(f"c{step}", pick(places_of(value.shape[axis]))))
            nodes.append(node("Gather", [name, f"c{step}"], [out], axis=axis))
        elif kind == "Concat":
            names = [name] * pick(st.integers(1, 3))
            if pick(st.booleans()):  # of single pieces, in several orders
                pieces = [f"{out}_{piece}" for piece in range(value.shape[axis])]
                nodes.append(node("Split", [name], pieces, axis=axis))
                places = pick(places_of(len(pieces)))
                names = [pieces[place] for place in places]
            nodes.append(node("Concat", names, [out], axis=axis))
        elif kind == "Mul":
            kept = [size if pick(st.booleans()) else 1 for size in value.shape]
            factor = np.arange(2, prod(kept) + 2, dtype=np.float32).reshape(kept) ** (1 / 3)
            constants.append(onnx.numpy_helper.from_array(factor, f"c{step}"))
            nodes.append(node("Mul", [name, f"c{step}"], [out]))
        elif kind == "Slice":
            steps_, size = pick(st.sampled_from([1, -1])), value.shape[axis]
            ends = (
                (size, -size - 1)[steps_ < 0]
                if pick(st.booleans())
                else (1, 0)[steps_ < 0]
                if size > 1
                else (1, -size - 1)[steps_ < 0]
            )
            begin = 0 if steps_ > 0 else size - 1
            for letter, number in zip("abde", (begin, ends, axis, steps_), strict=True):
                constants.append(integers(f"{letter}{step}", [number]))
            nodes.append(node("Slice", [name, *(f"{letter}{step}" for letter in "abde")], [out]))
        elif kind == "Split" and value.shape[axis] % 2 == 0:
            nodes.append(node("Split", [name], [f"{out}_other", out], axis=axis))
        else:
            constants.append(integers(f"c{step}", [axis]))
            nodes.append(node("Unsqueeze", [name, f"c{step}"], [out]))
        made = model(nodes, [tensor("x0", shape)], constants, outputs=[tensor(out, None)])
        value = ReferenceEvaluator(made).run(None, inputs)[0]
        name = out
    return model(nodes, [tensor("x0", shape)], constants, outputs=[tensor(name, None)]), inputs


def groups(value: GraphTensor) -> np.ndarray:
    """Per element the number of what it is a copy of, by the digits of its value."""
    sizes = [size for size in value.shape or () if isinstance(size, int)]
    axes = value.axes or tuple((IndexDigit(extent=size, repeated=False),) for size in sizes)
    digits = [digit for own in axes for digit in own]
    kept = [1 if digit.repeated else digit.extent for digit in digits]
    numbers = np.arange(prod(kept)).reshape(kept)
    return np.broadcast_to(numbers, [digit.extent for digit in digits]).reshape(sizes)


@settings(max_examples=cases(30, 150), deadline=None)
@given(st.data())
def test_copies_are_copies(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """What is said to be one element has one value, for every value of a random graph."""
    made, inputs = random_copies(data, data.draw(st.integers(1, 6)))
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    onnx.save(made, str(path))
    values = [value for each in with_repeats(read_graph(path, {})) for value in each.outputs]
    del made.graph.output[:]
    made.graph.output.extend(tensor(value.name, None) for value in values)
    for value, computed in zip(values, ReferenceEvaluator(made).run(None, inputs), strict=True):
        same = groups(value)
        assert same.shape == computed.shape
        for number in range(int(same.max()) + 1):
            assert len(set(computed[same == number].tolist())) == 1


@settings(max_examples=cases(12, 60), deadline=None)
@given(st.lists(st.lists(st.integers(2, 4), max_size=3), min_size=1, max_size=3), st.integers(0, 5))
def test_refined_digits_say_the_same(extents: list[list[int]], seed: int) -> None:
    """Common digits keep what is repeated: an index has the same element before and after."""
    total = prod(extents[0])
    random = np.random.default_rng(seed)
    parts = [
        tuple(IndexDigit(extent=extent, repeated=bool(random.integers(2))) for extent in own)
        for own in extents
        if prod(own) == total
    ]
    found = refined(parts)
    if found is None:
        assert len(parts) > 1
        return
    assert len({tuple(digit.extent for digit in digits) for digits in found}) == 1
    for before, after in zip(parts, found, strict=True):
        old, new = (groups(GraphTensor(name="", shape=(total,), bits=32, axes=(digits,))) for digits in (before, after))
        assert np.array_equal(old, new)


@settings(max_examples=cases(12, 60), deadline=None)
@given(st.data())
def test_products_of_copies_count_what_is_there(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """The words of an operand are the different values in it, or more; operations and outputs are those of the node."""
    made, inputs = random_copies(data, data.draw(st.integers(0, 4)))
    last = made.graph.output[0].name
    copies = ReferenceEvaluator(made).run(None, inputs)[0] if made.graph.node else inputs["x0"]
    columns = data.draw(st.integers(1, 3))
    other = (copies.shape[-1], columns)
    made.graph.node.append(node("MatMul", [last, "w"], ["y"], name="product"))
    made.graph.initializer.append(weights("w", other))
    del made.graph.output[:]
    made.graph.output.append(tensor("y", None))
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    onnx.save(made, str(path))
    (found,) = import_model(path).workloads
    out, left, right = words(found)
    assert found.operations == copies.size * columns
    assert out == copies.size // copies.shape[-1] * columns
    assert len(np.unique(copies)) <= left <= copies.size
    assert right == prod(other)


def computed_copies(axes: int) -> onnx.ModelProto:
    """Copies to a shape that is computed from a shape, minus ones replaced: as exporters write it for any batch."""
    nodes = [
        node("Shape", ["k"], ["shape"]),
        node("Gather", ["shape", "0"], ["batch"]),
        node("Gather", ["shape", "2"], ["tokens"]),
        node("Unsqueeze", ["batch", "[0]"], ["batch_1"]),
        node("Unsqueeze", ["tokens", "[0]"], ["tokens_1"]),
        node("Unsqueeze", ["k", "[2]"], ["k_5"]),
        node("Concat", ["batch_1", "heads", "groups", "tokens_1", "[-1]"], ["wanted"], axis=0),
        node("Shape", ["wanted"], ["length"]),
        node("ConstantOfShape", ["length"], ["ones"], value=onnx.numpy_helper.from_array(np.array([1], np.int64))),
        node("Mul", ["ones", "-1"], ["minus"]),
        node("Equal", ["wanted", "minus"], ["open"]),
        node("Where", ["open", "ones", "wanted"], ["full"]),
        node("Expand", ["k_5", "full"], ["copies"]),
        node("Concat", ["batch_1", "all", "tokens_1", "[-1]"], ["folded"], axis=0),
        node("Reshape", ["copies", "folded"], ["k_r"]),
        node("Transpose", ["k_r"], ["k_t"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "k_t"], ["s"], name="scores"),
        node("Conv", ["s", "w"], ["y"], name="last"),
    ]
    constants = [integers(str(number), number) for number in (0, 2, -1)]
    constants += [integers(f"[{number}]", [number]) for number in (0, 2, -1)]
    constants += [integers("heads", [8]), integers("groups", [axes]), integers("all", [8 * axes])]
    inputs = [tensor("q", ("batch", 8 * axes, "tokens", 32)), tensor("k", ("batch", 8, "tokens", 32))]
    return model(nodes, inputs, [*constants, weights("w", (1, 8 * axes, 1, 1))], outputs=[tensor("y", None)])


@pytest.mark.parametrize("groups_", [1, 4])
def test_shapes_of_copies_that_are_computed_are_followed(groups_: int, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(computed_copies(groups_), str(path))
    scores, last = import_model(path, {"batch": 3, "tokens": 16}).workloads
    assert words(scores) == [3 * 8 * groups_ * 16 * 16, 3 * 8 * groups_ * 16 * 32, 3 * 8 * 16 * 32]
    assert last.extents["w"] == 16
