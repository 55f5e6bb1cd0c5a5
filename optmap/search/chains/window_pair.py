"""What the dims and tensors of a pair with windows, or with rows of several dims, are to each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from optmap.base.errors import InputError
from optmap.search.chains.pair import ProductStep, is_plain
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Workload


class WindowPair:
    """A statement with an image and a filter, and a product that reads what it makes.

    Args:
        workload: the chain.
        steps: its two products.
        stores: whether words that are stored count.

    Raises:
        InputError: saying why they are no such pair.
    """

    def __init__(self, workload: Workload, steps: Sequence[ProductStep], *, stores: bool) -> None:
        self.workload, (self.first, self.second) = workload, steps
        self.stores, self.extents = stores, workload.extents
        self.shared, self.result = self.first.product.output, self.second.product.output
        (self.other,) = (each for each in self.second.product.inputs if each.name != self.first.result)
        dims = self.shared.dims
        self.summed = tuple(d for d in self.order(self.shared) if d not in self.result.dims)
        self.dims = (*(d for d in self.order(self.shared) if d in self.result.dims), *self.summed)
        rows = {d for d in dims if d in self.result.dims}
        one, two = self.first.product.inputs
        slides = [not is_plain(each) for each in (one, two)]
        swap = slides[1] or (not slides[0] and len(rows & two.dims) > len(rows & one.dims))
        self.image, self.filter = (two, one) if swap else (one, two)
        if not (is_plain(self.filter) and all(map(is_plain, self.second.product.accesses))):
            raise InputError(
                f"{self.second.product.name} or both inputs of {self.first.product.name} have windows; mappings are "
                "known where only one input of the first statement has"
            )
        self.rows = tuple(d for d in self.dims if d in self.image.dims and d not in self.filter.dims)
        self.columns = tuple(d for d in self.dims if d not in self.rows)
        self.long_rows = tuple(d for d in self.rows if self.extents[d] > 1)
        """Of which the order of loops matters."""
        windows = [axis for axis in self.image.axes if len(axis.terms) > 1]
        self.taps = tuple(d for axis in windows for d in axis.dims if d not in dims)
        self.channels = tuple(d for d in self.order(self.image) if d not in self.rows and d not in self.taps)
        self.beyond = tuple(d for d in self.order(self.result) if d not in self.dims)
        self._check()

    @property
    def sharp(self) -> bool:
        """Whether words of unfused mappings are what is said, and not at most so many.

        Without channels that are summed, or dims of the result alone, a tile may find there what the one before left.
        """
        summed = [d for d in self.channels if d not in self.dims]
        return min(prod(self.extents[d] for d in some) for some in (summed, self.beyond)) > 1

    def order(self, access: TensorAccess) -> tuple[str, ...]:
        """Dims of an access in the order of its subscripts."""
        return tuple(d for axis in access.axes for d in axis.dims)

    def _check(self) -> None:
        """Refuse images and inputs that are of another kind."""
        names = self.order(self.image)
        if len(set(names)) < len(names):
            raise InputError(f"{self.image}: a dim is in two subscripts; mappings are not known for it")
        for axis in self.image.axes:
            plain = axis.terms[0][1] == 1 and not axis.offset if axis.terms else False
            moving = [d for d in axis.dims if d in self.rows]
            if axis.real is not None or not (plain or len(axis.terms) > 1) or len(moving) > 1:
                raise InputError(
                    f"{self.image}: mappings are known of windows with one moving dim each, without padding"
                )
            some = {d: min(2, n) if d in self.rows else n for d, n in self.extents.items()}
            if any(axis.count(each) < axis.span(each) for each in (some, {**some, **dict.fromkeys(moving, 1)})):
                raise InputError(f"{self.image}: mappings are known of windows without gaps between their index values")
            if len(axis.terms) > 1 and any(d in self.channels for d in axis.dims):
                raise InputError(f"{self.image}: mappings are known of windows of dims of {self.shared} and taps")
        missing = set(self.dims) - self.image.dims - self.filter.dims
        strange = [d for d in self.other.dims if d not in self.dims and d not in self.result.dims]
        alone = [d for d in (*self.taps, *self.channels) if d not in self.dims and d not in self.filter.dims]
        lone = [d for d in self.filter.dims if d not in self.dims and d not in self.image.dims]
        if missing or strange or alone or lone:
            dim = [*missing, *strange, *alone, *lone][0]
            raise InputError(f"{self.workload.title}: {dim} subscripts one tensor only; mappings are not known for it")

    def moving(self, axis: Subscript) -> str | None:
        """The row dim of a subscript of the image; None without one."""
        return next((d for d in axis.dims if d in self.rows), None)
