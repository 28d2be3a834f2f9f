"""What the scenarios of whole clusters have in common: ways of very different length, and what may go wrong on them."""

from __future__ import annotations

from random import Random

from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultKind, FaultPlan
from terrazzo.sim.scenarios.seamless_shape import Shape
from terrazzo.sim.world import World

FAULTS = (FaultKind.BREAK, FaultKind.LAG, FaultKind.CLOG, FaultKind.NARROW, FaultKind.PAUSE)


def plan_of(cluster: Cluster, shape: Shape) -> FaultPlan:
    """Links between CellApps and between BaseApps and CellApps suffer; managers are slow, but not cut off."""
    cells, bases = [each.name for each in cluster.cells], [each.name for each in cluster.bases]
    pairs = [(a, b) for n, a in enumerate(cells) for b in cells[:n]] + [(a, b) for a in bases for b in cells]
    return FaultPlan([*cells, *bases], pairs=pairs, kinds=FAULTS, rate=shape.fault_rate, stretch=shape.fault_stretch)


def stretch_paths(world: World, rng: Random) -> None:
    """Some ways are much longer than others, so that what goes two ways overtakes."""
    names = list(world.processes)
    for number, a in enumerate(names):
        for b in names[:number]:
            path = world.network.path(a, b)
            path.latency_s *= rng.choice([1.0, 1.0, 5.0, 50.0, 200.0, 500.0])
            path.jitter_s = path.latency_s * rng.choice([0.0, 1.0])
