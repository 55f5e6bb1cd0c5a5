"""A mapping with the choices of its code and the time that is predicted for it."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.count.timing.results import Prediction
from optmap.kernels.code_options import CodeOptions
from optmap.mappings.levels import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCandidate:
    """One of the fastest mappings as predicted."""

    mapping: Mapping
    options: CodeOptions
    prediction: Prediction
