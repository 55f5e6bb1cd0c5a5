"""How the statements of a mapping tree touch its tensors, as far as contents that are boxes go."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import TensorAccess


class UnboxedError(InputError):
    """A tree that only a walk can count: which of its contents are no boxes."""


@dataclass(frozen=True, slots=True)
class TensorView:
    """How statements touch a tensor: all by the same dims, or one of them by windows."""

    tensor: str
    """The name under which it is stored."""
    dims: tuple[str, ...]
    """That subscript it; with windows those of all subscripts."""
    window: TensorAccess | None = None
    """What reads it by windows."""
    reader: str = ""
    """The statement that does."""


def views_of(tree: MappingTree, *, banded: bool) -> dict[str, dict[str, TensorView]]:
    """By statement and stored tensor the view of it, if dims or windows are all that there is to say of it.

    Args:
        tree: the mapping.
        banded: whether all conditions together are a band (`bands`), beside which there are no windows.

    Raises:
        UnboxedError: for diagonals, offsets, other conditions, padding, statistics of rows that no Keep names, and
            tensors that are touched in two ways, but for an input in different statements, and reading by windows.
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
        own = found.setdefault(statement.name, {})
        for number, access in enumerate(tree.kept.touched[statement.name]):
            view = _view(tree.kept.stored_as[access.name], access, statement, reads=number > 0)
            others = [own.get(view.tensor, view)]
            if view.window is None and tree.kept.roles[access.name] is not TensorRole.INPUT:
                others.append(plain.setdefault(view.tensor, view))
            if (
                view.window is not None
                and view.tensor in plain
                and not _reads_all(tree, view.window, plain[view.tensor])
            ):
                raise UnboxedError(f"{access} in {statement} does not read all of {access.name}")
            if any(other != view for other in others) or (view.window is not None and (view.tensor in own or banded)):
                raise UnboxedError(
                    f"{access} in {statement}: every subscript needs a dim of its own, the same ones wherever "
                    f"{access.name} is read or written"
                )
            own[view.tensor] = view
    return found


def _reads_all(tree: MappingTree, access: TensorAccess, made: TensorView) -> bool:
    """Whether windows go over every element that is made of a tensor."""
    extents = tree.workload.extents
    return all(axis.count(extents) == extents[dim] for axis, dim in zip(access.axes, made.dims, strict=True))


def _view(tensor: str, access: TensorAccess, statement: Statement, *, reads: bool) -> TensorView:
    """An access as the view of a tensor.

    Raises:
        UnboxedError: for one that is neither by dims nor reads by windows that share no dim.
    """
    dims = tuple(str(axis) for axis in access.axes)
    if len(set(dims)) == len(dims) and set(dims) == access.dims:
        return TensorView(tensor, dims)
    apart = sum(len(axis.terms) for axis in access.axes) == len(access.dims)
    if not (apart and reads and all(axis.real is None for axis in access.axes)):
        raise UnboxedError(f"{access} in {statement}: every subscript needs a dim of its own, and no padding")
    return TensorView(tensor, tuple(access.dims), access, statement.name)
