"""Literal walks and cache simulation that share no code with what they check."""
