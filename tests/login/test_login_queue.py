"""A client waits while the world is full or busy, gets its place, and gets in when it is its turn."""

from __future__ import annotations

import json

import pytest

from terrazzo.login.admission import AdmissionLimits, Overload
from terrazzo.login.queue import QueueLimits
from terrazzo.sim.validation import violations_of
from terrazzo.wire.client import Closed, Reason
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.db_basemgr import WorldLoads
from terrazzo.wire.pairs.login_db import DoorLoad, LogOnRefused
from tests.login.test_loginapp import DATABASE, DIGEST, Door, FakeSession

FULL = LogOnRefused("full", LoginRefusal.FULL.sentence)


class FullDoor(Door):
    """A world with room for ten players."""

    def __init__(self, players: int = 10, **limits):
        queue = QueueLimits(**limits.pop("queue", {}))
        super().__init__(queue=queue, **limits)
        self.players(players)

    def players(self, count: int) -> None:
        world = WorldLoads(players=count, players_max=10, base_app=None, cell_mean=None, cell_most=None)
        self.app.on_message(DATABASE, DoorLoad(None, world))

    def arrive(self, name: str, address: str = "", attempt: str = "0a", *, may_wait: bool = True) -> FakeSession:
        request = {"name": name, "password": "secret", "digest": DIGEST, "attempt": attempt, "may_wait": may_wait}
        session: FakeSession = self.knock(raw=json.dumps(request).encode(), address=address or f"addr-{name}")
        return session

    def lose(self, session: FakeSession, reason: Reason = Reason.PATH_LOST) -> None:
        self.inbox.queue.append(Closed(session, reason, False))  # type: ignore[arg-type]

    def names(self, seconds: float = 0.1) -> list[str]:
        """Which players the DBApp is asked for in a tick."""
        asked = [each.name for _, each in self.tick(seconds)]
        assert [*violations_of(self.app)] == []
        return asked


def place(session: FakeSession) -> tuple[int, int]:
    assert session.closed_at is None
    return session.sent[-1]["place"], session.sent[-1]["waiting"]


def test_client_that_may_not_wait_is_refused_by_a_full_world_before_the_dbapp_is_asked():
    door = FullDoor()
    session = door.arrive("Ann", may_wait=False)
    assert door.names() == []
    assert session.code == "full"


def test_waiting_clients_get_their_places_and_get_in_one_after_the_other():
    door = FullDoor()
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    assert door.names() == []
    assert (place(ann), place(ben)) == ((1, 2), (2, 2))
    assert ann.steps == ["vouched"]
    assert door.app.view()["queued"] == door.app.queues()["clients"] == 2
    door.players(9)
    [(number, asked)] = door.tick()
    assert asked.name == "Ann"
    door.answer(number)
    assert "key" in ann.sent[-1]
    assert door.names(2.0) == [], "Ann is not in the figure of the BaseAppMgr yet, and counts all the same"
    door.players(10)
    assert door.names(4.0) == []
    assert place(ben) == (1, 1)
    door.players(9)
    assert door.names() == ["Ben"]
    kinds = [event for event, _ in door.host.logged if event in (LogEvent.LOGINS_WAIT, LogEvent.LOGINS_WAIT_NO_MORE)]
    assert kinds == [LogEvent.LOGINS_WAIT, LogEvent.LOGINS_WAIT_NO_MORE]


def test_newcomer_does_not_pass_the_clients_that_wait():
    door = FullDoor(queue={"let_in_per_s": 1.0})
    for name in ("Ann", "Ben"):
        door.arrive(name)
    door.names()
    door.players(0)
    late, hasty = door.arrive("Cat"), door.arrive("Dan", may_wait=False)
    assert door.names() == ["Ann"]
    assert place(late) == (2, 2)
    assert hasty.code == "too_many"
    assert door.names(1.0) == ["Ben"]
    assert door.names(1.0) == ["Cat"]


