"""A workload up to names and order: bounds and convex programs are made of one form of all that mean the same.

Dims are told apart by what they do (extents, subscripts, tensors), refined until nothing changes; what is
still alike is either interchangeable, so that any choice gives the same form, or tried in every way, and the
least form wins. Tensors, inputs and subscripts follow from the order of the dims.

Subscripts are ordered access by access. So a form is a workload to derive the maps of single accesses and
subscripts from, which do not depend on it; which elements two accesses of a tensor share does (`A[i,j]` and
`A[j,i]` become one), and is counted on the workload as it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from optmap.workloads.workload import Subscript, TensorAccess, Workload

LEAVES = 64
"""Orders of dims that are compared; only workloads with many symmetries beyond interchangeable dims have more."""

Labels = Mapping[str, int]
"""A number per dim; equal numbers are not told apart."""
Terms = tuple[tuple[str, int], ...]
"""Dims of a subscript with their coefficients."""
Key = tuple[Any, ...]
"""Nested tuples of whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalForm:
    """A workload in canonical names and order, and the way back."""

    workload: Workload
    """Dims d0, d1 …, tensors T0 (the output), T1 …; the same for all workloads that mean the same."""
    dims: dict[str, str]
    """Given name per canonical dim."""
    accesses: tuple[int, ...]
    """Position in the given workload of every canonical access."""
    axes: tuple[tuple[int, ...], ...]
    """Per canonical access: position in the given access of every canonical axis."""

    def subscripts(self) -> dict[int, tuple[Terms, ...]]:
        """Per position of an access in the given workload its subscripts: given dims, canonical order throughout."""
        return {
            position: tuple(tuple((self.dims[d], c) for d, c in axis.terms) for axis in access.axes)
            for position, access in zip(self.accesses, self.workload.tensors, strict=True)
        }


@lru_cache(maxsize=1024)
def canonical_form(workload: Workload) -> CanonicalForm:
    """The form that a workload shares with all its renamings and reorderings of dims, inputs and subscripts."""
    candidates = islice(_labellings(workload, dict.fromkeys(workload.dims, 0)), LEAVES)
    labels = min(candidates, key=lambda labels: _structure(workload, labels))
    given = {f"d{k}": dim for k, dim in enumerate(sorted(workload.dims, key=lambda d: labels[d]))}
    names = {dim: name for name, dim in given.items()}
    keys = _tensor_keys(workload, labels)
    own = [_access_key(access, i, labels) for i, access in enumerate(workload.tensors)]
    first = {access.name: i for i, access in reversed(list(enumerate(workload.tensors)))}
    order = sorted(
        range(len(workload.tensors)),
        key=lambda i: (i > 0, keys[workload.tensors[i].name], first[workload.tensors[i].name], own[i]),
    )
    tensors: dict[str, str] = {}
    accesses, positions = [], []
    for i in order:
        access = workload.tensors[i]
        axes = sorted(range(len(access.axes)), key=lambda x: _axis_key(access.axes[x], labels))
        name = tensors.setdefault(access.name, f"T{len(tensors)}")
        accesses.append(replace(access, name=name, axes=tuple(_renamed(access.axes[x], names, labels) for x in axes)))
        positions.append(tuple(axes))
    form = Workload.product(
        name="",
        output=accesses[0],
        inputs=tuple(accesses[1:]),
        sizes=tuple((name, workload.extents[dim]) for name, dim in given.items()),
        semantics=workload.semantics,
    )
    return CanonicalForm(workload=form, dims=given, accesses=tuple(order), axes=tuple(positions))


