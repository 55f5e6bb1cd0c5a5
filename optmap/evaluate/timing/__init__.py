"""Predicted time of a mapping's code."""

from __future__ import annotations

from optmap.evaluate.timing.conflicts import cache_geometry as cache_geometry
from optmap.evaluate.timing.conflicts import kept_shares as kept_shares
from optmap.evaluate.timing.conflicts import tile_loads as tile_loads
from optmap.evaluate.timing.floor import MULTIPLY_ADDS as MULTIPLY_ADDS
from optmap.evaluate.timing.floor import Running as Running
from optmap.evaluate.timing.floor import TimePart as TimePart
from optmap.evaluate.timing.floor import check_threads as check_threads
from optmap.evaluate.timing.floor import core_of as core_of
from optmap.evaluate.timing.floor import core_with_room as core_with_room
from optmap.evaluate.timing.floor import first_cache as first_cache
from optmap.evaluate.timing.floor import floor_cycles as floor_cycles
from optmap.evaluate.timing.floor import instances_used as instances_used
from optmap.evaluate.timing.floor import link as link
from optmap.evaluate.timing.floor import roof as roof
from optmap.evaluate.timing.kept import keeping as keeping
from optmap.evaluate.timing.kept import kept_cost as kept_cost
from optmap.evaluate.timing.kernel import kernel_cycles as kernel_cycles
from optmap.evaluate.timing.kernel import roles_of as roles_of
from optmap.evaluate.timing.lines import PAIR as PAIR
from optmap.evaluate.timing.lines import contested_bytes as contested_bytes
from optmap.evaluate.timing.lines import run_length as run_length
from optmap.evaluate.timing.predict import TimeModel as TimeModel
from optmap.evaluate.timing.predict import predict as predict
from optmap.evaluate.timing.results import KERNEL as KERNEL
from optmap.evaluate.timing.results import BoundaryTime as BoundaryTime
from optmap.evaluate.timing.results import Caches as Caches
from optmap.evaluate.timing.results import Prediction as Prediction
