"""Verify a bound on what statements in turn cost on a machine with meshes and prices."""

from __future__ import annotations

from typing import Any

from ..chains.chain_bound import chain_lines
from ..chains.chain_document import CHAIN_WORK, read_chain
from ..core.report import Report
from ..core.shapes import check_form, many, record, text, word
from ..core.tools import need, plain, spelled
from ..nests.accesses import objective_value
from ..nests.nest_counts import UNITS, check_amount
from ..nests.nest_form import AMOUNT, MACHINE
from .turn_solution import FLOOR, checked_floor, machine_lines

MESH_BOUND = record(
    schema=word("optmap.mesh-certificate/1"),
    workload=CHAIN_WORK,
    machine=MACHINE,
    objective=word("energy", "cycles", "edp", "port-cycles", "traffic"),
    bound=AMOUNT,
    floor=FLOOR,
    notes=many(text),
    digest=text,
)


def check_turn_bound(doc: Any) -> Report:
    """Verify the file of a bound on energy, cycles or their product.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    check_form(doc, MESH_BOUND)
    chain, unit = read_chain(doc["workload"]), UNITS[doc["objective"]]
    need(chain.assign, "on an accelerator outputs start empty")
    energy, cycles, ports = checked_floor(doc, chain)
    value = objective_value(doc["objective"], energy, cycles, ports)
    check_amount(doc["bound"], value, unit, "bound")
    verified = [
        *chain_lines(chain),
        *machine_lines(chain, doc["machine"]),
        spelled(
            f"no mapping that does this in turn, statement by statement, uses less than {float(energy):,.10g} pJ or "
            f"{cycles:,} cycles, whatever stays on chip between them: {doc['objective']} {float(value):,.10g} {unit}"
        ),
    ]
    called = f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file; clock, word sizes, notes"
    return Report(verified=tuple(verified), not_verified=(plain(called),))
