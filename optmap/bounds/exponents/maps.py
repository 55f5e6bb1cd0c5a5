"""The linear maps of a workload: one per tensor access, and size maps whose image is known.

A size map costs no memory: the number of its image points over the whole iteration space is a
constant (an extent, the values of a subscript), so it may enter the product inequality at will.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from optmap.base.errors import LimitError
from optmap.bounds.exponents.lattice import Row, canonical
from optmap.bounds.exponents.lifting import DimDigit, LiftedRow, LiftedSpace, Terms, lift_workload
from optmap.workloads.canonical import CanonicalForm, canonical_form
from optmap.workloads.halo import distinct_values
from optmap.workloads.padding import real_values
from optmap.workloads.workload import Padding, Subscript, Workload

Source = DimDigit | tuple[int, ...]
"""A dim or digit, (access, axis), or (access, axis, leaf)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearMap:
    """A linear map on the lifted iteration space."""

    name: str
    """Unique; tensors as `s:In#1`, sizes as `z:dim r`, `z:In#1.0` (subscript) or `z:In#1.0.1` (leaf)."""
    matrix: tuple[Row, ...]
    """Integer rows over the lifted dims."""
    tensor: str | None = None
    """Tensor whose touched elements are the image; None for a size map."""
    access: int = -1
    """Index of the access (0 is the output); -1 for a size map."""
    size: int = 1
    """Image points over the whole iteration space, for a size map."""
    source: Source | None = None
    """What a size map measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSystem:
    """All maps of a workload, the lifted dims and the independent families of dims."""

    space: LiftedSpace
    """Lifts, final dims and the derivation of every subscript."""
    dims: tuple[DimDigit, ...]
    """Lifted dims (digits), in the order of matrix columns."""
    tensors: tuple[LinearMap, ...]
    """One map per distinct access of each tensor (offsets do not matter)."""
    sizes: tuple[LinearMap, ...]
    """Size maps, one per row space, with the smallest size known."""
    families: tuple[tuple[int, ...], ...]
    """Columns of each independent family."""

    @property
    def maps(self) -> tuple[LinearMap, ...]:
        """Tensor maps, then size maps."""
        return (*self.tensors, *self.sizes)


@lru_cache(maxsize=512)
def map_system(workload: Workload) -> MapSystem:
    """The maps of a workload over its lifted iteration space.

    Dims of extent 1 are dropped: they carry no points. Lifts, columns and maps are those of the canonical
    form, under the names given: what is computed from them does not depend on names and order.
    """
    form = canonical_form(workload)
    system = _system(form.workload)
    derivations: list[list[LiftedRow]] = [[] for _ in workload.tensors]
    for c, nodes in enumerate(system.space.derivations):
        placed = sorted(zip(form.axes[c], nodes, strict=True), key=lambda pair: pair[0])
        derivations[form.accesses[c]] = [node.renamed(form.dims) for _, node in placed]
    space = LiftedSpace(
        lifts=tuple(replace(lift, digit=lift.digit.renamed(form.dims)) for lift in system.space.lifts),
        extents={digit.renamed(form.dims): n for digit, n in system.space.extents.items()},
        known={digit.renamed(form.dims): n for digit, n in system.space.known.items()},
        derivations=tuple(tuple(nodes) for nodes in derivations),
    )
    return replace(
        system,
        space=space,
        dims=tuple(space.extents),
        tensors=tuple(_tensor_map(workload, space, form.accesses[m.access]) for m in system.tensors),
        sizes=tuple(_given_size_map(workload, form, m) for m in system.sizes),
    )


@lru_cache(maxsize=512)
def _system(workload: Workload) -> MapSystem:
    """The maps of a workload with the names and in the order that it has."""
    space = lift_workload(workload)
    tensors: dict[tuple[str, tuple[Row, ...]], LinearMap] = {}
    for index, access in enumerate(workload.tensors):
        found = _tensor_map(workload, space, index)
        tensors.setdefault((access.name, canonical(found.matrix)), found)
    sizes: dict[tuple[Row, ...], LinearMap] = {}
    for candidate in _size_maps(workload, space):
        key = canonical(candidate.matrix)
        if key and (key not in sizes or candidate.size < sizes[key].size):
            sizes[key] = candidate
    maps = (*tensors.values(), *sizes.values())
    return MapSystem(
        space=space,
        dims=tuple(space.extents),
        tensors=tuple(tensors.values()),
        sizes=tuple(sizes.values()),
        families=_families([m.matrix for m in maps], len(space.extents)),
    )


def _tensor_map(workload: Workload, space: LiftedSpace, index: int) -> LinearMap:
    name = workload.tensors[index].name
    leaves = [leaf for node in space.derivations[index] for leaf in node.leaves()]
    matrix = _matrix(leaves, tuple(space.extents))
    return LinearMap(name=f"s:{name}#{index}", matrix=matrix, tensor=name, access=index)


def _given_size_map(workload: Workload, form: CanonicalForm, size_map: LinearMap) -> LinearMap:
    """A size map of the canonical form under the names of the workload."""
    if isinstance(size_map.source, DimDigit):
        source: Source = size_map.source.renamed(form.dims)
    else:
        a, x, *leaf = size_map.source or ()
        source = (form.accesses[a], form.axes[a][x], *leaf)
    return _size_map(workload, source, size_map.matrix, size_map.size)


def _size_map(workload: Workload, source: Source, matrix: tuple[Row, ...], size: int) -> LinearMap:
    if isinstance(source, DimDigit):
        name = f"z:dim {source}"
    else:
        name = f"z:{workload.tensors[source[0]].name}#{'.'.join(str(n) for n in source)}"
    return LinearMap(name=name, matrix=matrix, size=size, source=source)


def _matrix(rows: list[Terms], dims: tuple[DimDigit, ...]) -> tuple[Row, ...]:
    return tuple(tuple(row.get(d, 0) for d in dims) for row in rows)


def _size_maps(workload: Workload, space: LiftedSpace) -> Iterator[LinearMap]:
    dims = tuple(space.extents)
    for dim, extent in space.known.items():
        rows = _matrix([{digit: 1} for digit in space.digits(dim)], dims)
        size = 0 if dim.cuts else _real_values(workload, Subscript(terms=((dim.dim, 1),)))
        yield _size_map(workload, dim, rows, size or extent)
    for a, (access, nodes) in enumerate(zip(workload.tensors, space.derivations, strict=True)):
        for x, (axis, node) in enumerate(zip(access.axes, nodes, strict=True)):
            leaves = list(node.leaves())
            size = _real_values(workload, axis) or _values([(c, workload.extents[d]) for d, c in axis.terms])
            if size:
                yield _size_map(workload, (a, x), _matrix(leaves, dims), size)
            for i, leaf in enumerate(leaves):
                size = _values([(c, space.extents[d]) for d, c in leaf.items()])
                if size and len(leaf) > 1 and len(leaves) > 1:
                    yield _size_map(workload, (a, x, i), _matrix([leaf], dims), size)


def _real_values(workload: Workload, axis: Subscript) -> int:
    """Values of a subscript without implicit padding; 0 if there is none, or too many to count."""
    return (real_values(workload, axis) or 0) if workload.padding is Padding.IMPLICIT else 0


def _values(row: list[tuple[int, int]]) -> int:
    """Distinct values of a row of (coefficient, extent); 0 if they are too many to count, which costs the map."""
    try:
        return distinct_values(tuple(c for c, _ in row), tuple(n for _, n in row))
    except LimitError:
        return 0


def _families(matrices: list[tuple[Row, ...]], width: int) -> tuple[tuple[int, ...], ...]:
    """Connected components of the columns that occur together in a row of a reduced matrix."""
    parent = list(range(width))

    def find(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for matrix in matrices:
        for row in canonical(matrix):
            support = [i for i, v in enumerate(row) if v]
            for other in support[1:]:
                parent[find(other)] = find(support[0])
    groups: dict[int, list[int]] = {}
    for i in range(width):
        groups.setdefault(find(i), []).append(i)
    return tuple(tuple(group) for group in groups.values())
