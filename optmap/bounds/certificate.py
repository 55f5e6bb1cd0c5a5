r"""The certificate of a lower bound: a JSON document that anyone can re-check.

Every number is an integer, every fraction a string `"p/q"` in lowest terms with q >= 1.
Nothing in it needs floating point. A verifier recomputes what is marked "=" and tests what is
marked "check"; a document that fails one test proves nothing.

    schema        "optmap.certificate/1"
    kind          "bound"
    method        name of the method that made it (not checked)
    workload      name, expression, extents {dim: int}, bytes {tensor: int, or a multiple of 1/8},
                  semantics "accumulate" | "assign"
    accesses      [{tensor, axes: [{terms: [[dim, coefficient], ...], offset}]}], the output first;
                  an axis with implicit padding has real: [first, last] besides
    memory_words  M, the fast memory in words
    lifts         [{dim, modulus, high, low}], applied in this order
    dims          the dims of the lifted space, in the order of every matrix column
    derivations   [[node per axis] per access]: how each subscript becomes rows over `dims`
    maps          [{name, kind, matrix: [[int per dim] per row], exponent: "p/q",
                    access: index}                            for kind "tensor"
                    size: int, of: {dim: name} | {axis: [access, axis]} | {leaf: [access, axis, leaf]}}]
                                                              for kind "size"
    families      ([] without a segment) [{dims: [...], lattice: {generators: [basis...], subspaces: [basis...]}}
                   or {dims: [...], flag: [vector...]}]
    window        {outputs: "p/q", taps: "p/q", inputs: "p/q", kappa: "p/q"}; only there in place of
                  maps and families, which are [] then
    classes       [{shape: [taps...], weight: int, outputs: "p/q", taps: "p/q", inputs: "p/q", kappa: "p/q"}];
                  only there in place of maps and families, which are [] then
    visits        {kept: tensor, sliding: tensor, slack: int, taps: {dim: int}, again_words, loads_words}; only there
                  in place of a segment, which is null then, as maps and families are []
    passes        {kept: tensor, sliding: tensor, slack: int, touched_words, loads_words}; as visits
    mu            "p/q" in [0, 1]; "1/1" under accumulate
    segment       null or {operations, memory_units, weights {tensor: int}, K, T, n, t,
                           U_full, U_last, cost_units, loads_words}
    compulsory    {tensor: count}, and
    output        count; a count is {elements, rule: "enumerated"} or
                  {elements, rule: "parts", parts: [{access, axes: [index...]} | {access, dims: [...]}]}
    claims        {compulsory_loads_words, output_words, output_words_at_most,
                   loads_words, stores_words, total_words}
    digest        "sha256:" + hex digest of the document without this key, written as
                  json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

**Statement.** Rendering `accesses` gives `workload.expression`: tensors as `T[axis,axis]`, an axis
as its terms in order joined by `+` (`d` for coefficient 1, else `c*d`), then the offset if it is
not 0 or there are no terms, then ` in first..last` if it has a range; `output += input * input` under
accumulate, `=` instead of `+=` under assign. Check: coefficients and extents are >= 1, offsets >= 0,
0 <= first <= last, no dim twice in one axis, the output is not read, all accesses of one tensor have the
same number of axes, `extents` and `bytes` cover exactly the dims and tensors that occur, M >= 1.
Words per element: weight_t = bits_t / gcd(all bits), where bits_t = 8 * bytes_t is a whole number.

**Padding.** Index values outside the range of an axis are implicit padding: zero, never stored, never
moved. D, the points that are *done*, are those of the box of all extents at which every axis with a range
is inside it (the whole box without ranges). An operation that is not done adds nothing; a schedule may do
it nevertheless, but D has to be done, and whatever it touches is an element that has to be loaded. So the
bound is one of D alone: compulsory traffic is what D touches, and every V of the product inequality is
a set of points of D. real(axes) is the number of different tuples of values that some axes of one access
take over D. It factorises over axes without common dims, a range tying the dims of its axis together.

**Lifts.** A working table of extents starts with every dim whose extent is > 1. A lift of `dim`
(check: in the table with extent L > modulus >= 2; `high`, `low` are new names) removes it and adds
high with extent ceil(L/modulus) and low with extent modulus: dim = modulus*high + low is injective
into that box. Keep L and the two digits of every lifted dim. Check: the final table has exactly
the names in `dims` (no duplicates).
The *digits* of a dim are itself if it is in the final table, else the digits of high, then of low.

**Derivations.** Substituting the lifts (and 0 for dims of extent 1) in an axis, without its
offset, gives an affine row over `dims`, {dim: coefficient}. The derivation of the axis is a tree;
a node is {row: {dim: int}, divisor: g} or {row, divisor, rule, parts: [node, node]}. Check:
the root's row is that affine row; an empty row has divisor 1 and no rule (it yields no matrix row);
otherwise g is the gcd of the row's coefficients and R = row/g. Without a rule, R is a *leaf*.
With rule "carry" or "residue", the rows of parts[0] and parts[1] are not empty, have no common dim and
together are R, and with m = gcd of the coefficients in the row of parts[1]:
- "carry": sum of c*(extent-1) over the row of parts[0] is < m (so R's value determines both parts);
- "residue": the row of parts[0] is one term {u: c}, gcd(c, m) = 1, extent(u) <= m (so R mod m
  determines u).
Leaves are numbered by depth-first order, parts[0] before parts[1]. The matrix of an access is the
leaves of its axes in order, as integer rows over `dims`. Two points that agree on the access agree
on every leaf and the reverse, so the image under the matrix has as many points as the tensor has
touched elements.

**Maps.** Check: names are unique, exponents > 0. A "tensor" map has the matrix of its access. A
"size" map has a known number of image points:
- {dim: d}, d an original dim of extent > 1 or a name made by a lift: unit rows of the digits of d in
  order, size = extent of d (before it was lifted, if it was);
- {axis: [a, x]}: the leaves of axis x of access a, size = count(row) of the axis over the original
  extents; of both, if some axis has a range and d is an original dim, size >= the number of different
  values over D;
- {leaf: [a, x, l]}: that single leaf, size = count(leaf) over the extents of `dims`.
count(row), the number of distinct values of sum(c_i*x_i), 0 <= x_i < e_i: drop e_i = 1, divide by
the gcd, sort by coefficient. None left: 1. One: e. Two with (m, a), (n, b):
m(a-1) + n(b-1) - (m-1)(n-1) + 1 if a > n and b > m, else a*b. More: if every c_i <= 1 + sum over the
earlier c_j(e_j-1), then 1 + sum of all c_i(e_i-1); else by enumeration (span at most 2^26).

**Families.** Check: their dims partition `dims`; for every map, rank(matrix) = sum over the families
of rank(matrix restricted to the family's columns). Subspaces of a family are spanned by the rows of
an integer matrix over the family's dims (in the family's order) in canonical form: reduced row
echelon form with every row scaled to coprime integers with positive leading entry; [] is the zero
space. For a map f and a subspace H, rank f(H) is the rank of (restricted matrix) * (basis of H)^T.
- lattice: `generators` is the set of kernels (canonical) of the restricted matrices of all maps,
  without duplicates. Check: the list of subspaces has no duplicates, contains [], the whole space
  and every generator; contains A+B and A∩B for every two members; and for every member H
      dim H <= sum over maps of exponent * rank f(H).
- flag: n = number of dims linearly independent integer vectors v_1 ... v_n; U_i their first i.
  Check for i = 1 ... n:  1 <= sum over maps of exponent * (rank f(U_i) - rank f(U_{i-1})).
Either way (Dinh, Theorem 9, with the whole space; or submodularity) every finite set V of points
satisfies |V| <= product over maps of |f(V)|^exponent.

**Window.** In place of maps: the inequality of a convolution whose windows overlap (`optmap/bounds/windows/halo.py`
has the proof). Check: three tensors; one input has subscripts of two dims, each stride*p + dilation*t (divided
by the gcd) with p of the output and not of the other input (the kernel), t the other way round; no dim in two
subscripts of a tensor, every other dim in two tensors or more. With ceil(extent(t)/stride) taps per window,
those of one tap left out, the sorted numbers are a shape of which losses are proved there. outputs, taps,
inputs <= 1 < outputs + inputs; for all whole a, b, c >= 1 (b up to the shape's taps) the pairs that the
losses leave are at most kappa * a^outputs * b^taps * c^inputs (decided on cells of sizes, see
`optmap/checker/bounds/window.py`). = S of the output, the kernel and the image are these three. In place of size maps
U below has kappa, features^max(0, 1 - outputs - taps) (dims of output and kernel alone) and
channels^max(0, 1 - taps - inputs) (dims of image and kernel alone, times min(stride, extent(t)) of every window).

**Classes.** In place of maps: the inequality of strided windows by classes of taps (proof:
`optmap/bounds/windows/tap_classes.py`). Check: a convolution as under Window. The taps of one window of R taps and
stride s have min(s, R)
residues, R mod s of them with ceil(R/s) taps and the others with floor(R/s); a class is one residue per window, its
shape the sorted numbers of taps, 1 left out. `classes` has one entry per shape that occurs. 0 < outputs, taps, inputs
<= 1 <= their sum; kappa^q >= B^(q-p) with taps = p/q and B the product of the shape, or else outputs + inputs > 1
and kappa is proved of the shape as under Window. In U below every entry has, in place of size maps, weight, kappa,
number^e (number of classes; e = max(0, 1 - taps - inputs) of the entry where it is largest),
features^max(0, 1 - outputs - taps), channels^max(0, 1 - taps - inputs) and places^max(0, 1 - outputs - inputs) (dims of
output and image alone, of the windows among them); U(K) is the largest over the entries, and operations is the sum
over D of the weights of their classes.

**Segment.** mu = a/b in lowest terms, 0 <= mu <= 1, and mu = 1 under accumulate. weights_t = b*weight_t, for the
output tensor a*weight_t. Check: no tensor with weight 0 has a tensor map. operations = |D|, the product of
the extents without ranges (by weight under Classes); memory_units = b*M. With S_t = sum of the exponents of the tensor
maps whose access reads or writes t (or what the window says), and sigma = sum S_t (check: > 0),
    U(K) = floor( prod_t (S_t*K / (sigma*weights_t))^S_t * prod over size maps of size^exponent ),
that is, with q a common denominator of all S_t and size exponents, the largest integer u such that u^q is
at most the rational number obtained by raising the product to the power q. It bounds the operations
that can be done while touching K units. = K = memory_units + T, U_full = U(K),
U_last = U(memory_units + t). Check: n >= 0, 0 <= t <= T, n*U_full + U_last < operations, and U_full > 0 if
n > 0 (in a memory that no operation fits into any n would do, and prove nothing). Then every
schedule costs at least cost_units = memory_units + n*T + t + 1 units, where a loaded word costs b units
and an output word created without a load a units (memory starts empty: cut after the first
memory_units + T units and then after every T). = loads_words: cost_units under accumulate;
ceil((cost_units - a*output_words_at_most) / b) under assign.

**Counts.** compulsory[t] counts the distinct elements that the accesses of t touch together, `output`
those of the output access alone; both at least, so that they may be understated but not overstated.
- "enumerated": the exact size of the set of index tuples over all the accesses concerned (offsets
  included); used while the product of the extents of the dims of each access, summed over the distinct
  accesses, is at most 2^16 (a verifier refuses more than that).
  With ranges: of the tuples over D; the extents are those of the dims of each access and of all dims
  tied to them.
- "parts": = elements is the sum over the parts. A part {access, axes}: axes of that access without a
  common dim, count(axis) multiplied (a projection of the touched set), or with ranges any axes of it,
  real(axes); {access, dims} (without ranges only): dims of that
  access whose columns (coefficients per axis) are linearly independent, extents multiplied. Check:
  the accesses belong to the tensor and any two parts never meet: for some axis position the ranges [offset,
  offset + sum c(e-1)] are disjoint, or the gcd of all coefficients of both axes is > 1 and does not divide
  the difference of the offsets. (For `output`: one part, of access 0.)

**Visits.** In place of a segment (theorem and proof: `optmap/bounds/passing/visits.py`). Check: no ranges, three
tensors; dims of extent 1 aside, kept (W) and the tensor that is neither (A) have one dim per
subscript at most, no dim is in two subscripts of a tensor, a subscript of sliding (B) with more than one dim is
s*p + d*t, p of A and not of W, t of W and not of A, every other dim is in two tensors; taps names every such t with
0 <= t0 < its extent; 1 <= slack < |W| - M, |W| the words of W. J, C, R: products of the extents of the other dims of
A and W, of B and W, and of the t. = again_words: sum over p and the other dims of A and B of the least
a*x + b*y (a, b, w words per element) with x = J, y = 0; x = 0, y = C; or x < J, y < C and
x*(R*y + m*(C-y)) >= ceil((|W| - M - slack - w + 1) / w), m = R - product over the windows of the number of whole
j with 0 <= t0 + s*j < extent(t) and 0 <= p - d*j < extent(p) (s, d divided by their gcd); 0 if that needs nothing.
= loads_words = |A| + |B| + again_words + min(|W| - M, 2*slack), the counts of `compulsory` in words, under assign
less output_words_at_most.

**Passes.** In place of a segment (theorem and proof: `optmap/bounds/passing/passes.py`). Check: the form of the
statement and slack as for visits, without taps. With J, C, R, a, b, w as there, D = C*R, |W| = w*J*D, P the product of
the extents of p and the other dims of A and B, n the product over the windows of min(ceil(extent(p)/d),
ceil(extent(t)/s)), m = floor((M+slack+w-1)/w), f = floor(J*D/m), and u*phi(z, U) = isqrt(4*u^2*n*a*b*z) if
n*a*b*z <= U^2, else u*U + floor(u*n*a*b*z/U), even(S, T) = P*f*phi(m, U) + P*phi(J*D - f*m, U), U the smaller of
S = n*a*J and T = b*D. least = the largest of: the lesser of even(S, T) + max(0, P*T + floor(P*n*a*b*m/T) -
P*phi(m, U) - 1) and the largest of floor((2*P*v*S + even((64-v)*S, 64*T)) / 64), v = 0 ... 63, n*a*b times (64-v)*64
there; P*T + the least of P*h*S + P*phi(J*D - h*m, T), h = 0 ... f, and P*(f+1)*S; both with S and T exchanged.
A place has T+e: b*C times the product over the windows of the sum over t of n'/(places p' with a t' for the same
s*p + d*t), n' the window's factor of n; but e is 0 at all places if n' > 12 or extent(p)*extent(t) > 2^14 in some
window. crossed = the least of: P*(2*S + 2*(T+e)); P*(S+T+e) + even(S, T) - P*phi(m, U) - 1; P*(S+T+e) + again(S);
P*(T+e) + P*h*S + P*phi(J*D - h*m, T), h = 2 ... f; P*(T+e) + P*(f+1)*S; P*(S+T+2*e) + again(T);
P*S + P*h*(T+e) + P*phi(J*D - h*m, S), h = 2 ... f; P*S + P*(f+1)*(T+e); with z = n*a*b*(J*D - m), again(u) =
P*u + floor(P*z/u) if z <= u^2, else isqrt(4*P^2*z). = touched_words = ceil((floor(sum over places of the larger of
least + P*e and crossed, over P) + max(0, n*|B| - sum over places of T+e)) / n). = loads_words = touched_words +
min(max(k*slack, |W| - k*M), (k+1)*slack), k = max(1, ceil(|W|/(M+slack+w-1)) - 1), under assign less
output_words_at_most.

**Claims.** = output_words = weight_out * output.elements; output_words_at_most = weight_out * product of
count(axis) over the axes of access 0. = compulsory_loads_words = sum of weight_t * elements_t over
all t under accumulate; under assign over t other than the output tensor. = loads_words =
max(compulsory_loads_words, loads_words of the segment, visits or passes if there are some); stores_words =
output_words; total_words = their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction

from optmap.base.texts import ratio_text
from optmap.bounds.compulsory import (
    Count,
    compulsory_loads,
    output_count,
    output_words,
    output_words_at_most,
    tensor_counts,
)
from optmap.bounds.exponents.lifting import LiftedRow
from optmap.bounds.exponents.maps import MapSystem
from optmap.bounds.passing.passes import PassesProof
from optmap.bounds.passing.visits import VisitsProof
from optmap.bounds.result import Document
from optmap.bounds.segment_document import SegmentProof, product_inequality, segment_document
from optmap.files.reading import fingerprint
from optmap.workloads.workload import Subscript, Workload

SCHEMA = "optmap.certificate/1"
AnyProof = SegmentProof | VisitsProof | PassesProof
"""What a certificate can say."""


def bound_certificate(
    workload: Workload,
    memory_words: int,
    system: MapSystem,
    proof: AnyProof | None,
    method: str = "best",
) -> Document:
    """The document described above.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        system: its maps.
        proof: the segment argument, visits or passes; None leaves compulsory traffic alone.
        method: name of the method that found it.
    """
    segment = None if isinstance(proof, VisitsProof | PassesProof) else proof
    document: Document = {
        "schema": SCHEMA,
        "kind": "bound",
        "method": method,
        "workload": {
            "name": workload.name,
            "expression": workload.expression,
            "extents": workload.extents,
            "bytes": {t.name: t.bytes for t in workload.tensors},
            "semantics": workload.semantics.value,
        },
        "accesses": [{"tensor": t.name, "axes": [_axis(axis) for axis in t.axes]} for t in workload.tensors],
        "memory_words": memory_words,
        "lifts": [
            {"dim": str(lift.digit), "modulus": lift.modulus, "high": str(lift.high), "low": str(lift.low)}
            for lift in system.space.lifts
        ],
        "dims": [str(digit) for digit in system.dims],
        "derivations": [[_node(node) for node in nodes] for nodes in system.space.derivations],
        **product_inequality(system, segment),
        **_instead(proof),
        "mu": ratio_text(segment.units.mu if segment else Fraction(1)),
        "segment": segment_document(segment),
        "compulsory": {name: count_document(count) for name, count in tensor_counts(workload).items()},
        "output": count_document(output_count(workload)),
        "claims": _claims(workload, proof),
    }
    document["digest"] = digest(document)
    return document


def digest(document: Mapping[str, object]) -> str:
    """Hash of a document without its `digest` key."""
    return "sha256:" + fingerprint({key: value for key, value in document.items() if key != "digest"})


def _instead(proof: AnyProof | None) -> Document:
    """What stands in place of a segment, under its own key."""
    if isinstance(proof, VisitsProof):
        return {"visits": asdict(proof)}
    return {"passes": asdict(proof)} if isinstance(proof, PassesProof) else {}


def _claims(workload: Workload, proof: AnyProof | None) -> Document:
    compulsory = compulsory_loads(workload)
    loads = max(compulsory, proof.loads_words if proof else 0)
    stores = output_words(workload)
    return {
        "compulsory_loads_words": compulsory,
        "output_words": stores,
        "output_words_at_most": output_words_at_most(workload),
        "loads_words": loads,
        "stores_words": stores,
        "total_words": loads + stores,
    }


def _axis(axis: Subscript) -> Document:
    entry: Document = {"terms": [[d, c] for d, c in axis.terms], "offset": axis.offset}
    return entry if axis.real is None else entry | {"real": list(axis.real)}


def _node(node: LiftedRow) -> Document:
    entry: Document = {"row": {str(digit): c for digit, c in node.row}, "divisor": node.divisor}
    if node.rule is not None:
        entry |= {"rule": node.rule, "parts": [_node(part) for part in node.parts]}
    return entry


def count_document(count: Count) -> Document:
    """A count of elements as certificates write it."""
    if not count.parts:
        return {"elements": count.elements, "rule": "enumerated"}
    parts = [{"access": part.access, part.kind: list(part.items)} for part in count.parts]
    return {"elements": count.elements, "rule": "parts", "parts": parts}
