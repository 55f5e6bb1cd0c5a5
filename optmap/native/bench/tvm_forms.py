"""A workload as TVM is asked for it: operands with channels last or in blocks, weights in the order of the loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optmap.native.bench.contender import Array
from optmap.native.bench.forms import LibraryConvolution, Product

LANES = 16
"""Channels of a block, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TvmForm:
    """A convolution or product with operands in one order; blocks of one element are none."""

    form: LibraryConvolution | Product
    inside: int = 1
    """Channels of the image in a block."""
    outside: int = 1
    """Channels of the output in a block."""

    @property
    def label(self) -> str:
        """For tables."""
        if isinstance(self.form, Product):
            return "product"
        return "convolution in blocks" if self.outside > 1 else "convolution channels last"

    @property
    def depthwise(self) -> bool:
        """Whether every channel has a filter of its own."""
        return isinstance(self.form, LibraryConvolution) and self.form.groups > 1 and self.form.channels == 1

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of output, image (or left operand) and weights (or right operand), as TVM gets them."""
        form = self.form
        if isinstance(form, Product):
            return (
                (form.batch, form.rows, form.columns),
                (form.batch, form.rows, form.depth),
                (form.batch, form.depth, form.columns),
            )
        outputs, channels = form.groups * form.outputs, form.groups * form.channels
        if self.outside == 1:
            return (
                (form.batch, *form.spatial, outputs),
                (form.batch, *form.image, channels),
                (*form.taps, form.channels, outputs),
            )
        image = (form.batch, channels // self.inside, *form.image, self.inside)
        out = (form.batch, outputs // self.outside, *form.spatial, self.outside)
        if self.depthwise:
            return out, image, (outputs // self.outside, *form.taps, self.outside)
        reduced = (form.channels // self.inside, *form.taps, self.inside)
        return out, image, (outputs // self.outside, *reduced, self.outside)

    @property
    def zeros(self) -> tuple[tuple[int, int], ...]:
        """Per axis of the image zeros before and behind."""
        form, rank = self.form, len(self.shapes[1])
        if isinstance(form, Product):
            return ((0, 0),) * rank
        first = 1 if self.outside == 1 else 2
        sides = tuple(zip(form.before, form.after, strict=True))
        return (*((0, 0),) * first, *sides, *((0, 0),) * (rank - first - len(sides)))

    @property
    def reduced(self) -> tuple[int, ...]:
        """Extents of the sum: taps, then channels, in blocks if they are."""
        form = self.form
        if isinstance(form, Product):
            return (form.depth,)
        if self.outside == 1:
            return (*form.taps, form.channels)
        return form.taps if self.depthwise else (*form.taps, form.channels // self.inside, self.inside)

    def reads(self, out: Sequence[Any], over: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Which elements of the padded image and of the weights a term of an output's sum is the product of.

        Args:
            out: index of the output: numbers, or expressions of TVM.
            over: place in the sum, of `reduced`.
        """
        form = self.form
        if isinstance(form, Product):
            (batch, row, column), (depth,) = out, over
            return (batch, row, depth), (batch, depth, column)
        rank = len(form.taps)
        taps, channel = tuple(over[:rank]), tuple(over[rank:])
        first = 1 if self.outside == 1 else 2
        steps = zip(form.stride, out[first:], form.dilation, taps, strict=False)
        at = tuple(stride * place + distance * tap for stride, place, distance, tap in steps)
        if self.outside == 1:
            group = out[-1] // form.outputs if form.groups > 1 else 0
            return (out[0], *at, group * form.channels + channel[0]), (*taps, *channel, out[-1])
        if self.depthwise:
            return (out[0], out[1], *at, out[-1]), (out[1], *taps, out[-1])
        return (out[0], channel[0], *at, channel[1]), (out[1], channel[0], *taps, channel[1], out[-1])

    def image(self, array: Array) -> Array:
        """The image or left operand, from what its fold made of it: batch, channels, space."""
        return self._laid(array, self.inside).reshape(self.shapes[1])

    def weights(self, array: Array) -> Array:
        """The weights or right operand, from what their fold made of them: groups, outputs, channels, taps."""
        form = self.form
        if isinstance(form, Product):
            return np.ascontiguousarray(array)
        taps = len(form.taps)
        outputs = form.groups * form.outputs
        plain = array.reshape(outputs, form.channels, *form.taps)
        last = (*range(2, 2 + taps), 1, 0)
        if self.outside == 1:
            return np.ascontiguousarray(plain.transpose(last))
        blocks = (outputs // self.outside, self.outside)
        if self.depthwise:
            split = plain.reshape(*blocks, *form.taps)
            return np.ascontiguousarray(split.transpose(0, *range(2, 2 + taps), 1))
        split = plain.reshape(*blocks, form.channels // self.inside, self.inside, *form.taps)
        return np.ascontiguousarray(split.transpose(0, 2, *range(4, 4 + taps), 3, 1))

    def output(self, array: Array) -> Array:
        """The output as its fold has it: batch, channels, space; the way back from `shapes[0]`."""
        form = self.form
        if isinstance(form, Product):
            return array
        rank = len(form.spatial)
        if self.outside == 1:
            return np.ascontiguousarray(np.moveaxis(array, -1, 1))
        split = array.transpose(0, 1, 2 + rank, *range(2, 2 + rank))
        return np.ascontiguousarray(split).reshape(form.batch, form.groups * form.outputs, *form.spatial)

    def _laid(self, array: Array, block: int) -> Array:
        if isinstance(self.form, Product):
            return np.ascontiguousarray(array)
        if self.outside == 1:
            return np.ascontiguousarray(np.moveaxis(array, 1, -1))
        batch, channels, *space = array.shape
        split = array.reshape(batch, channels // block, block, *space)
        return np.ascontiguousarray(split.transpose(0, 1, *range(3, 3 + len(space)), 2))


def questions(form: LibraryConvolution | Product) -> Iterator[TvmForm]:
    """What TVM is asked for: channels last, and in blocks where they can be and are not grouped."""
    yield TvmForm(form=form)
    if isinstance(form, Product) or (form.groups > 1 and (form.channels, form.outputs) != (1, 1)):
        return
    inside, outside = (_block(form.groups * each) for each in (form.channels, form.outputs))
    if outside > 1:
        yield TvmForm(form=form, inside=inside, outside=outside)


def _block(channels: int) -> int:
    """The largest number of channels of a block that divides them."""
    return max(size for size in range(1, LANES + 1) if channels % size == 0)
