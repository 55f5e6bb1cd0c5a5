"""`optmap derive --closed-form` through the command line and in Python."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

import optmap as package

FIVE = ("derive", "tccg/abc-adec-ebd", "--closed-form")


def test_a_contraction_at_a_memory(optmap) -> None:
    document = optmap(*FIVE, "--memory", "1023w", "--json").document()
    assert document["schema"] == "optmap.closed_form/1"
    assert (document["loads"], document["side"]) == ("2*N_a*N_b*N_c*N_d*N_e/T + N_a*N_b*N_c", "sqrt(S + 1) - 1")
    assert document["in_memory"] == "2*N_a*N_b*N_c*N_d*N_e/(sqrt(S + 1) - 1) + N_a*N_b*N_c"
    bound = optmap("bound", "tccg/abc-adec-ebd", "--memory", "1023w", "--json").document()["best"]["loads_words"]
    loads = ceil(Fraction(2 * 72**5, 31) + 72**3)
    assert document["at"] == {
        "memory_words": 1023,
        "side": 31.0,
        "loads_words": loads,
        "holds": True,
        "broken": [],
        "bound_loads_words": bound,
        "gap": pytest.approx(loads / bound - 1),
    }
    assert document["orders_complete"]
    # One innermost group per tensor: the dims that it lacks, in any order among themselves.
    assert {frozenset(order[-2:]) for order in document["orders"]} >= {frozenset("de"), frozenset("ac")}
    text = optmap(*FIVE, "--memory", "1023w").out
    assert f"{loads:,} words, rounded up" in text
    assert f"{bound:,} words" in text


def test_where_the_tile_exceeds_an_extent_the_value_bounds_nothing(optmap) -> None:
    found = optmap(*FIVE, "--memory", "64KiB", "--json").document()["at"]
    assert (found["memory_words"], found["holds"], found["gap"]) == (16384, False, None)
    assert found["broken"] == ["T = 127 exceeds b = 72"]
    assert "does not hold here" in optmap(*FIVE, "--memory", "64KiB").out


def test_small_dims_and_the_layer_of_the_paper(optmap) -> None:
    arguments = ("derive", "Out[f,x,y] += Image[c,x+w,y+h] * Filter[f,c,w,h]", "--closed-form")
    sizes = ("--extents", "f=64,c=32,x=50,y=50,w=3,h=3")
    small = optmap(*arguments, *sizes, "--small", "h,w", "--json").document()
    assert small["reuse"]["h"] == ["Image", "Out"]
    plain = optmap(*arguments, *sizes, "--json").document()
    assert plain["reuse"]["h"] == ["Out"]
    assert small["at"] is plain["at"] is None
    assert small["stationary"] == "Filter"
    latex = optmap(*arguments, *sizes, "--latex").out
    assert latex.rstrip("\n") == plain["latex"].rstrip("\n")
    assert latex.startswith(r"\begin{align*}")


def test_python_says_the_same(optmap) -> None:
    answer = package.closed_form("tccg/ab-ac-cb", memory="32KiB", stationary="A")
    arguments = ("derive", "tccg/ab-ac-cb", "--closed-form", "--memory", "32KiB", "--stationary", "A")
    assert answer.to_dict() == optmap(*arguments, "--json").document()
    assert str(answer) == optmap(*arguments).out.rstrip("\n")
    assert "<table>" in answer._repr_html_()


def test_long_lists_of_orders_are_cut(optmap) -> None:
    text = "C[a,b,c,d,e,f,g] += A[a,b,c,d,e,f,k]*B[k,g]"
    run = ("derive", text, "--extents", "a=2,b=2,c=2,d=2,e=2,f=2,g=2,k=2", "--closed-form")
    document = optmap(*run, "--json").document()
    assert (len(document["orders"]), document["orders_complete"]) == (120, False)
    assert "and more (the first 120 are listed)" in optmap(*run).out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("resnet50/conv1", "--closed-form"), "stride and dilation 1"),
        (("mobilenet/M9", "--closed-form"), "no closed form"),
        (("tccg/ab-ac-cb", "--closed-form", "--memory", "2w"), "of 2 words holds no tile"),
        (("tccg/ab-ac-cb", "--closed-form", "--memory", "64"), "no unit"),
        (("tccg/ab-ac-cb", "--closed-form", "--stationary", "AA"), "unknown tensor 'AA'"),
        (("tccg/ab-ac-cb", "--closed-form", "--small", "z"), "no dim z"),
        (("tccg/ab-ac-cb", "--closed-form", "--small", ","), "small"),
        (("tccg/ab-ac-cb", "--closed-form", "--classes"), "drop --permutation"),
        (("tccg/ab-ac-cb", "--closed-form", "--levels", "2"), "drop --permutation"),
        (("tccg/ab-ac-cb", "--memory", "64w"), "add --closed-form"),
    ],
)
def test_what_is_refused(optmap, arguments: tuple[str, ...], word: str) -> None:
    assert word in optmap("derive", *arguments, code=2).err


def test_a_message_names_a_workload_without_a_name_by_its_statement(optmap) -> None:
    text = "C[i,j] += A[i,k]*B[k,j]"
    run = optmap("derive", text, "--extents", "i=9,j=9,k=9", "--closed-form", "--small", "z", code=2)
    assert f"error: {text.replace('*', ' * ')} has no dim z" in run.err
