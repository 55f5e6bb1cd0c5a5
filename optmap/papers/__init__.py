"""What the papers print, item by item, held against what is computed here."""

from __future__ import annotations
