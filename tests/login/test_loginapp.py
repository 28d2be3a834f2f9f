"""LoginApp: each check in its order, and every way in which a login may end."""

from __future__ import annotations

import json
import random

import pytest

from terrazzo.login.limits import LoginLimits
from terrazzo.login.loginapp import LoginApp, host_of
from terrazzo.wire.client import ClientEndpoint, Closed, Connected, Reason, Received, ServerEndpoint
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_db import Ids
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, LogOnRefused
from tests.fake_host import FakeHost

ME = AppId(AppKind.LOGIN_APP, 2, 1)
DATABASE = AppId(AppKind.DB_APP, 0, 3)
DIGEST = "ab" * 32
LOGGED_ON = LoggedOn(77, b"\x01\xff", "198.51.100.1", 4000, 4001)


class FakeSession:
    """What the app does with a session."""

    def __init__(self, address="192.0.2.7"):
        self.address = (address, 5000)
        self.sent: list[dict] = []
        self.closed_at: float | None = None
        self.aborted: Reason | None = None
        self.steps: list[str] = []
        self.heard_at = 1e9

    def vouch(self) -> None:
        self.steps.append("vouched")

    def admit(self) -> None:
        self.steps.append("admitted")

    def send(self, message: bytes, *, reliable: bool = True) -> bool:
        assert self.closed_at is None
        assert reliable
        self.sent.append(json.loads(message))
        return True

    def close(self, now: float) -> None:
        self.closed_at = now

    def abort(self, reason: Reason = Reason.ABORTED) -> None:
        self.aborted = reason

    @property
    def error(self) -> str:
        """The one sentence that was the whole answer."""
        [reply] = self.sent
        assert list(reply) == ["error", "code"]
        assert self.closed_at is not None
        return str(reply["error"])

    @property
    def code(self) -> str:
        """The code of that answer."""
        assert self.error
        return str(self.sent[0]["code"])


class Inbox:
    """The endpoint: events that a test puts in."""

    def __init__(self) -> None:
        self.queue: list = []

    def events(self):
        events, self.queue = self.queue, []
        return events


class Door:
    """The app, its endpoint, and the DBApp played by the test."""

    def __init__(self, *, has_database=True, **limits):
        self.host = FakeHost()
        self.inbox = Inbox()
        limits = {"attempts_burst": 1000, **limits}
        self.app = LoginApp(ME, self.host, endpoint=self.inbox, digest=DIGEST, limits=LoginLimits(**limits))
        if has_database:
            self.app.on_link_up(DATABASE)

    def tick(self, seconds=0.1) -> list[tuple[int, LogOn]]:
        """A tick; gives what DBApp was asked in it."""
        self.host.now += seconds
        self.app.on_tick()
        asked = []
        for peer, bundles in self.app.outbox.drain():
            assert peer == DATABASE
            for bundle in bundles:
                for item in REGISTRY.decode_bundle(bundle):
                    assert isinstance(item, Request)
                    inner = REGISTRY.decode_nested(item.item)
                    assert isinstance(inner, LogOn)
                    asked.append((item.number, inner))
        return asked

    def connect(self, address="192.0.2.7"):
        session = FakeSession(address)
        self.inbox.queue.append(Connected(session, b""))  # type: ignore[arg-type]
        return session

    def knock(self, name="Ada", password="secret", digest=DIGEST, address="192.0.2.7", raw=None):
        session = self.connect(address)
        text = json.dumps({"name": name, "password": password, "digest": digest}).encode()
        self.say(session, text if raw is None else raw)
        return session

    def say(self, session, *messages):
        self.inbox.queue.append(Received(session, list(messages)))

    def close(self, session):
        self.inbox.queue.append(Closed(session, Reason.ENDED, True))

    def answer(self, number: int, message: Message = LOGGED_ON) -> None:
        self.app.on_message(DATABASE, Reply(number, REGISTRY.encode(message)))


def test_a_player_is_let_in():
    door = Door()
    session = door.knock()
    [(number, asked)] = door.tick()
    assert asked == LogOn("Ada", "secret", "192.0.2.7")
    assert session.sent == []
    assert session.steps == ["vouched"]
    door.answer(number)
    assert session.steps == ["vouched", "admitted"]
    assert session.sent == [{"host": "198.51.100.1", "udp_port": 4000, "ws_port": 4001, "key": "01ff"}]
    assert session.closed_at == door.host.now
    assert door.app.view() == {
        "waiting": 0,
        "asked": 0,
        "queued": 0,
        "let_in": 1,
        "repeated": 0,
        "refused": {},
        "has_database": True,
        "admission": door.app.admission.view(),
    }


