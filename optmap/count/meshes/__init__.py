"""Accelerators: reads, fills, updates, energy and cycles of a nest, in exact numbers.

What is assumed:

- A memory holds one tile of each operand that it keeps, and of the tile before it reuses what `entering` says.
- Every operation reads its operands from the innermost keepers and updates its output there; units hold nothing.
- Outputs start empty: the first update of a word reads nothing, a word that was never updated is not filled.
- All instances in use work in step; those that need the same words at a step are served by one read, where their
  mesh can multicast, and outputs are added up on the way in the same manner. Halos that overlap in part are not shared.
- What leaves a memory is read there for nothing, unless drains are charged.
- An entry holds one element of any size, unless a machine prices and limits by bits (`machines.elements`).
- Memories and arithmetic work at the same time: cycles are those of the slowest.

`count` is the closed form for one nest, `batch` for many at once, `walk` visits every step and child of a small one.
"""
