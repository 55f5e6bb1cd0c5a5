"""IOOpt's upper bound: one memory with a reuse position per tensor, and the sum over several levels."""
