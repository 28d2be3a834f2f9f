"""The skeleton scenario: a whole cluster, real clients, and a world whose borders are crossed all the time.

Four CellApps share one or two small spaces, so small that everybody is near a border. Players log in over the simulated
network, walk, change their properties through exposed calls, speak, log out and come again; creatures wander by timers.
Some ways between apps are much longer than others, so that what goes two ways overtakes.

    skeleton_game.py      the entities          skeleton_players.py   what players do, and what must be saved (P5)
    skeleton_truth.py     P1, P2, P3            skeleton_view.py      P4

It knows no faults yet: apps that die or lose links are for the scenarios of recovery.
"""

from __future__ import annotations

from typing import Any

from terrazzo.errors import UsageError
from terrazzo.game import Space
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.skeleton_game import game_of
from terrazzo.sim.scenarios.skeleton_players import Player
from terrazzo.sim.scenarios.skeleton_truth import Truth
from terrazzo.sim.world import FaultLevel, World

CELLS = 4
REST_S = 3.0
"""Of peace before the views are compared: what is on its way arrives, and places are told again."""


@scenario("skeleton")
class Skeleton:
    """One cluster and those who live in it."""

    def __init__(self, world: World, mutation: str | None) -> None:
        if world.level is not FaultLevel.NONE:
            raise UsageError("the skeleton scenario knows no faults yet: run it with --faults none")
        if mutation is not None:
            raise UsageError("the skeleton scenario has no mutations")
        rng = self._rng = world.rng("skeleton")
        self.duration_s = rng.uniform(15.0, 30.0)
        self.truth = Truth(world)
        self._world = world
        self._margin_m = rng.choice([0.5, 1.0, 3.0])
        self._creatures = rng.randrange(2, 6)
        reach = [rng.uniform(20.0, 80.0) for _ in range(rng.randrange(1, 3))]
        spaces = [Space(f"space-{n}", (-each, -each, each, each)) for n, each in enumerate(reach, 1)]
        self.truth.enter_within([(space.name, each * 0.5) for space, each in zip(spaces, reach, strict=True)])
        radius = rng.uniform(8.0, 40.0)
        game = game_of(
            self.truth, spaces, on_ready=self._populate, area_radius_m=radius, ghost_m=radius + rng.uniform(0.0, 20.0)
        )
        self.cluster = Cluster(
            world,
            game,
            cells=CELLS,
            bases=rng.randrange(1, 3),
            offload_margin_m=self._margin_m,
            on_start=self.truth.watch,
        )
        self._stretch_paths()
        ids = dict(enumerate(reach, 1))
        self.players = [Player(self.cluster, self.truth, f"player-{n}", ids) for n in range(1, rng.randrange(3, 8))]
        self._quiet_at = 0.0

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        return FaultPlan([])

    def quiesce(self) -> None:
        """See Scenario."""
        self.truth.is_working = False
        self._quiet_at = self._world.clock.now

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        if self._world.clock.now < self._quiet_at + REST_S:
            return Unrest("peace has just begun")
        for player in self.players:
            what = player.unrest()
            if what is not None:
                return Unrest(what, (player.name, player.entity))
        problem = self.truth.unrest(self._margin_m)
        if problem is not None:
            return Unrest(problem[0], (problem[1],))
        return None

    def _populate(self, server: Any) -> None:
        for number in range(self._creatures):
            space, position = self.truth.entry(0)
            server.create("Creature", space=space, position=position, speed=2 + number)

    def _stretch_paths(self) -> None:
        names = list(self._world.processes)
        for number, a in enumerate(names):
            for b in names[:number]:
                path = self._world.network.path(a, b)
                path.latency_s *= self._rng.choice([1.0, 1.0, 5.0, 50.0, 200.0])
                path.jitter_s = path.latency_s * self._rng.choice([0.0, 1.0])
