"""Constraints as a person writes them: texts, mappings of Python and YAML, and entries of a document.

Texts are read character by character, never evaluated; an error points at the character it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from optmap.base.errors import InputError, ParseError
from optmap.base.values import quoted
from optmap.machines.relations import GAP, Relation
from optmap.mappings.constraints import (
    AXES,
    BYPASS,
    KEEPS,
    NO_CONSTRAINTS,
    ORDER,
    Constraint,
    Constraints,
    KeepConstraint,
    OrderConstraint,
    SplitConstraint,
    TileConstraint,
)
from optmap.workloads.workload import LARGEST_EXTENT

ConstraintsInput = str | Constraint | Constraints | Iterable[str | Constraint] | Mapping[str, object]
DIGITS = frozenset("0123456789")
EXAMPLES = "L1.k=16, L2.c<=64, L1.h>=2, L1.k%8=0 or L1.order=...,k"
KINDS = (TileConstraint, SplitConstraint, OrderConstraint, KeepConstraint)
SIZE = "a whole number from 1 to 2^63-1"


def parse_constraint(text: str) -> Constraint:
    """Read one constraint.

    Raises:
        ParseError: at the first character that cannot be read.
    """
    return _ConstraintReader("".join(" " if c.isspace() else c for c in text)).read()


def constraints_of(given: ConstraintsInput | None) -> Constraints:
    """Constraints from texts, values, or a mapping such as `{"L1.k": 16, "L2.c": "<=64"}`.

    Args:
        given: one or several; of a mapping, a value without a relation is what the key equals, and a
            list is a loop order, or tensors.

    Raises:
        ParseError: for a text that cannot be read.
        InputError: for something else than a text, or one constraint twice.
    """
    if given is None:
        return NO_CONSTRAINTS
    if isinstance(given, Constraints):
        return given
    if isinstance(given, (str, *KINDS)):
        several: list[object] = [given]
    elif isinstance(given, Mapping):
        several = [_entry(key, value) for key, value in given.items()]
    elif isinstance(given, Iterable):
        several = list(given)
    else:
        raise InputError(f"constraints is {quoted(given)}; give texts such as {EXAMPLES}")
    items: list[Constraint] = []
    for each in several:
        if not isinstance(each, (str, *KINDS)):
            raise InputError(f"constraint {quoted(each)} is no text; write for example {EXAMPLES}")
        item = parse_constraint(each) if isinstance(each, str) else each
        if item not in items:
            items.append(item)
    return Constraints(items=tuple(items))


def constraint_from(document: Mapping[str, object], where: str) -> Constraint:
    """A constraint from its JSON form.

    Raises:
        InputError: if it is none.
    """
    entry = dict(document)
    listed = next((key for key in (ORDER, KEEPS, BYPASS) if set(entry) == {"level", key}), "")
    parts = entry.get(listed)
    if isinstance(parts, list):
        text = f"{entry['level']}.{listed}={','.join(map(str, parts))}"
    elif set(entry) - {"axis"} == {"level", "dim", "relation", "value"}:
        zero = "=0" if entry["relation"] == Relation.MULTIPLE else ""
        axis = f"{entry['axis']}." if "axis" in entry else ""
        text = f"{entry['level']}.{axis}{entry['dim']}{entry['relation']}{entry['value']}{zero}"
    else:
        raise InputError(f"{where}: level, dim, relation and value, or level and order, keeps or bypass are needed")
    try:
        item = parse_constraint(text)
    except ParseError as error:
        raise InputError(f"{where}: {error}") from error
    if item.document() != entry:
        raise InputError(f"{where}: {quoted(entry)} is no constraint")
    return item


def _entry(key: object, value: object) -> str:
    if not isinstance(key, str):
        raise InputError(f"constraints: {quoted(key)} is no text; write for example {{'L1.k': 16}}")
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        value = ",".join(value)
    text = str(value).strip()
    return key + text if text.startswith(("<", ">", "=", "%")) else f"{key}={text}"


class _ConstraintReader:
    """One pass over the text of a constraint."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = next((i for i, c in enumerate(text) if c in "=<>%"), len(text.rstrip()))

    def read(self) -> Constraint:
        level, axis, dim = self.subject()
        sign = self.sign()
        self.skip()
        if sign is Relation.EQUAL and dim in (ORDER, KEEPS, BYPASS) and not axis and not self.ahead(DIGITS):
            if dim == ORDER:
                return OrderConstraint(level=level, pattern=self.listed("dim", "(any loops that are not named)"))
            return self.keepers(level, kept=dim == KEEPS)
        value = self.number(f"the size of {dim}, {SIZE}", least=1)
        if sign is Relation.MULTIPLE:
            self.skip()
            if not self.ahead("="):
                self.fail(f"expected '=0' after {dim}%{value}")
            self.at += 1
            self.skip()
            start = self.at
            if self.number("0, as in L1.k%8=0", least=0):
                self.fail("only multiples can be asked for: write =0", start)
        self.skip()
        if self.at < len(self.text):
            self.fail("expected the end; write one constraint per text")
        if axis:
            return SplitConstraint(level=level, axis=axis, dim=dim, relation=sign, value=value)
        return TileConstraint(level=level, dim=dim, relation=sign, value=value)

    def subject(self) -> tuple[str, str, str]:
        """Level, axis (empty for a tile) and dim before the sign."""
        head, dot, tail = self.text[: self.at].rpartition(".")
        if not dot:
            self.fail(f"expected a level and a dim with '.' between them, as in {EXAMPLES}", 0)
        if not head.strip():
            self.fail("expected the name of a level before '.'", 0)
        start = len(head) + 1 + len(tail) - len(tail.lstrip())
        if not tail.strip().isidentifier():
            self.fail("expected a dim, order, keeps or bypass after '.'", min(start, self.at))
        level, dot, axis = head.rpartition(".")
        if dot and level.strip() and axis.strip() in AXES:
            return level.strip(), axis.strip(), tail.strip()
        return head.strip(), "", tail.strip()

    def sign(self) -> Relation:
        """The relation, read."""
        for relation in (Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL, Relation.MULTIPLE):
            if self.text.startswith(relation, self.at):
                self.at += len(relation)
                if self.ahead("="):
                    self.fail("write = once")
                return relation
        self.fail("expected = or <= or >= or %" if self.at == len(self.text.rstrip()) else "write <= or >=")

    def keepers(self, level: str, *, kept: bool) -> KeepConstraint:
        """Tensors to the end of the text; a gap stands at their end, if anywhere."""
        start = self.at
        names = self.listed("tensor", "(any others)", mark="#")
        open_ = GAP in names
        if open_ and not (kept and names[-1] == GAP):
            self.fail("write ... at the end of keeps alone: what is not said to bypass may be held", start)
        return KeepConstraint(level=level, tensors=names[: len(names) - open_], kept=kept, alone=kept and not open_)

    def listed(self, what: str, gap: str, mark: str = "") -> tuple[str, ...]:
        """Names and gaps to the end of the text; a name may end in a mark and a number."""
        pattern: list[str] = []
        while True:
            self.skip()
            start, stop = self.at, self.at
            while stop < len(self.text) and self.text[stop] not in ", ":
                stop += 1
            name = self.text[start:stop]
            stem, marked, digits = name.partition(mark) if mark else (name, "", "")
            if name != GAP and not (stem.isidentifier() and (not marked or digits.isdecimal())):
                self.fail(f"expected a {what} or ... {gap}")
            if name in pattern and name != GAP:
                self.fail(f"{name} is named twice")
            if pattern[-1:] == [GAP] and name == GAP:
                self.fail("one ... after another says nothing; write it once")
            pattern.append(name)
            self.at = stop
            self.skip()
            if self.at == len(self.text):
                break
            if not self.ahead(","):
                self.fail("expected ',' or the end")
            self.at += 1
        if pattern == [GAP]:
            self.fail(f"this names no {what}", start)
        return tuple(pattern)

    def number(self, what: str, *, least: int) -> int:
        """A whole number, read."""
        start = self.at
        while self.ahead(DIGITS):
            self.at += 1
        digits = self.text[start : self.at].lstrip("0")
        if start == self.at:
            self.fail(f"expected {what}")
        value = int(digits or "0") if len(digits) <= 19 else LARGEST_EXTENT + 1
        if not least <= value <= LARGEST_EXTENT:
            self.fail(f"expected {what}", start)
        return value

    def ahead(self, characters: Iterable[str]) -> bool:
        return self.at < len(self.text) and self.text[self.at] in characters

    def skip(self) -> None:
        while self.ahead(" "):
            self.at += 1

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        raise ParseError(message, self.text, self.at if position is None else position)
