"""Accelerators: mappings proved optimal, by a search over labels."""

from optmap.search.exact.search import ExactAnswer, PassRecord, search_nest

__all__ = ["ExactAnswer", "PassRecord", "search_nest"]
