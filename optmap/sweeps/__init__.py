"""Sweeps: a declared grid of bounds and mappings, run to the end whatever happens, kept as a table.

`spec` reads what is wanted, `plan` expands it, an engine (`inline`, `local`, `cluster`) answers
the points, `store` keeps the answers, `run` ties them together and `reading` hands them back.
"""
