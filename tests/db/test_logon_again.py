"""Logging on a second time: the present proxy yields if its client is silent, and the new login waits for that."""

from __future__ import annotations

from terrazzo.db.attempts import LogOnLimits
from terrazzo.db.dbapp import DBLimits
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.store import PLACE_UNKNOWN
from terrazzo.wire.common import Reply, Request
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import LoggedOff, ProxyTaken, TakenOver, TakeOver
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn
from tests.db.harness import BASE, LOGIN, ME, Office


def logged_on() -> Office:
    office = Office()
    office.app.on_link_up(BASE)
    office.arrive()
    return office


def answer_take_over(office: Office, *, is_going: bool) -> None:
    office.ticks()
    [asked] = [each for each in office.said.pop(BASE, []) if isinstance(each, Request)]
    assert REGISTRY.decode_nested(asked.item) == TakeOver(77, "192.0.2.7")
    office.app.on_message(BASE, Reply(asked.number, REGISTRY.encode(TakenOver(is_going))))
    office.ticks(3)


def test_a_second_login_gets_in_when_the_silent_proxy_is_saved_and_gone():
    office = logged_on()
    number = office.log_on()
    answer_take_over(office, is_going=True)
    assert office.answer(LOGIN, number) is None
    assert office.placements() == []
    office.leave()
    office.ticks()
    [(asked, place)] = office.placements()
    office.place(asked, place.entity)
    office.ticks(2)
    assert isinstance(office.answer(LOGIN, number), LoggedOn)
    assert office.database.log_ons == {1: (place.entity, BASE.index)}


def test_a_second_login_gets_the_proxy_that_exists_with_its_record():
    office = logged_on()
    records = dict(office.database.log_ons)
    number = office.log_on()
    office.ticks()
    [asked] = [each for each in office.said.pop(BASE, []) if isinstance(each, Request)]
    key = bytes(range(16))
    office.app.on_message(BASE, Reply(asked.number, REGISTRY.encode(ProxyTaken(key, "play.example", 1, 2))))
    office.ticks(3)
    assert office.answer(LOGIN, number) == LoggedOn(77, key, "play.example", 1, 2)
    assert office.placements() == []
    assert office.database.log_ons == records
    assert (len(office.app.log_ons), office.app.log_ons.claiming) == (0, {})


def test_a_second_login_gets_in_when_the_log_off_came_before_the_answer():
    office = logged_on()
    office.log_on()
    office.ticks()
    office.ask(BASE, LoggedOff(1, 1, 77))
    answer_take_over(office, is_going=True)
    office.ticks()
    assert len(office.placements()) == 1


def test_a_second_login_is_refused_when_the_client_answers():
    office = logged_on()
    number = office.log_on()
    answer_take_over(office, is_going=False)
    assert office.answer(LOGIN, number) == LoginRefusal.ALREADY_LOGGED_ON.sentence
    assert office.database.log_ons == {1: (77, BASE.index)}


def test_a_second_login_does_not_wait_for_ever_for_a_proxy_that_cannot_be_saved():
    office = logged_on()
    number = office.log_on()
    answer_take_over(office, is_going=True)
    office.tick(seconds=6.0)
    assert office.answer(LOGIN, number) == LoginRefusal.ALREADY_LOGGED_ON.sentence
    assert len(office.app.log_ons) == 0
    office.leave()
    office.arrive(entity=78)


def test_record_of_a_proxy_that_no_base_app_has_is_cleared_while_the_second_login_waits():
    office = logged_on()
    number = office.log_on()
    answer_take_over(office, is_going=True)
    office.tick(seconds=3.0)
    office.located(None)
    office.ticks()
    [(asked, place)] = office.placements()
    office.place(asked, place.entity)
    office.ticks(2)
    assert isinstance(office.answer(LOGIN, number), LoggedOn)
    assert office.database.log_ons == {1: (place.entity, BASE.index)}


