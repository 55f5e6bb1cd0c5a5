"""Statements and what several say together: roles, sharing, the door for one, and what is refused."""

import operator
import pickle
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from strategies import chains

from optmap.base.errors import InputError, LimitError, OneStatementError, StatementError
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.chain import TensorRole
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.expression import Apply, Constant, OperandSeries, Read, Statistic
from optmap.workloads.statement import Statement, Update, multiply
from optmap.workloads.workload import Padding, Semantics, Workload

A, B = Read(0), Read(1)
PRODUCT = OperandSeries(A, (("*", B),))
M, L = Subscript(terms=(("m", 1),)), Subscript(terms=(("l", 1),))


def access(name, *axes, bits=32):
    """A tensor with one dim per subscript, or the subscripts given."""
    made = (axis if isinstance(axis, Subscript) else Subscript(terms=((axis, 1),)) for axis in axes)
    return TensorAccess(name=name, axes=tuple(made), bits=bits)


def window(dim, tap, stride=1):
    return Subscript(terms=((dim, stride), (tap, 1)))


def elementwise(output, *inputs, function="relu"):
    return Statement(
        output=output, inputs=inputs, right=Apply(function, tuple(Read(number) for number in range(len(inputs))))
    )


def row(output, given, dim, statistic=Statistic.ONLINE):
    return Statement(output=output, inputs=(given,), right=Apply("softmax", (A,), dim, statistic))


SCORES = multiply(access("S", "m", "l"), (access("Q", "m", "d"), access("K", "l", "d")))
WEIGHTS = row(access("P", "m", "l"), access("S", "m", "l"), "l")
VALUES = multiply(access("O", "m", "e"), (access("P", "m", "l"), access("V", "l", "e")))
SIZES = (("m", 4), ("l", 6), ("d", 2), ("e", 3))


def attention(**changes):
    return Workload(**{"name": "attention", "statements": (SCORES, WEIGHTS, VALUES), "sizes": SIZES, **changes})


def test_roles_follow_from_who_writes_and_reads():
    assert attention().roles == {
        "S": TensorRole.INTERMEDIATE,
        "Q": TensorRole.INPUT,
        "K": TensorRole.INPUT,
        "P": TensorRole.INTERMEDIATE,
        "O": TensorRole.OUTPUT,
        "V": TensorRole.INPUT,
    }
    assert attention(outputs=("S",)).roles["S"] is TensorRole.OUTPUT


def test_a_statement_knows_its_parts():
    assert SCORES.name == "S"
    assert SCORES.dims == ("m", "l", "d")
    assert SCORES.reduction_dims == ("d",)
    assert SCORES.is_product
    assert SCORES.row is None
    assert WEIGHTS.row == Apply("softmax", (A,), "l")
    assert not WEIGHTS.is_product
    assert attention().statement("P") is WEIGHTS


def test_an_intermediate_that_nothing_else_reads_is_changed_in_place():
    assert attention().stored_as == {"S": "P", "Q": "Q", "K": "K", "P": "P", "O": "O", "V": "V"}


def test_what_is_read_elsewhere_or_is_an_output_keeps_elements_of_its_own():
    assert attention(outputs=("S",)).stored_as["S"] == "S"
    again = multiply(access("G", "m", "l"), (access("S", "m", "l"), access("H", "m", "l")))
    assert attention(statements=(SCORES, WEIGHTS, VALUES, again)).stored_as["S"] == "S"


def test_in_place_goes_from_tensor_to_tensor_and_never_over_an_input():
    chain = (
        elementwise(access("X", "m"), access("I", "m")),
        elementwise(access("Y", "m"), access("X", "m")),
        elementwise(access("Z", "m"), access("Y", "m")),
    )
    made = Workload(name="", statements=chain, sizes=(("m", 4),), semantics=Semantics.ASSIGN)
    assert made.stored_as == {"X": "Z", "I": "I", "Y": "Z", "Z": "Z"}
    added = replace(made, semantics=Semantics.ACCUMULATE)  # Z has values before: Y cannot be where they are
    assert added.stored_as == {"X": "Y", "I": "I", "Y": "Y", "Z": "Z"}


@pytest.mark.parametrize(
    "last",
    [
        elementwise(access("Y", "m", bits=8), access("X", "m")),
        elementwise(
            access("Y", "m"),
            access("X", Subscript(terms=(("m", 1),), offset=0), bits=32),
            access("X", "m"),
            function="max",
        ),
        multiply(access("Y", "m"), (access("X", "m"), access("W", "m"))),
    ],
)
def test_other_statements_are_not_in_place(last):
    chain = (multiply(access("X", "m"), (access("I", "m"), access("J", "m"))), last)
    assert Workload(name="", statements=chain, sizes=(("m", 4),), semantics=Semantics.ASSIGN).stored_as["X"] == "X"


