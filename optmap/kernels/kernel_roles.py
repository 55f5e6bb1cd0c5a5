"""What the dims and operands of a workload are to a kernel that keeps a tile of the output in vector registers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod

from optmap.kernels.code_options import ActivationLayout
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import TensorAccess, Workload

Sizes = Table[str, int]
"""Iterations per dim."""
MOST_VECTORS = 4
"""Beside each other, in tiles that are more than the registers hold."""


class KernelKind(StrEnum):
    """What runs innermost."""

    OUTER_PRODUCT = "outer-product"
    """Vectors of one operand times scalars of another: dense layers, matrix products, contractions."""
    DEPTHWISE = "depthwise"
    """Vectors times vectors, element by element: every operand has the vector dim. Where rows of the image are
    fastest in memory, vectors along them times elements that are the same in every lane."""
    PLAIN = "plain"
    """Loops over scalars, as the compiler takes them: any other affine workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRoles:
    """Which dim is cut into vectors, which operand is read as vectors, and what every other dim is.

    `vector`, `filters`, `points` and `shared` are together the dims of the output.
    """

    kind: KernelKind
    """`outer-product` or `depthwise`."""
    vector: str
    """A dim of the output, alone in its subscripts: in the weights only, or in every operand if depthwise; along rows
    in the output and, perhaps in a window, in the image."""
    weights: int
    """Number among the workload's tensors, of which the output is the first, of the operand that has the vector dim:
    loaded as vectors (along rows, that has not: its elements are broadcast)."""
    images: int
    """Number of the other operand: its elements are broadcast, or loaded as vectors if depthwise."""
    filters: tuple[str, ...]
    """Further dims of the output that the weights have and the image has not."""
    points: tuple[str, ...]
    """Dims of the output that the image has and the weights have not."""
    shared: tuple[str, ...]
    """Dims of the output that both have, the vector dim apart: groups, the batch of a batched product."""
    reduction: tuple[str, ...]
    """Dims that the output has not."""
    apart: int | None = None
    """Depthwise along rows: elements of the image from one lane to the next. None in all other cases."""

    @property
    def packed(self) -> int | None:
        """Number of the tensor that code packs in the order in which it is read: the weights, but not along rows."""
        return self.weights if self.apart is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterShape:
    """The tile of the output that a kernel keeps in registers."""

    vectors: int
    """Along the vector dim, the last one filled up."""
    points: int
    """Elements of the other dims of the output, per lane."""

    @property
    def registers(self) -> int:
        """Needed: a sum per vector and point, the weights of a step, and one for the image's element."""
        return self.vectors * self.points + self.vectors + 1


def kernel_roles(workload: Workload, layout: ActivationLayout = ActivationLayout.NHWC) -> KernelRoles | None:
    """Roles for a vector kernel (MOpt section 6).

    Outer product: the pairs of `outer_product_dims`, the first whose vector dim can be one. Else depthwise: a dim
    that all three tensors have, the last of the output; or if the layout leaves rows fastest, the dim along them.

    Args:
        workload: the tensor computation.
        layout: of image and output; vectors of depthwise layers follow it.

    Returns:
        None without such dims: more than two operands, every candidate inside a window or with a coefficient, an
        output dim that no operand has, padding anywhere but in the image.
    """
    if len(workload.inputs) != 2:
        return None
    for vector, _ in outer_product_dims(workload):
        weights = 1 if vector in workload.inputs[0].dims else 2
        if all(_is_alone(tensor, vector) for tensor in (workload.output, workload.tensors[weights])):
            return _checked(workload, _roles(workload, KernelKind.OUTER_PRODUCT, vector, weights))
    for vector in reversed(_output_order(workload)):
        if all(_is_alone(tensor, vector) for tensor in workload.tensors):
            output = workload.output.dims
            first, second = (tensor.dims & output for tensor in workload.inputs)
            roles = _checked(workload, _roles(workload, KernelKind.DEPTHWISE, vector, 1 if first < second else 2))
            return _along_rows(workload, roles) if roles and layout is ActivationLayout.NCHW else roles
    return None


def _along_rows(workload: Workload, roles: KernelRoles) -> KernelRoles:
    """Vectors along the last subscript of output and image, if a dim of both and not of the weights runs there."""
    image, dims = workload.tensors[roles.images], workload.output.axes[-1].dims
    steps = [dict(axis.terms).get(dims[-1]) for axis in image.axes] if dims else []
    alone = bool(steps) and _is_alone(workload.output, dims[-1]) and all(step is None for step in steps[:-1])
    if not alone or steps[-1] is None or dims[-1] not in roles.points or workload.extents[dims[-1]] == 1:
        return roles
    return replace(
        roles,
        vector=dims[-1],
        apart=steps[-1],
        points=tuple(dim for dim in roles.points if dim != dims[-1]),
        shared=tuple(dim for dim in workload.dims if dim in (*roles.shared, roles.vector)),
    )


