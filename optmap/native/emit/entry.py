"""The head of the code and the functions that it offers: packing, and the entry that shares the nest among threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optmap.kernels.code_options import WeightPacking
from optmap.kernels.kernel_roles import KernelKind
from optmap.native.code import ALIGNMENT, Buffer
from optmap.native.emit.leaf import Site
from optmap.native.emit.nest import smaller_text
from optmap.native.emit.packing import write_packing
from optmap.native.emit.writer import Writer
from optmap.workloads.workload import Semantics, Workload


def write_head(
    out: Writer, workload: Workload, kind: KernelKind, buffers: Mapping[str, Buffer], notes: tuple[str, ...]
) -> None:
    """What a reader should know, and what all code needs.

    Args:
        out: where it is written.
        workload: what is computed.
        kind: of the leaf.
        buffers: per name in C.
        notes: what else is said.
    """
    out.comment(*_title(workload, kind, buffers), *notes)
    out.line()
    out.line('_Static_assert(sizeof(long) == 8, "places of elements are counted in 64 bits");')
    out.line()
    out.line(smaller_text())
    out.line()


def _title(workload: Workload, kind: KernelKind, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    yield f"{workload.title}: {workload.expression}"
    yield f"extents {' '.join(f'{d}={n}' for d, n in workload.sizes)}"
    yield f"kernel: {kind}"
    for name, buffer in buffers.items():
        order = " ".join(f"{axis}" if block == 1 else f"{axis}/{block}" for axis, block in buffer.layout.order)
        yield (
            f"{name}: {' x '.join(map(str, buffer.shape)) or 'one element'}"
            + (f" from {', '.join(map(str, buffer.origin))}" if any(buffer.origin) else "")
            + (f"; subscripts from the slowest: {order}" if len(buffer.shape) > 1 else "")
        )


def write_packings(out: Writer, site: Site, buffers: tuple[Buffer, ...]) -> None:
    """Functions that bring packed buffers into their layouts: offered, or called by the entry itself."""
    for name, kind, buffer in zip(site.tensors, site.types, buffers, strict=True):
        if buffer.packed:
            head = f"void {site.entry}_pack_{name}"
            if packs_in_call(site):
                head = f"static {head}"
            else:
                out.line(f"{head}(const {kind} *restrict plain, {kind} *restrict packed);")
                out.line()
            write_packing(out, head, kind, buffer, site.mapping.ways)
            out.line()


def packs_in_call(site: Site) -> bool:
    """Whether the entry takes plain weights and packs them itself."""
    return site.options.weights is WeightPacking.CALL


def workspace_of(site: Site, buffers: tuple[Buffer, ...]) -> dict[int, int]:
    """Where in the workspace each buffer lies that is packed in the call, and under -1 how many bytes there are."""
    places: dict[int, int] = {}
    end = 0
    for number, buffer in enumerate(buffers):
        if buffer.packed and packs_in_call(site):
            places[number] = end
            end += -(-buffer.layout.size(buffer.shape) * buffer.bits // 8 // ALIGNMENT) * ALIGNMENT
    return {**places, -1: end}


def write_entry(out: Writer, site: Site, buffers: tuple[Buffer, ...]) -> None:
    """The function that computes the workload."""
    threads, places = site.mapping.ways, workspace_of(site, buffers)
    names = list(site.tensors)
    head = f"void {site.entry}({', '.join((*site.arguments, *(['void *restrict workspace'] if places[-1] else [])))})"
    out.line(f"{head};")
    out.line()
    with out.block(head):
        for number, place in places.items():
            if number >= 0:
                names[number] = f"{site.tensors[number]}_packed"
                kind = site.types[number]
                out.line(f"{kind} *{names[number]} = ({kind} *)((char *)workspace + {place});")
                out.line(f"{site.entry}_pack_{site.tensors[number]}({site.tensors[number]}, {names[number]});")
        if site.workload.semantics is Semantics.ASSIGN and not site.first_touched:
            size = buffers[0].layout.size(buffers[0].shape)
            out.line(f"for (long i0 = 0; i0 < {size}; i0++) {names[0]}[i0] = 0;")
        if threads == 1:
            out.line(f"{site.entry}_nest({', '.join(names)});")
            return
        out.lines("#ifdef _OPENMP", f"#pragma omp parallel for schedule(static) num_threads({threads})", "#endif")
        with out.block(f"for (long part = 0; part < {threads}; part++)"):
            out.line(f"{site.entry}_nest({', '.join([*names, 'part'])});")
