"""Builders: common workloads from their sizes.

Every builder writes the statement in optmap notation and parses it, so that what it means can be
read off `Workload.expression`. All take `name`, `bytes` (element size, of all tensors or per
tensor) and `semantics` besides their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from optmap.base.errors import InputError
from optmap.workloads.parser import Bytes, parse_workload
from optmap.workloads.workload import Semantics, Workload


def conv2d(
    *,
    c: int,
    h: int,
    w: int,
    r: int,
    s: int,
    k: int | None = None,
    n: int = 1,
    stride: int | tuple[int, int] = 1,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    depthwise: bool = False,
    padding: str = "same",
    name: str = "conv2d",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """A two-dimensional convolution; dims in the order n, (g,) k, c, r, s, h, w.

    The dims h and w run over the output. The input accessed along h is
    `stride*(P-1) + dilation*(R-1) + 1` wide, P being the output extent: more than the image if it is
    padded. These elements are stored like all others, unless `with_padding("implicit")` leaves the
    h x w image alone. With `same` padding the elements that the image lacks are split evenly, the odd
    one at the end (as TensorFlow, Keras and ONNX's SAME_UPPER do).

    Args:
        c: input channels (all groups together).
        h: input height.
        w: input width.
        r: filter height.
        s: filter width.
        k: output channels (all groups together); a depthwise convolution has `k = c`.
        n: batch size.
        stride: of both axes, or (along h, along w).
        dilation: distance of filter taps, of both axes or (along h, along w).
        groups: above 1, adds the dim g and makes k and c extents per group.
        depthwise: one filter per channel: the dim c is also the output channel.
        padding: `same` (output extent ceil(input / stride)) or `valid` (taps stay inside).
        name: what the workload is called.
        bytes: element size in bytes, of all tensors or per tensor (Out, In, Ker).
        semantics: whether outputs accumulate or are assigned.

    Raises:
        InputError: for a size that is not a whole positive number, channels that the groups do
            not divide, or a filter larger than the input without padding.
    """
    _positive("conv2d", n=n, c=c, h=h, w=w, r=r, s=s, groups=groups)
    if not isinstance(depthwise, bool):
        raise InputError(f"conv2d: depthwise is {depthwise!r}; use true or false")
    (sh, sw), (dh, dw) = _pair("conv2d", "stride", stride), _pair("conv2d", "dilation", dilation)
    k = _output_channels(k, c=c, groups=groups, depthwise=depthwise)
    out_h = _output_extent("h", h, r, stride=sh, dilation=dh, padding=padding)
    out_w = _output_extent("w", w, s, stride=sw, dilation=dw, padding=padding)
    rows, columns = _window("h", sh, "r", dh), _window("w", sw, "s", dw)
    window = {"r": r, "s": s, "h": out_h, "w": out_w}
    if depthwise:
        text = f"Out[n,c,h,w] += In[n,c,{rows},{columns}] * Ker[c,r,s]"
        extents = {"n": n, "c": c, **window}
    elif groups > 1:
        text = f"Out[n,g,k,h,w] += In[n,g,c,{rows},{columns}] * Ker[g,k,c,r,s]"
        extents = {"n": n, "g": groups, "k": k // groups, "c": c // groups, **window}
    else:
        text = f"Out[n,k,h,w] += In[n,c,{rows},{columns}] * Ker[k,c,r,s]"
        extents = {"n": n, "k": k, "c": c, **window}
    made = parse_workload(text, extents, name=name, bytes=bytes, semantics=semantics)
    return _with_windows(made, (h, _reach(r, dh), sh, out_h), (w, _reach(s, dw), sw, out_w))


def conv1d(
    *,
    f: int,
    x: int,
    c: int,
    w: int,
    stride: int = 1,
    dilation: int = 1,
    padding: str = "valid",
    name: str = "conv1d",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[f,x] += Image[c,x+w] * Filter[f,c,w]` (IOOpt, section 4.2).

    Padding is stored unless `with_padding("implicit")` leaves it out, as for `conv2d`.

    Args:
        f: output channels.
        x: output width.
        c: input channels.
        w: filter width.
        stride: coefficient of x.
        dilation: coefficient of w.
        padding: `valid` (the image is all that the taps reach) or `same` (it is stride*x wide).
        name: what the workload is called.
        bytes: element size in bytes, of all tensors or per tensor.
        semantics: whether outputs accumulate or are assigned.

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    _positive("conv1d", f=f, x=x, c=c, w=w, stride=stride, dilation=dilation)
    text = f"Out[f,x] += Image[c,{_window('x', stride, 'w', dilation)}] * Filter[f,c,w]"
    made = parse_workload(text, {"f": f, "x": x, "c": c, "w": w}, name=name, bytes=bytes, semantics=semantics)
    reach = _reach(w, dilation)
    if padding not in ("same", "valid"):
        raise InputError(f"conv1d: padding is {padding!r}; use same or valid")
    image = stride * x if padding == "same" else stride * (x - 1) + reach
    return _with_windows(made, (image, reach, stride, x))


def matmul(
    *,
    i: int,
    j: int,
    k: int,
    name: str = "matmul",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`C[i,j] += A[i,k] * B[k,j]`.

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "C[i,j] += A[i,k] * B[k,j]"
    return parse_workload(text, {"i": i, "j": j, "k": k}, name=name, bytes=bytes, semantics=semantics)


def contraction(
    spec: str,
    sizes: Sequence[int] | Mapping[str, int],
    *,
    name: str = "",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """A tensor contraction in TCCG notation: `abc-bda-dc` is Out[a,b,c] += A[b,d,a] * B[d,c].

    Args:
        spec: the letters of the output and of the two inputs, separated by dashes.
        sizes: extent per letter, or extents in the order in which the letters first appear.
        name: what the workload is called; the spec by default.
        bytes: element size in bytes, of all tensors or per tensor (Out, A, B).
        semantics: whether outputs accumulate or are assigned.

    Raises:
        InputError: for a spec that is not of this form or sizes that do not fit it.
    """
    parts = spec.split("-") if isinstance(spec, str) else []
    if len(parts) != 3 or not all(part.isalpha() for part in parts):
        raise InputError(
            f"contraction {spec!r}: write the letters of the output and of two inputs with dashes between, "
            "such as abc-bda-dc"
        )
    letters = list(dict.fromkeys("".join(parts)))
    if not isinstance(sizes, Mapping):
        if isinstance(sizes, str) or not isinstance(sizes, Sequence):
            raise InputError(f"contraction {spec}: sizes is {sizes!r}; give a list of whole numbers")
        if len(sizes) != len(letters):
            raise InputError(
                f"contraction {spec}: {len(sizes)} sizes for {len(letters)} letters; "
                f"give one each for {', '.join(letters)}"
            )
        sizes = dict(zip(letters, sizes, strict=True))
    out, a, b = (",".join(part) for part in parts)
    order = {d: sizes[d] for d in letters if d in sizes} | dict(sizes)
    return parse_workload(f"Out[{out}] += A[{a}] * B[{b}]", order, name=name or spec, bytes=bytes, semantics=semantics)


def mttkrp(
    *,
    i: int,
    j: int,
    k: int,
    l: int,  # noqa: E741 - the paper's name
    name: str = "mttkrp",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]`: tensor times Khatri-Rao product (Sunstone, Table II).

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]"
    return parse_workload(text, {"i": i, "j": j, "k": k, "l": l}, name=name, bytes=bytes, semantics=semantics)


def sddmm(
    *,
    i: int,
    j: int,
    k: int,
    name: str = "sddmm",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[i,j] += A[i,j] * B[i,k] * C[k,j]`: sampled matrix product (Sunstone, Table II).

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "Out[i,j] += A[i,j] * B[i,k] * C[k,j]"
    return parse_workload(text, {"i": i, "j": j, "k": k}, name=name, bytes=bytes, semantics=semantics)


def ttmc(
    *,
    i: int,
    j: int,
    k: int,
    l: int,  # noqa: E741 - the paper's name
    m: int,
    name: str = "ttmc",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[i,l,m] += A[i,j,k] * B[j,l] * C[k,m]`: tensor times matrix chain (Sunstone, Table II).

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "Out[i,l,m] += A[i,j,k] * B[j,l] * C[k,m]"
    extents = {"i": i, "j": j, "k": k, "l": l, "m": m}
    return parse_workload(text, extents, name=name, bytes=bytes, semantics=semantics)


def mmc(
    *,
    i: int,
    j: int,
    k: int,
    l: int,  # noqa: E741 - the paper's name
    name: str = "mmc",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[i,l] += A[i,j] * B[j,k] * C[k,l]`: matrix chain in one nest (Sunstone, Table II).

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "Out[i,l] += A[i,j] * B[j,k] * C[k,l]"
    return parse_workload(text, {"i": i, "j": j, "k": k, "l": l}, name=name, bytes=bytes, semantics=semantics)


def tcl(
    *,
    i: int,
    j: int,
    k: int,
    l: int,  # noqa: E741 - the paper's name
    m: int,
    n: int,
    name: str = "tcl",
    bytes: Bytes = 4,
    semantics: Semantics = Semantics.ACCUMULATE,
) -> Workload:
    """`Out[l,m,n] += A[i,j,k] * B[i,l] * C[j,m] * D[k,n]`: contraction layer (Sunstone, Table II).

    Raises:
        InputError: for a size that is not a whole positive number.
    """
    text = "Out[l,m,n] += A[i,j,k] * B[i,l] * C[j,m] * D[k,n]"
    extents = {"i": i, "j": j, "k": k, "l": l, "m": m, "n": n}
    return parse_workload(text, extents, name=name, bytes=bytes, semantics=semantics)


BUILDERS: dict[str, Callable[..., Workload]] = {
    "conv2d": conv2d,
    "conv1d": conv1d,
    "matmul": matmul,
    "contraction": contraction,
    "mttkrp": mttkrp,
    "sddmm": sddmm,
    "ttmc": ttmc,
    "mmc": mmc,
    "tcl": tcl,
}
"""Every builder under the name it has in workload files."""


def _positive(builder: str, **sizes: object) -> None:
    for field, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"{builder}: {field} is {size!r}; it must be a whole number, 1 or more")


def _pair(builder: str, field: str, value: int | Sequence[int]) -> tuple[int, int]:
    values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value, value]
    if len(values) != 2:
        raise InputError(f"{builder}: {field} is {value!r}; give one number, or one for h and one for w")
    _positive(builder, **{field: values[0]})
    _positive(builder, **{field: values[1]})
    return values[0], values[1]


def _output_channels(k: int | None, *, c: int, groups: int, depthwise: bool) -> int:
    if depthwise:
        if groups != 1:
            raise InputError("conv2d: depthwise and groups exclude each other; depthwise means c groups")
        if k not in (None, c):
            raise InputError(f"conv2d: depthwise has k = c = {c}, but k is {k}; leave k out")
        return c
    if k is None:
        raise InputError("conv2d: k (output channels) is missing")
    _positive("conv2d", k=k)
    if k % groups or c % groups:
        raise InputError(f"conv2d: groups={groups} must divide k={k} and c={c}")
    return k


def _output_extent(axis: str, size: int, taps: int, *, stride: int, dilation: int, padding: str) -> int:
    if padding == "same":
        return -(-size // stride)
    if padding != "valid":
        raise InputError(f"conv2d: padding is {padding!r}; use same or valid")
    reach = _reach(taps, dilation)
    if reach > size:
        raise InputError(f"conv2d: the filter spans {reach} along {axis} but the input has {size}; use padding=same")
    return (size - reach) // stride + 1


def _reach(taps: int, dilation: int) -> int:
    return dilation * (taps - 1) + 1


def _with_windows(made: Workload, *windows: tuple[int, int, int, int]) -> Workload:
    """The convolution with its last input subscripts known to be padded images.

    Args:
        made: its first input is the image.
        windows: (image, reach of the filter, stride, output extent) per window.
    """
    ranges = []
    for image, reach, stride, outputs in windows:
        missing = max(0, stride * (outputs - 1) + reach - image)
        ranges.append((missing // 2, missing // 2 + image - 1))
    plain = (None,) * (len(made.inputs[0].axes) - len(ranges))
    others = [(None,) * len(tensor.axes) for tensor in made.tensors]
    return made.with_accesses(made.tensors, image=(others[0], (*plain, *ranges), *others[2:]))


def _window(position: str, stride: int, tap: str, dilation: int) -> str:
    return "+".join(d if c == 1 else f"{c}*{d}" for d, c in ((position, stride), (tap, dilation)))
