"""A closed form of IOOpt's upper bound: text, LaTeX and document."""

from __future__ import annotations

from optmap.answers.closed_forms.closed_forms import AtMemory, ClosedFormAnswer
from optmap.base.texts import several
from optmap.files.workloads import workload_document
from optmap.report.tables import grid, pairs, workload_lines
from optmap.symbolic.closed_form import formula_latex, parts

SCHEMA = "optmap.closed_form/1"


def closed_form_document(answer: ClosedFormAnswer) -> dict[str, object]:
    """The JSON document of `derive --closed-form`."""
    form = answer.form
    return {
        "schema": SCHEMA,
        "workload": workload_document(answer.workload),
        "reuse": {dim: sorted(tensors) for dim, tensors in answer.reuse.items()},
        "orders": [list(order) for order in answer.orders],
        "orders_complete": answer.complete,
        "stationary": form.stationary,
        "loads": str(form.expression),
        "side": str(form.side),
        "in_memory": str(form.in_memory),
        "latex": closed_form_latex(answer),
        "tiling": {
            "order": list(form.order),
            "cut": [list(dims) for dims in form.cut],
            "tensors": [
                {"tensor": row.name, "position": row.position, "held": str(row.held), "entering": str(row.entering)}
                for row in parts(form, answer.workload)
            ],
        },
        "assumptions": list(form.assumptions),
        "at": None if answer.at is None else _at_document(answer.at),
    }


def _at_document(at: AtMemory) -> dict[str, object]:
    return {
        "memory_words": at.memory_words,
        "side": at.value.side,
        "loads_words": at.value.loads_words,
        "holds": not at.value.broken,
        "broken": list(at.value.broken),
        "bound_loads_words": at.bound_loads_words,
        "gap": at.gap,
    }


def closed_form_latex(answer: ClosedFormAnswer) -> str:
    """Loads and side as one LaTeX `align*` environment."""
    form = answer.form
    body = [
        rf"  \text{{loads}} &= {formula_latex(form.expression)} \\",
        f"  T &= {formula_latex(form.side)}",
    ]
    return "\n".join([r"\begin{align*}", *body, r"\end{align*}"]) + "\n"


def closed_form_text(answer: ClosedFormAnswer) -> str:
    """The closed form for people."""
    form = answer.form
    orders = [",".join(order) for order in answer.orders]
    if not answer.complete:
        orders.append(f"and more (the first {len(answer.orders)} are listed)")
    reuse = [(f"  {dim}", ", ".join(sorted(tensors)) or "-") for dim, tensors in answer.reuse.items()]
    rows = [(row.name, str(row.position), str(row.held), str(row.entering)) for row in parts(form, answer.workload)]
    lines = [
        pairs([*workload_lines(answer.workload), ("semantics", str(answer.workload.semantics))]),
        "",
        "Reused if the loop over the dim is innermost",
        pairs(reuse),
        "",
        "Loop orders worth tiling, outermost first (IOOpt, Algorithm 1)",
        *(f"  {order}" for order in orders),
        "",
        f"Closed form: {form.stationary} stays; loops over tiles {','.join(form.order)}",
        grid(("tensor", "reuse position", "words held", "words that enter"), "<><<", rows),
        "",
        f"loads = {form.expression}",
        f"T     = {form.side}",
        "",
        "assumed:",
        *(f"  {text}" for text in form.assumptions),
    ]
    if answer.at is not None:
        lines += ["", *_at_lines(answer.at)]
    return "\n".join(lines)


def _at_lines(at: AtMemory) -> list[str]:
    how = "by a formula that does not hold here" if at.value.broken else "rounded up"
    rows = [
        ("side", f"T = {at.value.side:,.6g}"),
        (
            "loads",
            f"{several(at.value.loads_words, 'word')}, {how}",
        ),
        ("bound", f"{at.bound_loads_words:,} words that every schedule loads (certified)"),
    ]
    if at.gap is None:
        rows += [("broken", text) for text in at.value.broken]
    else:
        rows.append(("gap", f"{100 * at.gap:.3f} % of the closed form above the bound"))
    return [f"With {several(at.memory_words, 'word')} of fast memory", pairs(rows)]
