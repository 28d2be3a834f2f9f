"""Bases of stored entities: loaded without a client, reported at their end, deleted instead of saved; and the game's
questions for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.entity_data import new_entity_data
from terrazzo.base.proxy import ProxyEntity
from terrazzo.errors import CallTimeout, StoredFailed
from terrazzo.schema.record import encode_record
from terrazzo.schema.refs import Component, Ref
from terrazzo.wire.common import Request
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_db import LoggedOff, Save, TakenOver, TakeOver
from terrazzo.wire.pairs.basemgr_base import CreateProxy, ProxyCreated
from terrazzo.wire.pairs.stored import (
    Alive,
    AskAlive,
    DeleteStored,
    LoadStored,
    StoredDeleted,
    StoredLoaded,
    StoredRefused,
)
from tests.base.base_harness import AVATAR, BASE_MGR, EVENTS, MANAGERS, SCHEMA, Town

DBID = 5


def loaded(town: Town, schema=AVATAR, entity: int = 1500) -> BaseEntity:
    record = encode_record(schema, {"name": "Ann", "gold": 30} if schema is AVATAR else {}, {})
    wanted = CreateProxy(schema.type_id, DBID, record, entity, is_player=False)
    town.app.on_message(BASE_MGR, Request(1, REGISTRY.encode(wanted)))
    town.step()
    assert town.replies == [ProxyCreated(entity, b"")]
    town.replies.clear()
    return next(each for each in town.app.bases.values() if each.id == entity)


def asked(town: Town, message) -> object:
    town.replies.clear()
    town.app.on_message(next(iter(MANAGERS.values())), Request(9, REGISTRY.encode(message)))
    town.settle()
    [answer] = town.replies
    return answer


@pytest.mark.parametrize("name", ["Avatar", "Creature"])
def test_loaded_entity_has_its_values_and_no_client(name):
    town = Town()
    base = loaded(town, SCHEMA[name])
    assert base.data.dbid == DBID
    assert base.part.dbid == DBID
    assert not base.has_cell
    if isinstance(base, ProxyEntity):
        assert base.part.gold == 30
        assert ("on_loaded",) in EVENTS
        assert not base.has_client
    town.step(400)
    assert base.life is BaseLife.ALIVE, "no client is waited for"


def test_base_of_every_stored_entity_reports_its_end():
    town = Town()
    base = loaded(town, SCHEMA["Creature"])
    assert asked(town, AskAlive(base.id)) == Alive(True)
    base.part.destroy()
    assert asked(town, AskAlive(base.id)) == Alive(False)
    assert [each.dbid for each in town.told(Save)] == [DBID]
    assert town.told(LoggedOff) == [LoggedOff(SCHEMA["Creature"].type_id, DBID, base.id)]


def test_new_entity_reports_its_end_once_it_was_saved():
    town = Town()
    for _ in range(2):
        town.app.factory.create(new_data())
    town.settle()
    saved, unsaved = town.app.bases.values()
    saved.part.save()
    town.settle()
    assert (saved.part.dbid, unsaved.part.dbid) == (77, 0)
    saved.part.destroy()
    unsaved.part.destroy()
    town.settle()
    assert [each.entity for each in town.told(LoggedOff)] == [saved.id]


def new_data():
    return new_entity_data(SCHEMA["Creature"], {})


def test_destroyed_entity_is_deleted_and_not_saved():
    town = Town()
    base = loaded(town)
    base.part.destroy(delete=True)
    town.settle()
    assert town.told(Save) == []
    assert town.told(LoggedOff) == [LoggedOff(AVATAR.type_id, DBID, base.id, is_deleted=True)]
    assert town.app.bases == {}


def test_deletion_waits_for_the_save_that_makes_the_record():
    town = Town()
    town.app.factory.create(new_data())
    town.settle()
    [base] = town.app.bases.values()
    base.part.save()
    base.part.destroy(delete=True)
    town.settle()
    assert town.told(LoggedOff) == [LoggedOff(base.schema.type_id, 77, base.id, is_deleted=True)]


def test_player_that_logs_in_gets_a_proxy_of_its_own_after_the_loaded_one_is_saved():
    town = Town()
    base = loaded(town)
    assert asked(town, TakeOver(base.id, "192.0.2.9")) == TakenOver(is_going=True)
    assert [each.dbid for each in town.told(Save)] == [DBID]
    assert [each.entity for each in town.told(LoggedOff)] == [base.id]


def outcome_of(town: Town, ask) -> list:
    """What an `async def` of a base gets."""
    town.app.factory.create(new_data())
    town.settle()
    *_, base = town.app.bases.values()
    got: list = []

    async def act():
        try:
            got.append(await ask(base.part))
        except (StoredFailed, CallTimeout) as problem:
            got.append(problem)

    base.guarded("act", act, ())
    town.step(40, 0.1)
    return got


def test_load_gives_a_ref_after_refusals_of_the_moment():
    town = Town()
    answers: Iterator[Message | str] = iter(["its former base ends", "out of reach", StoredLoaded(1600)])
    town.answers[LoadStored] = lambda request: next(answers)
    assert outcome_of(town, lambda part: part.load("Avatar", dbid=DBID)) == [Ref(1600, Component.BASE, AVATAR.type_id)]
    assert town.told(LoadStored) == [LoadStored(AVATAR.type_id, DBID)] * 3


def test_load_of_what_is_not_stored_fails_with_the_reason():
    town = Town()
    town.answers[LoadStored] = lambda request: StoredRefused("no Avatar is stored under the dbid 5")
    [problem] = outcome_of(town, lambda part: part.load("Avatar", dbid=DBID))
    assert isinstance(problem, StoredFailed)
    assert "no Avatar is stored" in str(problem)


def test_deletion_ends_when_it_is_confirmed_or_with_the_time():
    town = Town()
    town.answers[DeleteStored] = lambda request: StoredDeleted()
    assert outcome_of(town, lambda part: part.delete("Avatar", dbid=DBID)) == [None]
    town.answers[DeleteStored] = lambda request: "the database is behind"
    [problem] = outcome_of(town, lambda part: part.delete("Avatar", dbid=DBID, timeout=2.0))
    assert isinstance(problem, CallTimeout)
