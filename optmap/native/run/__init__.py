"""Emitted code called from Python: on arrays, against a reference, against the clock."""
