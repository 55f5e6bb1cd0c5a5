"""What there is to work with, as tables: workloads, machines, methods, solvers, imported models."""
