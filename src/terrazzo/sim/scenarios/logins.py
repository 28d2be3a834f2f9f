"""The logins scenario: players log in, leave, vanish and log in again while DBApp is out of reach for minutes.

    DBApp ↔ BaseApps, BaseAppMgr, LoginApp      links break, lag, clog and are shut, for longer than every time limit
    BaseAppMgr ↔ BaseApps                       of a log-on
    the database                                fails for a while

A client may vanish at any moment without sending anything: before it shows its key, while it plays, while it leaves.
It may lose its connection for a while, with or without noticing it, and get another address; then it resumes. Some
old and some invented tokens are presented by other programs.

What is judged: there are never two proxies of one player, at any step; what was confirmed to a player as saved is there
at the next login (P5); a client resumes at the same entity if and only if it may, and gets no message that was meant
for a session before (`resuming.py`); and at rest every player gets in, every log-on record names a proxy that exists,
and no BaseApp has a save or a log-off to send.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    Cell,
    Client,
    EntityType,
    Int32,
    Text,
    build,
    exposed,
    prop,
    remote,
)
from terrazzo.base import ClientLoss, Proxy
from terrazzo.base.farewells import Farewell
from terrazzo.base.proxy import ProxyEntity
from terrazzo.client import Phase
from terrazzo.client.pauses import Pauses
from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.faults import Fault, FaultKind, FaultPlan
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.resuming import Resuming
from terrazzo.sim.world import FaultLevel, World
from terrazzo.sync.view_events import BasePlayer, MethodCalled, ViewEnded, ViewEvent, Violation
from terrazzo.wire.client import SERVER

CALM_S = 3.0
LASTS_S = (0.0, 1.0, 5.0, 20.0, 45.0, 90.0)
"""The approximate length of a fault: a key is valid for 15 s, a silent session ends after 33 s."""
SHORT_S = (0.0, 1.0, 5.0, 12.0)
FAULTS = {FaultLevel.NONE: 0, FaultLevel.MILD: 3, FaultLevel.HARSH: 8}
"""The greatest number of long faults; short ones are up to ten times as many, in half of the worlds."""
LOOK_S = 0.05
SILENCE_S = 8.0
"""How long a client may be silent, in most worlds."""
KEEPS = (1.0, 4.0, 0.5, 4.0)
"""How long the game keeps an entity whose client is lost, in times to resume."""


class Traveller(EntityType):
    """A player of this scenario."""

    name: Text = prop(ALL_CLIENTS, saved=True)
    steps: Int32 = prop(BASE_AND_CLIENT, saved=True)
    clients: Int32 = prop(CELL_PRIVATE)


class TravellerBase(Proxy, of=Traveller):
    """Counts."""

    def on_client_ready(self) -> None:
        """Half of the players have a body, which must end before they are saved."""
        if self.id % 2:
            self.create_cell("plaza", (0.0, 0.0, 0.0))

    def on_client_lost(self, reason: ClientLoss) -> None:
        """Some entities are kept longer than a client may resume, and some not as long."""
        if reason is ClientLoss.CONNECTION:
            self.keep_for(self.reconnect_s * KEEPS[self.id % len(KEEPS)])
        else:
            self.destroy()

    @exposed(rate=400)
    def step(self) -> None:
        """Counts one step."""
        self.steps += 1


class TravellerCell(Cell, of=Traveller):
    """Sends its client the number of that client, again and again."""

    def on_created(self) -> None:
        """Begins."""
        self.timer(0.2, repeat=0.2)

    def on_client_attached(self) -> None:
        """The next client."""
        self.clients += 1

    def on_timer(self, number: int) -> None:
        """It is time."""
        if self.has_client:
            self.client.on_mark(self.clients)


class TravellerClient(Client, of=Traveller):
    """The judge has the code."""

    @remote
    def on_mark(self, client: Int32) -> None:
        """A message for the client of this number."""


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
        self._drops = scenario.world.rng(f"drops of {name}")
        self._drop_every_s = self._drops.choice([float("inf"), 2.0, 4.0, 10.0])
        self._drop_at = float("inf")
        self._entity = 0
        """Of the present program; 0: it has got none."""
        self._session = 0
        """Counts the sessions of all clients."""
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
        self._entity = 0
        self._drop_at = now + self._drops.uniform(0.2, 2.0) * self._drop_every_s
        seat = self._scenario.cluster.client(self.name, "secret", listener=self._on_event)
        self._follow(seat)
        seat.on_step = lambda now: self._on_step(now) if seat is self._seat else None
        self._seat = seat

    def _follow(self, seat: Seat) -> None:
        """The judge gets each token that this program receives. A token that is used up is presented again, perhaps."""
        resuming, app, program = self._scenario.resuming, seat.app, seat.address
        resuming.note_program(program, program)
        app_: Any = app
        on_session = app_._on_session

        def note(message: bytes) -> None:
            former = app._token
            on_session(message)
            resuming.note_token(program, app._token)
            if former and self._drops.random() < 0.3:
                stolen = former if self._drops.random() < 0.8 else self._drops.randbytes(16)
                wait_s = self._drops.choice([1.0, 5.0])
                self._clock.after(wait_s, self._scenario.present, f"thief of {self.name}", stolen, app._base_at)

        app_._on_session = note

    def _lose_connection(self, now: float) -> None:
        """The network fails for a while. The program notices it at once, or in time; it may get another address."""
        assert self._seat is not None
        seat, rng, within_s = self._seat, self._drops, self._scenario.reconnect_s
        is_late = rng.random() < 0.25
        if is_late:  # it does not give up in time, and the server has given it up by then
            seat.app._reconnect_s = 10.0 * within_s
            cut_s = self._scenario.silence_s + 1.0 + within_s * rng.uniform(0.9, 2.5)
        else:
            cut_s = rng.choice([0.0, 0.0, 0.0, 0.0, 0.5, 3.0, within_s - 0.5, 40.0])
        seat.cut(min(cut_s, self._scenario.duration_s - now))
        if rng.random() < 0.3:
            moved = f"{seat.address}'"
            self._scenario.resuming.note_program(seat.address.rstrip("'"), moved)
            seat.move(moved)
        if (is_late or rng.random() < 0.7) and seat.app._base_at is not None:
            self._scenario.resuming.count("noticed")
            seat.app.on_path_lost(seat.app._base_at, now)
        self._drop_at = now + rng.uniform(0.2, 2.0) * self._drop_every_s

    def _on_event(self, event: ViewEvent) -> None:
        if isinstance(event, Violation):
            check(False, "P4", f"{self.name}: {event.fault.value}, message {event.number}: {event.text}", self.name)
        if isinstance(event, MethodCalled):
            self._scenario.resuming.note_mark(event.entity.id, self._session, event.args[0])
        if isinstance(event, BasePlayer):
            assert self._seat is not None
            what = f"{self.name} has resumed at entity {event.entity.id}"
            check(self._entity in (0, event.entity.id), "P1", what, self._entity, event.entity.id)
            self._entity = event.entity.id
            self._scenario.resuming.note_entity(self._seat.address.rstrip("'"), self._entity)
            self._session = self._scenario.next_session()
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
        elif app.phase is Phase.RECONNECTING:
            self.is_in = False
        elif self.is_in and now >= self._drop_at and self._scenario.is_working:
            self._lose_connection(now)
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
        self.reconnect_s = rng.choice([0.0, 3.0, 10.0, 25.0])
        self.silence_s = rng.choice([SERVER.silence_s, SILENCE_S, SILENCE_S])
        self.resuming = Resuming(self.reconnect_s)
        self._sessions = 0
        plaza = Space("plaza", bounds=(-20.0, -20.0, 20.0, 20.0))
        game = Game(player=Traveller, spaces=[plaza], reconnect_s=self.reconnect_s)
        loaded = LoadedGame(build([Traveller]).checked(), game, parts_of([Traveller]))
        self.cluster = Cluster(
            world,
            loaded,
            cells=1,
            bases=rng.choice([1, 2, 2, 3]),
            silence_s=self.silence_s,
            on_start=lambda _, app: self._start(app),
        )
        lag_s = rng.choice([0.001, 0.1, 0.4])
        for base in self.cluster.bases:
            world.network.path(base.name, self.cluster.cells[0].name).latency_s = lag_s
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

    def _start(self, app: App) -> None:
        self._mutation.app(app)
        self.resuming.watch(app)

    def next_session(self) -> int:
        """The number of the next session of a client."""
        self._sessions += 1
        return self._sessions

    def present(self, name: str, token: bytes, base_at: tuple[str, int]) -> None:
        """A program without a login presents a used or an invented token to a BaseApp."""
        if self.resuming.may_be_valid(token):
            return
        app = self.cluster.client(name, "secret").app
        app._token, app._base_at, app._login, app.phase = token, base_at, None, Phase.RECONNECTING
        app._pauses = Pauses(app._entropy, self.world.clock.now, 1.0)

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
