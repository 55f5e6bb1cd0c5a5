"""The pages of proofs that stand in the code, beside what they prove."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from making.prose import rendered

PROOFS = {
    "optmap.bounds.certificate": "Exponents, segments and what a certificate proves",
    "optmap.bounds.windows.halo": "Windows that overlap",
    "optmap.bounds.windows.tap_classes": "Windows with strides, class of taps by class of taps",
    "optmap.bounds.passing.visits": "What is visited again",
    "optmap.bounds.passing.passes": "Whole passes",
    "optmap.bounds.regime_proof": "Closed forms, regime by regime",
    "optmap.bounds.chains.certificate": "Certificates of chains",
    "optmap.checker.cover.cover": "Covers: the relaxation and the integer bound",
    "optmap.loop_orders.dominance": "Loop orders that need not be looked at",
}
"""Modules whose documentation is a proof."""


def pages() -> Mapping[str, str]:
    """The page, by its path in the site."""
    parts = [
        "# Proofs beside the code\n",
        "The documentation of the modules that have a theorem: a statement, its proof, and what a",
        "checker tests. The theorems of chains have [a page of their own](../chain-floors.md).\n",
    ]
    for module, title in PROOFS.items():
        loaded = import_module(module)
        assert loaded.__doc__
        file = Path(str(loaded.__file__))
        parts += [
            f"## {title}\n",
            f"`{'/'.join(file.parts[-len(module.split('.')) :])}`\n",
            rendered(getdoc(loaded) or "") + "\n",
        ]
    return {"explanation/proofs.md": "\n".join(parts)}
