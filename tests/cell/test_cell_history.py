"""Histories: steps that a client may still get, steps that are gone, and what another copy goes on with. And
aliases.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed.area import Area
from terrazzo._speed.sight import Headlines
from terrazzo.cell.client.aliases import Aliases
from terrazzo.cell.core import history
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import EntityEvent, History, Manner
from terrazzo.sync.protocol import ALIAS_MAX, EntityMessage
from terrazzo.wire.pairs.cell_cell import Past


def event(place: int, body: bytes = b"") -> EntityEvent:
    return EntityEvent(place, EntityMessage(158 + max(place, 0), body))


def bodies(events: list[EntityEvent] | None) -> list[bytes] | None:
    return None if events is None else [each.message.body for each in events]


KIND = SimpleNamespace(event=EntityEvent)


def test_history_is_bounded_and_refuses_what_it_has_dropped():
    kept = History(10)
    assert kept.since(9) is None
    assert kept.since(10) == []
    kept.add(11, [event(0, b"a"), event(1, b"b")])
    kept.add(13, [event(1, b"c")])
    assert [kept.has_changed(place, 11) for place in (0, 1, 2)] == [False, True, False]
    assert [kept.has_changed(place, 10) for place in (0, 1, 2)] == [True, True, False]
    assert bodies(kept.since(10)) == [b"a", b"b", b"c"]
    assert bodies(kept.since(11)) == bodies(kept.since(12)) == [b"c"]
    kept.add(14, [event(-1, b"x" * history.BYTES_MAX)])
    assert kept.since(13) is None, "too long to be kept at all"
    assert kept.has_changed(1, 12)
    for number in range(15, 15 + 2 * history.STEPS_MAX):
        kept.add(number, [event(0, b"y")])
    assert len(kept.since(kept.floor) or ()) == history.STEPS_MAX
    assert kept.newest == 14 + 2 * history.STEPS_MAX


def test_property_without_a_stamp_has_not_changed():
    kept = History(5)
    kept.add(6, [event(-1, b"call")])
    assert not kept.has_changed(-1, 5)
    assert not kept.has_changed(0, 5)


@given(st.lists(st.lists(st.tuples(st.integers(-1, 3), st.binary(max_size=4)), min_size=1, max_size=3), max_size=100))
def test_copy_of_a_history_gives_the_same_as_far_as_it_reaches(steps):
    kept = History(0)
    for number, events in enumerate(steps, 1):
        kept.add(number, [event(place, body) for place, body in events])
    copy = History.unpack(kept.pack(), EntityEvent)
    assert copy.newest == kept.newest
    for number in range(len(steps) + 1):
        assert copy.since(number) == (kept.since(number) if number >= copy.floor else None)
        assert [copy.has_changed(at, number) for at in range(4)] == [kept.has_changed(at, number) for at in range(4)]
    assert len(copy.pack().steps) <= history.PACKED_STEPS_MAX


def body_at(number: int) -> Any:
    area = Area()
    slot = area.add(7, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, number, 1)
    space = SimpleNamespace(area=area, headlines=Headlines())
    body: Any = SimpleNamespace(id=7, kind=KIND, history=History(number), space=space, slot=slot, number=number)
    body.record, body.adopt = partial(Body.record, body), partial(Body.adopt, body)
    return body


def test_news_are_the_steps_with_events():
    body = body_at(3)
    body.record(4, [event(0, b"a")])
    body.record(5, [])
    assert body.space.area.news(body.slot) == 4
    assert bodies(body.history.since(3)) == [b"a"]


def test_a_new_copy_takes_over_what_was_before():
    past = History(0)
    past.add(2, [event(0, b"a")])
    body = body_at(4)
    body.adopt(past.pack())
    assert body.space.area.news(body.slot) == 2
    assert bodies(body.history.since(0)) == [b"a"]


def test_news_of_a_copy_without_steps_begin_at_its_floor():
    """A client with less must get all anew, so the gap must be detected."""
    body = body_at(9)
    body.adopt(Past(9, (), ((0, 8),)))
    assert body.space.area.news(body.slot) == 9
    assert body.history.since(7) is None
    assert [body.history.has_changed(0, number) for number in (7, 8)] == [True, False]


def test_mended_copy_keeps_its_earlier_history(monkeypatch):
    monkeypatch.setattr(history, "PACKED_STEPS_MAX", 64)
    body = body_at(0)
    for number in (1, 2, 3):
        body.record(number, [event(0, b"%d" % number)])
    body.number = 3
    real = History(0)
    for number in range(1, 80):
        real.add(number, [event(0, b"%d" % number)])
    past = real.pack()
    assert past.floor > 3, "the past does not reach down to what the copy has: it begins anew"
    body.adopt(past)
    assert body.history.since(3) is None
    body = body_at(0)
    for number in range(1, 71):
        body.record(number, [event(0, b"%d" % number)])
    body.number = 70
    body.adopt(past)
    assert bodies(body.history.since(0)) == [b"%d" % number for number in range(1, 80)]
    assert body.space.area.news(body.slot) == 79


def test_the_latest_takes_the_place_of_earlier_ones():
    latest = Manner(is_latest=True)
    kept = History(0)
    kept.add(1, [EntityEvent(0, EntityMessage(158, b"a"), latest), event(1, b"b")])
    kept.add(2, [EntityEvent(~3, EntityMessage(60, b"c"), latest)])
    kept.add(3, [EntityEvent(0, EntityMessage(158, b"d"), latest), event(1, b"e")])
    assert bodies(kept.since(0)) == [b"b", b"c", b"d", b"e"]
    kept.add(4, [EntityEvent(~3, EntityMessage(60, b"f"), latest)])
    assert bodies(kept.since(0)) == [b"b", b"d", b"e", b"f"]
    assert bodies(kept.since(1)) == bodies(kept.since(2)) == [b"d", b"e", b"f"]
    assert [kept.has_changed(0, number) for number in (2, 3)] == [True, False]
    for number in range(5, 5 + 3 * history.STEPS_MAX):
        kept.add(number, [EntityEvent(0, EntityMessage(158, bytes(300)), latest)])
    assert kept.floor == 0, "nothing had to go"


def test_unreliable_change_is_stamped_and_not_kept():
    kept = History(0)
    kept.add(1, [event(1, b"a")])
    kept.add(2, [EntityEvent(0, EntityMessage(158, b"b"), Manner(is_reliable=False))])
    assert kept.newest == 1
    assert bodies(kept.since(0)) == [b"a"]
    assert kept.has_changed(0, 1)


def test_a_copy_that_is_mended_replaces_its_own_earlier_ones():
    def event_of(subject: int, told: EntityMessage) -> EntityEvent:
        return EntityEvent(subject, told, Manner(is_latest=subject == 0))

    body = body_at(0)
    body.kind = SimpleNamespace(event=event_of)
    real = History(0)
    for number in range(1, 6):
        events = [event_of(0, EntityMessage(158, b"%d" % number)), event_of(1, EntityMessage(159, b"x"))]
        real.add(number, events)
        if number < 4:
            body.record(number, events)
    body.number = 3
    past = real.pack()
    body.history.go_on(3, past, event_of)
    assert body.history.since(0) == real.since(0)


def test_row_is_kept_until_there_is_an_event():
    kept = History(0)
    kept.rows[0] = b"row"
    kept.add(1, [event(0)])
    assert not kept.rows


# Aliases.


def test_the_lowest_alias_that_the_client_has_given_back_comes_first():
    aliases = Aliases()
    assert [aliases.take() for _ in range(4)] == [1, 2, 3, 4]
    aliases.rest(2)
    aliases.rest(1)
    assert aliases.take() == 5, "those rest"
    assert aliases.release(2)
    assert aliases.take() == 2
    assert not aliases.release(2), "it is in use"
    assert not aliases.release(77)


def test_aliases_go_on_in_another_cell():
    aliases = Aliases([0, 3, 7, 0], [1, 5])
    assert [aliases.take() for _ in range(5)] == [2, 4, 6, 8, 9]
    assert aliases.release(5)
    assert aliases.take() == 5


def test_aliases_come_to_an_end():
    aliases = Aliases([ALIAS_MAX - 1])
    taken = {aliases.take() for _ in range(ALIAS_MAX - 1)}
    assert ALIAS_MAX in taken
    assert 0 not in taken
    assert aliases.take() == 0
    aliases.rest(9)
    assert aliases.release(9)
    assert aliases.take() == 9
