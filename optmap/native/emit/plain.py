"""The plain leaf: loops over scalars, for any affine workload."""

from __future__ import annotations

from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import KernelKind
from optmap.native.code import Buffer
from optmap.native.emit.indices import element_text
from optmap.native.emit.leaf import LeafCode, Site
from optmap.native.emit.points import point_loops, where
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of


def plain_leaf(site: Site) -> LeafCode:
    """Loops over the points of a tile, in the order of level 0."""
    return LeafCode(
        kind=KernelKind.PLAIN,
        text=_tile(site, buffers_of(site.workload, site.activations)),
        layouts=site.activations,
        packed=tuple(False for _ in site.workload.tensors),
        notes=_notes(site),
    )


def _notes(site: Site) -> tuple[str, ...]:
    if site.roles is None and site.options.layout is not ActivationLayout.NCHW:
        return (
            f"layout {site.options.layout}: without a dim for vectors there are no channels; as the statement has it",
        )
    return ()


def _tile(site: Site, buffers: tuple[Buffer, ...]) -> str:
    workload = site.workload
    moving = [d for d in site.mapping.levels[0].permutation if workload.extents[d] > 1]
    names = {d: site.dims[d] for d in moving}
    elements = [
        f"{name}[{element_text(access, buffer, names)}]"
        for name, access, buffer in zip(site.tensors, workload.tensors, buffers, strict=True)
    ]
    out = Writer()
    with out.block(site.tile_head):
        for dim, name in site.dims.items():
            if dim not in names:
                out.line(f"(void)d_{name}, (void)n_{name};  /* of one iteration */")
        if site.first_touched:
            _zeros(out, site, names, elements[0])
        _points(out, site, names, elements)
    return out.text()


def _loop(name: str) -> str:
    return f"for (long {name} = d_{name}; {name} < d_{name} + n_{name}; {name}++)"


def _zeros(out: Writer, site: Site, names: dict[str, str], element: str) -> None:
    """The first visit of a region starts from zero."""
    first = where(f"d_{site.dims[d]} == 0" for d in site.workload.reduction_dims if d in names)
    loops = [_loop(names[d]) for d in names if d in site.workload.output.dims]
    out.comment("the first visit starts from zero")
    with out.blocks([*first, *loops]):
        out.line(f"{element} = 0;")


def _points(out: Writer, site: Site, names: dict[str, str], elements: list[str]) -> None:
    with out.blocks(point_loops(site.workload, names, names, lambda dim: _loop(names[dim]))):
        out.line(f"{elements[0]} += {' * '.join(elements[1:])};")
