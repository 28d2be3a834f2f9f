"""Logging on: admission, refusals with their sentences, and the record at every step."""

from __future__ import annotations

import msgspec
import pytest

from terrazzo.db.attempts import LogOnLimits
from terrazzo.db.dbapp import DBLimits
from terrazzo.db.passwords import Hasher
from terrazzo.db.store import PLACE_UNKNOWN
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.record import decode_record
from terrazzo.schema.types import STRING
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded, Save
from terrazzo.wire.pairs.basemgr_base import Home, Located
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, WorldFull, WorldLoad, WorldLoads
from terrazzo.wire.pairs.login_db import DoorLoad, LoggedOn, LogOn
from tests.db.harness import AVATAR, BASE, CHEAP, LOGIN, MANAGER, ME, Office

WORLD = WorldLoads(players=3, players_max=10, base_app=0.25, cell_mean=0.5, cell_most=0.75)


class CountingHasher(Hasher):
    """Counts how often a password was worked on."""

    def __init__(self) -> None:
        super().__init__(bytes, CHEAP)
        self.checks = 0

    def check(self, password, password_hash):
        self.checks += 1
        return super().check(password, password_hash)


def test_an_unknown_name_is_created_and_let_in():
    office = Office()
    place = office.arrive("Ada")
    assert (place.type_id, place.dbid) == (1, 1)
    assert decode_record(AVATAR, place.record) == ({"name": "Ada", "gold": 0}, {})
    assert office.database.log_ons == {1: (77, BASE.index)}
    assert office.app.view() == {
        "saved": 0, "backlog": 0, "database_away": "", "ids_given": 0, "logging_on": 0, "logged_on": 1, "in_doubt": 0,
        "loading": 0, "loaded": 0, "deleted": 0,
        "created": 1, "refused": {}, "has_manager": True,
    }  # fmt: skip


def test_a_known_name_comes_back_with_what_was_saved():
    office = Office()
    office.arrive("Ada")
    office.ask(BASE, Save(1, 1, b"\x80", 7))
    office.leave()
    assert office.database.log_ons == {}
    assert office.app.view()["logged_on"] == 0
    place = office.arrive("aDA", entity=78)
    assert place == PlaceProxy(1, 1, b"\x80", 78)
    assert office.app.view()["created"] == 1


def test_the_identifier_may_be_bytes():
    tag = Property("tag", STRING, Flags.BASE, persistent=True, identifier=True)
    office = Office(schema=Schema((EntitySchema("Player", 1, (tag,)),)))
    assert msgspec.msgpack.decode(office.arrive("Änne").record) == {"tag": tag.codec.encode("Änne".encode())}


def test_a_player_type_without_identifier_begins_empty():
    office = Office(schema=Schema((EntitySchema("Player", 1),)))
    assert msgspec.msgpack.decode(office.arrive().record) == {}


def test_a_name_that_does_not_fit_the_identifier_is_refused_and_not_created():
    office = Office()
    number = office.log_on("a name of more than twelve")
    office.ticks()
    assert str(office.answer(LOGIN, number)).startswith("A player cannot have this name: ")
    assert office.database.accounts == {}
    assert not office.app.is_busy


def test_a_wrong_password_and_an_unknown_name_get_the_same_words_after_the_same_work():
    office = Office()
    office.arrive("Ada")
    office.leave()
    office = Office(database=office.database, allow_new_players=False)
    hasher = CountingHasher()
    office.store._passwords = hasher
    ticks = []
    for name, password in (("Ada", "wrong"), ("Bob", "secret")):
        number, count = office.log_on(name, password), 0
        while office.answer(LOGIN, number) is None:
            office.tick()
            count += 1
        assert office.answer(LOGIN, number) == "Wrong name or password."
        ticks.append(count)
    assert hasher.checks == 2
    assert ticks[0] == ticks[1]
    assert len(office.database.accounts) == 1
    office.arrive("Ada")


