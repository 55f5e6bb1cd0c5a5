"""Accelerators: mappings proved optimal, by a search over labels."""

from optmap.search.exact.search import ExactAnswer, search_nest

__all__ = ["ExactAnswer", "search_nest"]
