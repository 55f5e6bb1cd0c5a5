"""Answers of verbs as tables, JSON and programs."""
