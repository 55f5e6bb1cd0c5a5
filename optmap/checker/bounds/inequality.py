"""The product inequality of a certificate: lifts, derivations, maps and the polytope of exponents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from math import gcd
from typing import Any

from ..core.padding import Done
from ..core.tools import Row, count, echelon, image_rank, kernel, need, ratio

SUBSPACES = 2000
"""Largest lattice that is looked at."""
Maps = list[tuple[list[Row], Fraction]]
"""(matrix, exponent) of every map."""


class Space:
    """The lifted space: its dims, what became of every original dim, and every access as rows."""

    def __init__(self, doc: dict[str, Any]) -> None:
        self.original: dict[str, int] = doc["workload"]["extents"]
        self.axes = [[dict(axis["terms"]) for axis in a["axes"]] for a in doc["accesses"]]
        self.table = {d: n for d, n in self.original.items() if n > 1}
        self.known = dict(self.table)
        self.lifts: dict[str, tuple[int, str, str]] = {}
        for lift in doc["lifts"]:
            dim, m, high, low = lift["dim"], lift["modulus"], lift["high"], lift["low"]
            need(self.table.get(dim, 0) > m >= 2, f"{dim} cannot be lifted by {m}")
            need(high != low and not {high, low} & ({*self.original, *self.known}), f"{high} or {low} is not new")
            parts = {high: -(-self.table.pop(dim) // m), low: m}
            self.table |= parts
            self.known |= parts
            self.lifts[dim] = (m, high, low)
        self.dims: list[str] = doc["dims"]
        need(sorted(self.dims) == sorted(self.table), "dims are not those that the lifts leave")
        need(len(doc["derivations"]) == len(self.axes), "one derivation per access is needed")
        self.leaves = []
        for rows, nodes in zip(self.axes, doc["derivations"], strict=True):
            need(len(rows) == len(nodes), "one derivation per subscript is needed")
            pairs = zip(rows, nodes, strict=True)
            self.leaves.append([self.node(node, self.substituted(row)) for row, node in pairs])

    def digits(self, dim: str) -> dict[str, int]:
        """A dim as a sum over final dims; empty if its extent is 1."""
        if dim not in self.lifts:
            return {dim: 1} if dim in self.table else {}
        m, high, low = self.lifts[dim]
        return {d: m * c for d, c in self.digits(high).items()} | self.digits(low)

    def substituted(self, row: dict[str, int]) -> dict[str, int]:
        """A subscript over the final dims."""
        return {d: c * k for dim, c in row.items() for d, k in self.digits(dim).items()}

    def node(self, node: Any, row: dict[str, int]) -> list[dict[str, int]]:
        """The leaves of a derivation whose row must be `row`."""
        need(node["row"] == row, "a derivation does not start from its subscript")
        g = gcd(*row.values()) or 1
        need(node["divisor"] == g, "a divisor is not the gcd of its row")
        row = {d: c // g for d, c in row.items()}
        if "rule" not in node:
            return [row] if row else []
        first, second = (part["row"] for part in node["parts"])
        need(bool(first) and bool(second) and not set(first) & set(second), "parts must be disjoint and not empty")
        need({**first, **second} == row, "parts do not add up to their row")
        m = gcd(*second.values())
        if node["rule"] == "carry":
            need(sum(c * (self.table[d] - 1) for d, c in first.items()) < m, "the low part of a row carries over")
        else:
            need(len(first) == 1, "a residue determines one dim")
            ((dim, c),) = first.items()
            need(gcd(c, m) == 1 and self.table[dim] <= m, f"the residue does not determine {dim}")
        return self.node(node["parts"][0], first) + self.node(node["parts"][1], second)

    def matrix(self, leaves: Iterable[dict[str, int]]) -> list[Row]:
        """Rows over the final dims."""
        return [tuple(row.get(d, 0) for d in self.dims) for row in leaves]

    def sized(self, of: Any) -> tuple[list[Row], int]:
        """Matrix and number of image points of a size map."""
        ((kind, where),) = of.items()
        if kind == "dim":
            need(where in self.known, f"{where} has no size map")
            return self.matrix({d: 1} for d in self.digits(where)), self.known[where]
        leaves = self.leaves[where[0]][where[1]]
        if kind == "axis":
            return self.matrix(leaves), count(self.axes[where[0]][where[1]], self.original)
        return self.matrix([leaves[where[2]]]), count(leaves[where[2]], self.table)

    def real_size(self, of: Any, done: Done) -> int:
        """Image points of a size map over the points that are done, where padding is implicit."""
        ((kind, where),) = of.items()
        need(
            kind == "axis" or (kind == "dim" and where in self.original), f"the {kind} of a size map is no original one"
        )
        row = {where: 1} if kind == "dim" else self.axes[where[0]][where[1]]
        return done.values({"terms": list(row.items()), "offset": 0})


def check_maps(doc: dict[str, Any], space: Space, done: Done) -> Maps:
    """(matrix, exponent) of every map, each what it says it is."""
    found = []
    for entry in doc["maps"]:
        name, exponent = entry["name"], ratio(entry["exponent"], "exponent")
        if entry["kind"] == "tensor":
            matrix = space.matrix(itertools.chain(*space.leaves[entry["access"]]))
        else:
            matrix, size = space.sized(entry["of"])
            holds = entry["size"] == size or entry["size"] >= space.real_size(entry["of"], done)
            need(holds, f"map {name} has {size} points")
        need([tuple(row) for row in entry["matrix"]] == matrix, f"map {name} is not the matrix it says")
        need(exponent > 0, f"map {name} needs a positive exponent")
        found.append((matrix, exponent))
    need(len({entry["name"] for entry in doc["maps"]}) == len(found), "map names repeat")
    return found


def check_families(doc: dict[str, Any], space: Space, maps: Maps) -> None:
    """The exponents lie in the polytope of every family, and the families are independent."""
    parts = [family["dims"] for family in doc["families"]]
    need(sorted(itertools.chain(*parts)) == sorted(space.dims), "the families do not partition the dims")
    columns = [[space.dims.index(d) for d in dims] for dims in parts]
    local = [[([tuple(row[c] for c in at) for row in m], s) for m, s in maps] for at in columns]
    for i, (matrix, _) in enumerate(maps):
        need(len(echelon(matrix)) == sum(len(echelon(each[i][0])) for each in local), "a map joins two families")
    for family, mine in zip(doc["families"], local, strict=True):
        check_flag(family, mine) if "flag" in family else check_lattice(family, mine)


def check_flag(family: Any, maps: Maps) -> None:
    """Every step of a complete flag keeps the inequality."""
    vectors, n = family["flag"], len(family["dims"])
    need(all(len(v) == n for v in vectors), "a vector of the flag is malformed")
    need(len(vectors) == n == len(echelon(vectors)), "the flag is not complete")
    for i in range(n):
        gained = sum(s * (image_rank(f, vectors[: i + 1]) - image_rank(f, vectors[:i])) for f, s in maps)
        need(gained >= 1, f"step {i + 1} of the flag over {family['dims']} has {gained} < 1")


def check_lattice(family: Any, maps: Maps) -> None:
    """The subspaces are a lattice that holds all kernels and the whole space; each keeps the inequality."""
    lattice, n, where = family["lattice"], len(family["dims"]), f"lattice over {family['dims']}"
    members = [tuple(tuple(v) for v in space) for space in lattice["subspaces"]]
    given = [tuple(tuple(v) for v in space) for space in lattice["generators"]]
    need(len(members) <= SUBSPACES, f"{where} is too large to check")
    for space in members + given:
        need(all(len(v) == n for v in space), f"{where}: a vector is malformed")
        need(echelon(space) == space, f"{where}: a basis is not canonical")
    inside, kernels = set(members), {kernel(f, n) for f, _ in maps}
    need(len(inside) == len(members) and len(set(given)) == len(given), f"{where} repeats a subspace")
    need(set(given) == kernels, f"{where}: the generators are not the kernels of the maps")
    everything = tuple(tuple(int(i == j) for j in range(n)) for i in range(n))
    need({(), everything} | kernels <= inside, f"{where} lacks the zero space, the whole space or a kernel")
    dual = {space: kernel(space, n) for space in members}
    for a, b in itertools.combinations(members, 2):
        need(echelon(a + b) in inside, f"{where} lacks the sum of {a} and {b}")
        need(kernel(dual[a] + dual[b], n) in inside, f"{where} lacks the intersection of {a} and {b}")
    for space in members:
        right = sum(s * image_rank(f, space) for f, s in maps)
        need(len(space) <= right, f"{where}: {len(space)} <= {right} fails for {space}")