def test_the_text_of_a_chain_says_what_is_done():
    assert attention().expression == (
        "S[m,l] = Q[m,d] * K[l,d]; P[m,l] = softmax(S[m,l], l); O[m,e] += P[m,l] * V[l,e]"
    )
    assert attention(semantics=Semantics.ASSIGN, outputs=("S",)).expression.startswith("S[m,l] = Q")
    assert attention(outputs=("S",)).expression.startswith("S[m,l] += Q")


def test_reprs_are_brief():
    assert repr(attention()) == "Workload(name='attention', statements=<3>, sizes=<4>, semantics=accumulate, count=1)"
    named = matmul(i=2, j=3, k=4, name="one")
    assert repr(named) == "Workload(name='one', output='C', inputs=<2>, sizes=<3>, semantics=accumulate, count=1)"
    assert repr(replace(named, name="")).startswith("Workload(output='C', inputs=<2>, sizes=<3>")


def test_every_form_of_a_right_side_prints():
    right = OperandSeries(
        OperandSeries(OperandSeries(A, (("+", B),)), (("*", Read(2)), ("/", Constant("2.5")))),
        (("-", Apply("softmax", (OperandSeries(Read(3), (("*", Constant("3")),)),), "l", Statistic.WHOLE)),),
    )
    made = Statement(
        output=access("Y", "m", "l"),
        inputs=(access("A", "m"), access("B", "l"), access("C", "m", "l"), access("D", "m", "l")),
        right=right,
        domain=(
            Condition(left=L, relation=Comparator.AT_MOST, right=M),
            Condition(left=M, relation=Comparator.LESS, right=Subscript(terms=(("l", 2),), offset=3)),
        ),
    )
    assert str(made) == (
        "Y[m,l] = (A[m] + B[l]) * C[m,l] / 2.5 - softmax(D[m,l] * 3, l, whole) if l <= m and m < 2*l+3"
    )
    assert made.text("+=").startswith("Y[m,l] += ")
    largest = Statement(output=access("Y", "m"), inputs=(access("A", "m", "l"),), right=A, update=Update.MAX)
    assert largest.text("+=") == "Y[m] max= A[m,l]"


def test_products_within_products_keep_their_brackets():
    inner = OperandSeries(B, (("*", Read(2)),))
    made = Statement(
        output=access("Y", "m"), inputs=tuple(access(n, "m") for n in "ABC"), right=OperandSeries(A, (("*", inner),))
    )
    assert str(made) == "Y[m] = A[m] * (B[m] * C[m])"
    assert not made.is_product


def test_one_product_goes_through_the_door():
    made = matmul(i=2, j=3, k=4)
    assert made.only is made.statements[0]
    assert (made.output, *made.inputs) == made.tensors == made.only.accesses == made.accesses
    assert made.operations == 24
    assert made.only == multiply(made.output, made.inputs)
    assert made == Workload(name=made.name, statements=(made.only,), sizes=made.sizes)
    assert hash(made) == hash(pickle.loads(pickle.dumps(made)))
    assert pickle.loads(pickle.dumps(made)).only.is_product


@pytest.mark.parametrize(
    "ask",
    ["only", "output", "inputs", "tensors", "image", "real_ranges", "reduction_dims"],
)
def test_several_statements_do_not_go_through_the_door(ask):
    with pytest.raises(OneStatementError) as caught:
        getattr(attention(), ask)
    message = str(caught.value)
    assert "attention has 3 statements (S, P, O); this takes one" in message
    assert "'S[m,l] = Q[m,d] * K[l,d]' with the extents m=4,l=6,d=2" in message
    assert "workload.alone('S')" in message


def test_the_statement_that_is_offered_is_one_that_is_taken():
    scaled = replace(SCORES, right=OperandSeries(Constant("2"), (("*", A), ("*", B))))
    with pytest.raises(OneStatementError, match=r"as 'O\[m,e\] \+= P\[m,l\] \* V\[l,e\]' with the extents m=4,l=6,e=3"):
        _ = attention(statements=(scaled, WEIGHTS, VALUES)).only


