"""What is free about code beside its mapping, in documents."""

from __future__ import annotations

from optmap.files.fields import Fields
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking


def options_document(options: CodeOptions) -> dict[str, object]:
    """Layout, packing, kind of stores and prefetching as JSON."""
    return {
        "layout": options.layout.value,
        "weights": options.weights.value,
        "stores": options.stores.value,
        "prefetch": options.prefetch,
    }


def options_from(fields: Fields) -> CodeOptions:
    """The options of a document; what it leaves out is as by default.

    Raises:
        InputError: naming file and field.
    """
    default = CodeOptions()
    return CodeOptions(
        layout=ActivationLayout(fields.choice("layout", [each.value for each in ActivationLayout], default.layout)),
        weights=WeightPacking(fields.choice("weights", [each.value for each in WeightPacking], default.weights)),
        stores=StoreKind(fields.choice("stores", [each.value for each in StoreKind], default.stores)),
        prefetch=fields.flag("prefetch", default.prefetch),
    )
