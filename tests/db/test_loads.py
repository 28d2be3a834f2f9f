"""Entities that a game loads and deletes: the DBApp claims each once, and deletes none from under its base."""

from __future__ import annotations

import pytest

from terrazzo.db.store import PLACE_UNKNOWN
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import LoggedOff, Save, Saved
from terrazzo.wire.pairs.db_basemgr import ProxyInDoubt
from terrazzo.wire.pairs.stored import (
    Alive,
    AskAlive,
    DeleteStored,
    LoadStored,
    StoredDeleted,
    StoredLoaded,
    StoredRefused,
)
from tests.db.harness import BASE, MANAGER, Office

DBID = 1
ASKER = MANAGER._replace(index=1)
"""Another peer, so that its questions are not mixed up with what the manager is asked."""


@pytest.fixture
def office():
    """With a stored entity that is not in the world."""
    made = Office()
    made.app.on_link_up(BASE)
    made.database.entities[DBID] = ("Avatar", b"stored")
    made.database._next_dbid = 2
    made.database.next_entity_id = 77
    made.tick()
    return made


def ask(office, message):
    number = office.ask(ASKER, message)
    office.ticks(2)
    return number


def answered(office, number):
    """The answer to a question, or the reason of its refusal."""
    return office.answer(ASKER, number)


def placement(office):
    """What the manager was asked to place, last."""
    asked = [item for item in office.said[MANAGER] if isinstance(item, Request)]
    return asked[-1].number, REGISTRY.decode_nested(asked[-1].item)


def alive(office, is_alive):
    """The BaseApp answers whether the base is there."""
    *_, item = [each for each in office.said[BASE] if isinstance(each, Request)]
    assert isinstance(REGISTRY.decode_nested(item.item), AskAlive)
    office.app.on_message(BASE, Reply(item.number, REGISTRY.encode(Alive(is_alive))))
    office.ticks(2)


def test_load_claims_the_entity_and_places_its_base_without_a_client(office):
    number = ask(office, LoadStored(1, DBID))
    asked, wanted = placement(office)
    assert (wanted.dbid, wanted.record, wanted.entity, wanted.is_player) == (DBID, b"stored", 77, False)
    assert office.database.log_ons == {DBID: (77, PLACE_UNKNOWN)}
    office.place(asked)
    office.ticks(2)
    assert answered(office, number) == StoredLoaded(77)
    assert office.database.log_ons == {DBID: (77, BASE.index)}


def test_questions_for_one_entity_are_answered_together(office):
    numbers = [ask(office, LoadStored(1, DBID)), ask(office, LoadStored(1, DBID))]
    asked, _ = placement(office)
    office.place(asked)
    office.ticks(2)
    assert [answered(office, number) for number in numbers] == [StoredLoaded(77)] * 2


def test_load_of_an_entity_in_the_world_gives_the_base_that_it_has(office):
    office.database.log_ons[DBID] = (50, BASE.index)
    number = ask(office, LoadStored(1, DBID))
    alive(office, True)
    assert answered(office, number) == StoredLoaded(50)


def test_load_while_the_former_base_ends_is_refused_for_the_moment(office):
    office.database.log_ons[DBID] = (50, BASE.index)
    number = ask(office, LoadStored(1, DBID))
    alive(office, False)
    assert answered(office, number) == "its former base ends"
    office.ask(BASE, LoggedOff(1, DBID, 50))
    office.tick()
    ask(office, LoadStored(1, DBID))
    assert placement(office)[1].entity == 77


def test_entity_that_the_game_has_created_is_recorded_with_its_first_save(office):
    office.ask(BASE, Save(1, 0, b"new", entity=60))
    office.ticks(2)
    assert office.database.log_ons == {2: (60, BASE.index)}
    number = ask(office, LoadStored(1, 2))
    alive(office, True)
    assert answered(office, number) == StoredLoaded(60)


def test_first_save_is_found_again_by_a_restarted_db_app(office):
    office.ask(BASE, Save(1, 0, b"new", entity=60))
    office.ticks(2)
    again = Office(me=office.app.me._replace(incarnation=2), database=office.database)
    number = again.ask(BASE, Save(1, 0, b"newer", entity=60))
    again.ticks(2)
    assert again.answer(BASE, number) == Saved(2)
    assert office.database.entities[2] == ("Avatar", b"newer")


