"""SymPy front end: footprints, dataflow classes with proofs, traffic and capacity expressions.

Only what needs no SymPy is exported here: the search asks for classes without paying for its import.
"""

from __future__ import annotations

from optmap.lazy import exports
from optmap.symbolic.classes import Classes as Classes
from optmap.symbolic.classes import DataflowClass as DataflowClass
from optmap.symbolic.classes import dataflow_classes as dataflow_classes
from optmap.symbolic.dominance import Difference as Difference
from optmap.symbolic.dominance import Proof as Proof

__getattr__, __dir__ = exports(
    __name__,
    {
        "classes": "equivalence_classes",
        "closed_form": "MEMORY SIDE at_extents closed_form_value contraction_closed_form convolution_closed_form parts",
        "dominance": "prove",
        "footprint": "axis_run axis_values distinct",
        "ioopt": "held_traffic reuse_orders reuse_sets",
        "patterns": "allowed_orders",
        "render": "classes_document derive_latex derive_text tensor_text",
        "signatures": "Walk",
        "structure": "structure_of",
        "symbols": "extent latex_name tile tiles",
        "traffic": "occupancy safe_occupancy tensor_traffic",
    },
)
