"""Whole networks from ONNX files: which workloads a model holds, how often, and what is left out.

`graph` reads the file into plain data, `operators` and `einsum` turn one node into a workload,
`skipped` says why any other node is none, and `model` puts them together. `passages` follows what a product makes to
what reads it, and `chains` makes one workload of two such products. The file is parsed, never
evaluated; weights are not loaded.
"""

from __future__ import annotations

from optmap.base.lazy import exports
from optmap.onnx_import.model import ImportedModel as ImportedModel
from optmap.onnx_import.model import import_model as import_model
from optmap.onnx_import.model import workloads_yaml as workloads_yaml
from optmap.onnx_import.skipped import Skipped as Skipped

__getattr__, __dir__ = exports(
    __name__,
    {
        "chains": "LayerChain LinkedModel import_chains",
        "skipped": "CONTROL ELEMENTWISE QUANTISED UNKNOWN",
    },
)
