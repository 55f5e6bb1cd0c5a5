"""Predicted time of a mapping's code."""

from __future__ import annotations

from optmap.count.timing.conflicts import cache_geometry as cache_geometry
from optmap.count.timing.conflicts import kept_shares as kept_shares
from optmap.count.timing.conflicts import tile_loads as tile_loads
from optmap.count.timing.floor import MULTIPLY_ADDS as MULTIPLY_ADDS
from optmap.count.timing.floor import Running as Running
from optmap.count.timing.floor import TimePart as TimePart
from optmap.count.timing.floor import check_threads as check_threads
from optmap.count.timing.floor import core_of as core_of
from optmap.count.timing.floor import core_with_room as core_with_room
from optmap.count.timing.floor import first_cache as first_cache
from optmap.count.timing.floor import floor_cycles as floor_cycles
from optmap.count.timing.floor import instances_used as instances_used
from optmap.count.timing.floor import link as link
from optmap.count.timing.floor import roof as roof
from optmap.count.timing.kept import keeping as keeping
from optmap.count.timing.kept import kept_cost as kept_cost
from optmap.count.timing.kernel import kernel_cycles as kernel_cycles
from optmap.count.timing.kernel import roles_of as roles_of
from optmap.count.timing.lines import PAIR as PAIR
from optmap.count.timing.lines import contested_bytes as contested_bytes
from optmap.count.timing.lines import run_length as run_length
from optmap.count.timing.predict import TimeModel as TimeModel
from optmap.count.timing.predict import predict as predict
from optmap.count.timing.results import KERNEL as KERNEL
from optmap.count.timing.results import BoundaryTime as BoundaryTime
from optmap.count.timing.results import Caches as Caches
from optmap.count.timing.results import Prediction as Prediction
