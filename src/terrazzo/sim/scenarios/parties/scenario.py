"""The parties scenario: instances are made, entered, left and ended while players play and links fail.

    CellAppMgr ↔ BaseApps, CellApps      links lag, clog, break and are shut, some for longer than a creation may take
    CellApps ↔ CellApps, BaseApps        links lag, clog, narrow, break and are shut; CellApps stop for a while
    paths                                some are much longer than others
    trees                                cells of the plaza and of instances are added and retired, borders move

Hosts (bases) and guests (cell parts) make instances and end them; guests, players and entities without a base part go
from space to space, also into spaces that are being made, are ending, or have ended. `judge.py` has the promises.
"""

from __future__ import annotations

from random import Random

from terrazzo.cluster.app import App
from terrazzo.errors import UsageError
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.faults import Fault, FaultKind, FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.logins import LongFaults
from terrazzo.sim.scenarios.parties.game import game_of
from terrazzo.sim.scenarios.parties.judge import REACH_M, Judge
from terrazzo.sim.scenarios.parties.notes import plain
from terrazzo.sim.scenarios.torn import stretch_paths
from terrazzo.sim.world import FaultLevel, Process, World
from terrazzo.sync.view_events import CellPlayer, SpaceChanged, SpaceDataChanged, ViewEvent
from terrazzo.world.rect import Axis

CALM_S = 3.0
"""No fault and no change of the ground before that."""
OF_LINKS = (FaultKind.BREAK, FaultKind.LAG, FaultKind.CLOG, FaultKind.NARROW, FaultKind.PARTITION)


class Guestbook:
    """One player: logs in, stays, and logs in again if its session ends."""

    def __init__(self, scenario: Parties, name: str) -> None:
        self.name = name
        self._scenario = scenario
        self._seat: Seat | None = None
        self._visits = 0
        """How often its client has come into a space."""
        self._space = ""
        """The name of the space in which its client is."""
        scenario.world.clock.after(scenario.world.rng(f"player {name}").uniform(0.0, 1.0), self._come)

    def _come(self) -> None:
        seat = self._scenario.cluster.client(self.name, "secret", listener=self._on_event)
        seat.on_step = lambda now: self._on_step(seat)
        self._seat = seat

    def _on_step(self, seat: Seat) -> None:
        if seat is self._seat and seat.app.is_over:
            self._seat = None
            self._scenario.world.clock.after(1.0, self._come)

    def _on_event(self, event: ViewEvent) -> None:
        if isinstance(event, CellPlayer | SpaceChanged):
            self._visits += 1
            self._space = self._scenario.judge.name_of(event.space)
        elif isinstance(event, SpaceDataChanged):
            for key, value in event.changed.items():
                self._scenario.judge.notes.read(("client", self.name, self._visits), self._space, key, value)

    def unrest(self) -> str | None:
        """What is not at rest: its client is in the space where its body is."""
        view = None if self._seat is None else self._seat.app.view
        if view is None or view.player is None or view.space is None:
            return f"{self.name} has no body"
        reals = (app.reals.get(view.player.id) for app in self._scenario.cluster.cell_apps)
        spaces = [real.body.space.id for real in reals if real is not None]
        if spaces != [view.space]:
            return f"{self.name} is in {spaces}, and its client in {view.space}"
        data = plain(self._scenario.cluster.manager._by_id[view.space].data)
        return None if view.space_data == data else f"the client of {self.name} has {view.space_data}, not {data}"


class Parties:
    """One cluster and its instances."""

    def __init__(self, world: World, mutation: str | None) -> None:
        rng = world.rng("parties")
        self.world = world
        self.duration_s = rng.uniform(15.0, 40.0)
        self.judge = Judge(world)
        self._mutation = mutation_of(mutation, "parties")
        self._ground = world.rng("ground of parties")
        self._ground_s = rng.choice([0.0, 0.3, 1.0])
        world.on_log = self._on_log
        game = game_of(self.judge, rng.randrange(1, 4), rng.randrange(2, 6))
        self.cluster = Cluster(
            world,
            game,
            cells=rng.choice([1, 2, 3]),
            spares=rng.choice([0, 1, 2]),
            bases=rng.choice([1, 2]),
            on_start=self._on_start,
        )
        self.judge.cluster = self.cluster
        self.players = [Guestbook(self, f"player-{number}") for number in range(rng.randrange(1, 4))]
        if not self.judge.is_peaceful and rng.random() < 0.6:
            world.clock.at(CALM_S, stretch_paths, world, world.rng("paths of parties"))
        if self._ground_s:
            world.clock.after(CALM_S, self._stir)

    def _on_start(self, _: Process, app: App) -> None:
        self._mutation.app(app)
        self.judge.watch(app)

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        cluster = self.cluster
        cells, bases = [each.name for each in cluster.cells], [each.name for each in cluster.bases]
        apps, manager = [*cells, *bases], cluster.cell_mgr.name
        managed = [(manager, each) for each in apps]
        taste = self.world.rng("faults of parties")
        return FaultPlan(
            apps,
            pairs=[(a, b) for number, a in enumerate(apps) for b in apps[:number]],
            kinds=(*OF_LINKS, FaultKind.PAUSE),
            rate=taste.choice([0.3, 1.0]),
            begin_s=CALM_S,
            beside=[
                FaultPlan(
                    [manager, *apps], pairs=managed, kinds=OF_LINKS, rate=taste.choice([0.3, 1.0]), begin_s=CALM_S,
                    name="managed parties",
                ),
                _Long([manager, *apps], pairs=managed, name="long faults of parties"),
            ],
        )  # fmt: skip

    def _stir(self) -> None:
        """Changes the tree of one space."""
        if not self.judge.is_working:
            return
        self.world.clock.after(self._ground_s * self._ground.uniform(0.2, 1.8), self._stir)
        manager, rng = self.cluster.manager, self._ground
        name = rng.choice([space.policy.name for space in manager.spaces][-4:])
        what = rng.choice(["add", "add", "retire", "move"])
        try:
            tree = manager.tree_of(name)
            if what == "add":
                manager.add_cell(name, axis=rng.choice(list(Axis)), position=rng.uniform(-REACH_M, REACH_M))
            elif what == "retire":
                manager.retire_cell(name, rng.choice(tree.leaves()).app)
            elif len(tree.leaves()) > 1:
                manager.move_border(name, rng.choice(list(tree.nodes()))[0], rng.uniform(-REACH_M, REACH_M))
        except UsageError as problem:
            self.world.trace.add("ground", "refused", what=what, problem=str(problem))
        else:
            self.judge.count(f"ground: {what}")

    def quiesce(self) -> None:
        """See Scenario."""
        self.judge.is_working = False
        self.cluster.calm()

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        if self.judge.broken is not None:
            raise self.judge.broken
        for what, about in self.judge.unrest():
            return Unrest(what, about)
        waiting = [each for each in (player.unrest() for player in self.players) if each is not None]
        return Unrest(waiting[0]) if waiting else None

    def _on_log(self, where: str, event: str, facts: dict[str, object]) -> None:
        if self.judge.broken is not None:
            raise self.judge.broken
        if str(event) == "game error":
            raise Broken("invariant", f"game code failed: {facts}", where)
        if str(event) == "space ended":
            self.judge.on_space_ended(str(facts["space"]))


class _Long(LongFaults):
    """Drawn beside the others."""

    def _draw(self, rng: Random, level: FaultLevel, duration_s: float) -> list[Fault]:
        return self.draw(lambda name: rng, level, duration_s)


@scenario("parties")
def parties(world: World, mutation: str | None) -> Parties:
    """See the module."""
    return Parties(world, mutation)
