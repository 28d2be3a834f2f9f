"""What a client must not do, and what happens when it does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.base.farewells import ClientLoss, Farewell
from terrazzo.base.limits import BAD_MAX, MESSAGE_RATE, ClientRefusal
from terrazzo.base.presence_states import Presence
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.pairs.base_cell import CallCell, Moves
from terrazzo.wire.pairs.base_db import LoggedOff, Save, Saved
from terrazzo.wire.pairs.basemgr_base import ProxyCreated
from terrazzo.wire.rates import Bucket
from tests.base.base_harness import AVATAR, BYE, CREATURE, EVENTS, READY, FakeSession, Town, call


def assert_refused(session: FakeSession) -> None:
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.WRONG_KEY])
    assert session.is_closed()


def test_a_wrong_key():
    town = Town()
    town.log_on()
    assert_refused(town.connect(bytes(16)))
    assert_refused(town.connect(b""))
    assert town.app.view()["bad_messages"] == 2


def test_a_key_is_good_once():
    town = Town()
    created = town.log_on()
    assert isinstance(created, ProxyCreated)
    first = town.connect(created.key, 1)
    assert_refused(town.connect(created.key, 2))
    assert not first.is_closed()
    town.hear(first, READY)
    assert EVENTS[-1] == ("on_client_ready",)


def test_a_key_expires_and_its_proxy_goes_unsaved():
    town = Town()
    created = town.log_on()
    assert isinstance(created, ProxyCreated)
    town.step(14, 1.0)
    assert town.told(LoggedOff) == []
    town.step(3, 1.0)  # a player who closed the page while joining does not wait long
    assert town.told(LoggedOff) == [LoggedOff(AVATAR.type_id, 5, created.entity)]
    assert town.told(Save) == []
    assert_refused(town.connect(created.key))
    assert isinstance(town.log_on(), ProxyCreated)


def test_save_under_way_ends_before_a_proxy_without_a_client_ends():
    town = Town()
    created = town.log_on()
    assert isinstance(created, ProxyCreated)
    town.answers[Save] = lambda request: "not now"
    town.proxy(created.entity).part.save()
    town.step(2, 31.0)
    assert town.told(LoggedOff) == []
    town.answers[Save] = lambda request: Saved(request.dbid)
    town.step(31, 1.0)
    assert len(town.told(LoggedOff)) == 1


def test_a_client_that_is_never_ready():
    town = Town()
    _, session = town.attached()
    town.step(2, 16.0)
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.TOO_SLOW])
    town.settle()
    assert town.app.bases == {}


def test_nothing_before_ready_and_ready_once():
    town = Town()
    proxy, session = town.attached()
    town.hear(session, call(proxy.id, Side.BASE, "buy", 1), protocol.encode_move((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert proxy.bad == 2
    town.hear(session, READY, READY)
    assert proxy.bad == 3
    assert EVENTS == [("on_loaded",), ("on_client_ready",)]


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00",
        bytes([9, 1]),
        bytes([11, 1]),
        bytes([2]) + bytes(23),
        bytes([2]) + bytes(25),
        bytes([3]),
        bytes([3]) + bytes(11),
        bytes([3]) + bytes(12 * (protocol.WANTS_MAX + 1)),
        bytes([3, 1, 0, 0, 0]) + b"\xff" * 8,
        bytes([4]),
        bytes([4, 1]),
        bytes([4, 1, 0]),
        bytes([4]) + bytes(2 * (protocol.RELEASED_MAX + 1)),
        protocol.encode_move((float("nan"), 0.0, 0.0), (0.0, 0.0, 0.0)),
        bytes([12]),
        bytes([134]) + bytes(3),
        bytes([133]) + (1000).to_bytes(4, "little"),
        bytes([254]) + (1000).to_bytes(4, "little"),
    ],
    ids=lambda each: each.hex() or "empty",
)
def test_bad_messages_are_counted(message):
    town = Town()
    proxy, session = town.playing()
    assert proxy.id == 1000
    town.hear(session, message)
    assert proxy.bad == 1
    assert proxy.presence is Presence.READY


def test_too_many_bad_messages_end_the_session():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, *[b"\x00"] * (BAD_MAX - 1))
    assert not session.is_closed()
    town.hear(session, b"\x00", call(proxy.id, Side.BASE, "buy", 1), b"\x00")
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.BAD_MESSAGES])
    assert session.is_closed()
    assert proxy.bad == BAD_MAX
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.LIMITS)


def test_only_exposed_methods_have_a_number():
    """`heal` and `give` are for servers: no number leads to them."""
    town = Town()
    proxy, session = town.playing()
    own = proxy.id.to_bytes(4, "little")
    for number in range(12, 255):
        for args in (b"", bytes(2), bytes(4)):
            proxy.bad = 0
            town.hear(session, bytes([number]) + own + args)
    town.settle()
    names = {AVATAR.cell_methods[each.method].name for each in town.cell.got(CallCell)}
    assert names <= {"say", "poke"}
    assert not [each for each in EVENTS if each[0] == "give"]


def test_arguments_are_checked_before_anything_is_sent():
    town = Town()
    proxy, session = town.playing()
    good = call(proxy.id, Side.CELL, "poke", 3)
    town.hear(session, good[:-1], good + b"\0", call(proxy.id, Side.BASE, "buy", 3)[:-1])
    town.settle()
    assert proxy.bad == 3
    assert town.cell.got(CallCell) == []


def test_calls_of_another_entity():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, call(555, Side.CELL, "poke", 3))
    assert (proxy.bad, proxy.mail.dropped[ClientRefusal.LATE]) == (0, 1)  # not in sight: it may just have left
    town.show(proxy, 555, 1)
    town.show(proxy, 556, 2, CREATURE)
    town.hear(session, call(555, Side.CELL, "say", "I am you"))
    assert proxy.bad == 1
    town.hear(session, call(555, Side.BASE, "buy", 1))
    assert proxy.bad == 2
    town.hear(session, call(556, Side.CELL, "poke", 3))  # no such method there
    assert proxy.bad == 3
    assert not [each for each in EVENTS if each[0] == "buy"]
    # What is exposed to all goes to the other's cell part, which is looked for.
    town.cell.make(town.cell.created[0].__class__(555, 1, 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), b"", 0, 0))
    town.hear(session, call(555, Side.CELL, "poke", 3))
    town.settle()
    [(entity, message)] = [each for each in town.cell.mail if isinstance(each[1], CallCell)]
    assert entity == 555
    assert isinstance(message, CallCell)
    assert message.caller == proxy.id
    town.tell(proxy, protocol.encode_leave(1))
    town.hear(session, call(555, Side.CELL, "poke", 3))
    assert proxy.mail.dropped[ClientRefusal.LATE] == 2


def test_call_of_an_entity_that_no_app_has_is_reported():
    town = Town()
    proxy, session = town.playing()
    town.show(proxy, 555, 1)
    town.hear(session, call(555, Side.CELL, "poke", 3))
    town.step(60, 0.5)
    assert EVENTS[-1] == ("on_call_failed", 555, "poke", "there is no such entity (any more)")


def test_each_method_has_its_rate():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, *[call(proxy.id, Side.BASE, "buy", each) for each in range(5)])
    assert [each for each in EVENTS if each[0] == "buy"] == [("buy", 0), ("buy", 1), ("buy", 2)]
    assert (proxy.mail.dropped[ClientRefusal.OVER_RATE], proxy.bad) == (2, 0)
    town.hear(session, *[call(proxy.id, Side.CELL, "say", "x")] * 3)
    town.settle()
    assert len(town.cell.got(CallCell)) == 2
    town.step(10)
    town.hear(session, call(proxy.id, Side.BASE, "buy", 9))
    assert EVENTS[-1] == ("buy", 9)
    assert [each["count"] for each in town.logs("call over its rate")] == [1, 2]


def test_flood_counts_as_bad_whatever_its_messages_are():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, *[protocol.encode_move((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))] * (int(MESSAGE_RATE) + 30))
    assert session.is_closed()
    assert proxy.bad == BAD_MAX


def test_what_is_late_is_not_bad():
    town = Town()
    proxy, session = town.playing()
    proxy.part.destroy_cell()
    town.hear(session, protocol.encode_move((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), call(proxy.id, Side.CELL, "say", "x"))
    assert (proxy.bad, proxy.mail.dropped[ClientRefusal.LATE]) == (0, 2)
    assert [each for each in town.cell.heard if isinstance(each, Moves)] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=30))
def test_any_bytes_are_taken_without_a_crash(messages):
    town = Town()
    proxy, session = town.playing()
    own = proxy.id.to_bytes(4, "little")
    spiced = [m[:1] + own + m[1:] if number % 2 else m for number, m in enumerate(messages)]
    town.hear(session, *spiced)
    town.settle()
    assert proxy.bad <= BAD_MAX


def test_messages_of_a_session_that_is_over_are_dropped():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, BYE, call(proxy.id, Side.BASE, "buy", 1))
    town.hear(session, call(proxy.id, Side.BASE, "buy", 1), b"\x00")
    assert not [each for each in EVENTS if each[0] == "buy"]
    assert proxy.bad == 0


def test_a_rate_allows_one_at_least_and_fills_up_again():
    rate = Bucket(per_s=0.5)
    assert rate.take(0.0)
    assert not rate.take(1.0)
    assert rate.take(2.0)
    assert [rate.take(100.0), rate.take(100.0)] == [True, False]
