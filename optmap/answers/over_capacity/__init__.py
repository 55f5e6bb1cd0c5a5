"""Answers over capacities and designs: curves, sums over networks, sizing, fronts."""
