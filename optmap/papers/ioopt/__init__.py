"""IOOpt: its running examples, Algorithm 1, Figures 3 to 8, and what is wrong in them."""

from __future__ import annotations
