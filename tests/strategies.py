"""Hypothesis strategies for random workloads, tiles, loop orders, machines and mappings.

Every workload strategy takes `max_extent` (largest extent of a dim) and `max_operations` (largest
product of the extents), so that a test can walk the loop nest. Import with
`from strategies import workloads`.
"""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from optmap.base.errors import StatementError
from optmap.machines.machine import Level, Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.domain import Comparator, Condition
from optmap.workloads.expression import Apply, Constant, OperandSeries, Read, Statistic
from optmap.workloads.statement import Statement, Update, multiply
from optmap.workloads.workload import Semantics, Workload

MAX_OPERATIONS = 4096

semantics = st.sampled_from(list(Semantics))


def _axis(*terms: tuple[str, int], offset: int = 0) -> Subscript:
    return Subscript(terms=terms, offset=offset)


def _access(name: str, dims: str) -> TensorAccess:
    return TensorAccess(name=name, axes=tuple(_axis((d, 1)) for d in dims))


@st.composite
def extents(draw, dims, max_extent=8, max_operations=MAX_OPERATIONS):
    """An extent per dim whose product stays within `max_operations`, as (dim, extent) pairs."""
    budget = max_operations
    chosen = {}
    for dim in draw(st.permutations(list(dims))):
        chosen[dim] = draw(st.integers(1, max(1, min(max_extent, budget))))
        budget //= chosen[dim]
    return tuple((d, chosen[d]) for d in dims)


@st.composite
def matmuls(draw, max_extent=8, max_operations=MAX_OPERATIONS):
    """C[i,j] += A[i,k] * B[k,j]."""
    return Workload.product(
        name="matmul",
        output=_access("C", "ij"),
        inputs=(_access("A", "ik"), _access("B", "kj")),
        sizes=draw(extents("ijk", max_extent, max_operations)),
        semantics=draw(semantics),
    )


@st.composite
def contractions(draw, max_extent=8, max_operations=MAX_OPERATIONS, max_dims=5):
    """Contractions of two or three inputs in which every dim is in one or more tensors."""
    count = draw(st.integers(2, 3))
    dims = "abcdefg"[: draw(st.integers(2, max_dims))]
    members = {d: draw(st.sets(st.integers(0, count), min_size=1)) for d in dims}
    tensors = [
        _access("Out" if t == 0 else "ABC"[t - 1], [d for d in dims if t in members[d]]) for t in range(count + 1)
    ]
    return Workload.product(
        name="contraction",
        output=tensors[0],
        inputs=tuple(tensors[1:]),
        sizes=draw(extents(dims, max_extent, max_operations)),
        semantics=draw(semantics),
    )


def _window(draw, position, tap, max_stride, max_dilation):
    stride = draw(st.integers(1, max_stride))
    dilation = draw(st.integers(1, max_dilation))
    return _axis((position, stride), (tap, dilation))


@st.composite
def convolutions_1d(draw, max_extent=8, max_operations=MAX_OPERATIONS, max_stride=3, max_dilation=3):
    """Out[f,x] += Image[c,sx*x+dw*w] * Filter[f,c,w] with random stride and dilation."""
    image = TensorAccess(name="Image", axes=(_axis(("c", 1)), _window(draw, "x", "w", max_stride, max_dilation)))
    return Workload.product(
        name="conv1d",
        output=_access("Out", "fx"),
        inputs=(image, _access("Filter", "fcw")),
        sizes=draw(extents("fxcw", max_extent, max_operations)),
        semantics=draw(semantics),
    )


@st.composite
def convolutions_2d(draw, max_extent=8, max_operations=MAX_OPERATIONS, max_stride=3, max_dilation=3):
    """A 2-d convolution, dense or depthwise, with random strides and dilations."""
    depthwise = draw(st.booleans())
    rows = _window(draw, "h", "r", max_stride, max_dilation)
    columns = _window(draw, "w", "s", max_stride, max_dilation)
    image = TensorAccess(name="In", axes=(_axis(("n", 1)), _axis(("c", 1)), rows, columns))
    dims = "ncrshw" if depthwise else "nkcrshw"
    return Workload.product(
        name="depthwise" if depthwise else "conv2d",
        output=_access("Out", "nchw" if depthwise else "nkhw"),
        inputs=(image, _access("Ker", "crs" if depthwise else "kcrs")),
        sizes=draw(extents(dims, max_extent, max_operations)),
        semantics=draw(semantics),
    )


