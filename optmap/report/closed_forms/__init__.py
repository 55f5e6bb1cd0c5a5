"""Closed forms as text, LaTeX, Python and documents."""
