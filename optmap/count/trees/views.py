"""How the statements of a mapping tree touch its tensors, as far as contents that are boxes go."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Subscript, TensorAccess


class UnboxedError(InputError):
    """A tree that only a walk can count: which of its contents are no boxes."""


@dataclass(frozen=True, slots=True)
class TensorView:
    """How statements touch a tensor: all by the same dims, or one of them by windows, or through several accesses."""

    tensor: str
    """The name under which it is stored."""
    dims: tuple[str, ...]
    """That subscript it; with windows those of all subscripts."""
    windows: tuple[TensorAccess, ...] = ()
    """What reads it by windows, or all that reads it where it is read through several accesses."""
    reader: str = ""
    """The statement that does."""


def views_of(tree: MappingTree, *, banded: bool) -> dict[str, dict[str, TensorView]]:
    """By statement and stored tensor the view of it, if dims or windows are all that there is to say of it.

    Args:
        tree: the mapping.
        banded: whether all conditions together are a band (`bands`), beside which there are no windows.

    Raises:
        UnboxedError: for diagonals, offsets of what is written, other conditions, padding, statistics of rows that no
            Keep names, and tensors that are touched in two ways, but for an input in different statements, and reading
            by windows or through several accesses.
    """
    if refused := tree.kept.uncounted(tree.leaves):
        raise UnboxedError(refused)
    if tree.kept.rows_in_part and not banded:
        raise UnboxedError("there is a function of rows, and a condition")
    found: dict[str, dict[str, TensorView]] = {}
    plain: dict[str, TensorView] = {}
    for statement in tree.workload.statements:
        if statement.domain and not banded:
            raise UnboxedError(f"{statement} has a condition on other dims, or of another form")
        touched = tree.kept.touched[statement.name]
        written = {tree.kept.stored_as[touched[0].name]}
        accesses: dict[str, dict[tuple[Subscript, ...], TensorAccess]] = {}
        for access in touched:
            accesses.setdefault(tree.kept.stored_as[access.name], {}).setdefault(access.axes, access)
        own = found.setdefault(statement.name, {})
        for tensor, some in accesses.items():
            own[tensor] = view = _view(tensor, tuple(some.values()), statement, reads=tensor not in written)
            if view.windows:
                made = plain.get(tensor)
                if made is not None and not any(_reads_all(tree, access, made) for access in view.windows):
                    raise UnboxedError(f"{view.windows[0]} in {statement} does not read all of {tensor}")
                if banded:
                    raise _unlike(view.windows[0], statement)
            elif tree.kept.roles[tensor] is not TensorRole.INPUT and plain.setdefault(tensor, view) != view:
                raise _unlike(next(iter(some.values())), statement)
    return found


def _unlike(access: TensorAccess, statement: Statement) -> UnboxedError:
    return UnboxedError(
        f"{access} in {statement}: every subscript needs a dim of its own, the same ones wherever {access.name} is "
        "read or written"
    )


def _reads_all(tree: MappingTree, access: TensorAccess, made: TensorView) -> bool:
    """Whether windows go over every element that is made of a tensor."""
    extents = tree.workload.extents
    return all(axis.count(extents) == extents[dim] for axis, dim in zip(access.axes, made.dims, strict=True))


def _view(tensor: str, accesses: tuple[TensorAccess, ...], statement: Statement, *, reads: bool) -> TensorView:
    """The accesses of a statement to a tensor, no two of them alike, as a view of it.

    Raises:
        UnboxedError: for any that are neither one by dims nor read by windows that share no dim.
    """
    first, *others = accesses
    dims = tuple(str(axis) for axis in first.axes)
    if not others and len(set(dims)) == len(dims) and set(dims) == first.dims:
        return TensorView(tensor, dims)
    for access in accesses:
        apart = sum(len(axis.terms) for axis in access.axes) == len(access.dims)
        if not (apart and reads and all(axis.real is None for axis in access.axes)):
            raise UnboxedError(f"{access} in {statement}: every subscript needs a dim of its own, and no padding")
    every = dict.fromkeys(d for access in accesses for axis in access.axes for d in axis.dims)
    return TensorView(tensor, tuple(every), accesses, statement.name)