def kernel_parts(roles: KernelRoles, sizes: Sizes, *, lanes: int, registers: int) -> dict[str, int]:
    """Largest part of a tile of the output that one outer-product kernel computes, per dim of the output.

    A tile that the registers hold is computed as a whole. Of another one as many vectors as are beside each other in
    good kernels, and as many points as there is room for then, those of the last dims first; all parts of a dim are
    as even as can be. What only weights depend on beside the vectors, or both operands, is computed one by one.

    Args:
        roles: of an outer product.
        sizes: of the tile, per dim of the output.
        lanes: of a vector.
        registers: of the core, for vectors.
    """
    found = {**sizes, **dict.fromkeys((*roles.filters, *roles.shared), 1)}
    vectors = -(-sizes[roles.vector] // lanes)
    if RegisterShape(vectors=vectors, points=prod(sizes[dim] for dim in roles.points)).registers > registers:
        if vectors > MOST_VECTORS:
            vectors = -(-vectors // -(-vectors // MOST_VECTORS))
            found[roles.vector] = vectors * lanes
        room = max((registers - 1 - vectors) // vectors, 1)
        for dim in reversed(roles.points):
            found[dim] = -(-sizes[dim] // -(-sizes[dim] // room))
            room //= found[dim]
    return found


def taken_dims(workload: Workload, mapping: Mapping, wanted: Collection[str]) -> tuple[str, ...]:
    """The dims of an innermost run of the loops of level 0, all of them wanted and none split there, outermost first.

    Loops with one trip are in nobody's way: they may stand between, wanted or not.

    Args:
        workload: its extents are the tile outside the outermost level.
        mapping: whose innermost level is the registers.
        wanted: dims whose loops a kernel would run itself.
    """
    inner, *outer = mapping.levels
    taken: list[str] = []
    for dim in reversed(inner.permutation):
        whole = -(-outer[0].tile[dim] // outer[0].spatial.get(dim, 1)) if outer else workload.extents[dim]
        if dim in wanted and inner.spatial.get(dim, 1) == 1:
            taken.append(dim)
        elif inner.tile[dim] < whole:
            break
    return tuple(reversed(taken))


def is_one_wide(workload: Workload, mapping: Mapping, roles: KernelRoles) -> bool:
    """Whether tiles of a mapping have one element along the vector dim: a depthwise kernel has no vectors then.

    Args:
        workload: the tensor computation.
        mapping: whose tiles are looked at, all levels of them.
        roles: name the vector dim.
    """
    return any(level.tile[roles.vector] == 1 < workload.extents[roles.vector] for level in mapping.levels)


def outer_product_dims(workload: Workload) -> Iterator[tuple[str, str]]:
    """Pairs (vector, broadcast) of output dims of which one input has the first only and another the second only.

    Best first: dims that stand alone in every subscript come first for the vector (a window cannot be a vector), then
    later dims of the output, which are closer together in memory; likewise for the broadcast.
    """
    order = _output_order(workload)
    windowed = {d for t in workload.tensors for axis in t.axes if len(axis.terms) > 1 for d in axis.dims}
    for vector in sorted(order, key=lambda dim: (dim not in windowed, order.index(dim)), reverse=True):
        for broadcast in reversed(order):
            has_vector = any(vector in t.dims and broadcast not in t.dims for t in workload.inputs)
            if has_vector and any(broadcast in t.dims and vector not in t.dims for t in workload.inputs):
                yield vector, broadcast


def _output_order(workload: Workload) -> list[str]:
    return [dim for axis in workload.output.axes for dim in axis.dims]


def _is_alone(tensor: TensorAccess, dim: str) -> bool:
    """Whether a dim is in one subscript of a tensor, and is all of it but an offset."""
    return [axis.terms for axis in tensor.axes if dim in axis.dims] == [((dim, 1),)]


def _roles(workload: Workload, kind: KernelKind, vector: str, weights: int) -> KernelRoles:
    images = 3 - weights
    has, other = workload.tensors[weights].dims, workload.tensors[images].dims
    rest = [dim for dim in workload.dims if dim in workload.output.dims and dim != vector]
    return KernelRoles(
        kind=kind,
        vector=vector,
        weights=weights,
        images=images,
        filters=tuple(dim for dim in rest if dim in has and dim not in other),
        points=tuple(dim for dim in rest if dim in other and dim not in has),
        shared=tuple(dim for dim in rest if dim in has and dim in other),
        reduction=workload.reduction_dims,
    )


def _checked(workload: Workload, roles: KernelRoles) -> KernelRoles | None:
    """The roles, if every output dim has one and padding is nowhere but in the image."""
    named = 1 + len(roles.filters) + len(roles.points) + len(roles.shared)
    others = (workload.output, workload.tensors[roles.weights])
    padded = any(axis.real is not None for tensor in others for axis in tensor.axes)
    depthwise = roles.kind is KernelKind.DEPTHWISE
    if named != len(workload.output.dims) or padded or (depthwise and roles.filters):
        return None
    return roles
