"""Dinh's dissertation: its theorems, figures and formulas, and what is wrong in them."""

from __future__ import annotations
