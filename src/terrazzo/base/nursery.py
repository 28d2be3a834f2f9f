"""Where bases begin, and where they are struck off: with the class of their part, an id, and what the database knows.

    CreateProxy ──▶ read the record ──▶ proxy, key, on_loaded ──▶ ProxyCreated
    Server.create ──▶ checked values ──▶ wait for an id ──▶ base, then its cell part
    the end of a base ──▶ its mailbox ends ──▶ LoggedOff, if a player was logged on with it

A stored entity is here at most once. A proxy has the id that DBApp gave it, and is made at once or refused: a Locate
that follows its CreateProxy on the same link finds it. LoggedOff is repeated until it is confirmed (`logoffs.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from terrazzo.base.api import Base, Proxy
from terrazzo.base.cellside import Body
from terrazzo.base.drafts import Draft, load_draft
from terrazzo.base.entity import BaseEntity, Life
from terrazzo.base.limits import WAITING_MAX
from terrazzo.base.proxy import ProxyEntity
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.classes.parts import bind
from terrazzo.schema.model import EntitySchema, Side
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.basemgr_base import CreateProxy, ProxyCreated
from terrazzo.wire.requests import Question

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp


class Nursery:
    """Makes the bases of one BaseApp."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._classes = {each.name: self._part_class(each) for each in app.game.schema.entities}
        self._stored: set[tuple[int, int]] = set()  # type and dbid of those that are here

    def _part_class(self, schema: EntitySchema) -> type[Base]:
        """The game's class for the base part, or one of the engine's own where the game has none."""
        given = self._app.game.parts.get(schema.name, {}).get(Side.BASE)
        if given is None:
            kind = Proxy if schema is self._app.game.player else Base
            own = type(f"{schema.name}Base", (kind,), {})
            bind(own, schema)
            return own
        if not issubclass(given, Base):
            raise UsageError(f"{given.__name__} must derive from terrazzo.Base or terrazzo.Proxy to run on a BaseApp")
        return given

    def create(self, draft: Draft) -> None:
        """Make a base, and its cell part if the draft has a place; waits for an id if it must."""
        if self._app.ids.waiting >= WAITING_MAX:
            raise UsageError(f"{WAITING_MAX} entities wait for an id already: is the DBApp there?")
        self._app.ids.create(partial(self._make, draft))

    def _make(self, draft: Draft, id: EntityId) -> bool:
        if self._app.is_stopping:
            return False
        entity = self._settle(id, draft)
        if draft.place is not None and entity.life is Life.ALIVE and entity.cell.state is Body.NONE:
            entity.create_cell(None, {})
        return True

    def _settle(self, id: EntityId, draft: Draft) -> BaseEntity:
        part_class = self._classes[draft.schema.name]
        kind = ProxyEntity if issubclass(part_class, Proxy) else BaseEntity
        entity = self._app.bases[id] = kind(self._app, id, draft, part_class)
        entity.begin()
        return entity

    def on_create_proxy(self, question: Question) -> None:
        """A player is to come: make the proxy of the stored entity."""
        message = question.message
        assert isinstance(message, CreateProxy)
        schema = self._app.game.schema.by_id.get(message.type_id)
        if schema is None or not issubclass(self._classes[schema.name], Proxy):
            problem = f"entity type {message.type_id} cannot have a client: its base part must be a Proxy"
            self._app.requests.refuse(question, problem)
            return
        problem = self._why_not(message)
        draft = None
        if not problem:
            report = partial(self._report, schema, message.dbid)
            try:
                draft = load_draft(schema, message.dbid, message.record, report)
            except DecodeError as error:
                report("the whole record", str(error))
                problem = "the saved state of this player cannot be read"
        if draft is None:
            self._app.requests.refuse(question, problem)
            return
        self._stored.add((message.type_id, message.dbid))
        self._make_proxy(question, draft, message)

    def _why_not(self, message: CreateProxy) -> str:
        if self._app.is_stopping:
            return "this server is stopping"
        if (message.type_id, message.dbid) in self._stored:
            return "this player is here already"
        if message.entity <= 0 or EntityId(message.entity) in self._app.bases:
            return f"{message.entity} is not the id of a new entity"
        if self._app.keys.is_full(self._app.host.now):
            return "this server is full: too many players are waiting to get in"
        return ""

    def _report(self, schema: EntitySchema, dbid: int, name: str, problem: str) -> None:
        self._app.host.log("bad saved value", type=schema.name, dbid=dbid, name=name, problem=problem)

    def _make_proxy(self, question: Question, draft: Draft, message: CreateProxy) -> None:
        id = EntityId(message.entity)
        entity = self._settle(id, draft)
        assert isinstance(entity, ProxyEntity)
        entity.saver.note_stored(message.record)
        key = self._app.keys.make(id, self._app.host.now)
        entity.expect(key)
        entity.run("on_loaded")
        self._app.requests.answer(question, ProxyCreated(id, key))

    def strike_off(self, entity: BaseEntity) -> None:
        """The base goes; everything of it is safe."""
        app = self._app
        del app.bases[entity.id]
        app.moves.pop(entity.id, None)
        app.switchboard.destroy(entity.part_id)
        if isinstance(entity, ProxyEntity) and entity.is_logged_on:
            self._stored.discard((entity.schema.type_id, entity.draft.dbid))
            app.log_offs.owe(LoggedOff(entity.schema.type_id, entity.draft.dbid, entity.id))
