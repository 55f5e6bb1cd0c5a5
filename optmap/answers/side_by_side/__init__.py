"""Mappings side by side: with a bound, with each other, with what another model counts."""
