"""Mathematical programs: built, exported and read back here; solved elsewhere."""
