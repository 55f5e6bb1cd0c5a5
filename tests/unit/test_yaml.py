"""YAML of version 1.2: plain scalars against the core schema as read here by hand, and texts for both versions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cases import cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import optmap
from optmap.base.errors import InputError
from optmap.files import library
from optmap.files.network import network
from optmap.files.reading import load_yaml
from optmap.files.yaml12 import CoreLoader, dump_yaml
from optmap.interchange.yaml_files import TimeloopDumper, TimeloopLoader, read_files
from optmap.sweeps import read_spec

TEXTS = (
    "on",
    "off",
    "yes",
    "No",
    "y",
    "n",
    "1_000",
    "0x1_F",
    "1:30:00",
    "190:20:30.15",
    "0b101",
    "2024-01-31",
    "=",
    "0o8",
)
"""What YAML 1.1 takes for booleans, numbers, dates and more."""
NUMBERS = {"010": 10, "+08": 8, "0o17": 15, "0x1F": 31, "1e3": 1000.0, "-.5E1": -5.0, "7.": 7.0}


def by_the_schema(text: str) -> object:
    """The value of a plain scalar by section 10.3.2 of YAML 1.2.2, character by character."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text[0] in "tT"
    if text[:2] == "0o" and len(text) > 2 and all(c in "01234567" for c in text[2:]):
        return sum(8**place * int(c) for place, c in enumerate(reversed(text[2:])))
    if text[:2] == "0x" and len(text) > 2 and all(c in "0123456789abcdefABCDEF" for c in text[2:]):
        return sum(16**place * "0123456789abcdef".index(c.lower()) for place, c in enumerate(reversed(text[2:])))
    if text in (".nan", ".NaN", ".NAN"):
        return math.nan
    negative, rest = text[:1] == "-", text[1:] if text[:1] in "+-" else text
    sign = -1 if negative else 1
    if rest in (".inf", ".Inf", ".INF"):
        return sign * math.inf
    if rest and all(c in "0123456789" for c in rest):
        return sign * sum(10**place * "0123456789".index(c) for place, c in enumerate(reversed(rest)))
    mantissa, mark, power = rest, "", ""
    for letter in "eE":
        if letter in rest:
            mantissa, mark, power = rest.partition(letter)
            break
    digits = power[1:] if power[:1] in ("+", "-") else power
    if mark and not (digits and all(c in "0123456789" for c in digits)):
        return text
    whole, _, part = mantissa.partition(".")
    if not all(c in "0123456789" for c in whole + part) or not whole + part:
        return text
    return sign * float(f"{whole or 0}.{part or 0}e{power or 0}")


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


def plain(text: str) -> object:
    return yaml.load(f"- {text}\n", Loader=CoreLoader)[0]


PIECES = st.sampled_from(
    [
        *"+-._:eExXoObBaAfFnNyY~=<",
        "0",
        "00",
        "1",
        "17",
        "9",
        "0o",
        "0x",
        "0b",
        ".inf",
        ".nan",
        ".NaN",
        "null",
        "true",
        "on",
        "yes",
    ]
)


@settings(max_examples=cases(75, 500))
@given(st.lists(PIECES, max_size=6).map("".join) | st.sampled_from([*TEXTS, *NUMBERS]))
def test_plain_scalars_are_what_the_core_schema_says(text: str) -> None:
    assume(not re.match(r"[-:?]*(\s|$)|.*:$|[=<]?<<$", text) and not text.startswith(("- ", "---")))
    assert same(plain(text), by_the_schema(text))


