"""Functions of rows in C: what is kept of a row, and how its elements and the sums of them are made of that.

The leaf of `P[m,l] = .. softmax(x, l) ..` writes x to the places of P, and notes what can be noted as it goes by
(`seen`). At the end of its branch of the sequence around it and its first reader all x of an iteration are there, and
elements become what they are worth. If a loop along the rows is around that sequence, this is what they are worth by
what is known of the row so far: what readers have added up is multiplied by a factor first (`rescaled`), and by a last
one when the row is complete (`ends`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from optmap.base.errors import InputError
from optmap.mappings.nodes import Address, Loop, Sequence, is_above
from optmap.mappings.tree import MappingTree
from optmap.native.code import Buffer, TensorLayout
from optmap.native.emit.functions import end_of
from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.names import c_names
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.expression import Apply, reads
from optmap.workloads.row_statistics import RowStatistic
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFunction:
    """C of one function.

    `{x}` is an element, `{n}` the elements of a row, `{f}` the end of names of type float, `{e}` is added under roots.
    """

    first: tuple[str, ...]
    """What is kept of a row before its first element."""
    seen: str
    """Statement at every element as it goes by; empty if there is none."""
    before: tuple[str, ...] = ()
    """Statements per row once all elements of an iteration went by."""
    summed: tuple[str, ...] = ()
    """Statements per element after these, in a pass of their own each."""
    part: str = "{x}"
    """What an element is worth by what is known of an incomplete row."""
    rescaled: str = ""
    """The factor of what was added up of earlier elements of the row; empty for 1."""
    ends: str = ""
    """The factor of `part` in a complete row, 1 for one without elements; empty if they need more than a factor."""
    whole: str
    """What an element is worth in a complete row."""

    @property
    def counts(self) -> bool:
        """Whether it asks for the elements of a row."""
        return "{n}" in " ".join((*self.before, *self.summed, self.ends, self.whole))


UNDER_ROOTS = "1e-5"
"""What is added under roots, which keeps rows of zeros finite; frameworks have numbers of that size."""
ROW_FUNCTIONS_IN_C: Mapping[str, RowFunction] = {
    # the largest element, the sum of exponentials below that, the largest element of that sum, the factor
    "softmax": RowFunction(
        first=("-INFINITY", "0", "-INFINITY", "1"),
        seen="if ({x} > row[0]) row[0] = {x};",
        before=(
            "row[3] = row[2] == row[0] ? 1 : exp{f}(row[2] - row[0]);",
            "row[1] *= row[3];",
            "row[2] = row[0];",
        ),
        summed=("row[1] += {x} = {x} == row[0] ? 1 : exp{f}({x} - row[0]);",),
        rescaled="row[3]",
        ends="row[1] == 0 ? 1 : 1 / row[1]",
        whole="{x} / row[1]",
    ),
    # the sum of squares
    "rmsnorm": RowFunction(
        first=("0",),
        seen="row[0] += {x} * {x};",
        ends="{n} == 0 ? 1 : 1 / sqrt{f}(row[0] / {n} + {e})",
        whole="{x} / sqrt{f}(row[0] / {n} + {e})",
    ),
    # the mean (the sum until it is complete), the sum of squared distances to it
    "layernorm": RowFunction(
        first=("0", "0"),
        seen="row[0] += {x};",
        before=("row[0] /= {n};",),
        summed=("row[1] += ({x} - row[0]) * ({x} - row[0]);",),
        whole="({x} - row[0]) / sqrt{f}(row[1] / {n} + {e})",
    ),
}
"""By the name of the function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBlock:
    """What is kept of the rows of one statement, a block of the workspace."""

    statistic: RowStatistic
    statement: Statement
    row: Apply
    name: str
    """In C."""
    kind: str
    """C type of an element and of what is kept."""
    home: Address
    """Before which node rows begin."""
    sequence: Address
    """Around the leaf and its first reader's."""
    branch: int
    """Of the sequence, that with the leaf."""
    part: bool
    """Whether rows are incomplete where they are read."""
    count: str
    """Elements of a row, in C; empty if they are counted, where conditions leave some out."""

    @property
    def function(self) -> RowFunction:
        """What is done."""
        return ROW_FUNCTIONS_IN_C[self.row.function]

    @property
    def first(self) -> tuple[str, ...]:
        """What is kept of a row before its first element, and the count of its elements where it is asked for."""
        return (*self.function.first, *(["0"] if self._counted else []))

    @property
    def buffer(self) -> Buffer:
        """The block of a single row: along the last subscript stands what is kept of it."""
        rank = len(self.statistic.access.axes)
        return Buffer(
            tensor=self.statistic.name,
            shape=(*(1 for _ in range(rank)), len(self.first)),
            origin=tuple(0 for _ in range(rank + 1)),
            bits=self.statement.output.bits,
            layout=TensorLayout.plain(rank + 1),
        )

    def beginning(self, access: TensorAccess) -> TensorAccess:
        """The first of what is kept of the row of an access to the statistic."""
        return replace(access, axes=(*access.axes, Subscript(terms=())))

    @property
    def _counted(self) -> bool:
        return not self.count and self.function.counts

    def text(self, line: str, x: str = "") -> str:
        """A line of the function in C, where `row` is the place of a row."""
        f = end_of(self.kind)
        return line.format(x=x, n=self.count or f"row[{len(self.function.first)}]", f=f, e=f"{UNDER_ROOTS}{f}")

    def seen(self, x: str) -> list[str]:
        """Statements at an element that goes by."""
        count = [f"row[{len(self.function.first)}] += 1;"] if self._counted else []
        return [self.text(self.function.seen, x), *count]

    def worth(self, x: str) -> str:
        """What an element is worth where it is read."""
        return self.text(self.function.part if self.part else self.function.whole, x)


