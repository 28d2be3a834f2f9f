"""The base factory: creates bases and registers them, and unregisters each at its end.

    CreateProxy ──▶ read the record ──▶ proxy, key, on_loaded ──▶ ProxyCreated      (a load: any base, without a key)
    Server.create ──▶ checked data ──▶ wait for an id ──▶ base, then its cell part
    the end of a base ──▶ its mailbox ends ──▶ LoggedOff, if the entity is stored

A stored entity has at most one base. A proxy has the id that the DBApp gave it, and is created at once or refused: a
Locate that follows its CreateProxy on the same link finds it. LoggedOff is repeated until it is confirmed
(`logoffs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial

from terrazzo.base.api import Base, Proxy
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.entity_data import EntityData, load_entity_data
from terrazzo.base.limits import WAITING_MAX
from terrazzo.base.logoffs import LogOffs
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.services import ClientServices, EntityServices
from terrazzo.cluster.idstock import IdStock
from terrazzo.errors import DecodeError, UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.classes.parts import bind
from terrazzo.schema.model import EntitySchema, Side
from terrazzo.wire.ids import EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.basemgr_base import CreateProxy, ProxyCreated
from terrazzo.wire.pairs.stored import Alive, AskAlive
from terrazzo.wire.requests import Question


def base_class(game: LoadedGame, schema: EntitySchema) -> type[Base]:
    """The game's class for the base part, or a class of the engine where the game has none."""
    given = game.parts.get(schema.name, {}).get(Side.BASE)
    if given is None:
        kind = Proxy if schema is game.player else Base
        own = type(f"{schema.name}Base", (kind,), {})
        bind(own, schema)
        return own
    if not issubclass(given, Base):
        raise UsageError(f"{given.__name__} must derive from terrazzo.Base or terrazzo.Proxy to run on a BaseApp")
    return given


class BaseFactory:
    """Creates the bases of one BaseApp."""

    def __init__(
        self,
        services: EntityServices,
        clients: ClientServices,
        ids: IdStock,
        log_offs: LogOffs,
        bases: dict[EntityId, BaseEntity],
    ) -> None:
        """`bases` is the registry that the factory keeps."""
        self._services = services
        self._clients = clients
        self._ids = ids
        self._log_offs = log_offs
        self._bases = bases
        self._is_closed = False
        self._schema = services.game.schema
        self._classes = {each.name: base_class(services.game, each) for each in self._schema.entities}
        self._stored: set[tuple[int, int]] = set()  # type and dbid of each stored entity that has a base here

    @property
    def stored(self) -> Set[tuple[int, int]]:
        """Type and dbid of each stored entity that was loaded here."""
        return self._stored

    def close(self) -> None:
        """The server stops: no more bases are created."""
        self._is_closed = True

    def create(self, data: EntityData, then: Callable[[BaseEntity | None], None] = lambda entity: None) -> None:
        """Creates a base, and its cell part if the data has a location; waits for an id if there is none. `then` is
        called with the base, or with None when the server stops."""
        if self._ids.waiting >= WAITING_MAX:
            raise UsageError(f"{WAITING_MAX} entities wait for an id already: is the DBApp there?")
        self._ids.create(partial(self._create, data, then))

    def _create(self, data: EntityData, then: Callable[[BaseEntity | None], None], id: EntityId) -> bool:
        if self._is_closed:
            then(None)
            return False
        entity = self._register(id, data)
        if data.place is not None and entity.life is BaseLife.ALIVE and entity.cell.state is CellPartState.NONE:
            entity.create_cell(None, {})
        then(entity)
        return True

    def _register(self, id: EntityId, data: EntityData) -> BaseEntity:
        part_class = self._classes[data.schema.name]
        entity: BaseEntity
        if issubclass(part_class, Proxy):
            entity = ProxyEntity(self._services, self._clients, id, data, part_class, self.unregister)
        else:
            entity = BaseEntity(self._services, id, data, part_class, self.unregister)
        self._bases[id] = entity
        entity.begin()
        return entity

    def on_create_proxy(self, question: Question) -> None:
        """A player logs on: creates the proxy of the stored entity."""
        message = question.message
        assert isinstance(message, CreateProxy)
        schema = self._schema.by_id.get(message.type_id)
        is_player = message.is_player
        if schema is None or (is_player and not issubclass(self._classes[schema.name], Proxy)):
            problem = f"entity type {message.type_id} cannot have a client: its base part must be a Proxy"
            self._services.requests.refuse(question, problem)
            return
        problem = self._why_not(message)
        data = None
        if not problem:
            report = partial(self._report, schema, message.dbid)
            try:
                data = load_entity_data(schema, message.dbid, message.record, report)
            except DecodeError as error:
                report("the whole record", str(error))
                problem = "the saved state of this entity cannot be read"
        if data is None:
            self._services.requests.refuse(question, problem)
            return
        self._stored.add((message.type_id, message.dbid))
        if is_player:
            self._create_proxy(question, data, message)
        else:
            self._load(question, data, message)

    def _why_not(self, message: CreateProxy) -> str:
        if self._is_closed:
            return "this server is stopping"
        if (message.type_id, message.dbid) in self._stored:
            return "this stored entity is here already"
        if message.entity <= 0 or EntityId(message.entity) in self._bases:
            return f"{message.entity} is not the id of a new entity"
        if message.is_player and self._clients.keys.is_full(self._services.host.now):
            return "this server is full: too many players are waiting to get in"
        return ""

    def _report(self, schema: EntitySchema, dbid: int, name: str, problem: str) -> None:
        self._services.host.log(LogEvent.SAVED_VALUE_MALFORMED, type=schema.name, dbid=dbid, name=name, problem=problem)

    def _create_proxy(self, question: Question, data: EntityData, message: CreateProxy) -> None:
        id = EntityId(message.entity)
        entity = self._register(id, data)
        assert isinstance(entity, ProxyEntity)
        entity.saver.note_stored(message.record)
        key = self._clients.keys.make(id, self._services.host.now, message.holder)
        entity.expect(key)
        entity.run("on_loaded")
        self._services.requests.answer(question, ProxyCreated(id, key))

    def _load(self, question: Question, data: EntityData, message: CreateProxy) -> None:
        """The game loads a stored entity: no client comes."""
        entity = self._register(EntityId(message.entity), data)
        entity.saver.note_stored(message.record)
        if entity.life is BaseLife.ALIVE:
            entity.run("on_loaded")
        self._services.requests.answer(question, ProxyCreated(entity.id, b""))

    def on_ask_alive(self, question: Question) -> None:
        """The DBApp asks whether the base of a stored entity is there."""
        message = question.message
        assert isinstance(message, AskAlive)
        entity = self._bases.get(EntityId(message.entity))
        self._services.requests.answer(question, Alive(entity is not None and entity.life is BaseLife.ALIVE))

    def unregister(self, entity: BaseEntity) -> None:
        """The base ends; it is saved."""
        del self._bases[entity.id]
        if isinstance(entity, ProxyEntity):
            entity.leave_table()
        self._services.names.on_gone(entity.id)
        self._services.switchboard.destroy(entity.part_id)
        if entity.data.dbid:
            type_id, dbid = entity.schema.type_id, entity.data.dbid
            self._stored.discard((type_id, dbid))
            self._log_offs.report(LoggedOff(type_id, dbid, entity.id, entity.is_deleted))
