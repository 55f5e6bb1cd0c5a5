"""Whole networks: a sweep over their layers, added up, at one capacity or over many."""
