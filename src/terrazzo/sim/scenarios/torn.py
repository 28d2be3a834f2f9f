"""What the scenarios of whole clusters have in common: ways of very different length, and what may go wrong on them.

    between CellApps, and between them and BaseApps     links lag, clog, narrow and break; processes stand still
    the same                                            some do not reach the others for a while, on all ways at once
    between managers and whom they manage               links lag, clog, narrow and break

Each of the three is drawn from a stream of its own, and the latter two are left out of some worlds.
"""

from __future__ import annotations

from random import Random

from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultKind, FaultPlan
from terrazzo.sim.scenarios.seamless_shape import Shape
from terrazzo.sim.world import World

OF_LINKS = (FaultKind.BREAK, FaultKind.LAG, FaultKind.CLOG, FaultKind.NARROW)


def plan_of(cluster: Cluster, shape: Shape) -> FaultPlan:
    """See the module."""
    cells, bases = [each.name for each in cluster.cells], [each.name for each in cluster.bases]
    pairs = [(a, b) for n, a in enumerate(cells) for b in cells[:n]] + [(a, b) for a in bases for b in cells]
    rate, stretch = shape.fault_rate, shape.fault_stretch
    taste = cluster.world.rng("torn")
    parted = FaultPlan(
        [*cells, *bases],
        pairs=pairs,
        kinds=(FaultKind.PARTITION,),
        rate=rate * taste.choice([0.0, 0.1, 0.4]),
        stretch=stretch,
        name="partitions",
    )
    managed = FaultPlan(
        [cluster.cell_mgr.name, cluster.base_mgr.name],
        pairs=_managed(cluster, cells, bases),
        kinds=OF_LINKS,
        rate=rate * taste.choice([0.0, 0.1, 0.4]),
        stretch=stretch,
        name="faults of managers",
    )
    kinds = (*OF_LINKS, FaultKind.PAUSE)
    return FaultPlan([*cells, *bases], pairs=pairs, kinds=kinds, rate=rate, stretch=stretch, beside=[parted, managed])


def _managed(cluster: Cluster, cells: list[str], bases: list[str]) -> list[tuple[str, str]]:
    """Who talks to a manager."""
    cell_mgr, base_mgr = cluster.cell_mgr.name, cluster.base_mgr.name
    return [(cell_mgr, base_mgr), *((manager, each) for manager in (cell_mgr, base_mgr) for each in (*cells, *bases))]


def stretch_paths(world: World, rng: Random) -> None:
    """Some ways are much longer than others, so that what goes two ways overtakes."""
    names = list(world.processes)
    for number, a in enumerate(names):
        for b in names[:number]:
            path = world.network.path(a, b)
            path.latency_s *= rng.choice([1.0, 1.0, 5.0, 50.0, 200.0, 500.0])
            path.jitter_s = path.latency_s * rng.choice([0.0, 1.0])
