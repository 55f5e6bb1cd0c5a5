"""Searches that propose mappings and see what they cost: one protocol, one driver, one evaluator.

A strategy is a generator that yields batches of nests and is sent their scores. It neither counts nor watches the
clock: `drive` evaluates, keeps the best, and stops it when the budget is spent.
"""
