"""Directives of Timeloop's mappings and constraints: factors, permutations, splits and bypass, per target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from optmap.base.errors import InputError
from optmap.files.fields import Fields
from optmap.interchange.architectures import Demands, Skeleton
from optmap.interchange.yaml_files import dims_of, factors_of, plain_name, words_of
from optmap.machines.accelerator import FactorRule, KeepRule
from optmap.machines.fabric import Fabric
from optmap.machines.relations import GAP, Relation
from optmap.mappings.nest import MemoryNest, Nest, split_order

BYPASS = ("datatype", "dataspace", "bypass")
"""Types of a directive that says who is kept."""
CHANGED = ("no_temporal_reuse", "rmw_on_first_writeback", "passthrough")
"""What a directive may ask of Timeloop that is not counted here."""
KEYS = (
    *("target", "name", "type", "factors", "permutation", "split", "keep", "bypass"),
    *("no_link_transfer", "no_multicast_no_reduction", *CHANGED),
)
"""Of a directive; links between children are not counted in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """One directive, its names resolved."""

    where: str
    memory: int
    """Number of the memory, outermost first."""
    mesh: tuple[int, int]
    """Children along X and Y of what it is about."""
    form: str
    """`temporal`, `spatial` or `keep`."""
    factors: dict[str, tuple[str, int]]
    permutation: tuple[str, ...]
    """Innermost first, as Timeloop writes it."""
    split: int | None
    keep: tuple[str, ...] = ()
    bypass: tuple[str, ...] = ()
    shared: bool = True
    """Whether children share reads."""

    def along_x(self, dim: str) -> bool:
        """Whether loops of a dim are along X: those before the split are; without one all, if X has children."""
        if self.split is None:
            return self.mesh[0] > 1 or self.mesh[1] == 1
        return dim in self.permutation[: self.split] or (
            dim not in self.permutation and self.split > len(self.permutation)
        )


def directives_of(
    items: Iterable[Fields], skeleton: Skeleton, dims: tuple[str, ...], tensors: tuple[str, ...]
) -> list[Directive]:
    """The directives of a `mapping`, or of constraints. What only says that a mesh holds nothing is left out.

    Args:
        items: each with `target` and `type`.
        skeleton: of the architecture.
        dims: of the problem.
        tensors: of the problem.

    Raises:
        InputError: naming file and field of what is unknown, or not counted here.
    """
    found = [_directive(item, skeleton, dims, tensors) for item in items]
    return [directive for directive in found if directive is not None]


def _directive(item: Fields, skeleton: Skeleton, dims: tuple[str, ...], tensors: tuple[str, ...]) -> Directive | None:
    item.allow(*KEYS)
    target = plain_name(item.text("target" if item.has("target") or not item.has("name") else "name"))[0]
    if target not in skeleton.owner:
        known = ", ".join(skeleton.owner)
        raise InputError(f"{item.at('target')}: the architecture has no {target!r}; known are {known}")
    form = item.text("type")
    if form not in ("temporal", "spatial", *BYPASS):
        raise InputError(f"{item.at('type')} is {form!r}; use temporal, spatial or dataspace (datatype, bypass)")
    changed = next((key for key in CHANGED if item.given(key) and item.get(key) not in ([], False)), None)
    if changed is not None:
        raise InputError(f"{item.at(changed)}: this is not counted here; leave it out")
    alone = words_of(item.values.get("no_multicast_no_reduction"), item.at("no_multicast_no_reduction"))
    if alone and set(alone) != set(tensors):
        raise InputError(f"{item.at('no_multicast_no_reduction')}: it is counted for all tensors or none")
    found = Directive(
        where=item.where,
        memory=skeleton.owner[target],
        mesh=skeleton.single[target],
        form="keep" if form in BYPASS else form,
        factors=factors_of(item.values.get("factors"), dims, item.at("factors")),
        permutation=dims_of(item.values.get("permutation"), dims, item.at("permutation")),
        split=item.integer("split", least=0) if item.given("split") else None,
        keep=_tensors(item, "keep", tensors),
        bypass=_tensors(item, "bypass", tensors),
        shared=not alone,
    )
    if form == "spatial" or target in {part.name for part in skeleton.memories}:
        return found
    if found.keep or any(value != 1 for _, value in found.factors.values()):
        raise InputError(f"{item.where}: {target} holds nothing and has no loops over time; only spatial ones")
    return None


