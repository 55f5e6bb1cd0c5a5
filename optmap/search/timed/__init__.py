"""Mappings by predicted time."""

from __future__ import annotations

from optmap.search.timed.candidate import TimedCandidate as TimedCandidate
from optmap.search.timed.ranking import order_of as order_of
from optmap.search.timed.ranking import ranked as ranked
