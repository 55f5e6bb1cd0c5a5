"""Sunstone, sections II to IV: access counts, tiling and unrolling principles, inferred reuse, and its machines."""

from __future__ import annotations

from itertools import product

from optmap.files import library
from optmap.machines.machine import Machine
from optmap.papers.counting import entering
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, held
from optmap.symbolic.numbers import divisors_of
from optmap.verbs.deriving import inferred_reuse
from optmap.workloads.parser import parse_workload

PRINCIPLES = Collected()
CONV1D = "O[k,p] += I[c,p+r]*W[k,c,r]"
"""Algorithm 3 without its tiles."""
DEFINITIONS = {
    "mttkrp_nell2": ("MTTKRP", "ij", ("ikl", "kj", "lj")),
    "sddmm_cant": ("SDDMM", "ij", ("ij", "ik", "kj")),
    "ttmc_nell2": ("TTMc", "ilm", ("ijk", "jl", "km")),
    "mmc_attention": ("MMc", "il", ("ij", "jk", "kl")),
    "tcl_vgg": ("TCL", "lmn", ("ijk", "il", "jm", "kn")),
}
"""Table II: indices of the output and the inputs."""


@PRINCIPLES.item("Table II", "Representative tensor computations", where="section II-B")
def table_2() -> Rows:
    """The library's statements."""
    for name, (title, output, inputs) in DEFINITIONS.items():
        statement = library.workload(f"sunstone/{name}").only
        ours = ["".join(str(axis) for axis in access.axes) for access in (statement.output, *statement.inputs)]
        printed = [output, *inputs]
        yield claimed(f"{title}: indices", " ".join(printed), " ".join(ours), holds=sorted(ours) == sorted(printed))
    positions = str.maketrans("hw", "pq")
    statement = library.workload("sunstone/resnet18_conv2").only
    ours = [
        " ".join(sorted(str(axis).translate(positions) for axis in access.axes))
        for access in (statement.output, *statement.inputs)
    ]
    printed = ["k n p q", "c n p+r q+s", "c k r s"]
    yield claimed("Conv: indices", "; ".join(printed), "; ".join(ours), holds=sorted(ours) == sorted(printed))


@PRINCIPLES.item("Formulas (1) to (4)", "Accesses of a tiled 1D convolution", where="section III-A")
def accesses() -> Rows:
    """Loops p, k, c over L1 tiles, c innermost; every tensor is counted from real boxes."""
    n = {"k": 12, "p": 20, "c": 6, "r": 3}
    tile = {"k": 4, "p": 5, "c": 2, "r": 3}
    workload = parse_workload(CONV1D, n)
    found = entering(workload, tile, ("r", "p", "k", "c"), {"O": 1, "I": 1, "W": 1})
    k2, p2 = n["k"] // tile["k"], n["p"] // tile["p"]
    printed = {
        "I": k2 * n["c"] * p2 * (tile["p"] + tile["r"] - 1),
        "W": n["c"] * n["k"] * n["r"] * p2,
        "O": n["p"] * n["k"],
    }
    names = {"I": "(1) ifmap", "W": "(2) weight", "O": "(3) ofmap"}
    for name, words in printed.items():
        yield held(f"{names[name]}: L2 accesses", words, found[name])
    yield held("(4) all L2 accesses", sum(printed.values()), sum(found.values()))


@PRINCIPLES.item("Tiling principle", "Larger tiles along dims of the reused operand access less", where="section III-A")
def tiling_principle() -> Rows:
    """Every tile of a small 1D convolution: no child along k or p has more accesses."""
    n = {"k": 8, "p": 12, "c": 4, "r": 3}
    workload = parse_workload(CONV1D, n)
    worse, seen = 0, 0

    def words(k: int, p: int, c: int) -> int:
        tile = {"k": k, "p": p, "c": c, "r": 3}
        return sum(entering(workload, tile, ("r", "p", "k", "c"), {"O": 1, "I": 1, "W": 1}).values())

    for k, p, c in product(divisors_of(n["k"]), divisors_of(n["p"]), divisors_of(n["c"])):
        for larger in ((2 * k, p), (k, 2 * p)):
            if n["k"] % larger[0] == 0 and n["p"] % larger[1] == 0:
                seen += 1
                worse += words(*larger, c) > words(k, p, c)
    yield claimed(f"of {seen} tiles, those whose child has more accesses", 0, worse, holds=not worse)


