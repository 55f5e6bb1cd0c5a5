"""Dataflow classes: which loop orders cost the same, and which are never better than another.

No SymPy, no enumeration of permutations, cached by structure, because the search asks for the
classes of every layer. The classes that no other dominates are generated directly; the dominated
ones, with their proofs, only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import factorial

import numpy as np

from optmap.loop_orders.dominance import DominanceProof, prove
from optmap.loop_orders.signatures import DimMasks, Signature, dominates, undominated
from optmap.loop_orders.structure import Access, Structure, structure_of
from optmap.machines.machine import CapacityRule
from optmap.mappings.reuse import Reuse
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowClass:
    """Loop orders whose traffic is the same function of the tile sizes."""

    representative: tuple[str, ...]
    """One member: dims, outermost first, in canonical order inside each band."""
    bands: tuple[tuple[str, ...], ...]
    """Groups of dims, outermost first, whose order inside the group does not matter."""
    size: int
    """Permutations in the class (bands may describe only part of them)."""
    signature: tuple[Reuse, ...]
    """Per tensor, output first: dims inside the reuse position, and the dim at it if neighbouring
    tiles overlap along it (None if they do not: then it does not matter which dim it is)."""

    @property
    def notation(self) -> str:
        """The bands in MOpt's notation, such as `<{k,c,r,s},{n,h},w>`."""
        parts = [band[0] if len(band) == 1 else "{" + ",".join(band) + "}" for band in self.bands]
        return "<" + ",".join(parts) + ">"


@dataclass(frozen=True, kw_only=True)
class DataflowClasses:
    """All loop orders of a workload, reduced to those worth solving for."""

    structure: Structure
    """Dims and accesses."""
    single: tuple[str, ...]
    """Dims of extent 1 that were left out of the structure."""
    rule: CapacityRule
    """The capacity rule under which no optimum is lost."""
    classes: tuple[DataflowClass, ...]
    """Classes that no other class dominates."""
    complete: bool = True
    """Whether these are all of them; not so if there are more than were asked for."""

    @property
    def permutations(self) -> int:
        """Loop orders altogether."""
        return factorial(len(self.structure.dims) + len(self.single))

    @cached_property
    def everything(self) -> tuple[DataflowClass, ...]:
        """All classes before dominance (their number grows nearly as that of the loop orders)."""
        return equivalence_classes(self.structure, self.single)

    @property
    def equivalence_classes(self) -> int:
        """Classes before dominance."""
        return len(self.everything)

    @cached_property
    def dominated(self) -> tuple[DominanceProof, ...]:
        """One proof per class that was left out."""
        walk, safe, tensors = DimMasks(self.structure), self.rule is CapacityRule.SAFE, len(self.structure.accesses)
        winners = np.array([walk.compared(walk.masks(c.signature), safe=safe) for c in self.classes])
        kept = {c.signature for c in self.classes}
        proofs = []
        for loser in self.everything:
            if loser.signature not in kept:
                row = np.array([walk.compared(walk.masks(loser.signature), safe=safe)])
                first = int(dominates(winners, row, tensors)[:, 0].argmax())
                proofs.append(prove(self.structure, self.classes[first], loser))
        return tuple(proofs)


def dataflow_classes(
    workload: Workload,
    *,
    concrete: bool = False,
    rule: CapacityRule = CapacityRule.TILE,
    most: int | None = None,
) -> DataflowClasses:
    """Derive the dataflow classes of a workload (MOpt section 4, for any workload).

    Two loop orders are equivalent if for every tensor the dims inside the reuse position are the
    same, and so is the dim at it where neighbouring tiles overlap. A class is left out if another
    one moves at most as much of every tensor for all tile sizes and extents; each such claim comes
    with a `DominanceProof`. The capacity constraint of `tile` is the same for all loop orders; that of
    `safe` is not, so under `safe` a class is only left out if its working set is not smaller.

    Args:
        workload: extents are ignored unless `concrete`.
        concrete: drop dims of extent 1 first: fewer classes, valid for these extents only.
        rule: the capacity rule under which no optimum may be lost.
        most: about how many classes are wanted; of more, a sample that does not depend on sizes.
    """
    dropped = frozenset(d for d, n in workload.sizes if concrete and n == 1)
    return _derive(structure_of(workload, dropped), tuple(d for d in workload.dims if d in dropped), rule, most)


def equivalence_classes(structure: Structure, single: tuple[str, ...] = ()) -> tuple[DataflowClass, ...]:
    """All classes before dominance, ordered by their innermost loops (last canonical dim first).

    Args:
        structure: dims and accesses.
        single: dims of extent 1, which become the outermost band.
    """
    return _classes(structure, single, DimMasks(structure).all())


@lru_cache(maxsize=1024)
def _derive(structure: Structure, single: tuple[str, ...], rule: CapacityRule, most: int | None) -> DataflowClasses:
    walk, safe = DimMasks(structure), rule is CapacityRule.SAFE
    signatures, complete = walk.candidates(safe=safe, most=most)
    found = sorted(signatures)
    rows = np.array([walk.compared(signature, safe=safe) for signature in found])
    best = undominated(rows, len(structure.accesses))
    kept = _classes(structure, single, (s for s, good in zip(found, best, strict=True) if good))
    return DataflowClasses(structure=structure, single=single, rule=rule, classes=kept, complete=complete)


def _classes(
    structure: Structure, single: tuple[str, ...], signatures: Iterable[Signature]
) -> tuple[DataflowClass, ...]:
    """The classes of signatures, ordered by their innermost loops."""
    walk = DimMasks(structure)
    rank = {d: i for i, d in enumerate(structure.dims)}
    interleavings = factorial(len(structure.dims) + len(single)) // factorial(len(structure.dims))
    found = []
    for masks in signatures:
        signature = walk.reuses(masks)
        bands, size = _bands(structure, signature)
        found.append(
            DataflowClass(
                representative=single + tuple(d for band in bands for d in band),
                bands=((single,) if single else ()) + bands,
                size=size * interleavings,
                signature=signature,
            )
        )
    found.sort(key=lambda c: [-rank.get(d, -1) for d in reversed(c.representative)])
    return tuple(found)


def _bands(structure: Structure, signature: tuple[Reuse, ...]) -> tuple[tuple[tuple[str, ...], ...], int]:
    """A product of bands inside the class, outermost first, and the loop orders of the whole class.

    Between two reuse positions the innermost loop is one of those that meet the tensors there; all
    other loops are in any order.
    """
    everything = frozenset(structure.dims)
    prefixes = sorted({flow.free for flow in signature} - {everything}, key=len)
    groups = [prefixes[0] if prefixes else everything]
    size = factorial(len(groups[0]))
    for prefix, following in pairwise([*prefixes, everything]):
        group = following - prefix
        first = group
        for access, flow in zip(structure.accesses, signature, strict=True):
            if flow.free == prefix:
                first &= _possible(access, flow)
        size *= len(first) * factorial(len(group) - 1)
        if first == group:
            groups.append(group)
        else:
            innermost = next(d for d in reversed(structure.dims) if d in first)
            groups += [frozenset({innermost}), group - {innermost}]
    bands = tuple(tuple(d for d in structure.dims if d in group) for group in reversed(groups) if group)
    return bands, size


def _possible(access: Access, flow: Reuse) -> frozenset[str]:
    """The dims that may stand at the reuse position of a tensor."""
    if flow.at is not None:
        return frozenset({flow.at})
    return frozenset(d for d in access.dims if not access.overlaps(d))