@pytest.mark.parametrize("text", TEXTS)
def test_no_number_and_no_boolean_by_accident(text: str) -> None:
    assert plain(text) == text == by_the_schema(text)


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers_of_the_core_schema(text: str, value: object) -> None:
    assert same(plain(text), value)
    assert same(by_the_schema(text), value)
    assert plain(f"'{text}'") == text
    assert plain(f"!!str {text}") == text


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([*TEXTS, *NUMBERS, "~", "<<"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from([*TEXTS, *NUMBERS]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=cases(100, 300))
@given(st.dictionaries(st.sampled_from([*TEXTS, *NUMBERS, "a"]), VALUES, max_size=4))
def test_what_is_written_is_read_by_both_versions(document: dict[str, object]) -> None:
    text = dump_yaml(document)
    assert yaml.load(text, Loader=CoreLoader) == document
    assert yaml.safe_load(text) == document
    assert yaml.load(dump_yaml(document, TimeloopDumper), Loader=TimeloopLoader) == document


@pytest.mark.parametrize("word", [*TEXTS[:-1], *NUMBERS, "null", "True", ".inf"])
def test_texts_that_are_something_else_to_one_version_are_quoted(word: str) -> None:
    assert dump_yaml({"a": word, word: "b"}) == f"a: '{word}'\n'{word}': b\n"


def test_other_tags_make_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    for text in ("!!timestamp 2024-01-31", "!!binary aGk=", "!!set {a}", "!!bool on", "!!python/name:os.system"):
        path.write_text(f"a: 1\nb: {text}\n")
        with pytest.raises(InputError, match=r"x\.yaml:2:4: not valid YAML"):
            load_yaml(path)


def test_merged_mappings_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [<<]\n")
    assert load_yaml(path) == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": ["<<"]}


@pytest.mark.parametrize(
    ("text", "key"),
    [("a: 1\nb: 2\na: 3\n", "'a'"), ("10: a\nb: c\n0xA: d\n", "'0xA'"), ("on: 1\nb: 2\n'on': 3\n", "'on'")],
)
def test_keys_that_are_there_twice_are_refused_with_their_line(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"x\.yaml:3:1: key {key} occurs twice"):
        load_yaml(path)


def test_equal_keys_of_other_kinds_are_two(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("on: 1\nyes: 2\ntrue: 3\n010: 4\n'010': 5\n")
    assert load_yaml(path) == {"on": 1, "yes": 2, True: 3, 10: 4, "010": 5}


WORKLOAD = "name: NAME\nexpression: C[i,j] += A[i,k]*B[k,j]\nextents: {i: SIZE, j: 3, k: 4}\n"
NETWORK = "workloads:\n  NAME: {matmul: {i: SIZE, j: 3, k: 4}}\n"
MACHINE = (
    "name: NAME\nclock: 1GHz\ncores: SIZE\nlevels:\n  - {name: L1, capacity: 64KiB, bandwidth: 16B, shared: true}\n"
)
SWEEP = (
    "name: NAME\nworkloads: ['C[i,j] += A[i,k]*B[k,j]']\nextents: {i: SIZE, j: 3, k: 4}\n"
    "capacities: {from: 64w, to: 128w}\nmethods: [mopt]\n"
)
TIMELOOP = (
    "problem:\n  shape: {name: NAME, dimensions: [I, K], data_spaces: [\n"
    "    {name: A, projection: [[[I]], [[K]]]}, {name: Z, projection: [[[I]]], read_write: true}]}\n"
    "  instance: {I: SIZE, K: 4}\n"
)


def of_workload(path: Path) -> tuple[str, int]:
    found = library.workload(path)
    return found.name, found.extents["i"]


def of_network(path: Path) -> tuple[str, int]:
    (layer,) = network(path).layers
    return layer.name.partition("/")[2], layer.extents["i"]


def of_machine(path: Path) -> tuple[str, int]:
    found = library.machine(str(path))
    return found.name, found.units


def of_sweep(path: Path) -> tuple[str, int]:
    found = read_spec(path)
    return found.name, found.workloads[0].extents["i"]


def of_timeloop(path: Path) -> tuple[str, int]:
    problem = read_files([path])["problem"].fields("problem")
    return problem.fields("shape").text("name"), problem.fields("instance").integer("I")


KINDS: dict[str, tuple[str, Callable[[Path], tuple[str, int]]]] = {
    "workload": (WORKLOAD, of_workload),
    "network": (NETWORK, of_network),
    "machine": (MACHINE, of_machine),
    "sweep": (SWEEP, of_sweep),
    "timeloop": (TIMELOOP, of_timeloop),
}


@pytest.mark.parametrize("kind", KINDS)
def test_words_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    """A word of old is a name as any other, and no size; a number of the core schema is the size that it says."""
    template, read = KINDS[kind]
    path = tmp_path / f"{kind}.yaml"
    for word in TEXTS:
        path.write_text(template.replace("NAME", word).replace("SIZE", "2"))
        assert read(path) == (word, 2)
        path.write_text(template.replace("NAME", "x").replace("SIZE", word))
        with pytest.raises(InputError, match=re.escape(word)):
            read(path)
    for size, value in (("010", 10), ("0o10", 8), ("0x10", 16), ("+2", 2)):
        path.write_text(template.replace("NAME", "x").replace("SIZE", size))
        assert read(path) == ("x", value)


@pytest.mark.parametrize("name", ["on", "010", "1_000", "1:30:00", "y", "1e3", "~"])
def test_names_survive_the_files_that_are_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(WORKLOAD.replace("NAME", f"'{name}'").replace("SIZE", "2"))
    workload = library.workload(path)
    path.write_text(optmap.show(workload).yaml)
    assert library.workload(path) == workload
    assert yaml.safe_load(path.read_text())["name"] == name
    path.write_text(MACHINE.replace("NAME", f"'{name}'").replace("SIZE", "2"))
    machine = library.machine(str(path))
    path.write_text(optmap.show(machine).yaml)
    assert library.machine(str(path)) == machine
    assert yaml.safe_load(path.read_text())["name"] == name
