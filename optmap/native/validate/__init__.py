"""The model against the machine: sampled tilings, their predicted cost, simulated caches, and measured time."""
