"""Sunstone: its access counts, principles, machines, workloads and what its search finds."""

from __future__ import annotations