@pytest.mark.parametrize(
    ("knock", "why"),
    [
        ({"raw": b"hello"}, LoginRefusal.MALFORMED),
        ({"raw": bytes(5000)}, LoginRefusal.MALFORMED),
        ({"name": " Ada"}, LoginRefusal.NAME),
        ({"password": ""}, LoginRefusal.PASSWORD),
        ({"digest": "cd" * 32}, LoginRefusal.DIGEST),
    ],
)
def test_request_that_fails_a_check_is_refused_without_the_dbapp(knock, why):
    door = Door()
    session = door.knock(**knock)
    assert door.tick() == []
    assert (session.error, session.code) == (why.sentence, why.value)
    assert door.app.view()["refused"] == {why.value: 1}


def test_checks_come_in_their_order():
    """Each request fails its check and all later ones; it gets the code of the first."""
    far = {"digest": "x", "name": " Ada", "password": ""}
    door = Door(attempts_burst=1, attempts_per_s=0.0, total_per_s=3.0, asked_max=0)
    spent = door.knock(address="192.0.2.1", **far)
    door.tick()
    door.app.on_link_lost(DATABASE)
    order = [
        (door.knock(address="192.0.2.1", **far), LoginRefusal.RATE),
        (door.knock(address="192.0.2.2", **far), LoginRefusal.NOT_READY),
    ]
    door.tick()
    door.app.on_link_up(DATABASE)
    knocks = [(each, why) for each, why in (
        ({"raw": bytes(5000)}, LoginRefusal.MALFORMED),
        ({"digest": "x", "name": " Ada", "password": ""}, LoginRefusal.NAME),
        ({"digest": "x", "password": ""}, LoginRefusal.PASSWORD),
        ({"digest": "x", "name": "bot-1"}, LoginRefusal.RESERVED),
        ({"digest": "x"}, LoginRefusal.DIGEST),
        ({}, LoginRefusal.TOO_MANY),
    )]  # fmt: skip
    for number, (each, why) in enumerate(knocks):
        order.append((door.knock(address=f"192.0.2.{10 + number}", **each), why))
        door.tick(10.0)
    order += [(spent, LoginRefusal.NAME)]
    assert [session.code for session, _ in order] == [why.value for _, why in order]


def test_rate_of_all_addresses_together_is_limited():
    door = Door(total_per_s=2.0)
    sessions = [door.knock(address=f"192.0.2.{each}") for each in range(3)]
    assert len(door.tick()) == 2
    assert sessions[2].code == "too_many"


def test_address_of_a_former_player_has_a_rate_beside_that_of_all_others():
    door = Door(total_per_s=2.0)
    door.knock(address="192.0.2.1")
    [(number, _)] = door.tick()
    door.answer(number)
    for each in range(10, 14):
        door.knock(address=f"192.0.2.{each}")
    assert len(door.tick(0.0)) == 1
    door.knock(name="Ben", address="192.0.2.1")
    assert len(door.tick(0.0)) == 1


def test_sentence_about_the_digest_has_the_reason():
    assert "built from different entity definitions" in LoginRefusal.DIGEST.sentence


def test_an_address_that_tries_too_often_waits_and_others_do_not():
    door = Door(attempts_per_s=0.5, attempts_burst=2)
    sessions = [door.knock() for _ in range(3)]
    other = door.knock(address="192.0.2.8")
    assert len(door.tick()) == 3
    assert sessions[2].error == LoginRefusal.RATE.sentence
    assert other.sent == []
    later = door.knock()
    assert len(door.tick(2.0)) == 1
    assert later.sent == []


def test_number_of_attempts_in_work_is_limited():
    door = Door(asked_max=2)
    sessions = [door.knock() for _ in range(3)]
    asked = door.tick()
    assert len(asked) == 2
    assert sessions[2].error == LoginRefusal.TOO_MANY.sentence
    door.answer(asked[0][0])
    again = door.knock()
    assert len(door.tick()) == 1
    assert again.sent == []


def test_without_dbapp_the_game_is_starting_or_stopping():
    door = Door(has_database=False)
    session = door.knock()
    assert door.tick() == []
    assert session.error == "The game is starting or stopping; try again in a moment."


def test_dbapp_lost_while_asked():
    door = Door()
    session = door.knock()
    door.tick()
    door.app.on_link_lost(DATABASE)
    assert session.error == LoginRefusal.NOT_READY.sentence
    assert door.app.view()["has_database"] is False


def test_dbapp_that_does_not_answer():
    door = Door(log_on_s=15.0)
    session = door.knock()
    [(number, _)] = door.tick()
    door.tick(14.8)
    assert session.sent == []
    door.tick(0.3)
    assert session.error == "The game did not answer in time; try again in a moment."
    door.answer(number)
    assert len(session.sent) == 1
    assert door.app.view()["let_in"] == 0


