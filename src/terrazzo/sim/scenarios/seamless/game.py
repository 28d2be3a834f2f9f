"""The behaviour of the entities of the seamless scenario: everything that a game can do, all the time, in every cell.

Each call carries its number and its caller; the callee reports it to the judge, which has the list of expected calls.
The classes refer to the judge as `judge`: each world has a judge of its own, and so classes of its own (`game_of`).
Their common part is in `behaviour.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    EntityType,
    Game,
    Int32,
    UInt32,
    exposed,
    remote,
)
from terrazzo.game import LoadedGame, parts_of
from terrazzo.sim.scenarios.seamless.behaviour import Being, Home, PlayedHome
from terrazzo.sim.scenarios.seamless.call_rates import RATES
from terrazzo.sim.scenarios.seamless.controller_arrivals import NUMBERS
from terrazzo.sim.scenarios.seamless.entity_types import (
    TYPES,
    Avatar,
    Creature,
    Dart,
    Giant,
    Item,
    Runner,
    Trap,
    schema,
)
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.shape import Shape

BAG_MAX = 8
TRAIL_MAX = 6
MARKS_MAX = 4
TRIGGER_M = 7.0


class AvatarBase(PlayedHome, of=Avatar):
    """The base part of a player."""

    @exposed
    def ask(self, number: UInt32) -> None:
        """Called by the own client; answered by both parts."""
        self.judge.check(self.judge.calls.hear("ask", self.id, self.id, number))
        self.client.on_noted(self.judge.answer(self.id))
        self._nod()

    @exposed(rate=RATES["ring"])
    def ring(self, number: UInt32) -> None:
        """Called by the own client, at a low rate."""
        self.judge.check(self.judge.rates.run("ring", self.id, self.id, number))

    @remote
    def note(self, number: UInt32) -> None:
        """Called by the own cell part; answered."""
        self.judge.check(self.judge.calls.hear("note", self.id, self.id, number))
        self._nod()
        if self.judge.saves.is_wished():
            self.save()

    def _nod(self) -> None:
        """Calls the own cell part."""
        if self.has_cell:
            self.cell.noted(self.judge.calls.make("noted", self.id, self.id))


class AvatarCell(Being, of=Avatar):
    """The body of a player."""

    def mark(self) -> None:
        """See Being."""
        self.rank = self.judge.unique()

    def live(self) -> None:
        """Acts by its own timer, besides the acts of its player."""
        rng = self.judge.rng(self.id)
        if rng.random() < 0.3:
            self.rank = self.judge.unique()
            self.base.note(self.judge.calls.make("note", self.id, self.id))
        if rng.random() < 0.1:
            self.sniff()

    @exposed
    def do(self, number: UInt32, deed: UInt32, value: UInt32) -> None:
        """Does one of many things; the client chooses."""
        self.judge.check(self.judge.calls.hear("do", self.caller, self.id, number))
        DEEDS[deed % len(DEEDS)](self, value)

    @exposed(rate=RATES["rush"])
    def rush(self, number: UInt32) -> None:
        """Called by the own client, with a rate."""
        self.judge.check(self.judge.rates.run("rush", self.id, self.caller, number))

    @exposed(to=ALL_CLIENTS)
    def poke(self, number: UInt32, source: Int32) -> None:
        """Called by another player's client."""
        self.judge.check(self.judge.calls.hear("poke", self.caller, self.id, number))
        self.hp = self.judge.unique()

    def _hurt(self, value: int) -> None:
        self.hp = self.judge.unique()

    def _feel(self, value: int) -> None:
        """Changes, in one step, two properties of which no client gets both, and one of the own client and the
        ghosts."""
        self.mood = self.judge.unique()
        self.gold = self.judge.unique()
        self.fame = self.judge.unique()

    def _put(self, value: int) -> None:
        """A slice: adds an element at the end, and removes some at the beginning if there are many."""
        self.bag.append(Item(kind=self.judge.unique()))
        if len(self.bag) > BAG_MAX:
            del self.bag[:3]

    def _count(self, value: int) -> None:
        """Changes one field of an element."""
        if self.bag:
            self.bag[value % len(self.bag)].count = self.judge.unique()

    def _swap(self, value: int) -> None:
        """Replaces a slice in the middle."""
        at = value % (len(self.bag) + 1)
        self.bag[at : at + 2] = [Item(kind=self.judge.unique()) for _ in range(1 + value % 3)]

    def _pose(self, value: int) -> None:
        """Changes a field of a record, or an array inside it."""
        self.pose.stance = self.judge.unique()
        self.pose.marks.append(self.judge.unique())
        if len(self.pose.marks) > MARKS_MAX:
            del self.pose.marks[:2]

    def _say(self, value: int) -> None:
        self.everyone.on_said(self.judge.speak(self.id, "on_said", own=True, others=True))

    def _wave(self, value: int) -> None:
        self.others.on_waved(self.judge.speak(self.id, "on_waved", own=False, others=True))

    def _whisper(self, value: int) -> None:
        self.client.on_whispered(self.judge.speak(self.id, "on_whispered", own=True, others=False))

    def _look(self, value: int) -> None:
        """Changes its radius."""
        radius = self.judge.shape.radius(value)
        self.judge.look(self.id, radius)
        self.set_aoi_radius(radius)

    def _shout(self, value: int) -> None:
        self.shout()

    def _jump(self, value: int) -> None:
        if self.judge.shape.has_jumps:
            self.jump()

    def _vanish(self, value: int) -> None:
        """Ends the body; its base makes another."""
        if value % 4 == 0 and self.judge.shape.has_jumps:
            self.judge.radii.pop(self.id, None)
            self.perish()