def test_neither_does_one_statement_that_is_no_plain_product():
    for statement in (
        WEIGHTS,
        replace(SCORES, domain=(Condition(left=L, relation=Comparator.AT_MOST, right=M),)),
        replace(SCORES, update=Update.MAX),
        replace(SCORES, right=OperandSeries(Constant("2"), (("*", A), ("*", B)))),
    ):
        sizes = tuple((d, n) for d, n in SIZES if d in statement.dims)
        with pytest.raises(OneStatementError, match="no plain sum of products"):
            _ = Workload(name="one", statements=(statement,), sizes=sizes).tensors


def test_a_statement_can_be_had_alone():
    alone = attention().alone("O")
    assert alone.only is VALUES
    assert alone.sizes == (("m", 4), ("l", 6), ("e", 3))
    assert alone.title == "attention: O"
    assert alone.semantics is Semantics.ACCUMULATE
    assert attention().alone("S").semantics is Semantics.ASSIGN  # an intermediate starts empty
    assert attention(name="").alone("S").title == "S[m,l] = Q[m,d] * K[l,d]"
    with pytest.raises(InputError, match="statement 'Z'"):
        attention().alone("Z")


def test_words_are_common_to_all_statements():
    wide = multiply(access("O", "m", "e", bits=64), (access("P", "m", "l", bits=16), access("V", "l", "e", bits=48)))
    first = multiply(access("P", "m", "l", bits=16), (access("Q", "m", "d", bits=16), access("K", "l", "d", bits=16)))
    made = Workload(name="", statements=(first, wide), sizes=SIZES)
    assert made.word_bits == 16
    assert [made.weight(each) for each in made.accesses] == [1, 1, 1, 4, 1, 3]


def test_outputs_that_are_outputs_anyway_need_no_name():
    assert attention().with_outputs(["S", "O"]) == attention(outputs=("S",))
    assert attention().with_outputs(["P", "S"]) == attention(outputs=("S", "P"))
    with pytest.raises(InputError, match="Q is an input"):
        attention().with_outputs(["Q"])
    with pytest.raises(InputError, match="no tensor Z; tensors are S, Q, K, P, O, V"):
        attention().with_outputs(["Z"])
    with pytest.raises(InputError, match="S is named twice"):
        attention().with_outputs(["S", "S"])
    with pytest.raises(InputError, match="O is an output by itself"):
        attention(outputs=("O",))


def windows(y, h, r, **more):
    """A row convolution, then another over its result: S is written at y and read at h+r."""
    first = multiply(access("S", "y"), (access("I", window("y", "p")), access("F", "p")))
    second = multiply(access("C", "h"), (access("S", more.get("read", window("h", "r"))), access("G", "r")))
    return Workload(name="windows", statements=(first, second), sizes=(("y", y), ("p", 3), ("h", h), ("r", r)))


def test_windows_join_by_elements():
    assert windows(6, 4, 3).roles["S"] is TensorRole.INTERMEDIATE
    assert windows(9, 4, 3).roles["S"] is TensorRole.INTERMEDIATE
    with pytest.raises(StatementError, match=r"S\[h\+r\] reads 0 to 5 along subscript 1.*written from 0 to 4"):
        windows(5, 4, 3)
    with pytest.raises(StatementError, match="reads 2 to 7"):
        windows(7, 4, 3, read=Subscript(terms=(("h", 1), ("r", 1)), offset=2))
    written = access("S", Subscript(terms=(("y", 1),), offset=2))
    later = multiply(written, (access("I", "y"),))
    with pytest.raises(StatementError, match=r"S\[y\] reads 0 to 5 along subscript 1.*written from 2 to 7"):
        Workload(name="", statements=(later, multiply(access("C", "y"), (access("S", "y"),))), sizes=(("y", 6),))
    padded = Subscript(terms=(("h", 1), ("r", 1)), offset=0, real=(0, 3))
    assert windows(4, 4, 3, read=padded).padding is Padding.IMPLICIT


