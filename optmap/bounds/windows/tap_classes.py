r"""Strided windows by classes of taps: what a segment may spend on the best class, and what the others cost.

Under a stride s the taps of one residue modulo s meet inputs of one residue alone, so a 3x3 window with stride 2
consists of one of 2x2 taps, one of 2x1, one of 1x2 and one of 1x1. Small windows do fewer operations per
word than large ones; but how many operations of each kind there are, is known beforehand. So count them by weight.

**Theorem.** Let V be the operations that are done, cut into n classes V_i, such that different classes touch
different elements of the tensors D, and let every finite subset X of V_i have, for exponents S_it >= 0,
    |X| <= c_i * prod over tensors t of |t(X)|^(S_it).
Then U_i(K) = c_i * prod over t of (S_it K / (sigma_i p_t))^(S_it), with sigma_i = sum of the S_it and p_t > 0 units per
element, is the most operations of V_i that K units allow. Let d_i = sum over t in D of S_it, e = max(0, 1 - min_i d_i).
Then for weights w_i >= 0 a segment that touches K units does operations of weight at most
    U(K) = n^e * max_i w_i U_i(K),
and all together have the weight W = sum_i w_i |V_i|. So m*U(M+T) + U(M+t) < W proves M + m*T + t + 1 loads as in
`segments`.

**Proof.** Let the segment touch s units of the tensors in D, s_i of them in class i, and K - s or less of the others.
So sum s_i <= s. If s_i = s*h_i, the product of the elements of D of class i to their powers is at most h_i^(d_i) times
the largest value that s units allow; with the other tensors' K - s units, class i does h_i^(d_i) U_i(K) operations
or fewer. As 0 <= h_i <= 1 and d_i >= 1 - e, this is at most h_i^(1-e) U_i(K); and sum h_i^(1-e) <= n^e,
because h -> h^(1-e) is concave and the h_i add up to 1 at most. QED

Nothing is asked of how the classes share the other tensors, nor need they have common exponents. The weights that
prove most are w_i = 1/U_i(K) where K is the segment that suits: sum_i |V_i| / U_i(K) segments. Here they are whole
numbers close to multiples of these, so that U is a whole number, and what it is at most is decided in integers.

**Strided windows.** `halo` writes s*p + d*t, s and d coprime, with t = s*t' + t'' as a unit window of p' and t'; t'' is
determined by an input and by a word of the filter: the classes are the values of t'' (one per window and residue), and
D is filter and image. Of R taps R mod s residues have one more than the others. Class i is a convolution with unit
windows: T <= kappa a^x b^y c^z with the kappa of `halo` for its shape if x + z > 1; and for every shape of B taps
    T <= b min(a, c) <= B^(1-y) P^max(0, 1-x-z) a^x b^y c^z   if y <= 1,
P being the places of the output. From one feature and channel to a class as in `halo`: features^max(0, 1-x-y) and
channels^max(0, 1-y-z), if x + y + z >= 1; so does P, a function of image and p'' in the power max(0, 1-x-z), so that
it adds up to all places of one feature and group. With implicit padding |V_i| counts what is done of class i.

A filter of 3x3 with stride 2 and x = y = z = 1/2 has kappas 2, sqrt 2, sqrt 2, 1 for 4/9, 2/9, 2/9, 1/9 of the
operations: 5.83/9 of the loads of a matrix product with as many operations, where 2x2 taps for all of them leave 1/2.
Dilation splits outputs and inputs, not taps: its classes differ in nothing, and `halo` has them already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod

from optmap.base.errors import InputError
from optmap.bounds.fixed_exponents import VolumeBound
from optmap.bounds.roots import root_above
from optmap.bounds.segments import LargestBound
from optmap.bounds.units import Units
from optmap.bounds.windows.halo import LOSSES, kappa
from optmap.bounds.windows.halo_proof import Exponents, powers_volume
from optmap.workloads.forms import ConvolutionForm, convolution_form
from optmap.workloads.padding import real_operations
from optmap.workloads.workload import Padding, Subscript, TensorAccess, Workload

Shape = tuple[int, ...]
"""Taps per window of a class, sorted, 1 left out."""
LARGEST_NUMBER = 2**12
"""Classes that are counted one by one where padding is implicit."""
PRECISE = 10**6
"""Denominator of a constant that is rounded up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapClass:
    """The classes of one shape in a proof."""

    shape: Shape
    """Taps per window."""
    weight: int
    """Of one operation."""
    exponents: Exponents
    """Of outputs, filter and inputs."""
    kappa: Fraction
    """The constant of a unit window of this shape."""
    volume: VolumeBound
    """The weight that K units allow, if they are spent on these classes alone, times n^e."""

    @property
    def title(self) -> str:
        """The shape as text, such as `2x2 taps`."""
        return f"{'x'.join(map(str, self.shape))} taps" if self.shape else "1 tap"


def shapes(workload: Workload, form: ConvolutionForm) -> Counter[Shape]:
    """How many classes of taps have which shape."""
    found: Counter[Shape] = Counter({(): 1})
    for window in form.windows:
        taps, more = divmod(workload.extents[window.tap], window.stride)
        found = _joined(found, {taps + 1: more} | ({taps: window.stride - more} if taps else {}))
    return found