def row_blocks(tree: MappingTree, taken: Iterable[str]) -> dict[str, RowBlock]:
    """Per statement with a function of rows what is kept of them.

    Args:
        tree: the mapping, whose contents are boxes.
        taken: names in C that others have.

    Raises:
        InputError: for rows that are read at several places while they are incomplete, that are rescaled in an output
            which does not start empty, or that are made of more than inputs beside the function of rows.
    """
    known = {each.made_by: each for each in tree.kept.statistics}
    names = c_names([f"{name}_row" for name in known], "row", taken)
    return {
        each.name: _block(tree, known[each.name], each, each.row, names[f"{each.name}_row"])
        for each in tree.workload.statements
        if each.row is not None
    }


def _block(tree: MappingTree, statistic: RowStatistic, statement: Statement, row: Apply, name: str) -> RowBlock:
    workload = tree.workload
    leaves = {leaf.statement: leaf for leaf in tree.leaves}
    mine = leaves[statement.name]
    around = [address for address, node in mine.path if isinstance(node, Sequence)]
    meets = {
        [address for address in around if is_above(address, leaves[reader].address)][-1] for reader in statistic.reads
    }
    sequence = max(meets, key=len)
    along = [address for address, node in mine.path if isinstance(node, Loop) and node.dim == row.dim]
    outside = [address for address in along if address < sequence]
    _check(workload, statement, row)
    if outside and len(meets) > 1:
        raise InputError(
            f"rows of {statement.name} are read in several sequences while they are incomplete; such trees are not "
            "written as C"
        )
    if outside:
        _check_sums(workload, statistic)
    return RowBlock(
        statistic=statistic,
        statement=statement,
        row=row,
        name=name,
        kind=C_TYPES[statement.output.bits],
        home=min([*outside, sequence]),
        sequence=sequence,
        branch=mine.branch(sequence),
        part=bool(outside),
        count="" if statement.domain else str(workload.extents[row.dim]),
    )


def _check(workload: Workload, statement: Statement, row: Apply) -> None:
    """Refuse what would be read after it is overwritten, or where its block is no more."""
    inside = {*reads(row)}
    for number in {*reads(statement.right)} - inside:
        name = statement.inputs[number].name
        if workload.roles[name] is not TensorRole.INPUT:
            raise InputError(
                f"{statement}: {name} is read beside the function of rows, once rows are known; only inputs can be"
            )


def _check_sums(workload: Workload, statistic: RowStatistic) -> None:
    for reader in statistic.reads:
        if workload.roles[reader] is TensorRole.OUTPUT and workload.semantics is Semantics.ACCUMULATE:
            raise InputError(
                f"{reader} is rescaled while rows are incomplete, so that it has to start empty: use --semantics assign"
            )
