"""Closed forms of bounds and tiles, and looking them up."""