def in_common_order(workload: Workload) -> Workload:
    """A workload with its own names, dims and inputs in an order that it shares with all its renamings and reorderings.

    What a search meets first, of several that are alike, then depends neither on names nor on the order given.
    Accesses of one tensor keep their order, so that their names stay (`access_names`).

    Args:
        workload: any workload.
    """
    form, tensors, extents = canonical_form(workload), workload.tensors, workload.extents
    ranks: dict[str, int] = {}
    for position in form.accesses:
        ranks.setdefault(tensors[position].name, len(ranks))
    order = sorted(range(len(tensors)), key=lambda i: (i > 0, ranks[tensors[i].name], i))
    return workload.with_accesses(
        [tensors[i] for i in order],
        sizes=tuple((dim, extents[dim]) for dim in form.dims.values()),
        image=tuple(workload.image[i] for i in order) if workload.image else (),
    )


def _renamed(axis: Subscript, names: Mapping[str, str], labels: Labels) -> Subscript:
    terms = sorted(axis.terms, key=lambda term: labels[term[0]])
    return replace(axis, terms=tuple((names[d], c) for d, c in terms))


def _labellings(workload: Workload, labels: Labels) -> Iterator[Labels]:
    """Different labels for all dims, up to interchangeable dims."""
    labels = _refined(workload, labels)
    cells: dict[int, list[str]] = {}
    for dim in workload.dims:
        cells.setdefault(labels[dim], []).append(dim)
    cell = next((cells[label] for label in sorted(cells) if len(cells[label]) > 1), None)
    if cell is None:
        yield labels
        return
    apart = {d: len(labels) * label for d, label in labels.items()}
    first, *others = cell
    distinct = {d: k for k, d in enumerate(workload.dims)}
    structure = _structure(workload, distinct)

    def interchangeable(a: str, b: str) -> bool:
        return _structure(workload, {**distinct, a: distinct[b], b: distinct[a]}) == structure

    if all(interchangeable(first, d) for d in others):
        yield from _labellings(workload, {**apart, **{d: apart[d] + k for k, d in enumerate(cell)}})
        return
    tried: list[str] = []
    for dim in cell:
        if not any(interchangeable(dim, other) for other in tried):
            tried.append(dim)
            yield from _labellings(workload, {**apart, **{d: apart[d] + 1 for d in cell if d != dim}})


def _refined(workload: Workload, labels: Labels) -> Labels:
    """Labels that tell apart whatever extents, subscripts and tensors tell apart."""
    while True:
        found: dict[str, list[Key]] = {d: [] for d in workload.dims}
        tensors = _tensor_keys(workload, labels)
        for i, access in enumerate(workload.tensors):
            mine = _access_key(access, i, labels)
            for axis in access.axes:
                here = _axis_key(axis, labels)
                for d, c in axis.terms:
                    found[d].append((c, here, mine, tensors[access.name]))
        signs = {d: (labels[d], n, tuple(sorted(found[d]))) for d, n in workload.sizes}
        ranks = {sign: k for k, sign in enumerate(sorted(set(signs.values())))}
        refined = {d: ranks[sign] for d, sign in signs.items()}
        if len(ranks) == len(set(labels.values())):
            return refined
        labels = refined


def _structure(workload: Workload, labels: Labels) -> Key:
    """Everything about a workload but names and order."""
    sizes = tuple(sorted((labels[d], n) for d, n in workload.sizes))
    return (workload.semantics.value, sizes, tuple(sorted(_tensor_keys(workload, labels).values())))


def _tensor_keys(workload: Workload, labels: Labels) -> dict[str, Key]:
    """Per tensor its element size and accesses."""
    found: dict[str, list[Key]] = {}
    for i, access in enumerate(workload.tensors):
        found.setdefault(access.name, []).append((workload.weight(access), _access_key(access, i, labels)))
    return {name: tuple(sorted(keys)) for name, keys in found.items()}


def _access_key(access: TensorAccess, index: int, labels: Labels) -> Key:
    return (index > 0, tuple(sorted(_axis_key(axis, labels) for axis in access.axes)))


def _axis_key(axis: Subscript, labels: Labels) -> Key:
    return (tuple(sorted((labels[d], c) for d, c in axis.terms)), axis.offset, axis.real or ())
