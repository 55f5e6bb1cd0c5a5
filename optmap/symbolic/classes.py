"""Dataflow classes: which loop orders cost the same, and which are never better than another.

Pure Python on sets: no SymPy, no enumeration of permutations, cached by structure, because the
search asks for the classes of every layer.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import factorial

from optmap.problem.dataflow import Residence, Resident, Reuse, residents_at
from optmap.problem.machine import CapacityRule
from optmap.problem.workload import Workload
from optmap.symbolic.dominance import Proof, prove
from optmap.symbolic.structure import Access, Structure, structure_of


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """All loop orders of a workload, reduced to those worth solving for."""

    classes: tuple[DataflowClass, ...]
    """Classes that no other class dominates."""
    dominated: tuple[Proof, ...]
    """One proof per class that was left out."""
    permutations: int
    """Loop orders altogether (the factorial of the number of dims)."""
    equivalence_classes: int
    """Classes before dominance."""


def dataflow_classes(workload: Workload, *, concrete: bool = False, rule: CapacityRule = CapacityRule.TILE) -> Classes:
    """Derive the dataflow classes of a workload (MOpt section 4, for any workload).

    Two loop orders are equivalent if for every tensor the dims inside the reuse position are the
    same, and so is the dim at it where neighbouring tiles overlap. A class is left out if another
    one moves at most as much of every tensor for all tile sizes and extents; each such claim comes
    with a `Proof`. The capacity constraint of `tile` is the same for all loop orders; that of
    `safe` is not, so under `safe` a class is only left out if its working set is not smaller.

    Args:
        workload: extents are ignored unless `concrete`.
        concrete: drop dims of extent 1 first: fewer classes, valid for these extents only.
        rule: the capacity rule under which no optimum may be lost.
    """
    dropped = frozenset(d for d, n in workload.sizes if concrete and n == 1)
    return _derive(structure_of(workload, dropped), tuple(d for d in workload.dims if d in dropped), rule)


def equivalence_classes(structure: Structure, single: tuple[str, ...] = ()) -> tuple[DataflowClass, ...]:
    """All classes before dominance, ordered by their innermost loops (last canonical dim first).

    Args:
        structure: dims and accesses.
        single: dims of extent 1, which become the outermost band.
    """
    rank = {d: i for i, d in enumerate(structure.dims)}
    interleavings = factorial(len(structure.dims) + len(single)) // factorial(len(structure.dims))
    found = []
    for signature, count in _signatures(structure).items():
        bands = _bands(structure, signature)
        outermost = (single,) if single else ()
        representative = single + tuple(d for band in bands for d in band)
        found.append(
            DataflowClass(
                representative=representative,
                bands=outermost + bands,
                size=count * interleavings,
                signature=signature,
            )
        )
    found.sort(key=lambda c: [-rank.get(d, -1) for d in reversed(c.representative)])
    return tuple(found)


@lru_cache(maxsize=1024)
def _derive(structure: Structure, single: tuple[str, ...], rule: CapacityRule) -> Classes:
    everything = equivalence_classes(structure, single)
    kept: list[DataflowClass] = []
    lost: list[DataflowClass] = []
    for candidate in everything:
        better = any(_dominates(other, candidate, structure, rule) for other in everything if other is not candidate)
        (lost if better else kept).append(candidate)
    proofs = []
    for candidate in lost:
        winner = next(c for c in kept if _dominates(c, candidate, structure, rule))
        proofs.append(prove(structure, winner, candidate))
    return Classes(
        classes=tuple(kept),
        dominated=tuple(proofs),
        permutations=sum(c.size for c in everything),
        equivalence_classes=len(everything),
    )


def _signatures(structure: Structure) -> dict[tuple[Reuse, ...], int]:
    """Every signature with the number of permutations that have it.

    Walks from the innermost loop outwards over *sets* of placed dims; a branch ends as soon as
    every tensor has met its first dim, because the order of the remaining loops is then free.
    """
    everything = frozenset(structure.dims)
    start = tuple(None if a.dims else Reuse(inside=everything, at=None) for a in structure.accesses)
    frontier: dict[tuple[frozenset[str], tuple[Reuse | None, ...]], int] = {(frozenset(), start): 1}
    totals: dict[tuple[Reuse, ...], int] = defaultdict(int)
    while frontier:
        following: dict[tuple[frozenset[str], tuple[Reuse | None, ...]], int] = defaultdict(int)
        for (placed, flows), count in frontier.items():
            done = tuple(flow for flow in flows if flow is not None)
            if len(done) == len(flows):
                totals[done] += count * factorial(len(everything) - len(placed))
                continue
            for dim in everything - placed:
                resolved = tuple(
                    flow if flow is not None else _meet(access, dim, placed)
                    for access, flow in zip(structure.accesses, flows, strict=True)
                )
                following[placed | {dim}, resolved] += count
        frontier = following
    return dict(totals)


def _meet(access: Access, dim: str, placed: frozenset[str]) -> Reuse | None:
    """The reuse of a tensor whose first dim may be `dim`, or None if the dim is absent from it."""
    if dim not in access.dims:
        return None
    return Reuse(inside=placed, at=dim if access.overlaps(dim) else None)


def _bands(structure: Structure, signature: tuple[Reuse, ...]) -> tuple[tuple[str, ...], ...]:
    """A product of bands inside the class, outermost first."""
    everything = frozenset(structure.dims)
    prefixes = sorted({flow.inside for flow in signature} - {everything}, key=len)
    groups = [prefixes[0] if prefixes else everything]
    for prefix, following in pairwise([*prefixes, everything]):
        group = following - prefix
        first = group
        for access, flow in zip(structure.accesses, signature, strict=True):
            if flow.inside == prefix:
                first &= _possible(access, flow)
        if first == group:
            groups.append(group)
        else:
            innermost = next(d for d in reversed(structure.dims) if d in first)
            groups += [frozenset({innermost}), group - {innermost}]
    return tuple(tuple(d for d in structure.dims if d in group) for group in reversed(groups) if group)


def _possible(access: Access, flow: Reuse) -> frozenset[str]:
    """The dims that may stand at the reuse position of a tensor."""
    if flow.at is not None:
        return frozenset({flow.at})
    return frozenset(d for d in access.dims if not access.overlaps(d))


def _dominates(better: DataflowClass, worse: DataflowClass, structure: Structure, rule: CapacityRule) -> bool:
    """Whether `better` moves at most as much of every tensor, pointwise in all sizes.

    For one tensor: it must be reused over at least the same loops, and keep the overlap that the
    other one keeps. The difference is then a product of factors >= 0 (see `dominance.prove`).
    """
    pairs = zip(better.signature, worse.signature, strict=True)
    if not all(y.inside <= x.inside and y.at in (None, x.at) for x, y in pairs):
        return False
    if rule is CapacityRule.TILE:
        return True
    return all(_lighter(a, b) for a, b in zip(_residents(structure, better), _residents(structure, worse), strict=True))


def _residents(structure: Structure, member: DataflowClass) -> tuple[Resident, ...]:
    """The safe working set of a class: it follows from the signature."""
    pairs = zip(structure.accesses, member.signature, strict=True)
    positions = tuple(len(flow.inside) + 1 if access.dims else len(structure.dims) + 1 for access, flow in pairs)
    return residents_at(positions, tuple(flow.at for flow in member.signature))


def _lighter(left: Resident, right: Resident) -> bool:
    """Whether the share of a tensor in one working set never exceeds that in another."""
    return left == right or left.residence is Residence.SINGLE or right.residence is Residence.DOUBLE
