"""Saves, ids and links of DBApp: nothing is confirmed before it is safe."""

from __future__ import annotations

from terrazzo.db.dbapp import RECORD_MAX, DBLimits
from terrazzo.db.loads import DBID_MAX
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import Ids, LoggedOff, Save, Saved, WantIds
from terrazzo.wire.pairs.db_basemgr import PlaceProxy
from tests.db.harness import BASE, LOGIN, MANAGER, Office


def test_a_save_is_confirmed_when_it_is_durable_and_not_before():
    office = Office()
    number = office.ask(BASE, Save(1, 0, b"one", 7))
    for _ in range(3):
        office.tick(works=False)
        assert office.answer(BASE, number) is None
        assert office.app.is_busy
    assert office.database.entities == {}
    office.tick()
    assert office.answer(BASE, number) == Saved(1)
    assert office.database.entities == {1: ("Avatar", b"one")}
    assert not office.app.is_busy


def test_saves_of_one_entity_keep_their_order():
    office = Office()
    office.ask(BASE, Save(1, 0, b"0", 7))
    office.tick()
    other = AppId(AppKind.BASE_APP, 9, 1)
    numbers = [office.ask(other if count % 2 else BASE, Save(1, 1, str(count).encode(), 7)) for count in range(1, 6)]
    office.tick()
    assert office.database.entities[1] == ("Avatar", b"5")
    answers = [office.answer(other if count % 2 else BASE, number) for count, number in enumerate(numbers, 1)]
    assert answers == [Saved(1)] * 5
    assert office.app.view()["saved"] == 6


def test_the_next_log_on_loads_what_the_last_save_wrote():
    office = Office()
    office.arrive()
    office.ask(BASE, Save(1, 1, b"last", 7))
    office.ask(BASE, LoggedOff(1, 1, 77))
    office.log_on()
    office.ticks()
    [(_, place)] = office.placements()
    assert place.record == b"last"


def test_first_save_with_a_lost_answer_makes_one_record():
    office = Office()
    first = office.ask(BASE, Save(1, 0, b"one", entity=7))
    again = office.ask(BASE, Save(1, 0, b"two", entity=7))  # it is not known yet where the first one went
    office.tick()
    later = office.ask(BASE, Save(1, 0, b"three", entity=7))
    other = office.ask(BASE, Save(1, 0, b"other", entity=8))
    office.tick()
    assert [office.answer(BASE, number) for number in (first, again, later)] == [Saved(1)] * 3
    assert office.answer(BASE, other) == Saved(2)
    assert office.database.entities == {1: ("Avatar", b"three"), 2: ("Avatar", b"other")}


def test_a_first_save_that_failed_can_be_tried_again():
    office = Office()
    office.database.failing = "the disk is full"
    office.ask(BASE, Save(1, 0, b"one", entity=7))
    office.tick()
    office.database.failing = None
    number = office.ask(BASE, Save(1, 0, b"one", entity=7))
    office.tick()
    assert office.answer(BASE, number) == Saved(1)


def test_a_save_that_failed_is_refused_with_the_reason():
    office = Office()
    office.database.failing = "the disk is full"
    number = office.ask(BASE, Save(1, 0, b"one", 7))
    office.tick()
    assert office.answer(BASE, number) == "the disk is full"


def test_saves_that_cannot_be_are_refused():
    office = Office(limits=DBLimits(backlog_max=10_000))
    cases = [
        (Save(99, 0, b"", 7), "there is no entity type 99 that is saved"),
        (Save(2, 0, b"", 7), "there is no entity type 2 that is saved"),
        (Save(1, -1, b"", 7), "-1 is no dbid"),
        (Save(1, DBID_MAX + 1, b"", 7), "is no dbid"),
        (Save(1, 0, bytes(RECORD_MAX + 1), 7), "over the limit"),
        (Save(1, 5, b"", 7), "no Avatar is stored under the dbid given"),
    ]
    for message, words in cases:
        number = office.ask(BASE, message)
        office.tick()
        assert words in str(office.answer(BASE, number)), message
    assert office.database.entities == {}


def test_the_largest_record_can_still_be_placed():
    office = Office()
    number = office.ask(BASE, Save(1, 0, bytes(RECORD_MAX), 7))
    office.tick()
    assert office.answer(BASE, number) == Saved(1)
    REGISTRY.encode(PlaceProxy(2**15, DBID_MAX, bytes(RECORD_MAX), 4711))


def test_a_store_that_is_behind_refuses_more():
    office = Office(limits=DBLimits(backlog_max=3))
    numbers = [office.ask(BASE, Save(1, 0, b"x", entity=each)) for each in range(4)]
    ids = office.ask(BASE, WantIds(1))
    office.tick(works=False)
    assert "behind" in str(office.answer(BASE, numbers[3]))
    assert "behind" in str(office.answer(BASE, ids))
    office.tick()
    assert [office.answer(BASE, number) for number in numbers[:3]] == [Saved(1), Saved(2), Saved(3)]


