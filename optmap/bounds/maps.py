"""The linear maps of a workload: one per tensor access, and size maps whose image is known.

A size map costs no memory: the number of its image points over the whole iteration space is a
constant (an extent, the values of a subscript), so it may enter the product inequality at will.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from optmap.bounds.lattice import Row, canonical
from optmap.bounds.lifting import Digit, LiftedSpace, Terms, lift_workload
from optmap.errors import LimitError
from optmap.problem.footprint import distinct_values
from optmap.problem.padding import real_values
from optmap.problem.workload import Axis, Padding, Workload


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
    source: tuple[str, tuple[int, ...] | str] | None = None
    """What a size map measures: ("dim", name), ("axis", (access, axis)) or ("leaf", (access, axis, leaf))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSystem:
    """All maps of a workload, the lifted dims and the independent families of dims."""

    space: LiftedSpace
    """Lifts, final dims and the derivation of every subscript."""
    dims: tuple[Digit, ...]
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


def map_system(workload: Workload) -> MapSystem:
    """The maps of a workload over its lifted iteration space.

    Dims of extent 1 are dropped: they carry no points.
    """
    space = lift_workload(workload)
    dims = tuple(space.extents)
    tensors: dict[tuple[str, tuple[Row, ...]], LinearMap] = {}
    for index, (access, nodes) in enumerate(zip(workload.tensors, space.derivations, strict=True)):
        matrix = _matrix([leaf for node in nodes for leaf in node.leaves()], dims)
        found = LinearMap(name=f"s:{access.name}#{index}", matrix=matrix, tensor=access.name, access=index)
        tensors.setdefault((access.name, canonical(matrix)), found)
    sizes: dict[tuple[Row, ...], LinearMap] = {}
    for candidate in _size_maps(workload, space):
        key = canonical(candidate.matrix)
        if key and (key not in sizes or candidate.size < sizes[key].size):
            sizes[key] = candidate
    maps = (*tensors.values(), *sizes.values())
    return MapSystem(
        space=space,
        dims=dims,
        tensors=tuple(tensors.values()),
        sizes=tuple(sizes.values()),
        families=_families([m.matrix for m in maps], len(dims)),
    )


def _matrix(rows: list[Terms], dims: tuple[Digit, ...]) -> tuple[Row, ...]:
    return tuple(tuple(row.get(d, 0) for d in dims) for row in rows)


def _size_maps(workload: Workload, space: LiftedSpace) -> Iterator[LinearMap]:
    dims = tuple(space.extents)
    for dim, extent in space.known.items():
        rows = _matrix([{digit: 1} for digit in space.digits(dim)], dims)
        size = 0 if dim.cuts else _real_values(workload, Axis(terms=((dim.dim, 1),)))
        yield LinearMap(name=f"z:dim {dim}", matrix=rows, size=size or extent, source=("dim", str(dim)))
    for a, (access, nodes) in enumerate(zip(workload.tensors, space.derivations, strict=True)):
        for x, (axis, node) in enumerate(zip(access.axes, nodes, strict=True)):
            leaves = list(node.leaves())
            size = _real_values(workload, axis) or _values([(c, workload.extents[d]) for d, c in axis.terms])
            if size:
                name = f"z:{access.name}#{a}.{x}"
                yield LinearMap(name=name, matrix=_matrix(leaves, dims), size=size, source=("axis", (a, x)))
            for i, leaf in enumerate(leaves):
                size = _values([(c, space.extents[d]) for d, c in leaf.items()])
                if size and len(leaf) > 1 and len(leaves) > 1:
                    name = f"z:{access.name}#{a}.{x}.{i}"
                    yield LinearMap(name=name, matrix=_matrix([leaf], dims), size=size, source=("leaf", (a, x, i)))


def _real_values(workload: Workload, axis: Axis) -> int:
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
