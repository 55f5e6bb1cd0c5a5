"""Notation of several statements, and of statements that are more than a product."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chains

from optmap.base.errors import InputError, ParseError
from optmap.workloads.access import Subscript
from optmap.workloads.chain import TensorRole
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.expression import Apply, Constant, OperandSeries, Read, Statistic
from optmap.workloads.parser import parse_workload
from optmap.workloads.statement import Update
from optmap.workloads.workload import Semantics, Workload

PAIR = "S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n]"
SIZES = {"m": 4, "l": 6, "k": 2, "n": 3}


def read(text, **more):
    """A text over the dims m, l, k and n, of which it may leave some out."""
    places = " ".join((*re.findall(r"\[[^]]*\]", text), *re.findall(" if [^;]*", text)))
    used = set(re.findall(r"(?<![a-z])[mlkn](?![a-z])", places))
    return parse_workload(text, {d: n for d, n in SIZES.items() if d in used}, **more)


def one(text):
    """The only statement of a text."""
    return read(text).statements[0]


def test_a_chain_is_its_statements_in_order():
    made = parse_workload(PAIR, SIZES, name="pair")
    assert [each.name for each in made.statements] == ["S", "C"]
    assert made.statements[0] == parse_workload("S[m,l] += A[m,k]*B[k,l]", {"m": 4, "l": 6, "k": 2}).only
    assert made.semantics is Semantics.ASSIGN
    assert made.roles["S"] is TensorRole.INTERMEDIATE
    assert made.expression == "S[m,l] = A[m,k] * B[k,l]; C[m,n] = S[m,l] * D[l,n]"


def test_a_list_of_texts_is_the_same_chain():
    assert parse_workload(PAIR.split(";"), SIZES) == parse_workload(PAIR, SIZES)
    assert parse_workload([PAIR, "E[m] = C[m,n]"], SIZES).statements[2].name == "E"


def test_the_sign_of_an_intermediate_says_nothing():
    assert parse_workload(PAIR.replace("=", "+=", 1), SIZES) == parse_workload(PAIR, SIZES)
    added = parse_workload(PAIR.replace("C[m,n] =", "C[m,n] +="), SIZES)
    assert added.semantics is Semantics.ACCUMULATE
    assert added.expression == "S[m,l] = A[m,k] * B[k,l]; C[m,n] += S[m,l] * D[l,n]"
    assert parse_workload(PAIR, SIZES, semantics=Semantics.ACCUMULATE) == added
    named = parse_workload(PAIR.replace("=", "+="), SIZES, outputs=["S"])
    assert named.expression.startswith("S[m,l] += ")
    assert named.outputs == ("S",)
    with pytest.raises(ParseError, match=r"= of output C, but \+= of output S: use one of them, or say semantics"):
        parse_workload(PAIR.replace("=", "+=", 1), SIZES, outputs=["S"])


def test_an_output_is_named_and_one_that_nothing_reads_need_not_be():
    assert parse_workload(PAIR, SIZES, outputs=["C"]).outputs == ()
    with pytest.raises(InputError, match="no tensor Z"):
        parse_workload(PAIR, SIZES, outputs=["Z"])


def test_maxima_minima_and_their_semantics():
    assert one("C[m] max= A[m,k]").update is Update.MAX
    assert one("C[m] min= A[m,k] + 2").update is Update.MIN
    assert read("C[m] max= A[m,k]").semantics is Semantics.ACCUMULATE
    assert read("C[m] max= A[m,k]; E[m] = A[m,k]").semantics is Semantics.ASSIGN
    assert one("max[m] min= min[m,k]").name == "max"


def test_right_sides_are_trees():
    assert one("C[m] = 0.5*A[m]").right == OperandSeries(Constant("0.5"), (("*", Read(0)),))
    assert one("C[m] = A[m] - B[m]*D[m] + 1").right == OperandSeries(
        Read(0), (("-", OperandSeries(Read(1), (("*", Read(2)),))), ("+", Constant("1")))
    )
    assert one("C[m] = (A[m] - B[m])/D[m]").right == OperandSeries(
        OperandSeries(Read(0), (("-", Read(1)),)), (("/", Read(2)),)
    )
    assert one("C[m] = ((A[m]))").right == Read(0)
    assert one("C[m] = relu(A[m]) * max(B[m], D[m], 0)").right == OperandSeries(
        Apply("relu", (Read(0),)), (("*", Apply("max", (Read(1), Read(2), Constant("0")))),)
    )
    assert one("C[m,l] = softmax(A[m,l], l)").right == Apply("softmax", (Read(0),), "l")
    assert one("C[m,l] = softmax(A[m,l], l, online)").right == Apply("softmax", (Read(0),), "l")
    whole = one("C[m,l] = rmsnorm(A[m,l] + B[m,l], l, whole) * D[l]").row
    assert whole == Apply("rmsnorm", (OperandSeries(Read(0), (("+", Read(1)),)),), "l", Statistic.WHOLE)


def test_a_product_in_brackets_is_a_product():
    assert one("C[m] = (A[m,k])*B[k]").is_product
    assert not one("C[m] = 1*A[m,k]").is_product


def test_conditions():
    made = one("C[m] = A[m,l] if l <= m and 2m+1 > l and l < 5 and 0 == m and 3 <= l")
    left, right = Subscript(terms=(("l", 1),)), Subscript(terms=(("m", 1),))
    assert made.domain[0] == Condition(left=left, relation=Comparator.AT_MOST, right=right)
    assert [str(each) for each in made.domain] == ["l <= m", "2*m+1 > l", "l < 5", "0 == m", "3 <= l"]
    assert made.dims == ("m", "l")


def test_words_of_the_notation_are_names_elsewhere():
    made = parse_workload("if[and,in] += online[and,2and+in]", {"and": 2, "in": 3})
    assert made.only.name == "if"
    assert made.dims == ("and", "in")


@given(chains())
def test_expressions_of_chains_round_trip(workload):
    again = parse_workload(
        workload.expression,
        workload.extents,
        name=workload.name,
        semantics=workload.semantics,
        outputs=workload.outputs,
    )
    assert again == workload
    assert parse_workload(
        workload.expression.split("; "), workload.extents, semantics=workload.semantics
    ).statements == (workload.statements)
    if any(
        each.update is Update.SUM and workload.roles[each.name] is TensorRole.OUTPUT for each in workload.statements
    ):
        assert parse_workload(workload.expression, workload.extents, outputs=workload.outputs).semantics is (
            workload.semantics
        )


@given(st.text(alphabet="CAij2 +=*[](),;->.x</max", max_size=28))
def test_any_text_is_a_workload_or_a_typed_error(text):
    try:
        workload = parse_workload(text, {"i": 2, "j": 3})
    except InputError as error:
        assert str(error)  # noqa: PT017 - either outcome is fine, a foreign exception is not
    else:
        assert isinstance(workload, Workload)
        again = parse_workload(workload.expression, workload.extents, semantics=workload.semantics)
        assert again == workload


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("C[m] = A[m] B[m]", 12, "expected '*' and another input, or the end"),
        ("C[m] = A[m]; ", 11, "unexpected ';': another statement follows it"),
        ("; C[m] = A[m]", 0, "unexpected ';'"),
        ("C[m] = A[m];; D[m] = C[m]", 12, "unexpected ';'"),
        ("C[m] = -A[m]", 7, "a sign stands between two terms"),
        ("C[m] = A[m] - ", 13, "expected a tensor"),
        ("C[m] = A[m] - +A[m]", 14, "a sign stands between"),
        ("C[m] = 2.*A[m]", 9, "digits after '2.'"),
        ("C[m] = 2. 5*A[m]", 8, "digits after '2.'"),
        ("C[m] = 2 .5*A[m]", 9, "unexpected '.'"),
        ("C[m] = (A[m]", 12, "expected ')', found the end"),
        ("C[m] = A[m])", 11, "unexpected ')'"),
        ("C[m] = rel(A[m])", 10, "no function is called rel; did you mean relu"),
        ("C[m] = relu A[m]", 12, "'[' after tensor relu"),
        ("C[m] = relu()", 12, "unexpected ')'"),
        ("C[m] = relu(A[m], l)", 7, "relu is elementwise: it has no dim l"),
        ("C[m] = relu(A[m], A[m])", 7, "relu has 2 arguments; it takes 1"),
        ("C[m] = max(A[m])", 7, "max has 1 arguments; it takes 2 or more"),
        ("C[m] = 2*exp(3)*A[m]", 9, "exp of numbers alone is a number"),
        ("C[m] = softmax(A[m])", 7, "softmax needs the dim of its rows"),
        ("C[m,l] = softmax(A[m,l], k)", 9, "goes along k, which is no dim of what it reads"),
        ("C[m,l] = softmax(A[m,l], l, later)", 28, "online or whole after the dim of a row"),
        ("C[m,l] = softmax(A[m,l], l, whole, l)", 33, "expected ')', found ','"),
        ("C[m] = softmax(A[m,l], l)", 7, "in a statement that reduces"),
        ("C[m,n] = softmax(A[m,l], l)*B[l,n]", 9, "in a statement that reduces"),
        ("C[m,l] = softmax(A[m,l], l)*rmsnorm(B[m,l], l)", 28, "rmsnorm beside softmax: write two statements"),
        ("C[m,n] = A[m,k]*B[k,n] + D[m,n]", 25, "D[m,n] has no dim k, which is summed over"),
        ("C[m,n] = exp(A[m,k]*B[k,n])", 9, "exp of several tensors in a statement that reduces k"),
        ("C[m] max = A[m]", 5, "'+=' or '='"),
        ("C[m] sum= A[m]", 5, "'+=' or '='"),
        ("C[m] = A[m] if", 14, "expected a dim or a whole number"),
        ("C[m] = A[m] if m", 16, "expected one of <=, <, >=, >, =="),
        ("C[m] = A[m] if m = l", 17, "expected one of"),
        ("C[m] = A[m,l] if m - l < 2", 19, "not negative"),
        ("C[m] = A[m,l] if m*l < 2", 19, "product of dims"),
        ("C[m] = A[m,l] if l <= m and", 27, "expected a dim"),
        ("C[m] = A[m] if m < l", 15, "dim l is in no tensor of the statement"),
        ("C[m] = A[m] if 1 < 2", 15, "it compares no dims"),
        ("C[m] = A[m]; C[m] = B[m]", 13, "C is written by two statements"),
        ("C[m] = S[m]; S[m] = A[m]", 7, "S is read here and written later"),
        ("C[m] = S[m]; S[m] = C[m]", 7, "a circle"),
        ("S[m] = A[m]; C[m] = S[m,m]", 20, "S has 1 subscripts before and 2 here"),
        ("S[m] = A[m]; C[m,l] = S[m+l]", 22, "S[m+l] reads 0 to 8 along subscript 1"),
        ("S[m] = A[m]; C[m] = S[m]*C[m]", 25, "output C is read on the right"),
        ("S[m] = A[m]; C[m] += S[m]; E[m] = S[m]", 32, "= of output E, but += of output C"),
    ],
)
def test_errors_point_at_the_character(text, position, words):
    with pytest.raises(ParseError) as caught:
        read(text)
    message, quoted, caret = str(caught.value).split("\n")
    assert words in message
    assert quoted == f"  {text}"
    assert caret.index("^") == position + 2


def test_brackets_are_read_to_a_depth():
    deep = "(" * 64 + "A[m]" + ")" * 64
    assert one(f"C[m] = {deep}").right == Read(0)
    with pytest.raises(ParseError, match="more than 64 brackets") as caught:
        one(f"C[m] = ({deep})")
    assert caught.value.position == 7 + 64
    many = "*".join(["A[m]"] * 3000)
    assert len(one(f"C[m] = {many}").inputs) == 3000


def test_an_error_in_a_list_shows_its_own_text():
    with pytest.raises(ParseError) as caught:
        parse_workload(["S[m,l] = A[m,k]*B[k,l]", "C[m,n] = S[l,m]*D[l,n]"], SIZES)
    assert caught.value.text == "C[m,n] = S[l,m]*D[l,n]"
    assert caught.value.position == 9
    with pytest.raises(ParseError, match="no extent for dim q") as caught:
        parse_workload(["S[m,l] = A[m,k]*B[k,l]", "C[m,q] = S[m,l]*D[l,q]"], SIZES)
    assert caught.value.position == 4


def test_element_sizes_are_per_tensor_of_all_statements():
    made = parse_workload(PAIR, SIZES, bytes={"S": 8, "D": 2})
    assert {access.name: access.bits for access in made.accesses} == {"S": 64, "A": 32, "B": 32, "C": 32, "D": 16}
    with pytest.raises(InputError, match="'Z', which is no tensor; tensors are S, A, B, C, D"):
        parse_workload(PAIR, SIZES, bytes={"Z": 8})
