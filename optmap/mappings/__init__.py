"""How it is mapped: tiles per level, loop nests, pieces, held mappings, trees, and what a user demands of them."""
