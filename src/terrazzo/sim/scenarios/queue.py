"""The queue scenario: more visitors than a small world takes, which wait for their turn.

    BaseAppMgr ↔ DBApp ↔ LoginApp     links break, lag, clog and are shut, so that figures are late or missing
    visitors ↔ LoginApp               the path of a visitor in the queue is cut for some seconds, or for longer than its
                                      place is kept

Visitors come, wait, stay a little and leave; some leave the queue, some vanish from it. What is judged:

- *Fair.* No visitor has its turn while one waits that is before it in the queue and has sent something lately.
- *A place is kept.* Of two visitors in the queue the first one stays the first, whatever becomes of their connections,
  and of an attempt to let one in that finds the world full. One that was cut off for too long has to begin anew.
- *None is sent away.* A visitor that may wait is never refused because the world is full.
- *A place is freed.* The queue has no entry of a visitor that left it; one that vanished is dropped in time.
- *At rest* every visitor gets in.
"""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import Any

from terrazzo import ALL_CLIENTS, EntityType, Text, build, prop
from terrazzo.base import Proxy
from terrazzo.client import Phase
from terrazzo.cluster.app import App
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.login.attempts import LoginAttempt
from terrazzo.login.loginapp import LoginApp
from terrazzo.login.queue import QueueLimits
from terrazzo.sim.cluster import LOGIN, Cluster, Seat, place_of
from terrazzo.sim.faults import FaultPlan
from terrazzo.sim.mutations import Mutation, mutation_of
from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest, scenario
from terrazzo.sim.scenarios.logins import CALM_S, LongFaults
from terrazzo.sim.world import FaultLevel, World
from terrazzo.wire.client import Session

QUEUE = QueueLimits(place_every_s=2.5, silence_s=8.0, let_in_per_s=5.0)
CUTS_S = (1.0, 3.0, 6.0, 10.0, 60.0)
LATELY_S = 3.0
"""A visitor that has sent something within this time may have its turn."""
KEPT_S = 11.0
"""A visitor that was cut off for less keeps its place for certain."""
SETTLED_S = 25.0
"""After a cut: by then the visitor is back in the queue or has lost its place."""
LEFT_S = 1.0
"""How long the end of a session may take without faults."""
LOOK_S = 0.1


class Guest(EntityType):
    """A player of this scenario."""

    name: Text = prop(ALL_CLIENTS, saved=True)


class GuestBase(Proxy, of=Guest):
    """Does nothing."""


class Visitor:
    """A player that comes again and again; each time with a new address."""

    def __init__(self, scenario: Queue, name: str) -> None:
        self.name = name
        self.is_in = False
        self.was_in_at_rest = False
        self.waits = 0
        """How often it has waited."""
        self._has_place = False
        self._scenario = scenario
        self._clock = scenario.world.clock
        self._rng = scenario.world.rng(f"visitor {name}")
        self._cut_until = -inf
        self._sure_from = -inf
        """From then on its place is kept for certain."""
        self._seat: Seat | None = None
        self._until = inf
        self._give_up_at = inf
        self._cut_at = inf
        self._clock.after(self._rng.uniform(0.0, CALM_S), self._come)

    @property
    def address(self) -> str:
        """Of its present client; empty without one."""
        return self._seat.address if self._seat is not None else ""

    @property
    def is_waiting(self) -> bool:
        """Whether it has a place, as far as it can judge."""
        return self._seat is not None and self._seat.app.phase is Phase.WAITING

    @property
    def is_sure(self) -> bool:
        """Whether it waits, and was not cut off for so long that it may have lost its place."""
        return self.is_waiting and self._clock.now >= self._sure_from

    def _come(self) -> None:
        seat = self._scenario.cluster.client(self.name, "secret", may_wait=True)
        seat.app.on_place = self._on_place
        seat.on_step = lambda now: self._on_step(now) if seat is self._seat else None
        self._seat = seat
        self._has_place = self.is_in = False
        self._until = self._give_up_at = self._cut_at = inf
        self._cut_until = self._sure_from = -inf

    def _on_place(self, place: int, waiting: int) -> None:
        now = self._clock.now
        check(1 <= place <= waiting, "queue", f"{self.name} is told place {place} of {waiting}", self.name)
        if self._has_place:
            return
        self._has_place = True
        self.waits += 1
        if self._scenario.is_working:
            self._cut_at = now + self._rng.uniform(0.0, 20.0) if self._rng.random() < 0.4 else inf
            self._give_up_at = now + self._rng.uniform(0.0, 20.0) if self._rng.random() < 0.2 else inf

    def _on_step(self, now: float) -> None:
        assert self._seat is not None
        app = self._seat.app
        if app.is_over:
            check(app.error_code != "full", "queue", f"{self.name} may wait, and is refused: {app.error}", self.name)
            self._come_later()
        elif app.phase is Phase.PLAYING and not self.is_in:
            self.is_in = True
            self._until = now + (self._rng.uniform(0.0, 8.0) if self._scenario.is_working else 0.5)
            self.was_in_at_rest |= not self._scenario.is_working
        elif app.phase is Phase.PLAYING and now >= self._until:
            app.leave(now)
        elif app.phase is not Phase.WAITING or not self._scenario.is_working:
            pass
        elif now >= self._cut_at:
            self._cut(now)
        elif now >= self._give_up_at:
            self._give_up(now)

    def _cut(self, now: float) -> None:
        """The path to the LoginApp loses everything for a while."""
        assert self._seat is not None
        self._cut_at = inf
        lasts_s = self._rng.choice(CUTS_S)
        self._cut_until = now + lasts_s
        if lasts_s > KEPT_S:
            self._sure_from = self._cut_until + SETTLED_S
            self._scenario.forget_order(self.address)
        path = self._scenario.world.network.path(self._seat.address, place_of(LOGIN))
        path.loss = 1.0
        self._clock.after(lasts_s, setattr, path, "loss", 0.0)

    def _give_up(self, now: float) -> None:
        assert self._seat is not None
        if self._rng.random() < 0.5:
            self._seat.app.leave(now)
            self._scenario.note_left(self.address, now, is_cut=now < self._cut_until)
        else:
            self._seat.unplug()
        self._come_later()

    def _come_later(self) -> None:
        self._seat = None
        self.is_in = False
        if not self.was_in_at_rest:
            self._clock.after(self._rng.uniform(1.5, 6.0), self._come)


