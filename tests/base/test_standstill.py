"""A BaseApp that stood still reads the messages of seconds at once: a client that keeps to its rates is no flood."""

from terrazzo.base.limits import BAD_MAX, MESSAGE_RATE, ClientRefusal
from terrazzo.base.standstill import SPARE_MAX_S, SPARE_S, STANDSTILL_S, Standstill
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.wire.rates import Bucket
from tests.base.base_harness import EVENTS, Town, call

MOVE = protocol.encode_move((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
STOOD_S = 5.0
BUYS_PER_S = 3


def test_client_is_not_sent_away_for_what_it_sent_while_the_app_stood_still():
    town = Town()
    proxy, session = town.playing()
    town.host.now += STOOD_S
    town.hear(session, *[MOVE] * int(0.9 * MESSAGE_RATE * STOOD_S))
    assert (proxy.bad, session.is_closed()) == (0, False)


def test_calls_made_while_the_app_stood_still_are_within_their_rate():
    town = Town()
    proxy, session = town.playing()
    count = int(BUYS_PER_S * STOOD_S)
    town.host.now += STOOD_S
    EVENTS.clear()
    for each in range(count):  # in several turns, as a full socket is read
        town.hear(session, call(proxy.id, Side.BASE, "buy", each))
    assert [each for each in EVENTS if each[0] == "buy"] == [("buy", each) for each in range(count)]
    assert proxy.mail.dropped[ClientRefusal.OVER_RATE] == 0


def test_more_than_the_rate_allows_is_a_flood_after_a_standstill_as_well():
    town = Town()
    proxy, session = town.playing()
    town.host.now += STOOD_S
    town.hear(session, *[MOVE] * int(MESSAGE_RATE * (STOOD_S + 2.0)))
    assert session.is_closed()
    assert proxy.bad == BAD_MAX


def test_room_for_a_standstill_is_gone_soon_after_it():
    town = Town()
    _, session = town.playing()
    town.host.now += STOOD_S
    town.step(int(SPARE_S / 0.1) + 2, 0.1)
    town.hear(session, *[MOVE] * int(2 * MESSAGE_RATE))
    assert session.is_closed()


def test_turns_in_time_are_no_standstill():
    standstill = Standstill(100.0)
    for turn in range(100):
        standstill.note_turn(100.0 + turn * 0.9 * STANDSTILL_S)
        assert standstill.spare_s(100.0 + turn * 0.9 * STANDSTILL_S) == 0.0


def test_two_standstills_in_a_row_count_together_up_to_a_limit():
    standstill = Standstill(0.0)
    standstill.note_turn(5.0)
    assert standstill.spare_s(5.0) == 5.0
    standstill.note_turn(5.1)
    standstill.note_turn(7.1)
    assert standstill.spare_s(7.1) == 7.0
    assert standstill.spare_s(7.1 + SPARE_S) == 0.0
    standstill.note_turn(10_000.0)
    assert standstill.spare_s(10_000.0) == SPARE_MAX_S


def test_a_bucket_gives_no_more_than_its_burst_beyond_its_rate():
    bucket = Bucket(per_s=10.0, burst=5)
    given = sum(bucket.take(0.0) for _ in range(100))
    given += sum(bucket.take(2.0, spare_s=2.0) for _ in range(100))
    given += sum(bucket.take(2.5, spare_s=2.0) for _ in range(100))
    assert given == 5 + 10 * 2.5
    assert sum(bucket.take(100.0) for _ in range(100)) == 5
