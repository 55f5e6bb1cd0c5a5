"""Exponents of the product inequality: linear maps, polytopes, and the search for what proves most."""
