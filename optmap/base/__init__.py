"""What every room stands on: errors, names, numbers, the clock, the registry, texts."""
