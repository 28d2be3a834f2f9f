"""A BaseApp with all its peers: managers and a DBApp that answer as a test sets them, a CellApp with a true
switchboard, clients with fake sessions. Time moves only with `step`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    BASE,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    Array,
    Bool,
    Cell,
    Client,
    EntityType,
    Int16,
    Int32,
    Record,
    Text,
    UInt16,
    build,
    exposed,
    field,
    prop,
    remote,
)
from terrazzo.base import Base, Proxy, Server
from terrazzo.base.baseapp import BaseApp
from terrazzo.base.farewells import ClientLoss
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.services import ClientPorts
from terrazzo.errors import ValueRejected
from terrazzo.game import Game, LoadedGame, Space, parts_of
from terrazzo.schema.model import Side
from terrazzo.schema.record import encode_record
from terrazzo.sim.validation import violations_of
from terrazzo.sync import protocol
from terrazzo.wire.client import Closed, Connected, Reason, Received
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId, life_of
from terrazzo.wire.messages import REGISTRY, Message, Refusal
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.base_cell import CellData, CreateReal, RealCreated
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.base_db import Ids, LoggedOff, LogOffRecorded, Save, Saved, WantIds
from terrazzo.wire.pairs.basemgr_base import BaseAppFound, CreateProxy, FindBaseApp, Home, Locate, Located, ProxyCreated
from terrazzo.wire.pairs.names import FindName, NameFound, NameRegistered, RegisterName
from terrazzo.wire.pairs.spaces import SpaceChanges, SpaceChangesMade, SpaceOutcome
from terrazzo.wire.pairs.stored import DeleteStored, LoadStored, StoredDeleted, StoredRefused
from tests.fake_host import FakeHost

EVENTS: list[tuple[Any, ...]] = []
"""The hooks and calls of the game's code, in order."""

RAISE: set[str] = set()
"""Callbacks that fail."""


def note(part: Base, name: str, *args: Any) -> None:
    EVENTS.append((name, *args))
    if name in RAISE:
        raise RuntimeError(f"the game's {name} fails")


class Stamp(Record):
    value: Int16
    is_fake: Bool = field(default=False, to=BASE)


class Avatar(EntityType):
    name: Text = prop(ALL_CLIENTS, saved=True)
    hp: Int16 = prop(ALL_CLIENTS, default=100)
    gold: Int32 = prop(BASE_AND_CLIENT, saved=True)
    letters: Array[Int32] = prop(BASE_AND_CLIENT)
    stamps: Array[Stamp] = prop(BASE_AND_CLIENT)
    secret: Int32 = prop(BASE, default=7, saved=True)


class Creature(EntityType):
    species: UInt16 = prop(ALL_CLIENTS)
    home: Int32 = prop(CELL_PRIVATE)
    mood: Int32 = prop(BASE, default=3)


class AvatarBase(Proxy, of=Avatar):
    def on_loaded(self) -> None:
        note(self, "on_loaded")

    def on_client_ready(self) -> None:
        note(self, "on_client_ready")
        if self.last_place is None:
            self.create_cell("plaza", (1.0, 0.0, 2.0), (0.5, 0.25, 0.125))
        else:
            self.create_cell()

    def on_client_back(self) -> None:
        note(self, "on_client_back")

    def on_client_lost(self, reason: ClientLoss) -> None:
        note(self, "on_client_lost", reason)
        super().on_client_lost(reason)

    def on_cell_created(self) -> None:
        note(self, "on_cell_created")

    def on_cell_failed(self, reason: str) -> None:
        note(self, "on_cell_failed", reason)

    def on_cell_lost(self) -> None:
        note(self, "on_cell_lost")

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        note(self, "on_call_failed", entity, method, reason)

    @exposed(rate=3)
    def buy(self, price: Int32) -> None:
        note(self, "buy", price)
        self.gold -= price

    @remote
    def give(self, amount: Int32) -> None:
        note(self, "give", amount)
        self.gold += amount


class AvatarCell(Cell, of=Avatar):
    @exposed(rate=2)
    def say(self, words: Text) -> None: ...

    @exposed(to=ALL_CLIENTS)
    def poke(self, strength: Int16) -> None: ...

    @remote
    def heal(self, amount: Int16) -> None: ...


class AvatarClient(Client, of=Avatar):
    @remote
    def on_welcome(self, count: Int32) -> None: ...

    @remote(reliable=False)
    def on_wind(self, strength: Int16) -> None: ...


class CreatureBase(Base, of=Creature):
    def on_cell_created(self) -> None:
        note(self, "creature on_cell_created", self.id)

    def on_cell_failed(self, reason: str) -> None:
        note(self, "creature on_cell_failed", reason)


