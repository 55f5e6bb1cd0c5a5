"""Whole tiles: from the relaxation to the best integer mapping, and what is proved about it."""
