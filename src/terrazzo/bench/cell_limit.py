"""The bare pass over the pairs of a world of `terrazzo bench cell`: what a tick cannot cost less than (`limit_ratio`).

The kernel is `benchmarks/cell_limit.c`. It gets the pairs, places and aliases of the world as arrays, and as many bytes
for each client and tick as the CellApp used for places. Its stamps and ticks are its own: all entities move in each
pass, and in the passes before those that count it comes to the same steady state as the CellApp.
"""

from __future__ import annotations

import ctypes
import time
from array import array
from statistics import median

from terrazzo.bench.limits import build_limit
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.client.clients import witness_of

WARM_UP = 20
PASSES = 20


def limit_s(cell: CellApp, bytes_per_client: float, radius: float) -> float | str:
    """Processor seconds of a bare pass over all pairs of a CellApp's one space; or why there is none."""
    library = build_limit("cell_limit")
    if isinstance(library, str):
        return library
    (space,) = cell.spaces.values()
    high = 1 + max(space.by_slot)
    area = space.area
    xs, ys, zs, yaws = (array("f", bytes(4 * high)) for _ in range(4))
    numbers, news = array("q", bytes(8 * high)), array("q", bytes(8 * high))
    for slot in space.by_slot:
        xs[slot], ys[slot], zs[slot] = area.position(slot)
        yaws[slot] = area.direction(slot)[0]
        numbers[slot], news[slot] = area.number(slot), area.news(slot)
    own, starts, slots, aliases = array("i"), array("i", [0]), array("i"), array("H")
    flags, sent = array("i"), array("q")
    for real in cell.reals.values():
        witness = witness_of(real)
        if witness is not None:
            sight = witness.sent.sight
            entries = [entry for entry in map(sight.get, sight.entities()) if entry is not None and entry[0] >= 0]
            own.append(real.body.slot)
            for which, values in enumerate((slots, aliases, sent, flags)):
                values.extend(entry[which] for entry in entries)
            starts.append(len(slots))
    stamp, told, stamps = (
        array("I", bytes(4 * len(slots))),
        array("i", bytes(4 * len(slots))),
        array("I", bytes(4 * high)),
    )
    out = array("B", bytes(1 << 16))
    function = library.cell_limit
    function.restype = ctypes.c_longlong
    arrays = (
        own, starts, slots, aliases, flags, sent, stamp, told, xs, ys, zs, yaws, stamps, numbers, news,
    )  # fmt: skip
    pointers = [ctypes.c_void_p(each.buffer_info()[0]) for each in arrays]
    budget, end = round(bytes_per_client), ctypes.c_void_p(out.buffer_info()[0])
    spent = []
    for tick in range(1, WARM_UP + PASSES + 1):
        for slot in range(high):
            stamps[slot] = tick
        started = time.process_time()
        packed = function(len(own), *pointers, tick, budget, ctypes.c_double(radius), end)
        spent.append(time.process_time() - started)
        assert packed > 0
    return median(spent[WARM_UP:])
