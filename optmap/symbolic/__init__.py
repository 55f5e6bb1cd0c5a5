"""SymPy front end: what `derive` prints, footprints, traffic and capacity expressions, closed forms."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "closed_form": "MEMORY SIDE at_extents closed_form_value contraction_closed_form convolution_closed_form parts",
        "footprint": "axis_run axis_values distinct",
        "ioopt": "held_traffic reuse_orders reuse_sets",
        "render": "classes_document derive_latex derive_text tensor_text",
        "symbols": "extent latex_name tile tiles",
        "traffic": "occupancy safe_occupancy tensor_traffic",
    },
)
