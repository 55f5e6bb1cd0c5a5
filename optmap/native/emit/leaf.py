"""The leaf: what runs at the bottom of the nest, and what it tells the nest.

The nest runs the loops of all levels of the mapping, outermost first. A leaf may take over an innermost run of the
loops of level 0. At the bottom the nest calls what the leaf wrote:

    static inline void ENTRY_tile(T *restrict OUT, const T *restrict IN, ..., long d_DIM, long n_DIM, ...)

with every tensor's buffer whole (not moved to the tile) in the order of the statement, and for every dim in canonical
order the first iteration of the region and the number of iterations, at least one: the tile of level 0 in a dim whose
loop is the nest's, the tile of level 1 (or the share of it, or the whole extent) in a dim that the leaf took.

Regions come in ascending order in every dim. Under `assign` a leaf whose output is `first_touched` starts from zero
wherever all reduction dims of the region start at 0, also where padding leaves nothing to do, and adds to what is
there elsewhere; any other output is filled with zeros before, and always added to. Operations on padding
(`Axis.real`) are not done, and no element outside a buffer is read or written, not even masked ones' neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind, KernelRoles, kernel_roles
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.code import TensorLayout
from optmap.native.emit.names import dim_names, tensor_names
from optmap.native.layouts import activation_layouts
from optmap.workloads.workload import Semantics, Workload

C_TYPES = {32: "float", 64: "double"}
"""C type per size of an element in bits."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a leaf is given: where it will stand."""

    workload: Workload
    mapping: Mapping
    machine: Machine
    """With or without `core`."""
    options: CodeOptions
    entry: str
    """Start of the names of all functions."""

    @cached_property
    def dims(self) -> dict[str, str]:
        """C name per dim, in canonical order: `d_` and `n_` stand before it in the arguments."""
        return dim_names(self.workload)

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """C name per access, output first."""
        return tensor_names(self.workload)

    @cached_property
    def roles(self) -> KernelRoles | None:
        """What the dims are to a vector kernel."""
        return kernel_roles(self.workload, self.options.layout)

    @property
    def lanes(self) -> int:
        """Elements of one vector; 1 if the machine does not say what its core is."""
        core = self.machine.core
        return 1 if core is None else core.lanes(self.workload.output.bits)

    @cached_property
    def activations(self) -> tuple[TensorLayout, ...]:
        """Per access the layout that the user wants; that of the statement for weights, which a leaf may pack."""
        return activation_layouts(self.workload, self.roles, self.options.layout, self.lanes)

    @property
    def types(self) -> tuple[str, ...]:
        """C type per access, output first."""
        return tuple(C_TYPES[tensor.bits] for tensor in self.workload.tensors)

    @property
    def first_touched(self) -> bool:
        """Whether the first visit of a region is known by its reduction dims; else zeros are filled in before."""
        return self.workload.semantics is Semantics.ASSIGN and owned(self.workload)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of the tensors, as functions declare them."""
        consts = ("", *("const " for _ in self.workload.inputs))
        each = zip(consts, self.types, self.tensors, strict=True)
        return tuple(f"{const}{kind} *restrict {name}" for const, kind, name in each)

    @property
    def tile_head(self) -> str:
        """Declaration of the function that a leaf writes."""
        places = (f"long d_{name}, long n_{name}" for name in self.dims.values())
        return f"static inline void {self.entry}_tile({', '.join((*self.arguments, *places))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafCode:
    """What a leaf hands back."""

    kind: KernelKind
    text: str
    """C of the function `Site.tile_head` and of everything that it needs before it."""
    layouts: tuple[TensorLayout, ...]
    """Per access, output first: what `text` reads and writes."""
    packed: tuple[bool, ...]
    """Per access: whether the code itself brings it there from the plain layout (weights)."""
    takes: tuple[str, ...] = ()
    """Dims of the innermost loops of level 0 that the leaf runs itself: the end of its permutation."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""


LeafMaker = Callable[[Site], LeafCode | str]
"""Makes the leaf of a site, or says in words why there is none."""


def owned(workload: Workload) -> bool:
    """Whether every output element belongs to one iteration of the output's dims, and all of them exist."""
    axes = workload.output.axes
    dims = [dim for axis in axes for dim in axis.dims if workload.extents[dim] > 1]
    single = all(len([d for d in axis.dims if workload.extents[d] > 1]) <= 1 for axis in axes)
    unit = all(c == 1 or workload.extents[d] == 1 for axis in axes for d, c in axis.terms)
    return single and unit and len(set(dims)) == len(dims) and all(axis.real is None for axis in axes)
