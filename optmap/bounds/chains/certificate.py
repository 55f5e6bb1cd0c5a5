r"""The certificate of a lower bound of a chain: a JSON document that anyone can re-check.

    schema        "optmap.chain-certificate/1"
    kind          "bound"
    method        name of the method that made it (not checked)
    workload      name, statements [text, ...], extents {dim: int}, bytes {tensor: int, or a multiple of 1/8},
                  semantics "accumulate" | "assign", outputs [tensors that are outputs although they are read]
    memory_words  M, the fast memory in words: of the greatest common divisor of the element sizes
    counts        {tensor: {statement: index, count}} for everything that is loaded or stored
    groups        [{argument, statements: [names], loads_words: int, ...}]
    claims        compulsory_loads_words, loads_words, stores_words, total_words
    digest        of the document without it

**Statements.** Check: they have the grammar of `optmap/checker/chains/chain_text.py`; no tensor is written twice, or
read before it is written or where it is not (conditions apart); conditions are of dims of their statement; the signs of
sums are those of the semantics (what is no output starts empty: `=`).

**Counts.** A count has the form of `optmap/bounds/certificate.py`, its parts naming accesses of the statement at that
index, which reads or writes the tensor, and writes it if any does. If that has conditions, and no padding, elements are
at most the values that the dims of one of the accesses take at points that meet all of them, the access having one dim
per subscript at most and each dim once; otherwise they are 0. Its parts are not looked at.

**Groups.** Symbols and theorems are those of `docs/chain-floors.md`, a chapter for each argument but `alone`. Check: no
statement is in two groups, and no tensor is claimed by two; a group claims what it reads (of tensors made in place of
each other the last) and an output of its own that does not start empty. Of a tensor that it reads and another statement
writes, K of `shared` left out, that statement has no conditions, and touches as many elements of it as there are values
per subscript, multiplied.
loads_words is that of its argument, or 0 if that is less:

- alone: one statement that is a plain product (no numbers, no conditions), with a `certificate` of it under
  `accumulate` for floor(M/u) words, u being the words of the chain in a word of the certificate. = u*loads - words of
  the output (values per subscript, multiplied), if it starts empty - those of each different access to a tensor that is
  written.
- joined: two statements, without conditions, of the form of `optmap/bounds/chains/joined.py`, with a `certificate` of
  the product there, G, X and Y with the extents and element sizes that follow, for floor(M/u) words. = u*loads - words
  of S and of C, if they start empty - words of A, B and D as far as statements write them; all as heavy as in the
  product.
- lines: two such statements, with `lines` [{cut, light, most: W, g: "p/q", weight: "p/q"}], cut and light being two of
  G, X and Y. The elements are those of the product, all as heavy as the lightest (w words), and M =
  floor(memory_words/w). Check: M >= 3, W >= M, 0 < g <= 1; added up with their weights, no tensor's loads count more
  than once. = w*(ceil of the weighted sum of the right sides and of what is left of each
  tensor's loads times its elements, less the elements that joined subtracts). Of times*phi, 2*sqrt(g*o)*times is
  isqrt(floor(4*times^2*g*o)), and the other two are fractions.
  If one of the two has conditions, so has the other one, and all that write the tensor that holds S: the same ones, by
  position of the subscripts of S, on the one dim of m and the one of l that have more than one iteration. Places have
  the rows and columns that meet then, and elements of S are the pairs of them (Lines, under conditions); no statement
  that writes A, B or D has conditions.
- finishing: two such statements, with `charge`: w. The elements are those of the product, all as heavy as the
  lightest (of w0 words), and M = floor(memory_words/w0). Check: w <= J, 2*w <= c, O = ceil(w^2/2) - 1, J*c >= M + 3*O.
  = w0*(values of h times the theorem's right side, rounded up, less
  the elements that joined subtracts).
- shared: two statements or more of the form there (Products around one tensor), with `kept`, the tensor that holds the
  elements of K, and `most`: W. All elements are as heavy as the lightest (w words), and M = floor(memory_words/w).
  Check: W >= M >= 3. = w*(ceil of the theorem's right side, 2*sqrt as above, less elements of K, unless none of them
  appears without a load, and those of the other tensors that statements make and that start empty or are made
  elsewhere).
- barrier: two such statements, with `operand`, U, and `segment`, X, of the form of `optmap/bounds/chains/barrier.py`. =
  the right side of its theorem, rounded up, d being the weight of U times the values of its dims that the access to S
  lacks.

**Claims.** = loads_words: those of the groups and the counted words of what is loaded and claimed by none;
stores_words: the counted words of all outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from optmap.bounds.certificate import count_document, digest
from optmap.bounds.chains.counts import chain_counts, chain_words, loaded_tensors, stored_tensors
from optmap.bounds.chains.groups import StatementGroup, loads_of
from optmap.bounds.result import Document
from optmap.workloads.workload import Workload

SCHEMA = "optmap.chain-certificate/1"


def chain_certificate(workload: Workload, memory_words: int, groups: Sequence[StatementGroup], method: str) -> Document:
    """The document described above.

    Args:
        workload: the chain.
        memory_words: fast memory, in words.
        groups: that fit together.
        method: name of the method that found them.
    """
    words = chain_words(workload)
    loads, stores = loads_of(workload, groups), sum(words[t] for t in stored_tensors(workload))
    document: Document = {
        "schema": SCHEMA,
        "kind": "bound",
        "method": method,
        "workload": {
            "name": workload.name,
            "statements": list(workload.texts),
            "extents": workload.extents,
            "bytes": {access.name: access.bytes for access in workload.accesses},
            "semantics": workload.semantics.value,
            "outputs": list(workload.outputs),
        },
        "memory_words": memory_words,
        "counts": {
            name: {"statement": each.statement, "count": count_document(each.count)}
            for name, each in chain_counts(workload).items()
        },
        "groups": [
            {
                "argument": group.argument,
                "statements": list(group.statements),
                **group.proof,
                "loads_words": group.loads_words,
            }
            for group in groups
        ],
        "claims": {
            "compulsory_loads_words": sum(words[t] for t in loaded_tensors(workload)),
            "loads_words": loads,
            "stores_words": stores,
            "total_words": loads + stores,
        },
    }
    document["digest"] = digest(document)
    return document
