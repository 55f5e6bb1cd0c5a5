"""Loop orders without sizes and without SymPy: dataflow classes, the proofs between them, and a user's patterns."""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "classes": "Classes DataflowClass dataflow_classes equivalence_classes",
        "dominance": "Difference Proof prove",
        "patterns": "allowed_orders",
        "signatures": "Walk",
        "structure": "structure_of",
    },
)