DEEDS: tuple[Callable[[AvatarCell, int], None], ...] = (
    AvatarCell._hurt,
    AvatarCell._feel,
    AvatarCell._put,
    AvatarCell._put,
    AvatarCell._count,
    AvatarCell._swap,
    AvatarCell._pose,
    AvatarCell._say,
    AvatarCell._wave,
    AvatarCell._whisper,
    AvatarCell._look,
    AvatarCell._shout,
    AvatarCell._jump,
    AvatarCell._vanish,
)


class CreatureBase(Home, of=Creature):
    """Stays."""


class CreatureCell(Being, of=Creature):
    """Walks its gait; jumps, cries, calls, and now and then ends."""

    def mark(self) -> None:
        """See Being."""
        self.trail.append(self.judge.unique())

    def live(self) -> None:
        """Makes one stride, and perhaps something more."""
        rng = self.judge.rng(self.id)
        self.strides += 1
        self.stride(rng.choice([0.5, 2.0, 2.0, 6.0, 60.0]))
        what = rng.random()
        if what < 0.2:
            self.sniff()
        elif what < 0.3:
            self.shout()
        elif what < 0.4:
            self.others.on_cried(self.judge.speak(self.id, "on_cried", own=False, others=True))
        elif what < 0.55:
            self.trail.append(self.judge.unique())
            if len(self.trail) > TRAIL_MAX:
                del self.trail[1:3]
            self.rank = self.judge.unique()
        elif what < 0.6 and self.judge.shape.has_jumps:
            self.jump()
        elif what < 0.62 and self.judge.shape.has_jumps:
            self.perish()
        self.judge.check(self.judge.darts.act(self))


class RunnerBase(Home, of=Runner):
    """Stays."""