def test_refusal_of_the_dbapp_is_passed_on_with_its_code():
    door = Door()
    sessions = [door.knock() for _ in range(3)]
    (first, _), (second, _), (third, _) = door.tick()
    door.answer(first, LogOnRefused("bad_name", "A player cannot have this name: no."))
    door.answer(second, LogOnRefused("of a later version", "No."))
    door.app.on_message(DATABASE, RequestRefused(third, "malformed"))
    assert [(each.code, each.error) for each in sessions] == [
        ("bad_name", "A player cannot have this name: no."),
        ("refused", "No."),
        ("refused", LoginRefusal.REFUSED.sentence),
    ]
    assert door.app.refused == {LoginRefusal.BAD_NAME: 1, LoginRefusal.REFUSED: 2}


def test_an_answer_of_the_wrong_kind_is_no_way_in():
    door = Door()
    session = door.knock()
    [(number, _)] = door.tick()
    door.answer(number, Ids(1, 2))
    assert session.error == LoginRefusal.LATE.sentence


def test_a_second_request_while_the_first_is_in_work_ends_the_session():
    door = Door()
    session = door.knock()
    [(number, _)] = door.tick()
    door.say(session, b"again")
    assert door.tick() == []
    assert session.aborted is Reason.PROTOCOL
    door.answer(number)
    assert session.sent == []
    assert door.app.view()["asked"] == 0


def test_message_after_the_answer_is_ignored():
    door = Door()
    session = door.knock(name="")
    door.say(session, b"again", b"and again")
    door.tick()
    assert session.error == LoginRefusal.NAME.sentence
    assert session.aborted is None


def test_client_that_leaves_before_the_answer_gets_none():
    door = Door()
    session = door.knock()
    [(number, _)] = door.tick()
    door.close(session)
    door.tick()
    door.answer(number)
    assert session.sent == []
    assert door.app.view()["let_in"] == 0


def test_silent_session_is_ended():
    door = Door(request_s=10.0)
    silent = door.connect()
    door.tick()
    later, gone = door.connect(), door.connect()
    door.close(gone)
    door.tick(9.5)
    assert door.app.view()["waiting"] == 2
    door.tick(0.6)
    assert (silent.aborted, later.aborted, gone.aborted) == (Reason.SILENT, None, None)
    assert door.app.view()["waiting"] == 1


def test_dbapp_is_joined_once_and_again_when_lost():
    door = Door(has_database=False)
    anyone = DATABASE._replace(incarnation=ANY_INCARNATION)
    for _ in range(3):
        door.tick()
    assert door.host.joined == [anyone]
    door.app.on_link_lost(anyone)
    for _ in range(3):
        door.tick()
    assert door.host.joined == [anyone] * 2
    door.app.on_link_up(DATABASE)
    door.app.on_link_lost(anyone)
    door.tick()
    assert door.host.joined == [anyone] * 2
    door.app.on_link_lost(DATABASE)
    door.tick()
    assert door.host.joined == [anyone] * 3


def test_what_names_a_machine():
    assert host_of(("192.0.2.1", 99)) == "192.0.2.1"
    assert host_of("client-1") == "client-1"
    assert host_of(()) == "()"
    assert len(host_of("x" * 9999)) == 100


def test_no_password_is_logged():
    door = Door()
    door.knock(password="very secret")
    [(number, _)] = door.tick()
    door.app.on_message(DATABASE, RequestRefused(number, "no"))
    assert "very" not in repr(door.host.logged)


def test_over_a_real_endpoint():
    """The whole exchange through the client channel, datagrams carried by hand."""
    host = FakeHost()
    server = ServerEndpoint(bytes(range(32)), entropy=random.Random(1).randbytes)
    client = ClientEndpoint(server.public_key, entropy=random.Random(2).randbytes, now=host.now)
    app = LoginApp(ME, host, endpoint=server, digest=DIGEST)
    app.on_link_up(DATABASE)
    heard: list = []
    for _ in range(100):
        host.now += 0.05
        for data in client.poll(host.now):
            server.on_datagram(("192.0.2.7", 1), data, host.now)
        app.on_tick()
        for _, bundles in app.outbox.drain():
            [item] = REGISTRY.decode_bundle(bundles[0])
            assert isinstance(item, Request)
            app.on_message(DATABASE, Reply(item.number, REGISTRY.encode(LOGGED_ON)))
        for _, data in server.poll(host.now):
            client.on_datagram(data, host.now)
        for event in client.events():
            heard.append(event)
            if isinstance(event, Connected):
                event.session.send(json.dumps({"name": "Ada", "password": "x", "digest": DIGEST}).encode())
    assert [type(event) for event in heard] == [Connected, Received, Closed]
    assert json.loads(heard[1].messages[0])["key"] == "01ff"
    assert heard[2].reason is Reason.ENDED
    assert server.sessions == {}
