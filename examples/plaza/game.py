"""What they do. Read it from the top: walking is the engine's, the rest is here.

The one thing to keep in mind: another entity may live in another process. So nothing here changes another entity; it
looks at what it can see of it (`self.near`, `self.entity`), then calls a method of it, and the other does its own part,
wherever it is by then. Picking a thing up is the smallest example: the avatar asks, the thing gives itself away, once.
"""

from __future__ import annotations

import math
from random import Random

from terrazzo import (
    Base,
    Cell,
    Client,
    Game,
    Proxy,
    Ref,
    Server,
    Space,
    Text,
    UInt16,
    UInt32,
    Vector3,
    exposed,
    remote,
)

from .entities import Avatar, Creature, Door, Item, Thing

REACH_M = 4.0
"""How near one must be to pick a thing up or to go through a door."""
STRIDE_S = 0.2
CREATURE_SPEED = 3.0
TOO_FAR_FROM_HOME_M = 40.0

PLAZA = Space("plaza", bounds=(-200.0, -200.0, 200.0, 200.0))
HALL = Space("hall", bounds=(-60.0, -60.0, 60.0, 60.0))


class AvatarBase(Proxy, of=Avatar):
    """The part of a player that stays where it is: it holds the connection and brings the body into the world."""

    def __init__(self) -> None:
        self._bound_for: tuple[str, Vector3] | None = None

    def on_client_ready(self) -> None:
        """The player's program is there: give it a body, where it was when it left, or near the fountain."""
        if self.last_place is not None:
            self.create_cell()
        else:
            start = Random(self.id)
            self.create_cell(PLAZA.name, (start.uniform(-20, 20), 0.0, start.uniform(-20, 20)))

    @remote
    def go_to(self, space: Text, position: Vector3) -> None:
        """Leave the space the body is in, and come up in another."""
        self._bound_for = (space, position)
        self.destroy_cell()

    def on_cell_lost(self) -> None:
        """The body is gone; if it was on its way through a door, there is a new one behind it."""
        if self._bound_for is not None:
            (space, position), self._bound_for = self._bound_for, None
            self.create_cell(space, position)


class AvatarCell(Cell, of=Avatar):
    """The body of a player."""

    @exposed(rate=2)
    def say(self, words: Text) -> None:
        """Tell everybody who sees this avatar."""
        words = words.strip()[:200]
        if words:
            self.everyone.on_said(words)

    @exposed(rate=2)
    def paint(self, colour: UInt32) -> None:
        """Put on another colour."""
        self.colour = colour & 0xFFFFFF

    @exposed(rate=5)
    def pick_up(self) -> None:
        """Take the nearest thing within reach. It decides: somebody else may have been quicker."""
        for other in self.near(REACH_M):
            if isinstance(other, ThingCell):
                other.be_taken(self.me)
                return
        self.client.on_told("There is nothing here to pick up.")

    @exposed(rate=5)
    def drop(self, place: UInt16) -> None:
        """Throw what is at this place of the bag away."""
        if place < len(self.bag):
            self.bag.pop(place)

    @exposed(rate=2)
    def go_through(self) -> None:
        """Use the nearest door within reach."""
        for other in self.near(REACH_M):
            if isinstance(other, DoorCell):
                other.let_through(self.me)
                return
        self.client.on_told("There is no door here.")

    @remote
    def receive(self, kind: UInt32, count: UInt16) -> None:
        """Put something into the bag, onto a pile of its kind if there is one."""
        for item in self.bag:
            if item.kind == kind:
                item.count = min(item.count + count, 0xFFFF)
                break
        else:
            self.bag.append(Item(kind=kind, count=count))
        self.client.on_told(f"You have picked up {count} of kind {kind}.")

    @remote
    def pass_door(self, space: Text, position: Vector3) -> None:
        """The door is open: go."""
        self.base.go_to(space, position)


class AvatarClient(Client, of=Avatar):
    """What a player's program must be able to hear."""

    @remote
    def on_said(self, words: Text) -> None:
        """This avatar said something."""

    @remote
    def on_told(self, words: Text) -> None:
        """A word from the game to this player alone."""


class CreatureBase(Base, of=Creature):
    """A creature has a base so that it can be brought back when its cell dies."""


class CreatureCell(Cell, of=Creature):
    """Walks straight on, turns now and then, and does not stray far from home."""

    def on_created(self) -> None:
        """Begin to walk."""
        self.home = self.position
        self._turn()
        self.timer(STRIDE_S, repeat=STRIDE_S)

    def on_timer(self, number: int) -> None:
        """One stride; timers go along when the creature walks into another cell."""
        chance = Random(f"{self.id} {self.position.x:.3f} {self.position.z:.3f}")
        if chance.random() < 0.03 or self.position.distance_to(self.home) > TOO_FAR_FROM_HOME_M:
            self._turn()
        step = self.position + self.heading * (CREATURE_SPEED * STRIDE_S)
        x0, z0, x1, z1 = PLAZA.bounds
        self.position = Vector3(min(max(step.x, x0 + 1), x1 - 1), 0.0, min(max(step.z, z0 + 1), z1 - 1))

    def _turn(self) -> None:
        chance = Random(f"turn {self.id} {self.position.x:.3f} {self.position.z:.3f}")
        homewards = self.home - self.position
        if homewards.length > TOO_FAR_FROM_HOME_M:
            angle = math.atan2(homewards.x, homewards.z) + chance.uniform(-0.5, 0.5)
        else:
            angle = chance.uniform(-math.pi, math.pi)
        self.heading = Vector3(math.sin(angle), 0.0, math.cos(angle))
        self.yaw = angle


class ThingBase(Base, of=Thing):
    """Goes when its body does."""

    def on_cell_lost(self) -> None:
        """It was picked up."""
        self.destroy()


class ThingCell(Cell, of=Thing):
    """Gives itself to the first who asks."""

    def __init__(self) -> None:
        self._is_taken = False

    @remote
    def be_taken(self, by: Ref) -> None:
        """Go into somebody's bag. Whoever asks later in the same moment asks in vain."""
        if not self._is_taken:
            self._is_taken = True
            self.ref(by).receive(self.kind, self.count)
            self.destroy()


class DoorBase(Base, of=Door):
    """Stands for ever."""


class DoorCell(Cell, of=Door):
    """Sends whoever asks to where it leads."""

    @remote
    def let_through(self, who: Ref) -> None:
        """Open for somebody."""
        self.ref(who).pass_door(self.to_space, self.to_position)


def populate(server: Server) -> None:
    """What is there from the start: creatures, things to pick up, and the two doors."""
    chance = Random(7)
    for number in range(30):
        place = (chance.uniform(-150, 150), 0.0, chance.uniform(-150, 150))
        server.create("Creature", space=PLAZA.name, position=place, species=number % 4)
    for number in range(40):
        place = (chance.uniform(-150, 150), 0.0, chance.uniform(-150, 150))
        server.create("Thing", space=PLAZA.name, position=place, kind=1 + number % 5)
    server.create(
        "Door", space=PLAZA.name, position=(0.0, 0.0, 30.0), to_space=HALL.name, to_position=Vector3(0, 0, -20)
    )
    server.create(
        "Door", space=HALL.name, position=(0.0, 0.0, -30.0), to_space=PLAZA.name, to_position=Vector3(0, 0, 20)
    )


GAME = Game(player=Avatar, spaces=[PLAZA, HALL], on_ready=populate)
