"""A player of the seamless scenario: logs in, walks, acts, leaves, and logs in again.

    OUT ──its time──▶ COMING ──a body──▶ IN ──its time──▶ LEAVING ──the client is over──▶ OUT

Some players now and then send false positions, or move too fast (`speed_limit.py`).

When the workload has ended, each player that is out logs in once more, and must get in. What was confirmed as saved is
compared at the next login (`saves.py`); without faults gold, name and place are those of its last real.
"""

from __future__ import annotations

from enum import Enum

from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.seamless.call_rates import Pusher
from terrazzo.sim.scenarios.seamless.client_view import ViewJudge
from terrazzo.sim.scenarios.seamless.entity_story import Story
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import Truth
from terrazzo.sim.scenarios.seamless.walking import Gait
from terrazzo.sync.view_events import BasePlayer, CellPlayer, ViewEvent

SPEED = 14.0
HASTY = 60.0
"""The speed of a player that is too fast for the game."""
STEP_S = 0.05
COME_S_MAX = 25.0
REFUSALS = ("already logged on", "no BaseApp is running", "starting")


class Mode(Enum):
    """The state of a player."""

    OUT = "out"
    COMING = "coming"
    IN = "in"
    LEAVING = "leaving"


class Player:
    """A player with an account."""

    view_type: type[ViewJudge] = ViewJudge
    pushes = True
    """Whether its type has methods with a rate (`call_rates.py`)."""
    saved: tuple[str, ...] = ("name", "gold")
    """Properties that must have the same values after the next login."""

    def __init__(self, cluster: Cluster, judge: Judge, truth: Truth, name: str) -> None:
        rng = self._rng = cluster.world.rng(f"player {name}")
        self.name = name
        self.mode = Mode.OUT
        self.visits = 0
        self.heard = 0
        self.seat: Seat | None = None
        self.entity = 0
        self._cluster = cluster
        self._clock = cluster.world.clock
        self._judge = judge
        self._truth = truth
        self._view = self.view_type(name, judge)
        self._talk = rng.uniform(0.05, 0.4)
        self._gait = Gait(judge.ground, rng)
        self._speed = rng.choice([3.0, SPEED, SPEED])
        self._cheating = cluster.world.rng(f"cheating of {name}")
        self._cheats = self._cheating.choice([0.0, 0.0, 0.02, 0.2])
        if self._cheats and self._cheating.random() < 0.5:
            self._speed = HASTY
        self._pusher = Pusher(judge.rates, cluster.world.rng(f"hurry of {name}"))
        self._until = 0.0
        self._former = 0
        self._clock.after(rng.uniform(0.0, 0.5), self._come)

    def misses(self, story: Story, since: float, lag_s: float) -> bool:
        """Whether its client does not have an entity that has been near it since then."""
        return self.seat is not None and self._view.misses(story, self.seat.app.view, since, lag_s)

    def unrest(self) -> str | None:
        """What is still under way for it."""
        if self.mode is not Mode.IN:
            return f"{self.name} is {self.mode.value}"
        assert self.seat is not None
        real = self._truth.real_of(self.entity)
        story = self._judge.story(self.entity)
        if real is None:
            return None if story is not None and story.is_over else f"{self.name} has no real"
        if self.seat.app.view.space is None:
            return f"{self.name} has not got its body"
        return self._view.unrest(self.seat.app.view, real, self._truth.reals())

    @property
    def is_seeing(self) -> bool:
        """Whether its client has a body, and so an area."""
        return self.mode is Mode.IN and self.seat is not None and self.seat.app.view.space is not None

    # Coming and going.

    def _come(self) -> None:
        if self.mode is Mode.OUT:
            self.mode = Mode.COMING
            self._until = self._clock.now + COME_S_MAX
            self.heard += self._view.heard
            self._view = self.view_type(self.name, self._judge)
            seat = self._cluster.client(self.name, "secret", listener=self._on_event)
            reply = self._judge.clients.take(self.entity)
            if reply is not None:
                seat.app._on_reply(reply, self._clock.now)
            seat.on_step = lambda now: self._on_step(now) if seat is self.seat else None
            self.seat = seat

    def _on_event(self, event: ViewEvent) -> None:
        assert self.seat is not None
        if isinstance(event, BasePlayer):
            self._former, self.entity = self.entity, event.entity.id
        self._view.on_event(event, self.seat.app.view)
        if isinstance(event, CellPlayer) and self.mode is Mode.COMING:
            self.mode = Mode.IN
            self.visits += 1
            self._until = self._clock.now + self._rng.uniform(3.0, 20.0)
            visit = self._judge.saves.check_visit(self.name, event.entity, self._judge.clients.came[self.entity])
            if visit is not None:
                raise visit
            if self._judge.shape.is_peaceful:
                self._check_saved(event)

    def _check_saved(self, event: CellPlayer) -> None:
        """Checks that the saved values are those with which it left."""
        seen, about = event.entity, (self.name, self.entity, self._former)
        check(seen.state["name"] == self.name, "P5", f"{self.name} is called {seen.state['name']!r}", *about)
        if self._former in (0, self.entity):  # the first login, or one to a proxy that was kept
            return
        visits = seen.state["visits"]
        check(visits == self.visits, "P5", f"{self.name} has come {self.visits} times, and it has {visits}", *about)
        old, new = self._judge.story(self._former), self._judge.story(self.entity)
        assert old is not None
        assert new is not None
        for name in self.saved:
            check(old.values[name] == new.values[name], "P5", f"{self.name} came back with another {name}", *about)
        what = f"{self.name} left at {old.places[-1]}, came back at {new.places[0]}"
        is_second = new.life > 0  # the first body ended before the client got it; the next may be elsewhere
        check(is_second or old.places[-1][1:] == new.places[0][1:], "P5", what, *about)

    def _on_step(self, now: float) -> None:
        assert self.seat is not None
        app = self.seat.app
        if app.is_over and self.mode is not Mode.OUT:
            self._on_over(app.error)
        elif self.mode is Mode.COMING:
            is_late = now >= self._until and self._judge.shape.is_peaceful
            check(not is_late, "liveness", f"{self.name} does not get in", self.name, self.entity)
        elif self.mode is Mode.IN and not self._judge.is_working:
            self._insist()
        elif self.mode is Mode.IN:
            self._walk()
            if self._rng.random() < self._talk:
                self._act()
            if self.pushes:
                self._pusher.step(app)
            if now >= self._until:
                self._leave(now)

    def _leave(self, now: float) -> None:
        """Leaves properly, or vanishes."""
        assert self.seat is not None
        if self._judge.clients.falls_silent():
            self.seat.unplug()
            self.mode = Mode.OUT
            self._clock.after(1.0, self._come)
        else:
            self.mode = Mode.LEAVING
            self.seat.app.leave(now)

    def _on_over(self, error: str) -> None:
        """The session is over: only the player itself may end it, or a login that was too early is refused."""
        is_fine = not error if self.mode is Mode.LEAVING else any(each in error for each in REFUSALS)
        is_fine = is_fine or (self.mode is not Mode.IN and not self._judge.shape.is_peaceful)
        check(is_fine, "P4", f"{self.name} was sent away while {self.mode.value}: {error}", self.name, self.entity)
        self._cluster.world.trace.add(self.name, "over", error=error)
        self.mode = Mode.OUT
        away_s = self._judge.clients.away_s(self.entity) if self._judge.is_working else 0.0
        self._clock.after(self._rng.choice([0.1, 0.5, 3.0]) + away_s, self._come)

    # In the world.

    def _walk(self) -> None:
        assert self.seat is not None
        view = self.seat.app.view
        if view.player is None or view.space is None:
            return
        space = list(self._judge.shape.reaches)[view.space - 1]
        x, y, z = view.player.position
        x, z = self._gait.stride(space, x, z, self._speed * STEP_S)
        if self._cheats and self._cheating.random() < self._cheats:
            x, z = self._lie(x, z)
        if (x, z) != (view.player.position[0], view.player.position[2]):
            self.seat.app.move((x, y, z), self._rng.uniform(-3.0, 3.0))

    def _lie(self, x: float, z: float) -> tuple[float, float]:
        """A place too far away, or outside the world: the server corrects it, and ignores positions until then."""
        far = self._cheating.choice([15.0, 40.0, 1000.0])
        return x + self._cheating.uniform(-far, far), z + self._cheating.uniform(-far, far)

    def _insist(self) -> None:
        """A cheating client sends its false position again at rest, until it is corrected."""
        assert self.seat is not None
        player = self.seat.app.view.player
        if self._cheats and player is not None:
            self.seat.app.move(player.position, player.direction[0])

    def _act(self) -> None:
        assert self.seat is not None
        seat, app, rng, calls = self.seat, self.seat.app, self._rng, self._judge.calls
        player = app.player
        if player is None or not app.has_body:
            return
        others = [part for part in app.parts.values() if part is not player and part._seen.schema.name == "Avatar"]
        what, own = rng.random(), self._view.hold(player.id)

        def has_vanished() -> bool:
            return seat.is_unplugged

        if what < 0.1 and others:
            target = rng.choice(others)
            number = calls.make("poke", player.id, target.id, own, self._view.hold(target.id), has_vanished)
            sent = target.cell.poke(number, player.id)
        elif what < 0.2:
            sent = player.base.ask(calls.make("ask", player.id, player.id, has_vanished=has_vanished))
        else:
            number = calls.make("do", player.id, player.id, own, None, has_vanished)
            sent = player.cell.do(number, rng.randrange(1000), rng.randrange(1000))
        check(sent, "P2", f"{self.name}: a call was not sent", self.name, player.id)