def _joined(found: Counter[Shape], counts: dict[int, int]) -> Counter[Shape]:
    joined: Counter[Shape] = Counter()
    for (shape, number), (taps, residues) in product(found.items(), counts.items()):
        if residues:
            joined[tuple(sorted((*shape, taps))) if taps > 1 else shape] += number * residues
    return joined


def class_operations(workload: Workload, form: ConvolutionForm) -> Counter[Shape]:
    """Operations that are done by the classes of every shape; empty if they are too many to count.

    Raises:
        LimitError: as `real_operations`.
    """
    found = shapes(workload, form)
    if workload.padding is not Padding.IMPLICIT:
        rest = workload.operations // prod(workload.extents[w.tap] for w in form.windows)
        return Counter({shape: rest * prod(shape) * number for shape, number in found.items()})
    if sum(found.values()) > LARGEST_NUMBER:
        return Counter()
    done: Counter[Shape] = Counter()
    residues = [range(min(w.stride, workload.extents[w.tap])) for w in form.windows]
    for chosen in product(*residues):
        cut = {w.tap: (w.stride, residue) for w, residue in zip(form.windows, chosen, strict=True)}
        extents = {d: -((cut[d][1] - n) // cut[d][0]) if d in cut else n for d, n in workload.sizes}
        done[tuple(sorted(extents[d] for d in cut if extents[d] > 1))] += _done(workload, cut, extents)
    return done


def _done(workload: Workload, cut: dict[str, tuple[int, int]], extents: dict[str, int]) -> int:
    """Operations that are done by one class: the computation with t = stride*t' + residue."""

    def axis(old: Subscript) -> Subscript:
        terms = tuple((d, c * cut[d][0] if d in cut else c) for d, c in old.terms)
        return replace(old, terms=terms, offset=old.offset + sum(c * cut[d][1] for d, c in old.terms if d in cut))

    def access(old: TensorAccess) -> TensorAccess:
        return replace(old, axes=tuple(axis(a) for a in old.axes))

    tensors = [access(t) for t in workload.tensors]
    for each in (a for t in tensors for a in t.axes):
        if each.real and (each.real[0] >= each.offset + each.span(extents) or each.real[1] < each.offset):
            return 0
    sizes = tuple(extents.items())
    return real_operations(workload.with_accesses(tensors, sizes=sizes, image=()))


def why_no_classes(workload: Workload) -> str | None:
    """None if the workload is a convolution whose strided windows have classes of several shapes, else the reason."""
    try:
        found = shapes(workload, convolution_form(workload))
    except InputError as error:
        return str(error)
    if len(found) > 1:
        return None
    return f"{workload.title}: the taps of its windows fall into classes of one shape"


def class_kappa(shape: Shape, x: Fraction, y: Fraction, z: Fraction) -> Fraction:
    """A kappa of a unit window: that of its losses if they are proved, else of as many taps as there are.

    Args:
        shape: taps per axis, sorted, 1 left out.
        x: exponent of the outputs.
        y: exponent of the taps in use, at most 1.
        z: exponent of the inputs.
    """
    if shape in LOSSES and x + z > 1:
        return kappa(shape, x, y, z)
    power = (prod(shape) ** (y.denominator - y.numerator)) * PRECISE**y.denominator
    return Fraction(root_above(power, y.denominator), PRECISE)


def weighted_classes(
    workload: Workload, units: Units, chosen: Mapping[Shape, Exponents], weights: Mapping[Shape, int]
) -> tuple[tuple[TapClass, ...], int]:
    """The classes with their constants, and the weight of all operations together.

    Args:
        workload: a strided convolution.
        units: the accounting.
        chosen: exponents of outputs, filter and inputs, at most 1 each, at least 1 together, per shape that occurs.
        weights: of an operation, per shape.

    Raises:
        LimitError: as `class_operations`.
    """
    form, one = convolution_form(workload), Fraction(1)
    number, several = sum(shapes(workload, form).values()), several_power(chosen.values())
    features, channels, places = class_sizes(workload, form)
    classes = []
    for shape, (x, y, z) in sorted(chosen.items()):
        constant = class_kappa(shape, x, y, z)
        factors = (
            (f"(weight {weights[shape]})", weights[shape], one),
            (f"(kappa {constant})", constant, one),
            (f"({number} classes)", number, several),
            (f"({places} places)", places, max(one - x - z, 0 * one)),
        )
        volume = powers_volume(form, units, (x, y, z), (features, channels), factors)
        classes.append(TapClass(shape=shape, weight=weights[shape], exponents=(x, y, z), kappa=constant, volume=volume))
    return tuple(classes), sum(n * weights[shape] for shape, n in class_operations(workload, form).items() if n)


def weight_bound(classes: Iterable[TapClass]) -> LargestBound:
    """The most weight of K units."""
    return LargestBound(parts=tuple(c.volume.segment() for c in classes))


def class_sizes(workload: Workload, form: ConvolutionForm) -> tuple[int, int, int]:
    """Features, channels, and places of one feature of the output (and group), those of all images together."""
    places = (*form.batch, *(w.position for w in form.windows))
    features, channels, places_of_all = (
        prod(workload.extents[d] for d in dims) for dims in (form.features, form.channels, places)
    )
    return features, channels, places_of_all


def several_power(chosen: Iterable[Exponents]) -> Fraction:
    """E of the theorem: the power of the number of classes."""
    return max(Fraction(0), *(1 - y - z for _, y, z in chosen))