TYPES: list[type[EntityType]] = [Avatar, Creature]
SCHEMA = build(TYPES).checked()
SPACES = [Space("plaza"), Space("hall")]
AVATAR, CREATURE = SCHEMA["Avatar"], SCHEMA["Creature"]
METHODS = protocol.MethodTable(SCHEMA)

BASE_ID = AppId(AppKind.BASE_APP, 1, 1)
CELL_ID = AppId(AppKind.CELL_APP, 1, 1)
MANAGERS = {kind: AppId(kind, 0, 1) for kind in (AppKind.BASE_APP_MGR, AppKind.DB_APP, AppKind.CELL_APP_MGR)}
BASE_MGR, DB, CELL_MGR = MANAGERS.values()


class FakeSession:
    def __init__(self, id: int) -> None:
        self.id = id
        self.sent: list[bytes] = []
        self.unreliable: list[bytes] = []
        self.heard_at = 0.0
        self.probes = 0
        self._is_closed = False
        self.is_admitted = False
        self.lane: tuple[int, int, int] | None = None

    def admit(self) -> None:
        self.is_admitted = True

    def probe(self) -> None:
        self.probes += 1

    def send(self, message: bytes, *, reliable: bool = True) -> bool:
        assert not self._is_closed, "said after the end"
        if not reliable and len(message) > 1024:
            raise ValueRejected("an unreliable message has at most 1024 bytes")
        if len(message) > 1 << 20:
            raise ValueRejected("too large")
        (self.sent if reliable else self.unreliable).append(message)
        return True

    def send_many(self, messages: list[bytes], *, reliable: bool = True) -> bool:
        if any(len(message) > 1 << 20 for message in messages):
            raise ValueRejected("too large")
        return all(self.send(message, reliable=reliable) for message in list(messages))

    def set_lane(self, first_byte: int, size: int, tag: int) -> None:
        assert not self._is_closed
        self.lane = (first_byte, size, tag)

    def clear_lane(self) -> None:
        self.lane = None

    def has_lane(self) -> bool:
        return self.lane is not None

    def close(self, now: float) -> None:
        self._is_closed = True

    def is_closed(self) -> bool:
        return self._is_closed

    def kinds(self) -> list[int]:
        return [message[0] for message in self.sent]


class FakeEndpoint:
    def __init__(self) -> None:
        self.queue: list[Any] = []
        self.rows = b""

    def events(self) -> list[Any]:
        events, self.queue = self.queue, []
        return events

    def take_rows(self) -> bytes:
        rows, self.rows = self.rows, b""
        return rows


class FakeCellApp:
    """A CellApp as far as bases see it: parts with true mailboxes."""

    def __init__(self, town: Town, id: AppId) -> None:
        self.id = id
        self.outbox = Outbox()
        self.board = Switchboard(id, town.host, self.outbox, self)
        self.created: list[CreateReal] = []
        self.heard: list[Message] = []
        self.mail: list[tuple[int, Message]] = []
        self.answer: Callable[[CreateReal], Message | str | None] = lambda request: RealCreated()
        self.is_reachable = True
        self._number = 0

    def on_message(self, source: AppId, message: Message) -> None:
        if isinstance(message, Frame | Frames | Astray):
            self.board.on_message(source, message)
        elif isinstance(message, Request):
            request = REGISTRY.decode_nested(message.item)
            assert isinstance(request, CreateReal)
            self.created.append(request)
            answer = self.answer(request)
            if isinstance(answer, RealCreated) and not self.has_made(request):
                self.make(request)
            self._number = message.number
            reply_to(self.outbox, source, message.number, answer)
        else:
            self.heard.append(message)

    def answer_late(self) -> None:
        """What was asked last has been done after all."""
        self.make(self.created[-1])
        reply_to(self.outbox, BASE_ID, self._number, RealCreated())

    def make(self, request: CreateReal) -> None:
        part = PartId(EntityId(request.entity), Part.CELL)
        self.board.create(part, life=request.life)
        base = PartId(EntityId(request.entity), Part.BASE)
        self.board.learn(base, 0, BASE_ID)
        self.board.pin(part, base)

    def has_made(self, request: CreateReal) -> bool:
        place = self.board.places.get(PartId(EntityId(request.entity), Part.CELL))
        return place is not None and life_of(place.version) == request.life

    def say(self, entity: int, message: Message, to: PartId | None = None) -> None:
        """From the cell part of an entity to its base."""
        part = PartId(EntityId(entity), Part.CELL)
        self.board.send(part, to or PartId(EntityId(entity), Part.BASE), REGISTRY.encode(message))

    def end(self, entity: int, *, hp: int = 42, name: str = "Ann") -> None:
        """The cell part sends its last message and ends."""
        self.say(entity, cell_data(hp=hp, name=name, is_last=True))
        self.board.destroy(PartId(EntityId(entity), Part.CELL))

    def on_tick(self) -> None:
        for part in [part for part, box in self.board.boxes.items() if box.inbox]:
            for _, payload in self.board.take(part):
                message = REGISTRY.decode_nested(payload)
                assert not isinstance(message, Refusal)
                self.mail.append((part.entity, message))
        self.board.on_tick()

    def got(self, kind: type[Message]) -> list[Any]:
        return [message for _, message in self.mail if isinstance(message, kind)]

    def locate(self, part: PartId) -> None: ...

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None: ...

    def on_ended(self, part: PartId) -> None: ...