class RunnerCell(Being, of=Runner):
    """Goes to a goal, follows an entity, turns around; each controller ends once."""

    def live(self) -> None:
        """Begins a controller, if none is under way; or cancels it."""
        rng, mine = self.judge.rng(self.id), self._controllers()
        if mine and rng.random() < 0.1:
            self.judge.once.end(self.id, mine[0], "cancelled")
            self.cancel(mine[0])
        elif not mine and not self.vehicle:
            self._go()
        elif mine and self.judge.controller_arrivals.is_restless(self.id):
            self._change_its_mind(mine[0])

    def _controllers(self) -> list[int]:
        return [number for (own, number) in self.judge.once.controllers if own[0] == self.id]

    def rest(self) -> None:
        """Stops following in worlds with riders (it would never reach an entity that rides on itself), and where it is
        too slow to catch up before rest is judged."""
        for (own, number), what in list(self.judge.once.controllers.items()):
            is_in_vain = bool(self.judge.riding_and_visibility.ride) or self.judge.controller_arrivals.is_slow(
                self.id, number
            )
            if own[0] == self.id and what == "follow" and is_in_vain:
                self.judge.once.end(self.id, number, "cancelled")
                self.cancel(number)

    def on_boarded(self) -> None:
        """All its controllers end."""
        for number in self._controllers():
            self.judge.once.end(self.id, number, "cancelled")

    def _go(self) -> None:
        rng = self.judge.rng(self.id)
        near = self.entities_in_range(20.0)
        what = rng.random()
        if what < 0.6:
            x, z = self.judge.gait(self.id).goal(self.space)
            goal = (x, self.position.y, z)
            self._note(self.move_to(goal, rng.choice([6.0, 15.0, 40.0])), "move_to", goal)
        elif what < 0.8 and near:
            speed = rng.choice([2.0, 10.0])
            self._note(self.follow(near[0], speed, distance=2.0), "follow", speed=speed)
        else:
            self._note(self.turn_to(rng.uniform(-pi, pi), 2.0), "turn_to")

    def _change_its_mind(self, number: int) -> None:
        """Replaces the movement that is under way, which must not be reported any more."""
        own, rng = (self.id, self.judge.life("cell", self.id)), self.judge.controller_arrivals.rng(self.id)
        if self.judge.once.controllers.get((own, number)) in ("move_to", "follow"):
            self.judge.once.end(self.id, number, "replaced")
            x, z = self.judge.gait(self.id).goal(self.space)
            goal = (x, self.position.y, z)
            self._note(self.move_to(goal, rng.choice([6.0, 15.0, 40.0]), number=rng.choice(NUMBERS)), "move_to", goal)

    def _note(
        self, number: int, what: str, goal: tuple[float, float, float] | None = None, *, speed: float = inf
    ) -> None:
        self.judge.once.begin(self.id, number, what)
        self.judge.controller_arrivals.aim(self.id, number, goal, speed)
        self.goals += 1

    def on_reached(self, number: int) -> None:
        """A movement has reached its goal."""
        x, y, z = self.position
        self.judge.check(self.judge.controller_arrivals.reach(self.id, number, (x, y, z)))
        self.judge.check(self.judge.once.meet(self.id, number))

    def on_turned(self, number: int) -> None:
        """A turn is complete."""
        self.judge.check(self.judge.once.end(self.id, number, "turned"))

    def on_move_failed(self, number: int, reason: str) -> None:
        """A movement has failed."""
        self.judge.check(self.judge.once.end(self.id, number, "not reached"))


class GiantBase(Home, of=Giant):
    """Stays."""


class GiantCell(Being, of=Giant):
    """Walks in long strides."""

    def live(self) -> None:
        """Makes one stride."""
        self.strides += 1
        self.stride(self.judge.rng(self.id).choice([1.0, 8.0]))


class DartCell(Being, of=Dart):
    """Flies for some strides, and ends."""

    def begin(self) -> None:
        """Is recorded."""
        self.judge.check(self.judge.darts.bear(self.id))

    def mark(self) -> None:
        """See Being."""
        self.rank = self.judge.unique()

    def live(self) -> None:
        """Makes a stride, and perhaps something more."""
        rng = self.judge.rng(self.id)
        self.strides += 1
        self.stride(rng.choice([0.5, 6.0, 6.0, 60.0]))
        what = rng.random()
        if what < 0.3:
            self.sniff()
        elif what < 0.4:
            self.shout()
        elif what < 0.5 and self.judge.shape.has_jumps:
            self.jump()
        elif what < 0.55:
            self.perish()

    def perish(self) -> None:
        """See Being."""
        self.judge.darts.ended.add(self.id)
        super().perish()


class TrapBase(Home, of=Trap):
    """Stays."""


class TrapCell(Being, of=Trap):
    """Has a trigger; walks, too, since either entity may be the one that moves."""

    def begin(self) -> None:
        """Sets its trigger."""
        self.judge.triggers[self.id] = self.add_proximity(TRIGGER_M)

    def live(self) -> None:
        """Makes a stride now and then."""
        if self.judge.rng(self.id).random() < 0.3:
            self.stride(3.0)

    def on_proximity_entered(self, number: int, other: Any) -> None:
        """See Being."""
        super().on_proximity_entered(number, other)
        self.caught += 1


def game_of(judge: Judge, shape: Shape, *, on_ready: Callable[[Any], None]) -> LoadedGame:
    """The game with this judge."""
    parts = {
        name: {side: type(each.__name__, (each,), {"judge": judge}) for side, each in sides.items()}
        for name, sides in parts_of(TYPES).items()
    }
    return LoadedGame(schema(), policy_of(Avatar, shape, on_ready), parts)


def policy_of(player: type[EntityType], shape: Shape, on_ready: Callable[[Any], None]) -> Game:
    """The settings of the game that follow from the shape of a world."""
    return Game(
        player=player,
        spaces=shape.spaces,
        on_ready=on_ready,
        area_radius_m=shape.area_radius_m,
        ghost_distance_m=shape.ghost_m,
        top_speed=20.0,
    )
