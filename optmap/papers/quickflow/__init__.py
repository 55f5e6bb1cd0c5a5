"""QuickFlow: its tables, its formulas and what it claims of its search."""

from __future__ import annotations
