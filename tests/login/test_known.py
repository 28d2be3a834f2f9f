"""A player at an address from which it logged in before is not delayed by strangers that try its name."""

from __future__ import annotations

from terrazzo.login.known import ADDRESSES_MAX, KnownAddresses
from terrazzo.wire.common import RequestRefused
from terrazzo.wire.login_refusals import LoginRefusal
from tests.login.test_loginapp import DATABASE, Door


def test_an_address_is_known_for_the_name_that_was_let_in_from_there():
    known = KnownAddresses()
    known.note("Ada", "192.0.2.7")
    known.note("Bob", "2001:db8::1")
    assert known.has("aDA", "192.0.2.7")
    assert known.has("Bob", "2001:db8::ffff:2")
    assert not known.has("Ada", "192.0.2.8")
    assert not known.has("Bob", "192.0.2.7")


def test_list_of_known_addresses_is_bounded_and_keeps_the_latest():
    known = KnownAddresses(names_max=3)
    for number in range(10):
        known.note("Ada", f"192.0.2.{number}")
    assert [number for number in range(10) if known.has("Ada", f"192.0.2.{number}")] == list(range(10))[-ADDRESSES_MAX:]
    for name in ("a", "b", "Ada", "c"):
        known.note(name, "192.0.2.1")
    assert len(known) == 3
    assert not known.has("a", "192.0.2.1")
    assert known.has("Ada", "192.0.2.9")


def test_strangers_fill_their_places_and_a_known_player_still_gets_through():
    door = Door(asked_max=3, known_max=1)
    door.knock("Ada", address="192.0.2.7")
    [(number, log_on)] = door.tick()
    assert not log_on.is_known
    door.answer(number)
    for stranger in range(5):
        door.knock("Ada", "guess", address=f"198.51.100.{stranger}")
    late = door.knock("Bob", address="203.0.113.1")
    assert len(door.tick()) == 3
    assert late.error == LoginRefusal.TOO_MANY.sentence
    door.knock("ada", address="192.0.2.7")
    more = door.knock("Ada", address="192.0.2.7")
    [(_, log_on)] = door.tick()
    assert log_on.is_known
    assert more.error == LoginRefusal.TOO_MANY.sentence


def test_a_wrong_password_makes_no_address_known():
    door = Door()
    door.knock("Ada", "guess")
    [(number, _)] = door.tick()
    door.app.on_message(DATABASE, RequestRefused(number, "Wrong name or password."))
    door.knock("Ada")
    [(_, log_on)] = door.tick()
    assert not log_on.is_known