def test_doubtful_placement_keeps_the_claim_until_it_is_certain(office):
    number = ask(office, LoadStored(1, DBID))
    asked, _ = placement(office)
    office.app.on_message(MANAGER, Reply(asked, REGISTRY.encode(ProxyInDoubt("no answer"))))
    office.ticks(2)
    assert isinstance(answered(office, number), str)
    assert office.database.log_ons == {DBID: (77, PLACE_UNKNOWN)}
    again = ask(office, LoadStored(1, DBID))
    assert "being placed" in str(answered(office, again))
    assert len(office.app.log_ons.doubts) == 1


def test_refused_placement_gives_the_claim_back(office):
    number = ask(office, LoadStored(1, DBID))
    asked, _ = placement(office)
    office.app.on_message(MANAGER, RequestRefused(asked, "the server is full"))
    office.ticks(2)
    assert answered(office, number) == "the server is full"
    assert office.database.log_ons == {}


def test_base_that_has_ended_before_its_placement_arrives_is_not_given(office):
    number = ask(office, LoadStored(1, DBID))
    asked, _ = placement(office)
    office.ask(BASE, LoggedOff(1, DBID, 77))
    office.tick()
    office.place(asked)
    office.ticks(2)
    assert answered(office, number) == "it has ended at once"
    assert office.database.log_ons == {}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (LoadStored(1, 99), "no Avatar is stored under the dbid 99"),
        (LoadStored(2, DBID), "no entity type 2 that is saved"),
        (LoadStored(1, 0), "0 is no dbid"),
        (DeleteStored(9, DBID), "no entity type 9 that is saved"),
        (DeleteStored(1, -1), "-1 is no dbid"),
    ],
)
def test_impossible_question_is_refused_for_good(office, message, words):
    answer = answered(office, ask(office, message))
    assert isinstance(answer, StoredRefused)
    assert words in answer.why


def test_deletion_is_confirmed_and_may_be_asked_for_again(office):
    for _ in range(2):
        assert answered(office, ask(office, DeleteStored(1, DBID))) == StoredDeleted()
    assert office.database.entities == {}
    answer = answered(office, ask(office, LoadStored(1, DBID)))
    assert isinstance(answer, StoredRefused)


def test_entity_in_the_world_is_not_deleted(office):
    office.database.log_ons[DBID] = (50, BASE.index)
    number = ask(office, DeleteStored(1, DBID))
    alive(office, True)
    answer = answered(office, number)
    assert isinstance(answer, StoredRefused)
    assert "destroy(delete=True)" in answer.why
    assert DBID in office.database.entities


def test_deletion_of_an_entity_that_ends_or_is_loaded_is_refused_for_the_moment(office):
    office.database.log_ons[DBID] = (50, BASE.index)
    number = ask(office, DeleteStored(1, DBID))
    alive(office, False)
    assert answered(office, number) == "its former base ends"
    office.database.log_ons.clear()
    ask(office, LoadStored(1, DBID))
    number = ask(office, DeleteStored(1, DBID))
    assert answered(office, number) == "it is being loaded or logged on"
    assert DBID in office.database.entities


def test_base_that_ends_with_its_deletion_takes_its_record_along(office):
    office.database.log_ons[DBID] = (50, BASE.index)
    office.ask(BASE, LoggedOff(1, DBID, 49, is_deleted=True))  # of an earlier base, which came late
    office.ticks(2)
    assert DBID in office.database.entities
    office.ask(BASE, LoggedOff(1, DBID, 50, is_deleted=True))
    office.ticks(2)
    assert office.database.entities == {}
    assert office.database.log_ons == {}


def test_load_of_a_player_that_logs_on_is_refused_for_the_moment(office):
    office.log_on()
    office.ticks()
    [(_, wanted)] = office.placements()
    number = ask(office, LoadStored(1, wanted.dbid))
    assert answered(office, number) == "it is being logged on, or too many are being loaded"
