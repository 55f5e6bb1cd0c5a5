"""Answers without what is other the next time or elsewhere, and short enough to be read where they differ.

Masked are times that were measured, versions, and the digests that cover versions. Of machines, certificates, long
lists and long texts a digest stands beside what can be read of them; `python tests/goldens show` prints all of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from goldens.asking import Said
from schemas import hold

MASKED = "masked"
"""What stands in the place of something that is other the next time."""
TIMES = ("seconds", "seconds_to_best", "seconds_to_near", "time_s", "estimated_seconds", "rate", "points_per_second")
"""Keys of measured times."""
COMPUTED = ("prediction", "predicted", "floor", "time")
"""Below these keys seconds are computed."""
DIGITS = 9
"""Significant digits of numbers in digests: others may differ between machines."""
LONGEST_VALUE = 1600
"""Characters of a list or an object; of a longer list the first entry and a digest are kept."""
LONGEST_TEXT = 6000
"""Characters of a text; of a longer one the first lines and a digest are kept."""
LINES = 12
NUMBER = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")
"""Numbers of a text that are no whole ones."""
MEASURED = (
    (re.compile(r"\bin \d[\d.]* s\b"), f"in {MASKED}"),
    (re.compile(r"\b\d[\d.]* per second"), f"{MASKED} per second"),
    (re.compile(r"^(time +)\d.* s$", re.MULTILINE), rf"\1{MASKED}"),
    (re.compile(r"^( *estimate +).*", re.MULTILINE), rf"\1{MASKED}"),
)
"""Measured times in texts, and what stands in their place."""


def normalised(said: Sequence[Said], *, whole: bool = False) -> list[dict[str, Any]]:
    """What the commands of a question said, as JSON values.

    Args:
        said: by one command after another.
        whole: long ones, too.
    """
    return [_one(each, whole=whole) for each in said]


def _one(said: Said, *, whole: bool) -> dict[str, Any]:
    document = _document(said.out)
    out: Any = _text(said.out, whole=whole) if document is None else _masked(document, ())
    if document is not None and not whole:
        out = {key: _short(key, value) for key, value in out.items()}
    err = {"err": _text(said.err, whole=whole)} if said.err else {}
    return {"exit": said.code, "out": out, **err}


def _document(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    hold(value)
    return value


def _text(text: str, *, whole: bool) -> Any:
    for times, instead in MEASURED:
        text = times.sub(instead, text)
    lines = text.rstrip("\n").split("\n")
    if whole or len(text) <= LONGEST_TEXT:
        return lines
    return {"lines": len(lines), "first": lines[:LINES], "digest": _digest(lines)}


def _masked(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_masked(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    hidden = {"versions", "version", *(["digest"] if "versions" in value else [])}
    if not any(key in COMPUTED for key in path):
        hidden |= {key for key in TIMES if isinstance(value.get(key), int | float)}
    made = {key: MASKED if key in hidden else _masked(item, (*path, key)) for key, item in value.items()}
    if isinstance(curve := value.get("curve"), list):
        made["curve"] = [_masked_point(point, path) for point in curve]
    return made


def _masked_point(point: Any, path: tuple[str, ...]) -> Any:
    """A point of a search: evaluations, seconds, value."""
    return [point[0], MASKED, point[2]] if isinstance(point, list) and len(point) == 3 else _masked(point, path)


def _short(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        if key in ("machine", "certificate") and len(_line(value)) > 200:
            plain = {name: item for name, item in value.items() if isinstance(item, str | int | float)}
            return {**plain, "digest": _digest(value)}
        return {name: _short(name, item) for name, item in value.items()}
    if isinstance(value, list):
        shorter = [_short(key, item) for item in value]
        if len(_line(shorter)) > LONGEST_VALUE and key not in KEPT:
            return {"entries": len(value), "first": shorter[0], "digest": _digest(value)}
        return shorter
    return value


KEPT = ("boundaries", "levels", "certificates", "bounds", "layers", "rows", "methods", "mismatches")
"""Long lists that have the numbers that one looks for first."""


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _digest(value: Any) -> str:
    text = json.dumps(_rounded(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, str):
        return NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", value)
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value
