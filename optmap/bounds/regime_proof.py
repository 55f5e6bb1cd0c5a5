r"""What the duals of the parametric tiling LP prove about loads, with the constant factor.

Duals of the rows (y) and of the limits (z) of a tiling LP give exponents: S_t, the sum of y over the rows of
tensor t, and z per dim or digit. If |V| <= prod |phi_t(V)|^S_t · prod size^z for every set V of operations, then K
words allow U(K) = prod (S_t·K/(sigma·p_t))^S_t · prod size^z operations, sigma = sum S_t, and any run loads
    L >= T·G/U(M+T) for every real T > 0
words. The cut is that of `fixed_exponents`, with the time of a run measured in loads: a segment holds the operations
at times from a up to, and not at, a + T; between its first and its last operation fewer than T loads happen, so it
touches at most M + T words, whether or not T is whole. With T = M/(sigma - 1)
    L >= factor · G / (M^(sigma-1) · prod size^z),  factor = (sigma-1)^(sigma-1) · prod (p_t/S_t)^S_t,
where 0^0 = 1 is the limit of large T for sigma = 1. Factor, exponents and G hold for every M and all extents, under
`accumulate`; a run that creates outputs in fast memory loads up to |Out| words less.

The product inequality holds for duals of
- a projective nest: y and z are feasible for the exponents of every coordinate, which are all constraints there are
  (Theorem 13 and 14);
- a lifted convolution: families are single coordinates, for which the dual constraints are the rank constraints, and
  per window the plane of the high digits (w, r), whose lattice has the two axes, the kernel of the image (w + r
  fixed) and itself. A row of the image holds one of w and r, so y of the image splits into the part I_w with w and
  the part I_r with r, and the dual constraints are O + I_w + z_w >= 1 and F + I_r + z_r >= 1. The axes need
  O + I + z_w >= 1 and F + I + z_r >= 1, which is less; the plane needs O + F + I + z_w + z_r >= 2, their sum. The
  kernel needs O + F + z_w + z_r >= 1: of all constraints it alone does not follow, and is tested.
Source: Dinh's dissertation, Theorems 9, 13, 14, Lemmas 18 and 20, LP 4.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from optmap.bounds.fixed_exponents import VolumeBound
from optmap.programs.loglp_numbers import LogField
from optmap.programs.parametric_tiling import ParametricTiling
from optmap.solvers.exact import linear_program, solve_exact
from optmap.solvers.status import Stop
from optmap.workloads.forms import ConvolutionForm, Window, convolution_form, why_no_convolution
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadsProof:
    """loads >= factor · G / (M^(sigma-1) · prod size^z), for every schedule and at all sizes."""

    tensors: tuple[tuple[str, int, Fraction], ...]
    """(tensor, words per element, exponent S), without zero exponents; at least one."""
    sizes: tuple[tuple[str, Fraction], ...]
    """(dim or digit, exponent z), without zero exponents."""

    @property
    def sigma(self) -> Fraction:
        """Sum of the tensors' exponents, at least 1."""
        return sum((s for _, _, s in self.tensors), Fraction(0))

    @property
    def factor(self) -> tuple[tuple[int, Fraction], ...]:
        """The constant factor as powers of whole numbers."""
        over = self.sigma - 1
        parts = [(over, over)] if over else []
        parts += [(words / s, s) for _, words, s in self.tensors]
        field = LogField.of([number for number, _ in parts])
        logs = [[power * x for x in field.log(number)] for number, power in parts]
        powers = [sum(column, Fraction(0)) for column in zip(*logs, strict=True)]
        return tuple((base, power) for base, power in zip(field.basis, powers, strict=True) if power)

    @property
    def factor_value(self) -> float:
        """The constant factor as a number."""
        return float(prod(float(base) ** float(power) for base, power in self.factor))

    def volume(self, sizes: Mapping[str, int]) -> VolumeBound:
        """The operations that K words allow, at the sizes of dims and digits."""
        return VolumeBound(tensors=self.tensors, sizes=tuple((name, sizes[name], z) for name, z in self.sizes))


