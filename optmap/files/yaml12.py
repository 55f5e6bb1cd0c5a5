"""YAML as version 1.2 means it: `on`, `1:30:00` and `1_000` are texts, `010` is ten, and nothing else is made.

PyYAML reads YAML 1.1, in which those are a boolean and numbers. The loader here resolves plain scalars by the core
schema of YAML 1.2.2 (10.3.2), and knows no other tags, `<<` aside, which merges mappings as most readers have it. What
the dumper writes is the same to readers of either version: it quotes texts that are something else to one of them.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import yaml

PREFIX = "tag:yaml.org,2002:"
NULL, BOOL, INT, FLOAT, STR, MERGE = (PREFIX + kind for kind in ("null", "bool", "int", "float", "str", "merge"))
CORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    (NULL, re.compile(r"null|Null|NULL|~|")),
    (BOOL, re.compile(r"true|True|TRUE|false|False|FALSE")),
    (INT, re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        FLOAT,
        re.compile(
            r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
    ),
)
"""Tags of plain scalars, the first that matches from end to end; anything else is text."""
FLAGS_OF_OLD = ("y", "Y", "n", "N")
"""Booleans of YAML 1.1 that PyYAML does not take for such; other readers do."""
BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1 that are none in 1.2."""
WIDTH = 110
"""Characters of a line that is written."""


def core_tag(text: str) -> str:
    """What a plain scalar is by the core schema, as a tag."""
    return next((tag for tag, pattern in CORE if pattern.fullmatch(text)), STR)


def core_value(tag: str, text: str) -> object:
    """The value of a scalar with a tag of the core schema.

    Raises:
        ValueError: for a text that is none, or has too many digits.
    """
    pattern = dict(CORE).get(tag)
    if pattern is not None and not pattern.fullmatch(text):
        raise ValueError(f"{text!r} is no {tag.removeprefix(PREFIX)}")
    if tag == NULL:
        return None
    if tag == BOOL:
        return text.lower() == "true"
    if tag == INT:
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if tag == FLOAT:
        return float(text.replace(".", "", 1) if text.lower().endswith(("inf", "nan")) else text)
    return text


class CoreLoader(yaml.SafeLoader):
    """A safe loader of mappings, lists, texts, numbers, booleans and nulls by the core schema."""

    # PyYAML looks both tables up by class: resolvers by the first character of a plain scalar, None for any.
    yaml_implicit_resolvers: dict[Any, Any] = {  # noqa: RUF012 - PyYAML's own, of the class all the same
        "<": [(MERGE, re.compile(r"<<\Z"))],
        None: [(tag, re.compile(f"(?:{pattern.pattern})\\Z")) for tag, pattern in CORE],
    }
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        PREFIX + "map": yaml.SafeLoader.yaml_constructors[PREFIX + "map"],
        PREFIX + "seq": yaml.SafeLoader.yaml_constructors[PREFIX + "seq"],
        None: yaml.SafeLoader.yaml_constructors[None],
    }


def _scalar(loader: CoreLoader, node: yaml.ScalarNode) -> object:
    try:
        return core_value(node.tag, str(loader.construct_scalar(node)))
    except ValueError as error:
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


for _tag in (NULL, BOOL, INT, FLOAT, STR, MERGE):
    CoreLoader.add_constructor(_tag, _scalar)


class CoreDumper(yaml.SafeDumper):
    """A safe dumper whose texts are texts to readers of YAML 1.1 and of 1.2."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None
    if core_tag(text) != STR or text in FLAGS_OF_OLD:
        style = "'"  # PyYAML itself quotes what is no text in YAML 1.1
    if BREAKS.search(text):
        style = '"'
    return dumper.represent_scalar(STR, text, style=style)


CoreDumper.add_representer(str, _text)


def dump_yaml(document: object, dumper: type[yaml.SafeDumper] = CoreDumper) -> str:
    """A document of plain values as YAML, keys in their order."""
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=WIDTH))
