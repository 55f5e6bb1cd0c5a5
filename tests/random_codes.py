"""Random workloads, mappings and options for emitted code: every family, semantics, padding, layout, split."""

from __future__ import annotations

import random
from dataclasses import replace

from host_machines import HOSTS

from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking
from optmap.kernels.kernel_roles import kernel_roles
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.builders import conv1d, conv2d, matmul, mttkrp
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Padding, Semantics, Workload

MOST = 60_000
"""Operations of one workload."""


def _small(rng: random.Random) -> int:
    return rng.choice((1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23, 31))


def _channels(rng: random.Random) -> int:
    return rng.choice((1, 2, 3, 5, 8, 13, 16, 17, 24, 31, 32, 33, 48, 64, 65))


def _convolution(rng: random.Random) -> Workload:
    kind = rng.choice(("dense", "dense", "groups", "depthwise", "depthwise"))
    r, s = rng.choice((1, 1, 2, 3, 3, 5, 7)), rng.choice((1, 1, 2, 3, 3, 5))
    stride, dilation = (rng.randint(1, 3), rng.randint(1, 3)), (rng.randint(1, 3), rng.randint(1, 3))
    groups = rng.choice((2, 3)) if kind == "groups" else 1
    size = {"h": _small(rng), "w": _small(rng), "n": rng.choice((1, 1, 1, 2, 3))}
    return conv2d(
        **size,
        c=_channels(rng) * groups,
        k=None if kind == "depthwise" else _channels(rng) * groups,
        r=r,
        s=s,
        stride=stride,
        dilation=dilation,
        groups=groups,
        depthwise=kind == "depthwise",
    )


def _affine(rng: random.Random) -> Workload:
    texts = (
        "O[i+j,k] += A[i,2*j+k] * B[j,k]",
        "O[2*i,j] += A[i+k+l] * B[j,l]",
        "O[i] += A[i+j+k] * B[j] * C[k]",
        "O[] += A[i,j] * B[j,i]",
        "O[i,j] += A[i,k] * A[k,j]",
        "O[i,j,k] += A[i,j] * B[j,k]",
        "O[i,j] += A[3*i+2*j]",
        "O[b,j,i] += A[b,i,k] * B[b,k,j]",
        "O[i,j] += A[i+k+2] * B[k+1,j]",
        "O[for,int] += if[for,restrict] * double[restrict,int]",
        "O[i,j] += A[i+k in 1..5] * B[j,k]",
        "O[i+j in 1..6] += A[i] * B[j]",
    )
    text = rng.choice(texts)
    names = sorted({c for c in text if c in "bijkl"} if "for" not in text else {"for", "int", "restrict"})
    return parse_workload(text, {d: rng.randint(2, 9) for d in names})


def _axis(rng: random.Random, dims: list[str], extents: dict[str, int]) -> Subscript:
    """A dim alone, most often, or any sum of dims, an offset, and perhaps a range of real values."""
    chosen = rng.sample(dims, rng.choice((1, 1, 1, 1, 2, 2, 3, 0)) if len(dims) > 2 else 1)
    plain = len(chosen) == 1 and rng.random() < 0.8
    terms = tuple((dim, 1 if plain else rng.randint(1, 3)) for dim in chosen)
    axis = Subscript(terms=terms, offset=rng.choice((0, 0, 0, 1, 2)))
    top = axis.offset + axis.span(extents) - 1
    if terms and rng.random() < (0.05 if len(terms) == 1 else 0.3):
        first = rng.randint(0, top)
        axis = replace(axis, real=(first, rng.randint(max(first, axis.offset), top + 2)))
    return axis


def _any_affine(rng: random.Random) -> Workload:
    """Any accesses: what looks like an outer product in some subscripts and is none in others."""
    dims = list("abcdef"[: rng.randint(2, 6)])
    extents = {dim: rng.choice((1, 2, 3, 4, 5, 7, 9, 17, 19, 33)) for dim in dims}
    names = rng.choice(
        (("O", "A", "B"), ("O", "A", "B"), ("O", "A", "B"), ("O", "A"), ("O", "A", "B", "C"), ("O", "A", "A"))
    )
    rank = rng.randint(1, 4)
    tensors = [
        TensorAccess(
            name=name, axes=tuple(_axis(rng, dims, extents) for _ in range(rank if name == "A" else rng.randint(0, 4)))
        )
        for name in names
    ]
    used = frozenset().union(*(tensor.dims for tensor in tensors))
    spare = tuple(Subscript(terms=((dim, 1),)) for dim in dims if dim not in used)
    tensors[0] = replace(tensors[0], axes=(*tensors[0].axes, *spare))
    return Workload.product(name="any", output=tensors[0], inputs=tuple(tensors[1:]), sizes=tuple(extents.items()))


