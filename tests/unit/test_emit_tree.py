"""Code of mapping trees computes what the statements say, and touches nothing else."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cases import cases, some
from mapping_trees import scratchpads, tree_of
from random_trees import random_tree
from tree_values import check, wanted

import optmap
from optmap.base.errors import InfeasibleError, InputError, TreeError
from optmap.kernels.code_options import CodeOptions, WeightPacking
from optmap.mappings.tree import MappingTree
from optmap.native import Code, emit_code
from optmap.search.chains.corner import best_late_corner, late_corner_tree
from optmap.search.chains.pair import pair_of, steps_of
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

GOLDEN = Path(__file__).parents[1] / "golden" / "emit" / "pair.c"
PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SHAPES = (
    PAIR,
    "S[h,m,l] = A[h,m,k]*B[h,l,k]; C[h,m,n] = S[h,m,l]*D[h,l,n]",
    "S[h,l,m] = A[h,m,k]*B[h,l,k]; C[n,h,m] = D[h,n,l]*S[h,l,m]",
    "S[g,h,m,l] = A[g,h,k,m]*B[g,h,k,l]; C[g,m,h,n] = S[g,h,m,l]*D[g,h,l,n]",
)


def looped(sizes: dict[str, int], left: dict[str, int]) -> list[dict]:
    """Loops; what is left changes."""
    nodes = [{"loop": dim, "tile": tile} for dim, tile in sizes.items() if tile < left[dim]]
    left.update(sizes)
    return nodes


def kept(*tensors: str, of: dict | None = None) -> list[dict]:
    return [{"keep": "buffer", "tensors": list(tensors), **({"of": of} if of else {})}] if tensors else []


def streamed(operands: dict[str, str], dim: str) -> list[dict]:
    """A line of one operand and a word of the other, or a word of one alone."""
    nodes = [{"loop": dim, "tile": 1}] if operands else []
    for place, (tensor, own) in enumerate(operands.items()):
        nodes += ([{"loop": own, "tile": 1}] if place == len(operands) - 1 else []) + kept(tensor)
    return nodes


def fused(rng: random.Random, workload: Workload, outer: str, stays: tuple[bool, ...]) -> list[dict]:
    """A random member of the family, by which of A, C, B and D stay where m is outside, and the other way round."""
    left = dict(workload.extents)
    inner = "ml"[outer == "m"]
    own = {"m": ("A", "C"), "l": ("B", "D")}
    staying = [t for t, stay in zip((*own[outer], *own[inner]), stays, strict=True) if stay]
    nodes = looped({d: 1 for d in left if d not in "mlkn"}, left)
    for tensor in own[inner]:
        if rng.random() < 0.3:
            nodes += kept(tensor, of={inner: [0, rng.randint(1, left[inner])]})
    nodes += looped({outer: rng.randint(1, left[outer])}, left) + kept(*(t for t in own[outer] if t in staying))
    nodes += looped({inner: rng.randint(1, left[inner])}, left) + kept(*(t for t in own[inner] if t in staying))
    nodes += looped({outer: rng.randint(1, left[outer])}, left) + kept("S")
    branches = []
    for place, (dim, statement) in enumerate((("k", "S"), ("n", "C"))):
        operands = {own[side][place]: side for side in rng.sample((outer, inner), 2)}
        operands = {t: side for t, side in operands.items() if t not in staying}
        branches.append([*streamed(operands, dim), {"compute": statement}])
    return [*nodes, {"sequence": branches}]


def unfused(rng: random.Random, workload: Workload, whole: bool) -> list[dict]:
    """A random mapping of both products apart, the intermediate kept whole or stored."""
    left = dict(workload.extents)
    nodes = looped({d: 1 for d in left if d not in "mlkn"}, left)
    nodes += kept("S") if whole else [{"keep": "Memory", "tensors": ["S"]}]
    branches = []
    for statement, tensors in (("S", {"S": "ml", "A": "mk", "B": "kl"}), ("C", {"S": "ml", "C": "mn", "D": "ln"})):
        mine = dict(left)
        stays = rng.choice(list(tensors))
        others = {t: dims for t, dims in tensors.items() if t != stays}
        (third,) = set.intersection(*map(set, others.values()))
        streams = {t: dims.replace(third, "") for t, dims in others.items() if not (whole and t == "S")}
        branch = looped({d: rng.randint(1, mine[d]) for d in rng.sample(tensors[stays], 2)}, mine)
        branch += kept(*({stays} - ({"S"} if whole else set())))
        branches.append([*branch, *streamed(streams, third), {"compute": statement}])
    return [*nodes, {"sequence": branches}]


def small(rng: random.Random, name: str) -> Workload:
    text = rng.choice(SHAPES)
    extents = {d: rng.randint(1, 3 if d in "gh" else 9) for d in sorted({c for c in text if c.islower()})}
    extents[rng.choice("mlkn")] = rng.randint(17, 40)  # more than a line of a cache
    widths = {t: rng.choice((4, 8)) for t in "SABCD"}
    return parse_workload(
        text, extents, bytes=rng.choice((4, widths)), semantics=rng.choice(list(Semantics)), name=name
    )


@pytest.mark.parametrize("outer", ["m", "l"])
def test_all_kinds_of_fused_pairs_are_right_and_clean(outer: str, tmp_path: Path) -> None:
    rng = random.Random(outer)
    codes = []
    for turn, stays in product(range(cases(1, 8)), product((False, True), repeat=4)):
        workload = small(rng, f"{turn} {stays}")
        tree = tree_of(fused(rng, workload, outer, stays), workload)
        codes.append(emit_code(workload, tree, tree.machine))
        assert codes[-1].workspace
    check(codes, tmp_path)


@pytest.mark.parametrize("whole", [False, True])
def test_pairs_apart_are_right_and_clean(whole: bool, tmp_path: Path) -> None:
    rng = random.Random(whole)
    codes = []
    for turn in range(cases(8, 120)):
        workload = small(rng, f"case {turn}")
        tree = tree_of(unfused(rng, workload, whole), workload)
        codes.append(emit_code(workload, tree, tree.machine))
    check(codes, tmp_path)


def test_random_trees_are_right_or_refused_by_name(tmp_path: Path) -> None:
    """Chains of up to three statements, sequences in sequences, functions in place, reductions outside."""
    rng, codes, several = random.Random(0), [], 0
    while len(codes) < cases(40, 300):
        tree = random_tree(rng, largest=5, shared=True)
        workload = replace(tree.workload, name=f"case {len(codes)}")
        if any(part in workload.expression for part in ("exp", "+ ")):
            continue
        try:
            codes.append(emit_code(workload, tree, tree.machine))
        except InputError:
            continue
        several += len(workload.statements) > 2
    assert several > 5
    check(codes, tmp_path)


@pytest.mark.parametrize("memory", [60, 150, 400])
def test_a_convolution_before_a_pointwise_statement_is_right(memory: int, tmp_path: Path) -> None:
    text = "S[d,y,x] = I[c,2*y+r,x+s]*F[d,c,r,s]; P[d,y,x] = relu(S[d,y,x]); O[e,y,x] = P[d,y,x]*G[e,d]"
    extents = {"c": 3, "d": 4, "e": 5, "y": 3, "x": 6, "r": 3, "s": 2}
    answer = optmap.solve(text, extents=extents, memory=f"{memory}w", semantics="assign")
    check([emit_code(answer.workload, answer.mapping, answer.machine)], tmp_path)


CHAINS = (
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = {}(S[m,l]); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]; Y[m,n] = {}(C[m,n])",
)
FUSED_CHAIN = [
    *kept("A", "C"),
    {"loop": "m", "tile": 3},
    {"loop": "l", "tile": 2},
    *kept("S"),
    {"sequence": [[*kept("B"), {"compute": "S"}], [{"compute": "P"}], [*kept("D"), {"compute": "C"}]]},
]


@pytest.mark.parametrize("function", some(3, ["relu", "exp", "tanh", "sigmoid", "silu", "gelu", "abs"]))
def test_functions_in_place_are_right(function: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    extents = {"m": 7, "l": 5, "k": 4, "n": 6}
    codes = []
    for number, text in enumerate(CHAINS):
        for size in (4, 8):
            workload = parse_workload(
                text.format(function), extents, bytes=size, semantics=Semantics.ASSIGN, name=f"{number} {size}"
            )
            held = workload.stored_as
            nodes = [
                *kept(*dict.fromkeys(held.values())),
                {"loop": "m", "tile": 3},
                {"sequence": [[{"compute": each.name}] for each in workload.statements]},
            ]
            tree = tree_of(nodes, workload)
            codes.append(emit_code(workload, tree, tree.machine))
            assert codes[-1].names == (workload.statements[-1].name, "A", "B", "D")
    contents = [[rng.uniform(-1, 1, b.shape).astype(f"f{b.bits // 8}") for b in code.buffers] for code in codes]
    check(codes, tmp_path, contents)


def test_expressions_of_several_tensors_are_right(tmp_path: Path) -> None:
    text = (
        "S[m,l] = 2*A[m,k]*B[k,l] - 0.5*A[m,k]*B[k,l]; "
        "P[m,l] = max(S[m,l], X[m,l], 1) + min(scale(X[m,l], 3), S[m,l])/(2 - X[m,l]*X[m,l]*(1 + 1)) - -3; "
        "Q[m,l] = log(sqrt(P[m,l]*P[m,l] + 1)); "
        "C[m,n] += Q[m,l]*D[l,n]"
    ).replace("- -3", "- 3")
    workload = parse_workload(text, {"m": 7, "l": 5, "k": 4, "n": 6}, semantics=Semantics.ACCUMULATE)
    nodes = [
        *kept("A", "B", "X", "C", "D"),
        {"loop": "m", "tile": 3},
        *kept(*dict.fromkeys(workload.stored_as[each] for each in "SPQ")),
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    tree = tree_of(nodes, workload)
    code = emit_code(workload, tree, tree.machine)
    rng = np.random.default_rng(0)
    check([code], tmp_path, [[rng.uniform(-0.5, 0.5, b.shape).astype("f4") for b in code.buffers]])


def test_names_that_mean_something_in_c_are_changed(tmp_path: Path) -> None:
    text = (
        "int[for,x_0] = NAN[for,do]*exp[do,x_0]; relu[for,x_0] = relu(int[for,x_0]); "
        "free[for,n_] = relu[for,x_0]*if_[x_0,n_]"
    )
    workload = parse_workload(text, {"for": 3, "x_0": 4, "do": 5, "n_": 2}, semantics=Semantics.ASSIGN)
    nodes = [
        *kept(*dict.fromkeys(workload.stored_as.values())),
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    tree = tree_of(nodes, workload)
    check([emit_code(workload, tree, tree.machine)], tmp_path)


@pytest.mark.parametrize("batch", some(1, range(2)))
def test_what_solve_finds_is_compiled_and_right(batch: int, tmp_path: Path) -> None:
    rng, compiled = random.Random(batch), 0
    for seed in range(cases(6, 30)):
        workload = small(rng, f"case {seed}")
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(40, 4000)}w")
        except InfeasibleError:
            continue
        kernel = optmap.compile(answer, semantics=workload.semantics, folder=tmp_path)
        numbers = np.random.default_rng(seed)
        tensors = {
            buffer.tensor: numbers.uniform(-1, 1, buffer.shape).astype(f"f{buffer.bits // 8}")
            for buffer in kernel.code.buffers
        }
        out = tensors["C"].copy()
        found = kernel(*(tensors[name] for name in kernel.inputs), out=out)
        if workload.semantics is Semantics.ASSIGN:
            del tensors["C"]
        np.testing.assert_allclose(found, wanted(workload, tensors), rtol=0, atol=1e-4)
        compiled += 1
    assert compiled


@pytest.mark.parametrize("memory", [4096, 400])
@pytest.mark.parametrize("semantics", list(Semantics))
def test_a_corner_that_is_left_for_later_is_compiled_and_right(
    semantics: Semantics, memory: int, tmp_path: Path
) -> None:
    text = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = relu(S[m,l]); C[m,n] = P[m,l]*D[l,n]"
    sizes = dict.fromkeys("ml", 64) | dict.fromkeys("kn", 32) if memory == 4096 else dict.fromkeys("mlkn", 21)
    workload = parse_workload(text, sizes, semantics=semantics)
    pair = pair_of(workload, *steps_of(workload))
    member = best_late_corner(pair, memory)
    assert member is not None
    assert member.lines == (memory == 4096)
    machine = optmap.machine(memory=f"{memory}w")
    nodes = late_corner_tree(workload, pair, member, machine.levels[0].name, machine.memory)
    tree = MappingTree(workload=workload, machine=machine, nodes=nodes)
    check([emit_code(workload, tree, machine)], tmp_path)


def test_golden_text() -> None:
    workload = parse_workload(
        "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = exp(S[h,m,l]); O[h,m,n] = P[h,m,l]*V[h,l,n]",
        {"h": 2, "m": 100, "l": 64, "k": 32, "n": 32},
        semantics=Semantics.ASSIGN,
        name="heads",
    )
    nodes = [
        {"loop": "h", "tile": 1},
        *kept("K", of={"l": [0, 17]}),
        {"loop": "m", "tile": 24},
        *kept("Q", "O"),
        {"loop": "l", "tile": 16},
        *kept("P"),
        {
            "sequence": [
                [{"loop": "k", "tile": 1}, *kept("K"), {"compute": "S"}],
                [{"compute": "P"}],
                [{"loop": "n", "tile": 1}, *kept("V"), {"compute": "O"}],
            ]
        },
    ]
    tree = tree_of(nodes, workload)
    code = emit_code(workload, tree, tree.machine)
    assert code.workspace == 24 * 16 * 4
    assert code.source == GOLDEN.read_text()


THREE = {"m": 3, "l": 3, "k": 3, "n": 3}


def in_turn(text: str, *around: dict, **options: object) -> Code:
    """Code of all statements one after the other, everything kept."""
    workload = parse_workload(text, {d: 3 for d in "mlkn" if f"{d}]" in text or f"{d}," in text}, **options)
    nodes = [
        *kept(*dict.fromkeys(workload.stored_as.values())),
        *around,
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    tree = tree_of(nodes, workload)
    return emit_code(workload, tree, tree.machine)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (PAIR, {"outputs": ["S"]}, "has outputs S, C; code has one"),
        (PAIR, {"bytes": 2}, "elements of 16 bits"),
        ("S[m,l] = A[m,k]*B[k,l]; P[m] max= S[m,l]", {}, "is written for no max"),
        ("S[m,l] = A[m,k]*B[k,l]; P[m,l] = scale(S[m,l])", {}, "does not say by how much"),
        (
            "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l)",
            {},
            "the row statistic of P is not counted: P is an output",
        ),
        ("S[m,l] = A[m,m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]", {}, r"A\[m,m,k\] in S.*a dim of its own"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(text: str, options: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        in_turn(text, **options)


def test_loops_that_leave_operations_for_others_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="the loop over n is above S, which has no such dim"):
        in_turn(PAIR, {"loop": "n", "tile": 1})
    with pytest.raises(InputError, match="a split or a box is above S"):
        in_turn(PAIR, {"loop": "m", "ways": 1, "axis": "buffer"})


def test_options_of_one_statement_are_refused() -> None:
    workload = parse_workload(PAIR, THREE)
    tree = in_turn(PAIR).mapping
    with pytest.raises(InputError, match="of code for one statement"):
        emit_code(workload, tree, scratchpads(buffer=100), CodeOptions(weights=WeightPacking.CALL))
    with pytest.raises(TreeError, match="which is no level"):
        emit_code(workload, tree, scratchpads(other=100))
