"""Tiles, level by level, in closed forms: the per-level form, the exact one, held mappings."""
