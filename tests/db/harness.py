"""A DBApp with a database in memory; the test plays every peer and the store's worker."""

from __future__ import annotations

import random
from typing import Any, TypeVar

from terrazzo.db.bots import BotsDatabase
from terrazzo.db.dbapp import DBApp, DBLimits
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.passwords import Cost, Hasher
from terrazzo.db.store import StoreLane, StoreQueue
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.types import INT32, UNICODE_STRING
from terrazzo.sim.validation import violations_of
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyPlaced
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, LogOnRefused
from tests.fake_host import FakeHost

ME = AppId(AppKind.DB_APP, 0, 1)
LOGIN = AppId(AppKind.LOGIN_APP, 1, 1)
MANAGER = AppId(AppKind.BASE_APP_MGR, 0, 4)
BASE = AppId(AppKind.BASE_APP, 3, 1)
TICK_S = 0.1
CHEAP = Cost(log_n=1, r=1)

AVATAR = EntitySchema(
    "Avatar",
    1,
    (
        Property("name", UNICODE_STRING, Flags.ALL_CLIENTS, persistent=True, identifier=True, database_length=12),
        Property("gold", INT32, Flags.OWN_CLIENT, persistent=True),
    ),
)
ROCK = EntitySchema("Rock", 2, persistent=False)
SCHEMA = Schema((AVATAR, ROCK))

M = TypeVar("M", bound=Message)


class Office:
    """The app and everything around it."""

    def __init__(self, *, me=ME, database=None, allow_new_players=True, limits=None, schema=SCHEMA, has_manager=True):
        self.host = FakeHost()
        self.database = database or MemoryDatabase()
        self.ids: Any = self.database.players if isinstance(self.database, BotsDatabase) else self.database
        """The database that gives the ids of entities."""
        self.store = StoreQueue(self.database, Hasher(random.Random(2).randbytes, CHEAP))
        self.app = DBApp(
            me,
            self.host,
            schema=schema,
            player_type_id=1,
            allow_new_players=allow_new_players,
            store=self.store,
            limits=limits or DBLimits(),
        )
        self.said: dict[AppId, list[Message]] = {}
        self.sought: list[tuple[int, int]] = []
        """What the manager was asked to locate."""
        self._number = 0
        self.tick()
        if has_manager:
            self.app.on_link_up(MANAGER)

    def tick(self, *, works: bool = True, seconds: float = TICK_S) -> None:
        """The store's workers do all they have; then the app's tick."""
        self.host.now += seconds
        for lane in StoreLane if works else ():
            self.store.work(lane)
        self.app.on_tick()
        assert [*violations_of(self.app)] == []
        for peer, bundles in self.app.outbox.drain():
            for bundle in bundles:
                for item in REGISTRY.decode_bundle(bundle):
                    assert isinstance(item, Message)
                    self.said.setdefault(peer, []).append(item)

    def ticks(self, count: int = 8) -> None:
        for _ in range(count):
            self.tick()

    def ask(self, source: AppId, message: Message) -> int:
        self._number += 1
        self.app.on_message(source, Request(self._number, REGISTRY.encode(message)))
        return self._number

    def answer(self, source: AppId, number: int) -> Message | str | None:
        """The answer to a question, the reason of its refusal, or None while there is neither."""
        answers = [item for item in self.said.get(source, []) if getattr(item, "number", None) == number]
        assert len(answers) <= 1, "answered twice"
        for item in answers:
            if isinstance(item, RequestRefused):
                return item.reason
            if isinstance(item, Reply):
                inner = REGISTRY.decode_nested(item.item)
                assert isinstance(inner, Message)
                return inner.sentence if isinstance(inner, LogOnRefused) else inner
        return None

    # What peers do.

    def log_on(self, name: str = "Ada", password: str = "secret", source: AppId = LOGIN) -> int:
        self.ids.next_entity_id = max(self.ids.next_entity_id, 77)  # the first proxy of a test is 77
        return self.ask(source, LogOn(name, password, "192.0.2.7"))

    def placements(self) -> list[tuple[int, PlaceProxy]]:
        """What the manager was asked and has not answered."""
        asked = []
        for item in self.said.pop(MANAGER, []):
            assert isinstance(item, Request)
            inner = REGISTRY.decode_nested(item.item)
            if isinstance(inner, PlaceProxy):
                asked.append((item.number, inner))
            else:
                assert isinstance(inner, Locate)
                self.sought.append((item.number, inner.entity))
        return asked

    def located(self, where: AppId | str | None) -> None:
        """The manager answers what it was asked to locate: found there, not certain, or nowhere."""
        self.ticks(2)
        self.placements()
        sought, self.sought = self.sought, []
        for number, _ in sought:
            if isinstance(where, str):
                self.app.on_message(MANAGER, RequestRefused(number, where))
            else:
                found = Located() if where is None else Located(Home(0, where))
                self.app.on_message(MANAGER, Reply(number, REGISTRY.encode(found)))
        self.ticks(2)

    def place(self, number: int, entity: int = 77) -> None:
        placed = ProxyPlaced(entity, b"key", "198.51.100.1", 4000, 4001, BASE.index)
        self.app.on_message(MANAGER, Reply(number, REGISTRY.encode(placed)))

    def arrive(self, name: str = "Ada", password: str = "secret", entity: int = 77) -> PlaceProxy:
        """A whole log-on; gives what was placed."""
        self.ids.next_entity_id = entity
        number = self.log_on(name, password)
        self.ticks()
        [(asked, place)] = self.placements()
        self.place(asked, entity)
        self.ticks(2)
        assert self.answer(LOGIN, number) == LoggedOn(entity, b"key", "198.51.100.1", 4000, 4001)
        return place

    def leave(self, dbid: int = 1, entity: int = 77) -> None:
        self.ask(BASE, LoggedOff(1, dbid, entity))
        self.ticks(2)
