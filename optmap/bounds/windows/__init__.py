"""What overlapping windows add to bounds: halos, and classes of taps."""
