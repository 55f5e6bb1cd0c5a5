"""Solutions of chains of statements: mapping trees, counted in closed form."""
