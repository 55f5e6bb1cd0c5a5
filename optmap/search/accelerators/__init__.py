"""Mapping onto accelerators: what is asked of a method there, what it hands in, and the answer made of it.

Beside `Request`, `Route`, `Found` and `SolveResult` for machines without fanouts: an accelerator is seen as a
`Fabric`, a mapping is a `Nest`, and what is minimised is a `Merit`.
"""
