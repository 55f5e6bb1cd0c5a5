"""Mapping and lower bound side by side: recounts, comparisons, curves over capacity, and the gap between them."""
