"""Proofs over all mappings: relaxations and integer bounds."""
