"""What `derive` prints: golden files, and the printed formulas mean what the expressions say."""

import json
from pathlib import Path

import pytest
import sympy
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import loop_orders, workloads

from optmap.base.errors import InputError
from optmap.machines.machine import CapacityRule
from optmap.symbolic import (
    classes_document,
    derive_latex,
    derive_text,
    distinct,
    latex_name,
    occupancy,
    safe_occupancy,
    tensor_text,
    tensor_traffic,
    tile,
)
from optmap.symbolic.traffic import traffic
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.parser import parse_workload

GOLDEN = Path(__file__).parents[1] / "golden" / "derive"
MATMUL = matmul(i=2000, j=1500, k=1500)
CNN = conv2d(n=1, k=64, c=32, h=56, w=56, r=3, s=3)
STRIDED = conv2d(n=1, k=64, c=32, h=56, w=56, r=3, s=3, stride=2, dilation=(1, 3))
ASSIGN = parse_workload("y[i] = A[i,j]*x[j]", {"i": 8, "j": 8}, name="matvec", bytes={"y": 8})


@pytest.mark.parametrize(
    ("stem", "work", "order", "levels"),
    [
        ("matmul", MATMUL, "ijk", 1),
        ("cnn", CNN, "kcrsnhw", 1),
        ("matmul_two_levels", MATMUL, "ikj", 2),
        ("strided", STRIDED, "nkhwcrs", 1),
        ("assign", ASSIGN, "ij", 1),
    ],
)
def test_golden_files(stem, work, order, levels):
    assert derive_text(work, tuple(order), levels) == (GOLDEN / f"{stem}.txt").read_text()
    assert derive_latex(work, tuple(order), levels) == (GOLDEN / f"{stem}.tex").read_text()


def test_golden_classes():
    assert classes_document(CNN) == json.loads((GOLDEN / "cnn_classes.json").read_text())


def read(formula, names):
    """The printed arithmetic, read back term by term (a parser of our own: + - * / and functions)."""
    tokens = formula.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").replace("*", " * ")
    tokens = tokens.replace("/", " / ").split()
    position = 0

    def peek():
        return tokens[position] if position < len(tokens) else None

    def take():
        nonlocal position
        position += 1
        return tokens[position - 1]

    def total():
        value = product()
        while peek() in ("+", "-"):
            value = value + product() if take() == "+" else value - product()
        return value

    def product():
        value = atom()
        while peek() in ("*", "/"):
            value = value * atom() if take() == "*" else value / atom()
        return value

    def atom():
        token = take()
        if token.startswith("-"):
            rest = token[1:]
            if rest:
                tokens.insert(position, rest)
            return -product()
        if token == "(":
            value = total()
            take()
            return value
        if peek() == "(":
            take()
            values = [total()]
            while take() == ",":
                values.append(total())
            return names[token](*values)
        return sympy.Integer(token) if token.isdigit() else names[token]

    value = total()
    assert peek() is None, tokens[position:]
    return value


def printed(work, order, levels):
    """Formulas of `derive_text` per level: a list of {label: formula}."""
    blocks = derive_text(work, order, levels).split("\n\n")[1:]
    return [dict(line.strip().split("  ", 1) for line in block.splitlines()[1:]) for block in blocks]


@settings(max_examples=cases(15, 40))
@given(st.data())
def test_printed_formulas_equal_the_expressions(data):
    work = data.draw(workloads(max_extent=3))
    order = data.draw(loop_orders(work))
    levels = data.draw(st.integers(1, 2))
    for level, rows in enumerate(printed(work, order, levels), start=1):
        out, *_ = tensor_traffic(work, order, level, levels)
        expressions = {
            "occupancy, tile": occupancy(work, level, levels),
            "occupancy, safe": safe_occupancy(work, order, level, levels),
            f"loads {work.output.name}": out.loads,
            f"stores {work.output.name}": out.stores,
            "loads + stores": traffic(work, order, level, levels),
        }
        for label, expression in expressions.items():
            point = {s: sympy.Integer((3 * i) % 5 + 2) for i, s in enumerate(sorted(expression.free_symbols, key=str))}
            # Products such as N/T*T cancel in the expression but not in print: give every name a value.
            names = {str(s): value for s, value in point.items()}
            for head in ("N", "T", "T1", "T2"):
                for d in work.dims:
                    names.setdefault(f"{head}_{d}", sympy.Integer(1))
            functions = {"Min": sympy.Min, "Max": sympy.Max, "distinct": distinct}
            assert read(rows[label].strip(), names | functions) == expression.subs(point)


def test_latex_names():
    assert latex_name(tile("w")) == "T_{w}"
    assert latex_name(tile("w", 2)) == "T^{2}_{w}"
    assert latex_name(tile("out_w")) == r"T_{\mathrm{out\_w}}"


def test_latex_is_balanced_and_escapes_labels():
    work = parse_workload("y_1[i] += A[3*i+2*j]*x[j]", {"i": 8, "j": 8})
    text = derive_latex(work, ("i", "j"), 2)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left(") == text.count(r"\right)")
    assert text.count(r"\begin{align*}") == 2
    assert r"\text{loads y\_1}" in text


def test_classes_document_has_the_keys_of_the_command():
    document = classes_document(MATMUL)
    assert document["permutations"] == 6
    assert document["dominated"] == []
    assert document["classes"][0] == {
        "representative": ["i", "j", "k"],
        "bands": [["i", "j"], ["k"]],
        "size": 2,
        "traffic": tensor_text(MATMUL, ("i", "j", "k")),
    }
    assert document["classes"][0]["traffic"]["C"] == "2 * N_i * N_j"
    assert json.loads(json.dumps(document)) == document
    assert len(classes_document(CNN, rule=CapacityRule.SAFE)["classes"]) > 8


def test_assign_subtracts_the_first_touch():
    assert tensor_text(ASSIGN, ("i", "j"))["y"] == "4 * N_i - 2 * N_i"


def test_a_wrong_loop_order_is_refused():
    with pytest.raises(InputError, match="missing k"):
        derive_text(MATMUL, ("i", "j"))
    with pytest.raises(InputError, match="unknown z"):
        derive_latex(MATMUL, ("i", "j", "k", "z"))
