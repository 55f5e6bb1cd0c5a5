"""Chains on machines with meshes and prices: statements in turn."""
