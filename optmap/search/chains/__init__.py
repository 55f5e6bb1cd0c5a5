"""Fused mappings of chains of statements."""
