"""SymPy front end: footprints, dataflow classes with proofs, traffic and capacity expressions."""
