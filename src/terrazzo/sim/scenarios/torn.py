"""The common part of the scenarios of whole clusters: paths of very different length, and the faults on them.

    between CellApps, and between them and BaseApps     links lag, clog, narrow and break; processes stop for a while
    the same                                            some apps do not reach the others for a while, on all paths
    between managers and the apps that they manage      links lag, clog, narrow and break
    between DBApp and the apps that use it              links lag, clog, narrow and break
    all of them                                         ambushes (`sim/ambush.py`)

Each of the five is drawn from a stream of its own, and all but the first are left out of some worlds. In most worlds
all paths are short until the first players are in the world, since otherwise few would ever get in. `Torn` is a cluster
with such faults and a judge; a scenario adds the entities, and the checks at rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from terrazzo.cluster.app import App
from terrazzo.game import LoadedGame
from terrazzo.sim.ambush import ambushes
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultKind, FaultPlan
from terrazzo.sim.liveness import Liveness, Problem
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.scenario import Unrest
from terrazzo.sim.scenarios.seamless.ground import SeamlessGround
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.liveness_bounds import BOUNDS
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import Truth
from terrazzo.sim.scenarios.seamless.saves import Saves
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.sim.world import Process, World

CALM_S = 3.0
BUSY_S = (0.1, 0.2)
"""`busy_s` of a cluster, in the worlds where CellApps have less time than they need."""
OF_LINKS = (FaultKind.BREAK, FaultKind.LAG, FaultKind.CLOG, FaultKind.NARROW)


def plan_of(cluster: Cluster, shape: Shape, begin_s: float) -> FaultPlan:
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
        begin_s=begin_s,
        name="partitions",
    )
    managed = FaultPlan(
        [cluster.cell_mgr.name, cluster.base_mgr.name],
        pairs=_managed(cluster, cells, bases),
        kinds=OF_LINKS,
        rate=rate * taste.choice([0.0, 0.1, 0.4]),
        stretch=stretch,
        begin_s=begin_s,
        name="faults of managers",
    )
    db = cluster.db.name
    stored = FaultPlan(
        [db, *bases],
        pairs=[(db, each) for each in (*bases, cluster.base_mgr.name, cluster.login.name)],
        kinds=OF_LINKS,
        rate=rate * cluster.world.rng("torn database").choice([0.0, 0.0, 0.1, 0.4]),
        stretch=stretch,
        begin_s=begin_s,
        name="faults of the database",
    )
    struck = ambushes(cluster.world.rng("torn by ambushes"), begin_s, cells=cells, bases=bases, db=db)
    kinds = (*OF_LINKS, FaultKind.PAUSE)
    return FaultPlan(
        [*cells, *bases],
        pairs=pairs,
        kinds=kinds,
        rate=rate,
        stretch=stretch,
        begin_s=begin_s,
        beside=[parted, managed, stored, struck],
    )


def _managed(cluster: Cluster, cells: list[str], bases: list[str]) -> list[tuple[str, str]]:
    """The pairs of processes with a link to a manager."""
    cell_mgr, base_mgr = cluster.cell_mgr.name, cluster.base_mgr.name
    return [(cell_mgr, base_mgr), *((manager, each) for manager in (cell_mgr, base_mgr) for each in (*cells, *bases))]


def stretch_paths(world: World, rng: Random) -> None:
    """Makes some paths much longer than others, so that messages on two paths overtake each other."""
    names = list(world.processes)
    for number, a in enumerate(names):
        for b in names[:number]:
            path = world.network.path(a, b)
            path.latency_s *= rng.choice([1.0, 1.0, 5.0, 50.0, 200.0, 500.0])
            path.jitter_s = path.latency_s * rng.choice([0.0, 1.0])


class Torn:
    """A cluster on a ground that moves, and its judge."""

    name = "torn"
    paths = "torn paths"
    """The stream from which the lengths of the paths are drawn."""
    rest_s = 3.0
    """The time of peace before the checks at rest begin."""
    truth_type: type[Truth] = Truth
    growing: tuple[str, ...] = ()
    """Saved properties that only grow."""

    def __init__(self, world: World, shape: Shape, mutation: str | None) -> None:
        self.duration_s = shape.duration_s
        self.shape = shape
        self.ground = SeamlessGround(world, shape)
        self.judge = self._judge(world)
        self.rest = Liveness(BOUNDS)
        self.truth = self.truth_type(world, self.judge)
        self._world = world
        self._mutation = mutation_of(mutation, self.name)
        game = self._game()
        self.saves = self.judge.saves = Saves(world, game.schema, self.growing)
        self.busy_s: float = world.rng("busy").choice([0.0, 0.0, *BUSY_S])
        """Above 0: CellApps have less time than they need."""
        self.cluster = Cluster(
            world,
            game,
            cells=shape.cells,
            spares=shape.spares,
            bases=shape.bases,
            offload_margin_m=shape.margin_m,
            client_bits_s=shape.client_bits_s,
            busy_s=self.busy_s,
            silence_s=self.judge.clients.silence_s,
            on_start=self._on_start,
        )
        self.saves.database = self.cluster.database
        self._calm_s = world.rng("calm").choice([0.0, CALM_S, CALM_S, CALM_S])
        if not shape.is_swift:
            world.clock.at(self._calm_s, stretch_paths, world, world.rng(self.paths))
        self.ground.begin(self.cluster)
        self._quiet_at = 0.0

    def _judge(self, world: World) -> Judge:
        return Judge(world, self.ground, self.shape)

    def _game(self) -> LoadedGame:
        raise NotImplementedError

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        return plan_of(self.cluster, self.shape, self._calm_s)

    def quiesce(self) -> None:
        """See Scenario."""
        self.judge.is_working = self.ground.is_working = False
        self._quiet_at = self._world.clock.now
        self.cluster.calm()

    @property
    def is_settling(self) -> bool:
        """Whether peace has just begun: it is too early for the checks at rest."""
        return self._world.clock.now < self._quiet_at + self.rest_s

    def problems(self) -> Iterator[Problem]:
        """What is still under way, the first of each kind."""
        raise NotImplementedError

    def unrest(self) -> Unrest | None:
        """See Scenario: each kind of problem is judged by its own bound
        (`sim/scenarios/seamless/liveness_bounds.py`)."""
        if self.is_settling:
            return Unrest("peace has just begun")
        begun_at = max(self._quiet_at, self._world.peace_at, self.judge.stirred_at)
        return self.rest.judge(self._world.clock.now, begun_at, self.problems())

    def _on_start(self, process: Process, app: App) -> None:
        self._mutation.app(app)
        self.truth.watch(process, app)
        self.saves.watch(app)
        self.judge.watch(app)
