"""A scripted minute of play, and where its bytes go.

Two dozen players and some creatures in a square with a border through its middle, all in each other's sight: they walk
like bots, speak, lose and win health, change what they wear and carry, shoot. Everything is drawn from the seed. The
cluster is whole (`sim/cluster.py`): what a client gets are the sealed packets of the client channel, and each byte of
them is counted.

**Raw** is what had to be sent, and nothing else: the values of changed properties (of the changed leaf, where it is
nested), arguments of calls, the rows of descriptions, ids of entities that come and go, places as 32-bit floats. What
is more than that has a name in the report:

    names of messages    message id, alias, path of a nested change, numbers of described properties
    packets              the client channel: sequence numbers, acknowledgements, seals
    packing              below zero: places take three to five bytes instead of twelve, angles one instead of four
"""

from __future__ import annotations

from random import Random
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    OWN_CLIENT,
    Array,
    Base,
    Cell,
    Client,
    EntityType,
    Game,
    Int16,
    Int32,
    Proxy,
    Record,
    Space,
    Text,
    UInt8,
    UInt16,
    Volatile,
    build,
    prop,
    remote,
)
from terrazzo.client import ClientApp
from terrazzo.client.bot import Bot
from terrazzo.game import LoadedGame, parts_of
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.world import World
from terrazzo.sync.places import decode_places
from terrazzo.sync.protocol import ToClient, take_alias
from terrazzo.sync.view import ClientView

PLAYERS = 24
CREATURES = 8
HALF_M = 30.0
BOUNDS = (-HALF_M, -HALF_M, HALF_M, HALF_M)
WARM_UP_S = 15.0
MINUTE_S = 60.0
STRIDE_S = 0.5
PLACE_BYTES, ANGLE_BYTES, ID_BYTES, TYPE_BYTES = 12, 4, 4, 2


WORDS = ("Over here!", "Mind the wolf.", "I am hit, come quickly.", "Well done.")


class Item(Record):
    """Something worn or carried."""

    kind: UInt16
    count: UInt8 = 1


class Hero(EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, unique=True)
    health: Int16 = prop(ALL_CLIENTS, default=100)
    gear: Array[Item] = prop(ALL_CLIENTS)
    mana: Int16 = prop(OWN_CLIENT, default=50)
    gold: Int32 = prop(OWN_CLIENT)
    bag: Array[Item] = prop(OWN_CLIENT)
    volatile = Volatile(position=True, yaw=True)


class Wolf(EntityType):
    """A target to shoot at."""

    health: Int16 = prop(ALL_CLIENTS, default=40)
    volatile = Volatile(position=True, yaw=True)


class HeroBase(Proxy, of=Hero):
    """Brings its body in."""

    def on_client_ready(self) -> None:
        """Somewhere."""
        start = Random(self.id)
        self.create_cell("field", (start.uniform(-20, 20), 0.0, start.uniform(-20, 20)))


class HeroCell(Cell, of=Hero):
    """Does something twice a second."""

    def on_created(self) -> None:
        """Each at another moment."""
        start = Random(self.id)
        self.gear = [Item(kind=start.randrange(1000)) for _ in range(4)]
        self.bag = [Item(kind=start.randrange(1000), count=start.randrange(1, 20)) for _ in range(10)]
        self.timer(start.uniform(0.0, STRIDE_S), STRIDE_S)

    def on_timer(self, number: int) -> None:
        """The script: what it does next is drawn from its id and what it has."""
        chance = Random(self.id * 1_000_003 + self.gold)
        self.gold += chance.randrange(1, 5)
        what = chance.random()
        if what < 0.4:
            self.health = chance.randrange(1, 100)
            self.mana = chance.randrange(1, 50)
        elif what < 0.55:
            self.gear[chance.randrange(len(self.gear))].kind = chance.randrange(1000)
        elif what < 0.75:
            self.bag[chance.randrange(len(self.bag))].count = chance.randrange(1, 20)
        elif what < 0.85:
            self.everyone.on_shot(chance.randrange(1000), chance.randrange(100))
        elif what < 0.9:
            self.everyone.on_said(
                chance.choice(["Over here!", "Mind the wolf.", "I am hit, come quickly.", "Well done."])
            )
        else:
            self.client.on_found(chance.randrange(1000))


class HeroClient(Client, of=Hero):
    """The calls that players get."""

    @remote
    def on_said(self, words: Text) -> None:
        """A player near speaks."""

    @remote
    def on_shot(self, target: Int32, power: Int16) -> None:
        """A player near shoots."""

    @remote
    def on_found(self, kind: UInt16) -> None:
        """Something is found."""


class WolfBase(Base, of=Wolf):
    """Nothing to do."""