@st.composite
def _affine_access(draw, name, dims, max_coefficient):
    axes = []
    for _ in range(draw(st.integers(0, 3))):
        chosen = draw(st.lists(st.sampled_from(dims), unique=True, min_size=0, max_size=3))
        terms = tuple((d, draw(st.integers(1, max_coefficient))) for d in chosen)
        axes.append(Subscript(terms=terms, offset=draw(st.integers(0, 2))))
    return TensorAccess(name=name, axes=tuple(axes))


@st.composite
def affine_workloads(draw, max_extent=6, max_operations=MAX_OPERATIONS, max_coefficient=4, max_dims=4):
    """Arbitrary affine accesses: three-term subscripts, gaps, a dim in two subscripts, scalars."""
    dims = list("ijklm"[: draw(st.integers(1, max_dims))])
    names = ["Out", "A", "B"][: draw(st.integers(2, 3))]
    tensors = [draw(_affine_access(name, dims, max_coefficient)) for name in names]
    used = frozenset().union(*(t.dims for t in tensors))
    unused = [d for d in dims if d not in used]
    if unused:  # every dim must occur somewhere: give the last input an axis for each
        last = tensors[-1]
        tensors[-1] = TensorAccess(name=last.name, axes=(*last.axes, *(_axis((d, 1)) for d in unused)))
    return Workload.product(
        name="affine",
        output=tensors[0],
        inputs=tuple(tensors[1:]),
        sizes=draw(extents(dims, max_extent, max_operations)),
        semantics=draw(semantics),
    )


@st.composite
def _right_sides(draw, count, dims):
    """An expression that reads so many inputs, once each and in order; row functions are along one of `dims`."""

    def over(first, stop):
        if stop - first == 1:
            node = Read(first)
        else:
            middle = draw(st.integers(first + 1, stop - 1))
            sign = draw(st.sampled_from("+-**/"))
            node = OperandSeries(over(first, middle), ((sign, over(middle, stop)),))
        match draw(st.sampled_from(["", "", "", "number", "function", "row"])):
            case "number":
                number = Constant(draw(st.sampled_from(["2", "0.125", "10", "003.50"])))
                parts = draw(st.permutations([node, number]))
                node = OperandSeries(parts[0], ((draw(st.sampled_from("+-*/")), parts[1]),))
            case "function":
                node = Apply(draw(st.sampled_from(["relu", "exp", "scale"])), (node,))
            case "row" if dims:
                name, statistic = draw(st.sampled_from(["softmax", "rmsnorm"])), draw(st.sampled_from(list(Statistic)))
                node = Apply(name, (node,), draw(st.sampled_from(dims)), statistic)
        return node

    return over(0, count)


@st.composite
def _conditions(draw, dims):
    def side():
        chosen = draw(st.lists(st.sampled_from(dims), unique=True, max_size=2))
        return Subscript(terms=tuple((d, draw(st.integers(1, 3))) for d in chosen), offset=draw(st.integers(0, 3)))

    left, right = side(), side()
    made = Condition(left=left, relation=draw(st.sampled_from(list(Comparator))), right=right)
    return made if made.dims else None


@st.composite
def _statements(draw, name, dims, earlier):
    """A statement of any kind that reads new tensors and what earlier ones write."""
    inputs = []
    for number in range(draw(st.integers(1, 3))):
        old = draw(st.sampled_from([None, *(access for access in earlier if access.dims)]))
        chosen = draw(st.lists(st.sampled_from(dims), unique=True, min_size=1, max_size=3))
        inputs.append(_access(f"I{name}{number}", chosen) if old is None else old)
    mine = sorted(set().union(*(access.dims for access in inputs)))
    output = _access(name, draw(st.lists(st.sampled_from(mine), unique=True, max_size=3)))
    domain = tuple(c for c in draw(st.lists(_conditions(mine), max_size=2)) if c)
    try:
        return Statement(
            output=output,
            inputs=tuple(inputs),
            right=draw(_right_sides(len(inputs), mine)),
            update=draw(st.sampled_from([Update.SUM, Update.SUM, Update.MAX, Update.MIN])),
            domain=domain,
        )
    except StatementError:  # of no kind that there is
        return multiply(output, tuple(inputs))


