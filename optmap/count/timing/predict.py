r"""Time of one call of a mapping's code, derived from the machine's numbers; nothing is fitted to measurements.

**Parts.** The kernel (`kernel`): cycles of its steps. Every boundary between caches: bytes over bandwidth, where the
bytes are those of the part of the nest that the cache keeps (`bodies`), in whole lines (`lines`), an output line that
is written for the first time being read before unless stores stream past the caches. Bandwidths are those of loads:
caches take what comes in and hand out what leaves on ways of their own, so that the larger of the two counts; the
bus of the memory is one way for both. From beyond the second cache lines come in aligned pairs, since processors
fetch the other half of a pair, too; of outputs it comes to be read and is asked for again to be written, unless the
kernel writes both halves in one go: in one visit, or in the loop around it. The boundary of the registers is no part
of its own: its loads are the kernel's, which takes as long as its words take over a link that is said to be slower
than the load ports. Packing in the call: every weight is read, and written to a line that is read
before, one element a cycle or at the slowest boundary that the two copies do not fit inside.

**Together.** A core goes on computing while lines are on their way, as far as its window of instructions reaches:
some hundred of them, tens of cycles, which is what the next cache takes to answer. What comes from further out is
hidden only if it was asked for before: inputs, if the code asks for its next tiles while it works on these
(`CodeOptions.prefetch`). But the innermost cache hands out vectors or takes in a line, not both at once, and a line
passes one boundary after the other: loads of the kernel and the times of all boundaries add up, and only the arithmetic
of the steps goes on beside them (`KernelCycles.beside`; the ECM model). Nothing asks for outputs ahead: lines that are
read before they are written and sums that come back are waited for. With `waited` what is waited for at a boundary,

    cycles = max(steps, loads + all boundaries without what is waited for) + sums + all that is waited for + packing,

and never less than the floor (`floor`): steps do not count every load, such as weights that stay in registers.

**Threads.** The first thread of a split is followed, which has the largest share; where the split cuts a dim that
padding ties, others have less padding, and then nothing is taken off for padding. An instance of a level serves the
threads inside it: it runs through the loops from the outermost split that it spans up to the next one. A thread gets
no more than `core_bandwidth` where a machine says so. Outputs that threads write side by side in short runs go to and
fro between their caches (`lines.contested_bytes`), as outputs that are read before they are written.

**Warm caches.** Calls follow each other as the iterations of one more loop that no tensor depends on. If
everything fits, nothing crosses; else what is left from the call before is not found again, as for any loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter

from optmap.count.timing.bodies import Kept, between_splits, kept_bodies, shares
from optmap.count.timing.floor import Running, core_of, first_cache, floor_cycles, rate
from optmap.count.timing.kept import keeping
from optmap.count.timing.kernel import kernel_cycles, roles_of
from optmap.count.timing.lines import PAIR, contested_bytes, line_factor, run_length
from optmap.count.timing.results import KERNEL, BoundaryTime, Caches, Prediction
from optmap.kernels.code_options import CodeOptions, StoreKind, WeightPacking
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Semantics, Workload

PACKING = "packing"
"""Name of the packing of weights among what a time can be bound by."""


def predict(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    options: CodeOptions | None = None,
    *,
    threads: int = 1,
    caches: Caches = Caches.WARM,
) -> Prediction:
    """Time of one call of a mapping's code.

    Args:
        workload: what is computed, with the padding and semantics of the code.
        machine: with a core.
        mapping: tiles, loop orders and splits, the innermost level's tile in registers.
        options: layout, packing, stores and prefetch; None for the defaults.
        threads: that share the machine; no fewer than the ways in which the mapping splits.
        caches: what they hold when the call begins.

    Raises:
        InputError: for a machine without a core or with fewer cores than threads, or a mapping that does not belong
            to it.
        LimitError: for a subscript with gaps over too wide an index range.
    """
    core_of(machine)
    mapping.check(workload, machine)
    threads = max(threads, mapping.ways)
    model = TimeModel(
        workload=workload,
        machine=machine,
        options=options or CodeOptions(),
        running=Running(threads=threads, caches=caches),
    )
    return model.predict(mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeModel:
    """What mappings of one workload are timed with."""

    workload: Workload
    machine: Machine
    options: CodeOptions
    running: Running

    def predict(self, mapping: Mapping) -> Prediction:
        """Time of one call of a valid mapping's code; see `predict`."""
        core = core_of(self.machine)
        kernel = kernel_cycles(self.workload, mapping, core, self.options.layout)
        caches = range(first_cache(self.machine), len(self.machine.levels))
        rows = tuple(self._boundary(mapping, number)[0] for number in caches)
        packing, link = self._packing(), self._register_link(mapping)
        compute = max(kernel.cycles, link)
        parts = {KERNEL: compute, PACKING: packing, **{row.name: row.cycles for row in rows}}
        waited = sum(row.waited_cycles for row in rows)
        lines = sum(row.cycles for row in rows) - waited
        cycles = max(kernel.beside(lines), link) + waited + packing if kernel.fits else float("inf")
        floor = floor_cycles(self.workload, self.machine, self.running)
        cycles = max(cycles, _rounded_up(floor))
        clock = self.machine.clock_hz
        needs = f"the register tile needs {kernel.registers} vector registers, the core has {core.registers}"
        return Prediction(
            kernel=kernel.kind.value,
            feasible=kernel.fits,
            reason="" if kernel.fits else needs,
            threads=self.running.threads,
            caches=self.running.caches,
            registers=kernel.registers,
            compute_cycles=compute,
            boundaries=rows,
            packing_cycles=packing,
            cycles=cycles,
            seconds=None if clock is None else cycles / clock,
            bound_by=max(parts, key=lambda part: parts[part]),
            floor_cycles=float(floor),
            floor_seconds=None if clock is None else float(floor) / clock,
        )

    def rate(self, number: int) -> Fraction:
        """Bytes per cycle over a level's link outwards, of one instance and the threads inside it."""
        return rate(self.machine, number, self.running.threads, self.workload.word_bits)

    def _register_link(self, mapping: Mapping) -> float:
        """Cycles of what registers load, if their link is slower than the ports of loads, which the kernel counts."""
        core, link = core_of(self.machine), self.rate(0)
        if not first_cache(self.machine) or link >= core.load_ports * core.vector_bytes:
            return 0.0
        kept = keeping(self.workload, self.machine, mapping, 0)
        loads = sum(words for words, _ in kept.traffic(self.workload)) * self.workload.word_bits / 8
        return loads / float(link)

    def _boundary(self, mapping: Mapping, number: int) -> tuple[BoundaryTime, list[float]]:
        """Time at the boundary outside a level, and bytes per tensor."""
        level, levels = self.machine.levels[number], between_splits(mapping, number)
        inner, outermost = number == first_cache(self.machine), number == len(self.machine.levels) - 1
        lanes = core_of(self.machine).lanes(self.workload.output.bits)
        loads, stores = [0.0] * len(self.workload.tensors), 0.0
        for found, parts in kept_bodies(self.workload, mapping, level, levels, options=self.options, lanes=lanes):
            kept = found if inner else replace(found, written=self._written(mapping))
            into, out = self._moved_bytes(kept, (level.line_bytes or 1) * (1 if inner else PAIR))
            loads = [more + part * each for more, part, each in zip(loads, parts, into, strict=True)]
            stores += parts[0] * out
        if self.options.stores is StoreKind.ORDINARY:
            loads[0] += contested_bytes(
                self.workload, mapping, number, layout=self.options.layout, lanes=lanes, line_bytes=level.line_bytes
            )
        rate = float(self.rate(number))
        row = BoundaryTime(
            between=self.machine.boundaries[number],
            moved_bytes=sum(loads) + stores,
            cycles=(sum(loads) + stores if outermost else max(sum(loads), stores)) / rate,
            waited_cycles=0.0 if inner else (loads[0] if self.options.prefetch else sum(loads)) / rate,
        )
        return row, loads

    def _written(self, mapping: Mapping) -> dict[str, int]:
        """Iterations per dim over which outputs are written in one go: a register tile, and the loop around it."""
        level, outside = mapping.levels[0], shares(mapping, 1, self.workload)
        for dim in reversed(level.permutation):
            if dim in self.workload.output.dims and outside[dim] > level.tile[dim]:
                return {**level.tile, dim: outside[dim]}
        return dict(level.tile)

    def _moved_bytes(self, kept: Kept, line_bytes: int) -> tuple[list[float], float]:
        """Bytes loaded per tensor, output first, and stored at the boundary outside a memory that keeps a body."""
        workload, output, body = self.workload, self.workload.output, kept.body
        streams = self.options.stores is StoreKind.STREAMING
        created = body.created(workload) * workload.weight(output)
        if kept.fits and self.running.caches is Caches.WARM and body.is_everything(workload):
            rows = [(0, created if streams else 0), *((0, 0) for _ in workload.inputs)]
        else:
            rows = list(body.traffic(workload))
            # A line is read before it is written for the first time, unless the store goes past the caches.
            reads = created if workload.semantics is Semantics.ASSIGN and not streams else 0
            rows[0] = (rows[0][0] + reads, rows[0][1])
        lanes = core_of(self.machine).lanes(output.bits)
        loads, stores = [], 0.0
        for place, (tensor, (entering, leaving)) in enumerate(zip(workload.tensors, rows, strict=True)):
            over = kept.written or kept.passing if place == 0 else kept.passing
            run = run_length(workload, place, over, self.options.layout, lanes)
            line = max(8 * line_bytes // tensor.bits, 1)
            size = (1.0 if run is None else line_factor(line, run)) * workload.word_bits / 8
            loads.append(entering * size)
            stores += leaving * size
        return loads, stores

    def _packing(self) -> float:
        """Cycles of packing the weights in the call: by one thread, before the others begin.

        Where vectors run along rows weights are broadcast, from the order in which they are given.
        """
        roles = roles_of(self.workload, self.options.layout)
        ahead = self.options.weights is WeightPacking.AHEAD
        if ahead or roles is None or roles.kind is KernelKind.PLAIN or roles.apart is not None:
            return 0.0
        weights = self.workload.tensors[roles.weights]
        elements = weights.footprint(self.workload.extents)
        size = elements * weights.bits / 8
        cycles = float(elements)
        for number, level in enumerate(self.machine.levels):
            if number >= first_cache(self.machine) and 2 * size > level.capacity.bytes(self.workload.word_bits):
                cycles = max(cycles, 3 * size / float(rate(self.machine, number, 1, self.workload.word_bits)))
        return cycles


def _rounded_up(value: Fraction) -> float:
    """The next float that is not below."""
    found = float(value)
    return found if found >= value else nextafter(found, inf)
