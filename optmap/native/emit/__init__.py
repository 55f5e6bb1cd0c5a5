"""C from a mapping: the nest of all levels' loops, and the leaf that runs innermost."""
