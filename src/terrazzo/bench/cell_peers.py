"""What CellApps are surrounded by in benchmarks: a game of walkers, a clock, a meter, and BaseApps that only carry.

To a CellApp, a `Carrier` is a BaseApp: a real switchboard with a real base part for each client. It takes the clients'
messages and answers for them: they want what is announced and release what has left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    OWN_CLIENT,
    Array,
    EntityType,
    Int16,
    Int32,
    Proxy,
    Record,
    Text,
    UInt8,
    UInt32,
    Volatile,
    build,
    prop,
)
from terrazzo._speed.rows import read_to_client
from terrazzo.cell import Cell
from terrazzo.cluster.app import ProcessLoad
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.schema.state import State
from terrazzo.sync.protocol import ToClient as Word
from terrazzo.sync.protocol import take_alias
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.log_events import EventName
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import ClientUpdates, ClientWants, CreateReal, SetWitness

CHANGE_S = 5.0
SPACE = 1


class Item(Record):
    """Something worn."""

    kind: UInt32
    count: UInt8 = 1


class Walker(EntityType):
    """The type of all entities."""

    name: Text = prop(ALL_CLIENTS)
    level: UInt8 = prop(ALL_CLIENTS)
    colour: UInt32 = prop(ALL_CLIENTS)
    health: Int16 = prop(ALL_CLIENTS, default=100)
    gear: Array[Item] = prop(ALL_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT)
    volatile = Volatile(position=True, yaw=True)


class WalkerBase(Proxy, of=Walker):
    """Not run here."""


class WalkerCell(Cell, of=Walker):
    """Its health changes again and again."""

    change_s = CHANGE_S
    """How often; 0: never. Of all walkers of a world."""

    def on_created(self) -> None:
        """Each at another moment."""
        if self.change_s:
            self.timer(self.change_s * (self._body.id % 997) / 997, self.change_s)

    def on_timer(self, number: int) -> None:
        """The one change that is sent to every client near."""
        self.health += 1


SCHEMA = build([Walker]).checked()
WALKER = SCHEMA["Walker"]


class Clock:
    """The host of all apps: a time that is set by hand."""

    def __init__(self, seed: int) -> None:
        self.now = 1000.0
        self.rng = Random(seed)
        self.logged: dict[str, int] = {}

    def process_load(self) -> ProcessLoad:
        """Not measured here: a `Meter` is."""
        return ProcessLoad(None)

    def log(self, event: EventName, /, **facts: object) -> None:
        """Counted."""
        self.logged[event] = self.logged.get(event, 0) + 1

    def join(self, peer: AppId) -> None:
        """All are joined."""

    def fence(self, app: AppId) -> None:
        """No app dies here."""


class Meter:
    """Processor time by phase: one runs at any time, or none. Looking at the clock costs too: it is done seldom."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase = ""
        self._since = 0.0

    def enter(self, phase: str) -> None:
        """From now on time counts for this phase; for none if it is ""."""
        now = time.process_time()
        if self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def wrap(self, thing: Any, method: str, phase: str, after: str) -> None:
        """A call of this method of an object is a phase; `after` is what follows it."""
        function: Callable[..., Any] = getattr(thing, method)

        def counted(*args: Any) -> Any:
            self.enter(phase)
            result = function(*args)
            self.enter(after)
            return result

        setattr(thing, method, counted)

    @property
    def total(self) -> float:
        """Of all phases, with the one that runs."""
        running = time.process_time() - self._since if self._phase else 0.0
        return sum(self.seconds.values()) + running


class Carrier(ClusterApp):
    """The stand-in of a BaseApp."""

    def __init__(self, me: AppId, host: Clock) -> None:
        super().__init__(me, host)
        self.switchboard = Switchboard(me, host, self.outbox, self)
        self.reliable_bytes = 0
        self.places_bytes = 0
        self.updates: dict[int, int] = {}
        """How many updates of places each client got."""
        self.heard: set[int] = set()
        """Entities of clients that got anything since the caller last cleared this."""
        self.refused = 0
        self._wants: dict[int, list[tuple[int, int]]] = {}
        self._released: dict[int, list[int]] = {}
        self.on(Frame, self.switchboard.on_message)
        self.on(Frames, self.switchboard.on_message)
        self.on(Astray, self.switchboard.on_message)
        self.on(ClientUpdates, self._on_updates)

    def locate(self, part: PartId) -> None:
        """See Exchange."""

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """See Exchange."""

    def on_ended(self, part: PartId) -> None:
        """See Exchange."""

    def create(self, cell: AppId, entity: int, position: tuple[float, float, float]) -> None:
        """A walker with a client."""
        state = State(WALKER.cell_layout)
        state["name"] = f"walker {entity}"
        base, part = PartId(EntityId(entity), Part.BASE), PartId(EntityId(entity), Part.CELL)
        self.switchboard.create(base)

        def then(_: Message) -> None:
            self.switchboard.learn(part, 1 << 32, cell)
            self.switchboard.pin(base, part)
            self.switchboard.send(base, part, REGISTRY.encode(SetWitness(1, True)))

        def failed(_: object, __: str) -> None:
            self.refused += 1

        real = CreateReal(entity, WALKER.type_id, SPACE, position, (0.0, 0.0, 0.0), state.encode(), 0, 1)
        self.requests.ask(cell, real, timeout_s=1e6, then=then, failed=failed)

    def on_tick(self) -> None:
        """Takes the clients' messages, and answers for them."""
        super().on_tick()
        for part in self.switchboard.with_mail():
            for _, payload in self.switchboard.take(part):
                told = read_to_client(payload)
                if told is not None:
                    self.heard.add(part.entity)
                    for word in told[1]:
                        self._hear(part.entity, word)
        for entity in self._wants.keys() | self._released.keys():
            wants = ClientWants(1, tuple(self._wants.get(entity, ())), tuple(self._released.get(entity, ())))
            base, cell = PartId(EntityId(entity), Part.BASE), PartId(EntityId(entity), Part.CELL)
            self.switchboard.send(base, cell, REGISTRY.encode(wants))
        self._wants.clear()
        self._released.clear()
        self.switchboard.on_tick()

    def _hear(self, entity: int, word: bytes) -> None:
        """A reliable message for one client."""
        self.reliable_bytes += len(word)
        if word[0] == Word.ANNOUNCE:
            other = int.from_bytes(word[1:5], "little", signed=True)
            self._wants.setdefault(entity, []).append((other, 0))
        elif word[0] == Word.LEAVE:
            self._released.setdefault(entity, []).append(take_alias(word[1:])[0])

    def _on_updates(self, source: AppId, message: ClientUpdates) -> None:
        for update in message.read():
            self.heard.add(update.entity)
            self.updates[update.entity] = self.updates.get(update.entity, 0) + 1
            self.places_bytes += sum(map(len, update.messages))
