"""`optmap closed-form` through the command line and in Python."""

from __future__ import annotations

import json

import pytest

import optmap as package

MATMUL = ("closed-form", "C[i,j] += A[i,k]*B[k,j]", "--extents", "i=64,j=64,k=64")
POINTWISE = ("closed-form", "O[n,k,h,w] += I[n,c,h,w]*F[k,c]", "--extents", "n=1,k=64,h=7,w=7,c=64")


def test_the_document_has_regimes_tiles_and_what_is_proved(optmap) -> None:
    document = optmap(*MATMUL, "--json").document()
    assert document["schema"] == "optmap.regimes/2"
    assert [p["name"] for p in document["parameters"]] == ["M", "i", "j", "k"]
    assert [(r["name"], r["loads"]) for r in document["regimes"]] == [
        ("tiles of M^(3/2)", "2*i*j*k / M^(1/2)"),
        ("B once", "j*k"),
        ("A once", "i*k"),
        ("C once", "i*j"),
        ("each tensor fits", None),
    ]
    first = document["regimes"][0]
    assert first["exponents"] == {"C": "1/2", "A": "1/2", "B": "1/2"}
    assert sorted(first["where"]) == ["M <= i^2", "M <= j^2", "M <= k^2"]
    assert first["shapes"][0]["shape"] == dict.fromkeys("ijk", "M^(1/2)")
    assert document["at"] is document["vary"] is None
    assert any("every schedule" in line for line in document["proved"])
    assert any("each tensor alone fits" in line for line in document["asymptotic"])


def test_where_a_layer_leaves_the_regime_in_which_its_filter_is_moved_once(optmap) -> None:
    document = optmap(*POINTWISE, "--memory", "8192w", "--vary", "n", "--json").document()
    stretches = document["vary"]["stretches"]
    assert stretches[0]["name"] == "each tensor fits"
    assert stretches[0]["last"] == 8192 // (64 * 49)
    assert {s["name"] for s in stretches[1:]} <= {"I once", "O once"}
    # 3,000 words hold no filter of 4,096: it is moved once as long as a batch has no more than sqrt(M) pixels.
    small = (*POINTWISE[:3], "n=1,k=64,h=4,w=4,c=64", "--memory", "3000w", "--vary", "n")
    assert "Along n, with M=3000, k=64, h=4, w=4, c=64" in optmap(*small).out
    vary = optmap(*small, "--json").document()["vary"]
    assert vary["fixed"] == {"M": 3000, "k": 64, "h": 4, "w": 4, "c": 64}
    leaving = next(s for s in vary["stretches"] if s["name"] != "F once")
    assert (leaving["name"], leaving["from"], leaving["first"]) == ("tiles of M^(3/2)", "M^(1/2) / (h*w)", 4)
    assert leaving["from_value"] == pytest.approx(3000**0.5 / 16)


def test_at_a_capacity(optmap) -> None:
    at = optmap(*MATMUL, "--memory", "1024w", "--json").document()["at"]
    assert at["regime"] == 1
    assert at["shape"] == pytest.approx(dict.fromkeys("ijk", 32.0))
    i, j, k = (at["tile"][dim] for dim in "ijk")
    assert i * j + i * k + k * j == at["tile_words"] <= 1024
    assert at["loads_words"] <= at["tile_loads_words"] <= 2 * at["loads_words"]
    bound = optmap("bound", *MATMUL[1:], "--memory", "1024w", "--json").document()["best"]["loads_words"]
    assert 2 * 64**3 / 32 <= at["loads_words"] <= bound
    assert "17,408 words at least" in optmap(*MATMUL, "--memory", "1024w").out


def test_outputs_that_are_created_are_subtracted(optmap) -> None:
    document = optmap(*MATMUL, "--semantics", "assign", "--json").document()
    assert document["regimes"][0]["loads"] == "2*i*j*k / M^(1/2) - i*j"
    assert "max(0, " in document["python"]
    assert r"- N_{i}\,N_{j}" in document["latex"]


def test_digits_are_defined_and_their_rounding_is_said(optmap) -> None:
    strided = ("closed-form", "O[x] += I[2*x+r]*F[r]", "--extents", "x=9,r=7")
    document = optmap(*strided, "--json").document()
    assert any("rounded up" in line for line in document["asymptotic"])
    assert r"N_{\mathrm{r\_high}} &= \lceil N_{r} / 2 \rceil" in document["latex"]
    assert r"N_{\mathrm{r\_low}} &= \min(2, N_{r})" in document["latex"]
    plain = optmap(*MATMUL, "--json").document()
    assert not any("rounded up" in line for line in plain["asymptotic"])


def test_texts_and_pictures(optmap, tmp_path) -> None:
    document = optmap(*MATMUL, "--json").document()
    assert optmap(*MATMUL, "--format", "latex").out.rstrip("\n") == document["latex"].rstrip("\n")
    assert optmap(*MATMUL, "--format", "python").out.rstrip("\n") == document["python"].rstrip("\n")
    optmap(*MATMUL, "--plot", tmp_path / "drawn")
    optmap(*MATMUL, "--memory", "1KiB", "--over", "i,k", "--plot", tmp_path / "other")
    for folder in ("drawn", "other"):
        assert (tmp_path / folder / "regimes.png").stat().st_size > 5000


@pytest.mark.parametrize("form", ["latex", "python"])
def test_no_line_of_code_is_broken_where_the_page_ends(optmap, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    document = json.loads(optmap(*MATMUL, "--json").out)
    monkeypatch.setenv("OPTMAP_COLUMNS", "40")
    assert max(map(len, document[form].splitlines())) > 80
    assert optmap(*MATMUL, "--format", form).out.rstrip("\n") == document[form].rstrip("\n")
    assert max(map(len, optmap(*MATMUL).out.splitlines())) < 80


def test_python_says_the_same(optmap) -> None:
    answer = package.regimes("tccg/ab-ac-cb", memory="32KiB", vary="M")
    arguments = ("closed-form", "tccg/ab-ac-cb", "--memory", "32KiB", "--vary", "M")
    assert answer.to_dict() == optmap(*arguments, "--json").document()
    assert str(answer) == optmap(*arguments).out.rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((*MATMUL, "--vary", "z"), "z"),
        ((*MATMUL, "--vary", "i"), "add memory"),
        ((*MATMUL, "--over", "i,j"), "add --plot"),
        ((*MATMUL, "--over", "i", "--plot", "x"), "two different parameters"),
        ((*MATMUL, "--over", "i,j", "--plot", "x"), "add memory"),
        ((*MATMUL, "--memory", "0w"), "0"),
        ((*MATMUL, "--memory", "12"), "no unit"),
        (("closed-form", "O[x] += I[x+r+t]*F[r,t]", "--extents", "x=3,r=2,t=2"), "convolution"),
        (("closed-form", "O[i] += A[i+j]*A[i+j]", "--extents", "i=3,j=2"), "convolution"),
        (("closed-form", "O[x] += I[2*x+r]*F[r]", "--extents", "x=9,r=3", "--vary", "r"), "r_high and r_low"),
        (("closed-form", "C[i,j] += A[i,k]*B[k,j]"), "--extents"),
        (("closed-form", "tccg/nothing"), "nothing"),
    ],
)
def test_what_is_refused(optmap, arguments: tuple[str, ...], word: str) -> None:
    assert word in optmap(*arguments, code=2).err


def test_implicit_padding_is_refused() -> None:
    layer = package.workload("resnet50/conv2").with_padding("implicit")
    with pytest.raises(package.InputError, match="padding stored"):
        package.regimes(layer)
