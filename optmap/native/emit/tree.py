"""C for a mapping tree: its loops, and at every leaf plain loops over what they leave of its statement.

What a tree keeps of inputs and outputs is for the caches to keep; what it keeps of an intermediate is a block of the
workspace, as large as what one iteration of the loops around all leaves that touch it makes and uses.

Trees move words, machines lines: what is written is the tree with steps of a line where it has steps of 1 along lines
of some tensor. In a leaf the dim along which most tensors are contiguous is innermost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain

from optmap.base.errors import InputError
from optmap.count.trees import check_boxes, without_boxes
from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.nodes import Address, Box, Compute, Keep, Loop, Node, Sequence, is_above
from optmap.mappings.tree import MappingTree
from optmap.native.code import ALIGNMENT, Buffer, Code
from optmap.native.emit.entry import write_head
from optmap.native.emit.functions import FunctionTexts
from optmap.native.emit.indices import element_text, index_text
from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.names import c_names, dim_names, entry_name
from optmap.native.emit.nest import DimRegion, tile_loop
from optmap.native.emit.points import guarded, where
from optmap.native.emit.row_functions import RowBlock, row_blocks
from optmap.native.emit.tree_lines import in_lines
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of, plain_layouts
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement, Update
from optmap.workloads.workload import Semantics, Workload

Regions = Mapping[str, DimRegion]
"""What is left of every dim."""


def tree_code(workload: Workload, tree: MappingTree, machine: Machine, options: CodeOptions) -> Code:
    """C11 for one core, with the loops of a mapping tree.

    Args:
        workload: the tree's, or the same with other semantics.
        tree: the mapping; only its nodes are used.
        machine: that it belongs to.
        options: all defaults: layouts, packing and stores are of code for one statement.

    Raises:
        InputError: for other options, more than one output, a maximum or minimum over a dim, elements that are no
            float or double, a buffer that cannot be addressed, or a function of rows that `row_blocks` refuses.
        UnboxedError: for a tree some of whose contents are no boxes.
        TreeError: for a tree that does not belong to workload and machine.
    """
    if options != CodeOptions():
        raise InputError(
            f"{workload.title}: layouts, packing and stores are of code for one statement in tiles per level; leave "
            "them out for a mapping tree"
        )
    given = MappingTree(workload=workload, machine=machine, nodes=tree.nodes)
    plain = replace(given, workload=workload.without_conditions)  # blocks are as if all points were done
    check_boxes(without_boxes(plain))
    lined = in_lines(given)
    notes = () if lined == given else (f"steps of 1 along lines of tensors are steps of a line, {ALIGNMENT} bytes",)
    return _TreeFunction(lined).code(notes)


class _TreeFunction:
    """The function while it is written."""

    def __init__(self, tree: MappingTree) -> None:
        self.tree, self.workload, self.entry = tree, tree.workload, entry_name(tree.workload)
        self.stored = self.workload.stored_as
        self.dims = dim_names(self.workload)
        self.names = c_names(self.workload.roles, "tensor", self.dims.values())
        self.functions = FunctionTexts(self.entry)
        self.out = Writer()
        self.inside: dict[Address, Regions] = {}
        """What the loops around every sequence leave."""
        self.first: dict[str, dict[str, str]] = {}
        """Per block that the loops so far are around: C expression of the first iteration per dim."""
        accesses = self.workload.accesses
        buffers = buffers_of(self.workload, plain_layouts(self.workload))
        self.buffers = {access.name: buffer for access, buffer in zip(accesses, buffers, strict=True)}
        """Per tensor and statistic of rows; of what is kept in a block this one, once the loops around are written."""
        self.rows = row_blocks(tree, (*self.dims.values(), *self.names.values()))
        self.buffers |= {rows.statistic.name: rows.buffer for rows in self.rows.values()}
        self.functions.calls_math = bool(self.rows)

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
        blocks = {self.names[tensor]: self.buffers[tensor] for tensor in sorted(self.homes)}
        notes += tuple(
            f"{name}: a block of {' x '.join(map(str, block.shape))} in the workspace" for name, block in blocks.items()
        )
        blocks |= {rows.name: self.buffers[rows.statistic.name] for _, rows in sorted(self.rows.items())}
        starts = [0, *accumulate(_bytes(block) for block in blocks.values())]
        buffers = tuple(self.buffers[name] for name in outside)
        names = tuple(self.names[name] for name in outside)
        source = Writer()
        write_head(source, self.workload, KernelKind.PLAIN, dict(zip(names, buffers, strict=True)), notes)
        source.lines(self.functions.text)
        arguments = [
            f"{'const ' if number else ''}{C_TYPES[buffer.bits]} *restrict {name}"
            for number, (name, buffer) in enumerate(zip(names, buffers, strict=True))
        ]
        head = f"void {self.entry}({', '.join([*arguments, *(['void *restrict workspace'] if blocks else [])])})"
        source.line(f"{head};")
        source.line()
        with source.block(head):
            for (name, block), start in zip(blocks.items(), starts, strict=False):
                kind = C_TYPES[block.bits]
                source.line(f"{kind} *restrict {name} = ({kind} *)((char *)workspace + {start});")
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
            workspace=starts[-1],
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
                for rows in self.rows.values():
                    if rows.home == (*base, number):
                        self._begin(rows, regions)
                match node:
                    case Keep():
                        self.out.comment(str(node))
                    case Loop(dim=dim, tile=tile, first=first) if node.restricts(regions[dim].size):
                        name = f"{self.dims[dim]}_{depth}"
                        inside = loops.enter_context(tile_loop(self.out, name, tile, regions[dim], first))
                        regions, depth = {**regions, dim: inside}, depth + 1
                    case Box(ranges=ranges):
                        regions = {**regions, **{d: _part(each) for d, each in ranges.items()}}
                    case Sequence(branches=branches):
                        for tensor in (tensor for tensor, home in self.homes.items() if home == (*base, number)):
                            self._place(self.workload.statement(tensor).output, regions)
                        self.inside[*base, number] = regions
                        for branch, inner in enumerate(branches):
                            self._nodes(inner, (*base, number, branch), regions, depth)
                            for rows in self.rows.values():
                                if (rows.sequence, rows.branch) == ((*base, number), branch):
                                    self._appraise(rows, regions)
                    case Compute(statement=name):
                        self._leaf(self.workload.statement(name), regions)

    def _place(self, access: TensorAccess, regions: Regions) -> None:
        """The block that the loops so far are around, of what an access touches inside them."""
        buffer, sizes = self.buffers[access.name], {d: regions[d].size for d in access.dims}
        shape = tuple(axis.span(sizes) for axis in access.axes)
        self.buffers[access.name] = replace(buffer, shape=(*shape, *buffer.shape[len(shape) :]))
        self.first[access.name] = {d: regions[d].start for d in access.dims}

    def _leaf(self, statement: Statement, regions: Regions) -> None:
        """What the loops leave of a statement."""
        if statement.update is not Update.SUM:
            raise InputError(f"{statement}: code adds up, and is written for no {statement.update.value.rstrip('=')}")
        self.out.comment(str(statement))
        if statement.row is not None:
            self._go_by(self.rows[statement.name], regions)
            return
        at, heads = self._points(statement, regions)
        inner = max(heads, key=lambda d: (self._contiguous(statement, d), d in statement.output.dims), default=None)
        order = sorted(heads, key=lambda d: d == inner)
        target = self._element(statement.output, at)
        role = self.workload.roles[statement.name]
        empty = role is TensorRole.INTERMEDIATE or self.workload.semantics is Semantics.ASSIGN
        outputs = [heads[d] for axis in statement.output.axes for d in axis.dims if d in heads]
        if empty and statement.reduction_dims:
            with self.out.blocks([*self._begins(statement, regions), *outputs]):
                self.out.line(f"{target} = 0;")
        read = [rows for rows in self.rows.values() if rows.part and statement.name in rows.statistic.reads]
        incomplete = read if statement.reduction_dims else []
        for rows in incomplete:
            if rows.function.rescaled:
                first = self._begins(statement, regions, self.inside[rows.sequence])
                self._multiply(statement, rows, rows.function.rescaled, [*first, *outputs], at)
        sign = "=" if empty and not statement.reduction_dims else "+="
        kind = C_TYPES[statement.output.bits]
        value = self.functions.value(statement, [self._element(each, at) for each in statement.inputs], kind)
        with self.out.blocks(guarded({d: heads[d] for d in order}, self._tests(statement, at))):
            self.out.line(f"{target} {sign} {value};")
        if sign == "=":
            self._clear(statement, at, outputs)
        for rows in incomplete:
            ends = {d: str(self.workload.extents[d]) for d in statement.reduction_dims}
            last = where(f"{regions[d].end} == {end}" for d, end in ends.items() if regions[d].end != end)
            self._multiply(statement, rows, rows.function.ends, [*last, *outputs], at)

    def _go_by(self, rows: RowBlock, regions: Regions) -> None:
        """Elements of rows are written, and noted as they go by."""
        statement, (at, _) = rows.statement, self._points(rows.statement, regions)
        x, elements = self._element(statement.output, at), [self._element(each, at) for each in statement.inputs]
        value = self.functions.value(statement, elements, rows.kind, right=rows.row.arguments[0])
        self._rows(rows, regions, [], [[*([f"{x} = {value};"] if value != x else []), *rows.seen(x)]])

    def _multiply(
        self, statement: Statement, rows: RowBlock, factor: str, heads: list[str], at: Mapping[str, str]
    ) -> None:
        """What a statement added up of incomplete rows is multiplied by a factor of theirs."""
        with self.out.blocks(heads or [""]):
            self._to_row(rows, rows.statistic.reads[statement.name][0], at)
            self.out.line(f"{self._element(statement.output, at)} *= {rows.text(factor)};")

    def _points(self, statement: Statement, regions: Regions) -> tuple[dict[str, str], dict[str, str]]:
        """Per dim of a statement where it is, and the loop over what is left of it, if that is several iterations."""
        at = {d: self.dims[d] if regions[d].size > 1 else regions[d].start for d in statement.dims}
        return at, {
            d: f"for (long {at[d]} = {regions[d].start}; {at[d]} < {regions[d].end}; {at[d]}++)"
            for d in statement.dims
            if regions[d].size > 1
        }

    def _begins(self, statement: Statement, regions: Regions, outside: Regions | None = None) -> list[str]:
        """The head of what is done where sums begin: at 0, or where what is left outside begins."""
        starts = {d: "0" if outside is None else outside[d].start for d in statement.reduction_dims}
        return where(f"{regions[d].start} == {start}" for d, start in starts.items() if regions[d].start != start)

    def _tests(self, statement: Statement, at: Mapping[str, str]) -> list[tuple[frozenset[str], str]]:
        """The conditions of a statement in C, each with its dims."""
        return [
            (each.dims, f"{index_text(each.left, at)} {each.relation.value} {index_text(each.right, at)}")
            for each in statement.domain
        ]

    def _begin(self, rows: RowBlock, regions: Regions) -> None:
        """The place of rows, and what is kept of them before their first element."""
        self._place(rows.statistic.access, regions)
        self._rows(rows, regions, [f"row[{number}] = {value};" for number, value in enumerate(rows.first)], [])

    def _appraise(self, rows: RowBlock, regions: Regions) -> None:
        """Elements that went by become what they are worth."""
        statement, function = rows.statement, rows.function
        at, heads = self._points(statement, regions)
        x = self._element(statement.output, at)
        worth = self.functions.value(
            statement, [self._element(each, at) for each in statement.inputs], rows.kind, row=rows.worth(x)
        )
        passes = [[rows.text(line, x)] for line in function.summed] + ([[f"{x} = {worth};"]] if worth != x else [])
        before = [rows.text(line, x) for line in function.before]
        if before or passes:
            self.out.comment(f"what {statement.output} is worth by its row" + (" so far" if rows.part else ""))
            self._rows(rows, regions, before, passes)
        self._clear(statement, at, heads.values())

    def _clear(self, statement: Statement, at: Mapping[str, str], heads: Iterable[str]) -> None:
        """Elements that the conditions of a statement leave out are 0, if somebody reads them."""
        readers = (each for each in self.workload.statements if statement.name in {a.name for a in each.inputs})
        if any(not {*statement.domain} <= {*each.domain} for each in readers):
            met = " && ".join(text for _, text in self._tests(statement, at))
            with self.out.blocks([*heads, f"if (!({met}))"]):
                self.out.line(f"{self._element(statement.output, at)} = 0;")

    def _rows(self, rows: RowBlock, regions: Regions, before: list[str], passes: list[list[str]]) -> None:
        """Statements per row, and passes over its elements."""
        statement = rows.statement
        at, heads = self._points(statement, regions)
        outer = {d: heads[d] for axis in rows.statistic.access.axes for d in axis.dims if d in heads}
        inner = {d: heads[d] for d in sorted(heads.keys() - outer.keys(), key=lambda d: (d == rows.row.dim, d))}
        with self.out.blocks(outer.values() or [""]):
            if any("row[" in line for line in (*before, *chain.from_iterable(passes))):
                self._to_row(rows, rows.statistic.access, at)
            self.out.lines(*before)
            for lines in passes:
                with self.out.blocks(guarded(inner, self._tests(statement, at))):
                    self.out.lines(*lines)

    def _to_row(self, rows: RowBlock, access: TensorAccess, at: Mapping[str, str]) -> None:
        """The place of a row, from an access to it."""
        place = self._place_of(rows.statistic.name, rows.beginning(access), at)
        self.out.line(f"{rows.kind} *const row = {rows.name} + {place};")

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
        return f"{self.names[tensor]}[{self._place_of(tensor, access, at)}]"

    def _place_of(self, block: str, access: TensorAccess, at: Mapping[str, str]) -> str:
        """Where an element lies in a tensor or a block."""
        places, first = dict[str, str](), self.first.get(block, {})
        for dim in access.dims:
            start = first.get(dim, "0")
            if at[dim] != start:
                places[dim] = at[dim] if start == "0" else f"({at[dim]} - {start})"
        return element_text(access, self.buffers[block], places)


def _part(part: range) -> DimRegion:
    """What a box leaves of a dim."""
    return DimRegion(start=str(part.start), end=str(part.stop), size=len(part), whole=True)


def _bytes(block: Buffer) -> int:
    """Those of a block, with what is left of its last line."""
    return -(-block.layout.size(block.shape) * block.bits // (8 * ALIGNMENT)) * ALIGNMENT