def test_player_that_is_logged_on_is_refused_only_with_the_right_password():
    office = Office()
    office.arrive("Ada")
    right, wrong = office.log_on("ADA"), office.log_on("Bob")
    office.ticks()
    assert office.answer(LOGIN, right) == "This player is already logged on."
    wrong = office.log_on("Ada", "wrong")
    office.ticks()
    assert office.answer(LOGIN, wrong) == "Wrong name or password."
    assert office.database.log_ons[1] == (77, BASE.index)


def test_of_two_at_once_with_one_name_the_second_is_refused():
    office = Office()
    first, second = office.log_on("Ada"), office.log_on("ada")
    office.ticks()
    assert office.answer(LOGIN, second) == LoginRefusal.LOGGING_ON.sentence
    assert office.answer(LOGIN, first) is None
    assert len(office.placements()) == 1


def test_no_more_than_so_many_are_in_work():
    office = Office(limits=DBLimits(log_on=LogOnLimits(in_work_max=2)))
    numbers = [office.log_on(name) for name in "abc"]
    office.tick()
    assert [office.answer(LOGIN, number) for number in numbers] == [None, None, LoginRefusal.TOO_MANY.sentence]
    office.ticks()
    for asked, place in office.placements():
        office.place(asked, place.entity)
    office.ticks(2)
    assert all(isinstance(office.answer(LOGIN, number), LoggedOn) for number in numbers[:2])
    assert len(office.app.log_ons) == 0


def test_login_without_a_manager_is_refused_and_creates_no_account():
    office = Office(has_manager=False)
    assert [peer.slot for peer in office.host.joined] == [(AppKind.BASE_APP_MGR, 0)]
    number = office.log_on()
    office.ticks()
    assert office.answer(LOGIN, number) == "The game is starting or stopping; try again in a moment."
    assert office.database.accounts == {}


@pytest.mark.parametrize("after", range(7))
def test_the_manager_lost_at_any_step_ends_the_attempt_and_in_time_the_claim(after):
    office = Office()
    number = office.log_on()
    office.ticks(after)
    office.app.on_link_lost(MANAGER)
    office.ticks()
    assert office.answer(LOGIN, number) == LoginRefusal.NOT_READY.sentence
    assert (len(office.placements()), len(office.app.log_ons)) == (after > 3, 0)
    office.app.on_link_up(MANAGER)
    office.located(None)
    assert office.database.log_ons == {}


def test_logged_on_is_answered_only_when_the_proxy_is_placed_and_recorded():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    assert office.database.log_ons == {1: (77, PLACE_UNKNOWN)}
    office.place(asked)
    office.tick(works=False)
    assert office.answer(LOGIN, number) is None
    office.tick()
    assert isinstance(office.answer(LOGIN, number), LoggedOn)
    assert office.database.log_ons == {1: (77, BASE.index)}


def test_a_refused_placement_passes_the_reason_on_and_clears_the_record():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.app.on_message(MANAGER, RequestRefused(asked, "no BaseApp is running; start one"))
    office.ticks(2)
    assert office.answer(LOGIN, number) == "The player gets no place in the world: no BaseApp is running; start one."
    assert office.database.log_ons == {}
    office.arrive()


def test_log_on_into_a_full_world_is_refused_as_full_and_clears_the_record():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.app.on_message(MANAGER, Reply(asked, REGISTRY.encode(WorldFull(3))))
    office.ticks(2)
    assert office.answer(LOGIN, number) == LoginRefusal.FULL.sentence
    assert office.database.log_ons == {}
    office.arrive()


def test_log_on_that_may_not_place_is_refused_as_full_and_asks_for_no_placement():
    office = Office()
    office.arrive("Ada")
    office.leave()
    number = office.ask(LOGIN, LogOn("Ada", "secret", "192.0.2.7", may_place=False))
    office.ticks()
    assert office.placements() == []
    assert office.answer(LOGIN, number) == LoginRefusal.FULL.sentence
    assert office.database.log_ons == {}


def test_log_on_that_may_not_place_takes_a_proxy_over_that_exists():
    office = Office()
    office.app.on_link_up(BASE)
    office.arrive("Ada")
    number = office.ask(LOGIN, LogOn("Ada", "secret", "192.0.2.7", may_place=False))
    office.ticks()
    assert any(isinstance(each, Request) for each in office.said[BASE]), "the BaseApp is asked about the second login"
    assert office.answer(LOGIN, number) is None


