"""What a certificate says of the segment argument: the product inequality, and how a schedule is cut."""

from __future__ import annotations

from fractions import Fraction

from optmap.base.errors import CheckError
from optmap.base.texts import ratio_text
from optmap.bounds.exponents.lattice import closure, kernel
from optmap.bounds.exponents.lifting import DimDigit
from optmap.bounds.exponents.maps import LinearMap, MapSystem
from optmap.bounds.exponents.polytope import FamilyRows, restrict
from optmap.bounds.exponents.proof import ExponentProof
from optmap.bounds.result import Document
from optmap.bounds.windows.halo_proof import Exponents, HaloProof
from optmap.bounds.windows.tap_class_proof import ClassesProof

OF = {2: "axis", 3: "leaf"}
"""Keys of what a size map measures, by the numbers that name it."""
SegmentProof = ExponentProof | HaloProof | ClassesProof
"""What the segment argument proves."""


def product_inequality(system: MapSystem, proof: SegmentProof | None) -> Document:
    """Maps with a positive exponent and the lattice or flag of each family; or a window; or classes of taps."""
    if isinstance(proof, HaloProof):
        return {"maps": [], "families": [], "window": _powers(proof.exponents, proof.kappa)}
    if isinstance(proof, ClassesProof):
        classes = [{"shape": list(c.shape), "weight": c.weight} | _powers(c.exponents, c.kappa) for c in proof.classes]
        return {"maps": [], "families": [], "classes": classes}
    exponents = proof.exponents if proof else {}
    maps = [(system.maps[i], x) for i, x in exponents.items()]
    families = proof.polytope.families if proof else ()
    return {
        "maps": [_map(f, x) for f, x in maps],
        "families": [_family(system, family, [f for f, _ in maps]) for family in families],
    }


def _powers(exponents: Exponents, kappa: Fraction) -> Document:
    powers = zip(("outputs", "taps", "inputs"), exponents, strict=True)
    return {key: ratio_text(power) for key, power in powers} | {"kappa": ratio_text(kappa)}


def _map(f: LinearMap, exponent: Fraction) -> Document:
    entry: Document = {
        "name": f.name,
        "kind": "size" if f.tensor is None else "tensor",
        "matrix": [list(row) for row in f.matrix],
        "exponent": ratio_text(exponent),
    }
    if f.source is None:
        return entry | {"access": f.access}
    of = {"dim": str(f.source)} if isinstance(f.source, DimDigit) else {OF[len(f.source)]: list(f.source)}
    return entry | {"size": f.size, "of": of}


def _family(system: MapSystem, family: FamilyRows, maps: list[LinearMap]) -> Document:
    """A family's lattice, generated again by the maps in use only, or its flag."""
    dims = [str(system.dims[c]) for c in family.columns]
    if family.flag is not None:
        return {"dims": dims, "flag": [list(v) for v in family.flag]}
    width = len(dims)
    kernels = frozenset(kernel(restrict(f.matrix, family.columns), width) for f in maps)
    members = closure(kernels, width)
    if members is None:
        raise CheckError(f"the lattice over {', '.join(dims)} closed before but not with fewer maps")
    return {
        "dims": dims,
        "lattice": {
            "generators": [[list(v) for v in space] for space in sorted(kernels, key=lambda s: (len(s), s))],
            "subspaces": [[list(v) for v in space] for space in members],
        },
    }


def segment_document(proof: SegmentProof | None) -> Document | None:
    """Its numbers under the key `segment`; None without one."""
    if proof is None:
        return None
    return {
        "operations": proof.units.operations,
        "memory_units": proof.units.memory,
        "weights": dict(proof.units.weights),
        "K": proof.units.memory + proof.segments.T,
        "T": proof.segments.T,
        "n": proof.segments.n,
        "t": proof.segments.t,
        "U_full": proof.segments.U_full,
        "U_last": proof.segments.U_last,
        "cost_units": proof.segments.cost_units,
        "loads_words": proof.loads_words,
    }