class WolfCell(Cell, of=Wolf):
    """Walks about."""

    def on_created(self) -> None:
        """Off it goes."""
        self._wander(1)

    def on_reached(self, number: int) -> None:
        """And on."""
        self._wander(number)

    def _wander(self, number: int) -> None:
        chance = Random(self.id * 7919 + number + round(1000 * self.position[0]))
        self.health = chance.randrange(1, 40)
        self.move_to((chance.uniform(-25, 25), 0.0, chance.uniform(-25, 25)), speed=3.0)


class Scale:
    """What one client got: bytes by kind, beside the raw values in them."""

    def __init__(self, seat: Seat) -> None:
        self.packets = 0
        self.messages: dict[str, int] = {}
        self.raw: dict[str, int] = {}
        self._view = seat.app.view
        self._receive, self._apply = seat.app.on_datagram, self._view.apply
        vars(seat.app)["on_datagram"] = self._on_datagram
        vars(self._view)["apply"] = self._on_message

    def _on_datagram(self, data: bytes, now: float) -> None:
        self.packets += len(data)
        self._receive(data, now)

    def _on_message(self, message: bytes) -> Any:
        kind, raw = raw_of(self._view, message)
        self.messages[kind] = self.messages.get(kind, 0) + len(message)
        self.raw[kind] = self.raw.get(kind, 0) + raw
        return self._apply(message)


def raw_of(view: ClientView, message: bytes) -> tuple[str, int]:
    """What a message is about, and how many bytes of it are values."""
    number, body = message[0], message[1:]
    if number == ToClient.PLACES:
        entries = decode_places(body).entries
        return "places", sum(PLACE_BYTES + ANGLE_BYTES * len(entry.angles) for entry in entries)
    if number == ToClient.ANNOUNCE:
        return "coming and going", ID_BYTES + TYPE_BYTES
    if number == ToClient.LEAVE:
        return "coming and going", ID_BYTES
    if number in (ToClient.BASE_PLAYER, ToClient.CELL_PLAYER, ToClient.SPACE, ToClient.MOVED, ToClient.PLACE):
        return "own place", len(body)
    if number == ToClient.DESCRIBE:
        count = take_alias(body)[1][8 + 24]
        return "descriptions", len(take_alias(body)[1]) - 1 - count
    if number < ToClient.NESTED:
        return "others", len(body)
    alias, rest = take_alias(body)
    if number in (ToClient.NESTED, ToClient.SLICE):
        everybody = [*view.others.values(), view.player]
        seen = next(each for each in everybody if each is not None and each.alias == alias)
        change = seen.state.decode_external(rest, is_slice=number == ToClient.SLICE)
        return "changes", len(change.payload)
    return "changes" if number >= 158 else "calls", len(rest)


def play(seed: int, players: int = PLAYERS, seconds: float = MINUTE_S) -> dict[str, Any]:
    """The minute, and its account."""
    types: list[Any] = [Hero, Wolf]
    policy = Game(player=Hero, spaces=[Space("field", bounds=BOUNDS)], on_ready=_populate)
    world = World(seed)
    cluster = Cluster(world, LoadedGame(build(types).checked(), policy, parts_of(types)), cells=2, bases=1)
    world.clock.run_until(3.0)
    seats = [cluster.client(f"hero-{number}", "secret") for number in range(players)]
    for number, seat in enumerate(seats):
        bot = Bot(_Driven(seat.app), world.rng(f"bot {number}"), bounds=lambda space: BOUNDS, talk_every_s=1e9)
        seat.on_step = bot.tick
    world.clock.run_until(3.0 + WARM_UP_S)
    scales = [Scale(seat) for seat in seats]
    started = world.clock.now
    world.clock.run_until(started + seconds)
    return _report(scales, seconds)


class _Driven(ClientApp):
    """The client of a seat, for a bot: its tick is the seat's to call."""

    def __init__(self, app: ClientApp) -> None:
        self.__dict__ = app.__dict__

    def tick(self, now: float) -> None:
        """Not here."""


def _populate(server: Any) -> None:
    for number in range(CREATURES):
        server.create("Wolf", space="field", position=(number * 5.0 - 18.0, 0.0, 3.0))


def _report(scales: list[Scale], seconds: float) -> dict[str, Any]:
    def per_client(counts: list[dict[str, int]]) -> dict[str, float]:
        names = sorted({name for each in counts for name in each})
        return {name: sum(each.get(name, 0) for each in counts) / len(scales) for name in names}

    messages, raw = per_client([each.messages for each in scales]), per_client([each.raw for each in scales])
    total = sum(each.packets for each in scales) / len(scales)
    packing = min(0.0, messages.get("places", 0.0) - raw.get("places", 0.0))
    values = sum(raw.values())
    return {
        "bytes_over_raw": total / values,
        "bytes_per_client": total,
        "bytes_per_client_s": total / seconds,
        "raw_per_client": values,
        "by_kind": {name: {"bytes": messages[name], "raw": raw[name]} for name in messages},
        "rest": {
            "packets": total - sum(messages.values()),
            "names of messages": sum(messages.values()) - values - packing,
            "packing": packing,
        },
    }