def reply_to(outbox: Outbox, peer: AppId, number: int, answer: Message | str | None) -> None:
    if isinstance(answer, str):
        outbox.send(peer, RequestRefused(number, answer))
    elif answer is not None:
        outbox.send(peer, Reply(number, REGISTRY.encode(answer)))


def cell_data(*, hp: int = 100, name: str = "Ann", is_last: bool = False) -> CellData:
    values = {"name": name, "hp": hp}
    row = AVATAR.cell_layout.row.encode([values[each] for each in AVATAR.cell_layout.names])
    return CellData("hall", (5.0, 6.0, 7.0), (1.5, 0.0, 0.5), row, is_last)


class Town:
    """The app and its surroundings."""

    def __init__(
        self, *, linked: bool = True, on_ready: Callable[[Any], None] | None = None, reconnect_s: float = 0.0
    ) -> None:
        EVENTS.clear()
        RAISE.clear()
        self.is_forced = False
        """A test has put the app into a state that no message leads to: invariants are not checked any more."""
        self.host = FakeHost()
        policy = Game(player=Avatar, spaces=SPACES, on_ready=on_ready, reconnect_s=reconnect_s)
        game = LoadedGame(SCHEMA, policy, parts_of(TYPES))
        self.endpoint = FakeEndpoint()
        entropy = random.Random(7).randbytes
        self.app = BaseApp(
            BASE_ID, self.host, game, [self.endpoint], entropy=entropy, address=ClientPorts("example", 4000, 4001)
        )
        self.cell = FakeCellApp(self, CELL_ID)
        self.said: list[tuple[AppId, Message]] = []
        self.answers: dict[type[Message], Callable[[Any], Message | str | None]] = {
            WantIds: lambda request: Ids(2000, request.count),
            FindBaseApp: lambda request: BaseAppFound(BASE_ID),
            RegisterName: lambda request: NameRegistered(),
            FindName: lambda request: NameFound(None),
            FindEntry: lambda request: Entry(1, CELL_ID),
            Save: lambda request: Saved(request.dbid or 77),
            LoggedOff: lambda request: LogOffRecorded(),
            LoadStored: lambda request: StoredRefused("it is not stored"),
            DeleteStored: lambda request: StoredDeleted(),
            Locate: self._on_locate,
            SpaceChanges: lambda request: SpaceChangesMade(tuple(SpaceOutcome("hall#1") for _ in request.changes)),
        }
        self.replies: list[Message | str] = []
        self._proxies = 999
        if linked:
            for peer in MANAGERS.values():
                self.app.on_link_up(peer)
            self.step()

    # Time.

    def step(self, count: int = 1, seconds: float = 0.1) -> None:
        """Makes ticks of all apps, and delivers their messages."""
        for _ in range(count):
            self.host.now += seconds
            self.app.on_tick()
            assert self.is_forced or [*violations_of(self.app)] == []
            for peer, message in drain(self.app.outbox):
                self._hear(peer, message)
            self.cell.on_tick()
            for peer, message in drain(self.cell.outbox):
                if peer == BASE_ID and self.cell.is_reachable:
                    self.app.on_message(CELL_ID, message)

    def settle(self) -> None:
        """Long enough for every exchange, too short for a time limit."""
        self.step(10, 0.02)

    def _hear(self, peer: AppId, message: Message) -> None:
        if peer == CELL_ID:
            if self.cell.is_reachable:
                self.cell.on_message(BASE_ID, message)
            return
        if isinstance(message, Request):
            request = REGISTRY.decode_nested(message.item)
            assert not isinstance(request, Refusal)
            self.said.append((peer, request))
            answers = Outbox()
            reply_to(answers, BASE_ID, message.number, self.answers[type(request)](request))
            for _, answer in drain(answers):
                self.app.on_message(peer, answer)
        elif isinstance(message, Reply):
            inner = REGISTRY.decode_nested(message.item)
            assert not isinstance(inner, Refusal)
            self.replies.append(inner)
        elif isinstance(message, RequestRefused):
            self.replies.append(message.reason)
        else:
            self.said.append((peer, message))

    def _on_locate(self, request: Locate) -> Located:
        """As BaseAppMgr: every other BaseApp was asked."""
        version = self.cell.board.version_of(PartId(EntityId(request.entity), Part.CELL))
        return Located() if version is None else Located(Home(0, BASE_ID), Home(version, CELL_ID))

    def told(self, kind: type[Message]) -> list[Any]:
        """The messages of this kind for managers and the DBApp."""
        return [message for _, message in self.said if isinstance(message, kind)]

    def logs(self, event: str) -> list[dict[str, object]]:
        return [facts for name, facts in self.host.logged if name == event]

    # Players.

    def log_on(self, dbid: int = 5, record: bytes | None = None) -> ProxyCreated | str:
        """A CreateProxy, and what came of it."""
        if record is None:
            record = encode_record(AVATAR, {"name": "Ann", "gold": 30, "secret": 9}, {})
        self._proxies += 1
        item = REGISTRY.encode(CreateProxy(AVATAR.type_id, dbid, record, self._proxies))
        self.app.on_message(BASE_MGR, Request(1, item))
        self.step()
        answer = self.replies.pop()
        assert isinstance(answer, ProxyCreated | str)
        return answer

    def connect(self, key: bytes, session_id: int = 1) -> FakeSession:
        session = FakeSession(session_id)
        self.endpoint.queue.append(event(Connected, session, key))
        self.step()
        return session

    def hear(self, session: FakeSession, *messages: bytes) -> None:
        """The client sends this."""
        self.endpoint.queue.append(event(Received, session, list(messages)))
        self.step()

    def lose(self, session: FakeSession, reason: Reason = Reason.SILENT, *, by_peer: bool = False) -> None:
        """The session is over."""
        self.endpoint.queue.append(event(Closed, session, reason, by_peer))
        self.step()

    @property
    def server(self) -> Server:
        """What the game's `on_ready` gets."""
        return Server(self.app.game, self.app.factory.create)

    def proxy(self, id: int) -> ProxyEntity:
        proxy = self.app.bases[EntityId(id)]
        assert isinstance(proxy, ProxyEntity)
        return proxy

    def attached(self, **more: Any) -> tuple[ProxyEntity, FakeSession]:
        """A player with a connected client."""
        created = self.log_on(**more)
        assert isinstance(created, ProxyCreated)
        session = self.connect(created.key, created.entity)
        return self.proxy(created.entity), session

    def ready(self, **more: Any) -> tuple[ProxyEntity, FakeSession]:
        """A player with a client that has sent ready: so the game asks for a body."""
        proxy, session = self.attached(**more)
        self.hear(session, READY)
        return proxy, session

    def playing(self, **more: Any) -> tuple[ProxyEntity, FakeSession]:
        """A player with a body, and a client that has received it."""
        proxy, session = self.ready(**more)
        self.settle()
        assert proxy.has_cell
        player = protocol.encode_cell_player(AVATAR, 1, (1.0, 0.0, 2.0), (0.5, 0.0, 0.0), ["Ann", 100])
        self.cell.say(proxy.id, CellToClient(proxy.witness, (player,)))
        self.settle()
        return proxy, session

    def show(self, proxy: ProxyEntity, entity: int, alias: int, type_schema: Any = AVATAR) -> None:
        """The client is shown another entity."""
        self.tell(proxy, protocol.encode_announce(entity, alias, type_schema))

    def tell(self, proxy: ProxyEntity, *messages: bytes) -> None:
        """The cell part sends its client a message."""
        self.cell.say(proxy.id, CellToClient(proxy.witness, messages))
        self.settle()


READY = bytes([protocol.ToServer.READY])
BYE = bytes([protocol.ToServer.BYE])


def event(kind: Any, *args: Any) -> Any:
    """An endpoint's event with a fake session in it."""
    return kind(*args)


def call(entity: int, side: Side, name: str, *args: Any, schema: Any = AVATAR) -> bytes:
    """The bytes of a client's call."""
    method = next(each for each in schema.methods(side) if each.name == name)
    return protocol.with_entity(entity, METHODS.encode_call(schema, side, name, method.encode_args(*args)))


def drain(outbox: Outbox) -> list[tuple[AppId, Message]]:
    """All messages sent so far, decoded."""
    said = []
    for peer, bundles in outbox.drain():
        for bundle in bundles:
            for message in REGISTRY.decode_bundle(bundle):
                assert not isinstance(message, Refusal)
                said.append((peer, message))
    return said
