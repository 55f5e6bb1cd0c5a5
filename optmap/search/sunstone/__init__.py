"""Method `sunstone`: memory by memory the orders, tiles and unrollings that its principles leave.

The paper is Olyaiy, Ng, Fedorova, Lis: Sunstone (sections III and IV, appendix). A step of the search chooses for one
memory its keepers, its tile, the unrolling of the mesh outside it and the order of the loops outside it; bottom-up from
the innermost memory, top-down from the outermost bounded one. Partial mappings are completed with what is left at the
outermost memory (top-down: at the memory that got its tile last) and judged like any mapping; the best estimates go on.
Every rule is a function, a setting, and a line in `search.cuts`.

Can a rule lose the optimum? With all rules off, `width=0` and `bypass=on` the search looks at every mapping with
perfect factors. "Of 156" below is that search with one rule on: 100 random small problems, those that have a mapping,
for EDP and energy; the instances are tests (`tests/unit/test_sunstone_rules.py`).

- `further-reuse`, `dominated-orders` (`no_further_reuse`, `dominated`): not without windows of two dims; one of the
  orders left has the least words for every tile. With windows yes: after a sweep of r a step of p finds elements of the
  sweep. For `O[p] = I[c,p+r]*W[c,r]` with c=8 p=16 r=3 and the tile c=4 p=2 r=1 the orders left take 1.21 times the
  energy of the order c p r (words of 1 and 200 pJ). Whole searches: lost 0 of 156.
- `reuse-dims` (`grown_dims`): yes, the argument is for one boundary with all else as it is. A product of 16 x 16 x 16
  with 3 words below 128: 1.04 times the optimum. Lost 1 of 156 (ordering first), 1.15 times.
- `tiling-principle` (`maximal`): yes, for the same reason. Lost 7 of 156, up to 3.45 times.
- `look-outside`: no, it only cuts what no memory outside can hold. Without it the tiling principle is not monotone in
  the inner buffer: the same product on 2 x 2 units below 256 words ends at 1.00, 2.00 and 4.01 times the optimum with
  48, 96 and 192 words per unit; with 192 words per unit below 128 no mapping is valid, and the search says so.
- `unrolling-principle` (`rejected_dims`): nothing proves it, as it takes the reused operand for done with; no instance
  was met (0 of 156): what is rejected for one order is mostly left for another. It gives way where no unrolling that
  keeps to it uses the mesh as well as others.
- `utilisation` (`well_used`): yes. Lost 12 of 156, up to 1.51 times, and left no valid mapping in 22, where the factors
  that it spread were asked for elsewhere; it then gives way, and the search is repeated without it.
- Tiles inside take factors that meshes outside could have spread, and an inner mesh filled with the only small factors
  leaves those outside idle: MTTKRP of netflix on `sunstone-simba` uses 8 of 1,024 lanes so, at 570 times the optimum.
  Where the best mapping is `starved` the search is repeated with `leave_ways`, and ends there at 5.4 times.
- `alpha-beta` (`optimistic`): lost 0 of 156; what is compared, and when it is a lower bound, is said in `estimate`.
- `bypass=off` (`keeper_patterns`): yes; the paper fixes what is kept. It is most of the gap on `eyeriss_like`: 1.41 and
  1.38 times the optimum for ResNet-18's R7 and R9, 1.001 and 1.000 with `bypass=on` and `width=1000`.
- `width`: yes, it is a beam that the paper has not; 0 hands on everything.

In the published code the tiling principle acts on the innermost level alone (`reuse-levels=1`), operands that bypass a
level are counted twice there, and it ends with an error where the inner level is larger than its part of the outer one.
"""
