"""Attack the inequality of windows by annealing: python tests/benchmarks/halo_attack.py 1000000 7.

Arguments: steps, seed. Sets of outputs, taps and inputs on small grids change by one point at a time towards more
pairs than the losses leave; the sets start as boxes with cut corners of random sizes, where the losses are nearly
attained. Prints how close the walks came; exit code 1 at the first violation.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from collections.abc import Iterator

from optmap.checker.bounds.losses import GRID, LOSSES, ONE

STEPS = 20_000
"""Steps of one walk."""
Point = tuple[int, int]


def left(shape: tuple[int, ...], taps: int, few: int, many: int) -> float:
    """Most pairs that the losses leave."""
    kinds = [
        n * (few + many) / 2 - loss(few * GRID, many * GRID) / ONE for n, loss in LOSSES[shape].items() if n >= taps
    ]
    return min(taps * few, *kinds)


class Walk:
    """Sets of outputs and inputs under fixed taps, and the number of their pairs."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shape = rng.choice([shape for shape in LOSSES for _ in range(len(LOSSES[shape]))])
        window = list(itertools.product(*(range(n) for n in (1, *self.shape)[-2:])))
        fewest = max(1, len(window) // 2)
        self.taps: list[Point] = rng.sample(window, rng.choice([len(window), rng.randint(fewest, len(window))]))
        self.reach = tuple(n - 1 for n in (1, *self.shape)[-2:])
        flat = len(self.shape) == 1
        self.side = (
            1 if flat else rng.choice([3, 5, 8, 12, 20]),
            rng.choice([4, 8, 16]) if flat else rng.choice([4, 7, 12]),
        )
        self.outputs = self.octagon(0)
        self.inputs = self.octagon(1)
        self.pairs = sum((i + r, j + s) in self.inputs for i, j in self.outputs for r, s in self.taps)

    def octagon(self, offset: int) -> set[Point]:
        """A box without corners, somewhere inside the grid."""
        high, wide = (self.rng.randint(1, n) for n in self.side)
        cut = self.rng.randint(0, min(high, wide) // 2)
        at = min(offset, self.side[0] - 1), offset
        found = {
            (i + at[0], j + at[1])
            for i, j in itertools.product(range(high), range(wide))
            if min(i, high - 1 - i) + min(j, wide - 1 - j) >= cut
        }
        return found or {at}

    def moves(self, count: int) -> Iterator[float]:
        """Pairs over what is left after each step; a step that loses is taken now and then."""
        now = self.closeness()
        for step in range(count):
            heat = 0.02 * (1 - step / count) + 1e-9
            outputs = self.rng.random() < 0.5
            mine = self.outputs if outputs else self.inputs
            point = (self.rng.randrange(self.side[0] + self.reach[0]), self.rng.randrange(self.side[1] + self.reach[1]))
            if len(mine) == 1 and point in mine:
                continue
            self.turn(point, outputs=outputs)
            after = self.closeness()
            if after < now and self.rng.random() >= math.exp((after - now) / heat):
                self.turn(point, outputs=outputs)
                continue
            now = after
            yield now

    def turn(self, point: Point, *, outputs: bool) -> None:
        """Put a point into its set, or take it away."""
        mine, other, sign = (self.outputs, self.inputs, 1) if outputs else (self.inputs, self.outputs, -1)
        met = sum((point[0] + sign * r, point[1] + sign * s) in other for r, s in self.taps)
        self.pairs += -met if point in mine else met
        mine ^= {point}

    def closeness(self) -> float:
        """Pairs over the most that the losses leave; above 1 is a violation."""
        few, many = sorted((len(self.outputs), len(self.inputs)))
        return self.pairs / left(self.shape, len(self.taps), few, many)


def main(steps: int, seed: int) -> int:
    """Walk until so many steps are taken or an inequality fails."""
    taken, walks, closest, met, began = 0, 0, 0.0, 0, time.process_time()
    while taken < steps:
        walk = Walk(random.Random(f"{seed}/{walks}"))
        best = walk.closeness()
        for value in walk.moves(min(STEPS, steps - taken)):
            best = max(best, value)
            if value > 1 + 1e-9:
                sys.stdout.write(
                    f"VIOLATED {seed}/{walks} taps {walk.taps}: {walk.outputs} {walk.inputs} {walk.pairs}\n"
                )
                return 1
        taken, walks, closest = taken + STEPS, walks + 1, max(closest, best)
        met += best > 1 - 1e-9
    each = 1e6 * (time.process_time() - began) / taken
    sys.stdout.write(
        f"{taken:,} steps of {walks:,} walks, 0 violations; {met:,} walks attain it, closest {closest:.6f}; "
    )
    sys.stdout.write(f"{each:.1f} us a step\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