def test_gaps_and_diagonals_are_not_read():
    written = access("S", Subscript(terms=(("m", 2),)))
    first = multiply(written, (access("I", "m"),))
    reader = multiply(access("C", "m"), (written,))
    assert Workload(name="", statements=(first, reader), sizes=(("m", 4),)).roles["S"] is TensorRole.INTERMEDIATE
    other = multiply(access("C", "l"), (access("S", "l"),))
    with pytest.raises(StatementError, match="written with gaps"):
        Workload(name="", statements=(first, other), sizes=(("m", 4), ("l", 3)))
    diagonal = multiply(access("S", "m", "m"), (access("I", "m"),))
    with pytest.raises(StatementError, match="along a diagonal"):
        Workload(
            name="", statements=(diagonal, multiply(access("C", "m"), (access("S", "m", "m"),))), sizes=(("m", 4),)
        )


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ((SCORES, SCORES), "S is written by two statements"),
        ((VALUES, SCORES, WEIGHTS), "P is read here and written later; put the statement that writes it first"),
        (
            (
                multiply(access("S", "m"), (access("C", "m"),)),
                multiply(access("C", "m"), (access("S", "m"),)),
            ),
            "S and C are each made from the other: a circle",
        ),
        (
            (
                multiply(access("S", "m"), (access("D", "m"),)),
                multiply(access("C", "m"), (access("S", "m"),)),
                multiply(access("D", "m"), (access("C", "m"),)),
            ),
            "S and D are each made from the other: a circle",
        ),
        (
            (multiply(access("S", "m"), (access("A", "m"), access("A", "m", "m"))),),
            "A has 1 subscripts in A[m], but not",
        ),
        (
            (multiply(access("S", "m"), (access("A", "m"), access("A", "m", bits=8))),),
            "A has elements of 32 and of 8 bits",
        ),
        ((multiply(access("S", "m"), (access("S", "m"),)),), "output S is read on the right"),
        ((multiply(access("S", "m"), ()),), "at least one input tensor"),
        ((), "at least one statement"),
    ],
)
def test_statements_that_do_not_agree_are_refused(statements, words):
    dims = {d for statement in statements for d in statement.dims}
    with pytest.raises(InputError) as caught:
        Workload(name="bad", statements=statements, sizes=tuple((d, n) for d, n in SIZES if d in dims))
    assert words in str(caught.value)
    assert str(caught.value).startswith("bad: ")


def refused(output, inputs, right, **more):
    with pytest.raises(StatementError) as caught:
        Statement(output=output, inputs=inputs, right=right, **more)
    return str(caught.value), caught.value.part


def test_functions_are_known_and_have_their_arguments():
    y, a, b = access("Y", "m"), access("A", "m"), access("B", "m")
    assert "no function rlu" in refused(y, (a,), Apply("rlu", (A,)))[0]
    assert "relu" in refused(y, (a,), Apply("rlu", (A,)))[0]
    assert "exp has 2 arguments; it takes 1" in refused(y, (a, b), Apply("exp", (A, B)))[0]
    assert "max has 1 arguments; it takes 2 or more" in refused(y, (a,), Apply("max", (A,)))[0]
    three = Apply("scale", (A, Constant("2"), Constant("3")))
    assert "scale has 3 arguments; it takes 1 to 2" in refused(y, (a,), three)[0]
    assert "needs the dim of its rows" in refused(y, (a,), Apply("softmax", (A,)))[0]
    assert "exp is elementwise: it has no dim m" in refused(y, (a,), Apply("exp", (A,), "m"))[0]
    numbers = OperandSeries(Apply("exp", (Constant("2"),)), (("*", A),))
    assert "numbers alone" in refused(y, (a,), numbers)[0]


def test_rows_are_those_of_a_statement_that_reduces_nothing():
    row_of = Apply("softmax", (A,), "l")
    scores, short = access("S", "m", "l"), access("R", "m")
    assert "in a statement that reduces" in refused(short, (scores,), row_of)[0]
    assert "in a statement that reduces" in refused(access("P", "m", "l"), (scores,), row_of, update=Update.MAX)[0]
    assert "goes along q, which is no dim" in refused(access("P", "m", "l"), (scores,), Apply("softmax", (A,), "q"))[0]
    two = OperandSeries(row_of, (("*", Apply("rmsnorm", (B,), "l")),))
    text, part = refused(access("P", "m", "l"), (scores, scores), two)
    assert "rmsnorm beside softmax" in text
    assert part is two.rest[0][1]
    scaled = OperandSeries(Apply("rmsnorm", (A,), "l"), (("*", B),))
    assert Statement(output=access("P", "m", "l"), inputs=(scores, access("G", "l")), right=scaled).row is scaled.first