def test_refusal_without_a_reason_has_a_sentence():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.app.on_message(MANAGER, RequestRefused(asked, ""))
    office.tick()
    assert office.answer(LOGIN, number) == LoginRefusal.NOT_PLACED.text("no server gave a reason")


def in_doubt(office: Office, ending: str = "timeout") -> None:
    """A log-on with a placement that was not answered."""
    number = office.log_on()
    office.ticks()
    office.placements()
    if ending == "timeout":
        office.tick(seconds=5.0)
        assert office.answer(LOGIN, number) == LoginRefusal.LATE.sentence
    else:
        office.app.on_link_lost(MANAGER)
        office.app.on_link_up(MANAGER)
        office.tick()
        assert office.answer(LOGIN, number) == LoginRefusal.NOT_READY.sentence


@pytest.mark.parametrize("ending", ["timeout", "link lost"])
def test_a_placement_in_doubt_keeps_the_record_until_no_base_app_has_the_proxy(ending):
    office = Office()
    in_doubt(office, ending)
    for _ in range(20):  # a minute without an answer that is certain
        office.located("a BaseApp is out of reach")
        office.tick(seconds=3.0)
    assert office.app.view()["in_doubt"] == 1
    again = office.log_on()
    office.ticks()
    assert office.answer(LOGIN, again) == LoginRefusal.ALREADY_LOGGED_ON.sentence
    office.located(None)
    assert office.database.log_ons == {}
    assert office.app.view()["in_doubt"] == 0
    office.arrive()


def test_placement_in_doubt_is_recorded_until_its_found_proxy_leaves():
    office = Office()
    in_doubt(office)
    office.located(BASE)
    assert office.database.log_ons == {1: (77, BASE.index)}
    office.tick(seconds=100.0)
    office.ticks()
    assert office.sought == [], "its BaseApp reports its end"
    office.leave()
    assert office.database.log_ons == {}


def test_a_doubt_is_asked_at_once_when_the_manager_is_back():
    office = Office()
    in_doubt(office)
    office.app.on_link_lost(MANAGER)
    office.tick()
    office.app.on_link_up(MANAGER)
    office.located(None)  # asks within two ticks, long before AGAIN_S
    assert office.database.log_ons == {}


def test_a_placement_in_doubt_ends_when_its_proxy_logs_off_and_not_with_another():
    office = Office()
    in_doubt(office)
    office.leave(entity=50)
    assert office.database.log_ons == {1: (77, PLACE_UNKNOWN)}, "the log-off of a former proxy, repeated"
    office.leave(entity=77)
    assert (office.database.log_ons, office.app.view()["in_doubt"]) == ({}, 0)
    office.log_on()
    office.ticks()
    office.placements()
    for number, _ in office.sought:
        office.app.on_message(MANAGER, Reply(number, REGISTRY.encode(Located())))
    office.ticks(2)
    assert office.database.log_ons == {1: (78, PLACE_UNKNOWN)}, "the doubt of the first has cleared the second"


def test_leaving_may_overtake_arriving():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    gone = office.ask(BASE, LoggedOff(1, 1, 77))
    office.place(asked, 77)
    office.ticks(2)
    assert office.answer(LOGIN, number) == LoginRefusal.LEFT.sentence
    assert office.answer(BASE, gone) == LogOffRecorded()
    assert office.database.log_ons == {}


def test_leaving_right_after_arriving_clears_the_record():
    office = Office()
    office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.place(asked, 77)
    office.ask(BASE, LoggedOff(1, 1, 77))
    office.ticks(2)
    assert office.database.log_ons == {}
    assert office.app.view()["logged_on"] == 0


def test_a_late_word_of_a_former_proxy_does_not_log_the_present_one_off():
    office = Office()
    office.arrive(entity=77)
    office.leave(entity=77)
    office.arrive(entity=78)
    office.leave(entity=77)
    assert office.database.log_ons == {1: (78, BASE.index)}
    assert office.app.view()["logged_on"] == 1