def test_record_of_a_proxy_that_is_still_ending_stays():
    office = logged_on()
    office.log_on()
    answer_take_over(office, is_going=True)
    office.tick(seconds=3.0)
    office.located(BASE)
    office.ticks()
    assert office.placements() == []
    assert office.database.log_ons == {1: (77, BASE.index)}


def test_a_wrong_password_asks_nothing_of_the_base_app():
    office = logged_on()
    office.log_on("Ada", "wrong")
    office.ticks()
    assert not [each for each in office.said.get(BASE, []) if isinstance(each, Request)]


def test_wrong_passwords_from_strangers_do_not_keep_a_known_player_out():
    office = Office(limits=DBLimits(log_on=LogOnLimits(in_work_max=3, known_max=1)))
    office.arrive()
    office.leave()
    strangers = [office.log_on(name, "wrong") for name in ("Ada", "Bob", "Cid")]
    held_up = office.log_on("Ada")
    office.tick(works=False)
    assert office.answer(LOGIN, held_up) == LoginRefusal.LOGGING_ON.sentence, "a stranger to the address has to wait"
    owner = office.ask(LOGIN, LogOn("ADA", "secret", "192.0.2.7", is_known=True))
    second = office.ask(LOGIN, LogOn("ada", "secret", "192.0.2.7", is_known=True))
    office.ticks()
    placements = office.placements()
    for asked, place in placements:
        office.place(asked, place.entity)
    office.ticks(2)
    assert isinstance(office.answer(LOGIN, owner), LoggedOn)
    assert office.answer(LOGIN, second) == LoginRefusal.LOGGING_ON.sentence
    assert office.answer(LOGIN, strangers[0]) == LoginRefusal.WRONG.sentence


def test_two_attempts_with_the_right_password_make_one_proxy():
    office = Office()
    office.arrive()
    office.leave()
    one = office.log_on()
    two = office.ask(LOGIN, LogOn("Ada", "secret", "192.0.2.7", is_known=True))
    office.ticks()
    assert len(office.placements()) == 1
    assert [office.answer(LOGIN, each) for each in (one, two)].count(LoginRefusal.LOGGING_ON.sentence) == 1


def test_record_without_its_base_app_is_completed_by_asking():
    office = Office()
    office.app.on_link_up(BASE)
    office.log_on()
    office.ticks()
    [(asked, place)] = office.placements()
    office.database.failing = "the disk is full"
    office.place(asked, place.entity)
    office.ticks(3)
    office.database.failing = ""
    assert office.database.log_ons == {1: (77, PLACE_UNKNOWN)}
    office.tick(seconds=3.0)
    office.located(BASE)
    assert office.database.log_ons == {1: (77, BASE.index)}


def test_attempt_is_refused_while_another_one_waits_for_the_former_proxy():
    office = logged_on()
    one = office.log_on()
    answer_take_over(office, is_going=True)
    two = office.ask(LOGIN, LogOn("Ada", "secret", "192.0.2.7", is_known=True))
    office.ticks()
    assert office.answer(LOGIN, two) == LoginRefusal.LOGGING_ON.sentence
    assert not [each for each in office.said.get(BASE, []) if isinstance(each, Request)]
    office.tick(seconds=5.0)
    assert office.answer(LOGIN, one) == LoginRefusal.ALREADY_LOGGED_ON.sentence
    assert len(office.app.log_ons) == 0


def test_a_record_is_not_settled_at_a_base_app_that_has_a_successor():
    database = MemoryDatabase()
    Office(database=database).arrive()
    database.log_ons[1] = (77, PLACE_UNKNOWN)
    office = Office(me=ME._replace(incarnation=2), database=database)
    office.app.on_link_up(BASE)
    office.app.on_link_lost(BASE)
    office.app.on_link_up(BASE._replace(incarnation=BASE.incarnation + 1))
    office.ticks()
    office.located(BASE)
    assert database.log_ons == {1: (77, PLACE_UNKNOWN)}
    office.located(None)
    assert database.log_ons == {}
