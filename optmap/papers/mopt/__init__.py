"""MOpt: its operators, its closed forms and classes, its algorithm and its figures."""

from __future__ import annotations