@st.composite
def chains(draw, max_statements=4, max_extent=6):
    """One to several statements of all kinds, with outputs named beside those that nothing reads."""
    dims, made = list("abcde"), []
    for number in range(draw(st.integers(1, max_statements))):
        made.append(draw(_statements(f"T{number}", dims, [each.output for each in made])))
    used = set().union(*(each.dims for each in made))
    workload = Workload(
        name="chain",
        statements=tuple(made),
        sizes=tuple((d, draw(st.integers(1, max_extent))) for d in dims if d in used),
        semantics=draw(semantics),
    )
    return workload.with_outputs(draw(st.lists(st.sampled_from([each.name for each in made]), unique=True)))


def workloads(max_extent=6, max_operations=MAX_OPERATIONS):
    """Any of the workloads above."""
    families = (matmuls, contractions, convolutions_1d, convolutions_2d, affine_workloads)
    return st.one_of(*(family(max_extent=max_extent, max_operations=max_operations) for family in families))


@st.composite
def tiles(draw, problem):
    """A tile inside `problem` (extent per dim)."""
    return {d: draw(st.integers(1, n)) for d, n in problem.items()}


def loop_orders(workload):
    """A loop order, outermost first."""
    return st.permutations(list(workload.dims)).map(tuple)


@st.composite
def machines(draw, max_levels=3, max_words=512, max_fanout=1):
    """A machine with growing capacities in words; fanouts above one only if allowed."""
    count = draw(st.integers(1, max_levels))
    words = sorted(draw(st.lists(st.integers(4, max_words), min_size=count, max_size=count)))
    return Machine(
        name="random",
        levels=tuple(
            Level(
                name=f"L{i + 1}",
                capacity=Capacity(amount=words[i], unit="words"),
                bandwidth=float(draw(st.integers(1, 64))),
                fanout=draw(st.integers(1, max_fanout)),
            )
            for i in range(count)
        ),
    )


@st.composite
def mappings(draw, workload, machine):
    """A mapping with nested tiles and random loop orders; capacities are not looked at.

    Every level with a fanout splits at most one dim, never a reduction.
    """
    outer = workload.extents
    levels = []
    for level in reversed(machine.levels):
        tile = draw(tiles(outer))
        spatial = {}
        parallel = [d for d in workload.dims if d not in workload.reduction_dims]
        if level.fanout > 1 and parallel:
            dim = draw(st.sampled_from(parallel))
            spatial = {dim: draw(st.integers(1, min(level.fanout, tile[dim])))}
        order = draw(loop_orders(workload))
        levels.append(LevelMapping(level=level.name, tile=tile, permutation=order, spatial=spatial))
        outer = {d: -(-n // spatial.get(d, 1)) for d, n in tile.items()}
    return Mapping(levels=tuple(reversed(levels)))


def renamed(workload: Workload, rng: random.Random) -> Workload:
    """The same computation with other names, and inputs, dims, subscripts and terms in another order."""
    pool = [f"{c}{n}" for c in "qzA" for n in range(9)]
    dims = dict(zip(workload.dims, rng.sample(pool, len(workload.dims)), strict=True))
    ranks = {t.name: len(t.axes) for t in workload.tensors}
    names = dict(zip(ranks, rng.sample(pool, len(ranks)), strict=True))
    places = {name: rng.sample(range(n), n) for name, n in ranks.items()}

    def axis(given_axis: Subscript) -> Subscript:
        return replace(
            given_axis, terms=tuple((dims[d], c) for d, c in rng.sample(given_axis.terms, len(given_axis.terms)))
        )

    def access(t: TensorAccess) -> TensorAccess:
        return replace(t, name=names[t.name], axes=tuple(axis(t.axes[x]) for x in places[t.name]))

    inputs = [access(t) for t in rng.sample(workload.inputs, len(workload.inputs))]
    sizes = rng.sample([(dims[d], n) for d, n in workload.sizes], len(workload.sizes))
    return workload.with_accesses([access(workload.output), *inputs], sizes=tuple(sizes), image=())
