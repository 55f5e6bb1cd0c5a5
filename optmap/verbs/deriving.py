"""The verbs that say something of a workload in symbols, without a mapping: traffic, loop orders, closed forms.

`optmap` offers them under its own name; the command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.values import quoted
from optmap.files.inputs import WorkloadInput, capacity_of, machine_of, workload_of
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import ExtentsOption, MachineOption, MemoryOption, SemanticsOption, names
from optmap.workloads.workload import Workload

if TYPE_CHECKING:
    from optmap.answers.closed_forms.closed_forms import ClosedFormAnswer
    from optmap.answers.closed_forms.regimes import Regimes
    from optmap.report.closed_forms.derivation import Classes, Derivation
    from optmap.report.library.inferred_reuse import InferredReuse


class StatementOptions(TypedDict, total=False):
    """Options of `classes`, and of all verbs here."""

    extents: ExtentsOption
    semantics: SemanticsOption


class DeriveOptions(StatementOptions, total=False):
    """Options of `derive`."""

    permutation: Annotated[
        str | Sequence[str] | None,
        Opt(help="Loop order.", detail="Every dim once, outermost first; else the workload's.", metavar="a,b,c"),
    ]
    levels: Annotated[int, Opt(help="Bounded memory levels.", default=1, least=1, most=8)]


class ReuseOptions(StatementOptions, total=False):
    """Options of `inferred_reuse`."""

    machine: Annotated[MachineOption, Here(help="An accelerator, for the space of --reuse.")]


class ClosedFormOptions(StatementOptions, total=False):
    """Options of `closed_form`."""

    memory: Annotated[MemoryOption, Here(help="Where to value the closed form: 64KiB.")]
    stationary: Annotated[
        str | None,
        Opt(help="Tensor that the closed form keeps.", detail="Else that with the fewest words.", metavar="T"),
    ]
    small: Annotated[
        str | Sequence[str] | None,
        Opt(help="Dims so small that windows are reused.", read=names, metavar="a,b"),
    ]


class RegimesOptions(StatementOptions, total=False):
    """Options of `regimes`."""

    memory: Annotated[MemoryOption, Here(help="Where to look it up: 8192w, 64KiB.")]
    vary: Annotated[
        str | None,
        Opt(help="A parameter along which to list the regimes.", detail="The others stay as they are.", metavar="n"),
    ]
    over: Annotated[
        str | Sequence[str] | None,
        Opt(
            help="Two parameters, the axes of the picture.",
            detail="Else M and the first dim.",
            read=names,
            metavar="M,n",
        ),
    ]


@taking(DeriveOptions)
def derive(workload: WorkloadInput, **options: Unpack[DeriveOptions]) -> Derivation:
    """Symbolic footprint, occupancy and traffic of one loop order.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Returns:
        An answer with `.text` and `.latex`.

    Raises:
        InputError: for anything that cannot be accepted.

    Examples:
        >>> answer = optmap.derive("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64")
        >>> answer.text.splitlines()[1]
        'loop order <i,j,k>, outermost first; semantics accumulate'
    """
    from optmap.report.closed_forms.derivation import derivation

    problem, asked = _asked(workload, DeriveOptions, options)
    return derivation(problem, order_of(asked["permutation"], problem), asked["levels"])


def _asked(workload: WorkloadInput, kind: type, options: Mapping[str, Any]) -> tuple[Workload, dict[str, Any]]:
    """The workload that is meant, and the values of all options."""
    asked = values_of(declared(kind), options)
    return workload_of(workload, asked["extents"], asked["semantics"]), asked


@taking(StatementOptions)
def classes(workload: WorkloadInput, **options: Unpack[StatementOptions]) -> Classes:
    """The dataflow classes of a workload with their traffic, each dominated one with its proof.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.

    Examples:
        >>> answer = optmap.classes("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64")
        >>> str(answer)[:29]
        '3 classes no other dominates,'
    """
    from optmap.report.closed_forms.derivation import derived_classes

    return derived_classes(_asked(workload, StatementOptions, options)[0])


@taking(ReuseOptions)
def inferred_reuse(workload: WorkloadInput, **options: Unpack[ReuseOptions]) -> InferredReuse:
    """Which dims reuse which tensor, and the loop orders that this leaves (Sunstone, Table III and Figure 4).

    On a machine also the size of the space with all dims and with the reuse dims (Table I).

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.library.inferred_reuse import inferred

    problem, asked = _asked(workload, ReuseOptions, options)
    return inferred(problem, None if asked["machine"] is None else machine_of(asked["machine"], None))


@taking(ClosedFormOptions)
def closed_form(workload: WorkloadInput, **options: Unpack[ClosedFormOptions]) -> ClosedFormAnswer:
    """Loop orders by reuse, and an upper bound in extents and memory, without tile sizes.

    With a memory also its value there, beside the proved lower bound.

    Args:
        workload: a contraction of two tensors or a two-dimensional convolution, as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted, a workload without a closed form included.

    Source: IOOpt, sections 4.3 and 6, Figure 6.
    """
    from optmap.answers.closed_forms.closed_forms import closed_form_answer

    problem, asked = _asked(workload, ClosedFormOptions, options)
    memory = None if asked["memory"] is None else capacity_of(asked["memory"])
    return closed_form_answer(problem, memory, asked["stationary"], asked["small"] or ())


@taking(RegimesOptions)
def regimes(workload: WorkloadInput, **options: Unpack[RegimesOptions]) -> Regimes:
    """Loads bound and optimal tile as a piecewise function of capacity and extents: what `closed-form` prints.

    Args:
        workload: a nest with one dim per subscript, or a convolution, as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted, a workload without a closed form included.
        LimitError: if the closed form has thousands of regions.

    Source: Dinh's dissertation, chapter 4.2 and Algorithm 8.

    Examples:
        >>> product = optmap.regimes("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64")
        >>> len(product.regimes)
        5
    """
    from optmap.answers.closed_forms.regime_lookup import looked_up

    problem, asked = _asked(workload, RegimesOptions, options)
    words = None if asked["memory"] is None else capacity_of(asked["memory"]).words(problem.word_bits)
    return looked_up(problem, words, asked["vary"], asked["over"])


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
