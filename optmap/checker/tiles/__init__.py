"""Solutions whose mappings are tiles, level by level."""