@pytest.mark.parametrize("after", range(9))
def test_a_late_word_of_a_former_proxy_does_not_disturb_a_log_on(after):
    office = Office()
    number = office.log_on()
    for tick in range(9):
        if tick == after:
            office.ask(BASE, LoggedOff(1, 1, 50))
        office.tick(works=False)  # what was submitted and what came lie side by side for a while
        office.tick()
    [(asked, _)] = office.placements()
    office.place(asked, 77)
    office.ticks(2)
    assert isinstance(office.answer(LOGIN, number), LoggedOn)
    assert office.database.log_ons == {1: (77, BASE.index)}


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("works", [True, False])
def test_player_that_leaves_while_logging_on_again_is_free_afterwards(after, works):
    office = Office()
    office.arrive(entity=77)
    office.log_on()
    for _ in range(after // 2):
        office.tick()
    if after % 2:
        office.tick(works=works)
    office.ask(BASE, LoggedOff(1, 1, 77))
    office.ticks()
    for asked, place in office.placements():
        office.place(asked, place.entity)
    office.ticks(2)
    if office.database.log_ons:
        assert office.database.log_ons == {1: (78, BASE.index)}
    else:
        office.arrive(entity=79)


def test_a_proxy_that_could_not_be_recorded_is_kept_in_mind_until_it_is_gone():
    office = Office()
    number = office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.place(asked)
    office.database.failing = "the disk is full"
    office.tick()
    assert office.answer(LOGIN, number) == LoginRefusal.NOT_STORED.sentence
    office.database.failing = ""
    office.tick(seconds=100.0)
    office.ticks(2)
    assert office.database.log_ons == {1: (77, PLACE_UNKNOWN)}
    office.leave()
    office.arrive(entity=78)


def test_a_log_off_that_could_not_be_recorded_is_refused_so_that_it_is_repeated():
    office = Office()
    office.arrive()
    office.database.failing = "the disk is full"
    number = office.ask(BASE, LoggedOff(1, 1, 77))
    office.ticks(2)
    assert office.answer(BASE, number) == "the disk is full"
    assert office.database.log_ons == {1: (77, BASE.index)}
    office.database.failing = ""
    again = office.ask(BASE, LoggedOff(1, 1, 77))
    office.ticks(2)
    assert office.answer(BASE, again) == LogOffRecorded()
    assert (office.database.log_ons, office.app.view()["logged_on"]) == ({}, 0)


def test_refused_placement_with_a_record_that_was_not_cleared_is_in_doubt():
    office = Office()
    office.log_on()
    office.ticks()
    [(asked, _)] = office.placements()
    office.database.failing = "the disk is full"
    office.app.on_message(MANAGER, RequestRefused(asked, "no"))
    office.ticks(2)
    office.database.failing = ""
    office.tick(seconds=3.0)
    office.located(None)
    assert office.database.log_ons == {}


def test_a_login_app_that_is_lost_takes_its_players_with_it():
    office = Office()
    number = office.log_on()
    office.tick(works=False)
    office.app.on_link_lost(LOGIN)
    office.ticks()
    assert office.placements() == []
    assert office.answer(LOGIN, number) is None
    assert (office.database.log_ons, len(office.app.log_ons)) == ({}, 0)
    assert office.database.accounts == {}


@pytest.mark.parametrize("after", range(4))
def test_a_login_app_may_be_lost_at_any_step(after):
    office = Office()
    number = office.log_on()
    office.ticks(after)
    office.app.on_link_lost(LOGIN)
    office.ticks()
    assert office.placements() == []
    assert office.answer(LOGIN, number) is None
    assert (office.database.log_ons, len(office.app.log_ons)) == ({}, 0)


@pytest.mark.parametrize("after", range(6))
def test_a_store_that_fails_at_any_step_ends_the_attempt_in_words(after):
    office = Office()
    number = office.log_on()
    office.ticks(after)
    office.database.failing = "the disk is full"
    office.ticks()
    for asked, _ in office.placements():
        office.place(asked)
    office.ticks()
    assert office.answer(LOGIN, number) == LoginRefusal.NOT_STORED.sentence
    assert len(office.app.log_ons) == 0
    office.database.failing = ""
    office.located(None)
    if office.database.log_ons:  # the proxy was placed; it ends when its BaseApp reports that
        office.leave()
    office.arrive()


def test_player_of_a_removed_type_is_refused_with_its_name():
    office = Office()
    office.arrive()
    office.leave()
    office = Office(database=office.database, schema=Schema((EntitySchema("Hero", 1),)))
    number = office.log_on()
    office.ticks()
    assert office.answer(LOGIN, number) == "This player is of the type Avatar, which the game no longer has."


def test_log_ons_of_a_former_run_are_cleared_at_the_start():
    office = Office()
    office.arrive()
    Office(database=office.database).arrive(entity=80)


def test_restarted_dbapp_keeps_the_records_of_proxies_that_exist():
    office = Office()
    office.arrive("Ada")
    office.log_on("Bob")
    office.ticks()
    assert office.database.log_ons == {1: (77, BASE.index), 2: (78, PLACE_UNKNOWN)}
    after = Office(database=office.database, me=ME._replace(incarnation=2))
    after.ticks()
    after.placements()
    assert [entity for _, entity in after.sought] == [77, 78]
    for number, entity in after.sought:
        found = Located(Home(0, BASE)) if entity == 77 else Located()
        after.app.on_message(MANAGER, Reply(number, REGISTRY.encode(found)))
    after.ticks(2)
    assert after.database.log_ons == {1: (77, BASE.index)}
    number = after.log_on("Ada")
    after.ticks()
    assert after.answer(LOGIN, number) == LoginRefusal.ALREADY_LOGGED_ON.sentence


def test_restarted_dbapp_with_a_failing_store_compares_its_records_later():
    office = Office()
    office.arrive("Ada")
    office.database.failing = "the disk is full"
    after = Office(database=office.database, me=ME._replace(incarnation=2))
    after.ticks()
    office.database.failing = ""
    after.tick(seconds=3.0)
    after.located(None)
    assert after.database.log_ons == {}


def test_a_new_life_of_a_base_app_has_none_of_its_former_players():
    office = Office()
    office.app.on_link_up(BASE)
    office.arrive()
    office.app.on_link_lost(BASE)
    office.app.on_link_up(BASE)
    office.ticks(2)
    assert office.database.log_ons == {1: (77, BASE.index)}, "the same life, linked again"
    office.app.on_link_up(AppId(AppKind.BASE_APP, BASE.index + 1, 5))
    office.app.on_link_up(BASE._replace(incarnation=2))
    office.ticks(2)
    assert office.database.log_ons == {}
    assert office.app.view()["logged_on"] == 0


def test_no_password_is_logged():
    office = Office()
    office.arrive("Ada", "very secret")
    office.log_on("Ada", "very wrong")
    office.ticks()
    assert "very" not in repr(office.host.logged)


def test_door_gets_the_loads_of_the_world_and_of_the_dbapp_once_a_second():
    office = Office()
    office.app.on_link_up(LOGIN)
    office.app.on_message(MANAGER, WorldLoad(WORLD))
    office.app.on_message(MANAGER, WorldLoad(WORLD._replace(base_app=-1.0)))
    office.app.on_message(BASE, WorldLoad(WORLD))
    assert office.app.refusals.total() == 2
    office.host.load = 0.5
    office.tick(seconds=1.0)
    assert office.said.pop(LOGIN) == [DoorLoad(0.5, WORLD)]
    office.tick(seconds=0.5)
    assert LOGIN not in office.said
    office.app.on_link_lost(MANAGER)
    office.tick(seconds=0.5)
    assert office.said.pop(LOGIN) == [DoorLoad(0.5, None)]


def test_holder_of_the_login_goes_to_the_baseapp_with_the_placement():
    office = Office()
    office.ask(LOGIN, LogOn("Ada", "secret", "192.0.2.7", holder=b"h" * 32))
    office.ticks()
    [(_, place)] = office.placements()
    assert place.holder == b"h" * 32
