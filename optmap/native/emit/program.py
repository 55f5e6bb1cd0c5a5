"""The generated program that checks and times the code, and the header that both include."""

from __future__ import annotations

from math import prod

from optmap.native.code import ALIGNMENT, Code
from optmap.native.emit.indices import element_text
from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.main_template import PROGRAM
from optmap.native.emit.names import dim_names
from optmap.native.emit.packing import write_packing
from optmap.native.emit.points import point_loops
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of, plain_layouts
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Semantics


def header_text(code: Code) -> str:
    """Declarations of the functions that the code offers."""
    guard = f"{code.entry.upper()}_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", "", *declarations(code), "", "#endif"]
    return "\n".join(lines) + "\n"


def declarations(code: Code) -> list[str]:
    """A line for every function of the code."""
    each = list(zip(code.names, code.buffers, strict=True))
    arguments = [f"{'const ' if n else ''}{C_TYPES[b.bits]} *{name}" for n, (name, b) in enumerate(each)]
    packings = [
        f"void {code.entry}_pack_{name}(const {C_TYPES[b.bits]} *plain, {C_TYPES[b.bits]} *packed);"
        for name, b in each
        if b.packed
    ]
    workspace = ["void *workspace"] if code.workspace else []
    return [*packings, f"void {code.entry}({', '.join([*arguments, *workspace])});"]


def main_text(code: Code) -> str:
    """A C program that compares the code with plain loops in double, within the bound of rounding, and times it."""
    out = Writer()
    _write_arrangements(out, code)
    _write_reference(out, code)
    _write_comparison(out, code)
    parts = {
        "title": code.workload.title.replace("*/", "* /"),
        "declarations": "\n".join(declarations(code)),
        "name": "".join(f"\\{c}" if c in '\\"?' else c for c in code.workload.title),
        "entry": code.entry,
        "rooms": 3 + 2 * len(code.buffers),
        "parts": out.text(),
        "unit": "FLT" if min(tensor.bits for tensor in code.workload.tensors) == 32 else "DBL",
        "inputs": len(code.workload.inputs),
        "outputs": prod(code.buffers[0].shape),
        "flops": f"{len(code.workload.inputs) * code.workload.operations}.0",
        "buffers": _buffers(code),
        "call": ", ".join(_call(code)),
        "alignment": ALIGNMENT,
    }
    return PROGRAM.substitute(parts)


def _arranged(code: Code) -> list[bool]:
    """Per buffer whether the program itself brings it into its layout."""
    plain = plain_layouts(code.workload)
    return [not b.packed and b.layout != each for b, each in zip(code.buffers, plain, strict=True)]


def _write_arrangements(out: Writer, code: Code) -> None:
    for number, (buffer, needed) in enumerate(zip(code.buffers, _arranged(code), strict=True)):
        if needed:
            write_packing(out, f"static void arrange_{number}", C_TYPES[buffer.bits], buffer)
            out.line()


def _write_reference(out: Writer, code: Code) -> None:
    """Sums in double, with the sum of absolute values and the number of terms, of chosen outputs."""
    workload = code.workload
    plain = buffers_of(workload, plain_layouts(workload))
    moving = [d for d in workload.dims if workload.extents[d] > 1]
    names = {d: name for d, name in dim_names(workload).items() if d in moving}
    first = [d for d in moving if d in workload.output.dims]
    order = [*first, *(d for d in moving if d not in first)]
    factors = [
        f"(double)x{n}[{element_text(access, buffer, names)}]"
        for n, (access, buffer) in enumerate(zip(workload.tensors, plain, strict=True))
    ]
    inputs = ", ".join(f"const {C_TYPES[b.bits]} *x{n}" for n, b in enumerate(plain) if n)
    heads = {d: f"for (long {name} = 0; {name} < {workload.extents[d]}; {name}++)" for d, name in names.items()}
    loops = point_loops(workload, names, order, lambda d: heads[d])
    inner = next((n for n, head in enumerate(loops) if head in [heads[d] for d in order[len(first) :]]), len(loops))
    with out.block(f"static void reference({inputs}, struct sum *sums)"), out.blocks(loops[:inner]):
        out.line(f"struct sum *sum = sums + {element_text(workload.output, plain[0], names)};")
        with out.block("if (sum->chosen)"):
            out.lines("double value = 0, size = 0;", "long terms = 0;")
            with out.blocks(loops[inner:]):
                out.line(f"const double product = {' * '.join(factors[1:])};")
                out.line("value += product, size += fabs(product), terms++;")
            out.line("sum->value += value, sum->size += size, sum->terms += terms;")
    out.line()


