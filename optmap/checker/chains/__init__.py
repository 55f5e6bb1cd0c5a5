"""Certificates of lower bounds of chains of statements."""
