"""The logins scenario: players log in, leave, vanish and log in again while DBApp is out of reach for minutes.

    DBApp ↔ BaseApps, BaseAppMgr, LoginApp      links break, lag, clog and are shut, for longer than every time limit
    BaseAppMgr ↔ BaseApps                       of a log-on
    the database                                fails for a while

A client may vanish at any moment without sending anything: before it shows its key, while it plays, while it leaves.
What is judged: there are never two proxies of one player, at any step; what was confirmed to a player as saved is there
at the next login (P5); and at rest every player gets in, every log-on record names a proxy that exists, and no BaseApp
has a save or a log-off to send.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from terrazzo import ALL_CLIENTS, BASE_AND_CLIENT, EntityType, Int32, Text, build, exposed, prop
from terrazzo.base import Proxy
from terrazzo.base.farewells import Farewell
from terrazzo.base.proxy import ProxyEntity
from terrazzo.db.dbapp import DBApp
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.faults import Fault, FaultKind, FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.world import FaultLevel, World
from terrazzo.sync.view_events import BasePlayer, ViewEnded, ViewEvent

CALM_S = 3.0
LASTS_S = (0.0, 1.0, 5.0, 20.0, 45.0, 90.0)
"""The approximate length of a fault: a key is valid for 15 s, a silent session ends after 33 s."""
SHORT_S = (0.0, 1.0, 5.0, 12.0)
FAULTS = {FaultLevel.NONE: 0, FaultLevel.MILD: 3, FaultLevel.HARSH: 8}
"""The greatest number of long faults; short ones are up to ten times as many, in half of the worlds."""
LOOK_S = 0.05


class Traveller(EntityType):
    """A player of this scenario."""

    name: Text = prop(ALL_CLIENTS, saved=True)
    steps: Int32 = prop(BASE_AND_CLIENT, saved=True)


class TravellerBase(Proxy, of=Traveller):
    """Counts."""

    def on_client_ready(self) -> None:
        """Half of the players have a body, which must end before they are saved."""
        if self.id % 2:
            self.create_cell("plaza", (0.0, 0.0, 0.0))

    @exposed(rate=400)
    def step(self) -> None:
        """Counts one step."""
        self.steps += 1


class LongFaults(FaultPlan):
    """Faults of the links with DBApp and BaseAppMgr that end before the workload does."""

    def draw(self, stream: Callable[[str], Random], level: FaultLevel, duration_s: float) -> list[Fault]:
        """See FaultPlan."""
        rng = stream("login faults")
        drawn = [self._one(rng, duration_s, LASTS_S) for _ in range(rng.randrange(FAULTS[level] + 1))]
        short = rng.randrange(10 * FAULTS[level] + 1) if rng.random() < 0.5 else 0
        drawn += [self._one(rng, duration_s, SHORT_S) for _ in range(short)]
        return sorted(drawn, key=lambda fault: fault.at)

    def _one(self, rng: Random, duration_s: float, lasts_s: tuple[float, ...]) -> Fault:
        kind = rng.choice([FaultKind.BREAK, FaultKind.CLOG, FaultKind.PARTITION, FaultKind.PARTITION, FaultKind.LAG])
        a, b = rng.choice(self.pairs)
        at = rng.uniform(CALM_S, duration_s * 0.9)
        lasts = min(rng.choice(lasts_s) * rng.uniform(0.5, 1.5), duration_s - at)
        is_one_way = kind is FaultKind.CLOG and rng.random() < 0.5
        if is_one_way and rng.random() < 0.5:
            a, b = b, a
        group, others = ((a,), (b,)) if kind is FaultKind.PARTITION else ((), ())
        amount = rng.uniform(0.1, 3.0) if kind is FaultKind.LAG else 0.0
        return Fault(at, kind, a, b, lasts, amount, group, others, is_one_way)


class Player:
    """A player with an account, which logs in again and again."""

    def __init__(self, scenario: Logins, name: str) -> None:
        self.name = name
        self.is_in = False
        self.visits = 0
        self.confirmed = 0
        """The number of steps that the server has confirmed as saved."""
        self._made = 0
        """The number of steps that were requested."""
        self._scenario = scenario
        self._clock = scenario.world.clock
        self._rng = scenario.world.rng(f"player {name}")
        self._haste = self._rng.choice([0.2, 0.2, 2.0, 8.0])
        self._loss = self._rng.choice([0.0, 0.2, 0.6])
        self._seat: Seat | None = None
        self._until = 0.0
        self._vanish_at = float("inf")
        self._clock.after(self._rng.uniform(0.0, CALM_S), self._come)

    def _come(self) -> None:
        now = self._clock.now
        vanishes = self._rng.random() < self._loss and self._scenario.is_working
        self._vanish_at = now + self._rng.uniform(0.0, 3.0 * self._haste) if vanishes else float("inf")
        self._until = now + self._rng.uniform(0.0, 4.0) * self._haste
        self.is_in = False
        seat = self._scenario.cluster.client(self.name, "secret", listener=self._on_event)
        seat.on_step = lambda now: self._on_step(now) if seat is self._seat else None
        self._seat = seat

    def _on_event(self, event: ViewEvent) -> None:
        if isinstance(event, BasePlayer):
            steps = event.entity.state["steps"]
            what = f"{self.name} has {steps} steps, {self.confirmed} were confirmed and {self._made} made"
            check(self.confirmed <= steps <= self._made, "P5", what, self.name, event.entity.id)
            self.is_in = True
            self.visits += 1
        elif isinstance(event, ViewEnded) and event.reason == Farewell.BYE and self._seat is not None:
            player = self._seat.app.view.player
            assert player is not None
            self.confirmed = player.state["steps"]

    def _on_step(self, now: float) -> None:
        assert self._seat is not None
        app = self._seat.app
        if now >= self._vanish_at and self._scenario.is_working:
            self._seat.unplug()
            self._come_later()
        elif app.is_over:
            self._come_later()
        elif self.is_in and self._scenario.is_working:
            if self._rng.random() < 0.2 and app.player is not None and app.player.base.step():
                self._made += 1
            if now >= self._until:
                app.leave(now)

    def _come_later(self) -> None:
        self.is_in = False
        self._seat = None
        wait_s = self._rng.choice([0.1, 1.0, 5.0]) * self._haste if self._scenario.is_working else 1.0
        self._clock.after(wait_s, self._come)


class Logins:
    """One cluster and its players."""

    def __init__(self, world: World, mutation: str | None) -> None:
        rng = world.rng("logins")
        self.world = world
        self.duration_s = rng.uniform(60.0, 200.0)
        self.is_working = True
        self._mutation = mutation_of(mutation, "logins")
        game = Game(player=Traveller, spaces=[Space("plaza", bounds=(-20.0, -20.0, 20.0, 20.0))])
        loaded = LoadedGame(build([Traveller]).checked(), game, parts_of([Traveller]))
        self.cluster = Cluster(
            world, loaded, cells=1, bases=rng.choice([1, 2, 2, 3]), on_start=lambda _, app: self._mutation.app(app)
        )
        self.players = [Player(self, f"player-{number}") for number in range(1, rng.randrange(2, 5))]
        if world.level is not FaultLevel.NONE:
            for _ in range(rng.choice([0, 0, 1, 3])):
                at = rng.uniform(CALM_S, self.duration_s * 0.8)
                lasts = min(rng.choice([1.0, 15.0, 40.0]), self.duration_s - at)
                world.clock.at(at, self._set_failing, "the disk is full")
                world.clock.at(at + lasts, self._set_failing, "")
        world.clock.after(LOOK_S, self._look)

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        cluster = self.cluster
        bases = [each.name for each in cluster.bases]
        db, manager = cluster.db.name, cluster.base_mgr.name
        pairs = [(db, manager), (db, cluster.login.name), *((db, each) for each in bases)]
        pairs += [(manager, each) for each in bases]
        return LongFaults([db, manager, *bases], pairs=pairs)

    def quiesce(self) -> None:
        """See Scenario."""
        self.is_working = False

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        for player in self.players:
            if not player.is_in:
                return Unrest(f"{player.name} does not get in", (player.name,))
        for app in self.cluster.base_apps:
            if len(app.log_offs):
                return Unrest(f"{app.me} owes log-offs", (str(app.me),))
        db = self.cluster.db.app
        assert isinstance(db, DBApp)
        if len(db.log_ons.doubts):
            return Unrest("log-on records are in doubt")
        homes = {proxy: app.me.index for app in self.cluster.base_apps for proxy in app.bases.values()}
        there = {dbid: (proxy.id, homes[proxy]) for dbid, proxy in self._proxies().items()}
        if self.cluster.database.log_ons != there:
            return Unrest(f"recorded are {self.cluster.database.log_ons}, there are {there}")
        return None

    def _set_failing(self, why: str) -> None:
        self.cluster.database.failing = why

    def _look(self) -> None:
        self._proxies()
        self.world.clock.after(LOOK_S, self._look)

    def _proxies(self) -> dict[int, ProxyEntity]:
        """The proxies that exist, by dbid; there must be at most one of each."""
        found: dict[int, ProxyEntity] = {}
        proxies: list[Any] = [each for app in self.cluster.base_apps for each in app.bases.values()]
        for proxy in proxies:
            assert isinstance(proxy, ProxyEntity)
            other = found.setdefault(proxy.data.dbid, proxy)
            what = f"the player {proxy.data.dbid} has the proxies {other.id} and {proxy.id}"
            check(other is proxy, "P1", what, other.id, proxy.id)
        return found


@scenario("logins")
def logins(world: World, mutation: str | None) -> Logins:
    """See the module."""
    return Logins(world, mutation)
