"""What a mapping moves and holds: counting policies and their kernels, literal walks, predicted time."""
