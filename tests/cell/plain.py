"""A small game for the tests of CellApps."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    CELL_PRIVATE,
    CELL_PUBLIC,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Client,
    ComponentType,
    EntityType,
    Int16,
    Int32,
    Proxy,
    Record,
    Ref,
    Text,
    UInt8,
    Volatile,
    build,
    component,
    exposed,
    field,
    level,
    prop,
    remote,
)
from terrazzo.cell import Cell
from terrazzo.errors import CallFailed, EntityMoved
from terrazzo.game import Game, LoadedGame, Space
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Side

HALL_BOUNDS = (-100.0, -100.0, 100.0, 100.0)


class Item(Record):
    kind: UInt8
    count: Int32 = 1


class Gem(Record):
    """A property with a different share for each receiver."""

    kind: UInt8
    worth: Int32 = field(default=1, to=OWN_CLIENT)
    hardness: UInt8 = field(default=2, to=CELL_PUBLIC)
    flaw: Text = field(default="?", to=CELL_PRIVATE)


class Health(ComponentType):
    hp: Int16 = prop(ALL_CLIENTS, default=10)


class HealthCell(Cell, of=Health):
    @remote
    def heal(self, by: Int16) -> None:
        """What a component can do is what its entity can do."""
        self.hp += by
        self.client.health.on_healed(by)
        self.timer(0.2, number=by)


class HealthClient(Client, of=Health):
    @remote
    def on_healed(self, by: Int16) -> None: ...


class Avatar(EntityType):
    health: Health = component(Health)
    name: Text = prop(ALL_CLIENTS, default="nobody")
    steps: Int32 = prop(ALL_CLIENTS)
    bag: Array[Item] = prop(ALL_CLIENTS)
    gems: Array[Gem] = prop(ALL_CLIENTS)
    crown: Gem = prop(ALL_CLIENTS, latest_only=True)
    pose: UInt8 = prop(OTHER_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT)
    purse: Array[Int32] = prop(OWN_CLIENT)
    guild: Text = prop(CELL_PUBLIC, default="none")
    luck: Int16 = prop(CELL_PRIVATE, default=7)

    badge: Int32 = prop(ALL_CLIENTS, detail="near")
    crest: Array[Int32] = prop(OTHER_CLIENTS, detail="middle")
    aim: Array[Int32] = prop(ALL_CLIENTS, latest_only=True)
    shiver: Array[Int32] = prop(ALL_CLIENTS, reliable=False)

    volatile = Volatile(position=True, yaw=True, pitch=True, roll=True)
    detail_levels = (level("near", 20.0, 5.0), level("middle", 50.0, 5.0))


class AvatarBase(Proxy, of=Avatar):
    @remote
    def note(self, words: Text) -> None: ...


class AvatarCell(Cell, of=Avatar):
    def __init__(self) -> None:
        self.lucky = self.luck
        self.events: list[object] = []

    def on_created(self) -> None:
        self.events.append("created")

    def on_client_attached(self) -> None:
        self.events.append("attached")

    def on_client_detached(self) -> None:
        self.events.append("detached")

    def on_entered_cell(self) -> None:
        self.events.append("entered cell")

    def on_reached(self, number: int) -> None:
        self.events.append(("reached", number))

    def on_turned(self, number: int) -> None:
        self.events.append(("turned", number))

    def on_move_failed(self, number: int, reason: str) -> None:
        self.events.append(("move failed", number, reason))

    def on_teleported(self) -> None:
        self.events.append("teleported")

    def on_vehicle_lost(self) -> None:
        self.events.append("vehicle lost")

    def on_teleport_failed(self, reason: str) -> None:
        self.events.append(("teleport failed", reason))

    def on_proximity_entered(self, number: int, other) -> None:
        self.events.append(("near", number, other.id))

    def on_proximity_left(self, number: int, entity: int) -> None:
        self.events.append(("far", number, entity))

    def on_timer(self, number: int) -> None:
        self.gold += number

    def on_move(self, position) -> bool | None:
        return bool(position.x != 13.0)

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        self.events.append((entity, method, reason))

    @exposed
    def say(self, words: Text) -> None:
        self.everyone.on_said(words)

    @exposed(to=Flags.ALL_CLIENTS)
    def poke(self, times: Int32) -> None:
        self.pose = self.caller
        self.events.append(("poked", times))

    @remote
    def hit(self, power: Int32) -> None:
        self.purse.append(power)

    @remote
    def fail(self) -> None:
        self.luck = 1
        raise RuntimeError("this game has a mistake")

    @remote
    def step(self) -> None:
        """One of everything that others see, in an order that a client can check."""
        self.steps += 1
        self.bag.append(Item(kind=1, count=self.steps))
        if len(self.bag) > 4:
            del self.bag[0]
        self.bag[-1].kind = 2
        self.others.on_stepped(self.steps)

    # Calls that return something.

    @remote
    def tell_luck(self, plus: Int16) -> Int32:
        self.events.append("asked")
        return self.luck + plus

    @remote
    def tell_two(self) -> tuple[Int32, Text]:
        return self.luck, self.name

    @remote
    def tell_wrong(self) -> Int16:
        return "much"  # type: ignore[return-value]

    @remote
    def refuse(self) -> Int16:
        raise RuntimeError("it is a secret")

    @remote
    async def relay(self, to: Ref, plus: Int16) -> Int32:
        """Asks another entity first."""
        luck: int = await self.ref(to).tell_luck(plus)
        return 1000 + luck

    async def ask(self, to: Ref | int, method: str, *args: object, timeout: float = 5.0) -> None:
        """Whatever comes of it is in the events; of a move, in a property."""
        try:
            self.events.append(await getattr(self.ref(to), method)(*args, timeout=timeout))
        except EntityMoved as problem:
            self.gold = 13
            self.events.append(problem)
        except CallFailed as problem:
            self.events.append(problem)


class AvatarClient(Client, of=Avatar):
    @remote
    def on_said(self, words: Text) -> None: ...

    @remote
    def on_stepped(self, number: Int32) -> None: ...

    @remote(detail_distance=25.0)
    def on_whispered(self, number: Int32) -> None: ...

    @remote(latest_only=True)
    def on_blinked(self, number: Int32) -> None: ...

    @remote(reliable=False)
    def on_twitched(self, number: Int32) -> None: ...


def plain_game(**policy) -> LoadedGame:
    policy = {"area_radius_m": 80.0, "ghost_distance_m": 100.0, **policy}
    spaces = [Space("plain", bounds=(-500.0, -500.0, 500.0, 500.0)), Space("hall", bounds=HALL_BOUNDS)]
    game = Game(player=Avatar, spaces=spaces, **policy)
    parts = {"Avatar": {Side.BASE: AvatarBase, Side.CELL: AvatarCell, Side.CLIENT: AvatarClient}}
    return LoadedGame(SCHEMA, game, parts)


SCHEMA = build([Avatar]).checked()
AVATAR = SCHEMA["Avatar"]
