"""C for a mapping tree: its loops, and at every leaf plain loops over what they leave of its statement.

What a tree keeps of inputs and outputs is for the caches to keep; what it keeps of an intermediate is a block of the
workspace, as large as what one iteration of the loops around all leaves that touch it makes and uses.

Trees move words, machines lines: what is written is the tree with steps of a line where it has steps of 1 along lines
of some tensor. In a leaf the dim along which most tensors are contiguous is innermost.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from optmap.base.errors import InputError
from optmap.count.trees import check_boxes
from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.nodes import Address, Compute, Keep, Loop, Node, Sequence, is_above
from optmap.mappings.tree import MappingTree
from optmap.native.code import ALIGNMENT, Code
from optmap.native.emit.entry import write_head
from optmap.native.emit.functions import FunctionTexts
from optmap.native.emit.indices import element_text
from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.names import c_names, dim_names, entry_name
from optmap.native.emit.nest import DimRegion, tile_loop
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of, plain_layouts
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement, Update
from optmap.workloads.workload import Semantics, Workload

Regions = Mapping[str, DimRegion]
"""What is left of every dim."""
LINE_BITS = 8 * ALIGNMENT
"""Of a line of a cache."""


def tree_code(workload: Workload, tree: MappingTree, machine: Machine, options: CodeOptions) -> Code:
    """C11 for one core, with the loops of a mapping tree.

    Args:
        workload: the tree's, or the same with other semantics.
        tree: the mapping; only its nodes are used.
        machine: that it belongs to.
        options: all defaults: layouts, packing and stores are of code for one statement.

    Raises:
        InputError: for other options, more than one output, a function of rows, a maximum or minimum over a dim,
            elements that are no float or double, or a buffer that cannot be addressed.
        UnboxedError: for a tree some of whose contents are no boxes.
        TreeError: for a tree that does not belong to workload and machine.
    """
    if options != CodeOptions():
        raise InputError(
            f"{workload.title}: layouts, packing and stores are of code for one statement in tiles per level; leave "
            "them out for a mapping tree"
        )
    given = MappingTree(workload=workload, machine=machine, nodes=tree.nodes)
    for each in given.kept.statistics:
        raise InputError(f"{each.made_by} is made by a function of rows; such statements are not written as C")
    check_boxes(given)
    lined = _in_lines(given)
    notes = () if lined == given else (f"steps of 1 along lines of tensors are steps of a line, {ALIGNMENT} bytes",)
    return _TreeFunction(lined).code(notes)


def _in_lines(tree: MappingTree) -> MappingTree:
    """The tree with steps of a line where it has steps of 1 over a dim that is the last subscript of some tensor."""
    workload, accesses = tree.workload, tree.workload.accesses
    line = LINE_BITS // max(access.bits for access in accesses)
    tiles = {
        dim: min(line, workload.extents[dim]) for access in accesses for axis in access.axes[-1:] for dim in axis.dims
    }

    def widened(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(map(wide, nodes))

    def wide(node: Node) -> Node:
        match node:
            case Loop(dim=dim, tile=1):
                return Loop(dim=dim, tile=tiles.get(dim, 1))
            case Sequence(branches=branches):
                return Sequence(branches=tuple(map(widened, branches)))
            case _:
                return node

    return replace(tree, nodes=widened(tree.nodes))


class _TreeFunction:
    """The function while it is written."""

    def __init__(self, tree: MappingTree) -> None:
        self.tree, self.workload, self.entry = tree, tree.workload, entry_name(tree.workload)
        self.stored = self.workload.stored_as
        self.dims = dim_names(self.workload)
        self.names = c_names(self.workload.roles, "tensor", self.dims.values())
        self.functions = FunctionTexts(self.entry)
        self.out = Writer()
        self.first: dict[str, dict[str, str]] = {}
        """Of an intermediate whose block the loops so far are around: C expression of the first iteration per dim."""
        accesses = self.workload.accesses
        buffers = buffers_of(self.workload, plain_layouts(self.workload))
        self.buffers = {access.name: buffer for access, buffer in zip(accesses, buffers, strict=True)}
        """Per tensor; of an intermediate its block, once the loops around it are written."""

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """The tensors that callers have: the output, then the inputs.

        Raises:
            InputError: if there are several outputs.
        """
        roles = self.workload.roles
        output, *others = [name for name, role in roles.items() if role is TensorRole.OUTPUT]
        if others:
            names = ", ".join((output, *others))
            raise InputError(f"{self.workload.title} has outputs {names}; code has one: leave the others out")
        return (output, *(name for name, role in roles.items() if role is TensorRole.INPUT))

    @cached_property
    def homes(self) -> dict[str, Address]:
        """Per intermediate the innermost sequence around all leaves that touch it."""
        found: dict[str, Address] = {}
        for tensor in set(self.stored.values()).difference(self.outside):
            touching = [
                leaf
                for leaf in self.tree.leaves
                if tensor in {self.stored[a.name] for a in self.workload.statement(leaf.statement).accesses}
            ]
            around = [address for address, node in touching[0].path if isinstance(node, Sequence)]
            found[tensor] = [a for a in around if all(is_above(a, leaf.address) for leaf in touching)][-1]
        return found

    def code(self, notes: tuple[str, ...]) -> Code:
        """All of it; the notes are told first."""
        outside = self.outside
        whole = {d: DimRegion(start="0", end=str(n), size=n, whole=True) for d, n in self.workload.sizes}
        self._nodes(self.tree.nodes, (), whole, 0)
        places, workspace = {}, 0
        for tensor in sorted(self.homes):
            buffer, places[tensor] = self.buffers[tensor], workspace
            workspace += -(-buffer.layout.size(buffer.shape) * buffer.bits // 8 // ALIGNMENT) * ALIGNMENT
        buffers = tuple(self.buffers[name] for name in outside)
        names = tuple(self.names[name] for name in outside)
        blocks = {tensor: " x ".join(map(str, self.buffers[tensor].shape)) for tensor in places}
        notes += tuple(f"{self.names[tensor]}: a block of {block} in the workspace" for tensor, block in blocks.items())
        source = Writer()
        write_head(source, self.workload, KernelKind.PLAIN, dict(zip(names, buffers, strict=True)), notes)
        source.lines(self.functions.text)
        arguments = [
            f"{'const ' if number else ''}{C_TYPES[buffer.bits]} *restrict {name}"
            for number, (name, buffer) in enumerate(zip(names, buffers, strict=True))
        ]
        head = f"void {self.entry}({', '.join([*arguments, *(['void *restrict workspace'] if places else [])])})"
        source.line(f"{head};")
        source.line()
        with source.block(head):
            for tensor, place in places.items():
                kind = C_TYPES[self.buffers[tensor].bits]
                source.line(f"{kind} *restrict {self.names[tensor]} = ({kind} *)((char *)workspace + {place});")
            source.lines(self.out.text())
        return Code(
            workload=self.workload,
            machine=self.tree.machine,
            mapping=self.tree,
            options=CodeOptions(),
            kernel=KernelKind.PLAIN,
            entry=self.entry,
            source=source.text(),
            main="",
            buffers=buffers,
            names=names,
            threads=1,
            workspace=workspace,
            notes=notes,
        )

    def _nodes(self, nodes: tuple[Node, ...], base: Address, regions: Regions, depth: int) -> None:
        """A list of nodes.

        Args:
            nodes: outermost first.
            base: what their addresses begin with.
            regions: what the loops around leave.
            depth: how many these are.
        """
        with ExitStack() as loops:
            for number, node in enumerate(nodes):
                match node:
                    case Keep():
                        self.out.comment(str(node))
                    case Loop(dim=dim, tile=tile) if tile < regions[dim].size:
                        name = f"{self.dims[dim]}_{depth}"
                        inside = loops.enter_context(tile_loop(self.out, name, tile, regions[dim]))
                        regions, depth = {**regions, dim: inside}, depth + 1
                    case Sequence(branches=branches):
                        self._place((*base, number), regions)
                        for branch, inner in enumerate(branches):
                            self._nodes(inner, (*base, number, branch), regions, depth)
                    case Compute(statement=name):
                        self._leaf(self.workload.statement(name), regions)

    def _place(self, sequence: Address, regions: Regions) -> None:
        """The blocks that the loops around a sequence are around."""
        for tensor in (tensor for tensor, home in self.homes.items() if home == sequence):
            axes = self.workload.statement(tensor).output.axes
            shape = tuple(axis.span({d: regions[d].size for d in axis.dims}) for axis in axes)
            self.buffers[tensor] = replace(self.buffers[tensor], shape=shape)
            self.first[tensor] = {d: regions[d].start for axis in axes for d in axis.dims}

    def _leaf(self, statement: Statement, regions: Regions) -> None:
        """What the loops leave of a statement."""
        if statement.update is not Update.SUM:
            raise InputError(f"{statement}: code adds up, and is written for no {statement.update.value.rstrip('=')}")
        at = {d: self.dims[d] if regions[d].size > 1 else regions[d].start for d in statement.dims}
        heads = {
            d: f"for (long {at[d]} = {regions[d].start}; {at[d]} < {regions[d].end}; {at[d]}++)"
            for d in statement.dims
            if regions[d].size > 1
        }
        inner = max(heads, key=lambda d: (self._contiguous(statement, d), d in statement.output.dims), default=None)
        order = sorted(heads, key=lambda d: d == inner)
        target = self._element(statement.output, at)
        role = self.workload.roles[statement.name]
        empty = role is TensorRole.INTERMEDIATE or self.workload.semantics is Semantics.ASSIGN
        self.out.comment(str(statement))
        if empty and statement.reduction_dims:
            first = [f"{regions[d].start} == 0" for d in statement.reduction_dims if regions[d].start != "0"]
            rows = [heads[d] for axis in statement.output.axes for d in axis.dims if d in heads]
            with self.out.blocks([*([f"if ({' && '.join(first)})"] if first else []), *rows]):
                self.out.line(f"{target} = 0;")
        sign = "=" if empty and not statement.reduction_dims else "+="
        kind = C_TYPES[statement.output.bits]
        value = self.functions.value(statement, [self._element(each, at) for each in statement.inputs], kind)
        with self.out.blocks(heads[d] for d in order):
            self.out.line(f"{target} {sign} {value};")

    def _contiguous(self, statement: Statement, dim: str) -> int:
        """How many accesses stay where they are or go to the next element with the next iteration of a dim."""
        steps = []
        for access in statement.accesses:
            buffer = self.buffers[self.stored[access.name]]
            pieces = buffer.layout.pieces(buffer.shape)
            steps.append(sum(piece.stride for piece in pieces if dim in access.axes[piece.axis].dims))
        return sum(step <= 1 for step in steps)

    def _element(self, access: TensorAccess, at: Mapping[str, str]) -> str:
        """An element, where every dim is at a C expression."""
        tensor = self.stored[access.name]
        first = self.first.get(tensor, {})
        places = {}
        for dim in access.dims:
            start = first.get(dim, "0")
            if at[dim] != start:
                places[dim] = at[dim] if start == "0" else f"({at[dim]} - {start})"
        return f"{self.names[tensor]}[{element_text(access, self.buffers[tensor], places)}]"
