"""The making side of a creation: entities that other apps, or bases here, have asked for (`sync/creating.py`).

    CreateEntity ──▶ checked ──▶ waits for an id ──▶ base ──▶ its cell part, if one is wanted ──▶ EntityCreated

Refused: what does not decode; a base that its own code destroys at once; a base that gets no cell part, and asks for no
other in `on_cell_failed`. That base is destroyed.

A request that was received before makes nothing: it gets the outcome of the first, now or when there is one. Outcomes
are kept for the last OUTCOMES_MAX creations.
"""

from __future__ import annotations

from functools import partial

from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.entity_data import EntityData, Location
from terrazzo.base.factory import BaseFactory
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.model import EntitySchema, Schema
from terrazzo.schema.state import State
from terrazzo.sync.creating import CreationDone
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.creation import CreateEntity, EntityCreated
from terrazzo.wire.requests import Question, Requests

OUTCOMES_MAX = 4096

_Outcome = tuple[int, str]


class Requested:
    """The creations that one BaseApp was asked for."""

    def __init__(self, requests: Requests, schema: Schema, factory: BaseFactory) -> None:
        self._requests = requests
        self._schema = schema
        self._factory = factory
        self._waiting: dict[tuple[AppId, int], Question] = {}
        """The newest question of each creation under way."""
        self._outcomes: dict[tuple[AppId, int], _Outcome] = {}

    def on_create_entity(self, question: Question) -> None:
        """Another app asks for an entity."""
        message = question.message
        assert isinstance(message, CreateEntity)
        key = (question.source, message.number)
        if key in self._outcomes:
            self._answer(question, self._outcomes[key])
            return
        is_new = key not in self._waiting
        self._waiting[key] = question
        if is_new:
            self.make(message, partial(self._on_done, key))

    def make(self, wanted: CreateEntity, done: CreationDone) -> None:
        """Makes an entity here."""
        schema = self._schema.by_id.get(wanted.type_id)
        if schema is None or schema.cell_only:
            done(0, f"there is no entity type {wanted.type_id} here: all apps must run the same game")
            return
        try:
            data = _data_of(schema, wanted)
            self._factory.create(data, partial(_watch, done))
        except (DecodeError, UsageError) as problem:
            done(0, str(problem))

    def _on_done(self, key: tuple[AppId, int], entity: int, why: str) -> None:
        self._outcomes[key] = (entity, why)
        if len(self._outcomes) > OUTCOMES_MAX:
            del self._outcomes[next(iter(self._outcomes))]
        self._answer(self._waiting.pop(key), self._outcomes[key])

    def _answer(self, question: Question, outcome: _Outcome) -> None:
        entity, why = outcome
        if entity:
            self._requests.answer(question, EntityCreated(entity))
        else:
            self._requests.refuse(question, why)


def _data_of(schema: EntitySchema, wanted: CreateEntity) -> EntityData:
    base, cell = schema.base_layout, schema.cell_layout
    data = EntityData(
        schema,
        State(base, values=base.row.decode(wanted.base)),
        State(cell, values=cell.row.decode(wanted.cell)),
    )
    if wanted.space:
        data.place = Location(wanted.space, wanted.position, wanted.direction)
    return data


def _watch(done: CreationDone, entity: BaseEntity | None) -> None:
    """The base exists, or the app is stopping: `done` is called when its cell part exists, too, or will not."""
    if entity is None:
        done(0, "this server is stopping")
        return
    if entity.life is not BaseLife.ALIVE:
        done(0, "its own code destroyed it at once")
    elif entity.has_cell or entity.has_no_cell:
        done(entity.id, "")
    else:
        entity.on_settled = lambda why: done(0 if why else entity.id, why)
