"""Answers as documents: JSON, tables and plots."""
