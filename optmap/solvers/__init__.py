"""Solvers behind one Solution type: Ipopt, HiGHS, SciPy and the batched interior point."""
