"""The verbs that say something of a workload in symbols, without a mapping: traffic, loop orders, closed forms.

`optmap` offers them under its own name; the command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.base.values import quoted
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    MemoryInput,
    WorkloadInput,
    capacity_of,
    machine_of,
    names_of,
    workload_of,
)
from optmap.workloads.workload import Semantics, Workload

if TYPE_CHECKING:
    from optmap.answers.closed_forms.closed_forms import ClosedFormAnswer
    from optmap.answers.closed_forms.regimes import Regimes
    from optmap.report.closed_forms.derivation import Classes, Derivation
    from optmap.report.library.inferred_reuse import InferredReuse


def derive(
    workload: WorkloadInput,
    *,
    permutation: str | Sequence[str] | None = None,
    levels: int = 1,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
) -> Derivation:
    """Symbolic footprint, occupancy and traffic of one loop order.

    Args:
        workload: as for `solve`.
        permutation: every dim once, outermost first, as `n,k,c` or a sequence; None takes the
            workload's order.
        levels: bounded memory levels.
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.

    Returns:
        An answer with `.text` and `.latex`.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.closed_forms.derivation import derivation

    problem = workload_of(workload, extents, semantics)
    return derivation(problem, order_of(permutation, problem), levels)


def classes(
    workload: WorkloadInput, *, extents: ExtentsInput | None = None, semantics: Semantics | str | None = None
) -> Classes:
    """The dataflow classes of a workload with their traffic, each dominated one with its proof.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.closed_forms.derivation import derived_classes

    return derived_classes(workload_of(workload, extents, semantics))


def inferred_reuse(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
) -> InferredReuse:
    """Which dims reuse which tensor, and the loop orders that this leaves (Sunstone, Table III and Figure 4).

    Args:
        workload: as for `solve`.
        machine: an accelerator, for the size of the space with all dims and with the reuse dims (Table I).
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.library.inferred_reuse import inferred

    problem = workload_of(workload, extents, semantics)
    return inferred(problem, None if machine is None else machine_of(machine, None))


def closed_form(
    workload: WorkloadInput,
    *,
    memory: MemoryInput | None = None,
    stationary: str | None = None,
    small: str | Sequence[str] | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
) -> ClosedFormAnswer:
    """Loop orders by reuse, and an upper bound in extents and memory, without tile sizes.

    Args:
        workload: a contraction of two tensors or a two-dimensional convolution, as for `solve`.
        memory: capacity at which to put numbers in, and to prove the lower bound.
        stationary: the tensor that stays; None for the one with the fewest words (the filter of a convolution).
        small: dims declared small: a tensor whose window slides along one counts as reused.
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.

    Raises:
        InputError: for anything that cannot be accepted, a workload without a closed form included.

    Source: IOOpt, sections 4.3 and 6, Figure 6.
    """
    from optmap.answers.closed_forms.closed_forms import closed_form_answer

    return closed_form_answer(
        workload_of(workload, extents, semantics),
        None if memory is None else capacity_of(memory),
        stationary,
        names_of(small, "small") or (),
    )


def regimes(
    workload: WorkloadInput,
    *,
    memory: MemoryInput | None = None,
    vary: str | None = None,
    over: str | Sequence[str] | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
) -> Regimes:
    """Loads bound and optimal tile as a piecewise function of capacity and extents: what `closed-form` prints.

    Args:
        workload: a nest with one dim per subscript, or a convolution, as for `solve`.
        memory: capacity at which to look up regime and tile of the workload's extents.
        vary: a parameter along which to list what changes, the others as in the workload and `memory`.
        over: two parameters, the axes of a picture; the memory and the first dim if left out.
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.

    Raises:
        InputError: for anything that cannot be accepted, a workload without a closed form included.
        LimitError: if the closed form has thousands of regions.

    Source: Dinh's dissertation, chapter 4.2 and Algorithm 8.
    """
    from optmap.answers.closed_forms.regime_lookup import looked_up

    problem = workload_of(workload, extents, semantics)
    return looked_up(
        problem,
        None if memory is None else capacity_of(memory).words(problem.word_bits),
        vary,
        names_of(over, "over"),
    )


def order_of(permutation: str | Sequence[str] | None, workload: Workload) -> tuple[str, ...]:
    """A loop order, outermost first.

    Raises:
        InputError: unless every dim of the workload is named exactly once.
    """
    if permutation is None:
        return workload.dims
    parts = permutation.split(",") if isinstance(permutation, str) else permutation
    if not (isinstance(parts, Sequence) and all(isinstance(part, str) for part in parts)):
        raise InputError(f"permutation is {quoted(permutation)}; write {','.join(workload.dims)} in another order")
    order = tuple(part.strip() for part in parts)
    if sorted(order) != sorted(workload.dims):
        raise InputError(
            f"permutation {','.join(order)!r} must name each of {','.join(workload.dims)} exactly once, outermost first"
        )
    return order