def test_place_is_sent_again_at_intervals():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.names()
    door.names(4.9)
    assert len(ann.sent) == 1
    door.names(0.2)
    assert len(ann.sent) == 2


def test_client_that_leaves_frees_its_place_at_once():
    door = FullDoor()
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    door.names()
    door.lose(ann, Reason.ABORTED)
    door.names(5.0)
    assert place(ben) == (1, 1)


@pytest.mark.parametrize("attempt", ["0a", "0b"], ids=["the same attempt", "a page that was loaded anew"])
def test_client_that_comes_back_has_its_place_without_a_new_attempt(attempt):
    door = FullDoor(attempts_burst=1, attempts_per_s=0.001)
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    door.names()
    door.lose(ann)
    door.names(20.0)
    again = door.arrive("Ann", attempt=attempt)
    door.names(0.2)
    assert (place(again), place(ben)) == ((1, 2), (2, 2))
    assert door.app.repeated == 1
    door.players(9)
    [(number, asked)] = door.tick()
    assert asked.name == "Ann"
    door.answer(number)
    assert "key" in again.sent[-1]


def test_client_that_comes_back_while_its_session_stands_ends_that_session():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.names()
    again = door.arrive("Ann")
    door.names()
    assert ann.aborted is Reason.ABORTED
    door.lose(ann, Reason.ABORTED)
    door.names()
    assert place(again) == (1, 1)


def test_client_that_is_away_is_passed_over_and_is_first_when_it_is_back():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.arrive("Ben")
    door.names()
    door.lose(ann)
    door.players(9)
    assert door.names() == ["Ben"]
    door.players(10)
    door.arrive("Ann")
    door.players(8)
    assert door.names(3.0) == ["Ann"]


def test_client_that_stays_away_for_too_long_has_lost_its_place():
    door = FullDoor(queue={"return_s": 30.0})
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    door.names()
    door.lose(ann, Reason.SILENT)
    door.names()
    door.names(30.0)
    door.names(5.0)
    assert place(ben) == (1, 1)
    again = door.arrive("Ann")
    door.names()
    assert place(again) == (2, 2)


def test_client_that_does_not_acknowledge_its_place_counts_as_away():
    door = FullDoor(queue={"silence_s": 16.0})
    ann = door.arrive("Ann")
    door.names()
    ann.heard_at = door.host.now
    door.names(15.0)
    before = ann.aborted
    door.names(5.0)
    assert (before, ann.aborted) == (None, Reason.SILENT)
    door.players(0)
    assert door.names() == []


def test_client_without_a_recent_packet_is_passed_over():
    door = FullDoor(queue={"silence_s": 16.0})
    ann = door.arrive("Ann")
    door.arrive("Ben")
    door.names()
    ann.heard_at = door.host.now - 8.0
    door.players(9)
    assert door.names() == ["Ben"]
    ann.heard_at = door.host.now
    door.players(8)
    assert door.names(3.0) == ["Ann"]


def test_client_that_sends_more_while_it_waits_is_out():
    door = FullDoor()
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    door.names()
    door.say(ann, b"me first")
    door.names(5.0)
    assert ann.aborted is Reason.PROTOCOL
    assert place(ben) == (1, 1)


def test_world_that_is_full_after_all_gives_the_client_its_place_back():
    door = FullDoor()
    ann, ben = door.arrive("Ann"), door.arrive("Ben")
    door.names()
    door.players(8)
    asked = {each.name: number for number, each in door.tick()}
    assert list(asked) == ["Ann", "Ben"]
    door.answer(asked["Ben"], FULL)
    door.answer(asked["Ann"], FULL)
    assert door.names() == [], "full until the next figure"
    assert (place(ann), place(ben)) == ((1, 2), (2, 2))
    door.players(9)
    assert door.names() == ["Ann"]
    assert door.app.refused == {}


