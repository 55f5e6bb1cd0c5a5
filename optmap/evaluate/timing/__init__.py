"""Predicted time of a mapping's code."""

from __future__ import annotations

from optmap.evaluate.timing.results import KERNEL as KERNEL
from optmap.evaluate.timing.results import BoundaryTime as BoundaryTime
from optmap.evaluate.timing.results import Caches as Caches
from optmap.evaluate.timing.results import Prediction as Prediction
