"""Code of functions of rows, and under conditions, is right whatever tree it is written for."""

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import cases, some
from mapping_trees import tree_of
from random_trees import ROWS, random_tree
from tree_values import check

import optmap
from optmap.base.errors import InfeasibleError, InputError
from optmap.native import Code, emit_code
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

GOLDEN = Path(__file__).parents[1] / "golden" / "emit" / "attention.c"
PAIR = "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l]*D[l,n]"
CAUSAL = "S[m,l] = A[m,k]*B[k,l] if {0}; P[m,l] = softmax(0.5*S[m,l], l) if {0}; C[m,n] = P[m,l]*D[l,n] if {0}"
SOLVED = (
    PAIR,
    "S[h,m,l] = Q[h,m,k]*K[h,l,k]; P[h,m,l] = softmax(0.125*S[h,m,l], l); O[h,m,n] = P[h,m,l]*V[h,l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = 3*rmsnorm(S[m,l], l); C[m,n] = P[m,l]*D[l,n]",
    "S[m,l] = A[m,k]*B[k,l]; P[m,l] = softmax(S[m,l], m); C[l,n] = P[m,l]*D[m,n]",
    CAUSAL.format("l <= m"),
    CAUSAL.format("l < m + 3 and m <= l + 2"),
)
CONDITIONS = (
    *ROWS,
    "S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l <= m",
    "S[m,l] = A[m,k]*B[k,l] if l <= m; C[m,n] = S[m,l]*D[l,n] if l + 1 < m and 2*m > l",
    CAUSAL.format("l < m + 2 and m < l + 3").replace("softmax", "layernorm"),
    CAUSAL.format("m <= l").replace("softmax", "rmsnorm"),
    "S[y,l] = A[y,k]*B[k,l]; P[y,l] = softmax(S[y,l], l); C[h,r,n] = P[h+r,l]*D[l,n]",
)


def contents(codes: list[Code], seed: int) -> list[list[np.ndarray]]:
    numbers = np.random.default_rng(seed)
    return [[numbers.uniform(-3, 3, b.shape).astype(f"f{b.bits // 8}") for b in code.buffers] for code in codes]


@pytest.mark.parametrize("block", some(1, range(2)))
def test_random_trees_are_right_or_refused_by_name(block: int, tmp_path: Path) -> None:
    rng, codes = random.Random(f"emitted rows {block}"), list[Code]()
    while len(codes) < cases(16, 300):
        tree = random_tree(rng, largest=5, shared=True, families=CONDITIONS)
        workload = replace(tree.workload, name=f"case {len(codes)}")
        try:
            codes.append(emit_code(workload, tree, tree.machine))
        except InputError:
            continue
    assert any("so far" in code.source for code in codes)
    check(codes, tmp_path, contents(codes, block))


@pytest.mark.parametrize("text", SOLVED)
def test_what_solve_finds_is_right(text: str, tmp_path: Path) -> None:
    rng, codes = random.Random(text), list[Code]()
    while len(codes) < cases(3, 40):
        extents = {d: rng.randint(1, 24) for d in "hmlkn" if f"{d}," in text or f"{d}]" in text}
        workload = parse_workload(text, extents, semantics=Semantics.ASSIGN, name=f"case {len(codes)}")
        try:
            answer = optmap.solve(workload, memory=f"{rng.randint(20, 400)}w")
        except InfeasibleError:
            continue
        codes.append(emit_code(workload, answer.mapping, answer.machine))
    check(codes, tmp_path, contents(codes, 0))


