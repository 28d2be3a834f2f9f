"""A player of the skeleton scenario: comes, walks, does and says things, leaves, and comes again.

    OUT ──its time──▶ COMING ──a body──▶ IN ──its time──▶ LEAVING ──the client is over──▶ OUT

What was saved is compared when it comes again: gold, name and place are those that its last real had.
"""

from __future__ import annotations

from enum import Enum
from math import hypot

from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.oracle import check
from terrazzo.sim.scenarios.skeleton_truth import Truth
from terrazzo.sim.scenarios.skeleton_view import PLACE_M, ViewJudge, encoded
from terrazzo.sync.view_events import BasePlayer, CellPlayer, Event

SPEED = 14.0
STEP_S = 0.05
COME_S_MAX = 20.0
SAVED = ("name", "gold")
REFUSALS = ("already logged on", "no BaseApp is running", "starting")


class Mode(Enum):
    """Where a player is."""

    OUT = "out"
    COMING = "coming"
    IN = "in"
    LEAVING = "leaving"


class Player:
    """Somebody with an account."""

    def __init__(self, cluster: Cluster, truth: Truth, name: str, reach: dict[int, float]) -> None:
        rng = self._rng = cluster.world.rng(f"player {name}")
        self.name = name
        self.mode = Mode.OUT
        self.visits = 0
        self.seat: Seat | None = None
        self.entity = 0
        self._cluster = cluster
        self._clock = cluster.world.clock
        self._truth = truth
        self._reach = reach
        self._judge = ViewJudge(name, truth)
        self._talk = rng.uniform(0.02, 0.15)
        self._goal: tuple[float, float] | None = None
        self._until = 0.0
        self._count = 0
        self._former = 0
        self._clock.after(rng.uniform(0.0, 4.0), self._come)

    def unrest(self) -> str | None:
        """What of it is still under way."""
        if self.mode in (Mode.COMING, Mode.LEAVING):
            return f"{self.name} is {self.mode.value}"
        made, done = (each.get(("client to cell", self.entity, self.entity), 0) for each in self._calls())
        if made != done:
            return f"{self.name} has made {made} calls, {done} were heard"
        if self.mode is Mode.OUT or self.seat is None:
            return None
        real = self._truth.real_of(self.entity)
        if real is None:
            return f"{self.name} has no real"
        return self._judge.unrest(self.seat.app.view, real)

    def _calls(self) -> tuple[dict[tuple[str, int, int], int], dict[tuple[str, int, int], int]]:
        return self._truth.made, self._truth.done

    # Coming and going.

    def _come(self) -> None:
        if self.mode is Mode.OUT and self._truth.is_working:
            self.mode = Mode.COMING
            self._until = self._clock.now + COME_S_MAX
            self._judge = ViewJudge(self.name, self._truth)
            seat = self._cluster.client(self.name, "secret", listener=self._on_event)
            seat.on_step = lambda now: self._on_step(now) if seat is self.seat else None
            self.seat = seat

    def _on_event(self, event: Event) -> None:
        assert self.seat is not None
        view = self.seat.app.view
        if isinstance(event, BasePlayer):
            self._former, self.entity = self.entity, event.entity.id
        self._judge.on_event(event, None if view.player is None else view.player.id)
        if isinstance(event, CellPlayer):
            self.mode = Mode.IN
            self.visits += 1
            self._until = self._clock.now + self._rng.uniform(3.0, 20.0)
            self._check_saved(event)

    def _check_saved(self, event: CellPlayer) -> None:
        """What it left with is what it comes back with."""
        seen, about = event.entity, (self.name, self.entity, self._former)
        check(seen.state["name"] == self.name, "P5", f"{self.name} is called {seen.state['name']!r}", *about)
        if not self._former:
            return
        visits = seen.state["visits"]
        check(visits == self.visits, "P5", f"{self.name} has come {self.visits} times, and it says {visits}", *about)
        old = self._truth.ended[self._former]
        for name in SAVED:
            last = self._truth.values[self._former, name][-1]
            check(encoded(seen, name) == last, "P5", f"{self.name} came back with another {name}", *about)
        is_near = all(abs(a - b) <= PLACE_M for a, b in zip(seen.position, old.position, strict=True))
        what = f"{self.name} left at {old.position} in {old.space.id}, came back at {seen.position} in {event.space}"
        check(is_near and event.space == old.space.id, "P5", what, *about)

    def _on_step(self, now: float) -> None:
        assert self.seat is not None
        app = self.seat.app
        if app.is_over and self.mode is not Mode.OUT:
            self._on_over(app.error)
        elif self.mode is Mode.COMING:
            check(now < self._until, "liveness", f"{self.name} does not get in", self.name, self.entity)
        elif self.mode is Mode.IN and self._truth.is_working:
            self._walk()
            if self._rng.random() < self._talk:
                self._act()
            if now >= self._until:
                self.mode = Mode.LEAVING
                app.leave(now)

    def _on_over(self, error: str) -> None:
        """Nothing but its own leaving ends a session. Who comes too early, or again too soon, is told so."""
        is_fine = not error if self.mode is Mode.LEAVING else any(each in error for each in REFUSALS)
        check(is_fine, "P4", f"{self.name} was sent away while {self.mode.value}: {error}", self.name, self.entity)
        self._cluster.world.trace.add(self.name, "over", error=error)
        self.mode = Mode.OUT
        self._clock.after(self._rng.choice([0.0, 0.5, 3.0]), self._come)

    # Being there.

    def _walk(self) -> None:
        assert self.seat is not None
        view = self.seat.app.view
        if view.player is None or view.space is None:
            return
        x, y, z = view.player.position
        if self._goal is None:
            reach = self._reach[view.space] * self._rng.choice([0.15, 0.15, 0.5, 1.0])
            self._goal = (self._rng.uniform(-reach, reach), self._rng.uniform(-reach, reach))
        away_x, away_z = self._goal[0] - x, self._goal[1] - z
        away, step = hypot(away_x, away_z), SPEED * STEP_S
        if away <= step:
            self._goal = None
        else:
            # The yaw counts the moves, so that the judge can tell an older one from a newer.
            self.seat.app.move((x + away_x / away * step, y, z + away_z / away * step), view.player.yaw + 1.0)

    def _act(self) -> None:
        assert self.seat is not None
        app, rng = self.seat.app, self._rng
        player = app.player
        if player is None:
            return
        self._count += 1
        unique = self._count
        others = [part for part in app.parts.values() if part is not player and part._seen.schema.name == "Avatar"]
        what = rng.randrange(8)
        if what == 7 and not others:
            return
        target = rng.choice(others) if what == 7 else player
        number = self._truth.next("client to cell", player.id, target.id)
        cell = target.cell
        if what == 0:
            sent = cell.set_hp(number, 1000 * unique)
        elif what == 1:
            sent = cell.set_feelings(number, unique, unique * 3)
        elif what == 2:
            sent = cell.put(number, unique)
        elif what == 3:
            sent = cell.count(number, rng.randrange(100), unique)
        elif what == 4:
            sent = cell.swap(number, rng.randrange(100), [unique * 10 + n for n in range(rng.randrange(4))])
        elif what == 5:
            sent = cell.say(number)
        elif what == 6:
            sent = cell.wave(number)
        else:
            sent = cell.poke(number)
        check(sent, "P2", f"{self.name}: a call was not sent", self.name, player.id)
