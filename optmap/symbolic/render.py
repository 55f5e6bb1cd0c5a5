"""What `derive` prints: footprint, occupancy, traffic and dataflow classes, as text, LaTeX, data."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from optmap.loop_orders.classes import DataflowClasses, dataflow_classes
from optmap.machines.machine import CapacityRule
from optmap.mappings.reuse import safe_working_set
from optmap.symbolic.footprint import axis_values
from optmap.symbolic.notation import Latex, Notation, RatioTerm, Text
from optmap.symbolic.symbols import tiles
from optmap.symbolic.traffic import check_permutation, visits
from optmap.workloads.workload import Semantics, TensorAccess, Workload, access_names

PROOF_NOTATION = (
    "u_k = N_k/T_k - 1 >= 0, v_k = T_k - 1 >= 0; F_A[j] is the footprint of subscript j of A; shared_j and fresh_j "
    "count its values that the next tile does and does not take as well"
)
"""What the symbols of a proof mean. A proof compares visits: loads, and for the output stores too."""


def derive_text(workload: Workload, permutation: tuple[str, ...], levels: int = 1) -> str:
    """Footprint, occupancy and traffic of a loop order in plain text.

    Args:
        workload: extents stay symbolic.
        permutation: loop order, outermost first, used at every level.
        levels: bounded memory levels.

    Returns:
        Lines in words and elements, stable from run to run.

    Raises:
        InputError: for a loop order that does not name every dim once, or no level.
    """
    check_permutation(workload, permutation)
    notation = Text()
    lines = [
        f"{workload.name}: {workload.expression}" if workload.name else workload.expression,
        f"loop order <{','.join(permutation)}>, outermost first; semantics {workload.semantics}",
    ]
    for level in range(1, levels + 1):
        heading = "one level" if levels == 1 else f"level {level} of {levels} (1 is the innermost)"
        lines += ["", f"{heading}; footprints in elements, the rest in words"]
        rows = _rows(workload, permutation, level, levels, notation)
        width = max(len(label) for label, _ in rows)
        lines += [f"  {label:<{width}}  {formula}" for label, formula in rows]
    return "\n".join(lines) + "\n"


def derive_latex(workload: Workload, permutation: tuple[str, ...], levels: int = 1) -> str:
    """The same as `derive_text` as one LaTeX `align*` environment per level.

    Args:
        workload: extents stay symbolic.
        permutation: loop order, outermost first, used at every level.
        levels: bounded memory levels.

    Raises:
        InputError: for a loop order that does not name every dim once, or no level.
    """
    check_permutation(workload, permutation)
    lines = []
    for level in range(1, levels + 1):
        rows = _rows(workload, permutation, level, levels, Latex())
        lines.append(r"\begin{align*}")
        labels = [label.replace("_", r"\_") for label, _ in rows]
        body = [rf"  \text{{{label}}} &= {formula}" for label, (_, formula) in zip(labels, rows, strict=True)]
        lines += [line + r" \\" for line in body[:-1]] + body[-1:]
        lines.append(r"\end{align*}")
    return "\n".join(lines) + "\n"


def tensor_text(workload: Workload, permutation: tuple[str, ...]) -> dict[str, str]:
    """Loads plus stores of each tensor for one level, as text in words.

    Raises:
        InputError: for a loop order that does not name every dim once.
    """
    check_permutation(workload, permutation)
    texts: dict[str, str] = {}
    for name, tensor in zip(access_names(workload), workload.tensors, strict=True):
        both = 2 if tensor is workload.output else 1
        formula = Text().product(_term(workload, tensor, permutation, (1, 1), both))
        if tensor is workload.output and workload.semantics is Semantics.ASSIGN:
            formula += " - " + Text().product(_first_touches(workload, 1))
        texts[name] = formula
    return texts


def classes_document(
    workload: Workload, *, concrete: bool = False, rule: CapacityRule = CapacityRule.TILE
) -> dict[str, Any]:
    """The dataflow classes with their traffic, and every proof of dominance, as plain data.

    Args:
        workload: extents matter only with `concrete`.
        concrete: drop dims of extent 1 first.
        rule: the capacity rule under which no optimum may be lost (see `dataflow_classes`).

    Returns:
        `classes`: representative (outermost first), bands, size, traffic per tensor in words;
        `permutations`, `equivalence_classes`; `dominated`: class, by, proof; `notation`, `rule`.
    """
    found: DataflowClasses = dataflow_classes(workload, concrete=concrete, rule=rule)
    return {
        "classes": [
            {
                "representative": list(member.representative),
                "bands": [list(band) for band in member.bands],
                "size": member.size,
                "traffic": tensor_text(workload, member.representative),
            }
            for member in found.classes
        ],
        "permutations": found.permutations,
        "equivalence_classes": found.equivalence_classes,
        "dominated": [
            {"class": list(proof.dominated), "by": list(proof.dominating), "proof": proof.text}
            for proof in found.dominated
        ],
        "notation": PROOF_NOTATION,
        "rule": str(rule),
    }


def _rows(
    workload: Workload, permutation: tuple[str, ...], level: int, levels: int, notation: Notation
) -> list[tuple[str, str]]:
    """(label, formula) pairs of one level."""
    where = (level, levels)
    tile = tiles(workload.dims, level, levels)
    rows = [(f"footprint {t.name}", notation.product(_whole(t, tile, 1))) for t in workload.tensors]
    rows.append(("occupancy, tile", notation.total([_whole(t, tile, workload.weight(t)) for t in workload.tensors])))
    rows.append(("occupancy, safe", notation.total(_safe(workload, permutation, tile))))
    assign = workload.semantics is Semantics.ASSIGN
    once = " - " + notation.product(_first_touches(workload, levels)) if assign else ""
    for tensor in workload.tensors:
        moved = notation.product(_term(workload, tensor, permutation, where, 1))
        if tensor is workload.output:
            loaded = "0" if once == f" - {moved}" else moved + once
            rows += [(f"loads {tensor.name}", loaded), (f"stores {tensor.name}", moved)]
        else:
            rows.append((f"loads {tensor.name}", moved))
    terms = [_term(workload, t, permutation, where, 2 if t is workload.output else 1) for t in workload.tensors]
    rows.append(("loads + stores", notation.total(terms) + once))
    return rows


def _term(
    workload: Workload, tensor: TensorAccess, permutation: tuple[str, ...], where: tuple[int, int], both: int
) -> RatioTerm:
    """The traffic of one tensor at `where` (level, levels), repeats of the level included."""
    level, levels = where
    tile, outer = tiles(workload.dims, level, levels), tiles(workload.dims, level + 1, levels)
    problem = tiles(workload.dims, levels + 1, levels)
    seen = visits(tensor, permutation, tile, outer)
    repeats = tuple((problem[d], outer[d]) for d in permutation) if level < levels else ()
    ratios = tuple((outer[d], tile[d]) for d in seen.ratios)
    return RatioTerm(coefficient=both * workload.weight(tensor), ratios=repeats + ratios, factors=seen.factors)


def _whole(tensor: TensorAccess, tile: dict[str, Expr], coefficient: int) -> RatioTerm:
    """A multiple of the footprint."""
    return RatioTerm(coefficient=coefficient, ratios=(), factors=tuple(axis_values(axis, tile) for axis in tensor.axes))


def _safe(workload: Workload, permutation: tuple[str, ...], tile: dict[str, Expr]) -> list[RatioTerm]:
    """The safe working set, tensor by tensor."""
    terms = []
    for tensor, room in zip(workload.tensors, safe_working_set(workload, permutation), strict=True):
        terms.append(_whole(tensor, room.tile(tile), room.copies * workload.weight(tensor)))
    return terms


def _first_touches(workload: Workload, levels: int) -> RatioTerm:
    """Every word of the output once."""
    output = workload.output
    return _whole(output, tiles(workload.dims, levels + 1, levels), workload.weight(output))
