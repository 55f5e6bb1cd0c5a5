"""What a search is about: levels, sizes, constraints, and what is said where nothing fits."""
