"""Names: one lookup, one wording, whoever asks."""

import pytest

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.base.names import choose
from optmap.bounds import BOUNDS
from optmap.search import METHODS
from optmap.sweeps import spec_from

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 4, "j": 4, "k": 4}


def test_every_known_name_is_itself():
    for known in (METHODS, BOUNDS):
        assert [choose("method", name, known) for name in known] == list(known)


def test_case_counts_unless_the_caller_says_otherwise():
    assert choose("machine", "I7-9700K", ["balanced", "i7-9700k"], any_case=True) == "i7-9700k"
    with pytest.raises(UnknownNameError, match=r"unknown method 'MOPT'; did you mean mopt\? Known are mopt, iooub"):
        choose("method", "MOPT", ["mopt", "iooub"])


@pytest.mark.parametrize("value", [None, 3, b"mopt", ["mopt"]])
def test_what_is_no_text_is_no_name(value):
    with pytest.raises(InputError, match=r"here: method .* is not a name; known are mopt, iooub"):
        choose("method", value, ["mopt", "iooub"], where="here")


def test_a_long_list_is_left_out_where_a_suggestion_stands():
    known = [f"layer{i}" for i in range(40)]
    with pytest.raises(UnknownNameError) as caught:
        choose("layer", "layr3", known)
    assert "did you mean layer3" in str(caught.value)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: optmap.solve(STATEMENT, extents=EXTENTS, memory="64w", method="mpot"), "unknown method 'mpot'"),
        (lambda: optmap.solve(STATEMENT, extents=EXTENTS, memory="64w", objective="lods"), "did you mean loads?"),
        (lambda: optmap.solve(STATEMENT, extents=EXTENTS, memory="64w", tiles="divisor"), "did you mean divisors?"),
        (lambda: optmap.solve("resnet18/R99", memory="64w"), "did you mean resnet18/R9"),
        (lambda: optmap.solve("resnet18/R9", machine="i7"), "did you mean i7-9700k?"),
        (lambda: optmap.bound(STATEMENT, extents=EXTENTS, memory="64w", methods=["bst"]), "did you mean best?"),
        (lambda: optmap.bound(STATEMENT, extents=EXTENTS, memory="64w", semantics="asign"), "did you mean assign?"),
        (lambda: optmap.compare(STATEMENT, extents=EXTENTS, memory="64w", methods=["ioub"]), "did you mean iooub?"),
        (lambda: spec_from({"workloads": ["resnet18/R9"], "machines": ["i7"]}), "did you mean i7-9700k?"),
        (
            lambda: spec_from({"workloads": ["resnet18/R9"], "machines": ["balanced"], "methods": ["ioub"]}),
            "did you mean iooub?",
        ),
    ],
)
def test_python_and_sweeps_suggest_as_the_shell_does(call, said):
    with pytest.raises(UnknownNameError) as caught:
        call()
    assert said in str(caught.value)
