"""Mappings by predicted time."""

from __future__ import annotations

from optmap.search.timed.candidate import Candidate as Candidate