def test_a_reduced_dim_is_in_every_term():
    a, b, c = access("A", "m", "k"), access("B", "k", "n"), access("C", "m", "n")
    y = access("Y", "m", "n")
    text, part = refused(y, (a, b, c), OperandSeries(PRODUCT, (("+", Read(2)),)))
    assert "C[m,n] has no dim k, which is summed over" in text
    assert part == Read(2)
    assert "1 has no dim k" in refused(y, (a, b), OperandSeries(PRODUCT, (("+", Constant("1")),)))[0]
    bias = access("D", "m")
    fine = OperandSeries(
        OperandSeries(A, (("+", B),)), (("*", Read(2)),)
    )  # (A[m,k] + D[m]) * B[k,n]: k multiplies both
    assert Statement(output=y, inputs=(a, bias, b), right=fine).reduction_dims == ("k",)
    assert "D[m] has no dim k" in refused(y, (a, bias, access("E", "n")), fine)[0]
    assert Statement(
        output=y, inputs=(a, bias, b), right=OperandSeries(A, (("+", B), ("+", Read(2)))), update=Update.MAX
    )


def test_functions_of_several_tensors_reduce_nothing():
    a, b, y = access("A", "m", "k"), access("B", "k", "n"), access("Y", "m", "n")
    assert "exp of several tensors" in refused(y, (a, b), Apply("exp", (PRODUCT,)))[0]
    of_one = OperandSeries(Apply("relu", (A,)), (("*", B),))
    assert Statement(output=y, inputs=(a, b), right=of_one).reduction_dims == ("k",)


def test_conditions_are_on_dims_of_the_statement():
    q = Subscript(terms=(("q", 1),))
    text, part = refused(
        access("Y", "m"), (access("A", "m"),), A, domain=(Condition(left=M, relation=Comparator.EQUAL, right=q),)
    )
    assert "condition m == q: dim q is in no tensor of the statement" in text
    assert part == Condition(left=M, relation=Comparator.EQUAL, right=q)
    numbers = Condition(left=Subscript(terms=()), relation=Comparator.LESS, right=Subscript(terms=(), offset=1))
    assert "compares no dims" in refused(access("Y", "m"), (access("A", "m"),), A, domain=(numbers,))[0]


def test_inputs_are_read_once_each_in_order():
    both = (access("A", "m"), access("B", "m"))
    for right in (
        A,
        OperandSeries(B, (("*", A),)),
        OperandSeries(A, (("*", A),)),
        OperandSeries(A, (("*", B), ("*", Read(2)))),
    ):
        assert "reads inputs" in refused(access("Y", "m"), both, right)[0]


def test_extents_padding_and_semantics_change_for_all_statements():
    bigger = attention().with_extents(m=8)
    assert bigger.extents["m"] == 8
    assert bigger.statements == attention().statements
    assert attention().with_semantics("assign").semantics is Semantics.ASSIGN
    with pytest.raises(StatementError, match="reads 0 to 9"):
        windows(6, 4, 3).with_extents(h=8)
    with pytest.raises(InputError, match="where its padding is is not known"):
        windows(6, 4, 3).with_padding("implicit")
    layer = conv2d(c=2, k=2, h=5, w=5, r=3, s=3)
    pair = Workload(
        name="pair",
        statements=(
            layer.only,
            multiply(access("Y", "n", "k", "h", "w"), (layer.output, access("E", "k"))),
        ),
        sizes=layer.sizes,
    )
    implicit = pair.with_padding("implicit")
    assert implicit.padding is Padding.IMPLICIT
    assert implicit.statements[0] == layer.with_padding("implicit").only
    assert implicit.with_padding("stored") == pair
    with pytest.raises(InputError, match="belong to the extents"):
        implicit.with_extents(h=6)
    grown = pair.with_extents(h=6)
    assert grown.statements[0].image == ()
    assert pair.statements[0].image


@given(chains())
def test_operations_are_the_points_that_meet_the_conditions(workload):
    compare = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "==": operator.eq}

    def value(side, point):
        return side.offset + sum(c * point[d] for d, c in side.terms)

    extents, total = workload.extents, 0
    for statement in workload.statements:
        box = (
            dict(zip(statement.dims, at, strict=True)) for at in product(*(range(extents[d]) for d in statement.dims))
        )
        met = [
            all(compare[c.relation](value(c.left, point), value(c.right, point)) for c in statement.domain)
            for point in box
        ]
        assert statement.points(extents) == sum(met)
        total += sum(met)
    assert workload.operations == total


def test_masks_are_counted_at_their_size():
    causal = replace(SCORES, domain=(Condition(left=L, relation=Comparator.AT_MOST, right=M),))
    assert causal.points({"m": 4096, "l": 4096, "d": 64}) == 64 * 4096 * 4097 // 2
    with pytest.raises(LimitError, match="tie more than 262,144 points together"):
        causal.points({"m": 2**20, "l": 2**20, "d": 64})
