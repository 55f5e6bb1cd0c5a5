"""Accelerators: reads, fills, updates, energy and cycles of a nest, in exact numbers."""