def _tensors(item: Fields, key: str, tensors: tuple[str, ...]) -> tuple[str, ...]:
    found = words_of(item.values.get(key), item.at(key))
    if found == ("all",):
        return tensors
    unknown = next((name for name in found if name not in tensors), None)
    if unknown is not None:
        raise InputError(f"{item.at(key)}: {unknown!r} is no data space; known are {', '.join(tensors)}")
    return found


def constraint_items(top: dict[str, Fields], parts: Iterable[tuple[str, Fields]]) -> Iterator[Fields]:
    """Everything in files that constrains mappings, as directives with target and type.

    Args:
        top: parts of the files by key.
        parts: components with `constraints` of their own (version 0.4), by name.
    """
    for key in ("architecture_constraints", "mapspace_constraints", "mapspace"):
        if key in top and isinstance(top[key].values.get(key), dict):
            inside = top[key].fields(key)
            for name in ("targets", "constraints"):
                yield from inside.items(name, least=0)
    for target, own in parts:
        for form in ("temporal", "spatial", "dataspace", "bypass"):
            if isinstance(own.values.get(form), dict):
                yield Fields(values={"target": target, "type": form, **own.fields(form).values}, where=own.at(form))


def demands_of(
    directives: Iterable[Directive], dims: tuple[str, ...], tensors: tuple[str, ...], memories: int
) -> tuple[dict[int, Demands], tuple[str, ...]]:
    """What constraints ask of the mappings, by memory; and what of them a machine cannot say, in words.

    Without a constraint the mapping decides whether a tensor is kept; the outermost memory keeps all.
    """
    free = tuple((name, KeepRule.FREE) for name in tensors)
    found = {number: Demands(keeps=free if number else ()) for number in range(memories)}
    notes: list[str] = []
    for directive in directives:
        own = found[directive.memory]
        if directive.form == "keep":
            said = dict.fromkeys(directive.bypass, KeepRule.REFUSED) | dict.fromkeys(directive.keep, KeepRule.KEPT)
            before = dict(own.keeps) or dict.fromkeys(tensors, KeepRule.KEPT)
            own = replace(own, keeps=tuple((before | said).items()))
        elif directive.form == "temporal":
            order = (GAP, *reversed(directive.permutation)) if directive.permutation else own.order
            own = replace(own, factors=(*own.factors, *_rules(directive.factors)), order=order)
        else:
            own = _spread(own, directive, dims, notes)
        found[directive.memory] = own
    return found, tuple(notes)


def _rules(factors: dict[str, tuple[str, int]]) -> tuple[FactorRule, ...]:
    """Factors as rules; 0 is whatever is left."""
    return tuple(
        FactorRule(dim=dim, relation=Relation(relation), value=value)
        for dim, (relation, value) in factors.items()
        if value > 0
    )


def _spread(own: Demands, directive: Directive, dims: tuple[str, ...], notes: list[str]) -> Demands:
    """With what a spatial constraint says: which dims go along which axis, and how many ways."""
    never = {dim for dim, (relation, value) in directive.factors.items() if value == 1 and relation != ">="}
    asked = {dim: factor for dim, factor in directive.factors.items() if dim not in never and factor[1] > 1}
    flat = 1 in directive.mesh
    if asked and not flat and directive.split is None:
        notes.append(
            f"{directive.where}: the factors of {' '.join(asked)} are left out: no split says along which axis"
        )
        asked = {}
    parted = directive.split is not None and not flat
    if directive.mesh[0] > 1:
        dims_x = tuple(dim for dim in dims if dim not in never and (not parted or directive.along_x(dim)))
        rules = _rules({dim: factor for dim, factor in asked.items() if directive.along_x(dim)})
        own = replace(own, x_dims=dims_x if len(dims_x) < len(dims) else None, x_factors=rules)
    if directive.mesh[1] > 1:
        dims_y = tuple(dim for dim in dims if dim not in never and (not parted or not directive.along_x(dim)))
        rules = _rules({dim: factor for dim, factor in asked.items() if not directive.along_x(dim)})
        own = replace(own, y_dims=dims_y if len(dims_y) < len(dims) else None, y_factors=rules)
    return replace(own, shared=own.shared and directive.shared)


