"""YAML of Timeloop: keys with hyphens or underscores, and tags such as `!Component`, read as plain dicts and lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from optmap.base.errors import InputError
from optmap.files.fields import Fields
from optmap.files.reading import load_yaml
from optmap.files.yaml12 import CoreDumper, CoreLoader, dump_yaml

TAG = "!"
"""Key under which a tagged mapping has the name of its tag."""
RANGE = re.compile(r"(.*?)\[(\d{1,9})\.\.(\d{1,9})\]")
"""`PE[0..15]`: sixteen of them."""
PARTS = (
    *("problem", "architecture", "arch", "ERT", "mapping"),
    *("architecture_constraints", "mapspace_constraints", "mapspace"),
)
"""Keys of files that are read; others, such as settings of Timeloop's mapper, are left alone."""


class TimeloopLoader(CoreLoader):
    """A safe loader that reads `!Component {...}` as a dict; a tag never makes anything else."""


class TimeloopDumper(CoreDumper):
    """A safe dumper that writes a `Tagged` dict with its tag."""


class Tagged(dict[str, object]):
    """A mapping to be written with a tag, which it has under `TAG`."""


def _tagged(loader: TimeloopLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return {TAG: suffix, **loader.construct_mapping(node, deep=True)}
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return {TAG: suffix} if getattr(node, "value", "") == "" else str(getattr(node, "value", ""))


def _write_tagged(dumper: TimeloopDumper, data: Tagged) -> yaml.Node:
    inside = {key: value for key, value in data.items() if key != TAG}
    return dumper.represent_mapping(f"!{data[TAG]}", inside, flow_style=False)


TimeloopLoader.add_multi_constructor("!", _tagged)
TimeloopDumper.add_representer(Tagged, _write_tagged)


def read_files(paths: Sequence[str | Path]) -> dict[str, Fields]:
    """The parts of several files together, by their key: `problem`, `architecture`, `mapping`, `ERT` and so on.

    Keys are written with underscores, whatever the file has.

    Raises:
        InputError: if a file cannot be read, holds no mapping, has templates, or two files have a part.
    """
    found: dict[str, Fields] = {}
    for path in map(Path, paths):
        try:
            values = load_yaml(path, TimeloopLoader)
        except InputError as error:
            if path.is_file() and b"{{" in path.read_bytes():
                raise InputError(
                    f"{path}: it has templates ({{{{ ... }}}}); give parsed-processed-input.yaml instead, which "
                    "Timeloop's front end writes"
                ) from error
            raise
        top = Fields.of(_underscored(values), str(path))
        for key in top.values:
            if key in found and key in PARTS:
                raise InputError(f"{top.at(key)}: {found[key].where} has a part of that name, too; give one of the two")
            found[key] = top
    return found


def dump(document: object) -> str:
    """A document as YAML text, keys in their order."""
    return dump_yaml(document, TimeloopDumper)


def _underscored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.replace("-", "_") if isinstance(key, str) else key: _underscored(own) for key, own in value.items()}
    return [_underscored(own) for own in value] if isinstance(value, list) else value


def plain_name(text: str) -> tuple[str, int]:
    """A name without its range, and how many it stands for: `PE[0..15]` is sixteen of `PE`."""
    parts = RANGE.fullmatch(text)
    if parts is None:
        return text, 1
    return parts[1], max(1, int(parts[3]) - int(parts[2]) + 1)


def words_of(value: object, where: str) -> tuple[str, ...]:
    """A list of names: a YAML list, or a text with commas or spaces; of single letters also without them.

    Raises:
        InputError: for anything else.
    """
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        return tuple(str(item) for item in value)
    if isinstance(value, str):
        return tuple(part for part in re.split(r"[\s,]+", value.strip()) if part)
    raise InputError(f"{where} is {value!r}; a list of names is needed")


def dims_of(value: object, dims: tuple[str, ...], where: str) -> tuple[str, ...]:
    """Dims in the order of a `permutation`: a list, or a text, as in `CKRP` where dims are single letters.

    Raises:
        InputError: for a name that is no dim, or twice the same.
    """
    found = words_of(value, where)
    if len(found) == 1 and found[0] not in dims:
        found = tuple(found[0])
    unknown = next((name for name in found if name not in dims), None)
    if unknown is not None:
        raise InputError(f"{where}: {unknown!r} is no dim of the problem; the dims are {', '.join(dims)}")
    if len(set(found)) != len(found):
        raise InputError(f"{where}: a dim is named twice in {' '.join(found)}")
    return found


def factors_of(value: object, dims: tuple[str, ...], where: str) -> dict[str, tuple[str, int]]:
    """Factors per dim, each with its relation: `C=3 K=16`, `C3 K16`, `K<=4`, a list of such texts, or a mapping.

    Raises:
        InputError: for what is no factor, an unknown dim, or a residual (`P=4,3`).
    """
    if isinstance(value, dict):
        value = [f"{dim}={factor}" for dim, factor in value.items()]
    text = " ".join(words_of(value, where))
    found: dict[str, tuple[str, int]] = {}
    for item in re.sub(r"\s*(<=|>=|=)\s*", r"\1", text).split():
        parts = re.fullmatch(r"([A-Za-z_]\w*?)(<=|>=|=)?(\d{1,18})", item)
        if parts is None:
            raise InputError(
                f"{where}: {item!r} is no factor; write K=16 (factors that do not divide are not supported)"
            )
        dim, relation, factor = parts[1], parts[2] or "=", int(parts[3])
        if dim not in dims:
            raise InputError(f"{where}: {dim!r} is no dim of the problem; the dims are {', '.join(dims)}")
        if dim in found:
            raise InputError(f"{where}: {dim} has two factors; keep one")
        found[dim] = (relation, factor)
    return found
