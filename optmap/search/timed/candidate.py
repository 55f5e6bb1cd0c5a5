"""A mapping with the choices of its code and the time that is predicted for it."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.evaluate.timing.results import Prediction
from optmap.problem.code_options import CodeOptions
from optmap.problem.mapping import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One of the fastest mappings as predicted."""

    mapping: Mapping
    options: CodeOptions
    prediction: Prediction
