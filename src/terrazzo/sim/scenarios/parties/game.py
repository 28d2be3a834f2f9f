"""The entities of the parties scenario: hosts make and end instances, guests and players go from space to space.

The classes refer to the judge as `judge`: each world has a judge of its own, and so classes of its own (`game_of`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from terrazzo import ALL_CLIENTS, BASE, CELL_PRIVATE, Base, Cell, EntityType, Int32, Proxy, Text, Volatile, build, prop
from terrazzo.base import Server
from terrazzo.base.entity import BaseLife
from terrazzo.base.farewells import ClientLoss
from terrazzo.errors import CallTimeout, CreationFailed, SpaceFailed, UsageError
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.sim.scenarios.parties.judge import PLAZA, REACH_M, Judge

BOUNDS = (-REACH_M, -REACH_M, REACH_M, REACH_M)
INSTANCES_MAX = 5
"""Instances that are there at one time."""
GUESTS_MAX = 14
SPARKS_MAX = 8


class Host(EntityType):
    """Makes instances."""

    number: Int32 = prop(BASE)


class Guest(EntityType):
    """Goes from space to space."""

    steps: Int32 = prop(ALL_CLIENTS)
    volatile = Volatile(position=True, yaw=True)


class Avatar(EntityType):
    """The same, with a client."""

    name: Text = prop(ALL_CLIENTS, saved=True)
    steps: Int32 = prop(ALL_CLIENTS)
    volatile = Volatile(position=True, yaw=True)


class Spark(EntityType):
    """Has no base part."""

    steps: Int32 = prop(CELL_PRIVATE)
    cell_only = True


TYPES = [Host, Guest, Avatar, Spark]


class HostBase(Base, of=Host):
    """Acts by a timer."""

    judge: Judge

    def on_created(self) -> None:
        """Begins."""
        self.rng = self.judge.world.rng(f"host {self.number}")
        self.haste = self.rng.choice([0.5, 0.55, 0.75])
        self.timer(self.rng.uniform(0.0, 1.0))

    def on_timer(self, number: int) -> None:
        """Does something, and goes on later. One act may be under way while the next begins."""
        if self.judge.is_working:
            self._engine.guarded("act", self.act, ())

    async def act(self) -> None:
        """Does something."""
        self.timer(self.rng.choice([0.05, 0.3, 1.0]))
        what, live = self.rng.random(), self.judge.live()
        if what < 0.45 and len(live) < INSTANCES_MAX:
            await self._make()
        elif what < self.haste and live:
            await self._end(self.rng.choice(live))
        elif what < 0.9 and live:
            await self._write(self.rng.choice([*live, PLAZA]))
        elif what < 0.93 and self.judge.ending:
            await self._end(self.rng.choice(sorted(self.judge.ending)))
        elif what > 0.98 and self._engine.life is BaseLife.ALIVE:
            self.create(Host, number=self.rng.randrange(1 << 30))
            self.destroy()

    async def _make(self) -> None:
        try:
            data = {"first": self.judge.token()}
            name = await self.create_space("party", bounds=BOUNDS, data=data, timeout=self.rng.choice([0.3, 2.0, 30.0]))
        except CallTimeout:
            self.judge.count("timeout")
            return
        except SpaceFailed as problem:
            self.judge.fail(str(problem))
            return
        self.judge.make(name)
        guests = len([each for each in self.judge.homes if each > 0])
        if self._engine.life is BaseLife.ALIVE and guests < GUESTS_MAX:
            try:
                await self.create(Guest, space=name, position=self.judge.place(self.id), timeout=30.0)
            except CreationFailed as problem:
                self.judge.refuse(name, str(problem), self.id)
            except CallTimeout:
                self.judge.count("timeout of a guest")

    async def _write(self, name: str) -> None:
        wait = self.set_space_data(name, self.judge.data(self.rng), timeout=30.0)
        if self.rng.random() < 0.5:
            try:
                await wait
            except (CallTimeout, SpaceFailed):
                self.judge.count("data not set")

    async def _end(self, name: str) -> None:
        self.judge.ending.add(name)
        wait = self.end_space(name, timeout=30.0)
        if self.rng.random() < 0.5:
            try:
                await wait
            except CallTimeout:  # the end is asked for all the same, until there is an answer
                self.judge.count("timeout of an end")


class BodyBase(Base):
    """What guests and players have in common."""

    judge: Judge

    def on_cell_lost(self) -> None:
        """Its space has ended, perhaps: back to the plaza."""
        if self._engine.life is BaseLife.ALIVE:
            self.create_cell(PLAZA, self.judge.place(self.id))

    def on_cell_failed(self, reason: str) -> None:
        """The same."""
        self.on_cell_lost()


class GuestBase(BodyBase, of=Guest):
    """A guest."""

    def on_cell_failed(self, reason: str) -> None:
        """It was to be in an instance: its host gets the reason."""


class AvatarBase(BodyBase, Proxy, of=Avatar):
    """A player."""

    def on_client_ready(self) -> None:
        """It is in."""
        self.create_cell(PLAZA, self.judge.place(self.id))

    def on_client_lost(self, reason: ClientLoss) -> None:
        """It has left, or was lost."""
        self.judge.is_dismissed.add(self.id)
        self.destroy()


class Being(Cell):
    """A body that acts by a timer."""

    judge: Judge

    def on_created(self) -> None:
        """Begins."""
        self.judge.come(self.id)
        self.timer(self.judge.rng(self.id).uniform(0.0, 0.5), number=1)

    async def on_timer(self, number: int) -> None:  # type: ignore[override]
        """Acts, and goes on later."""
        rng = self.judge.rng(self.id)
        self.timer(rng.choice([0.1, 0.3, 0.8]), number=1)
        if self.judge.is_working:
            self.steps += 1
            await self.act(rng.random())

    async def act(self, what: float) -> None:
        """Walks, or jumps."""
        if what < 0.3:
            space = self.judge.somewhere(self.id)
            self.judge.depart(self.id, self.space, space)
            self.teleport(space, self.judge.place(self.id))
        elif what < 0.6:
            self.move_to(self.judge.place(self.id), 20.0)
        elif what > 0.98:
            self.set_space_data(self.judge.data(self.judge.rng(self.id)))

    def on_space_data(self, key: str, value: Any) -> None:
        """See Judge."""
        self.judge.notes.read(("entity", self.id, self.judge.visits[self.id]), self.space, key, value)

    def on_teleported(self) -> None:
        """It is there."""
        self.judge.arrive(self.id, self.space)

    def on_teleport_failed(self, reason: str) -> None:
        """It is where it was."""
        self.judge.stay(self.id, self.space, reason)


class GuestCell(Being, of=Guest):
    """Makes sparks, and instances."""

    async def act(self, what: float) -> None:
        """See Being."""
        judge = self.judge
        if 0.6 < what < 0.65 and len([each for each in judge.homes if each < 0]) < SPARKS_MAX:
            self._spark()
        elif 0.65 < what < 0.7 and len(judge.live()) < INSTANCES_MAX:
            try:
                judge.make(await self.create_space("den", bounds=BOUNDS))
            except (CallTimeout, SpaceFailed) as problem:
                judge.fail(str(problem))
        elif 0.7 < what < 0.72 and self.space in judge.live():
            judge.ending.add(self.space)
            self.end_space(self.space)
        else:
            await super().act(what)

    def _spark(self) -> None:
        try:
            self.spawn(Spark)
        except UsageError as problem:
            if "no entity ids are left" not in str(problem):
                raise


class AvatarCell(Being, of=Avatar):
    """A player."""


class SparkCell(Being, of=Spark):
    """Ends by itself, or with its space."""

    async def act(self, what: float) -> None:
        """See Being."""
        if what > 0.97:
            self.judge.is_dismissed.add(self.id)
            self.destroy()
        else:
            await super().act(what)


def _populate(hosts: int, guests: int, server: Server) -> None:
    for number in range(hosts):
        server.create(Host, number=number)
    for number in range(guests):
        server.create(Guest, space=PLAZA, position=(number - 2.0, 0.0, 0.0))


def game_of(judge: Judge, hosts: int, guests: int) -> LoadedGame:
    """The game with this judge."""
    parts: dict[str, Any] = {
        name: {side: type(each.__name__, (each,), {"judge": judge}) for side, each in sides.items()}
        for name, sides in parts_of(TYPES).items()
    }
    policy = Game(
        player=Avatar,
        spaces=[Space(PLAZA, bounds=BOUNDS)],
        on_ready=partial(_populate, hosts, guests),
        area_radius_m=15.0,
        ghost_distance_m=15.0,
        top_speed=30.0,
    )
    return LoadedGame(build(TYPES).checked(), policy, parts)