def test_ids_are_given_to_one_only_and_after_a_restart_go_on():
    office = Office()
    first, second = office.ask(BASE, WantIds(100)), office.ask(BASE, WantIds(10))
    office.tick()
    assert office.answer(BASE, first) == Ids(1, 100)
    assert office.answer(BASE, second) == Ids(101, 10)
    office = Office(database=office.database)
    third = office.ask(BASE, WantIds(1))
    office.tick()
    assert office.answer(BASE, third) == Ids(111, 1)


def test_ids_are_promised_only_when_they_are_durable():
    office = Office()
    number = office.ask(BASE, WantIds(100))
    office.tick(works=False)
    assert office.answer(BASE, number) is None
    office.tick()
    assert office.answer(BASE, number) == Ids(1, 100)


def test_runs_of_ids_have_a_limit():
    office = Office(limits=DBLimits(ids_max=100))
    for count in (0, -1, 101):
        number = office.ask(BASE, WantIds(count))
        office.tick()
        assert "runs of 1 to 100" in str(office.answer(BASE, number))
    assert office.database.next_entity_id == 1


def test_no_more_ids_is_a_refusal():
    office = Office()
    office.database.next_entity_id = 2**31 - 1
    number = office.ask(BASE, WantIds(2))
    office.tick()
    assert office.answer(BASE, number) == "there are no more entity ids"


def test_a_log_off_with_impossible_numbers_is_counted_and_changes_nothing():
    office = Office()
    office.arrive()
    for dbid, entity in ((0, 77), (-1, 77), (1, 0), (1 << 63, 77), (1, 1 << 63)):
        office.ask(BASE, LoggedOff(1, dbid, entity))
    office.ticks(2)
    assert office.database.log_ons == {1: (77, BASE.index)}
    assert (office.app.refusals.total(), office.app.requests.refusals.total()) == (4, 1)


def test_the_manager_is_joined_once_and_again_when_lost():
    office = Office(has_manager=False)
    office.ticks(3)
    anyone = MANAGER._replace(incarnation=ANY_INCARNATION)
    assert office.host.joined == [anyone]
    office.app.on_link_lost(anyone)
    office.ticks(3)
    assert office.host.joined == [anyone] * 2
    office.app.on_link_up(MANAGER)
    office.ticks(3)
    office.app.on_link_lost(MANAGER)
    assert office.app.view()["has_manager"] is False
    office.ticks(3)
    assert office.host.joined == [anyone] * 3


def test_an_unknown_message_changes_nothing():
    office = Office()
    number = office.ask(BASE, PlaceProxy(1, 1, b"", 4711))
    office.tick()
    assert office.answer(BASE, number) == "nobody here answers that"


def test_short_outage_of_the_database_is_a_delay():
    office = Office(limits=DBLimits(away_s=3.0))
    office.database.away = "connection refused"
    office.tick(works=False)
    saving, login = office.ask(BASE, Save(1, 0, b"one", 7)), office.log_on()
    for _ in range(20):
        office.tick(works=False)
    assert (office.answer(BASE, saving), office.answer(LOGIN, login)) == (None, None)
    assert office.app.view()["database_away"] == "connection refused"
    office.database.away = ""
    office.ticks()
    assert office.answer(BASE, saving) == Saved(1)
    assert len(office.placements()) == 1
    assert [facts for event, facts in office.host.logged if event.startswith("database")] == [
        {"why": "connection refused"}, {"after_s": 2.1},
    ]  # fmt: skip


def test_requests_are_refused_while_the_database_is_away_and_taken_when_it_is_back():
    office = Office(limits=DBLimits(away_s=3.0))
    office.database.away = "connection refused"
    office.tick(works=False)
    office.tick(works=False, seconds=3.0)
    waiting = len(office.store)
    requests = (Save(1, 0, b"one", 7), LoggedOff(1, 1, 77), WantIds(5))
    numbers = [office.ask(BASE, each) for each in requests]
    login = office.log_on()
    office.tick(works=False)
    for number in numbers:
        assert "the database is out of reach (connection refused)" in str(office.answer(BASE, number))
    assert office.answer(LOGIN, login) == "The game's database is not available; try again in a moment."
    assert len(office.store) == waiting, "nothing new waits for it"
    office.database.away = ""
    office.tick()
    numbers = [office.ask(BASE, each) for each in requests]
    office.log_on()
    office.ticks()
    assert all(not isinstance(office.answer(BASE, number), str | None) for number in numbers)
    assert len(office.placements()) == 1


def test_log_offs_are_refused_while_too_many_operations_wait():
    office = Office(limits=DBLimits(backlog_max=3))
    numbers = [office.ask(BASE, LoggedOff(1, 1, 70 + count)) for count in range(5)]
    office.tick()
    answers = [office.answer(BASE, number) for number in numbers]
    assert [str(each).startswith("the database is behind") for each in answers] == [False] * 3 + [True] * 2
