"""Bayesian search of mappings (Dinh, dissertation, section 6.2): encodings, surrogate, transfer, sensitivity.

`encoding` is of use without the rest: every point of the unit cube is a valid mapping, for any optimiser.
"""
