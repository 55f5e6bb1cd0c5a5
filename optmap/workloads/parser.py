"""The short notation: `Out[n,k,h,w] += In[n,c,2*h+r,2*w+s] * Ker[k,c,r,s]` and einsum strings.

Text is tokenised and parsed here by hand; it is never evaluated. Every error points at the
character it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from optmap.base.errors import InputError, ParseError, StatementError
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.chain import TensorRole, roles
from optmap.workloads.expression import product
from optmap.workloads.sizes import element_bits
from optmap.workloads.statement import Statement, Update
from optmap.workloads.statement_parser import Parsed, Place, read_statements
from optmap.workloads.tokens import expect, plain_blanks, tokens, whole
from optmap.workloads.workload import Semantics, Workload, extents_in_order

Bytes = float | Fraction | Mapping[str, float | Fraction]
"""Element sizes in bytes: of all tensors, or per tensor."""
EXTENT = "a whole number from 1 to 2^63-1"
EXTENT_HINTS = dict.fromkeys("-.", f"an extent is {EXTENT}")


def parse_workload(
    text: str | Sequence[str],
    extents: Mapping[str, int],
    *,
    name: str = "",
    bytes: Bytes = 4,
    semantics: Semantics | None = None,
    outputs: Sequence[str] = (),
) -> Workload:
    """Read a workload in optmap notation or as an einsum string.

    A statement is `Out[...] += In[...] * ...` (`+=` accumulates, `=` assigns) with affine
    subscripts: sums of dims with coefficients (`2*h`, `2h`, `h*2`) and whole constants. `h+r in 1..7`
    says which values of a subscript are elements; the others are implicit padding. An einsum
    string such as `ik,kj->ij` names its inputs A, B, C … and its output Out.

    Several statements are separated by `;`, or are a list of texts, producers first. On the right there may be sums,
    quotients, numbers, brackets, elementwise functions and functions of rows (`softmax(S[m,l], l)`); `max=` and `min=`
    reduce otherwise than by sums, and `if l <= m` restricts the points of a statement. The grammar is in the module
    `statement_parser`.

    Args:
        text: the notation.
        extents: iterations per dim, of exactly the dims used; its order is the order of dims.
        name: what the workload is called in reports.
        bytes: element size in bytes, of all tensors or per tensor name (others have 4); whole, or
            a multiple of 1/8 such as 0.5 for four bits.
        semantics: overrules what `+=` or `=` of outputs say; an einsum string, and what has neither, accumulates
            without it.
        outputs: tensors that are outputs although statements read them.

    Raises:
        ParseError: at the first character that cannot be read, a dim without extent, or the part of a statement that
            cannot be meant.
        InputError: for an extent that is no whole positive number, an element size that is no
            whole number of bits, an extent or element size of a dim or tensor that does not occur.
    """
    texts = [plain_blanks(each) for each in ((text,) if isinstance(text, str) else text)]
    positions: dict[str, Place] = {}
    parts: dict[int, Place] = {}
    ranks: dict[str, int] = {}
    if len(texts) == 1 and not ("[" in texts[0] or "=" in texts[0]):
        parsed = [_einsum(texts[0], positions)]
    else:
        parsed = [each for one in texts for each in read_statements(one, positions, ranks, parts)]
    for dim, place in positions.items():
        if dim not in extents:
            raise ParseError(f"no extent for dim {dim}; add {dim}=<size>", *place)
    if not positions:
        raise ParseError("no dim in any subscript; a workload needs at least one loop", texts[0] if texts else "", 0)
    extents_in_order(positions, extents)  # refuses an extent of a dim that does not occur
    try:
        statements = _statements(parsed, bytes, parts)
        made = Workload(
            name=name,
            statements=statements,
            sizes=tuple(extents.items()),
            semantics=semantics or _semantics(parsed, roles(statements, outputs)),
        )
    except StatementError as error:
        if id(error.part) not in parts:
            raise
        raise ParseError(error.message, *parts[id(error.part)]) from error
    return made.with_outputs(outputs) if outputs else made


def _statements(parsed: Sequence[Parsed], sizes: Bytes, parts: dict[int, Place]) -> tuple[Statement, ...]:
    """Statements whose elements have their sizes; the places of accesses and statements are added to `parts`."""
    accesses = iter(_with_bytes([access for each in parsed for access in each.accesses], sizes))
    found = []
    for each in parsed:
        output, *inputs = (next(accesses) for _ in each.accesses)
        parts.update((id(access), place) for access, place in zip((output, *inputs), each.places, strict=True))
        statement = Statement(
            output=output, inputs=tuple(inputs), right=each.right, update=each.update, domain=each.domain
        )
        parts[id(statement)] = each.places[0]
        found.append(statement)
    return tuple(found)


def _semantics(parsed: Sequence[Parsed], known: Mapping[str, TensorRole]) -> Semantics:
    """What the signs of the outputs say, which have to agree; that of an intermediate says nothing."""
    signed = [each for each in parsed if each.sign and known[each.accesses[0].name] is TensorRole.OUTPUT]
    for each in signed:
        if each.sign != signed[0].sign:
            raise ParseError(
                f"{each.sign} of output {each.accesses[0].name}, but {signed[0].sign} of output "
                f"{signed[0].accesses[0].name}: use one of them, or say semantics",
                *each.operator,
            )
    return Semantics.ASSIGN if signed and signed[0].sign == "=" else Semantics.ACCUMULATE


def parse_extents(text: str) -> dict[str, int]:
    """Read `i=2000,j=1500` as extents per dim, in the order written.

    Raises:
        ParseError: for anything but `dim=size` pairs separated by commas, a dim given twice, or a
            size that is not a whole number from 1 to 2^63-1.
    """
    text = plain_blanks(text)
    pieces = iter(tokens(text, (",", "="), EXTENT_HINTS, "write dim=size pairs separated by commas"))
    extents: dict[str, int] = {}
    while True:
        dim = expect(text, next(pieces), "name", "a dim, as in i=2000")
        if dim.text in extents:
            raise ParseError(f"dim {dim.text} has two extents; keep one", text, dim.position)
        expect(text, next(pieces), "=", f"'=' after dim {dim.text}")
        number = expect(text, next(pieces), "number", f"the extent of {dim.text}, {EXTENT}")
        extents[dim.text] = whole(text, number, f"the extent of {dim.text}", least=1)
        separator = next(pieces)
        if separator.kind == "end":
            return extents
        expect(text, separator, ",", "',' or the end")


def _einsum(text: str, positions: dict[str, Place]) -> Parsed:
    """The statement that an einsum string stands for; fills in the first place of every dim."""
    if "..." in text:
        raise ParseError("an ellipsis has no names for its dims; write every letter", text, text.index("..."))
    inputs, arrow, output = text.partition("->")
    if not arrow:
        raise ParseError(
            "expected a statement such as C[i,j] += A[i,k]*B[k,j], or an einsum string with its output "
            "written out, such as ik,kj->ij",
            text,
            len(text.rstrip()),
        )
    accesses: list[TensorAccess] = []
    position = 0
    for number, operand in enumerate(inputs.split(",")):
        name = chr(ord("A") + number) if number < 26 else f"T{number}"
        accesses.append(_operand(text, operand, position, name, positions))
        position += len(operand) + 1
    known = set(positions)
    start = len(inputs) + len(arrow)
    result = _operand(text, output, start, "Out", positions)
    letters = [c for c in output if c != " "]
    for letter in letters:
        if letter not in known:
            raise ParseError(f"dim {letter} of the output is in no input", text, start + output.index(letter))
        if letters.count(letter) > 1:
            raise ParseError(f"dim {letter} occurs twice in the output", text, start + output.rindex(letter))
    return Parsed(
        accesses=(result, *accesses),
        right=product(len(accesses)),
        update=Update.SUM,
        sign="+=",
        domain=(),
        places=((text, 0),) * (1 + len(accesses)),
        operator=(text, len(inputs)),
    )


def _operand(text: str, operand: str, start: int, name: str, positions: dict[str, Place]) -> TensorAccess:
    axes: list[Subscript] = []
    for position, char in enumerate(operand, start):
        if char == " ":
            continue
        if not char.isidentifier() or char == "_":
            raise ParseError(f"unexpected '{char}': an einsum dim is one letter, as in ik,kj->ij", text, position)
        positions.setdefault(char, (text, position))
        axes.append(Subscript(terms=((char, 1),)))
    return TensorAccess(name=name, axes=tuple(axes))


def _with_bytes(accesses: list[TensorAccess], sizes: Bytes) -> list[TensorAccess]:
    names = list(dict.fromkeys(a.name for a in accesses))
    if isinstance(sizes, Mapping):
        unknown = [t for t in sizes if t not in names]
        if unknown:
            raise InputError(f"bytes given for {unknown[0]!r}, which is no tensor; tensors are {', '.join(names)}")
        per_tensor = {t: sizes.get(t, 4) for t in names}
    else:
        per_tensor = dict.fromkeys(names, sizes)
    bits = {tensor: element_bits(size, f"element size of {tensor}") for tensor, size in per_tensor.items()}
    return [TensorAccess(name=a.name, axes=a.axes, bits=bits[a.name]) for a in accesses]
