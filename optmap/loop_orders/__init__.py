"""Loop orders without sizes and without SymPy: dataflow classes, the proofs between them, and a user's patterns."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "classes": "DataflowClasses DataflowClass dataflow_classes equivalence_classes",
        "dominance": "Difference DominanceProof prove",
        "patterns": "allowed_orders",
        "signatures": "DimMasks",
        "structure": "structure_of",
    },
)
