"""The statements of a chain: who writes and reads what, and which tensors share their elements."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

from ..core.padding import Done
from ..core.statement import LARGEST
from ..core.tools import count, need
from ..core.units import element_bits
from .chain_masks import rules_of
from .chain_text import Said, read_chain_statement

Access = dict[str, Any]
"""An access as certificates write it."""


class StatedChain:
    """A workload of one statement or more, as the file of a bound describes it."""

    def __init__(self, doc: Any) -> None:
        self._doc = doc
        self.said: tuple[Said, ...] = tuple(read_chain_statement(text) for text in doc["statements"])
        self.names = [each.name for each in self.said]
        need(len(set(self.names)) == len(self.names), "a tensor is written by two statements")
        self.assign = doc["semantics"] == "assign"
        self.accesses: list[list[Access]] = [[_written(*access) for access in each.accesses] for each in self.said]
        every = [access for accesses in self.accesses for access in accesses]
        self.extents: dict[str, int] = doc["extents"]
        self.dims = [{d for access in accesses for d in dims_of(access)} for accesses in self.accesses]
        used = set[str]().union(*self.dims)
        need(used == set(self.extents) and bool(used), "extents do not cover the dims")
        need(all(n <= LARGEST for n in self.extents.values()), "an extent is beyond 2^63-1")
        self.bytes: dict[str, float] = doc["bytes"]
        need(set(self.bytes) == {access["tensor"] for access in every}, "bytes do not cover the tensors")
        self.bits = element_bits(self.bytes)
        self.word_bits = gcd(*self.bits.values())
        self.weights = {t: n // self.word_bits for t, n in self.bits.items()}
        ranks = {(access["tensor"], len(access["axes"])) for access in every}
        need(len(ranks) == len(self.bits), "a tensor has two numbers of subscripts")
        self.reads = [access["tensor"] for accesses in self.accesses for access in accesses[1:]]
        self._check_order()
        self._check_conditions()
        outputs = doc["outputs"]
        named = {t for t in self.names if t in self.reads}.intersection(outputs)
        need(len(named) == len(outputs), "an output is named that is none, is one by itself, or is named twice")
        self.outputs = {t for t in self.names if t not in self.reads or t in outputs}
        self._check_signs()
        self.held = self._held()

    def _check_order(self) -> None:
        """A tensor is read after the statement that writes it."""
        for number, accesses in enumerate(self.accesses):
            for access in accesses[1:]:
                tensor = access["tensor"]
                need(tensor not in self.names[number:], f"{tensor} is read before it is written")
                if tensor in self.names:
                    made = self.accesses[self.names.index(tensor)][0]
                    there = all(map(self._has_been_written, made["axes"], access["axes"]))
                    need(there, f"{tensor} is read where no statement writes it")

    def _has_been_written(self, made: Any, read: Any) -> bool:
        """Whether a subscript reads elements that another one writes, were it not for conditions."""
        if _sorted(made) == _sorted(read):
            return True
        (first, last, whole), (low, high, _) = (self._reach(axis) for axis in (made, read))
        return bool(whole and first <= low and high <= last)

    def _reach(self, axis: Any) -> tuple[int, int, bool]:
        """First and last value of a subscript, padding left out, and whether it takes all in between."""
        span = sum(c * (self.extents[d] - 1) for d, c in axis["terms"])
        first, last = axis.get("real", (axis["offset"], axis["offset"] + span))
        whole = count(dict(axis["terms"]), self.extents) == span + 1
        return max(first, axis["offset"]), min(last, axis["offset"] + span), whole

    def _check_conditions(self) -> None:
        """A condition is of dims that its statement has."""
        for said, accesses in zip(self.said, self.accesses, strict=True):
            dims = {d for access in accesses for d in dims_of(access)}
            fine = all(rule.dims <= dims for rule in rules_of(said))
            need(fine, f"a condition is of a dim that its statement lacks: {said.text}")

    def _check_signs(self) -> None:
        """Sums add to what outputs are before if these accumulate; everything else starts empty."""
        for each in self.said:
            sign = "=" if self.starts_empty(each.name) else "+="
            need(each.sign in (sign, "max=", "min="), f"the sign of {each.name} must be {sign}")

    def starts_empty(self, tensor: str) -> bool:
        """Whether the words of a tensor that is written are created, and not loaded, at their first touch."""
        return self.assign or tensor not in self.outputs

    def loaded(self) -> list[str]:
        """Tensors that are in slow memory at the beginning."""
        made = {t for t in self.names if self.starts_empty(t)}
        return [t for t in self.bits if t not in made]

    def keeps_places(self, number: int) -> bool:
        """Whether a statement makes elements of one tensor into as many of the same size at the same subscripts."""
        output, *inputs = self.accesses[number]
        return (
            len(inputs) == 1
            and self.said[number].sign in ("=", "+=")
            and inputs[0]["axes"] == output["axes"]
            and self.bits[inputs[0]["tensor"]] == self.bits[output["tensor"]]
        )

    def _held(self) -> dict[str, str]:
        """The tensor whose elements hold each tensor's: the last one that is made in place of it."""
        held = {t: t for t in self.bits}
        for number in reversed(range(len(self.names))):
            name, source = self.names[number], self.accesses[number][1]["tensor"]
            inner = source in self.names and source not in self.outputs
            if self.keeps_places(number) and self.starts_empty(name) and inner and self.reads.count(source) == 1:
                held[source] = held[name]
        return held

    def without_conditions(self) -> StatedChain:
        """The same statements at all of their points."""
        return StatedChain({**self._doc, "statements": [each.text.partition(" if ")[0] for each in self.said]})

    def comes_from(self, tensor: str) -> str:
        """The statement that makes the elements that a tensor holds: before functions that are done in place."""
        while tensor in self.names:
            number = self.names.index(tensor)
            source = self.accesses[number][1]["tensor"]
            in_place = self.held[source] == self.held[tensor] and source != tensor
            if not in_place or self.said[number].conditions:
                return tensor
            tensor = source
        return tensor

    def elements(self, access: Access) -> int:
        """Elements that an access touches, at most."""
        return prod(count(dict(axis["terms"]), self.extents) for axis in access["axes"])

    def most(self, access: Access) -> int:
        """Words that an access touches, at most."""
        return self.weights[access["tensor"]] * self.elements(access)

    def claimed(self, names: list[str]) -> set[str]:
        """Tensors whose loads some statements count; of some made in place of each other the last."""
        read = {access["tensor"] for each in names for access in self.accesses[self.names.index(each)][1:]}
        return {self.held[t] for t in read} | {t for t in names if not self.starts_empty(t)}

    def appearing(self, names: list[str]) -> set[str]:
        """Tensors whose words some statements may find or create without a load: of others, or started empty."""
        return {t for t in self.names if t not in names or self.starts_empty(t)}

    def padded(self, number: int) -> bool:
        """Whether some subscript of a statement has implicit padding."""
        return any("real" in axis for access in self.accesses[number] for axis in access["axes"])

    def done(self, number: int) -> Done:
        """The points of a statement that are done if it has no conditions."""
        return Done(self.accesses[number], self.extents_of(number))

    def extents_of(self, number: int) -> dict[str, int]:
        """The extents of the dims of a statement."""
        return {d: n for d, n in self.extents.items() if d in self.dims[number]}

    def is_whole(self, tensor: str) -> bool:
        """Whether every element of a tensor is there: conditions and padding may leave some unwritten."""
        if tensor not in self.names:
            return True
        number = self.names.index(tensor)
        output = self.accesses[number][0]
        touched = self.done(number).together(output["axes"])
        return not self.said[number].conditions and touched == self.elements(output)

    def doc_of(self, number: int) -> dict[str, Any]:
        """What a certificate of one statement alone has to say of it, if it accumulates."""
        said = self.said[number]
        tensors = {access["tensor"] for access in self.accesses[number]}
        return {
            "expression": said.text.replace(" = ", " += ", 1),
            "extents": self.extents_of(number),
            "bytes": {t: n for t, n in self.bytes.items() if t in tensors},
            "semantics": "accumulate",
        }


def dims_of(access: Access) -> list[str]:
    """The dims of an access, in the order of its subscripts."""
    return [d for axis in access["axes"] for d, _ in axis["terms"]]


def _sorted(axis: Any) -> Any:
    """A subscript with its terms in order: the same for all that read the same elements."""
    return {**axis, "terms": sorted(axis["terms"])}


def _written(name: str, axes: Any) -> Access:
    entries: list[dict[str, Any]] = []
    for (terms, offset), real in axes:
        entry: dict[str, Any] = {"terms": [[d, c] for d, c in terms], "offset": offset}
        entries.append(entry if real is None else entry | {"real": list(real)})
    return {"tensor": name, "axes": entries}
