"""Exact integer cost of a mapping, and a reference simulator that shares no code with it."""
