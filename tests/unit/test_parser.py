"""Notation: what it means, that it round-trips, and that errors point at the character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import workloads

from optmap.base.errors import InputError, ParseError
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.parser import parse_extents, parse_workload
from optmap.workloads.workload import Semantics, Workload

CONV = "Out[n,k,h,w] += In[n,c,2*h+r,2*w+s] * Ker[k,c,r,s]"
SEVEN = {"n": 1, "k": 2, "c": 3, "r": 3, "s": 3, "h": 4, "w": 5}


def _ones(*dims):
    return dict.fromkeys(dims, 1)


def test_convolution_is_read_as_its_parts():
    w = parse_workload(CONV, SEVEN, name="layer")
    assert w.name == "layer"
    assert w.dims == ("n", "k", "c", "r", "s", "h", "w")
    assert w.semantics is Semantics.ACCUMULATE
    assert w.output == TensorAccess(name="Out", axes=tuple(Subscript(terms=((d, 1),)) for d in "nkhw"))
    assert [t.name for t in w.inputs] == ["In", "Ker"]
    assert w.inputs[0].axes[2:] == (Subscript(terms=(("h", 2), ("r", 1))), Subscript(terms=(("w", 2), ("s", 1))))


@pytest.mark.parametrize(
    ("subscript", "axis"),
    [
        ("2*h", Subscript(terms=(("h", 2),))),
        ("2h", Subscript(terms=(("h", 2),))),
        ("h*2", Subscript(terms=(("h", 2),))),
        ("2*h*3", Subscript(terms=(("h", 6),))),
        (" h + h ", Subscript(terms=(("h", 2),))),
        ("h+2*r+h", Subscript(terms=(("h", 2), ("r", 2)))),
        ("3+h+r+4", Subscript(terms=(("h", 1), ("r", 1)), offset=7)),
        ("0", Subscript(terms=())),
        ("5", Subscript(terms=(), offset=5)),
        ("h+0", Subscript(terms=(("h", 1),))),
    ],
)
def test_subscripts(subscript, axis):
    w = parse_workload(f"O[h,r] += A[{subscript}]", _ones("h", "r"))
    assert w.inputs[0].axes == (axis,)


def test_order_of_dims_is_the_order_of_extents():
    assert parse_workload("C[i,j] += A[i,k]*B[k,j]", {"k": 3, "i": 1, "j": 2}).sizes == (("k", 3), ("i", 1), ("j", 2))


def test_operator_gives_semantics_and_the_argument_overrules_it():
    assert parse_workload("C[i] = A[i]", {"i": 2}).semantics is Semantics.ASSIGN
    assert parse_workload("C[i] += A[i]", {"i": 2}).semantics is Semantics.ACCUMULATE
    assert parse_workload("C[i] = A[i]", {"i": 2}, semantics=Semantics.ACCUMULATE).semantics is Semantics.ACCUMULATE
    assert parse_workload("i->i", {"i": 2}, semantics=Semantics.ASSIGN).semantics is Semantics.ASSIGN


def test_whitespace_is_free_and_unicode_names_are_fine():
    spaced = parse_workload(" Größe [ i ,\n j ]\t+= Bär [ 2 i + j ] ", {"i": 2, "j": 3}, name="x")
    assert spaced == parse_workload("Größe[i,j]+=Bär[2*i+j]", {"i": 2, "j": 3}, name="x")


def test_scalars_and_a_tensor_read_twice():
    w = parse_workload("S[] += A[i] * A[j]", {"i": 2, "j": 3})
    assert w.output.axes == ()
    assert [t.name for t in w.inputs] == ["A", "A"]
    assert w.inputs[0].dims == {"i"}
    assert w.inputs[1].dims == {"j"}


def test_element_sizes():
    text, extents = "C[i] += A[i]*B[i]", {"i": 2}
    assert [t.bytes for t in parse_workload(text, extents).tensors] == [4, 4, 4]
    assert [t.bytes for t in parse_workload(text, extents, bytes=2).tensors] == [2, 2, 2]
    assert [t.bytes for t in parse_workload(text, extents, bytes={"C": 8, "B": 1}).tensors] == [8, 4, 1]
    with pytest.raises(InputError, match=r"'D'.*no tensor.*C, A, B"):
        parse_workload(text, extents, bytes={"D": 8})
    for size in (0, -4, 2.1, True, "4"):
        with pytest.raises(InputError, match=r"element size of C is .*whole number"):
            parse_workload(text, extents, bytes=size)


def test_einsum_is_the_statement_it_stands_for():
    einsum = parse_workload("ik, kj -> ij", {"i": 2, "j": 3, "k": 4})
    assert einsum == parse_workload("Out[i,j] += A[i,k]*B[k,j]", {"i": 2, "j": 3, "k": 4})
    many = parse_workload(",".join("i" * 28) + "->i", {"i": 2})
    assert len({t.name for t in many.tensors}) == 29
    assert parse_workload("ii->", {"i": 2}).expression == "Out[] += A[i,i]"


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("C[i", 3, "',' or ']'"),
        ("C[i]", 4, "'+=' or '='"),
        ("C[i] A[i]", 5, "'+=' or '='"),
        ("C(i) += A[i]", 1, "stand in [ ]"),
        ("C += A[i]", 2, "'[' after tensor C"),
        ("+= A[i]", 0, "expected a tensor"),
        ("C[i] += ", 7, "expected a tensor"),
        ("C[i] += A[i] B[i]", 13, "'*' and another input"),
        ("C[i] += A[i] , A[i]", 13, "'*' and another input"),
        ("C[i] += A[i] * ", 14, "expected a tensor"),
        ("C[i] += A[i] * ]", 15, "expected a tensor"),
        ("C[i] += A[i,]", 12, "a dim or a whole number"),
        ("C[i] += A[i+]", 12, "a dim or a whole number"),
        ("C[i] += A[2*]", 12, "a dim or a whole number"),
        ("C[i] += A[i*i]", 12, "product of dims"),
        ("C[i] += A[i-1]", 11, "not negative"),
        ("C[i] += A[i/2]", 11, "whole coefficients"),
        ("C[i] += A[1.5*i]", 11, "numbers are whole"),
        ("C[i] += A[i] \u00b7 A[i]", 13, "write * for a product"),
        ("C[i] += A[i];", 12, "unexpected ';'"),
        ("C[i] += A[0*i]", 10, "coefficient 0"),
        ("C[i] += A[9223372036854775808*i]", 10, "2^63-1"),
        ("C[i] += A[9223372036854775807i+i]", 31, "2^63-1"),
        ("C[i] += C[i]", 8, "output C is read"),
        ("C[i] += A[i] * A[i,i]", 15, "A has 1 subscripts before and 2 here"),
        ("C[i] += A[q]", 10, "no extent for dim q; add q=<size>"),
        ("C[0] += A[1]", 0, "at least one loop"),
        ("ik,kj", 5, "ik,kj->ij"),
        ("matmul", 6, "expected a statement"),
        ("", 0, "expected a statement"),
        ("i...,j->i", 1, "ellipsis"),
        ("i2->i", 1, "one letter"),
        ("i->i->i", 4, "one letter"),
        ("i->k", 3, "in no input"),
        ("i->ii", 4, "twice in the output"),
        ("->", 0, "at least one loop"),
    ],
)
def test_errors_point_at_the_character(text, position, words):
    with pytest.raises(ParseError) as caught:
        parse_workload(text, {"i": 4})
    message, quoted, caret = str(caught.value).split("\n")
    assert words in message
    assert quoted == f"  {text}"
    assert caret.index("^") == position + 2
    assert caught.value.position == position


def test_long_numbers_are_refused_quickly():
    with pytest.raises(ParseError, match="2\\^63-1"):
        parse_workload(f"C[i] += A[{'9' * 100_000}*i]", {"i": 1})


def test_extents_must_name_exactly_the_dims():
    with pytest.raises(InputError, match=r"extent for z, which no tensor uses; the dims are i"):
        parse_workload("C[i] += A[i]", {"i": 2, "z": 3})


@pytest.mark.parametrize("extent", [0, -1, 2**63, 1.5, True, "3", None])
def test_extents_are_whole_positive_numbers(extent):
    with pytest.raises(InputError, match=r"extent of i is .*whole number from 1 to 2\^63-1"):
        parse_workload("C[i] += A[i]", {"i": extent})


def test_the_largest_extent_is_exact():
    assert parse_workload("C[i] += A[i]", {"i": 2**63 - 1}).operations == 2**63 - 1


@given(workloads())
def test_expression_round_trips(workload):
    again = parse_workload(workload.expression, workload.extents, name=workload.name)
    assert again == workload


@given(st.text(alphabet="CAij2 +=*[],->.x", max_size=24))
def test_any_text_is_a_workload_or_a_typed_error(text):
    try:
        workload = parse_workload(text, {"i": 2, "j": 3})
    except InputError as error:
        assert str(error)  # noqa: PT017 - either outcome is fine, a foreign exception is not
    else:
        assert isinstance(workload, Workload)
        assert parse_workload(workload.expression, workload.extents) == workload


def test_parse_extents():
    assert parse_extents("i=2000,j=1500") == {"i": 2000, "j": 1500}
    assert list(parse_extents(" k = 3 , höhe=007")) == ["k", "höhe"]
    assert parse_extents("i=9223372036854775807") == {"i": 2**63 - 1}


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "expected a dim"),
        ("i", 1, "'=' after dim i"),
        ("i=", 2, "extent of i"),
        ("i=0", 2, "from 1 to 2^63-1"),
        ("i=-1", 2, "whole number from 1 to 2^63-1"),
        ("i=2.5", 3, "whole number from 1 to 2^63-1"),
        ("i=x", 2, "extent of i"),
        ("i=9223372036854775808", 2, "2^63-1"),
        ("i=3,j=4,i=3", 8, "two extents"),
        ("i=3,", 4, "expected a dim"),
        ("i=3 j=4", 4, "','"),
        ("i=3;j=4", 3, "separated by commas"),
        ("3=i", 0, "expected a dim"),
        ("i==3", 2, "extent of i"),
    ],
)
def test_extents_errors_point_at_the_character(text, position, words):
    with pytest.raises(ParseError) as caught:
        parse_extents(text)
    assert words in str(caught.value)
    assert caught.value.position == position
    assert caught.value.text == text
