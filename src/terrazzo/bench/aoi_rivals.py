"""What `terrazzo bench aoi` measures ours beside: the C kernel in `benchmarks/`, and SciPy's cKDTree.

A rival is made from the walk (see `bench/aoi.py`) and then plays a tick of it at a time: the number of events, all of
which it has put into arrays. Instead of one that cannot be made here there is a sentence with the reason.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from terrazzo.bench.limits import build_limit

Rival = Callable[[int], int]
"""Plays the tick with this number in the walk."""
Places = list[tuple["array[float]", "array[float]"]]

EVENTS_EACH = 64
"""Room for events, for each entity and tick; a walk of 1.0 makes about one."""


def limit(places: Places, radius: float, plane: float, step_max: float) -> Rival | str:
    """The kernel in C."""
    library = build()
    if isinstance(library, str):
        return library
    count = len(places[0][0])
    pairs = [xs + zs for xs, zs in places]
    who, whom = array("i", bytes(4 * EVENTS_EACH * count)), array("i", bytes(4 * EVENTS_EACH * count))
    kinds = array("b", bytes(EVENTS_EACH * count))
    out = [_pointer(who), _pointer(whom), _pointer(kinds)]
    state = library.limit_new(count, plane, radius, step_max, _pointer(pairs[0]))

    def play(tick: int, keep: object = (who, whom, kinds)) -> int:
        found: int = library.limit_step(state, _pointer(pairs[tick]), *out)
        return found

    return play


def build() -> ctypes.CDLL | str:
    """The C kernel."""
    library = build_limit("aoi_limit")
    if not isinstance(library, str):
        library.limit_new.restype = ctypes.c_void_p
        library.limit_new.argtypes = [ctypes.c_int, *[ctypes.c_float] * 3, ctypes.c_void_p]
        library.limit_step.argtypes = [ctypes.c_void_p] * 5
    return library


def _pointer(values: array[Any]) -> int:
    return values.buffer_info()[0]


def ckdtree(places: Places, radius: float) -> Rival | str:
    """SciPy: a tree built anew, its pairs, and the difference from the pairs before."""
    if find_spec("scipy") is None:
        return "SciPy is not installed (pip install terrazzo[bench])"
    numpy, spatial = import_module("numpy"), import_module("scipy.spatial")
    count = len(places[0][0])
    points = [numpy.column_stack([numpy.array(each, dtype=numpy.float64) for each in place]) for place in places]

    def pairs(tick: int) -> Any:
        found = spatial.cKDTree(points[tick]).query_pairs(radius, output_type="ndarray")
        return numpy.sort(found[:, 0] * count + found[:, 1])

    before = pairs(0)

    def play(tick: int) -> int:
        nonlocal before
        now = pairs(tick)
        # Of the ways to compare them (setdiff1d, isin, searchsorted) this is the fastest: a merge of what is sorted.
        both = numpy.concatenate([before, now])
        both.sort(kind="stable")
        is_single = numpy.ones(len(both) + 1, dtype=bool)
        is_single[1:-1] = both[1:] != both[:-1]
        changed = both[is_single[1:] & is_single[:-1]]
        is_in = now[numpy.searchsorted(now, changed).clip(max=len(now) - 1)] == changed
        before = now
        one, two = changed // count, changed % count
        who, whom = numpy.concatenate([one, two]), numpy.concatenate([two, one])
        kinds = numpy.concatenate([is_in, is_in])
        assert len(who) == len(whom) == len(kinds)
        return len(kinds)

    return play
