"""Small layers of every kind that libraries know, and what they must give."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.native import tensor_shape
from optmap.workloads.builders import conv1d, conv2d, matmul
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

Array = NDArray[Any]
CONVOLUTIONS = {
    "dense": conv2d(c=3, h=5, w=4, r=3, s=3, k=17, n=2),
    "stride": conv2d(c=5, h=9, w=8, r=3, s=3, k=16, stride=2),
    "uneven stride": conv2d(c=3, h=8, w=11, r=3, s=1, k=5, stride=(1, 3)),
    "dilation": conv2d(c=4, h=9, w=9, r=3, s=2, k=6, dilation=2),
    "valid": conv2d(c=4, h=9, w=10, r=2, s=3, k=6, padding="valid", stride=2),
    "groups": conv2d(c=6, h=5, w=5, r=3, s=3, k=8, groups=2),
    "depthwise": conv2d(c=19, h=6, w=6, r=3, s=3, depthwise=True, stride=2),
    "pointwise": conv2d(c=17, h=4, w=5, r=1, s=1, k=18),
    "pointwise batch": conv2d(c=17, h=4, w=5, r=1, s=1, k=18, n=2),
    "pointwise stride": conv2d(c=8, h=7, w=7, r=1, s=1, k=9, stride=2),
    "one dimension": conv1d(f=8, x=9, c=5, w=3),
    "an image larger than the taps reach": parse_workload(
        "Out[k,h] = In[c,2*h+r in 1..12] * Ker[k,c,r]", {"k": 3, "c": 4, "h": 4, "r": 3}
    ),
    "channels last": parse_workload(
        "Out[n,h,w,k] = In[n,h+r in 1..6,w+s,c] * Ker[r,s,c,k]",
        {"n": 2, "h": 6, "w": 4, "k": 5, "c": 3, "r": 3, "s": 2},
    ),
    "taps along one axis": parse_workload(
        "Out[n,k,h,w] = Ker[k,c,r] * In[n,c,h+r in 1..6,w]", {"n": 2, "h": 6, "w": 4, "k": 5, "c": 3, "r": 3}
    ),
}
PRODUCTS = {
    "matmul": matmul(i=9, j=20, k=7),
    "turned": parse_workload("C[i,j] = A[k,i] * B[j,k]", {"i": 5, "j": 6, "k": 7}),
    "batch": parse_workload("C[b,i,j] = A[b,i,k] * B[b,k,j]", {"b": 3, "i": 5, "j": 6, "k": 7}),
    "contraction": parse_workload("C[a,b,c] = A[b,d,a] * B[d,c]", {"a": 3, "b": 4, "c": 5, "d": 6}),
    "vector": parse_workload("y[i] = A[i,k] * x[k]", {"i": 5, "k": 9}),
}
ALL = {**CONVOLUTIONS, **PRODUCTS}


def literal(workload: Workload, inputs: tuple[Array, ...]) -> Array:
    """One point after the other, in double precision."""
    out = np.zeros(tensor_shape(workload, workload.output))
    for point in product(*(range(n) for n in workload.extents.values())):
        at = dict(zip(workload.dims, point, strict=True))
        value, places = 1.0, []
        for tensor in workload.tensors:
            index = []
            for axis in tensor.axes:
                place = axis.offset + sum(c * at[d] for d, c in axis.terms)
                first, last = axis.real or (axis.offset, place)
                index.append(place - first if first <= place <= last else -1)
            places.append(tuple(index))
        if all(min(place, default=0) >= 0 for place in places):
            for array, place in zip(inputs, places[1:], strict=True):
                value *= float(array[place])
            out[places[0]] += value
    return out


def filled(workload: Workload, dtype: type = np.float32) -> tuple[Array, ...]:
    rng = np.random.default_rng(5)
    return tuple(rng.uniform(-1, 1, tensor_shape(workload, tensor)).astype(dtype) for tensor in workload.inputs)