def random_workload(rng: random.Random, name: str) -> Workload:
    """A workload of at most `MOST` operations."""
    while True:
        made = rng.choice(
            (
                lambda: _convolution(rng),
                lambda: _convolution(rng),
                lambda: _convolution(rng),
                lambda: matmul(i=_small(rng), j=_channels(rng), k=_small(rng)),
                lambda: conv1d(f=_channels(rng), x=_small(rng), c=_small(rng), w=rng.choice((1, 2, 3, 5))),
                lambda: mttkrp(i=_small(rng), j=_small(rng), k=_small(rng), l=_small(rng)),
                lambda: parse_workload(
                    "C[a,b,c,d] += A[a,e,c] * B[e,b,d]",
                    {"a": rng.randint(1, 5), "b": _small(rng), "c": rng.randint(1, 5), "d": 3, "e": _small(rng)},
                ),
                lambda: _affine(rng),
                lambda: _any_affine(rng),
                lambda: _any_affine(rng),
            )
        )()
        if made.operations <= MOST:
            break
    if made.image and rng.random() < 0.6:
        made = made.with_padding(Padding.IMPLICIT)
    bits = rng.choice((32, 32, 32, 64))
    tensors = [replace(tensor, bits=bits) for tensor in made.tensors]
    semantics = rng.choice(list(Semantics))
    return replace(made.with_accesses(tensors), name=name, semantics=semantics)


def random_machine(rng: random.Random) -> Machine:
    """One to four levels of a host, with or without a core, feeding up to three children each."""
    host = HOSTS[rng.choice(("avx512", "avx512", "avx2", "neon"))]
    levels = tuple(
        replace(level, fanout=rng.choice((1, 1, 2, 3)), shared=False) for level in host.levels[: rng.randint(1, 4)]
    )
    return replace(host, levels=levels, core=host.core if rng.random() < 0.9 else None)


def random_mapping(
    rng: random.Random, workload: Workload, machine: Machine, layout: ActivationLayout = ActivationLayout.NHWC
) -> Mapping:
    """Ragged tiles, any order; half of the mappings have a tile of registers as a microkernel wants it."""
    outer = dict(workload.extents)
    levels: list[LevelMapping] = []
    alone = [axis.terms[0][0] for axis in workload.output.axes if len(axis.terms) == 1]
    kernel = rng.random() < 0.6
    for number in range(len(machine.levels) - 1, -1, -1):
        level = machine.levels[number]
        tile = {d: rng.choice((n, rng.randint(1, n), rng.randint(1, n))) for d, n in outer.items()}
        order = list(workload.dims)
        rng.shuffle(order)
        if kernel and number == 0:
            tile, order = _register_tile(rng, workload, machine, outer, layout)
        spatial = {}
        if level.fanout > 1 and alone and rng.random() < 0.5:
            dim = rng.choice(alone)
            spatial = {dim: min(level.fanout, tile[dim])}
        entry = LevelMapping(level=level.name, tile=tile, permutation=tuple(order), spatial=spatial)
        levels.append(entry)
        outer = {d: -(-n // spatial.get(d, 1)) for d, n in tile.items()}
    return Mapping(levels=tuple(reversed(levels)))


def _register_tile(
    rng: random.Random, workload: Workload, machine: Machine, outer: dict[str, int], layout: ActivationLayout
) -> tuple[dict[str, int], list[str]]:
    """A tile with one iteration of every reduction dim, whose loops are innermost, and few points."""
    roles = kernel_roles(workload, layout)
    lanes = 1 if machine.core is None else machine.core.lanes(workload.output.bits)
    tile = dict.fromkeys(workload.dims, 1)
    outputs = [d for d in workload.dims if d not in workload.reduction_dims]
    inner = list(workload.reduction_dims)
    rng.shuffle(outputs)
    rng.shuffle(inner)
    if roles is not None:
        vectors = rng.choice((1, 1, 2, 3, 4))
        tile[roles.vector] = min(outer[roles.vector], rng.choice((vectors * lanes, vectors * lanes, 7)))
        room = rng.randint(1, 28 // vectors)
        for dim in rng.sample(roles.points, len(roles.points)):
            tile[dim] = min(outer[dim], rng.randint(1, room))
            room = max(1, room // tile[dim])
    return tile, [*outputs, *inner]


def random_options(rng: random.Random, machine: Machine) -> CodeOptions:
    """Every choice; blocks of a vector only where there are vectors."""
    layouts = [each for each in ActivationLayout if machine.core is not None or each is not ActivationLayout.BLOCKED]
    return CodeOptions(
        layout=rng.choice(layouts),
        weights=rng.choice(list(WeightPacking)),
        stores=rng.choice(list(StoreKind)),
        prefetch=rng.random() < 0.5,
    )


def random_case(rng: random.Random, name: str) -> tuple[Workload, Machine, Mapping, CodeOptions]:
    """Everything that `emit_code` takes."""
    workload, machine = random_workload(rng, name), random_machine(rng)
    options = random_options(rng, machine)
    return workload, machine, random_mapping(rng, workload, machine, options.layout), options
