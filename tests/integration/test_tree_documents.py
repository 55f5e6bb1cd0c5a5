"""Mapping trees through `evaluate` and `show`, from documents that somebody else may have written."""

import json

import pytest
from mapping_trees import REFERENCE


def least_document(case):
    """A case of the reference as the least document that is taken."""
    *bounded, memory = case["levels"]
    return {
        "workload": {**case["workload"], "semantics": case["semantics"]},
        "machine": {
            "name": "pads",
            "memory": memory["name"],
            "levels": [
                {"name": each["name"], "capacity": {"amount": each["capacity_words"], "unit": "words"}}
                for each in bounded
            ],
        },
        "mapping": {"tree": case["tree"]},
    }


@pytest.fixture
def written(tmp_path):
    """A document as a file."""

    def write(document):
        path = tmp_path / "tree.json"
        path.write_text(json.dumps(document))
        return str(path)

    return write


def named(name):
    """A case of the reference by the beginning of its name."""
    return next(case for case in [*REFERENCE["cases"], *REFERENCE["invalid"]] if case["name"].startswith(name))


def test_a_chain_is_counted_with_words_per_boundary_and_occupancy(optmap, written):
    case = named("12 row loop")
    ran = optmap("evaluate", written(least_document(case)), "--json")
    found = json.loads(ran.out)
    assert found["boundaries"] == [
        {
            "between": [row["level"], row["from"]],
            "tensor": row["tensor"],
            "loads_words": row["loads"],
            "stores_words": row["stores"],
        }
        for row in case["boundaries"]
    ]
    assert {row["level"]: row["occupancy_words"] for row in found["levels"]} == case["occupancy"]
    assert [row["capacity_words"] for row in found["levels"]] == [29, 144]
    assert found["violations"] == []
    assert found["mapping"] == {"tree": case["tree"]}
    text = optmap("evaluate", written(least_document(case))).out
    assert "for (m in steps of 8)" in text
    assert "104" in text


def test_a_tree_that_means_nothing_is_bad_input_with_its_reason(optmap, written):
    ran = optmap("evaluate", written(least_document(named("the consumer first"))), code=2)
    assert "incomplete: C reads S[0, 0] before it is complete: its branch is before that of S" in ran.err


def test_a_tree_that_does_not_fit_fails_with_the_shortfall(optmap, written):
    ran = optmap("evaluate", written(least_document(named("one word too few"))), code=5)
    assert "buffer would hold 22 words at a visit of S; it has 21: it is short by 1 word" in ran.err


def test_a_walk_that_is_too_long_reaches_its_limit(optmap, written):
    path = written(least_document(named("12 row loop")))
    ran = optmap("evaluate", path, "--simulate", "--limit", "100", code=4)
    assert "100" in ran.err
    assert "counted in closed form\n" in ran.out


def test_a_closed_form_is_walked_as_well_where_it_is_asked_for(optmap, written):
    ran = optmap("evaluate", written(least_document(named("12 row loop"))), "--simulate")
    assert "counted in closed form and by a literal walk" in ran.out


def test_an_expression_and_a_machine_of_the_library_will_do(optmap, written):
    document = {
        "workload": {"expression": "C[m,n] += A[m,k]*B[k,n]", "extents": {"m": 3, "n": 4, "k": 2}},
        "machine": "i7-9700k",
        "mapping": {
            "tree": [
                *({"keep": level, "tensors": ["A", "B", "C"]} for level in ("L3", "L2", "L1", "Reg")),
                {"compute": "C"},
            ]
        },
    }
    ran = optmap("evaluate", written(document), "--json")
    words = {tuple(row["between"]): row["loads_words"] for row in json.loads(ran.out)["boundaries"]}
    assert words["L3", "DRAM"] == 8  # B, the last of the three


def test_show_prints_a_tree_as_loops(optmap, written):
    path = written(least_document(named("01 row loop")))
    assert optmap("show", path, "--nest").out.splitlines() == [
        "for (m in steps of 3)",
        "  /* buffer keeps A, C */",
        "  for (l in steps of 1)",
        "    /* buffer keeps S */",
        "    {",
        "      for (k in steps of 1)",
        "        /* buffer keeps B */",
        "        S[m,l] = A[m,k] * B[k,l];",
        "    }",
        "    {",
        "      for (n in steps of 1)",
        "        /* buffer keeps D */",
        "        C[m,n] = S[m,l] * D[l,n];",
        "    }",
    ]
    assert "for (m in steps of 3)" in optmap("show", path).out


def test_a_tree_is_shown_in_the_form_that_can_say_it(optmap, written):
    path = written(least_document(named("13 product")))
    shown = json.loads(optmap("show", path, "--json").out)["mapping"]
    assert [level["tile"] for level in shown["levels"]] == [{"m": 2, "n": 2, "k": 3}, {"m": 4, "n": 5, "k": 4}]
    other = json.loads(optmap("show", written(least_document(named("14 product"))), "--json").out)["mapping"]
    assert list(other) == ["tree"]


def test_what_is_not_for_trees_is_refused(optmap, written):
    path = written(least_document(named("01 row loop")))
    for words in (("evaluate", path, "--counting", "exact"), ("run", path)):
        ran = optmap(*words, code=2)
        assert "tree" in ran.err


def test_a_tree_is_evaluated_and_not_checked(optmap, written):
    assert "optmap evaluate" in optmap("check", written(least_document(named("one word too few"))), code=5).err


FUSED = """\
for (h in steps of 1)
  /* Fast keeps K of 0 <= l < 4 */
  /* Fast keeps V of 0 <= l < 5 */
  for (m in steps of 1)
    /* Fast keeps S */
    {
      for (k in steps of 1)
        /* Fast keeps Q */
        for (l in steps of 1)
          /* Fast keeps K */
          S[h,m,l] = Q[h,m,k] * K[h,l,k];
    }
    {
      for (n in steps of 1)
        /* Fast keeps O */
        for (l in steps of 1)
          /* Fast keeps V */
          O[h,m,n] = S[h,m,l] * V[h,l,n];
    }
"""
UNFUSED = """\
/* Memory keeps S */
{
  for (m in steps of 5)
    for (l in steps of 3)
      /* Fast keeps S */
      for (k in steps of 1)
        /* Fast keeps B */
        for (m in steps of 1)
          /* Fast keeps A */
          S[m,l] = A[m,k] * B[k,l];
}
{
  for (m in steps of 5)
    for (n in steps of 4)
      /* Fast keeps C */
      for (l in steps of 1)
        /* Fast keeps D */
        for (m in steps of 1)
          /* Fast keeps S */
          C[m,n] = S[m,l] * D[l,n];
}
"""


@pytest.mark.parametrize(
    ("question", "nest"),
    [
        (
            "S[h,m,l] = Q[h,m,k]*K[h,l,k]; O[h,m,n] = S[h,m,l]*V[h,l,n] --extents h=2,m=7,l=5,k=3,n=4 --memory 40w",
            FUSED,
        ),
        ("S[m,l] = A[m,k]*B[k,l]; C[m,n] = S[m,l]*D[l,n] --extents m=9,l=9,k=20,n=20 --memory 30w", UNFUSED),
    ],
    ids=["fused", "unfused"],
)
def test_an_answer_of_solve_is_shown_as_loops(optmap, tmp_path, question, nest):
    path = str(tmp_path / "answer.json")
    chain, *options = question.split(" --")
    solved = optmap("solve", chain, *(word for each in options for word in f"--{each}".split()), "-o", path)
    assert nest in solved.out
    assert optmap("show", path, "--nest").out == nest
