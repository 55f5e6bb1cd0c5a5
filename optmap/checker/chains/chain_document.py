"""A chain as documents other than its certificates say it, and certificates that are about it."""

from __future__ import annotations

from typing import Any

from ..bounds.bound import check_bound
from ..core.form import WORK
from ..core.shapes import Shape, many, name, record, records
from ..core.tools import need
from ..core.units import element_bits
from .chain import StatedChain
from .chain_bound import check_chain
from .chain_text import read_chain_statement

STATEMENTS: dict[str, Shape] = {"statements": many(record(expression=name, output=name, inputs=many(name, 1)), 1)}
CHAIN_WORK = records(WORK, WORK | STATEMENTS, WORK | STATEMENTS | {"outputs": many(name, 1)})
"""A workload of one statement or more."""


def read_chain(work: Any) -> StatedChain:
    """The statements of a workload; what is said of each beside its text is what the text says."""
    entries = work.get("statements", [{"expression": work["expression"]}])
    texts = [each["expression"] for each in entries]
    need(work["expression"] == "; ".join(texts), "expression and statements differ")
    tensors = [[tensor for tensor, _ in read_chain_statement(each).accesses] for each in texts]
    for each, (output, *inputs) in zip(entries, tensors, strict=True):
        said = (each.get("output", output), each.get("inputs", inputs))
        need(said == (output, inputs), f"{output} is made of {', '.join(inputs)}")
    need(work["padding"] == "stored", "not counted: padding")
    sizes = work["bytes"]
    if type(sizes) is not dict:
        sizes = {tensor: sizes for names in tensors for tensor in names}
    same = {key: work[key] for key in ("extents", "semantics")}
    return StatedChain({"statements": texts, "bytes": sizes, "outputs": work.get("outputs", []), **same})


def proved_claims(entry: Any, chain: StatedChain, memory: int) -> dict[str, int]:
    """The claims of an entry's certificate, which is about a chain and a memory of so many words, and is verified."""
    cert, where = entry["certificate"], f"the bound between {' and '.join(entry['between'])}"
    if cert.get("schema") == "optmap.chain-certificate/1":
        _ = check_chain(cert)
        claims, theirs = cert["claims"], StatedChain(cert["workload"])
        same = theirs.said == chain.said and theirs.outputs == chain.outputs
        same = same and (theirs.extents, theirs.bits, theirs.assign) == (chain.extents, chain.bits, chain.assign)
    else:
        claims, work = check_bound(cert), cert["workload"]
        same = [work["expression"]] == [said.text for said in chain.said] and work["extents"] == chain.extents
        same = same and element_bits(work["bytes"]) == chain.bits
    need(same, f"{where} is about another workload")
    need(cert["memory_words"] == memory, f"{where} is for another capacity")
    return dict(claims)
