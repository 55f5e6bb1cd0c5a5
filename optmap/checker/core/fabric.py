"""An accelerator as a workload sees it: roles resolved, capacities in elements, rules by dim.

What a dim does in a workload: one inside a subscript of several dims of the first input that has such (the image) is
`height` in the first of these subscripts and `width` in the others if the output has it, else `filter_height` or
`filter_width`. Of the others those of the output are `filters` if an input besides the image has them, else `batch`;
what is summed over are `channels`. The image (the first input without any) is `input`, the first other one `weight`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import gcd, prod
from typing import Any

from .statement import StatedWork
from .tools import need
from .widths import Widths

ROLES = ("batch", "filters", "channels", "height", "width", "filter_height", "filter_width")
GAP = "..."
RULE = re.compile(r"(<=|>=)([1-9][0-9]{0,17})")


def amount(value: Any, where: str) -> Fraction:
    """A number from 0 on: whole, decimal, or the text p/q."""
    shaped = type(value) in (int, float) or re.fullmatch(r"[0-9]{1,99}/[1-9][0-9]{0,98}", str(value)) is not None
    need(shaped and str(value) not in ("nan", "inf"), f"{where} is {value!r}; a number or p/q is needed")
    found = Fraction(str(value))
    need(found >= 0, f"{where} is {value!r}; it must be 0 or more")
    return found


class MeshDirection:
    """One axis of a mesh: children, dims that may go along it (None for any), demands on their ways."""

    def __init__(self, doc: Any, fabric: StatedFabric, where: str) -> None:
        self.size: int = doc["size"]
        names = doc["dims"]
        self.dims = None if names is None else {d for name in names for d in fabric.dims_of(name, where)}
        self.rules = fabric.rules_of(doc["factors"], where)


class StatedMemory:
    """A memory with everything that is said about it."""

    def __init__(self, name: str, doc: Any, fabric: StatedFabric, *, bounded: bool) -> None:
        self.name = name
        self.keeps = fabric.keeps_of(doc["keeps"], name)
        kinds, per_bit = ("read", "fill", "update"), doc.get("energy_pj_per_bit")
        self.prices = {key: amount(doc["energy_pj"][key], f"{name}: {key}") for key in kinds}
        bits = {key: amount(per_bit[key], f"{name}: {key} per bit") for key in kinds} if per_bit else {}
        self.widths = Widths(doc, fabric.bits, bits, name)
        self.rates = {
            key: amount(rate, f"{name}: port {key}")
            for key, rate in doc["ports"].items()
            if key != "unit" and rate is not None
        }
        need(all(self.rates.values()), f"{name}: a port has no words per cycle")
        self.block: int = doc["block"]
        self.cluster: int = doc["cluster"]
        mesh = doc["fanout"]
        self.x, self.y = (MeshDirection(mesh[axis], fabric, f"{name}, axis {axis}") for axis in ("x", "y"))
        self.multicast, self.reduction = bool(mesh["multicast"]), bool(mesh["reduction"])
        self.wires = amount(mesh["hop_pj"], f"{name}: hop_pj"), amount(mesh["router_pj"], f"{name}: router_pj")
        self.rules = fabric.rules_of(doc["factors"], name)
        self.order = [None if entry == GAP else fabric.dims_of(entry, name) for entry in doc["order"]]
        self.rooms = self._rooms(doc, fabric) if bounded else []
        homes = {i for _, weights, _ in self.rooms for i in weights}
        lost = [i for i, keep in enumerate(self.keeps) if keep != "refused" and i not in homes]
        need(not bounded or not lost, f"{name} has no part for a tensor that it may keep")

    def _rooms(self, doc: Any, fabric: StatedFabric) -> list[tuple[str, dict[int, int], int]]:
        """(name, words per element of each tensor by number, words) of every part; where it packs, of an entry."""
        parts = doc["partitions"] or [{"name": self.name, "tensors": None, "capacity": doc["capacity"]}]
        if doc["partitions"]:
            total = sum(part["capacity"]["amount"] for part in parts)
            same = {part["capacity"]["unit"] for part in parts} == {doc["capacity"]["unit"]}
            need(same and total == doc["capacity"]["amount"], f"partitions of {self.name} do not make it up")
        rooms = []
        for part in parts:
            everything = range(len(fabric.operands))
            mine = everything if part["tensors"] is None else [i for t in part["tensors"] for i in fabric.tensors_of(t)]
            size, bits = part["capacity"]["amount"], doc["word_bits"]
            if part["capacity"]["unit"] == "words":
                words, weights = size, dict.fromkeys(mine, 1)
            elif bits is not None:
                words, weights = 8 * size // bits, dict.fromkeys(mine, 1)
            else:
                word = gcd(*fabric.bits)
                words, weights = 8 * size // word, {i: fabric.bits[i] // word for i in mine}
            rooms.append((part["name"], weights, words // doc["buffering"]))
        return rooms

    def taken(self, i: int, weight: int, elements: int) -> int:
        """Words of a part that a tile of so many elements takes."""
        return self.widths.held(i, elements) if self.widths.packs else weight * elements

    @property
    def fanout(self) -> int:
        """Children of one instance."""
        return self.x.size * self.y.size


class StatedFabric:
    """Workload and accelerator of a document; memories inner to outer, the unbounded one last."""

    def __init__(self, workload: Any, machine: Any) -> None:
        self.work = work = StatedWork(workload)
        # In the order of the file: it says how children of a mesh are numbered, and nothing else depends on it.
        self.extents: dict[str, int] = dict(workload["extents"])
        self.operands = [
            (name, [dict(terms) for terms, _ in axes]) for name, (_, axes) in zip(work.names, work.tensors, strict=True)
        ]
        self.bits = [work.bits[name] for name, _ in work.tensors]
        self.dims = list(self.extents)
        inputs = range(1, len(self.operands))
        sliding = (i for i in inputs if any(len(axis) > 1 for axis in self.operands[i][1]))
        self.image = next(sliding, 1)
        self.roles = self._roles()
        levels = machine["levels"]
        self.memories = [StatedMemory(level["name"], level, self, bounded=True) for level in levels]
        self.memories.append(StatedMemory(machine["memory"], machine["outermost"], self, bounded=False))
        for i, (name, _) in enumerate(self.operands):  # what no level must keep comes from the unbounded memory
            if all(memory.keeps[i] != "kept" for memory in self.memories):
                need(self.memories[-1].keeps[i] == "free", f"no memory must keep {name}")
                self.memories[-1].keeps[i] = "kept"
        names = [memory.name for memory in self.memories]
        need(len(set(names)) == len(names), "memory names repeat")
        self.arithmetic = amount(machine["arithmetic"]["energy_pj"], "arithmetic")
        inside = prod(memory.fanout for memory in self.memories[:-1])
        need(machine["cores"] == inside, "cores is not the product of the levels' fanouts")
        self.units = inside * self.memories[-1].fanout

    def _roles(self) -> dict[str, str]:
        output = set().union(*(set(axis) for axis in self.operands[0][1])) if self.operands[0][1] else set()
        windows = [axis for axis in self.operands[self.image][1] if len(axis) > 1]
        others = {
            d for i, (_, axes) in enumerate(self.operands) if i not in (0, self.image) for axis in axes for d in axis
        }
        found = {}
        for dim in self.dims:
            place = next((n for n, axis in enumerate(windows) if dim in axis), None)
            if place is not None:
                found[dim] = ("" if dim in output else "filter_") + ("height" if place == 0 else "width")
            else:
                found[dim] = ("filters" if dim in others else "batch") if dim in output else "channels"
        return found

    def instances(self, number: int) -> int:
        """Instances of a memory that there are."""
        return prod(memory.fanout for memory in self.memories[number + 1 :])

    def dims_of(self, name: str, where: str) -> set[str]:
        """The dims of a role, or the dim of that name."""
        if name in ROLES:
            return {dim for dim in self.dims if self.roles[dim] == name}
        need(name in self.extents, f"{where}: {name!r} is neither a role nor a dim")
        return {name}

    def tensors_of(self, name: str) -> list[int]:
        """The numbers of the tensors of a role or a name."""
        inputs = list(range(1, len(self.operands)))
        weight = next((i for i in inputs if i != self.image), None)
        known = {"output": [0], "inputs": inputs, "input": [self.image], "weight": [] if weight is None else [weight]}
        if name in known:
            return known[name]
        found = [i for i, (own, _) in enumerate(self.operands) if own == name]
        need(bool(found), f"{name!r} is neither a role nor a tensor")
        return found

    def keeps_of(self, doc: Any, where: str) -> list[str]:
        """`kept`, `refused` or `free` per tensor; what is not named is refused."""
        if doc is None:
            return ["kept"] * len(self.operands)
        need(bool(doc), f"{where} keeps nothing")
        found = ["refused"] * len(self.operands)
        for name, keep in doc.items():
            for i in self.tensors_of(name):
                found[i] = keep
        return found

    def rules_of(self, doc: Any, where: str) -> list[tuple[str, set[str], str, int]]:
        """(text, dims, relation, value) of every demand on factors."""
        found = []
        for name, demands in doc.items():
            for demand in demands if isinstance(demands, list) else [demands]:
                parts = None if type(demand) is int else RULE.fullmatch(demand)
                need(type(demand) is int or parts is not None, f"{where}: {demand!r} is no factor")
                relation, value = ("=", demand) if parts is None else (parts[1], int(parts[2]))
                need(value > 0, f"{where}: a factor is {value}")
                found.append((f"{where}: {name}{relation}{value}", self.dims_of(name, where), relation, value))
        return found