def nest_from(directives: Iterable[Directive], fabric: Fabric) -> Nest:
    """The loops of a mapping.

    Args:
        directives: of the mapping; a memory without one for loops has none, and without one for tensors keeps all
            that the machine does not refuse.
        fabric: the machine as the problem sees it.

    Raises:
        InputError: for two directives of one kind, or factors whose product is not the size of a dim.
    """
    loops = [_Loops(fabric, memory) for memory in range(len(fabric.memories))]
    rest: dict[str, tuple[dict[str, int], str]] = {}
    for directive in directives:
        own = loops[len(loops) - 1 - directive.memory]
        if directive.form == "keep":
            own.keeping(directive)
        else:
            own.add(directive, rest)
    for dim, extent in zip(fabric.dims, fabric.extents, strict=True):
        product = prod(own.product(dim) for own in loops)
        if dim in rest and extent % product == 0:
            rest[dim][0][dim] *= extent // product
        elif product != extent:
            raise InputError(f"the mapping's factors of {dim} multiply to {product:,}, but its size is {extent:,}")
    return Nest(memories=tuple(own.nest for own in loops))


class _Loops:
    """The loops of one memory while directives are read."""

    def __init__(self, fabric: Fabric, number: int) -> None:
        self.fabric = fabric
        self.name = fabric.memories[number].name
        self.x = dict.fromkeys(fabric.dims, 1)
        self.y = dict.fromkeys(fabric.dims, 1)
        self.temporal = dict.fromkeys(fabric.dims, 1)
        self.orders: dict[str, dict[str, None]] = {"x": {}, "y": {}}
        """Dims along each axis of the mesh, outermost first."""
        self.keeps = [keep is not KeepRule.REFUSED for keep in fabric.memories[number].keeps]

    def keeping(self, directive: Directive) -> None:
        """Note who is kept and who bypasses."""
        for place, operand in enumerate(self.fabric.operands):
            if operand.name in (*directive.keep, *directive.bypass):
                self.keeps[place] = operand.name in directive.keep

    def add(self, directive: Directive, rest: dict[str, tuple[dict[str, int], str]]) -> None:
        """Note the loops of a directive; of factors of 0 `rest` learns where they stand, and who says so."""
        if directive.form == "temporal" and all(value == 1 for _, value in directive.factors.values()):
            return
        if directive.form == "temporal":
            if prod(self.temporal.values()) > 1:
                raise InputError(f"{directive.where}: the loops of {self.name} are given twice")
            self.temporal = dict.fromkeys(self._outermost_first(directive), 1)
        if directive.form == "spatial":
            for dim in self._outermost_first(directive):
                if directive.factors.get(dim, ("=", 1))[1] != 1:
                    self.orders["x" if directive.along_x(dim) else "y"].setdefault(dim)
        for dim, (relation, value) in directive.factors.items():
            if relation != "=":
                raise InputError(f"{directive.where}: {dim}{relation}{value} is no factor; write {dim}={value}")
            if dim not in self.fabric.dims:  # of size 1, in no tensor
                continue
            spread = self.x if directive.along_x(dim) else self.y
            own = self.temporal if directive.form == "temporal" else spread
            if value:
                own[dim] *= value
            elif dim in rest:
                raise InputError(f"{directive.where}: {dim}=0, which is the rest, is given in {rest[dim][1]}, too")
            else:
                rest[dim] = (own, directive.where)

    def _outermost_first(self, directive: Directive) -> tuple[str, ...]:
        """All dims in the order of a directive's loops; those that it does not name are outside."""
        inner = [dim for dim in directive.permutation if dim in self.fabric.dims]
        others = [dim for dim in self.fabric.dims if dim not in inner]
        return (*reversed(others), *reversed(inner))

    def product(self, dim: str) -> int:
        """Iterations of a dim here."""
        return self.x[dim] * self.y[dim] * self.temporal[dim]

    @property
    def nest(self) -> MemoryNest:
        """What was read."""
        dims = self.fabric.dims
        x, y = (tuple(ways[dim] for dim in dims) for ways in (self.x, self.y))
        return MemoryNest(
            x=x,
            y=y,
            temporal=tuple((dims.index(dim), trips) for dim, trips in self.temporal.items() if trips > 1),
            keeps=tuple(self.keeps),
            x_order=split_order(map(dims.index, self.orders["x"]), x),
            y_order=split_order(map(dims.index, self.orders["y"]), y),
        )
