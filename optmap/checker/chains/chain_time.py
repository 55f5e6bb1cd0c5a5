"""Verify a bound in time of a chain: certificates of the words of every link, and the arithmetic from words to cycles.

Memories side by side count as one of all their capacities, as one of them may load what another one makes; the busiest
of them loads its share at least. A statement that adds up products of two tensors or more, which have all of its dims,
has a multiply-add at every point; others need not have any.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from ..bounds.crossings import check_machine, fast_words
from ..bounds.time_bound import check_parts, hearsay
from ..bounds.timing import FloorPart, StatedRunning, instances_used, lanes_of, time_line
from ..core.form import TIME_FIELDS
from ..core.report import Report, level_lines
from ..core.shapes import check_form, record
from ..core.tools import need
from .chain import StatedChain, dims_of
from .chain_bound import chain_lines
from .chain_document import CHAIN_WORK, proved_claims, read_chain
from .chain_masks import rules_of, values

CHAIN_TIME = record(**TIME_FIELDS, workload=CHAIN_WORK)


def check_chain_time(doc: Any) -> Report:
    """Verify the file of a bound in time of a chain.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    check_form(doc, CHAIN_TIME)
    chain, machine = read_chain(doc["workload"]), doc["machine"]
    need(doc["word_bits"] == chain.word_bits, f"a word has {chain.word_bits} bits")
    _ = check_machine(machine)
    need(
        prod(level["fanout"] for level in machine["levels"]) == machine["cores"], "cores is not the product of fanouts"
    )
    running = StatedRunning(machine, doc["threads"], doc["caches"])

    def words_of(entry: Any, q: int) -> int:
        instances, where = instances_used(running, q), f"the bound between {' and '.join(entry['between'])}"
        memory = instances * fast_words(machine["levels"], q, chain.word_bits)
        words = -(-proved_claims(entry, chain, memory)["loads_words"] // instances)
        need(entry["instances"] == instances and entry["words"] == words, f"{where} is {words} words")
        need(entry["certificate"]["method"] == doc["bound"]["method"], f"{where} is by another method")
        return words

    parts = check_parts(doc, running, chain_roof(chain, running), chain.word_bits, words_of)
    verified = [*chain_lines(chain), *level_lines(machine, chain), time_line(parts, running, doc["certificates"])]
    return Report(verified=tuple(verified), not_verified=hearsay(doc))


def chain_roof(chain: StatedChain, running: StatedRunning) -> FloorPart:
    """All multiply-adds at the peak of all threads."""
    done, bits = 0, set[int]()
    for number, (said, (output, *inputs)) in enumerate(zip(chain.said, chain.accesses, strict=True)):
        dims = {d for access in inputs for d in dims_of(access)}
        if said.multiplies and len(inputs) > 1 and not chain.padded(number) and dims.issuperset(dims_of(output)):
            done += values(dims, rules_of(said), chain.extents)
            bits.add(chain.bits[output["tensor"]])
    core = running.machine.get("core")
    need(core is not None, "a machine without a core has no time")
    lanes = lanes_of(core, min(bits, default=chain.word_bits))
    return FloorPart("multiply-adds", done, 0, Fraction(core["fma_ports"] * lanes * running.threads))