class Queue:
    """One cluster and its visitors."""

    def __init__(self, world: World, mutation: str | None) -> None:
        rng = world.rng("queue")
        self.world = world
        self.duration_s = rng.uniform(60.0, 150.0)
        self.is_working = True
        self._left: dict[str, float] = {}
        """The addresses of visitors that have left the queue: when that must be done."""
        self._ahead: set[tuple[str, str]] = set()
        """Pairs of addresses in the queue: the first one is before the second."""
        harm = mutation_of(mutation, "queue")
        game = Game(player=Guest, spaces=[Space("plaza", bounds=(-20.0, -20.0, 20.0, 20.0))])
        loaded = LoadedGame(build([Guest]).checked(), game, parts_of([Guest]))
        self.cluster = Cluster(
            world,
            loaded,
            cells=1,
            bases=rng.choice([1, 2]),
            players_max=rng.choice([1, 2, 3]),
            queue=QUEUE,
            on_start=lambda _, app: self._start(app, harm),
        )
        self.visitors = [Visitor(self, f"visitor-{number}") for number in range(1, rng.randrange(4, 9))]
        world.clock.after(LOOK_S, self._look)

    @property
    def plan(self) -> FaultPlan:
        """See Scenario."""
        cluster = self.cluster
        db, manager = cluster.db.name, cluster.base_mgr.name
        pairs = [(db, manager), (db, cluster.login.name), *((manager, each.name) for each in cluster.bases)]
        return LongFaults([db, manager, *(each.name for each in cluster.bases)], pairs=pairs)

    def quiesce(self) -> None:
        """See Scenario."""
        self.is_working = False
        self.cluster.calm()

    def unrest(self) -> Unrest | None:
        """See Scenario."""
        for visitor in self.visitors:
            if not visitor.was_in_at_rest:
                return Unrest(f"{visitor.name} does not get in", (visitor.name,))
        waiting = {each.address for each in self.visitors if each.is_waiting}
        vanished = [address for address in self._queued() if address not in waiting]
        return Unrest(f"the queue still has {vanished}") if vanished else None

    def note_left(self, address: str, now: float, *, is_cut: bool) -> None:
        """A visitor has left the queue."""
        if self.world.level is FaultLevel.NONE and not is_cut:
            self._left[address] = now + LEFT_S

    def forget_order(self, address: str) -> None:
        """The place of this one is not certain any more."""
        self._ahead = {pair for pair in self._ahead if address not in pair}

    @property
    def _login_app(self) -> LoginApp:
        app = self.cluster.login.app
        assert isinstance(app, LoginApp)
        return app

    def _queued(self) -> list[str]:
        return [each.host for each in self._login_app.attempts_queued()]

    def _start(self, app: App, harm: Mutation) -> None:
        """Watches the LoginApp. The judge stands outside of what a mutation has changed."""
        harm.app(app)
        if isinstance(app, LoginApp):
            login: Any = app
            begin = login._begin

            def begin_in_turn(attempt: LoginAttempt[Session]) -> None:
                self._judge_turn(app, attempt)
                begin(attempt)

            login._begin = begin_in_turn

    def _judge_turn(self, app: LoginApp, attempt: LoginAttempt[Session]) -> None:
        """This attempt has its turn: none is before it in the queue. One that places no player takes no turn."""
        since = app.host.now - LATELY_S
        for other in app.attempts_queued() if attempt.may_place else ():
            is_here = other.session is not None and other.session.heard_at >= since
            what = f"{attempt.host} has its turn, and {other.host} is before it and waits"
            check(not is_here or other.number > attempt.number, "queue", what, attempt.host, other.host)

    def _look(self) -> None:
        now, queued = self.world.clock.now, self._queued()
        for address in [each for each, at in self._left.items() if at <= now]:
            del self._left[address]
            check(address not in queued, "queue", f"{address} has left the queue, and is in it", address)
        sure = {each.address for each in self.visitors if each.is_sure}
        for first, second in combinations([each for each in queued if each in sure], 2):
            what = f"{first} is before {second} in the queue, and was behind it"
            check((second, first) not in self._ahead, "queue", what, first, second)
            self._ahead.add((first, second))
        self.world.clock.after(LOOK_S, self._look)


@scenario("queue")
def queue(world: World, mutation: str | None) -> Queue:
    """See the module."""
    return Queue(world, mutation)