def _write_comparison(out: Writer, code: Code) -> None:
    """The first element that is further from the reference than rounding explains."""
    buffer, kind = code.buffers[0], C_TYPES[code.buffers[0].bits]
    names = {f"i{n}": f"i{n}" for n in range(len(buffer.shape))}
    axes = tuple(Subscript(terms=((name, 1),), offset=o) for name, o in zip(names, buffer.origin, strict=True))
    access = TensorAccess(name="found", axes=axes)
    heads = [f"for (long i{n} = 0; i{n} < {size}; i{n}++)" for n, size in enumerate(buffer.shape)]
    subscripts = ",".join("%ld" for _ in names)
    places = "".join(f", i{n} + {o}" if o else f", i{n}" for n, o in enumerate(buffer.origin))
    with out.block(f"static int wrong(const {kind} *found, const struct sum *sum, double *worst)"):
        with out.blocks(heads):
            out.line(f"const double value = found[{element_text(access, buffer, names)}];")
            out.line("const double allowed = tolerance(sum);")
            out.line("const double error = fabs(value - sum->value);")
            with out.block("if (sum->chosen && !(error <= allowed))"):
                text = f'"{code.names[0]}[{subscripts}] is %.9g, not %.9g +- %.2g\\n"'
                out.line(f"printf({text}{places}, value, sum->value, allowed);")
                out.line("return 1;")
            out.line("if (sum->chosen && error > *worst * allowed) *worst = error / allowed;")
            out.line("sum++;")
        out.line("return 0;")


def _buffers(code: Code) -> str:
    """Memory for every tensor: contents as the statement has them, and as the functions take them."""
    out = Writer(1)
    assign = code.workload.semantics is Semantics.ASSIGN
    seen: dict[str, int] = {}
    for n, (buffer, arranged) in enumerate(zip(code.buffers, _arranged(code), strict=True)):
        kind, count = C_TYPES[buffer.bits], prod(buffer.shape)
        if buffer.tensor in seen:
            out.line(f"{kind} *x{n} = x{seen[buffer.tensor]};")
        else:
            out.line(f"{kind} *x{n} = room({count * buffer.bits // 8});")
            value = "NAN" if assign and n == 0 else "random_value()"
            out.line(f"for (long i = 0; i < {count}; i++) x{n}[i] = ({kind}){value};")
        seen.setdefault(buffer.tensor, n)
        if arranged or buffer.packed:
            size = buffer.layout.size(buffer.shape) * buffer.bits // 8
            name = f"{code.entry}_pack_{code.names[n]}" if buffer.packed else f"arrange_{n}"
            out.line(f"{kind} *b{n} = room({size});")
            out.line(f"{name}(x{n}, b{n});")
        else:
            out.line(f"{kind} *b{n} = x{n};")
    if code.workspace:
        out.line(f"void *workspace = room({code.workspace});")
    inputs = ", ".join(f"x{n}" for n in range(1, len(code.buffers)))
    if not assign:
        out.line("for (long i = 0; i < outputs; i++)")
        out.line("  sums[i].value = x0[i], sums[i].size = fabs((double)x0[i]), sums[i].terms = 1;")
    out.line(f"reference({inputs}, sums);")
    return out.text()


def _call(code: Code) -> list[str]:
    return [*(f"b{n}" for n in range(len(code.buffers))), *(["workspace"] if code.workspace else [])]