def flash(workload, rows: int, columns: int):
    """Blocks of columns go by rows that stay."""
    nodes = [
        {"loop": "m", "tile": rows},
        {"keep": "buffer", "tensors": ["A", "C", "P.row"]},
        {"loop": "l", "tile": columns},
        {"keep": "buffer", "tensors": ["S", "B", "D"]},
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    return tree_of(nodes, workload)


def test_exponentials_of_what_is_far_apart_do_not_overflow(tmp_path: Path) -> None:
    workload = parse_workload(PAIR, {"m": 5, "l": 40, "k": 3, "n": 4}, semantics=Semantics.ASSIGN, name="far")
    tree = flash(workload, 2, 16)
    code = emit_code(workload, tree, tree.machine)
    (given,) = contents([code], 1)
    check([code], tmp_path, [[given[0], *(30 * each for each in given[1:3]), given[3]]])


@pytest.mark.parametrize("names", [{"P": "row"}, {"A": "expf", "m": "row"}], ids=str)
def test_tensors_and_dims_that_are_called_like_what_the_code_uses_have_other_names_in_c(
    names: dict[str, str], tmp_path: Path
) -> None:
    text = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), PAIR)
    sizes = {names.get(d, d): n for d, n in {"m": 5, "l": 9, "k": 3, "n": 4}.items()}
    workload = parse_workload(text, sizes, semantics=Semantics.ASSIGN, name="named")
    nodes = [
        {"loop": names.get("m", "m"), "tile": 2},
        {"keep": "buffer", "tensors": [*dict.fromkeys(workload.stored_as.values()), f"{names.get('P', 'P')}.row"]},
        {"loop": "l", "tile": 4},
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    tree = tree_of(nodes, workload)
    code = emit_code(workload, tree, tree.machine)
    check([code], tmp_path, contents([code], 3))


def test_rows_of_which_blocks_are_masked_whole_are_right(tmp_path: Path) -> None:
    text = CAUSAL.format("l > m")
    workload = parse_workload(text, {"m": 20, "l": 40, "k": 3, "n": 4}, semantics=Semantics.ASSIGN, name="late")
    tree = flash(workload, 7, 8)
    code = emit_code(workload, tree, tree.machine)
    check([code], tmp_path, contents([code], 2))


@pytest.mark.parametrize("window", ["i+j", "2*i+j"])
def test_rows_that_are_read_in_windows_are_right_while_they_are_incomplete(window: str, tmp_path: Path) -> None:
    text = PAIR.replace("C[m,n] = P[m,l]", f"C[i,j,n] = P[{window},l]")
    sizes = {"m": 5 if window == "i+j" else 6, "l": 6, "k": 2, "i": 3, "j": 3 if window == "i+j" else 2, "n": 3}
    workload = parse_workload(text, sizes, semantics=Semantics.ASSIGN, name="windows")
    nodes = [
        {"keep": "buffer", "tensors": [*dict.fromkeys(workload.stored_as.values()), "P.row"]},
        {"loop": "l", "tile": 2},
        {"sequence": [[{"compute": each.name}] for each in workload.statements]},
    ]
    tree = tree_of(nodes, workload)
    code = emit_code(workload, tree, tree.machine)
    assert "so far" in code.source
    check([code], tmp_path, contents([code], 4))


@pytest.mark.parametrize(
    ("text", "semantics", "reason"),
    [
        (PAIR, Semantics.ACCUMULATE, "C is rescaled while rows are incomplete.*--semantics assign"),
        (PAIR.replace(", l)", ", l, whole)"), Semantics.ASSIGN, "the loop over l is above"),
        (PAIR.replace(", l)", ", l)*S[m,l]"), Semantics.ASSIGN, "S is read beside the function of rows"),
        (f"{PAIR}; E[m,p] = P[m,l]*F[l,p]", Semantics.ASSIGN, "has outputs C, E"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(text: str, semantics: Semantics, reason: str) -> None:
    extents = {d: 4 for d in "mlknp" if f"{d}]" in text or f"{d}," in text}
    workload = parse_workload(text, extents, semantics=semantics)
    nodes = [{"loop": "l", "tile": 2}, {"sequence": [[{"compute": each.name}] for each in workload.statements]}]
    nodes[:0] = [{"keep": "buffer", "tensors": [*dict.fromkeys(workload.stored_as.values()), "P.row"]}]
    tree = tree_of(nodes, workload)
    with pytest.raises(InputError, match=reason):
        emit_code(workload, tree, tree.machine)


def test_golden_text() -> None:
    workload = parse_workload(
        CAUSAL.format("l <= m"), {"m": 100, "l": 64, "k": 32, "n": 32}, semantics=Semantics.ASSIGN, name="attention"
    )
    tree = flash(workload, 24, 16)
    assert emit_code(workload, tree, tree.machine).source == GOLDEN.read_text()