@PRINCIPLES.item("Table III", "Inferred reuse of a 1D convolution", where="section IV")
def table_3() -> Rows:
    """Per tensor: indexed by, reused by, partly reused by."""
    found = inferred_reuse(CONV1D, extents={"k": 4, "c": 4, "p": 7, "r": 3}).to_dict()
    ours = {row["tensor"]: row for row in found["tensors"]}
    printed = {"O": ("kp", "cr", ""), "I": ("cpr", "k", "pr"), "W": ("ckr", "p", "")}
    for tensor, (indexed, reused, partly) in printed.items():
        row = ours[tensor]
        mine = ["".join(sorted(row[key])) for key in ("indexed_by", "reused_by", "partly_reused_by")]
        yield claimed(
            f"{tensor}: indexed, reused, partly reused by",
            f"{indexed}; {reused}; {partly or '-'}",
            "; ".join(each or "-" for each in mine),
            holds=mine == [indexed, reused, partly],
        )


@PRINCIPLES.item("Figure 5", "Tiles of the L1 search tree", where="section IV-B")
def figure_5() -> Rows:
    """P = 14, K = 4, a unified L1 of 8 entries, order xxCR: tiles grow along K and P."""

    def size(k: int, p: int) -> int:
        return k * p + k + p

    yield claimed(
        "node K = 2, P = 1 is pruned: its child P = 2", "fits", size(2, 2), holds=size(2, 1) <= 8 and size(2, 2) <= 8
    )
    whole = [
        (k, p)
        for k, p in product(divisors_of(4), divisors_of(14))
        if size(k, p) <= 8 and not any(size(*child) <= 8 for child in _children(k, p))
    ]
    yield claimed("tiles that stay: none of their children fits", "candidates", str(whole), holds=(2, 2) in whole)


def _children(k: int, p: int) -> list[tuple[int, int]]:
    """A tile with one dim at its next divisor."""
    wider = [(each, p) for each in divisors_of(4) if each > k][:1]
    return wider + [(k, each) for each in divisors_of(14) if each > p][:1]


@PRINCIPLES.item("Table IV", "Evaluated accelerators", where="section V-A")
def table_4() -> Rows:
    """Of the library's machines."""
    simba, plain = library.machine("sunstone-simba"), library.machine("sunstone-conventional")
    yield held("Simba-like: multiply-accumulate units, 4 x 4 elements of 8 x 8 lanes", 16 * 64, simba.units)
    yield held("conventional: units, 32 x 32", 1024, plain.units)
    for name, printed in (("WeightBuffer", 32), ("OutputBuffer", 3), ("InputBuffer", 8)):
        yield held(f"Simba-like: KB of an element's {name}", printed, _kib(simba, name) / 16)
    yield held("Simba-like: KB of L2", 512, _kib(simba, "L2"))
    yield held("conventional: bytes of L1", 512, _kib(plain, "L1") * 1024 / plain.units)
    yield held("conventional: MB of L2", 3.1, round(_kib(plain, "L2") / 1024, 4), within=0.001)


def _kib(machine: Machine, name: str) -> float:
    """KiB of all instances of a memory."""
    instances = 1
    for level in reversed(machine.levels):
        bits = level.store.word_bits if level.store and level.store.word_bits else 8
        if level.name == name:
            return instances * level.capacity.amount * bits / 8 / 1024
        instances *= level.store.mesh.size if level.store else 1
    return 0.0