def loads_proof(workload: Workload, tiling: ParametricTiling, volume: Sequence[Fraction]) -> LoadsProof | None:
    """The proof that goes with the operations of the largest tile, its tensors' exponents as even as they can be.

    All duals with the same bound on the operations of a tile differ in the factor alone, which grows as the exponents
    S_t come closer to being proportional to p_t: the smallest S_t/p_t of the tensors that can have one is the largest.

    Args:
        workload: the computation of the program.
        tiling: its program.
        volume: exponent per parameter of the operations of a tile.

    Returns:
        None if no tensor has an exponent, or none of the duals proves the product inequality.
    """
    duals = _Duals(workload, tiling, volume)
    used = [name for name in duals.members if duals.largest([name])]
    if not used:
        return None
    exponents = duals.evenly(used)
    return LoadsProof(
        tensors=tuple((name, duals.weights[name], s) for name, s in exponents.items() if s),
        sizes=tuple((digit.name, z) for digit, z in zip(tiling.digits, duals.limits, strict=True) if z),
    )


class _Duals:
    """Duals y of the rows that go with the operations of a tile, and that the product inequality holds for."""

    def __init__(self, workload: Workload, tiling: ParametricTiling, volume: Sequence[Fraction]) -> None:
        count = len(tiling.rows)
        self.limits = tuple(volume[1 : 1 + len(tiling.digits)])
        self.weights = {t.name: workload.weight(t) for t in workload.tensors}
        owners = [workload.tensors[row.access].name for row in tiling.rows]
        self.members = {name: [int(owner == name) for owner in owners] for name in dict.fromkeys(owners)}
        z = {digit.name: limit for digit, limit in zip(tiling.digits, self.limits, strict=True)}
        self.rows = [[int(name in row.members) for row in tiling.rows] for name in z]
        self.least = [1 - limit for limit in z.values()]
        self.most: list[Fraction | None] = [None] * len(z)
        for window, form in _windows(workload):
            kernel = [self.members[form.output.name][i] + self.members[form.kernel.name][i] for i in range(count)]
            digits = [d.name for d in tiling.digits if not d.low and d.dim in (window.position, window.tap)]
            self._add(kernel, 1 - sum((z[name] for name in digits), Fraction(0)))
        for k, power in enumerate(volume):
            if not 0 < k <= len(z):  # the memory, and factors of words per element
                self._add([row[k] for row in tiling.right[:count]], power, power)

    def _add(self, row: list[int], least: Fraction, most: Fraction | None = None) -> None:
        self.rows.append(row)
        self.least.append(least)
        self.most.append(most)

    def largest(self, names: Sequence[str]) -> Fraction:
        """The largest possible minimum of S_t/p_t over some tensors; 0 if no dual proves anything."""
        return self._solved(names)[-1]

    def evenly(self, names: Sequence[str]) -> dict[str, Fraction]:
        """S per tensor where the minimum of S_t/p_t over some tensors is largest."""
        y = self._solved(names)
        return {
            name: sum((m * x for m, x in zip(members, y, strict=False)), Fraction(0))
            for name, members in self.members.items()
        }

    def _solved(self, names: Sequence[str]) -> tuple[Fraction, ...]:
        """The duals and, last, that minimum."""
        shares = [[*self.members[name], -self.weights[name]] for name in names]
        program = linear_program(
            [*([0] * len(self.rows[0])), -1],
            [[*row, 0] for row in self.rows] + shares,
            [*self.least, *([0] * len(shares))],
            row_upper=[*self.most, *([None] * len(shares))],
        )
        found = solve_exact(program)
        return found.x if found.stop is Stop.OPTIMAL else (Fraction(0),)


def _windows(workload: Workload) -> list[tuple[Window, ConvolutionForm]]:
    if why_no_convolution(workload):
        return []
    form = convolution_form(workload)
    return [(window, form) for window in form.windows]
