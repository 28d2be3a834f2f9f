"""The behaviour of the plaza's entities. The engine walks; the rest is here.

The one rule to keep in mind: another entity may live in another process. So no code here changes another entity; it
reads a view of it (`self.entities_in_range`, `self.entity`), then calls a method of it, which runs in the other's own
cell. Picking a thing up is the smallest example: the avatar asks, the thing gives itself away, once. A fight is the
largest: `fight.py`.
"""

from __future__ import annotations

from random import Random

from terrazzo import (
    Base,
    CallFailed,
    Cell,
    Client,
    Game,
    Int32,
    Proxy,
    Ref,
    Server,
    Space,
    Text,
    UInt8,
    UInt16,
    UInt32,
    Vector3,
    exposed,
    remote,
)

from .entities import BEASTS, PEOPLE, Avatar, Creature, Door, Item, Thing
from .fight import LivingCell

REACH_M = 4.0
"""How near an avatar must be to pick a thing up or to go through a door."""
CREATURE_SPEED = 3.0
STROLL_M = 40.0
"""How far from its home a creature strolls."""
REST_S = 4.0
REST = 2
"""The number of the timer of a creature that rests."""

PLAZA = Space("plaza", bounds=(-200.0, -200.0, 200.0, 200.0))
HALL = Space("hall", bounds=(-60.0, -60.0, 60.0, 60.0))


class AvatarBase(Proxy, of=Avatar):
    """The part of a player that stays on its process: it has the connection and asks for the body."""

    def on_client_ready(self) -> None:
        """The player's program is connected: ask for a body, at the last place, or near the fountain."""
        if self.last_place is not None:
            self.create_cell()
        else:
            start = Random(self.id)
            self.create_cell(PLAZA.name, (start.uniform(-20, 20), 0.0, start.uniform(-20, 20)))


class AvatarCell(LivingCell, of=Avatar):
    """The body of a player."""

    @exposed(rate=2)
    def say(self, words: Text) -> None:
        """Send words to all players that see this avatar."""
        words = words.strip()[:200]
        if words:
            self.everyone.on_said(words)

    @exposed(rate=2)
    def paint(self, colour: UInt32) -> None:
        """Put on another colour."""
        self.colour = colour & 0xFFFFFF

    @exposed(rate=5)
    def pick_up(self) -> None:
        """Take the nearest thing within reach. The thing decides: another player may have been quicker."""
        for thing in self.entities_in_range(REACH_M, of=ThingCell):
            thing.be_taken(self.me)
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
        for door in self.entities_in_range(REACH_M, of=DoorCell):
            door.let_through(self.me)
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
        """Called by the door: go to its destination."""
        self.teleport(space, position)

    def on_teleport_failed(self, reason: str) -> None:
        """The teleport failed: the avatar is still in front of the door."""
        self.client.on_told(f"The door leads nowhere just now: {reason}.")

    @exposed(rate=1)
    def take_side(self, side: UInt8) -> None:
        """Side with the people, or with the beasts."""
        if side in (PEOPLE, BEASTS):
            self.side = side

    @exposed(rate=2)
    async def size_up(self, target: Int32) -> None:
        """Find out how strong another fighter is, which may be in another cell: ask, and await the answer.

        If this avatar moves to another cell meanwhile, the method ends here with EntityMoved, which is a CallFailed:
        the player gets a text, and can ask again. That is good enough for a question; what must not be lost belongs in
        a property, as the blows of a fight."""
        if not isinstance(self.entity(target), LivingCell):
            self.tell("There is nobody to look at.")
            return
        try:
            begun, hits = await self.ref(target).tell_strength(timeout=2.0)
        except CallFailed:
            self.tell("You cannot tell how strong it is.")
        else:
            self.tell(f"It has struck {begun} times; {hits} blows were felt.")

    def tell(self, words: str) -> None:
        """See LivingCell."""
        self.client.on_told(words)


class AvatarClient(Client, of=Avatar):
    """The methods that the server calls on a player's program."""

    @remote
    def on_said(self, words: Text) -> None:
        """This avatar speaks."""

    @remote
    def on_told(self, words: Text) -> None:
        """A text from the game to this player alone."""


class CreatureBase(Base, of=Creature):
    """A creature has a base so that it can be brought back when it is killed, or when its cell dies."""

    def on_cell_lost(self) -> None:
        """It was killed: make another one."""
        self.create_cell()


class CreatureCell(LivingCell, of=Creature):
    """Strolls from point to point around its home, and rests at each; strikes back."""

    def on_created(self) -> None:
        """Begin to walk."""
        super().on_created()
        self.home = self.position
        self._stroll()

    def on_reached(self, number: int) -> None:
        """At its goal: rest a while. Walks and timers move with the creature to another cell."""
        self.timer(self._chance().uniform(0.0, REST_S), number=REST)

    def on_timer(self, number: int) -> None:
        """Rested enough; or a blow of its own is due."""
        if number == REST:
            self._stroll()
        else:
            super().on_timer(number)

    def on_struck(self, by: Ref) -> None:
        """Strike back at the attacker, if this cell has a view of it."""
        attacker = self.entity(by.id)
        if not self.objection(attacker):
            self.swing(attacker)

    def die(self) -> None:
        """The body goes."""
        self.destroy()

    def _stroll(self) -> None:
        chance = self._chance()
        x0, z0, x1, z1 = PLAZA.bounds
        x = self.home.x + chance.uniform(-STROLL_M, STROLL_M)
        z = self.home.z + chance.uniform(-STROLL_M, STROLL_M)
        self.move_to((min(max(x, x0), x1), 0.0, min(max(z, z0), z1)), CREATURE_SPEED)

    def _chance(self) -> Random:
        """A random stream of its own, the same each time that the same world is simulated again."""
        return Random(f"{self.id} {self.position.x:.3f} {self.position.z:.3f}")


class ThingBase(Base, of=Thing):
    """Goes when its body does."""

    def on_cell_lost(self) -> None:
        """It was picked up."""
        self.destroy()


class ThingCell(Cell, of=Thing):
    """Gives itself to the first avatar that asks."""

    def __init__(self) -> None:
        self._is_taken = False

    @remote
    def be_taken(self, by: Ref) -> None:
        """Go into an avatar's bag. An avatar that asks later in the same moment gets nothing."""
        if not self._is_taken:
            self._is_taken = True
            self.ref(by).receive(self.kind, self.count)
            self.destroy()


class DoorBase(Base, of=Door):
    """Stands for ever."""


class DoorCell(Cell, of=Door):
    """Sends an avatar that asks to its destination."""

    @remote
    def let_through(self, who: Ref) -> None:
        """Open for an avatar."""
        self.ref(who).pass_door(self.to_space, self.to_position)


def populate(server: Server) -> None:
    """Makes the first entities: creatures, things to pick up, and the two doors."""
    chance = Random(7)
    for number in range(30):
        place = (chance.uniform(-150, 150), 0.0, chance.uniform(-150, 150))
        server.create("Creature", space=PLAZA.name, position=place, species=number % 4, side=BEASTS)
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
