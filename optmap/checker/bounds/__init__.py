"""Certificates of lower bounds on words, energy, cycles and time."""