def test_client_that_asked_anew_meanwhile_gets_the_lower_number_of_its_two_requests():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.arrive("Ben")
    door.names()
    door.players(9)
    [(number, _)] = door.tick()
    reloaded = door.arrive("Ann", attempt="0b")
    door.names()
    assert place(reloaded) == (2, 2)
    door.answer(number, FULL)
    door.names(5.0)
    assert ann.aborted is Reason.ABORTED
    assert place(reloaded) == (1, 2)


def test_client_with_a_lost_session_keeps_its_place_when_the_world_proves_full():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.names()
    door.players(9)
    [(number, _)] = door.tick()
    door.lose(ann)
    door.names()
    door.answer(number, FULL)
    again = door.arrive("Ann")
    door.names()
    assert place(again) == (1, 1)


def test_wrong_password_ends_the_wait():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.names()
    door.players(9)
    [(number, _)] = door.tick()
    door.answer(number, LogOnRefused("wrong", LoginRefusal.WRONG.sentence))
    assert ann.sent[-1]["code"] == "wrong"
    assert door.app.view()["queued"] == 0


def test_player_that_may_be_in_already_is_looked_for_before_it_waits():
    """A second login needs no room; a player that is not in joins the queue behind the others."""
    door = FullDoor(9)
    door.arrive("Ann")
    [(number, _)] = door.tick()
    door.answer(number)
    door.players(10)
    ben = door.arrive("Ben")
    assert door.names() == []
    again = door.arrive("Ann", attempt="0b")
    [(number, asked)] = door.tick()
    assert (asked.name, asked.may_place) == ("Ann", False)
    door.answer(number, FULL)
    door.names(5.0)
    assert (place(ben), place(again)) == ((1, 2), (2, 2))
    hasty = door.arrive("Ann", attempt="0c", may_wait=False)
    [(number, _)] = door.tick()
    door.answer(number, FULL)
    assert hasty.code == "full"
    door.players(8)
    assert [(each.name, each.may_place) for _, each in door.tick(3.0)] == [("Ben", True), ("Ann", True)]


def test_busy_servers_let_clients_wait_too():
    door = FullDoor(0, admission=AdmissionLimits({Overload.DB_APP: 1.0}, tolerance_s=0.0))
    door.app.on_message(DATABASE, DoorLoad(1.5, None))
    ann, hasty = door.arrive("Ann"), door.arrive("Ben", may_wait=False)
    assert door.names() == []
    assert place(ann) == (1, 1)
    assert hasty.code == "overloaded"
    door.app.on_message(DATABASE, DoorLoad(0.5, None))
    assert door.names() == ["Ann"]


def test_flood_of_one_address_does_not_fill_the_queue():
    door = FullDoor(queue={"address_max": 2, "waiting_max": 3})
    flood = [door.arrive(f"x{each}", "192.0.2.1") for each in range(5)]
    other = door.arrive("Ann")
    late = door.arrive("Ben")
    door.names()
    assert [each.sent[0].get("code") for each in flood] == [None, None, *["queue_crowded"] * 3]
    assert place(other) == (3, 3)
    assert late.code == "queue_full"
    assert {each["reason"]: each["count"] for each in door.app.refused_clients()} == {
        "queue_crowded": 3,
        "queue_full": 1,
    }


def test_queue_outlasts_a_lost_link_with_the_dbapp():
    door = FullDoor()
    ann = door.arrive("Ann")
    door.names()
    door.app.on_link_lost(DATABASE)
    door.names(5.0)
    assert place(ann) == (1, 1)
    door.app.on_link_up(DATABASE)
    assert door.names() == ["Ann"], "without a figure the DBApp decides"


def test_bot_of_the_cluster_does_not_wait():
    door = FullDoor()
    door.app._doorkeeper._bots_password = b"secret"
    door.arrive("Ann")
    door.arrive("bot-1")
    assert door.names() == ["bot-1"]
