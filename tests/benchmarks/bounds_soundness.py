"""Attack the bounds for as long as you like, and time them: python tests/benchmarks/bounds_soundness.py 500 7.

Arguments: number of workloads, seed. Every workload is bounded at six memory sizes; random tiled
schedules and 200 steps of local search under Belady replacement try to move fewer words.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bounds_oracles import found_loads, least_memory, random_workload, template_workload

from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.proof import ranked_proofs


def main(count: int, seed: int) -> int:
    rng = random.Random(seed)
    seconds, tight, violations, instances = [], 0, 0, 0
    for i in range(count):
        workload = random_workload(rng) if i % 4 == 3 else template_workload(rng)
        least = least_memory(workload)
        for memory in sorted({least, *(least + rng.randint(1, top) for top in (3, 6, 12, 20, 30))}):
            began = time.perf_counter()
            proofs = ranked_proofs(workload, memory, beat=0)
            seconds.append(time.perf_counter() - began)
            claimed = max(compulsory_loads(workload), *(proof.loads_words for proof in proofs))
            found = found_loads(workload, memory, rng, tries=4, steps=200)
            instances += 1
            tight += found == claimed
            if found < claimed:
                violations += 1
                sys.stdout.write(f"BEATEN {workload.expression} {workload.extents} {memory}: {found} < {claimed}\n")
    sys.stdout.write(
        f"{instances} instances, {violations} beaten, {tight} met exactly; seconds per bound: median "
        f"{statistics.median(seconds):.4f}, worst {max(seconds):.4f}\n"
    )
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
