"""A mapping tree as nests in turn: read from its document, refused where it means nothing or is not counted.

Loops and Keeps, then a sequence, in each branch again, until a path without one: that is the nest of a statement. What
the Keeps outside hold is given to it: the innermost of them that has a tensor is the outermost memory of that tensor
there. An intermediate comes from nowhere: one Keep, its home, is above all that make and read it. Inputs and outputs
are brought to a Keep from the one outside it, or from the outermost memory, and results are taken there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..chains.chain import Access, StatedChain, dims_of
from ..core.fabric import StatedFabric
from ..core.footprints import words
from ..core.shapes import many, name, positive, records
from ..core.tools import need
from ..nests.loops import Loops
from .room import staying_words, words_left
from .single import give, has_nest, is_in_place, is_of_rows, places_of, single_fabric, touched_fabric
from .stated_parts import Address, Around, State, StatedNest, StatedRowPass, Staying


def turn_nodes(value: Any, where: str) -> None:
    """A list of nodes, outermost first."""
    many(FORM, 1)(value, where)


FORM = records(
    {"loop": name, "tile": positive},
    {"loop": name, "ways": positive, "axis": name},
    {"keep": name, "tensors": many(name)},
    {"sequence": many(turn_nodes, 2)},
    {"compute": name},
)


class StatedTurns:
    """A tree of a chain on a machine.

    Args:
        chain: what is computed.
        machine: its document.
        nodes: of the form of `turn_nodes`.

    Raises:
        RefusedError: for a tree that means nothing, one that breaks a rule, or what is not counted.
    """

    def __init__(self, chain: StatedChain, machine: Any, nodes: Any) -> None:
        self.chain, self.machine = chain, machine
        self.names = [level["name"] for level in machine["levels"]] + [machine["memory"]]
        self.inner = {chain.held[t] for t in chain.names if t not in chain.outputs}
        self.paths: dict[int, tuple[list[tuple[Address, Any]], State]] = {}
        self.parts: list[StatedNest | StatedRowPass] = []
        self.order: list[int] = []
        self.moving: list[Staying] = []
        self._read(nodes, (), State(left=tuple(chain.extents.items())), [])
        need(sorted(self.order) == list(range(len(chain.names))), "every statement has one leaf")
        self._check_reads()
        self._check_homes()

    @property
    def nests(self) -> list[StatedNest]:
        """Of statements that have one."""
        return [part for part in self.parts if isinstance(part, StatedNest)]

    def plain(self, number: int, left: dict[str, int]) -> StatedFabric:
        """A statement on the machine as it is."""
        if is_of_rows(self.chain, number):
            return touched_fabric(self.chain, number, self.machine, left)
        return single_fabric(self.chain, number, self.machine, left)

    def _below(self, nodes: Any) -> list[int]:
        last = nodes[-1]
        if "sequence" in last:
            return [number for branch in last["sequence"] for number in self._below(branch)]
        need(last.get("compute") in self.chain.names, "a list of nodes ends with a sequence or a statement")
        return [self.chain.names.index(last["compute"])]

    def _read(self, nodes: Any, base: Address, state: State, above: list[tuple[Address, Any]]) -> None:
        need(not any("sequence" in node or "compute" in node for node in nodes[:-1]), "a list goes on behind its end")
        below = self._below(nodes)
        path = above + [((*base, n), node) for n, node in enumerate(nodes)]
        if "compute" in nodes[-1]:
            self._leaf(nodes, below[0], state, path)
            return
        for n, node in enumerate(nodes[:-1]):
            need("axis" not in node, "not counted: children of a mesh around a sequence")
            if "loop" in node:
                state = self._loop(node, (*base, n), state, below)
            else:
                state = self._keep(node, (*base, n), state, below)
        for n, branch in enumerate(nodes[-1]["sequence"]):
            inside = replace(state, ended=len(state.loops))
            self._read(branch, (*base, len(nodes) - 1, n), inside, path)

    def _loop(self, node: Any, address: Address, state: State, below: list[int]) -> State:
        dim, left = node["loop"], dict(state.left)
        fine = all(dim in self.chain.dims[number] for number in below)
        need(fine, f"not counted: a loop over {dim} around a statement that has no such dim")
        trips, rest = divmod(left[dim], node["tile"])
        need(rest == 0, f"not counted: a loop over {dim} whose last step is shorter")
        loops = (*state.loops, Around(address, dim, trips))
        return replace(state, loops=loops, left=tuple((left | {dim: node["tile"]}).items()))

    def _keep(self, node: Any, address: Address, state: State, below: list[int]) -> State:
        need(node["keep"] in self.names, f"a keep at {node['keep']}, which is no level")
        level, stays = self.names.index(node["keep"]), list(state.stays)
        for tensor in node["tensors"]:
            need(tensor in self.chain.held, f"a keep of {tensor}, which is no tensor")
            stays.append(
                self._staying(self.chain.held[tensor], level, address, replace(state, stays=tuple(stays)), below)
            )
        return replace(state, stays=tuple(stays))

    def _staying(self, tensor: str, level: int, address: Address, state: State, below: list[int]) -> Staying:
        chain, outermost = self.chain, len(self.names) - 1
        having = [number for number in below if places_of(chain, number, tensor)]
        need(bool(having), f"a keep of {tensor}, which no statement below has")
        where = f"{tensor} that stays in {self.names[level]}"
        outer = next((stay.level for stay in reversed(state.stays) if stay.tensor == tensor), None)
        need(outer is None or outer > level, f"{where}: levels go inwards")
        source = outer
        if outer is None and tensor not in self.inner:
            source = outermost
        if level == outermost:
            source = None
        made = any(chain.held[chain.names[number]] == tensor for number in below)
        if source is not None:
            self._check_brought(tensor, (level, source), state, having)
            need(not (made and tensor in self.inner), f"not counted: {where} and further out, while it is made")
        doing = [number for number in having if not is_in_place(chain, number)]
        need(bool(doing), f"{where} for functions that are done in place alone")
        fabric = self.plain(doing[0], dict(state.left))
        first = chain.accesses[doing[0]][places_of(chain, doing[0], tensor)[0]]
        stay = Staying(
            address=address,
            tensor=tensor,
            level=level,
            source=source,
            loops=state.loops,
            ended=state.ended,
            elements=elements_of(fabric, first),
            access_dims=frozenset(dims_of(first)),
            made=made,
        )
        if source is not None:
            self.moving.append(stay)
        return stay

    def _check_brought(self, tensor: str, ends: tuple[int, int], state: State, having: list[int]) -> None:
        """Contents either are the same or have nothing in common, and come straight from a memory that has them."""
        level, source = ends
        where = f"{tensor} that stays in {self.names[level]}"
        accesses = [self.chain.accesses[n][i] for n in having for i in places_of(self.chain, n, tensor)]
        same = all(access["axes"] == accesses[0]["axes"] for access in accesses)
        need(same, f"not counted: {where} for accesses with other subscripts")
        windows = {d for axis in accesses[0]["axes"] for d, _ in axis["terms"] if len(axis["terms"]) > 1}
        moved = {loop.dim for loop in state.loops if loop.trips > 1}
        need(windows.isdisjoint(moved), f"not counted: {where} under a loop over a dim of a window")
        for number in having:
            if is_in_place(self.chain, number):
                continue
            fabric = self.plain(number, dict(state.left))
            need(
                not any(any(memory.wires) for memory in fabric.memories[level + 1 :]),
                f"not counted: {where}, behind wires with a price",
            )
            for i in places_of(self.chain, number, tensor):
                keeps = [memory.keeps[i] for memory in fabric.memories]
                need("kept" not in keeps[level + 1 : source], f"{where} passes a memory that must keep it")
                need(keeps[source] != "refused", f"not counted: {where} from {self.names[source]}, which has it not")

    def _leaf(self, nodes: Any, number: int, state: State, path: list[tuple[Address, Any]]) -> None:
        need(number not in self.order, f"{self.chain.names[number]} has two leaves")
        self.order.append(number)
        self.paths[number] = path, state
        if not has_nest(self.chain, number):
            where = f"{self.chain.names[number]} alone, which is done where it is"
            need(len(nodes) == 1, f"not counted: nodes around {where}")
        if is_in_place(self.chain, number):
            return
        fabric = self.plain(number, dict(state.left))
        given: dict[int, int] = {}
        for tensor in {self.chain.held[access["tensor"]] for access in self.chain.accesses[number]}:
            home = next((stay.level for stay in reversed(state.stays) if stay.tensor == tensor), None)
            places = places_of(self.chain, number, tensor)
            if home == len(self.names) - 1:
                fine = all(fabric.memories[-1].keeps[i] != "refused" for i in places)
                need(fine, f"not counted: {tensor}, which the outermost memory has not")
            elif home is not None:
                give(fabric, places, home)
                given |= dict.fromkeys(places, home)
        self._lessen(fabric, number, state, given)
        if not has_nest(self.chain, number):
            self._rows(fabric, number, state, given)
            return
        entries = self._entries(nodes[:-1], fabric, given, dict(state.left))
        loops = Loops(fabric, entries)
        self.parts.append(StatedNest(number, state, fabric, loops))

    def _rows(self, fabric: StatedFabric, number: int, state: State, given: dict[int, int]) -> None:
        """A function of rows: every iteration has whole ones."""
        along = self.chain.said[number].along
        whole = all(loop.trips == 1 for loop in state.loops if loop.dim == along)
        need(whole, f"incomplete: a loop over {along} around {self.chain.names[number]}, a function of rows along it")
        levels = tuple(given.get(i, len(self.names) - 1) for i in range(len(fabric.operands)))
        self.parts.append(StatedRowPass(number, state, fabric, levels))

    def _lessen(self, fabric: StatedFabric, number: int, state: State, given: dict[int, int]) -> None:
        """Take from every memory the room of what stays there; what is given has its place in that."""
        for place, memory in enumerate(fabric.memories[:-1]):
            stays = [stay for stay in state.stays if stay.level == place]
            for stay in stays:
                whole = len(memory.rooms) == 1 and fabric.instances(place) == 1
                need(whole, f"not counted: {stay.tensor} that stays in {memory.name}, which has instances or parts")
            if stays:
                ((title, weights, _),) = memory.rooms
                mine = {i: weight for i, weight in weights.items() if given.get(i) != place}
                held = [(stay.tensor, stay.elements) for stay in stays]
                left = words_left(self.chain, self.machine, place, held, fabric.work.word_bits)
                need(left >= 0, f"{memory.name} has no room for what stays while {self.chain.names[number]} is done")
                memory.rooms = [(title, mine, left)]

    def room(self, place: int, stays: list[Staying], word_bits: int) -> int:
        """Words of the capacity of a level that some tensors take which stay there."""
        held = [(stay.tensor, stay.elements) for stay in stays]
        return staying_words(self.chain, self.machine, place, held, word_bits)

    def _entries(
        self, nodes: Any, fabric: StatedFabric, given: dict[int, int], left: dict[str, int]
    ) -> list[dict[str, Any]]:
        """A path as tiles per memory, inner first: per level its loops over time, its Keep, loops over its children."""
        dims = list(fabric.extents)
        left = {d: left[d] for d in dims}
        names, place = self.names, len(self.names) - 1
        outermost = [name for i, (name, _) in enumerate(fabric.operands) if fabric.memories[-1].keeps[i] != "refused"]
        found = {place: _entry(names[place], left, outermost)}
        turns: list[str] = []
        spread = False
        for node in nodes:
            where = f"the path to {fabric.operands[0][0]}"
            if "keep" in node:
                place -= 1
                need(place >= 0 and node["keep"] == names[place], f"not counted: {where}: its Keeps go level by level")
                kept = [
                    name
                    for i, (name, _) in enumerate(fabric.operands)
                    if given.get(i) == place or fabric.work.tensors[i][0] in node["tensors"]
                ]
                known = {tensor for tensor, _ in fabric.work.tensors}
                need(known.issuperset(node["tensors"]), f"{where}: a keep of a tensor that it has not")
                mine = {fabric.operands[i][0] for i, home in given.items() if home == place}
                said = {
                    name for i, (name, _) in enumerate(fabric.operands) if fabric.work.tensors[i][0] in node["tensors"]
                }
                need(mine.isdisjoint(said), f"{where}: {names[place]} keeps a tensor twice")
                found[place] = _entry(names[place], left, kept)
                found[place]["permutation"] = [*turns, *(d for d in dims if d not in turns)]
                turns, spread = [], False
            elif "axis" in node:
                feeder, _, axis = node["axis"].partition(".")
                need(feeder == names[place] and axis in ("x", "y"), f"not counted: {where}: an axis of another level")
                _spread(found[place], node, axis, left)
                spread = True
            else:
                dim = node["loop"]
                need(dim in left and dim not in turns and not spread, f"not counted: {where}: loops over {dim}")
                need(left[dim] % node["tile"] == 0, f"{where}: a loop over {dim} whose last step is shorter")
                turns.append(dim)
                left[dim] = node["tile"]
        need(place == 0 and not turns, f"not counted: {found[max(found)]['level']}: a Keep per level is needed")
        for entry in found.values():
            x, y = (entry["spatial_axes"][axis] for axis in ("x", "y"))
            entry["spatial"] = {d: x.get(d, 1) * y.get(d, 1) for d in dims if d in x or d in y}
        return [found[number] for number in range(len(names))]

    def _check_reads(self) -> None:
        """Elements are complete when they are read, in the iteration in which they are."""
        for reader in range(len(self.chain.names)):
            for access in self.chain.accesses[reader][1:]:
                if access["tensor"] not in self.chain.names:
                    continue
                maker = self.chain.names.index(access["tensor"])
                need(
                    self.order.index(maker) < self.order.index(reader),
                    f"incomplete: {self.chain.names[reader]} reads {access['tensor']} before it is made",
                )
                made = self.chain.accesses[maker][0]
                theirs = [item[0] for item in self.paths[reader][0]]
                for address, node in self.paths[maker][0]:
                    if "loop" in node and address in theirs:
                        alike = any(
                            one == other == {"terms": [[node["loop"], 1]], "offset": one["offset"]}
                            for one, other in zip(made["axes"], access["axes"], strict=True)
                        )
                        need(alike, f"incomplete: {access['tensor']} under the loop over {node['loop']}")

    def _check_homes(self) -> None:
        """One Keep of an intermediate is above all that make and read it."""
        for tensor in self.inner:
            homes = {
                next((stay.address for stay in self.paths[number][1].stays if stay.tensor == tensor), None)
                for number in range(len(self.chain.names))
                if places_of(self.chain, number, tensor) and not is_in_place(self.chain, number)
            }
            need(len(homes) == 1 and None not in homes, f"lost: {tensor} has no home above all that make and read it")


def elements_of(fabric: StatedFabric, access: Access) -> int:
    """Different elements that an access touches on the dims of a statement."""
    axes = [dict(axis["terms"]) for axis in access["axes"]]
    return words(axes, {d: n for d, n in fabric.extents.items() if any(d in axis for axis in axes)})


def _entry(level: str, tile: dict[str, int], keeps: list[str]) -> dict[str, Any]:
    return {
        "level": level,
        "tile": dict(tile),
        "permutation": list(tile),
        "spatial_axes": {"x": {}, "y": {}},
        "spatial_order": {"x": [], "y": []},
        "keeps": keeps,
    }


def _spread(entry: dict[str, Any], node: Any, axis: str, left: dict[str, int]) -> None:
    """A loop over children: each has an equal part."""
    dim, ways, axes = node["loop"], node["ways"], entry["spatial_axes"]
    fine = dim in left and dim not in axes[axis] and not (axis == "y" and axes["x"])
    need(fine, f"not counted: loops over the children of {entry['level']}: along y first, a dim once")
    need(left[dim] % ways == 0, f"{ways} children do not share {left[dim]} iterations of {dim} evenly")
    if ways > 1:
        axes[axis][dim] = ways
        entry["spatial_order"][axis].append(dim)
        left[dim] //= ways
